/* execution.c: an execution trace: PyTorch's record of what ran, on which inputs.

   Shows: the execution-trace observer over the windows of a schedule, inputs and outputs with
          tensor ids, op_schema, process groups, and ids that join it with the Chrome trace.
   Build: cc -std=c99 -O2 -I. examples/execution.c examples/prof.c -o execution -lpthread
   Run:   ./execution [et.json [trace.json]]    then: prof et --link trace.json et.json */

#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

enum { ROWS = 32, COLUMNS = 64 };

/* A matrix knows its number, so that a reader can follow it from op to op. */
typedef struct matrix {
    uint64_t id;
    float at[ROWS * COLUMNS];
} matrix;

static prof_tensor tensor_of(const matrix *m) {
    prof_tensor t = {m->id, m->id, 0, {PROF_DEVICE_CPU, 0}};
    return t;
}

/* Tells what an op of two inputs and one output is made of. */
static void describe(const matrix *a, const matrix *b, const matrix *out, const char *schema) {
    static const int64_t dims[] = {ROWS, COLUMNS};
    static const char *const types[] = {"float", "float"};
    prof_shape shapes[] = {{dims, NULL, 2}, {dims, NULL, 2}};
    prof_tensor tensors[] = {tensor_of(a), tensor_of(b), tensor_of(out)};
    prof_extra extra = {0};
    extra.input_shapes = extra.output_shapes = shapes;
    extra.dtypes = extra.output_dtypes = types;
    extra.input_count = 2;
    extra.output_count = 1;
    extra.tensors = tensors;
    extra.tensor_count = 3;
    prof_set(&extra);
    prof_set_arg("op_schema", schema);
}

static void add(const matrix *a, const matrix *b, matrix *out) {
    PROF_SCOPE("aten::add");
    describe(a, b, out, "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
    for (int i = 0; i < ROWS * COLUMNS; i++) out->at[i] = a->at[i] + b->at[i];
}

static void multiply(const matrix *a, const matrix *b, matrix *out) {
    PROF_SCOPE("aten::mul");
    describe(a, b, out, "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor");
    for (int i = 0; i < ROWS * COLUMNS; i++) out->at[i] = a->at[i] * b->at[i];
}

static void iterate(matrix *state, const matrix *input, matrix *between) {
    PROF_SCOPE("iterate");
    multiply(state, input, between);
    add(between, input, state);
}

static const char *trace_path = "trace.json";

static void save(void *user, prof_trace *trace) {
    prof_result *result = user;
    *result = prof_save_chrome(trace, trace_path);
}

int main(int argc, char **argv) {
    static matrix input = {1, {0}}, state = {2, {0}}, between = {3, {0}};
    const char *path = argc > 1 ? argv[1] : "et.json";
    prof_distributed group = {"gloo", 0, 1, 1, NULL, NULL};
    prof_result result = PROF_OK, written;
    prof_desc desc = {0};

    if (argc > 2) trace_path = argv[2];
    for (int i = 0; i < ROWS * COLUMNS; i++) input.at[i] = (float)(i % 3) / 4;
    desc.record_shapes = true;
    desc.schedule.wait = 2;
    desc.schedule.active = 2;
    desc.schedule.repeat = 1;
    desc.on_trace_ready = save;
    desc.user = &result;

    written = prof_execution_trace_register(path);
    if (written != PROF_OK) {
        fprintf(stderr, "execution: %s: %s\n", path, prof_strerror(written));
        return EXIT_FAILURE;
    }
    prof_execution_trace_start();
    prof_set_distributed(&group);
    prof_start(&desc);
    for (int step = 0; step < 6; step++) {
        iterate(&state, &input, &between);
        prof_step();
    }
    prof_stop();
    prof_execution_trace_stop();
    written = prof_execution_trace_unregister();

    if (written != PROF_OK || result != PROF_OK) {
        fprintf(stderr, "execution: %s\n", prof_strerror(written != PROF_OK ? written : result));
        return EXIT_FAILURE;
    }
    printf("The sum is %g. Now: prof et --link %s %s\n", (double)state.at[1], trace_path, path);
    return EXIT_SUCCESS;
}
