/* What a raw stream tells too late for those who read it as it comes. A free does not say how many
   bytes it was, and of two threads the later change may stand first. The stacks of a backward zone
   and of all within it are those of its forward (sequence_nr), but what is within a zone
   comes before it. So where the stream is a file, and holds such things, it is read ahead, once;
   else changes count as they come, and stacks stay.

       raw_ahead *a = raw_ahead_new();
       raw_ahead_read(a, fd, begin);
       raw_change c = raw_ahead_change(a, item);     of each change of memory, and
       item = raw_ahead_zone(a, item);               of each zone, as the stream has them
       raw_ahead_free(a);                                                                    */
#ifndef PROF_RAW_AHEAD_H
#define PROF_RAW_AHEAD_H

#include <sys/types.h>

#include "base/common.h"
#include "raw_read.h"

typedef struct raw_ahead raw_ahead;

typedef struct raw_change {
    bool counts;                 /* false: what it frees was not allocated; or it failed */
    int64_t bytes;               /* so much more is in use, */
    bool older;                  /* it frees what was allocated before the window */
    int64_t missed;              /* but for the block that stood there, whose free was not seen, */
    int64_t total;               /* which makes so much on its device */
} raw_change;

/* Memory of each reader of a stream (prof_raw_desc), so that what one takes the others take: it has
   room for 100,000 names or 200,000 threads; what they do not need is not touched. */
#ifndef RAW_READER               /* tests of small files have less */
#  define RAW_READER (16 << 20)
#endif
/* All of the stream that begins there in a regular file, whatever its position. 0, or the errno
   that tells why it cannot be read on. */
int raw_read(int fd, off_t begin, void (*item)(void *user, const prof_raw_item *item), void *user);

raw_ahead *raw_ahead_new(void);
/* The stream that begins there in a regular file; of others nothing is read. Does it hold one
   session, whole, and nothing whose times alone tell what zone it lies in? */
bool raw_ahead_read(raw_ahead *a, int fd, off_t begin);
raw_change raw_ahead_change(raw_ahead *a, const prof_raw_item *item);
/* The zone, or until the next one a copy with the stack that it has. */
const prof_raw_item *raw_ahead_zone(raw_ahead *a, const prof_raw_item *item);
void raw_ahead_lose(const raw_ahead *a, prof_stats *counts);     /* adds what was odd */
void raw_ahead_free(raw_ahead *a);

#endif
