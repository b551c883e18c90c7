/* portable */
/* The table's other forms (CSV, JSON), rows of the caller's own, metrics by name and the legacy
   views. What PyTorch's text looks like, tests/replay holds to the byte. */
#include "../test.h"
#include "../../tools/prof/library.h"

static test_text text;

static prof_average row(const char *key, int64_t ns, uint32_t first) {
    prof_average r;
    memset(&r, 0, sizeof r);
    r.key = key;
    r.count = 2;
    r.cpu_time_total_ns = r.self_cpu_time_total_ns = ns;
    r.min_ns = ns / 2 - 1;
    r.max_ns = ns / 2 + 1;
    r.overload_name = "";
    r.input_count = PROF_NONE;
    r.parent = PROF_NONE;
    r.node_id = -1;
    r.first = first;
    return r;
}

static const char *written(prof_result result) {
    if (result != PROF_OK) test_fail(__FILE__, __LINE__, prof_strerror(result));
    return text.data ? text.data : "";
}

static prof_sink fresh(void) {
    test_text_clear(&text);
    return test_text_sink(&text);
}

/* ---- CSV and JSON ---- */

static void test_csv(void) {
    static const char *const stack[] = { "a.c(1): f", "say \"b\"" };
    static const int64_t dims[] = { 2, 3 };
    static const prof_shape list[2] = { { dims, NULL, 2 }, { NULL, NULL, 0 } };
    static const prof_shape shapes[2] = { { dims, NULL, 2 }, { NULL, list, 2 } };
    prof_average r = row("a \"quoted\", name\n", 3001, 0);
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    d.format = PROF_FORMAT_CSV;
    r.stack = stack;
    r.stack_count = 2;
    r.input_shapes = shapes;
    r.input_count = 2;
    r.flops = 12;
    SAME_TEXT(written(prof_write_rows(&r, 1, NULL, &d, fresh())),
              "key,count,cpu_time_total,self_cpu_time_total,cpu_time,min,max,device_time_total,"
              "self_device_time_total,device_time,cpu_memory_usage,self_cpu_memory_usage,"
              "device_memory_usage,self_device_memory_usage,flops,node_id,device_type,is_async,"
              "is_remote,is_legacy,is_user_annotation,overload_name,input_shapes,stack\r\n"
              "\"a \"\"quoted\"\", name\n\",2,3.001,3.001,1.500,1.499,1.501,0.000,0.000,0.000,0,0,"
              "0,0,12,-1,0,0,0,0,0,\"\",\"[[2, 3], [[2, 3], []]]\","
              "\"a.c(1): f\nsay \"\"b\"\"\"\r\n");
    test_text_clear(&text);
}

/* Names that a spreadsheet or a terminal would obey. */
static void test_names_that_act(void) {
    static const char *const formulas[] = { "=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", " -1",
                                            "\xef\xbc\x9d=1" };
    prof_average r;
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    d.format = PROF_FORMAT_CSV;
    for (int i = 0; i < 8; i++) {
        char start[16], end[16], shown[8];
        r = row(formulas[i], 1000, 0);
        r.stack = formulas + i;
        r.stack_count = 1;
        strcpy(shown, formulas[i]);
        if (*shown < ' ' && *shown > 0) *shown = ' ';
        sprintf(start, "\n\"'%s\",2,", shown);
        sprintf(end, ",\"'%s\"\r\n", shown);
        CHECK(strstr(written(prof_write_rows(&r, 1, NULL, &d, fresh())), start) != NULL,
              "row %d is %s", i, text.data);
        CHECK(strstr(text.data, end) != NULL, "row %d's stack: %s", i, text.data);
    }
    memset(&d, 0, sizeof d);
    r = row("\x1b[31m \xc2\x9b" "31m \x7f \xc2\xa0 \xc2", 1000, 0);
    d.format = PROF_FORMAT_JSON;
    CHECK(strstr(written(prof_write_rows(&r, 1, NULL, &d, fresh())),
                 "\\u001b[31m \\u009b31m \\u007f \xc2\xa0 ") != NULL, "%s", text.data);
    r.key = "\xe2\x80\xae" "a\xe2\x80\x8b" "b\xef\xbb\xbf";
    CHECK(strstr(written(prof_write_rows(&r, 1, NULL, &d, fresh())),
                 "\"\\u202ea\\u200bb\\ufeff\"") != NULL, "%s", text.data);
    d.format = PROF_FORMAT_CSV;
    CHECK(strstr(written(prof_write_rows(&r, 1, NULL, &d, fresh())), "\" a b \"") != NULL,
          "%s", text.data);
    r.key = "\xc2\xad" "a\xe3\x85\xa4" "b\xf3\xa0\x87\xaf" "c\xf0\x93\x90\xb0" "d\xe2\x80\x9f";
    CHECK(strstr(written(prof_write_rows(&r, 1, NULL, &d, fresh())), "\" a b c d\xe2\x80\x9f\"") !=
          NULL, "%s", text.data);
    d.format = PROF_FORMAT_JSON;
    CHECK(strstr(written(prof_write_rows(&r, 1, NULL, &d, fresh())),
                 "\"\\u00ada\\u3164b\\udb40\\uddefc\\ud80d\\udc30d\xe2\x80\x9f\"") != NULL,
          "%s", text.data);
    r = row("\x1b[31m \xc2\x9b" "31m \x7f \xc2\xa0 \xc2", 1000, 0);
    d.format = PROF_FORMAT_TEXT;
    CHECK(strstr(written(prof_write_rows(&r, 1, NULL, &d, fresh())),
                 "  [31m  31m   \xc2\xa0 \xef\xbf\xbd  ") != NULL, "%s", text.data);
    test_text_clear(&text);
}

