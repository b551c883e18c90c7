/* What a raw stream tells too late: see raw_ahead.h. */
#include "input/raw_ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/progress.h"

enum { DEPTHS = 256 };

/* A change, and once all are there what it amounts to, in its place: they may be most of what a
   command takes. */
typedef struct noted_change {
    union { prof_memory_change change; raw_change settled; } is;
    uint32_t session;
    bool failed;
} noted_change;

/* Where a zone stands: among its thread's, as they end, and among all. */
typedef struct zone_place { int64_t own, whole; } zone_place;

/* A backward zone with all in it, which are a range of its thread's; or a forward. */
typedef struct mark {
    uint64_t key;                /* of sequence number and thread */
    zone_place first;
    int64_t end;                 /* behind the last, among the thread's; a forward's: its begin */
    uint32_t thread, stack;
    bool is_forward;
} mark;

typedef struct zone_thread {
    uint64_t id;
    int64_t count;               /* of its zones, so far */
    uint32_t depth;              /* of the zone before */
    uint32_t room, open_room;    /* of behind, of open: threads may be many */
    zone_place *behind;          /* the zone behind the last one of each depth */
    struct open_range { int64_t end; uint32_t stack; } *open;   /* outermost first */
    uint32_t open_count;
} zone_thread;

struct raw_ahead {
    map blocks, totals;
    uint64_t unmatched;                      /* as prof_stats has it */
    noted_change *changes;       /* as they come */
    size_t change_count, change_capacity, next_change;
    uint32_t session;
    map threads;                 /* number in the stream -> zone_thread */
    arena memory;
    int64_t zones;
    mark *marks;                 /* once all are there: the backward ones */
    size_t mark_count, mark_capacity, next_mark;
    uint32_t *order;             /* of them, by where they begin */
    bool any_backward;
    interner texts;              /* stacks: each entry ends with a NUL; 0 is none */
    prof_raw_item item;
    prof_extra extra;
    const char **entries;
    size_t entry_capacity;
};

/* ---- A look at its blocks, which are described in raw_read.h ---- */

enum { SESSION = 1, THREAD = 3, RECORDS = 4, DETAILS = 8, EVENT = 9, DENSE = 11, HEAD = 64 };
enum { MAGIC = 0x50524f46, NEWEST = 3 /* version */, LARGEST = 1 << 16 };

/* As much of a block as is looked at. */
typedef struct head { unsigned char bytes[HEAD]; bool swap; } head;

static uint32_t word_in(const unsigned char *bytes, int number, bool swap) {   /* of 32 bits */
    uint32_t word;
    memcpy(&word, bytes + 4 * number, sizeof word);
    return swap ? __builtin_bswap32(word) : word;
}

static uint32_t word_at(const head *b, int number) { return word_in(b->bytes, number, b->swap); }

static uint32_t type_of(const head *b) { return word_at(b, 1) & 0xffff; }

/* false: none stands there that the reader reads. Types that it does not know it skips. */
static bool block_at(int fd, off_t at, head *b) {
    if (pread(fd, b->bytes, HEAD, at) != HEAD) return false;
    b->swap = word_in(b->bytes, 0, false) != MAGIC;
    return word_at(b, 0) == MAGIC && word_at(b, 1) >> 16 <= NEWEST && word_at(b, 2) % 4 == 0 &&
           word_at(b, 2) <= LARGEST;
}

static off_t block_end(const head *b, off_t at) { return at + 24 + word_at(b, 2); }

/* Do its records, which begin behind the head, hold an attribute of a zone? */
static bool has_attributes(int fd, off_t at, const head *b) {
    static unsigned char records[LARGEST];
    enum { RECORD = 12, ATTRIBUTE = 0xffff08 };
    off_t end = block_end(b, at), begin = at + HEAD;
    ssize_t got = begin < end ? pread(fd, records, (size_t)(end - begin), begin) : 0;
    for (ssize_t i = 0; i + RECORD <= got; i += RECORD)
        if (word_in(records + i, 2, b->swap) >> 8 == ATTRIBUTE) return true;
    return got < 0;
}

/* Which tasks of a kernel ran: see prof_task_in. */
static bool is_cpu_row(const head *b) {
    return type_of(b) == THREAD && word_at(b, 7) == 3 && word_at(b, 8) == 999 && !word_at(b, 9) &&
           memcmp(b->bytes + 40, "CPU", 3) == 0;
}

/* A session whose threads take turns on one core is a word longer. */
static bool is_one_core(const head *b) { return word_at(b, 2) == 4 * 11; }

/* Of those threads, one that interrupts another: 0 alone does not. */
static bool is_interrupt(const head *b) {
    uint32_t type = type_of(b);
    return (type == THREAD && word_at(b, 8)) || (type == RECORDS && word_at(b, 6)) ||
           (type == DENSE && b->bytes[24]);
}

