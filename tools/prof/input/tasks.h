/* Which task of a kernel ran when, by the row "CPU" of prof.h's traces (prof_task_in), and by that,
   how long its calls waited. Memory: 32 bytes a switch. Zero-initialise.

       tasks_name(&t, pid, tid, name); ... tasks_add(&t, pid, task, start_ns, dur_ns); ...
       tasks_sort(&t);
       waited_ns = tasks_away(&t, pid, tid, start_ns, end_ns);
       tasks_clear(&t);                                                                          */
#ifndef PROF_TASKS_H
#define PROF_TASKS_H

#include "base/memory.h"
#include "input/trace_event.h"

typedef struct tasks {
    interner names;
    map threads;                 /* of pid and tid: number of a task of that name, + 1 */
    map firsts;                  /* of pid: when the first stretch that is known begins */
    struct stretch { int64_t start_ns; uint64_t ns, before_ns; uint32_t task; } *list;
    size_t count, capacity;
    size_t *begins;              /* by task, once they are sorted */
} tasks;

/* What metadata call a thread: "name", or "thread 12 (name)" as prof.h writes it. */
void tasks_name(tasks *t, int64_t pid, int64_t tid, trace_text name);
void tasks_add(tasks *t, int64_t pid, trace_text task, int64_t start_ns, int64_t ns);
void tasks_sort(tasks *t);
/* Of that time, what the task of this thread is known not to have run (a ring forgets who ran, as
   prof_task_in says); 0: it is no task's. */
int64_t tasks_away(const tasks *t, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns);
void tasks_clear(tasks *t);

/* "name" of "thread 12 (name)", else all of it. */
trace_text tasks_plain_name(trace_text name);

#endif
