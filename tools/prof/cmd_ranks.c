/* prof ranks: what each rank did with its time, and who made the others wait. */
#include "busy.h"
#include "call_tree.h"
#include "collectives.h"
#include "losses.h"
#include "rank_id.h"
#include "span_sorter.h"
#include "trace_range.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command ranks_command = {
    "ranks", "[OPTION]... TRACE...", "compute, communication and waiting of each rank",
    "  prof ranks rank*.json.gz\n"
    "      a row for each rank, then its collectives with bandwidth and skew, and\n"
    "      the stragglers\n"
    "  prof ranks --align collectives node*/rank*.json.gz\n"
    "      ranks of several machines: clocks are set so that collectives end together\n"
    "  prof ranks --by collective --format csv -o collectives.csv rank*.json\n"
    "      the collectives alone, all of them\n\n"
    "How it counts\n"
    "  Device work is every kernel, copy and fill of any stream and device, whatever\n"
    "  annotations say. The first of these that holds is its kind:\n"
    "  memory         a copy or fill by category, or ROCm's kernels that are one:\n"
    "                 __amd_rocclr_copyBuffer, __amd_rocclr_fillBuffer, MEMORY_COPY_\n"
    "  communication  it has an argument Collective name\n"
    "  compute        its name begins with triton_\n"
    "  communication  its name holds, in upper or lower case, one of\n"
    WORK_WORDS
    "  compute        all the rest. Collectives on CPUs (gloo) are no device work.\n"
    "  A kind's time is the union of its works over all streams. Span: from the first\n"
    "  work's begin to the last one's end. Busy: any work. Idle: the rest, as prof\n"
    "  gaps has it. Overlap: compute and communication at once. Exposed: communi-\n"
    "  cation without compute; memory without either. So span = compute + exposed\n"
    "  communication + exposed memory + idle, to the nanosecond.\n"
    "  The rank is that of distributedInfo; where a file does not tell it, or two\n"
    "  tell the same, ranks are 0, 1, ... in the order of the files.\n\n"
    "Collectives\n" COLLECTIVES_HELP
    "  Bytes: what nccl-tests calls the size. Duration: of its shortest kernel, for\n"
    "  the last rank to arrive does not wait. Algorithm bandwidth: bytes / duration,\n"
    "  in GB/s of 10^9 bytes; bus bandwidth: that times 2(n-1)/n for allreduce,\n"
    "  (n-1)/n for allgather, reducescatter, alltoall, gather and scatter, 1 for\n"
    "  broadcast, reduce, send and recv. Skew: latest begin less earliest, over the\n"
    "  ranks. Consistent: the latest begin is before the earliest end, as it must be\n"
    "  for allreduce, allgather, reducescatter, alltoall, barrier and sendrecv; if\n"
    "  not, the clocks are apart or the kernels are not one, and it counts for no\n"
    "  straggler. Late: a rank's sum of skew where it came last. Wait: its sum of\n"
    "  (latest begin - its own). Stragglers: the fewest ranks that hold 80 % of all\n"
    "  skew; none if that is less than 1 % of the longest span.\n\n"
    "Clocks are the files' own (ts and baseTimeNanoseconds). --align collectives adds\n"
    "to each file the median of (end on the first rank - end on this one) over the\n"
    "collectives, of those kinds, that it shares with the lowest rank.\n", run
};

typedef struct rank_options {
    const char *align, *by, *format, *output;
    int64_t limit;
} rank_options;

typedef struct rank_row {
    rank_id id;
    busy_time time;
    int64_t base_ns, clock_ns, late_ns, wait_ns;
    uint64_t works, gloo;        /* gloo: calls of it on the CPU */
    bool failed;                 /* nothing could be read */
    bool in_any, shares;         /* has it collectives, and any with another rank? */
} rank_row;

/* A collective with what its ranks did in it. */
typedef struct joined_row {
    uint32_t collective, first, count;           /* its parts in table.parts, by rank */
    int64_t begin_ns, last_ns, end_ns, shortest_ns;   /* first begin, last one, earliest end */
    uint32_t last;               /* the part that begins last */
} joined_row;

