/* What lies in what, and what calls took: see trace.h. What times do not tell ("Zone parent id") is
   its own work: a call may be told to lie in one that ended before others began, so that no order
   by time is the tree's. */
#include "trace/trace.h"

#include <stdlib.h>

/* Of two with the same times the outer one is first. */
static bool call_before(uint32_t a, uint32_t b, const void *context) {
    const call *calls = context, *x = &calls[a], *y = &calls[b];
    if (x->thread != y->thread) return x->thread < y->thread;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns;
    return outer_of_equals(x->is_pair, a, y->is_pair, b);
}

static bool change_before(uint32_t a, uint32_t b, const void *context) {
    const memory_change *changes = context, *x = &changes[a], *y = &changes[b];
    return x->thread != y->thread ? x->thread < y->thread : x->ts_ns < y->ts_ns;
}

/* (An asynchronous range is beside all calls: nothing lies in it.) */
uint32_t trace_zone(const struct trace *t, int64_t id, uint32_t guess) {
    const uint64_t *known = id > 0 ? map_get(&t->by_zone, (uint64_t)id) : NULL;
    if (known && t->calls[*known - 1].is_async) known = NULL;
    return id == 0 ? NO_CALL : known ? (uint32_t)*known - 1 : guess;
}

/* The parent that a call names, if that stands before it: else there would be circles. Nothing lies
   in what runs beside its thread. */
static uint32_t zone_named(const struct trace *t, uint32_t number, uint32_t guess) {
    uint32_t zone = trace_zone(t, (int64_t)*map_get(&t->parent_ids, number), guess);
    bool before = zone == NO_CALL || call_before(zone, number, t->calls) ||
                  (zone < number && !call_before(number, zone, t->calls));
    return before ? zone : guess;
}

/* The innermost open calls of a thread, and of its Python functions where those lie in each other
   alone; linked by parent. */
typedef struct open_calls { uint32_t call, frame; } open_calls;

typedef struct nesting {
    struct trace *trace;
    const uint32_t *changes;     /* by thread and time */
    size_t next;                 /* of them */
    open_calls open;
} nesting;

/* A Python function that never returned ends with the function around it. */
static uint32_t around_python(struct trace *t, uint32_t top, call *c) {
    uint32_t around = span_nest_around(&t->nest, top, c->start_ns, c->start_ns);
    const call *outer = around == NO_CALL ? NULL : &t->calls[around];
    if (!outer || c->end_ns <= outer->end_ns) return around;
    if (outer->kind != TRACE_PYTHON) return span_nest_around(&t->nest, top, c->start_ns, c->end_ns);
    c->end_ns = outer->end_ns;
    return around;
}

/* A record_function begins in one Python function, __enter__, and ends in another, __exit__: of the
   calls that c left, from top to its parent, are there others that it or they overlap? */
static bool overlaps_others(const struct trace *t, uint32_t top, const call *c) {
    for (; top != c->parent && top != NO_CALL; top = t->calls[top].parent) {
        const call *left = &t->calls[top];
        bool of_mark = (left->kind == TRACE_PYTHON && c->kind == TRACE_ANNOTATION) ||
                       (left->kind == TRACE_ANNOTATION && c->kind == TRACE_PYTHON);
        if (left->end_ns > c->start_ns && !of_mark) return true;
    }
    return false;
}

static void enter(nesting *n, uint32_t number) {
    struct trace *t = n->trace;
    call *c = &t->calls[number];
    bool python = c->kind == TRACE_PYTHON;
    uint32_t *top = python && !t->python_around ? &n->open.frame : &n->open.call, before = *top;
    uint64_t overlaps = t->nest.overlaps;
    if (c->is_async) return;
    *top = python ? around_python(t, *top, c)
                  : span_nest_around(&t->nest, *top, c->start_ns, c->end_ns);
    if (c->has_parent_id) *top = zone_named(t, number, *top);
    c->parent = *top;
    if (t->nest.overlaps > overlaps && !overlaps_others(t, before, c)) t->nest.overlaps = overlaps;
    *top = number;
}

/* Who holds the changes up to then: the innermost call around their moment. */
static void own_changes(nesting *n, uint32_t thread, int64_t until_ns) {
    struct trace *t = n->trace;
    for (; n->next < t->change_count; n->next++) {
        memory_change *change = &t->changes[n->changes[n->next]];
        if (change->thread > thread ||
            (change->thread == thread && change->ts_ns >= until_ns)) return;
        if (change->thread < thread) continue;
        n->open.call = span_nest_around(&t->nest, n->open.call, change->ts_ns, change->ts_ns);
        change->owner = n->open.call;
    }
}

static void own_told_changes(struct trace *t) {
    for (size_t i = 0; i < t->change_count; i++) {
        memory_change *change = &t->changes[i];
        if (change->zone_id != NO_ZONE_ID)
            change->owner = trace_zone(t, change->zone_id, change->owner);
    }
}

