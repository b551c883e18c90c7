/* Whole files, plain or gzip. */
#ifndef PROF_TOOL_FILES_H
#define PROF_TOOL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Of a path, what stands behind the last slash. */
const char *file_name(const char *path);
/* The first bytes that are no space; 0 for stdin, and what cannot be read. */
size_t file_peek(const char *path, char *first, size_t size);
/* All of it, READABLE bytes behind; NULL: it has told why. The caller frees it. */
char *file_read(const char *path, size_t *size);

/* Files that the command reads: no output may take the place of one unasked. */
void input_note(const struct stat *status);
bool input_is(const struct stat *status);

#endif
