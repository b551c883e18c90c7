/* Reads a trace one event at a time, in constant memory: Chrome/Kineto JSON of every generation
   (object and array form), plain, gzip, from stdin, cut short or not; folded stacks; prof.h's raw
   stream. Begins and ends come as one event. Texts point into the reader's buffer and are valid
   until the next trace_next().

   The scanner is our own: libyajl, which is constant in memory too and which `prof validate` asks
   for its verdict on the syntax, reads a third as fast (320 against 1110 MB/s on 500 MB), stops at
   the NaN and the invalid UTF-8 that real traces have, and tells neither where an event stands in
   the file nor its text, which augment, cut, merge and every message here need.

       trace_reader *reader = trace_open(path);
       if (!reader) return EXIT_BAD;
       while (trace_next(reader) != TRACE_END)
           if (reader->item == TRACE_EVENT) use(&reader->event);
       return trace_close(reader);                                                              */
#ifndef PROF_TRACE_READER_H
#define PROF_TRACE_READER_H

#include "input/trace_event.h"

typedef enum trace_item {
    TRACE_END = 0,              /* of the file, or of what can be read of it */
    TRACE_EVENT,                /* reader->event */
    TRACE_MEMBER,               /* reader->member: a top-level member other than traceEvents */
    TRACE_NODE,                 /* reader->event.raw: one of "nodes" of an execution trace */
    TRACE_ROW                   /* reader->row: one of a raw memory timeline, if takes_rows */
} trace_item;

/* What was tolerated, and where it was first seen. The first ones are mended: events and members
   are handed out as JSON, so that what is copied of them is JSON (see json_mend.h). What else is no
   JSON ends the reading, with its byte. */
typedef enum trace_defect {
    TRACE_NAN,                  /* NaN, Infinity, 1e999 where a number belongs: taken as absent */
    TRACE_BAD_UTF8,
    TRACE_CONTROL,              /* a raw control character in a text */
    TRACE_ESCAPE,               /* \x, \u12, half a surrogate pair */
    TRACE_COMMA,                /* a comma before a closing bracket */
    TRACE_MENDED,
    TRACE_DUPLICATE_KEY = TRACE_MENDED,      /* in an object; with two values: an error, unless
                                                `tolerant`: then the last one counts */
    TRACE_BAD_NUMBER,           /* a ts, dur, pid or tid that is no number: taken as absent */
    TRACE_NO_TIME,              /* X without ts or dur, a begin or end without ts: taken as 0 */
    TRACE_NEGATIVE,             /* a dur below 0, an end before its begin: of no length */
    TRACE_NOT_OBJECT,           /* an event that is not an object: skipped */
    TRACE_NO_BEGIN,             /* an end (E, e) of nothing: left out */
    TRACE_NO_END,               /* a begin (B, b) that nothing ends: lasts to the trace's end */
    TRACE_DEFECTS
} trace_defect;

typedef struct trace_reader {
    trace_item item;
    trace_event event;
    trace_member member;
    trace_text row;             /* [...] */
    uint64_t row_offset;
    /* the file as a whole */
    const char *path;
    bool array_form, truncated, failed;
    bool numbered;              /* it is not JSON: offsets are the numbers of items, from 1 on */
    bool open_array;            /* an array without its `]`, whole otherwise */
    bool empty;                 /* at the end: it has nothing that was recorded */
    const char *broken;         /* what is wrong where it cannot be read on; NULL: nothing is */
    uint64_t broken_offset;
    /* set by the caller */
    bool quiet;                 /* do not tell what was tolerated */
    bool takes_nodes;           /* an execution trace is no mistake */
    bool takes_rows;            /* nor is an array of arrays */
    bool as_written;            /* begins and ends as they stand; else a pair is one event */
    bool tolerant;              /* of keys with two values */
    bool with_text;             /* event.raw is JSON with all texts, whatever the format */
    bool as_ended;              /* zones of a raw stream come as they ended, those in them before
                                   them; else, of two that begin together, the outer one first */
    uint64_t events;            /* delivered so far */
    uint64_t bytes;             /* unpacked bytes read so far */
    uint64_t defects[TRACE_DEFECTS], first_defect[TRACE_DEFECTS];
    int64_t base_time_ns;       /* baseTimeNanoseconds; 0 until it was seen, or none */
    uint64_t base_offset;       /* of its value in the file */
    output *copy;               /* gets every byte of the file but the events themselves, each
                                   piece, mended, before the item behind it is handed out; NULL:
                                   none */
    struct losses *losses;      /* that the head has told of so far: see losses.h */
    uint64_t losses_offset;     /* of the value that tells it, in the file */
    struct trace_source *source;
} trace_reader;

