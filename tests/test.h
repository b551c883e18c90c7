/* The harness of every test program: checks, a memory sink, a clock set by hand.

   Each test is a function run by RUN(function), which prints one line: "ok NAME",
   "not ok NAME: why" or "skip NAME: why". main() ends with return test_end(). */
#ifndef TEST_H
#define TEST_H

#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#  define _DEFAULT_SOURCE 1              /* POSIX under -std=c99 */
#endif
#ifndef TEST_LIBRARY                     /* else linked: see tests/run.sh */
#  define PROF_IMPLEMENTATION
#  ifndef PROF_FREESTANDING
#    define PROF_OS_CLOCK inside_os_clock
#    include <stdbool.h>
static bool inside_os_clock;             /* sessions have the OS's clock */
#  endif
#else
#  include "inside.h"
#endif
#include "../prof.h"
#include "set.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef TEST_DIR
#  define TEST_DIR "tests/write/golden"
#endif
#ifndef TEST_OUT
#  define TEST_OUT "build"               /* files that tests write */
#endif
#if defined(__MINGW_PRINTF_FORMAT)
#  define TEST_PRINTF(n, first) __attribute__((format(__MINGW_PRINTF_FORMAT, n, first)))
#  define TEST_UNUSED __attribute__((unused))
#elif defined(__GNUC__)
#  define TEST_PRINTF(n, first) __attribute__((format(printf, n, first)))
#  define TEST_UNUSED __attribute__((unused))
#else
#  define TEST_PRINTF(n, first)
#  define TEST_UNUSED
#endif

/* TEST_TSAN, TEST_SANITIZED: whether ThreadSanitizer, or any, sees all memory accesses. */
#ifdef __has_feature
#  define TEST_FEATURE(name) __has_feature(name)
#else
#  define TEST_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || TEST_FEATURE(thread_sanitizer)
#  define TEST_TSAN 1
#else
#  define TEST_TSAN 0
#endif
#if TEST_TSAN || defined(__SANITIZE_ADDRESS__) || TEST_FEATURE(address_sanitizer) || \
    TEST_FEATURE(memory_sanitizer)
#  define TEST_SANITIZED 1
#else
#  define TEST_SANITIZED 0
#endif

/* ---- Checks ---- */

