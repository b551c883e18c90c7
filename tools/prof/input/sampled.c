/* Profiles by samples, as calls: .cpuprofile of V8 (node, Chrome), which is defined as
   Profiler.Profile in chromedevtools.github.io/devtools-protocol, and those of Firefox and samply,
   Gecko's own (rows with a schema) and processed ones (columns), which are defined in
   docs-developer/gecko-profile-format.md and src/types/profile.ts of firefox-devtools/profiler.
   A frame is a call for as long as one sample after another has it. */
#include <stdlib.h>

#include "input/event_source.h"
#include "input/json_walk.h"

enum { DEEPEST = 1 << 12, NO_COLUMN = -1 };
#define NO_TIME INT64_MIN                        /* of a sample: it comes first, and is lost */
#define NO_ID INT64_MIN

/* Of a thread, or of all together. NODE_NAME: of V8's tree, where they are told at once. */
enum { PREFIX, FRAME, FUNC, LOCATION, NAME, STACK, TIME, DELTA, TEXTS, NODE_NAME, COLUMNS };
static const struct { const char *table, *column, *both; } columns[] = {
    {"stackTable", "prefix", "stackTable.prefix"}, {"stackTable", "frame", "stackTable.frame"},
    {"frameTable", "func", "frameTable.func"}, {"frameTable", "location", "frameTable.location"},
    {"funcTable", "name", "funcTable.name"}, {"samples", "stack", "samples.stack"},
    {"samples", "time", "samples.time"}, {"samples", "timeDeltas", "samples.timeDeltas"}
};
enum { TABLE_COLUMNS = sizeof columns / sizeof *columns };

/* V8's nodes that are no functions: the first texts of all. */
enum { ROOT, IDLE, COLLECTOR };
static const char *const special[] = {"(root)", "(idle)", "(garbage collector)"};

typedef struct column { int32_t *values; size_t count, capacity; } column;
typedef struct times { int64_t *ns; size_t count, capacity; } times;

typedef struct thread {
    column columns[COLUMNS];     /* but TIME and DELTA: */
    times times;
    bool has_times;              /* by TIME, which counts, not DELTA */
    int64_t pid, tid, start_ns;
    uint32_t name;               /* in texts + 1 */
} thread;

/* A stack: its innermost frame, and the stack below that. depth: of that frame, 0: none is open. */
typedef struct node {
    uint32_t name;
    int32_t below;
    uint16_t depth;
    bool known, cut, whole;      /* known, not whole: those below it are looked for */
} node;

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
    int64_t node, line;          /* V8's; NO_ID: none is told */
    uint32_t function, url;      /* in texts + 1 */
    int32_t parent;              /* -1: none is told */
    column children;             /* of the node, whose id may stand behind them */
    map ids;                     /* of nodes -> their numbers; */
    times bytes;                 /* of each, where it is told first */
    /* what is made now */
    size_t next_thread, next_sample;
    bool in_thread;
    node *nodes;                 /* its stacks */
    size_t node_count;
    bool nodes_are_shared;       /* they are those of all */
    int32_t *path;
    size_t path_capacity;
    uint32_t *order;             /* of its samples; NULL: as they stand */
    frame_stack stack;
    int32_t open[DEEPEST];       /* the node of each open frame, */
    uint32_t frames[DEEPEST];    /* and its name */
    size_t open_count;
    uint64_t odd, lost;          /* stacks that are cut, samples */
    uint64_t changes;            /* frames that were opened, see may_make */
    uint64_t byte;               /* of V8's value that is read now */
    const char *file;
} sampled;

/* ---- Columns ---- */

