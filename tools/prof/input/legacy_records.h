/* The record stream of PyTorch's first profiler (torch.autograd.profiler) as events: pushes and
   pops become calls, [memory] and kernels are charged to them. It is JSON: the trace reader finds
   it, and reads all of it first. */
#ifndef PROF_LEGACY_RECORDS_H
#define PROF_LEGACY_RECORDS_H

#include "input/event_source.h"

/* lists: the array of threads, each an array of records, as long as the source is open; where the
   file ends early (cut), up to there. device: the JSON text of use_device, size 0: none. */
void *legacy_open(event_queue *to, trace_text lists, trace_text device, bool cut);
extern const source_format legacy_format;

#endif
