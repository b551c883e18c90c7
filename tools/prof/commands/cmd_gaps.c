/* prof gaps: when the devices were idle, and what they waited for. */
#include "analysis/busy.h"
#include "input/losses.h"
#include "trace/trace.h"
#include "input/trace_reader.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command gaps_command = {
    "gaps", "[OPTION]... TRACE", "when the GPU was idle, by cause",
    "  prof gaps trace.json.gz\n"
    "      per device: busy time, and idle time by cause\n"
    "  prof gaps --by op trace.json\n"
    "      the ops before whose work the GPU stood idle\n"
    "  prof gaps --by gap --limit 10 trace.json\n"
    "      the ten longest gaps\n\n"
    "Busy is the share of the time from a device's first kernel, copy or fill to the\n"
    "end of its last one in which any of them ran. It is the sum of compute, exposed\n"
    "communication (without compute at the same time) and exposed memory (copies and\n"
    "fills with neither); prof ranks --help tells the kinds apart. prof report, its\n"
    "page and prof ranks have the same.\n\n"
    "A gap ends where the next kernel, copy or fill begins. Its time is divided at\n"
    "the call that launched it:\n"
    "  host         the host had not launched it yet\n"
    "  synchronize  of that, the host's thread was waiting for the device\n"
    "  launch       from the launch to the kernel's begin\n"
    "  wait         launched before the gap; waited for a stream, an event, a copy\n"
    "  turnaround   the same, at most as long as --short: from kernel to kernel\n"
    "  unknown      its launch is not in the trace\n"
    "Idle is their sum.\n\n"
    "Beside them stand the reasons of HolisticTraceAnalysis, which a gap has as a whole:\n"
    "  host wait    the next work was launched after the gap had begun\n"
    "  kernel wait  else, if the gap is shorter than 30 us\n"
    "  other        else\n"
    "HTA looks at each stream for itself: --streams.\n", run
};

enum { IDLE, HOST, SYNCHRONIZE, LAUNCH, WAIT, TURNAROUND, UNKNOWN, CAUSES };
static const char *const cause_names[CAUSES] = {
    "idle", "host", "synchronize", "launch", "wait", "turnaround", "unknown"
};

enum { HOST_WAIT, KERNEL_WAIT, OTHER, REASONS };
static const char *const reason_names[REASONS] = {"host wait", "kernel wait", "other"};
enum { KERNEL_WAIT_NS = 30000 };

typedef struct idle_gap {
    int64_t start_ns, ns[CAUSES];
    int64_t waited_to_ns, launched_ns;   /* where waits count from: begin, or end of the last one;
                                            and up to */
    uint32_t row, thread;       /* thread: that launched what it ends with */
    uint32_t before, after, op; /* names of works: that it ends with, that it follows; and op */
    uint32_t reason;            /* HTA's */
} idle_gap;

/* Of a cause on a device, or of all of them: IDLE. */
typedef struct cause_sum {
    int64_t ns, longest_ns, reasons_ns[REASONS];
    uint64_t count;
} cause_sum;

typedef struct row_sum { bool any; busy_time busy; cause_sum causes[CAUSES]; } row_sum;

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
    const char *by, *format, *path;
} gap_options;

typedef struct gap_finder {
    const gap_options *options;
    struct trace trace;         /* key of a work: its kind (busy.h), and 4 x its stream */
    map labels, devices;        /* pid -> label's number in names; pid -> its first thread */
    map work_names;             /* kinds of work */
    odd_works odd;
    uint32_t *waits;            /* calls that wait for a device, by (thread, start) */
    size_t wait_count, wait_capacity;
    idle_gap *gaps;             /* by (row, start) */
    size_t gap_count, gap_capacity;
    row_sum *rows;              /* by number of the thread: a device or a stream */
    op_row *op_rows;
    size_t op_count, op_capacity;
    map op_numbers;
    int64_t idle_ns;            /* of all ops */
} gap_finder;

/* ---- Reading ---- */

static int64_t idle_of(const idle_gap *gap) {
    int64_t sum = 0;
    for (int cause = HOST; cause < CAUSES; cause++) sum += gap->ns[cause];
    return sum;
}

static bool longer(uint32_t a, uint32_t b, const void *context) {
    const idle_gap *gaps = context;
    return idle_of(&gaps[a]) > idle_of(&gaps[b]);
}

