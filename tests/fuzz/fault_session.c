/* Sessions where something fails; run by test_faults.sh in two ways:
     fault_session sinks          each write of each sink fails in turn, once and for ever
     fault_session stream FILE    writes a raw stream, for prof decode
     fault_session files FOLDER   files, threads, clocks; faults.py makes system calls fail.
     fault_session cuda           kernels, of fake_cupti.c where that is libcupti and libcuda
     fault_session child          the program that prof record runs
   Prints what went wrong as "not ok", and the number of faults as "N faults". */
#include "../test.h"
#include "../../prof_cuda.h"
#include "../../tools/prof/raw_read.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>

static unsigned long faults;
extern int faults_pause __attribute__((weak));   /* of tests/fuzz/faults.c, where it is loaded */

static void pause_faults(int on) {
    if (&faults_pause) faults_pause = on;
}

/* ---- Sinks ---- */

/* A sink whose write number fail_at fails, or from then on all. */
typedef struct bad_sink {
    test_text text;
    size_t calls, fail_at;
    bool for_ever;
} bad_sink;

static bool bad_write(void *user, const void *data, size_t size) {
    bad_sink *bad = (bad_sink *)user;
    bad->calls++;
    if (bad->fail_at && (bad->for_ever ? bad->calls >= bad->fail_at : bad->calls == bad->fail_at))
        return false;
    return test_text_write(&bad->text, data, size);
}

static prof_sink sink_of(bad_sink *bad) {
    prof_sink sink = { bad_write, NULL };
    sink.user = bad;
    return sink;
}

static const prof_device cpu = { PROF_DEVICE_CPU, 0 };
static char block[64];

static void mark_all(unsigned turns) {
    static const int64_t dims[] = { 2, 3 };
    static const char *const types[] = { "float" }, *const stack[] = { "a.c(1): f" };
    prof_shape shape = { dims, NULL, 2 };
    uint64_t flow = prof_flow(0);
    unsigned i;
    prof_set_thread_name("main \"thread\"");
    for (i = 0; i < turns; i++) {
        prof_async range = prof_async_begin("range");
        PROF_BEGIN("outer");
        prof_push(test_odd_names[i % TEST_ODD_NAMES]);
        prof_set_shapes(&shape, types, 1);
        set_stack(stack, 1);
        prof_set_arg("key", "text");
        set_sequence(i, 0, 0);
        prof_memory_alloc(block + i % 64, 10, cpu);
        test_time.tick += 2345;
        prof_pop();
        PROF_END();
        prof_async_end(range);
        prof_memory_free(block + i % 64, cpu);
        prof_counter("i", i);
        prof_instant("moment");
    }
    prof_flow(flow);
}

enum { TIMELINE = TEST_WRITERS, TIMELINE_RAW, ROWS, DUMP, ALL_WRITERS };

static prof_result write_one(const prof_trace *trace, int writer, bad_sink *bad) {
    static prof_average rows[64];
    prof_memory_desc raw;
    size_t n;
    switch (writer) {
    case TIMELINE: return prof_write_memory_timeline(trace, NULL, sink_of(bad));
    case TIMELINE_RAW:
        memset(&raw, 0, sizeof raw);
        raw.raw = true;
        return prof_write_memory_timeline(trace, &raw, sink_of(bad));
    case ROWS:
        n = prof_key_averages(trace, NULL, rows, 64);
        return prof_write_rows(rows, n, NULL, NULL, sink_of(bad));
    case DUMP: return prof_dump(sink_of(bad));
    default: break;
    }
    bad->text.fail_at = bad->for_ever ? bad->fail_at : 0;   /* these know only for ever */
    return test_write(trace, writer, &bad->text);
}

static void fail_everywhere(const prof_trace *trace, int writer) {
    bad_sink whole, part;
    size_t calls;
    memset(&whole, 0, sizeof whole);
    EQUAL(write_one(trace, writer, &whole), PROF_OK);
    calls = whole.calls + whole.text.calls * (whole.calls == 0);
    CHECK(calls > 0, "nothing written");
    for (size_t at = 1; at <= 2 * calls; at++) {
        memset(&part, 0, sizeof part);
        part.fail_at = (at + 1) / 2;
        part.for_ever = at % 2 || writer < TEST_WRITERS;
        EQUAL(write_one(trace, writer, &part), PROF_ERROR_SINK);
        EQUAL(part.calls + part.text.calls * (part.calls == 0), part.fail_at);
        CHECK(part.text.size < whole.text.size &&
                  (!part.text.size || !memcmp(part.text.data, whole.text.data, part.text.size)),
              "another beginning, cut at write %u", (unsigned)part.fail_at);
        test_text_clear(&part.text);
        faults++;
    }
    memset(&part, 0, sizeof part);
    EQUAL(write_one(trace, writer, &part), PROF_OK);
    EQUAL(part.text.size, whole.text.size);
    if (writer != DUMP) EQUAL(memcmp(part.text.data, whole.text.data, whole.text.size), 0);
    test_text_clear(&part.text);
    test_text_clear(&whole.text);
}

