/* portable */
/* p50, p90 and p99 of averages, against sorted lists; min, max and they as columns. */
#include "../test.h"

enum { NAMES = 5, CALLS = 3000 };

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t rank(const int64_t *sorted, size_t n, size_t hundredths) {
    return sorted[(n * hundredths + 99) / 100 - 1];
}

static const prof_average *row_of(const prof_average *rows, size_t n, const char *name) {
    size_t i;
    for (i = 0; i < n; i++)
        if (strcmp(rows[i].key, name) == 0) return rows + i;
    return NULL;
}

static void one_session(bool wide) {
    static const char *const names[NAMES] = { "a", "b", "c", "d", "e" };
    static int64_t times[NAMES][CALLS];
    size_t counts[NAMES] = { 0, 0, 0, 0, 0 }, n;
    prof_desc desc = test_desc();
    prof_averages_desc by;
    prof_average rows[16];
    prof_trace *trace;
    int i;
    memset(&by, 0, sizeof by);
    desc.profile_memory = wide;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < CALLS; i++) {
        int k = i < 1 ? 4 : (int)test_random(4);   /* "e" once */
        int64_t ns = (int64_t)test_random(k == 3 ? 2 : 1000000);
        times[k][counts[k]++] = ns;
        prof_push(names[k]);
        test_time.tick += (uint64_t)ns;
        prof_pop();
        test_time.tick += 10;
    }
    trace = prof_stop();
    by.percentiles = true;
    n = prof_key_averages(trace, &by, rows, 16);
    EQUAL(n, NAMES);
    for (i = 0; i < NAMES; i++) {
        const prof_average *r = row_of(rows, n, names[i]);
        qsort(times[i], counts[i], sizeof **times, by_size);
        EQUAL(r->count, counts[i]);
        EQUAL(r->min_ns, times[i][0]);
        EQUAL(r->p50_ns, rank(times[i], counts[i], 50));
        EQUAL(r->p90_ns, rank(times[i], counts[i], 90));
        EQUAL(r->p99_ns, rank(times[i], counts[i], 99));
        EQUAL(r->max_ns, times[i][counts[i] - 1]);
    }
    by.percentiles = false;
    n = prof_key_averages(trace, &by, rows, 16);
    EQUAL(rows[0].p99_ns, 0);
    EQUAL(rows[0].count, 1);
}

static void test_percentiles_plain(void) { one_session(false); }
static void test_percentiles_wide(void) { one_session(true); }

static void test_percentiles_nothing(void) {
    prof_desc desc = test_desc();
    prof_averages_desc by;
    prof_average row;
    memset(&by, 0, sizeof by);
    by.percentiles = true;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_key_averages(prof_stop(), &by, &row, 1), 0);
}

/* Events from outside, in memory just as large as is asked for. */
static void test_percentiles_outside(void) {
    enum { N = 200 };
    static prof_event events[N];
    static prof_extra extra;
    static char names[N][16];
    prof_trace_desc desc;
    prof_averages_desc by;
    prof_average rows[N];
    prof_trace *trace;
    int i;
    memset(&desc, 0, sizeof desc);
    memset(&by, 0, sizeof by);
    memset(events, 0, sizeof events);
    for (i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        events[i].name = names[i];
        events[i].extra = &extra;
        events[i].start_ns = i * 100;
        events[i].end_ns = i * 100 + i;
    }
    desc.memory_size = prof_trace_memory_size(&desc, events, N);
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_trace_from_events(&desc, events, N, &trace), PROF_OK);
    by.percentiles = true;
    EQUAL(prof_key_averages(trace, &by, rows, N), N);
    EQUAL(rows[150].p99_ns, 150);
    free(desc.memory);
}

