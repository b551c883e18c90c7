#!/bin/sh
# prof memory: against the totals in the trace, categories, PyTorch's formats, the page.
# shellcheck disable=SC2317,SC2016   # functions that try and says call; scripts
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

memory_alike() {   # NAME TRACE
    "$prof" memory --format csv -o "$out/$1.csv" "$2" 2>/dev/null &&
        "$prof" memory -o "$out/$1.json" "$2" 2>/dev/null &&
        "$prof" memory -o "$out/$1.raw.json" "$2" 2>/dev/null &&
        python3 tests/command/read_more.py memory "$2" "$out/$1.csv" "$out/$1.json" "$out/$1.raw.json"
}

# One block of every category, on cuda:0; 1000 bytes were there before.
python3 - >"$out/made.trace" <<'PYTHON'
import json
total, events = 1000, []
def call(cat, name, ts, dur):
    events.append(dict(ph="X", cat=cat, name=name, pid=9, tid=9, ts=ts, dur=dur, args={}))
def change(ts, address, size):
    global total
    total += size
    events.append(dict(ph="i", s="t", cat="cpu_instant_event", name="[memory]", pid=9, tid=9, ts=ts,
        args={"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": size,
              "Total Allocated": total}))
call("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 0, 10)
call("cpu_op", "aten::stack", 1, 8)
change(5, 1, 1)                       # input
call("cpu_op", "aten::linear", 20, 10)
change(21, 2, 2)                      # temporary
change(22, 3, 4)                      # activation
change(23, 2, -2)
call("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 40, 10)
change(41, 4, 8)                      # temporary of the backward pass
change(42, 5, 16)                     # gradient
change(43, 6, 32)                     # autograd detail
change(44, 4, -8)
call("cpu_op", "autograd::engine::evaluate_function: AccumulateGrad", 60, 10)
change(61, 6, -32)
change(62, 3, -4)
call("user_annotation", "Optimizer.step#SGD.step", 80, 10)
change(81, 7, 64)                     # optimizer state
change(82, 8, 128)                    # its temporary
change(83, 8, -128)
change(95, 9, 256)                    # unknown: in no call, not freed
change(96, 5, -16)
change(97, 77, -100)                  # was there before
print(json.dumps({"baseTimeNanoseconds": 5000, "traceEvents": events}))
PYTHON
expected='[[-1, 1, 1000, 7], [10000, 2, 1, 2], [26000, 2, 2, 3], [27000, 2, 4, 4], [28000, 4, -2, 3], '
expected=$expected'[46000, 2, 8, 3], [47000, 2, 16, 5], [48000, 2, 32, 6], [49000, 4, -8, 3], '
expected=$expected'[66000, 4, -32, 6], [67000, 4, -4, 4], [86000, 2, 64, 1], [87000, 2, 128, 3], '
expected=$expected'[88000, 4, -128, 3], [100000, 2, 256, 7], [101000, 4, -16, 5], [102000, 4, -100, 7]]'
says memory_categories "$expected" 0 "$prof" memory -f raw "$out/made.trace"
says memory_peak 'cuda:0,1337,95.000,1000,1221,9,7' 0 "$prof" memory -f csv "$out/made.trace"
says memory_by_category 'cuda:0,unknown,1256,93.94,2' 0 \
    "$prof" memory -f csv --by category "$out/made.trace"
says memory_by_op 'cuda:0,Optimizer.step#SGD.step,optimizer state,64,4.79,1' 0 \
    "$prof" memory -f csv --by op "$out/made.trace"
says memory_first_row '[[9, 10, 26,' 0 "$prof" memory -f json "$out/made.trace"
# What the trace tells of a block counts, and where it tells of any, nothing is inferred.
cat >"$out/told.json" <<'JSON'
{"profile_memory": 1, "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"Optimizer.step#SGD.step","pid":9,"tid":9,"ts":0,"dur":50},
{"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":1,"args":{"Device Type":0,"Device Id":-1,"Addr":1,"Bytes":8,"Category":"PARAMETER"}},
{"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":2,"args":{"Device Type":0,"Device Id":-1,"Addr":2,"Bytes":16,"Category":"AUTOGRAD_DETAIL"}},
{"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":3,"args":{"Device Type":0,"Device Id":-1,"Addr":3,"Bytes":32}},
{"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":4,"args":{"Device Type":0,"Device Id":-1,"Addr":1,"Bytes":-8}}]}
JSON
says memory_told '[[1000, 2, 8, 0], [2000, 2, 16, 6], [3000, 2, 32, 7], [4000, 4, -8, 0]]' 0 \
    "$prof" memory -f raw "$out/told.json"
"$prof" export -o "$out/told.csv" --table memory "$out/told.json"
says memory_told_in_tables 'PARAMETER' 0 cat "$out/told.csv"
echo '{"profile_memory": 1, "traceEvents": [{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":0,"dur":1}]}' >"$out/on.json"
says memory_was_on 'though profile_memory was on' 0 "$prof" memory "$out/on.json"
# The first device's timeline, though another has more.
cat >"$out/devices.json" <<'JSON'
{"profile_memory": 1, "traceEvents": [
{"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":1,"args":{"Device Type":0,"Device Id":-1,"Addr":1,"Bytes":8192}},
{"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":2,"args":{"Device Type":1,"Device Id":3,"Addr":2,"Bytes":4096}},
{"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":3,"args":{"Device Type":1,"Device Id":0,"Addr":3,"Bytes":32}}]}
JSON
says memory_first_device '[[3000, 2, 32, 7]]' 0 "$prof" memory -f raw "$out/devices.json"
for file in tests/command/traces/kineto_2026.json $(real_traces); do
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
    try "memory_${label%%.*}" memory_alike real "$file"
done
raw=../shared/traces/memory_timeline.raw.json.gz
if [ -r "$raw" ]; then
    "$prof" memory -o "$out/raw.json.gz" "$raw"
    same() { [ "$(gzip -dc "$1")" = "$(gzip -dc "$2")" ]; }
    try memory_raw_again same "$raw" "$out/raw.json.gz"
else
    echo 'skip memory_real, memory_raw_again: ../shared/traces is not there'
fi
says memory_device 'cpu,64,' 0 "$prof" memory -f csv -d cpu tests/command/traces/kineto_2026.json
says memory_no_device "there is no memory of 'cuda:9'" 2 "$prof" memory -d cuda:9 "$out/made.trace"
says memory_none 'record with profile_memory=True' 0 "$prof" memory tests/command/traces/kineto_2022.json
says memory_help 'usage: prof memory' 0 "$prof" memory --help
says memory_format 'it takes text|csv|json|html|raw' 2 "$prof" memory -f x "$out/made.trace"
says memory_by 'it takes device|category|op' 2 "$prof" memory --by x "$out/made.trace"
echo '[[5, 2, 10, 1], [6, 9, 10, 1]]' >"$out/bad.raw.json"
says memory_bad_row 'byte 16: this is not a row of a memory timeline' 2 \
    "$prof" memory "$out/bad.raw.json"
echo '[[5, 2, 10, 1], [6, 2' >"$out/cut.raw.json"
says memory_cut_row 'byte 14: the file ends early; read up to there' 1 "$prof" memory "$out/cut.raw.json"
echo '[[5, 2, 10, 1], x]' >"$out/odd.raw.json"
says memory_odd_row 'byte 16: a value is missing here; read up to there' 1 "$prof" memory "$out/odd.raw.json"
echo '[[5, 1, 4096, 1], [6, 3, 4096, 1]]' >"$out/good.raw.json"
says memory_raw_of_stdin '4096' 0 sh -c 'cat "$1" | "$0" memory -' "$prof" "$out/good.raw.json"
rm -f "$out/pipe"
mkfifo "$out/pipe"
# shellcheck disable=SC2016   # the inner shell expands that
says memory_raw_of_pipe '4096' 0 sh -c 'cat "$1" >"$2" & "$0" memory "$2"' "$prof" "$out/good.raw.json" "$out/pipe"
"$prof" memory -o "$out/made.html" "$out/made.trace"
if [ -n "$browser" ]; then
    dom "$out/made.html" >"$out/made.dom"
    says memory_page 'Peak: 1.31 KiB.' 0 cat "$out/made.dom"
    says memory_page_holders '<td>Optimizer.step#SGD.step</td><td>optimizer state</td><td>64 B' 0 \
        cat "$out/made.dom"
    sed 's|</body>|<script>showUse(88e3,90e3);tellUse(84e3);document.title=$("use_told").textContent</script>&|' \
        "$out/made.html" >"$out/told.html"
    says memory_page_tells '<title>84.000 µs: 1.06 KiB' 0 dom "$out/told.html"
else
    echo 'skip memory_page: no Chromium here'
fi

# Memory snapshots of PyTorch, which are pickles.
python3 tests/command/makers.py "$out"
for protocol in 2 3 4 5; do
    snapshot=$out/snapshot$protocol.pickle
    says "memory_snapshot$protocol" 'cuda:0,2000,2.000,600,950,3,2' 0 "$prof" memory -f csv "$snapshot"
done
says memory_snapshot_device 'cuda:1,64,2.000,0,0,1,1' 0 "$prof" memory -f csv "$snapshot"
says memory_snapshot_op 'cuda:0,/site/torch/nn/linear.py(125): forward,temporary,1000,50.00,1' 0 \
    "$prof" memory -f csv --by op "$snapshot"
says memory_snapshot_stack 'cuda:0,"loss_odd.py(30): loss ""x"";train.py(9): <module>",unknown,400,20.00,1' 0 \
    "$prof" memory -f csv --by stack "$snapshot"
says memory_snapshot_before '[[-1, 1, 500, 7], [-1, 1, 100, 7], [1700000000000001000, 2, 1000, 3]' 0 \
    "$prof" memory -f raw "$snapshot"
"$prof" export -o "$out/snapshot.json" "$snapshot"
says memory_snapshot_oom '"name": "[OutOfMemory]", "pid": 0' 0 cat "$out/snapshot.json"
says memory_snapshot_exported 'cuda:0,2000,2.000,600,950,3,2' 0 "$prof" memory -f csv "$out/snapshot.json"
says memory_snapshot_packed 'cuda:0,2000,2.000,600,950,3,2' 0 sh -c 'gzip -c "$2" | "$1" memory -f csv -' x "$prof" "$snapshot"
head -c 1000 "$snapshot" >"$out/cut.pickle"
says memory_snapshot_cut 'the pickle ends early; read up to there' 1 "$prof" memory "$out/cut.pickle"
python3 - "$out" <<'PYTHON'
import os, pickle, sys
class Code:
    def __reduce__(self): return (os.system, ("touch " + sys.argv[1] + "/was_run",))
for protocol in 2, 4:
    with open(f"{sys.argv[1]}/code{protocol}.pickle", "wb") as file:
        pickle.dump({"segments": [Code()]}, file, protocol)
with open(f"{sys.argv[1]}/other.pickle", "wb") as file:
    pickle.dump([1, {"a": 2}], file, 4)
for protocol in 0, 1:
    with open(f"{sys.argv[1]}/old{protocol}.pickle", "wb") as file:
        pickle.dump({"segments": []}, file, protocol)
PYTHON
for protocol in 0 1; do
    says memory_old_pickle$protocol 'this is a pickle of protocol 0 or 1' 2 "$prof" memory "$out/old$protocol.pickle"
done
rm -f "$out/was_run"
says memory_code 'opcode GLOBAL (0x63) is refused' 2 "$prof" memory "$out/code2.pickle"
says memory_code_4 'opcode STACK_GLOBAL (0x93) is refused' 2 "$prof" memory "$out/code4.pickle"
not_run() { [ ! -e "$out/was_run" ]; }
try memory_code_is_not_run not_run
says memory_other_pickle 'not a memory snapshot of PyTorch' 2 "$prof" memory "$out/other.pickle"
printf '\200\004]r\377\377\377\377.' >"$out/odd.pickle"
says memory_odd_pickle 'byte 3: this is not a pickle' 2 "$prof" memory "$out/odd.pickle"

# Stacks that grow frame by frame would need the square of the file's size: this one 1 GB.
python3 - "$out/grows.pickle" <<'PYTHON'
import struct, sys
def text(s):
    return b"X" + struct.pack("<I", len(s)) + s
with open(sys.argv[1], "wb") as file:
    file.write(b"\x80\x02}(" + text(b"segments") + b"]" + text(b"y") + b"]"
               + b"}(" + b"".join(map(text, (b"filename", b"a.py", b"name", b"f"))) + b"uq\x00a"
               + b"h\x00a" * 20000 + b"u.")
PYTHON
says memory_grown_stack '20000 times frames were appended' 0 sh -c "ulimit -v 400000; \"$prof\" memory \"$out/grows.pickle\""

# Memory of a zone that never ends, as the program is killed in it.
cat >"$out/killed.c" <<'END'
#include "prof.h"
#include <stdio.h>
#include <unistd.h>
static bool put(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size && fflush((FILE *)file) == 0;
}
int main(void) {
    static char block[64];
    prof_desc desc = {0};
    prof_device host = {0};
    prof_sink out = {put, stdout};
    desc.mode = PROF_MODE_STREAM;
    desc.stream = out;
    desc.profile_memory = true;
    if (prof_start(&desc) != PROF_OK) return 1;
    PROF_BLOCK("whole") prof_memory_alloc(block, sizeof block, host);
    PROF_BLOCK("killed") {
        prof_memory_alloc(block, sizeof block, host);
        prof_flush();
        _exit(0);
    }
}
END
library zlib
# shellcheck disable=SC2086   # lists of words
try memory_killed_builds $cc -I. "$out/killed.c" "$library" -o "$out/killed" $libs
"$out/killed" >"$out/killed.raw"
says memory_in_no_zone '1 zones that memory changed in have no end: those changes are in no row' 1 "$prof" report "$out/killed.raw"
exit $failed
