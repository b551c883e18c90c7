/* The kernels of a trace by device and name, with what they compute and move: for analyze. */
#ifndef PROF_KERNELS_H
#define PROF_KERNELS_H

#include "analysis/amounts.h"
#include "trace/trace.h"

typedef struct kernel_options {
    bool as_written, quiet;     /* the reader's */
    const range_options *window;         /* only what begins in it; NULL: all */
    dtype dtype;                /* where the trace does not tell; DTYPE_NONE: unknown */
    const char *device;         /* name of all devices instead of the trace's; NULL */
    const text_list *peaks;     /* "bf16=989.5", "gb=3350" */
} kernel_options;

/* All launches of one kernel on one device. Rates: amount / ns of the launches that have one. */
typedef struct kernel_row {
    uint32_t name, device;      /* in table.trace.names, in table.devices */
    uint64_t count;
    int64_t ns;
    double flops, bytes;
    int64_t flops_ns, bytes_ns;
    double ideal_flops_ns;      /* that the peak would take for it */
    int64_t ideal_flops_of_ns;  /* ns of the launches in it */
    double ideal_bytes_ns;      /* the same of bytes; of bytes_ns where the peak is known */
    uint32_t dtypes;            /* bits by dtype of what counts in flops */
} kernel_row;

typedef struct kernel_device {
    int64_t index;
    const char *name;           /* NULL: the trace does not tell */
    bool known;                 /* peak holds */
    device_peak peak;
    kernel_row sum;             /* of all its kernels */
} kernel_device;

/* A kernel that ran, in the order of the file. 0: unknown, or none. */
typedef struct kernel_launch {
    double flops, bytes;
    uint32_t row;
    uint32_t amount;            /* by its name, in table.amounts */
    bool own_flops;             /* the kernel's alone, not its op's */
} kernel_launch;

typedef struct kernel_table {
    const kernel_options *options;
    struct trace trace;         /* key of a call: its number in amounts; of a work: its number in
                                   launches + 1, 0: a copy, a fill */
    amounts amounts;
    kernel_row *rows;
    uint32_t *order;            /* by time, most first */
    size_t row_count, row_capacity;
    kernel_device *devices;
    size_t device_count, device_capacity;
    map numbers, device_numbers;
    kernel_launch *launches;
    size_t launch_count, launch_capacity;
    uint64_t bare;              /* kernels without arguments, of no known op */
    int64_t *owned_ns;          /* of each call: how long the kernels ran that it owns */
    arena memory;
} kernel_table;

int kernels_read(kernel_table *table, const kernel_options *options, const char *path);
void kernels_free(kernel_table *table);

dtype kernel_row_dtype(const kernel_row *row);               /* of its only bit */
/* Adds the amounts, counts and times of one row to another. */
void kernel_row_add(kernel_row *to, const kernel_row *from);

/* Cells of a sheet; empty: unknown. */
void cell_tflop_s(sheet *s, const kernel_row *row);
void cell_gb_s(sheet *s, const kernel_row *row);
void cell_flop_share(sheet *s, const kernel_row *row);        /* of the peak, % */
void cell_gb_share(sheet *s, const kernel_row *row);
void cell_intensity(sheet *s, const kernel_row *row);         /* FLOP per byte */
/* "compute" or "memory": which roof of the roofline it is under; NULL: an amount is not known. */
const char *kernel_bound(const kernel_row *row, const char *name);

#endif
