/* The clock of the hot path, set by hand; included before test.h, by step_prof.c too. */
#ifndef STEP_CLOCK_H
#define STEP_CLOCK_H

#include <stdint.h>

extern uint64_t step_ticks;
#define PROF_NOW() __atomic_add_fetch(&step_ticks, 1, __ATOMIC_RELAXED)

#endif
