/* Raw streams as events: see raw.h. */
#include "input/raw.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/span_sorter.h"
#include "input/elf_names.h"
#include "input/head_sums.h"
#include "input/losses.h"
#include "input/raw_ahead.h"
#include "input/tasks.h"
#include "library.h"

enum {
    HELD = 1024 /* zones of a thread */, LANES = 512, KNOWN_NAMES = 1 << 12,
    TOLD = 4096,                             /* keys of metadata */
    DEVICES_APART = 1 << 24                  /* between numbers of two types of devices */
};

typedef struct event_place { int64_t pid, tid; } event_place;

/* A call, or work that one of this id launched. */
typedef struct arrow_end {
    int64_t id, ts_ns;
    uint32_t place;
    bool is_launch;
    bool linked;                               /* a call whose link names an op, as in Kineto's
                                                  traces, or work by the id of such a call */
} arrow_end;

/* Zones of a thread that may still belong behind one to come: see end_order. */
typedef struct lane {
    raw_source *raw;
    end_order *order;
    uint32_t room;
    struct held {
        trace_text name;
        int64_t start_ns, end_ns, pid, tid;
        char *args;                          /* NULL: none */
        uint32_t site, thread;
        uint8_t depth;
        bool is_annotation;
    } *held;                                 /* room of them */
} lane;

struct raw_source {
    event_queue *to;
    bool as_ended;
    int spool;                               /* what a pipe sends is here first; -1: no file */
    off_t spooled;                           /* read of it */
    elf_names *elf;
    prof_raw *reader;
    void *memory;
    prof_raw_stats stats;
    bool has_session, any_event, named;      /* named: as prof.h's, which its head does too late */
    bool has_ops;                            /* from outside, that work may name */
    int64_t pid, base_ns, shift_ns;          /* shift: of a later session, since the first */
    int64_t last_ns;                         /* the end of all so far, since the first */
    map threads;                             /* number in the stream -> thread id */
    map labels;                              /* number in the stream -> its name, if that is told */
    losses lost;
    raw_losses raw_lost;
    uint64_t twice;                          /* ends of ranges that had ended */
    output sums;                             /* rows, as the head has them */
    interner keys;                           /* of metadata, and their last values; free() them */
    struct { char *text; size_t size; } values[TOLD];
    bool more_keys;
    interner names;                          /* of zones; those of sites by number: */
    struct known_name { const prof_site *site; uint32_t number; } known[KNOWN_NAMES];
    lane *lanes[LANES];
    size_t lane_count;
    map lane_numbers;                        /* number of a thread -> its lane + 1 */
    output args;                             /* of one event */
    raw_ahead *ahead;
    map ended_ranges;                        /* 64 of a session's ids in a value */
    const char *const *counters;
    uint32_t counter_count;
    bool has_memory;
    map open;                                /* thread -> open_zones, if it has memory */
    arena memories;
    int64_t last_id;
    uint64_t endless;                        /* zones with such an id whose end is missing */
    map rows;                                /* of devices, that have their names */
    span_sorter *ends;                       /* of arrows: by id, calls before work; NULL: none */
    arrow_end call;                            /* of the arrows that are being written; of none, */
    bool told_call, closed, ended;           /* if it is not told; closed: the stream is */
    bool has_cpu_row, told_wakes;            /* a kernel tells who runs */
    tasks kernel;                            /* of each session, by its number instead of a pid */
    wakes wakes;
    int64_t sessions, wake_count;
    event_place *places;                     /* of arrows from calls to work */
    size_t place_count, place_capacity;
    map place_numbers;                       /* hash of a place -> its number */
};

/* Ids of a thread's open zones that memory changed in, by depth; 0: none. What lies at a border of
   a zone, or where the clock is coarse, times do not tell. */
typedef struct open_zones {
    int64_t *ids;
    uint32_t room;               /* threads may be many */
} open_zones;

/* ---- What the stream tells, as events ---- */

static int64_t tid_of(const raw_source *r, uint32_t thread) {
    const uint64_t *id = map_get(&r->threads, thread);
    return id ? (int64_t)*id : (int64_t)thread;
}

static trace_event *add_event_at(raw_source *r, char phase, const char *category, const char *name,
                                 event_place at, int64_t ns) {
    trace_text cat = queue_clean(r->to, text_of(category));
    trace_event *event = queue_timed(r->to, phase, cat, queue_clean(r->to, text_of(name)),
                                     ns + r->shift_ns);
    event->pid = at.pid;
    event->tid = at.tid;
    r->any_event = true;
    return event;
}

static trace_event *add_event(raw_source *r, char phase, const char *category, const char *name,
                              const prof_raw_item *item) {
    event_place at = {r->pid, tid_of(r, item->thread)};
    trace_event *event = add_event_at(r, phase, category, name, at, item->start_ns);
    event->thread = item->thread;
    return event;
}

/* Metadata, of no category and mostly of no time. */
static trace_event *add_metadata(raw_source *r, const char *name, event_place at) {
    trace_event *event = queue_event(r->to, 'M', (trace_text){NULL, 0}, text_of(name));
    event->pid = at.pid;
    event->tid = at.tid;
    r->any_event = true;
    return event;
}

static trace_event *add_own_metadata(raw_source *r) {
    trace_event *event = add_metadata(r, "prof", (event_place){r->pid, 0});
    event->has |= TRACE_HAS_TS;
    return event;
}

