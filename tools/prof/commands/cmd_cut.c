/* prof cut: a part of a trace, by time or by step, with the device work that it launched. */
#include "base/demangle.h"
#include "input/head_sums.h"
#include "input/trace_reader.h"
#include "output/trace_writer.h"
#include "trace/trace.h"
#include "trace/trace_range.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command cut_command = {
    "cut", "[OPTION]... TRACE", "cut a part out of a trace, by time or step",
    "  prof cut --from 1.5s --to 1600ms -o part.json.gz trace.json.gz\n"
    "      times since the trace's first event, in s, ms, us (also without a unit)\n"
    "      or ns\n"
    "  prof cut --step 7 -o step7.json trace.json\n"
    "      what happened in ProfilerStep#7\n\n"
    "Events that reach into the window are kept whole. Kernels, copies and fills are\n"
    "kept if their launch is, whenever they ran. Flows are kept with both ends.\n", run, 1, 1
};

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
    const char *file;
    trace_range window;
    int64_t first_ns, last_ns;  /* of the window and all work that is kept */
    map launches;               /* correlation id -> 1: the last call with it reaches in; 0 */
    device_event *works;
    size_t work_count, work_capacity;
    flow_event *flows;
    size_t flow_count, flow_capacity;
    map places;                 /* (pid, tid, ts) of what is kept */
    map device_rows;            /* (pid, tid) */
    uint64_t *kept;             /* offsets of work, of begins, ends and flows that are kept */
    size_t kept_count, kept_capacity, kept_next;
    bool any_event, any_kept;
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

/* ---- What is kept ---- */

static void keep(cutter *c, uint64_t offset) {
    GROW(c->kept, c->kept_count, c->kept_capacity);
    c->kept[c->kept_count++] = offset;
}

static int by_offset(const void *one, const void *other) {
    const uint64_t *a = one, *b = other;
    return (*a > *b) - (*a < *b);
}

/* Events come in the order of the file. */
static bool is_kept(cutter *c, const trace_event *event) {
    while (c->kept_next < c->kept_count && c->kept[c->kept_next] < event->offset) c->kept_next++;
    return c->kept_next < c->kept_count && c->kept[c->kept_next] == event->offset;
}

static bool complete_kept(cutter *c, const trace_event *event) {
    int64_t end_ns = event->ts_ns + event->dur_ns;
    if (kind_is_device(event->kind)) return is_kept(c, event);
    if (kind_has_device(event->kind) || event->kind == TRACE_SYNC)
        return event->ts_ns < c->last_ns && (end_ns > c->first_ns || event->ts_ns >= c->first_ns);
    return range_reached(&c->window, event->ts_ns, end_ns);
}

static bool event_kept(cutter *c, const trace_event *event) {
    if (event->phase == 'M') return true;
    if (event->phase == 'X') return complete_kept(c, event);
    return trace_is_half(event->phase) || is_flow(event) ? is_kept(c, event)
                                                          : range_holds(&c->window, event->ts_ns);
}

/* ---- The first pass ---- */

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

/* Pairs come as one event here, and as two where they are written. */
static void take_complete(cutter *c, const trace_event *event) {
    int64_t correlation;
    bool reaches = range_reached(&c->window, event->ts_ns, event->ts_ns + event->dur_ns);
    if (event->is_pair && reaches) {
        keep(c, event->offset);
        if (event->end_offset) keep(c, event->end_offset);
    }
    if (kind_is_device(event->kind)) {
        take_work(c, event);
        return;
    }
    if (event->kind == TRACE_RUNTIME && trace_correlation(event, &correlation))
        *map_put(&c->launches, (uint64_t)correlation, NULL) = reaches;
    if (reaches) map_put(&c->places, place_of(event), NULL);
}

static void take_event(cutter *c, const trace_event *event) {
    c->any_event |= event->phase != 'M';
    if (event->phase == 'X') take_complete(c, event);
    if (!is_flow(event)) return;
    GROW(c->flows, c->flow_count, c->flow_capacity);
    c->flows[c->flow_count++] = (flow_event){
        trace_flow(event), event->offset, place_of(event), row_of(event),
        range_holds(&c->window, event->ts_ns), event->phase
    };
}

