/* The ranks that traces are of: for commands that take several. */
#ifndef PROF_RANK_ID_H
#define PROF_RANK_ID_H

#include "input/trace_event.h"

typedef struct rank_id {
    const char *path;
    bool failed;                 /* nothing of it could be read: it is of no rank */
    bool told;                   /* by the trace; else rank is the file's place among all */
    int64_t rank, world_size;    /* 0: not told */
    int64_t first_ns, last_ns;   /* of its calls, on the clock of all; 0, 0: not known */
} rank_id;

/* Takes rank and world size where the member is distributedInfo. */
void rank_read(rank_id *id, const trace_member *member);

/* The files by rank and time, without those that failed: so many are left. Their rows, of that
   size, begin with their rank_id. Where a file does not tell its rank, or two that are no windows
   of it tell the same, ranks are 0, 1, ... in the order of the files, and a line says so. always:
   also where no file tells one. */
uint32_t *ranks_order(void *rows, size_t size, size_t *count, bool always);

/* ---- The clocks of several files: --align and --offset ---- */

typedef struct align_options {
    const char *by;              /* "collectives", or NAME; NULL: base */
    text_list offsets;           /* FILE=TIME */
} align_options;
#define ALIGN_OPTIONS(o) \
    {"align", 'a', OPTION_TEXT, &(o).by, "BY", \
     "base: by the traces' base times (default); collectives: then so that collectives end " \
     "together; NAME: so that the calls of that name do"}, \
    {"offset", 0, OPTION_LIST, &(o).offsets, "FILE=TIME", \
     "is added to that file's times: node1.json=-1.5ms"}

/* Is each the offset of one of these files? false: told. "base" becomes NULL. */
bool align_fits(align_options *o, char *const *paths, int count);
bool align_by_collectives(const align_options *o);
const char *align_zone(const align_options *o);  /* the NAME of --align; NULL: none */
int64_t align_offset(const align_options *o, const char *path);

#endif
