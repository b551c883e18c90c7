#!/bin/sh
# What other tools say of prof.h: clang's every warning and the C library's own checks; with SLOW=1
# also gcc's analyzer, MemorySanitizer and valgrind, for minutes. cppcheck is part of lint, UBSan of
# the asan jobs.
# shellcheck disable=SC2317   # check calls run
set -u
cd "$(dirname "$0")/.." || exit 1
out=build/tests/analysis.dir
failed=0
mkdir -p $out
printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >$out/prof.c

check() {   # NAME COMMAND...
    name=$1
    shift
    if ! command -v "$1" >/dev/null; then
        echo "skip $name: $1 is not installed"
    elif "$@" >$out/said 2>&1; then
        echo "ok $name"
    else
        failed=1
        echo "not ok $name: $(grep -E 'warning|error|ERROR|WARNING|not ok' $out/said | head -n 1)"
    fi
}

# Off: padded (layout is measured), declaration-after-statement (C99), used-but-marked-unused (what
# a file does not call is no fault of it), bad-function-cast and comma (macros), switch-enum (there
# is a default).
check weverything clang -std=c99 -Weverything -Werror -Wno-padded -Wno-declaration-after-statement \
    -Wno-used-but-marked-unused -Wno-bad-function-cast -Wno-comma -Wno-switch-enum \
    -I. -c $out/prof.c -o $out/prof.o

# Fast tests, one after the other, under what each builds.
tests='test_modes test_golden test_details'
run() {   # NAME COMPILER... : builds and runs each
    kind=$1
    shift
    for test in $tests; do
        "$@" -I. -DTEST_OUT="\"$out\"" "tests/$test.c" -o "$out/$test" -lpthread -ldl -lm ||
            return 1
        $runner "$out/$test" || { echo "not ok $kind: $test"; return 1; }
    done
}
runner=''
check fortify run fortify gcc -std=c99 -O2 -w -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS
[ -z "${SLOW:-}" ] && exit $failed
check analyzer gcc -std=c99 -O1 -fanalyzer -Werror -I. -c $out/prof.c -o $out/prof.o
check memory_sanitizer run msan clang -std=c99 -O1 -g -w -fsanitize=memory -fno-sanitize-recover=all
runner='valgrind -q --error-exitcode=9'
tests=test_golden
if command -v valgrind >/dev/null; then
    check valgrind run valgrind gcc -std=c99 -O1 -g -w -DPROF_ARENA_SIZE=4194304
else
    echo 'skip valgrind: it is not installed'
fi
exit $failed
