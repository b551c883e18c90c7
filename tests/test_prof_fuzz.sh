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
cat >"$out/execution_trace.json" <<'END'
{"schema": "1.1.1-chakra.0.0.4", "pid": 9, "time": "2026-01-01 00:00:00", "start_ts": 1, "nodes": [
{"id":2,"name":"thread","ctrl_deps":1,"inputs":{"values":[],"shapes":[],"types":[]},"outputs":{"values":[],"shapes":[],"types":[]},"attrs":[{"name":"rf_id","type":"uint64","value":0}]},
{"id":3,"name":"aten::mm","ctrl_deps":2,"inputs":{"values":[[1,2,0,4,4,"cpu"]],"shapes":[[2,2]],"types":["Tensor(float)"],"strides":[[2,1]]},"outputs":{"values":[],"shapes":[],"types":[]},"attrs":[{"name":"rf_id","type":"uint64","value":12}]}
], "finish_ts": 5}
END
python3 - "$out/profile.sqlite" <<'END' 2>/dev/null || rm -f "$out/profile.sqlite"
import os, sqlite3, sys
if os.path.exists(sys.argv[1]):
    os.remove(sys.argv[1])
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA page_size = 512")
db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
db.execute("INSERT INTO StringIds VALUES (1, 'gemm')")
db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
           " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER)")
for i in range(9):
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, 9, 1)",
               (1000 * i, 1000 * i + 500, i))
db.commit()
END
for file in tests/traces/*.json "$out/execution_trace.json" "$out"/*.sqlite "$0"; do
    [ -r "$file" ] || continue
    label=$(basename "$file")
    cp "$file" "$out/seed"
    if (cd "$out" && timeout 250 ./fuzz "${ROUNDS:-15}" seed >said 2>&1); then
        echo "ok fuzz_${label%.*}"
    else
        failed=1
        echo "not ok fuzz_${label%.*}: $(tail -n 1 "$out/said"); the input: $out/fuzz_input.json"
    fi
done
exit $failed
