/* The calls of a trace: see call_tree.h. What times do not tell ("Zone parent id") is its own work:
   a call may be told to lie in one that ended before others began, so that no order by time is the
   tree's. The library's nest holds only what is open, so it is given calls in the order that the
   links make (tree_walk). */
#include "trace/call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/span_sorter.h"

/* ---- Reading ---- */

static uint32_t new_thread(call_tree *tree, const trace_event *event) {
    GROW(tree->threads, tree->thread_count, tree->thread_capacity);
    call_thread *thread = &tree->threads[tree->thread_count];
    thread->pid = event->pid;
    thread->tid = event->tid;
    thread->pid_text = event->pid_text.size
        ? intern(&tree->names, event->pid_text.data, event->pid_text.size) : NO_CALL;
    thread->tid_text = event->tid_text.size
        ? intern(&tree->names, event->tid_text.data, event->tid_text.size) : NO_CALL;
    return (uint32_t)tree->thread_count++;
}

uint32_t tree_thread(call_tree *tree, const trace_event *event) {
    uint64_t key = hash_mix((uint64_t)event->pid) * 31 + (uint64_t)event->tid;
    bool is_new;
    if (tree->last_thread.any && tree->last_thread.key == key) return tree->last_thread.number;
    uint64_t *number = map_put(&tree->thread_numbers, key, &is_new);
    if (is_new) *number = new_thread(tree, event);
    tree->last_thread.key = key;
    tree->last_thread.number = (uint32_t)*number;
    tree->last_thread.any = true;
    return (uint32_t)*number;
}

/* Without the overload behind it, where that stands for itself too. */
static trace_text without_overload(const trace_event *event) {
    trace_text name = event->name;
    const trace_member *overload =
        memchr(name.data, '.', name.size) ? trace_overload(event) : NULL;
    char text[8192];
    if (!overload) return name;
    size_t size = json_decode(overload->value, text, sizeof text);
    if (size && size < sizeof text && size < name.size &&
        name.data[name.size - size - 1] == '.' &&
        memcmp(name.data + name.size - size, text, size) == 0) name.size -= size + 1;
    return name;
}

uint32_t tree_name(call_tree *tree, const trace_event *event) {
    static const char step[] = "ProfilerStep#";
    if (tree->whole_names) return intern(&tree->names, event->name.data, event->name.size);
    if (!tree->steps_apart && event->name.size >= sizeof step - 1 &&
        memcmp(event->name.data, step, sizeof step - 1) == 0)
        return intern(&tree->names, "ProfilerStep*", 13);
    trace_text name = without_overload(event);
    uint32_t number = intern(&tree->names, name.data, name.size);
    char source[4200];
    if (!tree->with_site || !trace_arg_text(event, PROF_KEY_SOURCE, source, sizeof source))
        return number;
    return tree_name_at(tree, number, (trace_text){source, strlen(source)});
}

uint32_t tree_name_at(call_tree *tree, uint32_t name, trace_text source) {
    const struct interned *plain = &tree->names.entries[name];
    size_t size = plain->size + source.size + 4;
    if (!source.size) return name;
    char *text = allocate(size);
    snprintf(text, size, "%s (%.*s)", plain->text, (int)source.size, source.data);
    name = intern(&tree->names, text, strlen(text));
    free(text);
    return name;
}

int64_t tree_told(const trace_event *event) {
    int64_t id;
    return trace_arg_int(event, PROF_KEY_ZONE_PARENT, &id) && id >= 0 ? id : NOT_TOLD;
}

/* Only where a thread waits for it, a call launches what it has an id for. */
call_id trace_call_id(const trace_event *event) {
    call_id own = {event->kind == TRACE_RUNTIME ? JOIN_LAUNCH : JOIN_OP, NO_ID};
    if (event->kind == TRACE_PYTHON || event->is_async) return own;
    if (own.kind == JOIN_LAUNCH) trace_correlation(event, &own.id);
    else trace_external_id(event, &own.id);
    return own;
}

int64_t trace_work_ids(const trace_event *event, int64_t *correlation) {
    int64_t external = *correlation = NO_ID;
    trace_correlation(event, correlation);
    trace_external_id(event, &external);
    return external;
}

static uint64_t join_key(uint32_t kind, int64_t id) { return (uint64_t)id << 1 | kind; }

void join_call(map *join, call_id own, uint32_t number) {
    bool is_new;
    if (own.id == NO_ID) return;
    uint64_t *place = map_put(join, join_key(own.kind, own.id), &is_new);
    if (is_new) *place = number;
}

