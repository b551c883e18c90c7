/* What small arenas hold, on the target itself: zones in 8 KiB, tasks in 16 KiB, contexts in what
   prof_arena_size says, and an interrupt that first comes when main() has filled the ring. The exit
   status is the number of the check that failed. */
#define PROF_IMPLEMENTATION
#include "prof.h"

#include "examples/baremetal/board.h"

static union { char bytes[16384]; uint64_t align; } memory;
static volatile uint32_t interrupts;

void board_on_timer(void) {
    PROF_BLOCK("interrupt") {
        PROF_BLOCK("within it") interrupts++;
    }
}

static bool nowhere(void *user, const void *data, size_t size) {
    (void)user;
    return data && size > 0;
}

static prof_result start(prof_desc *desc, prof_mode mode, size_t size) {
    desc->mode = mode;
    desc->memory = memory.bytes;
    desc->memory_size = size;
    desc->platform.ticks_per_second = BOARD_HZ;
    return prof_start(desc);
}

/* Zones until the arena is full, which are then in its table. */
static int zones(prof_mode mode) {
    const prof_sink sink = { nowhere, NULL };
    prof_desc desc = { 0 };
    prof_trace *trace;
    prof_stats stats;
    if (start(&desc, mode, 8192) != PROF_OK) return 1;
    for (int i = 0; i < 1000; i++) {
        PROF_BEGIN("outer");
        PROF_BLOCK("inner") {}
        PROF_END();
    }
    trace = prof_stop();
    if (prof_get_stats(NULL).recorded < 420) return 2;
    stats = prof_get_stats(NULL);
    if (mode == PROF_MODE_TRACE && stats.recorded + stats.dropped != 2000) return 3;
    if (mode == PROF_MODE_RING && prof_get_stats(NULL).dropped) return 4;
    return prof_write_table(trace, NULL, sink) == PROF_OK ? 0 : 5;
}

/* Interrupts until there were 30; the rest of the time main() has zones. */
static void interrupted(void) {
    interrupts = 0;
    board_timer(2000);
    while (interrupts < 30) { PROF_BLOCK("main after") {} }
    board_timer(0);
}

static int late(size_t size) {
    prof_desc desc = { 0 };
    if (start(&desc, PROF_MODE_RING, size) != PROF_OK) return 11;
    for (int i = 0; i < 4000; i++) { PROF_BLOCK("main before") {} }
    interrupted();
    prof_stop();
    if (prof_get_stats(NULL).threads != 2) return 12;
    return prof_get_stats(NULL).dropped ? 13 : 0;
}

/* As in prof.h's 10 lines, and an interrupt. */
static int plain(void) {
    if (prof_start(NULL) != PROF_OK) return 21;
    interrupts = 0;
    board_timer(2000);
    PROF_BLOCK("main") while (interrupts < 30) {}
    board_timer(0);
    prof_stop();
    if (prof_get_stats(NULL).recorded < 61) return 22;
    return prof_get_stats(NULL).dropped ? 23 : 0;
}

static int tasks(prof_mode mode) {
    static char names[24][8];
    prof_desc desc = { 0 };
    desc.max_depth = 7;
    if (start(&desc, mode, 16384) != PROF_OK) return 31;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 24; i++) {
            names[i][0] = 't';
            names[i][1] = (char)('a' + i);
            prof_task_in(i, names[i]);
            PROF_BLOCK("waits for work") {}
            PROF_BLOCK("works") {}
        }
    }
    prof_stop();
    if (prof_get_stats(NULL).threads != 25) return 32;
    return prof_get_stats(NULL).dropped ? 33 : 0;
}

/* So many contexts need no more than so many bytes beside the names, and these do. */
static int least(uint32_t contexts, size_t most) {
    prof_desc desc = { 0 };
    size_t size;
    desc.max_depth = 4;
    desc.max_threads = contexts;
    size = prof_arena_size(&desc);
    if (size > most + prof__sites.count * prof__site_cost()) return 41;
    if (start(&desc, PROF_MODE_RING, size + 2 * prof__site_cost()) != PROF_OK) return 42;
    for (int i = 0; i < 100; i++) { PROF_BLOCK("main before") {} }
    if (contexts > 1) interrupted();
    prof_stop();
    return prof_get_stats(NULL).dropped ? 43 : 0;
}

int main(void) {
    int failed = 0;
    if (!failed) failed = zones(PROF_MODE_TRACE);
    if (!failed) failed = zones(PROF_MODE_RING);
    if (!failed) failed = late(4096);
    if (!failed) failed = late(8192);
    if (!failed) failed = late(16384);
    if (!failed) failed = plain();
    if (!failed) failed = tasks(PROF_MODE_TRACE);
    if (!failed) failed = tasks(PROF_MODE_RING);
    if (!failed) failed = least(1, 600);
    if (!failed) failed = least(8, 2600);
    return failed;
}
