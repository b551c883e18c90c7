/* What each program's workload is linked with: session.c, prof.h's answers; or count.c, the counts
   that they are held against. */
#ifndef WORK_H
#define WORK_H

void work_begin(void);                   /* reads the environment: see session.c */
void work_end(void);

/* Pseudo-random, the same in each run. */
static inline unsigned work_random(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}
#endif
