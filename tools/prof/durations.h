/* How long the calls of each row took, and exact percentiles of them, as prof.h's: nearest rank,
   the ceil(n p / 100)-th of n in ascending order. Memory: 8 to 16 bytes a call. Zero-initialise. */
#ifndef PROF_DURATIONS_H
#define PROF_DURATIONS_H

#include <stddef.h>
#include <stdint.h>

typedef struct durations {
    struct duration_row { int64_t *ns; size_t count, capacity; } *rows;
    size_t row_count, row_capacity;
} durations;

void durations_add(durations *d, uint32_t row, int64_t ns);
size_t durations_count(const durations *d, uint32_t row);
/* percents: in ascending order, 0 to 100: 0 is the least. Nothing is written where the row has
   none. Reorders the row's durations, no more. */
void durations_percentiles(durations *d, uint32_t row, const unsigned *percents, size_t count,
                           int64_t *ns);
void durations_free(durations *d);

#endif
