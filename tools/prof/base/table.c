/* Tables of any columns. */
#include "base/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "library.h"

void sheet_head(sheet *s, bool is_number, const char *format, ...) {
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    GROW(s->heads, s->columns, s->head_capacity);
    s->heads[s->columns++] = (struct sheet_head){
        arena_text(&s->memory, text, strlen(text)), is_number
    };
}

void sheet_begin(sheet *s, const char *heads) {
    *s = (sheet){0};
    while (*heads) {
        int size = (int)strcspn(heads, "|#");
        bool is_number = heads[size] == '#';
        sheet_head(s, is_number, "%.*s", size, heads);
        heads += size + is_number;
        heads += *heads == '|';
    }
}

void cell_text(sheet *s, const char *text) {
    GROW(s->cells, s->cell_count, s->capacity);
    s->cells[s->cell_count++] = text ? arena_text(&s->memory, text, strlen(text)) : NULL;
}

void sheet_row(sheet *s) {
    while (s->cell_count % s->columns) cell_text(s, NULL);
}

void cell_format(sheet *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_allocate(&s->memory, (size_t)size + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    GROW(s->cells, s->cell_count, s->capacity);
    s->cells[s->cell_count++] = text;
}

void cell_name(sheet *s, const char *name, int64_t letters) {
    const char *p = name;
    for (int64_t left = letters; *p; p++)
        if ((*p & 0xC0) != 0x80 && left-- == 0) break;
    cell_format(s, "%.*s", (int)(p - name), name);
}

void cell_int(sheet *s, int64_t number) { cell_format(s, "%lld", (long long)number); }

void cell_us(sheet *s, int64_t ns) {
    char text[US_TEXT];
    us_text(ns, text);
    cell_text(s, text);
}

void cell_percent(sheet *s, int64_t part, int64_t whole) {
    if (whole > 0) cell_format(s, "%.2f", 100 * (double)part / (double)whole);
    else cell_text(s, NULL);
}

static size_t code_points(const char *text) {
    const char *shown;
    size_t count = 0, size;
    for (; *text; count++) text += plain_next(text, &shown, &size);
    return count;
}

/* What does not fit ends with "...". padded: the cell is as wide as its column. */
static void write_cell(output *out, const char *text, size_t width, bool right, bool padded) {
    size_t size = code_points(text), pad = padded && width > size ? width - size : 0;
    for (; right && pad; pad--) output_text(out, " ");
    for (size_t left = width - 3; size > width && left; left--) {
        const char *shown;
        size_t bytes;
        text += plain_next(text, &shown, &bytes);
        output_write(out, shown, bytes);
    }
    output_plain_text(out, size > width ? "..." : text);
    while (pad--) output_text(out, " ");
}

/* row NULL: the heads. */
static const char *text_at(const sheet *s, const char *const *row, size_t column) {
    return row ? row[column] : s->heads[column].text;
}

/* width 0: the column is left out. */
static void write_text_row(const sheet *s, const char *const *row, const size_t *widths,
                           output *out) {
    size_t last = s->columns;
    while (last && !widths[last - 1]) last--;
    for (size_t c = s->hidden; c < last; c++) {
        const char *text = text_at(s, row, c);
        bool right = s->heads[c].is_number;
        if (!widths[c]) continue;
        write_cell(out, text ? text : "-", widths[c], right, c + 1 < last || right);
        if (c + 1 < last) output_text(out, "  ");
    }
    output_text(out, "\n");
}

static void write_rule(const sheet *s, const size_t *widths, output *out) {
    bool first = true;
    for (size_t c = s->hidden; c < s->columns; c++) {
        if (!widths[c]) continue;
        if (!first) output_text(out, "  ");
        for (size_t i = 0; i < widths[c]; i++) output_text(out, "-");
        first = false;
    }
    output_text(out, "\n");
}

/* ---- To fit a terminal's lines ---- */

static size_t line_width(const sheet *s, const size_t *widths) {
    size_t sum = 0;
    for (size_t c = s->hidden; c < s->columns; c++) sum += widths[c] ? widths[c] + 2 : 0;
    return sum ? sum - 2 : 0;
}

/* Has any row a figure there that is not 0? */
static bool is_told(const sheet *s, size_t column) {
    for (size_t i = column; i < s->cell_count; i += s->columns)
        if (s->cells[i] && strpbrk(s->cells[i], "123456789")) return true;
    return false;
}

/* Narrows the widest column of text, to 20 at least; false: there is none that is wider. */
static bool narrow(const sheet *s, size_t *widths) {
    size_t widest = s->columns;
    for (size_t c = s->hidden; c < s->columns; c++)
        if (!s->heads[c].is_number && widths[c] > (widest < s->columns ? widths[widest] : 20))
            widest = c;
    if (widest < s->columns) widths[widest]--;
    return widest < s->columns;
}

/* Texts are cut, then columns of figures are left out: those of nothing but 0, then from the right;
   the first stays. */
static void fit(const sheet *s, size_t *widths, size_t room) {
    size_t first = s->hidden;
    while (line_width(s, widths) > room && narrow(s, widths)) {}
    while (first < s->columns && !s->heads[first].is_number) first++;
    for (int told = 0; told < 2; told++)
        for (size_t c = s->columns; c-- > first + 1 && line_width(s, widths) > room; )
            if (s->heads[c].is_number && is_told(s, c) == told) widths[c] = 0;
}

static void write_left_out(const sheet *s, const size_t *widths, size_t room, output *out) {
    static const char head[] = "Left out to fit the width: ";
    size_t at = 0;
    for (size_t c = s->hidden; c < s->columns; c++) {
        size_t size = code_points(s->heads[c].text);
        if (widths[c]) continue;
        bool breaks = at + size + 3 > room;
        output_text(out, at == 0 ? head : breaks ? ",\n  " : ", ");
        output_plain_text(out, s->heads[c].text);
        at = (at == 0 ? sizeof head - 1 : breaks ? 2 : at + 2) + size;
    }
    if (at) output_text(out, "\n");
}

static void write_text_sheet(const sheet *s, output *out) {
    size_t *widths = allocate(s->columns * sizeof *widths);
    size_t room = out->path ? 0 : terminal_width();
    for (size_t c = 0; c < s->columns; c++) widths[c] = code_points(s->heads[c].text);
    for (size_t i = 0; i < s->cell_count; i++) {
        size_t size = s->cells[i] ? code_points(s->cells[i]) : 1;
        if (size > widths[i % s->columns]) widths[i % s->columns] = size;
    }
    if (room) fit(s, widths, room);
    write_text_row(s, NULL, widths, out);
    write_rule(s, widths, out);
    for (size_t i = 0; i < s->cell_count; i += s->columns)
        write_text_row(s, s->cells + i, widths, out);
    write_left_out(s, widths, room, out);
    free(widths);
}

/* A text that a spreadsheet would take for a formula stands behind a '; control characters, but the
   line feed, are spaces. */
static void write_csv_cell(output *out, const char *text, bool is_number) {
    bool quoted = strpbrk(text, ",\"\n") != NULL;
    if (quoted) output_text(out, "\"");
    if (!is_number && is_formula(text)) output_text(out, "'");
    while (*text) {
        const char *shown = text;
        size_t size = 1, taken = *text == '\n' ? 1 : plain_next(text, &shown, &size);
        if (*text == '"') output_text(out, "\"");
        output_write(out, shown, size);
        text += taken;
    }
    if (quoted) output_text(out, "\"");
}

static void write_csv_row(const sheet *s, const char *const *row, output *out) {
    for (size_t c = 0; c < s->columns; c++) {
        const char *text = text_at(s, row, c);
        write_csv_cell(out, text ? text : "", row && s->heads[c].is_number);
        output_text(out, c + 1 < s->columns ? "," : "\n");
    }
}

static void write_json_row(const sheet *s, const char *const *row, output *out) {
    for (size_t c = 0; c < s->columns; c++) {
        output_text(out, c ? ", " : "{");
        output_json_text(out, s->heads[c].text, strlen(s->heads[c].text));
        output_text(out, ": ");
        if (!row[c]) output_text(out, "null");
        else if (s->heads[c].is_number) output_text(out, row[c]);
        else output_json_text(out, row[c], strlen(row[c]));
    }
    output_text(out, "}");
}

/* ---- Markdown, as GitHub and GitLab have it ---- */

/* Of a text in a cell: what would end it, or mark it up. */
static void write_marked(output *out, const char *text, const char *special) {
    const char *shown;
    size_t size;
    while (*text) {
        const char *at = text;
        text += plain_next(text, &shown, &size);
        if (strchr(special, *at)) output_text(out, "\\");
        output_write(out, shown, size);
    }
}

/* Backticks within are fewer than those around it. */
static void write_code(output *out, const char *text) {
    size_t longest = 0, run = 0;
    for (const char *p = text; *p; p++) {
        run = *p == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    for (size_t i = 0; i <= longest; i++) output_text(out, "`");
    output_text(out, longest ? " " : "");
    write_marked(out, text, "|");
    output_text(out, longest ? " " : "");
    for (size_t i = 0; i <= longest; i++) output_text(out, "`");
}

static void write_markdown_row(const sheet *s, const char *const *row, output *out) {
    for (size_t c = 0; c < s->columns; c++) {
        const char *text = text_at(s, row, c);
        output_text(out, "| ");
        if (row && c == 0 && text && *text) write_code(out, text);
        else write_marked(out, text ? text : "", "\\`*_[]<>|~&#");
        output_text(out, c + 1 < s->columns ? " " : " |\n");
    }
}

static void write_markdown_head(const sheet *s, output *out) {
    write_markdown_row(s, NULL, out);
    for (size_t c = 0; c < s->columns; c++)
        output_text(out, s->heads[c].is_number ? "|---:" : "|---");
    output_text(out, "|\n");
}

void sheet_end(sheet *s, table_format format, output *out) {
    sheet_row(s);
    if (format == FORMAT_TEXT) write_text_sheet(s, out);
    else if (format == FORMAT_MARKDOWN) write_markdown_head(s, out);
    else if (format == FORMAT_CSV) write_csv_row(s, NULL, out);
    else output_text(out, "[");
    for (size_t i = 0; format != FORMAT_TEXT && i < s->cell_count; i += s->columns) {
        if (format == FORMAT_JSON) output_text(out, i ? ",\n " : "\n ");
        if (format == FORMAT_JSON) write_json_row(s, s->cells + i, out);
        else if (format == FORMAT_MARKDOWN) write_markdown_row(s, s->cells + i, out);
        else write_csv_row(s, s->cells + i, out);
    }
    if (format == FORMAT_JSON) output_text(out, "\n]\n");
    free(s->heads);
    free(s->cells);
    arena_free(&s->memory);
}
