/* The timeline of a page: what ran when on every thread and stream of all files, its instants,
   counters and arrows. Bounded memory: of more slices than MOST_SLICES the shortest ones are only
   summed, in bins of their track; of more arguments than fit those of the shortest slices go.
   Both are counted, and the page says so. */
#ifndef PROF_TIMELINE_H
#define PROF_TIMELINE_H

#include "call_tree.h"

typedef struct timeline timeline;

timeline *timeline_new(void);
void timeline_begin_file(timeline *t, const char *label);
void timeline_set_rank(timeline *t, int64_t rank);           /* of that file */
/* name: of a slice, as the table's row has it. */
void timeline_add(timeline *t, const trace_event *event, trace_text name);
/* The member "timeline" of the page's data. */
void timeline_write(timeline *t, output *out);
void timeline_free(timeline *t);

#endif
