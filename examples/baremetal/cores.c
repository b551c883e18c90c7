/* Two cores that take jobs from one list, each with interrupts of its own: a row a core in the
   table and the trace, and one for its interrupts. cores.h has what prof.h must be told. `make
   embedded` runs it on QEMU's mps2-an521, one core at a time and both at once. */
#include "prof.h"

#include "board.h"
#include "cores.h"

#ifndef JOBS
#  define JOBS 1000u
#endif

volatile uint32_t cores_owner;
static volatile uint32_t jobs_done[2], ticks[2], next_job;
static volatile enum { WAITS, RUNS, ENDED } other;

/* ---- the list of jobs ---- */

static bool take_job(uint32_t *job) {
    uint32_t failed;
    do {
        __asm__ volatile("ldrex %0, [%1]" : "=r"(*job) : "r"(&next_job) : "memory");
        if (*job == JOBS) return false;
        __asm__ volatile("strex %0, %2, [%1]" : "=&r"(failed) : "r"(&next_job), "r"(*job + 1)
                         : "memory");
    } while (failed);
    return true;
}

static uint32_t checksum(uint32_t job) {
    uint32_t sum = job;
    PROF_BLOCK("checksum")
        for (uint32_t i = 0; i < 20 + job % 13; i++) sum = sum * 31 + i;
    return sum;
}

static void work(void) {
    uint32_t job, core = this_core();
    volatile uint32_t result;
    while (take_job(&job)) {
        PROF_BLOCK("job") {
            result = checksum(job);
            if (job % 3 == 0) result = checksum(job + 1);
        }
        jobs_done[core]++;
        __asm__ volatile("yield");          /* QEMU runs one core at a time: now the other */
    }
    (void)result;
}

void board_on_timer(void) {
    uint32_t core = this_core();
    if (!ticks[core]) prof_set_thread_name(core ? "ticks of 1" : "ticks of 0");
    PROF_BLOCK("tick") ticks[core]++;
}

/* ---- the cores ---- */

static void other_core(void) {
    prof_set_thread_name("core 1");
    other = RUNS;
    board_timer(3000);
    PROF_BLOCK("run") work();
    board_timer(0);
    __asm__ volatile("dmb" : : : "memory");
    other = ENDED;
    for (;;) __asm__ volatile("wfi");
}

/* What the table must say, as the program counted it. */
static bool counted(const prof_trace *trace) {
    prof_average rows[8];
    size_t count = prof_key_averages(trace, NULL, rows, 8);
    uint64_t jobs = 0, in_interrupts = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].key[0] == 'j') jobs = rows[i].count;
        if (rows[i].key[0] == 't') in_interrupts = rows[i].count;
    }
    return jobs == JOBS && jobs_done[0] + jobs_done[1] == JOBS &&
           in_interrupts == ticks[0] + ticks[1] && prof_get_stats(NULL).dropped_full == 0 &&
           prof_get_stats(NULL).unbalanced == 0;
}

int main(void) {
    prof_desc desc = { 0 };
    prof_sink uart = { board_uart, NULL }, file = { board_file, NULL };
    const prof_trace *trace;
    desc.max_depth = 4;
    desc.platform.ticks_per_second = BOARD_HZ;
    if (prof_start(&desc) != PROF_OK) return 1;
    prof_set_thread_name("core 0");
    board_start_core(other_core);
    while (other == WAITS) __asm__ volatile("yield");
    board_timer(2500);
    PROF_BLOCK("run") work();
    board_timer(0);
    while (other != ENDED) __asm__ volatile("yield");
    trace = prof_stop();
    if (prof_write_table(trace, NULL, uart) != PROF_OK) return 2;
    if (!board_file_open("trace.json") || prof_write_chrome(trace, NULL, file) != PROF_OK ||
        !board_file_close())
        return 3;
    if (!counted(trace)) return 4;
    return jobs_done[0] && jobs_done[1] && ticks[0] && ticks[1] ? 0 : 5;
}
