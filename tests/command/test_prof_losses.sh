#!/bin/sh
# What a trace's head tells of losses: every command tells it first, and none trusts it.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

full='Dropped, no room (give prof_desc.memory or PROF_MAX_SITES more, or a stream more of its disk): 1955854'
event='{"ph":"X","cat":"cpu_op","name":"step","pid":7,"tid":7,"ts":1,"dur":5}'
trace() {   # FILE HEAD: a trace with this as its member "prof"
    printf '{"prof":%s,\n"traceEvents":[\n%s\n]}\n' "$2" "$event" >"$out/$1"
}
trace lost.json '{"version":"0.1.0","dropped_full":1955854,"unfinished":2,"devices":{"CUDA":"no driver"}}'
trace whole.json '{"version":"0.1.0"}'
told="$out/lost.json: $full; Zones still open when their thread or the recording ended (ranges and launches are left out): 2; CUDA: no driver"

# ---- Text: its first line; else one line on stderr, and the same output as ever ----

# shellcheck disable=SC2317   # try calls them
first_line() { [ "$("$prof" "$@" 2>/dev/null | head -n 1)" = "$told" ]; }
on_stderr() {   # COMMAND...: told there, and not in what it writes
    "$prof" "$@" >"$out/plain" 2>"$out/err" && grep -qxF "prof: $told" "$out/err" &&
        ! grep -qF "$full" "$out/plain"
}

for line in report analyze gaps memory "diff $out/whole.json" 'et --link'; do
    file=$out/lost.json
    # shellcheck disable=SC2086   # words
    case $line in
    et*) echo '{"schema":"1.1.1","pid":7,"nodes":[{"id":1,"name":"p","ctrl_deps":1}]}' >"$out/et.json"
         try "losses_et" first_line $line "$file" "$out/et.json" ;;
    *) try "losses_${line%% *}" first_line $line "$file" ;;
    esac
done
for line in 'report -f json' 'report -f csv' 'analyze -f json' 'gaps -f csv' stacks 'memory -f csv'; do
    # shellcheck disable=SC2086   # words
    try "losses_$(echo "$line" | tr -c 'a-z\n' _)" on_stderr $line "$out/lost.json"
done
says losses_validate 'warning: losses: '"$full" 0 "$prof" validate "$out/lost.json"
says losses_validate_strict '0 errors, 3 warnings' 1 "$prof" validate --strict "$out/lost.json"
says losses_none '0 errors, 0 warnings' 0 "$prof" validate --strict "$out/whole.json"

# ---- Pages and pictures: a banner, and stderr ----

# shellcheck disable=SC2317   # try calls it
banner() {   # TEXT COMMAND...
    text=$1
    shift
    "$prof" "$@" >"$out/plain" 2>"$out/err" && grep -qF "$text" "$out/plain" &&
        grep -qF "$full" "$out/err"
}
try losses_page banner "\"losses\":[\"$told\"]" report -f html "$out/lost.json"
try losses_memory_page banner "\"losses\":[\"$told\"]" memory -f html "$out/lost.json"
try losses_flamegraph banner "class=\"lost\" x=\"10\" y=\"64\">$out" flamegraph "$out/lost.json"
if [ -n "$browser" ]; then
    "$prof" report -f html -o "$out/lost.html" "$out/lost.json" 2>/dev/null
    dom "$out/lost.html" >"$out/dom"
    try losses_page_shows grep -qE '<div id="losses" role="alert"><div>[^<]*1955854' "$out/dom"
fi

# ---- What is written keeps them ----

# shellcheck disable=SC2317   # try calls it
keeps() {   # TEXT COMMAND...: the trace it writes tells that
    text=$1
    shift
    "$prof" "$@" -o "$out/kept.json" 2>"$out/err" && grep -qF 'Dropped, ' "$out/err" &&
        "$prof" report "$out/kept.json" | head -n 1 | grep -qF "$text"
}
printf '[\n%s,\n{"ph":"M","name":"prof counts","pid":7,"tid":0,"args":{"recorded":1,"dropped_full":6,"dropped":6}}\n]\n' \
    "$event" >"$out/array.json"
