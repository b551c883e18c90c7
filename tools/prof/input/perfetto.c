/* Perfetto's own file (.pftrace) as events: slices, instants, counters and flows of track events,
   of any program. What it has of other kinds is counted and told. The packets of several writers
   stand in a file as they came: so events are kept, as their bytes, until all are there, then
   sorted by time. The names of tracks are known then, wherever they stood. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/protobuf.h"
#include "input/event_source.h"
#include "input/losses.h"
#include "input/pftrace.h"

enum {
    LARGEST = 1 << 26,           /* 64 MB, one packet, */
    LARGEST_PACKED = 1 << 23,    /* 8 MB, what one packet unpacks to (Perfetto packs 512 kB) */
    DEEPEST = 64,                /* arguments within each other, tracks below each other */
    MOST_ARGS = 256,             /* of an event */
    MOST_CLOCKS = 4,             /* of a sequence */
    FIRST_OWN_CLOCK = 64, LAST_OWN_CLOCK = 127,
    MOST_FLOWS = 64              /* of an event */
};
#define NO_ENTRY UINT32_MAX

struct pf_clock { uint64_t id, unit, offset, last; bool incremental; };

/* What writes packets in a row of its own: texts and defaults are its. */
typedef struct sequence {
    uint32_t state;              /* a number for its texts, new when they are cleared */
    uint64_t track, clock;       /* of events that do not tell */
    struct pf_clock clocks[MOST_CLOCKS];
    size_t clock_count;
} sequence;

typedef struct track_id { int64_t number; trace_text text; } track_id;

typedef struct track {
    uint64_t parent;
    uint32_t name;               /* in texts + 1; 0: none; of a process or thread, too */
    bool has_parent, has_process, has_thread;
    int64_t pid, tid;
    uint32_t open;               /* the innermost slice that is open; NO_ENTRY */
    bool is_placed, is_async;
    track_id process, thread;    /* its row */
} track;

/* An event as it stands in the file. */
typedef struct entry {
    int64_t ts_ns;
    const uint8_t *data;
    uint32_t size, state, track;
    uint32_t other;              /* of a begin: its end, and while it is open the one around it */
    uint8_t type;
} entry;

typedef struct flow_point { uint32_t track; int64_t ts_ns; bool on_device; } flow_point;

typedef struct track_event {
    uint64_t type, track, flows[MOST_FLOWS];
    size_t flow_count;
    trace_text name, category;
    const pb_field *args;
    size_t arg_count;
    bool has_int, has_double;
    int64_t integer;
    double number;
    const char *odd, *why;       /* a field of it that cannot be so; NULL: there is none */
} track_event;

