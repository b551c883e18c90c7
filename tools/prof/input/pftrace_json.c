/* Perfetto's own file as JSON: see pftrace_json.h. */
#include "input/pftrace_json.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/protobuf.h"
#include "input/pftrace.h"
#include "input/trace_writer.h"

enum {
    LARGEST = 1 << 26,           /* 64 MB, one packet, */
    LARGEST_PACKED = 1 << 23,    /* 8 MB, what one packet unpacks to (Perfetto packs 512 kB) */
    MOST_JSON = 1 << 20,         /* is made before what there is was read */
    DEEPEST = 64,                /* arguments within each other, tracks below each other */
    MOST_ARGS = 256,             /* of an event */
    MOST_CLOCKS = 4,             /* of a sequence */
    FIRST_OWN_CLOCK = 64, LAST_OWN_CLOCK = 127,
    MOST_FLOWS = 64              /* of an event */
};

struct pf_clock { uint64_t id, unit, offset, last; bool incremental; };

/* What writes packets in a row of its own: texts and defaults are its. */
typedef struct sequence {
    uint64_t state;              /* a number for its texts, new when they are cleared */
    uint64_t track, clock;       /* of events that do not tell */
    struct pf_clock clocks[MOST_CLOCKS];
    size_t clock_count;
} sequence;

typedef struct slice {
    int64_t ts_ns;
    uint64_t number;             /* of all begins */
    char *text;                  /* its name and category as members, then its arguments, */
    size_t head, size;           /* which begin at head */
} slice;

typedef struct held { uint64_t number; char *text; size_t size; } held;

typedef struct track {
    uint64_t parent;
    uint32_t name;               /* in texts + 1; 0: none; of a process or thread, too */
    bool has_parent, has_process, has_thread, is_counter;
    int64_t pid, tid;
    slice *open;
    size_t depth, capacity;
    held *held;                  /* ended at held_ns: calls that end together go as they began */
    size_t held_count, held_capacity;
    int64_t held_ns;
    char *place;                 /* its row as members: "pid": 1, "tid": 2; made anew when others */
    uint64_t place_at;           /* were told of since */
    bool is_async;
} track;

typedef struct flow_point { uint32_t track; int64_t ts_ns; bool on_device; } flow_point;

typedef struct track_event {
    uint64_t type, track, flows[MOST_FLOWS];
    size_t flow_count;
    trace_text name, category;
    const pb_field *args;
    size_t arg_count;
    bool has_int, has_double, has_track;
    int64_t integer;
    double number;
} track_event;

struct pftrace_json {
    trace_writer writer;
    output scratch, nested;
    uint8_t *buffer;             /* of the file, from offset on */
    size_t size, capacity;
    uint64_t offset;
    const char *broken;          /* what is wrong at offset; NULL: nothing is */
    bool told, own_metadata, any_event, waits;
    uint64_t odd;                /* ends of nothing, arguments too many, members that are no JSON */
    sequence *sequences;
    size_t sequence_count, sequence_capacity;
    track *tracks;
    size_t track_count, track_capacity;
    flow_point *points;
    size_t point_count, point_capacity;
    map sequence_numbers, track_numbers, iids, flows;
    interner texts;
    pb_field *args;              /* of the event being read */
    size_t arg_capacity;
    uint64_t keys[MOST_ARGS];    /* of the arguments written so far */
    size_t key_count;
    uint64_t states, begins, asyncs, arrows, descriptors;
    int64_t base_ns, last_ns;
};

/* ---- Which file it is ---- */

static bool is_json_like(const char *p, const char *end) {
    while (p < end && strchr(" \n\r\t", *p)) p++;
    return p + 1 < end && (*p == '{' || *p == '[') && p[1] && strchr("\"{}[] \n\r\t", p[1]);
}

int pftrace_is(const void *first, size_t size) {
    const uint8_t *at = first, *end = at + size;
    uint64_t length;
    if (size == 0 || *at != (PF_PACKET << 3 | PB_BYTES) || is_json_like(first, (const char *)end))
        return 0;
    at++;
    int is = pb_read_varint(&at, end, &length);
    if (is != 1 || length > LARGEST || length < 2) return is == 0 ? -1 : 0;
    if (length >= (uint64_t)(end - at)) {
        bool whole = length == (uint64_t)(end - at) && pb_parses(at, (size_t)length);
        return whole ? 1 : -1;
    }
    return pb_parses(at, (size_t)length) && at[length] == (PF_PACKET << 3 | PB_BYTES);
}

/* ---- Texts and tracks ---- */

