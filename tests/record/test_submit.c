/* portable */
/* Events from outside: into an open session, and as traces of their own. */
#include "../test.h"

static prof_event event_at(const char *name, int64_t start, int64_t end, uint32_t thread) {
    prof_event e;
    memset(&e, 0, sizeof e);
    e.name = name;
    e.start_ns = start;
    e.end_ns = end;
    e.thread = thread;
    return e;
}

/* ---- Into a session ---- */

static void start_at_zero(void) {
    prof_desc desc = test_desc();
    if (prof_start(&desc) != PROF_OK) test_fail(__FILE__, __LINE__, "prof_start");
}

static void test_kernel_by_link(void) {
    prof_event e[2];
    prof_extra call, kernel;
    prof_kernel list[2];
    prof_trace *trace;
    const prof_event *zone;
    memset(&call, 0, sizeof call);
    memset(&kernel, 0, sizeof kernel);
    start_at_zero();
    test_time.tick = 100;
    PROF_BEGIN("gemm");
    e[0] = event_at("cudaLaunchKernel", 110, 150, 0);
    call.has = PROF_HAS_ID;
    call.id = 77;
    call.activity_type = "cuda_runtime";
    e[0].extra = &call;
    e[1] = event_at("sgemm", 200, 900, 0);
    kernel.has = PROF_HAS_LINK | PROF_HAS_DEVICE_INDEX;
    kernel.linked_correlation_id = 77;
    kernel.device_index = 3;
    kernel.activity_type = "kernel";
    e[1].device_type = PROF_DEVICE_CUDA;
    e[1].extra = &kernel;
    test_time.tick = 300;
    PROF_END();
    EQUAL(prof_submit(e, 2), PROF_OK);
    memset(e, 0xff, sizeof e);           /* all was copied */
    memset(&call, 0xff, sizeof call);
    memset(&kernel, 0xff, sizeof kernel);
    trace = prof_stop();
    zone = test_find(trace, "gemm", 0);
    CHECK(zone != NULL, "no zone");
    EQUAL(prof_event_kernels(trace, zone, list, 2), 1);
    SAME_TEXT(list[0].name, "sgemm");
    EQUAL(list[0].duration_ns, 700);
    EQUAL(list[0].device, 3);
    EQUAL(prof_event_total(trace, zone).device_time_total_ns, 700);
    EQUAL(prof_event_total(trace, zone).self_device_time_total_ns, 700);
    EQUAL(zone->self_cpu_time_total_ns, 160);
    EQUAL(test_find(trace, "cudaLaunchKernel", 0)->parent,
          zone - prof_events(trace, NULL, 0, NULL));
    EQUAL(prof_get_stats(trace).misplaced, 0);
}

/* A driver's call in the runtime's: work belongs to the zone around both. */
static void test_kernel_of_nested_calls(void) {
    prof_event e[3];
    prof_extra x[3];
    prof_trace *trace;
    int i;
    memset(x, 0, sizeof x);
    start_at_zero();
    test_time.tick = 100;
    PROF_BEGIN("gemm");
    e[0] = event_at("cudaLaunchKernel", 110, 150, 0);
    e[1] = event_at("cuLaunchKernel", 120, 140, 0);
    e[2] = event_at("sgemm", 200, 900, 0);
    for (i = 0; i < 3; i++) e[i].extra = x + i;
    x[0].activity_type = "cuda_runtime";
    x[1].activity_type = "cuda_driver";
    x[2].activity_type = "kernel";
    x[0].has = x[1].has = PROF_HAS_ID;
    x[0].id = 77;
    x[1].id = 78;
    x[2].has = PROF_HAS_LINK;
    x[2].linked_correlation_id = 78;
    e[2].device_type = PROF_DEVICE_CUDA;
    test_time.tick = 300;
    PROF_END();
    EQUAL(prof_submit(e, 3), PROF_OK);
    trace = prof_stop();
    EQUAL(prof_event_total(trace, test_find(trace, "gemm", 0)).self_device_time_total_ns, 700);
    EQUAL(prof_event_total(trace, test_find(trace, "cudaLaunchKernel", 0)).device_time_total_ns, 0);
}

static prof_event with_ids(const char *type, int64_t start, int64_t id, int64_t link,
                           prof_extra *x) {
    prof_event e = event_at(type, start, start + 10, 0);
    memset(x, 0, sizeof *x);
    x->has = PROF_HAS_ID | (link ? PROF_HAS_LINK : 0);
    x->id = id;
    x->linked_correlation_id = link;
    x->activity_type = type;
    e.extra = x;
    if (strcmp(type, "kernel") == 0) e.device_type = PROF_DEVICE_CUDA;
    return e;
}

/* As in Kineto: calls and work name the op that they are of, and one op has another call's id. Each
   arrow goes from the call with the id of the work. */
static void test_kernel_of_ops_call(void) {
    prof_event e[6];
    prof_extra x[6];
    test_text text;
    memset(&text, 0, sizeof text);
    start_at_zero();
    PROF_BLOCK("zone") {}
    e[0] = with_ids("cpu_op", 0, 5, 0, x);
    e[1] = with_ids("cuda_runtime", 1, 7, 5, x + 1);
    e[2] = with_ids("kernel", 100, 7, 5, x + 2);
    e[3] = with_ids("cpu_op", 20, 7, 0, x + 3);
    e[4] = with_ids("cuda_runtime", 21, 5, 7, x + 4);
    e[5] = with_ids("kernel", 200, 5, 7, x + 5);
    EQUAL(prof_submit(e, 6), PROF_OK);
    EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
    CHECK(test_times(text.data, "\"ac2g\",\"name\"") == 4, "%s", text.data);
    CHECK(strstr(text.data, "\"ts\":0.001,\"id\":7}"), "%s", text.data);
    CHECK(strstr(text.data, "\"ts\":0.100,\"id\":7,"), "%s", text.data);
    CHECK(strstr(text.data, "\"ts\":0.200,\"id\":5,"), "%s", text.data);
    test_text_clear(&text);
}