/* What else packets hold; of ftrace each event counts. */
static const struct { uint32_t field; const char *name; } kinds[] = {
    {1, "events of ftrace"}, {5, "bundles of Chrome's old events"}, {7, "system statistics"},
    {37, "heap profiles"}, {38, "battery counters"}, {39, "pieces of Android's log"},
    {40, "power rails"}, {52, "GPU counters"}, {54, "streams of CPU samples"},
    {56, "heap graphs"}, {57, "graphics frames"}, {66, "CPU samples"}, {68, "memory maps"},
    {73, "memory snapshots"}, {76, "frame timelines"}
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct perfetto {
    event_queue *to;
    output *args;                /* of the queue */
    uint8_t *buffer;             /* of the file, from offset on */
    size_t size, capacity;
    uint64_t offset;
    const char *broken;          /* what is wrong at offset; NULL: nothing is */
    uint64_t packet;             /* where that begins which is read now */
    bool own_metadata, has_head;
    uint64_t odd;                /* ends of nothing, arguments too many, members that are no JSON */
    uint64_t others[KINDS];
    losses *losses;
    uint64_t stages, stages_ns;  /* of GPUs: device time */
    sequence *sequences;
    size_t sequence_count, sequence_capacity;
    track *tracks;
    size_t track_count, track_capacity;
    entry *entries;
    size_t entry_count, entry_capacity;
    arena memory;                /* their bytes */
    uint32_t *order;             /* of them, by time; NULL: not all are there */
    size_t next;                 /* to be made */
    flow_point *points;
    size_t point_count, point_capacity;
    map sequence_numbers, track_numbers, iids, flows;
    interner texts;
    pb_field *fields;            /* arguments of the event being read */
    size_t field_capacity;
    uint64_t keys[MOST_ARGS];    /* of the arguments written so far */
    size_t key_count;
    uint32_t states;
    int64_t asyncs, arrows;
    int64_t base_ns, last_ns;
} perfetto;

/* ---- Which file it is ---- */

static bool is_json_like(const char *p, const char *end) {
    while (p < end && strchr(" \n\r\t", *p)) p++;
    return p + 1 < end && (*p == '{' || *p == '[') && p[1] && strchr("\"{}[] \n\r\t", p[1]);
}

/* A packet tells its time, its writer or what it holds, and no field is of another type than there:
   pprof's profiles and XLA's planes begin with a field 1, too. */
static bool is_packet(const uint8_t *data, size_t size) {
    static const uint8_t types[] = {
        [1] = PB_BYTES, [2] = PB_BYTES, [4] = PB_BYTES, [5] = PB_BYTES, [6] = PB_BYTES,
        [7] = PB_BYTES, [9] = PB_BYTES, [11] = PB_BYTES, [12] = PB_BYTES, [13] = PB_VARINT,
        [PF_DEFAULTS] = PB_BYTES, [PF_TRACK] = PB_BYTES
    };
    pb_reader r = {data, data + size, false};
    pb_field f;
    bool known = false;
    while (pb_next(&r, &f)) {
        bool told = f.number < sizeof types && (types[f.number] || f.number < 14 ||
                                                f.number == PF_CLOCK);
        if (told && f.type != types[f.number]) return false;
        known |= told || (f.number == PF_COMPRESSED && f.type == PB_BYTES);
    }
    return known && !r.bad;
}

/* A Perfetto file begins with 0x0A, as a JSON file may. */
static int is_perfetto(const void *first, size_t size) {
    const uint8_t *at = first, *end = at + size;
    uint64_t length;
    if (size == 0 || *at != (PF_PACKET << 3 | PB_BYTES) || is_json_like(first, (const char *)end))
        return 0;
    at++;
    int is = pb_read_varint(&at, end, &length);
    if (is != 1 || length > LARGEST || length < 2) return is == 0 ? -1 : 0;
    if (length > (uint64_t)(end - at)) return -1;
    return is_packet(at, (size_t)length);
}

/* ---- Texts and tracks ---- */

static uint64_t iid_key(uint32_t state, uint32_t kind, uint64_t iid) {
    return hash_mix((hash_mix(iid + 1) * 31 + state) * 31 + kind);
}

static trace_text field_text(const pb_field *f) {
    if (f->type != PB_BYTES) return (trace_text){"", 0};
    return (trace_text){(const char *)f->data, (size_t)f->value};
}

static trace_text known_text(const perfetto *p, uint64_t number) {
    const struct interned *text = &p->texts.entries[number];
    return (trace_text){text->text, text->size};
}

/* What the packet that is read now has cannot be so. */
static void odd_in(perfetto *p, const char *field, const char *what) {
    queue_odd(p->to, field, "the packet at byte", p->packet, "%s", what);
}

static void check(perfetto *p, const char *message, const pb_reader *r) {
    if (r->bad) odd_in(p, message, "ends within a field");
}

/* data NULL: there is no such text. */
static trace_text interned_of(const perfetto *p, uint32_t state, uint32_t kind, uint64_t iid) {
    const uint64_t *number = map_get(&p->iids, iid_key(state, kind, iid));
    return number ? known_text(p, *number) : (trace_text){NULL, 0};
}

static void take_interned(perfetto *p, uint32_t state, pb_reader r) {
    pb_field list, field;
    while (pb_next(&r, &list)) {
        bool kept = list.number == PF_CATEGORY_TEXTS || list.number == PF_NAME_TEXTS ||
                    list.number == PF_KEY_TEXTS || list.number == PF_STRING_TEXTS;
        if (!kept || list.type != PB_BYTES) continue;
        pb_reader one = pb_within(&list);
        uint64_t iid = 0;
        trace_text text = {"", 0};
        while (pb_next(&one, &field)) {
            if (field.number == PF_IID && field.type == PB_VARINT) iid = field.value;
            if (field.number == PF_TEXT) text = field_text(&field);
        }
        check(p, "interned data", &one);
        *map_put(&p->iids, iid_key(state, list.number, iid), NULL) =
            intern_clean(&p->texts, text);
    }
    check(p, "interned data", &r);
}

static uint32_t track_number(perfetto *p, uint64_t uuid) {
    bool is_new;
    uint64_t *number = map_put(&p->track_numbers, uuid, &is_new);
    if (!is_new) return (uint32_t)*number;
    GROW(p->tracks, p->track_count, p->track_capacity);
    p->tracks[p->track_count] = (track){.open = NO_ENTRY};
    return (uint32_t)(*number = p->track_count++);
}

static const track *parent_of(const perfetto *p, const track *t) {
    const uint64_t *number = t->has_parent ? map_get(&p->track_numbers, t->parent) : NULL;
    return number ? &p->tracks[*number] : NULL;
}

static trace_text track_name(const perfetto *p, const track *t) {
    return t->name ? known_text(p, t->name - 1) : (trace_text){"", 0};
}

/* A name, where there is no number. */
static track_id id_of_name(trace_text name) {
    track_id id = {0, {NULL, 0}};
    if (json_int(name, &id.number)) return id;
    return (track_id){trace_text_id(name), name};
}

/* Its row is that of the nearest thread around it; without one it is a row itself. */
static track *placed(perfetto *p, uint32_t number) {
    track *t = &p->tracks[number];
    const track *thread = NULL, *process = NULL, *root = t, *around = t;
    if (t->is_placed) return t;
    for (int i = 0; around && i < DEEPEST; i++, around = parent_of(p, around)) {
        if (!thread && around->has_thread) thread = around;
        if (!process && around->has_process) process = around;
        root = around;
    }
    if (around)
        queue_odd(p->to, "parent_uuid", "the track of number", number,
                  "leads back to it, or is more than %d deep", DEEPEST);
    trace_text name = track_name(p, t);
    t->is_placed = true;
    t->is_async = !thread && text_is(name, PF_ASYNC_NAME);
    if (thread) process = thread;
    t->process = process ? (track_id){process->pid, {NULL, 0}} : id_of_name(track_name(p, root));
    bool numbered = thread || t->is_async || (t->has_process && process == t);
    t->thread = numbered ? (track_id){thread ? thread->tid : 0, {NULL, 0}} : id_of_name(name);
    return t;
}

static void take_part(perfetto *p, track *t, pb_reader r, bool of_thread) {
    pb_field f;
    uint32_t name_field = of_thread ? PF_THREAD_NAME : PF_PROCESS_NAME;
    while (pb_next(&r, &f)) {
        if (pb_is_number(&f, PF_PROCESS_PID)) t->pid = (int32_t)f.value;
        if (of_thread && pb_is_number(&f, PF_THREAD_TID)) t->tid = (int64_t)f.value;
        trace_text text = field_text(&f);
        if (f.number == name_field && text.size) t->name = intern_clean(&p->texts, text) + 1;
    }
    check(p, "track descriptor", &r);
    if (of_thread) t->has_thread = true;
    else t->has_process = true;
}

static void take_descriptor(perfetto *p, pb_reader r) {
    pb_field f;
    pb_reader look = r;
    uint64_t uuid = 0;
    while (pb_next(&look, &f))
        if (pb_is_number(&f, PF_UUID)) uuid = f.value;
    uint32_t number = track_number(p, uuid);
    track *t = &p->tracks[number];
    while (pb_next(&r, &f)) {
        if (f.number == PF_TRACK_NAME) t->name = intern_clean(&p->texts, field_text(&f)) + 1;
        if (f.number == PF_PARENT && f.type == PB_VARINT && f.value != uuid)
            t->parent = f.value, t->has_parent = true;
        if (f.number == PF_PROCESS) take_part(p, t, pb_within(&f), false);
        if (f.number == PF_THREAD) take_part(p, t, pb_within(&f), true);
    }
    check(p, "track descriptor", &r);
}

/* ---- Arguments ---- */

static void write_value(perfetto *p, uint32_t state, pb_reader r, int depth);

static trace_text key_of(perfetto *p, uint32_t state, pb_reader r) {
    pb_field f;
    trace_text key = {"", 0};
    while (pb_next(&r, &f)) {
        if (pb_is_number(&f, PF_KEY_IID)) key = interned_of(p, state, PF_KEY_TEXTS, f.value);
        if (f.number == PF_KEY) key = field_text(&f);
    }
    p->odd += r.bad || !key.data;
    return key.data ? key : (trace_text){"", 0};
}

/* JSON as it stands, where it is some. */
static void write_json(perfetto *p, trace_text text) {
    if (json_whole(text)) output_write(p->args, text.data, text.size);
    else output_json_text(p->args, text.data, text.size);
}

static void write_scalar(perfetto *p, uint32_t state, const pb_field *f) {
    output *out = p->args;
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
        text = interned_of(p, state, PF_STRING_TEXTS, f->value);
        p->odd += !text.data;
        output_json_text(out, text.data ? text.data : "", text.size);
        break;
    case PF_JSON: write_json(p, text); break;
    default: output_text(out, "null"); break;
    }
}

