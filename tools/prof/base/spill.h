/* Bytes kept in a temporary file, so that memory does not grow with them: written one after the
   other, then read at any place, best near the last one. */
#ifndef PROF_SPILL_H
#define PROF_SPILL_H

#include <stddef.h>
#include <stdint.h>

typedef struct spill spill;

spill *spill_new(void);
uint64_t spill_add(spill *s, const void *data, size_t size);     /* its place */
/* After the first of these nothing is added. */
void spill_read(spill *s, uint64_t place, void *to, size_t size);
void spill_free(spill *s);

#endif
