/* Device work that lasts beyond the begin of the next one of its stream, as where its end was lost:
   found by reading a file once before. */
#ifndef PROF_REPAIR_H
#define PROF_REPAIR_H

#include "input/trace_event.h"

typedef struct repairs repairs;
repairs *repair_find(const char *path);          /* tells of how much there is; NULL: nothing */
void repair_event(const repairs *r, trace_event *event);
void repair_free(repairs *r);                    /* NULL: nothing */

#endif
