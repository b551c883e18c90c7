#!/bin/sh
# What a trace, or somebody with a folder, may not make prof do: write elsewhere, follow links, run
# commands, work on forever, take all memory, or put codes into a terminal, a page, a spreadsheet.
# shellcheck disable=SC2317,SC2086,SC2094   # functions that try and says call; lists of words
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
for command in report analyze validate stacks gaps ranks steps; do
    sometimes "writes_only_${command}" only_output o.txt $command -o o.txt "$trace"
done
sometimes writes_only_html only_output o.html report -f html -o o.html "$trace"
sometimes writes_only_flamegraph only_output o.svg flamegraph -o o.svg "$trace"
sometimes writes_only_augment only_output o.json augment "$trace" o.json
sometimes writes_only_merge only_output o.json merge -o o.json "$trace" "$trace"
sometimes writes_only_cut only_output o.json.gz cut --to=1s -o o.json.gz "$trace"
not_escaped() { [ -z "$(find . -path ./build/fuzz -prune -o -name 'escaped*' -print)" ]; }
try runs_nothing not_escaped
plain_page() { ! grep -q '<script>escaped' "$out/page.html"; }
"$prof" report -f html -o "$out/page.html" "$trace" 2>/dev/null
try page_escapes plain_page

# What would take more than half of its size and 60 MB: the error says how much, and how it may.
awk 'BEGIN { print "["; for (i = 0; i < 110000; i++) printf "{\"ph\":\"B\",\"name\":\"a%d\",\"pid\":1,\"tid\":1,\"ts\":%d},\n", i, i }' >"$out/begins.json"
says memory_bound 'MB of memory, and what has' 2 "$prof" report "$out/begins.json"
for command in report stacks validate "export -o $out/any.pftrace" 'diff '"$out/begins.json"; do
    says "memory_bound_${command%% *}" 'MB of memory, and what has' 2 "$prof" $command "$out/begins.json"
done

# Each of many short zones below long names has all of these in its path.
awk 'BEGIN { for (i = 0; i < 300; i++) long = long "x"; print "["
    for (i = 0; i < 1000; i++) printf "{\"ph\":\"B\",\"name\":\"%s%d\",\"pid\":1,\"tid\":1,\"ts\":%d},\n", long, i, i
    for (i = 0; i < 1500; i++) printf "{\"ph\":\"X\",\"name\":\"%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1},\n", i, 1000 + i
    print "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":99999}]" }' >"$out/paths.json"
long_paths() {   # the old output stays
    echo old >"$out/paths.folded"
    says paths_bound 'its output would have more than' 2 "$prof" "$@" -o "$out/paths.folded" "$out/paths.json"
    try paths_bound_keeps grep -q old "$out/paths.folded"
}
long_paths stacks
all_paths() { [ "$("$prof" stacks --any-memory "$out/paths.json" 2>/dev/null | wc -c)" -gt 400000000 ]; }
sometimes paths_any_memory all_paths

# A raw stream's zones are in sums as they come, whatever its version and byte order; what names take
# is bound as that of JSON.
if command -v python3 >/dev/null; then
    python3 tests/command/hostile_trace.py --raw "$out" || exit 1
    says memory_bound_names 'MB of memory, and what has 4 MB' 2 "$prof" report "$out/names.raw"
    as_it_comes() { [ "$(python3 tests/command/peak.py "$prof" report "$1")" -lt 30000 ] &&
        "$prof" report -f json "$1" | grep -q '"count": 1000000'; }
    for one in dense_little dense_big metadata; do try "memory_of_$one" as_it_comes "$out/$one.raw"; done
    says memory_bound_top 'threads up to there take more than 256 MB' 1 "$prof" top --looks 1 "$out/deep.raw"
fi

# What a file of any format says of itself, and cannot be, is told with its field and byte.
if command -v python3 >/dev/null; then
    try hostile_files python3 tests/command/hostile_files.py "$out/hostile" "$prof"
    # A database is not read piece by piece: what its events take is bound all the same.
    bound_too() { [ "$(python3 tests/command/peak.py "$prof" export -o "$out/long.pftrace" "$out/hostile/long.rpd")" -lt 130000 ]; }
    try memory_of_a_database bound_too
fi

