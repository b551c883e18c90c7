/* Traces that are not JSON, as events for the trace reader: folded stacks. */
#ifndef PROF_TRACE_OTHER_H
#define PROF_TRACE_OTHER_H

#include "input/trace_reader.h"

typedef struct other_trace other_trace;

/* By the first bytes of the file (size of them; more may follow). NULL: it is none. */
other_trace *other_open(const char *first, size_t size);
void other_push(other_trace *trace, const char *data, size_t size);    /* the next bytes */
void other_end(other_trace *trace, const char *path);                  /* there are no more */
/* The next event that the bytes so far hold; false: none. Its texts last until the next push. */
bool other_pop(other_trace *trace, trace_event *event);
void other_close(other_trace *trace);

#endif
