/* prof.h whose hot path reads a clock that a test sets by hand. */
#include "step_clock.h"

#define PROF_IMPLEMENTATION
#include "../../prof.h"
#include "../inside.h"

uint64_t step_ticks;
bool inside_try_lock(void) { return prof__try_lock(); }
void inside_unlock(void) { prof__unlock(); }
