/* Threads that come, go, outlive sessions and fork. */
#include "../test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Helpers ---- */

typedef struct gate {                    /* lets its threads through when all have come */
    pthread_mutex_t mutex;
    pthread_cond_t all_here;
    int missing;
} gate;

static void gate_open(gate *g, int threads) {
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->all_here, NULL);
    g->missing = threads;
}

static void gate_pass(gate *g) {
    pthread_mutex_lock(&g->mutex);
    if (--g->missing == 0) pthread_cond_broadcast(&g->all_here);
    while (g->missing > 0) pthread_cond_wait(&g->all_here, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}

static int flag_get(int *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }
static void flag_set(int *flag, int value) { __atomic_store_n(flag, value, __ATOMIC_RELEASE); }

/* Of rounds all; of a sample some, fewer where ThreadSanitizer makes them long. */
static int rounds_of(int n) {
    return test_sample() == 1 ? n : TEST_TSAN ? n / 100 : n / 20;
}

static void run_threads(int n, void *(*body)(void *), void *user) {
    pthread_t threads[64];
    int i, made = 0;
    for (i = 0; i < n && i < 64; i++) made += pthread_create(&threads[i], NULL, body, user) == 0;
    for (i = 0; i < made; i++) pthread_join(threads[i], NULL);
    CHECK(made == n, "made %d threads of %d", made, n);
}

static prof_trace *stop_and_check(uint64_t zones) {
    prof_trace *trace = prof_stop();
    prof_stats stats = prof_get_stats(NULL);
    size_t count;
    test_events(trace, &count);
    test_tree(trace);
    if (!test_bad && (count != zones || stats.recorded != zones)) {
        test_fail(__FILE__, __LINE__, "zones");
        test_say("%lu events, %lu recorded, not %lu; dropped: %lu full, %lu threads",
                 (unsigned long)count, (unsigned long)stats.recorded, (unsigned long)zones,
                 (unsigned long)stats.dropped_full, (unsigned long)stats.dropped_threads);
    }
    return trace;
}

/* ---- Eight at once ---- */

enum { EACH = TEST_TSAN ? 1000 : 2000, PER_TURN = 4 };

static gate all_here;

static void *eight_body(void *user) {
    int i;
    (void)user;
    gate_pass(&all_here);
    for (i = 0; i < EACH; i++) {
        PROF_SCOPE("turn");
        PROF_BLOCK("first") { PROF_SCOPE("inner"); }
        prof_push(i % 2 ? "odd" : "even");
        prof_pop();
    }
    return NULL;
}

static void test_threads_eight(void) {
    prof_trace *trace;
    prof_average rows[8];
    size_t threads, count, i, of_thread[8];
    const prof_event *events;
    gate_open(&all_here, 8);
    EQUAL(prof_start(NULL), PROF_OK);
    PASS_ON(run_threads(8, eight_body, NULL));
    trace = stop_and_check(8 * EACH * PER_TURN);
    if (test_bad) return;
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).threads, 8);
    prof_threads(trace, &threads);
    EQUAL(threads, 8);
    EQUAL(prof_key_averages(trace, NULL, rows, 8), 5);
    for (i = 0; i < 5; i++)
        EQUAL(rows[i].count, rows[i].key[0] == 'o' || rows[i].key[0] == 'e' ? 4 * EACH : 8 * EACH);
    memset(of_thread, 0, sizeof of_thread);
    events = test_events(trace, &count);
    for (i = 0; i < count; i++) of_thread[events[i].thread]++;
    for (i = 0; i < 8; i++) EQUAL(of_thread[i], EACH * PER_TURN);
    PASS_ON(test_all_writers(trace));
}

/* ---- Names and numbers of threads ---- */

static void *named_body(void *user) {
    int *number = (int *)user;
    char name[100];
    snprintf(name, sizeof name, "worker %d", __atomic_fetch_add(number, 1, __ATOMIC_RELAXED));
    prof_set_thread_name(name);
    memset(name, 'x', sizeof name);
    PROF_BLOCK("work") { gate_pass(&all_here); }
    return NULL;
}