/* What the stream holds, as far as its blocks can be told: behind that may be attributes. */
typedef struct survey { bool is_whole, has_memory, has_attributes; } survey;

static survey survey_of(int fd, off_t at, off_t size) {
    head b;
    unsigned char session[20];                   /* when it began, and its generation */
    survey s = {.is_whole = true};
    bool begun = false, one_core = false;
    for (; at + HEAD <= size; at = block_end(&b, at)) {
        if (!block_at(fd, at, &b)) return s.is_whole = false, s.has_attributes = true, s;
        uint32_t type = type_of(&b), asked = type == DETAILS ? word_at(&b, 6) : 0;
        s.has_memory |= (asked & PROF_RAW_HAS_MEMORY) != 0;
        if (type == RECORDS && !s.has_attributes) s.has_attributes = has_attributes(fd, at, &b);
        if (type == EVENT || asked & PROF_RAW_HAS_STEPS || is_cpu_row(&b) ||
            (one_core && is_interrupt(&b))) s.is_whole = false;
        if (type != SESSION) continue;
        one_core = is_one_core(&b);
        if (begun && memcmp(session, b.bytes + 40, sizeof session) != 0) s.is_whole = false;
        memcpy(session, b.bytes + 40, sizeof session);
        begun = true;
    }
    s.is_whole &= begun;
    return s;
}

/* ---- What is allocated ---- */

static uint64_t device_key(prof_device device) {
    return (uint64_t)device.type << 8 | (uint8_t)device.index;
}

static uint64_t block_key(const prof_memory_change *c) {
    return c->address ^ device_key(c->device) << 48;
}

/* A block has 1 + its bytes; 0: it was freed. */
static bool free_block(raw_ahead *a, const prof_memory_change *c, raw_change *out) {
    uint64_t *block = map_get(&a->blocks, block_key(c));
    if ((!block || !*block) && c->bytes) {   /* it is older than the window */
        out->bytes = 0 - (int64_t)c->bytes;
        out->older = true;
        return true;
    }
    if (!block || !*block) {
        a->unmatched++;
        return false;
    }
    out->bytes = (int64_t)(1 - *block);
    *block = 0;
    return true;
}

static void allocate_block(raw_ahead *a, const prof_memory_change *c, raw_change *out) {
    uint64_t *block = map_put(&a->blocks, block_key(c), NULL);
    a->unmatched += *block != 0;
    out->missed = *block ? (int64_t)(*block - 1) : 0;
    out->bytes = (int64_t)c->bytes;
    *block = c->bytes + 1;
}

/* Of half a million blocks and more those that were freed are forgotten: what frees one of them
   again is of unknown memory. */
static raw_change settle(raw_ahead *a, const prof_memory_change *c, bool failed) {
    uint64_t *total = map_put(&a->totals, device_key(c->device), NULL);
    raw_change out = {.counts = !failed};
    a->blocks.forgets = true;
    if (!failed && !c->is_free) allocate_block(a, c, &out);
    else if (!failed) out.counts = free_block(a, c, &out);
    if (!out.older) *total += (uint64_t)out.bytes - (uint64_t)out.missed;
    out.total = (int64_t)*total;
    return out;
}

/* In the order of time, not of the threads. */
static bool change_before(uint32_t one, uint32_t other, const void *changes) {
    const noted_change *a = (const noted_change *)changes + one;
    const noted_change *b = (const noted_change *)changes + other;
    if (a->session != b->session) return a->session < b->session;
    if (a->is.change.ns != b->is.change.ns) return a->is.change.ns < b->is.change.ns;
    return a->is.change.thread < b->is.change.thread;
}

static void settle_all(raw_ahead *a) {
    uint32_t *order = sorted_numbers(a->change_count, change_before, a->changes);
    for (size_t i = 0; i < a->change_count; i++) {
        noted_change *c = &a->changes[order[i]];
        prof_memory_change change = c->is.change;
        c->is.settled = settle(a, &change, c->failed);
    }
    free(order);
}

/* ---- Backward zones and their forwards ---- */

static zone_thread *thread_of(raw_ahead *a, uint32_t number) {
    bool is_new;
    uint64_t *slot = map_put(&a->threads, number, &is_new);
    if (is_new) {
        zone_thread *t = arena_allocate(&a->memory, sizeof *t);
        t->id = number;
        *slot = (uint64_t)(uintptr_t)t;
    }
    return (zone_thread *)(uintptr_t)*slot;
}

