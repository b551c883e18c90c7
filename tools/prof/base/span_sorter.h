/* Sorts calls and memory changes into the order in which a tree is walked, by (thread, start,
   -end), changes behind the calls that begin at their moment. Equals stay as they came.

       span_sorter *s = sorter_new();
       sorter_add(s, &span) ...
       for (sorter_finish(s); sorter_next(s, &span); ) ...
       sorter_free(s);

   Records of another kind are sorted so too, by sorter_of.                                  */
#ifndef PROF_SPAN_SORTER_H
#define PROF_SPAN_SORTER_H

#include "base/common.h"

enum { SPAN_CHANGE = 1 };        /* in span.flags: a change of memory, whose amount is bytes */

typedef struct span {
    int64_t start_ns, amount;    /* amount: ns that a call lasts */
    int64_t id;                  /* the caller's own, as what, more and order are */
    uint32_t thread, flags;      /* SPAN_... */
    uint32_t what, more, order;
} span;

typedef struct span_sorter span_sorter;

typedef bool record_before(const void *a, const void *b);

span_sorter *sorter_new(void);
span_sorter *sorter_of(size_t size, record_before *before);  /* of records of so many bytes */
void sorter_add(span_sorter *sorter, const void *added);
void sorter_finish(span_sorter *sorter);         /* all are there */
bool sorter_next(span_sorter *sorter, void *next);
void sorter_free(span_sorter *sorter);            /* NULL: nothing */

#endif
