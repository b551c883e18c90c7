/* What sessions, windows and toggles leave to those after them: memory of which threads still own a
   part, with another layout; states, contexts, records of windows that accumulate. */
#include "../test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWNERS = 8, ZONES = 10, ROWS = 16 };

static uint64_t memory[(4 << 20) / 8];
static test_text text;                   /* what streams and dumps write */
static uint32_t number = 1;              /* of the session, or of its part since a toggle */

/* A thread that records one zone, or more, and keeps its state until it may go. */
typedef struct owner { pthread_t thread; int owns, may_go, more; } owner;

static int get(const int *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static void set(int *p, int n) { __atomic_store_n(p, n, __ATOMIC_SEQ_CST); }

static void *own(void *user) {
    owner *o = (owner *)user;
    for (int i = 0; i <= o->more; i++) PROF_BLOCK("owner") {}
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
        s = prof_get_stats(NULL);
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
    s = prof_get_stats(NULL);
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
            desc.keep = PROF_KEEP_RECORDS;
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

/* The owner goes on in a chunk behind the records, of 12 bytes each, of a thread that ended. */
static void test_owner_begins_anywhere(void) {
    static owner first, stays;
    for (int i = 0; i < 16; i++) {
        prof_desc desc;
        describe(&desc, PROF_MODE_TRACE, 4, 0);
        start(&desc);
        first.more = i / 4;
        owner_start(&first);
        owner_end(&first);
        owner_start(&stays);
        CHECK(prof_stop() != NULL, "a trace");
        describe(&desc, (prof_mode)(i % 4), 4, 0);
        start(&desc);
        PASS_ON(record(1));
        PASS_ON(stop(1));
        owner_end(&stays);
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
        EQUAL(prof_get_stats(NULL).dropped, 0);
        EQUAL(prof_get_stats(NULL).recorded, OWNERS);
        for (int j = 0; j < OWNERS; j++) owner_end(others + j);
    }
}

/* Too little may be left: then the session says so, and tells of no more than there is. */
static void test_too_little_left(void) {
    static owner owners[OWNERS];
    int failed = 0, step = test_sample() > 1 ? 3 : 1;   /* each mode still */
    for (int n = 0; n < 80; n += step) {
        prof_desc desc;
        prof_result result;
        uint32_t threads = 1u << 16;
        describe(&desc, PROF_MODE_TRACE, 2 * OWNERS, 0);
        desc.keep = PROF_KEEP_RECORDS;
        start(&desc);
        for (int i = 0; i < OWNERS; i++) owner_start(owners + i);
        for (int i = 0; i + 1 < OWNERS; i++) owner_end(owners + i);
        CHECK(prof_stop() != NULL, "a trace");
        do describe(&desc, (prof_mode)(n % 4), --threads, 8);
        while (prof_arena_size(&desc) > sizeof memory);   /* all of it would be enough */
        desc.max_threads -= (uint32_t)n / 4;
        result = prof_start(&desc);
        CHECK(result == PROF_OK || result == PROF_ERROR_MEMORY, "%s", prof_strerror(result));
        CHECK(prof_get_stats(NULL).bytes_used <= prof_get_stats(NULL).bytes_total,
              "%d: %zu bytes", n,
              prof_get_stats(NULL).bytes_used);
        failed += result != PROF_OK;
        if (result == PROF_OK) CHECK(prof_stop() != NULL, "a trace");
        owner_end(owners + OWNERS - 1);
    }
    CHECK(failed > 0, "there was always enough");
}

/* Where threads of all sessions before stay, their chunks amid records, a session still has most of
   the arena. */
static void test_owners_gather(void) {
    static owner owners[OWNERS];
    for (int ring = 0; ring < 2; ring++) {
        uint64_t first = 0;
        for (int i = 0; i < OWNERS; i++) {
            prof_desc desc;
            prof_stats s;
            describe(&desc, ring ? PROF_MODE_RING : PROF_MODE_TRACE, 0, 8u << i % 3);
            desc.keep = PROF_KEEP_RECORDS;
            desc.memory_size = 200000;
            start(&desc);
            owners[i].more = 3000;
            owner_start(owners + i);
            for (int k = 0; k < 20000; k++) PROF_BLOCK("fill") {}
            CHECK(prof_stop() != NULL, "a trace");
            s = prof_get_stats(NULL);
            if (!i) first = s.recorded;
            CHECK(s.recorded >= first / 4 * 3, "%u zones beside %d threads, %u beside none",
                  (unsigned)s.recorded, i, (unsigned)first);
            prof_thread_end();
        }
        for (int i = 0; i < OWNERS; i++) owner_end(owners + i);
    }
}

/* Parts of an arena with a thread of an earlier session in between have no room for the rows of all
   sites, which all of it would have. */
#define SITE(name) PROF_BLOCK(name) {}
#define TEN(name) SITE(name "0") SITE(name "1") SITE(name "2") SITE(name "3") SITE(name "4") \
    SITE(name "5") SITE(name "6") SITE(name "7") SITE(name "8") SITE(name "9")
#define HUNDRED(name) TEN(name "0") TEN(name "1") TEN(name "2") TEN(name "3") TEN(name "4") \
    TEN(name "5") TEN(name "6") TEN(name "7") TEN(name "8") TEN(name "9")
static void test_sites_have_no_room(void) {
    static owner stays;
    char *middle = (char *)memory + sizeof memory / 2;
    prof_desc desc;
    describe(&desc, PROF_MODE_TRACE, 1, 4);
    desc.memory_size = prof_arena_size(&desc);
    desc.memory = middle - desc.memory_size / 2;
    start(&desc);
    owner_start(&stays);
    CHECK(prof_stop() != NULL, "a trace");
    start(NULL);
    HUNDRED("a") HUNDRED("b") HUNDRED("c") HUNDRED("d")
    CHECK(prof_stop() != NULL, "a trace");
    for (int mode = 0; mode < 4; mode++) {
        describe(&desc, (prof_mode)mode, 1, 4);
        desc.memory_size = prof_arena_size(&desc);
        desc.memory = middle - desc.memory_size / 2;
        EQUAL(prof_start(&desc), PROF_ERROR_MEMORY);
    }
    owner_end(&stays);
}

/* ---- States ---- */

/* The child's threads share no state: not even the one that the forking thread had. */
static int child(const prof_desc *desc) {
    static owner other;
    if (prof_start(desc) != PROF_OK) return 2;
    owner_start(&other);
    zones(NULL);
    owner_end(&other);
    if (!prof_stop()) return 3;
    return prof_get_stats(NULL).recorded == 1 + ZONES && prof_get_stats(NULL).threads == 2 ? 0 : 4;
}

static void test_fork(void) {
    prof_desc desc;
    int status = -1;
    pid_t pid;
    describe(&desc, PROF_MODE_TRACE, 4, 8);
    start(&desc);
    zones(NULL);
    pid = fork();
    if (pid == 0) _exit(child(&desc));
    EQUAL(waitpid(pid, &status, 0), pid);
    EQUAL(status, 0);
    CHECK(prof_stop() != NULL, "a trace");
}

static int turn;                         /* even: the scheduler's thread's */

static void *schedule(void *user) {
    for (int i = 0; i < 12; i++) {
        while (get(&turn) != 2 * i) sched_yield();
        (void)prof_context_switch(NULL);
        PROF_BLOCK("fiber") {}
        set(&turn, 2 * i + 1);
    }
    return user;
}

/* A thread that changes contexts first thing after a toggle keeps no state of before. */
static void test_contexts_over_toggles(void) {
    prof_desc desc;
    pthread_t thread;
    describe(&desc, PROF_MODE_TRACE, 4, 8);
    set(&turn, 0);
    start(&desc);
    EQUAL(pthread_create(&thread, NULL, schedule, NULL), 0);
    for (int i = 0; i < 12; i++) {
        while (get(&turn) != 2 * i + 1) sched_yield();
        toggle();
        set(&turn, 2 * i + 2);
    }
    pthread_join(thread, NULL);
    CHECK(prof_stop() != NULL, "a trace");
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded, 12);
    for (size_t i = 0; i < sizeof memory / 8; i++) memory[i] = UINT64_MAX;   /* all have ended */
    start(NULL);
    CHECK(prof_stop() != NULL, "a trace");
}

static void test_context_is_no_thread(void) {
    prof_desc desc = test_desc();
    const prof_trace *trace;
    void *back;
    start(&desc);
    PROF_BLOCK("before") {}
    toggle();
    back = prof_context_switch(NULL);
    CHECK(back == NULL, "there was none");
    PROF_BLOCK("context") {}
    back = prof_context_switch(NULL);
    PROF_BLOCK("another") {}
    prof_thread_end();
    PROF_BLOCK("thread") {}
    trace = prof_stop();
    CHECK(test_find(trace, "context", 0)->thread != test_find(trace, "thread", 0)->thread &&
          test_find(trace, "another", 0)->thread != test_find(trace, "thread", 0)->thread &&
          test_find(trace, "another", 0)->thread != test_find(trace, "context", 0)->thread,
          "two of one thread");
    EQUAL(test_find(trace, "before", 0)->thread, test_find(trace, "thread", 0)->thread);
}

/* ---- Windows ---- */

static void test_sums_never_recorded(void) {
    prof_desc desc;
    describe(&desc, PROF_MODE_AGGREGATE, 4, 8);
    desc.schedule.wait = 5;
    desc.schedule.active = 1;
    start(&desc);
    CHECK(prof_stop() != NULL, "a trace");
    EQUAL(prof_get_stats(NULL).recorded, 0);
}

/* What the first window recorded stays as it is. */
static void test_ring_over_windows(void) {
    prof_desc desc = test_desc();
    const prof_event *events;
    size_t count, others = 0;
    test_time.step = 0x1010101;          /* no byte of a record is 0 */
    desc.mode = PROF_MODE_RING;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.schedule.active = 1;
    desc.acc_events = true;
    start(&desc);
    for (int i = 0; i < 60000; i++) PROF_BLOCK("zone") {}
    (void)prof_step();
    events = prof_events(prof_stop(), NULL, 0, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(events[i].name, "zone") != 0) others++;
        else EQUAL(events[i].end_ns - events[i].start_ns, 0x1010101);
    CHECK(count > 1000 && others <= 2, "%zu of another name", others);
    EQUAL(prof_get_stats(NULL).lost, 0);
}

static owner streamer;

static void streamer_ends(void *user, prof_trace *trace) {
    (void)user, (void)trace;
    if (!get(&streamer.may_go)) owner_end(&streamer);
}

/* A thread that ended between two windows leaves its ring to the next; wherever it was in it. */
static void test_stream_over_windows(void) {
    for (streamer.more = 0; streamer.more < 700; streamer.more += 7) {
        prof_desc desc;
        pthread_t thread;
        size_t before;
        describe(&desc, PROF_MODE_STREAM, 2, 8);
        desc.schedule.active = 1;
        desc.acc_events = true;
        desc.on_trace_ready = streamer_ends;
        start(&desc);
        owner_start(&streamer);
        (void)prof_step();
        before = text.size;
        EQUAL(pthread_create(&thread, NULL, zones, NULL), 0);
        pthread_join(thread, NULL);
        EQUAL(prof_flush(), PROF_OK);
        CHECK(text.size > before, "%d: nothing was written", streamer.more);
        CHECK(prof_stop() != NULL, "a trace");
        EQUAL(prof_get_stats(NULL).dropped, 0);
        EQUAL(prof_get_stats(NULL).recorded, streamer.more + 1 + ZONES);
    }
}

/* Each window is an array of its own. */
static void test_chrome_over_windows(void) {
    prof_desc desc;
    describe(&desc, PROF_MODE_STREAM, 2, 8);
    desc.stream_format = PROF_STREAM_CHROME;
    desc.schedule.active = 1;
    desc.schedule.repeat = 2;
    desc.acc_events = true;
    start(&desc);
    zones(NULL);
    (void)prof_step();
    zones(NULL);
    (void)prof_step();
    CHECK(prof_stop() != NULL, "a trace");
    CHECK(test_text_write(&text, "", 1), "no memory");
    CHECK(strstr(text.data, "]\n["), "one array");
    CHECK(!strstr(text.data, "]\n,"), "more after the array");
}

/* Toggles take no room from what is submitted. */
static void test_submit_after_toggles(void) {
    prof_desc desc;
    prof_event event;
    describe(&desc, PROF_MODE_TRACE, 2, 64);
    start(&desc);
    for (int i = 0; i < 1200; i++) {
        zones(NULL);
        toggle();
    }
    zones(NULL);
    memset(&event, 0, sizeof event);
    event.name = "outside";
    event.end_ns = 1;
    EQUAL(prof_submit(&event, 1), PROF_OK);
    CHECK(prof_stop() != NULL, "a trace");
}

int main(void) {
    RUN(test_one_owner_stays);
    RUN(test_owner_begins_anywhere);
    RUN(test_owner_over_states);
    RUN(test_owner_ends);
    RUN(test_owners_gather);
    RUN(test_too_little_left);
    RUN(test_fork);
    RUN(test_contexts_over_toggles);
    RUN(test_context_is_no_thread);
    RUN(test_sums_never_recorded);
    RUN(test_ring_over_windows);
    RUN(test_stream_over_windows);
    RUN(test_chrome_over_windows);
    RUN(test_submit_after_toggles);
    RUN(test_sites_have_no_room);        /* last: sites stay */
    test_text_clear(&text);
    return test_end();
}
