/* PROF_MODE_AGGREGATE: sums per name, whatever the number of zones. */
#include "../inside.h"
#include "../test.h"

#include <pthread.h>

static prof_average rows[5000];
static size_t row_count;

static const prof_average *row_of(const char *name) {
    size_t i;
    for (i = 0; i < row_count; i++)
        if (strcmp(rows[i].key, name) == 0) return rows + i;
    return NULL;
}

static prof_desc sums_desc(void) {
    prof_desc desc = test_desc();
    desc.mode = PROF_MODE_AGGREGATE;
    desc.max_threads = 4;
    return desc;
}

static void snapshot(void) { row_count = prof_snapshot(rows, sizeof rows / sizeof *rows); }

/* A zone of so many ns. */
static void spend(const char *name, uint64_t ns) {
    prof_push(name);
    test_time.tick += ns;
    prof_pop();
}

static void test_sums(void) {
    prof_desc desc = sums_desc();
    const prof_average *a;
    prof_trace *trace;
    size_t count;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 1000; i++) {
        PROF_BEGIN("outer");
        test_time.tick += 10;
        spend("inner", 100);
        spend("inner", 300);
        PROF_END();
    }
    trace = prof_stop();
    CHECK(prof_events(trace, NULL, 0, &count) == NULL && count == 0, "%u events", (unsigned)count);
    EQUAL(prof_key_averages(trace, NULL, NULL, 10), 2);
    row_count = prof_key_averages(trace, NULL, rows, 10);
    EQUAL(row_count, 2);
    a = row_of("outer");
    CHECK(a != NULL, "no row");
    EQUAL(a->count, 1000);
    EQUAL(a->cpu_time_total_ns, 410000);
    EQUAL(a->self_cpu_time_total_ns, 10000);
    EQUAL(a->min_ns, 410);
    EQUAL(a->p50_ns, 410);
    a = row_of("inner");
    EQUAL(a->count, 2000);
    EQUAL(a->cpu_time_total_ns, 400000);
    EQUAL(a->self_cpu_time_total_ns, 400000);
    EQUAL(a->min_ns, 100);
    EQUAL(a->max_ns, 300);
    CHECK(a->p50_ns >= 100 && a->p50_ns < 200, "p50 %d", (int)a->p50_ns);
    CHECK(a->p90_ns >= 256 && a->p90_ns <= 300, "p90 %d", (int)a->p90_ns);
    EQUAL(prof_get_stats(NULL).recorded, 3000);
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

/* Percentiles are at most a factor of 2 off, whatever the distribution. */
static void test_percentiles(void) {
    prof_desc desc = sums_desc();
    static const int percents[] = { 50, 90, 99 };
    int64_t found[3];
    int i, n = 10000;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 1; i <= n; i++) spend("even", (uint64_t)(i * 7) % (uint64_t)n * 1000 + 1);
    prof_stop();
    snapshot();
    found[0] = rows[0].p50_ns;
    found[1] = rows[0].p90_ns;
    found[2] = rows[0].p99_ns;
    for (i = 0; i < 3; i++) {
        int64_t right = (int64_t)n * percents[i] * 10;
        CHECK(found[i] >= right / 2 && found[i] <= right * 2, "p%d is %lld", percents[i],
              (long long)found[i]);
        CHECK(!i || found[i] >= found[i - 1], "p%d is under p%d", percents[i], percents[i - 1]);
    }
}

/* Buckets of 32 bits do not overflow: they are halved, and calls and percentiles stay. */
static void test_billions_of_calls(void) {
    prof_desc desc = sums_desc();
    uint64_t before;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 5000; i++) spend("often", i % 10 ? 100 : 1000);
    inside_multiply_calls(900000);
    snapshot();
    before = rows[0].count;
    CHECK(before >> 31, "%llu calls", (unsigned long long)before);
    for (i = 0; i < 5000; i++) spend("often", i % 10 ? 100 : 1000);
    prof_stop();
    snapshot();
    EQUAL(rows[0].count, before + 5000);
    CHECK(rows[0].p50_ns >= 100 && rows[0].p50_ns < 128, "p50 %d", (int)rows[0].p50_ns);
    CHECK(rows[0].p99_ns >= 512 && rows[0].p99_ns <= 1000, "p99 %d", (int)rows[0].p99_ns);
}

