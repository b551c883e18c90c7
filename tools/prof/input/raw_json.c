/* Raw streams as JSON: see raw_json.h. */
#include "input/raw_json.h"

#include "input/elf_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/span_sorter.h"
#include "input/head_sums.h"
#include "input/losses.h"
#include "input/raw_memory.h"
#include "input/raw_ranges.h"
#include "input/raw_stacks.h"
#include "library.h"

enum {
    HELD = 1024 /* zones of a thread */, LANES = 512,
    DEVICES_APART = 1 << 24                  /* between numbers of two types of devices */
};

typedef struct event_place { int64_t pid, tid; } event_place;

/* Zones of a thread that may still belong behind one to come: see end_order. */
typedef struct lane {
    raw_json *json;
    end_order *order;
    uint8_t *depths;
    uint32_t room;
    struct held { prof_raw_item item; char *args, *name; } *held;   /* room of them; args, name:
                                            NULL: none, its own */
} lane;

struct raw_json {
    elf_names *elf;
    trace_writer writer;
    prof_raw *raw;
    void *memory;
    prof_raw_stats stats;
    bool has_session, told, named;       /* named: as prof.h's, which its head does too late */
    bool has_ops;                        /* from outside, that work may name */
    int64_t pid, base_ns, shift_ns;      /* shift: of a later session's times, since the first */
    int64_t last_ns;                     /* the end of all so far, since the first */
    map threads;                         /* number in the stream -> thread id */
    losses lost;
    raw_losses raw_lost;
    output sums;                         /* rows, as the head has them */
    lane *lanes[LANES];
    size_t lane_count;
    map lane_numbers;                    /* number of a thread -> its lane + 1 */
    output args;                         /* of one event */
    raw_memory *changes;
    raw_ranges ranges;
    raw_stacks *stacks;
    const char *const *counters;
    uint32_t counter_count;
    bool has_memory;
    map open;                            /* number of a thread -> open_zones, if it has memory */
    arena memories;
    int64_t last_id;
    map rows;                            /* of devices, that have their names */
    span_sorter *ends;                   /* of arrows: by id, calls before work; NULL: none */
    span call;                           /* of the arrows that are being written; of none, */
    bool told_call, closed;              /* if it is not told; closed: the stream is */
    raw_takers takers;                   /* event NULL: all is JSON */
    trace_member *members;               /* of the event that they get, */
    char *text;                          /* and its texts */
    size_t member_capacity, text_size;
    event_place *places;                 /* of them */
    size_t place_count, place_capacity;
    map place_numbers;                   /* hash of a place -> its number */
};

/* Ids of a thread's open zones that memory changed in, by depth; 0: none. What lies at a border of
   a zone, or where the clock is coarse, times do not tell. */
typedef struct open_zones {
    int64_t *ids;
    uint32_t room;               /* threads may be many */
} open_zones;

/* ---- What the stream tells, as events ---- */

static int64_t tid_of(const raw_json *r, uint32_t thread) {
    const uint64_t *id = map_get(&r->threads, thread);
    return id ? (int64_t)*id : (int64_t)thread;
}

static void begin_event_at(raw_json *r, char phase, const char *category, const char *name,
                           event_place at, int64_t ns) {
    output *out = r->writer.out;
    writer_event(&r->writer);
    output_format(out, "{\"ph\": \"%c\", \"cat\": ", phase);
    output_json_text(out, category, strlen(category));
    output_text(out, ", \"name\": ");
    output_json_text(out, name, strlen(name));
    output_format(out, ", \"pid\": %lld, \"tid\": %lld, \"ts\": ", (long long)at.pid,
                  (long long)at.tid);
    write_us(out, ns + r->shift_ns);
}

static void begin_event(raw_json *r, char phase, const char *category, const char *name,
                        const prof_raw_item *item) {
    event_place at = {r->pid, tid_of(r, item->thread)};
    begin_event_at(r, phase, category, name, at, item->start_ns);
}

/* A copy of what is in memory, with a 0 behind it; free() it. */
static char *output_copy(output *from, size_t *size) {
    const char *text = output_memory(from, size);
    char *copy = allocate(*size + 1);
    if (*size) memcpy(copy, text, *size);
    copy[*size] = 0;
    return copy;
}

static bool take_args(void *user, const void *data, size_t size) {
    output_write(user, data, size);
    return true;
}

