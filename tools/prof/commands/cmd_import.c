/* prof import: a profile of nvprof or of Nsight Systems (both SQLite) as a trace. */
#include "input/trace_writer.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int run(int argc, char **argv);

const command import_command = {
    "import", "[OPTION]... FILE", "a profile of nvprof or nsys as a trace",
    "  nsys export --type sqlite -o run.sqlite run.nsys-rep\n"
    "  prof import run.sqlite -o run.json.gz\n"
    "      then: prof report run.json.gz\n"
    "  nvprof -o run.nvvp python train.py\n"
    "  prof import run.nvvp | prof report -\n"
    "      ranges of torch.autograd.profiler.emit_nvtx become ops with sequence\n"
    "      numbers, shapes\n",
    run
};

/* ---- Rows of a table, by the names of its columns; what a version does not have is absent ---- */

enum { MOST_COLUMNS = 24 };

typedef struct rows {
    sqlite3_stmt *statement;
    int column[MOST_COLUMNS];   /* of each name, or -1 */
} rows;

typedef struct importer {
    sqlite3 *db;
    const char *path;
    bool failed, nsys;
    arena memory;
    map strings;                /* id -> text's number + 1 */
    interner texts;
    map processes;              /* pid -> its number */
    map correlations;           /* of device work, to count those that occur twice */
    map devices;
    int64_t base_ns;
    uint64_t twice, unfinished, asyncs;
    trace_writer writer;
} importer;

static void stop(importer *m, const char *table) {
    if (!m->failed) fail(m->path, "table %s: %s", table, sqlite3_errmsg(m->db));
    m->failed = true;
}

static bool has_table(importer *m, const char *name) {
    sqlite3_stmt *statement;
    static const char query[] =           /* a view or a virtual table runs what the file says */
        "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'table' AND rootpage > 0";
    if (sqlite3_prepare_v2(m->db, query, -1, &statement, NULL) != SQLITE_OK)
        return stop(m, "sqlite_master"), false;
    int result = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) stop(m, "sqlite_master");
    sqlite3_finalize(statement);
    return result == SQLITE_ROW;
}

/* names: MOST_COLUMNS at most, NULL at their end. false: there is no such table. */
static bool rows_open(importer *m, rows *r, const char *table, const char *order,
                      const char *const *names) {
    char query[160];
    if (m->failed || !has_table(m, table)) return false;
    snprintf(query, sizeof query, "SELECT * FROM %s%s%s", table, order ? " ORDER BY " : "",
             order ? order : "");
    if (sqlite3_prepare_v2(m->db, query, -1, &r->statement, NULL) != SQLITE_OK)
        return stop(m, table), false;
    for (int i = 0; names[i]; i++) {
        r->column[i] = -1;
        for (int c = 0; c < sqlite3_column_count(r->statement); c++) {
            const char *name = sqlite3_column_name(r->statement, c);
            if (!name) stop(m, table);   /* no memory */
            else if (strcmp(name, names[i]) == 0) r->column[i] = c;
        }
    }
    return true;
}

/* false at the end, when the rows are closed. */
static bool rows_next(importer *m, rows *r, const char *table) {
    int result = sqlite3_step(r->statement);
    if (result == SQLITE_ROW && !m->failed) return true;
    if (result != SQLITE_DONE) stop(m, table);
    sqlite3_finalize(r->statement);
    return false;
}

static bool has_value(const rows *r, int i) {
    return r->column[i] >= 0 && sqlite3_column_type(r->statement, r->column[i]) != SQLITE_NULL;
}

static int64_t number(const rows *r, int i, int64_t otherwise) {
    return has_value(r, i) ? sqlite3_column_int64(r->statement, r->column[i]) : otherwise;
}

/* NULL: there is none, or no memory for it, which ends the import. */
static const char *text_at(importer *m, const rows *r, int i) {
    const unsigned char *found = NULL;
    if (!has_value(r, i)) return NULL;
    found = sqlite3_column_text(r->statement, r->column[i]);
    if (!found) stop(m, "a text");
    return (const char *)found;
}

/* ---- Texts, processes ---- */

