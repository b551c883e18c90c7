/* The implementation that tests link, compiled once in each configuration (tests/run.sh): prof.h,
   prof_cuda.h, and what of their insides inside.h lets tests see. */
#define _DEFAULT_SOURCE 1
#define PROF_IMPLEMENTATION
#include "../prof.h"
#include "cuda/prof_cuda.c"

bool inside_try_lock(void) { return prof__try_lock(); }
void inside_unlock(void) { prof__unlock(); }
uint32_t *inside_renames(void) { return &prof__trace.rows->renames; }

/* What prof asks prof.h, for its parts that tests link (tools/prof/legacy_records.h). */
bool is_utility_name(const char *name);
bool is_machinery_entry(const char *entry);
bool is_utility_name(const char *name) { return prof__is_utility(name); }
bool is_machinery_entry(const char *entry) { return prof__is_machinery(entry); }

inside_real inside_real_round(uint64_t m, int e, bool rest) {
    prof__real r = prof__real_round(m, e, rest);
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
