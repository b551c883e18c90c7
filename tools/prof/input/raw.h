/* prof.h's raw stream as events, piece by piece, in constant memory. The trace reader finds it by
   raw_format; prof decode, which reads ports too, asks it by itself:

       raw_source *raw = raw_open(&desc);
       while (...) raw_push(raw, data, size), ... what queue_next gives ...
       while (raw_end(raw)) ... the rest ...
       raw_tell(raw, path);
       raw_close(raw);                                                                         */
#ifndef PROF_RAW_H
#define PROF_RAW_H

#include "input/event_source.h"
#include "raw_read.h"

typedef struct raw_source raw_source;
struct losses;
struct elf_names;

/* Of a thread: is it the row of which task of a kernel ran when? See prof_task_in. */
bool raw_is_cpu_row(const prof_raw_item *item);
bool raw_is(const void *first, size_t size);     /* of these bytes, 4 of them or more */
unsigned raw_as_json(const void *first);         /* of 8, or padded: a byte as JSON */
raw_source *raw_open(const source_desc *desc);
/* Before the first push: names that the stream leaves in an ELF file; NULL: none. */
void raw_names(raw_source *raw, struct elf_names *elf);
void raw_push(raw_source *raw, const void *data, size_t size);
/* There is no more: a piece of what is to come then, at last the head with what the stream lost;
   false: that was all. */
bool raw_end(raw_source *raw);
/* Warns of how the stream ended; true: early, within a block or without its last one. */
bool raw_tell(raw_source *raw, const char *path);
void raw_close(raw_source *raw);
/* Behind the end. */
const prof_raw_stats *raw_stats(const raw_source *raw);
const struct losses *raw_losses_of(const raw_source *raw);

#endif
