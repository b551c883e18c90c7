/* The loops of bench.c whose clock is a counter in memory, which takes an addition to read: beside
   the CPU's, most of what the recorder does costs no time. */
#include <stdint.h>

static uint64_t work_ticks;
#define PROF_NOW() (work_ticks += 16)
#define PROF_STATIC
#define PROF_IMPLEMENTATION
#include "prof.h"
#include "bench_work.h"

#include <stdio.h>
#include <stdlib.h>

#define BARRIER() __asm__ volatile("" ::: "memory")

enum { NAMES = 16 };
static char names[NAMES][16];

/* Each name has been pushed once: only the first time is it looked up. */
void work_open(void)
{
    if (prof_start(NULL) != PROF_OK)
        exit(2);
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "layer.%02d.fwd", i);
    work_pushes(NAMES);
    work_zones(1);
}

__attribute__((noinline, aligned(64))) void work_zones(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PROF_SCOPE("zone");
        BARRIER();
    }
}

__attribute__((noinline, aligned(64))) void work_pushes(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        prof_push(names[i % NAMES]);
        BARRIER();
        prof_pop();
    }
}

void work_close(void)
{
    prof_stop();
    prof_thread_end();
    if (prof_get_stats().dropped) {
        fputs("bench: zones were dropped\n", stderr);
        exit(2);
    }
}
