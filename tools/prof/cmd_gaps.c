/* prof gaps: when the devices were idle, and what they waited for. */
#include "busy.h"
#include "call_tree.h"
#include "losses.h"

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
    "HTA looks at each stream for itself: --streams.\n\n"
    "It takes 320 bytes of memory for each kernel and its launch, by op or gap 530.\n", run
};

enum { IDLE, HOST, SYNCHRONIZE, LAUNCH, WAIT, TURNAROUND, UNKNOWN, CAUSES };
static const char *const cause_names[CAUSES] = {
    "idle", "host", "synchronize", "launch", "wait", "turnaround", "unknown"
};

enum { HOST_WAIT, KERNEL_WAIT, OTHER, REASONS };
static const char *const reason_names[REASONS] = {"host wait", "kernel wait", "other"};
enum { KERNEL_WAIT_NS = 30000 };

typedef struct work {           /* a kernel, copy or fill */
    int64_t start_ns, end_ns;
    uint32_t row;               /* device or stream: the number of its thread in the tree */
    uint32_t name;
    work_kind kind;
} work;

typedef struct idle_gap {
    int64_t start_ns, ns[CAUSES];
    uint32_t before, after;     /* works: the one that it ends with, the one that it follows */
    uint8_t reason;             /* HTA's */
} idle_gap;

typedef struct gap_options {
    bool streams;
    int64_t limit;
    double short_us;
    const char *by, *format, *path;
} gap_options;

typedef struct gap_finder {
    const gap_options *options;
    call_tree tree;
    work *works;                /* as tree.kernels */
    size_t work_capacity;
    map labels, devices;        /* pid -> label's number in names; pid -> its first thread */
    map work_names;             /* kinds of work */
    uint32_t *order;            /* works by (row, start) */
    uint32_t *waits;            /* calls that wait for the device, by (thread, start) */
    size_t wait_count;
    idle_gap *gaps;
    size_t gap_count, gap_capacity;
} gap_finder;

/* ---- Reading ---- */

static uint32_t row_of(gap_finder *g, const trace_event *event) {
    uint32_t thread = tree_thread(&g->tree, event);
    bool is_new;
    if (g->options->streams) return thread;
    uint64_t *first = map_put(&g->devices, (uint64_t)event->pid, &is_new);
    if (is_new) *first = thread;
    return (uint32_t)*first;
}

/* Causes lie in the calls of the device's library alone: of all others none is kept for them. */
static bool is_needed(const gap_finder *g, const trace_event *event) {
    return event->kind == TRACE_RUNTIME || kind_is_device(event->kind) ||
           strcmp(g->options->by, "cause") != 0;
}

static void take(gap_finder *g, const trace_event *event) {
    size_t last = g->tree.kernel_count;
    char label[64];
    if (is_needed(g, event)) tree_add(&g->tree, event);
    if (g->tree.kernel_count > last) {
        GROW(g->works, last, g->work_capacity);
        g->works[last] = (work){
            event->ts_ns, event->ts_ns + event->dur_ns, row_of(g, event),
            intern(&g->tree.names, event->name.data, event->name.size),
            work_kind_of(&g->work_names, event)
        };
    } else if (event->phase == 'M' && text_is(event->name, "process_labels") &&
               trace_arg_text(event, "labels", label, sizeof label)) {
        *map_put(&g->labels, (uint64_t)event->pid, NULL) =
            intern(&g->tree.names, label, strlen(label));
    }
}

static bool work_before(uint32_t a, uint32_t b, const void *context) {
    const work *works = context, *x = &works[a], *y = &works[b];
    return x->row != y->row ? x->row < y->row : x->start_ns < y->start_ns;
}

static void find_waits(gap_finder *g) {
    g->waits = allocate(g->tree.ordered * sizeof *g->waits);
    for (size_t i = 0; i < g->tree.ordered; i++) {
        const call *c = &g->tree.calls[g->tree.order[i]];
        if (c->kind == TRACE_RUNTIME && call_waits(interned_text(&g->tree.names, c->name)))
            g->waits[g->wait_count++] = g->tree.order[i];
    }
}

/* ---- Causes ---- */

