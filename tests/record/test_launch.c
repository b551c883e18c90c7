/* portable */
/* Launches: work that a device does for zones, its clock, its queues. */
#include <pthread.h>

#include "../test.h"

static const prof_device device = { PROF_DEVICE_OPENCL, 0 };
#define HOUR 3600000000000u

static void start_at_zero(void) {
    prof_desc desc = test_desc();
    test_time.step = 1;
    if (prof_start(&desc) != PROF_OK) test_fail(__FILE__, __LINE__, "prof_start");
}

static int64_t device_ns(const prof_trace *trace, const char *zone) {
    return prof_event_total(trace, test_find(trace, zone, 0)).self_device_time_total_ns;
}

/* The chrome text of a trace; the caller clears it. */
static test_text chrome(const prof_trace *trace) {
    test_text text;
    memset(&text, 0, sizeof text);
    (void)prof_write_chrome(trace, NULL, test_text_sink(&text));
    return text;
}

static void test_zones_have_their_launches(void) {
    uint32_t queue = prof_queue(device, "compute");
    uint64_t token[4];
    prof_trace *trace;
    prof_kernel list[2];
    test_text text;
    EQUAL(queue, prof_queue(device, "compute"));
    start_at_zero();
    test_time.step = 0;
    test_time.tick = 100;
    PROF_BLOCK("outer") {
        test_time.tick = 110;
        token[0] = prof_launch(queue, "matmul");
        test_time.tick = 120;
        PROF_BLOCK("inner") {
            test_time.tick = 130;
            token[1] = prof_launch(queue, "add");
            test_time.tick = 140;
        }
        token[2] = prof_launch(queue, "matmul");   /* as inner ends */
        test_time.tick = 150;
    }
    token[3] = prof_launch(queue, "free");         /* as outer ends */
    EQUAL(prof_launch_done(token[0], 1000, 1100), PROF_OK);
    EQUAL(prof_launch_done(token[2], 1200, 1230), PROF_OK);
    EQUAL(prof_launch_done(token[1], 1100, 1107), PROF_OK);
    EQUAL(prof_launch_done(token[3], 1300, 1301), PROF_OK);
    trace = prof_stop();
    EQUAL(device_ns(trace, "inner"), 7);
    EQUAL(device_ns(trace, "outer"), 130);
    EQUAL(prof_event_total(trace, test_find(trace, "outer", 0)).device_time_total_ns, 137);
    EQUAL(prof_event_kernels(trace, test_find(trace, "outer", 0), list, 2), 2);
    SAME_TEXT(list[1].name, "matmul");
    EQUAL(list[1].duration_ns, 30);
    EQUAL(prof_event_kernels(trace, test_find(trace, "matmul", 0), list, 2), 0);
    EQUAL(prof_get_stats(trace).misplaced, 1);
    text = chrome(trace);
    EQUAL(test_times(text.data, "\"ph\":\"s\",\"cat\":\"ac2g\""), 3);
    EQUAL(test_times(text.data, "\"ph\":\"f\",\"cat\":\"ac2g\""), 3);
    CHECK(strstr(text.data, "\"name\":\"add\",\"pid\":0,\"tid\":0,\"ts\":1.100,\"dur\":0.007,"
                            "\"args\":{\"Device Type\":4,\"device\":0,\"Zone parent id\":2,"
                            "\"Launch latency (us)\":0.972}"), "%s",
          strstr(text.data, "kernel"));
    CHECK(strstr(text.data, "{\"name\":\"compute\"}"), "%s", text.data);
    test_text_clear(&text);
}

/* Work that another thread launched before it had a zone, and that a third thread finishes. */
static uint64_t shared_token;
static void *launcher(void *queue) {
    shared_token = prof_launch(*(uint32_t *)queue, "k");
    PROF_BLOCK("theirs") shared_token = prof_launch(*(uint32_t *)queue, "k");
    return NULL;
}

static void *finisher(void *unused) {
    int64_t now = prof_now();
    (void)unused;
    (void)prof_launch_done(shared_token, (uint64_t)now, (uint64_t)now + 5);
    return NULL;
}

