/* Counters of each zone: page faults and CPU time from the kernel; cycles, instructions and cache
   misses where the machine has them (Linux); and a number of the program's own. */
#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

static void touch(size_t bytes) {
    volatile char *p;
    PROF_FUNCTION();
    prof_add(0, (int64_t)bytes);
    p = (volatile char *)malloc(bytes);
    for (size_t i = 0; p && i < bytes; i += 4096) p[i] = 1;
    free((void *)p);
}

int main(void) {
    prof_desc desc = { 0 };
    desc.numbers = "bytes";
    desc.hw_counters = "instructions,cache-misses";
    if (prof_start(&desc) != PROF_OK) {
        printf("%s\n", prof_strerror(PROF_ERROR_UNSUPPORTED));
        desc.hw_counters = "page-faults,task-clock";
        if (prof_start(&desc) != PROF_OK) {
            printf("%s\n", prof_strerror(PROF_ERROR_UNSUPPORTED));
            return 0;
        }
    }
    PROF_BLOCK("program") {
        touch(1 << 20);
        touch(1 << 24);
    }
    return prof_print_table(prof_stop(), NULL) != PROF_OK;
}
