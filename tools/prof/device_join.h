/* The device work of a trace by the ids of what launched it, in as much memory as there are ids:
   for the sums of whoever meets the launches in another order.

       device_join join = {0};
       join_call(&join, TRACE_CPU_OP, id) ... join_work(&join, id, correlation, ns)
       join_finish(&join);
       join_take(&join, TRACE_CPU_OP, id) ... */
#ifndef PROF_DEVICE_JOIN_H
#define PROF_DEVICE_JOIN_H

#include "trace_event.h"

#define NO_ID INT64_MIN         /* the trace does not tell */

typedef struct device_join {
    map ops, launches;          /* External id of an op, correlation of a launch -> its ns */
    struct early_work { int64_t external, correlation, ns; } *early;     /* it came before them */
    size_t early_count, early_capacity;
    bool by_launch;             /* some work is a launch's */
    uint64_t works, unowned;
} device_join;

/* Whether an op of that external id has the work, and not the launch of that correlation id: where
   the one only repeats the other (2022, 2023) the launch tells, if it is there. */
static inline bool op_has_work(bool op, bool launch, int64_t external, int64_t correlation) {
    return op && !(launch && external == correlation);
}

/* A call that may launch work; id: of a TRACE_RUNTIME its correlation, else its External id. */
void join_call(device_join *join, uint8_t kind, int64_t id);
void join_work(device_join *join, int64_t external, int64_t correlation, int64_t ns);
void join_finish(device_join *join);             /* all are there */
/* The work of a call; of calls with the same id the first that asks has it. */
int64_t join_take(device_join *join, uint8_t kind, int64_t id);
void join_free(device_join *join);

#endif
