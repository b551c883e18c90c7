#!/bin/sh
# What a zone costs here and in other profilers: the same loop around each, in TURNS (5) turns.
#   tools/dev/peers.sh FOLDER
# FOLDER holds the peers' sources, as git clones them: spall-web (or spall.h alone), tracy, minitrace,
# microprofile. LTTng-UST is Debian's (lttng-tools, liblttng-ust-dev). Those that are not there are
# named. Prints README.md's table, medians of the turns, and the times on stderr.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ -d "${1:-}" ] || {
    echo "peers: usage: tools/dev/peers.sh FOLDER, which holds clones of spall-web, tracy, minitrace, microprofile" >&2
    exit 2
}
folder=$(cd "$1" && pwd)
out=$PWD/build/peers
cxx="${CXX:-g++} -std=c++11 -O2 -w"
mkdir -p "$out"

build() {   # NAME MACRO FILE FLAG...: FILE shows that its sources are there
    name=$1 macro=$2 shows=$3
    shift 3
    [ -e "$shows" ] || { echo "peers: $name is left out: there is no $shows" >&2; return; }
    rm -f "$out/$name.txt"
    # shellcheck disable=SC2086   # a compiler and its flags
    if $cxx -DPEER_"$macro" tools/dev/peers.cpp $extra "$@" -o "$out/$name" -lpthread -ldl >"$out/$name.log" 2>&1
    then names="$names $name"
    else said
    fi
}

said() { echo "peers: $name: $(grep -m 1 -i 'error' "$out/$name.log" || echo "see build/peers/$name.log")" >&2; failed=1; }

run() {   # NAME
    [ "$1" != LTTng ] || lttng_begin >>"$out/$1.log" 2>&1 || return
    (cd "$out" && timeout 300 "./$1" >>"$1.txt" 2>>"$1.log")
    result=$?
    [ "$1" != LTTng ] || lttng_end >>"$out/$1.log" 2>&1
    return $result
}

# Buffers hold a round; a daemon of its own writes them.
lttng_begin() {
    pgrep -x lttng-sessiond || lttng-sessiond --daemonize || return
    lttng create peers --output="$out/lttng" && lttng enable-channel -u --subbuf-size=4M --num-subbuf=4 zones &&
        lttng enable-event -u -c zones 'peers:*' && lttng start
}
lttng_end() {
    lttng destroy peers
    rm -rf "$out/lttng"
}

median() { awk '{print $'"$2"'}' "$out/$1.txt" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

failed=0 extra='' names=''
spall=$(find "$folder" -maxdepth 2 -name spall.h | head -n 1)
build prof.h PROF prof.h -I.
build Spall SPALL "${spall:-$folder/spall.h}" -I"$(dirname "${spall:-.}")"
extra=$folder/tracy/public/TracyClient.cpp
build Tracy TRACY "$extra" -std=c++17 -DTRACY_ENABLE -DTRACY_NO_BROADCAST -DTRACY_ONLY_LOCALHOST \
    -DTRACY_NO_SAMPLING -DTRACY_NO_SYSTEM_TRACING -I"$folder/tracy/public"
extra=$folder/microprofile/microprofile.cpp
build microprofile MICROPROFILE "$extra" -DMICROPROFILE_USE_CONFIG=0 -DMICROPROFILE_WEBSERVER=0 -DMICROPROFILE_GPU_TIMERS=0 \
    -I"$folder/microprofile"
extra=$out/minitrace.o
rm -f "$extra"
[ ! -e "$folder/minitrace/minitrace.c" ] ||
    "${CC:-gcc}" -O2 -w -DMTR_ENABLED -c "$folder/minitrace/minitrace.c" -o "$extra"
build minitrace MINITRACE "$folder/minitrace/minitrace.h" -DMTR_ENABLED -I"$folder/minitrace"
extra=
build LTTng LTTNG "$(command -v lttng-sessiond || echo lttng-sessiond)" -I. -llttng-ust
for turn in $(seq "${TURNS:-5}"); do
    echo "peers: turn $turn" >&2
    for name in $names; do run "$name" || said; done
done
pkill -x lttng-sessiond

head='| A zone of |' rule='|---|' ratios='| x two clock reads |'
for name in $names; do
    head="$head $name |" rule="$rule---:|" ratios="$ratios $(median "$name" 1) |"
    echo "peers: $name: $(median "$name" 2) ns a zone" >&2
done
printf '%s\n' "$head" "$rule" "$ratios"
exit $failed
