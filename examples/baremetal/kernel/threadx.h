/* Threads of ThreadX (one core): build ThreadX with TX_ENABLE_EXECUTION_CHANGE_NOTIFY (in C and in
   assembler), leave its own execution profile kit (tx_execution_profile.c) out, and include this in
   the files of the application that use the macros below, in one at least.
   - Each thread is a row of its own, "CPU" the row of who ran: "idle" where no thread was ready. A
     thread's number is the address of its TX_THREAD.
   - A thread that ends is told by tx_thread_entry_exit_notify(&thread, prof_kernel_notify), after
     tx_thread_create(). ThreadX needs it without TX_DISABLE_NOTIFY_CALLBACKS.
   - Queues, semaphores, mutexes and event flags have no hooks without ThreadX's own trace: the
     macros below stand in place of the calls. objects.h says how they are told, by the names that
     tx_queue_create and its kin were given. Those of queues, semaphores and mutexes tell which
     thread they make ready ("ready NAME"): of several that wait the first.
   - PROF_TX_STACK(&thread), now and then: the counter "stack NAME", bytes never used, where
     TX_ENABLE_STACK_CHECKING is defined.
   - A timer of the application must call prof_tick(), twice each wrap of the clock.
   ThreadX for several cores (TX_THREAD_SMP...) is refused. */
#ifndef PROF_KERNEL_THREADX_H
#define PROF_KERNEL_THREADX_H

#include "tx_api.h"
#include "tx_thread.h"                   /* _tx_thread_current_ptr, _tx_thread_execute_ptr */

#include "objects.h"

#ifdef TX_THREAD_SMP_MAX_CORES
#  error "prof.h records the threads of one core"
#endif

PROF_KERNEL_WEAK void _tx_execution_initialize(void);
PROF_KERNEL_WEAK void _tx_execution_thread_enter(void);
PROF_KERNEL_WEAK void _tx_execution_thread_exit(void);
PROF_KERNEL_WEAK void _tx_execution_isr_enter(void);
PROF_KERNEL_WEAK void _tx_execution_isr_exit(void);

PROF_KERNEL_WEAK void _tx_execution_initialize(void) {}

/* From the scheduler: the current thread goes on. */
PROF_KERNEL_WEAK void _tx_execution_thread_enter(void) {
    TX_THREAD *thread = _tx_thread_current_ptr;
    prof_task_in((uint32_t)(uintptr_t)thread, thread->tx_thread_name);
}

/* It waits, or another is to go on. ThreadX has no thread that idles. */
PROF_KERNEL_WEAK void _tx_execution_thread_exit(void) {
    if (!_tx_thread_execute_ptr) prof_task_in(0, "idle");
}

PROF_KERNEL_WEAK void _tx_execution_isr_enter(void) {}
PROF_KERNEL_WEAK void _tx_execution_isr_exit(void) {}

static inline VOID prof_kernel_notify(TX_THREAD *thread, UINT what) {
    if (what != TX_THREAD_EXIT) return;
    prof_task_gone((uint32_t)(uintptr_t)thread);
    prof_kernel_forget(thread);
}

/* Before a call that lets the first of those go on who wait. */
static inline void prof_kernel_ready(TX_THREAD *first, bool goes_on) {
    if (first && goes_on)
        prof_kernel_moment(prof_kernel_at("ready ", first->tx_thread_name, first));
}

/* A call that may wait is a zone; then the object's count is told. */
#define PROF_TX_CALL(kind, object, name, wait, call, count) \
    prof_kernel_object *told = prof_kernel_at(kind, (object)->name, object); \
    prof__frame *zone = (wait) ? prof__begin_inline(&told->mark, true) : NULL; \
    UINT result = call; \
    prof__end_inline(zone); \
    prof_kernel_count(told, (int64_t)(count)); \
    return result