try losses_cut keeps "$full; " cut --from 0 "$out/lost.json"
try losses_cut_array keeps 'more of its disk): 6; Dropped: 6' cut --from 0 "$out/array.json"
try losses_merge keeps 'more of its disk): 1955860; Zones still' \
    merge "$out/lost.json" "$out/array.json"
try losses_merge_devices grep -qF 'rank 0 CUDA": "no driver' "$out/kept.json"
"$prof" merge -o "$out/kept.json" "$out/whole.json" "$out/whole.json"
try losses_merge_none sh -c "! grep -q '\"prof\"' '$out/kept.json'"

# ---- Raw streams: the counts of each of its sessions ----

python3 - "$out/raw.bin" <<'END'
import struct, sys
number = 0
def block(kind, *words):
    global number
    words = [0x50524f46, 1 << 16 | kind, 4 * len(words), number, 0, 0, *words]
    a = b = 0
    for word in words[1:]:
        a = (a + word) % 0xffffffff
        b = (b + a) % 0xffffffff
    words[4:6] = a, b
    number += 1
    return struct.pack("<%dI" % len(words), *words)
def u64(n):
    return n & 0xffffffff, n >> 32
def session(start):
    return block(1, 3, 7, *u64(10**9), *u64(0), *u64(start), 1, 0)
def counts(last, full):
    return block(6, last, 17, *(w for n in [1, full] + [0] * 15 for w in u64(n)))
with open(sys.argv[1], "wb") as f:
    f.write(session(5) + counts(0, 3) + counts(0, 4) + session(5) + counts(1, 7) + session(9) +
            counts(1, 2))
with open(sys.argv[1] + ".gap", "wb") as f:
    number = 0
    f.write(session(5) + b"garbage!")
    number += 3
    f.write(counts(1, 0))
END
raw='Dropped, no room (give prof_desc.memory or PROF_MAX_SITES more, or a stream more of its disk): 9'
says losses_raw "$out/raw.bin: $raw" 0 "$prof" report "$out/raw.bin"
says losses_raw_stacks "prof: $out/raw.bin: $raw" 0 "$prof" stacks "$out/raw.bin"
says losses_decode "prof: $out/raw.bin: $raw" 0 "$prof" decode -o "$out/decoded.json" "$out/raw.bin"
says losses_decoded "$out/decoded.json: $raw" 0 "$prof" report "$out/decoded.json"

gap='Blocks of the raw stream that were lost: 3; Bytes of the raw stream in damaged places, left out: 8'
says losses_gap "$out/raw.bin.gap: $gap" 0 "$prof" report "$out/raw.bin.gap"
says losses_gap_decode "prof: $out/raw.bin.gap: $gap" 0 \
    "$prof" decode -o "$out/decoded.json" "$out/raw.bin.gap"
says losses_gap_decoded "$out/decoded.json: $gap" 0 "$prof" report "$out/decoded.json"

# ---- A head that holds anything ----

n=0
for head in 5 '"dropped_full"' '[{"dropped_full":1}]' null '{}' '{"dropped_full":0}' \
    '{"devices":7}' '{"devices":{"CUDA":5,"":""}}' '{"unknown_count":9}'; do
    n=$((n + 1))
    trace odd.json "$head"
    try losses_odd_$n sh -c "'$prof' report '$out/odd.json' | head -n 1 | grep -q '^---'"
done
for value in -1 '"12"' '{"a":1}' '[]' NaN 1e400 99999999999999999999 true; do
    n=$((n + 1))
    trace odd.json "{\"dropped_full\":$value,\"lost\":4}"
    says losses_odd_$n "(lost): 4; Counts in the trace's head that are not counts, left out: 1" \
        0 "$prof" report "$out/odd.json"