/* The entries of an object or array. */
static void write_entries(perfetto *p, uint32_t state, pb_reader r, uint32_t kind,
                          int depth) {
    bool dict = kind == PF_DICT, any = false;
    pb_field f;
    output_text(p->args, dict ? "{" : "[");
    p->odd += depth == DEEPEST;
    while (depth < DEEPEST && pb_next(&r, &f)) {
        if (f.number != kind || f.type != PB_BYTES) continue;
        if (any) output_text(p->args, ", ");
        any = true;
        if (dict) {
            trace_text key = key_of(p, state, pb_within(&f));
            output_json_text(p->args, key.data, key.size);
            output_text(p->args, ": ");
        }
        write_value(p, state, pb_within(&f), depth + 1);
    }
    output_text(p->args, dict ? "}" : "]");
}

static void write_value(perfetto *p, uint32_t state, pb_reader r, int depth) {
    pb_reader look = r;
    pb_field f, value = {.number = 0};
    while (pb_next(&look, &f))
        if (f.number != PF_KEY_IID && f.number != PF_KEY) value = f;
    if (value.number == PF_DICT || value.number == PF_ARRAY)
        write_entries(p, state, r, value.number, depth);
    else write_scalar(p, state, &value);
}

/* Is the key none of those written so far? */
static bool is_new_key(perfetto *p, trace_text key) {
    uint64_t hash = hash_bytes(key.data, key.size);
    for (size_t i = 0; i < p->key_count; i++)
        if (p->keys[i] == hash) return false;
    if (p->key_count == MOST_ARGS) return p->odd++, false;
    p->keys[p->key_count++] = hash;
    return true;
}

