/* Long runs: soak ZONES CYCLES THREADS. ZONES zones in stream mode and as many in aggregate mode,
   memory flat; CYCLES sessions; THREADS short threads; a clock that steps back. Prints a line for
   each; make soak sets the numbers. */
#include "test.h"

#include <pthread.h>

static unsigned long zones, cycles, threads;

/* Kilobytes of this process that are in memory. */
static long resident(void) {
    char line[200];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0) kb = strtol(line + 6, NULL, 10);
    if (file) fclose(file);
    return kb;
}

static uint64_t streamed;

static bool count_bytes(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    streamed += size;
    return true;
}

static long run_zones(unsigned long count) {
    long most = 0, first = 0;
    for (unsigned long i = 0; i < count / 2; i++) {
        PROF_BLOCK("outer") { PROF_BLOCK("inner") {} }
        if (i % (count / 20 + 1) == 0) {
            long now = resident();
            if (i < count / 10) first = now;     /* the first fifth: all has been touched then */
            else if (now - first > most) most = now - first;
        }
    }
    return most;
}

static void long_run(prof_mode mode) {
    prof_desc desc;
    long grown;
    memset(&desc, 0, sizeof desc);
    desc.mode = mode;
    desc.stream.write = count_bytes;
    desc.stream_inline = true;
    EQUAL(prof_start(&desc), PROF_OK);
    grown = run_zones(zones);
    if (mode == PROF_MODE_AGGREGATE) {
        prof_average rows[8];
        size_t n = prof_snapshot(rows, 8);
        EQUAL(n, 2);
        EQUAL(rows[0].count + rows[1].count, zones / 2 * 2);
    }
    prof_stop();
    EQUAL(prof_get_stats().dropped, 0);
    if (mode == PROF_MODE_STREAM) {
        EQUAL(prof_get_stats().recorded, zones / 2 * 2);
        CHECK(streamed >= zones * 12, "%lu bytes streamed", (unsigned long)streamed);
    }
    CHECK(grown <= 1024, "memory grew by %ld KB", grown);
}

static void test_stream(void) { long_run(PROF_MODE_STREAM); }
static void test_aggregate(void) { long_run(PROF_MODE_AGGREGATE); }

static void test_cycles(void) {
    static char memory[1 << 18];
    prof_desc desc;
    long before = 0;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 4;
    desc.os_clock = true;
    for (unsigned long i = 0; i < cycles; i++) {
        size_t count;
        desc.mode = i % 3 == 1 ? PROF_MODE_RING : PROF_MODE_TRACE;
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BLOCK("a") prof_push("made at run time");
        if (i % 2) prof_pop();
        prof_events(prof_stop(), &count);
        EQUAL(count, 2);
        if (i == cycles / 5) before = resident();
    }
    CHECK(resident() - before <= 1024, "memory grew by %ld KB", resident() - before);
}

static void *short_thread(void *user) {
    (void)user;
    PROF_BLOCK("thread") {}
    return NULL;
}

static void test_short_threads(void) {
    prof_desc desc;
    pthread_t list[8];
    unsigned long made = 0;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.max_threads = 16;
    EQUAL(prof_start(&desc), PROF_OK);
    while (made < threads) {
        int n = 0;
        while (n < 8 && made + (unsigned)n < threads &&
               pthread_create(&list[n], NULL, short_thread, NULL) == 0) n++;
        CHECK(n > 0, "no thread after %lu", made);
        made += (unsigned)n;
        while (n > 0) pthread_join(list[--n], NULL);
    }
    prof_stop();
    EQUAL(prof_get_stats().dropped, 0);
    EQUAL(prof_get_stats().threads, threads);
    EQUAL(prof_get_stats().recorded, threads);
}

/* Back by up to a second, at random: counted, and no event is turned round. */
static void test_clock_back(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    unsigned long steps = 0;
    test_time.tick = (uint64_t)1 << 40;
    EQUAL(prof_start(&desc), PROF_OK);
    for (unsigned long i = 0; i < 100000; i++) {
        PROF_BLOCK("outer") {
            test_time.tick += 1000;
            PROF_BLOCK("inner") test_time.tick += 10;
        }
        if (test_random(50)) continue;
        test_time.tick -= 1 + test_random(1000000000);
        steps++;
    }
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(prof_get_stats().clock_steps, steps);
    EQUAL(prof_get_stats().recorded, 200000);
}

int main(int argc, char **argv) {
    zones = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    cycles = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    threads = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    if (!zones || !cycles || !threads) return 2;
    RUN(test_stream);
    RUN(test_aggregate);
    RUN(test_cycles);
    RUN(test_short_threads);
    RUN(test_clock_back);
    return test_end();
}
