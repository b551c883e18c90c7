/* Long runs: soak [ZONES], a thousand million when it is not said; in a ring a tenth of them.
   Memory must stay flat, and every zone be counted. */
#define _GNU_SOURCE
#include "../test.h"

#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 100, CYCLES = 10000, THREADS = 10000, FLAT_KB = 1024, CLOCK_ZONES = 1000000 };
static size_t zones = 1000000000;        /* of each mode */
static size_t total;                     /* of all tests */

/* Of this process's memory; 0: the system does not tell. */
static long resident_kb(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static bool count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(size_t *)user += size;
    return true;
}

static void mark(size_t pairs) {
    for (size_t i = 0; i < pairs; i++) {
        PROF_BLOCK("outer") {
            PROF_BLOCK("inner") {}
        }
    }
}

/* Zones in the open session; its memory is that of the first hundredth. */
static void mark_flat(size_t count) {
    long before = 0, after;
    for (size_t round = 0; round < ROUNDS; round++) {
        mark(count / ROUNDS / 2);
        if (round == 0) before = resident_kb();
    }
    after = resident_kb();
    CHECK(after - before < FLAT_KB, "memory grew from %ld to %ld kB", before, after);
    total += count / ROUNDS / 2 * 2 * ROUNDS;
}

static void all_recorded(prof_stats stats) {
    EQUAL(stats.recorded, zones / ROUNDS / 2 * 2 * ROUNDS);
    EQUAL(stats.dropped, 0);
    EQUAL(stats.lost, 0);
}

static void test_soak_stream(void) {
    size_t bytes = 0;
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = count_bytes;
    desc.stream.user = &bytes;
    EQUAL(prof_start(&desc), PROF_OK);
    PASS_ON(mark_flat(zones));
    prof_stop();
    PASS_ON(all_recorded(prof_get_stats(NULL)));
    CHECK(bytes > 12 * (zones / ROUNDS / 2 * 2 * ROUNDS), "only %zu bytes", bytes);
}

static void test_soak_aggregate(void) {
    prof_desc desc;
    prof_average rows[4];
    prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_AGGREGATE;
    EQUAL(prof_start(&desc), PROF_OK);
    PASS_ON(mark_flat(zones));
    trace = prof_stop();
    CHECK(trace != NULL, "no trace");
    EQUAL(prof_key_averages(trace, NULL, rows, 4), 2);
    EQUAL(rows[0].count + rows[1].count, zones / ROUNDS / 2 * 2 * ROUNDS);
    EQUAL(rows[0].count, rows[1].count);
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

/* The last zones are there, in their order; the others were overwritten, and counted. */
static void test_soak_ring(void) {
    size_t marked = zones / 10 / ROUNDS / 2 * 2 * ROUNDS, count = 0;
    prof_desc desc;
    prof_stats stats;
    const prof_event *events;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.memory_size = (size_t)4 << 20;
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_start(&desc), PROF_OK);
    PASS_ON(mark_flat(zones / 10));
    events = prof_events(prof_stop(), NULL, 0, &count);
    stats = prof_get_stats(NULL);
    EQUAL(stats.recorded, count);
    EQUAL(stats.recorded + stats.overwritten, marked);
    EQUAL(stats.dropped, 0);
    CHECK(count > 1000, "only %zu zones are left", count);
    for (size_t i = 1; i < count; i++)
        CHECK(events[i - 1].start_ns <= events[i].start_ns, "event %zu begins before the last", i);
    prof_thread_end();
    free(desc.memory);
}

static void test_soak_sessions(void) {
    long before = 0;
    for (int i = 0; i < CYCLES; i++) {
        size_t count = 0;
        prof_trace *trace;
        EQUAL(prof_start(NULL), PROF_OK);
        mark(50);
        trace = prof_stop();
        CHECK(trace != NULL, "no trace in cycle %d", i);
        prof_events(trace, NULL, 0, &count);
        EQUAL(count, 100);
        total += count;
        if (i == CYCLES / 100) before = resident_kb();
    }
    CHECK(resident_kb() - before < FLAT_KB, "memory grew by %ld kB", resident_kb() - before);
}

static void *short_life(void *user) {
    (void)user;
    mark(5);
    return NULL;
}

static void test_soak_threads(void) {
    size_t count = 0;
    EQUAL(prof_start(NULL), PROF_OK);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        EQUAL(pthread_create(&thread, NULL, short_life, NULL), 0);
        pthread_join(thread, NULL);
    }
    prof_events(prof_stop(), NULL, 0, &count);
    EQUAL(count, 10 * THREADS);
    EQUAL(prof_get_stats(NULL).threads, THREADS);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    total += count;
}

/* A clock that now and then goes back: counted, and no event ends before it begins. */
static uint64_t unsteady(void *user) {
    uint64_t *now = (uint64_t *)user;
    *now += 10;
    if (test_random(1000) == 0) *now -= *now / 2;
    return *now;
}

static void test_soak_clock(void) {
    uint64_t now = 1000000;
    size_t count = 0;
    prof_desc desc;
    const prof_event *events;
    memset(&desc, 0, sizeof desc);
    desc.memory_size = (size_t)256 << 20;
    desc.memory = malloc(desc.memory_size);
    desc.platform.now = unsteady;
    desc.platform.user = &now;
    EQUAL(prof_start(&desc), PROF_OK);
    mark(CLOCK_ZONES / 2);
    events = prof_events(prof_stop(), NULL, 0, &count);
    EQUAL(count, CLOCK_ZONES);
    CHECK(prof_get_stats(NULL).clock_steps > 100, "no step back was counted");
    for (size_t i = 0; i < count; i++) {
        const prof_event *e = events + i;
        CHECK(e->start_ns <= e->end_ns, "event %zu ends before it begins", i);
        CHECK(i == 0 || e[-1].start_ns <= e->start_ns, "event %zu begins before the last", i);
    }
    total += count;
    prof_thread_end();
    free(desc.memory);
}

int main(int argc, char **argv) {
    if (argc > 1) zones = (size_t)strtoull(argv[1], NULL, 10);
    RUN(test_soak_stream);
    RUN(test_soak_aggregate);
    RUN(test_soak_ring);
    RUN(test_soak_sessions);
    RUN(test_soak_threads);
    RUN(test_soak_clock);
    printf("%zu zones\n", total);
    return test_end();
}
