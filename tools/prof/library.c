/* prof.h's implementation for the prof command and for tests that ask it the same: the only file of
   tools/prof that sees inside the library. Nothing of that is copied here. It calls
   - prof__control, prof__text_json, prof__is_formula, prof__device_name, prof__terminal_width,
     prof__write_args, prof__column_field;
   - prof__text_time, prof__text_percent, prof__text_memory: figures as the table prints them;
   - prof__note_key, prof__note_text, prof__note_count: what was lost;
   - what raw_read.h asks: records and attributes, sums, ns of ticks;
   - prof__spans_hold, prof__nest_close: what lies in what;
   - prof__group_hash, prof__group_open, prof__same_group, prof__hash_site, prof__same_site,
     prof__pack_extra: which calls are of one row;
   - prof__call_add, prof__is_partial, prof__rank_take, prof__rank_after: their sums;
   - prof__average_of, prof__average_sums, prof__average_by, prof__average_join: what a row tells;
   - prof__order_add, prof__order_end: what a file has first;
   - prof__sort, prof__align.
   C99 that is C++, too. */
#define PROF_IMPLEMENTATION
#include "library.h"
#include "raw_read.h"

#include <stdlib.h>

size_t control_size(const char *text) { return prof__control(text); }
char *text_json(char *to, const char *text) { return prof__text_json(to, &text); }
bool is_formula(const char *text) { return prof__is_formula(text); }
const char *device_type_name(uint8_t type) { return prof__device_name(type); }
uint32_t terminal_width(void) { return prof__terminal_width(); }
prof_result write_event_args(const prof_event *event, prof_sink out) {
    return prof__write_args(event, out);
}

#ifdef PROF__WAIT
typedef char window_page_is_that[
    sizeof(window_page) == sizeof(prof__shared) &&
    offsetof(window_page, bell) == offsetof(prof__shared, bell) &&
    offsetof(window_page, path) == offsetof(prof__shared, path) ? 1 : -1];
#endif

/* ---- Figures, and the metrics that they are of ---- */

static size_t copied(char *buf, size_t size, const char *text, size_t length) {
    if (size) {
        memcpy(buf, text, PROF__MIN(length, size - 1));
        buf[PROF__MIN(length, size - 1)] = 0;
    }
    return length;
}

size_t format_time(char *buf, size_t size, double us) {
    char text[48];
    prof__real x = prof__real_from_double(us);
    prof_time_unit unit = prof__real_below(x, prof__real_from(1000)) ? PROF_TIME_US
                        : prof__real_below(x, prof__real_from(1000000)) ? PROF_TIME_MS
                                                                        : PROF_TIME_S;
    return copied(buf, size, text, (size_t)(prof__text_time(text, x, unit) - text));
}

size_t format_share(char *buf, size_t size, double part, double total) {
    char text[48],
        *end = prof__text_percent(text, prof__real_from_double(part),
                                  prof__real_from_double(total));
    return copied(buf, size, text, (size_t)(end - text));
}

size_t format_memory(char *buf, size_t size, int64_t bytes) {
    char text[48];
    return copied(buf, size, text, (size_t)(prof__text_memory(text, bytes) - text));
}

/* Can this be a device's name: an identifier that does not begin as fields of the CPU do? */
static bool is_device_name(const char *name, size_t size) {
    if (!size || (size >= 3 && memcmp(name, "cpu", 3) == 0) ||
        (size >= 4 && memcmp(name, "self", 4) == 0 && (size == 4 || name[4] == '_'))) return false;
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        bool letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (!i || c < '0' || c > '9')) return false;
    }
    return true;
}

/* The name is that of a field, in which a device's name may replace "device". */
bool metric_from_text(const char *text, prof_metric *metric) {
    for (int i = 1; i < PROF_METRIC_LAST; i++) {
        const char *name = prof__column_field(prof__metric_column((prof_metric)i)), *after;
        size_t before = strncmp(name, "self_", 5) == 0 ? 5 : 0, size = strlen(text);
        *metric = (prof_metric)i;
        if (strcmp(text, name) == 0) return true;
        after = name + before + 6;
        if (strncmp(name + before, "device", 6) == 0 && size > before + strlen(after) &&
            strncmp(text, name, before) == 0 && strcmp(text + size - strlen(after), after) == 0 &&
            is_device_name(text + before, size - before - strlen(after))) return true;
    }
    *metric = PROF_METRIC_NONE;
    return false;
}