static void put(column *c, int64_t value) {
    GROW(c->values, c->count, c->capacity);
    c->values[c->count++] = value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

/* The row is one that is known to be there, or -1. */
static int32_t at(const column *c, int32_t row) {
    return row >= 0 && (size_t)row < c->count ? c->values[row] : -1;
}

/* The same, of a row that another column names in its own row `where`. */
static int32_t at_named(sampled *s, const column *c, int32_t row, int by, int32_t where) {
    bool there = row >= 0 && c->count &&
                 queue_fits(s->to, columns[by].both, "row", (uint64_t)where, row, c->count - 1);
    return there ? c->values[row] : -1;
}

static int64_t time_of(sampled *s, const char *field, trace_text value, int64_t otherwise,
                       bool ns_of(trace_text value, int64_t *ns)) {
    int64_t ns;
    if (ns_of(value, &ns) && ns > -4000000000000000000 && ns < 4000000000000000000) return ns;
    if (!text_is(value, "null"))
        queue_no_number(s->to, field, walk_offset(&s->walk, value), value);
    return otherwise;
}

static int64_t number_of(sampled *s, const char *field, trace_text value) {
    int64_t number;
    if (json_int(value, &number)) return number;
    queue_no_number(s->to, field, walk_offset(&s->walk, value), value);
    return NO_ID;
}

static uint32_t text_number(sampled *s, trace_text value) {
    if (!json_is_text(value)) return intern(&s->texts, "", 0);
    char *text = allocate(value.size);
    size_t size = json_decode(value, text, value.size);
    uint32_t number = intern(&s->texts, text, size < value.size ? size : value.size - 1);
    free(text);
    return number;
}

static void put_time(times *t, int64_t ns) {
    GROW(t->ns, t->count, t->capacity);
    t->ns[t->count++] = ns;
}

/* Since the sample before. */
static void put_delta(sampled *s, thread *t, const char *field, trace_text value, int64_t ns) {
    int64_t last = t->times.count ? t->times.ns[t->times.count - 1] : 0;
    if (t->has_times) return;
    if (last == NO_TIME || __builtin_add_overflow(last, ns, &last)) {
        queue_odd(s->to, field, "byte", walk_offset(&s->walk, value),
                  "makes a time that does not fit 64 bits of nanoseconds");
        last = NO_TIME;
    }
    put_time(&t->times, last);
}

/* A number of rows, or null, or -1, which is none, too. */
static void put_value(sampled *s, thread *t, int which, trace_text value) {
    const char *field = columns[which].both;
    if (which == DELTA) put_delta(s, t, field, value, time_of(s, field, value, 0, json_ns_of_ms));
    else if (which == TIME) put_time(&t->times, time_of(s, field, value, NO_TIME, json_ns_of_ms));
    else {
        int64_t number = -1;
        uint64_t byte = walk_offset(&s->walk, value);
        if (!json_int(value, &number) && !text_is(value, "null"))
            queue_no_number(s->to, field, byte, value);
        bool fits = number == -1 || queue_fits(s->to, field, "byte", byte, number, INT32_MAX);
        put(&t->columns[which], fits ? number : -1);
    }
}

/* The times begin. */
static void take_times(thread *t) {
    t->has_times = true;
    t->times.count = 0;
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
        for (int i = 0; i < TABLE_COLUMNS; i++) {
            if (!is(columns[i].table, s->table)) continue;
            if (i == TIME) put_time(&thread_now(s)->times, -1);
            else if (i != DELTA) put(&thread_now(s)->columns[i], -1);
        }
        return;
    }
    for (int i = 0; i < TABLE_COLUMNS; i++) {
        if (!is(columns[i].table, table) || !in_thread(w, 2)) continue;
        if (is(key, columns[i].column)) s->column = i;
        if (is(key, "data")) s->table = columns[i].table;
        if (i == TIME && (s->table || s->column == TIME)) take_times(owner(s, 2));
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
        size_t *count = i == TIME ? &t->times.count : &t->columns[i].count;
        if (!is(columns[i].table, s->table) || !*count ||
            s->schema[i] != (int64_t)w->levels[w->depth - 1].index) continue;
        --*count;
        put_value(s, t, i, value);
    }
}

static void take_member(sampled *s, trace_text value) {
    const json_walk *w = &s->walk;
    const char *key = walk_key(w, 0), *around = walk_key(w, 1);
    for (int i = 0; is(around, "schema") && i < TABLE_COLUMNS; i++)
        if (is(key, columns[i].column) && is(walk_key(w, 2), columns[i].table))
            s->schema[i] = number_of(s, columns[i].both, value);
    if (is(around, "meta") && is(key, "startTime")) {
        s->start_ns = time_of(s, key, value, 0, json_ns_of_ms);
        if (!s->base_ns) s->base_ns = s->start_ns;
    }
    if (is(around, "meta") && is(key, "interval"))
        s->interval_ns = time_of(s, key, value, 0, json_ns_of_ms);
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
        put_value(s, owner(s, 3), s->column, value);
    else if (s->table && w->depth == s->depth + 1) take_cell(s, value);
    else if (!item) take_member(s, value);
}