static uint64_t *join_find(const map *join, uint32_t kind, int64_t id) {
    return id == NO_ID ? NULL : map_get(join, join_key(kind, id));
}

uint32_t join_owner(const map *join, int64_t external, int64_t correlation) {
    const uint64_t *launch = join_find(join, JOIN_LAUNCH, correlation), *op = NULL;
    if (!launch || external != correlation) op = join_find(join, JOIN_OP, external);
    const uint64_t *owner = op ? op : launch;
    return owner ? (uint32_t)*owner : NO_CALL;
}

static void add_kernel(call_tree *tree, const trace_event *event) {
    GROW(tree->kernels, tree->kernel_count, tree->kernel_capacity);
    kernel_link *kernel = &tree->kernels[tree->kernel_count++];
    kernel->dur_ns = event->dur_ns;
    kernel->owner = NO_CALL;
    kernel->told = tree_told(event);
    kernel->external = trace_work_ids(event, &kernel->correlation);
}

bool tree_takes_instant(const call_tree *tree, const trace_event *event, memory_change *change) {
    int64_t type = 0, index = -1;
    bool refused = tree->with_refused && text_is(event->name, "[OutOfMemory]");
    if (!refused && !text_is(event->name, "[memory]")) return false;
    *change = (memory_change){
        .ts_ns = event->ts_ns, .told = tree_told(event), .owner = NO_CALL,
        .is_legacy = trace_arg(event, "is_legacy") != NULL,
        .kind = refused ? CHANGE_REFUSED
              : trace_arg(event, PROF_KEY_MISSED) ? CHANGE_MISSED : CHANGE_EVENT
    };
    if (!refused && !trace_arg_int(event, PROF_KEY_BYTES, &change->bytes)) return false;
    trace_arg_int(event, PROF_KEY_DEVICE_TYPE, &type);
    trace_arg_int(event, PROF_KEY_DEVICE_INDEX, &index);
    change->device_type = (int32_t)type;
    change->device_index = (int32_t)index;
    return true;
}

int64_t trace_kernels_ns(const trace_event *event) {
    const trace_member *kernels = trace_arg(event, "kernels");
    trace_text rest = kernels ? kernels->value : (trace_text){"", 0}, kernel, key, value;
    int64_t sum = 0, ns;
    while (json_next(&rest, &key, &kernel)) {
        if (*kernel.data != '[') continue;
        for (int i = 0; json_next(&kernel, &key, &value); i++)
            if (i == 2 && json_ns(value, &ns)) sum += ns;
    }
    return sum;
}

/* Into calls[count], which is not counted yet. */
static call *new_call(call_tree *tree, const trace_event *event) {
    GROW(tree->calls, tree->count, tree->capacity);
    call *made = &tree->calls[tree->count];
    *made = (call){
        .start_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns,
        .is_async = event->is_async,
        .name = tree_name(tree, event),
        .thread = tree_thread(tree, event), .parent = NO_CALL, .kind = event->kind
    };
    return made;
}

static void note_zone(call_tree *tree, const trace_event *event, call *made) {
    int64_t id;
    if (trace_arg_int(event, PROF_KEY_ZONE, &id))
        *map_put(&tree->by_zone, (uint64_t)id, NULL) = tree->count;
    if ((id = tree_told(event)) == NOT_TOLD) return;
    made->is_told = true;
    *map_put(&tree->told, tree->count - 1, NULL) = (uint64_t)id;
}

bool tree_takes(const call_tree *tree, const trace_event *event) {
    if (event->phase != 'X' || kind_is_device(event->kind)) return false;
    if (event->kind == TRACE_PYTHON) return tree->with_python;
    return event->kind != TRACE_GPU_ANNOTATION && event->kind != TRACE_SYNC &&
           event->kind != TRACE_SPAN && event->kind != TRACE_TASK;
}

/* May device work or a change of memory name it, or a call in it as what it lies in? */
static bool is_named(const call_tree *tree, const trace_event *event) {
    bool by_zone = tree->with_memory || !tree->zones_ahead;
    if (by_zone && (trace_arg(event, PROF_KEY_ZONE) || trace_arg(event, PROF_KEY_ZONE_PARENT)))
        return true;
    if (tree->without_kernels) return false;
    return event->kind == TRACE_RUNTIME || trace_arg(event, "is_legacy") ||
           trace_call_id(event).id != NO_ID;
}

