/* prof cut: a part of a trace, by time or by step, with the device work that it launched. */
#include "input/head_sums.h"
#include "input/trace_reader.h"
#include "output/trace_writer.h"
#include "output/json_lanes.h"
#include "trace/step_times.h"
#include "trace/trace.h"
#include "trace/trace_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command cut_command = {
    "cut", "--from TIME --to TIME | --step N  [OPTION]... TRACE",
    "a part of a trace, by time or step",
    "  prof cut --from 1.5s --to 1600ms -o part.json.gz trace.json.gz\n"
    "      times since the trace's first event, in s, ms, us (also without a unit)\n"
    "      or ns\n"
    "  prof cut --step 7 -o step7.json trace.json\n"
    "      what happened in ProfilerStep#7\n\n"
    "Events that reach into the window are there whole, unless --clip; kernels,\n"
    "copies and fills are there when their launch is, whenever they ran. Flows are\n"
    "there with both ends.\n", run
};

typedef struct cut_options {
    const char *from, *to, *path;
    int64_t step;
    bool clip, file_time, lanes;
} cut_options;

typedef struct window { int64_t from_ns, to_ns; } window;    /* [from, to) */

typedef struct device_event {
    int64_t start_ns, end_ns, correlation;       /* NO_ID: it has none */
    uint64_t offset, place;
    bool is_pair;
} device_event;

typedef struct flow_event {
    uint64_t flow, offset, place, row;           /* row: (pid, tid) */
    bool stays;                                  /* at first: it lies in the window */
    char phase;
} flow_event;

typedef struct cutter {
    const cut_options *options;
    const char *file;
    int64_t begin_ns;           /* of the earliest event */
    window window;
    window work;                /* it, and all device work that is kept */
    map launches;               /* correlation id -> place in spans, of the last call with it */
    window *spans;              /* of those calls */
    size_t span_count, span_capacity;
    device_event *works;
    size_t work_count, work_capacity;
    flow_event *flows;
    size_t flow_count, flow_capacity;
    map flow_places;            /* (pid, tid, ts) of events of flows -> 1: a kept event is there */
    map device_rows;            /* (pid, tid) */
    uint64_t *kept;             /* offsets of work, of begins, ends and flows that are kept */
    size_t kept_count, kept_capacity, kept_next;
    step_times steps;
    bool any_event, any_kept;
    json_lanes *lanes;          /* NULL: without */
} cutter;

static uint64_t row_of(const trace_event *event) {
    return hash_mix((uint64_t)event->pid) * 31 + (uint64_t)event->tid;
}

static uint64_t place_of(const trace_event *event) {
    return hash_mix(row_of(event)) * 31 + (uint64_t)event->ts_ns;
}

static bool is_flow(const trace_event *event) {
    return event->phase == 's' || event->phase == 't' || event->phase == 'f';
}

static bool reaches(int64_t start_ns, int64_t end_ns, window w) {
    return start_ns < w.to_ns && (end_ns > w.from_ns || start_ns >= w.from_ns);
}

/* ---- What is kept ---- */

static void keep(cutter *c, uint64_t offset) {
    GROW(c->kept, c->kept_count, c->kept_capacity);
    c->kept[c->kept_count++] = offset;
}

static int by_offset(const void *one, const void *other) {
    const uint64_t *a = one, *b = other;
    return (*a > *b) - (*a < *b);
}

static void keep_place(cutter *c, uint64_t place) {
    uint64_t *of_flow = map_get(&c->flow_places, place);
    if (of_flow) *of_flow = 1;
}

/* Events come in the order of the file. */
static bool is_kept(cutter *c, const trace_event *event) {
    while (c->kept_next < c->kept_count && c->kept[c->kept_next] < event->offset) c->kept_next++;
    return c->kept_next < c->kept_count && c->kept[c->kept_next] == event->offset;
}

static bool complete_kept(cutter *c, const trace_event *event) {
    if (kind_is_device(event->kind)) return is_kept(c, event);
    bool row = event->kind == TRACE_GPU_ANNOTATION || event->kind == TRACE_SYNC;
    return reaches(event->ts_ns, event->ts_ns + event->dur_ns, row ? c->work : c->window);
}