static trace_text written(output *out) {
    trace_text text;
    text.data = output_memory(out, &text.size);
    return text;
}

/* One argument, a text. */
static void set_text(raw_source *r, trace_event *event, const char *key, const char *text) {
    output *out = queue_begin_args(r->to);
    output_format(out, "\"%s\": ", key);
    output_json_text(out, text, strlen(text));
    queue_end_args(r->to, event);
}

static void set_scope(trace_event *event) { event->scope = (trace_text){"\"t\"", 3}; }

static bool take_args(void *user, const void *data, size_t size) {
    output_write(user, data, size);
    return true;
}

/* ---- Zones ---- */

static int64_t *open_at(raw_source *r, uint32_t thread, uint32_t depth) {
    bool is_new;
    uint64_t *slot = map_put(&r->open, thread, &is_new);
    if (is_new) *slot = (uint64_t)(uintptr_t)arena_allocate(&r->memories, sizeof(open_zones));
    open_zones *open = (open_zones *)(uintptr_t)*slot;
    if (depth >= open->room) {
        uint32_t room = 2 * (depth + 1);
        int64_t *ids = arena_allocate(&r->memories, room * sizeof *ids);
        if (open->room) memcpy(ids, open->ids, open->room * sizeof *ids);
        *open = (open_zones){ids, room};
    }
    return &open->ids[depth];
}

/* Of what is in `open` of a thread, zones from this depth on that memory has named. */
static uint64_t named_zones(uint64_t slot, uint32_t depth) {
    const open_zones *open = (const open_zones *)(uintptr_t)slot;
    uint64_t count = 0;
    for (; depth < open->room; depth++) count += open->ids[depth] != 0;
    return count;
}

/* The id of a zone that ends; 0: nobody named it. */
static int64_t id_of_ended(raw_source *r, const prof_raw_item *item) {
    const uint64_t *slot = r->open.count ? map_get(&r->open, item->thread) : NULL;
    open_zones *open = slot ? (open_zones *)(uintptr_t)*slot : NULL;
    if (!open || item->depth >= open->room) return 0;
    int64_t id = open->ids[item->depth];
    r->endless += named_zones(*slot, item->depth + 1);
    memset(open->ids + item->depth, 0, (open->room - item->depth) * sizeof id);
    return id;
}

/* A copy of what is in memory, with a 0 behind it; free() it. */
static char *output_copy(output *from, size_t *size) {
    const char *text = output_memory(from, size);
    char *copy = allocate(*size + 1);
    if (*size) memcpy(copy, text, *size);
    return copy;
}

static void add_id(raw_source *r, const char *key, int64_t id) {
    size_t size;
    char *members = output_copy(&r->args, &size);
    output_forget(&r->args);
    if (size > 2) output_write(&r->args, members, size - 1);
    output_format(&r->args, "%s\"%s\":%lld}", size > 2 ? "," : "{", key, (long long)id);
    free(members);
}

