/* The timeline of a page: what ran when on every thread and stream of all files, its instants,
   counters and arrows. Bounded memory: of more slices than MOST_SLICES the shortest ones are only
   summed, in bins of their track; of more arguments than fit those of the shortest slices go.
   Both are counted, and the page says so. */
#ifndef PROF_TIMELINE_H
#define PROF_TIMELINE_H

#include "trace/trace.h"

typedef struct timeline timeline;

timeline *timeline_new(void);
void timeline_begin_file(timeline *t, const char *label);
void timeline_set_rank(timeline *t, int64_t rank);           /* of that file */
/* name: of a slice, as the table's row has it. */
void timeline_add(timeline *t, const trace_event *event, trace_text name);
void timeline_add_change(timeline *t, const trace_event *event, const int64_t bytes[2]);
uint32_t timeline_process(timeline *t, const trace_event *event);    /* its number in the page */
void timeline_end_file(timeline *t, int64_t base_ns);        /* base: the calendar's less its ts */

/* After the last file. Files that ran at the same time, by their clocks, stand side by side; what
   ran apart from them begins at 0, too. */
void timeline_align(timeline *t);
int64_t timeline_begin(const timeline *t, uint32_t file);    /* the page's 0, on the file's clock */
/* The member "timeline" of the page's data. */
void timeline_write(timeline *t, output *out);
void timeline_free(timeline *t);

#endif