static void test_threads(void) {
    uint32_t queue = prof_queue(device, "compute");
    void *(*const work[])(void *) = { launcher, finisher };
    prof_trace *trace;
    pthread_t thread;
    EQUAL(prof_start(NULL), PROF_OK);
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread, NULL, work[i], &queue) != 0) return;
        pthread_join(thread, NULL);
    }
    trace = prof_stop();
    EQUAL(device_ns(trace, "theirs"), 5);
    EQUAL(prof_get_stats(trace).unfinished, 1);
}

/* A launch of one window that is done in the next, twice, by a wrong time, or never. */
static void test_tokens(void) {
    uint32_t queue = prof_queue(device, "compute");
    uint64_t old, token;
    prof_trace *trace;
    EQUAL(prof_launch(queue, "k"), 0);   /* no session */
    EQUAL(prof_launch_done(1, 0, 1), PROF_ERROR_STATE);
    start_at_zero();
    PROF_BLOCK("first") old = prof_launch(queue, "k");
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).unfinished, 1);
    EQUAL(device_ns(trace, "first"), 0);
    start_at_zero();
    PROF_BLOCK("second") token = prof_launch(queue, "k");
    EQUAL(prof_launch_done(old, 10, 20), PROF_ERROR_INVALID);
    EQUAL(prof_launch_done(token, 20, 10), PROF_ERROR_INVALID);
    EQUAL(prof_launch_done(token, 20, 30), PROF_OK);
    EQUAL(prof_launch_done(token, 20, 30), PROF_ERROR_INVALID);
    EQUAL(prof_launch_done(token | 0xffffffff, 20, 30), PROF_ERROR_INVALID);
    EQUAL(prof_launch_done(0, 20, 30), PROF_OK);
    EQUAL(prof_launch(prof_queue(device, "compute") + 1000, "k"), 0);
    trace = prof_stop();
    EQUAL(device_ns(trace, "second"), 10);
    EQUAL(prof_get_stats(trace).rejected, 5);
    EQUAL(prof_get_stats(trace).unfinished, 0);
}

/* Launches are kept while zones are not: of a thread that has had some, and of one that has not. */
static void *lone_launcher(void *queue) {
    shared_token = prof_launch(*(uint32_t *)queue, "lone");
    return NULL;
}

static void test_toggle(void) {
    uint32_t queue = prof_queue(device, "compute");
    prof_trace *trace;
    pthread_t thread;
    uint64_t token;
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("zone") {}
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    token = prof_launch(queue, "k");
    if (pthread_create(&thread, NULL, lone_launcher, &queue) != 0) return;
    pthread_join(thread, NULL);
    EQUAL(prof_launch_done(token, 10, 20), PROF_OK);
    EQUAL(prof_launch_done(shared_token, 10, 20), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).misplaced, 2);
    CHECK(test_find(trace, "k", 0) && test_find(trace, "lone", 0), "a launch is missing");
    EQUAL(prof_get_stats(trace).dropped_full, 0);
}

/* What keeps no work of devices says so, and how much it was. */
static void test_modes(void) {
    static const prof_mode modes[] = { PROF_MODE_RING, PROF_MODE_AGGREGATE };
    uint32_t queue = prof_queue(device, "compute");
    for (int i = 0; i < 2; i++) {
        prof_desc desc = test_desc();
        prof_event e;
        memset(&e, 0, sizeof e);
        e.name = "k";
        desc.mode = modes[i];
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BLOCK("zone") EQUAL(prof_launch(queue, "k"), 0);
        EQUAL(prof_submit(&e, 1), PROF_ERROR_UNSUPPORTED);
        CHECK(strstr(prof_strerror(PROF_ERROR_UNSUPPORTED), "PROF_MODE_TRACE"), "%s",
              prof_strerror(PROF_ERROR_UNSUPPORTED));
        EQUAL(prof_get_stats(prof_stop()).not_kept, 2);
    }
}

/* A device that was added is not started where nothing of it is kept; table and head say why. */
static int started;
static prof_result start_device(void *user) {
    (void)user;
    started++;
    return PROF_OK;
}

