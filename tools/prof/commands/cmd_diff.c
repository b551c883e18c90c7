/* prof diff: two traces side by side, and a gate for CI. */
#include "analysis/kernels.h"
#include "input/losses.h"
#include "page/report_page.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command diff_command = {
    "diff", "[OPTION]... A B", "two traces side by side, by kernel and by op",
    "  prof diff before.json.gz after.json.gz\n"
    "      what took more or less time, the largest change first\n"
    "  prof diff --threshold 5 --names main,branch main.json branch.json\n"
    "      exit status 1 when the total, or a row of 1 % of it or more, takes\n"
    "      over 5 % longer\n"
    "  prof diff --metric p95 --threshold 10,total=5 main.json branch.json\n"
    "      ... when the p95 of a row's calls takes over 10 % longer, or its total 5 %\n"
    "  prof diff --kernels --rates --dtype bf16 a.json b.json\n"
    "      kernels alone, with the FLOP/s and GB/s of each\n"
    "  prof diff --kernels --format csv a.json b.json\n"
    "      only what runs on devices, for a spreadsheet\n\n"
    "Metrics\n"
    "  total: of the CPU, self time; the others are of the duration of one call: avg,\n"
    "  p50, p90, p95, p99, max. A percentile is the ceil(n p / 100)-th of n durations\n"
    "  in ascending order, exact. What is in A or B alone passes all thresholds but\n"
    "  that of the totals, which are compared by total alone. Names of counters are\n"
    "  metrics, too (cycles, own numbers): what a row has counted itself.\n", run, 2, 2
};

/* Behind MAX the rows' counters, by the names that were asked for. */
typedef enum metric {
    TOTAL, AVG, P50, P90, P95, P99, MAX, COUNTER, METRICS = COUNTER + PROF_COUNTERS
} metric;
static const char *metric_names[METRICS] = {"total", "avg", "p50", "p90", "p95", "p99", "max"};

typedef struct diff_options {
    row_options rows;
    text_list names;
    text_list limits;            /* --threshold */
    const char *output, *dtype, *by;
    table_format format;
    bool kernels, ops, rates, any_order;
    int64_t limit, name_width;
    metric metric;               /* that is shown */
    double thresholds[METRICS], least_share;     /* percent; below 0: none */
} diff_options;

