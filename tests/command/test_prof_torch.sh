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
exit $failed
