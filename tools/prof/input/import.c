/* Profiles of nvprof, of Nsight Systems and of AMD's rpd, which are SQLite, as events: a table
   after another; those of rocprofv3 are rocpd.c's. rpd's tables are defined in
   rocpd_python/rocpd/schema.py of ROCm/rocmProfileData. */
#include <stdlib.h>
#include <string.h>

#include "input/database.h"
#include "input/losses.h"
#include "input/rocpd.h"

typedef struct span { const char *category, *name; int64_t pid, tid, start_ns, end_ns; } span;

typedef struct importer {
    event_queue *to;
    database db;
    bool nsys, rpd;
    rocpd *rocpd;                /* NULL: it is none of rocprofv3 */
    losses *losses;
    arena memory;
    map strings;                /* id -> text's number + 1 */
    interner texts;
    map processes;              /* pid -> its number */
    map correlations;           /* of device work, to count those that occur twice */
    map devices;
    int64_t base_ns;
    uint64_t twice, unfinished;
    int64_t asyncs;
    size_t table;               /* of `tables`, that is read now, */
    bool is_open;               /* by: */
    rows rows;
    map launches;               /* rpd: work -> the call that launched it */
    map forwards;               /* sequence number -> forward op's number in begun + 1; 0: joined */
    span *begun;
    size_t begun_count, begun_capacity;
    map open;                   /* id of a marker -> its number in starts + 1 */
    span *starts;
    size_t start_count, start_capacity;
} importer;

/* ---- Texts, processes ---- */

static void read_strings(importer *m) {
    static const char *const nsys[] = {"id", "value", NULL};
    static const char *const nvprof[] = {"_id_", "value", NULL};
    static const char *const rpd[] = {"id", "string", NULL};
    const char *table = m->rpd ? "rocpd_string" : m->nsys ? "StringIds" : "StringTable";
    rows r;
    if (!rows_open(&m->db, &r, table, NULL, m->rpd ? rpd : m->nsys ? nsys : nvprof)) return;
    while (rows_next(&r)) {
        const char *value = row_text(&r, 1);
        if (value)
            *map_put(&m->strings, (uint64_t)row_int(&r, 0, 0), NULL) =
                intern_clean(&m->texts, text_of(value)) + UINT64_C(1);
    }
}

static const char *string_of(const importer *m, int64_t id) {
    const uint64_t *found = map_get(&m->strings, (uint64_t)id);
    return found && *found ? interned_text(&m->texts, (uint32_t)*found - 1) : NULL;
}

/* A name that may be anything. */
static const char *kept(importer *m, trace_text name) {
    return interned_text(&m->texts, intern_clean(&m->texts, name));
}

static const char *numbered(importer *m, const char *what, int64_t id) {
    char text[64];
    snprintf(text, sizeof text, "%s %lld", what, (long long)id);
    return interned_text(&m->texts, intern(&m->texts, text, strlen(text)));
}

/* The text that the row names, which has to be there; NULL: none. 0 names none. */
static const char *named(const importer *m, const rows *r, int column) {
    int64_t id = row_int(r, column, 0);
    const char *text = string_of(m, id);
    if (!text && id) row_odd(r, column, "is the id of no text that is there");
    return text;
}

static const char *name_of(importer *m, const rows *r, int column, const char *what) {
    const char *name = named(m, r, column);
    return name ? name : numbered(m, what, row_int(r, column, 0));
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

static trace_event *add_event(importer *m, char phase, const span *s, int64_t ns) {
    trace_event *event = queue_timed(m->to, phase, text_of(s->category), text_of(s->name),
                                     ns - m->base_ns);
    event->pid = s->pid;
    event->tid = s->tid;
    if (phase == 'X') queue_until(event, s->end_ns - s->start_ns);
    queue_begin_args(m->to);
    return event;
}

/* The number of ", seq = 5" or ", seq=5" in a name, or of what was stashed for the backward pass:
   ", stashed seq=5". NULL: none; else where it begins. */
static const char *sequence_in(const char *name, bool *stashed, int64_t *number) {
    static const char *const keys[] = {", stashed seq", ", seq"};
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(name, keys[i]), *p = at ? at + strlen(keys[i]) : NULL;
        char *end;
        if (!p) continue;
        p += strspn(p, " ");
        if (*p != '=') continue;
        *number = strtoll(p + 1, &end, 10);
        *stashed = i == 0;
        if (end > p + 1) return at;
    }
    return NULL;
}

