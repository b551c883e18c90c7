/* Collectives of several ranks: kernels of communication that are one, joined over the files. For
   `prof ranks` and for --align collectives.

       collectives c = {0};
       for each file: collectives_take(&c, &event) ..., then collectives_end_file(&c, base);
       collectives_join(&c, owners);
       collectives_clock(&c, first, owner) ...
       collectives_free(&c);                                                                   */
#ifndef PROF_COLLECTIVES_H
#define PROF_COLLECTIVES_H

#include "trace/rank_id.h"

enum { COLLECTIVE_UNKNOWN = -1 };

typedef struct collective {
    uint32_t name;               /* in collectives.texts, as is: */
    uint32_t process_group;      /* UINT32_MAX: unknown */
    bool has_seq, synchronizes;  /* no rank ends before all have begun */
    int64_t seq, group_size;     /* COLLECTIVE_UNKNOWN */
    int64_t bytes;               /* COLLECTIVE_UNKNOWN: or the ranks disagree */
    int64_t moved;               /* of an uneven all-to-all: the most that a rank sends to others or
                                    has from them; COLLECTIVE_UNKNOWN */
    double moved_sum[2];         /* sent, and received, by moved_parts ranks */
    int64_t moved_most[2];
    uint32_t moved_parts;
} collective;

/* Whose a file is: of a rank, whose first file is the owner, the how manieth window. */
typedef struct collective_owner { uint32_t owner, window; int64_t rank; } collective_owner;

typedef struct collective_part { /* the kernel of one file in it */
    int64_t begin_ns, end_ns;    /* with the file's base */
    uint32_t collective, file;
    uint32_t index;              /* the how manieth of its group and name in the file, from 0 */
} collective_part;

typedef struct collectives {
    interner texts;
    collective *list;
    size_t count, capacity;
    collective_part *parts;      /* by owner, then by window */
    size_t part_count, part_capacity;
    size_t *ends;                /* of each owner's parts */
    size_t file_count, file_capacity;
    uint32_t zone;               /* 1 + the name of what collectives_take_zone took; 0: nothing */
    /* inside */
    map numbers;                 /* group, Seq and occurrence -> number in list */
    struct collective_kernel *kernels;
    struct collective_file *files;
    size_t kernel_count, kernel_capacity;
} collectives;

/* event: of the kind communication. What tells no collective is none. place: of the rank, in a file
   of several. */
void collectives_take(collectives *c, const trace_event *event, uint32_t place);
/* Calls of one name, which end on all ranks together: clocks are then set by them alone. */
void collectives_take_zone(collectives *c, const trace_event *event, uint32_t place);
/* Files are 0, 1, 2, ...; one of several ranks counts as so many. */
void collectives_end_file(collectives *c, int64_t base_ns, uint32_t ranks);
void collectives_join(collectives *c, const collective_owner *owners);       /* of each file */

/* What is to be added to the owner's times so that synchronizing collectives end when they do on
   the first: the median of the differences, the upper one of two; or a line, where its clock
   drifts. */
typedef struct clock_fit {
    clock_line line;
    size_t count;                /* so many were in both; 0: none, and nothing is to be added */
    size_t first_has, owner_has; /* so many each */
    int64_t spread_ns;           /* the median of how far they are from it */
} clock_fit;
clock_fit collectives_clock(const collectives *c, uint32_t first, uint32_t owner);
/* The most that a rank sends or receives, by the mean of all; 0: not known. */
double collective_imbalance(const collective *c);
void collectives_free(collectives *c);

/* busbw = algbw x this; n: of the group. 0: not known for the name. */
double collective_factor(const char *name, int64_t n);

#define COLLECTIVES_HELP \
    "  A kernel's collective is what its argument Collective name says, else what its\n" \
    "  own name holds (AllReduce, ReduceScatter, AllGather, AllToAll, SendRecv,\n" \
    "  Broadcast, Reduce). Kernels of different ranks are one if Process Group Name,\n" \
    "  Process Group Ranks, name and Seq are equal; where there is no Seq, or a rank\n" \
    "  has it twice, the n-th by begin belongs to the n-th. A send and its receive\n" \
    "  are one, by the rank that each names.\n"

#endif