/* Behind those that are written already. */
static void write_args(perfetto *p, uint32_t state, const track_event *e) {
    for (size_t i = 0; i < e->arg_count; i++) {
        pb_reader r = pb_within(&e->args[i]);
        trace_text key = key_of(p, state, r);
        bool first = p->key_count == 0;
        if (!is_new_key(p, key)) continue;
        if (!first) output_text(p->args, ", ");
        output_json_text(p->args, key.data, key.size);
        output_text(p->args, ": ");
        write_value(p, state, r, 0);
    }
}

/* ---- Events ---- */

static trace_event *add_event(perfetto *p, char phase, uint32_t number, int64_t ts_ns,
                              trace_text category, trace_text name) {
    const track *t = placed(p, number);
    trace_text cat = category.size ? queue_clean(p->to, category) : (trace_text){NULL, 0};
    trace_event *event = queue_timed(p->to, phase, cat, queue_clean(p->to, name),
                                     ts_ns - p->base_ns);
    event->pid = t->process.number;
    event->pid_text = t->process.text;
    event->tid = t->thread.number;
    event->tid_text = t->thread.text;
    return event;
}

static void begin_args(perfetto *p) {
    p->args = queue_begin_args(p->to);
    p->key_count = 0;
}

static void put_name(perfetto *p, uint32_t number) {
    const track *t = &p->tracks[number];
    const char *what = t->has_thread ? "thread_name" : "process_name";
    trace_text name = track_name(p, t);
    if (!name.size || !(t->has_thread || t->has_process)) return;
    trace_event *event = add_event(p, 'M', number, p->base_ns, (trace_text){NULL, 0},
                                   (trace_text){what, strlen(what)});
    begin_args(p);
    output_text(p->args, "\"name\": ");
    output_json_text(p->args, name.data, name.size);
    queue_end_args(p->to, event);
}

static void read_entry(perfetto *p, const entry *from, track_event *e);

