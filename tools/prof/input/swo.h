/* What a Cortex-M's SWO pin brings: the bytes of one stimulus port of the ITM out of its packets.
   Zero-initialise. */
#ifndef PROF_TOOL_SWO_H
#define PROF_TOOL_SWO_H

#include <stddef.h>
#include <stdint.h>

typedef struct swo {
    unsigned port;
    unsigned left;                       /* bytes of the packet to come; */
    enum { SWO_OTHER, SWO_OURS, SWO_CONTINUED } in;      /* what they are */
    uint64_t overflows, others, odd;     /* others: bytes of other sources; odd: of no packet */
} swo;

/* The port's bytes of data, in place; their number. */
size_t swo_take(swo *s, unsigned char *data, size_t size);
void swo_tell(const swo *s, const char *path);   /* what was lost; nothing where nothing was */

#endif