/* ---- What was lost ---- */

bool stats_note_at(const prof_stats *stats, size_t i, stats_note *note) {
    if (i >= PROF__NOTES) return false;
    note->key = prof__note_key(i);
    note->text = prof__note_text(i);
    note->count = stats ? prof__note_count(stats, i) : 0;
    return true;
}

/* ---- The caller's array of spans ---- */

static const char *span_at(const span_nest *n, uint32_t i) {
    return (const char *)n->spans + i * n->size;
}

static uint32_t span_parent(const span_nest *n, uint32_t i) {
    return *(const uint32_t *)(const void *)(span_at(n, i) + n->parent);
}

uint32_t span_nest_around(span_nest *n, uint32_t top, int64_t start_ns, int64_t end_ns) {
    bool overlaps = false;
    for (; top != PROF_NONE; top = span_parent(n, top)) {
        const void *end = span_at(n, top) + n->end_ns;
        if (prof__spans_hold(*(const int64_t *)end, start_ns, end_ns, &overlaps)) break;
    }
    n->overlaps += overlaps;
    return top;
}

uint32_t span_nest_launcher(const span_nest *n, uint32_t launch,
                            bool (*is_launch)(const void *span)) {
    uint32_t zone = launch;
    while (zone != PROF_NONE && is_launch(span_at(n, zone))) zone = span_parent(n, zone);
    return zone == PROF_NONE ? launch : zone;
}

/* ---- Sums of spans ---- */

/* The spans that have ended at a depth, in the span open around them. */
typedef struct span_siblings {
    uint32_t count, from;                /* from: the number of the first close within them */
    prof__amounts all;
    bool held;                           /* `only` is the only one, and not handed on yet: */
    prof__close only;                    /* it may be merged into its parent */
    prof__beside beside;
    int64_t only_ns;                     /* the time of its children */
    int64_t lifted_ns;                   /* device time of duplicates, if it is one itself */
} span_siblings;

/* The spans of a thread, each of which comes behind all in it. */
typedef struct spans_open {
    int64_t *levels;                     /* room + 1 of each; levels are prof__nest_close's */
    span_siblings *siblings;
    call_span *within;                   /* what changed in memory in the span that will end next
                                            at a depth */
    uint32_t room, thread, number;
    bool wide;                           /* a span had more than times */
} spans_open;

typedef struct sums_row {
    prof_event key;                      /* with an extra of its own */
    prof__group sums, partial;           /* partial: the times of calls that call_sums_add's have,
                                            too; here their self times are whole */
    uint32_t last;                       /* 1 + number of its last call */
    uint32_t part;                       /* call_sums.part when its first call came */
    prof_average *more;                  /* call_sums_add's; NULL: none */
    const prof_site *site;               /* NULL: it has none */
    uint16_t flags;                      /* of its first call */
    bool nested, recursive;              /* nested: its first call lay in another span */
} sums_row;

/* The nest of a thread, whose spans may come in turns with those of other threads. idle: its last
   span lay in no other: another thread may take the nest. */
enum { SPAN_TURNS = 256 };               /* lists of turns, by thread */
typedef struct span_turn {
    spans_open nest;
    uint32_t *last, lasts;               /* each row's `last` in this thread; how many there are */
    bool idle;
    struct span_turn *next;
} span_turn;

struct call_sums {
    call_sums_desc desc;
    uint32_t apart;                      /* spans that lie in nothing, so far */
    span_turn **turns, *turn;            /* turn: that of the current span; NULL: it lies in none */
    sums_row **rows;                     /* rows never move */
    uint32_t *index, count, max, slots;
    uint32_t *order;                     /* two for each row */
    uint32_t part;                       /* how often call_sums_next was called */
    call_sums_stats stats;
    char *low, *high;                    /* the rest of the memory that `more` gave last */
};

/* Memory for as long as the sums. */
static void *sums_take(call_sums *s, size_t bytes) {
    void *p;
    bytes = prof__align(bytes);
    if ((size_t)(s->high - s->low) < bytes) {
        size_t size = PROF__MAX(bytes, (size_t)16384);
        s->low = (char *)s->desc.more(s->desc.user, size);
        s->high = s->low + size;
    }
    p = s->low;
    s->low += bytes;
    return memset(p, 0, bytes);
}

