/* Moments that are far from all other of a file, as where a time was lost: a year or more away; or
   at 0 and of no length, where all others are far from 0 for how long they last together. A long
   event that ends where others begin is none: so both ends are looked at. */
#ifndef PROF_FAR_TIMES_H
#define PROF_FAR_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAR_YEAR_NS (INT64_C(365) * 86400 * 1000000000)

/* Moments less than a year from each other. */
typedef struct far_group {
    int64_t first_ns, last_ns;
    int64_t begin_ns;            /* the earliest begin; INT64_MAX: only ends are here */
    uint64_t count, where;       /* its events, and what the caller said of the first */
} far_group;

/* Of a file. Zero-initialise. */
typedef struct far_times {
    far_group groups[4];
    unsigned count, last;        /* groups, and the one that the last moment was in */
} far_times;

/* First each event is noted, in any order; then asked for. */
void far_note(far_times *t, int64_t start_ns, int64_t end_ns, uint64_t where);
bool far_is(const far_times *t, int64_t start_ns, int64_t end_ns);
/* The group that has the most; NULL: there is none. */
const far_group *far_main(const far_times *t);

#endif
