/* Functions of a signal handler that comes to a single instruction of a function hook: each has a
   row, or is counted as dropped. What the profiler itself calls of the user's is neither. */
#if !defined(_WIN32)
#  define _GNU_SOURCE 1                  /* REG_EFL */
#endif
#define PROF_INSTRUMENT_FUNCTIONS
#include "../test.h"
#include "step.h"

#ifdef STEP_WHY
static void test_hooks_step(void) { SKIP(STEP_WHY); }
int main(void) {
    RUN(test_hooks_step);
    return test_end();
}
#else

/* What -finstrument-functions makes of a function. */
#define FUNCTION(name)                                 \
    static void name(void) {                           \
        __cyg_profile_func_enter((void *)name, NULL);  \
        begun++;                                       \
        __cyg_profile_func_exit((void *)name, NULL);   \
    }

static uint64_t begun, observed;
FUNCTION(function)
FUNCTION(of_handler)

static uint64_t counted(const prof_trace *trace) {
    prof_average rows[8];
    uint64_t count = 0;
    size_t names = prof_key_averages(trace, NULL, rows, 8);
    for (size_t i = 0; i < names; i++) count += rows[i].count;
    return count;
}

/* A handler at each instruction in turn, up to those of a call that takes no slow path. */
static void run(prof_mode mode) {
    prof_desc desc = { 0 };
    prof_stats stats;
    prof_trace *trace;
    long runs = test_sample() > 1 || TEST_SANITIZED ? 200 : 1000;
    desc.mode = mode;
    begun = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    function();
    of_handler();
    for (long i = 0; i < runs; i++) {
        step_at = i % 200;
        stepped(function, of_handler);
    }
    trace = prof_stop();
    stats = prof_get_stats(trace);
    EQUAL(counted(trace) + stats.dropped_busy, begun);
    EQUAL(stats.dropped, stats.dropped_busy);
    CHECK(stats.dropped > 0, "no handler came to a hook");
    EQUAL(stats.unbalanced, 0);
    prof_thread_end();
}

static void test_hooks_step(void) {
    PASS_ON(run(PROF_MODE_TRACE));
    PASS_ON(run(PROF_MODE_RING));
    PASS_ON(run(PROF_MODE_AGGREGATE));
}

static void observe(void *user, const char *name, const prof_extra *with) {
    (void)user, (void)name, (void)with;
    observed++;
    function();
}

static uint64_t now_calls(void *user) {
    (void)user;
    function();
    return ++test_time.tick;
}

/* Functions of an observer and of a clock are no zones, and nothing is lost. */
static void test_hooks_users(void) {
    prof_desc desc = { 0 };
    prof_observer observer = { 0 };
    prof_stats stats;
    prof_trace *trace;
    observer.begin = observe;
    for (int own_clock = 0; own_clock < 2; own_clock++) {
        observed = 0;
        desc.platform.now = own_clock ? now_calls : NULL;
        if (!own_clock) EQUAL(prof_add_observer(&observer), PROF_OK);
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 3; i++) of_handler();
        PROF_BLOCK("zone") {}
        trace = prof_stop();
        stats = prof_get_stats(trace);
        EQUAL(counted(trace), 4);
        EQUAL(stats.dropped, 0);
        if (!own_clock) EQUAL(observed, 4);
        if (!own_clock) EQUAL(prof_remove_observer(observer.user), PROF_OK);
        prof_thread_end();
    }
}

int main(void) {
    step_install();
    RUN(test_hooks_step);
    RUN(test_hooks_users);
    return test_end();
}
#endif