static void read_strings(importer *m) {
    static const char *const nsys[] = {"id", "value", NULL};
    static const char *const nvprof[] = {"_id_", "value", NULL};
    const char *table = m->nsys ? "StringIds" : "StringTable";
    rows r;
    if (!rows_open(m, &r, table, NULL, m->nsys ? nsys : nvprof)) return;
    while (rows_next(m, &r, table)) {
        const char *value = text_at(m, &r, 1);
        if (value)
            *map_put(&m->strings, (uint64_t)number(&r, 0, 0), NULL) =
                intern(&m->texts, value, strlen(value)) + UINT64_C(1);
    }
}

static const char *string_of(const importer *m, int64_t id) {
    const uint64_t *found = map_get(&m->strings, (uint64_t)id);
    return found && *found ? interned_text(&m->texts, (uint32_t)*found - 1) : NULL;
}

static const char *numbered(importer *m, const char *what, int64_t id) {
    char text[64];
    snprintf(text, sizeof text, "%s %lld", what, (long long)id);
    return interned_text(&m->texts, intern(&m->texts, text, strlen(text)));
}

static const char *name_of(importer *m, int64_t id, const char *what) {
    const char *name = string_of(m, id);
    return name ? name : numbered(m, what, id);
}

/* nsys keeps process and thread in one number. */
static int64_t pid_of(int64_t global) { return (int64_t)((uint64_t)global >> 24 & 0xFFFFFF); }
static int64_t tid_of(int64_t global) { return (int64_t)((uint64_t)global & 0xFFFFFF); }

/* nsys: ids of several processes may be equal; the second process's are set apart from the first's.
   nvprof has one process, and does not name it in device work. */
static int64_t correlation_of(importer *m, int64_t pid, int64_t id) {
    bool is_new;
    if (!m->nsys) return id;
    uint64_t *index = map_put(&m->processes, (uint64_t)pid, &is_new);
    if (is_new) *index = m->processes.count - 1;
    return (int64_t)(*index << 32) + id;
}

/* ---- Events ---- */

typedef struct span { const char *category, *name; int64_t pid, tid, start_ns, end_ns; } span;

static void write_start(importer *m, char phase, const span *s) {
    output *out = m->writer.out;
    writer_event(&m->writer);
    output_format(out, "{\"ph\": \"%c\", \"cat\": \"%s\", \"name\": ", phase, s->category);
    output_json_text(out, s->name, strlen(s->name));
    output_format(out, ", \"pid\": %lld, \"tid\": %lld, \"ts\": ", (long long)s->pid,
                  (long long)s->tid);
    write_us(out, s->start_ns - m->base_ns);
    if (phase == 'X') {
        output_text(out, ", \"dur\": ");
        write_us(out, s->end_ns - s->start_ns);
    }
}

/* "aten::mm, seq = 5, op_id = 9, sizes = [[2, 3], [3, 4]], input_op_ids = ..." of emit_nvtx. */
static bool write_op(importer *m, const span *s) {
    const char *seq = strstr(s->name, ", seq = "), *sizes = strstr(s->name, ", sizes = [");
    const char *op = strstr(s->name, ", op_id = "), *end = seq ? seq : op ? op : sizes;
    if (!end) return false;
    span named = *s;
    named.category = "cpu_op";
    named.name = arena_text(&m->memory, s->name, (size_t)(end - s->name));
    write_start(m, 'X', &named);
    output_text(m->writer.out, ", \"args\": {");
    if (seq)
        output_format(m->writer.out, "\"" PROF_KEY_SEQUENCE "\": %lld", strtoll(seq + 8, NULL, 10));
    if (sizes) {
        const char *from = sizes + 10, *p = from;
        int depth = 0;
        for (; *p && strchr("[]0123456789, -", *p); p++) {
            depth += (*p == '[') - (*p == ']');
            if (depth == 0) break;
        }
        if (*p == ']') {
            output_format(m->writer.out, "%s\"" PROF_KEY_SHAPES "\": ", seq ? ", " : "");
            output_write(m->writer.out, from, (size_t)(p + 1 - from));
        }
    }
    output_text(m->writer.out, "}}");
    return true;
}

static void write_range(importer *m, const span *s) {
    if (write_op(m, s)) return;
    write_start(m, 'X', s);
    output_text(m->writer.out, "}");
}

/* A range that any thread may end: it need not nest. */
static void write_async(importer *m, const span *s) {
    span end = *s;
    end.start_ns = s->end_ns;
    m->asyncs++;
    for (int i = 0; i < 2; i++) {
        write_start(m, i ? 'e' : 'b', i ? &end : s);
        output_format(m->writer.out, ", \"id\": %llu}", (unsigned long long)m->asyncs);
    }
}

