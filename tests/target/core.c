/* core.h, on every target and on the host alike: what it records, drops and counts, long zones, bad
   clocks, sinks that fail. The exit status is 0 when all is right, and what is wrong goes to the
   UART. The dump of the last session goes to trace.raw, which tests/target/test_core.sh and
   tools/dev/embedded.sh read. */
#include <stdint.h>
static volatile uint32_t clock_ticks, in_context, clock_bits = 32;
#define PROF_NOW() clock_ticks
#define PROF_CONTEXT() in_context
#define PROF_CLOCK_BITS clock_bits
#define PROF_MAX_DEPTH 4
#define PROF_ARENA_SIZE 1024
#define PROF_IMPLEMENTATION
#include "examples/baremetal/core.h"

#include "core_dump.h"
#include "examples/baremetal/board.h"

void board_on_timer(void) {}

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

static void check(const char *what, int line, uint64_t is, uint64_t must) {
    if (is == must) return;
    wrong++;
    say_number((uint64_t)line);
    say(": ");
    say(what);
    say(" is ");
    say_number(is);
    say(", not ");
    say_number(must);
    say("\n");
}
#define CHECK(what, must) check(#what, __LINE__, (uint64_t)(what), (uint64_t)(must))
#define COUNT(which, must) CHECK(found.counts[which], must)

static bool same_text(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* How many such zones there are; start: after that of the session. */
static uint32_t has(const char *name, uint32_t row, uint32_t depth, uint64_t start,
                    uint64_t ticks) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < found.zone_count && i < ZONES; i++) {
        const found_zone *z = found.zones + i;
        n += same_text(found.names[z->site % SITES], name) && z->row == row && z->depth == depth &&
             z->start - found.start == start && z->end - z->start == ticks;
    }
    return n;
}

static void session(void) {
    in_context = 0;
    clock_ticks = 1000;
    CHECK(prof_start(NULL), PROF_OK);
}

static void stop(void) {
    prof_stop();
    CHECK(find(0), PROF_OK);
    CHECK(found.odd, 0);
    CHECK(found.counts[RECORDED], found.zone_count);
}

static void leaf(uint32_t duration) {
    PROF_SCOPE("leaf");
    clock_ticks += duration;
}

/* ---- zones ---- */

static void zones(void) {
    session();
    PROF_BLOCK("outer") {
        leaf(5);
        in_context = 2;
        PROF_BLOCK("irq") leaf(7);
        in_context = 0;
        leaf(11);
    }
    stop();
    COUNT(RECORDED, 5);
    CHECK(has("leaf", 0, 1, 0, 5), 1);
    CHECK(has("irq", 2, 0, 5, 7), 1);
    CHECK(has("leaf", 2, 1, 5, 7), 1);
    CHECK(has("leaf", 0, 1, 12, 11), 1);
    CHECK(has("outer", 0, 0, 0, 23), 1);
    COUNT(UNFINISHED, 0);
}

static void named(void) { PROF_FUNCTION(); }

static int leaves(int n) {               /* by break, continue and return */
    for (int i = 0; i < 3; i++)
        PROF_BLOCK("loop") {
            if (i == n) break;
            PROF_SCOPE("rest");
            if (n == 9) return 1;
        }
    return 0;
}

static void blocks(void) {
    session();
    named();
    CHECK(leaves(1), 0);
    CHECK(leaves(9), 1);
    stop();
    COUNT(RECORDED, 8);
    CHECK(has("named", 0, 0, 0, 0), 1);
    CHECK(has("loop", 0, 0, 0, 0), 4);
    CHECK(has("rest", 0, 1, 0, 0), 3);
}