static void test_percentiles_columns(void) {
    prof_desc desc = test_desc();
    prof_averages_desc by;
    prof_table_desc table;
    prof_trace *trace;
    test_text text;
    int i;
    memset(&by, 0, sizeof by);
    memset(&table, 0, sizeof table);
    memset(&text, 0, sizeof text);
    by.percentiles = true;
    table.averages = &by;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 1; i <= 100; i++) {
        PROF_BEGIN("zone");
        test_time.tick += (uint64_t)i * 1000;
        PROF_END();
    }
    trace = prof_stop();
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "CPU time avg           min           p50           p90           p99"
                            "           max    # of Calls"), "%s", text.data);
    CHECK(strstr(text.data, "      50.500us       1.000us      50.000us      90.000us      99.000us"
                            "     100.000us           100"), "%s", text.data);
    test_text_clear(&text);
    table.format = PROF_FORMAT_CSV;
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, ",min,max,") && strstr(text.data, ",p50,p90,p99,") &&
          strstr(text.data, ",50.000,90.000,99.000,"), "%s", text.data);
    test_text_clear(&text);
    table.format = PROF_FORMAT_JSON;
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"p50\": 50.000, \"p90\": 90.000, \"p99\": 99.000"), "%s", text.data);
    test_text_clear(&text);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(!strstr(text.data, "p99"), "not asked for: %s", text.data);
    test_text_clear(&text);
    EQUAL(prof_start(&desc), PROF_OK);   /* a clock that stood still in 99 of 100 calls */
    for (i = 1; i <= 200; i++) {
        PROF_BEGIN("zone");
        test_time.tick += i == 7 ? 1000 : 0;
        PROF_END();
    }
    trace = prof_stop();
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"p50\": 0.000, \"p90\": 0.000, \"p99\": 0.000"), "%s", text.data);
    test_text_clear(&text);
    desc.mode = PROF_MODE_AGGREGATE;     /* from its histogram */
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("zone");
    test_time.tick += 1000;
    PROF_END();
    trace = prof_stop();
    table.format = PROF_FORMAT_TEXT;
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "   min          ~p50          ~p90          ~p99           max"),
          "%s", text.data);
    test_text_clear(&text);
}

/* Names whose calls are in the timeline and, where that is full, in sums, or in sums alone: nobody
   gets percentiles who did not ask. */
static void test_percentiles_and_sums(void) {
    static uint64_t memory[1 << 13];
    prof_desc desc = test_desc();
    prof_averages_desc by;
    prof_average rows[2];
    prof_trace *trace;
    int i;
    memset(&by, 0, sizeof by);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.max_depth = 8;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 10000; i++) {
        prof_push("zone");
        test_time.tick += i % 10 ? 100 : 1000;
        prof_pop();
    }
    prof_push("late");
    test_time.tick += 7;
    prof_pop();
    trace = prof_stop();
    CHECK(prof_get_stats(NULL).summed > 1 && prof_get_stats(NULL).recorded > 0,
          "all in one of them");
    EQUAL(prof_key_averages(trace, &by, rows, 2), 2);
    EQUAL(rows[0].count, 10000);
    EQUAL(rows[0].min_ns, 100);
    EQUAL(rows[1].max_ns, 7);
    for (i = 0; i < 2; i++) EQUAL(rows[i].p50_ns + rows[i].p90_ns + rows[i].p99_ns, 0);
    by.percentiles = true;
    EQUAL(prof_key_averages(trace, &by, rows, 2), 2);
    CHECK(rows[0].p50_ns >= 100 && rows[0].p50_ns < 150, "p50 is %d", (int)rows[0].p50_ns);
    CHECK(rows[0].p99_ns > 900 && rows[0].p99_ns <= 1000, "p99 is %d", (int)rows[0].p99_ns);
    EQUAL(rows[1].p50_ns, 7);
    EQUAL(prof_total_average(trace).count, 10001);
    EQUAL(prof_total_average(trace).max_ns, 1000);
}

/* ---- Rows of two traces as one ---- */

