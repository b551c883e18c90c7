/* portable */
/* One small program under a fake clock: its figures, worked out by hand, and every writer's output
   against tests/write/golden. PROF_GOLDEN_UPDATE=1 writes those files anew: read the difference. */
#include "../test.h"
#include "../../tools/prof/library.h"

#define LONG_NAME "a_name_that_is_a_good_deal_longer_than_the_fifty_five_letters_of_the_column"
#define ODD_NAME "say \"hi\" \\ tab\there\x01" "end\x7f"
#define WIDE_NAME "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"
#define BROKEN_NAME "broken \xff\xc3 \xed\xa0\x80 utf-8"
#define SPLIT_NAME "a;b\nc"

static prof_trace *trace;

static void at(uint64_t ns) { test_time.tick = 5000000 + ns; }
static void mark(void);

/* What mark() records, by hand, in ns, in order of first appearance. */
typedef struct expected {
    const char *key;
    uint64_t count;
    int64_t total, self, min, max;
    const char *parent;
} expected;

enum { ROWS = 14, EVENTS = 22 };
static const expected rows[ROWS] = {
    {"load", 1, 9000, 3000, 9000, 9000, NULL},
    {"parse", 2, 6000, 6000, 2000, 4000, "load"},
    {"forward", 2, 24000, 9000, 12000, 12000, NULL},
    {"layer", 2, 15000, 4500, 7500, 7500, "forward"},
    {"layer.0", 2, 10000, 4002, 5000, 5000, "layer"},
    {"matmul", 2, 5998, 5998, 2999, 2999, "layer.0"},
    {"layer.1", 2, 500, 500, 250, 250, "layer"},
    {ODD_NAME, 1, 1500000, 500000, 1500000, 1500000, NULL},
    {WIDE_NAME, 1, 1000000, 998765, 1000000, 1000000, ODD_NAME},
    {LONG_NAME, 1, 1, 1, 1, 1, WIDE_NAME},
    {BROKEN_NAME, 1, 0, 0, 0, 0, WIDE_NAME},
    {SPLIT_NAME, 1, 1234, 1234, 1234, 1234, WIDE_NAME},
    {"fib", 3, 300000, 200000, 10000, 200000, NULL},
    {"open", 1, 500000, 500000, 500000, 500000, NULL}
};
static const int64_t all_self = 9000 + 24000 + 1500000 + 200000 + 500000;

/* ---- The figures ---- */

static void test_golden_events(void) {
    size_t count, threads;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    const prof_event *open = test_find(trace, "open", 0), *fib = test_find(trace, "fib", 2);
    const prof_thread_info *thread = prof_threads(trace, &threads);
    EQUAL(count, EVENTS);
    EQUAL(threads, 1);
    SAME_TEXT(thread->name, "main");
    CHECK(open && fib, "events are missing");
    EQUAL(open->flags, PROF_EVENT_UNFINISHED);
    EQUAL(open->start_ns, 2000000);
    EQUAL(open->end_ns, 2500000);
    EQUAL(fib->depth, 2);
    EQUAL(fib->start_ns, 1620000);
    SAME_TEXT(events[fib->parent].name, "fib");
    PASS_ON(test_tree(trace));
}

static void test_golden_averages(void) {
    prof_average got[ROWS + 1];
    size_t i, count;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    EQUAL(prof_key_averages(trace, NULL, NULL, 0), ROWS);
    memset(got, 0x55, sizeof got);
    EQUAL(prof_key_averages(trace, NULL, got, 2), ROWS);
    EQUAL(got[2].count, 0x5555555555555555);
    EQUAL(prof_key_averages(trace, NULL, got, ROWS + 1), ROWS);
    for (i = 0; i < ROWS; i++) {
        SAME_TEXT(got[i].key, rows[i].key);
        EQUAL(got[i].count, rows[i].count);
        EQUAL(got[i].cpu_time_total_ns, rows[i].total);
        EQUAL(got[i].self_cpu_time_total_ns, rows[i].self);
        EQUAL(got[i].min_ns, rows[i].min);
        EQUAL(got[i].max_ns, rows[i].max);
        SAME_TEXT(events[got[i].first].name, rows[i].key);
        EQUAL(got[i].parent == PROF_NONE, rows[i].parent == NULL);
        if (rows[i].parent) SAME_TEXT(events[got[i].parent].name, rows[i].parent);
        EQUAL(got[i].device_type, PROF_DEVICE_CPU);
        CHECK(!got[i].is_async, "row %u is async", (unsigned)i);
    }
}

