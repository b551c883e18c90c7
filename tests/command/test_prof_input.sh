#!/bin/sh
# Inputs that are no trace, are empty, end early or are odd: every command names the file and what is
# wrong, in a line, reports what could be read, and its exit status tells which it was.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

traces=$PWD/tests/command/traces
trace=$traces/kineto_2026.json

# Every command that reads a trace, on FILE; what they write goes to $out/to.
on() {   # COMMAND FILE
    case $1 in
    page) "$prof" report -f html -o "$out/to.html" "$2" ;;
    diff) "$prof" diff "$2" "$2" ;;
    augment) "$prof" augment "$2" "$out/to.json" ;;
    cut) "$prof" cut --to 1s -o "$out/to.json" "$2" ;;
    merge) "$prof" merge -o "$out/to.json" "$2" "$2" ;;
    link) "$prof" et --link "$2" "$out/et.json" ;;
    flamegraph) "$prof" flamegraph -o "$out/to.svg" "$2" ;;
    *) "$prof" "$1" "$2" ;;
    esac
}
readers='report page analyze diff augment validate stacks flamegraph gaps ranks memory cut merge link'
# Each of them, without ALL a fifteenth, others each time: exit status STATUS, TEXT on stderr, and with 2 nothing else there or on stdout.
each() {   # NAME TEXT STATUS FILE [COMMANDS]
    # shellcheck disable=SC2086   # a list of words
    choose 15 ${5:-$readers}
    for command in $chosen; do
        on "$command" "$4" >"$out/stdout" 2>"$out/said"
        got=$?
        if [ $got != "$3" ] || ! grep -qsF -e "$2" "$out/said" "$out/stdout" ||
            { [ "$3" = 2 ] && { [ -s "$out/stdout" ] || [ "$(wc -l <"$out/said")" != 1 ]; }; }; then
            failed=1
            echo "not ok input_$1: $command: exit status $got, not $3, or '$2' missing: $(tail -n 1 "$out/said")"
            return
        fi
    done
    echo "ok input_$1"
}
cat >"$out/et.json" <<'END'
{"schema": "1.1.1", "pid": 1, "nodes": [{"id": 1, "name": "root", "ctrl_deps": 1, "inputs":
{"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": 1}]}]}
END

# ---- No traces ----

all_but_link='report page analyze diff augment validate stacks flamegraph gaps ranks memory cut merge'
echo '{"cpu_op_map": {"aten::mm": [1, 2]}, "traces": []}' >"$out/map.json"
each op_map "map.json: this is not a trace: it has no traceEvents, but \"cpu_op_map\"" 2 "$out/map.json"
echo '{"a":1}' >"$out/a.json"
each object 'a.json: this is not a trace' 2 "$out/a.json"
echo '{}' >"$out/nothing.json"
each empty_object 'this is not a trace' 2 "$out/nothing.json"
echo '{"traceEvents": {"a": 1}}' >"$out/no_array.json"
each no_array 'traceEvents is no array' 2 "$out/no_array.json"
echo '[1, "a", null]' >"$out/numbers.json"
each array_of_others 'the array holds no events' 2 "$out/numbers.json"
echo '[{"anything": [{"kernel_dispatch": []}]}]' >"$out/objects.json"
each array_of_objects 'the array holds no events' 2 "$out/objects.json"
each execution_trace 'this is an execution trace' 2 "$out/et.json"
# What others write: one line says what it is and what reads it.
printf 'QDSTRM\000\001' >"$out/a.qdstrm"
printf '\001\002\003NVIDIA' >"$out/a.nsys-rep"
printf '\200\004\225\001' >"$out/snapshot.pickle"
printf 'PERFILE2\001' >"$out/perf.data"
printf '\050\265\057\375\001' >"$out/a.json.zst"
echo '{"segments": [], "device_traces": [[]]}' >"$out/snapshot.json"
each qdstrm 'nsys export --type sqlite' 2 "$out/a.qdstrm"
each nsys_rep 'nsys export --type sqlite' 2 "$out/a.nsys-rep"
each pickle 'the pickle ends early' 1 "$out/snapshot.pickle" 'report analyze memory merge'
each memory_snapshot 'prof memory reads the pickle' 2 "$out/snapshot.json"
each perf_data 'stackcollapse-perf.pl' 2 "$out/perf.data"
each zstd 'zstd -dc' 2 "$out/a.json.zst"
other() {   # NAME WHAT-READS-IT BYTES, as printf takes them
    # shellcheck disable=SC2059   # escapes are wanted
    printf "$3" >"$out/other"
    each "other_$1" "$2" 2 "$out/other" 'report validate merge'
}
other simpleperf stackcollapse.py 'SIMPLEPERF\1'
other bpftrace stackcollapse-bpftrace.pl 'Attaching 1 probe...\n\n@[\n    foo+12\n]: 3\n'
other nettrace 'dotnet-trace convert --format Chromium' 'Nettrace\024\0\0\0!FastSerialization.1'
other go 'go tool trace' 'go 1.22 trace\0\0\0'
other jfr 'JDK Mission Control' 'FLR\0\0\2'
other gmon gprof 'gmon\1\0\0\0'
other callgrind callgrind_annotate '# callgrind format\nversion: 1\n'
other ctf babeltrace2 '\301\037\374\301\0'
other fxt ui.perfetto.dev '\020\0\004FxT\026\0\0'
other tracy tracy-profiler 'tlZ\004\0'
other unreal 'Unreal Insights' '2CRT\0'
other dalvik 'Android Studio' '*version\n3\n'
other ftrace 'traceconv json' '# tracer: nop\n#\n'
other textproto 'traceconv binary' 'packet {\n  timestamp: 1\n}\n'
other ninja_log ninjatracing '# ninja log v5\n0\t2\t3\ta.o\tb\n'
other html 'this is HTML' '<!DOCTYPE html>\n<html></html>'
other perf_script stackcollapse-perf.pl 'a 1 2.5: 250 cpu-clock: \n\t  5581 foo+0x10 (/bin/x)\n\n'
# shellcheck disable=SC2016   # $schema is a key
other speedscope speedscope.app '{"version":"0.0.1","$schema":"https://x","shared":{"frames":[]},"profiles":[]}'
other heap_snapshot 'heap snapshot' '{"snapshot":{"node_count":1},"nodes":[1],"edges":[]}'
other opentelemetry OpenTelemetry '{"resourceSpans":[{"resource":{}}]}'
other lz4 'lz4 -dc' '\004"M\030'
other zlib 'pigz -dc' 'x\234\001'
other atrace ui.perfetto.dev 'TRACE:\nx\234'
other lines 'jq -s' '{"ph":"X","name":"a","ts":1}\n{"ph":"X","name":"b","ts":2}\n'
echo 'int main(void) { return 0; }' >"$out/main.c"
each text 'byte 0: this is no trace' 2 "$out/main.c"
: >"$out/empty.json"
each empty_file 'the file is empty' 2 "$out/empty.json"
each directory 'is a directory' 2 "$out" 'report page analyze diff augment validate stacks flamegraph gaps memory cut link'
each missing 'No such file' 2 "$out/there_is_no_such.json"

