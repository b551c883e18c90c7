/* Writes traces: top-level members and events, in the order in which they come. */
#ifndef PROF_TRACE_WRITER_H
#define PROF_TRACE_WRITER_H

#include "input/trace_reader.h"

typedef struct trace_writer {
    output *out;
    bool array_form;            /* only events, in an array */
    const char *list;           /* the events' member: "traceEvents", or set by the caller */
    bool any_member, in_events, had_events;
    bool holds;                 /* more events may follow a member: those behind the first event */
    output late;                /* wait here for the end */
} trace_writer;

void writer_begin(trace_writer *w, output *out, bool array_form);
/* For a trace that is made of one that is read: before each of its items, and at its end. Begins in
   the form of that. Zero-initialise. */
void writer_begin_as(trace_writer *w, output *out, const trace_reader *reader);
void writer_member(trace_writer *w, trace_text key, trace_text value);   /* both as in JSON */
/* The place of the next event, or of the next members, behind which none follows if one was there
   before: the caller writes it. */
void writer_event(trace_writer *w);
void writer_members(trace_writer *w);
void writer_key(trace_writer *w, const char *key);
/* What a process or thread is called, or where it sorts. pid_text: instead of pid; NULL. */
typedef struct writer_row { int64_t pid, tid; const char *pid_text; } writer_row;
void writer_name(trace_writer *w, const char *what, writer_row row, const char *name);
void writer_sort_index(trace_writer *w, const char *what, writer_row row, int64_t index);
void writer_put(trace_writer *w, const trace_event *event);
void writer_end(trace_writer *w);

/* A piece of an event's text, and what is to stand there instead. */
typedef struct text_edit { trace_text old; char text[64]; } text_edit;
text_edit us_edit(trace_text old, int64_t ns);   /* microseconds instead of it */
void write_edited(output *out, trace_text raw, text_edit *edits, size_t count);   /* sorts them */

#endif
