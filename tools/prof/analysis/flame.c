/* Call paths and the time spent in each: see flame.h. */
#include "analysis/flame.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/path_sums.h"
#include "analysis/raw_rows.h"
#include "input/trace_reader.h"

/* ---- Nodes ---- */

static bool same_path(const void *nodes, uint32_t number, const void *node) {
    const flame_node *a = (const flame_node *)nodes + number, *b = node;
    return a->parent == b->parent && a->name == b->name;
}

/* The node of this name, of f->names, below parent; made if it is new. */
static uint32_t numbered_below(flame *f, uint32_t parent, uint32_t name, uint8_t kind) {
    const flame_node node = {.parent = parent, .name = name, .kind = kind};
    uint64_t hash = (uint64_t)parent << 32 | name;
    uint32_t number = number_of_thing(&f->paths, hash_mix(hash), f->nodes, &node, same_path);
    if (number < f->count) return number;
    GROW(f->nodes, f->count, f->capacity);
    f->nodes[f->count++] = node;
    return number;
}

static uint32_t node_below(flame *f, uint32_t parent, const char *name, size_t size, uint8_t kind) {
    return numbered_below(f, parent, intern(&f->names, name, size), kind);
}

static void begin(flame *f) {
    if (f->count == 0) node_below(f, UINT32_MAX, "", 0, TRACE_OTHER);
}

/* ---- From a trace ---- */

typedef struct walk {
    flame *f;
    const flame_options *options;
    call_walk calls;            /* their id: number of the stack in texts + 1; of kernels: of the
                                   name in f->names */
    interner texts;             /* "Call stack" texts */
    map thread_names;           /* thread -> number in texts */
    uint32_t *path;
    size_t path_capacity;
    uint32_t *names;            /* by number in the calls' names: 1 + that in f->names; 0: none */
    uint32_t thread, base;      /* of the call entered last; where its paths begin */
    bool by_prof, zone_stacks;  /* the head is prof.h's; and says that stacks are those of zones */
    uint32_t told_thread;
    char told[320];             /* what that is called */
} walk;

static uint32_t stack_number(walk *w, const trace_event *event) {
    const trace_member *arg = w->options->python ? trace_arg(event, PROF_KEY_STACK) : NULL;
    if (!arg || !json_is_text(arg->value)) return 0;
    size_t size = json_decode(arg->value, NULL, 0);
    char *text = allocate(size + 1);
    json_decode(arg->value, text, size + 1);
    uint32_t number = size ? intern(&w->texts, text, size) + 1 : 0;
    free(text);
    return number;
}

static void keep_thread_name(walk *w, const trace_event *event) {
    char name[256];
    if (event->phase != 'M' || !text_is(event->name, "thread_name")) return;
    if (!trace_arg_text(event, "name", name, sizeof name)) return;
    *map_put(&w->thread_names, tree_thread(&w->calls.tree, event), NULL) =
        intern(&w->texts, name, strlen(name));
}

static void take(walk *w, const trace_reader *reader) {
    const trace_event *event = &reader->event;
    bool kernel = event->phase == 'X' && kind_is_device(event->kind);
    uint32_t id = 0;
    if (kernel && w->options->device)
        id = intern(&w->f->names, event->name.data, event->name.size);
    else if (tree_takes(&w->calls.tree, event)) id = stack_number(w, event);
    walk_add(&w->calls, reader, id);
    if (w->options->threads || w->options->take) keep_thread_name(w, event);
    if (w->options->on_event) w->options->on_event(w->options->user, event);
}

/* name: NULL: it has none. */
static void format_thread(char text[320], const char *name, int64_t pid, int64_t tid) {
    if (name) snprintf(text, 320, "%s", name);
    else snprintf(text, 320, "process %lld thread %lld", (long long)pid, (long long)tid);
}

