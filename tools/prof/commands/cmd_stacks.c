/* prof stacks: folded stacks, one line a path. */
#include "analysis/flame.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command stacks_command = {
    "stacks", "[OPTION]... TRACE...", "folded stacks, for any flame graph tool",
    "  prof stacks trace.json.gz > trace.folded\n"
    "      a line for each call path: outer;inner and its own microseconds\n"
    "  prof stacks --metric self_cuda_time_total --no-kernels trace.json\n"
    "      device time by the calls that launched the kernels\n"
    "  prof stacks --frames-only trace.json\n"
    "      Python frames only, as PyTorch's export_stacks has them\n", run, 1, INT_MAX
};

/* An entry of a line: what would end it or the line is replaced, as PyTorch does it. */
static void write_entry(output *out, const char *text) {
    const char *shown;
    size_t size;
    if (!*text) output_text(out, "_");           /* else its line could be none */
    while (*text) {
        bool ends = *text == ';';
        text += plain_next(text, &shown, &size);
        if (ends || *shown == ' ') output_text(out, "_");
        else output_write(out, shown, size);
    }
}

/* path: room for the deepest one. */
static void write_line(const flame *f, uint32_t node, uint32_t *path, output *out) {
    size_t depth = 0;
    int64_t us = f->nodes[node].self / 1000;
    if (us <= 0) return;
    for (; node; node = f->nodes[node].parent) path[depth++] = node;
    if (depth == 0) return;
    while (depth-- > 0) {
        write_entry(out, flame_name(f, path[depth]));
        output_text(out, depth ? ";" : " ");
    }
    output_format(out, "%lld\n", (long long)us);
}

static int write_stacks(const flame *f, const char *path) {
    output out;
    if (!output_open(&out, path)) return EXIT_BAD;
    uint32_t *deepest = allocate(f->count * sizeof *deepest);
    for (uint32_t i = 1; i < f->count; i++) write_line(f, i, deepest, &out);
    free(deepest);
    return output_close(&out, EXIT_OK);
}

int stacks_export(const flame_options *o, char *const *traces, int count, const char *path) {
    flame f = {0};
    int status = EXIT_OK;
    for (int i = 0; i < count; i++)
        if (flame_read(&f, o, traces[i]) != EXIT_OK) status = EXIT_BAD;
    flame_finish(&f);
    int written = status && f.count <= 1 ? EXIT_BAD : write_stacks(&f, path);
    flame_free(&f);
    return status ? status : written;
}

static int run(int argc, char **argv) {
    range_options window = {0};
    flame_options o = {.kernels = true, .python = true, .window = &window};
    const char *metric = "self_cpu_time_total", *path = NULL;
    const option_spec options[] = {
        FLAME_OPTIONS(o, metric, window),
        {"output", 'o', OPTION_TEXT, &path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&stacks_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (!flame_metric(metric, &o)) return EXIT_BAD;
    bool good = range_align(&window, argv + 1, count);
    status = good ? stacks_export(&o, argv + 1, count, path) : EXIT_BAD;
    range_unalign(&window);
    return status;
}
