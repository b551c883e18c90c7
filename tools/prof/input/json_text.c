/* JSON texts: see json_text.h and json_scan.h. */
#include "input/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "input/json_scan.h"

enum { DEEPEST = 512 };          /* brackets inside one element */

const char json_too_long[] = "an element of more than 64 MB";

/* ---- Scanning ---- */

unsigned json_hex4(const char *p) {
    unsigned code = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
                         (c | 32) >= 'a' && (c | 32) <= 'f' ? (unsigned)((c | 32) - 'a' + 10) : 16;
        if (digit == 16) return UINT32_MAX;
        code = code * 16 + digit;
    }
    return code;
}

bool json_is_code(const char *p, const char *end) {
    return end - p >= 6 && p[1] == 'u' && json_hex4(p + 2) != UINT32_MAX;
}

size_t json_escape(const char *p, const char *end) {
    if (end - p < 2 || !p[1]) return 0;
    if (p[1] != 'u') return strchr("\"\\/bfnrt", p[1]) ? 2 : 0;
    unsigned code = end - p >= 6 ? json_hex4(p + 2) : UINT32_MAX;
    if (code == UINT32_MAX || (code >= 0xDC00 && code < 0xE000)) return 0;
    if (code < 0xD800 || code >= 0xE000) return 6;
    unsigned low = end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? json_hex4(p + 8) : 0;
    return low >= 0xDC00 && low < 0xE000 ? 12 : 0;
}

bool json_is_infinite(const char *number) {
    double value = strtod(number, NULL);
    return value - value != 0;
}

const char *json_no_comma(json_scan *s, const char *p) {
    return stop_at(s, p, *p == ']' || *p == '}' ? "this bracket closes another kind"
                                                : "a comma is missing here");
}

static void count_bad_utf8(json_scan *s, const char *text, const char *end) {
    for (const unsigned char *p = (const unsigned char *)text; p < (const unsigned char *)end; ) {
        size_t size = utf8_size(p, (size_t)((const unsigned char *)end - p));
        if (size == 0) defect(s, TRACE_BAD_UTF8);
        p += size ? size : 1;
    }
}

const char *json_odd_text(json_scan *s, const char *begin, const char *p) {
    bool high = false;
    for (; *p != '"'; p = text_stop(p + 1)) {
        if (p >= s->buffer + s->used) return stop(s, MORE, p, NULL);
        if ((signed char)*p < 0) {
            high = true;
            while ((signed char)p[1] < 0) p++;
            continue;
        }
        size_t size = *p == '\\' ? json_escape(p, s->buffer + s->used) : 0;
        if (size == 0) defect(s, *p == '\\' ? TRACE_ESCAPE : TRACE_CONTROL);
        s->escapes |= *p == '\\';
        if (*p == '\\') p += size ? size - 1 : 1;
    }
    if (p >= s->buffer + s->used) return stop(s, MORE, p, NULL);   /* behind a backslash */
    if (high) count_bad_utf8(s, begin, p);
    return p + 1;
}

static const char *skip_word(json_scan *s, const char *p, bool number) {
    static const struct { const char *text; size_t size; bool number; } words[] = {
        {"true", 4, false}, {"false", 5, false}, {"null", 4, false}, {"NaN", 3, true},
        {"Infinity", 8, true}, {"nan", 3, true}, {"inf", 3, true}
    };
    size_t left = (size_t)(s->buffer + s->used - p);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t size = words[i].size < left ? words[i].size : left;
        if ((number && !words[i].number) || memcmp(p, words[i].text, size) != 0) continue;
        if (size < words[i].size) return stop(s, MORE, p, NULL);
        if (words[i].number) defect(s, TRACE_NAN);
        return p + size;
    }
    return stop(s, BAD, p, "this is not JSON");
}

enum character { NONE, DIGIT, OPEN, LETTER };

