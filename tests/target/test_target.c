/* The recorder of freestanding builds on this machine: contexts, a 32-bit clock that wraps, small
   arenas, rings and streams. What needs real interrupts is in tests/target. */
#include <stdbool.h>
#define PROF_FREESTANDING
#define PROF_ARENA_SIZE 65536
#define PROF_MAX_CONTEXTS 16
#define PROF_MAX_SITES 120
#define PROF_CONTEXT() in_context
#define PROF_NOW() changing_now()        /* of clock_ticks, until its rate changes */
#define CHANGING_CLOCK() read_clock()
#define PROF_CLOCK_BITS clock_bits
#define PROF_ONE_CORE 1
#define PROF_LOCK() mask()
#define PROF_UNLOCK(state) unmask(state)

static bool masked;
static void (*unmasked)(void);           /* where an interrupt may come: before a mask, after it */
static bool mask(void) {
    bool was = masked;
    if (!was && unmasked) unmasked();
    masked = true;
    return was;
}
static void unmask(bool was) {
    masked = was;
    if (!was && unmasked) unmasked();
}

static unsigned in_context, clock_bits = 32;
static unsigned long long clock_ticks;
static void (*in_clock)(void);           /* an interrupt that comes once it was read */
static unsigned read_clock(void) {
    unsigned now = (unsigned)clock_ticks;
    void (*interrupt)(void) = in_clock;
    in_clock = 0;
    if (interrupt) interrupt();
    return now;
}

#include "../../examples/baremetal/changing.h"
#include "../test.h"

static prof_desc target_desc(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    in_context = 0;
    clock_ticks = 12345;
    clock_bits = 32;
    changing_before = changing_since = 0;
    changing_factor = 1;
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
    EQUAL(prof_get_stats(NULL).recorded, 10);
}

/* A timer of few bits counts in its lowest ones alone. */
static void test_target_timer_bits(void) {
    for (unsigned bits = 16; bits <= 32; bits += 8) {
        prof_desc desc = target_desc();
        unsigned long long all = (1ull << bits) - 1;
        prof_trace *trace;
        clock_bits = bits;
        clock_ticks = all - 5;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 30; i++) {
            PROF_BLOCK("zone") clock_ticks = (clock_ticks + all / 2 - 9) & all;
        }
        trace = prof_stop();
        PASS_ON(test_tree(trace));
        EQUAL(lasted(test_find(trace, "zone", 17)), (int64_t)(all / 2 - 9));
        EQUAL(prof_get_stats(NULL).clock_steps, 0);
    }
}

/* The chip's clock goes back, while no zone is open. */
static void test_target_timer_back(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10; i++) {
        PROF_BLOCK("zone") clock_ticks += 100;
        clock_ticks -= 1000;
    }
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(prof_get_stats(NULL).recorded, 10);
    EQUAL(prof_get_stats(NULL).clock_steps, 9);
}

/* A counter of half the rate, then one that stands for a wrap and a half; zones open over both. */
static void test_target_rate_changes(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    clock_ticks = 0xFFFFFF00u;           /* the counter wraps at both rates */
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("all");
    PROF_BLOCK("fast") clock_ticks += 200;
    PROF_BLOCK("slower") {
        clock_ticks += 10;
        changing_clock(2, 0);
        clock_ticks += 100;
    }
    PROF_BLOCK("slow") clock_ticks += 300;
    PROF_BLOCK("sleep") {
        for (int i = 0; i < 3; i++) {
            changing_clock(1, HALF - 9);
            prof_tick();
        }
        clock_ticks += 7;
    }
    PROF_BLOCK("awake") clock_ticks += 50;
    PROF_END();
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(lasted(test_find(trace, "fast", 0)), 200);
    EQUAL(lasted(test_find(trace, "slower", 0)), 10 + 2 * 100);
    EQUAL(lasted(test_find(trace, "slow", 0)), 2 * 300);
    EQUAL(lasted(test_find(trace, "sleep", 0)), 3 * (int64_t)(HALF - 9) + 7);
    EQUAL(lasted(test_find(trace, "awake", 0)), 50);
    EQUAL(test_find(trace, "awake", 0)->start_ns, 200 + 210 + 600 + 3 * (int64_t)(HALF - 9) + 7);
    EQUAL(lasted(test_find(trace, "all", 0)), 200 + 210 + 600 + 3 * (int64_t)(HALF - 9) + 7 + 50);
    EQUAL(prof_get_stats(NULL).clock_steps, 0);
}

/* The rate changes in an interrupt, in the middle of a reading of the clock. */
static void slow_down(void) {
    clock_ticks += 1000;
    changing_clock(8, 0);
    clock_ticks += 1000;
}

static void test_target_rate_in_reading(void) {
    prof_desc desc = target_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("zone");
    in_clock = slow_down;
    PROF_END();
    EQUAL(lasted(test_find(prof_stop(), "zone", 0)), 1000 + 8 * 1000);
    EQUAL(prof_get_stats(NULL).clock_steps, 0);
}

/* A clock that says a few ticks less after idling is told right, with prof_tick and without. */
static void little_back(prof_mode mode, bool ticked, uint32_t by) {
    prof_desc desc = target_desc();
    prof_average rows[4];
    prof_trace *trace;
    size_t count;
    desc.mode = mode;
    clock_ticks = 1000000;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10; i++) {
        PROF_BLOCK("work") {
            clock_ticks += 600;
            PROF_BLOCK("sleep") clock_ticks += 460;
            if (ticked) prof_tick();
            clock_ticks -= by;
            if (ticked) prof_tick();
        }
        PROF_BLOCK("after") clock_ticks += 5000;
    }
    trace = prof_stop();
    count = prof_key_averages(trace, NULL, rows, 4);
    EQUAL(count, 3);
    for (size_t i = 0; i < count; i++) {
        int64_t total = rows[i].cpu_time_total_ns;
        if (strcmp(rows[i].key, "work") == 0) EQUAL(total, 10600 - 10 * (int64_t)by);
        else if (strcmp(rows[i].key, "sleep") == 0) EQUAL(total, 4600);
        else CHECK(total <= 50000 && total >= 50000 - 10 * (int64_t)by, "%d", (int)total);
    }
    if (mode != PROF_MODE_AGGREGATE) EQUAL(prof_get_stats(trace).clock_steps, 10);
}

static void test_target_little_back(void) {
    static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_RING, PROF_MODE_AGGREGATE };
    for (int i = 0; i < 12; i++)
        PASS_ON(little_back(modes[i % 3], i / 3 % 2 != 0, i < 6 ? 1 : 100));
}

/* Another library sets the counter to 0. Who says so has right times; else it reads as a wrap,
   which counts as a step. */
static void set_to_0(bool told, bool ticked) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    unsigned said;
    clock_ticks = 1000000;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("work");
    said = (unsigned)(clock_ticks += 500);
    if (ticked) prof_tick();
    clock_ticks = 0;
    if (told) changing_set(said);
    if (ticked) prof_tick();
    clock_ticks += 70;
    prof_pop();
    prof_push("after");
    clock_ticks += 40;
    prof_pop();
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(lasted(test_find(trace, "work", 0)),
          told ? 570 : (int64_t)(2 * HALF) - 1000000 + 70);
    EQUAL(lasted(test_find(trace, "after", 0)), 40);
    EQUAL(prof_get_stats(trace).clock_steps, !told);
}

static void test_target_set_to_0(void) {
    for (int i = 0; i < 4; i++) PASS_ON(set_to_0(i / 2 != 0, i % 2 != 0));
}

/* ---- Contexts ---- */

static bool count_bytes(void *user, const void *data, size_t size) {
    (void)data;
    *(size_t *)user += size;
    return true;
}

static void interrupt(unsigned number) {
    unsigned interrupted = in_context;
    in_context = number;
    PROF_BLOCK("interrupt") clock_ticks += 10;
    in_context = interrupted;
}

