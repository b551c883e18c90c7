/* The rows of a raw stream, without the way over JSON: its zones tell their depth, so that they go
   into the sums as they come, in constant memory, and lie in each other as they did. */
#ifndef PROF_RAW_ROWS_H
#define PROF_RAW_ROWS_H

#include "analysis/rows.h"

/* Is the file a raw stream that says all that the rows need by itself? One with steps or work on
   devices does not: what lies in them times tell. */
bool raw_rows_can(const row_table *table, const char *path);
int raw_rows_read(row_table *table, const char *path);       /* as rows_read */
int raw_losses_read(const char *path);       /* tells what a raw stream lost; the exit code */

#endif
