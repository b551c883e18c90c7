/* What size.sh measures, on a target without a C library: PART says how much of prof.h the
   image has; its size less that of PART 0 is the cost. COUNT is a program for the emulator instead:
   it counts the instructions of a zone and prints them, in hundredths. */
#define EMPTY 0
#define RECORDER 1
#define MOMENTS 2
#define TABLE 3
#define CHROME 4
#define STACKS 5
#define FULL 6
#define CHROME_ARRAY 7
#define RAW 8
#define AGGREGATE 9
#define DUMP 10
#define LEAST 11
#define RECORD 12
#define ZONES 13

#ifdef CORE
#  include "examples/baremetal/core.h"
#else
#  include "prof.h"
#endif
#include "examples/baremetal/board.h"

void board_on_timer(void) {}

#ifdef COUNT

/* Instructions so far. Under QEMU's -icount shift=0 one takes 1 ns, and SysTick has 25 MHz. */
#  ifdef __riscv
#    define INSTRUCTIONS_PER_TICK 1
static uint32_t ticks(void) {
    unsigned long n;
    __asm__ volatile("csrr %0, minstret" : "=r"(n));
    return (uint32_t)n;
}
#  else
#    define INSTRUCTIONS_PER_TICK 40
static uint32_t ticks(void) { return (0xFFFFFF - *(volatile uint32_t *)0xE000E018) & 0xFFFFFF; }
#  endif

#  define NOINLINE __attribute__((noinline))
#  define NOTHING() __asm__ volatile("")
NOINLINE static void without(void) { NOTHING(); }
NOINLINE static void zone(void) {
    PROF_SCOPE("zone");
    NOTHING();
}
NOINLINE static void pair(void) {
    PROF_BEGIN("pair");
    NOTHING();
    PROF_END();
}

#  ifdef CORE
static bool recorded_of(void *user, const void *data, size_t size) {
    const uint32_t *words = (const uint32_t *)data;
    if ((words[1] & 0xffff) == 6) *(uint32_t *)user = words[8];
    return size > 0;
}
static uint32_t recorded(void) {
    uint32_t zones = 0;
    const prof_sink sink = { recorded_of, &zones };
    return prof_dump(sink) == PROF_OK ? zones : 0;
}
#  else
static uint64_t recorded(void) { return prof_get_stats(NULL).recorded; }

NOINLINE static void switch_twice(void) {
    prof_task_in(1, "one");
    prof_task_in(2, "two");
}
#  endif

enum { ROUNDS = 2000 };

static int32_t measure(void (*what)(void)) {
    uint32_t from = ticks();
    for (int i = 0; i < ROUNDS; i++) what();
    return (int32_t)((ticks() - from) & 0xFFFFFF) * INSTRUCTIONS_PER_TICK;
}

static void say(const char *name, int32_t instructions) {
    char text[32], *p = text + sizeof text;
    uint32_t n = (uint32_t)instructions * 100 / ROUNDS;
    *--p = '\n';
    do *--p = (char)('0' + n % 10); while (n /= 10);
    while (*name) board_uart(NULL, name++, 1);
    board_uart(NULL, " ", 1);
    board_uart(NULL, p, (size_t)(text + sizeof text - p));
}

#  ifdef MODES
NOINLINE static void moment(void) {
    PROF_INSTANT("moment");
    NOTHING();
}
NOINLINE static void push(void) {
    prof_push("short");
    NOTHING();
    prof_pop();
}

static void in_mode(prof_mode mode, const char *name, void (*what)(void), int32_t nothing) {
    static uint64_t memory[1024];        /* 8 KiB: pages change, and a trace is full */
    prof_desc desc = { 0 };
    desc.mode = mode;
    desc.max_depth = 4;
    if (what == zone) desc.memory = memory, desc.memory_size = sizeof memory;
    if (prof_start(&desc) != PROF_OK) return;
    prof_tick();
    for (int i = 0; i < ROUNDS; i++) zone();
    what();
    say(name, measure(what) - nothing);
    prof_stop();
}

static void modes(int32_t nothing) {
    in_mode(PROF_MODE_TRACE, "full", zone, nothing);
    in_mode(PROF_MODE_RING, "ring", zone, nothing);
    in_mode(PROF_MODE_AGGREGATE, "sums", zone, nothing);
    in_mode(PROF_MODE_TRACE, "moment", moment, nothing);
    in_mode(PROF_MODE_TRACE, "push", push, nothing);
}
#  endif

