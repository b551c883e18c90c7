/* The stacks of a raw stream's backward zones, and of all within them, are those of their forwards
   (prof_set_sequence). What is within a backward zone comes before it, so the stream is read ahead,
   once, in constant memory but for the stacks themselves; only where it is a file.

       raw_stacks *s = raw_stacks_read_ahead(fd, begin);
       item = raw_stacks_next(s, item);              of each zone, as the stream has them
       raw_stacks_free(s);                                                                   */
#ifndef PROF_RAW_STACKS_H
#define PROF_RAW_STACKS_H

#include <sys/types.h>

#include "base/common.h"
#include "raw_read.h"

typedef struct raw_stacks raw_stacks;

/* NULL: no zone is backward, or this is no file. */
raw_stacks *raw_stacks_read_ahead(int fd, off_t begin);
/* The zone, or until the next one a copy with the stack that it has. s: NULL: itself. */
const prof_raw_item *raw_stacks_next(raw_stacks *s, const prof_raw_item *item);
void raw_stacks_free(raw_stacks *s);             /* NULL: nothing */

#endif
