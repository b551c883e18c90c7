/* The rows of PyTorch's table (FunctionEventAvg), made from traces: for report and diff. */
#ifndef PROF_ROWS_H
#define PROF_ROWS_H

#include <regex.h>

#include "amounts.h"
#include "call_tree.h"

typedef struct row_filter {
    text_list categories;       /* as the file names them; none: the usual ones */
    text_list pids;
    const char *name;           /* extended regular expression; NULL: all */
    bool by_time;               /* only events that begin in [from_ns, to_ns), the file's time */
    int64_t from_ns, to_ns;
} row_filter;

typedef struct row_options {
    row_filter filter;
    bool by_shapes, by_overload;
    int64_t by_stack;           /* the innermost N entries of the stack; 0: not */
    bool merge_duplicates, with_flops;
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
    prof_average *rows;
    size_t count, capacity;
    prof_view view;
    row_device *devices;
    size_t device_count, device_capacity;
    map device_numbers;         /* index -> its place there */
    uint64_t events;            /* complete events of all files */
    uint64_t overlaps, unowned, kernels; /* of all files, whatever the filter leaves */
    int64_t whole_cpu_ns, whole_device_ns;   /* the self times that the table would have without
                                   its filter: what shares are of */
    int64_t first_ns, last_ns;  /* when the first event of all files began and the last one ended,
                                   with their files' bases */
    uint64_t dated_at;          /* where the file read last says when: byte of its base time, or
                                   of its first event */
    /* inside */
    call_tree tree;             /* of the file read last; lean: without calls */
    struct span_sorter *lean;   /* no more than a call's times and row are needed: they are sorted
                                   here, in constant memory; else NULL */
    interner groups, texts;
    amounts amounts;            /* with_flops: of the ops */
    int64_t *call_flops;        /* by call, as far as calls have any */
    size_t flops_count, flops_capacity;
    int64_t (*call_counts)[PROF_COUNTERS];   /* the same of view.counters, children included */
    size_t counts_count, counts_capacity;
    struct row_first *firsts;   /* by row */
    size_t first_capacity;
    uint64_t sequence;          /* events that were put into rows */
    uint32_t file;
    bool own;                   /* the file is prof.h's: its head says so */
    char *text;                 /* what was decoded last */
    size_t text_capacity;
    arena memory;
    regex_t name;
    bool has_name;
    char *name_matches;         /* by number of a name: 0 not tried yet, else 'y' or 'n' */
    size_t name_capacity;
    int64_t file_first_ns, file_last_ns;
    /* for those who want more of each file */
    void (*on_event)(void *user, const trace_event *event);
    void (*on_tree)(void *user, const call_tree *tree);
    void *user;
} row_table;

/* false: the filter's name is no regular expression (told). */
bool rows_begin(row_table *table, const row_options *options);
int rows_read(row_table *table, const char *path);           /* adds one file; the exit code */
void rows_finish(row_table *table);                          /* after the last file */
bool rows_filtered(const row_table *table);                  /* may rows be missing? */
void rows_free(row_table *table);

#endif