done
most=9223372036854775807
trace odd.json "{\"lost\":$most,\"lost\":$most,\"lost\":$most}"
says losses_most ': 18446744073709551615' 0 "$prof" report "$out/odd.json"
trace odd.json "$(python3 -c 'print("{\"devices\":{" + ",".join("\"d%d%s\": \"\\u001b]0;x\\u0007%s\""
    % (i, "n" * 300, "t" * 5000) for i in range(40)) + "}}")')"
says losses_long tttttttt 0 "$prof" report "$out/odd.json"
says losses_many_devices 'More devices that report losses: 38' 0 "$prof" gaps "$out/odd.json"
# What prof_cuda.h counts stands for its line in the footer: each count that this line has is told.
printf '%s' '{"prof":{"devices":{"CUDA":"GPU records lost: 5; of another clock: 7"}},
    "prof_cuda":{"lost_full":5,"wrong_clock":7,"clock_back":2,"foreign":3,"graph_doubts":6},
    "traceEvents":['"$event"']}' >"$out/cuda.json"
for part in 'without room .*: 5;' 'another clock, .*: 7;' 'went back, .*: 2;' 'another profiler in the process, .*: 3;' \
    'wrong graph launch, .*: 6$'; do
    n=$((n + 1))
    try losses_cuda_$n sh -c "'$prof' report '$out/cuda.json' | head -n 1 | grep -q '$part'"
done
try losses_line_is_short sh -c "! grep -q '.\{800\}' '$out/said'"
try losses_plain sh -c "! grep -q '$(printf '\033')' '$out/said'"

# ---- Zones that are in sums alone ----

sums() {   # FILE ROWS [SUMMED]: a zone f of 4 us, and sums
    cat >"$out/$1" <<END
{"schemaVersion":1,"prof":{"version":"0.2.0","summed":${3:-12},"timeline_end_ns":5000,
"session_ns":20000,"sums":$2},"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"f","pid":1,"tid":1,"ts":1.000,"dur":4.000},
{"ph":"X","cat":"cpu_op","name":"(in sums)","pid":1,"tid":1,"ts":2.000,"dur":1.000}]}
END
}

cells() {   # COMMAND...: name, count, total, self, least and most of each row
    "$@" 2>"$out/told" | python3 -c 'import json, sys
for r in json.load(sys.stdin):
    print(r["key"], r["count"], r["cpu_time_total"], r["self_cpu_time_total"], r["min"], r["max"], end="; ")'
}

is() {   # NAME EXPECTED COMMAND...: the output of COMMAND
    label=$1 expected=$2
    shift 2
    got=$("$@")
    [ "$got" = "$expected" ] && echo "ok $label" && return
    failed=1
    echo "not ok $label: '$got', not '$expected'"
}

f='{"name":"f","count":10,"total":1000,"self":900,"min":10,"max":500,"p50":20,"p90":30,"p99":40}'
only='{"name":"only","count":2,"total":100,"self":-100,"min":40,"max":60,"p50":0,"p90":0,"p99":0}'
sums sums.json "[$f,$only]"
line='Timeline: the first 5.000us of 20.000us. 12 later zones are in sums alone (give prof_desc.memory more)'
rows='f 11 5.0 3.9 0.01 4.0; only 2 0.1 -0.1 0.04 0.06; '
is sums_rows "$rows" cells "$prof" report -s none -f json "$out/sums.json"
is sums_by_shape "$rows" cells "$prof" report -s none -f json --group-by-input-shape \
    --group-by-overload --group-by-stack 3 --merge-duplicates "$out/sums.json"
is sums_name 'only 2 0.1 -0.1 0.04 0.06; ' cells "$prof" report -f json --name only "$out/sums.json"
is sums_other_category '' cells "$prof" report -f json -c kernel "$out/sums.json"
is sums_in_time 'f 1 4.0 3.0 4.0 4.0; ' cells "$prof" report -f json --from 0 --to 9us "$out/sums.json"
is sums_twice 'f 22 10.0 7.8 0.01 4.0; only 4 0.2 -0.2 0.04 0.06; ' \
    cells "$prof" report -s none -f json "$out/sums.json" "$out/sums.json"
