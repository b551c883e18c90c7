#include "clock.h"

#include <stdlib.h>
#include <string.h>

#define GAP_NS 100000                    /* asking takes less than a hundredth of it */

__thread work_clock work_time;
uint64_t work_gap = UINT64_MAX;          /* never: the clock is the counter */
static double ticks_per_ns;

static uint64_t read_ns(int clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A thread's first reading is after the longest gap: then it has not been away. */
void work_ask(uint64_t now) {
    work_clock *c = &work_time;
    uint64_t ran_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t gap = now - c->last, since = now - c->asked;
    uint64_t ran = (uint64_t)((double)(ran_ns - c->ran_ns) * ticks_per_ns);
    if (c->last && ran < since) c->away += since - ran < gap ? since - ran : gap;
    c->asked = now;
    c->ran_ns = ran_ns;
}

void work_clock_catch_up(void) {
    (void)work_now();
    work_time.away = 0;
}

void work_clock_open(void) {
    const char *which = getenv("WORK_CLOCK");
    uint64_t begin, end, ns = read_ns(CLOCK_MONOTONIC), ran;
    if (!which || strcmp(which, "cpu") != 0) return;
    WORK_TICKS(begin);
    do ran = read_ns(CLOCK_MONOTONIC) - ns; while (ran < 20000000);
    WORK_TICKS(end);
    ticks_per_ns = (double)(end - begin) / (double)ran;
    work_gap = (uint64_t)(GAP_NS * ticks_per_ns);
}

/* What prof.h pairs the clock's readings with. A thread that was away has fewer ticks than another
   one in the same ns: then a tick counts as one, for all. */
int work_gettime(int clock, struct timespec *time) {
    uint64_t now;
    if (clock != CLOCK_MONOTONIC || work_gap == UINT64_MAX) return clock_gettime(clock, time);
    now = work_now();
    time->tv_sec = (time_t)(now / 1000000000u);
    time->tv_nsec = (long)(now % 1000000000u);
    return 0;
}
