/* What commands write. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#ifdef __SSE2__
#  include <emmintrin.h>
#endif

#include "base/errors.h"
#include "base/files.h"
#include "base/interrupts.h"
#include "base/memory.h"
#include "base/text.h"
#include "library.h"

bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* ---- Opening ---- */

/* Where a path leads: through links, and if the last of them leads to nothing, there. */
static char *target_of(const char *path) {
    enum { MOST_LINKS = 40 };
    char *target = allocate(PATH_ROOM), *link = allocate(PATH_ROOM);
    bool fits = (size_t)snprintf(target, PATH_ROOM, "%s", path) < PATH_ROOM;
    for (int i = 0; fits && i < MOST_LINKS; i++) {
        ssize_t size = readlink(target, link, PATH_ROOM - 1);
        if (size < 0) break;
        link[size] = '\0';
        char *folder = *link == '/' ? NULL : strrchr(target, '/');
        size_t kept = folder ? (size_t)(folder + 1 - target) : 0;
        fits = kept + (size_t)size < PATH_ROOM;
        if (fits) memcpy(target + kept, link, (size_t)size + 1);
    }
    free(link);
    if (fits) return target;
    free(target);
    errno = ENAMETOOLONG;
    return NULL;
}

static bool refuse_input(const char *path) {
    fail(path ? path : "stdout",
         "this is the input, which would be lost: give the output another name");
    return false;
}

bool output_onto(output *out, int fd, const char *path) {
    *out = (output){.path = path, .fd = fd, .on_terminal = fd >= 0 && isatty(fd)};
    bool packed = fd >= 0 && path && ends_with(path, ".gz");
    if (packed) out->gz = gzdopen(dup(fd), "wb1");
    if (fd >= 0 && (out->gz || !packed)) return out->buffer = allocate(OUTPUT_ROOM), true;
    fail(path, "cannot be created: %s", errno ? strerror(errno) : "out of memory");
    if (fd >= 0) close(fd);
    return false;
}

/* A pipe, a device is written as it is, and a file that is stdout where that stands. What becomes a
   file has no name until it is whole: then it goes to *target. */
static int open_file(const char *path, char **target) {
    struct stat status, own;
    char folder[PATH_ROOM];
    bool there = stat(path, &status) == 0;
    if (there ? access(path, W_OK) != 0 : errno != ENOENT || !*path) return -1;
    if (there && !S_ISREG(status.st_mode)) return open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (there && fstat(STDOUT_FILENO, &own) == 0 && own.st_dev == status.st_dev &&
        own.st_ino == status.st_ino)
        return dup(STDOUT_FILENO);
    if (!(*target = target_of(path))) return -1;
    folder_of(*target, folder);
    leftovers_remove(folder);
    int fd = file_unnamed(folder, 0666);
    return fd < 0 && there ? temporary_unnamed() : fd;
}

/* A shell's >> may lead stdout into the input. */
static bool is_input(const char *path) {
    struct stat status;
    int error = path ? stat(path, &status) : fstat(STDOUT_FILENO, &status);
    return error == 0 && input_is(&status);
}

static bool open_output(output *out, const char *path, bool over_input) {
    char *target = NULL;
    if (path && (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)) path = NULL;
    if (!(path && over_input) && is_input(path)) return refuse_input(path);
    errno = 0;
    bool good = output_onto(out, path ? open_file(path, &target) : STDOUT_FILENO, path);
    out->target = target;
    out->over_input = over_input;
    if (!good) free(target);
    return good;
}

bool output_open(output *out, const char *path) { return open_output(out, path, false); }
bool output_rewrite(output *out, const char *path) { return open_output(out, path, true); }

void output_open_memory(output *out) {
    *out = (output){.fd = -1, .buffer = allocate(OUTPUT_ROOM + READABLE)};
}

/* ---- Writing ---- */

static void put_in_memory(output *out, const void *data, size_t size) {
    if (size > out->text_capacity - out->text_size) {
        out->text_capacity = 2 * (out->text_size + size);
        out->text = reallocate(out->text, out->text_capacity);
    }
    memcpy(out->text + out->text_size, data, size);
    out->text_size += size;
}