int main(void) {
    prof_desc desc = { 0 };
    int32_t nothing;
#  ifndef CORE
    desc.max_depth = 4;
#  endif
#  ifndef __riscv
    *(volatile uint32_t *)0xE000E014 = 0xFFFFFF;
    *(volatile uint32_t *)0xE000E018 = 0;
    *(volatile uint32_t *)0xE000E010 = 5;
#  endif
    nothing = measure(without);
#  ifdef MODES
    modes(nothing);
    return 0;
#  endif
    say("off_zone", measure(zone) - nothing);
    if (prof_start(&desc) != PROF_OK) return 1;
    zone();
    say("plain", measure(zone) - nothing);   /* the slow path, now and then, counts wraps */
    prof_stop();
    if (prof_start(&desc) != PROF_OK) return 1;
    prof_tick();
    zone();                              /* sites, a state, the first page */
    pair();
    say("zone", measure(zone) - nothing);
    say("pair", measure(pair) - nothing);
    prof_stop();
    say("off_pair", measure(pair) - nothing);
    if (recorded() != 2 + 2 * ROUNDS) return 2;
#  ifndef CORE
    if (prof_start(&desc) != PROF_OK) return 1;
    prof_tick();
    switch_twice();
    zone();
    say("task_zone", measure(zone) - nothing);
    say("switch", (measure(switch_twice) - nothing) / 2);
    prof_stop();
    if (recorded() != 3 + 3 * ROUNDS) return 2;   /* and the stretches */
#  endif
    return 0;
}

#else

static void work(void) {
    PROF_SCOPE("work");
    board_timer(1);
}

#  if PART == LEAST
/* The least RAM: 32 open zones and room for 32 more. */
int main(void) {
    prof_desc desc = { 0 };
    desc.max_depth = 32;
    desc.keep = PROF_KEEP_RECORDS;
    if (prof_start(&desc) != PROF_OK) return 1;
    for (int i = 0; i < 32; i++) PROF_BEGIN("deep");
    for (int i = 0; i < 32; i++) PROF_END();
    for (int i = 0; i < 32; i++) work();
    prof_stop();
    return prof_get_stats(NULL).dropped || prof_get_stats(NULL).unbalanced;
}
#  elif PART == ZONES
/* Sixteen zones, and sixteen more, which HALF leaves out. */
#    ifdef HALF
#      define MORE(name)
#    else
#      define MORE(name) PROF_SCOPE(name);
#    endif
#    define ZONED(n) \
    static __attribute__((noinline)) void zoned_##n(void) { \
        PROF_SCOPE("motor step " #n); \
        board_timer(0x##n); \
    } \
    static __attribute__((noinline)) void more_##n(void) { \
        MORE("shaft turn " #n) \
        board_timer(0x1##n); \
    }
ZONED(0) ZONED(1) ZONED(2) ZONED(3) ZONED(4) ZONED(5) ZONED(6) ZONED(7)
ZONED(8) ZONED(9) ZONED(A) ZONED(B) ZONED(C) ZONED(D) ZONED(E) ZONED(F)
#    define CALLS(n) zoned_##n(); more_##n();
int main(void) {
    CALLS(0) CALLS(1) CALLS(2) CALLS(3) CALLS(4) CALLS(5) CALLS(6) CALLS(7)
    CALLS(8) CALLS(9) CALLS(A) CALLS(B) CALLS(C) CALLS(D) CALLS(E) CALLS(F)
    return 0;
}
#  elif PART == RECORD
/* Begin and end and all that they call, without what starts and stops a session. */
int main(void) {
    work();
    return 0;
}
#  elif PART != EMPTY && defined(CORE)
int main(void) {
    const prof_sink uart = { board_uart, NULL };
    prof_desc desc = { 0 };
    if (prof_start(&desc) != PROF_OK) return 1;
    work();
    prof_stop();
    return PART == DUMP && prof_dump(uart) != PROF_OK;
}
#  elif PART != EMPTY
static const prof_sink uart = { board_uart, NULL };

static void moments(void) {
    prof_instant("here");
    prof_counter("count", 1);
    prof_push("name");
    prof_pop();
}

/* What the program does with the trace; 0: well. */
static int report(prof_trace *trace) {
    int failed = trace == NULL;
#    if PART == TABLE || PART == FULL
    failed |= prof_write_table(trace, NULL, uart) != PROF_OK;
#    endif
#    if PART == CHROME || PART == FULL
    failed |= prof_write_chrome(trace, NULL, uart) != PROF_OK;
#    endif
#    if PART == STACKS || PART == FULL
    failed |= prof_write_stacks(trace, PROF_METRIC_NONE, uart) != PROF_OK;
#    endif
#    if PART == DUMP
    failed |= prof_dump(uart) != PROF_OK;
#    endif
#    if PART == AGGREGATE
    static prof_average rows[8];
    size_t n = prof_snapshot(rows, 8);
    failed |= prof_write_rows(rows, n, NULL, NULL, uart) != PROF_OK;
#    endif
    (void)uart;
    return failed;
}

int main(void) {
    prof_desc desc = { 0 };
#    if PART == AGGREGATE
    desc.mode = PROF_MODE_AGGREGATE;
#    elif PART == CHROME_ARRAY || PART == RAW
    desc.mode = PROF_MODE_STREAM;
    desc.stream = uart;
    desc.stream_format = PART == RAW ? PROF_STREAM_RAW : PROF_STREAM_CHROME;
#    endif
    if (prof_start(&desc) != PROF_OK) return 1;
    work();
    if (PART == MOMENTS || PART == FULL || PART == CHROME_ARRAY) moments();
#    if PART == CHROME_ARRAY || PART == RAW
    if (prof_flush() != PROF_OK) return 2;
#    endif
    return report(prof_stop());
}
#  else
int main(void) {
    (void)work;
    return 0;
}
#  endif
#endif
