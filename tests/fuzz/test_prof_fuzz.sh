#!/bin/sh
# Every command of prof, built with AddressSanitizer and UBSan, on every file that fuzzing found or
# began with (tests/fuzz/corpus) and on changed copies of them; prof.h's fuzz targets on theirs.
# ROUNDS=n: copies of a file (4 with ALL=1, tests/run.sh --all; else 1, of a 24th of the files, and
# only what takes the files' bytes is built with AddressSanitizer, with a sixteenth of what reads them, others each time).
# shellcheck disable=SC2086   # lists of flags and files are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

if [ -n "${ALL:-}" ]; then sample=$share lines=; else sample=24 lines=-g0; fi   # lines: in a report's calls
make -s build/tools/report_html.h
objects=$out/objects
mkdir -p "$objects"
library asan || { echo 'not ok fuzz_builds: prof.h does not compile'; exit 1; }
cc="$cc $level $lines -I. -DTEST_LIBRARY $asserts"
# Small pieces: small files are read and sorted in several, too. Large blocks of memory
# cost more under AddressSanitizer than what is done with them.
tool_cc="$cc -DTRACE_CHUNK=1024 -DRAW_READER=1048576 -fwrapv -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -Itools/prof -Ibuild/tools"
libraries="-lyajl -lsqlite3 $libs"

sources=$(find tools/prof -mindepth 2 -name '*.c') plain=
if [ -z "${ALL:-}" ] && [ -z "${TESTS_OUT:-}" ]; then     # the rest is that of the command
    # shellcheck disable=SC2046   # a list of files
    choose 16 $(ls tools/prof/input/*.c tools/prof/base/*.c)
    first="tools/prof/base/memory.c $(grep -lw 'CHUNK\|RAW_READER' tools/prof/input/*.c)"   # they know of it
    sources=$(printf '%s\n' $chosen $first | sort -u)
    plain=$(find "$tests_tools" -mindepth 2 -name '*.o' | grep -vxF "$(echo "$sources" | sed "s|tools/prof|$tests_tools|; s|c\$|o|")")
fi
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
ar rc "$out/command.a" $command_objects $plain
if ! { $cc "$objects/corpus.o" "$out/command.a" "$library" -o "$out/corpus" $libraries &&
    $cc $command_objects $plain "$library" -o "$out/fuzz" $libraries; } >>"$out/build.log" 2>&1; then
    echo "not ok fuzz_builds: $(grep -m 1 -i 'error\|undefined' "$out/build.log")"
    exit 1
fi
# The shadow of large blocks is cleared, not mapped anew: half the time.
# What it finds is in asan.* of $out: the program's stderr is /dev/null.
ASAN_OPTIONS=clear_shadow_mmap_threshold=100000000:log_path=asan:$(printenv ASAN_OPTIONS)
export ASAN_OPTIONS
rm -f "$out"/asan.*
choose 2 raw:$((sample < 16 ? 4000 : 1000)) record:200 submit:200 elf:2000
for kind in $chosen; do
    count=$((${kind#*:} / sample + 1)) kind=${kind%:*}
    try "corpus_$kind" sh -c "cd '$out' && ./corpus $kind $count '$PWD'/tests/fuzz/corpus/$kind/*"
done
rm -rf "$out/hostile"
python3 tests/command/hostile_files.py "$out/hostile"
for file in tests/command/traces/*.json tests/fuzz/corpus/*/* "$out"/hostile/* "$out"/hostile/seeds/* "$0"; do
    case $file in */raw/* | */record/* | */submit/* | */elf/* | */seeds) continue ;; esac
    some $sample || continue
    label=$(basename "$file")
    cp "$file" "$out/seed"
    if (cd "$out" && timeout 250 ./fuzz "${ROUNDS:-$((sample < 16 ? 4 : 1))}" seed >said 2>&1); then
        echo "ok fuzz_${label%.*}"
    else
        failed=1
        echo "not ok fuzz_${label%.*}: $(tail -n 1 "$out/said"); the input: $out/fuzz_input.json"
        cat "$out"/asan.* 2>/dev/null | grep 'ERROR\|^ *#[0-9]* ' | head -n 12
        rm -f "$out"/asan.*
    fi
done
exit $failed