/* The calls of what a call is told to lie in stand behind it, whatever the times say. */
static uint32_t *in_order_of_tree(const struct trace *t) {
    uint32_t *first = allocate((t->call_count + 1) * sizeof *first);
    uint32_t *next = allocate((t->call_count + 1) * sizeof *next);
    uint32_t *tree = allocate((t->call_count + 1) * sizeof *tree);
    for (size_t i = 0; i <= t->call_count; i++) first[i] = NO_CALL;
    for (size_t i = t->call_count; i-- > 0; ) {
        uint32_t number = t->order[i], parent = t->calls[number].parent;
        uint32_t *slot = &first[parent == NO_CALL ? t->call_count : parent];
        next[number] = *slot;
        *slot = number;
    }
    size_t count = 0;
    for (uint32_t at = first[t->call_count]; at != NO_CALL; ) {
        tree[count++] = at;
        if (first[at] != NO_CALL) {
            at = first[at];
            continue;
        }
        while (at != NO_CALL && next[at] == NO_CALL) at = t->calls[at].parent;
        if (at != NO_CALL) at = next[at];
    }
    free(first);
    free(next);
    return tree;
}

away trace_away(const struct trace *t, const call *c) {
    const call_thread *thread = &t->threads[c->thread];
    return tasks_away(&t->tasks, thread->pid, thread->tid, c->start_ns, c->end_ns);
}

/* What interrupted calls on one core, where they lie in others as on a thread of their own. */
static void find_away(struct trace *t) {
    if (!t->one_core && !t->tasks.stretches.count) return;
    for (size_t i = 0; i < t->call_count; i++) {
        const call *c = &t->calls[i];
        const call_thread *thread = &t->threads[c->thread];
        bool interrupt = thread->tid > 0 && thread->tid < CPU_ROW && !c->is_async;
        if (!interrupt || c->parent != NO_CALL) continue;
        if (!tasks_is_task(&t->tasks, thread->pid, thread->tid))
            tasks_interrupt(&t->tasks, thread->pid, thread->tid, c->start_ns, c->end_ns);
    }
    tasks_sort(&t->tasks);
    if (!t->one_core || (!t->tasks.stretches.count && !t->tasks.interrupts.count)) return;
    t->away_ns = allocate(t->call_count * sizeof *t->away_ns);
    for (size_t i = 0; i < t->call_count; i++)
        if (!t->calls[i].is_async) t->away_ns[i] = trace_away(t, &t->calls[i]).ns;
}

/* ---- Overhead ---- */

typedef struct call_list { const call *calls; uint32_t *numbers; size_t count; } call_list;

static bool begins_before(uint32_t a, uint32_t b, const void *context) {
    const call_list *l = context;
    return l->calls[l->numbers[a]].start_ns < l->calls[l->numbers[b]].start_ns;
}

static bool ends_before(uint32_t a, uint32_t b, const void *context) {
    const call_list *l = context;
    return l->calls[l->numbers[a]].end_ns < l->calls[l->numbers[b]].end_ns;
}

/* What a device's library took for itself. */
static call_list list_overhead(const struct trace *t) {
    call_list overhead = {.calls = t->calls};
    size_t capacity = 0;
    for (size_t i = 0; i < t->call_count; i++) {
        if (t->calls[i].kind != TRACE_OVERHEAD) continue;
        GROW(overhead.numbers, overhead.count, capacity);
        overhead.numbers[overhead.count++] = (uint32_t)i;
    }
    return overhead;
}

/* Ops that lie in no other. */
static call_list list_outermost(const struct trace *t) {
    call_list ops = {.calls = t->calls};
    size_t capacity = 0;
    const call *last = NULL;
    for (size_t i = 0; i < t->call_count; i++) {
        const call *c = &t->calls[t->order[i]];
        if (c->kind != TRACE_CPU_OP || c->is_async) continue;
        if (last && last->thread == c->thread && c->start_ns < last->end_ns) continue;
        GROW(ops.numbers, ops.count, capacity);
        ops.numbers[ops.count++] = t->order[i];
        last = c;
    }
    return ops;
}

/* Kineto writes overhead without its thread. Where ops of one thread alone are open around it, it
   is that thread's: it is no time of the op that made the first launch. */
