/* A trace as Perfetto's own file: see pftrace.h. One pass over the trace keeps what is of events,
   packed as it will be written, and sorts it by row and time; a walk over that finds the calls that
   flows begin and end in; a second one writes. */
#include "input/pftrace.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/protobuf.h"
#include "output/trace_writer.h"
#include "trace/flows.h"
#include "trace/trace.h"

enum {
    SEQUENCE = 1,
    LONGEST_INTERNED = 1000,     /* bytes; longer texts stand where they are */
    MOST_STRINGS = 1 << 18,      /* different texts of arguments that are interned */
    INTERNED_PACKET = 1 << 16,
    HELD = 1 << 17,              /* bytes of packets that are packed together, */
    PACKING = 1                  /* by zlib, fast */
};

typedef enum row_kind { ROW_THREAD, ROW_ASYNC, ROW_COUNTER } row_kind;
enum { ITEM_INSTANT = ITEM_CALL + 1, ITEM_COUNTER };     /* what an item is */

typedef struct row {
    uint32_t process, thread;    /* in the writer's trace; thread: of a row of that kind */
    row_kind kind;
    const char *name;            /* of another one */
} row;

typedef struct bound_flow { uint32_t id, call; } bound_flow;

typedef struct pf_writer {
    output *out;
    pb payloads;                 /* of items, one behind the other */
    row_items items;             /* their ids: where payloads begin */
    struct trace trace;          /* its processes and threads */
    row *rows;
    size_t row_count, row_capacity;
    map row_numbers;
    arena memory;
    interner texts[PF_STRING_TEXTS + 1];     /* by field of the interned data */
    pb interned, packet;         /* being made */
    pb held, packed;             /* packets that are to be written together */
    pb head;                     /* annotations of the members */
    output events;               /* of phase M, as JSON */
    bool any_metadata;
    flows ends;
    bound_flow *flows;
    size_t flow_count, flow_capacity;
    uint32_t *flow_order;        /* by call */
    size_t next_flow;            /* of them */
    uint64_t unmatched;          /* ends of flows */
    uint64_t left_out, no_numbers;       /* events; values of counters */
    uint64_t uuids;
    int64_t base_ns, first_ns;
    char *text;                  /* decoded last */
    size_t text_capacity;
    /* of the row that is walked */
    lanes lanes;
    uint64_t *lane_uuids;
    size_t lane_count, lane_capacity;
} pf_writer;

/* ---- Texts ---- */

static trace_text decoded(pf_writer *w, trace_text text) {
    size_t room = 3 * text.size + 1;
    if (room > w->text_capacity) {
        w->text_capacity = room * 2;
        w->text = reallocate(w->text, w->text_capacity);
    }
    size_t size = json_decode(text, w->text, w->text_capacity);
    return (trace_text){w->text, size};
}

/* The packets that are held leave as one, packed. */
static void write_held(pf_writer *w) {
    uLongf size = compressBound((uLong)w->held.size);
    if (!w->held.size) return;
    w->packed.size = 0;
    size_t outer = pb_open(&w->packed, PF_PACKET), inner = pb_open(&w->packed, PF_COMPRESSED);
    if (compress2(pb_room(&w->packed, size), &size, w->held.data, (uLong)w->held.size,
                  PACKING) != Z_OK) exit(fail(NULL, "out of memory"));
    w->packed.size += size;
    pb_close(&w->packed, inner);
    pb_close(&w->packed, outer);
    output_write(w->out, w->packed.data, w->packed.size);
    w->held.size = 0;
}

static void write_packet(pf_writer *w, const pb *body) {
    pb_bytes(&w->held, PF_PACKET, body->data, body->size);
    if (w->held.size >= HELD) write_held(w);
}

/* The number of a text of this kind; 0: it is to stand where it is. */
static uint64_t intern_text(pf_writer *w, uint32_t kind, trace_text text) {
    interner *known = &w->texts[kind];
    bool many = kind == PF_STRING_TEXTS && known->count >= MOST_STRINGS;
    if (many || text.size >= LONGEST_INTERNED) return 0;
    return intern(known, text.data, text.size) + UINT64_C(1);
}

static void put_text(pf_writer *w, pb *to, uint32_t kind, trace_text text, uint32_t iid_field,
                     uint32_t text_field) {
    uint64_t iid = intern_text(w, kind, text);
    if (iid) pb_uint(to, iid_field, iid);
    else pb_bytes(to, text_field, text.data, text.size);
}

/* ---- Arguments ---- */

