/* Progress: a bar on stderr, on a terminal, for what takes longer than half a second. */
#ifndef PROF_TOOL_PROGRESS_H
#define PROF_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void progress(const char *what, uint64_t done, uint64_t total);   /* total 0: unknown */
void progress_end(void);

double seconds_now(void);                        /* of a clock that goes on */

/* Terminal colours for this stream? NO_COLOR and pipes say no. */
bool use_colours(FILE *stream);

#endif
