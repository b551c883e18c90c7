#!/bin/sh
# prof decode of what a microcontroller's UART brings: the stream of examples/baremetal, built for
# this machine, with bytes lost, bytes changed, a reset in the midst of a block, noise before it.
# shellcheck disable=SC2317   # functions that try calls
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

board=examples/baremetal
whole=$out/whole.raw
build() {
    "${CC:-cc}" -std=gnu99 -DPROF_FREESTANDING -DPROF_ARENA_SIZE=16384 -DFAKE_CLOCK -DSTREAM -I. \
        "$board/control.c" "$board/prof.c" "$board/host.c" -o "$out/program"
}
zones() { grep -o '"ph": *"X"' "$1" | wc -l; }
decode() { "$prof" decode -o "$out/$1.json" "$out/$1.raw"; }
silent() { decode "$1" 2>"$out/warned" && [ ! -s "$out/warned" ]; }
warns() {   # NAME: decodes what is there, and says what is not
    decode "$1" 2>"$out/warned" || [ $? = 1 ] || return 1
    grep -q 'missing\|damaged\|ends early\|without its last block' "$out/warned"
}
size() { wc -c <"$1" | tr -d ' '; }
all() { [ "$(zones "$out/whole.json")" = 43 ]; }
some() {   # NAME LEAST MOST: zones, in a trace that is JSON
    n=$(zones "$out/$1.json")
    python3 -m json.tool "$out/$1.json" >/dev/null && [ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}
without() {   # NAME AT BYTES: the stream without so many
    { head -c "$2" "$whole"; tail -c "+$(($2 + $3 + 1))" "$whole"; } >"$out/$1.raw"
}

try uart_builds build || exit 1
try uart_runs sh -c "'$out/program' >'$whole'"
try uart_whole silent whole
try uart_all all
bytes=$(size "$whole")

# The blocks that a gap touches are lost, and the names where one of them tells those: site#N.
for percent in 5 20 35 50 65 80 95; do
    for lost in 1 3 40 300; do
        name=lost_${percent}_$lost
        without "$name" $((bytes * percent / 100)) "$lost"
        try "uart_says_$name" warns "$name"
        try "uart_$name" some "$name" 12 43
    done
done

# A bit that toggles.
{ head -c 1000 "$whole"; printf '\377'; tail -c +1002 "$whole"; } >"$out/changed.raw"
try uart_says_changed warns changed
try uart_changed some changed 10 43

# A reset in mid-chunk: a stream that breaks off, and a whole one behind it.
{ head -c $((bytes / 2 + 7)) "$whole"; cat "$whole"; } >"$out/reset.raw"
try uart_says_reset warns reset
try uart_reset some reset 43 86

# Noise before it, as when the cable is plugged in.
{ printf 'boot v1.2\r\n\000\377PROF\r\n'; cat "$whole"; } >"$out/noise.raw"
try uart_says_noise warns noise
try uart_noise some noise 43 43
exit $failed
