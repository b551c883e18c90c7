/* Makes JSON of a text that is JSON but for what real traces have and its readers refuse. */
#ifndef PROF_JSON_MEND_H
#define PROF_JSON_MEND_H

#include "input/json_scan.h"

/* Zero-initialise; free(data). READABLE zeros are behind it. */
typedef struct mended { char *data; size_t size, capacity; } mended;

/* Appends text, whose brackets, commas and words json_text.c has taken:
       NaN, Infinity, -inf, 1e999            null
       bytes that are not UTF-8              U+FFFD
       a raw control character in a text     its escape
       half a surrogate pair                 \ufffd
       \x, \u12 and whatever JSON has not    \\x: the backslash stands for itself
       a comma before a closing bracket      left out
   It means what the reader's decoded texts and numbers say. At most six times as long. */
void json_mend(mended *m, trace_text text);

#endif
