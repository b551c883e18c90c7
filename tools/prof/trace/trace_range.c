/* A part of a trace by time or step: see trace_range.h. */
#include "trace/trace_range.h"

#include "input/far_times.h"

#include <stdlib.h>
#include <string.h>

bool time_parse(const char *text, int64_t *ns) {
    static const struct { const char *unit; double ns; } units[] = {
        {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"", 1e3}, {"ns", 1}
    };
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end > text && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        if (!(value * units[i].ns < 4e18 && value * units[i].ns > -4e18)) return false;
        trace_text digits = {text, (size_t)(end - text)};
        if (units[i].ns == 1e3 && json_ns(digits, ns)) return true;     /* to the ns */
        *ns = (int64_t)(value * units[i].ns);
        return true;
    }
    return false;
}

int64_t time_add(int64_t a, int64_t b) {
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

bool range_given(const range_options *o) { return o->from || o->to || o->step || o->within; }

/* Parts that begin by then. */
static size_t parts_by(const trace_range *r, int64_t ns) {
    size_t from = 0, to = r->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (r->parts[middle].from_ns <= ns) from = middle + 1;
        else to = middle;
    }
    return from;
}

bool range_holds(const trace_range *r, int64_t ns) {
    size_t count = parts_by(r, ns);
    return !r->parts || (count && ns < r->parts[count - 1].to_ns);
}

bool range_reached(const trace_range *r, int64_t start_ns, int64_t end_ns) {
    size_t next = parts_by(r, start_ns);
    return range_holds(r, start_ns) || (next < r->count && end_ns > r->parts[next].from_ns);
}

static void add_part(trace_range *r, int64_t from_ns, int64_t to_ns) {
    GROW(r->parts, r->count, r->capacity);
    r->parts[r->count++] = (struct range_part){from_ns, to_ns};
}

/* When the trace begins and ends, and when the calls of that name ran. */
static int read_parts(file_time *file, const char *name, trace_range *r, bool quiet) {
    far_times times = {.count = 0};
    if (file_reads_once(file->path))
        return fail(file->path, "a range needs a file that can be read twice");
    trace_reader *reader = trace_open(file->path);
    if (!reader) return EXIT_BAD;
    reader->quiet = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = reader->event;
        if (reader->item != TRACE_EVENT || event->phase != 'X' || event->kind == TRACE_SPAN)
            continue;
        far_note(&times, event->ts_ns, event->ts_ns + event->dur_ns, 0);
        if (name && !kind_has_device(event->kind) && text_is(event->name, name))
            add_part(r, event->ts_ns, event->ts_ns + event->dur_ns);
    }
    const far_group *most = far_main(&times);
    if (most) file->first_ns = most->begin_ns, file->last_ns = most->last_ns;
    file->begin_ns = file->first_ns;
    file->base_ns = reader->base_time_ns;
    if (times.count > 1 && !quiet)
        warn(file->path, "events begin or end a year or more from all other: times count from the "
             "first of the others (prof validate names one)");
    return trace_close(reader);
}

bool range_align(range_options *o, char *const *paths, int count) {
    trace_range none = {.count = 0};
    if (count < 2 || !(o->from || o->to)) return true;
    o->files = allocate((size_t)count * sizeof *o->files);
    o->file_count = (size_t)count;
    for (int i = 0; i < count; i++) {
        o->files[i] = (file_time){.path = paths[i]};
        if (read_parts(&o->files[i], NULL, &none, true) != EXIT_OK) return false;
    }
    file_times_align(o->files, o->file_count);
    return true;
}

void range_unalign(range_options *o) {
    free(o->files);
    o->files = NULL;
}

/* Where the axis begins that the file stands on. */
static int64_t axis_begin(const range_options *o, const file_time *file) {
    for (size_t i = 0; o->files && i < o->file_count; i++)
        if (strcmp(o->files[i].path, file->path) == 0) return o->files[i].begin_ns;
    return file->begin_ns;
}

/* Until when the calls last that begin in it: they may hold others. */
static int read_last(const char *path, trace_range *r) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    reader->quiet = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = reader->event;
        if (reader->item != TRACE_EVENT || event->phase != 'X' || kind_is_device(event->kind) ||
            event->ts_ns + event->dur_ns <= r->last_ns || !range_holds(r, event->ts_ns)) continue;
        r->last_ns = event->ts_ns + event->dur_ns;
    }
    return trace_close(reader);
}

static int part_before(const void *one, const void *other) {
    const struct range_part *a = one, *b = other;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* What lies in [from, to), in order and apart from each other. */
static void settle_parts(trace_range *r, int64_t from_ns, int64_t to_ns) {
    size_t count = 0;
    qsort(r->parts, r->count, sizeof *r->parts, part_before);
    for (size_t i = 0; i < r->count; i++) {
        struct range_part part = r->parts[i];
        if (part.from_ns < from_ns) part.from_ns = from_ns;
        if (part.to_ns > to_ns) part.to_ns = to_ns;
        struct range_part *last = count ? &r->parts[count - 1] : NULL;
        if (last && part.from_ns <= last->to_ns) {
            if (part.to_ns > last->to_ns) last->to_ns = part.to_ns;
        } else {
            r->parts[count++] = part;
        }
    }
    r->count = count;
}

int range_find(const range_options *o, const char *path, trace_range *r) {
    file_time file = {.path = path, .first_ns = INT64_MAX};
    int64_t from = 0, to = 0;
    char step[64];
    const char *name = o->step ? step : o->within;
    snprintf(step, sizeof step, "ProfilerStep#%s", o->step ? o->step : "");
    *r = (trace_range){.last_ns = INT64_MIN};
    if (!range_given(o)) return EXIT_OK;
    if (o->step && o->within) return fail("--within", "not with --step");
    if (o->from && !time_parse(o->from, &from))
        return fail("--from", "'%s' is not a time: 1.5s, 20ms, 300us", o->from);
    if (o->to && !time_parse(o->to, &to))
        return fail("--to", "'%s' is not a time: 1.5s, 20ms, 300us", o->to);
    if (o->from && o->to && from >= to) return fail("--to", "this time is not after --from");
    int status = read_parts(&file, name, r, false);
    if (status != EXIT_OK || file.first_ns == INT64_MAX) return status;
    if (name && !r->count)
        return fail(path, o->step ? "there is no %s" : "no call in it is named '%s'", name);
    from = o->from ? time_add(axis_begin(o, &file), from) : INT64_MIN;
    to = o->to ? time_add(axis_begin(o, &file), to) : INT64_MAX;
    if (!name) add_part(r, from, to);
    settle_parts(r, from, to);
    return read_last(path, r);
}

void range_free(trace_range *r) {
    free(r->parts);
    *r = (trace_range){0};
}
