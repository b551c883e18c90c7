#!/bin/sh
# The sinks of examples/baremetal, on this machine: RTT's buffer, emptied as a probe does; the ITM's
# words in SWO's packets, which prof decode --swo reads; what finds no room is counted.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/sinks.c" <<'END_OF_C'
#define PROF_IMPLEMENTATION
#define PROF_NOW() ticks()
static unsigned ticks(void);
#include "prof.h"
#include <stdio.h>
static unsigned busy;
#define ITM_PATIENCE 50u
#define ITM_PORT 3u
#define ITM_ON() on
#define ITM_READY() (stuck ? 0 : ++busy % 3 == 0)
#define ITM_WORD(word) packet(4, word)
#define ITM_BYTE(byte) packet(1, byte)
static int on = 1, stuck, over;
static void packet(unsigned size, unsigned value) {
    putchar((int)(ITM_PORT << 3 | (size == 4 ? 3 : 1)));
    for (unsigned i = 0; i < size; i++) putchar((int)(value >> 8 * i & 255));
    if (busy % 11 == 0) fwrite("\xc0\x85\x03", 1, 3, stdout);    /* a time stamp */
    if (busy % 13 == 0) fwrite("\x17pc!!", 1, 5, stdout);         /* the DWT's */
    if (busy % 17 == 0) fwrite("\0\0\0\0\0\x80", 1, 6, stdout);   /* to synchronize by */
    if (busy % 19 == 0) fwrite("\x09x", 1, 2, stdout);            /* another port's */
    if (over && busy % 29 == 0) putchar(0x70);
    if (busy % 23 == 0) fwrite("\x30", 1, 1, stdout);             /* a short time stamp */
}
#include "examples/baremetal/itm.h"
#include "examples/baremetal/rtt.h"
static unsigned ticks(void) {
    static unsigned n;
    return n += 10;
}
static bool plain(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, stdout) == size;
}
/* As a probe: looks for the id in memory, and reads what is between the two places. */
static bool drain(void) {
    const unsigned char *memory = (const unsigned char *)&rtt;
    if (memcmp(memory, "SEGGER RTT\0\0\0\0\0\0", 16) != 0) return false;
    while (rtt.up.read != rtt.up.written) {
        putchar(rtt.up.data[rtt.up.read]);
        rtt.up.read = (rtt.up.read + 1) % rtt.up.size;
    }
    return rtt.up_count == 1 && rtt.down_count == 0;
}
int main(int argc, char **argv) {
    const char *how = argv[argc - 1];
    prof_desc desc = {0};
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = *how == 'r' ? rtt_write : *how == 'i' ? itm_write : plain;
    over = how[1] == 'o';
    rtt_open();
    if (prof_start(&desc) != PROF_OK) return 1;
    for (int i = 0; i < 2000; i++) {
        PROF_BLOCK("outer") { PROF_BLOCK("inner") {} }
        stuck = how[1] == 's' && i / 100 == 7;
        if (i % 20 == 19) prof_flush();
        if (*how == 'r' && !(how[1] == 's' && i / 500 == 1) && !drain()) return 2;
    }
    stuck = 0;
    prof_stop();
    if (*how == 'r' && !drain()) return 2;
    return (rtt.dropped != 0) != (*how == 'r' && how[1] == 's');
}
END_OF_C
sends() { "$out/sinks" "$1" >"$out/$1.raw"; }
decodes() {   # NAME OPTION...
    to=$1
    shift
    "$prof" decode "$@" -o "$out/$to.json" "$out/$to.raw"
}
alike() { cmp "$out/plain.json" "$out/$1.json"; }
zones() { grep -o '"ph": *"X"' "$1" | wc -l; }
some() { n=$(zones "$out/$1.json") && [ "$n" -gt 2000 ] && [ "$n" -lt 4000 ]; }
stacks() { "$prof" stacks "$out/$1.json" | cmp "$out/plain.stacks" -; }

try sinks_build "$CC" -std=gnu99 -Wall -Wextra -DPROF_FREESTANDING -DPROF_ARENA_SIZE=8192 -I. \
    "$out/sinks.c" -o "$out/sinks" || exit 1
try sinks_plain sends plain
try sinks_plain_decodes decodes plain
try sinks_plain_all test "$(zones "$out/plain.json")" = 4000
"$prof" stacks "$out/plain.json" >"$out/plain.stacks"
try rtt sends rtt
try rtt_is_the_stream cmp "$out/plain.raw" "$out/rtt.raw"
try rtt_nobody_reads sends rs
says rtt_says_so 'were lost' 0 decodes rs
try rtt_some some rs
try itm sends itm
says itm_other_ports 'are of other ports and of the DWT, left out' 0 decodes itm --swo --swo-port 3
try itm_alike alike itm
says itm_not_that_port 'no byte of port 0 of the ITM' 2 decodes itm --swo
try itm_overflows sends io
says itm_overflows_told 'the ITM lost bytes ' 0 decodes io --swo --swo-port 3
try itm_overflows_alike alike io
try itm_pin_stuck sends is
says itm_stuck_says_so 'were lost' 0 decodes is --swo --swo-port 3
try itm_stuck_some some is
says itm_follow 'inner ' 0 "$prof" decode --follow --swo --swo-port 3 "$out/itm.raw"

# Bytes that the line lost; noise; a file that is none of SWO's.
python3 - "$out/itm.raw" "$out/lossy.raw" <<'PYTHON'
import sys
data = open(sys.argv[1], 'rb').read()
at = len(data) // 2
open(sys.argv[2], 'wb').write(b'\x04\x44' + data[:at] + data[at + 200:])
PYTHON
says itm_lossy 'were lost' 0 decodes lossy --swo --swo-port 3
says itm_odd ' bytes are not ITM packets' 0 decodes lossy --swo --swo-port 3
try itm_lossy_some some lossy
says itm_no_swo 'no byte of port 0 of the ITM' 2 "$prof" decode --swo "$0"
says itm_port 'the ITM has ports 0 to 31' 2 "$prof" decode --swo --swo-port 32 "$out/itm.raw"
exit $failed
