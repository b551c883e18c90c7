/* Errors: "prof: FILE: what" on stderr, one line each. */
#ifndef PROF_TOOL_ERRORS_H
#define PROF_TOOL_ERRORS_H

#include <stdbool.h>

#if defined(__GNUC__)
#  define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#  define PRINTF_LIKE(text, first)
#endif

enum { EXIT_OK = 0, EXIT_FOUND = 1 /* or cut input */, EXIT_BAD = 2 };

/* An input ends early: what was read is reported, and 0 as exit status becomes EXIT_FOUND. */
void note_cut_input(void);
int exit_status(int status);

/* file NULL: no file is named. Returns EXIT_BAD. */
int fail(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);
void warn(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);
/* No warnings for now: another command reads the same file and warns. */
void warnings_hold(bool held);

/* From now on that file is told by another name. */
void name_errors(const char *file, const char *name);
const char *error_name(const char *file);        /* that name, or "stdin", or the file */

#endif
