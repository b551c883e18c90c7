/* What a command says went wrong. */
#include "base/errors.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "base/text.h"

static bool input_cut;

void note_cut_input(void) { input_cut = true; }
int exit_status(int status) { return status == EXIT_OK && input_cut ? EXIT_FOUND : status; }

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
        tell_plain(strcmp(file, "-") == 0 ? "stdin" : file);
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
    va_start(args, format);
    tell(file, format, args);
    va_end(args);
}
