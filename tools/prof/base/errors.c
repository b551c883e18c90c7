/* What a command says went wrong. */
#include "base/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "base/text.h"

static bool input_cut, held;
static const char *named[2];                     /* a file, and the name by which it is told */

void note_cut_input(void) { input_cut = true; }
int exit_status(int status) { return status == EXIT_OK && input_cut ? EXIT_FOUND : status; }

void warnings_hold(bool now) { held = now; }

void name_errors(const char *file, const char *name) {
    named[0] = file;
    named[1] = name;
}

const char *error_name(const char *file) {
    if (strcmp(file, "-") == 0) return "stdin";
    return named[0] && strcmp(file, named[0]) == 0 ? named[1] : file;
}

static void tell_plain(const char *text) {
    const char *shown;
    size_t size;
    while (*text) {
        text += plain_next(text, &shown, &size);
        fwrite(shown, 1, size, stderr);
    }
}

static void tell(const char *file, const char *format, va_list args) PRINTF_LIKE(2, 0);

static void tell(const char *file, const char *format, va_list args) {
    char text[8192];
    progress_end();
    fputs("prof: ", stderr);
    if (file) {
        tell_plain(error_name(file));
        fputs(": ", stderr);
    }
    vsnprintf(text, sizeof text, format, args);
    tell_plain(text);
    fputc('\n', stderr);
}

int fail(const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(file, format, args);
    va_end(args);
    return EXIT_BAD;
}

void warn(const char *file, const char *format, ...) {
    va_list args;
    if (held) return;
    va_start(args, format);
    tell(file, format, args);
    va_end(args);
}
