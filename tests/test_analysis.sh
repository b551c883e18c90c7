#!/bin/sh
# What other tools say of the code: clang's every warning, in seconds.
# SLOW=1 (make analysis) for minutes, JOBS (2) at a time: the C library's own checks, gcc's analyzer and cppcheck over both
# headers and the prof command; every test that needs no look inside prof.h under MemorySanitizer and
# under clang's UBSan, which sees more than gcc's in the asan jobs of tests/run.sh; some of them, and
# the prof command over the seeds of its fuzzing, under valgrind.
#   tests/test_analysis.sh [PART]       (with SLOW: PARTS='PART...')
# shellcheck disable=SC2086,SC2317   # lists of flags and files are meant to split; check calls run
set -u
cd "$(dirname "$0")/.." || exit 1
out=build/tests/analysis.dir
failed=0
quick=weverything
slow='fortify analyzer memory_sanitizer valgrind_command ubsan valgrind cppcheck tools_weverything'
mkdir -p $out
if [ ! -s $out/both.c ]; then
    printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >$out/prof.c
    printf '#define PROF_CUDA_IMPLEMENTATION\n#include "prof_cuda.h"\n' | cat $out/prof.c - >$out/both.c
fi
if [ -n "${SLOW:-}" ] && [ $# = 0 ]; then
    make -s build/prof build/tools/report_html.h || exit 1
    printf '%s\n' ${PARTS:-$slow $quick} | xargs -P "${JOBS:-2}" -n 1 sh "$0"
    exit $?
fi
parts=${1:-$quick}
tool_flags='-D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -DPROF_ZLIB -Itools/prof -Ibuild/tools'
# library.c is prof.h's implementation, whose other warnings have checks of their own
tools=$(find tools/prof -name '*.c' ! -name library.c)

check() {   # NAME TOOL COMMAND... : when the part is asked for, and the tool is there
    name=$1 tool=$2
    shift 2
    case " $parts " in *" $name "*) ;; *) return ;; esac
    if ! command -v "$tool" >/dev/null; then
        echo "skip $name: $tool is not installed"
    elif "$@" >"$out/$name.log" 2>&1; then
        echo "ok $name"
    else
        failed=1
        echo "not ok $name: $(grep -E 'warning|error|ERROR|WARNING|not ok' "$out/$name.log" |
            head -n 1), see $out/$name.log"
    fi
}

# Off: padded (layout is measured), declaration-after-statement (C99), used-but-marked-unused (what
# a file does not call is no fault of it), bad-function-cast and comma (macros), switch-enum (there
# is a default).
every='clang -std=c99 -Weverything -Werror -Wno-padded -Wno-declaration-after-statement
    -Wno-used-but-marked-unused -Wno-bad-function-cast -Wno-comma -Wno-switch-enum -I.'
check weverything clang $every -fsyntax-only $out/both.c

# The command, besides: missing-variable-declarations (main.c declares the commands), missing-noreturn
# (a hint), float-equal (0 is exact), reserved-macro-identifier and disabled-macro-expansion (the C
# library's own).
tools_weverything() {
    for file in $tools; do
        $every -Wno-missing-variable-declarations -Wno-missing-noreturn \
            -Wno-float-equal -Wno-reserved-macro-identifier -Wno-disabled-macro-expansion -fwrapv \
            $tool_flags -fsyntax-only "$file" || return 1
    done
}
check tools_weverything clang tools_weverything

# The tests that can be linked with prof.h, one after the other, under what each builds.
run() {   # TESTS COMPILER... ; $runner: what they run under
    tests=$1
    shift
    dir=$out/$name
    mkdir -p "$dir"
    "$@" -I. -c tests/prof.c -o "$dir/prof.o" || return 1
    for test in $tests; do
        "$@" -I. -DTEST_LIBRARY -DTEST_OUT="\"$dir\"" "$(find tests -name "$test.c")" "$dir/prof.o" \
            -o "$dir/$test.exe" -lpthread -ldl -lm || return 1
        timeout 1200 $runner "$dir/$test.exe" || { echo "not ok: $test, $runner"; return 1; }
    done
}
runner='' linked=''
for file in tests/*/test_*.c; do
    grep -Eq 'prof__|PROF__|^#define PROF_|/\* (build|object): ' "$file" || linked="$linked $(basename "$file" .c)"
done
check fortify gcc run 'test_modes test_golden test_details' \
    gcc -std=c99 -O2 -w -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS

analyze() {
    gcc -std=c99 -O1 -fanalyzer -Werror -I. -c $out/both.c -o $out/both.o || return 1
    for file in $tools; do
        gcc -std=c99 -O1 -fanalyzer -Werror -fwrapv $tool_flags -I. -c "$file" -o $out/tool.o ||
            return 1
    done
}
check analyzer gcc analyze
# uninitvar and its kin: they do not see what a call fills that gets a pointer to it
check cppcheck cppcheck cppcheck --quiet --error-exitcode=1 --language=c --std=c99 -D__linux__ -D__x86_64__ \
    -D__GNUC__=12 --suppress=missingIncludeSystem --suppress=uninitvar --suppress=legacyUninitvar \
    --suppress=ctuuninitvar -Itools/prof -Ibuild/tools -I. -DPROF_ZLIB $out/both.c $tools
check memory_sanitizer clang run "$linked" \
    clang -std=c99 -O1 -g -w -fsanitize=memory -fno-sanitize-recover=all

echo 'src:*/stb_sprintf.h' >$out/not_ours
check ubsan clang run "$linked" clang -std=c99 -O1 -g -w -fno-sanitize-recover=all \
    -fsanitize-ignorelist=$out/not_ours \
    -fsanitize=undefined,float-divide-by-zero,implicit-conversion,local-bounds

runner='valgrind -q --error-exitcode=9 --fair-sched=yes'
check valgrind valgrind run 'test_golden test_details test_odd_calls test_odd_events test_submit test_formats' \
    gcc -std=c99 -O1 -g -w
valgrind_command() {
    for file in tests/command/traces/[bdl]* tests/command/traces/kineto_2026.json \
        tests/fuzz/corpus/trace/*; do
        for command in report 'report -f html' analyze stacks flamegraph gaps memory validate decode \
            'cut --to=1s' merge; do
            echo "$command $file"
            $runner --leak-check=full build/prof $command -o $out/made "$file"
            [ $? = 9 ] && return 1
        done
        $runner build/prof augment "$file" $out/made
        [ $? = 9 ] && return 1
        $runner build/prof et --link "$file" "$file" >$out/made
        [ $? = 9 ] && return 1
    done
    return 0
}
check valgrind_command valgrind valgrind_command
exit $failed
