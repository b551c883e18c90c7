/* schedule.c: profiles a few steps of a long run, and saves each window as a file of its own.

   Shows: desc.schedule and prof_step, an on_trace_ready that ends in prof_trace_handler
          (tensorboard_trace_handler), metadata, rank and world size in each trace's head.
   Build: cc -std=c99 -O2 -I. examples/schedule.c examples/prof.c -o schedule -lpthread
   Run:   ./schedule [directory]    writes directory/HOST_PID.TIME.pt.trace.json, twice */

#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

enum { STEPS = 20, CELLS = 20000 };

static unsigned cells[CELLS];

static void load(unsigned step) {
    PROF_FUNCTION();
    for (unsigned i = 0; i < CELLS; i++) cells[i] = i * step;
}

static void compute(void) {
    PROF_FUNCTION();
    for (unsigned i = 1; i < CELLS; i++) cells[i] = cells[i] * 31 + cells[i - 1];
}

/* Called within prof_step when a window has closed: its trace lives until this returns. */
static void save(void *user, prof_trace *trace) {
    prof_handler *handler = user;
    prof_averages_desc by_name = {0};
    prof_table_desc table = {0};
    table.averages = &by_name;
    table.sort_by = PROF_METRIC_SELF_CPU_TIME_TOTAL;
    table.header = handler->saved ? "The second window" : "The first window";
    prof_print_table(trace, &table);
    prof_trace_handler(handler, trace);
}

int main(int argc, char **argv) {
    prof_handler handler = {argc > 1 ? argv[1] : "traces", NULL, false, PROF_OK, 0};
    prof_distributed process = {"gloo", 0, 2, 1, NULL, NULL};
    prof_desc desc = {0};

    desc.schedule.skip_first = 2;        /* 0 and 1: never */
    desc.schedule.wait = 3;              /* then twice: 3 steps nothing, */
    desc.schedule.warmup = 1;            /* 1 step getting ready, */
    desc.schedule.active = 4;            /* 4 steps recorded */
    desc.schedule.repeat = 2;
    desc.on_trace_ready = save;
    desc.user = &handler;

    prof_add_metadata("model", "a row of cells");
    prof_add_metadata_json("sizes", "{\"cells\": 20000}");
    prof_set_distributed(&process);
    prof_result result = prof_start(&desc);
    if (result != PROF_OK) {
        fprintf(stderr, "schedule: %s\n", prof_strerror(result));
        return EXIT_FAILURE;
    }
    for (unsigned step = 0; step < STEPS; step++) {
        load(step);
        compute();
        prof_step();
    }
    prof_stop();
    if (handler.result != PROF_OK) {
        fprintf(stderr, "schedule: %s: %s\n", handler.dir, prof_strerror(handler.result));
        return EXIT_FAILURE;
    }
    printf("%u windows are in %s (the sum is %u).\n", handler.saved, handler.dir, cells[CELLS - 1]);
    return EXIT_SUCCESS;
}