static int64_t *open_at(raw_json *r, uint32_t thread, uint32_t depth) {
    bool is_new;
    uint64_t *place = map_put(&r->open, thread, &is_new);
    if (is_new) *place = (uint64_t)(uintptr_t)arena_allocate(&r->memories, sizeof(open_zones));
    open_zones *open = (open_zones *)(uintptr_t)*place;
    if (depth >= open->room) {
        uint32_t room = 2 * (depth + 1);
        int64_t *ids = arena_allocate(&r->memories, room * sizeof *ids);
        if (open->room) memcpy(ids, open->ids, open->room * sizeof *ids);
        *open = (open_zones){ids, room};
    }
    return &open->ids[depth];
}

/* The id of a zone that ends; 0: nobody named it. */
static int64_t id_of_ended(raw_json *r, const prof_raw_item *item) {
    const uint64_t *place = r->open.count ? map_get(&r->open, item->thread) : NULL;
    open_zones *open = place ? (open_zones *)(uintptr_t)*place : NULL;
    if (!open || item->depth >= open->room) return 0;
    int64_t id = open->ids[item->depth];
    memset(open->ids + item->depth, 0, (open->room - item->depth) * sizeof id);
    return id;
}

static void add_id(raw_json *r, const char *key, int64_t id) {
    size_t size;
    char *members = output_copy(&r->args, &size);
    output_forget(&r->args);
    if (size > 2) output_write(&r->args, members, size - 1);
    output_format(&r->args, "%s\"%s\":%lld}", size > 2 ? "," : "{", key, (long long)id);
    free(members);
}

/* Counters go before its own metadata, as members; free() it. */
static char *with_counters(raw_json *r, const prof_extra *x) {
    size_t size;
    output_forget(&r->args);
    for (uint32_t i = 0; i < r->counter_count && i < x->counter_count; i++) {
        output_text(&r->args, i ? "," : "");
        output_json_text(&r->args, r->counters[i], strlen(r->counters[i]));
        output_format(&r->args, ":%lld", (long long)x->counters[i]);
    }
    if (x->metadata_json && *x->metadata_json) output_format(&r->args, ",%s", x->metadata_json);
    return output_copy(&r->args, &size);
}

/* What a zone carries, as {...}; NULL: nothing. free() it. A stream may be anybody's: its members
   are looked at (PROF_EVENT_SUBMITTED), and are a text where they are no JSON. */
static char *args_of(raw_json *r, const prof_raw_item *item) {
    prof_extra extra = {.node_id = -1, .sequence_nr = -1};
    prof_event event = {.name = item->name, .extra = item->extra,
                        .flags = (uint16_t)(item->flags | PROF_EVENT_SUBMITTED)};
    int64_t id = id_of_ended(r, item);
    char *json = NULL;
    size_t size;
    if (!item->extra && !item->flags && !id) return NULL;
    if (item->extra && item->extra->counter_count) {
        extra = *item->extra;
        extra.metadata_json = json = with_counters(r, item->extra);
        event.extra = &extra;
    }
    output_forget(&r->args);
    prof_write_args(&event, (prof_sink){take_args, &r->args});
    free(json);
    if (id) add_id(r, PROF_KEY_ZONE, id);
    return output_memory(&r->args, &size) && size > 2 ? output_copy(&r->args, &size) : NULL;
}

/* args: NULL: none. */
static void write_zone(raw_json *r, const char *category, const char *name,
                       const prof_raw_item *item, const char *args) {
    output *out = r->writer.out;
    begin_event(r, 'X', category, name, item);
    output_text(out, ", \"dur\": ");
    write_us(out, item->end_ns - item->start_ns);
    if (args) output_text(out, ", \"args\": ");
    output_text(out, args ? args : "");
    output_text(out, "}");
}

static void free_held(struct held *zone) {
    free(zone->args);
    free(zone->name);
    zone->args = zone->name = NULL;
}

/* Its members, from text that may be anything as long as it is JSON; READABLE bytes behind it. */
static void read_members(raw_json *r, trace_event *event) {
    trace_text rest = event->args_text;
    trace_member next;
    while (json_next(&rest, &next.key, &next.value)) {
        GROW(r->members, event->arg_count, r->member_capacity);
        r->members[event->arg_count++] = next;
        event->arg_bits |= key_bit(next.key);
    }
    event->args = r->members;
}

