/* Begins and ends as complete events: see trace_pairs.h. */
#include "input/trace_pairs.h"

#include <stdlib.h>
#include <string.h>


/* What a begin and its end have in common: the thread or the asynchronous range; that and the name;
   the category, too. An end names as many of them as it has. The same of asynchronous ranges within
   their process: all processes may have one id, as those of a range that several have, and as those
   of files that were merged; its own process' comes first. */
enum { BY_PLACE, BY_NAME, BY_CATEGORY, KEYS, CHAINS = 2 * KEYS };

/* A begin that waits for its end, or a half that waits for the file's end; behind it in memory are
   its arguments and texts. */
typedef struct half {
    trace_event event;
    uint64_t keys[CHAINS];
    struct half *outer[CHAINS];  /* what is open around it, with the same key, and in it */
    struct half *inner[CHAINS];
    struct half *before, *after; /* among all that are open, as they came; among those that ended */
    struct half *end;            /* a copy of its end, where that has arguments */
    uint64_t end_offset;
    int64_t end_ns;
    trace_member args[];
} half;

typedef struct half_list { half *first, *last; } half_list;

struct trace_pairs {
    half_list open, ended;
    map tops;                    /* key -> its innermost half that is open */
    half **held;                 /* in order of time, once the file has ended */
    size_t held_count, held_capacity;
    half *handed;                /* the event handed out last */
    trace_member *args;          /* its arguments, where both ends have some */
    char *args_text;             /* and their text */
    size_t arg_capacity, text_capacity;
};

/* ---- A copy of an event that outlives the reader's buffer ---- */

static trace_text moved(trace_text text, const trace_event *from, char *raw, char **more) {
    if (!text.size) return text;
    if (text.data >= from->raw.data && text.data < from->raw.data + from->raw.size) {
        text.data = raw + (text.data - from->raw.data);
        return text;
    }
    memcpy(*more, text.data, text.size);           /* it was decoded */
    text.data = *more;
    *more += text.size;
    return text;
}

static half *copy_event(const trace_event *from) {
    size_t args = from->arg_count * sizeof(trace_member), raw = from->raw.size + READABLE;
    size_t texts = from->name.size + from->cat.size + from->pid_text.size + from->tid_text.size;
    if (!from->raw.size) texts += from->args_text.size;
    for (size_t i = 0; i < from->arg_count && !from->raw.size; i++)
        texts += from->args[i].key.size + from->args[i].value.size;
    half *copy = allocate(sizeof *copy + args + raw + texts + READABLE);
    trace_event *e = &copy->event;
    char *text = (char *)copy->args + args, *more = text + raw;
    *e = *from;
    memcpy(text, from->raw.data, from->raw.size);
    e->raw.data = text;
    const trace_member *from_args = from->args;
    for (size_t i = 0; i < from->arg_count; i++) {
        copy->args[i].key = moved(from_args[i].key, from, text, &more);
        copy->args[i].value = moved(from_args[i].value, from, text, &more);
    }
    e->args = copy->args;
    e->args_text = moved(from->args_text, from, text, &more);
    e->name = moved(from->name, from, text, &more);
    e->cat = moved(from->cat, from, text, &more);
    e->pid_text = moved(from->pid_text, from, text, &more);
    e->tid_text = moved(from->tid_text, from, text, &more);
    e->id = e->id2 = e->bp = e->scope = (trace_text){"", 0};
    return copy;
}

/* ---- Begins ---- */

static void list_add(half_list *list, half *h) {
    h->before = list->last;
    h->after = NULL;
    *(list->last ? &list->last->after : &list->first) = h;
    list->last = h;
}

static void list_remove(half_list *list, half *h) {
    *(h->before ? &h->before->after : &list->first) = h->after;
    *(h->after ? &h->after->before : &list->last) = h->before;
}

static uint64_t key_with(uint64_t key, trace_text text) {
    return hash_mix(key * 31 + hash_bytes(text.data, text.size));
}

static half *innermost(const trace_pairs *p, uint64_t key) {
    const uint64_t *top = map_get(&p->tops, key);
    return top ? (half *)(uintptr_t)*top : NULL;
}

/* Of a range within its process. */
static uint64_t own_key(uint64_t key, const trace_event *event) {
    return hash_mix(key * 31 + (uint64_t)event->pid) | 1;
}

static half *half_of(const trace_event *event, uint64_t key) {
    half *h = copy_event(event);
    h->keys[BY_PLACE] = key;
    h->keys[KEYS] = event->phase == 'B' || event->phase == 'E' ? 0 : own_key(key, event);
    return h;
}

static void begin(trace_pairs *p, half *h) {
    for (int i = 0; i < CHAINS; i++) {
        if (i % KEYS == BY_NAME) h->keys[i] = key_with(h->keys[i - 1], h->event.name);
        if (i % KEYS == BY_CATEGORY) h->keys[i] = key_with(h->keys[i - 1], h->event.cat);
        if (!h->keys[i / KEYS * KEYS]) break;    /* of a thread */
        uint64_t *top = map_put(&p->tops, h->keys[i], NULL);
        h->outer[i] = (half *)(uintptr_t)*top;
        if (h->outer[i]) h->outer[i]->inner[i] = h;
        *top = (uintptr_t)h;
    }
    list_add(&p->open, h);
}

/* ---- Ends ---- */

