/* prof_cuda.h where calls of CUPTI and the driver fail, where tables are full, and odd records. */
/* build: tests/cuda/fake_cupti.c */
#include "../test.h"
#include "../inside.h"
#include "../../prof_cuda.h"
#include "fake_cupti.h"
#include "fake_records.h"

#ifdef __cplusplus
extern "C" {
#endif
extern int cuCtxSetCurrent(void *context);
extern int cuCtxGetCurrent(void **context);
extern int cuptiGetTimestamp(uint64_t *time);
extern int cuptiSubscribe(void **handle, void (*callback)(void *, int, uint32_t, const void *),
                          void *user);
extern int cuptiUnsubscribe(void *handle);
#ifdef __cplusplus
}
#endif

static prof_cuda_desc cuda_desc;

static void reset(void) {
    prof_cuda_shutdown();
    fake_reset();
    memset(&cuda_desc, 0, sizeof cuda_desc);
    cuda_desc.symbol = fake_symbol;
}

static void fail(const char *call, int after) {
    fake.fails = call;
    fake.fails_after = after;
    fake.fail_code = 1;
}

static void open_session(void) {
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    EQUAL(prof_start(NULL), PROF_OK);
}

static uint64_t cupti_now(void) {
    uint64_t t = 0;
    cuptiGetTimestamp(&t);
    return t;
}

static void launch_some(int n) {
    int i;
    for (i = 0; i < n; i++) PROF_BLOCK("zone") { fake_launch("k", 0, 500); }
}

/* ---- the driver ---- */

/* The stop waits for the GPUs that it can wait for; nothing is lost, and the context stays. */
static void test_contexts_that_fail(void) {
    static const struct { const char *call; bool idle; uintptr_t now; } cases[] = {
        { "cuCtxGetCurrent", false, 0 }, { "cuCtxSetCurrent", false, 0 },
        { "cuDevicePrimaryCtxGetState", false, 2 }, { "cuDevicePrimaryCtxRetain", false, 0 },
        { "cuCtxSynchronize", false, 1 },   /* it was destroyed in the session */
        { NULL, true, 0 }, { NULL, false, 1 }, { NULL, false, 2 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *context = NULL;
        prof_cuda_stats s;
        reset();
        fake.devices = 2;
        fake.idle = cases[i].idle;
        cuCtxSetCurrent((void *)cases[i].now);
        fail(cases[i].call, 0);
        PASS_ON(open_session());
        launch_some(3);
        CHECK(prof_stop() != NULL, "no trace");
        fake.fails = NULL;
        cuCtxGetCurrent(&context);
        s = prof_cuda_get_stats();
        CHECK((uintptr_t)context == cases[i].now, "case %u: another context", (unsigned)i);
        EQUAL(s.kernels, 3);
        EQUAL(s.lost, 0);
        cuCtxSetCurrent(NULL);
    }
}

static void test_devices_that_fail(void) {
    static const char *const calls[] = { "cuDeviceGetName", "cuDeviceTotalMem_v2",
                                         "cuDeviceGetAttribute" };
    prof_cuda_device d;
    test_text text;
    prof_trace *trace;
    memset(&text, 0, sizeof text);
    for (int i = 0; i < 4; i++) {
        reset();
        CHECK(!prof_cuda_get_device(0, &d), "a device before prof_cuda_init");
        if (i < 3) fail(calls[i], 0);
        PASS_ON(open_session());
        CHECK(!prof_cuda_get_device(-1, &d) && !prof_cuda_get_device(1, &d), "a device too many");
        CHECK(prof_cuda_get_device(0, &d), "no device");
        CHECK(!d.name[0] == (i == 0), "name %s", d.name);
        EQUAL(d.total_memory, i == 1 ? 0 : (size_t)80 << 30);
        EQUAL(d.sm_count, i == 2 ? 0 : 132);
        prof_stop();
    }
    reset();
    fake.gpu_name = "\x01 \\\x7f";
    PASS_ON(open_session());
    fail("cuDriverGetVersion", 0);
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"name\":\"\\u0001 \\u005c\\u007f 0\""), "the name");
    CHECK(!strstr(text.data, "cuda_driver_version"), "a version");
    test_text_clear(&text);
    reset();
    EQUAL(prof_start(NULL), PROF_OK);    /* shut down: nothing is told of GPUs */
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(!strstr(text.data, "deviceProperties"), "GPUs after prof_cuda_shutdown");
    test_text_clear(&text);
    fake.no_driver_error = 100;
    PASS_ON(open_session());
    CHECK(!prof_cuda_get_device(0, &d), "a device without a driver");
    prof_stop();
}