static void test_target_contexts(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    size_t threads, count, bytes = 0;
    const prof_event *events;
    prof_sink sink = { count_bytes, NULL };
    sink.user = &bytes;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10; i++) {
        PROF_BEGIN("main");
        interrupt(3u + (unsigned)i % 2);
        PROF_END();
    }
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(prof_key_averages(trace, NULL, NULL, 0), 2);
    EQUAL(prof_write_table(trace, NULL, sink), PROF_OK);
    CHECK(bytes > 500, "a table of %u bytes", (unsigned)bytes);
    prof_threads(trace, &threads);
    EQUAL(threads, 3);
    EQUAL(prof_threads(trace, NULL)[1].id, 3);
    events = prof_events(trace, NULL, 0, &count);
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
    EQUAL(prof_get_stats(NULL).recorded, 1);
    EQUAL(prof_get_stats(NULL).dropped_threads, 2);
}

/* Two tasks in turns: rows by task, zones, who ran, a task that comes when another is gone. */
static void test_target_tasks(void) {
    prof_desc desc = target_desc();
    prof_average rows[4];
    prof_trace *trace;
    size_t threads;
    in_context = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    for (uint32_t i = 0; i < 3; i++) {
        prof_task_in(7, "same");
        PROF_BEGIN("waits");
        clock_ticks += 10;
        prof_task_in(300000 + i, "same");
        PROF_BEGIN("ends");
        clock_ticks += 20;
        prof_task_in(7, "same");
        clock_ticks += 5;
        PROF_END();
        prof_task_gone(300000 + i);
    }
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, NULL, rows, 4), 2);
    SAME_TEXT(rows[0].key, "waits");
    EQUAL(rows[0].count, 3);
    EQUAL(rows[0].cpu_time_total_ns, 3 * 35);
    EQUAL(rows[0].on_cpu_ns, 3 * 15);
    EQUAL(rows[1].count, 3);
    EQUAL(rows[1].on_cpu_ns, 3 * 20);
    EQUAL(prof_total_average(trace).on_cpu_ns, 3 * 35);
    EQUAL(prof_get_stats(NULL).unfinished, 3);
    SAME_TEXT(prof_threads(trace, &threads)[0].name, "same");
    EQUAL(prof_threads(trace, &threads)[0].id, 1007);
    SAME_TEXT(prof_threads(trace, &threads)[1].name, "CPU");
    SAME_TEXT(prof_threads(trace, &threads)[2].name, "same#300000");
    EQUAL(threads, 5);
    prof_task_gone(7);
    EQUAL(prof_start(&desc), PROF_OK);   /* without tasks */
    PROF_BLOCK("alone") clock_ticks += 10;
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, NULL, rows, 4), 1);
    EQUAL(rows[0].on_cpu_ns, 0);
}

/* A task that ended, and the next one of its number: its open zones have ended, and what the next
   one does is in a row of its own. */
static void test_target_number_again(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    const prof_event *e;
    size_t threads;
    EQUAL(prof_start(&desc), PROF_OK);
    in_context = 1;
    prof_set_thread_name("first");
    PROF_BEGIN("loop of the first");
    clock_ticks += 10;
    PROF_BEGIN("wait of the first");
    clock_ticks += 5;
    prof_thread_end();
    prof_thread_end();                   /* there is none any more */
    clock_ticks += 1000;
    prof_set_thread_name("second");
    PROF_BLOCK("work of the second") clock_ticks += 7;
    PROF_END();                          /* not of the first one's */
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    EQUAL(lasted(test_find(trace, "loop of the first", 0)), 15);
    EQUAL(lasted(test_find(trace, "wait of the first", 0)), 5);
    e = test_find(trace, "work of the second", 0);
    EQUAL(lasted(e), 7);
    EQUAL(e->parent, PROF_NONE);
    EQUAL(e->thread, 1);
    SAME_TEXT(prof_threads(trace, &threads)[0].name, "first");
    EQUAL(threads, 2);
    SAME_TEXT(prof_threads(trace, NULL)[1].name, "second");
    EQUAL(prof_threads(trace, NULL)[1].id, 1);
    EQUAL(prof_get_stats(NULL).unfinished, 2);
    EQUAL(prof_get_stats(NULL).unbalanced, 1);
}

/* PROF_INSTANT and PROF_COUNTER: a mark whose name is known goes on when the list is full. */
static void test_target_moments_by_mark(void) {
    test_text text;
    prof_desc desc = target_desc();
    prof_trace *trace;
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 3; i++) {
        PROF_INSTANT("by mark");
        PROF_COUNTER("level by mark", -7 * i);
        clock_ticks += 10;
        for (int k = 0; k < 100; k++) {
            char name[3] = { (char)('0' + k / 10), (char)('0' + k % 10), 0 };
            prof_instant(name);
        }
    }
    trace = prof_stop();
    PROF_INSTANT("by mark");             /* nothing: the session is over */
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"by mark\""), 3);
    EQUAL(test_times(text.data, "\"level by mark\""), 3);
    EQUAL(test_times(text.data, "\"value\":-14"), 1);
    CHECK(prof_get_stats(NULL).others > 0, "no name was dropped");
    test_text_clear(&text);
}

/* Times by a clock of which nobody told the rate are told to be ticks; by one whose rate is known
   nothing is said. */
static void test_target_rate_unknown(void) {
    for (int known = 0; known < 2; known++) {
        prof_desc desc = target_desc();
        test_text table, trace;
        prof_trace *stopped;
        memset(&table, 0, sizeof table);
        memset(&trace, 0, sizeof trace);
        desc.platform.ticks_per_second = known ? 1000 : 0;
        EQUAL(prof_start(&desc), PROF_OK);
        PROF_BLOCK("zone") clock_ticks += 7;
        stopped = prof_stop();
        EQUAL(prof_write_table(stopped, NULL, test_text_sink(&table)), PROF_OK);
        EQUAL(prof_write_chrome(stopped, NULL, test_text_sink(&trace)), PROF_OK);
        EQUAL(prof_get_stats(NULL).ticks_per_second, known ? 1000 : 0);
        EQUAL(test_times(table.data, "1 ns is 1 tick: set desc.platform.ticks_per_second"), !known);
        EQUAL(test_times(trace.data, "\"ns_are_ticks\":1"), !known);
        test_text_clear(&table);
        test_text_clear(&trace);
    }
}

/* What a name that finds the list full leaves behind: nothing. */
static void test_target_names_refused(void) {
    prof_desc desc = target_desc();
    char name[] = "0000";
    size_t used = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 300; i++) {
        for (int k = 0, n = i; k < 4; k++, n /= 10) name[k] = (char)('0' + n % 10);
        if (i == 100) used = prof_get_stats(NULL).bytes_used;
        prof_push(name);
        clock_ticks++;
        prof_pop();
    }
    CHECK(prof_get_stats(NULL).others >= 200, "fewer dropped");
    EQUAL(prof_get_stats(NULL).bytes_used, used);
    EQUAL(prof_get_stats(NULL).recorded + prof_get_stats(NULL).others, 300);
    prof_stop();
}

/* Names are told apart by their whole text, however long and alike. */
static void test_target_long_names(void) {
    static char name[600];
    prof_desc desc = target_desc();
    test_text text;
    memset(&text, 0, sizeof text);
    memset(name, 'n', sizeof name - 2);
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 6; i++) {
        name[sizeof name - 2] = (char)('a' + i % 3);
        prof_push(name);
        clock_ticks += 5000;
        prof_pop();
    }
    EQUAL(prof_write_stacks(prof_stop(), PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "nna 10\n"), 1);
    EQUAL(test_times(text.data, "nnb 10\n"), 1);
    EQUAL(test_times(text.data, "nnc 10\n"), 1);
    test_text_clear(&text);
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
    EQUAL(prof_get_stats(NULL).recorded, 1);
    EQUAL(prof_get_stats(NULL).unbalanced, 2);
}

