/* fibers.c: coroutines that keep their open zones while others run on the same thread.

   Shows: prof_context_switch beside swapcontext: a fiber has a row of its own in the trace, and a
          zone stays open while its fiber waits.
   Build: cc -std=c99 -O2 -I. examples/fibers.c examples/prof.c -o fibers -pthread
   Run:   ./fibers [trace.json]    then open the file at ui.perfetto.dev */

#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "prof.h"

enum { FIBERS = 3, ROUNDS = 4, STACK = 64 << 10 };

typedef struct fiber {
    ucontext_t cpu;
    void *prof;                          /* its context in the profiler; NULL: not yet begun */
} fiber;

static fiber fibers[FIBERS], scheduler;
static fiber *running = &scheduler;
static volatile unsigned sink;

/* The one place where fibers change. */
static void switch_to(fiber *next) {
    fiber *last = running;
    running = next;
    last->prof = prof_context_switch(next->prof);
    swapcontext(&last->cpu, &next->cpu);
}

static void work(unsigned amount) {
    PROF_FUNCTION();
    for (unsigned i = 0; i < amount * 100000; i++) sink += i;
}

static void run_fiber(void) {
    PROF_BLOCK("request") {
        for (unsigned i = 0; i < ROUNDS; i++) {
            work(i + 1);
            PROF_BLOCK("wait") switch_to(&scheduler);
        }
    }
    switch_to(&scheduler);
}

int main(int argc, char **argv) {
    static char stacks[FIBERS][STACK];
    const char *path = argc > 1 ? argv[1] : "trace.json";

    prof_start(NULL);
    PROF_BLOCK("schedule") {
        for (int i = 0; i < FIBERS; i++) {
            getcontext(&fibers[i].cpu);
            fibers[i].cpu.uc_stack.ss_sp = stacks[i];
            fibers[i].cpu.uc_stack.ss_size = STACK;
            makecontext(&fibers[i].cpu, run_fiber, 0);
        }
        for (int round = 0; round <= ROUNDS; round++) {
            for (int i = 0; i < FIBERS; i++) switch_to(&fibers[i]);
        }
    }
    prof_trace *trace = prof_stop();

    prof_print_table(trace, NULL);
    prof_result result = prof_save_chrome(trace, path);
    if (result != PROF_OK) {
        fprintf(stderr, "fibers: %s: %s\n", path, prof_strerror(result));
        return EXIT_FAILURE;
    }
    printf("Open %s at ui.perfetto.dev\n", path);
    return EXIT_SUCCESS;
}
