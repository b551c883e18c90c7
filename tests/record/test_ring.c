/* PROF_MODE_RING and prof_dump: the last zones of every thread, also out of a signal handler. */
#include "../test.h"
#include "../inside.h"
#include "../../tools/prof/raw_read.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A dump, read back ---- */

typedef struct dumped {
    size_t zones, open, partial, threads, named;
    char last_open[64], thread[64];
    prof_raw_stats stats;
    prof_result result;
    int64_t last_end;
    bool order;                          /* of the ends of each thread, of which there are few */
    int64_t ends[64];
} dumped;

static unsigned char reader_memory[256 << 10];

static void take(void *user, const prof_raw_item *item) {
    dumped *d = (dumped *)user;
    if (item->kind == PROF_RAW_THREAD) {
        d->threads++;
        strncpy(d->thread, item->name ? item->name : "(none)", sizeof d->thread - 1);
    }
    if (item->kind != PROF_RAW_ZONE) return;
    d->partial += (item->flags & PROF_EVENT_PARTIAL) != 0;
    if (item->flags & PROF_EVENT_UNFINISHED) {
        d->open++;
        strncpy(d->last_open, item->name, sizeof d->last_open - 1);
        return;
    }
    d->zones++;
    d->named += strncmp(item->name, "site#", 5) != 0;
    if (item->end_ns < d->ends[item->thread % 64]) d->order = false;
    d->ends[item->thread % 64] = item->end_ns;
}

static dumped read_dump(const char *data, size_t size) {
    prof_raw_desc desc;
    prof_raw *raw;
    dumped d;
    memset(&d, 0, sizeof d);
    memset(&desc, 0, sizeof desc);
    d.order = true;
    desc.memory = reader_memory;
    desc.memory_size = sizeof reader_memory;
    desc.item = take;
    desc.user = &d;
    if (prof_raw_open(&desc, &raw) != PROF_OK) abort();
    prof_raw_feed(raw, data, size);
    d.result = prof_raw_close(raw, &d.stats);
    return d;
}

/* A dump of now. */
static dumped dump(void) {
    test_text text;
    dumped d;
    memset(&text, 0, sizeof text);
    if (prof_dump(test_text_sink(&text)) != PROF_OK) abort();
    d = read_dump(text.data, text.size);
    test_text_clear(&text);
    return d;
}

static prof_desc ring_desc(size_t size) {
    prof_desc desc = test_desc();
    desc.mode = PROF_MODE_RING;
    desc.keep = PROF_KEEP_EVENTS;
    desc.max_threads = 1;
    desc.max_depth = 8;
    desc.memory_size = size;
    desc.memory = malloc(size);
    test_time.step = 1;
    return desc;
}

/* ---- The trace ---- */

/* Steps that are overwritten leave room for the events of others. */
static void test_steps_go_on(void) {
    prof_desc desc = ring_desc(256 << 10);
    prof_trace *trace;
    size_t steps = 0, count, i;
    const prof_event *events;
    desc.schedule.active = 3000;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 2000; i++) {
        test_zones(20);
        prof_step();
    }
    trace = prof_stop();
    CHECK(prof_get_stats(NULL).dropped < 100, "%u steps dropped",   /* as the ring filled */
          (unsigned)prof_get_stats(NULL).dropped);
    events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < count; i++) steps += strncmp(events[i].name, "ProfilerStep", 12) == 0;
    CHECK(steps > 15 && steps < 100, "%u steps", (unsigned)steps);
    free(desc.memory);
}

static void test_keeps_the_last(void) {
    prof_desc desc = ring_desc(256 << 10);
    prof_trace *trace;
    const prof_event *events;
    size_t count, i, partial = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("all");
    test_zones(20000);
    PROF_END();
    test_zones(5);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    CHECK(count > 1000 && count < 40000, "%u events", (unsigned)count);
    PASS_ON(test_tree(trace));
    SAME_TEXT(events[count - 1].name, "inner");
    SAME_TEXT(events[0].name, "all");
    for (i = 0; i < count; i++) partial += (events[i].flags & PROF_EVENT_PARTIAL) != 0;
    CHECK(partial >= 1 && partial <= 3 && events[0].flags & PROF_EVENT_PARTIAL, "%u partial",
          (unsigned)partial);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded, count);
    EQUAL(prof_get_stats(NULL).recorded + prof_get_stats(NULL).overwritten, 40011);
    free(desc.memory);
}