static void test_writers(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    int writer;
    desc.record_shapes = desc.with_flops = desc.profile_memory = true;
    desc.with_stack = PROF_STACK_ZONES;
    EQUAL(prof_start(&desc), PROF_OK);
    mark_all(300);
    trace = prof_stop();
    for (writer = 0; writer < ALL_WRITERS && !test_bad; writer++) {
        fail_everywhere(trace, writer);
        if (test_bad) test_say(" (writer %d)", writer);
    }
}

/* ---- Streams ---- */

static prof_stream_format format;

static prof_stats stream_to(bad_sink *bad) {
    static char memory[1 << 17];
    prof_desc desc = test_desc();
    int i;
    desc.mode = PROF_MODE_STREAM;
    desc.stream = sink_of(bad);
    desc.stream_format = format;
    desc.when_full = PROF_FULL_DROP;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 2;
    if (prof_start(&desc) != PROF_OK) test_fail(__FILE__, __LINE__, "prof_start");
    for (i = 0; i < 20; i++) {
        mark_all(10);
        (void)prof_flush();
    }
    (void)prof_flush();
    (void)prof_flush();
    prof_stop();
    return prof_get_stats(NULL);
}

static void count_item(void *user, const prof_raw_item *item) {
    if (item->kind == PROF_RAW_ZONE) ++*(size_t *)user;
}

/* Zones in what the sink took. */
static size_t zones_in(const test_text *text) {
    static char memory[1 << 20];
    prof_raw_desc desc;
    prof_raw *raw = NULL;
    size_t n = 0;
    if (!text->data) return 0;
    if (format == PROF_STREAM_CHROME) {
        return test_times(text->data, "\"ph\":\"X\"");
    }
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.item = count_item;
    desc.user = &n;
    if (prof_raw_open(&desc, &raw) != PROF_OK) return 0;
    prof_raw_feed(raw, text->data, text->size);
    return n;
}

static void test_streams(void) {
    for (int chrome = 0; chrome < 2; chrome++) {
        bad_sink whole, part;
        prof_stats stats;
        format = chrome ? PROF_STREAM_CHROME : PROF_STREAM_RAW;
        memset(&whole, 0, sizeof whole);
        stats = stream_to(&whole);
        EQUAL(stats.recorded, 400);
        EQUAL(zones_in(&whole.text), 400);
        for (size_t at = 1; at <= 2 * whole.calls; at++) {
            memset(&part, 0, sizeof part);
            part.fail_at = (at + 1) / 2;
            part.for_ever = at % 2;
            stats = stream_to(&part);
            CHECK(stats.stream_failures > 0, "the failure of write %u of %u was not counted",
                  (unsigned)part.fail_at, (unsigned)whole.calls);
            if (part.for_ever)
                CHECK(part.text.size <= whole.text.size, "more than all");
            else if (part.calls > part.fail_at)   /* it came again */
                CHECK(zones_in(&part.text) == stats.recorded, "write %u: %u zones of %u",
                      (unsigned)part.fail_at, (unsigned)zones_in(&part.text),
                      (unsigned)stats.recorded);
            test_text_clear(&part.text);
            faults++;
        }
        test_text_clear(&whole.text);
    }
}

/* ---- Files ---- */

static const char *folder;

static int files_open(void) {
    int n = 0;
    DIR *list;
    pause_faults(1);
    list = opendir("/proc/self/fd");
    while (list && readdir(list)) n++;
    if (list) closedir(list);
    pause_faults(0);
    return n;
}

static void *thread_marks(void *user) {
    (void)user;
    mark_all(20);
    PROF_BEGIN("left open");
    return NULL;
}

/* What the file holds is what a sink gets, or there is no file. */
static void check_saved(const prof_trace *trace, const char *name, prof_result result) {
    char path[1000];
    test_text text;
    FILE *file;
    long size = -1;
    int first = 0;
    memset(&text, 0, sizeof text);
    snprintf(path, sizeof path, "%.900s/%s", folder, name);
    file = fopen(path, "rb");
    if (file) {
        first = fgetc(file);
        fseek(file, 0, SEEK_END);
        size = ftell(file);
        fclose(file);
    }
    CHECK(result == PROF_OK || result == PROF_ERROR_FILE, "%s: result %d", name, (int)result);
    if (result == PROF_ERROR_FILE) {
        CHECK(size < 0, "%s: a file of %ld bytes after an error", name, size);
        printf("error: %s: %s\n", name, prof_strerror(result));
        return;
    }
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    if (strstr(name, ".gz")) EQUAL(first, 0x1f);
    else EQUAL(size, text.size);
    CHECK(size > 0, "%s: not there", name);
    test_text_clear(&text);
}

