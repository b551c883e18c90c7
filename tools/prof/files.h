/* Files that are read, and temporary ones. */
#ifndef PROF_TOOL_FILES_H
#define PROF_TOOL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* Of a path, what stands behind the last slash. */
const char *file_name(const char *path);
/* A pipe, a terminal, stdin: what can be read but once. */
bool file_reads_once(const char *path);

/* Files that the command reads: no output may take the place of one unasked. */
void input_note(const struct stat *status);
void inputs_forget(void);                       /* another command is to follow */
bool input_is(const struct stat *status);

/* TMPDIR, or /tmp. */
const char *temporary_folder(void);
/* A file there without a name, to be written and read. Where it cannot be made, or used, the
   program ends with a line that says so. */
FILE *temporary_file(void);
void temporary_failed(void);

#endif