static void test_json(void) {
    prof_average r[2];
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    d.format = PROF_FORMAT_JSON;
    SAME_TEXT(written(prof_write_rows(NULL, 0, NULL, &d, fresh())), "[]\n");
    r[0] = row("\"\x01\\", 1000000000, 0);
    r[1] = row("b", -5, 1);
    r[1].is_async = true;
    SAME_TEXT(written(prof_write_rows(r, 2, NULL, &d, fresh())),
              "[\n{\"key\": \"\\\"\\u0001\\\\\", \"count\": 2, \"cpu_time_total\": 1000000.000, "
              "\"self_cpu_time_total\": 1000000.000, \"cpu_time\": 500000.000, "
              "\"min\": 499999.999, \"max\": 500000.001, \"device_time_total\": 0.000, "
              "\"self_device_time_total\": 0.000, "
              "\"device_time\": 0.000, \"cpu_memory_usage\": 0, \"self_cpu_memory_usage\": 0, "
              "\"device_memory_usage\": 0, \"self_device_memory_usage\": 0, \"flops\": 0, "
              "\"node_id\": -1, \"device_type\": 0, \"is_async\": false, \"is_remote\": false, "
              "\"is_legacy\": false, \"is_user_annotation\": false, \"overload_name\": \"\", "
              "\"input_shapes\": [], \"stack\": []},\n"
              "{\"key\": \"b\", \"count\": 2, \"cpu_time_total\": -0.005, "
              "\"self_cpu_time_total\": -0.005, \"cpu_time\": -0.003, \"min\": -0.003, "
              "\"max\": -0.001, \"device_time_total\": 0.000, \"self_device_time_total\": 0.000, "
              "\"device_time\": 0.000, \"cpu_memory_usage\": 0, \"self_cpu_memory_usage\": 0, "
              "\"device_memory_usage\": 0, \"self_device_memory_usage\": 0, \"flops\": 0, "
              "\"node_id\": -1, \"device_type\": 0, \"is_async\": true, \"is_remote\": false, "
              "\"is_legacy\": false, \"is_user_annotation\": false, \"overload_name\": \"\", "
              "\"input_shapes\": [], \"stack\": []}\n]\n");
    test_text_clear(&text);
}

/* ---- Rows of the caller's own ---- */

/* n in decimal, digit by digit, with a point before the last three where it is thousandths. */
static void digits_of(char out[32], uint64_t n, bool thousandths) {
    char back[32];
    size_t used = 0, i;
    do {
        if (thousandths && used == 3) back[used++] = '.';
        back[used++] = (char)('0' + (int)(n % 10));
        n /= 10;
    } while (n || (thousandths && used < 5));
    for (i = 0; i < used; i++) out[i] = back[used - 1 - i];
    out[used] = 0;
}

