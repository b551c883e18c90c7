/* Makes JSON of a text that is JSON but for what real traces have and its readers refuse. */
#ifndef PROF_JSON_MEND_H
#define PROF_JSON_MEND_H

#include "input/json_text.h"

/* Zero-initialise; free(data). READABLE zeros are behind it. */
typedef struct mended { char *data; size_t size, capacity; } mended;

/* Appends text, whose brackets, commas and words json_text.c has taken:
       NaN, Infinity, -inf, 1e999            null
       bytes that are not UTF-8              U+FFFD
       a raw control character in a text     its escape
       \u12, half a surrogate pair           \ufffd
       \x and whatever JSON has not          x
       a comma before a closing bracket      left out
   It means what the reader's decoded texts and numbers say. At most six times as long. */
void json_mend(mended *m, trace_text text);

/* How much of the text at p, a backslash, is one escape of JSON, 2, 6 or 12 bytes; 0: none is.
   Four bytes behind end must be readable. */
size_t json_escape(const char *p, const char *end);

/* Is the number here more than a double holds? What is behind it must be readable. */
bool json_is_infinite(const char *number);

/* The number that four hexadecimal digits are; UINT32_MAX: they are none. */
unsigned json_hex4(const char *p);

#endif