static void test_average_add(void) {
    static const int64_t dims[] = {2, 3};
    prof_shape shape;
    prof_average sum, a, b, before;
    memset(&shape, 0, sizeof shape);
    memset(&sum, 0, sizeof sum);
    memset(&a, 0, sizeof a);
    shape.dims = dims;
    shape.count = 2;
    a.key = "op";
    a.count = 100;
    a.cpu_time_total_ns = 1000;
    a.self_cpu_time_total_ns = 800;
    a.on_cpu_ns = 700;
    a.min_ns = 1;
    a.max_ns = 100;
    a.p50_ns = 50;
    a.p90_ns = 90;
    a.p99_ns = 99;
    a.device_time_total_ns = 7;
    a.self_device_time_total_ns = 6;
    a.cpu_memory_usage = -5;
    a.self_cpu_memory_usage = -4;
    a.device_memory_usage = 3;
    a.self_device_memory_usage = 2;
    a.flops = 11;
    a.counters[3] = 21;
    a.self_counters[0] = 20;
    a.node_id = 2;
    a.input_shapes = &shape;
    a.input_count = 1;
    a.is_legacy = true;
    EQUAL(prof_average_add(&sum, &a), PROF_OK);
    EQUAL(sum.count, 100);
    EQUAL(sum.min_ns, 1);
    EQUAL(sum.p99_ns, 99);
    EQUAL(sum.node_id, 2);
    EQUAL(sum.input_count, 1);
    EQUAL(sum.is_legacy, true);
    b = a;
    b.key = "op";
    b.min_ns = 101;                      /* as many calls, all of them longer */
    b.p50_ns = 150;
    b.p90_ns = 190;
    b.p99_ns = 199;
    b.max_ns = 200;
    EQUAL(prof_average_add(&sum, &b), PROF_OK);
    EQUAL(sum.count, 200);
    EQUAL(sum.cpu_time_total_ns, 2000);
    EQUAL(sum.self_cpu_time_total_ns, 1600);
    EQUAL(sum.on_cpu_ns, 1400);
    EQUAL(sum.min_ns, 1);
    EQUAL(sum.max_ns, 200);
    EQUAL(sum.p50_ns, 100);
    EQUAL(sum.p90_ns, 180);
    EQUAL(sum.p99_ns, 198);
    EQUAL(sum.device_time_total_ns, 14);
    EQUAL(sum.self_device_time_total_ns, 12);
    EQUAL(sum.cpu_memory_usage, -10);
    EQUAL(sum.self_cpu_memory_usage, -8);
    EQUAL(sum.device_memory_usage, 6);
    EQUAL(sum.self_device_memory_usage, 4);
    EQUAL(sum.flops, 22);
    EQUAL(sum.counters[3], 42);
    EQUAL(sum.self_counters[0], 40);
    before = a;                          /* all calls of a row as long as each other */
    before.min_ns = before.p50_ns = before.p90_ns = before.p99_ns = before.max_ns = 5;
    b.min_ns = b.p50_ns = b.p90_ns = b.p99_ns = b.max_ns = 10;
    b.count = 25;
    EQUAL(prof_average_add(&b, &before), PROF_OK);
    EQUAL(b.p50_ns, 5);
    EQUAL(b.p90_ns, 10);
    EQUAL(b.min_ns, 5);
    b.count = 100;
    b.p50_ns = b.p90_ns = b.p99_ns = 0;
    EQUAL(prof_average_add(&sum, &b), PROF_OK);
    EQUAL(sum.p50_ns, 0);
    EQUAL(sum.p90_ns, 0);
    EQUAL(sum.p99_ns, 0);
    before = sum;
    b.key = "other";
    EQUAL(prof_average_add(&sum, &b), PROF_ERROR_INVALID);
    CHECK(strstr(prof_strerror(PROF_ERROR_INVALID), "rows of different names, '"), "no names");
    EQUAL(prof_average_add(NULL, &b), PROF_ERROR_INVALID);
    EQUAL(prof_average_add(&sum, NULL), PROF_ERROR_INVALID);
    b.key = NULL;
    EQUAL(prof_average_add(&sum, &b), PROF_ERROR_INVALID);
    EQUAL(memcmp(&sum, &before, sizeof sum), 0);
    b.key = "op";
    b.count = 0;                         /* a row without calls has no least */
    b.min_ns = 0;
    EQUAL(prof_average_add(&sum, &b), PROF_OK);
    EQUAL(sum.min_ns, 1);
}

int main(void) {
    RUN(test_percentiles_plain);
    RUN(test_percentiles_wide);
    RUN(test_percentiles_nothing);
    RUN(test_percentiles_outside);
    RUN(test_percentiles_columns);
    RUN(test_percentiles_and_sums);
    RUN(test_average_add);
    return test_end();
}
