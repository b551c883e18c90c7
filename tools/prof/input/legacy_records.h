/* The record stream of PyTorch's first profiler (torch.autograd.profiler, _parse_legacy_records)
   as a trace: pushes and pops become events, [memory] and kernels are charged to them. Part of the
   trace reader, which scans the trace that is made here as if the file held it. */
#ifndef PROF_LEGACY_RECORDS_H
#define PROF_LEGACY_RECORDS_H

#include "input/trace_event.h"

/* lists: the array of threads, each an array of records; where the file ends early, up to there.
   device: the JSON text of use_device, size 0: none. Returns a JSON text that the caller frees,
   PADDING zero bytes behind its *size; warns of what it left out. */
char *legacy_trace(const char *path, trace_text lists, trace_text device, size_t padding,
                   size_t *size);

#endif
