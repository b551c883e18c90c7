/* Legacy record streams as traces: see legacy_records.h. A record is a JSON object:
       kind       "mark", "push", "pop" or "memory_alloc"
       name       of a push; the mark __start_profile is time zero
       handle, node_id     what a pop has in common with its push
       t, thread_id        microseconds; where it was made
       shapes, stack, sequence_nr, fwd_thread_id, scope, flops, overload_name      of a push
       has_cuda, device, cuda_t     the device's clock in us: a range has one kernel, from the
                                    push's to the pop's, which covers those of its children
       cpu_memory_usage, cuda_memory_usage     bytes of a memory_alloc
       is_async, is_remote
   Only what is open and what is to be written are held, as places in the text. */
#include "input/legacy_records.h"

#include <stdlib.h>
#include <string.h>

#include "input/json_mend.h"
#include "library.h"
#include "../../../examples/kineto.h"


enum kind { KIND_NONE, KIND_MARK, KIND_PUSH, KIND_POP, KIND_MEMORY };

typedef struct record {
    enum kind kind;
    trace_text name, shapes, stack, overload;               /* JSON texts; size 0: none */
    int64_t handle, node, thread, t, device, cuda_t, cpu_bytes, cuda_bytes;
    int64_t sequence, fwd_thread, scope, flops;
    bool has_handle, has_node, has_thread, has_t, has_device, has_cuda_t, has_cpu_bytes,
        has_cuda_bytes, has_sequence, has_fwd_thread, has_scope, has_flops;
    bool has_cuda, is_async, is_remote;
} record;

/* What will be an event: a range, or a change of memory (end.size 0). */
typedef struct piece {
    int64_t start_ns, end_ns, cpu_bytes, cuda_bytes;
    trace_text begin, end;       /* the records */
    bool is_async, is_free;      /* is_free: memory outside of every range */
} piece;

/* What is known of one handle in one list. */
typedef struct handle_state {
    trace_text push;             /* size 0: nothing is open */
    int64_t cpu_before, cuda_before;         /* allocated in the list before it began */
    bool filtered;
} handle_state;

typedef struct stream {
    event_queue *to;
    bool cut;                    /* the file ends within it */
    mended mended;               /* the arguments of an event, as JSON */
    uint32_t *order;             /* of the pieces */
    size_t next;
    piece *pieces;
    size_t count, capacity;
    int64_t start_ns;
    bool has_start, any;
    /* of one list */
    interner keys;
    handle_state *states;
    size_t state_capacity, open_count;
    int64_t cpu_bytes, cuda_bytes;           /* allocated so far */
    trace_text push_before;                  /* the name, if the record before was a push; */
    int64_t node_before;
    bool was_push;
    /* what was left out */
    uint64_t odd, lone_pops, open;
} stream;

/* ---- One record ---- */

typedef enum field_type { FIELD_JSON, FIELD_INT, FIELD_US, FIELD_FLAG } field_type;
#define FIELD(key, type, field) {key, type, offsetof(record, field), 0}
#define NUMBER(key, type, field) {key, type, offsetof(record, field), offsetof(record, has_##field)}

static const struct { const char *key; field_type type; size_t at, has; } fields[] = {
    FIELD("name", FIELD_JSON, name), FIELD("shapes", FIELD_JSON, shapes),
    FIELD("input_shapes", FIELD_JSON, shapes), FIELD("stack", FIELD_JSON, stack),
    FIELD("overload_name", FIELD_JSON, overload), NUMBER("handle", FIELD_INT, handle),
    NUMBER("node_id", FIELD_INT, node), NUMBER("thread_id", FIELD_INT, thread),
    NUMBER("t", FIELD_US, t), NUMBER("device", FIELD_INT, device),
    NUMBER("cuda_t", FIELD_US, cuda_t), NUMBER("cpu_memory_usage", FIELD_INT, cpu_bytes),
    NUMBER("cuda_memory_usage", FIELD_INT, cuda_bytes),
    NUMBER("sequence_nr", FIELD_INT, sequence), NUMBER("fwd_thread_id", FIELD_INT, fwd_thread),
    NUMBER("fwd_thread", FIELD_INT, fwd_thread), NUMBER("scope", FIELD_INT, scope),
    NUMBER("flops", FIELD_INT, flops), FIELD("has_cuda", FIELD_FLAG, has_cuda),
    FIELD("is_async", FIELD_FLAG, is_async), FIELD("is_remote", FIELD_FLAG, is_remote)
};