/* A copy of an array of `count` in room for `more`. */
static void *sums_grow(call_sums *s, const void *old, size_t count, size_t more, size_t size) {
    void *p = sums_take(s, more * size);
    if (count) memcpy(p, old, count * size);
    return p;
}

static void sums_tell(const call_sums *s, const prof__close *c) {
    const prof__beside *b = c->beside;
    call_end end = { c->self_ns, 0, 0, c->order };
    if (b) end.device_ns = b->all.device_ns;
    if (b) end.self_device_ns = PROF__MINUS(b->all.device_ns, b->within.device_ns);
    s->desc.ended(s->desc.user, &end);
}

/* Has no span come for this row? */
static bool sums_alone(const sums_row *r) { return r->sums.rank.start_ns == PROF__NO_RANK; }

/* Adds a span that has ended, and is no duplicate, to its row. */
static void sums_call(call_sums *s, const prof__close *c) {
    sums_row *r;
    uint32_t *last;
    s->stats.self_cpu_time_total_ns = PROF__PLUS(s->stats.self_cpu_time_total_ns, c->self_ns);
    if (s->desc.ended) sums_tell(s, c);
    if (c->what == PROF_NONE || c->flags & CALL_HIDDEN) return;
    r = s->rows[c->what];
    if ((sums_alone(r) || r->part == s->part) && prof__rank_take(&r->sums.rank, c)) {
        r->part = s->part;
        r->flags = c->flags;
        r->nested = c->depth != 0;
    }
    last = s->turn && c->what < s->turn->lasts ? s->turn->last + c->what : &r->last;
    r->recursive = r->recursive || *last > c->from;
    *last = PROF__MAX(*last, c->number + 1);
    s->stats.calls++;
    prof__call_add(&r->sums, c);
    if (prof__is_partial(c->flags)) {
        prof__close whole = *c;
        whole.flags = 0;
        whole.beside = NULL;
        whole.self_ns = c->cpu_ns;       /* sums have what its children took */
        prof__call_add(&r->partial, &whole);
    }
}

/* ---- Their rows ---- */

call_sums *call_sums_open(const call_sums_desc *desc) {
    call_sums first, *s;
    memset(&first, 0, sizeof first);
    first.desc = *desc;
    s = (call_sums *)sums_take(&first, sizeof *s);
    *s = first;
    return s;
}

/* Makes room for another row: doubles the arrays, with a new index. */
static void sums_room(call_sums *s) {
    uint32_t max = s->max ? 2 * s->max : 16, slots = 2 * max + 1;
    if (s->count < s->max) return;
    s->rows = (sums_row **)sums_grow(s, s->rows, s->max, max, sizeof *s->rows);
    s->order = (uint32_t *)sums_take(s, max * 2 * sizeof *s->order);
    s->index = (uint32_t *)sums_take(s, slots * sizeof *s->index);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = s->rows[i]->sums.hash % slots;
        while (s->index[at]) at = at + 1 == slots ? 0 : at + 1;
        s->index[at] = i + 1;
    }
    s->slots = slots;
    s->max = max;
}

static const char *sums_text(call_sums *s, const char *text) {
    size_t size = strlen(text) + 1;
    return (const char *)memcpy(sums_take(s, size), text, size);
}

static const prof_site *sums_site(call_sums *s, const prof_site *site) {
    prof_site *copy = (prof_site *)sums_take(s, sizeof *copy);
    *copy = *site;
    copy->name = copy->function = "";
    copy->file = sums_text(s, site->file);
    return copy;
}

/* A new row, with a copy of what tells it apart. */
static sums_row *sums_row_new(call_sums *s, const prof_event *key, const prof_site *site) {
    sums_row *r = (sums_row *)sums_take(s, sizeof *r);
    prof__pack pack = { NULL, 0 };
    r->site = site ? sums_site(s, site) : NULL;
    r->key = *key;
    r->key.name = sums_text(s, key->name);
    if (key->extra) {
        prof_extra x = *key->extra;
        x.kernels = NULL;
        x.kernel_count = 0;
        (void)prof__pack_extra(&pack, &x);
        pack.p = (char *)sums_take(s, pack.used);
        pack.used = 0;
        r->key.extra = prof__pack_extra(&pack, &x);
    }
    prof__group_open(&r->sums);
    prof__group_open(&r->partial);
    return r;
}

