/* The ranks that traces are of: for commands that take several. */
#ifndef PROF_RANK_ID_H
#define PROF_RANK_ID_H

#include "input/trace_event.h"

typedef struct rank_id {
    const char *path;
    bool failed;                 /* nothing of it could be read: it is of no rank */
    bool told;                   /* by the trace; else rank is the file's number among all */
    int64_t rank, world_size;    /* 0: unknown */
    int64_t first_ns, last_ns;   /* of its calls, on the clock of all; 0, 0: not known */
} rank_id;

/* Takes rank and world size where the member is distributedInfo. */
void rank_read(rank_id *id, const trace_member *member);

/* The ranks of what prof merge has made of several files: its head lists them, and the processes of
   each have numbers of their own. Zero-initialise: of one rank; merged_free. */
enum { PIDS_OF_A_RANK = 100000 };
typedef struct merged_ranks { int64_t *ranks; uint32_t count, capacity; } merged_ranks;
void merged_read(merged_ranks *m, const trace_member *member);
static inline bool merged_any(const merged_ranks *m) { return m->count > 1; }
/* The place in ranks of a process; 0: the first one's, or none's. Windows of a rank, which stand
   one behind the other, have that of the first. */
uint32_t merged_place(const merged_ranks *m, int64_t pid);
uint32_t merged_next(const merged_ranks *m, uint32_t place);     /* of the next rank; 0: none */
void merged_free(merged_ranks *m);

/* The files by rank and time, without those that failed: so many are left. Their rows, of that
   size, begin with their rank_id. Where a file does not tell its rank, or two that are no windows
   of it tell the same, ranks are 0, 1, ... in the order of the files, and a line says so. always:
   also where no file tells one. */
uint32_t *ranks_order(void *rows, size_t size, size_t *count, bool always);

/* ---- The clocks of several files: --align and --offset ---- */

typedef struct align_options {
    const char *by;              /* "collectives", "start", "zone:NAME" or NAME; NULL: base */
    text_list offsets;           /* FILE=TIME */
} align_options;
#define ALIGN_OPTIONS(o) \
    {"align", 'a', OPTION_TEXT, &(o).by, "BY", \
     "base: by the traces' base times (default); collectives: then so that collectives end " \
     "together; zone:NAME: so that calls of that name end together; start: so that files " \
     "begin together"}, \
    {"offset", 0, OPTION_LIST, &(o).offsets, "FILE=TIME", \
     "add TIME to that file's times: node1.json=-1.5ms"}
#define ALIGN_HELP \
    "  base         by baseTimeNanoseconds alone\n" \
    "  collectives  then so that synchronizing collectives end on each rank when\n" \
    "               they end on the lowest rank, by the median of the differences\n" \
    "  zone:NAME    the same by the calls of that name: the n-th call of each rank,\n" \
    "               which all ranks leave together (MPI_Barrier). A rank without\n" \
    "               such a call is an error\n" \
    "  start        so that each file's first call begins when that of the lowest\n" \
    "               rank does\n" \
    "  If twenty or more ends show that a clock drifts, the drift is taken out too:\n" \
    "  that is so when the ends are half as far from a line as from their median.\n" \
    "  The clock's error is the distance that half of the ends are within. --offset\n" \
    "  FILE=TIME is added to a file's times before all this.\n"

/* What is to be added to the times of a clock: add_ns at at_ns, and rate more for each ns since. */
typedef struct clock_line { int64_t at_ns, add_ns; double rate; } clock_line;
int64_t clock_add(const clock_line *clock, int64_t ns);

/* Is each the offset of one of these files? false: reported. "base" becomes NULL. */
bool align_fits(align_options *o, char *const *paths, int count);
bool align_is(const align_options *o, const char *by);       /* "collectives", "start" */
bool align_given(const align_options *o);
const char *align_zone(const align_options *o);  /* the NAME of zone:NAME; NULL: none */
int64_t align_offset(const align_options *o, const char *path);

#endif