/* Ends that do not fit: none is open, an outer zone ends first, an interrupt's, one too many. */
static void odd_ends(void) {
    session();
    PROF_END();
    PROF_BLOCK("outer") PROF_BEGIN("inner");
    in_context = 5;
    PROF_END();
    in_context = 0;
    PROF_BEGIN("left open");
    PROF_BEGIN("open, too");
    in_context = 5;
    PROF_END();
    clock_ticks += 9;
    PROF_BEGIN("in irq");
    in_context = 0;
    prof_stop();
    PROF_END();                          /* after the session: nothing */
    stop();
    COUNT(RECORDED, 5);
    COUNT(UNBALANCED, 3);
    COUNT(HEALED, 1);
    COUNT(UNFINISHED, 3);
    CHECK(has("left open", 0, 0, 0, 9), 1);
    CHECK(has("open, too", 0, 1, 0, 9), 1);
    CHECK(has("in irq", 5, 0, 9, 0), 1);
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
    stop();
    COUNT(RECORDED, 5);
    COUNT(DEEP, 4);
    COUNT(UNBALANCED, 0);
    CHECK(has("deep", 0, 0, 0, 15), 1);
    CHECK(has("deep", 0, 3, 3, 9), 1);
    CHECK(has("leaf", 0, 0, 15, 1), 1);
}

/* The arena ends while zones are open: these are recorded, others are counted. */
static void full(void) {
    enum { RECORDS = PROF_ARENA_SIZE / 12 - 1 };   /* the first one is prof_tick's */
    session();
    for (int i = 0; i < 3; i++) PROF_BEGIN("open");
    for (int i = 0; i < 100; i++) leaf(1);
    PROF_BEGIN("late");                  /* a dropped pair */
    PROF_END();
    for (int i = 0; i < 3; i++) PROF_END();
    leaf(1);
    PROF_BEGIN("late");
    PROF_END();
    stop();
    /* 9 places are kept, and the zone that found the buffer full took one of them. */
    COUNT(RECORDED, RECORDS - 9 + 1 + 3);
    COUNT(FULL, 100 - (RECORDS - 9 + 1) + 3);
    COUNT(UNFINISHED, 0);
    COUNT(UNBALANCED, 0);
    CHECK(has("open", 0, 0, 0, 100), 1);
}

/* ---- the clock ---- */

static void narrow_clocks(void) {
    for (clock_bits = 16; clock_bits <= 32; clock_bits += 8) {
        uint32_t all = 0xffffffffu >> (32 - clock_bits);
        clock_ticks = all - 9;
        CHECK(prof_start(NULL), PROF_OK);
        for (uint32_t i = 0, time = all - 5; i < 3; i++, time += all / 2) {
            clock_ticks = time & all;
            PROF_BEGIN("narrow");
            clock_ticks = (time + 16) & all;
            PROF_END();
        }
        stop();
        for (uint64_t i = 0; i < 3; i++)
            CHECK(has("narrow", 0, 0, (4 + i * (all / 2)) << (32 - clock_bits),
                      16ull << (32 - clock_bits)), 1);
        COUNT(CLOCK_STEPS, 0);
    }
    clock_bits = 32;
}

static void clock_stands(void) {
    session();
    leaf(0);
    leaf(0);
    stop();
    CHECK(has("leaf", 0, 0, 0, 0), 2);
    COUNT(CLOCK_STEPS, 0);
}

static void clock_runs_back(void) {
    session();
    clock_ticks = 2000;
    leaf(10);
    clock_ticks = 1500;
    leaf(10);
    leaf(10);
    stop();
    COUNT(RECORDED, 3);
    COUNT(CLOCK_STEPS, 1);
}

/* So many ticks go by, and prof_tick is called in each half of a wrap. */
static void spend(uint64_t ticks) {
    for (; ticks > 0x70000000; ticks -= 0x70000000) {
        clock_ticks += 0x70000000;
        prof_tick();
    }
    clock_ticks += (uint32_t)ticks;
}

/* Zones of up to three wraps and a bit, of which prof_tick may see the end or not; what comes after
   them is at its place, and what is still open, too. */
static void long_zones(void) {
    for (uint64_t ticks = 0x38000000; ticks < 0x300000000; ticks += 0x18000000) {
        session();
        leaf(3);
        PROF_BLOCK("long") {
            leaf(1);
            spend(ticks);
        }
        leaf(7);
        PROF_BEGIN("open");
        spend(ticks);
        stop();
        COUNT(RECORDED, 5);
        CHECK(has("long", 0, 0, 3, ticks + 1), 1);
        CHECK(has("leaf", 0, 0, ticks + 4, 7), 1);
        CHECK(has("open", 0, 0, ticks + 11, ticks), 1);
        COUNT(CLOCK_STEPS, 0);
        COUNT(UNFINISHED, 1);
    }
}

