#!/bin/sh
# The Chrome traces that the examples and the golden test write, checked strictly as JSON.
# shellcheck disable=SC2086   # $out has no spaces
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=${TESTS_OUT:-build/tests}/test_json.dir
failed=0
mkdir -p $out

# Runs a command; prints "ok NAME", or "not ok NAME" with the last line of what it said.
try() {   # NAME COMMAND...
    name=$1
    shift
    if "$@" >$out/said 2>&1; then echo "ok $name"; return 0; fi
    failed=1
    echo "not ok $name: $(tail -n 1 $out/said)"
    return 1
}

# shellcheck disable=SC2317   # try calls it
refuses() {   # FILE
    ! python3 tests/write/check_json.py "$1"
}

# The checker itself: each of these must be refused.
refused() {   # NAME TEXT
    printf '%s\n' "$2" >"$out/$1.json"
    try "json_refuses_$1" refuses "$out/$1.json"
}

events() {   # EVENTS
    printf '{"traceEvents":[%s]}' "$1"
}

zone() {   # TS DUR
    printf '{"ph":"X","cat":"c","name":"n","pid":1,"tid":1,"ts":%s,"dur":%s}' "$1" "$2"
}

example() {   # NAME NAME=COUNT...
    example=$1
    shift
    implementation=$library
    grep -q PROF_IMPLEMENTATION "examples/$example.c" && implementation=
    try "json_${example}_builds" ${CC:-$quick_cc} -std=c99 -O0 -I. "examples/$example.c" $implementation \
        -o "$out/$example" $libs || return
    try "json_${example}_runs" "$out/$example" "$out/$example.json" || return
    try "json_${example}_valid" python3 tests/write/check_json.py "$out/$example.json" "$@"
}

command -v python3 >/dev/null || { echo "skip json: python3 is not installed"; exit 0; }

refused overlap "$(events "$(zone 0 10),$(zone 5 10)")"
refused disorder "$(events "$(zone 5 1),$(zone 4 1)")"
refused negative "$(events "$(zone 0 -1)")"
refused nan "$(events "$(zone NaN 1)")"
refused no_name "$(events '{"ph":"X","cat":"c","pid":1,"tid":1,"ts":0,"dur":1}')"
refused text_tid "$(events '{"ph":"X","cat":"c","name":"n","pid":1,"tid":"1","ts":0,"dur":1}')"
refused truncated '{"traceEvents":['
refused control "$(events "$(zone 0 1 | sed "s/\"n\"/\"$(printf '\001')\"/")")"
refused comma "$(events "$(zone 0 1),")"
events "$(zone 0 10),$(zone 0 10),$(zone 10 0)" >$out/nested.json
try json_takes_nested python3 tests/write/check_json.py $out/nested.json n=3

for file in tests/write/golden/*.json; do
    try "json_golden_$(basename "$file" .json)" python3 tests/write/check_json.py "$file"
done
library gcc || { echo 'not ok json_builds: prof.h does not compile'; exit 1; }
try json_hostile_builds $cc -O0 -I. -DTEST_LIBRARY -DTEST_OUT="\"$out\"" tests/write/hostile.c \
    "$library" -o $out/hostile $libs && try json_hostile_runs $out/hostile
for name in hostile hostile_array; do
    try "json_$name" python3 tests/write/check_json.py $out/$name.json
done
try json_formats python3 tests/write/check_formats.py $out
example hello find_median=100 fill=100 sort=100
example threads worker=3 helper=24
exit $failed