static void test_snapshot_while_zones_are_open(void) {
    prof_desc desc = sums_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("open");
    spend("ended", 5);
    snapshot();
    EQUAL(row_count, 1);
    SAME_TEXT(rows[0].key, "ended");
    test_time.tick += 20;
    prof_stop();
    snapshot();
    EQUAL(row_count, 2);
    EQUAL(row_of("open")->cpu_time_total_ns, 25);
    EQUAL(row_of("open")->self_cpu_time_total_ns, 20);
    EQUAL(prof_get_stats(NULL).unfinished, 1);
    EQUAL(prof_snapshot(NULL, 0), 2);
}

static void test_more_names_than_rows(void) {
    prof_desc desc = sums_desc();
    char name[16];
    size_t i, sum = 0;
    test_text text;
    memset(&text, 0, sizeof text);
    desc.memory_size = 64 << 10;
    desc.memory = malloc(desc.memory_size);
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 1000; i++) {
        sprintf(name, "name %u", (unsigned)(i % 50));
        spend(name, 3);
    }
    prof_instant("gone");
    prof_counter("gone too", 1);
    prof_stop();
    snapshot();
    CHECK(row_count >= 7 && row_count <= 50, "%u rows", (unsigned)row_count);
    for (i = 0; i < row_count; i++) sum += (size_t)rows[i].count;
    EQUAL(sum + prof_get_stats(NULL).dropped, 1000);
    CHECK(row_of("(others)") != NULL, "no row of all others");
    EQUAL(row_of("(others)")->count, prof_get_stats(NULL).others);
    sprintf(name, ": %u\n", (unsigned)row_of("(others)")->count);
    EQUAL(prof_write_rows(rows, row_count, NULL, NULL, test_text_sink(&text)), PROF_OK);
    test_text_write(&text, "", 1);
    CHECK(strstr(text.data, "Zones in (others), their names had no room: ") &&
          strstr(text.data, name), "rows do not say what they lack");
    test_text_clear(&text);
    EQUAL(prof_get_stats(NULL).not_kept, 2);
    free(desc.memory);
}

/* Each row has its own memory, the last one too. */
static void test_every_row(void) {
    prof_desc desc = sums_desc();
    char name[32];
    int names, i;
    desc.max_threads = 1;
    desc.memory = malloc(desc.memory_size = 64 << 10);
    for (names = 1; names < 64; names++) {
        EQUAL(prof_start(&desc), PROF_OK);
        for (i = 0; i < 3 * names; i++) {
            sprintf(name, "name %d", i % names);
            spend(name, 1000);
        }
        prof_stop();
        snapshot();
        if (prof_get_stats(NULL).others) break;
        EQUAL(row_count, names);
        for (i = 0; i < names; i++)
            CHECK(rows[i].count == 3 && rows[i].cpu_time_total_ns == 3000, "%d of %d", i, names);
    }
    CHECK(names > 7 && names < 64, "%d rows", names - 1);
    free(desc.memory);
}

static void *work(void *unused) {
    int i;
    (void)unused;
    for (i = 0; i < 1000; i++) {
        PROF_SCOPE("work");
        PROF_BLOCK("part") {
            prof_push("pushed");
            prof_pop();
        }
    }
    return NULL;
}

/* Where cores are busy a thread may wait for the lock for so long that it drops a zone, or adds it
   to "(others)": each is counted. */
static size_t elsewhere(void) {
    prof_stats stats = prof_get_stats(NULL);
    return (size_t)(stats.dropped + stats.others);
}

static void all_told(const char *name, size_t wanted) {
    const prof_average *a = row_of(name);
    size_t count = a ? a->count : 0;
    CHECK(count <= wanted && wanted - count <= elsewhere(), "%s: %u of %u, %u elsewhere", name,
          (unsigned)count, (unsigned)wanted, (unsigned)elsewhere());
}