static void test_golden_total(void) {
    prof_average total = prof_total_average(trace);
    int64_t sum = 0;
    size_t i;
    for (i = 0; i < ROWS; i++) sum += rows[i].total;
    SAME_TEXT(total.key, "Total");
    EQUAL(total.count, EVENTS);
    EQUAL(total.cpu_time_total_ns, sum);
    EQUAL(total.self_cpu_time_total_ns, all_self);
    EQUAL(total.max_ns, 1500000);
    EQUAL(total.min_ns, 0);
}

/* Name and place of a zone, and what a run-time name has of them. */
static void test_golden_sites(void) {
    const prof_site *load = prof_event_total(trace, test_find(trace, "load", 0)).site;
    const prof_event *first = test_find(trace, "parse", 0), *second = test_find(trace, "parse", 1);
    const prof_site *forward = prof_event_total(trace, test_find(trace, "forward", 0)).site;
    CHECK(load && forward, "no site");
    SAME_TEXT(load->name, "load");
    SAME_TEXT(load->file, "golden.c");
    EQUAL(load->line, 4);
    SAME_TEXT(forward->name, "forward");
    CHECK(first->site != second->site, "two places, one site");
    EQUAL(test_find(trace, "forward", 0)->site, test_find(trace, "forward", 1)->site);
    EQUAL(test_find(trace, "layer.0", 0)->site, test_find(trace, "layer.0", 1)->site);
}

/* A row of the table as format_time and format_share write its figures. */
static void table_row(char *row, size_t size, const expected *e) {
    char self[32], total[32], average[32], self_share[32], total_share[32];
    format_time(self, sizeof self, (double)e->self / 1e3);
    format_time(total, sizeof total, (double)e->total / 1e3);
    format_time(average, sizeof average, (double)e->total / (double)e->count / 1e3);
    format_share(self_share, sizeof self_share, (double)e->self, (double)all_self);
    format_share(total_share, sizeof total_share, (double)e->total, (double)all_self);
    snprintf(row, size, " %s  %12s  %12s  %12s  %12s  %12s  %12u  \n", e->key, self_share, self,
             total_share, total, average, (unsigned)e->count);
}

static void test_golden_cells(void) {
    test_text text;
    char row[300];
    size_t i;
    memset(&text, 0, sizeof text);
    EQUAL(test_write(trace, TEST_TABLE, &text), PROF_OK);
    for (i = 0; i < ROWS; i++) {
        if (strchr(rows[i].key, '_') || strpbrk(rows[i].key, "\x01\n\xff\xc3")) continue;
        table_row(row, sizeof row, &rows[i]);
        CHECK(strstr(text.data, row) != NULL, "no row '%s'", row);
    }
    CHECK(strstr(text.data, "Self CPU time total: 2.233ms") != NULL, "no total");
    test_text_clear(&text);
}

static void test_golden_stack_lines(void) {
    static const char *const lines[] = {
        "load 3\n", "load;parse 6\n", "forward 9\n", "forward;layer;layer.0;matmul 5\n",
        "fib 110\n", "fib;fib 80\n", "fib;fib;fib 10\n", "open 500\n"};
    test_text text;
    size_t i;
    memset(&text, 0, sizeof text);
    EQUAL(test_write(trace, TEST_STACKS, &text), PROF_OK);
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *line = strstr(text.data, lines[i]);
        while (line && line != text.data && line[-1] != '\n') line = strstr(line + 1, lines[i]);
        CHECK(line != NULL, "no line '%s'", lines[i]);
    }
    test_text_clear(&text);
}