static void write_mark(importer *m, const span *s) {
    write_start(m, 'i', s);
    output_text(m->writer.out, ", \"s\": \"t\"}");
}

/* ---- Ranges ---- */

static void import_nsys_ranges(importer *m) {
    static const char *const names[] = {"start", "end", "eventType", "text", "textId", "globalTid",
                                        NULL};
    enum { MARK = 34, PUSH_POP = 59, START_END = 60 };
    rows r;
    if (!rows_open(m, &r, "NVTX_EVENTS", "start", names)) return;
    while (rows_next(m, &r, "NVTX_EVENTS")) {
        int64_t type = number(&r, 2, PUSH_POP), thread = number(&r, 5, 0);
        const char *name = text_at(m, &r, 3);
        if (type != MARK && type != PUSH_POP && type != START_END) continue;    /* names, ... */
        if (!name) name = name_of(m, number(&r, 4, 0), "range");
        span s = {"user_annotation", name, pid_of(thread), tid_of(thread), number(&r, 0, 0), 0};
        s.end_ns = number(&r, 1, INT64_MIN);
        if (type == MARK) write_mark(m, &s);
        else if (s.end_ns < s.start_ns) m->unfinished++;
        else if (type == START_END) write_async(m, &s);
        else write_range(m, &s);
    }
}

/* nvprof's markers: a row where a range starts and one where it ends, joined by their id. */
static void import_markers(importer *m) {
    static const char table[] = "CUPTI_ACTIVITY_KIND_MARKER";
    static const char *const names[] = {"id", "flags", "timestamp", "name", "objectKind",
                                        "objectId", NULL};
    enum { INSTANT = 1, THREAD = 2 };
    map open = {0};             /* id -> number in starts + 1 */
    span *starts = NULL;
    size_t count = 0, capacity = 0;
    rows r;
    if (!rows_open(m, &r, table, "timestamp", names)) return;
    while (rows_next(m, &r, table)) {
        int64_t name = number(&r, 3, 0), at_ns = number(&r, 2, 0);
        bool is_new;
        uint32_t ids[2] = {0, 0};
        if (number(&r, 4, 0) == THREAD && has_value(&r, 5) &&
            sqlite3_column_bytes(r.statement, r.column[5]) >= (int)sizeof ids)
            memcpy(ids, sqlite3_column_blob(r.statement, r.column[5]), sizeof ids);
        span s = {"user_annotation", NULL, ids[0], ids[1], at_ns, at_ns};
        uint64_t *start = map_put(&open, (uint64_t)number(&r, 0, 0), &is_new);
        if (number(&r, 1, 0) & INSTANT) {
            s.name = name_of(m, name, "marker");
            write_mark(m, &s);
        } else if (name != 0) {
            m->twice += *start != 0;
            s.name = name_of(m, name, "marker");
            GROW(starts, count, capacity);
            starts[count++] = s;
            *start = count;
        } else if (*start) {
            starts[*start - 1].end_ns = at_ns;
            write_range(m, &starts[*start - 1]);
            starts[*start - 1].name = NULL;
            *start = 0;
        }
    }
    for (size_t i = 0; i < count; i++) m->unfinished += starts[i].name != NULL;
    free(starts);
    map_free(&open);
}

/* ---- Calls of the runtime and the driver ---- */

static const char *runtime_name(int64_t cbid) {
    static const struct { int64_t id; const char *name; } known[] = {
        {3, "cudaGetDeviceCount"}, {11, "cudaPeekAtLastError"}, {13, "cudaLaunch"},
        {20, "cudaMalloc"}, {22, "cudaFree"}, {27, "cudaHostAlloc"}, {31, "cudaMemcpy"},
        {41, "cudaMemcpyAsync"}, {49, "cudaMemset"}, {51, "cudaMemsetAsync"},
        {131, "cudaStreamSynchronize"}, {134, "cudaEventCreateWithFlags"},
        {135, "cudaEventRecord"}, {136, "cudaEventDestroy"}, {137, "cudaEventSynchronize"},
        {138, "cudaEventQuery"}, {147, "cudaStreamWaitEvent"}, {165, "cudaDeviceSynchronize"},
        {211, "cudaLaunchKernel"}, {430, "cudaLaunchKernelExC"}
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].id == cbid) return known[i].name;
    return NULL;
}

