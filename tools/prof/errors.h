/* Errors: "prof: FILE: what" on stderr, one line each. */
#ifndef PROF_TOOL_ERRORS_H
#define PROF_TOOL_ERRORS_H

#if defined(__GNUC__)
#  define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#  define PRINTF_LIKE(text, first)
#endif

enum { EXIT_OK = 0, EXIT_FOUND = 1 /* validate, diff --threshold */, EXIT_BAD = 2 };

/* file NULL: no file is named. Returns EXIT_BAD. */
int fail(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);
void warn(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