static void check_digits(uint64_t n) {
    char count[32], us[32], wanted[128];
    prof_average r = row("r", (int64_t)(n >> 1), 0);
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    d.format = PROF_FORMAT_JSON;
    r.count = n;
    digits_of(count, n, false);
    digits_of(us, n >> 1, true);
    strcpy(wanted, "[\n{\"key\": \"r\", \"count\": ");
    strcat(wanted, count);
    strcat(wanted, ", \"cpu_time_total\": ");
    strcat(wanted, us);
    strcat(wanted, ",");
    written(prof_write_rows(&r, 1, NULL, &d, fresh()));
    CHECK(strncmp(text.data, wanted, strlen(wanted)) == 0, "%.100s, not %s", text.data, wanted);
}

/* Whole numbers and times of every length, where one digit more begins. */
static void test_digits(void) {
    uint64_t power = 1;
    int i;
    for (i = 0; i < 19; i++, power *= 10) {
        check_digits(power - 1);
        check_digits(power);
        check_digits(power + 1);
        check_digits(2 * power - 1);
        check_digits(2 * power);
    }
    check_digits(INT64_MAX);
    for (i = 0; i < 2000; i++) check_digits((uint64_t)i * 10007u);
}

/* Numbers without a sign have a digit more. */
static void test_twenty_digits(void) {
    static const uint64_t numbers[] = { UINT64_C(9999999999999999999),
                                        UINT64_C(10000000000000000000),
                                        UINT64_C(18446744073709551600), UINT64_MAX };
    char digits[32];
    prof_extra extra;
    prof_event e;
    size_t i;
    memset(&extra, 0, sizeof extra);
    memset(&e, 0, sizeof e);
    e.name = "forward";
    e.extra = &extra;
    extra.has = PROF_HAS_SEQUENCE_NR | PROF_HAS_FWD_THREAD;
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        extra.fwd_thread = numbers[i];
        digits_of(digits, numbers[i], false);
        written(write_event_args(&e, fresh()));
        CHECK(strstr(text.data, digits) != NULL, "%s, without %s", text.data, digits);
    }
}

/* Sorted as a stable sort would, against the definition. */
static void test_rows_sort(void) {
    enum { N = 200 };
    static prof_average r[N];
    prof_table_desc d;
    int metric, i;
    memset(&d, 0, sizeof d);
    for (metric = PROF_METRIC_SELF_CPU_TIME_TOTAL; metric < PROF_METRIC_LAST; metric++) {
        for (i = 0; i < N; i++) {
            r[i] = row("r", (int64_t)test_random(20), (uint32_t)i);
            r[i].count = 1 + test_random(3);
            r[i].cpu_time_total_ns = test_random(20);
            r[i].device_time_total_ns = test_random(20);
            r[i].self_device_time_total_ns = test_random(20);
            r[i].cpu_memory_usage = test_random(20);
            r[i].self_cpu_memory_usage = test_random(20);
            r[i].device_memory_usage = test_random(20);
            r[i].self_device_memory_usage = test_random(20);
            r[i].flops = test_random(20);
        }
        d.sort_by = (prof_metric)metric;
        written(prof_write_rows(r, N, NULL, &d, fresh()));
        for (i = 1; i < N; i++) {
            const prof_average *a = r + i - 1, *b = r + i;
            const double x[] = {
                0, (double)a->self_cpu_time_total_ns, (double)a->cpu_time_total_ns,
                (double)a->cpu_time_total_ns / 1000.0 / (double)a->count, (double)a->count,
                (double)a->self_device_time_total_ns, (double)a->device_time_total_ns,
                (double)a->device_time_total_ns / 1000.0 / (double)a->count,
                (double)a->cpu_memory_usage,
                (double)a->self_cpu_memory_usage, (double)a->device_memory_usage,
                (double)a->self_device_memory_usage, (double)a->flops };
            const double y[] = {
                0, (double)b->self_cpu_time_total_ns, (double)b->cpu_time_total_ns,
                (double)b->cpu_time_total_ns / 1000.0 / (double)b->count, (double)b->count,
                (double)b->self_device_time_total_ns, (double)b->device_time_total_ns,
                (double)b->device_time_total_ns / 1000.0 / (double)b->count,
                (double)b->cpu_memory_usage,
                (double)b->self_cpu_memory_usage, (double)b->device_memory_usage,
                (double)b->self_device_memory_usage, (double)b->flops };
            CHECK(x[metric] > y[metric] || (!(x[metric] < y[metric]) && a->first < b->first),
                  "metric %d: row %d stands wrong", metric, i);
        }
    }
    test_text_clear(&text);
}