/* ---- Memory ---- */

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
    desc.keep = records_only ? PROF_KEEP_RECORDS : PROF_KEEP_ROWS;
    desc.stream.write = count_bytes;
    desc.stream.user = &bytes;
    if (prof_start(&desc) == PROF_OK) {
        CHECK(size + 16 >= prof_arena_size(&desc), "%u bytes do", (unsigned)size);
        for (int i = 0; i < 100; i++) {
            PROF_BEGIN("outer");
            PROF_BLOCK("inner") clock_ticks += 3;
            prof_counter("count", i);
            if (i % 7 == 0) interrupt(1u + (unsigned)i % 3);
            PROF_END();
            if (mode == PROF_MODE_STREAM && i % 5 == 0) EQUAL(prof_flush(), PROF_OK);
        }
        prof_stop();
        stats = prof_get_stats(NULL);
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

/* A zone takes at most 9 bytes of a stream of 20 names, names and all, however often it is flushed:
   1,042 zones a second, at 25 MHz. */
static void test_target_stream_is_dense(void) {
    static const char *const names[] = { "control", "sample", "filter", "send", "log" };
    char text[16];
    size_t most = 0;
    for (int often = 1; often <= 64; often *= 4) {
        static char memory[8192];
        prof_desc desc = target_desc();
        size_t bytes = 0;
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        desc.mode = PROF_MODE_STREAM;
        desc.stream.write = count_bytes;
        desc.stream.user = &bytes;
        desc.platform.ticks_per_second = 25000000;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 9000; i++) {
            snprintf(text, sizeof text, "%s %d", names[i % 5], i / 5 % 4);
            prof_push(text);
            clock_ticks += 3000;
            PROF_BLOCK("inner") clock_ticks += 45000;
            prof_pop();
            if (i % often == 0) EQUAL(prof_flush(), PROF_OK);
        }
        prof_stop();
        EQUAL(prof_get_stats(NULL).recorded, 18000);
        if (bytes > most) most = bytes;
    }
    CHECK(most <= 18000 * 9, "%u bytes", (unsigned)most);
}

static void test_target_stream_keeps_all(void) {
    static char memory[6144];
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
    for (unsigned i = 1; i < 4; i++) interrupt(i);   /* in room that is left */
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_get_stats(NULL).dropped, 0);
    CHECK(bytes > 10000 * 5, "%u bytes", (unsigned)bytes);
}

static void test_target_ring_overwrites(void) {
    static char memory[4096];
    prof_desc desc = target_desc();
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.mode = PROF_MODE_RING;
    desc.keep = PROF_KEEP_RECORDS;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10000; i++) { PROF_BLOCK("zone") clock_ticks += 3; }
    prof_stop();
    EQUAL(prof_get_stats(NULL).dropped, 0);
    CHECK(prof_get_stats(NULL).overwritten > 9000, "%u",
          (unsigned)prof_get_stats(NULL).overwritten);
}

/* ---- Sums, on the target ---- */

static const prof_average *row_of(const prof_average *rows, size_t n, const char *name) {
    static prof_average none;            /* zeroed */
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, name) == 0) return rows + i;
    return &none;
}

static void aggregate(char *memory, size_t size) {
    prof_desc desc = target_desc();
    desc.mode = PROF_MODE_AGGREGATE;
    desc.memory = memory;
    desc.memory_size = size;
    desc.max_depth = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 1000; i++) {
        PROF_BEGIN("outer");
        clock_ticks += 100;
        PROF_BLOCK("inner") clock_ticks += 10 + (unsigned)i % 3;
        if (i % 5 == 0) interrupt(3);
        PROF_END();
    }
}

static void test_target_aggregate(void) {
    static char memory[2048];
    prof_average rows[8];
    const prof_average *r;
    size_t n;
    PASS_ON(aggregate(memory, sizeof memory));
    n = prof_snapshot(rows, 8);          /* in mid-session, and again */
    n = prof_snapshot(rows, 8);
    EQUAL(n, 3);
    r = row_of(rows, n, "outer");
    EQUAL(r->count, 1000);
    EQUAL(r->cpu_time_total_ns, 1000 * 110 + 999 + 200 * 10);
    EQUAL(r->self_cpu_time_total_ns, 1000 * 100 + 200 * 10);   /* the interrupt is a row beside */
    EQUAL(r->min_ns, 110);
    EQUAL(r->max_ns, 122);
    CHECK(r->p50_ns >= 110 && r->p50_ns <= r->p99_ns && r->p99_ns <= 122, "percentiles");
    r = row_of(rows, n, "inner");
    EQUAL(r->count, 1000);
    EQUAL(r->cpu_time_total_ns, 10999);
    EQUAL(r->self_cpu_time_total_ns, 10999);
    EQUAL(row_of(rows, n, "interrupt")->count, 200);
    prof_counter("not kept", 1);
    PROF_BEGIN("open");
    clock_ticks += 7;
    CHECK(prof_stop() != NULL, "no trace");
    n = prof_snapshot(rows, 8);
    EQUAL(n, 4);
    EQUAL(row_of(rows, n, "open")->cpu_time_total_ns, 7);
    EQUAL(prof_get_stats(NULL).recorded, 2201);
    EQUAL(prof_get_stats(NULL).unfinished, 1);
    EQUAL(prof_get_stats(NULL).not_kept, 1);
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

/* One name at two places is one row (R15). */
static void test_target_aggregate_places(void) {
    prof_desc desc = target_desc();
    prof_average rows[4];
    desc.mode = PROF_MODE_AGGREGATE;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("same") clock_ticks += 5;
    PROF_BLOCK("other") clock_ticks += 1;
    PROF_BLOCK("same") clock_ticks += 20;
    prof_stop();
    EQUAL(prof_snapshot(rows, 4), 2);
    EQUAL(row_of(rows, 2, "same")->count, 2);
    EQUAL(row_of(rows, 2, "same")->cpu_time_total_ns, 25);
    EQUAL(row_of(rows, 2, "same")->min_ns, 5);
    EQUAL(row_of(rows, 2, "same")->max_ns, 20);
    EQUAL(row_of(rows, 2, "other")->count, 1);
}

static void test_target_aggregate_long(void) {
    prof_desc desc = target_desc();
    prof_average row;
    desc.mode = PROF_MODE_AGGREGATE;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("long");
    for (int i = 0; i < 9; i++) {
        clock_ticks += HALF;
        prof_tick();
    }
    PROF_END();
    prof_stop();
    EQUAL(prof_snapshot(&row, 1), 1);
    EQUAL(row.max_ns, 9 * (int64_t)HALF);
}

typedef struct output { char text[1 << 17]; size_t size; unsigned calls, fail_each; } output;

static bool write_output(void *user, const void *data, size_t size) {
    output *o = (output *)user;
    if (o->fail_each && ++o->calls % o->fail_each == 0) return false;
    if (size > sizeof o->text - 1 - o->size) return false;
    memcpy(o->text + o->size, data, size);
    o->size += size;
    o->text[o->size] = 0;
    return true;
}

/* A zone takes 12 bytes of the arena, beside a page's head (F3). Table, stacks and Chrome JSON are
   made of these; events have no room. Of zones that begin together the outer one comes first. */
static void test_target_twelve_bytes(void) {
    static char memory[16384];
    static output text;
    prof_sink sink = { write_output, &text };
    prof_desc desc = target_desc();
    prof_average rows[4];
    prof_trace *trace;
    unsigned zones = 0;
    size_t count;
    const char *at;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_depth = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 2000; i++) {
        PROF_BEGIN("outer of two");
        PROF_BLOCK("inner of two") clock_ticks += 10;
        PROF_END();
    }
    trace = prof_stop();
    zones = (unsigned)prof_get_stats(NULL).recorded;
    CHECK(zones * 12 > sizeof memory - 11000, "%u zones", zones);
    EQUAL(zones + prof_get_stats(NULL).dropped, 4000);
    EQUAL(prof_key_averages(trace, NULL, rows, 4), 2);
    EQUAL(rows[0].count + rows[1].count, zones);
    text.size = 0;
    EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, sink), PROF_OK);
    CHECK(strstr(text.text, "outer_of_two;inner_of_two "), "%s", text.text);
    CHECK(!prof_events(trace, NULL, 0, &count) && !count, "%u events", (unsigned)count);
    EQUAL(prof_get_stats(NULL).recorded, zones);
    text.size = 0;
    EQUAL(prof_write_chrome(trace, NULL, sink), PROF_OK);
    EQUAL(test_times(text.text, "\"ph\":\"X\""), zones);
    at = strstr(text.text, "\"outer of two\"");
    CHECK(at && at < strstr(text.text, "\"inner of two\""), "the inner one is first");
}