/* How much of [from, to) the thread spent in waiting calls. */
static int64_t waited(const gap_finder *g, uint32_t thread, int64_t from, int64_t to) {
    size_t low = 0, high = g->wait_count;
    while (low < high) {                         /* the first one of the thread from `from` on */
        size_t middle = (low + high) / 2;
        const call *c = &g->tree.calls[g->waits[middle]];
        if (c->thread < thread || (c->thread == thread && c->start_ns < from)) low = middle + 1;
        else high = middle;
    }
    if (low > 0) low--;                          /* one that began before may still be open */
    int64_t sum = 0;
    for (; low < g->wait_count; low++) {
        const call *c = &g->tree.calls[g->waits[low]];
        int64_t begin = c->start_ns > from ? c->start_ns : from;
        int64_t end = c->end_ns < to ? c->end_ns : to;
        if (c->thread > thread || c->start_ns >= to) break;
        if (c->thread != thread || end <= begin) continue;
        sum += end - begin;
        from = end;
    }
    return sum;
}

static void divide(const gap_finder *g, idle_gap *gap, int64_t end_ns) {
    const kernel_link *kernel = &g->tree.kernels[gap->before];
    uint32_t number = prof_join_owner(&g->tree.join, PROF_NO_ID, kernel->correlation);
    int64_t idle = end_ns - gap->start_ns;
    gap->reason = idle < KERNEL_WAIT_NS ? KERNEL_WAIT : OTHER;
    if (number == PROF_NONE) {
        gap->ns[UNKNOWN] = idle;
        return;
    }
    const call *launch = &g->tree.calls[number];
    if (launch->start_ns <= gap->start_ns) {
        gap->ns[(double)idle <= g->options->short_us * 1e3 ? TURNAROUND : WAIT] = idle;
        return;
    }
    gap->reason = HOST_WAIT;
    int64_t launched = launch->start_ns < end_ns ? launch->start_ns : end_ns;
    gap->ns[SYNCHRONIZE] = waited(g, launch->thread, gap->start_ns, launched);
    gap->ns[HOST] = launched - gap->start_ns - gap->ns[SYNCHRONIZE];
    gap->ns[LAUNCH] = end_ns - launched;
}

static void find_gaps(gap_finder *g) {
    size_t count = g->tree.kernel_count;
    g->order = sorted_numbers(count, work_before, g->works);
    for (size_t i = 1, last = 0; i < count; i++) {   /* last: the one that ends last so far */
        const work *next = &g->works[g->order[i]], *before = &g->works[g->order[last]];
        if (next->row == before->row && next->start_ns > before->end_ns) {
            GROW(g->gaps, g->gap_count, g->gap_capacity);
            idle_gap *found = &g->gaps[g->gap_count++];
            *found = (idle_gap){.start_ns = before->end_ns, .before = g->order[i],
                           .after = g->order[last]};
            divide(g, found, next->start_ns);
        }
        if (next->row != before->row || next->end_ns > before->end_ns) last = i;
    }
}

static int64_t idle_of(const idle_gap *gap) {
    int64_t sum = 0;
    for (int cause = HOST; cause < CAUSES; cause++) sum += gap->ns[cause];
    return sum;
}

static int main_cause(const idle_gap *gap) {
    int most = HOST;
    for (int cause = HOST; cause < CAUSES; cause++)
        if (gap->ns[cause] > gap->ns[most]) most = cause;
    return most;
}

/* ---- Tables ---- */

static char *device_name(gap_finder *g, sheet *s, uint32_t row) {
    const call_thread *thread = &g->tree.threads[row];
    const uint64_t *label = map_get(&g->labels, (uint64_t)thread->pid);
    char *device = label ? sheet_cell(s, "%s", interned_text(&g->tree.names, (uint32_t)*label))
                         : sheet_cell(s, "device %lld", (long long)thread->pid);
    if (!g->options->streams) return device;
    if (thread->tid_text != NO_CALL)
        return sheet_cell(s, "%s %s", device, interned_text(&g->tree.names, thread->tid_text));
    return sheet_cell(s, "%s stream %lld", device, (long long)thread->tid);
}

/* Of a cause on a device, or of all of them: IDLE. */
typedef struct cause_sum {
    int64_t ns, longest_ns, reasons_ns[REASONS];
    uint64_t count;
} cause_sum;

static void add_part(cause_sum *sum, int64_t part, int reason) {
    sum->ns += part;
    sum->count += part > 0;
    sum->reasons_ns[reason] += part;
    if (part > sum->longest_ns) sum->longest_ns = part;
}

