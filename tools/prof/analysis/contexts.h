/* Who had the core of a microcontroller: its tasks, interrupts, and what is neither. `prof report`
   has a line for each below the table. */
#ifndef PROF_CONTEXTS_H
#define PROF_CONTEXTS_H

#include "trace/trace.h"

/* After trace_nest. Adds a line for each, the longest first, whose texts lie in memory; none where
   threads have cores of their own. */
void contexts_tell(const struct trace *t, arena *memory, text_list *lines);

#endif