# A link as output is written through and stays (what else has to stay: test_prof_outputs.sh).
through_links() {   # a chain of them, relative and absolute, into another folder
    rm -rf "$out/links"
    mkdir -p "$out/links/a" "$out/links/b"
    ln -s "../b/two" "$out/links/a/one"
    ln -s "$PWD/$out/links/a/file" "$out/links/b/two"
    for _ in 1 2; do                           # made, and written again
        "$prof" stacks -o "$out/links/a/one" "$trace" || return 1
        [ -s "$out/links/a/file" ] && [ -L "$out/links/b/two" ] && [ -L "$out/links/a/one" ] || return 1
    done
    [ "$(find "$out/links" -type f | wc -l)" = 1 ]
}
try output_through_links through_links
keeps_mode() {   # MODE NAME
    rm -f "$out/$2"
    touch "$out/$2"
    chmod "$1" "$out/$2"
    "$prof" report -o "$out/$2" "$trace" && [ -s "$out/$2" ] && [ "$(stat -c %a "$out/$2")" = "$1" ]
}
for mode in 640 600 666 755; do sometimes "output_keeps_mode_$mode" keeps_mode $mode mode.txt; done
sometimes output_keeps_mode_gz keeps_mode 640 mode.txt.gz
gone_mode() { rm -f "$out/new.txt"; (umask 027; "$prof" report -o "$out/new.txt" "$trace") &&
    [ "$(stat -c %a "$out/new.txt")" = 640 ]; }
sometimes output_new_has_umask gone_mode

# A trace that is read is not lost to what is written of it, by whatever name.
cp "$trace" "$out/kept.json"
ln -sf kept.json "$out/kept_link.json"
ln -f "$out/kept.json" "$out/kept_hard.json"
for command in report 'report -f html' analyze validate stacks flamegraph gaps memory 'diff kept.json'; do
    choose 8 kept.json kept_link.json kept_hard.json ./kept.json
    for name in $chosen; do
        label=$(echo "input_is_kept_${command}_$name" | tr ' ./' ___)
        (cd "$out" && "$prof" $command kept.json -o "$name") >"$out/said" 2>&1
        status=$?
        if [ $status = 2 ] && cmp -s "$trace" "$out/kept.json" && grep -q 'this is the input' "$out/said"
        then echo "ok $label"; else failed=1; echo "not ok $label: exit status $status"; fi
    done
done
cp tests/fuzz/corpus/stream/dump.raw "$out/kept.raw"
says input_is_kept_decode 'this is the input' 2 "$prof" decode "$out/kept.raw" -o "$out/kept.raw"

onto_input() {   # COMMAND...: with its stdout at the end of the trace
    # shellcheck disable=SC2094   # that is what it tries
    ! (cd "$out" && "$prof" "$@" kept.json >>kept.json) 2>"$out/said" &&
        cmp "$trace" "$out/kept.json" && grep -q 'stdout: this is the input' "$out/said"
}
sometimes input_is_kept_stdout onto_input report
sometimes input_is_kept_stdout_cut onto_input cut --to=1s
same_by() {   # NAME: of the output, which is a pipe
    "$prof" stacks "$trace" >"$out/plain.folded" && "$prof" stacks -o "$1" "$trace" | cmp - "$out/plain.folded"
}
for name in /dev/stdout /dev/fd/1 /proc/self/fd/1; do sometimes "output_${name##*/}" same_by $name; done
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    only_read() {   # a file that may not be written is not replaced, though its folder may be
        rm -rf "$out/theirs"
        mkdir "$out/theirs" && echo kept >"$out/theirs/o.txt" && chmod 444 "$out/theirs/o.txt" &&
            chown -R 65534 "$out/theirs" && cp "$prof" "$trace" "$out/theirs" &&
            (cd "$out/theirs" && ! setpriv --reuid=65534 --clear-groups ./prof stacks -o o.txt evil.json) &&
            [ "$(cat "$out/theirs/o.txt")" = kept ]
    }
    sometimes output_read_only only_read
fi

# A command that makes a trace of a trace may write over its input: it is read whole before that.
over_input() {   # FILE COMMAND...: writes over FILE what it would write elsewhere
    file=$1
    shift
    cp "$trace" "$out/over.json"
    ln -sf over.json "$out/over_link.json"
    (cd "$out" && "$prof" "$@" elsewhere.json && "$prof" "$@" "$file") || return 1
    cmp "$out/elsewhere.json" "$out/over.json" && [ -L "$out/over_link.json" ]
}
sometimes over_input_augment over_input over.json augment over.json
try over_input_merge over_input over.json merge over.json over.json -o
sometimes over_input_cut over_input over.json cut --to=1s over.json -o
sometimes over_input_link over_input over_link.json augment over.json

