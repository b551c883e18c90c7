/* prof diff: two traces side by side, and a gate for CI. */
#include "analysis/kernels.h"
#include "input/losses.h"
#include "page/report_page.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command diff_command = {
    "diff", "[OPTION]... A B  or  A... vs B...", "compare two traces, by kernel and by op",
    "  prof diff before.json.gz after.json.gz\n"
    "      what took more or less time, the largest change first\n"
    "  prof diff --threshold 5 --names main,branch main.json branch.json\n"
    "      exit status 1 when the total, or a row of 1 % of it or more, takes\n"
    "      over 5 % longer\n"
    "  prof diff --metric p95 --threshold 10,total=5 main.json branch.json\n"
    "      ... when the p95 of a row's calls takes over 10 % longer, or its total 5 %\n"
    "  prof diff --gate limits.txt --format markdown main*.raw vs branch*.raw\n"
    "      several runs of each side, for a pull request: what is beyond its limit\n"
    "      and beyond the noise comes first; exit status 1 if there is anything\n"
    "  prof diff --rates --dtype bf16 a.json b.json\n"
    "      kernels alone, with the FLOP/s and GB/s of each\n"
    "  prof diff --kernels --format csv a.json b.json\n"
    "      only what runs on devices, for a spreadsheet\n\n"
    "Metrics\n"
    "  total is self time on the CPU, and all time on devices. The others are about\n"
    "  the duration of one call: avg, p50, p90, p95, p99, max. A percentile is\n"
    "  exact: the ceil(n p / 100)-th of n durations in ascending order. calls is how\n"
    "  many. A counter's name (cycles, a number of your own) is a metric too: what\n"
    "  the row itself has counted. A row that only A or only B has passes every\n"
    "  threshold, but is part of the totals. Totals are compared by total alone.\n\n"
    "Several traces on a side: each figure is the median of its side; its spread\n"
    "leaves out the lowest and the highest quarter of the side's figures. A change\n"
    "that is smaller than both spreads together is noise, and passes.\n\n"
    "Limits, a line each in the file of --gate (lines that begin with # are none):\n"
    "  METRIC LIMIT NAME    total 5% *            all rows and totals, as --threshold\n"
    "                       p95 10% aten::mm      rows of that name, ops and kernels\n"
    "                       max 20ms decode a     at most 20 ms in B, whatever A has\n"
    "                       calls 0% sync\n"
    "  A line with a name replaces one with *, and the last of two lines the first.\n", run, 2,
    INT_MAX
};

/* Behind CALLS the rows' counters, by the names that were asked for. Those before it are times. */
typedef enum metric {
    TOTAL, AVG, P50, P90, P95, P99, MAX, CALLS, COUNTER, METRICS = COUNTER + PROF_COUNTERS
} metric;
static const char *metric_names[METRICS] = {
    "total", "avg", "p50", "p90", "p95", "p99", "max", "calls"
};

/* Of B, of a metric. */
typedef struct limit {
    metric metric;
    const char *name;            /* NULL: of all rows */
    size_t line;                 /* of the gate's file */
    bool is_percent;             /* more than A has; else B itself: */
    double most;                 /* ns or a number */
} limit;

typedef struct diff_options {
    row_options rows;
    text_list names;
    text_list thresholds;        /* --threshold */
    const char *gate;
    limit *limits;               /* of both */
    size_t limit_count, limit_capacity;
    interner limit_names;
    const char *output, *dtype, *by;
    table_format format;
    bool kernels, ops, rates, any_order;
    int64_t limit, name_width;
    metric metric;               /* that is shown */
    double least_share;          /* percent */
    size_t runs[2];              /* traces a side */
} diff_options;

/* One row of both traces; times are ns of the device, or of a call itself on the CPU. */
typedef struct pair {
    const char *key;
    bool on_device;
    uint64_t count[2];
    int64_t ns[METRICS][2];      /* of CALLS and counters: how many */
    int64_t spread[METRICS][2];
    int64_t (*runs[2])[METRICS]; /* of each trace that was read, room for all of its side */
    int64_t change_ns;           /* of the metric that is shown */
    metric worse;                /* that is beyond its limit; METRICS: none */
    bool noise;                  /* one would be, but is within the noise */
    kernel_row rates[2];         /* --rates */
} pair;

typedef struct pairs {
    pair *list;
    size_t count, capacity;
    interner keys;
    pair *devices;               /* one for each device of either trace */
    size_t device_count, device_capacity;
    map device_numbers;
    arena memory;
    pair total[2];               /* CPU, device */
} pairs;

