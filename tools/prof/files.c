/* Files that are read, and temporary ones: see files.h. */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "containers.h"
#include "errors.h"

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static struct { dev_t device; ino_t number; } *inputs;       /* of one command */
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

void inputs_forget(void) { input_count = 0; }

bool file_reads_once(const char *path) {
    struct stat status;
    if (strcmp(path, "-") == 0) return true;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

const char *temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

void temporary_failed(void) {
    exit(fail(temporary_folder(), "a temporary file cannot be used: %s", strerror(errno)));
}

/* tmpfile() would not look at TMPDIR. */
FILE *temporary_file(void) {
    char name[4096];
    snprintf(name, sizeof name, "%s/prof_XXXXXX", temporary_folder());
    int fd = mkstemp(name);
    FILE *file = fd < 0 || unlink(name) != 0 ? NULL : fdopen(fd, "w+b");
    if (!file) temporary_failed();
    return file;
}
