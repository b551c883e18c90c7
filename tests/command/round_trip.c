/* Programs of every kind, each saved as a trace beside what the library itself says of it: for
   tests/command/test_prof_round.sh, which holds `prof report` of the trace against that.

       round_trip FOLDER SEEDS [FIRST]

   writes NAME.json, the trace, and NAME.GROUPING.live, its rows; and prints `NAME GROUPING` for
   each pair. The programs of a seed are random, under a clock set by hand. */
#include "../test.h"
#include "../../prof_cuda.h"
#include "../cuda/fake_cupti.h"

#include <pthread.h>

/* What a row is grouped by: the words are the options of prof report. */
static const struct { const char *name; prof_averages_desc by; } groupings[] = {
    { "name", { false, false, 0, false, false } }, { "shape", { true, false, 0, false, false } },
    { "overload", { false, true, 0, false, false } },
    { "stack1", { false, false, 1, false, false } },
    { "stack3", { false, false, 3, false, false } },
    { "site", { false, false, 0, false, true } }, { "all", { true, true, 100, false, true } }
};
enum { ALL = sizeof groupings / sizeof *groupings - 1 };

static const char *folder;

static void must(int good, const char *what, const char *name) {
    if (good) return;
    fprintf(stderr, "round_trip: %s of %s\n", what, name);
    exit(1);
}

static void save_text(const char *name, const char *ending, const test_text *text) {
    char path[512];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    file = fopen(path, "wb");
    must(file && fwrite(text->data, 1, text->size, file) == text->size && !fclose(file), "file",
         path);
}

static void save_rows(const prof_trace *trace, const char *name, prof_table_desc *desc,
                      const char *ending) {
    test_text text;
    memset(&text, 0, sizeof text);
    desc->row_limit = UINT32_MAX;
    test_text_write(&text, "", 0);
    must(prof_write_table(trace, desc, test_text_sink(&text)) == PROF_OK, "table", name);
    save_text(name, ending, &text);
    test_text_clear(&text);
}

static void save_stacks(const prof_trace *trace, const char *name) {
    test_text text;
    memset(&text, 0, sizeof text);
    test_text_write(&text, "", 0);
    must(prof_write_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)) == PROF_OK, "stacks",
         name);
    save_text(name, "stacks.live", &text);
    text.size = 0;
    must(test_write(trace, TEST_EVENT_STACKS, &text) == PROF_OK, "event stacks", name);
    save_text(name, "frames.live", &text);
    test_text_clear(&text);
}

static void save_array(const prof_trace *trace, const char *name) {
    prof_chrome_desc array = { PROF_CHROME_ARRAY, PROF_CHROME_SOURCE_AUTO };
    test_text text;
    memset(&text, 0, sizeof text);
    must(prof_write_chrome(trace, &array, test_text_sink(&text)) == PROF_OK, "array", name);
    save_text(name, "array.json", &text);
    test_text_clear(&text);
}

/* What the session itself writes, where it does: a raw stream. */
static void save_raw(const char *name) {
    test_text text;
    memset(&text, 0, sizeof text);
    if (prof_dump(test_text_sink(&text)) == PROF_OK) save_text(name, "raw", &text);
    test_text_clear(&text);
}

static void save(const prof_trace *trace, const char *name) {
    prof_table_desc desc;
    char path[512];
    size_t i;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    must(trace && prof_save_chrome(trace, path) == PROF_OK, "trace", name);
    for (i = 0; i < sizeof groupings / sizeof *groupings; i++) {
        memset(&desc, 0, sizeof desc);
        desc.averages = &groupings[i].by;
        desc.format = PROF_FORMAT_JSON;
        snprintf(path, sizeof path, "%s.live", groupings[i].name);
        save_rows(trace, name, &desc, path);
        printf("%s %s\n", name, groupings[i].name);
    }
    memset(&desc, 0, sizeof desc);
    desc.averages = &groupings[ALL].by;
    desc.sort_by = PROF_METRIC_SELF_CPU_TIME_TOTAL;
    desc.hide_notes = true;
    save_rows(trace, name, &desc, "text.live");
    desc.averages = &groupings[0].by;
    desc.sort_by = PROF_METRIC_NONE;
    desc.top_level_events_only = true;
    desc.format = PROF_FORMAT_JSON;
    save_rows(trace, name, &desc, "top.live");
    save_stacks(trace, name);
    save_array(trace, name);
    save_raw(name);
}

/* ---- Programs made by hand ---- */

static void tick(uint64_t ns) { test_time.tick += ns; }

static void start(prof_desc desc) {
    prof_result result = prof_start(&desc);
    must(result == PROF_OK, "start", prof_strerror(result));
}