static void test_rows_refused(void) {
    prof_average r = row("x", 1, 0);
    prof_sink none = { NULL, NULL };
    EQUAL(prof_write_rows(NULL, 1, NULL, NULL, fresh()), PROF_ERROR_INVALID);
    EQUAL(prof_write_rows(&r, 1, NULL, NULL, none), PROF_ERROR_INVALID);
    SAME_TEXT(written(prof_write_rows(NULL, 0, NULL, NULL, fresh())), "");
    test_text_clear(&text);
}

/* The table of the library's own rows is the table of the trace. */
static void test_rows_as_table(void) {
    static const prof_averages_desc plain = { false, false, 0, false, false };
    prof_desc desc = test_desc();
    prof_average rows[8];
    prof_table_desc d;
    prof_trace *trace;
    test_text whole;
    size_t n;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 20; i++) {
        PROF_SCOPE("outer");
        test_time.tick += 1234;
        PROF_BLOCK("inner") test_time.tick += (uint64_t)i * 1000;
    }
    trace = prof_stop();
    memset(&d, 0, sizeof d);
    d.averages = &plain;
    d.sort_by = PROF_METRIC_CPU_TIME;
    memset(&whole, 0, sizeof whole);
    EQUAL(prof_write_table(trace, &d, test_text_sink(&whole)), PROF_OK);
    n = prof_key_averages(trace, NULL, rows, 8);
    SAME_TEXT(written(prof_write_rows(rows, n, NULL, &d, fresh())), whole.data);
    test_text_clear(&whole);
    test_text_clear(&text);
}

/* ---- Metrics by PyTorch's names ---- */

static void test_metric_names(void) {
    static const struct { const char *name; prof_metric metric; } good[] = {
        { "self_cpu_time_total", PROF_METRIC_SELF_CPU_TIME_TOTAL },
        { "cpu_time", PROF_METRIC_CPU_TIME }, { "count", PROF_METRIC_COUNT },
        { "cuda_time_total", PROF_METRIC_DEVICE_TIME_TOTAL },
        { "self_xpu_time_total", PROF_METRIC_SELF_DEVICE_TIME_TOTAL },
        { "privateuse1_time", PROF_METRIC_DEVICE_TIME },
        { "mtia_memory_usage", PROF_METRIC_DEVICE_MEMORY_USAGE },
        { "self_hpu_memory_usage", PROF_METRIC_SELF_DEVICE_MEMORY_USAGE },
        { "self_device_time_total", PROF_METRIC_SELF_DEVICE_TIME_TOTAL },
        { "self_cpu_memory_usage", PROF_METRIC_SELF_CPU_MEMORY_USAGE },
        { "self_privateuseone_time_total", PROF_METRIC_SELF_DEVICE_TIME_TOTAL },
        { "self_npu_time_total", PROF_METRIC_SELF_DEVICE_TIME_TOTAL },
        { "NPU_time", PROF_METRIC_DEVICE_TIME },
        { "self_my_chip2_memory_usage", PROF_METRIC_SELF_DEVICE_MEMORY_USAGE },
        { "flops", PROF_METRIC_FLOPS } };
    static const char *const bad[] = { "", "self_", "cuda", "cuda_time_totals", "self_cuda_time",
                                       "self_count", "_time", "_time_total", "self__time_total",
                                       "self_cpu_time", "cpux_time_total", "a b_time_total",
                                       "2x_time", "self_\xc3\xa9_time_total", "self_time" };
    prof_metric metric = PROF_METRIC_COUNT;
    size_t i;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(metric_from_text(good[i].name, &metric), "%s", good[i].name);
        CHECK(metric == good[i].metric, "%s is %d", good[i].name, (int)metric);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!metric_from_text(bad[i], &metric) && !metric, "'%s' is %d",
              bad[i], (int)metric);
}

/* ---- Legacy array, stacks of events ---- */