/* "cudaLaunchKernel_v7000" without its version. */
static const char *without_version(importer *m, const char *name) {
    const char *version = strrchr(name, '_');
    if (!version || version[1] != 'v' || !version[2] ||
        version[2 + strspn(version + 2, "0123456789")]) return name;
    return arena_text(&m->memory, name, (size_t)(version - name));
}

static void import_calls(importer *m, const char *table, const char *category) {
    static const char *const names[] = {"start", "end", "correlationId", "globalTid", "nameId",
                                        "cbid", "processId", "threadId", NULL};
    rows r;
    bool driver = strcmp(category, "cuda_driver") == 0;
    if (!rows_open(m, &r, table, "start", names)) return;
    while (rows_next(m, &r, table)) {
        int64_t thread = number(&r, 3, 0), cbid = number(&r, 5, -1);
        span s = {category, NULL, pid_of(thread), tid_of(thread), number(&r, 0, 0),
                  number(&r, 1, 0)};
        if (!m->nsys) {
            s.pid = number(&r, 6, 0);
            s.tid = (int64_t)(uint32_t)number(&r, 7, 0);
            if (!driver) s.name = runtime_name(cbid);
            if (!s.name) s.name = numbered(m, driver ? "driver cbid" : "runtime cbid", cbid);
        } else {
            s.name = without_version(m, name_of(m, number(&r, 4, 0), "call"));
            bool is_driver = strncmp(s.name, "cu", 2) == 0 && strncmp(s.name, "cuda", 4) != 0;
            s.category = is_driver ? "cuda_driver" : category;
        }
        if (s.end_ns < s.start_ns) {
            m->unfinished++;
            continue;
        }
        write_start(m, 'X', &s);
        output_format(m->writer.out, ", \"args\": {");
        if (cbid >= 0) output_format(m->writer.out, "\"cbid\": %lld, ", (long long)cbid);
        output_format(m->writer.out, "\"" PROF_KEY_CORRELATION "\": %lld}}",
                      (long long)correlation_of(m, s.pid, number(&r, 2, 0)));
    }
}

/* ---- Work of the devices ---- */

enum { START, END, DEVICE, CONTEXT, STREAM, CORRELATION, GLOBAL_PID, FIRST_OWN };

static void write_work(importer *m, const rows *r, const char *category, const char *name) {
    int64_t device = number(r, DEVICE, 0), stream = number(r, STREAM, 0);
    int64_t correlation = correlation_of(m, pid_of(number(r, GLOBAL_PID, 0)),
                                         number(r, CORRELATION, 0));
    bool is_new;
    span s = {category, name, device, stream, number(r, START, 0), number(r, END, 0)};
    if (s.end_ns < s.start_ns) {
        m->unfinished++;
        return;
    }
    if (correlation) {
        map_put(&m->correlations, (uint64_t)correlation, &is_new);
        m->twice += !is_new;
    }
    map_put(&m->devices, (uint64_t)device, NULL);
    write_start(m, 'X', &s);
    output_format(m->writer.out, ", \"args\": {\"device\": %lld, \"context\": %lld, "
                  "\"stream\": %lld, \"" PROF_KEY_CORRELATION "\": %lld", (long long)device,
                  (long long)number(r, CONTEXT, 0), (long long)stream, (long long)correlation);
}

static void import_kernels(importer *m, const char *table) {
    static const char *const names[] = {
        "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
        "demangledName", "shortName", "name", "registersPerThread", "staticSharedMemory",
        "dynamicSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", NULL
    };
    rows r;
    if (!rows_open(m, &r, table, "start", names)) return;
    while (rows_next(m, &r, table)) {
        const char *name = string_of(m, number(&r, 7, number(&r, 9, 0)));
        if (!name) name = name_of(m, number(&r, 8, number(&r, 9, 0)), "kernel");
        uint64_t before = m->unfinished;
        write_work(m, &r, "kernel", name);
        if (m->unfinished > before) continue;
        output_format(m->writer.out, ", \"registers per thread\": %lld, \"shared memory\": %lld, "
                      "\"grid\": [%lld, %lld, %lld], \"block\": [%lld, %lld, %lld]}}",
                      (long long)number(&r, 10, 0),
                      (long long)(number(&r, 11, 0) + number(&r, 12, 0)),
                      (long long)number(&r, 13, 1), (long long)number(&r, 14, 1),
                      (long long)number(&r, 15, 1), (long long)number(&r, 16, 1),
                      (long long)number(&r, 17, 1), (long long)number(&r, 18, 1));
    }
}

