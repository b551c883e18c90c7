/* What a step's time went to: for prof steps, --worst and --critical. */
#ifndef PROF_STEP_PARTS_H
#define PROF_STEP_PARTS_H

#include "trace/trace.h"

typedef struct step {
    int64_t start_ns, dur_ns;    /* the file's time */
    uint32_t file, name;         /* name: the caller's */
    int64_t pid, tid;
} step;

typedef enum part_kind {
    PART_CPU, PART_DEVICE, PART_LAUNCH, PART_QUEUE, PART_WAIT, PART_OUTSIDE, PART_KINDS
} part_kind;
extern const char *const part_names[PART_KINDS];

/* A name's share of a step. */
typedef struct step_part {
    uint32_t name;               /* in tree.names; UINT32_MAX: none */
    uint8_t kind;                /* part_kind */
    uint64_t count;
    int64_t ns;
} step_part;

typedef struct step_parts { step_part *list; size_t count, capacity; map numbers; } step_parts;

/* A file with its calls and works, and where each thread is at any time. */
typedef struct step_file {
    struct trace tree;
    struct step_piece { int64_t start_ns, end_ns; uint32_t call; } *pieces;
    size_t piece_count, piece_capacity;
    size_t *piece_ends;          /* of each thread */
    uint32_t *by_start;          /* works by (row, start) */
    uint32_t *indexes;           /* of a work in by_start */
    uint32_t *by_end;            /* works by end */
    uint32_t *backwards;         /* autograd's outermost calls, by end */
    size_t backward_count;
} step_file;

int step_file_read(step_file *f, const char *path);
void step_file_free(step_file *f);

/* By name: self times of all calls that begin in the step, on any thread, and times of the works
   that do. */
void step_sums(const step_file *f, const step *s, step_parts *parts);
/* By name and kind: what the step's time hangs on; the sum is its duration. */
void step_critical(step_file *f, const step *s, step_parts *parts);

#define STEP_CRITICAL_HELP \
    "  From the step's end backwards, each moment belongs to one thing:\n" \
    "  cpu      to the innermost call of the step's thread; where that waits for\n" \
    "           autograd's thread, to the innermost call there\n" \
    "  wait     where the call waits for the device (...Synchronize, a copy that is\n" \
    "           not Async), to the wait, back to the end of the work that ended last\n" \
    "  device   then to that work, a kernel, copy or fill, back to its begin\n" \
    "  queue    then, if the work before it in its stream ended after its launch, to\n" \
    "           the time between the two, and to that work; if it began over 10 us\n" \
    "           after both, to the work of another stream that ended last before it\n" \
    "  launch   else from its begin back to the begin of the call that launched it,\n" \
    "           and then to that call's thread\n" \
    "  outside  to no call or work that the trace has\n"

#endif