/* Of a work: its device, or its stream. */
static uint32_t row_of(gap_finder *g, uint32_t thread) {
    bool is_new;
    if (g->options->streams) return thread;
    uint64_t *first = map_put(&g->devices, (uint64_t)g->trace.threads[thread].pid, &is_new);
    if (is_new) *first = thread;
    return (uint32_t)*first;
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    gap_finder *g = user;
    const trace_event *event = &reader->event;
    char label[64];
    if (kept == KEPT_WORK) {
        device_work *made = &g->trace.works[g->trace.work_count - 1];
        made->key = work_kind_of(&g->work_names, event) | made->thread << 2;
        odd_note(&g->odd, made->start_ns, made->end_ns);
        made->thread = row_of(g, made->thread);
    }
    if (reader->item == TRACE_EVENT && event->phase == 'M' &&
        text_is(event->name, "process_labels") &&
        trace_arg_text(event, "labels", label, sizeof label))
        *map_put(&g->labels, (uint64_t)event->pid, NULL) =
            intern(&g->trace.names, label, strlen(label));
}

/* ---- Causes ---- */

/* But for the waits of its thread. */
static void divide(const gap_finder *g, idle_gap *gap, const device_work *next) {
    int64_t idle = next->start_ns - gap->start_ns;
    const call *launch = next->launch == NO_CALL ? NULL : &g->trace.calls[next->launch];
    gap->reason = idle < KERNEL_WAIT_NS ? KERNEL_WAIT : OTHER;
    if (!launch) {
        gap->ns[UNKNOWN] = idle;
    } else if (launch->start_ns <= gap->start_ns) {
        gap->ns[(double)idle <= g->options->short_us * 1e3 ? TURNAROUND : WAIT] = idle;
    } else {
        gap->reason = HOST_WAIT;
        gap->launched_ns = launch->start_ns < next->start_ns ? launch->start_ns : next->start_ns;
        gap->ns[HOST] = gap->launched_ns - gap->start_ns;
        gap->ns[LAUNCH] = next->start_ns - gap->launched_ns;
    }
}

static uint32_t name_of(const gap_finder *g, uint32_t number) {
    return number == NO_CALL ? NO_CALL : g->trace.calls[number].name;
}

static void add_gap(gap_finder *g, const device_work *last, const device_work *next) {
    idle_gap gap = {
        .start_ns = last->end_ns, .waited_to_ns = last->end_ns, .launched_ns = INT64_MIN,
        .row = next->thread, .thread = NO_CALL, .before = next->name, .after = last->name,
        .op = name_of(g, next->owner)
    };
    if (next->launch != NO_CALL) gap.thread = g->trace.calls[next->launch].thread;
    divide(g, &gap, next);
    GROW(g->gaps, g->gap_count, g->gap_capacity);
    g->gaps[g->gap_count++] = gap;
}

static bool work_before(uint32_t a, uint32_t b, const void *context) {
    const device_work *works = context, *x = &works[a], *y = &works[b];
    return x->thread != y->thread ? x->thread < y->thread : x->start_ns < y->start_ns;
}

static void find_gaps(gap_finder *g) {
    const device_work *last = NULL;              /* the one that ends last so far */
    uint32_t *order = sorted_numbers(g->trace.work_count, work_before, g->trace.works);
    g->rows = allocate((g->trace.thread_count + 1) * sizeof *g->rows);
    for (size_t i = 0; i < g->trace.work_count; i++) {
        const device_work *next = &g->trace.works[order[i]];
        if (!range_holds(&g->trace.range, next->start_ns)) continue;
        row_sum *sum = &g->rows[next->thread];
        if (!odd_take(&g->odd, next->key >> 2, next->start_ns, next->end_ns)) continue;
        sum->any = true;
        busy_add(&sum->busy, (work_kind)(next->key & 3), next->start_ns, next->end_ns);
        bool same = last && next->thread == last->thread;
        if (same && next->start_ns > last->end_ns) add_gap(g, last, next);
        if (!same || next->end_ns > last->end_ns) last = next;
    }
    free(order);
}

/* Causes lie in the calls of the device's library alone. */
static void find_waits(gap_finder *g) {
    for (size_t i = 0; i < g->trace.call_count; i++) {
        uint32_t number = g->trace.order[i];
        const call *c = &g->trace.calls[number];
        if (c->kind != TRACE_RUNTIME || !call_waits(interned_text(&g->trace.names, c->name)))
            continue;
        GROW(g->waits, g->wait_count, g->wait_capacity);
        g->waits[g->wait_count++] = number;
    }
}

static void add_part(cause_sum *sum, int64_t part, uint32_t reason) {
    sum->ns += part;
    sum->count += part > 0;
    sum->reasons_ns[reason] += part;
    if (part > sum->longest_ns) sum->longest_ns = part;
}