static void test_what_fits_is_whole(void) {
    prof_desc desc = ring_desc(1 << 20);
    prof_trace *trace;
    size_t count;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(100);
    trace = prof_stop();
    prof_events(trace, NULL, 0, &count);
    EQUAL(count, 200);
    PASS_ON(test_tree(trace));
    EQUAL(prof_get_stats(NULL).overwritten, 0);
    free(desc.memory);
}

static void *mark_some(void *turns) {
    test_zones(*(unsigned *)turns);
    return NULL;
}

/* Thousands of threads, a few at a time: the last ones are there. */
static void test_threads_that_come_and_go(void) {
    prof_desc desc;
    prof_trace *trace;
    unsigned turns = 200, threads = !TEST_SANITIZED ? 2000 : test_sample() > 1 ? 300 : 1000;
    size_t count;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.keep = PROF_KEEP_EVENTS;
    desc.memory_size = 1 << 20;
    desc.memory = malloc(desc.memory_size);
    desc.max_threads = 3;
    EQUAL(prof_start(&desc), PROF_OK);
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, mark_some, &turns);
        pthread_join(thread, NULL);
    }
    trace = prof_stop();
    prof_events(trace, NULL, 0, &count);
    CHECK(count >= 400, "%u events", (unsigned)count);
    PASS_ON(test_tree(trace));
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).threads, threads);
    EQUAL(prof_get_stats(NULL).recorded + prof_get_stats(NULL).overwritten, 400 * threads);
    prof_thread_end();
    free(desc.memory);
}

static void descend(unsigned levels) {
    PROF_BLOCK("down") { if (levels) descend(levels - 1); }
}

/* Frames of deep zones take all memory: the zone around them has a row, or it would have their time
   as its own, too. */
static void test_deep_recursion(void) {
    static prof_average rows[8];
    prof_desc desc;
    int64_t self = 0, whole = 0;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.memory_size = 1 << 18;
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("root") descend(4000);
    size_t count = prof_key_averages(prof_stop(), NULL, rows, 8);
    CHECK(prof_get_stats(NULL).deep > 1000, "%u deep", (unsigned)prof_get_stats(NULL).deep);
    for (size_t i = 0; i < count && i < 8; i++) {
        self += rows[i].self_cpu_time_total_ns;
        if (strcmp(rows[i].key, "root") == 0) whole = rows[i].cpu_time_total_ns;
    }
    CHECK(llabs(self - whole) < 8, "%lld of %lld ns", (long long)self, (long long)whole);
    prof_thread_end();
    free(desc.memory);
}

static void mark_as(const char *name, unsigned turns) {
    char zone[32] = "zone of ";
    strncat(zone, name, sizeof zone - 10);
    prof_set_thread_name(name);
    while (turns--) {
        prof_push(zone);
        prof_pop();
    }
}

static const char *leaver_name;
static prof_async leaver_range;
static void *mark_and_leave(void *turns) {
    mark_as(leaver_name, *(unsigned *)turns);
    leaver_range = prof_async_begin("range");
    return NULL;
}

static void leave(const char *name, unsigned turns) {
    pthread_t thread;
    leaver_name = name;
    pthread_create(&thread, NULL, mark_and_leave, &turns);
    pthread_join(thread, NULL);
}

/* ---- Its memory is whoever's records it is ---- */

static size_t calls_of(prof_trace *trace) {
    static prof_average rows[16];
    size_t count = prof_key_averages(trace, NULL, rows, 16), calls = 0;
    for (size_t i = 0; i < count; i++) calls += rows[i].count;
    return calls;
}

/* One thread has nearly all of the arena, however many may come. */
static void test_one_thread_fills_it(void) {
    prof_desc desc;
    prof_trace *trace;
    size_t calls;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.memory_size = 4 << 20;
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(400000);
    trace = prof_stop();
    calls = calls_of(trace);
    CHECK(calls * 12 >= desc.memory_size / 10 * 9, "%u zones", (unsigned)calls);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded, calls);
    EQUAL(prof_get_stats(NULL).recorded + prof_get_stats(NULL).overwritten, 800000);
    prof_thread_end();
    free(desc.memory);
}

