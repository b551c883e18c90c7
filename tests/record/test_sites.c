/* portable */
/* More places in the source than the table of sites holds, or more names than the arena. */
#define PROF_MAX_SITES 12                /* eight, and four functions */
#define PROF_INSTRUMENT_FUNCTIONS
#include "../test.h"

#include <setjmp.h>
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#  include <pthread.h>
#  include <ucontext.h>
#endif

static int marked;

#define MARK(name) do { PROF_BEGIN(name); test_time.tick += 10; PROF_END(); marked++; } while (0)

static void mark_twelve(void) {
    MARK("one");
    MARK("two");
    MARK("three");
    MARK("four");
    MARK("five");
    MARK("six");
    MARK("seven");
    MARK("eight");
    MARK("nine");
    MARK("ten");
    MARK("eleven");
    MARK("twelve");
}

static void session(prof_trace **trace) {
    prof_desc desc = test_desc();
    marked = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("one");
    mark_twelve();
    mark_twelve();
    PROF_END();
    marked++;
    *trace = prof_stop();
    PASS_ON(test_tree(*trace));
}

/* The first ones have their names, the others are counted, each time they come; and so in every
   session. */
static void test_sites_too_many(void) {
    prof_trace *trace = NULL;
    int i;
    for (i = 0; i < 3; i++) {
        prof_stats stats;
        size_t count;
        PASS_ON(session(&trace));
        stats = prof_get_stats(NULL);
        prof_events(trace, NULL, 0, &count);
        EQUAL(count, stats.recorded);
        EQUAL(stats.recorded, marked);
        EQUAL(stats.others, marked - (1 + 2 * 7));
        EQUAL(stats.dropped, 0);
        EQUAL(stats.unbalanced + stats.healed + stats.unfinished, 0);
        EQUAL(test_find(trace, "one", 0)->end_ns, 240);
        CHECK(test_find(trace, "seven", 1) && !test_find(trace, "eight", 0), "others are in");
        EQUAL(test_find(trace, "(others)", 9)->end_ns, 240);
    }
}

/* Zones go to "(others)"; instants and counters without a place are dropped, and counted so. */
static void test_moments_without_a_place(void) {
    prof_desc desc = test_desc();
    prof_trace *trace = NULL;
    prof_stats stats;
    test_text text;
    memset(&text, 0, sizeof text);
    PASS_ON(session(&trace));            /* takes all places */
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 3; i++) {
        PROF_INSTANT("an instant");
        PROF_COUNTER("a counter", i);
        prof_instant("by name");
    }
    trace = prof_stop();
    stats = prof_get_stats(trace);
    EQUAL(stats.dropped_full, 6);
    EQUAL(stats.dropped, 6);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"by name\""), 3);
    EQUAL(test_times(text.data, "\"an instant\"") + test_times(text.data, "\"a counter\""), 0);
    test_text_clear(&text);
}

/* ---- The arena is full ---- */

enum { FUNCTIONS = 4 };
static char functions[FUNCTIONS];

static void call(int n) {
    for (int i = 0; i < n; i++) {
        __cyg_profile_func_enter(functions + i, NULL);
        __cyg_profile_func_exit(functions + i, NULL);
    }
}

/* That a function had no room is remembered; it is asked for again in the next session. */
static void test_sites_without_room(void) {
    static uint64_t memory[60 << 7];
    prof_desc desc = test_desc();
    prof_stats stats;
    uint64_t refused;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 1800; i++) {     /* the short ones take what the long ones leave */
        char name[1000];
        snprintf(name, sizeof name, i < 900 ? "%0900d" : "%d", i);
        prof_push(name);
        prof_pop();
    }
    stats = prof_get_stats(NULL);
    CHECK(stats.others > 100, "%u in others", (unsigned)stats.others);
    call(FUNCTIONS);
    refused = prof_get_stats(NULL).others - stats.others;
    CHECK(refused >= FUNCTIONS - 1, "%u refused", (unsigned)refused);
    CHECK(prof__try(&prof__port.lock), "the lock is held");
    call(FUNCTIONS);
    prof__unlock();
    refused = prof_get_stats(NULL).others - stats.others - refused;   /* or one had room */
    CHECK(refused >= FUNCTIONS - 1 && refused <= FUNCTIONS, "%u refused", (unsigned)refused);
    stats = prof_get_stats(NULL);
    EQUAL(stats.dropped, 0);
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_start(NULL), PROF_OK);
    call(1);
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_get_stats(NULL).recorded, 1);
}

