/* What events are, and their arguments: see trace_event.h. */
#include "input/trace_event.h"


/* ---- What they are ---- */

#define KIND(category, kind) {category, sizeof category - 1, kind}
static const struct { const char *category; size_t size; trace_kind kind; } kinds[] = {
    KIND("cpu_op", TRACE_CPU_OP), KIND("Operator", TRACE_CPU_OP),
    KIND("user_annotation", TRACE_ANNOTATION), KIND("python_function", TRACE_PYTHON),
    KIND("cuda_runtime", TRACE_RUNTIME), KIND("cuda_driver", TRACE_RUNTIME),
    KIND("Runtime", TRACE_RUNTIME), KIND("kernel", TRACE_KERNEL), KIND("Kernel", TRACE_KERNEL),
    KIND("gpu_memcpy", TRACE_MEMCPY), KIND("Memcpy", TRACE_MEMCPY),
    KIND("gpu_memset", TRACE_MEMSET), KIND("Memset", TRACE_MEMSET),
    KIND("gpu_user_annotation", TRACE_GPU_ANNOTATION), KIND("cuda_sync", TRACE_SYNC),
    KIND("overhead", TRACE_OVERHEAD), KIND("Trace", TRACE_SPAN), KIND("xpu_runtime", TRACE_RUNTIME),
    KIND("xpu_driver", TRACE_RUNTIME), KIND("mtia_runtime", TRACE_RUNTIME),
    KIND("glow_runtime", TRACE_RUNTIME), KIND("mtia_ccp_events", TRACE_KERNEL),
    KIND("mtia_workloadd", TRACE_KERNEL), KIND("mtia_insight", TRACE_KERNEL),
    KIND("hpu_op", TRACE_KERNEL), KIND("gpu_op", TRACE_KERNEL) /* Intel's unitrace */,
    KIND("CudaRuntime", TRACE_RUNTIME) /* Paddle's */, KIND("cuda_profiler_range", TRACE_COUNTED),
    KIND("privateuse1_runtime", TRACE_RUNTIME), KIND("privateuse1_driver", TRACE_RUNTIME),
    KIND("enqueue", TRACE_CPU_OP) /* torch_npu's */, KIND("dequeue", TRACE_CPU_OP)
};
#undef KIND

int64_t trace_text_id(trace_text text) {
    return -(int64_t)(hash_bytes(text.data, text.size) >> 2) - 2;
}

uint8_t trace_kind_of(trace_text category) {
    if (!category.size) return TRACE_OTHER;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (category.size == kinds[i].size &&
            memcmp(category.data, kinds[i].category, category.size) == 0)
            return (uint8_t)kinds[i].kind;
    /* as prof.h joins them: calls of any device's library */
    if (text_ends(category, "_runtime") || text_ends(category, "_driver")) return TRACE_RUNTIME;
    if (text_ends(category, "_sync")) return TRACE_SYNC;
    return TRACE_OTHER;
}

uint64_t trace_pair_key(const trace_event *event) {
    uint64_t key = hash_mix((uint64_t)event->pid + 1);
    trace_text id = event->id, rest = event->id2, name, value;
    if (event->phase == 'B' || event->phase == 'E')
        return hash_mix(key * 31 + (uint64_t)event->tid) | 1;
    if (id.size) key = 0;
    while (json_next(&rest, &name, &value)) {
        key = text_is(name, "global") ? 0 : hash_mix((uint64_t)event->pid + 1);
        id = value;
    }
    key = (key ^ hash_bytes(id.data, id.size)) * 31;
    return hash_mix(key + hash_bytes(event->cat.data, event->cat.size)) & ~(uint64_t)1;
}

/* ---- Arguments ---- */

/* Of equal keys the last one counts. */
const trace_member *trace_arg_find(const trace_event *event, const char *name, size_t size) {
    for (size_t i = event->arg_count; i-- > 0; ) {
        trace_text key = event->args[i].key;
        if (key.size == size && memcmp(key.data, name, size) == 0) return &event->args[i];
    }
    return NULL;
}

size_t trace_counter_id(const trace_event *event, char *buffer, size_t size) {
    char id[128] = "";
    int64_t number;
    if (!(event->has & TRACE_HAS_ID)) return *buffer = '\0', 0;
    if (json_is_text(event->id)) json_decode(event->id, id, sizeof id);
    else if (json_int(event->id, &number)) snprintf(id, sizeof id, "%lld", (long long)number);
    return (size_t)snprintf(buffer, size, "%s%.*s", *id ? " id: " : "", (int)size - 6, id);
}

