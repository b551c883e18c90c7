#!/bin/sh
# Reading ahead: prof with blocks of a few events, which joins work in sorters, says of every trace to
# the byte what it says without another thread and in memory, as it does of such small files, and so
# does one without the processor's wide instructions; ThreadSanitizer finds nothing in its reader.
# What is wrong with an event is seen also where the rest of it is as many before it had it.
# shellcheck disable=SC2086,SC2317   # lists of flags and files are meant to split; try calls functions
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

builds() {   # NAME MODULES COMPILER...: $out/NAME, prof with these modules in small blocks
    made=$1 modules=$2 objects=
    shift 2
    for file in tools/prof/*.c tools/prof/*/*.c; do
        module=$(basename "$file" .c)
        case " $modules " in
        *" $module "*)
            "$@" -fwrapv -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -I. -Itools/prof \
                -DAHEAD_BYTES=1024 -DTRACE_CHUNK=256 -DJOIN_BYTES=1024 -c "$file" -o "$out/$made.$module.o" || return 1
            objects="$objects $out/$made.$module.o"
            ;;
        *) file=${file#tools/prof/} objects="$objects $tests_tools/${file%.c}.o" ;;
        esac
    done
    "$@" $objects -o "$out/$made" -lyajl -lsqlite3 -lz $libs
}

tells() {   # COMMAND...: all that it prints, and its exit status
    timeout 60 "$@" 2>"$out/stderr"
    echo "exit status $?"
    cat "$out/stderr"
}
same() {   # FILES COMMAND...
    files=$1 who=$2
    shift 2
    for file in $files; do
        tells "$prof" "$@" "$file" >"$out/alone"
        tells "$out/$who" "$@" "$file" >"$out/beside"
        cmp "$out/alone" "$out/beside" || { echo "$file: $*"; return 1; }
    done
}

# Texts with escapes, bytes beyond ASCII, what stops the thread every 500 events, members behind.
awk 'BEGIN { printf "{\"traceEvents\":["
    for (i = 0; i < 3000; i++)
        printf "%s{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":\"a\\tb\",\"ts\":%d,\"dur\":5%s}\n",
            i ? "," : "", i % 7 ? "op \\\"" i % 5 "\\\" \\u00e9" : "caf\303\251", 10 * i,
            i % 500 == 99 ? ",\"args\":{\"x\":NaN}" : i % 3 ? "" : ",\"args\":{\"External id\":" i "}"
    print "],\"behind\":1}" }' >"$out/odd.json"
gzip -c "$out/odd.json" >"$out/odd.json.gz"
head -c 100000 "$out/odd.json" >"$out/cut.json"
head -c 2000 "$out/odd.json.gz" >"$out/cut.json.gz"
sed 's/"dur":5}$/"dur":5,"args":{"long":"'"$(printf '%0900d' 0)"'"}}/' "$out/odd.json" >"$out/long.json"
made="$out/odd.json $out/odd.json.gz $out/cut.json $out/cut.json.gz $out/long.json"

configure gcc
modules='read_ahead events_ahead bytes chrome json_text trace_reader work_join unpack'          # unpack has zlib alone here
try ahead_builds builds small "$modules" $cc $level || exit 1
try ahead_plain_builds builds plain "$modules" $cc $level -U__SSE2__ || exit 1
files="$made $(find tests/command/traces tests/fuzz/corpus/trace -type f |
    awk -v of="${TEST_SAMPLE:-1}" 'NR % of == 0') $(real_traces)"
try ahead_report same "$files" small report
try ahead_validate same "$files" small validate --format json
try ahead_plain same "$files" plain report
try ahead_plain_validate same "$files" plain validate --format json

# The space behind a key may be in the next block; what follows it is the value all the same.
awk 'BEGIN { printf "{\"traceEvents\":["
    for (i = 0; i < 3000; i++)
        printf "%s{\"ph\":\"X\",\"name\":\"op\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,%s}\n",
            i ? "," : "", 10 * i, "\"args\": {\"External id\":  7, \"Input Dims\":   [[4, 7]], \"x\":   1}"
    print "]}" }' >"$out/spaces.json"
try ahead_spaces same "$out/spaces.json" small report --group-by-input-shape
try ahead_spaces_plain same "$out/spaces.json" plain report --group-by-input-shape
# An event that is odd in the last place, or its arguments are: the same is told of it behind 300 that
# are as they should be and behind one of another category, but for the byte, and counted.
args='"a b":0,"Input Dims":[[4,7],[],"x"],"text":"one two three four five six seven","e":1.5'
like() {   # EVENTS EVENT
    awk -v count="$1" -v args="$args" -v odd="$2" 'BEGIN {
        begin = "{\"ph\":\"X\",\"name\":\"op\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{%s}}"
        printf "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},\n"
        for (i = 0; i < count; i++) printf begin ",\n", 1000 + i, args
        gsub(/&/, args, odd)
        printf "%s]}\n", odd }'
}
bytes_from() { sed -E 's/^prof: [^ ]*: //; s/byte [0-9]+/byte/' "$out/stderr" | tr '\n' ' '; }
byte_of() { sed -nE '1s/.*byte ([0-9]+).*/\1/p' "$out/stderr"; }
told_alike() {
    sed -E 's/\|/\n/g' <<END >"$out/odd_args"
0,"b":|"a b":0 0|"a b":0]|"a b":0},|"a b":0,,|"a b":00|"a b":0,"Input Dims":[[4,7],[],"x"}|"a b":0,"a b":0|"a b":0,"a b":1|\
"a b":0,"Input Dims":[[4,7],[],"x"],"text":"one two three four five six sev\\en"|"a b":0,"Input Dims":[[4,7],[],"x"],|\
"a b":NaN,"Input Dims":[[4,7],[],"x"]|"a b":0,"Input Dims":[[4,7],[]"x"]|"a b":0,"Input Dims":[[4,7],[],"x"] x
END
    begin='"ph":"X","name":"op","cat":"cpu_op","pid":1,"tid":1'
    sed "s/.*/$begin,\"ts\":2000,\"dur\":1,\"args\":{&}/" "$out/odd_args" >"$out/odd_events"
    sed -E "s/\|/\\n/g; s/BEGIN/$begin/g" <<END >>"$out/odd_events"