/* A name that is several rows has the longest of their calls' times. */
static void add_calls(pair *to, int side, row_table *table, const prof_average *row,
                      bool on_device) {
    static const unsigned percents[] = {50, 90, 95, 99, 100};
    int64_t ns[5] = {row->p50_ns, row->p90_ns, 0, row->p99_ns, row->max_ns};
    int64_t whole = on_device ? row->device_time_total_ns : row->cpu_time_total_ns;
    rows_percentiles(table, row, percents, 5, ns);
    for (int i = 0; i < 5; i++)
        if (ns[i] > to->ns[P50 + i][side]) to->ns[P50 + i][side] = ns[i];
    if (row->count && whole / (int64_t)row->count > to->ns[AVG][side])
        to->ns[AVG][side] = whole / (int64_t)row->count;
}

/* What a row has counted itself, of the counters that were asked for. */
static void add_counters(pair *to, int side, const row_table *table, const prof_average *row) {
    for (int i = 0; i < PROF_COUNTERS && table->view.counters[i]; i++)
        for (int m = COUNTER; m < METRICS && metric_names[m]; m++)
            if (strcmp(table->view.counters[i], metric_names[m]) == 0)
                to->ns[m][side] += row->self_counters[i];
}

/* The rows, the lines of devices, and both totals, one after another; NULL: no more. */
static pair *pair_at(pairs *all, size_t i) {
    if (i < all->count) return &all->list[i];
    i -= all->count;
    if (i < all->device_count) return &all->devices[i];
    i -= all->device_count;
    return i < 2 ? &all->total[i] : NULL;
}

/* ---- Several traces a side ---- */