/* What the thread is called, until the next one. */
static const char *thread_text(walk *w, uint32_t number) {
    const call_thread *thread = &w->calls.tree.threads[number];
    const uint64_t *name = map_get(&w->thread_names, number);
    if (number == w->told_thread) return w->told;
    w->told_thread = number;
    format_thread(w->told, name ? interned_text(&w->texts, (uint32_t)*name) : NULL, thread->pid,
                  thread->tid);
    return w->told;
}

static uint32_t thread_node(walk *w, uint32_t number) {
    const char *text = thread_text(w, number);
    return node_below(w->f, 0, text, strlen(text), TRACE_OTHER);
}

/* Tells of the call, NO_CALL: of none. */
static void tell(walk *w, uint32_t number, flame_sample sample) {
    if (!w->options->take) return;
    sample.call = number == NO_CALL ? NULL : &w->calls.calls[number];
    sample.thread = sample.call ? thread_text(w, sample.call->thread) : "";
    w->options->take(w->options->user, &sample);
}

/* The nodes of a "Call stack" text, which begins with the innermost entry. */
static uint32_t stack_node(flame *f, const interner *texts, uint32_t node, uint32_t stack) {
    const struct interned *text = &texts->entries[stack - 1];
    const char *end = text->text + text->size;
    while (end > text->text) {
        const char *p = end;
        while (p > text->text && p[-1] != ';') p--;
        if (p < end) node = node_below(f, node, p, (size_t)(end - p), TRACE_PYTHON);
        end = p > text->text ? p - 1 : p;
    }
    return node;
}

static uint32_t named_below(walk *w, uint32_t parent, const walk_call *c) {
    const interner *names = &w->calls.tree.names;
    const struct interned *name = &names->entries[c->name];
    if (!w->names) w->names = allocate(names->count * sizeof *w->names);    /* all are there */
    if (!w->names[c->name]) w->names[c->name] = intern(&w->f->names, name->text, name->size) + 1;
    return numbered_below(w->f, parent, w->names[c->name] - 1, c->kind);
}

/* The path of a call with a stack text of its own: that, and below it the calls around it. */
static uint32_t node_with_stack(walk *w, uint32_t number, uint32_t stack) {
    uint32_t node = stack_node(w->f, &w->texts, w->base, stack);
    size_t depth = 0;
    if (w->options->frames_only) return node;
    for (uint32_t up = number; up != NO_CALL; up = w->calls.calls[up].around) {
        GROW(w->path, depth, w->path_capacity);
        w->path[depth++] = up;
    }
    while (depth) node = named_below(w, node, &w->calls.calls[w->path[--depth]]);
    return node;
}

/* The function of a native frame, "file(0x12ab): function", whole where that is not known; empty:
   it is the place of a zone. */
static trace_text native_function(const char *entry, const char *end) {
    const char *place = strstr(entry, "(0x"), *name = strstr(entry, "): ");
    if (!place || !name || place > name || name + 3 > end) return (trace_text){NULL, 0};
    if (end - name == 5 && memcmp(name, "): ??", 5) == 0) name = entry - 3;
    return (trace_text){name + 3, (size_t)(end - name) - 3};
}

/* Where prof.h gave each zone a stack, that is of the zones around it, which are there as calls,
   and of native frames. Those between a call and the one around it, whose stack is outer, stand
   before its name, which may be the innermost one's: as in prof_write_stacks. */
static uint32_t native_frames(walk *w, const walk_call *c, uint32_t outer, uint32_t node) {
    const char *text = interned_text(&w->texts, (uint32_t)c->id - 1), *end = text + strlen(text);
    const char *name = interned_text(&w->calls.tree.names, c->name);
    const char *rest = outer ? strchr(interned_text(&w->texts, outer - 1), ';') : NULL;
    if (rest && !ends_with(text, rest)) return node;
    if (rest) end -= strlen(rest);
    for (bool outers = outer != 0; end > text; outers = false) {
        const char *entry = end;
        while (entry > text && entry[-1] != ';') entry--;
        trace_text frame = native_function(entry, end);
        if (!outers && frame.size && (entry > text || !text_is(frame, name)))
            node = node_below(w->f, node, frame.data, frame.size, TRACE_PYTHON);
        end = entry > text ? entry - 1 : entry;
    }
    return node;
}

