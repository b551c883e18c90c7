/* Calls in the order in which they lie in each other: see call_walk.h. They are sorted by thread
   and time; work, and changes of memory that name their zone, go to behind their call
   (work_join.h). The library's nest tells what lies in what, its sums the times. */
#include "trace/call_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/span_sorter.h"
#include "input/losses.h"
#include "input/trace_reader.h"
#include "trace/work_join.h"

/* item.what. In the order of calls, work and changes stand behind the one that has them: */
enum {
    ITEM_CALL,
    ITEM_WORK,                   /* by the ids of launches */
    ITEM_TOLD_WORK, ITEM_TOLD_CHANGE,      /* by "Zone parent id" */
    ITEM_CHANGE                  /* by time alone */
};

typedef struct item {
    joined at;                   /* id: the caller's, of call, work or change; ns: of the work, or
                                    of a legacy call; of changes bytes. what: ITEM_... */
    uint32_t name;
    uint8_t kind;                /* trace_kind */
    bool is_legacy;
} item;

static bool tree_before(const void *one, const void *other) {
    const joined *a = one, *b = other;               /* at begins an item */
    bool change = a->what == ITEM_CHANGE;
    if (a->thread != b->thread) return a->thread < b->thread;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if (change != (b->what == ITEM_CHANGE)) return !change;
    if (a->amount != b->amount) return a->amount > b->amount;
    if (a->order != b->order) return a->order < b->order;
    return a->what < b->what;
}

/* ---- Reading ---- */

/* Python functions lie in each other alone, beside their thread. */
static uint32_t thread_of(call_walk *w, const trace_event *event) {
    bool beside = event->kind == TRACE_PYTHON && !w->tree.python_around;
    return 2 * tree_thread(&w->tree, event) + beside;
}

static void tell_change(call_walk *w, uint32_t owner, int64_t id, int64_t bytes) {
    if (w->take->change) w->take->change(w->user, owner, id, bytes);
}

static void tell_work(call_walk *w, uint32_t owner, int64_t id, int64_t ns) {
    if (w->take->work) w->take->work(w->user, owner, id, ns);
}

static bool is_asked_for(const call_walk *w, const memory_change *change) {
    return w->all_changes || (change->bytes > 0 && change->kind == CHANGE_EVENT);
}

static void add_change(call_walk *w, const trace_event *event, const memory_change *change,
                       int64_t id) {
    const int64_t ids[JOINS] = {NO_ID, NO_ID, change->told};
    item i = {.at = {
        .start_ns = event->ts_ns, .id = id, .ns = change->bytes, .what = ITEM_CHANGE,
        .thread = 2 * tree_thread(&w->tree, event)
    }};
    if (!is_asked_for(w, change)) return;
    if (change->told == 0) tell_change(w, NO_CALL, id, change->bytes);
    else if (change->told == NOT_TOLD) sorter_add(w->items, &i);
    else work_join_work(w->join, ids, &i.at);
}

static void add_work(call_walk *w, const trace_event *event, int64_t id) {
    int64_t told = tree_told(event), correlation, external = trace_work_ids(event, &correlation);
    const int64_t ids[JOINS] = {external, correlation, told == NOT_TOLD ? NO_ID : told};
    joined work = {.id = id, .ns = event->dur_ns, .what = ITEM_WORK};
    if (told == 0) tell_work(w, NO_CALL, id, event->dur_ns);
    else work_join_work(w->join, ids, &work);
}

static void add_call(call_walk *w, const trace_event *event, int64_t id) {
    call_id own = trace_call_id(event);
    bool with_work = !w->tree.without_kernels;
    int64_t zone = NO_ID;
    item i = {
        .at = {.start_ns = event->ts_ns, .amount = event->dur_ns, .order = w->call_count++,
               .id = id, .thread = thread_of(w, event)},
        .name = tree_name(&w->tree, event), .kind = event->kind,
        .is_legacy = with_work && trace_arg(event, "is_legacy")
    };
    if (i.is_legacy) i.at.ns = trace_kernels_ns(event);
    if (event->is_async) return;
    sorter_add(w->items, &i);
    if (with_work) work_join_call(w->join, own.kind, own.id, &i.at);
    if (with_work || w->tree.with_memory) trace_arg_int(event, PROF_KEY_ZONE, &zone);
    work_join_call(w->join, JOIN_ZONE, zone, &i.at);
}

