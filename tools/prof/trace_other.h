/* Traces that are not JSON, as events for the trace reader: prof.h's raw streams, folded stacks. */
#ifndef PROF_TRACE_OTHER_H
#define PROF_TRACE_OTHER_H

#include "trace_reader.h"

typedef struct other_trace other_trace;

/* By the first bytes of the file (size of them; more may follow). NULL: it is neither. */
other_trace *other_open(const char *first, size_t size);
void other_push(other_trace *trace, const char *data, size_t size);    /* the next bytes */
/* There are no more; what the stream tells of its losses is added. true: it ends early. */
bool other_end(other_trace *trace, const char *path, struct losses *losses);
/* The next event that the bytes so far hold; false: none. Its texts last until the next push. */
bool other_pop(other_trace *trace, trace_event *event);
void other_close(other_trace *trace);

/* Warns of how a raw stream ends, adds what it lacks; true: it ends within a block. */
bool raw_tell(const prof_raw_stats *stats, const char *path, struct losses *losses);

#endif
