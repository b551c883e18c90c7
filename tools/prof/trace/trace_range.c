/* A part of a trace by time or step: see trace_range.h. */
#include "trace/trace_range.h"

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

/* When the trace begins, and the step's range (*end_ns INT64_MIN: it has no such step). */
static int read_file(const char *path, const char *step, int64_t *first_ns, int64_t *begin_ns,
                     int64_t *end_ns) {
    char name[64];
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    reader->quiet = true;
    snprintf(name, sizeof name, "ProfilerStep#%s", step ? step : "");
    *first_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = &reader->event;
        if (reader->item != TRACE_EVENT || event->phase != 'X' || event->kind == TRACE_SPAN)
            continue;
        if (event->ts_ns < *first_ns) *first_ns = event->ts_ns;
        if (!step || event->kind == TRACE_GPU_ANNOTATION || !text_is(event->name, name)) continue;
        *begin_ns = event->ts_ns;
        *end_ns = event->ts_ns + event->dur_ns;
    }
    return trace_close(reader);
}

int range_find(const range_options *o, const char *path, int64_t *from_ns, int64_t *to_ns) {
    int64_t from = 0, to = INT64_MAX, first, begin = 0, end;
    *from_ns = INT64_MIN;
    *to_ns = INT64_MAX;
    if (!o->from && !o->to && !o->step) return EXIT_OK;
    if (o->from && !time_parse(o->from, &from))
        return fail("--from", "'%s' is no time: 1.5s, 20ms, 300us", o->from);
    if (o->to && !time_parse(o->to, &to))
        return fail("--to", "'%s' is no time: 1.5s, 20ms, 300us", o->to);
    if (file_reads_once(path))
        return fail(path, "a range needs a file that can be read twice");
    int status = read_file(path, o->step, &first, &begin, &end);
    if (status != EXIT_OK || first == INT64_MAX) return status;
    if (o->step && end == INT64_MIN) return fail(path, "there is no ProfilerStep#%s", o->step);
    *from_ns = time_add(first, from);
    if (o->to) *to_ns = time_add(first, to);
    if (o->step && begin > *from_ns) *from_ns = begin;
    if (o->step && end < *to_ns) *to_ns = end;
    return EXIT_OK;
}