static int take_events(cutter *c) {
    trace_reader *reader = trace_open(c->file);
    if (!reader) return EXIT_BAD;
    while (trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT) take_event(c, reader->event);
    return trace_close(reader);
}

/* Work is there with its launch. */
static void find_work(cutter *c) {
    c->first_ns = c->window.count ? c->window.parts[0].from_ns : INT64_MIN;
    c->last_ns = c->window.count ? c->window.parts[c->window.count - 1].to_ns : INT64_MAX;
    for (size_t i = 0; i < c->work_count; i++) {
        const device_event *work = &c->works[i];
        const uint64_t *launch = work->correlation == NO_ID
            ? NULL : map_get(&c->launches, (uint64_t)work->correlation);
        if (launch ? !*launch : !range_reached(&c->window, work->start_ns, work->end_ns)) continue;
        map_put(&c->places, work->place, NULL);
        if (!work->is_pair) keep(c, work->offset);
        if (work->start_ns < c->first_ns) c->first_ns = work->start_ns;
        if (work->end_ns > c->last_ns) c->last_ns = work->end_ns;
    }
}

/* Flows are there with both ends. */
static void find_flows(cutter *c) {
    enum { STARTS = 1, ENDS = 2 };
    map ends = {0};
    for (size_t i = 0; i < c->flow_count; i++) {
        flow_event *f = &c->flows[i];
        bool alone = f->stays && !map_get(&c->device_rows, f->row);
        f->stays = alone || map_get(&c->places, f->place);
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

/* ---- Writing ---- */

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
    reader->quiet = reader->as_written = reader->with_text = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = reader->event;
        writer_begin_as(&writer, out, reader);
        if (reader->item == TRACE_MEMBER && text_is(reader->member.key, "prof")) {
            writer_key(&writer, "prof");
            write_head(out, reader->member.value, reader->member.value);
        } else if (reader->item == TRACE_MEMBER) {
            writer_member(&writer, reader->member.key, reader->member.value);
        }
        if (reader->item != TRACE_EVENT || !event_kept(c, event)) continue;
        c->any_kept |= event->phase != 'M';
        writer_event(&writer);
        if (event->phase == 'M' && text_is(event->name, "prof counts"))
            write_head(out, event->raw, event->args_text);
        else event_write(out, event);
    }
    writer_begin_as(&writer, out, reader);
    writer_end(&writer);
    int status = trace_close(reader);
    if (status != EXIT_OK || c->any_kept || !c->any_event) return status;
    warn(c->file, "nothing lies in this window");
    return EXIT_FOUND;
}

static int cut(cutter *c, const range_options *window, const char *path) {
    output out;
    int status = range_find(window, c->file, &c->window);
    if (status == EXIT_OK) status = take_events(c);
    if (status != EXIT_OK) return status;
    find_work(c);
    find_flows(c);
    if (c->kept_count) qsort(c->kept, c->kept_count, sizeof *c->kept, by_offset);
    if (!output_rewrite(&out, path)) return EXIT_BAD;
    return output_close(&out, write_part(c, &out));
}

static int run(int argc, char **argv) {
    range_options window = {0};
    const char *path = NULL;
    const option_spec options[] = {
        RANGE_OPTIONS(window),
        {"output", 'o', OPTION_TEXT, &path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    demangles = false;           /* names are written as they are */
    int status, count = options_parse(&cut_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (!range_given(&window)) return fail(NULL, "cut needs --from, --to, --step or --within");
    if (file_reads_once(argv[1]))
        return fail(argv[1], "cut reads its input several times, so it must be a file");
    cutter c = {.file = argv[1]};
    status = cut(&c, &window, path);
    range_free(&c.window);
    map_free(&c.launches);
    map_free(&c.places);
    map_free(&c.device_rows);
    free(c.works);
    free(c.flows);
    free(c.kept);
    return status;
}