static void test_threads_named(void) {
    prof_trace *trace;
    const prof_thread_info *infos;
    size_t count, i, j;
    int number = 0;
    gate_open(&all_here, 4);
    EQUAL(prof_start(NULL), PROF_OK);
    PASS_ON(run_threads(4, named_body, &number));
    trace = stop_and_check(4);
    if (test_bad) return;
    infos = prof_threads(trace, &count);
    EQUAL(count, 4);
    for (i = 0; i < count; i++) {
        CHECK(infos[i].name && strncmp(infos[i].name, "worker ", 7) == 0 &&
                  strlen(infos[i].name) == 8,
              "thread %u is named '%s'", (unsigned)i, infos[i].name ? infos[i].name : "(null)");
        for (j = 0; j < i; j++) {
            CHECK(infos[i].id != infos[j].id, "two threads, one id");
            CHECK(strcmp(infos[i].name, infos[j].name) != 0, "two threads, one name");
        }
    }
}

static uint32_t own_id(void *user) {
    (void)user;
    return 4711;
}

static void test_threads_own_id(void) {
    prof_desc desc;
    size_t count;
    memset(&desc, 0, sizeof desc);
    desc.platform.thread_id = own_id;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") { PROF_SCOPE("inner"); }
    EQUAL(prof_threads(stop_and_check(2), &count)->id, 4711);
    EQUAL(count, 1);
}

/* ---- Thousands, each short ---- */

static void *short_body(void *user) {
    (void)user;
    PROF_BEGIN("life");
    PROF_BLOCK("work") { PROF_SCOPE("inner"); }
    PROF_END();
    return NULL;
}

static void many_short(prof_desc *desc, int rounds, int together) {
    int i;
    EQUAL(prof_start(desc), PROF_OK);
    for (i = 0; i < rounds; i++) PASS_ON(run_threads(together, short_body, NULL));
    stop_and_check(3u * (uint64_t)rounds * (uint64_t)together);
    if (test_bad) return;
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).unfinished, 0);
}

static void test_threads_short_lived(void) { many_short(NULL, test_sample() > 1 ? 125 : 625, 8); }

/* They hand their chunks on: an arena for a few threads holds the zones of a thousand. */
static void test_threads_short_lived_small_arena(void) {
    static uint64_t memory[3 << 17];     /* 3 MiB, 1 KiB a thread */
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 4;
    many_short(&desc, test_sample() > 1 ? 500 : 1500, 2);
}

/* ---- More than max_threads ---- */

static gate all_done;

static void *crowd_body(void *user) {
    int i;
    (void)user;
    gate_pass(&all_here);
    for (i = 0; i < 10; i++)
        PROF_BLOCK("zone") {             /* what is dropped takes its end with it */
            prof_push("inner");
            prof_pop();
        }
    prof_pop();                          /* of nothing */
    gate_pass(&all_done);                /* none goes before all have tried */
    return NULL;
}

static void test_threads_too_many(void) {
    prof_desc desc;
    prof_stats stats;
    memset(&desc, 0, sizeof desc);
    desc.max_threads = 2;
    gate_open(&all_here, 6);
    gate_open(&all_done, 6);
    EQUAL(prof_start(&desc), PROF_OK);
    PASS_ON(run_threads(6, crowd_body, NULL));
    PASS_ON(test_all_writers(stop_and_check(2 * 20)));
    stats = prof_get_stats(NULL);
    EQUAL(stats.threads, 2);
    EQUAL(stats.dropped_threads, 4 * 20);
    EQUAL(stats.dropped, 4 * 20);
    EQUAL(stats.unbalanced, 6);
    EQUAL(stats.healed + stats.unfinished, 0);
}

/* A zone of an older session was dropped: its end is one without a begin all the same. */
static gate no_state, new_session;

static void *stateless_body(void *user) {
    (void)user;
    PROF_BEGIN("dropped");
    gate_pass(&no_state);
    gate_pass(&new_session);
    PROF_END();
    PROF_BLOCK("new") {}
    PROF_END();
    return NULL;
}

static void test_threads_dropped_before(void) {
    prof_desc desc;
    pthread_t thread;
    memset(&desc, 0, sizeof desc);
    desc.max_threads = 1;
    gate_open(&no_state, 2);
    gate_open(&new_session, 2);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("main") {}
    EQUAL(pthread_create(&thread, NULL, stateless_body, NULL), 0);
    gate_pass(&no_state);
    stop_and_check(1);
    EQUAL(prof_get_stats(NULL).dropped_threads, 1);
    EQUAL(prof_start(&desc), PROF_OK);
    gate_pass(&new_session);
    pthread_join(thread, NULL);
    PASS_ON(stop_and_check(1));
    EQUAL(prof_get_stats(NULL).unbalanced, 2);
}