/* What covers a zone is its parent, what lies in one is its child; a zone is never torn from the
   zone around it. */
static void test_among_zones(void) {
    prof_event e[4];
    prof_trace *trace;
    const prof_event *events;
    start_at_zero();
    test_time.tick = 50;
    PROF_BEGIN("zone");
    test_time.tick = 120;
    PROF_BEGIN("leaf");
    test_time.tick = 130;
    PROF_END();
    test_time.tick = 150;
    PROF_END();
    test_time.tick = 160;
    PROF_BLOCK("last") test_time.tick = 170;
    e[0] = event_at("step 1", 0, 100, 0);
    e[1] = event_at("step 2", 100, 200, 0);
    e[2] = event_at("call", 110, 140, 0);
    e[3] = event_at("deep", 121, 122, 0);
    EQUAL(prof_submit(e, 4), PROF_OK);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, NULL);
    EQUAL(test_find(trace, "zone", 0)->parent, PROF_NONE);
    SAME_TEXT(events[test_find(trace, "last", 0)->parent].name, "step 2");
    SAME_TEXT(events[test_find(trace, "leaf", 0)->parent].name, "zone");
    SAME_TEXT(events[test_find(trace, "deep", 0)->parent].name, "leaf");
    EQUAL(prof_get_stats(trace).misplaced, 2);
}

/* Zones of the program's own count as they are. */
static void test_recursion(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    size_t count;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("f") {
        test_time.tick += 1;
        PROF_BLOCK("f") {
            test_time.tick += 2;
            PROF_BLOCK("g") test_time.tick += 4;
        }
    }
    trace = prof_stop();
    prof_events(trace, NULL, 0, &count);
    EQUAL(count, 3);
    EQUAL(test_find(trace, "f", 0)->self_cpu_time_total_ns, 1);
    PASS_ON(test_tree(trace));
}

/* A count beside a list that is NULL; 3: a kernel, which to a session is an event of its own. */
static prof_extra counts_nothing(int which) {
    static const prof_kernel kernel = { "k", 5, 0 };
    prof_extra x;
    memset(&x, 0, sizeof x);
    if (which == 0) x.stack_count = 1;
    if (which == 1) x.kernel_count = 2;
    if (which == 2) x.tensor_count = 3;
    if (which == 3) x.kernels = &kernel;
    if (which == 3) x.kernel_count = 1;
    return x;
}

/* A stream refuses, and counts, the same. */
static void test_submit_refused_streamed(void) {
    prof_desc desc = test_desc();
    test_text text;
    prof_event e;
    memset(&text, 0, sizeof text);
    desc.mode = PROF_MODE_STREAM;
    desc.stream_format = PROF_STREAM_RAW;
    desc.stream = test_text_sink(&text);
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_submit_thread(4711, "gpu"), 0);
    for (int i = 0; i < 4; i++) {
        prof_extra x = counts_nothing(i);
        e = event_at("counts", 1, 2, 0);
        e.extra = &x;
        EQUAL(prof_submit(&e, 1), PROF_ERROR_INVALID);
    }
    e.extra = NULL;
    EQUAL(prof_submit(&e, 1), PROF_OK);
    EQUAL(prof_get_stats(prof_stop()).rejected, 4);
    test_text_clear(&text);
}

/* Work of an earlier window, by this one's clock (V2), is counted, and in neither table nor trace.
   Devices' times may be early, where a link says whose they are. */
static void test_submit_of_another_window(void) {
    static const struct {
        uint32_t has;
        int64_t start, end;
        prof_result result;
    } cases[] = {
        { 0, -30, -1, PROF_ERROR_INVALID }, { 0, -30, 0, PROF_OK },
        { PROF_HAS_LINK, -30, -1, PROF_OK }
    };
    for (int streams = 0; streams < 2; streams++) {
        prof_desc desc = test_desc();
        test_text text;
        memset(&text, 0, sizeof text);
        desc.mode = streams ? PROF_MODE_STREAM : PROF_MODE_TRACE;
        desc.stream_format = PROF_STREAM_RAW;
        if (streams) desc.stream = test_text_sink(&text);
        EQUAL(prof_start(&desc), PROF_OK);
        EQUAL(prof_submit_thread(4711, "gpu"), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            prof_event e = event_at("work", cases[i].start, cases[i].end, 0);
            prof_extra x;
            memset(&x, 0, sizeof x);
            x.has = cases[i].has;
            e.extra = &x;
            CHECK(prof_submit(&e, 1) == cases[i].result, "case %u", (unsigned)i);
        }
        EQUAL(prof_get_stats(prof_stop()).rejected, 1);
        test_text_clear(&text);
    }
}

/* A thread that events named before its first zone is that thread (A33), also by its OS id. */
static void test_submit_thread_first(void) {
    for (int os = 0; os < 2; os++) {
        uint64_t id = prof_thread_id();
        const prof_device gpu = { PROF_DEVICE_CUDA, 0 };
        prof_trace *trace;
        size_t count;
        uint32_t thread;
        prof_desc desc;
        memset(&desc, 0, sizeof desc);
        EQUAL(prof_start(&desc), PROF_OK);
        thread = os ? prof_submit_os_thread(id, NULL) : prof_submit_thread(id, "early");
        prof_push("op");
        EQUAL(prof_launch_done(prof_launch(prof_queue(gpu, NULL), "kernel"), 1, 2), PROF_OK);
        prof_pop();
        EQUAL(prof_submit_os_thread(id, NULL), thread);
        trace = prof_stop();
        EQUAL(prof_threads(trace, &count)[0].id, id);
        EQUAL(count, 1);
        EQUAL(prof_event_total(trace, test_find(trace, "op", 0)).device_time_total_ns, 1);
    }
}

