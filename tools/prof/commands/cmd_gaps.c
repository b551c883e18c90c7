/* prof gaps: when the devices were idle, and what they waited for. */
#include "analysis/busy.h"
#include "base/span_sorter.h"
#include "input/losses.h"
#include "input/trace_reader.h"
#include "trace/call_walk.h"
#include "trace/work_join.h"

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

typedef struct work {           /* a kernel, copy or fill */
    int64_t start_ns, end_ns, launch_ns;
    uint64_t number;            /* its place among those of the file */
    uint32_t row;               /* device or stream: the number of its thread in the tree */
    uint32_t name, op;          /* op: that it is of, or NO_CALL */
    uint32_t launch_thread;     /* NO_CALL: its launch is not in the trace */
    work_kind kind;
} work;

typedef struct wait {           /* a call that waits for the device */
    int64_t start_ns, end_ns;
    uint32_t thread;
} wait;

typedef struct idle_gap {
    int64_t start_ns, ns[CAUSES];
    int64_t waited_to_ns, launched_ns;   /* where waits count from: begin, or end of the last one;
                                            and up to */
    uint64_t number;            /* its place among all, by (row, start) */
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
    uint64_t count, first;      /* first: the least number of a gap */
    int64_t ns[CAUSES], idle, longest;
    uint32_t name;
} op_row;

typedef struct gap_options {
    bool streams;
    int64_t limit;
    double short_us;
    const char *by, *format, *path;
} gap_options;

typedef struct gap_finder {
    const gap_options *options;
    call_walk walk;             /* finds ops; its names and threads are those of all */
    map labels, devices;        /* pid -> label's number in names; pid -> its first thread */
    map work_names;             /* kinds of work */
    work_join *launches;
    span_sorter *ops;           /* of works, where they are asked for; NULL */
    span_sorter *works;         /* by (row, start) */
    span_sorter *waits;         /* by (thread, start) */
    span_sorter *gaps;          /* so, too; */
    span_sorter *longest;       /* and by length, where they are asked for; NULL */
    uint64_t work_count, call_count, gap_count;
    row_sum *rows;              /* by number of the thread */
    size_t row_count;
    op_row *op_rows;
    size_t op_count, op_capacity;
    map op_numbers;
    int64_t idle_ns;            /* of all ops */
} gap_finder;

/* ---- Reading ---- */

static bool work_before(const void *one, const void *other) {
    const work *a = one, *b = other;
    if (a->row != b->row) return a->row < b->row;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->number < b->number;
}

static bool wait_before(const void *one, const void *other) {
    const wait *a = one, *b = other;
    if (a->thread != b->thread) return a->thread < b->thread;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
}

static bool gap_before(const void *one, const void *other) {
    const idle_gap *a = one, *b = other;
    if (a->thread != b->thread) return a->thread < b->thread;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->number < b->number;
}

static int64_t idle_of(const idle_gap *gap) {
    int64_t sum = 0;
    for (int cause = HOST; cause < CAUSES; cause++) sum += gap->ns[cause];
    return sum;
}

static bool longer(const void *one, const void *other) {
    const idle_gap *a = one, *b = other;
    int64_t x = idle_of(a), y = idle_of(b);
    return x != y ? x > y : a->number < b->number;
}

typedef struct work_op { uint64_t work; uint32_t name; } work_op;

static bool op_before(const void *one, const void *other) {
    return ((const work_op *)one)->work < ((const work_op *)other)->work;
}

static uint32_t row_of(gap_finder *g, const trace_event *event) {
    uint32_t thread = tree_thread(&g->walk.tree, event);
    bool is_new;
    if (g->options->streams) return thread;
    uint64_t *first = map_put(&g->devices, (uint64_t)event->pid, &is_new);
    if (is_new) *first = thread;
    return (uint32_t)*first;
}

static void take_work(gap_finder *g, const trace_event *event) {
    int64_t ids[JOINS] = {NO_ID, NO_ID, NO_ID};
    trace_work_ids(event, &ids[JOIN_LAUNCH]);
    const joined made = {
        .start_ns = event->ts_ns, .ns = event->dur_ns, .thread = row_of(g, event),
        .id = intern(&g->walk.tree.names, event->name.data, event->name.size),
        .what = work_kind_of(&g->work_names, event)
    };
    work_join_work(g->launches, ids, &made);
    g->work_count++;
}

