/* The text of a file, from a path or stdin, unpacked (unpack.h), piece by piece: what is still
   needed stays, and more is read behind it. */
#ifndef PROF_BYTES_H
#define PROF_BYTES_H

#include <sys/stat.h>

#include "input/json_scan.h"
#include "input/unpack.h"

#ifndef TRACE_CHUNK             /* tests read small files piece by piece, too */
#  define TRACE_CHUNK (1 << 18)
#endif
enum { CHUNK = TRACE_CHUNK };    /* read at a time */

typedef struct bytes {
    unpacker *file;
    const char *path;
    struct stat status;
    unsigned as_json;            /* bytes of JSON that one of its own is */
    uint64_t file_size;          /* packed; 0: unknown */
    char *room;                  /* for the text, PADDING zeros behind it */
    size_t capacity;
    bool ended;                  /* nothing is left to read */
    bool cut;                    /* the packed file ends early */
    const char *why;             /* it cannot be read on, which bytes_more met just now; */
    uint64_t fault;              /* and where */
} bytes;

/* path "-": stdin. false: it has reported why. */
bool bytes_open(bytes *b, const char *path, json_scan *text);
/* Reads on behind the text that is still needed. false: nothing is left, or it cannot be read. */
bool bytes_more(bytes *b, json_scan *text);
void bytes_close(bytes *b);

#endif
