/* A raw stream of prof.h as the JSON of a trace, piece by piece, in constant memory. Whoever
   unpacks a file (unpack.h) finds JSON in a raw one by this; prof decode writes it.

       raw_json *raw = raw_json_open(&out);
       while (...) raw_json_push(raw, data, size);
       prof_raw_stats stats = raw_json_end(raw);
       raw_json_tell(raw, path);
       raw_json_free(raw);                                                                      */
#ifndef PROF_RAW_JSON_H
#define PROF_RAW_JSON_H

#include "common.h"

typedef struct raw_json raw_json;
struct losses;

/* What the memory events of a stream leave allocated: a free does not say how many bytes it was. */
typedef struct raw_memory {
    map blocks, totals;
    uint64_t unknown, twice, missed;         /* frees, and allocations: as prof_stats has them */
} raw_memory;

/* How a change changes what is in use; missed: of the block that stood there, whose free was not
   seen. false: what it frees was not allocated. */
bool raw_memory_take(raw_memory *memory, const prof_memory_change *change, int64_t *bytes,
                     int64_t *missed);
int64_t raw_memory_total(raw_memory *memory, prof_device device);    /* in use on it */
void raw_memory_lose(const raw_memory *memory, prof_stats *counts);  /* adds what was odd */
void raw_memory_free(raw_memory *memory);

bool raw_json_is(const void *first, size_t size);            /* of these bytes, 4 of them or more */
raw_json *raw_json_open(output *out);
void raw_json_push(raw_json *raw, const void *data, size_t size);
/* There is no more: the rest of the trace, its head with what the stream lost. */
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
