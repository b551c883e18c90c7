/* A trace in memory: its calls with what they lie in, the work of devices with the calls that own
   it, and changes of memory. Commands load a trace once and loop over its arrays. What lies in
   what, and all times, are the library's to say (span_nest, call_sums).

       struct trace t = {.with_works = true};
       int status = trace_load(&t, path, take, user);      tells `take` of each item of the file
       trace_nest(&t), trace_own(&t), trace_times(&t);      as far as it is asked for
       for (size_t i = 0; i < t.call_count; i++) ... t.calls[t.order[i]] ...
       trace_free(&t);

   The rules for what an event is, and what belongs to what, stand in tools/prof/trace/README.md. */
#ifndef PROF_TRACE_H
#define PROF_TRACE_H

#include "library.h"
#include "input/tasks.h"
#include "trace/trace_range.h"
#include "input/trace_reader.h"

#define NO_CALL UINT32_MAX
#define NO_ZONE_ID INT64_MIN    /* the trace gives none: the times tell */
#define NO_ID INT64_MIN

typedef struct call {
    int64_t start_ns, end_ns;
    uint32_t name, thread;      /* in trace.names, in trace.threads */
    uint32_t parent;            /* in trace.calls, or NO_CALL */
    uint32_t key, more;         /* the caller's own numbers; 0 at first */
    uint8_t kind;               /* trace_kind */
    bool is_async : 1;          /* beside what its thread does: no time of its own, no children */
    bool is_legacy : 1;         /* of a legacy record stream: it tells its device time itself */
    bool has_parent_id : 1;     /* its "Zone parent id" is in trace.parent_ids */
    bool is_pair : 1;           /* made of a begin and an end */
    bool is_outside : 1;        /* of the window */
    bool is_hidden : 1;         /* the caller's */
    bool is_partial : 1;        /* the caller's */
    bool in_python : 1;         /* the caller's: Python functions are around it */
    bool apart : 1;             /* the caller's: in its times it is as if it were not there */
} call;

typedef struct call_times { int64_t self_ns, device_ns, device_self_ns; } call_times;

/* Their texts are numbers in trace.names, or NO_CALL: of a pid or tid that is no number, and what
   the trace calls them. */
typedef struct call_process { int64_t pid; uint32_t text, name, labels; } call_process;
typedef struct call_thread {
    int64_t pid, tid;
    uint32_t pid_text, tid_text, name;
    uint32_t process;           /* in trace.processes */
} call_thread;

typedef struct device_work {    /* a kernel, copy or fill */
    int64_t start_ns, end_ns;
    int64_t launched_ns;                 /* where no call tells; NO_ID: not known */
    int64_t external, correlation;       /* NO_ID: it has none */
    int64_t zone_id;            /* id of the zone that launched it; 0: none; NO_ZONE_ID */
    uint32_t name, thread;
    uint32_t owner, launch;     /* the call that it counts for, that launched it; or NO_CALL */
    uint32_t key;               /* the caller's own */
    uint8_t kind;               /* trace_kind */
} device_work;

typedef enum change_kind {
    CHANGE_EVENT = 0,
    CHANGE_MISSED,              /* a free that was missed: no event of its own */
    CHANGE_REFUSED              /* [OutOfMemory]: an event, but no bytes */
} change_kind;

typedef struct memory_change {
    int64_t ts_ns, bytes, zone_id; /* zone_id: as that of works */
    uint32_t thread, owner;     /* owner: the call it happened in, or NO_CALL */
    int32_t device_type, device_index;
    bool is_legacy;             /* the calls around it tell it too */
    uint8_t kind;               /* change_kind */
    uint8_t key;                /* the caller's own */
} memory_change;

struct trace {
    /* what to keep, set before it is loaded */
    bool with_works;            /* what devices did, and ids of calls */
    bool with_python;           /* Python functions: parents only of each other, */
    bool python_around;         /* or of all calls in them */
    bool with_memory;           /* [memory] events, */
    bool with_refused;          /* and [OutOfMemory] */
    bool steps_apart;           /* ProfilerStep#1 keeps its number, */
    bool whole_names;           /* and all names what they have: overloads, too */
    bool with_site;             /* names have the site that the event tells: parse (a.c:12) */
    const char *by_arg;         /* and the value of this argument, if the event has it; NULL */
    bool as_written, quiet, takes_rows, as_ended;        /* the reader's. as_ended: what tells its
                                   depth is not kept */
    const range_options *window;         /* NULL: all. Calls that begin in it are inside; there are
                                   those around them and in them too, and all work since */
    /* what there is */
    bool own;                   /* the file is prof.h's: a raw stream, or its head says so. Stays
                                   when it is cleared */
    call *calls;                /* in the order of the file */
    size_t call_count, call_capacity;
    uint32_t *order;            /* calls by (thread, start, -end) */
    uint32_t *tree;             /* calls, each with all that lies in it behind it */
    int64_t *ids;               /* of calls, that work names; NULL: none has one */
    call_times *times;
    device_work *works;
    size_t work_count, work_capacity;
    memory_change *changes;
    size_t change_count, change_capacity;
    interner names;
    call_thread *threads;
    size_t thread_count, thread_capacity;
    call_process *processes;
    size_t process_count, process_capacity;
    span_nest nest;             /* of calls */
    tasks tasks;                /* who had the core, */
    bool one_core;              /* if there is one alone */
    int64_t *away_ns;           /* of each call, by trace_nest: what its thread did not run; NULL:
                                   it ran */
    uint64_t unowned;           /* works of no known call, */
    uint64_t ambiguous;         /* of those: calls of several processes have its id */
    uint64_t twice;             /* ops with the external id of an earlier one, which has the work */
    int64_t base_ns;            /* of the file: nanoseconds since 1970 at its time 0 */
    uint64_t base_offset;       /* where the file says so */
    bool ended_early;           /* it could not be read, or holds nothing that was recorded */
    trace_range range;          /* the window */
    uint64_t summed;            /* zones that are in the sums of its head alone */
    /* inside */
    map thread_numbers, process_numbers;
    struct { uint64_t key; uint32_t number; bool any; } last_thread;
    size_t id_capacity, launched_capacity;
    int64_t *launched_ns;       /* of each call, by trace_own: what it launched itself */
    map by_zone;                /* "Zone id" -> call + 1: see prof.h, "what times do not tell" */
    map parent_ids;             /* call -> "Zone parent id", 0: none */
    map flows;                  /* arrows from calls to works: their id -> process of the call */
    struct work_arrow { uint64_t flow; int64_t ts_ns; uint32_t thread; bool starts; } *arrows;
    size_t arrow_count, arrow_capacity;  /* those that say which op a work is of: torch_npu's */
    map device_owners;          /* process of works -> that of the calls that launched them */
    map outside;                /* ids of calls that launched works outside of the window */
};

