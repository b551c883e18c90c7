/* When devices were idle, and what they waited for: by the rules of prof gaps --help. */
#ifndef PROF_GAPS_H
#define PROF_GAPS_H

#include "analysis/busy.h"
#include "trace/trace.h"

enum { IDLE, HOST, SYNCHRONIZE, LAUNCH, WAIT, TURNAROUND, UNKNOWN, CAUSES };
extern const char *const cause_names[CAUSES];

typedef struct idle_gap {
    int64_t start_ns, ns[CAUSES];
    int64_t waited_to_ns, launched_ns;   /* where waits count from: begin, or end of the last one;
                                            and up to */
    uint32_t row;               /* the device's or stream's, in rows */
    uint32_t before, after;     /* works: that it ends with, that it follows */
} idle_gap;

/* Of a cause on a device, or of all of them: IDLE. */
typedef struct cause_sum {
    int64_t ns, longest_ns;
    uint64_t count;
} cause_sum;

typedef struct row_sum { bool any; busy_time busy; cause_sum causes[CAUSES]; } row_sum;

typedef struct gap_list {
    idle_gap *gaps;             /* by (row, start) */
    size_t gap_count, gap_capacity;
    row_sum *rows;              /* by thread: of a stream, or of a device the one met first */
    odd_works odd;
    far_times far;
} gap_list;

/* The trace is nested and owned; a work's key is its kind (busy.h). */
void gaps_find(gap_list *found, const struct trace *t, bool streams, double short_ns);
void gaps_free(gap_list *found);
int64_t gap_ns(const idle_gap *gap);
int gap_cause(const idle_gap *gap);              /* the one that has most of it */

#endif
