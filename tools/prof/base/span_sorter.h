/* Sorts records of the caller's. Equals stay as they came.

       span_sorter *s = sorter_of(sizeof(record), before);
       sorter_add(s, &record) ...
       for (sorter_finish(s); sorter_next(s, &record); ) ...
       sorter_free(s);                                                                       */
#ifndef PROF_SPAN_SORTER_H
#define PROF_SPAN_SORTER_H

#include "base/common.h"

typedef struct span_sorter span_sorter;

typedef bool record_before(const void *a, const void *b);

span_sorter *sorter_of(size_t size, record_before *before);  /* of records of so many bytes */
void sorter_add(span_sorter *sorter, const void *added);
void sorter_finish(span_sorter *sorter);         /* all are there */
bool sorter_next(span_sorter *sorter, void *next);
void sorter_free(span_sorter *sorter);            /* NULL: nothing */

#endif
