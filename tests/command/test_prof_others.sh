#!/bin/sh
# What public reports and traces of other makers asked of: times that cannot be, made-up times, pairs
# of several processes, devices that calls name late.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# ---- Far from all other: at both ends, on hosts and devices ----

python3 - "$out" <<'END'
import json, sys
def write(name, events, **head):
    json.dump(dict(head, traceEvents=events), open(sys.argv[1] + "/" + name + ".json", "w"))
def work(ts, dur, **more):
    return dict(ph="X", cat="kernel", name="k", pid=0, tid=7, ts=ts, dur=dur, args=dict(stream=7), **more)
def call(ts, dur, name="run"):
    return dict(ph="X", cat="ipc", name=name, pid=1, tid=1, ts=ts, dur=dur)
def half(ph, ts, pid=1, id="0x1"):
    return dict(ph=ph, cat="s", name="r", pid=pid, tid=pid, ts=ts, id=id)
base = 1700000000000000
write("touching", [work(0, 1e7)] + [work(1e7 + 100 * i, 60) for i in range(10)])
write("lost_begin", [work(0, base + 5)] + [work(base + 100 * i, 60) for i in range(10)])
write("lost_end_kernel", [work(100 * i, 0.06) for i in range(10)] + [work(900.5, 4e15)])
for name, dur in ("kineto", "7523372036853825.807"), ("int_min", "7523372036853825.808"), ("unsigned", "16746744073708601.616"):
    with open("%s/lost_end_%s.json" % (sys.argv[1], name), "w") as file:
        file.write(json.dumps(dict(traceEvents=[call(base + 100 * i, 0.06) for i in range(10)] +
                                   [call(base + 950, 1234.5, "unfinished")])).replace("1234.5", dur))
write("range", [half("S", -1461972216707720), half("F", 1500), call(1000, 500), call(1100, 200, "step")])
write("range_b", [half("b", -1461972216707720), half("e", 1500), call(1000, 500), call(1100, 200, "step")])
write("later", [call(1000, 500), call(1100, 200, "step"), call(3e15, 1, "late")])
for ph in "BEbesftiCnX":
    event = dict(ph=ph, cat="a", name="a", pid=1, tid=1, ts=-5, id=1, dur=1, s="t", bp="e", args=dict(v=1))
    write("below_" + ph, [event, call(1000, 500)])
write("back_BE", [dict(half("B", 1000)), dict(half("E", 50))])
write("back_be", [half("b", 1000), half("e", 50)])
# ---- Pairs of several processes ----
write("processes", [half("b", 0, 1), half("e", 30, 2), half("b", 100, 2), half("e", 170, 1)])
write("merged", [half("b", 0, 1), half("b", 5, 2), half("e", 10, 1), half("e", 105, 2)])
write("unsorted", [half("e", 30, 2), half("b", 0, 1)])
local = [dict(half("b", 0, 1), id2=dict(local="0x1")), dict(half("b", 7, 2), id2=dict(local="0x1")), dict(half("e", 30, 2), id2=dict(local="0x1"))]
for event in local: del event["id"]
write("local", local)
# ---- Times that Kineto makes up ----
write("counters", [dict(call(0, 100), cat="cpu_op"),
    dict(work(0, 100), cat="cuda_profiler_range", name="gemm"), dict(work(100, 100), cat="cuda_profiler_range", name="relu")])
# ---- Pairs with one begin and one end, the outer one begun first ----
write("equal", [dict(ph=ph, cat="cpu_op", name=name, pid=1, tid=2, ts=ts) for ph, name, ts in
    [("B", "outer", 10), ("B", "inner", 10), ("B", "last", 10), ("E", "last", 40), ("E", "inner", 40), ("E", "outer", 40)]])
# ---- Two ranks ----
for rank in 0, 1:
    write("rank%d" % rank, [dict(call(100 + 40 * rank, 50), cat="cpu_op"), dict(work(130 + 40 * rank, 40 + rank), pid=0),
        dict(half("b", 100, 1)), dict(half("e", 130 + rank, 1))], distributedInfo=dict(rank=3 * rank, world_size=4))
