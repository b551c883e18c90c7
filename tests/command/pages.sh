#!/bin/sh
# The pages of the prof command in headless Chromium: of real traces, of two programs, of hostile
# input, and of a million slices. Part of tests/write/viewers.sh, which counts what it prints.
# PICTURES=FOLDER keeps pictures of the pages.
set -u
cd "$(dirname "$0")/../.." || exit 1

out=$PWD/build/viewers/pages
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
command -v node >/dev/null || { echo 'skip pages: node is not installed'; exit 0; }
[ -n "$chromium" ] || { echo 'skip pages: Chromium is not installed'; exit 0; }
make -s prof build/examples/train build/examples/threads || exit 1
mkdir -p "$out/train"
rm -rf "$out/browser"
list=''

range() {   # NAME TRACE...: the rows of what is measured in its page
    name=$1
    shift
    build/prof report -f json -n all --from 11.5ms --to 31ms -o "$out/$name.range.json" "$@" 2>/dev/null
}

page() {   # NAME TRACE [STEP]: its page, and the rows of one step of it
    build/prof report -f html -o "$out/$1.html" "$2" 2>"$out/said" ||
        { echo "not ok page_$1: $(tail -n 1 "$out/said")"; return; }
    rm -f "$out/$1.step.json"
    [ -z "${3:-}" ] ||
        build/prof report -f json -n all --step "$3" -o "$out/$1.step.json" "$2" 2>/dev/null
    # Of summed a page has no call; in many_* work begins before its launch.
    case $1 in summed | many_*) ;; *) range "$1" "$2" ;; esac
    rm -f "$out/$1.gaps.json"
    if grep -q '"device":"' "$out/$1.html"; then
        build/prof gaps -f json -o "$out/$1.gaps.json" "$2" 2>/dev/null
    fi
    list="$list $1=$out/$1.html"
}

traces=../shared/traces
[ -d "$traces" ] || echo 'skip pages_real: ../shared/traces is not there'
for trace in nccl_h100:5 h100_owlv2_all_features:6 h100_qwen_stack_memory_flops:6 mi250_minitoy_2024: b200_vllm_eager: \
    alexnet_v100_cuda_sync: cpu_only_gloo.pt.trace: resnet50_v100_2021.pt.trace:; do
    file=$traces/${trace%:*}.json.gz
    [ -r "$file" ] && page "$(basename "${trace%:*}" .pt.trace)" "$file" "${trace#*:}"
done
(cd "$out" && timeout 120 ../../examples/train train && timeout 60 ../../examples/threads threads.json) \
    >"$out/said" 2>&1