# ---- Traces of an empty session ----

echo '[]' >"$out/empty_array.json"
each empty_array 'the trace is of an empty session' 0 "$out/empty_array.json"
echo '{"traceEvents": []}' >"$out/empty_session.json"
each empty_session 'the trace is of an empty session' 0 "$out/empty_session.json"
cat >"$out/nothing_happened.json" <<'END'
{"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "a"}},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 5},
{"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 6, "s": "g"}]}
END
each nothing_happened 'the trace is of an empty session' 0 "$out/nothing_happened.json"

# ---- Files that end early ----

head -c 3000 "$trace" >"$out/cut.json"
each cut_object 'byte 2928' 1 "$out/cut.json" "report page analyze diff augment stacks flamegraph gaps memory cut merge link"
says input_cut_validate 'error: cut: the file ends early' 1 "$prof" validate "$out/cut.json"
{ sed -n '/traceEvents/q;p' "$trace" | head -c 40; } >"$out/cut_head.json"
each cut_head 'the file ends early' 1 "$out/cut_head.json" "$all_but_link"
one='{"ph":"X","cat":"cpu_op","name":"whole","pid":1,"tid":1,"ts":1,"dur":2}'
printf '[%s,{"ph":"X","na' "$one" >"$out/cut_array.json"
each cut_array 'ends early' 1 "$out/cut_array.json" "$all_but_link"
gzip -c "$trace" >"$out/whole.json.gz"
head -c 700 "$out/whole.json.gz" >"$out/cut.json.gz"
each cut_gzip 'ends early' 1 "$out/cut.json.gz" "$all_but_link"
size=$(wc -c <"$out/whole.json.gz")
head -c $((size - 4)) "$out/whole.json.gz" >"$out/cut_end.json.gz"    # only of the check sum
each cut_gzip_end 'ends early' 1 "$out/cut_end.json.gz" "$all_but_link"
try input_cut_augments sh -c "'$prof' augment '$out/cut_end.json.gz' '$out/to.json' 2>/dev/null
    '$prof' augment '$trace' '$out/whole.json' && cmp '$out/to.json' '$out/whole.json'"
reports_whole() { "$prof" report -f csv "$1" 2>/dev/null | grep -q '^"whole",1,2.000'; }
closes() { "$prof" augment "$1" "$out/to.json" 2>/dev/null && is_json "$out/to.json"; }
for end in '' ', ' ',
'; do
    printf '[%s%s' "$one" "$end" >"$out/open.json"
    each "open_array_$(printf '%s' "$end" | wc -c)" 'the array has no ]' 0 "$out/open.json" "$all_but_link"
    try input_open_is_reported reports_whole "$out/open.json"
    try input_open_is_closed closes "$out/open.json"
done
# ---- Files that are damaged: what could be read is reported, the fault told, exit status 1; where that
# is nothing, 2 ----

rewrites() {   # FILE: what augment, cut and merge make of it is JSON, and holds `whole`
    choose 3 augment cut merge
    for command in $chosen; do
        on "$command" "$1" >"$out/said" 2>&1
        is_json "$out/to.json" && grep -q '"whole"' "$out/to.json" || return 1
    done
}
damaged() {   # NAME WHY FILE [COMMANDS]
    each "damaged_$1" "$2" 1 "$3" "${4:-$all_but_link}"
    reports_whole "$3" || { failed=1; echo "not ok input_damaged_$1_is_reported"; }
    try "input_damaged_$1_is_rewritten" rewrites "$3"
}
printf '[%s,{"ph":"X","name":nope}]' "$one" >"$out/word.json"
damaged word 'byte 90: ' "$out/word.json"
printf '{"traceEvents":[%s}]}' "$one" >"$out/bracket.json"
damaged bracket 'byte 87: ' "$out/bracket.json"
printf '[%s]\n[%s]' "$one" "$one" >"$out/behind.json"
damaged behind 'something follows the end of the trace' "$out/behind.json"
printf '[%s,{"ph":"X","name":"two","cat":"cpu_op","pid":1,"tid":1,"ts":1,"ts":2,"dur":1}]' "$one" >"$out/twice.json"
damaged twice 'twice' "$out/twice.json" 'report page analyze diff augment stacks flamegraph gaps memory cut merge'
for place in first second; do    # a name with bare quotes: what follows is read
    broken='{"ph":"X","name":"lib("_test", [{"a":1}])","args":{"b":[{"c":1},{"d":2}]}}'
    if [ $place = first ]; then printf '[%s,\n%s]' "$broken" "$one"; else printf '[%s,%s,%s,{}]' "$one" "$broken" "$one"; fi |
        sed 's/\(.*\)"whole"\(.*\)"whole"/\1"before"\2"whole"/' >"$out/quotes.json"
    damaged "quotes_$place" ': a comma is missing here' "$out/quotes.json" 'report page analyze diff augment stacks flamegraph gaps memory cut merge'
    says "input_quotes_${place}_validate" 'events that are no JSON' 1 "$prof" validate "$out/quotes.json"
done
printf '[{"ph":"X","name":nope}]' >"$out/word.json"
each damaged_at_once 'byte 18: ' 2 "$out/word.json"
awk -v one="$one" 'BEGIN { srand(1); printf "[" one
    for (i = 0; i < 20000; i++)
        printf ",\n{\"ph\":\"X\",\"name\":\"%d\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}", rand() * 1e9, 10 + 2 * i
    print "]" }' | gzip -c >"$out/large.json.gz"
size=$(wc -c <"$out/large.json.gz")
spoil() {   # AT: some bytes of it are others
    { head -c "$1" "$out/large.json.gz"; printf 'damaged'; tail -c +$(($1 + 8)) "$out/large.json.gz"; } >"$out/spoilt.json.gz"
}
spoil $((size / 2))
damaged gzip '; read up to there' "$out/spoilt.json.gz" 'report page analyze diff stacks flamegraph gaps memory cut merge augment'
spoil 300
damaged gzip_early '; read up to there' "$out/spoilt.json.gz" 'report stacks'
spoil $((size - 8))
damaged gzip_sum 'incorrect data check' "$out/spoilt.json.gz" 'report gaps validate'
spoil 2
each damaged_gzip_head 'byte 0: ' 2 "$out/spoilt.json.gz" 'report gaps'
{ cat "$out/large.json.gz"; echo rest; } >"$out/rest.json.gz"
each gzip_with_rest 'what follows its gzip data is not gzip data' 1 "$out/rest.json.gz" 'report stacks'
{ printf '[%s' "$one" | gzip -c; printf ']' | gzip -c; } >"$out/members.json.gz"
each gzip_members '' 0 "$out/members.json.gz" 'report stacks'
try input_gzip_members sh -c "'$prof' report -f csv '$out/members.json.gz' 2>&1 | grep -q '^\"whole\",1,2.000'"

cat >"$out/raw.c" <<'END_OF_C'
#include "prof.h"
#include <stdio.h>
static bool put(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size && fflush((FILE *)file) == 0;
}
static char arena[1 << 18];
int main(int argc, char **argv) {
    prof_desc desc = {0};
    prof_sink out = {put, stdout};
    int ring = argc > 1 && *argv[1];
    desc.mode = ring ? PROF_MODE_RING : PROF_MODE_STREAM;
    desc.stream = out;
    desc.memory = ring ? arena : NULL;
    desc.memory_size = ring ? sizeof arena : 0;
    if (prof_start(&desc) != PROF_OK) return 1;
    for (int i = 0; i < 3000 << 4 * ring; i++) PROF_BLOCK("zone") {}
    if (argc > 2) PROF_BLOCK("_Z1f") {}
    if (ring) return prof_dump(out) != PROF_OK;
    return prof_stop() == NULL;
}
END_OF_C
library zlib
# shellcheck disable=SC2086   # lists of words
try input_raw_builds $cc -I. "$out/raw.c" "$library" -o "$out/raw" $libs
"$out/raw" >"$out/whole.raw"
try input_raw_whole sh -c "'$prof' report '$out/whole.raw' 2>'$out/warned' >/dev/null && [ ! -s '$out/warned' ]"
# Names of C++ are shown as the source has them; what is written again has them as they were.
"$out/raw" "" mangled >"$out/mangled.raw"
says input_demangles ' f ' 0 "$prof" report "$out/mangled.raw"
says input_decodes_as_written '"_Z1f"' 0 "$prof" decode "$out/mangled.raw"
says input_decodes_demangled '"f"' 0 "$prof" decode --demangle "$out/mangled.raw"
says input_merges_as_written '"_Z1f"' 0 "$prof" merge "$out/mangled.raw" "$trace"
size=$(wc -c <"$out/whole.raw")
head -c $((size / 2 + 1)) "$out/whole.raw" >"$out/cut.raw"
each cut_raw 'the stream ends early, within a block' 1 "$out/cut.raw" \
    'report page analyze diff stacks flamegraph gaps memory decode'
gzip -c "$out/whole.raw" | head -c 2000 >"$out/cut.raw.gz"
each cut_raw_gzip 'the gzip file ends early' 1 "$out/cut.raw.gz" 'report stacks decode'
{ gzip -c "$out/whole.raw" | head -c 2000; printf 'damaged, and more than that'; } >"$out/spoilt.raw.gz"
each damaged_raw_gzip '; read up to there' 1 "$out/spoilt.raw.gz" 'report stacks decode'
{ gzip -c "$out/whole.raw" | head -c 240; printf 'damaged, and more than that'; } >"$out/spoilt.raw.gz"
each damaged_raw_gzip_early '; read up to there' 1 "$out/spoilt.raw.gz" 'report stacks decode'
last=$(LC_ALL=C grep -obUaP 'PROF|FORP' "$out/whole.raw" | tail -n 1 | cut -d: -f1)
head -c "$last" "$out/whole.raw" >"$out/crashed.raw"
each crashed_raw "byte $last: the stream ends without its last block" 1 "$out/crashed.raw" 'report decode'

"$out/raw" ring >"$out/ring.raw"
told_once() {   # FILE: what the ring has overwritten is one loss, in one line
    "$prof" report "$1" | head -n 1 | grep -q "^$1: Zones that the ring no longer holds[^;]*$"
}
try input_ring_is_told_once told_once "$out/ring.raw"
try input_ring_is_decoded "$prof" decode -o "$out/ring.json" "$out/ring.raw"
try input_ring_is_decoded_once told_once "$out/ring.json"

# ---- The reader that tools/prof/input/README.md shows ----

# shellcheck disable=SC2016   # backticks
sed -n '/^```c/,/^```/{/^```/!p;}' tools/prof/input/README.md >"$out/shown.c"
# shellcheck disable=SC2086
try input_readme ${CC:-gcc} -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I. -Itools/prof \
    -D_POSIX_C_SOURCE=200809L -c "$out/shown.c" -o "$out/shown.o"

# ---- Numbers and names ----

row() { printf '[{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":%s,"dur":%s}]' "$@" >"$out/row.json"; }
cell() { "$prof" report -f csv "$out/row.json" 2>"$out/said" | sed -n '2s/^"\([^"]*\)",1,\([^,]*\),.*/\1 \2/p'; }
is() {   # NAME WHAT NAME TS DUR
    some 2 || return 0
    row "$3" "$4" "$5"
    got=$(cell)
    if [ "$got" = "$2" ]; then echo "ok input_$1"; else failed=1; echo "not ok input_$1: '$got', not '$2'"; fi
}
is time_large 'a 2.001' a 6.1e15 2.001
is time_largest 'a 1.000' a 9223372036854774.807 1
is time_negative 'a 1.000' a -9223372036854774 1
is name_nul "a$(printf '\357\277\275')b 1.000" 'a\u0000b' 0 1
is name_not_utf8 "a$(printf '\357\277\275')b 1.000" "$(printf 'a\377b')" 0 1
is name_cut_letter "a$(printf '\357\277\275\357\277\275') 1.000" "$(printf 'a\342\202')" 0 1
is name_backslash "a\\$(printf '\303\251') 1.000" "$(printf 'a\\\303\251')" 0 1
is name_windows 'torch\cuda\__init__.py(9): \u12 1.000' 'torch\cuda\__init__.py(9): \u12' 0 1
too() { row a "$1" "$2"; says "input_too_$3" 'do' 2 "$prof" report "$out/row.json"; }
too 9223372036854775.808 1 late
too 9223372036854775.807 1 late_an_end
too 1e400 1 huge
printf '[{"ph":"i","name":"a","pid":1,"tid":1,"ts":-9e15},{"ph":"i","name":"a","pid":1,"tid":1,"ts":9e15}]' >"$out/row.json"
says input_too_far_apart 'times do not fit 64 bits of nanoseconds; read up to there' 1 "$prof" report "$out/row.json"

echo '[[5, 4, 10, 1], [6, 4, 10, 1]]' >"$out/frees.raw.json"
no_infinity() { ! "$prof" memory --by "$1" -f "$2" "$out/frees.json" | grep -i 'inf\|nan'; }
printf '[{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Bytes":-64,"Addr":1,"Device Type":0,"Device Id":-1}}]' >"$out/frees.json"
for by in category op; do
    for format in csv json; do try "input_memory_${by}_$format" no_infinity $by $format; done
done
sed 's/^/ /' "$out/frees.raw.json" >"$out/frees.json"
try input_memory_raw_frees no_infinity category csv

# ---- Folded stacks, over the border of two reads, without an end, with numbers that do not fit ----

folded() {   # EXPECTED: the sum of all self times, in ms
    got=$("$prof" report -f csv --limit all "$out/folded.txt" 2>"$out/said" |
        awk -F, 'NR > 1 {sum += $4} END {printf "%.0f\n", sum}')
    [ "$got" = "$1" ] || { echo "the sum is $got, not $1"; return 1; }
}
awk 'BEGIN {for (i = 0; i < 60000; i++) printf "main;f%d;leaf 7\n", i % 9}' >"$out/folded.txt"
try input_folded_borders folded 420000
printf 'main;leaf 123\nmain;leaf 4' >"$out/folded.txt"
try input_folded_no_newline folded 127
{ printf 'main;leaf 999999999999999\nmain;'; head -c 600000 /dev/zero | tr '\0' x; printf ' 5\nmain 1'; } >"$out/folded.txt"
try input_folded_long folded 1000000000000005
printf 'main;leaf 3.5\nmain;leaf\t4\nmain;leaf   2.25\nmain 1.5.2\n' >"$out/folded.txt"
says input_folded_decimals 'Self CPU time total: 9.750us' 0 "$prof" report "$out/folded.txt"
says input_folded_decimals_names '1 lines are not folded stacks' 0 "$prof" stacks "$out/folded.txt"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "main$i 999999999999999"; done >"$out/folded.txt"
says input_folded_too_long '3 lines are not folded stacks' 0 "$prof" stacks "$out/folded.txt"

# ---- Categories that are not known, pairs that are none, words that are mistyped ----

cat >"$out/devices.json" <<'END'
{"traceEvents": [
{"ph":"M","name":"process_labels","pid":4,"tid":0,"ts":0,"args":{"labels":"CPU"}},
{"ph":"M","name":"process_labels","pid":8,"tid":0,"ts":0,"args":{"labels":"NPU 0"}},
{"ph":"M","name":"thread_name","pid":9,"tid":5,"ts":0,"args":{"name":"stream 5 "}},
{"ph":"M","name":"process_sort_index","pid":10,"tid":0,"ts":0,"args":{"sort_index":5000001}},
{"ph":"X","cat":"cpu_op","name":"aten::mul","pid":4,"tid":4,"ts":100,"dur":50},
{"ph":"X","cat":"mtia_ccp_events","name":"d1","pid":17,"tid":377,"ts":120,"dur":1},
{"ph":"X","cat":"mtia_workloadd","name":"d2","pid":18,"tid":12,"ts":121,"dur":2},
{"ph":"X","cat":"mtia_insight","name":"d3","pid":18,"tid":12,"ts":125,"dur":4},
{"ph":"X","cat":"hpu_op","name":"d4","pid":19,"tid":1,"ts":130,"dur":8},
{"ph":"X","cat":"cuda_profiler_range","name":"d5","pid":0,"tid":7,"ts":140,"dur":16},
{"ph":"X","cat":"npu_work","name":"d6","pid":8,"tid":1,"ts":141,"dur":32},
{"ph":"X","cat":"odd_work","name":"d7","pid":9,"tid":5,"ts":141,"dur":64},
{"ph":"X","cat":"odd_work","name":"d8","pid":10,"tid":5,"ts":141,"dur":128},
{"ph":"B","cat":"odd_work","name":"d9","pid":9,"tid":5,"ts":341},
{"ph":"E","pid":9,"tid":5,"ts":597},
{"ph":"X","cat":"odd_work","name":"h1","pid":4,"tid":6,"ts":100,"dur":5}]}
END
says input_unknown_cpu 'Self CPU time total: 55.000us' 0 "$prof" report "$out/devices.json"
says input_unknown_device 'time total: 495.000us' 0 "$prof" report "$out/devices.json"
says input_unknown_told "'npu_work' (0 events as CPU time, 1 as device time), 'odd_work' (1 events as CPU time, 3 as device time)" 0 \
    "$prof" report "$out/devices.json"
cat >"$out/other_run.json" <<'END'
[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":2,"args":{"Record function id": 1}}]
END
says input_not_one_run 'this is not the trace of the same run as' 1 \
    "$prof" et --link "$out/other_run.json" "$out/et.json"
for command in report stacks memory gaps; do    # a call that tells an asynchronous one as what it lies in
    try "input_in_no_range_$command" "$prof" $command tests/fuzz/corpus/trace/zone_ids.json
done
says input_did_you_mean "did you mean 'report'?" 2 "$prof" reprt "$trace"
says input_did_you_mean_cut "did you mean 'cut'?" 2 "$prof" ctu "$trace"
says input_did_you_mean_option "did you mean '--limit'?" 2 "$prof" report --limti=5 "$trace"
says input_no_such_command 'see prof --help' 2 "$prof" nonsense
says input_no_such_option 'there is no such option; see prof report --help' 2 "$prof" report --xyzzy

# ---- Begins and ends ----

# halves EVENT...: each is PH NAME TID TS, and what else it has. Into $out/halves.json.
halves() {
    for half; do
        # shellcheck disable=SC2086   # its words
        set -- $half
        printf '{"ph":"%s","pid":1,"tid":%s,"ts":%s%s%s}\n' "$1" "$3" "$4" \
            "$([ "$2" = - ] || printf ',"name":"%s"' "$2")" "${5:-}"
    done | paste -sd, | sed 's/.*/[&]/' >"$out/halves.json"
}
pairs() {   # NAME EXPECTED: name, total and self in us of each row, by name; of a file and of a pipe
    some 2 || return 0
    choose 2 file pipe
    for way in $chosen; do
        # shellcheck disable=SC2002   # a pipe cannot be read twice
        got=$(if [ "$way" = file ]; then "$prof" report -f csv "$out/halves.json" 2>"$out/said"
              else cat "$out/halves.json" | "$prof" report -f csv - 2>"$out/said"; fi |
            awk -F, 'NR > 1 {gsub(/"/, "", $1); print $1, $3, $4}' | sort | paste -sd/)
        [ "$got" = "$2" ] || { failed=1; echo "not ok input_pairs_$1: of a $way '$got', not '$2'"; return; }
    done
    echo "ok input_pairs_$1"
}
halves 'B a 1 0' 'B b 1 1' 'B lost 1 2' 'E b 1 3' 'E a 1 4'
pairs names 'a 4.000 2.000/b 2.000 1.000/lost 1.000 1.000'
says input_pairs_names_told "): 'lost'" 0 "$prof" report "$out/halves.json"
halves 'B a 1 0' 'B - 1 1' 'E - 1 3' 'E b 1 4' 'E - 1 5'
pairs ends_of_no_such_name ' 2.000 2.000/a 5.000 3.000'
halves 'B a 1 0 ,"cat":"x"' 'B a 1 1 ,"cat":"y"' 'E a 1 3 ,"cat":"x"'
pairs categories 'a 5.000 3.000'
id=',"cat":"c","id":1'
halves "b a 1 0 $id" "b b 1 10 $id" "e a 1 20 $id" "e b 1 50 $id" "S s 1 5 $id" "F s 1 50 $id"
pairs asynchronous 'a 20.000 0.000/b 40.000 0.000/s 45.000 0.000'
halves 'X x 2 0 ,"dur":1000' 'B open 1 5' 'X y 1 10 ,"dur":3'
pairs to_the_end 'open 995.000 992.000/x 1000.000 1000.000/y 3.000 3.000'
halves 'E b 1 30' 'B a 1 10' 'B b 1 20' 'E a 1 40' 'E - 2 9' 'E - 2 8' 'B d 2 5' 'B c 2 1'
pairs by_time 'a 30.000 20.000/b 10.000 10.000/c 8.000 5.000/d 3.000 3.000'
halves 'X x 2 0 ,"dur":9' 'B a 1 9' 'E a 1 1'
says input_pairs_of_nothing '1 ends of nothing, left out' 0 "$prof" report "$out/halves.json"
halves 'X a 1 0 ,"dur":3,"bind_id":"0x1","flow_out":true' 'B b 1 7 ,"bind_id":"0x1","flow_in":true' 'E b 1 9'
says input_arrows_by_bind_id '2 arrows by bind_id (flow_in, flow_out), left out' 0 "$prof" report "$out/halves.json"
halves "S s 1 5 $id" "T s 1 7 $id" "F s 1 9 $id"
says input_pairs_steps '1 steps (T, p) of asynchronous events, left out' 0 "$prof" report "$out/halves.json"

# ---- Rows of devices that have labels, not categories, wherever those stand ----

label() { printf '{"ph":"M","pid":%s,"tid":%s,"ts":0,"name":"%s","args":{"%s":"%s"}}\n' "$@"; }
work() { printf '{"ph":"X","pid":%s,"tid":%s,"ts":1,"dur":%s,"name":"%s"%s}\n' "$@"; }
labels() {   # NAME: stdin is events; CPU and device time, in us, with the labels first and last
    cat >"$out/events"
    choose 2 '^' '$'
    for way in $chosen; do
        { [ "$way" = '$' ] || grep '"M"' "$out/events"; grep -v '"M"' "$out/events"
          [ "$way" = '^' ] || grep '"M"' "$out/events"; } | paste -sd, | sed 's/.*/[&]/' >"$out/labels.json"
        some 2 || return 0
        got=$("$prof" report "$out/labels.json" 2>"$out/said" | sed -n 's/^Self .* time total: //p' | paste -sd' ')
        [ "$got" = "$2" ] || { failed=1; echo "not ok input_labels_$1: '$got', not '$2'"; return; }
    done
    echo "ok input_labels_$1"
}
for name in GpuMemoryThread 'Streaming worker' 'Device monitor' 'GPU0-driver submit' CrGpuMain 'GPU'; do
    { label 1 1 process_name name 'GPU Process'; label 1 1 thread_name name "$name"
      work 1 1 8 task ',"cat":"toplevel"'; } | labels "of_no_device_$(echo "$name" | tr ' ' _)" 8.000us
done
{ label 1 0 process_name name /device:GPU:0; label 1 13 thread_name name 'Stream #13(Compute)'
  label 1 1 thread_name name 'XLA Ops'; label 7 0 process_name name /host:CPU; label 7 5 thread_name name python
  work 7 5 100 f ''; work 1 13 30 loop_fusion ''; work 1 1 30 fusion ''; } | labels xla '100.000us 30.000us'
{ label 1 0 process_name name '/device:TPU:0 (chip 0)'; label 1 3 thread_name name 'XLA Ops'
  label 1 1 thread_name name Steps; label 1 2 thread_name name 'XLA Modules'
  work 1 3 30 fusion ''; work 1 1 40 0 ''; work 1 2 40 jit_f ''; work 7 5 100 f ''; } | labels tpu '100.000us 30.000us'
{ label 1 0 process_name name /device:TPU:0; label 1 3 thread_name name 'XLA Ops'
  work 1 3 30 all-reduce.1 ''; work 1 3 20 collective-permute.2 ''; } | labels tpu_collectives '0.000us 50.000us'
says input_tpu_named 'Self TPU time total: 50.000us' 0 "$prof" report "$out/labels.json"
says input_tpu_collectives '100.0 % exposed comm.' 0 "$prof" report "$out/labels.json"
{ label 8 0 process_labels labels NPU; label 8 0 process_name name 'Ascend Hardware'; label 8 3 thread_name name 'Stream 3'
  label 9 0 process_labels labels NPU; label 9 0 process_name name 'Overlap Analysis'
  label 9 1 thread_name name Computing; label 9 2 thread_name name Free
  work 8 3 20 Add ''; work 9 1 20 Computing ''; work 9 2 30 Free ''; work 7 7 50 aten::add ',"cat":"cpu_op"'; } |
    labels npu '50.000us 20.000us'
says input_npu_named 'Self NPU time total: 20.000us' 0 "$prof" report "$out/labels.json"
echo '[{"ph": "X", "name": "Backend", "pid": 1, "tid": 1, "ts": 0, "dur": 4, "args": {"detail": "a.c"}},
{"ph": "X", "name": "Total Backend", "pid": 1, "tid": 2, "ts": 0, "dur": 4, "args": {"count": 1, "avg ms": 0}},
{"ph": "X", "name": "Total cost", "pid": 1, "tid": 1, "ts": 5, "dur": 2}]' >"$out/ftime.json"
says input_ftime_totals "1 events, as 'Total Backend', repeat those of other rows: not counted" 0 "$prof" report "$out/ftime.json"
says input_ftime_sum 'Self CPU time total: 6.000us' 0 "$prof" report "$out/ftime.json"
says input_labels_repeat "2 events, as 'Computing', repeat those of other rows: not counted" 0 "$prof" report "$out/labels.json"
"$prof" merge -o "$out/merged.json" "$out/labels.json" 2>"$out/said"
says input_labels_merged 'time total: 20.000us' 0 "$prof" report "$out/merged.json"
{ work '"CPU functions"' 1 50 add ''; work '"CUDA functions"' 0 20 add_kernel ''; } | labels pytorch_2020 '50.000us 20.000us'
echo '[{"ph": "X", "name": "add", "pid": "CPU functions", "tid": 1, "ts": 1, "dur": 50},
    {"ph": "X", "name": "k", "pid": "CUDA functions", "tid": 0, "ts": 9, "dur": 20}]' >"$out/text_pid.json"
