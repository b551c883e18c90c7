/* Memory, ranges that end on other threads, arrows. */
#include "../test.h"

#if !defined(_WIN32)
#  include <pthread.h>
#endif

static const prof_device cpu = { PROF_DEVICE_CPU, 0 }, gpu = { PROF_DEVICE_CUDA, 1 };
static char block[16];                   /* addresses */

static void start_memory(void) {
    prof_desc desc = test_desc();
    desc.profile_memory = true;
    if (prof_start(&desc) != PROF_OK) test_fail(__FILE__, __LINE__, "prof_start");
}

static const char *folded(const prof_trace *trace, prof_metric metric, test_text *text) {
    test_text_write(text, "", 0);
    text->size = 0;
    if (prof_write_stacks(trace, metric, test_text_sink(text)) != PROF_OK) return "refused";
    return text->data;
}

/* Folded stacks by every metric that is a sum. */
static void test_memory_stacks(void) {
    prof_trace *trace;
    uint64_t begin;
    test_text text;
    memset(&text, 0, sizeof text);
    start_memory();
    PROF_BEGIN("outer");
    prof_memory_alloc(block, 100, cpu);
    test_time.tick += 5000;
    PROF_BEGIN("inner");
    prof_memory_alloc(block + 1, 10, cpu);
    prof_memory_alloc(block + 2, 4096, gpu);
    begin = (uint64_t)prof_now() + 1000;
    EQUAL(prof_launch_done(prof_launch(prof_queue(gpu, NULL), "kernel"), begin, begin + 7000),
          PROF_OK);
    test_time.tick += 3000;
    PROF_END();
    PROF_END();
    trace = prof_stop();
    SAME_TEXT(folded(trace, PROF_METRIC_SELF_CPU_TIME_TOTAL, &text), "outer 5\nouter;inner 3\n");
    SAME_TEXT(folded(trace, PROF_METRIC_CPU_TIME_TOTAL, &text), "outer 8\nouter;inner 3\n");
    SAME_TEXT(folded(trace, PROF_METRIC_SELF_CPU_MEMORY_USAGE, &text),
              "outer 100\nouter;inner 10\n");
    SAME_TEXT(folded(trace, PROF_METRIC_CPU_MEMORY_USAGE, &text), "outer 110\nouter;inner 10\n");
    SAME_TEXT(folded(trace, PROF_METRIC_SELF_DEVICE_MEMORY_USAGE, &text), "outer;inner 4096\n");
    SAME_TEXT(folded(trace, PROF_METRIC_DEVICE_MEMORY_USAGE, &text),
              "outer 4096\nouter;inner 4096\n");
    SAME_TEXT(folded(trace, PROF_METRIC_SELF_DEVICE_TIME_TOTAL, &text),
              "kernel 7\nouter;inner 7\n");
    SAME_TEXT(folded(trace, PROF_METRIC_DEVICE_TIME_TOTAL, &text),
              "outer 7\nkernel 7\nouter;inner 7\n");
    SAME_TEXT(folded(trace, PROF_METRIC_COUNT, &text), "refused");
    test_text_clear(&text);
}

static void test_memory_charged(void) {
    prof_event_totals outer, inner;
    prof_average rows[4];
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    start_memory();
    PROF_BEGIN("outer");
    prof_memory_alloc(block, 100, cpu);
    PROF_BEGIN("inner");
    prof_memory_alloc(block + 1, 1000, cpu);
    prof_memory_alloc(block + 2, 4096, gpu);
    PROF_END();
    prof_memory_free(block + 1, cpu);
    PROF_END();
    test_time.tick += 10;
    prof_memory_free(block, cpu);        /* outside of all zones */
    trace = prof_stop();
    outer = prof_event_total(trace, test_find(trace, "outer", 0));
    inner = prof_event_total(trace, test_find(trace, "inner", 0));
    EQUAL(outer.cpu_memory_usage, 100);
    EQUAL(outer.self_cpu_memory_usage, -900);
    EQUAL(inner.cpu_memory_usage, 1000);
    EQUAL(outer.device_memory_usage, 4096);
    EQUAL(outer.self_device_memory_usage, 0);
    EQUAL(inner.self_device_memory_usage, 4096);
    EQUAL(prof_key_averages(trace, NULL, rows, 4), 3);
    SAME_TEXT(rows[2].key, "[memory]");
    EQUAL(rows[2].cpu_memory_usage, -100);
    EQUAL(prof_get_stats(trace).recorded, 2);
    EQUAL(prof_get_stats(trace).dropped, 0);
    PASS_ON(test_tree(trace));
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Self CPU Mem"), "%s", text.data);
    test_all_writers(trace);
    test_text_clear(&text);
}

