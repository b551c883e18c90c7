/* prof ranks: what each rank did with its time, and who made the others wait. */
#include "analysis/ranks.h"
#include "input/losses.h"
#include "trace/trace_range.h"

#include <limits.h>
#include <string.h>

static int run(int argc, char **argv);

#define HELP_LINE(words, collective) "    " words "\n"
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
    "Kinds of work\n"
    "  Each kernel, copy and fill is of one kind: the first that fits.\n"
    "  memory         a copy or fill by category, or ROCm's kernels that are one:\n"
    "                 __amd_rocclr_copyBuffer, __amd_rocclr_fillBuffer, MEMORY_COPY_\n"
    "  communication  it has an argument Collective name\n"
    "  compute        its name begins with triton_\n"
    "  communication  its name holds, in upper or lower case and with _ or -, one of\n"
    WORK_WORDS(HELP_LINE)
    "  compute        all the rest. Collectives on CPUs (gloo) are no device work.\n"
    "\n"
    "The ranks' table\n"
    "  Each time is of the device's work, all streams together, and to the\n"
    "  nanosecond Span = Compute + Exposed comm. + Exposed memory + Idle.\n"
    "  Span            from the begin of its first work to the end of its last\n"
    "  Compute         compute runs\n"
    "  Exposed comm.   communication runs, and no compute\n"
    "  Exposed memory  a copy or fill runs, and nothing else\n"
    "  Idle            nothing runs: see prof gaps\n"
    "  Communication   communication runs, whatever else does\n"
    "  Memory          the same of copies and fills\n"
    "  Overlap         compute and communication run together\n"
    "  Late            how long others waited for it: the sum of Skew where\n"
    "                  it came last\n"
    "  Wait            how long it waited for others: the sum of the last rank's\n"
    "                  begin less its own\n"
    "  Clock           what --align added to the file's times, in the middle if it\n"
    "                  drifts (see prof merge --help). Clock error: half of the ends\n"
    "                  that set the clock are within it\n"
    "  A file's rank is that of its distributedInfo. Where a file tells none, or two\n"
    "  of one time the same, ranks are 0, 1, ... in the order of the files. Files of\n"
    "  one rank and of different times are windows of it, and one row.\n"
    "\n"
    "The collectives' table\n"
    "  A row is one collective of all its ranks.\n"
    "  Duration    that of its shortest kernel: the last rank to come does not wait\n"
    "  Bytes       what nccl-tests calls the size\n"
    "  Alg. GB/s   Bytes / Duration, in 10^9 bytes a second\n"
    "  Bus GB/s    that times 2(n-1)/n for allreduce, (n-1)/n for allgather,\n"
    "              reducescatter, alltoall, gather and scatter, 1 for broadcast,\n"
    "              reduce, send and recv. Of an alltoall that tells how it splits:\n"
    "              the most that a rank sends to others or has from them, / Duration\n"
    "  Skew        the last rank's begin less the first one's\n"
    "  Clocks      consistent: the last rank began before the first one ended, as it\n"
    "              must for allreduce, allgather, reducescatter, alltoall, barrier\n"
    "              and sendrecv. apart: it did not, so clocks differ, or the kernels\n"
    "              are not one collective; that makes nobody late\n"
    "  Imbalance   of such an alltoall: the most that a rank sends, or has, / the\n"
    "              mean\n"
    "  Stragglers, below the table: the fewest ranks that hold 80 % of all skew;\n"
    "  none if that is less than 1 % of the longest span.\n"
    "\n"
    "Kernels of one collective\n" COLLECTIVES_HELP,
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
    rank_table t = {.align = &o.align, .splits = true};
    status = EXIT_OK;
    for (int i = 0; i < count; i++)
        if (ranks_read(&t, traces[i]) != EXIT_OK) status = EXIT_BAD;
    bool aligns = ranks_finish(&t, true);
    int written = aligns && t.count ? write_all(&t, &o) : EXIT_BAD;
    ranks_free(&t);
    return status ? status : written;
}
