/* What a trace's own head tells of its losses: the counts of prof_stats in "prof" (in arrays in
   the event "prof counts", in raw streams in the last block), those of prof_cuda.h, and what its
   devices said. The reader collects them; every command tells them first. */
#ifndef PROF_LOSSES_H
#define PROF_LOSSES_H

#include "input/trace_event.h"
#include "raw_read.h"

enum { LOSS_COUNTS = 64, LOSS_DEVICES = 8 };

enum { DEVICE_TYPES = 8 };      /* as many as the library tells apart */

typedef struct losses {
    uint64_t counts[LOSS_COUNTS];   /* by number in the list of texts; sums stop at the largest */
    struct { char name[48], text[208]; } devices[LOSS_DEVICES];
    size_t device_count, more_devices;   /* more: left out */
    uint64_t summed;                /* zones that are in no timeline, but in the head's sums */
    int64_t timeline_ns, session_ns;     /* how long that is; the whole */
    uint64_t odd;                   /* counts in the head that are none */
    char counters[PROF_COUNTERS][256];   /* arguments that are counters of desc.hw_counters */
    size_t counter_count, more_counters; /* more: left out */
    struct { int64_t type; char name[64]; } types[DEVICE_TYPES];   /* of devices */
    size_t type_count, more_types;
    bool zone_ids;                  /* times do not tell all of the tree: some zones tell parents */
    bool one_core;                  /* its threads take turns on one core: see raw_read.h */
    bool zones_ahead;               /* nor what memory changes in: it names zones that come later */
} losses;

void losses_read(losses *l, trace_text head);            /* the value of "prof", the args of the
                                                            event; it may hold anything */
void losses_read_cuda(losses *l, trace_text head);       /* the value of "prof_cuda" */
void losses_add_stats(losses *l, const prof_stats *stats);
/* Of a raw stream's items: each session's last counts. Zero-initialise. */
typedef struct raw_losses { prof_stats counts; bool in_session; int64_t process; } raw_losses;
void losses_take_raw(losses *l, raw_losses *r, const prof_raw_item *item);
void losses_end_raw(losses *l, raw_losses *r);           /* the stream has ended */
void losses_add_stream(losses *l, uint64_t blocks, uint64_t records, uint64_t damaged_bytes);
void losses_add(losses *to, const losses *from, const char *whose);   /* whose: before devices */

/* The next line of what there is, "text: count", from *index = 0 on; false: no more. */
bool losses_next(const losses *l, size_t *index, char line[320]);
struct head_lists;
/* The members of a trace's head that say the same: "prof" and "prof_cuda". lists: of count heads,
   one after the other. */
void losses_write_head(const losses *l, const struct head_lists *lists, size_t count,
                       output *out);

void losses_note(losses *l, const char *name, const char *text);     /* a line "name: text" */
/* Device time that the file has and nobody reads: count of what, "rows of table T"; ns 0: unknown.
   All stand in one line. */
void losses_unread(losses *l, const char *what, uint64_t count, uint64_t ns);
void losses_add_type(losses *l, int64_t type, const char *name);   /* what its devices are called */

/* ---- Telling them: "FILE: what; what" ---- */

/* On stderr; after losses_hold() kept for losses_write. Nothing where nothing was lost. */
void losses_tell(const char *path, const losses *l);
void losses_hold(void);                          /* a report in text is to follow */
void losses_write(output *out);                  /* as its first lines */
/* What was held and not written: on stderr. The command ends. */
void losses_end(void);
void losses_forget(void);                        /* another command is to follow */
/* All lines told so far, for a page. */
text_list losses_told(void);

#endif
