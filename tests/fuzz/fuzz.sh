#!/bin/sh
# Every libFuzzer target for FUZZ_SECONDS (20) each, JOBS (2) at a time, from the seeds in
# tests/fuzz/corpus; what it finds besides stays in build/fuzz/NAME.corpus for the next time.
#   tests/fuzz/fuzz.sh [NAME]
# raw, record, submit (tests/fuzz/fuzz_NAME.c) try prof.h, elf the ELF files of prof decode; trace, stream, folded, import try the prof
# command (tests/fuzz/fuzz_trace.c) with traces in JSON, raw streams, folded stacks, databases.
# A crash: its input stays in build/fuzz/NAME; mend the cause and add the input to
# tests/fuzz/corpus/NAME (of the command's: without its first byte, which names the command), which
# tests/fuzz/test_prof_fuzz.sh tries each time.
# shellcheck disable=SC2046,SC2086,SC2125,SC2059   # lists of flags and files are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/fuzz
cc='clang -std=c99 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DPROF_ASSERTS'
targets='trace stream folded import raw record submit elf'

is_command() { case $1 in trace | stream | folded | import) true ;; *) false ;; esac; }

build() {   # NAME: build/fuzz/fuzz_NAME
    is_command "$1" || {
        [ "$1" != elf ] || more='-DTEST_LIBRARY -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -fwrapv -DPROF_ZLIB
            tools/prof/library.c tools/prof/input/elf_names.c tools/prof/base/*.c'
        $cc -I. -Itools/prof ${more:-} "tests/fuzz/fuzz_$1.c" -o "$out/fuzz_$1" -lyajl -lz -lpthread -ldl -lm
        return
    }
    make -s build/tools/report_html.h
    $cc -I. -Itools/prof -fwrapv -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -DPROF_ZLIB \
        -DPROF_ARENA_SIZE=1048576 -DLIBFUZZER -Ibuild/tools \
        $(find tools/prof -name '*.c' ! -name main.c) tests/fuzz/fuzz_trace.c \
        -o "$out/fuzz_$1" -lyajl -lsqlite3 -lz -lpthread -ldl -lm
}

seeds() {   # NAME: the folder with them; for the command each with every command's byte before it
    is_command "$1" || { echo "$PWD/tests/fuzz/corpus/$1"; return; }
    rm -rf "$out/$1.seeds"
    mkdir -p "$out/$1.seeds"
    files=tests/fuzz/corpus/$1/*
    [ "$1" = trace ] && files="$files tests/command/traces/*.json"
    for file in $files; do
        for i in $(seq 0 $(($(grep -c '^    {&' tests/fuzz/fuzz_trace.c) - 1))); do
            { printf "\\$(printf %03o "$i")"; cat "$file"; } >"$out/$1.seeds/$(basename "$file").$i"
        done
    done
    echo "$out/$1.seeds"
}

job() {   # NAME
    mkdir -p "$out/$1.corpus" "$out/$1"
    build "$1" || return 1
    seeds=$(seeds "$1")
    words=
    [ "$1" = trace ] && words=-dict=$PWD/tests/fuzz/trace.dict
    cd "$out/$1" || return 1
    timeout $((limit + 120)) "../fuzz_$1" -max_total_time="$limit" -timeout=20 -seed=1 $words \
        -max_len=65536 -close_fd_mask=3 -print_final_stats=1 "../$1.corpus" $seeds 2>&1
}

limit=${FUZZ_SECONDS:-20}
if [ "${1:-}" = --job ]; then
    job "$2" >"$out/$2.log"
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$2.log")
    echo "${runs:-0}" >"$out/$2.runs"
    if [ $status = 0 ]; then
        echo "ok fuzz_$2: ${runs:-0} inputs"
    else
        echo "not ok fuzz_$2: $(grep -E '^(SUMMARY|.*Test unit)' "$out/$2.log" | tr '\n' ' ')"
    fi
    exit $status
fi

echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n && 0; }' |
    $cc -x c - -o /dev/null 2>/dev/null || { echo 'skip fuzz: clang has no libFuzzer'; exit 0; }
mkdir -p "$out"
rm -f "$out"/*.runs
printf '%s\n' $targets | grep -F -e "${1:-}" | xargs -P "${JOBS:-2}" -n 1 sh "$0" --job
status=$?
[ -n "${1:-}" ] || sh tests/trust.sh fuzz_executions \
    "$(cat "$out"/*.runs | awk '{n += $1} END {print n + 0}')"
[ $status = 0 ]
