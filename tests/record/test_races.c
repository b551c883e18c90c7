/* Threads mark, name and describe zones, report memory, ranges and arrows, and come and go, while
   one of them after the other starts, stops, steps and toggles sessions of every mode: for
   ThreadSanitizer above all. SECONDS=n in the environment: so long (1); SEED=n: another run. */
#include "../test.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { THREADS = 6, TOKENS = 8 };

typedef struct worker {
    pthread_t thread;
    uint32_t number, random;
    void *context;                       /* that it left */
} worker;

static worker workers[THREADS];
static uint32_t finish, turns, plain;    /* plain: zones are all there is: their records tell it */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER, table = PTHREAD_MUTEX_INITIALIZER;
static prof_async tokens[TOKENS];        /* ranges that any thread may end */
static uint64_t arrow;
static char *blocks[TOKENS];             /* memory that any thread may free */

static uint32_t get(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }

static uint32_t dice(worker *me, uint32_t below) {
    me->random = me->random * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(me->random >> 4) * below) >> 28);
}

static void wrong(const char *what) {
    printf("not ok races: %s\n", what);
    fflush(stdout);
    abort();
}

/* ---- What all threads do ---- */

static const int64_t dims[] = { 2, 3, 5, 7 };
static const prof_shape shapes[] = { { dims, NULL, 2 }, { dims + 1, NULL, 3 } };
static const char *const texts[] = { "float", "int" };
static prof_tensor tensors[2];

static void carry(worker *me) {
    switch (dice(me, 12)) {
    case 0: prof_set_shapes(shapes, texts, 2); break;
    case 1: set_strides(shapes, 2); break;
    case 2: set_inputs(texts, 2, "{\"a\": 1}"); break;
    case 3: set_outputs(shapes, texts, 1); break;
    case 4: set_tensors(tensors, 2); break;
    case 5: set_flops(100); break;
    case 6: set_sequence(5, (uint8_t)dice(me, 2), prof_thread_id()); break;
    case 7: set_overload("out"); break;
    case 8: set_module("net.conv"); break;
    case 9: prof_set_arg("key", "text"); break;
    case 10: set_stack(texts, 2); break;
    default: set_annotation(); break;
    }
}

static void memory(worker *me) {
    static const prof_device cpu = { PROF_DEVICE_CPU, 0 };
    uint32_t i = dice(me, TOKENS);
    char *block = (char *)malloc(8), *before;
    (void)prof_memory_category(PROF_MEMORY_ACTIVATION);
    prof_memory_alloc(block, 8, cpu);
    before = __atomic_exchange_n(blocks + i, block, __ATOMIC_ACQ_REL);
    prof_memory_free(before, cpu);
    free(before);
}

static void range(worker *me) {
    prof_async begun = prof_async_begin("range"), before;
    uint32_t i = dice(me, TOKENS);
    pthread_mutex_lock(&table);
    before = tokens[i];
    tokens[i] = begun;
    pthread_mutex_unlock(&table);
    prof_async_end(before);
}

static void flow(worker *me) {
    if (dice(me, 2)) __atomic_store_n(&arrow, prof_flow(0), __ATOMIC_RELAXED);
    else (void)prof_flow(__atomic_load_n(&arrow, __ATOMIC_RELAXED));
}

static void submit(worker *me) {
    prof_event event;
    memset(&event, 0, sizeof event);
    event.thread = prof_submit_thread(7000 + me->number, "outside");
    event.name = "outside";
    event.start_ns = event.end_ns = prof_now();
    if (event.thread != PROF_NONE) (void)prof_submit(&event, 1);
}

/* Launches that this worker or another one finishes, perhaps in another session. */
static void launch(worker *me) {
    static uint64_t last;
    const prof_device device = { PROF_DEVICE_OPENCL, 0 };
    uint64_t token = prof_launch(prof_queue(device, me->number % 2 ? "odd" : "even"), "work");
    uint64_t now = (uint64_t)prof_now();
    token = __atomic_exchange_n(&last, token, __ATOMIC_RELAXED);
    if (dice(me, 4)) (void)prof_launch_done(token, now, now + 5);
    if (dice(me, 8) == 0) (void)prof_device_clock(device, (int64_t)now, now + 1000);
}

static bool nowhere(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    (void)size;
    return true;
}

static void metadata(worker *me) {
    prof_distributed rank = { "nccl", me->number, THREADS, 1, "[]", NULL };
    (void)prof_add_metadata("worker", me->number % 2 ? "odd" : "even");
    (void)prof_set_distributed(&rank);
}

static void dump(void) {
    prof_sink sink = { nowhere, NULL };
    (void)prof_dump(sink);
}

static void look(void) {
    prof_average rows[4];
    if (prof_get_stats(NULL).threads > 1u << 20) wrong("too many threads");
    (void)prof_snapshot(rows, 4);
}