/* A zone of more than 63 wraps is counted as one whose end is not known. */
static void too_long(void) {
    session();
    PROF_BLOCK("long") spend(63ull << 32);
    PROF_BLOCK("too long") spend(65ull << 32);
    leaf(1);
    stop();
    COUNT(UNFINISHED, 1);
    CHECK(has("long", 0, 0, 0, 63ull << 32), 1);
    CHECK(has("too long", 0, 0, 64ull << 32, 64ull << 32), 1);
    CHECK(has("leaf", 0, 0, 128ull << 32, 1), 1);
    CHECK(found.zones[1].unfinished && !found.zones[0].unfinished, 1);
}

/* The arena is full, and zones end wraps later. */
static void long_when_full(void) {
    session();
    PROF_BLOCK("outer") {
        PROF_BLOCK("inner") {
            for (int i = 0; i < 100; i++) leaf(0);
            spend(5ull << 32);
        }
        spend(7ull << 32);
    }
    stop();
    CHECK(has("inner", 0, 1, 0, 5ull << 32), 1);
    CHECK(has("outer", 0, 0, 0, 12ull << 32), 1);
}

/* ---- sinks and sessions ---- */

static void sinks_fail(void) {
    uint32_t all;
    session();
    PROF_BEGIN("open");
    for (int i = 0; i < 60; i++) leaf(1);
    stop();
    all = found.calls;
    CHECK(all > 5, 1);
    for (uint32_t n = 1; n <= all; n++) {
        CHECK(find(n), PROF_ERROR_SINK);
        CHECK(found.calls, n);
    }
}

/* A dump of a session that goes on, and another one. */
static void twice(void) {
    session();
    PROF_BLOCK("outer") {
        leaf(1);
        CHECK(find(0), PROF_OK);
        CHECK(has("leaf", 0, 1, 0, 1) && has("outer", 0, 0, 0, 1), 1);
        COUNT(UNFINISHED, 1);
        leaf(2);
    }
    stop();
    CHECK(has("leaf", 0, 1, 0, 1) && has("leaf", 0, 1, 1, 2) && has("outer", 0, 0, 0, 3), 1);
    COUNT(UNFINISHED, 0);
    COUNT(RECORDED, 3);
}

static void refusals(void) {
    prof_sink none = { NULL, NULL };
    leaf(1);                             /* before the first session: nothing */
    PROF_BEGIN("none");
    PROF_END();
    prof_tick();
    prof_stop();
    CHECK(find(0), PROF_ERROR_STATE);
    session();
    CHECK(prof_start(NULL), PROF_ERROR_STATE);
    CHECK(prof_dump(none), PROF_ERROR_INVALID);
    stop();
    COUNT(RECORDED, 0);
    COUNT(UNBALANCED, 0);
}

/* ---- what the scripts read ---- */

/* Wraps of the clock, told by zones and then by prof_tick, two contexts, a zone left open. */
static void last(void) {
    prof_desc desc = { { 3000000 } };
    in_context = 0;
    clock_ticks = 0xfffffff0u;
    CHECK(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 20; i++) {
        clock_ticks += 0x20000000u;
        in_context = i % 5 ? 0 : 3;
        leaf((uint32_t)i);
    }
    in_context = 0;
    PROF_BLOCK("long") spend(6ull << 30);
    PROF_BEGIN("open");
    leaf(100);
    clock_ticks += 50;
    stop();
    CHECK(found.rate, 3000000);
}

int main(void) {
    const prof_sink file = { board_file, NULL };
    refusals();
    zones();
    blocks();
    odd_ends();
    deep();
    full();
    narrow_clocks();
    clock_stands();
    clock_runs_back();
    long_zones();
    too_long();
    long_when_full();
    sinks_fail();
    twice();
    last();
    CHECK(board_file_open("trace.raw") && prof_dump(file) == PROF_OK && board_file_close(), 1);
    return wrong ? 1 : 0;
}