/* args: {...}; NULL: none. */
static void hand_event(raw_json *r, const char *category, const char *name,
                       const prof_raw_item *item, event_place at, const char *args) {
    size_t names = 3 * strlen(name) + 1, size = args ? strlen(args) : 0;
    if (names + size + 2 * READABLE > r->text_size) {
        r->text_size = 2 * (names + size + 2 * READABLE);
        r->text = reallocate(r->text, r->text_size);
    }
    trace_event event = {
        .name = {r->text, text_clean((trace_text){name, strlen(name)}, r->text, names)},
        .cat = {category, strlen(category)}, .phase = 'X', .pid = at.pid, .tid = at.tid,
        .ts_ns = item->start_ns + r->shift_ns, .dur_ns = item->end_ns - item->start_ns
    };
    event.kind = trace_kind_of(event.cat);
    if (size) {
        char *copy = r->text + names;
        memcpy(copy, args, size);
        event.args_text = (trace_text){copy, size};
        read_members(r, &event);
    }
    r->takers.event(r->takers.user, &event);
}

static void hand_name(raw_json *r, event_place at) {
    const trace_event event = {
        .name = {"thread_name", 11}, .cat = {"", 0}, .phase = 'M', .pid = at.pid, .tid = at.tid
    };
    r->takers.event(r->takers.user, &event);
}

static void write_held(void *user, uint32_t place) {
    const lane *l = user;
    raw_json *r = l->json;
    struct held *zone = &l->held[place];
    const prof_raw_item *item = &zone->item;
    const char *name = zone->name ? zone->name : item->name;
    bool annotation = (item->flags & PROF_EVENT_USER_ANNOTATION) != 0;
    const char *category = annotation ? "user_annotation" : "cpu_op";
    event_place at = {r->pid, tid_of(r, item->thread)};
    if (!r->takers.event)
        write_zone(r, category, name, item, zone->args);
    else if (annotation || zone->args || zone->name)
        hand_event(r, category, name, item, at, zone->args);
    else
        r->takers.zone(r->takers.user, item, at.pid, at.tid);
    free_held(zone);
}

/* "aten::add.Tensor", as PyTorch has it; NULL: it has no overload. free() it. */
static char *overloaded(const prof_raw_item *item) {
    const char *overload = item->extra ? item->extra->overload_name : NULL;
    if (!overload || !*overload) return NULL;
    size_t size = strlen(item->name) + strlen(overload) + 2;
    char *name = allocate(size);
    snprintf(name, size, "%s.%s", item->name, overload);
    return name;
}

static void free_lanes(raw_json *r) {
    for (size_t i = 0; i < r->lane_count; i++) {
        lane *l = r->lanes[i];
        for (uint32_t at = 0; at < l->room; at++) free_held(&l->held[at]);
        free(l->order);
        free(l->depths);
        free(l->held);
        free(l);
    }
    r->lane_count = 0;
    map_free(&r->lane_numbers);
}

static void end_lanes(raw_json *r) {
    for (size_t i = 0; i < r->lane_count; i++) end_order_end(r->lanes[i]->order);
}

/* A stream has its threads in turns. Of very many, all begin anew. */
static lane *lane_of(raw_json *r, uint32_t thread) {
    const uint64_t *known = map_get(&r->lane_numbers, thread);
    if (known) return r->lanes[*known - 1];
    if (r->lane_count == LANES) {
        end_lanes(r);
        free_lanes(r);
    }
    lane *l = r->lanes[r->lane_count++] = allocate(sizeof *l);
    l->json = r;
    l->order = end_order_new(write_held, l);
    if (!l->order) exit(fail(NULL, "out of memory"));
    *map_put(&r->lane_numbers, thread, NULL) = r->lane_count;
    return l;
}

/* Most threads need few places. They are doubled while the first one is still where it was. */
static void make_places(lane *l) {
    uint32_t room = l->room ? 2 * l->room : 16;
    if (!end_order_grows(l->order) || room > HELD) return;
    l->depths = reallocate(l->depths, room);
    l->held = reallocate(l->held, room * sizeof *l->held);
    memset(l->held + l->room, 0, (room - l->room) * sizeof *l->held);
    end_order_places(l->order, l->depths, l->room = room);
}

static void hold(raw_json *r, const prof_raw_item *item) {
    char *args = args_of(r, item);
    lane *l = lane_of(r, item->thread);
    make_places(l);
    uint32_t place = end_order_add(l->order, item->depth, item->start_ns);
    l->held[place] = (struct held){*item, args, overloaded(item)};
}

