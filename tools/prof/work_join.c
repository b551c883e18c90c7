/* Work to its calls in constant memory: see work_join.h. */
#include "work_join.h"

#include <stdlib.h>

#include "span_sorter.h"

typedef struct entry {
    joined joined;
    int64_t id;
    uint64_t work;               /* its number */
    uint32_t kind;               /* of the id: PROF_JOIN_..., JOIN_ZONE */
    bool is_call, same_ids;      /* same_ids: the external id only repeats the correlation id */
} entry;

struct work_join {
    span_sorter *ids, *works;
    uint64_t count;              /* works */
};

static bool id_before(const void *one, const void *other) {
    const entry *a = one, *b = other;
    if (a->id != b->id) return a->id < b->id;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->is_call != b->is_call) return a->is_call;
    return a->kind == JOIN_ZONE ? a->joined.order > b->joined.order
                                : a->joined.order < b->joined.order;
}

/* Behind each work the calls that were found. */
static bool work_before(const void *one, const void *other) {
    const entry *a = one, *b = other;
    return a->work != b->work ? a->work < b->work : b->is_call && !a->is_call;
}

work_join *work_join_new(void) {
    work_join *j = allocate(sizeof *j);
    j->ids = sorter_of(sizeof(entry), id_before);
    j->works = sorter_of(sizeof(entry), work_before);
    return j;
}

void work_join_free(work_join *j) {
    if (!j) return;
    sorter_free(j->ids);
    sorter_free(j->works);
    free(j);
}

void work_join_call(work_join *j, uint32_t kind, int64_t id, const joined *call) {
    entry e = {.joined = *call, .id = id, .kind = kind, .is_call = true};
    if (id != PROF_NO_ID) sorter_add(j->ids, &e);
}

void work_join_work(work_join *j, const int64_t ids[JOINS], const joined *work) {
    entry e = {.joined = *work, .work = j->count++,
               .same_ids = ids[PROF_JOIN_OP] == ids[PROF_JOIN_LAUNCH]};
    sorter_add(j->works, &e);
    for (uint32_t kind = 0; kind < JOINS; kind++) {
        e.kind = kind;
        e.id = ids[kind];
        if (e.id != PROF_NO_ID) sorter_add(j->ids, &e);
    }
}

/* Of each work, the calls that have its ids. */
static void find_calls(work_join *j) {
    entry e, known = {.id = PROF_NO_ID};
    sorter_finish(j->ids);
    while (sorter_next(j->ids, &e)) {
        bool same = e.id == known.id && e.kind == known.kind;
        if (e.is_call && !same) known = e;
        if (e.is_call || !same) continue;
        known.work = e.work;
        sorter_add(j->works, &known);
    }
    sorter_free(j->ids);
    j->ids = NULL;
}

/* The one of them that counts. */
static uint32_t kind_of(const entry *work, const bool found[JOINS]) {
    bool by_op = found[PROF_JOIN_OP] && !(found[PROF_JOIN_LAUNCH] && work->same_ids);
    return found[JOIN_ZONE] ? JOIN_ZONE : by_op ? PROF_JOIN_OP : PROF_JOIN_LAUNCH;
}

void work_join_each(work_join *j, take_joined *take, void *user) {
    entry next, work = {0}, calls[JOINS];
    bool any = false, found[JOINS] = {false}, more = j->count > 0;
    if (more) find_calls(j);
    sorter_finish(j->works);
    while (more) {
        more = sorter_next(j->works, &next);
        if (more && next.is_call) {
            calls[next.kind] = next;
            found[next.kind] = true;
            continue;
        }
        uint32_t kind = kind_of(&work, found);
        if (any) take(user, &work.joined, found[kind] ? &calls[kind].joined : NULL, kind);
        any = true;
        work = next;
        for (int i = 0; i < JOINS; i++) found[i] = false;
    }
    work_join_free(j);
}