/* It is open no more. */
static void close_half(trace_pairs *p, half *h, int64_t end_ns) {
    for (int i = 0; i < CHAINS && h->keys[i / KEYS * KEYS]; i++) {
        half *outer = h->outer[i], *inner = h->inner[i];
        if (outer) outer->inner[i] = inner;
        if (inner) inner->outer[i] = outer;
        else *map_get(&p->tops, h->keys[i]) = (uintptr_t)outer;
    }
    list_remove(&p->open, h);
    h->end_ns = end_ns > h->event.ts_ns ? end_ns : h->event.ts_ns;
    list_add(&p->ended, h);
}

static bool is_end(char phase) { return phase == 'E' || phase == 'e' || phase == 'F'; }

/* The begin that it ends. Where one of them has no category, the name is enough. */
static half *begin_of(const trace_pairs *p, const trace_event *end, uint64_t key) {
    uint64_t by_name = key_with(key, end->name);
    if (!end->name.size) return innermost(p, key);
    if (!end->cat.size) return innermost(p, by_name);
    half *h = innermost(p, key_with(by_name, end->cat));
    return h ? h : innermost(p, key_with(by_name, (trace_text){"", 0}));
}

/* On a thread, what is open in the begin ends with it. (Asynchronous ranges may overlap.) */
static bool end(trace_pairs *p, const trace_event *event, uint64_t key) {
    half *h = event->phase == 'E' ? NULL : begin_of(p, event, own_key(key, event));
    if (!h) h = begin_of(p, event, key);
    if (!h) return false;
    while (event->phase == 'E' && h->inner[BY_PLACE])
        close_half(p, innermost(p, key), event->ts_ns);
    close_half(p, h, event->ts_ns);
    h->end_ns = event->ts_ns;                    /* which may be before its begin */
    h->end_offset = event->offset;
    if (event->arg_count) h->end = copy_event(event);
    return true;
}

bool pairs_take(trace_pairs *p, const trace_event *event, uint64_t key) {
    if (is_end(event->phase)) return end(p, event, key);
    begin(p, half_of(event, key));
    return true;
}

/* ---- What is handed out ---- */

static trace_text join_texts(trace_pairs *p, trace_text one, trace_text other) {
    size_t size = one.size - 1;                    /* {...,...} */
    if (one.size + other.size + READABLE > p->text_capacity) {
        p->text_capacity = 2 * (one.size + other.size + READABLE);
        p->args_text = reallocate(p->args_text, p->text_capacity);
    }
    memcpy(p->args_text, one.data, size);
    p->args_text[size] = ',';
    memcpy(p->args_text + size + 1, other.data + 1, other.size - 1);
    memset(p->args_text + size + other.size, 0, READABLE);
    return (trace_text){p->args_text, size + other.size};
}

/* The arguments of an end count behind those of the begin. */
static void join_args(trace_pairs *p, trace_event *event, const trace_event *end) {
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        const trace_event *from = i ? end : event;
        const trace_member *args = from->args;
        for (size_t k = 0; k < from->arg_count; k++) {
            GROW(p->args, count, p->arg_capacity);
            p->args[count++] = args[k];
        }
    }
    event->args_text = event->arg_count ? join_texts(p, event->args_text, end->args_text)
                                        : end->args_text;
    event->args = p->args;
    event->arg_count = count;
    event->arg_bits |= end->arg_bits;
    event->has |= end->has & TRACE_HAS_ARGS;
}

static void free_half(half *h) {
    if (h) free(h->end);
    free(h);
}

bool pairs_next(trace_pairs *p, trace_event *event) {
    half *h = p->ended.first;
    free_half(p->handed);
    p->handed = h;
    if (!h) return false;
    list_remove(&p->ended, h);
    *event = h->event;
    event->is_pair = true;
    event->is_async = event->phase != 'B';
    event->phase = 'X';
    event->dur_ns = h->end_ns - event->ts_ns;
    event->has |= TRACE_HAS_DUR;
    event->end_offset = h->end_offset;
    if (h->end) join_args(p, event, &h->end->event);
    return true;
}

/* ---- Halves that do not come in the order of time ---- */

void pairs_hold(trace_pairs *p, const trace_event *event, uint64_t key) {
    GROW(p->held, p->held_count, p->held_capacity);
    p->held[p->held_count++] = half_of(event, key);
}

static int by_time_and_place(const void *one, const void *other) {
    const trace_event *a = &(*(half *const *)one)->event, *b = &(*(half *const *)other)->event;
    if (a->ts_ns != b->ts_ns) return a->ts_ns < b->ts_ns ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

uint64_t pairs_end(trace_pairs *p, int64_t end_ns, uint64_t *first) {
    uint64_t of_nothing = 0;
    if (p->held_count) qsort(p->held, p->held_count, sizeof *p->held, by_time_and_place);
    for (size_t i = 0; i < p->held_count; i++) {
        half *h = p->held[i];
        if (!is_end(h->event.phase)) {
            begin(p, h);
            continue;
        }
        if (!end(p, &h->event, h->keys[BY_PLACE]) && of_nothing++ == 0) *first = h->event.offset;
        free_half(h);
    }
    p->held_count = 0;
    while (p->open.last) close_half(p, p->open.last, end_ns);
    return of_nothing;
}

/* ---- Opening and closing ---- */

trace_pairs *pairs_open(void) {
    return allocate(sizeof(trace_pairs));
}

static void list_free(half_list *list) {
    for (half *h = list->first, *next; h; h = next) {
        next = h->after;
        free_half(h);
    }
}

void pairs_close(trace_pairs *p) {
    free_half(p->handed);
    list_free(&p->open);
    list_free(&p->ended);
    for (size_t i = 0; i < p->held_count; i++) free_half(p->held[i]);
    free(p->held);
    map_free(&p->tops);
    free(p->args);
    free(p->args_text);
    free(p);
}