/* Counters go before its own metadata, as members; free() it. */
static char *with_counters(raw_source *r, const prof_extra *x) {
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

/* Writes what a zone carries, as {...}; false: nothing. A stream may be anybody's: its members are
   looked at (PROF_EVENT_SUBMITTED), and are a text where they are no JSON. */
static bool write_args(raw_source *r, const prof_raw_item *item) {
    int64_t id = id_of_ended(r, item);
    if (!item->extra && !item->flags && !id) return false;
    prof_extra extra = {.node_id = -1, .sequence_nr = -1};
    prof_event event = {.name = item->name, .extra = item->extra,
                        .flags = (uint16_t)(item->flags | PROF_EVENT_SUBMITTED)};
    char *json = NULL;
    if (item->extra && item->extra->counter_count) {
        extra = *item->extra;
        extra.metadata_json = json = with_counters(r, item->extra);
        event.extra = &extra;
    }
    output_forget(&r->args);
    write_event_args(&event, (prof_sink){take_args, &r->args});
    free(json);
    if (id) add_id(r, KEY_ZONE, id);
    return written(&r->args).size > 2;
}

/* "aten::add.Tensor", as PyTorch has it. */
static uint32_t overloaded(raw_source *r, const prof_raw_item *item) {
    size_t size = strlen(item->name) + strlen(item->extra->overload_name) + 2;
    char *name = allocate(size);
    snprintf(name, size, "%s.%s", item->name, item->extra->overload_name);
    uint32_t number = intern_clean(&r->names, text_of(name));
    free(name);
    return number;
}

/* A number for its name. What a site was called once is known. */
static uint32_t name_number(raw_source *r, const prof_raw_item *item) {
    if (item->extra && item->extra->overload_name && *item->extra->overload_name)
        return overloaded(r, item);
    struct known_name *known = &r->known[(uintptr_t)item->site / 8 % KNOWN_NAMES];
    if (item->site && known->site == item->site) return known->number;
    known->site = item->site;
    return known->number = intern_clean(&r->names, text_of(item->name));
}

static void put_zone(raw_source *r, const struct held *zone, trace_text args) {
    static const trace_text op = {"cpu_op", 6}, annotation = {"user_annotation", 15};
    trace_event *event = queue_event(r->to, 'X', zone->is_annotation ? annotation : op, zone->name);
    event->kind = zone->is_annotation ? TRACE_ANNOTATION : TRACE_CPU_OP;
    event->pid = zone->pid;
    event->tid = zone->tid;
    event->ts_ns = zone->start_ns;
    event->dur_ns = zone->end_ns - zone->start_ns;
    event->has |= TRACE_HAS_TS | TRACE_HAS_DUR;
    event->depth = zone->depth;
    event->site = zone->site;
    event->thread = zone->thread;
    r->any_event = true;
    if (args.size) queue_args(r->to, event, args);
}

static void put_held(void *user, uint32_t slot) {
    const lane *l = user;
    struct held *zone = &l->held[slot];
    put_zone(l->raw, zone, zone->args ? text_of(zone->args) : (trace_text){"", 0});
    free(zone->args);
    zone->args = NULL;
}

static void free_lanes(raw_source *r) {
    for (size_t i = 0; i < r->lane_count; i++) {
        lane *l = r->lanes[i];
        for (uint32_t at = 0; at < l->room; at++) free(l->held[at].args);
        end_order_free(l->order);
        free(l->held);
        free(l);
    }
    r->lane_count = 0;
    map_free(&r->lane_numbers);
}

static void end_lanes(raw_source *r) {
    for (size_t i = 0; i < r->lane_count; i++) end_order_end(r->lanes[i]->order);
}

/* A stream has its threads in turns. Of very many, all begin anew. */
static lane *lane_of(raw_source *r, uint32_t thread) {
    const uint64_t *known = map_get(&r->lane_numbers, thread);
    if (known) return r->lanes[*known - 1];
    if (r->lane_count == LANES) {
        end_lanes(r);
        free_lanes(r);
    }
    lane *l = r->lanes[r->lane_count++] = allocate(sizeof *l);
    l->raw = r;
    l->order = end_order_new(put_held, l);
    if (!l->order) exit(fail(NULL, "out of memory"));
    *map_put(&r->lane_numbers, thread, NULL) = r->lane_count;
    return l;
}

/* Most threads need few slots. */
static void make_places(lane *l) {
    uint32_t room = l->room ? 2 * l->room : 16;
    if (!end_order_is_full(l->order) || room > HELD) return;
    l->held = reallocate(l->held, room * sizeof *l->held);
    memset(l->held + l->room, 0, (room - l->room) * sizeof *l->held);
    if (!end_order_room(l->order, l->room = room)) exit(fail(NULL, "out of memory"));
}

/* Who runs, in a kernel's row of that. */
static void take_run(raw_source *r, const prof_raw_item *item) {
    if (!r->has_cpu_row || tid_of(r, item->thread) != CPU_ROW) return;
    tasks_add(&r->kernel, r->sessions, text_of(item->name), item->start_ns + r->shift_ns,
              item->end_ns + r->shift_ns);
}

static void take_zone(raw_source *r, const prof_raw_item *item) {
    uint32_t name = name_number(r, item);
    struct held zone = {
        .name = {r->names.entries[name].text, r->names.entries[name].size},
        .start_ns = item->start_ns + r->shift_ns, .end_ns = item->end_ns + r->shift_ns,
        .pid = r->pid, .tid = tid_of(r, item->thread), .thread = item->thread,
        .depth = item->depth, .is_annotation = (item->flags & PROF_EVENT_USER_ANNOTATION) != 0
    };
    bool has_args = write_args(r, item);
    if (!has_args && !zone.is_annotation) zone.site = name + 1;
    if (r->as_ended) {
        put_zone(r, &zone, has_args ? written(&r->args) : (trace_text){"", 0});
        return;
    }
    size_t size;
    if (has_args) zone.args = output_copy(&r->args, &size);
    lane *l = lane_of(r, item->thread);
    make_places(l);
    l->held[end_order_add(l->order, item->depth, item->start_ns)] = zone;
}

/* Nothing more comes that zones held of a thread may belong behind. */
static void end_thread(raw_source *r, uint32_t thread) {
    const uint64_t *known = map_get(&r->lane_numbers, thread);
    if (known) end_order_end(r->lanes[*known - 1]->order);
}

/* ---- What is no zone ---- */

/* The first one is the trace's; one that begins later is placed behind it by its clock, or, as
   targets do not tell when a session begins, behind all before. */
static void take_session(raw_source *r, const prof_raw_item *item) {
    losses_take_raw(&r->lost, &r->raw_lost, item);
    map_free(&r->ended_ranges);
    end_lanes(r);
    if (!r->has_session) r->base_ns = item->start_ns;
    if (!r->has_session && !r->any_event) {              /* else the stream's begin is missing */
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)r->base_ns);
        queue_member(r->to, text_of("schemaVersion"), text_of("1"));
        queue_member(r->to, text_of("baseTimeNanoseconds"), text_of(text));
    }
    r->shift_ns = r->has_session && !item->start_ns ? r->last_ns : item->start_ns - r->base_ns;
    r->has_session = true;
    r->has_cpu_row = false;
    r->sessions++;
    r->pid = item->value;
}

/* Its readers must know that before what stands for zones in sums, or tells which task ran. */
static void name_ours(raw_source *r) {
    if (r->named) return;
    r->named = true;
    set_text(r, add_metadata(r, "prof", (event_place){r->pid, 0}), "version", PROF_VERSION);
}