/* Blocks of kernels that fit, by the limits of the GPU: CUDA's occupancy, worked out by hand. */
static void test_occupancy(void) {
    static const struct {
        int32_t grid, block[3];
        uint16_t registers;
        int32_t shared;
        uint32_t device;
        int attribute, value, percent;   /* percent -1: none */
    } cases[] = {
        { 264, { 256, 1, 1 }, 32, 0, 0, 0, 0, 25 }, { 2000, { 256, 1, 1 }, 0, 0, 0, 0, 0, 100 },
        { 2000, { 256, 1, 1 }, 128, 0, 0, 0, 0, 25 }, { 2000, { 8, 8, 4 }, 255, 0, 0, 0, 0, 13 },
        { 2000, { 256, 1, 1 }, 0, 100000, 0, 0, 0, 25 },
        { 2000, { 256, 1, 1 }, 0, 100000, 0, 81, 0, 100 },   /* unknown: no limit */
        { 2000, { 256, 1, 1 }, 0, 0, 0, 75, 7, 100 }, { 2000, { 256, 1, 1 }, 0, 0, 0, 106, 1, 13 },
        { 2000, { 256, 1, 1 }, 0, 0, 0, 106, 0, 100 }, { 2000, { 256, 1, 1 }, 0, 0, 0, 16, 0, -1 },
        { 2000, { 256, 1, 1 }, 0, 0, 0, 39, 0, -1 }, { 2000, { 256, 1, 1 }, 0, 0, 5, 0, 0, -1 },
        { 2000, { 256, 1, 1 }, 0, 0, 99, 0, 0, -1 }, { 2000, { 0, 1, 1 }, 0, 0, 0, 0, 0, -1 },
        { 2000, { 1024, 8, 1 }, 0, 0, 0, 0, 0, -1 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const prof_event *e;
        const char *said;
        fake_kernel k;
        fake_call call;
        memset(&call, 0, sizeof call);
        memset(&k, 0, sizeof k);
        k.kind = 10;
        k.device = cases[i].device;
        k.grid_x = cases[i].grid;
        k.grid_y = k.grid_z = 1;
        k.block_x = cases[i].block[0];
        k.block_y = cases[i].block[1];
        k.block_z = cases[i].block[2];
        k.registers = cases[i].registers;
        k.dynamic_shared = cases[i].shared;
        k.name = "k";
        reset();
        fake.attribute = cases[i].attribute;
        fake.attribute_value = cases[i].value;
        PASS_ON(open_session());
        k.start = cupti_now();
        k.end = k.start + 1000;
        call.kind = 5;
        call.start = call.end = k.start;
        call.correlation = k.correlation = 1;
        fake_deliver(&call, sizeof call, sizeof call);
        fake_deliver(&k, sizeof k, sizeof k);
        e = test_find(prof_stop(), "k", 0);
        CHECK(e && e->extra->metadata_json, "case %u: no kernel", (unsigned)i);
        said = strstr(e->extra->metadata_json, "occupancy %\":");
        CHECK((said ? atoi(said + 13) : -1) == cases[i].percent, "case %u: %s", (unsigned)i,
              e->extra->metadata_json);
    }
}

/* ---- CUPTI ---- */

static void test_reasons(void) {
    static char longest[401];
    static const struct { const char *missing, *text; int code; const char *says; } cases[] = {
        { "cuptiGetResultString", NULL, 7, "(CUPTI error 7)" },
        { NULL, NULL, 1001, "(CUPTI error 1001)" }, { NULL, NULL, 8, "OF_SOME_KIND" },
        { NULL, longest, 9, "xxxxxxxxxx" }
    };
    memset(longest, 'x', sizeof longest - 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why;
        reset();
        fail("cuptiSubscribe", 0);
        fake.missing = cases[i].missing;
        fake.fail_code = cases[i].code;
        fake.result_text = cases[i].text;
        PASS_ON(open_session());
        prof_stop();
        why = prof_cuda_status();
        CHECK(why && strlen(why) >= strlen(cases[i].says) && strlen(why) < 320 &&
                  strcmp(why + strlen(why) - strlen(cases[i].says), cases[i].says) == 0,
              "case %u: %s", (unsigned)i, why);
    }
    unsetenv("NVTX_INJECTION64_PATH");   /* what is asked for between sessions is another matter */
    EQUAL(prof_cuda_emit_nvtx(true), PROF_ERROR_UNSUPPORTED);
    CHECK(strstr(prof_cuda_status(), "no NVTX ranges"), "%s", prof_cuda_status());
    CHECK(strstr(inside_cuda_status_line(), "xxxxxxxxxx"), "%s", inside_cuda_status_line());
    prof_start(NULL);
    prof_stop();
    CHECK(strstr(prof_cuda_status(), "xxxxxxxxxx"), "%s", prof_cuda_status());
}

static void test_call_names(void) {
    static const struct { uint32_t cbid; const char *name; } cases[] = {
        { 211, "cudaLaunchKernel" }, { 214, "cudaLaunchKernel_ptsz" }, { 900, "cudaThing_ptds" },
        { 901, "cuda_v" }, { 902, "call" }, { 903, "cuda call" }, { 904, "cudaThing_ptds_vector" },
        { 999, "cuda call" }, { 1500, "cuda call" }, { 900, "cudaThing_ptds" }
    };
    enum { CASES = sizeof cases / sizeof *cases };
    const prof_event *events;
    fake_call driver[3];
    size_t count, calls = 0, of_driver = 0;
    reset();
    cuda_desc.records = PROF_CUDA_DEFAULT | PROF_CUDA_DRIVER;
    PASS_ON(open_session());
    for (size_t i = 0; i < CASES; i++) fake_runtime_call(cases[i].cbid);
    fake_runtime_call(905);
    memset(driver, 0, sizeof driver);
    for (uint32_t i = 0; i < 3; i++) {
        driver[i].kind = 4;
        driver[i].cbid = 60 + 2 * i;
        driver[i].start = driver[i].end = cupti_now() + i;
        driver[i].correlation = 1000 + i;
    }
    driver[2].cbid = 304;                /* cuCtxGetCurrent launches nothing: muted */
    fake_deliver(driver, sizeof driver, sizeof driver);
    events = prof_events(prof_stop(), NULL, 0, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(events[i].extra->activity_type, "cuda_driver") == 0)
            SAME_TEXT(events[i].name, of_driver++ ? "cuMemcpyDtoHAsync"
                                                    : "cuMemcpyHtoDAsync");
        else if (calls < CASES) SAME_TEXT(events[i].name, cases[calls++].name);
        else EQUAL(strlen(events[i].name), 255);   /* cut */
    }
    EQUAL(calls, CASES);
    EQUAL(of_driver, 2);
    EQUAL(prof_cuda_get_stats().muted, 1);
}

