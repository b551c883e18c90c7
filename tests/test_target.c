/* The recorder of freestanding builds on this machine: contexts, a 32-bit clock that wraps, small
   arenas, rings and streams. What needs real interrupts is in tests/embedded. */
#define PROF_FREESTANDING
#define PROF_ARENA_SIZE 65536
#define PROF_MAX_CONTEXTS 16
#define PROF_CONTEXT() in_context
#define PROF_NOW() ((uint32_t)clock_ticks)

static unsigned in_context;
static unsigned long long clock_ticks;

#include "test.h"

static prof_desc target_desc(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    in_context = 0;
    clock_ticks = 12345;
    return desc;
}

static int64_t lasted(const prof_event *e) { return e ? e->end_ns - e->start_ns : -1; }

/* ---- The clock ---- */

#define HALF (1ull << 31)

static void test_target_wraps(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("long");
    for (int i = 0; i < 11; i++) {       /* five wraps and a half, ticked every half wrap */
        clock_ticks += HALF - 7;
        prof_tick();
        PROF_BEGIN("short");
        clock_ticks += 5;
        PROF_END();
    }
    PROF_END();
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(lasted(test_find(trace, "long", 0)), 11 * (int64_t)(HALF - 2));
    for (int i = 0; i < 11; i++) {
        EQUAL(lasted(test_find(trace, "short", i)), 5);
        EQUAL(test_find(trace, "short", i)->start_ns, (i + 1) * (int64_t)(HALF - 7) + 5 * i);
    }
}

/* Zones that end often enough need no tick, whatever the clock's upper half does. */
static void test_target_wraps_without_ticks(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 20; i++) {
        PROF_BLOCK("zone") clock_ticks += HALF - 1;
    }
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    for (int i = 0; i < 20; i++) {
        EQUAL(lasted(test_find(trace, "zone", i)), (int64_t)(HALF - 1));
        EQUAL(test_find(trace, "zone", i)->start_ns, i * (int64_t)(HALF - 1));
    }
}

/* a context that was silent for many wraps. */
static void test_target_silence(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("before") clock_ticks += 3;
    for (int i = 0; i < 9; i++) {
        clock_ticks += HALF;
        prof_tick();
    }
    PROF_BLOCK("after") clock_ticks += 4;
    trace = prof_stop();
    EQUAL(test_find(trace, "after", 0)->start_ns, 3 + 9 * (int64_t)HALF);
    EQUAL(lasted(test_find(trace, "after", 0)), 4);
}

static void test_target_still_clock(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 5; i++) {
        PROF_BLOCK("outer") { PROF_BLOCK("inner") {} }
    }
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(prof_get_stats().recorded, 10);
}

/* ---- Contexts ---- */

static void interrupt(unsigned number) {
    unsigned interrupted = in_context;
    in_context = number;
    PROF_BLOCK("interrupt") clock_ticks += 10;
    in_context = interrupted;
}

static void test_target_contexts(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    size_t threads, count;
    const prof_event *events;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10; i++) {
        PROF_BEGIN("main");
        interrupt(3u + (unsigned)i % 2);
        PROF_END();
    }
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    prof_threads(trace, &threads);
    EQUAL(threads, 3);
    EQUAL(prof_threads(trace, NULL)[1].id, 3);
    events = prof_events(trace, &count);
    EQUAL(count, 20);
    for (size_t i = 0; i < count; i++)
        EQUAL(events[i].thread == 0, strcmp(events[i].name, "main") == 0);
}

static void test_target_context_too_high(void) {
    prof_desc desc = target_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    interrupt(15);
    interrupt(16);
    interrupt(4000);
    prof_stop();
    EQUAL(prof_get_stats().recorded, 1);
    EQUAL(prof_get_stats().dropped_threads, 2);
}

