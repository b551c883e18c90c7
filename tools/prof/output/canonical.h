/* A trace as lines that are equal when runs are, for tests: for each event, by start,
   `event=NAME node=MODULE stack_trace=FRAME`. PyTorch: _canonicalize_profiler_events();
   old: as it was before mid-2026 */
#ifndef PROF_CANONICAL_H
#define PROF_CANONICAL_H

#include "base/output.h"

int canonical_write(const char *trace, bool old, output *out);   /* the exit code */

#endif
