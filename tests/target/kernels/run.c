/* Kernels' macros at work, with -Dwith_threadx or -Dwith_zephyr: a stand-in for the kernel switches
   by its hooks between two threads and, in ThreadX, none; one waits within a zone, one ends in the
   midst of one. Exit status 0: rows, times on the CPU and instants are what the kernel did. */
#define PROF_IMPLEMENTATION
#define PROF_FREESTANDING
#define PROF_ARENA_SIZE 65536
#define PROF_NOW() clock_ticks
static unsigned clock_ticks;
#include "prof.h"

#include <string.h>

#ifdef with_threadx
#include "examples/baremetal/kernel/threadx.h"
TX_THREAD *_tx_thread_current_ptr, *_tx_thread_execute_ptr;
UINT tx_queue_send(TX_QUEUE *queue, VOID *source, ULONG wait) {
    (void)source, (void)wait;
    return queue->sent++, TX_SUCCESS;
}
UINT tx_queue_receive(TX_QUEUE *queue, VOID *destination, ULONG wait) {
    (void)destination, (void)wait;
    return queue->sent--, TX_SUCCESS;
}
UINT tx_semaphore_put(TX_SEMAPHORE *semaphore) {
    return semaphore->tx_semaphore_count++, TX_SUCCESS;
}
UINT tx_semaphore_get(TX_SEMAPHORE *semaphore, ULONG wait) {
    (void)wait;
    return semaphore->tx_semaphore_count--, TX_SUCCESS;
}
static VOID (*notified)(TX_THREAD *thread, UINT what);
UINT tx_thread_entry_exit_notify(TX_THREAD *thread, VOID (*notify)(TX_THREAD *thread, UINT what)) {
    (void)thread;
    return notified = notify, TX_SUCCESS;
}
static CHAR first_name[] = "first", second_name[] = "second";
static TX_THREAD first = { 1, 0, first_name }, second = { 2, 0, second_name };
static void switch_to(TX_THREAD *next) {
    _tx_thread_execute_ptr = next;
    if (_tx_thread_current_ptr) _tx_execution_thread_exit();
    _tx_thread_current_ptr = next;
    if (next) _tx_execution_thread_enter();
}
static bool moments(void) {              /* of the queue and the semaphore */
    TX_QUEUE queue = { 0, 0 };
    TX_SEMAPHORE semaphore = { 0, 0 };
    int data = 1;
    return PROF_TX_QUEUE_SEND(&queue, &data, TX_NO_WAIT) == TX_SUCCESS && queue.sent == 1 &&
           PROF_TX_QUEUE_RECEIVE(&queue, &data, TX_NO_WAIT) == TX_SUCCESS && !queue.sent &&
           PROF_TX_SEMAPHORE_PUT(&semaphore) == TX_SUCCESS &&
           PROF_TX_SEMAPHORE_GET(&semaphore, TX_NO_WAIT) == TX_SUCCESS;
}
static void tick(void) { prof_tick(); }
static void begin(void) {
    _tx_execution_initialize();
    tx_thread_entry_exit_notify(&second, prof_kernel_notify);
    notified(&second, TX_THREAD_ENTRY);
}
static void end(TX_THREAD *thread) { notified(thread, TX_THREAD_EXIT); }
static void idle(unsigned ticks) {
    switch_to(NULL);
    clock_ticks += ticks;
    _tx_execution_isr_enter();
    _tx_execution_isr_exit();
}
#else
#include "examples/baremetal/kernel/zephyr.h"
static struct k_thread first = { "first" }, second = { "second" }, idle_thread = { "idle" };
static k_tid_t current;
k_tid_t k_sched_current_thread_query(void) { return current; }
const char *k_thread_name_get(k_tid_t thread) { return thread->name; }
int k_msgq_put(struct k_msgq *queue, const void *data, k_timeout_t timeout) {
    (void)data, (void)timeout;
    return queue->sent++, 0;
}
int k_msgq_get(struct k_msgq *queue, void *data, k_timeout_t timeout) {
    (void)data, (void)timeout;
    return queue->sent--, 0;
}
void k_sem_give(struct k_sem *semaphore) { semaphore->count++; }
int k_sem_take(struct k_sem *semaphore, k_timeout_t timeout) {
    (void)timeout;
    return semaphore->count--, 0;
}
static void switch_to(struct k_thread *next) {
    current = next;
    sys_trace_thread_switched_in_user();
}
static bool moments(void) {
    k_timeout_t none = { 0 };
    struct k_msgq queue = { 0 };
    struct k_sem semaphore = { 0 };
    int data = 1;
    PROF_K_SEM_GIVE(&semaphore);
    return PROF_K_MSGQ_PUT(&queue, &data, none) == 0 && queue.sent == 1 &&
           PROF_K_MSGQ_GET(&queue, &data, none) == 0 && !queue.sent &&
           PROF_K_SEM_TAKE(&semaphore, none) == 0 && !semaphore.count;
}
static void tick(void) {
    struct k_timer timer = { 0 };
    prof_kernel_tick(&timer);
}
static void begin(void) {}
static void end(struct k_thread *thread) { sys_trace_thread_abort_user(thread); }
static void idle(unsigned ticks) {
    switch_to(&idle_thread);
    clock_ticks += ticks;
}
#endif

static void run(void) {
    switch_to(&first);
    PROF_BEGIN("waits");
    clock_ticks += 10;
    switch_to(&second);
    PROF_BEGIN("ends");
    clock_ticks += 20;
    idle(100);
    switch_to(&second);
    clock_ticks += 3;
    tick();
    switch_to(&first);
    end(&second);
    clock_ticks += 5;
    PROF_END();
}

static const prof_average *row(const prof_average *rows, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, name) == 0) return rows + i;
    return NULL;
}

static bool has_thread(const prof_trace *trace, const char *name) {
    size_t count;
    const prof_thread_info *threads = prof_threads(trace, &count);
    for (size_t i = 0; i < count; i++)
        if (threads[i].name && strcmp(threads[i].name, name) == 0) return true;
    return false;
}

static char text[16384];
static bool take(void *user, const void *data, size_t size) {
    size_t *used = (size_t *)user;
    if (size >= sizeof text - *used) return false;
    memcpy(text + *used, data, size);
    *used += size;
    return true;
}

static int instants_of(prof_trace *trace) {
    size_t used = 0;
    prof_sink sink = { take, NULL };
    int n = 0;
    sink.user = &used;
    if (prof_write_chrome(trace, NULL, sink) != PROF_OK) return -1;
    for (const char *p = text; (p = strstr(p, "\"ph\":\"i\"")) != NULL; p++) n++;
    return n;
}

int main(void) {
    prof_desc desc;
    prof_average rows[8];
    const prof_average *waits, *ends;
    prof_trace *trace;
    size_t count;
    memset(&desc, 0, sizeof desc);
    begin();
    if (prof_start(&desc) != PROF_OK) return 1;
    run();
    if (!moments()) return 2;
    trace = prof_stop();
    count = prof_key_averages(trace, NULL, rows, 8);
    waits = row(rows, count, "waits");
    ends = row(rows, count, "ends");
    if (count != 2 || !waits || !ends) return 3;
    if (waits->cpu_time_total_ns != 138 || waits->on_cpu_ns != 15) return 4;
    if (ends->cpu_time_total_ns != 123 || ends->on_cpu_ns != 23) return 5;
    if (!has_thread(trace, "CPU") || !has_thread(trace, "first") || !has_thread(trace, "second") ||
        !has_thread(trace, "idle")) return 6;
    return instants_of(trace) == 4 ? 0 : 7;
}