/* ---- Stops and starts while others run ---- */

static int finish;

static void deeper(int n) {
    PROF_SCOPE("deeper");
    if (n) deeper(n - 1);
}

static void *busy_body(void *user) {
    char name[24];
    unsigned i = 0;
    (void)user;
    while (!flag_get(&finish)) {
        PROF_SCOPE("loop");
        PROF_BLOCK("first") { deeper((int)(i % 5)); }
        snprintf(name, sizeof name, "name %u", i++ % 7);
        prof_push(name);
        prof_counter("i", (int64_t)i);
        PROF_BEGIN("leaf");
        PROF_END();
        prof_pop();
        if (i % 64 == 0) usleep(50);
    }
    return NULL;
}

/* What may be said of a trace cut out of running loops. */
static void cut_out(const prof_trace *trace, int threads) {
    prof_stats stats = prof_get_stats(NULL);
    size_t count, i, open = 0, partial = 0;
    const prof_event *events = test_events(trace, &count);
    PASS_ON(test_tree(trace));
    for (i = 0; i < count; i++) {
        partial += test_partial(events[i].flags);
        open += events[i].flags & PROF_EVENT_UNFINISHED && !test_partial(events[i].flags);
        CHECK(events[i].start_ns >= 0, "event %u starts before the session", (unsigned)i);
        if (events[i].depth) CHECK(strcmp(events[i].name, "loop") != 0, "a loop in a loop");
    }
    EQUAL(stats.recorded, count - partial);
    if (stats.summed) CHECK(stats.unfinished >= open, "%u", (unsigned)open);
    else EQUAL(stats.unfinished, open);
    CHECK(open <= (size_t)threads * 8, "%u zones unfinished", (unsigned)open);
    EQUAL(stats.healed, 0);
    EQUAL(stats.dropped, stats.dropped_full + stats.dropped_threads + stats.dropped_busy);
    CHECK(stats.bytes_used <= stats.bytes_total, "more bytes used than there are");
}

static void stop_while_running(int threads, int rounds, void *memory, size_t size) {
    pthread_t busy[8];
    uint64_t seen = 0;
    int i;
    flag_set(&finish, 0);
    for (i = 0; i < threads; i++) pthread_create(&busy[i], NULL, busy_body, NULL);
    rounds = rounds_of(rounds);
    for (i = 0; (i < rounds || !seen) && !test_bad; i++) {   /* !seen: they had no CPU yet */
        prof_desc desc;
        prof_trace *trace;
        memset(&desc, 0, sizeof desc);
        desc.memory = memory;
        desc.memory_size = memory ? size : 0;
        desc.max_threads = (uint32_t)threads + 1;
        desc.max_depth = 16;
        desc.keep = i % 3 == 2 ? PROF_KEEP_EVENTS : PROF_KEEP_ROWS;
        prof_result result = prof_start(&desc);
        if (result != PROF_OK) {
            test_fail(__FILE__, __LINE__, prof_strerror(result));
            break;
        }
        usleep((unsigned)(i % 10) * 300);
        trace = prof_stop();
        cut_out(trace, threads);
        if (!test_bad && i % 10 == 9) test_all_writers(trace);
        seen += prof_get_stats(NULL).recorded;
    }
    if (test_bad) test_say(" (round %d)", i);
    flag_set(&finish, 1);
    for (i = 0; i < threads; i++) pthread_join(busy[i], NULL);
}

static void test_threads_stop_while_running(void) { stop_while_running(4, 50, NULL, 0); }

/* The same threads, one buffer again and again: what a thread still holds is not given away. */
static void test_threads_same_buffer(void) {
    static uint64_t memory[1 << 17];
    stop_while_running(4, 100, memory, sizeof memory);
}

/* So small that it is full all the time. A thread without CPU since the stop still holds a chunk:
   three leave four gaps, the widest of which has to do. */
static void test_threads_full_buffer(void) {
    static uint64_t memory[1 << 15];
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.max_threads = 4;
    desc.max_depth = 16;
    desc.keep = PROF_KEEP_EVENTS;
    CHECK(prof_arena_size(&desc) < sizeof memory / 5, "needs %u bytes",
          (unsigned)prof_arena_size(&desc));
    stop_while_running(3, 50, memory, sizeof memory);
}