/* Threads that are all there at once, the later ones when the ring is full. */
static pthread_barrier_t crowd;

static void *one_of_many(void *late) {
    if (late) pthread_barrier_wait(&crowd);
    test_zones(20000);
    if (!late) pthread_barrier_wait(&crowd);
    pthread_barrier_wait(&crowd);
    return NULL;
}

static bool write_nowhere(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    return true;
}

static prof_stats stats_of_crowd(prof_mode mode, size_t kib, uint32_t max_threads, int threads) {
    pthread_t list[32];
    prof_desc desc;
    prof_stats stats;
    memset(&desc, 0, sizeof desc);
    desc.mode = mode;
    desc.max_threads = max_threads;
    desc.memory_size = kib << 10;
    desc.memory = malloc(desc.memory_size);
    desc.stream.write = write_nowhere;
    pthread_barrier_init(&crowd, NULL, (unsigned)threads);
    prof_start(&desc);
    for (int i = 0; i < threads; i++)
        pthread_create(list + i, NULL, one_of_many, i ? &crowd : NULL);
    for (int i = 0; i < threads; i++) pthread_join(list[i], NULL);
    stats = prof_get_stats(prof_stop());
    pthread_barrier_destroy(&crowd);
    free(desc.memory);
    return stats;
}

/* Whatever the arena, who comes late is recorded; without max_threads only memory ends that. */
static void test_late_crowds(void) {
    static const struct { size_t kib; int threads; } of[] = {
        { 64, 4 }, { 128, 8 }, { 512, 16 } };
    prof_stats stats;
    for (size_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        stats = stats_of_crowd(i & 1 ? PROF_MODE_STREAM : PROF_MODE_RING, of[i / 2].kib, 0,
                               of[i / 2].threads);
        EQUAL(stats.threads, of[i / 2].threads);
        if (!(i & 1)) EQUAL(stats.dropped, 0);
        EQUAL(stats.dropped, stats.dropped_full);
    }
    stats = stats_of_crowd(PROF_MODE_RING, 64, 0, 32);
    CHECK(stats.dropped_full && stats.dropped == stats.dropped_full, "%u dropped",
          (unsigned)stats.dropped);
    stats = stats_of_crowd(PROF_MODE_RING, 1024, 3, 4);
    EQUAL(stats.threads, 3);
    EQUAL(stats.dropped_threads, 40000);
    EQUAL(stats.dropped, 40000);
}

/* Each forgotten PROF_END leaves a zone open. What begins when max_depth are open is in the table
   alone, which says so and asks for the PROF_END. */
static void test_forgotten_ends(void) {
    prof_desc desc = ring_desc(256 << 10);
    prof_trace *trace;
    prof_stats stats;
    test_text text;
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 1000; i++) {
        PROF_BEGIN("request");
        if (i % 10) PROF_END();
    }
    trace = prof_stop();
    stats = prof_get_stats(trace);
    EQUAL(stats.recorded + stats.summed, 1000);
    EQUAL(stats.unfinished, 100);
    CHECK(stats.deep > 300, "%u in the table alone", (unsigned)stats.deep);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "not in the timeline (is a PROF_END missing?): "), "%s", text.data);
    test_text_clear(&text);
    prof_thread_end();
    free(desc.memory);
}

/* A dump has zones that were open when a window was closed, whoever has their thread's state. */
static void dump_after_a_toggle(prof_mode mode) {
    prof_desc desc = ring_desc(256 << 10);
    desc.mode = mode;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("open");
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    PROF_BLOCK("later") {}
    dumped d = dump();
    EQUAL(d.open, 1);
    SAME_TEXT(d.last_open, "open");
    prof_stop();
    prof_thread_end();
    free(desc.memory);
}

static void test_dump_after_a_toggle(void) {
    PASS_ON(dump_after_a_toggle(PROF_MODE_TRACE));
    PASS_ON(dump_after_a_toggle(PROF_MODE_RING));
}

static void nest(int zones) {
    prof_push(zones % 2 ? "odd" : "even");
    if (zones > 1) nest(zones - 1);
    prof_pop();
}

