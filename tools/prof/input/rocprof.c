/* JSON of rocprofv3 as events: calls of HIP and HSA, ranges of roctx, kernels and copies. What its
   records hold is defined in source/lib/output/generateJSON.cpp and the headers of
   ROCm/rocprofiler-sdk. What names them stands in front of them. */
#include <errno.h>
#include <stdlib.h>

#include "input/event_source.h"
#include "input/json_walk.h"
#include "input/losses.h"

/* Of a record, wherever in it they stand. */
enum {
    START, END, THREAD, KIND, OPERATION, INTERNAL, KERNEL, BYTES, AGENT, QUEUE, FROM, TO, STREAM,
    FIELDS
};
static const struct { const char *key, *around; } fields[FIELDS] = {
    {"start_timestamp", NULL}, {"end_timestamp", NULL}, {"thread_id", NULL}, {"kind", NULL},
    {"operation", NULL}, {"internal", "correlation_id"}, {"kernel_id", NULL}, {"bytes", NULL},
    {"handle", "agent_id"}, {"handle", "queue_id"}, {"handle", "src_agent_id"},
    {"handle", "dst_agent_id"}, {"handle", "stream_id"}
};

typedef struct agent { int64_t number; bool is_gpu; } agent;

typedef struct rocprof {
    event_queue *to;
    json_walk walk;
    int64_t values[FIELDS];      /* of the record read now */
    uint32_t has;
    uint32_t text;               /* its name, in texts + 1 */
    int64_t pid, number, type;   /* of an agent: its own number, 2: a GPU */
    interner texts;
    map operations, kernels, ranges;         /* (kind, number) or id -> text + 1 */
    map agents;                  /* handle -> its number, and 1 << 32 for a GPU */
    int64_t gpus, odd;
    losses *losses;
    uint64_t dispatches, counted, counted_ns;    /* counted: dispatches with counters */
    uint64_t others, others_ns;  /* what else a device did */
    uint64_t byte;               /* of what is read now */
} rocprof;

