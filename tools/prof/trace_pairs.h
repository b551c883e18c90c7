/* Events that a trace tells in two parts, a begin and an end, as one complete event: B and E of a
   thread, b and e of an asynchronous range. Part of the trace reader. */
#ifndef PROF_TRACE_PAIRS_H
#define PROF_TRACE_PAIRS_H

#include "trace_reader.h"

typedef struct trace_pairs trace_pairs;

trace_pairs *pairs_open(void);
/* Of the reader's event: true: it is complete, made so where it ends a pair. false: it is kept
   until its end comes, or ends nothing (counted). Its texts last until the next call. */
bool pairs_take(trace_pairs *pairs, trace_reader *reader);
/* At the end of the file, the next of the events that never ended; false: none. */
bool pairs_left(trace_pairs *pairs, trace_reader *reader);
void pairs_close(trace_pairs *pairs);

#endif
