/* PROF_CORE, on every target and on the host alike: what it records, drops and counts, bad clocks,
   bad contexts, sinks that fail. The exit status is 0 when all is right, and what is wrong goes to
   the UART. Of the last session the Chrome array goes to the UART and the dump to trace.raw, which
   tests/target/test_core.sh and tools/dev/embedded.sh read. */
#include <stdint.h>
static volatile uint32_t clock_ticks, in_context, clock_bits = 32;
#define PROF_NOW() clock_ticks
#define PROF_CONTEXT() in_context
#define PROF_CLOCK_BITS clock_bits
#define PROF_MAX_CONTEXTS 4
#define PROF_MAX_DEPTH 4
#define PROF_ARENA_SIZE 2048
#define PROF_CORE
#define PROF_IMPLEMENTATION
#include "prof.h"

#include "examples/baremetal/board.h"

void board_on_timer(void) {}

static const prof_sink uart = { board_uart, NULL };
static int wrong;

static void say(const char *text) {
    size_t n = 0;
    while (text[n]) n++;
    board_uart(NULL, text, n);
}

static void say_number(uint64_t n) {
    char text[24], *p = text + sizeof text;
    *--p = 0;
    do *--p = (char)('0' + n % 10); while (n /= 10);
    say(p);
}

static void check(const char *what, uint64_t is, uint64_t must) {
    if (is == must) return;
    wrong++;
    say(what);
    say(" is ");
    say_number(is);
    say(", not ");
    say_number(must);
    say("\n");
}
#define CHECK(what, must) check(#what, (uint64_t)(what), (uint64_t)(must))

/* ---- a sink that keeps a text, or fails ---- */

static char text[4096];
static size_t length;
static uint32_t calls, fails_at;

static bool keep(void *user, const void *data, size_t size) {
    (void)user;
    if (++calls == fails_at) return false;
    for (size_t i = 0; i < size && length + 1 < sizeof text; i++)
        text[length++] = ((const char *)data)[i];
    text[length] = 0;
    return true;
}
static const prof_sink kept = { keep, NULL };

static void forget(uint32_t fail) {
    calls = 0;
    fails_at = fail;
    length = 0;
}

/* How often the text has this. */
static uint32_t has(const char *what) {
    uint32_t n = 0;
    for (const char *at = text; *at; at++) {
        const char *a = at, *b = what;
        while (*b && *a == *b) a++, b++;
        n += !*b;
    }
    return n;
}

static void session(void) {
    in_context = 0;
    clock_ticks = 1000;
    CHECK(prof_start(NULL), PROF_OK);
}

static void chrome(const prof_trace *trace) {
    forget(0);
    CHECK(prof_write_chrome(trace, NULL, kept), PROF_OK);
}

static void leaf(uint32_t duration) {
    PROF_SCOPE("leaf");
    clock_ticks += duration;
}

/* ---- zones ---- */

static void zones(void) {
    session();
    PROF_BLOCK("outer \"\\\t") {
        leaf(5);
        in_context = 2;
        leaf(7);
        in_context = 0;
        leaf(11);
    }
    chrome(prof_stop());
    CHECK(prof_get_stats().recorded, 4);
    CHECK(prof_get_stats().dropped, 0);
    CHECK(prof_get_stats().threads, 2);
    CHECK(has("\"name\":\"leaf\",\"pid\":1,\"tid\":0,\"ts\":0.000,\"dur\":0.005}"), 1);
    CHECK(has("\"name\":\"leaf\",\"pid\":1,\"tid\":1,\"ts\":0.005,\"dur\":0.007}"), 1);
    CHECK(has("\"name\":\"outer \\\"\\\\\\u0009\",\"pid\":1,\"tid\":0,"), 1);
    CHECK(has("\"ts\":0.000,\"dur\":0.023}"), 1);
    CHECK(has("\"name\":\"thread 2\"}}"), 1);
    CHECK(has("\"recorded\":4,\"ns_are_ticks\":1}}\n]\n"), 1);
}