/* An array with that index, as long as the reader. */
static void *reach(raw_ahead *a, void *array, uint32_t *room, uint32_t index, size_t size) {
    uint32_t before = *room;
    if (index < before) return array;
    *room = before ? 2 * before : 4;
    while (*room <= index) *room *= 2;
    void *longer = arena_allocate(&a->memory, *room * size);
    if (before) memcpy(longer, array, before * size);
    return longer;
}

static uint64_t key_of(int64_t sequence, uint64_t thread) {
    return hash_mix(hash_mix((uint64_t)sequence + 1) * 31 + hash_mix(thread));
}

static uint32_t stack_of(raw_ahead *a, const prof_extra *x) {
    output text;
    size_t size;
    if (!x->stack_count) return 0;
    output_open_memory(&text);
    for (uint32_t i = 0; i < x->stack_count; i++)
        output_write(&text, x->stack[i], strlen(x->stack[i]) + 1);
    const char *data = output_memory(&text, &size);
    uint32_t number = intern(&a->texts, data, size);
    output_discard(&text);
    return number;
}

/* Of what lies in a zone of that depth that ends: the first behind all that end no deeper. */
static zone_place first_in(const zone_thread *t, uint32_t depth) {
    zone_place first = t->behind[0];
    for (uint32_t i = 1; i <= depth; i++)
        if (t->behind[i].own > first.own) first = t->behind[i];
    return first;
}

static void note_mark(raw_ahead *a, const zone_thread *t, const prof_raw_item *item,
                      zone_place here) {
    const prof_extra *x = item->extra;
    bool forward = x && x->scope != 1;
    if (!x || (forward && !(x->has & PROF_HAS_SEQUENCE_NR))) return;
    GROW(a->marks, a->mark_count, a->mark_capacity);
    mark *m = &a->marks[a->mark_count++];
    *m = (mark){.first = here, .thread = item->thread, .is_forward = forward};
    m->key = key_of(x->sequence_nr, forward ? t->id : x->fwd_thread);
    if (forward) {
        m->end = item->start_ns * DEPTHS + item->depth;
        m->stack = stack_of(a, x);
    } else {
        m->first = first_in(t, item->depth);
        m->end = here.own + 1;
        a->any_backward = true;
    }
}

static void note_zone(raw_ahead *a, const prof_raw_item *item) {
    zone_thread *t = thread_of(a, item->thread);
    zone_place here = {t->count++, a->zones++};
    t->behind = reach(a, t->behind, &t->room, item->depth, sizeof here);
    t->behind[here.own ? t->depth : 0] = here;
    t->depth = item->depth;
    note_mark(a, t, item, here);
}

static bool mark_before(uint32_t one, uint32_t other, const void *marks) {
    const mark *a = (const mark *)marks + one, *b = (const mark *)marks + other;
    if (a->thread != b->thread) return a->thread < b->thread;
    if (a->first.own != b->first.own) return a->first.own < b->first.own;
    return !a->is_forward && b->is_forward;
}

/* By key the forward that began first, of those that lie in no backward zone: its number + 1. */
static map find_forwards(const raw_ahead *a) {
    uint32_t *order = sorted_numbers(a->mark_count, mark_before, a->marks);
    map forwards = {0};
    int64_t end = 0;
    for (size_t i = 0; i < a->mark_count; i++) {
        const mark *m = &a->marks[order[i]];
        if (i && m->thread != a->marks[order[i - 1]].thread) end = 0;
        if (!m->is_forward && m->end > end) end = m->end;
        if (!m->is_forward || m->first.own < end) continue;
        uint64_t *first = map_put(&forwards, m->key, NULL);
        if (!*first || m->end < a->marks[*first - 1].end) *first = order[i] + UINT64_C(1);
    }
    free(order);
    return forwards;
}

static bool range_before(uint32_t one, uint32_t other, const void *marks) {
    const mark *a = (const mark *)marks + one, *b = (const mark *)marks + other;
    return a->first.whole != b->first.whole ? a->first.whole < b->first.whole : a->end > b->end;
}

/* Only the backward ones are kept, with their forwards' stacks. */
static void join(raw_ahead *a) {
    map forwards = find_forwards(a);
    size_t kept = 0;
    for (size_t i = 0; i < a->mark_count; i++) {
        mark *m = &a->marks[i];
        const uint64_t *forward = m->is_forward ? NULL : map_get(&forwards, m->key);
        if (forward) m->stack = a->marks[*forward - 1].stack;
    }
    for (size_t i = 0; i < a->mark_count; i++)
        if (!a->marks[i].is_forward) a->marks[kept++] = a->marks[i];
    a->mark_count = kept;
    a->order = sorted_numbers(kept, range_before, a->marks);
    map_free(&forwards);
}

/* ---- Reading ahead ---- */

