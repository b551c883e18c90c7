/* What is to be known of a trace before its first event: what labels say of rows, which may stand
   behind their events, and where begins and ends do not come in the order of time. */
#ifndef PROF_SURVEY_H
#define PROF_SURVEY_H

#include "input/event_kinds.h"

/* Reads the file once: its labels into kinds, into unsorted the keys of halves (trace_pair_key)
   that come before earlier ones. */
void survey(const char *path, event_kinds *kinds, map *unsorted);

#endif