/* Ends the test (a void function) with a reason, told by a printf format and its arguments. */
#define CHECK(condition, ...)                                   \
    do {                                                        \
        if (!(condition)) {                                     \
            test_fail(__FILE__, __LINE__, #condition);          \
            test_say(__VA_ARGS__);                              \
            return;                                             \
        }                                                       \
    } while (0)
/* Ends the test when a checking function it called failed. */
#define PASS_ON(call) do { call; if (test_bad) return; } while (0)
#define EQUAL(a, b)                                                             \
    do {                                                                        \
        long long test_a_ = (long long)(a), test_b_ = (long long)(b);           \
        CHECK(test_a_ == test_b_, "%s is %lld, not %lld", #a, test_a_, test_b_); \
    } while (0)
#define SAME_TEXT(a, b)                                                         \
    do {                                                                        \
        const char *test_a_ = (a), *test_b_ = (b);                              \
        CHECK(strcmp(test_a_, test_b_) == 0, "'%.200s' is not '%.200s'", test_a_, test_b_); \
    } while (0)
#define SKIP(...) do { test_skipped = 1; test_say(__VA_ARGS__); return; } while (0)
#define RUN(function) test_run(#function, function)

static int test_failures, test_bad, test_skipped;
TEST_UNUSED static int test_keep;        /* keep the last trace for the next test */
static char test_why[1024];

TEST_PRINTF(1, 2) TEST_UNUSED static void test_say(const char *format, ...) {
    size_t used = strlen(test_why);
    va_list list;
    va_start(list, format);
    vsnprintf(test_why + used, sizeof test_why - used, format, list);
    va_end(list);
}

TEST_UNUSED static void test_fail(const char *file, int line, const char *condition) {
    test_bad = 1;
    snprintf(test_why, sizeof test_why, "%s:%d: %.200s: ", file, line, condition);
}

static uint64_t test_still(void *user) {
    (void)user;
    return 1;
}

/* Closes what a test left open, and ends the zones that it left behind. */
static void test_clean_up(void) {
    prof_desc desc;
    int i;
    prof_stop();
    memset(&desc, 0, sizeof desc);
    desc.platform.now = test_still;
    if (prof_start(&desc) != PROF_OK) return;
    prof_push("clean up");
    for (i = 0; i < 300; i++) prof_pop();
    prof_stop();
    prof_thread_end();
}

/* Zones of names n0, n1, ... until there is no room for one more: it is in (others). */
TEST_UNUSED static void test_fill_names(void) {
    uint64_t before = prof_get_stats(NULL).others;
    char name[24];
    int i;
    for (i = 0; prof_get_stats(NULL).others == before; i++) {
        snprintf(name, sizeof name, "n%d", i);
        prof_push(name);
        prof_pop();
    }
}

TEST_UNUSED static void test_run(const char *name, void (*function)(void)) {
    test_bad = test_skipped = 0;
    test_why[0] = 0;
    if (strncmp(name, "test_", 5) == 0) name += 5;
    function();
    if (!test_keep) test_clean_up();
    if (test_bad) printf("not ok %s: %s\n", name, test_why);
    else if (test_skipped) printf("skip %s: %s\n", name, test_why);
    else printf("ok %s\n", name);
    fflush(stdout);
    test_failures += test_bad;
    if (test_bad && getenv("TEST_FIRST")) exit(1);   /* tests/mutate.py: one failure is enough */
}

TEST_UNUSED static int test_end(void) {
    return test_failures != 0;
}

/* ---- Random numbers, the same everywhere ---- */

static uint32_t test_seed = 1;

/* How often a text, or NULL, has another. Not by strstr: sanitizers read all of the text there. */
TEST_UNUSED static size_t test_times(const char *text, const char *what) {
    size_t n = 0, size = strlen(what);
    for (; text && (text = strchr(text, *what)) != NULL; text++)
        if (strncmp(text, what, size) == 0) n++;
    return n;
}

/* Tests that take long take an n-th of their cases, others each time, where the environment has
   TEST_SAMPLE=n, as tests/run.sh without --all gives it; else 1. */
TEST_UNUSED static uint32_t test_sample(void) {
    const char *sample = getenv("TEST_SAMPLE");
    uint32_t of = sample ? (uint32_t)strtoul(sample, NULL, 10) : 0;
    if (of < 2) return 1;
    test_seed += (uint32_t)time(NULL);
    return of;
}

TEST_UNUSED static uint32_t test_random(uint32_t below) {
    test_seed = test_seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(test_seed >> 4) * below) >> 28);
}

/* ---- A sink that keeps what it gets ---- */

typedef struct test_text {
    char *data;                          /* always ends with a NUL */
    size_t size, capacity;
    size_t calls, fail_at;               /* write number fail_at (from 1) and later ones fail */
} test_text;

static bool test_text_write(void *user, const void *data, size_t size) {
    test_text *text = (test_text *)user;
    if (++text->calls >= text->fail_at && text->fail_at) return false;
    if (text->size + size + 1 > text->capacity) {
        text->capacity = 2 * (text->size + size + 1);
        text->data = (char *)realloc(text->data, text->capacity);
        if (!text->data) abort();
    }
    if (size) memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = 0;
    return true;
}

TEST_UNUSED static prof_sink test_text_sink(test_text *text) {
    prof_sink sink;
    sink.write = test_text_write;
    sink.user = text;
    return sink;
}

/* Adds what a file holds. */
TEST_UNUSED static void test_read_file(const char *path, test_text *text) {
    char part[4096];
    size_t got;
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL, "cannot open %s", path);
    test_text_write(text, "", 0);
    while ((got = fread(part, 1, sizeof part, file)) > 0) test_text_write(text, part, got);
    fclose(file);
}

TEST_UNUSED static void test_text_clear(test_text *text) {
    free(text->data);
    memset(text, 0, sizeof *text);
}

/* The writers by number, to loop over. */
enum { TEST_TABLE, TEST_EVENT_TABLE, TEST_CSV, TEST_JSON, TEST_CHROME, TEST_STACKS, TEST_LEGACY,
       TEST_ARRAY, TEST_EVENT_STACKS, TEST_EXECUTION, TEST_WRITERS };