static char **add_cause(gap_finder *g, sheet *s, uint32_t row, const char *name, int64_t ns,
                        const busy_time *busy) {
    char **cells = sheet_row(s);
    cells[0] = device_name(g, s, row);
    cells[1] = sheet_cell(s, "%s", name);
    cells[2] = sheet_us(s, ns);
    cells[3] = sheet_percent(s, ns, busy_span(busy));
    return cells;
}

static void add_device(gap_finder *g, sheet *s, uint32_t row, const busy_time *busy,
                       const cause_sum *sums) {
    add_cause(g, s, row, "busy", busy->busy_ns, busy);
    add_cause(g, s, row, "compute", busy->kind_ns[WORK_COMPUTE], busy);
    add_cause(g, s, row, "exposed communication", busy_exposed(busy), busy);
    add_cause(g, s, row, "exposed memory", busy->exposed_memory_ns, busy);
    for (int cause = IDLE; cause < CAUSES; cause++) {
        char **cells = add_cause(g, s, row, cause_names[cause], sums[cause].ns, busy);
        cells[4] = sheet_cell(s, "%llu", (unsigned long long)sums[cause].count);
        cells[5] = sheet_us(s, sums[cause].longest_ns);
        for (int reason = 0; reason < REASONS; reason++)
            cells[6 + reason] = sheet_us(s, sums[cause].reasons_ns[reason]);
    }
}

static void sheet_by_cause(gap_finder *g, sheet *s) {
    static const char *const heads[] = {"Device", "Cause", "Time (us)", "% of time", "Gaps",
                                        "Longest (us)", "HTA host wait (us)",
                                        "HTA kernel wait (us)", "HTA other (us)"};
    static const bool is_number[] = {false, false, true, true, true, true, true, true, true};
    sheet_begin(s, heads, is_number, 6 + REASONS);
    size_t next = 0;
    for (size_t i = 0, end; i < g->tree.kernel_count; i = end) {
        uint32_t row = g->works[g->order[i]].row;
        cause_sum sums[CAUSES] = {0};
        busy_time busy = {0};
        for (end = i; end < g->tree.kernel_count && g->works[g->order[end]].row == row; end++) {
            const work *w = &g->works[g->order[end]];
            busy_add(&busy, w->kind, w->start_ns, w->end_ns);
        }
        for (; next < g->gap_count && g->works[g->gaps[next].before].row == row; next++) {
            const idle_gap *gap = &g->gaps[next];
            add_part(&sums[IDLE], idle_of(gap), gap->reason);
            for (int cause = HOST; cause < CAUSES; cause++)
                add_part(&sums[cause], gap->ns[cause], gap->reason);
        }
        add_device(g, s, row, &busy, sums);
    }
}

typedef struct op_row { uint32_t name; uint64_t count; int64_t ns[CAUSES], idle, longest; } op_row;

static bool op_longer(uint32_t a, uint32_t b, const void *context) {
    const op_row *rows = context;
    return rows[a].idle > rows[b].idle;
}

/* The name of the op that launched the work after the gap, or UINT32_MAX. */
static uint32_t op_of(const gap_finder *g, const idle_gap *gap) {
    uint32_t owner = g->tree.kernels[gap->before].owner;
    return owner == NO_CALL ? UINT32_MAX : g->tree.calls[owner].name;
}

static size_t sum_by_op(const gap_finder *g, op_row **rows, int64_t *idle) {
    map numbers = {0};
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < g->gap_count; i++) {
        bool is_new;
        uint64_t *number = map_put(&numbers, op_of(g, &g->gaps[i]), &is_new);
        if (is_new) {
            GROW(*rows, count, capacity);
            (*rows)[count] = (op_row){.name = op_of(g, &g->gaps[i])};
            *number = count++;
        }
        op_row *row = &(*rows)[*number];
        int64_t ns = idle_of(&g->gaps[i]);
        row->count++;
        row->idle += ns;
        *idle += ns;
        if (ns > row->longest) row->longest = ns;
        for (int cause = HOST; cause < CAUSES; cause++) row->ns[cause] += g->gaps[i].ns[cause];
    }
    map_free(&numbers);
    return count;
}

