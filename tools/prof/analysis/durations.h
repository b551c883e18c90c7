/* How long the calls of each row took, and exact percentiles of them, as prof.h's: nearest rank,
   the ceil(n p / 100)-th of n in ascending order. Equal ones are counted. Zero-initialise. */
#ifndef PROF_DURATIONS_H
#define PROF_DURATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DURATION_PERCENTILES = 6 };               /* 0, 50, 90, 95, 99 and 100: 0 is the least */

typedef struct durations {
    struct duration_row { uint64_t count; int64_t ns[DURATION_PERCENTILES]; } *rows;
    size_t row_capacity;
    struct duration_count { int64_t ns; uint64_t count; uint32_t row; } *counts; /* count 0: none */
    size_t count, slot_count;
    bool finished;
} durations;

void durations_add(durations *d, uint32_t row, int64_t ns);
uint64_t durations_count(const durations *d, uint32_t row);
/* percents: of those above. Nothing is written where the row has none. After the first of these
   nothing is added. */
void durations_percentiles(durations *d, uint32_t row, const unsigned *percents, size_t count,
                           int64_t *ns);
void durations_free(durations *d);

#endif
