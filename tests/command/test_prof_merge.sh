#!/bin/sh
# prof merge: every rank's events, on one clock, with ids of their own.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

merge_alike() {   # NAME MERGE-OPTION FILE...
    merged=$out/$1.json option=$2
    shift 2
    "$prof" merge "$option" -o "$merged" "$@" 2>"$merged.said" &&
        python3 tests/command/read_more.py merge "$merged" "$@"
}

# Two ranks on machines whose clocks are 7 ms apart; times are relative to different bases.
rank() {   # RANK BASE-NS LATE-US
    python3 - "$@" <<'PYTHON'
import json, sys
rank, base, late = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
events = [dict(ph="M", name="process_name", pid=9, tid=0, args=dict(name="python")),
          dict(ph="M", name="process_labels", pid=0, tid=0, args=dict(labels=f"GPU {rank}")),
          dict(ph="X", cat="Trace", name="span", pid="Spans", tid="PyTorch Profiler", ts=1, dur=2)]
for i in range(5):
    ts = 100 * i + late + (3 if i == 2 else 0)
    events += [dict(ph="X", cat="cpu_op", name="op", pid=9, tid=9, ts=ts, dur=9.5,
                    args={"External id": i + 1}),
               dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=9, tid=9, ts=ts + 1,
                    dur=2, args={"correlation": i + 1, "External id": i + 1}),
               dict(ph="s", cat="ac2g", name="ac2g", id=i + 1, pid=9, tid=9, ts=ts + 1),
               dict(ph="X", cat="kernel", name="ncclDevKernel_AllReduce", pid=0, tid=7, ts=ts + 20,
                    dur=30, args={"correlation": i + 1, "External id": i + 1}),
               dict(ph="f", cat="ac2g", name="ac2g", id=i + 1, pid=0, tid=7, ts=ts + 20, bp="e")]
print(json.dumps({"deviceProperties": [{"id": rank, "name": "H100"}], "host_name": f"node{rank}",
                  "distributedInfo": {"rank": rank}, "baseTimeNanoseconds": base,
                  "traceEvents": events}))
PYTHON
}
rank 1 5000000 7000 >"$out/a.trace"
rank 0 4000000 0 >"$out/b.trace"
try merge_base merge_alike base --align=base "$out/a.trace" "$out/b.trace"
try merge_collectives merge_alike collectives --align=collectives "$out/a.trace" "$out/b.trace"
says merge_clock 'a.trace: clock set by -8000.000 us, from 5 collectives of which half end within 0.000 us' \
    0 cat "$out/collectives.json.said"
says merge_names '"name": "rank 1: python"' 0 cat "$out/base.json"
says merge_labels '"labels": "rank 0 GPU 0"' 0 cat "$out/base.json"
says merge_text_pid '"name": "rank 0: Spans"' 0 cat "$out/base.json"
says merge_text_tid '"tid": "PyTorch Profiler"' 0 cat "$out/base.json"
says merge_devices '"name": "H100"}, {"id": 1' 0 cat "$out/base.json"
attributed() { "$prof" report -f csv --name '^op$' "$1" | grep -q '"op",10,.*,300.000,'; }
try merge_owners attributed "$out/base.json"
says merge_one_base '"baseTimeNanoseconds": 4000000' 0 cat "$out/base.json"
# ---- Counters with a fraction (prof_counter_f): every command keeps them as they stand ----

cat >"$out/fractions.json" <<'END'
{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"z","pid":1,"tid":1,"ts":1,"dur":9},
{"ph":"C","name":"load","pid":1,"tid":1,"ts":2,"args":{"load":0.1}},
{"ph":"C","name":"load","pid":1,"tid":1,"ts":3,"args":{"load":1.7976931348623157e+308}},
{"ph":"C","name":"load","pid":1,"tid":1,"ts":4,"args":{"load":null}}]}
END
says merge_fractions_report '"z",1,9.000' 0 "$prof" report -f csv "$out/fractions.json"
try merge_fractions "$prof" merge -o "$out/fractions.merged.json" "$out/fractions.json"
try merge_fractions_cut "$prof" cut --to 1s -o "$out/fractions.cut.json" "$out/fractions.json"
for file in merged cut; do
    for value in 0.1 1.7976931348623157e+308 null; do
        says "merge_fractions_${file}_$value" "\"load\":$value}" 0 cat "$out/fractions.$file.json"
    done
done
dlrm=../shared/traces/dlrm_8_ranks.tar.gz
if [ -r "$dlrm" ]; then
    tar xzf "$dlrm" -C "$out"
    try merge_real merge_alike dlrm --align=collectives "$out"/dlrm_kineto/*.json
    rm -r "$out/dlrm_kineto"
else
    echo 'skip merge_real: ../shared/traces is not there'
fi
now=tests/command/traces/kineto_2026.json
try merge_generations merge_alike generations --align=base "$now" tests/command/traces/kineto_2024.json \
    tests/command/traces/kineto_2022.json
says merge_same_rank 'ranks are the files in their order' 0 \
    "$prof" merge -o "$out/same.json" "$now" "$now"
says merge_none_common 'its clock stays' 0 "$prof" merge -a collectives -o "$out/no.json" "$now" "$now"
says merge_help 'usage: prof merge' 0 "$prof" merge --help
says merge_align 'there is no call' 2 "$prof" merge -a x "$now"
says merge_stdin 'it must be a file' 2 "$prof" merge -
says merge_missing 'No such file' 2 "$prof" merge -o "$out/x.json" "$now" "$out/none.json"
echo 'a;b 5' >"$out/some.folded"
says merge_folded '"name": "b"' 0 "$prof" merge "$now" "$out/some.folded"
exit $failed
