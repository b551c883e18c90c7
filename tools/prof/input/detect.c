/* Which format a file is in: see detect.h. */
#include "input/detect.h"

const source_format *detect_format(const char *first, size_t size, bool *more) {
    static const source_format *const formats[] = {&raw_format, &perfetto_format,
                                                  &import_format, &folded_format};
    *more = false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && size; i++) {
        int is = formats[i]->is(first, size);
        if (is > 0) return formats[i];
        *more |= is < 0;
    }
    return NULL;
}

/* By a byte order mark, or a bracket beside a NUL. */
bool detect_utf16(const char *p, size_t left) {
    const unsigned char *b = (const unsigned char *)p;
    return left > 1 && ((b[0] == 0xFF && b[1] == 0xFE) || (b[0] == 0xFE && b[1] == 0xFF) ||
                        ((b[0] == '{' || b[0] == '[') && !b[1]) ||
                        (!b[0] && (b[1] == '{' || b[1] == '[' || (!b[1] && left > 3 && b[3]))));
}

/* ---- Legacy record streams ---- */

/* Is there an array of arrays of objects at *p (a memory timeline is one of numbers)? *p moves to
   where that shows. */
static bool is_array_of_lists(const char **p) {
    if (**p != '[') return false;
    *p = skip_space(*p + 1);
    while (**p == '[') {
        *p = skip_space(*p + 1);
        if (**p != ']') return **p == '{';
        *p = skip_space(*p + 1);             /* a thread without records */
        if (**p == ',') *p = skip_space(*p + 1);
    }
    return false;
}

static const char *find_threads(json_scan *s, const char *p, trace_text *device) {
    bool last = *(p = skip_space(p + 1)) == '}';
    while (!last) {
        trace_text key;
        if (!(p = skip_key(s, p, &key)) || text_is(key, "traceEvents")) return NULL;
        const char *begin = p, *shown = p;
        if (text_is(key, "threads")) return is_array_of_lists(&shown) ? p : stop_at(s, shown, NULL);
        if (!(p = skip_value(s, p))) return NULL;
        if (text_is(key, "use_device")) *device = (trace_text){begin, (size_t)(p - begin)};
        if (!(p = skip_comma(s, p, '}', &last))) return NULL;
    }
    return NULL;
}

const char *detect_records(json_scan *s, const char *p, trace_text *device) {
    const char *shown = p;
    s->outcome = BAD;
    if (*p == '{') return find_threads(s, p, device);
    return is_array_of_lists(&shown) ? p : stop_at(s, shown, NULL);
}
