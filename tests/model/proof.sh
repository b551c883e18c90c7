#!/bin/sh
# Frama-C's Eva over parts of prof.h (tests/model/proof.c): a line for each, and how many alarms it gave.
# Of 32-bit machines, like those the freestanding build is for.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v frama-c >/dev/null || { echo 'skip proof: frama-c is not installed'; exit 0; }
out=build/proof
mkdir -p $out
status=0

prove() {   # NAME STATES WHAT [OPTION...]; STATES: how many Eva may keep apart
    name=$1 states=$2 what=$3
    shift 3
    frama-c -machdep gcc_x86_32 -unsafe-arrays -cpp-extra-args=-I. tests/model/proof.c -main "proof_$name" \
        -eva -eva-precision 4 -eva-slevel "$states" -eva-no-print "$@" >"$out/$name.log" 2>&1
    alarms=$(sed -n 's/^  \([0-9]*\) alarms* generated.*/\1/p' "$out/$name.log")
    proven=$(grep -c '100% of the logical properties reached have been proven' "$out/$name.log")
    if [ "$alarms" = 0 ] && [ "$proven" = 1 ]; then
        echo "ok proof_$name: $what"
    else
        echo "not ok proof_$name: ${alarms:-no} alarms, see $out/$name.log"
        status=1
    fi
}

prove numbers 1000 'text of every 64-bit number' -eva-use-spec prof__divide
prove rounding 3000 'rounding to 53 bits of every 64-bit number'
prove reals 1000 'text of every double, of products, quotients and shares' -eva-use-spec prof__real_round,prof__divide
prove amounts 3000 'amounts of memory, in a buffer of 20 bytes' -eva-use-spec prof__divide
prove arena 20000 'three takes of 1 to 112 bytes in an arena of 96'
# volatile: what an interrupt might change between any two reads is not looked at
prove pages 2000 'pages of 2 or 4 records in an arena of 144 bytes' -cpp-extra-args="-Dvolatile= -D__TINYC__"
prove ring 2000 'a ring of two pages of 2 or 4 records, overwritten' -cpp-extra-args="-Dvolatile= -D__TINYC__"
exit $status
