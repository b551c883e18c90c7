/* prof.h whose hot path reads a clock that a test sets by hand. */
#include "step_clock.h"

#define PROF_IMPLEMENTATION
#include "../../prof.h"

uint64_t step_ticks;