typedef struct rank_table {
    const rank_options *options;
    rank_row *rows;              /* of all files */
    size_t files;
    uint32_t *order;             /* those that could be read, by rank */
    size_t count;
    collectives all;
    map names;                   /* kinds of work */
    collective_part *parts;      /* by collective and rank, on the aligned clocks */
    joined_row *joined;          /* by first begin */
    size_t joined_count;
    uint32_t *stragglers;        /* in rows, by rank */
    size_t straggler_count;
} rank_table;

/* ---- Reading: a file at a time, in constant memory ---- */

/* Categories that are not known are not work here, even where they stand in a stream's row. */
static bool is_work(const trace_event *event) {
    return event->phase == 'X' && event->kind >= TRACE_KERNEL && event->kind <= TRACE_MEMSET &&
           trace_kind_of(event->cat) == event->kind && !text_is(event->cat, "cuda_profiler_range");
}

static void take(rank_table *t, rank_row *row, span_sorter *works, const trace_event *event) {
    if (event->phase == 'X' && event->kind == TRACE_ANNOTATION && event->name.size > 5 &&
        memcmp(event->name.data, "gloo:", 5) == 0) row->gloo++;
    if (!is_work(event)) return;
    work_kind kind = work_kind_of(&t->names, event);
    sorter_add(works, &(span){.start_ns = event->ts_ns, .amount = event->dur_ns, .what = kind});
    row->works++;
    if (kind == WORK_COMMUNICATION) collectives_take(&t->all, event);
}

static void sum_up(rank_row *row, span_sorter *works) {
    span work;
    sorter_finish(works);
    while (sorter_next(works, &work))
        busy_add(&row->time, (work_kind)work.what, work.start_ns, work.start_ns + work.amount);
}

static int read_rank(rank_table *t, rank_row *row) {
    trace_reader *reader = trace_open(row->id.path);
    span_sorter *works = sorter_new();
    int status = EXIT_BAD;
    if (reader) {
        while (trace_next(reader) != TRACE_END)
            if (reader->item == TRACE_EVENT) take(t, row, works, &reader->event);
            else if (reader->item == TRACE_MEMBER) rank_read(&row->id, &reader->member);
        row->base_ns = reader->base_time_ns;
        status = trace_close(reader);
    }
    row->failed = status != EXIT_OK && !row->works;
    sum_up(row, works);
    sorter_free(works);
    collectives_end_file(&t->all, row->base_ns);
    return status;
}

/* ---- Joining ---- */

static bool rank_before(uint32_t a, uint32_t b, const void *context) {
    const rank_row *rows = context;
    return rows[a].id.rank < rows[b].id.rank;
}

static void align(rank_table *t) {
    uint32_t first = t->order[0];
    for (size_t i = 1; i < t->count; i++) {
        uint32_t file = t->order[i];
        size_t count;
        int64_t spread;
        t->rows[file].clock_ns = collectives_clock(&t->all, first, file, &count, &spread);
        if (count == 0 && t->rows[file].works)
            warn(t->rows[file].id.path, "it has no synchronizing collective in common with %s: its "
                 "clock stays", t->rows[first].id.path);
    }
}

static bool part_before(uint32_t a, uint32_t b, const void *context) {
    const rank_table *t = context;
    const collective_part *x = &t->all.parts[a], *y = &t->all.parts[b];
    if (x->collective != y->collective) return x->collective < y->collective;
    return t->rows[x->file].id.rank < t->rows[y->file].id.rank;
}

static void sort_parts(rank_table *t) {
    uint32_t *order = sorted_numbers(t->all.part_count, part_before, t);
    t->parts = allocate((t->all.part_count + 1) * sizeof *t->parts);
    for (size_t i = 0; i < t->all.part_count; i++) {
        collective_part *part = &t->parts[i];
        *part = t->all.parts[order[i]];
        part->begin_ns += t->rows[part->file].clock_ns;
        part->end_ns += t->rows[part->file].clock_ns;
    }
    free(order);
}

