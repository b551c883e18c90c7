/* A zone that begins after a long idle time and is open when another thread stops the session; an
   OS clock that steps back, and that cannot be read. */
#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#  define _DEFAULT_SOURCE 1
#endif
#include <stdint.h>

static uint64_t idle_ticks;             /* the clock of the hot path, set by hand */
#define PROF_NOW() __atomic_add_fetch(&idle_ticks, 1, __ATOMIC_RELAXED)

#include <time.h>
static int64_t os_ns = -1;               /* the OS's clock, by hand; 0: none, -1: the real one */
static int os_back;                      /* how far each reading of it sets it back */
static int os_gettime(clockid_t clock, struct timespec *t) {
    if (os_ns < 0) return clock_gettime(clock, t);
    os_ns -= os_back;
    t->tv_sec = (time_t)(os_ns / 1000000000);
    t->tv_nsec = (long)(os_ns % 1000000000);
    return os_ns ? 0 : -1;
}
#define clock_gettime os_gettime
#include "../test.h"

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
        EQUAL(prof_get_stats(NULL).unfinished, 1);
    }
}

/* A zone of so many ns and ticks. */
static void spend(const char *name, int ns) {
    prof_push(name);
    if (os_ns) os_ns += ns;
    idle_ticks += (uint64_t)ns;
    prof_pop();
}

/* Time goes on from where it stood, and stands still while there is no clock. */
static void test_os_clock_by_hand(void) {
    static const struct { const char *name; int64_t start, end; } right[] = {
        { "first", 100, 400 }, { "stepped", 400, 450 }, { "none", 450, 450 },
        { "again", 470, 480 } };
    const prof_event *e;
    prof_trace *trace;
    prof_desc desc;
    size_t count, i;
    memset(&desc, 0, sizeof desc);
    inside_os_clock = true;
    os_ns = 10000;
    EQUAL(prof_start(&desc), PROF_OK);
    os_ns += 100;
    spend("first", 300);
    os_ns -= 350;
    spend("stepped", 50);
    os_ns = 0;
    spend("none", 70);
    os_ns = 10120;                       /* 20 more than at the end of stepped */
    spend("again", 10);
    trace = prof_stop();
    os_ns = -1;
    e = prof_events(trace, NULL, 0, &count);
    EQUAL(count, 4);
    for (i = 0; i < count; i++) {
        SAME_TEXT(e[i].name, right[i].name);
        EQUAL(e[i].start_ns, right[i].start);
        EQUAL(e[i].end_ns, right[i].end);
    }
    EQUAL(prof_get_stats(trace).clock_steps, 1);
    inside_os_clock = false;
}

/* Without a second pair of both clocks a tick of the hot path's is a nanosecond. */
static void test_one_pair_of_clocks(void) {
    const prof_event *e;
    os_ns = 1000000000;
    os_back = 10000;                     /* what goes back makes no pair */
    EQUAL(prof_start(NULL), PROF_OK);
    spend("first", 300);
    spend("second", 5000);
    e = test_find(prof_stop(), "second", 0);
    os_ns = -1;
    CHECK(e && e->start_ns > 300 && e->start_ns < 350, "starts at %d", e ? (int)e->start_ns : 0);
    CHECK(e->end_ns - e->start_ns >= 5000 && e->end_ns - e->start_ns < 5010, "lasted %d",
          (int)(e->end_ns - e->start_ns));
}

/* A session of 50 ms has the rate of the whole process, whatever the clocks did in it. */
static void test_rate_of_a_short_session(void) {
    const prof_event *e;
    double lasts, rate;
    os_back = 0;
    os_ns = prof_os_now() + 10000000;
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("short") idle_ticks += 100000000;
    os_ns += 50000000;
    e = test_find(prof_stop(), "short", 0);
    rate = (double)(os_ns - (int64_t)prof__recorder.first_knot.ns) /
           (double)(idle_ticks - prof__recorder.first_knot.tick);
    os_ns = -1;
    CHECK(e != NULL, "no zone");
    lasts = (double)(e->end_ns - e->start_ns);
    CHECK(lasts > rate * 98e6 && lasts < rate * 102e6, "%g ns a tick, it lasts %g", rate, lasts);
}

/* A zone that ended a moment after the stop looked at the clock, on another core, say: it stays
   within what was open. */
static void test_end_after_the_stop(void) {
    const prof_event *events, *turn, *mid, *low;
    size_t count, unfinished = 0;
    prof_trace *trace;
    idle_ticks = (uint64_t)1 << 40;
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BEGIN("turn");
    idle_ticks += 100000;
    PROF_BEGIN("mid");
    idle_ticks += 100000;
    PROF_BEGIN("low");
    idle_ticks += 900000;
    PROF_END();
    idle_ticks -= 800000;                /* the stop is 100000 after low began */
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, 3);
    turn = test_find(trace, "turn", 0);
    mid = test_find(trace, "mid", 0);
    low = test_find(trace, "low", 0);
    CHECK(turn && mid && low, "a zone is lost");
    CHECK(low->parent == (uint32_t)(mid - events) && low->end_ns <= mid->end_ns &&
              low->start_ns > mid->start_ns && low->end_ns > low->start_ns, "low is not in mid");
    for (size_t i = 0; i < count; i++) unfinished += (events[i].flags & PROF_EVENT_UNFINISHED) != 0;
    EQUAL(unfinished, 2);
    EQUAL(prof_get_stats(NULL).unfinished, 2);
    EQUAL(prof_get_stats(NULL).lost, 0);
}

/* PROF_NOW() counts in the upper half of 64 bits. */
static void test_upper_half(void) {
    uint64_t before = idle_ticks;
    prof_average row;
    idle_ticks |= (uint64_t)1 << 63;
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BEGIN("open");
    idle_ticks += 100000;
    usleep(120000);                      /* a shorter session's rate is the process's */
    EQUAL(prof_key_averages(prof_stop(), NULL, &row, 1), 1);
    CHECK(row.cpu_time_total_ns > 0, "an open zone took no time");
    idle_ticks = before;
}

static void go_down(int zones, bool ones) {
    uint64_t before = idle_ticks;
    if (ones && zones % 7 == 0) idle_ticks = UINT64_MAX - 1;
    PROF_BLOCK("down") {
        if (ones && zones % 7 == 0) idle_ticks = before;
        if (zones > 1) go_down(zones - 1, ones);
    }
}

/* More zones than max_depth while the clock's upper half is all ones, all the time or at some of
   its readings: each has a place or a count. */
static void test_upper_half_all_ones(void) {
    static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_RING, PROF_MODE_AGGREGATE };
    uint64_t before = idle_ticks;
    for (int i = 0; i < 6; i++) {
        prof_desc desc;
        prof_stats stats;
        memset(&desc, 0, sizeof desc);
        desc.mode = modes[i / 2];
        idle_ticks = i % 2 ? before : UINT64_MAX - UINT32_MAX / 2;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int k = 0; k < 1000; k++) go_down(100, i % 2 != 0);
        stats = prof_get_stats(prof_stop());
        EQUAL(stats.recorded + stats.summed + stats.overwritten - stats.lost, 100000);
        EQUAL(stats.dropped, 0);
    }
    idle_ticks = before;
}

int main(void) {
    RUN(test_end_after_the_stop);
    RUN(test_open_after_idle);
    RUN(test_os_clock_by_hand);
    RUN(test_one_pair_of_clocks);
    RUN(test_rate_of_a_short_session);
    RUN(test_upper_half);
    RUN(test_upper_half_all_ones);
    return test_end();
}
