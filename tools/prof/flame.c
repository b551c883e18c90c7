/* Call paths and the time spent in each: see flame.h. */
#include "flame.h"

#include <stdlib.h>
#include <string.h>

#include "path_sums.h"
#include "raw_rows.h"

/* ---- Nodes ---- */

/* The node of this name below parent, made if it is new. */
static uint32_t node_below(flame *f, uint32_t parent, const char *name, size_t size, uint8_t kind) {
    uint32_t key[2] = {parent, intern(&f->names, name, size)};
    size_t known = f->paths.count;
    uint32_t number = intern(&f->paths, (const char *)key, sizeof key);
    if (f->paths.count > known) {
        GROW(f->nodes, f->count, f->capacity);
        f->nodes[f->count++] = (flame_node){.parent = parent, .name = key[1], .kind = kind};
    }
    return number;
}

static void begin(flame *f) {
    if (f->count == 0) node_below(f, UINT32_MAX, "", 0, TRACE_OTHER);
}

/* ---- From a trace ---- */

typedef struct walk {
    flame *f;
    const flame_options *options;
    call_tree tree;
    interner texts;             /* "Call stack" texts; call.key is the number + 1 */
    uint32_t *kernel_names;     /* of tree.kernels */
    size_t kernel_capacity;
    map thread_names;           /* thread -> number in texts */
    struct { uint32_t node, stack; } *places;    /* of tree.calls; stack: as key */
    uint32_t *path;
    size_t path_capacity;
} walk;

static void keep_stack(walk *w, const trace_event *event, call *c) {
    const trace_member *arg = w->options->python ? trace_arg(event, PROF_KEY_STACK) : NULL;
    if (!arg || !json_is_text(arg->value)) return;
    size_t size = json_decode(arg->value, NULL, 0);
    char *text = allocate(size + 1);
    json_decode(arg->value, text, size + 1);
    if (size) c->key = intern(&w->texts, text, size) + 1;
    free(text);
}

static void keep_kernel_name(walk *w, const trace_event *event) {
    size_t last = w->tree.kernel_count - 1;
    GROW(w->kernel_names, last, w->kernel_capacity);
    w->kernel_names[last] = intern(&w->f->names, event->name.data, event->name.size);
}

static void keep_thread_name(walk *w, const trace_event *event) {
    char name[256];
    if (event->phase != 'M' || !text_is(event->name, "thread_name")) return;
    if (!trace_arg_text(event, "name", name, sizeof name)) return;
    *map_put(&w->thread_names, tree_thread(&w->tree, event), NULL) =
        intern(&w->texts, name, strlen(name));
}

static void take(walk *w, const trace_event *event) {
    size_t kernels = w->tree.kernel_count;
    call *c = tree_add(&w->tree, event);
    if (c) keep_stack(w, event, c);
    if (c) c->apart = w->options->frames_only && c->kind == TRACE_PYTHON;    /* an op's time is its
                                            frames', but for the ops within, whatever is between */
    if (w->tree.kernel_count > kernels) keep_kernel_name(w, event);
    if (w->options->threads || w->options->take) keep_thread_name(w, event);
    if (w->options->on_event) w->options->on_event(w->options->user, event);
}

/* name: NULL: it has none. */
static void format_thread(char text[320], const char *name, int64_t pid, int64_t tid) {
    if (name) snprintf(text, 320, "%s", name);
    else snprintf(text, 320, "process %lld thread %lld", (long long)pid, (long long)tid);
}

static size_t thread_text(const walk *w, uint32_t number, char text[320]) {
    const call_thread *thread = &w->tree.threads[number];
    const uint64_t *name = map_get(&w->thread_names, number);
    format_thread(text, name ? interned_text(&w->texts, (uint32_t)*name) : NULL, thread->pid,
                  thread->tid);
    return strlen(text);
}

static uint32_t thread_node(walk *w, uint32_t number) {
    char text[320];
    size_t size = thread_text(w, number, text);
    return node_below(w->f, 0, text, size, TRACE_OTHER);
}

