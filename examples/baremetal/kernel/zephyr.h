/* Threads of Zephyr (3.7 or later; before, with -Dk_sched_current_thread_query=z_current_get; one
   core): include it in one C file of the application, and set in prj.conf
     CONFIG_TRACING=y
     CONFIG_TRACING_USER=y
     CONFIG_THREAD_NAME=y
   - Each thread is a row of its own, "CPU" the row of who ran. A thread's number is its address:
     the memory of one that ended may be the next one's.
   - CONFIG_TRACING_USER has no hooks for queues and semaphores: PROF_INSTANT("queue given") where
     they are used, or the macros below in place of the calls.
   - A timer of the application must call prof_tick(), see K_TIMER_DEFINE below.
   The end of a thread is its k_thread_abort(), which the end of its function calls, too. */
#ifndef PROF_KERNEL_ZEPHYR_H
#define PROF_KERNEL_ZEPHYR_H

#include <zephyr/kernel.h>

#include "prof.h"

#ifdef CONFIG_SMP
#  error "prof.h records the threads of one core"
#endif

/* Called with interrupts locked. k_current_get() may be in memory of the thread that went. */
void sys_trace_thread_switched_in_user(void) {
    k_tid_t thread = k_sched_current_thread_query();
    prof_task_in((uint32_t)(uintptr_t)thread, k_thread_name_get(thread));
}

void sys_trace_thread_abort_user(struct k_thread *thread) {
    prof_task_gone((uint32_t)(uintptr_t)thread);
}

/* K_TIMER_DEFINE(prof_timer, prof_kernel_tick, NULL);
   and after prof_start: k_timer_start(&prof_timer, K_MSEC(500), K_MSEC(500)); */
static inline void prof_kernel_tick(struct k_timer *timer) {
    (void)timer;
    prof_tick();
}

#define PROF_K_MSGQ_PUT(queue, data, timeout) \
    (prof_instant("queue given"), k_msgq_put(queue, data, timeout))
#define PROF_K_MSGQ_GET(queue, data, timeout) \
    (prof_instant("queue taken"), k_msgq_get(queue, data, timeout))
#define PROF_K_SEM_GIVE(sem) (prof_instant("semaphore given"), k_sem_give(sem))
#define PROF_K_SEM_TAKE(sem, timeout) (prof_instant("semaphore taken"), k_sem_take(sem, timeout))
#endif
