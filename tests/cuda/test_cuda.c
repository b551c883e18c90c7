/* prof_cuda.h on a CUPTI of our own: each record is kept, or counted; kernels go to zones. */
/* build: tests/cuda/fake_cupti.c */
#include "../test.h"
#include "../inside.h"
#include "../../prof_cuda.h"
#include "../../examples/device/npu.h"
#include "../../tools/prof/raw_read.h"
#include "fake_cupti.h"
#include "fake_records.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOW = TEST_SANITIZED ? 20 : 1 };

/* ---- sessions on the fake ---- */

static prof_cuda_desc cuda_desc;
static void *cuda_memory;

/* The default settings; a test changes them before open_session. */
static void reset(void) {
    prof_cuda_shutdown();
    fake_reset();
    fake.call_ns = 500;                  /* clocks are compared to some 100 ns */
    memset(&cuda_desc, 0, sizeof cuda_desc);
    cuda_desc.symbol = fake_symbol;
}

static void open_session(const prof_desc *desc) {
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    EQUAL(prof_start(desc), PROF_OK);
}

static void close_session(void) {
    prof_cuda_shutdown();
    free(cuda_memory);
    cuda_memory = NULL;
}

static void room_for(size_t launches) {
    cuda_desc.memory_size = prof_cuda_memory_size(&cuda_desc, launches);
    cuda_desc.memory = cuda_memory = malloc(cuda_desc.memory_size);
}

static uint64_t kept(const prof_cuda_stats *s) {
    return s->kernels + s->copies + s->calls + s->other;
}

/* Each of CUPTI's records is kept, or counted as lost or skipped. */
static void check_exact(void) {
    prof_cuda_stats s = prof_cuda_get_stats();
    fake_counts f = fake_get_counts();
    EQUAL(kept(&s) + s.lost + s.unknown + s.outside + s.muted, f.records);
    EQUAL(s.lost, s.lost_dropped + s.lost_full + s.lost_overwritten);
}

/* All of them were kept. */
static void check_whole(void) {
    prof_cuda_stats s = prof_cuda_get_stats();
    fake_counts f = fake_get_counts();
    PASS_ON(check_exact());
    EQUAL(s.kernels, f.kernels);
    EQUAL(s.copies, f.copies);
    EQUAL(s.calls, f.calls);
    EQUAL(s.lost, 0);
    EQUAL(s.corrupt, 0);
    CHECK(prof_cuda_status() == NULL, "%s", prof_cuda_status());
}

static void launch_some(int n) {
    int i;
    for (i = 0; i < n; i++) PROF_BLOCK("zone") { fake_launch("_Z6vecAddPfS_S_i", 0, 500); }
}

/* Kernels that went to events of that name. */
static size_t kernels_of(const prof_trace *trace, const char *name) {
    size_t count, i, sum = 0;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < count; i++)
        if (events[i].device_type == PROF_DEVICE_CPU && strcmp(events[i].name, name) == 0)
            sum += prof_event_kernels(trace, events + i, NULL, 0);
    return sum;
}

/* ---- what a session shows ---- */

static void work(void) {
    PROF_BLOCK("outer") {
        PROF_BLOCK("inner") { fake_launch("_Z6vecAddPfS_S_i", 1, 2000); }
        fake_launch("plain name", 0, 1000);
        fake_copy(1, 1, 3, 4096, 1);
        fake_memset(512, 0);
    }
}

static void test_kernels_go_to_zones(void) {
    const prof_event *inner, *kernel, *call;
    const prof_trace *trace;
    prof_kernel launched[4];
    reset();
    PASS_ON(open_session(NULL));
    work();
    trace = prof_stop();
    PASS_ON(check_whole());
    PASS_ON(test_tree(trace));
    inner = test_find(trace, "inner", 0);
    kernel = test_find(trace, "vecAdd(float*, float*, float*, int)", 0);
    call = test_find(trace, "cudaLaunchKernel", 0);
    CHECK(inner && kernel && call, "an event is missing");
    EQUAL(prof_event_kernels(trace, inner, launched, 4), 1);
    SAME_TEXT(launched[0].name, kernel->name);
    EQUAL(launched[0].duration_ns, 2000);
    EQUAL(kernel->end_ns - kernel->start_ns, 2000);
    EQUAL(kernel->device_type, PROF_DEVICE_CUDA);
    EQUAL(kernel->extra->device_resource_id, 13);
    EQUAL(kernel->extra->device_index, 0);
    CHECK(kernel->start_ns >= call->end_ns, "the kernel starts before its launch ends");
    CHECK(test_find(trace, "inner", 0) == prof_events(trace, NULL, 0, NULL) + call->parent,
          "the call is not in its zone");
    EQUAL(kernels_of(trace, "outer"), 3);
    EQUAL(kernels_of(trace, "cudaLaunchKernel"), 0);
    EQUAL(prof_event_total(trace, test_find(trace, "outer", 0)).device_time_total_ns,
          2000 + 1000 + 4096 / 16 + 512 / 64);
    CHECK(test_find(trace, "Memcpy HtoD (Pageable -> Device)", 0), "no copy");
    CHECK(test_find(trace, "Memset (Device)", 0), "no memset");
    close_session();
}

static void test_table_and_trace(void) {
    test_text text;
    const prof_trace *trace;
    memset(&text, 0, sizeof text);
    reset();
    PASS_ON(open_session(NULL));
    work();
    trace = prof_stop();
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Self CUDA %") && strstr(text.data, "Self CUDA time total: 3.264us"),
          "%s", text.data);
    test_text_clear(&text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"ph\":\"s\""), 4);
    EQUAL(test_times(text.data, "\"ph\":\"f\""), 4);
    EQUAL(test_times(text.data, "\"cat\":\"kernel\""), 2);
    EQUAL(test_times(text.data, "\"cat\":\"cuda_runtime\""), 4);
    CHECK(strstr(text.data, "\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\","
                            "\"pid\":0,\"tid\":13,"), "no copy on its row");
    CHECK(strstr(text.data, "\"bytes\":4096,\"memory bandwidth (GB/s)\":16}"), "no bandwidth");
    CHECK(strstr(text.data, "\"correlation\":1,\"queued\":0,\"device\":0,\"context\":1,"
                            "\"stream\":13,\"registers per thread\":32,\"shared memory\":1024,"
                            "\"grid\":[264,1,1],\"block\":[256,1,1],\"blocks per SM\":2,"
                            "\"warps per SM\":16,\"est. achieved occupancy %\":25"), "no launch");
    EQUAL(test_times(text.data, "\"correlation\":"), 8);
    EQUAL(test_times(text.data, "\"correlation\":2,"), 2);   /* a kernel and its call */
    CHECK(strstr(text.data, "{\"labels\":\"GPU 0\"}}"), "no GPU row");
    CHECK(strstr(text.data, "{\"sort_index\":5000000}}"), "no place for the GPU");
    CHECK(strstr(text.data, "{\"name\":\"stream 13 \"}}"), "no stream row");
    CHECK(strstr(text.data, "\"deviceProperties\":[{\"id\":0,\"name\":\"Fake \\u0022GPU\\u0022 0\","
                            "\"totalGlobalMem\":85899345920,\"computeMajor\":9,"), "no properties");
    CHECK(strstr(text.data, "\"cupti_version\":130001,\"cuda_driver_version\":13000"), "version");
    test_text_clear(&text);
    close_session();
}

/* A raw stream has them, too, once the session stops. */
typedef struct streamed { unsigned calls, works; int64_t work_ns; } streamed;

static void take_streamed(void *user, const prof_raw_item *item) {
    streamed *s = (streamed *)user;
    if (item->kind != PROF_RAW_EVENT) return;
    s->calls += item->device_type == PROF_DEVICE_CPU;
    s->works += item->device_type == PROF_DEVICE_CUDA;
    if (item->device_type == PROF_DEVICE_CUDA) s->work_ns += item->end_ns - item->start_ns;
}

static void test_streamed(void) {
    static unsigned char memory[1 << 20];
    streamed all = { 0, 0, 0 };
    prof_raw_desc reader;
    prof_desc desc = test_desc();
    test_text text;
    prof_raw *raw;
    memset(&text, 0, sizeof text);
    memset(&reader, 0, sizeof reader);
    memset(&desc.platform, 0, sizeof desc.platform);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = test_text_sink(&text);
    reset();
    PASS_ON(open_session(&desc));
    work();
    EQUAL(prof_flush(), PROF_OK);
    (void)prof_stop();
    PASS_ON(check_whole());
    EQUAL(prof_get_stats(NULL).not_kept, 0);
    reader.memory = memory;
    reader.memory_size = sizeof memory;
    reader.item = take_streamed;
    reader.user = &all;
    EQUAL(prof_raw_open(&reader, &raw), PROF_OK);
    prof_raw_feed(raw, text.data, text.size);
    EQUAL(prof_raw_close(raw, NULL), PROF_OK);
    EQUAL(all.calls, 4);
    EQUAL(all.works, 4);
    EQUAL(all.work_ns, 2000 + 1000 + 4096 / 16 + 512 / 64);
    test_text_clear(&text);
    close_session();
}

/* A trace with one of each kind, beside the newest that Kineto has written: kineto_fields.py. */
static void test_as_kineto(void) {
    static const char trace_file[] = TEST_OUT "/kinds.json";
    char said[400] = "";
    FILE *file;
    prof_trace *trace;
    int status;
    reset();
    fake.devices = 2;
    cuda_desc.records = 511;
    PASS_ON(open_session(NULL));
    PROF_BLOCK("annotation") {
        set_annotation();
        PROF_BLOCK("zone") { work(); }
        fake_driver_call(307);
        fake_event_record(3, 1);
        fake_wait_event(3, 0);
        fake_wait_event(9, 0);           /* an event that was recorded nowhere */
        fake_overhead(1 << 16, 5000);
    }
    trace = prof_stop();
    EQUAL(prof_save_chrome(trace, trace_file), PROF_OK);
    close_session();
    if (access("../shared/traces", R_OK) != 0) SKIP("../shared/traces is not there");
    if (getenv("NO_KINETO")) SKIP("another run of this program compares them");
    if (system("python3 -c pass >/dev/null 2>&1") != 0) SKIP("no python3");
    status = system("python3 tests/cuda/kineto_fields.py " TEST_OUT "/kinds.json ../shared/traces >"
                    TEST_OUT "/kinds.txt 2>&1");
    file = fopen(TEST_OUT "/kinds.txt", "r");
    if (file) said[fread(said, 1, sizeof said - 1, file)] = 0;
    if (file) fclose(file);
    CHECK(status == 0, "%s", said);
}

