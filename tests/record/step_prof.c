/* prof.h whose hot path reads a clock that a test sets by hand. To it the children that step.h
   forks are the same process. */
#include "step_clock.h"

#include <unistd.h>
static int step_process(void) { return 1; }
#define getpid step_process

#include "../inside.h"
#define PROF_IMPLEMENTATION
#define PROF_OS_CLOCK inside_os_clock
#include "../../prof.h"

bool inside_os_clock;
uint64_t step_ticks;
bool inside_try_lock(void) { return prof__try(&prof__port.lock); }
void inside_unlock(void) { prof__unlock(); }
