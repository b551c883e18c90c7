/* Begins and ends as complete events: see trace_pairs.h. */
#include "input/trace_pairs.h"

#include <stdlib.h>
#include <string.h>


/* A begin that waits for its end; behind it in memory are its arguments and texts. */
typedef struct open_event {
    trace_event event;
    struct open_event *outer;    /* what is open around it */
    struct open_event *before, *after;       /* among all, as they came */
    trace_member args[];
} open_event;

struct trace_pairs {
    open_event *first, *last;
    map tops;                    /* thread, or asynchronous range -> its innermost open_event */
    open_event *handed;          /* the event handed out last */
    trace_member *args;          /* its arguments, where both ends have some */
    char *args_text;             /* and their text */
    size_t arg_capacity, text_capacity;
    int64_t last_ns;             /* latest moment of the trace so far */
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

static open_event *copy_event(const trace_event *from) {
    size_t args = from->arg_count * sizeof(trace_member), raw = from->raw.size + READABLE;
    size_t texts = from->name.size + from->cat.size + from->pid_text.size + from->tid_text.size;
    if (!from->raw.size) texts += from->args_text.size;
    for (size_t i = 0; i < from->arg_count && !from->raw.size; i++)
        texts += from->args[i].key.size + from->args[i].value.size;
    open_event *copy = allocate(sizeof *copy + args + raw + texts + READABLE);
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

/* ---- Pairs ---- */

static void begin(trace_pairs *p, const trace_event *event, uint64_t key) {
    open_event *new_event = copy_event(event);
    uint64_t *top = map_put(&p->tops, key, NULL);
    new_event->outer = (open_event *)(uintptr_t)*top;
    *top = (uintptr_t)new_event;
    new_event->before = p->last;
    if (p->last) p->last->after = new_event;
    else p->first = new_event;
    p->last = new_event;
}

/* Makes a complete event of it, until end_ns. */
static void hand_out(trace_pairs *p, trace_event *event, open_event *o, int64_t end_ns) {
    *(o->before ? &o->before->after : &p->first) = o->after;
    *(o->after ? &o->after->before : &p->last) = o->before;
    *event = o->event;
    event->is_pair = true;
    event->is_async = o->event.phase == 'b';
    event->phase = 'X';
    event->dur_ns = end_ns > o->event.ts_ns ? end_ns - o->event.ts_ns : 0;
    event->has |= TRACE_HAS_DUR;
    p->handed = o;
}

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

static pair_result end(trace_pairs *p, trace_event *event, uint64_t key) {
    trace_event end_event = *event;
    uint64_t *top = map_get(&p->tops, key);
    open_event *o = top ? (open_event *)(uintptr_t)*top : NULL;
    if (!o) return PAIR_NO_BEGIN;
    *top = (uintptr_t)o->outer;
    hand_out(p, event, o, end_event.ts_ns);
    event->end_offset = end_event.offset;
    if (end_event.arg_count) join_args(p, event, &end_event);
    return PAIR_WHOLE;
}

trace_pairs *pairs_open(void) {
    return allocate(sizeof(trace_pairs));
}

pair_result pairs_take(trace_pairs *p, trace_event *event, uint64_t key) {
    if (event->ts_ns + event->dur_ns > p->last_ns) p->last_ns = event->ts_ns + event->dur_ns;
    free(p->handed);
    p->handed = NULL;
    switch (event->phase) {
    case 'B': case 'b': begin(p, event, key); return PAIR_KEPT;
    case 'E': case 'e': return end(p, event, key);
    default: return PAIR_WHOLE;
    }
}

bool pairs_left(trace_pairs *p, trace_event *event) {
    free(p->handed);
    p->handed = NULL;
    if (!p->first) return false;
    hand_out(p, event, p->first, p->last_ns);
    return true;
}

void pairs_close(trace_pairs *p) {
    free(p->handed);
    while (p->first) {
        open_event *next = p->first->after;
        free(p->first);
        p->first = next;
    }
    map_free(&p->tops);
    free(p->args);
    free(p->args_text);
    free(p);
}
