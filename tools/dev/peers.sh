#!/bin/sh
# What a zone costs here and in other profilers: the same loop around each, one after another.
#   tools/dev/peers.sh FOLDER
# FOLDER holds the peers' sources, as git clones them: spall-web (or spall.h alone), tracy, minitrace,
# microprofile. Those that are not there are named. Prints README.md's table, and the times on stderr.
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

column() { names="$names $1 |" rule="$rule---:|" ratios="$ratios $2 |"; }

peer() {   # NAME MACRO FILE FLAG...: FILE shows that its sources are there
    name=$1 macro=$2 shows=$3
    shift 3
    [ -e "$shows" ] || { echo "peers: $name is left out: there is no $shows" >&2; return; }
    # shellcheck disable=SC2086   # a compiler and its flags
    if $cxx -DPEER_"$macro" "$@" tools/dev/peers.cpp $extra -o "$out/$name" -lpthread -ldl >"$out/$name.log" 2>&1 &&
        (cd "$out" && timeout 300 "./$name" >"$name.txt" 2>>"$name.log"); then
        read -r ratio ns <"$out/$name.txt"
        column "$name" "$ratio"
        echo "peers: $name: $ns ns a zone" >&2
    else
        echo "peers: $name: $(grep -m 1 -i 'error' "$out/$name.log" || echo "see build/peers/$name.log")" >&2
        failed=1
    fi
}

failed=0 extra=
names='| A zone of |' rule='|---|' ratios='| x two clock reads |'
spall=$(find "$folder" -maxdepth 2 -name spall.h | head -n 1)
peer prof.h PROF prof.h -I.
peer Spall SPALL "${spall:-$folder/spall.h}" -I"$(dirname "${spall:-.}")"
extra=$folder/tracy/public/TracyClient.cpp
peer Tracy TRACY "$extra" -std=c++17 -DTRACY_ENABLE -DTRACY_NO_BROADCAST -DTRACY_ONLY_LOCALHOST \
    -DTRACY_NO_SAMPLING -DTRACY_NO_SYSTEM_TRACING -I"$folder/tracy/public"
extra=$folder/microprofile/microprofile.cpp
peer microprofile MICROPROFILE "$extra" -DMICROPROFILE_USE_CONFIG=0 -DMICROPROFILE_WEBSERVER=0 -DMICROPROFILE_GPU_TIMERS=0 \
    -I"$folder/microprofile"
extra=$out/minitrace.o
rm -f "$extra"
[ ! -e "$folder/minitrace/minitrace.c" ] ||
    "${CC:-gcc}" -O2 -w -DMTR_ENABLED -c "$folder/minitrace/minitrace.c" -o "$extra"
peer minitrace MINITRACE "$folder/minitrace/minitrace.h" -DMTR_ENABLED -I"$folder/minitrace"
printf '%s\n' "$names" "$rule" "$ratios"
exit $failed
