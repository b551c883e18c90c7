/* Tables of any columns: their formats, and what is in them. */
#ifndef PROF_TOOL_TABLE_H
#define PROF_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/memory.h"
#include "base/output.h"

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
char *sheet_name(sheet *s, const char *name, int64_t letters);     /* so many of it at most */
char *sheet_us(sheet *s, int64_t ns);            /* microseconds with three decimals */
char *sheet_percent(sheet *s, int64_t part, int64_t whole);  /* two decimals; NULL: of nothing */
void sheet_write(const sheet *s, table_format format, output *out);
void sheet_free(sheet *s);

#endif