static uint64_t iid_key(const sequence *s, uint32_t kind, uint64_t iid) {
    return hash_mix((hash_mix(iid + 1) * 31 + s->state) * 31 + kind);
}

static trace_text field_text(const pb_field *f) {
    if (f->type != PB_BYTES) return (trace_text){"", 0};
    return (trace_text){(const char *)f->data, (size_t)f->value};
}

static trace_text known_text(const pftrace_json *p, uint64_t number) {
    const struct interned *entry = &p->texts.entries[number];
    return (trace_text){entry->text, entry->size};
}

static trace_text interned_of(const pftrace_json *p, const sequence *s, uint32_t kind,
                              uint64_t iid) {
    const uint64_t *number = map_get(&p->iids, iid_key(s, kind, iid));
    return number ? known_text(p, *number) : (trace_text){"", 0};
}

static void take_interned(pftrace_json *p, const sequence *s, pb_reader r) {
    pb_field list, field;
    while (pb_next(&r, &list)) {
        bool kept = list.number == PF_CATEGORY_TEXTS || list.number == PF_NAME_TEXTS ||
                    list.number == PF_KEY_TEXTS || list.number == PF_STRING_TEXTS;
        if (!kept || list.type != PB_BYTES) continue;
        pb_reader entry = pb_within(&list);
        uint64_t iid = 0;
        trace_text text = {"", 0};
        while (pb_next(&entry, &field)) {
            if (field.number == PF_IID && field.type == PB_VARINT) iid = field.value;
            if (field.number == PF_TEXT) text = field_text(&field);
        }
        *map_put(&p->iids, iid_key(s, list.number, iid), NULL) =
            intern(&p->texts, text.data, text.size);
    }
}

static uint32_t track_number(pftrace_json *p, uint64_t uuid) {
    bool is_new;
    uint64_t *number = map_put(&p->track_numbers, uuid, &is_new);
    if (!is_new) return (uint32_t)*number;
    GROW(p->tracks, p->track_count, p->track_capacity);
    p->tracks[p->track_count] = (track){.name = 0};
    return (uint32_t)(*number = p->track_count++);
}

static const track *parent_of(const pftrace_json *p, const track *t) {
    const uint64_t *number = t->has_parent ? map_get(&p->track_numbers, t->parent) : NULL;
    return number ? &p->tracks[*number] : NULL;
}

static trace_text track_name(const pftrace_json *p, const track *t) {
    return t->name ? known_text(p, t->name - 1) : (trace_text){"", 0};
}

static void write_id(output *out, bool is_number, int64_t number, trace_text text) {
    if (is_number) output_format(out, "%lld", (long long)number);
    else output_json_text(out, text.data, text.size);
}

/* Its row is that of the nearest thread around it; without one it is a row itself. */
static const char *place_of(pftrace_json *p, uint32_t number) {
    track *t = &p->tracks[number];
    const track *thread = NULL, *process = NULL, *root = t, *around = t;
    if (t->place && t->place_at == p->descriptors) return t->place;
    for (int i = 0; around && i < DEEPEST; i++, around = parent_of(p, around)) {
        if (!thread && around->has_thread) thread = around;
        if (!process && around->has_process) process = around;
        root = around;
    }
    t->is_async = !thread && text_is(track_name(p, t), PF_ASYNC_NAME);
    output_forget(&p->nested);
    output_text(&p->nested, "\"pid\": ");
    write_id(&p->nested, thread || process, thread ? thread->pid : process ? process->pid : 0,
             track_name(p, root));
    output_text(&p->nested, ", \"tid\": ");
    bool numbered = thread || t->is_async || (t->has_process && process == t);
    write_id(&p->nested, numbered, thread ? thread->tid : 0, track_name(p, t));
    size_t size;
    const char *text = output_memory(&p->nested, &size);
    t->place = reallocate(t->place, size + 1);
    memcpy(t->place, text, size);
    t->place[size] = '\0';
    t->place_at = p->descriptors;
    return t->place;
}

/* ---- Events as JSON ---- */

static void write_time(pftrace_json *p, const char *key, int64_t ns) {
    output_format(p->writer.out, ", \"%s\": ", key);
    write_us(p->writer.out, ns);
}

static void begin_json(pftrace_json *p, char phase, uint32_t number, int64_t ts_ns) {
    const char *place = place_of(p, number);
    writer_event(&p->writer);
    p->any_event = true;
    output_format(p->writer.out, "{\"ph\": \"%c\", ", phase);
    output_text(p->writer.out, place);
    write_time(p, "ts", ts_ns - p->base_ns);
}

