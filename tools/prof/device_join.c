/* The device work of a trace by ids: see device_join.h. */
#include "device_join.h"

#include <stdlib.h>
#include <string.h>

static map *map_of(device_join *j, uint8_t kind) {
    return kind == TRACE_RUNTIME ? &j->launches : &j->ops;
}

void join_call(device_join *j, uint8_t kind, int64_t id) {
    if (id != NO_ID) map_put(map_of(j, kind), (uint64_t)id, NULL);
}

/* All are there. */
static void add(device_join *j, const struct early_work *work) {
    uint64_t *op = map_get(&j->ops, (uint64_t)work->external);
    uint64_t *launch = map_get(&j->launches, (uint64_t)work->correlation);
    bool by_op = op_has_work(op, launch, work->external, work->correlation);
    uint64_t *ns = by_op ? op : launch;
    if (ns) *ns += (uint64_t)work->ns;
    else j->unowned++;
    j->by_launch |= !by_op;
}

void join_work(device_join *j, int64_t external, int64_t correlation, int64_t ns) {
    bool by_op = external != NO_ID && external != correlation;
    uint64_t *known = by_op ? map_get(&j->ops, (uint64_t)external)
                            : map_get(&j->launches, (uint64_t)correlation);
    j->works++;
    if (known) {                         /* nothing that may come yet changes it */
        *known += (uint64_t)ns;
        j->by_launch |= !by_op;
        return;
    }
    GROW(j->early, j->early_count, j->early_capacity);
    j->early[j->early_count++] = (struct early_work){external, correlation, ns};
}

void join_finish(device_join *j) {
    for (size_t i = 0; i < j->early_count; i++) add(j, &j->early[i]);
    j->early_count = 0;
}

int64_t join_take(device_join *j, uint8_t kind, int64_t id) {
    bool none = id == NO_ID || (kind == TRACE_RUNTIME && !j->by_launch);
    uint64_t *known = none ? NULL : map_get(map_of(j, kind), (uint64_t)id);
    uint64_t ns = known ? *known : 0;
    if (known) *known = 0;
    return (int64_t)ns;
}

void join_free(device_join *j) {
    map_free(&j->ops);
    map_free(&j->launches);
    free(j->early);
    memset(j, 0, sizeof *j);
}
