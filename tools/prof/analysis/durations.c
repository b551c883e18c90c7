/* Exact percentiles: see durations.h. */
#include "analysis/durations.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/span_sorter.h"

enum { FEW = 1 << 10, MOST = 1 << 18 };          /* counts in memory; 3/4 of them are taken */

static const unsigned known_percents[DURATION_PERCENTILES] = {0, 50, 90, 95, 99, 100};

typedef struct duration_count duration_count;

static bool count_before(const void *one, const void *other) {
    const duration_count *a = one, *b = other;
    return a->row != b->row ? a->row < b->row : a->ns < b->ns;
}

static duration_count *count_of(const durations *d, uint32_t row, int64_t ns) {
    size_t mask = d->slot_count - 1, at = hash_mix(hash_mix((uint64_t)ns) + row) & mask;
    while (d->counts[at].count && (d->counts[at].ns != ns || d->counts[at].row != row))
        at = (at + 1) & mask;
    return &d->counts[at];
}

static void sort_count(durations *d, const duration_count *count) {
    if (!d->sorter) d->sorter = sorter_of(sizeof *count, count_before);
    sorter_add(d->sorter, count);
}

static void sort_counts(durations *d) {
    for (size_t i = 0; i < d->slot_count; i++)
        if (d->counts[i].count) sort_count(d, &d->counts[i]);
    if (d->counts) memset(d->counts, 0, d->slot_count * sizeof *d->counts);
    d->count = 0;
}

static void make_room(durations *d) {
    struct duration_count *before = d->counts;
    size_t count = d->slot_count;
    if (4 * d->count < 3 * count) return;
    if (count == MOST) {
        sort_counts(d);
        return;
    }
    d->slot_count = count ? 4 * count : FEW;
    d->counts = allocate(d->slot_count * sizeof *d->counts);
    for (size_t i = 0; i < count; i++)
        if (before[i].count) *count_of(d, before[i].row, before[i].ns) = before[i];
    free(before);
}

void durations_add(durations *d, uint32_t row, int64_t ns) {
    while (d->row_count <= row) {
        GROW(d->rows, d->row_count, d->row_capacity);
        memset(&d->rows[d->row_count++], 0, sizeof *d->rows);
    }
    make_room(d);
    duration_count *count = count_of(d, row, ns);
    d->rows[row].count++;
    d->count += !count->count;
    if (count->count == UINT32_MAX) {
        sort_count(d, count);
        count->count = 0;
    }
    *count = (duration_count){ns, row, count->count + 1};
}

uint64_t durations_count(const durations *d, uint32_t row) {
    return row < d->row_count ? d->rows[row].count : 0;
}

/* From 1. */
static uint64_t rank_of(uint64_t count, unsigned percent) {
    uint64_t rank = (count * percent + 99) / 100;
    return rank ? rank : 1;
}

/* Of all rows at once. */
static void finish(durations *d) {
    duration_count next;
    uint64_t passed = 0;         /* of the row, in ascending order */
    uint32_t row = UINT32_MAX;
    if (d->finished) return;
    d->finished = true;
    sort_counts(d);
    if (!d->sorter) return;
    sorter_finish(d->sorter);
    for (int i = 0; sorter_next(d->sorter, &next); ) {
        if (next.row != row) passed = 0, i = 0;
        row = next.row;
        passed += next.count;
        struct duration_row *r = &d->rows[row];
        while (i < DURATION_PERCENTILES && rank_of(r->count, known_percents[i]) <= passed)
            r->ns[i++] = next.ns;
    }
    sorter_free(d->sorter);
    d->sorter = NULL;
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
    sorter_free(d->sorter);
    free(d->counts);
    free(d->rows);
}
