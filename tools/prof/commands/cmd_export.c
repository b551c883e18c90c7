/* prof export: traces in the formats of other tools. */
#include "analysis/flame.h"
#include "analysis/ranks.h"
#include "commands/calls.h"
#include "input/pftrace.h"
#include "input/trace_reader.h"
#include "output/canonical.h"
#include "output/json_lanes.h"
#include "output/pprof.h"
#include "output/tables.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command export_command = {
    "export", "[OPTION]... -o OUT TRACE...",
    "write traces in other tools' formats, chosen by OUT's ending",
    "  prof export -o run.pftrace trace.json.gz\n"
    "      Perfetto's own format, for ui.perfetto.dev and trace_processor: 4 to 23\n"
    "      times smaller than JSON. Calls of a stream that overlap get lanes of their\n"
    "      own: none is lost. Every command of prof reads it again\n"
    "  prof export -o all.pftrace rank*.json.gz\n"
    "      one file of several ranks, with processes \"rank N: ...\", as prof merge\n"
    "      writes\n"
    "  prof export -o run.pb.gz rank*.json.gz\n"
    "      for go tool pprof: -sample_index=device, -tagfocus=rank=0\n"
    "  prof export -o run.sqlite trace.json.gz\n"
    "      sqlite3 run.sqlite 'SELECT * FROM report ORDER BY 6 DESC LIMIT 10'\n"
    "  prof export -o run.parquet/ run/\n"
    "      a folder of tables for DuckDB, Spark and the like. run/ has a trace of\n"
    "      each rank; merge and ranks take such a folder, too\n"
    "  prof export -o back.json.gz run.pftrace\n"
    "      JSON of a .pftrace, of a raw stream or of JSON\n"
    "  prof export --canonical trace.json\n"
    "      a line for each event, by start: event=NAME node=MODULE stack_trace=FRAME,\n"
    "      as PyTorch's _canonicalize_profiler_events has it; without -o to stdout\n\n"
    "OUT ends with   and is\n"
    "  .pftrace      Perfetto's protobuf: times in ns from 1970 where the trace tells\n"
    "  .pb.gz        pprof: cpu, device, calls and bytes by path, with the labels\n"
    "                thread, rank and step\n"
    "  .folded       what prof stacks writes; of several traces the sums\n"
    "  .sqlite       a database with all tables and the views report and kernels. For\n"
    "                fast questions by name: CREATE INDEX by_name ON events (name)\n"
    "  .parquet .csv .csv.gz\n"
    "                one table (--table); with a slash behind it a folder with all\n"
    "                tables: OUT/rank=0/events.parquet and so on\n"
    "  .json[.gz]    the JSON of PyTorch's and Chrome's traces; of several traces\n"
    "                what prof merge writes\n\n"
    "Tables: events (a row for each call, kernel and range, with its self time, its\n"
    "parent_id, the op that launched it, its rank), flows, instants, memory,\n"
    "counters, threads, metadata. Times are in ns; ts_ns counts from 1970 if the\n"
    "trace says when it began. NULL: the trace does not say. With several traces,\n"
    "the column rank is their rank (distributedInfo), else 0, 1, ... in the order of\n"
    "the files.\n"
    "tools/prof/sql, installed as share/prof/sql, has queries for SQLite, DuckDB and\n"
    "ClickHouse.\n\n"
    "Clocks of several traces: --align\n" ALIGN_HELP, run, 0, 0
};

typedef struct exporter {
    const char *path;            /* OUT */
    char **traces;
    int count;
    bool lanes;                  /* of JSON */
    bool canonical, canonical_old;
    const char *table;           /* of CSV and Parquet */
    align_options align;
} exporter;

/* ---- JSON ---- */

static int copy_events(trace_reader *reader, const json_lanes *lanes, output *out) {
    trace_writer w = {0};
    text_edit moved;
    reader->as_written = true;
    reader->with_text = lanes != NULL;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = reader->event;
        writer_begin_as(&w, out, reader);
        if (reader->item == TRACE_MEMBER)
            writer_member(&w, reader->member.key, reader->member.value);
        if (reader->item != TRACE_EVENT) continue;
        if (!w.had_events) json_lanes_names(lanes, &w);
        if (lanes) {
            writer_event(&w);
            write_edited(out, event->raw, &moved, json_lanes_edit(lanes, event, &moved));
        } else {
            writer_put(&w, event);
        }
    }
    writer_begin_as(&w, out, reader);
    writer_end(&w);
    return trace_close(reader);
}

static int export_json(const exporter *e) {
    output out;
    const char *trace = e->traces[0];
    if (e->lanes && e->count > 1)
        return fail("--lanes", "it takes one trace: prof merge makes one of several");
    if (e->count > 1)
        return merge_files(e->traces, (size_t)e->count, &e->align, e->path);
    if (e->lanes && file_reads_once(trace))
        return fail(trace, "with --lanes the input is read twice, so it must be a file");
    json_lanes *lanes = e->lanes ? json_lanes_find(trace) : NULL;
    trace_reader *reader = e->lanes && !lanes ? NULL : trace_open(trace);
    int status = EXIT_BAD;
    if (reader && output_rewrite(&out, e->path))
        status = output_close(&out, copy_events(reader, lanes, &out));
    else if (reader) trace_close(reader);
    json_lanes_free(lanes);
    return status;
}

/* ---- The others ---- */