static bool is_whole(trace_text number) {
    for (size_t i = 0; i < number.size; i++)
        if (number.data[i] != '-' && (number.data[i] < '0' || number.data[i] > '9')) return false;
    return true;
}

/* Identities and addresses may need the 64th bit: a double would round them. */
static bool is_uint64(trace_text value, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' ||
            __builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(value.data[i] - '0'), number)) return false;
    }
    return value.size > 0;
}

static void put_number(pb *to, trace_text value) {
    int64_t integer;
    uint64_t large;
    double number;
    if (is_whole(value) && json_int(value, &integer)) pb_uint(to, PF_INT, (uint64_t)integer);
    else if (is_uint64(value, &large)) pb_uint(to, PF_UINT, large);
    else if (json_double(value, &number)) pb_double(to, PF_DOUBLE, number);
    else pb_bytes(to, PF_STRING, value.data, value.size);    /* of too many digits */
}

static void put_json(pb *to, trace_text value) {
    size_t json = pb_open(to, PF_JSON);
    to->size += json_compact(value, (char *)pb_room(to, value.size));
    pb_close(to, json);
}

/* null has no value: as JSON it ends Perfetto's trace_processor, and scalars vanish there. */
static void put_value(pf_writer *w, pb *to, trace_text value) {
    switch (*value.data) {
    case '{': case '[': put_json(to, value); break;
    case 't': case 'f': pb_uint(to, PF_BOOL, *value.data == 't'); break;
    case 'n': break;
    case '"':
        put_text(w, to, PF_STRING_TEXTS, decoded(w, value), PF_STRING_IID, PF_STRING);
        break;
    default: put_number(to, value); break;
    }
}

/* A key of JSON as it stands there. */
static trace_text key_text(pf_writer *w, trace_text key) {
    return memchr(key.data, '\\', key.size) ? decoded(w, key) : key;
}

static void put_args(pf_writer *w, pb *to, const trace_event *event) {
    const trace_member *args = event->args;
    for (size_t i = 0; i < event->arg_count; i++) {
        trace_text key = key_text(w, args[i].key);
        size_t annotation = pb_open(to, PF_ANNOTATION);
        put_text(w, to, PF_KEY_TEXTS, key, PF_KEY_IID, PF_KEY);
        put_value(w, to, args[i].value);
        pb_close(to, annotation);
    }
}

/* ---- Processes and rows ---- */

/* name: of a counter, or async; rows of threads are told apart by those. */
static uint32_t row_of(pf_writer *w, const trace_event *event, row_kind kind, trace_text name) {
    row made = {.process = trace_process(&w->trace, event), .kind = kind};
    if (kind == ROW_THREAD) made.thread = trace_thread(&w->trace, event);
    uint64_t own = kind == ROW_THREAD ? made.thread : hash_bytes(name.data, name.size);
    uint64_t key = hash_mix(hash_mix(own) * 31 + made.process) * 31 + kind;
    bool is_new;
    uint64_t *number = map_put(&w->row_numbers, hash_mix(key), &is_new);
    if (!is_new) return (uint32_t)*number;
    if (kind != ROW_THREAD) made.name = arena_text(&w->memory, name.data, name.size);
    GROW(w->rows, w->row_count, w->row_capacity);
    w->rows[w->row_count] = made;
    return (uint32_t)(*number = w->row_count++);
}

static uint32_t thread_row(pf_writer *w, const trace_event *event) {
    return row_of(w, event, ROW_THREAD, (trace_text){NULL, 0});
}

static void take_metadata(pf_writer *w, const trace_event *event) {
    output_text(&w->events, w->any_metadata ? ",\n" : "");
    w->any_metadata = true;
    event_write(&w->events, event);
    trace_take_name(&w->trace, event);
    if (text_is(event->name, "thread_name")) thread_row(w, event);       /* in the order of names */
}

static void take_member(pf_writer *w, const trace_member *member) {
    size_t annotation = pb_open(&w->head, PF_ANNOTATION);
    trace_text key = key_text(w, member->key);
    pb_bytes(&w->head, PF_KEY, key.data, key.size);
    pb_bytes(&w->head, PF_STRING, member->value.data, member->value.size);
    pb_close(&w->head, annotation);
}

/* ---- First pass: events ---- */

static void add_item(pf_writer *w, const trace_event *event, uint32_t what, uint32_t number,
                     uint64_t payload) {
    int64_t amount = what == ITEM_CALL ? event->dur_ns : 0;
    items_add(&w->items, (row_item){event->ts_ns, amount, payload, number, (uint16_t)what,
                                    event->is_pair});
}