static void test_demangling(void) {
    const prof_trace *trace;
    reset();
    PASS_ON(open_session());
    fake_launch("_Zbad", 0, 10);
    fake_launch("_", 0, 10);
    fake_launch("_x", 0, 10);
    fake_launch(NULL, 0, 10);
    trace = prof_stop();
    CHECK(test_find(trace, "_Zbad", 0) && test_find(trace, "_", 0) && test_find(trace, "_x", 0) &&
              test_find(trace, "(unknown kernel)", 0), "a name changed");
}

/* Each name is demangled once, whichever else are there: these two kernels, whose names are long,
   take turns. */
static void test_long_names(void) {
    static char names[2][1024], plain[1020];
    const prof_trace *trace;
    reset();
    PASS_ON(open_session());
    for (int i = 0; i < 2; i++) {
        memset(names[i], 'a' + i, 1022);
        memcpy(names[i], "_Z1016", 6);
        names[i][1022] = 'v';            /* a function without arguments */
    }
    for (int i = 0; i < 2000; i++) fake_launch(names[i % 2], 0, 10);
    trace = prof_stop();
    for (int i = 0; i < 2; i++) {
        memset(plain, 'a' + i, 1016);
        memcpy(plain + 1016, "()", 2);
        CHECK(test_find(trace, plain, 999), "a mangled name");
    }
    EQUAL(prof_cuda_get_stats().names_lost, 0);
}

