/* A thread that is in its slow path when another ends the session: each zone that it began is in
   the trace, in the sums, or counted. It stands still in the clock, or before one of the next
   atomic accesses. So is what is no zone: it is no zone of the trace either. */
#define _GNU_SOURCE 1                    /* mincore */
static void test_point(void);
#define PROF__POINT() test_point()
#include "../test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEPTH = 4, OPEN = 14, BEFORE = 20 };
static uint32_t ready, stopping, stopped;
static uint32_t closes;                  /* prof_stop has read the clock: prof__on is 0 */
static __thread bool is_worker, armed;
static bool stands;                      /* until prof_stop has returned; else until that */
static uint32_t spin;
static __thread int points;              /* until it stands still; 0: it does not */
static int point;
static bool only_instant;                /* the worker stands before it is in its slow path, and */
static int again;                        /* once more, so many points later: until prof_stop has */
static __thread int points_again;        /* returned, but not for long */

static uint32_t get(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static void set(uint32_t *p, uint32_t n) { __atomic_store_n(p, n, __ATOMIC_SEQ_CST); }

static void stand(void) {
    set(&ready, 1);
    while (stands && !get(&stopped)) usleep(100);   /* prof_stop waits for long */
    while (!get(&closes)) sched_yield();
    for (volatile uint32_t i = 0; i < spin; i++) {}
}

static void stand_again(void) {
    for (int i = 0; i < 50 && !get(&stopped); i++) usleep(1000);
}

static void test_point(void) {
    if (points_again && !points && !--points_again) stand_again();
    if (!points || --points) return;
    stand();
    points_again = again;
}

static uint64_t now(void *user) {
    static uint64_t tick;
    (void)user;
    if (is_worker && armed) {            /* the end of a zone deeper than max_depth */
        armed = false;
        points = point;
        if (!points) stand();
    }
    if (!is_worker && get(&stopping)) set(&closes, 1);
    return __atomic_add_fetch(&tick, 10, __ATOMIC_SEQ_CST);
}

static void *worker(void *unused) {
    (void)unused;
    is_worker = true;
    for (int i = 0; i < BEFORE; i++) {
        PROF_BEGIN("before");
        PROF_END();
    }
    for (int i = 0; i < OPEN && !only_instant; i++) PROF_BEGIN("open");
    armed = !only_instant;
    for (int i = 0; i < 2 && only_instant; i++) {
        if (i) points = point;           /* the first has made its site */
        PROF_INSTANT("instant");
    }
    if (!only_instant) PROF_END();
    points = 0;
    set(&ready, 1);
    return NULL;
}

static void session(prof_mode mode, void *memory, size_t size) {
    prof_desc desc;
    pthread_t thread;
    prof_stats stats;
    memset(&desc, 0, sizeof desc);
    desc.mode = mode;
    desc.memory = memory;
    desc.memory_size = size;
    if (only_instant) desc.keep = PROF_KEEP_RECORDS;   /* else zones are counted again, read */
    desc.max_depth = DEPTH;
    desc.max_threads = 2;
    desc.platform.now = now;
    desc.platform.ticks_per_second = 1000000000;
    set(&ready, 0), set(&stopping, 0), set(&stopped, 0), set(&closes, 0);
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, worker, NULL), 0);
    while (!get(&ready)) sched_yield();
    set(&stopping, 1);
    prof_stop();
    stats = prof_get_stats(NULL);
    set(&stopped, 1);
    pthread_join(thread, NULL);
    EQUAL(stats.recorded + stats.summed + stats.dropped, BEFORE + (only_instant ? 0 : OPEN));
}

static void sessions(bool still, int times) {
    size_t size = 1 << 20;
    void *memory = malloc(size);
    stands = still;
    for (int i = 0; i < times && !test_bad; i++) {
        spin = still ? (uint32_t)(i * 7) % 1500 : test_random(1500);
        session(i % 2 ? PROF_MODE_AGGREGATE : PROF_MODE_TRACE, memory, size);
        if (test_bad) test_say(" (session %d, point %d)", i, point);
    }
    free(memory);
}

static void test_stands_still(void) {
    for (point = 0; point < 4 && !test_bad; point += 2) sessions(true, 2);
}

static void test_goes_on(void) {
    int times = test_sample() > 1 ? 50 : 2000;
    for (point = 0; point < 4 && !test_bad; point++) sessions(false, times);
}

/* An instant of a thread that found the session open, and is in its slow path when that ends. */
static void test_enters(void) {
    int times = test_sample() > 1 ? 1 : 10;
    only_instant = true;
    for (point = 2; point < 6 && !test_bad; point++)
        for (again = 2; again < 7 && !test_bad; again++) sessions(false, times);
    if (test_bad) test_say(" (again %d)", again);
    only_instant = false;
    again = 0;
}

#if defined(__linux__) && !PROF__TSAN
static bool touched(const void *at) {
    uintptr_t page = (uintptr_t)at & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
    unsigned char there = 0;
    return mincore((void *)page, 1, &there) == 0 && there & 1;
}

/* What a thread takes next has been touched before it is in its slow path, where it could drop what
   a signal handler records. */
static void test_touched(void) {
    size_t size = 64 << 20;
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.keep = PROF_KEEP_RECORDS;
    desc.memory_size = size;
    desc.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(desc.memory != MAP_FAILED, "no memory");
    madvise(desc.memory, size, MADV_NOHUGEPAGE);
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0, seen = 0; seen < 100 && !test_bad; i++) {
        const prof__segment *c;
        PROF_BLOCK("zone") {}
        c = ((const prof__state *)(const void *)prof__tls.hot)->ahead;
        if (!c || i < 1000000) continue;   /* prof__prefault has touched the first */
        seen++;
        CHECK(touched(c->begin) && touched(c->limit - 1) &&
              touched(c->begin - (c->limit - c->begin)), "a chunk is new memory");
        while (((const prof__state *)(const void *)prof__tls.hot)->ahead) PROF_BLOCK("zone") {}
    }
    prof_stop();
    prof_thread_end();
    munmap(desc.memory, size);
}
#else
static void test_touched(void) {}
#endif

int main(void) {
    RUN(test_touched);
    RUN(test_enters);
    RUN(test_stands_still);
    RUN(test_goes_on);
    return test_end();
}
