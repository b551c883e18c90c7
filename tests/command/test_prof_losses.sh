#!/bin/sh
# What a trace's head tells of losses: every command tells it first, and none trusts it.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

full='Dropped, the arena was full (give prof_desc.memory more): 1955854'
event='{"ph":"X","cat":"cpu_op","name":"step","pid":7,"tid":7,"ts":1,"dur":5}'
trace() {   # FILE HEAD: a trace with this as its member "prof"
    printf '{"prof":%s,\n"traceEvents":[\n%s\n]}\n' "$2" "$event" >"$out/$1"
}
trace lost.json '{"version":"0.1.0","dropped_full":1955854,"unfinished":2,"devices":{"CUDA":"no driver"}}'
trace whole.json '{"version":"0.1.0"}'
told="$out/lost.json: $full; Zones still open when their thread or the session ended, ended there: 2; CUDA: no driver"

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
try losses_memory_page banner '<p class="lost" role="alert">' memory -f html "$out/lost.json"
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
try losses_cut_array keeps 'give prof_desc.memory more): 6; Dropped: 6' cut --from 0 "$out/array.json"
try losses_merge keeps 'give prof_desc.memory more): 1955860; Zones still' \
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
def u64(n): return n & 0xffffffff, n >> 32
def session(start): return block(1, 3, 7, *u64(10**9), *u64(0), *u64(start), 1, 0)
def counts(last, *n): return block(6, last, 17, *(w for i in (1, *n, *[0] * (16 - len(n))) for w in u64(i)))
with open(sys.argv[1], "wb") as f:
    f.write(session(5) + counts(0, 3) + counts(0, 4) + session(5) + counts(1, 7) + session(9) + counts(1, 2))
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
raw='Dropped, the arena was full (give prof_desc.memory more): 9'
says losses_raw "$out/raw.bin: $raw" 0 "$prof" report "$out/raw.bin"
says losses_raw_stacks "prof: $out/raw.bin: $raw" 0 "$prof" stacks "$out/raw.bin"
says losses_decode "prof: $out/raw.bin: $raw" 0 "$prof" decode -o "$out/decoded.json" "$out/raw.bin"
says losses_decoded "$out/decoded.json: $raw" 0 "$prof" report "$out/decoded.json"

gap='Blocks of the raw stream that are missing: 3; Bytes of the raw stream in damaged places, skipped: 8'
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
    says losses_odd_$n "(lost): 4; Counts in the trace's head that are no counts, left out: 1" \
        0 "$prof" report "$out/odd.json"
done
most=9223372036854775807
trace odd.json "{\"lost\":$most,\"lost\":$most,\"lost\":$most}"
says losses_most ': 18446744073709551615' 0 "$prof" report "$out/odd.json"
trace odd.json "$(python3 -c 'print("{\"devices\":{" + ",".join("\"d%d%s\": \"\\u001b]0;x\\u0007%s\""
    % (i, "n" * 300, "t" * 5000) for i in range(40)) + "}}")')"
says losses_long tttttttt 0 "$prof" report "$out/odd.json"
try losses_plain sh -c "! grep -q '$(printf '\033')' '$out/said'"
exit $failed
