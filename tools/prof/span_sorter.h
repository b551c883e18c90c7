/* Sorts calls and memory changes in constant memory: into the order in which a tree is walked, by
   (thread, start, -end), changes behind the calls that begin at their moment. What is too much
   for the memory is sorted in pieces, in a temporary file, and merged while it is read.

       span_sorter *s = sorter_new();
       sorter_add(s, &span) ...
       for (sorter_finish(s); sorter_next(s, &span); ) ...
       sorter_free(s);                                                                       */
#ifndef PROF_SPAN_SORTER_H
#define PROF_SPAN_SORTER_H

#include "common.h"

typedef struct span {
    int64_t start_ns;
    int64_t amount;              /* ns that a call lasts; bytes of a change */
    uint32_t thread;
    int32_t what;                /* the caller's own number; of a change: negative */
} span;

typedef struct span_sorter span_sorter;

span_sorter *sorter_new(void);
void sorter_add(span_sorter *sorter, const span *added);
void sorter_finish(span_sorter *sorter);         /* all are there */
bool sorter_next(span_sorter *sorter, span *next);
void sorter_free(span_sorter *sorter);

#endif