static void test_memory_chrome(void) {
    prof_trace *trace;
    test_text text;
    prof_memory_kind before;
    memset(&text, 0, sizeof text);
    start_memory();
    test_time.tick = 1500;
    before = prof_memory_category(PROF_MEMORY_GRADIENT);
    PROF_BLOCK("zone") {
        prof_memory_alloc((const void *)(uintptr_t)0x1000, 64, gpu);
        EQUAL(prof_memory_category(before), PROF_MEMORY_GRADIENT);
        prof_memory_alloc(NULL, 77, gpu);
        prof_memory_alloc(NULL, 0, gpu);
        prof_memory_free(NULL, gpu);
        prof_memory_free((const void *)(uintptr_t)0x1000, gpu);
        test_time.tick++;                /* else its times would not tell what it holds */
    }
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\","
                            "\"name\":\"[memory]\",\"pid\":1,\"tid\":0,\"ts\":1.500,\"args\":{"
                            "\"Device Type\":1,\"Device Id\":1,\"Addr\":4096,\"Bytes\":64,"
                            "\"Total Allocated\":64,\"Total Reserved\":0,"
                            "\"Category\":\"GRADIENT\"}}"), "%s", text.data);
    CHECK(strstr(text.data, "\"Bytes\":-64,\"Total Allocated\":0,\"Total Reserved\":0,"
                            "\"Category\":\"GRADIENT\"}}"), "%s", text.data);
    CHECK(strstr(text.data, "\"[OutOfMemory]\",\"pid\":1,\"tid\":0,\"ts\":1.500,\"args\":{"
                            "\"Device Type\":1,\"Device Id\":1,\"Bytes\":77,"), "%s", text.data);
    test_text_clear(&text);
}

static void test_memory_bad_input(void) {
    prof_trace *trace;
    prof_stats stats;
    start_memory();
    PROF_BEGIN("zone");
    prof_memory_free(block, cpu);        /* never allocated */
    prof_memory_alloc(block, 10, cpu);
    prof_memory_free(block, gpu);        /* not there */
    prof_memory_free(block, cpu);
    prof_memory_free(block, cpu);        /* twice */
    prof_memory_alloc(block, 20, cpu);
    prof_memory_alloc(block, 30, cpu);   /* where one stands */
    if (sizeof(size_t) == 8) prof_memory_alloc(block + 1, SIZE_MAX, cpu);
#ifndef __cplusplus
    (void)prof_memory_category((prof_memory_kind)99);   /* none: as unknown */
#endif
    prof_memory_alloc(block + 2, INT64_MAX > SIZE_MAX ? 1 : (size_t)INT64_MAX, cpu);
    PROF_END();
    trace = prof_stop();
    (void)prof_events(trace, NULL, 0, NULL);
    stats = prof_get_stats(trace);
    EQUAL(stats.memory_unmatched, 3 + 1);   /* frees, one of what had been freed; an allocation */
    if (sizeof(size_t) == 8) EQUAL(stats.rejected, 1);
    test_all_writers(trace);
}

static void test_memory_off(void) {
    prof_desc desc = test_desc();
    prof_sink out = { test_text_write, NULL };
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    out.user = &text;
    prof_memory_alloc(block, 5, cpu);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") prof_memory_alloc(block, 5, cpu);
    trace = prof_stop();
    EQUAL(prof_write_memory_timeline(trace, NULL, out), PROF_ERROR_NONE_RECORDED);
    CHECK(strstr(prof_strerror(PROF_ERROR_NONE_RECORDED), "profile_memory"), "no word of it");
    EQUAL(prof_get_stats(trace).recorded, 1);
    test_text_clear(&text);
}