static void end_as(const char *name) {
    save(prof_stop(), name);
    prof_thread_end();
}

static void zone(const char *name, uint64_t ns) {
    prof_push(name);
    tick(ns);
    prof_pop();
}

/* Zones that a step's border cuts; steps of no length. */
static void steps(bool coarse, const char *name) {
    prof_desc desc = test_desc();
    int i;
    desc.schedule.active = 6;
    desc.schedule.repeat = 1;
    start(desc);
    for (i = 0; i < 5; i++) {
        prof_push(i == 2 ? "across" : "step");
        tick(coarse ? 0 : 5);
        zone("inner", coarse ? (uint64_t)i % 2 : 7);
        if (i != 2) prof_pop();
        prof_step();
        if (i == 3) prof_pop();
        zone("behind", 3);
    }
    end_as(name);
}

/* Zones that are too deep for the timeline. */
static void steps_in_sums(void) {
    prof_desc desc = test_desc();
    int i;
    desc.max_depth = 2;
    start(desc);
    for (i = 0; i < 5; i++) {
        prof_push("outer");
        zone("inner", 2);
        prof_push("inner");
        zone("inner", 3);
        prof_pop();
        prof_pop();
    }
    end_as("steps_in_sums");
}

/* Many calls within one tick, with memory. */
static void coarse_memory(void) {
    prof_desc desc = test_desc();
    static char blocks[64];
    prof_device host = { 0, 0 };
    int i;
    desc.profile_memory = true;
    start(desc);
    for (i = 0; i < 12; i++) {
        prof_push("outer");
        prof_push("makes");
        prof_memory_alloc(blocks + i, 64, host);
        if (i % 4 == 1) tick(10);
        prof_pop();
        prof_push("takes");
        if (i > 3) prof_memory_free(blocks + i - 3, host);
        prof_push("nothing");
        prof_pop();
        prof_pop();
        if (i % 3 == 0) tick(10);
        prof_memory_alloc(blocks + 32 + i, 16, host);
        prof_pop();
        prof_memory_free(blocks + i, host);
    }
    end_as("coarse_memory");
}

/* Zones alone: one of no length ends with the zone around it, when the next one begins. */
static void coarse_zones(void) {
    int i;
    start(test_desc());
    for (i = 0; i < 5; i++) {
        prof_push("first");
        tick(2);
        zone("nothing", 0);
        prof_pop();
        prof_push("second");
        tick(3);
        zone("inner", 3);
        prof_pop();
    }
    end_as("coarse_zones");
}

/* Memory that an earlier window allocated: the balance is negative. */
static void memory_below(void) {
    prof_desc desc = test_desc();
    static char block[4];
    prof_device host = { 0, 0 }, cuda = { PROF_DEVICE_CUDA, 1 };
    desc.profile_memory = true;
    start(desc);
    prof_memory_alloc(block, 100, host);
    tick(1);
    prof_push("releases");
    tick(1);
    prof_memory_free(block, host);
    prof_memory_alloc(block + 1, 7, cuda);
    tick(1);
    prof_pop();
    prof_memory_free(block + 1, cuda);
    prof_memory_alloc(NULL, 1u << 30, host);
    zone("last", 4);
    end_as("memory_below");
}

/* The second thread's device was the first whose memory changed: it names the columns. */
static void memories(void) {
    prof_desc desc = test_desc();
    static char block[2];
    prof_device cuda = { PROF_DEVICE_CUDA, 0 }, xpu = { PROF_DEVICE_XPU, 0 };
    void *first;
    desc.profile_memory = true;
    start(desc);
    zone("first", 1);
    first = prof_context_switch(NULL);
    prof_push("outer");
    prof_push("inner");
    prof_memory_alloc(block, 100, xpu);
    tick(1);
    prof_pop();
    prof_pop();
    (void)prof_context_switch(first);
    prof_push("last");
    prof_memory_alloc(block + 1, 50, cuda);
    tick(1);
    prof_pop();
    end_as("memories");
}

static void ranges(void) {
    prof_desc desc = test_desc();
    prof_async first, second;
    start(desc);
    first = prof_async_begin("future");
    tick(5);
    prof_push("work");
    second = prof_async_begin("future");
    tick(5);
    prof_async_end(first);
    prof_instant("moment");
    prof_counter("queue", 3);
    prof_pop();
    tick(2);
    zone("future", 9);
    prof_async_end(first);                                /* counts no more */
    prof_async_end(second);
    end_as("ranges");
}

static void open_at_the_end(void) {
    prof_desc desc = test_desc();
    desc.record_shapes = true;
    start(desc);
    prof_push("left open");
    tick(3);
    prof_push("with overload");
    set_overload("out");
    tick(4);
    zone("whole", 5);
    prof_push("as long as what lies in it");
    zone("lies in it", 5000);
    end_as("open_at_the_end");
}

