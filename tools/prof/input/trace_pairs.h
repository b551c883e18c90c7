/* Events that a trace tells in two parts, a begin and an end, as one complete event: B and E of a
   thread; b and e, or S and F, of an asynchronous range. The rules stand in trace/README.md.

       if (!pairs_take(pairs, &half, trace_pair_key(&half))) an end of nothing;
       while (pairs_next(pairs, &event)) use(&event);
       ...
       pairs_end(pairs, trace_end_ns, &first);
       while (pairs_next(pairs, &event)) use(&event);                                             */
#ifndef PROF_TRACE_PAIRS_H
#define PROF_TRACE_PAIRS_H

#include "input/trace_event.h"

typedef struct trace_pairs trace_pairs;

trace_pairs *pairs_open(void);
/* The next half of the file; key: what a begin and its end have in common. false: an end of
   nothing. */
bool pairs_take(trace_pairs *pairs, const trace_event *half, uint64_t key);
/* One whose time may be before that of an earlier one: it is taken at the file's end, in the order
   of time. */
void pairs_hold(trace_pairs *pairs, const trace_event *half, uint64_t key);
/* The next event that is complete, the inner ones first; end_offset 0: a begin without an end. It
   lasts until the next call, its kind is the caller's to find. false: none is now. */
bool pairs_next(trace_pairs *pairs, trace_event *event);
/* At the end of the file: takes what was held, and what is open ends at end_ns. Returns how many
   held ends were of nothing, *first is the place of one. */
uint64_t pairs_end(trace_pairs *pairs, int64_t end_ns, uint64_t *first);
void pairs_close(trace_pairs *pairs);

#endif
