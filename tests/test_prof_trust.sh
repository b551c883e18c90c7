#!/bin/sh
# What a trace, or somebody with a folder, may not make prof do: write elsewhere, follow links, run
# commands.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/prof.sh
. tests/prof.sh

rm -rf "$out/box"
mkdir -p "$out/box"
cat >"$out/evil.json" <<'JSON'
{"traceName": "../../escaped", "traceEvents": [
{"ph":"X","cat":"cpu_op","name":"$(touch escaped)","pid":1,"tid":1,"ts":0,"dur":9,"args":{"Call stack":"`touch escaped`"}},
{"ph":"X","cat":"kernel","name":"../../../escaped; touch escaped #","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0}},
{"ph":"X","cat":"cpu_op","name":"</script><script>escaped</script>","pid":1,"tid":1,"ts":10,"dur":9},
{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0,"args":{"name":"|touch escaped"}}]}
JSON
trace=$PWD/$out/evil.json

# Everything with one output: that one file is all that appears.
only_output() {   # OUTPUT COMMAND...
    rm -rf "$out/box"
    mkdir -p "$out/box"
    file=$1
    shift
    (cd "$out/box" && "$prof" "$@") >"$out/said" 2>&1 || return 1
    [ "$(ls -A "$out/box")" = "$file" ] || { ls -A "$out/box"; return 1; }
}
for command in report analyze validate stacks gaps; do
    try "writes_only_${command}" only_output o.txt $command -o o.txt "$trace"
done
try writes_only_html only_output o.html report -f html -o o.html "$trace"
try writes_only_flamegraph only_output o.svg flamegraph -o o.svg "$trace"
try writes_only_augment only_output o.json augment "$trace" o.json
try writes_only_merge only_output o.json merge -o o.json "$trace" "$trace"
try writes_only_cut only_output o.json.gz cut --to=1s -o o.json.gz "$trace"
not_escaped() { [ -z "$(find . -path ./build/fuzz -prune -o -name 'escaped*' -print)" ]; }
try runs_nothing not_escaped
plain_page() { ! grep -q '<script>escaped' "$out/page.html"; }
"$prof" report -f html -o "$out/page.html" "$trace" 2>/dev/null
try page_escapes plain_page

# A link where the output or its temporary file goes is replaced, what it leads to stays.
echo precious >"$out/precious"
follows_no_link() {   # NAME: of the output
    rm -f "$out/$1"
    ln -s precious "$out/$1"
    (cd "$out" && sh -c 'ln -sf precious "$1.$$.tmp"; exec "$2" stacks -o "$1" "$3"' sh "$1" \
        "$prof" "$trace") || return 1
    [ "$(cat "$out/precious")" = precious ] && [ ! -L "$out/$1" ] && [ -e "$out/$1" ] &&
        [ -z "$(find "$out" -name "$1.*.tmp")" ]
}
try follows_no_link follows_no_link o.txt
try follows_no_link_gz follows_no_link o.txt.gz
exit $failed