/* Nothing more comes that zones held of a thread may belong behind. */
static void end_thread(raw_json *r, uint32_t thread) {
    const uint64_t *known = map_get(&r->lane_numbers, thread);
    if (known) end_order_end(r->lanes[*known - 1]->order);
}

/* The first one is the trace's; one that begins later is placed behind it by its clock, or, as
   targets do not tell when a session begins, behind all before. */
static void take_session(raw_json *r, const prof_raw_item *item) {
    if (!r->has_session) {
        r->base_ns = item->start_ns;
    }
    if (!r->has_session && !r->writer.had_events) {      /* else the stream's begin is missing */
        writer_key(&r->writer, "schemaVersion");
        output_text(r->writer.out, "1");
        writer_key(&r->writer, "baseTimeNanoseconds");
        output_format(r->writer.out, "%lld", (long long)r->base_ns);
    }
    r->shift_ns = r->has_session && !item->start_ns ? r->last_ns : item->start_ns - r->base_ns;
    r->has_session = true;
    r->pid = item->value;
}

/* Its readers must know that before what stands for zones in sums, or tells which task ran. */
static void name_ours(raw_json *r) {
    if (r->named) return;
    r->named = true;
    writer_event(&r->writer);
    output_format(r->writer.out, "{\"ph\": \"M\", \"name\": \"prof\", \"pid\": %lld, \"tid\": 0, "
                  "\"args\": {\"version\": \"" PROF_VERSION "\"}}", (long long)r->pid);
}

static void take_thread(raw_json *r, const prof_raw_item *item) {
    bool is_new;
    if (tid_of(r, item->thread) != item->value) end_thread(r, item->thread);
    *map_put(&r->threads, item->thread, &is_new) = (uint64_t)item->value;
    if (!is_new || !item->name) return;
    if (r->takers.event) hand_name(r, (event_place){r->pid, item->value});
    if (raw_json_is_cpu_row(item)) name_ours(r);
    writer_event(&r->writer);
    output_format(r->writer.out, "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %lld, "
                  "\"tid\": %lld, \"args\": {\"name\": ", (long long)r->pid,
                  (long long)item->value);
    output_json_text(r->writer.out, item->name, strlen(item->name));
    output_text(r->writer.out, "}}");
}

static void take_counter(raw_json *r, const prof_raw_item *item) {
    begin_event(r, 'C', "counter", item->name, item);
    output_text(r->writer.out, ", \"args\": {\"value\": ");
    if (item->kind == PROF_RAW_COUNTER_F) output_double(r->writer.out, item->number);
    else output_format(r->writer.out, "%lld", (long long)item->value);
    output_text(r->writer.out, "}}");
}

/* The id of the zone that memory changed in, which is still to come; 0: it is in none. */
static int64_t id_around(raw_json *r, const prof_raw_item *item) {
    int64_t *id = item->depth < 255 ? open_at(r, item->thread, item->depth) : NULL;
    if (id && !*id) *id = ++r->last_id;
    return id ? *id : 0;
}

/* A change of memory, of so many bytes. */
static void write_change(raw_json *r, const prof_raw_item *item, int64_t bytes, int64_t total,
                         bool missed) {
    static const char *const kinds[] = {"", "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY",
                                        "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL"};
    const prof_memory_change *c = item->memory;
    output *out = r->writer.out;
    begin_event(r, 'i', "cpu_instant_event", item->name, item);
    output_format(out, ", \"s\": \"t\", \"args\": {\"" PROF_KEY_DEVICE_TYPE "\": %u, \""
                       PROF_KEY_DEVICE_INDEX "\": %d",
                  c->device.type, c->device.type ? c->device.index : -1);
    if (!item->failed)
        output_format(out, ", \"" PROF_KEY_ADDRESS "\": %llu", (unsigned long long)c->address);
    output_format(out, ", \"" PROF_KEY_BYTES "\": %lld, \"" PROF_KEY_TOTAL "\": %lld, "
                       "\"Total Reserved\": 0",
                  (long long)bytes, (long long)total);
    if (*kinds[c->kind & 7])
        output_format(out, ", \"" PROF_KEY_CATEGORY "\": \"%s\"", kinds[c->kind & 7]);
    output_format(out, ", \"" PROF_KEY_ZONE_PARENT "\": %lld", (long long)id_around(r, item));
    output_text(out, missed ? ", \"" PROF_KEY_MISSED "\": true}}" : "}}");
}

