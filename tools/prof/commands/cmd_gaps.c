/* prof gaps: when the devices were idle, and what they waited for. */
#include "analysis/gaps.h"
#include "input/losses.h"
#include "input/trace_reader.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command gaps_command = {
    "gaps", "[OPTION]... TRACE", "when the GPU was idle, and why",
    "  prof gaps trace.json.gz\n"
    "      per device: busy time, and idle time by cause\n"
    "  prof gaps --by op trace.json\n"
    "      the ops whose work the idle GPU was waiting for\n"
    "  prof gaps --by gap --limit 10 trace.json\n"
    "      the ten longest gaps\n\n"
    "Busy is the share of time in which a kernel, copy or fill ran, from the begin\n"
    "of the device's first one to the end of its last. It is the sum of compute,\n"
    "exposed communication (no compute at the same time) and exposed memory (copies\n"
    "and fills with neither); prof ranks --help says which is which. prof report,\n"
    "its page and prof ranks count in the same way.\n\n"
    "A gap ends where the next kernel, copy or fill begins. Its time is divided at\n"
    "the call that launched it:\n"
    "  host         the host had not launched it yet\n"
    "  synchronize  the same, while the host's thread waited for the device\n"
    "  launch       from the launch to the kernel's begin\n"
    "  wait         launched before the gap; waited for a stream, an event, a copy\n"
    "  turnaround   the same, but no longer than --short: from kernel to kernel\n"
    "  unknown      its launch is not in the trace\n"
    "Idle is their sum.\n\n"
    "The reasons of HolisticTraceAnalysis are sums of these, with --streams --short\n"
    "30: host wait is host, synchronize and launch; kernel wait is turnaround; other\n"
    "is wait.\n",
    run, 1, 1
};

typedef struct op_row {
    uint64_t count;
    int64_t ns[CAUSES], idle, longest;
    uint32_t name;
} op_row;

typedef struct gap_options {
    const range_options *window;
    bool streams;
    int64_t limit;
    double short_us;
    enum { BY_CAUSE, BY_OP, BY_GAP } by;
    table_format format;
    const char *path;
} gap_options;

typedef struct gap_finder {
    const gap_options *options;
    struct trace trace;
    gap_list found;
    map work_names;             /* kinds of work */
    op_row *op_rows;
    size_t op_count, op_capacity;
    map op_numbers;
    int64_t idle_ns;            /* of all ops */
} gap_finder;

/* ---- Reading ---- */

static bool longer(uint32_t a, uint32_t b, const void *context) {
    const idle_gap *gaps = context;
    return gap_ns(&gaps[a]) > gap_ns(&gaps[b]);
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    gap_finder *g = user;
    const trace_event *event = reader->event;
    if (kept == KEPT_WORK)
        g->trace.works[g->trace.work_count - 1].key = work_kind_of(&g->work_names, event);
    if (reader->item == TRACE_EVENT && event->phase == 'M') trace_take_name(&g->trace, event);
}

static uint32_t op_of(const gap_finder *g, const idle_gap *gap) {
    uint32_t owner = g->trace.works[gap->before].owner;
    return owner == NO_CALL ? NO_CALL : g->trace.calls[owner].name;
}

static void add_to_op(gap_finder *g, const idle_gap *gap) {
    bool is_new;
    uint32_t op = op_of(g, gap);
    size_t number = NUMBER_OF(&g->op_numbers, op, g->op_rows, g->op_count, g->op_capacity, &is_new);
    op_row *row = &g->op_rows[number];
    if (is_new) *row = (op_row){.name = op};
    int64_t ns = gap_ns(gap);
    row->count++;
    row->idle += ns;
    g->idle_ns += ns;
    if (ns > row->longest) row->longest = ns;
    for (int cause = HOST; cause < CAUSES; cause++) row->ns[cause] += gap->ns[cause];
}

/* ---- Tables ---- */

static void cell_device(const gap_finder *g, sheet *s, uint32_t row) {
    const call_thread *thread = &g->trace.threads[row];
    const char *label = trace_words(&g->trace, g->trace.processes[thread->process].labels);
    const char *words = trace_words(&g->trace, thread->tid_text);
    char device[32], stream[32];
    snprintf(device, sizeof device, "device %lld", (long long)thread->pid);
    snprintf(stream, sizeof stream, "stream %lld", (long long)thread->tid);
    if (!label) label = device;
    if (!g->options->streams) cell_text(s, label);
    else cell_format(s, "%s %s", label, words ? words : stream);
}

static void add_cause(const gap_finder *g, sheet *s, uint32_t row, const char *name, int64_t ns) {
    sheet_row(s);
    cell_device(g, s, row);
    cell_text(s, name);
    cell_us(s, ns);
    cell_percent(s, ns, busy_span(&g->found.rows[row].busy));
}

static void add_device(const gap_finder *g, sheet *s, uint32_t row) {
    const busy_time *busy = &g->found.rows[row].busy;
    add_cause(g, s, row, "busy", busy->busy_ns);
    add_cause(g, s, row, "compute", busy->kind_ns[WORK_COMPUTE]);
    add_cause(g, s, row, "exposed communication", busy_exposed(busy));
    add_cause(g, s, row, "exposed memory", busy->exposed_memory_ns);
    for (int cause = IDLE; cause < CAUSES; cause++) {
        const cause_sum *sum = &g->found.rows[row].causes[cause];
        add_cause(g, s, row, cause_names[cause], sum->ns);
        cell_int(s, (int64_t)sum->count);
        cell_us(s, sum->longest_ns);
    }
}