write("streams", [dict(work(10 + i, 20), pid=100001 * i, args=dict(device=0, stream=7)) for i in (1, 2)])
# ---- Calls that name the device, behind its work ----
for kind, name in ("xpu", "XPU"), ("mtia", "MTIA"), ("privateuse1", "PRIVATEUSE1"):
    for library in "runtime", "driver":
        calls = [dict(call(5, 5, "launch"), cat=kind + "_" + library, args=dict(correlation=7))]
        works = [work(12, 30), work(50, 40)]
        for order, events in ("first", calls + works), ("amid", works[:1] + calls + works[1:]), ("last", works + calls):
            write("_".join(["type", kind, library, order]), events)
END
says others_touching 'busy 100.0 % of 10000.960 ms' 0 "$prof" report "$out/touching.json"
says others_lost_begin 'busy 62.5 % of 0.960 ms' 0 "$prof" report "$out/lost_begin.json"
for end in kernel kineto int_min unsigned; do      # PyTorch had INT64_MIN and 0 ns as ends
    says others_lost_end_$end '1 events that last ten years or more' 0 "$prof" report "$out/lost_end_$end.json"
    says others_lost_end_${end}_time 'time total: 0.600us' 0 "$prof" report "$out/lost_end_$end.json"
    says others_lost_end_${end}_found 'far: 1 durations of ten years or more' 0 "$prof" validate "$out/lost_end_$end.json"
done
for range in range range_b; do
    says "others_$range" 'Self CPU time of these rows: 200.000us' 0 "$prof" report --from 50us --to 1ms "$out/$range.json"
    says "others_${range}_told" 'times count from the first of the others' 0 "$prof" report --from 50us "$out/$range.json"
    says "others_${range}_found" 'far: the first of 1 that begin or end a year or more' 1 "$prof" validate "$out/$range.json"
done
# github.com/google/perfetto/issues/659: a comma before each event, the first one, too.
printf '{"traceEvents": [\n,{"ph":"B", "name":"12345", "pid":1, "tid":123, "ts": 703}\n,{"ph":"E", "ts": 750, "pid":1, "tid":123 }\n]}' \
    >"$out/first_comma.json"
says others_first_comma ' 47.000us ' 0 "$prof" report "$out/first_comma.json"
says others_first_comma_told 'commas beside a bracket' 0 "$prof" report "$out/first_comma.json"
says others_later 'far: the first of 1' 0 "$prof" validate "$out/later.json"
for phase in B E b e s f t i C n X; do
    says "others_below_0_$phase" "error: time: 'a' has a ts below 0" 1 "$prof" validate "$out/below_$phase.json"
done
for pair in BE be; do
    says "others_back_$pair" "'r' ends 950000 ns before its begin" 1 "$prof" validate "$out/back_$pair.json"
done
says others_processes ' 100.000us' 0 "$prof" report "$out/processes.json"
says others_merged ' 110.000us' 0 "$prof" report "$out/merged.json"
says others_unsorted ' 30.000us' 0 "$prof" report "$out/unsorted.json"
says others_local '1 begins without an end' 0 "$prof" report "$out/local.json"
says others_streams_of_ranks '0 errors, 0 warnings' 0 "$prof" validate "$out/streams.json"
says others_counters 'they count as calls without time' 0 "$prof" report "$out/counters.json"
# shellcheck disable=SC2317   # try calls it
no_work() { ! "$prof" report "$out/counters.json" 2>/dev/null | grep -e busy -e 'belong to no call'; }
try others_counters_are_no_work no_work

"$prof" report -f csv "$out/equal.json" | sort >"$out/equal.rows"
for format in pftrace json sqlite; do
    "$prof" export -o "$out/equal.$format" "$out/equal.json"
    [ $format != sqlite ] || continue
    try "others_equal_$format" sh -c "'$prof' report -f csv '$out/equal.$format' | sort | cmp - '$out/equal.rows'"
