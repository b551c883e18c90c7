/* Calls where the profiler itself was interrupted: in its slow path (the clock is what a signal
   handler would be), and while the thread holds the lock. What they record is dropped and counted,
   nothing waits, and what was recorded before and after is whole. */
#include "../test.h"
#include "../inside.h"

static const int64_t dims[] = { 2, 3 };
static const prof_shape shape = { dims, NULL, 2 };
static const prof_device cpu = { PROF_DEVICE_CPU, 0 };
static char block[8];

static void act_zone(void) { PROF_BLOCK("act zone") test_time.tick++; }
static void act_begin(void) { PROF_BEGIN("act begin"); PROF_END(); }
static void act_end(void) { PROF_END(); PROF_END(); }
static void act_push(void) { prof_push("act push"); prof_pop(); }
static void act_instant(void) { prof_instant("act instant"); }
static void act_counter(void) { prof_counter("act counter", 1); }
static void act_shapes(void) { prof_set_shapes(&shape, NULL, 1); }
static void act_arg(void) { prof_set_arg("key", "text"); }
static void act_memory(void) { prof_memory_alloc(block, 8, cpu); }
static void act_range(void) { prof_async_end(prof_async_begin("act range")); }
static void act_flow(void) { (void)prof_flow(prof_flow(0)); }
static void act_module(void) { prof_module_push("act module"); prof_module_pop(); }
static void act_name(void) { prof_set_thread_name("act name"); }
static void act_context(void) { CHECK(!prof_context_switch(NULL), "another context"); }

/* drops: something of it counts as dropped where the lock is held. */
static const struct { const char *name; void (*act)(void); bool drops; } acts[] = {
    { "zone", act_zone, true }, { "begin", act_begin, true }, { "end", act_end, false },
    { "push", act_push, true }, { "instant", act_instant, true },
    { "counter", act_counter, true }, { "shapes", act_shapes, false }, { "arg", act_arg, false },
    { "memory", act_memory, true }, { "range", act_range, true }, { "flow", act_flow, false },
    { "module", act_module, true }, { "name", act_name, false },
    { "context", act_context, false }
};
enum { ACTS = sizeof acts / sizeof *acts };

static void (*interrupt)(void);

/* The clock: its reading is where the interrupt comes. */
static uint64_t now_interrupted(void *user) {
    void (*act)(void) = interrupt;
    (void)user;
    interrupt = NULL;
    if (act) act();
    return ++test_time.tick;
}

static prof_desc desc_of(prof_mode mode) {
    static test_text text;
    prof_desc desc = test_desc();
    test_text_clear(&text);
    desc.mode = mode;
    desc.stream = test_text_sink(&text);
    desc.record_shapes = desc.profile_memory = true;
    desc.with_modules = mode != PROF_MODE_STREAM;   /* which cannot carry them */
    return desc;
}

/* before, interrupted, inside and after are there; no zone or moment of an act is. */
static void check_rest(const prof_trace *trace) {
    size_t count, i;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    PASS_ON(test_tree(trace));
    for (i = 0; i < count; i++)
        CHECK(strncmp(events[i].name, "act ", 4) != 0, "%s is there", events[i].name);
    CHECK(test_find(trace, "before", 0) && test_find(trace, "after", 0), "a zone is missing");
    test_all_writers(trace);
}