/* What CUPTI 13.0 wrote on an H100: two sessions of launches on five streams, copies, waits,
   graphs. Each buffer of h100.bin is its bytes' count, when it began, and these; where a kernel's
   name stood is its number. */
int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, uint8_t **record);
static void test_real_buffers(void) {
    static const char *const names[] = { "_Z17once_empty_kernelv", "_Z9once_spinx",
                                         "_Z12once_clusterPi", "_Z10once_earlyx" };
    static const struct { const char *name; int count; } all[] = {
        { "once_empty_kernel()", 32 }, { "once_spin(long long)", 17 }, { "once_cluster(int*)", 1 },
        { "once_early(long long)", 4 }, { "cudaLaunchKernel", 43 }, { "Stream Sync", 5 },
        { "Context Sync", 3 }, { "Stream Wait Event", 1 }, { "Memset (Device)", 2 },
        { "Memcpy HtoD (Pageable -> Device)", 1 }, { "Memcpy DtoH (Device -> Pageable)", 1 } };
    static uint64_t buffer[4096];
    uint64_t head[2];
    FILE *file = fopen("tests/cuda/h100.bin", "rb");
    if (sizeof(void *) != 8) SKIP("records of 64 bits");
    CHECK(file, "tests/cuda/h100.bin is not there");
    for (int session = 0; session < 2; session++) {
        const prof_event *events, *wait;
        const prof_trace *trace;
        size_t count, i, k;
        int overlaps = 0, of_graphs = 0, with_id = 0;
        uint8_t *record = NULL;
        struct timespec now;
        prof_cuda_stats s;
        CHECK(fread(head, sizeof head, 1, file) == 1 && head[0] <= sizeof buffer &&
              fread(buffer, 1, (size_t)head[0], file) == head[0], "h100.bin is cut off");
        reset();
        clock_gettime(CLOCK_REALTIME, &now);
        fake.clock_offset = head[1] - 500000000u -   /* the start takes a while */
                            (uint64_t)now.tv_sec * 1000000000u - (uint64_t)now.tv_nsec;
        cuda_desc.records = PROF_CUDA_DEFAULT | PROF_CUDA_SYNC | PROF_CUDA_DEVICE_MEMORY |
                            PROF_CUDA_EXTERNAL_IDS;
        PASS_ON(open_session(NULL));
        while (cuptiActivityGetNextRecord((uint8_t *)buffer, (size_t)head[0], &record) == 0) {
            fake_kernel *kernel = (fake_kernel *)(void *)record;
            if (kernel->kind == 10) kernel->name = names[(uintptr_t)kernel->name - 1];
        }
        fake_deliver(buffer, (size_t)head[0], (size_t)head[0]);
        trace = prof_stop();
        events = prof_events(trace, NULL, 0, &count);
        for (i = 0; i < sizeof all / sizeof *all; i++)
            CHECK(test_find(trace, all[i].name, all[i].count - 1) &&
                  !test_find(trace, all[i].name, all[i].count), "not %d of %s", all[i].count,
                  all[i].name);
        for (i = 0; i < count; i++) {
            const prof_extra *x = events[i].extra;
            if (strncmp(events[i].name, "once_", 5) != 0) continue;
            of_graphs += strstr(x->metadata_json, "\"graph node id\"") != NULL;
            with_id += x->external_id == 77;
            for (k = 0; k < count; k++)
                if (k != i && strncmp(events[k].name, "once_", 5) == 0 &&
                    x->device_resource_id == events[k].extra->device_resource_id &&
                    events[k].start_ns <= events[i].start_ns &&
                    events[k].end_ns > events[i].start_ns) break;
            overlaps += k < count;       /* begins while one before on its stream runs */
        }
        EQUAL(overlaps, 3);
        EQUAL(of_graphs, 9);
        EQUAL(with_id, 1);
        wait = test_find(trace, "Stream Wait Event", 0);
        CHECK(!strstr(wait->extra->metadata_json, "\"wait_on_stream\":-1"), "which stream?");
        /* A sync without its call. The session lasts a few ms, the records up to 141: by what the
           rate of its pairs of clocks is off, a call's own length may reach into the next. */
        CHECK(prof_get_stats(trace).misplaced <= 3, "more than a sync and two overlaps");
        s = prof_cuda_get_stats();
        EQUAL(s.kernels, 54);
        EQUAL(s.copies, 4);
        EQUAL(s.calls, 76);
        EQUAL(s.corrupt + s.unknown + s.outside + s.no_launch + s.no_time + s.wrong_clock, 0);
        close_session();
    }
    fclose(file);
}

static void test_graph(void) {
    static const char *const nodes[] = { "a", "b", "c" };
    const prof_trace *trace;
    test_text text;
    int i;
    memset(&text, 0, sizeof text);
    reset();
    PASS_ON(open_session(NULL));
    for (i = 0; i < 10; i++) PROF_BLOCK("replay") { fake_graph(nodes, 3, 1); }
    trace = prof_stop();
    PASS_ON(check_whole());
    EQUAL(kernels_of(trace, "replay"), 30);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"graph id\":5,\"graph node id\":21474836482}"), 10);
    EQUAL(test_times(text.data, "\"ph\":\"s\""), 10);
    EQUAL(test_times(text.data, "\"ph\":\"f\""), 30);
    test_text_clear(&text);
    close_session();
}

/* Copies and fills in a graph have its ids, where CUPTI tells them; others have none, nor have
   kernels. */
static void test_graph_of_copies(void) {
    static const struct { uint32_t version, graph; int ids, nodes; } cases[] = {
        { 13, 6, 0, 3 }, { 16, 6, 0, 3 }, { 19, 6, 3, 3 }, { 130001, 6, 3, 3 },
        { 130001, 0, 0, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_text text;
        memset(&text, 0, sizeof text);
        reset();
        fake.version = cases[i].version;
        fake.devices = 2;
        PASS_ON(open_session(NULL));
        fake.graph_copies = cases[i].graph;
        fake_copy(1, 1, 3, 4096, 1);
        fake_copy_peer(0, 1, 4096, 1);
        fake_memset(512, 1);
        fake_launch("k", 1, 1000);
        EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
        EQUAL(test_times(text.data, "\"graph id\":6"), cases[i].ids);
        EQUAL(test_times(text.data, "\"graph id\""), cases[i].ids);
        for (int node = 7; node < 10; node++) {
            char says[40];
            snprintf(says, sizeof says, "\"graph node id\":%llu}",
                     (unsigned long long)cases[i].graph << 32 | (unsigned)node);
            EQUAL(test_times(text.data, says), cases[i].nodes != 0);
        }
        EQUAL(test_times(text.data, "\"graph node id\""), cases[i].nodes);
        test_text_clear(&text);
        close_session();
    }
}

/* Kernels of a replay tell the zones in which their graph was captured, in that session or in later
   ones of the process; the capture's trace lists the nodes. */
static void test_captured_in(void) {
    static const char *const nodes[] = { "a", "b", "c" };
    static const char wanted[] = "\"graph id\":5,\"graph node id\":21474836480,\"captured in\":"
                                 "\"for\\u0022ward (test_cuda.c:";
    const prof_event *e;
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    for (int session = 0; session < 3; session++) {
        const prof_trace *trace;
        EQUAL(prof_start(NULL), PROF_OK);
        if (session == 0) {
            PROF_BLOCK("for\"ward") {
                fake_capture_node(0);
                PROF_BLOCK("attention") { fake_capture_node(1); }
            }
            fake_capture_node(2);             /* in no zone */
            PROF_BLOCK("instantiate") { fake_instantiate(3); }
        }
        if (session) PROF_BLOCK("replay") { fake_graph(nodes, 3, 1); }
        if (session == 2) fake.fails = "cuptiGetGraphNodeId";
        if (session == 2) fake.fail_code = 1;
        if (session == 2) PROF_BLOCK("none") { fake_capture_node(9); }
        fake.fails = NULL;
        trace = prof_stop();
        EQUAL(prof_cuda_get_stats().captured, session ? 0 : 4);
        if (!session) PASS_ON(check_exact());
        EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
        EQUAL(test_times(text.data, wanted), session != 0);
        EQUAL(test_times(text.data, "\"captured in\":\"for\\u0022ward (test_cuda.c:"),
              session ? 1 : 2);
        EQUAL(test_times(text.data, "\"captured in\":\"attention (test_cuda.c:"),
              session ? 1 : 2);
        EQUAL(test_times(text.data, "\"captured in\":"), session ? 2 : 4);
        EQUAL(test_times(text.data, "\"(captured graph node)\""), session ? 0 : 4);
        e = test_find(trace, "(captured graph node)", 1);
        CHECK(session || (e && e->parent == (uint32_t)(test_find(trace, "attention", 0) -
                                                       prof_events(trace, NULL, 0, NULL))),
              "not in its zone");
        EQUAL(kernels_of(trace, "replay"), session ? 3 : 0);
        test_text_clear(&text);
    }
    close_session();
}

/* Nodes as large models have them, and more than there is room for: the rest is counted, told. */
static void test_many_nodes(void) {
    enum { MOST = 65536 };
    reset();
    PASS_ON(open_session(NULL));
    PROF_BLOCK("zone") {
        for (uint32_t i = 0; i < MOST + 100; i++) fake_capture_node(i);
    }
    prof_stop();
    EQUAL(prof_cuda_get_stats().captured, MOST);
    EQUAL(prof_cuda_get_stats().names_lost, 100);
    CHECK(strstr(inside_cuda_status_line(), "nodes of graphs, that did not fit: 100"), "%s",
          inside_cuda_status_line());
    close_session();
}

/* A kernel's priority, where CUPTI tells it; a runtime whose version nobody can tell. */
static void test_priority(void) {
    static const uint32_t versions[] = { 19, 130001, 130100, 140000 };
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        test_text text;
        memset(&text, 0, sizeof text);
        reset();
        fake.version = versions[i];
        PASS_ON(open_session(NULL));
        fake_launch("k", 1, 1000);
        fake_launch("k", 2, 1000);
        EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
        EQUAL(test_times(text.data, "\"priority\":-13}"), versions[i] >= 130100);
        EQUAL(test_times(text.data, "\"priority\""), versions[i] >= 130100 ? 2 : 0);
        test_text_clear(&text);
        close_session();
    }
}

