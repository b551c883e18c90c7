/* JSON texts, as they stand in a file: the items of an array or object, numbers, decoded texts. */
#ifndef PROF_JSON_TEXT_H
#define PROF_JSON_TEXT_H

#include <string.h>

#include "base/common.h"

typedef struct trace_text { const char *data; size_t size; } trace_text;

static inline trace_text text_of(const char *text) {
    return (trace_text){text, strlen(text)};
}

static inline bool text_is(trace_text text, const char *word) {
    const char *p = text.data, *end = text.data + text.size;
    while (p < end && *word && *p == *word) p++, word++;
    return p == end && !*word;
}

static inline bool text_begins(trace_text text, const char *word) {
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0;
}

static inline bool text_ends(trace_text text, const char *tail) {
    size_t size = strlen(tail);
    return text.size >= size && memcmp(text.data + text.size - size, tail, size) == 0;
}

/* What was tolerated, and where it was first seen. The first ones are mended: events and members
   are handed out as JSON, so that what is copied of them is JSON (see json_mend.h). What else is no
   JSON ends the reading, with its byte. */
typedef enum trace_defect {
    TRACE_NAN,                  /* NaN, Infinity, 1e999 where a number belongs: taken as absent */
    TRACE_BAD_UTF8,
    TRACE_CONTROL,              /* a raw control character in a text */
    TRACE_ESCAPE,               /* \x, \u12, half a surrogate pair */
    TRACE_COMMA,                /* a comma before a closing bracket, or the first event */
    TRACE_MENDED,
    TRACE_DUPLICATE_KEY = TRACE_MENDED,      /* in an object; with two values: an error, unless
                                                `tolerant`: then the last one counts */
    TRACE_BAD_NUMBER,           /* a ts, dur, pid or tid that is no number: taken as absent */
    TRACE_NO_TIME,              /* X without ts or dur, a begin or end without ts: taken as 0 */
    TRACE_NEGATIVE,             /* a dur below 0, an end before its begin: of no length */
    TRACE_ENDLESS,              /* a dur of ten years or more, as where an end was lost, or which no
                                   sum can hold: the same */
    TRACE_NOT_OBJECT,           /* an event that is not an object: skipped */
    TRACE_NO_BEGIN,             /* an end (E, e) of nothing: left out */
    TRACE_NO_END,               /* a begin (B, b) that nothing ends: see trace/README.md */
    TRACE_BROKEN,               /* an event that is no JSON, before others: skipped */
    TRACE_BIND_ID,              /* an arrow by bind_id: not read */
    TRACE_STEP,                 /* of an asynchronous event (T, p): left out */
    TRACE_SAMPLES,              /* of stacks (P): left out */
    TRACE_SIZE,                 /* a change of memory that no sum can hold: left out */
    TRACE_DEFECTS
} trace_defect;

/* The next item of an array or object: rest starts as the whole text and shrinks; key is empty in
   arrays. false: no more. */
/* (Texts may come from an arena too: 32 bytes behind them must be readable.) */
bool json_next(trace_text *rest, trace_text *key, trace_text *value);
bool json_whole(trace_text text);                            /* is it one value of JSON? */
bool json_int(trace_text value, int64_t *number);            /* also from a quoted number */
bool json_double(trace_text value, double *number);
static inline bool json_is_text(trace_text value) {
    return value.size >= 2 && value.data[0] == '"';
}
/* Decodes a quoted text into buffer with a NUL, cut to whole characters that fit; returns the size
   it needs without the NUL, which may be more than value.size. size 0: only that. */
size_t json_decode(trace_text value, char *buffer, size_t size);
/* The same of a text without its quotes, without a NUL: at most three times its size. */
size_t text_decode(trace_text text, char *buffer, size_t size);
/* Copies text into buffer as decoded texts are: U+FFFD for NUL and what is not UTF-8. Returns the
   size it needs, at most three times its own; cut to size, without a NUL. */
size_t text_clean(trace_text text, char *buffer, size_t size);
bool json_ns(trace_text value, int64_t *ns);       /* microseconds, a text too, to exact ns */
bool json_ns_of_ms(trace_text value, int64_t *ns);     /* the same of milliseconds */
/* The value without the white space between its parts, into at most value.size bytes; its size. */
size_t json_compact(trace_text value, char *to);

#endif