static void test_in_the_slow_path(void) {
    for (int mode = PROF_MODE_TRACE; mode <= PROF_MODE_AGGREGATE; mode++)
        for (int i = 0; i < ACTS && !test_bad; i++) {
            prof_desc desc = desc_of((prof_mode)mode);
            const prof_trace *trace;
            desc.platform.now = now_interrupted;
            EQUAL(prof_start(&desc), PROF_OK);
            PROF_BLOCK("before") test_time.tick++;
            interrupt = acts[i].act;
            PROF_BLOCK("interrupted") {
                interrupt = acts[i].act;
                prof_instant("moment");
                interrupt = acts[i].act;
            }
            interrupt = NULL;
            PROF_BLOCK("after") test_time.tick++;
            trace = prof_stop();
            CHECK(prof_get_stats(trace).unfinished == 0, "%s: a zone was left", acts[i].name);
            /* the zone whose end is interrupted may be lost; "end" ends what it did not begin */
            CHECK(acts[i].act == act_end || prof_get_stats(trace).recorded - 2 <= 1, "%s: %u",
                  acts[i].name, (unsigned)prof_get_stats(trace).recorded);
            if (mode <= PROF_MODE_RING) check_rest(trace);
            if (test_bad) test_say(" (%s in mode %d)", acts[i].name, mode);
        }
}

static void act_end_one_more(void) {
    prof_push("act one");
    prof_push("act two");
    prof_pop();
    prof_pop();
    prof_pop();
}

/* The handler's own ends end its own begins; one more takes a zone that it interrupted. */
static void test_end_more_than_begun(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    desc.platform.now = now_interrupted;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("outer");
    interrupt = act_end_one_more;
    prof_instant("moment");
    PROF_END();
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 0);
    EQUAL(prof_get_stats(NULL).dropped, 3);
    EQUAL(prof_get_stats(NULL).unbalanced, 1);
}

static void act_unwind(void) { prof_unwind(prof_mark()); }
static void act_pop(void) { prof_pop(); }

/* There a handler cannot unwind, and a zone that it ends takes the deep ones in it along. */
static void test_unwind_in_the_slow_path(void) {
    for (int ends = 0; ends < 2; ends++) {
        prof_desc desc = desc_of(PROF_MODE_TRACE);
        prof_stats stats;
        desc.platform.now = now_interrupted;
        desc.max_depth = 1;
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BEGIN("outer");
        PROF_BEGIN("deep");
        PROF_BEGIN("deeper");
        interrupt = ends ? act_pop : act_unwind;
        prof_instant("moment");
        PROF_END();
        PROF_END();
        PROF_END();
        prof_stop();
        stats = prof_get_stats(NULL);
        EQUAL(stats.dropped_busy, ends ? 3 : 1);
        EQUAL(stats.deep, ends ? 0 : 2);
        EQUAL(stats.unbalanced, ends ? 3 : 0);
    }
}

/* first: the thread has not recorded in this session yet. */
static void interrupt_lock(int act, bool first, bool os) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    const prof_trace *trace;
    if (os) memset(&desc.platform, 0, sizeof desc.platform);
    inside_os_clock = os;
    EQUAL(prof_start(&desc), PROF_OK);
    inside_os_clock = false;
    if (!first) PROF_BLOCK("before") test_time.tick++;
    CHECK(inside_try_lock(), "the lock is held");
    acts[act].act();
    inside_unlock();
    if (first) PROF_BLOCK("before") test_time.tick++;
    PROF_BLOCK("after") test_time.tick++;
    trace = prof_stop();
    if (first && acts[act].drops) CHECK(prof_get_stats(trace).dropped > 0, "nothing was counted");
    if (acts[act].act == act_push) EQUAL(prof_get_stats(trace).dropped_busy, 1);
    CHECK(test_find(trace, "before", 0) && test_find(trace, "after", 0), "a zone is missing");
    if (first) PASS_ON(check_rest(trace));
    EQUAL(prof_get_stats(trace).unfinished, 0);
}

static void test_under_the_lock(void) {
    for (int i = 0; i < ACTS * 4 && !test_bad; i++) {
        interrupt_lock(i / 4, i & 1, (i & 2) != 0);
        if (test_bad) test_say(" (%s, %d)", acts[i / 4].name, i % 4);
    }
}

int main(void) {
    RUN(test_in_the_slow_path);
    RUN(test_end_more_than_begun);
    RUN(test_under_the_lock);            /* before deep zones make "(others)" */
    RUN(test_unwind_in_the_slow_path);
    return test_end();
}
