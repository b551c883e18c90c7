/* Sorting records of any kind: see span_sorter.h. */
#include "base/span_sorter.h"

#include <stdlib.h>
#include <string.h>

struct span_sorter {
    record_before *before;
    size_t size;                 /* of a record */
    char *records;
    size_t count, capacity, next;
    uint32_t *order;             /* NULL: not all are there */
};

static const char *record(const span_sorter *s, size_t number) {
    return s->records + number * s->size;
}

static bool number_before(uint32_t one, uint32_t other, const void *context) {
    const span_sorter *s = context;
    return s->before(record(s, one), record(s, other));
}

span_sorter *sorter_of(size_t size, record_before *before) {
    span_sorter *s = allocate(sizeof *s);
    s->before = before;
    s->size = size;
    return s;
}

void sorter_add(span_sorter *s, const void *added) {
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 64;
        s->records = reallocate(s->records, s->capacity * s->size);
    }
    memcpy(s->records + s->count++ * s->size, added, s->size);
}

void sorter_finish(span_sorter *s) {
    free(s->order);
    s->order = sorted_numbers(s->count, number_before, s);
    s->next = 0;
}

bool sorter_next(span_sorter *s, void *next) {
    if (s->next == s->count) return false;
    memcpy(next, record(s, s->order[s->next++]), s->size);
    return true;
}

void sorter_free(span_sorter *s) {
    if (!s) return;
    free(s->records);
    free(s->order);
    free(s);
}
