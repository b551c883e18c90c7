/* What commands write. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "containers.h"
#include "errors.h"
#include "files.h"
#include "text.h"

bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* ---- Temporary files: without their program they are of no use to anybody ---- */

static output *open_outputs;
static const int deadly[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU};
enum { DEADLY = sizeof deadly / sizeof *deadly };

static char **made;              /* folders and files of an output that is a folder */
static size_t made_count, made_capacity;

static void remove_made(void) {
    for (size_t i = made_count; i-- > 0; )
        if (unlink(made[i]) != 0) rmdir(made[i]);
}

static void remove_temporaries(void) {
    for (const output *out = open_outputs; out; out = out->next)
        if (out->temporary) unlink(out->temporary);
    remove_made();
}

/* The program ends by the signal, once this has returned. */
static void on_deadly_signal(int number) {
    int before = errno;
    remove_temporaries();
    raise(number);
    errno = before;
}

/* A signal that is ignored (nohup), or that the command waits for (decode), stays so. */
static void watch_signals(void) {
    static bool watching;
    struct sigaction action, known;
    if (watching) return;
    watching = true;
    atexit(remove_temporaries);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_deadly_signal;
    action.sa_flags = (int)SA_RESETHAND;
    for (int i = 0; i < DEADLY; i++)
        if (sigaction(deadly[i], NULL, &known) == 0 && known.sa_handler == SIG_DFL)
            sigaction(deadly[i], &action, NULL);
}

