/* Call paths of zones that come each behind all that lie in it, and the time of each: in memory as
   there are paths, not zones.

       path_sums *p = paths_new();
       paths_add(p, thread, depth, key, ns), paths_allocate(p, thread, depth, bytes) ...
       paths_finish(p);
       ... p->nodes[p->threads[i]->levels[0].within] ...
       paths_free(p);                                                                        */
#ifndef PROF_PATH_SUMS_H
#define PROF_PATH_SUMS_H

#include "base/common.h"

enum { PATH_DEPTHS = 256 };

typedef struct path_node {
    uint32_t parent, key;       /* the caller's: of its name */
    uint32_t first, next;       /* child, sibling; 0: none */
    int64_t self_ns, calls, bytes;
} path_node;

typedef struct path_level {     /* of a depth */
    uint32_t within;            /* whose children lie in the zone to come around that depth; after
                                   paths_finish 0's are all; 0: none */
    int64_t ns;                 /* of them together */
    int64_t bytes;              /* allocated directly in the next zone of that depth */
} path_level;

typedef struct path_thread {
    uint32_t number;            /* the caller's */
    uint32_t deepest;           /* what is deeper has neither nodes nor ns */
    path_level *levels;         /* as deep as it went: threads may be many */
    size_t level_count;
} path_thread;

typedef struct path_sums {
    path_node *nodes;           /* 0 is none */
    size_t count, capacity;
    uint32_t free;              /* linked by next */
    map children;               /* parent and name -> node; 0: gone */
    path_thread **threads;
    size_t thread_count, thread_capacity;
    map numbers;                /* thread -> its place there */
    arena memory;
} path_sums;

path_sums *paths_new(void);
void paths_add(path_sums *p, uint32_t thread, uint32_t depth, uint32_t key, int64_t ns);
/* Directly in the zone to come at this depth. */
void paths_allocate(path_sums *p, uint32_t thread, uint32_t depth, uint64_t bytes);
void paths_finish(path_sums *p);                 /* what lost the zone around it stays */
void paths_free(path_sums *p);

#endif
