/* PROF_NOW() of these programs: the CPU counter. With WORK_CLOCK=cpu it is less the time for which
   the thread was away because others had its processor: a slice of some ms would be the share of
   whatever function it fell into, and two runs could not be compared while the machine is busy. */
#ifndef WORK_CLOCK_H
#define WORK_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#  define WORK_TICKS(n) do { uint32_t lo_, hi_; \
    __asm__ volatile("rdtsc" : "=a"(lo_), "=d"(hi_)); n = (uint64_t)hi_ << 32 | lo_; } while (0)
#elif defined(__aarch64__)
#  define WORK_TICKS(n) __asm__ volatile("mrs %0, cntvct_el0" : "=r"(n))
#else
#  error "no counter is known"
#endif

typedef struct work_clock {              /* a thread's */
    uint64_t last, away;                 /* ticks: the last reading; how long it was away */
    uint64_t asked, ran_ns;              /* when the OS was asked last, and what it said */
} work_clock;

extern __thread work_clock work_time;
extern uint64_t work_gap;                /* ticks without a reading after which the OS is asked */
void work_ask(uint64_t now);

static inline uint64_t work_now(void) {
    uint64_t now;
    WORK_TICKS(now);
    if (__builtin_expect(now - work_time.last > work_gap, 0)) work_ask(now);
    work_time.last = now;
    return now - work_time.away;
}
#define PROF_NOW() work_now()

void work_clock_open(void);              /* reads the environment */
void work_clock_catch_up(void);          /* the calling thread's becomes the latest of all */
int work_gettime(int clock, struct timespec *time);
#endif