static void zones(worker *me, uint32_t levels) {
    char name[24];
    PROF_SCOPE("deeper");
    if (!get(&plain) && dice(me, 2)) carry(me);
    if (levels) zones(me, levels - 1);
    snprintf(name, sizeof name, "name %u", (unsigned)dice(me, 40));
    prof_push(name);
    if (!get(&plain) && dice(me, 4) == 0) carry(me);
    prof_pop();
}

static void with(void) {
    prof_extra x;
    memset(&x, 0, sizeof x);
    x.input_shapes = shapes;
    x.input_count = 2;
    x.overload_name = "out";
    x.module_hierarchy = "net";
    prof_push_with("with", &x);
    prof_pop();
}

static void session_turn(worker *me);

/* Marks that are used for the first time at any moment, also when a session has just ended. */
#define MARK(n) case n: { PROF_SCOPE("mark " #n); break; }
#define MARKS(n) \
    MARK(n##0) MARK(n##1) MARK(n##2) MARK(n##3) MARK(n##4) MARK(n##5) MARK(n##6) MARK(n##7)
static void mark(worker *me) {
    switch (dice(me, 80)) {
    MARKS(1) MARKS(2) MARKS(3) MARKS(4) MARKS(5) MARKS(6) MARKS(7)
    default: break;
    }
}

static void something(worker *me) {
    char name[16];
    uint32_t what = dice(me, 42);
    if (get(&plain) && what >= 3 && (what < 10 || what == 17)) what = 30;
    switch (what) {
    case 0: case 1: case 2: memory(me); break;
    case 3: case 4: case 5: range(me); break;
    case 6: case 7: flow(me); break;
    case 8: prof_module_push("net"); zones(me, 1); prof_module_pop(); break;
    case 9: with(); break;
    case 10: prof_counter("counter", me->number); break;
    case 11: prof_instant("instant"); break;
    case 12: case 13:
        snprintf(name, sizeof name, "worker %u", (unsigned)me->number);
        prof_set_thread_name(name);
        break;
    case 14: (void)prof_flush(); break;
    case 15: if (dice(me, 8) == 0) dump(); break;
    case 16: if (dice(me, 8) == 0) look(); break;
    case 17: if (dice(me, 2)) submit(me); else launch(me); break;
    case 18: if (dice(me, 4) == 0) prof_thread_end(); break;
    case 19: me->context = prof_context_switch(me->context); break;
    case 20: if (dice(me, 4)) (void)test_info().step; else metadata(me); break;
    case 21: case 22: case 23: session_turn(me); break;
    case 24: if (dice(me, 8) == 0) mark(me); break;
    default: zones(me, dice(me, 4)); break;
    }
}

static void *live(void *user) {
    worker *me = (worker *)user;
    PROF_BEGIN("left open");
    for (uint32_t n = 1 + dice(me, 400); n && !get(&finish); n--) something(me);
    me->context = NULL;
    return NULL;
}

/* Threads one after another. */
static void *lives(void *user) {
    worker *me = (worker *)user;
    while (!get(&finish)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live, me) != 0) wrong("no thread");
        pthread_join(thread, NULL);
    }
    return NULL;
}

/* ---- One of them at a time: the session ---- */

static bool session_open, enabled;
static prof_desc desc;
static uint64_t arena[(4 << 20) / 8];
static struct watcher { uint64_t calls; char end[64]; } *watching;   /* an observer; NULL: none */

static void watch(void *user, const char *name) {
    struct watcher *w = (struct watcher *)user;
    if (!name || w->end[0]) wrong("a call of an observer that is gone");
    __atomic_add_fetch(&w->calls, 1, __ATOMIC_RELAXED);
}

static void watch_begin(void *user, const char *name, const prof_extra *with) {
    (void)with;
    watch(user, name);
}

static void watch_some(worker *me) {
    prof_observer o;
    if (watching) {
        if (prof_remove_observer(watching) != PROF_OK) wrong("the observer stays");
        memset(watching, 0xff, sizeof *watching);
        free(watching);
        watching = NULL;
    }
    if (dice(me, 4)) return;
    memset(&o, 0, sizeof o);
    o.begin = watch_begin;
    o.end = o.instant = watch;
    o.user = watching = (struct watcher *)calloc(1, sizeof *watching);
    if (prof_add_observer(&o) != PROF_OK) wrong("no observer");
}

static void read_events(const prof_trace *trace) {
    size_t count, threads;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    (void)prof_threads(trace, &threads);
    for (size_t i = 0; events && i < count; i++)
        if (!events[i].name || events[i].thread >= threads) wrong("an event of no thread");
}

static void read_written(prof_result result) {
    if (result != PROF_OK && result != PROF_ERROR_INVALID && result != PROF_ERROR_MEMORY &&
        result != PROF_ERROR_UNSUPPORTED) wrong(prof_strerror(result));
}