static const char *kind_text(int64_t kind, const char *const *texts, int64_t count) {
    return kind >= 0 && kind < count ? texts[kind] : "Unknown";
}

static void import_copies(importer *m, const char *table, bool fills) {
    static const char *const names[] = {
        "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
        "copyKind", "srcKind", "dstKind", "bytes", NULL
    };
    static const char *const copies[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                         "DtoA", "DtoD", "HtoH", "PtoP"};
    static const char *const nsys_memory[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};
    static const char *const cupti_memory[] = {"Unknown", "Pageable", "Pinned", "Device", "Array",
                                               "Managed"};
    const char *const *memory = m->nsys ? nsys_memory : cupti_memory;
    char name[96];
    rows r;
    if (!rows_open(m, &r, table, "start", names)) return;
    while (rows_next(m, &r, table)) {
        int64_t bytes = number(&r, 10, 0), ns = number(&r, END, 0) - number(&r, START, 0);
        uint64_t before = m->unfinished;
        snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", kind_text(number(&r, 7, 0), copies, 11),
                 kind_text(number(&r, 8, -1), memory, m->nsys ? 5 : 6),
                 kind_text(number(&r, 9, -1), memory, m->nsys ? 5 : 6));
        write_work(m, &r, fills ? "gpu_memset" : "gpu_memcpy", fills ? "Memset (Device)" : name);
        if (m->unfinished > before) continue;
        output_format(m->writer.out, ", \"bytes\": %lld, \"memory bandwidth (GB/s)\": %.6g}}",
                      (long long)bytes, ns > 0 ? (double)bytes / (double)ns : 0);
    }
}

/* ---- Head and names ---- */

static void write_devices(importer *m) {
    static const char *const nsys[] = {"id", "name", "totalMemory", "smCount", "computeMajor",
                                       "computeMinor", NULL};
    static const char *const nvprof[] = {"id", "name", "globalMemorySize", "numMultiprocessors",
                                         "computeCapabilityMajor", "computeCapabilityMinor", NULL};
    const char *table = m->nsys ? "TARGET_INFO_GPU" : "CUPTI_ACTIVITY_KIND_DEVICE";
    output *out = m->writer.out;
    bool first = true;
    rows r;
    if (!rows_open(m, &r, table, NULL, m->nsys ? nsys : nvprof)) return;
    while (rows_next(m, &r, table)) {
        const char *name = m->nsys ? text_at(m, &r, 1) : string_of(m, number(&r, 1, 0));
        if (first) writer_key(&m->writer, "deviceProperties");
        output_format(out, "%s{\"id\": %lld, \"name\": ", first ? "[" : ", ",
                      (long long)number(&r, 0, 0));
        output_json_text(out, name ? name : "", name ? strlen(name) : 0);
        output_format(out, ", \"totalGlobalMem\": %lld, \"numSms\": %lld, \"computeMajor\": %lld, "
                      "\"computeMinor\": %lld}", (long long)number(&r, 2, 0),
                      (long long)number(&r, 3, 0), (long long)number(&r, 4, 0),
                      (long long)number(&r, 5, 0));
        first = false;
    }
    if (!first) output_text(out, "]");
}

/* nvprof's times are since 1970: the trace's begin is the least of them. nsys's are since the
   session's start, which it tells. */
static int64_t find_base(importer *m) {
    static const char *const start[] = {"start", NULL}, *const epoch[] = {"utcEpochNs", NULL};
    static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
        "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL"};
    static const char *const stamp[] = {"timestamp", NULL};
    int64_t base = INT64_MAX, ns;
    rows r;
    if (m->nsys) {
        if (!rows_open(m, &r, "TARGET_INFO_SESSION_START_TIME", NULL, epoch)) return 0;
        base = 0;
        while (rows_next(m, &r, "TARGET_INFO_SESSION_START_TIME")) base = number(&r, 0, 0);
        return base;
    }
    for (int i = 0; i < 4; i++) {
        const char *table = i < 3 ? tables[i] : "CUPTI_ACTIVITY_KIND_MARKER";
        if (!rows_open(m, &r, table, NULL, i < 3 ? start : stamp)) continue;
        while (rows_next(m, &r, table))
            if ((ns = number(&r, 0, 0)) > 0 && ns < base) base = ns;
    }
    return base == INT64_MAX ? 0 : base;
}