/* ---- V8 ---- */

/* Samples and children may stand before their nodes. Those that are too many are the first. */
static int32_t node_number(sampled *s, int64_t id, uint64_t byte) {
    thread *t = &s->threads[0];
    bool is_new;
    uint64_t *number = map_put(&s->ids, (uint64_t)id, &is_new);
    if (is_new) {
        *number = t->columns[NODE_NAME].count;
        put(&t->columns[NODE_NAME], -1);
        put(&t->columns[PREFIX], -1);
        put_time(&s->bytes, (int64_t)byte);
    }
    return *number <= INT32_MAX ? (int32_t)*number : 0;
}

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

/* A node is below one other, whatever tells it. */
static void put_below(sampled *s, const char *field, int32_t number, int32_t below) {
    int32_t *old = &s->threads[0].columns[PREFIX].values[number];
    if (*old >= 0 && *old != below)
        queue_odd(s->to, field, "byte", s->byte, "tells another parent of a node");
    else *old = below;
}

static void end_node(sampled *s) {
    bool has_id = s->node != NO_ID;
    int32_t number = has_id ? node_number(s, s->node, s->byte) : 0;
    int32_t *name = has_id ? &s->threads[0].columns[NODE_NAME].values[number] : NULL;
    if (!name || *name >= 0) {
        queue_odd(s->to, "id", "byte", s->byte, name ? "is that of a node before" : "is none");
    } else {
        *name = (int32_t)node_name(s);
        if (s->parent >= 0) put_below(s, "parent", number, s->parent);
        for (size_t i = 0; i < s->children.count; i++)
            put_below(s, "children", s->children.values[i], number);
    }
    s->children.count = 0;
    s->node = NO_ID;
    s->parent = -1;
    s->function = s->url = 0;
    s->line = 0;
}

/* One that another node or a sample names has to be there itself. */
static void check_nodes(sampled *s) {
    const column *names = &s->threads[0].columns[NODE_NAME];
    for (size_t i = 0; i < names->count; i++)
        if (names->values[i] < 0)
            queue_odd(s->to, "id", "byte", (uint64_t)s->bytes.ns[i], "is of no node that is there");
}

/* The number of the node that a value names; -1: it is no number. */
static int32_t node_named(sampled *s, const char *field, trace_text value) {
    int64_t id = number_of(s, field, value);
    return id == NO_ID ? -1 : node_number(s, id, walk_offset(&s->walk, value));
}

static void put_child(sampled *s, trace_text value) {
    int32_t child = node_named(s, "children", value);
    if (child >= 0) put(&s->children, child);
}

static void take_v8(void *user, trace_text value) {
    sampled *s = user;
    const json_walk *w = &s->walk;
    thread *t = &s->threads[0];
    if (s->column != NO_COLUMN && w->depth == 2) {
        if (s->column == STACK) put(&t->columns[STACK], node_named(s, "samples", value));
        else put_delta(s, t, "timeDeltas", value, time_of(s, "timeDeltas", value, 0, json_ns));
        return;
    }
    const char *key = walk_key(w, 0), *around = walk_key(w, 1);
    bool item = !*key, closes = *value.data == '}';
    s->byte = walk_offset(w, value);
    if (*value.data == '[' && w->depth == 1)
        s->column = is(key, "samples") ? STACK : is(key, "timeDeltas") ? DELTA : NO_COLUMN;
    if (*value.data == ']' && w->depth == 1) s->column = NO_COLUMN;
    if (item && closes && is(around, "nodes")) end_node(s);
    if (is_bracket(value)) return;
    if (item && is(around, "children")) put_child(s, value);
    else if (is(around, "callFrame") && is(key, "functionName"))
        s->function = text_number(s, value) + 1;
    else if (is(around, "callFrame") && is(key, "url")) s->url = text_number(s, value) + 1;
    else if (is(around, "callFrame") && is(key, "lineNumber"))
        s->line = number_of(s, key, value);
    else if (w->depth == 3 && is(key, "id")) s->node = number_of(s, key, value);
    else if (w->depth == 3 && is(key, "parent")) s->parent = node_named(s, key, value);
    else if (w->depth == 1 && is(key, "startTime"))
        s->start_ns = time_of(s, key, value, 0, json_ns);
    else if (w->depth == 1 && is(key, "endTime"))
        s->end_ns = time_of(s, key, value, 0, json_ns);
}