/* Threads come and go; their rows stay, and are merged by name. The CPU's clock. */
static void test_threads(void) {
    prof_desc desc;
    pthread_t threads[3];
    int round, i;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_AGGREGATE;
    desc.max_threads = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    for (round = 0; round < 50; round++) {
        for (i = 0; i < 3; i++) pthread_create(threads + i, NULL, work, NULL);
        snapshot();
        for (i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    }
    snapshot();
    EQUAL(row_count, 3 + (prof_get_stats(NULL).others != 0));
    all_told("work", 150000);
    all_told("part", 150000);
    all_told("pushed", 150000);
    CHECK(row_of("work")->cpu_time_total_ns >= row_of("part")->cpu_time_total_ns, "part > work");
    CHECK(row_of("part")->min_ns <= row_of("part")->p50_ns &&
              row_of("part")->p99_ns <= row_of("part")->max_ns, "percentiles");
    prof_stop();
    EQUAL(prof_get_stats(NULL).not_kept, 0);
    if (!prof_get_stats(NULL).dropped) EQUAL(prof_get_stats(NULL).threads, 150);
}

/* ---- Snapshots while a thread records: nothing is missing, nothing counts twice ---- */

static bool counting;
static size_t counted;

static void *count_on(void *unused) {
    (void)unused;
    while (PROF__LOAD(counting)) {
        PROF_BLOCK("around") { PROF_BLOCK("within") {} }
        PROF__RELEASE(counted, counted + 1);
    }
    return NULL;
}

static void test_snapshots_are_exact(void) {
    prof_desc desc;
    pthread_t thread;
    const prof_average *a;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_AGGREGATE;
    desc.max_threads = 2;
    counted = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF__STORE(counting, true);
    pthread_create(&thread, NULL, count_on, NULL);
    for (i = 0; i < 500; i++) {
        size_t before = PROF__ACQUIRE(counted), after;
        snapshot();
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        after = PROF__ACQUIRE(counted);
        a = row_of("within");
        if (!a) continue;
        CHECK(a->count + elsewhere() >= before && a->count <= after + 1, "%u of %u to %u",
              (unsigned)a->count, (unsigned)before, (unsigned)after);
        CHECK(a->min_ns <= a->p50_ns && a->p50_ns <= a->max_ns, "percentiles");
    }
    PROF__STORE(counting, false);
    pthread_join(thread, NULL);
    prof_stop();
    snapshot();
    all_told("within", counted);
    all_told("around", counted);
    a = row_of("around");                /* ticks become ns, each figure rounded */
    if (a && row_of("within") && a->count == counted && row_of("within")->count == counted)
        CHECK(llabs(a->self_cpu_time_total_ns + row_of("within")->cpu_time_total_ns -
                    a->cpu_time_total_ns) <= 2, "self times do not add up");
}

/* Zones too long for a record's 32 bits, and zones within zones that are added piece by piece. */
static void test_long_zones(void) {
    prof_desc desc = sums_desc();
    const prof_average *a;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 5; i++) {
        int j;
        PROF_BEGIN("day");
        for (j = 0; j < 2000; j++) spend("hour", 3600000000000);
        PROF_END();
    }
    prof_stop();
    snapshot();
    a = row_of("day");
    EQUAL(a->count, 5);
    EQUAL(a->cpu_time_total_ns, 5 * 2000 * 3600000000000);
    EQUAL(a->self_cpu_time_total_ns, 0);
    EQUAL(row_of("hour")->count, 10000);
    EQUAL(row_of("hour")->min_ns, 3600000000000);
    EQUAL(row_of("hour")->max_ns, 3600000000000);
}

/* Each as long as a quarter of what the clock can count; the last bucket has them all. */
static void test_longest_zones(void) {
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    prof_desc desc = sums_desc();
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 8; i++) spend(names[i], (uint64_t)1 << (54 + i));
    prof_stop();
    snapshot();
    EQUAL(row_count, 8);
    for (i = 0; i < 8; i++) {
        EQUAL(row_of(names[i])->count, 1);
        EQUAL(row_of(names[i])->cpu_time_total_ns, (int64_t)1 << (54 + i));
        EQUAL(row_of(names[i])->p50_ns, (int64_t)1 << (54 + i));
    }
}