static joined_row join_part(joined_row row, const collective_part *parts, uint32_t number) {
    const collective_part *part = &parts[number];
    int64_t lasts = part->end_ns - part->begin_ns;
    if (row.count++ == 0)
        return (joined_row){part->collective, number, 1, part->begin_ns, part->begin_ns,
                            part->end_ns, lasts, number};
    if (part->begin_ns < row.begin_ns) row.begin_ns = part->begin_ns;
    if (part->begin_ns > row.last_ns) row.last_ns = part->begin_ns, row.last = number;
    if (part->end_ns < row.end_ns) row.end_ns = part->end_ns;
    if (lasts < row.shortest_ns) row.shortest_ns = lasts;
    return row;
}

static int by_begin(const void *a, const void *b) {
    const joined_row *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static rank_row *row_of(const rank_table *t, uint32_t part) {
    return &t->rows[t->parts[part].file];
}

static void join(rank_table *t) {
    sort_parts(t);
    t->joined = allocate((t->all.count + 1) * sizeof *t->joined);
    for (uint32_t i = 0; i < t->all.part_count; i++) {
        joined_row *row = &t->joined[t->parts[i].collective];
        *row = join_part(*row, t->parts, i);
    }
    for (uint32_t i = 0; i < t->all.part_count; i++) {
        row_of(t, i)->in_any = true;
        row_of(t, i)->shares |= t->joined[t->parts[i].collective].count > 1;
    }
    t->joined_count = t->all.count;
    if (t->joined_count) qsort(t->joined, t->joined_count, sizeof *t->joined, by_begin);
}

/* Of what synchronizes, on two ranks or more: did all begin before the first one ended? */
static bool is_consistent(const rank_table *t, const joined_row *row) {
    return row->count > 1 && t->all.list[row->collective].synchronizes &&
           row->last_ns < row->end_ns;
}

static bool is_apart(const rank_table *t, const joined_row *row) {
    return row->count > 1 && t->all.list[row->collective].synchronizes && !is_consistent(t, row);
}

static int64_t sum_waits(rank_table *t) {
    int64_t skew = 0;
    for (size_t i = 0; i < t->joined_count; i++) {
        const joined_row *row = &t->joined[i];
        if (!is_consistent(t, row)) continue;
        rank_row *last = row_of(t, row->last);
        last->late_ns = time_add(last->late_ns, row->last_ns - row->begin_ns);
        skew = time_add(skew, row->last_ns - row->begin_ns);
        for (uint32_t k = row->first; k < row->first + row->count; k++) {
            int64_t waited = row->last_ns - t->parts[k].begin_ns;
            row_of(t, k)->wait_ns = time_add(row_of(t, k)->wait_ns, waited);
        }
    }
    return skew;
}

static bool later_than(uint32_t a, uint32_t b, const void *context) {
    const rank_row *rows = context;
    if (rows[a].late_ns != rows[b].late_ns) return rows[a].late_ns > rows[b].late_ns;
    return rank_before(a, b, rows);
}

static void find_stragglers(rank_table *t) {
    int64_t skew = sum_waits(t), longest = 0, held = 0;
    for (size_t i = 0; i < t->count; i++)
        if (busy_span(&t->rows[t->order[i]].time) > longest)
            longest = busy_span(&t->rows[t->order[i]].time);
    t->stragglers = allocate(t->count * sizeof *t->stragglers);
    memcpy(t->stragglers, t->order, t->count * sizeof *t->order);
    sort_numbers(t->stragglers, t->count, later_than, t->rows);
    if (skew <= 0 || (double)skew * 100 < (double)longest) return;
    while (t->straggler_count < t->count && (double)held * 5 < (double)skew * 4)
        held = time_add(held, t->rows[t->stragglers[t->straggler_count++]].late_ns);
    sort_numbers(t->stragglers, t->straggler_count, rank_before, t->rows);
}

/* ---- What is wrong with the files as a whole: a line each ---- */

/* Ranks that the job had, by world_size or else by the highest rank, and no file is of. */
static void tell_missing(const rank_table *t) {
    enum { SHOWN = 8 };
    char text[256];
    size_t used = 0, pieces = 0;
    int64_t next = 0, missing = 0, world = t->rows[t->order[t->count - 1]].id.rank + 1;
    for (size_t i = 0; i < t->count; i++) {
        const rank_id *id = &t->rows[t->order[i]].id;
        if (!id->told) return;
        if (id->world_size > world) world = id->world_size;
    }
    for (size_t i = 0; i <= t->count; i++) {
        int64_t rank = i < t->count ? t->rows[t->order[i]].id.rank : world;
        if (rank > next && pieces++ < SHOWN)
            used += (size_t)snprintf(text + used, sizeof text - used, rank > next + 1 ?
                "%s%lld to %lld" : "%s%lld", used ? ", " : "", (long long)next,
                (long long)rank - 1);
        if (rank > next) missing += rank - next;
        next = rank + 1;
    }
    if (missing)
        warn(NULL, "of %lld ranks %lld %s no file: %s%s", (long long)world, (long long)missing,
             missing == 1 ? "has" : "have", text, pieces > SHOWN ? ", ..." : "");
}

/* Is the file of another run than the lowest rank's? */
static void tell_other_run(const rank_table *t, uint32_t file) {
    const rank_row *first = &t->rows[t->order[0]], *row = &t->rows[file];
    int64_t begin = row->base_ns + row->time.first_ns + row->clock_ns;
    int64_t end = row->base_ns + row->time.last_ns + row->clock_ns;
    bool apart = first->works && row->works && (begin > first->base_ns + first->time.last_ns ||
                                                end < first->base_ns + first->time.first_ns);
    if (row->id.world_size && first->id.world_size && row->id.world_size != first->id.world_size)
        warn(row->id.path, "it is of another run than %s: of %lld ranks, not %lld",
             first->id.path, (long long)row->id.world_size, (long long)first->id.world_size);
    else if (row->in_any && !row->shares)
        warn(row->id.path, "it has no collective in common with another file: is it of another "
             "run?");
    else if (apart)
        warn(row->id.path, "its work lies at other times than that of %s: another run, or clocks "
             "that are apart (--align collectives)", first->id.path);
}

static void tell_no_work(const rank_row *row) {
    if (row->works) return;
    if (row->gloo)
        warn(row->id.path, "there is no work of a device in it; %llu calls of gloo are the CPU's",
             (unsigned long long)row->gloo);
    else warn(row->id.path, "there is no work of a device in it");
}

static void tell_files(const rank_table *t) {
    for (size_t i = 0; i < t->count; i++) tell_no_work(&t->rows[t->order[i]]);
    for (size_t i = 1; i < t->count; i++) tell_other_run(t, t->order[i]);
    tell_missing(t);
}

/* ---- Tables ---- */

enum { RANK, SPAN, COMPUTE, COMPUTE_SHARE, EXPOSED, EXPOSED_SHARE, COPIES, IDLE, IDLE_SHARE,
       LATE, WAIT, COMMUNICATION, OVERLAP, MEMORY, BUSY, CLOCK, PATH, RANK_COLUMNS };

static void add_rank(sheet *s, const busy_time *time, const rank_row *row) {
    char **cell = sheet_row(s);
    int64_t whole = busy_span(time);
    cell[SPAN] = sheet_us(s, whole);
    cell[COMPUTE] = sheet_us(s, time->kind_ns[WORK_COMPUTE]);
    cell[COMPUTE_SHARE] = sheet_percent(s, time->kind_ns[WORK_COMPUTE], whole);
    cell[EXPOSED] = sheet_us(s, busy_exposed(time));
    cell[EXPOSED_SHARE] = sheet_percent(s, busy_exposed(time), whole);
    cell[COPIES] = sheet_us(s, time->exposed_memory_ns);
    cell[IDLE] = sheet_us(s, busy_idle(time));
    cell[IDLE_SHARE] = sheet_percent(s, busy_idle(time), whole);
    cell[LATE] = sheet_us(s, row->late_ns);
    cell[WAIT] = sheet_us(s, row->wait_ns);
    cell[COMMUNICATION] = sheet_us(s, time->kind_ns[WORK_COMMUNICATION]);
    cell[OVERLAP] = sheet_us(s, time->overlap_ns);
    cell[MEMORY] = sheet_us(s, time->kind_ns[WORK_MEMORY]);
    cell[BUSY] = sheet_us(s, time->busy_ns);
    if (!row->id.path) return;
    cell[RANK] = sheet_cell(s, "%lld", (long long)row->id.rank);
    cell[CLOCK] = sheet_us(s, row->clock_ns);
    cell[PATH] = sheet_cell(s, "%s", row->id.path);
}

static void sum_rank(busy_time *to, const busy_time *from) {
    to->last_ns = time_add(to->last_ns, busy_span(from));
    to->busy_ns = time_add(to->busy_ns, from->busy_ns);
    to->overlap_ns = time_add(to->overlap_ns, from->overlap_ns);
    to->exposed_memory_ns = time_add(to->exposed_memory_ns, from->exposed_memory_ns);
    for (int kind = 0; kind < WORK_KINDS; kind++)
        to->kind_ns[kind] = time_add(to->kind_ns[kind], from->kind_ns[kind]);
}

static void write_ranks(const rank_table *t, table_format format, output *out) {
    static const char *const heads[RANK_COLUMNS] = {
        "Rank", "Span (us)", "Compute (us)", "Compute %", "Exposed comm. (us)", "Exposed comm. %",
        "Exposed memory (us)", "Idle (us)", "Idle %", "Late (us)", "Wait (us)",
        "Communication (us)", "Overlap (us)", "Memory (us)", "Busy (us)", "Clock (us)", "File"
    };
    static const bool numbers[RANK_COLUMNS] = {
        [SPAN] = true, true, true, true, true, true, true, true, true, true, true, true, true, true,
        true
    };
    sheet s;
    rank_row total = {0};
    sheet_begin(&s, heads, numbers, RANK_COLUMNS);
    for (size_t i = 0; i < t->count; i++) {
        const rank_row *row = &t->rows[t->order[i]];
        add_rank(&s, &row->time, row);
        sum_rank(&total.time, &row->time);
        total.late_ns = time_add(total.late_ns, row->late_ns);
        total.wait_ns = time_add(total.wait_ns, row->wait_ns);
    }
    add_rank(&s, &total.time, &total);
    s.cells[(s.rows - 1) * s.columns] = sheet_cell(&s, "Total");
    sheet_write(&s, format, out);
    sheet_free(&s);
}

typedef struct bandwidth { double algorithm, bus; } bandwidth;     /* GB/s; below 0: not known */

static bandwidth bandwidth_of(const rank_table *t, const joined_row *row) {
    const collective *c = &t->all.list[row->collective];
    const char *name = interned_text(&t->all.texts, c->name);
    double factor = collective_factor(name, c->group_size);
    if (c->bytes < 0 || row->shortest_ns <= 0) return (bandwidth){-1, -1};
    double gb_s = (double)c->bytes / (double)row->shortest_ns;
    bool known = factor > 0 || (c->group_size == 1 && collective_factor(name, 2) > 0);
    return (bandwidth){gb_s, known ? gb_s * factor : -1};
}

static int64_t rank_of(const rank_table *t, uint32_t part) { return row_of(t, part)->id.rank; }

/* "0-7, 9" */
static char *ranks_cell(sheet *s, const rank_table *t, const joined_row *row) {
    enum { SIZE = 128 };
    char text[SIZE + 64];
    size_t used = 0;
    uint32_t end = row->first + row->count;
    text[0] = '\0';
    for (uint32_t i = row->first, last; i < end && used < SIZE; i = last + 1) {
        for (last = i; last + 1 < end && rank_of(t, last + 1) == rank_of(t, last) + 1; ) last++;
        used += (size_t)sprintf(text + used, last > i ? "%s%lld-%lld" : "%s%lld", used ? " " : "",
                                (long long)rank_of(t, i), (long long)rank_of(t, last));
        if (used >= SIZE && last + 1 < end) sprintf(text + used, " ...");
    }
    return sheet_cell(s, "%s", text);
}

enum { NAME, GROUP, SEQ, INDEX, RANKS, BYTES, DURATION, ALGBW, BUSBW, SKEW, CLOCKS, LAST,
       COLLECTIVE_COLUMNS };

static void add_collective(sheet *s, const rank_table *t, const joined_row *row) {
    const collective *c = &t->all.list[row->collective];
    bandwidth gb_s = bandwidth_of(t, row);
    char **cell = sheet_row(s);
    cell[NAME] = sheet_cell(s, "%s", interned_text(&t->all.texts, c->name));
    if (c->process_group != UINT32_MAX)
        cell[GROUP] = sheet_cell(s, "%s", interned_text(&t->all.texts, c->process_group));
    if (c->has_seq) cell[SEQ] = sheet_cell(s, "%lld", (long long)c->seq);
    cell[INDEX] = sheet_cell(s, "%u", t->parts[row->first].index);
    cell[RANKS] = ranks_cell(s, t, row);
    if (c->bytes >= 0) cell[BYTES] = sheet_cell(s, "%lld", (long long)c->bytes);
    cell[DURATION] = sheet_us(s, row->shortest_ns);
    if (gb_s.algorithm >= 0) cell[ALGBW] = sheet_cell(s, "%.6g", gb_s.algorithm);
    if (gb_s.bus >= 0) cell[BUSBW] = sheet_cell(s, "%.6g", gb_s.bus);
    if (row->count < 2) return;
    cell[SKEW] = sheet_us(s, row->last_ns - row->begin_ns);
    if (c->synchronizes) cell[CLOCKS] = sheet_cell(s, is_apart(t, row) ? "apart" : "consistent");
    cell[LAST] = sheet_cell(s, "%lld", (long long)rank_of(t, row->last));
}

static void write_collectives(const rank_table *t, table_format format, output *out) {
    static const char *const heads[COLLECTIVE_COLUMNS] = {
        "Collective", "Group", "Seq", "Index", "Ranks", "Bytes", "Duration (us)", "Alg. GB/s",
        "Bus GB/s", "Skew (us)", "Clocks", "Last rank"
    };
    static const bool numbers[COLLECTIVE_COLUMNS] = {
        false, false, true, true, false, true, true, true, true, true, false, true
    };
    sheet s;
    size_t limit = format == FORMAT_TEXT && t->options->limit < (int64_t)t->joined_count
                       ? (size_t)t->options->limit : t->joined_count;
    sheet_begin(&s, heads, numbers, COLLECTIVE_COLUMNS);
    for (size_t i = 0; i < limit; i++) add_collective(&s, t, &t->joined[i]);
    sheet_write(&s, format, out);
    sheet_free(&s);
    if (limit < t->joined_count)
        output_format(out, "%zu more: --limit all\n", t->joined_count - limit);
}

static void write_notes(const rank_table *t, output *out) {
    size_t apart = 0;
    for (size_t i = 0; i < t->joined_count; i++) apart += is_apart(t, &t->joined[i]);
    if (apart)
        output_format(out, "Of %zu collectives %zu began on a rank after they had ended on "
                      "another: clocks are apart%s.\n", t->joined_count, apart,
                      strcmp(t->options->align, "collectives") ? ", see --align collectives" :
                      ", or their kernels are not one");
    output_text(out, t->straggler_count ? "Stragglers:" : "Stragglers: none\n");
    for (size_t i = 0; i < t->straggler_count; i++) {
        const rank_row *row = &t->rows[t->stragglers[i]];
        output_format(out, "%s rank %lld (late by ", i ? "," : "", (long long)row->id.rank);
        write_us(out, row->late_ns);
        output_text(out, i + 1 < t->straggler_count ? " us in all)" : " us in all)\n");
    }
}

static void write_text(const rank_table *t, output *out) {
    bool both = strcmp(t->options->by, "both") == 0;
    losses_write(out);
    if (strcmp(t->options->by, "collective") != 0) write_ranks(t, FORMAT_TEXT, out);
    if (both && t->joined_count) output_text(out, "\n");
    if (t->joined_count ? strcmp(t->options->by, "rank") != 0 : !both)
        write_collectives(t, FORMAT_TEXT, out);
    if (t->joined_count) output_text(out, "\n");
    if (t->count > 1) write_notes(t, out);
}

/* ---- JSON ---- */

static void write_member(output *out, const char *key, int64_t ns) {
    output_format(out, ", \"%s_us\": ", key);
    write_us(out, ns);
}

static void write_rank_json(const rank_row *row, output *out) {
    const busy_time *time = &row->time;
    output_format(out, "{\"rank\": %lld, \"file\": ", (long long)row->id.rank);
    output_json_text(out, row->id.path, strlen(row->id.path));
    write_member(out, "span", busy_span(time));
    write_member(out, "busy", time->busy_ns);
    write_member(out, "idle", busy_idle(time));
    write_member(out, "compute", time->kind_ns[WORK_COMPUTE]);
    write_member(out, "communication", time->kind_ns[WORK_COMMUNICATION]);
    write_member(out, "memory", time->kind_ns[WORK_MEMORY]);
    write_member(out, "overlap", time->overlap_ns);
    write_member(out, "exposed_communication", busy_exposed(time));
    write_member(out, "exposed_memory", time->exposed_memory_ns);
    write_member(out, "late", row->late_ns);
    write_member(out, "wait", row->wait_ns);
    write_member(out, "clock", row->clock_ns);
    output_text(out, "}");
}

static void write_count(output *out, const char *key, bool known, int64_t value) {
    if (known) output_format(out, ", \"%s\": %lld", key, (long long)value);
    else output_format(out, ", \"%s\": null", key);
}

static void write_rate(output *out, const char *key, double value) {
    if (value >= 0) output_format(out, ", \"%s\": %.6g", key, value);
    else output_format(out, ", \"%s\": null", key);
}

static void write_skew(const rank_table *t, const joined_row *row, output *out) {
    bool known = row->count > 1;
    if (known) write_member(out, "skew", row->last_ns - row->begin_ns);
    else output_text(out, ", \"skew_us\": null");
    write_count(out, "last_rank", known, rank_of(t, row->last));
    output_format(out, ", \"consistent\": %s", is_consistent(t, row) ? "true" :
                  is_apart(t, row) ? "false" : "null");
}

static void write_collective_json(const rank_table *t, const joined_row *row, output *out) {
    const collective *c = &t->all.list[row->collective];
    const struct interned *name = &t->all.texts.entries[c->name];
    bandwidth gb_s = bandwidth_of(t, row);
    output_text(out, "{\"name\": ");
    output_json_text(out, name->text, name->size);
    output_text(out, ", \"process_group\": ");
    if (c->process_group == UINT32_MAX) {
        output_text(out, "null");
    } else {
        const struct interned *group = &t->all.texts.entries[c->process_group];
        output_json_text(out, group->text, group->size);
    }
    write_count(out, "seq", c->has_seq, c->seq);
    write_count(out, "index", true, t->parts[row->first].index);
    output_text(out, ", \"ranks\": [");
    for (uint32_t i = 0; i < row->count; i++)
        output_format(out, "%s%lld", i ? ", " : "", (long long)rank_of(t, row->first + i));
    output_text(out, "]");
    write_count(out, "group_size", c->group_size >= 0, c->group_size);
    write_count(out, "bytes", c->bytes >= 0, c->bytes);
    write_member(out, "duration", row->shortest_ns);
    write_skew(t, row, out);
    write_rate(out, "algbw_gb_s", gb_s.algorithm);
    write_rate(out, "busbw_gb_s", gb_s.bus);
    output_text(out, "}");
}

static void write_json(const rank_table *t, output *out) {
    output_text(out, "{\"ranks\": [");
    for (size_t i = 0; i < t->count; i++) {
        output_text(out, i ? ",\n  " : "\n  ");
        write_rank_json(&t->rows[t->order[i]], out);
    }
    output_text(out, "],\n \"collectives\": [");
    for (size_t i = 0; i < t->joined_count; i++) {
        output_text(out, i ? ",\n  " : "\n  ");
        write_collective_json(t, &t->joined[i], out);
    }
    output_text(out, "],\n \"stragglers\": [");
    for (size_t i = 0; i < t->straggler_count; i++)
        output_format(out, "%s%lld", i ? ", " : "", (long long)t->rows[t->stragglers[i]].id.rank);
    output_text(out, "]}\n");
}

/* ---- The command ---- */

static int write_all(const rank_table *t, table_format format) {
    output out;
    if (!output_open(&out, t->options->output)) return EXIT_BAD;
    if (format == FORMAT_TEXT) write_text(t, &out);
    else if (format == FORMAT_JSON) write_json(t, &out);
    else if (strcmp(t->options->by, "collective") == 0) write_collectives(t, format, &out);
    else write_ranks(t, format, &out);
    return output_close(&out);
}

static void number_and_join(rank_table *t) {
    rank_id **ids = allocate(t->files * sizeof *ids);
    t->order = allocate(t->files * sizeof *t->order);
    for (uint32_t i = 0; i < t->files; i++) {
        if (t->rows[i].failed) continue;
        t->order[t->count] = i;
        ids[t->count++] = &t->rows[i].id;
    }
    ranks_number(ids, t->count, true);
    free(ids);
    sort_numbers(t->order, t->count, rank_before, t->rows);
    if (strcmp(t->options->align, "collectives") == 0) align(t);
    join(t);
    find_stragglers(t);
    tell_files(t);
}

static int read_and_write(rank_table *t, table_format format) {
    int status = EXIT_OK;
    size_t read = 0;
    for (size_t i = 0; i < t->files; i++) {
        if (read_rank(t, &t->rows[i]) != EXIT_OK) status = EXIT_BAD;
        read += !t->rows[i].failed;
    }
    if (!read) return EXIT_BAD;
    number_and_join(t);
    int written = write_all(t, format);
    return status ? status : written;
}

static void free_table(rank_table *t) {
    collectives_free(&t->all);
    map_free(&t->names);
    free(t->rows);
    free(t->order);
    free(t->parts);
    free(t->joined);
    free(t->stragglers);
}

static int run(int argc, char **argv) {
    rank_options o = {.align = "base", .by = "both", .limit = 50};
    table_format format;
    const option_spec options[] = {
        {"align", 'a', OPTION_TEXT, &o.align, "BY",
         "base: by the traces' base times (default); collectives: then\n"
         "                               so that collectives end together"},
        {"by", 'b', OPTION_TEXT, &o.by, "WHAT", "rank, collective, or both in text (default)"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "collectives in text, or all (50)"},
        {"format", 'f', OPTION_TEXT, &o.format, "FORMAT", "text, csv or json"},
        {"output", 'o', OPTION_TEXT, &o.output, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&ranks_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count == 0) return fail(NULL, "ranks needs traces; see prof ranks --help");
    if (!format_parse(o.format, &format) || format == FORMAT_HTML)
        return fail("--format", "'%s' is none of text, csv, json", o.format);
    if (strcmp(o.align, "base") != 0 && strcmp(o.align, "collectives") != 0)
        return fail("--align", "'%s' is neither base nor collectives", o.align);
    if (strcmp(o.by, "rank") != 0 && strcmp(o.by, "collective") != 0 && strcmp(o.by, "both") != 0)
        return fail("--by", "'%s' is none of rank, collective, both", o.by);
    if (format == FORMAT_TEXT) losses_hold();
    rank_table t = {.options = &o, .files = (size_t)count};
    t.rows = allocate(t.files * sizeof *t.rows);
    for (size_t i = 0; i < t.files; i++) t.rows[i].id.path = argv[i + 1];
    status = read_and_write(&t, format);
    free_table(&t);
    return status;
}
