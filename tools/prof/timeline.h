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
/* name: of a slice, in the names that timeline_write gets. */
void timeline_add(timeline *t, const trace_event *event, uint32_t name);
/* The member "timeline" of the page's data. */
void timeline_write(timeline *t, const interner *names, output *out);
void timeline_free(timeline *t);

#endif
