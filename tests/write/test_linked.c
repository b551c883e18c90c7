/* What a session or a writer asks for is linked when it is asked for: a process that never asked
   for more writes the same bytes as one in which everything is linked. */
#include "../test.h"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>

static char memory[1 << 20], small[1 << 14];

static uint32_t thread_one(void *user) {
    (void)user;
    return 1;
}

static prof_desc plain(void) {
    prof_desc desc = test_desc();
    desc.platform.thread_id = thread_one;   /* the system's are others in each process */
    return desc;
}

static prof_desc shapes(void) {
    prof_desc desc = plain();
    desc.record_shapes = desc.with_modules = desc.with_stack = desc.with_flops = true;
    return desc;
}

static prof_desc allocations(void) {
    prof_desc desc = plain();
    desc.profile_memory = true;
    return desc;
}

static prof_desc sums(void) {
    prof_desc desc = plain();
    desc.mode = PROF_MODE_AGGREGATE;
    return desc;
}

static prof_desc full(void) {
    prof_desc desc = plain();
    desc.memory = small;
    desc.memory_size = sizeof small;
    desc.max_threads = 1;
    desc.max_depth = 8;
    return desc;
}

static prof_desc steps(void) {
    prof_desc desc = plain();
    desc.schedule.active = 2;
    return desc;
}

static prof_action record_always(void *user, uint64_t step) {
    (void)user;
    (void)step;
    return PROF_ACTION_RECORD;
}

static prof_desc own_steps(void) {
    prof_desc desc = plain();
    desc.schedule_fn = record_always;
    return desc;
}

static void zones(void) {
    for (int i = 0; i < 5; i++) {
        PROF_BEGIN("outer");
        prof_push("inner");
        prof_pop();
        PROF_END();
    }
    prof_push("open");
}

static void many(void) {
    for (int i = 0; i < 3000; i++) zones();
}

static void moments(void) {
    zones();
    PROF_INSTANT("instant");
    PROF_COUNTER("counter", 7);
    prof_counter_f("real", 1.5);
}

static void full_of_moments(void) {
    moments();
    many();
    moments();
}

static void metadata(void) {
    EQUAL(prof_add_metadata("key", "value"), PROF_OK);
    EQUAL(prof_add_metadata_json("list", "[1]"), PROF_OK);
    zones();
}

static void ranges(void) {
    prof_async_end(prof_async_begin("range"));
    (void)prof_async_begin("endless");
    zones();
}

static void flows(void) {
    uint64_t number;
    PROF_BEGIN("from");
    number = prof_flow(0);
    PROF_END();
    PROF_BEGIN("to");
    (void)prof_flow(number);
    PROF_END();
}

static void carried(void) {
    static const int64_t dims[] = { 2, 3 };
    const prof_shape inputs[] = { { dims, NULL, 2 }, { dims, NULL, 2 } };
    prof_module_push("module");
    PROF_BEGIN("aten::mul");
    prof_set_shapes(inputs, NULL, 2);
    prof_set_arg("key", "value");
    prof_set_sequence(3, 0, 0);
    PROF_END();
    prof_module_pop();
    zones();
}

static void all_and_many(void) {
    flows();
    moments();
    ranges();
    carried();
    many();
}

static void allocated(void) {
    const prof_device cpu = { PROF_DEVICE_CPU, 0 }, gpu = { PROF_DEVICE_CUDA, 0 };
    zones();
    prof_memory_alloc(memory, 100, cpu);
    prof_memory_alloc(small, 50, gpu);
    prof_memory_free(memory, cpu);
}

static void submit_call(void) {
    prof_event e;
    prof_extra x;
    memset(&e, 0, sizeof e);
    memset(&x, 0, sizeof x);
    e.name = "cudaLaunchKernel";
    e.start_ns = 1000;
    e.end_ns = 2000;
    e.extra = &x;
    x.has = PROF_HAS_ID;
    x.id = 7;
    x.activity_type = "cuda_runtime";
    EQUAL(prof_submit(&e, 1), PROF_OK);
    e.name = "kernel";
    e.end_ns = 5000;
    e.device_type = PROF_DEVICE_CUDA;
    x.has = PROF_HAS_LINK;
    x.linked_correlation_id = 7;
    x.activity_type = "kernel";
    EQUAL(prof_submit(&e, 1), PROF_OK);
}

static void submitted(void) {
    zones();
    submit_call();
}

static void memory_submitted(void) {
    prof_memory_change change;
    memset(&change, 0, sizeof change);
    zones();
    change.ns = 3000;
    change.address = 64;
    change.bytes = 100;
    EQUAL(prof_submit_memory(&change, 1), PROF_OK);
}

static void stepped(void) {
    zones();
    prof_step();
    zones();
}

