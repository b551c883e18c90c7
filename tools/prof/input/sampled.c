/* Profiles by samples, as calls: .cpuprofile of V8 (node, Chrome), which is defined as
   Profiler.Profile in chromedevtools.github.io/devtools-protocol, and those of Firefox and samply,
   Gecko's own (rows with a schema) and processed ones (columns), which are defined in
   docs-developer/gecko-profile-format.md and src/types/profile.ts of firefox-devtools/profiler.
   A frame is a call for as long as one sample after another has it. */
#include <stdlib.h>

#include "input/event_source.h"
#include "input/json_walk.h"

enum { DEEPEST = 1 << 12, NO_COLUMN = -1 };

/* Of a thread, or of all together. NODE: V8's tree, its names are told at once. */
enum { PREFIX, FRAME, FUNC, LOCATION, NAME, STACK, TIME, DELTA, TEXTS, NODE_NAME, COLUMNS };
static const struct { const char *table, *column; } columns[] = {
    {"stackTable", "prefix"}, {"stackTable", "frame"}, {"frameTable", "func"},
    {"frameTable", "location"}, {"funcTable", "name"}, {"samples", "stack"}, {"samples", "time"},
    {"samples", "timeDeltas"}
};
enum { TABLE_COLUMNS = sizeof columns / sizeof *columns };

/* V8's nodes that are no functions: the first texts of all. */
enum { ROOT, IDLE, COLLECTOR };
static const char *const special[] = {"(root)", "(idle)", "(garbage collector)"};

typedef struct column { int64_t *values; size_t count, capacity; } column;

typedef struct thread {
    column columns[COLUMNS];
    int64_t pid, tid, start_ns;
    uint32_t name;               /* in texts + 1 */
} thread;

typedef struct sampled {
    event_queue *to;
    json_walk walk;
    bool v8;
    interner texts;
    thread *threads;             /* the first one: what belongs to all */
    size_t count, capacity;
    int64_t base_ns, start_ns, end_ns, interval_ns;
    /* what is read now */
    int column;                  /* in `columns`, of values at this depth */
    size_t depth;
    const char *table;           /* Gecko's rows are of it, at this depth; NULL: none */
    int64_t schema[TABLE_COLUMNS];
    int64_t node, line;          /* V8's */
    uint32_t function, url;      /* in texts + 1 */
    map nodes, parents;          /* id -> its number + 1; id -> that of its parent */
    /* what is made now */
    size_t next_thread, next_sample;
    uint32_t *order;             /* of the samples of that thread */
    frame_stack stack;
    uint32_t frames[DEEPEST];
    size_t frame_count;
    uint64_t odd;
} sampled;

/* ---- Columns ---- */

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static void put(column *c, int64_t value) {
    GROW(c->values, c->count, c->capacity);
    c->values[c->count++] = value;
}

static int64_t at(const column *c, int64_t row) {
    return row >= 0 && (uint64_t)row < c->count ? c->values[row] : -1;
}

static int64_t number_of(trace_text value) {
    int64_t number;
    return json_int(value, &number) ? number : -1;
}

/* Of milliseconds. */
static int64_t ns_of(trace_text value) {
    double ms;
    return json_double(value, &ms) && ms > -4e12 && ms < 4e12 ? (int64_t)(ms * 1e6) : -1;
}

/* Of microseconds. */
static int64_t ns_of_us(trace_text value) {
    int64_t ns;
    return json_ns(value, &ns) && ns > -4000000000000000000 && ns < 4000000000000000000 ? ns : 0;
}

static uint32_t text_number(sampled *s, trace_text value) {
    if (!json_is_text(value)) return intern(&s->texts, "", 0);
    char *text = allocate(value.size);
    size_t size = json_decode(value, text, value.size);
    uint32_t number = intern(&s->texts, text, size < value.size ? size : value.size - 1);
    free(text);
    return number;
}

static void put_value(thread *t, int which, trace_text value) {
    bool times = which == TIME || which == DELTA;
    put(&t->columns[which], times ? ns_of(value) : number_of(value));
}


static thread *thread_now(sampled *s) { return &s->threads[s->count - 1]; }

static thread *add_thread(sampled *s) {
    GROW(s->threads, s->count, s->capacity);
    s->threads[s->count] = (thread){.pid = 1, .tid = (int64_t)s->count, .start_ns = s->start_ns};
    return &s->threads[s->count++];
}

/* ---- Firefox ---- */

/* Is it a thread, or what belongs to all, that is so far out? */
static bool in_thread(const json_walk *w, size_t up) {
    return is(walk_key(w, up), "shared") ||
           (!*walk_key(w, up) && is(walk_key(w, up + 1), "threads"));
}

static thread *owner(sampled *s, size_t up) {
    return is(walk_key(&s->walk, up), "shared") ? &s->threads[0] : thread_now(s);
}