/* What was written before does not hurt what is written next. */
static void test_target_aggregate_written(void) {
    static char memory[4096];
    static output text;
    prof_sink sink = { write_output, &text };
    prof_trace *trace;
    PASS_ON(aggregate(memory, sizeof memory));
    trace = prof_stop();
    for (int i = 0; i < 3; i++) {
        text.size = 0;
        EQUAL(prof_write_chrome(trace, NULL, sink), PROF_OK);
        CHECK(strstr(text.text, "thread_name") != NULL, "%s", text.text);
        text.size = 0;
        EQUAL(prof_write_table(trace, NULL, sink), PROF_OK);
        CHECK(strstr(text.text, "outer") && strstr(text.text, "1000"), "%s", text.text);
    }
}

static void start_stream(output *o, prof_stream_format format) {
    static char memory[4096];
    prof_desc desc = target_desc();
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.mode = PROF_MODE_STREAM;
    desc.stream_format = format;
    desc.stream.write = write_output;
    desc.stream.user = o;
    EQUAL(prof_start(&desc), PROF_OK);
}

static void raw_stream(output *o) {
    start_stream(o, PROF_STREAM_RAW);
    for (int i = 0; i < 200; i++) {
        PROF_BLOCK("zone") clock_ticks += 1500;
        if (i % 10 == 0) interrupt(3);
        for (int n = 0; n < 9 && prof_flush() != PROF_OK; n++) {}
    }
    o->fail_each = 0;                    /* prof_stop does not write again what failed */
    prof_stop();
    EQUAL(prof_get_stats(NULL).dropped, 0);
}

static uint64_t number_at(const char **at) {
    uint64_t n = 0;
    unsigned shift = 0;
    do {
        n |= (uint64_t)(**at & 127) << shift;
        shift += 7;
    } while (*(*at)++ & 128);
    return n;
}

/* Slots in blocks of records; *blocks: how many these are. See tools/prof/raw_read.h. */
static unsigned slots_in(const output *o, unsigned *blocks) {
    uint32_t words[3];
    unsigned n = 0;
    *blocks = 0;
    for (size_t at = 0; at < o->size; at += 24 + words[2]) {
        const char *c = o->text + at + 24, *end;
        uint64_t code;
        memcpy(words, o->text + at, sizeof words);
        end = c + words[2];
        if ((words[1] & 0xffff) != PROF__RAW_DENSE) continue;
        ++*blocks;
        for (int i = 0; i < 4; i++) (void)number_at(&c);
        while (c < end && (code = number_at(&c)) != 0) {
            n += code < 32 ? (unsigned)code : 1;
            if (code < 32) c += 12 * code;
            else for (int i = (code & 31) < 31; i < 3; i++) (void)number_at(&c);
        }
    }
    return n;
}

/* What the last block of counts has recorded. */
static unsigned recorded_in(const output *o) {
    uint32_t words[9];
    unsigned n = 0;
    for (size_t at = 0; at < o->size; at += 24 + words[2]) {
        memcpy(words, o->text + at, sizeof words);
        if ((words[1] & 0xffff) == 6) n = words[8];
    }
    return n;
}

/* What the sink does not take comes again, once, and counts once. */
static void test_target_raw_failures(void) {
    static output whole, o;
    unsigned all, blocks;
    memset(&whole, 0, sizeof whole);
    PASS_ON(raw_stream(&whole));
    EQUAL(prof_get_stats(NULL).stream_failures, 0);
    all = slots_in(&whole, &blocks);
    EQUAL(recorded_in(&whole), 220);
    EQUAL(prof_get_stats(NULL).recorded, 220);
    for (unsigned each = 2; each < 9; each++) {
        memset(&o, 0, sizeof o);
        o.fail_each = each;
        PASS_ON(raw_stream(&o));
        EQUAL(slots_in(&o, &blocks), all);
        EQUAL(recorded_in(&o), 220);
        EQUAL(prof_get_stats(NULL).recorded, 220);
        CHECK(prof_get_stats(NULL).stream_failures > 0, "it did not fail");
    }
}

static void test_target_dump_failures(void) {
    static output o;
    prof_sink sink = { write_output, &o };
    prof_desc desc = target_desc();
    unsigned all;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 200; i++) {
        PROF_BLOCK("zone") clock_ticks += 1500;
    }
    prof_stop();
    memset(&o, 0, sizeof o);
    o.fail_each = 1000;
    EQUAL(prof_dump(sink), PROF_OK);
    all = o.calls;
    CHECK(all > 5, "%u blocks", all);
    for (unsigned fails = 1; fails <= all; fails++) {
        memset(&o, 0, sizeof o);
        o.fail_each = fails;
        EQUAL(prof_dump(sink), PROF_ERROR_SINK);
        EQUAL(o.calls, fails);
    }
}

/* A context that has no record yet is told of before its open zones: they are not another's. */
static void test_target_dump_of_open_contexts(void) {
    static output o;
    const prof_sink sink = { write_output, &o };
    prof_desc desc = target_desc();
    uint32_t words[7], thread = UINT32_MAX;
    unsigned open = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") clock_ticks += 3;
    for (in_context = 1; in_context < 3; in_context++) prof_push("open");
    in_context = 0;
    memset(&o, 0, sizeof o);
    EQUAL(prof_dump(sink), PROF_OK);
    for (size_t at = 0; at < o.size; at += 24 + words[2]) {
        memcpy(words, o.text + at, sizeof words);
        if ((words[1] & 0xffff) == PROF__RAW_THREAD) thread = words[6];
        if ((words[1] & 0xffff) != PROF__RAW_OPEN) continue;
        EQUAL(words[6], thread);
        open++;
    }
    EQUAL(open, 2);
    prof_stop();
}

/* Two zones around others, until the arena is full; the clock wraps before they end. */
static unsigned full_within(void) {
    unsigned begun = 2;
    PROF_BEGIN("around");
    PROF_BEGIN("within it");
    for (; begun < 500; begun++) { PROF_BLOCK("zone") clock_ticks += 3; }
    for (int i = 0; i < 9; i++) {
        clock_ticks += HALF;
        prof_tick();
    }
    PROF_END();
    clock_ticks += 5;
    PROF_END();
    clock_ticks += 1000;
    return begun;
}

/* What began before the arena was full is recorded, whenever it ends: in its frame. */
static void test_target_full_keeps_ends(void) {
    static char memory[9000];
    static output o;
    prof_desc desc = target_desc();
    const prof_sink sink = { write_output, &o };
    prof_average rows[4];
    prof_trace *trace;
    prof_stats stats;
    unsigned begun, recorded;
    for (int ended = 0; ended < 2; ended++) {
        desc = target_desc();
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        desc.max_depth = 4;
        EQUAL(prof_start(&desc), PROF_OK);
        if (ended) prof_thread_end();    /* no row to end */
        begun = full_within();
        trace = prof_stop();
        stats = prof_get_stats(NULL);
        recorded = (unsigned)stats.recorded;
        EQUAL(recorded + stats.dropped, begun);
        CHECK(stats.dropped > 0, "none was dropped");
        EQUAL(stats.unfinished, 0);
        EQUAL(prof_key_averages(trace, NULL, rows, 4), 3);
        SAME_TEXT(rows[0].key, "around");
        EQUAL(rows[0].cpu_time_total_ns, 498 * 3 + 9 * (int64_t)HALF + 5);
        EQUAL(rows[0].self_cpu_time_total_ns, 5);
        EQUAL(rows[1].cpu_time_total_ns, 498 * 3 + 9 * (int64_t)HALF);
        memset(&o, 0, sizeof o);
        EQUAL(prof_dump(sink), PROF_OK);
        EQUAL(recorded_in(&o), recorded);
        memset(&o, 0, sizeof o);
        EQUAL(prof_write_chrome(trace, NULL, sink), PROF_OK);
        EQUAL(test_times(o.text, "\"ph\":\"X\""), recorded);
        EQUAL(test_times(o.text, "\"finished\":false"), 0);
    }
}