/* The last call, if nothing names it. Nothing lies in one that is async. */
static void set_aside(call_tree *tree) {
    const call *c = tree->calls + tree->count;
    if (!tree->has_aside) return;
    tree->has_aside = false;
    if (c->is_async) return;
    if (!tree->asides) tree->asides = sorter_new();
    sorter_add(tree->asides, &(span){
        .start_ns = c->start_ns, .amount = call_ns(c), .id = (int64_t)tree->count,
        .thread = c->thread, .what = c->name, .more = c->key, .order = c->kind
    });
}

static void note_launch(call_tree *tree, const trace_event *event, call *made) {
    if (trace_arg(event, "is_legacy")) {
        made->is_legacy = true;
        made->device_self_ns = trace_kernels_ns(event);
    }
    call_id own = trace_call_id(event);
    join_call(&tree->join, own, (uint32_t)tree->count - 1);
}

call *tree_add(call_tree *tree, const trace_event *event) {
    memory_change change;
    set_aside(tree);
    if (tree_takes_change(tree, event, &change)) {
        GROW(tree->changes, tree->change_count, tree->change_capacity);
        change.thread = tree_thread(tree, event);
        tree->changes[tree->change_count++] = change;
    }
    if (event->phase == 'X' && kind_is_device(event->kind) && !tree->without_kernels)
        add_kernel(tree, event);
    if (!tree_takes(tree, event)) return NULL;
    call *made = new_call(tree, event);
    if ((tree->has_aside = tree->owners_only && !is_named(tree, event))) return made;
    tree->count++;
    note_zone(tree, event, made);
    if (!tree->without_kernels) note_launch(tree, event, made);
    return made;
}

/* ---- The tree ---- */

static bool call_before(uint32_t a, uint32_t b, const void *context) {
    const call *calls = context, *x = &calls[a], *y = &calls[b];
    if (x->thread != y->thread) return x->thread < y->thread;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns;
    return x->end_ns > y->end_ns;
}

static bool change_before(uint32_t a, uint32_t b, const void *context) {
    const memory_change *changes = context, *x = &changes[a], *y = &changes[b];
    return x->thread != y->thread ? x->thread < y->thread : x->ts_ns < y->ts_ns;
}

/* The innermost open calls of one thread, and of its Python functions; linked by parent. */
typedef struct open_calls { uint32_t call, frame; } open_calls;

/* The call with this id; what the trace does not have is guess. */
static uint32_t zone_of(const call_tree *tree, int64_t id, uint32_t guess) {
    const uint64_t *known = id > 0 ? map_get(&tree->by_zone, (uint64_t)id) : NULL;
    return id == 0 ? NO_CALL : known ? (uint32_t)*known - 1 : guess;
}

/* The parent that a call names, if that stands before it: else there would be circles. */
static uint32_t told_zone(const call_tree *tree, uint32_t number, uint32_t guess) {
    uint32_t zone = zone_of(tree, (int64_t)*map_get(&tree->told, number), guess);
    bool before = zone == NO_CALL || call_before(zone, number, tree->calls) ||
                  (zone < number && !call_before(number, zone, tree->calls));
    return before ? zone : guess;
}

/* ---- Calls that nothing names: calls while they are open, and on if they own something ---- */

typedef struct aside_walk {
    call_tree *tree;
    const uint32_t *named;       /* calls in order */
    size_t next, count;          /* of them */
    span aside;                  /* the next of the others, */
    bool any;                    /* if there is one */
    size_t capacity;             /* of the tree's order */
} aside_walk;

/* Is the next one none of the named? Of equals the one that was read first is first. */
static bool aside_is_next(const aside_walk *w) {
    const span *s = &w->aside;
    if (!w->any || w->next == w->count) return w->any;
    const call *c = &w->tree->calls[w->named[w->next]];
    if (s->thread != c->thread) return s->thread < c->thread;
    if (s->start_ns != c->start_ns) return s->start_ns < c->start_ns;
    return s->amount != call_ns(c) ? s->amount > call_ns(c) : s->id <= w->named[w->next];
}

static uint32_t aside_call(call_tree *tree, const span *s) {
    uint32_t number = tree->free ? tree->free - 1 : (uint32_t)tree->count;
    if (tree->free) {
        tree->free = tree->calls[number].key;
    } else {
        GROW(tree->calls, tree->count, tree->capacity);
        tree->nest.spans = tree->calls;
        tree->count++;
    }
    tree->calls[number] = (call){
        .start_ns = s->start_ns, .end_ns = s->start_ns + s->amount, .name = s->what,
        .thread = s->thread, .parent = NO_CALL, .key = s->more, .kind = (uint8_t)s->order,
        .is_aside = true
    };
    return number;
}

