#!/bin/sh
# Profiles of other makers, as makers.py writes them: what they are as traces.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

rm -rf "$out/makers"
mkdir -p "$out/makers"
python3 tests/command/makers.py "$out/makers"
stacks() {   # NAME FILE LINES: its folded stacks
    "$prof" stacks "$out/makers/$2" >"$out/stacks" 2>"$out/said"
    echo "$3" >"$out/wanted"
    try "$1" cmp "$out/stacks" "$out/wanted"
}
ends_early() {   # NAME FILE: half of it
    head -c $(($(wc -c <"$out/makers/$2") / 2)) "$out/makers/$2" >"$out/cut"
    says "$1" 'read up to there' 1 "$prof" export -o "$out/cut.json" "$out/cut"
}

# ---- Samples ----

stacks cpuprofile v8.cpuprofile 'main_(a.js:1) 6000
main_(a.js:1);parse_(b.js:7) 3000
main_(a.js:1);parse_(b.js:7);(garbage_collector) 1000'
cp "$out/wanted" "$out/wanted.v8"
# The outermost frames of a deep stack stay, so that they are the same calls in the next sample.
"$prof" stacks "$out/makers/deep.cpuprofile" >"$out/stacks" 2>"$out/told"
says deep_told '3 stacks have more than 4096 frames: cut' 0 cat "$out/told"
says deep_stacks 'f0;f1;f2;f3;f4 1000' 0 cat "$out/stacks"
frames() { awk '/ 3000$/ {gsub(/[^;]/, ""); exit length != 4095} END {exit NR != 2}' "$out/stacks"; }
try deep_frames frames
cycle='{"meta": {"interval": 1, "startTime": 0}, "threads": [{"samples": {"stack": [0, 1], "time": [0, 1]},
    "stackTable": {"frame": [0, 1], "prefix": [1, 0]}, "frameTable": {"func": [0, 1]},
    "funcTable": {"name": [0, 1]}, "stringArray": ["a", "b"]}]}'
echo "$cycle" >"$out/cycle.json"
says cycle 'b;a 1000' 1 "$prof" stacks "$out/cycle.json"
for name in firefox firefox_shared gecko; do
    "$prof" export -o "$out/$name.json" "$out/makers/$name.json"
    says "$name" '"name": "dräw", "pid": 7, "tid": 8, "ts": 1500.000, "dur": 2000.000' 0 cat "$out/$name.json"
    says "${name}_base" '"baseTimeNanoseconds": 1700000000000000000' 0 cat "$out/$name.json"
