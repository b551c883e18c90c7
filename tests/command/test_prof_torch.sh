#!/bin/sh
# The command against PyTorch's own answers to the same profiles of a real GPU: h100/README.md.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

data=tests/command/h100

rows_alike() {   # NAME GROUPING OPTION...
    trace=$1 grouping=$2
    shift 2
    "$prof" report --merge-duplicates -n all -f json -o "$out/rows.json" "$@" "$data/$trace.json.gz" &&
        python3 tests/command/read_torch.py rows "$trace" "$grouping" "$out/rows.json"
}

table_alike() {   # NAME
    "$prof" report --merge-duplicates -n all --sort none -o "$out/table.txt" "$data/$1.json.gz" &&
        python3 tests/command/read_torch.py table "$1" "$out/table.txt"
}

stacks_alike() {
    "$prof" stacks --frames-only -o "$out/folded" "$data/stacks.json.gz" &&
        python3 tests/command/read_torch.py stacks "$out/folded"
}

memory_alike() {   # DEVICE FILE
    "$prof" memory -d "$1" -o "$out/memory.raw.json" "$data/stacks.json.gz" &&
        python3 tests/command/read_torch.py memory "$2" "$out/memory.raw.json"
}

for name in graph memory threads streams_sync; do
    try "torch_rows_$name" rows_alike $name name
    try "torch_shapes_$name" rows_alike $name shapes --group-by-input-shape
done
try torch_table_memory table_alike memory
try torch_table_graph table_alike graph
try torch_stacks stacks_alike
try torch_memory_cuda memory_alike cuda:0 cuda0
try torch_memory_cpu memory_alike cpu cpu
# record_function and Python functions lie in each other as they have to.
"$prof" stacks -o "$out/folded" "$data/stacks.json.gz" 2>"$out/said.stacks"
try torch_stacks_no_overlaps test ! -s "$out/said.stacks"
says torch_overhead '"key": "aten::normal_", "count": 12, "cpu_time_total": 3630.896, "self_cpu_time_total": 311.058' 0 \
    "$prof" report -f json --sort none "$data/memory.json.gz"
# Utility ops and PyTorch's own frames are left out, as _filter_name and _filter_stack_entry do; of
# prof.h's own traces nothing is.
for head in schemaVersion prof; do
    cat >"$out/$head.json" <<END
{"$head": {"version": "0.3.0"}, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::foo", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::is_leaf", "pid": 1, "tid": 1, "ts": 10, "dur": 30},
{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 200, "dur": 50, "args": {"Call stack":
"torch/autograd/__init__.py(200): _make_grads;a.py(3): f;torch/autograd/__init__.py(260): backward;b.py(4): g"}}]}
END
done
says torch_utility_op '"aten::foo",1,100.000,100.000' 0 "$prof" report -f csv "$out/schemaVersion.json"
try torch_utility_row sh -c "! '$prof' report '$out/schemaVersion.json' | grep -q is_leaf"
says torch_own_utility 'is_leaf' 0 "$prof" report "$out/prof.json"
says torch_own_frames 'b.py(4):_g;a.py(3):_f;aten::mul 50' 0 "$prof" stacks "$out/schemaVersion.json"
says torch_own_frames_count '"a.py(3): f", "b.py(4): g"' 0 \
    "$prof" report -f json --group-by-stack 2 "$out/schemaVersion.json"
# A program's own stack stands between its zone and the one around it, as in prof_write_stacks: but for
# the outer frames that the stack of that one has.
cat >"$out/lua.json" <<'END'
{"prof": {"version": "0.3.0"}, "with_stack": 1, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 0, "dur": 100, "args": {"Call stack": "outer"}},
{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 10, "dur": 60, "args": {"Call stack": "a.lua(3): f;m.lua(1): main", "Own stack": true}},
{"ph": "X", "cat": "cpu_op", "name": "in", "pid": 1, "tid": 1, "ts": 20, "dur": 40, "args": {"Call stack": "b: g;aa.lua(3): f;m.lua(1): main", "Own stack": true}},
{"ph": "X", "cat": "cpu_op", "name": "out", "pid": 1, "tid": 1, "ts": 30, "dur": 20, "args": {"Call stack": "m.lua(1): main", "Own stack": true}}]}
END
lua=outer\;m.lua\(1\):_main\;a.lua\(3\):_f\;op
says torch_stack_between "$lua 20" 0 "$prof" stacks "$out/lua.json"
says torch_stack_other_end "$lua;aa.lua(3):_f;b:_g;in 20" 0 "$prof" stacks "$out/lua.json"
says torch_stack_shorter "$lua;aa.lua(3):_f;b:_g;in;out 20" 0 "$prof" stacks "$out/lua.json"
exit $failed