static void begin_thread(walk *w, uint32_t number) {
    if (number != w->thread) w->base = w->options->threads ? thread_node(w, number) : 0;
    w->thread = number;
}

static bool is_hidden(const walk *w, const walk_call *c) {
    return w->options->frames_only && c->kind != TRACE_PYTHON;
}

static void enter(void *user, uint32_t number) {
    walk *w = user;
    walk_call *c = &w->calls.calls[number];
    const walk_call *around = c->around == NO_CALL ? NULL : &w->calls.calls[c->around];
    uint32_t stack = around ? around->stack : 0, own = (uint32_t)c->id;
    begin_thread(w, c->thread);
    c->stack = own ? own : stack;
    bool told = c->stack != stack && !w->zone_stacks;
    c->node = told ? node_with_stack(w, number, own) : around ? around->node : w->base;
    if (own && w->zone_stacks) c->node = native_frames(w, c, stack, c->node);
    if (!told && !is_hidden(w, c)) c->node = named_below(w, c->node, c);
}

static void leave(void *user, uint32_t number, const call_end *times) {
    walk *w = user;
    const walk_call *c = &w->calls.calls[number];
    bool device = w->options->device;
    int64_t ns = device ? times->self_device_ns : times->self_ns;
    begin_thread(w, c->thread);
    bool counts = device ? !w->options->kernels : !is_hidden(w, c) || c->node != w->base;
    if (counts) w->f->nodes[c->node].self += ns;
    tell(w, number, (flame_sample){.node = c->node, .cpu_ns = times->self_ns, .calls = 1});
}

static void take_kernel(void *user, uint32_t owner, int64_t id, int64_t ns) {
    walk *w = user;
    const struct interned *name = &w->f->names.entries[id];
    uint32_t below = owner == NO_CALL ? 0 : w->calls.calls[owner].node;
    if (!w->options->kernels) return;
    uint32_t node = node_below(w->f, below, name->text, name->size, TRACE_KERNEL);
    w->f->nodes[node].self += ns;
    tell(w, owner, (flame_sample){.node = node, .device_ns = ns, .calls = 1});
}

static void take_change(void *user, uint32_t owner, int64_t id, int64_t bytes) {
    walk *w = user;
    (void)id;
    uint32_t node = owner == NO_CALL ? node_below(w->f, 0, "(no call)", 9, TRACE_OTHER)
                                     : w->calls.calls[owner].node;
    tell(w, owner, (flame_sample){.node = node, .bytes = bytes});
}

/* ---- From a raw stream, in constant memory ---- */

typedef struct zone_key { uint32_t name, stack, kind; } zone_key;    /* stack: as call.key */

typedef struct stream {
    flame *f;
    const flame_options *options;
    path_sums *paths;
    interner keys, texts;
    output text;
    map threads;                /* number -> its name in texts */
    int64_t pid;
} stream;

static uint32_t stack_of(stream *s, const prof_extra *x) {
    size_t size;
    if (!x || !x->stack_count || !s->options->python) return 0;
    for (uint32_t i = 0; i < x->stack_count; i++) {
        output_text(&s->text, i ? ";" : "");
        output_text(&s->text, x->stack[i]);
    }
    const char *words = output_memory(&s->text, &size);
    uint32_t number = intern(&s->texts, words, size) + 1;
    output_forget(&s->text);
    return number;
}

static uint32_t take_key(void *user, const prof_raw_item *item) {
    stream *s = user;
    bool annotation = (item->flags & PROF_EVENT_USER_ANNOTATION) != 0;
    zone_key key = {
        intern(&s->f->names, item->name, strlen(item->name)), stack_of(s, item->extra),
        annotation ? TRACE_ANNOTATION : TRACE_CPU_OP
    };
    return intern(&s->keys, (const char *)&key, sizeof key);
}

