/* The ranks that traces are of: see rank_id.h. */
#include "trace/rank_id.h"

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

/* Says why the ranks that are told do not do; false: they do. */
static bool tell_why_not(rank_id *const *ids, size_t count, bool always) {
    map ranks = {0};
    size_t untold = 0, first = 0;
    const char *same = NULL, *as = NULL;
    for (size_t i = count; i-- > 0; ) {
        bool is_new;
        uint64_t *number = map_put(&ranks, (uint64_t)ids[i]->rank, &is_new);
        if (!ids[i]->told) untold++, first = i;
        else if (!is_new) same = ids[i]->path, as = ids[*number]->path;
        *number = i;
    }
    map_free(&ranks);
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
