/* The ranks that traces are of: see rank_id.h. */
#include "trace/rank_id.h"

#include "trace/trace_range.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1 << 16 };   /* of a file */

void rank_read(rank_id *id, const trace_member *member) {
    trace_text rest = member->value, key, value;
    int64_t number;
    if (!text_is(member->key, "distributedInfo") || *member->value.data != '{') return;
    while (json_next(&rest, &key, &value)) {
        if (!json_int(value, &number) || number < 0 || number > INT32_MAX) continue;
        if (text_is(key, "world_size")) id->world_size = number;
        if (!text_is(key, "rank")) continue;
        id->told = true;
        id->rank = number;
    }
}

void merged_read(merged_ranks *m, const trace_member *member) {
    trace_text list = member->value, none, rank, rest, key, value;
    int64_t number;
    if (!text_is(member->key, "ranks") || m->count || *member->value.data != '[') return;
    while (json_next(&list, &none, &rank)) {
        bool told = false;
        for (rest = rank; *rank.data == '{' && json_next(&rest, &key, &value); )
            told |= text_is(key, "rank") && json_int(value, &number) && number >= 0 &&
                    number <= INT32_MAX;
        if (!told || m->count == MOST_RANKS) {
            merged_free(m);
            return;
        }
        GROW(m->ranks, m->count, m->capacity);
        m->ranks[m->count++] = number;
    }
}

uint32_t merged_place(const merged_ranks *m, int64_t pid) {
    int64_t place = pid / PIDS_OF_A_RANK - 1;
    return merged_any(m) && place >= 0 && place < m->count ? (uint32_t)place : 0;
}

uint32_t merged_next(const merged_ranks *m, uint32_t place) {
    do place++;
    while (place < m->count && m->ranks[place] == m->ranks[place - 1]);
    return place < m->count ? place : 0;
}

void merged_free(merged_ranks *m) {
    free(m->ranks);
    *m = (merged_ranks){NULL, 0, 0};
}

/* Is one a later or earlier window of the other's rank? */
static bool is_window(const rank_id *a, const rank_id *b) {
    return a->told && b->told && a->rank == b->rank && a->world_size == b->world_size &&
           (a->first_ns || a->last_ns) && (b->first_ns || b->last_ns) &&
           (a->last_ns <= b->first_ns || b->last_ns <= a->first_ns);
}

/* Says why the ranks that are told do not do; false: they do. */
static bool tell_why_not(rank_id *const *ids, size_t count, bool always) {
    size_t untold = 0, first = 0;
    const char *same = NULL, *as = NULL;
    for (size_t i = count; i-- > 0; ) {
        if (!ids[i]->told) untold++, first = i;
        for (size_t k = count; ids[i]->told && k-- > i + 1; )
            if (ids[k]->told && ids[k]->rank == ids[i]->rank && !is_window(ids[i], ids[k]))
                same = ids[i]->path, as = ids[k]->path;
    }
    if (untold > 1 && (always || untold < count))
        warn(ids[first]->path, "it does not say its rank (distributedInfo), nor %s %zu more: "
             "ranks are the files in their order", untold == 2 ? "does" : "do", untold - 1);
    else if (untold && (always || untold < count))
        warn(ids[first]->path, "it does not say its rank (distributedInfo): ranks are the files "
             "in their order");
    else if (same)
        warn(as, "it is of the same rank as %s: ranks are the files in their order", same);
    return untold || same;
}

static bool rank_before(uint32_t a, uint32_t b, const void *context) {
    rank_id *const *ids = context;
    if (ids[a]->rank != ids[b]->rank) return ids[a]->rank < ids[b]->rank;
    return ids[a]->first_ns < ids[b]->first_ns;
}

uint32_t *ranks_order(void *rows, size_t size, size_t *count, bool always) {
    rank_id **ids = allocate((*count + 1) * sizeof *ids);
    uint32_t *numbers = allocate((*count + 1) * sizeof *numbers);
    size_t left = 0;
    for (size_t i = 0; i < *count; i++) {
        ids[left] = (rank_id *)(void *)((char *)rows + i * size);
        if (ids[left]->failed) continue;
        numbers[left++] = (uint32_t)i;
    }
    bool renumbered = tell_why_not(ids, left, always);
    for (size_t i = 0; renumbered && i < left; i++) {
        ids[i]->told = false;
        ids[i]->rank = (int64_t)i;
    }
    uint32_t *order = sorted_numbers(left, rank_before, ids);
    for (size_t i = 0; i < left; i++) order[i] = numbers[order[i]];
    free(ids);
    free(numbers);
    *count = left;
    return order;
}

int64_t clock_add(const clock_line *clock, int64_t ns) {
    if (clock->rate == 0) return clock->add_ns;
    double more = clock->rate * ((double)ns - (double)clock->at_ns);
    return time_add(clock->add_ns, (int64_t)(more < 0 ? more - 0.5 : more + 0.5));
}

bool align_is(const align_options *o, const char *by) { return o->by && strcmp(o->by, by) == 0; }

bool align_given(const align_options *o) { return o->by || o->offsets.count; }

const char *align_zone(const align_options *o) {
    if (!o->by || align_is(o, "collectives") || align_is(o, "start")) return NULL;
    return strncmp(o->by, "zone:", 5) == 0 ? o->by + 5 : o->by;
}

/* Is it this file's, which may be named without its folder? */
static bool is_offset_of(const char *offset, const char *path, int64_t *ns) {
    const char *time = strrchr(offset, '='), *name = strrchr(path, '/');
    size_t size = time ? (size_t)(time - offset) : 0;
    if (!time || !ends_with(time, "s") || !time_parse(time + 1, ns)) return false;
    return (strlen(path) == size && memcmp(path, offset, size) == 0) ||
           (name && strlen(name + 1) == size && memcmp(name + 1, offset, size) == 0);
}

int64_t align_offset(const align_options *o, const char *path) {
    int64_t ns;
    for (size_t i = 0; i < o->offsets.count; i++)
        if (is_offset_of(o->offsets.items[i], path, &ns)) return ns;
    return 0;
}

bool align_fits(align_options *o, char *const *paths, int count) {
    int64_t ns;
    if (align_is(o, "base")) o->by = NULL;
    if (align_is(o, "zone:")) return fail("--align", "zone: needs a NAME behind it"), false;
    for (size_t i = 0; i < o->offsets.count; i++) {
        bool found = false;
        for (int k = 0; k < count; k++) {
            if (!is_offset_of(o->offsets.items[i], paths[k], &ns)) continue;
            found = true;
            for (size_t other = 0; other < i; other++)
                if (is_offset_of(o->offsets.items[other], paths[k], &ns))
                    return fail("--offset", "%s has two: '%s', '%s'", paths[k],
                                o->offsets.items[other], o->offsets.items[i]), false;
        }
        if (!found)
            return fail("--offset", "'%s' is not FILE=TIME (1.5s, -20ms, 300us) of one of the "
                        "files", o->offsets.items[i]), false;
    }
    return true;
}
