/* A part of a trace by time or step, as --from, --to and --step name it. */
#ifndef PROF_TRACE_RANGE_H
#define PROF_TRACE_RANGE_H

#include "input/trace_reader.h"
#include "trace/beside.h"

typedef struct range_options {
    const char *from, *to;       /* "20ms" since the first event; NULL: the file's end */
    const char *step;            /* "3": in ProfilerStep#3; NULL */
    const char *within;          /* in calls of this name; NULL */
    file_time *files;            /* by range_align; NULL: each file counts by itself */
    size_t file_count;
} range_options;

#define RANGE_OPTIONS(range) \
    {"from", 0, OPTION_TEXT, &(range).from, "TIME", \
     "only what begins then or later: 1.5s, 20ms, 300us since the first event"}, \
    {"to", 0, OPTION_TEXT, &(range).to, "TIME", "only what begins before that time"}, \
    {"step", 0, OPTION_TEXT, &(range).step, "N", "only what begins in ProfilerStep#N"}, \
    {"within", 0, OPTION_TEXT, &(range).within, "NAME", \
     "only what begins while a call of this name runs, on any thread"}, REPAIR_OPTION

/* Parts of a file's time. */
typedef struct trace_range {
    struct range_part { int64_t from_ns, to_ns; } *parts;    /* by time, apart from each other;
                                                                NULL: all of it */
    size_t count, capacity;
    int64_t last_ns;             /* the end of the calls that begin in them */
} trace_range;

/* "1.5s", "20ms", "300us", "300" (us), "7ns"; false: it is none of these. */
bool time_parse(const char *text, int64_t *ns);
int64_t time_add(int64_t a, int64_t b);   /* as near as 64 bits have it */

bool range_given(const range_options *options);
/* Of several files that ran at the same time --from and --to count from the first event of them
   all, as in the page. Reads each once more; range_unalign frees. False: reported. */
bool range_align(range_options *options, char *const *paths, int count);
void range_unalign(range_options *options);
/* Reads the file twice where a range is given. The exit code; it has reported what is wrong. */
int range_find(const range_options *options, const char *path, trace_range *range);
bool range_holds(const trace_range *range, int64_t ns);
bool range_reached(const trace_range *range, int64_t start_ns, int64_t end_ns);    /* by a call */
void range_free(trace_range *range);

#endif