static bool in_window(const cutter *c, const trace_event *event) {
    return event->ts_ns >= c->window.from_ns && event->ts_ns < c->window.to_ns;
}

static bool event_kept(cutter *c, const trace_event *event) {
    if (event->phase == 'M') return true;
    if (event->phase == 'X') return complete_kept(c, event);
    return trace_is_half(event->phase) || is_flow(event) ? is_kept(c, event) : in_window(c, event);
}

/* ---- Passes over the file ---- */

static int for_each(cutter *c, void (*take)(cutter *c, const trace_event *event), bool quiet) {
    trace_reader *reader = trace_open(c->file);
    if (!reader) return EXIT_BAD;
    reader->quiet = quiet;
    while (trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT) take(c, &reader->event);
    return trace_close(reader);
}

static void widen(window *w, int64_t from_ns, int64_t to_ns) {
    if (from_ns < w->from_ns) w->from_ns = from_ns;
    if (to_ns > w->to_ns) w->to_ns = to_ns;
}

static void find_window(cutter *c, const trace_event *event) {
    c->any_event |= event->phase != 'M';
    if (is_flow(event)) map_put(&c->flow_places, place_of(event), NULL);
    if (event->phase != 'X') return;
    if (event->ts_ns < c->begin_ns) c->begin_ns = event->ts_ns;
    step_times_take(&c->steps, event);
}

static void take_work(cutter *c, const trace_event *event) {
    device_event work = {
        .start_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns, .correlation = NO_ID,
        .offset = event->offset, .place = place_of(event), .is_pair = event->is_pair
    };
    trace_correlation(event, &work.correlation);
    GROW(c->works, c->work_count, c->work_capacity);
    c->works[c->work_count++] = work;
    map_put(&c->device_rows, row_of(event), NULL);
}

static void take_launch(cutter *c, const trace_event *event, int64_t correlation) {
    GROW(c->spans, c->span_count, c->span_capacity);
    *map_put(&c->launches, (uint64_t)correlation, NULL) = c->span_count;
    c->spans[c->span_count++] = (window){event->ts_ns, event->ts_ns + event->dur_ns};
}

/* Pairs come as one event here, and as two where they are written. */
static void take_complete(cutter *c, const trace_event *event) {
    int64_t correlation;
    bool reach = reaches(event->ts_ns, event->ts_ns + event->dur_ns, c->window);
    if (event->is_pair && reach) {
        keep(c, event->offset);
        if (event->end_offset) keep(c, event->end_offset);
    }
    if (kind_is_device(event->kind)) {
        take_work(c, event);
        return;
    }
    if (event->kind == TRACE_RUNTIME && trace_correlation(event, &correlation))
        take_launch(c, event, correlation);
    if (reach) keep_place(c, place_of(event));
}

static void take_event(cutter *c, const trace_event *event) {
    if (event->phase == 'X') take_complete(c, event);
    if (!is_flow(event)) return;
    GROW(c->flows, c->flow_count, c->flow_capacity);
    c->flows[c->flow_count++] = (flow_event){
        trace_flow(event), event->offset, place_of(event), row_of(event), in_window(c, event),
        event->phase
    };
}

/* Work is there with its launch. */
static void find_work(cutter *c) {
    c->work = c->window;
    for (size_t i = 0; i < c->work_count; i++) {
        const device_event *work = &c->works[i];
        const uint64_t *launch = work->correlation == NO_ID
            ? NULL : map_get(&c->launches, (uint64_t)work->correlation);
        window by = launch ? c->spans[*launch] : (window){work->start_ns, work->end_ns};
        if (!reaches(by.from_ns, by.to_ns, c->window)) continue;
        keep_place(c, work->place);
        if (!work->is_pair) keep(c, work->offset);
        widen(&c->work, work->start_ns, work->end_ns);
    }
    map_free(&c->launches);
    free(c->works);
    free(c->spans);
    c->works = NULL;
    c->spans = NULL;
}