static void take_turns(void) {
    void *first;
    prof_push("outer");
    zone("as long", 5000);
    (void)prof_flush();
    first = prof_context_switch(NULL);
    zone("between", 0);
    (void)prof_flush();
    (void)prof_context_switch(first);
    prof_pop();
}

/* A zone that begins and ends with the one in it; another thread's between them in the stream. */
static void turns(void) {
    prof_desc desc = test_desc();
    test_text text;
    start(desc);
    take_turns();
    end_as("turns");
    memset(&text, 0, sizeof text);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = test_text_sink(&text);
    start(desc);
    take_turns();
    (void)prof_stop();
    prof_thread_end();
    save_text("turns", "raw", &text);
    test_text_clear(&text);
}

static void modules(void) {
    prof_desc desc = test_desc();
    desc.with_modules = true;
    desc.with_stack = PROF_STACK_ZONES;
    start(desc);
    prof_module_push("model");
    prof_push("begins within");
    tick(2);
    prof_module_push("layer");
    zone("deeper", 3);
    prof_module_pop();
    prof_module_pop();
    tick(2);
    prof_pop();
    zone("behind", 2);
    end_as("modules");
}

static void odd_names(void) {
    prof_desc desc = test_desc();
    static char longest[4000];
    const char *stack[2];
    size_t i;
    memset(longest, 'n', sizeof longest - 1);
    start(desc);
    stack[1] = "main.c(3): main";
    for (i = 0; i < TEST_ODD_NAMES; i++) {
        size_t k = 0;
        while (test_odd_names[i][k] && (unsigned char)test_odd_names[i][k] < 0xc0) k++;
        if ((unsigned char)test_odd_names[i][k] >= 0xc0 && i != 12) continue;   /* no UTF-8 */
        prof_push(test_odd_names[i]);
        set_overload(test_odd_names[i]);
        stack[0] = test_odd_names[i];
        if (!strchr(stack[0], ';') && *stack[0]) set_stack(stack, 2);
        tick(1000 + i);
        prof_pop();
    }
    zone(longest, 5000);
    zone("ProfilerStepper", 500);
    end_as("odd_names");
}

/* Windows that are saved while the session goes on. */
static void save_window(void *user, prof_trace *trace) {
    static int count;
    char name[32];
    snprintf(name, sizeof name, "%s%d", (const char *)user, ++count);
    save(trace, name);
}

static void windows(bool acc_events) {
    prof_desc desc = test_desc();
    int i;
    desc.schedule.wait = desc.schedule.warmup = 1;
    desc.schedule.active = 2;
    desc.schedule.repeat = 2;
    desc.on_trace_ready = save_window;
    desc.user = acc_events ? (void *)"windows_acc" : (void *)"windows";
    desc.acc_events = acc_events;
    desc.record_shapes = true;
    desc.with_stack = PROF_STACK_ZONES;
    test_time.step = 3;
    start(desc);
    for (i = 0; i < 8; i++) {
        prof_push("step");
        zone("inner", 10);
        prof_instant("moment");
        prof_pop();
        prof_step();
    }
    prof_stop();
    prof_thread_end();
}

/* The last zones only: what was within some is lost. */
static void ring(void) {
    static char memory[1 << 16];
    prof_desc desc = test_desc();
    int i, k;
    desc.mode = PROF_MODE_RING;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    start(desc);
    prof_push("around");
    for (i = 0; i < 40; i++) {
        prof_push("outer");
        for (k = 0; k < 60; k++) zone("inner", (uint64_t)k % 3);
        prof_pop();
    }
    prof_pop();
    end_as("ring");
}

/* The arena is full soon: the rest is in sums, with what was open then. */
static void full(bool aggregate, const char *name) {
    static char memory[1 << 19];
    static char names[40][8];
    prof_desc desc = test_desc();
    int i, k;
    desc.mode = aggregate ? PROF_MODE_AGGREGATE : PROF_MODE_TRACE;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 2;
    start(desc);
    prof_push("around");
    for (i = 0; i < 24000; i++) {
        snprintf(names[i % 40], sizeof names[0], "n%d", i % (1 + i / 600));
        prof_push(names[i % 40]);
        tick((uint64_t)i % 7);
        for (k = 0; k < i % 4; k++) zone("inner", (uint64_t)k * 3);
        prof_pop();
        if (i % 6000 == 3000) prof_push("left open");
        if (i % 3 == 0) PROF_BLOCK("inner") { tick(1); }
        if (i % 5 == 0) PROF_BLOCK("inner") { tick(2); }
        if (i % 7 == 0) PROF_BLOCK("once") { tick(2); }
        if (i % 8 == 0) PROF_BLOCK("twice") { PROF_BLOCK("twice") { tick(3); } }
    }
    prof_pop();
    end_as(name);
}

