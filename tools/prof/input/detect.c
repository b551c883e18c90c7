/* Which format a file is in: see detect.h. */
#include "input/detect.h"

#include <string.h>

#include "base/output.h"

const source_format *detect_format(const char *first, size_t size, bool *more) {
    static const source_format *const formats[] = {&raw_format, &perfetto_format,
                                                  &import_format, &folded_format,
                                                  &snapshot_format, &sampled_format,
                                                  &xplane_format, &rocprof_format,
                                                  &ascend_format, &ascend_json_format};
    *more = false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && size; i++) {
        int is = formats[i]->is(first, size);
        if (is > 0) return formats[i];
        *more |= is < 0;
    }
    return NULL;
}

/* What prof does not read, by its first bytes. */
static const char nsight[] = "this is a report of Nsight Systems: nsys export --type sqlite "
                             "makes a file of it that prof reads";
static const char bpftrace[] = "this is bpftrace's: prof reads the folded stacks that "
                               "stackcollapse-bpftrace.pl makes of it";
static const char callgrind[] = "this is callgrind's: callgrind_annotate and KCachegrind read "
                                "it";
static const char ctf[] = "this is CTF, as LTTng writes it: babeltrace2 and Trace Compass "
                          "read it";
static const char rocprof[] = "this is a table of rocprofv3: --output-format json or rocpd makes "
                              "files that prof reads";
static const char tracy[] = "this is Tracy's: tracy-profiler shows it";
static const char unreal[] = "this is a trace of Unreal Engine: Unreal Insights shows it";
static const char zlib[] = "this is packed by zlib: pigz -dc FILE | prof COMMAND -";
static const char html[] = "this is HTML, no trace (ui.perfetto.dev shows that of systrace)";
static const char pickled[] = "this is a pickle of protocol 0 or 1: pickle.dump(snapshot, file, 4) "
                              "makes one that prof reads";
#define OTHER(magic, what) {magic, sizeof magic - 1, what}
static const struct { const char *magic; size_t size; const char *what; } others[] = {
    OTHER("QDSTRM", nsight),
    OTHER("PERFILE2", "this is perf's: prof reads the folded stacks that stackcollapse-perf.pl "
          "makes of perf script"),
    OTHER("SIMPLEPERF", "this is simpleperf's: prof reads the folded stacks that its "
          "stackcollapse.py makes"),
    OTHER("Attaching ", bpftrace), OTHER("@[", bpftrace),
    OTHER("Nettrace", "this is dotnet-trace's: dotnet-trace convert --format Chromium makes a "
          "trace of it that prof reads"),
    OTHER("go 1.", "this is a trace of Go: go tool trace shows it"),
    OTHER("FLR\0", "this is a recording of Java's Flight Recorder: jfr and JDK Mission Control "
          "read it"),
    OTHER("gmon", "this is gprof's: gprof reads it, with the program"),
    OTHER("# callgrind format", callgrind), OTHER("version: 1\ncreator: callgrind", callgrind),
    OTHER("/* CTF", ctf), OTHER("\xC1\x1F\xFC\xC1", ctf),
    OTHER("\x10\0\x04\x46\x78\x54\x16\0", "this is Fuchsia's: ui.perfetto.dev shows it"),
    OTHER("tlZ\4", tracy), OTHER("tZst", tracy), OTHER("tr\xFD" "P", tracy),
    OTHER("2CRT", unreal), OTHER("ECRT", unreal),
    OTHER("*version\n", "this is a trace of Android's methods: Android Studio and "
          "ui.perfetto.dev show it"),
    OTHER("# tracer:", "this is ftrace's text: traceconv json, of Perfetto, makes a trace of "
          "it that prof reads"),
    OTHER("packet {", "this is Perfetto's text: traceconv binary makes a trace of it that prof "
          "reads"),
    OTHER("# ninja log", "this is ninja's log: ninjatracing makes a trace of it that prof "
          "reads"),
    OTHER("<!DOCTYPE", html), OTHER("<!doctype", html), OTHER("<html", html),
    OTHER("\x28\xB5\x2F\xFD", "this is packed by zstd: zstd -dc FILE | prof COMMAND -"),
    OTHER("\x04\x22\x4D\x18", "this is packed by lz4: lz4 -dc FILE | prof COMMAND -"),
    OTHER("\x78\x01", zlib), OTHER("\x78\x9C", zlib), OTHER("\x78\xDA", zlib),
    OTHER("\"Kind\",\"Agent_Id\",", rocprof), OTHER("\"Domain\",\"Function\",", rocprof),
    OTHER("Device_id,kernel_name,", "this is msprof's table of tasks: prof reads op_summary.csv, "
          "which lies beside it"),
    OTHER("Device_id,OP Type,", "these are Ascend's sums: prof reads trace_view.json and "
          "kernel_details.csv, which lie beside it"),
    OTHER("(dp", pickled), OTHER("}q", pickled),
    OTHER("TRACE:\n", "this is atrace's: ui.perfetto.dev shows it"),
    OTHER("\xFD" "7zXZ", "this is packed by xz: xz -dc FILE | prof COMMAND -"),
    OTHER("BZh", "this is packed by bzip2: bzip2 -dc FILE | prof COMMAND -"),
    OTHER("PK\3\4", "this is a zip archive: unzip it"),
    OTHER("PAR1", "this is Parquet: DuckDB and the like read it"),
    OTHER("\x7F" "ELF", "this is a program, not a trace: prof record runs it")
};
#undef OTHER

/* A sample's line ends with a colon, those of its frames begin with a tab. */
static bool is_perf_script(const char *first, size_t size) {
    const char *stop = memchr(first, '\n', size);
    if (!stop || (size_t)(stop - first) + 1 >= size || stop[1] != '\t') return false;
    while (stop > first && (stop[-1] == ' ' || stop[-1] == '\r')) stop--;
    return stop > first && stop[-1] == ':';
}

const char *detect_other(const char *first, size_t size, const char *path) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (size >= others[i].size && memcmp(first, others[i].magic, others[i].size) == 0)
            return others[i].what;
    if (is_perf_script(first, size))
        return "this seems to be perf script's: prof reads the folded stacks that "
               "stackcollapse-perf.pl makes of it";
    return ends_with(path, ".nsys-rep") || ends_with(path, ".qdrep") ? nsight : NULL;
}

const char *detect_other_key(trace_text key) {
    static const char speedscope[] =
        "this is speedscope's: speedscope.app shows it (py-spy record -f chrometrace, dotnet-trace "
        "convert --format Chromium: traces that prof reads)";
    static const struct { const char *key, *what; } keys[] = {
        {"$schema", speedscope}, {"profiles", speedscope},
        {"snapshot", "this is a heap snapshot of V8 (node, Chrome): DevTools reads it"},
        {"resourceSpans", "this is OpenTelemetry's: Jaeger and the like show it"},
        {"segments", "this is a memory snapshot of torch.cuda.memory as JSON: prof memory "
                     "reads the pickle that _dump_snapshot writes"}
    };
    if (text_begins(key, "step"))
        return "this seems to be Ascend's communication_matrix.json, which has no times: prof "
               "ranks reads communication.json, which lies beside it";
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (text_is(key, keys[i].key)) return keys[i].what;
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
