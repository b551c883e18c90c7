/* UTF-8, and what of it a terminal may get. */
#ifndef PROF_TOOL_TEXT_H
#define PROF_TOOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the valid UTF-8 sequence at p (left >= 1 bytes are there), 0 when it is none. */
size_t utf8_size(const unsigned char *p, size_t left);

/* The next character of a text as a terminal may get it: *size bytes at *shown. A control character
   is a space (those of C1, too: U+009B begins a sequence as escape and [ do), and so are marks of
   direction and what shows nothing; what is not UTF-8 is U+FFFD. Returns the bytes that it takes up
   in the text. */
size_t plain_next(const char *text, const char **shown, size_t *size);

/* Of ASCII, whatever the locale. */
static inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Does it begin with one of these, in upper or lower case? starts ends with NULL. */
bool begins_with(const char *text, const char *const *starts);

#endif