/* ---- Stacks ---- */

static const column *column_of(const sampled *s, const thread *t, int which) {
    return t->columns[which].count ? &t->columns[which] : &s->threads[0].columns[which];
}

/* Its number in texts; -1: it has none. */
static int32_t frame_name(sampled *s, const thread *t, int32_t stack) {
    if (s->v8) return at(&t->columns[NODE_NAME], stack);
    const column *texts = column_of(s, t, TEXTS);
    int32_t frame = at(column_of(s, t, FRAME), stack);
    int32_t text = at_named(s, column_of(s, t, LOCATION), frame, FRAME, stack);
    if (text >= 0) return at_named(s, texts, text, LOCATION, frame);
    int32_t func = at_named(s, column_of(s, t, FUNC), frame, FRAME, stack);
    return at_named(s, texts, at_named(s, column_of(s, t, NAME), func, FUNC, frame), NAME, func);
}

/* The stack below it. */
static int32_t prefix_of(sampled *s, const thread *t, int32_t stack) {
    int32_t below = at(column_of(s, t, PREFIX), stack);
    bool fits = below < 0 || queue_fits(s->to, columns[PREFIX].both, "row", (uint64_t)stack, below,
                                        s->node_count - 1);
    return fits ? below : -1;
}

/* A frame without a name is none: what is below it stands for it, and for one that is too deep. */
static void end_node_at(sampled *s, const thread *t, int32_t number, const node *below) {
    int32_t name = frame_name(s, t, number);
    node *n = &s->nodes[number];
    bool is_none = name < 0 || (s->v8 && (name == ROOT || name == IDLE));
    n->known = n->whole = true;
    if (!is_none && below->depth < DEEPEST) {
        n->name = (uint32_t)name;
        n->depth = below->depth + 1;
        return;
    }
    *n = *below;
    n->known = n->whole = true;
    n->cut |= !is_none;
}

/* Those below it come first. One that is below itself has nothing below. */
static void know_node(sampled *s, const thread *t, int32_t number) {
    static const node nothing = {.below = -1};
    size_t count = 0;
    while (number >= 0 && !s->nodes[number].known) {
        GROW(s->path, count, s->path_capacity);
        s->path[count++] = number;
        s->nodes[number].known = true;
        number = s->nodes[number].below = prefix_of(s, t, number);
    }
    if (number >= 0 && !s->nodes[number].whole) {
        int32_t last = s->path[count - 1];
        if (s->v8)
            queue_odd(s->to, "children", "byte", (uint64_t)s->bytes.ns[last], "leads back to it");
        else queue_odd(s->to, columns[PREFIX].both, "row", (uint64_t)last, "leads back to it");
        s->nodes[last].below = -1;
    }
    while (count) {
        int32_t below = s->nodes[s->path[--count]].below;
        end_node_at(s, t, s->path[count], below < 0 ? &nothing : &s->nodes[below]);
    }
}

static void know_nodes(sampled *s, const thread *t) {
    static const int own[] = {PREFIX, FRAME, FUNC, LOCATION, NAME, TEXTS};
    bool shared = true;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) shared &= !t->columns[own[i]].count;
    if (shared && s->nodes_are_shared) return;
    s->nodes_are_shared = shared;
    s->node_count = column_of(s, t, s->v8 ? NODE_NAME : FRAME)->count;
    free(s->nodes);
    s->nodes = allocate(s->node_count * sizeof *s->nodes);
    for (size_t i = 0; i < s->node_count; i++) know_node(s, t, (int32_t)i);
}

/* ---- Calls ---- */

static const node *node_at(const sampled *s, int32_t stack) {
    static const node nothing = {.below = -1};
    bool good = stack >= 0 && (size_t)stack < s->node_count &&
                (!s->v8 || at(&s->threads[0].columns[NODE_NAME], stack) >= 0);
    return good ? &s->nodes[stack] : &nothing;
}

/* The frames of a stack, from the innermost one out to the first that is open already; V8's
   collector runs on top of what ran before. Returns how many stay open. */
