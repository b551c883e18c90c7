/* The calls of a trace, kept: for those who ask of each what it lies in, and what it launched, not
   only of all with one name. Which lies in which by their times, and all times, are the library's
   to say (span_nest, call_sums).

       call_tree tree = {0};
       while (trace_next(reader) != TRACE_END)
           if (reader->item == TRACE_EVENT) tree_add(&tree, &reader->event);
       tree_build(&tree);
       ... tree.calls[tree.order[i]] ...
       tree_free(&tree);                                                                     */
#ifndef PROF_CALL_TREE_H
#define PROF_CALL_TREE_H

#include "input/trace_event.h"
#include "library.h"
#include "trace/work_join.h"

#define NO_CALL UINT32_MAX
#define NOT_TOLD INT64_MIN      /* the times tell */

typedef struct call {
    int64_t start_ns, end_ns;
    int64_t self_ns;            /* by tree_time: less the direct children; may be negative where
                                   they overlap; */
    int64_t device_ns, device_self_ns;   /* of its kernels, with and without its children's; before
                                   that self is what it launched itself, or as a legacy record
                                   stream tells it, its children's too */
    uint32_t name;              /* in tree.names */
    uint32_t thread;            /* in tree.threads */
    uint32_t parent;            /* in tree.calls, or NO_CALL */
    uint32_t key;               /* the caller's own number; 0 at first */
    uint8_t kind;               /* trace_kind */
    bool is_async : 1;          /* beside what its thread does: no time of its own, no children */
    bool outside : 1;           /* the caller's: of no interest but for what lies in it */
    bool is_legacy : 1;         /* of a legacy record stream: it tells its device_ns itself */
    bool apart : 1;             /* the caller's: in its times it is as if it were not there */
    bool is_told : 1;           /* its "Zone parent id" is in tree.told */
    bool is_aside : 1;          /* inside: see owners_only */
} call;

typedef struct call_thread { int64_t pid, tid; uint32_t pid_text, tid_text; } call_thread;

typedef struct kernel_link {
    int64_t external, correlation, dur_ns;
    int64_t told;               /* id of the zone that launched it; 0: none; NOT_TOLD */
    uint32_t owner;
} kernel_link;
typedef struct memory_change {
    int64_t ts_ns, bytes, told; /* told: as that of kernels */
    uint32_t thread, owner;     /* owner: the call it happened in, or NO_CALL */
    int32_t device_type, device_index;
    bool is_legacy;             /* the calls around it tell it too */
    uint8_t kind;               /* change_kind */
} memory_change;
typedef enum change_kind {
    CHANGE_EVENT = 0,
    CHANGE_MISSED,              /* a free that was missed: no event of its own */
    CHANGE_REFUSED              /* [OutOfMemory]: an event, but no bytes */
} change_kind;

typedef struct call_tree {
    /* what to take, set before the first tree_add */
    bool without_kernels;       /* no device times: kernels and their ids are not kept */
    bool with_python;           /* keep Python functions: parents only of each other, */
    bool python_around;         /* or of all calls in them */
    bool with_memory;           /* keep [memory] events, */
    bool with_refused;          /* and [OutOfMemory] */
    bool steps_apart;           /* ProfilerStep#1 keeps its number, */
    bool whole_names;           /* and all names what they have: overloads, too */
    bool with_site;             /* names have the place that the event tells: parse (a.c:12) */
    bool owners_only;           /* keep only calls that device work and memory may name, and those
                                   around what owns some: not for tree_walk and tree_time, nor with
                                   Python functions. The others are sorted in constant memory */
    bool zones_ahead;           /* "Zone id"s are for changes of memory alone: see losses.h */
    /* what there is */
    call *calls;
    uint32_t *order;            /* calls by (thread, start, -end): parents before children */
    size_t ordered;             /* how many those are; other calls are none: see owners_only */
    size_t count, capacity;
    interner names;
    call_thread *threads;
    size_t thread_count, thread_capacity;
    map thread_numbers;
    struct { uint64_t key; uint32_t number; bool any; } last_thread;     /* of them: asked for */
    kernel_link *kernels;       /* every kernel, copy and fill, as it was read */
    size_t kernel_count, kernel_capacity;
    memory_change *changes;
    size_t change_count, change_capacity;
    span_nest nest;             /* of calls */
    uint64_t unowned;           /* kernels of no known call */
    map join;                   /* see join_call */
    map by_zone;                /* "Zone id" -> call + 1: see prof.h, "what times do not tell" */
    map told;                   /* call -> "Zone parent id", 0: none */
    struct span_sorter *asides; /* calls that nothing names; NULL: none. While the tree is made: */
    bool has_aside;             /* calls[count] is the next of them */
    uint32_t free;              /* 1 + the first call that is none, linked by key; 0: no such */
} call_tree;

/* The number of the event's name in tree->names, as PyTorch's tables have it: ProfilerStep* of
   ProfilerStep#1, and aten::add of aten::add.Tensor where the overload is told apart. */
uint32_t tree_name(call_tree *tree, const trace_event *event);
uint32_t tree_name_at(call_tree *tree, uint32_t name, trace_text source);
/* Is it a change of memory that the tree keeps? (Few events are one.) */
bool tree_takes_instant(const call_tree *tree, const trace_event *event, memory_change *change);
static inline bool tree_takes_change(const call_tree *tree, const trace_event *event,
                                     memory_change *change) {
    return event->phase == 'i' && tree->with_memory && tree_takes_instant(tree, event, change);
}
/* Does tree_add make a call of it? */
bool tree_takes(const call_tree *tree, const trace_event *event);
/* Keeps what belongs in the tree; the new call, or NULL when the event is none. Of a call that
   nothing names its key alone may be set, before the next tree_add. */
call *tree_add(call_tree *tree, const trace_event *event);
void tree_build(call_tree *tree);
void tree_time(call_tree *tree);                 /* then: what each call took */
/* The calls that are not apart as spans for call_sums_push, each after all that lie in it. They are
   in no row yet. */
typedef void tree_take(void *user, uint32_t number, const call_span *made);
void tree_walk(const call_tree *tree, tree_take *take, void *user);
void tree_clear(call_tree *tree);                /* for the next file: keeps names and options */
void tree_free(call_tree *tree);

/* The ids that join calls and device work; NO_ID: none. */
typedef struct call_id { uint32_t kind; int64_t id; } call_id;       /* JOIN_OP, JOIN_LAUNCH */
call_id trace_call_id(const trace_event *event);
int64_t trace_work_ids(const trace_event *event, int64_t *correlation);  /* the external one */
/* Adds a call that may launch work, by its number; the first one of an id counts. */
void join_call(map *join, call_id own, uint32_t number);
/* The number of the call that launched work with these ids: the op's; where the external id only
   repeats the correlation id (2022, 2023) the launch's, if it is there. NO_CALL: none. */
uint32_t join_owner(const map *join, int64_t external, int64_t correlation);

/* The parent that the event names: NOT_TOLD, or 0: it has none. */
int64_t tree_told(const trace_event *event);

/* What a call of a legacy record stream launched, its children's too. */
int64_t trace_kernels_ns(const trace_event *event);
uint32_t tree_thread(call_tree *tree, const trace_event *event);
static inline int64_t call_ns(const call *c) { return c->end_ns - c->start_ns; }

#endif