static void take_memory(raw_json *r, const prof_raw_item *item) {
    raw_change c = raw_memory_next(r->changes, item);
    if (item->failed) c.bytes = (int64_t)item->memory->bytes;
    else if (!c.counts) return;
    if (c.missed) write_change(r, item, -c.missed, c.total - c.bytes, true);
    write_change(r, item, c.bytes, c.total, false);
}

static void write_range(raw_json *r, const prof_raw_item *item, bool end) {
    prof_raw_item at = *item;
    if (end) at.start_ns = item->end_ns;
    begin_event(r, end ? 'e' : 'b', "async", item->name, &at);
    output_format(r->writer.out, ", \"id\": %lld}", (long long)item->value);
}

/* Before the events that have them: names of counters, and that memory names a zone to come. */
static void take_details(raw_json *r, const prof_raw_item *item) {
    bool memory = (item->value & PROF_RAW_HAS_MEMORY) != 0;
    bool known = r->counter_count == item->counter_count && r->has_memory == memory;
    output *out = r->writer.out;
    r->has_memory |= memory;
    r->counters = item->counter_names;
    r->counter_count = item->counter_count;
    if (known) return;
    writer_event(&r->writer);
    output_format(out, "{\"ph\": \"M\", \"name\": \"prof\", \"pid\": %lld, \"tid\": 0, "
                  "\"ts\": 0, \"args\": {", (long long)r->pid);
    for (uint32_t i = 0; i < r->counter_count; i++) {
        output_text(out, i ? ", " : "\"" PROF_KEY_COUNTERS "\": [");
        output_json_text(out, r->counters[i], strlen(r->counters[i]));
    }
    output_text(out, r->counter_count ? "]" : "");
    output_text(out, r->counter_count && r->has_memory ? ", " : "");
    output_text(out, r->has_memory ? "\"" PROF_KEY_ZONE_IDS "\": \"ahead\"}}" : "}}");
}

/* ---- Events of prof_submit: as prof.h writes those of a trace ---- */

static void device_name(const prof_raw_item *item, char name[64]) {
    size_t i = 0;
    for (; item->device[i] && i < 63; i++) name[i] = (char)toupper((unsigned char)item->device[i]);
    name[i] = 0;
}

/* Before the events that run on it. */
static void tell_type(raw_json *r, int64_t type, const char *name) {
    writer_event(&r->writer);
    output_format(r->writer.out, "{\"ph\": \"M\", \"name\": \"prof\", \"pid\": %lld, \"tid\": 0, "
                  "\"ts\": 0, \"args\": {\"device_types\": {\"%lld\": ", (long long)r->pid,
                  (long long)type);
    output_json_text(r->writer.out, name, strlen(name));
    output_text(r->writer.out, "}}}");
}

/* Devices of other types than the first have numbers of their own. */
static int64_t device_of(raw_json *r, const prof_raw_item *item) {
    bool indexed = item->extra->has & PROF_HAS_DEVICE_INDEX;
    size_t type = 0, known = r->lost.type_count;
    char name[64];
    device_name(item, name);
    losses_add_type(&r->lost, item->device_type, name);
    while (type < r->lost.type_count && r->lost.types[type].type != item->device_type) type++;
    bool is_new = type == known && type < r->lost.type_count;
    if (is_new && r->takers.event) r->takers.type(r->takers.user, item->device_type, name);
    else if (is_new) tell_type(r, item->device_type, name);
    return (indexed ? item->extra->device_index : 0) + (int64_t)type * DEVICES_APART;
}

static event_place place_of(raw_json *r, const prof_raw_item *item) {
    int64_t id = item->extra->device_resource_id;
    if (strcmp(item->extra->activity_type, "overhead") == 0) return (event_place){-1, 0};
    if (item->device_type == PROF_DEVICE_CPU)
        return (event_place){r->pid, tid_of(r, item->thread)};
    return (event_place){device_of(r, item), id == INT64_MIN ? 0 : id < 0 ? -id : id};
}

static void write_name(raw_json *r, const char *what, event_place at) {
    writer_event(&r->writer);
    output_format(r->writer.out, "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %lld, "
                  "\"tid\": %lld, \"args\": {", what, (long long)at.pid, (long long)at.tid);
}

