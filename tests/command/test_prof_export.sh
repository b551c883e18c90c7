#!/bin/sh
# prof export: each format read by hand, round trips, files of others, damaged ones, bad usage.
# Without ALL a third of the traces, others each time.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

reading='alike tables_alike query threads_within works_within paths_of'

read_pftrace() { PYTHONPATH=tests/command python3 tests/command/read_pftrace.py "$@"; }

pftrace() { "$prof" export -o "$out/run.pftrace" "$1" 2>/dev/null; }
alike() { pftrace "$1" && read_pftrace alike "$1" "$out/run.pftrace"; }
reports_alike() {   # TRACE
    pftrace "$1" || return 1
    for option in --format=csv --group-by-input-shape --percentiles --group-by-stack=3; do
        "$prof" report "$option" -o "$out/of_json" "$1" 2>/dev/null || return 1
        "$prof" report "$option" -o "$out/of_pftrace" "$out/run.pftrace" 2>/dev/null || return 1
        cmp "$out/of_json" "$out/of_pftrace" || return 1
    done
}

# Calls that overlap on a stream, that end together, of no length; asynchronous ones; texts for
# ids; numbers of every kind; what begins with a line feed, as a Perfetto file does.
cat >"$out/odd.json" <<'END'

{"baseTimeNanoseconds": 1700000000000000000, "distributedInfo": {"rank": 3}, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7"}},
{"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": 9, "tid": 1, "ts": 0.5, "dur": 2, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "k<\"1\">", "pid": 0, "tid": 7, "ts": 3, "dur": 10, "args": {"correlation": 1, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "k2", "pid": 0, "tid": 7, "ts": 5, "dur": 10.001, "args": {"stream": 7}},
{"ph": "X", "cat": "kernel", "name": "k3", "pid": 0, "tid": 7, "ts": 6, "dur": 20, "args": {"stream": 7}},
{"ph": "X", "cat": "kernel", "name": "k4", "pid": 0, "tid": 7, "ts": 13, "dur": 1, "args": {"stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 9, "tid": 2, "ts": 10, "dur": 5},
{"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 9, "tid": 2, "ts": 10, "dur": 5, "args": {"Input Dims": [[2, 3], []]}},
{"ph": "X", "cat": "cpu_op", "name": "innermost", "pid": 9, "tid": 2, "ts": 10, "dur": 5},
{"ph": "X", "cat": "cpu_op", "name": "nothing", "pid": 9, "tid": 2, "ts": 15, "dur": 0},
{"ph": "X", "name": "no category", "pid": "Spans", "tid": "Profiler", "ts": 1, "dur": 1},
{"ph": "X", "cat": "cpu_op", "name": "large", "pid": 9, "tid": 140737353983808, "ts": 1, "dur": 1, "args":
 {"i": -1, "u": 9223372036854775807, "d": -0.25, "t": true, "n": null, "o": {"a b": [1, "x y\\\" z"]}, "e": 1e3, "k\u00e9y": "v\n"}},
{"ph": "b", "cat": "c", "id": 5, "name": "range", "pid": 9, "tid": 2, "ts": 11},
{"ph": "b", "cat": "c", "id": 6, "name": "range", "pid": 9, "tid": 2, "ts": 12},
{"ph": "e", "cat": "c", "id": 5, "name": "range", "pid": 9, "tid": 2, "ts": 13},
{"ph": "e", "cat": "c", "id": 6, "name": "range", "pid": 9, "tid": 2, "ts": 14},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 2, "ts": 11, "args": {"Bytes": 64, "Device Type": 0}},
{"ph": "C", "name": "load", "pid": 9, "ts": 4, "args": {"a": 1, "b": 0.5}},
{"ph": "s", "id": 1, "pid": 9, "tid": 1, "ts": 0.5, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 3, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "s", "id": 2, "pid": 9, "tid": 1, "ts": 0.5, "cat": "ac2g", "name": "ac2g"}
]}
END

bytes() { gzip -cdf "$1" | wc -c; }
small() { pftrace "$1" && [ $(($(bytes "$1") * 2)) -gt $(($(bytes "$out/run.pftrace") * 7)) ]; }
for file in "$out/odd.json" tests/command/traces/kineto_*.json $(real_traces); do
    [ "$file" = "$out/odd.json" ] || some 6 || continue
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
    try "pftrace_${label%%.*}" alike "$file"
    case $file in ../*) try "pftrace_small_${label%%.*}" small "$file" ;; esac
    try "pftrace_report_${label%%.*}" reports_alike "$file"
done
says lanes_and_one_arrow "11 slices 1 flows 15 tracks" 0 alike "$out/odd.json"

back() { "$prof" export -o "$out/back.json" "$out/run.pftrace" && grep -qF "$1" "$out/back.json"; }
pftrace "$out/odd.json"
try head_comes_back back '"distributedInfo": {"rank": 3}'
try arrow_comes_back back '"name": "ac2g", "pid": 0, "tid": 7, "ts": 3.000, "id": 1, "bp": "e"'
try lost_arrow_is_counted back '"unmatched_flows": 1'
try async_comes_back back '{"ph": "e", "cat": "c", "name": "range", "pid": 9, '
try metadata_come_back back '"args": {"labels": "GPU 0"}'
# Numbers of 64 bits without a sign, keys with escapes: of arguments, members, series.
cat >"$out/texts.json" <<'END'
{"a \"member\"": 1, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"u": 18446744073709551615, "\"k\"": 9223372036854775808, "addr": -9223372036854775808}},
{"ph": "C", "name": "least", "pid": 1, "ts": 1, "args": {"value": -9223372036854775808}},
{"ph": "C", "name": "load", "pid": 1, "ts": 1, "args": {"a \"series\"": 1, "b": 2}},
{"ph": "Q", "name": "of no known phase", "pid": 1, "tid": 1, "ts": 1}]}
END
pftrace "$out/texts.json"
try large_numbers_come_back back '"args": {"u": 18446744073709551615, "\"k\"": 9223372036854775808, "addr": -9223372036854775808}'
try least_of_64_bits_comes_back back '"tid": "least", "ts": 1.000, "args": {"value": -9223372036854775808}'
try member_keys_come_back back '"a \"member\"": 1'
try series_keys_come_back back '"name": "load a \"series\""'
# Counters of one name and different ids are two.
cat >"$out/ids.json" <<'END'
[{"ph": "C", "name": "load", "id": 7, "pid": 1, "ts": 1, "args": {"value": 1}},
{"ph": "C", "name": "load", "id": "0x8", "pid": 1, "ts": 1, "args": {"value": 2, "a": 3}},
{"ph": "C", "name": "load", "pid": 1, "ts": 1, "args": {"value": 4}}]
END
pftrace "$out/ids.json"
try counters_by_id_come_back back '"tid": "load id: 7", "ts": 1.000, "args": {"value": 1}'
try series_by_id_come_back back '"tid": "load id: 0x8 a", "ts": 1.000, "args": {"value": 3}'
"$prof" export --table counters -o "$out/ids.csv" "$out/ids.json" 2>/dev/null
try tables_of_counters_by_id sh -c "cut -d, -f2 '$out/ids.csv' | tr '\n' ' ' |
    grep -qx 'name load id: 7 load id: 0x8 load id: 0x8 load '"
says page_of_counters_by_id '"load id: 7"' 0 "$prof" report -f html "$out/ids.json"
# prof.h writes null for a NaN of prof_counter_f.
cat >"$out/none.json" <<'END'
[{"ph": "C", "name": "load", "pid": 1, "ts": 1, "args": {"a": null, "b": "much", "c": {"d": 1}, "e": "1.5", "f": 1e999}},
{"ph": "C", "name": "load", "pid": 1, "ts": 2, "args": {"a": 2}}]
END
for to in none.pftrace none.sqlite; do
    says "values_that_are_not_numbers_${to#*.}" "none.json: 4 values of counters are not numbers: left out" 0 \
        "$prof" export -o "$out/$to" "$out/none.json"
done
long_names() {
    python3 -c 'print([{"ph": "C", "name": "n" * 400 + c, "pid": 1, "ts": 1, "args": {"value": 2}} for c in "ab"])' |
        tr "'" '"' >"$out/long.json"
    pftrace "$out/long.json" && back 'na", "pid"' && back 'nb", "pid"'
}
try long_names_stay_apart long_names
valid() {
    pftrace tests/command/traces/kineto_2024.json && back traceEvents &&
        "$prof" validate "$out/back.json"
}
try json_is_valid valid

# --lanes: no two calls of a row overlap any more, nothing else changes.
overlap() { "$prof" validate "$1" | grep -c ': overlap: '; }
no_overlap() {   # COMMAND OPTION...
    "$prof" "$@" -o "$out/flat.json" "$out/odd.json" && [ "$(overlap "$out/flat.json")" = 2 ] &&
        "$prof" "$@" --lanes -o "$out/lanes.json" "$out/odd.json" &&
        [ "$(overlap "$out/lanes.json")" = 0 ] &&
        grep -q 'stream 7 (lane 3)' "$out/lanes.json" &&
        "$prof" report "$out/flat.json" 2>/dev/null | grep -v '^Device work lasts' >"$out/flat.txt" &&
        "$prof" report "$out/lanes.json" 2>/dev/null | grep -v '^Device work lasts' >"$out/lanes.txt" &&
        cmp "$out/flat.txt" "$out/lanes.txt"
}
try lanes_of_export no_overlap export
cat >"$out/pairs.json" <<'END'
[{"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1},
{"ph": "E", "pid": 1, "tid": 1, "ts": 9},
{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]
END
"$prof" export --lanes -o "$out/lanes.json" "$out/pairs.json"
try both_ends_of_a_pair_move sh -c "[ \$(grep -c '\"tid\": 800000' '$out/lanes.json') = 4 ]"
# More calls overlap than there are lanes: in each format as many are told.
python3 -c 'print("[%s]" % ",".join("""{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1,
    "ts": %d, "dur": 2000}""" % i for i in range(1030)))' >"$out/crowd.json"
for to in --lanes "-o $out/crowd.pftrace"; do
    # shellcheck disable=SC2086   # an option and its value
    says "more_than_the_lanes_${to##*[ .]}" "crowd.json: 6 calls overlap 1024 others" 0 \
        "$prof" export -o "$out/crowd.out.json" $to "$out/crowd.json"
done
# What stands behind the events in the file stays there.
behind() {
    "$prof" "$@" --lanes -o "$out/lanes.json" tests/command/traces/kineto_2024.json &&
        python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out/lanes.json" &&
        grep -q '(lane 2)' "$out/lanes.json"
}
try lanes_and_members_behind behind export

foreign() {
    read_pftrace foreign "$out/foreign.pftrace" &&
        "$prof" export -o "$out/foreign.json" "$out/foreign.pftrace" &&
        read_pftrace foreign_is "$out/foreign.json"
}
try files_of_others foreign
gzip -kf "$out/foreign.pftrace"
# Packets stand as they were flushed: a track's name behind its slices, one writer's behind another's
# later ones. And other protobufs, of Perfetto or not.
read_pftrace orders "$out"
says descriptor_behind 'main;outer;inner 1' 0 "$prof" stacks --threads "$out/behind.pftrace"
says sequences_by_time 'outer;inner 1' 0 "$prof" stacks "$out/crossed.pftrace"
says end_before_begin 'load 4' 0 "$prof" stacks "$out/end_first.pftrace"
# Times below 0, which Perfetto drops, move up together, and that is said.
echo '[{"ph": "X", "cat": "cpu_op", "name": "early", "pid": 1, "tid": 1, "ts": -7, "dur": 2}, {"ph": "X", "cat": "cpu_op", "name": "late", "pid": 1,
    "tid": 1, "ts": 3, "dur": 4}]' >"$out/below.json"
says below_told 'times before 0: all are later by 7.000 us' 0 "$prof" export -o "$out/below.pftrace" "$out/below.json"
says below_valid ' 0 errors' 0 "$prof" validate "$out/below.pftrace"
"$prof" export -o "$out/above.json" "$out/below.pftrace"
says below_moved '"name": "late", "pid": 1, "tid": 1, "ts": 10.000, "dur": 4.000' 0 cat "$out/above.json"
says other_packets 'left out: 2 events of ftrace, 1 CPU samples' 0 "$prof" report "$out/others.pftrace"
"$prof" export -o "$out/own.pb.gz" tests/command/traces/kineto_2024.json
says no_packets 'neither a JSON object nor an array' 2 "$prof" report "$out/own.pb.gz"
says packed_too interned 0 "$prof" report "$out/foreign.pftrace.gz"

# Cut at every byte: read as far as it goes, and told.
cut_everywhere() {
    pftrace tests/command/traces/kineto_2024.json || return 1
    size=$(wc -c <"$out/run.pftrace")
    i=40 step=$((37 * share))
    [ -n "${ALL:-}" ] || i=$((40 + turn % 200)) step=201
    while [ "$i" -lt "$size" ]; do
        head -c "$i" "$out/run.pftrace" >"$out/cut.pftrace"
        "$prof" report "$out/cut.pftrace" >"$out/cut.txt" 2>&1
        case $? in 0 | 1) ;; *) echo "$i bytes: exit status, $(head -n 1 "$out/cut.txt")"; return 1 ;; esac
        i=$((i + step))
    done
}
try cut_short_everywhere cut_everywhere
pftrace tests/command/traces/kineto_2024.json
head -c 1000 "$out/run.pftrace" >"$out/cut.pftrace"
says cut_is_told "the file ends early; read up to there" 1 "$prof" report "$out/cut.pftrace"

# 100 kB of packed packets, each with a text nobody asked for, that unpack to 100 MB: in little memory,
# and told what was too much.
python3 - "$out/bomb.pftrace" <<'END'
import sys
import zlib


def put(number, value):
    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    return varint(number << 3) + varint(value) if isinstance(value, int) else \
        varint(number << 3 | 2) + varint(len(value)) + value


event = put(1, put(10, 1) + put(8, 5) + put(11, put(9, 3) + put(11, 1)) + put(900, bytes(1000)))
with open(sys.argv[1], 'wb') as file:
    file.write(put(1, put(10, 1) + put(8, 1)))
    file.write(put(1, put(50, zlib.compress(event * (1 << 12)))) * 12 + put(1, put(50, zlib.compress(event * (1 << 14)))))
END
says unpacks_in_little_memory "unpacks to more than 8 MB: what is behind" 1 sh -c "ulimit -v 200000; '$prof' report '$out/bomb.pftrace'"
# Calls that are all open where the file ends, on one track: ended without a look at each pair, which
# would take minutes.
python3 - "$out/open.pftrace" <<'END'
import sys
with open(sys.argv[1], 'wb') as file:
    file.write(b'\n\x04P\x01@\x01' + b'\n\x0fP\x01@\x05Z\x09H\x01X\x01\xba\x01\x02op' * 100000)
END
says many_open_calls "  100000  " 0 timeout 15 "$prof" report "$out/open.pftrace"
says several_ranks "rank 1: " 0 sh -c "'$prof' export -o '$out/two.pftrace' tests/command/traces/kineto_2024.json \
    tests/command/traces/kineto_2026.json && '$prof' export -o '$out/two.json' '$out/two.pftrace' && cat '$out/two.json'"
says merged_is_no_name "two.pftrace: 1 events of phases" 0 "$prof" export -o "$out/two.pftrace" "$out/texts.json" "$out/odd.json"
told_once() {
    "$prof" export -o "$out/two.pftrace" tests/fuzz/corpus/stream/device_cut.raw "$out/odd.json" 2>"$out/said"
    [ "$(grep -c 'damaged places' "$out/said")" = 1 ] && ! grep -q '/dev/fd' "$out/said"
}
try losses_of_merged_once told_once
no_merged_file() {
    mkdir -p "$out/aside" && TMPDIR=$out/aside "$prof" export -o "$out/two.pftrace" "$out/odd.json" "$out/odd.json" &&
        [ -z "$(ls "$out/aside")" ]
}
try no_temporary_file_stays no_merged_file
as_stacks() {
    "$prof" stacks tests/command/traces/kineto_2024.json >"$out/a.folded" &&
        "$prof" export -o "$out/b.folded" tests/command/traces/kineto_2024.json &&
        cmp "$out/a.folded" "$out/b.folded"
}
try folded_as_stacks as_stacks
# ---- pprof ----

sums_alike() {   # TRACE
    "$prof" export -o "$out/run.pb.gz" "$1" 2>/dev/null &&
        "$prof" stacks -o "$out/run.folded" "$1" 2>/dev/null &&
        PYTHONPATH=tests/command python3 tests/command/read_pprof.py "$out/run.pb.gz" "$1" "$out/run.folded"
}
for file in tests/command/traces/kineto_*.json $(real_traces); do
    some 6 || continue
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
    try "pprof_${label%%.*}" sums_alike "$file"
done
cat >"$out/frames.json" <<'END'
{"distributedInfo": {"rank": 2}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 1, "tid": 1, "ts": 0, "dur": 90},
{"ph": "X", "cat": "python_function", "name": "my train.py(12): step", "pid": 1, "tid": 1, "ts": 1, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "void f(int)", "pid": 1, "tid": 1, "ts": 2, "dur": 5, "args": {"source": "a b.c:34"}}
]}
END
tells places_and_labels "3 samples 1 steps [2] ranks [('step', 'my train.py', 12, 'prof'), ('void f(int)', 'a b.c', 34, 'prof')]" \
    0 sums_alike "$out/frames.json"
if command -v go >/dev/null 2>&1 && go tool pprof -h >"$out/said" 2>&1; then
    says go_reads_it "step" 0 go tool pprof -top "$out/run.pb.gz"
else
    echo "skip go_reads_it: there is no go tool pprof here"
fi

# Changes of memory, and work, that name a zone to come.
cat >"$out/ahead.json" <<'END'
{"prof": {"zone_ids": "ahead"}, "traceEvents": [
{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5, "args": {"Bytes": 64, "Device Type": 0, "Zone parent id": 1}},
{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5, "args": {"Bytes": 32, "Device Type": 0, "Zone parent id": 0}},
{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5, "args": {"Bytes": 16, "Device Type": 0, "Zone parent id": 9}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 6, "dur": 3, "args": {"correlation": 5, "Zone parent id": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "inner", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "args": {"correlation": 5}},
{"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 1, "dur": 9, "args": {"Zone id": 1}}
]}
END
paths_of() {   # TRACE: path, device ns, bytes
    "$prof" export -o "$out/run.pb.gz" "$1" && PYTHONPATH=tests/command python3 -c '
import sys
from read_pprof import read
print(*sorted(("/".join(p[0][0] for p in places[::-1]), values[1], values[3]) for places, values, _ in read(sys.argv[1])[0]))
' "$out/run.pb.gz"
}
says what_names_its_zone "('(no call)', 0, 32) ('outer', 0, 64) ('outer/inner', 0, 16) ('outer/k', 3000, 0)" 0 paths_of "$out/ahead.json"

# ---- tables ----

read_tables() { PYTHONPATH=tests/command python3 tests/command/read_tables.py "$@"; }
export_tables() {   # TRACE...
    rm -rf "$out/tables" && mkdir "$out/tables" &&
        for kind in run.sqlite run.csv/ run.parquet/; do
            "$prof" export -o "$out/tables/$kind" "$@" || return 1
        done
}
tables_alike() {
    export_tables "$@" 2>/dev/null && read_tables alike "$out/tables/run.csv" "$out/tables/run.parquet" \
        "$out/tables/run.sqlite"
}
tables_of() {   # TRACE
    tables_alike "$1" && "$prof" report --no-memory --limit all --format json -o "$out/report.json" "$1" 2>/dev/null &&
        read_tables trace "$out/tables/run.sqlite" "$1" "$out/report.json"
}
for file in "$out/odd.json" "$out/frames.json" tests/command/traces/[!d]*.json $(real_traces); do
    some 8 || continue
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
    try "tables_${label%%.*}" tables_of "$file"
done
pftrace "$out/odd.json"
says tables_of_perfetto "13 events 1 flows" 0 tables_alike "$out/run.pftrace"
for file in tests/fuzz/corpus/stream/*.raw tests/fuzz/corpus/trace/tasks.json tests/command/traces/defects.json; do
    some 8 || continue
    try "tables_$(basename "${file%.*}")" tables_alike "$file"
done
query() { sql=$1; shift; export_tables "$@" && python3 - "$out/tables/run.sqlite" "$sql" <<'END'
import sqlite3
import sys
print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]))
END
}
says ids_of_texts "(None, None, 'Spans', 'Profiler', None)" 0 query \
    "SELECT pid, tid, process, thread, cat FROM events WHERE name = 'no category'" "$out/odd.json"
says owner_and_place "('launch', 0, 7, 'python', 'stream 7', 1700000000000003000, 3, 3)" 0 query \
    "SELECT op, device, stream, process, thread, ts_ns, rank, (SELECT rank FROM flows) FROM events WHERE kind = 'kernel' LIMIT 1" \
    "$out/odd.json"
says owner_that_is_named "('outer', 2)" 0 query "SELECT op, op_id FROM events WHERE kind = 'kernel'" "$out/ahead.json"
says async_and_nested "('range', 1, 0, None) ('range', 1, 0, None)" 0 query \
    "SELECT name, is_async, self_ns, depth FROM events WHERE is_async = 1" "$out/odd.json"
says json_of_arguments "('[[2,3],[]]', '{\"Input Dims\":[[2,3],[]]}')" 0 query \
    "SELECT input_shapes, args FROM events WHERE name = 'inner'" "$out/odd.json"
# Arguments of an end are those of its begin too.
cat >"$out/ends.json" <<'END'
[{"ph": "B", "name": "a", "pid": 1, "tid": 1, "ts": 1, "args": {"x": 1, "y": [2]}}, {"ph": "B", "name": "b", "pid": 1, "tid": 1, "ts": 2},
{"ph": "E", "pid": 1, "tid": 1, "ts": 3, "args": {"z": 3}}, {"ph": "E", "pid": 1, "tid": 1, "ts": 4, "args": {"w": "4 5"}},
{"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 5}]
END
says arguments_of_ends "('a', '{\"x\":1,\"y\":[2],\"w\":\"4 5\"}') ('b', '{\"z\":3}') ('open', None)" 0 query \
    "SELECT name, args FROM events ORDER BY name" "$out/ends.json"
says step_of_calls "('void f(int)', 7)" 0 query "SELECT name, step FROM events WHERE name LIKE 'void%'" "$out/frames.json"
says ranks_of_files "(2,) (3,)" 0 query "SELECT DISTINCT rank FROM events" "$out/frames.json" "$out/odd.json"
says ranks_in_order "(0, 3) (1, 13) (2, 3)" 0 query "SELECT rank, count(*) FROM events GROUP BY rank" \
    "$out/frames.json" "$out/odd.json" "$out/frames.json"
try several_ranks_alike tables_alike "$out/frames.json" "$out/odd.json"
try ranks_in_any_order tables_alike "$out/odd.json" "$out/frames.json"
# A folder of ranks, in the order of their numbers where they do not tell them; what is no trace in it is no rank.
mkdir -p "$out/job" "$out/untold" "$out/empty"
try many_ranks_build "$CC" -std=c99 -O1 tests/command/many_ranks.c -o "$out/many_ranks" -lz
try many_ranks_made "$out/many_ranks" "$out/job" 20 500
echo 'none' >"$out/job/notes.txt"
echo 'none' >"$out/job/.hidden.json"
says many_ranks_alike "10000 events" 0 tables_alike "$out/job"
says many_ranks_in_order "(0, 'n0') (1, 'n1') (2, 'n2') (3, 'n10')" 0 sh -c "for n in 10 2 1 0; do
    echo '[{\"ph\": \"X\", \"name\": \"n'\$n'\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1}]' >'$out/untold/r'\$n.json
    done; '$prof' export -o '$out/untold.sqlite' '$out/untold/' 2>/dev/null; python3 -c '
import sqlite3
print(*sqlite3.connect(\"$out/untold.sqlite\").execute(\"SELECT rank, name FROM events ORDER BY rank\"))'"
says many_ranks_none 'this folder has no file .json' 2 "$prof" export -o "$out/no.sqlite" "$out/empty"
says many_ranks_merged '"rank 19: process 100"' 0 "$prof" merge "$out/job"
says many_ranks_table 'rank19.json.gz' 0 "$prof" ranks "$out/job"
# Rows of every size around those at which SQLite's pages end, in a table with a key and in one without.
python3 - >"$out/sizes.json" <<'END'
import json
sizes = [*range(3850, 4100), 8000, *range(15950, 16450, 7), 20351, 20352, 32700, 49100, 1000000, *range(0, 300, 3)]
print(json.dumps([{"ph": ph, "name": "a", "cat": "c", "pid": 1, "tid": 1, "ts": i, "dur": 1, "args": {"t": "x" * size}}
                  for ph in "Xi" for i, size in enumerate(sizes)]))
END
says rows_of_every_size "428 events 0 flows 428 instants" 0 tables_alike "$out/sizes.json"
rm "$out/sizes.json"
try one_table sh -c "'$prof' export --table flows -o '$out/flows.csv.gz' '$out/odd.json' '$out/frames.json' &&
    gzip -dc '$out/flows.csv.gz' | grep -q '^3,1,ac2g,0,1,'"
says no_such_table "none of events, flows" 2 "$prof" export --table calls -o "$out/run.csv" "$out/odd.json"
says all_tables "has all tables" 2 "$prof" export --table flows -o "$out/run.sqlite" "$out/odd.json"
says no_table_of_perfetto "is no table" 2 "$prof" export --table flows -o "$out/run.pftrace" "$out/odd.json"
says no_lanes_of_tables "is not JSON" 2 "$prof" export --lanes -o "$out/run.csv" "$out/odd.json"
says tables_of_a_pipe "it must be a file" 2 sh -c "cat '$out/odd.json' | '$prof' export -o '$out/run.sqlite' -"
mkfifo "$out/pipe.sqlite" 2>/dev/null
says database_in_a_pipe "a database must be a file" 2 sh -c \
    "cat '$out/pipe.sqlite' >/dev/null & timeout 20 '$prof' export -o '$out/pipe.sqlite' '$out/odd.json'; s=\$?; wait; exit \$s"
says folder_with_something "this folder is not empty" 2 "$prof" export -o "$out/tables/run.csv/" "$out/odd.json"
says not_a_folder "is not a folder" 2 "$prof" export -o "$out/flows.csv.gz/" "$out/odd.json"
says no_folder_around "cannot be created" 2 "$prof" export -o "$out/none/run.parquet/" "$out/odd.json"
echo '[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 9223372036854775807, "dur": 1}]' >"$out/far.json"
for kind in sqlite csv parquet pftrace pb.gz csv/ parquet/; do
    some 3 || continue
    says "times_too_large_$kind" "far.json: " 2 "$prof" export -o "$out/far.$kind" "$out/far.json"
    try "leaves_nothing_$kind" sh -c "! ls -d '$out'/far.[!j]*"
done
# ---- constant memory ----

# See also test_prof_constant.sh. With threads that are over: a raw stream of 20,000, which change
# memory in their zones.
python3 tests/command/raw_threads.py 20000 >"$out/threads.raw"
# shellcheck disable=SC3045
threads_within() ( ulimit -v $((220 * 1024)) && exec "$prof" "$@" "$out/threads.raw" )
says many_threads_report ",20000," 0 threads_within report -f csv
says many_threads_stacks "outer;inner 600" 0 threads_within stacks
says many_threads_memory "" 0 threads_within memory
try many_threads_pftrace threads_within export -o "$out/within.pftrace"
rm "$out/threads.raw"
# Nor with arrows from launches to their work, which come when all the rest is read.
python3 tests/command/raw_threads.py 3 ${ALL:+1}50000 >"$out/works.raw"
# shellcheck disable=SC3045
works_within() ( ulimit -v $((150 * 1024)) && exec "$prof" "$@" "$out/works.raw" )
says constant_memory_arrows "launch" 0 works_within steps --name launch -f csv
rm "$out/works.raw"
# What PyTorch answered, and the same of prof.h's own arguments.
says canonical_as_pytorch '30 of 30 cases are as in PyTorch' 0 python3 tests/command/canonical.py "$prof" "$out"
cat >"$out/own.json" <<'END'
[{"ph": "X", "cat": "cpu_op", "name": "later", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"Call stack": "^^"}},
{"ph": "X", "cat": "cpu_op", "name": "a n\u00e4me\nof more than thirty code points", "pid": 1, "tid": 1, "ts": 0, "dur": 9,
 "args": {"Module Hierarchy": "net.layer", "Call stack": "  ^^^  ; inner line ;outer"}},
{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "s": "t"}, {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 1, "s": "t"},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0, "dur": 9}]
END
printf 'event=a n\303\244me of more than thirty cod node=net.layer stack_trace=inner line
event=[memory] node= stack_trace=
event=later node= stack_trace=' >"$out/own.txt"
try canonical_own sh -c "'$prof' export --canonical '$out/own.json' | cmp - '$out/own.txt'"
printf 'event=a n\303\244me of more than  node=net.layer stack_trace=^^^
event=[memory] node= stack_trace=
event=later node= stack_trace=^^' >"$out/old.txt"
try canonical_old sh -c "'$prof' export --canonical-old '$out/own.json' | cmp - '$out/old.txt'"
says canonical_alone "it takes one trace" 2 "$prof" export --canonical "$out/own.json" "$out/own.json"
says no_format "its ending is none of the formats" 2 "$prof" export -o "$out/run.xyz" "$out/odd.json"
says no_output "export needs -o" 2 "$prof" export "$out/odd.json"
says no_trace "export needs a trace" 2 "$prof" export -o "$out/run.pftrace"
says no_folder "cannot be created" 2 "$prof" export -o "$out/none/run.pftrace" "$out/odd.json"
try nothing_is_left sh -c "! ls '$out' | grep -q 'tmp\$\|xyz'"
exit $failed
