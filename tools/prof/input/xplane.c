/* XLA's own profiles (NAME.xplane.pb of JAX, TensorFlow, PyTorch/XLA) as the events that its
   converter to trace.json makes of them: a plane is a process, a line a thread. They are defined in
   tsl/profiler/protobuf/xplane.proto of google/tsl. What names events stands behind the lines of a
   plane, and any plane may have the earliest line, which times count from: so the file is kept. */
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "input/event_source.h"
#include "input/losses.h"

enum { LONGEST_NAME = 256 };
#define LARGEST_PLANE (UINT64_C(1) << 31)

enum {                           /* fields */
    SPACE_PLANE = 1, SPACE_ERROR = 2, SPACE_WARNING = 3,
    PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENTS = 4, PLANE_STATS = 5,
    LINE_ID = 1, LINE_NAME = 2, LINE_NS = 3, LINE_EVENT = 4, LINE_DISPLAY_ID = 10,
    LINE_DISPLAY_NAME = 11,
    EVENT_METADATA = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_STAT = 4, EVENT_OCCURRENCES = 5,
    STAT_METADATA = 1, STAT_DOUBLE = 2, STAT_UINT = 3, STAT_INT = 4, STAT_TEXT = 5, STAT_REF = 7,
    MAP_KEY = 1, MAP_VALUE = 2, METADATA_NAME = 2, METADATA_DISPLAY_NAME = 4
};

/* odd: behind a number of it that is none; NULL: there is no such. */
typedef struct line {
    int64_t id, ns;
    trace_text name;
    pb_reader events;
    const uint8_t *odd;
} line;

typedef struct xplane {
    event_queue *to;
    losses *losses;
    uint8_t *buffer;             /* the file */
    size_t size, capacity, at;   /* at: what was read of it */
    const char *broken;          /* what is wrong there; NULL: nothing is */
    bool is_open;                /* a plane is */
    line *lines;                 /* its lines */
    size_t line_count, line_capacity, next_line;
    line line;                   /* what is left of the one that is read */
    int64_t pid;
    bool has_base;
    int64_t base_ns;
    uint64_t modules, modules_ps;        /* of devices whose ops are not there */
    map names, stats;            /* of a plane: id -> text + 1; those of stats are JSON */
    interner texts;
    output json;                 /* of one of them */
    uint64_t sums;
    uint64_t notes;              /* its maker's errors and warnings, */
    uint32_t note;               /* of which this is the first, in texts */
} xplane;

static trace_text text_in(const pb_field *f) {
    if (f->type != PB_BYTES) return (trace_text){"", 0};
    return (trace_text){(const char *)f->data, (size_t)f->value};
}

static trace_text known_text(const xplane *x, const map *names, uint64_t id) {
    const uint64_t *number = map_get(names, id);
    if (!number || !*number) return (trace_text){"", 0};
    const struct interned *text = &x->texts.entries[*number - 1];
    return (trace_text){text->text, text->size};
}

/* What stands before p cannot be so. */
static void odd_at(xplane *x, const char *field, const uint8_t *p, const char *what) {
    queue_odd(x->to, field, "byte", (uint64_t)(p - x->buffer), "%s", what);
}

static void check(xplane *x, const char *message, const pb_reader *r) {
    if (r->bad) odd_at(x, message, r->at, "ends within a field");
}

/* A field of this kind is a number; else it is odd. */
static uint64_t number_in(xplane *x, const pb_reader *r, const pb_field *f, const char *field) {
    if (f->type == PB_VARINT) return f->value;
    odd_at(x, field, r->at, "is no number");
    return 0;
}

/* The same of the id of a name, which the plane has. */
static trace_text name_of(xplane *x, const map *names, uint64_t id, const char *field,
                          const pb_reader *r) {
    if (!map_get(names, id)) odd_at(x, field, r->at, "is that of no name of its plane");
    return known_text(x, names, id);
}

/* ---- Planes ---- */

/* An entry of a map: id -> metadata, of which the name counts, or rather that for display. Those of
   statistics are kept as JSON, without quotes. */
