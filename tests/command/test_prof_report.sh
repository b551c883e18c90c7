#!/bin/sh
# prof report: against an independent reading, its options, and bad input.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# shellcheck disable=SC2317   # try calls it
reads_alike() {   # NAME TRACE
    "$prof" report --limit all --no-memory --format json -o "$out/$1.json" "$2" &&
        python3 tests/command/read_trace.py "$2" "$out/$1.json"
}

column() {   # COLUMN REPORT-OPTION...: that column's cells, joined by commas
    column=$1
    shift
    "$prof" report --format json "$@" 2>/dev/null | sed "/\"$column\": /!d
        s/.*\"$column\": //; s/, \"[a-z_0-9]*\": .*//; s/}.*//; s/^\"\(.*\)\"\$/\1/
        s/\(\.[0-9]*[1-9]\)0*\$/\1/; s/\.0*\$/.0/" | paste -sd, -
}

gives() {   # NAME EXPECTED COLUMN REPORT-OPTION...
    label=$1 expected=$2
    shift 2
    got=$(column "$@")
    if [ "$got" = "$expected" ]; then echo "ok $label"; return; fi
    failed=1
    echo "not ok $label: $got, not $expected"
}

refuses() {   # NAME TEXT-IN-MESSAGE FILE: exit status 2 and one line, and nothing else
    tells "$1" "$2" 2 "$prof" report "$3" && try "$1_in_a_line" test "$(wc -l <"$out/said")" = 1
}

# ---- What the rows hold ----

for file in tests/command/traces/kineto_*.json tests/command/traces/legacy_array.json \
    tests/command/traces/begin_end.json; do
    label=$(basename "$file" .json)
    sometimes "report_$label" reads_alike "$label" "$file"
done
if [ -n "$(real_traces)" ]; then
    for file in $(real_traces); do
        label=$(basename "$file" .gz)
        case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac    # no traces
        sometimes "report_real_${label%%.*}" reads_alike "real_${label%%.*}" "$file"
    done
else
    echo 'skip report_real: ../shared/traces is not there'
fi

# ---- Without device times: calls are sorted in constant memory ----

# shellcheck disable=SC2317   # try calls it
lean_alike() {   # TRACE: what does not need a device is the same
    for option in --device --no-device; do
        "$prof" report -n all -f json -s none --flops "$option" -o "$out/$option.json" "$1" 2>/dev/null
    done
    python3 - "$out" <<'END'
import json, sys
whole, lean = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("--device", "--no-device"))
for row in whole + lean:
    row.update(device_time_total=0, self_device_time_total=0, device_time=0)
whole, lean = (sorted(map(str, (row for row in rows if not row["device_type"])))
               for rows in (whole, lean))
assert whole == lean and whole, set(whole) ^ set(lean)
END
}

