/* Functions of a signal handler that comes to a single instruction of a function hook: each has a
   row, or is counted as dropped. What the profiler itself calls of the user's is neither. */
#if !defined(_WIN32)
#  define _GNU_SOURCE 1                  /* REG_EFL */
#endif
#define PROF_INSTRUMENT_FUNCTIONS
#include "../test.h"
#include "step.h"

#include <setjmp.h>

#ifdef STEP_WHY
static void test_hooks_step(void) { SKIP(STEP_WHY); }
int main(void) {
    RUN(test_hooks_step);
    return test_end();
}
#else

/* What -finstrument-functions makes of a function. A handler may come while it counts itself. */
#define FUNCTION(name)                                     \
    static void name(void) {                               \
        __cyg_profile_func_enter((void *)name, NULL);      \
        __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);   \
        __cyg_profile_func_exit((void *)name, NULL);       \
    }

static uint64_t begun, observed;
FUNCTION(function)
FUNCTION(of_handler)

/* Calls in all rows, or those of one name. */
static uint64_t calls(const prof_trace *trace, const char *name) {
    prof_average rows[16];
    uint64_t count = 0;
    size_t names = prof_key_averages(trace, NULL, rows, 16);
    for (size_t i = 0; i < names && i < 16; i++)
        if (!name || strcmp(rows[i].key, name) == 0) count += rows[i].count;
    return count;
}

/* A handler at each instruction of a call that takes no slow path, in turn. "(lost)" stands around
   a zone that came when an end was written, but its zone still open. */
static void run(prof_mode mode) {
    prof_desc desc = { 0 };
    prof_stats stats;
    prof_trace *trace;
    long runs = test_sample() > 1 || TEST_SANITIZED ? 200 : 1000, instructions;
    desc.mode = mode;
    begun = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    function();
    of_handler();
    step_at = -1;
    stepped(function, of_handler);
    instructions = steps;
    for (long i = 0; i < runs; i++) {
        step_at = i * 7 % instructions;
        stepped(function, of_handler);
    }
    trace = prof_stop();
    stats = prof_get_stats(trace);
    EQUAL(calls(trace, NULL) + stats.dropped_busy - stats.lost, begun);
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

/* ---- siglongjmp out of a hook, and of the functions around it ---- */

static sigjmp_buf jump_to;
static void jump(void) { siglongjmp(jump_to, 1); }

/* Each has a frame of its own. */
#define NESTED(name, next)                                           \
    __attribute__((noinline)) static void name(void) {               \
        __cyg_profile_func_enter((void *)name, NULL);                \
        next;                                                        \
        __cyg_profile_func_exit((void *)name, NULL);                 \
        __asm__ volatile("");                                        \
    }
NESTED(innermost, (void)0)
NESTED(inner, stepped(innermost, jump))
NESTED(within, inner())
NESTED(later, (void)0)

/* What comes behind the jump is recorded, wherever the handler came. */
static void test_hooks_jump(void) {
    prof_desc desc = { 0 };
    prof_stats stats;
    prof_trace *trace;
    volatile int jumps = 0;
    volatile long at;
    EQUAL(prof_start(&desc), PROF_OK);
    step_at = -1;
    within();
    for (at = 0; at < 100; at++) {
        step_at = at;
        if (sigsetjmp(jump_to, 1)) jumps++;
        else within();
        later();
    }
    trace = prof_stop();
    stats = prof_get_stats(trace);
    EQUAL(calls(trace, "later"), 100);
    EQUAL(stats.dropped, 0);
    CHECK(jumps > 50, "%d jumps", jumps);
    prof_thread_end();
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
        EQUAL(calls(trace, NULL), 4);
        EQUAL(stats.dropped, 0);
        if (!own_clock) EQUAL(observed, 4);
        if (!own_clock) EQUAL(prof_remove_observer(observer.user), PROF_OK);
        prof_thread_end();
    }
}

int main(void) {
    step_install();
    RUN(test_hooks_step);
    RUN(test_hooks_jump);
    RUN(test_hooks_users);
    return test_end();
}
#endif
