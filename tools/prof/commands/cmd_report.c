/* prof report: PyTorch's table, from any trace. */
#include "analysis/busy.h"
#include "commands/calls.h"
#include "input/losses.h"
#include "library.h"
#include "page/report_page.h"
#include "trace/trace_range.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command report_command = {
    "report", "[OPTION]... TRACE...", "PyTorch's table of a trace: where the time went",
    "  prof report trace.json.gz\n"
    "      the calls with the most CPU time of their own come first\n"
    "  prof report --sort self_cuda_time_total --limit 10 --no-memory trace.json\n"
    "      the ten kernels that took the most device time\n"
    "  prof report --group-by-input-shape --name '^aten::' rank*.json\n"
    "      the ops of all ranks, grouped by their inputs' shapes\n"
    "  prof report --step 3 trace.json\n"
    "      only step 3 of the profiler's schedule\n"
    "  prof report --format html -o report.html trace.json\n"
    "      a page for any browser: timeline, table, flame graph, memory\n"
    "  prof report --contexts --every 10ms uart.raw\n"
    "      the load of a microcontroller's core, every 10 ms: tasks and interrupts\n\n"
    "How it counts\n"
    "  A begin and an end (B and E, b and e) make one event. CPU time is wall time.\n"
    "  A device's time belongs to the op that its External id names; where it has\n"
    "  none (CUDA graphs), or one that only repeats the correlation id (2022, 2023),\n"
    "  it belongs to the innermost op around the launch, or to the launch. Work that\n"
    "  belongs to no op in the trace is counted below the table. Waits (cuda_sync)\n"
    "  are no work. Overhead that CUPTI reports without a thread counts as part of\n"
    "  the op around it, if ops of only one thread are open then. Each level of a\n"
    "  recursion counts. Unlike PyTorch, prof does not merge an op with its only\n"
    "  child of the same name before it prints; --merge-duplicates does. Shares are\n"
    "  of the whole trace, even when a filter leaves rows out. If the trace says\n"
    "  that it lost something, that comes first. On a terminal, columns that do not\n"
    "  fit are left out and named below. The line of each device covers the time\n"
    "  from its first kernel, copy or fill to the end of its last one. It is busy\n"
    "  while any of them runs; communication is exposed where no compute runs, a\n"
    "  copy where neither does, as in prof gaps and prof ranks. Python functions are\n"
    "  rows only with --category python_function. Percentiles are exact: the\n"
    "  ceil(n p / 100)-th of n durations in ascending order; they take 16 bytes of\n"
    "  memory per call. An event that has a key twice is an error, reported with\n"
    "  file and byte. If a trace does not say which zone captured a CUDA graph, give\n"
    "  the trace of the capture before it: they are joined by \"graph node id\".\n\n"
    "What may be missing\n"
    "  Lines below the table tell of launches of which a tenth or more have no work\n"
    "  in the trace, of steps that launched none or lack a call that the others\n"
    "  have, of a collective that takes 1,000 times its median, and of 1,000,000\n"
    "  events exactly, the most that JAX's exporter writes.\n\n"
    "Tasks and interrupts\n"
    "  Times leave out what interrupted them; an interrupt lasts from the begin of\n"
    "  its first zone to its end. longest: the longest time at once. longest_wait:\n"
    "  from the instant \"ready NAME\" (examples/baremetal/kernel records them) until\n"
    "  the task NAME runs; empty where two tasks have that name. What begins in a\n"
    "  window counts in that window, longest and longest_wait too; times are those\n"
    "  inside the window.\n\n"
    "The page\n"
    "  Files that ran at the same time, by ts and baseTimeNanoseconds, are shown as\n"
    "  they ran; others begin at 0. Each file has its own steps. A chosen step\n"
    "  counts what begins in it, as --step does; so does a measured time, as --from\n"
    "  and --to do, which count from the first event of files that ran together.\n", run, 1, INT_MAX
};

typedef struct report_options {
    row_options rows;
    const char *sort, *header, *output, *every;
    table_format format;
    prof_time_unit unit;
    int64_t limit, name_width, stack_width, shapes_width, every_ns;
    bool top_level, ns_per_counter, contexts;
} report_options;