static void test_memory_timeline(void) {
    prof_memory_desc raw, all;
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    memset(&raw, 0, sizeof raw);
    raw.raw = true;
    start_memory();
    test_time.tick = 1000;
    (void)prof_memory_category(PROF_MEMORY_PARAMETER);
    prof_memory_alloc(block, 512, cpu);
    (void)prof_memory_category(PROF_MEMORY_UNKNOWN);
    test_time.tick = 1999;
    prof_memory_alloc(block + 1, 8, cpu);
    prof_memory_alloc(block + 1, 99, gpu);
    test_time.tick = 5000;
    prof_memory_free(block, cpu);
    trace = prof_stop();
    memset(&all, 0, sizeof all);
    EQUAL(prof_write_memory_timeline(trace, NULL, test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data, "[[1], [[0, 0, 0, 0, 0, 0, 0, 0, 99]]]\n");   /* the first device's */
    test_text_clear(&text);
    EQUAL(prof_write_memory_timeline(trace, &all, test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data, "[[1, 5], [[0, 512, 0, 0, 0, 0, 0, 0, 8], "
                         "[0, 0, 0, 0, 0, 0, 0, 0, 8]]]\n");
    test_text_clear(&text);
    EQUAL(prof_write_memory_timeline(trace, &raw, test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data, "[[1000, 2, 512, 0], [1999, 2, 8, 7], [5000, 4, -512, 0]]\n");
    test_text_clear(&text);
    raw.device = gpu;
    EQUAL(prof_write_memory_timeline(trace, &raw, test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data, "[[1999, 2, 99, 7]]\n");
    test_text_clear(&text);
}

static int64_t older[4];                 /* a window's: host, device, unmatched; windows */
static void on_older(void *user, prof_trace *trace) {
    const prof_event *e = test_find(trace, "frees", 0);
    (void)user;
    if (older[3]++) return;
    older[0] = prof_event_total(trace, e).cpu_memory_usage;
    older[1] = prof_event_total(trace, e).device_memory_usage;
    older[2] = (int64_t)prof_get_stats(trace).memory_unmatched;
}

/* What other steps of the session allocated is freed in a window; most has been before. */
static void test_memory_older(void) {
    enum { BLOCKS = 300 };
    static char blocks[BLOCKS];
    prof_desc desc = test_desc();
    prof_memory_desc raw;
    prof_trace *trace;
    test_text text;
    int64_t held = 0;
    memset(&text, 0, sizeof text);
    memset(&raw, 0, sizeof raw);
    desc.profile_memory = raw.raw = true;
    desc.schedule.warmup = desc.schedule.active = 1;
    desc.on_trace_ready = on_older;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < BLOCKS; i++) {
            prof_memory_alloc(blocks + i, (size_t)(100 * round + i + 1), i & 1 ? gpu : cpu);
            if (round < 3 || i % 4) prof_memory_free(blocks + i, i & 1 ? gpu : cpu);
            else held += 300 + i + 1;
        }
    (void)prof_memory_category(PROF_MEMORY_GRADIENT);
    prof_memory_alloc(&raw, 64, gpu);
    (void)prof_memory_category(PROF_MEMORY_UNKNOWN);
    prof_step();
    PROF_BLOCK("frees") {
        for (int i = 0; i < BLOCKS; i += 4) prof_memory_free(blocks + i, cpu);
        prof_memory_free(&raw, gpu);
        prof_memory_free(blocks + 1, cpu);   /* not there any more */
        prof_memory_alloc(blocks + 2, 7, cpu);
    }
    prof_step();                         /* the cycle's next one: warm-up */
    prof_memory_free(blocks + 2, cpu);
    prof_memory_alloc(blocks + 2, 9, cpu);
    prof_step();
    PROF_BLOCK("frees") prof_memory_free(blocks + 2, cpu);
    trace = prof_stop();
    EQUAL(older[0], 7 - held);
    EQUAL(older[1], -64);
    EQUAL(older[2], 1);
    EQUAL(older[3], 2);
    EQUAL(prof_event_total(trace, test_find(trace, "frees", 0)).cpu_memory_usage, -9);
    EQUAL(prof_write_memory_timeline(trace, &raw, test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data, "[[-1, 1, 9, 7], [0, 4, -9, 7]]\n");
    test_text_clear(&text);
    raw.raw = false;
    EQUAL(prof_write_memory_timeline(trace, &raw, test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data, "[[0, 0], [[0, 0, 0, 0, 0, 0, 0, 0, 9], [0, 0, 0, 0, 0, 0, 0, 0, 0]]]\n");
    test_text_clear(&text);
}

/* What older steps allocated is kept in the session's memory, behind which nothing is written; what
   finds no room there is counted, and its free is unmatched. A thread that still owns what it had
   at the end of that memory keeps it. */
static void test_memory_older_full(void) {
    enum { BLOCKS = 5000, SIZE = 256 << 10, ROOM = SIZE / 64 / 32 };
    static char room[SIZE + 64], blocks[BLOCKS];
    int odd;
    for (odd = 0; odd < 40; odd += 13) {
        prof_desc desc = test_desc();
        prof_trace *trace;
        int64_t freed = 0, kept;
        prof_stats stats;
        desc.memory = room + odd;
        desc.memory_size = SIZE;
        desc.mode = PROF_MODE_AGGREGATE; /* its block lies at the end of the memory */
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BLOCK("owned") (void)0;
        CHECK(prof_stop(), "no trace");
        memset(room + odd + SIZE, 0x5a, sizeof room - (size_t)odd - SIZE);
        desc.mode = PROF_MODE_TRACE;
        desc.profile_memory = true;
        desc.schedule.warmup = desc.schedule.active = 1;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < BLOCKS; i++) prof_memory_alloc(blocks + i, 1, cpu);
        prof_step();
        PROF_BLOCK("frees")
            for (int i = 0; i < ROOM; i++) prof_memory_free(blocks + i, cpu);
        trace = prof_stop();
        stats = prof_get_stats(trace);
        freed = -prof_event_total(trace, test_find(trace, "frees", 0)).cpu_memory_usage;
        kept = BLOCKS - (int64_t)stats.not_kept;
        CHECK(kept >= ROOM / 2 && kept < ROOM, "%d of %d", (int)kept, ROOM);
        EQUAL(freed, kept);
        EQUAL(freed + (int64_t)stats.memory_unmatched, ROOM);
        for (int i = SIZE + odd; i < (int)sizeof room; i++) EQUAL(room[i], 0x5a);
    }
}

/* Random allocations among nested zones, against sums made while they happen. */
static void test_memory_random(void) {
    enum { BLOCKS = 16, STEPS = 4000 };
    static char blocks[BLOCKS];
    size_t size[BLOCKS];
    prof_trace *trace;
    int64_t top = 0, in_use = 0;
    int depth = 0, i;
    size_t count, k;
    const prof_event *events;
    memset(size, 0, sizeof size);
    start_memory();
    for (i = 0; i < STEPS; i++) {
        uint32_t what = test_random(4), b = test_random(BLOCKS);
        test_time.tick += test_random(3);
        if (what == 0 && depth < 20) {
            prof_push(depth % 2 ? "odd" : "even");
            depth++;
        } else if (what == 1 && depth) {
            prof_pop();
            depth--;
        } else if (size[b]) {
            prof_memory_free(blocks + b, cpu);
            in_use -= (int64_t)size[b];
            size[b] = 0;
        } else {
            size[b] = 1 + test_random(1000);
            prof_memory_alloc(blocks + b, size[b], cpu);
            in_use += (int64_t)size[b];
        }
    }
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    for (k = 0; k < count; k++) {
        prof_event_totals t = prof_event_total(trace, events + k);
        int64_t sum = t.self_cpu_memory_usage;
        uint32_t c;
        for (c = events[k].first_child; c != PROF_NONE; c = events[c].next_sibling)
            sum += prof_event_total(trace, events + c).cpu_memory_usage;
        EQUAL(sum, t.cpu_memory_usage);
        if (events[k].parent == PROF_NONE) top += t.cpu_memory_usage;
    }
    EQUAL(top, in_use);
    EQUAL(prof_get_stats(trace).memory_unmatched, 0);
    PASS_ON(test_tree(trace));
}

static void test_memory_small_arenas(void) {
    static char memory[64 << 10];
    prof_desc desc = test_desc();
    size_t size;
    desc.profile_memory = true;
    desc.max_threads = 1;
    desc.max_depth = 8;
    desc.memory = memory;
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("warm") (void)0;
    prof_stop();
    prof_thread_end();
    for (size = prof_arena_size(&desc) + 512; size < sizeof memory; size += 933) {
        prof_trace *trace;
        size_t count, i;
        desc.memory_size = size;
        EQUAL(prof_start(&desc), PROF_OK);
        for (i = 0; i < 700; i++) {
            prof_async a = prof_async_begin("range");
            if (i % 2) prof_push("zone");
            prof_memory_alloc(block + i % 16, i, cpu);
            prof_memory_free(block + i % 16, cpu);
            if (i % 2) prof_pop();
            prof_async_end(a);
            if (i % 3 == 0) prof_async_end(a);
        }
        trace = prof_stop();
        (void)prof_events(trace, NULL, 0, &count);
        CHECK(count > 0, "nothing at %u", (unsigned)size);
        CHECK(prof_get_stats(trace).recorded <= count, "%u of %u at %u",
              (unsigned)prof_get_stats(trace).recorded, (unsigned)count, (unsigned)size);
        CHECK(prof_get_stats(trace).dropped + prof_get_stats(trace).not_kept > 0,
              "nothing was dropped at %u", (unsigned)size);
        PASS_ON(test_tree(trace));
        PASS_ON(test_all_writers(trace));
        prof_thread_end();
    }
}

/* ---- ranges and arrows ---- */

#if !defined(_WIN32)
static void *end_there(void *token) {
    test_time.tick += 500;
    PROF_BLOCK("worker") prof_async_end(*(prof_async *)token);
    return NULL;
}

static void test_async_other_thread(void) {
    prof_desc desc = test_desc();
    const prof_event *e;
    const prof_thread_info *threads;
    prof_async a, lost;
    pthread_t thread;
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    test_time.tick = 100;
    PROF_BEGIN("main");
    a = prof_async_begin("request");
    lost = prof_async_begin("never ended");
    (void)lost;
    EQUAL(pthread_create(&thread, NULL, end_there, &a), 0);
    pthread_join(thread, NULL);
    test_time.tick += 5;
    prof_async_end(a);                   /* twice */
    PROF_END();
    trace = prof_stop();
    e = test_find(trace, "request", 0);
    CHECK(e && e->extra, "no range");
    EQUAL(e->start_ns, 100);
    EQUAL(e->end_ns, 600);
    EQUAL(e->flags & PROF_EVENT_ASYNC, PROF_EVENT_ASYNC);
    EQUAL(e->parent, PROF_NONE);
    EQUAL(e->self_cpu_time_total_ns, 0);
    threads = prof_threads(trace, NULL);
    EQUAL(e->extra->end_thread, threads[1].id);
    EQUAL(e->thread, 0);
    CHECK(!test_find(trace, "request", 1), "a second range");
    EQUAL(prof_get_stats(trace).unbalanced, 1);
    EQUAL(prof_get_stats(trace).unfinished, 1);
    EQUAL(prof_get_stats(trace).recorded, prof_get_stats(NULL).recorded);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "{\"ph\":\"b\",\"cat\":\"async\""), "%s", text.data);
    CHECK(strstr(text.data, "\"cat\":\"async\",\"name\":\"request\",\"pid\":1,\"tid\":0,"
                            "\"ts\":0.600,\"id\":"), "%s", text.data);
    test_text_clear(&text);
}
#endif

/* That a range was ended is known also without room for it, and when a ring has lost it. */
static void test_async_full(void) {
    static uint64_t memory[25000];
    for (int mode = PROF_MODE_TRACE; mode <= PROF_MODE_RING; mode++) {
        prof_desc desc = test_desc();
        prof_async open, ended;
        desc.mode = (prof_mode)mode;
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        desc.max_threads = 1;
        desc.record_shapes = true;
        EQUAL(prof_start(&desc), PROF_OK);
        open = prof_async_begin("never ended");
        for (int i = 0; i < 20000; i++) {
            ended = prof_async_begin("request");
            prof_async_end(ended);
        }
        CHECK(open.id != 0, "no range");
        (void)prof_events(prof_stop(), NULL, 0, NULL);
        CHECK(prof_get_stats(NULL).not_kept || mode, "it is not full");
        EQUAL(prof_get_stats(NULL).unfinished, 1);
        prof_thread_end();
    }
}

static void test_async_other_session(void) {
    prof_desc desc = test_desc();
    prof_async a;
    memset(&a, 0, sizeof a);
    prof_async_end(a);                   /* a token of nothing */
    EQUAL(prof_start(&desc), PROF_OK);
    a = prof_async_begin("before");
    prof_stop();
    prof_async_end(a);
    desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    prof_async_end(a);
    prof_async_end(prof_async_begin("inside"));
    EQUAL(prof_get_stats(prof_stop()).unbalanced, 1);
}

static void test_flows(void) {
    prof_desc desc = test_desc();
    uint64_t one, two, lost;
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    EQUAL(prof_flow(0), 0);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("from");
    one = prof_flow(0);
    two = prof_flow(0);
    lost = prof_flow(0);
    CHECK(one && two != one && lost != two, "not numbers");
    PROF_END();
    PROF_BEGIN("to");
    EQUAL(prof_flow(two), two);
    prof_flow(one);
    prof_flow(one);                      /* a second end */
    prof_flow(987654321);                /* an end of nothing */
    PROF_END();
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"cat\":\"flow\""), 4);
    test_text_clear(&text);
}