/* Is it the name that prof.h gives an exception of a Cortex-M, by ARM's manuals? */
static bool is_exception(const char *name, int64_t n) {
    static const char *const names[] = {"", "", "NMI", "HardFault", "MemManage", "BusFault",
        "UsageFault", "SecureFault", "", "", "", "SVCall", "DebugMonitor", "", "PendSV", "SysTick"};
    char irq[32];
    if (n < 2) return false;
    snprintf(irq, sizeof irq, "IRQ %lld", (long long)n - 16);
    return strcmp(name, n < 16 ? names[n] : irq) == 0;
}

static void take_thread(raw_source *r, const prof_raw_item *item) {
    char handler[ELF_LONGEST_NAME];
    uint64_t *named = map_put(&r->labels, item->thread, NULL);
    if (tid_of(r, item->thread) != item->value) {
        end_thread(r, item->thread);
        *named = 0;
    }
    *map_put(&r->threads, item->thread, NULL) = (uint64_t)item->value;
    if (!item->name || *named == (uintptr_t)item->name) return;
    *named = (uintptr_t)item->name;              /* the text of a name is kept once */
    r->has_cpu_row |= raw_is_cpu_row(item);
    if (raw_is_cpu_row(item)) name_ours(r);
    bool by_elf = r->elf && is_exception(item->name, item->value) &&
                  elf_handler(r->elf, (size_t)item->value, handler);
    set_text(r, add_metadata(r, "thread_name", (event_place){r->pid, item->value}), "name",
             by_elf ? handler : item->name);
}

static void take_step(raw_source *r, const prof_raw_item *item) {
    char step[40];
    end_thread(r, item->thread);
    snprintf(step, sizeof step, "ProfilerStep#%lld", (long long)item->value);
    trace_event *event = add_event(r, 'X', "user_annotation", step, item);
    queue_until(event, item->end_ns - item->start_ns);
}

static void take_instant(raw_source *r, const prof_raw_item *item) {
    trace_event *event = add_event(r, 'i', "cpu_instant_event", item->name, item);
    set_scope(event);
    tasks_ready(&r->kernel, r->sessions, event->tid, text_of(item->name), event->ts_ns);
}

static void take_counter(raw_source *r, const prof_raw_item *item) {
    trace_event *event = add_event(r, 'C', "counter", item->name, item);
    output *out = queue_begin_args(r->to);
    output_text(out, "\"value\": ");
    if (item->kind == PROF_RAW_COUNTER_F) output_double(out, item->number);
    else output_int(out, item->value);
    queue_end_args(r->to, event);
}

/* The id of the zone that memory changed in, which is still to come; 0: it is in none. */
static int64_t id_around(raw_source *r, const prof_raw_item *item) {
    int64_t *id = item->depth < 255 ? open_at(r, item->thread, item->depth) : NULL;
    if (id && !*id) *id = ++r->last_id;
    return id ? *id : 0;
}

/* A change of memory, of so many bytes. */
static void put_change(raw_source *r, const prof_raw_item *item, int64_t bytes, int64_t total,
                       bool missed) {
    static const char *const kinds[] = {"", "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY",
                                        "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL"};
    const prof_memory_change *c = item->memory;
    trace_event *event = add_event(r, 'i', "cpu_instant_event", item->name, item);
    output *out = queue_begin_args(r->to);
    set_scope(event);
    event->depth = item->depth < 255 ? item->depth : TRACE_IN_NONE;
    output_format(out, "\"" KEY_DEVICE_TYPE "\": %u, \"" KEY_DEVICE_INDEX "\": %d",
                  c->device.type, c->device.type ? c->device.index : -1);
    if (!item->failed)
        output_format(out, ", \"" KEY_ADDRESS "\": %llu", (unsigned long long)c->address);
    output_format(out, ", \"" KEY_BYTES "\": %lld, \"" KEY_TOTAL "\": %lld, "
                       "\"Total Reserved\": 0",
                  (long long)bytes, (long long)total);
    if (*kinds[c->kind & 7])
        output_format(out, ", \"" KEY_CATEGORY "\": \"%s\"", kinds[c->kind & 7]);
    output_format(out, ", \"" KEY_ZONE_PARENT "\": %lld", (long long)id_around(r, item));
    output_text(out, missed ? ", \"" KEY_MISSED "\": true" : "");
    queue_end_args(r->to, event);
}

static void take_memory(raw_source *r, const prof_raw_item *item) {
    raw_change c = raw_ahead_change(r->ahead, item);
    if (item->failed) c.bytes = (int64_t)item->memory->bytes;
    else if (!c.counts) return;
    if (c.missed) put_change(r, item, -c.missed, c.total - c.bytes, true);
    put_change(r, item, c.bytes, c.total, false);
}

static void take_range(raw_source *r, const prof_raw_item *item) {
    prof_raw_item end = *item;
    end.start_ns = item->end_ns;
    trace_event *begin = add_event(r, 'b', "async", item->name, item);
    begin->depth = TRACE_IN_NONE;
    queue_id(r->to, begin, item->value);
    queue_id(r->to, add_event(r, 'e', "async", item->name, &end), item->value);
}

static void take_flow(raw_source *r, const prof_raw_item *item) {
    trace_event *event = add_event(r, item->flags ? 'f' : 's', "flow", "flow", item);
    queue_id(r->to, event, item->value);
    if (item->flags) event->bp = (trace_text){"\"e\"", 3};
}