/* Versions with faults that NVIDIA mended: which graph launch a kernel is of, from a process's
   second session on; a stop that hangs. */
static void test_faulty_versions(void) {
    static const struct { uint32_t version; bool graphs, stop; } cases[] = {
        { 28, false, false }, { 130000, true, true }, { 130001, true, false },
        { 130100, true, false }, { 130101, false, false } };
    static const char *const nodes[] = { "a", "b" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line;
        reset();
        fake.version = cases[i].version;
        PASS_ON(open_session(NULL));     /* another one came before this test */
        fake_graph(nodes, 2, 1);
        launch_some(1);
        prof_stop();
        line = inside_cuda_status_line();
        EQUAL(prof_cuda_get_stats().kernels, 3);
        EQUAL(prof_cuda_get_stats().graph_doubts, cases[i].graphs ? 2 : 0);
        CHECK((line != NULL) == cases[i].graphs, "%u: %s", (unsigned)cases[i].version, line);
        CHECK(!line || strstr(line, "wrong graph launch, as CUDA 13.1"), "%s", line);
        CHECK((line && strstr(line, "a stop can hang")) == cases[i].stop, "%s", line);
        close_session();
    }
}

/* Kernels that CUPTI gave to another launch of a graph: those that begin before that are known. */
static void test_mixed_graphs(void) {
    static const char *const nodes[] = { "a", "b" };
    const prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    fake.mixed_graphs = true;
    fake.latency_ns = 0;
    fake.call_ns = 5000;
    PASS_ON(open_session(NULL));
    for (int i = 0; i < 5; i++) fake_graph(nodes, 2, 1);
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).misplaced, 2 * 4);
    EQUAL(prof_cuda_get_stats().graph_doubts, 2 * 5);
    EQUAL(prof_cuda_get_stats().no_launch, 2);   /* of the last: there is no next call */
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "before or without their launch") &&
              strstr(text.data, "wrong graph launch"), "%s", text.data);
    test_text_clear(&text);
    close_session();
}

/* A made-up device (examples/device) beside the GPU: rows and ids of its own; the table has one
   column for both. */
static void test_beside_another_device(void) {
    const prof_trace *trace;
    static bool joined;
    prof_desc desc;
    test_text text;
    memset(&desc, 0, sizeof desc);
    memset(&text, 0, sizeof text);
    reset();
    if (!joined) EQUAL(npu_join(), PROF_OK);
    joined = true;
    desc.profile_memory = true;
    PASS_ON(open_session(&desc));
    PROF_BLOCK("outer") {
        fake_launch("gemm", 0, 3000);
        PROF_BLOCK("inner") {
            npu_launch("dot", 5000);
            npu_launch("dot", 6000);
            npu_launch("sum", 7000);
            npu_alloc(&desc, 4096);
        }
        npu_free(&desc);
    }
    trace = prof_stop();
    PASS_ON(check_whole());
    EQUAL(kernels_of(trace, "outer"), 1);
    EQUAL(kernels_of(trace, "inner"), 3);
    EQUAL(prof_event_total(trace, test_find(trace, "inner", 0)).device_time_total_ns, 18000);
    EQUAL(prof_event_total(trace, test_find(trace, "inner", 0)).device_memory_usage, 4096);
    EQUAL(prof_event_total(trace, test_find(trace, "outer", 0)).device_memory_usage, 0);
    EQUAL(prof_get_stats(trace).misplaced, 0);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Self DEVICE time total: 21.000us\n"), "%s", text.data);
    test_text_clear(&text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"ph\":\"s\""), 4);
    EQUAL(test_times(text.data, "\"ph\":\"f\""), 4);
    EQUAL(test_times(text.data, "{\"name\":\"compute\"}"), 1);
    CHECK(strstr(text.data, "\"labels\":\"CUDA 0\"") && strstr(text.data, "\"labels\":\"NPU 0\""),
          "labels");
    test_text_clear(&text);
    close_session();
}

static void test_devices_and_streams(void) {
    const prof_trace *trace;
    prof_cuda_device device;
    test_text text;
    int i;
    memset(&text, 0, sizeof text);
    reset();
    fake.devices = 3;
    PASS_ON(open_session(NULL));
    for (i = 0; i < 12; i++) {
        fake_device(i % 3);
        PROF_BLOCK("zone") { fake_launch("k", (uint32_t)(i % 4), 1000); }
    }
    fake_copy_peer(2, 0, 1 << 20, 3);
    trace = prof_stop();
    PASS_ON(check_whole());
    EQUAL(kernels_of(trace, "zone"), 12);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"thread_name\",\"ts\":0.000,\"pid\":2,"), 4);
    CHECK(strstr(text.data, "{\"labels\":\"GPU 2\"}}"), "no third GPU");
    CHECK(strstr(text.data, "Memcpy PtoP (Device -> Device)"), "no copy");
    CHECK(strstr(text.data, "\"fromDevice\":2,\"inDevice\":2,\"toDevice\":0,\"fromContext\":3,"
                            "\"inContext\":3,\"toContext\":1,\"bytes\":1048576,"), "its ends");
    CHECK(prof_cuda_get_device(2, &device) && device.sm_count == 132, "properties");
    CHECK(!prof_cuda_get_device(3, &device) && !prof_cuda_get_device(-1, &device), "a fourth GPU");
    test_text_clear(&text);
    close_session();
}

/* Kernels of many shapes, in turns: each has the text of its own. */
static void test_many_shapes(void) {
    const prof_trace *trace;
    int i;
    reset();
    fake.devices = 8;
    PASS_ON(open_session(NULL));
    for (i = 0; i < 1024; i++) {
        fake_device(i % 8);
        PROF_BLOCK("zone") { fake_launch("k", (uint32_t)(i / 8 % 64), 1000); }
    }
    fake_device(0);
    trace = prof_stop();
    for (i = 0; i < 1024; i++) {
        const prof_event *k = test_find(trace, "k", i);
        char says[64];
        CHECK(k, "no kernel %d", i);
        snprintf(says, sizeof says, "\"device\":%d,\"context\":%d,\"stream\":%lld,",
                 (int)k->extra->device_index, (int)k->extra->device_index + 1,
                 (long long)k->extra->device_resource_id);
        CHECK(strstr(k->extra->metadata_json, says), "%s: %s", says, k->extra->metadata_json);
    }
    close_session();
}

/* What an annotation launched shows on the streams' rows too. */
static void test_annotations_cover_the_gpu(void) {
    const prof_trace *trace;
    test_text text;
    uint32_t i;
    memset(&text, 0, sizeof text);
    reset();
    cuda_desc.records = PROF_CUDA_DEFAULT | PROF_CUDA_MARKERS;
    PASS_ON(open_session(NULL));
    for (i = 0; i < 3; i++) {
        fake_marker(i, 2, i == 1 ? "second" : "other");
        PROF_BLOCK("zone") {
            fake_launch("k", 1, 1000);
            fake_launch("k", 1, 1000);
        }
        fake_launch("k", 2, 1000);
        fake_marker(i, 4, NULL);
    }
    fake_launch("k", 3, 1000);
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"cat\":\"gpu_user_annotation\",\"name\":\"second\""), 2);
    EQUAL(test_times(text.data, "\"cat\":\"gpu_user_annotation\""), 6);
    test_text_clear(&text);
    close_session();
}

static void test_steps_cover_the_gpu(void) {
    prof_desc desc;
    const prof_trace *trace;
    test_text text;
    int i;
    memset(&text, 0, sizeof text);
    memset(&desc, 0, sizeof desc);
    desc.schedule.active = 3;
    desc.schedule.repeat = 1;
    reset();
    PASS_ON(open_session(&desc));
    for (i = 0; i < 3; i++) {
        fake_launch("k", 1, 1000);
        fake_launch("k", 2, 1000);
        if (i < 2) prof_step();
    }
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"cat\":\"gpu_user_annotation\",\"name\":\"ProfilerStep#1\""), 2);
    EQUAL(test_times(text.data, "\"cat\":\"gpu_user_annotation\""), 6);
    EQUAL(test_times(text.data, "\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\""), 1);
    EQUAL(kernels_of(trace, "ProfilerStep*"), 6);
    test_text_clear(&text);
    close_session();
}

/* ---- versions, and records of the future ---- */

static void check_version(uint32_t version, uint32_t tail, bool shared) {
    reset();
    fake.version = version;
    fake.tail = tail;
    fake.unknown_every = 7;
    cuda_desc.shared_buffers = shared;
    cuda_desc.buffer_size = 4096;
    PASS_ON(open_session(NULL));
    launch_some(500);
    work();
    prof_stop();
    PASS_ON(check_exact());
    EQUAL(prof_cuda_get_stats().unknown, 502 / 7);
    EQUAL(prof_cuda_get_stats().kernels, 502);
    EQUAL(prof_cuda_get_stats().copies, 2);
    EQUAL(prof_cuda_get_stats().cupti_version, version);
    EQUAL(prof_cuda_get_stats().no_launch, 0);
    close_session();
}

static void test_versions(void) {
    static const uint32_t versions[] = { 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 27, 28, 130000,
                                         130001, 130100, 130300, 140000 };
    size_t i;
    for (i = 0; i < sizeof versions / sizeof *versions; i++) {
        PASS_ON(check_version(versions[i], 0, false));
        PASS_ON(check_version(versions[i], 0, true));
    }
    PASS_ON(check_version(140000, 40, false));
}

