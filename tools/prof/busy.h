/* How busy a device is: of the time from the begin of its first kernel, copy or fill to the end of
   the last one, the share in which any of them ran. `prof gaps` and the page of `prof report` both
   have it from here. */
#ifndef PROF_BUSY_H
#define PROF_BUSY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct busy_time {
    bool any;
    int64_t first_ns, last_ns, busy_ns;      /* busy: where works overlap, once */
} busy_time;

/* Works come by their start. */
static inline void busy_add(busy_time *b, int64_t start_ns, int64_t end_ns) {
    if (!b->any) b->first_ns = b->last_ns = start_ns;
    b->any = true;
    if (end_ns <= b->last_ns) return;
    b->busy_ns += end_ns - (start_ns > b->last_ns ? start_ns : b->last_ns);
    b->last_ns = end_ns;
}

static inline int64_t busy_span(const busy_time *b) { return b->last_ns - b->first_ns; }

static inline double busy_share(const busy_time *b) {        /* 0 to 1 */
    return busy_span(b) > 0 ? (double)b->busy_ns / (double)busy_span(b) : 0;
}

#endif