/* A device is a process, its streams are threads. */
static void name_row(raw_json *r, const prof_raw_item *item, event_place at) {
    bool is_new;
    char name[96];
    if (item->device_type == PROF_DEVICE_CPU) return;
    device_name(item, name);
    map_put(&r->rows, (uint64_t)at.pid << 32 | UINT32_MAX, &is_new);
    if (is_new && !r->takers.event) {
        write_name(r, "process_labels", (event_place){at.pid, 0});
        output_text(r->writer.out, "\"labels\": ");
        size_t size = strlen(name);
        snprintf(name + size, sizeof name - size, " %lld", (long long)(at.pid % DEVICES_APART));
        output_json_text(r->writer.out, name, strlen(name));
        output_text(r->writer.out, "}}");
    }
    map_put(&r->rows, (uint64_t)at.pid << 32 ^ (uint64_t)at.tid, &is_new);
    if (!is_new) return;
    if (r->takers.event) {
        hand_name(r, at);
        return;
    }
    write_name(r, "thread_name", at);
    output_format(r->writer.out, "\"name\": \"stream %lld \"}}", (long long)at.tid);
}

static bool is_launch(const prof_raw_item *item) {
    const char *type = item->extra->activity_type;
    return item->device_type == PROF_DEVICE_CPU && item->extra->has & PROF_HAS_ID &&
           (ends_with(type, "_runtime") || ends_with(type, "_driver"));
}

static void write_arrow(raw_json *r, char phase, const span *end) {
    begin_event_at(r, phase, "ac2g", "ac2g", r->places[end->what], end->id - r->shift_ns);
    output_format(r->writer.out, ", \"id\": %lld%s}", (long long)end->start_ns,
                  phase == 's' ? "" : ", \"bp\": \"e\"");
}

static uint32_t place_number(raw_json *r, event_place at) {
    bool is_new;
    uint64_t key = hash_mix((uint64_t)at.pid) * 31 + (uint64_t)at.tid;
    uint64_t *number = map_put(&r->place_numbers, key, &is_new);
    if (is_new) {
        GROW(r->places, r->place_count, r->place_capacity);
        *number = r->place_count;
        r->places[r->place_count++] = at;
    }
    return (uint32_t)*number;
}

/* Ends of arrows are kept until all are there: any may come first. */
static void take_end(raw_json *r, const prof_raw_item *item, event_place at) {
    const prof_extra *x = item->extra;
    bool launch = is_launch(item);
    bool work = item->device_type != PROF_DEVICE_CPU && x->has & PROF_HAS_LINK;
    int64_t id = launch ? x->id : x->linked_correlation_id;
    if (!id || !(launch || work)) return;
    if (!r->ends) r->ends = sorter_new();
    sorter_add(r->ends, &(span){.start_ns = id, .amount = launch, .what = place_number(r, at),
                                .id = item->start_ns + r->shift_ns});
}

/* From the first call of an id to all that it launched. */
static void write_end(raw_json *r, const span *end) {
    if (end->amount && end->start_ns == r->call.start_ns) return;
    if (end->amount) r->call = *end, r->told_call = false;
    if (end->amount || end->start_ns != r->call.start_ns) return;
    if (!r->told_call) write_arrow(r, 's', &r->call);
    r->told_call = true;
    write_arrow(r, 'f', end);
}

/* An op from outside has its id as PyTorch's have, and its work, behind it, says it. 0: none. */
static int64_t op_id(raw_json *r, const prof_raw_item *item) {
    const prof_extra *x = item->extra;
    bool device = item->device_type != PROF_DEVICE_CPU;
    bool op = !device && x->has & PROF_HAS_ID && !is_launch(item);
    r->has_ops |= op;
    if (x->external_id) return 0;
    if (op) return x->id;
    return device && r->has_ops && x->has & PROF_HAS_LINK ? x->linked_correlation_id : 0;
}

static const char *event_args(raw_json *r, const prof_raw_item *item) {
    prof_extra own = {.node_id = -1, .metadata_json = item->extra->metadata_json};
    prof_event event = {.name = item->name, .extra = &own, .flags = PROF_EVENT_SUBMITTED};
    int64_t id = op_id(r, item);
    size_t size;
    output_forget(&r->args);
    prof_write_args(&event, (prof_sink){take_args, &r->args});
    if (id) add_id(r, PROF_KEY_EXTERNAL_ID, id);
    output_write(&r->args, "", 1);
    return output_memory(&r->args, &size);
}