done
# What several traces became is of as many ranks.
"$prof" ranks -f csv "$out/rank0.json" "$out/rank1.json" 2>"$out/said" | sed 's/,[^,]*$//' >"$out/ranks.rows"
"$prof" merge -o "$out/both.json" "$out/rank0.json" "$out/rank1.json"
"$prof" export -o "$out/both.pftrace" "$out/rank0.json" "$out/rank1.json"
for format in json pftrace; do
    try "others_ranks_$format" sh -c "'$prof' ranks -f csv '$out/both.$format' | sed 's/,[^,]*$//' | cmp - '$out/ranks.rows'"
    rm -f "$out/both.sqlite"
    "$prof" export -o "$out/both.sqlite" "$out/both.$format"
    says "others_ranks_column_$format" '[(0, 3), (3, 3)]' 0 python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT rank, count(*) FROM events GROUP BY 1").fetchall())' "$out/both.sqlite"
done

# ---- What begins in a range: of files that ran together, and without the work of launches outside ----

python3 - "$out" <<'END'
import json, sys
def write(name, events, **head):
    json.dump(dict(head, traceEvents=events), open(sys.argv[1] + "/" + name + ".json", "w"))
def event(cat, name, pid, ts, dur, **args): return dict(ph="X", cat=cat, name=name, pid=pid, tid=1, ts=ts, dur=dur, args=args)
def launch(pid, ts, id): return [event("cuda_runtime", "launch", pid, ts, 5, correlation=id), dict(event("kernel", "k", 7000 + pid, ts + 50, 9, correlation=id, stream=7), args={"External id": id, "correlation": id})] + [
    dict(ph=ph, cat="ac2g", name="ac2g", id=1000 * pid + id, pid=p, tid=1, ts=at, bp="e") for ph, p, at in (("s", pid, ts), ("f", 7000 + pid, ts + 50))]
op = lambda pid, ts, id: event("cpu_op", "op", pid, ts, 10, **{"External id": id})
write("repeated", [op(1, 0, 40), op(1, 100, 41)] + launch(1, 102, 40))
write("other", [op(1, 0, 41)] + launch(1, 2, 40) + [op(2, 100, 41)] + launch(2, 102, 40))
for file in 0, 1:
    write("beside%d" % file, [event("Trace", "span", 1, 0, 5000), event("cpu_op", "a", 1, 1000, 10), event("cpu_op", "b", 1, 2000, 10)], baseTimeNanoseconds=10**18 + file * 1000000)
write("apart", [event("cpu_op", "a", 1, 1000, 10), event("cpu_op", "b", 1, 2000, 10)], baseTimeNanoseconds=2 * 10**18)
END
says others_range_repeated '"op",1,10.000,10.000,10.000,10.000,10.000,0.000' 0 "$prof" report -f csv --to 50us "$out/repeated.json"
says others_range_other '"op",1,10.000,5.000,10.000,10.000,10.000,9.000,9.000' 0 "$prof" report -f csv --to 50us "$out/other.json"
for part in 'a 0 500us 1,10.000 beside1' 'b 500us 1500us 1,10.000 beside1' 'a 500us 1500us 1,10.000 beside1' 'a 0 500us 2,20.000 apart'; do
    # shellcheck disable=SC2086   # its words
    set -- $part
    says "others_range_$5_$1_$2" "\"$1\",$4," 0 "$prof" report -f csv --from "$2" --to "$3" "$out/beside0.json" "$out/$5.json"
done

# github.com/pytorch/pytorch/issues/188481: calls without their times.
lost='{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":0.000,"dur":0.000}'
echo "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1700000000000000.000,\"dur\":10.000},$lost,$lost]" >"$out/no_times.json"
says others_no_times 'zero: the first of 2 calls at 0 and of no length' 0 "$prof" validate "$out/no_times.json"

# ---- Of frames that begin together the outer one is first ----

