/* prof ranks: what each rank did with its time, and who made the others wait. */
#include "analysis/ranks.h"
#include "input/losses.h"
#include "input/trace_reader.h"
#include "trace/trace_range.h"

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
    "  The rank is that of distributedInfo. Files of one rank and of different times\n"
    "  are windows of it, and one row. Where a file does not tell its rank, or two of\n"
    "  one time tell the same, ranks are 0, 1, ... in the order of the files.\n\n"
    "Collectives\n" COLLECTIVES_HELP
    "  Bytes: what nccl-tests calls the size. Duration: of its shortest kernel, for\n"
    "  the last rank to arrive does not wait. Algorithm bandwidth: bytes / duration,\n"
    "  in GB/s of 10^9 bytes; bus bandwidth: that times 2(n-1)/n for allreduce,\n"
    "  (n-1)/n for allgather, reducescatter, alltoall, gather and scatter, 1 for\n"
    "  broadcast, reduce, send and recv; of an alltoall that tells its split sizes,\n"
    "  the most that a rank sends to others or has from them, by the duration; then\n"
    "  Imbalance is the most that one sends, or has, by the mean. Skew: latest\n"
    "  begin less earliest, over the ranks. Consistent: the latest begin is before the\n"
    "  earliest end, as it must be for allreduce, allgather, reducescatter, alltoall,\n"
    "  barrier and sendrecv; if not, the clocks are apart or the kernels are not one,\n"
    "  and it counts for no straggler. Late: a rank's sum of skew\n"
    "  where it came last. Wait: its sum of (latest begin - its own). Stragglers: the\n"
    "  fewest ranks that hold 80 % of all skew; none if that is less than 1 % of the\n"
    "  longest span.\n\n"
    "Clocks are the files' own (ts and baseTimeNanoseconds). --align collectives adds\n"
    "to each file the median of (end on the first rank - end on this one) over the\n"
    "collectives, of those kinds, that it shares with the lowest rank; --align NAME\n"
    "over the calls of that name (MPI_Barrier), the n-th of each, which are listed\n"
    "with the collectives. --offset FILE=TIME is added to a file's times before that.\n", run
};

typedef struct rank_options {
    const char *align, *by, *format, *output;
    text_list offsets;
    int64_t limit;
} rank_options;

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
    cell[CLOCK] = sheet_us(s, row->clock_ns + row->offset_ns);
    cell[PATH] = sheet_cell(s, "%s", row->id.path);
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
        rank_time_add(&total.time, &row->time);
        total.late_ns = time_add(total.late_ns, row->late_ns);
        total.wait_ns = time_add(total.wait_ns, row->wait_ns);
    }
    add_rank(&s, &total.time, &total);
    s.cells[(s.rows - 1) * s.columns] = sheet_cell(&s, "Total");
    sheet_write(&s, format, out);
    sheet_free(&s);
}

/* "0-7, 9" */
static char *ranks_cell(sheet *s, const rank_table *t, const joined_row *row) {
    enum { SIZE = 128 };
    char text[SIZE + 64];
    size_t used = 0;
    uint32_t end = row->first + row->count;
    text[0] = '\0';
    for (uint32_t i = row->first, last; i < end && used < SIZE; i = last + 1) {
        for (last = i; last + 1 < end; last++)
            if (ranks_rank(t, last + 1) != ranks_rank(t, last) + 1) break;
        used += (size_t)sprintf(text + used, last > i ? "%s%lld-%lld" : "%s%lld", used ? " " : "",
                                (long long)ranks_rank(t, i), (long long)ranks_rank(t, last));
        if (used >= SIZE && last + 1 < end) sprintf(text + used, " ...");
    }
    return sheet_cell(s, "%s", text);
}

enum { NAME, GROUP, SEQ, INDEX, RANKS, BYTES, DURATION, ALGBW, BUSBW, SKEW, CLOCKS, LAST,
       IMBALANCE, COLLECTIVE_COLUMNS };

static void add_collective(sheet *s, const rank_table *t, const joined_row *row) {
    const collective *c = &t->all.list[row->collective];
    bandwidth gb_s = ranks_bandwidth(t, row);
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
    if (c->moved_parts) cell[IMBALANCE] = sheet_cell(s, "%.2f", collective_imbalance(c));
    if (row->count < 2) return;
    cell[SKEW] = sheet_us(s, row->last_ns - row->begin_ns);
    if (c->synchronizes) cell[CLOCKS] = sheet_cell(s, ranks_apart(t, row) ? "apart" : "consistent");
    cell[LAST] = sheet_cell(s, "%lld", (long long)ranks_rank(t, row->last));
}

