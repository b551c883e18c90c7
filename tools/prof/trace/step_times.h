/* The steps of a trace: when each ProfilerStep#N was. Zero-initialise. */
#ifndef PROF_STEP_TIMES_H
#define PROF_STEP_TIMES_H

#include "input/trace_event.h"

enum { NO_STEP = -1 };

typedef struct step_times {
    struct step_time { int64_t start_ns, end_ns, number; } *list;
    size_t count, capacity;
    bool sorted;
} step_times;

void step_times_take(step_times *t, const trace_event *event);       /* if it is a step */
/* The step in which that moment is, or NO_STEP; once all are there. */
int64_t step_times_at(step_times *t, int64_t ns);
void step_times_free(step_times *t);

#endif