/* From 13.3 on one may record beside another, if that allows it. */
static void test_beside_other_subscribers(void) {
    static const struct {
        uint32_t version;
        const char *other, *missing;
        bool other_multi, no_ids, works, multi;
    } cases[] = {
        { 28, "CUPTI for x", NULL, false, false, false, false },
        { 130001, "CUPTI for x", NULL, false, false, false, false },
        { 130001, NULL, NULL, false, false, true, false },
        { 130300, "CUPTI for x", NULL, true, false, true, true },
        { 130300, "CUPTI for x", NULL, false, false, false, false },
        { 130300, NULL, NULL, false, false, true, false },
        { 130300, "CUPTI for x", NULL, true, true, false, false },
        { 130300, "CUPTI for x", "cuptiActivityEnable_v2", true, false, false, false },
        { 130300, "CUPTI for x", "cuptiSubscribe_v2", true, false, false, false }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int session = 0; session < 2; session++) {
            const prof_trace *trace;
            test_text text;
            const char *why;
            memset(&text, 0, sizeof text);
            if (!session) {
                reset();
                fake.version = cases[i].version;
                fake.missing = cases[i].missing;
                fake.no_thread_ids = cases[i].no_ids;
                cuda_desc.records = PROF_CUDA_DEFAULT | PROF_CUDA_DRIVER | PROF_CUDA_EXTERNAL_IDS;
                EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
            }
            fake.other = cases[i].other;
            fake.other_multi = cases[i].other_multi;
            EQUAL(prof_start(NULL), PROF_OK);
            prof_cuda_push_id(77);
            work();
            prof_cuda_pop_id();
            fake_runtime_call(17);       /* dull */
            trace = prof_stop();
            why = prof_cuda_status();
            EQUAL(prof_cuda_get_stats().kernels, cases[i].works ? 2 : 0);
            EQUAL(kernels_of(trace, "outer"), cases[i].works ? 3 : 0);
            EQUAL(prof_cuda_get_stats().other, cases[i].works ? 4 : 0);
            CHECK((why == NULL) == cases[i].works, "case %u: %s", (unsigned)i, why);
            CHECK(!why || cases[i].missing || cases[i].version < 28 ||
                      strstr(why, "end it (CUPTI for x)"), "case %u: %s", (unsigned)i, why);
            EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
            EQUAL(test_times(text.data, "\"multi_subscriber\":1"), cases[i].multi);
            EQUAL(test_times(text.data, "\"External id\":77"), cases[i].works ? 8 : 0);
            test_text_clear(&text);
        }
    close_session();
}

/* The hardware's time stamps: only where they are asked for, and there. */
static void test_hardware_trace(void) {
    for (int i = 0; i < 8; i++) {
        bool asks = i & 1, has = i & 2;
        test_text text;
        memset(&text, 0, sizeof text);
        reset();
        fake.version = i & 4 ? 130300 : 28;
        fake.other = i & 4 ? "CUPTI for x" : NULL;
        fake.other_multi = true;
        fake.no_hardware = !has;
        cuda_desc.hardware_trace = asks;
        PASS_ON(open_session(NULL));
        launch_some(3);
        EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
        EQUAL(fake_get_counts().hardware, asks && has);
        EQUAL(prof_cuda_get_stats().kernels, 3);
        EQUAL(test_times(text.data, "\"hardware_trace\":1"), asks && has);
        test_text_clear(&text);
        close_session();
    }
}

static void test_too_old(void) {
    reset();
    fake.version = 12;
    PASS_ON(open_session(NULL));
    launch_some(3);
    prof_stop();
    CHECK(strstr(prof_cuda_status(), "too old"), "%s", prof_cuda_status());
    EQUAL(prof_cuda_get_stats().kernels, 0);
    close_session();
}

/* ---- buffers ---- */

static void *launch_thread(void *n) {
    prof_set_thread_name("launcher");
    launch_some(*(int *)n);
    return NULL;
}

static void launch_in_threads(int threads, int n) {
    pthread_t thread[8];
    int i;
    for (i = 0; i < threads; i++) pthread_create(&thread[i], NULL, launch_thread, &n);
    for (i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}

/* Buffers are zeros each time that CUPTI gets them: it then has not to clear them. */
static void test_buffers_are_zeros(void) {
    for (int i = 0; i < 4; i++) {
        reset();
        fake.version = i & 1 ? 130300 : 27;
        fake.other = i & 1 ? "CUPTI for x" : NULL;
        fake.other_multi = true;
        fake.check_zeros = true;
        cuda_desc.buffer_size = i & 1 ? 8192 : 4096;
        if (i >= 2) {
            room_for(100);
            memset(cuda_memory, 0xaa, cuda_desc.memory_size);
        }
        PASS_ON(open_session(NULL));
        launch_in_threads(3, 1000);
        prof_stop();
        EQUAL(fake_get_counts().dirty, 0);
        EQUAL(prof_cuda_get_stats().corrupt, 0);
        CHECK(prof_cuda_get_stats().kernels >= 100, "nothing came");
        close_session();
    }
}

static void check_threads(bool shared, bool worker, bool reverse) {
    const prof_trace *trace;
    reset();
    fake.worker = worker;
    fake.reverse = reverse;
    cuda_desc.shared_buffers = shared;
    cuda_desc.buffer_size = 8192;
    PASS_ON(open_session(NULL));
    launch_in_threads(4, 2000 / SLOW);
    trace = prof_stop();
    PASS_ON(check_whole());
    EQUAL(kernels_of(trace, "zone"), 4 * 2000 / SLOW);
    EQUAL(prof_get_stats(trace).misplaced, 0);
    close_session();
}

static void test_threads(void) {
    int i;
    for (i = 0; i < 8; i++) PASS_ON(check_threads(i & 1, i & 2, i & 4));
}

/* Two buffers for five threads: what comes without one is dropped, and counted by CUPTI. */
static void check_exhausted(uint32_t version, bool worker) {
    prof_cuda_stats s;
    reset();
    fake.version = version;
    fake.worker = worker;
    fake.latency_ns = 2000000;           /* buffers are long in coming back */
    cuda_desc.buffer_size = 4096;
    cuda_desc.pool_size = 8192;
    PASS_ON(open_session(NULL));
    launch_in_threads(5, 400);
    launch_some(400);
    prof_stop();
    s = prof_cuda_get_stats();
    EQUAL(s.buffers, 2);
    CHECK(s.no_buffer > 0, "there was always a buffer");
    CHECK(s.lost_dropped > 0, "nothing was dropped");
    EQUAL(s.corrupt, 0);
    PASS_ON(check_exact());
    CHECK(inside_cuda_status_line() != NULL, "the loss is not told");
    close_session();
}

static void test_exhausted_pool(void) {
    PASS_ON(check_exhausted(130001, false));
    PASS_ON(check_exhausted(130001, true));
    PASS_ON(check_exhausted(27, false));
}

/* A CUPTI that must have a buffer gets scratch, whose records are lost, and told. */
static void test_old_cupti_without_buffers(void) {
    reset();
    fake.version = 24;
    fake.latency_ns = 50000000;
    cuda_desc.buffer_size = 4096;
    cuda_desc.pool_size = 8192;
    PASS_ON(open_session(NULL));
    launch_some(300);
    prof_stop();
    CHECK(prof_cuda_get_stats().no_buffer > 0, "there was always a buffer");
    CHECK(prof_cuda_get_stats().lost_overwritten > 0, "nothing was lost");
    CHECK(strstr(inside_cuda_status_line(), "records lost"), "the loss is not told");
    PASS_ON(check_exact());
    close_session();
}

/* All that the real one does at once: buffers out of order, by a thread of its own, while the
   session stops; early kernels before their calls; two GPUs; threads that come and go. */
static void *nasty_thread(void *number) {
    fake_device(*(int *)number & 1);
    launch_some(50);
    return NULL;
}

static void test_nasty(void) {
    static const uint32_t versions[] = { 17, 22, 27, 28, 130001, 130100 };
    size_t i;
    int k, numbers[8];
    for (i = 0; i < sizeof versions / sizeof *versions; i++) {
        const prof_trace *trace;
        reset();
        fake.version = versions[i];
        fake.devices = 2;
        fake.slow_worker = fake.reverse = fake.kernels_first = fake.nested_driver = true;
        fake.early_ns = 20000;
        cuda_desc.buffer_size = 4096;
        PASS_ON(open_session(NULL));
        for (k = 0; k < 8; k++) {
            pthread_t a, b;
            numbers[k] = k;
            pthread_create(&a, NULL, nasty_thread, numbers + k);
            pthread_create(&b, NULL, nasty_thread, numbers + k);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
        }
        trace = prof_stop();
        PASS_ON(check_whole());
        EQUAL(prof_cuda_get_stats().buffers_missing, 0);
        EQUAL(kernels_of(trace, "zone"), 800);
        close_session();
    }
}

static void test_full_store(void) {
    prof_cuda_stats s;
    const prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    cuda_desc.pool_size = 1 << 20;
    room_for(0);
    PASS_ON(open_session(NULL));
    launch_some(5000);
    trace = prof_stop();
    s = prof_cuda_get_stats();
    CHECK(s.lost_full > 0 && s.kernels > 0, "%u lost", (unsigned)s.lost_full);
    PASS_ON(check_exact());
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "CUDA: GPU records lost: ") && strstr(text.data, "no room"), "%s",
          text.data);
    test_text_clear(&text);
    close_session();
}

static void test_million(void) {
    uint32_t n = 1000000u / (test_sample() > 1 ? 16 : 1) / SLOW, i;
    prof_cuda_stats s;
    reset();
    room_for(n);
    PASS_ON(open_session(NULL));
    for (i = 0; i < n; i++) fake_launch("kernel", i & 3, 1);
    prof_stop();
    s = prof_cuda_get_stats();
    PASS_ON(check_exact());
    EQUAL(s.kernels + s.lost_dropped, n + (s.lost_dropped ? n - s.calls : 0));
    CHECK(s.bytes_used / n <= 216, "%u bytes a launch", (unsigned)(s.bytes_used / n));
    if (!s.lost) EQUAL(s.calls, n);
    close_session();
}

/* What a launch takes of the session's memory once the trace is read. */
static void test_memory_of_a_launch(void) {
    uint64_t used[2];
    int i;
    for (i = 0; i < 2; i++) {
        reset();
        PASS_ON(open_session(NULL));
        launch_some(1000 * (i + 1));
        prof_events(prof_stop(), NULL, 0, NULL);
        used[i] = prof_get_stats(NULL).bytes_used;
        close_session();
    }
    CHECK(used[1] - used[0] <= 1000 * 1680, "%u bytes a launch with its zone",
          (unsigned)((used[1] - used[0]) / 1000));
}

/* Buffers that CUPTI keeps: late ones are of no session, and what is theirs is not given away. */
static void test_missing_buffers(void) {
    reset();
    cuda_desc.buffer_size = 4096;
    room_for(100);
    PASS_ON(open_session(NULL));
    launch_some(3);
    fake.keep_buffers = true;
    prof_stop();
    EQUAL(prof_cuda_get_stats().buffers_missing, 1);
    EQUAL(prof_cuda_shutdown(), PROF_ERROR_STATE);
    fake.keep_buffers = false;
    prof_start(NULL);
    launch_some(1);
    prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 1);
    EQUAL(prof_cuda_get_stats().outside, 6);
    EQUAL(prof_cuda_get_stats().buffers_missing, 0);
    close_session();
}

