#!/bin/sh
# Small pieces: prof that reads a few hundred bytes at a time, says of every
# trace to the byte what it says of the whole, and so does one without the processor's wide
# instructions.
# shellcheck disable=SC2086,SC2317   # lists of flags and files are meant to split; try calls functions
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

builds() {   # NAME MODULES COMPILER...: $out/NAME, prof with these modules in small pieces
    made=$1 modules=$2 objects=
    shift 2
    for file in tools/prof/*.c tools/prof/*/*.c; do
        module=$(basename "$file" .c)
        case " $modules " in
        *" $module "*)
            "$@" -fwrapv -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -I. -Itools/prof \
                -DTRACE_CHUNK=256 -c "$file" -o "$out/$made.$module.o" || return 1
            objects="$objects $out/$made.$module.o"
            ;;
        *) file=${file#tools/prof/} objects="$objects $tests_tools/${file%.c}.o" ;;
        esac
    done
    "$@" $objects -o "$out/$made" -lsqlite3 -lz $libs
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

# Texts with escapes, bytes beyond ASCII, what is mended every 500 events, members behind.
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
modules='bytes chrome json_text trace_reader unpack'          # unpack has zlib alone here
try pieces_builds builds small "$modules" $cc $level || exit 1
try pieces_plain_builds builds plain "$modules" $cc $level -U__SSE2__ || exit 1
files="$made $(find tests/command/traces tests/fuzz/corpus/trace -type f |
    awk -v of="${TEST_SAMPLE:-1}" 'NR % of == 0') $(real_traces)"
try pieces_report same "$files" small report
try pieces_validate same "$files" small validate --format json
try pieces_plain same "$files" plain report
try pieces_plain_validate same "$files" plain validate --format json

# The space behind a key may be in the next piece; what follows it is the value all the same.
awk 'BEGIN { printf "{\"traceEvents\":["
    for (i = 0; i < 3000; i++)
        printf "%s{\"ph\":\"X\",\"name\":\"op\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,%s}\n",
            i ? "," : "", 10 * i, "\"args\": {\"External id\":  7, \"Input Dims\":   [[4, 7]], \"x\":   1}"
    print "]}" }' >"$out/spaces.json"
try pieces_spaces same "$out/spaces.json" small report --group-by-input-shape
try pieces_spaces_plain same "$out/spaces.json" plain report --group-by-input-shape
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
try pieces_gzip same "$spoilt $out/rest.json.gz $out/two.json.gz" small report
try pieces_stacks same "$files" small stacks
try pieces_cut same "$files" small cut --to 1s -o -
exit $failed