static unsigned seen;

static void see(void *user, const char *name) {
    (void)user;
    seen += (unsigned)name[0];
}

static void see_end(void *user, const char *name) {
    (void)user;
    seen = 31 * seen + (unsigned)name[0];
}

/* What an observer saw is a counter's value. */
static prof_desc observed(void) {
    prof_observer observer;
    memset(&observer, 0, sizeof observer);
    observer.begin = see;
    observer.end = see_end;
    if (prof_add_observer(&observer) != PROF_OK) test_bad = 1;
    return plain();
}

static const char *status(void *user) {
    (void)user;
    return "half of it was lost";
}

static size_t device_metadata(void *user, char *buf, size_t size) {
    static const char text[] = "\"deviceProperties\": []";
    (void)user;
    if (size >= sizeof text) memcpy(buf, text, sizeof text);
    return sizeof text - 1;
}

static prof_result start_device(void *user) {
    (void)user;
    seen++;
    return PROF_OK;
}

static void submit_late(void *user) {
    (void)user;
    submit_call();
}

static prof_desc with_device(void) {
    prof_device_desc device;
    memset(&device, 0, sizeof device);
    device.name = "Chip";
    device.activity = PROF_ACTIVITY_CUDA;
    device.type = PROF_DEVICE_CUDA;
    device.start = start_device;
    device.status = status;
    device.metadata = device_metadata;
    device.late = submit_late;
    if (prof_add_device(&device) != PROF_OK) test_bad = 1;
    return plain();
}

static void seen_zones(void) {
    zones();
    prof_counter("seen", seen);
}

static const struct { const char *name; prof_desc (*desc)(void); void (*record)(void); } cases[] = {
    { "zones", plain, zones }, { "moments", plain, moments }, { "ranges", plain, ranges },
    { "flows", plain, flows }, { "carried", plain, carried }, { "shapes", shapes, carried },
    { "memory", allocations, allocated }, { "submitted", plain, submitted },
    { "submitted memory", allocations, memory_submitted },
    { "sums", sums, zones }, { "full", full, many },
    { "full, all", full, all_and_many }, { "steps", steps, stepped },
    { "own steps", own_steps, stepped }, { "metadata", plain, metadata },
    { "observed", observed, seen_zones }, { "device", with_device, seen_zones },
    { "full, moments", full, full_of_moments }
};
enum { CASES = sizeof cases / sizeof *cases };

static void run(int number, int writer, test_text *text) {
    prof_desc desc = cases[number].desc();
    prof_trace *trace;
    test_time.tick = 1000;
    EQUAL(prof_start(&desc), PROF_OK);
    cases[number].record();
    trace = prof_stop();
    (void)test_write(trace, writer, text);   /* whatever it says, it says it both times */
}

static void link_all(void) {
    prof__link_stream();
    prof__link_sums();
    prof__link_flops();
    prof__link_hooks();
    prof__link_beside();
    prof__link_lists();
    prof__link_shares();
    prof__link_events();
    prof__link_legacy();
    prof__link_marks();
}

/* What a process writes of this case, with what it asks for linked alone, or with everything. */
static void in_child(int number, int writer, bool all, test_text *text) {
    char part[4096];
    ssize_t got;
    int ends[2], status;
    pid_t child;
    CHECK(pipe(ends) == 0, "pipe");
    child = fork();
    if (!child) {
        if (all) link_all();
        run(number, writer, text);
        for (size_t at = 0; at < text->size; at += (size_t)got)
            if ((got = write(ends[1], text->data + at, text->size - at)) <= 0) _exit(2);
        _exit(test_bad);
    }
    close(ends[1]);
    test_text_write(text, "", 0);
    while ((got = read(ends[0], part, sizeof part)) > 0) test_text_write(text, part, (size_t)got);
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%s, writer %d, %s: status %x",
          cases[number].name, writer, all ? "all linked" : "as asked", (unsigned)status);
}

static void test_linked_when_asked(void) {
    for (int i = 0; i < CASES; i++)
        for (int writer = 0; writer < TEST_WRITERS; writer++) {
            test_text alone = { NULL, 0, 0, 0, 0 }, after = { NULL, 0, 0, 0, 0 };
            in_child(i, writer, false, &alone);
            in_child(i, writer, true, &after);
            CHECK(alone.size == after.size && memcmp(alone.data, after.data, alone.size) == 0,
                  "%s, writer %d: %zu bytes, %zu with all linked", cases[i].name, writer,
                  alone.size, after.size);
            test_text_clear(&alone);
            test_text_clear(&after);
        }
}
#endif

int main(void) {
#if !defined(_WIN32)
    RUN(test_linked_when_asked);
#endif
    return test_end();
}
