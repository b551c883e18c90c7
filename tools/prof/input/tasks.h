/* Who had the core when, in traces of prof.h whose threads take turns on one: tasks of a kernel, by
   the row "CPU" (prof_task_in), and interrupts, by their outermost zones; and by that, how long a
   call's thread did not run. Memory: 24 bytes a switch or interrupt. Zero-initialise.

       tasks_name(&t, pid, tid, name); ... tasks_add(&t, pid, task, start_ns, end_ns); ...
       tasks_interrupt(&t, pid, tid, start_ns, end_ns); ...
       tasks_sort(&t);
       waited = tasks_away(&t, pid, tid, start_ns, end_ns);
       for (wakes w = {0}; tasks_next_wake(&t, &w, &found); ) ...
       tasks_clear(&t);                                                                          */
#ifndef PROF_TASKS_H
#define PROF_TASKS_H

#include "base/memory.h"
#include "input/trace_event.h"

enum { CPU_ROW = 999, FIRST_TASK };  /* thread ids; interrupts have lower ones, main() has 0 */

typedef struct turn {
    int64_t start_ns, end_ns;
    uint32_t process, owner;     /* owner: the task, or the interrupt's thread id */
} turn;

typedef struct turns {
    turn *list;
    size_t count, capacity;
} turns;

typedef struct tasks {
    interner names;
    map threads;                 /* of pid and tid: number of a task of that name, + 1 */
    map processes;               /* of pid: its number, + 1 */
    map running;                 /* tasks that ran */
    turns stretches, interrupts; /* in order of time, by process */
    turns ready;                 /* when a task became ready to run; end_ns: the thread's id that
                                    made it so */
    map twins;                   /* tasks whose name another one has, too, with its number */
} tasks;

/* What metadata call a thread: "name", or "thread 12 (name)" as prof.h writes it. */
void tasks_name(tasks *t, int64_t pid, int64_t tid, trace_text name);
const char *tasks_thread_name(const tasks *t, int64_t pid, int64_t tid);   /* NULL: it has none */
void tasks_add(tasks *t, int64_t pid, trace_text task, int64_t start_ns, int64_t end_ns);
void tasks_interrupt(tasks *t, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns);
/* By an instant "ready NAME" of that thread; of others nothing. */
void tasks_ready(tasks *t, int64_t pid, int64_t tid, trace_text instant, int64_t ns);
void tasks_sort(tasks *t);

/* Each task that was made ready by a thread, and then ran, in the order of the runs. */
typedef struct wake { int64_t by_tid, ready_ns, run_ns; } wake;
typedef struct wakes {
    size_t ready, stretch;       /* what is looked at next */
    map waiting;                 /* of a task: when it was made ready, its place in the list + 1 */
} wakes;
bool tasks_next_wake(const tasks *t, wakes *w, wake *found);     /* false: w is free again */
bool tasks_is_task(const tasks *t, int64_t pid, int64_t tid);

/* Of that time of a thread, what it is known not to have run (a ring forgets who ran, as
   prof_task_in says): for other tasks, if it is a task's itself; and for all. */
typedef struct away { int64_t for_tasks_ns, ns; } away;
away tasks_away(const tasks *t, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns);
void tasks_clear(tasks *t);

/* "name" of "thread 12 (name)", else all of it. */
trace_text tasks_plain_name(trace_text name);

#endif
