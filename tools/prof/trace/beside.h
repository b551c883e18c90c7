/* Files that ran at the same time, by their clocks, stand side by side on one axis of time: in a
   page, and for --from and --to. Each of the others has its own axis, from its first event. */
#ifndef PROF_BESIDE_H
#define PROF_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BESIDE_MOST_NS ((int64_t)1 << 60)    /* what is further away than that has its own axis */

typedef struct file_time {
    const char *path;
    int64_t base_ns;             /* the calendar's less its ts */
    int64_t first_ns, last_ns;   /* of what it has, by its own clock */
    int64_t begin_ns;            /* the axis' 0, by its own clock */
    bool aside;                  /* it runs beside another one */
} file_time;

/* Finds begin_ns and aside of each. */
void file_times_align(file_time *files, size_t count);

#endif