static void note_item(void *user, const prof_raw_item *item) {
    raw_ahead *a = user;
    a->session += item->kind == PROF_RAW_SESSION;
    if (item->kind == PROF_RAW_THREAD) thread_of(a, item->thread)->id = (uint64_t)item->value;
    if (item->kind == PROF_RAW_ZONE) note_zone(a, item);
    if (item->kind != PROF_RAW_MEMORY) return;
    GROW(a->changes, a->change_count, a->change_capacity);
    a->changes[a->change_count++] = (noted_change){
        .is.change = *item->memory, .session = a->session, .failed = item->failed
    };
}

int raw_read(int fd, off_t begin, void (*item)(void *user, const prof_raw_item *item),
             void *user) {
    enum { PIECE = 1 << 18 };
    void *memory = allocate(RAW_READER), *piece = allocate(PIECE);
    prof_raw_desc desc = {.memory = memory, .memory_size = RAW_READER, .item = item, .user = user,
                          .shown = demangled};
    prof_raw *raw;
    struct stat status;
    ssize_t got;
    if (prof_raw_open(&desc, &raw) != PROF_OK) exit(fail(NULL, "out of memory"));
    if (fstat(fd, &status) != 0) status.st_size = 0;
    for (off_t at = begin; (got = pread(fd, piece, PIECE, at)) > 0; at += got) {
        prof_raw_feed(raw, piece, (size_t)got);
        progress("reading", (uint64_t)at, (uint64_t)status.st_size);
    }
    int error = got < 0 ? errno : 0;
    progress_end();
    prof_raw_close(raw, NULL);
    free(piece);
    free(memory);
    return error;
}

bool raw_ahead_read(raw_ahead *a, int fd, off_t begin) {
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    survey s = survey_of(fd, begin, status.st_size);
    if (s.has_memory || s.has_attributes) raw_read(fd, begin, note_item, a);
    if (s.has_memory) settle_all(a);
    else a->change_count = 0;
    if (a->any_backward) join(a);
    map_free(&a->threads);
    a->zones = 0;
    return s.is_whole;
}

/* ---- One by one ---- */

raw_ahead *raw_ahead_new(void) {
    raw_ahead *a = allocate(sizeof *a);
    intern(&a->texts, "", 0);
    return a;
}

/* What a file that grew meanwhile has more counts as it comes, behind all that was read ahead. */
raw_change raw_ahead_change(raw_ahead *a, const prof_raw_item *item) {
    if (a->next_change < a->change_count) return a->changes[a->next_change++].is.settled;
    return settle(a, item->memory, item->failed);
}

static void set_stack(raw_ahead *a, uint32_t stack) {
    const struct interned *text = &a->texts.entries[stack];
    uint32_t count = 0;
    for (const char *p = text->text; p < text->text + text->size; p += strlen(p) + 1) {
        GROW(a->entries, count, a->entry_capacity);
        a->entries[count++] = p;
    }
    a->extra.stack = a->entries;
    a->extra.stack_count = count;
}

/* The innermost range that the next zone of the thread is in; NULL: it is in none. */
static const struct open_range *range_around(raw_ahead *a, zone_thread *t) {
    int64_t own = t->count++, whole = a->zones++;
    for (; a->next_mark < a->mark_count; a->next_mark++) {
        const mark *m = &a->marks[a->order[a->next_mark]];
        if (m->first.whole != whole) break;
        if (t->open_count == DEPTHS) continue;
        t->open = reach(a, t->open, &t->open_room, t->open_count, sizeof *t->open);
        t->open[t->open_count++] = (struct open_range){m->end, m->stack};
    }
    while (t->open_count && t->open[t->open_count - 1].end <= own) t->open_count--;
    return t->open_count ? &t->open[t->open_count - 1] : NULL;
}

const prof_raw_item *raw_ahead_zone(raw_ahead *a, const prof_raw_item *item) {
    if (!a->any_backward) return item;
    const struct open_range *range = range_around(a, thread_of(a, item->thread));
    bool had = item->extra && item->extra->stack_count;
    if (!range || (!range->stack && !had)) return item;
    a->item = *item;
    a->extra = item->extra ? *item->extra : (prof_extra){.node_id = -1, .sequence_nr = -1};
    a->item.extra = &a->extra;
    set_stack(a, range->stack);
    return &a->item;
}

void raw_ahead_lose(const raw_ahead *a, prof_stats *counts) {
    counts->memory_unmatched += a->unmatched;
}

void raw_ahead_free(raw_ahead *a) {
    map *maps[] = {&a->blocks, &a->totals, &a->threads};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    free(a->changes);
    free(a->marks);
    free(a->order);
    free(a->entries);
    arena_free(&a->memory);
    intern_free(&a->texts);
    free(a);
}