static void sheet_by_op(gap_finder *g, sheet *s) {
    static const char *const heads[] = {
        "Op before whose work", "Idle (us)", "% of idle", "Gaps", "Longest (us)", "Host (us)",
        "Synchronize (us)", "Launch (us)", "Wait (us)", "Turnaround (us)", "Unknown (us)"
    };
    static const bool is_number[] = {false, true, true, true, true, true, true, true, true, true,
                                     true};
    sheet_begin(s, heads, is_number, 11);
    op_row *rows = NULL;
    int64_t idle = 0;
    size_t count = sum_by_op(g, &rows, &idle);
    uint32_t *order = sorted_numbers(count, op_longer, rows);
    for (size_t i = 0; i < count && (int64_t)i < g->options->limit; i++) {
        const op_row *row = &rows[order[i]];
        char **cells = sheet_row(s);
        cells[0] = sheet_cell(s, "%s", row->name == UINT32_MAX ? "(no op in the trace)"
                                       : interned_text(&g->tree.names, row->name));
        cells[1] = sheet_us(s, row->idle);
        cells[2] = sheet_percent(s, row->idle, idle);
        cells[3] = sheet_cell(s, "%llu", (unsigned long long)row->count);
        cells[4] = sheet_us(s, row->longest);
        for (int cause = HOST; cause < CAUSES; cause++)
            cells[4 + cause] = sheet_us(s, row->ns[cause]);
    }
    free(order);
    free(rows);
}

static bool gap_longer(uint32_t a, uint32_t b, const void *context) {
    const idle_gap *gaps = context;
    return idle_of(&gaps[a]) > idle_of(&gaps[b]);
}

static void sheet_by_gap(gap_finder *g, sheet *s) {
    static const char *const heads[] = {"Device", "Begin (us)", "Idle (us)", "Cause", "Of it (us)",
                                        "Op", "After", "Before", "HTA's reason"};
    static const bool is_number[] = {false, true, true, false, true, false, false, false, false};
    sheet_begin(s, heads, is_number, 9);
    uint32_t *order = sorted_numbers(g->gap_count, gap_longer, g->gaps);
    for (size_t i = 0; i < g->gap_count && (int64_t)i < g->options->limit; i++) {
        const idle_gap *gap = &g->gaps[order[i]];
        uint32_t op = op_of(g, gap);
        char **cells = sheet_row(s);
        cells[0] = device_name(g, s, g->works[gap->before].row);
        cells[1] = sheet_us(s, gap->start_ns);
        cells[2] = sheet_us(s, idle_of(gap));
        cells[3] = sheet_cell(s, "%s", cause_names[main_cause(gap)]);
        cells[4] = sheet_us(s, gap->ns[main_cause(gap)]);
        if (op != UINT32_MAX) cells[5] = sheet_cell(s, "%s", interned_text(&g->tree.names, op));
        cells[6] = sheet_cell(s, "%s", interned_text(&g->tree.names, g->works[gap->after].name));
        cells[7] = sheet_cell(s, "%s", interned_text(&g->tree.names, g->works[gap->before].name));
        cells[8] = sheet_cell(s, "%s", reason_names[gap->reason]);
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
    sheet_write(&s, format, &out);
    sheet_free(&s);
    if (format == FORMAT_TEXT && g->tree.kernel_count == 0)
        output_text(&out, "There is no work of a device in this trace.\n");
    return output_close(&out);
}

static void free_finder(gap_finder *g) {
    tree_free(&g->tree);
    map_free(&g->labels);
    map_free(&g->devices);
    map_free(&g->work_names);
    free(g->works);
    free(g->order);
    free(g->waits);
    free(g->gaps);
}

static int find_and_write(const gap_options *o, table_format format, const char *path) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    gap_finder g = {.options = o, .tree.owners_only = true};
    while (trace_next(reader) != TRACE_END) {
        g.tree.zones_ahead = reader->losses->zones_ahead;
        if (reader->item == TRACE_EVENT) take(&g, &reader->event);
    }
    int status = trace_close(reader);
    if (status == EXIT_OK) {
        tree_build(&g.tree);
        find_waits(&g);
        find_gaps(&g);
        status = write_gaps(&g, format);
    }
    free_finder(&g);
    return status;
}

static int run(int argc, char **argv) {
    gap_options o = {.by = "cause", .limit = 50, .short_us = 10};
    table_format format;
    const option_spec options[] = {
        {"by", 'b', OPTION_TEXT, &o.by, "WHAT", "cause (default), op or gap"},
        {"streams", 0, OPTION_FLAG, &o.streams, NULL, "each stream for itself, not each device"},
        {"short", 0, OPTION_NUMBER, &o.short_us, "US", "the longest turnaround (10)"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows of ops or gaps, or all (50)"},
        {"format", 'f', OPTION_TEXT, &o.format, "FORMAT", "text, csv or json"},
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