/* Of several traces one: a temporary file. */
static int export_pftrace(const exporter *e) {
    output out;
    char *merged = NULL;
    int status = EXIT_OK;
    if (e->count > 1)
        status = merge_to_temporary(e->traces, (size_t)e->count, &e->align, &merged);
    if (status == EXIT_OK && !output_open(&out, e->path)) status = EXIT_BAD;
    else if (status == EXIT_OK)
        status = output_close(&out, pftrace_write(merged ? merged : e->traces[0], merged, &out));
    merge_remove(merged);
    return status;
}

static int export_folded(const exporter *e) {
    flame_options o = {.kernels = true, .python = true};
    return stacks_export(&o, e->traces, e->count, e->path);
}

static int export_canonical(const exporter *e) {
    output out;
    if (e->lanes || e->table || e->count > 1)
        return fail("--canonical", "it takes one trace, and neither --lanes nor --table");
    if (!output_open(&out, e->path)) return EXIT_BAD;
    return output_close(&out, canonical_write(e->traces[0], e->canonical_old, &out));
}

static int export_pprof(const exporter *e) {
    output out;
    if (!output_open(&out, e->path)) return EXIT_BAD;
    return output_close(&out, pprof_write(e->traces, (size_t)e->count, &out));
}

/* ---- Tables ---- */

static bool find_table(const char *name, table_id *table) {
    for (int i = 0; i < TABLES; i++) {
        *table = (table_id)i;
        if (strcmp(name, table_models[i].name) == 0) return true;
    }
    fail("--table", "'%s' is none of events, flows, instants, memory, counters, threads, metadata",
         name);
    return false;
}

static int export_tables(const exporter *e, int (*write)(const table_job *job)) {
    table_job job = {.path = e->path, .traces = e->traces, .count = (size_t)e->count};
    if (e->table && !find_table(e->table, &job.table)) return EXIT_BAD;
    if (e->table && (write == tables_sqlite || write == tables_folder))
        return fail("--table", "%s has all tables", e->path);
    int64_t *ranks;
    if (!dataset_ranks(e->traces, job.count, &ranks)) return EXIT_BAD;
    clock_line *clocks = NULL;
    int status = EXIT_OK;
    if (align_given(&e->align)) {
        clocks = ranks_clocks(e->traces, job.count, &e->align);
        if (!clocks) status = EXIT_BAD;
    }
    job.ranks = ranks;
    job.clocks = clocks;
    if (status == EXIT_OK) status = write(&job);
    free(clocks);
    free(ranks);
    return status;
}

/* By what OUT ends with: tables have a writer of theirs. */
static const struct format {
    const char *suffix;
    int (*write)(const exporter *e), (*tables)(const table_job *job);
} formats[] = {
    {".pftrace", export_pftrace, NULL}, {".folded", export_folded, NULL},
    {".json", export_json, NULL}, {".json.gz", export_json, NULL}, {".pb.gz", export_pprof, NULL},
    {".sqlite", NULL, tables_sqlite}, {".csv", NULL, tables_csv}, {".csv.gz", NULL, tables_csv},
    {".parquet", NULL, tables_parquet}, {".csv/", NULL, tables_folder},
    {".csv.gz/", NULL, tables_folder}, {".parquet/", NULL, tables_folder}
};

/* What the format cannot do is not silently left undone. */
static int export_as(const exporter *e, const struct format *format) {
    bool timed = format->tables || format->write == export_json || format->write == export_pftrace;
    if (align_given(&e->align) && e->count < 2)
        return fail("--align", "it aligns the clocks of several traces, and there is only one");
    if (align_given(&e->align) && !timed)
        return fail("--align", "%s has no times of several clocks", e->path);
    if (e->lanes && format->write != export_json)
        return fail("--lanes", "%s is not JSON, and only JSON has lanes", e->path);
    if (format->tables) return export_tables(e, format->tables);
    return e->table ? fail("--table", "%s is no table", e->path) : format->write(e);
}

static int run(int argc, char **argv) {
    exporter e = {.traces = argv + 1};
    const option_spec options[] = {
        {"lanes", 'l', OPTION_FLAG, &e.lanes, NULL,
         "in JSON, give calls that overlap rows of their own; else viewers lose them"},
        {"canonical", 0, OPTION_FLAG, &e.canonical, NULL,
         "a line for each event, the same in equal runs; as PyTorch's main of mid-2026"},
        {"canonical-old", 0, OPTION_FLAG, &e.canonical_old, NULL,
         "the same as it was before: names of 20 letters, and lines of carets"},
        ALIGN_OPTIONS(e.align),
        {"table", 't', OPTION_TEXT, &e.table, "NAME", "of .csv and .parquet: which table (events)"},
        {"output", 'o', OPTION_TEXT, &e.path, "OUT", "the file, whose ending says what it is"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status;
    e.count = options_parse(&export_command, options, argc, argv, &status);
    if (e.count < 0) return status;
    e.canonical |= e.canonical_old;
    if (!e.path && !e.canonical)
        return fail(NULL, "export needs -o OUT; see prof export --help");
    if (e.count == 0) return fail(NULL, "export needs a trace; see prof export --help");
    if (!folders_open(&e.traces, &e.count)) return EXIT_BAD;
    if (!align_fits(&e.align, e.traces, e.count)) return EXIT_BAD;
    if (e.canonical) return export_canonical(&e);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (ends_with(e.path, formats[i].suffix)) return export_as(&e, &formats[i]);
    return fail(e.path, "its ending is none of the formats that prof export --help lists");
}