/* Flows are there with both ends. */
static void find_flows(cutter *c) {
    enum { STARTS = 1, ENDS = 2 };
    map ends = {0};
    for (size_t i = 0; i < c->flow_count; i++) {
        flow_event *f = &c->flows[i];
        bool alone = f->stays && !map_get(&c->device_rows, f->row);
        f->stays = alone || *map_get(&c->flow_places, f->place);
        if (f->stays && f->phase != 't')
            *map_put(&ends, f->flow, NULL) |= f->phase == 's' ? STARTS : ENDS;
    }
    for (size_t i = 0; i < c->flow_count; i++) {
        const flow_event *f = &c->flows[i];
        const uint64_t *both = f->stays ? map_get(&ends, f->flow) : NULL;
        if (both && *both == (STARTS | ENDS)) keep(c, f->offset);
    }
    map_free(&ends);
}

/* ---- The window ---- */

static int set_step(cutter *c) {
    int64_t first = INT64_MAX, last = -1;
    for (size_t i = 0; i < c->steps.count; i++) {
        const struct step_time *step = &c->steps.list[i];
        if (step->number == c->options->step) widen(&c->window, step->start_ns, step->end_ns);
        if (step->number < 0) continue;
        if (step->number < first) first = step->number;
        if (step->number > last) last = step->number;
    }
    if (c->window.to_ns != INT64_MIN) return EXIT_OK;
    if (last < 0) return fail(c->file, "there are no steps (ProfilerStep#N) in it");
    return fail(c->file, "there is no ProfilerStep#%lld in it; it has %lld to %lld",
                (long long)c->options->step, (long long)first, (long long)last);
}

static int set_window(cutter *c) {
    const cut_options *o = c->options;
    int64_t from = 0, to = 0;
    int64_t origin = o->file_time || c->begin_ns == INT64_MAX ? 0 : c->begin_ns;
    if (o->step >= 0) return set_step(c);
    if (o->from && !time_parse(o->from, &from))
        return fail("--from", "'%s' is no time: 1.5s, 20ms, 300us, 300, 5ns", o->from);
    if (o->to && !time_parse(o->to, &to))
        return fail("--to", "'%s' is no time: 1.5s, 20ms, 300us, 300, 5ns", o->to);
    c->window.from_ns = o->from ? time_add(origin, from) : INT64_MIN;
    c->window.to_ns = o->to ? time_add(origin, to) : INT64_MAX;
    if (c->window.from_ns >= c->window.to_ns) return fail("--to", "this time is not behind --from");
    return EXIT_OK;
}

/* ---- Writing ---- */

/* Shortens a call that reaches out of the window. */
static void write_clipped(const cutter *c, const trace_event *event, output *out) {
    int64_t start = event->ts_ns, end = start + event->dur_ns;
    if (start < c->window.from_ns) start = c->window.from_ns;
    if (start > c->window.to_ns) start = c->window.to_ns;        /* the end of a pair */
    if (end > c->window.to_ns) end = c->window.to_ns;
    trace_text rest = event->raw, key, value;
    text_edit edits[3];
    size_t count = json_lanes_edit(c->lanes, event, edits), most = count + 2;
    while (count < most && json_next(&rest, &key, &value)) {
        bool ts = text_is(key, "ts");
        if (!ts && !text_is(key, "dur")) continue;
        int64_t ns = ts ? start : end - start;
        edits[count++] = us_edit(value, ns);
    }
    write_edited(out, event->raw, edits, count);
}

/* A head without its sums, which are of the whole run. */
static void write_head(output *out, trace_text whole, trace_text head) {
    head_lists lists = head_lists_find(head);
    text_edit edits[HEAD_SITES];
    size_t count = 0;
    for (int i = 0; i < HEAD_SITES; i++)
        if (lists.of[i].size) edits[count++] = (text_edit){lists.of[i], "[]"};
    write_edited(out, whole, edits, count);
}