uint32_t call_sums_row(call_sums *s, const prof_event *event, const prof_site *site) {
    uint32_t hash, at;
    sums_row *r;
    prof_event key = *event;
    if (!s->desc.averages.group_by_site || (site && !(site->file && *site->file))) site = NULL;
    key.site = 0;                        /* there is no session that it could refer to */
    hash = prof__hash_site(prof__group_hash(&s->desc.averages, &key), site);
    at = s->slots ? hash % s->slots : 0;
    for (; s->slots && s->index[at]; at = at + 1 == s->slots ? 0 : at + 1) {
        r = s->rows[s->index[at] - 1];
        if (r->sums.hash == hash && prof__same_site(site, r->site) &&
            prof__same_group(&s->desc.averages, &key, &r->key)) return s->index[at] - 1;
    }
    sums_room(s);
    r = sums_row_new(s, &key, site);
    r->sums.hash = hash;
    for (at = hash % s->slots; s->index[at];) at = at + 1 == s->slots ? 0 : at + 1;
    s->rows[s->count] = r;
    s->index[at] = ++s->count;
    return s->count - 1;
}

/* ---- Their nest ---- */

static void amounts_add(prof__amounts *to, const prof__amounts *from) {
    to->device_ns = PROF__PLUS(to->device_ns, from->device_ns);
    to->cpu_bytes = PROF__PLUS(to->cpu_bytes, from->cpu_bytes);
    to->device_bytes = PROF__PLUS(to->device_bytes, from->device_bytes);
    for (int i = 0; i < PROF_COUNTERS; i++)
        to->counters[i] = PROF__PLUS(to->counters[i], from->counters[i]);
}

static void siblings_from(span_siblings *l, prof__close *c) {
    c->from = l[1].count ? l[1].from : c->number;
    l[1].count = 0;
    if (!l->count++) l->from = c->from;
}

/* Hands on the span that is held, since it is no duplicate. */
static void siblings_tell(call_sums *s, span_siblings *l) {
    if (l->held) sums_call(s, &l->only);
    l->held = false;
}

static bool is_duplicate(const call_sums *s, const span_siblings *kids, uint32_t what) {
    uint32_t only = kids->only.what;
    if (!kids->held || kids->count != 1 || what == PROF_NONE || only == PROF_NONE) return false;
    return what == only || strcmp(s->rows[what]->key.name, s->rows[only]->key.name) == 0;
}

/* Merges the only child of c, which has its name, into c: its children become c's. Returns the
   device time that c has of duplicates if it is one itself. */
static int64_t nest_merge(call_sums *s, spans_open *n, const prof__close *c, prof__beside *b,
                          span_siblings *kids) {
    const prof__beside *child = &kids->beside;
    int64_t own = PROF__PLUS(child->all.device_ns, kids->lifted_ns);
    bool legacy = c->flags & PROF_EVENT_LEGACY, covered = legacy && b->all.device_ns;
    if (legacy && !covered) own = child->all.device_ns;   /* what it lifted is in it */
    if (!(kids->only.flags & PROF_EVENT_LEGACY)) own = PROF__MINUS(own, child->within.device_ns);
    if (!covered) b->all.device_ns = PROF__PLUS(b->all.device_ns, own);
    n->levels[c->depth + 1] = kids->only_ns;
    kids->all = child->within;
    kids->held = false;
    s->stats.duplicates++;
    return covered ? own : 0;
}

/* How long it had its core: at least as long as those in it. */
static int64_t ran(const int64_t *level, const prof__close *c, int64_t away_ns) {
    int64_t ns = PROF__MINUS(c->cpu_ns, away_ns);
    return away_ns ? PROF__MAX(ns, level[1]) : ns;
}

/* A span has ended: c has its times, b its amounts: the device time that it launched itself (with
   PROF_EVENT_LEGACY its children's, too); the others include its children's. */
