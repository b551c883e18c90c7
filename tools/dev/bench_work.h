/* Zones whose clock costs nothing: what the recorder itself does (bench_work.c, for bench.c). */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stddef.h>

void work_open(void);                    /* a session */
void work_zones(size_t count);
void work_pushes(size_t count);          /* of 16 names */
void work_close(void);

#endif