static void test_device_in_modes(void) {
    static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_RING, PROF_MODE_AGGREGATE };
    prof_device_desc d;
    memset(&d, 0, sizeof d);
    d.name = "Board";
    d.type = PROF_DEVICE_FPGA;
    d.activity = PROF_ACTIVITY_PRIVATEUSE1;
    d.start = start_device;
    EQUAL(prof_add_device(&d), PROF_OK);
    for (int i = 0; i < 3; i++) {
        prof_desc desc = test_desc();
        test_text text;
        memset(&text, 0, sizeof text);
        desc.mode = modes[i];
        started = 0;
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BLOCK("zone") {}
        EQUAL(prof_write_table(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
        EQUAL(started, !i);
        EQUAL(strstr(text.data, "Board: this session keeps no work of devices") != NULL, i > 0);
        test_text_clear(&text);
        desc.activities = PROF_ACTIVITY_PRIVATEUSE1;   /* where nothing else is asked for */
        EQUAL(prof_start(&desc), i ? PROF_ERROR_UNSUPPORTED : PROF_OK);
        CHECK(!i || strstr(prof_strerror(PROF_ERROR_UNSUPPORTED), "keeps no work of devices"), "%s",
              prof_strerror(PROF_ERROR_UNSUPPORTED));
        (void)prof_stop();
    }
}

/* A clock an hour ahead and 100 ppm fast, or in units of its own: kernels stand where they ran, and
   belong to the zones whose calls were by the host's clock. */
static void test_clocks(void) {
    static const struct { uint64_t per_million; int64_t length; } clocks[] = {
        { 1000100, 1000 }, { 2500000, 400 } };
    uint32_t queue = prof_queue(device, "compute");
    for (int c = 0; c < 2; c++) {
        const uint64_t rate = clocks[c].per_million;
        prof_trace *trace;
        uint64_t token;
        test_text text;
        start_at_zero();
        for (uint64_t i = 0; i <= 10; i++) {
            uint64_t now = i * 100000000, to = HOUR + now * rate / 1000000;
            test_time.tick = now;
            EQUAL(prof_device_clock(device, (int64_t)now, to), PROF_OK);
            PROF_BLOCK("zone") {
                token = prof_launch(queue, "k");
                test_time.tick = now + 10;
            }
            now += 50000;
            to = HOUR + now * rate / 1000000;
            EQUAL(prof_launch_done(token, to, to + 1000), PROF_OK);
        }
        EQUAL(prof_device_clock(device, 5000, HOUR + 5000), PROF_ERROR_INVALID);
        trace = prof_stop();
        EQUAL(prof_get_stats(trace).misplaced, 0);
        for (int i = 0; i <= 10; i++) {
            const prof_event *k = test_find(trace, "k", i);
            int64_t off = k ? k->start_ns - (i * 100000000 + 50000) : 99;
            CHECK(off >= -2 && off <= 2, "kernel %d is off by %lld ns", i, (long long)off);
            EQUAL(k->end_ns - k->start_ns, clocks[c].length);
        }
        text = chrome(trace);
        CHECK(strstr(text.data, "\"device_clocks\":[{\"device\":\"opencl 0\",\"pairs\":11,"),
              "%.900s", text.data);
        CHECK(strstr(text.data, "\"error_ns\":0}]"), "%.900s", text.data);
        test_text_clear(&text);
    }
}

/* A clock that jumps, and one that is wrong: both are told. */
static void test_odd_clocks(void) {
    uint32_t queue = prof_queue(device, "compute");
    uint64_t token = 0, i;
    prof_trace *trace;
    test_text text;
    start_at_zero();
    PROF_BLOCK("zone") token = prof_launch(queue, "k");
    for (i = 1; i <= 6; i++)
        EQUAL(prof_device_clock(device, (int64_t)i * 1000000, i * 1000000 + (i > 3 ? 500000u : 0u)),
              PROF_OK);
    EQUAL(prof_launch_done(token, 6000000, 6000100), PROF_OK);
    trace = prof_stop();
    EQUAL(test_find(trace, "k", 0)->start_ns, 5500000);
    text = chrome(trace);
    CHECK(strstr(text.data, "\"error_ns\":200000}]"), "%.900s", text.data);
    test_text_clear(&text);
    start_at_zero();
    test_time.tick = 5000;
    PROF_BLOCK("zone") token = prof_launch(queue, "k");
    EQUAL(prof_launch_done(token, 100, 200), PROF_OK);
    trace = prof_stop();
    EQUAL(device_ns(trace, "zone"), 100);
    EQUAL(prof_get_stats(trace).misplaced, 1);
}

/* A driver may tell any times, by any clock: no event ends before it begins. */
static void test_any_times(void) {
    static const uint64_t times[] = { 0, 1, 1000, INT64_MAX - 5, INT64_MAX, INT64_MAX + (uint64_t)1,
                                      UINT64_MAX - 1, UINT64_MAX };
    static const struct { int64_t ns; uint64_t units; } paces[] = {
        { 1, 1 }, { 1000, 1 }, { 1, 1000 }, { INT64_MAX / 4, 1 }, { 1, UINT64_MAX / 4 } };
    uint32_t queue = prof_queue(device, "compute");
    for (uint32_t c = 0; c < 6; c++) {
        const prof_event *e;
        prof_trace *trace;
        test_text text;
        size_t count;
        start_at_zero();
        EQUAL(prof_device_clock(device, -1, 0), PROF_ERROR_INVALID);
        EQUAL(prof_device_clock(device, INT64_MAX, 0), PROF_ERROR_INVALID);
        for (uint32_t i = 0; c && i < 3; i++)
            EQUAL(prof_device_clock(device, paces[c - 1].ns * i, paces[c - 1].units * i), PROF_OK);
        PROF_BLOCK("zone")
            for (int i = 0; i < 8; i++)
                for (int k = i; k < 8; k++)
                    EQUAL(prof_launch_done(prof_launch(queue, "k"), times[i], times[k]), PROF_OK);
        trace = prof_stop();
        e = prof_events(trace, NULL, 0, &count);
        EQUAL(count, 37);
        for (size_t i = 0; i < count; i++)
            CHECK(e[i].start_ns >= 0 && e[i].end_ns >= e[i].start_ns, "clock %u: %lld to %lld",
                  (unsigned)c, (long long)e[i].start_ns, (long long)e[i].end_ns);
        text = chrome(trace);
        EQUAL(test_times(text.data, "\"dur\":-"), 0);
        test_text_clear(&text);
    }
}

/* More queues and clocks than there is room for; what a session is needed for. */
static void test_limits(void) {
    prof_device d = { PROF_DEVICE_METAL, 0 };
    char name[64];
    uint32_t last = 0;
    EQUAL(prof_device_clock(d, 0, 0), PROF_ERROR_STATE);
    EQUAL(prof_device_ns(d, 77), 77);
    memset(name, 'n', sizeof name);
    name[63] = 0;
    EQUAL(prof_queue(d, name), prof_queue(d, name));   /* 47 bytes of it count */
    start_at_zero();
    for (int i = 0; i < 17; i++) {
        d.index = (int8_t)i;
        EQUAL(prof_device_clock(d, 10, 1000), i < 16 ? PROF_OK : PROF_ERROR_MEMORY);
        if (i < 16) EQUAL(prof_device_ns(d, 1005), 15);
    }
    d.index = 0;                         /* many pairs: every second one goes, the line stays */
    for (int i = 1; i < 500; i++)
        EQUAL(prof_device_clock(d, 10 + i * 1000, 1000 + (uint64_t)i * 2000), PROF_OK);
    EQUAL(prof_device_ns(d, 1000 + 250 * 2000 + 10), 10 + 250 * 1000 + 5);
    EQUAL(prof_device_ns(d, 1000 + 600 * 2000), 10 + 600 * 1000);
    EQUAL(prof_device_ns(d, 0), 0);      /* no time is before the session */
    prof_stop();
    for (int i = 0; i < 70; i++) {
        name[0] = (char)('0' + i);
        last = prof_queue(d, name);
    }
    EQUAL(last, PROF_NONE);
    EQUAL(prof_launch(last, "k"), 0);
}

/* Work that overlaps in a queue stands in rows of its own; queues are rows with names. */
static void test_queues(void) {
    static const int64_t times[][2] = { { 0, 50 }, { 30, 80 }, { 35, 40 }, { 60, 70 } };
    const prof_device other = { PROF_DEVICE_VULKAN, 1 };
    uint32_t queue = prof_queue(device, "out of order"), second = prof_queue(device, "copies");
    prof_trace *trace;
    test_text text;
    start_at_zero();
    PROF_BLOCK("zone") {
        for (size_t i = 0; i < 4; i++)
            EQUAL(prof_launch_done(prof_launch(queue, &"abcd"[i]), (uint64_t)times[i][0] + 9000,
                                   (uint64_t)times[i][1] + 9000), PROF_OK);
        for (size_t i = 0; i < 20; i++)
            EQUAL(prof_launch_done(prof_launch(second, "copy"), 9000, 9100), PROF_OK);
        EQUAL(prof_launch_done(prof_launch(prof_queue(other, NULL), "draw"), 9000, 9001), PROF_OK);
    }
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).misplaced, 12);
    text = chrome(trace);
    EQUAL(test_times(text.data, "{\"name\":\"out of order\"}"), 1);
    EQUAL(test_times(text.data, "{\"name\":\"out of order (3)\"}"), 1);
    EQUAL(test_times(text.data, "{\"name\":\"out of order (4)\"}"), 0);
    EQUAL(test_times(text.data, "{\"name\":\"copies (8)\"}"), 1);
    CHECK(strstr(text.data, "\"labels\":\"OPENCL 0\"") &&
              strstr(text.data, "\"labels\":\"VULKAN 1\""), "labels");
    test_text_clear(&text);
}