/* One that it keeps for good costs neither the stop 2 s nor the shutdown its success. */
static void test_kept_buffer(void) {
    int i;
    int64_t begin;
    reset();
    fake.keep_one = true;
    PASS_ON(open_session(NULL));
    for (i = 0; i < 3; i++) {
        if (i) prof_start(NULL);
        launch_some(10);
        begin = prof_os_now();
        prof_stop();
        CHECK(prof_os_now() - begin < 1000000000, "the stop took %lld ms",
              (long long)(prof_os_now() - begin) / 1000000);
        EQUAL(prof_cuda_get_stats().kernels, 10);
        EQUAL(prof_cuda_get_stats().buffers_missing, 1);
    }
    EQUAL(prof_cuda_shutdown(), PROF_OK);
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    prof_start(NULL);                    /* the buffer that it kept is filled, and comes back */
    launch_some(10);
    fake.keep_one = false;
    prof_stop();
    EQUAL(prof_cuda_get_stats().foreign, 0);
    EQUAL(prof_cuda_get_stats().buffers_missing, 0);
    close_session();
}

static void *short_thread(void *unused) {
    (void)unused;
    launch_some(10);
    return NULL;
}

/* Far more threads than buffers, one after the other. */
static void test_short_threads(void) {
    int i, session;
    reset();
    PASS_ON(open_session(NULL));
    for (session = 0; session < 2; session++) {
        const prof_trace *trace;
        if (session) prof_start(NULL);
        for (i = 0; i < 200; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, short_thread, NULL);
            pthread_join(thread, NULL);
        }
        trace = prof_stop();
        EQUAL(prof_cuda_get_stats().kernels, 2000);
        EQUAL(prof_cuda_get_stats().lost, 0);
        EQUAL(kernels_of(trace, "zone"), 2000);
    }
    close_session();
}

/* ---- times ---- */

static void test_no_times(void) {
    prof_cuda_stats s;
    const prof_trace *trace;
    reset();
    fake.zero_time_every = 10;
    PASS_ON(open_session(NULL));
    launch_some(100);
    trace = prof_stop();
    s = prof_cuda_get_stats();
    EQUAL(s.no_time, 10);
    EQUAL(s.kernels, 100);
    PASS_ON(check_exact());
    EQUAL(kernels_of(trace, "zone"), 90);
    close_session();
}

static void test_unfinished(void) {
    int64_t launched;
    const prof_event *kernel;
    const prof_trace *trace;
    reset();
    cuda_desc.no_sync = true;
    PASS_ON(open_session(NULL));
    launch_some(5);
    fake_launch("long", 9, 60000000000u);
    test_time.tick = 0;
    launched = prof_now();
    while (prof_now() - launched < 1000000) {}         /* it has begun */
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().unfinished, 1);
    kernel = test_find(trace, "long", 0);
    CHECK(kernel && kernel->flags & PROF_EVENT_UNFINISHED, "not flagged");
    CHECK(kernel->end_ns > kernel->start_ns && kernel->end_ns < 50000000000, "not cut at the stop");
    PASS_ON(check_exact());
    close_session();
}

/* A stop does not wait for a context of which a stream is captured: the capture would fail. */
static void test_stop_in_capture(void) {
    enum { BEGINS = 539, ENDS = 497 };
    int how;
    for (how = 0; how < 6; how++) {
        reset();
        PASS_ON(open_session(NULL));
        fake_launch("long", 9, how ? 1000 : 60000000000u);
        fake_capture_call(ENDS, 0);      /* of one that began before the session */
        fake_capture_call(BEGINS, how == 1 ? 900 : 0);
        if (how == 2) fake_capture_call(ENDS, 901);
        if (how == 3) fake_capture_call(BEGINS, 0);
        if (how == 3) fake_capture_call(ENDS, 0);
        if (how == 4) fake_capture_call(ENDS, 908);   /* of another thread: it goes on */
        if (how == 5) fake_capture_call(ENDS, 904);
        prof_stop();
        EQUAL(fake_get_counts().syncs != 0, how == 1 || how == 2 || how == 5);
        if (!how) CHECK(strstr(inside_cuda_status_line(), "was captured"), "not told");
        PASS_ON(check_exact());
        close_session();
    }
}

/* Kernels stand where they ran, whatever CUPTI's clock says of the time. */
static void test_clock_offset(void) {
    static const uint64_t offsets[] = { 0, 5000000000000u, (uint64_t)0 - 7000000000000u };
    size_t i;
    for (i = 0; i < 3; i++) {
        const prof_event *zone, *kernel;
        const prof_trace *trace;
        reset();
        fake.clock_offset = offsets[i];
        fake.latency_ns = 0;
        PASS_ON(open_session(NULL));
        PROF_BLOCK("zone") {
            int64_t now = prof_now();
            fake_launch("k", 0, 1000);
            while (prof_now() < now + 2000000) {}
        }
        trace = prof_stop();
        zone = test_find(trace, "zone", 0);
        kernel = test_find(trace, "k", 0);
        CHECK(zone && kernel, "missing");
        CHECK(kernel->start_ns > zone->start_ns - 200000 && kernel->end_ns < zone->end_ns,
              "the kernel is %lld ns after the zone's start",
              (long long)(kernel->start_ns - zone->start_ns));
        close_session();
    }
}

/* The first kernels of a session are stamped by another clock, where someone gave CUPTI one. */
static void test_head_kernels(void) {
    int session;
    reset();
    fake.clock_offset = (uint64_t)0 - 1000000000000000u;
    fake.head_kernels = 3;
    PASS_ON(open_session(NULL));
    for (session = 0; session < 3; session++) {
        const prof_trace *trace;
        const prof_event *k;
        int i;
        if (session) prof_start(NULL);
        launch_some(10);
        trace = prof_stop();
        EQUAL(prof_cuda_get_stats().kernels, 10);
        EQUAL(prof_cuda_get_stats().wrong_clock, session ? 0 : 3);
        EQUAL(kernels_of(trace, "zone"), session ? 10 : 7);
        for (i = 0; (k = test_find(trace, "vecAdd(float*, float*, float*, int)", i)) != NULL; i++)
            CHECK(k->end_ns < 100000000000, "kernel %d ends at %lld", i, (long long)k->end_ns);
        EQUAL(i, session ? 10 : 7);
        CHECK(session || strstr(inside_cuda_status_line(), "of another clock"), "not told");
    }
    close_session();
}

/* Another profiler in the process gave CUPTI a clock of two ticks a ns since boot: before the
   session, in the middle of it, and in the one after it. */
static bool by_ticks;
static uint64_t other_clock(void) {
    uint64_t ns = (uint64_t)prof_os_now();
    return by_ticks ? 2 * ns : ns + 1700000000000000000;
}

static void test_other_clocks(void) {
    int session, i;
    reset();
    fake.clock = other_clock;
    fake.call_ns = fake.latency_ns = 0;
    by_ticks = true;
    PASS_ON(open_session(NULL));
    for (session = 0; session < 4; session++) {
        const char *name = "vecAdd(float*, float*, float*, int)", *line;
        const prof_trace *trace;
        const prof_event *k;
        if (session) prof_start(NULL);
        for (i = 0; i < 20; i++) {
            int64_t now = prof_os_now();
            if (session == 1) by_ticks = false;   /* since the start */
            if (session == 2) by_ticks = i >= 10;
            PROF_BLOCK("zone") {
                fake_launch("_Z6vecAddPfS_S_i", by_ticks, by_ticks ? 1000000 : 500000);
            }
            while (prof_os_now() < now + 1000000) {}
        }
        trace = prof_stop();
        line = inside_cuda_status_line();
        EQUAL(prof_cuda_get_stats().kernels, 20);
        EQUAL(prof_cuda_get_stats().outside, 0);
        for (i = 0; (k = test_find(trace, name, i)) != NULL; i++)
            CHECK(k->end_ns - k->start_ns > 490000 && k->end_ns - k->start_ns < 510000,
                  "session %d: kernel %d takes %lld ns", session, i,
                  (long long)(k->end_ns - k->start_ns));
        EQUAL(i, session == 1 ? 0 : session == 2 ? 10 : 20);
        EQUAL(kernels_of(trace, "zone"), (size_t)i);
        CHECK(session % 3 ? line && strstr(line, "of another clock") : !line, "session %d: %s",
              session, line);
    }
    close_session();
}

/* A GPU's times are worked out: a kernel may seem to start before its launch, or the session. */
static void test_early_kernels(void) {
    static const uint64_t early[] = { 1000, 50000, 500000 };
    size_t i;
    for (i = 0; i < 3; i++) {
        const prof_trace *trace;
        prof_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.schedule.warmup = desc.schedule.active = desc.schedule.repeat = 1;
        reset();
        fake.latency_ns = 0;
        fake.kernels_first = i == 1;
        PASS_ON(open_session(&desc));
        launch_some(5);                  /* the warm-up's are not the session's all the same */
        prof_step();
        fake.early_ns = early[i];
        launch_some(20);
        trace = prof_stop();
        EQUAL(prof_cuda_get_stats().kernels, 20);
        EQUAL(prof_cuda_get_stats().outside, 10);
        EQUAL(prof_cuda_get_stats().no_launch, 0);
        EQUAL(kernels_of(trace, "zone"), 20);
        PASS_ON(check_exact());
        close_session();
    }
}

/* Two clocks that drift apart: ours, which a test moves on, and CUPTI's. */
static int64_t drift_ns, drift_ppm;
static uint64_t our_clock(void *unused) {
    (void)unused;
    return (uint64_t)drift_ns;
}
static uint64_t drifting_clock(void) {
    return (uint64_t)(1700000000000000000 + drift_ns + drift_ns / 1000000 * drift_ppm);
}

