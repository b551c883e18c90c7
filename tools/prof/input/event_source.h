/* The formats that are not Chrome's JSON: bytes of the file go in, events come out. The trace
   reader asks each format whether a file is its own, and hands on what it makes of it. */
#ifndef PROF_EVENT_SOURCE_H
#define PROF_EVENT_SOURCE_H

#include <sys/types.h>

#include "input/trace_event.h"

/* ---- What a source has made, and nobody has taken yet ---- */

typedef struct queued { trace_item item; trace_event event; trace_member member; } queued;

/* Zero-initialise. */
typedef struct event_queue {
    queued *items;
    size_t count, next, capacity;
    arena texts;                 /* of what waits */
    bool has_args;
    output args;                 /* see queue_begin_args, */
    struct { size_t key, value; } *places;       /* and where in it they are: see queue_arg */
    size_t arg_count, place_capacity;
    bool left_out;               /* the file holds something that the source does not read */
    bool as_ended;               /* see trace_reader.h: it is so */
    bool failed;                 /* it cannot be read on, as the source has reported */
    uint64_t odd;                /* what the file cannot mean, and the first: see queue_odd */
    char first_odd[200];
} event_queue;

/* A new event, to be filled in before the next one is asked for. Its texts are to last as long as
   it waits, and the name is clean (text_clean). category.data NULL: it has none. */
trace_event *queue_event(event_queue *q, char phase, trace_text category, trace_text name);
trace_event *queue_timed(event_queue *q, char phase, trace_text category, trace_text name,
                         int64_t ts_ns);
void queue_until(trace_event *event, int64_t dur_ns);        /* a complete one */
/* What a process or thread is called: "process_labels", "thread_name" and so on. */
void queue_label(event_queue *q, const char *what, int64_t pid, int64_t tid, trace_text label);
void queue_device(event_queue *q, const char *kind, int64_t device);     /* "GPU 0", of its pid */
void queue_id(event_queue *q, trace_event *event, int64_t id);
/* Its arguments: a copy of the JSON text {...}. */
void queue_args(event_queue *q, trace_event *event, trace_text args);
/* The same, written behind the `{` that is there; none: {}. */
output *queue_begin_args(event_queue *q);
void queue_end_args(event_queue *q, trace_event *event);
/* One of them, whose key is as JSON has it, without quotes: the caller writes the value. An event
   has all its arguments by these, or none: then the JSON is read again. */
output *queue_arg(event_queue *q, trace_text key);
void queue_int(event_queue *q, const char *key, int64_t value);
void queue_string(event_queue *q, const char *key, trace_text value);
void queue_text(event_queue *q, trace_text json);            /* an event that is one as JSON */
trace_text queue_copy(event_queue *q, trace_text text);      /* that lasts as long as it waits */
trace_text queue_clean(event_queue *q, trace_text text);     /* the same, clean */
trace_text queue_decoded(event_queue *q, trace_text json);   /* the same, of a quoted text */
void queue_member(event_queue *q, trace_text key, trace_text value);
void queue_members(event_queue *q, trace_text object);       /* those of a JSON text */
/* What a file says of itself is used where it fits alone. What does not is counted, and told behind
   the end with its field and where it stands ("byte" 9, "row" 3): the caller leaves out what has
   it. */
void queue_odd(event_queue *q, const char *field, const char *unit, uint64_t where,
               const char *format, ...) PRINTF_LIKE(5, 6);
/* The same of an index, count, size or offset: is it 0 to `most`? */
bool queue_fits(event_queue *q, const char *field, const char *unit, uint64_t where, int64_t number,
                uint64_t most);
/* The same of what is no number that could be meant, as a time of 1e300. */
void queue_no_number(event_queue *q, const char *field, uint64_t byte, trace_text value);
/* The next item, which lasts until the next call. NULL: there is none. */
queued *queue_next(event_queue *q);
void queue_free(event_queue *q);

/* As intern, of a text that may be anything. */
uint32_t intern_clean(interner *names, trace_text text);

/* Warns that the file ends, or cannot be read on, there: for `tell`, below. why NULL: false. */
bool tell_end(const char *path, uint64_t offset, const char *why);

/* ---- Sampled stacks ---- */

typedef struct open_frame { uint32_t name; int64_t start_ns; } open_frame;
typedef struct held_frame { open_frame frame; size_t depth; int64_t end_ns; } held_frame;

/* The frames that are open, the outermost first. Zero-initialise but for the ids; frames_free. */
typedef struct frame_stack {
    open_frame *frames;
    size_t depth, capacity;
    held_frame *held;            /* they ended, but began with an open one, which comes first: it
                                    is the outer one */
    size_t held_count, held_capacity;
    int64_t pid, tid;
} frame_stack;

/* From now on these are open: makes calls of those that no longer are. The first `same` are known
   to be those that were. */
void frames_are(frame_stack *s, event_queue *to, const interner *names, size_t same,
                const uint32_t *frames, size_t depth, int64_t now_ns);
void frames_free(frame_stack *s);

/* ---- A format ---- */

typedef struct source_desc {
    event_queue *to;
    const char *path;
    int fd;                      /* of a plain file whose bytes begin at `begin`; -1: it is none */
    off_t begin;
    bool as_ended;               /* see trace_reader.h */
    struct losses *losses;       /* what the file tells of them, before the first event */
    bool live;                   /* events are wanted as the bytes come, whatever comes behind */
} source_desc;

typedef struct source_format {
    /* Is it this format by these first bytes? 1: yes, 0: no, -1: more bytes are needed to tell. */
    int (*is)(const void *first, size_t size);
    void *(*open)(const source_desc *desc);
    /* The next bytes. NULL: it reads the file by itself. */
    void (*push)(void *source, const void *data, size_t size);
    /* There are no more bytes: makes some of what is left. false: that was all. NULL: all
       was made as the bytes came. */
    bool (*end)(void *source);
    /* Behind the end: warns of what was left out. true: the file ends early, or is damaged. */
    bool (*tell)(void *source, const char *path);
    void (*close)(void *source);
} source_format;

extern const source_format raw_format, perfetto_format, folded_format, import_format,
                           snapshot_format, sampled_format, xplane_format, rocprof_format,
                           ascend_format, ascend_json_format;

#endif