static void nest_end_wide(call_sums *s, spans_open *n, prof__close *c, prof__beside *b,
                          int64_t away_ns) {
    span_siblings *l = n->siblings + c->depth, *kids = l + 1;
    int64_t *level = n->levels + c->depth, only_ns, lifted_ns = 0;
    if (is_duplicate(s, kids, c->what)) lifted_ns = nest_merge(s, n, c, b, kids);
    siblings_tell(s, kids);
    only_ns = level[1];
    siblings_from(l, c);
    prof__nest_close(level, c, ran(level, c, away_ns));
    b->within = kids->all;
    if (!(c->flags & PROF_EVENT_LEGACY))
        b->all.device_ns = PROF__PLUS(b->all.device_ns, kids->all.device_ns);
    memset(&kids->all, 0, sizeof kids->all);
    siblings_tell(s, l);
    amounts_add(&l->all, &b->all);
    l->held = l->count == 1 && s->desc.merge_duplicates && c->depth;
    if (!l->held) {
        sums_call(s, c);
        return;
    }
    l->only = *c;
    l->beside = *b;
    l->only.beside = &l->beside;
    l->only_ns = only_ns;
    l->lifted_ns = lifted_ns;
}

static inline prof__close close_of(const call_span *span, uint32_t depth, const prof__beside *b) {
    prof__close c;
    memset(&c, 0, sizeof c);
    c.start_ns = span->start_ns;
    c.end_ns = span->end_ns;
    c.cpu_ns = PROF__MINUS(span->end_ns, span->start_ns);
    c.beside = b;
    c.what = span->row;
    c.thread = span->thread;
    c.depth = depth;
    c.order = span->order;
    c.flags = span->flags;
    return c;
}

static prof__beside amounts_of(const call_span *span) {
    prof__beside b;
    memset(&b, 0, sizeof b);
    b.all.device_ns = span->device_ns;
    b.all.cpu_bytes = span->cpu_bytes;
    b.all.device_bytes = span->device_bytes;
    b.counted = span->counters != NULL;
    if (b.counted)
        memcpy(b.all.counters, span->counters, PROF_COUNTERS * sizeof *b.all.counters);
    b.flops = span->flops;
    return b;
}

/* A span in `depth` others has ended. Amounts are added up from the first span on that has any. */
static void nest_end(call_sums *s, spans_open *n, const call_span *span, uint32_t depth) {
    prof__beside b;
    prof__close c;
    n->wide = n->wide || s->desc.merge_duplicates || span->counters ||
              (span->device_ns | span->cpu_bytes | span->device_bytes | span->flops) != 0;
    c = close_of(span, depth, n->wide ? &b : NULL);
    c.number = n->number++;
    if (n->wide) {
        b = amounts_of(span);
        nest_end_wide(s, n, &c, &b, span->away_ns);
        return;
    }
    siblings_from(n->siblings + depth, &c);
    prof__nest_close(n->levels + depth, &c, ran(n->levels + depth, &c, span->away_ns));
    sums_call(s, &c);
}

/* Makes room for spans in `depth` others. */
static void nest_room(call_sums *s, spans_open *n, uint32_t depth) {
    while (n->room <= depth) {
        uint32_t old = n->room ? n->room + 1 : 0, twice = n->room ? 2 * n->room : 16;
        n->levels = (int64_t *)sums_grow(s, n->levels, old, twice + 1, sizeof *n->levels);
        n->siblings = (span_siblings *)sums_grow(s, n->siblings, old, twice + 1,
                                                 sizeof *n->siblings);
        n->within = (call_span *)sums_grow(s, n->within, n->room, twice, sizeof *n->within);
        n->room = twice;
    }
}

/* ---- Spans that lie in nothing ---- */

/* A change of memory is a call of its own row. */
static void sums_memory(call_sums *s, const call_span *span) {
    prof__beside b = amounts_of(span);
    prof__close c = close_of(span, 0, &b);
    bool call = !(c.flags & CALL_HIDDEN);
    if (span->row == PROF_NONE) return;
    c.cpu_ns = 0;
    c.number = c.from = s->apart++;
    c.flags &= (uint16_t)~CALL_HIDDEN;
    sums_call(s, &c);
    s->rows[c.what]->sums.count -= !call;
    s->stats.calls -= !call;
}