static void add_to_tree(call_walk *w, const trace_event *event, int64_t id) {
    size_t works = w->tree.kernel_count, changes = w->tree.change_count;
    call *c = tree_add(&w->tree, event);
    if (c) c->key = (uint32_t)id;
    if (c) c->apart = w->frames_apart && c->kind == TRACE_PYTHON;
    if (w->tree.change_count > changes) {
        GROW(w->change_ids, changes, w->change_capacity);
        w->change_ids[changes] = id;
    }
    if (w->tree.kernel_count == works) return;
    GROW(w->work_ids, works, w->work_capacity);
    w->work_ids[works] = id;
}

/* What the head promises of the events to come, as report takes it. */
static void begin(call_walk *w, const losses *head) {
    w->begun = true;
    w->told = head->zone_ids;
    if (w->told) return;
    w->items = sorter_by_thread(sizeof(item), tree_before, offsetof(item, at.thread));
    w->join = work_join_new();
}

void walk_add(call_walk *w, const trace_reader *reader, int64_t id) {
    const trace_event *event = &reader->event;
    memory_change change;
    if (event->phase == 'M') return;             /* the head may be among those */
    if (!w->begun) begin(w, reader->losses);
    if (w->told)
        add_to_tree(w, event, id);
    else if (tree_takes_change(&w->tree, event, &change))
        add_change(w, event, &change, id);
    else if (tree_takes(&w->tree, event))
        add_call(w, event, id);
    else if (event->phase == 'X' && kind_is_device(event->kind) && !w->tree.without_kernels)
        add_work(w, event, id);
}

/* To behind its call; a change to the zone that it names, or to where times tell. */
static void place(void *user, const joined *work, const joined *by, uint32_t kind) {
    call_walk *w = user;
    bool change = work->what == ITEM_CHANGE, told = kind == JOIN_ZONE;
    item placed = {.at = by ? *by : *work};
    if (!by && !change) {
        tell_work(w, NO_CALL, work->id, work->ns);
        return;
    }
    if (by) placed.at.what = change ? ITEM_TOLD_CHANGE : told ? ITEM_TOLD_WORK : ITEM_WORK;
    placed.at.id = work->id;
    placed.at.ns = work->ns;
    sorter_add(w->items, &placed);
}

/* ---- The walk ---- */

static void note_times(void *user, const call_end *end) {
    call_walk *w = user;
    if (w->take->leave) w->take->leave(w->user, end->order, end);
}

static void leave(call_walk *w) {
    const walk_call *c = &w->calls[w->top];
    call_span made = {
        .start_ns = c->start_ns, .end_ns = c->end_ns, .row = PROF_NONE, .order = w->top,
        .device_ns = c->device_ns, .depth = c->depth,
        .flags = CALL_DEPTH | (c->is_legacy ? PROF_EVENT_LEGACY : 0)
    };
    const call_end none = {.order = w->top};
    if (c->apart) note_times(w, &none);
    else call_sums_push(w->sums, &made);
    w->top = c->around;
}

/* What has ended by then, all that holds this. */
static void leave_until(call_walk *w, int64_t start_ns, int64_t end_ns) {
    w->nest.spans = w->calls;
    uint32_t around = span_nest_around(&w->nest, w->top, start_ns, end_ns);
    while (w->top != around) leave(w);
}

static void enter(call_walk *w, const item *i) {
    leave_until(w, i->at.start_ns, i->at.start_ns + i->at.amount);
    uint32_t number = w->top + 1;                /* 0 in none */
    GROW(w->calls, number, w->capacity);
    const walk_call *around = number ? &w->calls[w->top] : NULL;
    w->calls[number] = (walk_call){
        .start_ns = i->at.start_ns, .end_ns = i->at.start_ns + i->at.amount,
        .device_ns = i->at.ns, .id = i->at.id, .order = i->at.order, .name = i->name,
        .thread = i->at.thread / 2, .around = w->top, .kind = i->kind,
        .depth = around ? around->depth + !around->apart : 0,
        .is_legacy = i->is_legacy, .apart = w->frames_apart && i->kind == TRACE_PYTHON
    };
    w->top = number;
    if (w->take->enter) w->take->enter(w->user, number);
}

/* Python functions around a launch have not launched it either. */
static bool is_launch(const void *one) {
    const walk_call *c = one;
    return c->kind == TRACE_RUNTIME || c->kind == TRACE_PYTHON;
}