/* More names than there are places for, and more than there is room for. */
static void test_too_many_names(void) {
    static char names[4200][8], longs[300][4100];
    const prof_trace *trace;
    size_t count;
    uint32_t i;
    reset();
    PASS_ON(open_session());
    for (i = 0; i < 4200; i++) {
        snprintf(names[i], sizeof names[i], "k%u", (unsigned)i);
        fake_launch(names[i], 0, 10);
    }
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 4200);
    EQUAL(prof_cuda_get_stats().names_lost, 4200 - 4096);
    prof_events(trace, NULL, 0, &count);          /* the session has room for fewer names yet */
    EQUAL(count + prof_get_stats(trace).dropped_full, 2 * 4200);
    reset();
    PASS_ON(open_session());
    for (i = 0; i < 300; i++) {          /* a megabyte, cut at 4095 bytes each */
        memset(longs[i], 'a', sizeof longs[i] - 1);
        snprintf(longs[i], 8, "%u", (unsigned)i);
        longs[i][strlen(longs[i])] = '_';
        fake_launch(longs[i], 0, 10);
    }
    for (i = 2048; i; i /= 2) fake_launch(longs[0] + sizeof longs[0] - 1 - i, 0, 10);
    fake_runtime_call(900);
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 312);
    CHECK(test_find(trace, "(unknown kernel)", 43) && !test_find(trace, "(unknown kernel)", 60),
          "other names");
    CHECK(!test_find(trace, "cuda call", 0), "calls' names take no room");
    CHECK(prof_cuda_get_stats().names_lost >= 44, "%u lost",
          (unsigned)prof_cuda_get_stats().names_lost);
}

/* Each thread has a row of its own, whatever its id. */
static void test_many_threads(void) {
    fake_call calls[70];
    const prof_thread_info *threads;
    const prof_event *events;
    const prof_trace *trace;
    size_t count, thread_count, alike = 0;
    reset();
    PASS_ON(open_session());
    memset(calls, 0, sizeof calls);
    for (uint32_t i = 0; i < 70; i++) {
        calls[i].kind = 5;
        calls[i].cbid = 902;
        calls[i].thread = 244002641u * (5 + i);   /* its inverse: products of 5 and more */
        calls[i].correlation = i + 1;
        calls[i].start = calls[i].end = cupti_now();
    }
    fake_deliver(calls, sizeof calls, sizeof calls);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    threads = prof_threads(trace, &thread_count);
    EQUAL(count, 70);
    for (size_t i = 0; i < count; i++) {
        CHECK(events[i].thread < thread_count && threads, "no thread");
        for (size_t k = 0; k < i; k++) alike += events[i].thread == events[k].thread;
    }
    EQUAL(alike, 0);
}

/* Readings of both clocks: many, one that goes back, one that jumps, none. */
static void test_clock_pairs(void) {
    const prof_trace *trace;
    const prof_event *kernel;
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    PASS_ON(open_session());
    for (int i = 0; i < 200; i++) {
        launch_some(1);
        prof_cuda_flush();
    }
    fake.clock_offset = (uint64_t)0 - 1000000000u;
    prof_cuda_flush();                   /* taken for what it is: no reading */
    fake.clock_offset = 5000000;
    launch_some(1);
    prof_cuda_flush();
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 201);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"error_ns\":") && !strstr(text.data, "\"error_ns\":0}"), "%.900s",
          text.data);
    test_text_clear(&text);
    for (int i = 0; i < 200; i++) {
        const prof_event *zone = test_find(trace, "zone", i);
        kernel = test_find(trace, "k", i);
        CHECK(zone && kernel && kernel->start_ns > zone->start_ns - 100000 &&
                  kernel->start_ns < zone->end_ns + 50000000, "kernel %d", i);
    }
    reset();
    fail("cuptiGetTimestamp", 0);
    PASS_ON(open_session());
    launch_some(2);
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 2);
    CHECK(test_find(trace, "k", 1) && test_find(trace, "k", 1)->start_ns == 0, "a time of none");
    reset();
    fail("cuptiGetTimestamp", 0);
    fake.fails_times = 1;                /* at the start; the stop's tells enough */
    PASS_ON(open_session());
    launch_some(1);
    trace = prof_stop();
    kernel = test_find(trace, "k", 0);
    CHECK(kernel && kernel->start_ns > test_find(trace, "zone", 0)->start_ns - 1000000,
          "the kernel is early");
    EQUAL(kernel->end_ns - kernel->start_ns, 500);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"pairs\":1,"), "%.900s", text.data);
    test_text_clear(&text);
}