/* To a terminal, whatever the format: without what it would obey, but the end of a line. */
static bool put_on_terminal(output *out, const char *data, size_t size) {
    for (const char *p = data, *end = data + size; p < end; ) {
        size_t piece = utf8_size((const unsigned char *)p, (size_t)(end - p));
        bool breaks = *p == '\n' || (*p == '\r' && p + 1 < end && p[1] == '\n');
        if (piece == 0) put_in_memory(out, "\xEF\xBF\xBD", 3);
        else if (!breaks && control_size(p)) put_in_memory(out, " ", 1);
        else put_in_memory(out, p, piece);
        p += piece ? piece : 1;
    }
    size = out->text_size;
    out->text_size = 0;
    return file_write(out->fd, out->text, size);
}

static void output_put(output *out, const void *data, size_t size) {
    if (out->failed || size == 0) return;
    if (out->fd < 0) {
        put_in_memory(out, data, size);
        return;
    }
    made_of_inputs("its output", out->written += size, 64);
    errno = 0;
    if (out->gz) {
        const char *p = data;
        while (size && !out->failed) {
            unsigned piece = size > 1u << 30 ? 1u << 30 : (unsigned)size;
            out->failed = gzwrite(out->gz, p, piece) != (int)piece;
            p += piece;
            size -= piece;
        }
    } else if (out->on_terminal) {
        out->failed = !put_on_terminal(out, data, size);
    } else {
        out->failed = !file_write(out->fd, data, size);
    }
    if (out->failed)
        fail(out->path ? out->path : "stdout", "cannot be written: %s", strerror(errno));
}

static void output_flush(output *out) {
    size_t used = out->used;
    out->used = 0;
    output_put(out, out->buffer, used);
}

const char *output_memory(output *out, size_t *size) {
    if (!out->text_size) return *size = out->used, out->buffer;
    output_flush(out);
    *size = out->text_size;
    return out->text;
}

void output_forget(output *out) { out->used = out->text_size = 0; }

void output_write_on(output *out, const void *data, size_t size) {
    output_flush(out);
    if (size > OUTPUT_ROOM) output_put(out, data, size);
    else output_write(out, data, size);
}

static char *two_digits_before(char *end, unsigned number) {
    *--end = (char)('0' + number % 10);
    *--end = (char)('0' + number / 10);
    return end;
}

/* The digits of a number, to end before `end`. Where they begin. */
static char *digits_before(char *end, uint64_t number) {
    for (; number > 99; number /= 100) end = two_digits_before(end, (unsigned)(number % 100));
    if (number > 9) return two_digits_before(end, (unsigned)number);
    *--end = (char)('0' + number);
    return end;
}