done
stacks firefox_stacks firefox.json 'main 2250
main;dräw 2000'
says firefox_thread '"name": "GeckoMain"' 0 cat "$out/firefox.json"
# A number that names no row is none, and told with its field and place.
names_no_row() {   # MAKER'S-FILE FROM TO TEXT
    sed "s/$2/$3/" "$out/makers/$1" >"$out/no_row.json"
    says "no_row_$(echo "$4" | tr -dc 'a-zA-Z0-9')" "$4" 1 "$prof" report "$out/no_row.json"
}
names_no_row firefox.json '"prefix": \[null, 0\]' '"prefix": [null, 2]' 'stackTable.prefix of row 1 is 2, not 0 to 1'
names_no_row firefox.json '"prefix": \[null, 0\]' '"prefix": [null, 3000000000]' 'stackTable.prefix of byte 370 is 3000000000'
names_no_row firefox.json '"prefix": \[null, 0\]' '"prefix": [-7, 0]' 'is -7, not 0 to 2147483647'
names_no_row firefox.json '"frame": \[0, 1\]' '"frame": [9, 1]' 'stackTable.frame of row 0 is 9, not 0 to 1'
names_no_row firefox.json '"func": \[0, 1\]' '"func": [0, 8]' 'frameTable.func of row 1 is 8, not 0 to 1'
names_no_row firefox_shared.json '"name": \[0, 1\]' '"name": [7, 1]' 'funcTable.name of row 0 is 7, not 0 to 1'
names_no_row gecko.json '\[\[0\], \[1, null' '[[5], [1, null' 'frameTable.location of row 0 is 5, not 0 to 1'
names_no_row gecko.json '\[1, 1.5\]' '[6, 1.5]' 'samples.stack of row 1 is 6, not 0 to 1'
names_no_row firefox.json '"prefix": \[null, 0\]' '"prefix": [null, 1e300]' 'stackTable.prefix of byte 370 is 1e300'
names_no_row firefox.json '"time": \[0.5' '"time": [1e300' 'samples.time of byte'
names_no_row v8.cpuprofile '"startTime": *[0-9]*' '"startTime": 1e300' 'startTime of byte'
names_no_row v8.cpuprofile '"timeDeltas": *\[[0-9]*' '"timeDeltas": [1e300' 'timeDeltas of byte'
# Samples of a few bytes that each open all of a deep stack, and leave it.
python3 -c '
import json, sys
profile = json.load(open(sys.argv[1]))
profile["samples"], profile["timeDeltas"] = [5000, 1] * 5000, [1] * 10000
json.dump(profile, sys.stdout)' "$out/makers/deep.cpuprofile" >"$out/turns.cpuprofile"
says deep_turns 'its samples alternate between deep stacks' 2 "$prof" report "$out/turns.cpuprofile"

# A sample whose time is null is not one at -1 ns.
sed 's/"time": \[0.5, 1.5/"time": [null, 1.5/' "$out/makers/firefox.json" >"$out/no_time.json"
stacks firefox_no_time ../no_time.json 'main 1250
main;dräw 2000'
says firefox_no_time_told '1 samples have no time' 0 "$prof" stacks "$out/no_time.json"
ends_early cpuprofile_cut v8.cpuprofile
# Some of V8's times between samples are negative (speedscope's issue 70): samples come by their times.
sed 's/2000, 3000, 2000, 500, 500, 1000/3000, -1000, 3000, 2000, 1000, 1000/' "$out/makers/v8.cpuprofile" >"$out/negative.cpuprofile"
says cpuprofile_negative 'main_(a.js:1);parse_(b.js:7) 2000' 0 "$prof" stacks "$out/negative.cpuprofile"
sed 's/2000, 3000, 2000, 500, 500, 1000/-50, 3000, 2000, 500, 500, 1000/' "$out/makers/v8.cpuprofile" >"$out/before.cpuprofile"
"$prof" export -o "$out/before.json" "$out/before.cpuprofile"
says cpuprofile_before_start '0 errors, 0 warnings' 0 "$prof" validate --ignore order "$out/before.json"
# The last sample lasts to the end that the file tells, not longer (vscode-js-debug's issue 1272).
sed 's/"endTime": 1012000/"endTime": 1009000/' "$out/makers/v8.cpuprofile" >"$out/ends.cpuprofile"
stacks cpuprofile_end ../ends.cpuprofile 'main_(a.js:1) 3000
main_(a.js:1);parse_(b.js:7) 3000
main_(a.js:1);parse_(b.js:7);(garbage_collector) 1000'
# What is of no use is told, not lost: one sample is of a node that is not there, another has no time.
sed 's/"samples": \[2, 3,/"samples": [99, 3,/; s/, 500, 1000\]/, 500]/' "$out/makers/v8.cpuprofile" >"$out/lost.cpuprofile"
says cpuprofile_lost '2 samples have no time, or no stack that the file has: left out' 1 "$prof" report "$out/lost.cpuprofile"
python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin), sort_keys=True))' \
    <"$out/makers/v8.cpuprofile" >"$out/makers/sorted.cpuprofile"
