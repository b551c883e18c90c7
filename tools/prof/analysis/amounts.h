/* How much an op computes and moves, as the trace tells (Flops, kernel_flop, kernel_num_gb), else
   from what it says of its inputs: for analyze, augment and report --flops. */
#ifndef PROF_AMOUNTS_H
#define PROF_AMOUNTS_H

#include "input/trace_event.h"

/* Types of numbers that devices have peaks for; and the rest by size. */
typedef enum dtype {
    DTYPE_NONE = 0, DTYPE_FP64, DTYPE_FP32, DTYPE_TF32, DTYPE_BF16, DTYPE_FP16, DTYPE_FP8,
    DTYPE_INT8, DTYPE_PEAKS, DTYPE_INT16 = DTYPE_PEAKS, DTYPE_INT32, DTYPE_INT64, DTYPE_BOOL,
    DTYPE_COMPLEX64, DTYPE_COMPLEX128
} dtype;

dtype dtype_parse(const char *name);             /* any usual name; DTYPE_NONE: unknown */
const char *dtype_name(dtype type);              /* "bf16" */
dtype dtype_of_kernel(const char *kernel, dtype op);   /* what its name says; else op */

typedef struct amount {
    uint64_t flops;                              /* 0: unknown */
    uint64_t bytes;                              /* 0: unknown */
    uint8_t dtype;                               /* of the largest input */
} amount;

/* Remembers amounts: the same op with the same inputs is worked out once. Zero-initialise. */
typedef struct amounts {
    amount *list;                                /* by number; 0 is no amount */
    numbering numbers;                           /* of what they are made of: */
    struct op_texts *texts;
    size_t count, capacity, text_capacity;
    arena memory, scratch;
    bool with_flops;                             /* prof_flops' small set instead */
} amounts;

/* The number of the amount of op with the amounts or inputs that event names, 0: it names none. op
   NULL: the event's own name. */
uint32_t amounts_add(amounts *all, const char *op, const trace_event *event);
/* The same inputs, as if another op took them. */
uint32_t amounts_rename(amounts *all, uint32_t number, const char *op);
/* The op that a kernel's own name speaks of: "mm", "convolution"; NULL: none. */
const char *op_of_kernel(const char *kernel);
void amounts_free(amounts *all);

/* Input Dims and the like as shapes. */
prof_shape shape_read(arena *memory, trace_text json);

/* ---- Devices ---- */

typedef struct device_peak {
    const char *name;                            /* part of deviceProperties' name */
    double tflops[DTYPE_PEAKS];                  /* dense; 0: none */
    double gb_s;
    int units;                                   /* SMs or CUs; a device with half of them has
                                                    half of it all (one die of two); 0: any */
    double min_gb;                               /* of memory: which of two models */
} device_peak;

/* false: no such device is known. */
bool device_find(const char *name, int64_t units, int64_t memory, device_peak *peak);

#endif
