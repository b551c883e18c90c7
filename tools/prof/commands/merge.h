/* The traces of several ranks as one, for whoever takes one: see cmd_merge.c. */
#ifndef PROF_MERGE_H
#define PROF_MERGE_H

#include "base/options.h"

typedef struct merge_options {
    bool by_collectives, lanes;
    const char *zone;                            /* --align NAME; NULL */
    text_list offsets;                           /* FILE=TIME */
} merge_options;

/* What prof merge does; the exit code. */
int merge_files(char *const *paths, size_t count, merge_options options, const char *to);

/* What prof merge writes, in a file that *path names: merge_remove. The exit code. */
int merge_to_temporary(char *const *traces, size_t count, char **path);
void merge_remove(char *path);                   /* NULL: there is none */

#endif