for file in tests/command/traces/*.json; do
    sometimes "report_lean_$(basename "$file" .json)" lean_alike "$file"
done
if some 3; then
awk 'BEGIN { print "["; for (i = 0; i < 60000; i++) for (k = 4; k >= 0; k--)
    printf "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"z%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d},\n",
        (i * 7 + k) % 40, i % 3, i * 20 + (i * 13 % 5) + k, 15 - 2 * k }' >"$out/many.json"
try report_lean_many lean_alike "$out/many.json"      # more than are sorted in memory
rm "$out/many.json"
fi
for threads in 3 64 65 500; do       # threads that take turns, each call behind the one in it
    awk -v n="$threads" 'BEGIN { print "["; for (i = 0; i < 1300; i++) for (k = 1; k >= 0; k--)
        printf "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"z%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d},\n",
            k, (i * 7) % n, i * 20 + k, 10 - 6 * k }' >"$out/threads.json"
    gives "report_threads_$threads" '7800.0,5200.0' self_cpu_time_total "$out/threads.json"
done

now=tests/command/traces/kineto_2026.json
gzip -c "$now" >"$out/now.json.gz"
try report_gzip reads_alike gzip "$out/now.json.gz"
counts=$(column count "$now")
gives report_stdin "$counts" count - <"$now"
gives report_two_files 4 count --category user_annotation "$now" "$now" \
    tests/command/traces/kineto_2024.json tests/command/traces/kineto_2024.json

# ---- Traces that are not JSON ----

printf 'main;work;inner 30\nmain;work 20\r\nmain;idle 50\nno count\n' >"$out/folded.txt"
gives report_folded 'idle,inner,work,main' key "$out/folded.txt"
gives report_folded_times '50.0,30.0,20.0,0.0' self_cpu_time_total "$out/folded.txt"
says report_folded_bad '1 lines are not folded stacks' 0 "$prof" report "$out/folded.txt"
cat >"$out/raw.c" <<'END'
#include "prof.h"
#include <stdio.h>
static bool put(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}
int main(int argc, char **argv) {
    FILE *file = fopen(argv[argc - 1], "wb");
    prof_desc desc = {0};
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = put;
    desc.stream.user = file;
    if (prof_start(&desc) != PROF_OK) return 1;
    for (int i = 0; i < 1000; i++)
        PROF_BLOCK("outer") { PROF_BLOCK("inner") {} }
    prof_stop();
    return fclose(file);
}
END
library zlib
# shellcheck disable=SC2086   # lists of words
try report_raw_builds $cc -I. "$out/raw.c" "$library" -o "$out/raw" $libs
try report_raw_runs "$out/raw" "$out/raw.bin"
gives report_raw 1000,1000 count --name 'inner|outer' "$out/raw.bin"
# Of a pipe the same, in as little memory: what it sends is a file first.
# shellcheck disable=SC2002,SC2317   # try calls it; it reads a pipe
piped() { cat "$out/raw.bin" | "$prof" report - >"$out/piped" && "$prof" report "$out/raw.bin" >"$out/file" && cmp "$out/piped" "$out/file"; }
try report_raw_piped piped
try report_raw_rewritten "$prof" augment "$out/raw.bin" "$out/raw.augmented.json"
gives report_raw_rewritten_alike 1000,1000 count --name 'inner|outer' "$out/raw.augmented.json"
echo 'outer;inner 5' >"$out/folded.txt"
try report_folded_rewritten "$prof" augment "$out/folded.txt" "$out/folded.json"
gives report_folded_rewritten_alike '5.0,0.0' self_cpu_time_total "$out/folded.json"
head -c 9000 "$out/raw.bin" >"$out/raw_cut.bin"
# What is wrong has its item's number: bytes would be those of a text that is no file.
says report_raw_items 'raw_cut.bin: item ' 1 "$prof" validate "$out/raw_cut.bin"
says report_raw_cut ': the stream ends early, within a block' 1 "$prof" report "$out/raw_cut.bin"

# ---- Options ----

gives report_limit 'ProfilerStep*,aten::addmm' key -n 2 "$now"
gives report_sort 'aten::convolution' key -n 1 -s self_cuda_time_total --name aten "$now"
gives report_name 'aten::linear,aten::addmm,aten::convolution' key -s none --name '^aten::' "$now"
gives report_category 'train.py(12): step,nn.Module: Linear_0' key -s count \
    --category python_function "$now"
gives report_pid 'no tid' key --pid 0 --category cpu_op tests/command/traces/defects.json
gives report_flops 4194304,0 flops --flops --name 'addmm|linear' -s self_cpu_time_total "$now"
gives report_flops_stack 4194304 flops --flops --group-by-stack 1 --name addmm "$now"
gives report_from 'aten::convolution' key --from 290us --name '^aten::' "$now"
gives report_from_to 'aten::linear' key --from 9us --to 0.015ms --name '^aten::' "$now"
gives report_step 1,1,1 count --step 1 --name '^aten::' "$now"
echo '{"prof": {"counters": ["points"]}, "traceEvents": [
{"ph": "X", "name": "solve", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"points": 45}},
{"ph": "X", "name": "grid", "pid": 1, "tid": 1, "ts": 1, "dur": 6, "args": {"points": 40}}]}' >"$out/points.json"
says report_ns_per_counter '"points": 45, "self_points": 5, "ns_per_points": 200.000' 0 \
    "$prof" report --ns-per-counter --format json "$out/points.json"
says report_no_step 'there is no ProfilerStep#7' 2 "$prof" report --step 7 "$now"
says report_bad_from "'soon' is not a time" 2 "$prof" report --from soon "$now"
gives report_top_level 'ProfilerStep*' key --top-level --name Step -s cpu_time_total -n 1 "$now"
gives report_memory '65536,65536,65536' device_memory_usage -s cpu_time_total \
    --name 'Step|linear|addmm' --category cpu_op,user_annotation "$now"
gives report_memory_self '0,0,65536' self_device_memory_usage -s cpu_time_total \
    --name 'Step|linear|addmm' --category cpu_op,user_annotation "$now"
gives report_free_memory '-64' cpu_memory_usage --name '^.memory' "$now"
gives report_shapes '[[6], [6], []]' input_shapes --group-by-input-shape --name 'aten::add$' \
    tests/command/traces/kineto_2024.json
# What CUDA graphs ran stands by the zone that captured it, which a trace of the capture may tell.
graph_node() {   # NAME CAT TS NODE [CAPTURED]
    printf '{"ph":"X","cat":"%s","name":"%s","pid":0,"tid":7,"ts":%s,"dur":5,"args":{"graph node id":%s%s}}' \
        "$2" "$1" "$3" "$4" "${5:+,\"captured in\":\"$5\"}"
}
capture="[$(graph_node '(captured graph node)' cuda_runtime 1 21474836480 'fw (a.c:3)'),
    $(graph_node '(captured graph node)' cuda_runtime 2 21474836481 'bw (a.c:9)')]"
echo "$capture" >"$out/capture.json"
echo "[$(graph_node k kernel 1 21474836480),$(graph_node k kernel 8 21474836481),$(graph_node k kernel 20 7)]" >"$out/replay.json"
echo "[$(graph_node k kernel 1 21474836480 'fw (a.c:3)'),$(graph_node k kernel 8 21474836480)]" >"$out/told.json"
by_capture="--sort none --group-by-stack 1 --name ^k\$"
# shellcheck disable=SC2086   # words
gives report_captured '["fw (a.c:3)"],["bw (a.c:9)"],[]' stack $by_capture "$out/capture.json" "$out/replay.json"
# shellcheck disable=SC2086
gives report_captured_told '["fw (a.c:3)"]' stack $by_capture "$out/told.json"
# shellcheck disable=SC2086
gives report_captured_unknown '[]' stack $by_capture "$out/replay.json"
gives report_stack '["nn.Module: Linear_0", "train.py(12): step"]' stack --group-by-stack 5 \
    --name aten::addmm "$now"
gives report_kernel_stack '["nn.Module: Linear_0", "train.py(12): step"]' stack --group-by-stack 5 \
    --name sm90_xmma_gemm "$now"                     # its op's
gives report_old_stack '["model.py(10): forward"]' stack --group-by-stack 1 --name aten::linear \
    tests/command/traces/kineto_2021.json
gives report_no_merge 2 count --name relu tests/command/traces/kineto_2022.json
gives report_merge 1 count --merge-duplicates --name relu tests/command/traces/kineto_2022.json
gives report_merge_self 50.0 self_cpu_time_total --merge-duplicates --name relu \
    tests/command/traces/kineto_2022.json
gives report_no_device 0.0 device_time_total --no-device --name addmm "$now"
says report_footer 'Self CUDA time total: 240.129us' 0 "$prof" report "$now"
says report_unowned "1 of the trace's 3 kernels and copies belong to no call in it" 0 "$prof" report "$now"
# A filter leaves out rows: those it leaves are as in the whole table, shares and all.
# shellcheck disable=SC2317   # try calls it
whole_table() { "$prof" report --no-memory -n all "$@" 2>/dev/null | tr -s ' '; }
whole_table "$now" >"$out/whole"
# shellcheck disable=SC2317   # try calls it
alike_filtered() {   # FILTER...: rows of the whole table, and a footer that says what it is of
    whole_table "$@" "$now" >"$out/part"
    grep -v -e '^--' -e '^ Name' -e ': ' -e 'belong to' "$out/part" >"$out/rows"
    [ -s "$out/rows" ] && ! grep -vxFf "$out/whole" "$out/rows" && ! grep -q NaN "$out/part" &&
        grep -qF 'Self CPU time total: ' "$out/part" &&
        [ "$(grep 'time total' "$out/part")" = "$(grep 'time total' "$out/whole")" ] &&
        grep -q 'Self CPU time of these rows: ' "$out/part" && grep -q 'kernels and copies' "$out/part"
}
for filter in '--name ^aten::addmm$' '--name sgemm|kernel' '-c cpu_op' '-c kernel' '--pid 4242'; do
    # shellcheck disable=SC2086   # words
    sometimes "report_filtered_$(echo "$filter" | tr -c 'a-z0-9\n' _)" alike_filtered $filter
done
says report_filtered_sum 'Self CUDA time of these rows: 40.128us' 0 \
    "$prof" report --name '^aten::addmm$' "$now"
# ---- On a terminal, on nothing ----

unset COLUMNS
if python3 tests/command/terminal.py 80 true 2>"$out/err"; then
    for columns in 64 80 100 140; do
        sometimes report_fits_$columns python3 tests/command/terminal.py $columns "$prof" report "$now"
        sometimes gaps_fit_$columns python3 tests/command/terminal.py $columns "$prof" gaps --by op "$now"
        sometimes diff_fits_$columns python3 tests/command/terminal.py $columns "$prof" diff "$now" "$now"
    done
    says report_left_out 'Left out to fit the width: ' 0 \
        python3 tests/command/terminal.py 80 "$prof" report "$now"
    says report_columns '----------  ---------' 0 \
        env COLUMNS=70 python3 tests/command/terminal.py 300 "$prof" report "$now"
    "$prof" report "$now" >"$out/file"
    try report_file_whole sh -c "COLUMNS=80 '$prof' report '$now' | cmp - '$out/file'"
    try report_to_file python3 tests/command/terminal.py 80 "$prof" report -o "$out/to" "$now"
    try report_to_file_whole cmp "$out/to" "$out/file"
else
    echo "skip report_fits: no terminal can be made here: $(cat "$out/err")"
fi
echo '{"prof":{"version":"1"},"traceEvents":[]}' >"$out/empty.json"
says report_empty 'No zones were recorded: ' 0 "$prof" report "$out/empty.json"
says report_filtered_empty 'The filter leaves no rows' 0 "$prof" report --name nothing "$now"
printf '[%s,%s,%s]' '{"ph":"X","cat":"cpu_op","name":"f","pid":1,"tid":1,"ts":0,"dur":9}' \
    '{"ph":"X","cat":"cpu_op","name":"g","pid":1,"tid":1,"ts":1,"dur":7}' \
    '{"ph":"X","cat":"cpu_op","name":"f","pid":1,"tid":1,"ts":2,"dur":5}' >"$out/recursive.json"
for device in '' no-; do
    says report_${device}recursion 'Recursive, so that CPU total counts each level: f' 0 \
        "$prof" report --${device}device "$out/recursive.json"
done
# of calls with the same id the first one counts, in every command
printf '[%s,%s,%s]' \
    '{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":5,"dur":1,"args":{"External id":7}}' \
    '{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"External id":7}}' \
    '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":9,"ts":7,"dur":3,"args":{"External id":7}}' \
    >"$out/same_id.json"
says report_same_id '"b",1,1.000,1.000,1.000,1.000,1.000,3.000,' 0 \
    "$prof" report -f csv --name b "$out/same_id.json"
says stacks_same_id 'b;k 3' 0 "$prof" stacks -m self_cuda_time_total "$out/same_id.json"
try report_no_recursion sh -c "! '$prof' report '$now' | grep Recursive"
says report_csv '"aten::addmm",1,120.000,110.500' 0 "$prof" report --format csv "$now"
says report_help 'usage: prof report' 0 "$prof" report --help
says report_no_file 'usage: prof report' 2 "$prof" report
says report_bad_option 'there is no such option' 2 "$prof" report --sortby x "$now"
says report_bad_sort "there is no metric 'x'" 2 "$prof" report --sort x "$now"
says report_bad_name 'not an extended regular expression' 2 "$prof" report --name '(' "$now"

# ---- The page ----

# shellcheck disable=SC2317   # try calls it
page_is_whole() {   # PAGE NAME...: one file, with these names in its data
    python3 - "$@" <<'END'
import base64, json, re, sys, zlib
page = open(sys.argv[1], encoding="utf-8").read()
data = json.loads(re.search(r'id="data">\n(.*?)</script>', page, re.S).group(1))
assert not re.search(r'(src|href)=|https?://|@import|url\(', page), "it loads something"
assert page.count("</script>") == 2, "a text ends the script"
names = [row[0] for row in data["rows"]]
assert all(name in names for name in sys.argv[2:]), names
line = data["timeline"]
column = {name: zlib.decompress(base64.b64decode(line[name]))
          for name in ("starts", "durations", "slice_names", "arrows", "args_of", "args")}
assert line["packed"] == "deflate" and sum(sum(track[3]) for track in line["tracks"]) == line["count"]
for name in "starts", "durations", "slice_names":
    assert sum(byte < 128 for byte in column[name]) == line["count"], name
assert len(line["names"]) <= line["count"] and all(track[0] < len(line["processes"])
                                                   for track in line["tracks"])
END
}

"$prof" report --format html -o "$out/now.html" "$now"
try report_page page_is_whole "$out/now.html" aten::addmm 'ProfilerStep*'
printf '[{"ph":"X","name":"</script><script>alert(1)","ts":1,"dur":1,"pid":1,"tid":1}]' \
    >"$out/script.json"
"$prof" report --format html -o "$out/script.html" "$out/script.json"
sometimes report_page_hostile page_is_whole "$out/script.html" '</script><script>alert(1)'
# Times of the calendar, in microseconds: the second slice begins 2000 ns behind the end of the first
printf '[{"ph":"X","name":"a","ts":%s,"dur":1,"pid":1,"tid":1},{"ph":"X","name":"b","ts":%s,"dur":1,
    "pid":1,"tid":1}]' 1795370000000000 1795370000000003 >"$out/now_us.json"
"$prof" report --format html -o "$out/now_us.html" "$out/now_us.json"
sometimes report_page_calendar python3 -c 'import base64, re, sys, zlib
page = open(sys.argv[1]).read()
column = zlib.decompress(base64.b64decode(re.search("\"starts\":\"([^\"]*)", page).group(1)))
assert column == bytes([0, 0xa0, 0x1f]), column' "$out/now_us.html"
echo '[]' >"$out/none.json"
"$prof" report --format html -o "$out/none.html" "$out/none.json"
# Names of C++ are as the source has them, before they are cut; one that would be endless stays.
python3 - >"$out/mangled.json" <<'END'
import json
endless = "_Z1f1AIiiE" + "".join(f"S_IS{c}_S{c}_E" for c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
names = ["_ZN4game5World4stepEv", "_ZN3FooC1Ev.constprop.0", "_Zzz", endless]
print(json.dumps({"traceEvents": [dict(ph="X", cat="cpu_op", name=name, pid=1, tid=1, ts=10 * i, dur=5)
                                  for i, name in enumerate(names)]}))
END
for name in 'game::World::step() ' 'Foo::Foo() [clone .constprop.0] ' ' _Zzz ' '_Z1f1AIiiES_IS0_S0_ES_IS1_S1_E'; do
    says "report_demangles_$(echo "$name" | tr -c 'a-zA-Z0-9\n' _)" "$name" 0 "$prof" report "$out/mangled.json"
done
says report_no_demangle ' _ZN4game5World4stepEv ' 0 "$prof" report --no-demangle "$out/mangled.json"
says stacks_demangles 'game::World::step() 5' 0 "$prof" stacks "$out/mangled.json"
# Percentiles that are not known are --, null, nothing; none is there unasked.
cat >"$out/sums.json" <<'JSON'
{"prof": {"version": "0.2.0", "summed": 3, "timeline_end_ns": 0, "session_ns": 90000, "sums": [
 {"name": "a", "count": 2, "total": 6000, "self": 6000, "min": 1000, "max": 5000},
 {"name": "b", "count": 1, "total": 700, "self": 700, "min": 700, "max": 700, "p50": 700, "p90": 700, "p99": 700}]},
 "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 9}]}
JSON
# shellcheck disable=SC2317   # try calls it
no_percentiles() { ! "$prof" report "$@" "$out/sums.json" | grep -i p50; }
for format in text csv json; do sometimes "report_unasked_$format" no_percentiles -f $format; done
says report_unknown_percentiles '1.000us            --            --            --       9.000us' 0 \
    "$prof" report --percentiles "$out/sums.json"
says report_unknown_percentiles_json '"p50": null, "p90": null, "p99": null' 0 \
    "$prof" report --percentiles -f json "$out/sums.json"
says report_known_percentiles_json '"p50": 0.700, "p90": 0.700, "p99": 0.700' 0 \
    "$prof" report --percentiles -f json "$out/sums.json"
says report_estimated_percentiles '    ~p50          ~p90          ~p99 ' 0 \
    "$prof" report --percentiles "$out/sums.json"
for sort in self total calls; do
    says "report_sort_$sort" aten::addmm 0 "$prof" report --sort $sort "$now"
done
says command_far "there is no command 'foo'; see prof --help" 2 "$prof" foo
says command_near "did you mean 'report'" 2 "$prof" reprot
# What a kernel ran first is in no row: its name is new where the page asks for it.
echo '{"traceEvents": [{"ph": "M", "name": "prof", "pid": 1, "tid": 0, "args": {"version": "0.2.0"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 999, "args": {"name": "CPU"}},
    {"ph": "X", "cat": "cpu_op", "name": "idle", "pid": 1, "tid": 999, "ts": 3.44, "dur": 214.28}]}' >"$out/cpu_row.json"
says report_page_cpu_row '"idle"' 0 "$prof" report -f html "$out/cpu_row.json"
try report_page_empty page_is_whole "$out/none.html"
awk 'BEGIN { print "["; for (i = 1; i <= 15; i++) printf "%s{\"ph\":\"X\",\"cat\":\"cpu_op\"," \
    "\"name\":\"a\",\"pid\":1,\"tid\":%d,\"ts\":0,\"dur\":%d}\n", (i > 1 ? "," : ""), i, i
    print "]" }' >"$out/threads.json"
"$prof" report -f html -o "$out/threads.html" "$out/threads.json"
try report_page_threads [ "$(grep -cE '^\[0,"[0-9]+","",\[1\],0,0,0\]' "$out/threads.html")" = 15 ]
says report_page_no_device '"device":null' 0 "$prof" report -f html "$out/threads.json"
says report_page_odd_counters '"no_numbers":2,' 0 sh -c "echo '[{\"ph\": \"C\", \"name\": \"load\", \"pid\": 1,
    \"ts\": 1, \"args\": {\"a\": null, \"b\": 1, \"c\": {}}}]' | '$prof' report -f html -"
says report_page_sums '"sums":[980.000,240.129]' 0 "$prof" report -f html --name addmm "$now"
echo '{"prof": {"version": "0.2.0", "counters": ["points"]}, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"points": 7}},
    {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"points": 2}}]}' \
    >"$out/counted.json"
says report_page_counters '"counters":["points"]' 0 "$prof" report -f html "$out/counted.json"
says report_page_counts '["a",0,1,7.000,9.000,0.000,0.000,0,0,0,0.000,5,7]' 0 "$prof" report -f html "$out/counted.json"
if command -v node >/dev/null; then
    sed -n '/^"use strict";/,/^<.script>/p' "$out/now.html" | grep -v '^</script>' >"$out/page.js"
    try report_page_script node --check "$out/page.js"
fi

# ---- Bad input ----

refuses report_directory 'is a directory' tests
refuses report_missing 'No such file' "$out/nowhere.json"
: >"$out/empty.json"
refuses report_empty 'the file is empty' "$out/empty.json"
printf '\211PNG\r\n\032\n' >"$out/image.png"
refuses report_png 'byte 0: this is no trace that prof reads: neither a JSON object nor an array' "$out/image.png"
head -c 100000000 /dev/zero | tr '\0' '[' >"$out/brackets.json"
refuses report_brackets 'nested too deep' "$out/brackets.json"
rm "$out/brackets.json"
echo '[{"ph":"X","ts":9223372036854775808,"dur":1}]' >"$out/large.json"
refuses report_large 'byte 16: this time does not fit' "$out/large.json"
echo '[{"ph":"X","name":"a"b","ts":1}]' >"$out/quote.json"
refuses report_quote 'byte 21: a comma is missing here' "$out/quote.json"
echo '[] x' >"$out/behind.json"
says report_behind 'byte 3: something follows the end' 2 "$prof" report "$out/behind.json"
head -c 900 "$out/now.json.gz" >"$out/cut.json.gz"
says report_cut_gzip 'the gzip file ends early; read up to there' 1 "$prof" report "$out/cut.json.gz"
says report_no_events 'the trace is of an empty session' 0 "$prof" report "$out/none.json"
echo '{"schema": "1.1.1", "nodes": [{"id": 1}]}' >"$out/et.json"
says report_execution_trace 'this is an execution trace' 2 "$prof" report "$out/et.json"
head -c 5000 "$now" >"$out/cut.json"
says report_cut 'the file ends early; read up to there' 1 "$prof" report "$out/cut.json"
says report_nan '4 NaN or infinite numbers, taken as absent' 0 \
    "$prof" report tests/command/traces/defects.json
printf '[{"ph":"X","name":"\377","ts":1,"dur":1}]' >"$out/utf8.json"
says report_utf8 '1 bytes that are not UTF-8' 0 "$prof" report "$out/utf8.json"
gives report_duplicate 3.5 cpu_time_total --name twice tests/command/traces/defects.json
says report_same_twice '1 keys that an event has twice' 0 "$prof" report tests/command/traces/defects.json
sed 's/"dur": 3.5, "dur": 3.5/"dur": 3.5, "dur": 2.5/' tests/command/traces/defects.json >"$out/twice.json"
says report_two_values 'byte 254): its key stands in this event twice, with another value' 1 \
    "$prof" report "$out/twice.json"
echo '[{"ph":"X","name":"a","ts":1,"dur":1,"args":{"correlation":1,"b":2,"correlation":2}}]' \
    >"$out/twice.json"
refuses report_two_correlations 'byte 81: its key stands in this event twice' "$out/twice.json"
echo '{"baseTimeNanoseconds":5,"traceEvents":[],"baseTimeNanoseconds":6}' >"$out/twice.json"
refuses report_two_bases 'byte 64: a second baseTimeNanoseconds' "$out/twice.json"
echo '{"traceEvents":[],"traceEvents":[]}' >"$out/twice.json"
refuses report_two_lists 'byte 32: a second traceEvents' "$out/twice.json"

# ---- Begins and ends ----

pairs=tests/command/traces/begin_end.json
gives report_pairs 'never ends,outer,inner é \"quoted\",whole' key --category cpu_op "$pairs"
gives report_pair_shapes '[[2, 3], [3, 4]]' input_shapes --group-by-input-shape --name outer "$pairs"
gives report_ranges 29.0,38.5,18.0 cpu_time_total -s none --category async "$pairs"
# The last event of the file.
printf '[{"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 6}]\n' >"$out/last.json"
says report_last_begin_once '"open",1,0.000' 0 "$prof" report -f csv "$out/last.json"
says report_last_begin_is_one 'last.json: 1 begins without an end' 0 "$prof" report "$out/last.json"
printf '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}], "baseTimeNanoseconds": 18446744073709551615}' >"$out/base.json"
says report_base_of_no_64_bits 'byte 86: baseTimeNanoseconds is not a 64-bit integer' 0 "$prof" report "$out/base.json"
says report_no_end '1 begins without an end' 0 "$prof" report "$pairs"
says report_no_begin '1 ends of nothing, left out' 0 "$prof" report "$pairs"
says report_ranges_aside '1 begins' 0 "$prof" stacks -o "$out/pairs.folded" "$pairs"
try report_pairs_stacks grep -qx 'outer;inner_é_"quoted";whole 1' "$out/pairs.folded"

# ---- Calls that end behind the one they begin in: self times are off, which is told in every format ----

echo '[{"ph":"X","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":0,"dur":10},
{"ph":"X","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":4,"dur":9}]' >"$out/overlap.json"
overlap='1 calls begin in one call and end after it'
says report_overlap "$overlap" 0 "$prof" report "$out/overlap.json"
# shellcheck disable=SC2317   # try calls it
on_stderr() {   # COMMAND...: one line, and nothing of it in the output
    "$prof" "$@" >"$out/plain" 2>"$out/err" && [ "$(grep -c "^prof: .*$overlap" "$out/err")" = 1 ] &&
        ! grep -q "$overlap" "$out/plain"
}
for words in 'report -f json' 'report -f csv' stacks flamegraph "diff $pairs" "diff -f json $pairs"; do
    # shellcheck disable=SC2086   # words
    sometimes "report_overlap_$(echo "$words" | tr -c 'a-z\n' _)" on_stderr $words "$out/overlap.json"
done

# ---- Percentiles: exact, of device rows too ----

# shellcheck disable=SC2317   # try calls it
percentiles_hold() {   # TRACE
    "$prof" report --percentiles -n all -f json -o "$out/percentiles.json" "$1" 2>"$out/err" &&
        python3 tests/command/read_percentiles.py "$1" "$out/percentiles.json"
}
for file in tests/command/traces/kineto_*.json tests/command/ranks/example_rank0.json $(real_traces); do
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
    sometimes "report_percentiles_${label%%.*}" percentiles_hold "$file"
done
says report_percentiles_text '   min           p50           p90           p99           max ' 0 \
    "$prof" report --percentiles "$now"
says report_percentiles_csv ',p50,p90,p99,' 0 "$prof" report --percentiles -f csv "$now"
says report_percentiles_merged 'it does not go with --merge-duplicates' 2 \
    "$prof" report --percentiles --merge-duplicates "$now"

# ---- What devices did: compute is not communication ----

says report_busy 'Device 0 busy 82.1 % of 0.280 ms: 25.0 % compute, 50.0 % exposed comm., 7.1 % exposed' 0 \
    "$prof" report tests/command/ranks/example_rank0.json
says report_busy_files 'Device 0 of example_rank1.json busy 78.6 % of 0.280 ms: 46.3 % compute, 32.3 %' 0 \
    "$prof" report tests/command/ranks/example_rank0.json tests/command/ranks/example_rank1.json
says report_busy_part 'Device 0 busy 100.0 % of 0.150 ms: 33.3 % compute' 0 \
    "$prof" report --to 180us tests/command/ranks/example_rank0.json

# ---- Types of devices in several files: PyTorch's lists none, and its work is no other device's ----

echo '{"prof":{"version":"0.2.0","device_types":{"20":"NPU"}},"traceEvents":[
{"ph":"X","cat":"kernel","name":"n","pid":5,"tid":7,"ts":10,"dur":20,"args":{"Device Type":20,"correlation":1}}]}' \
    >"$out/npu.json"
echo '{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":30,"args":{"correlation":2,"device":0}}]}' \
    >"$out/cuda.json"
"$prof" merge -o "$out/types.json" "$out/npu.json" "$out/cuda.json" 2>"$out/said"
for files in 'npu.json cuda.json' 'cuda.json npu.json' types.json; do
    # shellcheck disable=SC2086   # one or two
    (cd "$out" && "$prof" report -f json -s none $files) >"$out/got" 2>"$out/said"
    sometimes "report_types_$(echo "$files" | tr -c 'a-z\n' _)" python3 -c '
import json, sys
rows = {r["key"]: (r["device_type"], r["self_device_time_total"]) for r in json.load(sys.stdin)}
assert rows == {"n": (20, 20), "k": (1, 30)}, rows' <"$out/got"
done
# ---- Ids of several processes, as merged by other tools: each is its own process's ----

python3 - "$out" <<'END'
import json, sys
def one_process(pid, device, op, ns, arrows):
    call = {"ph": "X", "cat": "cpu_op", "name": op, "pid": pid, "tid": pid, "ts": 1000, "dur": 10, "args": {"External id": 1}}
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": pid, "tid": pid, "ts": 1002, "dur": 5,
              "args": {"correlation": 1, "External id": 1}}
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": device, "tid": 7, "ts": 1100, "dur": ns,
              "args": {"correlation": 1, "External id": 1, "device": device}}
    flow = {"id": 1, "cat": "ac2g", "name": "ac2g"}
    ends = [dict(flow, ph="s", pid=pid, tid=pid, ts=1002), dict(flow, ph="f", pid=device, tid=7, ts=1100, bp="e")]
    return [call, launch, kernel] + (ends if arrows else [])
for name, arrows in ("merged", True), ("merged_without_arrows", False):
    events = one_process(100, 0, "mm", 10, arrows) + one_process(101, 1, "sum", 110, arrows)
    json.dump({"traceEvents": events}, open(sys.argv[1] + "/" + name + ".json", "w"))
END
gives report_ids_of_processes 10.0,110.0 device_time_total --sort none --name 'mm|sum' "$out/merged.json"
says report_ids_of_nobody '2 kernels and copies have ids that calls of several processes have' 0 \
    "$prof" report "$out/merged_without_arrows.json"

# ---- Python functions that never returned ----

echo '[{"ph":"X","cat":"python_function","name":"main","pid":1,"tid":1,"ts":0,"dur":1000},
{"ph":"X","cat":"python_function","name":"step","pid":1,"tid":1,"ts":0,"dur":90},
{"ph":"X","cat":"python_function","name":"gone","pid":1,"tid":1,"ts":10,"dur":990},
{"ph":"X","cat":"python_function","name":"step","pid":1,"tid":1,"ts":100,"dur":90},
{"ph":"X","cat":"python_function","name":"gone","pid":1,"tid":1,"ts":110,"dur":890}]' >"$out/frames.json"
gives report_frames_left_open 820.0,20.0,160.0 self_cpu_time_total --sort none --category python_function "$out/frames.json"

# ---- Pairs with the same times: the one that begins first is outside ----

echo '[{"ph":"B","name":"outer","pid":1,"tid":1,"ts":0},{"ph":"B","name":"inner","pid":1,"tid":1,"ts":0},
{"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"E","pid":1,"tid":1,"ts":5}]' >"$out/pairs.json"
gives report_pairs_that_tie 0.0 self_cpu_time_total --name outer "$out/pairs.json"

# ---- Nothing lies in a range, whatever a zone says ----

cat >"$out/in_range.json" <<'END'
{"prof":{"version":"0.3.0","zone_ids":1},"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"top","pid":1,"tid":1,"ts":0,"dur":100},
{"ph":"b","cat":"cpu_op","name":"range","id":"7","pid":1,"tid":1,"ts":5,"args":{"Zone id":5}},
{"ph":"e","cat":"cpu_op","name":"range","id":"7","pid":1,"tid":1,"ts":90},
{"ph":"X","cat":"cpu_op","name":"child","pid":1,"tid":1,"ts":10,"dur":5,"args":{"Zone parent id":5}}]}
END
gives report_in_a_range 95.0,5.0 self_cpu_time_total --sort none --name 'top|child' "$out/in_range.json"
try stacks_in_a_range test "$("$prof" stacks "$out/in_range.json" | tr '\n' ' ')" = 'top 95 top;child 5 '

# ---- Windows: every command that reads calls has the same ----

cat >"$out/window.json" <<'END'
[{"ph":"X","cat":"cpu_op","name":"all","pid":1,"tid":1,"ts":0,"dur":100,"args":{"External id":1}},
{"ph":"X","cat":"cpu_op","name":"early","pid":1,"tid":1,"ts":5,"dur":5,"args":{"External id":2}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":20,"dur":40},
{"ph":"X","cat":"cpu_op","name":"in","pid":1,"tid":1,"ts":30,"dur":25,"args":{"External id":3}},
{"ph":"X","cat":"cpu_op","name":"late","pid":1,"tid":1,"ts":65,"dur":5,"args":{"External id":4}},
{"ph":"X","cat":"kernel","name":"k_early","pid":0,"tid":7,"ts":12,"dur":2,"args":{"External id":2,"device":0}},
{"ph":"X","cat":"kernel","name":"k_in","pid":0,"tid":7,"ts":40,"dur":3,"args":{"External id":3,"device":0}},
{"ph":"X","cat":"kernel","name":"k_late","pid":0,"tid":7,"ts":80,"dur":4,"args":{"External id":4,"device":0}}]
END
for window in '--from 20us --to 60us' '--step 1' '--within ProfilerStep#1'; do
    of=$(echo "$window" | tr -c 'a-z0-9\n' _)
    # shellcheck disable=SC2086   # one or two options
    {
        gives "report_in_$of" 15.0,25.0 self_cpu_time_total --sort none --name 'Step|in$' -c cpu_op,user_annotation \
            $window "$out/window.json"
        sometimes "stacks_in_$of" test "$("$prof" stacks $window "$out/window.json" 2>/dev/null | tr '\n' ' ')" = \
            'all;ProfilerStep* 15 all;ProfilerStep*;in 25 '
        tells "diff_in_$of" '"Name": "k_in"' 0 "$prof" diff -f json $window "$out/window.json" "$out/window.json"
        try "diff_in_${of}_only" sh -c "! grep -q k_early '$out/said'"
        says "gaps_in_$of" '  3.000     100.00 ' 0 "$prof" gaps $window "$out/window.json"
        tells "analyze_in_$of" 'k_in  ' 0 "$prof" analyze $window "$out/window.json"
        try "analyze_in_${of}_only" sh -c "! grep -q k_early '$out/said'"
        says "flamegraph_in_$of" '>in<' 0 "$prof" flamegraph $window "$out/window.json"
    }
done
says within_nothing "no call in it is named 'nobody'" 2 "$prof" stacks --within nobody "$out/window.json"

# ---- Too little memory ----

if some 4; then
{
    echo '['
    seq -f '{"ph":"X","name":"a","pid":1,"tid":1,"ts":%.0f,"dur":1},' 700000
    echo '{"ph":"X","name":"a","pid":1,"tid":1,"ts":700001,"dur":1}]'
} >"$out/many.json"
# shellcheck disable=SC3045   # ulimit -v: wherever sh is dash or bash
(ulimit -v 26000 && "$prof" report "$out/many.json") >"$out/got" 2>&1
try report_little_memory grep -q 'many.json: it needs more memory than there is .* --from and --to' "$out/got"
try report_little_memory_in_a_line test "$(wc -l <"$out/got")" = 1
rm "$out/many.json"
fi
says report_in_little_memory 'in  ' 0 sh -c "ulimit -v 26000; '$prof' report '$out/window.json'"
exit $failed
