/* prof cut: a part of a trace, by time or by step, with the device work that it launched. */
#include "base/span_sorter.h"
#include "input/head_sums.h"
#include "input/trace_reader.h"
#include "input/trace_writer.h"
#include "output/json_lanes.h"
#include "trace/trace_range.h"
#include "trace/work_join.h"

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

/* Where and when a kept event begins; or an event of a flow, which is kept with it. */
typedef struct place {
    uint64_t at;                /* (pid, tid, ts) */
    uint64_t row, flow, offset; /* of events of flows; row: (pid, tid) */
    char phase;                 /* 0: a kept event */
    bool in_window;
} place;

/* An event of a flow that its place keeps; before all of its flow, which ends are kept. */
enum { FLOW_STARTS, FLOW_ENDS, FLOW_EVENT };
typedef struct flow_event { uint64_t flow, offset; uint32_t what, unused; } flow_event;

typedef struct cutter {
    const cut_options *options;
    const char *file;
    int64_t begin_ns;           /* of the earliest event */
    int64_t from_ns, to_ns;     /* the window, [from, to) */
    int64_t work_from_ns, work_to_ns;    /* the window and all device work that is kept */
    work_join *launches;        /* of work */
    uint64_t launch_count;
    span_sorter *places;
    map device_rows;            /* (pid, tid) */
    span_sorter *kept;          /* offsets of work, of begins, ends and flows that are kept */
    uint64_t next_kept;         /* the next of them, or UINT64_MAX */
    int64_t first_step, last_step;
    bool any_event, any_kept;
    json_lanes *lanes;          /* NULL: without */
} cutter;

static bool place_before(const void *one, const void *other) {
    const place *a = one, *b = other;
    return a->at != b->at ? a->at < b->at : !a->phase && b->phase;
}

static bool flow_before(const void *one, const void *other) {
    const flow_event *a = one, *b = other;
    return a->flow != b->flow ? a->flow < b->flow : a->what < b->what;
}

static bool offset_before(const void *one, const void *other) {
    return *(const uint64_t *)one < *(const uint64_t *)other;
}

static uint64_t row_of(const trace_event *event) {
    return hash_mix((uint64_t)event->pid) * 31 + (uint64_t)event->tid;
}

static uint64_t place_of(const trace_event *event) {
    return hash_mix(row_of(event)) * 31 + (uint64_t)event->ts_ns;
}

static bool is_device(const trace_event *event) {
    return event->kind == TRACE_KERNEL || event->kind == TRACE_MEMCPY ||
           event->kind == TRACE_MEMSET;
}

static bool is_flow(const trace_event *event) {
    return event->phase == 's' || event->phase == 't' || event->phase == 'f';
}

static bool is_part(const trace_event *event) {          /* of a pair */
    return event->phase == 'B' || event->phase == 'E' || event->phase == 'b' ||
           event->phase == 'e';
}

static bool reaches(int64_t start_ns, int64_t end_ns, int64_t from_ns, int64_t to_ns) {
    return start_ns < to_ns && (end_ns > from_ns || start_ns >= from_ns);
}

/* ---- What is kept ---- */

static void keep(cutter *c, uint64_t offset) { sorter_add(c->kept, &offset); }

static void keep_place(cutter *c, uint64_t at) { sorter_add(c->places, &(place){.at = at}); }

static void next_kept(cutter *c) {
    if (!sorter_next(c->kept, &c->next_kept)) c->next_kept = UINT64_MAX;
}

/* Events come in the order of the file. */
static bool is_kept(cutter *c, const trace_event *event) {
    while (c->next_kept < event->offset) next_kept(c);
    return c->next_kept == event->offset;
}

static bool complete_kept(cutter *c, const trace_event *event) {
    int64_t end_ns = event->ts_ns + event->dur_ns;
    if (is_device(event)) return is_kept(c, event);
    bool row = event->kind == TRACE_GPU_ANNOTATION || event->kind == TRACE_SYNC;
    return row ? reaches(event->ts_ns, end_ns, c->work_from_ns, c->work_to_ns)
               : reaches(event->ts_ns, end_ns, c->from_ns, c->to_ns);
}

static bool in_window(const cutter *c, const trace_event *event) {
    return event->ts_ns >= c->from_ns && event->ts_ns < c->to_ns;
}

