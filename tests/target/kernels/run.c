/* Kernels' macros at work, with -Dwith_threadx or -Dwith_zephyr: a stand-in for the kernel switches
   by its hooks between two threads and, in ThreadX, none; one waits within a zone, one ends in the
   midst of one. Exit status 0: rows, times on the CPU and objects are what the kernel did. */
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
    return queue->tx_queue_enqueued++, TX_SUCCESS;
}
UINT tx_queue_receive(TX_QUEUE *queue, VOID *destination, ULONG wait) {
    (void)destination, (void)wait;
    return queue->tx_queue_enqueued--, TX_SUCCESS;
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
static char stack[64];
static TX_THREAD first = { 1, 0, first_name, stack, stack + 24 },
                 second = { 2, 0, second_name, stack, stack };
static void switch_to(TX_THREAD *next) {
    _tx_thread_execute_ptr = next;
    if (_tx_thread_current_ptr) _tx_execution_thread_exit();
    _tx_thread_current_ptr = next;
    if (next) _tx_execution_thread_enter();
}
UINT tx_mutex_get(TX_MUTEX *mutex, ULONG wait) {
    (void)wait;
    return mutex->tx_mutex_ownership_count++, TX_SUCCESS;
}
UINT tx_mutex_put(TX_MUTEX *mutex) { return mutex->tx_mutex_ownership_count--, TX_SUCCESS; }
UINT tx_event_flags_get(TX_EVENT_FLAGS_GROUP *group, ULONG flags, UINT option, ULONG *actual,
                        ULONG wait) {
    (void)option, (void)wait;
    return *actual = group->tx_event_flags_group_current & flags, TX_SUCCESS;
}
UINT tx_thread_sleep(ULONG ticks) { return clock_ticks += (unsigned)ticks, TX_SUCCESS; }
static bool moments(void) {              /* of each object */
    static CHAR rx[] = "rx", bus[] = "bus", flags[] = "flags", cut[] = "a-name-that-is-too-long";
    static TX_QUEUE queue = { 0, rx, 0, NULL };
    static TX_SEMAPHORE unnamed = { 0, NULL, 0, &second }, semaphore = { 0, cut, 0, NULL };
    static TX_MUTEX mutex = { 0, bus, 0, &first };
    static TX_EVENT_FLAGS_GROUP group = { 0, flags, 5 };
    int data = 1;
    ULONG actual = 0;
    bool good = PROF_TX_QUEUE_SEND(&queue, &data, TX_NO_WAIT) == TX_SUCCESS &&
                queue.tx_queue_enqueued == 1 &&
                PROF_TX_QUEUE_RECEIVE(&queue, &data, TX_WAIT) == TX_SUCCESS &&
                PROF_TX_SEMAPHORE_PUT(&unnamed) == TX_SUCCESS &&
                PROF_TX_SEMAPHORE_PUT(&semaphore) == TX_SUCCESS &&
                PROF_TX_SEMAPHORE_GET(&semaphore, TX_NO_WAIT) == TX_SUCCESS &&
                PROF_TX_MUTEX_GET(&mutex, TX_WAIT) == TX_SUCCESS &&
                PROF_TX_MUTEX_PUT(&mutex) == TX_SUCCESS &&
                PROF_TX_EVENT_FLAGS_GET(&group, 4, 0, &actual, TX_WAIT) == TX_SUCCESS &&
                actual == 4;
    PROF_TX_SLEEP(3);
    PROF_TX_STACK(&first);
    PROF_TX_GONE(&queue);
    queue.tx_queue_name = bus;           /* another at the same address */
    return good && PROF_TX_QUEUE_SEND(&queue, &data, TX_NO_WAIT) == TX_SUCCESS;
}
static const char *const wanted[] = { "queue rx", "semaphore a-name-that-i", "mutex bus",
    "event flags flags", "delay", "stack first", "queue bus", "ready first", "ready second", NULL };
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
    return queue->used_msgs++, 0;
}
int k_msgq_get(struct k_msgq *queue, void *data, k_timeout_t timeout) {
    (void)data, (void)timeout;
    return queue->used_msgs--, 0;
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
int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout) {
    (void)timeout;
    return mutex->lock_count++, 0;
}
int k_mutex_unlock(struct k_mutex *mutex) { return mutex->lock_count--, 0; }
int k_thread_stack_space_get(const struct k_thread *thread, size_t *unused) {
    *unused = 24;
    return thread == &second;            /* of one it is not known */
}
void k_thread_foreach(void (*each)(const struct k_thread *thread, void *data), void *data) {
    each(&first, data);
    each(&second, data);
}
static bool moments(void) {
    k_timeout_t none = { 0 };
    static struct k_msgq queue;
    static struct k_sem semaphore;
    static struct k_mutex mutex;
    int data = 1;
    bool good;
    sys_trace_thread_sched_ready_user(&first);
    PROF_K_SEM_GIVE(&semaphore);
    PROF_K_NAME(&queue, "queue rx");
    good = PROF_K_MSGQ_PUT(&queue, &data, none) == 0 && queue.used_msgs == 1 &&
           PROF_K_MSGQ_GET(&queue, &data, none) == 0 && !queue.used_msgs &&
           PROF_K_SEM_TAKE(&semaphore, none) == 0 && !semaphore.count &&
           PROF_K_MUTEX_LOCK(&mutex, none) == 0 && mutex.lock_count;
    PROF_K_NAME(&mutex, "mutex bus");    /* told late */
    PROF_K_MUTEX_UNLOCK(&mutex);
    PROF_KERNEL_STACKS();
    return good && !mutex.lock_count;
}
static const char *const wanted[] = { "ready first", "semaphore ", "queue rx", "mutex ",
    "mutex bus", "stack first", NULL };
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