static uint32_t limit32(int64_t count) {
    return count >= UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* false: reported. */
static bool understand_windows(report_options *o) {
    if (o->contexts && o->format == FORMAT_HTML)
        return fail("--contexts", "not in a page: its formats are text, csv and json"), false;
    if (!o->every) return true;
    if (!o->contexts) return fail("--every", "it needs --contexts"), false;
    if (time_parse(o->every, &o->every_ns) && o->every_ns > 0) return true;
    return fail("--every", "'%s' is not a length of time: 1.5s, 20ms, 300us", o->every), false;
}

/* The options that are words; false: reported. */
static bool understand(const report_options *o, prof_table_desc *desc) {
    static prof_averages_desc averages;
    averages = (prof_averages_desc){.group_by_site = o->rows.by_site,
                                    .percentiles = o->rows.percentiles};
    *desc = (prof_table_desc){
        .averages = &averages,
        .row_limit = limit32(o->limit), .max_name_column_width = limit32(o->name_width),
        .max_src_column_width = limit32(o->stack_width),
        .max_shapes_column_width = limit32(o->shapes_width), .header = o->header,
        .top_level_events_only = o->top_level, .time_unit = o->unit,
        .ns_per_counter = o->ns_per_counter
    };
    const char *sort = strcmp(o->sort, "self") == 0 ? "self_cpu_time_total" :    /* as in top */
                       strcmp(o->sort, "total") == 0 ? "cpu_time_total" :
                       strcmp(o->sort, "calls") == 0 ? "count" : o->sort;
    if (strcmp(sort, "none") != 0 && !metric_from_text(sort, &desc->sort_by))
        return fail("--sort", "there is no metric '%s'; some are self_cpu_time_total, "
                    "cpu_time_total, self_cuda_time_total, count, none", o->sort), false;
    if (o->rows.percentiles && o->rows.merge_duplicates)
        return fail("--percentiles", "it does not go with --merge-duplicates: it counts all calls"),
               false;
    desc->format = o->format == FORMAT_CSV ? PROF_FORMAT_CSV :
                   o->format == FORMAT_JSON ? PROF_FORMAT_JSON : PROF_FORMAT_TEXT;
    return true;
}

/* A table without rows, and why. */
static void write_nothing(const row_table *table, output *out) {
    output_text(out, table->events && rows_filtered(table) ? "The filter leaves no rows.\n" :
                table->events ? "No rows: the trace has nothing that is counted here.\n" :
                "No zones were recorded: nothing marked (PROF_SCOPE, record_function, an op) ran\n"
                "while the session was on, or what ran had not ended.\n");
}

/* Who had the core of a microcontroller. */
static void write_contexts(const text_list *lines, output *out) {
    enum { SHOWN = 6 };
    size_t shown = lines->count <= SHOWN ? lines->count : SHOWN;
    for (size_t i = 0; i < shown; i++) output_format(out, "%s\n", lines->items[i]);
    if (shown < lines->count)
        output_format(out, "%zu more tasks and interrupts: --contexts\n", lines->count - shown);
}

static void write_text(row_table *table, prof_table_desc *desc, const text_list *notes,
                       output *out) {
    losses_write(out);
    desc->width = out->path ? 0 : terminal_width();
    prof_result result = prof_write_rows(table->rows, table->count, &table->view, desc,
                                         output_sink(out));
    if (result != PROF_OK && result != PROF_ERROR_SINK) fail(NULL, "%s", prof_strerror(result));
    if (table->count == 0) write_nothing(table, out);
    for (size_t i = 0; i < notes->count; i++) output_format(out, "%s\n", notes->items[i]);
    if (table->busy) busy_write(table->busy, desc->width, out);
    write_contexts(&table->contexts.lines, out);
}

static int write_report(row_table *table, report_page *page, const report_options *o,
                        prof_table_desc *desc, const char *title) {
    output out;
    arena memory = {0};
    if (!output_open(&out, o->output)) return EXIT_BAD;
    text_list notes = rows_notes(table, &memory);
    if (page) {
        page_write(page, table, title, &notes, NULL, &out);
    } else if (o->contexts) {
        if (o->format == FORMAT_TEXT) losses_write(&out);
        contexts_write(&table->contexts, o->format, &out);
    } else {
        desc->whole_cpu_ns = rows_filtered(table) ? table->whole_cpu_ns : 0;
        desc->whole_device_ns = rows_filtered(table) ? table->whole_device_ns : 0;
        if (desc->format == PROF_FORMAT_TEXT) write_text(table, desc, &notes, &out);
        else prof_write_rows(table->rows, table->count, &table->view, desc, output_sink(&out));
        if (desc->format != PROF_FORMAT_TEXT) rows_tell(NULL, &notes);
    }
    free(notes.items);
    arena_free(&memory);
    return output_close(&out, EXIT_OK);
}

static int read_files(row_table *table, report_page *page, char **paths,
                      int count) {
    int status = EXIT_OK;
    for (int i = 0; i < count; i++) {
        if (page) page_begin_file(page, file_name(paths[i]));
        if (rows_read(table, paths[i])) status = EXIT_BAD;
        if (page) page_end_file(page);
    }
    rows_finish(table);
    return status;
}

static int report(report_options *o, char **paths, int count) {
    int written = EXIT_BAD;
    prof_table_desc desc;
    busy_table busy = {0};
    row_table table = {0};
    if (!understand_windows(o) || !understand(o, &desc)) return EXIT_BAD;
    if (!rows_begin(&table, &o->rows)) return EXIT_BAD;
    table.contexts.every_ns = o->every_ns;
    if (o->format == FORMAT_TEXT) losses_hold();
    report_page *page = o->format == FORMAT_HTML ? page_new(&table) : NULL;
    if (o->format == FORMAT_TEXT && o->rows.device) table.busy = &busy;
    int status = read_files(&table, page, paths, count);
    bool wrong = table.contexts.failed;
    if (wrong) status = EXIT_BAD;
    const char *title = o->header ? o->header : file_name(paths[0]);
    if (!wrong && (!status || table.events)) written = write_report(&table, page, o, &desc, title);
    if (page) page_free(page);
    rows_free(&table);
    busy_free(&busy);
    return status ? status : written;
}

int report_trace(char *trace, const char *sort, int64_t limit) {
    report_options o = {.rows = {.device = true, .memory = true}, .sort = sort, .limit = limit};
    return report(&o, &trace, 1);
}

static int run(int argc, char **argv) {
    range_options window = {0};
    report_options o = {.rows.filter.window = &window, .sort = "self_cpu_time_total", .limit = 100};
    row_options *rows = &o.rows;
    const option_spec options[] = {
        {"sort", 's', OPTION_TEXT, &o.sort, "METRIC",
         "self_cpu_time_total (default), cpu_time_total, cpu_time, count,\n"
         "                               self_cuda_time_total, cuda_time_total, cpu_memory_usage,\n"
         "                               self_cuda_memory_usage, flops, ..., none"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows, or all (100)"},
        {"group-by-input-shape", 0, OPTION_FLAG, &rows->by_shapes, NULL, "a row for each shape"},
        {"group-by-overload", 0, OPTION_FLAG, &rows->by_overload, NULL, "a row for each overload"},
        {"group-by-stack", 0, OPTION_COUNT, &rows->by_stack, "N",
         "a row for each distinct stack, by its N innermost entries; for what a CUDA graph ran, "
         "by the zone that captured it"},
        {"group-by-site", 0, OPTION_FLAG, &rows->by_site, NULL,
         "a row for each site of a name: file and line"},
        {"group-by-arg", 0, OPTION_TEXT, &rows->by_arg, "ARG",
         "a row for each value that this argument has: _kernel_time (Conv)"},
        {"top-level", 0, OPTION_FLAG, &o.top_level, NULL, "only calls inside no other call"},
        {"merge-duplicates", 0, OPTION_FLAG, &rows->merge_duplicates, NULL,
         "as in PyTorch's own table, a call and its only child of the same name count as one"},
        {"percentiles", 0, OPTION_FLAG, &rows->percentiles, NULL,
         "add min, p50, p90, p99 and max of the durations of calls; for devices, of work"},
        {"category", 'c', OPTION_LIST, &rows->filter.categories, "CAT",
         "only rows of these categories: cpu_op, kernel, python_function, ..."},
        {"name", 0, OPTION_TEXT, &rows->filter.name, "REGEX", "only rows whose name REGEX matches"},
        {"pid", 0, OPTION_LIST, &rows->filter.pids, "PID", "only events of these processes"},
        RANGE_OPTIONS(window),
        {"device", 0, OPTION_FLAG, &rows->device, NULL,
         "no device times and no device rows: reads any file in little memory"},
        {"memory", 0, OPTION_FLAG, &rows->memory, NULL, "no memory columns"},
        {"flops", 0, OPTION_FLAG, &rows->with_flops, NULL,
         "add a column of FLOPs, from the inputs' shapes, as profile(with_flops=True) does"},
        {"ns-per-counter", 0, OPTION_FLAG, &o.ns_per_counter, NULL,
         "add columns: CPU total divided by each counter"},
        {"contexts", 0, OPTION_FLAG, &o.contexts, NULL,
         "instead of the table, a row for each task and interrupt of a microcontroller (the "
         "table's foot shows six of them)"},
        {"every", 0, OPTION_TEXT, &o.every, "TIME",
         "with --contexts: rows for each window of this length, such as 10ms"},
        {"time-unit", 0, OPTION_WORD, &o.unit, "auto|s|ms|us", "(auto: each time has its own)"},
        {"name-width", 0, OPTION_COUNT, &o.name_width, "N", "characters of a name, or all (55)"},
        {"stack-width", 0, OPTION_COUNT, &o.stack_width, "N", "characters of a stack (75)"},
        {"shapes-width", 0, OPTION_COUNT, &o.shapes_width, "N", "characters of the shapes (80)"},
        {"header", 0, OPTION_TEXT, &o.header, "TEXT", "a line above the table"},
        {"format", 'f', OPTION_WORD, &o.format, "text|csv|json|html", "(text)"},
        {"output", 'o', OPTION_TEXT, &o.output, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    rows->device = rows->memory = true;
    int status, count = options_parse(&report_command, options, argc, argv, &status);
    if (count < 0) return status;
    status = range_align(&window, argv + 1, count) ? report(&o, argv + 1, count) : EXIT_BAD;
    range_unalign(&window);
    return status;
}