static void begin_array(sampled *s) {
    const json_walk *w = &s->walk;
    const char *key = walk_key(w, 0), *table = walk_key(w, 1);
    if (s->table && w->depth == s->depth) {                  /* a row */
        for (int i = 0; i < TABLE_COLUMNS; i++)
            if (is(columns[i].table, s->table)) put(&thread_now(s)->columns[i], -1);
        return;
    }
    for (int i = 0; i < TABLE_COLUMNS; i++) {
        if (!is(columns[i].table, table) || !in_thread(w, 2)) continue;
        if (is(key, columns[i].column)) s->column = i;
        if (is(key, "data")) s->table = columns[i].table;
    }
    if ((is(key, "stringArray") || is(key, "stringTable")) && in_thread(w, 1)) s->column = TEXTS;
    if (s->column != NO_COLUMN || s->table) s->depth = w->depth + 1;
}

static void end_array(sampled *s) {
    if (s->walk.depth + 1 != s->depth) return;
    s->column = NO_COLUMN;
    s->table = NULL;
}

/* In the row that was begun last. */
static void take_cell(sampled *s, trace_text value) {
    const json_walk *w = &s->walk;
    thread *t = thread_now(s);
    for (int i = 0; i < TABLE_COLUMNS; i++) {
        column *c = &t->columns[i];
        if (!is(columns[i].table, s->table) || !c->count ||
            s->schema[i] != (int64_t)w->levels[w->depth - 1].index) continue;
        c->count--;
        put_value(t, i, value);
    }
}

static void take_member(sampled *s, trace_text value) {
    const json_walk *w = &s->walk;
    const char *key = walk_key(w, 0), *around = walk_key(w, 1);
    for (int i = 0; is(around, "schema") && i < TABLE_COLUMNS; i++)
        if (is(key, columns[i].column) && is(walk_key(w, 2), columns[i].table))
            s->schema[i] = number_of(value);
    if (is(around, "meta") && is(key, "startTime")) {
        s->start_ns = ns_of(value);
        if (!s->base_ns) s->base_ns = s->start_ns;
    }
    if (is(around, "meta") && is(key, "interval")) s->interval_ns = ns_of(value);
    if (!is(walk_key(w, 2), "threads") || *around || s->count == 1) return;
    thread *t = thread_now(s);
    if (is(key, "name")) t->name = text_number(s, value) + 1;
    if (is(key, "pid")) json_int(value, &t->pid);
    if (is(key, "tid")) json_int(value, &t->tid);
}

static void take_gecko(void *user, trace_text value) {
    sampled *s = user;
    const json_walk *w = &s->walk;
    bool item = !*walk_key(w, 0);
    if (*value.data == '{' && item && is(walk_key(w, 1), "threads")) add_thread(s);
    else if (*value.data == '[') begin_array(s);
    else if (*value.data == ']') end_array(s);
    else if (s->column == TEXTS && w->depth == s->depth)
        put(&owner(s, 2)->columns[TEXTS], text_number(s, value));
    else if (s->column != NO_COLUMN && w->depth == s->depth)
        put_value(owner(s, 3), s->column, value);
    else if (s->table && w->depth == s->depth + 1) take_cell(s, value);
    else if (!item) take_member(s, value);
}

/* ---- V8 ---- */

/* As "parse (a.js:12)". */
static uint32_t node_name(sampled *s) {
    const char *name = s->function ? interned_text(&s->texts, s->function - 1) : "";
    const char *url = s->url ? interned_text(&s->texts, s->url - 1) : "", *file = strrchr(url, '/');
    if (!*name) name = "(anonymous)";
    file = file ? file + 1 : url;
    size_t room = strlen(name) + strlen(file) + 32;
    char *text = allocate(room);
    if (*file) snprintf(text, room, "%s (%s:%lld)", name, file, (long long)s->line + 1);
    else snprintf(text, room, "%s", name);
    uint32_t number = intern(&s->texts, text, strlen(text));
    free(text);
    return number;
}

static void end_node(sampled *s) {
    thread *t = &s->threads[0];
    *map_put(&s->nodes, (uint64_t)s->node, NULL) = t->columns[NODE_NAME].count + 1;
    put(&t->columns[NODE_NAME], node_name(s));
    put(&t->columns[PREFIX], s->node);           /* its own id: see join_nodes */
    s->function = s->url = 0;
    s->line = 0;
}