/* ---- A zone open in another thread at the stop ---- */

static gate opened, stopped, restarted, ended;

static void *waiting_body(void *user) {
    (void)user;
    PROF_BLOCK("outer") {
        PROF_BEGIN("inner");
        gate_pass(&opened);
        gate_pass(&stopped);
        gate_pass(&restarted);
        PROF_END();
    }
    PROF_BLOCK("new") { PROF_SCOPE("new inner"); }
    gate_pass(&ended);
    return NULL;
}

static void test_threads_open_elsewhere(void) {
    pthread_t thread;
    prof_trace *trace;
    const prof_event *outer, *inner;
    int64_t stop_time;
    gate_open(&opened, 2);
    gate_open(&stopped, 2);
    gate_open(&restarted, 2);
    gate_open(&ended, 2);
    EQUAL(prof_start(NULL), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, waiting_body, NULL), 0);
    gate_pass(&opened);
    stop_time = prof_now();
    trace = stop_and_check(2);
    if (test_bad) return;
    outer = test_find(trace, "outer", 0);
    inner = test_find(trace, "inner", 0);
    CHECK(outer && inner && outer->flags == PROF_EVENT_UNFINISHED, "zones are missing");
    EQUAL(inner->flags, PROF_EVENT_UNFINISHED);
    CHECK(inner->end_ns >= stop_time - 1000, "ends at %lld, stop at %lld",
          (long long)inner->end_ns, (long long)stop_time);
    EQUAL(inner->end_ns, outer->end_ns);
    EQUAL(prof_get_stats(NULL).unfinished, 2);
    gate_pass(&stopped);
    EQUAL(prof_start(NULL), PROF_OK);
    gate_pass(&restarted);
    gate_pass(&ended);
    trace = stop_and_check(2);
    pthread_join(thread, NULL);
    if (test_bad) return;
    CHECK(test_find(trace, "new inner", 0) != NULL, "the new zones are missing");
    EQUAL(prof_get_stats(NULL).unbalanced, 2);
}

/* The same with a counter as the thread's last record, of values that look like times. */
static int64_t counter_value;

static void *counting_body(void *user) {
    (void)user;
    PROF_BLOCK("outer") {
        PROF_BLOCK("child") { PROF_SCOPE("grandchild"); }
        prof_counter("c", counter_value);
        if (counter_value % 2) prof_instant("i");
        gate_pass(&opened);
        gate_pass(&stopped);
    }
    return NULL;
}

static void test_threads_open_after_counter(void) {
    int i;
    for (i = 0; i < 16; i++) {
        pthread_t thread;
        gate_open(&opened, 2);
        gate_open(&stopped, 2);
        counter_value = ((int64_t)i << 28) + i % 2;
        EQUAL(prof_start(NULL), PROF_OK);
        EQUAL(pthread_create(&thread, NULL, counting_body, NULL), 0);
        gate_pass(&opened);
        stop_and_check(3);
        gate_pass(&stopped);
        pthread_join(thread, NULL);
        if (test_bad) return;
        EQUAL(prof_get_stats(NULL).unfinished, 1);
    }
}

/* A thread that stands between the stores of a begin: the frame is on the stack, with its site, but
   when it began is not there yet. */
static void *half_begun_body(void *user) {
    prof__hot *hot;
    prof__frame *f;
    (void)user;
    PROF_BEGIN("outer");
    hot = prof__tls.hot;
    f = hot->top;
    PROF__STORE(hot->top, f + 1);
    PROF__STORE(f->site, f[-1].site);
    gate_pass(&opened);
    gate_pass(&stopped);
    return NULL;
}

static void test_threads_half_begun(void) {
    pthread_t thread;
    prof_trace *trace;
    gate_open(&opened, 2);
    gate_open(&stopped, 2);
    EQUAL(prof_start(NULL), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, half_begun_body, NULL), 0);
    gate_pass(&opened);
    trace = prof_get_stats(NULL).clock == PROF_CLOCK_CPU ? stop_and_check(1) : NULL;
    gate_pass(&stopped);
    pthread_join(thread, NULL);
    if (!trace) SKIP("begins are no stores here: the clock is not the CPU's");
}

/* ---- Ends of threads ---- */

