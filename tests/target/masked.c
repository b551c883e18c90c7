/* Every public call of the recorder with as many names as there can be, for tools/dev/masked.awk,
   which finds in QEMU's log how long each keeps interrupts masked: a call stands in a function of
   its own, call_NAME. The machine is an MPS2 with a Cortex-M, or RISC-V's virt, on which interrupts
   are calls here. */
#include "prof.h"

#include "examples/baremetal/board.h"

#define NOINLINE __attribute__((noinline))
#define NOTHING() __asm__ volatile("" : : : "memory")
#define CALL(name, ...) NOINLINE void call_##name(void); \
    NOINLINE void call_##name(void) { __VA_ARGS__; NOTHING(); }

enum { MARKS = 7, NAMES = 64 - MARKS, INTERRUPTS = 6, OPEN = 8 };

static char names[NAMES][24];            /* "sensor/channel/00": what differs comes last */
static const char *name;
static uint32_t number;
static prof_desc desc;
static prof_average rows[64];

static bool nowhere(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    (void)size;
    return true;
}
static const prof_sink sink = { nowhere, NULL };

#define CLOCK (*(volatile uint32_t *)CLOCK_AT)   /* free memory, by size.sh the PROF_NOW() */

static void name_them(void) {
    static const char text[] = "sensor/channel/";
    for (unsigned i = 0; i < NAMES; i++) {
        for (unsigned k = 0; k < sizeof text; k++) names[i][k] = text[k];
        names[i][sizeof text - 1] = (char)('0' + i / 10);
        names[i][sizeof text] = (char)('0' + i % 10);
    }
}

CALL(prof_start, (void)(prof_start)(&desc))
CALL(prof_stop, (void)prof_stop())
CALL(zone, PROF_SCOPE("zone"))
CALL(pair, PROF_BEGIN("pair"); PROF_END())
CALL(begin, PROF_BEGIN("open"))
CALL(end_of_all, PROF_BLOCK("around") for (int i = 0; i < OPEN; i++) call_begin())
CALL(prof_push, prof_push(name))
CALL(prof_pop, prof_pop())
CALL(prof_instant, prof_instant(name))
CALL(prof_counter, prof_counter(name, 7))
CALL(PROF_INSTANT, PROF_INSTANT("here"))
CALL(PROF_COUNTER, PROF_COUNTER("level", 7))
CALL(prof_set_thread_name, prof_set_thread_name("a name longer than what is kept"))
CALL(prof_thread_end, prof_thread_end())
CALL(prof_tick, prof_tick())
CALL(prof_task_in, prof_task_in(number, name))
CALL(prof_task_gone, prof_task_gone(number))
CALL(prof_now, (void)prof_now())
CALL(prof_flush, (void)prof_flush())
CALL(prof_dump, (void)prof_dump(sink))
CALL(prof_snapshot, (void)prof_snapshot(rows, 64))
CALL(prof_get_stats, (void)prof_get_stats(NULL))
CALL(prof_write_table, (void)prof_write_table(prof_stop(), NULL, sink))

/* The hot path alone fills the page; what comes then sees all those zones. */
NOINLINE static void many_zones(int n) {
    for (int i = 0; i < n; i++) call_zone();
}

NOINLINE void call_zone_in_interrupt(void);
NOINLINE void call_zone_in_interrupt(void) { PROF_SCOPE("interrupt"); }
void board_on_timer(void) { call_zone_in_interrupt(); }

#ifdef __arm__
static void interrupts(void) {
    static void (*vectors[32])(void) __attribute__((aligned(128)));
    for (unsigned i = 0; i < 16 + INTERRUPTS; i++)
        vectors[i] = i < 16 ? (*(void (*const *)(void))(uintptr_t)(i * 4)) : board_on_timer;
    *(volatile uint32_t *)0xE000ED08 = (uint32_t)(uintptr_t)vectors;
    *(volatile uint32_t *)0xE000E100 = (1u << INTERRUPTS) - 1;
    for (unsigned i = 0; i < INTERRUPTS; i++) {
        *(volatile uint32_t *)0xE000E200 = 1u << i;
        __asm__ volatile("dsb\n\tisb");
    }
}
#else
static void interrupts(void) { board_on_timer(); }
#endif

/* Each call at its first time and with all names known; the clock wraps in between. */
static void calls(void) {
    call_zone();
    interrupts();
    for (unsigned i = 0; i < NAMES; i++) {
        name = names[i];
        call_prof_push();
        call_prof_pop();
    }
    call_prof_instant();
    call_prof_counter();
    call_prof_set_thread_name();
    for (int i = 0; i < 3; i++) {
        call_PROF_INSTANT();
        call_PROF_COUNTER();
        call_pair();
        call_end_of_all();
        call_prof_now();
        many_zones(40);
        CLOCK += 1u << 31;        /* half a wrap */
        call_prof_push();
        call_prof_pop();
        many_zones(120);
        call_prof_flush();
    }
    for (number = 1; number <= 6; number++) {
        name = names[number];
        call_prof_task_in();
        call_pair();
        call_begin();
    }
    call_prof_task_in();                 /* a new one */
    for (number = 1; number <= 5; number++) call_prof_task_gone();
    call_prof_thread_end();
    call_prof_get_stats();
    many_zones(40);
    call_prof_snapshot();
    many_zones(40);
    CLOCK += 1u << 31;
    call_prof_tick();
    call_pair();
    interrupts();
    call_prof_tick();
    call_prof_dump();
    name = "one name too many, when the list is full";
    call_prof_push();
    call_prof_pop();
    many_zones(200);                     /* until the arena is full */
    call_prof_counter();
    call_begin();
    call_prof_stop();
}

int main(void) {
    name_them();
    desc.stream = sink;
    for (int mode = PROF_MODE_TRACE; mode <= PROF_MODE_AGGREGATE; mode++) {
        desc.mode = (prof_mode)mode;
        call_prof_start();
        if (prof_now() < 0) return 1;
        calls();
        call_prof_get_stats();
        if (mode != PROF_MODE_STREAM && !prof_get_stats(NULL).recorded) return 2 + mode;
        if (!prof_get_stats(NULL).others) return 7;   /* the list of names is full */
        if (mode == PROF_MODE_TRACE) call_prof_write_table();
    }
    return 0;
}