static void real_stack(prof_stack how, const char *name) {
    prof_desc desc;
    prof_trace *trace;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.with_stack = how;
    if (prof_start(&desc) != PROF_OK) return;
    for (i = 0; i < 20; i++) {
        PROF_BLOCK("outer") { PROF_BLOCK("inner") { test_random(3); } }
        PROF_BLOCK("inner") { test_random(3); }
    }
    trace = prof_stop();
    if (trace) save(trace, name);
    prof_thread_end();
}

static void counters(void) {
    prof_desc desc;
    prof_trace *trace;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.hw_counters = "task-clock,page-faults";
    desc.record_shapes = true;
    if (prof_start(&desc) != PROF_OK) return;
    for (i = 0; i < 20; i++) {
        PROF_BLOCK("outer") { PROF_BLOCK("inner") { test_random(3); } test_random(3); }
        PROF_BLOCK("inner") { PROF_BLOCK("inner") { test_random(3); } }
    }
    trace = prof_stop();
    if (trace) save(trace, "counters");
    prof_thread_end();
}

static void *thread_work(void *unused) {
    int i;
    (void)unused;
    prof_set_thread_name("worker \"two\"");
    for (i = 0; i < 100; i++) {
        PROF_BLOCK("work") { PROF_BLOCK("part") { } prof_instant("half"); PROF_BLOCK("part") { } }
        prof_push("by name");
        prof_pop();
    }
    prof_thread_end();
    return NULL;
}

/* The clock of the machine, and threads at once. */
static void threads(void) {
    pthread_t list[4];
    int i;
    must(prof_start(NULL) == PROF_OK, "start", "threads");
    for (i = 0; i < 4; i++)
        must(!pthread_create(list + i, NULL, thread_work, NULL), "thread", "threads");
    for (i = 0; i < 4; i++) pthread_join(list[i], NULL);
    save(prof_stop(), "threads");
    prof_thread_end();
}

/* Work of a CUPTI of our own, in zones, annotations and steps. */
static void cuda(void) {
    prof_cuda_desc cupti;
    prof_desc desc;
    int i;
    memset(&cupti, 0, sizeof cupti);
    memset(&desc, 0, sizeof desc);
    fake_reset();
    fake.call_ns = 500;
    fake.nested_driver = true;
    cupti.symbol = fake_symbol;
    desc.profile_memory = true;
    must(prof_cuda_init(&cupti) == PROF_OK, "CUPTI", "cuda");
    start(desc);
    for (i = 0; i < 30; i++) {
        PROF_BLOCK("forward") {
            if (i % 3) set_annotation();
            fake_launch("_Z6vecAddPfS_S_i", 1, 700);
            PROF_BLOCK("inner") { fake_launch("k", 1 + (uint32_t)i % 2, 300); }
        }
        fake_launch("k", 2, 100);
    }
    save(prof_stop(), "cuda");
    prof_cuda_shutdown();
    prof_thread_end();
}

/* ---- Programs by seed ---- */

enum { CONTEXTS = 3, LEVELS = 6, BLOCKS = 16, RANGES = 4 };

/* What runs: contexts take turns on one thread. */
static struct {
    void *saved[CONTEXTS];
    uint32_t at, depth[CONTEXTS], modules[CONTEXTS];
    char blocks[BLOCKS];
    prof_async ranges[RANGES];
    bool coarse, streamed;               /* streamed: what a stream can carry */
    int64_t call_id;
    uint8_t device_type;                 /* 0: several, in turn */
} now;

static bool chance(uint32_t of_hundred) { return test_random(100) < of_hundred; }

static uint8_t device_type(void) {
    static const uint8_t types[] = { PROF_DEVICE_CUDA, PROF_DEVICE_HIP, PROF_DEVICE_PRIVATEUSE1 };
    return now.device_type ? now.device_type : types[test_random(3)];
}

static void time_passes(void) {
    if (now.coarse ? chance(25) : chance(95)) tick(now.coarse ? 10 : 1 + test_random(3000));
}