static void test_target_not_mine(void) {
    prof_desc desc = target_desc();
    PROF_END();                          /* before any session */
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("a");
    PROF_END();
    PROF_END();
    in_context = 2;
    PROF_END();
    prof_stop();
    PROF_END();
    EQUAL(prof_get_stats().recorded, 1);
    EQUAL(prof_get_stats().unbalanced + prof_get_stats().cut, 2);
}

/* ---- Memory ---- */

static bool count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(size_t *)user += size;
    return true;
}

/* Zones until it is full, in memory of exactly that size, at any alignment. */
static void one_arena(size_t size, size_t offset, prof_mode mode, bool records_only) {
    prof_desc desc = target_desc();
    char *block = (char *)malloc(size + offset + 1);
    size_t bytes = 0;
    prof_stats stats;
    desc.memory = block + offset;
    desc.memory_size = size;
    desc.max_depth = 3;
    desc.mode = mode;
    desc.records_only = records_only;
    desc.stream.write = count_bytes;
    desc.stream.user = &bytes;
    if (prof_start(&desc) == PROF_OK) {
        CHECK(size + 16 >= prof_memory_size(&desc), "%u bytes do", (unsigned)size);
        for (int i = 0; i < 100; i++) {
            PROF_BEGIN("outer");
            PROF_BLOCK("inner") clock_ticks += 3;
            prof_counter("count", i);
            if (i % 7 == 0) interrupt(1u + (unsigned)i % 3);
            PROF_END();
            if (mode == PROF_MODE_STREAM && i % 5 == 0) EQUAL(prof_flush(), PROF_OK);
        }
        prof_stop();
        stats = prof_get_stats();
        if (mode == PROF_MODE_TRACE && !records_only)
            CHECK(stats.recorded + stats.dropped >= 215, "%u and %u with %u bytes",
                  (unsigned)stats.recorded, (unsigned)stats.dropped, (unsigned)size);
        if (mode != PROF_MODE_STREAM) {
            prof_sink sink = { count_bytes, NULL };
            sink.user = &bytes;
            EQUAL(prof_dump(sink), PROF_OK);
        }
        CHECK(bytes > 0, "nothing was written with %u bytes", (unsigned)size);
    }
    free(block);
}

static void test_target_arenas(void) {
    for (size_t size = 0; size < 6000; size += size < 512 ? 1 : 37) {
        PASS_ON(one_arena(size, size % 17, PROF_MODE_TRACE, false));
        PASS_ON(one_arena(size, size % 5, PROF_MODE_TRACE, true));
        PASS_ON(one_arena(size, size % 3, PROF_MODE_RING, true));
        PASS_ON(one_arena(size, size % 7, PROF_MODE_STREAM, false));
    }
}

static void test_target_stream_keeps_all(void) {
    static char memory[4096];
    prof_desc desc = target_desc();
    size_t bytes = 0;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = count_bytes;
    desc.stream.user = &bytes;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10000; i++) {
        PROF_BLOCK("zone") clock_ticks += 3;
        if (i % 16 == 0) EQUAL(prof_flush(), PROF_OK);
    }
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_get_stats().dropped, 0);
    CHECK(bytes > 10000 * 12, "%u bytes", (unsigned)bytes);
}

static void test_target_ring_overwrites(void) {
    static char memory[4096];
    prof_desc desc = target_desc();
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.mode = PROF_MODE_RING;
    desc.records_only = true;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10000; i++) { PROF_BLOCK("zone") clock_ticks += 3; }
    prof_stop();
    EQUAL(prof_get_stats().dropped, 0);
    CHECK(prof_get_stats().overwritten > 9000, "%u", (unsigned)prof_get_stats().overwritten);
}

int main(void) {
    RUN(test_target_wraps);
    RUN(test_target_wraps_without_ticks);
    RUN(test_target_silence);
    RUN(test_target_still_clock);
    RUN(test_target_contexts);
    RUN(test_target_context_too_high);
    RUN(test_target_not_mine);
    RUN(test_target_arenas);
    RUN(test_target_stream_keeps_all);
    RUN(test_target_ring_overwrites);
    return test_end();
}
