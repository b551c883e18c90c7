#!/bin/sh
# Every command of prof, built with AddressSanitizer and UBSan, on every file that fuzzing found or
# began with (tests/fuzz/corpus) and on changed copies of them; prof.h's fuzz targets on theirs.
# ROUNDS=n: copies of a file (4 with ALL=1, tests/run.sh --all; else 1, of a quarter of the files).
# shellcheck disable=SC2086   # lists of flags and files are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

if [ -n "${ALL:-}" ]; then sample=1 lines=; else sample=4 lines=-g0; fi   # lines: in a report's calls
make -s build/tools/report_html.h
objects=$out/objects
mkdir -p "$objects"
library asan || { echo 'not ok fuzz_builds: prof.h does not compile'; exit 1; }
cc="$cc $level $lines -I. -DTEST_LIBRARY $asserts"
# Small pieces: small files are read and sorted in several, too. Large blocks of memory
# cost more under AddressSanitizer than what is done with them.
tool_cc="$cc -DTRACE_CHUNK=1024 -DRAW_READER=1048576 -fwrapv -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -Itools/prof -Ibuild/tools"
libraries="-lyajl -lsqlite3 $libs"

sources=$(find tools/prof -mindepth 2 -name '*.c')
# Files whose object is older than they are, or than any header.
stale() {
    for file in $sources tests/fuzz/fuzz_trace.c tests/fuzz/corpus.c; do
        object=$objects/$(basename "$file" .c).o
        [ -n "$(find "$file" prof.h tools/prof tests/fuzz tests/test.h tests/record/sequence.h -name '*.[ch]' \
            \( -name '*.h' -o -path "$file" \) -newer "$object" 2>/dev/null | head -n 1)" ] ||
            [ ! -f "$object" ] && echo "$file"
    done
}
stale | xargs -P "${JOBS:-2}" -I @ sh -c \
    "$tool_cc -c @ -o '$objects'/\$(basename @ .c).o || exit 255" >"$out/build.log" 2>&1
command_objects=
for file in $sources fuzz_trace.c; do command_objects="$command_objects $objects/$(basename "$file" .c).o"; done
rm -f "$out/command.a"
ar rc "$out/command.a" $command_objects
if ! { $cc "$objects/corpus.o" "$out/command.a" "$library" -o "$out/corpus" $libraries &&
    $cc $command_objects "$library" -o "$out/fuzz" $libraries; } >>"$out/build.log" 2>&1; then
    echo "not ok fuzz_builds: $(grep -m 1 -i 'error\|undefined' "$out/build.log")"
    exit 1
fi
# The shadow of large blocks is cleared, not mapped anew: half the time.
# What it finds is in asan.* of $out: the program's stderr is /dev/null.
ASAN_OPTIONS=clear_shadow_mmap_threshold=100000000:log_path=asan:$(printenv ASAN_OPTIONS)
export ASAN_OPTIONS
rm -f "$out"/asan.*
for kind in raw:$((sample == 1 ? 4000 : 1000)) record:200 submit:200 elf:2000; do
    count=$((${kind#*:} / sample)) kind=${kind%:*}
    try "corpus_$kind" sh -c "cd '$out' && ./corpus $kind $count '$PWD'/tests/fuzz/corpus/$kind/*"
done
rm -rf "$out/makers"
mkdir -p "$out/makers"
python3 tests/command/makers.py "$out/makers"
number=$(date +%s)       # without ALL every fourth file, the rest another time
for file in tests/command/traces/*.json tests/fuzz/corpus/trace/* tests/fuzz/corpus/stream/* \
    tests/fuzz/corpus/folded/* tests/fuzz/corpus/import/* "$out"/makers/* "$0"; do
    number=$((number + 1))
    [ $sample = 1 ] || [ $((number % 4)) = 0 ] || continue
    label=$(basename "$file")
    cp "$file" "$out/seed"
    if (cd "$out" && timeout 250 ./fuzz "${ROUNDS:-$((4 / sample))}" seed >said 2>&1); then
        echo "ok fuzz_${label%.*}"
    else
        failed=1
        echo "not ok fuzz_${label%.*}: $(tail -n 1 "$out/said"); the input: $out/fuzz_input.json"
        cat "$out"/asan.* 2>/dev/null | grep 'ERROR\|^ *#[0-9]* ' | head -n 12
        rm -f "$out"/asan.*
    fi
done
exit $failed