static const uint8_t characters[256] = {
    ['0'] = DIGIT, ['1'] = DIGIT, ['2'] = DIGIT, ['3'] = DIGIT, ['4'] = DIGIT,
    ['5'] = DIGIT, ['6'] = DIGIT, ['7'] = DIGIT, ['8'] = DIGIT, ['9'] = DIGIT, ['-'] = DIGIT,
    ['['] = OPEN, ['{'] = OPEN, ['t'] = LETTER, ['f'] = LETTER,
    ['n'] = LETTER, ['N'] = LETTER, ['I'] = LETTER, ['i'] = LETTER
};

/* p: at a digit or a minus sign. */
static const char *skip_odd_number(json_scan *s, const char *p) {
    static const char what[] = "this is no number of JSON";
    const char *begin = p;
    bool large = false;
    if (*p == '-' && characters[(unsigned char)*++p] == LETTER) return skip_word(s, p, true);
    if (!is_digit(*p)) return stop_at(s, p, what);
    p = *p == '0' ? p + 1 : skip_digits(p);
    if (*p == '.') {
        if (!is_digit(*++p)) return stop_at(s, p, what);
        p = skip_digits(p);
    }
    if ((*p | 32) == 'e') {
        large = true;
        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        if (!is_digit(*p)) return stop_at(s, p, what);
        p = skip_digits(p);
    }
    if (is_digit(*p) || *p == '.') return stop(s, BAD, p, what);
    if ((large || p - begin > FITS) && json_is_infinite(begin)) defect(s, TRACE_NAN);
    return p;
}

static const char *skip_odd_scalar(json_scan *s, const char *p) {
    switch (characters[(unsigned char)*p]) {
    case DIGIT: return skip_odd_number(s, p);
    case LETTER: return skip_word(s, p, false);
    default: return stop_at(s, p, "a value is missing here");
    }
}

/* What has no brackets. */
static inline const char *skip_scalar(json_scan *s, const char *p) {
    if (*p == '"') return skip_text(s, p + 1);
    const char *end = plain_number(p);
    return end ? end : skip_odd_scalar(s, p);
}

/* From an opening bracket to behind its match. */
static const char *skip_nested(json_scan *s, const char *p) {
    char closing[DEEPEST];
    trace_text key;
    int depth = 0;
    for (;;) {
        bool last = false, open = *p == '[' || *p == '{';
        if (open) {
            if (depth == DEEPEST) return stop(s, BAD, p, "brackets are nested too deep");
            closing[depth++] = *p == '[' ? ']' : '}';
            last = *(p = skip_space(p + 1)) == closing[depth - 1];
        } else {
            if (!(p = skip_scalar(s, p))) return NULL;
            if (!(p = skip_comma(s, p, closing[depth - 1], &last))) return NULL;
        }
        while (last) {
            p++;
            if (--depth == 0) return p;
            if (!(p = skip_comma(s, p, closing[depth - 1], &last))) return NULL;
        }
        if (closing[depth - 1] == '}' && !(p = skip_key(s, p, &key))) return NULL;
    }
}

const char *json_odd_value(json_scan *s, const char *p) {
    if (characters[(unsigned char)*p] == OPEN) return skip_nested(s, p);
    bool number = characters[(unsigned char)*p] == DIGIT;
    p = skip_odd_scalar(s, p);
    return p && number && !*p ? stop_at(s, p, "this is not JSON") : p;
}

/* ---- Numbers ---- */

static bool decimal_digits(trace_text value, char digits[64], int *count, int *point) {
    const char *p = value.data, *end = value.data + value.size;
    int seen_point = 0, exponent = 0;
    *count = *point = 0;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.' && !seen_point) { seen_point = 1; continue; }
        if (*p < '0' || *p > '9') return false;
        if (*count < 64) digits[(*count)++] = *p;
        else if (seen_point) continue;
        if (!seen_point) ++*point;
    }
    if (p < end) {
        bool negative = p + 1 < end && p[1] == '-';
        for (p += 1 + (p + 1 < end && (p[1] == '-' || p[1] == '+')); p < end; p++) {
            if (*p < '0' || *p > '9') return false;
            if (exponent < 10000) exponent = exponent * 10 + (*p - '0');
        }
        *point += negative ? -exponent : exponent;
    }
    return *count > 0;
}

