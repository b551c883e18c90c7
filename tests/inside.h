/* What tests see of prof.h's insides, by tests/prof.c: they need not compile prof.h again. */
#ifndef INSIDE_H
#define INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern bool inside_os_clock;             /* sessions have the OS's clock */

bool inside_try_lock(void);              /* the session's lock */
void inside_unlock(void);
uint32_t *inside_renames(void);          /* of the first row; odd: its name is being written */
void inside_multiply_calls(uint32_t by);  /* of this thread, in sums, as if 2^30 were near */

typedef struct inside_real { uint64_t m; int e; } inside_real;
inside_real inside_real_round(uint64_t m, int e);   /* m * 2^e to 53 bits */

bool inside_has_perf(void);              /* else these mean nothing */
const char *inside_perf_refusal(int error);

/* Of prof_cuda.h: CUPTI hands in a buffer, full; how much is read of a record of CUPTI's kind. */
void inside_cuda_completed(void *buffer, size_t size);
uint32_t inside_cuda_bytes(uint32_t kind);
const char *inside_cuda_status_line(void);   /* under the table; NULL: all is well */

#ifdef __cplusplus
}
#endif
#endif
