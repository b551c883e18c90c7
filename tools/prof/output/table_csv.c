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

/* Each quote twice. */
static void write_quoted(output *out, const char *text, size_t size) {
    for (const char *quote; (quote = memchr(text, '"', size)); ) {
        size_t piece = (size_t)(quote + 1 - text);
        output_write(out, text, piece);
        output_write(out, "\"", 1);
        text += piece;
        size -= piece;
    }
    output_write(out, text, size);
}

static void write_text(output *out, trace_text text) {
    size_t plain = 0;
    char first[16] = "";                   /* enough to tell a formula */
    memcpy(first, text.data, text.size < 15 ? text.size : 15);
    bool formula = is_formula(first);
    while (plain < text.size && !special[(unsigned char)text.data[plain]]) plain++;
    if (plain == text.size && plain && !formula) {
        output_write(out, text.data, text.size);
        return;
    }
    output_text(out, formula ? "\"'" : "\"");
    write_quoted(out, text.data, text.size);
    output_text(out, "\"");
}

void csv_row(output *out, const table_model *model, const cell *cells) {
    for (size_t i = 0; i < model->count; i++) {
        cell_type type = model->columns[i].type;
        if (i) output_write(out, ",", 1);
        if (!cells[i].is) continue;
        if (type == CELL_TEXT) write_text(out, cells[i].text);
        else if (type == CELL_DOUBLE) output_double(out, cells[i].number);
        else output_int(out, cells[i].integer);
    }
    output_write(out, "\n", 1);
}
