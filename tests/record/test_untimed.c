/* desc.skip_tiny: functions of some ns are counted and no longer timed. */
#define PROF_INSTRUMENT_FUNCTIONS
#define PROF_MAX_SITES 256
#include "../test.h"

#include <pthread.h>

enum { OUTER, TINY, LONG, AGAIN, FUNCTIONS };
static char functions[FUNCTIONS][16];
static uint64_t memory[(8 << 20) / 8];

static void enter(int i) { __cyg_profile_func_enter(functions[i], NULL); }
static void leave(int i) { __cyg_profile_func_exit(functions[i], NULL); }

static void call(int i, unsigned ticks) {
    enter(i);
    test_time.tick += ticks;
    leave(i);
}

static const char *name_of(int i) {
    static char names[FUNCTIONS][24];
    *prof__text_hex(names[i], (uintptr_t)functions[i]) = 0;
    return names[i];
}

static prof_average row_of(prof_trace *trace, int i) {
    static prof_average none;            /* zeroes */
    static prof_average rows[4 * FUNCTIONS];
    size_t count = trace ? prof_key_averages(trace, NULL, rows, 4 * FUNCTIONS)
                         : prof_snapshot(rows, 4 * FUNCTIONS);
    for (size_t r = 0; r < count; r++)
        if (strcmp(rows[r].key, name_of(i)) == 0) return rows[r];
    return none;
}

static prof_desc skipping(prof_mode mode, size_t size) {
    prof_desc desc = test_desc();
    desc.mode = mode;
    desc.skip_tiny = true;
    desc.memory = memory;
    desc.memory_size = size;
    desc.max_threads = 8;
    return desc;
}

enum { CALLS = 300000, LONGS = 300 };
static const struct { prof_mode mode; size_t size; } kinds[] = {
    { PROF_MODE_TRACE, sizeof memory }, { PROF_MODE_TRACE, 256 << 10 },
    { PROF_MODE_AGGREGATE, 1 << 20 }, { PROF_MODE_RING, 1 << 20 } };
enum { KINDS = sizeof kinds / sizeof *kinds };

static void work(void) {
    enter(OUTER);
    for (int i = 0; i < CALLS; i++) {
        call(TINY, 5);
        if (i % (CALLS / LONGS) == 0) call(LONG, 1000);
    }
    leave(OUTER);
}

/* Calls are exact; what is not timed is the caller's time. */
static void test_untimed_rows(void) {
    for (size_t k = 0; k < KINDS; k++) {
        prof_desc desc = skipping(kinds[k].mode, kinds[k].size);
        prof_average tiny, outer, long_one;
        prof_trace *trace;
        prof_stats stats;
        EQUAL(prof_start(&desc), PROF_OK);
        work();
        if (desc.mode == PROF_MODE_AGGREGATE) EQUAL(row_of(NULL, TINY).count, CALLS);
        trace = prof_stop();
        tiny = row_of(trace, TINY);
        outer = row_of(trace, OUTER);
        long_one = row_of(trace, LONG);
        stats = prof_get_stats();
        EQUAL(stats.untimed, tiny.untimed);
        EQUAL(stats.cut + stats.healed + stats.unbalanced + stats.unfinished + stats.dropped, 0);
        CHECK(tiny.untimed > CALLS - 2 * PROF__TINY_CALLS && tiny.untimed < CALLS,
              "kind %u: %u untimed", (unsigned)k, (unsigned)tiny.untimed);
        EQUAL(outer.cpu_time_total_ns, CALLS * 5 + LONGS * 1000);
        EQUAL(tiny.min_ns, 5);
        EQUAL(tiny.max_ns, 5);
        EQUAL(tiny.cpu_time_total_ns, 5 * (int64_t)(tiny.count - tiny.untimed));
        EQUAL(outer.self_cpu_time_total_ns, outer.cpu_time_total_ns - tiny.cpu_time_total_ns -
                                                long_one.cpu_time_total_ns);
        if (desc.mode == PROF_MODE_RING) continue;      /* it has the last ones alone */
        EQUAL(tiny.count, CALLS);
        EQUAL(long_one.count, LONGS);
        EQUAL(long_one.untimed, 0);
        EQUAL(stats.recorded + (desc.mode == PROF_MODE_AGGREGATE ? 0 : stats.summed),
              CALLS + LONGS + 1 + (stats.timeline_ns != 0));   /* "(in sums)" is a zone */
    }
}

