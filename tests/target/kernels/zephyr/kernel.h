/* Stands in for Zephyr's header in test_clean.sh: what examples/baremetal/kernel/zephyr.h takes of
   it, by the names and types of its documentation, and the hooks of subsys/tracing/user. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H
#include <stddef.h>
#include <stdint.h>
struct k_thread { const char *name; };
typedef struct k_thread *k_tid_t;
typedef struct { int64_t ticks; } k_timeout_t;
struct k_timer { int unused; };
struct k_msgq { uint32_t used_msgs; };
struct k_mutex { uint32_t lock_count; };
struct k_sem { unsigned count; };
k_tid_t k_sched_current_thread_query(void);
const char *k_thread_name_get(k_tid_t thread);
int k_msgq_put(struct k_msgq *queue, const void *data, k_timeout_t timeout);
int k_msgq_get(struct k_msgq *queue, void *data, k_timeout_t timeout);
void k_sem_give(struct k_sem *semaphore);
int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex *mutex);
int k_thread_stack_space_get(const struct k_thread *thread, size_t *unused);
void k_thread_foreach(void (*each)(const struct k_thread *thread, void *data), void *data);
int k_sem_take(struct k_sem *semaphore, k_timeout_t timeout);
void sys_trace_thread_switched_in_user(void);
void sys_trace_thread_abort_user(struct k_thread *thread);
#endif