static void add_to_op(gap_finder *g, const idle_gap *gap) {
    bool is_new;
    uint64_t *number = map_put(&g->op_numbers, gap->op, &is_new);
    if (is_new) {
        GROW(g->op_rows, g->op_count, g->op_capacity);
        g->op_rows[g->op_count] = (op_row){.name = gap->op};
        *number = g->op_count++;
    }
    op_row *row = &g->op_rows[*number];
    int64_t ns = idle_of(gap);
    row->count++;
    row->idle += ns;
    g->idle_ns += ns;
    if (ns > row->longest) row->longest = ns;
    for (int cause = HOST; cause < CAUSES; cause++) row->ns[cause] += gap->ns[cause];
}

static void add_to_sums(gap_finder *g, const idle_gap *gap) {
    row_sum *sum = &g->rows[gap->row];
    add_part(&sum->causes[IDLE], idle_of(gap), gap->reason);
    for (int cause = HOST; cause < CAUSES; cause++)
        add_part(&sum->causes[cause], gap->ns[cause], gap->reason);
    add_to_op(g, gap);
}

/* How much of the time up to its launch the thread spent in this call. */
static void take_wait(idle_gap *gap, const call *wait) {
    int64_t begin = wait->start_ns > gap->waited_to_ns ? wait->start_ns : gap->waited_to_ns;
    int64_t end = wait->end_ns < gap->launched_ns ? wait->end_ns : gap->launched_ns;
    if (end <= begin) return;
    gap->ns[SYNCHRONIZE] += end - begin;
    gap->ns[HOST] -= end - begin;
    gap->waited_to_ns = end;
}

/* Of the waits, the first one of the thread that begins at that time or later. */
static size_t first_wait(const gap_finder *g, uint32_t thread, int64_t ns) {
    size_t from = 0, to = g->wait_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const call *c = &g->trace.calls[g->waits[middle]];
        bool before = c->thread != thread ? c->thread < thread : c->start_ns < ns;
        if (before) from = middle + 1;
        else to = middle;
    }
    return from;
}

/* Of the waits that began before the gap, the last one may still go on. */
static void take_waits(const gap_finder *g, idle_gap *gap) {
    size_t at = first_wait(g, gap->thread, gap->start_ns);
    if (at) at--;
    for (; at < g->wait_count; at++) {
        const call *wait = &g->trace.calls[g->waits[at]];
        if (wait->thread > gap->thread ||
            (wait->thread == gap->thread && wait->start_ns >= gap->launched_ns)) return;
        if (wait->thread == gap->thread) take_wait(gap, wait);
    }
}

static int main_cause(const idle_gap *gap) {
    int most = HOST;
    for (int cause = HOST; cause < CAUSES; cause++)
        if (gap->ns[cause] > gap->ns[most]) most = cause;
    return most;
}

/* ---- Tables ---- */

static void cell_device(const gap_finder *g, sheet *s, uint32_t row) {
    const interner *names = &g->trace.names;
    const call_thread *thread = &g->trace.threads[row];
    const uint64_t *label = map_get(&g->labels, (uint64_t)thread->pid);
    char device[80], stream[32];
    if (label) snprintf(device, sizeof device, "%s", interned_text(names, (uint32_t)*label));
    else snprintf(device, sizeof device, "device %lld", (long long)thread->pid);
    snprintf(stream, sizeof stream, "stream %lld", (long long)thread->tid);
    if (!g->options->streams) cell_text(s, device);
    else cell_format(s, "%s %s", device, thread->tid_text == NO_CALL ? stream
                                           : interned_text(names, thread->tid_text));
}

static void add_cause(const gap_finder *g, sheet *s, uint32_t row, const char *name, int64_t ns) {
    sheet_row(s);
    cell_device(g, s, row);
    cell_text(s, name);
    cell_us(s, ns);
    cell_percent(s, ns, busy_span(&g->rows[row].busy));
}

static void add_device(const gap_finder *g, sheet *s, uint32_t row) {
    const busy_time *busy = &g->rows[row].busy;
    add_cause(g, s, row, "busy", busy->busy_ns);
    add_cause(g, s, row, "compute", busy->kind_ns[WORK_COMPUTE]);
    add_cause(g, s, row, "exposed communication", busy_exposed(busy));
    add_cause(g, s, row, "exposed memory", busy->exposed_memory_ns);
    for (int cause = IDLE; cause < CAUSES; cause++) {
        const cause_sum *sum = &g->rows[row].causes[cause];
        add_cause(g, s, row, cause_names[cause], sum->ns);
        cell_int(s, (int64_t)sum->count);
        cell_us(s, sum->longest_ns);
        for (int reason = 0; reason < REASONS; reason++) cell_us(s, sum->reasons_ns[reason]);
    }
}

