/* Threads that are cancelled, or leave by siglongjmp or pthread_exit, wherever they are: no call is
   a cancellation point, nothing hangs, and what other threads record afterwards is there. */
#include "../test.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#ifdef __linux__
#  include <sys/syscall.h>
#  include <ucontext.h>
#endif
#include <unistd.h>

enum { WORKERS = 3, AFTER = 100, TRACED = PROF_MODE_AGGREGATE + 1, MODES };
static const char *const modes[MODES] = { "trace", "ring", "stream", "aggregate", "PROF_TRACE" };
static char memory[1 << 20];
static bool asynchronous;
static uint32_t cancelled, within;       /* workers that were; of them, in a call */

/* A sink that is a cancellation point. */
static bool take(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    if (size % 5 == 0) usleep(200);
    pthread_testcancel();
    return true;
}

typedef struct worker {
    pthread_t thread;
    uint32_t seed;
    volatile bool inside;                /* in a call of prof.h */
    int number;
} worker;

static void over(void *of) {
    const worker *w = (const worker *)of;
    __atomic_fetch_add(&cancelled, 1, __ATOMIC_RELAXED);
    if (w->inside && !asynchronous) __atomic_fetch_add(&within, 1, __ATOMIC_RELAXED);
}

static uint32_t next(worker *w) {
    w->seed = w->seed * 1664525u + 1013904223u;
    return w->seed >> 8;
}

static void fresh_name(worker *w) {
    char name[40];
    sprintf(name, "name %d %u", w->number, (unsigned)(next(w) % 2000));
    prof_push(name);
    prof_pop();
}

static void deep(int more) {
    PROF_BEGIN("deep");
    if (more) deep(more - 1);
    PROF_END();
}

static void call(worker *w) {
    static const prof_sink sink = { take, NULL };
    prof_average rows[8];
    void *context;
    int i;
    switch (next(w) % 24) {
    case 0: fresh_name(w); break;
    case 1: deep((int)(next(w) % 70)); break;
    case 2: prof_instant("instant"); break;
    case 3: prof_counter("counter", (int64_t)next(w)); break;
    case 4: PROF_BLOCK("with") prof_set_arg("key", "text"); break;
    case 5: (void)prof_flush(); break;
    case 6: (void)prof_get_stats(NULL); break;
    case 7: (void)prof_dump(sink); break;
    case 8: (void)prof_snapshot(rows, 8); break;
    case 9: prof_set_thread_name("worker"); break;
    case 10: prof_thread_end(); break;
    case 11: prof_async_end(prof_async_begin("range")); break;
    case 12:
        context = prof_context_switch(NULL);
        PROF_BLOCK("context") {}
        (void)prof_context_switch(context);
        break;
    case 13: (void)prof_step(); break;
    default: for (i = 0; i < 300; i++) PROF_BLOCK("zone") {}
    }
}

static void *work(void *of) {
    worker *w = (worker *)of;
    int before;
    pthread_cleanup_push(over, w);
    if (asynchronous) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    for (;;) {
        w->inside = true;
        call(w);
        w->inside = false;
        pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void *record_after(void *unused) {
    int i;
    for (i = 0; i < AFTER; i++) PROF_BLOCK("after") {}
    return unused;
}

static prof_result start(int mode) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    if (mode == TRACED) {
        setenv("PROF_TRACE", TEST_OUT "/cancel.raw", 1);
        setenv("PROF_MEMORY", "256K", 1);
        return prof_start_env(NULL);
    }
    desc.mode = (prof_mode)mode;
    desc.memory = memory;
    desc.memory_size = test_random(2) ? sizeof memory : sizeof memory / 4;
    desc.stream.write = mode == PROF_MODE_STREAM ? take : NULL;
    return prof_start(&desc);
}

static uint64_t told_after(const prof_trace *trace) {
    static prof_average rows[1 << 13];
    size_t n = prof_key_averages(trace, NULL, rows, sizeof rows / sizeof *rows), i;
    uint64_t count = 0;
    for (i = 0; i < n && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].key, "after") == 0) count += (uint64_t)rows[i].count;
    return count;
}

/* Zones that are recorded or counted so far. */
static uint64_t told_now(prof_stats *stats) {
    *stats = prof_get_stats(NULL);
    return stats->recorded + stats->summed + stats->dropped;
}