static void random_details(void) {
    static const int64_t dims[] = { 2, 3, 5, 8 };
    static const char *const stacks[] = { "a.c(1): inner", "b.c(2): middle", "c.c(3): outer",
                                          "d.c(4): main" };
    static const char *const overloads[] = { "Tensor", "out", "Scalar", "" };
    static const char *const concrete[] = { "", "1", "[2, \"x\"]" };
    static const char *const types[] = { "float", "double", "Scalar" };
    prof_shape shapes[3];
    uint32_t i, count = test_random(4);
    memset(shapes, 0, sizeof shapes);
    for (i = 0; i < count; i++) {
        shapes[i].dims = dims + test_random(2);
        shapes[i].count = 2;
    }
    if (count > 2) {                     /* a list of tensors */
        shapes[2].items = shapes;
        shapes[2].dims = NULL;
        shapes[2].count = test_random(3);
    }
    if (chance(40)) prof_set_shapes(shapes, chance(50) ? types : NULL, count);
    if (chance(10)) set_inputs(concrete, count, "{\"k\": [1, {\"y\": 2}]}");
    if (chance(20)) set_overload(overloads[test_random(4)]);
    if (chance(15)) set_flops(test_random(1000));
    if (chance(15)) set_stack(stacks + test_random(3), 1 + test_random(2));
    if (chance(10)) set_annotation();
    if (chance(10)) set_sequence(test_random(6), (uint8_t)test_random(2), prof_thread_id());
    if (chance(5)) prof_set_arg("Overload", "of my own; no overload");
    if (chance(5)) prof_set_arg_int("Bytes", -3);
    if (chance(5)) set_module("Net.layer1");
}

/* Of names with one place, with several, with calls that have none: see random_begin, random_op. */
static void begin_at_place(void) {
    switch (test_random(6)) {
#line 12 "dir/one.c"
    case 0: PROF_BEGIN("placed"); break;
    case 1: PROF_BEGIN("parse"); break;
    case 2: PROF_BEGIN("parse"); break;
#line 12 "two \"2\".c"
    case 3: PROF_BEGIN("parse"); break;
    case 4: PROF_BEGIN("aten::add"); break;
    default: PROF_BEGIN("outside"); break;
    }
}
#line 517 "round_trip.c"

static void random_begin(void) {
    static const char *const names[] = { "aten::mm", "aten::add", "f", "f", "g.h", "aten::conv2d" };
    if (now.depth[now.at] == LEVELS) return;
    if (chance(40)) begin_at_place();
    else prof_push(names[test_random(6)]);
    now.depth[now.at]++;
    random_details();
}

static void random_end(void) {
    if (!now.depth[now.at]) return;
    now.depth[now.at]--;
    prof_pop();
}

static void random_memory(void) {
    const uint8_t types[] = { 0, device_type() };
    uint32_t i = test_random(BLOCKS);
    prof_device device;
    device.type = types[i % 2];
    device.index = (int8_t)(i % 2);
    if (chance(60)) prof_memory_alloc(now.blocks + i, 1 + test_random(500), device);
    else prof_memory_free(now.blocks + i, device);
    if (chance(3)) prof_memory_alloc(NULL, 100, device);
}

/* Contexts keep what they have open. */
static void random_switch(void) {
    uint32_t to = test_random(CONTEXTS);
    if (to == now.at) return;
    now.saved[now.at] = prof_context_switch(now.saved[to]);
    now.at = to;
}

static void random_range(void) {
    uint32_t i = test_random(RANGES);
    if (now.ranges[i].id) {
        prof_async_end(now.ranges[i]);
        memset(now.ranges + i, 0, sizeof now.ranges[i]);
    } else {
        now.ranges[i] = prof_async_begin(chance(50) ? "future" : "f");
    }
}

/* A call of a device's library, or one in another, and work that it launched; or work without a
   call, launched in a zone or not. */
static void random_device(uint32_t thread) {
    prof_device device = { 0, 0 };
    prof_event events[3];
    prof_extra extras[3];
    int64_t from = prof_now();
    uint32_t n = 0;
    memset(events, 0, sizeof events);
    memset(extras, 0, sizeof extras);
    if (chance(70)) {
        time_passes();
        events[n].name = chance(50) ? "cudaLaunchKernel" : "cudaMemcpyAsync";
        events[n].start_ns = from;
        events[n].end_ns = prof_now();
        events[n].thread = thread;
        extras[n].activity_type = "cuda_runtime";
        extras[n].has = PROF_HAS_ID;
        extras[n].id = ++now.call_id;
        events[n].extra = extras + n;
        n++;
    }
    if (n && chance(30)) {
        events[n] = events[0];
        extras[n] = extras[0];
        events[n].name = "cuLaunchKernel";
        extras[n].activity_type = "cuda_driver";
        extras[n].id = ++now.call_id;
        events[n].extra = extras + n;
        n++;
    }
    events[n].name = chance(50) ? "void gemm<float>(int*, int)" : "Memcpy HtoD";
    events[n].device_type = device_type();
    events[n].start_ns = prof_now() + (int64_t)test_random(50);
    events[n].end_ns = events[n].start_ns + (int64_t)test_random(200);
    events[n].thread = thread;
    events[n].extra = extras + n;
    extras[n].activity_type = events[n].name[0] == 'M' ? "gpu_memcpy" : "kernel";
    extras[n].has = PROF_HAS_DEVICE_INDEX;
    extras[n].device_resource_id = 7 + test_random(2);
    if (n) {
        extras[n].has |= PROF_HAS_LINK;
        extras[n].linked_correlation_id = now.call_id;
    } else if (chance(80) && !now.streamed) {
        device.type = events[0].device_type;
        prof_launch_done(prof_launch(prof_queue(device, "queue"), events[0].name),
                         (uint64_t)events[0].start_ns, (uint64_t)events[0].end_ns);
        return;
    }
    prof_submit(events, n + 1);
}