static void sheet_by_cause(const gap_finder *g, sheet *s) {
    sheet_begin(s, "Device|Cause|Time (us)#|% of time#|Gaps#|Longest (us)#|HTA host wait (us)#|"
                   "HTA kernel wait (us)#|HTA other (us)#");
    for (uint32_t row = 0; row < g->trace.thread_count; row++)
        if (g->rows[row].any) add_device(g, s, row);
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
    sheet_begin(s, "Device|Begin (us)#|Idle (us)#|Cause|Of it (us)#|Op|After|Before|HTA's reason");
    uint32_t *order = sorted_numbers(g->gap_count, longer, g->gaps);
    for (size_t i = 0; i < g->gap_count && (int64_t)i < g->options->limit; i++) {
        const idle_gap *gap = &g->gaps[order[i]];
        int cause = main_cause(gap);
        cell_device(g, s, gap->row);
        cell_us(s, gap->start_ns);
        cell_us(s, idle_of(gap));
        cell_text(s, cause_names[cause]);
        cell_us(s, gap->ns[cause]);
        cell_text(s, gap->op == NO_CALL ? NULL : interned_text(names, gap->op));
        cell_text(s, interned_text(names, gap->after));
        cell_text(s, interned_text(names, gap->before));
        cell_text(s, reason_names[gap->reason]);
    }
    free(order);
}

/* ---- The command ---- */

static int write_gaps(gap_finder *g, table_format format) {
    output out;
    sheet s;
    if (!output_open(&out, g->options->path)) return EXIT_BAD;
    losses_write(&out);
    if (strcmp(g->options->by, "op") == 0) sheet_by_op(g, &s);
    else if (strcmp(g->options->by, "gap") == 0) sheet_by_gap(g, &s);
    else sheet_by_cause(g, &s);
    sheet_end(&s, format, &out);
    if (format == FORMAT_TEXT && g->trace.work_count == 0)
        output_text(&out, "There is no work of a device in this trace.\n");
    return output_close(&out, EXIT_OK);
}

static void free_finder(gap_finder *g) {
    trace_free(&g->trace);
    map_free(&g->labels);
    map_free(&g->devices);
    map_free(&g->work_names);
    map_free(&g->op_numbers);
    free(g->waits);
    free(g->gaps);
    free(g->rows);
    free(g->op_rows);
    odd_free(&g->odd);
}

static int find_and_write(const gap_options *o, table_format format, const char *path) {
    char text[320];
    gap_finder g = {.options = o, .trace = {.with_works = true, .window = o->window}};
    int status = trace_load(&g.trace, path, take, &g);
    if (status == EXIT_OK) {
        trace_nest(&g.trace);
        trace_own(&g.trace);
        find_gaps(&g);
        find_waits(&g);
        for (size_t i = 0; i < g.gap_count; i++) {
            take_waits(&g, &g.gaps[i]);
            add_to_sums(&g, &g.gaps[i]);
        }
        if (odd_text(&g.odd, text)) warn(path, "%s", text);
        status = write_gaps(&g, format);
    }
    free_finder(&g);
    return status;
}

static int run(int argc, char **argv) {
    range_options window = {0};
    gap_options o = {.window = &window, .by = "cause", .limit = 50, .short_us = 10};
    table_format format;
    const option_spec options[] = {
        {"by", 'b', OPTION_TEXT, &o.by, "WHAT", "cause (default), op or gap"},
        {"streams", 0, OPTION_FLAG, &o.streams, NULL, "each stream for itself, not each device"},
        {"short", 0, OPTION_NUMBER, &o.short_us, "US", "the longest turnaround (10)"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows of ops or gaps, or all (50)"},
        REPAIR_OPTION,
        {"format", 'f', OPTION_TEXT, &o.format, "FORMAT", "text, csv or json"},
        RANGE_OPTIONS(window),
        {"output", 'o', OPTION_TEXT, &o.path, "FILE", "instead of stdout"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&gaps_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != 1) return fail(NULL, "gaps takes one trace; see prof gaps --help");
    if (!format_parse(o.format, &format) || format == FORMAT_HTML)
        return fail("--format", "'%s' is none of text, csv, json", o.format);
    if (strcmp(o.by, "cause") != 0 && strcmp(o.by, "op") != 0 && strcmp(o.by, "gap") != 0)
        return fail("--by", "'%s' is none of cause, op, gap", o.by);
    if (format == FORMAT_TEXT) losses_hold();
    return find_and_write(&o, format, argv[1]);
}
