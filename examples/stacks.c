/* Native call stacks: which functions led to each zone, also those that are marked nowhere (qsort).
   Build:  cc -std=c99 -O2 -I. examples/stacks.c examples/prof.c -o stacks -lpthread
   Prints folded stacks; give them to flamegraph.pl or speedscope. */
#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

static volatile int spun;

static int compare(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    PROF_FUNCTION();
    for (int i = 0; i < 2000; i++) spun++;
    return x < y ? -1 : x > y;
}

static void sort(void) {
    int list[16];
    for (int i = 0; i < 16; i++) list[i] = i * 7 % 16;
    PROF_FUNCTION();
    qsort(list, 16, sizeof *list, compare);
}

static bool write_out(void *user, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)user) == size;
}

int main(void) {
    prof_desc desc = { 0 };
    prof_sink out = { write_out, NULL };
    out.user = stdout;
    desc.with_stack = PROF_STACK_UNWIND;
    if (prof_start(&desc) != PROF_OK) {
        fprintf(stderr, "%s\n", prof_strerror(PROF_ERROR_UNSUPPORTED));
        return 1;
    }
    sort();
    return prof_write_stacks(prof_stop(), PROF_METRIC_SELF_CPU_TIME_TOTAL, out) != PROF_OK;
}
