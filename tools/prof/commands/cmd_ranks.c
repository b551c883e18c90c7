/* prof ranks: what each rank did with its time, and who made the others wait. */
#include "analysis/ranks.h"
#include "input/losses.h"
#include "trace/trace_range.h"

#include <limits.h>
#include <string.h>

static int run(int argc, char **argv);

const command ranks_command = {
    "ranks", "[OPTION]... TRACE...", "compute, communication and waiting of each rank",
    "  prof ranks rank*.json.gz\n"
    "      a row for each rank, then its collectives with bandwidth and skew, and\n"
    "      the stragglers\n"
    "  prof ranks --align collectives node*/rank*.json.gz\n"
    "      ranks of several machines, whose clocks are set so that collectives end\n"
    "      together\n"
    "  prof ranks --align zone:MPI_Barrier rank*.raw\n"
    "      so that these calls end together; they are listed with the collectives\n"
    "  prof ranks --by collective --format csv -o collectives.csv rank*.json\n"
    "      the collectives alone, all of them\n\n"
    "How it counts\n"
    "  Device work is every kernel, copy and fill of any stream and device, whatever\n"
    "  annotations say. Its kind is the first of these that holds:\n"
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
    "Clocks: see prof merge --help for --align and --offset. Clock: what was added\n"
    "to the file's times (in the middle, if it drifts). Clock error: half of the\n"
    "ends that set the clock are within it.\n",
    run, 1, INT_MAX
};

typedef struct rank_options {
    const char *output;
    enum { BY_BOTH, BY_RANK, BY_COLLECTIVE } by;
    table_format format;
    align_options align;
    int64_t limit;
} rank_options;

/* How well the clocks of all ranks were set. */
static void write_clocks(const rank_table *t, output *out) {
    size_t fewest = SIZE_MAX;
    int64_t worst_ns = 0;
    double drift = 0;
    for (size_t i = 1; i < t->count; i++) {
        const clock_fit *clock = &t->rows[t->order[i]].clock;
        if (!clock->count) continue;
        double rate = clock->line.rate < 0 ? -clock->line.rate : clock->line.rate;
        if (clock->count < fewest) fewest = clock->count;
        if (clock->spread_ns > worst_ns) worst_ns = clock->spread_ns;
        if (rate > drift) drift = rate;
    }
    if (fewest == SIZE_MAX) return;
    output_format(out, "Clocks: set by %zu ends or more, half of which are within ", fewest);
    write_us(out, worst_ns);
    output_format(out, " us; drift up to %.3f ppm\n", drift * 1e6);
}

static void write_notes(const rank_table *t, const rank_options *o, output *out) {
    size_t apart = 0;
    write_clocks(t, out);
    for (size_t i = 0; i < t->joined_count; i++) apart += ranks_apart(t, &t->joined[i]);
    if (apart)
        output_format(out, "Of %zu collectives %zu began on a rank after they had ended on "
                      "another: clocks are apart%s.\n", t->joined_count, apart,
                      !o->align.by ? ", see --align collectives" :
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
    bool both = o->by == BY_BOTH;
    losses_write(out);
    if (o->by != BY_COLLECTIVE) ranks_write(t, FORMAT_TEXT, out);
    if (both && t->joined_count) output_text(out, "\n");
    if (t->joined_count ? o->by != BY_RANK : !both) {
        ranks_write_collectives(t, o->limit, FORMAT_TEXT, out);
        if (o->limit < (int64_t)t->joined_count)
            output_format(out, "%zu more: --limit all\n", t->joined_count - (size_t)o->limit);
    }
    if (t->joined_count) output_text(out, "\n");
    if (t->count > 1) write_notes(t, o, out);
}

/* ---- The command ---- */

static int write_all(const rank_table *t, const rank_options *o) {
    output out;
    if (!output_open(&out, o->output)) return EXIT_BAD;
    if (o->format == FORMAT_TEXT) write_text(t, o, &out);
    else if (o->format == FORMAT_JSON) ranks_write_json(t, &out);
    else if (o->by == BY_COLLECTIVE) ranks_write_collectives(t, INT64_MAX, o->format, &out);
    else ranks_write(t, o->format, &out);
    return output_close(&out, EXIT_OK);
}

static int run(int argc, char **argv) {
    rank_options o = {.limit = 50};
    const option_spec options[] = {
        ALIGN_OPTIONS(o.align),
        REPAIR_OPTION,
        {"by", 'b', OPTION_WORD, &o.by, "both|rank|collective", "(both in text)"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "collectives in text, or all (50)"},
        FORMAT_OPTION(o.format),
        {"output", 'o', OPTION_TEXT, &o.output, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&ranks_command, options, argc, argv, &status);
    if (count < 0) return status;
    char **traces = argv + 1;
    if (!folders_open(&traces, &count) || !align_fits(&o.align, traces, count)) return EXIT_BAD;
    if (o.format == FORMAT_TEXT) losses_hold();
    rank_table t = {.align = &o.align};
    status = EXIT_OK;
    for (int i = 0; i < count; i++)
        if (ranks_read(&t, traces[i]) != EXIT_OK) status = EXIT_BAD;
    bool aligns = ranks_finish(&t, true);
    int written = aligns && t.count ? write_all(&t, &o) : EXIT_BAD;
    ranks_free(&t);
    return status ? status : written;
}
