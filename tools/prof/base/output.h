/* Output: a file that appears whole or not at all, stdout, or gzip by its ending. */
#ifndef PROF_TOOL_OUTPUT_H
#define PROF_TOOL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "prof.h"
#include "base/errors.h"
#include "base/files.h"

enum { OUTPUT_ROOM = 1 << 18 };               /* of a buffer */

typedef struct output {
    const char *path;          /* NULL or "-": stdout */
    char *target;              /* where path leads; NULL: it is written as it is */
    int fd;                    /* with a target a file without a name; -1: output_memory has it */
    void *gz;                  /* gzFile */
    char *buffer;
    size_t used;
    uint64_t written;          /* to fd */
    bool failed, on_terminal;
    bool over_input;           /* it may take the place of an input */
    char *text;
    size_t text_size, text_capacity;
    bool in_html;              /* output_json_text escapes `<` too, as inside <script> */
} output;
/* What becomes a file has no name until output_close: whatever ends the command, nothing is left.
   false: it has reported why; also when the command reads path, but with output_rewrite,
   for commands that make a trace of a trace. */
bool output_open(output *out, const char *path);
bool output_rewrite(output *out, const char *path);
bool output_onto(output *out, int fd, const char *path);     /* a file that is open; it closes fd */
/* From now on no output takes the place of a file that is another one than this, or was written
   since: output_close returns EXIT_BAD then, and does not say so. NULL: it may. */
void outputs_only_over(const file_state *was);
void output_open_memory(output *out);                        /* output_discard gives it back */
const char *output_memory(output *out, size_t *size);        /* until more is written */
void output_forget(output *out);                             /* what that has: begins anew */
void output_write_on(output *out, const void *data, size_t size);    /* that does not fit */
static inline void output_write(output *out, const void *data, size_t size) {
    if (size == 0) return;
    if (size > OUTPUT_ROOM - out->used) {
        output_write_on(out, data, size);
        return;
    }
    memcpy(out->buffer + out->used, data, size);
    out->used += size;
}
static inline void output_text(output *out, const char *text) {
    output_write(out, text, strlen(text));
}
/* So much is in a memory's. */
static inline size_t output_size(const output *out) { return out->text_size + out->used; }
void output_format(output *out, const char *format, ...) PRINTF_LIKE(2, 3);
enum { US_TEXT = 32 };
void us_text(int64_t ns, char text[US_TEXT]);   /* microseconds with three decimals */
void write_us(output *out, int64_t ns);          /* so, too */
void output_int(output *out, int64_t number);
void output_double(output *out, double x);   /* a JSON number that reads back as x; or null */
void output_json_text(output *out, const char *text, size_t size);   /* quoted; bad UTF-8: U+FFFD */
void output_plain_text(output *out, const char *text);
void output_html_text(output *out, const char *text, size_t size);
/* The lines of a page, as the Makefile makes them of NAME.html (build/tools/NAME_html.h); for
   the line @DATA@ what data() writes, in_html. lines end with NULL. */
void output_page(output *out, const char *const *lines, void (*data)(output *out, void *user),
                 void *user);
prof_sink output_sink(output *out);
/* With the command's status: after EXIT_BAD there is no file. Else it takes its name, whole; one
   that was there keeps its owner, rights and links. Where the exit status will be 1 (not all of the
   input was read), no input is replaced. The status, or EXIT_BAD when something could not be
   written (it has reported). */
int output_close(output *out, int status);
void output_discard(output *out);                            /* of memory */
bool ends_with(const char *text, const char *end);

#endif