static void write_metadata(pftrace_json *p, const char *what, const char *key, uint32_t number,
                           trace_text name) {
    if (p->own_metadata || !name.size) return;
    begin_json(p, 'M', number, p->base_ns);
    output_format(p->writer.out, ", \"name\": \"%s\", \"args\": {\"%s\": ", what, key);
    output_json_text(p->writer.out, name.data, name.size);
    output_text(p->writer.out, "}}");
}

static void take_part(pftrace_json *p, track *t, pb_reader r, bool of_thread) {
    pb_field f;
    uint32_t name_field = of_thread ? PF_THREAD_NAME : PF_PROCESS_NAME;
    while (pb_next(&r, &f)) {
        if (f.number == PF_PROCESS_PID) t->pid = (int32_t)f.value;
        if (of_thread && f.number == PF_THREAD_TID) t->tid = (int64_t)f.value;
        trace_text text = field_text(&f);
        if (f.number == name_field && text.size)
            t->name = intern(&p->texts, text.data, text.size) + 1;
    }
    if (of_thread) t->has_thread = true;
    else t->has_process = true;
}

static void take_descriptor(pftrace_json *p, pb_reader r) {
    pb_field f;
    pb_reader look = r;
    uint64_t uuid = 0;
    while (pb_next(&look, &f))
        if (f.number == PF_UUID) uuid = f.value;
    uint32_t number = track_number(p, uuid);
    track *t = &p->tracks[number];
    bool named = t->name != 0;
    while (pb_next(&r, &f)) {
        trace_text text = field_text(&f);
        if (f.number == PF_TRACK_NAME) t->name = intern(&p->texts, text.data, text.size) + 1;
        if (f.number == PF_PARENT && f.type == PB_VARINT && f.value != uuid)
            t->parent = f.value, t->has_parent = true;
        if (f.number == PF_PROCESS) take_part(p, t, pb_within(&f), false);
        if (f.number == PF_THREAD) take_part(p, t, pb_within(&f), true);
        if (f.number == PF_COUNTER) t->is_counter = true;
    }
    p->descriptors++;
    if (named || !t->name || !(t->has_thread || t->has_process)) return;
    write_metadata(p, t->has_thread ? "thread_name" : "process_name", "name", number,
                   track_name(p, t));
}

/* ---- Arguments ---- */

static void write_value(pftrace_json *p, const sequence *s, pb_reader r, int depth);

static trace_text key_of(const pftrace_json *p, const sequence *s, pb_reader r) {
    pb_field f;
    trace_text key = {"", 0};
    while (pb_next(&r, &f)) {
        if (f.number == PF_KEY_IID && f.type == PB_VARINT)
            key = interned_of(p, s, PF_KEY_TEXTS, f.value);
        if (f.number == PF_KEY) key = field_text(&f);
    }
    return key;
}

/* JSON as it stands, where it is some. */
static void write_json(pftrace_json *p, trace_text text) {
    if (json_whole(text)) output_write(&p->scratch, text.data, text.size);
    else output_json_text(&p->scratch, text.data, text.size);
}

static void write_scalar(pftrace_json *p, const sequence *s, const pb_field *f) {
    output *out = &p->scratch;
    double number;
    trace_text text = field_text(f);
    switch (f->number) {
    case PF_BOOL: output_text(out, f->value ? "true" : "false"); break;
    case PF_UINT: output_format(out, "%llu", (unsigned long long)f->value); break;
    case PF_INT: output_format(out, "%lld", (long long)f->value); break;
    case PF_DOUBLE:
        memcpy(&number, &f->value, sizeof number);
        output_double(out, number);
        break;
    case PF_STRING: output_json_text(out, text.data, text.size); break;
    case PF_STRING_IID:
        text = interned_of(p, s, PF_STRING_TEXTS, f->value);
        output_json_text(out, text.data, text.size);
        break;
    case PF_JSON: write_json(p, text); break;
    default: output_text(out, "null"); break;
    }
}

/* The entries of an object or array. */
static void write_entries(pftrace_json *p, const sequence *s, pb_reader r, uint32_t kind,
                          int depth) {
    bool dict = kind == PF_DICT, any = false;
    pb_field f;
    output_text(&p->scratch, dict ? "{" : "[");
    while (depth < DEEPEST && pb_next(&r, &f)) {
        if (f.number != kind || f.type != PB_BYTES) continue;
        if (any) output_text(&p->scratch, ", ");
        any = true;
        if (dict) {
            trace_text key = key_of(p, s, pb_within(&f));
            output_json_text(&p->scratch, key.data, key.size);
            output_text(&p->scratch, ": ");
        }
        write_value(p, s, pb_within(&f), depth + 1);
    }
    output_text(&p->scratch, dict ? "}" : "]");
}