static void test_views(void) {
    static const char *const stack[] = { "  ^^^  ", " inner line\n", "outer" };
    static char memory[1 << 16];
    prof_event e[3];
    prof_extra x[3];
    prof_trace_desc d;
    prof_chrome_desc desc;
    prof_trace *trace = NULL;
    memset(&d, 0, sizeof d);
    memset(&desc, 0, sizeof desc);
    memset(e, 0, sizeof e);
    memset(x, 0, sizeof x);
    e[0].name = "a name of more than thirty code points";
    e[0].end_ns = 5000500;
    e[0].thread = 7;
    x[0].stack = stack;
    x[0].stack_count = 3;
    x[0].module_hierarchy = "net.layer";
    e[1].name = "re\"mote";
    e[1].start_ns = 1;
    e[1].end_ns = 2;
    e[1].thread = 7;
    e[1].flags = PROF_EVENT_REMOTE;
    x[1].has = PROF_HAS_NODE_ID;
    x[1].node_id = 3;
    e[2].name = "[memory]";
    e[2].start_ns = e[2].end_ns = 3;
    x[2].trace_name = "";
    e[0].extra = x;
    e[1].extra = x + 1;
    e[2].extra = x + 2;
    d.memory = memory;
    d.memory_size = sizeof memory;
    EQUAL(prof_trace_from_events(&d, e, 3, &trace), PROF_OK);
    desc.format = PROF_CHROME_LEGACY;
    SAME_TEXT(written(prof_write_chrome(trace, &desc, fresh())),
              "[{\"name\": \"a name of more than thirty code points\", \"ph\": \"X\", "
              "\"ts\": 0.000, "
              "\"dur\": 5000.500, \"tid\": 7, \"pid\": \"CPU functions\", \"args\": {}},\n"
              "{\"name\": \"re\\\"mote\", \"ph\": \"X\", \"ts\": 0.001, \"dur\": 0.001, "
              "\"tid\": \" node_id:3, thread_id:7 \", \"pid\": \"CPU functions\", "
              "\"args\": {}}]\n");
    SAME_TEXT(written(prof_write_event_stacks(trace, PROF_METRIC_CPU_TIME_TOTAL, fresh())),
              "outer;_inner_line_;__^^^__ 5000\n");
    EQUAL(prof_write_event_stacks(trace, PROF_METRIC_COUNT, fresh()), PROF_ERROR_INVALID);
    desc.format = (prof_chrome_format)3;
    EQUAL(prof_write_chrome(trace, &desc, fresh()), PROF_ERROR_INVALID);
    test_text_clear(&text);
}

/* Arrows of the legacy array. */
static void test_legacy_flows(void) {
    prof_event e[3];
    prof_extra x[3];
    prof_desc d = test_desc();
    prof_chrome_desc desc;
    prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    memset(e, 0, sizeof e);
    memset(x, 0, sizeof x);
    for (int i = 0; i < 3; i++) e[i].extra = x + i;
    e[0].name = "op";
    e[0].end_ns = 9000;
    x[0].has = PROF_HAS_ID;
    x[0].id = 42;
    e[1].name = "kernel";
    e[1].start_ns = 4000;
    e[1].end_ns = 6000;
    e[1].device_type = PROF_DEVICE_CUDA;
    x[1].has = PROF_HAS_LINK;
    x[1].linked_correlation_id = 42;
    e[2] = e[1];                         /* launched by nothing that is there */
    e[2].start_ns = 5000;
    e[2].extra = x + 2;
    e[2].name = "lone";
    x[2].has = PROF_HAS_LINK;
    x[2].linked_correlation_id = 43;
    EQUAL(prof_start(&d), PROF_OK);
    e[0].thread = prof_submit_thread(0, NULL);
    e[1].thread = e[2].thread = prof_submit_thread(7, NULL);
    EQUAL(prof_submit(e, 3), PROF_OK);
    trace = prof_stop();
    desc.format = PROF_CHROME_LEGACY;
    SAME_TEXT(written(prof_write_chrome(trace, &desc, fresh())),
              "[{\"name\": \"op\", \"ph\": \"X\", \"ts\": 0.000, \"dur\": 9.000, \"tid\": 0, "
              "\"pid\": \"CPU functions\", \"args\": {}},\n"
              "{\"name\": \"op\", \"ph\": \"s\", \"ts\": 0.000, \"tid\": 0, "
              "\"pid\": \"CPU functions\", \"id\": 0, \"cat\": \"cpu_to_cuda\", \"args\": {}},\n"
              "{\"name\": \"kernel\", \"ph\": \"f\", \"bp\": \"e\", \"ts\": 4.000, \"tid\": 7, "
              "\"pid\": \"CPU functions\", \"id\": 0, \"cat\": \"cpu_to_cuda\", \"args\": {}},\n"
              "{\"name\": \"kernel\", \"ph\": \"X\", \"ts\": 4.000, \"dur\": 2.000, \"tid\": 7, "
              "\"pid\": \"CPU functions\", \"args\": {}},\n"
              "{\"name\": \"lone\", \"ph\": \"X\", \"ts\": 5.000, \"dur\": 1.000, \"tid\": 7, "
              "\"pid\": \"CPU functions\", \"args\": {}}]\n");
    test_text_clear(&text);
}