static void take_v8(void *user, trace_text value) {
    sampled *s = user;
    const json_walk *w = &s->walk;
    thread *t = &s->threads[0];
    if (s->column != NO_COLUMN && w->depth == 2) {
        put(&t->columns[s->column], s->column == STACK ? number_of(value) : ns_of_us(value));
        return;
    }
    const char *key = walk_key(w, 0), *around = walk_key(w, 1);
    bool item = !*key, closes = *value.data == '}';
    if (*value.data == '[' && w->depth == 1)
        s->column = is(key, "samples") ? STACK : is(key, "timeDeltas") ? DELTA : NO_COLUMN;
    if (*value.data == ']' && w->depth == 1) s->column = NO_COLUMN;
    if (item && closes && is(around, "nodes")) end_node(s);
    if (strchr("{}[]", *value.data)) return;
    if (item && is(around, "children"))
        *map_put(&s->parents, (uint64_t)number_of(value), NULL) = (uint64_t)s->node;
    else if (is(around, "callFrame") && is(key, "functionName"))
        s->function = text_number(s, value) + 1;
    else if (is(around, "callFrame") && is(key, "url")) s->url = text_number(s, value) + 1;
    else if (is(around, "callFrame") && is(key, "lineNumber")) s->line = number_of(value);
    else if (w->depth == 3 && is(key, "id")) s->node = number_of(value);
    else if (w->depth == 3 && is(key, "parent"))
        *map_put(&s->parents, (uint64_t)s->node, NULL) = (uint64_t)number_of(value);
    else if (w->depth == 1 && is(key, "startTime")) s->start_ns = ns_of_us(value);
    else if (w->depth == 1 && is(key, "endTime")) s->end_ns = ns_of_us(value);
}

static int64_t node_number(const sampled *s, int64_t id) {
    const uint64_t *number = map_get(&s->nodes, (uint64_t)id);
    return number ? (int64_t)*number - 1 : -1;
}

/* Ids become numbers. */
static void join_nodes(sampled *s) {
    thread *t = &s->threads[0];
    column *prefixes = &t->columns[PREFIX], *stacks = &t->columns[STACK];
    for (size_t i = 0; i < prefixes->count; i++) {
        const uint64_t *parent = map_get(&s->parents, (uint64_t)prefixes->values[i]);
        prefixes->values[i] = parent ? node_number(s, (int64_t)*parent) : -1;
    }
    for (size_t i = 0; i < stacks->count; i++)
        stacks->values[i] = node_number(s, stacks->values[i]);
    t->start_ns = s->base_ns = s->start_ns;
}

/* ---- Calls ---- */

static void join_times(thread *t) {
    int64_t ns = 0;
    if (t->columns[TIME].count) return;
    for (size_t i = 0; i < t->columns[DELTA].count; i++) {
        if (__builtin_add_overflow(ns, t->columns[DELTA].values[i], &ns)) ns = 0;
        put(&t->columns[TIME], ns);
    }
}

static const column *column_of(const sampled *s, const thread *t, int which) {
    return t->columns[which].count ? &t->columns[which] : &s->threads[0].columns[which];
}

/* Its number in texts; -1: it has none. */
static int64_t frame_name(const sampled *s, const thread *t, int64_t stack) {
    if (s->v8) return at(&t->columns[NODE_NAME], stack);
    int64_t frame = at(column_of(s, t, FRAME), stack);
    int64_t text = at(column_of(s, t, LOCATION), frame);
    if (text < 0) text = at(column_of(s, t, NAME), at(column_of(s, t, FUNC), frame));
    return at(column_of(s, t, TEXTS), text);
}

/* The frames of a stack, the outermost first; V8's collector runs on top of what ran before. */
static void find_frames(sampled *s, const thread *t, int64_t stack) {
    int64_t name = frame_name(s, t, stack);
    if (s->v8 && name == COLLECTOR && s->frame_count < DEEPEST) {
        s->frames[s->frame_count++] = (uint32_t)name;
        return;
    }
    s->frame_count = 0;
    if (s->v8 && (name == IDLE || name == ROOT)) return;
    for (; stack >= 0 && s->frame_count < DEEPEST; stack = at(column_of(s, t, PREFIX), stack)) {
        name = frame_name(s, t, stack);
        if (name < 0) continue;
        if (s->v8 && name == ROOT) continue;
        s->frames[s->frame_count++] = (uint32_t)name;
    }
    s->odd += stack >= 0;
    for (size_t i = 0, j = s->frame_count; i + 1 < j; i++) {
        uint32_t swapped = s->frames[i];
        s->frames[i] = s->frames[--j];
        s->frames[j] = swapped;
    }
}

static bool earlier(uint32_t a, uint32_t b, const void *context) {
    const column *times = context;
    return times->values[a] < times->values[b];
}

static int64_t sample_ns(const sampled *s, const thread *t, int64_t time) {
    int64_t ns;
    bool over = __builtin_add_overflow(t->start_ns - s->base_ns, time, &ns);
    return over || ns > INT64_MAX / 2 || ns < INT64_MIN / 2 ? 0 : ns;
}

