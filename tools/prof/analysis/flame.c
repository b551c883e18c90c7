/* Call paths and the time spent in each: see flame.h. */
#include "analysis/flame.h"

#include <stdlib.h>
#include <string.h>

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
    struct trace trace;         /* key of a call: number of the stack in texts + 1, of its own or
                                   around it; more: its node; is_partial: it is its own */
    interner texts;             /* "Call stack" texts */
    uint32_t *path;
    size_t path_capacity;
    uint32_t *names;            /* by number in the trace's names: 1 + that in f->names; 0: none */
    uint32_t thread, base;      /* of the call entered last; where its paths begin */
    bool zone_stacks;           /* the head is prof.h's, and says that stacks are those of zones */
    uint32_t told_thread;
    char told[80];              /* what that is called */
} walk;

static uint32_t stack_number(walk *w, const trace_event *event) {
    const trace_member *arg = w->options->python ? trace_arg(event, KEY_STACK) : NULL;
    if (!arg || !json_is_text(arg->value)) return 0;
    size_t size = json_decode(arg->value, NULL, 0);
    char *text = allocate(size + 1);
    json_decode(arg->value, text, size + 1);
    size = trace_stack(&w->trace, text, size);
    uint32_t number = size ? intern(&w->texts, text, size) + 1 : 0;
    free(text);
    return number;
}

static void note_head(walk *w, const trace_member *member) {
    if (text_is(member->key, "with_stack"))
        w->zone_stacks = w->trace.own && !text_is(member->value, "0");
    if (w->options->on_member) w->options->on_member(w->options->user, member);
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    walk *w = user;
    const flame_options *o = w->options;
    const trace_event *event = reader->event;
    if (reader->item == TRACE_MEMBER) note_head(w, &reader->member);
    if (reader->item != TRACE_EVENT) return;
    if (kept == KEPT_CALL) {
        call *c = &w->trace.calls[w->trace.call_count - 1];
        c->key = c->kind == TRACE_PYTHON ? 0 : stack_number(w, event);
        c->is_partial = c->key && (!w->zone_stacks || trace_arg(event, KEY_OWN_STACK));
        c->apart = o->frames_only && c->kind == TRACE_PYTHON;
    }
    if (event->phase == 'M' && (o->threads || o->take)) trace_take_name(&w->trace, event);
    if (o->on_event) o->on_event(o->user, event);
}

/* What the thread is called, until the next one. */
static const char *thread_text(walk *w, uint32_t number) {
    const call_thread *thread = &w->trace.threads[number];
    const char *name = trace_words(&w->trace, thread->name);
    if (name || number == w->told_thread) return name ? name : w->told;
    w->told_thread = number;
    snprintf(w->told, sizeof w->told, "process %lld thread %lld", (long long)thread->pid,
             (long long)thread->tid);
    return w->told;
}

static uint32_t thread_node(walk *w, uint32_t number) {
    const char *text = thread_text(w, number);
    return node_below(w->f, 0, text, strlen(text), TRACE_OTHER);
}

