/* Sessions in memory of which threads still own a part, from earlier sessions with another layout:
   what is not theirs can be used, and is found whatever it held. */
#include "test.h"

#include <pthread.h>
#include <sched.h>

enum { OWNERS = 8, ZONES = 10, ROWS = 16 };

static uint64_t memory[(4 << 20) / 8];
static test_text text;                   /* what streams and dumps write */
static uint32_t number = 1;              /* of the session, or of its part since a toggle */

/* A thread that records one zone, and keeps its state until it may go. */
typedef struct owner { pthread_t thread; int owns, may_go; } owner;

static int get(const int *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static void set(int *p, int n) { __atomic_store_n(p, n, __ATOMIC_SEQ_CST); }

static void *own(void *user) {
    owner *o = (owner *)user;
    PROF_BLOCK("owner") {}
    set(&o->owns, 1);
    while (!get(&o->may_go)) sched_yield();
    return NULL;
}

static void owner_start(owner *o) {
    set(&o->owns, 0);
    set(&o->may_go, 0);
    EQUAL(pthread_create(&o->thread, NULL, own, o), 0);
    while (!get(&o->owns)) sched_yield();
}

static void owner_end(owner *o) {
    set(&o->may_go, 1);
    pthread_join(o->thread, NULL);
}

static void *zones(void *user) {
    for (int i = 0; i < ZONES; i++) PROF_BLOCK("zone") {}
    return user;
}

static void describe(prof_desc *desc, prof_mode mode, uint32_t threads, uint32_t depth) {
    memset(desc, 0, sizeof *desc);
    desc->mode = mode;
    desc->memory = memory;
    desc->memory_size = sizeof memory;
    desc->max_threads = threads;
    desc->max_depth = depth;
    desc->stream = test_text_sink(&text);
    text.size = 0;
}

static void start(const prof_desc *desc) {
    EQUAL(prof_start(desc), PROF_OK);
    number++;
}

static void toggle(void) {
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    number++;
}

/* Memory that looks like what the session after the next one leaves. No thread owns any, and the
   last trace lies elsewhere. */
static void fill(void) {
    uint32_t *words = (uint32_t *)(void *)memory;
    start(NULL);
    CHECK(prof_stop() != NULL, "a trace");
    for (size_t i = 0; i < sizeof memory / 4; i++) words[i] = number + 2;
}

/* Two threads record in a session, which readers look at meanwhile. */
static void record(int turns) {
    static prof_average rows[ROWS];
    pthread_t thread;
    for (int i = 0; i < turns; i++) {
        prof_stats s;
        zones(NULL);
        EQUAL(pthread_create(&thread, NULL, zones, NULL), 0);
        pthread_join(thread, NULL);
        (void)prof_flush();
        (void)prof_snapshot(rows, ROWS);
        (void)prof_dump(test_text_sink(&text));
        s = prof_get_stats();
        EQUAL(s.dropped, 0);
        EQUAL(s.recorded, 2 * (i + 1) * ZONES);
        CHECK(s.bytes_used <= s.bytes_total, "%zu bytes used", s.bytes_used);
        if (i + 1 == turns) break;
        toggle();
    }
}

static void stop(int turns) {
    prof_stats s;
    CHECK(prof_stop() != NULL, "a trace");
    s = prof_get_stats();
    EQUAL(s.dropped, 0);
    EQUAL(s.recorded, 2 * turns * ZONES);
}

/* Whichever of eight threads stays, there is room for two beside it. */
static void test_one_owner_stays(void) {
    static owner owners[OWNERS];
    for (int stays = 0; stays < OWNERS; stays++) {
        for (int mode = 0; mode < 4; mode++) {
            prof_desc desc;
            describe(&desc, PROF_MODE_TRACE, 2 * OWNERS, 0);
            desc.records_only = true;
            start(&desc);
            for (int i = 0; i < OWNERS; i++) owner_start(owners + i);
            for (int i = 0; i < OWNERS; i++) if (i != stays) owner_end(owners + i);
            CHECK(prof_stop() != NULL, "a trace");
            describe(&desc, (prof_mode)mode, OWNERS, 8);
            start(&desc);
            PASS_ON(record(1));
            PASS_ON(stop(1));
            owner_end(owners + stays);
        }
    }
}

/* A state that was deep lies over many that are not: those hold anything. */
static void test_owner_over_states(void) {
    static const uint32_t depths[] = { 4, 5, 6, 7, 8, 24 };
    static owner over;
    for (int i = 0; i < 48; i++) {
        prof_desc desc;
        uint32_t depth = depths[i % 6];
        fill();
        describe(&desc, PROF_MODE_TRACE, 2, 250);
        start(&desc);
        owner_start(&over);
        CHECK(prof_stop() != NULL, "a trace");
        describe(&desc, (prof_mode)(i % 4), 16, depth);
        start(&desc);
        PASS_ON(record(2));
        owner_end(&over);
        PASS_ON(stop(2));
    }
}

/* The owner ends while the session is on: what it leaves can be used from the next toggle on. */
static void test_owner_ends(void) {
    static owner over, others[OWNERS];
    for (int i = 0; i < 48; i++) {
        prof_desc desc;
        fill();
        describe(&desc, PROF_MODE_TRACE, 2, 250);
        start(&desc);
        owner_start(&over);
        CHECK(prof_stop() != NULL, "a trace");
        describe(&desc, (prof_mode)(i % 4), OWNERS, 8);
        start(&desc);
        owner_end(&over);
        toggle();
        for (int j = 0; j < OWNERS; j++) owner_start(others + j);
        (void)prof_dump(test_text_sink(&text));
        CHECK(prof_stop() != NULL, "a trace");
        EQUAL(prof_get_stats().dropped, 0);
        EQUAL(prof_get_stats().recorded, OWNERS);
        for (int j = 0; j < OWNERS; j++) owner_end(others + j);
    }
}

int main(void) {
    RUN(test_one_owner_stays);
    RUN(test_owner_over_states);
    RUN(test_owner_ends);
    test_text_clear(&text);
    return test_end();
}