/* ---- longjmp leaves functions ---- */

__attribute__((noinline)) static void enter(int i) {
    __cyg_profile_func_enter(functions + i, NULL);
}
static void leave(int i) { __cyg_profile_func_exit(functions + i, NULL); }

/* A function's end is no other's: it ends what longjmp has left above it. */
static void test_functions_left(void) {
    prof_desc desc = test_desc();
    prof_average rows[FUNCTIONS];
    EQUAL(prof_start(&desc), PROF_OK);
    enter(0);
    for (int i = 0; i < 1000; i++) {
        enter(1);
        enter(2);
        enter(3);
        if (i % 2) leave(3);             /* else: left, with 2 */
        if (i % 2) leave(2);
        test_time.tick += 10;
        leave(1);
        test_time.tick++;
    }
    leave(2);                            /* was not begun */
    leave(0);
    EQUAL(prof_key_averages(prof_stop(), NULL, rows, FUNCTIONS), FUNCTIONS);
    for (int i = 1; i < FUNCTIONS; i++) EQUAL(rows[i].count, 1000);
    EQUAL(rows[0].self_cpu_time_total_ns, 1000);
    EQUAL(rows[1].cpu_time_total_ns, 10000);
    EQUAL(rows[2].cpu_time_total_ns, 5000);
    EQUAL(prof_get_stats(NULL).healed, 1000);
    EQUAL(prof_get_stats(NULL).unbalanced, 1);
    EQUAL(prof_get_stats(NULL).unfinished, 0);
}

/* Functions that began before the session end in it, as main does that calls prof_start: no zone,
   and no fault. */
static void test_functions_around_the_session(void) {
    prof_desc desc = test_desc();
    size_t count;
    prof_thread_end();
    enter(0);
    enter(1);
    EQUAL(prof_start(&desc), PROF_OK);
    leave(1);                            /* of a thread that has marked nothing */
    enter(2);
    leave(2);
    leave(0);
    prof_events(prof_stop(), NULL, 0, &count);
    EQUAL(count, 1);
    EQUAL(prof_get_stats(NULL).unbalanced, 0);
}

/* What a function leaves by longjmp has ended where the next one begins less deep in the stack, or
   as deep by the same call; so have the marks in it. */
static jmp_buf caught;
__attribute__((noinline)) static void throws(void) {
    __cyg_profile_func_enter(functions + 2, NULL);
    prof_push("within");
    prof_push("deeper");
    test_time.tick++;
    longjmp(caught, 1);
}

__attribute__((noinline)) static void parses(int i) {
    __cyg_profile_func_enter(functions + 1, NULL);
    if (i % 10 == 0) throws();
    test_time.tick += 10;
    __cyg_profile_func_exit(functions + 1, NULL);
}

__attribute__((noinline)) static void parses_all(volatile int depth) {
    __cyg_profile_func_enter(functions + 0, NULL);
    if (depth) parses_all(depth - 1);
    for (volatile int i = 0; !depth && i < 100; i++)
        if (!setjmp(caught)) parses(i);
    __cyg_profile_func_exit(functions + 0, NULL);
}

