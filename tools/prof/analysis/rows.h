/* The rows of PyTorch's table (FunctionEventAvg), made from traces: for report and diff. */
#ifndef PROF_ROWS_H
#define PROF_ROWS_H

#include "analysis/amounts.h"
#include "analysis/doubts.h"
#include "analysis/contexts.h"
#include "analysis/durations.h"
#include "input/head_sums.h"
#include "input/losses.h"
#include "trace/trace.h"

typedef struct row_filter {
    text_list categories;       /* as the file names them; none: the usual ones */
    text_list pids;
    const char *name;           /* extended regular expression; NULL: all */
    const range_options *window;         /* only events that begin in it; NULL: all */
} row_filter;

typedef struct row_options {
    row_filter filter;
    bool by_shapes, by_overload;
    int64_t by_stack;           /* the innermost N entries of the stack; 0: not */
    bool by_site;               /* where the name is marked; */
    bool site_in_name;          /* or names with several sites have theirs: parse (a.c:12) */
    const char *by_arg;         /* names have the value of this argument; NULL */
    bool merge_duplicates, with_flops;
    bool percentiles;           /* exact ones, and least and most, of device rows too */
    bool device, memory;        /* device times and rows; memory's columns */
} row_options;

typedef struct row_device {       /* a device and what ran on it */
    int64_t index;
    const char *name;             /* "" when the trace does not tell */
    uint64_t count;
    int64_t ns;
} row_device;

typedef struct row_table {
    const row_options *options;
    prof_average *rows;         /* after rows_finish */
    size_t count;
    prof_view view;
    row_device *devices;
    size_t device_count, device_capacity;
    map device_numbers;         /* index -> its number there */
    uint64_t events;            /* complete events of all files */
    uint64_t summed;            /* rows of their heads' sums */
    uint64_t instants, counters; /* of the last file; they are in no row */
    uint64_t overlaps, unowned, ambiguous, kernels;  /* of all files, whatever the filter leaves */
    int64_t whole_cpu_ns, whole_device_ns;   /* the self times that the table would have without
                                   its filter: what shares are of */
    int64_t first_ns, last_ns;  /* when the first event of all files began and the last one ended,
                                   with their files' bases */
    uint64_t dated_at;          /* where the file read last says when: byte of its base time, or
                                   of its first event */
    int64_t base_ns;            /* of that file */
    /* inside */
    struct trace trace;         /* the file read last */
    doubts doubts;
    const char *path;           /* its path */
    uint8_t file_type;          /* of its devices; 0: not known yet */
    const char *device_label;   /* of processes: "NPU"; NULL: none says so */
    uint8_t types[DEVICE_TYPES];                 /* the types that the heads list */
    size_t type_count;
    int64_t memory_ns;          /* when that was: */
    uint8_t memory_type;        /* of the device that is not the host whose memory changed first:
                                   names the columns of the device */
    call_sums *sums;            /* of all files */
    durations durations;        /* by row of them: percentiles */
    arena sums_memory;
    interner groups, texts, mores;
    uint32_t *group_rows;       /* in sums, by group */
    size_t group_capacity;
    uint32_t *last_groups;      /* by name, + 1 */
    size_t last_capacity;
    map captured;               /* nodes of graphs, of all files: number of the text */
    map sources;                /* of this file's names: number of the text; 0: several, or none */
    amounts amounts;            /* with_flops: of the ops */
    uint64_t *away_ns;          /* by row of the sums: when the tasks of calls did not run */
    size_t away_capacity;
    bool had_tasks;
    struct row_first { int64_t ts_ns; uint32_t thread, order; } *firsts;     /* of no length */
    size_t first_count, first_capacity;
    struct row_launched { call_span span; uint32_t number, group; } *launched;  /* by stack: work
                                   that has the stack of its op */
    size_t launched_count, launched_capacity;
    uint32_t order;             /* of the event in its file */
    struct row_site { bool known; uint32_t row; uint16_t flags; } *sites;   /* of a raw stream */
    size_t site_capacity;
    bool python_rows;           /* Python functions are rows */
    char *text;                 /* what was decoded last */
    size_t text_capacity;
    arena memory;
    name_pattern name;
    int64_t file_first_ns, file_last_ns;
    /* for those who want more of each file */
    void (*on_event)(void *user, const trace_event *event);
    void (*on_member)(void *user, const trace_member *member);
    void *user;
    struct busy_table *busy;    /* gets what ran on devices; NULL */
    contexts_table contexts;    /* who had the core of a microcontroller */
} row_table;

/* false: the filter's name is no regular expression (reported). */
bool rows_begin(row_table *table, const row_options *options);
int rows_read(row_table *table, const char *path);           /* adds one file; the exit code */
void rows_finish(row_table *table);                          /* after the last file */
/* What memory of this type counts for: 0 the host, 1 devices, -1 neither. */
int rows_memory_side(const row_table *table, int32_t device_type);
/* After rows_finish: of the durations of the row's calls. false: some are in sums alone. */
bool rows_percentiles(row_table *table, const prof_average *row, const unsigned *percents,
                      size_t count, int64_t *ns);
bool rows_filtered(const row_table *table);                  /* may rows be missing? */
/* What a reader of the rows should know of the files, in lines; free(items). */
text_list rows_notes(const row_table *table, arena *memory);
void rows_tell(const char *path, const text_list *notes);    /* ... on stderr */
void rows_free(row_table *table);

#endif