/* Zones deeper than max_depth take no time off zones around them of which the ring, or the stream,
   has no record any more; and all are counted, whatever is made of the records. */
static void deep_in(prof_mode mode, bool records_only) {
    prof_desc desc = ring_desc(64 << 10);
    prof_average rows[2];
    prof_trace *trace;
    prof_stats stats;
    test_text text;
    memset(&text, 0, sizeof text);
    desc.mode = mode;
    desc.keep = PROF_KEEP_ROWS;
    if (records_only) desc.keep = PROF_KEEP_RECORDS;
    desc.max_depth = 2;
    desc.stream = test_text_sink(&text);
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 3000; i++) nest(6);
    trace = prof_stop();
    stats = prof_get_stats(trace);
    EQUAL(stats.recorded + stats.overwritten + stats.summed, 18000);
    CHECK(mode != PROF_MODE_RING || (stats.recorded > 1000 && stats.overwritten > 1000),
          "%u recorded", (unsigned)stats.recorded);
    EQUAL(prof_key_averages(trace, NULL, rows, 2), 2);
    for (int i = 0; i < 2; i++)
        CHECK(rows[i].self_cpu_time_total_ns > 0, "%s: %lld", rows[i].key,
              (long long)rows[i].self_cpu_time_total_ns);
    prof_thread_end();
    test_text_clear(&text);
    free(desc.memory);
}

static void test_deep_zones(void) {
    for (int i = 0; i < 4; i++)
        PASS_ON(deep_in(i < 2 ? PROF_MODE_RING : PROF_MODE_STREAM, i % 2 != 0));
}

/* What PROF_KEEP_RECORDS keeps is in no row: deep zones take no time off it. */
static void test_deep_zones_of_records(void) {
    prof_desc desc = ring_desc(1 << 20);
    prof_average rows[2];
    desc.keep = PROF_KEEP_RECORDS;
    desc.max_depth = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 100; i++) nest(6);
    EQUAL(prof_key_averages(prof_stop(), NULL, rows, 2), 2);
    for (int i = 0; i < 2; i++)
        CHECK(rows[i].self_cpu_time_total_ns > 0, "%s: %lld", rows[i].key,
              (long long)rows[i].self_cpu_time_total_ns);
    prof_thread_end();
    free(desc.memory);
}

/* The first details that come when a ring is full are cut, and counted; the zones are there. */
static void test_late_details(void) {
    prof_desc desc = ring_desc(256 << 10);
    prof_trace *trace;
    desc.keep = PROF_KEEP_ROWS;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(100000);
    for (int i = 0; i < 10; i++) {
        PROF_BEGIN("late");
        prof_set_arg("key", "value");
        PROF_END();
    }
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).not_kept, 10);
    EQUAL(calls_of(trace), prof_get_stats(trace).recorded);
    prof_thread_end();
    free(desc.memory);
}

/* Threads that come when the ring is full are in it, from their first zone on. */
static void test_late_threads(void) {
    prof_desc desc;
    prof_trace *trace;
    const prof_thread_info *threads;
    size_t count;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.memory_size = 256 << 10;
    desc.memory = malloc(desc.memory_size);
    desc.max_threads = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(100000);
    for (unsigned i = 0; i < 3; i++) leave(i == 0 ? "one" : i == 1 ? "two" : "three", 1);
    trace = prof_stop();
    threads = prof_threads(trace, &count);
    EQUAL(count, 4);
    SAME_TEXT(threads[count - 1].name, "three");
    EQUAL(prof_get_stats(NULL).dropped, 0);
    prof_thread_end();
    free(desc.memory);
}

/* Short threads take no more than a chunk each, and rows of those that are gone serve again. */
static void test_short_threads(void) {
    prof_desc desc;
    prof_trace *trace;
    unsigned turns = 1;
    size_t calls;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.memory_size = 4 << 20;
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, mark_some, &turns);
        pthread_join(thread, NULL);
    }
    trace = prof_stop();
    calls = calls_of(trace);
    CHECK(calls >= 400, "%u zones", (unsigned)calls);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded + prof_get_stats(NULL).overwritten, 2000);
    free(desc.memory);
}

