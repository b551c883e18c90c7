/* Begins and ends as complete events: see trace_pairs.h. */
#include "trace_pairs.h"

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
    size_t arg_capacity;
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
    open_event *copy = allocate(sizeof *copy + args + raw + texts);
    trace_event *e = &copy->event;
    char *text = (char *)copy->args + args, *more = text + raw;
    *e = *from;
    memcpy(text, from->raw.data, from->raw.size);
    e->raw.data = text;
    for (size_t i = 0; i < from->arg_count; i++) {
        copy->args[i].key = moved(from->args[i].key, from, text, &more);
        copy->args[i].value = moved(from->args[i].value, from, text, &more);
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

/* What begin and end have in common: the thread; or category, id and, but for ids that processes
   share, the process. */
static uint64_t key_of(const trace_event *event) {
    uint64_t key = hash_mix((uint64_t)event->pid + 1);
    trace_text id = event->id, rest = event->id2, name, value;
    if (event->phase == 'B' || event->phase == 'E')
        return hash_mix(key * 31 + (uint64_t)event->tid) | 1;
    while (json_next(&rest, &name, &value)) {
        if (text_is(name, "global")) key = 0;
        id = value;
    }
    key = (key ^ hash_bytes(id.data, id.size)) * 31;
    return hash_mix(key + hash_bytes(event->cat.data, event->cat.size)) & ~(uint64_t)1;
}

static void begin(trace_pairs *p, const trace_event *event) {
    open_event *new_event = copy_event(event);
    uint64_t *top = map_put(&p->tops, key_of(event), NULL);
    new_event->outer = (open_event *)(uintptr_t)*top;
    *top = (uintptr_t)new_event;
    new_event->before = p->last;
    if (p->last) p->last->after = new_event;
    else p->first = new_event;
    p->last = new_event;
}

/* Makes the reader's event of it, until end_ns. */
static void hand_out(trace_pairs *p, trace_reader *r, open_event *o, int64_t end_ns) {
    *(o->before ? &o->before->after : &p->first) = o->after;
    *(o->after ? &o->after->before : &p->last) = o->before;
    r->event = o->event;
    r->event.is_pair = true;
    r->event.is_async = o->event.phase == 'b';
    r->event.phase = 'X';
    r->event.kind = trace_kind_of(o->event.cat);
    r->event.dur_ns = end_ns > o->event.ts_ns ? end_ns - o->event.ts_ns : 0;
    r->event.has |= TRACE_HAS_DUR;
    p->handed = o;
}

/* The arguments of an end count behind those of the begin. */
static void join_args(trace_pairs *p, trace_event *event, const trace_event *end) {
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        const trace_event *from = i ? end : event;
        for (size_t k = 0; k < from->arg_count; k++) {
            GROW(p->args, count, p->arg_capacity);
            p->args[count++] = from->args[k];
        }
    }
    event->args = p->args;
    event->arg_count = count;
    event->has |= end->has & TRACE_HAS_ARGS;
}

static bool end(trace_pairs *p, trace_reader *r) {
    trace_event event = r->event;
    uint64_t *top = map_get(&p->tops, key_of(&event));
    open_event *o = top ? (open_event *)(uintptr_t)*top : NULL;
    if (!o) {
        if (r->defects[TRACE_NO_BEGIN]++ == 0) r->first_defect[TRACE_NO_BEGIN] = event.offset;
        return false;
    }
    *top = (uintptr_t)o->outer;
    hand_out(p, r, o, event.ts_ns);
    r->event.end_offset = event.offset;
    if (event.arg_count) join_args(p, &r->event, &event);
    return true;
}

trace_pairs *pairs_open(void) {
    return allocate(sizeof(trace_pairs));
}

bool pairs_take(trace_pairs *p, trace_reader *r) {
    const trace_event *event = &r->event;
    if (event->ts_ns + event->dur_ns > p->last_ns) p->last_ns = event->ts_ns + event->dur_ns;
    free(p->handed);
    p->handed = NULL;
    switch (event->phase) {
    case 'B': case 'b': begin(p, event); return false;
    case 'E': case 'e': return end(p, r);
    default: return true;
    }
}

bool pairs_left(trace_pairs *p, trace_reader *r) {
    free(p->handed);
    p->handed = NULL;
    if (!p->first) return false;
    hand_out(p, r, p->first, p->last_ns);
    if (r->defects[TRACE_NO_END]++ == 0) r->first_defect[TRACE_NO_END] = r->event.offset;
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
    free(p);
}