/* ---- shares of the whole, lines that fit, footnotes ---- */

/* Of zones that begin together the outer one stands first, whatever ends first: also where events
   have no room, and zones are written as they ended. */
static void test_begin_together(void) {
    static char memory[256 << 10];
    static const char *const names[] = { "outer", "middle", "inner", "moment", "later", "other" };
    prof_desc desc = test_desc();
    const char *at[6];
    prof_trace *trace;
    int i;
    test_text_clear(&text);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 4; i++) prof_push(names[i]);
    prof_pop();
    test_time.tick += 5;
    prof_pop();
    prof_push("later");
    test_time.tick += 3;
    prof_pop();
    prof_pop();
    prof_push("other");
    test_time.tick += 2;
    prof_pop();
    prof_pop();
    for (i = 0; i < 40000; i++) { PROF_BLOCK("more") test_time.tick += 7; }
    trace = prof_stop();
    CHECK(!prof_events(trace, NULL, 0, NULL), "events have room");
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    for (i = 0; i < 6; i++) {
        char name[32];
        sprintf(name, "\"name\":\"%s\"", names[i]);
        at[i] = strstr(text.data, name);
        CHECK(at[i] && !strstr(at[i] + 1, name), "%s: not there once", name);
        CHECK(!i || i > 3 || at[i - 1] < at[i], "%s before the one around it", name);
    }
    test_text_clear(&text);
}

static void test_whole(void) {
    prof_average rows[2];
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    rows[0] = row("a", 2000, 0);
    rows[1] = row("b", 1000, 1);
    d.whole_cpu_ns = 10000;
    (void)written(prof_write_rows(rows, 2, NULL, &d, fresh()));
    CHECK(strstr(text.data, " 20.00% ") && strstr(text.data, " 10.00% "), "%s", text.data);
    CHECK(strstr(text.data, "Self CPU time total: 10.000us\n"
                            "Self CPU time of these rows: 3.000us\n"), "%s", text.data);
    test_text_clear(&text);
}

/* The longest line's characters; all names here are ASCII. */
static size_t widest(const char *s) {
    size_t most = 0;
    while (*s) {
        size_t n = strcspn(s, "\n");
        if (n > most) most = n;
        s += n + (s[n] == '\n');
    }
    return most;
}

static void test_width(void) {
    prof_average rows[3];
    prof_view view;
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    memset(&view, 0, sizeof view);
    view.device_name = "cuda";
    rows[0] = row("a_name_of_some_length_that_a_table_has_to_cut", 2000, 0);
    rows[1] = row("b", 123456789, 1);
    rows[2] = row("kernel", 0, 2);
    rows[2].device_type = PROF_DEVICE_CUDA;
    rows[2].self_device_time_total_ns = rows[2].device_time_total_ns = 500;
    for (d.width = 60; d.width <= 200; d.width++) {
        const char *s = written(prof_write_rows(rows, 3, &view, &d, fresh()));
        CHECK(widest(s) <= d.width, "%u: %s", d.width, s);
        CHECK(strstr(s, "Self CPU") && strstr(s, "# of Calls"), "%u: %s", d.width, s);
        CHECK(strstr(s, "Self CUDA time total:"), "%u: %s", d.width, s);
        CHECK(d.width > 170 || strstr(s, "--  --") || strstr(s, "Left out"), "%u: %s", d.width, s);
    }
    d.width = 80;
    d.sort_by = PROF_METRIC_CPU_TIME;    /* its column stays */
    (void)written(prof_write_rows(rows, 3, &view, &d, fresh()));
    CHECK(strstr(text.data, "CPU time avg  ") && strstr(text.data, "123.457ms"), "%s", text.data);
    CHECK(strstr(text.data, "a_name_of") && strstr(text.data, "...  "), "%s", text.data);
    CHECK(strstr(text.data, "Left out to fit the width: Self CPU %,"), "%s", text.data);
    d.format = PROF_FORMAT_CSV;          /* of no concern there */
    (void)written(prof_write_rows(rows, 3, &view, &d, fresh()));
    CHECK(strstr(text.data, "cut\",2,2.000,2.000,1.000,"), "%s", text.data);
    test_text_clear(&text);
}