static void *open_exit_body(void *user) {
    (void)user;
    PROF_BEGIN("open");
    PROF_BEGIN("open too");
    PROF_BLOCK("done") { PROF_SCOPE("inner"); }
    pthread_exit(NULL);
    return NULL;
}

static void test_threads_exit_open(void) {
    prof_trace *trace;
    const prof_event *open, *open_too;
    int64_t after;
    EQUAL(prof_start(NULL), PROF_OK);
    PASS_ON(run_threads(1, open_exit_body, NULL));
    after = prof_now();
    usleep(2000);
    trace = stop_and_check(4);
    if (test_bad) return;
    open = test_find(trace, "open", 0);
    open_too = test_find(trace, "open too", 0);
    CHECK(open && open_too, "zones are missing");
    EQUAL(open->flags, PROF_EVENT_UNFINISHED);
    EQUAL(open_too->flags, PROF_EVENT_UNFINISHED);
    CHECK(open->end_ns <= after + 1000, "ended at %lld, exit before %lld",
          (long long)open->end_ns, (long long)after);
    EQUAL(prof_get_stats(NULL).unfinished, 2);
}

/* Zones in a destructor that runs after prof's: the thread is gone, and they are dropped, since a
   state that such a thread took would stay its own in the arena, which is the caller's again. */
static pthread_key_t late_key;
static void late_zones(void *left) {     /* TSan's part of a thread ends after some rounds, too */
    PROF_BEGIN("late");
    PROF_END();
    if (!TEST_TSAN) pthread_setspecific(late_key, left);
}

static void *late_body(void *arg) {
    pthread_setspecific(late_key, &late_key);
    PROF_BEGIN("in time");
    PROF_END();
    return arg;
}

static void test_threads_exit_late(void) {
    static uint64_t memory[1 << 15];
    prof_desc desc = test_desc();
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    EQUAL(prof_start(NULL), PROF_OK);    /* makes prof's key */
    prof_stop();
    pthread_key_create(&late_key, late_zones);
    for (int i = 0; i < 3; i++) {
        prof_stats stats;
        EQUAL(prof_start(&desc), PROF_OK);
        PASS_ON(run_threads(1, late_body, NULL));
        CHECK(prof_stop() != NULL, "no trace");
        stats = prof_get_stats(NULL);
        EQUAL(stats.recorded, 1);
        EQUAL(stats.threads, 1);
        CHECK(stats.dropped_busy > 0, "late zones are not counted");
        prof_thread_end();
        memset(memory, 0xff, sizeof memory);
    }
    pthread_key_delete(late_key);
}

/* Ended by hand: its open zones end, it may begin anew, and another thread gets its place. */
static void test_threads_end_by_hand(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("open");
    test_time.tick += 10;
    PROF_BLOCK("done") { test_time.tick += 10; }
    prof_thread_end();
    test_time.tick += 10;
    prof_thread_end();
    PASS_ON(run_threads(1, short_body, NULL));
    PROF_BLOCK("again") { test_time.tick += 10; }
    trace = stop_and_check(2 + 3 + 1);
    if (test_bad) return;
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(test_find(trace, "open", 0)->end_ns, 20);
    EQUAL(test_find(trace, "open", 0)->flags, PROF_EVENT_UNFINISHED);
    EQUAL(test_find(trace, "again", 0)->depth, 0);
    EQUAL(test_find(trace, "again", 0)->start_ns, 30);
}

static void *start_and_stop_body(void *user) {
    *(prof_trace **)user = prof_stop();
    return NULL;
}

/* Session calls may come from any thread. */
static void test_threads_stop_elsewhere(void) {
    prof_trace *trace = NULL;
    size_t count;
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("mine") { PROF_SCOPE("inner"); }
    PROF_BEGIN("open");
    PASS_ON(run_threads(1, start_and_stop_body, &trace));
    CHECK(trace != NULL, "no trace");
    prof_events(trace, NULL, 0, &count);
    EQUAL(count, 3);
    EQUAL(prof_get_stats(NULL).unfinished, 1);
    PASS_ON(test_tree(trace));
}

/* ---- fork ---- */