/* What desc.activities leave out is not taken, and counted (A37). */
static void test_submit_not_asked(void) {
    static const uint8_t types[] = { PROF_DEVICE_CUDA, PROF_DEVICE_HIP, PROF_DEVICE_XPU,
                                     PROF_DEVICE_CPU, PROF_DEVICE_OPENCL };
    for (int all = 0; all < 2; all++) {
        prof_desc desc;
        prof_trace *trace;
        size_t count;
        memset(&desc, 0, sizeof desc);
        desc.activities = all ? 0 : PROF_ACTIVITY_CPU;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 5; i++) {
            prof_event e = event_at("e", 1, 2, prof_submit_thread(7, NULL));
            e.device_type = types[i];
            EQUAL(prof_submit(&e, 1), PROF_OK);
        }
        trace = prof_stop();
        (void)prof_events(trace, NULL, 0, &count);
        EQUAL(count, all ? 5 : 2);
        EQUAL(prof_get_stats(trace).not_kept, all ? 0 : 3);
    }
}

/* prof_toggle stops submitted work as it stops zones (A37). */
static void test_submit_toggled(void) {
    prof_trace *trace;
    size_t count;
    start_at_zero();
    for (int i = 0; i < 3; i++) {
        prof_event e = event_at("e", 1, 2, prof_submit_thread(7, NULL));
        e.device_type = PROF_DEVICE_CUDA;
        EQUAL(prof_toggle(PROF_ACTIVITY_CUDA | PROF_ACTIVITY_XPU, i != 1), PROF_OK);
        EQUAL(prof_submit(&e, 1), PROF_OK);
    }
    trace = prof_stop();
    (void)prof_events(trace, NULL, 0, &count);
    EQUAL(count, 2);
    EQUAL(prof_get_stats(trace).not_kept, 1);
}

/* A link counts without its bit, as 0 is none; in a session of devices alone none is missed. */
static void test_submit_links(void) {
    static int user;
    for (int i = 0; i < 4; i++) {
        prof_desc desc = test_desc();
        const bool cpu = i < 2;
        prof_device_desc d;
        prof_event e[2] = { event_at("cudaLaunchKernel", 110, 150, 0), event_at("k", 200, 900, 0) };
        prof_extra x[2];
        prof_trace *trace;
        memset(x, 0, sizeof x);
        x[0].has = PROF_HAS_ID;
        x[0].id = 77;
        x[0].activity_type = "cuda_runtime";
        x[1].linked_correlation_id = i & 1 ? 78 : 77;
        e[0].extra = x;
        e[1].extra = x + 1;
        e[1].device_type = PROF_DEVICE_CUDA;
        memset(&d, 0, sizeof d);
        d.name = "CUDA";
        d.type = PROF_DEVICE_CUDA;
        d.activity = PROF_ACTIVITY_CUDA;
        d.user = &user;
        if (i == 2) EQUAL(prof_add_device(&d), PROF_OK);
        desc.activities = cpu ? 0 : PROF_ACTIVITY_CUDA;
        EQUAL(prof_start(&desc), PROF_OK);
        test_time.tick = 100;
        PROF_BEGIN("gemm");
        test_time.tick = 1000;
        PROF_END();
        e[0].thread = e[1].thread = prof_submit_thread(4711, NULL);
        EQUAL(prof_submit(e + !cpu, 2 - (size_t)!cpu), PROF_OK);
        trace = prof_stop();
        EQUAL(prof_get_stats(trace).misplaced, i == 1);
        if (i == 0)
            EQUAL(prof_event_kernels(trace, test_find(trace, "cudaLaunchKernel", 0), NULL, 0), 1);
    }
}

static void test_submit_refused(void) {
    prof_event e[2];
    EQUAL(prof_submit(NULL, 1), PROF_ERROR_INVALID);
    e[0] = event_at("x", 0, 1, 0);
    EQUAL(prof_submit(e, 1), PROF_ERROR_STATE);
    EQUAL(prof_submit_thread(1, NULL), PROF_NONE);
    start_at_zero();
    EQUAL(prof_submit_thread(4711, "gpu"), 0);
    EQUAL(prof_submit_thread(4711, NULL), 0);
    EQUAL(prof_submit_thread(4712, NULL), 1);
    e[0] = event_at("backwards", 2, 1, 0);
    e[1] = event_at("good", 1, 2, 1);
    EQUAL(prof_submit(e, 2), PROF_ERROR_INVALID);
    e[0] = event_at("nowhere", 1, 2, 9);
    EQUAL(prof_submit(e, 1), PROF_ERROR_INVALID);
    for (int i = 0; i < 4; i++) {
        prof_extra x = counts_nothing(i);
        e[0] = event_at("counts", 1, 2, 1);
        e[0].extra = &x;
        EQUAL(prof_submit(e, 1), PROF_ERROR_INVALID);
    }
    EQUAL(prof_get_stats(prof_stop()).rejected, 6);
}

/* Sessions that are not analysed say so, and count what they do not take. */
static void test_submit_not_analysed(void) {
    for (int i = 0; i < 3; i++) {
        prof_desc desc = test_desc();
        prof_memory_change c;
        prof_event e[2];
        test_text text;
        memset(&text, 0, sizeof text);
        desc.mode = i == 0 ? PROF_MODE_STREAM : i == 1 ? PROF_MODE_AGGREGATE : PROF_MODE_TRACE;
        desc.stream_format = PROF_STREAM_CHROME;
        desc.keep = i == 2 ? PROF_KEEP_RECORDS : PROF_KEEP_ROWS;
        desc.stream = test_text_sink(&text);
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BLOCK("zone") {}
        e[0] = e[1] = event_at("outside", 0, 1, 0);
        EQUAL(prof_submit(e, 2), PROF_ERROR_UNSUPPORTED);
        memset(&c, 0, sizeof c);
        EQUAL(prof_submit_memory(&c, 1), PROF_ERROR_UNSUPPORTED);
        CHECK(prof_stop() != NULL, "no trace");
        EQUAL(prof_get_stats(NULL).recorded, 1);
        EQUAL(prof_get_stats(NULL).not_kept, 3);
        EQUAL(prof_get_stats(NULL).dropped, 0);
        test_text_clear(&text);
    }
}