/* false: it is of another type than the field. */
static bool read_field(record *r, size_t number, trace_text value) {
    char *at = (char *)r + fields[number].at;
    int64_t *integer = (int64_t *)(void *)at;
    if (text_is(value, "null")) return true;
    switch (fields[number].type) {
    case FIELD_JSON: *(trace_text *)(void *)at = value; return true;
    case FIELD_FLAG:
        *(bool *)at = text_is(value, "true");
        return *(bool *)at || text_is(value, "false");
    case FIELD_US:
        if (!json_ns(value, integer)) return false;
        break;
    default:
        if (!json_int(value, integer)) return false;
    }
    *((bool *)r + fields[number].has) = true;
    return *integer > INT64_MIN / 4 && *integer < INT64_MAX / 4;     /* so that differences fit */
}

static enum kind kind_of(trace_text value) {
    static const char *const names[] = {"\"mark\"", "\"push\"", "\"pop\"", "\"memory_alloc\""};
    for (int i = 0; i < 4; i++)
        if (text_is(value, names[i])) return (enum kind)(KIND_MARK + i);
    return KIND_NONE;
}

/* false: it is no record of these kinds, or one that lacks what its kind needs. */
static bool read_record(trace_text text, record *r) {
    trace_text rest = text, key, value;
    bool good = true;
    memset(r, 0, sizeof *r);
    r->node = -1;
    if (!text.size || *text.data != '{') return false;
    while (json_next(&rest, &key, &value)) {
        if (text_is(key, "kind")) r->kind = kind_of(value);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (text_is(key, fields[i].key)) good = read_field(r, i, value) && good;
    }
    if (!r->name.size) r->name = (trace_text){"\"\"", 2};
    return good && r->kind != KIND_NONE && r->has_t && json_is_text(r->name);
}

