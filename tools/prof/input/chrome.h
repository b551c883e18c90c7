/* The events of Chrome's JSON, one at a time, scanned in place: each lies whole in the text. */
#ifndef PROF_CHROME_H
#define PROF_CHROME_H

#include "input/json_mend.h"
#include "input/json_scan.h"
#include "input/trace_event.h"

typedef struct chrome_scan {
    json_scan json;
    bool tolerant;               /* of keys with two values */
    int64_t first_ns, last_ns;   /* of all times so far and 0 */
    int64_t sum_ns;              /* of what all lasted so far: see chrome_bound_time */
    trace_member *args;          /* of the event */
    size_t arg_capacity;
    map keys;                    /* of args, the first `mapped` of them: see argument_with */
    size_t mapped;
    bool amounts;                /* times may be counts: of a format that is not JSON */
    char *decoded;
    size_t decoded_capacity;
    mended mended;               /* the element, when it was none of JSON: see chrome_mend_event */
} chrome_scan;

/* From the event's `{` to behind it; NULL: json.outcome says why. Its texts are as they are
   written: see chrome_decode. */
const char *chrome_event(chrome_scan *s, const char *p, trace_event *event);
/* Decodes the event's texts that hold escapes, where any has. */
void chrome_decode(chrome_scan *s, trace_event *event);
/* Gives what cannot last so long no length, and says what it is; TRACE_DEFECTS: nothing. The sum of
   all is below 2^62 ns, 146 years: so is that of any of them, of two files, too. */
trace_defect chrome_bound_time(chrome_scan *s, trace_event *event);
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