static void write_value(pftrace_json *p, const sequence *s, pb_reader r, int depth) {
    pb_reader look = r;
    pb_field f, value = {.number = 0};
    while (pb_next(&look, &f))
        if (f.number != PF_KEY_IID && f.number != PF_KEY) value = f;
    if (value.number == PF_DICT || value.number == PF_ARRAY)
        write_entries(p, s, r, value.number, depth);
    else write_scalar(p, s, &value);
}

/* Is the key none of those written so far? */
static bool is_new_key(pftrace_json *p, trace_text key) {
    uint64_t hash = hash_bytes(key.data, key.size);
    for (size_t i = 0; i < p->key_count; i++)
        if (p->keys[i] == hash) return false;
    if (p->key_count == MOST_ARGS) return p->odd++, false;
    p->keys[p->key_count++] = hash;
    return true;
}

/* Into the scratch, behind what is there. */
static void write_args(pftrace_json *p, const sequence *s, const track_event *e) {
    for (size_t i = 0; i < e->arg_count; i++) {
        pb_reader r = pb_within(&e->args[i]);
        trace_text key = key_of(p, s, r);
        bool first = p->key_count == 0;
        if (!is_new_key(p, key)) continue;
        if (!first) output_text(&p->scratch, ", ");
        output_json_text(&p->scratch, key.data, key.size);
        output_text(&p->scratch, ": ");
        write_value(p, s, r, 0);
    }
}

/* The members that slices and instants have in common; their arguments begin at the place that is
   returned. */
static size_t write_members(pftrace_json *p, const sequence *s, const track_event *e) {
    size_t head;
    output_forget(&p->scratch);
    p->key_count = 0;
    if (e->category.size) {
        output_text(&p->scratch, ", \"cat\": ");
        output_json_text(&p->scratch, e->category.data, e->category.size);
    }
    output_text(&p->scratch, ", \"name\": ");
    output_json_text(&p->scratch, e->name.data, e->name.size);
    output_memory(&p->scratch, &head);
    write_args(p, s, e);
    return head;
}

static void write_text(output *out, const char *text, size_t head, size_t size) {
    output_write(out, text, head);
    if (size > head) {
        output_text(out, ", \"args\": {");
        output_write(out, text + head, size - head);
        output_text(out, "}");
    }
}

/* ---- Slices ---- */