static bool same_text(trace_text a, trace_text b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* ---- The next element of an array, or as much of it as there is in a file that ends early ---- */

static bool next_list(trace_text *rest, trace_text *list) {
    trace_text key;
    if (json_next(rest, &key, list)) return true;
    const char *p = rest->data, *end = rest->data + rest->size;
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t' || *p == ',')) p++;
    if (p == rest->data && p < end && *p == '[') p++;          /* the first element */
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    *rest = (trace_text){end, 0};
    *list = (trace_text){p, (size_t)(end - p)};
    return p < end && *p == '[';
}

/* ---- Ranges. PyTorch: _parse_legacy_records() ---- */

static bool is_utility(trace_text name) {
    char text[48];
    if (json_decode(name, text, sizeof text) >= sizeof text) return false;
    return !strcmp(text, "[memory]") || !strcmp(text, "[OutOfMemory]") || kineto_is_utility(text);
}

static handle_state *state_of(stream *s, const record *r) {
    const int64_t key[2] = {r->handle, r->node};
    size_t before = s->keys.count;
    uint32_t number = intern(&s->keys, (const char *)key, sizeof key);
    if (s->keys.count > before) {
        GROW(s->states, number, s->state_capacity);
        s->states[number] = (handle_state){.filtered = false};
    }
    return &s->states[number];
}

/* Is it to be skipped: of a utility, of a range that was skipped, a push right after one of its
   name (wrappers and redispatch log twice)? */
static bool is_filtered(stream *s, const record *r, handle_state *state) {
    bool twice = r->kind == KIND_PUSH && s->was_push && r->node == s->node_before &&
                 same_text(r->name, s->push_before);
    state->filtered |= twice || is_utility(r->name);
    return state->filtered;
}

static piece *add_piece(stream *s) {
    GROW(s->pieces, s->count, s->capacity);
    memset(&s->pieces[s->count], 0, sizeof *s->pieces);
    return &s->pieces[s->count++];
}

static void take_push(stream *s, trace_text text, handle_state *state) {
    if (state->push.size) s->open++;         /* the one before never ended */
    else s->open_count++;
    state->push = text;
    state->cpu_before = s->cpu_bytes;
    state->cuda_before = s->cuda_bytes;
}

static void take_pop(stream *s, const record *pop, trace_text text, handle_state *state) {
    record push;
    if (!state->push.size) {
        s->lone_pops++;
        return;
    }
    read_record(state->push, &push);
    s->open_count--;
    if (push.t > pop->t) {
        s->odd++;
    } else {
        *add_piece(s) = (piece){push.t, pop->t, s->cpu_bytes - state->cpu_before,
                     s->cuda_bytes - state->cuda_before, state->push, text,
                     push.is_async || push.thread != pop->thread, false};
    }
    state->push.size = 0;
}

/* Every range that is open has it; outside of all it is an event of its own. */
static void take_memory(stream *s, const record *r, trace_text text) {
    if (s->open_count && !r->cpu_bytes && !r->cuda_bytes) return;
    int64_t at = s->open_count ? r->t : INT64_MIN;
    *add_piece(s) = (piece){at, at, r->cpu_bytes, r->cuda_bytes, text, {"", 0}, false,
                            !s->open_count};
    s->cpu_bytes += r->cpu_bytes;
    s->cuda_bytes += r->cuda_bytes;
}

static void take_record(stream *s, trace_text text, const record *r) {
    handle_state *state = state_of(s, r);
    if (is_filtered(s, r, state)) return;
    if (r->kind == KIND_PUSH) take_push(s, text, state);
    else if (r->kind == KIND_POP) take_pop(s, r, text, state);
    else if (r->kind == KIND_MEMORY) take_memory(s, r, text);
    s->was_push = r->kind == KIND_PUSH;
    s->push_before = r->name;
    s->node_before = r->node;
}

/* Time zero: that of the first __start_profile; without one, of the earliest record. */
static void note_start(stream *s, const record *r) {
    bool is_mark = text_is(r->name, "\"__start_profile\"");
    if (s->has_start || (!is_mark && s->any && r->t >= s->start_ns)) return;
    s->start_ns = r->t;
    s->has_start = is_mark;
    s->any = true;
}

static void take_list(stream *s, trace_text list) {
    trace_text key, text;
    record r;
    if (!list.size || *list.data != '[') {
        s->odd++;
        return;
    }
    s->open_count = 0;
    s->cpu_bytes = s->cuda_bytes = 0;
    s->was_push = false;
    while (json_next(&list, &key, &text)) {
        if (!read_record(text, &r)) {
            s->odd++;
            continue;
        }
        note_start(s, &r);
        take_record(s, text, &r);
    }
    s->open += s->open_count;
    intern_free(&s->keys);
}

/* ---- Events ---- */

static void write_json(output *out, const char *key, trace_text value) {
    output_format(out, ",\"%s\":", key);
    output_write(out, value.data, value.size);
}

static void write_int(output *out, const char *key, int64_t value) {
    output_format(out, ",\"%s\":%lld", key, (long long)value);
}

/* Numbers, and lists of them; what else stands there is no shape and is left out. */
static void write_shapes(output *out, trace_text json, int depth) {
    trace_text rest = json, key, value;
    const char *between = "";
    int64_t n = 0;
    output_text(out, "[");
    while (json_next(&rest, &key, &value)) {
        bool list = *value.data == '[';
        if (list ? depth == 3 : !json_int(value, &n)) continue;
        output_text(out, between);
        if (list) write_shapes(out, value, depth + 1);
        else output_format(out, "%lld", (long long)n);
        between = ",";
    }
    output_text(out, "]");
}

/* Frames of the profiler and of the engine. PyTorch: _filter_stack_entry() */
static bool is_own_frame(trace_text entry) {
    char text[1024];
    json_decode(entry, text, sizeof text);
    return kineto_is_own_frame(text);
}

static void write_stack(output *out, trace_text json) {
    trace_text rest = json, key, value;
    const char *before = ",\"" KEY_STACK "\":\"";
    if (!json.size || *json.data != '[') return;
    while (json_next(&rest, &key, &value)) {
        if (!json_is_text(value) || is_own_frame(value)) continue;
        output_text(out, before);
        output_write(out, value.data + 1, value.size - 2);
        before = ";";
    }
    if (*before == ';') output_text(out, "\"");
}

/* Its name is the record's, or this one. */
static trace_event *add_event(stream *s, const record *r, char phase, const char *name,
                              int64_t ns) {
    static const trace_text op = {"cpu_op", 6}, instant = {"cpu_instant_event", 17};
    trace_text text = name ? text_of(name) : queue_decoded(s->to, r->name);
    trace_event *event = queue_timed(s->to, phase, phase == 'i' ? instant : op, text,
                                     ns - s->start_ns);
    event->pid = r->node >= 0 ? r->node : 0;
    event->tid = r->thread;
    return event;
}

/* Texts of the file may be no JSON. */
static void end_args(stream *s, trace_event *event) {
    trace_text text;
    output_text(&s->to->args, "}");
    text.data = output_memory(&s->to->args, &text.size);
    s->mended.size = 0;
    json_mend(&s->mended, text);
    queue_args(s->to, event, (trace_text){s->mended.data, s->mended.size});
}

static void write_carried(output *out, const record *push) {
    if (push->shapes.size && *push->shapes.data == '[') {
        output_text(out, ",\"" KEY_SHAPES "\":");
        write_shapes(out, push->shapes, 1);
    }
    if (json_is_text(push->overload)) write_json(out, KEY_OVERLOAD, push->overload);
    write_stack(out, push->stack);
    if (push->has_sequence) {
        write_int(out, KEY_SEQUENCE, push->sequence);
        write_int(out, KEY_FWD_THREAD, push->fwd_thread);
    }
    if (push->has_scope) write_int(out, "Scope", push->scope);
    if (push->has_flops) write_int(out, KEY_FLOPS, push->flops);
    if (push->node >= 0) write_int(out, KEY_NODE, push->node);
}

/* FunctionEvent's fields of this name: bytes with those of the children. */
static void end_with_memory(stream *s, trace_event *event, const piece *p) {
    write_int(&s->to->args, "cpu_memory_usage", p->cpu_bytes);
    write_int(&s->to->args, "device_memory_usage", p->cuda_bytes);
    output_text(&s->to->args, ",\"is_legacy\":true");
    end_args(s, event);
}

/* The range's one kernel, which covers those of its children. */
static void write_kernel(output *out, const record *push, const record *pop) {
    if (!push->has_cuda || !push->has_cuda_t || pop->cuda_t <= push->cuda_t) return;
    write_json(out, "kernels", (trace_text){"[[", 2});
    output_write(out, push->name.data, push->name.size);
    output_format(out, ",%lld,", (long long)push->device);
    write_us(out, pop->cuda_t - push->cuda_t);
    output_text(out, "]]");
}

static void put_range(stream *s, const piece *p, int64_t number) {
    record push, pop;
    read_record(p->begin, &push);
    read_record(p->end, &pop);
    trace_event *event = add_event(s, &push, p->is_async ? 'b' : 'X', NULL, p->start_ns);
    if (p->is_async) queue_id(s->to, event, number);
    else queue_until(event, p->end_ns - p->start_ns);
    output *out = queue_begin_args(s->to);
    output_format(out, "\"" KEY_EXTERNAL_ID "\":%lld", (long long)pop.handle);
    write_carried(out, &push);
    if (push.is_remote || pop.is_remote) output_text(out, ",\"is_remote\":true");
    if (!p->is_async) write_kernel(out, &push, &pop);
    end_with_memory(s, event, p);
    if (p->is_async) queue_id(s->to, add_event(s, &push, 'e', NULL, p->end_ns), number);
}

static void put_change(stream *s, const record *r, int type, int64_t bytes) {
    if (!bytes) return;
    trace_event *event = add_event(s, r, 'i', "[memory]", r->t);
    event->scope = (trace_text){"\"t\"", 3};
    output_format(queue_begin_args(s->to), "\"" KEY_DEVICE_TYPE "\":%d,\""
                  KEY_DEVICE_INDEX "\":%lld,\"" KEY_BYTES "\":%lld,\"is_legacy\":true",
                  type, type ? (long long)r->device : -1, (long long)bytes);
    end_args(s, event);
}

static void put_changes(stream *s, const piece *p) {
    record r;
    read_record(p->begin, &r);
    put_change(s, &r, PROF_DEVICE_CPU, p->cpu_bytes);
    put_change(s, &r, PROF_DEVICE_CUDA, p->cuda_bytes);
    if (!p->is_free) return;
    r.thread = 0;                /* as in PyTorch; the moment above has the time */
    trace_event *event = add_event(s, &r, 'X', "[memory]", s->start_ns);
    queue_until(event, 0);
    output_text(queue_begin_args(s->to), "\"" KEY_EXTERNAL_ID "\":0");
    end_with_memory(s, event, p);
}

static bool piece_before(uint32_t a, uint32_t b, const void *context) {
    const piece *pieces = context, *x = &pieces[a], *y = &pieces[b];
    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->end_ns > y->end_ns;
}

/* ---- The whole ---- */

static void put_head(stream *s, trace_text device) {
    queue_member(s->to, text_of("schemaVersion"), text_of("1"));
    queue_member(s->to, text_of("displayTimeUnit"), text_of("\"ms\""));
    s->mended.size = 0;
    if (json_is_text(device)) {
        json_mend(&s->mended, device);
        queue_member(s->to, text_of("use_device"), (trace_text){s->mended.data, s->mended.size});
    }
    trace_event *event = queue_timed(s->to, 'M', (trace_text){NULL, 0}, text_of("process_labels"),
                                     0);
    queue_args(s->to, event, text_of("{\"labels\":\"CPU\"}"));
}

void *legacy_open(event_queue *to, trace_text lists, trace_text device, bool cut) {
    stream *s = allocate(sizeof *s);
    trace_text list;
    s->to = to;
    s->cut = cut;
    while (next_list(&lists, &list)) take_list(s, list);
    s->order = sorted_numbers(s->count, piece_before, s->pieces);
    put_head(s, device);
    return s;
}

static bool put_pieces(void *source) {
    enum { SOME = 200 };
    stream *s = source;
    for (int i = 0; i < SOME && s->next < s->count; i++, s->next++) {
        const piece *p = &s->pieces[s->order[s->next]];
        if (p->end.size) put_range(s, p, (int64_t)s->next);
        else put_changes(s, p);
    }
    return s->next < s->count;
}

static bool tell_left_out(void *source, const char *path) {
    const stream *s = source;
    if (!s->has_start && s->any)
        warn(path, "no record is named __start_profile: times are since the first record");
    if (s->odd + s->lone_pops + s->open)
        warn(path, "left out: %llu pops without a push, %llu pushes that nothing ends, %llu that "
             "are no records (of no known kind, without a time, or of wrong types)",
             (unsigned long long)s->lone_pops, (unsigned long long)s->open,
             (unsigned long long)s->odd);
    return s->cut;
}

static void close_stream(void *source) {
    stream *s = source;
    free(s->mended.data);
    free(s->pieces);
    free(s->states);
    free(s->order);
    free(s);
}

const source_format legacy_format = {
    .end = put_pieces, .tell = tell_left_out, .close = close_stream
};