/* CUPTI's clock may be the system's, which may be set: that it went back is told. */
static void test_clock_goes_back(void) {
    const prof_trace *trace;
    reset();
    PASS_ON(open_session());
    launch_some(2);
    fake.clock_offset = (uint64_t)0 - 200000000u;
    prof_cuda_flush();
    launch_some(2);
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().clock_back, 1);
    EQUAL(prof_cuda_get_stats().kernels, 4);
    EQUAL(prof_cuda_get_stats().calls, 2);
    EQUAL(prof_cuda_get_stats().outside, 2);
    CHECK(test_find(trace, "zone", 3), "the zones are not whole");
    CHECK(strstr(inside_cuda_status_line(), "CUPTI's clock went back"), "%s",
          inside_cuda_status_line());
}

/* As ROCm's tracer does for some, and CUPTI where a loop in a graph runs again: kernels without a
   correlation, and several of one launch. None is lost, and none is another's. */
static void test_odd_correlations(void) {
    const char *const names[] = { "loop", "loop", "loop", "none", "stranger" };
    const uint32_t correlations[] = { 4711, 4711, 4711, 0, 4712 };
    prof_trace *trace;
    const prof_event *e;
    fake_call call;
    reset();
    PASS_ON(open_session());
    PROF_BLOCK("zone") {
        memset(&call, 0, sizeof call);
        call.kind = 5;
        call.cbid = 311;
        call.correlation = 4711;
        call.thread = (uint32_t)prof_thread_id();
        call.start = call.end = cupti_now();
        fake_deliver(&call, sizeof call, sizeof call);
        for (int i = 0; i < 5; i++) {
            fake_kernel k;
            memset(&k, 0, sizeof k);
            k.kind = 10;
            k.name = names[i];
            k.correlation = correlations[i];
            k.graph_node = i < 3 ? 7 : 0;
            k.start = cupti_now();
            k.end = k.start + 1000;
            fake_deliver(&k, sizeof k, sizeof k);
        }
    }
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 5);
    EQUAL(prof_cuda_get_stats().no_launch, 2);
    e = test_find(trace, "zone", 0);
    EQUAL(prof_event_total(trace, e).device_time_total_ns, 3000);
    CHECK(test_find(trace, "loop", 2) && test_find(trace, "none", 0) &&
              test_find(trace, "stranger", 0), "a kernel is missing");
}

/* Times of kernels as drivers have been seen to tell them: none, one of them, any. */
static void test_odd_times(void) {
    static const struct { int64_t start, end; int no_time, wrong_clock, corrupt, unfinished; }
        cases[] = {
        { 1000, 2000, 0, 0, 0, 0 }, { 2000, 1000, 1, 0, 0, 0 }, { 1000, 0, 0, 0, 0, 1 },
        { 0, 1000, 1, 0, 0, 0 }, { 0, 0, 1, 0, 0, 0 }, { 1000, INT64_MIN, 0, 1, 0, 0 },
        { INT64_MIN, INT64_MIN, 0, 0, 1, 0 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t now;
        fake_kernel k;
        prof_cuda_stats s;
        const prof_event *e;
        reset();
        PASS_ON(open_session());
        now = cupti_now();
        memset(&k, 0, sizeof k);
        k.kind = 10;
        k.name = "k";
        k.start = cases[i].start > 0 ? now + (uint64_t)cases[i].start : (uint64_t)cases[i].start;
        k.end = cases[i].end > 0 ? now + (uint64_t)cases[i].end : (uint64_t)cases[i].end;
        fake_deliver(&k, sizeof k, sizeof k);
        e = test_find(prof_stop(), "k", 0);
        s = prof_cuda_get_stats();
        EQUAL(s.no_time, cases[i].no_time);
        EQUAL(s.wrong_clock, cases[i].wrong_clock);
        EQUAL(s.corrupt, cases[i].corrupt);
        EQUAL(s.unfinished, cases[i].unfinished);
        CHECK((e != NULL) == (i == 0 || i == 2), "case %u", (unsigned)i);
        CHECK(!e || e->end_ns > e->start_ns, "case %u", (unsigned)i);
    }
}

/* Clocks are compared at steps, once a second at most. */
static void test_clocks_at_steps(void) {
    prof_desc desc = test_desc();
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    test_time.step = 1000;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_step();
    test_time.tick += 2000000000;
    prof_step();
    prof_step();
    EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"device\":\"CUDA 0\",\"pairs\":3,"), "%.900s", text.data);
    test_text_clear(&text);
}