/* One of whose zones nothing is left is a thread of the trace all the same. */
static void left_in(prof_mode mode) {
    prof_desc desc = ring_desc(256 << 10);
    const prof_thread_info *threads;
    test_text text;
    prof_trace *trace;
    size_t count;
    memset(desc.memory, 0xa5, desc.memory_size);
    memset(&text, 0, sizeof text);
    desc.mode = mode;
    desc.stream = test_text_sink(&text);
    desc.max_threads = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    leave("first", 3);
    leave("second", mode == PROF_MODE_RING ? 20000 : 3);
    leave("third", 3);
    EQUAL(prof_flush(), mode == PROF_MODE_STREAM ? PROF_OK : PROF_ERROR_STATE);
    trace = prof_stop();
    threads = prof_threads(trace, &count);
    CHECK(count >= 1 && count <= 3, "%u threads", (unsigned)count);
    for (size_t i = 0; i < count; i++)
        CHECK(threads[i].id > 0 && threads[i].id < 1u << 30 && threads[i].name &&
                  strchr("fst", threads[i].name[0]), "thread %u is %llu", (unsigned)i,
              (unsigned long long)threads[i].id);
    EQUAL(prof_get_stats(NULL).threads, 3);
    EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
    test_text_clear(&text);
    free(desc.memory);
}

static void test_threads_of_which_nothing_is_kept(void) {
    for (int mode = PROF_MODE_TRACE; mode <= PROF_MODE_AGGREGATE; mode++)
        PASS_ON(left_in((prof_mode)mode));
}

/* Each zone is on its own thread's row. */
static void each_on_its_row(prof_trace *trace, size_t least) {
    const prof_thread_info *threads;
    const prof_event *events;
    size_t count, rows, zones = 0;
    events = prof_events(trace, NULL, 0, &count);
    threads = prof_threads(trace, &rows);
    for (size_t i = 0; i < count; i++) {
        const char *name = threads[events[i].thread].name;
        if (strncmp(events[i].name, "zone of ", 8) != 0) continue;
        zones++;
        SAME_TEXT(events[i].name + 8, name ? name : "(none)");
    }
    CHECK(zones >= least, "%u zones", (unsigned)zones);
}

static void toggle_off_and_on(void) {
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
}

/* What one thread has of an index, before a toggle or after it, no other one gets. */
static void test_rows_after_a_toggle(void) {
    prof_desc desc = ring_desc(256 << 10);
    prof_trace *trace;
    size_t rows;
    desc.max_threads = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    mark_as("main", 3);
    PASS_ON(toggle_off_and_on());
    mark_as("main", 20000);
    leave("other", 3);
    leave("third", 3);
    trace = prof_stop();
    PASS_ON(each_on_its_row(trace, 500));
    prof_threads(trace, &rows);
    EQUAL(rows, 3);
    EQUAL(prof_get_stats(NULL).threads, 3);
    free(desc.memory);
}

static void *toggle_and_end(void *zones) {
    test_zones(*(const unsigned *)zones);
    toggle_off_and_on();
    return NULL;
}

/* A thread that toggles, and ends without a zone since, leaves its row to others. */
static void test_rows_of_threads_that_toggle(void) {
    prof_desc desc = ring_desc(256 << 10);
    unsigned zones = 200;
    size_t rows;
    desc.max_threads = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 400; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, toggle_and_end, &zones);
        pthread_join(thread, NULL);
    }
    prof_threads(prof_stop(), &rows);
    CHECK(rows < 100, "%u rows", (unsigned)rows);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    free(desc.memory);
}

static uint32_t same_id(void *user) {
    (void)user;
    return 4711;
}

/* The system gives ids of threads that ended to others. */
static void test_rows_of_one_id(void) {
    for (int mode = PROF_MODE_TRACE; mode <= PROF_MODE_RING; mode++) {
        prof_desc desc = ring_desc(256 << 10);
        desc.mode = (prof_mode)mode;
        desc.platform.thread_id = same_id;
        EQUAL(prof_start(&desc), PROF_OK);
        leave("first", 3);
        PASS_ON(toggle_off_and_on());
        leave("second", 3);
        PASS_ON(each_on_its_row(prof_stop(), 6));
        free(desc.memory);
    }
}