/* What the child finds: 0 when all is right, else the number of the step that was not. */
static int child_steps(void) {
    prof_trace *trace;
    size_t count;
    PROF_END();                          /* the parent's zone */
    PROF_BLOCK("child") { PROF_SCOPE("inner"); }
    prof_push("child");
    prof_pop();
    prof_instant("child");
    if (prof_start(NULL) != PROF_OK) return 1;
    PROF_BLOCK("of the child") { PROF_SCOPE("inner"); }
    trace = prof_stop();
    if (!trace) return 2;
    prof_events(trace, NULL, 0, &count);
    if (count != 2 || !test_find(trace, "of the child", 0)) return 3;
    test_tree(trace);
    return test_bad ? 4 : 0;
}

static void fork_and_check(prof_desc *desc) {
    prof_trace *trace;
    pid_t child;
    int status = -1;
    EQUAL(prof_start(desc), PROF_OK);
    PROF_BEGIN("around");
    PROF_BLOCK("before") { PROF_SCOPE("inner"); }
    fflush(stdout);
    child = fork();
    CHECK(child >= 0, "cannot fork");
    if (child == 0) _exit(child_steps());
    PROF_BLOCK("meanwhile") { PROF_SCOPE("inner"); }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status), "the child died: status %d", status);
    EQUAL(WEXITSTATUS(status), 0);
    PROF_BLOCK("after") { PROF_SCOPE("inner"); }
    PROF_END();
    trace = stop_and_check(7);
    if (test_bad) return;
    CHECK(test_find(trace, "child", 0) == NULL, "the child's zone is in the parent's trace");
    EQUAL(test_find(trace, "around", 0)->flags, 0);
    EQUAL(test_find(trace, "after", 0)->depth, 1);
    EQUAL(prof_get_stats(NULL).unbalanced, 0);
}

static void test_fork(void) { fork_and_check(NULL); }

/* The child's first session, when the parent had none open. */
static void test_fork_without_session(void) {
    pid_t child;
    int status = -1;
    fflush(stdout);
    child = fork();
    CHECK(child >= 0, "cannot fork");
    if (child == 0) _exit(child_steps());
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %d", status);
}

/* Parent and child share this arena's pages: what the child wrote into it would be seen. */
static void test_fork_shared_memory(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory_size = 1 << 20;
    desc.memory = mmap(NULL, desc.memory_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);
    if (desc.memory == MAP_FAILED) SKIP("no shared memory");
    fork_and_check(&desc);
    prof_thread_end();
    munmap(desc.memory, desc.memory_size);
}

/* ---- Signals ---- */

static volatile sig_atomic_t signals_seen;

static void mark_in_handler(int number) {
    PROF_SCOPE("handler");
    (void)number;
    signals_seen = signals_seen + 1;
}

static void signals_every(int us) {
    struct itimerval t;
    memset(&t, 0, sizeof t);
    t.it_value.tv_usec = t.it_interval.tv_usec = us;
    signal(SIGALRM, us ? mark_in_handler : SIG_IGN);
    setitimer(ITIMER_REAL, &t, NULL);
}

/* A handler's zone may be lost or displace another's record; the report stays whole. */
static void test_signals(void) {
    size_t count, i, known = 0;
    const prof_event *events;
    prof_trace *trace;
    const size_t zones = 2 * (size_t)rounds_of(150000);
    size_t n;
    EQUAL(prof_start(NULL), PROF_OK);
    signals_every(300);
    for (n = 0; n < zones / 2; n++) {
        PROF_SCOPE("outer");
        PROF_SCOPE("inner");
    }
    signals_every(0);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < count; i++) {
        CHECK(events[i].name != NULL, "event %u has no name", (unsigned)i);
        CHECK(events[i].parent == PROF_NONE || events[i].parent < i, "event %u before its parent",
              (unsigned)i);
        if (strcmp(events[i].name, "outer") == 0 || strcmp(events[i].name, "inner") == 0) known++;
    }
    CHECK(known + (size_t)signals_seen * 700 >= zones, "%u of %u zones", (unsigned)known,
          (unsigned)zones);
    test_all_writers(trace);
}

/* ---- A stop in the midst of an end ---- */

static void *nested_body(void *user) {
    (void)user;
#if defined(__linux__)
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
#endif
    while (!flag_get(&finish)) {
        int i;
        PROF_SCOPE("turn");
        for (i = 0; i < 3; i++) {
            PROF_SCOPE("mid");
            PROF_BLOCK("low") { PROF_SCOPE("deep"); }
        }
    }
    return NULL;
}

