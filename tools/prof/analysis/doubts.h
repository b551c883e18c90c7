/* What a trace has none or too much of, so that its maker may have lost it: launches without their
   work, steps without device work or without a call that the others have, a collective of a
   thousand times its median, as many events as an exporter writes at most. Lines for a report. */
#ifndef PROF_DOUBTS_H
#define PROF_DOUBTS_H

#include "trace/step_times.h"
#include "trace/trace.h"

/* Zero-initialise. */
typedef struct doubts {
    step_times steps;            /* of the file being read, */
    uint64_t events;             /* and its complete events */
    arena memory;
    text_list lines;
} doubts;

/* Each event of the file. */
static inline void doubts_take(doubts *d, const trace_event *event) {
    d->events += event->phase == 'X';
    if (event->kind == TRACE_ANNOTATION) step_times_take(&d->steps, event);
}
void doubts_end_file(doubts *d, const struct trace *t);      /* after trace_own */
void doubts_free(doubts *d);

#endif