/* Ends that do not fit: none is open, an outer zone ends first, one too many. */
static void odd_ends(void) {
    prof_trace *trace;
    session();
    PROF_END();
    PROF_BLOCK("outer") PROF_BEGIN("inner");
    PROF_END();
    PROF_BEGIN("left open");
    PROF_BEGIN("left open, too");
    clock_ticks += 9;
    trace = prof_stop();
    PROF_END();                          /* after the session: nothing */
    chrome(trace);
    CHECK(prof_get_stats().recorded, 4);
    CHECK(prof_get_stats().unbalanced, 2);
    CHECK(prof_get_stats().healed, 1);
    CHECK(prof_get_stats().unfinished, 2);
    CHECK(has("\"dur\":0.009,\"args\":{\"unfinished\":true}}"), 2);
    CHECK(has(",\"unbalanced\":2,\"healed\":1,\"unfinished\":2,"), 1);
}

/* Begins that are too deep leave the zones around alone, by PROF_END() too. */
static void deep(void) {
    session();
    for (int i = 0; i < 7; i++) {
        PROF_BEGIN("deep");
        clock_ticks++;
    }
    leaf(1);
    for (int i = 0; i < 7; i++) {
        clock_ticks++;
        PROF_END();
    }
    leaf(1);
    chrome(prof_stop());
    CHECK(prof_get_stats().recorded, 5);
    CHECK(prof_get_stats().dropped_deep, 4);
    CHECK(has("\"recorded\":5,\"dropped_deep\":4,\"ns_are_ticks\":1}}\n]\n"), 1);
    CHECK(prof_get_stats().unbalanced, 0);
    CHECK(has("\"name\":\"deep\",\"pid\":1,\"tid\":0,\"ts\":0.000,\"dur\":0.015}"), 1);
    CHECK(has("\"name\":\"deep\",\"pid\":1,\"tid\":0,\"ts\":0.003,\"dur\":0.009}"), 1);
}

/* The arena ends while zones are open in each context: these are recorded, others are counted. */
static void full(void) {
    uint32_t begun = 0;
    session();
    for (in_context = 0; in_context < 3; in_context++, begun += 4)
        for (int i = 0; i < 4; i++) PROF_BEGIN("open");
    for (in_context = 0; in_context < 3; in_context++) PROF_END();
    for (in_context = 0; !prof_get_stats().dropped_full; begun++) leaf(1);
    leaf(1);
    for (in_context = 0; in_context < 3; in_context++)
        for (int i = 0; i < 3; i++) PROF_END();
    in_context = 3;                      /* no room for its state */
    leaf(1);
    (void)prof_stop();
    CHECK(prof_get_stats().dropped_full, 3);
    CHECK(prof_get_stats().recorded, begun - 1);
    CHECK(prof_get_stats().unfinished + prof_get_stats().unbalanced, 0);
    CHECK(begun > 60, 1);
}

/* ---- contexts ---- */

static void contexts_beyond(void) {
    session();
    leaf(1);
    for (in_context = 4; in_context < 4000; in_context *= 10) leaf(1);
    PROF_BEGIN("none");
    PROF_END();
    in_context = 3;
    leaf(1);
    (void)prof_stop();
    CHECK(prof_get_stats().recorded, 2);
    CHECK(prof_get_stats().dropped_threads, 4);
    CHECK(prof_get_stats().threads, 2);
}

/* ---- clocks ---- */

static void narrow_clocks(void) {
    for (clock_bits = 16; clock_bits <= 32; clock_bits += 8) {
        uint32_t all = 0xffffffffu >> (32 - clock_bits);
        prof_trace *trace;
        clock_ticks = all - 9;
        CHECK(prof_start(NULL), PROF_OK);
        for (uint32_t i = 0, time = all - 5; i < 3; i++, time += all / 2) {
            clock_ticks = time & all;
            PROF_BEGIN("narrow");
            clock_ticks = (time + 16) & all;
            PROF_END();
        }
        trace = prof_stop();
        chrome(trace);
        CHECK(has("\"dur\":0.016}"), 3);
        CHECK(has("\"ts\":") > 6, 1);
        CHECK(prof_get_stats().clock_steps, 0);
    }
    clock_bits = 32;
}