static void take_metadata(xplane *x, map *names, pb_reader r) {
    pb_field f, part;
    uint64_t id = 0;
    trace_text name = {"", 0}, shown = {"", 0};
    while (pb_next(&r, &f)) {
        if (f.number == MAP_KEY) id = number_in(x, &r, &f, "key");
        if (f.number != MAP_VALUE || f.type != PB_BYTES) continue;
        for (pb_reader in = pb_within(&f); pb_next(&in, &part); ) {
            if (part.number == METADATA_NAME) name = text_in(&part);
            if (part.number == METADATA_DISPLAY_NAME && names == &x->names) shown = text_in(&part);
        }
    }
    check(x, "metadata", &r);
    if (shown.size) name = shown;
    if (names == &x->stats) {
        output_forget(&x->json);
        output_json_text(&x->json, name.data, name.size);
        name.data = output_memory(&x->json, &name.size) + 1;
        name.size -= 2;
    }
    *map_put(names, id, NULL) = intern_clean(&x->texts, name) + UINT64_C(1);
}

/* Its name may stand behind its events. */
static line line_of(const pb_field *f) {
    line l = {.events = pb_within(f)};
    pb_field part;
    for (pb_reader r = l.events; pb_next(&r, &part); ) {
        bool number = part.number == LINE_ID || part.number == LINE_DISPLAY_ID ||
                      part.number == LINE_NS;
        if (number && part.type != PB_VARINT) l.odd = r.at;
        if (pb_is_number(&part, LINE_ID) && !l.id) l.id = (int64_t)part.value;
        if (pb_is_number(&part, LINE_DISPLAY_ID) && part.value) l.id = (int64_t)part.value;
        if (pb_is_number(&part, LINE_NS)) l.ns = (int64_t)part.value;
        if (part.number == LINE_NAME && !l.name.size) l.name = text_in(&part);
        if (part.number == LINE_DISPLAY_NAME && part.value) l.name = text_in(&part);
    }
    return l;
}

/* The next plane, or what else the file has, behind *at. 0: more bytes are needed, -1: it is
   broken. */
static int next_part(const xplane *x, size_t *at, uint64_t *tag, pb_reader *part) {
    const uint8_t *from = x->buffer + *at, *end = x->buffer + x->size;
    uint64_t length = 0;
    int is = pb_read_varint(&from, end, tag);
    if (is > 0 && (*tag & 7) != PB_BYTES) is = -1;
    if (is > 0) is = pb_read_varint(&from, end, &length);
    if (is < 0 || length > LARGEST_PLANE) return -1;
    if (is == 0 || length > (uint64_t)(end - from)) return 0;
    *part = (pb_reader){from, from + length, false};
    *at = (size_t)(from - x->buffer) + (size_t)length;
    return 1;
}

static bool has_events(pb_reader events) {
    pb_field f;
    while (pb_next(&events, &f))
        if (f.number == LINE_EVENT) return true;
    return false;
}

static uint64_t sum_of(pb_reader events, uint64_t *count) {
    pb_field f, part;
    uint64_t ps = 0;
    while (pb_next(&events, &f)) {
        if (f.number != LINE_EVENT || f.type != PB_BYTES) continue;
        pb_reader event = pb_within(&f);
        while (pb_next(&event, &part)) ps += pb_is_number(&part, EVENT_DURATION) ? part.value : 0;
        ++*count;
    }
    return ps;
}

/* Its earliest line with events; a device's modules, whose time is that of its ops, if these are
   missing. */
static void survey_plane(xplane *x, pb_reader plane) {
    pb_field f;
    uint64_t modules = 0, ps = 0;
    bool device = false, ops = false;
    while (pb_next(&plane, &f)) {
        if (f.number == PLANE_NAME)
            device = text_begins(text_in(&f), "/device:");
        if (f.number != PLANE_LINE || f.type != PB_BYTES) continue;
        line l = line_of(&f);
        bool any = has_events(l.events), is_module = text_is(l.name, "XLA Modules");
        if (l.ns && (!x->base_ns || l.ns < x->base_ns) && any) x->base_ns = l.ns;
        if (is_module) ps += sum_of(l.events, &modules);
        ops |= any && !is_module && !text_is(l.name, "Steps");
    }
    x->modules += device && !ops ? modules : 0;
    x->modules_ps += device && !ops ? ps : 0;
}

/* Times count from the earliest line that has events, of whatever plane. */
static void tell_base(xplane *x) {
    char base[24];
    pb_reader plane;
    uint64_t tag;
    for (size_t at = 0; next_part(x, &at, &tag, &plane) > 0; )
        if (tag >> 3 == SPACE_PLANE) survey_plane(x, plane);
    losses_unread(x->losses, "XLA modules of devices without a row of ops", x->modules,
                  x->modules_ps / 1000);
    snprintf(base, sizeof base, "%lld", (long long)x->base_ns);
    if (x->base_ns) queue_member(x->to, text_of("baseTimeNanoseconds"), text_of(base));
    x->has_base = true;
}