/* What slices and instants have in common. */
static void take_called(pf_writer *w, const trace_event *event, uint32_t what, uint32_t number) {
    uint64_t begin = w->payloads.size;
    if (event->has & TRACE_HAS_NAME)
        put_text(w, &w->payloads, PF_NAME_TEXTS, event->name, PF_NAME_IID, PF_NAME);
    if (event->has & TRACE_HAS_CAT)
        put_text(w, &w->payloads, PF_CATEGORY_TEXTS, event->cat, PF_CATEGORY_IIDS, PF_CATEGORIES);
    put_args(w, &w->payloads, event);
    add_item(w, event, what, number, begin);
}

static void take_slice(pf_writer *w, const trace_event *event) {
    trace_text async = {PF_ASYNC_NAME, strlen(PF_ASYNC_NAME)};
    take_called(w, event, ITEM_CALL, event->is_async ? row_of(w, event, ROW_ASYNC, async)
                                                     : thread_row(w, event));
}

static char *append(char *to, const char *text, size_t size) {
    memcpy(to, text, size);
    return to + size;
}

/* The name of a series' track, as Perfetto makes it of JSON; to be freed. */
static char *series_name(const trace_event *event, trace_text key) {
    bool plain = event->arg_count == 1 && text_is(key, "value");
    trace_text name = event->name;
    char id[160];
    size_t id_size = trace_counter_id(event, id, sizeof id);
    char *text = allocate(name.size + id_size + key.size + 2);
    char *p = append(append(text, name.data, name.size), id, id_size);
    if (!plain) append(append(p, " ", 1), key.data, key.size);
    return text;
}

/* A counter is a track for each of its series. */
static void take_counter(pf_writer *w, const trace_event *event) {
    const trace_member *args = event->args;
    for (size_t i = 0; i < event->arg_count; i++) {
        const trace_member *arg = &args[i];
        double number;
        int64_t integer;
        if (!json_double(arg->value, &number)) {
            w->no_numbers++;
            continue;
        }
        char *name = series_name(event, key_text(w, arg->key));
        uint64_t begin = w->payloads.size;
        if (is_whole(arg->value) && json_int(arg->value, &integer))
            pb_uint(&w->payloads, PF_COUNTER_INT, (uint64_t)integer);
        else pb_double(&w->payloads, PF_COUNTER_DOUBLE, number);
        add_item(w, event, ITEM_COUNTER,
                 row_of(w, event, ROW_COUNTER, (trace_text){name, strlen(name)}), begin);
        free(name);
    }
}

static void take_event(pf_writer *w, const trace_event *event) {
    bool counts = event->phase && strchr("XiIRnCstf", event->phase);
    if (counts && event->ts_ns < w->first_ns) w->first_ns = event->ts_ns;
    switch (event->phase) {
    case 'X': take_slice(w, event); break;
    case 'i': case 'I': case 'R': case 'n':
        take_called(w, event, ITEM_INSTANT, thread_row(w, event));
        break;
    case 'C': take_counter(w, event); break;
    case 's': case 't': case 'f':
        flows_add(&w->ends, event, thread_row(w, event));
        break;
    case 'M': take_metadata(w, event); break;
    default: w->left_out++; break;
    }
}

static void tell(const pf_writer *w, const char *path) {
    if (w->left_out)
        warn(path, "%llu events of phases that Perfetto's tracks have not: left out",
             (unsigned long long)w->left_out);
    if (w->no_numbers)
        warn(path, "%llu values of counters are not numbers: left out",
             (unsigned long long)w->no_numbers);
}

static int read_trace(pf_writer *w, const char *path, bool merged) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    reader->quiet = merged;
    while (trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_EVENT) take_event(w, reader->event);
        else if (reader->item == TRACE_MEMBER) take_member(w, &reader->member);
    }
    w->base_ns = reader->base_time_ns;
    tell(w, merged ? w->out->path : path);
    return trace_close(reader);
}

/* ---- Flows: their ends have the same id ---- */

static void bind_flow(pf_writer *w, uint32_t id, uint32_t index) {
    GROW(w->flows, w->flow_count, w->flow_capacity);
    w->flows[w->flow_count++] = (bound_flow){id, index};
}

static void add_flow(void *user, const flow_end *from, const flow_end *to) {
    pf_writer *w = user;
    uint32_t id = (uint32_t)(w->flow_count / 2) + 1;
    bind_flow(w, id, from->call);
    bind_flow(w, id, to->call);
}