bool json_is_decimal(trace_text value) {
    char digits[64];
    int count, point;
    bool negative = value.size && value.data[0] == '-';
    trace_text rest = {value.data + negative, value.size - negative};
    return decimal_digits(rest, digits, &count, &point);
}

/* value x 10^shift as an integer, to the nearest. */
static bool decimal_integer(trace_text value, int shift, int64_t *number) {
    char digits[64];
    int count, point;
    bool negative = value.size && value.data[0] == '-';
    trace_text rest = {value.data + negative, value.size - negative};
    if (!decimal_digits(rest, digits, &count, &point)) return false;
    uint64_t sum = 0, most = (uint64_t)INT64_MAX + (negative && !shift);   /* of times it is none */
    for (int i = 0; i < point + shift; i++) {
        unsigned digit = i < count ? (unsigned)(digits[i] - '0') : 0;
        if (sum > (most - digit) / 10) {
            if (i >= count && sum == 0) break;
            return false;
        }
        sum = sum * 10 + digit;
    }
    int next = point + shift;
    if (next >= 0 && next < count && digits[next] >= '5' && sum < most) sum++;
    *number = (int64_t)(negative ? 0 - sum : sum);
    return true;
}

/* The usual text, which fits 18 digits; everything else the slow way. */
static bool scaled(trace_text value, int decimals, int64_t *number) {
    const char *p = value.data, *end = p + value.size;
    uint64_t sum = 0;
    int left = decimals;
    const char *begin = p;
    while (p < end && *p >= '0' && *p <= '9') sum = sum * 10 + (uint64_t)(*p++ - '0');
    if (p == begin || p - begin > 18 - decimals) return decimal_integer(value, decimals, number);
    if (p < end && *p == '.') {
        for (p++; left > 0 && p < end && *p >= '0' && *p <= '9'; left--)
            sum = sum * 10 + (uint64_t)(*p++ - '0');
    }
    if (p < end) return decimal_integer(value, decimals, number);
    while (left-- > 0) sum *= 10;
    *number = (int64_t)sum;
    return true;
}

bool json_int(trace_text value, int64_t *number) {
    return scaled(unquoted(value), 0, number);
}

bool json_ns(trace_text value, int64_t *ns) {
    return scaled(unquoted(value), 3, ns);
}

bool json_ns_of_ms(trace_text value, int64_t *ns) {
    return scaled(unquoted(value), 6, ns);
}

bool json_double(trace_text value, double *number) {
    char copy[64], *end;
    value = unquoted(value);
    if (value.size == 0 || value.size >= sizeof copy ||
        characters[(unsigned char)value.data[0]] != DIGIT) return false;
    memcpy(copy, value.data, value.size);
    copy[value.size] = '\0';
    *number = strtod(copy, &end);
    return !*end && *number - *number == 0;      /* neither NaN nor infinite */
}

/* ---- Texts ---- */

