/* Ascend's communication.json as kernels: the collectives of each step with their begin and length,
   and what they waited, moved and over which links. It is defined by class CommunicationParser in
   torch_npu/profiler/analysis of Ascend/pytorch:
   {step: {"collective" or "p2p": {"hcom_NAME__GROUP_NUMBER_...@...": {
       "Communication Time Info": {"Start Timestamp(us)", "Elapse Time(ms)", ...},
       "Communication Bandwidth Info": {LINK: {"Transit Size(MB)", ...}}}}}} */
#include <stdlib.h>

#include "input/event_source.h"
#include "input/json_scan.h"
#include "input/json_walk.h"

enum { OPS = 3, NO_STREAM = 65535 };             /* OPS: levels around a collective's object */

typedef struct communication {
    event_queue *to;
    json_walk walk;
    bool has_start, has_length, is_odd;          /* is_odd: it was told why */
    int64_t start_ns, ns;
    uint64_t without;            /* those without a time */
} communication;

static void begin_collective(communication *c) {
    c->has_start = c->has_length = c->is_odd = false;
    queue_begin_args(c->to);
    queue_int(c->to, "device", 0);
    queue_int(c->to, "stream", NO_STREAM);
}

/* What is behind the `@` is the group once more. Sums of all have no begin. */
static void end_collective(communication *c, const char *key) {
    trace_text name = {key, strcspn(key, "@")};
    if (strncmp(key, "Total", 5) == 0) return;
    if (!c->has_start || !c->has_length) {
        c->without += !c->is_odd;
        return;
    }
    trace_event *event = queue_timed(c->to, 'X', text_of("kernel"), queue_clean(c->to, name),
                                     c->start_ns);
    event->pid = 0;
    event->tid = NO_STREAM;
    queue_until(event, c->ns);
    queue_end_args(c->to, event);
}

/* A null is not there. */
static bool number_of(communication *c, const char *key, trace_text value,
                      bool (*read)(trace_text value, int64_t *number), int64_t *number) {
    if (text_is(value, "null")) return false;
    if (read(value, number)) return true;
    queue_no_number(c->to, key, walk_offset(&c->walk, value), value);
    c->is_odd = true;
    return false;
}

static void put_number(communication *c, const char *link, const char *key, trace_text value) {
    char text[256 + READABLE] = "";
    int64_t ns;
    if (!number_of(c, key, value, json_ns_of_ms, &ns) || (*link && !ns)) return;
    snprintf(text, 256, "\"%s%s%s\"", link, *link ? " " : "", key);
    trace_text quoted = text_of(text);
    if (!json_whole(quoted) || !json_whole(value)) return;   /* control characters, .5, ... */
    output_write(queue_arg(c->to, unquoted(quoted)), value.data, value.size);
}

static bool take_length(communication *c, const char *key, trace_text value) {
    if (!number_of(c, key, value, json_ns_of_ms, &c->ns)) return false;
    c->is_odd |= c->ns < 0;
    return queue_fits(c->to, key, "byte", walk_offset(&c->walk, value), c->ns, INT64_MAX);
}

static void take(void *user, trace_text value) {
    communication *c = user;
    const json_walk *w = &c->walk;
    const char *key = walk_key(w, 0), *around = walk_key(w, 1);
    if (w->depth == OPS && *value.data == '{') begin_collective(c);
    else if (w->depth == OPS && *value.data == '}') end_collective(c, key);
    if (is_bracket(value) || w->depth < OPS + 2) return;
    if (w->depth == OPS + 2 && is(around, "Communication Time Info")) {
        if (is(key, "Start Timestamp(us)"))
            c->has_start = number_of(c, key, value, json_ns, &c->start_ns);
        else if (is(key, "Elapse Time(ms)")) c->has_length = take_length(c, key, value);
        else put_number(c, "", key, value);
    }
    if (w->depth == OPS + 3 && is(walk_key(w, 2), "Communication Bandwidth Info") &&
        (is(key, "Transit Size(MB)") || is(key, "Transit Time(ms)")))
        put_number(c, around, key, value);
}

/* ---- The whole ---- */

/* Its first key is a step's; communication_matrix.json, which has no times, begins so, too. */
static int is_communication(const void *bytes, size_t size) {
    static const char step[] = "step";
    const char *p = bytes, *end = p + size, *quote = memchr(p, '"', size);
    if (*p != '{' || !quote) return *p == '{' && size < 1 << 10 ? -1 : 0;
    size_t left = (size_t)(end - quote) - 1, length = sizeof step - 1;
    if (memcmp(quote + 1, step, left < length ? left : length) != 0) return 0;
    return json_mentions(p, size, "\"Communication Time Info\"") ? 1 : -1;
}

static void *open_communication(const source_desc *desc) {
    communication *c = allocate(sizeof *c);
    c->to = desc->to;
    c->walk.user = c;
    c->walk.take = take;
    return c;
}

static void push_communication(void *source, const void *data, size_t size) {
    json_walk_push(&((communication *)source)->walk, data, size);
}

static bool tell_communication(void *source, const char *path) {
    const communication *c = source;
    if (c->without)
        warn(path, "%llu collectives have no begin or length: left out",
             (unsigned long long)c->without);
    return tell_end(path, c->walk.offset, json_walk_fault(&c->walk));
}

static void close_communication(void *source) {
    communication *c = source;
    json_walk_free(&c->walk);
    free(c);
}

const source_format ascend_json_format = {
    is_communication, open_communication, push_communication, NULL, tell_communication,
    close_communication
};