static void write_label(importer *m, uint64_t device) {
    static const char *const kinds[] = {"process_labels", "process_sort_index"};
    for (int i = 0; i < 2; i++) {
        writer_event(&m->writer);
        output_format(m->writer.out, "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %llu, \"tid\": 0, "
                      "\"args\": {", kinds[i], (unsigned long long)device);
        if (i == 0) output_format(m->writer.out, "\"labels\": \"GPU %llu\"}}",
                                  (unsigned long long)device);
        else output_format(m->writer.out, "\"sort_index\": %llu}}",
                           (unsigned long long)device + 5000000);
    }
}

static void write_labels(importer *m) {
    if (m->devices.has_zero) write_label(m, 0);
    for (size_t i = 0; i < m->devices.slot_count; i++)
        if (m->devices.slots[i].key) write_label(m, m->devices.slots[i].key);
}

static void import_all(importer *m) {
    int64_t base = find_base(m);
    read_strings(m);
    writer_key(&m->writer, "schemaVersion");
    output_text(m->writer.out, "1");
    write_devices(m);
    if (base) {
        writer_key(&m->writer, "baseTimeNanoseconds");
        output_format(m->writer.out, "%lld", (long long)base);
    }
    if (!m->nsys) m->base_ns = base;
    import_nsys_ranges(m);
    import_markers(m);
    import_calls(m, "CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime");
    import_calls(m, "CUPTI_ACTIVITY_KIND_DRIVER", "cuda_driver");
    import_kernels(m, "CUPTI_ACTIVITY_KIND_KERNEL");
    import_kernels(m, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL");
    import_copies(m, "CUPTI_ACTIVITY_KIND_MEMCPY", false);
    import_copies(m, "CUPTI_ACTIVITY_KIND_MEMSET", true);
    write_labels(m);
}

/* ---- The command ---- */

/* As immutable: else SQLite leaves its own files beside one that is in the WAL mode. */
static int open_database(importer *m) {
    struct stat status;
    if (stat(m->path, &status) == 0) input_note(&status);
    char *uri = arena_allocate(&m->memory, 3 * strlen(m->path) + 32), *end = uri;
    end += sprintf(end, "file:");
    for (const char *p = m->path; *p; p++) end += sprintf(end, "%%%02X", (unsigned char)*p);
    sprintf(end, "?immutable=1");
    return sqlite3_open_v2(uri, &m->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
}

static bool open_profile(importer *m) {
    if (open_database(m) != SQLITE_OK ||
        sqlite3_db_config(m->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK ||
        sqlite3_exec(m->db, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK)
        return fail(m->path, "%s", sqlite3_errmsg(m->db)), false;
    m->nsys = has_table(m, "StringIds");
    if (m->nsys || has_table(m, "StringTable")) return true;
    fail(m->path, "neither a profile of nvprof (table StringTable) nor one of nsys (StringIds)");
    return false;
}

static int import(importer *m, const char *path) {
    output out;
    if (!output_open(&out, path)) return EXIT_BAD;
    writer_begin(&m->writer, &out, false);
    import_all(m);
    writer_end(&m->writer);
    if (m->unfinished)
        warn(m->path, "%llu events have no end: left out", (unsigned long long)m->unfinished);
    if (m->twice)
        warn(m->path, "%llu ids of markers or device work occur twice",
             (unsigned long long)m->twice);
    return output_close(&out, m->failed ? EXIT_BAD : EXIT_OK);
}

static int run(int argc, char **argv) {
    const char *path = NULL;
    const option_spec options[] = {
        {"output", 'o', OPTION_TEXT, &path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&import_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != 1) return fail(NULL, "import takes one file; see prof import --help");
    importer m = {.path = argv[1]};
    status = open_profile(&m) ? import(&m, path) : EXIT_BAD;
    sqlite3_close(m.db);
    arena_free(&m.memory);
    intern_free(&m.texts);
    map *maps[] = {&m.strings, &m.processes, &m.correlations, &m.devices};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    return status;
}