/* An op from outside that lies in what is open, and says which device work is its own. */
static void random_op(uint32_t thread) {
    prof_event events[2];
    prof_extra extras[2];
    memset(events, 0, sizeof events);
    memset(extras, 0, sizeof extras);
    events[0].name = chance(50) ? "aten::mm" : "outside";
    events[0].start_ns = prof_now();
    time_passes();
    events[0].end_ns = prof_now();
    events[0].thread = thread;
    events[0].extra = extras;
    extras[0].has = PROF_HAS_ID;
    extras[0].id = 1000 + ++now.call_id;
    events[1].name = "void gemm<float>(int*, int)";
    events[1].device_type = device_type();
    events[1].start_ns = events[0].end_ns;
    events[1].end_ns = events[1].start_ns + (int64_t)test_random(200);
    events[1].thread = thread;
    events[1].extra = extras + 1;
    extras[1].has = PROF_HAS_LINK;
    extras[1].linked_correlation_id = extras[0].id;
    prof_submit(events, 1 + test_random(2));
}

static void random_turn(const prof_desc *desc, bool devices) {
    uint32_t what = test_random(100);
    time_passes();
    if (what < 35) random_begin();
    else if (what < 65) random_end();
    else if (what < 75) random_memory();
    else if (what < 78) random_range();
    else if (what < 80) prof_instant("moment");
    else if (what < 82) prof_counter("queue", (int64_t)test_random(9));
    else if (what < 85) random_switch();
    else if (what < 88 && desc->schedule.active) prof_step();
    else if (what < 90 && !now.modules[now.at]) prof_module_push("m"), now.modules[now.at]++;
    else if (what < 92 && now.modules[now.at]) prof_module_pop(), now.modules[now.at]--;
    else if (what < 95 && devices) random_device(now.at);
    else if (what < 97 && devices) random_op(now.at);
    else if (what < 98) prof_flow(prof_flow(0));
}

/* stream: one that it can carry, and its raw file. */
static void random_program(uint32_t seed, const char *of, test_text *stream) {
    prof_desc desc = test_desc();
    char name[32];
    bool devices;
    uint32_t i, n;
    memset(&now, 0, sizeof now);
    test_seed = seed * 2654435761u + 1;
    for (i = 0; i < 8; i++) test_random(2);
    now.coarse = chance(50);
    now.device_type = chance(80) ? PROF_DEVICE_CUDA
                    : chance(50) ? 0 : chance(50) ? PROF_DEVICE_XPU : PROF_DEVICE_MPS;
    desc.record_shapes = chance(70);
    desc.profile_memory = chance(70);
    desc.with_stack = chance(50) ? PROF_STACK_ZONES : PROF_STACK_NONE;
    desc.with_flops = chance(50);
    desc.with_modules = chance(50);
    (void)chance(25);                    /* for a field that is gone: so seeds mean the same */
    desc.schedule.active = chance(40) ? 1000 : 0;
    desc.schedule.repeat = desc.schedule.active ? 1 : 0;
    desc.acc_events = chance(10);
    if (chance(25)) (void)test_random(4);
    devices = chance(40);
    now.streamed = strcmp(of, "seed") != 0;
    if (now.streamed && devices) now.coarse = false;     /* which lies in which times must tell */
    if (now.streamed) {
        desc.with_stack = PROF_STACK_NONE;
        desc.with_modules = false;
        desc.schedule.active = desc.schedule.repeat = 0;
    }
    if (stream) {
        desc.mode = PROF_MODE_STREAM;
        desc.stream = test_text_sink(stream);
    }
    start(desc);
    n = 20 + test_random(400);
    for (i = 0; i < CONTEXTS && devices; i++) {  /* their threads are there when work names them */
        void *from = prof_context_switch(NULL);
        if (i) now.saved[i - 1] = from;
    }
    now.at = devices ? CONTEXTS - 1 : 0;
    for (; n--; random_turn(&desc, devices))
        if (chance(10) && stream) must(prof_flush() == PROF_OK, "flush", of);
    snprintf(name, sizeof name, "%s%u", of, (unsigned)seed);
    if (!stream) {
        end_as(name);
        return;
    }
    (void)prof_stop();
    save_text(name, "raw", stream);
    prof_thread_end();
}

