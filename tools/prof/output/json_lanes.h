/* --lanes of prof export: calls of a row that overlap without one lying in the
   other get rows of their own (lanes.h), so that viewers show all of them. Viewers of Chrome's
   JSON drop or cut such calls.

       json_lanes *l = json_lanes_find(path);           reads the file once
       json_lanes_names(l, &writer);       before the first event
       ... an edit for each event that is written: json_lanes_edit(l, &event, &edit) ...
       json_lanes_free(l);                                                                     */
#ifndef PROF_JSON_LANES_H
#define PROF_JSON_LANES_H

#include "output/trace_writer.h"

typedef struct json_lanes json_lanes;

json_lanes *json_lanes_find(const char *path);   /* NULL: it cannot be read (reported) */
/* Puts the event into its lane; false: it is in its own row. l NULL: it always is. */
bool json_lanes_edit(const json_lanes *l, const trace_event *event, text_edit *edit);
/* Writes the names of the lanes, as events. */
void json_lanes_names(const json_lanes *l, trace_writer *w);
void json_lanes_free(json_lanes *l);

#endif