static bool by_call(uint32_t a, uint32_t b, const void *bound) {
    return ((const bound_flow *)bound)[a].call < ((const bound_flow *)bound)[b].call;
}

static void match_flows(pf_writer *w) {
    flows_bind(&w->ends, &w->items);
    flows_match(&w->ends, add_flow, w);
    w->unmatched = w->ends.unmatched;
    flows_free(&w->ends);
    w->flow_order = sorted_numbers(w->flow_count, by_call, w->flows);
}

/* ---- Second walk: packets ---- */

static uint64_t at_ns(const pf_writer *w, int64_t ns) { return (uint64_t)(ns + w->base_ns); }

/* Begins the packet of an event; the caller adds to it and calls end_packet. */
static size_t begin_packet(pf_writer *w, int64_t ns, unsigned type, uint64_t uuid) {
    w->packet.size = 0;
    pb_uint(&w->packet, PF_TIMESTAMP, at_ns(w, ns));
    pb_uint(&w->packet, PF_SEQUENCE, SEQUENCE);
    pb_uint(&w->packet, PF_FLAGS, PF_NEEDS_STATE);
    size_t event = pb_open(&w->packet, PF_TRACK_EVENT);
    pb_uint(&w->packet, PF_TYPE, type);
    pb_uint(&w->packet, PF_TRACK_UUID, uuid);
    return event;
}

static void end_packet(pf_writer *w, size_t event) {
    pb_close(&w->packet, event);
    write_packet(w, &w->packet);
}

static bool is_int32(int64_t number) { return number >= INT32_MIN && number <= INT32_MAX; }
static bool is_plain(const call_process *p) { return p->text != NO_CALL || !is_int32(p->pid); }
static uint64_t process_uuid(uint32_t number) { return number + UINT64_C(1); }

static size_t begin_track(pf_writer *w, uint64_t uuid, uint64_t parent) {
    w->packet.size = 0;
    pb_uint(&w->packet, PF_SEQUENCE, SEQUENCE);
    size_t track = pb_open(&w->packet, PF_TRACK);
    pb_uint(&w->packet, PF_UUID, uuid);
    if (parent) pb_uint(&w->packet, PF_PARENT, parent);
    return track;
}

static void put_number_name(pb *to, const char *text, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    pb_text(to, PF_TRACK_NAME, text ? text : digits);
}

static void write_process(pf_writer *w, uint32_t number) {
    const call_process *p = &w->trace.processes[number];
    const char *name = trace_words(&w->trace, p->name), *labels = trace_words(&w->trace, p->labels);
    size_t track = begin_track(w, process_uuid(number), 0);
    if (is_plain(p)) {
        put_number_name(&w->packet, trace_words(&w->trace, p->text), p->pid);
    } else {
        size_t of_process = pb_open(&w->packet, PF_PROCESS);
        pb_uint(&w->packet, PF_PROCESS_PID, (uint64_t)p->pid);
        size_t text = pb_open(&w->packet, PF_PROCESS_NAME);
        if (name) pb_raw(&w->packet, name, strlen(name));
        if (name && *name && labels && *labels) pb_raw(&w->packet, " ", 1);
        if (labels) pb_raw(&w->packet, labels, strlen(labels));
        pb_close(&w->packet, text);
        pb_close(&w->packet, of_process);
    }
    end_packet(w, track);
}

static void write_thread(pf_writer *w, const call_process *p, const call_thread *t) {
    if (is_plain(p) || t->tid_text != NO_CALL || !is_int32(t->tid)) {
        put_number_name(&w->packet, trace_words(&w->trace, t->tid_text), t->tid);
        return;
    }
    const char *name = trace_words(&w->trace, t->name);
    size_t thread = pb_open(&w->packet, PF_THREAD);
    pb_uint(&w->packet, PF_THREAD_PID, (uint64_t)p->pid);
    pb_uint(&w->packet, PF_THREAD_TID, (uint64_t)t->tid);
    if (name) pb_text(&w->packet, PF_THREAD_NAME, name);
    pb_close(&w->packet, thread);
}

static void write_row(pf_writer *w, const row *r, uint64_t uuid) {
    size_t track = begin_track(w, uuid, process_uuid(r->process));
    if (r->kind == ROW_THREAD)
        write_thread(w, &w->trace.processes[r->process], &w->trace.threads[r->thread]);
    else pb_text(&w->packet, PF_TRACK_NAME, r->name);
    if (r->kind == ROW_COUNTER) pb_bytes(&w->packet, PF_COUNTER, "", 0);
    end_packet(w, track);
}

