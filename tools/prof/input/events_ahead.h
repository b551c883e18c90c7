/* The events of a large file, scanned by another thread (read_ahead.h) where that is faster, as
   long as they are as they should be. */
#ifndef PROF_EVENTS_AHEAD_H
#define PROF_EVENTS_AHEAD_H

#include "input/bytes.h"
#include "input/chrome.h"
#include "input/read_ahead.h"

/* How long one way of reading takes a byte: see next_way. */
typedef struct pace {
    uint64_t begin, until;       /* offsets of what is timed in that way now */
    uint64_t stretch;            /* bytes of the last one that was no trial, */
    bool ahead;                  /* and its way */
    double begin_s, cost[2];     /* seconds a byte: alone, ahead; 0: not known */
} pace;

typedef struct events_ahead {
    read_ahead *ahead;           /* NULL: the caller reads and scans itself */
    chrome_scan *scanner;        /* of the other thread */
    ahead_block *block;          /* the text is this one's; NULL: the caller's own */
    size_t taken, args_taken;    /* of the block */
    uint64_t again;              /* offset from which on reading ahead may be worth it */
    pace pace;
    bool leaving;                /* the blocks that are still to come are the last ones */
} events_ahead;

/* The next block, or what is left behind the last one, becomes the text. may: the rest of an array
   of events follows. false: the caller is to read on itself. */
bool ahead_more(events_ahead *a, bytes *b, json_scan *text, bool may);
/* The next event of the block. NULL: s->json.outcome says why. */
const char *ahead_next(events_ahead *a, chrome_scan *s, trace_event *event);
void ahead_leave(events_ahead *a);

#endif
