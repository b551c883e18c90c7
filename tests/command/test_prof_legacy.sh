#!/bin/sh
# Legacy record streams: what prof makes of PyTorch's, and of damaged ones.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# ---- Against PyTorch's answers: the object, the array alone, .gz, stdin ----

if command -v python3 >/dev/null; then
    count=$(python3 tests/command/read_records.py tests/analyse/vectors/legacy_records.json.gz "$out")
    cases() {   # SUFFIX OPTION...: report of each case, as OUT/NUMBER.report.json
        suffix=$1
        shift
        number=0
        while [ "$number" -lt "$count" ]; do
            "$prof" report -f json -n all -s none "$@" -o "$out/$number.report.json" \
                "$out/$number.$suffix" || return 1
            number=$((number + 1))
        done
    }
    answers() { cases "$@" && python3 tests/command/read_records.py --same "$out" "$count"; }
    merged() { cases list.json --merge-duplicates &&
        python3 tests/command/read_records.py --same "$out" "$count" merged; }
    try legacy_object answers json
    try legacy_array_merged merged
fi

say() { printf '{"kind":"%s","name":"%s","handle":%s,"t":%s,"thread_id":1%s}' "$@"; }
start=$(say mark __start_profile 0 100 '')
mm=$(say push aten::mm 1 110 ',"has_cuda":true,"device":0,"cuda_t":5,"shapes":[[2,3],[3,4]],"stack":["a.py(1): f","torch/autograd/__init__.py(5): backward","b.py(2): g"],"sequence_nr":4')
alloc=$(say memory_alloc '' 0 112 ',"cpu_memory_usage":64,"cuda_memory_usage":128')
pop=$(say pop '' 1 130 ',"has_cuda":true,"device":0,"cuda_t":11')
printf '{"threads":[[%s,%s,%s,%s]],"use_device":"cuda"}' "$start" "$mm" "$alloc" "$pop" >"$out/one.json"
gzip -c "$out/one.json" >"$out/one.json.gz"
from_stdin() { "$prof" report - <"$out/one.json.gz"; }
says legacy_device 'Self CUDA time total: 6.000us' 0 "$prof" report "$out/one.json"
says legacy_memory '128 B' 0 "$prof" report "$out/one.json"
says legacy_gz 'aten::mm' 0 "$prof" report "$out/one.json.gz"
says legacy_stdin 'aten::mm' 0 from_stdin
says legacy_stack 'a.py(1): f' 0 "$prof" report --group-by-stack 5 "$out/one.json"
says legacy_stack_filter '["a.py(1): f", "b.py(2): g"]' 0 "$prof" report --group-by-stack 5 -f json \
    "$out/one.json"
says legacy_flops '48.000' 0 "$prof" report --flops "$out/one.json"

# ---- Every other command ----

for command in stacks memory gaps validate 'validate --strict' flamegraph analyze; do
    # shellcheck disable=SC2086
    try "legacy_${command%% *}" "$prof" $command "$out/one.json"
done
says legacy_memory_peak 'cuda:0       128' 0 "$prof" memory "$out/one.json"
says legacy_diff 'aten::mm' 0 "$prof" diff "$out/one.json" "$out/one.json"
rewritten() {   # COMMAND...: OUT/new.json of it gives the same report
    "$@" && "$prof" report -f json "$out/one.json" >"$out/before.json" &&
        "$prof" report -f json "$out/new.json" >"$out/after.json" && cmp "$out/before.json" "$out/after.json"
}
try legacy_cut rewritten "$prof" cut --to=1s -o "$out/new.json" "$out/one.json"
try legacy_augment rewritten "$prof" augment "$out/one.json" "$out/new.json"
try legacy_merge "$prof" merge -o "$out/new.json" "$out/one.json" "$out/one.json.gz"
says legacy_merge_counts '2' 0 "$prof" report "$out/new.json"
try legacy_page "$prof" report -f html -o "$out/page.html" "$out/one.json"

# ---- Damaged ones: what is whole is shown, what is not is counted ----