/* Before the events that have them: names of counters, and that memory names a zone to come. */
static void take_details(raw_source *r, const prof_raw_item *item) {
    bool memory = (item->value & PROF_RAW_HAS_MEMORY) != 0;
    bool known = r->counter_count == item->counter_count && r->has_memory == memory;
    r->has_memory |= memory;
    r->counters = item->counter_names;
    r->counter_count = item->counter_count;
    if (known) return;
    trace_event *event = add_own_metadata(r);
    output *out = queue_begin_args(r->to);
    for (uint32_t i = 0; i < r->counter_count; i++) {
        output_text(out, i ? ", " : "\"" KEY_COUNTERS "\": [");
        output_json_text(out, r->counters[i], strlen(r->counters[i]));
    }
    output_text(out, r->counter_count ? "]" : "");
    output_text(out, r->counter_count && r->has_memory ? ", " : "");
    output_text(out, r->has_memory ? "\"" KEY_ZONE_IDS "\": \"ahead\"" : "");
    queue_end_args(r->to, event);
}

static void take_sums(raw_source *r, const prof_average *a) {
    output *out = &r->sums;
    output_text(out, written(out).size ? ",\n{\"name\": " : "[\n{\"name\": ");
    output_json_text(out, a->key, strlen(a->key));
#define FIELD(key, member) output_format(out, ", \"" key "\": %lld", (long long)a->member);
    SUM_FIELDS(FIELD)
    output_text(out, "}");
}

/* ---- Events of prof_submit: as prof.h writes those of a trace ---- */

static void device_name(const prof_raw_item *item, char name[64]) {
    size_t i = 0;
    for (; item->device[i] && i < 63; i++) name[i] = (char)toupper((unsigned char)item->device[i]);
    name[i] = 0;
}

/* Before the events that run on it. */
static void tell_type(raw_source *r, int64_t type, const char *name) {
    trace_event *event = add_own_metadata(r);
    output *out = queue_begin_args(r->to);
    output_format(out, "\"device_types\": {\"%lld\": ", (long long)type);
    output_json_text(out, name, strlen(name));
    output_text(out, "}");
    queue_end_args(r->to, event);
}

/* Devices of other types than the first have numbers of their own. */
static int64_t device_of(raw_source *r, const prof_raw_item *item) {
    bool indexed = item->extra->has & PROF_HAS_DEVICE_INDEX;
    size_t type = 0, known = r->lost.type_count;
    char name[64];
    device_name(item, name);
    losses_add_type(&r->lost, item->device_type, name);
    while (type < r->lost.type_count && r->lost.types[type].type != item->device_type) type++;
    if (type == known && type < r->lost.type_count) tell_type(r, item->device_type, name);
    return (indexed ? item->extra->device_index : 0) + (int64_t)type * DEVICES_APART;
}

static event_place place_of(raw_source *r, const prof_raw_item *item) {
    int64_t id = item->extra->device_resource_id;
    if (strcmp(item->extra->activity_type, "overhead") == 0) return (event_place){-1, 0};
    if (item->device_type == PROF_DEVICE_CPU)
        return (event_place){r->pid, tid_of(r, item->thread)};
    return (event_place){device_of(r, item), id == INT64_MIN ? 0 : id < 0 ? -id : id};
}

/* A device is a process, its streams are threads. */
static void name_row(raw_source *r, const prof_raw_item *item, event_place at) {
    bool is_new;
    char name[96];
    if (item->device_type == PROF_DEVICE_CPU) return;
    device_name(item, name);
    map_put(&r->rows, (uint64_t)at.pid << 32 | UINT32_MAX, &is_new);
    if (is_new) {
        size_t size = strlen(name);
        snprintf(name + size, sizeof name - size, " %lld", (long long)(at.pid % DEVICES_APART));
        set_text(r, add_metadata(r, "process_labels", (event_place){at.pid, 0}), "labels", name);
    }
    map_put(&r->rows, (uint64_t)at.pid << 32 ^ (uint64_t)at.tid, &is_new);
    if (!is_new) return;
    snprintf(name, sizeof name, "stream %lld ", (long long)at.tid);
    set_text(r, add_metadata(r, "thread_name", at), "name", name);
}

static bool is_launch(const prof_raw_item *item) {
    const char *type = item->extra->activity_type;
    return item->device_type == PROF_DEVICE_CPU && item->extra->has & PROF_HAS_ID &&
           (ends_with(type, "_runtime") || ends_with(type, "_driver"));
}

static void put_arrow(raw_source *r, char phase, const arrow_end *end) {
    trace_event *event = add_event_at(r, phase, "ac2g", "ac2g", r->places[end->place],
                                      end->ts_ns - r->shift_ns);
    queue_id(r->to, event, end->id);
    if (phase == 'f') event->bp = (trace_text){"\"e\"", 3};
}