/* An arrow from the last forward op of this number to its first backward op. */
static void join_backward(importer *m, const span *s, int64_t sequence) {
    static const char arrow[] = "fwdbwd";
    uint64_t *forward = map_get(&m->forwards, (uint64_t)sequence);
    if (!forward || !*forward) return;
    span from = m->begun[*forward - 1], to = *s;
    *forward = 0;
    from.category = from.name = to.category = to.name = arrow;
    for (int end = 0; end < 2; end++) {
        trace_event *event = add_event(m, end ? 'f' : 's', end ? &to : &from,
                                       end ? to.start_ns : from.start_ns);
        queue_end_args(m->to, event);
        queue_id(m->to, event, sequence);
        if (end) event->bp = (trace_text){"\"e\"", 3};
    }
}

static void note_forward(importer *m, const span *s, int64_t sequence) {
    GROW(m->begun, m->begun_count, m->begun_capacity);
    m->begun[m->begun_count++] = *s;
    *map_put(&m->forwards, (uint64_t)sequence, NULL) = m->begun_count;
}

/* "aten::mm, seq = 5, op_id = 9, sizes = [[2, 3], [3, 4]], input_op_ids = ..." of emit_nvtx. */
static bool put_op(importer *m, const span *s) {
    bool stashed = false;
    int64_t sequence = 0;
    const char *seq = sequence_in(s->name, &stashed, &sequence);
    const char *sizes = strstr(s->name, ", sizes = [");
    const char *op = strstr(s->name, ", op_id = "), *end = seq ? seq : op ? op : sizes;
    if (!end) return false;
    if (seq && !stashed) note_forward(m, s, sequence);
    else if (seq) join_backward(m, s, sequence);
    span named = *s;
    named.category = "cpu_op";
    named.name = kept(m, (trace_text){s->name, (size_t)(end - s->name)});
    trace_event *event = add_event(m, 'X', &named, s->start_ns);
    if (seq) queue_int(m->to, KEY_SEQUENCE, sequence);
    if (sizes) {
        const char *from = sizes + 10, *p = from;
        int depth = 0;
        for (; *p && strchr("[]0123456789, -", *p); p++) {
            depth += (*p == '[') - (*p == ']');
            if (depth == 0) break;
        }
        trace_text list = {from, (size_t)(p - from) + (*p == ']')};
        if (json_whole(list))
            output_write(queue_arg(m->to, text_of(KEY_SHAPES)), list.data, list.size);
    }
    queue_end_args(m->to, event);
    return true;
}

static void put_range(importer *m, const span *s) {
    if (!put_op(m, s)) add_event(m, 'X', s, s->start_ns);
}

/* A range that any thread may end: it need not nest. */
static void put_async(importer *m, const span *s) {
    m->asyncs++;
    queue_id(m->to, add_event(m, 'b', s, s->start_ns), m->asyncs);
    queue_id(m->to, add_event(m, 'e', s, s->end_ns), m->asyncs);
}

static void put_mark(importer *m, const span *s) {
    add_event(m, 'i', s, s->start_ns)->scope = (trace_text){"\"t\"", 3};
}

/* ---- Ranges ---- */

static const char *const nvtx_names[] = {"start", "end", "eventType", "text", "textId",
                                         "globalTid", NULL};

static void take_nvtx(importer *m, const rows *r) {
    enum { MARK = 34, PUSH_POP = 59, START_END = 60 };
    int64_t type = row_int(r, 2, PUSH_POP), thread = row_int(r, 5, 0);
    const char *name = row_text(r, 3);
    if (type != MARK && type != PUSH_POP && type != START_END) return;       /* names, ... */
    name = name ? kept(m, text_of(name)) : name_of(m, r, 4, "range");
    span s = {"user_annotation", name, pid_of(thread), tid_of(thread), row_int(r, 0, 0), 0};
    s.end_ns = row_int(r, 1, INT64_MIN);
    if (!row_has_number(r, 0)) m->unfinished++;
    else if (type == MARK) put_mark(m, &s);
    else if (s.end_ns < s.start_ns) m->unfinished++;
    else if (type == START_END) put_async(m, &s);
    else put_range(m, &s);
}

