/* The traces of several ranks as one, for whoever takes one: see cmd_merge.c. */
#ifndef PROF_MERGE_H
#define PROF_MERGE_H

#include "trace/rank_id.h"

/* What prof merge does; the exit code. */
int merge_files(char *const *paths, size_t count, const align_options *align, const char *to);

/* What prof merge writes, in a file that *path names: merge_remove. The exit code. */
int merge_to_temporary(char *const *traces, size_t count, char **path);
void merge_remove(char *path);                   /* NULL: there is none */

#endif