static void take_zone(void *user, const call_span *zone) {
    stream *s = user;
    paths_add(s->paths, zone->thread, zone->depth, zone->row, zone->end_ns - zone->start_ns);
}

static void tell_sum(const stream *s, const char *thread, flame_sample sample) {
    sample.thread = thread;
    if (s->options->take) s->options->take(s->options->user, &sample);
}

static void take_memory(stream *s, const prof_raw_item *item) {
    const prof_memory_change *c = item->memory;
    if (c->is_free || item->failed || !c->bytes || !s->options->take) return;
    if (item->depth != UINT8_MAX) {
        paths_allocate(s->paths, item->thread, item->depth, c->bytes);
        return;
    }
    uint32_t node = node_below(s->f, 0, "(no call)", 9, TRACE_OTHER);
    tell_sum(s, "", (flame_sample){.node = node, .bytes = (int64_t)c->bytes});
}

static void take_item(void *user, const prof_raw_item *item) {
    stream *s = user;
    char text[320];
    bool is_new;
    if (item->kind == PROF_RAW_SESSION) s->pid = item->value;
    if (item->kind == PROF_RAW_MEMORY) take_memory(s, item);
    if (item->kind != PROF_RAW_THREAD) return;
    uint64_t *name = map_put(&s->threads, item->thread, &is_new);
    if (!is_new) return;
    format_thread(text, item->name, s->pid, item->value);
    *name = intern(&s->texts, text, strlen(text));
}

static const zone_key *key_of(const stream *s, const path_node *node) {
    return (const zone_key *)(const void *)s->keys.entries[node->key].text;
}

static uint32_t key_below(stream *s, uint32_t parent, const zone_key *key) {
    const struct interned *name = &s->f->names.entries[key->name];
    return node_below(s->f, parent, name->text, name->size, (uint8_t)key->kind);
}

/* As node_with_stack: the stack, and below it all from the outermost zone to this one. */
static uint32_t path_with_stack(stream *s, const path_node *node, uint32_t base, uint32_t stack) {
    const path_node *up[PATH_DEPTHS + 1], *nodes = s->paths->nodes;
    size_t depth = 0;
    base = stack_node(s->f, &s->texts, base, stack);
    for (; node->parent; node = &nodes[node->parent]) up[depth++] = node;
    while (depth) base = key_below(s, base, key_of(s, up[--depth]));
    return base;
}

/* The paths below one: into those of base, below to, where the stack is that. */
static void add_paths(stream *s, const char *thread, uint32_t from, uint32_t base, uint32_t to,
                      uint32_t stack) {
    const path_node *node;
    for (uint32_t at = s->paths->nodes[from].first; at; at = node->next) {
        node = &s->paths->nodes[at];
        const zone_key *key = key_of(s, node);
        bool own = key->stack && key->stack != stack;
        uint32_t below = own ? path_with_stack(s, node, base, key->stack) : key_below(s, to, key);
        if (!s->options->device) s->f->nodes[below].self += node->self_ns;
        tell_sum(s, thread, (flame_sample){.node = below, .cpu_ns = node->self_ns,
                                           .calls = node->calls, .bytes = node->bytes});
        add_paths(s, thread, at, base, below, own ? key->stack : stack);
    }
}

/* Its zones tell their depth. */
static int read_stream(flame *f, const flame_options *options, row_table *table, const char *path) {
    stream *s = allocate(sizeof *s);             /* not on the stack: the table points there */
    *s = (stream){.f = f, .options = options, .paths = paths_new()};
    output_open_memory(&s->text);
    table->zone_key = take_key;
    table->on_zone = take_zone;
    table->on_item = take_item;
    table->user = s;
    int status = raw_rows_read(table, path);
    paths_finish(s->paths);
    for (size_t i = 0; i < s->paths->thread_count; i++) {
        const path_thread *thread = s->paths->threads[i];
        const uint64_t *known = map_get(&s->threads, thread->number);
        const char *name = known ? interned_text(&s->texts, (uint32_t)*known) : "";
        uint32_t base =
            options->threads ? node_below(f, 0, name, strlen(name), TRACE_OTHER) : 0;
        add_paths(s, name, thread->levels[0].within, base, base, 0);
    }
    if (options->on_times && table->events)
        options->on_times(options->user, table->first_ns, table->last_ns);
    paths_free(s->paths);
    map_free(&s->threads);
    intern_free(&s->keys);
    intern_free(&s->texts);
    output_discard(&s->text);
    free(s);
    return status;
}

