/* Work to its calls: see work_join.h. As long as they fit, calls stand in memory with a table of
   their ids, and works in the order in which they came. What is more goes through two sorters: by
   ids, where a work meets its calls, and what was found by works. */
#include "trace/work_join.h"

#include <stdlib.h>

#include "base/span_sorter.h"

#ifndef JOIN_BYTES               /* tests join few in sorters, too */
#  define JOIN_BYTES (24 << 20)  /* in memory */
#endif

enum { MOST_ORDER = (1 << 30) - 1 };     /* of a call in memory */

typedef struct entry {
    joined joined;
    int64_t id;
    uint64_t work;               /* its number */
    uint32_t kind;               /* of the id: JOIN_..., JOIN_ZONE */
    bool is_call, same_ids;      /* same_ids: the external id only repeats the correlation id */
} entry;

/* In memory: what counts of them. */
typedef struct known_call {
    int64_t id, start_ns, amount;
    uint32_t thread;
    unsigned order : 30, kind : 2;
} known_call;

typedef struct known_work {
    int64_t ids[JOINS], start_ns, id, ns;
    uint32_t thread, what;
} known_work;

struct work_join {
    known_call *calls;           /* one of each id, */
    uint32_t *slots;             /* found by it: its number + 1, 0: none; at most 3/4 are taken */
    known_work *works;
    size_t call_count, call_capacity, slot_count, work_count, work_capacity;
    /* when it is too much: */
    span_sorter *ids, *sorted;   /* NULL: it is not; sorted: works and what was found of them */
    uint64_t count;              /* of works there */
};

work_join *work_join_new(void) {
    return allocate(sizeof(work_join));
}

static void forget(work_join *j) {
    free(j->calls);
    free(j->slots);
    free(j->works);
}

static bool fits(const work_join *j) {
    return j->call_count * sizeof *j->calls + j->slot_count * sizeof *j->slots +
           j->work_count * sizeof *j->works <= JOIN_BYTES;
}

void work_join_free(work_join *j) {
    if (!j) return;
    forget(j);
    sorter_free(j->ids);
    sorter_free(j->sorted);
    free(j);
}

/* Of two calls with the same id. */
static bool counts_before(uint32_t kind, uint64_t order, uint64_t other) {
    return kind == JOIN_ZONE ? order > other : order < other;
}

/* The one of its calls that counts. same_ids: the external id only repeats the correlation id. */
static uint32_t kind_of(bool same_ids, const bool found[JOINS]) {
    bool by_op = found[JOIN_OP] && !(found[JOIN_LAUNCH] && same_ids);
    return found[JOIN_ZONE] ? JOIN_ZONE : by_op ? JOIN_OP : JOIN_LAUNCH;
}

/* ---- In memory ---- */

static joined joined_call(const known_call *c) {
    return (joined){
        .start_ns = c->start_ns, .amount = c->amount, .order = c->order, .thread = c->thread
    };
}

static joined joined_work(const known_work *w) {
    return (joined){
        .start_ns = w->start_ns, .id = w->id, .ns = w->ns, .thread = w->thread, .what = w->what
    };
}

/* Where the number of this id's call stands, or belongs. Ids are counted up: as they are they meet
   no other, but those of another kind, which begin half of the table away. Where they meet one,
   the steps are each id's own: behind it there may be thousands in a row. */
static uint32_t *slot_of(const work_join *j, uint32_t kind, int64_t id) {
    size_t mask = j->slot_count - 1, at = (size_t)id + (kind & 1) * (j->slot_count / 2);
    size_t step = (size_t)hash_mix((uint64_t)id * JOINS + kind) | 1;
    for (at &= mask; j->slots[at]; at = (at + step) & mask) {
        const known_call *c = &j->calls[j->slots[at] - 1];
        if (c->id == id && c->kind == kind) break;
    }
    return &j->slots[at];
}

static void grow_slots(work_join *j) {
    j->slot_count = j->slot_count ? 2 * j->slot_count : 256;
    free(j->slots);
    j->slots = allocate(j->slot_count * sizeof *j->slots);
    for (size_t i = 0; i < j->call_count; i++)
        *slot_of(j, j->calls[i].kind, j->calls[i].id) = (uint32_t)i + 1;
}

static void know_call(work_join *j, uint32_t kind, int64_t id, const joined *call) {
    known_call c = {
        .id = id, .start_ns = call->start_ns, .amount = call->amount,
        .order = call->order & MOST_ORDER, .thread = call->thread, .kind = kind & 3
    };
    if (4 * j->call_count >= 3 * j->slot_count) grow_slots(j);
    uint32_t *slot = slot_of(j, kind, id);
    if (*slot) {
        known_call *other = &j->calls[*slot - 1];
        if (counts_before(kind, c.order, other->order)) *other = c;
        return;
    }
    GROW(j->calls, j->call_count, j->call_capacity);
    j->calls[j->call_count++] = c;
    *slot = (uint32_t)j->call_count;
}

static void know_work(work_join *j, const int64_t ids[JOINS], const joined *work) {
    GROW(j->works, j->work_count, j->work_capacity);
    j->works[j->work_count++] = (known_work){
        .ids = {ids[0], ids[1], ids[2]}, .start_ns = work->start_ns, .id = work->id,
        .ns = work->ns, .thread = work->thread, .what = work->what
    };
}