static bool event_kept(cutter *c, const trace_event *event) {
    if (event->phase == 'M') return true;
    if (event->phase == 'X') return complete_kept(c, event);
    return is_part(event) || is_flow(event) ? is_kept(c, event) : in_window(c, event);
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

static int64_t step_of(const trace_event *event) {
    static const char start[] = "ProfilerStep#";
    size_t size = sizeof start - 1;
    int64_t number;
    if (event->kind != TRACE_ANNOTATION || event->name.size <= size ||
        memcmp(event->name.data, start, size) != 0) return -1;
    trace_text digits = {event->name.data + size, event->name.size - size};
    return json_int(digits, &number) ? number : -1;
}

static void find_window(cutter *c, const trace_event *event) {
    c->any_event |= event->phase != 'M';
    if (event->phase != 'X') return;
    int64_t step = step_of(event), end_ns = event->ts_ns + event->dur_ns;
    if (event->ts_ns < c->begin_ns) c->begin_ns = event->ts_ns;
    if (step < 0) return;
    if (step < c->first_step || c->first_step < 0) c->first_step = step;
    if (step > c->last_step) c->last_step = step;
    if (step != c->options->step) return;
    if (event->ts_ns < c->from_ns) c->from_ns = event->ts_ns;
    if (end_ns > c->to_ns) c->to_ns = end_ns;
}

/* Pairs come as one event here, and as two where they are written. */
static void take_work(cutter *c, const trace_event *event) {
    uint64_t at = place_of(event);
    int64_t ids[JOINS] = {NO_ID, NO_ID, NO_ID};
    const joined work = {
        .start_ns = event->ts_ns, .ns = event->dur_ns,
        .id = event->is_pair ? -1 : (int64_t)event->offset,
        .thread = (uint32_t)(at >> 32), .what = (uint32_t)at
    };
    trace_correlation(event, &ids[JOIN_ZONE]);
    work_join_work(c->launches, ids, &work);
    *map_put(&c->device_rows, row_of(event), NULL) = 1;
}

static void take_complete(cutter *c, const trace_event *event) {
    int64_t end_ns = event->ts_ns + event->dur_ns, correlation;
    bool reach = reaches(event->ts_ns, end_ns, c->from_ns, c->to_ns);
    if (event->is_pair && reach) {
        keep(c, event->offset);
        if (event->end_offset) keep(c, event->end_offset);
    }
    if (is_device(event)) {
        take_work(c, event);
        return;
    }
    const joined launch = {
        .start_ns = event->ts_ns, .amount = event->dur_ns, .order = c->launch_count++
    };
    if (event->kind == TRACE_RUNTIME && trace_correlation(event, &correlation))
        work_join_call(c->launches, JOIN_ZONE, correlation, &launch);    /* the last one counts */
    if (reach) keep_place(c, place_of(event));
}

static void find_launches(cutter *c, const trace_event *event) {
    if (event->phase == 'X') take_complete(c, event);
    if (!is_flow(event)) return;
    const place end = {
        .at = place_of(event), .row = row_of(event), .flow = trace_flow(event),
        .offset = event->offset, .phase = event->phase, .in_window = in_window(c, event)
    };
    sorter_add(c->places, &end);
}

/* Work is there with its launch. */
static void find_work(void *user, const joined *work, const joined *launch, uint32_t kind) {
    cutter *c = user;
    const joined *by = launch ? launch : work;
    int64_t end_ns = work->start_ns + work->ns;
    (void)kind;
    if (!reaches(by->start_ns, launch ? launch->start_ns + launch->amount : end_ns, c->from_ns,
                 c->to_ns)) return;
    keep_place(c, (uint64_t)work->thread << 32 | work->what);
    if (work->id >= 0) keep(c, (uint64_t)work->id);
    if (work->start_ns < c->work_from_ns) c->work_from_ns = work->start_ns;
    if (end_ns > c->work_to_ns) c->work_to_ns = end_ns;
}

/* Events of flows whose place is kept. */
static span_sorter *find_ends(cutter *c) {
    span_sorter *flows = sorter_of(sizeof(flow_event), flow_before);
    place next, known = {0};
    bool any = false;
    sorter_finish(c->places);
    while (sorter_next(c->places, &next)) {
        bool kept = any && known.at == next.at;
        if (!next.phase) known = next, any = true;
        if (!next.phase) continue;
        if (!kept && !(next.in_window && !map_get(&c->device_rows, next.row))) continue;
        flow_event event = {.flow = next.flow, .offset = next.offset, .what = FLOW_EVENT};
        sorter_add(flows, &event);
        event.what = next.phase == 's' ? FLOW_STARTS : FLOW_ENDS;
        if (next.phase != 't') sorter_add(flows, &event);
    }
    sorter_free(c->places);
    c->places = NULL;
    sorter_finish(flows);
    return flows;
}

/* Flows are there with both ends. */
static void find_flows(cutter *c) {
    span_sorter *flows = find_ends(c);
    flow_event event;
    uint64_t flow = 0;
    bool has[2] = {false, false};
    while (sorter_next(flows, &event)) {
        if (event.flow != flow) has[FLOW_STARTS] = has[FLOW_ENDS] = false;
        flow = event.flow;
        if (event.what != FLOW_EVENT) has[event.what] = true;
        else if (has[FLOW_STARTS] && has[FLOW_ENDS]) keep(c, event.offset);
    }
    sorter_free(flows);
}

static void find_kept(cutter *c) {
    c->work_from_ns = c->from_ns;
    c->work_to_ns = c->to_ns;
    work_join_each(c->launches, find_work, c);
    c->launches = NULL;
    find_flows(c);
    sorter_finish(c->kept);
    next_kept(c);
}

/* ---- The window ---- */

static int set_window(cutter *c) {
    const cut_options *o = c->options;
    int64_t from = 0, to = 0;
    int64_t origin = o->file_time || c->begin_ns == INT64_MAX ? 0 : c->begin_ns;
    if (o->step >= 0) {
        if (c->to_ns != INT64_MIN) return EXIT_OK;
        if (c->first_step < 0) return fail(c->file, "there are no steps (ProfilerStep#N) in it");
        return fail(c->file, "there is no ProfilerStep#%lld in it; it has %lld to %lld",
                    (long long)o->step, (long long)c->first_step, (long long)c->last_step);
    }
    if (o->from && !time_parse(o->from, &from))
        return fail("--from", "'%s' is no time: 1.5s, 20ms, 300us, 300, 5ns", o->from);
    if (o->to && !time_parse(o->to, &to))
        return fail("--to", "'%s' is no time: 1.5s, 20ms, 300us, 300, 5ns", o->to);
    c->from_ns = o->from ? time_add(origin, from) : INT64_MIN;
    c->to_ns = o->to ? time_add(origin, to) : INT64_MAX;
    if (c->from_ns >= c->to_ns) return fail("--to", "this time is not behind --from");
    return EXIT_OK;
}

/* ---- Writing ---- */

/* Shortens a call that reaches out of the window. */
static void write_clipped(const cutter *c, const trace_event *event, output *out) {
    int64_t start = event->ts_ns, end = start + event->dur_ns;
    if (start < c->from_ns) start = c->from_ns;
    if (start > c->to_ns) start = c->to_ns;      /* the end of a pair */
    if (end > c->to_ns) end = c->to_ns;
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
    trace_writer writer;
    text_edit moved;
    bool begun = false;
    reader->quiet = reader->as_written = reader->with_text = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = &reader->event;
        if (!begun) writer_begin(&writer, out, reader->array_form);
        begun = true;
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
        if (c->options->clip && (event->phase == 'X' || is_part(event)) && !is_device(event) &&
            event->kind != TRACE_GPU_ANNOTATION && event->kind != TRACE_SYNC)
            write_clipped(c, event, out);
        else if (event->phase == 'M' && text_is(event->name, "prof counts"))
            write_head(out, event->raw, event->args_text);
        else write_edited(out, event->raw, &moved, json_lanes_edit(c->lanes, event, &moved));
    }
    if (!begun) writer_begin(&writer, out, reader->array_form);
    writer_end(&writer);
    int status = trace_close(reader);
    if (status != EXIT_OK || c->any_kept || !c->any_event) return status;
    warn(c->file, "nothing lies in this window");
    return EXIT_FOUND;
}

static int cut(cutter *c) {
    output out;
    int status = for_each(c, find_window, false);
    if (status == EXIT_OK) status = set_window(c);
    if (status == EXIT_OK) status = for_each(c, find_launches, true);
    if (status != EXIT_OK) return status;
    find_kept(c);
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
        .options = &o, .file = argv[1], .begin_ns = INT64_MAX, .from_ns = INT64_MAX,
        .to_ns = INT64_MIN, .first_step = -1, .last_step = -1, .launches = work_join_new(),
        .places = sorter_of(sizeof(place), place_before),
        .kept = sorter_of(sizeof(uint64_t), offset_before)
    };
    status = cut(&c);
    work_join_free(c.launches);
    sorter_free(c.places);
    sorter_free(c.kept);
    map_free(&c.device_rows);
    json_lanes_free(c.lanes);
    return status;
}