/* A stream that was not flushed in time goes on once it is, after what waited for that. */
static void test_target_stream_goes_on(void) {
    static const prof_stream_format formats[] = { PROF_STREAM_RAW, PROF_STREAM_CHROME };
    for (int i = 0; i < 4; i++) {
        static output o;
        unsigned begun;
        memset(&o, 0, sizeof o);
        PASS_ON(start_stream(&o, formats[i % 2]));
        begun = full_within();
        if (i < 2) {
            EQUAL(prof_flush(), PROF_OK);
            PROF_BLOCK("after") clock_ticks += 7;
            begun++;
        }
        prof_stop();
        EQUAL(prof_get_stats(NULL).recorded + prof_get_stats(NULL).dropped, begun);
        EQUAL(prof_get_stats(NULL).unfinished, 0);
        if (i % 2 == 0) {
            EQUAL(recorded_in(&o), prof_get_stats(NULL).recorded);
            continue;
        }
        EQUAL(test_times(o.text, "\"ph\":\"X\""), prof_get_stats(NULL).recorded);
        EQUAL(test_times(o.text, "\"name\":\"around\""), 1);
        EQUAL(test_times(o.text, "\"name\":\"within it\""), 1);
        EQUAL(test_times(o.text, "\"name\":\"after\""), i < 2);
    }
}

/* An interrupt that first comes when main() has filled the ring has its zones there (F1), and so
   have as many contexts as the session was told of (F2). */
static void test_target_ring_of_late_interrupts(void) {
    static char memory[32768];
    for (size_t size = 4096; size <= 16384; size += 4096) {
        prof_desc desc = target_desc();
        unsigned contexts = size == 16384 ? 14 : 2;
        size_t threads;
        desc.max_threads = size == 16384 ? contexts : 0;   /* memory is kept for so many */
        desc.memory = memory;
        desc.memory_size = size + prof__sites.count * prof__site_cost();
        desc.mode = PROF_MODE_RING;
        desc.max_depth = 4;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 3000; i++) { PROF_BLOCK("zone") clock_ticks += 3; }
        for (unsigned i = 1; i < contexts; i++) interrupt(i);
        PROF_BLOCK("after") clock_ticks += 3;
        EQUAL((prof_threads(prof_stop(), &threads), threads), contexts);
        EQUAL(prof_get_stats(NULL).dropped, 0);
        EQUAL(prof_get_stats(NULL).dropped_threads, 0);
    }
}

/* Interrupts come while a ring is dumped: the pages stay as they are, and it goes on afterwards. A
   block has the records of several pages. */
static bool interrupted_output(void *user, const void *data, size_t size) {
    for (int i = 0; i < 20; i++) interrupt(3);
    return write_output(user, data, size);
}

static void test_target_dump_interrupted(void) {
    static char memory[32768];
    static output o;
    const prof_sink sink = { interrupted_output, &o };
    prof_desc desc = target_desc();
    prof_average rows[4];
    prof_trace *trace;
    unsigned slots, blocks;
    desc.memory = memory;
    desc.memory_size = 8192 + prof__sites.count * prof__site_cost();
    desc.mode = PROF_MODE_RING;
    desc.max_depth = 4;
    memset(&o, 0, sizeof o);
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 1000; i++) { PROF_BLOCK("zone") clock_ticks += 3; }
    interrupt(3);
    EQUAL(prof_dump(sink), PROF_OK);
    CHECK(prof_get_stats(NULL).dropped > 0, "pages were taken");
    slots = slots_in(&o, &blocks);
    CHECK(slots > 200 && blocks < slots / 40 + 5, "%u blocks of %u", blocks, slots);
    for (int i = 0; i < 3; i++) interrupt(3);
    PROF_BLOCK("after") clock_ticks += 3;
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, NULL, rows, 4), 3);
    CHECK(row_of(rows, 3, "interrupt")->count >= 3, "the interrupt's zones are missing");
    EQUAL(row_of(rows, 3, "after")->count, 1);
}

static void test_target_aggregate_table(void) {
    static char memory[4096];
    static output table, rows_table;
    prof_sink sink = { write_output, NULL };
    prof_average rows[8];
    prof_trace *trace;
    PASS_ON(aggregate(memory, sizeof memory));
    trace = prof_stop();
    sink.user = &table;
    EQUAL(prof_write_table(trace, NULL, sink), PROF_OK);
    CHECK(strstr(table.text, "p99"), "%s", table.text);
    CHECK(strstr(table.text, "outer"), "%s", table.text);
    sink.user = &rows_table;
    EQUAL(prof_write_rows(rows, prof_snapshot(rows, 8), NULL, NULL, sink), PROF_OK);
    CHECK(strncmp(table.text, rows_table.text, rows_table.size) == 0, "%s", rows_table.text);
}

/* ---- A Chrome array, streamed ---- */

static void chrome_array(output *o) {
    start_stream(o, PROF_STREAM_CHROME);
    for (int i = 0; i < 200; i++) {
        PROF_BLOCK("zone") clock_ticks += 1500;
        if (i % 10 == 0) interrupt(3);
        if (i % 20 == 0) prof_counter("level", -i);
        (void)prof_flush();
    }
    prof_instant("here");
    PROF_BEGIN("open");
    for (int i = 0; i < 20 && prof_flush() != PROF_OK; i++) {}
    prof_stop();
}

static void test_target_chrome_array(void) {
    static output o;
    memset(&o, 0, sizeof o);
    PASS_ON(chrome_array(&o));
    CHECK(strncmp(o.text, "[\n{", 3) == 0, "%.80s", o.text);
    CHECK(strcmp(o.text + o.size - 5, "}}\n]\n") == 0, "%s", o.text + o.size - 40);
    EQUAL(test_times(o.text, "\"name\":\"zone\""), 200);
    EQUAL(test_times(o.text, "\"name\":\"interrupt\""), 20);
    EQUAL(test_times(o.text, "\"name\":\"level\""), 10);
    EQUAL(test_times(o.text, "\"name\":\"here\""), 1);
    EQUAL(test_times(o.text, "\"finished\":false"), 1);
    EQUAL(test_times(o.text, "\"recorded\":221"), 1);
    EQUAL(test_times(o.text, "\"dur\":1.500"), 200);
    EQUAL(test_times(o.text, "\"value\":-180"), 1);
}

/* What the sink does not take comes again. */
static void test_target_chrome_array_failures(void) {
    static output o;
    for (unsigned each = 2; each < 9; each++) {
        memset(&o, 0, sizeof o);
        o.fail_each = each;
        PASS_ON(chrome_array(&o));
        EQUAL(test_times(o.text, "\"name\":\"zone\""), 200);
        EQUAL(test_times(o.text, "\"name\":\"process_labels\""), 1);
        CHECK(prof_get_stats(NULL).stream_failures > 0, "it did not fail");
    }
}

/* ---- Interrupts of the context that they interrupt, before each mask and after it ---- */

static unsigned moments, moment_of_interrupt;

static void interrupt_once(void) {
    if (moments++ != moment_of_interrupt) return;
    PROF_BLOCK("interrupt") { PROF_BLOCK("within it") clock_ticks += 2; }
    prof_push("named");
    prof_pop();
}

static void interrupted(bool tasks) {
    for (uint32_t i = 0; i < 4; i++) {
        if (tasks) prof_task_in(i % 3, i % 3 ? "one" : "other");
        PROF_BLOCK("first") {
            PROF_BLOCK("second") clock_ticks += 5;
            prof_push("named");
            prof_pop();
            PROF_INSTANT("here");
            for (int k = 0; k < 9; k++) { PROF_BLOCK("short") clock_ticks++; }
        }
    }
    if (tasks) prof_task_gone(0);
}

static uint64_t count_of(const prof_average *rows, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].key, name) == 0) return rows[i].count;
    return 0;
}