/* Its names, and those of its rows, in front of its events. One without lines has none. */
static void begin_plane(xplane *x, pb_reader plane) {
    pb_field f;
    trace_text name = {"", 0};
    x->pid++;
    pb_reader r = plane;
    while (pb_next(&r, &f)) {
        if (f.number == PLANE_NAME) name = text_in(&f);
        if (f.number != PLANE_LINE || f.type != PB_BYTES) continue;
        GROW(x->lines, x->line_count, x->line_capacity);
        line l = x->lines[x->line_count++] = line_of(&f);
        if (l.odd) odd_at(x, "a line's number", l.odd, "is none");
    }
    check(x, "plane", &r);
    if (!x->line_count) return;
    if (!x->has_base) tell_base(x);
    if (name.size) queue_label(x->to, "process_name", x->pid, 0, name);
    for (const line *l = x->lines; l < x->lines + x->line_count; l++)
        if (l->name.size) queue_label(x->to, "thread_name", x->pid, l->id, l->name);
    map_free(&x->names);
    map_free(&x->stats);
    while (pb_next(&plane, &f)) {
        if (f.type != PB_BYTES) continue;
        if (f.number == PLANE_EVENTS) take_metadata(x, &x->names, pb_within(&f));
        if (f.number == PLANE_STATS) take_metadata(x, &x->stats, pb_within(&f));
    }
}

/* ---- Events ---- */

/* Where somebody tells what it is called. */
static void put_stat(xplane *x, pb_reader r) {
    pb_field fields[2] = {{0}}, *value = &fields[0], *f = &fields[1];
    uint64_t id = 0;
    double number;
    while (pb_next(&r, f)) {
        if (f->number == STAT_METADATA) id = number_in(x, &r, f, "XStat.metadata_id");
        if (f->number <= STAT_METADATA || f->number > STAT_REF) continue;
        value = f;                               /* not copied: what was just written is slow to */
        f = value == fields ? &fields[1] : fields;
    }
    trace_text key = name_of(x, &x->stats, id, "XStat.metadata_id", &r), text = text_in(value);
    check(x, "XStat", &r);
    if (!key.size) return;
    output *args = queue_arg(x->to, key);
    memcpy(&number, &value->value, sizeof number);
    if (value->number == STAT_DOUBLE && value->type == PB_FIXED64) output_double(args, number);
    else if (value->number == STAT_INT || (value->number == STAT_UINT && value->value <= INT64_MAX))
        output_int(args, (int64_t)value->value);
    else if (value->number == STAT_UINT)
        output_format(args, "%llu", (unsigned long long)value->value);
    else if (value->number == STAT_TEXT) output_json_text(args, text.data, text.size);
    else if (value->number == STAT_REF) {
        text = name_of(x, &x->stats, value->value, "XStat.ref_value", &r);
        output_text(args, "\"");
        output_write(args, text.data, text.size);
        output_text(args, "\"");
    } else output_text(args, "null");
}

/* Picoseconds become nanoseconds, begins and ends alike, so that what lay in another still does. */
static bool times_of(const xplane *x, int64_t offset, int64_t duration, int64_t *ns,
                     int64_t *dur) {
    int64_t end, since;
    if (offset < 0 || duration < 0 || __builtin_add_overflow(offset, duration, &end) ||
        __builtin_sub_overflow(x->line.ns, x->base_ns, &since) ||
        __builtin_add_overflow(since, offset / 1000, ns)) return false;
    *dur = end / 1000 - offset / 1000;
    return true;
}

static void put_event(xplane *x, pb_reader r) {
    pb_field f;
    uint64_t metadata = 0;
    int64_t offset = 0, duration = 0, ns, dur;
    bool is_sum = false, has_args = false;
    while (pb_next(&r, &f)) {
        if (f.number == EVENT_METADATA) metadata = number_in(x, &r, &f, "XEvent.metadata_id");
        if (f.number == EVENT_OFFSET) offset = (int64_t)number_in(x, &r, &f, "XEvent.offset_ps");
        if (f.number == EVENT_DURATION)
            duration = (int64_t)number_in(x, &r, &f, "XEvent.duration_ps");
        is_sum |= f.number == EVENT_OCCURRENCES;
        if (f.number != EVENT_STAT || f.type != PB_BYTES) continue;
        if (!has_args) queue_begin_args(x->to);
        has_args = true;
        put_stat(x, pb_within(&f));
    }
    check(x, "XEvent", &r);
    if (is_sum || !times_of(x, offset, duration, &ns, &dur)) {
        x->sums += is_sum;
        if (!is_sum) odd_at(x, "XEvent", r.at, "has an offset or duration that is no time");
        return;
    }
    trace_text name = name_of(x, &x->names, metadata, "XEvent.metadata_id", &r);
    trace_event *event = queue_timed(x->to, 'X', (trace_text){NULL, 0}, name, ns);
    event->pid = x->pid;
    event->tid = x->line.id;
    queue_until(event, dur);
    if (has_args) queue_end_args(x->to, event);
}

