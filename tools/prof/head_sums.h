/* The sums in the head of prof.h's traces: of the zones that came when the arena was full, which
   are in no timeline. See prof_write_chrome in prof.h. */
#ifndef PROF_HEAD_SUMS_H
#define PROF_HEAD_SUMS_H

#include "trace_reader.h"

typedef struct head_sums {
    prof_average *rows;         /* one a name, in the head's order */
    size_t count, capacity;
    uint64_t odd;               /* rows that make no sense, left out */
    int64_t total_ns;           /* of all rows */
    bool timeline;              /* there is one beside */
    arena memory;
} head_sums;

/* The rows in a head, as JSON; empty: it has none. */
trace_text head_sums_find(trace_text head);
/* head: the value of "prof", or the arguments of an array's event; it may hold anything. */
void head_sums_read(head_sums *sums, trace_text head);
void head_sums_free(head_sums *sums);

#endif