static inline UINT prof_tx_queue_send(TX_QUEUE *queue, VOID *data, ULONG wait) {
    prof_kernel_ready(queue->tx_queue_suspension_list, !queue->tx_queue_enqueued);
    PROF_TX_CALL("queue ", queue, tx_queue_name, wait,
                 tx_queue_send(queue, data, wait), queue->tx_queue_enqueued);
}
static inline UINT prof_tx_queue_receive(TX_QUEUE *queue, VOID *data, ULONG wait) {
    prof_kernel_ready(queue->tx_queue_suspension_list, queue->tx_queue_enqueued != 0);
    PROF_TX_CALL("queue ", queue, tx_queue_name, wait,
                 tx_queue_receive(queue, data, wait), queue->tx_queue_enqueued);
}
static inline UINT prof_tx_semaphore_put(TX_SEMAPHORE *semaphore) {
    prof_kernel_ready(semaphore->tx_semaphore_suspension_list, true);
    PROF_TX_CALL("semaphore ", semaphore, tx_semaphore_name, 0,
                 tx_semaphore_put(semaphore), semaphore->tx_semaphore_count);
}
static inline UINT prof_tx_semaphore_get(TX_SEMAPHORE *semaphore, ULONG wait) {
    PROF_TX_CALL("semaphore ", semaphore, tx_semaphore_name, wait,
                 tx_semaphore_get(semaphore, wait), semaphore->tx_semaphore_count);
}
static inline UINT prof_tx_mutex_put(TX_MUTEX *mutex) {
    prof_kernel_ready(mutex->tx_mutex_suspension_list, mutex->tx_mutex_ownership_count == 1);
    PROF_TX_CALL("mutex ", mutex, tx_mutex_name, 0,
                 tx_mutex_put(mutex), !mutex->tx_mutex_ownership_count);
}
static inline UINT prof_tx_mutex_get(TX_MUTEX *mutex, ULONG wait) {
    PROF_TX_CALL("mutex ", mutex, tx_mutex_name, wait,
                 tx_mutex_get(mutex, wait), !mutex->tx_mutex_ownership_count);
}
static inline UINT prof_tx_event_flags_get(TX_EVENT_FLAGS_GROUP *group, ULONG flags, UINT option,
                                           ULONG *actual, ULONG wait) {
    PROF_TX_CALL("event flags ", group, tx_event_flags_group_name, wait,
                 tx_event_flags_get(group, flags, option, actual, wait),
                 group->tx_event_flags_group_current);
}

#define PROF_TX_QUEUE_SEND(queue, data, wait) prof_tx_queue_send(queue, data, wait)
#define PROF_TX_QUEUE_RECEIVE(queue, data, wait) prof_tx_queue_receive(queue, data, wait)
#define PROF_TX_SEMAPHORE_PUT(semaphore) prof_tx_semaphore_put(semaphore)
#define PROF_TX_SEMAPHORE_GET(semaphore, wait) prof_tx_semaphore_get(semaphore, wait)
#define PROF_TX_MUTEX_PUT(mutex) prof_tx_mutex_put(mutex)
#define PROF_TX_MUTEX_GET(mutex, wait) prof_tx_mutex_get(mutex, wait)
#define PROF_TX_EVENT_FLAGS_GET(group, flags, option, actual, wait) \
    prof_tx_event_flags_get(group, flags, option, actual, wait)
#define PROF_TX_SLEEP(ticks) do { PROF_BLOCK("delay") (void)tx_thread_sleep(ticks); } while (0)
/* Before an object is deleted whose memory another one may get. */
#define PROF_TX_GONE(object) prof_kernel_forget(object)
#define PROF_TX_STACK(thread) do { \
    char prof_kernel_name[PROF_KERNEL_NAME]; \
    prof_kernel_text(prof_kernel_name, "stack ", (thread)->tx_thread_name, thread); \
    prof_counter(prof_kernel_name, (int64_t)((uintptr_t)(thread)->tx_thread_stack_highest_ptr - \
                                             (uintptr_t)(thread)->tx_thread_stack_start)); \
} while (0)
#endif