static bool find_overhead_threads(struct trace *t) {
    call_list overheads = list_overhead(t);
    if (!overheads.count) return false;
    call_list ops = list_outermost(t);
    uint32_t *begins = sorted_numbers(ops.count, begins_before, &ops);
    uint32_t *ends = sorted_numbers(ops.count, ends_before, &ops);
    uint32_t *order = sorted_numbers(overheads.count, begins_before, &overheads);
    size_t begun = 0, ended = 0;
    uint64_t open = 0;                   /* the sum of the open ops' places in ops */
    bool found = false;
    for (size_t i = 0; i < overheads.count; i++) {
        call *c = &t->calls[overheads.numbers[order[i]]];
        while (begun < ops.count && t->calls[ops.numbers[begins[begun]]].start_ns <= c->start_ns)
            open += begins[begun++];
        while (ended < ops.count && t->calls[ops.numbers[ends[ended]]].end_ns <= c->start_ns)
            open -= ends[ended++];
        const call *around = begun == ended + 1 ? &t->calls[ops.numbers[open]] : NULL;
        if (!around || around->end_ns < c->end_ns) continue;
        c->thread = around->thread;
        found = true;
    }
    free(begins);
    free(ends);
    free(order);
    free(ops.numbers);
    free(overheads.numbers);
    return found;
}

void trace_nest(struct trace *t) {
    uint32_t *changes = sorted_numbers(t->change_count, change_before, t->changes);
    nesting n = {.trace = t, .changes = changes, .open = {NO_CALL, NO_CALL}};
    uint32_t thread = NO_CALL;
    t->order = sorted_numbers(t->call_count, call_before, t->calls);
    if (!t->own && find_overhead_threads(t)) {
        free(t->order);
        t->order = sorted_numbers(t->call_count, call_before, t->calls);
    }
    t->nest = (span_nest){
        t->calls, sizeof *t->calls, offsetof(call, end_ns), offsetof(call, parent), 0
    };
    for (size_t i = 0; i < t->call_count; i++) {
        const call *c = &t->calls[t->order[i]];
        if (c->thread != thread) {
            if (i) own_changes(&n, thread, INT64_MAX);
            n.open = (open_calls){NO_CALL, NO_CALL};
        }
        thread = c->thread;
        own_changes(&n, thread, c->start_ns);
        enter(&n, t->order[i]);
    }
    if (thread != NO_CALL) own_changes(&n, thread, INT64_MAX);
    own_told_changes(t);
    find_away(t);
    free(changes);
    bool in_order = !t->parent_ids.count && (!t->with_python || t->python_around);
    t->tree = in_order ? t->order : in_order_of_tree(t);
}

/* ---- Into sums ---- */

static call_span span_of(const struct trace *t, uint32_t number, uint32_t depth) {
    const call *c = &t->calls[number];
    return (call_span){
        .start_ns = c->start_ns, .end_ns = c->end_ns, .row = PROF_NONE, .order = number,
        .device_ns = t->launched_ns ? t->launched_ns[number] : 0,
        .away_ns = t->away_ns ? t->away_ns[number] : 0, .depth = depth,
        .flags = CALL_DEPTH | (c->is_legacy ? PROF_EVENT_LEGACY : 0)
    };
}

typedef struct walking {
    const struct trace *trace;
    span_take *take;
    void *user;
    uint32_t top, depth;         /* depth: spans around top that are not apart */
} walking;

/* The innermost open call has ended. */
static void leave(walking *w) {
    const struct trace *t = w->trace;
    const call *c = &t->calls[w->top];
    if (!c->apart) {
        call_span made = span_of(t, w->top, w->depth);
        w->take(w->user, w->top, &made);
    }
    w->top = c->parent;
    if (w->top != NO_CALL) w->depth -= !t->calls[w->top].apart;
}

void trace_walk(const struct trace *t, span_take *take, void *user) {
    walking w = {t, take, user, NO_CALL, 0};
    for (size_t i = 0; i < t->call_count; i++) {
        uint32_t number = t->tree[i];
        const call *c = &t->calls[number];
        if (c->is_async) continue;
        while (w.top != c->parent) leave(&w);
        if (w.top != NO_CALL) w.depth += !t->calls[w.top].apart;
        w.top = number;
    }
    while (w.top != NO_CALL) leave(&w);
}

typedef struct timing { struct trace *trace; call_sums *sums; arena memory; } timing;

static void *more_memory(void *user, size_t size) {
    return arena_allocate(&((timing *)user)->memory, size);
}

static void push_timed(void *user, uint32_t number, const call_span *made) {
    (void)number;
    call_sums_push(((timing *)user)->sums, made);
}

static void note_times(void *user, const call_end *end) {
    ((timing *)user)->trace->times[end->order] =
        (call_times){end->self_ns, end->device_ns, end->self_device_ns};
}

void trace_times(struct trace *t) {
    timing now = {.trace = t};
    call_sums_desc desc = {.more = more_memory, .ended = note_times, .user = &now};
    t->times = allocate((t->call_count + 1) * sizeof *t->times);
    now.sums = call_sums_open(&desc);
    trace_walk(t, push_timed, &now);
    call_sums_close(now.sums, NULL, 0);
    arena_free(&now.memory);
}
