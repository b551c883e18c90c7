/* A prof_sink into memory that a debug probe empties while the program runs: the control block of
   SEGGER's RTT, which J-Link's server, OpenOCD (rtt start), pyOCD and probe-rs look for in RAM.

       desc.stream = (prof_sink){rtt_write, NULL};       after rtt_open()
       prof decode --connect localhost:19021 --follow -o trace.json

   What finds no room is left out whole: prof decode counts such blocks as missing, rtt.dropped the
   bytes. Only one context may write at a time, as prof.h's sinks are called. */
#ifndef RTT_H
#define RTT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef RTT_BYTES
#  define RTT_BYTES 2048u                /* of the buffer; one block of the stream is up to 616 */
#endif

typedef struct rtt_buffer {
    const char *name;
    unsigned char *data;
    uint32_t size;
    volatile uint32_t written, read;     /* where the next byte goes; where the probe reads next */
    uint32_t flags;                      /* 0: what has no room is left out */
} rtt_buffer;

static struct rtt {
    char id[16];                         /* by which probes find it */
    int32_t up_count, down_count;
    rtt_buffer up;
    uint32_t dropped;                    /* ours, behind what probes know: bytes */
    unsigned char data[RTT_BYTES];
} rtt;

#if defined(__arm__)
#  define RTT_BARRIER() __asm__ volatile("dmb" : : : "memory")
#else
#  define RTT_BARRIER() __asm__ volatile("" : : : "memory")
#endif

/* The id comes last, and stands nowhere else: a probe must find no block that is half made. */
static inline void rtt_open(void) {
    static const char backwards[] = "TTR REGGES";
    rtt.up_count = 1;
    rtt.up.name = "prof";
    rtt.up.data = rtt.data;
    rtt.up.size = RTT_BYTES;
    rtt.up.written = rtt.up.read = rtt.dropped = 0;
    RTT_BARRIER();
    for (int i = 0; i < 10; i++) ((volatile char *)rtt.id)[i] = backwards[9 - i];
}

static inline bool rtt_write(void *user, const void *data, size_t size) {
    const unsigned char *from = (const unsigned char *)data;
    uint32_t at = rtt.up.written, read = rtt.up.read;
    uint32_t room = (read > at ? read - at : RTT_BYTES - at + read) - 1;
    (void)user;
    if (read >= RTT_BYTES || room < size) {
        rtt.dropped += (uint32_t)size;
        return true;                     /* the stream goes on: numbers of blocks tell the loss */
    }
    for (; size; size--) {
        rtt.data[at++] = *from++;
        if (at == RTT_BYTES) at = 0;
    }
    RTT_BARRIER();                       /* the bytes before the place behind them */
    rtt.up.written = at;
    return true;
}

#endif
