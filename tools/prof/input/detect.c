/* Which format a file is in: see detect.h. */
#include "input/detect.h"

#include <string.h>

#include "base/output.h"

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

const char *detect_other(const char *first, size_t size, const char *path) {
    static const char nsight[] = "this is a report of Nsight Systems: nsys export --type sqlite "
                                 "makes a file of it that prof reads";
    static const char pickle[] = "this is a pickle of Python, as of torch.cuda.memory: see "
                                 "docs.pytorch.org/memory_viz; prof memory reads traces";
    static const struct { const char *magic, *what; } others[] = {
        {"QDSTRM", nsight}, {"\x80\x02", pickle}, {"\x80\x03", pickle}, {"\x80\x04", pickle},
        {"\x80\x05", pickle},
        {"PERFILE2", "this is perf's: prof reads the folded stacks that stackcollapse-perf.pl "
                     "makes of perf script"},
        {"\x28\xB5\x2F\xFD", "this is packed by zstd: zstd -dc FILE | prof COMMAND -"},
        {"\xFD" "7zXZ", "this is packed by xz: xz -dc FILE | prof COMMAND -"},
        {"BZh", "this is packed by bzip2: bzip2 -dc FILE | prof COMMAND -"},
        {"PK\3\4", "this is a zip archive: unzip it"},
        {"PAR1", "this is Parquet: DuckDB and the like read it"},
        {"\x7F" "ELF", "this is a program: prof record runs it"}
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i].magic);
        if (size >= length && memcmp(first, others[i].magic, length) == 0) return others[i].what;
    }
    return ends_with(path, ".nsys-rep") || ends_with(path, ".qdrep") ? nsight : NULL;
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