/* Adds a span that has no parent and no children: a range, work on a device. */
static void sums_apart(call_sums *s, const call_span *span, bool device) {
    prof__beside b = amounts_of(span);
    prof__close c = close_of(span, 0, &b);
    c.number = c.from = s->apart++;
    b.all.device_ns = !device || c.flags & PROF_EVENT_ASYNC ? 0 : c.cpu_ns;
    if (device) c.cpu_ns = 0;
    b.within = b.all;                    /* no amount counts as its own, */
    b.within.device_ns = 0;              /* but device time does */
    sums_call(s, &c);
}

/* ---- Spans with depths ---- */

static void span_bytes_add(call_span *to, const call_span *from) {
    to->cpu_bytes = PROF__PLUS(to->cpu_bytes, from->cpu_bytes);
    to->device_bytes = PROF__PLUS(to->device_bytes, from->device_bytes);
}

/* Ends the spans of a turn, and gives it to this thread. */
static void turn_give(call_sums *s, span_turn *t, uint32_t thread) {
    spans_open *n = &t->nest;
    s->turn = t;
    n->thread = thread;
    if (!n->room) return;
    siblings_tell(s, n->siblings);
    memset(n->levels, 0, (n->room + 1) * sizeof *n->levels);
    memset(n->siblings, 0, (n->room + 1) * sizeof *n->siblings);
    memset(n->within, 0, n->room * sizeof *n->within);
}

/* The turn of a thread. */
static span_turn *sums_turn(call_sums *s, uint32_t thread) {
    span_turn *t = s->turn, *idle = NULL, **slot;
    if (t && t->nest.thread == thread) return t;
    if (!s->turns) s->turns = (span_turn **)sums_take(s, SPAN_TURNS * sizeof *s->turns);
    slot = s->turns + thread % SPAN_TURNS;
    for (t = *slot; t && t->nest.thread != thread; t = t->next)
        if (t->idle) idle = t;
    if (t) return t;
    if (idle) {
        turn_give(s, idle, thread);
        return idle;
    }
    t = (span_turn *)sums_take(s, sizeof *t);
    t->nest.thread = thread;
    t->next = *slot;
    return *slot = t;
}

/* A span with a depth, which comes after all in it. */
static void turn_end(call_sums *s, spans_open *n, const call_span *span) {
    call_span *within = n->within + span->depth, own;
    if (span->flags & CALL_MEMORY) {
        span_bytes_add(within, span);
        return;
    }
    if (within->cpu_bytes || within->device_bytes) {
        own = *span;
        span_bytes_add(&own, within);
        if (span->depth) span_bytes_add(within - 1, within);
        within->cpu_bytes = within->device_bytes = 0;
        span = &own;
    }
    nest_end(s, n, span, span->depth);
}

/* Adds a span with a depth to its thread's turn. */
static void sums_end(call_sums *s, const call_span *span) {
    span_turn *t = s->turn = sums_turn(s, span->thread);
    nest_room(s, &t->nest, span->depth);
    if (t->lasts < s->count) {
        t->last = (uint32_t *)sums_grow(s, t->last, t->lasts, s->max, sizeof *t->last);
        t->lasts = s->max;
    }
    turn_end(s, &t->nest, span);
    t->idle = !span->depth && !(span->flags & CALL_MEMORY);
}

/* ---- What is asked of them ---- */

/* Ends all open spans, of all threads. */
static void sums_flush(call_sums *s) {
    for (uint32_t i = 0; s->turns && i < SPAN_TURNS; i++)
        for (span_turn *t = s->turns[i]; t; t = t->next) {
            turn_give(s, t, t->nest.thread);
            t->nest.number = 0;
            if (t->lasts) memset(t->last, 0, t->lasts * sizeof *t->last);
        }
    s->turn = NULL;
}

void call_sums_push(call_sums *s, const call_span *span) {
    const sums_row *r = span->row == PROF_NONE ? NULL : s->rows[span->row];
    bool device = r && r->key.device_type != PROF_DEVICE_CPU;
    bool apart = device || span->flags & PROF_EVENT_ASYNC;
    if (span->flags & CALL_DEPTH && !apart) {
        sums_end(s, span);
        return;
    }
    s->turn = NULL;
    if (span->flags & CALL_MEMORY) sums_memory(s, span);
    else sums_apart(s, span, device);
}

void call_sums_next(call_sums *s) {
    sums_flush(s);
    s->part++;
}