/* A slice, whose end has arguments too, but for keys that its begin has. */
static void put_slice(perfetto *p, const entry *begin, track_event *e) {
    const entry *end = begin->other == NO_ENTRY ? NULL : &p->entries[begin->other];
    int64_t end_ns = end ? end->ts_ns : p->last_ns;
    bool async = placed(p, begin->track)->is_async;
    trace_event *event = add_event(p, async ? 'b' : 'X', begin->track, begin->ts_ns, e->category,
                                   e->name);
    if (async) queue_id(p->to, event, ++p->asyncs);
    else queue_until(event, end_ns - begin->ts_ns);
    begin_args(p);
    write_args(p, begin->state, e);
    track_event last = {.name = {"", 0}};
    if (end) read_entry(p, end, &last);
    if (end) write_args(p, end->state, &last);
    queue_end_args(p->to, event);
    if (async)
        queue_id(p->to, add_event(p, 'e', begin->track, end_ns, e->category, e->name), p->asyncs);
}

static void put_instant(perfetto *p, const entry *from, track_event *e) {
    trace_event *event = add_event(p, 'i', from->track, from->ts_ns, e->category, e->name);
    event->scope = (trace_text){"\"t\"", 3};
    begin_args(p);
    write_args(p, from->state, e);
    queue_end_args(p->to, event);
}

static void put_arrow(perfetto *p, char phase, const flow_point *at) {
    static const trace_text arrow = {"ac2g", 4};
    trace_event *event = add_event(p, phase, at->track, at->ts_ns, arrow, arrow);
    queue_id(p->to, event, p->arrows);
    if (phase == 'f') event->bp = (trace_text){"\"e\"", 3};
}

static bool is_device(trace_text category) {
    uint8_t kind = trace_kind_of(category);
    return kind == TRACE_KERNEL || kind == TRACE_MEMCPY || kind == TRACE_MEMSET;
}

/* From the last place of a flow to this one, or the other way round: work of a device is launched,
   the later of two is. */
static void put_flow(perfetto *p, uint64_t id, const flow_point *here) {
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
    put_arrow(p, 's', turned ? here : &before);
    put_arrow(p, 'f', turned ? &before : here);
    p->points[*number] = *here;
}

static void put_flows(perfetto *p, const entry *from, const track_event *e) {
    flow_point here = {from->track, from->ts_ns, is_device(e->category)};
    for (size_t i = 0; i < e->flow_count; i++) put_flow(p, e->flows[i], &here);
}

static void put_counter(perfetto *p, const entry *from, const track_event *e) {
    trace_text name = track_name(p, &p->tracks[from->track]);
    if (!e->has_int && !e->has_double) return;
    trace_event *event = add_event(p, 'C', from->track, from->ts_ns, (trace_text){NULL, 0}, name);
    begin_args(p);
    output_text(p->args, "\"value\": ");
    if (e->has_int) output_format(p->args, "%lld", (long long)e->integer);
    else output_double(p->args, e->number);
    queue_end_args(p->to, event);
}

/* ---- The head that prof export wrote: an instant, before all other events ---- */

static void put_own_metadata(perfetto *p, trace_text list) {
    trace_text key, value;
    p->own_metadata = true;
    while (json_next(&list, &key, &value))
        if (*value.data == '{') queue_text(p->to, value);
}

/* One of its members. events: only that one, behind them. */
static void put_member(perfetto *p, uint32_t state, const pb_field *annotation, bool events) {
    pb_reader r = pb_within(annotation);
    trace_text key = key_of(p, state, r), value = {"", 0};
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
        put_own_metadata(p, value);
        return;
    }
    output *quoted = queue_begin_args(p->to);                /* behind a `{` */
    output_json_text(quoted, key.data, key.size);
    key.data = output_memory(quoted, &key.size) + 2;
    queue_member(p->to, (trace_text){key.data, key.size - 3}, value);
}

static bool take_head(perfetto *p, uint32_t state, const track_event *e) {
    bool is = e->type == PF_INSTANT && text_is(e->name, PF_HEAD_NAME) &&
              text_is(e->category, PF_HEAD_CATEGORY) && !p->entry_count && !p->has_head;
    p->key_count = 0;
    for (size_t i = 0; is && i < 2 * e->arg_count; i++)
        put_member(p, state, &e->args[i % e->arg_count], i >= e->arg_count);
    p->has_head |= is;
    return is;
}

/* ---- Packets ---- */