static void check_drift(int64_t ppm, int64_t seconds, bool steps, int64_t most) {
    const prof_trace *trace;
    prof_desc desc;
    int64_t i;
    memset(&desc, 0, sizeof desc);
    desc.platform.now = our_clock;
    reset();
    drift_ns = 1000000000;
    drift_ppm = ppm;
    fake.clock = drifting_clock;
    fake.call_ns = fake.latency_ns = 0;
    PASS_ON(open_session(&desc));
    for (i = 0; i < seconds; i++) {
        PROF_BLOCK("zone") {
            drift_ns += 10000;
            fake_launch("k", 0, 1000);
            drift_ns += 10000;
        }
        drift_ns += 999980000;
        if (steps) prof_step();
    }
    trace = prof_stop();
    for (i = 0; i < seconds; i++) {
        const prof_event *zone = test_find(trace, "zone", (int)i);
        const prof_event *kernel = test_find(trace, "k", (int)i);
        int64_t off;
        CHECK(zone && kernel, "kernel %d", (int)i);
        off = kernel->start_ns - zone->start_ns - 10000;
        CHECK(off > -most && off < most, "%d ppm: kernel %d is off by %lld ns", (int)ppm, (int)i,
              (long long)off);
    }
    EQUAL(kernels_of(trace, "zone"), (size_t)seconds);
    close_session();
}

static void test_drift(void) {
    PASS_ON(check_drift(20, 90, false, 2000));
    PASS_ON(check_drift(-20, 90, false, 2000));
    PASS_ON(check_drift(50, 300, false, 2000));
    PASS_ON(check_drift(-50, 300, true, 2000));
    PASS_ON(check_drift(400, 30, false, 2000));
}

static void test_before_the_session(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.schedule.warmup = 1;
    desc.schedule.active = 1;
    desc.schedule.repeat = 1;
    reset();
    PASS_ON(open_session(&desc));
    launch_some(7);                      /* CUPTI is on, nothing is recorded yet */
    for (int64_t end = prof_os_now() + 1000000; prof_os_now() < end;) {}   /* they have run */
    prof_step();
    launch_some(3);
    prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 3);
    EQUAL(prof_cuda_get_stats().outside, 14);
    PASS_ON(check_exact());
    close_session();
}

/* ---- windows, toggles ---- */

static size_t window_kernels[8], windows;
static void on_window(void *user, prof_trace *trace) {
    (void)user;
    if (windows < 8) window_kernels[windows++] = kernels_of(trace, "zone");
}

static void test_windows(void) {
    prof_desc desc;
    int step;
    memset(&desc, 0, sizeof desc);
    desc.schedule.wait = desc.schedule.warmup = 1;
    desc.schedule.active = 2;
    desc.on_trace_ready = on_window;
    windows = 0;
    reset();
    PASS_ON(open_session(&desc));
    for (step = 0; step < 12; step++) {
        launch_some(step);
        prof_step();
    }
    prof_stop();
    EQUAL(windows, 3);
    EQUAL(window_kernels[0], 2 + 3);
    EQUAL(window_kernels[1], 6 + 7);
    EQUAL(window_kernels[2], 10 + 11);
    close_session();
}

static void test_accumulated_windows(void) {
    prof_desc desc;
    int step;
    memset(&desc, 0, sizeof desc);
    desc.schedule.active = 1;
    desc.schedule.repeat = 3;
    desc.acc_events = true;
    reset();
    PASS_ON(open_session(&desc));
    for (step = 0; step < 3; step++) {
        launch_some(2);
        prof_step();
    }
    EQUAL(kernels_of(prof_stop(), "zone"), 6);
    close_session();
}

static void test_toggle(void) {
    const prof_trace *trace;
    reset();
    PASS_ON(open_session(NULL));
    launch_some(4);
    prof_toggle(PROF_ACTIVITY_CUDA, false);
    launch_some(10);
    prof_toggle(PROF_ACTIVITY_CUDA, true);
    launch_some(5);
    trace = prof_stop();
    EQUAL(kernels_of(trace, "zone"), 9);
    close_session();
}

static void test_cuda_alone(void) {
    prof_desc desc;
    const prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    desc.activities = PROF_ACTIVITY_CUDA;
    reset();
    PASS_ON(open_session(&desc));
    launch_some(4);
    trace = prof_stop();
    CHECK(!test_find(trace, "zone", 0), "a zone");
    CHECK(test_find(trace, "vecAdd(float*, float*, float*, int)", 3), "no kernel");
    EQUAL(kernels_of(trace, "cudaLaunchKernel"), 4);
    close_session();
    reset();
    fake.fails = "cuptiSubscribe";
    fake.fail_code = 39;
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    EQUAL(prof_start(&desc), PROF_ERROR_UNSUPPORTED);
    CHECK(strstr(prof_cuda_status(), "another profiler"), "%s", prof_cuda_status());
    CHECK(prof_stop() == NULL, "a session is open");
    close_session();
}

/* ---- other records ---- */

static void test_driver_calls(void) {
    int i;
    for (i = 0; i < 3; i++) {
        const prof_trace *trace;
        reset();
        fake.nested_driver = i == 1;
        fake.by_driver = i == 2;
        PASS_ON(open_session(NULL));
        launch_some(10);
        fake_runtime_call(17);           /* cudaGetDevice: of no interest */
        trace = prof_stop();
        PASS_ON(check_whole());
        EQUAL(kernels_of(trace, "zone"), 10);
        CHECK(!test_find(trace, i == 2 ? "cudaLaunchKernel" : "cuLaunchKernel", 0), "which call?");
        CHECK(test_find(trace, i == 2 ? "cuLaunchKernel" : "cudaLaunchKernel", 9), "no calls");
        EQUAL(prof_cuda_get_stats().calls, i == 1 ? 20 : 10);
        close_session();
    }
}

/* Which driver calls are of interest their names tell; the numbers are CUPTI's. */
static void test_call_choice(void) {
    static const uint32_t kept_ones[] = { 60, 216, 248, 249, 254, 307, 397, 408, 416, 514, 652,
                                          799 };
    static const uint32_t muted_ones[] = { 1, 209, 215, 243, 294, 304, 479 };
    static const uint32_t dull[] = { 10, 16, 17, 133, 134, 136, 494, 502, 503 };
    int one_by_one;
    size_t i;
    for (one_by_one = 0; one_by_one < 2; one_by_one++) {
        reset();
        fake.missing = one_by_one ? "cuptiActivityEnableRuntimeApi"
                                  : "cuptiActivityEnableDriverApi";
        PASS_ON(open_session(NULL));
        for (i = 0; i < 12; i++) fake_driver_call(kept_ones[i]);
        for (i = 0; i < 7; i++) fake_driver_call(muted_ones[i]);
        for (i = 0; i < 9; i++) fake_runtime_call(dull[i]);
        fake_runtime_call(212);          /* cudaGetDeviceFlags */
        fake_runtime_call(505);       /* __cudaLaunchKernel */
        prof_stop();
        PASS_ON(check_exact());
        EQUAL(prof_cuda_get_stats().calls, 14);
        EQUAL(prof_cuda_get_stats().muted, one_by_one ? 9 : 7);
        close_session();
    }
}

/* A record without a time is no event at 0; whose time is 0 of a call, its kernel has none. */
static void test_records_without_times(void) {
    uint64_t call[5] = { (uint64_t)211 << 32 | 5, 0, 0, 0, 900 };
    const prof_trace *trace;
    size_t count;
    reset();
    cuda_desc.records = 511;
    PASS_ON(open_session(NULL));
    fake_deliver(call, sizeof call, sizeof call);
    {
        uint64_t overhead[5] = { (uint64_t)1 << 48 | 17, 0, 0, 0, 0 };
        fake_deliver(overhead, sizeof overhead, sizeof overhead);
    }
    trace = prof_stop();
    EQUAL(prof_cuda_get_stats().no_time, 2);
    prof_events(trace, NULL, 0, &count);
    EQUAL(count, 0);
    close_session();
}

static uint32_t own_thread_id(void *unused) {
    (void)unused;
    return 77;
}

/* The platform's thread ids are not those that CUPTI tells. */
static void test_platform_threads(void) {
    const prof_trace *trace;
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.platform.thread_id = own_thread_id;
    reset();
    PASS_ON(open_session(&desc));
    launch_some(10);
    trace = prof_stop();
    EQUAL(kernels_of(trace, "zone"), 10);
    EQUAL(prof_get_stats(trace).misplaced, 0);
    close_session();
}

static void test_without_calls(void) {
    const prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    cuda_desc.records = PROF_CUDA_KERNELS;
    PASS_ON(open_session(NULL));
    launch_some(10);
    fake_memset(1, 0);
    trace = prof_stop();
    PASS_ON(check_exact());
    EQUAL(prof_cuda_get_stats().no_launch, 10);
    CHECK(strstr(inside_cuda_status_line(), "is not there: 10"), "%s", inside_cuda_status_line());
    EQUAL(prof_cuda_get_stats().copies, 0);
    EQUAL(kernels_of(trace, "zone"), 0);
    CHECK(test_find(trace, "vecAdd(float*, float*, float*, int)", 9), "no kernels");
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"correlation\":"), 10);
    EQUAL(test_times(text.data, "\"correlation\":0"), 0);
    test_text_clear(&text);
    close_session();
}

static void test_ids(void) {
    const prof_trace *trace;
    uint32_t i;
    reset();
    cuda_desc.records = PROF_CUDA_DEFAULT | PROF_CUDA_EXTERNAL_IDS | PROF_CUDA_MARKERS;
    PASS_ON(open_session(NULL));
    fake.other_ids = true;               /* another profiler's, of another kind */
    prof_cuda_push_id(42);
    fake_launch("inside", 0, 10);
    prof_cuda_pop_id();
    fake_launch("outside", 0, 10);
    prof_cuda_pop_id();
    for (i = 1; i < 10; i++) fake_marker(i, 1, "mark");   /* their ids are no calls' */
    trace = prof_stop();
    PASS_ON(check_exact());
    EQUAL(test_find(trace, "inside", 0)->extra->external_id, 42);
    EQUAL(test_find(trace, "outside", 0)->extra->external_id, 0);
    EQUAL(test_find(trace, "cudaLaunchKernel", 0)->extra->external_id, 42);
    for (i = 0; i < 9; i++) EQUAL(test_find(trace, "mark", (int)i)->extra->external_id, 0);
    close_session();
}

