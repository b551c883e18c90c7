#!/bin/sh
# What a trace, or somebody with a folder, may not make prof do: write elsewhere, follow links, run
# commands, work on forever, take all memory, or put codes into a terminal, a page, a spreadsheet.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

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

# The output may be the input, or a link to it: it is read whole before it is replaced.
over_input() {   # FILE COMMAND...: writes over FILE what it would write elsewhere
    file=$1
    shift
    cp "$trace" "$out/over.json"
    ln -sf over.json "$out/over_link.json"
    (cd "$out" && "$prof" "$@" elsewhere.json && "$prof" "$@" "$file") || return 1
    cmp "$out/elsewhere.json" "$out/$file" && { [ "$file" = over.json ] || cmp "$trace" "$out/over.json"; }
}
try over_input_augment over_input over.json augment over.json
try over_input_merge over_input over.json merge over.json over.json -o
try over_input_cut over_input over.json cut --to=1s over.json -o
try over_input_link over_input over_link.json augment over.json

# ---- Names: terminals, pages, spreadsheets ----

if command -v python3 >/dev/null; then
    python3 tests/command/hostile_trace.py "$out" || exit 1
    names=$PWD/$out/names.json
    # What comes to a terminal, stderr too, has no byte of a control sequence but the line's end.
    no_codes() {   # COMMAND...
        "$prof" "$@" >"$out/shown" 2>&1 || [ $? -le 2 ] || return 1
        python3 tests/command/hostile_trace.py --codes "$out/shown"
    }
    for command in report analyze stacks gaps memory validate; do
        try "no_codes_$command" no_codes $command "$names"
    done
    try no_codes_diff no_codes diff "$names" "$names"
    try no_codes_columns no_codes report --group-by-stack=3 --group-by-input-shape "$names"
    try no_codes_et no_codes et --link "$names" "$out/names_et.json"
    try no_codes_error no_codes report "$out/$(printf 'a\033[31m\302\233b.json')"
    no_formula() {   # COMMAND...
        "$prof" "$@" -f csv >"$out/shown.csv" 2>"$out/said" &&
            python3 tests/command/hostile_trace.py --formulas "$out/shown.csv"
    }
    try no_formula_report no_formula report "$names"
    try no_formula_analyze no_formula analyze "$names"
    try no_formula_diff no_formula diff "$names" "$names"
    well_formed() {   # COMMAND... : the file is XML, with nothing but the page's own elements
        "$prof" "$@" -o "$out/page.svg" "$names" &&
            python3 tests/command/hostile_trace.py --svg "$out/page.svg"
    }
    try flamegraph_is_xml well_formed flamegraph
    plain_page() {   # COMMAND... : as many scripts and images as with a harmless trace
        for one in names harmless; do
            "$prof" "$@" -f html -o "$out/$one.html" "$out/$one.json" || return 1
        done
        [ "$(grep -oi '<script\|<img\|<!--\|</script' "$out/names.html")" = \
            "$(grep -oi '<script\|<img\|<!--\|</script' "$out/harmless.html")" ]
    }
    try report_page_is_plain plain_page report
    try memory_page_is_plain plain_page memory

    # ---- Bombs: little files of which much comes; in 600 MB, of 20 s of the processor each ----

    bounded() {   # NAME COMMAND...: it may fail, but says in a line what is wrong
        bomb=$out/bomb_$1.json.gz
        shift
        # shellcheck disable=SC3045   # ulimit -v: wherever sh is dash or bash
        (ulimit -v 600000 && ulimit -t 20 && exec "$prof" "$@" "$bomb") >/dev/null 2>"$out/said"
        status=$?
        [ "$status" -le 2 ] && { [ "$status" = 0 ] || [ -s "$out/said" ]; }
    }
    for bomb in spaces text deep members digits events zeros; do
        for command in report validate et; do
            try "bomb_${bomb}_$command" bounded $bomb $command
        done
    done
    try bomb_zeros_decode bounded zeros decode
    try bomb_text_decode bounded text decode
    says bomb_deep_is_told 'nested too deep' 2 "$prof" report "$out/bomb_deep.json.gz"
    says bomb_text_is_told 'an element of more than' 2 "$prof" report "$out/bomb_text.json.gz"

    # A database is read as it lies: no query of its own is run, nothing comes beside it.
    says view_is_no_table 'neither a profile' 2 timeout 20 "$prof" import "$out/view.sqlite"
    wal() {
        ( cd "$out/wal" && timeout 20 "$prof" import -o o.json "wal #1?.sqlite" && grep -q gemm o.json &&
            [ "$(ls)" = "$(printf 'o.json\nwal #1?.sqlite')" ] )
    }
    try leaves_nothing_beside_a_database wal
    rm -f "$out"/bomb_*
else
    echo 'skip names: python3 is not installed'
fi
exit $failed