static void add_arg(perfetto *p, track_event *e, const pb_field *f) {
    GROW(p->fields, e->arg_count, p->field_capacity);
    p->fields[e->arg_count++] = *f;
    e->args = p->fields;
}

static void is_odd(track_event *e, const char *field, const char *why) {
    e->odd = field;
    e->why = why;
}

static trace_text event_text(perfetto *p, uint32_t state, track_event *e, uint32_t kind,
                             const pb_field *f) {
    trace_text text = f->type == PB_VARINT ? interned_of(p, state, kind, f->value)
                                           : (trace_text){NULL, 0};
    if (!text.data)
        is_odd(e, kind == PF_NAME_TEXTS ? "name_iid" : "category_iids", "is of no text before it");
    return text.data ? text : (trace_text){"", 0};
}

static void read_event_field(perfetto *p, uint32_t state, track_event *e, const pb_field *f) {
    bool number = f->type == PB_VARINT;
    switch (f->number) {
    case PF_TYPE: e->type = number ? f->value : 0; break;
    case PF_TRACK_UUID:
        e->track = f->value;
        if (!number) is_odd(e, "track_uuid", "is no number");
        break;
    case PF_NAME_IID: e->name = event_text(p, state, e, PF_NAME_TEXTS, f); break;
    case PF_NAME: e->name = field_text(f); break;
    case PF_CATEGORY_IIDS:
        if (!e->category.size && number)         /* of several in one field none is read */
            e->category = event_text(p, state, e, PF_CATEGORY_TEXTS, f);
        break;
    case PF_CATEGORIES: if (!e->category.size) e->category = field_text(f); break;
    case PF_ANNOTATION: if (f->type == PB_BYTES) add_arg(p, e, f); break;
    case PF_FLOW_IDS: case PF_FLOW_ENDS:
        if (f->type == PB_FIXED64 && e->flow_count < MOST_FLOWS)
            e->flows[e->flow_count++] = f->value;
        else is_odd(e, "flow_ids", "is no number, or one of more than 64");
        break;
    case PF_COUNTER_INT:
        e->has_int = number;
        e->integer = (int64_t)f->value;
        break;
    case PF_COUNTER_DOUBLE:
        e->has_double = f->type == PB_FIXED64;
        memcpy(&e->number, &f->value, sizeof e->number);
        break;
    default: break;
    }
}

static void read_entry(perfetto *p, const entry *from, track_event *e) {
    pb_reader r = {from->data, from->data + from->size, false};
    pb_field f;
    while (pb_next(&r, &f)) read_event_field(p, from->state, e, &f);
    if (r.bad) is_odd(e, "TrackEvent", "ends within a field");
}

static void take_event(perfetto *p, const sequence *s, const pb_field *field, int64_t ts_ns) {
    track_event e = {.track = s->track, .name = {"", 0}, .category = {"", 0}};
    entry new_entry = {
        .ts_ns = ts_ns, .data = field->data, .size = (uint32_t)field->value, .state = s->state,
        .other = NO_ENTRY
    };
    read_entry(p, &new_entry, &e);
    if (e.odd) odd_in(p, e.odd, e.why);
    if (take_head(p, s->state, &e)) return;
    if (e.type < PF_BEGIN || e.type > PF_COUNTED) return;
    if (ts_ns > p->last_ns) p->last_ns = ts_ns;
    new_entry.type = (uint8_t)e.type;
    new_entry.track = track_number(p, e.track);
    new_entry.data = (const uint8_t *)arena_text(&p->memory, (const char *)field->data,
                                                 new_entry.size);
    GROW(p->entries, p->entry_count, p->entry_capacity);
    p->entries[p->entry_count++] = new_entry;
}

static sequence *sequence_of(perfetto *p, uint64_t id) {
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
        if (pb_is_number(&f, PF_CLOCK_ID)) c->id = f.value;
        if (pb_is_number(&f, PF_CLOCK_TIME)) c->last = f.value;
        if (pb_is_number(&f, PF_CLOCK_INCREMENTAL)) c->incremental = f.value;
        if (pb_is_number(&f, PF_CLOCK_UNIT) && f.value) c->unit = f.value;
    }
}

