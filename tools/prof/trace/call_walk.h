/* The calls of a trace in the order in which they lie in each other, each with the one around it,
   its times, and what it launched and allocated: in constant memory, but for names, threads and
   the calls that are open. Where the trace's head says that calls themselves tell what they lie in,
   they are kept (call_tree.h).

       call_walk w = {.tree = {what to take}, .take = &take, .user = user};
       while (trace_next(reader) != TRACE_END)
           if (reader->item == TRACE_EVENT) walk_add(&w, reader, id);
       walk_all(&w);                 tells `take` of everything
       walk_free(&w);                                                                        */
#ifndef PROF_CALL_WALK_H
#define PROF_CALL_WALK_H

#include "input/trace_reader.h"
#include "trace/call_tree.h"

typedef struct walk_call {
    int64_t start_ns, end_ns, device_ns;    /* device_ns: of what it launched itself */
    int64_t id;                  /* the caller's, of walk_add */
    uint64_t order;              /* its place among the calls of the file */
    uint32_t name, thread;       /* in tree.names, in tree.threads */
    uint32_t around;             /* in walk.calls, or NO_CALL */
    uint32_t depth;              /* calls around it */
    uint8_t kind;                /* trace_kind */
    bool is_legacy, apart;
    uint32_t node, stack;        /* the caller's, for its time */
} walk_call;

/* Numbers are those of walk.calls. A call is there from its enter to its leave, as those around it
   are, and has its work and changes in between; work of no call may come at any time. */
typedef struct walk_take {
    void (*enter)(void *user, uint32_t number);
    void (*leave)(void *user, uint32_t number, const call_end *times);
    void (*work)(void *user, uint32_t owner, int64_t id, int64_t ns);
    void (*change)(void *user, uint32_t owner, int64_t id, int64_t bytes);
} walk_take;                     /* NULL: nobody asks */

typedef struct call_walk {
    /* set before the first walk_add */
    call_tree tree;              /* what to take; then its names and threads */
    bool frames_apart;           /* times of calls are as if Python functions were not there */
    bool all_changes;            /* of memory, not allocations alone */
    const walk_take *take;
    void *user;
    /* inside */
    walk_call *calls;            /* the open ones, each behind the one around it */
    size_t capacity;
    uint32_t top;
    span_nest nest;
    call_sums *sums;
    arena memory;
    bool told, begun;            /* told: by the tree */
    struct span_sorter *items;
    struct work_join *join;
    uint64_t call_count;
    int64_t *work_ids, *change_ids;      /* told: of tree.kernels and tree.changes */
    size_t work_capacity, change_capacity;
} call_walk;

/* id: the caller's own, of the call, the work or the change. */
void walk_add(call_walk *w, const trace_reader *reader, int64_t id);
void walk_all(call_walk *w);
void walk_free(call_walk *w);

#endif