static int write_part(cutter *c, output *out) {
    trace_reader *reader = trace_open(c->file);
    if (!reader) return EXIT_BAD;
    trace_writer writer = {0};
    text_edit moved;
    reader->quiet = reader->as_written = reader->with_text = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = &reader->event;
        writer_begin_as(&writer, out, reader);
        if (reader->item == TRACE_MEMBER && text_is(reader->member.key, "prof")) {
            writer_key(&writer, "prof");
            write_head(out, reader->member.value, reader->member.value);
        } else if (reader->item == TRACE_MEMBER) {
            writer_member(&writer, reader->member.key, reader->member.value);
        }
        if (reader->item != TRACE_EVENT || !event_kept(c, event)) continue;
        c->any_kept |= event->phase != 'M';
        if (!writer.had_events) json_lanes_names(c->lanes, &writer, NULL, NULL);
        writer_event(&writer);
        if (c->options->clip && (event->phase == 'X' || trace_is_half(event->phase)) &&
            !kind_is_device(event->kind) && event->kind != TRACE_GPU_ANNOTATION &&
            event->kind != TRACE_SYNC)
            write_clipped(c, event, out);
        else if (event->phase == 'M' && text_is(event->name, "prof counts"))
            write_head(out, event->raw, event->args_text);
        else write_edited(out, event->raw, &moved, json_lanes_edit(c->lanes, event, &moved));
    }
    writer_begin_as(&writer, out, reader);
    writer_end(&writer);
    int status = trace_close(reader);
    if (status != EXIT_OK || c->any_kept || !c->any_event) return status;
    warn(c->file, "nothing lies in this window");
    return EXIT_FOUND;
}

/* What was needed to find what is kept. */
static void forget(cutter *c) {
    step_times_free(&c->steps);
    map_free(&c->launches);
    map_free(&c->flow_places);
    map_free(&c->device_rows);
    free(c->spans);
    free(c->works);
    free(c->flows);
    c->spans = NULL;
    c->works = NULL;
    c->flows = NULL;
}

static int cut(cutter *c) {
    output out;
    int status = for_each(c, find_window, false);
    if (status == EXIT_OK) status = set_window(c);
    if (status == EXIT_OK) status = for_each(c, take_event, true);
    if (status != EXIT_OK) return status;
    find_work(c);
    find_flows(c);
    forget(c);
    qsort(c->kept, c->kept_count, sizeof *c->kept, by_offset);
    if (c->options->lanes && !(c->lanes = json_lanes_find(c->file))) return EXIT_BAD;
    if (!output_rewrite(&out, c->options->path)) return EXIT_BAD;
    return output_close(&out, write_part(c, &out));
}

static int run(int argc, char **argv) {
    cut_options o = {.step = -1};
    const option_spec options[] = {
        {"from", 0, OPTION_TEXT, &o.from, "TIME", "begin of the window; default: of the trace"},
        {"to", 0, OPTION_TEXT, &o.to, "TIME", "its end; default: of the trace"},
        {"step", 0, OPTION_COUNT, &o.step, "N", "the window of ProfilerStep#N"},
        {"file-time", 0, OPTION_FLAG, &o.file_time, NULL,
         "TIME is as ts in the file, not since the first event"},
        LANES_OPTION(o.lanes),
        {"clip", 0, OPTION_FLAG, &o.clip, NULL, "shorten what reaches out of the window"},
        {"output", 'o', OPTION_TEXT, &o.path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&cut_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != 1) return fail(NULL, "cut takes one trace; see prof cut --help");
    if ((o.step >= 0) == (o.from || o.to))
        return fail(NULL, "cut needs --from, --to or both, or else --step");
    if (file_reads_once(argv[1]))
        return fail(argv[1], "cut reads its input several times: it has to be a file");
    cutter c = {
        .options = &o, .file = argv[1], .begin_ns = INT64_MAX, .window = {INT64_MAX, INT64_MIN}
    };
    status = cut(&c);
    forget(&c);
    free(c.kept);
    json_lanes_free(c.lanes);
    return status;
}
