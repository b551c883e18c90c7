/* Exact percentiles: see durations.h. */
#include "durations.h"

#include <stdlib.h>
#include <string.h>

#include "containers.h"

void durations_add(durations *d, uint32_t row, int64_t ns) {
    while (d->row_count <= row) {
        GROW(d->rows, d->row_count, d->row_capacity);
        memset(&d->rows[d->row_count++], 0, sizeof *d->rows);
    }
    struct duration_row *r = &d->rows[row];
    if (r->count == r->capacity) {                           /* most rows have a few calls */
        r->capacity = r->capacity ? r->capacity * 2 : 8;
        r->ns = reallocate(r->ns, r->capacity * sizeof *r->ns);
    }
    r->ns[r->count++] = ns;
}

size_t durations_count(const durations *d, uint32_t row) {
    return row < d->row_count ? d->rows[row].count : 0;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c) {
    if (a > b) { int64_t swap = a; a = b; b = swap; }
    return c < a ? a : c > b ? b : c;
}

/* Puts what is at most the pivot before the rest; returns the first place of the rest. */
static size_t divide(int64_t *ns, size_t low, size_t high, int64_t pivot) {
    for (;;) {
        while (ns[low] < pivot) low++;
        while (ns[high] > pivot) high--;
        if (low >= high) return high + 1;
        int64_t swap = ns[low];
        ns[low++] = ns[high];
        ns[high--] = swap;
    }
}

/* Puts the one of that rank (from 0) in its place, the lesser ones of [low, end) before it.
   What divides badly, as a hostile file may, is sorted. */
static void select_rank(int64_t *ns, size_t low, size_t end, size_t rank) {
    enum { ROUNDS = 48, FEW = 16 };
    for (int round = 0; round < ROUNDS && end - low > FEW; round++) {
        int64_t pivot = middle_of(ns[low], ns[low + (end - low) / 2], ns[end - 1]);
        size_t behind = divide(ns, low, end - 1, pivot);
        if (rank < behind) end = behind;
        else low = behind;
    }
    qsort(ns + low, end - low, sizeof *ns, by_size);
}

void durations_percentiles(durations *d, uint32_t row, const unsigned *percents, size_t count,
                           int64_t *ns) {
    if (!durations_count(d, row)) return;
    struct duration_row *r = &d->rows[row];
    size_t low = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t rank = ((uint64_t)r->count * percents[i] + 99) / 100;       /* from 1 */
        size_t place = rank ? (size_t)rank - 1 : 0;
        select_rank(r->ns, low, r->count, place);
        ns[i] = r->ns[place];
        low = place;
    }
}

void durations_free(durations *d) {
    for (size_t i = 0; i < d->row_count; i++) free(d->rows[i].ns);
    free(d->rows);
}
