/* A program that streams raw into a file, under a clock that goes on by streamed_step at each
   reading: for the tests of prof decode. */
#include "prof.h"

#include <stdio.h>

static uint64_t streamed_step;
static uint64_t streamed_clock = 1000000;

static uint64_t streamed_now(void *user) {
    (void)user;
    return streamed_clock += streamed_step;
}

static bool streamed_put(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

/* A session that writes into the file; NULL: there is none. */
static FILE *streamed_begin(const char *path, prof_stream_format format) {
    FILE *file = fopen(path, "wb");
    prof_desc desc = { 0 };
    desc.mode = PROF_MODE_STREAM;
    desc.stream_format = format;
    desc.platform.now = streamed_now;
    desc.stream.write = streamed_put;
    desc.stream.user = file;
    return file && prof_start(&desc) == PROF_OK ? file : NULL;
}