/* Some events of the plane. false: it has no more. */
static bool put_some(xplane *x) {
    enum { SOME = 100 };
    pb_field f;
    for (int i = 0; i < SOME; ) {
        if (pb_next(&x->line.events, &f)) {
            if (f.number == LINE_EVENT && f.type == PB_BYTES) put_event(x, pb_within(&f)), i++;
            continue;
        }
        if (x->line.events.at) check(x, "XLine", &x->line.events);
        if (x->next_line == x->line_count) return false;
        x->line = x->lines[x->next_line++];
    }
    return true;
}

/* ---- The whole ---- */

static void take_note(xplane *x, trace_text text) {
    if (!x->notes++) x->note = intern_clean(&x->texts, text);
}

/* Goes on in the plane, or with the next one. false: that was all. */
static bool go_on(xplane *x) {
    pb_reader plane;
    uint64_t tag;
    if (x->is_open && put_some(x)) return true;
    x->is_open = false;
    if (x->broken || x->at == x->size) return false;
    int is = next_part(x, &x->at, &tag, &plane);
    if (is < 0) x->broken = "this is no plane of a profile of XLA";
    if (is <= 0) return false;
    x->is_open = true;
    x->line.events = (pb_reader){0};
    x->line_count = x->next_line = 0;
    if (tag >> 3 == SPACE_PLANE) begin_plane(x, plane);
    if (tag >> 3 == SPACE_ERROR || tag >> 3 == SPACE_WARNING)
        take_note(x, (trace_text){(const char *)plane.at, (size_t)(plane.end - plane.at)});
    return true;
}

/* A plane begins with its number, or its name. */
static int is_xplane(const void *first, size_t size) {
    const uint8_t *at = first, *end = at + size;
    uint64_t length, number;
    if (*at++ != (SPACE_PLANE << 3 | PB_BYTES)) return 0;
    int is = pb_read_varint(&at, end, &length);
    if (is > 0 && at < end && *at == (1 << 3 | PB_VARINT)) {
        at++;
        is = pb_read_varint(&at, end, &number);
    }
    if (is <= 0) return is == 0 ? -1 : 0;
    if (at == end) return -1;
    if (*at++ != (PLANE_NAME << 3 | PB_BYTES)) return 0;
    is = pb_read_varint(&at, end, &length);
    if (is <= 0 || !length || length > LONGEST_NAME) return is == 0 ? -1 : 0;
    for (uint64_t i = 0; i < length; i++, at++) {
        if (at == end) return -1;
        if (*at < ' ' || *at > '~') return 0;
    }
    return 1;
}

static void *open_xplane(const source_desc *desc) {
    xplane *x = allocate(sizeof *x);
    x->to = desc->to;
    x->losses = desc->losses;
    output_open_memory(&x->json);
    return x;
}

static void push_xplane(void *source, const void *data, size_t size) {
    xplane *x = source;
    while (x->capacity - x->size < size) {
        x->capacity = x->capacity ? 2 * x->capacity : 1 << 16;
        x->buffer = reallocate(x->buffer, x->capacity);
    }
    memcpy(x->buffer + x->size, data, size);
    x->size += size;
}

static bool end_xplane(void *source) {
    return go_on(source);
}

static bool tell_xplane(void *source, const char *path) {
    const xplane *x = source;
    if (x->notes)
        warn(path, "what made it tells of %llu errors or warnings, first: %.400s",
             (unsigned long long)x->notes, interned_text(&x->texts, x->note));
    if (x->sums)
        warn(path, "%llu events are sums without a time: left out", (unsigned long long)x->sums);
    const char *early = x->at < x->size ? "the file ends early" : NULL;
    return tell_end(path, x->at, x->broken ? x->broken : early);
}

static void close_xplane(void *source) {
    xplane *x = source;
    free(x->buffer);
    free(x->lines);
    map_free(&x->names);
    map_free(&x->stats);
    intern_free(&x->texts);
    output_discard(&x->json);
    free(x);
}

const source_format xplane_format = {
    is_xplane, open_xplane, push_xplane, end_xplane, tell_xplane, close_xplane
};