for trace in "$out"/train/*.json "$out/threads.json"; do
    [ -r "$trace" ] && page "$(basename "$trace" .json)" "$trace"
done

# ---- Two traces in one page ----

ranks=$(tar xzf $traces/dlrm_8_ranks.tar.gz -C "$out" 2>/dev/null &&
    find "$out" -name 'worker[01]_*.json' | sort)
if [ -n "$ranks" ]; then
    # shellcheck disable=SC2086   # two files without blanks in their names
    build/prof diff -f html --any-order -o "$out/diff.html" $ranks 2>"$out/said" ||
        echo "not ok page_diff: $(tail -n 1 "$out/said")"
    list="$list diff=$out/diff.html"
fi

python3 tests/command/two_ranks.py "$out"
for rank in rank0 rank1 later; do
    build/prof report --step 2 "$out/$rank.json" >"$out/$rank.step.txt"
    build/prof report --step 2 -f json -n all -o "$out/$rank.step.json" "$out/$rank.json"
done
build/prof report -f html -o "$out/two_ranks.html" "$out/rank0.json" "$out/rank1.json"
build/prof report --step 3 -f json -n all -o "$out/two_ranks.step.json" "$out/rank0.json" "$out/rank1.json"
build/prof diff -f html -o "$out/diff_later.html" "$out/rank0.json" "$out/later.json"
build/prof diff -f html --metric p90 -o "$out/diff_p90.html" "$out/rank0.json" "$out/rank1.json"
build/prof merge -o "$out/merged.json" "$out/rank0.json" "$out/rank1.json" 2>/dev/null
build/prof report -f html -o "$out/merged.html" "$out/merged.json"
cp "$out/two_ranks.step.json" "$out/merged.step.json"      # each rank's own step, as of two files
range two_ranks "$out/rank0.json" "$out/rank1.json"
range merged "$out/merged.json"
list="$list merged=$out/merged.html two_ranks=$out/two_ranks.html diff_later=$out/diff_later.html diff_p90=$out/diff_p90.html"

# ---- Pages of other commands ----

memory=$traces/h100_qwen_stack_memory_flops.json.gz
[ -r "$memory" ] || memory=tests/command/traces/kineto_2026.json
build/prof memory -o "$out/memory.html" "$memory" &&
    build/prof flamegraph -o "$out/flame.svg" "$memory" &&
    list="$list other_memory=$out/memory.html other_flame=$out/flame.svg"

# ---- Hostile input ----

python3 - "$out" <<'END_OF_PYTHON'
import json, sys
out = sys.argv[1]
def write(name, events):
    with open(f"{out}/{name}.json", "w") as file: json.dump({"traceEvents": events}, file)
def zone(name, ts, dur, tid=1, **more):
    return dict({"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur}, **more)
odd = ["</script><script>document.title = 'broken'</script>", "<!--<script>", "\u202eesrever",
       "\x00\x01\x1b[31mred\x07\r\n", "x" * 1000000, "", "@DATA@", "\ud83d", "&lt;b&gt;", "__proto__",
       "constructor", "'\"`${1}\\", "\u2028\u2029"]
write("hostile", [zone(name, 10 * i, 9, args={name[:100]: name[:1000], "__proto__": {"a": [1e300]}})
                  for i, name in enumerate(odd)] +
      [{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": odd[0]}},
       {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": odd[2] + odd[3]}},
       {"ph": "i", "name": odd[0], "pid": 1, "tid": 1, "ts": 5},
       {"ph": "C", "name": odd[0], "pid": 1, "tid": 1, "ts": 5, "args": {odd[0]: 1e308}}])
with open(f"{out}/nan.json", "w") as file:
    file.write('[{"ph":"X","name":"a","pid":1,"tid":1,"ts":NaN,"dur":5},{"ph":"X","name":"b","pid":1,'
               '"tid":1,"ts":7,"dur":NaN},{"ph":"X","name":"c","pid":1,"tid":1,"ts":1e12,"dur":1},'
               '{"ph":"X","name":"d","pid":1,"tid":1,"ts":-1e12,"dur":1e12},'
               '{"ph":"C","name":"e","pid":1,"tid":1,"ts":9,"args":{"x":NaN}},'
               '{"ph":"X","name":"f","pid":1,"tid":1,"ts":8,"dur":-5}]')
write("threads_10000", [zone("work", i % 97, 5 + i % 13, tid=i) for i in range(10000)])
write("none", [])
write("steps", [zone("ProfilerStep#%d" % (i // 2), 10 * i, 9, cat="user_annotation") for i in range(4500)])
write("overlaps", [zone("part", 10 * i, 25, tid=1 + i % 2) for i in range(5000)])
write("counters", [zone("work", 20 * i, 15, tid=i % 3) for i in range(2000)] +
      [{"ph": "C", "name": "c%d" % (i % 9), "pid": 1, "ts": i, "args": {"value": i * 7919 % 1000}}
       for i in range(40000, 0, -1)] +
      [{"ph": "i", "name": "mark", "pid": 1, "tid": i % 3, "ts": 40000 - 3 * i} for i in range(12000)])
write("told", [dict(zone(name, ts, 0), ph=ph) for name, ts, ph in
               (("outer", 0, "B"), ("inner", 0, "B"), ("inner", 9, "E"), ("outer", 9, "E"))] +
      [zone("far", 20, 5, args={"Zone id": 7}),
       zone("later", 30, 5, tid=2, args={"Zone id": 8, "Zone parent id": 7})])
write("deep", [zone("level %d" % i, i, 20000 - 2 * i) for i in range(6000)])
END_OF_PYTHON
for name in hostile nan threads_10000 steps none told counters overlaps deep; do page $name "$out/$name.json"; done

# ---- Figures ----

for count in 100000 1000000; do
    [ -s "$out/many_$count.json" ] ||
        python3 tests/command/many_events.py $count >"$out/many_$count.json"
    page many_$count "$out/many_$count.json"
done
awk 'BEGIN { print "["; for (i = 0; i < 1200000; i++)
    printf "{\"ph\":\"X\",\"name\":\"n%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%.3f},\n",
        i % 50, i % 3, i, 0.1 + (i * 7919 % 997) / 1000
    print "{\"ph\":\"X\",\"name\":\"all\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1200000}]" }' \
    >"$out/summed.json"
page summed "$out/summed.json"
rm -f "$out/summed.json"
# shellcheck disable=SC2086   # a list without blanks in its names
node tests/command/pages.mjs "$chromium" "$out/browser" $list | tee "$out/log"
! grep -q '^not ok ' "$out/log"
