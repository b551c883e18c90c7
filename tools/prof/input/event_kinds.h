/* What events are whose category does not tell: of a device or not, by the labels of their row. And
   what prof.h's row "CPU" has: which task of a kernel ran. Zero-initialise. */
#ifndef PROF_EVENT_KINDS_H
#define PROF_EVENT_KINDS_H

#include "input/trace_event.h"

typedef enum row_side { ROW_UNKNOWN, ROW_ON_HOST, ROW_ON_DEVICE, ROW_REPEATS } row_side;

typedef struct event_kinds {
    bool own;                    /* the trace is prof.h's */
    map rows;                    /* process or thread -> what its labels say, bit by bit */
    struct { int64_t pid, tid, device; row_side side; bool any; } last;      /* asked for */
    interner unknown;            /* categories, and how many events went where */
    struct { uint64_t count[2]; } *guesses;
    size_t guess_count, guess_capacity;
    uint64_t repeated;           /* events left out, as they repeat others */
    uint64_t counted;            /* TRACE_COUNTED */
    char first_repeated[64];     /* the name of one */
} event_kinds;

/* A complete event, of which its row's labels tell. */
static inline bool kinds_asks(const trace_event *event) {
    return event->phase == 'X' && event->kind == TRACE_OTHER;
}
void kinds_note_row(event_kinds *k, const trace_event *metadata);
void kinds_odd(event_kinds *k, trace_event *event);
/* Sets the event's kind, once its category has. Of most complete events the category has told
   all. */
static inline void kinds_take(event_kinds *k, trace_event *event) {
    bool metrics = event->kind == TRACE_KERNEL && event->name.size && *event->name.data == 'm';
    bool odd = !event->kind || k->own || metrics || event->kind == TRACE_COUNTED;
    if (event->phase == 'M' || (event->phase == 'X' && odd))
        kinds_odd(k, event);
}
void kinds_tell(const event_kinds *k, const char *path);     /* what was guessed and left out */
void kinds_free(event_kinds *k);

#endif