static void test_other_records(void) {
    const prof_trace *trace;
    const prof_event *e;
    reset();
    cuda_desc.records = 511;
    PASS_ON(open_session(NULL));
    fake_launch("k", 2, 10);
    fake_overhead(1 << 16, 5000);
    fake_event_record(3, 1);
    fake_wait_event(3, 2);
    fake_event_record(3, 4);
    fake_event_record(2, 5);
    fake_wait_event(3, 2);
    fake_wait_event(1, 2);
    fake_marker(1, 2, "range");
    PROF_BLOCK("zone") {
        fake_alloc(0x7000, 4096, false);
        fake_marker(2, 1, "mark");
    }
    fake_alloc(0x7000, 4096, true);
    fake_marker(1, 4, NULL);
    trace = prof_stop();
    PASS_ON(check_exact());
    EQUAL(prof_cuda_get_stats().other, 1 + 6 + 2 + 3);
    e = test_find(trace, "Buffer Flush", 0);
    CHECK(e && e->end_ns - e->start_ns == 5000, "no overhead");
    e = test_find(trace, "Stream Wait Event", 0);
    CHECK(e, "no wait");
    CHECK(strstr(e->extra->metadata_json, "\"wait_on_stream\":13,"
                 "\"wait_on_cuda_event_record_corr_id\":3,\"wait_on_cuda_event_id\":3,"
                 "\"stream\":14"), "%s", e->extra->metadata_json);
    e = test_find(trace, "Stream Wait Event", 1);
    CHECK(strstr(e->extra->metadata_json, "\"wait_on_stream\":16,"
                 "\"wait_on_cuda_event_record_corr_id\":5,"), "%s", e->extra->metadata_json);
    e = test_find(trace, "Stream Wait Event", 2);
    CHECK(strstr(e->extra->metadata_json, "\"wait_on_stream\":-1,"
                 "\"wait_on_cuda_event_record_corr_id\":-1,"), "%s", e->extra->metadata_json);
    e = test_find(trace, "range", 0);
    CHECK(e && e->flags & PROF_EVENT_USER_ANNOTATION, "no marker");
    CHECK(e->end_ns > test_find(trace, "zone", 0)->end_ns, "the range ends too early");
    e = test_find(trace, "mark", 0);
    CHECK(e && e->end_ns == e->start_ns, "no mark");
    EQUAL(prof_event_total(trace, test_find(trace, "zone", 0)).device_memory_usage, 4096);
    close_session();
}

/* Waits stand on the GPU of their context, in rows of their own; a stream that does no work but
   waits is left out. */
static void test_waits(void) {
    const prof_trace *trace;
    const prof_event *wait;
    test_text text;
    int i;
    memset(&text, 0, sizeof text);
    reset();
    fake.devices = 2;
    cuda_desc.records = PROF_CUDA_DEFAULT | PROF_CUDA_SYNC;
    PASS_ON(open_session(NULL));
    for (i = 1; i >= 0; i--) {
        fake_device(i);
        fake_event_record(3, 1);
        fake_wait_event(3, 2);
        fake_launch("k", 2, 1000);
        fake_wait_event(3, 5);           /* nothing ever runs there */
    }
    trace = prof_stop();
    PASS_ON(check_exact());
    EQUAL(prof_cuda_get_stats().muted, 2);
    EQUAL(prof_cuda_get_stats().other, 4);
    for (i = 0; i < 2; i++) {
        wait = test_find(trace, "Stream Wait Event", i);
        CHECK(wait, "no wait");
        EQUAL(wait->extra->device_index, 1 - i);
        EQUAL(wait->extra->device_resource_id, 1000000 + 14);
    }
    CHECK(!test_find(trace, "Stream Wait Event", 2), "a wait on an idle stream");
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event\",\"pid\":1,"
                                "\"tid\":1000014,"), 1);
    CHECK(strstr(text.data, "\"stream\":14,\"device\":1,\"context\":2"), "args");
    EQUAL(test_times(text.data, "{\"name\":\"stream 14 (sync)\"}"), 2);
    test_text_clear(&text);
    close_session();
}

/* Allocations that CUPTI tells of are the zones'. */
static void test_device_memory(void) {
    const prof_trace *trace;
    prof_event_totals t;
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    cuda_desc.records = PROF_CUDA_DEFAULT | PROF_CUDA_DEVICE_MEMORY;
    PASS_ON(open_session(NULL));
    PROF_BLOCK("outer") {
        PROF_BLOCK("inner") { fake_alloc(0x7000, 4096, false); }
        fake_alloc(0x9000, 100, false);
        fake_alloc(0x7000, 4096, true);
        fake.pinned = true;
        PROF_BLOCK("host") { fake_alloc(0x100, 77, false); }
        fake.pinned = false;
    }
    fake_alloc(0x5000, 8, true);         /* from before the session */
    trace = prof_stop();
    PASS_ON(check_exact());
    EQUAL(prof_event_total(trace, test_find(trace, "inner", 0)).device_memory_usage, 4096);
    t = prof_event_total(trace, test_find(trace, "outer", 0));
    EQUAL(t.device_memory_usage, 100);
    EQUAL(t.cpu_memory_usage, 77);
    t = prof_event_total(trace, test_find(trace, "cudaMalloc", 0));
    EQUAL(t.self_device_memory_usage, 4096);
    EQUAL(prof_event_total(trace, test_find(trace, "host", 0)).cpu_memory_usage, 77);
    CHECK(!test_find(trace, "[memory]", 0), "an event of its own");
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Self CUDA Mem") && strstr(text.data, "4.00 KB"), "%s", text.data);
    test_text_clear(&text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"[memory]\""), 5);
    CHECK(strstr(text.data, "\"Addr\":20480,\"Bytes\":-8,\"Total Allocated\":100,"), "%s",
          text.data);
    CHECK(strstr(text.data, "\"Addr\":28672,\"Bytes\":-4096,\"Total Allocated\":100,"), "%s",
          text.data);
    test_text_clear(&text);
    close_session();
    reset();                             /* without the calls their threads are not known */
    cuda_desc.records = PROF_CUDA_KERNELS | PROF_CUDA_DEVICE_MEMORY;
    PASS_ON(open_session(NULL));
    PROF_BLOCK("zone") { fake_alloc(0x7000, 4096, false); }
    trace = prof_stop();
    EQUAL(prof_event_total(trace, test_find(trace, "zone", 0)).device_memory_usage, 0);
    EQUAL(prof_event_total(trace, test_find(trace, "[memory]", 0)).device_memory_usage, 4096);
    close_session();
}

/* The program's own allocator tells of it, as of any device's. */
static void test_own_memory(void) {
    const prof_device gpu = { PROF_DEVICE_CUDA, 0 };
    prof_desc desc;
    const prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    desc.profile_memory = true;
    reset();
    PASS_ON(open_session(&desc));
    PROF_BLOCK("zone") {
        prof_memory_alloc(&desc, 512, gpu);
        prof_memory_alloc(&trace, 4096, gpu);
        prof_memory_free(&desc, gpu);
        fake_launch("k", 0, 10);
    }
    trace = prof_stop();
    EQUAL(prof_event_total(trace, test_find(trace, "zone", 0)).device_memory_usage, 4096);
    close_session();
}

/* A module that is loaded again may put another name at the same address. */
static void test_name_reuse(void) {
    char name[16] = "first";
    const prof_trace *trace;
    reset();
    cuda_desc.buffer_size = 4096;
    PASS_ON(open_session(NULL));
    fake_launch(name, 0, 10);
    prof_cuda_flush();
    while (prof_cuda_get_stats().kernels < 1) prof_cuda_flush();
    strcpy(name, "second");
    fake_launch(name, 0, 10);
    trace = prof_stop();
    CHECK(test_find(trace, "first", 0) && test_find(trace, "second", 0), "a name is lost");
    close_session();
}

/* ---- what cannot be had ---- */

/* The CPU's side is whole, the reason is told everywhere, and CUPTI is left alone afterwards. */
static void check_refusal(const char *why, bool final) {
    const prof_trace *trace;
    test_text text;
    uint64_t calls;
    memset(&text, 0, sizeof text);
    PASS_ON(open_session(NULL));
    launch_some(20);
    EQUAL(prof_cuda_get_stats().state, final ? PROF_CUDA_UNAVAILABLE : PROF_CUDA_READY);
    trace = prof_stop();
    CHECK(prof_cuda_status() && strstr(prof_cuda_status(), why), "%s, not %s", prof_cuda_status(),
          why);
    CHECK(test_find(trace, "zone", 19), "a zone is missing");
    EQUAL(prof_cuda_get_stats().kernels, 0);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\nCUDA: ") && strstr(text.data, why), "footer: %s", text.data);
    test_text_clear(&text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"devices\":{\"CUDA\":\""), "not in the metadata");
    test_text_clear(&text);
    calls = fake_get_counts().library_calls;
    EQUAL(prof_start(NULL), PROF_OK);
    launch_some(1);
    CHECK(prof_stop() != NULL, "no session");
    if (final) EQUAL(fake_get_counts().library_calls, calls);
    close_session();
}

/* Another profiler had CUPTI, and has left: the next session has all. */
static void test_subscriber_leaves(void) {
    static const int codes[] = { 39, 15 };
    int i;
    for (i = 0; i < 2; i++) {
        reset();
        fake.fails = "cuptiSubscribe";
        fake.fail_code = codes[i];
        fake.fails_times = 1;
        EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
        EQUAL(prof_start(NULL), PROF_OK);
        EQUAL(prof_cuda_get_stats().state, PROF_CUDA_READY);
        launch_some(3);
        prof_stop();
        CHECK(prof_cuda_status() != NULL, "no reason");
        EQUAL(prof_start(NULL), PROF_OK);
        launch_some(3);
        EQUAL(kernels_of(prof_stop(), "zone"), 3);
        CHECK(prof_cuda_status() == NULL, "%s", prof_cuda_status());
        close_session();
    }
}

static void test_every_error(void) {
    static const char *const functions[] = { "cuptiGetVersion", "cuptiSubscribe",
        "cuptiActivityRegisterCallbacks", "cuptiActivityEnable" };
    size_t f;
    int code;
    for (f = 0; f < 4; f++)
        for (code = 1; code <= 999; code = code == 46 ? 999 : code + 1) {
            char why[32];
            reset();
            fake.fails = functions[f];
            fake.fail_code = code;
            snprintf(why, sizeof why, "(CUPTI error %d)", code);
            PASS_ON(check_refusal(why, f != 1 || (code != 39 && code != 15)));
        }
}