void call_sums_add(call_sums *s, uint32_t row, const prof_average *more) {
    sums_row *r;
    prof_average named = *more;
    s->stats.self_cpu_time_total_ns =
        PROF__PLUS(s->stats.self_cpu_time_total_ns, more->self_cpu_time_total_ns);
    if (row == PROF_NONE) return;
    r = s->rows[row];
    if (!r->more) r->more = (prof_average *)sums_take(s, sizeof *r->more);
    named.key = r->key.name;
    (void)prof_average_add(r->more, &named);
}

static bool sums_after(const void *rows, uint32_t a, uint32_t b) {
    sums_row *const *list = (sums_row *const *)rows;
    if (sums_alone(list[a]) || sums_alone(list[b]))
        return !sums_alone(list[b]) || (sums_alone(list[a]) && a > b);
    if (list[a]->part != list[b]->part) return list[a]->part > list[b]->part;
    return prof__rank_after(&list[a]->sums.rank, &list[b]->sums.rank);
}

static prof_average sums_average(const call_sums *s, const sums_row *r, uint32_t rank) {
    prof_event first = r->key;
    const uint16_t own = PROF_EVENT_ASYNC | PROF_EVENT_REMOTE;
    prof_average a;
    first.flags = (uint16_t)((first.flags & ~own) | (r->flags & own));
    first.parent = r->nested ? 0 : PROF_NONE;
    a = prof__average_of(&first, rank);
    prof__average_sums(&a, &r->sums);
    prof__average_by(&a, &s->desc.averages);
    a.site = r->site;
    a.is_recursive = r->recursive;
    if (r->more) {
        (void)prof_average_add(&a, r->more);
    } else if (r->partial.count) {
        prof_average partial;            /* the file has no sums any more: what it shows */
        memset(&partial, 0, sizeof partial);
        prof__average_sums(&partial, &r->partial);
        prof__average_join(&a, &partial);
    }
    return a;
}

size_t call_sums_look(call_sums *s, prof_average *rows, size_t max) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->rows[i]->more || !sums_alone(s->rows[i])) s->order[n++] = i;
    if (n) prof__sort(s->order, s->order + n, n, sums_after, s->rows);
    for (uint32_t i = 0; rows && i < n && i < max; i++)
        rows[i] = sums_average(s, s->rows[s->order[i]], i);
    return n;
}

size_t call_sums_close(call_sums *s, prof_average *rows, size_t max) {
    sums_flush(s);
    return call_sums_look(s, rows, max);
}

call_sums_stats call_sums_get_stats(const call_sums *s) {
    call_sums_stats stats = s->stats;
    for (uint32_t i = 0; i < s->count; i++) {
        const sums_row *r = s->rows[i];
        if (!r->more) continue;          /* else it has these calls whole */
        stats.calls -= r->partial.count;
        stats.self_cpu_time_total_ns -= r->partial.cpu_ns;
    }
    return stats;
}

/* ---- Zones in the order of their ends ---- */

struct end_order {
    prof__order order;
    void (*write)(void *user, uint32_t slot);
    void *user;
};

static void write_slot(void *order, const prof_event *zone) {
    const end_order *o = (const end_order *)order;
    o->write(o->user, (uint32_t)(zone - o->order.held));
}

end_order *end_order_new(void (*write)(void *user, uint32_t slot), void *user) {
    end_order *o = (end_order *)calloc(1, sizeof *o);
    if (!o) return NULL;
    o->order.write = write_slot;
    o->order.user = o;
    o->write = write;
    o->user = user;
    return o;
}

bool end_order_room(end_order *o, uint32_t room) {
    prof_event *held = (prof_event *)realloc(o->order.held, room * sizeof *held);
    if (!held) return false;
    o->order.held = held;
    o->order.room = room;
    return true;
}

bool end_order_is_full(const end_order *o) { return o->order.count == o->order.room; }

uint32_t end_order_add(end_order *o, uint32_t depth, int64_t start_ns) {
    prof_event zone;
    memset(&zone, 0, sizeof zone);
    zone.start_ns = start_ns;
    zone.depth = (uint8_t)PROF__MIN(depth, 255u);
    prof__order_add(&o->order, &zone);
    return o->order.count - 1;
}

void end_order_end(end_order *o) { prof__order_end(&o->order); }

void end_order_free(end_order *o) {
    free(o->order.held);
    free(o);
}
