#!/bin/sh
# Every libFuzzer target for FUZZ_SECONDS (20) each, JOBS (2) at a time, from the seeds in
# tests/fuzz/corpus and those that tests/command/makers.py makes; what it finds besides stays in
# build/fuzz/NAME.corpus for the next time.
#   tests/fuzz/fuzz.sh [NAME]
# raw, record, submit (tests/fuzz/fuzz_NAME.c) try prof.h, elf the ELF files of prof decode;
# read_FORMAT (fuzz_read.c) the reader of that format, by the names of input/detect.c; trace, stream
# (fuzz_trace.c) every command with traces in JSON and with raw streams.
# A crash: its input stays in build/fuzz/NAME; mend the cause and add the input to
# tests/fuzz/corpus/NAME (trace, stream: without its first byte, which names the command; read_FORMAT:
# to corpus/FORMAT), which tests/fuzz/test_prof_fuzz.sh tries each time.
# shellcheck disable=SC2046,SC2086,SC2059   # lists of flags and files are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/fuzz
cc='clang -std=c99 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DPROF_ASSERTS'
tool_cc="$cc -I. -Itools/prof -Ibuild/tools -fwrapv -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 \
    -DPROF_ZLIB -DPROF_ARENA_SIZE=1048576 -DTRACE_CHUNK=4096 -DRAW_READER=1048576 -DLIBFUZZER"
libraries='-lyajl -lsqlite3 -lz -lpthread -ldl -lm'
formats='chrome legacy raw perfetto folded import snapshot sampled xplane rocprof ascend ascend_json'
targets="trace stream $(printf 'read_%s ' $formats)raw record submit elf"

source_of() {   # NAME: which fuzz_SOURCE.c
    case $1 in read_*) echo read ;; stream) echo trace ;; *) echo "$1" ;; esac
}

seeds_of() {   # NAME: the files
    case $1 in
    trace | read_chrome) echo tests/fuzz/corpus/trace/* tests/command/traces/*.json ;;
    read_legacy) echo tests/fuzz/corpus/trace/legacy* tests/fuzz/corpus/legacy/* ;;
    read_raw) echo tests/fuzz/corpus/stream/*.raw tests/fuzz/corpus/raw/* ;;
    read_perfetto) echo tests/fuzz/corpus/stream/*.pftrace tests/fuzz/corpus/perfetto/* ;;
    read_import) echo tests/fuzz/corpus/import/* "$out"/made/*.rpd ;;
    read_snapshot) echo tests/fuzz/corpus/snapshot/* "$out"/made/*.pickle ;;
    read_sampled) echo tests/fuzz/corpus/sampled/* "$out"/made/*.cpuprofile "$out"/made/*fox*.json \
        "$out"/made/gecko.json ;;
    read_xplane) echo tests/fuzz/corpus/xplane/* "$out"/made/*.pb ;;
    read_rocprof) echo tests/fuzz/corpus/rocprof/* "$out"/made/rocprof*.json ;;
    read_ascend) echo tests/fuzz/corpus/ascend/* "$out"/made/*.csv ;;
    read_ascend_json) echo tests/fuzz/corpus/ascend_json/* "$out"/made/communication?.json ;;
    *) echo tests/fuzz/corpus/"${1#read_}"/* ;;
    esac
}

build() {   # SOURCE: build/fuzz/fuzz_SOURCE
    case $1 in
    trace | read | elf) [ -f "$out/command.a" ] || commands || return 1
        $tool_cc -DTEST_LIBRARY "tests/fuzz/fuzz_$1.c" "$out/command.a" -o "$out/fuzz_$1" $libraries ;;
    *) $cc -I. "tests/fuzz/fuzz_$1.c" -o "$out/fuzz_$1" $libraries ;;
    esac
}

commands() {   # build/fuzz/command.a: all of tools/prof
    make -s build/tools/report_html.h
    mkdir -p "$out/objects"
    find tools/prof -name '*.c' ! -name main.c -print0 | xargs -0 -P "${JOBS:-2}" -I @ sh -c \
        "$tool_cc -c @ -o '$out/objects'/\$(basename @ .c).o || exit 255" || return 1
    ar rc "$out/command.a" "$out"/objects/*.o
}

seeds() {   # NAME: the folder with them; for commands each with every command's byte before it
    rm -rf "$out/$1.seeds"
    mkdir -p "$out/$1.seeds"
    bytes=
    [ "$(source_of "$1")" != trace ] || bytes=$(seq 0 $(($(grep -c '^    {&' tests/fuzz/fuzz_trace.c) - 1)))
    for file in $(seeds_of "$1"); do
        [ -f "$file" ] || continue
        for i in ${bytes:-none}; do
            { [ "$i" = none ] || printf "\\$(printf %03o "$i")"; cat "$file"; } \
                >"$out/$1.seeds/$(basename "$file").$i"
        done
    done
}

job() {   # NAME
    mkdir -p "$out/$1.corpus" "$out/$1"
    seeds "$1"
    words=
    case $1 in trace | read_chrome) words=-dict=$PWD/tests/fuzz/trace.dict ;; esac
    cd "$out/$1" || return 1
    timeout $((limit + 120)) "../fuzz_$(source_of "$1")" -max_total_time="$limit" -timeout=20 -seed=1 \
        $words -max_len=65536 -close_fd_mask=3 -print_final_stats=1 "../$1.corpus" "../$1.seeds" 2>&1
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
rm -rf "$out/made" "$out/objects" "$out/command.a" "$out"/*.runs
mkdir -p "$out/made"
python3 tests/command/makers.py "$out/made"
chosen=$(printf '%s\n' $targets | grep -F -e "${1:-}")
for source in $(for name in $chosen; do source_of "$name"; done | sort -u); do
    build "$source" || { echo "not ok fuzz_$source: it does not compile"; exit 1; }
done
printf '%s\n' $chosen | xargs -P "${JOBS:-2}" -n 1 sh "$0" --job
status=$?
[ -n "${1:-}" ] || sh tests/trust.sh fuzz_executions \
    "$(cat "$out"/*.runs | awk '{n += $1} END {print n + 0}')"
[ $status = 0 ]