static void take_event(raw_json *r, const prof_raw_item *item) {
    const char *type = item->extra->activity_type;
    bool device = item->device_type != PROF_DEVICE_CPU;
    bool instant = strcmp(type, "cpu_instant_event") == 0;
    event_place at = place_of(r, item);
    name_row(r, item, at);
    if (r->takers.event) {
        const char *category = *type ? type : device ? "kernel" : "cpu_op";
        if (!instant) hand_event(r, category, item->name, item, at, event_args(r, item));
        return;
    }
    begin_event_at(r, instant ? 'i' : 'X', *type ? type : device ? "kernel" : "cpu_op", item->name,
                   at, item->start_ns);
    output_text(r->writer.out, instant ? ", \"s\": \"t\"" : ", \"dur\": ");
    if (!instant) write_us(r->writer.out, item->end_ns - item->start_ns);
    output_text(r->writer.out, ", \"args\": ");
    output_text(r->writer.out, event_args(r, item));
    output_text(r->writer.out, "}");
    take_end(r, item, at);
}

static void take_sums(raw_json *r, const prof_average *a) {
    output *out = &r->sums;
    size_t size;
    output_memory(out, &size);
    output_text(out, size ? ",\n{\"name\": " : "[\n{\"name\": ");
    output_json_text(out, a->key, strlen(a->key));
#define FIELD(key, member) output_format(out, ", \"" key "\": %lld", (long long)a->member);
    PROF_SUM_FIELDS(FIELD)
    output_text(out, "}");
}

static void take(void *user, const prof_raw_item *item) {
    raw_json *r = user;
    char step[40];
    losses_take_raw(&r->lost, &r->raw_lost, item);
    if (!raw_ranges_take(&r->ranges, item)) return;
    if (item->end_ns < INT64_MAX >> 2 && item->end_ns > r->last_ns - r->shift_ns)
        r->last_ns = item->end_ns + r->shift_ns;
    if (item->kind == PROF_RAW_SESSION) end_lanes(r);
    if (item->kind == PROF_RAW_STEP) end_thread(r, item->thread);
    switch (item->kind) {
    case PROF_RAW_SESSION: take_session(r, item); break;
    case PROF_RAW_THREAD: take_thread(r, item); break;
    case PROF_RAW_ZONE:
        if (strcmp(item->name, "(in sums)") == 0) name_ours(r);
        hold(r, raw_stacks_next(r->stacks, item));
        break;
    case PROF_RAW_STEP:
        snprintf(step, sizeof step, "ProfilerStep#%lld", (long long)item->value);
        write_zone(r, "user_annotation", step, item, NULL);
        break;
    case PROF_RAW_INSTANT:
        begin_event(r, 'i', "cpu_instant_event", item->name, item);
        output_text(r->writer.out, ", \"s\": \"t\"}");
        break;
    case PROF_RAW_COUNTER: case PROF_RAW_COUNTER_F: take_counter(r, item); break;
    case PROF_RAW_SUMS: take_sums(r, item->average); break;
    case PROF_RAW_DETAILS: take_details(r, item); break;
    case PROF_RAW_MEMORY: take_memory(r, item); break;
    case PROF_RAW_ASYNC:
        write_range(r, item, false);
        write_range(r, item, true);
        break;
    case PROF_RAW_FLOW:
        begin_event(r, item->flags ? 'f' : 's', "flow", "flow", item);
        output_format(r->writer.out, item->flags ? ", \"id\": %lld, \"bp\": \"e\"}"
                                                 : ", \"id\": %lld}", (long long)item->value);
        break;
    case PROF_RAW_EVENT: take_event(r, item); break;
    case PROF_RAW_COUNTS: break;
    }
}

/* ---- The stream ---- */

bool raw_json_is_cpu_row(const prof_raw_item *item) {
    return item->value == 999 && item->name && strcmp(item->name, "CPU") == 0;
}

bool raw_json_is(const void *first, size_t size) {
    return size >= 4 && (memcmp(first, "FORP", 4) == 0 || memcmp(first, "PROF", 4) == 0);
}

static bool name_site(void *user, uint32_t at, const char *build, prof_site *site) {
    const raw_json *r = user;
    return r->elf && elf_site(r->elf, at, build, site);
}

void raw_json_names(raw_json *r, elf_names *elf) { r->elf = elf; }

void raw_json_take(raw_json *r, const raw_takers *takers) { r->takers = *takers; }

trace_text raw_json_sums(raw_json *r) {
    trace_text sums;
    sums.data = output_memory(&r->sums, &sums.size);
    return sums;
}

int64_t raw_json_base_ns(const raw_json *r) { return r->base_ns; }

