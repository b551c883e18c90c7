/* What commands write. */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "containers.h"
#include "errors.h"
#include "text.h"

enum { OUTPUT_BUFFER = 1 << 18 };

static bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static output *open_outputs;

/* Without its program a temporary file is of no use to anybody. */
static void remove_temporaries(void) {
    for (const output *out = open_outputs; out; out = out->next)
        if (strcmp(out->temporary, out->path) != 0) remove(out->temporary);
}

static void output_leave(const output *out) {
    output **place = &open_outputs;
    while (*place && *place != out) place = &(*place)->next;
    if (*place) *place = out->next;
}

bool output_open(output *out, const char *path) {
    static bool at_exit;
    memset(out, 0, sizeof *out);
    out->path = path && strcmp(path, "-") != 0 ? path : NULL;
    out->buffer = allocate(OUTPUT_BUFFER);
    if (!out->path) {
        out->file = stdout;
        return true;
    }
    size_t size = strlen(path) + 32;
    struct stat status;
    bool there = stat(path, &status) == 0;
    if (!there && errno != ENOENT) {
        fail(path, "cannot be created: %s", strerror(errno));
        free(out->buffer);
        return false;
    }
    bool in_place = there && !S_ISREG(status.st_mode);                    /* a pipe, a device */
    out->temporary = allocate(size);
    if (in_place) snprintf(out->temporary, size, "%s", path);
    else snprintf(out->temporary, size, "%s.%ld.tmp", path, (long)getpid());
    errno = 0;
    if (!in_place) remove(out->temporary);       /* a link of that name is not followed */
    if (ends_with(path, ".gz")) out->gz = gzopen(out->temporary, in_place ? "wb1" : "wb1x");
    else out->file = fopen(out->temporary, in_place ? "wb" : "wbx");
    if (out->gz || out->file) {
        out->next = open_outputs;
        open_outputs = out;
        if (!at_exit) at_exit = atexit(remove_temporaries) == 0;
        return true;
    }
    fail(path, "cannot be created: %s", errno ? strerror(errno) : "out of memory");
    free(out->temporary);
    free(out->buffer);
    return false;
}

static void output_put(output *out, const void *data, size_t size) {
    if (out->failed || size == 0) return;
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

static void output_flush(output *out) {
    size_t used = out->used;
    out->used = 0;
    output_put(out, out->buffer, used);
}

void output_write(output *out, const void *data, size_t size) {
    if (size > OUTPUT_BUFFER - out->used) output_flush(out);
    if (size > OUTPUT_BUFFER) {
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
    output_leave(out);
    const char *name = out->path ? out->path : "stdout";
    bool told = out->failed;
    if (out->gz) out->failed |= gzclose(out->gz) != Z_OK;
    else if (out->path) out->failed |= fclose(out->file) != 0;
    else out->failed |= fflush(out->file) != 0;
    bool renames = out->path && strcmp(out->temporary, out->path) != 0;
    if (renames && !out->failed) out->failed = rename(out->temporary, out->path) != 0;
    if (out->failed && !told) fail(name, "cannot be written: %s", strerror(errno));
    if (out->failed && renames) remove(out->temporary);
    free(out->temporary);
    free(out->buffer);
    return out->failed ? EXIT_BAD : EXIT_OK;
}

void output_discard(output *out) {
    output_leave(out);
    if (out->gz) gzclose(out->gz);
    else if (out->path) fclose(out->file);
    if (out->path && strcmp(out->temporary, out->path) != 0) remove(out->temporary);
    free(out->temporary);
    free(out->buffer);
}