static const char *const marker_names[] = {"id", "flags", "timestamp", "name", "objectKind",
                                           "objectId", NULL};

/* nvprof's: a row where a range starts and one where it ends, joined by their id. */
static void take_marker(importer *m, const rows *r) {
    enum { INSTANT = 1, THREAD = 2 };
    int64_t name = row_int(r, 3, 0), at_ns = row_int(r, 2, 0);
    uint32_t ids[2] = {0, 0};
    trace_text object = row_bytes(r, 5);
    if (row_int(r, 4, 0) == THREAD && object.size >= sizeof ids)
        memcpy(ids, object.data, sizeof ids);
    span s = {"user_annotation", NULL, ids[0], ids[1], at_ns, at_ns};
    uint64_t *start = map_put(&m->open, (uint64_t)row_int(r, 0, 0), NULL);
    if (row_int(r, 1, 0) & INSTANT) {
        s.name = name_of(m, r, 3, "marker");
        put_mark(m, &s);
    } else if (name != 0) {
        m->twice += *start != 0;
        s.name = name_of(m, r, 3, "marker");
        GROW(m->starts, m->start_count, m->start_capacity);
        m->starts[m->start_count++] = s;
        *start = m->start_count;
        m->unfinished++;
    } else if (*start) {
        m->starts[*start - 1].end_ns = at_ns;
        put_range(m, &m->starts[*start - 1]);
        m->unfinished--;
        *start = 0;
    } else {
        row_odd(r, 0, "ends a range that none has begun");
    }
}

/* Is there a begin, and behind it, in the next column, no end before it? */
static bool lasts(importer *m, const rows *r, int start, const span *s) {
    bool good = row_has_number(r, start) && row_has_number(r, start + 1) &&
                s->end_ns >= s->start_ns;
    m->unfinished += !good;
    return good;
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
    return kept(m, (trace_text){name, (size_t)(version - name)});
}

static const char *const call_names[] = {"start", "end", "correlationId", "globalTid", "nameId",
                                         "cbid", "processId", "threadId", NULL};

static void take_call(importer *m, const rows *r, bool driver) {
    int64_t thread = row_int(r, 3, 0), cbid = row_int(r, 5, -1);
    span s = {driver ? "cuda_driver" : "cuda_runtime", NULL, pid_of(thread), tid_of(thread),
              row_int(r, 0, 0), row_int(r, 1, 0)};
    if (!m->nsys) {
        s.pid = row_int(r, 6, 0);
        s.tid = (int64_t)(uint32_t)row_int(r, 7, 0);
        if (!driver) s.name = runtime_name(cbid);
        if (!s.name) s.name = numbered(m, driver ? "driver cbid" : "runtime cbid", cbid);
    } else {
        s.name = without_version(m, name_of(m, r, 4, "call"));
        if (strncmp(s.name, "cu", 2) == 0 && strncmp(s.name, "cuda", 4) != 0)
            s.category = "cuda_driver";
    }
    if (!lasts(m, r, 0, &s)) return;
    trace_event *event = add_event(m, 'X', &s, s.start_ns);
    if (cbid >= 0) queue_int(m->to, "cbid", cbid);
    queue_int(m->to, KEY_CORRELATION, correlation_of(m, s.pid, row_int(r, 2, 0)));
    queue_end_args(m->to, event);
}

static void take_runtime(importer *m, const rows *r) { take_call(m, r, false); }
static void take_driver(importer *m, const rows *r) { take_call(m, r, true); }

/* ---- Work of the devices ---- */

enum { START, END, DEVICE, CONTEXT, STREAM, CORRELATION, GLOBAL_PID, FIRST_OWN };

