/* The text of a file: see bytes.h. */
#include "input/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 2 * CHUNK };       /* at first */

bool bytes_open(bytes *b, const char *path, json_scan *text) {
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) return fail(path, "%s", strerror(errno)), false;
    if (S_ISDIR(status.st_mode)) {
        close(fd);
        return fail(path, "this is a directory: name a trace in it (export, merge and ranks take "
                    "directories, too)"), false;
    }
    input_note(&status);
    b->path = path;
    b->status = status;
    b->as_json = 1;
    input_read(&status, path, 0, 1);
    b->file = unpack_open(fd);
    b->file_size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    b->room = text->buffer = allocate(ROOM + PADDING);
    b->capacity = ROOM;
    return true;
}

static bool cannot_go_on(bytes *b, uint64_t at, const char *why) {
    b->ended = true;
    b->why = why;
    b->fault = at;
    return false;
}

bool bytes_more(bytes *b, json_scan *t) {
    b->why = NULL;
    if (b->ended) return false;
    memmove(t->buffer, t->buffer + t->at, t->used - t->at);
    t->base += t->at;
    t->used -= t->at;
    t->at = 0;
    if (b->capacity - t->used < CHUNK) {
        b->capacity *= 2;
        if (b->capacity > LARGEST_ELEMENT) return cannot_go_on(b, t->base, json_too_long);
        b->room = t->buffer = reallocate(b->room, b->capacity + PADDING);
    }
    size_t room = b->capacity - t->used, piece = t->used > CHUNK ? t->used : CHUNK;
    const char *why;
    long got = unpack_read(b->file, t->buffer + t->used, piece < room ? piece : room, &why);
    if (got <= 0) {
        b->ended = true;
        b->cut = unpack_cut(b->file);
        if (got < 0) cannot_go_on(b, t->base + t->used, why);
        got = 0;
    }
    t->used += (size_t)got;
    memset(t->buffer + t->used, 0, PADDING);
    input_read(&b->status, b->path, t->base + t->used, b->as_json);
    uint64_t done = b->file_size ? unpack_offset(b->file) : t->base + t->used;
    progress("reading", done, b->file_size);
    return true;
}

void bytes_close(bytes *b) {
    unpack_close(b->file);
    free(b->room);
}
