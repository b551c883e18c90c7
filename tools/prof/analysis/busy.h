/* What devices do: compute, communicate, copy; and for how long. `prof ranks`, `prof gaps`, the
   line under `prof report`'s table and its page all have it from here.

   Device work is every kernel, copy and fill. The first of these that holds is its kind:
     memory          a copy or fill by its category, or ROCm's kernels that are one
     communication   it has an argument "Collective name"
     compute         its name begins with triton_: generated names list what they were fused from
     communication   its name holds one of WORK_WORDS, in upper or lower case, with _ or -
     compute         all the rest                                                              */
#ifndef PROF_BUSY_H
#define PROF_BUSY_H

#include "input/far_times.h"
#include "input/trace_event.h"

typedef enum work_kind { WORK_COMPUTE, WORK_COMMUNICATION, WORK_MEMORY, WORK_KINDS } work_kind;

/* Kinds of the names that were seen. Zero-initialise; map_free. */
work_kind work_kind_of(map *names, const trace_event *event);

bool work_communicates(trace_text name);         /* a kernel of this name */

/* Does this call of a device's library return only when the device has come to some point? */
bool call_waits(const char *name);

/* The words of communication, and the collective that they name. A LINE is one of --help, too. */
#define WORK_WORDS(LINE) \
    LINE("nccl, rccl, oneccl, hccl, hcom_, msccl, nvshmem, rocshmem", NULL) \
    LINE("::internode::, ::intranode::, ::internode_ll::", NULL) \
    LINE("all_reduce, allreduce, cross_device_reduce", "allreduce") \
    LINE("reduce_scatter, reducescatter", "reducescatter") \
    LINE("all_gather, allgather", "allgather") \
    LINE("all_to_all, alltoall", "alltoall") \
    LINE("collective_permute", "permute")

/* The collective that a name of communication tells; NULL: it tells none. */
const char *work_collective(trace_text name);

/* Of the time from the begin of the first work to the end of the last one. Times in which works of
   a kind overlap count once. So span = kind_ns[WORK_COMPUTE] + busy_exposed() + exposed_memory_ns
   + idle, to the nanosecond. */
typedef struct busy_time {
    bool any;
    int64_t first_ns, last_ns;
    int64_t busy_ns;             /* any work at all */
    int64_t kind_ns[WORK_KINDS];
    int64_t overlap_ns;          /* compute and communication at the same time */
    int64_t exposed_memory_ns;   /* copies and fills with neither */
    int64_t ends_ns[WORK_KINDS]; /* of the works of a kind so far, the latest end */
} busy_time;

void busy_add(busy_time *b, work_kind kind, int64_t start_ns, int64_t end_ns); /* by their start */

/* Times that cannot be, of works in the order of their begins: one that lasts beyond the next begin
   on its stream, as where an end was lost (ROCm); one that is far from all others. */
typedef struct odd_works {
    map rows;                    /* streams */
    struct odd_last { int64_t start_ns, end_ns; } *last;     /* of each its last work */
    size_t count, capacity;
    int64_t whole_ns, over_ns;
    uint64_t over, at_zero, away;        /* away: far, and not at 0 */
} odd_works;
/* far: of the works of its file. false: it is in no span. */
bool odd_take(odd_works *o, const far_times *far, uint64_t row, int64_t start_ns, int64_t end_ns);
size_t odd_text(const odd_works *o, char text[320]);         /* a line; 0: nothing is odd */
void odd_free(odd_works *o);

static inline int64_t busy_span(const busy_time *b) { return b->last_ns - b->first_ns; }
static inline int64_t busy_idle(const busy_time *b) { return busy_span(b) - b->busy_ns; }

/* Communication with no compute at the same time. */
static inline int64_t busy_exposed(const busy_time *b) {
    return b->kind_ns[WORK_COMMUNICATION] - b->overlap_ns;
}

/* A work to be sorted, by device and begin; row: its stream. */
typedef struct busy_work { int64_t start_ns, ns; uint64_t row; uint32_t device, kind; } busy_work;
struct span_sorter *busy_works(void);

/* ---- Of each device of several files, in constant memory ---- */

typedef struct busy_table {
    map names, numbers;          /* kinds of work; file and device -> index in devices */
    struct busy_device {
        const char *path;
        int64_t pid, index;
        uint64_t file;
        char name[64];           /* instead of index: its pid, where that is a text */
    } *devices;
    size_t count, capacity;
    const char *path;            /* of the file being read */
    uint64_t files;
    struct span_sorter *works;
    far_times *far;              /* of each file */
    size_t far_capacity;
    odd_works odd;
} busy_table;

void busy_next_file(busy_table *t, const char *path);
void busy_take(busy_table *t, const trace_event *event);
/* A line of text a device, which is a process of the trace, as in prof gaps: how much of the time
   it did what. All files are there. width: of the terminal, 0: any. */
void busy_write(busy_table *t, size_t width, output *out);
void busy_free(busy_table *t);

#endif