/* Records that come when their session is over, and before it. */
static void test_late_records(void) {
    fake_call call;
    fake_marker_record marker;
    fake_kernel kernel;
    prof_trace *trace;
    reset();
    fail("cuptiActivityGetNumDroppedRecords", 0);
    PASS_ON(open_session());
    memset(&marker, 0, sizeof marker);
    marker.kind = 12;
    marker.time = cupti_now() - 1000000000;
    fake_deliver(&marker, sizeof marker, sizeof marker);
    memset(&kernel, 0, sizeof kernel);
    kernel.kind = 10;                    /* it began before the session, and has no end */
    kernel.start = marker.time;
    fake_deliver(&kernel, sizeof kernel, sizeof kernel);
    EQUAL(prof_cuda_get_stats().kernels, 1);
    memset(&call, 0, sizeof call);
    call.kind = 5;
    call.start = call.end = cupti_now();
    trace = prof_stop();
    prof_events(trace, NULL, 0, NULL);
    fake_deliver(&call, sizeof call, sizeof call);
    EQUAL(prof_cuda_get_stats().calls, 0);
    EQUAL(prof_cuda_get_stats().outside, 2);
    EQUAL(prof_cuda_get_stats().unfinished, 0);
    EQUAL(prof_cuda_get_stats().kernels, 0);
    EQUAL(prof_cuda_get_stats().lost_full, 1);
    EQUAL(prof_cuda_get_stats().lost_dropped, 0);
    prof_cuda_shutdown();
    inside_cuda_completed(&call, sizeof call);
    EQUAL(prof_cuda_get_stats().foreign, 1);
}

/* A session that ends in its warm-up lets go of CUPTI. */
static void test_warmup_only(void) {
    prof_desc desc;
    void *other = NULL;
    memset(&desc, 0, sizeof desc);
    desc.schedule.warmup = 2;
    desc.schedule.active = 1;
    reset();
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(cuptiSubscribe(&other, NULL, NULL), 39);
    prof_step();
    prof_stop();
    EQUAL(prof_cuda_get_stats().state, PROF_CUDA_READY);
    EQUAL(cuptiSubscribe(&other, NULL, NULL), 0);
    EQUAL(cuptiUnsubscribe(other), 0);
}