/* A handle may have all 64 bits. */
static bool is_handle(trace_text value, int64_t *number) {
    char text[24] = "", *end;
    if (value.size > 20) return false;
    memcpy(text, value.data, value.size);
    errno = 0;
    *number = (int64_t)strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

static int64_t int_of(rocprof *r, const char *key, trace_text value) {
    int64_t number = 0;
    if (!json_int(value, &number) && !is_handle(value, &number))
        queue_no_number(r->to, key, walk_offset(&r->walk, value), value);
    return number;
}

/* 0: it is none. */
static uint32_t text_number(rocprof *r, const char *key, trace_text value) {
    if (!json_is_text(value)) {
        queue_odd(r->to, key, "byte", walk_offset(&r->walk, value), "is no text");
        return 0;
    }
    char *text = allocate(value.size);
    json_decode(value, text, value.size);
    uint32_t number = intern(&r->texts, text, strlen(text)) + 1;
    free(text);
    return number;
}

static const char *text_at(const rocprof *r, const map *names, uint64_t key, const char *without) {
    const uint64_t *number = map_get(names, key);
    return number && *number ? interned_text(&r->texts, (uint32_t)*number - 1) : without;
}

/* ---- Events ---- */

static uint64_t operation_key(int64_t kind, int64_t operation) {
    return hash_mix((uint64_t)kind) + (uint64_t)operation;
}

/* What the record names; NULL: it is not there, which is odd. */
static const uint64_t *named_by(rocprof *r, const map *names, int field) {
    const uint64_t *found = map_get(names, (uint64_t)r->values[field]);
    if (!found && r->has >> field & 1)
        queue_odd(r->to, fields[field].around ? fields[field].around : fields[field].key,
                  "the record that ends at byte", r->byte, "is %lld, which is not there",
                  (long long)r->values[field]);
    return found;
}

/* The device that it ran on; -1: no GPU. */
static int64_t gpu_of(rocprof *r, int field) {
    const uint64_t *found = named_by(r, &r->agents, field);
    return found && *found >> 32 ? (int64_t)(uint32_t)*found : -1;
}

static void put_event(rocprof *r, const char *category, const char *name, int64_t pid,
                      int64_t tid) {
    int64_t start = r->values[START], dur;
    if (__builtin_sub_overflow(r->values[END], start, &dur) || start < 0) {
        r->odd++;
        return;
    }
    bool marks = dur == 0 && is(category, "user_annotation");
    trace_event *event = queue_timed(r->to, marks ? 'i' : 'X', text_of(category), text_of(name),
                                     start);
    event->pid = pid;
    event->tid = tid;
    if (event->phase == 'X') queue_until(event, dur);
    else event->scope = (trace_text){"\"t\"", 3};
    queue_begin_args(r->to);
    if (!is(category, "cuda_runtime") && !is(category, "user_annotation")) {
        queue_int(r->to, "device", pid);
        queue_int(r->to, "stream", tid);
    }
    if (r->has >> BYTES & 1) queue_int(r->to, "bytes", r->values[BYTES]);
    queue_int(r->to, KEY_CORRELATION, r->values[INTERNAL]);
    queue_end_args(r->to, event);
}

static void add_unread(const rocprof *r, uint64_t *count, uint64_t *ns) {
    int64_t start = r->values[START], end = r->values[END];
    ++*count;
    *ns += end > start ? (uint64_t)end - (uint64_t)start : 0;
}

/* What its operation is called; where it has none, or the file names none, as its list is. */
static const char *operation_of(rocprof *r, const char *what) {
    uint64_t key = operation_key(r->values[KIND], r->values[OPERATION]);
    if (r->operations.count && !map_get(&r->operations, key) && r->has >> OPERATION & 1)
        queue_odd(r->to, "operation", "the record that ends at byte", r->byte,
                  "is %lld of kind %lld, which is not there", (long long)r->values[OPERATION],
                  (long long)r->values[KIND]);
    return text_at(r, &r->operations, key, what);
}

static void end_record(rocprof *r, const char *what) {
    const char *name;
    int64_t stream = r->has >> STREAM & 1 ? r->values[STREAM] : r->values[QUEUE];
    if (!(r->has >> START & 1) || !(r->has >> END & 1)) {
        r->odd++;
    } else if (is(what, "kernel_dispatch")) {
        r->dispatches++;
        named_by(r, &r->kernels, KERNEL);
        name = text_at(r, &r->kernels, (uint64_t)r->values[KERNEL], "kernel");
        put_event(r, "kernel", name, gpu_of(r, AGENT), stream);
    } else if (is(what, "memory_copy")) {
        int64_t gpu = gpu_of(r, TO);
        if (gpu < 0) gpu = gpu_of(r, FROM);
        put_event(r, "gpu_memcpy", operation_of(r, what), gpu, stream);
    } else if (is(what, "marker_api")) {
        name = text_at(r, &r->ranges, (uint64_t)r->values[INTERNAL], NULL);
        if (!name) name = operation_of(r, what);
        put_event(r, "user_annotation", name, r->pid, r->values[THREAD]);
    } else if (strstr(what, "_api")) {
        put_event(r, "cuda_runtime", operation_of(r, what), r->pid, r->values[THREAD]);
    } else if (r->has >> AGENT & 1 && !strstr(what, "memory")) {     /* which host calls ask for */
        add_unread(r, &r->others, &r->others_ns);
    }
}

/* ---- What names them ---- */

static void end_agent(rocprof *r) {
    bool is_gpu = r->type == 2;
    uint64_t number = is_gpu ? (uint64_t)r->gpus++ : 0;
    *map_put(&r->agents, (uint64_t)r->number, NULL) = number | (uint64_t)is_gpu << 32;
    if (is_gpu) queue_device(r->to, "GPU", (int64_t)number);
}

/* In an object of a list that has this name. */
static void take_name(rocprof *r, const char *list, const char *key, trace_text value) {
    const json_walk *w = &r->walk;
    if (is(list, "agents") && is(key, "type")) r->type = int_of(r, key, value);
    if (is(list, "kernel_symbols") && is(key, "kernel_id")) r->number = int_of(r, key, value);
    if (is(list, "kernel_symbols") && is(key, "formatted_kernel_name"))
        r->text = text_number(r, key, value);
    if (!is(list, "marker_api") || !is(walk_key(w, 3), "strings")) return;
    if (is(key, "key")) r->number = int_of(r, key, value);
    if (is(key, "value")) r->text = text_number(r, key, value);
}

static void end_item(rocprof *r, const char *list, const char *around) {
    if (is(list, "agents")) end_agent(r);
    else if (is(list, "kernel_symbols"))
        *map_put(&r->kernels, (uint64_t)r->number, NULL) = r->text;
    else if (is(list, "marker_api") && is(around, "strings"))
        *map_put(&r->ranges, (uint64_t)r->number, NULL) = r->text;
    else if (is(around, "buffer_records")) end_record(r, list);
    else if (is(around, "callback_records") && is(list, "counter_collection"))
        add_unread(r, &r->counted, &r->counted_ns);
}

/* Of a record, not of what is named. */
static bool in_record(const json_walk *w) {
    for (size_t up = 2; up < w->depth; up++)
        if (is(walk_key(w, up), "buffer_records")) return *walk_key(w, up - 1);
    return false;
}

static void take_field(rocprof *r, const char *key, trace_text value) {
    const char *around = walk_key(&r->walk, 1);
    for (int i = 0; i < FIELDS; i++) {
        if (!is(key, fields[i].key)) continue;
        if (fields[i].around && !is(around, fields[i].around)) continue;
        r->values[i] = json_is_text(value) && !in_record(&r->walk) ? 0 : int_of(r, key, value);
        r->has |= UINT32_C(1) << i;
    }
}

static void take(void *user, trace_text value) {
    rocprof *r = user;
    const json_walk *w = &r->walk;
    const char *key = walk_key(w, 0), *list = walk_key(w, 1);
    bool item = !*key;
    bool within = is(walk_key(w, 4), "buffer_records") || is(walk_key(w, 4), "callback_records");
    r->byte = walk_offset(w, value);
    if (*value.data == '{' && item && !within) {
        r->has = r->text = 0;
        memset(r->values, 0, sizeof r->values);
    } else if (*value.data == '}' && item) {
        end_item(r, list, walk_key(w, 2));
    } else if (is_bracket(value)) {
        return;
    } else if (item && is(list, "operations") && is(walk_key(w, 3), "buffer_records")) {
        uint64_t kind = w->levels[w->depth - 3].index, number = w->levels[w->depth - 1].index;
        *map_put(&r->operations, operation_key((int64_t)kind, (int64_t)number), NULL) =
            text_number(r, list, value);
    } else if (is(list, "metadata") && is(key, "pid")) {
        r->pid = int_of(r, key, value);
    } else if (is(key, "handle") && is(list, "id") && is(walk_key(w, 3), "agents")) {
        r->number = int_of(r, key, value);
    } else if (!item && !*list) {
        take_name(r, walk_key(w, 2), key, value);
    }
    if (!item) take_field(r, key, value);
}

/* ---- The whole ---- */

static int is_rocprof(const void *first, size_t size) {
    return json_begins_with(first, size, "rocprofiler-sdk-tool");
}

static void *open_rocprof(const source_desc *desc) {
    rocprof *r = allocate(sizeof *r);
    r->to = desc->to;
    r->walk.user = r;
    r->walk.take = take;
    r->losses = desc->losses;
    return r;
}

static void push_rocprof(void *source, const void *data, size_t size) {
    json_walk_push(&((rocprof *)source)->walk, data, size);
}

/* Where dispatches were traced those with counters are among them. */
static bool end_rocprof(void *source) {
    rocprof *r = source;
    if (!r->dispatches)
        losses_unread(r->losses, "dispatches with counters but without rocprofv3's "
                      "--kernel-trace", r->counted, r->counted_ns);
    losses_unread(r->losses, "other records of devices", r->others, r->others_ns);
    return false;
}

static bool tell_rocprof(void *source, const char *path) {
    const rocprof *r = source;
    if (r->odd) warn(path, "%lld records have no times: left out", (long long)r->odd);
    return tell_end(path, r->walk.offset, json_walk_fault(&r->walk));
}

static void close_rocprof(void *source) {
    rocprof *r = source;
    map *maps[] = {&r->operations, &r->kernels, &r->ranges, &r->agents};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    intern_free(&r->texts);
    json_walk_free(&r->walk);
    free(r);
}

const source_format rocprof_format = {
    is_rocprof, open_rocprof, push_rocprof, end_rocprof, tell_rocprof, close_rocprof
};
