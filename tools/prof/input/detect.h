/* Which format a file is in, by its content. Whoever asks that asks here. */
#ifndef PROF_DETECT_H
#define PROF_DETECT_H

#include "input/event_source.h"
#include "input/json_scan.h"

/* Of a file that is not JSON, by its first bytes; NULL: it is none of those that are known, or,
   with *more, that needs more bytes. */
const source_format *detect_format(const char *first, size_t size, bool *more);

/* What a file that prof does not read is, and what reads it: by its first bytes or its name; NULL:
   not known. */
const char *detect_other(const char *first, size_t size, const char *path);
/* The same by a key of the object that a JSON file without events is. */
const char *detect_other_key(trace_text key);

/* Of a text: UTF-16 or UTF-32. */
bool detect_utf16(const char *p, size_t left);

/* In JSON that begins at p: where the array of threads of a legacy record stream begins, which is
   the whole, or the member "threads" that stands before any events. NULL: it is none, or, where
   s->outcome is MORE, as far as the text goes. device: of the member use_device. */
const char *detect_records(json_scan *s, const char *p, trace_text *device);

#endif