static void one_round(int mode) {
    static worker workers[WORKERS];
    pthread_t last;
    prof_stats stats;
    prof_trace *trace;
    uint64_t told;
    int i;
    EQUAL(start(mode), PROF_OK);
    for (i = 0; i < WORKERS; i++) {
        workers[i].seed = test_random(1u << 30);
        workers[i].number = i;
        EQUAL(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    usleep(test_random(4000));
    for (i = 0; i < WORKERS; i++) pthread_cancel(workers[i].thread);
    for (i = 0; i < WORKERS; i++) pthread_join(workers[i].thread, NULL);
    told = told_now(&stats);
    EQUAL(pthread_create(&last, NULL, record_after, NULL), 0);
    pthread_join(last, NULL);
    told = told_now(&stats) - told;
    if (mode != PROF_MODE_RING)
        CHECK(told >= AFTER, "%s: %u after", modes[mode], (unsigned)told);
    if (mode == TRACED) {
        EQUAL(prof_stop_env(), PROF_OK);
    } else {
        trace = prof_stop();
        CHECK(trace, "%s: nothing was stopped", modes[mode]);
        if (mode == PROF_MODE_AGGREGATE && !stats.dropped && !stats.others)
            EQUAL(told_after(trace), AFTER);
    }
}

static void rounds(int count) {
    int i, mode;
    cancelled = within = 0;
    alarm(60 + 2 * (unsigned)count);     /* a hang is a failure, too */
    for (i = 0; i < count; i++)
        for (mode = 0; mode < MODES; mode++) PASS_ON(one_round(mode));
    alarm(0);
    EQUAL(within, 0);
    EQUAL(cancelled, count * MODES * WORKERS);
}

static void test_cancelled(void) {
    asynchronous = false;
    rounds(test_sample() > 1 ? 3 : 300);
}

static void test_cancelled_anywhere(void) {
    if (TEST_SANITIZED) SKIP("a sanitizer has locks of its own");
    asynchronous = true;
    rounds(test_sample() > 1 ? 3 : 300);
    asynchronous = false;
}

#if defined(__GLIBC__) && defined(SYS_rt_sigprocmask)
/* ---- an asynchronous cancel that was sent before the call, and comes within it ---- */

static volatile int step;                /* 1: the worker is ready, 2: it is cancelled, 3: calls */
static volatile bool came;               /* it may have come */
static volatile bool began, survived;    /* a callback of the worker; and that did not end it */
static pthread_t comes_to;

/* glibc's functions leave its own signal alone. */
static const uint64_t cancel_signal = (uint64_t)1 << (32 - 1);

static void let_it_come(int number, siginfo_t *info, void *context) {
    ucontext_t *u = (ucontext_t *)context;
    (void)number;
    (void)info;
    came = true;
    memset(&u->uc_sigmask, 0, sizeof cancel_signal);
}

/* glibc has it come within a system call. */
static void await_it(void) {
    if (began || !pthread_equal(pthread_self(), comes_to)) return;
    began = true;
    while (!came) usleep(50000);
    survived = true;
}

static bool comes_in_sink(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    (void)size;
    await_it();
    return true;
}

static uint32_t comes_in_attach(void *user) {
    (void)user;
    await_it();
    return 7;
}

static void *wait_for_it(void *in_attach) {
    int before;
    comes_to = pthread_self();
    if (!in_attach) PROF_BLOCK("first") {}
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &cancel_signal, NULL, sizeof cancel_signal);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    step = 1;
    while (step < 2) sched_yield();
    step = 3;
    if (in_attach) PROF_BLOCK("first") {}
    else (void)prof_flush();
    for (;;) pthread_testcancel();
    return NULL;
}

static void on_its_way(bool in_attach) {
    prof_desc desc;
    pthread_t t;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_STREAM;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.stream.write = comes_in_sink;
    if (in_attach) desc.platform.thread_id = comes_in_attach;
    EQUAL(prof_start(&desc), PROF_OK);
    step = 0;
    came = began = survived = false;
    alarm(60);
    pthread_create(&t, NULL, wait_for_it, in_attach ? &t : NULL);
    while (step < 1) sched_yield();
    pthread_cancel(t);
    step = 2;
    while (step < 3) sched_yield();
    usleep(10000);                       /* or it ends before its call, and nothing is tested */
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    CHECK(began == survived, "%s: the thread ended in it", in_attach ? "attaching" : "the sink");
    EQUAL(prof_flush(), PROF_OK);
    CHECK(prof_stop(), "nothing was stopped");
    alarm(0);
}

static void test_cancel_on_its_way(void) {
    struct sigaction action;
    int i;
    if (TEST_SANITIZED) SKIP("a sanitizer has locks of its own");
    memset(&action, 0, sizeof action);
    action.sa_sigaction = let_it_come;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, NULL);
    for (i = 0; i < 10; i++) PASS_ON(on_its_way(i & 1));
}
#else
static void test_cancel_on_its_way(void) { SKIP("another C library"); }
#endif

/* ---- a stream's sink that its thread leaves ---- */

static sigjmp_buf out;
static int calls, leaves_at;
static bool exits;
static volatile bool leaves;             /* this thread does */
static pthread_t leaver;