static int by_number(const void *a, const void *b) {
    const held *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static void release(pftrace_json *p, uint32_t number) {
    track *t = &p->tracks[number];
    if (t->held_count > 1) qsort(t->held, t->held_count, sizeof *t->held, by_number);
    for (size_t i = 0; i < t->held_count; i++) {
        writer_event(&p->writer);
        output_write(p->writer.out, t->held[i].text, t->held[i].size);
        free(t->held[i].text);
    }
    t->held_count = 0;
}

static void begin_slice(pftrace_json *p, const sequence *s, const track_event *e, uint32_t number,
                        int64_t ts_ns) {
    size_t size, head = write_members(p, s, e);
    const char *text = output_memory(&p->scratch, &size);
    track *t = &p->tracks[number];
    GROW(t->open, t->depth, t->capacity);
    slice *new_slice = &t->open[t->depth++];
    *new_slice = (slice){ts_ns, p->begins++, allocate(size), head, size};
    memcpy(new_slice->text, text, size);
}

/* The arguments of an end stand behind those of its begin, but for keys that this has. */
static void add_args(pftrace_json *p, const sequence *s, const track_event *e, slice *from) {
    trace_text rest, key, value;
    char decoded[1024];
    size_t size;
    p->key_count = 0;
    output_forget(&p->scratch);
    output_text(&p->scratch, "{");
    output_write(&p->scratch, from->text + from->head, from->size - from->head);
    output_text(&p->scratch, "}");
    output_write(&p->scratch, (char[READABLE]){0}, READABLE);
    rest.data = output_memory(&p->scratch, &size);
    rest.size = size - READABLE;
    while (json_next(&rest, &key, &value) && p->key_count < MOST_ARGS) {
        size_t length = json_decode(key, decoded, sizeof decoded);
        is_new_key(p, (trace_text){decoded, length < sizeof decoded ? length : 0});
    }
    output_forget(&p->scratch);
    write_args(p, s, e);
    const char *text = output_memory(&p->scratch, &size);
    from->text = reallocate(from->text, from->size + size);
    if (size) memcpy(from->text + from->size, text, size);
    from->size += size;
}

static void write_async(pftrace_json *p, uint32_t number, const slice *s, int64_t end_ns) {
    unsigned long long id = ++p->asyncs;
    begin_json(p, 'b', number, s->ts_ns);
    output_format(p->writer.out, ", \"id\": %llu", id);
    write_text(p->writer.out, s->text, s->head, s->size);
    output_text(p->writer.out, "}");
    begin_json(p, 'e', number, end_ns);
    output_format(p->writer.out, ", \"id\": %llu", id);
    write_text(p->writer.out, s->text, s->head, s->head);
    output_text(p->writer.out, "}");
}

/* The whole event, kept until time goes on. */
static void hold(pftrace_json *p, uint32_t number, const slice *s, int64_t end_ns) {
    const char *place = place_of(p, number);
    track *t = &p->tracks[number];
    output *out = &p->scratch;
    size_t size;
    output_forget(out);
    output_text(out, "{\"ph\": \"X\", ");
    output_text(out, place);
    output_text(out, ", \"ts\": ");
    write_us(out, s->ts_ns - p->base_ns);
    output_text(out, ", \"dur\": ");
    write_us(out, end_ns - s->ts_ns);
    write_text(out, s->text, s->head, s->size);
    output_text(out, "}");
    const char *text = output_memory(out, &size);
    GROW(t->held, t->held_count, t->held_capacity);
    held *h = &t->held[t->held_count++];
    *h = (held){s->number, allocate(size), size};
    memcpy(h->text, text, size);
    t->held_ns = end_ns;
    p->any_event = true;
}

static void close_slice(pftrace_json *p, uint32_t number, int64_t end_ns) {
    track *t = &p->tracks[number];
    slice s = t->open[--t->depth];
    if (end_ns < s.ts_ns) end_ns = s.ts_ns;
    place_of(p, number);
    if (t->is_async) write_async(p, number, &s, end_ns);
    else hold(p, number, &s, end_ns);
    free(s.text);
}

static void end_slice(pftrace_json *p, const sequence *s, const track_event *e, uint32_t number,
                      int64_t ts_ns) {
    track *t = &p->tracks[number];
    if (!t->depth) {
        p->odd++;
        return;
    }
    if (e->arg_count) add_args(p, s, e, &t->open[t->depth - 1]);
    close_slice(p, number, ts_ns);
}

/* ---- Flows, counters, the head ---- */

static void write_arrow(pftrace_json *p, char phase, const flow_point *at) {
    begin_json(p, phase, at->track, at->ts_ns);
    output_format(p->writer.out, ", \"id\": %llu, \"cat\": \"ac2g\", \"name\": \"ac2g\"%s}",
                  (unsigned long long)p->arrows, phase == 's' ? "" : ", \"bp\": \"e\"");
}

/* From the last place of a flow to this one, or the other way round: work of a device is launched,
   the later of two is. */
static void take_flow(pftrace_json *p, uint64_t id, const flow_point *here) {
    bool is_new;
    uint64_t *number = map_put(&p->flows, id, &is_new);
    if (is_new) {
        GROW(p->points, p->point_count, p->point_capacity);
        *number = p->point_count;
        p->points[p->point_count++] = *here;
        return;
    }
    flow_point before = p->points[*number];
    bool turned = before.on_device != here->on_device ? before.on_device
                                                      : here->ts_ns < before.ts_ns;
    p->arrows++;
    write_arrow(p, 's', turned ? here : &before);
    write_arrow(p, 'f', turned ? &before : here);
    p->points[*number] = *here;
}

static void take_flows(pftrace_json *p, const track_event *e, uint32_t number, int64_t ts_ns) {
    flow_point here = {number, ts_ns, kind_is_device(trace_kind_of(e->category))};
    for (size_t i = 0; i < e->flow_count; i++) take_flow(p, e->flows[i], &here);
}

static void take_counter(pftrace_json *p, const track_event *e, uint32_t number, int64_t ts_ns) {
    trace_text name = track_name(p, &p->tracks[number]);
    if (!e->has_int && !e->has_double) return;
    begin_json(p, 'C', number, ts_ns);
    output_text(p->writer.out, ", \"name\": ");
    output_json_text(p->writer.out, name.data, name.size);
    output_text(p->writer.out, ", \"args\": {\"value\": ");
    if (e->has_int) output_format(p->writer.out, "%lld", (long long)e->integer);
    else output_double(p->writer.out, e->number);
    output_text(p->writer.out, "}}");
}

static void write_own_metadata(pftrace_json *p, trace_text list) {
    trace_text key, value;
    p->own_metadata = true;
    while (json_next(&list, &key, &value)) {
        if (*value.data != '{') continue;
        writer_event(&p->writer);
        output_write(p->writer.out, value.data, value.size);
    }
}

/* One of the members of the head that prof export wrote. events: only that one, behind them. */
static void take_member(pftrace_json *p, const sequence *s, const pb_field *annotation,
                        bool events) {
    pb_reader r = pb_within(annotation);
    trace_text key = key_of(p, s, r), value = {"", 0};
    pb_field f;
    while (pb_next(&r, &f))
        if (f.number == PF_STRING) value = field_text(&f);
    if (text_is(key, PF_HEAD_EVENTS) != events || text_is(key, "traceEvents")) return;
    if (!json_whole(value) || !is_new_key(p, key)) {
        p->odd++;
        return;
    }
    if (text_is(key, "baseTimeNanoseconds")) json_int(value, &p->base_ns);
    if (events) {
        write_own_metadata(p, value);
        return;
    }
    output_forget(&p->scratch);
    output_json_text(&p->scratch, key.data, key.size);
    size_t size;
    const char *quoted = output_memory(&p->scratch, &size);
    writer_member(&p->writer, (trace_text){quoted + 1, size - 2}, value);
}

static bool is_head(const pftrace_json *p, const track_event *e) {
    return e->type == PF_INSTANT && text_is(e->name, PF_HEAD_NAME) &&
           text_is(e->category, PF_HEAD_CATEGORY) && !p->writer.had_events;
}

static void take_instant(pftrace_json *p, const sequence *s, const track_event *e, uint32_t number,
                         int64_t ts_ns) {
    if (is_head(p, e)) {
        p->key_count = 0;
        for (size_t i = 0; i < e->arg_count; i++) take_member(p, s, &e->args[i], false);
        for (size_t i = 0; i < e->arg_count; i++) take_member(p, s, &e->args[i], true);
        return;
    }
    size_t size, head = write_members(p, s, e);
    const char *text = output_memory(&p->scratch, &size);
    begin_json(p, 'i', number, ts_ns);
    output_text(p->writer.out, ", \"s\": \"t\"");
    write_text(p->writer.out, text, head, size);
    output_text(p->writer.out, "}");
}

/* ---- Packets ---- */

static void add_arg(pftrace_json *p, track_event *e, const pb_field *f) {
    GROW(p->args, e->arg_count, p->arg_capacity);
    p->args[e->arg_count++] = *f;
    e->args = p->args;
}

static void read_event_field(pftrace_json *p, const sequence *s, track_event *e,
                             const pb_field *f) {
    switch (f->number) {
    case PF_TYPE: e->type = f->value; break;
    case PF_TRACK_UUID: e->track = f->value; break;
    case PF_NAME_IID: e->name = interned_of(p, s, PF_NAME_TEXTS, f->value); break;
    case PF_NAME: e->name = field_text(f); break;
    case PF_CATEGORY_IIDS:
        if (f->type == PB_VARINT && !e->category.size)
            e->category = interned_of(p, s, PF_CATEGORY_TEXTS, f->value);
        break;
    case PF_CATEGORIES: if (!e->category.size) e->category = field_text(f); break;
    case PF_ANNOTATION: if (f->type == PB_BYTES) add_arg(p, e, f); break;
    case PF_FLOW_IDS: case PF_FLOW_ENDS:
        if (f->type == PB_FIXED64 && e->flow_count < MOST_FLOWS)
            e->flows[e->flow_count++] = f->value;
        break;
    case PF_COUNTER_INT:
        e->has_int = true;
        e->integer = (int64_t)f->value;
        break;
    case PF_COUNTER_DOUBLE:
        e->has_double = f->type == PB_FIXED64;
        memcpy(&e->number, &f->value, sizeof e->number);
        break;
    default: break;
    }
}

static void take_event(pftrace_json *p, const sequence *s, pb_reader r, int64_t ts_ns) {
    track_event e = {.track = s->track, .name = {"", 0}, .category = {"", 0}};
    pb_field f;
    while (pb_next(&r, &f)) read_event_field(p, s, &e, &f);
    uint32_t number = track_number(p, e.track);
    if (p->tracks[number].held_count && p->tracks[number].held_ns != ts_ns) release(p, number);
    if (ts_ns > p->last_ns) p->last_ns = ts_ns;
    switch (e.type) {
    case PF_BEGIN: begin_slice(p, s, &e, number, ts_ns); break;
    case PF_END: end_slice(p, s, &e, number, ts_ns); break;
    case PF_INSTANT: take_instant(p, s, &e, number, ts_ns); break;
    case PF_COUNTED: take_counter(p, &e, number, ts_ns); break;
    default: break;
    }
    if (e.type == PF_BEGIN || e.type == PF_INSTANT) take_flows(p, &e, number, ts_ns);
}

static sequence *sequence_of(pftrace_json *p, uint64_t id) {
    bool is_new;
    uint64_t *number = map_put(&p->sequence_numbers, id, &is_new);
    if (is_new) {
        GROW(p->sequences, p->sequence_count, p->sequence_capacity);
        p->sequences[p->sequence_count] = (sequence){.state = ++p->states};
        *number = p->sequence_count++;
    }
    return &p->sequences[*number];
}

static void read_clock(pb_reader r, struct pf_clock *c) {
    pb_field f;
    *c = (struct pf_clock){.unit = 1};
    while (pb_next(&r, &f)) {
        if (f.number == PF_CLOCK_ID) c->id = f.value;
        if (f.number == PF_CLOCK_TIME) c->last = f.value;
        if (f.number == PF_CLOCK_INCREMENTAL) c->incremental = f.value;
        if (f.number == PF_CLOCK_UNIT && f.value) c->unit = f.value;
    }
}

/* How the clocks of a sequence stand to that of the trace. */
static void take_clocks(sequence *s, pb_reader r) {
    pb_reader look = r;
    pb_field f;
    struct pf_clock c;
    uint64_t now = 0;
    while (pb_next(&look, &f)) {
        if (f.number != PF_CLOCKS) continue;
        read_clock(pb_within(&f), &c);
        if (c.id == PF_BOOTTIME || (!now && c.id < FIRST_OWN_CLOCK)) now = c.last;
    }
    s->clock_count = 0;
    while (pb_next(&r, &f)) {
        if (f.number != PF_CLOCKS || s->clock_count == MOST_CLOCKS) continue;
        read_clock(pb_within(&f), &c);
        c.offset = now - c.last * c.unit;
        bool own = c.id >= FIRST_OWN_CLOCK && c.id <= LAST_OWN_CLOCK;
        if (own) s->clocks[s->clock_count++] = c;
    }
}

static int64_t trace_time(sequence *s, uint64_t time, uint64_t id) {
    for (size_t i = 0; i < s->clock_count; i++) {
        struct pf_clock *c = &s->clocks[i];
        if (c->id != id) continue;
        c->last = c->incremental ? c->last + time : time;
        return (int64_t)(c->offset + c->last * c->unit);
    }
    return (int64_t)time;
}

static void take_defaults(sequence *s, pb_reader r) {
    pb_field f, g;
    while (pb_next(&r, &f)) {
        if (f.number == PF_DEFAULT_CLOCK) s->clock = f.value;
        if (f.number != PF_DEFAULT_EVENT) continue;
        for (pb_reader event = pb_within(&f); pb_next(&event, &g); )
            if (g.number == PF_TRACK_UUID) s->track = g.value;
    }
}

static void take_packets(pftrace_json *p, pb_reader r, bool packed);

/* Packets that are packed by zlib, one list of them. */
static void take_compressed(pftrace_json *p, const pb_field *f) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)f->data, .avail_in = (uInt)f->value};
    size_t room = 1 << 16;
    int code = inflateInit(&z);
    uint8_t *to = NULL;
    for (; code == Z_OK && room <= LARGEST_PACKED; room *= 2) {
        to = reallocate(to, room + READABLE);
        z.next_out = to + z.total_out;
        z.avail_out = (uInt)(room - z.total_out);
        code = inflate(&z, Z_NO_FLUSH);
        if (code == Z_OK && z.avail_out) break;
    }
    p->odd += code != Z_STREAM_END;
    if (to) memset(to + z.total_out, 0, READABLE);
    take_packets(p, (pb_reader){to, to ? to + z.total_out : to, false}, true);
    inflateEnd(&z);
    free(to);
}