static uint64_t size_of(int64_t number) {
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

static char *us_before(char *end, int64_t ns) {
    unsigned part = (unsigned)(size_of(ns) % 1000);
    *--end = (char)('0' + part % 10);
    end = two_digits_before(end, part / 10);
    *--end = '.';
    end = digits_before(end, size_of(ns) / 1000);
    if (ns < 0) *--end = '-';
    return end;
}

void us_text(int64_t ns, char text[US_TEXT]) {
    char digits[US_TEXT], *end = digits + sizeof digits, *p = us_before(end, ns);
    memcpy(text, p, (size_t)(end - p));
    text[end - p] = '\0';
}

void write_us(output *out, int64_t ns) {
    char digits[US_TEXT], *end = digits + sizeof digits, *p = us_before(end, ns);
    output_write(out, p, (size_t)(end - p));
}

void output_int(output *out, int64_t number) {
    char digits[24], *end = digits + sizeof digits, *p = digits_before(end, size_of(number));
    if (number < 0) *--p = '-';
    output_write(out, p, (size_t)(end - p));
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

/* A character that stands for itself in JSON, and in HTML. */
static bool is_plain(char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<'; }

/* So many of them come first. */
static size_t plain_size(const char *text, size_t size) {
    size_t plain = 0;
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i less = _mm_set1_epi8('<'), space = _mm_set1_epi8(' '), last = _mm_set1_epi8('~');
    for (; size >= 16 && plain < size; plain += 16) {
        size_t at = size - plain >= 16 ? plain : size - 16;          /* the last ones overlap */
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash));
        __m128i ends = _mm_or_si128(_mm_cmplt_epi8(bytes, space), _mm_cmpgt_epi8(bytes, last));
        marks = _mm_or_si128(_mm_or_si128(marks, ends), _mm_cmpeq_epi8(bytes, less));
        if (_mm_movemask_epi8(marks)) break;
    }
#endif
    while (plain < size && is_plain(text[plain])) plain++;
    return plain < size ? plain : size;
}

void output_json_text(output *out, const char *text, size_t size) {
    output_write(out, "\"", 1);
    for (;;) {
        char escaped[12];
        size_t plain = plain_size(text, size);
        output_write(out, text, plain);
        text += plain;
        size -= plain;
        if (!size) break;
        size_t piece = utf8_size((const unsigned char *)text, size);
        if (piece == 0) output_text(out, "\\ufffd");
        else if (out->in_html && *text == '<') output_text(out, "\\u003c");
        else output_write(out, escaped, (size_t)(text_json(escaped, text) - escaped));
        text += piece ? piece : 1;
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
        else if (piece == 0) output_text(out, "\xEF\xBF\xBD");
        else if (*p != '\n' && control_size((const char *)p)) output_text(out, " ");
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

/* ---- The end ---- */

/* Is this file at the end of the path's links, and under no other name? */
static bool is_alone_at(const char *target, const struct stat *known) {
    struct stat found;
    return known->st_nlink == 1 && lstat(target, &found) == 0 && found.st_dev == known->st_dev &&
           found.st_ino == known->st_ino;
}

/* Over what is there, which stays the old one where there is no room. */
static bool copy_over(const output *out, off_t before) {
    int to = open(out->path, O_WRONLY | O_CLOEXEC);
    off_t size = lseek(out->fd, 0, SEEK_END);
    int error = to >= 0 && size > before ? posix_fallocate(to, before, size - before) : 0;
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    if (to >= 0 && ftruncate(to, full ? before : 0) != 0) return false;
    if (!full) return file_copy(out->fd, 0, size, to);
    errno = error;
    return false;
}

/* One rename puts it in the old one's place, whose owner, rights and names it keeps: where it
   cannot, the old file itself is written. */
static bool put_in_place(const output *out) {
    char folder[PATH_ROOM], name[PATH_ROOM];
    struct stat known, found;
    bool there = stat(out->path, &known) == 0, placed = false;
    if (!there && errno != ENOENT) return false;
    folder_of(out->target, folder);
    if (!there && file_link(out->fd, out->target)) return true;
    if ((!there || is_alone_at(out->target, &known)) &&
        file_show(out->fd, folder, there ? out->target : NULL, name)) {
        if (lstat(out->target, &found) == 0 && !S_ISREG(found.st_mode)) errno = EEXIST;
        else placed = rename(name, out->target) == 0;
        if (!placed) unlink(name);
    }
    return placed || (there && copy_over(out, known.st_size));
}

static const file_state *only_over;              /* NULL: any */
void outputs_only_over(const file_state *was) { only_over = was; }

/* The same, unless somebody else was there first. */
static bool put_first(const output *out, bool *outrun) {
    char folder[PATH_ROOM];
    if (!only_over) return put_in_place(out);
    folder_of(out->target, folder);
    int lock = folder_lock(folder);
    *outrun = file_is_other(out->path, only_over);
    bool placed = !*outrun && put_in_place(out);
    if (lock >= 0) close(lock);
    return placed;
}

/* Some file systems tell only at a close that they could not write. */
static bool flushed(int fd) {
    int same = dup(fd);
    return same >= 0 && close(same) == 0;
}

int output_close(output *out, int status) {
    const char *name = out->path ? out->path : "stdout";
    sigset_t before;
    if (status != EXIT_BAD) output_flush(out);
    bool told = out->failed || status == EXIT_BAD;
    if (out->gz) out->failed |= gzclose(out->gz) != Z_OK;
    if (out->target && !out->failed && !told) {
        signals_hold(&before);
        bool input = is_input(out->path);
        if (input && !(out->over_input && exit_status(status) == EXIT_OK))
            told = out->failed = !refuse_input(out->path);
        else out->failed = (input && fsync(out->fd) != 0) || !flushed(out->fd) ||
                           !put_first(out, &told);
        signals_release(&before);
    }
    if (out->path) out->failed |= close(out->fd) != 0 && !out->target;
    if (out->failed && !told) fail(name, "cannot be written: %s", strerror(errno));
    free(out->target);
    free(out->text);
    free(out->buffer);
    return out->failed ? EXIT_BAD : status;
}

void output_discard(output *out) {
    free(out->text);
    free(out->buffer);
}