/* Puts by what the last trace of a side has added. number: which it was. */
static void put_by(pair *row, int side, size_t number, size_t runs) {
    if (!row->runs[side]) row->runs[side] = allocate(runs * sizeof *row->runs[side]);
    row->ns[CALLS][side] = (int64_t)row->count[side];
    row->count[side] = 0;
    for (int m = 0; m < METRICS; m++) {
        row->runs[side][number][m] = row->ns[m][side];
        row->ns[m][side] = 0;
    }
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The medians and spreads of a side. */
static void settle(pair *row, int side, size_t runs) {
    int64_t *values = allocate((runs + 1) * sizeof *values);
    for (int m = 0; row->runs[side] && m < METRICS; m++) {
        for (size_t i = 0; i < runs; i++) values[i] = row->runs[side][i][m];
        qsort(values, runs, sizeof *values, by_value);
        int64_t low = values[(runs - 1) / 2], high = values[runs / 2];
        row->ns[m][side] = low + (high - low) / 2;
        row->spread[m][side] = values[runs - 1 - runs / 4] - values[runs / 4];
    }
    row->count[side] = (uint64_t)row->ns[CALLS][side];
    free(row->runs[side]);
    row->runs[side] = NULL;
    free(values);
}

/* ---- Rows ---- */

static void add_side(pairs *all, row_table *table, int side, const diff_options *o) {
    for (size_t i = 0; i < table->count; i++) {
        const prof_average *row = &table->rows[i];
        bool on_device = row->device_type != PROF_DEVICE_CPU;
        if (on_device ? o->ops && !o->kernels : o->kernels && !o->ops) continue;
        size_t size = strlen(row->key), before = all->keys.count;
        char *key = allocate(size + 3);
        snprintf(key, size + 3, "%d%d%s", on_device, row->is_user_annotation, row->key);
        uint32_t number = intern(&all->keys, key, size + 2);
        free(key);
        if (all->keys.count > before) {
            GROW(all->list, all->count, all->capacity);
            all->list[all->count++] = (pair){
                .key = interned_text(&all->keys, number) + 2, .on_device = on_device
            };
        }
        int64_t ns = on_device ? row->device_time_total_ns : row->self_cpu_time_total_ns;
        all->list[number].count[side] += row->count;
        all->list[number].ns[TOTAL][side] += ns;
        if (o->rows.percentiles) add_calls(&all->list[number], side, table, row, on_device);
        add_counters(&all->list[number], side, table, row);
        if (on_device && row->is_user_annotation) continue;    /* it spans kernels, is none */
        all->total[on_device].count[side] += row->count;
        all->total[on_device].ns[TOTAL][side] += ns;
        add_counters(&all->total[on_device], side, table, row);
    }
}

/* By the name in A; where B has another device of that number, by both. */
static void name_device(pairs *all, pair *row, const row_device *device) {
    char key[320];
    size_t size = row->key ? strlen(row->key) : 0, name = strlen(device->name);
    if (row->key && size >= name && strcmp(row->key + size - name, device->name) == 0) return;
    int length = row->key
        ? snprintf(key, sizeof key, "%s -> %s", row->key, device->name)
        : snprintf(key, sizeof key, "Total of device %lld %s", (long long)device->index,
                   device->name);
    row->key = arena_text(&all->memory, key, (size_t)length);
}

static void add_devices(pairs *all, const row_table *table, int side) {
    for (size_t i = 0; i < table->device_count; i++) {
        const row_device *device = &table->devices[i];
        if (device->count == 0) continue;
        bool is_new;
        size_t number = NUMBER_OF(&all->device_numbers, (uint64_t)device->index, all->devices,
                                  all->device_count, all->device_capacity, &is_new);
        if (is_new) all->devices[number] = (pair){.on_device = true};
        name_device(all, &all->devices[number], device);
        all->devices[number].count[side] += device->count;
        all->devices[number].ns[TOTAL][side] += device->ns;
    }
}

/* What the kernels compute and move, for the rows that are there already. */
static int add_rates(pairs *all, int side, const diff_options *o, const char *path) {
    static const text_list no_peaks;
    kernel_options options = {
        .peaks = &no_peaks, .quiet = true, .dtype = dtype_parse(o->dtype),
        .window = o->rows.filter.window
    };
    kernel_table table = {0};
    int status = kernels_read(&table, &options, path);
    for (size_t i = 0; i < table.row_count; i++) {
        const kernel_row *row = &table.rows[i];
        const struct interned *name = &table.trace.names.entries[row->name];
        char *key = allocate(name->size + 3);
        snprintf(key, name->size + 3, "10%s", name->text);
        uint32_t number = intern(&all->keys, key, name->size + 2);     /* all rows are there */
        free(key);
        if (number < all->count) kernel_row_add(&all->list[number].rates[side], row);
    }
    for (size_t i = 0; i < table.device_count; i++) {
        const kernel_device *device = &table.devices[i];
        const uint64_t *number = map_get(&all->device_numbers, (uint64_t)device->index);
        if (number) kernel_row_add(&all->devices[*number].rates[side], &device->sum);
        kernel_row_add(&all->total[1].rates[side], &device->sum);
    }
    kernels_free(&table);
    return status;
}

static int by_change(const void *a, const void *b) {
    const pair *x = a, *y = b;
    int64_t p = llabs(x->change_ns), q = llabs(y->change_ns);
    return p != q ? (p < q ? 1 : -1) : strcmp(x->key, y->key);
}

/* The last limit of the row's name, else of all rows; NULL: none. */
static const limit *limit_of(const diff_options *o, const pair *row, metric m) {
    const limit *found = NULL;
    for (size_t i = 0; i < o->limit_count; i++) {
        const limit *l = &o->limits[i];
        if (l->metric == m && (l->name ? strcmp(l->name, row->key) == 0 : !found || !found->name))
            found = l;
    }
    return found;
}

/* Rows of one side only count in the total alone, if a limit is by what A has. share: of B's total,
   percent. */
static void judge(pair *row, double share, const diff_options *o) {
    row->worse = METRICS;
    for (int m = TOTAL; m < METRICS && row->worse == METRICS; m++) {
        const limit *l = limit_of(o, row, (metric)m);
        const int64_t *ns = row->ns[m], *spread = row->spread[m];
        if (!l || (!l->name && share < o->least_share)) continue;
        double most = l->is_percent ? (double)ns[0] * (1 + l->most / 100) : l->most;
        if ((l->is_percent && ns[0] <= 0) || (double)ns[1] <= most) continue;
        bool noise = l->is_percent && ns[1] - ns[0] <= spread[0] + spread[1];
        if (noise) row->noise = true;
        else row->worse = (metric)m;
    }
}

/* How many are beyond their limits. Lines of devices are judged by their names alone. */
static size_t judge_all(pairs *all, const diff_options *o) {
    size_t beyond = 0;
    pair *row;
    for (size_t i = 0; (row = pair_at(all, i)); i++) {
        int64_t whole = all->total[row->on_device].ns[TOTAL][1];
        double share = whole > 0 ? 100 * (double)row->ns[TOTAL][1] / (double)whole : 0;
        if (i >= all->count) share = i < all->count + all->device_count ? -1 : 100;
        judge(row, share, o);
        beyond += row->worse != METRICS;
    }
    return beyond;
}

static void cell_note(sheet *s, const pair *row) {
    const char *what = row->worse < CALLS ? "slower" : "more";
    if (row->worse == TOTAL) cell_text(s, what);
    else if (row->worse != METRICS) cell_format(s, "%s (%s)", what, metric_names[row->worse]);
    else if (row->count[0] == 0) cell_text(s, "new");
    else if (row->count[1] == 0) cell_text(s, "gone");
    else cell_text(s, row->noise ? "noise" : "");
}

static bool has_runs(const diff_options *o) { return o->runs[0] > 1 || o->runs[1] > 1; }

static void cell_metric(sheet *s, metric m, int64_t value) {
    if (m < CALLS) cell_format(s, "%.6f", (double)value * 1e-6);
    else cell_int(s, value);
}

static void add_line(sheet *s, const pair *row, int64_t width, const diff_options *o) {
    const int64_t *ns = row->ns[o->metric];
    cell_name(s, row->key, width);
    cell_text(s, row->on_device ? "device" : "cpu");
    for (int side = 0; side < 2; side++)
        if (row->count[side]) cell_int(s, (int64_t)row->count[side]);
        else cell_text(s, NULL);
    for (int side = 0; side < 2; side++)
        if (row->count[side]) cell_metric(s, o->metric, ns[side]);
        else cell_text(s, NULL);
    cell_metric(s, o->metric, ns[1] - ns[0]);
    cell_percent(s, ns[1] - ns[0], ns[0]);
    for (int side = 0; side < 2 && has_runs(o); side++)
        cell_metric(s, o->metric, row->spread[o->metric][side]);
    cell_note(s, row);
    if (!o->rates) return;
    for (int side = 0; side < 2; side++) cell_tflop_s(s, &row->rates[side]);
    for (int side = 0; side < 2; side++) cell_gb_s(s, &row->rates[side]);
    for (int side = 0; side < 2; side++) cell_flop_share(s, &row->rates[side]);
    for (int side = 0; side < 2; side++) cell_gb_share(s, &row->rates[side]);
}

static void name_totals(pairs *all, const diff_options *o) {
    bool part = o->rows.filter.name || o->rows.filter.categories.count;
    all->total[1].on_device = true;
    all->total[1].key = part ? "Total of devices, these rows" : "Total of devices";
    all->total[0].key = part ? "Total of self CPU times, these rows" : "Total of self CPU times";
}

/* Lines of devices and of all; the table shows them where it shows totals. */
static void add_totals(sheet *s, const pairs *all, const diff_options *o, bool worse_only) {
    for (size_t i = 0; i < all->device_count && o->metric == TOTAL; i++)
        if (!worse_only || all->devices[i].worse != METRICS)
            add_line(s, &all->devices[i], INT64_MAX, o);
    for (int side = 1; side >= 0; side--) {
        const pair *total = &all->total[side];
        bool shown = o->metric == TOTAL || o->metric >= CALLS;
        if (worse_only) shown = total->worse != METRICS;
        if (shown && total->count[0] + total->count[1] > 0) add_line(s, total, o->name_width, o);
    }
}

static void sort_pairs(pairs *all, const diff_options *o) {
    for (size_t i = 0; i < all->count; i++)
        all->list[i].change_ns = all->list[i].ns[o->metric][1] - all->list[i].ns[o->metric][0];
    if (all->count) qsort(all->list, all->count, sizeof *all->list, by_change);
}

static void head_both(sheet *s, const diff_options *o, const char *kind) {
    for (int side = 0; side < 2; side++) sheet_head(s, true, "%s %s", o->names.items[side], kind);
}

static void write_table(const pairs *all, const diff_options *o, bool worse_only, output *out) {
    static const char *const rates[] = {"TFLOP/s", "GB/s", "of peak FLOP/s %", "of peak GB/s %"};
    int64_t left = o->limit;
    sheet s;
    sheet_begin(&s, "Name|On");
    head_both(&s, o, "count");
    head_both(&s, o, o->metric < CALLS ? "(ms)" : metric_names[o->metric]);
    sheet_head(&s, true, o->metric < CALLS ? "Change (ms)" : "Change");
    sheet_head(&s, true, "Change %%");
    if (has_runs(o)) head_both(&s, o, "spread");
    sheet_head(&s, false, "Note");
    for (int i = 0; i < 4 && o->rates; i++) head_both(&s, o, rates[i]);
    for (size_t i = 0; i < all->count && left > 0; i++) {
        if (worse_only && all->list[i].worse == METRICS) continue;
        add_line(&s, &all->list[i], o->name_width, o);
        left--;
    }
    add_totals(&s, all, o, worse_only);
    sheet_end(&s, o->format, out);
}

static void write_runs(const diff_options *o, output *out) {
    if (!has_runs(o)) return;
    output_format(out, "Medians of %zu and %zu traces. Changes that are less than both spreads "
                  "together are noise.\n", o->runs[0], o->runs[1]);
}

/* For a pull request: what is beyond its limit, and, folded up, the rest. */
static void write_markdown(const pairs *all, const diff_options *o, size_t beyond, output *out) {
    if (!o->limit_count) output_text(out, "### prof diff\n\n");
    else if (!beyond) output_text(out, "### prof diff: nothing is beyond its limit\n\n");
    else output_format(out, beyond == 1 ? "### prof diff: %zu row is beyond its limit\n\n"
                           : "### prof diff: %zu rows are beyond their limits\n\n", beyond);
    if (beyond) write_table(all, o, true, out);
    output_text(out, beyond ? "\n" : "");
    write_runs(o, out);
    output_text(out, "\n<details><summary>Largest changes</summary>\n\n");
    write_table(all, o, false, out);
    output_text(out, "\n</details>\n");
}

static int write_pairs(const pairs *all, const diff_options *o, size_t beyond) {
    output out;
    if (!output_open(&out, o->output)) return EXIT_BAD;
    if (o->format == FORMAT_MARKDOWN) {
        write_markdown(all, o, beyond, &out);
    } else {
        losses_write(&out);
        write_table(all, o, false, &out);
        if (o->format == FORMAT_TEXT) write_runs(o, &out);
    }
    return output_close(&out, EXIT_OK);
}

static page_pair page_row(const pair *row, metric shown) {
    const int64_t *ns = row->ns[shown];
    return (page_pair){row->key, row->on_device, row->worse != METRICS,
                       {row->count[0], row->count[1]}, {ns[0], ns[1]}};
}

static int write_page(const pairs *all, const diff_options *o, report_page *page,
                      const row_table *table) {
    page_pair *rows = allocate((all->count + 1) * sizeof *rows);
    page_comparison c = {{o->names.items[0], o->names.items[1]}, metric_names[o->metric], rows,
                         all->count, {{0}}};
    text_list none = {0};
    char title[300];
    output out;
    for (size_t i = 0; i < all->count; i++) rows[i] = page_row(&all->list[i], o->metric);
    for (int on = 0; on < 2; on++) {
        c.totals[on] = page_row(&all->total[on], TOTAL);
        c.totals[on].is_worse = false;
    }
    snprintf(title, sizeof title, "%s and %s", c.names[0], c.names[1]);
    bool good = output_open(&out, o->output);
    if (good) page_write(page, table, title, &none, &c, &out);
    free(rows);
    return good ? output_close(&out, EXIT_OK) : EXIT_BAD;
}

/* What is no metric may be a counter, which the traces will tell. */
static bool metric_parse(const char *text, size_t size, metric *m) {
    int i = 0;
    for (; i < METRICS && metric_names[i]; i++)
        if (strlen(metric_names[i]) == size && memcmp(metric_names[i], text, size) == 0) break;
    if (i == METRICS || !size) return false;
    if (!metric_names[i]) {
        char *name = allocate(size + 1);
        memcpy(name, text, size);
        metric_names[i] = name;
    }
    *m = (metric)i;
    return true;
}

static void note_counters(bool known[METRICS], const row_table *table) {
    for (int i = 0; i < PROF_COUNTERS && table->view.counters[i]; i++)
        for (int m = COUNTER; m < METRICS && metric_names[m]; m++)
            known[m] |= strcmp(table->view.counters[i], metric_names[m]) == 0;
}

static bool counters_known(const bool known[METRICS], const diff_options *o) {
    for (int m = COUNTER; m < METRICS && metric_names[m]; m++) {
        char where[40] = "";
        if (known[m]) continue;
        for (size_t i = o->limit_count; i--; )
            if ((int)o->limits[i].metric == m && o->limits[i].line)
                snprintf(where, sizeof where, "line %zu: ", o->limits[i].line);
        return fail(*where ? o->gate : "--metric", "%s'%s' is none of total, avg, p50, p90, p95, "
                    "p99, max, calls, and no counter of the traces", where, metric_names[m]), false;
    }
    return true;
}

/* ---- Limits ---- */

static void add_limit(diff_options *o, limit l) {
    GROW(o->limits, o->limit_count, o->limit_capacity);
    o->limits[o->limit_count++] = l;
    o->rows.percentiles |= l.metric > TOTAL && l.metric < CALLS;
}

/* --threshold: "5", of the metric shown, or "p95=10". */
static bool threshold_parse(diff_options *o, const char *text) {
    const char *sign = strchr(text, '='), *number = sign ? sign + 1 : text;
    limit l = {.metric = o->metric, .is_percent = true};
    if (sign && !metric_parse(text, (size_t)(sign - text), &l.metric)) return false;
    if (!number_parse(number, "", &l.most) || l.most < 0) return false;
    add_limit(o, l);
    return true;
}

/* "5%", "20ms" of times, "300" of what is counted. */
static bool most_parse(limit *l, const char *text) {
    int64_t ns;
    l->is_percent = number_parse(text, "%", &l->most);
    bool is_number = l->is_percent || number_parse(text, "", &l->most);
    if (l->is_percent || l->metric >= CALLS) return is_number && l->most >= 0;
    if (is_number || !time_parse(text, &ns) || ns < 0) return false;     /* 5: of what? */
    l->most = (double)ns;
    return true;
}

/* A line of the gate's file: METRIC LIMIT NAME. */
static bool gate_line(diff_options *o, char *text, size_t number) {
    limit l = {.metric = TOTAL, .line = number};
    char *name = text + strlen(text), *most = text + strcspn(text, " \t");
    while (name > text && strchr(" \t\r\n", name[-1])) *--name = '\0';
    size_t size = (size_t)(most - text);
    most += strspn(most, " \t");
    name = most + strcspn(most, " \t");
    if (*name) *name++ = '\0';
    name += strspn(name, " \t");
    if (!*name)
        return fail(o->gate, "line %zu: it takes METRIC LIMIT NAME, as: total 5%% *", number),
               false;
    if (!metric_parse(text, size, &l.metric))
        return fail(o->gate, "line %zu: '%.*s' is not a metric: total, avg, p50, p90, p95, p99, "
                    "max, calls, a counter", number, (int)size, text), false;
    if (!most_parse(&l, most))
        return fail(o->gate, "line %zu: '%s' is not a limit of %s: 5%%%s", number, most,
                    metric_names[l.metric], l.metric < CALLS ? ", 1.5s, 20ms, 300us" : ", 1000"),
               false;
    if (strcmp(name, "*") != 0)
        l.name = interned_text(&o->limit_names, intern(&o->limit_names, name, strlen(name)));
    add_limit(o, l);
    return true;
}

static bool gate_read(diff_options *o) {
    enum { LONGEST = 1 << 16 };
    FILE *file = fopen(o->gate, "r");
    if (!file) return fail(o->gate, "%s", strerror(errno)), false;
    char *line = allocate(LONGEST);
    size_t before = o->limit_count;
    bool good = true;
    for (size_t number = 1; good && fgets(line, LONGEST, file); number++) {
        char *text = line + strspn(line, " \t");
        if (!strchr(line, '\n') && !feof(file))
            good = fail(o->gate, "line %zu: it is not a line of text", number) == EXIT_OK;
        else if (!strchr("#\r\n", *text)) good = gate_line(o, text, number);
    }
    if (good && ferror(file)) good = fail(o->gate, "%s", strerror(errno)) == EXIT_OK;
    if (good && o->limit_count == before)
        good = fail(o->gate, "there is no limit in it: METRIC LIMIT NAME, as: total 5%% *") ==
               EXIT_OK;
    fclose(file);
    free(line);
    return good;
}

static bool is_name(pairs *all, const char *name) {
    pair *row;
    for (size_t i = 0; (row = pair_at(all, i)); i++)
        if (strcmp(row->key, name) == 0) return true;
    return false;
}

/* A limit of what is not there would pass for ever. */
static bool names_known(pairs *all, const diff_options *o) {
    for (size_t i = 0; i < o->limit_count; i++)
        if (o->limits[i].name && !is_name(all, o->limits[i].name))
            return fail(o->gate, "line %zu: no row of any trace has the name '%s'",
                        o->limits[i].line, o->limits[i].name), false;
    return true;
}

static bool check_metrics(diff_options *o) {
    if (!metric_parse(o->by, strlen(o->by), &o->metric))
        return fail("--metric", "it takes total, avg, p50, p90, p95, p99, max, calls or a "
                    "counter, not '%s'", o->by), false;
    if (o->metric >= CALLS && o->format == FORMAT_HTML)
        return fail("--metric", "the page is of times: not of '%s'", o->by), false;
    o->rows.percentiles = o->metric > TOTAL && o->metric < CALLS;
    for (size_t i = 0; i < o->thresholds.count; i++)
        if (!threshold_parse(o, o->thresholds.items[i]))
            return fail("--threshold", "it takes PERCENT or METRIC=PERCENT, not '%s'",
                        o->thresholds.items[i]), false;
    return !o->gate || gate_read(o);
}

static bool check(diff_options *o) {
    static const char *usual[] = {"A", "B"};
    if (o->names.count == 0) o->names = (text_list){usual, 2};
    if (o->names.count != 2 || strcmp(o->names.items[0], o->names.items[1]) == 0)
        return fail("--names", "takes two names, as A,B"), false;
    if (o->dtype && dtype_parse(o->dtype) == DTYPE_NONE)
        return fail("--dtype", "there is no type '%s'; some are fp32, tf32, bf16, fp16", o->dtype),
               false;
    if (!o->dtype) o->dtype = "";
    if (o->rates && o->ops)
        return fail("--rates", "is of kernels, and --ops leaves them out"), false;
    o->kernels |= o->rates;
    if (has_runs(o) && (o->rates || o->format == FORMAT_HTML))
        return fail(o->rates ? "--rates" : "--format html", "takes one trace per side"), false;
    return check_metrics(o);
}

typedef struct span { int64_t first_ns, last_ns; uint64_t at; } span;

/* A trace whose times are of the calendar, and that begins after the other one has ended, is no
   "before": the two are swapped. Ranks of one run overlap. */
static int check_order(const char *a, const char *b, const span when[2]) {
    static const int64_t year_2001 = 1000000000000000000;
    if (when[1].first_ns < year_2001 || when[0].first_ns <= when[1].last_ns) return EXIT_OK;
    return fail(a, "byte %llu: recorded %.0f s after %s: are the two swapped? (else: --any-order)",
                (unsigned long long)when[0].at,
                (double)(when[0].first_ns - when[1].last_ns) * 1e-9, b);
}

static void pairs_free(pairs *all) {
    intern_free(&all->keys);
    map_free(&all->device_numbers);
    arena_free(&all->memory);
    free(all->devices);
    free(all->list);
}

/* Both sides: the rows of their last traces, when those were, what is to be told of them. */
typedef struct sides {
    row_table tables[2];
    span when[2];
    char **paths[2];
    report_page *page;           /* NULL: none */
    bool known[METRICS];         /* counters that a trace has */
    struct trace_notes { const char *path; text_list list; } *notes;     /* of each trace */
    size_t note_count;
} sides;

static int read_trace(sides *both, pairs *all, const diff_options *o, int side, size_t number) {
    row_table *table = &both->tables[side];
    char *path = both->paths[side][number], label[400];
    if (table->options) rows_free(table);
    if (!rows_begin(table, &o->rows)) return EXIT_BAD;
    if (both->page) page_takes(both->page, table);
    snprintf(label, sizeof label, "%s: %s", o->names.items[side], file_name(path));
    if (both->page) page_begin_file(both->page, label);
    int status = rows_read(table, path);
    if (both->page) page_end_file(both->page);
    rows_finish(table);
    both->when[side] = (span){table->first_ns, table->last_ns, table->dated_at};
    note_counters(both->known, table);
    add_side(all, table, side, o);
    add_devices(all, table, side);
    pair *row;
    for (size_t i = 0; (row = pair_at(all, i)); i++) put_by(row, side, number, o->runs[side]);
    both->notes[both->note_count++] =
        (struct trace_notes){path, rows_notes(table, &all->memory)};
    return status;
}

static int read_sides(sides *both, pairs *all, const diff_options *o) {
    int status = EXIT_OK;
    both->notes = allocate((o->runs[0] + o->runs[1]) * sizeof *both->notes);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < o->runs[side] && status == EXIT_OK; i++)
            status = read_trace(both, all, o, side, i);
    pair *row;
    for (size_t i = 0; (row = pair_at(all, i)); i++)
        for (int side = 0; side < 2; side++) settle(row, side, o->runs[side]);
    name_totals(all, o);
    if (status == EXIT_OK && !(counters_known(both->known, o) && names_known(all, o)))
        status = EXIT_BAD;
    for (int side = 0; o->rates && side < 2 && status == EXIT_OK; side++)
        status = add_rates(all, side, o, both->paths[side][0]);
    if (status == EXIT_OK && !o->any_order && !has_runs(o))
        status = check_order(both->paths[0][0], both->paths[1][0], both->when);
    for (size_t i = 0; i < both->note_count && status == EXIT_OK; i++)
        rows_tell(both->notes[i].path, &both->notes[i].list);
    return status;
}