stacks cpuprofile_sorted sorted.cpuprofile "$(cat "$out/wanted.v8")"
python3 -c 'import json, sys; print(json.dumps(dict(reversed(json.load(sys.stdin).items()))))' \
    <"$out/makers/v8.cpuprofile" | sed 's/^{"timeDeltas"\(.*\), "startTime": 1000000,/{"startTime": 1000000, "timeDeltas"\1,/
    ' >"$out/makers/samples_first.cpuprofile"
stacks cpuprofile_samples_first samples_first.cpuprofile "$(cat "$out/wanted.v8")"
echo '{"traceEvents": [{"ph": "P", "name": "ProfileChunk", "cat": "v8", "pid": 1, "tid": 1, "ts": 1, "id": "0x1", "args": {}},
    {"ph": "X", "name": "task", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}' >"$out/devtools.json"
says devtools_samples '1 pieces of a profile by samples (P), left out' 0 "$prof" report "$out/devtools.json"
ends_early firefox_cut firefox.json

# ---- XLA ----

"$prof" export -o "$out/xla.json" "$out/makers/xla.xplane.pb" 2>"$out/told"
says xla_sums '1 events are sums without a time: left out' 0 cat "$out/told"
says xla_notes 'what made it tells of 2 errors or warnings, first: 12 events were dropped' 0 cat "$out/told"
says xla_call '"name": "PjitFunction(f)", "pid": 1, "tid": 77, "ts": 1.000, "dur": 5.000, "args": {"step": -3}' 0 \
    cat "$out/xla.json"
says xla_launch '"ts": 2.000, "dur": 1.000, "args": {"correlation_id": 42, "text": "a \"b\"", "ratio": 0.5}' 0 \
    cat "$out/xla.json"
says xla_kernel '"name": "fusion.1", "pid": 2, "tid": 13, "ts": 10.000, "dur": 2.000, "args": {"correlation_id": 42, "hlo_op": "f.1"}' 0 \
    cat "$out/xla.json"
# The kernel is the launch's, and the modules' row repeats it.
says xla_report '"PjitFunction(f)",1,5.000,4.000,5.000,5.000,5.000,2.000' 0 "$prof" report -f csv "$out/makers/xla.xplane.pb"
ends_early xla_cut xla.xplane.pb
# A device that has nothing but modules, which are made of its ops.
python3 - "$out" <<'END'
import sys
def number(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)
def field(n, value):
    if isinstance(value, int): return number(n << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(n << 3 | 2) + number(len(value)) + value
def row(n, name): return field(3, field(1, n) + field(2, name) + field(3, 1000) + field(4, field(1, 1) + field(2, 0) + field(3, 2500000000)))
names = field(4, field(1, 1) + field(2, field(1, 1) + field(2, "jit_f")))
host = field(1, field(1, 1) + field(2, "/host:CPU") + row(7, "python3") + names)
for name, rows in ("alone", ["Steps", "XLA Modules"]), ("ops", ["XLA Modules", "XLA Ops"]):
    device = field(1, field(1, 2) + field(2, "/device:TPU:0") + b"".join(row(i, text) for i, text in enumerate(rows)) + names)
    open(sys.argv[1] + "/modules_" + name + ".xplane.pb", "wb").write(host + device)
END
for command in report steps gaps; do
    says "xla_modules_alone_$command" 'Device time that is not read: 1 XLA modules of devices without a row of ops (2.500 ms)' 0 sh -c \
        "'$prof' $command '$out/modules_alone.xplane.pb' 2>&1 || :"
done
says xla_modules_of_ops 0 0 sh -c "'$prof' report '$out/modules_ops.xplane.pb' 2>&1 | grep -c 'not read' || :"
# XLA's collectives, and the row of those that run beside others.
for rank in 0 1; do
    echo '{"distributedInfo": {"rank": '$rank'}, "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:TPU:0"}},
        {"ph": "M", "name": "thread_name", "pid": 3, "tid": 1, "args": {"name": "XLA Ops"}},
        {"ph": "M", "name": "thread_name", "pid": 3, "tid": 2, "args": {"name": "Async XLA Ops"}},
        {"ph": "X", "name": "fusion.1", "pid": 3, "tid": 1, "ts": 1, "dur": 5},
        {"ph": "X", "name": "all-reduce.1", "pid": 3, "tid": 1, "ts": 6, "dur": 5},
        {"ph": "X", "name": "collective-permute.2", "pid": 3, "tid": 2, "ts": 20, "dur": 7}]}' >"$out/tpu$rank.json"