trace_reader *trace_open(const char *path);      /* "-": stdin. NULL: it has told why */
trace_item trace_next(trace_reader *reader);
/* Tells what was tolerated or went wrong. 0, or EXIT_BAD when the file could not be read, or is no
   trace. A file that ends early was read as far as it goes: 0, but see note_cut_input. */
int trace_close(trace_reader *reader);

/* What an event of this category is. */
uint8_t trace_kind_of(trace_text category);
/* Is it a begin or an end, and what has it in common with its other half (see trace_pairs.h): the
   thread; or category, id and, but for ids that processes share, the process. */
bool trace_is_half(char phase);
uint64_t trace_pair_key(const trace_event *event);

/* ---- Arguments of the current event ---- */

const trace_member *trace_args(const trace_event *event);    /* all of them */
const trace_member *trace_arg_find(const trace_event *event, const char *key, size_t size);
/* NULL: not there, which is known at once. */
static inline const trace_member *trace_arg(const trace_event *event, const char *key) {
    trace_text text = {key, strlen(key)};
    return event->arg_bits & key_bit(text) ? trace_arg_find(event, key, text.size) : NULL;
}
bool trace_arg_double(const trace_event *event, const char *key, double *value);
/* The decoded text, copied with a NUL into buffer; false when there is none. Cut to size. */
bool trace_arg_text(const trace_event *event, const char *key, char *buffer, size_t size);
bool trace_correlation(const trace_event *event, int64_t *id);
/* The overload that the event itself names, in each of its spellings; NULL: none. PyTorch has it in
   the event's name alone. */
const trace_member *trace_overload(const trace_event *event);
bool trace_external_id(const trace_event *event, int64_t *id);   /* also 2021's "external id" */
const trace_member *trace_shapes(const trace_event *event);      /* of the inputs; NULL: none */
int64_t trace_device(const trace_event *event);              /* that it ran on */
/* Counters of one name are told apart by their id: " id: ID", cut to size, as Perfetto names them;
   "" where there is none. Returns its bytes. */
size_t trace_counter_id(const trace_event *event, char *buffer, size_t size);
uint64_t trace_flow(const trace_event *event);               /* a number for its cat and id */

/* ---- JSON texts that the reader has handed out ---- */

/* The next item of an array or object: rest starts as the whole text and shrinks; key is empty in
   arrays. false: no more. */
/* (Texts may come from an arena too: 32 bytes behind them must be readable.) */
bool json_next(trace_text *rest, trace_text *key, trace_text *value);
bool json_whole(trace_text text);                            /* is it one value of JSON? */
bool json_int(trace_text value, int64_t *number);            /* also from a quoted number */
static inline bool trace_arg_int(const trace_event *event, const char *key, int64_t *value) {
    const trace_member *arg = trace_arg(event, key);
    return arg && json_int(arg->value, value);
}
bool json_double(trace_text value, double *number);
bool json_is_text(trace_text value);
/* Decodes a quoted text into buffer with a NUL, cut to whole characters that fit; returns the size
   it needs without the NUL, which may be more than value.size. size 0: only that. */
size_t json_decode(trace_text value, char *buffer, size_t size);
/* Copies text into buffer as decoded texts are: U+FFFD for NUL and what is not UTF-8. Returns the
   size it needs, at most three times its own; cut to size, without a NUL. */
size_t text_clean(trace_text text, char *buffer, size_t size);
bool json_ns(trace_text value, int64_t *ns);                 /* microseconds to exact ns */
/* The value without the white space between its parts, into at most value.size bytes; its size. */
size_t json_compact(trace_text value, char *to);

#endif
