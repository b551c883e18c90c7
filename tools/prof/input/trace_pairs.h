/* Events that a trace tells in two parts, a begin and an end, as one complete event: B and E of a
   thread, b and e of an asynchronous range. The trace reader asks it. */
#ifndef PROF_TRACE_PAIRS_H
#define PROF_TRACE_PAIRS_H

#include "input/trace_event.h"

typedef struct trace_pairs trace_pairs;

typedef enum pair_result {
    PAIR_WHOLE,                  /* the event is complete, made so where it ended a pair */
    PAIR_KEPT,                   /* a begin, kept until its end comes */
    PAIR_NO_BEGIN                /* an end of nothing */
} pair_result;

trace_pairs *pairs_open(void);
/* The next event of the file; key: what a begin and its end have in common. What is made lasts
   until the next call, its kind is the caller's to find. */
pair_result pairs_take(trace_pairs *pairs, trace_event *event, uint64_t key);
/* At the end of the file, the next of the events that never ended; false: none. */
bool pairs_left(trace_pairs *pairs, trace_event *event);
void pairs_close(trace_pairs *pairs);

#endif