static void sides_free(sides *both) {
    for (int side = 0; side < 2; side++)
        if (both->tables[side].options) rows_free(&both->tables[side]);
    for (size_t i = 0; i < both->note_count; i++) free(both->notes[i].list.items);
    free(both->notes);
    if (both->page) page_free(both->page);
}

/* A B, or A... vs B... */
static bool find_sides(sides *both, diff_options *o, char **paths, size_t count) {
    size_t vs = 0;
    while (vs < count && strcmp(paths[vs], "vs") != 0) vs++;
    bool both_named = vs < count;
    o->runs[0] = both_named ? vs : 1;
    o->runs[1] = both_named ? count - vs - 1 : 1;
    both->paths[0] = paths;
    both->paths[1] = paths + o->runs[0] + both_named;
    if (o->runs[0] && o->runs[1] && (both_named || count == 2)) return true;
    return fail(NULL, "diff takes two traces, or several a side: A1 A2 vs B1 B2"), false;
}

static int run(int argc, char **argv) {
    range_options window = {0};
    diff_options o = {.limit = 100, .name_width = 55, .by = "total", .least_share = 1};
    const option_spec options[] = {
        {"names", 0, OPTION_LIST, &o.names, "A,B", "what the columns call the two"},
        {"metric", 0, OPTION_TEXT, &o.by, "METRIC",
         "what is compared: total (default), avg, p50, p90, p95, p99, max, calls, a counter"},
        {"threshold", 0, OPTION_LIST, &o.thresholds, "PERCENT",
         "exit status 1 when something takes that much longer in B, by --metric; by other "
         "metrics: p95=10,total=5"},
        {"gate", 0, OPTION_TEXT, &o.gate, "FILE",
         "exit status 1 if something is beyond its limit in that file, see below"},
        {"min-share", 0, OPTION_NUMBER, &o.least_share, "PERCENT",
         "for --threshold: of B's total, what a row needs to count (1)"},
        {"kernels", 0, OPTION_FLAG, &o.kernels, NULL, "only work on devices"},
        {"ops", 0, OPTION_FLAG, &o.ops, NULL, "only calls on the CPU"},
        {"name", 0, OPTION_TEXT, &o.rows.filter.name, "REGEX",
         "only rows whose name it matches; totals are of these"},
        {"category", 'c', OPTION_LIST, &o.rows.filter.categories, "CAT", "only rows of these"},
        {"group-by-site", 0, OPTION_FLAG, &o.rows.site_in_name, NULL,
         "a row for each site of a name: parse (a.c:12)"},
        {"group-by-arg", 0, OPTION_TEXT, &o.rows.by_arg, "ARG",
         "a row for each value that this argument has: _kernel_time (Conv)"},
        {"rates", 0, OPTION_FLAG, &o.rates, NULL,
         "--kernels with columns of FLOP/s, GB/s, shares of the peak, as analyze has them"},
        {"dtype", 't', OPTION_TEXT, &o.dtype, "TYPE",
         "for --rates: the type where the trace tells none"},
        {"any-order", 0, OPTION_FLAG, &o.any_order, NULL,
         "accept an A that was recorded after B, otherwise an error"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows, or all (100)"},
        {"name-width", 0, OPTION_COUNT, &o.name_width, "N", "characters of a name, or all (55)"},
        {"format", 'f', OPTION_WORD, &o.format, "text|csv|json|html|markdown", "(text)"},
        RANGE_OPTIONS(window),
        {"output", 'o', OPTION_TEXT, &o.output, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    o.rows.device = true;
    o.rows.filter.window = &window;
    int status, count = options_parse(&diff_command, options, argc, argv, &status);
    if (count < 0) return status;
    sides both = {.page = NULL};
    if (!find_sides(&both, &o, argv + 1, (size_t)count) || !check(&o)) return EXIT_BAD;
    if (o.format == FORMAT_TEXT) losses_hold();
    pairs all = {0};
    both.page = o.format == FORMAT_HTML ? page_new(NULL) : NULL;
    status = read_sides(&both, &all, &o);
    sort_pairs(&all, &o);
    size_t beyond = judge_all(&all, &o);
    if (status == EXIT_OK && both.page) status = write_page(&all, &o, both.page, &both.tables[1]);
    else if (status == EXIT_OK) status = write_pairs(&all, &o, beyond);
    sides_free(&both);
    pairs_free(&all);
    intern_free(&o.limit_names);
    free(o.limits);
    return status ? status : beyond ? EXIT_FOUND : EXIT_OK;
}