static size_t turn_to(sampled *s, int32_t stack) {
    const node *n = node_at(s, stack);
    size_t depth = n->depth, kept = depth;
    if (s->v8 && depth && n->name == COLLECTOR && s->open_count < DEEPEST) {
        kept = s->open_count;
        if (kept && s->frames[kept - 1] == COLLECTOR) return kept;
        s->frames[kept] = COLLECTOR;
        s->open[kept] = stack;
        depth = kept + 1;
    } else {
        for (; kept && !(kept <= s->open_count && s->open[kept - 1] == stack); kept--) {
            s->open[kept - 1] = stack;
            s->frames[kept - 1] = n->name;
            stack = n->below;
            if (kept > 1) n = &s->nodes[stack];
        }
    }
    s->open_count = depth;
    return kept;
}

static void take_sample(sampled *s, uint32_t number, int64_t ns) {
    const thread *t = &s->threads[s->next_thread];
    int32_t stack = at(&t->columns[STACK], (int32_t)number);
    if (!s->v8 && stack >= 0)
        queue_fits(s->to, columns[STACK].both, "row", number, stack, s->node_count - 1);
    const node *n = node_at(s, stack);
    s->odd += n->cut;
    s->lost += s->v8 && stack >= 0 && !n->known;
    size_t kept = turn_to(s, stack);
    frames_are(&s->stack, s->to, &s->texts, kept, s->frames, s->open_count, ns);
}

static bool earlier(uint32_t a, uint32_t b, const void *context) {
    const times *t = context;
    return t->ns[a] < t->ns[b];
}

/* V8's first sample may be before the profile's start. */
static int64_t sample_ns(const sampled *s, const thread *t, int64_t time) {
    int64_t ns;
    bool over = __builtin_add_overflow(t->start_ns - s->base_ns, time, &ns);
    return over || ns > INT64_MAX / 2 || ns < (s->v8 ? 0 : INT64_MIN / 2) ? 0 : ns;
}

static uint32_t sample_at(const sampled *s, size_t number) {
    return s->order ? s->order[number] : (uint32_t)number;
}

/* A sample of a few bytes may open thousands of frames, and the next one close them: would the
   thread's make more calls than any reader waits for? */
static bool may_make(sampled *s, const thread *t) {
    enum { CALLS_PER_BYTE = 16, CALLS_AT_LEAST = 1 << 22 };
    uint64_t most = s->walk.offset * CALLS_PER_BYTE + CALLS_AT_LEAST;
    for (size_t i = 0; i < t->times.count; i++) {
        size_t kept = turn_to(s, at(&t->columns[STACK], (int32_t)sample_at(s, i)));
        s->changes += s->open_count - kept;
        if (s->changes <= most) continue;
        s->to->failed = fail(s->file, "its samples alternate between deep stacks: more than %llu "
                             "calls, for which %llu bytes are too few to be a profile",
                             (unsigned long long)most, (unsigned long long)s->walk.offset);
        return false;
    }
    s->open_count = 0;
    return true;
}

static void put_thread_name(sampled *s, const thread *t) {
    if (!t->name) return;
    const struct interned *name = &s->texts.entries[t->name - 1];
    queue_label(s->to, "thread_name", t->pid, t->tid, (trace_text){name->text, name->size});
}

static void begin_thread(sampled *s, const thread *t) {
    size_t sorted = 1, stacks = t->columns[STACK].count, moments = t->times.count;
    s->lost += stacks > moments ? stacks - moments : moments - stacks;
    while (sorted < t->times.count && t->times.ns[sorted - 1] <= t->times.ns[sorted]) sorted++;
    if (sorted < t->times.count) s->order = sorted_numbers(t->times.count, earlier, &t->times);
    know_nodes(s, t);
    s->stack.pid = t->pid;
    s->stack.tid = t->tid;
    s->open_count = 0;
    s->in_thread = may_make(s, t);
    if (s->in_thread) put_thread_name(s, t);
}

/* The last sample of a thread lasts as long as they are apart, or to the end. */
static void end_thread(sampled *s, const thread *t) {
    if (t->times.count && t->times.ns[sample_at(s, t->times.count - 1)] != NO_TIME) {
        int64_t last = sample_ns(s, t, t->times.ns[sample_at(s, t->times.count - 1)]);
        int64_t end = last + (s->interval_ns > 0 && s->interval_ns < 1000000000 ? s->interval_ns
                                                                                 : 1000000);
        if (s->v8 && s->end_ns - s->base_ns >= last) end = s->end_ns - s->base_ns;
        frames_are(&s->stack, s->to, &s->texts, 0, NULL, 0, end);
    }
    free(s->order);
    s->order = NULL;
    s->in_thread = false;
    s->next_sample = 0;
    s->next_thread++;
}