/* ---- Changes of memory, told afterwards ---- */

static prof_memory_change change_at(int64_t ns, uint64_t address, uint64_t bytes, uint32_t thread) {
    prof_memory_change c;
    memset(&c, 0, sizeof c);
    c.ns = ns;
    c.address = address;
    c.bytes = bytes;
    c.thread = thread;
    c.is_free = !bytes;
    c.device.type = PROF_DEVICE_CUDA;
    c.device.index = 1;
    return c;
}

static void zones_to_300(void) {
    test_time.tick = 100;
    PROF_BEGIN("outer");
    test_time.tick = 150;
    PROF_BEGIN("inner");
    test_time.tick = 200;
    PROF_END();
    test_time.tick = 300;
    PROF_END();
}

/* What is recorded stays, though a change that is charged to a zone has no event of its own. */
static void test_memory_charged_recorded(void) {
    prof_memory_change c;
    prof_trace *trace;
    size_t count;
    memset(&c, 0, sizeof c);
    start_at_zero();
    zones_to_300();
    c.ns = 150;
    c.address = 16;
    c.bytes = 64;
    EQUAL(prof_submit_memory(&c, 1), PROF_OK);
    trace = prof_stop();
    (void)prof_events(trace, NULL, 0, &count);
    EQUAL(prof_get_stats(trace).recorded, count);
}

/* In any order: 100 bytes to inner, 60 of them given back in outer, 7 of no zone; two the kinds. */
static void test_submit_memory(void) {
    prof_memory_change c[4];
    const prof_event *zone;
    test_text text;
    prof_trace *trace;
    memset(&text, 0, sizeof text);
    start_at_zero();
    zones_to_300();
    c[0] = change_at(250, 0x1000, 0, 0);
    c[1] = change_at(160, 0x2000, 40, 0);
    c[1].kind = PROF_MEMORY_GRADIENT;
    c[2] = change_at(170, 0x1000, 60, 0);
    c[3] = change_at(180, 0x3000, 7, PROF_NONE);
    EQUAL(prof_submit_memory(c, 4), PROF_OK);
    memset(c, 0xff, sizeof c);
    trace = prof_stop();
    zone = test_find(trace, "inner", 0);
    EQUAL(prof_event_total(trace, zone).self_device_memory_usage, 100);
    EQUAL(prof_event_total(trace, zone).self_cpu_memory_usage, 0);
    zone = test_find(trace, "outer", 0);
    EQUAL(prof_event_total(trace, zone).device_memory_usage, 40);
    EQUAL(prof_event_total(trace, zone).self_device_memory_usage, -60);
    CHECK(test_find(trace, "[memory]", 0) != NULL, "what no zone has is no event");
    CHECK(test_find(trace, "[memory]", 1) == NULL, "what a zone has is an event");
    PASS_ON(test_tree(trace));
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    CHECK(strstr(text.data, "\"Category\":\"GRADIENT\"") != NULL, "no category");
    CHECK(strstr(text.data, "\"Addr\":4096,\"Bytes\":-60") != NULL, "no free of 60");
    test_text_clear(&text);
    EQUAL(prof_get_stats(NULL).memory_unmatched, 0);
}

/* As allocations of a session without zones: the CPU's memory counts as such. */
static void test_submit_memory_of_cpu(void) {
    prof_memory_change c = change_at(160, 1, 1000, 0);
    const prof_event *zone;
    prof_trace *trace;
    start_at_zero();
    zones_to_300();
    c.device.type = PROF_DEVICE_CPU;
    c.device.index = 0;
    EQUAL(prof_submit_memory(&c, 1), PROF_OK);
    trace = prof_stop();
    zone = test_find(trace, "outer", 0);
    EQUAL(prof_event_total(trace, zone).cpu_memory_usage, 1000);
}

