/* Windows open and close while threads mark zones: every trace is whole, nothing counts twice. */
#include "../test.h"

#include <pthread.h>
#include <time.h>

enum { THREADS = 4 };

static int running;
static uint64_t rounds[THREADS];         /* of its zones that each thread has done */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_us(long us) {
    int64_t until = now_ns() + us * 1000;
    while (now_ns() < until) sched_yield();
}

static uint64_t round_of(int thread) { return __atomic_load_n(rounds + thread, __ATOMIC_SEQ_CST); }

/* Returns when a thread has begun and ended a round since the call, however busy the machine is. */
static void await_round(void) {
    uint64_t before[THREADS];
    int i;
    for (i = 0; i < THREADS; i++) before[i] = round_of(i);
    for (i = 0; round_of(i) < before[i] + 2; i = (i + 1) % THREADS) sched_yield();
}

static void *work(void *user) {
    uint64_t *count = (uint64_t *)user;
    while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
        pause_us(5);                     /* or the arena is full of zones before the steps end */
        PROF_BLOCK("outer") {
            PROF_SCOPE("inner");
            prof_push("pushed");
            prof_pop();
        }
        __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static size_t windows, empty, steps_found;   /* empty: windows without a thread's zone */
static int bad_tree;
static const prof_trace *whole;         /* what the last session ended with */

static void ready(void *user, prof_trace *trace) {
    size_t count, i, zones = 0;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    (void)user;
    windows++;
    test_tree(trace);
    bad_tree += test_bad;
    for (i = 0; i < count; i++) {
        bool step = strcmp(events[i].name, "ProfilerStep*") == 0;
        steps_found += step;
        zones += !step;
        if (step && events[i].parent != PROF_NONE) bad_tree++;
    }
    empty += !zones;
}

static void run(prof_desc *desc, int steps, bool toggle) {
    pthread_t threads[THREADS];
    int i;
    windows = empty = steps_found = 0;
    bad_tree = 0;
    desc->on_trace_ready = ready;
    __atomic_store_n(&running, 1, __ATOMIC_RELAXED);
    for (i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &rounds[i])) abort();
    EQUAL(prof_start(desc), PROF_OK);
    for (i = 0; i < steps; i++) {
        pause_us(300);
        await_round();
        if (toggle) prof_toggle(PROF_ACTIVITY_CPU, i & 1);
        prof_step();
    }
    await_round();
    whole = prof_stop();
    CHECK(whole != NULL, "a trace");
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK(!bad_tree, "%s", test_why);
    EQUAL(empty, 0);
}

static void test_windows_among_threads(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.schedule.wait = 1;
    desc.schedule.warmup = 1;
    desc.schedule.active = 2;
    PASS_ON(run(&desc, 40, false));
    EQUAL(windows, 10);
    EQUAL(steps_found, 20);
}

static void test_windows_back_to_back(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.schedule.active = 1;
    inside_os_clock = true;
    PASS_ON(run(&desc, 40, false));
    EQUAL(windows, 41);
    EQUAL(steps_found, 41);
    inside_os_clock = false;
}

/* One trace grows over all windows: the last one handed out holds every step. */
static void test_windows_accumulate(void) {
    prof_desc desc;
    size_t threads;
    memset(&desc, 0, sizeof desc);
    desc.schedule.warmup = 1;
    desc.schedule.active = 1;
    desc.acc_events = true;
    PASS_ON(run(&desc, 20, false));
    EQUAL(windows, 10);
    EQUAL(steps_found, 55);              /* 1 + 2 + ... + 10 */
    prof_threads(whole, &threads);
    CHECK(threads <= THREADS + 1, "%u threads", (unsigned)threads);
}

static void test_toggle_among_threads(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    PASS_ON(run(&desc, 40, true));
    EQUAL(windows, 1);
    EQUAL(steps_found, 0);
}

/* A thread that exits while recording is off: what it recorded before counts once, and a thread's
   zones after the next toggle are another row's. */
