/* The events of Chrome's JSON, one at a time, scanned in place: each lies whole in the text. */
#ifndef PROF_CHROME_H
#define PROF_CHROME_H

#include "input/json_mend.h"
#include "input/json_scan.h"
#include "input/trace_event.h"

/* What was scanned of an event. Another processor reads it: so it is small, and its texts are
   places behind the event's `{`, 0 for those that are not there. */
typedef struct text_place { uint32_t at, size; } text_place;
typedef struct scanned_arg { text_place key, value; } scanned_arg;
typedef struct scanned_event {
    size_t at;                  /* of its `{` in the text */
    text_place name, cat, id, args_text;
    int64_t ts_ns, dur_ns, pid, tid;
    uint64_t arg_bits;
    uint32_t size, has, arg_count;
    char phase;
    uint8_t kind;
    bool has_rare;              /* some of those below, which are unset otherwise */
    struct rare_texts { text_place pid_text, tid_text, id2, bp, scope; } rare;
} scanned_event;

static inline trace_text text_at(const char *element, text_place of) {
    return (trace_text){element + of.at, of.size};
}

typedef struct chrome_scan {
    json_scan json;
    bool tolerant;               /* of keys with two values */
    int64_t first_ns, last_ns;   /* of all times so far and 0 */
    const char *element;         /* the event that is being scanned begins here */
    scanned_arg *args;           /* behind those of events before it, of which there are */
    size_t arg_first, arg_capacity;
    trace_member *members;       /* the arguments of the event that was handed out */
    size_t member_capacity;
    struct known_texts *known;   /* of the events before; NULL: there was none */
    map keys;                    /* of args, the first `mapped` of them: see argument_with */
    size_t mapped;
    char *decoded;
    size_t decoded_capacity;
    mended mended;               /* the element, when it was none of JSON: see chrome_mend_event */
} chrome_scan;

/* From the event's `{` to behind it; NULL: json.outcome says why. Its texts are as they are
   written: see chrome_decode. */
const char *chrome_event(chrome_scan *s, const char *p, scanned_event *event);
/* The event as callers have it; its arguments are `args`, of which callers ask for few. */
void chrome_hand_out(chrome_scan *s, const scanned_event *from, const scanned_arg *args,
                     trace_event *event);
/* Decodes the event's texts that hold escapes, where any has. */
void chrome_decode(chrome_scan *s, trace_event *event);
/* Ends fit 64 bits too, and so does what lies between any two times of the trace, and 0. */
bool chrome_times_fit(chrome_scan *s, int64_t ts_ns, int64_t dur_ns);
extern const char chrome_no_times[];     /* what is said where they do not */
/* The event once more, from this text of it, PADDING zeros behind it. false: json.outcome says
   why. */
bool chrome_again(chrome_scan *s, trace_event *event, trace_text text);
/* What was handed out once more, as JSON. false: json.outcome says why. */
bool chrome_mend_event(chrome_scan *s, trace_event *event);
bool chrome_mend_member(chrome_scan *s, trace_member *member);
void chrome_free(chrome_scan *s);

#endif