echo '{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFrame":{"functionName":"a"},
"children":[3]},{"id":3,"callFrame":{"functionName":"b"},"children":[4]},{"id":4,"callFrame":{"functionName":"c"}}],"startTime":0,
"endTime":60,"samples":[4,3,2,4,3,4],"timeDeltas":[0,10,10,10,10,10]}' >"$out/frames.cpuprofile"
printf 'a;b;c 10\na;b 5\na 3\na;d;e;f 1\na;d;e;g 2\na;d;h 2\nz;y 2\nz 1\n' >"$out/frames.folded"
sort "$out/frames.folded" >"$out/folded.wanted"
printf '%s\n' 'a 10' 'a;b 20' 'a;b;c 30' >"$out/cpuprofile.wanted"
for file in cpuprofile folded; do
    "$prof" export -o "$out/frames_$file.json" "$out/frames.$file"
    says "others_frames_$file" '0 errors, 0 warnings' 0 "$prof" validate "$out/frames_$file.json"
    try "others_frames_stacks_$file" sh -c "'$prof' stacks '$out/frames_$file.json' | sort | cmp - '$out/$file.wanted'"
done

# ---- Rows by an argument ----

python3 - "$out" <<'END'
import json, sys
def call(ts, dur, **args): return dict(ph="X", cat="Node", name="n_kernel_time", pid=1, tid=1, ts=ts, dur=dur, args=args)
events = [call(0, 10, op_name="Conv"), call(20, 5, op_name="Gemm"), call(30, 7, op_name="Conv"), call(40, 1), call(50, 2, op_name=3),
    dict(ph="X", cat="kernel", name="k", pid=0, tid=7, ts=60, dur=4, args=dict(stream=7, op_name="Conv"))]
json.dump(dict(traceEvents=events), open(sys.argv[1] + "/arg.json", "w"))
END
"$prof" report -f csv --group-by-arg op_name "$out/arg.json" 2>"$out/said" | cut -d, -f1-3 >"$out/arg.rows"
for row in 'k (Conv)",1,0.000' 'n_kernel_time (3)",1,2.000' 'n_kernel_time (Conv)",2,17.000' 'n_kernel_time (Gemm)",1,5.000' 'n_kernel_time",1,1.000'; do
    says "others_arg_${row%%\"*}" "\"$row" 0 cat "$out/arg.rows"
done
says others_arg_diff 'n_kernel_time (Conv)' 0 "$prof" diff --group-by-arg op_name "$out/arg.json" "$out/arg.json"
says others_arg_stacks 'n_kernel_time_(Conv) 17' 0 "$prof" stacks --group-by-arg op_name "$out/arg.json"
says others_arg_flamegraph 'n_kernel_time (Gemm)' 0 sh -c "'$prof' flamegraph --group-by-arg op_name -o '$out/arg.svg' '$out/arg.json' && cat '$out/arg.svg'"

# ---- Functions that timing takes longer than (prof record's are in no command's process) ----

echo '{"prof":{"version":"0.4.0","summed":4000000,"sums":[{"name":"step","count":2000000,"total":40000000,"self":40000000,"min":10,"max":90,"p50":20,"p90":20,"p99":20},{"name":"draw","count":2000000,"total":400000000,"self":400000000,"min":10,"max":900,"p50":200,"p90":200,"p99":200}]},"traceEvents":[]}' >"$out/short.json"
says others_short "step (2000000 calls of 20 ns)" 0 "$prof" report "$out/short.json"
says others_short_exclude "prof record --exclude 'step'" 0 "$prof" report "$out/short.json"

# ---- What a trace may lack; a good one has no such line ----

python3 - "$out" "${ALL:-}" <<'END'
import json, sys
def write(name, events): json.dump(dict(traceEvents=events), open(sys.argv[1] + "/" + name + ".json", "w"))
def call(name, ts, dur, cat="user_annotation", **args): return dict(ph="X", cat=cat, name=name, pid=1, tid=1, ts=ts, dur=dur, args=args)
def work(name, ts, dur, id): return dict(ph="X", cat="kernel", name=name, pid=0, tid=7, ts=ts, dur=dur, args=dict(stream=7, correlation=id))
def run(lacks=(), idle=(), launches=1, stall=0):
    events, id = [], 0
    for step in range(10):
        at = 1000 * step
        events += [call("ProfilerStep#%d" % step, at, 900)]
        events += [call(name, at + 100 * i, 50) for i, name in enumerate(["forward", "backward"]) if (step, name) not in lacks]
        for i in range(2):
            id += 1
            events += [call("cudaLaunchKernel", at + 300 + 20 * i, 10, "cuda_runtime", correlation=id)] if step not in idle else []
            if step not in idle and (step < launches * 10):
                events += [work("ncclDevKernel_AllReduce", at + 320 + 30 * i, 20000 if stall == id else 20, id)]
    return events
