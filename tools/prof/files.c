/* Whole files. */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "containers.h"
#include "errors.h"

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static struct { dev_t device; ino_t number; } *inputs;       /* live as long as the program */
static size_t input_count, input_capacity;

bool input_is(const struct stat *status) {
    for (size_t i = 0; i < input_count; i++)
        if (inputs[i].device == status->st_dev && inputs[i].number == status->st_ino) return true;
    return false;
}

void input_note(const struct stat *status) {
    if (!S_ISREG(status->st_mode) || input_is(status)) return;
    GROW(inputs, input_count, input_capacity);
    inputs[input_count].device = status->st_dev;
    inputs[input_count++].number = status->st_ino;
}

size_t file_peek(const char *path, char *first, size_t size) {
    gzFile file = strcmp(path, "-") == 0 ? NULL : gzopen(path, "rb");
    if (!file) return 0;
    int c;
    do c = gzgetc(file);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t');
    size_t count = 0;
    for (; c >= 0 && count < size; c = gzgetc(file)) first[count++] = (char)c;
    gzclose(file);
    return count;
}

char *file_read(const char *path, size_t *size) {
    enum { FIRST = 1 << 16, MOST = 1 << 30 };
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (!file) return fail(path, "%s", strerror(errno)), NULL;
    struct stat status;
    if (stat(path, &status) == 0) input_note(&status);
    size_t capacity = FIRST;
    char *text = allocate(capacity + READABLE);
    int got = 0, code;
    *size = 0;
    while (*size < MOST && (got = gzread(file, text + *size, (unsigned)(capacity - *size))) > 0) {
        *size += (size_t)got;
        if (*size == capacity) text = reallocate(text, (capacity *= 2) + READABLE);
    }
    const char *why = gzerror(file, &code);
    if (got < 0 || *size >= MOST || *size == 0) {
        fail(path, *size == 0 && got == 0 ? "the file is empty" : "byte %zu: %s", *size,
             got < 0 ? code == Z_ERRNO ? strerror(errno) : why : "more than 1 GB");
        free(text);
        text = NULL;
    } else {
        memset(text + *size, 0, READABLE);
        if (code == Z_BUF_ERROR) {
            warn(path, "byte %zu: the gzip file ends early; read up to there", *size);
            note_cut_input();
        }
    }
    gzclose(file);
    return text;
}