static void take_packet(pftrace_json *p, pb_reader r, bool packed) {
    pb_field f, event = {.number = 0}, interned = event, defaults = event, snapshot = event;
    uint64_t time = 0, id = 0, flags = 0, clock = UINT64_MAX;
    for (pb_reader look = r; pb_next(&look, &f); ) {
        switch (f.number) {
        case PF_TIMESTAMP: time = f.value; break;
        case PF_SEQUENCE: id = f.value; break;
        case PF_FLAGS: flags |= f.value; break;
        case PF_CLEARED: flags |= f.value ? PF_STATE_CLEARED : 0; break;
        case PF_CLOCK: clock = f.value; break;
        case PF_TRACK_EVENT: event = f; break;
        case PF_INTERNED: interned = f; break;
        case PF_DEFAULTS: defaults = f; break;
        case PF_CLOCK_SNAPSHOT: snapshot = f; break;
        case PF_TRACK: take_descriptor(p, pb_within(&f)); break;
        case PF_COMPRESSED: if (!packed && f.type == PB_BYTES) take_compressed(p, &f); break;
        default: break;
        }
    }
    sequence *s = sequence_of(p, id);
    if (flags & PF_STATE_CLEARED) {
        s->state = ++p->states;
        s->track = s->clock = 0;
    }
    if (interned.number) take_interned(p, s, pb_within(&interned));
    if (defaults.number) take_defaults(s, pb_within(&defaults));
    if (snapshot.number) take_clocks(s, pb_within(&snapshot));
    if (event.number)
        take_event(p, s, pb_within(&event),
                   trace_time(s, time, clock == UINT64_MAX ? s->clock : clock));
}