static bool are_same(const int64_t ids[JOINS]) {
    return ids[JOIN_OP] == ids[JOIN_LAUNCH];
}

/* Of the calls that are known. false: it is of none. */
static bool find_call(const work_join *j, const int64_t ids[JOINS], joined *call, uint32_t *kind) {
    bool found[JOINS] = {false};
    uint32_t numbers[JOINS];
    for (uint32_t i = 0; i < JOINS && j->call_count; i++) {
        numbers[i] = ids[i] == NO_ID ? 0 : *slot_of(j, i, ids[i]);
        found[i] = numbers[i] != 0;
    }
    *kind = kind_of(are_same(ids), found);
    if (found[*kind]) *call = joined_call(&j->calls[numbers[*kind] - 1]);
    return found[*kind];
}

static void take_known(const work_join *j, take_joined *take, void *user) {
    for (size_t i = 0; i < j->work_count; i++) {
        const known_work *w = &j->works[i];
        joined work = joined_work(w), call;
        uint32_t kind;
        bool found = find_call(j, w->ids, &call, &kind);
        take(user, &work, found ? &call : NULL, kind);
    }
}

/* ---- In sorters ---- */

static bool id_before(const void *one, const void *other) {
    const entry *a = one, *b = other;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->id != b->id) return a->id < b->id;
    if (a->is_call != b->is_call) return a->is_call;
    return counts_before(a->kind, a->joined.order, b->joined.order);
}

/* Behind each work the calls that were found. */
static bool work_before(const void *one, const void *other) {
    const entry *a = one, *b = other;
    return a->work != b->work ? a->work < b->work : b->is_call && !a->is_call;
}

static void sort_call(work_join *j, uint32_t kind, int64_t id, const joined *call) {
    entry e = {.joined = *call, .id = id, .kind = kind, .is_call = true};
    sorter_add(j->ids, &e);
}

static void sort_work(work_join *j, const int64_t ids[JOINS], const joined *work) {
    entry e = {.joined = *work, .work = j->count++, .same_ids = are_same(ids)};
    sorter_add(j->sorted, &e);
    for (uint32_t kind = 0; kind < JOINS; kind++) {
        e.kind = kind;
        e.id = ids[kind];
        if (e.id != NO_ID) sorter_add(j->ids, &e);
    }
}

/* All that is known to the sorters, once it is too much. */
static void spill(work_join *j) {
    free(j->slots);
    j->slots = NULL;
    j->ids = sorter_by_thread(sizeof(entry), id_before, offsetof(entry, kind));
    j->sorted = sorter_of(sizeof(entry), work_before);
    for (size_t i = 0; i < j->call_count; i++) {
        joined call = joined_call(&j->calls[i]);
        sort_call(j, j->calls[i].kind, j->calls[i].id, &call);
    }
    free(j->calls);
    j->calls = NULL;
    for (size_t i = 0; i < j->work_count; i++) {
        joined work = joined_work(&j->works[i]);
        sort_work(j, j->works[i].ids, &work);
    }
    free(j->works);
    j->works = NULL;
}

/* Of each work, the calls that have its ids. */
static void find_calls(work_join *j) {
    entry e, known = {.id = NO_ID};
    sorter_finish(j->ids);
    while (sorter_next(j->ids, &e)) {
        bool same = e.id == known.id && e.kind == known.kind;
        if (e.is_call && !same) known = e;
        if (e.is_call || !same) continue;
        known.work = e.work;
        sorter_add(j->sorted, &known);
    }
    sorter_free(j->ids);
    j->ids = NULL;
}

static void take_sorted(work_join *j, take_joined *take, void *user) {
    entry next, work = {0}, calls[JOINS];
    bool any = false, found[JOINS] = {false}, more = true;
    find_calls(j);
    sorter_finish(j->sorted);
    while (more) {
        more = sorter_next(j->sorted, &next);
        if (more && next.is_call) {
            calls[next.kind] = next;
            found[next.kind] = true;
            continue;
        }
        uint32_t kind = kind_of(work.same_ids, found);
        if (any) take(user, &work.joined, found[kind] ? &calls[kind].joined : NULL, kind);
        any = true;
        work = next;
        for (int i = 0; i < JOINS; i++) found[i] = false;
    }
}

/* ---- Both ---- */

void work_join_call(work_join *j, uint32_t kind, int64_t id, const joined *call) {
    if (id == NO_ID) return;
    if (!j->ids && (call->order > MOST_ORDER || !fits(j))) spill(j);
    if (j->ids) sort_call(j, kind, id, call);
    else know_call(j, kind, id, call);
}

void work_join_work(work_join *j, const int64_t ids[JOINS], const joined *work) {
    if (!j->ids && !fits(j)) spill(j);
    if (j->ids) sort_work(j, ids, work);
    else know_work(j, ids, work);
}

void work_join_each(work_join *j, take_joined *take, void *user) {
    if (j->ids) take_sorted(j, take, user);
    else take_known(j, take, user);
    work_join_free(j);
}