static void test_submit_memory_refused(void) {
    prof_memory_change c[3];
    c[0] = change_at(1, 1, 1, 0);
    EQUAL(prof_submit_memory(c, 1), PROF_ERROR_STATE);
    start_at_zero();
    EQUAL(prof_submit_memory(NULL, 1), PROF_ERROR_INVALID);
    EQUAL(prof_submit_memory(NULL, 0), PROF_OK);
    EQUAL(prof_submit_memory(c, 1), PROF_ERROR_INVALID);   /* no thread has recorded yet */
    c[0].thread = PROF_NONE;
    EQUAL(prof_submit_memory(c, 1), PROF_ERROR_INVALID);
    zones_to_300();
    c[0] = change_at(160, 1, (uint64_t)1 << 63, 0);
    c[1] = change_at(160, 2, 5, 9);
    c[2] = change_at(160, 3, INT64_MAX, 0);
    EQUAL(prof_submit_memory(c, 3), PROF_ERROR_INVALID);
    EQUAL(prof_get_stats(prof_stop()).rejected, 4);
    EQUAL(prof_get_stats(NULL).rejected, 4);
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

static void test_submit_memory_small_arena(void) {
    static char memory[32 << 10];
    prof_desc desc = test_desc();
    prof_memory_change c = change_at(160, 1, 1, 0);
    const prof_event *zone;
    prof_trace *trace;
    size_t taken = 0, i;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.max_depth = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    zones_to_300();
    for (i = 0; i < 200; i++) {
        c.address = i + 1;
        taken += prof_submit_memory(&c, 1) == PROF_OK;
    }
    CHECK(taken > 0 && taken < 200, "%u were taken", (unsigned)taken);
    trace = prof_stop();
    zone = test_find(trace, "inner", 0);
    CHECK(zone != NULL, "no zone");
    EQUAL(prof_event_total(trace, zone).device_memory_usage, taken);
    EQUAL(prof_get_stats(NULL).dropped_full, 200 - taken);
}

/* ---- What companions ask of the session ---- */

static prof_session at_start, at_stop;
static bool device_records;

static prof_result companion_start(void *user) {
    (void)user;
    prof_session_info(&at_start);
    device_records = true;
    return PROF_OK;
}

static prof_result companion_stop(void *user) {
    (void)user;
    prof_session_info(&at_stop);
    device_records = false;
    return PROF_OK;
}

static void companion(void) {
    static bool added;
    prof_device_desc d;
    memset(&d, 0, sizeof d);
    d.name = "companion";
    d.type = PROF_DEVICE_PRIVATEUSE1;
    d.activity = PROF_ACTIVITY_PRIVATEUSE1;
    d.start = companion_start;
    d.stop = companion_stop;
    d.user = &added;
    if (!added) EQUAL(prof_add_device(&d), PROF_OK);
    added = true;
}

/* All types of devices share a column. A trace tells each by the name of the device that was added
   for it. */
static void test_types_of_devices(void) {
    static const uint8_t types[] = { PROF_DEVICE_CUDA, PROF_DEVICE_PRIVATEUSE1, PROF_DEVICE_CUDA,
                                     PROF_DEVICE_HIP, PROF_DEVICE_XPU, PROF_DEVICE_MTIA };
    static const char *const heads[] = { "Self DEVICE  ", "Self DEVICE %", "DEVICE time avg" };
    static const char row[] = "{\"key\": \"outer\"", parts[] =
        "\"device_time_total\": 0.210, \"self_device_time_total\": 0.010, ";
    prof_averages_desc by;
    prof_table_desc desc;
    prof_trace *trace;
    test_text text;
    size_t i;
    memset(&text, 0, sizeof text);
    memset(&by, 0, sizeof by);
    memset(&desc, 0, sizeof desc);
    desc.averages = &by;
    PASS_ON(companion());
    start_at_zero();
    test_time.tick = 100;
    PROF_BEGIN("outer");
    for (i = 0; i < 6; i++) {            /* 10 to 60 ns, the first in "outer", the rest within */
        prof_device device = { 0, 0 };
        device.type = types[i];
        test_time.tick = i ? 150 : 110;
        if (i == 1) PROF_BEGIN("inner");
        EQUAL(prof_launch_done(prof_launch(prof_queue(device, NULL), "work"), 400, 410 + 10 * i),
              PROF_OK);
    }
    test_time.tick = 200;
    PROF_END();
    test_time.tick = 300;
    PROF_END();
    trace = prof_stop();
    EQUAL(prof_write_table(trace, &desc, test_text_sink(&text)), PROF_OK);
    for (i = 0; i < sizeof heads / sizeof *heads; i++)
        CHECK(strstr(text.data, heads[i]) != NULL, "no %s in\n%s", heads[i], text.data);
    CHECK(strstr(text.data, "Self DEVICE time total: 0.210us\n") != NULL, "%s", text.data);
    test_text_clear(&text);
    desc.format = PROF_FORMAT_JSON;
    EQUAL(prof_write_table(trace, &desc, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, row) && strstr(strstr(text.data, row), parts), "%s", text.data);
    test_text_clear(&text);
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    CHECK(strstr(text.data, "\"device_types\":{\"1\":\"CUDA\",\"20\":\"COMPANION\","
                            "\"6\":\"HIP\",\"12\":\"XPU\",\"19\":\"MTIA\"}") != NULL, "%s",
          text.data);
    CHECK(strstr(text.data, "\"labels\":\"CUDA 0\"") && strstr(text.data, "\"HIP 0\""),
          "%s", text.data);
    test_text_clear(&text);
}

/* A device that was added has the activity that it was added with, whatever its type. */
static void test_device_asked(void) {
    for (int asked = 0; asked < 2; asked++) {
        prof_device_desc d;
        prof_desc desc;
        prof_event e;
        size_t count;
        memset(&d, 0, sizeof d);
        d.name = "rocm";
        d.type = PROF_DEVICE_HIP;
        d.activity = PROF_ACTIVITY_MTIA;
        d.start = companion_start;
        d.stop = companion_stop;
        if (!asked) EQUAL(prof_add_device(&d), PROF_OK);
        memset(&desc, 0, sizeof desc);
        desc.activities = PROF_ACTIVITY_CPU | (asked ? PROF_ACTIVITY_MTIA : 0);
        EQUAL(prof_start(&desc), PROF_OK);
        e = event_at("work", 1, 2, prof_submit_thread(7, NULL));
        e.device_type = PROF_DEVICE_HIP;
        EQUAL(prof_submit(&e, 1), PROF_OK);
        (void)prof_events(prof_stop(), NULL, 0, &count);
        EQUAL(count, asked);
    }
}

static void test_session_info(void) {
    enum { BOTH = PROF_ACTIVITY_CPU | PROF_ACTIVITY_PRIVATEUSE1 };
    prof_desc desc;
    prof_session info;
    int64_t before, now, after;
    memset(&desc, 0, sizeof desc);
    PASS_ON(companion());
    prof_session_info(&info);
    CHECK(!info.open && !info.enabled && !info.start_ns, "a session is there");
    desc.max_depth = 17;
    desc.with_flops = true;
    desc.activities = BOTH;
    inside_os_clock = true;
    before = prof_os_now();
    EQUAL(prof_start(&desc), PROF_OK);
    after = prof_os_now();
    prof_session_info(&info);
    CHECK(info.open && info.enabled == BOTH, "enabled: %u", info.enabled);
    CHECK(info.start_ns >= before && info.start_ns <= after, "the start is not between");
    EQUAL(info.desc.max_depth, 17);
    CHECK(info.desc.record_shapes && !desc.record_shapes, "with_flops turns shapes on");
    EQUAL(at_start.open, true);
    EQUAL(at_start.enabled, BOTH);
    before = prof_os_now();
    now = prof_now();
    after = prof_os_now();
    CHECK(now >= before - info.start_ns && now <= after - info.start_ns, "not that clock");
    EQUAL(prof_toggle(PROF_ACTIVITY_PRIVATEUSE1, false), PROF_OK);
    EQUAL(at_stop.enabled, PROF_ACTIVITY_CPU);
    prof_session_info(&info);
    EQUAL(info.enabled, PROF_ACTIVITY_CPU);
    EQUAL(prof_toggle(PROF_ACTIVITY_PRIVATEUSE1, true), PROF_OK);
    prof_stop();
    EQUAL(at_stop.enabled, BOTH);        /* that ended, but was not turned off */
    EQUAL(at_stop.open, true);
    prof_session_info(&info);
    CHECK(!info.open && !info.enabled && !info.start_ns, "the session is still there");
    EQUAL(info.desc.max_depth, 17);
    desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    prof_session_info(&info);
    EQUAL(info.start_ns, 0);             /* another clock */
    CHECK(!info.zone, "a zone before there is one");
    PROF_BLOCK("outer") {
        PROF_BLOCK("here") prof_session_info(&info);
        SAME_TEXT(info.zone->name, "here");
        CHECK(strstr(info.zone->file, "test_submit") && info.zone->line, "no place");
        prof_session_info(&info);
        SAME_TEXT(info.zone->name, "outer");
        prof_push("pushed");
        prof_session_info(&info);
        SAME_TEXT(info.zone->name, "pushed");
        prof_pop();
    }
    prof_session_info(&info);
    CHECK(!info.zone, "a zone behind the last one");
    EQUAL(info.enabled & PROF_ACTIVITY_CPU, PROF_ACTIVITY_CPU);
    prof_stop();
    inside_os_clock = false;
}

/* The same text for many events is not copied, and their own correlation stands behind it. */
static void test_kept_text(void) {
    static char kept[] = "\"grid\":[1,2,3]";
    prof_event e[2];
    prof_extra x[2];
    test_text text;
    prof_trace *trace;
    int i;
    memset(&text, 0, sizeof text);
    memset(x, 0, sizeof x);
    start_at_zero();
    zones_to_300();
    for (i = 0; i < 2; i++) {
        e[i] = event_at("kernel", 160 + i, 170 + i, 0);
        e[i].device_type = PROF_DEVICE_CUDA;
        e[i].extra = x + i;
        x[i].has = PROF_HAS_KEPT_TEXT | (i ? PROF_HAS_LINK : PROF_HAS_ID);
        x[i].id = 41;
        x[i].linked_correlation_id = 42;
        x[i].activity_type = "kernel";
        x[i].metadata_json = kept;
    }
    EQUAL(prof_submit(e, 2), PROF_OK);
    kept[8] = '7';                       /* it is this one that is read */
    trace = prof_stop();
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    CHECK(strstr(text.data, "\"correlation\":41,\"grid\":[7,2,3]") != NULL, "no 41");
    CHECK(strstr(text.data, "\"correlation\":42,\"grid\":[7,2,3]") != NULL, "no 42");
    test_text_clear(&text);
}

/* Every size of arena: what is taken is reported, what is not is counted. */
static void test_submit_small_arenas(void) {
    static char memory[64 << 10];
    const char *const stack[] = { "a.c(1): f", "b.c(2): g" };
    int64_t dims[] = { 2, 3 };
    prof_shape shape;
    prof_extra x;
    size_t size;
    memset(&x, 0, sizeof x);
    shape.dims = dims;
    shape.items = NULL;
    shape.count = 2;
    x.input_shapes = &shape;
    x.input_count = 1;
    x.stack = stack;
    x.stack_count = 2;
    for (size = 2000; size < sizeof memory; size += 1237) {
        prof_desc desc = test_desc();
        prof_averages_desc by = { true, true, 2, true, true };
        prof_trace *trace;
        size_t count;
        uint64_t taken = 0;
        int i;
        memset(memory, 0xa5, sizeof memory);
        desc.memory = memory;
        desc.memory_size = size;
        desc.max_threads = 1;
        desc.max_depth = 4;
        if (prof_start(&desc) != PROF_OK) continue;
        for (i = 0; i < 200; i++) {
            prof_event e = event_at(i % 3 ? "a" : "b", i * 10, i * 10 + 8, 0);
            test_time.tick = (uint64_t)(i * 10 + 1);
            PROF_BLOCK("zone") test_time.tick += 2;
            e.extra = i % 2 ? &x : NULL;
            taken += prof_submit(&e, 1) == PROF_OK;
        }
        trace = prof_stop();
        taken += prof_get_stats(NULL).recorded;
        if (prof_events(trace, NULL, 0, &count)) EQUAL(count, taken);
        else EQUAL(count, 0);
        EQUAL(prof_get_stats(NULL).dropped + prof_get_stats(NULL).summed, 400 - taken);
        prof_key_averages(trace, &by, NULL, 0);
        PASS_ON(test_tree(trace));
        PASS_ON(test_all_writers(trace));
    }
    prof_thread_end();
}

/* ---- A trace of its own ---- */

static prof_trace *built;
static char built_memory[1 << 20];

static void build(const prof_event *events, size_t count, const prof_thread_info *threads) {
    prof_trace_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = built_memory;
    desc.memory_size = sizeof built_memory;
    desc.view.device_name = "cuda";
    desc.threads = threads;
    desc.thread_count = threads ? 1 : 0;
    built = NULL;
    EQUAL(prof_trace_from_events(&desc, events, count, &built), PROF_OK);
}

static void test_built_empty(void) {
    size_t count = 7;
    PASS_ON(build(NULL, 0, NULL));
    CHECK(prof_events(built, NULL, 0, &count) == NULL && count == 0, "events of nothing");
    EQUAL(prof_key_averages(built, NULL, NULL, 0), 0);
    test_all_writers(built);
}

static void test_built_refused(void) {
    prof_trace_desc desc;
    prof_event e = event_at("x", 0, 1, 5);
    prof_thread_info thread = { 1, NULL };
    size_t need;
    memset(&desc, 0, sizeof desc);
    EQUAL(prof_trace_from_events(NULL, &e, 1, &built), PROF_ERROR_INVALID);
    EQUAL(prof_trace_from_events(&desc, &e, 1, &built), PROF_ERROR_INVALID);
    desc.memory = built_memory;
    EQUAL(prof_trace_from_events(&desc, NULL, 1, &built), PROF_ERROR_INVALID);
    EQUAL(prof_trace_from_events(&desc, &e, 1, &built), PROF_ERROR_MEMORY);
    EQUAL(prof_trace_from_events(&desc, &e, (size_t)1 << 31, &built), PROF_ERROR_INVALID);
    need = prof_trace_memory_size(&desc, &e, 1);
    desc.memory_size = need - 1;
    EQUAL(prof_trace_from_events(&desc, &e, 1, &built), PROF_ERROR_MEMORY);
    desc.memory_size = need;
    EQUAL(prof_trace_from_events(&desc, &e, 1, &built), PROF_OK);
    desc.memory_size = sizeof built_memory;
    for (int i = 0; i < 3; i++) {
        prof_extra x = counts_nothing(i);
        e.extra = &x;
        EQUAL(prof_trace_from_events(&desc, &e, 1, &built), PROF_OK);
        EQUAL(prof_get_stats(built).rejected, 1);
        test_all_writers(built);
    }
    e.extra = NULL;
    desc.threads = &thread;
    desc.thread_count = 1;
    EQUAL(prof_trace_from_events(&desc, &e, 1, &built), PROF_ERROR_INVALID);
}

/* Links given by the caller do not matter, nor do types that nobody knows. */
static void test_built_odd_events(void) {
    static const char *const nothing[1] = { NULL };
    static const prof_shape no_shape = { NULL, NULL, UINT32_MAX };
    static const prof_kernel no_kernel = { NULL, -1, -1 };
    prof_extra x;
    prof_event e[4];
    size_t count;
    e[0] = event_at(NULL, 0, 10, 0);
    e[1] = event_at("backwards", 5, 4, 0);
    e[2] = event_at("\xff\x01\"", 2, 3, 0);
    e[3] = event_at("unknown device", 4, 9, 0);
    e[0].parent = 2;
    e[2].parent = 0;
    e[2].first_child = e[2].next_sibling = 2;
    e[3].device_type = 250;
    memset(&x, 0, sizeof x);
    x.stack = nothing;
    x.dtypes = nothing;
    x.stack_count = x.input_count = 1;
    x.input_shapes = &no_shape;
    x.kernels = &no_kernel;
    x.kernel_count = 1;
    e[2].extra = &x;
    e[3].flags = 0xffff;
    PASS_ON(build(e, 4, NULL));
    prof_events(built, NULL, 0, &count);
    EQUAL(count, 3);
    EQUAL(prof_get_stats(built).rejected, 1);
    EQUAL(test_find(built, "(null)", 0)->parent, PROF_NONE);
    EQUAL(test_find(built, "\xff\x01\"", 0)->parent, 0);
    test_all_writers(built);
}

static void test_duplicates_merge(void) {
    prof_event e[5];
    prof_extra x[2];
    prof_kernel k[2] = { { "a", 5, 0 }, { "b", 7, 1 } };
    size_t count;
    memset(x, 0, sizeof x);
    e[0] = event_at("f", 0, 100, 0);
    e[1] = event_at("f", 1, 99, 0);
    e[2] = event_at("f", 2, 98, 0);
    e[3] = event_at("g", 3, 10, 0);
    e[4] = event_at("h", 11, 20, 0);
    x[0].kernels = k;
    x[1].kernels = k + 1;
    x[0].kernel_count = x[1].kernel_count = 1;
    e[0].extra = x;
    e[2].extra = x + 1;
    PASS_ON(build(e, 5, NULL));
    prof_events(built, NULL, 0, &count);
    EQUAL(count, 3);
    EQUAL(prof_event_kernels(built, test_find(built, "f", 0), NULL, 0), 2);
    EQUAL(prof_event_total(built, test_find(built, "f", 0)).device_time_total_ns, 12);
    EQUAL(test_find(built, "f", 0)->self_cpu_time_total_ns, 100 - 7 - 9);
    test_tree(built);
}

/* Thousands deep: nothing here is recursive, and folded stacks have every name. */
/* What has one hash is still told apart. */
static void test_rows_of_one_hash(void) {
    static const char *const stacks[][2] = {
        { "mlbvs", "up" }, { "sacxa", "up" }, { "x\xff", "y" }, { "x", "\xff" "y" },
        { "x\xff" "y", "" }, { "x", "y" } };
    static const int64_t dims[] = { 5, ((int64_t)1 << 32) + 4 };
    static const prof_shape shapes[] = { { dims, NULL, 1 }, { dims + 1, NULL, 1 },
                                         { NULL, shapes, 1 }, { NULL, shapes + 1, 1 } };
    prof_averages_desc by = { true, true, 2, false, false };
    prof_average rows[32];
    prof_extra x[14];
    prof_event e[16];
    int i;
    memset(x, 0, sizeof x);
    for (i = 0; i < 16; i++) {
        e[i] = event_at("op", 10 * i, 10 * i + 5, 0);
        if (i < 14) e[i].extra = x + i;
    }
    for (i = 0; i < 6; i++) {
        x[i].stack = stacks[i];
        x[i].stack_count = i == 4 ? 1 : 2;
    }
    for (i = 0; i < 2; i++) {
        x[6 + i].overload_name = stacks[i][0];
        x[8 + i].has = PROF_HAS_NODE_ID;
        x[8 + i].node_id = i << 19;
    }
    for (i = 0; i < 4; i++) {
        x[10 + i].input_shapes = shapes + i;
        x[10 + i].input_count = 1;
    }
    e[14].name = "glbvs";
    e[15].name = "yacxa";
    PASS_ON(build(e, 16, NULL));
    EQUAL(prof_key_averages(built, &by, rows, 32), 16);
    EQUAL(prof_key_averages(built, NULL, rows, 32), 5);
}

#if defined(__wasi__)                    /* with ten times as many node crashes now and then */
enum { DEEP = 300, MANY = 10000 };
#else
enum { DEEP = 2000, MANY = 1000000 };
#endif

static void test_built_deep(void) {
    static prof_event e[DEEP];
    static char names[DEEP][16];
    char deepest[32];
    const prof_event *events;
    test_text text;
    size_t count;
    int i;
    for (i = 0; i < DEEP; i++) {
        snprintf(names[i], sizeof names[i], "d%d", i);
        e[i] = event_at(names[i], i * 1000, 2 * DEEP * 1000 - i * 1000, 0);
    }
    PASS_ON(build(e, DEEP, NULL));
    events = prof_events(built, NULL, 0, &count);
    EQUAL(count, DEEP);
    for (i = 1; i < DEEP; i++) EQUAL(events[i].parent, i - 1);
    EQUAL(events[DEEP - 1].depth, 255);
    memset(&text, 0, sizeof text);
    EQUAL(prof_write_stacks(built, PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
    snprintf(deepest, sizeof deepest, ";d%d;d%d 2\n", DEEP - 2, DEEP - 1);
    CHECK(strstr(text.data, deepest) != NULL, "the deepest line is cut");
    test_text_clear(&text);
}

/* Many events at one time: each holds the next, or none holds another. */
static void test_built_many(void) {
    const int many = test_sample() > 1 ? MANY / 10 : MANY;
    prof_event *e = (prof_event *)malloc((size_t)many * sizeof *e);
    const prof_event *events;
    prof_average rows[2];
    prof_trace_desc desc;
    prof_trace *trace;
    size_t count;
    CHECK(e != NULL, "no memory");
    for (int lasts = 0; lasts < 2; lasts++) {
        for (int i = 0; i < many; i++)
            e[i] = event_at(i % 2 ? "odd" : "even", -5, lasts * 10 - 5, 7);
        memset(&desc, 0, sizeof desc);
        desc.memory_size = prof_trace_memory_size(&desc, e, (size_t)many);
        desc.memory = malloc(desc.memory_size);
        EQUAL(prof_trace_from_events(&desc, e, (size_t)many, &trace), PROF_OK);
        events = prof_events(trace, NULL, 0, &count);
        EQUAL(count, many);
        EQUAL(events[many - 1].parent, lasts ? (uint32_t)many - 2 : PROF_NONE);
        EQUAL(events[many - 1].self_cpu_time_total_ns, 10 * lasts);
        EQUAL(prof_key_averages(trace, NULL, rows, 2), 2);
        EQUAL(rows[0].count + rows[1].count, many);
        EQUAL(rows[0].self_cpu_time_total_ns + rows[1].self_cpu_time_total_ns, 10 * lasts);
        free(desc.memory);
    }
    free(e);
}

/* Ten thousand spans around a zone, which the innermost adopts. */
static void test_submit_deep(void) {
    enum { AROUND = 10000 };
    static uint64_t arena[3 << 20];
    prof_desc desc = test_desc();
    const prof_event *events;
    prof_trace *trace;
    size_t count;
    desc.memory = arena;
    desc.memory_size = sizeof arena;
    test_time.tick = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    zones_to_300();
    for (int i = 0; i < AROUND; i++) {
        prof_event e = event_at(i % 2 ? "odd" : "even", -i, 300 + i, 0);
        EQUAL(prof_submit(&e, 1), PROF_OK);
    }
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, AROUND + 2);
    EQUAL(events[AROUND].parent, AROUND - 1);
    SAME_TEXT(events[AROUND].name, "outer");
    EQUAL(events[AROUND - 1].self_cpu_time_total_ns, 100);
    EQUAL(events[0].self_cpu_time_total_ns, 2);
}

/* What says that it is JSON and is not shows as text: the trace stays JSON. */
static void test_built_not_json(void) {
    static const char *const given[] = { "\"a\": 1, \"b\": [2]", "{\"a\": 1}", "\"a\": 1,", "}" };
    static const char *const wanted[] = {
        "\"a\": 1, \"b\": [2]}", "\"metadata_json\":\"{\\\"a\\\": 1}\"}",
        "\"metadata_json\":\"\\\"a\\\": 1,\"}", "\"metadata_json\":\"}\"}"
    };
    for (int i = 0; i < 4; i++) {
        prof_event e = event_at("e", 0, 10, 0);
        prof_extra x;
        test_text text;
        memset(&text, 0, sizeof text);
        memset(&x, 0, sizeof x);
        x.metadata_json = given[i];
        e.extra = &x;
        PASS_ON(build(&e, 1, NULL));
        EQUAL(prof_write_chrome(built, NULL, test_text_sink(&text)), PROF_OK);
        CHECK(strstr(text.data, wanted[i]) != NULL, "no %s in %s", wanted[i], text.data);
        test_text_clear(&text);
    }
}

int main(void) {
    RUN(test_built_not_json);
    RUN(test_kernel_by_link);
    RUN(test_kernel_of_nested_calls);
    RUN(test_kernel_of_ops_call);
    RUN(test_among_zones);
    RUN(test_recursion);
    RUN(test_submit_thread_first);
    RUN(test_submit_not_asked);
    RUN(test_submit_toggled);
    RUN(test_memory_charged_recorded);
    RUN(test_submit_refused);
    RUN(test_submit_refused_streamed);
    RUN(test_submit_of_another_window);
    RUN(test_submit_not_analysed);
    RUN(test_submit_memory);
    RUN(test_submit_memory_of_cpu);
    RUN(test_submit_memory_refused);
    RUN(test_submit_memory_small_arena);
    RUN(test_kept_text);
    RUN(test_submit_small_arenas);
    RUN(test_session_info);
    RUN(test_types_of_devices);
    RUN(test_built_empty);
    RUN(test_built_refused);
    RUN(test_built_odd_events);
    RUN(test_duplicates_merge);
    RUN(test_rows_of_one_hash);
    RUN(test_built_deep);
    RUN(test_built_many);
    RUN(test_submit_deep);
    RUN(test_device_asked);
    RUN(test_submit_links);
    return test_end();
}