write("good", run())
write("lacks", run(lacks=[(3, "forward")]))
write("idle", run(idle=[4, 6]))
write("lost", run(launches=0.5))
write("launches", run(launches=0))
write("stall", run(stall=7))
if sys.argv[2]: write("million", [call("a", 2 * i, 1, "x") for i in range(1000000)])
END
# shellcheck disable=SC2317   # try calls it
quiet() { ! "$prof" report "$out/good.json" | grep -e lacks -e 'no device work' -e 'the median' -e exactly; }
try others_lack_nothing quiet
says others_lack_call "ProfilerStep#3 lacks 'forward', which the other steps have." 0 "$prof" report "$out/lacks.json"
says others_lack_work '2 of 10 steps launched no device work, the first ProfilerStep#4.' 0 "$prof" report "$out/idle.json"
says others_lack_kernels '10 of 20 calls of cudaLaunchKernel have no device work in the trace' 0 "$prof" report "$out/lost.json"
says others_lack_all '20 of 20 calls of cudaLaunchKernel have no device work in the trace: was it lost, or not asked for?' 0 \
    "$prof" report "$out/launches.json"
says others_stall 'ncclDevKernel_AllReduce: one takes 20.000 ms, 1000 times the median of 0.020 ms' 0 "$prof" report "$out/stall.json"
says others_stall_csv '1000 times the median' 0 "$prof" report -f csv "$out/stall.json"
[ -z "${ALL:-}" ] || says others_million '1000000 events exactly' 0 "$prof" report "$out/million.json"

# ---- Databases: graphs of nsys, rocprofv3's of both schemas; a table that is not read is named first ----

python3 - "$out" <<'END'
import os, sqlite3, sys
def make(name, tables, *more):
    path = sys.argv[1] + "/" + name
    if os.path.exists(path): os.remove(path)
    db = sqlite3.connect(path)
    for table, (columns, rows) in tables.items():
        db.execute(f"CREATE TABLE `{table}` ({columns})")
        for row in rows: db.execute(f"INSERT INTO `{table}` VALUES ({','.join('?' * len(row))})", row)
    for sql in more: db.execute(sql)
    db.commit()
work = "start int, end int, deviceId int, contextId int, streamId int, correlationId int, globalPid int"
pid = 42 << 24
strings = {"StringIds": ("id int, value text", [(1, "cudaGraphLaunch_v10000"), (2, "gemm")]),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start int, end int, globalTid int, correlationId int, nameId int", [(0, 1000, pid, 2, 1)]),
    "CUPTI_ACTIVITY_KIND_KERNEL": (work + ", shortName int", [(2000, 12000, 0, 1, 7, 1, pid, 2)]),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (work, [(1, 9, 0, 1, 7, 3, pid)])}
