/* observers.c: others are told of each zone as it begins and ends.

   Shows: an observer of one's own, which prints; zones as ITT tasks for VTune, where it runs the
          program (NVTX: prof_cuda_emit_nvtx); a zone with shapes from its begin.
   Build: cc -std=c99 -O2 -I. examples/observers.c examples/prof.c -o observers -lpthread
   Run:   ./observers */

#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

/* ---- An observer: what it does is the recording thread's time, so that it should be quick ---- */

typedef struct printer {
    int depth;
} printer;

static void on_begin(void *user, const char *name, const prof_extra *with) {
    printer *p = user;
    printf("%*s%s", 4 * p->depth++, "", name);
    if (with && with->input_count) printf(" (%u inputs)", with->input_count);
    puts(" {");
}

static void on_end(void *user, const char *name) {
    printer *p = user;
    (void)name;
    printf("%*s}\n", 4 * --p->depth, "");
}

static void on_counter(void *user, const char *name, int64_t value) {
    printer *p = user;
    printf("%*s%s is %lld\n", 4 * p->depth, "", name, (long long)value);
}

/* ---- What it is told of ---- */

static void multiply(int64_t rows, int64_t inner, int64_t columns) {
    int64_t left[] = {rows, inner}, right[] = {inner, columns};
    prof_shape shapes[] = {{left, NULL, 2}, {right, NULL, 2}};
    prof_extra with = {0};
    with.input_shapes = shapes;
    with.input_count = 2;
    with.sequence_nr = 5;
    with.has = PROF_HAS_SEQUENCE_NR;
    prof_push_with("mm", &with);         /* observers are told all of it as it begins */
    prof_counter("products", rows * inner * columns);
    prof_pop();
}

int main(void) {
    printer lines = {0};
    prof_observer observer = {0};
    prof_result itt = prof_emit_itt(true);
    puts(itt == PROF_OK ? "ITT: on" : prof_strerror(itt));

    observer.begin = on_begin;
    observer.end = on_end;
    observer.counter = on_counter;
    observer.user = &lines;
    prof_add_observer(&observer);
    prof_start(NULL);
    PROF_BLOCK("forward") {
        multiply(2, 3, 4);
        PROF_BLOCK("activation") prof_instant("nothing to do");
    }
    prof_stop();
    prof_remove_observer(&lines);
    if (itt == PROF_OK) prof_emit_itt(false);
    return lines.depth == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