static void clock_stands(void) {
    session();
    leaf(0);
    leaf(0);
    chrome(prof_stop());
    CHECK(has("\"name\":\"leaf\",\"pid\":1,\"tid\":0,\"ts\":0.000,\"dur\":0.000}"), 2);
    CHECK(prof_get_stats().clock_steps, 0);
}

static void clock_runs_back(void) {
    session();
    clock_ticks = 2000;
    leaf(10);
    clock_ticks = 1500;
    leaf(10);
    leaf(10);
    (void)prof_stop();
    CHECK(prof_get_stats().recorded, 3);
    CHECK(prof_get_stats().clock_steps, 1);
}

/* ---- sinks and sessions ---- */

static prof_result write(int which, const prof_trace *trace) {
    return which ? prof_dump(kept) : prof_write_chrome(trace, NULL, kept);
}

static void sinks_fail(void) {
    prof_trace *trace;
    session();
    PROF_BEGIN("open");
    for (int i = 0; i < 60; i++) leaf(1);
    trace = prof_stop();
    for (int which = 0; which < 2; which++) {
        uint32_t all;
        forget(0);
        CHECK(write(which, trace), PROF_OK);
        all = calls;
        CHECK(all > 5, 1);
        for (uint32_t n = 1; n <= all; n++) {
            forget(n);
            CHECK(write(which, trace), PROF_ERROR_SINK);
            CHECK(calls, n);
        }
    }
}

static void refusals(void) {
    prof_desc desc = { 0 };
    prof_sink none = { NULL, NULL };
    CHECK(prof_dump(kept), PROF_ERROR_STATE);
    CHECK(prof_stop() != NULL, 0);
    desc.mode = PROF_MODE_RING;
    CHECK(prof_start(&desc), PROF_ERROR_UNSUPPORTED);
    desc.mode = PROF_MODE_TRACE;
    desc.max_depth = 5;
    CHECK(prof_start(&desc), PROF_ERROR_UNSUPPORTED);
    desc.max_depth = 4;
    desc.platform.ticks_per_second = 1ull << 31;
    CHECK(prof_start(&desc), PROF_ERROR_INVALID);
    session();
    CHECK(prof_start(NULL), PROF_ERROR_STATE);
    CHECK(prof_dump(none), PROF_ERROR_INVALID);
    CHECK(prof_write_chrome(NULL, NULL, kept), PROF_ERROR_STATE);
    (void)prof_stop();
    CHECK(prof_write_chrome(NULL, NULL, kept), PROF_ERROR_INVALID);
}

static void categories(void) {
    session();
    (void)prof_set_categories(~2u);
    PROF_BLOCK_IN(2, "off") clock_ticks++;
    PROF_BLOCK_IN(4, "on") clock_ticks++;
    (void)prof_set_categories(~0u);
    chrome(prof_stop());
    CHECK(prof_get_stats().recorded, 1);
    CHECK(has("\"name\":\"on\""), 1);
}

/* ---- what the scripts read ---- */

/* Wraps of the clock, told by zones and then by prof_tick, two contexts, a zone left open. */
static const prof_trace *last(void) {
    prof_desc desc = { 0 };
    in_context = 0;
    clock_ticks = 0xfffffff0u;
    desc.platform.ticks_per_second = 3000000;
    CHECK(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 20; i++) {
        clock_ticks += 0x20000000u;
        in_context = i % 5 ? 0 : 3;
        leaf((uint32_t)i);
    }
    in_context = 0;
    for (int i = 0; i < 4; i++) {
        clock_ticks += 0x60000000u;
        prof_tick();
        prof_tick();
    }
    PROF_BEGIN("open");
    leaf(100);
    clock_ticks += 50;
    return prof_stop();
}

int main(void) {
    const prof_sink file = { board_file, NULL };
    refusals();
    zones();
    odd_ends();
    deep();
    full();
    contexts_beyond();
    narrow_clocks();
    clock_stands();
    clock_runs_back();
    sinks_fail();
    categories();
    CHECK(prof_write_chrome(last(), NULL, uart), PROF_OK);
    CHECK(board_file_open("trace.raw") && prof_dump(file) == PROF_OK && board_file_close(), 1);
    return wrong ? 1 : 0;
}