says input_device_text 'Device CUDA functions busy' 0 "$prof" report "$out/text_pid.json"
{ label 0 0 process_labels labels 'XPU 0'; label 0 7 thread_name name 'stream 7 '
  work 1 1 70 urQueueFinish ',"cat":"xpu_runtime"'; work -1 1 70 urQueueFinish ',"cat":"xpu_sync"'
  work 0 7 30 gemm ',"cat":"kernel"'; work 0 7 30 'metrics: gemm' ',"cat":"kernel"'; } | labels xpu '70.000us 30.000us'
{ work '"Device 1"' '"Stream 7"' 30 gemm ',"cat":"cuda"'
  work '"Device 1"' '"NVTX Thread 4711"' 50 forward ',"cat":"nvtx"'; } | labels nsys2json '50.000us 30.000us'
says input_labels_text_device 'Device 1 busy' 0 "$prof" report "$out/labels.json"
{ label 0 0 process_name name trainer1:cuda_api; label 1 0 process_name name trainer1:cpu:block:0
  label 2 0 process_name name trainer1:gpu:0; work 0 1 5 cudaLaunch ',"cat":"Op"'
  work 1 1 40 mul ',"cat":"Op"'; work 2 7 30 sgemm ',"cat":"Op"'; } | labels paddle_2018 '45.000us 30.000us'
