/* Makes JSON of what is nearly JSON: see json_mend.h. */
#include "input/json_mend.h"

#include <stdlib.h>
#include <string.h>

static void add(mended *m, const char *piece, size_t size) {
    if (m->capacity < m->size + size + READABLE) {
        m->capacity = (m->size + size + READABLE) * 2;
        m->data = reallocate(m->data, m->capacity);
    }
    memcpy(m->data + m->size, piece, size);
    m->size += size;
}

/* p: at a backslash. Returns what is behind the escape, or behind the backslash alone: then that is
   meant, as in a path of Windows. */
static const char *mend_escape(mended *m, const char *p, const char *end) {
    size_t size = json_escape(p, end);
    if (size) return add(m, p, size), p + size;
    bool half = json_is_code(p, end);
    add(m, half ? "\\ufffd" : "\\\\", half ? 6 : 2);
    return p + (half ? 6 : 1);
}

static const char *mend_character(mended *m, const char *p, const char *end) {
    static const char hex[] = "0123456789abcdef";
    size_t size = utf8_size((const unsigned char *)p, (size_t)(end - p));
    if (*p == '\\') return mend_escape(m, p, end);
    if ((unsigned char)*p < 0x20)
        add(m, (char[]){'\\', 'u', '0', '0', hex[*p >> 4], hex[*p & 15]}, 6);
    else if (size) add(m, p, size);
    else add(m, "\xEF\xBF\xBD", 3);
    return p + (size ? size : 1);
}

/* p: behind the opening quote. Returns what is behind the closing one. */
static const char *mend_text(mended *m, const char *p, const char *end) {
    add(m, "\"", 1);
    while (p < end && *p != '"') p = mend_character(m, p, end);
    add(m, "\"", 1);
    return p < end ? p + 1 : end;
}

static bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static const char *mend_word(mended *m, const char *p, const char *end) {
    const char *begin = p;
    while (p < end && is_letter(*p)) p++;
    if (*begin == 't' || *begin == 'f') add(m, begin, (size_t)(p - begin));
    else add(m, "null", 4);
    return p;
}

static bool closes(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p < end && (*p == ']' || *p == '}');
}

static const char *mend_number(mended *m, const char *p, const char *end) {
    const char *begin = p;
    while (p < end && *p && strchr("0123456789.eE+-", *p)) p++;
    if (!json_is_infinite(begin)) {
        add(m, begin, (size_t)(p - begin));
        return p;
    }
    m->size -= m->data[m->size - 1] == '-';          /* it is never the first */
    add(m, "null", 4);
    return p;
}

void json_mend(mended *m, trace_text text) {
    const char *p = text.data, *end = p + text.size;
    while (p < end) {
        if (*p == '"') p = mend_text(m, p + 1, end);
        else if (*p >= '0' && *p <= '9') p = mend_number(m, p, end);
        else if (is_letter(*p)) p = mend_word(m, p, end);
        else if (*p == '-' && end - p > 1 && is_letter(p[1])) p++;
        else if (*p == ',' && closes(p + 1, end)) p++;
        else add(m, p++, 1);
    }
    add(m, "", 0);
    memset(m->data + m->size, 0, READABLE);
}