TEST_UNUSED static prof_result test_write_to(const prof_trace *trace, int writer, prof_sink out) {
    static const prof_chrome_desc legacy = { PROF_CHROME_LEGACY, PROF_CHROME_SOURCE_AUTO };
    static const prof_chrome_desc array = { PROF_CHROME_ARRAY, PROF_CHROME_SOURCE_ALL };
    static const prof_averages_desc by = { true, true, 3, true, true };
    prof_table_desc table;
    memset(&table, 0, sizeof table);
    switch (writer) {
    case TEST_TABLE: return prof_write_table(trace, NULL, out);
    case TEST_CSV: table.format = PROF_FORMAT_CSV; break;
    case TEST_JSON: table.format = PROF_FORMAT_JSON; table.averages = &by; break;
    case TEST_CHROME: return prof_write_chrome(trace, NULL, out);
    case TEST_STACKS: return prof_write_stacks(trace, PROF_METRIC_NONE, out);
    case TEST_LEGACY: return prof_write_chrome(trace, &legacy, out);
    case TEST_ARRAY: return prof_write_chrome(trace, &array, out);
    case TEST_EVENT_STACKS: {
        prof_result result = prof_write_event_stacks(trace, PROF_METRIC_NONE, out);
        return result == PROF_ERROR_NONE_RECORDED ? PROF_OK : result;   /* no stacks */
    }
#if !PROF__BARE
    case TEST_EXECUTION: return prof_write_execution_trace(trace, out);
#endif
    default: break;
    }
    return prof_write_table(trace, &table, out);
}

TEST_UNUSED static prof_result test_write(const prof_trace *trace, int writer, test_text *text) {
    if (!text->data) {                   /* a text of nothing is one too */
        text->data = (char *)calloc(1, text->capacity = 1);
        if (!text->data) abort();
    }
    return test_write_to(trace, writer, test_text_sink(text));
}

/* Names that break what does not escape them. */
TEST_UNUSED static const char *const test_odd_names[] = {
    "", "\"", "\\", "a\"b\\c/d", "\x01\x02\x1f\x7f", "\n\r\t\b\f", "\xff\xfe", "\xc3", "\xe2\x82",
    "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\xf0\x9f\x98\x80", ";", "a;b;c", " ", "%s%n%d",
    "</script>", "\xe2\x80\xa8", "null", "{}"
};
enum { TEST_ODD_NAMES = sizeof test_odd_names / sizeof test_odd_names[0] };

/* ---- A clock set by hand ---- */

typedef struct test_clock {
    uint64_t tick, step;                 /* now() adds step, then returns tick */
} test_clock;

static test_clock test_time;

TEST_UNUSED static uint64_t test_now(void *user) {
    test_clock *time_of = (test_clock *)user;
    return time_of->tick += time_of->step;
}

/* A desc with that clock, standing at 0 and counting nanoseconds. */
TEST_UNUSED static prof_desc test_desc(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(&test_time, 0, sizeof test_time);
    desc.platform.now = test_now;
    desc.platform.user = &test_time;
    return desc;
}

/* Two zones a turn. */
TEST_UNUSED static void test_zones(unsigned turns) {
    while (turns--) {
        PROF_BEGIN("outer");
        PROF_BEGIN("inner");
        PROF_END();
        PROF_END();
    }
}

/* ---- What must hold in every trace ---- */