says input_labels_paddle_device 'Device 0 (pid 2) busy' 0 "$prof" report "$out/labels.json"
# MXNet's tids are hashes of 64 bits without a sign: two threads, in which nothing nests
{ label 0 0 process_name name cpu/0; label 1 0 process_name name gpu/0
  work 0 18446744073709551000 20 Copy ',"cat":"operator"'; work 0 18446744073709551001 10 Copy ',"cat":"operator"'
  work 1 3005078972234936124 30 Convolution ',"cat":"operator"'; } | labels mxnet '30.000us 30.000us'
{ label '"2"' 0 process_name name '0 CPU HIP API'; label '"1"' 0 process_name name '1 COPY'
  label '"6"' 0 process_name name '2 GPU0'; work '"2"' '"77"' 33 hipLaunchKernel ''
  work '"6"' '"0"' 500 vecadd ''; work '"1"' '"0"' 40 CopyHostToDevice ''; } | labels rocprof '33.000us 540.000us'
{ label 100 0 process_name name 'HOST<node1>'; label 101 0 process_name name 'DEVICE 0000:3a:00.0<node1>'
  work 100 100 10 zeCommandListAppendLaunchKernel ',"cat":"cpu_op"'
  work 101 5 400 'main[SIMD32 {4; 1; 1}]' ',"cat":"gpu_op"'; } | labels unitrace '10.000us 400.000us'
