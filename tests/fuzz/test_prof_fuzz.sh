#!/bin/sh
# Damaged traces through the prof command, and what fuzzing found or began with (tests/fuzz/corpus), under
# AddressSanitizer and UBSan.
# shellcheck disable=SC2086   # lists of flags and files are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

sources=$(find tools/prof -name '*.c' ! -name prof.c)
make -s build/tools/report_html.h
cc="${CC:-gcc} -std=c99 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I.
    -DTEST_LIBRARY -D_FILE_OFFSET_BITS=64 -DPROF_ZLIB -DPROF_ARENA_SIZE=1048576"
libraries='-lyajl -lsqlite3 -lz -lpthread -ldl -lm'
printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >"$out/library.c"
if ! { $cc -c "$out/library.c" -o "$out/library.o" &&
    $cc tests/fuzz/corpus.c "$out/library.o" -o "$out/corpus" $libraries &&
    $cc -fwrapv -D_POSIX_C_SOURCE=200809L -Ibuild/tools $sources tests/fuzz/fuzz_trace.c \
        "$out/library.o" -o "$out/fuzz" $libraries
    } >"$out/build.log" 2>&1; then
    echo "not ok fuzz_builds: $(head -n 1 "$out/build.log")"
    exit 1
fi
for kind in raw:8000 record:300 submit:300; do
    count=${kind#*:} kind=${kind%:*}
    try "corpus_$kind" "$out/corpus" "$kind" "$count" tests/fuzz/corpus/"$kind"/*
done
for file in tests/command/traces/*.json tests/fuzz/corpus/trace/* "$0"; do
    label=$(basename "$file")
    cp "$file" "$out/seed"
    if (cd "$out" && timeout 250 ./fuzz "${ROUNDS:-8}" seed >said 2>&1); then
        echo "ok fuzz_${label%.*}"
    else
        failed=1
        echo "not ok fuzz_${label%.*}: $(tail -n 1 "$out/said"); the input: $out/fuzz_input.json"
    fi
done
exit $failed
