/* Bytes in the JSON of a page: deflated (PACKED_AS says so to the page's script), in base64. In
   constant memory.

       packed p;
       packed_begin(&p, out);          writes "..., with its quotes
       packed_number(&p, 300);         7 bits a byte, the lowest first
       packed_end(&p);                                                                          */
#ifndef PROF_PACKED_H
#define PROF_PACKED_H

#include <zlib.h>

#include "base/output.h"

#define PACKED_AS "deflate"

typedef struct packed {
    output *out;
    uint8_t in[4096];
    size_t used;
    uint8_t rest[3];            /* bytes that are no whole group of base64 yet */
    size_t rest_count;
    z_stream stream;
} packed;

void packed_begin(packed *p, output *out);
void packed_bytes(packed *p, const void *bytes, size_t size);
void packed_number(packed *p, uint64_t number);
void packed_signed(packed *p, int64_t number);   /* 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
void packed_end(packed *p);

#endif
