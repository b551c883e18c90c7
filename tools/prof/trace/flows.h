/* The arrows of a trace (its flows), from call to call.

       flows f = {0};
       for each event of phase s, t, f: flows_add(&f, event), and into the sorter a span with
           what FLOWS_END and order its number; for each call one with what FLOWS_CALL
       flows_bind(&f, sorter, NULL);
       flows_match(&f, take, user);
       flows_free(&f);

   In constant memory, but for the starts of one flow.                                      */
#ifndef PROF_FLOWS_H
#define PROF_FLOWS_H

#include "base/span_sorter.h"
#include "base/spill.h"
#include "input/trace_event.h"

enum { FLOWS_CALL = 0, FLOWS_END = 1 };          /* span.what */

/* One end of an arrow. call: that it is bound to, or FLOWS_NO_CALL. */
typedef struct flow_end {
    uint64_t flow, call, number; /* number: its place among all */
    int64_t ts_ns, id;
    uint32_t cat;                /* in flows.cats */
    char phase;
    bool has_id;                 /* id is a number */
} flow_end;
#define FLOWS_NO_CALL UINT64_MAX

typedef struct flows {
    spill *ends;                 /* by number */
    span_sorter *bound;          /* by flow */
    uint64_t count;
    flow_end *starts;            /* of a flow */
    size_t capacity;
    interner cats;
    uint64_t unmatched;          /* ends without another, or in no call */
} flows;

void flows_add(flows *f, const trace_event *event);
/* Binds ends to the calls they lie in. A call's number is span.id, or, with count (0 at first), its
   place among all in the sorter's order. The sorter is read from its first span on. */
void flows_bind(flows *f, span_sorter *sorter, uint64_t *count);
/* Tells of each pair of ends that are bound. */
void flows_match(flows *f, void (*take)(void *user, const flow_end *from, const flow_end *to),
                 void *user);
void flows_free(flows *f);

#endif