static void put_thread_name(sampled *s, const thread *t) {
    if (!t->name) return;
    trace_event *event = queue_event(s->to, 'M', (trace_text){NULL, 0}, text_of("thread_name"));
    const struct interned *name = &s->texts.entries[t->name - 1];
    event->pid = t->pid;
    event->tid = t->tid;
    output *args = queue_begin_args(s->to);
    output_text(args, "\"name\": ");
    output_json_text(args, name->text, name->size);
    queue_end_args(s->to, event);
}

static void begin_thread(sampled *s, thread *t) {
    join_times(t);
    s->order = sorted_numbers(t->columns[TIME].count, earlier, &t->columns[TIME]);
    s->stack.pid = t->pid;
    s->stack.tid = t->tid;
    s->frame_count = 0;
    put_thread_name(s, t);
}

/* The last sample of a thread lasts as long as they are apart, or to the end. */
static void end_thread(sampled *s, const thread *t) {
    const column *times = &t->columns[TIME];
    if (times->count) {
        int64_t last = sample_ns(s, t, times->values[s->order[times->count - 1]]);
        int64_t end = last + (s->interval_ns > 0 && s->interval_ns < 1000000000 ? s->interval_ns
                                                                                 : 1000000);
        if (s->v8 && s->end_ns - s->base_ns > last) end = s->end_ns - s->base_ns;
        frames_are(&s->stack, s->to, &s->texts, NULL, 0, end);
    }
    free(s->order);
    s->order = NULL;
    s->next_sample = 0;
    s->next_thread++;
}

static bool end_samples(void *source) {
    enum { SOME = 100 };
    sampled *s = source;
    char base[24];
    if (s->next_thread == s->count) return false;
    thread *t = &s->threads[s->next_thread];
    if (!s->order && !s->next_thread) {
        if (s->v8) join_nodes(s);
        snprintf(base, sizeof base, "%lld", (long long)s->base_ns);
        if (!s->v8) queue_member(s->to, text_of("baseTimeNanoseconds"), text_of(base));
    }
    if (!s->order) begin_thread(s, t);
    for (int i = 0; i < SOME && s->next_sample < t->columns[TIME].count; i++) {
        uint32_t number = s->order[s->next_sample++];
        find_frames(s, t, at(&t->columns[STACK], number));
        frames_are(&s->stack, s->to, &s->texts, s->frames, s->frame_count,
                   sample_ns(s, t, t->columns[TIME].values[number]));
    }
    if (s->next_sample == t->columns[TIME].count) end_thread(s, t);
    return true;
}

/* ---- The whole ---- */

static int is_sampled(const void *bytes, size_t size) {
    const char *first = bytes;
    int nodes = json_begins_with(first, size, "nodes");
    int meta = json_begins_with(first, size, "meta");
    bool is_one = (nodes > 0 && json_mentions(first, size, "\"callFrame\"")) ||
                  (meta > 0 && json_mentions(first, size, "\"interval\""));
    return is_one ? 1 : nodes || meta ? -1 : 0;
}

static void *open_sampled(const source_desc *desc) {
    sampled *s = allocate(sizeof *s);
    s->to = desc->to;
    s->walk.user = s;
    s->column = NO_COLUMN;
    for (int i = 0; i < 3; i++) intern(&s->texts, special[i], strlen(special[i]));
    add_thread(s);
    return s;
}

static void push_sampled(void *source, const void *data, size_t size) {
    sampled *s = source;
    if (!s->walk.take) {
        s->v8 = json_begins_with(data, size, "nodes") > 0;
        if (s->v8) s->threads[0].tid = 1;
        s->walk.take = s->v8 ? take_v8 : take_gecko;
    }
    json_walk_push(&s->walk, data, size);
}

static bool tell_sampled(void *source, const char *path) {
    const sampled *s = source;
    const char *what = s->walk.broken ? s->walk.broken : "the file ends early";
    if (s->odd)
        warn(path, "%llu stacks have more than %d frames: cut", (unsigned long long)s->odd,
             DEEPEST);
    if (s->walk.broken || !s->walk.whole)
        warn(path, "byte %llu: %s; read up to there", (unsigned long long)s->walk.offset, what);
    return s->walk.broken || !s->walk.whole;
}

static void close_sampled(void *source) {
    sampled *s = source;
    for (size_t i = 0; i < s->count; i++)
        for (int c = 0; c < COLUMNS; c++) free(s->threads[i].columns[c].values);
    free(s->threads);
    free(s->order);
    free(s->stack.frames);
    map_free(&s->nodes);
    map_free(&s->parents);
    intern_free(&s->texts);
    json_walk_free(&s->walk);
    free(s);
}

const source_format sampled_format = {
    is_sampled, open_sampled, push_sampled, end_samples, tell_sampled, close_sampled
};
