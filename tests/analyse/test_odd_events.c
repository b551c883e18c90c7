/* Events from outside with every field at its worst: nothing overflows, nothing is overrun, and
   every writer answers. The sanitizers are what fails here. */
#include "../test.h"
#include "../../examples/kineto.h"

enum { EVENTS = 20 };

static int64_t odd(void) {
    static const int64_t values[] = {
        0, 1, -1, 5, 1000, -1000, INT64_MAX, INT64_MIN, INT64_MAX / 2, INT64_MIN / 2, UINT32_MAX,
        INT32_MAX, INT32_MIN, (int64_t)1 << 53
    };
    return values[test_random(sizeof values / sizeof values[0])];
}

/* A small number, or an odd one. */
static int64_t some(uint32_t below) {
    return test_random(2) ? odd() : (int64_t)test_random(below);
}

static const char *odd_name(void) {
    static const char *const names[] = {"aten::mm", "[memory]", "ProfilerStep#7", "_ZN1aE", NULL};
    return test_random(8) ? names[test_random(5)] : test_odd_names[test_random(TEST_ODD_NAMES)];
}

/* What the extras point to. */
static struct {
    int64_t dims[4];
    prof_shape shapes[3];
    prof_kernel kernels[4];
    const char *stack[3];
} parts;

static void odd_parts(void) {
    int i;
    memset(&parts, 0, sizeof parts);
    for (i = 0; i < 4; i++) {
        parts.dims[i] = odd();
        parts.kernels[i].name = odd_name();
        parts.kernels[i].duration_ns = odd();
        parts.kernels[i].device = (int32_t)odd();
    }
    parts.shapes[0].dims = parts.dims;
    parts.shapes[0].count = 4;
    parts.shapes[1].items = parts.shapes;
    parts.shapes[1].count = 1;
    for (i = 0; i < 3; i++) parts.stack[i] = test_odd_names[test_random(TEST_ODD_NAMES)];
}

static void odd_extra(prof_extra *x) {
    memset(x, 0, sizeof *x);
    x->has = test_random(256);
    x->node_id = (int32_t)odd();
    x->sequence_nr = some(3);
    x->fwd_thread = (uint64_t)some(3);
    x->end_thread = test_random(3);
    x->id = some(5);
    x->linked_correlation_id = some(5);
    x->device_index = (int32_t)odd();
    x->device_resource_id = odd();
    x->trace_name = odd_name();
    x->overload_name = odd_name();
    x->input_shapes = parts.shapes;
    x->input_count = test_random(4);
    x->stack = parts.stack;
    x->stack_count = test_random(4);
    x->kernels = parts.kernels;
    x->kernel_count = test_random(5);
    x->cpu_memory_usage = odd();
    x->device_memory_usage = odd();
    x->flops = odd();
    x->scope = (uint8_t)test_random(3);
}

static void odd_event(prof_event *e, prof_extra *x) {
    memset(e, 0, sizeof *e);
    odd_extra(x);
    e->name = odd_name();
    e->start_ns = odd();
    e->end_ns = odd();
    if (test_random(4) && e->end_ns < e->start_ns) e->end_ns = e->start_ns;
    e->thread = (uint32_t)some(3);
    e->device_type = (uint8_t)(test_random(2) ? 0 : odd());
    e->flags = (uint16_t)odd();
    e->extra = test_random(4) ? x : NULL;
    e->parent = test_random(EVENTS);     /* what the library computes may hold anything */
    e->first_child = e->next_sibling = test_random(EVENTS);
    e->site = (uint32_t)odd();
    e->depth = (uint8_t)odd();
    e->self_cpu_time_total_ns = odd();
}

static void write_all(const prof_trace *trace) {
    int i;
    for (i = 0; i < TEST_WRITERS; i++) {
        test_text text;
        memset(&text, 0, sizeof text);
        EQUAL(test_write(trace, i, &text), PROF_OK);
        test_text_clear(&text);
    }
    for (i = 0; i < PROF_METRIC_LAST; i++) {
        const prof_averages_desc by = { true, true, 2, true, true };
        prof_table_desc desc;
        test_text text;
        memset(&text, 0, sizeof text);
        memset(&desc, 0, sizeof desc);
        desc.sort_by = (prof_metric)i;
        if (i % 2) desc.averages = &by;
        EQUAL(prof_write_table(trace, &desc, test_text_sink(&text)), PROF_OK);
        test_text_clear(&text);
    }
    (void)prof_total_average(trace);
}

static void build(const prof_event *events, size_t count) {
    static const prof_thread_info list[3] = {{7, "a"}, {7, NULL}, {UINT64_MAX, ""}};
    prof_trace_desc desc;
    kineto_events parsed = { NULL, 0, NULL };
    prof_trace *trace = NULL;
    prof_result result;
    memset(&desc, 0, sizeof desc);
    desc.view.device_name = test_random(2) ? "cuda" : NULL;
    desc.view.profile_memory = test_random(2) != 0;
    desc.view.with_flops = test_random(2) != 0;
    desc.base_time_ns = odd();
    if (!test_random(4)) {
        desc.threads = list;
        desc.thread_count = 3;
    }
    if (test_random(2)) {
        parsed = kineto_parse(&desc, events, count, NULL);
        events = parsed.events;
        count = parsed.count;
    }
    desc.memory_size = prof_trace_memory_size(&desc, events, count);
    desc.memory = malloc(desc.memory_size);
    if (!desc.memory) abort();
    result = prof_trace_from_events(&desc, events, count, &trace);
    CHECK(result == PROF_OK || desc.threads, "%s", prof_strerror(result));
    if (result == PROF_OK) PASS_ON(write_all(trace));
    free(desc.memory);
    free(parsed.memory);
}

static void submit(const prof_event *events, size_t count) {
    prof_desc desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    test_time.tick += (uint64_t)odd();
    prof_push("zone");
    prof_submit_thread(1, "name");
    prof_submit_thread(UINT64_MAX, NULL);
    (void)prof_submit(events, count);
    prof_pop();
    PASS_ON(write_all(prof_stop()));
}

static void test_odd_events(void) {
    static prof_event events[EVENTS];
    static prof_extra extras[EVENTS];
    size_t i, count;
    uint32_t round, rounds = test_sample() > 1 ? 50 : 400;
    for (round = 0; round < rounds; round++) {
        count = test_random(EVENTS + 1);
        odd_parts();
        for (i = 0; i < count; i++) odd_event(events + i, extras + i);
        PASS_ON(build(events, count));
        PASS_ON(submit(events, count));
    }
}

/* More threads than the memory for few events would hold by itself. */
static void test_odd_many_threads(void) {
    static prof_thread_info list[100000];
    const uint32_t most = test_sample() > 1 ? 10000 : 100000;
    prof_event e;
    prof_trace_desc desc;
    prof_trace *trace = NULL;
    size_t threads;
    memset(&e, 0, sizeof e);
    memset(&desc, 0, sizeof desc);
    e.name = "zone";
    e.end_ns = 10;
    e.thread = most - 1;
    desc.threads = list;
    desc.thread_count = most;
    desc.memory_size = prof_trace_memory_size(&desc, &e, 1);
    desc.memory = malloc(desc.memory_size);
    CHECK(desc.memory != NULL, "memory");
    EQUAL(prof_trace_from_events(&desc, &e, 1, &trace), PROF_OK);
    prof_threads(trace, &threads);
    EQUAL(threads, most);
    PASS_ON(write_all(trace));
    free(desc.memory);
}

int main(void) {
    RUN(test_odd_events);
    RUN(test_odd_many_threads);
    return test_end();
}