/* How the clocks of a sequence stand to that of the trace. */
static void take_clocks(perfetto *p, sequence *s, pb_reader r) {
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
        if (f.number != PF_CLOCKS) continue;
        read_clock(pb_within(&f), &c);
        c.offset = now - c.last * c.unit;
        bool own = c.id >= FIRST_OWN_CLOCK && c.id <= LAST_OWN_CLOCK;
        if (own && s->clock_count == MOST_CLOCKS) odd_in(p, "clocks", "are more than four");
        else if (own) s->clocks[s->clock_count++] = c;
    }
    check(p, "clock snapshot", &r);
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
        if (pb_is_number(&f, PF_DEFAULT_CLOCK)) s->clock = f.value;
        if (f.number != PF_DEFAULT_EVENT) continue;
        for (pb_reader event = pb_within(&f); pb_next(&event, &g); )
            if (pb_is_number(&g, PF_TRACK_UUID)) s->track = g.value;
    }
}

static void take_packets(perfetto *p, pb_reader r, bool packed);

/* Packets that are packed by zlib, one list of them. */
static void take_compressed(perfetto *p, const pb_field *f) {
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
    if (code != Z_STREAM_END)
        odd_in(p, "compressed_packets", code == Z_OK && room > LARGEST_PACKED
               ? "unpacks to more than 8 MB: what is behind them is left out"
               : "is no data of zlib, or damaged: what is behind that is left out");
    if (to) memset(to + z.total_out, 0, READABLE);
    take_packets(p, (pb_reader){to, to ? to + z.total_out : to, false}, true);
    inflateEnd(&z);
    free(to);
}

/* What it does not read. */
static void count_other(perfetto *p, const pb_field *f) {
    enum { FTRACE = 1, FTRACE_EVENT = 2, GPU_STAGE = 53, STAGE_NS = 2 };
    pb_reader r = pb_within(f);
    pb_field event;
    uint64_t count = 0;
    if (f->type != PB_BYTES) return;
    while (f->number == FTRACE && pb_next(&r, &event)) count += event.number == FTRACE_EVENT;
    p->stages += f->number == GPU_STAGE;
    while (f->number == GPU_STAGE && pb_next(&r, &event))
        p->stages_ns += event.number == STAGE_NS && event.type == PB_VARINT ? event.value : 0;
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].field == f->number)
            p->others[i] += f->number == FTRACE ? count : 1;
}

/* A field of the packet that has to be a number is none. */
static bool is_mistyped(const pb_field *f) {
    static const uint8_t numbers[] = {PF_TIMESTAMP, PF_SEQUENCE, PF_FLAGS, PF_CLEARED, PF_CLOCK};
    return f->type != PB_VARINT && f->number < 256 &&
           memchr(numbers, (int)f->number, sizeof numbers);
}

static void take_packet(perfetto *p, pb_reader r, bool packed) {
    pb_field f, event = {.number = 0}, interned = event, defaults = event, snapshot = event;
    uint64_t time = 0, id = 0, flags = 0, clock = UINT64_MAX;
    pb_reader look = r;
    while (pb_next(&look, &f)) {
        if (is_mistyped(&f)) {
            odd_in(p, "TracePacket", "has no number where one belongs");
            continue;
        }
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
        case PF_COMPRESSED:
            if (!packed && f.type == PB_BYTES) take_compressed(p, &f);
            else odd_in(p, "compressed_packets", "is packed twice, or is no packet: left out");
            break;
        default: count_other(p, &f); break;
        }
    }
    check(p, "TracePacket", &look);
    sequence *s = sequence_of(p, id);
    if (flags & PF_STATE_CLEARED) {
        s->state = ++p->states;
        s->track = s->clock = 0;
    }
    if (interned.number) take_interned(p, s->state, pb_within(&interned));
    if (defaults.number) take_defaults(s, pb_within(&defaults));
    if (snapshot.number) take_clocks(p, s, pb_within(&snapshot));
    if (event.number && event.type == PB_BYTES)
        take_event(p, s, &event, trace_time(s, time, clock == UINT64_MAX ? s->clock : clock));
}

static void take_packets(perfetto *p, pb_reader r, bool packed) {
    pb_field f;
    while (pb_next(&r, &f))
        if (f.number == PF_PACKET && f.type == PB_BYTES) take_packet(p, pb_within(&f), packed);
}

/* ---- The file ---- */