/* Depth, order, containment, the children lists, self time: by the definitions, slowly. */
TEST_UNUSED static void test_event(const prof_event *events, size_t count, size_t i) {
    const prof_event *event = events + i, *up = NULL;
    int64_t children = 0, own;
    uint32_t child, last = PROF_NONE;
    CHECK(event->end_ns >= event->start_ns, "event %u ends before it starts", (unsigned)i);
    CHECK(event->name != NULL, "event %u has no name", (unsigned)i);
    if (event->parent != PROF_NONE) {
        CHECK(event->parent < i, "event %u stands before its parent", (unsigned)i);
        up = events + event->parent;
        CHECK(up->start_ns <= event->start_ns && event->end_ns <= up->end_ns,
              "event %u is not inside its parent", (unsigned)i);
        EQUAL(up->thread, event->thread);
    }
    EQUAL(event->depth, up ? up->depth + 1 : 0);
    for (child = event->first_child; child != PROF_NONE; child = events[child].next_sibling) {
        CHECK(child < count && child > i, "event %u has a bad child", (unsigned)i);
        CHECK(last == PROF_NONE || events[child].start_ns >= events[last].start_ns,
              "children of %u not in order", (unsigned)i);
        EQUAL(events[child].parent, i);
        children += events[child].end_ns - events[child].start_ns;
        last = child;
    }
    if (event->device_type != PROF_DEVICE_CPU || event->flags & PROF_EVENT_ASYNC)
        children = event->end_ns - event->start_ns;
    own = event->end_ns - event->start_ns - children;
    if (PROF__BARE && event->self_cpu_time_total_ns >= 0 &&
        event->self_cpu_time_total_ns < own) return;     /* it was interrupted */
    EQUAL(event->self_cpu_time_total_ns, own);
}

TEST_UNUSED static int test_order(const prof_event *a, const prof_event *b) {
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return (int)a->depth - (int)b->depth;
}

/* The events; where the arena has no room for them, in memory that is freed for the next trace. */
TEST_UNUSED static const prof_event *test_events(const prof_trace *trace, size_t *count) {
    const prof_event *events = prof_events(trace, NULL, 0, count);
#if !PROF__BARE
    static void *room;
    size_t size = 8 * prof_get_stats(trace).bytes_used + 4096;
    if (!events) {
        free(room);
        room = malloc(size);
        events = prof_events(trace, room, size, count);
    }
#endif
    return events;
}

#if !PROF__BARE
TEST_UNUSED static prof_session test_info(void) {
    prof_session session;
    prof_session_info(&session);
    return session;
}
#endif

TEST_UNUSED static void test_tree(const prof_trace *trace) {
    size_t count, threads, i, linked = 0;
    const prof_event *events = test_events(trace, &count);
    prof_threads(trace, &threads);
    CHECK((events == NULL) == (count == 0), "%u events at %p", (unsigned)count,
          (const void *)events);
    for (i = 0; i < count; i++) {
        PASS_ON(test_event(events, count, i));
        CHECK(events[i].thread < threads, "event %u: thread %u of %u", (unsigned)i,
              (unsigned)events[i].thread, (unsigned)threads);
        CHECK(i == 0 || test_order(events + i - 1, events + i) <= 0, "events %u, %u not in order",
              (unsigned)i - 1, (unsigned)i);
        linked += events[i].first_child != PROF_NONE;
        linked += events[i].next_sibling != PROF_NONE && events[i].parent != PROF_NONE;
    }
    for (i = 0; i < count; i++) linked -= events[i].parent != PROF_NONE;
    EQUAL(linked, 0);                    /* each child is in one list, once */
}

/* The n-th event of that name, or NULL. */
TEST_UNUSED static const prof_event *test_find(const prof_trace *trace, const char *name, int n) {
    size_t count, i;
    const prof_event *events = test_events(trace, &count);
    for (i = 0; i < count; i++)
        if (strcmp(events[i].name, name) == 0 && n-- == 0) return events + i;
    return NULL;
}

/* Did the timeline end within the zone? Then sums have all of it. */
TEST_UNUSED static bool test_partial(unsigned flags) {
    return (flags & PROF_EVENT_UNFINISHED) && (flags & PROF_EVENT_PARTIAL);
}

/* The zones that are told of: in the timeline, in sums, dropped. */
TEST_UNUSED static uint64_t test_told(const prof_trace *trace) {
    prof_stats stats = prof_get_stats(trace);
    uint64_t told = stats.recorded + stats.dropped;
#if !PROF__BARE
    told += stats.summed;
#endif
    return told;
}

TEST_UNUSED static void test_all_writers(const prof_trace *trace) {
    test_text text;
    size_t count;
    int writer;
    memset(&text, 0, sizeof text);
    (void)test_events(trace, &count);
    for (writer = 0; writer < TEST_WRITERS; writer++)
        EQUAL(test_write(trace, writer, &text), PROF_OK);
    test_text_clear(&text);
}

#endif