/* false: there is none. */
static bool next_call(aside_walk *w, uint32_t *number) {
    bool aside = aside_is_next(w);
    if (!aside && w->next == w->count) return false;
    *number = aside ? aside_call(w->tree, &w->aside) : w->named[w->next++];
    if (!aside) return true;
    w->any = sorter_next(w->tree->asides, &w->aside);
    return true;
}

static bool is_aside(const call_tree *tree, uint32_t number) {
    return number != NO_CALL && tree->calls[number].is_aside;
}

/* The call, and all around it, are calls of the tree: there they stand outermost first. */
static void keep_call(aside_walk *w, uint32_t number) {
    call_tree *tree = w->tree;
    for (uint32_t n = number; is_aside(tree, n); n = tree->calls[n].parent) {
        GROW(tree->order, tree->ordered, w->capacity);
        tree->ordered++;
    }
    size_t place = tree->ordered;
    for (uint32_t n = number; is_aside(tree, n); n = tree->calls[n].parent) {
        tree->calls[n].is_aside = false;
        tree->order[--place] = n;
    }
}

/* What has ended and owns nothing is none. */
static void leave(call_tree *tree, uint32_t from, uint32_t to) {
    for (uint32_t next; from != to; from = next) {
        call *c = &tree->calls[from];
        next = c->parent;
        if (!c->is_aside) continue;
        c->key = tree->free;
        tree->free = from + 1;
    }
}

/* ---- The nest ---- */

static void rise(call_tree *tree, uint32_t *top, int64_t start_ns, int64_t end_ns) {
    uint32_t around = span_nest_around(&tree->nest, *top, start_ns, end_ns);
    leave(tree, *top, around);
    *top = around;
}

static void enter(aside_walk *w, uint32_t number, open_calls *open) {
    call_tree *tree = w->tree;
    call *c = &tree->calls[number];
    bool frame = c->kind == TRACE_PYTHON && !tree->python_around, named = !c->is_aside;
    uint32_t *top = frame ? &open->frame : &open->call;
    if (!c->is_async) {
        rise(tree, top, c->start_ns, c->end_ns);
        if (c->is_told) *top = told_zone(tree, number, *top);
        c->parent = *top;
        *top = number;
    }
    if (!named) return;
    c->is_aside = true;
    keep_call(w, number);
}

/* Who holds the change: the innermost call around its moment. */
static void own_changes(aside_walk *w, const uint32_t *changes, size_t *next, uint32_t thread,
                        int64_t until_ns, open_calls *open) {
    call_tree *tree = w->tree;
    for (; *next < tree->change_count; ++*next) {
        memory_change *change = &tree->changes[changes[*next]];
        if (change->thread > thread ||
            (change->thread == thread && change->ts_ns >= until_ns)) return;
        if (change->thread < thread) continue;
        rise(tree, &open->call, change->ts_ns, change->ts_ns);
        change->owner = change->told == NOT_TOLD ? open->call
                                                 : zone_of(tree, change->told, open->call);
        keep_call(w, change->owner);
    }
}

static void walk_calls(aside_walk *w, const uint32_t *changes) {
    call_tree *tree = w->tree;
    open_calls open = {NO_CALL, NO_CALL};
    uint32_t number, thread = NO_CALL;
    size_t next = 0;
    for (bool more = true; more; ) {
        more = next_call(w, &number);
        bool same = more && tree->calls[number].thread == thread;
        if (!same && thread != NO_CALL) {
            own_changes(w, changes, &next, thread, INT64_MAX, &open);
            leave(tree, open.call, NO_CALL);
            open = (open_calls){NO_CALL, NO_CALL};
        }
        if (!more) return;
        thread = tree->calls[number].thread;
        own_changes(w, changes, &next, thread, tree->calls[number].start_ns, &open);
        enter(w, number, &open);
    }
}

/* Where all calls are named, their order is the tree's. */
static void nest(call_tree *tree) {
    uint32_t *changes = sorted_numbers(tree->change_count, change_before, tree->changes);
    uint32_t *named = sorted_numbers(tree->count, call_before, tree->calls);
    aside_walk w = {.tree = tree, .named = named, .count = tree->count};
    tree->nest = (span_nest){
        tree->calls, sizeof *tree->calls, offsetof(call, end_ns), offsetof(call, parent), 0
    };
    if (tree->asides) {
        sorter_finish(tree->asides);
        w.any = sorter_next(tree->asides, &w.aside);
    } else {
        tree->order = named;
        w.capacity = w.count;
    }
    walk_calls(&w, changes);
    if (tree->asides) {
        sorter_free(tree->asides);
        free(named);
    }
    tree->asides = NULL;
    free(changes);
}