done
"$prof" ranks -f csv --by collective "$out"/tpu[01].json >"$out/ranks.csv" 2>"$out/told"
says xla_collectives 'allreduce,' 0 cat "$out/ranks.csv"
says xla_async_collective 'permute,' 0 cat "$out/ranks.csv"

# ---- Ascend ----

for number in 0 1; do      # with the device's number in its label, and without
    file="$out/makers/ascend$number.json"
    "$prof" report -f csv "$file" >"$out/ascend.csv" 2>"$out/told"
    says ascend_repeats$number "4 events, as 'Notify_Wait', repeat those of other rows: not counted" 0 cat "$out/told"
    # Owners by the arrows of torch_npu, around which a queue and a thread of CANN's lie.
    says ascend_op$number '"aten::add",1,20.000,15.000,20.000,20.000,20.000,10.000,10.000' 0 cat "$out/ascend.csv"
    says ascend_collective$number "\"c10d::allreduce_\",1,20.000,20.000,20.000,20.000,20.000,$((20 - number)).000" 0 \
        cat "$out/ascend.csv"
    # One device, whatever row it works in; waits for events are no work.
    says ascend_device$number "Device $number (pid $((42 * 1024 + 64 + number))) busy" 0 "$prof" report "$file"
    "$prof" gaps -f csv "$file" >"$out/gaps.csv" 2>"$out/told"
    try ascend_one_device$number test "$(grep -c ',busy,' "$out/gaps.csv")" = 1
    says ascend_busy$number ",busy,$((32 - number)).000" 0 cat "$out/gaps.csv"
    says ascend_compute$number ',compute,10.000' 0 cat "$out/gaps.csv"
    says ascend_copies$number ',exposed memory,2.000' 0 cat "$out/gaps.csv"
done
"$prof" ranks -f csv --by collective "$out/makers/ascend0.json" "$out/makers/ascend1.json" >"$out/ranks.csv" 2>"$out/told"
says ascend_ranks 'allreduce,844,2,0,0-1,1000000,19.000' 0 cat "$out/ranks.csv"
ends_early ascend_cut ascend0.json
"$prof" export -o "$out/kernels.json" "$out/makers/kernel_details.csv" 2>"$out/told"
says ascend_rows '1 lines have no time or duration: left out' 0 cat "$out/told"
says ascend_row '"name": "aclnnAdd_AddAiCore_Add", "pid": 3, "tid": 2, "ts": 1700000000000040.125, "dur": 10.500, "args": {"device": 3, "stream": 2, "op_type": "Add", "Accelerator Core": "AI_VECTOR_CORE", "Input Shapes": "16,16;16"}' 0 \
    cat "$out/kernels.json"
says ascend_last '"name": "last"' 0 cat "$out/kernels.json"
says ascend_rows_ranks 'allreduce,844,2,0,0' 0 "$prof" ranks -f csv --by collective "$out/makers/kernel_details.csv"
says ascend_sums "these are Ascend's sums: prof reads trace_view.json and kernel_details.csv" 2 \
    "$prof" report "$out/makers/op_statistic.csv"
