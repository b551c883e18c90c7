#!/bin/sh
# Commands that join device work, memory and arrows to calls: in memory of at most 0.3 times the
# trace's size and 30 MB. Where all is tried, traces are so long that this is most of it.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# COUNT ops, each with a launch, an arrow to its kernel, and memory that the next one frees.
launches() {
    awk -v count="$1" 'BEGIN {
        print "{\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\"}],\n\"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"tid\": 0, \"args\": {\"name\": \"p\"}}"
        x = ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"cat\":\"%s\",\"name\":\"%s%d\",\"args\":{"
        arrow = ",\n{\"ph\":\"%s\",\"id\":%d,\"pid\":%d,\"tid\":%d,\"ts\":%d,\"cat\":\"ac2g\",\"name\":\"ac2g\"}"
        change = ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":1,\"ts\":%d,\"name\":\"[memory]\",\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":%d,\"Bytes\":%d}}"
        for (i = 0; i < count; i++) {
            printf x "\"External id\":%d,\"Input Dims\":[[8,%d],[8,8]],\"Input type\":[\"float\",\"float\"]}}", 1, 1, 20 * i, 10, "cpu_op", "aten::mm", i % 7, i, 8 + i % 3
            printf x "\"correlation\":%d}}", 1, 1, 20 * i + 1, 5, "cuda_runtime", i % 9 ? "launch" : "cudaDeviceSynchronize", i % 2, i
            printf x "\"correlation\":%d,\"External id\":%d,\"device\":0,\"stream\":7}}", 0, 7, 20 * i + 9, 3, "kernel", "gemm", i % 5, i, i
            printf arrow arrow, "s", i, 1, 1, 20 * i + 1, "f", i, 0, 7, 20 * i + 9
            printf change, 20 * i + 2, i % 8, 512
            if (i) printf change, 20 * i + 3, (i - 1) % 8, -512
        }
        print "]}"
    }'
}

peak() { python3 tests/command/peak.py "$@" 2>"$out/stderr"; }
takes_little() {
    few=$(peak "$@" "$out/few.json")
    [ "$few" -lt $((30000 + $(wc -c <"$out/few.json") * ${tenths:-3} / 10240)) ]
}
most=5000
[ -n "${TEST_SAMPLE-}" ] || most=300000
launches $most >"$out/few.json"
bounded=takes_little
constant() {     # NAME COMMAND...
    name=$1
    shift
    try "constant_memory_$name" "$bounded" "$prof" "$@"
}
constant gaps gaps
constant gaps_by_op gaps --by op
constant gaps_by_gap gaps --by gap
constant analyze analyze
constant cut cut --from 50us
constant merge merge
constant merge_aligned merge --align collectives
constant memory memory --by op
constant memory_timeline memory -f json
constant memory_page memory -f html
# shellcheck disable=SC2016   # in a shell of its own
try constant_memory_augment "$bounded" sh -c 'exec "$0" augment "$1" /dev/null' "$prof"
# A report has the changes of memory, and waits for them until all calls are there.
tenths=4
constant percentiles report --percentiles
# Exact where all differ, which is more than is counted in memory.
awk 'BEGIN { print "["; for (i = 0; i < 300000; i++) printf "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d},\n", i % 2, 1e6 * i, i * 7919 % 300000; print "{\"ph\":\"M\",\"name\":\"x\"}]" }' >"$out/differ.json"
says percentiles_of_many ',149999.000,269999.000,296999.000,' 0 \
    "$prof" report --any-memory --percentiles --time-unit us -f csv "$out/differ.json"
# Of the 120 bytes of an event here, less than a third of what PyTorch writes, some exports keep more:
# SQLite's the ends of arrows, Perfetto's names and arguments till all are sorted. (pprof's is near.)
for kind in folded pb.gz csv parquet pftrace sqlite; do
    case $kind in
    pftrace) tenths=5 ;;
    sqlite | pb.gz) tenths=4 ;;
    *) tenths=3 ;;
    esac
    constant "export_$kind" export -o "$out/within.$kind"
done
whole() {
    python3 - <<END
import sqlite3
print(*sqlite3.connect('$out/within.sqlite').execute('''
    SELECT count(*), sum(op_id = id - 2), sum(parent_id = id - 1 AND depth = 1),
           sum(self_ns = 5000 AND device_self_ns = 3000 AND dur_ns = 10000),
           (SELECT count(*) FROM flows WHERE to_id = from_id + 1),
           (SELECT integrity_check FROM pragma_integrity_check) FROM events'''))
END
}
says all_is_whole "($((3 * most)), $most, $most, $most, $most, 'ok')" 0 whole
rm -f "$out/differ.json" "$out/few.json" "$out"/within.*
exit $failed