for gpu in device:GPU:0 gpu:0; do
    { label 1 0 process_name name "/job:localhost/replica:0/task:0/$gpu Compute"
      label 3 0 process_name name "/$gpu/stream:all Compute"; label 5 0 process_name name "/$gpu/stream:13 Compute"
      label 9 0 process_name name "/$gpu/memcpy Compute"
      work 1 0 20 MatMul ',"cat":"Op"'; work 3 0 300 MatMul ',"cat":"Op"'; work 5 0 300 MatMul ',"cat":"Op"'
      work 9 0 50 MEMCPYHtoD ',"cat":"Op"'; work 5 1 50 MEMCPYHtoD ',"cat":"Op"'; } |
        labels "tensorflow_$gpu" '20.000us 350.000us'
done
{ label 1 13 thread_name name 'Stream #13(Compute)'; work 7 5 100 'PjitFunction(f)' ''
  work 7 5 10 cuLaunchKernel ',"args":{"correlation_id":"42"}'
  work 1 13 30 gemm ',"args":{"correlation_id":"42"}'; } | labels jax '100.000us 30.000us'
says input_correlation_jax 'PjitFunction(f);gemm 30' 0 "$prof" stacks -m self_cuda_time_total "$out/labels.json"
{ work 7 5 100 'matmul dygraph' ',"cat":"Operator"'
  work 7 5 10 cudaLaunchKernel ',"cat":"CudaRuntime","args":{"correlation id":42}'
  work 1 13 30 gemm ',"cat":"Kernel","args":{"correlation id":42}'; } | labels paddle '100.000us 30.000us'