/* ---- Loading: load.c ---- */

typedef enum trace_kept { KEPT_NOTHING, KEPT_CALL, KEPT_WORK, KEPT_CHANGE } trace_kept;

/* Is told of each item of the file, and may say that its reading failed. What was kept of an event
   is the last of its array. */
typedef void trace_take(void *user, trace_reader *reader, trace_kept kept);
/* The exit code. */
int trace_load(struct trace *t, const char *path, trace_take *take, void *user);
trace_kept trace_add(struct trace *t, const trace_event *event);
void trace_clear(struct trace *t);               /* for the next file: keeps names and options */
void trace_free(struct trace *t);

/* The number of the event's name in t->names, as PyTorch's tables have it: ProfilerStep* of
   ProfilerStep#1, and aten::add of aten::add.Tensor where the overload is told apart. */
uint32_t trace_name(struct trace *t, const trace_event *event);
uint32_t trace_name_at(struct trace *t, uint32_t name, trace_text source);
bool trace_is_call(const struct trace *t, const trace_event *event);     /* is one kept of it? */
bool trace_is_utility(const struct trace *t, const trace_event *event);  /* no row of PyTorch's */
/* Takes PyTorch's own frames out of the text of a "Call stack"; returns its size. */
size_t trace_stack(const struct trace *t, char *text, size_t size);
/* Is it a change of memory that is kept? (Few events are one.) */
bool trace_takes_instant(const struct trace *t, const trace_event *event, memory_change *change);
static inline bool trace_is_change(const struct trace *t, const trace_event *event,
                                   memory_change *change) {
    return event->phase == 'i' && t->with_memory && trace_takes_instant(t, event, change);
}
/* What a call of a legacy record stream launched, its children's too. */
int64_t trace_kernels_ns(const trace_event *event);

/* ---- Threads and processes: threads.c ---- */

uint32_t trace_thread(struct trace *t, const trace_event *event);
uint32_t trace_process(struct trace *t, const trace_event *event);
void trace_take_name(struct trace *t, const trace_event *event);     /* of phase M */
const char *trace_words(const struct trace *t, uint32_t name);       /* NULL of NO_CALL */
/* Its name, or the text that its number is; NULL: it has none. */
const char *trace_process_name(const struct trace *t, uint32_t number);
const char *trace_thread_name(const struct trace *t, uint32_t number);

/* ---- What lies in what, and times: nest.c ---- */

void trace_nest(struct trace *t);                /* parents of calls, owners of changes; on one
                                                    core what interrupted them */
/* Of that call: see tasks.h. */
away trace_away(const struct trace *t, const call *c);
void trace_times(struct trace *t);                /* after trace_own, if that is asked for */
/* The calls that are not apart as spans for call_sums_push, each after all that lie in it. They are
   in no row yet. */
typedef void span_take(void *user, uint32_t number, const call_span *made);
void trace_walk(const struct trace *t, span_take *take, void *user);
/* The call with this zone id; what the trace does not have is guess. */
uint32_t trace_zone(const struct trace *t, int64_t id, uint32_t guess);

/* ---- Which calls own the work: owners.c ---- */

enum { JOIN_OP, JOIN_LAUNCH };
typedef struct call_id { uint32_t kind; int64_t id; } call_id;
call_id trace_call_id(const trace_event *event);
int64_t trace_work_ids(const trace_event *event, int64_t *correlation);  /* the external one */
void trace_note_outside(struct trace *t, const trace_event *event);      /* it is not kept */
void trace_note_flow(struct trace *t, const trace_event *event);
void trace_own(struct trace *t);                 /* after trace_nest */

/* For those who have calls of their own: adds one that may launch work; the first of an id counts.
   The owner: the op's call; where the external id only repeats the correlation id (2022, 2023) the
   launch's, if it is there. NO_CALL: none. */
void join_call(map *join, call_id own, uint32_t number);
uint32_t join_owner(const map *join, int64_t external, int64_t correlation);

static inline int64_t call_ns(const call *c) { return c->end_ns - c->start_ns; }
static inline int64_t work_ns(const device_work *w) { return w->end_ns - w->start_ns; }

#endif