for command in report analyze gaps flamegraph diff; do
    [ $command = diff ] && second=$out/sums.json || second=
    # shellcheck disable=SC2086   # none, or one
    says sums_told_$command "$line" 0 "$prof" $command "$out/sums.json" $second
done
trace others.json '{"others_names":1,"others_sites":2,"others_full":3,"others_busy":4}'
trace older.json '{"memory_twice":1,"memory_unknown":2,"async_open":3,"async_twice":4,"unbalanced":5,"no_forward":6,
    "memory_refused":7}'
for part in 'at an address in use: 3' 'launches are left out): 3' 'in the session, ignored: 9' \
    'see prof_device_clock): 6' 'launch are wrong (see prof_submit): 7'; do
    says losses_older "$part" 0 "$prof" report "$out/older.json"
done
says losses_others '(PROF_MAX_SITES, prof_desc.memory): 10' 0 "$prof" report "$out/others.json"
sed 's/"summed"/"deep":3,"untimed":4,"summed"/' "$out/sums.json" >"$out/apart.json"   # told by themselves
says sums_told_apart "${line%12*}5 later" 0 "$prof" report "$out/apart.json"
old='{"name":"old","count":10,"total":1000,"self":900,"min":400,"max":600,"untimed":8}'
sums untimed.json "[$old,$only]"         # 8 calls have no time
is sums_untimed 'old 10 1.0 0.9 0.4 0.6; ' cells "$prof" report -f json --name old "$out/untimed.json"
says sums_page "$line" 0 "$prof" report -f html "$out/sums.json"
"$prof" merge -o "$out/merged.json" "$out/sums.json" "$out/sums.json" >"$out/told" 2>&1
is sums_merged 'f 22 10.0 7.8 0.01 4.0; only 4 0.2 -0.2 0.04 0.06; ' \
    cells "$prof" report -s none -f json "$out/merged.json"
says sums_merged_told "${line%12*}24" 0 "$prof" report "$out/merged.json"
"$prof" cut --from 0 --to 3us -o "$out/cut.json" "$out/sums.json" >"$out/told" 2>&1
is sums_cut 'f 1 4.0 3.0 4.0 4.0; ' cells "$prof" report -f json "$out/cut.json"
cat >"$out/partial.json" <<END
{"schemaVersion":1,"prof":{"version":"0.2.0","summed":1,"timeline_end_ns":5000,"session_ns":20000,"sums":[
{"name":"f","count":1,"total":9000,"self":8000,"min":9000,"max":9000,"p50":9000,"p90":9000,"p99":9000}]},
"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"f","pid":1,"tid":1,"ts":1.000,"dur":4.000,"args":{"finished":false,"partial":true}},
{"ph":"X","cat":"cpu_op","name":"g","pid":1,"tid":1,"ts":2.000,"dur":1.000}]}
END
is sums_partial 'f 1 9.0 7.0 9.0 9.0; g 1 1.0 1.0 1.0 1.0; ' \
    cells "$prof" report -s none -f json "$out/partial.json"
"$prof" cut --from 0 --to 3us -o "$out/cut.json" "$out/partial.json" >"$out/told" 2>&1
is sums_partial_cut 'f 1 4.0 3.0 4.0 4.0; g 1 1.0 1.0 1.0 1.0; ' \
    cells "$prof" report -s none -f json "$out/cut.json"   # the sums are gone: what it shows
