/* The rows of raw streams with work on devices, without the way over JSON: what lies in what times
   tell, so that calls are sorted, as those of a trace are; but they come as they are in the stream
   (raw_json_take), and what a place in the source has told once is known. */
#ifndef PROF_RAW_WORK_H
#define PROF_RAW_WORK_H

#include "analysis/rows.h"

/* Is the file a raw stream of one session, without steps, memory and a kernel's tasks, whose times
   are as they should be? */
bool raw_work_can(const row_table *table, const char *path);
int raw_work_read(row_table *table, const char *path);       /* as rows_read */

#endif