/* ---- A file ---- */

static void note_head(walk *w, const trace_member *member) {
    w->by_prof |= text_is(member->key, "prof");
    if (text_is(member->key, "with_stack"))
        w->zone_stacks = w->by_prof && !text_is(member->value, "0");
    if (w->options->on_member) w->options->on_member(w->options->user, member);
}

static int read_trace(flame *f, const flame_options *options, const char *path) {
    static const walk_take takes = {enter, leave, take_kernel, take_change};
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    walk w = {.f = f, .options = options, .thread = NO_CALL, .told_thread = NO_CALL};
    w.calls.take = &takes;
    w.calls.user = &w;
    w.calls.frames_apart = options->frames_only;     /* an op's time is its frames', but for the
                                            ops within, whatever is between */
    w.calls.tree.without_kernels = !options->device;
    w.calls.tree.with_python = w.calls.tree.python_around = options->python;
    w.calls.tree.with_site = options->by_site;
    w.calls.tree.with_memory = options->take != NULL;
    while (trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_EVENT) take(&w, reader);
        if (reader->item == TRACE_MEMBER) note_head(&w, &reader->member);
    }
    walk_all(&w.calls);
    f->overlaps += w.calls.nest.overlaps;
    walk_free(&w.calls);
    intern_free(&w.texts);
    map_free(&w.thread_names);
    free(w.path);
    free(w.names);
    return trace_close(reader);
}

int flame_read(flame *f, const flame_options *options, const char *path) {
    static const row_options rows = {0};
    row_table table = {0};
    bool raw = !options->frames_only && rows_begin(&table, &rows) && raw_rows_can(&table, path);
    begin(f);
    int status = raw ? read_stream(f, options, &table, path) : read_trace(f, options, path);
    rows_free(&table);
    return status;
}

/* ---- The whole ---- */

void flame_compare(flame *f) {
    begin(f);
    for (size_t i = 0; i < f->count; i++) {
        f->nodes[i].self_before = f->nodes[i].self;
        f->nodes[i].self = 0;
    }
}

/* Overlapping calls leave less than nothing to the one around them. */
static int64_t not_negative(int64_t ns) { return ns < 0 ? 0 : ns; }

void flame_finish(flame *f) {
    begin(f);
    if (f->overlaps)
        warn(NULL, "%llu calls begin in one call and end behind it: their paths are guesses",
             (unsigned long long)f->overlaps);
    for (size_t i = f->count; i-- > 0; ) {
        flame_node *node = &f->nodes[i];
        node->total += node->self = not_negative(node->self);
        node->total_before += node->self_before = not_negative(node->self_before);
        if (i == 0) break;
        f->nodes[node->parent].total += node->total;
        f->nodes[node->parent].total_before += node->total_before;
    }
}

void flame_free(flame *f) {
    intern_free(&f->names);
    free(f->paths.slots);
    free(f->nodes);
    memset(f, 0, sizeof *f);
}

bool flame_metric(const char *name, flame_options *options) {
    prof_metric metric;
    if (prof_metric_from_text(name, &metric) == PROF_OK &&
        (metric == PROF_METRIC_SELF_CPU_TIME_TOTAL ||
         metric == PROF_METRIC_SELF_DEVICE_TIME_TOTAL)) {
        options->device = metric == PROF_METRIC_SELF_DEVICE_TIME_TOTAL;
        return true;
    }
    fail("--metric", "'%s' is neither self_cpu_time_total nor self_cuda_time_total (or xpu, ...)",
         name);
    return false;
}