/* A range whose thread is forgotten is not the next thread's. */
static void test_range_of_a_forgotten_thread(void) {
    prof_desc desc = ring_desc(256 << 10);
    const prof_event *events;
    const prof_thread_info *threads;
    prof_async range;
    prof_trace *trace;
    size_t count, i = 0;
    desc.max_threads = 2;
    desc.record_shapes = true;           /* room for what is no zone */
    EQUAL(prof_start(&desc), PROF_OK);
    mark_as("main", 1);
    leave("first", 3);
    range = leaver_range;
    leave("second", 20000);
    leave("third", 3);
    prof_async_end(range);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    threads = prof_threads(trace, NULL);
    while (i < count && strcmp(events[i].name, "range") != 0) i++;
    CHECK(i < count, "no range");
    SAME_TEXT(threads[events[i].thread].name, "main");
    PASS_ON(each_on_its_row(trace, 4));
    free(desc.memory);
}

typedef struct raw_rows {
    char names[64][64];
    size_t zones, wrong;
} raw_rows;

static void take_row(void *user, const prof_raw_item *item) {
    raw_rows *r = (raw_rows *)user;
    char *name = r->names[item->thread % 64];
    if (item->kind == PROF_RAW_THREAD) snprintf(name, 64, "%s", item->name ? item->name : "");
    if (item->kind != PROF_RAW_ZONE || strncmp(item->name, "zone of ", 8) != 0) return;
    r->zones++;
    r->wrong += strcmp(item->name + 8, name) != 0;
}

/* Nor is the name of a thread that left lost in a dump, or in a stream. */
static void raw_rows_of(prof_mode mode) {
    prof_desc desc = ring_desc(1 << 20);
    prof_raw_desc raw_desc;
    prof_raw *raw;
    raw_rows rows;
    test_text text;
    memset(&rows, 0, sizeof rows);
    memset(&raw_desc, 0, sizeof raw_desc);
    memset(&text, 0, sizeof text);
    desc.mode = mode;
    desc.stream = test_text_sink(&text);
    EQUAL(prof_start(&desc), PROF_OK);
    leave("first", 3);
    leave("second", 3);
    leave("third", 3);
    if (mode == PROF_MODE_RING) EQUAL(prof_dump(test_text_sink(&text)), PROF_OK);
    prof_stop();
    raw_desc.memory = reader_memory;
    raw_desc.memory_size = sizeof reader_memory;
    raw_desc.item = take_row;
    raw_desc.user = &rows;
    EQUAL(prof_raw_open(&raw_desc, &raw), PROF_OK);
    prof_raw_feed(raw, text.data, text.size);
    EQUAL(prof_raw_close(raw, NULL), PROF_OK);
    EQUAL(rows.zones, 9);
    EQUAL(rows.wrong, 0);
    test_text_clear(&text);
    free(desc.memory);
}

static void test_raw_rows(void) {
    PASS_ON(raw_rows_of(PROF_MODE_RING));
    PASS_ON(raw_rows_of(PROF_MODE_STREAM));
}

/* ---- The dump ---- */

static void test_dump_while_zones_are_open(void) {
    prof_desc desc = ring_desc(256 << 10);
    test_text text;
    dumped d;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("request");
    test_zones(50000);
    PROF_BEGIN("parse");
    d = dump();
    EQUAL(d.result, PROF_OK);
    CHECK(d.zones > 1000 && d.zones == d.named && d.order, "%u zones, %u named", (unsigned)d.zones,
          (unsigned)d.named);
    EQUAL(d.open, 2);
    SAME_TEXT(d.last_open, "request");   /* the innermost first */
    EQUAL(d.stats.counts.recorded, 100000);
    CHECK(d.stats.missing_records > 1000, "nothing is missing");
    CHECK(d.partial >= 1 && d.partial <= 3, "%u partial", (unsigned)d.partial);
    PROF_END();
    PROF_END();
    prof_stop();
    d = dump();
    EQUAL(d.open, 0);
    CHECK(d.zones > 1000, "%u zones after the stop", (unsigned)d.zones);
    memset(&text, 0, sizeof text);
    text.fail_at = 3;
    EQUAL(prof_dump(test_text_sink(&text)), PROF_ERROR_SINK);
    test_text_clear(&text);
    prof_thread_end();
    free(desc.memory);
}