/* A further lane: a track below the row's, of its name. */
static void write_lane(pf_writer *w, const row *r) {
    uint64_t uuid = ++w->uuids;
    GROW(w->lane_uuids, w->lane_count, w->lane_capacity);
    w->lane_uuids[w->lane_count++] = uuid;
    if (w->lane_count == 1) {
        write_row(w, r, uuid);
        return;
    }
    size_t track = begin_track(w, uuid, w->lane_uuids[0]);
    if (r->kind == ROW_THREAD)
        put_number_name(&w->packet, trace_thread_name(&w->trace, r->thread),
                        w->trace.threads[r->thread].tid);
    else pb_text(&w->packet, PF_TRACK_NAME, r->name);
    end_packet(w, track);
}

static void write_end(void *user, uint32_t lane, const lane_call *ended) {
    pf_writer *w = user;
    end_packet(w, begin_packet(w, ended->end_ns, PF_END, w->lane_uuids[lane]));
}

static void put_payload(pf_writer *w, size_t number) {
    const row_item *item = &w->items.list[number];
    uint64_t end = number + 1 < w->items.count ? item[1].id : w->payloads.size;
    pb_raw(&w->packet, w->payloads.data + item->id, end - item->id);
}

static void write_flows(pf_writer *w, size_t index) {
    for (; w->next_flow < w->flow_count; w->next_flow++) {
        const bound_flow *flow = &w->flows[w->flow_order[w->next_flow]];
        if (flow->call != index) break;
        pb_fixed64(&w->packet, PF_FLOW_IDS, flow->id);
    }
}

static void write_slice(pf_writer *w, size_t index) {
    const row_item *item = &w->items.list[w->items.order[index]];
    int64_t end_ns = item->start_ns + item->amount;
    uint32_t lane = lanes_take(&w->lanes, item->start_ns, &end_ns, 0);
    while (lane >= w->lane_count) write_lane(w, &w->rows[item->row]);
    size_t event = begin_packet(w, item->start_ns, PF_BEGIN, w->lane_uuids[lane]);
    put_payload(w, w->items.order[index]);
    write_flows(w, index);
    end_packet(w, event);
}

static void write_point(pf_writer *w, size_t index) {
    size_t number = w->items.order[index];
    const row_item *item = &w->items.list[number];
    lanes_advance(&w->lanes, 0, item->start_ns);
    size_t event = begin_packet(w, item->start_ns,
                                item->what == ITEM_COUNTER ? PF_COUNTED : PF_INSTANT,
                                w->lane_uuids[0]);
    put_payload(w, number);
    write_flows(w, index);
    end_packet(w, event);
}

static void write_items(pf_writer *w) {
    uint32_t number = UINT32_MAX;
    w->lanes.ended = write_end;
    w->lanes.user = w;
    for (size_t i = 0; i < w->items.count; i++) {
        const row_item *item = &w->items.list[w->items.order[i]];
        if (item->row != number) {
            lanes_clear(&w->lanes);
            number = item->row;
            w->lane_count = 0;
            write_lane(w, &w->rows[number]);
        }
        if (item->what == ITEM_CALL) write_slice(w, i);
        else write_point(w, i);
    }
    lanes_clear(&w->lanes);
}

static void write_clocks(pf_writer *w) {
    static const unsigned clocks[] = {PF_BOOTTIME, PF_REALTIME};
    w->packet.size = 0;
    pb_uint(&w->packet, PF_SEQUENCE, SEQUENCE);
    pb_uint(&w->packet, PF_FLAGS, PF_STATE_CLEARED);
    size_t snapshot = pb_open(&w->packet, PF_CLOCK_SNAPSHOT);
    for (int i = 0; i < 2; i++) {
        size_t clock = pb_open(&w->packet, PF_CLOCKS);
        pb_uint(&w->packet, PF_CLOCK_ID, clocks[i]);
        pb_uint(&w->packet, PF_CLOCK_TIME, at_ns(w, w->first_ns));
        pb_close(&w->packet, clock);
    }
    pb_uint(&w->packet, PF_PRIMARY_CLOCK, PF_BOOTTIME);
    end_packet(w, snapshot);
    output_write(w->out, w->held.data, w->held.size);        /* not packed: it tells what this is */
    w->held.size = 0;
}

