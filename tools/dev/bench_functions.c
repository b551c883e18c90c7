/* What -finstrument-functions' hooks cost: bench_functions ring|aggregate COUNT, under callgrind
   (tools/dev/bench.c). It enters COUNT functions; of nine two are inlined, whose hooks are called
   from the frame of the function around them. */
#define PROF_IMPLEMENTATION
#define PROF_INSTRUMENT_FUNCTIONS
#include "prof.h"

#include <stdlib.h>
#include <string.h>

#define QUIET __attribute__((noinline, no_instrument_function))
#define CALLED __attribute__((noinline)) static void
#define INLINED __attribute__((always_inline)) static inline void
#define BARRIER() __asm__ volatile("" ::: "memory")

CALLED leaf(void) { BARRIER(); }
CALLED other_leaf(void) { BARRIER(); }
INLINED inlined(void) { BARRIER(); }

CALLED middle(void) {
    leaf();
    inlined();
    other_leaf();
}

CALLED outer(void) {
    middle();
    middle();
}

/* What callgrind counts is what this calls. */
QUIET static void under_callgrind(size_t count) {
    for (size_t i = 0; i < count; i += 9) {
        outer();
        BARRIER();
    }
}

QUIET int main(int argc, char **argv) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    if (argc != 3) return 2;
    desc.mode = strcmp(argv[1], "ring") ? PROF_MODE_AGGREGATE : PROF_MODE_RING;
    if (prof_start(&desc) != PROF_OK) return 1;
    under_callgrind((size_t)atol(argv[2]));
    return !prof_stop();
}