/* Causes lie in the calls of the device's library alone. */
static void take_call(gap_finder *g, const trace_event *event) {
    call_id own = trace_call_id(event);
    uint32_t thread = tree_thread(&g->walk.tree, event);
    uint32_t name = tree_name(&g->walk.tree, event);
    const joined launch = {.start_ns = event->ts_ns, .thread = thread, .order = g->call_count++};
    const wait made = {event->ts_ns, event->ts_ns + event->dur_ns, thread};
    work_join_call(g->launches, own.kind, own.id, &launch);
    if (call_waits(interned_text(&g->walk.tree.names, name))) sorter_add(g->waits, &made);
}

static void take(gap_finder *g, const trace_reader *reader) {
    const trace_event *event = &reader->event;
    char label[64];
    if (g->ops) walk_add(&g->walk, reader, (int64_t)g->work_count);
    if (event->phase == 'X' && kind_is_device(event->kind))
        take_work(g, event);
    else if (event->kind == TRACE_RUNTIME && tree_takes(&g->walk.tree, event))
        take_call(g, event);
    else if (event->phase == 'M' && text_is(event->name, "process_labels") &&
             trace_arg_text(event, "labels", label, sizeof label))
        *map_put(&g->labels, (uint64_t)event->pid, NULL) =
            intern(&g->walk.tree.names, label, strlen(label));
}

/* ---- Works with their launches and ops ---- */

static void take_op(void *user, uint32_t owner, int64_t id, int64_t ns) {
    gap_finder *g = user;
    const work_op found = {(uint64_t)id, owner == NO_CALL ? NO_CALL : g->walk.calls[owner].name};
    (void)ns;
    sorter_add(g->ops, &found);
}

static void take_launch(void *user, const joined *done, const joined *launch, uint32_t kind) {
    gap_finder *g = user;
    work_op op = {.name = NO_CALL};
    (void)kind;
    if (g->ops) sorter_next(g->ops, &op);        /* one of each work, in the same order */
    const work made = {
        .start_ns = done->start_ns, .end_ns = done->start_ns + done->ns,
        .launch_ns = launch ? launch->start_ns : 0, .number = g->work_count++,
        .row = done->thread, .name = (uint32_t)done->id, .op = op.name,
        .launch_thread = launch ? launch->thread : NO_CALL, .kind = (work_kind)done->what
    };
    sorter_add(g->works, &made);
}

static void find_works(gap_finder *g) {
    if (g->ops) {
        walk_all(&g->walk);
        sorter_finish(g->ops);
    }
    g->work_count = 0;
    g->works = sorter_of(sizeof(work), work_before);
    work_join_each(g->launches, take_launch, g);
    g->launches = NULL;
    sorter_free(g->ops);
    g->ops = NULL;
    sorter_finish(g->works);
}

/* ---- Causes ---- */

/* But for the waits of its thread. */
static void divide(const gap_finder *g, idle_gap *gap, const work *next) {
    int64_t idle = next->start_ns - gap->start_ns;
    gap->reason = idle < KERNEL_WAIT_NS ? KERNEL_WAIT : OTHER;
    if (next->launch_thread == NO_CALL) {
        gap->ns[UNKNOWN] = idle;
    } else if (next->launch_ns <= gap->start_ns) {
        gap->ns[(double)idle <= g->options->short_us * 1e3 ? TURNAROUND : WAIT] = idle;
    } else {
        gap->reason = HOST_WAIT;
        gap->launched_ns = next->launch_ns < next->start_ns ? next->launch_ns : next->start_ns;
        gap->ns[HOST] = gap->launched_ns - gap->start_ns;
        gap->ns[LAUNCH] = next->start_ns - gap->launched_ns;
    }
}

static void add_gap(gap_finder *g, const work *last, const work *next) {
    idle_gap gap = {
        .start_ns = last->end_ns, .waited_to_ns = last->end_ns, .launched_ns = INT64_MIN,
        .number = g->gap_count++, .row = next->row, .thread = next->launch_thread,
        .before = next->name, .after = last->name, .op = next->op
    };
    divide(g, &gap, next);
    sorter_add(g->gaps, &gap);
}

static row_sum *sum_of(gap_finder *g, uint32_t row) {
    size_t before = g->row_count;
    if (row >= before) {
        g->row_count = 2 * (size_t)row + 8;
        g->rows = reallocate(g->rows, g->row_count * sizeof *g->rows);
        memset(g->rows + before, 0, (g->row_count - before) * sizeof *g->rows);
    }
    return &g->rows[row];
}

