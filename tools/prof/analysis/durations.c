/* Exact percentiles: see durations.h. */
#include "analysis/durations.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FEW = 1 << 10 };          /* counts at first; 3/4 of them are taken */

static const unsigned known_percents[DURATION_PERCENTILES] = {0, 50, 90, 95, 99, 100};

typedef struct duration_count duration_count;

static int by_row_and_ns(const void *one, const void *other) {
    const duration_count *a = one, *b = other;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static duration_count *count_of(const durations *d, uint32_t row, int64_t ns) {
    size_t mask = d->slot_count - 1, at = hash_mix(hash_mix((uint64_t)ns) + row) & mask;
    while (d->counts[at].count && (d->counts[at].ns != ns || d->counts[at].row != row))
        at = (at + 1) & mask;
    return &d->counts[at];
}

static void make_room(durations *d) {
    struct duration_count *before = d->counts;
    size_t count = d->slot_count;
    if (4 * d->count < 3 * count) return;
    d->slot_count = count ? 2 * count : FEW;
    d->counts = allocate(d->slot_count * sizeof *d->counts);
    for (size_t i = 0; i < count; i++)
        if (before[i].count) *count_of(d, before[i].row, before[i].ns) = before[i];
    free(before);
}

void durations_add(durations *d, uint32_t row, int64_t ns) {
    GROW_TO(d->rows, row, d->row_capacity);
    make_room(d);
    duration_count *count = count_of(d, row, ns);
    d->rows[row].count++;
    d->count += !count->count;
    *count = (duration_count){ns, count->count + 1, row};
}

uint64_t durations_count(const durations *d, uint32_t row) {
    return row < d->row_capacity ? d->rows[row].count : 0;
}

/* From 1. */
static uint64_t rank_of(uint64_t count, unsigned percent) {
    uint64_t rank = (count * percent + 99) / 100;
    return rank ? rank : 1;
}

/* Of all rows at once. */
static void finish(durations *d) {
    uint64_t passed = 0;         /* of the row, in ascending order */
    size_t count = 0;
    if (d->finished) return;
    d->finished = true;
    for (size_t i = 0; i < d->slot_count; i++)
        if (d->counts[i].count) d->counts[count++] = d->counts[i];
    if (count) qsort(d->counts, count, sizeof *d->counts, by_row_and_ns);
    for (size_t at = 0, i = 0; at < count; at++) {
        const duration_count *next = &d->counts[at];
        if (!at || next->row != next[-1].row) passed = 0, i = 0;
        passed += next->count;
        struct duration_row *r = &d->rows[next->row];
        while (i < DURATION_PERCENTILES && rank_of(r->count, known_percents[i]) <= passed)
            r->ns[i++] = next->ns;
    }
}

void durations_percentiles(durations *d, uint32_t row, const unsigned *percents, size_t count,
                           int64_t *ns) {
    finish(d);
    if (!durations_count(d, row)) return;
    for (size_t i = 0; i < count; i++)
        for (int known = 0; known < DURATION_PERCENTILES; known++)
            if (known_percents[known] == percents[i]) ns[i] = d->rows[row].ns[known];
}

void durations_free(durations *d) {
    free(d->counts);
    free(d->rows);
}