static size_t encode_utf8(unsigned code, char *out) {
    if (code < 0x80) return out[0] = (char)code, 1;
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* The character of the escape at *p (behind the backslash), moving *p behind it; of half a
   character U+FFFD. */
static unsigned escape(const char **p, const char *end) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char c = *(*p)++;
    const char *known = c ? strchr(from, c) : NULL;
    if (known) return (unsigned char)to[known - from];
    if (c != 'u') return (unsigned char)c;
    unsigned code = json_hex4(*p);
    *p += 4;
    if (code >= 0xD800 && code < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        unsigned low = json_hex4(*p + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            *p += 6;
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return code >= 0xD800 && code < 0xE000 ? 0xFFFD : code;
}

/* Decoded text: size counts what does not fit, too. */
typedef struct decoded { char *out; size_t room, size; } decoded;

static void put(decoded *d, const char *piece, size_t size) {
    size_t left = d->size < d->room ? d->room - d->size : 0;
    if (left > size) left = size;
    if (left) memcpy(d->out + d->size, piece, left);
    d->size += size;
}

/* Behind the characters of ASCII, but NUL, that come first, eight at once. */
static const char *skip_ascii(const char *p, const char *end) {
    const uint64_t ones = ~(uint64_t)0 / 255;
    for (uint64_t word; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        if ((word | (word - ones)) & ones << 7) break;
    }
    while (p < end && (signed char)*p > 0) p++;
    return p;
}

/* Names are C texts of UTF-8 from here on: what cannot be in one is U+FFFD. */
static void put_clean(decoded *d, const char *p, const char *end) {
    for (const char *begin = p; p < end; begin = p) {
        size_t size = 1;
        while ((p = skip_ascii(p, end)) < end && *p && size)
            p += size = utf8_size((const unsigned char *)p, (size_t)(end - p));
        put(d, begin, (size_t)(p - begin));
        if (p == end) return;
        put(d, "\xEF\xBF\xBD", 3);
        p++;
    }
}

/* text without its quotes. It may grow to three times its size: see put_clean. */
static void decode(trace_text text, decoded *d) {
    const char *p = text.data, *end = p + text.size;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        put_clean(d, p, slash ? slash : end);
        if (!slash) return;
        p = slash + 1;
        char bytes[4];
        if (!json_escape(slash, end) && !json_is_code(slash, end)) {
            put(d, slash, 1);                                /* see json_mend.h */
            continue;
        }
        unsigned code = escape(&p, end);
        put(d, bytes, encode_utf8(code ? code : 0xFFFD, bytes));
    }
}

size_t text_decode(trace_text text, char *buffer, size_t size) {
    decoded d = {buffer, size, 0};
    decode(text, &d);
    return d.size;
}

size_t text_clean(trace_text text, char *buffer, size_t size) {
    decoded d = {buffer, size, 0};
    put_clean(&d, text.data, text.data + text.size);
    return d.size;
}

/* The bytes of a text that was cut at size, without the part of a character at its end. */
static size_t whole_characters(const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        unsigned char c = p[size - back];
        if (c < 0x80) break;
        if (c >= 0xC0) return (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) > back ? size - back : size;
    }
    return size;
}

size_t json_decode(trace_text value, char *buffer, size_t size) {
    decoded d = {buffer, size ? size - 1 : 0, 0};
    decode(unquoted(value), &d);
    if (size) buffer[d.size <= d.room ? d.size : whole_characters(buffer, d.room)] = '\0';
    return d.size;
}

bool json_next(trace_text *rest, trace_text *key, trace_text *value) {
    const char *p = rest->data, *end = p + rest->size;
    json_scan text = {.buffer = (char *)(uintptr_t)p, .used = rest->size};
    if (p == end) return false;
    if (*p == '[' || *p == '{') end--;                 /* the first call: without the brackets */
    p = skip_space(p + 1);
    if (p >= end) return false;
    const char *behind = skip_value(&text, p), *colon = behind ? skip_space(behind) : end;
    *key = (trace_text){"", 0};
    if (*p == '"' && colon < end && *colon == ':') {
        *key = (trace_text){p + 1, (size_t)(behind - p) - 2};
        p = skip_space(colon + 1);
        behind = skip_value(&text, p);
    }
    if (!behind || behind > end) return false;
    *value = (trace_text){p, (size_t)(behind - p)};
    behind = skip_space(behind);
    *rest = (trace_text){behind, behind < end ? (size_t)(end - behind) : 0};
    return true;
}

bool json_whole(trace_text text) {
    json_scan s = {.buffer = (char *)(uintptr_t)text.data, .used = text.size};
    return text.size && skip_value(&s, text.data) == text.data + text.size && !s.defective;
}

size_t json_compact(trace_text value, char *to) {
    const char *p = value.data, *end = p + value.size;
    char *at = to;
    while (p < end) {
        char c = *p++;
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
        *at++ = c;
        if (c != '"') continue;
        for (; *p != '"'; *at++ = *p++)
            if (*p == '\\') *at++ = *p++;
        *at++ = *p++;
    }
    return (size_t)(at - to);
}
