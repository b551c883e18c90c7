/* What the trace reader hands out: an event, and the JSON texts that it is made of. */
#ifndef PROF_TRACE_EVENT_H
#define PROF_TRACE_EVENT_H

#include <string.h>

#include "input/json_text.h"

/* A member of a JSON object. value is the JSON text as it stands in the file: "abc" with quotes. */
typedef struct trace_member { trace_text key, value; } trace_member;

/* What an event is, whatever its generation calls it ("Operator" and "cpu_op" are one). */
typedef enum trace_kind {
    TRACE_OTHER = 0, TRACE_CPU_OP, TRACE_ANNOTATION, TRACE_PYTHON, TRACE_RUNTIME /* and driver */,
    TRACE_KERNEL, TRACE_MEMCPY, TRACE_MEMSET, TRACE_GPU_ANNOTATION, TRACE_SYNC /* cuda_sync */,
    TRACE_OVERHEAD, TRACE_SPAN /* "Trace", by the profiler itself */,
    TRACE_TASK /* of a kernel, which ran then: row "CPU" of prof.h */,
    TRACE_COUNTED /* a range of a device's counters, whose times Kineto makes up */, TRACE_KINDS
} trace_kind;
static inline bool kind_is_device(uint8_t kind) {       /* what runs on a device */
    return kind == TRACE_KERNEL || kind == TRACE_MEMCPY || kind == TRACE_MEMSET;
}
static inline bool kind_has_device(uint8_t kind) {      /* what stands in a device's row */
    return kind_is_device(kind) || kind == TRACE_GPU_ANNOTATION || kind == TRACE_COUNTED;
}

/* Of two with the same times, by their numbers as they came: is the first one the outer one? Those
   made of a begin and an end come when they end, so that of them the outer one comes last. */
static inline bool outer_of_equals(bool a_is_pair, uint32_t a, bool b_is_pair, uint32_t b) {
    return a_is_pair != b_is_pair ? a_is_pair : a_is_pair && a > b;
}

enum { TRACE_NO_DEPTH = -1, TRACE_IN_NONE = -2 };

enum {                          /* trace_event.has */
    TRACE_HAS_NAME = 1, TRACE_HAS_CAT = 2, TRACE_HAS_PHASE = 4, TRACE_HAS_PID = 8,
    TRACE_HAS_TID = 16, TRACE_HAS_TS = 32, TRACE_HAS_DUR = 64, TRACE_HAS_ID = 128,
    TRACE_HAS_ARGS = 256,
    TRACE_HAS_ESCAPES = 512     /* inside: texts that the reader is still to decode */
};

typedef struct trace_event {
    uint64_t offset;            /* of its `{` in the (unpacked) file, in bytes */
    trace_text raw;             /* {...} as it stands there */
    trace_text name, cat;       /* decoded; "" when absent */
    uint32_t has;               /* TRACE_HAS_... */
    char phase;                 /* first letter of ph; 0: none */
    uint8_t kind;               /* trace_kind, for complete events (phase X) */
    int64_t pid, tid;           /* "stream 7" and the like: a negative number made from the text */
    trace_text pid_text, tid_text;   /* decoded text when it is not a number, else NULL */
    int64_t ts_ns, dur_ns;      /* exact to the nanosecond; 0 when absent */
    int64_t device;             /* by its process' label; -1: that does not tell */
    bool is_pair;               /* made of a begin, which `offset` is of, and an end, or none: */
    uint64_t end_offset;        /* of that; 0: none */
    bool is_async;              /* made of b and e: beside what the thread does */
    int32_t depth;              /* open calls around it, where the file tells that: a zone of a raw
                                   stream, or what memory changes in; TRACE_IN_NONE: memory in
                                   no zone, a range; else TRACE_NO_DEPTH */
    uint32_t thread;            /* of what has a depth: its number in the stream. Threads that run
                                   one after another may have one tid */
    uint32_t site;              /* of two events of a file with the same number all is equal but the
                                   thread, times and depth; 0: who knows */
    trace_text id, id2, bp, scope;   /* JSON texts: flow's "id", "bp", instant's "s" */
    size_t arg_count;
    const trace_member *args;   /* see trace_arg */
    uint64_t arg_bits;          /* key_bit of each */
    trace_text args_text;       /* {...} */
} trace_event;