/* NULL: it has no begin or no end. */
static trace_event *add_work(importer *m, const rows *r, const char *category, const char *name) {
    int64_t device = row_int(r, DEVICE, 0), stream = row_int(r, STREAM, 0);
    int64_t correlation = correlation_of(m, pid_of(row_int(r, GLOBAL_PID, 0)),
                                         row_int(r, CORRELATION, 0));
    bool is_new;
    span s = {category, name, device, stream, row_int(r, START, 0), row_int(r, END, 0)};
    if (!lasts(m, r, START, &s)) return NULL;
    if (correlation) {
        map_put(&m->correlations, (uint64_t)correlation, &is_new);
        m->twice += !is_new;
    }
    map_put(&m->devices, (uint64_t)device, NULL);
    trace_event *event = add_event(m, 'X', &s, s.start_ns);
    queue_int(m->to, "device", device);
    queue_int(m->to, "context", row_int(r, CONTEXT, 0));
    queue_int(m->to, "stream", stream);
    queue_int(m->to, KEY_CORRELATION, correlation);
    return event;
}

static const char *const kernel_names[] = {
    "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
    "demangledName", "shortName", "name", "registersPerThread", "staticSharedMemory",
    "dynamicSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", NULL
};

static void put_extent(importer *m, const char *key, const rows *r, int first) {
    output_format(queue_arg(m->to, text_of(key)), "[%lld, %lld, %lld]",
                  (long long)row_int(r, first, 1), (long long)row_int(r, first + 1, 1),
                  (long long)row_int(r, first + 2, 1));
}

static void take_kernel(importer *m, const rows *r) {
    const char *name = named(m, r, row_has(r, 7) ? 7 : 9);
    if (!name) name = name_of(m, r, row_has(r, 8) ? 8 : 9, "kernel");
    trace_event *event = add_work(m, r, "kernel", name);
    if (!event) return;
    queue_int(m->to, "registers per thread", row_int(r, 10, 0));
    queue_int(m->to, "shared memory", row_int(r, 11, 0) + row_int(r, 12, 0));
    put_extent(m, "grid", r, 13);
    put_extent(m, "block", r, 16);
    queue_end_args(m->to, event);
}

static const char *const graph_names[] = {
    "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId",
    "graphExecId", NULL
};

/* A launch of a graph as one, where its nodes are not traced. Times of 0 and 0 could not be
   taken. */
static void take_graph(importer *m, const rows *r) {
    int64_t graph = row_int(r, 7, 0);
    if (!row_int(r, START, 0) && !row_int(r, END, 0)) {
        m->unfinished++;
        return;
    }
    trace_event *event = add_work(m, r, "kernel", numbered(m, "CUDA graph", graph));
    if (!event) return;
    queue_int(m->to, "graph id", graph);
    queue_end_args(m->to, event);
}

static const char *kind_text(int64_t kind, const char *const *texts, int64_t count) {
    return kind >= 0 && kind < count ? texts[kind] : "Unknown";
}

static const char *const copy_names[] = {
    "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
    "copyKind", "srcKind", "dstKind", "bytes", NULL
};

static void take_transfer(importer *m, const rows *r, bool fills) {
    static const char *const copies[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                         "DtoA", "DtoD", "HtoH", "PtoP"};
    static const char *const nsys_memory[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};
    static const char *const cupti_memory[] = {"Unknown", "Pageable", "Pinned", "Device", "Array",
                                               "Managed"};
    const char *const *memory = m->nsys ? nsys_memory : cupti_memory;
    char name[96];
    int64_t bytes = row_int(r, 10, 0), ns = row_int(r, END, 0) - row_int(r, START, 0);
    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", kind_text(row_int(r, 7, 0), copies, 11),
             kind_text(row_int(r, 8, -1), memory, m->nsys ? 5 : 6),
             kind_text(row_int(r, 9, -1), memory, m->nsys ? 5 : 6));
    trace_event *event = add_work(m, r, fills ? "gpu_memset" : "gpu_memcpy",
                                  fills ? "Memset (Device)" : kept(m, text_of(name)));
    if (!event) return;
    queue_int(m->to, "bytes", bytes);
    output_format(queue_arg(m->to, text_of("memory bandwidth (GB/s)")), "%.6g",
                  ns > 0 ? (double)bytes / (double)ns : 0);
    queue_end_args(m->to, event);
}

static void take_copy(importer *m, const rows *r) { take_transfer(m, r, false); }
static void take_fill(importer *m, const rows *r) { take_transfer(m, r, true); }

/* ---- rpd ---- */

