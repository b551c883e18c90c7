/* Threads of Zephyr (3.7 or later; before, with -Dk_sched_current_thread_query=z_current_get; one
   core): include it in one C file of the application, and set in prj.conf
     CONFIG_TRACING=y
     CONFIG_TRACING_USER=y
     CONFIG_THREAD_NAME=y
   - Each thread is a row of its own, "CPU" the row of who ran. A thread's number is its address:
     the memory of one that ended may be the next one's. "ready NAME" tells who made it ready.
   - Semaphores, mutexes and message queues: objects.h says how they are told. Where Zephyr's
     tracing_user.h has sys_trace_k_sem_take_exit_user and its kin, nothing is to be done; before,
     the macros below stand in place of the calls. PROF_K_NAME(&rx, "queue rx") gives one its name,
     else its address stands there.
   - PROF_KERNEL_STACKS(), now and then: counters "stack NAME", bytes never used
     (CONFIG_INIT_STACKS, CONFIG_THREAD_STACK_INFO, CONFIG_THREAD_MONITOR).
   - A timer of the application must call prof_tick(), see K_TIMER_DEFINE below.
   The end of a thread is its k_thread_abort(), which the end of its function calls, too. */
#ifndef PROF_KERNEL_ZEPHYR_H
#define PROF_KERNEL_ZEPHYR_H

#include <zephyr/kernel.h>

#include "objects.h"

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
    prof_kernel_forget(thread);
}

void sys_trace_thread_sched_ready_user(struct k_thread *thread);
void sys_trace_thread_sched_ready_user(struct k_thread *thread) {
    prof_kernel_moment(prof_kernel_at("ready ", k_thread_name_get(thread), thread));
}

/* K_TIMER_DEFINE(prof_timer, prof_kernel_tick, NULL);
   and after prof_start: k_timer_start(&prof_timer, K_MSEC(500), K_MSEC(500)); */
static inline void prof_kernel_tick(struct k_timer *timer) {
    (void)timer;
    prof_tick();
}

/* ---- Objects ---- */

#define PROF_K_NAME(object, name) \
    (prof_kernel_forget(object), (void)prof_kernel_new("", name, object))

/* Each enter has its exit in the same thread or interrupt: between them is a zone. */
static inline void prof_kernel_enter(prof_kernel_object *o) {
    (void)prof__begin_inline(&o->mark, false);
}
static inline void prof_kernel_exit(prof_kernel_object *o, int64_t count) {
    prof__end_top_inline();
    prof_kernel_count(o, count);
}

#define PROF_K_HOOK(name, arguments) \
    void sys_trace_k_##name##_user arguments; \
    void sys_trace_k_##name##_user arguments

/* The hooks of a call that may wait, and a function that calls them around it. */
#define PROF_K_WAIT(name, type, kind, of, count, arguments, passed) \
    PROF_K_HOOK(name##_enter, (type *of, k_timeout_t timeout)) { \
        (void)timeout; \
        prof_kernel_enter(prof_kernel_at(kind, NULL, of)); \
    } \
    PROF_K_HOOK(name##_exit, (type *of, k_timeout_t timeout, int result)) { \
        (void)timeout; \
        (void)result; \
        prof_kernel_exit(prof_kernel_at(kind, NULL, of), (int64_t)(count)); \
    } \
    static inline int prof_k_##name arguments { \
        sys_trace_k_##name##_enter_user(of, timeout); \
        int result = k_##name passed; \
        sys_trace_k_##name##_exit_user(of, timeout, result); \
        return result; \
    }

PROF_K_WAIT(sem_take, struct k_sem, "semaphore ", sem, sem->count,
            (struct k_sem *sem, k_timeout_t timeout), (sem, timeout))
PROF_K_WAIT(mutex_lock, struct k_mutex, "mutex ", mutex, !mutex->lock_count,
            (struct k_mutex *mutex, k_timeout_t timeout), (mutex, timeout))
PROF_K_WAIT(msgq_put, struct k_msgq, "queue ", queue, queue->used_msgs,
            (struct k_msgq *queue, const void *data, k_timeout_t timeout), (queue, data, timeout))
PROF_K_WAIT(msgq_get, struct k_msgq, "queue ", queue, queue->used_msgs,
            (struct k_msgq *queue, void *data, k_timeout_t timeout), (queue, data, timeout))
PROF_K_HOOK(sem_give_exit, (struct k_sem *sem)) {
    prof_kernel_count(prof_kernel_at("semaphore ", NULL, sem), (int64_t)sem->count);
}
PROF_K_HOOK(mutex_unlock_exit, (struct k_mutex *mutex, int result)) {
    (void)result;
    prof_kernel_count(prof_kernel_at("mutex ", NULL, mutex), !mutex->lock_count);
}

#define PROF_K_MSGQ_PUT(queue, data, timeout) prof_k_msgq_put(queue, data, timeout)
#define PROF_K_MSGQ_GET(queue, data, timeout) prof_k_msgq_get(queue, data, timeout)
#define PROF_K_SEM_GIVE(sem) (k_sem_give(sem), sys_trace_k_sem_give_exit_user(sem))
#define PROF_K_SEM_TAKE(sem, timeout) prof_k_sem_take(sem, timeout)
#define PROF_K_MUTEX_LOCK(mutex, timeout) prof_k_mutex_lock(mutex, timeout)
#define PROF_K_MUTEX_UNLOCK(mutex) \
    (k_mutex_unlock(mutex), sys_trace_k_mutex_unlock_exit_user(mutex, 0))

static inline void prof_kernel_stack(const struct k_thread *thread, void *unused) {
    char name[PROF_KERNEL_NAME];
    k_tid_t of = (k_tid_t)(uintptr_t)thread;
    size_t left = 0;
    (void)unused;
    if (k_thread_stack_space_get(thread, &left) != 0) return;
    prof_kernel_text(name, "stack ", k_thread_name_get(of), thread);
    prof_counter(name, (int64_t)left);
}
#define PROF_KERNEL_STACKS() k_thread_foreach(prof_kernel_stack, NULL)
#endif