/* What ends a moment after the stop still lies within what is open then. */
static void test_threads_stop_within_an_end(void) {
    static char memory[3 << 20];
    pthread_t thread[4];
    prof_desc desc;
    int i, n;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 8;
    flag_set(&finish, 0);
    for (i = 0; i < 4; i++) pthread_create(thread + i, NULL, nested_body, NULL);
    for (n = 0; n < 200 && !test_bad; n++) {
        const prof_event *events;
        size_t count, open = 0, j;
        if (prof_start(&desc) != PROF_OK) test_fail(__FILE__, __LINE__, "prof_start");
        usleep((unsigned)(n % 4) * 70);
        events = test_events(prof_stop(), &count);
        for (j = 0; j < count; j++) open += events[j].flags == PROF_EVENT_UNFINISHED;
        if (prof_get_stats(NULL).unfinished < open || prof_get_stats(NULL).lost ||
            (prof_get_stats(NULL).unfinished > open && !prof_get_stats(NULL).summed)) {
            test_fail(__FILE__, __LINE__, "unfinished");
            test_say("%u, events %u, lost %u (session %d)",
                     (unsigned)prof_get_stats(NULL).unfinished, (unsigned)open,
                     (unsigned)prof_get_stats(NULL).lost, n);
        }
    }
    flag_set(&finish, 1);
    for (i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

/* ---- A thread stalled at any instruction ---- */

static int stalls, stalled, released;    /* stalls: so often */

/* Holds its thread until main lets it go; not for ever: it may hold the lock that main wants. */
static void stall(int number) {
    int i;
    (void)number;
    flag_set(&stalled, 1);
    flag_set(&stalls, stalls + 1);
    for (i = 0; i < 2000 && !flag_get(&released); i++) usleep(100);
    flag_set(&stalled, 0);
}

static void *stalled_body(void *user) {
    (void)user;
    while (!flag_get(&finish)) {
        PROF_SCOPE("loop");
        PROF_BLOCK("a") { PROF_BLOCK("b") {} }
        PROF_BEGIN("c");
        PROF_END();
    }
    return NULL;
}

/* Stop, read, start again, record, stop and read while the other thread stands still somewhere. */
static void test_threads_stalled(void) {
    static char memory[1 << 20];
    pthread_t thread;
    prof_desc desc;
    int i, rounds = test_sample() > 1 ? TEST_TSAN ? 3 : 10 : 60;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 4;
    flag_set(&stalls, 0);
    signal(SIGUSR1, stall);
    flag_set(&finish, 0);
    pthread_create(&thread, NULL, stalled_body, NULL);
    for (i = 0; i < rounds && !test_bad; i++) {
        flag_set(&released, 0);
        if (prof_start(&desc) != PROF_OK) test_fail(__FILE__, __LINE__, "prof_start");
        usleep((unsigned)(i % 7) * 50);
        pthread_kill(thread, SIGUSR1);
        while (flag_get(&stalls) <= i) usleep(100);
        cut_out(prof_stop(), 1);
        if (prof_start(&desc) != PROF_OK) test_fail(__FILE__, __LINE__, "prof_start again");
        PROF_BLOCK("main") {}
        cut_out(prof_stop(), 1);
        if (!test_bad && prof_get_stats(NULL).recorded < 1)
            test_fail(__FILE__, __LINE__, "no main");
        flag_set(&released, 1);
        while (flag_get(&stalled)) usleep(100);
    }
    flag_set(&finish, 1);
    pthread_join(thread, NULL);
}

int main(void) {
    RUN(test_signals);
    RUN(test_threads_stop_within_an_end);
    RUN(test_threads_stalled);
    RUN(test_threads_eight);
    RUN(test_threads_named);
    RUN(test_threads_own_id);
    RUN(test_threads_short_lived);
    RUN(test_threads_short_lived_small_arena);
    RUN(test_threads_too_many);
    RUN(test_threads_dropped_before);
    RUN(test_threads_stop_while_running);
    RUN(test_threads_same_buffer);
    RUN(test_threads_full_buffer);
    RUN(test_threads_open_elsewhere);
    RUN(test_threads_open_after_counter);
    RUN(test_threads_half_begun);
    RUN(test_threads_exit_open);
    RUN(test_threads_exit_late);
    RUN(test_threads_end_by_hand);
    RUN(test_threads_stop_elsewhere);
    RUN(test_fork);
    RUN(test_fork_without_session);
    RUN(test_fork_shared_memory);
    return test_end();
}