make("graph.sqlite", dict(strings, CUPTI_ACTIVITY_KIND_GRAPH_TRACE=(work + ", graphId int", [(12000, 102000, 0, 1, 7, 2, pid, 5), (0, 0, 0, 1, 7, 3, pid, 5)])))
make("unread.sqlite", dict(strings, CUPTI_ACTIVITY_KIND_NEW_THING=(work, [(12000, 102000, 0, 1, 7, 2, pid), (1, 2, 0, 1, 7, 2, pid)])))
def rocpd(name, v4, processes):
    tables, views = {}, []
    for process in range(processes):
        end = f"_0000{process}_a"
        times = [5000, 6000, 7000, 17000, 1000, 20000, 20000, 21000]
        place = lambda tid, agent: (1 + tid,) if v4 else (1, 70 + process, 7, agent, 3, 0)
        when = lambda i: (i + 1, i + 2) if v4 else (times[i], times[i + 1])
        columns = "id integer primary key, " + ("track_id int, start_id int, end_id int" if v4 else
            "nid int, pid int, tid int, agent_id int, queue_id int, stream_id int, start int, end int") + ", event_id int"
        row = lambda id, tid, agent, i, event, *own: (id, *place(tid, agent), *when(i), event, *own)
        make = {"rocpd_string": ("id integer primary key, guid text, string text", [(1, "", "HIP_RUNTIME_API"), (2, "", "MARKER_CORE_API"),
                (3, "", "hipLaunchKernel"), (4, "", "roctxRangePushA"), (5, "", "MEMORY_COPY_HOST_TO_DEVICE")]),
            "rocpd_info_kernel_symbol": ("id int, kernel_name text, display_name text", [(1, "gemm.kd", "gemm")]),
            "rocpd_info_agent": ("id int, type text", [(1, "CPU"), (2, "GPU"), (3, "GPU")]),
            "rocpd_event": ("id int, category_id int, stack_id int, correlation_id int, extdata text",
                [(1, 1, 11, 0, "{}"), (2, 9, 11, 99, "{}"), (3, 2, 12, 0, '{"message": "step \\"1\\""}'), (4, 9, 11, 98, "{}")]),
            "rocpd_region": (columns + ", name_id int", [row(1, 0, 0, 0, 1, 3), row(2, 0, 0, 4, 3, 4)]),
            "rocpd_kernel_dispatch": (columns + ", kernel_id int", [row(1, 1, 3, 2, 2, 1)]),
            "rocpd_memory_copy": (columns + ", name_id int, size int, dst_agent_id int, src_agent_id int", [row(1, 1, 3, 6, 4, 5, 4096, 3, 1)])}
        if v4:
            make["rocpd_timestamp"] = ("id int, value int", [(i + 1, t) for i, t in enumerate(times)])
            make["rocpd_track"] = ("id int, pid int, tid int, agent_id int, queue_id int, stream_id int",
                [(1, 70 + process, 7, None, None, None), (2, 70 + process, 7, 3, 3, None)])
        for table, what in make.items():
            tables[table + end] = what
            if not process: views.append(f"CREATE VIEW {table} AS SELECT * FROM {table + end}")
    globals()["make"](name, tables, *views)
for version in 3, 4:
    for processes in 1, 2: rocpd(f"rocpd_{version}_{processes}.db", version == 4, processes)
END
# ... and so is what else has device time that nobody reads: stages of Perfetto, rocprofv3's dispatches that have counters
# alone. Tables that no reader takes are refused, and what to take instead is said.
python3 - "$out" <<'END'
import json, sqlite3, sys
def number(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)
def field(n, value):
    if isinstance(value, int): return number(n << 3) + number(value)
    return number(n << 3 | 2) + number(len(value)) + value
packet = lambda *fields: field(1, b"".join(field(*f) for f in fields))
event = lambda ns, type: packet((8, ns), (11, field(9, type) + field(11, 5) + field(23, b"cpu")))
stage = lambda ns, length: packet((8, ns), (53, field(1, 1) + field(2, length)))
open(sys.argv[1] + "/stages.pftrace", "wb").write(
    packet((60, field(1, 5) + field(2, b"t"))) + event(1000, 1) + stage(2000, 1500000) + stage(9000, 500000) + event(5000, 2))
def record(kind, start, end, **more):
    return dict(more, kind=kind, operation=1, thread_id=43, correlation_id={"internal": 7}, start_timestamp=start, end_timestamp=end)
gpu = {"agent_id": {"handle": 99}, "queue_id": {"handle": 5}, "kernel_id": 3}
counted = {"dispatch_data": {"dispatch_info": gpu, "start_timestamp": 4000000, "end_timestamp": 6500000},
           "records": [{"counter_id": {"handle": 1}, "value": 5}, {"counter_id": {"handle": 2}, "value": 6}]}