static void hold_signals(sigset_t *before) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < DEADLY; i++) sigaddset(&set, deadly[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

static void output_enter(output *out) {
    out->next = open_outputs;
    open_outputs = out;
}

static void output_leave(const output *out) {
    sigset_t before;
    hold_signals(&before);
    output **place = &open_outputs;
    while (*place && *place != out) place = &(*place)->next;
    if (*place) *place = out->next;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void output_made(const char *path) {
    sigset_t before;
    size_t size = strlen(path) + 1;
    watch_signals();
    hold_signals(&before);
    GROW(made, made_count, made_capacity);
    made[made_count] = allocate(size);
    memcpy(made[made_count++], path, size);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void outputs_made_end(bool keep) {
    sigset_t before;
    hold_signals(&before);
    if (!keep) remove_made();
    for (size_t i = 0; i < made_count; i++) free(made[i]);
    made_count = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- Opening ---- */

/* Where a path leads: through links, and if the last of them leads to nothing, there. */
static char *target_of(const char *path) {
    enum { MOST_LINKS = 40, LONGEST = 4096 };
    char *target = allocate(LONGEST), *link = allocate(LONGEST);
    bool fits = (size_t)snprintf(target, LONGEST, "%s", path) < LONGEST;
    for (int i = 0; fits && i < MOST_LINKS; i++) {
        ssize_t size = readlink(target, link, LONGEST - 1);
        if (size < 0) break;
        link[size] = '\0';
        char *folder = *link == '/' ? NULL : strrchr(target, '/');
        size_t kept = folder ? (size_t)(folder + 1 - target) : 0;
        fits = kept + (size_t)size < LONGEST;
        if (fits) memcpy(target + kept, link, (size_t)size + 1);
    }
    free(link);
    if (fits) return target;
    free(target);
    errno = ENAMETOOLONG;
    return NULL;
}

/* A pipe, a device: written as it is. Else a temporary file beside it, with its permissions. */
static bool create(output *out, const struct stat *known) {
    bool in_place = known && !S_ISREG(known->st_mode), gz = ends_with(out->path, ".gz");
    size_t size = strlen(out->target) + 32;
    if (!in_place) {
        out->temporary = allocate(size);
        snprintf(out->temporary, size, "%s.%ld.tmp", out->target, (long)getpid());
        unlink(out->temporary);                      /* a link of that name is not followed */
    }
    const char *path = in_place ? out->path : out->temporary;
    int fd = open(path, O_WRONLY | O_CREAT | (in_place ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0) return false;
    if (!in_place && known && fchmod(fd, known->st_mode & 0777) != 0) errno = 0;
    if (gz) out->gz = gzdopen(fd, "wb1");
    else out->file = fdopen(fd, "wb");
    if (out->gz || out->file) return true;
    close(fd);
    if (out->temporary) unlink(out->temporary);
    return false;
}

static bool refuse_input(output *out) {
    out->failed = true;
    fail(out->path ? out->path : "stdout",
         "this is the input, which would be lost: give the output another name");
    return false;
}

/* A shell's >> may lead stdout into the input. */
static bool open_stdout(output *out) {
    struct stat status;
    out->file = stdout;
    return fstat(STDOUT_FILENO, &status) != 0 || !input_is(&status) || refuse_input(out);
}

static bool open_file(output *out, bool over_input) {
    struct stat status;
    sigset_t before;
    bool there = stat(out->path, &status) == 0, done = false;
    if (!there && errno != ENOENT) return false;
    if (there && !over_input && input_is(&status)) return refuse_input(out);
    if (there && access(out->path, W_OK) != 0) return false;     /* a new one may not replace it */
    if (!(out->target = target_of(out->path))) return false;
    watch_signals();
    errno = 0;
    hold_signals(&before);
    if ((done = create(out, there ? &status : NULL))) output_enter(out);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return done;
}

static bool open_output(output *out, const char *path, bool over_input) {
    memset(out, 0, sizeof *out);
    out->path = path && strcmp(path, "-") != 0 && strcmp(path, "/dev/stdout") != 0 ? path : NULL;
    out->buffer = allocate(OUTPUT_ROOM);
    if (out->path ? open_file(out, over_input) : open_stdout(out)) return true;
    if (!out->failed)
        fail(path, "cannot be created: %s", errno ? strerror(errno) : "out of memory");
    free(out->target);
    free(out->temporary);
    free(out->buffer);
    return false;
}

bool output_open(output *out, const char *path) { return open_output(out, path, false); }

void output_open_memory(output *out) {
    memset(out, 0, sizeof *out);
    out->in_memory = true;
    out->buffer = allocate(OUTPUT_ROOM);
}

bool output_rewrite(output *out, const char *path) { return open_output(out, path, true); }

static void put_in_memory(output *out, const void *data, size_t size) {
    if (size > out->text_capacity - out->text_size) {
        out->text_capacity = 2 * (out->text_size + size);
        out->text = reallocate(out->text, out->text_capacity);
    }
    memcpy(out->text + out->text_size, data, size);
    out->text_size += size;
}

static void output_put(output *out, const void *data, size_t size) {
    if (out->failed || size == 0) return;
    if (out->in_memory) {
        put_in_memory(out, data, size);
        return;
    }
    errno = 0;
    if (out->gz) {
        const char *p = data;
        while (size && !out->failed) {
            unsigned piece = size > 1u << 30 ? 1u << 30 : (unsigned)size;
            out->failed = gzwrite(out->gz, p, piece) != (int)piece;
            p += piece;
            size -= piece;
        }
    } else {
        out->failed = fwrite(data, 1, size, out->file) != size;
    }
    if (out->failed)
        fail(out->path ? out->path : "stdout", "cannot be written: %s", strerror(errno));
}

void output_flush(output *out) {
    size_t used = out->used;
    out->used = 0;
    output_put(out, out->buffer, used);
}

const char *output_memory(output *out, size_t *size) {
    output_flush(out);
    *size = out->text_size;
    return out->text;
}

void output_forget(output *out) { out->used = out->text_size = 0; }

void output_write(output *out, const void *data, size_t size) {
    if (size > OUTPUT_ROOM - out->used) output_flush(out);
    if (size > OUTPUT_ROOM) {
        output_put(out, data, size);
        return;
    }
    if (size) memcpy(out->buffer + out->used, data, size);
    out->used += size;
}

void output_text(output *out, const char *text) {
    output_write(out, text, strlen(text));
}

void output_format(output *out, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof text) {
        output_write(out, text, (size_t)size);
        return;
    }
    char *longer = allocate((size_t)size + 1);
    va_start(args, format);
    vsnprintf(longer, (size_t)size + 1, format, args);
    va_end(args);
    output_write(out, longer, (size_t)size);
    free(longer);
}

void output_double(output *out, double x) {
    char text[40] = "null";
    bool same = !(x - x == 0);           /* it is no number */
    for (int digits = 15; !same && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        double back = strtod(text, NULL);
        same = !(back < x) && !(back > x);
    }
    output_text(out, text);
}

void output_json_text(output *out, const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    output_write(out, "\"", 1);
    while (size) {
        size_t piece = utf8_size(p, size);
        if (*p == '"' || *p == '\\') output_format(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7F || (out->in_html && *p == '<'))
            output_format(out, "\\u%04x", *p);
        else if (piece == 0) output_text(out, "\\ufffd");
        else output_write(out, p, piece);
        p += piece ? piece : 1;
        size -= piece ? piece : 1;
    }
    output_write(out, "\"", 1);
}

void output_plain_text(output *out, const char *text) {
    const char *shown;
    size_t size;
    while (*text) {
        text += plain_next(text, &shown, &size);
        output_write(out, shown, size);
    }
}

void output_html_text(output *out, const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    while (size) {
        size_t piece = utf8_size(p, size);
        if (piece == 3 && p[0] == 0xEF && p[1] == 0xBF && p[2] >= 0xBE) piece = 0;   /* not XML */
        if (*p == '&') output_text(out, "&amp;");
        else if (*p == '<') output_text(out, "&lt;");
        else if (*p == '>') output_text(out, "&gt;");
        else if (*p == '"') output_text(out, "&quot;");
        else if (*p < 0x20 && *p != '\n') output_text(out, " ");
        else if (piece == 0) output_text(out, "\xEF\xBF\xBD");
        else output_write(out, p, piece);
        p += piece ? piece : 1;
        size -= piece ? piece : 1;
    }
}

void output_page(output *out, const char *const *lines, void (*data)(output *out, void *user),
                 void *user) {
    for (; *lines; lines++) {
        if (strcmp(*lines, "@DATA@\n") != 0) {
            output_text(out, *lines);
            continue;
        }
        out->in_html = true;
        data(out, user);
        out->in_html = false;
    }
}

static bool sink_write(void *user, const void *data, size_t size) {
    output *out = user;
    output_write(out, data, size);
    return !out->failed;
}

prof_sink output_sink(output *out) {
    prof_sink sink = {sink_write, out};
    return sink;
}

int output_close(output *out) {
    output_flush(out);
    const char *name = out->path ? out->path : "stdout";
    bool told = out->failed;
    if (out->gz) out->failed |= gzclose(out->gz) != Z_OK;
    else if (out->path) out->failed |= fclose(out->file) != 0;
    else out->failed |= fflush(out->file) != 0;
    if (out->temporary && !out->failed)
        out->failed = rename(out->temporary, out->target) != 0;
    if (out->failed && !told) fail(name, "cannot be written: %s", strerror(errno));
    if (out->failed && out->temporary) unlink(out->temporary);
    output_leave(out);
    free(out->target);
    free(out->temporary);
    free(out->buffer);
    return out->failed ? EXIT_BAD : EXIT_OK;
}

void output_discard(output *out) {
    free(out->text);
    if (out->gz) gzclose(out->gz);
    else if (out->path) fclose(out->file);
    if (out->temporary) unlink(out->temporary);
    output_leave(out);
    free(out->target);
    free(out->temporary);
    free(out->buffer);
}

int output_finish(output *out, int status) {
    if (status == EXIT_OK) return output_close(out);
    output_discard(out);
    return status;
}
