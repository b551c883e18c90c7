/* Shows: a made-up device's kernels, attributed to the zones that launched them, with arrows and
   memory. What joins it to prof.h is npu.h.

   cc -std=c99 -O2 -I. examples/device/npu.c examples/prof.c -o npu -lpthread && ./npu npu.json */
#include "npu.h"

static void layer(int i) {
    PROF_SCOPE("layer");
    npu_launch("transpose", 20000);
    if (i % 2) npu_launch("matmul", 80000);
}

int main(int argc, char **argv) {
    prof_desc desc = {.profile_memory = true};
    char weights[64];
    prof_trace *trace;
    if (npu_join() != PROF_OK || prof_start(&desc) != PROF_OK) return 1;
    PROF_BLOCK("load") { npu_alloc(weights, 1 << 20); }
    PROF_BLOCK("step")
        for (int i = 0; i < 4; i++) layer(i);
    PROF_BLOCK("unload") { npu_free(weights); }
    trace = prof_stop();
    prof_print_table(trace, NULL);
    return prof_save_chrome(trace, argc > 1 ? argv[1] : "trace.json") != PROF_OK;
}
