/* Tables of any columns: their formats, and what is in them. */
#ifndef PROF_TOOL_TABLE_H
#define PROF_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/memory.h"
#include "base/output.h"

typedef enum table_format {
    FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_MARKDOWN
} table_format;
#define FORMAT_OPTION(format) {"format", 'f', OPTION_WORD, &(format), "text|csv|json", "(text)"}

/* A table of any columns: text (numbers right-aligned), csv, json (an array of objects), markdown,
   in which the first column is code: its text is nobody's markup. */
typedef struct sheet {
    struct sheet_head { const char *text; bool is_number; } *heads;  /* numbers are bare in JSON */
    size_t columns, head_capacity;
    size_t hidden;             /* so many of the first columns are not in the text form */
    const char **cells;        /* by row; NULL: empty, JSON null */
    size_t cell_count, capacity;
    arena memory;
} sheet;
/* heads: "Name|Calls#|Time (us)#", those of numbers with a #. */
void sheet_begin(sheet *s, const char *heads);
void sheet_head(sheet *s, bool is_number, const char *format, ...) PRINTF_LIKE(3, 4);
/* A new row. Each cell_... fills its next cell; those behind the last one stay empty. */
void sheet_row(sheet *s);
void cell_format(sheet *s, const char *format, ...) PRINTF_LIKE(2, 3);
void cell_text(sheet *s, const char *text);                   /* NULL: empty */
void cell_name(sheet *s, const char *name, int64_t letters);  /* so many of it at most */
void cell_int(sheet *s, int64_t number);
void cell_us(sheet *s, int64_t ns);               /* microseconds with three decimals */
void cell_percent(sheet *s, int64_t part, int64_t whole);     /* two decimals; empty: of nothing */
void sheet_end(sheet *s, table_format format, output *out);  /* writes and frees it */

#endif