says input_correlation_paddle 'matmul_dygraph;gemm 30' 0 "$prof" stacks -m self_cuda_time_total "$out/labels.json"
{ label 3 0 process_name name /device:TPU:0; label 3 3 thread_name name 'XLA Ops'
  work 3 3 90 while.2 ''; work 3 3 30 fusion ''; work 3 3 20 callback ''; } | labels xla_loop '0.000us 50.000us'
{ label 3 0 process_name name '/device:TPU:1'; label 3 3 thread_name name 'XLA Ops'
  work 3 3 30 fusion ''; } | labels device_number '0.000us 30.000us'
says input_labels_device_number 'Device 1 (pid 3) busy' 0 "$prof" report "$out/labels.json"

# ---- Little files that took minutes ----

quick() {   # COMMAND...: 10 s of the processor are plenty, but for code that counts its lines
    # shellcheck disable=SC3045   # ulimit -t: wherever sh is dash or bash
    (ulimit -t "${CPU_LIMIT:-10}" && "$prof" "$@") >/dev/null 2>"$out/said"
    [ $? -le 2 ]
}
if some 3; then
awk 'BEGIN {printf "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1,\"args\":{\"z\":0"
    for (i = 0; i < 300000; i++) printf ",\"k%d\":1", i
    print "}}]"}' >"$out/keys.json"
