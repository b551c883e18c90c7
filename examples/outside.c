/* Shows: a trace made of events that other code measured, without a session: the tree, device time
   per operation, averages by input shape, and the same rows as JSON.

   cc -std=c99 -O2 -I. examples/outside.c examples/prof.c -o outside -lpthread && ./outside */
#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

enum { EVENTS = 5 };

static const int64_t small[2] = {64, 64}, large[2] = {512, 512};
static const prof_shape small_shape = {small, NULL, 2}, large_shape = {large, NULL, 2};
static const prof_kernel gemm[] = {{"sgemm_64", 4000, 0}, {"sgemm_512", 250000, 0}};

/* One step with two calls of mm; each launched a kernel. */
static void fill(prof_event *events, prof_extra *extras) {
    static const char *const names[EVENTS] = {"step", "mm", "mm", "sgemm_64", "sgemm_512"};
    static const int64_t times[EVENTS][2] = {
        {0, 400000}, {10000, 30000}, {50000, 90000}, {40000, 44000}, {100000, 350000}};
    for (int i = 0; i < EVENTS; i++) {
        events[i].name = names[i];
        events[i].start_ns = times[i][0];
        events[i].end_ns = times[i][1];
        events[i].thread = 1;
        if (i > 2) events[i].device_type = PROF_DEVICE_CUDA;
        if (i == 1 || i == 2) events[i].extra = &extras[i - 1];
    }
    for (int i = 0; i < 2; i++) {
        extras[i].input_shapes = i ? &large_shape : &small_shape;
        extras[i].input_count = 1;
        extras[i].kernels = &gemm[i];
        extras[i].kernel_count = 1;
    }
}

int main(void) {
    prof_event events[EVENTS] = {{0}};
    prof_extra extras[2] = {{0}};
    prof_averages_desc by_shape = {0};
    prof_trace_desc desc = {0};
    prof_table_desc table = {0};
    prof_trace *trace;
    prof_result result;

    fill(events, extras);
    desc.view.device_name = "cuda";
    desc.memory_size = prof_trace_memory_size(&desc, events, EVENTS);
    desc.memory = malloc(desc.memory_size);
    result = prof_trace_from_events(&desc, events, EVENTS, &trace);
    if (result == PROF_OK) {
        by_shape.group_by_input_shapes = true;
        table.averages = &by_shape;
        table.sort_by = PROF_METRIC_DEVICE_TIME_TOTAL;
        result = prof_print_table(trace, &table);
        table.format = PROF_FORMAT_JSON;
        table.row_limit = 1;
        if (result == PROF_OK) result = prof_print_table(trace, &table);
    }
    if (result != PROF_OK) fprintf(stderr, "outside: %s\n", prof_strerror(result));
    free(desc.memory);
    return result != PROF_OK;
}
