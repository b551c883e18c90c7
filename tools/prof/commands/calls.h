/* What commands ask of others. All return the exit code. */
#ifndef PROF_CALLS_H
#define PROF_CALLS_H

#include "trace/rank_id.h"

/* What prof merge does. */
int merge_files(char *const *paths, size_t count, const align_options *align, const char *to);

/* What prof merge writes, in a file that *path names: merge_remove. */
int merge_to_temporary(char *const *traces, size_t count, const align_options *align,
                       char **path);
void merge_remove(char *path);                   /* NULL: there is none */

/* The table of prof report, on stdout; a raw stream as JSON. */
int report_trace(char *trace, const char *sort, int64_t limit);
int decode_file(const char *path, const char *to);

#endif
