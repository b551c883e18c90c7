/* The ranks that traces are of: see rank_id.h. */
#include "trace/rank_id.h"

#include "trace/trace_range.h"

#include <string.h>

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

bool rank_is_window(const rank_id *a, const rank_id *b) {
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
            if (ids[k]->told && ids[k]->rank == ids[i]->rank && !rank_is_window(ids[i], ids[k]))
                same = ids[i]->path, as = ids[k]->path;
    }
    if (untold > 1 && (always || untold < count))
        warn(ids[first]->path, "it does not tell its rank (distributedInfo), nor do %zu more: "
             "ranks are the files in their order", untold - 1);
    else if (untold && (always || untold < count))
        warn(ids[first]->path, "it does not tell its rank (distributedInfo): ranks are the files "
             "in their order");
    else if (same)
        warn(as, "it is of the same rank as %s: ranks are the files in their order", same);
    return untold || same;
}

void ranks_number(rank_id *const *ids, size_t count, bool always) {
    if (!tell_why_not(ids, count, always)) return;
    for (size_t i = 0; i < count; i++) {
        ids[i]->told = false;
        ids[i]->rank = (int64_t)i;
    }
}

const char *align_zone(const char *align) {
    return strcmp(align, "base") == 0 || strcmp(align, "collectives") == 0 ? NULL : align;
}

/* Is it this file's, which may be named without its folder? */
static bool is_offset_of(const char *offset, const char *path, int64_t *ns) {
    const char *time = strrchr(offset, '='), *name = strrchr(path, '/');
    size_t size = time ? (size_t)(time - offset) : 0;
    if (!time || !time_parse(time + 1, ns)) return false;
    return (strlen(path) == size && memcmp(path, offset, size) == 0) ||
           (name && strlen(name + 1) == size && memcmp(name + 1, offset, size) == 0);
}

int64_t offset_of(const text_list *offsets, const char *path) {
    int64_t ns;
    for (size_t i = 0; i < offsets->count; i++)
        if (is_offset_of(offsets->items[i], path, &ns)) return ns;
    return 0;
}

bool offsets_fit(const text_list *offsets, char *const *paths, int count) {
    int64_t ns;
    for (size_t i = 0; i < offsets->count; i++) {
        bool found = false;
        for (int k = 0; k < count; k++) found |= is_offset_of(offsets->items[i], paths[k], &ns);
        if (!found)
            return fail("--offset", "'%s' is not FILE=TIME (1.5s, -20ms, 300us) of one of the "
                        "files", offsets->items[i]), false;
    }
    return true;
}
