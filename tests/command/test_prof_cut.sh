#!/bin/sh
# prof cut: against an independent reading; flows have both ends; bad windows.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cut_alike() {   # TRACE FROM TO FILE_FROM FILE_TO
    "$prof" cut --from "$2" --to "$3" -o "$out/part.json" "$1" 2>/dev/null &&
        python3 tests/command/read_more.py cut "$1" "$out/part.json" "$4" "$5"
}

# The middle third of a trace: FROM TO since its first call, and the same in the file's own time.
middle() {   # TRACE
    python3 - "$1" <<'PYTHON'
import sys
sys.path.insert(0, "tests/command")
from read_trace import load, ns
events = load(sys.argv[1])
times = sorted(ns(e.get("ts", 0)) for e in events)
first = min(ns(e.get("ts", 0)) for e in events if e.get("cat") != "Trace")
thirds = times[len(times) // 3], times[2 * len(times) // 3] + 1
for time in (thirds[0] - first, thirds[1] - first, *thirds):
    print(f"{time // 1000}.{time % 1000:03d}", end=" ")
PYTHON
}

events() { "$prof" cut "$@" | grep -c '"ph"'; }
count() {   # NAME EXPECTED OPTION...
    label=$1 expected=$2
    shift 2
    got=$(events "$@")
    if [ "$got" = "$expected" ]; then echo "ok $label"; return; fi
    failed=1
    echo "not ok $label: $got events, not $expected"
}

for file in tests/command/traces/kineto_*.json $(real_traces); do
    label=$(basename "$file" .gz)
    case $label in
    memory_timeline* | *_et.json | *_et_* | resnet50* | linear* | ns_res*) continue ;;
    esac
    # shellcheck disable=SC2046   # four words
    try "cut_${label%%.*}" cut_alike "$file" $(middle "$file")
done
[ -n "$(real_traces)" ] || echo 'skip cut_real: ../shared/traces is not there'

# A launch inside of the window, whose kernel runs behind it; one outside, its kernel inside.
cat >"$out/made.trace" <<'JSON'
[{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":9,"tid":9,"ts":100,"dur":50},
{"ph":"X","cat":"cpu_op","name":"around","pid":9,"tid":9,"ts":0,"dur":500},
{"ph":"X","cat":"cpu_op","name":"before","pid":9,"tid":9,"ts":10,"dur":50},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":20,"dur":2,"args":{"correlation":1}},
{"ph":"s","cat":"ac2g","name":"ac2g","id":1,"pid":9,"tid":9,"ts":20},
{"ph":"X","cat":"kernel","name":"not this","pid":0,"tid":7,"ts":110,"dur":5,"args":{"correlation":1}},
{"ph":"f","cat":"ac2g","name":"ac2g","id":1,"pid":0,"tid":7,"ts":110,"bp":"e"},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":120,"dur":2,"args":{"correlation":2}},
{"ph":"s","cat":"ac2g","name":"ac2g","id":2,"pid":9,"tid":9,"ts":120},
{"ph":"X","cat":"kernel","name":"this","pid":0,"tid":7,"ts":400,"dur":5,"args":{"correlation":2}},
{"ph":"f","cat":"ac2g","name":"ac2g","id":2,"pid":0,"tid":7,"ts":400,"bp":"e"},
{"ph":"f","cat":"ac2g","name":"ac2g","id":5,"pid":9,"tid":9,"ts":130,"bp":"e"},
{"ph":"i","s":"t","name":"in","pid":9,"tid":9,"ts":149.999},
{"ph":"i","s":"t","name":"out","pid":9,"tid":9,"ts":150}]
JSON
count cut_step 7 --step 3 "$out/made.trace"
count cut_time 7 --from 100 --to 0.15ms "$out/made.trace"
count cut_from_only 1 --from 155us "$out/made.trace"
count cut_whole 13 --from 0 --to 1s "$out/made.trace"
count cut_within 7 --within ProfilerStep#3 "$out/made.trace"
pairs=tests/command/traces/begin_end.json
count cut_pairs 7 --from 12 --to 50 "$pairs"      # both ends of three, one that has none
count cut_pairs_whole 14 --from 0 --to 1s "$pairs"      # without the end of nothing
says cut_help 'usage: prof cut' 0 "$prof" cut --help
says cut_no_step 'there is no ProfilerStep#9' 2 "$prof" cut --step 9 "$out/made.trace"
says cut_of_all 'cut needs --from, --to, --step or --within' 2 "$prof" cut "$out/made.trace"
says cut_no_time "'1h' is not a time" 2 "$prof" cut --to 1h "$out/made.trace"
says cut_backwards 'not after --from' 2 "$prof" cut --from 2 --to 1 "$out/made.trace"
says cut_stdin 'it must be a file' 2 "$prof" cut --step 1 -
echo 'a;b 5' >"$out/some.folded"
says cut_folded '"name": "b"' 0 "$prof" cut --to 1 "$out/some.folded"
[ -e "$out/none.json" ] && rm "$out/none.json"
"$prof" cut --step 9 -o "$out/none.json" "$out/made.trace" 2>/dev/null
none() { [ ! -e "$out/none.json" ]; }
try cut_leaves_nothing none
exit $failed
