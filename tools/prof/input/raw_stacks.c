/* Stacks of backward zones: see raw_stacks.h. A thread's zones are numbered as they end; those of a
   backward zone and all within it are a range of numbers. Ranges are found by reading ahead, sorted
   to leave out the forwards in them, sorted to join each with the first forward of its sequence
   number and thread, and sorted by where they begin in the stream. */
#include "input/raw_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/span_sorter.h"
#include "input/raw_memory.h"

enum { DEPTHS = 256 };

/* Where a zone stands: among its thread's, and among all. */
typedef struct zone_place { uint64_t own, whole; } zone_place;

typedef struct stack_thread {
    uint64_t id, count;
    uint32_t depth;              /* of the zone before */
    uint32_t room, open_room;    /* of behind, of open: threads may be many */
    zone_place *behind;          /* the zone behind the last one of each depth */
    struct open_range { uint64_t end; uint32_t stack; } *open;   /* outermost first */
    uint32_t open_count;
} stack_thread;

struct raw_stacks {
    map threads;                 /* number in the stream -> stack_thread */
    arena memory;
    uint64_t count;              /* zones */
    span_sorter *zones;          /* forwards and ranges: by thread and number; NULL: none yet */
    span_sorter *ranges;         /* by where they begin; amount: how many zones; order: stack */
    bool any;                    /* zone is backward; once all is read: next is a range */
    span next;
    interner texts;              /* stacks: each entry ends with a NUL; 0 is none */
    prof_raw_item item;
    prof_extra extra;
    const char **entries;
    size_t entry_capacity;
};

/* ---- Reading ahead: ranges, and zones with a sequence number ---- */

static stack_thread *thread_of(raw_stacks *s, uint32_t number) {
    bool is_new;
    uint64_t *place = map_put(&s->threads, number, &is_new);
    if (is_new) {
        stack_thread *t = arena_allocate(&s->memory, sizeof *t);
        t->id = number;
        *place = (uint64_t)(uintptr_t)t;
    }
    return (stack_thread *)(uintptr_t)*place;
}

/* An array with that place, as long as the stacks. */
static void *reach(raw_stacks *s, void *array, uint32_t *room, uint32_t place, size_t size) {
    uint32_t before = *room;
    if (place < before) return array;
    *room = before ? 2 * before : 4;
    while (*room <= place) *room *= 2;
    void *longer = arena_allocate(&s->memory, *room * size);
    if (before) memcpy(longer, array, before * size);
    return longer;
}

static uint64_t key_of(int64_t sequence, uint64_t thread) {
    return hash_mix(hash_mix((uint64_t)sequence + 1) * 31 + hash_mix(thread));
}

static uint32_t stack_of(raw_stacks *s, const prof_extra *x) {
    output text;
    size_t size;
    if (!x->stack_count) return 0;
    output_open_memory(&text);
    for (uint32_t i = 0; i < x->stack_count; i++)
        output_write(&text, x->stack[i], strlen(x->stack[i]) + 1);
    const char *data = output_memory(&text, &size);
    uint32_t number = intern(&s->texts, data, size);
    output_discard(&text);
    return number;
}

static span keyed(uint32_t thread, uint64_t number, uint64_t key) {
    return (span){.thread = thread, .start_ns = (int64_t)number, .what = (uint32_t)key,
                  .more = (uint32_t)(key >> 32)};
}

static uint64_t key_in(const span *s) { return (uint64_t)s->more << 32 | s->what; }

static void add_zone(raw_stacks *s, const span *zone) {
    if (!s->zones) s->zones = sorter_new();
    sorter_add(s->zones, zone);
}

static void add_range(raw_stacks *s, uint32_t thread, zone_place from, uint64_t end, uint64_t key) {
    span range = keyed(thread, from.own, key);
    range.amount = (int64_t)(end - from.own);
    range.id = (int64_t)from.whole;
    add_zone(s, &range);
}

/* Of what lies in a zone of that depth that ends: the first behind all that end no deeper. */
static zone_place first_in(const stack_thread *t, uint32_t depth) {
    zone_place first = t->behind[0];
    for (uint32_t i = 1; i <= depth; i++)
        if (t->behind[i].own > first.own) first = t->behind[i];
    return first;
}

static void note_backward(raw_stacks *s, const stack_thread *t, const prof_raw_item *item,
                          zone_place here) {
    const prof_extra *x = item->extra;
    if (!x || x->scope != 1) return;
    add_range(s, item->thread, first_in(t, item->depth), here.own + 1,
              key_of(x->sequence_nr, x->fwd_thread));
    s->any = true;
}

static void note_forward(raw_stacks *s, const stack_thread *t, const prof_raw_item *item,
                         zone_place here) {
    const prof_extra *x = item->extra;
    if (!x || x->scope == 1 || !(x->has & PROF_HAS_SEQUENCE_NR)) return;
    span zone = keyed(item->thread, here.own, key_of(x->sequence_nr, t->id));
    zone.id = item->start_ns * DEPTHS + item->depth;
    zone.order = stack_of(s, x);
    zone.flags = SPAN_CHANGE;                    /* behind the range that begins with it */
    add_zone(s, &zone);
}