static void interrupt_everywhere(prof_mode mode, bool tasks) {
    bool came = true;
    for (moment_of_interrupt = 0; came; moment_of_interrupt++) {
        prof_desc desc = target_desc();
        prof_average rows[10];
        prof_stats stats;
        prof_trace *trace;
        size_t n;
        desc.mode = mode;
        desc.max_depth = 8;
        EQUAL(prof_start(&desc), PROF_OK);
        moments = 0;
        unmasked = interrupt_once;
        interrupted(tasks);
        unmasked = NULL;
        came = moments > moment_of_interrupt;
        trace = prof_stop();
        stats = prof_get_stats(NULL);
        EQUAL(stats.dropped + stats.unbalanced + stats.healed + stats.unfinished, 0);
        if (mode == PROF_MODE_AGGREGATE) n = prof_snapshot(rows, 10);
        else n = prof_key_averages(trace, NULL, rows, 10);
        EQUAL(count_of(rows, n, "first"), 4);
        EQUAL(count_of(rows, n, "second"), 4);
        EQUAL(count_of(rows, n, "short"), 36);
        EQUAL(count_of(rows, n, "named"), 4 + came);
        EQUAL(count_of(rows, n, "interrupt"), came);
        EQUAL(count_of(rows, n, "within it"), came);
        if (mode != PROF_MODE_AGGREGATE) PASS_ON(test_tree(trace));
    }
    CHECK(moment_of_interrupt > 200, "%u moments", moment_of_interrupt);
}

static void test_target_interrupted(void) {
    PASS_ON(interrupt_everywhere(PROF_MODE_TRACE, false));
    PASS_ON(interrupt_everywhere(PROF_MODE_RING, false));
    PASS_ON(interrupt_everywhere(PROF_MODE_AGGREGATE, false));
    PASS_ON(interrupt_everywhere(PROF_MODE_TRACE, true));
    PASS_ON(interrupt_everywhere(PROF_MODE_AGGREGATE, true));
}

/* ---- Odd names, and what is refused ---- */

static void test_target_odd_names(void) {
    prof_desc desc = target_desc();
    const prof_trace *trace;
    in_context = 3;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push(NULL);
    clock_ticks += 20;
    prof_pop();
    prof_set_thread_name(NULL);
    prof_set_thread_name("a name that is longer than what is kept of it, which goes on and on");
    trace = prof_stop();
    EQUAL(lasted(test_find(trace, "(null)", 0)), 20);
    EQUAL(prof_threads(trace, NULL)->id, 3);
    CHECK(strncmp(prof_threads(trace, NULL)->name, "a name that is", 14) == 0, "the name");
}

static uint64_t own_now(void *user) { (void)user; return 1; }
static uint32_t task_three(void *user) { (void)user; return 3; }

static prof_trace *zones_within(int zones) {
    PROF_BEGIN("around");
    for (int i = 0; i < zones; i++) { PROF_BLOCK("zone") clock_ticks += 3; }
    PROF_END();
    return prof_stop();
}

/* A ring of one page has the last zones, too. Less memory is refused. */
static void test_target_ring_of_one_page(void) {
    static char memory[16384];
    prof_desc desc = target_desc();
    prof_trace *trace;
    size_t n;
    EQUAL(prof_start(&desc), PROF_OK);   /* its names are known from now on */
    (void)zones_within(1);
    desc.keep = PROF_KEEP_EVENTS;
    desc.mode = PROF_MODE_RING;
    desc.max_depth = 4;
    desc.memory = memory;
    desc.memory_size = prof_arena_size(&desc);
    CHECK(desc.memory_size <= sizeof memory, "%u bytes", (unsigned)desc.memory_size);
    for (int zones = 300; zones < 350; zones++) {
        EQUAL(prof_start(&desc), PROF_OK);
        trace = zones_within(zones);
        PASS_ON(test_tree(trace));
        EQUAL(prof_get_stats(NULL).dropped, 0);
        CHECK(prof_get_stats(NULL).overwritten > 200, "%u",
              (unsigned)prof_get_stats(NULL).overwritten);
        EQUAL(test_find(trace, "around", 0)->end_ns, 3 * zones);
        for (size_t i = (prof_events(trace, NULL, 0, &n), n); i-- > 1;)
            EQUAL(prof_events(trace, NULL, 0, &n)[i].end_ns, 3 * (zones - (int64_t)(n - 1 - i)));
    }
    for (desc.memory_size--; prof_start(&desc) == PROF_OK; desc.memory_size--) prof_stop();
    EQUAL(prof_start(&desc), PROF_ERROR_MEMORY);
}

/* A ring of so many bytes, for tasks. */
static void start_ring(size_t size) {
    static char memory[65536];
    prof_desc desc = target_desc();
    desc.keep = PROF_KEEP_EVENTS;
    desc.mode = PROF_MODE_RING;
    desc.max_depth = 4;
    desc.memory = memory;
    desc.memory_size = size;
    EQUAL(prof_start(&desc), PROF_OK);
}

/* Nor does a task that takes all the room keep the others' rows, and who ran, as they were. */
static void test_target_ring_of_tasks(void) {
    prof_trace *trace;
    size_t count, threads;
    int64_t last[4] = { 0 };
    PASS_ON(start_ring(65536));
    for (uint32_t i = 0; i < 4; i++) {
        prof_task_in(1 + i % 2, i % 2 ? "even" : "odd");
        PROF_BLOCK("zone") clock_ticks += 3;
    }
    for (int i = 0; i < 1000; i++) { PROF_BLOCK("zone") clock_ticks += 3; }
    for (uint32_t i = 0; i < 1000; i++) {
        prof_task_in(1 + i % 2, i % 2 ? "even" : "odd");
        PROF_BLOCK("zone") clock_ticks += 3;
    }
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL((prof_threads(trace, &threads), threads), 3);
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (size_t i = 0; i < count; i++) {
        int64_t *end = last + events[i].thread;
        *end = events[i].end_ns > *end ? events[i].end_ns : *end;
    }
    for (size_t i = 0; i < threads; i++)
        CHECK(last[i] >= 3 * (2004 - 1), "row %s ends at %d", prof_threads(trace, NULL)[i].name,
              (int)last[i]);
}

static void live(void) {
    PROF_BLOCK("life") clock_ticks += 3;
}

/* However many tasks came and went, whatever the arena: a name that comes late has room. */
static void test_target_ring_names_late(void) {
    static const char *const late[] = { "late 0", "late 1", "late 2", "late 3" };
    for (size_t size = 40000; size < 44000; size += 136) {
        prof_trace *trace;
        PASS_ON(start_ring(size));
        for (uint32_t i = 0; i < 300; i++) {
            prof_task_in(1 + i, "child");
            for (uint32_t k = 0; k <= i % 5; k++) live();
            prof_task_gone(1 + i);
        }
        prof_task_in(301, "child");
        for (int i = 0; i < 4; i++) {
            prof_push(late[i]);
            prof_pop();
        }
        trace = prof_stop();
        EQUAL(prof_get_stats(NULL).dropped, 0);
        CHECK(prof_get_stats(NULL).overwritten, "%u bytes hold all", (unsigned)size);
        for (int i = 0; i < 4; i++) CHECK(test_find(trace, late[i], 0), "no %s", late[i]);
    }
}

/* A task that comes when another has filled the ring has room, as those after it that have its
   state. */
static void late_tasks(size_t size) {
    prof_trace *trace;
    size_t count, in_children = 0;
    PASS_ON(start_ring(size));
    for (uint32_t i = 0; i < 20; i++) {
        prof_task_in(1, "parent");
        for (int k = 0; k < 2000; k++) live();
        prof_task_in(2 + i, "child");
        live();
        if (i % 2) prof_task_in(1, "parent");
        prof_task_gone(2 + i);
    }
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).dropped_threads, 0);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    for (const prof_event *e = prof_events(trace, NULL, 0, &count), *end = e + count; e < end; e++)
        in_children += strcmp(e->name, "life") == 0 &&
                       strncmp(prof_threads(trace, NULL)[e->thread].name, "child", 5) == 0;
    EQUAL(in_children, 1);
}

static void test_target_ring_of_late_tasks(void) {
    size_t step = test_sample() > 1 ? 588 : 147;
    size_t size = 20000 + test_random((uint32_t)step);   /* less is not enough for three */
    for (; size <= 65536; size += step) {
        late_tasks(size);
        if (test_bad) {
            test_say(" (%u bytes)", (unsigned)size);
            return;
        }
    }
}

/* What its context recorded is not counted again when the session ends. */
static void test_target_end_keeps_time(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    const prof_event *open;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 3; i++) PROF_BLOCK("before") clock_ticks += 10;
    prof_thread_end();
    PROF_BEGIN("open");
    clock_ticks += 5;
    trace = prof_stop();
    open = test_find(trace, "open", 0);
    EQUAL(open->end_ns - open->start_ns, 5);
    EQUAL(open->start_ns, test_find(trace, "before", 2)->end_ns);
}