/* Python functions around a launch have not launched it either. */
static bool is_launch(const void *one) {
    const call *c = one;
    return c->kind == TRACE_RUNTIME || c->kind == TRACE_PYTHON;
}

static void attribute_kernels(call_tree *tree) {
    for (size_t i = 0; i < tree->kernel_count; i++) {
        kernel_link *kernel = &tree->kernels[i];
        kernel->owner = join_owner(&tree->join, kernel->external, kernel->correlation);
        kernel->owner = span_nest_launcher(&tree->nest, kernel->owner, is_launch);
        if (kernel->told != NOT_TOLD) kernel->owner = zone_of(tree, kernel->told, kernel->owner);
        if (kernel->owner == NO_CALL) tree->unowned++;
        else if (!tree->calls[kernel->owner].is_legacy)
            tree->calls[kernel->owner].device_self_ns += kernel->dur_ns;
    }
}

/* ---- Into sums ---- */

/* first: of each call, its first child, and at the end the first of those that lie in none. */
static void link_children(const call_tree *tree, uint32_t *first, uint32_t *next) {
    for (size_t i = 0; i <= tree->count; i++) first[i] = NO_CALL;
    for (size_t i = tree->count; i-- > 0; ) {
        uint32_t number = tree->order[i], parent = tree->calls[number].parent;
        uint32_t *place = &first[parent == NO_CALL ? tree->count : parent];
        next[number] = *place;
        *place = number;
    }
}

static call_span span_of(const call_tree *tree, uint32_t number, uint32_t depth) {
    const call *c = &tree->calls[number];
    call_span made = {
        .start_ns = c->start_ns, .end_ns = c->end_ns, .row = PROF_NONE,
        .device_ns = c->device_self_ns, .order = number, .depth = depth,
        .flags = CALL_DEPTH | (c->is_legacy ? PROF_EVENT_LEGACY : 0)
    };
    return made;
}

void tree_walk(const call_tree *tree, tree_take *take, void *user) {
    uint32_t *first = allocate((tree->count + 1) * sizeof *first);
    uint32_t *next = allocate((tree->count + 1) * sizeof *next), depth = 0;
    link_children(tree, first, next);
    for (uint32_t at = first[tree->count]; at != NO_CALL; ) {
        const call *c = &tree->calls[at];
        uint32_t child = first[at];
        first[at] = NO_CALL;
        if (child != NO_CALL) {
            depth += !c->apart;
            at = child;
            continue;
        }
        if (!c->apart && !c->is_async) {
            call_span made = span_of(tree, at, depth);
            take(user, at, &made);
        }
        if (next[at] != NO_CALL) {
            at = next[at];
        } else if ((at = c->parent) != NO_CALL) {
            depth -= !tree->calls[at].apart;
        }
    }
    free(first);
    free(next);
}

typedef struct timed { call_tree *tree; call_sums *sums; arena memory; } timed;

static void *more_memory(void *user, size_t size) {
    return arena_allocate(&((timed *)user)->memory, size);
}

static void push_timed(void *user, uint32_t number, const call_span *made) {
    (void)number;
    call_sums_push(((timed *)user)->sums, made);
}

static void note_times(void *user, const call_end *end) {
    call *c = &((timed *)user)->tree->calls[end->order];
    c->self_ns = end->self_ns;
    c->device_ns = end->device_ns;
    c->device_self_ns = end->self_device_ns;
}

void tree_time(call_tree *tree) {
    timed t = {.tree = tree};
    call_sums_desc desc = {.more = more_memory, .ended = note_times, .user = &t};
    t.sums = call_sums_open(&desc);
    tree_walk(tree, push_timed, &t);
    call_sums_close(t.sums, NULL, 0);
    arena_free(&t.memory);
}

void tree_build(call_tree *tree) {
    set_aside(tree);
    nest(tree);
    attribute_kernels(tree);
}

void tree_clear(call_tree *tree) {
    call_tree kept = {.names = tree->names};
    memcpy(&kept, tree, offsetof(call_tree, calls));
    free(tree->calls);
    free(tree->order);
    free(tree->threads);
    free(tree->kernels);
    free(tree->changes);
    if (tree->asides) sorter_free(tree->asides);
    map_free(&tree->thread_numbers);
    map_free(&tree->join);
    map_free(&tree->by_zone);
    map_free(&tree->told);
    *tree = kept;
}

void tree_free(call_tree *tree) {
    tree_clear(tree);
    intern_free(&tree->names);
}
