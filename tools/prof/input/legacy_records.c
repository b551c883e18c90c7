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
#include "library.h"

#include <stdlib.h>
#include <string.h>


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
    return !strcmp(text, "[memory]") || !strcmp(text, "[OutOfMemory]") || is_utility_name(text);
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

static void put_us(FILE *out, int64_t ns) {
    char text[US_TEXT];
    us_text(ns, text);
    fputs(text, out);
}

static void write_json(FILE *out, const char *key, trace_text value) {
    fprintf(out, ",\"%s\":", key);
    fwrite(value.data, 1, value.size, out);
}

static void write_int(FILE *out, const char *key, int64_t value) {
    fprintf(out, ",\"%s\":%lld", key, (long long)value);
}

/* Numbers, and lists of them; what else stands there is no shape and is left out. */
static void write_shapes(FILE *out, trace_text json, int depth) {
    trace_text rest = json, key, value;
    const char *between = "";
    int64_t n = 0;
    fputs("[", out);
    while (json_next(&rest, &key, &value)) {
        bool list = *value.data == '[';
        if (list ? depth == 3 : !json_int(value, &n)) continue;
        fputs(between, out);
        if (list) write_shapes(out, value, depth + 1);
        else fprintf(out, "%lld", (long long)n);
        between = ",";
    }
    fputs("]", out);
}

/* Frames of the profiler and of the engine. PyTorch: _filter_stack_entry() */
static bool is_own_frame(trace_text entry) {
    char text[1024];
    json_decode(entry, text, sizeof text);
    return is_machinery_entry(text);
}

static void write_stack(FILE *out, trace_text json) {
    trace_text rest = json, key, value;
    const char *before = ",\"" PROF_KEY_STACK "\":\"";
    if (!json.size || *json.data != '[') return;
    while (json_next(&rest, &key, &value)) {
        if (!json_is_text(value) || is_own_frame(value)) continue;
        fputs(before, out);
        fwrite(value.data + 1, 1, value.size - 2, out);
        before = ";";
    }
    if (*before == ';') fputs("\"", out);
}

/* Up to its arguments' first member. */
static void write_head(stream *s, FILE *out, const record *r, char phase, const char *name,
                       int64_t ns) {
    fprintf(out, ",\n{\"ph\":\"%c\",\"cat\":\"%s\",\"name\":", phase,
            phase == 'i' ? "cpu_instant_event" : "cpu_op");
    if (name) fprintf(out, "\"%s\"", name);
    else fwrite(r->name.data, 1, r->name.size, out);
    write_int(out, "pid", r->node >= 0 ? r->node : 0);
    write_int(out, "tid", r->thread);
    fputs(",\"ts\":", out);
    put_us(out, ns - s->start_ns);
}

static void write_carried(FILE *out, const record *push) {
    if (push->shapes.size && *push->shapes.data == '[') {
        fputs(",\"" PROF_KEY_SHAPES "\":", out);
        write_shapes(out, push->shapes, 1);
    }
    if (json_is_text(push->overload)) write_json(out, PROF_KEY_OVERLOAD, push->overload);
    write_stack(out, push->stack);
    if (push->has_sequence) {
        write_int(out, PROF_KEY_SEQUENCE, push->sequence);
        write_int(out, PROF_KEY_FWD_THREAD, push->fwd_thread);
    }
    if (push->has_scope) write_int(out, "Scope", push->scope);
    if (push->has_flops) write_int(out, PROF_KEY_FLOPS, push->flops);
    if (push->node >= 0) write_int(out, PROF_KEY_NODE, push->node);
}

/* FunctionEvent's fields of this name: bytes with those of the children. */
static void write_memory(FILE *out, const piece *p) {
    write_int(out, "cpu_memory_usage", p->cpu_bytes);
    write_int(out, "device_memory_usage", p->cuda_bytes);
    fputs(",\"is_legacy\":true}}", out);
}

/* The range's one kernel, which covers those of its children. */
static void write_kernel(FILE *out, const record *push, const record *pop) {
    if (!push->has_cuda || !push->has_cuda_t || pop->cuda_t <= push->cuda_t) return;
    write_json(out, "kernels", (trace_text){"[[", 2});
    fwrite(push->name.data, 1, push->name.size, out);
    fprintf(out, ",%lld,", (long long)push->device);
    put_us(out, pop->cuda_t - push->cuda_t);
    fputs("]]", out);
}