/* Nothing took neither the longest nor the shortest time. */
static void test_target_total_of_nothing(void) {
    prof_desc desc = target_desc();
    prof_average total;
    EQUAL(prof_start(&desc), PROF_OK);
    total = prof_total_average(prof_stop());
    EQUAL(total.count, 0);
    EQUAL(total.min_ns, 0);
    EQUAL(total.max_ns, 0);
}

static void test_target_refusals(void) {
    static char little[64];
    static int none = 9;                 /* a mode that there is not */
    prof_desc desc = target_desc();
    EQUAL(prof_arena_size(NULL), prof_arena_size(&desc));
    EQUAL((prof_start)(NULL), PROF_OK);
    EQUAL(prof_start(&desc), PROF_ERROR_STATE);
    prof_stop();
    EQUAL((prof_start)(&desc), PROF_OK);
    prof_stop();
    desc.mode = (prof_mode)none;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    desc.mode = PROF_MODE_STREAM;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    desc = target_desc();
    desc.max_depth = 33;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    desc = target_desc();
    desc.memory_size = 5;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    desc.memory = little;
    EQUAL(prof_start(&desc), PROF_ERROR_MEMORY);
    desc = target_desc();
    desc.platform.ticks_per_second = (uint64_t)1 << 32;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    desc = target_desc();
    desc.platform.now = own_now;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    CHECK(strstr(prof_strerror(PROF_ERROR_INVALID), "PROF_NOW()"), "no way out");
    desc = target_desc();
    desc.platform.thread_id = task_three;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    CHECK(strstr(prof_strerror(PROF_ERROR_INVALID), "PROF_CONTEXT()"), "no way out");
}

static void test_target_off(void) {
    static char wide[] = "\x01\"\\\xe2\x82\xac";
    prof_desc desc = target_desc();
    prof_chrome_desc chrome;
    prof_table_desc table;
    const prof_trace *trace;
    test_text text;
    prof_sink out;
    memset(&text, 0, sizeof text);
    memset(&chrome, 0, sizeof chrome);
    memset(&table, 0, sizeof table);
    out = test_text_sink(&text);
    prof_push("off");
    prof_pop();
    prof_instant("off");
    prof_counter("off", 1);
    prof_set_thread_name("off");
    prof_tick();
    EQUAL(prof_now(), 0);
    EQUAL(prof_flush(), PROF_ERROR_STATE);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("open");
    prof_counter(NULL, INT64_MAX);
    prof_instant(wide);
    for (int i = 0; i < 70; i++) {       /* more names than a process can have */
        char name[3] = { (char)('0' + i / 10), (char)('0' + i % 10), 0 };
        prof_instant(name);
        prof_push(name);
        prof_pop();
    }
    EQUAL(prof_flush(), PROF_ERROR_STATE);
    text.fail_at = 1;
    EQUAL(prof_dump(out), PROF_ERROR_SINK);
    text.fail_at = 0;
    EQUAL(prof_dump(out), PROF_OK);
    CHECK(text.size > 100, "%u bytes", (unsigned)text.size);
    out.write = NULL;
    EQUAL(prof_dump(out), PROF_ERROR_INVALID);
    trace = prof_stop();
    CHECK(prof_get_stats(NULL).others > 0, "no name was dropped");
    test_text_clear(&text);
    out = test_text_sink(&text);
    EQUAL(prof_dump(out), PROF_OK);
    test_text_clear(&text);
    chrome.format = PROF_CHROME_ARRAY;
    EQUAL(prof_write_chrome(trace, &chrome, out), PROF_OK);
    CHECK(strstr(text.data, "9223372036854775807"), "%s", text.data);
    CHECK(strstr(text.data, "\\u0001\\\"\\\\\xe2\x82\xac"), "%s", text.data);
    test_text_clear(&text);
    chrome.format = PROF_CHROME_LEGACY;
    EQUAL(prof_write_chrome(trace, &chrome, out), PROF_ERROR_UNSUPPORTED);
    table.format = PROF_FORMAT_CSV;
    EQUAL(prof_write_table(trace, &table, out), PROF_ERROR_UNSUPPORTED);
    EQUAL(prof_print_table(trace, NULL), PROF_ERROR_UNSUPPORTED);
    EQUAL(prof_save_chrome(trace, "none.json"), PROF_ERROR_UNSUPPORTED);
    EQUAL(prof_write_memory_timeline(trace, NULL, out), PROF_ERROR_UNSUPPORTED);
}

/* ---- One core is one clock ---- */

/* Who had the core, by what the program itself counts: each name's own ticks. Tasks switch in the
   midst of zones, and interrupts interrupt each other. */
enum { OWN_TASK_1, OWN_TASK_2, OWN_PART, OWN_HANDLER, OWN_DEEP, OWN_NAMES, OWN_NOBODY = OWN_NAMES };
static const char *const own_names[] = {"task 1", "task 2", "part", "handler", "deep"};
static int64_t own_ns[OWN_NAMES + 1];
static uint32_t own_state;

static uint32_t own_random(uint32_t below) {
    own_state = own_state * 1664525u + 1013904223u;
    return (own_state >> 16) % below;
}

static void own_spend(int who) {
    uint32_t ticks = own_random(50);
    clock_ticks += ticks;
    own_ns[who] += ticks;
}

/* Spends time, in which interrupts of this number and above come. */
static void own_work(int who, unsigned number) {
    for (uint32_t i = own_random(4); i; i--) {
        own_spend(who);
        if (own_random(3) == 0 && number < 6) {
            unsigned before = in_context;
            in_context = number + own_random(2);
            own_spend(who);
            PROF_BLOCK("handler") {
                own_work(OWN_HANDLER, in_context + 1);
                PROF_BLOCK("deep") own_work(OWN_DEEP, in_context + 1);
            }
            in_context = before;
        }
        own_spend(who);
    }
}

static void own_check(prof_trace *trace) {
    prof_average rows[OWN_NAMES];
    size_t count = prof_key_averages(trace, NULL, rows, OWN_NAMES);
    int64_t all = 0;
    for (size_t i = 0; i < count && i < OWN_NAMES; i++)
        for (int k = 0; k < OWN_NAMES; k++)
            if (strcmp(rows[i].key, own_names[k]) == 0) {
                EQUAL(rows[i].self_cpu_time_total_ns, own_ns[k]);
                all += rows[i].self_cpu_time_total_ns;
            }
    EQUAL(all, (int64_t)clock_ticks - 12345 - own_ns[OWN_NOBODY]);
}

static void test_target_one_core(void) {
    for (uint32_t seed = 0; seed < 40; seed++) {
        prof_desc desc = target_desc();
        bool tasks = seed % 2;
        desc.mode = seed % 3 == 1 ? PROF_MODE_RING : PROF_MODE_TRACE;
        own_state = seed;
        memset(own_ns, 0, sizeof own_ns);
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 60; i++) {
            if (tasks) prof_task_in(1, "one");
            own_work(OWN_NOBODY, 1);
            PROF_BLOCK("task 1") {
                own_work(OWN_TASK_1, 1);
                PROF_BLOCK("part") own_work(OWN_PART, 1);
                if (tasks) {
                    prof_task_in(2, "two");
                    PROF_BLOCK("task 2") own_work(OWN_TASK_2, 1);
                    own_work(OWN_NOBODY, 1);
                    prof_task_in(1, "one");
                }
                own_work(OWN_TASK_1, 1);
            }
        }
        own_check(prof_stop());
        EQUAL(prof_get_stats(NULL).dropped + prof_get_stats(NULL).overwritten, 0);
    }
}

/* Switches and moments while the clock wraps: each task is on the CPU for as long as the clock went
   on with it, and a moment's time is whole. */
