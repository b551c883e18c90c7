/* Tables of any columns. */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

bool format_parse(const char *text, table_format *format) {
    static const char *const names[] = {"text", "csv", "json", "html"};
    *format = FORMAT_TEXT;
    if (!text) return true;
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *format = (table_format)i;
        return true;
    }
    return false;
}

void sheet_begin(sheet *s, const char *const *heads, const bool *is_number, size_t columns) {
    memset(s, 0, sizeof *s);
    s->heads = heads;
    s->is_number = is_number;
    s->columns = columns;
}

char **sheet_row(sheet *s) {
    if (s->rows == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 64;
        s->cells = reallocate(s->cells, s->capacity * s->columns * sizeof *s->cells);
    }
    char **row = s->cells + s->rows++ * s->columns;
    memset(row, 0, s->columns * sizeof *row);
    return row;
}

char *sheet_cell(sheet *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_allocate(&s->memory, (size_t)size + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

static size_t code_points(const char *text) {
    const char *shown;
    size_t count = 0, size;
    for (; *text; count++) text += plain_next(text, &shown, &size);
    return count;
}

static void write_padded(output *out, const char *text, size_t width, bool right) {
    size_t size = code_points(text), pad = width > size ? width - size : 0;
    for (; right && pad; pad--) output_text(out, " ");
    output_plain_text(out, text);
    while (pad--) output_text(out, " ");
}

static void write_text_row(const sheet *s, const char *const *row, const size_t *widths,
                           output *out) {
    for (size_t c = s->hidden; c < s->columns; c++) {
        bool last = c + 1 == s->columns && !s->is_number[c];
        write_padded(out, row[c] ? row[c] : "-", last ? 0 : widths[c], s->is_number[c]);
        output_text(out, c + 1 < s->columns ? "  " : "\n");
    }
}

static void write_text_sheet(const sheet *s, output *out) {
    size_t *widths = allocate(s->columns * sizeof *widths);
    for (size_t c = 0; c < s->columns; c++) {
        widths[c] = code_points(s->heads[c]);
        for (size_t r = 0; r < s->rows; r++) {
            const char *cell = s->cells[r * s->columns + c];
            size_t size = cell ? code_points(cell) : 1;
            if (size > widths[c]) widths[c] = size;
        }
    }
    write_text_row(s, s->heads, widths, out);
    for (size_t c = s->hidden; c < s->columns; c++) {
        for (size_t i = 0; i < widths[c]; i++) output_text(out, "-");
        output_text(out, c + 1 < s->columns ? "  " : "\n");
    }
    for (size_t r = 0; r < s->rows; r++)
        write_text_row(s, (const char *const *)s->cells + r * s->columns, widths, out);
    free(widths);
}

/* A text that a spreadsheet would take for a formula stands behind a '. */
static void write_csv_cell(output *out, const char *text, bool is_number) {
    bool formula = !is_number && *text && strchr("=+-@\t\r", *text);
    if (!strpbrk(text, ",\"\n\r")) {
        if (formula) output_text(out, "'");
        output_text(out, text);
        return;
    }
    output_text(out, formula ? "\"'" : "\"");
    for (; *text; text++) {
        if (*text == '"') output_text(out, "\"");
        output_write(out, text, 1);
    }
    output_text(out, "\"");
}

static void write_csv_row(const sheet *s, const char *const *row, output *out) {
    for (size_t c = 0; c < s->columns; c++) {
        write_csv_cell(out, row[c] ? row[c] : "", s->is_number[c]);
        output_text(out, c + 1 < s->columns ? "," : "\n");
    }
}

static void write_json_row(const sheet *s, const char *const *row, output *out) {
    for (size_t c = 0; c < s->columns; c++) {
        output_text(out, c ? ", " : "{");
        output_json_text(out, s->heads[c], strlen(s->heads[c]));
        output_text(out, ": ");
        if (!row[c]) output_text(out, "null");
        else if (s->is_number[c]) output_text(out, row[c]);
        else output_json_text(out, row[c], strlen(row[c]));
    }
    output_text(out, "}");
}

void sheet_write(const sheet *s, table_format format, output *out) {
    if (format == FORMAT_TEXT) {
        write_text_sheet(s, out);
        return;
    }
    if (format == FORMAT_CSV) write_csv_row(s, s->heads, out);
    else output_text(out, "[");
    for (size_t r = 0; r < s->rows; r++) {
        const char *const *row = (const char *const *)s->cells + r * s->columns;
        if (format == FORMAT_CSV) {
            write_csv_row(s, row, out);
        } else {
            output_text(out, r ? ",\n " : "\n ");
            write_json_row(s, row, out);
        }
    }
    if (format != FORMAT_CSV) output_text(out, "\n]\n");
}

void sheet_free(sheet *s) {
    free(s->cells);
    arena_free(&s->memory);
    memset(s, 0, sizeof *s);
}