static void sheet_by_cause(const gap_finder *g, sheet *s) {
    sheet_begin(s, "Device|Cause|Time (us)#|% of time#|Gaps#|Longest (us)#");
    for (uint32_t row = 0; row < g->trace.thread_count; row++)
        if (g->found.rows[row].any) add_device(g, s, row);
}

static bool op_longer(uint32_t a, uint32_t b, const void *context) {
    const op_row *rows = context;
    return rows[a].idle > rows[b].idle;
}

static void sheet_by_op(const gap_finder *g, sheet *s) {
    sheet_begin(s, "Op before whose work|Idle (us)#|% of idle#|Gaps#|Longest (us)#|Host (us)#|"
                   "Synchronize (us)#|Launch (us)#|Wait (us)#|Turnaround (us)#|Unknown (us)#");
    uint32_t *order = sorted_numbers(g->op_count, op_longer, g->op_rows);
    for (size_t i = 0; i < g->op_count && (int64_t)i < g->options->limit; i++) {
        const op_row *row = &g->op_rows[order[i]];
        cell_text(s, row->name == NO_CALL ? "(no op in the trace)"
                                          : interned_text(&g->trace.names, row->name));
        cell_us(s, row->idle);
        cell_percent(s, row->idle, g->idle_ns);
        cell_int(s, (int64_t)row->count);
        cell_us(s, row->longest);
        for (int cause = HOST; cause < CAUSES; cause++) cell_us(s, row->ns[cause]);
    }
    free(order);
}

static void sheet_by_gap(const gap_finder *g, sheet *s) {
    const interner *names = &g->trace.names;
    sheet_begin(s, "Device|Begin (us)#|Idle (us)#|Cause|Of it (us)#|Op|After|Before");
    uint32_t *order = sorted_numbers(g->found.gap_count, longer, g->found.gaps);
    for (size_t i = 0; i < g->found.gap_count && (int64_t)i < g->options->limit; i++) {
        const idle_gap *gap = &g->found.gaps[order[i]];
        int cause = gap_cause(gap);
        cell_device(g, s, gap->row);
        cell_us(s, gap->start_ns);
        cell_us(s, gap_ns(gap));
        cell_text(s, cause_names[cause]);
        cell_us(s, gap->ns[cause]);
        uint32_t op = op_of(g, gap);
        cell_text(s, op == NO_CALL ? NULL : interned_text(names, op));
        cell_text(s, interned_text(names, g->trace.works[gap->after].name));
        cell_text(s, interned_text(names, g->trace.works[gap->before].name));
    }
    free(order);
}

/* ---- The command ---- */

static int write_gaps(gap_finder *g) {
    const gap_options *o = g->options;
    output out;
    sheet s;
    if (!output_open(&out, o->path)) return EXIT_BAD;
    losses_write(&out);
    if (o->by == BY_OP) sheet_by_op(g, &s);
    else if (o->by == BY_GAP) sheet_by_gap(g, &s);
    else sheet_by_cause(g, &s);
    sheet_end(&s, o->format, &out);
    if (o->format == FORMAT_TEXT && g->trace.work_count == 0)
        output_text(&out, "There is no work of a device in this trace.\n");
    return output_close(&out, EXIT_OK);
}

static void free_finder(gap_finder *g) {
    trace_free(&g->trace);
    map_free(&g->work_names);
    map_free(&g->op_numbers);
    free(g->op_rows);
    gaps_free(&g->found);
}

static int find_and_write(const gap_options *o, const char *path) {
    char text[320];
    gap_finder g = {.options = o, .trace = {.with_works = true, .window = o->window}};
    int status = trace_load(&g.trace, path, take, &g);
    if (status == EXIT_OK) {
        trace_nest(&g.trace);
        trace_own(&g.trace);
        gaps_find(&g.found, &g.trace, o->streams, o->short_us * 1e3);
        for (size_t i = 0; i < g.found.gap_count; i++) add_to_op(&g, &g.found.gaps[i]);
        if (odd_text(&g.found.odd, text)) warn(path, "%s", text);
        status = write_gaps(&g);
    }
    free_finder(&g);
    return status;
}

static int run(int argc, char **argv) {
    range_options window = {0};
    gap_options o = {.window = &window, .limit = 50, .short_us = 10};
    const option_spec options[] = {
        {"by", 'b', OPTION_WORD, &o.by, "cause|op|gap", "(cause)"},
        {"streams", 0, OPTION_FLAG, &o.streams, NULL, "each stream for itself, not each device"},
        {"short", 0, OPTION_NUMBER, &o.short_us, "US", "the longest turnaround (10)"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows of ops or gaps, or all (50)"},
        FORMAT_OPTION(o.format),
        RANGE_OPTIONS(window),
        {"output", 'o', OPTION_TEXT, &o.path, "FILE", "instead of stdout"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&gaps_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (o.format == FORMAT_TEXT) losses_hold();
    return find_and_write(&o, argv[1]);
}