/* At no width does it read or write where it should not: for sanitizers. */
static void test_narrow(void) {
    prof_average r = row("a\tname \xc3\xa9", INT64_MAX, 0);
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    for (d.width = 1; d.width < 60; d.width++) {
        (void)written(prof_write_rows(&r, 1, NULL, &d, fresh()));
        CHECK(strstr(text.data, "Left out"), "%s", text.data);
    }
    d.width = 60;
    EQUAL(prof_write_rows(&r, 0, NULL, &d, fresh()), PROF_OK);
    SAME_TEXT(text.data ? text.data : "", "");
    test_text_clear(&text);
}

static void test_recursive_rows(void) {
    prof_average rows[5];
    prof_table_desc d;
    memset(&d, 0, sizeof d);
    for (uint32_t i = 0; i < 5; i++) {
        static const char *const names[] = { "a", "b", "c", "d", "e" };
        rows[i] = row(names[i], 1000, i);
        rows[i].is_recursive = i != 1;
    }
    (void)written(prof_write_rows(rows, 5, NULL, &d, fresh()));
    CHECK(strstr(text.data, "Recursive, so that CPU total counts each level: a, c, d, ...\n"), "%s",
          text.data);
    d.hide_notes = true;
    (void)written(prof_write_rows(rows, 5, NULL, &d, fresh()));
    CHECK(!strstr(text.data, "Recursion"), "%s", text.data);
    test_text_clear(&text);
}

static void again(int n) {
    prof_push(n % 2 ? "odd" : "even");
    if (n) again(n - 1);
    prof_pop();
}

static void test_recursion(void) {
    prof_desc d;
    memset(&d, 0, sizeof d);
    EQUAL(prof_start(&d), PROF_OK);
    again(5);
    prof_push("flat");
    prof_push("inner");
    prof_pop();
    prof_pop();
    (void)written(prof_write_table(prof_stop(), NULL, fresh()));
    CHECK(strstr(text.data, "Recursive, so that CPU total counts each level: odd, even\n"), "%s",
          text.data);
    EQUAL(prof_start(&d), PROF_OK);
    prof_push("flat");
    prof_push("inner");
    prof_pop();
    prof_pop();
    prof_push("flat");
    prof_pop();
    (void)written(prof_write_table(prof_stop(), NULL, fresh()));
    CHECK(!strstr(text.data, "Recursion"), "%s", text.data);
    test_text_clear(&text);
}

static void test_empty(void) {
    prof_desc d;
    prof_table_desc hidden;
    memset(&d, 0, sizeof d);
    memset(&hidden, 0, sizeof hidden);
    hidden.hide_notes = true;
    EQUAL(prof_start(&d), PROF_OK);
    prof_trace *trace = prof_stop();
    (void)written(prof_write_table(trace, NULL, fresh()));
    CHECK(strncmp(text.data, "No zones were recorded: no PROF_SCOPE", 37) == 0, "%s", text.data);
    SAME_TEXT(written(prof_write_table(trace, &hidden, fresh())), "");
    hidden.format = PROF_FORMAT_JSON;
    SAME_TEXT(written(prof_write_table(trace, &hidden, fresh())), "[]\n");
    d.schedule.wait = 5;
    d.schedule.active = 1;
    EQUAL(prof_start(&d), PROF_OK);
    (void)written(prof_write_table(prof_stop(), NULL, fresh()));
    CHECK(strstr(text.data, "No zones were recorded: the schedule's last window"), "%s", text.data);
    test_text_clear(&text);
}