/* One row of both traces; times are ns of the device, or of a call itself on the CPU. */
typedef struct pair {
    const char *key;
    bool on_device;
    uint64_t count[2];
    int64_t ns[METRICS][2];
    int64_t change_ns;           /* of the metric that is shown */
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

/* Which metric is more by more than its threshold? METRICS: none. Rows of one side only count in
   the total alone. */
static metric regression_of(const pair *row, const pair *total, const diff_options *o) {
    const int64_t *whole = total->ns[TOTAL];
    double share = whole[1] > 0 ? 100 * (double)row->ns[TOTAL][1] / (double)whole[1] : 0;
    for (int m = TOTAL; m < METRICS && share >= o->least_share; m++) {
        const int64_t *ns = row->ns[m];
        if (o->thresholds[m] >= 0 && ns[0] > 0 &&
            (double)ns[1] > (double)ns[0] * (1 + o->thresholds[m] / 100)) return (metric)m;
    }
    return METRICS;
}

static void cell_note(sheet *s, const pair *row, metric worse) {
    if (row->count[0] == 0) cell_text(s, "new");
    else if (row->count[1] == 0) cell_text(s, "gone");
    else if (worse == TOTAL) cell_text(s, "slower");
    else if (worse == METRICS) cell_text(s, "");
    else cell_format(s, "%s (%s)", worse < COUNTER ? "slower" : "more", metric_names[worse]);
}

static void cell_metric(sheet *s, metric m, int64_t value) {
    if (m < COUNTER) cell_format(s, "%.6f", (double)value * 1e-6);
    else cell_int(s, value);
}

static void add_line(sheet *s, const pair *row, metric worse, int64_t width,
                     const diff_options *o) {
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
    cell_note(s, row, worse);
    if (!o->rates) return;
    for (int side = 0; side < 2; side++) cell_tflop_s(s, &row->rates[side]);
    for (int side = 0; side < 2; side++) cell_gb_s(s, &row->rates[side]);
    for (int side = 0; side < 2; side++) cell_flop_share(s, &row->rates[side]);
    for (int side = 0; side < 2; side++) cell_gb_share(s, &row->rates[side]);
}

/* Lines of devices and of all; the table shows them where it shows totals. */
static void add_totals(sheet *s, pairs *all, const diff_options *o, bool *regression) {
    bool part = o->rows.filter.name || o->rows.filter.categories.count;
    for (size_t i = 0; i < all->device_count && o->metric == TOTAL; i++)
        add_line(s, &all->devices[i], METRICS, INT64_MAX, o);
    for (int side = 1; side >= 0; side--) {
        pair *total = &all->total[side];
        if (total->count[0] + total->count[1] == 0) continue;
        total->key = side ? part ? "Total of devices, these rows" : "Total of devices"
                   : part ? "Total of self CPU times, these rows" : "Total of self CPU times";
        total->on_device = side == 1;
        metric worse = regression_of(total, total, o);
        *regression |= worse != METRICS;
        if (o->metric == TOTAL || o->metric >= COUNTER) add_line(s, total, worse, o->name_width, o);
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

static int write_pairs(pairs *all, const diff_options *o, bool *regression) {
    static const char *const rates[] = {"TFLOP/s", "GB/s", "of peak FLOP/s %", "of peak GB/s %"};
    output out;
    sheet s;
    if (!output_open(&out, o->output)) return EXIT_BAD;
    losses_write(&out);
    sheet_begin(&s, "Name|On");
    head_both(&s, o, "count");
    head_both(&s, o, o->metric < COUNTER ? "(ms)" : metric_names[o->metric]);
    sheet_head(&s, true, o->metric < COUNTER ? "Change (ms)" : "Change");
    sheet_head(&s, true, "Change %%");
    sheet_head(&s, false, "Note");
    for (int i = 0; i < 4 && o->rates; i++) head_both(&s, o, rates[i]);
    sort_pairs(all, o);
    for (size_t i = 0; i < all->count; i++) {
        const pair *row = &all->list[i];
        metric worse = regression_of(row, &all->total[row->on_device], o);
        *regression |= worse != METRICS;
        if ((int64_t)i < o->limit) add_line(&s, row, worse, o->name_width, o);
    }
    add_totals(&s, all, o, regression);
    sheet_end(&s, o->format, &out);
    return output_close(&out, EXIT_OK);
}

static page_pair page_row(const pair *row, metric shown, bool worse) {
    const int64_t *ns = row->ns[shown];
    return (page_pair){row->key, row->on_device, worse, {row->count[0], row->count[1]},
                       {ns[0], ns[1]}};
}

static int write_page(pairs *all, const diff_options *o, report_page *page, const row_table *table,
                      bool *regression) {
    page_pair *rows = allocate((all->count + 1) * sizeof *rows);
    page_comparison c = {{o->names.items[0], o->names.items[1]}, metric_names[o->metric], rows,
                         all->count, {{0}}};
    text_list none = {0};
    char title[300];
    output out;
    sort_pairs(all, o);
    for (size_t i = 0; i < all->count; i++) {
        const pair *row = &all->list[i];
        bool worse = regression_of(row, &all->total[row->on_device], o) != METRICS;
        rows[i] = page_row(row, o->metric, worse);
        *regression |= worse;
    }
    for (int on = 0; on < 2; on++) {
        const pair *total = &all->total[on];
        c.totals[on] = page_row(total, TOTAL, false);
        *regression |= regression_of(total, total, o) != METRICS;
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

static bool counters_known(const row_table tables[2]) {
    for (int m = COUNTER; m < METRICS && metric_names[m]; m++) {
        bool known = false;
        for (int i = 0; i < 2 * PROF_COUNTERS; i++) {
            const char *name = tables[i % 2].view.counters[i / 2];
            known |= name && strcmp(name, metric_names[m]) == 0;
        }
        if (!known)
            return fail("--metric", "'%s' is none of total, avg, p50, p90, p95, p99, max, and no "
                        "counter of the traces", metric_names[m]), false;
    }
    return true;
}

/* --threshold: "5", of the metric shown, or "p95=10". */
static bool threshold_parse(diff_options *o, const char *text) {
    const char *sign = strchr(text, '='), *number = sign ? sign + 1 : text;
    metric m = o->metric;
    char *end;
    if (sign && !metric_parse(text, (size_t)(sign - text), &m)) return false;
    o->thresholds[m] = strtod(number, &end);
    return *number && !*end && o->thresholds[m] >= 0;
}

static bool check_metrics(diff_options *o) {
    for (int m = 0; m < METRICS; m++) o->thresholds[m] = -1;
    if (!metric_parse(o->by, strlen(o->by), &o->metric))
        return fail("--metric", "'%s' is not a value it takes: METRIC", o->by), false;
    if (o->metric >= COUNTER && o->format == FORMAT_HTML)
        return fail("--metric", "the page is of times: not of '%s'", o->by), false;
    o->rows.percentiles = o->metric > TOTAL && o->metric < COUNTER;
    for (size_t i = 0; i < o->limits.count; i++) {
        if (!threshold_parse(o, o->limits.items[i]))
            return fail("--threshold", "'%s' is not a value it takes: PERCENT or METRIC=PERCENT",
                        o->limits.items[i]), false;
        o->rows.percentiles |= strchr(o->limits.items[i], '=') != NULL;
    }
    return true;
}

static bool check(diff_options *o) {
    static const char *usual[] = {"A", "B"};
    if (o->names.count == 0) o->names = (text_list){usual, 2};
    if (o->names.count != 2) return fail("--names", "takes two names, as A,B"), false;
    if (o->dtype && dtype_parse(o->dtype) == DTYPE_NONE)
        return fail("--dtype", "there is no type '%s'; some are fp32, tf32, bf16, fp16", o->dtype),
               false;
    if (!o->dtype) o->dtype = "";
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

/* Both traces: their rows, when they were, what is to be told of them. */
typedef struct sides {
    row_table tables[2];
    span when[2];
    text_list notes[2];
    report_page *page;           /* NULL: none */
} sides;

static int read_sides(sides *both, pairs *all, const diff_options *o, char **paths) {
    int status = EXIT_OK;
    char label[400];
    for (int side = 0; side < 2 && status == EXIT_OK; side++) {
        row_table *table = &both->tables[side];
        if (!rows_begin(table, &o->rows)) return EXIT_BAD;
        if (both->page) page_takes(both->page, table);
        snprintf(label, sizeof label, "%s: %s", o->names.items[side], file_name(paths[side]));
        if (both->page) page_begin_file(both->page, label);
        status = rows_read(table, paths[side]);
        if (both->page) page_end_file(both->page);
        rows_finish(table);
        both->when[side] = (span){table->first_ns, table->last_ns, table->dated_at};
        add_side(all, table, side, o);
        add_devices(all, table, side);
        both->notes[side] = rows_notes(table, &all->memory);
    }
    if (status == EXIT_OK && !counters_known(both->tables)) status = EXIT_BAD;
    for (int side = 0; o->rates && side < 2 && status == EXIT_OK; side++)
        status = add_rates(all, side, o, paths[side]);
    if (status == EXIT_OK && !o->any_order) status = check_order(paths[0], paths[1], both->when);
    return status;
}

static void sides_free(sides *both) {
    for (int side = 0; side < 2; side++) {
        free(both->notes[side].items);
        if (both->tables[side].options) rows_free(&both->tables[side]);
    }
    if (both->page) page_free(both->page);
}

static int run(int argc, char **argv) {
    range_options window = {0};
    diff_options o = {.limit = 100, .name_width = 55, .by = "total", .least_share = 1};
    const option_spec options[] = {
        {"names", 0, OPTION_LIST, &o.names, "A,B", "what the columns call the two"},
        {"metric", 0, OPTION_TEXT, &o.by, "METRIC",
         "what is compared: total (default), avg, p50, p90, p95, p99, max, a counter"},
        {"threshold", 0, OPTION_LIST, &o.limits, "PERCENT",
         "exit status 1 when something takes that much longer in B, by the metric; of others: "
         "p95=10,total=5"},
        {"min-share", 0, OPTION_NUMBER, &o.least_share, "PERCENT",
         "for --threshold: of B's total, what a row needs to count (1)"},
        {"kernels", 0, OPTION_FLAG, &o.kernels, NULL, "only what runs on devices"},
        {"ops", 0, OPTION_FLAG, &o.ops, NULL, "only what runs on the CPU"},
        {"name", 0, OPTION_TEXT, &o.rows.filter.name, "REGEX",
         "only rows whose name it matches; totals are of these"},
        {"category", 'c', OPTION_LIST, &o.rows.filter.categories, "CAT", "only rows of these"},
        {"group-by-site", 0, OPTION_FLAG, &o.rows.site_in_name, NULL,
         "of a name with several places each has its own: parse (a.c:12)"},
        {"rates", 0, OPTION_FLAG, &o.rates, NULL,
         "columns of FLOP/s, GB/s and shares of the peak, as analyze has them"},
        {"dtype", 't', OPTION_TEXT, &o.dtype, "TYPE",
         "for --rates: the type where the trace tells none"},
        {"any-order", 0, OPTION_FLAG, &o.any_order, NULL,
         "also when A was recorded after B, which else is an error"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows, or all (100)"},
        {"name-width", 0, OPTION_COUNT, &o.name_width, "N", "letters of a name, or all (55)"},
        {"format", 'f', OPTION_WORD, &o.format, "text|csv|json|html", "(text)"},
        RANGE_OPTIONS(window),
        {"output", 'o', OPTION_TEXT, &o.output, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    o.rows.device = true;
    o.rows.filter.window = &window;
    int status, count = options_parse(&diff_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (!check(&o)) return EXIT_BAD;
    if (o.format == FORMAT_TEXT) losses_hold();
    pairs all = {0};
    sides both = {.page = o.format == FORMAT_HTML ? page_new(NULL) : NULL};
    bool regression = false;
    status = read_sides(&both, &all, &o, argv + 1);
    for (int side = 0; side < 2 && status == EXIT_OK; side++)
        rows_tell(argv[1 + side], &both.notes[side]);
    if (status == EXIT_OK && both.page)
        status = write_page(&all, &o, both.page, &both.tables[1], &regression);
    else if (status == EXIT_OK) status = write_pairs(&all, &o, &regression);
    sides_free(&both);
    pairs_free(&all);
    return status ? status : regression ? EXIT_FOUND : EXIT_OK;
}