/* What comes next in a trace. */
typedef enum trace_item {
    TRACE_END = 0,              /* of the file, or of what can be read of it */
    TRACE_EVENT,                /* reader->event */
    TRACE_MEMBER,               /* reader->member: a top-level member other than traceEvents */
    TRACE_NODE,                 /* reader->event->raw: one of "nodes" of an execution trace */
    TRACE_ROW                   /* reader->row: one of a raw memory timeline, if takes_rows */
} trace_item;

/* It has nothing. (Field by field: gcc clears a whole struct of this size slowly.) */
static inline void trace_event_clear(trace_event *event) {
    const trace_text none = {NULL, 0}, empty = {"", 0};
    event->name = event->cat = empty;
    event->pid_text = event->tid_text = event->id = event->id2 = event->bp = event->scope = none;
    event->args_text = none;
    event->args = NULL;
    event->raw = empty;
    event->offset = 0;
    event->ts_ns = event->dur_ns = event->pid = event->tid = 0;
    event->has = 0;
    event->arg_bits = event->arg_count = 0;
    event->phase = 0;
    event->kind = TRACE_OTHER;
    event->device = -1;
    event->is_pair = event->is_async = false;
    event->depth = TRACE_NO_DEPTH;
    event->site = event->thread = 0;
    event->end_offset = 0;
}

/* A bit for a key, so that the arguments are searched for another only where it may be one. (Of
   those that PyTorch's events have, few share one.) */
static inline uint64_t key_bit(trace_text key) {
    if (key.size == 0) return 1;
    unsigned first = (unsigned char)key.data[0], last = (unsigned char)key.data[key.size - 1];
    return (uint64_t)1 << ((first - last + key.size * 10) & 63);
}

/* The number of a pid or tid that is this text, and no number. */
int64_t trace_text_id(trace_text text);
/* What an event of this category is. */
uint8_t trace_kind_of(trace_text category);
/* Is it a begin or an end, and what has it in common with its other half (see trace_pairs.h): the
   thread; or category, id and, but for ids that processes share, the process. */
static inline bool trace_is_half(char phase) {
    return phase != 'X' && phase && strchr("BEbeSF", phase);
}
uint64_t trace_pair_key(const trace_event *event);

const trace_member *trace_arg_find(const trace_event *event, const char *key, size_t size);
/* NULL: not there, which is known at once. */
static inline const trace_member *trace_arg(const trace_event *event, const char *key) {
    trace_text text = {key, strlen(key)};
    return event->arg_bits & key_bit(text) ? trace_arg_find(event, key, text.size) : NULL;
}
static inline bool trace_arg_int(const trace_event *event, const char *key, int64_t *value) {
    const trace_member *arg = trace_arg(event, key);
    return arg && json_int(arg->value, value);
}
bool trace_arg_double(const trace_event *event, const char *key, double *value);
/* The decoded text, copied with a NUL into buffer; false when there is none. Cut to size. */
bool trace_arg_text(const trace_event *event, const char *key, char *buffer, size_t size);
bool trace_correlation(const trace_event *event, int64_t *id);
/* The overload that the event itself names, in each of its spellings; NULL: none. PyTorch has it in
   the event's name alone. */
const trace_member *trace_overload(const trace_event *event);
bool trace_external_id(const trace_event *event, int64_t *id);   /* also 2021's "external id" */
const trace_member *trace_shapes(const trace_event *event);      /* of the inputs; NULL: none */
int64_t trace_device(const trace_event *event);              /* that it ran on */
/* Ascend has several processes for one device, for its tasks and for its collectives: pids are
   (pid << 10) | (row << 5) | device. What is the same for all of a device. */
static inline int64_t ascend_device(int64_t pid) {
    return pid >= 1024 ? pid & ~(int64_t)(31 << 5) : pid;
}
/* Counters of one name are told apart by their id: " id: ID", cut to size, as Perfetto names them;
   "" where there is none. Returns its bytes. */
size_t trace_counter_id(const trace_event *event, char *buffer, size_t size);
uint64_t trace_flow(const trace_event *event);               /* a number for its cat and id */
void event_write(output *out, const trace_event *event);     /* its text, or one that is made */

#endif