raw_json *raw_json_open(output *out) {
    raw_json *r = allocate(sizeof *r);
    r->memory = allocate(RAW_READER);
    r->pid = 1;
    r->changes = raw_memory_new();
    writer_begin(&r->writer, out, false);
    output_open_memory(&r->sums);
    output_open_memory(&r->args);
    prof_raw_desc desc = {
        .memory = r->memory, .memory_size = RAW_READER, .item = take, .user = r,
        .elf_site = name_site
    };
    if (prof_raw_open(&desc, &r->raw) != PROF_OK) exit(fail(NULL, "out of memory"));
    return r;
}

void raw_json_read_ahead(raw_json *r, int fd, off_t begin) {
    raw_memory_read_ahead(r->changes, fd, begin, NULL, NULL);
    r->stacks = raw_stacks_read_ahead(fd, begin);
}

void raw_json_push(raw_json *r, const void *data, size_t size) {
    prof_raw_feed(r->raw, data, size);
}

void raw_stats_lose(const prof_raw_stats *stats, losses *lost) {
    uint64_t tail = stats->ended ? 0 : stats->tail_bytes;        /* raw_stats_tell tells that */
    losses_add_stream(lost, stats->missing_blocks, stats->missing_records,
                      stats->damaged_bytes - tail);
}

static void close_stream(raw_json *r) {
    if (r->closed) return;
    r->closed = true;
    prof_raw_close(r->raw, &r->stats);
    end_lanes(r);
    if (r->ends) sorter_finish(r->ends);
}

bool raw_json_end_some(raw_json *r) {
    enum { ENDS = 1000 };
    span end;
    close_stream(r);
    for (int i = 0; i < ENDS; i++) {
        if (!r->ends || !sorter_next(r->ends, &end)) return false;
        write_end(r, &end);
    }
    return true;
}

prof_raw_stats raw_json_end(raw_json *r) {
    while (raw_json_end_some(r)) {}
    raw_memory_lose(r->changes, &r->raw_lost.counts);
    raw_ranges_lose(&r->ranges, &r->raw_lost.counts);
    losses_end_raw(&r->lost, &r->raw_lost);
    raw_stats_lose(&r->stats, &r->lost);
    head_lists lists = {0};
    trace_text *sums = &lists.of[HEAD_SUMS];
    if (output_memory(&r->sums, &sums->size)) output_text(&r->sums, "]");
    sums->data = output_memory(&r->sums, &sums->size);
    if (r->has_memory) {
        writer_key(&r->writer, "profile_memory");
        output_text(r->writer.out, "1");
    }
    losses_write_head(&r->lost, &lists, 1, &r->writer);
    writer_end(&r->writer);
    return r->stats;
}

static bool is_cut(const prof_raw_stats *stats) { return !stats->ended && stats->tail_bytes > 0; }

bool raw_stats_tell(const prof_raw_stats *stats, const char *path) {
    bool cut = is_cut(stats);
    if (stats->newer)
        warn(path, "%llu blocks are of a newer version than %s, or of the old PROF_CORE",
             (unsigned long long)stats->newer, PROF_VERSION);
    if (stats->lost_details)
        warn(path, "%llu attributes of zones had no room, left out",
             (unsigned long long)stats->lost_details);
    if (stats->bad_sums)
        warn(path, "%llu rows of the stream's sums make no sense, left out",
             (unsigned long long)stats->bad_sums);
    if (!stats->ended)
        warn(path, cut ? "byte %llu: the stream ends early, within a block; read up to there"
                       : "byte %llu: the stream ends without its last block, as a run that "
                         "crashed leaves it",
             (unsigned long long)(stats->bytes - stats->tail_bytes));
    return cut;
}

bool raw_json_tell(raw_json *r, const char *path) {
    bool told = r->told;
    r->told = true;
    return told ? is_cut(&r->stats) : raw_stats_tell(&r->stats, path);
}

const losses *raw_json_losses(const raw_json *r) { return &r->lost; }

void raw_json_free(raw_json *r) {
    map_free(&r->threads);
    output_discard(&r->sums);
    free_lanes(r);
    output_discard(&r->args);
    raw_memory_free(r->changes);
    raw_ranges_free(&r->ranges);
    raw_stacks_free(r->stacks);
    map_free(&r->open);
    map_free(&r->rows);
    map_free(&r->place_numbers);
    free(r->places);
    if (r->ends) sorter_free(r->ends);
    free(r->members);
    free(r->text);
    arena_free(&r->memories);
    free(r->memory);
    free(r);
}