static void times_of_thrown(int depth) {
    prof_desc desc = test_desc();
    prof_average rows[5];
    prof_stats stats;
    const char *names[5];
    const uint64_t count[5] = { (uint64_t)depth + 1, 100, 10, 10, 10 };
    const int64_t total[5] = { 0, 910, 10, 10, 10 };
    EQUAL(prof_start(&desc), PROF_OK);
    parses_all(depth);
    EQUAL(prof_key_averages(prof_stop(), NULL, rows, 5), 5);
    for (int i = 0; i < 3; i++)
        names[i] = prof__site(prof__function_find((uintptr_t)(functions + i))->id >> 8)->name;
    names[3] = "within";
    names[4] = "deeper";
    for (int n = 0; n < 5; n++) {
        int i = 0;
        while (i < 5 && strcmp(names[n], rows[i].key) != 0) i++;
        CHECK(i < 5, "no row %s", names[n]);
        EQUAL(rows[i].count, count[n]);
        if (n) EQUAL(rows[i].cpu_time_total_ns, total[n]);
    }
    stats = prof_get_stats(NULL);
    EQUAL(stats.healed, 40);
    EQUAL(stats.unbalanced + stats.unfinished, 0);
}

static void test_functions_thrown(void) {
#if defined(_WIN32) || (!defined(__x86_64__) && !defined(__aarch64__))
    SKIP("the stack pointer does not tell here");
#endif
    PASS_ON(times_of_thrown(0));
    PASS_ON(times_of_thrown(61));        /* the last frames, */
    PASS_ON(times_of_thrown(62));
    PASS_ON(times_of_thrown(100));       /* and zones deeper than max_depth */
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
/* Nothing is over because another stack lies higher: a coroutine's, in the memory of main(). */
static ucontext_t thread_context, coroutine_context;
static void coroutine(void) {
    for (int i = 0; i < 10; i++) {
        __cyg_profile_func_enter(functions + 1, NULL);
        swapcontext(&coroutine_context, &thread_context);
        __cyg_profile_func_exit(functions + 1, NULL);
    }
}

static void *resumes(void *stack) {
    __cyg_profile_func_enter(functions + 0, NULL);
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = 1 << 16;
    coroutine_context.uc_link = &thread_context;
    makecontext(&coroutine_context, coroutine, 0);
    for (int i = 0; i <= 10; i++) {
        swapcontext(&thread_context, &coroutine_context);
        if (i == 10) break;
        __cyg_profile_func_enter(functions + 2, NULL);
        __cyg_profile_func_exit(functions + 2, NULL);
    }
    __cyg_profile_func_exit(functions + 0, NULL);
    return NULL;
}

static void test_functions_of_coroutines(void) {
    prof_desc desc = test_desc();
    char stack[1 << 16];
    pthread_t thread;
    prof_stats stats;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, resumes, stack), 0);
    pthread_join(thread, NULL);
    CHECK(prof_stop() != NULL, "no trace");
    stats = prof_get_stats(NULL);
    EQUAL(stats.recorded, 21);
    EQUAL(stats.healed + stats.unbalanced + stats.unfinished, 0);
}
#else
static void test_functions_of_coroutines(void) { SKIP("the stack pointer does not tell here"); }
#endif

/* Nor does a thread fall silent when none of the functions around it ever ends. */
static void test_functions_left_for_ever(void) {
    prof_desc desc = test_desc();
#if defined(_WIN32) || (!defined(__x86_64__) && !defined(__aarch64__))
    SKIP("the stack pointer does not tell here");
#endif
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10000; i++) {
        enter(1);
        if (i % 10) leave(1);
    }
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_get_stats(NULL).recorded, 10000);
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

int main(void) {
    RUN(test_sites_without_room);
    RUN(test_functions_left);
    RUN(test_functions_around_the_session);
    RUN(test_functions_thrown);
    RUN(test_functions_of_coroutines);
    RUN(test_functions_left_for_ever);
    RUN(test_sites_too_many);
    RUN(test_moments_without_a_place);
    return test_end();
}