damaged() {   # NAME TEXT STATUS RECORD...: of one thread
    label=$1 text=$2 status=$3
    shift 3
    printf '{"threads":[[%s' "$1" >"$out/$label.json"
    shift
    for record in "$@"; do printf ',%s' "$record" >>"$out/$label.json"; done
    printf ']]}' >>"$out/$label.json"
    says "legacy_$label" "$text" "$status" "$prof" report "$out/$label.json"
}
damaged lone_pop '1 pops without a push, 0 pushes' 0 "$start" "$pop"
damaged open_push '1 pushes that nothing ends' 0 "$start" "$mm"
damaged twice_popped '1 pops without a push' 0 "$start" "$mm" "$pop" "$pop"
damaged no_start 'no record is named __start_profile' 0 "$mm" "$pop"
damaged odd_kind '4 that are no records' 0 "$start" '{"kind":"jump","t":1}' '{"kind":7,"t":1}' '{}' 'null' \
    "$mm" "$pop"
damaged no_time '1 that are no records' 0 "$start" '{"kind":"push","name":"x","handle":3}' "$mm" "$pop"
damaged wrong_types '3 that are no records' 0 "$start" '{"kind":"push","t":"soon","handle":1}' \
    '{"kind":"push","t":1,"name":[1]}' '{"kind":"push","t":1e300,"handle":2}' "$mm" "$pop"
damaged backwards '1 that are no records' 0 "$start" "$pop" "$(say push late 2 120 '')" \
    "$(say pop '' 2 119 '')"
damaged odd_shapes 'aten::x' 0 "$start" \
    "$(say push aten::x 1 110 ',"shapes":[[1,"a"],{"b":2},[[[[5]]]],null],"stack":[1,{}],"device":-9')" "$pop"
damaged huge_numbers 'aten::x' 0 "$start" "$(say push aten::x 1 110 '')" \
    "$(say memory_alloc '' 0 111 ',"cpu_memory_usage":2000000000000000000')" \
    "$(say memory_alloc '' 0 111 ',"cpu_memory_usage":2000000000000000000')" \
    "$(say memory_alloc '' 0 111 ',"cpu_memory_usage":2000000000000000000')" \
    "$(say memory_alloc '' 0 111 ',"cpu_memory_usage":2000000000000000000')" \
    "$(say memory_alloc '' 0 111 ',"cpu_memory_usage":2000000000000000000')" "$pop"
says legacy_huge_validates '0 errors' 0 "$prof" validate "$out/huge_numbers.json"

refuses() {   # NAME TEXT CONTENT
    printf '%s' "$3" >"$out/$1.json"
    tells "legacy_$1" "$2" 2 "$prof" report "$out/$1.json" &&
        try "legacy_$1_in_a_line" test "$(wc -l <"$out/said")" = 1
}
deep=$(awk 'BEGIN { for (i = 0; i < 600; i++) printf "[" }')
refuses deep 'nested too deep' "{\"threads\":[[$mm,{\"shapes\":$deep"
refuses deeper 'byte' "[[{\"shapes\":$deep"
refuses broken 'byte' "[[$mm,{\"kind\":nope}]]"
refuses behind 'something follows' "{\"threads\":[[$mm]]}{}"

whole=$(wc -c <"$out/one.json")
for size in 300 380 $((whole - 1)); do       # somewhere in a record; without the last bracket
    head -c $size "$out/one.json" >"$out/short.json"
    "$prof" report "$out/short.json" >"$out/said" 2>&1
    try "legacy_short_$size" test "$(grep -c 'the file ends early' "$out/said")" = 1
done
# A range without a kernel has that of its only child of the same name, when they are merged.
cat >"$out/twice.json" <<'END'
{"threads": [[{"kind": "mark", "name": "__start_profile", "t": 0, "thread_id": 1},
{"kind": "push", "name": "aten::add", "handle": 1, "t": 1, "thread_id": 1},
{"kind": "mark", "name": "between", "t": 1, "thread_id": 1},
{"kind": "push", "name": "aten::add", "handle": 2, "t": 2, "thread_id": 1, "has_cuda": true, "device": 0, "cuda_t": 2},
{"kind": "pop", "handle": 2, "t": 7, "thread_id": 1, "has_cuda": true, "device": 0, "cuda_t": 7},
{"kind": "pop", "handle": 1, "t": 9, "thread_id": 1}]], "use_device": "cuda"}
END
says legacy_pprof_told '5.000 us of device time are in no sample' 0 "$prof" export -o "$out/twice.pb.gz" "$out/twice.json"
says legacy_lifted 'Self CUDA time total: 5.000us' 0 "$prof" report --merge-duplicates "$out/twice.json"
exit $failed