static void read_launches(importer *m) {
    static const char *const names[] = {"op_id", "api_id", NULL};
    rows r;
    if (!rows_open(&m->db, &r, "rocpd_api_ops", NULL, names)) return;
    while (rows_next(&r))
        *map_put(&m->launches, (uint64_t)row_int(&r, 0, 0), NULL) = (uint64_t)row_int(&r, 1, 0);
}

static const char *const api_names[] = {"id", "pid", "tid", "start", "end", "apiName_id", "args_id",
                                        NULL};

/* A range of roctx has its text as arguments. */
static void take_api(importer *m, const rows *r) {
    const char *args = named(m, r, 6);
    span s = {"cuda_runtime", name_of(m, r, 5, "call"), row_int(r, 1, 0),
              row_int(r, 2, 0), row_int(r, 3, 0), row_int(r, 4, 0)};
    if (strcmp(s.name, "UserMarker") == 0 && args && *args) {
        s.category = "user_annotation";
        s.name = args;
        if (!row_has_number(r, 3)) m->unfinished++;
        else if (s.end_ns <= s.start_ns) put_mark(m, &s);
        else put_range(m, &s);
        return;
    }
    if (!lasts(m, r, 3, &s)) return;
    trace_event *event = add_event(m, 'X', &s, s.start_ns);
    queue_int(m->to, KEY_CORRELATION, row_int(r, 0, 0));
    if (args && *args) queue_string(m->to, "args", text_of(args));
    queue_end_args(m->to, event);
}

static const char *const op_names[] = {"start", "end", "gpuId", "queueId", "id", "description_id",
                                       "opType_id", NULL};

/* Barriers are no work. */
static void take_op(importer *m, const rows *r) {
    static const struct { const char *type, *category; } types[] = {
        {"KernelExecution", "kernel"}, {"Task", "kernel"}, {"Copy", "gpu_memcpy"},
        {"Fill", "gpu_memset"}
    };
    const char *type = named(m, r, 6), *name = named(m, r, 5);
    const uint64_t *launch = map_get(&m->launches, (uint64_t)row_int(r, 4, 0));
    span s = {"cuda_sync", name && *name ? name : type ? type : "work", row_int(r, 2, 0),
              row_int(r, 3, 0), row_int(r, 0, 0), row_int(r, 1, 0)};
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strncmp(type, types[i].type, strlen(types[i].type)) == 0)
            s.category = types[i].category;
    if (!lasts(m, r, 0, &s)) return;
    if (s.pid >= 0) map_put(&m->devices, (uint64_t)s.pid, NULL);
    trace_event *event = add_event(m, 'X', &s, s.start_ns);
    queue_int(m->to, "device", s.pid);
    queue_int(m->to, "stream", s.tid);
    if (launch) queue_int(m->to, KEY_CORRELATION, (int64_t)*launch);
    queue_end_args(m->to, event);
}

/* ---- Head and names ---- */

static void put_devices(importer *m) {
    static const char *const nsys[] = {"id", "name", "totalMemory", "smCount", "computeMajor",
                                       "computeMinor", NULL};
    static const char *const nvprof[] = {"id", "name", "globalMemorySize", "numMultiprocessors",
                                         "computeCapabilityMajor", "computeCapabilityMinor", NULL};
    const char *table = m->nsys ? "TARGET_INFO_GPU" : "CUPTI_ACTIVITY_KIND_DEVICE";
    output *out = queue_begin_args(m->to);
    bool first = true;
    rows r;
    if (!rows_open(&m->db, &r, table, NULL, m->nsys ? nsys : nvprof)) return;
    while (rows_next(&r)) {
        const char *name = m->nsys ? row_text(&r, 1) : named(m, &r, 1);
        output_format(out, "%s{\"id\": %lld, \"name\": ", first ? "[" : ", ",
                      (long long)row_int(&r, 0, 0));
        output_json_text(out, name ? name : "", name ? strlen(name) : 0);
        output_format(out, ", \"totalGlobalMem\": %lld, \"numSms\": %lld, \"computeMajor\": %lld, "
                      "\"computeMinor\": %lld}", (long long)row_int(&r, 2, 0),
                      (long long)row_int(&r, 3, 0), (long long)row_int(&r, 4, 0),
                      (long long)row_int(&r, 5, 0));
        first = false;
    }
    if (first) return;
    output_text(out, "]");
    trace_text list;
    list.data = output_memory(out, &list.size) + 1;          /* behind a `{` */
    list.size--;
    queue_member(m->to, text_of("deviceProperties"), list);
}