for name, dispatches in ("counted", []), ("traced", [record(11, 4000000, 6500000, dispatch_info=gpu)]):
    tool = {"agents": [{"id": {"handle": 99}, "type": 2}], "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "gemm"}],
            "callback_records": {"counter_collection": [counted, counted]},
            "buffer_records": {"kernel_dispatch": dispatches, "hip_api": [record(1, 2000, 3000)],
                               "memory_allocation": [record(9, 2000, 3000, **gpu)]}}
    if dispatches: tool["buffer_records"]["ompt"] = [record(10, 2000000, 3000000, **gpu)]
    json.dump({"rocprofiler-sdk-tool": [tool]}, open(sys.argv[1] + "/" + name + ".json", "w"))
db = sqlite3.connect(sys.argv[1] + "/npu.db")
for table in "STRING_IDS", "TASK": db.execute(f"CREATE TABLE IF NOT EXISTS {table} (id, startNs, endNs)")
db.commit()
for name, line in ("tasks", "Device_id,kernel_name,kernel_type\n"), ("kernels", '"Kind","Agent_Id","Queue_Id"\n'):
    open(sys.argv[1] + "/" + name + ".csv", "w").write(line)
END
unread() { says "others_unread_$1" "Device time that is not read: $3" 0 "$prof" report "$out/$2"; }
unread stages stages.pftrace '2 stages of GPUs (2.000 ms)'
unread counted counted.json "2 dispatches with counters but without rocprofv3's --kernel-trace (5.000 ms)"
unread traced traced.json '1 other records of devices (1.000 ms)'
refused() { says "others_refused_$1" "$3" 2 "$prof" report "$out/$2"; }
refused npu npu.db "this is Ascend's database: prof reads trace_view.json"
refused tasks tasks.csv "this is msprof's table of tasks: prof reads op_summary.csv"
refused kernels kernels.csv 'this is a table of rocprofv3: --output-format json'
says others_graph 'busy 100.0 % of 0.100 ms' 0 "$prof" report "$out/graph.sqlite"
says others_graph_launch 'cudaGraphLaunch' 0 sh -c "'$prof' report '$out/graph.sqlite' | grep ' 90.000us *90.000us'"
for command in report stacks gaps ranks validate 'export -o /dev/null.json' 'cut --to 1s'; do
    case $command in validate) text=losses ;; *) text='unread.sqlite: Device time that is not read: 2 rows of table CUPTI_ACTIVITY_KIND_NEW_THING (0.090 ms)' ;; esac
    case $command in cut*) command="cut --to 1s -o $out/cut.json" ;; export*) command="export -o $out/unread.json" ;; esac
    # shellcheck disable=SC2086   # words of a command
    says "others_unread_${command%% *}" "$text" 0 "$prof" $command "$out/unread.sqlite"
done
for version in 3 4; do
    "$prof" report -f csv "$out/rocpd_${version}_1.db" >"$out/rocpd_$version.rows"
    says "others_rocpd_$version" '"step ""1""",1,19.000,18.000,19.000,19.000,19.000,11.000,' 0 cat "$out/rocpd_$version.rows"
    says "others_rocpd_call_$version" '"hipLaunchKernel",1,1.000,' 0 cat "$out/rocpd_$version.rows"
    says "others_rocpd_device_$version" 'Device 1 busy 78.6 % of 0.014 ms' 0 "$prof" report "$out/rocpd_${version}_1.db"
    says "others_rocpd_processes_$version" '"step ""1""",2,38.000,36.000,19.000,19.000,19.000,22.000,' 0 "$prof" report -f csv "$out/rocpd_${version}_2.db"
done
try others_rocpd_alike cmp "$out/rocpd_3.rows" "$out/rocpd_4.rows"

# ---- The device's type is the file's ----

for file in "$out"/type_*_last.json; do
    for order in first amid last; do
        "$prof" report -f json "${file%_last.json}_$order.json" >"$out/$order.rows" 2>&1
    done
    label=${file##*/type_}
    try "others_${label%_last.json}_type" sh -c "cmp '$out/first.rows' '$out/amid.rows' && cmp '$out/first.rows' '$out/last.rows'"
done
exit $failed