static void find_gaps(gap_finder *g) {
    work next, last = {.row = NO_CALL};          /* last: the one that ends last so far */
    g->gaps = sorter_of(sizeof(idle_gap), gap_before);
    while (sorter_next(g->works, &next)) {
        row_sum *sum = sum_of(g, next.row);
        sum->any = true;
        busy_add(&sum->busy, next.kind, next.start_ns, next.end_ns);
        bool same = next.row == last.row;
        if (same && next.start_ns > last.end_ns) add_gap(g, &last, &next);
        if (!same || next.end_ns > last.end_ns) last = next;
    }
    sorter_free(g->works);
    g->works = NULL;
    sorter_finish(g->gaps);
    sorter_finish(g->waits);
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
        g->op_rows[g->op_count] = (op_row){.name = gap->op, .first = gap->number};
        *number = g->op_count++;
    }
    op_row *row = &g->op_rows[*number];
    int64_t ns = idle_of(gap);
    row->count++;
    row->idle += ns;
    g->idle_ns += ns;
    if (gap->number < row->first) row->first = gap->number;
    if (ns > row->longest) row->longest = ns;
    for (int cause = HOST; cause < CAUSES; cause++) row->ns[cause] += gap->ns[cause];
}

static void end_gap(gap_finder *g, const idle_gap *gap) {
    row_sum *sum = sum_of(g, gap->row);
    add_part(&sum->causes[IDLE], idle_of(gap), gap->reason);
    for (int cause = HOST; cause < CAUSES; cause++)
        add_part(&sum->causes[cause], gap->ns[cause], gap->reason);
    add_to_op(g, gap);
    if (g->longest) sorter_add(g->longest, gap);
}

/* How much of the time up to its launch the thread spent in this call. */
static void take_wait(idle_gap *gap, const wait *w) {
    int64_t begin = w->start_ns > gap->waited_to_ns ? w->start_ns : gap->waited_to_ns;
    int64_t end = w->end_ns < gap->launched_ns ? w->end_ns : gap->launched_ns;
    if (w->thread != gap->thread || end <= begin) return;
    gap->ns[SYNCHRONIZE] += end - begin;
    gap->ns[HOST] -= end - begin;
    gap->waited_to_ns = end;
}

/* Gaps that waits still count in: of each row one at most. */
typedef struct open_gaps { idle_gap *list; size_t count, capacity; } open_gaps;

static void end_until(gap_finder *g, open_gaps *open, uint32_t thread, int64_t ns) {
    size_t left = 0;
    for (size_t i = 0; i < open->count; i++) {
        const idle_gap *gap = &open->list[i];
        if (gap->thread == thread && ns < gap->launched_ns) open->list[left++] = *gap;
        else end_gap(g, gap);
    }
    open->count = left;
}

/* A gap comes before the waits that begin when it does or later; of those before, the last one may
   still be open. */
static void walk_waits(gap_finder *g) {
    open_gaps open = {0};
    idle_gap gap;
    wait w, before = {.thread = NO_CALL};
    bool gaps = sorter_next(g->gaps, &gap), waits = sorter_next(g->waits, &w);
    while (gaps) {
        const wait at = {.thread = gap.thread, .start_ns = gap.start_ns, .end_ns = INT64_MAX};
        bool wait_first = waits && wait_before(&w, &at) &&
                          (w.thread != at.thread || w.start_ns != at.start_ns);
        end_until(g, &open, wait_first ? w.thread : gap.thread,
                  wait_first ? w.start_ns : gap.start_ns);
        if (wait_first) {
            for (size_t i = 0; i < open.count; i++) take_wait(&open.list[i], &w);
            before = w;
            waits = sorter_next(g->waits, &w);
            continue;
        }
        GROW(open.list, open.count, open.capacity);
        take_wait(&gap, &before);
        open.list[open.count++] = gap;
        gaps = sorter_next(g->gaps, &gap);
    }
    for (; waits && open.count; waits = sorter_next(g->waits, &w)) {
        end_until(g, &open, w.thread, w.start_ns);
        for (size_t i = 0; i < open.count; i++) take_wait(&open.list[i], &w);
    }
    end_until(g, &open, NO_CALL, INT64_MAX);
    free(open.list);
}

static int main_cause(const idle_gap *gap) {
    int most = HOST;
    for (int cause = HOST; cause < CAUSES; cause++)
        if (gap->ns[cause] > gap->ns[most]) most = cause;
    return most;
}

/* ---- Tables ---- */

static char *device_name(gap_finder *g, sheet *s, uint32_t row) {
    const call_thread *thread = &g->walk.tree.threads[row];
    const uint64_t *label = map_get(&g->labels, (uint64_t)thread->pid);
    char *device = label ? sheet_cell(s, "%s", interned_text(&g->walk.tree.names, (uint32_t)*label))
                         : sheet_cell(s, "device %lld", (long long)thread->pid);
    if (!g->options->streams) return device;
    if (thread->tid_text != NO_CALL)
        return sheet_cell(s, "%s %s", device, interned_text(&g->walk.tree.names, thread->tid_text));
    return sheet_cell(s, "%s stream %lld", device, (long long)thread->tid);
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
    for (uint32_t row = 0; row < g->row_count; row++)
        if (g->rows[row].any) add_device(g, s, row, &g->rows[row].busy, g->rows[row].causes);
}

