/* A raw stream of prof.h as the JSON of a trace, piece by piece, in constant memory. Whoever
   unpacks a file (unpack.h) finds JSON in a raw one by this; prof decode writes it.

       raw_json *raw = raw_json_open(&out);
       while (...) raw_json_push(raw, data, size);
       prof_raw_stats stats = raw_json_end(raw);
       raw_json_tell(raw, path);
       raw_json_free(raw);                                                                      */
#ifndef PROF_RAW_JSON_H
#define PROF_RAW_JSON_H

#include <sys/types.h>

#include "common.h"

typedef struct raw_json raw_json;
struct losses;
struct elf_names;

/* Of a thread: is it the row of which task of a kernel ran when? See prof_task_in. */
bool raw_json_is_cpu_row(const prof_raw_item *item);
bool raw_json_is(const void *first, size_t size);           /* of these bytes, 4 of them or more */
raw_json *raw_json_open(output *out);
/* Before the first push: names that the stream leaves in an ELF file; NULL: none. */
void raw_json_names(raw_json *raw, struct elf_names *elf);
/* Before the first push: the stream begins there in a file that is read twice (raw_memory.h,
   raw_stacks.h). */
void raw_json_read_ahead(raw_json *raw, int fd, off_t begin);
void raw_json_push(raw_json *raw, const void *data, size_t size);
/* There is no more: a piece of what is to come then; false: raw_json_end has the rest. */
bool raw_json_end_some(raw_json *raw);
/* The rest of the trace, its head with what the stream lost. */
prof_raw_stats raw_json_end(raw_json *raw);
/* Warns of how the stream ended; true: within a block. Once it is called, another is silent. */
bool raw_json_tell(raw_json *raw, const char *path);
/* The same of a stream that someone else reads. */
bool raw_stats_tell(const prof_raw_stats *stats, const char *path);
void raw_stats_lose(const prof_raw_stats *stats, struct losses *losses);   /* adds what it lacks */
/* What the stream says of its losses, as the head has it. */
const struct losses *raw_json_losses(const raw_json *raw);
void raw_json_free(raw_json *raw);

#endif
