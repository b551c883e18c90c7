/* switches.c: profiled when the environment says so, and only what is wanted.

   Shows: PROF_TRACE in the environment, by prof_start_env and prof_stop_env; categories of zones
          that are switched on and off while the program runs.
   Build: cc -std=c99 -O2 -I. examples/switches.c examples/prof.c -o switches -lpthread
   Run:   PROF_TRACE=trace.json ./switches    or: prof record ./switches */

#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

enum { PHYSICS = 1, SOUND = 2, DETAIL = 4 };   /* bits, the program's own */

enum { BODIES = 500 };

static float position[BODIES], speed[BODIES];

static void collide(int body) {
    PROF_SCOPE_IN(DETAIL, "collide");    /* too many for every day */
    for (int i = 0; i < BODIES; i++) {
        float distance = position[i] - position[body];
        if (distance > 0 && distance < 0.01f) speed[body] -= distance;
    }
}

static void simulate(void) {
    PROF_FUNCTION_IN(PHYSICS);
    for (int i = 0; i < BODIES; i++) {
        collide(i);
        position[i] += speed[i];
    }
}

static float mix(void) {
    float sum = 0;
    PROF_BLOCK_IN(SOUND, "mix") {
        for (int i = 0; i < BODIES; i++) sum += position[i] * speed[i];
    }
    return sum;
}

int main(void) {
    float sum = 0;
    prof_result result = prof_start_env(NULL);   /* without PROF_TRACE: nothing */
    if (result != PROF_OK) fprintf(stderr, "PROF_TRACE: %s\n", prof_strerror(result));

    for (int i = 0; i < BODIES; i++) {
        position[i] = (float)(i * 7 % BODIES) / BODIES;
        speed[i] = 0.001f * (float)(i % 3);
    }
    prof_set_categories(PHYSICS | SOUND);
    for (int frame = 0; frame < 10; frame++) {
        PROF_SCOPE("frame");
        if (frame == 8) prof_set_categories(PHYSICS | DETAIL);   /* a closer look, once */
        if (frame == 9) prof_set_categories(PHYSICS | SOUND);
        simulate();
        sum += mix();
    }

    result = prof_stop_env();
    if (result != PROF_OK) fprintf(stderr, "PROF_TRACE: %s\n", prof_strerror(result));
    printf("The sum is %.3f.\n", (double)sum);
    return EXIT_SUCCESS;
}