/* Two threads have one id. The stream has the second one's zone between two of the first, which lie
   in each other. */
static uint32_t one_id(void *user) {
    (void)user;
    return 7;
}

static void *other_of_id(void *user) {
    (void)user;
    zone("other", 5);
    return NULL;
}

static void same_id(test_text *stream) {
    prof_desc desc = test_desc();
    pthread_t other;
    desc.platform.thread_id = one_id;
    if (stream) {
        desc.mode = PROF_MODE_STREAM;
        desc.stream = test_text_sink(stream);
    }
    start(desc);
    zone("first", 3);
    must(!pthread_create(&other, NULL, other_of_id, NULL), "thread", "stream_one_id");
    pthread_join(other, NULL);
    prof_push("outer");
    zone("inner", 9);
    tick(1);
    if (stream) must(prof_flush() == PROF_OK, "flush", "stream_one_id");
    prof_pop();
    if (!stream) {
        end_as("stream_one_id");
        return;
    }
    (void)prof_stop();
    save_text("stream_one_id", "raw", stream);
    prof_thread_end();
}

/* Once as a trace, which tells what the table is, once as a stream. */
static void random_stream(uint32_t seed) {
    test_text stream;
    memset(&stream, 0, sizeof stream);
    random_program(seed, "stream", NULL);
    random_program(seed, "stream", &stream);
    test_text_clear(&stream);
}

/* ---- The same zones, streamed, and in sums alone ---- */

static void random_zones(prof_desc desc, uint32_t seed) {
    static const char *const names[] = { "f", "f", "g", "g.h", "i" };
    uint32_t n;
    memset(&now, 0, sizeof now);
    test_seed = seed * 2654435761u + 3;
    for (n = 0; n < 8; n++) test_random(2);
    now.coarse = chance(70);
    test_time.tick = 1000;
    start(desc);
    for (n = 20 + test_random(300); n--;) {
        uint32_t what = test_random(100);
        time_passes();
        if (what >= 90) random_switch();
        else if (what >= 50) random_end();
        else if (now.depth[now.at] < LEVELS) {
            if (chance(30)) begin_at_place();
            else prof_push(names[test_random(5)]);
            now.depth[now.at]++;
        }
    }
}

/* Zones that are open then are streamed last, behind what ended with them: none did. */
static const prof_trace *zones_end(void) {
    tick(10);
    return prof_stop();
}

static void save_stream(const prof_desc *from, uint32_t seed, const char *name, bool chrome) {
    prof_desc desc = *from;
    test_text text;
    memset(&text, 0, sizeof text);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = test_text_sink(&text);
    desc.stream_format = chrome ? PROF_STREAM_CHROME : PROF_STREAM_RAW;
    random_zones(desc, seed);
    (void)zones_end();
    prof_thread_end();
    save_text(name, "json", &text);
    test_text_clear(&text);
    printf("%s name\n", name);
}

/* Row by row: the order is of another kind, and so are percentiles. */
static void compare_sums(const prof_desc *from, uint32_t seed, const prof_average *rows, size_t n) {
    static prof_average sums[64];
    prof_desc desc = *from;
    size_t i, j, m;
    desc.mode = PROF_MODE_AGGREGATE;
    random_zones(desc, seed);
    (void)zones_end();
    m = prof_snapshot(sums, 64);
    prof_thread_end();
    must(m == n, "rows in sums", "seed");
    for (i = 0; i < n; i++) {
        for (j = 0; j < m && strcmp(sums[j].key, rows[i].key) != 0;) j++;
        must(j < m && sums[j].count == rows[i].count &&
             sums[j].cpu_time_total_ns == rows[i].cpu_time_total_ns &&
             sums[j].self_cpu_time_total_ns == rows[i].self_cpu_time_total_ns &&
             sums[j].min_ns == rows[i].min_ns && sums[j].max_ns == rows[i].max_ns,
             "sums of a row", rows[i].key);
    }
}