/* ---- The files ---- */

static void write_all(const char *path, const test_text *text) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL, "cannot write %s", path);
    fwrite(text->data, 1, text->size, file);
    fclose(file);
}

/* Line number of the first difference. */
static unsigned first_difference(const char *a, const char *b) {
    unsigned line = 1;
    for (; *a && *a == *b; a++, b++) line += *a == '\n';
    return line;
}

/* Is the text what that file holds? */
static void golden(const char *name, test_text *text) {
    const char *update = getenv("PROF_GOLDEN_UPDATE");
    test_text wanted;
    char path[400];
    memset(&wanted, 0, sizeof wanted);
    test_text_write(text, "", 0);        /* a text of nothing is a text, too */
    snprintf(path, sizeof path, "%s/%s", TEST_DIR, name);
    if (update && strcmp(update, "1") == 0) PASS_ON(write_all(path, text));
    PASS_ON(test_read_file(path, &wanted));
    CHECK(wanted.size == text->size && memcmp(wanted.data, text->data, text->size) == 0,
          "differs from %s in line %u", path, first_difference(text->data, wanted.data));
    test_text_clear(&wanted);
    test_text_clear(text);
}

static void golden_table(const char *name, const prof_table_desc *desc) {
    test_text text;
    memset(&text, 0, sizeof text);
    EQUAL(prof_write_table(trace, desc, test_text_sink(&text)), PROF_OK);
    golden(name, &text);
}

static prof_averages_desc by_name;

static prof_table_desc table_desc(bool averages, prof_metric sort_by) {
    prof_table_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(&by_name, 0, sizeof by_name);
    if (averages) desc.averages = &by_name;
    desc.sort_by = sort_by;
    return desc;
}

static void test_golden_table_default(void) { golden_table("table_default.txt", NULL); }

static void test_golden_table_events(void) {
    prof_table_desc desc = table_desc(false, PROF_METRIC_NONE);
    golden_table("table_events.txt", &desc);
}

static void test_golden_table_events_sorted(void) {
    prof_table_desc desc = table_desc(false, PROF_METRIC_SELF_CPU_TIME_TOTAL);
    desc.row_limit = 5;
    desc.time_unit = PROF_TIME_US;
    golden_table("table_events_sorted.txt", &desc);
}

static void test_golden_table_total(void) {
    prof_table_desc desc = table_desc(true, PROF_METRIC_CPU_TIME_TOTAL);
    desc.row_limit = 3;
    golden_table("table_total.txt", &desc);
}

static void test_golden_table_header(void) {
    prof_table_desc desc = table_desc(true, PROF_METRIC_NONE);
    desc.header = "The first run";
    desc.time_unit = PROF_TIME_MS;
    golden_table("table_header.txt", &desc);
}

static void test_golden_table_narrow(void) {
    prof_table_desc desc = table_desc(true, PROF_METRIC_COUNT);
    desc.max_name_column_width = 12;
    desc.row_limit = UINT32_MAX;
    desc.time_unit = PROF_TIME_S;
    golden_table("table_narrow.txt", &desc);
}

static void test_golden_table_average(void) {
    prof_table_desc desc = table_desc(true, PROF_METRIC_CPU_TIME);
    desc.max_name_column_width = UINT32_MAX;
    golden_table("table_average.txt", &desc);
}

static void test_golden_table_top(void) {
    prof_table_desc desc = table_desc(true, PROF_METRIC_SELF_CPU_TIME_TOTAL);
    desc.top_level_events_only = true;
    golden_table("table_top.txt", &desc);
    desc.averages = NULL;
    desc.sort_by = PROF_METRIC_NONE;
    if (!test_bad) golden_table("table_events_top.txt", &desc);
}

