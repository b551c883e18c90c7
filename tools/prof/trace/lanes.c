/* Lanes of a row: see lanes.h. */
#include "trace/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "input/trace_event.h"

void items_add(row_items *items, row_item added) {
    GROW(items->list, items->count, items->capacity);
    items->list[items->count++] = added;
}

static bool item_before(uint32_t one, uint32_t other, const void *list) {
    const row_item *a = (const row_item *)list + one, *b = (const row_item *)list + other;
    if (a->row != b->row) return a->row < b->row;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if (a->what != ITEM_CALL || b->what != ITEM_CALL)
        return a->what == ITEM_CALL && b->what != ITEM_CALL;
    if (a->amount != b->amount) return a->amount > b->amount;
    return outer_of_equals(a->is_pair, one, b->is_pair, other);
}

void items_sort(row_items *items) {
    items->order = sorted_numbers(items->count, item_before, items->list);
}

void items_free(row_items *items) {
    free(items->list);
    free(items->order);
    memset(items, 0, sizeof *items);
}

void lanes_advance(lanes *l, uint32_t number, int64_t ns) {
    struct lane *lane = number < l->count ? &l->list[number] : NULL;
    while (lane && lane->depth && lane->open[lane->depth - 1].end_ns <= ns) {
        lane->depth--;
        if (l->ended) l->ended(l->user, number, &lane->open[lane->depth]);
    }
}

/* The innermost of the calls around it is the one that began last. */
static bool is_further_in(const struct lane *lane, const lane_call *around, int64_t end_ns) {
    const lane_call *last = &lane->open[lane->depth - 1];
    return last->end_ns >= end_ns && (!around || last->start_ns > around->start_ns);
}

static uint32_t fitting_lane(lanes *l, int64_t start_ns, int64_t *end_ns) {
    const lane_call *around = NULL;
    size_t best = l->count;
    for (uint32_t i = 0; i < l->count; i++) {
        lanes_advance(l, i, start_ns);
        const struct lane *lane = &l->list[i];
        if (!lane->depth) {
            if (best == l->count) best = i;
        } else if (is_further_in(lane, around, *end_ns)) {
            around = &lane->open[lane->depth - 1];
            best = i;
        }
    }
    if (best < l->count) return (uint32_t)best;
    if (l->count == MOST_LANES) {
        const struct lane *last = &l->list[l->count - 1];
        *end_ns = last->open[last->depth - 1].end_ns;
        l->shortened++;
        return (uint32_t)l->count - 1;
    }
    GROW(l->list, l->count, l->capacity);
    l->list[l->count] = (struct lane){NULL, 0, 0};
    return (uint32_t)l->count++;
}

uint32_t lanes_take(lanes *l, int64_t start_ns, int64_t *end_ns, uint64_t id) {
    uint32_t number = fitting_lane(l, start_ns, end_ns);
    struct lane *lane = &l->list[number];
    GROW(lane->open, lane->depth, lane->capacity);
    lane->open[lane->depth++] = (lane_call){start_ns, *end_ns, id};
    return number;
}

const lane_call *lanes_innermost(const lanes *l, int64_t ns) {
    const lane_call *best = NULL;
    for (size_t i = 0; i < l->count; i++) {
        const struct lane *lane = &l->list[i];
        for (size_t k = lane->depth; k-- > 0; ) {
            const lane_call *call = &lane->open[k];
            if (call->end_ns < ns) continue;
            if (!best || call->start_ns > best->start_ns) best = call;
            break;
        }
    }
    return best;
}

void lanes_clear(lanes *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        lanes_advance(l, i, INT64_MAX);
        free(l->list[i].open);
    }
    l->count = 0;
}

void lanes_free(lanes *l) {
    l->ended = NULL;
    lanes_clear(l);
    free(l->list);
    memset(l, 0, sizeof *l);
}