cat >"$out/array.json" <<END
[{"ph":"M","name":"prof","pid":1,"tid":0,"args":{"version":"0.2.0"}},
{"ph":"M","name":"prof counts","pid":1,"tid":0,"args":{"recorded":0,"summed":2,"timeline_end_ns":0,
"session_ns":9,"sums":[$f]}}]
END
is sums_array 'f 10 1.0 0.9 0.01 0.5; ' cells "$prof" report -f json "$out/array.json"
says sums_alone '2 zones appear in tables only, not in the timeline' 0 "$prof" report "$out/array.json"
is sums_no_word "prof: $out/array.json: 2 zones appear in tables only, not in the timeline: PROF_MODE_AGGREGATE has no timeline; else they are deeper than max_depth (prof record --max-depth), or memory was full" cat "$out/told"

most=9223372036854775807
odd='in its head make no sense, left out'
n=0
for row in 5 '"f"' '[]' null '{}' '{"name":"x"}' '{"name":5,"count":1,"total":1,"self":1,"min":1,"max":1}' \
    '{"name":"x","count":-1,"total":1,"self":1,"min":1,"max":1}' \
    '{"name":"x","count":"1","total":1,"self":1,"min":1,"max":1}' \
    '{"name":"x","count":1,"total":-1,"self":1,"min":1,"max":1}' \
    '{"name":"x","count":1,"total":5,"self":9,"min":5,"max":5}' \
    '{"name":"x","count":2,"total":5,"self":5,"min":3,"max":4}' \
    '{"name":"x","count":2,"total":11,"self":5,"min":3,"max":4}' \
    '{"name":"x","count":1,"total":1,"self":1,"min":1,"max":1,"p50":-1}' \
    '{"name":"x","count":1,"total":1e300,"self":1,"min":1,"max":1}' \
    "{\"name\":\"x\",\"count\":1,\"total\":$most,\"self\":1,\"min\":$most,\"max\":$most}" \
    "{\"name\":\"x\",\"count\":$most,\"total\":1,\"self\":1,\"min\":0,\"max\":1}"; do
    n=$((n + 1))
    sums odd.json "[$row,$only]"
    is sums_odd_$n 'f 1 4.0 3.0 4.0 4.0; only 2 0.1 -0.1 0.04 0.06; ' \
        cells "$prof" report -s none -f json "$out/odd.json"
    is sums_odd_told_$n "1 rows of the sums $odd" sed -n 's/.*json: \(1 rows.*\)/\1/p' "$out/told"
done
for rows in 5 '"x"' null '{}' true; do
    n=$((n + 1))
    sums odd.json "$rows" '"many"'
    is sums_odd_$n 'f 1 4.0 3.0 4.0 4.0; ' cells "$prof" report -f json "$out/odd.json"
    is sums_odd_told_$n 2 sh -c "grep -c 'left out' '$out/told'"
done
sums odd.json "$(python3 -c 'half = 1 << 60
print([dict(name="n%d" % i, count=1, total=half, self=half, min=half, max=half) for i in range(9)])' |
    tr "'" '"')"
says sums_huge "prof: $out/odd.json: 5 rows of the sums $odd" 0 "$prof" report "$out/odd.json"
sums odd.json "$(python3 -c 'print([dict(name="n%d" % i, count=1, total=i, self=i, min=i, max=i)
    for i in range(66000)])' | tr "'" '"')"
says sums_many "prof: $out/odd.json: 464 rows of the sums $odd" 0 \
    "$prof" report --any-memory -n 3 "$out/odd.json"
# A thread that waited for its stream: its zones are too long, which is said before all else.
echo '{"prof": {"version": "0.2.0", "healed": 2, "stalls": 3, "stalled_us": 7}, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a",
    "pid": 1, "tid": 1, "ts": 0, "dur": 1}]}' >"$out/stalls.json"
says stalls_are_told 'Times a thread waited within its zones for the stream, which are too long: 3' 0 "$prof" report "$out/stalls.json"
first_line() { "$prof" report "$out/stalls.json" | head -n 1 | grep -q 'stalls.json: Microseconds.*: 7'; }
try stalls_are_first first_line
exit $failed
