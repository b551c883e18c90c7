/* portable */
/* More places in the source than the table of sites holds, or more names than the arena. */
#define PROF_MAX_SITES 9                 /* eight, and a function */
#define PROF_INSTRUMENT_FUNCTIONS
#include "../test.h"

static int marked;

#define MARK(name) do { PROF_BEGIN(name); test_time.tick += 10; PROF_END(); marked++; } while (0)

static void mark_twelve(void) {
    MARK("one");
    MARK("two");
    MARK("three");
    MARK("four");
    MARK("five");
    MARK("six");
    MARK("seven");
    MARK("eight");
    MARK("nine");
    MARK("ten");
    MARK("eleven");
    MARK("twelve");
}

static void session(prof_trace **trace) {
    prof_desc desc = test_desc();
    marked = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("one");
    mark_twelve();
    mark_twelve();
    PROF_END();
    marked++;
    *trace = prof_stop();
    PASS_ON(test_tree(*trace));
}

/* The first ones are recorded, the others counted, each time they come; and so in every session. */
static void test_sites_too_many(void) {
    prof_trace *trace = NULL;
    int i;
    for (i = 0; i < 3; i++) {
        prof_stats stats;
        size_t count;
        PASS_ON(session(&trace));
        stats = prof_get_stats();
        prof_events(trace, &count);
        EQUAL(count, stats.recorded);
        EQUAL(stats.recorded + stats.dropped, marked);
        EQUAL(stats.dropped, stats.dropped_sites);
        EQUAL(stats.recorded, 1 + 2 * 7);
        EQUAL(stats.unbalanced + stats.healed + stats.unfinished, 0);
        EQUAL(test_find(trace, "one", 0)->end_ns, 240);
        CHECK(test_find(trace, "seven", 1) && !test_find(trace, "eight", 0), "others are in");
    }
}

/* ---- The arena is full ---- */

enum { FUNCTIONS = 4 };
static char functions[FUNCTIONS];

static void call(int n) {
    for (int i = 0; i < n; i++) {
        __cyg_profile_func_enter(functions + i, NULL);
        __cyg_profile_func_exit(functions + i, NULL);
    }
}

/* What has no room is no name too many; of functions that is remembered, and they are asked for
   again in the next session. */
static void test_sites_without_room(void) {
    static uint64_t memory[1 << 13];
    prof_desc desc = test_desc();
    prof_stats stats;
    uint64_t refused;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.max_sites = 1000;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 900; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        prof_push(name);
        prof_pop();
    }
    stats = prof_get_stats();
    CHECK(stats.dropped_full > 100, "%u dropped", (unsigned)stats.dropped_full);
    call(FUNCTIONS);
    refused = prof_get_stats().dropped_full - stats.dropped_full;
    CHECK(refused >= FUNCTIONS - 1, "%u refused", (unsigned)refused);
    CHECK(prof__try_lock(), "the lock is held");
    call(FUNCTIONS);
    prof__unlock();
    refused = prof_get_stats().dropped_full - stats.dropped_full - refused;   /* or one had room */
    CHECK(refused >= FUNCTIONS - 1 && refused <= FUNCTIONS, "%u refused", (unsigned)refused);
    EQUAL(prof_get_stats().dropped_sites + prof_get_stats().dropped_busy, 0);
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_start(NULL), PROF_OK);
    call(1);
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_get_stats().recorded, 1);
}

int main(void) {
    RUN(test_sites_without_room);
    RUN(test_sites_too_many);
    return test_end();
}