static void write_range(stream *s, FILE *out, const piece *p, size_t number) {
    record push, pop;
    read_record(p->begin, &push);
    read_record(p->end, &pop);
    write_head(s, out, &push, p->is_async ? 'b' : 'X', NULL, p->start_ns);
    if (p->is_async) {
        write_int(out, "id", (int64_t)number);
    } else {
        fputs(",\"dur\":", out);
        put_us(out, p->end_ns - p->start_ns);
    }
    fprintf(out, ",\"args\":{\"" PROF_KEY_EXTERNAL_ID "\":%lld", (long long)pop.handle);
    write_carried(out, &push);
    if (push.is_remote || pop.is_remote) fputs(",\"is_remote\":true", out);
    if (!p->is_async) write_kernel(out, &push, &pop);
    write_memory(out, p);
    if (!p->is_async) return;
    write_head(s, out, &push, 'e', NULL, p->end_ns);
    write_int(out, "id", (int64_t)number);
    fputs("}", out);
}

static void write_change(stream *s, FILE *out, const record *r, int type, int64_t bytes) {
    if (!bytes) return;
    write_head(s, out, r, 'i', "[memory]", r->t);
    fprintf(out, ",\"s\":\"t\",\"args\":{\"" PROF_KEY_DEVICE_TYPE "\":%d,\""
                 PROF_KEY_DEVICE_INDEX "\":%lld,\"" PROF_KEY_BYTES "\":%lld,\"is_legacy\":true}}",
            type, type ? (long long)r->device : -1, (long long)bytes);
}

static void write_changes(stream *s, FILE *out, const piece *p) {
    record r;
    read_record(p->begin, &r);
    write_change(s, out, &r, PROF_DEVICE_CPU, p->cpu_bytes);
    write_change(s, out, &r, PROF_DEVICE_CUDA, p->cuda_bytes);
    if (!p->is_free) return;
    r.thread = 0;                /* as in PyTorch; the moment above has the time */
    write_head(s, out, &r, 'X', "[memory]", s->start_ns);
    fputs(",\"dur\":0.000,\"args\":{\"" PROF_KEY_EXTERNAL_ID "\":0", out);
    write_memory(out, p);
}

static bool piece_before(uint32_t a, uint32_t b, const void *context) {
    const piece *pieces = context, *x = &pieces[a], *y = &pieces[b];
    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->end_ns > y->end_ns;
}

static void write_pieces(stream *s, FILE *out) {
    uint32_t *order = sorted_numbers(s->count, piece_before, s->pieces);
    for (size_t i = 0; i < s->count; i++) {
        const piece *p = &s->pieces[order[i]];
        if (p->end.size) write_range(s, out, p, i);
        else write_changes(s, out, p);
    }
    free(order);
}

/* ---- The whole ---- */

static void tell_left_out(const stream *s, const char *path) {
    if (!s->has_start && s->any)
        warn(path, "no record is named __start_profile: times are since the first record");
    if (s->odd + s->lone_pops + s->open)
        warn(path, "left out: %llu pops without a push, %llu pushes that nothing ends, %llu that "
             "are no records (of no known kind, without a time, or of wrong types)",
             (unsigned long long)s->lone_pops, (unsigned long long)s->open,
             (unsigned long long)s->odd);
}

char *legacy_trace(const char *path, trace_text lists, trace_text device, size_t padding,
                   size_t *size) {
    stream s = {.count = 0};
    trace_text list;
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out) exit(fail(NULL, "out of memory"));
    while (next_list(&lists, &list)) take_list(&s, list);
    fputs("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\"", out);
    if (json_is_text(device)) write_json(out, "use_device", device);
    fputs(",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"tid\":0,"
          "\"ts\":0,\"args\":{\"labels\":\"CPU\"}}", out);
    write_pieces(&s, out);
    fputs("\n]}\n", out);
    for (size_t i = 0; i < padding; i++) fputc(0, out);
    if (fclose(out) != 0) exit(fail(NULL, "out of memory"));
    *size -= padding;
    tell_left_out(&s, path);
    free(s.pieces);
    free(s.states);
    return text;
}
