/* Stands in for ThreadX's header in test_clean.sh: what examples/baremetal/kernel/threadx.h takes
   of it, by the names and types of its user guide. */
#ifndef TX_API_H
#define TX_API_H
#define VOID void
typedef char CHAR;
typedef unsigned int UINT;
typedef unsigned long ULONG;
enum { TX_SUCCESS = 0, TX_THREAD_ENTRY = 0, TX_THREAD_EXIT = 1, TX_NO_WAIT = 0 };
typedef struct TX_THREAD_STRUCT { ULONG tx_thread_id, tx_thread_run_count; CHAR *tx_thread_name; }
    TX_THREAD;
typedef struct TX_QUEUE_STRUCT { ULONG tx_queue_id, sent; } TX_QUEUE;
typedef struct TX_SEMAPHORE_STRUCT { ULONG tx_semaphore_id, tx_semaphore_count; } TX_SEMAPHORE;

#define tx_queue_send kernel_queue_send          /* functions behind macros, as there */
#define tx_queue_receive kernel_queue_receive
#define tx_semaphore_put kernel_semaphore_put
#define tx_semaphore_get kernel_semaphore_get
#define tx_thread_entry_exit_notify kernel_notify
UINT tx_queue_send(TX_QUEUE *queue, VOID *source, ULONG wait);
UINT tx_queue_receive(TX_QUEUE *queue, VOID *destination, ULONG wait);
UINT tx_semaphore_put(TX_SEMAPHORE *semaphore);
UINT tx_semaphore_get(TX_SEMAPHORE *semaphore, ULONG wait);
UINT tx_thread_entry_exit_notify(TX_THREAD *thread, VOID (*notify)(TX_THREAD *thread, UINT what));
#endif
