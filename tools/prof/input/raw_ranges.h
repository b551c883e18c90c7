/* Ranges of a raw stream (prof_async_begin) by their ends, of which only the first one that the
   stream has counts. It takes a bit for each range. Zero-initialise; raw_ranges_free. */
#ifndef PROF_RAW_RANGES_H
#define PROF_RAW_RANGES_H

#include "base/common.h"
#include "raw_read.h"

typedef struct raw_ranges {
    map ended;                   /* 64 of a session's ids in a value */
    uint64_t twice;
} raw_ranges;

/* Of each item: false: the end of a range that had ended. */
bool raw_ranges_take(raw_ranges *r, const prof_raw_item *item);
void raw_ranges_lose(const raw_ranges *r, prof_stats *counts);   /* adds what ended twice */
void raw_ranges_free(raw_ranges *r);

#endif