static void test_footer(void) {
    static const struct { bool corrupt, no_time, no_store, kept; const char *says; } cases[] = {
        { true, false, false, false, "GPU records lost: 0; corrupt buffers: 1" },
        { false, true, false, false, "GPU records lost: 0; without a time: 2" },
        { false, false, true, false, "; no room, give prof_cuda_desc.memory more: " },
        { false, false, false, true, "GPU records lost: 0; buffers CUPTI kept: 1" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes[8] = { 33 };
        test_text text;
        void *memory = NULL;
        memset(&text, 0, sizeof text);
        reset();
        fake.zero_time_every = cases[i].no_time;
        fake.keep_buffers = cases[i].kept;
        if (cases[i].no_store) {
            cuda_desc.memory_size = prof_cuda_memory_size(&cuda_desc, 10);
            cuda_desc.memory = memory = malloc(cuda_desc.memory_size);
        }
        PASS_ON(open_session());
        launch_some(cases[i].no_store ? 1000 : 2);
        if (cases[i].corrupt) fake_deliver(bytes, sizeof bytes, sizeof bytes);
        EQUAL(prof_write_table(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
        CHECK(strstr(text.data, cases[i].says), "case %u: %s", (unsigned)i, text.data);
        test_text_clear(&text);
        if (cases[i].kept) {             /* now they come */
            fake.keep_buffers = false;
            prof_start(NULL);
            prof_stop();
        }
        EQUAL(prof_cuda_shutdown(), PROF_OK);
        free(memory);
    }
}

/* Waits, markers and overheads that lack what most have. */
static void test_odd_records(void) {
    const prof_trace *trace;
    const prof_event *e;
    fake_sync sync[3];
    fake_event_record_ event;
    reset();
    cuda_desc.records = 511;
    PASS_ON(open_session());
    memset(&event, 0, sizeof event);
    event.kind = 36;
    event.event = 3;
    event.context = 1;
    event.correlation = 1;
    fake_deliver(&event, sizeof event, sizeof event);
    memset(sync, 0, sizeof sync);
    for (uint32_t i = 0; i < 3; i++) {
        sync[i].kind = 38;
        sync[i].start = sync[i].end = cupti_now();
        sync[i].correlation = i + 2;
        sync[i].stream = UINT32_MAX;
        sync[i].event = 3;
    }
    sync[0].type = 1;
    sync[0].context = 2;                 /* the event of another context */
    sync[1].type = 99;
    sync[2].type = 4;
    fake_deliver(sync, sizeof sync, sizeof sync);
    fake_marker(1, 2, NULL);
    fake_overhead(1, 100);
    fake_overhead(99u << 16, 100);
    trace = prof_stop();
    e = test_find(trace, "Event Sync", 0);
    CHECK(e && strstr(e->extra->metadata_json, "\"wait_on_stream\":-1,") &&
              strstr(e->extra->metadata_json, "\"stream\":-1,"), "%s", e->extra->metadata_json);
    EQUAL(e->extra->device_resource_id, PROF_ROW_SYNC - 1);
    CHECK(test_find(trace, "Unknown Sync", 0) && test_find(trace, "Context Sync", 0), "no sync");
    CHECK(test_find(trace, "Driver Compiler", 0) && test_find(trace, "Unknown", 0), "no overhead");
    e = test_find(trace, "(null)", 0);
    CHECK(e && e->end_ns >= e->start_ns, "no marker");
}

static void test_calls_out_of_place(void) {
    reset();
    prof_cuda_push_id(1);                /* before there is a session */
    prof_cuda_pop_id();
    prof_cuda_flush();
    EQUAL(prof_cuda_memory_size(NULL, SIZE_MAX), SIZE_MAX);
    CHECK(prof_cuda_memory_size(NULL, 10) > prof_cuda_memory_size(NULL, 0), "bytes");
    EQUAL(prof_start(NULL), PROF_OK);
    EQUAL(prof_cuda_init(&cuda_desc), PROF_ERROR_STATE);
    prof_stop();
    EQUAL(prof_cuda_init(NULL), PROF_OK);
    EQUAL(prof_cuda_shutdown(), PROF_OK);
    PASS_ON(open_session());
    prof_cuda_push_id(42);               /* not asked for */
    fake_launch("k", 0, 10);
    prof_cuda_pop_id();
    EQUAL(test_find(prof_stop(), "k", 0)->extra->external_id, 0);
}

/* ---- every call, in turn ---- */

enum { LAUNCHES = 60 };

/* A session with some of all that CUPTI and the driver are asked for. */
static const prof_trace *session_of_all(void) {
    if (prof_start(NULL) != PROF_OK) return NULL;
    PROF_BLOCK("zone") {
        fake_capture_call(539, 0);
        fake_capture_node(0);
        fake_capture_call(497, 0);
        fake_instantiate(1);
        prof_cuda_push_id(7);
        for (int i = 0; i < LAUNCHES; i++) fake_launch("k", (uint32_t)i % 2, 500);
        prof_cuda_pop_id();
        fake_event_record(3, 0);
        fake_wait_event(3, 1);
        fake_copy(1, 1, 3, 100, 0);
        fake_alloc(4096, 100, false);
    }
    prof_cuda_flush();
    return prof_stop();
}

/* Is all of the GPU's there, each in its zone and at its time? */
static bool is_whole(const prof_trace *trace) {
    const prof_event *zone = test_find(trace, "zone", 0), *e;
    size_t count, kernels = 0, others = 0;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    if (!zone) return false;
    for (size_t i = 0; i < count; i++) {
        const prof_extra *x = (e = events + i)->extra;
        const char *type = x && x->activity_type ? x->activity_type : "";
        if (strcmp(type, "cuda_sync") == 0) others++;
        if (strcmp(type, "kernel") != 0 && strcmp(type, "gpu_memcpy") != 0) continue;
        if (!(x->has & PROF_HAS_LINK) || e->start_ns < zone->start_ns - 1000000 ||
            e->start_ns > zone->end_ns + 1000000) return false;
        if (*type == 'k' && x->external_id != 7) return false;
        kernels += *type == 'k';
        others += *type == 'g';
    }
    return kernels == LAUNCHES && others == 2 && prof_cuda_get_stats().captured == 2 &&
           prof_event_total(trace, zone).device_time_total_ns >= 500 * LAUNCHES;
}

/* How CUPTI is used: alone, beside another subscriber, by its old rules. */
static void begin_way(int way) {
    reset();
    if (way == 1) {
        fake.version = 130300;
        fake.other = "nsys";
        fake.other_multi = true;
    } else if (way == 2) fake.version = 26;
    fake.devices = 2;
    cuda_desc.records = 511;
    cuda_desc.buffer_size = 4096;
    cuda_desc.hardware_trace = true;
}

static void one_failure(const char *call, int code, int after, int times, int way) {
    const prof_trace *trace;
    const char *line;
    begin_way(way);
    fail(call, after);
    fake.fail_code = code;
    fake.fails_times = times;
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    trace = session_of_all();
    CHECK(trace && test_find(trace, "zone", 0), "%s fails with %d, way %d: no trace", call, code,
          way);
    line = inside_cuda_status_line();
    CHECK(line || is_whole(trace), "%s fails with %d after %d, %d times, way %d: not said", call,
          code, after, times, way);
    fake_launch("late", 0, 10);          /* CUPTI may go on, and was not told of the end */
    if (times) {
        if (prof_cuda_get_stats().state == PROF_CUDA_UNAVAILABLE) {
            EQUAL(prof_cuda_shutdown(), PROF_OK);
            EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
        }
        fake.fails = NULL;
        trace = session_of_all();
        line = inside_cuda_status_line();
        CHECK(is_whole(trace) && !line, "%s failed with %d after %d, way %d, then: %s", call, code,
              after, way, line ? line : "not whole");
    } else CHECK(session_of_all(), "%s: no second trace", call);
    prof_cuda_shutdown();
    fake_launch("later", 0, 10);
    fake_capture_node(1);
}

/* Each function of CUPTI's and the driver's fails, once or for ever. The CPU's zones are there,
   what the GPU's lack is said under the table, and the next session has all after one failure. */
static void test_every_call(void) {
    static const int codes[] = { 1, 8, 12, 14, 21, 39, 999 };
    const uint32_t sample = test_sample();
    const char *call;
    for (size_t i = 0; (call = fake_call_name(i)) != NULL; i++)
        for (int way = 0; way < 3; way++)
            for (int after = 0; after < 4; after++)
                for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
                    for (int times = 0; times < 2; times++)
                        if (sample < 2 || !test_random(10 * sample))
                            PASS_ON(one_failure(call, codes[c], after, times, way));
    reset();
}

int main(void) {
    RUN(test_contexts_that_fail);
    RUN(test_devices_that_fail);
    RUN(test_occupancy);
    RUN(test_reasons);
    RUN(test_call_names);
    RUN(test_demangling);
    RUN(test_long_names);
    RUN(test_too_many_names);
    RUN(test_many_threads);
    RUN(test_clock_pairs);
    RUN(test_clock_goes_back);
    RUN(test_odd_correlations);
    RUN(test_odd_times);
    RUN(test_clocks_at_steps);
    RUN(test_late_records);
    RUN(test_warmup_only);
    RUN(test_footer);
    RUN(test_odd_records);
    RUN(test_calls_out_of_place);
    RUN(test_every_call);
    reset();
    return test_end();
}