static void test_target_switches(void) {
    static const char *const names[] = { "one", "two", "three" };
    static long long times[400];
    prof_desc desc = target_desc();
    long long on_cpu[3] = { 0, 0, 0 };
    prof_average rows[4];
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    own_state = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_tick();
    for (int i = 0; i < 400; i++) {
        uint32_t task = own_random(3);
        unsigned long long ticks = own_random(8) ? own_random(1000) : HALF - own_random(1000) - 1;
        prof_task_in(task, names[task]);
        if (!on_cpu[task]) prof_push(names[task]);
        times[i] = (long long)clock_ticks - 12345;
        PROF_INSTANT("switch");
        clock_ticks += ticks + 1;
        on_cpu[task] += (long long)ticks + 1;
        prof_tick();
    }
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, NULL, rows, 4), 3);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(rows[i].key, names[k]) == 0) EQUAL(rows[i].on_cpu_ns, on_cpu[k]);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"name\":\"switch\""), 400);
    for (int i = 0; i < 400; i++) {
        char ts[40];
        snprintf(ts, sizeof ts, "\"ts\":%lld.%03lld", times[i] / 1000, times[i] % 1000);
        CHECK(strstr(text.data, ts), "no moment at %s", ts);
    }
    EQUAL(prof_get_stats(NULL).dropped, 0);
    test_text_clear(&text);
}

/* A table of sums that nobody sorts has its rows in the order in which their names came. */
static void test_target_aggregate_order(void) {
    static output table;
    prof_desc desc = target_desc();
    prof_table_desc rows;
    prof_sink sink = { write_output, NULL };
    memset(&rows, 0, sizeof rows);
    desc.mode = PROF_MODE_AGGREGATE;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("came first");
    prof_push("came next");
    prof_pop();
    prof_pop();
    sink.user = &table;
    EQUAL(prof_write_table(prof_stop(), &rows, sink), PROF_OK);
    CHECK(strstr(table.text, "came first") < strstr(table.text, "came next"), "%s", table.text);
}

/* Sums do not know what was interrupted, and the table says so. */
static void test_target_one_core_sums(void) {
    static output table;
    prof_desc desc = target_desc();
    prof_sink sink = { write_output, NULL };
    desc.mode = PROF_MODE_AGGREGATE;
    desc.platform.ticks_per_second = 1000000000;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 100; i++) {
        PROF_BEGIN("main");
        interrupt(3u + (unsigned)i % 2);
        PROF_END();
    }
    sink.user = &table;
    EQUAL(prof_write_table(prof_stop(), NULL, sink), PROF_OK);
    CHECK(strstr(table.text, "Interrupts, whose time counts in what they interrupted, too: 1.000us"
                             "\n"), "%s", table.text);
}

/* Hooks in no order at all: tasks that go twice, or while they run, or never came; switches within
   interrupts; numbers and names of every kind. Returns how many zones began. */
static unsigned odd_hooks(unsigned seed) {
    static const uint32_t numbers[] = { 0, 1, 2, 998, 1000, 0x7fffffff, UINT32_MAX, 3 };
    static const char *const names[] = { "one", "other", "", NULL, "one#1", "CPU",
                                         "a name that is longer than rows have room for" };
    unsigned zones = 0;
    for (int i = 0; i < 400; i++) {
        uint32_t number;
        const char *name;
        seed = seed * 1103515245u + 12345u;
        number = numbers[seed >> 20 & 7];
        name = names[(seed >> 24) % 7];
        in_context = seed >> 10 & 7 ? 0 : 3;
        clock_ticks += seed >> 27;
        switch (seed >> 13 & 7) {
        case 0: case 1: prof_task_in(number, name); break;
        case 2: prof_task_gone(number); break;
        case 3: prof_thread_end(); break;
        case 4: PROF_END(); break;
        case 5: prof_tick(); break;
        default: PROF_BEGIN("zone"); zones++; break;
        }
    }
    in_context = 0;
    for (int i = 0; i < 8; i++) prof_task_gone(numbers[i]);
    return zones;
}

static void test_target_hooks_in_odd_order(void) {
    static output written;
    static uint64_t memory[1 << 17];
    for (unsigned seed = 0; seed < 80; seed++) {
        prof_desc desc = target_desc();
        prof_sink sink = { write_output, NULL };
        prof_trace *trace;
        prof_average row;
        unsigned zones;
        bool whole = seed % 4 == 0;
        written.size = 0;
        sink.user = &written;
        if (seed % 3) odd_hooks(seed);       /* before the session, too */
        desc.mode = whole ? PROF_MODE_TRACE : seed % 4 == 1 ? PROF_MODE_RING :
                    seed % 4 == 2 ? PROF_MODE_STREAM : PROF_MODE_AGGREGATE;
        desc.memory = memory;
        desc.memory_size = whole ? sizeof memory : 32768;
        desc.max_depth = whole ? 32 : 6;
        desc.max_threads = whole ? 0 : 12;
        if (seed % 4 == 2) desc.stream = sink;
        EQUAL(prof_start(&desc), PROF_OK);
        zones = odd_hooks(seed + 1000);
        trace = prof_stop();
        if (whole) {
            PASS_ON(test_tree(trace));
            EQUAL(prof_key_averages(trace, NULL, &row, 1), 1);
            EQUAL(row.count, zones);
            EQUAL(prof_get_stats(NULL).dropped, 0);
        }
        if (whole || seed % 4 == 1) EQUAL(prof_dump(sink), PROF_OK);
        else if (seed % 4 == 3) EQUAL(prof_write_table(trace, NULL, sink), PROF_OK);
    }
}

#ifdef prof__vsnprintf                   /* stb_sprintf is installed */
static void test_target_formats(void) {
    prof_desc desc = target_desc();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    {
        PROF_SCOPE_F("scope %d", 1);
        prof_push_f("%s", "pushed");
        prof_push_f("%0300d", 2);
        prof_pop();
        prof_pop();
    }
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).not_kept, 1);
    EQUAL(prof_get_stats(NULL).recorded, 3);
    CHECK(test_find(trace, "scope 1", 0) && test_find(trace, "pushed", 0), "a name is missing");
    EQUAL(strlen(prof_events(trace, NULL, 0, NULL)[2].name), 255);
}
#endif

int main(void) {
#ifdef prof__vsnprintf
    RUN(test_target_formats);
#endif
    RUN(test_target_wraps);
    RUN(test_target_wraps_without_ticks);
    RUN(test_target_silence);
    RUN(test_target_still_clock);
    RUN(test_target_timer_bits);
    RUN(test_target_timer_back);
    RUN(test_target_rate_changes);
    RUN(test_target_rate_in_reading);
    RUN(test_target_contexts);
    RUN(test_target_context_too_high);
    RUN(test_target_number_again);
    RUN(test_target_moments_by_mark);
    RUN(test_target_rate_unknown);
    RUN(test_target_names_refused);
    RUN(test_target_long_names);
    RUN(test_target_not_mine);
    RUN(test_target_arenas);
    RUN(test_target_stream_keeps_all);
    RUN(test_target_stream_is_dense);
    RUN(test_target_ring_overwrites);
    RUN(test_target_aggregate);
    RUN(test_target_aggregate_long);
    RUN(test_target_aggregate_table);
    RUN(test_target_raw_failures);
    RUN(test_target_dump_failures);
    RUN(test_target_dump_of_open_contexts);
    RUN(test_target_full_keeps_ends);
    RUN(test_target_dump_interrupted);
    RUN(test_target_stream_goes_on);
    RUN(test_target_ring_of_late_interrupts);
    RUN(test_target_chrome_array);
    RUN(test_target_chrome_array_failures);
    RUN(test_target_ring_of_one_page);
    RUN(test_target_ring_names_late);
    RUN(test_target_ring_of_tasks);
    RUN(test_target_ring_of_late_tasks);
    RUN(test_target_end_keeps_time);
    RUN(test_target_tasks);
    RUN(test_target_total_of_nothing);
    RUN(test_target_refusals);
    RUN(test_target_off);
    RUN(test_target_odd_names);
    RUN(test_target_twelve_bytes);
    RUN(test_target_aggregate_written);
    RUN(test_target_aggregate_places);   /* last: its names would take of the others' room */
    RUN(test_target_little_back);
    RUN(test_target_set_to_0);
    RUN(test_target_one_core);
    RUN(test_target_aggregate_order);
    RUN(test_target_switches);
    RUN(test_target_one_core_sums);
    RUN(test_target_interrupted);
    RUN(test_target_hooks_in_odd_order);   /* last: its sites take room of rings before */
    return test_end();
}