static bool op_longer(uint32_t a, uint32_t b, const void *context) {
    const op_row *rows = context;
    return rows[a].idle != rows[b].idle ? rows[a].idle > rows[b].idle
                                        : rows[a].first < rows[b].first;
}

static void sheet_by_op(gap_finder *g, sheet *s) {
    static const char *const heads[] = {
        "Op before whose work", "Idle (us)", "% of idle", "Gaps", "Longest (us)", "Host (us)",
        "Synchronize (us)", "Launch (us)", "Wait (us)", "Turnaround (us)", "Unknown (us)"
    };
    static const bool is_number[] = {false, true, true, true, true, true, true, true, true, true,
                                     true};
    sheet_begin(s, heads, is_number, 11);
    uint32_t *order = sorted_numbers(g->op_count, op_longer, g->op_rows);
    for (size_t i = 0; i < g->op_count && (int64_t)i < g->options->limit; i++) {
        const op_row *row = &g->op_rows[order[i]];
        char **cells = sheet_row(s);
        cells[0] = sheet_cell(s, "%s", row->name == NO_CALL ? "(no op in the trace)"
                                       : interned_text(&g->walk.tree.names, row->name));
        cells[1] = sheet_us(s, row->idle);
        cells[2] = sheet_percent(s, row->idle, g->idle_ns);
        cells[3] = sheet_cell(s, "%llu", (unsigned long long)row->count);
        cells[4] = sheet_us(s, row->longest);
        for (int cause = HOST; cause < CAUSES; cause++)
            cells[4 + cause] = sheet_us(s, row->ns[cause]);
    }
    free(order);
}

static void sheet_by_gap(gap_finder *g, sheet *s) {
    static const char *const heads[] = {"Device", "Begin (us)", "Idle (us)", "Cause", "Of it (us)",
                                        "Op", "After", "Before", "HTA's reason"};
    static const bool is_number[] = {false, true, true, false, true, false, false, false, false};
    sheet_begin(s, heads, is_number, 9);
    const interner *names = &g->walk.tree.names;
    idle_gap gap;
    sorter_finish(g->longest);
    for (int64_t i = 0; i < g->options->limit && sorter_next(g->longest, &gap); i++) {
        char **cells = sheet_row(s);
        cells[0] = device_name(g, s, gap.row);
        cells[1] = sheet_us(s, gap.start_ns);
        cells[2] = sheet_us(s, idle_of(&gap));
        cells[3] = sheet_cell(s, "%s", cause_names[main_cause(&gap)]);
        cells[4] = sheet_us(s, gap.ns[main_cause(&gap)]);
        if (gap.op != NO_CALL) cells[5] = sheet_cell(s, "%s", interned_text(names, gap.op));
        cells[6] = sheet_cell(s, "%s", interned_text(names, gap.after));
        cells[7] = sheet_cell(s, "%s", interned_text(names, gap.before));
        cells[8] = sheet_cell(s, "%s", reason_names[gap.reason]);
    }
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
    if (format == FORMAT_TEXT && g->work_count == 0)
        output_text(&out, "There is no work of a device in this trace.\n");
    return output_close(&out, EXIT_OK);
}

static void free_finder(gap_finder *g) {
    walk_free(&g->walk);
    map_free(&g->labels);
    map_free(&g->devices);
    map_free(&g->work_names);
    map_free(&g->op_numbers);
    work_join_free(g->launches);
    sorter_free(g->ops);
    sorter_free(g->works);
    sorter_free(g->waits);
    sorter_free(g->gaps);
    sorter_free(g->longest);
    free(g->rows);
    free(g->op_rows);
}

static void find(gap_finder *g) {
    find_works(g);
    find_gaps(g);
    walk_waits(g);
}

static int find_and_write(const gap_options *o, table_format format, const char *path) {
    static const walk_take take_ops = {.work = take_op};
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    gap_finder g = {.options = o, .walk.take = &take_ops, .launches = work_join_new()};
    bool by_gap = strcmp(o->by, "gap") == 0, by_op = strcmp(o->by, "op") == 0;
    g.walk.user = &g;
    g.waits = sorter_of(sizeof(wait), wait_before);
    if (by_gap || by_op) g.ops = sorter_of(sizeof(work_op), op_before);
    if (by_gap) g.longest = sorter_of(sizeof(idle_gap), longer);
    while (trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT) take(&g, reader);
    int status = trace_close(reader);
    if (status == EXIT_OK) {
        find(&g);
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
