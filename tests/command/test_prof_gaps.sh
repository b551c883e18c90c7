#!/bin/sh
# prof gaps: against an independent reading, its options, bad input.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

gaps_alike() {   # NAME TRACE
    "$prof" gaps --format json -o "$out/$1.json" "$2" &&
        python3 tests/command/read_more.py gaps "$2" "$out/$1.json"
}

# A trace in which every cause occurs: kernels on two streams, launches before and behind.
cat >"$out/causes.json" <<'JSON'
{"traceEvents": [
{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":0,"dur":30,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,"dur":2,"args":{"correlation":1,"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":4,"dur":2,"args":{"correlation":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":7,"dur":2,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":9,"tid":9,"ts":85,"dur":25,"args":{"correlation":8}},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":9,"tid":9,"ts":115,"dur":30,"args":{"External id":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":120,"dur":2,"args":{"correlation":4,"External id":2}},
{"ph":"X","cat":"kernel","name":"mm","pid":0,"tid":7,"ts":10,"dur":10,"args":{"correlation":1,"External id":1}},
{"ph":"X","cat":"kernel","name":"mm","pid":0,"tid":7,"ts":22,"dur":8,"args":{"correlation":2,"External id":1}},
{"ph":"X","cat":"kernel","name":"mm","pid":0,"tid":8,"ts":70,"dur":20,"args":{"correlation":3,"External id":1}},
{"ph":"X","cat":"kernel","name":"add","pid":0,"tid":7,"ts":126.5,"dur":3,"args":{"correlation":4,"External id":2}},
{"ph":"X","cat":"gpu_memset","name":"Memset","pid":0,"tid":7,"ts":140,"dur":1,"args":{"correlation":99}}
]}
JSON
try gaps_causes gaps_alike made "$out/causes.json"
row() { "$prof" gaps --format csv "$out/causes.json" | grep -x "GPU 0,$1"; }
try gaps_busy row 'busy,42.000,32.06,,'
try gaps_compute row 'compute,41.000,31.30,,'
try gaps_exposed_memory row 'exposed memory,1.000,0.76,,'
try gaps_idle row 'idle,89.000,67.94,4,40.000'
says gaps_busy_on_page ',131000,41000,0,1000,42000]' 0 "$prof" report -f html "$out/causes.json"
try gaps_host row 'host,10.000,7.63,1,10.000'
try gaps_synchronize row 'synchronize,20.000,15.27,1,20.000'
try gaps_launch row 'launch,6.500,4.96,1,6.500'
try gaps_wait row 'wait,40.000,30.53,1,40.000'
try gaps_turnaround row 'turnaround,2.000,1.53,1,2.000'
try gaps_unknown row 'unknown,10.500,8.02,1,10.500'
says gaps_by_op 'aten::mm,42.000,47.19,2,40.000' 0 "$prof" gaps --by op -f csv "$out/causes.json"
says gaps_by_gap 'GPU 0,30.000,40.000,wait,40.000,aten::mm,mm,mm' 0 \
    "$prof" gaps --by gap -n 1 -f csv "$out/causes.json"
says gaps_streams 'GPU 0 stream 8,busy,20.000' 0 "$prof" gaps --streams -f csv "$out/causes.json"
says gaps_communication 'device 0,exposed communication,140.000,50.00' 0 \
    "$prof" gaps -f csv tests/command/ranks/example_rank0.json
says gaps_exposed_memory_beside_both 'device 0,exposed memory,20.000,7.14' 0 \
    "$prof" gaps -f csv tests/command/ranks/example_rank0.json
says gaps_short 'turnaround,42.000' 0 "$prof" gaps --short 40 -f csv "$out/causes.json"
says gaps_no_device 'There is no work of a device' 0 "$prof" gaps tests/command/traces/legacy_array.json
# A wait of the thread that launched counts, whatever other threads do later.
cat >"$out/waits.json" <<'JSON'
[{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":900,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":2,"ts":30,"dur":12,"args":{"correlation":8}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":60,"dur":2,"args":{"correlation":9}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":10,"dur":10,"args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":70,"dur":10,"args":{"correlation":9}}]
JSON
says gaps_waits_of_its_thread 'device 0,synchronize,12.000,17.14,1,12.000' 0 "$prof" gaps -f csv "$out/waits.json"
for file in tests/command/traces/kineto_*.json $(real_traces); do
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
    try "gaps_${label%%.*}" gaps_alike real "$file"
done
[ -n "$(real_traces)" ] || echo 'skip gaps_real: ../shared/traces is not there'
# Calls that work or memory may name are kept, others only while they are open: times tell the same.
cat >"$out/traces.py" <<'PYTHON'
import json, random, sys
names = ["a", "Optimizer.step#x", "autograd::engine::evaluate_function: b", "aten::mm"]
for seed in range(6):
    r, count = random.Random(seed), 600
    events = []
    for i in range(count):
        kind, ts, ids = r.random(), r.randrange(2 * count), r.randrange(1, 200)
        event = {"ph": "X", "pid": 1, "tid": r.choice([1, 2]), "ts": ts, "args": {}}
        if kind < .6:
            event.update(cat="cpu_op", name=r.choice(names), dur=r.choice([0, 1, 5, 50, 500]))
            if r.random() < .1: event["args"]["External id"] = ids
        elif kind < .75:
            event.update(cat="cuda_runtime", name="cudaLaunchKernel", dur=r.choice([0, 1, 9]))
            event["args"]["correlation"] = ids
        elif kind < .9:
            event.update(cat="kernel", name="k", pid=0, tid=7, dur=r.choice([1, 3]))
            event["args"].update({"correlation": ids, "External id": ids})
        else:
            event.update(ph="i", cat="cpu_instant_event", name="[memory]", s="t")
            event["args"].update({"Device Type": 0, "Addr": ids % 9 + 1, "Total Allocated": 4096,
                                  "Bytes": r.choice([64, -64])})
        events.append(event)
    for way in "plain", "named":
        with open(f"{sys.argv[1]}/{way}_{seed}.json", "w") as file:
            json.dump({"traceEvents": events}, file)
        for i, event in enumerate(events):       # ids that nothing else has
            if event.get("cat") == "cpu_op":
                event["args"].update({"Zone id": i + 1})
                event["args"].setdefault("External id", 1000 + i)
PYTHON
alike() {   # COMMAND...: of calls with ids and without
    for seed in 0 1 2 3 4 5; do
        "$prof" "$@" "$out/plain_$seed.json" 2>&1 | sed s/plain_// >"$out/plain.said"
        "$prof" "$@" "$out/named_$seed.json" 2>&1 | sed s/named_// >"$out/named.said"
        cmp "$out/plain.said" "$out/named.said" || return 1
    done
}
if command -v python3 >/dev/null; then
    try gaps_random python3 "$out/traces.py" "$out"
    try gaps_without_ids alike gaps --by gap --limit all -f csv
    try analyze_without_ids alike analyze -f csv
    try memory_without_ids alike memory --by op --limit all -f csv
fi
says gaps_help 'usage: prof gaps' 0 "$prof" gaps --help
says gaps_two 'usage: prof gaps' 2 "$prof" gaps a b
# Work that says itself when it was launched, as prof_launch has it.
cat >"$out/launched.json" <<'JSON'
{"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"zone","pid":9,"tid":9,"ts":0,"dur":100,"args":{"Zone id":1}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,"ts":10,"dur":10,"args":{"Zone parent id":1,"Launch latency (us)":5}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,"ts":50,"dur":10,"args":{"Zone parent id":1,"Launch latency (us)":20.000}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,"ts":100,"dur":10,"args":{"Zone parent id":1,"Launch latency (us)":60}}
]}
JSON
launched() { "$prof" gaps --format csv "$out/launched.json" | grep -q "$1"; }
try gaps_launched_host launched ',host,10.000,'
try gaps_launched_launch launched ',launch,20.000,'
try gaps_launched_wait launched ',wait,40.000,'
try gaps_launched_unknown launched ',unknown,0.000,'
says gaps_by 'it takes cause|op|gap' 2 "$prof" gaps --by x "$out/causes.json"
says gaps_html 'it takes text|csv|json' 2 "$prof" gaps -f html "$out/causes.json"
printf '[{"ph":"X"' >"$out/cut.json"
says gaps_cut 'byte 1: the file ends early; read up to there' 1 "$prof" gaps "$out/cut.json"
# ---- Times that cannot be: a lost end, on one stream of two; a begin at 0 ----

python3 - >"$out/odd.json" <<'END'
import json, sys
def work(name, tid, ts, dur):
    return dict(ph="X", cat="kernel", name=name, pid=0, tid=tid, ts=ts, dur=dur, args=dict(device=0, stream=tid))
events = [work("k", 7, 1000 + 50 * i, 40) for i in range(10)] + [work("side", 8, 1100, 100)]
events[4]["dur"] = 3.4e6
print(json.dumps(dict(traceEvents=events)))
END
python3 - >"$out/zero.json" <<'END'
import json
events = [dict(ph="X", cat="kernel", name="k", pid=0, tid=7, ts=1615207264504000 + 50 * i, dur=40) for i in range(10)]
print(json.dumps(dict(traceEvents=events + [dict(events[0], ts=0, dur=0)])))
END
said='Device work lasts beyond the next begin on its stream, 1 times, by 3399.950 ms in all'
for command in report gaps ranks; do
    says "odd_${command}" "$said" 0 "$prof" $command "$out/odd.json"
    says "odd_${command}_zero" 'Device work begins at 0, far from all other, 1 times' 0 "$prof" $command "$out/zero.json"
    says "odd_${command}_repaired" 'next on its stream begins, 1 times: 3399.950 ms less' 0 \
        "$prof" $command --repair "$out/odd.json"
done
for command in analyze stacks flamegraph memory diff steps; do
    # shellcheck disable=SC2046   # diff takes two
    says "odd_${command}_repaired" 'next on its stream begins, 1 times: 3399.950 ms less' 0 \
        "$prof" $command --repair $([ $command = diff ] && echo "$out/odd.json") "$out/odd.json"
done
says odd_validate 'the first of 1 that last beyond the begin of the next one' 0 "$prof" validate "$out/odd.json"
says odd_validate_zero 'the first of 1 that begin at 0' 0 "$prof" validate "$out/zero.json"
says odd_report_clipped 'busy 87.8 % of 0.490 ms' 0 "$prof" report --repair "$out/odd.json"
says odd_report_span 'busy 81.6 % of 0.490 ms' 0 "$prof" report "$out/zero.json"
says odd_gaps_clipped ',busy,430.000,' 0 sh -c "'$prof' gaps -f csv --repair '$out/odd.json'"
says odd_ranks_span '0,490.000,400.000,' 0 sh -c "'$prof' ranks -f csv '$out/zero.json'"
exit $failed