static void *two_zones(void *user) {
    prof_result *result = (prof_result *)user;
    PROF_BLOCK("outer") { PROF_SCOPE("inner"); }
    if (result) *result = prof_toggle(PROF_ACTIVITY_CPU, false);
    return NULL;
}

static void test_exit_while_off(void) {
    prof_desc desc;
    pthread_t thread;
    prof_result result = PROF_ERROR_STATE;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.keep = PROF_KEEP_RECORDS;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 2; i++) {
        EQUAL(pthread_create(&thread, NULL, two_zones, i ? NULL : &result), 0);
        pthread_join(thread, NULL);
        EQUAL(prof_get_stats(NULL).recorded, 2 + 2 * i);
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    }
    EQUAL(result, PROF_OK);
    CHECK(prof_stop() != NULL, "a trace");
    EQUAL(prof_get_stats(NULL).recorded, 4);
    EQUAL(prof_get_stats(NULL).unfinished, 0);
}

/* A thread that ended and records again is another one; no two have one id. */
static void test_threads_again(void) {
    const prof_thread_info *infos;
    size_t count;
    EQUAL(prof_start(NULL), PROF_OK);
    for (int i = 0; i < 3; i++) {
        PROF_BLOCK("zone") {}
        prof_thread_end();
    }
    infos = prof_threads(prof_stop(), &count);
    EQUAL(count, 3);
    CHECK(infos[0].id != infos[1].id && infos[0].id != infos[2].id && infos[1].id != infos[2].id,
          "two have one id");
}

/* What a thread that has ended left open is known while the session goes on. */
static void *leave_open(void *user) {
    prof_push("open");
    return user;
}

static void test_left_open_while_on(void) {
    prof_desc desc;
    pthread_t thread;
    memset(&desc, 0, sizeof desc);
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, leave_open, NULL), 0);
    pthread_join(thread, NULL);
    EQUAL(prof_get_stats(NULL).unfinished, 1);
    prof_stop();
    EQUAL(prof_get_stats(NULL).unfinished, 1);
}

static int phase;

static void next_phase(void) { __atomic_add_fetch(&phase, 1, __ATOMIC_SEQ_CST); }

static void await_phase(int n) {
    while (__atomic_load_n(&phase, __ATOMIC_SEQ_CST) != n) sched_yield();
}

static void *hold(void *user) {
    PROF_BLOCK("held") {
        PROF_SCOPE("held too");
        next_phase();
        await_phase(2);
    }
    next_phase();
    await_phase(4);
    for (int i = 0; i < 4; i++) prof_push("level");
    for (int i = 0; i < 4; i++) prof_pop();
    return user;
}

/* Zones that another thread ends after the session take none of its places in the next one. */
static void test_held_by_another(void) {
    prof_desc desc;
    pthread_t thread;
    memset(&desc, 0, sizeof desc);
    desc.max_depth = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, hold, NULL), 0);
    await_phase(1);
    prof_stop();
    next_phase();
    await_phase(3);
    EQUAL(prof_start(&desc), PROF_OK);
    next_phase();
    pthread_join(thread, NULL);
    prof_stop();
    EQUAL(prof_get_stats(NULL).deep, 0);
    EQUAL(prof_get_stats(NULL).recorded, 4);
}

static void *end_and_begin_deep(void *user) {
    PROF_BEGIN("outer");
    PROF_BLOCK("deep") {}
    prof_push("open");
    next_phase();
    await_phase(2);
    prof_pop();
    PROF_END();
    return user;
}

/* A thread that has ended a deep zone by its token does not look at the session any more. */
static void test_deep_of_another(void) {
    prof_desc desc;
    pthread_t thread;
    memset(&desc, 0, sizeof desc);
    desc.max_depth = 1;
    __atomic_store_n(&phase, 0, __ATOMIC_SEQ_CST);
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, end_and_begin_deep, NULL), 0);
    await_phase(1);
    prof_stop();
    next_phase();
    pthread_join(thread, NULL);
    EQUAL(prof_get_stats(NULL).deep, 2);
    EQUAL(prof_get_stats(NULL).unfinished, 2);
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

