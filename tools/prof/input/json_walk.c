/* JSON as it comes: see json_walk.h. */
#include "input/json_walk.h"

#include <stdlib.h>

#include "input/json_scan.h"

enum { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA, NOTHING };
enum { LONGEST_PART = 1 << 26, AFTER = 32 };     /* AFTER: readable behind a value */

static void take_value(json_walk *w, trace_text value) {
    if (w->depth == 0) {
        w->broken = "this is no object";
        return;
    }
    w->take(w->user, value);
    w->expects = COMMA;
}

static void open_level(json_walk *w, trace_text bracket) {
    if (w->expects != VALUE && w->expects != VALUE_OR_END) w->broken = "this is no JSON";
    else if (w->depth == WALK_DEEPEST) w->broken = "brackets are more than 64 deep";
    if (w->broken) return;
    if (w->depth) w->take(w->user, bracket);
    walk_level *level = &w->levels[w->depth++];
    bool is_array = level->is_array = *bracket.data == '[';
    *level->key = '\0';
    level->index = 0;
    w->expects = is_array ? VALUE_OR_END : KEY_OR_END;
}

static void close_level(json_walk *w, trace_text bracket) {
    bool is_array = *bracket.data == ']';
    uint8_t empty = is_array ? VALUE_OR_END : KEY_OR_END;
    bool good = w->depth && w->levels[w->depth - 1].is_array == is_array &&
                (w->expects == COMMA || w->expects == empty);
    if (!good) {
        w->broken = "a bracket closes nothing here";
        return;
    }
    w->depth--;
    w->expects = w->depth ? COMMA : NOTHING;
    w->whole = w->depth == 0;
    if (w->depth) w->take(w->user, bracket);
}

static void take_comma(json_walk *w) {
    walk_level *level = &w->levels[w->depth ? w->depth - 1 : 0];
    if (!w->depth || w->expects != COMMA) w->broken = "a comma has nothing before it here";
    w->expects = level->is_array ? VALUE : KEY;
    level->index++;
}

/* A text with its quotes, or a word. */
static void take_token(json_walk *w, trace_text token) {
    bool is_key = w->expects == KEY || w->expects == KEY_OR_END;
    if (w->broken) return;
    if (is_key && *token.data == '"') {
        walk_level *level = &w->levels[w->depth - 1];
        json_decode(token, level->key, sizeof level->key);
        w->expects = COLON;
    } else if (w->expects == VALUE || w->expects == VALUE_OR_END) {
        take_value(w, token);
    } else {
        w->broken = "this is no JSON";
    }
}

static void keep_part(json_walk *w, const char *data, size_t size) {
    if (w->part_size + size > LONGEST_PART) {
        w->broken = "a text of more than 64 MB";
        return;
    }
    while (w->part_size + size + AFTER > w->part_capacity) {
        w->part_capacity = w->part_capacity ? 2 * w->part_capacity : 256;
        w->part = reallocate(w->part, w->part_capacity);
    }
    memcpy(w->part + w->part_size, data, size);
    w->part_size += size;
    memset(w->part + w->part_size, 0, AFTER);
}

/* The text or word from `begin` on ends at `end`, or at the end of the bytes. */
static void end_token(json_walk *w, const char *begin, const char *end, bool ended) {
    size_t size = (size_t)(end - begin);
    if (!ended || w->part_size) keep_part(w, begin, size);
    if (!ended) return;
    trace_text token = {begin, size};
    if (w->part_size) token = (trace_text){w->part, w->part_size};
    w->in_text = w->in_word = false;
    take_token(w, token);
    w->part_size = 0;
}

static const char *text_end(json_walk *w, const char *p, const char *end) {
    for (; ; p++) {
        if (!w->escaped) p = text_stop(p);
        if (p >= end) return end;
        if (!w->escaped && *p == '"') return p;
        w->escaped = !w->escaped && *p == '\\';
    }
}

static inline bool in_word(char c) {
    return c > ' ' && c != ',' && c != ':' && c != ']' && c != '}' && c != '[' && c != '{' &&
           c != '"';
}

/* Most words are numbers: '-' to '9'. */
static bool in_number(char c) { return (unsigned char)(c - '-') <= '9' - '-'; }

/* The text or word from `begin` on, of which what lies before p is looked at. Behind it. */
static const char *take_rest(json_walk *w, const char *begin, const char *p, const char *end) {
    if (w->in_text) p = text_end(w, p, end);
    else while (p < end && (in_number(*p) || in_word(*p))) p++;
    bool ended = p < end;
    p += ended && w->in_text;
    end_token(w, begin, p, ended);
    return p;
}

/* What begins at p, or one sign. Behind it. */
static const char *take_next(json_walk *w, const char *p, const char *end) {
    trace_text sign = {p, 1};
    switch (*p) {
    case ' ': case '\n': case '\r': case '\t': break;
    case '{': case '[': open_level(w, sign); break;
    case '}': case ']': close_level(w, sign); break;
    case ',': take_comma(w); break;
    case ':':
        if (w->expects != COLON) w->broken = "a colon has no key before it here";
        w->expects = VALUE;
        break;
    case '"':
        w->in_text = true;
        return take_rest(w, p, p + 1, end);
    default:
        w->in_word = in_word(*p);
        if (w->in_word) return take_rest(w, p, p + 1, end);
        w->broken = "this is no JSON";
    }
    return p + 1;
}

void json_walk_push(json_walk *w, const char *data, size_t size) {
    const char *p = data, *end = data + size;
    w->data = data;
    if (size && !w->broken && (w->in_text || w->in_word)) p = take_rest(w, p, p, end);
    while (p < end && !w->broken && !w->whole) p = take_next(w, p, end);
    w->offset += (uint64_t)(p - data);
}

void json_walk_free(json_walk *w) {
    free(w->part);
}

static bool in_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

int json_begins_with(const char *text, size_t size, const char *key) {
    const char *p = text, *end = text + size;
    size_t length = strlen(key), left;
    bool object = false;
    for (; p < end && (in_space(*p) || ((*p == '[' || *p == '{') && !object)); p++)
        object |= *p == '{';
    if (p == end) return -1;
    left = (size_t)(end - p) - 1;
    if (!object || *p != '"' || memcmp(p + 1, key, left < length ? left : length) != 0) return 0;
    return left <= length ? -1 : p[length + 1] == '"';
}

bool json_mentions(const char *text, size_t size, const char *word) {
    size_t length = strlen(word);
    for (const char *p = text, *end = text + size; p < end; p++) {
        p = memchr(p, *word, (size_t)(end - p));
        if (!p || (size_t)(end - p) < length) return false;
        if (memcmp(p, word, length) == 0) return true;
    }
    return false;
}
