/* Ranges that end twice: see raw_ranges.h. */
#include "input/raw_ranges.h"

bool raw_ranges_take(raw_ranges *r, const prof_raw_item *item) {
    if (item->kind == PROF_RAW_SESSION) map_free(&r->ended);
    if (item->kind != PROF_RAW_ASYNC) return true;
    uint64_t bit = (uint64_t)1 << (item->value & 63);
    uint64_t *bits = map_put(&r->ended, (uint64_t)item->value >> 6, NULL);
    bool twice = (*bits & bit) != 0;
    *bits |= bit;
    r->twice += twice;
    return !twice;
}

void raw_ranges_lose(const raw_ranges *r, prof_stats *counts) { counts->async_twice += r->twice; }

void raw_ranges_free(raw_ranges *r) { map_free(&r->ended); }
