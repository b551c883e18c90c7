/* The implementation that tests link, compiled once in each configuration (tests/run.sh): prof.h,
   prof_cuda.h, what prof asks of prof.h, and what of their insides inside.h lets tests see. */
#define _DEFAULT_SOURCE 1
#define PROF_OS_CLOCK inside_os_clock
#include "inside.h"
#include "../tools/prof/library.c"
#ifndef __wasi__                        /* no libraries to load */
#  include "cuda/prof_cuda.c"
#endif

bool inside_os_clock;

bool inside_try_lock(void) { return prof__try(&prof__port.lock); }
void inside_unlock(void) { prof__unlock(); }
uint32_t *inside_renames(void) { return &prof__trace.rows->renames; }

void inside_multiply_calls(uint32_t by) {
    prof__tallies *y = &prof__tls_state(prof__tls_get())->sums.tallies;
    for (prof__tally *r = y->others; r; r = r->next)
        for (int i = 0; i < PROF__BUCKETS; i++) r->histogram[i] *= by;
    y->calls = ((size_t)1 << 30) - 1;
}

inside_real inside_real_round(uint64_t m, int e) {
    prof__real r = prof__real_round(m, e);
    inside_real out;
    out.m = r.m;
    out.e = r.e;
    return out;
}

#ifdef PROF__PERF
bool inside_has_perf(void) { return true; }
const char *inside_perf_refusal(int error) { return prof__perf_refusal(error); }
#else
bool inside_has_perf(void) { return false; }
const char *inside_perf_refusal(int error) { return error ? NULL : ""; }
#endif