static char text[65536];
static bool take(void *user, const void *data, size_t size) {
    size_t *used = (size_t *)user;
    if (size >= sizeof text - *used) return false;
    memcpy(text + *used, data, size);
    *used += size;
    return true;
}

/* Are all that the kernel told there? More objects than places are told together. */
static bool told(prof_trace *trace) {
    size_t used = 0;
    prof_sink sink = { take, NULL };
    sink.user = &used;
    if (prof_write_chrome(trace, NULL, sink) != PROF_OK) return false;
    for (size_t i = 0; wanted[i]; i++) {
        char name[40] = "\"name\":\"";
        strcat(name, wanted[i]);
        if (!strstr(text, name)) return false;
    }
    return strstr(text, "\"other kernel objects\"") != NULL;
}

static void many(void) {                 /* and they go, and others of their names come */
    static char handles[2 * PROF_KERNEL_OBJECTS];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < PROF_KERNEL_OBJECTS; i++) {
            char name[2] = { (char)('A' + i), 0 };
            prof_kernel_count(prof_kernel_new("many ", name, handles + i), i);
        }
        for (int i = 0; i < PROF_KERNEL_OBJECTS; i++) prof_kernel_forget(handles + i);
    }
    prof_kernel_wait(prof_kernel_new("many ", "B", handles));    /* nobody is known to run */
    prof_kernel_go_on();
    prof_kernel_gone(NULL);
}

/* A task waits while a session ends and another begins, and goes on in that: no zone's end. */
static bool restarted(const prof_desc *desc) {
    static int handle;
    prof_kernel_object *task = prof_kernel_new("many ", "A", &handle);
    prof_kernel_object *what = prof_kernel_new("many ", "B", desc);
    if (prof_start(desc) != PROF_OK) return false;
    prof_kernel_runs(task);
    prof_kernel_wait(what);
    if (!task->zone || !prof_stop()) return false;
    prof_kernel_runs(NULL);
    if (prof_start(desc) != PROF_OK) return false;
    prof_kernel_runs(task);
    prof_kernel_go_on();
    prof_kernel_wait(what);
    prof_kernel_wait(what);              /* told twice */
    prof_kernel_go_on();
    prof_kernel_go_on();
    return prof_stop() && !prof_get_stats(NULL).unbalanced &&
           prof_get_stats(NULL).recorded == 1;
}

/* A task begins the session and waits before any switch: its wait ends as any other. */
static bool began_by_task(const prof_desc *desc) {
    static int handle;
    prof_kernel_object *task = prof_kernel_new("many ", "C", &handle);
    prof_kernel_runs(task);
    if (prof_start(desc) != PROF_OK) return false;
    prof_kernel_wait(prof_kernel_new("many ", "B", desc));
    prof_kernel_runs(NULL);
    prof_kernel_runs(task);
    prof_kernel_go_on();
    return prof_stop() && !prof_get_stats(NULL).unfinished && prof_get_stats(NULL).recorded == 1;
}

int main(void) {
    prof_desc desc;
    prof_average rows[24];
    const prof_average *waits, *ends;
    prof_trace *trace;
    size_t count;
    memset(&desc, 0, sizeof desc);
    begin();
    if (prof_start(&desc) != PROF_OK) return 1;
    run();
    if (!moments()) return 2;
    many();
    trace = prof_stop();
    count = prof_key_averages(trace, NULL, rows, 24);
    waits = row(rows, count, "waits");
    ends = row(rows, count, "ends");
    if (!waits || !ends) return 3;
    if (waits->cpu_time_total_ns != 138 || waits->on_cpu_ns != 15) return 4;
    if (ends->cpu_time_total_ns != 123 || ends->on_cpu_ns != 23) return 5;
    if (!has_thread(trace, "CPU") || !has_thread(trace, "first") || !has_thread(trace, "second") ||
        !has_thread(trace, "idle")) return 6;
    if (prof_get_stats(NULL).dropped || prof_get_stats(NULL).unbalanced) return 8;
    if (!told(trace)) return 7;
    if (!restarted(&desc)) return 9;
    return began_by_task(&desc) ? 0 : 10;
}
