/* What events are whose category is not known: of a device or not, by the row that they are in. And
   what prof.h's row "CPU" has: which task of a kernel ran. Zero-initialise. */
#ifndef PROF_EVENT_KINDS_H
#define PROF_EVENT_KINDS_H

#include "input/trace_event.h"

typedef struct event_kinds {
    bool own;                    /* the trace is prof.h's */
    map rows;                    /* process or thread -> what it is: see note_row */
    interner unknown;            /* categories, and how many events went where */
    struct { uint64_t count[2]; } *guesses;
    size_t guess_count, guess_capacity;
} event_kinds;

void kinds_odd(event_kinds *k, trace_event *event);
/* Sets the event's kind, once its category has; metadata tell of the events behind them. Of most
   complete events the category has told all. */
static inline void kinds_take(event_kinds *k, trace_event *event) {
    bool plain = event->phase == 'X' && event->kind != TRACE_OTHER && !k->own;
    if (event->phase == 'M' || (event->phase == 'X' && !plain)) kinds_odd(k, event);
}
void kinds_tell(const event_kinds *k, const char *path);     /* in one line, what was guessed */
void kinds_free(event_kinds *k);

#endif