/* A thread that takes a state over needs no more room for analysis than the one before it. */
static void test_short_threads_take_no_room(void) {
    prof_desc desc;
    pthread_t thread;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.max_threads = 2;
    desc.memory = malloc(desc.memory_size = 1 << 20);
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 400; i++) {
        EQUAL(pthread_create(&thread, NULL, two_zones, NULL), 0);
        pthread_join(thread, NULL);
    }
    PROF_BLOCK("zone") prof_set_arg("key", "text");
    CHECK(prof_stop() != NULL, "a trace");
    EQUAL(prof_get_stats(NULL).not_kept, 0);
    EQUAL(prof_get_stats(NULL).recorded, 801);
    free(desc.memory);
}

static void *watch(void *user) {
    while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
        if (prof_get_stats(NULL).warnings & PROF_WARN_DEVICE)
            __atomic_store_n((int *)user, 1, __ATOMIC_RELAXED);
        sched_yield();
    }
    return NULL;
}

static prof_result device_call(void *user) {
    (void)user;
    pause_us(20);
    return PROF_OK;
}

static void *mark_and_step(void *unused) {
    (void)unused;
    PROF_BLOCK("marked") {}
    prof_step();
    return NULL;
}

static void step_in_threads(int steps) {
    static char memory[512 << 10];
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.mode = PROF_MODE_AGGREGATE;
    desc.max_threads = 4;
    desc.schedule.active = 1;
    desc.acc_events = true;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < steps; i++) {
        pthread_t thread;
        EQUAL(pthread_create(&thread, NULL, mark_and_step, NULL), 0);
        pthread_join(thread, NULL);
    }
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, (uint64_t)steps);
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

/* Each step is another thread's, which ends: the next one takes its memory. */
static void test_steps_of_short_threads(void) {
    uint64_t used;
    PASS_ON(step_in_threads(1));         /* its sites are there from here on */
    PASS_ON(step_in_threads(10));
    used = prof_get_stats(NULL).bytes_used;
    PASS_ON(step_in_threads(60));
    EQUAL(prof_get_stats(NULL).bytes_used, used);
}

/* Any thread may ask for the counts at any time, as while devices start and stop, and while the
   records are read. The device stays: this is the last test. */
static void test_stats_among_sessions(void) {
    prof_device_desc device;
    prof_average rows[4];
    pthread_t thread;
    int i, warned = 0;
    memset(&device, 0, sizeof device);
    device.name = "watched";
    device.activity = PROF_ACTIVITY_CPU << 5;
    device.prepare = device.start = device.stop = device_call;
    running = 1;
    EQUAL(pthread_create(&thread, NULL, watch, &warned), 0);
    for (i = 0; i < 60; i++) {
        const prof_trace *trace;
        if (i == 30) EQUAL(prof_add_device(&device), PROF_OK);
        EQUAL(prof_start(NULL), PROF_OK);
        PROF_BLOCK("outer") { PROF_BLOCK("inner") (void)0; }
        prof_instant("moment");
        trace = prof_stop();
        CHECK(prof_key_averages(trace, NULL, rows, 4) == 2 && rows[0].count == 1, "not the zones");
        EQUAL(prof_get_stats(trace).recorded, 2);
    }
    __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    EQUAL(warned, 0);
}

int main(void) {
    RUN(test_short_threads_take_no_room);
    RUN(test_steps_of_short_threads);
    RUN(test_threads_again);
    RUN(test_left_open_while_on);
    RUN(test_held_by_another);
    RUN(test_deep_of_another);
    RUN(test_windows_among_threads);
    RUN(test_windows_back_to_back);
    RUN(test_windows_accumulate);
    RUN(test_toggle_among_threads);
    RUN(test_exit_while_off);
    RUN(test_stats_among_sessions);
    return test_end();
}
