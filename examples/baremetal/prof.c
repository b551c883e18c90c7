/* The library, in a file of its own: the linker then leaves out what the program does not call. */
#include "board.h"
#if !defined(PROF_FREESTANDING) && __STDC_HOSTED__   /* a PC has a clock */
#elif defined(FAKE_CLOCK)
#  define PROF_NOW() fake_clock(NULL)
#elif defined(BOARD_SYSTICK)           /* a kernel has it */
#  include "kernel/systick.h"
#  define PROF_NOW() prof_systick()
#elif defined(BOARD_CLOCK_AT)
#  define PROF_CLOCK_AT BOARD_CLOCK_AT
#elif defined(BOARD_CLOCK)
#  define PROF_NOW() board_clock()
#endif
#ifdef BOARD_AN521
#  include "cores.h"                      /* both of its cores record */
#endif
#ifdef BOARD_UNPRIVILEGED
#  include "unprivileged.h"               /* tasks without privileges record */
#endif
#define PROF_IMPLEMENTATION
#include "prof.h"
#if PROF__BARE
#  include "contexts.h"                 /* left out where nobody calls it */
#endif