/* Tells of the call, NO_CALL: of none; and of the thread whose process it is. */
static void tell(walk *w, uint32_t number, uint32_t thread, flame_sample sample) {
    if (!w->options->take) return;
    sample.call = number == NO_CALL ? NULL : &w->trace.calls[number];
    sample.pid = w->trace.threads[thread].pid;
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

static uint32_t named_below(walk *w, uint32_t parent, const call *c) {
    const interner *names = &w->trace.names;
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
    for (uint32_t up = number; up != NO_CALL; up = w->trace.calls[up].parent) {
        GROW(w->path, depth, w->path_capacity);
        w->path[depth++] = up;
    }
    while (depth) node = named_below(w, node, &w->trace.calls[w->path[--depth]]);
    return node;
}

/* The function of a native frame, "file(0x12ab): function", whole where that is not known; empty:
   it is the site of a zone. */
static trace_text native_function(const char *entry, const char *end) {
    const char *place = strstr(entry, "(0x"), *name = strstr(entry, "): ");
    if (!place || !name || place > name || name + 3 > end) return (trace_text){NULL, 0};
    if (end - name == 5 && memcmp(name, "): ??", 5) == 0) name = entry - 3;
    return (trace_text){name + 3, (size_t)(end - name) - 3};
}

/* The end of the frames of a program's own stack that the one around it does not have, counted from
   the outermost. */
static const char *own_end(const char *text, const char *outer) {
    const char *a = text + strlen(text), *b = outer + strlen(outer), *end = a;
    for (;; a--, b--) {
        bool whole = (a == text || a[-1] == ';') && (b == outer || b[-1] == ';');
        if (whole) end = a > text ? a - 1 : a;
        if (a == text || b == outer || a[-1] != b[-1]) return end;
    }
}

/* In prof.h's traces a stack is of the zones around, which are there as calls, of native frames, or
   the program's own. Its frames that the call around it, whose stack is outer, does not have stand
   before its name, which may be the innermost one's: as in prof_write_stacks. */
static uint32_t native_frames(walk *w, const call *c, uint32_t outer, uint32_t node) {
    const char *text = interned_text(&w->texts, c->key - 1), *end = text + strlen(text);
    const char *name = interned_text(&w->trace.names, c->name);
    const char *around = outer ? interned_text(&w->texts, outer - 1) : "";
    const char *rest = c->is_partial ? NULL : strchr(around, ';');
    if (rest && !ends_with(text, rest)) return node;
    if (rest) end -= strlen(rest);
    if (c->is_partial) end = own_end(text, around);
    for (bool outers = outer && !c->is_partial; end > text; outers = false) {
        const char *entry = end;
        while (entry > text && entry[-1] != ';') entry--;
        trace_text frame = c->is_partial ? (trace_text){entry, (size_t)(end - entry)}
                                         : native_function(entry, end);
        if (!outers && frame.size && (entry > text || !text_is(frame, name)))
            node = node_below(w->f, node, frame.data, frame.size, TRACE_PYTHON);
        end = entry > text ? entry - 1 : entry;
    }
    return node;
}

static bool is_hidden(const walk *w, const call *c) {
    return w->options->frames_only && c->kind != TRACE_PYTHON;
}

/* (Where Python functions are around it, its own stack is a copy of their names.) */
static void find_node(walk *w, uint32_t number) {
    call *c = &w->trace.calls[number];
    const call *around = c->parent == NO_CALL ? NULL : &w->trace.calls[c->parent];
    c->in_python = around && (around->kind == TRACE_PYTHON || around->in_python);
    uint32_t stack = around ? around->key : 0, own = c->in_python ? 0 : c->key;
    if (c->thread != w->thread) w->base = w->options->threads ? thread_node(w, c->thread) : 0;
    w->thread = c->thread;
    c->key = own ? own : stack;
    bool told = c->key != stack && !w->trace.own;
    c->more = told ? node_with_stack(w, number, own) : around ? around->more : w->base;
    if (own && c->is_partial && !(around && around->is_partial)) stack = 0;
    if (own && w->trace.own) c->more = native_frames(w, c, stack, c->more);
    if (!told && !is_hidden(w, c)) c->more = named_below(w, c->more, c);
}

/* What a call took: by its path, if it has one. */
static void add_call(walk *w, uint32_t number) {
    const call *c = &w->trace.calls[number];
    if (c->is_outside) return;
    const call_times *times = &w->trace.times[number];
    bool device = w->options->device;
    bool counts = device ? !w->options->kernels : !is_hidden(w, c) || c->more != w->base;
    if (counts) w->f->nodes[c->more].self += device ? times->device_self_ns : times->self_ns;
    tell(w, number, c->thread,
         (flame_sample){.node = c->more, .cpu_ns = times->self_ns, .calls = 1});
}

static void add_work(walk *w, const device_work *work) {
    if (!range_holds(&w->trace.range, work->start_ns)) return;
    const struct interned *name = &w->trace.names.entries[work->name];
    bool known = work->owner != NO_CALL && !w->trace.calls[work->owner].is_async;
    uint32_t below = known ? w->trace.calls[work->owner].more : 0;
    uint32_t node = node_below(w->f, below, name->text, name->size, TRACE_KERNEL);
    w->f->nodes[node].self += work_ns(work);
    tell(w, known ? work->owner : NO_CALL, work->thread,
         (flame_sample){.node = node, .device_ns = work_ns(work), .calls = 1});
}

/* Works by the indexes of their owners in the tree, from 1; those of none are first. */
typedef struct by_owner { const device_work *works; const uint32_t *indexes; } by_owner;

static uint32_t place_of(const by_owner *b, uint32_t work) {
    uint32_t owner = b->works[work].owner;
    return owner == NO_CALL ? 0 : b->indexes[owner];
}

static bool owner_before(uint32_t a, uint32_t b, const void *context) {
    return place_of(context, a) < place_of(context, b);
}

/* Each call with its works behind it, and what it took itself behind all that lies in it. */
static void add_calls(walk *w) {
    const struct trace *t = &w->trace;
    uint32_t *indexes = allocate((t->call_count + 1) * sizeof *indexes), top = NO_CALL;
    by_owner owners = {t->works, indexes};
    size_t next = 0, count = w->options->kernels ? t->work_count : 0;
    for (size_t i = 0; i < t->call_count; i++) indexes[t->tree[i]] = (uint32_t)i + 1;
    uint32_t *works = sorted_numbers(count, owner_before, &owners);
    for (size_t i = 0; i <= t->call_count; i++) {
        uint32_t number = i ? t->tree[i - 1] : NO_CALL;
        bool in_tree = i && !t->calls[number].is_async;
        for (; in_tree && top != t->calls[number].parent; top = t->calls[top].parent)
            add_call(w, top);
        if (in_tree) find_node(w, top = number);
        for (; next < count && place_of(&owners, works[next]) == i; next++)
            add_work(w, &t->works[works[next]]);
    }
    for (; top != NO_CALL; top = t->calls[top].parent) add_call(w, top);
    free(works);
    free(indexes);
}

/* What was allocated in each call. */
static void add_changes(walk *w) {
    const struct trace *t = &w->trace;
    for (size_t i = 0; i < t->change_count; i++) {
        const memory_change *c = &t->changes[i];
        bool known = c->owner != NO_CALL && !t->calls[c->owner].is_async;
        if (c->bytes <= 0 || c->kind != CHANGE_EVENT) continue;
        uint32_t node = known ? t->calls[c->owner].more
                              : node_below(w->f, 0, "(no call)", 9, TRACE_OTHER);
        tell(w, known ? c->owner : NO_CALL, c->thread,
             (flame_sample){.node = node, .bytes = c->bytes});
    }
}

/* ---- A file ---- */

int flame_read(flame *f, const flame_options *options, const char *path) {
    walk w = {.f = f, .options = options, .thread = NO_CALL, .told_thread = NO_CALL};
    w.trace.window = options->window;
    w.trace.with_works = options->device;
    w.trace.with_python = w.trace.python_around = options->python;
    w.trace.with_site = options->by_site;
    w.trace.by_arg = options->by_arg;
    w.trace.with_memory = options->take != NULL;
    begin(f);
    int status = trace_load(&w.trace, path, take, &w);
    trace_nest(&w.trace);
    trace_own(&w.trace);
    trace_times(&w.trace);
    add_calls(&w);
    add_changes(&w);
    if (w.trace.nest.overlaps)
        warn(path, "%llu calls begin in one call and end after it: their paths are guesses",
             (unsigned long long)w.trace.nest.overlaps);
    trace_free(&w.trace);
    intern_free(&w.texts);
    free(w.path);
    free(w.names);
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
    if (metric_from_text(name, &metric) &&
        (metric == PROF_METRIC_SELF_CPU_TIME_TOTAL ||
         metric == PROF_METRIC_SELF_DEVICE_TIME_TOTAL)) {
        options->device = metric == PROF_METRIC_SELF_DEVICE_TIME_TOTAL;
        return true;
    }
    fail("--metric", "'%s' is neither self_cpu_time_total nor self_cuda_time_total (or xpu, ...)",
         name);
    return false;
}