/* From one context to the other, each end where and when it was called. */
static void test_flow_between_contexts(void) {
    prof_desc desc = test_desc();
    uint64_t flow;
    prof_trace *trace;
    test_text text;
    char want[200];
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("here");
    test_time.tick = 2000;
    flow = prof_flow(0);
    prof_context_switch(NULL);
    prof_push("there");
    test_time.tick = 5000;
    prof_flow(flow);
    test_time.tick = 9000;
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    snprintf(want, sizeof want, "{\"ph\":\"s\",\"cat\":\"flow\",\"name\":\"flow\","
             "\"pid\":1,\"tid\":0,\"ts\":2.000,\"id\":%d}", (int)flow);
    CHECK(strstr(text.data, want), "%s", text.data);
    snprintf(want, sizeof want, "{\"ph\":\"f\",\"cat\":\"flow\",\"name\":\"flow\","
             "\"pid\":1,\"tid\":1,\"ts\":5.000,\"id\":%d,\"bp\":\"e\"}", (int)flow);
    CHECK(strstr(text.data, want), "%s", text.data);
    test_text_clear(&text);
}

int main(void) {
    RUN(test_memory_charged);
    RUN(test_memory_stacks);
    RUN(test_memory_chrome);
    RUN(test_memory_bad_input);
    RUN(test_memory_off);
    RUN(test_memory_timeline);
    RUN(test_memory_older);
    RUN(test_memory_older_full);
    RUN(test_memory_random);
    RUN(test_memory_small_arenas);
#if !defined(_WIN32)
    RUN(test_async_other_thread);
#endif
    RUN(test_async_full);
    RUN(test_async_other_session);
    RUN(test_flows);
    RUN(test_flow_between_contexts);
    return test_end();
}
