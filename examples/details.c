/* details.c: what zones can carry, and memory.

   Shows: shapes, FLOPs by formula, modules, arguments, forward and backward joined by an arrow,
          allocations charged to zones through wrappers over malloc and free, a future that is
          completed on another thread, and the memory timeline.
   Build: cc -std=c99 -O2 -I. examples/details.c examples/prof.c -o details -pthread
   Run:   ./details [trace.json]    then open the file at ui.perfetto.dev */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

/* ---- Drop these over malloc and free ---- */

static const prof_device host = {PROF_DEVICE_CPU, 0};

static void *profiled_malloc(size_t size) {
    void *p = malloc(size);
    prof_memory_alloc(p, size, host);    /* p NULL: shows as [OutOfMemory] */
    return p;
}

static void profiled_free(void *p) {
    prof_memory_free(p, host);           /* before free: the address may be another's after it */
    free(p);
}

/* ---- A linear layer ---- */

enum { BATCH = 64, INPUTS = 256, OUTPUTS = 128 };

static float input[BATCH][INPUTS], (*weight)[OUTPUTS];

static bool load(void) {
    PROF_FUNCTION();
    prof_memory_kind before = prof_memory_category(PROF_MEMORY_PARAMETER);
    weight = profiled_malloc(INPUTS * sizeof *weight);
    prof_memory_category(before);
    for (int i = 0; weight && i < INPUTS * OUTPUTS; i++) {
        weight[i / OUTPUTS][i % OUTPUTS] = (float)(i % 5);
    }
    return weight != NULL;
}

/* Tells the profiler what the matrix product is made of: its FLOPs follow from that. */
static void describe(int64_t m, int64_t k, int64_t n) {
    static const char *const types[] = {"float", "float"};
    int64_t left[] = {m, k}, right[] = {k, n};
    prof_shape shapes[] = {{left, NULL, 2}, {right, NULL, 2}};
    prof_set_shapes(shapes, types, 2);
}

/* Joins the backward zone with its forward zone (scope 0), which has the same number. */
static void describe_sequence(int step, uint8_t scope) {
    prof_extra extra = {0};
    extra.has = PROF_HAS_SEQUENCE_NR;
    extra.sequence_nr = step;
    extra.scope = scope;
    extra.fwd_thread = prof_thread_id();
    prof_set(&extra);
}

static void forward(float *out, int step) {
    PROF_SCOPE("aten::mm");
    describe(BATCH, INPUTS, OUTPUTS);
    describe_sequence(step, 0);
    prof_set_arg("layout", "row major");
    for (int i = 0; i < BATCH; i++) {
        for (int j = 0; j < OUTPUTS; j++) {
            float sum = 0;
            for (int k = 0; k < INPUTS; k++) sum += input[i][k] * weight[k][j];
            out[i * OUTPUTS + j] = sum;
        }
    }
}

static void backward(const float *out, int step) {
    PROF_SCOPE("MmBackward");
    float *gradient;
    prof_memory_kind before = prof_memory_category(PROF_MEMORY_GRADIENT);
    describe_sequence(step, 1);
    gradient = profiled_malloc(sizeof *gradient * OUTPUTS);
    prof_memory_category(before);
    if (!gradient) return;
    for (int j = 0; j < OUTPUTS; j++) gradient[j] = 0.01f * out[j];
    for (int k = 0; k < INPUTS; k++) {
        for (int j = 0; j < OUTPUTS; j++) weight[k][j] -= gradient[j];
    }
    profiled_free(gradient);
}

static void train(int step) {
    PROF_SCOPE("step");
    prof_memory_kind before = prof_memory_category(PROF_MEMORY_ACTIVATION);
    float *out = profiled_malloc(sizeof *out * BATCH * OUTPUTS);
    prof_memory_category(before);
    if (!out) return;
    prof_module_push("linear");
    forward(out, step);
    prof_module_pop();
    backward(out, step);
    profiled_free(out);
}

/* ---- A future: begun here, completed by another thread ---- */

typedef struct task {
    prof_async range;
    uint64_t arrow;
} task;

static void *complete(void *argument) {
    task *t = argument;
    PROF_SCOPE("complete");
    prof_flow(t->arrow);
    prof_async_end(t->range);
    return NULL;
}

static void use_future(void) {
    PROF_SCOPE("submit");
    pthread_t thread;
    task t = {prof_async_begin("future"), prof_flow(0)};
    if (pthread_create(&thread, NULL, complete, &t) == 0) pthread_join(thread, NULL);
}

/* ---- The session ---- */

static bool to_file(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "trace.json";
    prof_averages_desc by_shape = {0};
    prof_table_desc table = {0};
    prof_desc desc = {0};
    prof_sink out = {to_file, stdout};

    for (int i = 0; i < BATCH * INPUTS; i++) input[i / INPUTS][i % INPUTS] = (float)(i % 7);
    desc.record_shapes = desc.with_flops = desc.with_modules = true;
    desc.profile_memory = true;
    desc.with_stack = PROF_STACK_ZONES;
    prof_add_metadata("model", "one linear layer");
    prof_start(&desc);
    if (!load()) return EXIT_FAILURE;
    for (int step = 0; step < 3; step++) train(step);
    use_future();
    prof_trace *trace = prof_stop();

    by_shape.group_by_input_shapes = true;
    table.averages = &by_shape;
    table.sort_by = PROF_METRIC_SELF_CPU_TIME_TOTAL;
    prof_print_table(trace, &table);
    printf("Memory over time: ");
    fflush(stdout);
    prof_memory_desc memory = {host, true};
    prof_write_memory_timeline(trace, &memory, out);
    prof_result result = prof_save_chrome(trace, path);
    if (result != PROF_OK) {
        fprintf(stderr, "details: %s: %s\n", path, prof_strerror(result));
        return EXIT_FAILURE;
    }
    printf("Open %s at ui.perfetto.dev\n", path);
    free(weight);
    return EXIT_SUCCESS;
}
