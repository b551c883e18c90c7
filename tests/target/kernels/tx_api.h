/* Stands in for ThreadX's header in test_clean.sh: what examples/baremetal/kernel/threadx.h takes
   of it, by the names and types of its user guide. */
#ifndef TX_API_H
#define TX_API_H
#define VOID void
typedef char CHAR;
typedef unsigned int UINT;
typedef unsigned long ULONG;
enum { TX_SUCCESS = 0, TX_THREAD_ENTRY = 0, TX_THREAD_EXIT = 1, TX_NO_WAIT = 0, TX_WAIT = 1 };
typedef struct TX_THREAD_STRUCT { ULONG tx_thread_id, tx_thread_run_count; CHAR *tx_thread_name;
    VOID *tx_thread_stack_start, *tx_thread_stack_highest_ptr; } TX_THREAD;
typedef struct TX_QUEUE_STRUCT { ULONG tx_queue_id; CHAR *tx_queue_name; ULONG tx_queue_enqueued;
    struct TX_THREAD_STRUCT *tx_queue_suspension_list; } TX_QUEUE;
typedef struct TX_SEMAPHORE_STRUCT { ULONG tx_semaphore_id; CHAR *tx_semaphore_name;
    ULONG tx_semaphore_count; struct TX_THREAD_STRUCT *tx_semaphore_suspension_list; } TX_SEMAPHORE;
typedef struct TX_MUTEX_STRUCT { ULONG tx_mutex_id; CHAR *tx_mutex_name;
    UINT tx_mutex_ownership_count; struct TX_THREAD_STRUCT *tx_mutex_suspension_list; } TX_MUTEX;
typedef struct TX_EVENT_FLAGS_GROUP_STRUCT { ULONG tx_event_flags_group_id;
    CHAR *tx_event_flags_group_name; ULONG tx_event_flags_group_current; } TX_EVENT_FLAGS_GROUP;

#define tx_queue_send kernel_queue_send          /* functions behind macros, as there */
#define tx_queue_receive kernel_queue_receive
#define tx_semaphore_put kernel_semaphore_put
#define tx_semaphore_get kernel_semaphore_get
#define tx_mutex_get kernel_mutex_get
#define tx_mutex_put kernel_mutex_put
#define tx_event_flags_get kernel_event_flags_get
#define tx_thread_sleep kernel_sleep
#define tx_thread_entry_exit_notify kernel_notify
UINT tx_queue_send(TX_QUEUE *queue, VOID *source, ULONG wait);
UINT tx_queue_receive(TX_QUEUE *queue, VOID *destination, ULONG wait);
UINT tx_semaphore_put(TX_SEMAPHORE *semaphore);
UINT tx_semaphore_get(TX_SEMAPHORE *semaphore, ULONG wait);
UINT tx_mutex_get(TX_MUTEX *mutex, ULONG wait);
UINT tx_mutex_put(TX_MUTEX *mutex);
UINT tx_event_flags_get(TX_EVENT_FLAGS_GROUP *group, ULONG flags, UINT option, ULONG *actual,
                        ULONG wait);
UINT tx_thread_sleep(ULONG ticks);
UINT tx_thread_entry_exit_notify(TX_THREAD *thread, VOID (*notify)(TX_THREAD *thread, UINT what));
#endif
