/* portable */
/* Names and texts by a format: prof_push_f, PROF_SCOPE_F and their kin. tests/target/test_clean.sh
   runs it without stb_sprintf too, with a copy beside prof.h, and where the program has its own. */
#include "../test.h"

#if !defined(_WIN32)
#  include <signal.h>
#  include <sys/time.h>
#endif

static const prof_trace *trace;

static const prof_event *named(const char *name) {
    size_t count, i;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < count; i++)
        if (strcmp(events[i].name, name) == 0) return events + i;
    return NULL;
}

#define HAS(name) CHECK(named(name) != NULL, "no zone %s", name)

static void test_printf_zones(void) {
    prof_desc desc = test_desc();
    const prof_event *outer, *events;
    size_t count;
    int evaluated = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push_f("tile %d,%d", 3, -4);
    prof_push_f("%s %5.2f%% %08x %c", "rate", 12.345, 0xbeefu, 'z');
    prof_pop();
    prof_push_f("%zu %lld %u", sizeof(int), 1234567890123LL, ++evaluated);
    prof_pop();
    prof_pop();
    prof_push_f("plain");
    prof_pop();
    EQUAL(prof_get_stats(NULL).not_kept, 0);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, 4);
    outer = named("tile 3,-4");
    CHECK(outer == events && outer->parent == PROF_NONE, "tile is not outermost");
    HAS("rate 12.35% 0000beef z");
    HAS("4 1234567890123 1");
    HAS("plain");
    EQUAL(named("4 1234567890123 1")->parent, 0);
    EQUAL(named("plain")->depth, 0);
}

#if defined(__cplusplus) || (defined(__GNUC__) && !defined(__TINYC__))
static int in_scope(int i) {
    PROF_SCOPE_F("row %d", i);
    if (i < 0) return -1;
    PROF_BLOCK("inside") { PROF_SCOPE_F("%s", "only"); }
    return i;
}

static void test_printf_scope(void) {
    prof_desc desc = test_desc();
    EQUAL(in_scope(7), 7);               /* without a session: nothing */
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(in_scope(-1), -1);
    EQUAL(in_scope(2), 2);
    EQUAL(prof_get_stats(NULL).unbalanced, 0);
    trace = prof_stop();
    CHECK(!named("row 7"), "a zone without a session");
    HAS("row -1");
    HAS("only");
    EQUAL(named("row -1")->depth, 0);
    EQUAL(named("row 2")->depth, 0);
    EQUAL(named("only")->depth, 2);
}
#endif

/* 255 bytes stay, the rest is cut and counted; what fits exactly is not. */
static void test_printf_cut(void) {
    prof_desc desc = test_desc();
    size_t count;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push_f("%255d", 1);
    prof_pop();
    EQUAL(prof_get_stats(NULL).not_kept, 0);
    prof_push_f("%0256d", 2);
    prof_pop();
    prof_push_f("%s%0300d", "abc", 3);
    prof_pop();
    EQUAL(prof_get_stats(NULL).not_kept, 2);
    trace = prof_stop();
    EQUAL(strlen(prof_events(trace, NULL, 0, &count)[0].name), 255);
    EQUAL(strlen(prof_events(trace, NULL, 0, &count)[1].name), 255);
    EQUAL(strncmp(prof_events(trace, NULL, 0, &count)[2].name, "abc000", 6), 0);
    EQUAL(prof_start(&desc), PROF_OK);
    prof_stop();
    EQUAL(prof_get_stats(NULL).not_kept, 0);
}

static void test_printf_texts(void) {
    prof_desc desc = test_desc();
    test_text text;
    char buf[8];
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push_f("zone %d", 1);
    prof_pop();
    EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "zone 1"), "no zone");
    test_text_clear(&text);
    EQUAL(prof_format_text(buf, sizeof buf, "%d-%s", 12, "abc"), 6);
    SAME_TEXT(buf, "12-abc");
    EQUAL(prof_format_text(buf, sizeof buf, "%s", "0123456789"), 7);
    SAME_TEXT(buf, "0123456");
    EQUAL(prof_format_text(buf, 0, "%d", 1), 0);
}

#if !defined(_WIN32) && !defined(TEST_NO_STB)
static volatile int ticks;

static void on_tick(int number) {
    (void)number;
    prof_push_f("tick %d of %s %.3f", ticks % 4, "four", ticks % 4 / 8.0);
    prof_pop();
    ticks++;
}

/* Handlers that interrupt the formatting, and all else that a begin does. */
static void test_printf_handler(void) {
    struct itimerval every = { { 0, 50 }, { 0, 50 } }, off = { { 0, 0 }, { 0, 0 } };
    struct sigaction action, before;
    prof_stats stats;
    uint64_t i;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    ticks = 0;
    EQUAL(prof_start(NULL), PROF_OK);
    EQUAL(sigaction(SIGALRM, &action, &before), 0);
    setitimer(ITIMER_REAL, &every, NULL);
    for (i = 0; i < 20000 || (ticks < 200 && i < 2000000); i++) {
        prof_push_f("zone %d, %8.3f", (int)(i % 8), (double)(i % 8));
        prof_pop();
    }
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &before, NULL);
    trace = prof_stop();
    stats = prof_get_stats(NULL);
    CHECK(ticks > 0, "no handler ran");
    CHECK(stats.recorded > i / 2 && stats.recorded <= i + (uint64_t)ticks + stats.lost,
          "%lld of %lld zones", (long long)stats.recorded, (long long)i + ticks);
    HAS("zone 3,    3.000");
    EQUAL(stats.unbalanced, 0);
}
#endif

int main(void) {
    RUN(test_printf_zones);
#if defined(__cplusplus) || (defined(__GNUC__) && !defined(__TINYC__))
    RUN(test_printf_scope);
#endif
    RUN(test_printf_cut);
    RUN(test_printf_texts);
#if !defined(_WIN32) && !defined(TEST_NO_STB)
    RUN(test_printf_handler);
#endif
    return test_end();
}