BEGIN,"ts":2000|BEGIN,"ts":2000,"dur":1,"ts":2001|BEGIN,"ts":2000,"dur":1,"args":{&},"ts":2000|BEGIN,"ts":2000,"dur":-1|\
BEGIN,"ts":2000,"dur":1,"args":{&},"cat":"cpu_op"|BEGIN,"ts":2000,"dur":1,"args":{&},"cat":"kernel"|BEGIN,"ts":NaN,"dur":1|\
BEGIN,"ts":2000,"dur":1,"args":{&},"ph":"i"|BEGIN,"ts":2000,"dur":1,"args":{&},"name":"op"|BEGIN,"ts":20000000000000000,"dur":1|\
BEGIN,"ts":2000,"dur":1,"args":{&},"args":{}|BEGIN,"ts":2000,"dur":1,"args":{&},"ts":NaN|BEGIN,"ts":2000,"dur":1,"args":{&},|\
BEGIN,"ts":2000,"dur":1,"args":{&} "x":1|BEGIN,"ts":2000,"dur":1,"args":{&},"pid":1|BEGIN,"ts":2000,"dur":1,"args":{&},"tid":2|\
BEGIN 1,"ts":2000,"dur":1|BEGIN,"ts":02,"dur":1|BEGIN,"ts":[],"dur":1|BEGIN,"ts":2000,"dur":"1"|BEGIN,"ts":2000,"dur":1]
END
    sed 's/.*/{&}/' "$out/odd_events" | awk -v of="${TEST_SAMPLE:-1}" 'NR % of == 1 || of == 1' >"$out/odd_sample"
    while IFS= read -r odd; do
        for who in $prof $out/small $out/plain; do
            like 300 "$odd" >"$out/like.json"
            like 0 "$odd" >"$out/alone.json"
            "$who" report "$out/alone.json" >"$out/alone" 2>"$out/stderr"
            status=$? said=$(bytes_from) byte=$(byte_of)
            [ "$said" ] || { echo "nothing is said of $odd"; return 1; }
            "$who" report "$out/like.json" >"$out/beside" 2>"$out/stderr"
            [ "$? $(bytes_from)" = "$status $said" ] || { echo "$odd: $said"; bytes_from; return 1; }
            [ -z "$byte" ] && continue
            further=$(($(wc -c <"$out/like.json") - $(wc -c <"$out/alone.json")))
            [ "$(byte_of)" = $((byte + further)) ] || { echo "$odd: at $(byte_of), not $byte + $further"; return 1; }
        done
    done <"$out/odd_sample"
}
try ahead_like told_alike
# Of a damaged .gz the same is read, and told, with isa-l and with zlib.
spoilt=
for at in 12 100 300 1000 2000 3000 5000; do
    for by in x yyyyyyyy; do
        file=$out/spoilt$at$by.json.gz
        { head -c $at "$out/odd.json.gz"; printf %s $by; tail -c +$((at + 1 + ${#by})) "$out/odd.json.gz"; } >"$file"
        spoilt="$spoilt $file"
    done
done
for at in $(seq 2000 $((173 * ${TEST_SAMPLE:-1})) 14000); do
    head -c "$at" "$out/odd.json.gz" >"$out/cut$at.json.gz"
    spoilt="$spoilt $out/cut$at.json.gz"
done
{ cat "$out/odd.json.gz"; echo rest; } >"$out/rest.json.gz"
{ gzip -c "$out/cut.json"; sed 's/^{"traceEvents":\[/,/' "$out/odd.json" | gzip -c; } >"$out/two.json.gz"
try ahead_gzip same "$spoilt $out/rest.json.gz $out/two.json.gz" small report
try ahead_stacks same "$files" small stacks
try ahead_cut same "$files" small cut --to 1s -o -

command -v clang >/dev/null || { echo 'skip ahead_threads: it needs clang'; exit $failed; }
configure tsan
modules="$modules trace_pairs rows call_tree"
try ahead_threads_builds builds threads "$modules" $cc ${level:+$level} || exit 1
TSAN_OPTIONS=exitcode=66
export TSAN_OPTIONS
try ahead_threads same "$made" threads report
exit $failed