static void test_off_and_on(void) {
    prof_desc desc = sums_desc();
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 10; i++) {
        spend("zone", 7);
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
        spend("zone", 100);
        snapshot();
        EQUAL(rows[0].count, i + 1);
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    }
    prof_stop();
    snapshot();
    EQUAL(row_count, 1);
    EQUAL(rows[0].count, 10);
    EQUAL(rows[0].max_ns, 7);
}

/* What the toggle ends counts, also once the thread records again. */
static void test_off_with_open_zones(void) {
    prof_desc desc = sums_desc();
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 10; i++) {
        prof_push("outer");
        spend("inner", 7);
        prof_push("inner");
        test_time.tick += 13;
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
        prof_pop();
        prof_pop();
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
        spend("outer", 100);
    }
    prof_stop();
    snapshot();
    EQUAL(row_of("outer")->count, 20);
    EQUAL(row_of("inner")->count, 20);
    EQUAL(row_of("inner")->cpu_time_total_ns, 10 * (7 + 13));
    EQUAL(row_of("outer")->cpu_time_total_ns, 10 * (7 + 13 + 100));
    EQUAL(row_of("outer")->self_cpu_time_total_ns, 1000);
}

/* As much memory as prof_arena_size says, whatever the description. */
static void test_memory_size(void) {
    static const uint32_t depths[] = { 1, 0, 255 };
    prof_desc desc = sums_desc();
    int i;
    for (i = 0; i < 12; i++) {
        desc.max_depth = depths[i % 3];
        desc.max_threads = (uint32_t)(i / 3) * 5;
        desc.memory_size = prof_arena_size(&desc);
        desc.memory = malloc(desc.memory_size);
        CHECK(prof_start(&desc) == PROF_OK, "depth %u, %u threads: %s", (unsigned)desc.max_depth,
              (unsigned)desc.max_threads, prof_strerror(PROF_ERROR_MEMORY));
        spend("zone", 7);
        prof_stop();
        snapshot();
        EQUAL(row_count, 1);
        EQUAL(rows[0].count, 1);
        prof_thread_end();
        free(desc.memory);
    }
}

static void test_written(void) {
    prof_desc desc = sums_desc();
    prof_table_desc table;
    test_text text;
    prof_trace *trace;
    memset(&text, 0, sizeof text);
    memset(&table, 0, sizeof table);
    EQUAL(prof_start(&desc), PROF_OK);
    spend("a \"name\"", 1500);
    trace = prof_stop();
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(prof_total_average(trace).count, 1);
    EQUAL(prof_total_average(trace).cpu_time_total_ns, 1500);
    CHECK(strstr(text.data, " ~p50 ") && strstr(text.data, " ~p99 ") &&
          strstr(text.data, "1.500us"), "%s", text.data);
    test_text_clear(&text);
    table.format = PROF_FORMAT_CSV;
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, ",p50,p90,p99,") && strstr(text.data, ",1.500,1.500,1.500,"), "%s",
          text.data);
    test_text_clear(&text);
    table.format = PROF_FORMAT_JSON;
    snapshot();
    EQUAL(prof_write_rows(rows, row_count, NULL, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"p50\": 1.500, \"p90\": 1.500, \"p99\": 1.500"), "%s", text.data);
    test_text_clear(&text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    test_text_clear(&text);
    EQUAL(prof_dump(test_text_sink(&text)), PROF_ERROR_STATE);
}

static void test_other_modes_have_none(void) {
    prof_desc desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    spend("zone", 5);
    EQUAL(prof_snapshot(rows, 10), 0);
    prof_stop();
}

int main(void) {
    RUN(test_sums);
    RUN(test_percentiles);
    RUN(test_billions_of_calls);
    RUN(test_snapshot_while_zones_are_open);
    RUN(test_more_names_than_rows);
    RUN(test_every_row);
    RUN(test_threads);
    RUN(test_snapshots_are_exact);
    RUN(test_long_zones);
    RUN(test_longest_zones);
    RUN(test_off_and_on);
    RUN(test_off_with_open_zones);
    RUN(test_memory_size);
    RUN(test_written);
    RUN(test_other_modes_have_none);
    return test_end();
}