/* What a launch takes of the arena with its event, when all is full, and that none is lost silently
   then. */
static void test_memory(void) {
    static uint64_t memory[1 << 17];
    uint32_t queue = prof_queue(device, "compute");
    uint64_t used[2], launched = 0, before;
    prof_trace *trace;
    test_text text;
    EQUAL(prof_start(NULL), PROF_OK);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 6400; k++)
            EQUAL(prof_launch_done(prof_launch(queue, "k"), 0, 1), PROF_OK);
        used[i] = prof_get_stats(NULL).bytes_used;
    }
    prof_stop();
    CHECK(used[1] - used[0] <= 6400 * 160 + 1600, "%u bytes a launch",
          (unsigned)((used[1] - used[0]) / 6400));
    for (int full = 0; full < 2; full++) {
        prof_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        desc.max_threads = 2;
        launched = 0;
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BLOCK("zone")
            for (int k = 0; k < 20000; k++) {
                uint64_t token = prof_launch(queue, "k");
                if (full) PROF_BLOCK("other") {}
                launched += token != 0;
                EQUAL(prof_launch_done(token, 0, 1), PROF_OK);
            }
        trace = prof_stop();
        before = prof_get_stats(trace).dropped_full;
        CHECK(launched > 500 && launched < 20000 && before >= 20000 - launched, "%u launched",
              (unsigned)launched);
        /* Of a coarse clock some begin in one tick with the zone behind them. misplaced: where the
           timeline has ended. */
        CHECK(prof_event_total(trace, test_find(trace, "zone", 0)).device_time_total_ns +
                  (int64_t)prof_get_stats(trace).misplaced >= (int64_t)launched, "some are lost");
        text = chrome(trace);
        EQUAL(test_times(text.data, "\"cat\":\"kernel\""), launched);
        test_text_clear(&text);
    }
}

int main(void) {
    RUN(test_zones_have_their_launches);
    RUN(test_threads);
    RUN(test_tokens);
    RUN(test_toggle);
    RUN(test_modes);
    RUN(test_clocks);
    RUN(test_odd_clocks);
    RUN(test_any_times);
    RUN(test_queues);
    RUN(test_memory);
    RUN(test_device_in_modes);
    RUN(test_limits);                    /* the last: no queue is left then */
    return test_end();
}
