/* Reads a trace one event at a time, in constant memory: Chrome/Kineto JSON of every generation
   (object and array form), plain, gzip, from stdin, cut short or not; folded stacks; prof.h's raw
   stream. Begins and ends come as one event. Texts point into the reader's buffer and are valid
   until the next trace_next().

       trace_reader *reader = trace_open(path);
       if (!reader) return EXIT_BAD;
       while (trace_next(reader) != TRACE_END)
           if (reader->item == TRACE_EVENT) use(reader->event);
       return trace_close(reader);                                                              */
#ifndef PROF_TRACE_READER_H
#define PROF_TRACE_READER_H

#include "input/trace_event.h"

typedef struct trace_reader {
    trace_item item;
    trace_event *event;
    trace_member member;
    trace_text row;             /* [...] */
    uint64_t row_offset;
    /* the file as a whole */
    const char *path;
    bool array_form, truncated, failed;
    const struct source_format *format;      /* of what is not JSON: offsets are the numbers of
                                                items, from 1 on. NULL: it is, or not known yet */
    bool open_array;            /* an array without its `]`, whole otherwise */
    bool empty;                 /* at the end: it has nothing that was recorded */
    const char *broken;         /* what is wrong where it cannot be read on; NULL: nothing is */
    uint64_t broken_offset;
    /* set by the caller */
    bool quiet;                 /* do not tell what was tolerated */
    bool takes_nodes;           /* an execution trace is no mistake */
    bool takes_rows;            /* nor is an array of arrays */
    bool as_written;            /* begins and ends as they stand; else a pair is one event */
    bool tolerant;              /* of keys with two values */
    bool with_text;             /* event.raw is JSON with all texts, whatever the format */
    bool as_ended;              /* zones of a raw stream come as they ended, those in them before
                                   them; else, of two that begin together, the outer one first.
                                   From the first item on: it is so, the depths tell the tree */
    uint64_t events;            /* delivered so far */
    uint64_t bytes;             /* unpacked bytes read so far */
    uint64_t defects[TRACE_DEFECTS], first_defect[TRACE_DEFECTS];
    int64_t base_time_ns;       /* baseTimeNanoseconds; 0 until it was seen, or none */
    uint64_t base_offset;       /* of its value in the file */
    bool own;                   /* it is prof.h's: its head has said so */
    struct losses *losses;      /* that the head has told of so far: see losses.h */
    uint64_t losses_offset;     /* of the value that tells it, in the file */
    struct trace_source *source;
} trace_reader;

/* Set by --repair: device work that lasts beyond the next begin on its stream ends there. Files are
   then read twice. */
extern bool trace_repairs;
#define REPAIR_OPTION \
    {"repair", 0, OPTION_FLAG, &trace_repairs, NULL, \
     "device work that lasts beyond the next begin on its stream ends there"}
trace_reader *trace_open(const char *path);      /* "-": stdin. NULL: it has reported why */
/* The same, for who only looks: events are as the file has them, without a word. */
trace_reader *trace_open_plain(const char *path);
trace_item trace_next(trace_reader *reader);
/* Tells what was tolerated or went wrong. 0, or EXIT_BAD when the file could not be read, or is no
   trace. A file that ends early was read as far as it goes: 0, but see note_cut_input. */
int trace_close(trace_reader *reader);

#endif