try input_many_arguments quick report "$out/keys.json"
fi
if some 3; then
awk 'BEGIN {n = 200000; printf "["; for (i = 0; i < 2 * n; i++)
    printf "%s{\"ph\":\"%s\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d}\n",
        i ? "," : "", i < n ? "B" : "E", i % 2 ? "a" : "b", i < n ? "x" : "y", i
    print "]"}' >"$out/depth.json"
try input_many_open quick report "$out/depth.json"
fi
[ -n "${ALL:-}" ] && devices=100000 || devices=10000 CPU_LIMIT=${CPU_LIMIT:-3}
awk -v devices="$devices" 'BEGIN {printf "["
    for (i = 0; i < devices; i++) printf "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":1,\"args\":{\"device\":%d,\"stream\":%d,\"correlation\":%d}}\n", i ? "," : "", i, i, i, i, i, i, i
    print "]"}' >"$out/devices.json"
choose 4 report ${ALL:+analyze gaps} validate flamegraph
for command in $chosen; do
    try "input_many_devices_$command" quick "$command" "$out/devices.json"
done
awk 'BEGIN {for (i = 0; i < 1000000; i++) printf "PROF"}' >"$out/prof.raw"
try input_damaged_raw quick decode "$out/prof.raw"
rm -f "$out/keys.json" "$out/depth.json" "$out/devices.json" "$out/prof.raw"

