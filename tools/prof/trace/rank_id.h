/* The ranks that traces are of: for commands that take several. */
#ifndef PROF_RANK_ID_H
#define PROF_RANK_ID_H

#include "input/trace_event.h"

typedef struct rank_id {
    const char *path;
    bool told;                   /* by the trace; else rank is the file's place among all */
    int64_t rank, world_size;    /* 0: not told */
} rank_id;

/* Takes rank and world size where the member is distributedInfo. */
void rank_read(rank_id *id, const trace_member *member);

/* Where a file does not tell its rank, or two tell the same: ranks are 0, 1, ... in the order of
   the files, and a line says so. always: also where no file tells one. */
void ranks_number(rank_id *const *ids, size_t count, bool always);

#endif