/* Tells of the call, NO_CALL: of none. */
static void tell(const walk *w, uint32_t number, flame_sample sample) {
    char text[320] = "";
    if (!w->options->take) return;
    if (number != NO_CALL) {
        sample.call = &w->tree.calls[number];
        thread_text(w, sample.call->thread, text);
    }
    sample.thread = text;
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

static uint32_t named_below(walk *w, uint32_t parent, const call *c) {
    const struct interned *name = &w->tree.names.entries[c->name];
    return node_below(w->f, parent, name->text, name->size, c->kind);
}

/* The path of a call with a stack text of its own: that, and below it the calls around it. */
static uint32_t node_with_stack(walk *w, uint32_t base, uint32_t number, uint32_t stack) {
    uint32_t node = stack_node(w->f, &w->texts, base, stack);
    size_t depth = 0;
    if (w->options->frames_only) return node;
    for (uint32_t up = number; up != NO_CALL; up = w->tree.calls[up].parent) {
        GROW(w->path, depth, w->path_capacity);
        w->path[depth++] = up;
    }
    while (depth) node = named_below(w, node, &w->tree.calls[w->path[--depth]]);
    return node;
}

static void enter(walk *w, uint32_t number, uint32_t base) {
    const call *c = &w->tree.calls[number];
    bool top = c->parent == NO_CALL;
    uint32_t parent = top ? base : w->places[c->parent].node, node;
    uint32_t stack = top ? 0 : w->places[c->parent].stack;
    bool hidden = w->options->frames_only && c->kind != TRACE_PYTHON;
    if (c->key && c->key != stack) node = node_with_stack(w, base, number, stack = c->key);
    else node = hidden ? parent : named_below(w, parent, c);
    w->places[number].node = node;
    w->places[number].stack = stack;
    if (w->options->device) w->f->nodes[node].self += w->options->kernels ? 0 : c->device_self_ns;
    else if (!hidden || node != base) w->f->nodes[node].self += c->self_ns;
    tell(w, number, (flame_sample){.node = node, .cpu_ns = c->self_ns, .calls = 1});
}

static void add_kernels(walk *w) {
    for (size_t i = 0; i < w->tree.kernel_count; i++) {
        const kernel_link *kernel = &w->tree.kernels[i];
        const struct interned *name = &w->f->names.entries[w->kernel_names[i]];
        uint32_t owner = kernel->owner == NO_CALL ? 0 : w->places[kernel->owner].node;
        uint32_t node = node_below(w->f, owner, name->text, name->size, TRACE_KERNEL);
        w->f->nodes[node].self += kernel->dur_ns;
        tell(w, kernel->owner,
             (flame_sample){.node = node, .device_ns = kernel->dur_ns, .calls = 1});
    }
}

static void tell_changes(walk *w) {
    for (size_t i = 0; i < w->tree.change_count; i++) {
        const memory_change *change = &w->tree.changes[i];
        bool known = change->owner != NO_CALL && !w->tree.calls[change->owner].is_async;
        uint32_t node = known ? w->places[change->owner].node
                              : node_below(w->f, 0, "(no call)", 9, TRACE_OTHER);
        if (change->bytes > 0 && change->kind == CHANGE_EVENT)
            tell(w, known ? change->owner : NO_CALL,
                 (flame_sample){.node = node, .bytes = change->bytes});
    }
}

static void walk_tree(walk *w) {
    const call_tree *tree = &w->tree;
    uint32_t base = 0;
    w->places = allocate(tree->count * sizeof *w->places);
    for (size_t i = 0; i < tree->count; i++) {
        uint32_t thread = tree->calls[tree->order[i]].thread;
        if (i == 0 || thread != tree->calls[tree->order[i - 1]].thread)
            base = w->options->threads ? thread_node(w, thread) : 0;
        if (!tree->calls[tree->order[i]].is_async) enter(w, tree->order[i], base);
    }
    if (w->options->device && w->options->kernels) add_kernels(w);
    tell_changes(w);
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

static void take_zone(void *user, const prof_span *zone) {
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

static int read_trace(flame *f, const flame_options *options, const char *path) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    walk w = {.f = f, .options = options};
    w.tree.without_kernels = !options->device;
    w.tree.with_python = w.tree.python_around = options->python;
    w.tree.with_site = options->by_site;
    w.tree.with_memory = options->take != NULL;
    while (trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_EVENT) take(&w, &reader->event);
        if (reader->item == TRACE_MEMBER && options->on_member)
            options->on_member(options->user, &reader->member);
    }
    tree_build(&w.tree);
    tree_time(&w.tree);
    walk_tree(&w);
    f->overlaps += w.tree.nest.overlaps;
    tree_free(&w.tree);
    intern_free(&w.texts);
    map_free(&w.thread_names);
    free(w.kernel_names);
    free(w.places);
    free(w.path);
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
    intern_free(&f->paths);
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