static void test_refusals(void) {
    reset();
    fake.no_driver_error = 100;
    PASS_ON(check_refusal("finds no GPU", true));
    reset();
    fake.devices = 0;
    PASS_ON(check_refusal("finds no GPU", true));
    reset();
    fake.no_driver_error = 803;
    PASS_ON(check_refusal("cuInit fails with CUDA error 803", true));
    reset();
    fake.missing = "cuInit";
    PASS_ON(check_refusal("lacks cuInit", true));
    reset();
    fake.missing = "cuptiActivityFlushAll";
    PASS_ON(check_refusal("lacks cuptiActivityFlushAll", true));
    reset();
    fake.fails = "cuptiActivityEnable";
    fake.fail_code = 35;
    PASS_ON(check_refusal("NVreg_RestrictProfilingToAdminUsers=0, or run as root, in a container",
                          true));
    reset();
    fake.fails = "cuptiActivityEnable";
    fake.fail_code = 40;
    PASS_ON(check_refusal("the hypervisor does not let this virtual GPU", true));
    reset();
    fake.fails = "cuptiSubscribe";
    fake.fail_code = 39;
    PASS_ON(check_refusal("another profiler is attached", false));
}

/* What is optional in CUPTI may be missing. */
static void test_optional_functions(void) {
    static const char *const names[] = { "cuptiActivityEnableDriverApi", "cuptiGetResultString",
        "cuptiActivityEnableRuntimeApi" };
    int i;
    for (i = 0; i < 3; i++) {
        reset();
        fake.missing = names[i];
        fake.by_driver = i == 0;
        PASS_ON(open_session(NULL));
        launch_some(10);
        prof_stop();
        PASS_ON(check_whole());
        close_session();
    }
}

static void test_init(void) {
    prof_cuda_desc desc;
    char small[64];
    reset();
    EQUAL(prof_cuda_get_stats().state, PROF_CUDA_OFF);
    memset(&desc, 0, sizeof desc);
    desc.memory_size = 5;
    EQUAL(prof_cuda_init(&desc), PROF_ERROR_INVALID);
    desc.memory = small;
    desc.memory_size = sizeof small;
    EQUAL(prof_cuda_init(&desc), PROF_ERROR_MEMORY);
    memset(&desc, 0, sizeof desc);
    desc.buffer_size = 100;
    EQUAL(prof_cuda_init(&desc), PROF_ERROR_INVALID);
    EQUAL(prof_cuda_init(&cuda_desc), PROF_OK);
    EQUAL(prof_cuda_init(&cuda_desc), PROF_ERROR_STATE);
    EQUAL(prof_cuda_get_stats().state, PROF_CUDA_READY);
    CHECK(prof_cuda_status() == NULL, "%s", prof_cuda_status());
    EQUAL(prof_start(NULL), PROF_OK);
    EQUAL(prof_cuda_get_stats().state, PROF_CUDA_ACTIVE);
    EQUAL(prof_cuda_shutdown(), PROF_ERROR_STATE);
    prof_stop();
    EQUAL(prof_cuda_shutdown(), PROF_OK);
}

static void test_fork(void) {
    int status = 0;
    pid_t child;
    reset();
    PASS_ON(open_session(NULL));
    launch_some(3);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        const prof_trace *trace;
        bool ok = prof_cuda_status() && strstr(prof_cuda_status(), "forked child");
        ok = ok && prof_start(NULL) == PROF_OK;
        launch_some(1);
        trace = prof_stop();
        ok = ok && test_find(trace, "zone", 0) && prof_cuda_get_stats().state ==
                                                      PROF_CUDA_UNAVAILABLE;
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    EQUAL(status, 0);
    prof_stop();
    PASS_ON(check_whole());
    close_session();
}

/* ---- buffers that lie ---- */

static void test_corrupt_buffers(void) {
    uint64_t bytes[512];
    uint32_t seed = 1, i, k;
    const prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    reset();
    cuda_desc.records = 511;
    cuda_desc.buffer_size = 4096;
    PASS_ON(open_session(NULL));
    memset(bytes, 0, sizeof bytes);
    bytes[0] = 10;                       /* a kernel that is cut off */
    fake_deliver(bytes, 32, 32);
    EQUAL(prof_cuda_get_stats().corrupt, 1);
    bytes[0] = 33;                       /* no kind */
    fake_deliver(bytes, 64, 64);
    EQUAL(prof_cuda_get_stats().corrupt, 2);
    bytes[0] = 0xffffffff;
    fake_deliver(bytes, 8, 8);
    EQUAL(prof_cuda_get_stats().corrupt, 3);
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (uint64_t)5 << 32 | 39;   /* an id, and "valid" past the buffer's end */
    fake_deliver(bytes, 24, 100000000);
    EQUAL(prof_cuda_get_stats().corrupt, 4);
    EQUAL(prof_cuda_get_stats().other, 1);
    for (i = 1; i <= 3; i++) {
        for (k = 0; k < 30; k++) bytes[k] = k % 3 ? 0 : (uint64_t)5 << 32 | 39;
        fake_walk_wrongly((int)i);
        fake_deliver(bytes, 240, 240);
        EQUAL(prof_cuda_get_stats().corrupt, 4 + i);
        EQUAL(prof_cuda_get_stats().other, 1 + i);
    }
    fake_deliver(bytes, 0, 0);
    EQUAL(prof_cuda_get_stats().corrupt, 7);
    for (i = 0; i < 3000; i++) {         /* noise, but for the pointers */
        static const uint8_t kinds[] = { 1, 2, 4, 5, 17, 22, 36, 38, 39, 49 };
        for (k = 0; k < 512; k++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[k] = (uint64_t)seed << 32 | kinds[(seed >> 16) % 10];
        }
        for (k = 0; k + 6 < 512; k++)
            if ((bytes[k] & 0xffffffff) == 17) bytes[k + 6] = 0;   /* memory to be freed */
        fake_deliver(bytes, sizeof bytes, 8 * (seed >> 20) % 4097);
    }
    launch_some(3);
    trace = prof_stop();
    CHECK(prof_cuda_get_stats().corrupt > 100, "%u", (unsigned)prof_cuda_get_stats().corrupt);
    EQUAL(prof_cuda_get_stats().kernels, 3);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    test_text_clear(&text);
    close_session();
}

/* A buffer that ends anywhere: what is in it whole is kept, and nothing behind its end is read. */
static void test_cut_buffers(void) {
    enum { CALL = 40, KERNEL = 216, COPY = 96 };       /* bytes of the records, by CUPTI 13.0 */
    union { uint64_t align; uint8_t bytes[CALL + KERNEL + COPY]; } all;
    const uint32_t begins[] = { 0, CALL, CALL + KERNEL, sizeof all };
    const uint32_t kinds[] = { 5, 10, 1 };
    uint32_t used[3], valid, i;
    memset(&all, 0, sizeof all);
    for (i = 0; i < 3; i++) memcpy(all.bytes + begins[i], kinds + i, sizeof *kinds);
    for (i = 0; i < 3; i++) used[i] = inside_cuda_bytes(kinds[i]);
    reset();
    PASS_ON(open_session(NULL));
    for (valid = 8; valid <= sizeof all; valid++) {
        const prof_cuda_stats before = prof_cuda_get_stats();
        prof_cuda_stats s;
        uint32_t whole = 0, begun = 0;
        for (i = 0; i < 3; i++) whole += valid >= begins[i] + used[i];
        for (i = 0; i < 3; i++) begun += valid > begins[i];
        fake_deliver(&all, valid, valid);
        s = prof_cuda_get_stats();
        EQUAL(kept(&s) - kept(&before), whole);
        EQUAL(s.corrupt - before.corrupt, begun - whole);
    }
    prof_stop();
    close_session();
}

static void test_foreign_buffers(void) {
    static uint8_t mine[4096];
    reset();
    PASS_ON(open_session(NULL));
    inside_cuda_completed(mine, sizeof mine);
    inside_cuda_completed(NULL, 0);
    EQUAL(prof_cuda_get_stats().foreign, 2);
    EQUAL(prof_cuda_get_stats().corrupt, 0);
    launch_some(1);
    prof_stop();
    EQUAL(prof_cuda_get_stats().kernels, 1);
    CHECK(strstr(inside_cuda_status_line(), "of another profiler in the process"), "not told");
    close_session();
}

int main(void) {
    RUN(test_kernels_go_to_zones);
    RUN(test_table_and_trace);
    RUN(test_streamed);
    RUN(test_as_kineto);
    RUN(test_real_buffers);
    RUN(test_graph);
    RUN(test_graph_of_copies);
    RUN(test_captured_in);
    RUN(test_many_nodes);
    RUN(test_priority);
    RUN(test_faulty_versions);
    RUN(test_mixed_graphs);
    RUN(test_devices_and_streams);
    RUN(test_beside_another_device);
    RUN(test_many_shapes);
    RUN(test_annotations_cover_the_gpu);
    RUN(test_steps_cover_the_gpu);
    RUN(test_versions);
    RUN(test_beside_other_subscribers);
    RUN(test_buffers_are_zeros);
    RUN(test_hardware_trace);
    RUN(test_too_old);
    RUN(test_threads);
    RUN(test_exhausted_pool);
    RUN(test_old_cupti_without_buffers);
    RUN(test_nasty);
    RUN(test_full_store);
    RUN(test_million);
    RUN(test_memory_of_a_launch);
    RUN(test_missing_buffers);
    RUN(test_kept_buffer);
    RUN(test_short_threads);
    RUN(test_no_times);
    RUN(test_unfinished);
    RUN(test_stop_in_capture);
    RUN(test_clock_offset);
    RUN(test_head_kernels);
    RUN(test_other_clocks);
    RUN(test_early_kernels);
    RUN(test_drift);
    RUN(test_before_the_session);
    RUN(test_windows);
    RUN(test_accumulated_windows);
    RUN(test_toggle);
    RUN(test_cuda_alone);
    RUN(test_driver_calls);
    RUN(test_call_choice);
    RUN(test_records_without_times);
    RUN(test_platform_threads);
    RUN(test_without_calls);
    RUN(test_ids);
    RUN(test_other_records);
    RUN(test_waits);
    RUN(test_device_memory);
    RUN(test_own_memory);
    RUN(test_name_reuse);
    RUN(test_every_error);
    RUN(test_refusals);
    RUN(test_subscriber_leaves);
    RUN(test_optional_functions);
    RUN(test_init);
    RUN(test_fork);
    RUN(test_corrupt_buffers);
    RUN(test_cut_buffers);
    RUN(test_foreign_buffers);
    return test_end();
}