/* Blocks that a dump lost are missing, not overwritten. */
static void test_damaged_dump(void) {
    prof_desc desc = ring_desc(1 << 20);
    test_text text, cut;
    dumped whole, rest;
    uint32_t head[3];
    size_t at;
    desc.keep = PROF_KEEP_ROWS;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(200000);
    memset(&text, 0, sizeof text);
    memset(&cut, 0, sizeof cut);
    EQUAL(prof_dump(test_text_sink(&text)), PROF_OK);
    prof_stop();
    whole = read_dump(text.data, text.size);
    EQUAL(whole.stats.counts.overwritten + whole.zones, whole.stats.counts.recorded);
    for (at = 0; at < text.size; at += 24 + head[2]) {           /* without the large ones */
        memcpy(head, text.data + at, sizeof head);
        if (head[2] < 3000) test_text_write(&cut, text.data + at, 24 + head[2]);
    }
    rest = read_dump(cut.data, cut.size);
    CHECK(rest.zones + 5000 < whole.zones, "%u zones of %u", (unsigned)rest.zones,
          (unsigned)whole.zones);
    CHECK(rest.stats.missing_blocks > 5, "%u blocks", (unsigned)rest.stats.missing_blocks);
    CHECK(rest.stats.counts.overwritten < whole.stats.counts.overwritten + 1000, "%u overwritten",
          (unsigned)rest.stats.counts.overwritten);
    test_text_clear(&text);
    test_text_clear(&cut);
    prof_thread_end();
    free(desc.memory);
}

/* All of it in the default mode, from several threads, in a clock's ticks. */
static void test_dump_of_a_trace(void) {
    pthread_t thread;
    unsigned turns = 30000;
    dumped d;
    EQUAL(prof_start(NULL), PROF_OK);
    test_zones(turns);
    pthread_create(&thread, NULL, mark_some, &turns);
    pthread_join(thread, NULL);
    d = dump();
    prof_stop();
    EQUAL(d.result, PROF_OK);
    EQUAL(d.zones, 4 * turns);
    EQUAL(d.threads, 2);
    CHECK(d.order, "ends not in order");
    EQUAL(d.stats.missing_records + d.partial + d.open, 0);
    EQUAL(dump().zones, 4 * turns);
}

/* A dump copies records that may be overwritten meanwhile, and then throws the copy away. */
static bool racing;

static void *mark_on(void *unused) {
    (void)unused;
    while (PROF__LOAD(racing)) test_zones(100);
    return NULL;
}

/* Dumps while two threads overwrite what is dumped: what is read is right. */
static void test_dumps_race(void) {
    prof_desc desc;
    pthread_t threads[2];
    test_text text;
    int i;
    if (TEST_TSAN) SKIP("the race is meant");
    memset(&desc, 0, sizeof desc);
    memset(&text, 0, sizeof text);
    desc.mode = PROF_MODE_RING;
    desc.memory_size = 256 << 10;
    desc.memory = malloc(desc.memory_size);
    desc.max_threads = 3;
    desc.keep = PROF_KEEP_RECORDS;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF__STORE(racing, true);
    for (i = 0; i < 2; i++) pthread_create(threads + i, NULL, mark_on, NULL);
    for (i = test_sample() > 1 ? 280 : 0; i < 300; i++) {
        dumped d;
        text.size = 0;
        EQUAL(prof_dump(test_text_sink(&text)), PROF_OK);
        d = read_dump(text.data, text.size);
        EQUAL(d.stats.damaged, 0);
        CHECK(d.order, "dump %d: ends out of order", i);
        CHECK(d.named == d.zones, "dump %d: %u zones, %u named", i, (unsigned)d.zones,
              (unsigned)d.named);
    }
    PROF__STORE(racing, false);
    for (i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    prof_stop();
    prof_thread_end();
    test_text_clear(&text);
    free(desc.memory);
}

/* The thread that a dump names. */
static const char *name_dumped(void) {
    static dumped d;
    d = dump();
    return d.thread;
}

/* A name that its thread is writing just now is left out, rather than half of it shown. */
static void test_dump_of_a_name_being_written(void) {
    prof_desc desc = ring_desc(64 << 10);
    EQUAL(prof_start(&desc), PROF_OK);
    prof_set_thread_name("first");
    SAME_TEXT(name_dumped(), "first");
    EQUAL(*inside_renames(), 2);
    ++*inside_renames();
    SAME_TEXT(name_dumped(), "(none)");
    ++*inside_renames();
    SAME_TEXT(name_dumped(), "first");
    prof_stop();
    prof_thread_end();
    free(desc.memory);
}

/* ---- A crash ---- */

static int crash_file;

static bool to_file(void *file, const void *data, size_t size) {
    return write(*(int *)file, data, size) == (ssize_t)size;
}

static void on_crash(int number) {
    prof_sink sink;
    sink.write = to_file;
    sink.user = &crash_file;
    prof_dump(sink);
    _exit(number == SIGSEGV ? 7 : 8);
}

static void crash(int file) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    crash_file = file;
    signal(SIGSEGV, on_crash);
    if (prof_start(&desc) != PROF_OK) _exit(9);
    test_zones(100000);
    PROF_BEGIN("about to crash");
    raise(SIGSEGV);
    _exit(10);
}