/* The next field of the file that is whole; false: there is none yet, or what is here is none. */
static bool next_whole(perfetto *p, const uint8_t **at, const uint8_t *end, pb_field *f) {
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

static void *open_perfetto(const source_desc *desc) {
    perfetto *p = allocate(sizeof *p);
    p->to = desc->to;
    p->losses = desc->losses;
    return p;
}

static void push_packets(void *source, const void *data, size_t size) {
    perfetto *p = source;
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
    p->packet = p->offset;
    while (next_whole(p, &at, end, &f)) {
        if (f.number == PF_PACKET && f.type == PB_BYTES) take_packet(p, pb_within(&f), false);
        p->packet = p->offset + (uint64_t)(at - p->buffer);
    }
    p->offset += (uint64_t)(at - p->buffer);
    p->size = (size_t)(end - at);
    memmove(p->buffer, at, p->size);
}

/* ---- All are there ---- */

static bool before(uint32_t a, uint32_t b, const void *entries) {
    return ((const entry *)entries)[a].ts_ns < ((const entry *)entries)[b].ts_ns;
}

/* Which end is of which begin. */
static void join_ends(perfetto *p) {
    for (size_t i = 0; i < p->entry_count; i++) {
        entry *e = &p->entries[p->order[i]];
        uint32_t *top = &p->tracks[e->track].open, begin = *top;
        if (e->type == PF_BEGIN) {
            e->other = *top;
            *top = p->order[i];
        } else if (e->type == PF_END && begin == NO_ENTRY) {
            p->odd++;
        } else if (e->type == PF_END) {
            *top = p->entries[begin].other;
            p->entries[begin].other = p->order[i];
        }
    }
    for (size_t i = 0; i < p->track_count; i++) {
        for (uint32_t open = p->tracks[i].open, around; open != NO_ENTRY; open = around) {
            around = p->entries[open].other;
            p->entries[open].other = NO_ENTRY;
        }
    }
}

static void put_entry(perfetto *p, const entry *from) {
    track_event e = {.name = {"", 0}, .category = {"", 0}};
    if (from->type == PF_END) return;
    read_entry(p, from, &e);
    if (from->type == PF_BEGIN) put_slice(p, from, &e);
    else if (from->type == PF_INSTANT) put_instant(p, from, &e);
    else put_counter(p, from, &e);
    if (from->type != PF_COUNTED) put_flows(p, from, &e);
}

static bool end_packets(void *source) {
    enum { SOME = 200 };
    perfetto *p = source;
    if (!p->order) {
        if (p->size && !p->broken) p->broken = "the file ends early";
        for (size_t i = 0; i < KINDS; i++) p->to->left_out |= p->others[i] > 0;
        p->to->left_out |= p->stages > 0;
        losses_unread(p->losses, "stages of GPUs", p->stages, p->stages_ns);
        p->order = sorted_numbers(p->entry_count, before, p->entries);
        join_ends(p);
        for (uint32_t i = 0; i < p->track_count && !p->own_metadata; i++) put_name(p, i);
        return true;
    }
    size_t last = p->entry_count - p->next < SOME ? p->entry_count : p->next + SOME;
    while (p->next < last) put_entry(p, &p->entries[p->order[p->next++]]);
    return p->next < p->entry_count;
}

static bool tell_packets(void *source, const char *path) {
    const perfetto *p = source;
    char text[600];
    size_t used = 0;
    if (p->broken)
        warn(path, "byte %llu: %s; read up to there", (unsigned long long)p->offset, p->broken);
    if (p->odd)
        warn(path, "%llu ends of nothing, arguments and members that make no sense: left out",
             (unsigned long long)p->odd);
    for (size_t i = 0; i < KINDS; i++)
        if (p->others[i])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu %s",
                                     used ? ", " : "", (unsigned long long)p->others[i],
                                     kinds[i].name);
    if (used) warn(path, "prof reads tracks of Perfetto's files alone; left out: %s", text);
    return p->broken != NULL;
}

static void close_perfetto(void *source) {
    perfetto *p = source;
    free(p->buffer);
    free(p->sequences);
    free(p->tracks);
    free(p->entries);
    free(p->order);
    free(p->points);
    map_free(&p->sequence_numbers);
    map_free(&p->track_numbers);
    map_free(&p->iids);
    map_free(&p->flows);
    intern_free(&p->texts);
    arena_free(&p->memory);
    free(p->fields);
    free(p);
}

const source_format perfetto_format = {
    is_perfetto, open_perfetto, push_packets, end_packets, tell_packets, close_perfetto
};
