/* hello.c: the smallest program that profiles itself.

   Shows: one function zone, two block zones, a session, the table and the Chrome trace.
   Build: cc -std=c99 -O2 -I. examples/hello.c -o hello -lpthread
   Run:   ./hello [trace.json]    then open the file at ui.perfetto.dev */

#include <stdio.h>
#include <stdlib.h>

#define PROF_IMPLEMENTATION
#include "prof.h"

enum { NUMBERS = 10000 };

static int ascending(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static unsigned find_median(unsigned seed) {
    static unsigned numbers[NUMBERS];
    PROF_FUNCTION();
    PROF_BLOCK("fill") {
        for (int i = 0; i < NUMBERS; i++) numbers[i] = seed = seed * 1664525u + 1013904223u;
    }
    PROF_BLOCK("sort") {
        qsort(numbers, NUMBERS, sizeof *numbers, ascending);
    }
    return numbers[NUMBERS / 2];
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "trace.json";
    unsigned median = 1;

    prof_start(NULL);
    for (int i = 0; i < 100; i++) median = find_median(median);
    prof_trace *trace = prof_stop();

    printf("The last median is %u.\n", median);
    prof_print_table(trace, NULL);
    prof_result result = prof_save_chrome(trace, path);
    if (result != PROF_OK) {
        fprintf(stderr, "hello: %s: %s\n", path, prof_strerror(result));
        return EXIT_FAILURE;
    }
    printf("Open %s at ui.perfetto.dev\n", path);
    return EXIT_SUCCESS;
}
