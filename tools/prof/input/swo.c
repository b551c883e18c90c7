/* The ITM's packets: see swo.h, and "Trace packet formats" in ARM's manual of ARMv7-M. */
#include "input/swo.h"

#include <stdbool.h>

#include "base/errors.h"

enum { OVERFLOW = 0x70, SYNC_END = 0x80, MOST_CONTINUED = 6 };

/* A packet's first byte: how many more it has, and whose they are. */
static void begin(swo *s, unsigned char head) {
    static const unsigned sizes[] = {0, 1, 2, 4};
    unsigned size = sizes[head & 3];
    s->left = size;
    s->in = SWO_OTHER;
    if (size) {
        bool instrumented = !(head & 4);
        if (instrumented && head >> 3 == s->port) s->in = SWO_OURS;
    } else if (head == OVERFLOW) {
        s->overflows++;
    } else if (head == 0 || head == SYNC_END) {
        return;                          /* zeroes and that are to synchronize by */
    } else if (head & 0x80) {            /* a time stamp, or an extension, in several bytes */
        s->left = MOST_CONTINUED;
        s->in = SWO_CONTINUED;
    } else if (head & 4) {
        s->odd++;                        /* reserved */
    }
}

size_t swo_take(swo *s, unsigned char *data, size_t size) {
    size_t kept = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = data[i];
        if (!s->left) {
            begin(s, byte);
            continue;
        }
        s->left--;
        if (s->in == SWO_OURS) data[kept++] = byte;
        else if (s->in == SWO_OTHER) s->others++;
        else if (!(byte & 0x80)) s->left = 0;    /* the last of those that go on */
    }
    return kept;
}

void swo_tell(const swo *s, const char *path) {
    if (s->overflows)
        warn(path, "the ITM lost bytes %llu times (overflow packets)",
             (unsigned long long)s->overflows);
    if (s->odd)
        warn(path, "%llu bytes are not ITM packets: is it the SWO pin's output, at its rate?",
             (unsigned long long)s->odd);
    if (s->others)
        warn(path, "%llu bytes are of other ports and of the DWT, left out",
             (unsigned long long)s->others);
}