# A signal in the midst of writing: the program ends by it, and nothing stays but what was there.
awk 'BEGIN {printf "{\"traceEvents\":[\n"
    for (i = 0; i < 200000; i++) printf "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2}", i ? ",\n" : "", i % 999, 10 + 3 * i
    print "]}"}' >"$out/big.json"
if command -v python3 >/dev/null; then
    cat >"$out/interrupt.py" <<'PYTHON'
import json, os, signal, subprocess, sys, time
prof, folder, number, ignored = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "ignored"
for tries in range(20):
    for name in os.listdir(folder):
        os.unlink(folder + "/" + name)
    open(folder + "/out.json", "w").write("before")
    ignore = (lambda: signal.signal(number, signal.SIG_IGN)) if ignored else None
    p = subprocess.Popen([prof] + sys.argv[5:], cwd=folder, preexec_fn=ignore,
                         stderr=subprocess.DEVNULL)
    time.sleep(.12 - .006 * tries)      # what it writes has no name yet
    p.send_signal(number)
    status = p.wait(60)
    if ignored:
        sys.exit(status != 0 or os.listdir(folder) != ["out.json"])
    if status == 0:                     # it was through already
        continue
    assert status == -number, status
    assert os.listdir(folder) == ["out.json"], os.listdir(folder)
    after = open(folder + "/out.json").read()
    if after == "before":
        sys.exit(0)
    json.loads(after)                   # the signal came behind its last step: it is whole
sys.exit("it was never in time")
PYTHON
    rm -rf "$out/interrupted"
    mkdir -p "$out/interrupted"
    interrupted() { timeout 100 python3 "$out/interrupt.py" "$prof" "$out/interrupted" "$@"; }
    for signal in ${ALL:+1 2} 15; do
        sometimes "signal_${signal}_cut" interrupted $signal '' cut --to 100s -o out.json ../big.json
        sometimes "signal_${signal}_merge" interrupted $signal '' merge -o out.json ../big.json ../big.json
    done
    in_folder() { env TMPDIR=. timeout 100 python3 "$out/interrupt.py" "$prof" "$out/interrupted" "$@"; }
    try signal_15_export in_folder 15 '' export -o out.json ../big.json ../big.json
    sometimes signal_15_augment interrupted 15 '' augment ../big.json out.json
    sometimes signal_1_ignored interrupted 1 ignored cut --to 100s -o out.json ../big.json
fi

# A file that gets too large, its own or stdout, as on a full disk: one line that names it, exit status
# 2, and nothing stays. Of several traces Perfetto's file is made of a temporary one, in TMPDIR.
too_large() {   # TEXT COMMAND...; of: the trace, a large one without it
    text=$1
    shift
    rm -rf "$out/full"
    mkdir -p "$out/full"
    (
        ulimit -f 4
        cd "$out/full" && TMPDIR=$PWD "$prof" "$@" "${of:-../big.json}" >../full.stdout 2>../full.said
    )
    status=$?
    cat "$out/full.said"
    [ $status = 2 ] && [ "$(wc -l <"$out/full.said")" = 1 ] && [ -z "$(ls "$out/full")" ] &&
        grep -q "^prof: .*$text" "$out/full.said"
}
for file in x.csv x.sqlite x.parquet x.pftrace x.pb.gz x.folded; do
    sometimes "too_large_$file" too_large "$file: cannot be written: " export -o $file
done
sometimes too_large_json too_large 'x.json: cannot be written: ' export -o x.json
of=$PWD/tests/command/traces/kineto_2024.json sometimes too_large_stdout too_large 'stdout: cannot be written: ' cut --to 100s
sometimes too_large_merged too_large 'full: cannot be written: ' export -o x.pftrace ../big.json
says no_temporary_folder "none: a temporary file cannot be used: No such file" 2 \
    env TMPDIR="$out/none" "$prof" export -o "$out/x.pftrace" "$out/big.json" "$out/big.json"
rm -f "$out/big.json"

# ---- Names: terminals, pages, spreadsheets ----