static void save(const prof_trace *trace, const char *name) {
    char path[1000];
    prof_result result;
    snprintf(path, sizeof path, "%.900s/%s", folder, name);
    result = prof_save_chrome(trace, path);
    pause_faults(1);
    check_saved(trace, name, result);
    pause_faults(0);
}

static void one_session(bool os_clock) {
    prof_desc desc;
    prof_trace *trace;
    prof_stats stats;
    pthread_t threads[2];
    prof_result result;
    int made = 0, left = files_open();
    memset(&desc, 0, sizeof desc);
    inside_os_clock = os_clock;
    result = prof_start(&desc);
    if (result == PROF_ERROR_UNSUPPORTED) {   /* there is no clock */
        printf("error: prof_start: %s\n", prof_strerror(result));
        return;
    }
    EQUAL(result, PROF_OK);
    mark_all(50);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[made], NULL, thread_marks, NULL) == 0) made++;
    for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
    trace = prof_stop();
    CHECK(trace != NULL, "no trace");
    stats = prof_get_stats(trace);
    EQUAL(stats.recorded, 100 + made * 41);
    EQUAL(stats.dropped, 0);
    PASS_ON(save(trace, os_clock ? "os.json" : "cpu.json"));
    PASS_ON(save(trace, os_clock ? "os.json.gz" : "cpu.json.gz"));
    EQUAL(files_open(), left);
}

static void test_os_clock(void) { one_session(true); }
static void test_cpu_clock(void) { one_session(false); }

static void test_handler(void) {
    char dir[1000];
    prof_handler handler;
    prof_desc desc;
    snprintf(dir, sizeof dir, "%.900s/made/by it", folder);
    memset(&handler, 0, sizeof handler);
    memset(&desc, 0, sizeof desc);
    handler.dir = dir;
    handler.worker = "w";
    desc.schedule.active = 1;
    desc.schedule.repeat = 2;
    desc.on_trace_ready = prof_trace_handler;
    desc.user = &handler;
    if (prof_start(&desc) != PROF_OK) printf("error: no session\n");
    for (int i = 0; i < 3; i++) {
        mark_all(5);
        prof_step();
    }
    prof_stop();
    if (handler.result != PROF_OK) printf("error: handler: %s\n", prof_strerror(handler.result));
    CHECK(handler.saved == 2 || handler.result == PROF_ERROR_FILE || test_info().step == 0,
          "%u saved, result %d", (unsigned)handler.saved, (int)handler.result);
}

static void test_table(void) {
    prof_desc desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    mark_all(3);
    if (prof_print_table(prof_stop(), NULL) != PROF_OK) fprintf(stderr, "error: the table\n");
}

/* ---- CUDA ---- */

/* The zones are there, and the kernels, or what is said about them. */
static void test_cuda(void) {
    void (*reset)(void) = NULL, (*launch)(const char *, uint32_t, uint64_t) = NULL;
    void *driver, *f;
    pause_faults(1);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver != NULL, "%s", dlerror());
    f = dlsym(driver, "fake_reset");
    memcpy(&reset, &f, sizeof f);
    f = dlsym(driver, "fake_launch");
    memcpy(&launch, &f, sizeof f);
    reset();
    pause_faults(0);
    EQUAL(prof_cuda_init(NULL), PROF_OK);
    EQUAL(prof_start(NULL), PROF_OK);
    for (int i = 0; i < 3; i++) PROF_BLOCK("zone") { launch("k", 0, 10); }
    CHECK(test_find(prof_stop(), "zone", 2) != NULL, "a zone is missing");
    if (prof_cuda_status()) printf("error: %s\n", prof_cuda_status());
    else EQUAL(prof_cuda_get_stats().kernels, 3);
}

/* ---- Under prof record ---- */

static int child(void) {
    prof_desc desc = test_desc();
    if (prof_start_env(&desc) != PROF_OK) return 1;
    mark_all(20);
    return prof_stop_env() != PROF_OK;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "child") == 0) return child();
    if (argc == 2 && strcmp(argv[1], "cuda") == 0) {
        RUN(test_cuda);
        return test_end();
    }
    if (argc == 2 && strcmp(argv[1], "sinks") == 0) {
        RUN(test_writers);
        RUN(test_streams);
        printf("%lu faults\n", faults);
    } else if (argc == 3 && strcmp(argv[1], "stream") == 0) {
        bad_sink whole;
        FILE *file = fopen(argv[2], "wb");
        memset(&whole, 0, sizeof whole);
        stream_to(&whole);
        if (!file || fwrite(whole.text.data, 1, whole.text.size, file) != whole.text.size) return 1;
        test_text_clear(&whole.text);
        return fclose(file) != 0;
    } else if (argc == 3) {
        folder = argv[2];
        RUN(test_os_clock);
        RUN(test_cpu_clock);
        RUN(test_handler);
        RUN(test_table);
        pause_faults(1);                 /* what make coverage writes at the end is not ours */
    }
    return test_end();
}