static void test_dump_of_a_crash(void) {
    static char data[4 << 20];
    int ends[2], status = 0;
    size_t size = 0;
    ssize_t n;
    dumped d;
    pid_t child;
    EQUAL(pipe(ends), 0);
    child = fork();
    if (!child) crash(ends[1]);
    close(ends[1]);
    while ((n = read(ends[0], data + size, sizeof data - size)) > 0) size += (size_t)n;
    close(ends[0]);
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x", (unsigned)status);
    d = read_dump(data, size);
    EQUAL(d.result, PROF_OK);
    EQUAL(d.open, 1);
    SAME_TEXT(d.last_open, "about to crash");
    CHECK(d.zones > 1000, "%u zones", (unsigned)d.zones);
    EQUAL(d.zones + d.stats.counts.overwritten, 200000);
}

/* What is no zone is overwritten too, but does not count as one. */
static void test_dump_counts_zones(void) {
    prof_desc desc = ring_desc(256 << 10);
    dumped d;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 20000; i++) {
        PROF_COUNTER("number", i);
        test_zones(1);
    }
    d = dump();
    CHECK(d.zones > 100 && d.zones < 40000, "%u zones", (unsigned)d.zones);
    EQUAL(d.zones + d.stats.counts.overwritten, 40000);
    prof_stop();
    EQUAL(prof_start(&desc), PROF_OK);   /* no zone is lost */
    for (int i = 0; i < 40000; i++) PROF_COUNTER("number", i);
    test_zones(5);
    d = dump();
    EQUAL(d.zones, 10);
    CHECK(d.stats.missing_records > 1000, "nothing is missing");
    EQUAL(d.stats.counts.overwritten, 0);
    prof_stop();
    EQUAL(prof_get_stats(NULL).overwritten, 0);
    free(desc.memory);
}

int main(void) {
    RUN(test_keeps_the_last);
    RUN(test_steps_go_on);
    RUN(test_what_fits_is_whole);
    RUN(test_threads_that_come_and_go);
    RUN(test_deep_recursion);
    RUN(test_threads_of_which_nothing_is_kept);
    RUN(test_one_thread_fills_it);
    RUN(test_late_crowds);
    RUN(test_forgotten_ends);
    RUN(test_deep_zones);
    RUN(test_deep_zones_of_records);
    RUN(test_late_details);
    RUN(test_late_threads);
    RUN(test_dump_after_a_toggle);
    RUN(test_short_threads);
    RUN(test_rows_after_a_toggle);
    RUN(test_rows_of_threads_that_toggle);
    RUN(test_rows_of_one_id);
    RUN(test_range_of_a_forgotten_thread);
    RUN(test_raw_rows);
    RUN(test_dump_while_zones_are_open);
    RUN(test_damaged_dump);
    RUN(test_dump_of_a_trace);
    RUN(test_dumps_race);
    RUN(test_dump_of_a_name_being_written);
    RUN(test_dump_of_a_crash);
    RUN(test_dump_counts_zones);
    return test_end();
}