# ---- What is no JSON in the midst of a trace ----

python3 tests/command/odd_json.py "$prof" "$out" || failed=1

printf '\377\376{\0' >"$out/utf16.json"
each utf16 'byte 0: this is UTF-16' 2 "$out/utf16.json"
printf '[\0{\0' >"$out/utf16.json"
each utf16_without_mark 'byte 0: this is UTF-16' 2 "$out/utf16.json"
printf ' {' >"$out/brace.json"
each utf16_it_is_not 'the file ends early' 1 "$out/brace.json" report
for size in 3 10 18; do
    head -c $size "$out/whole.json.gz" >"$out/cut.json.gz"
    each "cut_gzip_$size" 'cut.json.gz: the gzip file ends early, before anything' 2 "$out/cut.json.gz"
done

# ---- Times that are none ----

told() { row a "$2" "$3"; says "input_told_$1" "$4" 0 "$prof" report "$out/row.json"; }
told no_ts null 1 '1 events without a ts or dur, taken as 0'
told no_dur 1 true '1 pids, tids or times that are no numbers'
told negative_dur 5 -3 '1 events that end before they begin, taken as of no length'
is negative_dur 'a 0.000' a 5 -3
is dur_is_text 'a 30.250' a '"1704161511420306.491"' '"30.25"'      # torch_npu, Hermes (A1)
told no_number '"now"' 5 '1 pids, tids or times that are no numbers'
echo '[{"ph":"i","name":"mark","pid":1,"tid":1,"ts":1}]' >"$out/mark.json"
says input_instant_is_something 'no complete events in it, only instants (1) and values of counters (0)' 0 \
    "$prof" report "$out/mark.json"

# ---- A base that times do not fit with; a pipe where a file is read twice ----

max_base='"baseTimeNanoseconds": 9223372036854775807,'
events='"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}],'
echo "{$max_base${events%,}}" >"$out/base.json"
each base_is_told 'with the baseTimeNanoseconds times do not fit' 2 "$out/base.json" 'merge gaps'
echo "{$events${max_base%,}}" >"$out/base.json"
each base_behind_is_told 'with the baseTimeNanoseconds times do not fit' 1 "$out/base.json" 'merge gaps'
echo '{"baseTimeNanoseconds": -9000000000000000000, "traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}' >"$out/early.json"
echo '{"baseTimeNanoseconds": 9000000000000000000, "traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}' >"$out/late.json"
says merged_times_fit 'byte 60: on the base of the other traces this time does not fit' 2 \
    "$prof" merge "$out/early.json" "$out/late.json"
echo '{"distributedInfo":{"rank":1000000000000000000},"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}' >"$out/rank.json"
says merge_rank_is_no_rank '"sort_index": 0' 0 "$prof" merge "$out/rank.json" "$out/early.json"
rm -f "$out/pipe"
mkfifo "$out/pipe" 2>/dev/null
for command in 'cut --to 1s' merge; do
    # shellcheck disable=SC2086   # a list of words
    says "pipe_is_not_read_twice_${command%% *}" 'it must be a file' 2 timeout 20 "$prof" $command "$out/pipe"
done
exit $failed
