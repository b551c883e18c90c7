/* Progress and colours of the terminal. */
#include "base/progress.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool bar_shown;

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress(const char *what, uint64_t done, uint64_t total) {
    static double begin, last;
    static int terminal = -1;
    if (terminal < 0) terminal = isatty(STDERR_FILENO);
    if (!terminal) return;
    double now = seconds_now();
    if (begin == 0) begin = now;
    if (now - begin < 0.5 || now - last < 0.1) return;
    last = now;
    bar_shown = true;
    if (total == 0) {
        fprintf(stderr, "\r\033[K%s: %.0f MB", what, (double)done / 1e6);
        return;
    }
    enum { WIDTH = 30 };
    double part = done < total ? (double)done / (double)total : 1;
    char bar[WIDTH + 1];
    memset(bar, ' ', WIDTH);
    memset(bar, '#', (size_t)(part * WIDTH));
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %3.0f %%", what, bar, part * 100);
}

void progress_end(void) {
    if (bar_shown) fputs("\r\033[K", stderr);
    bar_shown = false;
}

bool use_colours(FILE *stream) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && !(term && strcmp(term, "dumb") == 0) && isatty(fileno(stream));
}