static void take_packets(pftrace_json *p, pb_reader r, bool packed) {
    pb_field f;
    while (pb_next(&r, &f))
        if (f.number == PF_PACKET && f.type == PB_BYTES) take_packet(p, pb_within(&f), packed);
}

/* ---- The file ---- */

/* The next field of the file that is whole; false: there is none yet, or what is here is none. */
static bool next_whole(pftrace_json *p, const uint8_t **at, const uint8_t *end, pb_field *f) {
    const uint8_t *next = *at;
    uint64_t tag = 0, length = 0;
    int is = pb_read_varint(&next, end, &tag);
    if (is == 1 && (tag & 7) == PB_BYTES) is = pb_read_varint(&next, end, &length);
    if (length > LARGEST) p->broken = "a packet of more than 64 MB";
    else if (is < 0) p->broken = "this is no packet";
    if (is != 1 || p->broken || length > (uint64_t)(end - next)) return false;
    pb_reader r = {*at, end, false};
    bool whole = pb_next(&r, f);
    if (!whole && end - *at > 20) p->broken = "this is no packet";
    if (whole) *at = r.at;
    return whole;
}

pftrace_json *pftrace_json_open(output *out) {
    pftrace_json *p = allocate(sizeof *p);
    writer_begin(&p->writer, out, false);
    output_open_memory(&p->scratch);
    output_open_memory(&p->nested);
    return p;
}

