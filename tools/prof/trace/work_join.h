/* Work of devices, and changes of memory, to the calls that they name, as join_owner of trace.h
   finds them: in memory up to 24 MB, in files without a name beyond that.

       work_join *join = work_join_new();
       work_join_call(join, JOIN_LAUNCH, id, &call) ...
       work_join_work(join, ids, &work) ...
       work_join_each(join, take, user);         also frees it                                  */
#ifndef PROF_WORK_JOIN_H
#define PROF_WORK_JOIN_H

#include "base/common.h"

#define NO_ID INT64_MIN
/* A call's id: its External id, its correlation id, its "Zone id". */
enum { JOIN_OP, JOIN_LAUNCH, JOIN_ZONE, JOINS };

typedef struct joined {
    int64_t start_ns, amount;    /* of the call: when it begins, ns that it lasts */
    uint64_t order;              /* of calls: the place among all */
    int64_t id, ns;              /* of works alone, as what: the caller's */
    uint32_t thread, what;
} joined;

typedef struct work_join work_join;

/* call: NULL: none was found, else by ids of this kind. */
typedef void take_joined(void *user, const joined *work, const joined *call, uint32_t kind);

work_join *work_join_new(void);
/* Of calls with the same id the first one counts, of zones the last. */
void work_join_call(work_join *join, uint32_t kind, int64_t id, const joined *call);
/* Its ids, by kind; NO_ID: none. A zone that it names is its own; else as join_owner. */
void work_join_work(work_join *join, const int64_t ids[JOINS], const joined *work);
/* Of each work, in the order in which they came. */
void work_join_each(work_join *join, take_joined *take, void *user);
void work_join_free(work_join *join);              /* NULL: nothing */

#endif