static void write_collectives(const rank_table *t, int64_t most, table_format format,
                              output *out) {
    static const char *const heads[COLLECTIVE_COLUMNS] = {
        "Collective", "Group", "Seq", "Index", "Ranks", "Bytes", "Duration (us)", "Alg. GB/s",
        "Bus GB/s", "Skew (us)", "Clocks", "Last rank", "Imbalance"
    };
    static const bool numbers[COLLECTIVE_COLUMNS] = {
        false, false, true, true, false, true, true, true, true, true, false, true, true
    };
    sheet s;
    size_t limit = format == FORMAT_TEXT && most < (int64_t)t->joined_count
                       ? (size_t)most : t->joined_count;
    sheet_begin(&s, heads, numbers, COLLECTIVE_COLUMNS);
    for (size_t i = 0; i < limit; i++) add_collective(&s, t, &t->joined[i]);
    sheet_write(&s, format, out);
    sheet_free(&s);
    if (limit < t->joined_count)
        output_format(out, "%zu more: --limit all\n", t->joined_count - limit);
}

static void write_notes(const rank_table *t, const rank_options *o, output *out) {
    size_t apart = 0;
    for (size_t i = 0; i < t->joined_count; i++) apart += ranks_apart(t, &t->joined[i]);
    if (apart)
        output_format(out, "Of %zu collectives %zu began on a rank after they had ended on "
                      "another: clocks are apart%s.\n", t->joined_count, apart,
                      strcmp(o->align, "base") == 0 ? ", see --align collectives" :
                      ", or their kernels are not one");
    output_text(out, t->straggler_count ? "Stragglers:" : "Stragglers: none\n");
    for (size_t i = 0; i < t->straggler_count; i++) {
        const rank_row *row = &t->rows[t->stragglers[i]];
        output_format(out, "%s rank %lld (late by ", i ? "," : "", (long long)row->id.rank);
        write_us(out, row->late_ns);
        output_text(out, i + 1 < t->straggler_count ? " us in all)" : " us in all)\n");
    }
}

static void write_text(const rank_table *t, const rank_options *o, output *out) {
    bool both = strcmp(o->by, "both") == 0;
    losses_write(out);
    if (strcmp(o->by, "collective") != 0) write_ranks(t, FORMAT_TEXT, out);
    if (both && t->joined_count) output_text(out, "\n");
    if (t->joined_count ? strcmp(o->by, "rank") != 0 : !both)
        write_collectives(t, o->limit, FORMAT_TEXT, out);
    if (t->joined_count) output_text(out, "\n");
    if (t->count > 1) write_notes(t, o, out);
}

/* ---- The command ---- */

static int read_rank(rank_table *t, const char *path, const rank_options *o) {
    trace_reader *reader = trace_open(path);
    int status = EXIT_BAD;
    ranks_begin_file(t, path);
    t->rows[t->files].offset_ns = offset_of(&o->offsets, path);
    if (reader) {
        while (trace_next(reader) != TRACE_END)
            if (reader->item == TRACE_EVENT) ranks_take(t, &reader->event);
            else if (reader->item == TRACE_MEMBER) ranks_take_member(t, &reader->member);
        t->rows[t->files].base_ns = reader->base_time_ns;
        status = trace_close(reader);
    }
    ranks_end_file(t, status == EXIT_OK);
    return status;
}

static int write_all(const rank_table *t, const rank_options *o, table_format format) {
    output out;
    if (!output_open(&out, o->output)) return EXIT_BAD;
    if (format == FORMAT_TEXT) write_text(t, o, &out);
    else if (format == FORMAT_JSON) ranks_write_json(t, &out);
    else if (strcmp(o->by, "collective") == 0) write_collectives(t, INT64_MAX, format, &out);
    else write_ranks(t, format, &out);
    return output_close(&out, EXIT_OK);
}

static int run(int argc, char **argv) {
    rank_options o = {.align = "base", .by = "both", .limit = 50};
    table_format format;
    const option_spec options[] = {
        ALIGN_OPTIONS(o.align, o.offsets),
        REPAIR_OPTION,
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
    if (!offsets_fit(&o.offsets, argv + 1, count)) return EXIT_BAD;
    if (strcmp(o.by, "rank") != 0 && strcmp(o.by, "collective") != 0 && strcmp(o.by, "both") != 0)
        return fail("--by", "'%s' is none of rank, collective, both", o.by);
    if (format == FORMAT_TEXT) losses_hold();
    rank_table t = {.zone = align_zone(o.align)};
    status = EXIT_OK;
    for (int i = 1; i <= count; i++)
        if (read_rank(&t, argv[i], &o) != EXIT_OK) status = EXIT_BAD;
    ranks_finish(&t, strcmp(o.align, "collectives") == 0, true);
    bool aligns = !t.zone || t.all.zone;
    if (!aligns)
        fail("--align", "there is no call '%s' in the traces; else: base, collectives", t.zone);
    int written = aligns && t.count ? write_all(&t, &o, format) : EXIT_BAD;
    ranks_free(&t);
    return status ? status : written;
}