enum { PLAIN = 6000 };

/* One after the other: lengths of time of all numbers of digits; names of which some come again and
   again, some are rare, and some as long as, with what stands around them, texts that are kept. */
static void plain_events(prof_event *events, char names[500][200]) {
    int64_t now = 0, most = 1;
    int i;
    for (i = 0; i < 500; i++)
        snprintf(names[i], sizeof names[i], "%s%d%*s", i % 2 ? "step " : "std::function", i,
                 i % 5 ? 1 : 30 + i % 120, "");
    memset(events, 0, PLAIN * sizeof *events);
    for (i = 0; i < PLAIN; i++, events++) {
        if (i % 300 == 0) most *= i < PLAIN / 2 ? 10 : 4;
        events->name = names[test_random(test_random(2) ? 20 : 500)];
        events->thread = test_random(i / 1000 % 2 ? 4 : 1) * 1000;
        events->start_ns = now;
        now += test_random(8) ? (int64_t)(test_random(1000) / 1000.0 * (double)most)
                              : most - (int64_t)test_random(2);
        events->end_ns = now;
        events->flags = test_random(9) ? 0 : PROF_EVENT_UNFINISHED;
        now += 1;
    }
}

/* A name of two sites, in an arena that has no room for events: each zone tells its own line. */
static void test_sites_without_events(void) {
    static char memory[24 << 10];
    prof_desc desc = test_desc();
    uint64_t recorded;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 150; i++) {
        PROF_BLOCK("twice") test_time.tick += 10;
        PROF_BLOCK("twice") test_time.tick += 10;
    }
    (void)written(prof_write_chrome(prof_stop(), NULL, fresh()));
    recorded = prof_get_stats(NULL).recorded;
    CHECK(recorded > 100, "%u zones", (unsigned)recorded);
    EQUAL(test_times(text.data, "\"source\":\""), recorded);
    test_text_clear(&text);
}

/* Zones in a Chrome trace, each as the C library prints it. */
static void test_plain_zones(void) {
    static prof_event events[PLAIN];
    static char names[500][200];
    prof_trace_desc desc;
    prof_trace *trace = NULL;
    char line[400];
    const char *p;
    int i;
    memset(&desc, 0, sizeof desc);
    plain_events(events, names);
    desc.memory_size = prof_trace_memory_size(&desc, events, PLAIN);
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_trace_from_events(&desc, events, PLAIN, &trace), PROF_OK);
    p = strstr(written(prof_write_chrome(trace, NULL, fresh())), ",\n{\"ph\":\"X\"");
    for (i = 0; i < PLAIN; i++) {
        long long ns = events[i].start_ns, took = events[i].end_ns - ns;
        int n = snprintf(line, sizeof line, ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\","
                         "\"pid\":", events[i].name);
        CHECK(p && strncmp(p, line, (size_t)n) == 0, "%d: %.400s: %s", i, p, line);
        p += n + (int)strspn(p + n, "0123456789");
        n = snprintf(line, sizeof line, ",\"tid\":%u,\"ts\":%lld.%03d,\"dur\":%lld.%03d%s}",
                     (unsigned)events[i].thread, ns / 1000, (int)(ns % 1000), took / 1000,
                     (int)(took % 1000), events[i].flags ? ",\"args\":{\"finished\":false}" : "");
        CHECK(strncmp(p, line, (size_t)n) == 0, "%d: %.400s: %s", i, p, line);
        p += n;
    }
    CHECK(*p == '\n' || *p == ',', "%.400s", p);
    free(desc.memory);
    test_text_clear(&text);
}

int main(void) {
    RUN(test_csv);
    RUN(test_names_that_act);
    RUN(test_json);
    RUN(test_digits);
    RUN(test_twenty_digits);
    RUN(test_plain_zones);
    RUN(test_sites_without_events);
    RUN(test_rows_sort);
    RUN(test_rows_refused);
    RUN(test_rows_as_table);
    RUN(test_metric_names);
    RUN(test_views);
    RUN(test_legacy_flows);
    RUN(test_begin_together);
    RUN(test_whole);
    RUN(test_width);
    RUN(test_narrow);
    RUN(test_recursive_rows);
    RUN(test_recursion);
    RUN(test_empty);
    return test_end();
}