static int64_t earliest_of_tables(importer *m);

/* nvprof's times are since 1970: the trace's begin is the least of them. nsys's are since the
   session's start, which it tells. */
static int64_t find_base(importer *m) {
    static const char *const epoch[] = {"utcEpochNs", NULL};
    int64_t base = 0;
    rows r;
    if (!m->nsys) return earliest_of_tables(m);
    if (!rows_open(&m->db, &r, "TARGET_INFO_SESSION_START_TIME", NULL, epoch)) return 0;
    while (rows_next(&r)) base = row_int(&r, 0, 0);
    return base;
}

static void put_label(importer *m, uint64_t device) {
    queue_device(m->to, "GPU", (int64_t)device);
    trace_event *event = queue_event(m->to, 'M', (trace_text){NULL, 0},
                                     text_of("process_sort_index"));
    event->pid = (int64_t)device;
    queue_begin_args(m->to);
    queue_int(m->to, "sort_index", (int64_t)device + 5000000);
    queue_end_args(m->to, event);
}

static void put_labels(importer *m) {
    if (m->devices.has_zero) put_label(m, 0);
    for (size_t i = 0; i < m->devices.slot_count; i++)
        if (m->devices.slots[i].key) put_label(m, m->devices.slots[i].key);
}

static void put_head(importer *m) {
    char text[24];
    int64_t base = m->rpd ? 0 : find_base(m);        /* rpd's times are since the machine's start */
    snprintf(text, sizeof text, "%lld", (long long)base);
    read_strings(m);
    if (m->rpd) read_launches(m);
    queue_member(m->to, text_of("schemaVersion"), text_of("1"));
    put_devices(m);
    if (base) queue_member(m->to, text_of("baseTimeNanoseconds"), text_of(text));
    if (!m->nsys) m->base_ns = base;
}

/* ---- The whole ---- */

static const struct {
    const char *name, *order;
    const char *const *columns;
    void (*take)(importer *m, const rows *r);
} tables[] = {
    {"NVTX_EVENTS", "start", nvtx_names, take_nvtx},
    {"CUPTI_ACTIVITY_KIND_MARKER", "timestamp", marker_names, take_marker},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start", call_names, take_runtime},
    {"CUPTI_ACTIVITY_KIND_DRIVER", "start", call_names, take_driver},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "start", kernel_names, take_kernel},
    {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "start", kernel_names, take_kernel},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start", graph_names, take_graph},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "start", copy_names, take_copy},
    {"CUPTI_ACTIVITY_KIND_MEMCPY2", "start", copy_names, take_copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "start", copy_names, take_fill},
    {"rocpd_api", NULL, api_names, take_api}, {"rocpd_op", NULL, op_names, take_op}
};
enum { TABLES = sizeof tables / sizeof *tables };

static int64_t earliest_of_tables(importer *m) {
    int64_t base = INT64_MAX, ns;
    rows r;
    for (size_t i = 0; i < TABLES; i++) {
        const char *const columns[] = {tables[i].order, NULL};
        if (!tables[i].order || !rows_open(&m->db, &r, tables[i].name, NULL, columns)) continue;
        while (rows_next(&r))
            if ((ns = row_int(&r, 0, 0)) > 0 && ns < base) base = ns;
    }
    return base == INT64_MAX ? 0 : base;
}

/* Has it device time, which nothing here reads? What waits for a device, or describes one, is
   none. */
static bool is_unread(importer *m, const char *table) {
    static const char *const devices[] = {"deviceId", "gpuId", "gpu", "agent_id", "device_id"};
    static const char *const none[] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        "CUPTI_ACTIVITY_KIND_OVERHEAD", "CUPTI_ACTIVITY_KIND_DEVICE", "CUDA_UM_", "TARGET_INFO_",
        "CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY", "rocpd_monitor", NULL};
    bool works = false;
    for (size_t i = 0; i < TABLES; i++)
        if (strcmp(table, tables[i].name) == 0) return false;
    if (rocpd_reads(m->rocpd, table) || begins_with(table, none)) return false;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        works |= database_column(&m->db, table, devices[i]);
    works |= strstr(table, "WORKLOAD") != NULL;          /* of a GPU, by a graphics library */
    return works && ((database_column(&m->db, table, "start") &&
                      database_column(&m->db, table, "end")) ||
                     (database_column(&m->db, table, "start_id") &&
                      database_column(&m->db, table, "end_id")));
}

