/* The ranks that traces are of: for commands that take several. */
#ifndef PROF_RANK_ID_H
#define PROF_RANK_ID_H

#include "input/trace_event.h"

typedef struct rank_id {
    const char *path;
    bool told;                   /* by the trace; else rank is the file's place among all */
    int64_t rank, world_size;    /* 0: not told */
    int64_t first_ns, last_ns;   /* of its calls, on the clock of all; 0, 0: not known */
} rank_id;

/* Takes rank and world size where the member is distributedInfo. */
void rank_read(rank_id *id, const trace_member *member);

/* Is one a later or earlier window of the other's rank? */
bool rank_is_window(const rank_id *one, const rank_id *other);

/* Where a file does not tell its rank, or two that are no windows of it tell the same: ranks are 0,
   1, ... in the order of the files, and a line says so. always: also where no file tells one. */
void ranks_number(rank_id *const *ids, size_t count, bool always);

/* ---- The clocks of several files: --align and --offset ---- */

#define ALIGN_OPTIONS(align, offsets) \
    {"align", 'a', OPTION_TEXT, &(align), "BY", \
     "base: by the traces' base times (default); collectives: then so that collectives end " \
     "together; NAME: so that the calls of that name do"}, \
    {"offset", 0, OPTION_LIST, &(offsets), "FILE=TIME", \
     "is added to that file's times: node1.json=-1.5ms"}

const char *align_zone(const char *align);       /* the NAME of --align; NULL: none */
int64_t offset_of(const text_list *offsets, const char *path);
/* Is each the offset of one of these files? false: told. */
bool offsets_fit(const text_list *offsets, char *const *paths, int count);

#endif
