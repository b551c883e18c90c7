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

#include "input/trace_event.h"
#include "raw_read.h"

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
/* Before the first push: zones and what devices did go to these instead, in the order of the JSON:
   zones that carry nothing, the rest as the events that a reader makes of it (trace_reader.h), and
   names of threads as events without arguments. Of what is no such thing the JSON is written.
   number: the thread's in the stream. */
typedef struct raw_takers {
    void (*zone)(void *user, const prof_raw_item *item, int64_t pid, int64_t tid);
    void (*event)(void *user, const trace_event *event);
    void (*type)(void *user, int64_t type, const char *name);   /* of a device, before its work */
    void *user;
} raw_takers;
void raw_json_take(raw_json *raw, const raw_takers *takers);
/* After raw_json_end: the rows of its sums, as the head has them; empty: none. */
trace_text raw_json_sums(raw_json *raw);
int64_t raw_json_base_ns(const raw_json *raw);       /* when the first session began */
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
