/* What every command of prof.c uses: options, errors, memory, tables, output, progress. */
#ifndef PROF_TOOL_COMMON_H
#define PROF_TOOL_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../prof.h"

#if defined(__GNUC__)
#  define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#  define PRINTF_LIKE(text, first)
#endif

enum { EXIT_OK = 0, EXIT_FOUND = 1 /* validate, diff --threshold */, EXIT_BAD = 2 };

/* ---- Commands and their options ---- */

typedef enum option_type {
    OPTION_FLAG,      /* bool: --name, or --no-name */
    OPTION_TEXT,      /* const char * */
    OPTION_LIST,      /* text_list: may be given several times, and as a,b,c */
    OPTION_COUNT,     /* int64_t, not negative; "all": INT64_MAX */
    OPTION_NUMBER,    /* double */
    OPTION_COMMAND    /* of a list's end: operands are a command line, options end before them */
} option_type;

typedef struct option_spec {
    const char *name;          /* without the dashes; NULL ends a list of options */
    char letter;               /* the short form, 0: none */
    option_type type;
    void *value;
    const char *placeholder;   /* "N", "FILE"; NULL for flags */
    const char *help;
} option_spec;

typedef struct text_list {
    const char **items;
    size_t count;
} text_list;

typedef struct command {
    const char *name, *arguments, *summary;
    const char *examples;      /* lines of help, each a command line and what it does */
    int (*run)(int argc, char **argv);    /* argv[0]: the command's name; returns the exit code */
} command;

/* Takes the options out of argv and leaves the operands from argv[1] on; returns their number.
   -1: the command is over, with exit code *status (--help, or an error that it has told). */
int options_parse(const command *self, const option_spec *options, int argc, char **argv,
                  int *status);

/* ---- Errors: "prof: FILE: what" on stderr, one line each ---- */

/* file NULL: no file is named. Returns EXIT_BAD. */
int fail(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);
void warn(const char *file, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- Memory. Running out ends the program with a message. ---- */

void *allocate(size_t size);                     /* zeroed */
void *reallocate(void *old, size_t size);

/* Makes room for one more item: *items holds count of capacity items of that size. */
#define GROW(items, count, capacity) \
    ((count) < (capacity) ? (void)0 : \
     (void)((capacity) = (capacity) ? (capacity) * 2 : 64, \
            (items) = reallocate((items), (size_t)(capacity) * sizeof *(items))))

/* Pieces that are freed all at once, with 32 readable bytes behind each. Zero-initialise. */
typedef struct arena { struct arena_block *blocks; } arena;
void *arena_allocate(arena *a, size_t size);     /* zeroed, aligned for anything */
char *arena_text(arena *a, const char *text, size_t size);   /* a copy with a NUL */
void arena_free(arena *a);

/* Numbers equal texts alike: 0, 1, 2, ... in order of first sight. Zero-initialise. */
typedef struct interner {
    arena memory;
    struct interned { const char *text; size_t size; uint64_t hash; } *entries;
    uint32_t *slots;
    size_t count, capacity, slot_count;
} interner;
uint32_t intern(interner *names, const char *text, size_t size);
uint32_t intern_find(const interner *names, const char *text, size_t size);  /* or UINT32_MAX */
static inline const char *interned_text(const interner *names, uint32_t number) {
    return names->entries[number].text;          /* ends with a NUL */
}
void intern_free(interner *names);

/* Bytes of the valid UTF-8 sequence at p (left >= 1 bytes are there), 0 when it is none. */
size_t utf8_size(const unsigned char *p, size_t left);

uint64_t hash_bytes(const void *data, size_t size);
static inline uint64_t hash_mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

/* Maps 64-bit keys to 64-bit values. Zero-initialise. */
typedef struct map {
    struct map_slot { uint64_t key, value; } *slots;     /* key 0: empty */
    size_t count, slot_count;
    uint64_t zero_value;       /* of key 0, when has_zero */
    bool has_zero;
} map;
/* The value's place, made (with value 0) when *is_new says so; valid until the next map_put. */
uint64_t *map_put(map *m, uint64_t key, bool *is_new);
uint64_t *map_get(const map *m, uint64_t key);   /* NULL: not there */
void map_free(map *m);

/* Of a path, what stands behind the last slash. */
const char *file_name(const char *path);

/* ---- Output: a file that appears whole or not at all, stdout, or gzip by its ending ---- */

typedef struct output {
    const char *path;          /* NULL or "-": stdout */
    char *temporary;
    FILE *file;
    void *gz;                  /* gzFile */
    char *buffer;
    size_t used;
    bool failed;
    bool in_html;              /* output_json_text escapes `<` too, as inside <script> */
    struct output *next;       /* of those that are open */
} output;
bool output_open(output *out, const char *path);             /* false: it has told why */
void output_write(output *out, const void *data, size_t size);
void output_text(output *out, const char *text);
void output_format(output *out, const char *format, ...) PRINTF_LIKE(2, 3);
void output_json_text(output *out, const char *text, size_t size);   /* quoted; bad UTF-8: U+FFFD */
/* The next character of a text as a terminal may get it: *size bytes at *shown. A control character
   is a space (those of C1, too: U+009B begins a sequence as escape and [ do), what is not UTF-8
   U+FFFD. Returns the bytes that it takes up in the text. */
size_t plain_next(const char *text, const char **shown, size_t *size);
void output_plain_text(output *out, const char *text);
void output_html_text(output *out, const char *text, size_t size);
/* The lines of a page, as the Makefile makes them of NAME.html (build/tools/NAME_html.h); for
   the line @DATA@ what data() writes, in_html. lines end with NULL. */
void output_page(output *out, const char *const *lines, void (*data)(output *out, void *user),
                 void *user);
prof_sink output_sink(output *out);
/* 0, or EXIT_BAD when something could not be written (it has told). Renames into place. */
int output_close(output *out);
void output_discard(output *out);                            /* the command failed: leave nothing */

/* ---- Formats of tables ---- */

typedef enum table_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML } table_format;
bool format_parse(const char *text, table_format *format);   /* NULL: text; false: unknown */

/* A table of any columns: text (numbers right-aligned), csv, json (an array of objects). */
typedef struct sheet {
    const char *const *heads;
    const bool *is_number;     /* per column: right-aligned; bare in JSON */
    size_t columns, rows, capacity;
    size_t hidden;             /* so many of the first columns are not in the text form */
    char **cells;              /* rows x columns, NULL: empty, JSON null */
    arena memory;
} sheet;
void sheet_begin(sheet *s, const char *const *heads, const bool *is_number, size_t columns);
char **sheet_row(sheet *s);    /* a new row, to be filled with sheet_cell */
char *sheet_cell(sheet *s, const char *format, ...) PRINTF_LIKE(2, 3);
void sheet_write(const sheet *s, table_format format, output *out);
void sheet_free(sheet *s);

/* ---- Whole files, plain or gzip ---- */

/* The first bytes that are no space; 0 for stdin, and what cannot be read. */
size_t file_peek(const char *path, char *first, size_t size);
/* All of it, 32 readable bytes behind; NULL: it has told why. The caller frees it. */
char *file_read(const char *path, size_t *size);

/* ---- Progress: a bar on stderr, on a terminal, for what takes longer than half a second ---- */

void progress(const char *what, uint64_t done, uint64_t total);   /* total 0: unknown */
void progress_end(void);

/* Terminal colours for this stream? NO_COLOR and pipes say no. */
bool use_colours(FILE *stream);

#endif
