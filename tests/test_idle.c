/* A zone that begins after a long idle time and is open when another thread stops the session. */
#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#  define _DEFAULT_SOURCE 1
#endif
#include <stdint.h>

static uint64_t idle_ticks;             /* the clock of the hot path, set by hand */
#define PROF_NOW() __atomic_add_fetch(&idle_ticks, 1, __ATOMIC_RELAXED)
#include "test.h"

#include <pthread.h>
#include <unistd.h>

static uint64_t idle;
static bool begun, stopped;

static void *begin_late(void *unused) {
    (void)unused;
    PROF_BLOCK("before") {}
    __atomic_add_fetch(&idle_ticks, idle, __ATOMIC_RELAXED);
    PROF_BEGIN("late");
    PROF__RELEASE(begun, true);
    while (!PROF__ACQUIRE(stopped)) usleep(100);
    PROF_END();
    return NULL;
}

static void test_open_after_idle(void) {
    for (int shift = 0; shift < 36; shift++) {
        pthread_t thread;
        const prof_trace *trace;
        idle = (uint64_t)1 << shift;
        PROF__STORE(begun, false);
        PROF__STORE(stopped, false);
        EQUAL(prof_start(NULL), PROF_OK);
        EQUAL(pthread_create(&thread, NULL, begin_late, NULL), 0);
        while (!PROF__ACQUIRE(begun)) usleep(100);
        trace = prof_stop();
        PROF__RELEASE(stopped, true);
        pthread_join(thread, NULL);
        CHECK(test_find(trace, "before", 0) != NULL, "shift %d", shift);
        CHECK(test_find(trace, "late", 0) != NULL, "an idle time of 2^%d ticks", shift);
        EQUAL(prof_get_stats().unfinished, 1);
    }
}

int main(void) {
    RUN(test_open_after_idle);
    return test_end();
}
