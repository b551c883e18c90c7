/* Folded stacks as events: lines "outer;inner 123", microseconds; one behind another in time. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "input/event_source.h"

enum { LONGEST_LINE = 1 << 20 };

typedef struct folded {
    event_queue *to;
    interner names;
    frame_stack stack;           /* read last */
    uint32_t *frames;            /* of this line, the outermost first */
    size_t frame_capacity;
    int64_t now_ns;
    char *line;                  /* begun in the bytes before */
    size_t line_size;
    bool too_long;               /* that one: it is left out */
    uint64_t bad_lines;
} folded;

/* Where the count begins in a line of folded stacks, which may have decimals (inferno's, eflame's);
   NULL: it is none. */
static const char *count_of(const char *line, size_t size) {
    const char *p = line + size, *point = NULL;
    while (p > line && (isdigit((unsigned char)p[-1]) || (p[-1] == '.' && !point)))
        if (*--p == '.') point = p;
    bool whole = p < line + size && p != point && line[size - 1] != '.';
    bool apart = p > line + 1 && (p[-1] == ' ' || p[-1] == '\t');
    return whole && apart && (point ? point : line + size) - p <= 15 ? p : NULL;
}

/* The line's count, in ns, to be added to the time so far; -1: this is no line of folded stacks. */
static int64_t line_ns(const folded *t, const char *count, const char *end) {
    int64_t ns = -1;
    if (!count || !json_ns((trace_text){count, (size_t)(end - count)}, &ns)) return -1;
    return ns > INT64_MAX - t->now_ns ? -1 : ns;
}

static void read_line(folded *t, const char *line, size_t size) {
    if (size && line[size - 1] == '\r') size--;
    const char *count = count_of(line, size), *end = count ? count - 1 : line;
    while (end > line + 1 && (end[-1] == ' ' || end[-1] == '\t')) end--;
    int64_t ns = line_ns(t, count, line + size);
    size_t depth = 0;
    if (ns < 0) {
        t->bad_lines += size > 0;
        return;
    }
    for (const char *p = line; p < end; depth++) {
        const char *stop = memchr(p, ';', (size_t)(end - p));
        if (!stop) stop = end;
        GROW(t->frames, depth, t->frame_capacity);
        t->frames[depth] = intern_clean(&t->names, (trace_text){p, (size_t)(stop - p)});
        p = stop + 1;
    }
    frames_are(&t->stack, t->to, &t->names, 0, t->frames, depth, t->now_ns);
    t->now_ns += ns;
}

/* Keeps the part of a line whose end has not come yet. */
static void keep_part(folded *t, const char *data, size_t size) {
    t->too_long |= t->line_size + size > LONGEST_LINE;
    if (t->too_long) return;
    t->line = reallocate(t->line, t->line_size + size);
    memcpy(t->line + t->line_size, data, size);
    t->line_size += size;
}

static void end_line(folded *t) {
    if (t->too_long) t->bad_lines++;
    else read_line(t, t->line, t->line_size);
    t->too_long = false;
    t->line_size = 0;
}

static void push_lines(void *source, const void *bytes, size_t size) {
    folded *t = source;
    const char *data = bytes, *end = data + size;
    while (data < end) {
        const char *stop = memchr(data, '\n', (size_t)(end - data));
        size_t piece = (size_t)((stop ? stop : end) - data);
        bool whole = stop && !t->line_size && !t->too_long;
        if (whole) read_line(t, data, piece);
        else keep_part(t, data, piece);
        if (!stop) return;
        if (!whole) end_line(t);
        data = stop + 1;
    }
}

/* ---- The whole ---- */

/* Frames may have brackets of their own: [unknown];f 12. */
static bool is_json(const char *first, size_t length) {
    size_t at = 1;
    while (at < length && (first[at] == ' ' || first[at] == '\t')) at++;
    return length && (*first == '[' || *first == '{') &&
           (at >= length || strchr("[]{}\"-0123456789", first[at]));
}

static int is_folded(const void *bytes, size_t size) {
    const char *first = bytes, *stop = memchr(first, '\n', size);
    size_t length = stop ? (size_t)(stop - first) : size;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)first[i] < ' ' && first[i] != '\r' && first[i] != '\t') return 0;
    if (length && first[length - 1] == '\r') length--;
    if (is_json(first, length)) return 0;
    return count_of(first, length) ? 1 : stop ? 0 : -1;          /* a long line's end may come */
}

static void *open_folded(const source_desc *desc) {
    folded *t = allocate(sizeof *t);
    t->to = desc->to;
    t->stack.pid = t->stack.tid = 1;
    return t;
}

static bool end_lines(void *source) {
    folded *t = source;
    if (t->line_size || t->too_long) end_line(t);
    frames_are(&t->stack, t->to, &t->names, 0, NULL, 0, t->now_ns);
    return false;
}

static bool tell_lines(void *source, const char *path) {
    const folded *t = source;
    if (t->bad_lines)
        warn(path, "%llu lines are not folded stacks: left out", (unsigned long long)t->bad_lines);
    return false;
}

static void close_folded(void *source) {
    folded *t = source;
    frames_free(&t->stack);
    free(t->frames);
    free(t->line);
    intern_free(&t->names);
    free(t);
}

const source_format folded_format = {
    is_folded, open_folded, push_lines, end_lines, tell_lines, close_folded
};