static void begin_calls(sampled *s) {
    char base[24];
    if (s->v8) {
        s->threads[0].start_ns = s->base_ns = s->start_ns;
        check_nodes(s);
    }
    snprintf(base, sizeof base, "%lld", (long long)s->base_ns);
    if (!s->v8) queue_member(s->to, text_of("baseTimeNanoseconds"), text_of(base));
}

static bool end_samples(void *source) {
    enum { SOME = 1000 };
    sampled *s = source;
    if (s->next_thread == s->count) return false;
    const thread *t = &s->threads[s->next_thread];
    if (!s->in_thread) {
        if (!s->next_thread) begin_calls(s);
        begin_thread(s, t);
        if (!s->in_thread) return false;
    }
    while (s->to->count < SOME && s->next_sample < t->times.count) {
        uint32_t number = sample_at(s, s->next_sample++);
        if (t->times.ns[number] == NO_TIME) {
            s->lost++;
            continue;
        }
        take_sample(s, number, sample_ns(s, t, t->times.ns[number]));
    }
    if (s->next_sample == t->times.count) end_thread(s, t);
    return true;
}

/* ---- The whole ---- */

/* Tools that write V8's again may sort the keys. */
static int is_v8(const char *first, size_t size) {
    static const char *const keys[] = {"nodes", "startTime", "endTime"};
    int is = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !is; i++)
        is = json_begins_with(first, size, keys[i]);
    return is;
}

static int is_sampled(const void *bytes, size_t size) {
    const char *first = bytes;
    int nodes = is_v8(first, size);
    int meta = json_begins_with(first, size, "meta");
    int libs = json_begins_with(first, size, "libs");        /* Gecko's; they may be many */
    bool is_one = (nodes > 0 && json_mentions(first, size, "\"callFrame\"") &&
                   !json_mentions(first, size, "\"traceEvents\"")) ||
                  (meta > 0 && json_mentions(first, size, "\"interval\"")) ||
                  (libs > 0 && (json_mentions(first, size, "\"interval\"") ||
                                json_mentions(first, size, "\"breakpadId\"")));
    return is_one ? 1 : nodes || meta || libs ? -1 : 0;
}

static void *open_sampled(const source_desc *desc) {
    sampled *s = allocate(sizeof *s);
    s->to = desc->to;
    s->file = desc->path;
    s->walk.user = s;
    s->column = NO_COLUMN;
    s->parent = -1;
    s->node = NO_ID;
    for (int i = 0; i < 3; i++) intern(&s->texts, special[i], strlen(special[i]));
    add_thread(s);
    return s;
}

static void push_sampled(void *source, const void *data, size_t size) {
    sampled *s = source;
    if (!s->walk.take) {
        s->v8 = is_v8(data, size) > 0;
        if (s->v8) s->threads[0].tid = 1;
        s->walk.take = s->v8 ? take_v8 : take_gecko;
    }
    json_walk_push(&s->walk, data, size);
}

static bool tell_sampled(void *source, const char *path) {
    const sampled *s = source;
    if (s->odd)
        warn(path, "%llu stacks have more than %d frames: cut", (unsigned long long)s->odd,
             DEEPEST);
    if (s->lost)
        warn(path, "%llu samples have no time, or no stack that the file has: left out",
             (unsigned long long)s->lost);
    return tell_end(path, s->walk.offset, json_walk_fault(&s->walk));
}

static void close_sampled(void *source) {
    sampled *s = source;
    for (size_t i = 0; i < s->count; i++) {
        for (int c = 0; c < COLUMNS; c++) free(s->threads[i].columns[c].values);
        free(s->threads[i].times.ns);
    }
    void *all[] = {s->threads, s->children.values, s->nodes, s->path, s->order, s->bytes.ns};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    frames_free(&s->stack);
    map_free(&s->ids);
    intern_free(&s->texts);
    json_walk_free(&s->walk);
    free(s);
}

const source_format sampled_format = {
    is_sampled, open_sampled, push_sampled, end_samples, tell_sampled, close_sampled
};