/* A zone that is open when its function gets a number ends as one. */
static void test_untimed_recursion(void) {
    for (size_t k = 0; k < KINDS - 1; k++) {
        prof_desc desc = skipping(kinds[k].mode, kinds[k].size);
        prof_average row;
        prof_trace *trace;
        EQUAL(prof_start(&desc), PROF_OK);
        enter(TINY);
        for (int i = 0; i < CALLS; i++) call(TINY, 5);
        EQUAL(prof_get_stats().untimed, 0);
        leave(TINY);
        for (int i = 0; i < 100; i++) {
            enter(TINY);                 /* a function in one is its caller's */
            call(AGAIN, 7);
            leave(TINY);
        }
        trace = prof_stop();
        row = row_of(trace, TINY);
        EQUAL(row.count, CALLS + 101);
        EQUAL(row.untimed, 100);
        EQUAL(row_of(trace, AGAIN).count, 100);
        EQUAL(row_of(trace, AGAIN).self_cpu_time_total_ns, 700);
        EQUAL(prof_get_stats().healed + prof_get_stats().cut + prof_get_stats().unbalanced, 0);
    }
}

/* No session but one that asks for it leaves times out; the next one begins anew. */
static void test_untimed_not_asked(void) {
    for (int asked = 1; asked >= 0; asked--) {
        prof_desc desc = skipping(PROF_MODE_AGGREGATE, 1 << 20);
        desc.skip_tiny = asked;
        for (int again = 0; again < 2; again++) {
            EQUAL(prof_start(&desc), PROF_OK);
            for (int i = 0; i < 100000; i++) call(TINY, 5);
            EQUAL(row_of(prof_stop(), TINY).count, 100000);
            CHECK((prof_get_stats().untimed > 10000) == asked, "untimed: %u", asked);
            CHECK(prof_get_stats().untimed <= 100000 - PROF__TINY_CALLS, "too many");
        }
    }
}

/* The list below the table, the head, a dump: each says it. */
static void test_untimed_told(void) {
    static const char list[] = "-finstrument-functions-exclude-function-list=";
    prof_desc desc = skipping(PROF_MODE_TRACE, sizeof memory);
    test_text text;
    prof_trace *trace;
    const char *at;
    char head[128];
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    work();
    for (int i = 0; i < CALLS; i++) call(AGAIN, 20);
    trace = prof_stop();
    EQUAL(test_write(trace, TEST_TABLE, &text), PROF_OK);
    at = strstr(text.data, list);
    CHECK(at, "%s", text.data);
    snprintf(head, sizeof head, "%s,%s\n", name_of(TINY), name_of(AGAIN));
    if (strncmp(at + sizeof list - 1, head, strlen(head)) != 0)
        snprintf(head, sizeof head, "%s,%s\n", name_of(AGAIN), name_of(TINY));
    CHECK(strncmp(at + sizeof list - 1, head, strlen(head)) == 0, "%s", at);
    CHECK(strstr(text.data, "counted and not timed"), "%s", text.data);
    CHECK(!strstr(text.data, "later zones"), "%s", text.data);
    test_text_clear(&text);
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    snprintf(head, sizeof head, "{\"name\":\"%s\",\"count\":%u,", name_of(TINY),
             (unsigned)row_of(trace, TINY).untimed);
    CHECK(strstr(text.data, head), "no %s", head);
    snprintf(head, sizeof head, ",\"untimed\":%u}", (unsigned)row_of(trace, TINY).untimed);
    CHECK(strstr(text.data, head), "no %s", head);
    test_text_clear(&text);
}

enum { THREADS = 4, ROUNDS = 100000 };

static void *calling(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        enter(OUTER);
        enter(TINY);
        leave(TINY);
        enter(AGAIN);
        leave(AGAIN);
        leave(OUTER);
    }
    return unused;
}

/* By the clock of the machine, while others look. */
static void test_untimed_threads(void) {
    for (size_t k = 0; k < KINDS - 1; k++) {
        prof_desc desc = skipping(kinds[k].mode, kinds[k].size);
        pthread_t threads[THREADS];
        prof_stats stats;
        prof_trace *trace;
        memset(&desc.platform, 0, sizeof desc.platform);
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < THREADS; i++)
            EQUAL(pthread_create(threads + i, NULL, calling, NULL), 0);
        for (int i = 0; i < 20; i++) {
            uint64_t count = row_of(NULL, TINY).count;
            CHECK(count <= THREADS * ROUNDS, "%u calls", (unsigned)count);
            prof_get_stats();
        }
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        trace = prof_stop();
        for (int i = 0; i < FUNCTIONS; i++)
            EQUAL(row_of(trace, i).count, i == LONG ? 0 : THREADS * ROUNDS);
        stats = prof_get_stats();
        EQUAL(stats.cut + stats.healed + stats.unbalanced + stats.unfinished + stats.dropped, 0);
        EQUAL(stats.untimed, row_of(trace, TINY).untimed + row_of(trace, AGAIN).untimed +
                                 row_of(trace, OUTER).untimed);
    }
}

int main(void) {
    RUN(test_untimed_rows);
    RUN(test_untimed_recursion);
    RUN(test_untimed_not_asked);
    RUN(test_untimed_told);
    RUN(test_untimed_threads);
    return test_end();
}
