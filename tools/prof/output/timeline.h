/* The timeline of a page: what ran when on every thread and stream of all files, what lies in
   what, why devices were idle, instants, counters and arrows. A model (trace.h) of each file, with
   Python functions around calls, tells what belongs to what. Of more slices than MOST_SLICES the
   shortest ones are only summed, in bins of their track; of more arguments than fit those of the
   shortest slices go. Both are counted, and the page says so. */
#ifndef PROF_TIMELINE_H
#define PROF_TIMELINE_H

#include "analysis/busy.h"
#include "analysis/rows.h"

typedef struct timeline timeline;

timeline *timeline_new(void);
/* The file is read into this table, which tells what is asked for. */
void timeline_begin_file(timeline *t, const char *label, const row_table *table);
void timeline_set_rank(timeline *t, int64_t rank);           /* of that file */
void timeline_add(timeline *t, const trace_event *event);
void timeline_end_file(timeline *t, int64_t base_ns);        /* base: the calendar's less its ts */

/* After the last file. Files that ran at the same time, by their clocks, stand side by side; what
   ran apart from them begins at 0, too. */
void timeline_align(timeline *t);
int64_t timeline_begin(const timeline *t, uint32_t file);    /* the page's 0, on the file's clock */
int64_t timeline_longest(const timeline *t);                 /* ns of the longest file */
uint32_t timeline_processes(const timeline *t);
/* NULL: the process is no device. */
const busy_time *timeline_device(const timeline *t, uint32_t process, int64_t *device);
/* The member "timeline" of the page's data. */
void timeline_write(timeline *t, output *out);
void timeline_free(timeline *t);

#endif