"$prof" ranks -f csv --by collective "$out"/makers/communication[01].json >"$out/ranks.csv" 2>"$out/told"
says ascend_communication 'allreduce,844,2,0,0-1,,17.000,,,3.000,consistent,1' 0 cat "$out/ranks.csv"
says ascend_communication_open '1 collectives have no begin or length: left out' 0 cat "$out/told"
"$prof" export -o "$out/links.json" "$out/makers/communication0.json" 2>"$out/told"
says ascend_links '"Wait Time(ms)": 0.003, "HCCS Transit Size(MB)": 1.5}' 0 cat "$out/links.json"
sed 's/Wait Time(ms)": 0/Wait Time(ms)": /; s/Transit S/Transit\\u0001S/; s/HCCS/HC\\nCS/' \
    "$out/makers/communication0.json" >"$out/controls.json"
"$prof" export -o "$out/no_controls.json" "$out/controls.json" 2>"$out/told"
says ascend_controls_out '"args": {"device": 0, "stream": 65535}}' 0 cat "$out/no_controls.json"
says ascend_controls '0 errors, 0 warnings' 0 "$prof" validate "$out/no_controls.json"
ends_early ascend_communication_cut communication1.json
says ascend_matrix 'communication_matrix.json, which has no times' 2 "$prof" report "$out/makers/communication_matrix.json"

# In its folder others lie beside the trace, which is no rank's then.
mkdir -p "$out/makers/ascend"
cp "$out/makers/ascend0.json" "$out/makers/ascend/trace_view.json"
cp "$out/makers/communication0.json" "$out/makers/ascend/communication.json"
"$prof" export -o "$out/folder.json" "$out/makers/ascend" 2>"$out/told"
says ascend_folder aclnnAdd_AddAiCore_Add 0 cat "$out/folder.json"
says ascend_folder_above '(of Ascend ASCEND_PROFILER_OUTPUT)' 2 "$prof" export -o "$out/folder.json" tests/model
says report_folder 'is a directory: name a trace in it' 2 "$prof" report "$out/makers/ascend"

# ---- AMD ----

"$prof" export -o "$out/rpd.json" "$out/makers/amd.rpd" 2>"$out/told"
says rpd_open '2 events have no begin or no end: left out' 0 cat "$out/told"
says rpd_range '"cat": "user_annotation", "name": "step 1", "pid": 42, "tid": 43, "ts": 1.000, "dur": 8.000' 0 cat "$out/rpd.json"
says rpd_kernel '"cat": "kernel", "name": "gemm", "pid": 1, "tid": 0, "ts": 4.000, "dur": 2.500, "args": {"device": 1, "stream": 0, "correlation": 10}' 0 \
    cat "$out/rpd.json"
says rpd_copy '"cat": "gpu_memcpy", "name": "CopyHostToDevice"' 0 cat "$out/rpd.json"
says rpd_report '"step 1",1,8.000,7.000,8.000,8.000,8.000,2.500' 0 "$prof" report -f csv "$out/makers/amd.rpd"
python3 -c 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute("UPDATE rocpd_op SET start = \"soon\" WHERE id = 20"); db.commit()' \
    "$out/makers/amd.rpd"
says rpd_no_time '3 events have no begin or no end: left out' 1 "$prof" report "$out/makers/amd.rpd"
"$prof" export -o "$out/rocprofv3.json" "$out/makers/rocprofv3.json" 2>"$out/told"
says rocprof_range '"name": "step \"1\"", "pid": 42, "tid": 43, "ts": 1.000, "dur": 8.000' 0 cat "$out/rocprofv3.json"
says rocprof_kernel '"cat": "kernel", "name": "gemm", "pid": 0, "tid": 5, "ts": 4.000, "dur": 2.500' 0 cat "$out/rocprofv3.json"
says rocprof_copy '"name": "MEMORY_COPY_HOST_TO_DEVICE", "pid": 0' 0 cat "$out/rocprofv3.json"
says rocprof_report '"hipLaunchKernel",1,1.000,1.000,1.000,1.000,1.000,' 0 "$prof" report -f csv "$out/makers/rocprofv3.json"
ends_early rocprof_cut rocprofv3.json
exit $failed
