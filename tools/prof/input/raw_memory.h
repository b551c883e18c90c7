/* What the memory changes of a raw stream amount to: a free does not say how many bytes it was, and
   threads' blocks stand one behind the other, so a block that one thread frees and another gets may
   come the other way round. Where the stream is a file it is read ahead, once, and settled in the
   order of time; else changes count as they come.

       raw_memory *m = raw_memory_new();
       raw_memory_read_ahead(m, fd, begin);
       raw_change c = raw_memory_next(m, item);      of each change, as the stream has them
       raw_memory_free(m);                                                                   */
#ifndef PROF_RAW_MEMORY_H
#define PROF_RAW_MEMORY_H

#include <sys/types.h>

#include "base/common.h"
#include "raw_read.h"

typedef struct raw_memory raw_memory;

typedef struct raw_change {
    bool counts;                 /* false: what it frees was not allocated; or it failed */
    int64_t bytes;               /* so much more is in use, */
    int64_t missed;              /* but for the block that stood there, whose free was not seen, */
    int64_t total;               /* which makes so much on its device */
} raw_change;

/* Blocks of a stream, as far as their heads tell; see raw_read.h. */
enum { RAW_SESSION = 1, RAW_THREAD = 3, RAW_DETAILS = 8, RAW_EVENT = 9 };
enum { RAW_HEAD = 64 };

/* Memory of each reader of a stream (prof_raw_desc), so that what one takes the others take: it has
   room for 100,000 names or 200,000 threads; what they do not need is not touched. */
#ifndef RAW_READER               /* tests of small files have less */
#  define RAW_READER (16 << 20)
#endif
uint32_t raw_word(const unsigned char *block, int number);   /* words of 32 bits */
/* The block at a place of the file; false: no block that is known stands there. */
bool raw_block_at(int fd, off_t at, unsigned char block[RAW_HEAD]);
off_t raw_block_end(const unsigned char *block, off_t at);

/* All of the stream that begins there in a regular file, whatever its position; what was read goes
   to *stats, if that is not NULL. 0, or the errno that tells why it cannot be read on. */
int raw_read(int fd, off_t begin, void (*item)(void *user, const prof_raw_item *item), void *user,
             prof_raw_stats *stats);

raw_memory *raw_memory_new(void);
/* The stream that begins there in a regular file; of others nothing is read. */
void raw_memory_read_ahead(raw_memory *m, int fd, off_t begin);
raw_change raw_memory_next(raw_memory *m, const prof_raw_item *item);
void raw_memory_lose(const raw_memory *m, prof_stats *counts);   /* adds what was odd */
void raw_memory_free(raw_memory *m);

#endif