static void test_golden_chrome(void) {
    test_text text;
    memset(&text, 0, sizeof text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    golden("trace.json", &text);
}

static void golden_stacks(const char *name, prof_metric metric) {
    test_text text;
    memset(&text, 0, sizeof text);
    EQUAL(prof_write_stacks(trace, metric, test_text_sink(&text)), PROF_OK);
    golden(name, &text);
}

static void test_golden_stacks(void) {
    PASS_ON(golden_stacks("stacks.txt", PROF_METRIC_NONE));
    PASS_ON(golden_stacks("stacks.txt", PROF_METRIC_SELF_CPU_TIME_TOTAL));
    PASS_ON(golden_stacks("stacks_total.txt", PROF_METRIC_CPU_TIME_TOTAL));
}

static unsigned rows_with(const prof_table_desc *desc, const char *word) {
    test_text text;
    unsigned n;
    memset(&text, 0, sizeof text);
    if (prof_write_table(trace, desc, test_text_sink(&text)) != PROF_OK) return 0;
    n = (unsigned)test_times(text.data, word);
    test_text_clear(&text);
    return n;
}

/* As many rows as asked for: 100 by default, of averages and of events. */
static void test_golden_row_limit(void) {
    prof_desc desc = test_desc();
    prof_table_desc table;
    char name[24];
    int i, averages;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 150; i++) {
        snprintf(name, sizeof name, "zone %d", i);
        prof_push(name);
        test_time.tick += 1000;
        prof_pop();
    }
    trace = prof_stop();
    EQUAL(rows_with(NULL, "zone "), 100);
    for (averages = 0; averages < 2; averages++) {
        table = table_desc(averages != 0, PROF_METRIC_NONE);
        EQUAL(rows_with(&table, "zone "), 100);
        table.row_limit = 1;
        EQUAL(rows_with(&table, "zone "), 1);
        table.row_limit = 149;
        EQUAL(rows_with(&table, "zone "), 149);
        table.row_limit = UINT32_MAX;
        EQUAL(rows_with(&table, "zone "), 150);
    }
}

/* One place marked twice, as in a header that two files include, is one site. */
static void test_golden_same_place(void) {
    prof_desc desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("twin") { at(1); } PROF_BLOCK("twin") { at(2); } PROF_BLOCK("other") { at(3); }
    PROF_BLOCK("twin") { at(4); }
    trace = prof_stop();
    EQUAL(test_find(trace, "twin", 0)->site, test_find(trace, "twin", 1)->site);
    CHECK(test_find(trace, "twin", 0)->site != test_find(trace, "other", 0)->site, "one site");
    CHECK(test_find(trace, "twin", 0)->site != test_find(trace, "twin", 2)->site, "one site");
    EQUAL(prof_key_averages(trace, NULL, NULL, 0), 2);
}

static void test_golden_empty(void) {
    prof_desc desc = test_desc();
    test_text text;
    EQUAL(prof_start(&desc), PROF_OK);
    trace = prof_stop();
    memset(&text, 0, sizeof text);
    EQUAL(test_write(trace, TEST_TABLE, &text), PROF_OK);
    PASS_ON(golden("empty.txt", &text));
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    PASS_ON(golden("empty.json", &text));
    EQUAL(test_write(trace, TEST_STACKS, &text), PROF_OK);
    EQUAL(text.size, 0);
    test_text_clear(&text);
}

/* Names of all sorts: the file must be JSON (test_json.sh), and this one. */
static void test_golden_odd_names(void) {
    prof_desc desc = test_desc();
    test_text text;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < TEST_ODD_NAMES; i++) {
        prof_push(test_odd_names[i]);
        test_time.tick += 1000;
        prof_counter(test_odd_names[i], i % 2 ? INT64_MAX : INT64_MIN);
        prof_instant(test_odd_names[i]);
        prof_pop();
        prof_set_thread_name(test_odd_names[i]);
    }
    prof_set_thread_name("\"\\\x01\xff");
    trace = prof_stop();
    memset(&text, 0, sizeof text);
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    PASS_ON(golden("odd_names.json", &text));
    EQUAL(test_write(trace, TEST_STACKS, &text), PROF_OK);
    PASS_ON(golden("odd_names.txt", &text));
}

