/* The arrows of a trace (its flows), from call to call.

       flows f = {0};
       for each event of phase s, t, f: flows_add(&f, event, row); for each call an item (lanes.h)
       items_sort(&items);
       flows_bind(&f, &items);
       flows_match(&f, take, user);
       flows_free(&f);                                                                       */
#ifndef PROF_FLOWS_H
#define PROF_FLOWS_H

#include "base/common.h"
#include "input/trace_event.h"
#include "trace/lanes.h"

/* One end of an arrow. */
typedef struct flow_end {
    uint64_t flow;
    int64_t ts_ns, id;
    uint32_t call;               /* the index in items.order of the one around it, FLOWS_NO_CALL */
    uint32_t cat;                /* in flows.cats */
    uint32_t row;
    char phase;
    bool has_id;                 /* id is a number */
    bool at_instant;             /* a task was made ready: the arrow is the instant's */
} flow_end;
#define FLOWS_NO_CALL UINT32_MAX

typedef struct flows {
    flow_end *ends;              /* as they came */
    size_t count, capacity;
    interner cats;
    uint64_t unmatched;          /* ends without another, or in no call */
} flows;

void flows_add(flows *f, const trace_event *event, uint32_t row);
/* Ends to the calls they lie in; what is no call may be an instant. */
void flows_bind(flows *f, const row_items *items);
/* Tells of each pair of ends that are bound. */
void flows_match(flows *f, void (*take)(void *user, const flow_end *from, const flow_end *to),
                 void *user);
void flows_free(flows *f);

#endif
