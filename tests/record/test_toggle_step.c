/* Recording stops at one instruction of a begin and goes on some instructions later, as another
   thread may have it: the end of that zone is counted, unless the begin was counted as dropped.
   It stops at each instruction up to those at which the thread holds the session's lock. */
/* object: tests/record/step_prof.c */
#if !defined(_WIN32)
#  define _GNU_SOURCE 1                  /* REG_EFL */
#endif
#include "step_clock.h"
#include "../test.h"
#include "../inside.h"
#include "step.h"

#ifdef STEP_WHY
static void test_toggle_step(void) { SKIP(STEP_WHY); }
#else

static uint64_t memory[(64 << 10) / 8];
static uint32_t was_on;
static long pause_of;                    /* instructions */
static bool locked;                      /* the begin has the lock: it saw that recording is on */

/* Who toggles holds the lock meanwhile. */
static void toggles(void) {
    if (!inside_try_lock()) {
        if (was_on) step_at++;
        else locked = true;
        return;
    }
    if (was_on) {
        prof__on = was_on;
        was_on = 0;
    } else {
        was_on = prof__on;
        prof__on = 0;
        step_at += pause_of;
    }
    inside_unlock();
}

static void begin(void) { PROF_BEGIN("between"); }
static void push(void) { prof_push("between"); }

static void run(void (*body)(void)) {
    prof_desc desc;
    prof_stats s;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_depth = 8;
    desc.max_threads = 4;
    prof_thread_end();
    EQUAL(prof_start(&desc), PROF_OK);
    stepped(body, toggles);
    if (was_on) prof__on = was_on;
    was_on = 0;
    PROF_END();
    prof_stop();
    s = prof_get_stats(NULL);
    EQUAL(s.recorded - s.unfinished + s.unbalanced + s.dropped, 1);
}

static void run_each(void (*body)(void)) {
    static const long pauses[] = { 1, 2, 5, 20, 100 };
    const long stride = step_stride(1);
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        long at;
        locked = false;
        for (at = test_random((uint32_t)stride); !locked && !test_bad; at += stride) {
            step_at = at;
            pause_of = pauses[i];
            run(body);
            if (test_bad) test_say(" (off at instruction %ld, for %ld)", at, pause_of);
        }
        if (test_bad) return;
        CHECK(at > 20, "only %ld instructions before the lock", at);
    }
}

static void test_toggle_step(void) {
    step_install();
    PASS_ON(run_each(begin));
    PASS_ON(run_each(push));
}
#endif

int main(void) {
    RUN(test_toggle_step);
    return test_end();
}