static void add_member(pf_writer *w, const char *key, const char *value, size_t size) {
    take_member(w, &(trace_member){{key, strlen(key)}, {value, size}});
}

/* The members of the trace's head, and what its metadata say. */
static void write_head(pf_writer *w) {
    uint64_t uuid = ++w->uuids;
    char number[24];
    size_t size, track = begin_track(w, uuid, 0);
    pb_text(&w->packet, PF_TRACK_NAME, PF_HEAD_NAME);
    end_packet(w, track);
    int digits = snprintf(number, sizeof number, "%llu", (unsigned long long)w->unmatched);
    if (w->unmatched) add_member(w, "unmatched_flows", number, (size_t)digits);
    output_text(&w->events, "]");
    const char *events = output_memory(&w->events, &size);
    add_member(w, PF_HEAD_EVENTS, events, size);
    size_t event = begin_packet(w, w->first_ns, PF_INSTANT, uuid);
    pb_text(&w->packet, PF_NAME, PF_HEAD_NAME);
    pb_text(&w->packet, PF_CATEGORIES, PF_HEAD_CATEGORY);
    pb_raw(&w->packet, w->head.data, w->head.size);
    end_packet(w, event);
}

static void write_interned(pf_writer *w, bool all) {
    if (w->interned.size < (all ? 1 : INTERNED_PACKET)) return;
    w->packet.size = 0;
    pb_uint(&w->packet, PF_SEQUENCE, SEQUENCE);
    pb_uint(&w->packet, PF_FLAGS, PF_NEEDS_STATE);
    pb_bytes(&w->packet, PF_INTERNED, w->interned.data, w->interned.size);
    write_packet(w, &w->packet);
    w->interned.size = 0;
}

static void write_texts(pf_writer *w) {
    static const uint32_t kinds[] = {PF_CATEGORY_TEXTS, PF_NAME_TEXTS, PF_KEY_TEXTS,
                                     PF_STRING_TEXTS};
    w->interned.size = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const interner *texts = &w->texts[kinds[k]];
        for (size_t i = 0; i < texts->count; i++) {
            size_t entry = pb_open(&w->interned, kinds[k]);
            pb_uint(&w->interned, PF_IID, i + 1);
            pb_bytes(&w->interned, PF_TEXT, texts->entries[i].text, texts->entries[i].size);
            pb_close(&w->interned, entry);
            write_interned(w, false);
        }
    }
    write_interned(w, true);
}

/* Perfetto drops what is before 0: there the first event is at 0. */
static void begin_at_zero(pf_writer *w, const char *path) {
    int64_t below;
    if (__builtin_add_overflow(w->first_ns, w->base_ns, &below) || below >= 0) return;
    w->base_ns -= below;
    warn(path, "times before 0: all are later by %.3f us in %s, as Perfetto reads none below 0",
         -(double)below * 1e-3, w->out->path);
}

static void write_all(pf_writer *w) {
    if (w->first_ns == INT64_MAX) w->first_ns = 0;
    w->uuids = w->trace.process_count;
    write_clocks(w);
    write_head(w);
    write_texts(w);
    for (uint32_t i = 0; i < w->trace.process_count; i++) write_process(w, i);
    write_items(w);
    write_held(w);
}

static void free_writer(pf_writer *w) {
    free(w->payloads.data);
    items_free(&w->items);
    flows_free(&w->ends);
    trace_free(&w->trace);
    free(w->rows);
    map_free(&w->row_numbers);
    arena_free(&w->memory);
    for (int i = 0; i <= PF_STRING_TEXTS; i++) intern_free(&w->texts[i]);
    free(w->interned.data);
    free(w->packet.data);
    free(w->held.data);
    free(w->packed.data);
    free(w->head.data);
    output_discard(&w->events);
    free(w->flows);
    free(w->flow_order);
    free(w->text);
    lanes_free(&w->lanes);
    free(w->lane_uuids);
}

int pftrace_write(const char *path, bool merged, output *out) {
    pf_writer w = {.out = out, .first_ns = INT64_MAX};
    output_open_memory(&w.events);
    output_text(&w.events, "[");
    int status = read_trace(&w, path, merged);
    if (status == EXIT_OK) {
        items_sort(&w.items);
        match_flows(&w);
        begin_at_zero(&w, path);
        write_all(&w);
        if (w.lanes.shortened)
            warn(merged ? out->path : path, "%llu calls overlap %d others: shortened",
                 (unsigned long long)w.lanes.shortened, MOST_LANES);
    }
    free_writer(&w);
    return status;
}