/* It stands behind its call. */
static void take_work(call_walk *w, const item *i) {
    uint32_t owner = w->top;
    w->nest.spans = w->calls;
    if (i->at.what == ITEM_WORK) owner = span_nest_launcher(&w->nest, owner, is_launch);
    if (!w->calls[owner].is_legacy) w->calls[owner].device_ns += i->at.ns;
    tell_work(w, owner, i->at.id, i->at.ns);
}

static void take_change(call_walk *w, const item *i) {
    if (i->at.what == ITEM_CHANGE) leave_until(w, i->at.start_ns, i->at.start_ns);
    tell_change(w, w->top, i->at.id, i->at.ns);
}

static void walk_items(call_walk *w) {
    item i;
    uint32_t thread = 0;
    w->top = NO_CALL;
    sorter_finish(w->items);
    while (sorter_next(w->items, &i)) {
        while (i.at.thread != thread && w->top != NO_CALL) leave(w);
        thread = i.at.thread;
        if (i.at.what == ITEM_CALL) enter(w, &i);
        else if (i.at.what == ITEM_WORK || i.at.what == ITEM_TOLD_WORK) take_work(w, &i);
        else take_change(w, &i);
    }
    while (w->top != NO_CALL) leave(w);
    sorter_free(w->items);
    w->items = NULL;
}

static void *more_memory(void *user, size_t size) {
    return arena_allocate(&((call_walk *)user)->memory, size);
}

static void walk_sorted(call_walk *w) {
    call_sums_desc desc = {.more = more_memory, .ended = note_times, .user = w};
    w->sums = call_sums_open(&desc);
    w->nest = (span_nest){
        NULL, sizeof *w->calls, offsetof(walk_call, end_ns), offsetof(walk_call, around), 0
    };
    work_join_each(w->join, place, w);
    w->join = NULL;
    walk_items(w);
    call_sums_close(w->sums, NULL, 0);
}

/* ---- Where calls tell what they lie in ---- */

static void enter_told(call_walk *w, uint32_t number) {
    const call *c = &w->tree.calls[number];
    const walk_call *around = c->parent == NO_CALL ? NULL : &w->calls[c->parent];
    w->calls[number] = (walk_call){
        .start_ns = c->start_ns, .end_ns = c->end_ns, .id = c->key, .order = number,
        .name = c->name,
        .thread = c->thread, .around = c->parent, .kind = c->kind, .is_legacy = c->is_legacy,
        .depth = around ? around->depth + !around->apart : 0, .apart = c->apart
    };
    if (w->take->enter && !c->is_async) w->take->enter(w->user, number);
}

static void tell_told(call_walk *w) {
    const call_tree *tree = &w->tree;
    for (size_t i = 0; i < tree->kernel_count; i++)
        tell_work(w, tree->kernels[i].owner, w->work_ids[i], tree->kernels[i].dur_ns);
    for (size_t i = 0; i < tree->change_count; i++) {
        const memory_change *change = &tree->changes[i];
        bool known = change->owner != NO_CALL && !tree->calls[change->owner].is_async;
        if (is_asked_for(w, change))
            tell_change(w, known ? change->owner : NO_CALL, w->change_ids[i], change->bytes);
    }
}

static void walk_told(call_walk *w) {
    call_tree *tree = &w->tree;
    tree_build(tree);
    tree_time(tree);
    w->nest.overlaps = tree->nest.overlaps;
    w->calls = allocate((tree->count + 1) * sizeof *w->calls);
    for (size_t i = 0; i < tree->count; i++) enter_told(w, tree->order[i]);
    tell_told(w);
    for (size_t i = tree->count; i-- > 0; ) {
        const call *c = &tree->calls[tree->order[i]];
        call_end times = {c->self_ns, c->device_ns, c->device_self_ns, tree->order[i]};
        if (!c->is_async) note_times(w, &times);
    }
}

void walk_all(call_walk *w) {
    if (w->told) walk_told(w);
    else if (w->begun) walk_sorted(w);
}

void walk_free(call_walk *w) {
    tree_free(&w->tree);
    sorter_free(w->items);
    work_join_free(w->join);
    arena_free(&w->memory);
    free(w->calls);
    free(w->work_ids);
    free(w->change_ids);
    memset(w, 0, sizeof *w);
}
