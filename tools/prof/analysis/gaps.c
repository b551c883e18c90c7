/* When devices were idle: see gaps.h. */
#include "analysis/gaps.h"

#include <stdlib.h>

const char *const cause_names[CAUSES] = {
    "idle", "host", "synchronize", "launch", "wait", "turnaround", "unknown"
};

typedef struct gap_finder {
    gap_list *found;
    const struct trace *trace;
    double short_ns;
    uint32_t *row_of;           /* of each thread */
    uint32_t *waits;            /* calls that wait for a device, by (thread, start) */
    size_t wait_count, wait_capacity;
} gap_finder;

int64_t gap_ns(const idle_gap *gap) {
    int64_t sum = 0;
    for (int cause = HOST; cause < CAUSES; cause++) sum += gap->ns[cause];
    return sum;
}

int gap_cause(const idle_gap *gap) {
    int most = HOST;
    for (int cause = HOST; cause < CAUSES; cause++)
        if (gap->ns[cause] > gap->ns[most]) most = cause;
    return most;
}

static uint64_t device_of(const struct trace *t, uint32_t thread) {
    const call_thread *row = &t->threads[thread];
    const char *label = trace_words(t, t->processes[row->process].labels);
    bool ascend = label && strncmp(label, "NPU", 3) == 0;
    return (uint64_t)(ascend ? ascend_device(row->pid) : row->pid);
}

/* Of a device that is the thread of the first work in the file; of a stream its own. */
static uint32_t *find_rows(const struct trace *t, bool streams) {
    map devices = {0};
    uint32_t *row_of = allocate((t->thread_count + 1) * sizeof *row_of);
    for (size_t i = 0; i < t->work_count; i++) {
        uint32_t thread = t->works[i].thread;
        bool is_new;
        row_of[thread] = thread;
        if (streams) continue;
        uint64_t *first = map_put(&devices, device_of(t, thread), &is_new);
        if (is_new) *first = thread;
        row_of[thread] = (uint32_t)*first;
    }
    map_free(&devices);
    return row_of;
}

/* ---- Waits: causes lie in the calls of the device's library alone ---- */

static void find_waits(gap_finder *g) {
    const struct trace *t = g->trace;
    for (size_t i = 0; i < t->call_count; i++) {
        uint32_t number = t->order[i];
        const call *c = &t->calls[number];
        if (c->kind != TRACE_RUNTIME || !call_waits(interned_text(&t->names, c->name))) continue;
        GROW(g->waits, g->wait_count, g->wait_capacity);
        g->waits[g->wait_count++] = number;
    }
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
        const call *c = &g->trace->calls[g->waits[middle]];
        bool before = c->thread != thread ? c->thread < thread : c->start_ns < ns;
        if (before) from = middle + 1;
        else to = middle;
    }
    return from;
}

/* Of the waits that began before the gap, the last one may still go on. */
static void take_waits(const gap_finder *g, idle_gap *gap, uint32_t thread) {
    size_t at = first_wait(g, thread, gap->start_ns);
    if (at) at--;
    for (; at < g->wait_count; at++) {
        const call *wait = &g->trace->calls[g->waits[at]];
        if (wait->thread > thread ||
            (wait->thread == thread && wait->start_ns >= gap->launched_ns)) return;
        if (wait->thread == thread) take_wait(gap, wait);
    }
}

/* ---- Gaps ---- */

static void divide(const gap_finder *g, idle_gap *gap) {
    const device_work *next = &g->trace->works[gap->before];
    int64_t idle = next->start_ns - gap->start_ns;
    bool told = next->launch == NO_CALL && next->launched_ns != NO_ID;
    uint32_t by = told ? next->owner : next->launch;
    const call *launch = by == NO_CALL ? NULL : &g->trace->calls[by];
    int64_t launched_ns = told ? next->launched_ns : launch ? launch->start_ns : 0;
    if (!launch) {
        gap->ns[UNKNOWN] = idle;
    } else if (launched_ns <= gap->start_ns) {
        gap->ns[(double)idle <= g->short_ns ? TURNAROUND : WAIT] = idle;
    } else {
        gap->launched_ns = launched_ns < next->start_ns ? launched_ns : next->start_ns;
        gap->ns[HOST] = gap->launched_ns - gap->start_ns;
        gap->ns[LAUNCH] = next->start_ns - gap->launched_ns;
        take_waits(g, gap, launch->thread);
    }
}

static void add_part(cause_sum *sum, int64_t part) {
    sum->ns += part;
    sum->count += part > 0;
    if (part > sum->longest_ns) sum->longest_ns = part;
}

/* Between the work that ended last and the next one. */
static void add_gap(gap_finder *g, uint32_t row, uint32_t after, uint32_t before) {
    gap_list *found = g->found;
    int64_t start_ns = g->trace->works[after].end_ns;
    GROW(found->gaps, found->gap_count, found->gap_capacity);
    idle_gap *gap = &found->gaps[found->gap_count++];
    *gap = (idle_gap){
        .start_ns = start_ns, .waited_to_ns = start_ns, .launched_ns = INT64_MIN,
        .row = row, .before = before, .after = after
    };
    divide(g, gap);
    cause_sum *sums = found->rows[row].causes;
    add_part(&sums[IDLE], gap_ns(gap));
    for (int cause = HOST; cause < CAUSES; cause++) add_part(&sums[cause], gap->ns[cause]);
}

static bool work_before(uint32_t a, uint32_t b, const void *context) {
    const gap_finder *g = context;
    const device_work *x = &g->trace->works[a], *y = &g->trace->works[b];
    uint32_t one = g->row_of[x->thread], other = g->row_of[y->thread];
    return one != other ? one < other : x->start_ns < y->start_ns;
}

static void take_works(gap_finder *g) {
    const struct trace *t = g->trace;
    gap_list *found = g->found;
    uint32_t *order = sorted_numbers(t->work_count, work_before, g);
    uint32_t last = NO_CALL, last_row = NO_CALL;         /* the one that ends last so far */
    for (size_t i = 0; i < t->work_count; i++) {
        const device_work *next = &t->works[order[i]];
        uint32_t row = g->row_of[next->thread];
        if (!range_holds(&t->range, next->start_ns) ||
            !odd_take(&found->odd, &found->far, next->thread, next->start_ns, next->end_ns))
            continue;
        bool same = row == last_row;
        found->rows[row].any = true;
        busy_add(&found->rows[row].busy, (work_kind)next->key, next->start_ns, next->end_ns);
        if (same && next->start_ns > t->works[last].end_ns) add_gap(g, row, last, order[i]);
        if (!same || next->end_ns > t->works[last].end_ns) last = order[i];
        last_row = row;
    }
    free(order);
}

void gaps_find(gap_list *found, const struct trace *t, bool streams, double short_ns) {
    gap_finder g = {.found = found, .trace = t, .short_ns = short_ns};
    g.row_of = find_rows(t, streams);
    found->rows = allocate((t->thread_count + 1) * sizeof *found->rows);
    for (size_t i = 0; i < t->work_count; i++)
        far_note(&found->far, t->works[i].start_ns, t->works[i].end_ns, 0);
    find_waits(&g);
    take_works(&g);
    free(g.row_of);
    free(g.waits);
}

void gaps_free(gap_list *found) {
    free(found->gaps);
    free(found->rows);
    odd_free(&found->odd);
    *found = (gap_list){0};
}