static uint32_t place_number(raw_source *r, event_place at) {
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

static bool end_before(const void *one, const void *other) {
    const arrow_end *a = one, *b = other;
    if (a->id != b->id) return a->id < b->id;
    return a->linked != b->linked ? b->linked : a->is_launch && !b->is_launch;
}

/* Ends of arrows are kept until all are there: any may come first. Work has one by its link, and
   one by its own id. */
static void take_end(raw_source *r, const prof_raw_item *item, event_place at) {
    const prof_extra *x = item->extra;
    bool launch = is_launch(item), device = item->device_type != PROF_DEVICE_CPU;
    int64_t link = x->has & PROF_HAS_LINK ? x->linked_correlation_id : 0;
    int64_t id = launch || x->has & PROF_HAS_ID ? x->id : 0;
    if (!launch && !device) return;
    if (!r->ends) r->ends = sorter_of(sizeof(arrow_end), end_before);
    arrow_end end = {id, item->start_ns + r->shift_ns, place_number(r, at), launch,
                     !launch || link};
    if (id) sorter_add(r->ends, &end);
    end.id = link;
    end.linked = false;
    if (link && !launch) sorter_add(r->ends, &end);
}

/* From the first call of an id to all that it launched. */
static void put_end(raw_source *r, const arrow_end *end) {
    bool same = end->id == r->call.id && end->linked == r->call.linked;
    if (end->is_launch && same) return;
    if (end->is_launch) r->call = *end, r->told_call = false;
    if (end->is_launch || !same) return;
    if (!r->told_call) put_arrow(r, 's', &r->call);
    r->told_call = true;
    put_arrow(r, 'f', end);
}

/* From the instant at which a task was made ready to its run. */
static void put_wake(raw_source *r, const wake *w) {
    trace_event *event = add_event_at(r, 's', "wake", "wake", (event_place){r->pid, w->by_tid},
                                      w->ready_ns - r->shift_ns);
    queue_id(r->to, event, ++r->wake_count);
    event = add_event_at(r, 'f', "wake", "wake", (event_place){r->pid, CPU_ROW},
                         w->run_ns - r->shift_ns);
    queue_id(r->to, event, r->wake_count);
    event->bp = (trace_text){"\"e\"", 3};
}

/* An op from outside has its id as PyTorch's have, and its work, behind it, says it. 0: none. */
static int64_t op_id(raw_source *r, const prof_raw_item *item) {
    const prof_extra *x = item->extra;
    bool device = item->device_type != PROF_DEVICE_CPU;
    bool op = !device && x->has & PROF_HAS_ID && !is_launch(item);
    r->has_ops |= op;
    if (x->external_id) return 0;
    if (op) return x->id;
    return device && r->has_ops && x->has & PROF_HAS_LINK ? x->linked_correlation_id : 0;
}

static void take_event(raw_source *r, const prof_raw_item *item) {
    const char *type = item->extra->activity_type;
    bool instant = strcmp(type, "cpu_instant_event") == 0;
    event_place at = place_of(r, item);
    name_row(r, item, at);
    if (!*type) type = item->device_type != PROF_DEVICE_CPU ? "kernel" : "cpu_op";
    trace_event *event = add_event_at(r, instant ? 'i' : 'X', type, item->name, at, item->start_ns);
    if (instant) set_scope(event);
    else queue_until(event, item->end_ns - item->start_ns);
    prof_extra own = {.node_id = -1, .metadata_json = item->extra->metadata_json};
    prof_event carried = {.name = item->name, .extra = &own, .flags = PROF_EVENT_SUBMITTED};
    int64_t id = op_id(r, item);
    output_forget(&r->args);
    write_event_args(&carried, (prof_sink){take_args, &r->args});
    if (id) add_id(r, KEY_EXTERNAL_ID, id);
    queue_args(r->to, event, written(&r->args));
    take_end(r, item, at);
}

/* The end of a range (prof_async_begin) that had ended: only the first one counts. */
static bool has_ended(raw_source *r, const prof_raw_item *item) {
    uint64_t bit = (uint64_t)1 << (item->value & 63);
    uint64_t *bits = map_put(&r->ended_ranges, (uint64_t)item->value >> 6, NULL);
    bool twice = (*bits & bit) != 0;
    *bits |= bit;
    r->twice += twice;
    return twice;
}

/* ---- Members of the head ---- */

static void keep_member(raw_source *r, trace_text key, trace_text value) {
    static const char *const own[] = {"schemaVersion", "prof", "displayTimeUnit", "traceName",
                                      "baseTimeNanoseconds", "traceEvents", "device_clocks"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (text_is(key, own[i])) return;
    r->more_keys |= r->keys.count == TOLD;
    if (r->keys.count == TOLD) return;
    uint32_t number = intern(&r->keys, key.data, key.size);
    if (r->values[number].size == value.size &&
        memcmp(r->values[number].text, value.data, value.size) == 0) return;
    free(r->values[number].text);
    r->values[number].text = allocate(value.size + 1);
    memcpy(r->values[number].text, value.data, value.size);
    r->values[number].size = value.size;
}

/* What is no JSON becomes one text, "metadata_json", as where an event has it. */
static void take_member(raw_source *r, const prof_raw_item *item) {
    prof_extra own = {.node_id = -1, .sequence_nr = -1, .metadata_json = item->name};
    prof_event carried = {.name = "", .extra = &own, .flags = PROF_EVENT_SUBMITTED};
    trace_text key, value;
    output_forget(&r->args);
    write_event_args(&carried, (prof_sink){take_args, &r->args});
    trace_text rest = written(&r->args);
    while (json_next(&rest, &key, &value)) keep_member(r, key, value);
}

static bool told_member(const raw_source *r, const char *key) {
    for (size_t i = 0; i < r->keys.count; i++)
        if (strcmp(r->keys.entries[i].text, key) == 0) return true;
    return false;
}

static void put_members(raw_source *r) {
    for (uint32_t i = 0; i < r->keys.count; i++)
        queue_member(r->to, (trace_text){r->keys.entries[i].text, r->keys.entries[i].size},
                     (trace_text){r->values[i].text, r->values[i].size});
}

static void take(void *user, const prof_raw_item *item) {
    raw_source *r = user;
    if (item->kind == PROF_RAW_ASYNC && has_ended(r, item)) return;
    if (item->end_ns < INT64_MAX >> 2 && item->end_ns > r->last_ns - r->shift_ns)
        r->last_ns = item->end_ns + r->shift_ns;
    switch (item->kind) {
    case PROF_RAW_SESSION: take_session(r, item); break;
    case PROF_RAW_THREAD: take_thread(r, item); break;
    case PROF_RAW_ZONE:
        if (item->name[0] == '(' && strcmp(item->name, "(in sums)") == 0) name_ours(r);
        take_run(r, item);
        take_zone(r, raw_ahead_zone(r->ahead, item));
        break;
    case PROF_RAW_STEP: take_step(r, item); break;
    case PROF_RAW_INSTANT: take_instant(r, item); break;
    case PROF_RAW_COUNTER: case PROF_RAW_COUNTER_F: take_counter(r, item); break;
    case PROF_RAW_SUMS:
        losses_take_raw(&r->lost, &r->raw_lost, item);
        take_sums(r, item->average);
        break;
    case PROF_RAW_DETAILS: take_details(r, item); break;
    case PROF_RAW_MEMORY: take_memory(r, item); break;
    case PROF_RAW_ASYNC: take_range(r, item); break;
    case PROF_RAW_FLOW: take_flow(r, item); break;
    case PROF_RAW_EVENT: take_event(r, item); break;
    case PROF_RAW_METADATA: take_member(r, item); break;
    case PROF_RAW_COUNTS: losses_take_raw(&r->lost, &r->raw_lost, item); break;
    }
}

/* ---- The stream ---- */

bool raw_is_cpu_row(const prof_raw_item *item) {
    return item->value == 999 && item->name && strcmp(item->name, "CPU") == 0;
}

bool raw_is(const void *first, size_t size) {
    return size >= 4 && (memcmp(first, "FORP", 4) == 0 || memcmp(first, "PROF", 4) == 0);
}

/* A zone takes 12 bytes; of a target (version 3) five or so. */
unsigned raw_as_json(const void *first) {
    const unsigned char *p = first;
    return p[p[0] == 'F' ? 6 : 5] == 3 ? 20 : 8;
}

static bool name_site(void *user, uint32_t at, const char *build, prof_site *site) {
    const raw_source *r = user;
    return r->elf && elf_site(r->elf, at, build, site);
}

void raw_names(raw_source *r, elf_names *elf) { r->elf = elf; }

/* What a zone's memory and stack are may stand behind it: so the file is looked at first. */
static void look_ahead(raw_source *r, int fd, off_t begin) {
    bool is_whole = raw_ahead_read(r->ahead, fd, begin);
    r->to->as_ended = r->as_ended &= is_whole;
}

raw_source *raw_open(const source_desc *desc) {
    raw_source *r = allocate(sizeof *r);
    r->to = desc->to;
    r->as_ended = desc->as_ended;
    r->spool = -1;
    r->memory = allocate(RAW_READER);
    r->pid = 1;
    r->ahead = raw_ahead_new();
    output_open_memory(&r->sums);
    output_open_memory(&r->args);
    prof_raw_desc reader = {
        .memory = r->memory, .memory_size = RAW_READER, .item = take, .user = r,
        .elf_site = name_site, .shown = demangled
    };
    if (prof_raw_open(&reader, &r->reader) != PROF_OK) exit(fail(NULL, "out of memory"));
    if (desc->fd >= 0) look_ahead(r, desc->fd, desc->begin);
    else if (!desc->live && (r->spool = temporary_unnamed()) < 0) temporary_failed();
    return r;
}

void raw_push(raw_source *r, const void *data, size_t size) {
    if (r->spool < 0) prof_raw_feed(r->reader, data, size);
    else if (!file_write(r->spool, data, size)) temporary_failed();
}

/* The next piece of what a pipe sent. */
static void read_spool(raw_source *r) {
    unsigned char piece[1 << 14];
    if (!r->spooled) look_ahead(r, r->spool, 0);
    ssize_t got = pread(r->spool, piece, sizeof piece, r->spooled);
    if (got < 0) temporary_failed();
    prof_raw_feed(r->reader, piece, (size_t)got);
    r->spooled += got;
    if (got) return;
    close(r->spool);
    r->spool = -1;
}

static void end_stream(raw_source *r) {
    r->closed = true;
    prof_raw_close(r->reader, &r->stats);
    end_lanes(r);
    if (r->ends) sorter_finish(r->ends);
    tasks_sort(&r->kernel);
}

/* The next arrow, of the one kind or the other. */
static bool put_next_arrow(raw_source *r) {
    arrow_end end;
    wake woke;
    if (r->ends && sorter_next(r->ends, &end)) put_end(r, &end);
    else if (!r->told_wakes && tasks_next_wake(&r->kernel, &r->wakes, &woke)) put_wake(r, &woke);
    else r->told_wakes = true;
    return !r->told_wakes;
}

/* The head. */
static void put_head(raw_source *r) {
    head_lists lists = {0};
    raw_ahead_lose(r->ahead, &r->raw_lost.counts);
    r->raw_lost.counts.unbalanced += r->twice;
    losses_end_raw(&r->lost, &r->raw_lost);
    losses_add_stream(&r->lost, r->stats.missing_blocks, r->stats.missing_records,
                      r->stats.damaged_bytes - (r->stats.ended ? 0 : r->stats.tail_bytes));
    if (written(&r->sums).size) output_text(&r->sums, "]");
    lists.of[HEAD_SUMS] = written(&r->sums);
    output_forget(&r->args);
    output_text(&r->args, r->has_memory && !told_member(r, "profile_memory")
                ? "{\"profile_memory\": 1, " : "{");
    losses_write_head(&r->lost, &lists, 1, &r->args);
    output_text(&r->args, "}");
    queue_members(r->to, written(&r->args));
    put_members(r);
}

bool raw_end(raw_source *r) {
    enum { ENDS = 1000 };
    if (r->spool >= 0) return read_spool(r), true;
    if (!r->closed) return end_stream(r), true;
    for (int i = 0; put_next_arrow(r); i++)
        if (i + 1 == ENDS) return true;
    if (!r->ended) put_head(r);
    r->ended = true;
    return false;
}

/* Zones that memory changed in, and that are still open at the stream's end. */
static uint64_t still_open(const raw_source *r) {
    uint64_t count = r->open.has_zero ? named_zones(r->open.zero_value, 0) : 0;
    for (size_t i = 0; i < r->open.slot_count; i++)
        if (r->open.slots[i].key) count += named_zones(r->open.slots[i].value, 0);
    return count;
}

bool raw_tell(raw_source *r, const char *path) {
    const prof_raw_stats *stats = &r->stats;
    uint64_t endless = r->endless + still_open(r);
    if (endless)
        warn(path, "%llu zones that memory changed in have no end: those changes are in no row",
             (unsigned long long)endless);
    if (stats->newer)
        warn(path, "%llu blocks are of a newer version than %s, or of the old PROF_CORE",
             (unsigned long long)stats->newer, PROF_VERSION);
    if (stats->lost_details)
        warn(path, "%llu attributes of zones had no room, left out",
             (unsigned long long)stats->lost_details);
    if (r->more_keys)
        warn(path, "it has metadata of more than %d keys: what comes behind them is left out",
             TOLD - 1);
    if (stats->odd_blocks)
        warn(path, "%llu blocks hold a count, size or time that cannot be: left out; the first "
             "begins at byte %llu", (unsigned long long)stats->odd_blocks,
             (unsigned long long)stats->first_odd);
    if (stats->bad_sums)
        warn(path, "%llu rows of the stream's sums make no sense, left out",
             (unsigned long long)stats->bad_sums);
    if (stats->repeated_records)
        warn(path, "%llu records come twice, left out: a dump or a block was sent again, or a "
                   "board was reset and began its session at the same tick of its clock: read "
                   "what it sent before and after by themselves",
             (unsigned long long)stats->repeated_records);
    if (!stats->ended)
        warn(path, stats->tail_bytes
                       ? "byte %llu: the stream ends early, within a block; read up to there"
                       : "byte %llu: the stream ends without its last block: the program ended "
                         "before its session, and what each thread recorded in the 2 ms before its "
                         "own last end may be lost",
             (unsigned long long)(stats->bytes - stats->tail_bytes));
    return !stats->ended || stats->odd_blocks;
}

const prof_raw_stats *raw_stats(const raw_source *r) { return &r->stats; }

const losses *raw_losses_of(const raw_source *r) { return &r->lost; }

void raw_close(raw_source *r) {
    if (r->spool >= 0) close(r->spool);
    map_free(&r->threads);
    map_free(&r->labels);
    output_discard(&r->sums);
    free_lanes(r);
    output_discard(&r->args);
    intern_free(&r->names);
    for (size_t i = 0; i < r->keys.count; i++) free(r->values[i].text);
    intern_free(&r->keys);
    raw_ahead_free(r->ahead);
    map_free(&r->ended_ranges);
    map_free(&r->open);
    map_free(&r->rows);
    map_free(&r->place_numbers);
    free(r->places);
    if (r->ends) sorter_free(r->ends);
    map_free(&r->wakes.waiting);
    tasks_clear(&r->kernel);
    arena_free(&r->memories);
    free(r->memory);
    free(r);
}

/* ---- As a format ---- */

static int is_raw(const void *first, size_t size) { return size < 4 ? -1 : raw_is(first, size); }
static void *open_raw(const source_desc *desc) { return raw_open(desc); }
static void push_raw(void *raw, const void *data, size_t size) { raw_push(raw, data, size); }
static bool end_raw(void *raw) { return raw_end(raw); }
static bool tell_raw(void *raw, const char *path) { return raw_tell(raw, path); }
static void close_raw(void *raw) { raw_close(raw); }

const source_format raw_format = {is_raw, open_raw, push_raw, end_raw, tell_raw, close_raw};