void pftrace_json_push(pftrace_json *p, const void *data, size_t size) {
    pb_field f;
    if (p->broken) return;
    if (p->capacity - p->size < size) {
        p->capacity = 2 * (p->size + size);
        p->buffer = reallocate(p->buffer, p->capacity + READABLE);
    }
    memcpy(p->buffer + p->size, data, size);
    p->size += size;
    memset(p->buffer + p->size, 0, READABLE);
    const uint8_t *at = p->buffer, *end = at + p->size;
    while (!(p->waits = p->writer.out->text_size > MOST_JSON) && next_whole(p, &at, end, &f))
        if (f.number == PF_PACKET && f.type == PB_BYTES) take_packet(p, pb_within(&f), false);
    p->offset += (uint64_t)(at - p->buffer);
    p->size = (size_t)(end - at);
    memmove(p->buffer, at, p->size);
}

bool pftrace_json_waits(const pftrace_json *p) { return p->waits; }

void pftrace_json_end(pftrace_json *p) {
    if (p->size && !p->broken) p->broken = "the file ends early";
    for (uint32_t i = 0; i < p->track_count; i++) {
        if (p->tracks[i].depth && p->tracks[i].held_ns != p->last_ns) release(p, i);
        while (p->tracks[i].depth) close_slice(p, i, p->last_ns);
        release(p, i);
    }
    writer_end(&p->writer);
}

bool pftrace_json_tell(pftrace_json *p, const char *path) {
    bool told = p->told;
    p->told = true;
    if (p->broken && !told)
        warn(path, "byte %llu: %s; read up to there", (unsigned long long)p->offset, p->broken);
    if (p->odd && !told)
        warn(path, "%llu ends of nothing, arguments and members that make no sense: left out",
             (unsigned long long)p->odd);
    return p->broken != NULL;
}

void pftrace_json_free(pftrace_json *p) {
    for (size_t i = 0; i < p->track_count; i++) {
        track *t = &p->tracks[i];
        while (t->depth) free(t->open[--t->depth].text);
        while (t->held_count) free(t->held[--t->held_count].text);
        free(t->open);
        free(t->held);
        free(t->place);
    }
    output_discard(&p->scratch);
    output_discard(&p->nested);
    free(p->buffer);
    free(p->sequences);
    free(p->tracks);
    free(p->points);
    map_free(&p->sequence_numbers);
    map_free(&p->track_numbers);
    map_free(&p->iids);
    map_free(&p->flows);
    intern_free(&p->texts);
    free(p->args);
    free(p);
}
