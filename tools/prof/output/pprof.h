/* Traces as a profile of pprof (.pb.gz). */
#ifndef PROF_PPROF_H
#define PROF_PPROF_H

#include "base/output.h"

/* Of all traces one profile; the exit code. */
int pprof_write(char *const *traces, size_t count, output *out);

#endif
