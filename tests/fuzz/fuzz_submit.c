/* libFuzzer: events from outside, their fields from the bytes; as traces of their own, raw or not,
   and submitted to a session. See make fuzz. */
#include "fuzz.h"

enum { EVENTS = 24 };

static prof_event events[EVENTS];
static prof_extra extras[EVENTS];

static int64_t number_from(bytes *b) {
    static const int64_t odd[] = { INT64_MAX, INT64_MIN, -1, UINT32_MAX, INT32_MIN, 1000000 };
    unsigned n = next_byte(b);
    return n < 250 ? n : odd[n - 250];
}

static const char *name_from(bytes *b) {
    static const char *const names[] = {
        "aten::mm", "aten::conv2d", "[memory]", "ProfilerStep#7", "_ZN1aE", "gemm",
        "cudaLaunchKernel", "Memcpy HtoD (Pageable -> Device)"
    };
    unsigned n = next_byte(b);
    return n & 8 ? test_odd_names[n / 16 % TEST_ODD_NAMES] : names[n % 8];
}

static void extra_from(bytes *b, prof_extra *x) {
    static const int64_t dims[] = { 2, 3, 4, 5, 6, 7 };
    static const prof_shape shapes[] = { { dims, NULL, 2 }, { dims + 1, NULL, 2 },
                                         { NULL, NULL, 0 }, { dims, NULL, 4 } };
    static const prof_kernel kernels[] = { { "k", 5, 0 }, { "l", INT64_MAX, -1 } };
    static const char *const types[] = { NULL, "kernel", "cuda_runtime", "cuda_driver",
                                         "gpu_memcpy", "cpu_op", "overhead", "" };
    static const char *const texts[] = { "a.py(1): f", "", "\xff\"", "torch/x.py(2): g" };
    static const char *const json[] = { NULL, "{\"k\": [1, 2]}", "not json", "\"a\": 1" };
    unsigned which;
    memset(x, 0, sizeof *x);
    x->has = next_byte(b);
    x->node_id = (int32_t)number_from(b);
    x->sequence_nr = next_byte(b) % 4;
    x->fwd_thread = next_byte(b) % 3;
    x->end_thread = next_byte(b) % 3;
    x->id = next_byte(b) % 8;
    x->linked_correlation_id = next_byte(b) % 8;
    x->external_id = x->linked_correlation_id;
    which = next_byte(b);
    x->device_index = (int32_t)(which % 3) - 1;
    x->activity_type = types[which / 4 % 8];
    x->scope = (uint8_t)(which / 32 % 3);
    which = next_byte(b);
    x->input_shapes = shapes + which % 2;
    x->input_count = which / 2 % 3;
    x->stack = texts + which / 8 % 2;
    x->stack_count = which / 16 % 4 < 3 ? which / 16 % 3 : 0;
    x->kernels = kernels;
    x->kernel_count = which / 64 % 3;
    which = next_byte(b);
    x->kwinputs = json[which % 4];
    x->metadata_json = json[which / 4 % 4];
    x->dtypes = which & 16 ? texts : NULL;
    x->concrete_inputs = which & 32 ? texts : NULL;
    x->module_hierarchy = which & 64 ? "a.b" : NULL;
    x->overload_name = which & 128 ? "out" : NULL;
    x->cpu_memory_usage = number_from(b);
    x->device_memory_usage = number_from(b);
    x->flops = number_from(b);
}

static size_t events_from(bytes *b) {
    size_t n = 0;
    while (b->at < b->end && n < EVENTS) {
        prof_event *e = events + n;
        unsigned how = next_byte(b);
        memset(e, 0, sizeof *e);
        e->name = name_from(b);
        e->start_ns = number_from(b);
        e->end_ns = e->start_ns;
        if (e->end_ns < INT64_MAX - 255) e->end_ns += next_byte(b);
        if (how & 1) e->end_ns = number_from(b);
        e->thread = how >> 1 & 3;
        e->flags = how & 8 ? (uint16_t)next_byte(b) : 0;
        e->device_type = (uint8_t)(how & 16 ? next_byte(b) % 24 : how >> 7);
        if (how & 96) extra_from(b, extras + n), e->extra = extras + n;
        n++;
    }
    return n;
}

static void build(size_t count, unsigned how) {
    prof_trace_desc desc;
    prof_trace *trace = NULL;
    memset(&desc, 0, sizeof desc);
    desc.view.device_name = how & 1 ? "cuda" : NULL;
    desc.view.profile_memory = (how & 2) != 0;
    desc.view.with_flops = (how & 4) != 0;
    desc.memory_size = prof_trace_memory_size(&desc, events, count);
    desc.memory = malloc(desc.memory_size);      /* so that AddressSanitizer knows its end */
    if (!desc.memory) fuzz_crash("memory");
    if (prof_trace_from_events(&desc, events, count, &trace) == PROF_OK) fuzz_writers(trace);
    free(desc.memory);
}

static void submit(size_t count) {
    prof_desc desc = test_desc();
    desc.memory = sequence_memory;
    desc.memory_size = sizeof sequence_memory;
    desc.max_threads = 2;
    if (prof_start(&desc) != PROF_OK) fuzz_crash("no session");
    for (uint32_t i = 0; i < 3; i++) (void)prof_submit_thread(100 + i, i ? "t" : NULL);
    PROF_BEGIN("zone");
    test_time.tick += 100;
    PROF_BLOCK("inner") test_time.tick += 50;
    if (count) (void)prof_submit(events, 1);
    for (size_t i = 0; i < count; i++) extras[i].kernel_count = 0;   /* who lists some is refused */
    (void)prof_submit(events, count);
    PROF_END();
    fuzz_writers(prof_stop());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b = { data, data + size };
    unsigned how = next_byte(&b);
    size_t count = events_from(&b);
    build(count, how);
    submit(count);
    return 0;
}
