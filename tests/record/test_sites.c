/* portable */
/* More places in the source than the table of sites holds. */
#define PROF_MAX_SITES 8
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

int main(void) {
    RUN(test_sites_too_many);
    return test_end();
}
