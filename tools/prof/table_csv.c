/* A table as CSV, for databases: RFC 4180 with line feeds. NULL is nothing, a text without letters
   is in quotes. */
#include "tables.h"

#include <string.h>

void csv_head(output *out, const table_model *model) {
    for (size_t i = 0; i < model->count; i++)
        output_format(out, i ? ",%s" : "%s", model->columns[i].name);
    output_text(out, "\n");
}

static bool is_plain(trace_text text) {
    for (size_t i = 0; i < text.size; i++)
        if (strchr(",\"\r\n", text.data[i])) return false;
    return text.size > 0;
}

static void write_text(output *out, trace_text text) {
    const char *p = text.data, *end = p + text.size;
    if (is_plain(text)) {
        output_write(out, p, text.size);
        return;
    }
    output_text(out, "\"");
    while (p < end) {
        const char *quote = memchr(p, '"', (size_t)(end - p));
        const char *stop = quote ? quote + 1 : end;
        output_write(out, p, (size_t)(stop - p));
        if (quote) output_text(out, "\"");
        p = stop;
    }
    output_text(out, "\"");
}

/* As printf's %lld, which takes longer than the rest of a row. */
static void write_integer(output *out, int64_t number) {
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0) *--at = '-';
    output_write(out, at, (size_t)(digits + sizeof digits - at));
}

void csv_row(output *out, const table_model *model, const cell *cells) {
    for (size_t i = 0; i < model->count; i++) {
        if (i) output_write(out, ",", 1);
        if (!cells[i].is) continue;
        switch (model->columns[i].type) {
        case CELL_TEXT: write_text(out, cells[i].text); break;
        case CELL_DOUBLE: output_double(out, cells[i].number); break;
        default: write_integer(out, cells[i].integer); break;
        }
    }
    output_write(out, "\n", 1);
}
