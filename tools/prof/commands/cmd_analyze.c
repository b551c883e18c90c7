/* prof analyze: what each kernel achieves of its device's peak. */
#include "analysis/amounts.h"
#include "analysis/kernels.h"
#include "input/losses.h"

#include <string.h>

static int run(int argc, char **argv);

const command analyze_command = {
    "analyze", "[OPTION]... TRACE",
    "FLOP/s and GB/s of kernels, and their share of the peak",
    "  prof analyze trace.json.gz\n"
    "      a table for each device; peaks by the device's name\n"
    "  prof analyze --dtype bf16 --name-limit 80 trace.json\n"
    "      what the trace gives no type for counts as bf16\n"
    "  prof analyze --device-peak bf16=989.5,fp32=67,gb=3350 trace.json\n"
    "      other peaks: dense TFLOP/s by type, and GB/s\n\n"
    "An op's amount counts once: its kernels share it by their time, so that all\n"
    "have the op's rate.\n\n"
    "Bound by (roofline): a kernel with more FLOP/byte than the device (peak FLOP/s\n"
    "of its type / peak byte/s) is bound by compute, else by memory; its share of\n"
    "that peak is how near to the roof it is. Where FLOPs are not known, elementwise\n"
    "kernels, copies, fills and reductions are bound by memory; others are unknown.\n", run, 1, 1
};

typedef struct analyze_options {
    const char *dtype, *output, *device;
    table_format format;
    text_list peaks;
    int64_t name_limit, limit;
} analyze_options;

static const char heads[] =
    "Device#|Device Name|Kernel Name|Count#|TFLOP/s#|GB/s#|Mean (us)#|Total (ms)#|"
    "of peak FLOP/s %#|of peak GB/s %#|Type|FLOP/byte#|Bound by";
enum { KERNEL_NAME = 2 };

/* One line: of a kernel, or of all of them. */
static void add_line(sheet *s, const kernel_device *device, const char *name,
                     const kernel_row *row, int64_t name_limit) {
    bool mixed = row->dtypes & (row->dtypes - 1), known = row->dtypes > 1u << DTYPE_NONE;
    cell_int(s, device->index);
    cell_text(s, device->name ? device->name : "");
    cell_name(s, name, name_limit);
    cell_int(s, (int64_t)row->count);
    cell_tflop_s(s, row);
    cell_gb_s(s, row);
    cell_format(s, "%.3f", (double)row->ns * 1e-3 / (double)row->count);
    cell_format(s, "%.6f", (double)row->ns * 1e-6);
    cell_flop_share(s, row);
    cell_gb_share(s, row);
    cell_text(s, !known ? NULL : mixed ? "mixed" : dtype_name(kernel_row_dtype(row)));
    cell_intensity(s, row);
    cell_text(s, kernel_bound(row, name));
}

static bool device_before(uint32_t a, uint32_t b, const void *context) {
    const kernel_row *rows = context;
    return rows[a].device < rows[b].device;
}

/* next: in table->order, which is by device here. */
static void add_device(sheet *s, kernel_table *table, const kernel_device *device, int64_t limit,
                       int64_t name_limit, size_t *next) {
    int64_t lines = 0;
    for (; *next < table->row_count; ++*next) {
        const kernel_row *row = &table->rows[table->order[*next]];
        if (&table->devices[row->device] != device) break;
        if (lines++ < limit)
            add_line(s, device, interned_text(&table->trace.names, row->name), row, name_limit);
    }
    add_line(s, device, "Total", &device->sum, name_limit);
}

static void write_device_head(output *out, const kernel_device *device) {
    output_format(out, "Device %lld: ", (long long)device->index);
    output_plain_text(out, device->name ? device->name : "(no name in the trace)");
    if (!device->known) {
        output_text(out, ", peaks unknown: see --device and --device-peak\n");
        return;
    }
    output_text(out, ", dense peak TFLOP/s:");
    for (int type = 1; type < DTYPE_PEAKS; type++)
        if (device->peak.tflops[type] > 0)
            output_format(out, " %s %g", dtype_name((dtype)type), device->peak.tflops[type]);
    output_format(out, "; %g GB/s\n", device->peak.gb_s);
}

/* Text: a table below each device's name. Else one table, with the device in each line. */
static int write_tables(kernel_table *table, const analyze_options *o) {
    output out;
    sheet s;
    if (!output_open(&out, o->output)) return EXIT_BAD;
    bool text = o->format == FORMAT_TEXT, first = true;
    size_t next = 0;
    sort_numbers(table->order, table->row_count, device_before, table->rows);
    losses_write(&out);
    if (!text) sheet_begin(&s, heads);
    for (size_t i = 0; i < table->device_count; i++) {
        const kernel_device *device = &table->devices[i];
        if (device->sum.count == 0) continue;
        if (text && !first) output_text(&out, "\n");
        if (text) write_device_head(&out, device);
        if (text) sheet_begin(&s, heads);
        first = false;
        s.hidden = KERNEL_NAME;
        add_device(&s, table, device, o->limit, o->name_limit, &next);
        if (text) sheet_end(&s, o->format, &out);
    }
    if (!text) sheet_end(&s, o->format, &out);
    return output_close(&out, EXIT_OK);
}

static int run(int argc, char **argv) {
    range_options window = {0};
    analyze_options o = {.name_limit = 40, .limit = INT64_MAX};
    const option_spec options[] = {
        {"dtype", 't', OPTION_TEXT, &o.dtype, "TYPE",
         "the type to use where the trace has none: fp32, tf32, bf16, ..."},
        {"device", 'd', OPTION_TEXT, &o.device, "NAME", "treat the devices as this one: H100, ..."},
        {"device-peak", 0, OPTION_LIST, &o.peaks, "PEAK",
         "TYPE=TFLOP/s or gb=GB/s instead of what is known of the devices"},
        {"name-limit", 0, OPTION_COUNT, &o.name_limit, "N", "characters of a name, or all (40)"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "kernels of a device, or all (all)"},
        FORMAT_OPTION(o.format),
        RANGE_OPTIONS(window),
        {"output", 'o', OPTION_TEXT, &o.output, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&analyze_command, options, argc, argv, &status);
    if (count < 0) return status;
    kernel_options kernels = {.device = o.device, .peaks = &o.peaks, .window = &window};
    if (o.dtype && (kernels.dtype = dtype_parse(o.dtype)) == DTYPE_NONE)
        return fail("--dtype", "there is no type '%s'; some are fp32, tf32, bf16, fp16", o.dtype);
    kernel_table table = {0};
    if (o.format == FORMAT_TEXT) losses_hold();
    status = kernels_read(&table, &kernels, argv[1]);
    if (status == EXIT_OK && table.row_count == 0) warn(argv[1], "there are no kernels in it");
    bool nothing = status != EXIT_OK && table.row_count == 0;
    int written = nothing ? EXIT_BAD : write_tables(&table, &o);
    kernels_free(&table);
    return status ? status : written;
}