static bool take_or_leave(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    (void)size;
    if (!leaves || !pthread_equal(leaver, pthread_self()) || ++calls != leaves_at) return true;
    if (exits) pthread_exit(NULL);
    siglongjmp(out, 1);
}

static void zones(const char *name) {
    int i;
    for (i = 0; i < 50000; i++) {
        prof_push(name);
        prof_pop();
    }
}

static void *leave(void *unused) {
    leaver = pthread_self();
    calls = 0;
    leaves = true;
    if (!sigsetjmp(out, 1)) zones("leaves");
    leaves = false;
    zones("goes on");
    return unused;
}

static void *others(void *unused) {
    zones("another");
    return unused;
}

static void left(int at, bool by_exit) {
    prof_desc desc;
    prof_stats stats;
    pthread_t t;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_STREAM;
    desc.memory = memory;
    desc.memory_size = 256 << 10;
    desc.stream.write = take_or_leave;
    EQUAL(prof_start(&desc), PROF_OK);
    leaves_at = at;
    exits = by_exit;
    alarm(60);
    pthread_create(&t, NULL, leave, NULL);
    pthread_join(t, NULL);
    EQUAL(calls >= at, 1);
    pthread_create(&t, NULL, others, NULL);
    pthread_join(t, NULL);
    CHECK(prof_stop(), "nothing was stopped");
    alarm(0);
    stats = prof_get_stats(NULL);
    EQUAL(stats.dropped, 0);
    CHECK(stats.recorded >= (by_exit ? 50000u : 100000u), "%u zones", (unsigned)stats.recorded);
}

static void test_jumps_out_of_sink(void) {
    int at;
    for (at = 1; at <= 7; at += 3) PASS_ON(left(at, false));
}

static void test_exits_from_sink(void) {
    int at;
    for (at = 1; at <= 7; at += 3) PASS_ON(left(at, true));
}

/* ---- a signal handler on a stack that is a part of the thread's own ---- */

enum { OUTER = 30000, HANDLED = 50 };
static int in_sink, again, handled;

static void handle(int signal) {
    handled += signal == SIGUSR1;
    for (int i = 0; i < HANDLED; i++) PROF_BLOCK("handled") {}
    (void)prof_flush();
}

static bool take_signal(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    again += in_sink++;
    raise(SIGUSR1);
    in_sink = 0;
    return true;
}

/* The sink is not left, though the handler is further out than it: nobody enters it again. */
static void test_handler_in_sink(void) {
    char on_stack[1 << 16];
    struct sigaction action;
    stack_t stack, before;
    prof_desc desc;
    prof_stats stats;
    memset(&desc, 0, sizeof desc);
    memset(&action, 0, sizeof action);
    memset(&stack, 0, sizeof stack);
    desc.mode = PROF_MODE_STREAM;
    desc.memory = memory;
    desc.memory_size = 256 << 10;
    desc.stream.write = take_signal;
    stack.ss_sp = on_stack;
    stack.ss_size = sizeof on_stack;
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    EQUAL(sigaltstack(&stack, &before), 0);
    sigaction(SIGUSR1, &action, NULL);
    EQUAL(prof_start(&desc), PROF_OK);
    handled = again = 0;
    for (int i = 0; i < OUTER; i++) PROF_BLOCK("outer") {}
    EQUAL(prof_flush(), PROF_OK);
    stats = prof_get_stats(NULL);
    EQUAL(stats.recorded + stats.dropped, OUTER + handled * HANDLED);
    prof_stop();
    EQUAL(again, 0);
    EQUAL(sigaltstack(&before, NULL), 0);
    signal(SIGUSR1, SIG_DFL);
}

static bool exit_at_once(void *user, const void *data, size_t size) {
    (void)data;
    (void)size;
    if (!user) return true;
    pthread_exit(NULL);
}

static void *exit_from_dump(void *of) {
    prof_sink sink = { exit_at_once, NULL };
    PROF_BLOCK("first") {}
    sink.user = of;
    (void)prof_dump(sink);
    return NULL;
}

static void test_exits_from_dump(void) {
    prof_sink whole = { exit_at_once, NULL };
    pthread_t t;
    EQUAL(start(PROF_MODE_TRACE), PROF_OK);
    pthread_create(&t, NULL, exit_from_dump, memory);
    pthread_join(t, NULL);
    EQUAL(prof_dump(whole), PROF_OK);
    CHECK(prof_stop(), "nothing was stopped");
}

int main(void) {
    RUN(test_cancelled);
    RUN(test_cancelled_anywhere);
    RUN(test_cancel_on_its_way);
    RUN(test_jumps_out_of_sink);
    RUN(test_exits_from_sink);
    RUN(test_exits_from_dump);
    RUN(test_handler_in_sink);
    return test_end();
}
