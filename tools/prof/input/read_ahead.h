/* Reading beside the work: a thread unpacks a file into a ring of blocks and scans the events in
   them, while the caller works on those of the block before. Where the caller would have to wait,
   it unpacks for the thread. What a block holds behind its last whole event stands again at the
   begin of the next one.

       read_ahead *ahead = ahead_start(file, begin, base, scan, user);
       while (ahead) {
           ahead_block *block = ahead_take(ahead);
           ... block->events ...
           if (block->last) ... what is behind them, and then
               ahead_rest(ahead, ...), ahead_stop(ahead), ahead = NULL;
       }                                                                                      */
#ifndef PROF_READ_AHEAD_H
#define PROF_READ_AHEAD_H

#include "input/chrome.h"
#include "input/unpack.h"

#ifndef AHEAD_BYTES             /* tests read small files ahead, too */
#  define AHEAD_BYTES 65536     /* unpacked into a block, behind what was left of another */
#endif

typedef struct ahead_block {
    char *text;                 /* READABLE zero bytes behind it */
    size_t used;                /* of it */
    size_t scanned;             /* bytes up to behind the last event */
    uint64_t base;              /* offset of the text in the unpacked file */
    uint64_t packed;            /* bytes read of the packed file */
    scanned_event *events;      /* their args stand in `args`, one event's behind another's */
    size_t count, capacity;
    scanned_arg *args;
    size_t arg_capacity;
    bool last;                  /* the thread has stopped: what follows is the caller's to read */
    /* inside */
    char *room;                 /* the text ends there, with what was unpacked: */
    size_t unpacked;            /* bytes, */
    bool at_end;                /* behind which there is nothing, or what is wrong */
} ahead_block;

typedef struct read_ahead read_ahead;

enum { AHEAD_BLOCKS = 7, AHEAD_REST = AHEAD_BLOCKS * AHEAD_BYTES };

/* Scans the events of a block: sets events, args and scanned; and last, where something follows
   that is more than an event that ends in the next block. */
typedef void ahead_scan(void *user, ahead_block *block);

/* Text that was read already, at most half of AHEAD_BYTES, begins the first block. Until ahead_stop
   the file is the thread's. NULL: no thread can be had, or another file is read ahead. */
read_ahead *ahead_start(unpacker *file, trace_text begin, uint64_t base, ahead_scan *scan,
                        void *user);
ahead_block *ahead_take(read_ahead *ahead);      /* the next; the one before is the thread's */
/* Behind the last block: copies what was unpacked already; its bytes, at most AHEAD_REST. */
size_t ahead_rest(const read_ahead *ahead, char *to);
void ahead_end(read_ahead *ahead);               /* the block that is being read is the last one */
void ahead_stop(read_ahead *ahead);              /* its blocks are gone */

#endif