/* What is asked first reads the records, or makes the events, while the others go on. */
static void read_all(worker *me, const prof_trace *trace) {
    prof_average rows[8];
    prof_sink sink = { nowhere, NULL };
    if (!trace) wrong("no trace");
    for (uint32_t i = 0, first = dice(me, 8); i < 8; i++) {
        switch ((first + i) % 8) {
        case 0: read_events(trace); break;
        case 1: read_written(prof_write_chrome(trace, NULL, sink)); break;
        case 2: (void)prof_key_averages(trace, NULL, rows, 8); break;
        case 3: read_written(prof_write_stacks(trace, PROF_METRIC_CPU_TIME_TOTAL, sink)); break;
        case 4: read_written(prof_write_table(trace, NULL, sink)); break;
        case 5: (void)prof_total_average(trace); break;
        case 6: (void)prof_get_stats(trace); break;
        default: (void)prof_get_stats(NULL); break;
        }
    }
}

static worker *turning;                  /* whose turn it is */

static void ready(void *user, prof_trace *trace) {
    (void)user;
    read_all(turning, trace);
}

/* What zones carry; without them, and their calls, the records tell all. */
static void session_details(worker *me) {
    desc.record_shapes = dice(me, 2);
    desc.with_flops = dice(me, 4) == 0;
    desc.with_modules = dice(me, 2);
    desc.with_stack = dice(me, 4) ? PROF_STACK_NONE : PROF_STACK_ZONES;
    desc.profile_memory = dice(me, 2);
    if (!dice(me, 8)) desc.with_stack = PROF_STACK_UNWIND;
    desc.hw_counters = dice(me, 8) ? NULL : "page-faults,context-switches";
}

static void session_start(worker *me) {
    static const size_t sizes[] = { 0, sizeof arena, sizeof arena / 2, sizeof arena / 8 };
    prof_result result;
    memset(&desc, 0, sizeof desc);
    desc.mode = (prof_mode)dice(me, 4);
    desc.memory_size = sizes[dice(me, 4)];
    desc.memory = desc.memory_size ? arena : NULL;
    if (dice(me, 2)) desc.max_threads = 2 + dice(me, 2 * THREADS);
    if (dice(me, 4) == 0) desc.max_depth = 2;
    inside_os_clock = dice(me, 4) == 0;
    if (!dice(me, 8)) desc.keep = PROF_KEEP_RECORDS;
    desc.stream.write = nowhere;
    desc.stream_format = (prof_stream_format)dice(me, 2);
    desc.when_full = (prof_full)dice(me, 2);
    __atomic_store_n(&plain, dice(me, 2), __ATOMIC_RELAXED);
    if (!get(&plain)) session_details(me);
    if (dice(me, 4) == 0) {
        desc.schedule.wait = dice(me, 2);
        desc.schedule.warmup = dice(me, 2);
        desc.schedule.active = 1 + dice(me, 3);
        desc.acc_events = dice(me, 4) == 0;
        desc.on_trace_ready = ready;
    }
    watch_some(me);
    result = prof_start(&desc);
    if (result == PROF_ERROR_UNSUPPORTED) {
        desc.hw_counters = NULL;
        desc.with_stack = PROF_STACK_NONE;
        desc.with_modules = false;           /* what no stream carries, */
        desc.stream_format = PROF_STREAM_RAW;   /* or Chrome's does not */
        result = prof_start(&desc);
    }
    if (result != PROF_OK && result != PROF_ERROR_MEMORY) wrong(prof_strerror(result));
    session_open = enabled = result == PROF_OK;
}

static void session_turn(worker *me) {
    if (pthread_mutex_trylock(&turn) != 0) return;
    __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
    turning = me;
    if (!session_open) {
        session_start(me);
    } else {
        switch (dice(me, 6)) {
        case 0:
            read_all(me, prof_stop());
            session_open = false;
            break;
        case 1: case 2:
            if (prof_toggle(PROF_ACTIVITY_CPU, !enabled) == PROF_OK) enabled = !enabled;
            break;
        default: (void)prof_step(); break;
        }
    }
    pthread_mutex_unlock(&turn);
}

static void test_races(void) {
    const char *seconds = getenv("SECONDS"), *seed = getenv("SEED");
    struct timespec pause = { 0, 10000000 };
    time_t until = time(NULL) + (seconds ? atoi(seconds) : 1);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].random = (seed ? (uint32_t)atoi(seed) : 1) * 7919 + i;
        pthread_create(&workers[i].thread, NULL, lives, workers + i);
    }
    while (time(NULL) < until || !get(&turns)) nanosleep(&pause, NULL);
    __atomic_store_n(&finish, 1u, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    if (session_open) read_all(workers, prof_stop());
    if (watching) EQUAL(prof_remove_observer(watching), PROF_OK);
    free(watching);
    for (int i = 0; i < TOKENS; i++) free(blocks[i]);
}

int main(void) {
    RUN(test_races);
    return test_end();
}
