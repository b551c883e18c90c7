/* A part of a trace by time or step, as --from, --to and --step name it. */
#ifndef PROF_TRACE_RANGE_H
#define PROF_TRACE_RANGE_H

#include "input/trace_reader.h"

typedef struct range_options {
    const char *from, *to;       /* "20ms" since the first event; NULL: the file's end */
    const char *step;            /* "3": the range of ProfilerStep#3; NULL */
} range_options;

#define RANGE_OPTIONS(range) \
    {"from", 0, OPTION_TEXT, &(range).from, "TIME", \
     "only what begins then or later: 1.5s, 20ms, 300us since the first event"}, \
    {"to", 0, OPTION_TEXT, &(range).to, "TIME", "only what begins before"}, \
    {"step", 0, OPTION_TEXT, &(range).step, "N", "only what begins in ProfilerStep#N"}

/* "1.5s", "20ms", "300us", "300" (us), "7ns"; false: it is none of these. */
bool time_parse(const char *text, int64_t *ns);
int64_t time_add(int64_t a, int64_t b);   /* as near as 64 bits have it */

/* The range in the file's own time. Reads the file once when there is a range; both INT64_MIN and
   INT64_MAX when there is none. Returns the exit code; it has told what is wrong. */
int range_find(const range_options *options, const char *path, int64_t *from_ns, int64_t *to_ns);

#endif