static void note_zone(raw_stacks *s, const prof_raw_item *item) {
    stack_thread *t = thread_of(s, item->thread);
    zone_place here = {t->count++, s->count++};
    t->behind = reach(s, t->behind, &t->room, item->depth, sizeof here);
    if (!here.own) t->behind[0] = here;
    else t->behind[t->depth] = here;
    t->depth = item->depth;
    note_backward(s, t, item, here);
    note_forward(s, t, item, here);
}

static void note_item(void *user, const prof_raw_item *item) {
    raw_stacks *s = user;
    if (item->kind == PROF_RAW_THREAD) thread_of(s, item->thread)->id = (uint64_t)item->value;
    if (item->kind == PROF_RAW_ZONE) note_zone(s, item);
}

/* ---- The join ---- */

/* By key: the forwards that lie in no backward zone, as they began; then ranges. */
static span_sorter *by_key(raw_stacks *s) {
    span_sorter *sorted = sorter_new();
    int64_t end = 0;
    uint32_t thread = 0;
    sorter_finish(s->zones);
    for (span zone; sorter_next(s->zones, &zone); thread = zone.thread) {
        bool forward = (zone.flags & SPAN_CHANGE) != 0;
        span made = {.start_ns = (int64_t)key_in(&zone), .order = zone.order};
        if (zone.thread != thread) end = 0;
        if (forward && zone.start_ns < end) continue;
        if (!forward && zone.start_ns + zone.amount > end) end = zone.start_ns + zone.amount;
        made.amount = forward ? -zone.id : zone.amount;
        made.id = zone.id;
        made.flags = forward ? 0 : SPAN_CHANGE;
        sorter_add(sorted, &made);
    }
    sorter_free(s->zones);
    s->zones = NULL;
    return sorted;
}

static void join(raw_stacks *s) {
    span_sorter *sorted = by_key(s);
    span forward = {0};
    bool any = false;
    s->ranges = sorter_new();
    sorter_finish(sorted);
    for (span one; sorter_next(sorted, &one); ) {
        bool same = any && one.start_ns == forward.start_ns;
        if (!(one.flags & SPAN_CHANGE)) {
            if (!same) forward = one;
            any = true;
            continue;
        }
        sorter_add(s->ranges, &(span){.start_ns = one.id, .amount = one.amount,
                                      .order = same ? forward.order : 0});
    }
    sorter_free(sorted);
    sorter_finish(s->ranges);
    s->any = sorter_next(s->ranges, &s->next);
}

raw_stacks *raw_stacks_read_ahead(int fd, off_t begin) {
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    raw_stacks *s = allocate(sizeof *s);
    intern(&s->texts, "", 0);
    raw_read(fd, begin, note_item, s, NULL);
    if (!s->any) {
        raw_stacks_free(s);
        return NULL;
    }
    join(s);
    map_free(&s->threads);
    s->count = 0;
    return s;
}

/* ---- Zone by zone ---- */

static void set_stack(raw_stacks *s, uint32_t stack) {
    const struct interned *text = &s->texts.entries[stack];
    uint32_t count = 0;
    for (const char *p = text->text; p < text->text + text->size; p += strlen(p) + 1) {
        GROW(s->entries, count, s->entry_capacity);
        s->entries[count++] = p;
    }
    s->extra.stack = s->entries;
    s->extra.stack_count = count;
}

/* The innermost range that the next zone of the thread is in; NULL: it is in none. */
static const struct open_range *range_around(raw_stacks *s, stack_thread *t) {
    uint64_t own = t->count++, whole = s->count++;
    for (; s->any && (uint64_t)s->next.start_ns == whole;
         s->any = sorter_next(s->ranges, &s->next))
        if (t->open_count < DEPTHS) {
            t->open = reach(s, t->open, &t->open_room, t->open_count, sizeof *t->open);
            t->open[t->open_count++] =
                (struct open_range){own + (uint64_t)s->next.amount, s->next.order};
        }
    while (t->open_count && t->open[t->open_count - 1].end <= own) t->open_count--;
    return t->open_count ? &t->open[t->open_count - 1] : NULL;
}

const prof_raw_item *raw_stacks_next(raw_stacks *s, const prof_raw_item *item) {
    if (!s) return item;
    const struct open_range *range = range_around(s, thread_of(s, item->thread));
    bool had = item->extra && item->extra->stack_count;
    if (!range || (!range->stack && !had)) return item;
    s->item = *item;
    s->extra = item->extra ? *item->extra : (prof_extra){.node_id = -1, .sequence_nr = -1};
    s->item.extra = &s->extra;
    set_stack(s, range->stack);
    return &s->item;
}

void raw_stacks_free(raw_stacks *s) {
    if (!s) return;
    if (s->zones) sorter_free(s->zones);
    if (s->ranges) sorter_free(s->ranges);
    map_free(&s->threads);
    arena_free(&s->memory);
    intern_free(&s->texts);
    free(s->entries);
    free(s);
}