if command -v python3 >/dev/null; then
    bombs='text deep members events' bombed=report megabytes=13
    [ -z "${ALL:-}" ] || bombs="$bombs spaces digits zeros" bombed='report validate et' megabytes=101
    python3 tests/command/hostile_trace.py "$out" $megabytes || exit 1
    names=$PWD/$out/names.json
    # What comes to a terminal, stderr too, has no byte of a control sequence but the line's end.
    no_codes() {   # COMMAND...
        "$prof" "$@" >"$out/shown" 2>&1 || [ $? -le 2 ] || return 1
        python3 tests/command/hostile_trace.py --codes "$out/shown"
    }
    for command in report analyze stacks gaps memory validate; do
        sometimes "no_codes_$command" no_codes $command "$names"
    done
    for command in report 'top --looks 1' memory validate "decode --follow -o $out/any.json"; do
        sometimes "no_codes_raw_${command%% *}" no_codes $command "$out/codes.raw"
    done
    for format in csv json; do sometimes "no_codes_$format" no_codes report -f $format "$names"; done
    on_terminal() {   # COMMAND...: whatever the format
        python3 tests/command/terminal.py 65000 "$prof" "$@" >"$out/shown" &&
            python3 tests/command/hostile_trace.py --codes "$out/shown"
    }
    sometimes no_codes_on_terminal on_terminal cut --to 1s "$names"
    sometimes no_codes_on_terminal_augment on_terminal augment "$names" /dev/stdout
    sometimes no_codes_diff no_codes diff "$names" "$names"
    sometimes no_codes_columns no_codes report --group-by-stack=3 --group-by-input-shape "$names"
    sometimes no_codes_et no_codes et --link "$names" "$out/names_et.json"
    odd_cells() { for file in "$out"/odd_*.csv; do no_codes report "$file" || return 1; done
        grep -q 'Device_id of line 2 is ' "$out/shown"; }
    sometimes no_codes_odd odd_cells
    sometimes no_codes_error no_codes report "$out/$(printf 'a\033[31m\302\233b.json')"
    no_formula() {   # COMMAND...
        "$prof" "$@" -f csv >"$out/shown.csv" 2>"$out/said" &&
            python3 tests/command/hostile_trace.py --formulas "$out/shown.csv"
    }
    sometimes no_formula_report no_formula report "$names"
    sometimes no_formula_analyze no_formula analyze "$names"
    sometimes no_formula_diff no_formula diff "$names" "$names"
    export_csv() { "$prof" export -o "$out/shown.csv" "$names" &&
        python3 tests/command/hostile_trace.py --formulas "$out/shown.csv"; }
    sometimes no_formula_export export_csv
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
    sometimes report_page_is_plain plain_page report
    sometimes memory_page_is_plain plain_page memory

    # ---- Bombs: little files of which much comes; in 100 MB and five times that, of 20 s of the
    # processor each ----

    bounded() {   # NAME COMMAND...: it may fail, but says in a line what is wrong
        file=$out/bomb_$1.json.gz
        shift
        # shellcheck disable=SC3045   # ulimit -v: wherever sh is dash or bash
        (ulimit -v $((100000 + megabytes * 5000)) && ulimit -t 20 && exec "$prof" "$@" "$file") >"$out/said" 2>&1
        status=$?
        [ "$status" -le 2 ] && { [ "$status" = 0 ] || grep -q "^prof: \|^$file: " "$out/said"; }
    }
    for bomb in $bombs; do
        for command in $bombed; do
            sometimes "bomb_${bomb}_$command" bounded $bomb $command
        done
    done
    [ -z "${ALL:-}" ] || try bomb_zeros_decode bounded zeros decode
    sometimes bomb_deep_decode bounded deep decode
    says bomb_deep_is_told 'nested too deep' 2 "$prof" report "$out/bomb_deep.json.gz"
    says bomb_text_is_told 'an element of more than' 2 "$prof" report "$out/bomb_text.json.gz"

    # A database is read as it lies: no query of its own is run, nothing comes beside it.
    says view_is_no_table 'neither a profile' 2 timeout 200 "$prof" report "$out/view.sqlite"
    wal() {
        ( cd "$out/wal" && timeout 200 "$prof" export -o o.json "wal #1?.sqlite" && grep -q gemm o.json &&
            [ "$(ls)" = "$(printf 'o.json\nwal #1?.sqlite')" ] )
    }
    try leaves_nothing_beside_a_database wal
    rm -f "$out"/bomb_*
else
    echo 'skip names: python3 is not installed'
fi
exit $failed