static void test_golden_record(void) {
    prof_desc desc = test_desc();
    at(0);
    EQUAL(prof_start(&desc), PROF_OK);
    mark();
    trace = prof_stop();
    CHECK(trace != NULL, "no trace");
    EQUAL(prof_get_stats(NULL).recorded, EVENTS);
    EQUAL(prof_get_stats(NULL).unfinished, 1);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).clock, PROF_CLOCK_PLATFORM);
}

int main(void) {
    test_keep = 1;
    RUN(test_golden_empty);              /* these two before the program has places */
    RUN(test_golden_odd_names);
    RUN(test_golden_record);
    RUN(test_golden_events);
    RUN(test_golden_averages);
    RUN(test_golden_total);
    RUN(test_golden_sites);
    RUN(test_golden_cells);
    RUN(test_golden_stack_lines);
    RUN(test_golden_table_default);
    RUN(test_golden_table_events);
    RUN(test_golden_table_events_sorted);
    RUN(test_golden_table_total);
    RUN(test_golden_table_header);
    RUN(test_golden_table_narrow);
    RUN(test_golden_table_average);
    RUN(test_golden_table_top);
    RUN(test_golden_chrome);
    RUN(test_golden_stacks);
    RUN(test_golden_row_limit);
    RUN(test_golden_same_place);
    return test_end();
}

/* ---- The program. Its places are part of the golden files, so its lines count from here ---- */
#line 1 "golden.c"

static void load(void) {
    at(1000);
    PROF_BEGIN("load");
    at(2000);
    prof_counter("queue", 3);
    PROF_BEGIN("parse");
    at(4000);
    PROF_END();
    at(5000);
    PROF_BEGIN("parse");
    at(9000);
    PROF_END();
    at(10000);
    PROF_END();
    at(11000);
    prof_instant("checkpoint \"1\"");
}

static void layers(uint64_t start, char *name) {
    PROF_SCOPE("layer");
    name[6] = '0';
    at(start + 2000);
    prof_push(name);
    at(start + 3001);
    PROF_BLOCK("matmul") { at(start + 6000); }
    at(start + 7000);
    prof_pop();
    name[6] = '1';
    at(start + 8000);
    prof_push(name);
    at(start + 8250);
    prof_pop();
    at(start + 9000);
}

static void forward(uint64_t start) {
    char name[] = "layer.?";
    at(start);
    PROF_FUNCTION();
    at(start + 1500);
    layers(start, name);
    prof_counter("queue", start == 12000 ? 7 : -1);
    at(start + 12000);
}

static void odd_names(void) {
    at(50000);
    PROF_BEGIN(ODD_NAME);
    at(60000);
    prof_push(WIDE_NAME);
    at(70000);
    PROF_BEGIN(LONG_NAME);
    at(70001);
    PROF_END();
    at(80000);
    prof_push(BROKEN_NAME);
    prof_pop();
    at(90000);
    PROF_BEGIN(SPLIT_NAME);
    at(91234);
    PROF_END();
    at(1060000);
    prof_pop();
    at(1550000);
    PROF_END();
}

static void fib(int n) {
    static const uint64_t starts[] = {1620000, 1610000, 1600000};
    static const uint64_t ends[] = {1630000, 1700000, 1800000};
    at(starts[n]);
    PROF_BEGIN("fib");
    if (n) fib(n - 1);
    at(ends[n]);
    PROF_END();
}

static void mark(void) {
    prof_set_thread_name("main");
    load();
    forward(12000);
    forward(32000);
    odd_names();
    fib(2);
    at(2000000);
    PROF_BEGIN("open");
    at(2500000);
}
