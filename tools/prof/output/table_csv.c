/* A table as CSV, for databases: RFC 4180 with line feeds. NULL is nothing, a text without letters
   is in quotes, and one that a spreadsheet would take for a formula stands behind a '. */
#include "output/tables.h"

#include "library.h"

#include <string.h>

void csv_head(output *out, const table_model *model) {
    for (size_t i = 0; i < model->count; i++)
        output_format(out, i ? ",%s" : "%s", model->columns[i].name);
    output_text(out, "\n");
}

/* The bytes for which a text is in quotes. */
static const bool special[256] = {[','] = true, ['"'] = true, ['\r'] = true, ['\n'] = true};

/* Of a text in quotes: itself, but each quote twice. */
static char *put_quoted(char *to, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        *to++ = text[i];
        if (text[i] == '"') *to++ = '"';
    }
    return to;
}

static void write_large(output *out, trace_text text, bool formula) {
    enum { PIECE = OUTPUT_ROOM / 2 };
    output_text(out, formula ? "\"'" : "\"");
    for (size_t at = 0; at < text.size; at += PIECE) {
        size_t size = text.size - at < PIECE ? text.size - at : PIECE;
        output_written(out, put_quoted(output_room(out, 2 * size), text.data + at, size));
    }
    output_text(out, "\"");
}

static void write_text(output *out, trace_text text) {
    size_t plain = 0;
    char first[16] = "";                   /* enough to tell a formula */
    memcpy(first, text.data, text.size < 15 ? text.size : 15);
    bool formula = is_formula(first);
    while (plain < text.size && !formula && !special[(unsigned char)text.data[plain]]) plain++;
    if (plain == text.size && plain) {
        output_write(out, text.data, text.size);
        return;
    }
    if (text.size > OUTPUT_ROOM / 4) {
        write_large(out, text, formula);
        return;
    }
    char *to = output_room(out, 2 * text.size + 3);
    *to++ = '"';
    if (formula) *to++ = '\'';
    to = put_quoted(to, text.data, text.size);
    *to++ = '"';
    output_written(out, to);
}

/* As printf's %lld, which takes longer than the rest of a row. */
static char *put_integer(char *to, int64_t number) {
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) *to++ = '-';
    while (at < digits + sizeof digits) *to++ = *at++;
    return to;
}

void csv_row(output *out, const table_model *model, const cell *cells) {
    for (size_t i = 0; i < model->count; i++) {
        char *to = output_room(out, 24);
        cell_type type = cells[i].is ? model->columns[i].type : CELL_INT32;
        if (i) *to++ = ',';
        if (cells[i].is && type != CELL_TEXT && type != CELL_DOUBLE)
            to = put_integer(to, cells[i].integer);
        output_written(out, to);
        if (type == CELL_TEXT) write_text(out, cells[i].text);
        else if (type == CELL_DOUBLE) output_double(out, cells[i].number);
    }
    output_write(out, "\n", 1);
}