static void note_unread(void *user, const char *table) {
    static const char *const times[] = {"start", "end", NULL};
    importer *m = user;
    uint64_t count = 0, ns = 0;
    char what[160];
    rows r;
    if (m->to->failed || !is_unread(m, table) || !rows_open(&m->db, &r, table, NULL, times)) return;
    for (; rows_next(&r); count++)
        if (row_int(&r, 1, 0) > row_int(&r, 0, 0))
            ns += (uint64_t)row_int(&r, 1, 0) - (uint64_t)row_int(&r, 0, 0);
    snprintf(what, sizeof what, "rows of table %s", table);
    losses_unread(m->losses, what, count, ns);
}

static bool open_profile(importer *m, const source_desc *desc) {
    if (!database_open(&m->db, desc)) return false;
    m->nsys = database_has(&m->db, "StringIds");
    m->rpd = database_has(&m->db, "rocpd_string");
    if (!m->nsys) m->rocpd = rocpd_open(&m->db);
    m->rpd &= !m->rocpd;
    if (database_has(&m->db, "STRING_IDS") && database_has(&m->db, "TASK"))
        m->to->failed = fail(desc->path, "this is Ascend's database: prof reads trace_view.json, "
                             "kernel_details.csv and communication.json, which "
                             "torch_npu.profiler.ExportType.Text writes");
    else if (!m->nsys && !m->rpd && !m->rocpd && !database_has(&m->db, "StringTable"))
        m->to->failed = fail(desc->path, "neither a profile of nvprof (table StringTable), nor of "
                             "nsys (StringIds), rpd (rocpd_string) or rocprofv3 (rocpd_string_ID)");
    if (m->to->failed) return false;
    database_tables(&m->db, note_unread, m);
    return !m->to->failed;
}

static void close_profile(void *source) {
    importer *m = source;
    if (m->is_open) rows_close(&m->rows);
    rocpd_close(m->rocpd);
    database_close(&m->db);
    arena_free(&m->memory);
    intern_free(&m->texts);
    free(m->starts);
    free(m->begun);
    map_free(&m->forwards);
    map *maps[] = {&m->strings, &m->processes, &m->correlations, &m->devices, &m->open,
                   &m->launches};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    free(m);
}

static int is_database(const void *first, size_t size) {
    static const char magic[16] = "SQLite format 3";
    return size < sizeof magic ? -1 : memcmp(first, magic, sizeof magic) == 0;
}

static void *open_source(const source_desc *desc) {
    importer *m = allocate(sizeof *m);
    m->to = desc->to;
    m->losses = desc->losses;
    if (open_profile(m, desc) && !m->rocpd) put_head(m);
    return m;
}

/* Some rows of the table that is being read, or the next one. */
static bool read_rows(void *source) {
    enum { SOME = 200 };
    importer *m = source;
    if (m->to->failed) return false;
    if (m->rocpd) return rocpd_read(m->rocpd);
    if (m->table == TABLES) return put_labels(m), false;
    const char *name = tables[m->table].name;
    if (!m->is_open)
        m->is_open = rows_open(&m->db, &m->rows, name, tables[m->table].order,
                               tables[m->table].columns);
    for (int i = 0; m->is_open && i < SOME; i++) {
        m->is_open = rows_next(&m->rows);
        if (m->is_open) tables[m->table].take(m, &m->rows);
    }
    m->table += !m->is_open;
    return true;
}

static bool tell_rows(void *source, const char *path) {
    const importer *m = source;
    if (m->rocpd) rocpd_tell(m->rocpd, path);
    if (m->unfinished)
        warn(path, "%llu events have no begin or no end: left out",
             (unsigned long long)m->unfinished);
    if (m->twice)
        warn(path, "%llu ids of markers or device work occur twice",
             (unsigned long long)m->twice);
    return false;
}

const source_format import_format = {
    is_database, open_source, NULL, read_rows, tell_rows, close_profile
};
