/* Threads of ThreadX (one core): build ThreadX with TX_ENABLE_EXECUTION_CHANGE_NOTIFY (in C and in
   assembler), leave its own execution profile kit (tx_execution_profile.c) out, and include this in
   one C file of the application.
   - Each thread is a row of its own, "CPU" the row of who ran: "idle" where no thread was ready. A
     thread's number is the address of its TX_THREAD.
   - A thread that ends is told by tx_thread_entry_exit_notify(&thread, prof_kernel_notify), after
     tx_thread_create(). ThreadX needs it without TX_DISABLE_NOTIFY_CALLBACKS.
   - Queues and semaphores have no hooks without ThreadX's own trace: the macros below stand in
     place of the calls.
   - A timer of the application must call prof_tick(), twice each wrap of the clock. */
#ifndef PROF_KERNEL_THREADX_H
#define PROF_KERNEL_THREADX_H

#include "tx_api.h"
#include "tx_thread.h"                   /* _tx_thread_current_ptr, _tx_thread_execute_ptr */

#include "prof.h"

void _tx_execution_initialize(void);
void _tx_execution_thread_enter(void);
void _tx_execution_thread_exit(void);
void _tx_execution_isr_enter(void);
void _tx_execution_isr_exit(void);

void _tx_execution_initialize(void) {}

/* From the scheduler: the current thread goes on. */
void _tx_execution_thread_enter(void) {
    TX_THREAD *thread = _tx_thread_current_ptr;
    prof_task_in((uint32_t)(uintptr_t)thread, thread->tx_thread_name);
}

/* It waits, or another is to go on. ThreadX has no thread that idles. */
void _tx_execution_thread_exit(void) {
    if (!_tx_thread_execute_ptr) prof_task_in(0, "idle");
}

void _tx_execution_isr_enter(void) {}
void _tx_execution_isr_exit(void) {}

static inline VOID prof_kernel_notify(TX_THREAD *thread, UINT what) {
    if (what == TX_THREAD_EXIT) prof_task_gone((uint32_t)(uintptr_t)thread);
}

#define PROF_TX_QUEUE_SEND(queue, data, wait) \
    (prof_instant("queue given"), tx_queue_send(queue, data, wait))
#define PROF_TX_QUEUE_RECEIVE(queue, data, wait) \
    (prof_instant("queue taken"), tx_queue_receive(queue, data, wait))
#define PROF_TX_SEMAPHORE_PUT(semaphore) \
    (prof_instant("semaphore given"), tx_semaphore_put(semaphore))
#define PROF_TX_SEMAPHORE_GET(semaphore, wait) \
    (prof_instant("semaphore taken"), tx_semaphore_get(semaphore, wait))
#endif