bool trace_arg_double(const trace_event *event, const char *name, double *value) {
    const trace_member *arg = trace_arg(event, name);
    return arg && json_double(arg->value, value);
}

bool trace_arg_text(const trace_event *event, const char *name, char *buffer, size_t size) {
    const trace_member *arg = trace_arg(event, name);
    if (!arg || !json_is_text(arg->value)) return false;
    json_decode(arg->value, buffer, size);
    return true;
}

/* Ascend's CANN: of a task, of a collective, and of a call. */
static bool connection(const trace_event *event, int64_t *id) {
    const int64_t unknown = UINT32_MAX;
    bool is_its = trace_arg(event, "Task Type") || trace_arg(event, "alg_type") ||
                  trace_arg(event, "level");
    int64_t number;
    if (!is_its || !trace_arg_int(event, "connection_id", &number)) return false;
    if (number < 0 || number == unknown) return false;
    *id = number;
    return true;
}

bool trace_correlation(const trace_event *event, int64_t *id) {
    return trace_arg_int(event, KEY_CORRELATION, id) ||
           trace_arg_int(event, "correlation_id", id) ||         /* JAX's */
           trace_arg_int(event, "correlation id", id) ||         /* Paddle's */
           connection(event, id);
}

bool trace_external_id(const trace_event *event, int64_t *id) {
    return trace_arg_int(event, KEY_EXTERNAL_ID, id) ||
           trace_arg_int(event, "external id", id);
}

const trace_member *trace_shapes(const trace_event *event) {
    const trace_member *arg = trace_arg(event, KEY_SHAPES);
    return arg ? arg : trace_arg(event, "Input dims");
}

int64_t trace_device(const trace_event *event) {
    int64_t device = event->device >= 0 ? event->device : event->pid;
    trace_arg_int(event, "device", &device);
    return device;
}

uint64_t trace_flow(const trace_event *event) {
    return hash_bytes(event->cat.data, event->cat.size) * 31 +
           hash_bytes(event->id.data, event->id.size);
}

const trace_member *trace_overload(const trace_event *event) {
    static const char *const keys[] = {KEY_OVERLOAD, "Overload name", "overload_name"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const trace_member *arg = trace_arg(event, keys[i]);
        if (arg && json_is_text(arg->value)) return arg;
    }
    return NULL;
}

/* ---- As JSON ---- */

static inline void write_text(output *out, const char *key, trace_text value) {
    output_text(out, key);
    output_write(out, value.data, value.size);
}

static inline void write_id(output *out, const char *key, int64_t id, trace_text text) {
    output_text(out, key);
    if (text.data) output_json_text(out, text.data, text.size);
    else output_int(out, id);
}

static void make_event(output *out, const trace_event *event) {
    output_text(out, "{\"ph\": \"");
    output_write(out, &event->phase, 1);
    output_text(out, "\"");
    if (event->has & TRACE_HAS_CAT) output_text(out, ", \"cat\": ");
    if (event->has & TRACE_HAS_CAT) output_json_text(out, event->cat.data, event->cat.size);
    output_text(out, ", \"name\": ");
    output_json_text(out, event->name.data, event->name.size);
    write_id(out, ", \"pid\": ", event->pid, event->pid_text);
    write_id(out, ", \"tid\": ", event->tid, event->tid_text);
    if (event->has & TRACE_HAS_TS) output_text(out, ", \"ts\": ");
    if (event->has & TRACE_HAS_TS && event->phase == 'M') output_text(out, "0");
    else if (event->has & TRACE_HAS_TS) write_us(out, event->ts_ns);
    if (event->has & TRACE_HAS_DUR) output_text(out, ", \"dur\": ");
    if (event->has & TRACE_HAS_DUR) write_us(out, event->dur_ns);
    if (event->has & TRACE_HAS_ID) write_text(out, ", \"id\": ", event->id);
    if (event->scope.size) write_text(out, ", \"s\": ", event->scope);
    if (event->bp.size) write_text(out, ", \"bp\": ", event->bp);
    if (event->has & TRACE_HAS_ARGS) write_text(out, ", \"args\": ", event->args_text);
    output_text(out, "}");
}

void event_write(output *out, const trace_event *event) {
    if (event->raw.size) output_write(out, event->raw.data, event->raw.size);
    else make_event(out, event);
}