static void random_streams(uint32_t seed) {
    static prof_average rows[64];
    static char keys[64][16];
    prof_desc desc = test_desc();
    prof_table_desc table;
    const prof_trace *trace;
    char raw[32], array[32];
    size_t i, n;
    snprintf(raw, sizeof raw, "raw%u", (unsigned)seed);
    snprintf(array, sizeof array, "chrome%u", (unsigned)seed);
    memset(&table, 0, sizeof table);
    table.averages = &groupings[0].by;
    table.format = PROF_FORMAT_JSON;
    random_zones(desc, seed);
    trace = zones_end();
    save_rows(trace, raw, &table, "name.live");
    save_rows(trace, array, &table, "name.live");
    n = prof_key_averages(trace, NULL, rows, 64);
    for (i = 0; i < n; i++) {            /* names are their session's */
        snprintf(keys[i], sizeof keys[i], "%s", rows[i].key);
        rows[i].key = keys[i];
    }
    prof_thread_end();
    compare_sums(&desc, seed, rows, n);
    save_stream(&desc, seed, raw, false);
    save_stream(&desc, seed, array, true);
}

/* ---- Programs by seed under a CUPTI of our own, by the machine's clock ---- */

static void random_launch(void) {
    static const char *const kernels[] = { "_Z6vecAddPfS_S_i", "k", "gemm", "" };
    static const char *const graph[] = { "k", "gemm", "k" };
    uint32_t what = test_random(12), stream = test_random(4);
    fake_device((int)test_random(2));
    if (what < 6) fake_launch(kernels[test_random(4)], stream, test_random(5000));
    else if (what < 7) fake_copy((int)(chance(50) ? 1 : 2), 1, 3, 4096, stream);
    else if (what < 8) fake_copy_peer(0, 1, 100, stream);
    else if (what < 9) fake_memset(64, stream);
    else if (what < 10) fake_graph(graph, 1 + test_random(3), stream);
    else if (what < 11) fake_runtime_call(chance(50) ? 20 : 31);
    else fake_alloc(4096 * (1 + test_random(4)), 512, chance(50));
}

static void random_cuda_turn(void) {
    uint32_t what = test_random(100);
    if (what < 30) random_begin();
    else if (what < 55) random_end();
    else if (what < 90) random_launch();
    else if (what < 94) random_memory();
    else if (what < 96) random_range();
    else if (what < 98) prof_instant("moment");
    else prof_step();
}

static void random_cuda(uint32_t seed) {
    prof_cuda_desc cupti;
    prof_desc desc;
    char name[32];
    uint32_t n;
    memset(&cupti, 0, sizeof cupti);
    memset(&desc, 0, sizeof desc);
    memset(&now, 0, sizeof now);
    test_seed = seed * 2654435761u + 7;
    for (n = 0; n < 8; n++) test_random(2);
    fake_reset();
    fake.devices = 2;
    fake.call_ns = chance(50) ? test_random(500) : 0;
    fake.latency_ns = test_random(4000);
    fake.nested_driver = chance(50);
    fake.by_driver = chance(25);
    fake.reverse = chance(25);
    fake.pinned = chance(25);
    cupti.symbol = fake_symbol;
    now.device_type = PROF_DEVICE_CUDA;
    desc.profile_memory = chance(50);
    desc.record_shapes = chance(50);
    desc.with_stack = chance(50) ? PROF_STACK_ZONES : PROF_STACK_NONE;
    desc.with_flops = chance(50);
    (void)chance(25);                    /* for a field that is gone: so seeds mean the same */
    desc.schedule.active = chance(50) ? 1000 : 0;
    desc.schedule.repeat = desc.schedule.active ? 1 : 0;
    must(prof_cuda_init(&cupti) == PROF_OK, "CUPTI", "seed");
    start(desc);
    for (n = 20 + test_random(300); n; n--) random_cuda_turn();
    snprintf(name, sizeof name, "cuda%u", (unsigned)seed);
    save(prof_stop(), name);
    prof_cuda_shutdown();
    prof_thread_end();
}

int main(int argc, char **argv) {
    uint32_t seeds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint32_t first = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1, i;
    test_text stream;
    folder = argc > 1 ? argv[1] : ".";
    memset(&stream, 0, sizeof stream);
    steps(false, "steps");
    steps(true, "steps_coarse");
    steps_in_sums();
    coarse_memory();
    coarse_zones();
    memory_below();
    memories();
    ranges();
    open_at_the_end();
    turns();
    modules();
    odd_names();
    windows(false);
    windows(true);
    ring();
    full(false, "full");
    full(true, "sums_alone");
    real_stack(PROF_STACK_FRAMES, "native_frames");
    real_stack(PROF_STACK_UNWIND, "native_unwind");
    counters();
    threads();
    for (i = 0; i < seeds; i += 2) random_streams(first + i);
    cuda();                              /* no Chrome stream carries what a device does */
    same_id(NULL);
    same_id(&stream);
    for (i = 0; i < seeds; i++) random_program(first + i, "seed", NULL);
    for (i = 0; i < seeds; i += 2) random_stream(first + i);
    for (i = 0; i < seeds; i += 5) random_cuda(first + i);
    return 0;
}
