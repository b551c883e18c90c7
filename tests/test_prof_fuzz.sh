#!/bin/sh
# Damaged traces through the prof command, under AddressSanitizer and UBSan.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/prof.sh
. tests/prof.sh

sources=$(find tools -name '*.c' ! -name 'bench*' ! -name prof.c)
make -s build/tools/report_html.h
# shellcheck disable=SC2086   # a list of files
if ! ${CC:-gcc} -std=c99 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fwrapv \
    -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -DPROF_ZLIB -DPROF_ARENA_SIZE=1048576 \
    -Ibuild/tools $sources tests/fuzz_trace.c -o "$out/fuzz" -lyajl -lsqlite3 -lz -lpthread \
    -ldl -lm >"$out/build.log" 2>&1; then
    echo "not ok fuzz_builds: $(head -n 1 "$out/build.log")"
    exit 1
fi
for file in tests/traces/*.json "$0"; do
    label=$(basename "$file")
    cp "$file" "$out/seed"
    if (cd "$out" && timeout 250 ./fuzz "${ROUNDS:-25}" seed >said 2>&1); then
        echo "ok fuzz_${label%.*}"
    else
        failed=1
        echo "not ok fuzz_${label%.*}: $(tail -n 1 "$out/said"); the input: $out/fuzz_input.json"
    fi
done
exit $failed
