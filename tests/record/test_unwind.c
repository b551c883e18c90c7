/* Zones that longjmp leaves: ended by prof_unwind, or by the recorder where it can know. */
#include "../test.h"
#include "../../tools/prof/raw_read.h"

#include <pthread.h>
#include <setjmp.h>

#define REQUESTS 10000
#define NOINLINE __attribute__((noinline))

static jmp_buf out;
static char memory[64 << 20];

NOINLINE static void parse(int fails) {
    PROF_SCOPE("parse");
    if (fails) longjmp(out, 1);
}

NOINLINE static void serve(volatile int i) {
    if (!setjmp(out)) parse(i % 10 == 0);
}

static bool sink(void *user, const void *data, size_t size) {
    (void)data;
    *(size_t *)user += size;
    return true;
}

static size_t streamed;
static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_RING, PROF_MODE_STREAM,
                                   PROF_MODE_AGGREGATE };

static prof_desc desc_of(prof_mode mode) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mode = mode;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.stream.write = sink;
    desc.stream.user = &streamed;
    return desc;
}

/* count calls of name, and nothing dropped, in any mode; a stream has no rows, only its count. */
static void check_calls(prof_trace *trace, const char *name, uint64_t count, uint64_t all) {
    prof_average rows[8];
    prof_stats stats = prof_get_stats(NULL);
    size_t found = prof_key_averages(trace, NULL, rows, 8);
    EQUAL(stats.dropped, 0);
    EQUAL(stats.recorded + stats.overwritten, all);
    EQUAL(stats.unbalanced, 0);
    for (size_t i = 0; i < found; i++)
        if (strcmp(rows[i].key, name) == 0 && !stats.overwritten) {
            EQUAL(rows[i].count, count);
            return;
        }
    CHECK(found == 0 || stats.overwritten, "no row %s", name);
}

static void test_left_by_longjmp(void) {
#if !defined(__x86_64__) && !defined(__aarch64__)
    SKIP("the stack pointer does not tell here");
#endif
    for (int m = 0; m < 4; m++) {
        prof_desc desc = desc_of(modes[m]);
        prof_trace *trace;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < REQUESTS; i++) serve(i);
        trace = prof_stop();
        PASS_ON(check_calls(trace, "parse", REQUESTS, REQUESTS));
        CHECK(prof_get_stats(NULL).healed + prof_get_stats(NULL).unfinished == REQUESTS / 10,
              "mode %d: %d healed, %d unfinished", m, (int)prof_get_stats(NULL).healed,
              (int)prof_get_stats(NULL).unfinished);
    }
}

NOINLINE static void down(int depth, int leaf) {
    PROF_SCOPE("down");
    if (depth) down(depth - 1, leaf);
    for (int i = 0; i < leaf && !depth; i++) {
        PROF_SCOPE("leaf");
        PROF_BLOCK("inner") { (void)i; }
    }
}

/* A recursion among many open zones is none of those. */
static void test_deep_is_not_left(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10; i++) down(55, 100);
    trace = prof_stop();
    PASS_ON(check_calls(trace, "down", 560, 560 + 2000));
    EQUAL(prof_get_stats(NULL).healed, 0);
}

/* Leaves zones of all kinds, two levels further in. */
NOINLINE static void fail_within(int i) {
    PROF_BEGIN("begun");
    prof_push("pushed");
    PROF_BLOCK("block") {
        PROF_BEGIN("deep");
        if (i >= 0) longjmp(out, 1);
        PROF_END();
    }
    prof_pop();
    PROF_END();
}

static void unwind_in(prof_mode mode) {
    prof_desc desc = desc_of(mode);
    prof_trace *trace;
    volatile int i;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("server");
    for (i = 0; i < REQUESTS; i++) {
        prof_open_zones place = prof_mark();
        if (setjmp(out)) prof_unwind(place);
        else fail_within(i % 10 ? -1 : i);
    }
    prof_pop();
    trace = prof_stop();
    PASS_ON(check_calls(trace, "deep", REQUESTS, 4 * REQUESTS + 1));
    EQUAL(prof_get_stats(NULL).healed, 0);
    EQUAL(prof_get_stats(NULL).unfinished, 0);
}

static void test_unwind(void) {
    for (int m = 0; m < 4; m++) PASS_ON(unwind_in(modes[m]));
}

/* The timeline may end in the slow path of an end, later than that end: self times still add up. */
static void end_of_timeline(int zones) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    prof_average rows[3];
    int64_t self = 0, whole = 0;
    desc.memory_size = 50000;
    desc.max_depth = 16;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("whole");
    for (int i = 0; i < zones; i++) PROF_BLOCK("phase") {}
    for (int i = 0; i < 1000; i++) {
        prof_open_zones place = prof_mark();
        for (int n = 0; n < 6; n++) PROF_BEGIN("left");
        prof_unwind(place);
    }
    PROF_END();
    EQUAL(prof_key_averages(prof_stop(), NULL, rows, 3), 3);
    CHECK(prof_get_stats(NULL).summed > 1000, "all is in the timeline");
    for (int i = 0; i < 3; i++) {
        self += rows[i].self_cpu_time_total_ns;
        if (strcmp(rows[i].key, "whole") == 0) whole = rows[i].cpu_time_total_ns;
    }
    CHECK(self - whole >= -100 && self - whole <= 100, "%lld ns of %lld",
          (long long)(self - whole), (long long)whole);
}

static void test_unwind_at_timeline_end(void) {
    for (int zones = 1; zones <= 12; zones++) PASS_ON(end_of_timeline(zones));
}

/* What was too deep above the mark ends with it: the thread records on. */
static void test_unwind_dropped(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    prof_open_zones place;
    desc.max_depth = 8;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("outer");
    place = prof_mark();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++) prof_push("left");
        prof_unwind(place);
    }
    prof_push("after");
    prof_pop();
    prof_pop();
    EQUAL(prof_get_stats(NULL).deep + prof_get_stats(NULL).recorded, 62);
    EQUAL(prof_get_stats(NULL).unbalanced, 0);
    PASS_ON(CHECK(test_find(prof_stop(), "after", 0)->depth == 1, "within what is left"));
}

static void *unwind_without_room(void *none) {
    prof_open_zones place;
    prof_push("dropped");
    place = prof_mark();
    prof_push("left");
    prof_push("left too");
    prof_unwind(place);
    prof_pop();
    prof_pop();                          /* one too many */
    return none;
}

/* A thread for which there is no room knows how many begins it dropped: those that it left, no end
   will come for. */
static void test_unwind_without_room(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    pthread_t thread;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("first");
    EQUAL(pthread_create(&thread, NULL, unwind_without_room, NULL), 0);
    pthread_join(thread, NULL);
    prof_pop();
    prof_stop();
    EQUAL(prof_get_stats(NULL).dropped_threads, 3);
    EQUAL(prof_get_stats(NULL).unbalanced, 1);
}

/* ---- begins that nobody unwinds: nothing tells that they are over ---- */

NOINLINE static void begin_and_leave(int fails) {
    PROF_BEGIN("begun");
    if (fails) longjmp(out, 1);
    PROF_END();
}

NOINLINE static void leave(volatile int i) {
    if (!setjmp(out)) begin_and_leave(i % 10 == 0);
}

static void count_item(void *user, const prof_raw_item *item) {
    prof_stats *s = (prof_stats *)user;
    if (item->kind == PROF_RAW_SESSION) s->threads++;
    if (item->kind == PROF_RAW_COUNTS && !s->threads) s->lost++;   /* of no session */
    if (item->kind == PROF_RAW_COUNTS) s->unfinished = item->counts->unfinished;
    if (item->kind == PROF_RAW_SUMS) s->summed += item->average->count;
    if (item->kind == PROF_RAW_ZONE) s->recorded += strcmp(item->name, "begun") == 0;
}

static void count_raw(const test_text *text, prof_stats *told) {
    static char room[1 << 20];
    prof_raw_desc desc;
    prof_raw *raw;
    memset(&desc, 0, sizeof desc);
    desc.memory = room;
    desc.memory_size = sizeof room;
    desc.item = count_item;
    desc.user = told;
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    prof_raw_feed(raw, text->data, text->size);
    prof_raw_close(raw, NULL);
    EQUAL(told->lost, 0);
    EQUAL(told->threads, 1);
}

static void count_chrome(const test_text *text, prof_stats *told) {
    const char *row = strstr(text->data, "{\"name\":\"begun\",\"count\":");
    const char *open = strstr(text->data, "\"unfinished\":");
    told->recorded = test_times(text->data, "\"X\",\"cat\":\"cpu_op\",\"name\":\"begun\"");
    if (row) told->summed = strtoull(row + 24, NULL, 10);
    if (open) told->unfinished = strtoull(open + 13, NULL, 10);
}

/* A stream has them all: in its timeline while there is depth, then in its sums. */
static void test_left_begins_are_streamed(void) {
    for (int chrome = 0; chrome < 2; chrome++) {
        prof_desc desc = desc_of(PROF_MODE_STREAM);
        prof_stats stats, told;
        test_text text;
        memset(&text, 0, sizeof text);
        memset(&told, 0, sizeof told);
        desc.stream = test_text_sink(&text);
        desc.stream_format = chrome ? PROF_STREAM_CHROME : PROF_STREAM_RAW;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < REQUESTS; i++) leave(i);
        prof_stop();
        stats = prof_get_stats(NULL);
        EQUAL(stats.dropped, 0);
        EQUAL(stats.unfinished, REQUESTS / 10);
        if (chrome) PASS_ON(count_chrome(&text, &told));
        else PASS_ON(count_raw(&text, &told));
        EQUAL(told.recorded, 64 * 10 - 9);
        EQUAL(told.recorded + told.summed, REQUESTS);
        EQUAL(told.unfinished, REQUESTS / 10);
        test_text_clear(&text);
    }
}

static void *end_deep(void *none) {
    for (int i = 0; i < 40; i++) prof_push("open");
    return none;
}

/* A thread ends in deep zones: they end first. */
static void test_thread_ends_deep(void) {
    prof_desc desc;
    pthread_t thread;
    prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    desc.max_depth = 8;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, end_deep, NULL), 0);
    pthread_join(thread, NULL);
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).unfinished, 40);
    EQUAL(prof_get_stats(trace).deep, 32);
    EQUAL(prof_get_stats(trace).lost + prof_get_stats(trace).clock_steps, 0);
    CHECK(!test_find(trace, "(lost)", 0), "lost zones");
    PASS_ON(test_tree(trace));
}

/* A block deeper than max_depth ends what was left in it, and nothing around it. */
static void test_deep_blocks_end_their_own(void) {
    static const struct { const char *name; int64_t total; } right[] = {
        { "a", 1111 }, { "b", 1111 }, { "c", 1111 }, { "d", 110 }, { "left", 100 } };
    prof_desc desc = test_desc();
    prof_average rows[8];
    prof_stats stats;
    size_t count;
    desc.max_depth = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("a") {
        PROF_BLOCK("b") PROF_BLOCK("c") {
            test_time.tick += 1;
            PROF_BLOCK("d") {
                test_time.tick += 10;
                PROF_BEGIN("left");
                test_time.tick += 100;
            }
            test_time.tick += 1000;
        }
    }
    count = prof_key_averages(prof_stop(), NULL, rows, 8);
    EQUAL(count, 5);
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        while (n < 5 && strcmp(rows[i].key, right[n].name) != 0) n++;
        CHECK(n < 5, "a row %s", rows[i].key);
        EQUAL(rows[i].count, 1);
        EQUAL(rows[i].cpu_time_total_ns, right[n].total);
    }
    stats = prof_get_stats(NULL);
    EQUAL(stats.healed, 1);
    EQUAL(stats.deep, 3);
    EQUAL(stats.dropped + stats.unbalanced + stats.unfinished, 0);
}

/* A table asks for a missing PROF_END where one may be missing alone: not where prof_unwind ended
   what a jump left, nor in a recursion whose zones all have ended. */
static int asked(const char *question) {
    test_text text;
    int found;
    memset(&text, 0, sizeof text);
    (void)prof_write_table(prof_stop(), NULL, test_text_sink(&text));
    found = text.data && strstr(text.data, question) != NULL;
    test_text_clear(&text);
    return found;
}

static void recur(int times, int ended) {
    prof_push("recur");
    test_time.tick += 10;
    if (times > 1) recur(times - 1, ended);
    if (ended) prof_pop();
}

static void test_missing_end(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    prof_open_zones place;
    EQUAL(prof_start(&desc), PROF_OK);
    place = prof_mark();
    recur(5, false);
    prof_unwind(place);
    EQUAL(asked("is a PROF_END missing?"), 0);
    EQUAL(prof_start(&desc), PROF_OK);
    recur(5, true);
    EQUAL(asked("is a PROF_END missing?"), 0);
    EQUAL(prof_start(&desc), PROF_OK);
    recur(5, false);
    EQUAL(asked("(or is a PROF_END missing?): recur"), 1);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("main");                  /* open to the end: says nothing about "recur" */
    recur(5, true);
    EQUAL(asked("counts each level: recur"), 1);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("outer") recur(1, false);
    EQUAL(asked("(is a PROF_END missing? their times may be too long): 1"), 1);
}

static void *mark_elsewhere(void *user) {
    prof_push("other");
    *(prof_open_zones *)user = prof_mark();
    prof_pop();
    return NULL;
}

static void test_odd_marks(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE);
    prof_open_zones none = prof_mark(), first, odd, before, elsewhere = none;
    pthread_t thread;
    uint64_t unbalanced;
    prof_unwind(none);                   /* no session */
    EQUAL(prof_start(&desc), PROF_OK);
    before = prof_mark();                /* the thread has recorded nothing */
    prof_unwind(none);
    prof_push("old");
    first = prof_mark();
    prof_stop();
    prof_unwind(first);
    EQUAL(prof_start(&desc), PROF_OK);
    prof_unwind(first);                  /* of an ended session: of a thread without a state */
    EQUAL(prof_get_stats(NULL).unbalanced, 1);
    first = prof_mark();
    prof_push("a");
    prof_push("b");
    prof_unwind(before);
    odd = prof_mark();
    odd.zones = UINT32_MAX;
    prof_unwind(odd);
    odd.zones = 60;                      /* deeper than now */
    prof_unwind(odd);
    odd.generation++;
    prof_unwind(odd);
    EQUAL(pthread_create(&thread, NULL, mark_elsewhere, &elsewhere), 0);
    EQUAL(pthread_join(thread, NULL), 0);
    prof_unwind(elsewhere);
    unbalanced = prof_get_stats(NULL).unbalanced;
    EQUAL(unbalanced, 6);
    prof_unwind(prof_mark());            /* nothing has begun since */
    EQUAL(prof_get_stats(NULL).unbalanced, unbalanced);
    prof_unwind(first);                  /* from before the first zone */
    EQUAL(prof_get_stats(NULL).healed, 0);
    prof_unwind(first);                  /* again: there is nothing */
    EQUAL(prof_get_stats(NULL).unbalanced, unbalanced);
    prof_stop();
}

int main(void) {
    RUN(test_left_by_longjmp);
    RUN(test_deep_is_not_left);
    RUN(test_unwind);
    RUN(test_unwind_at_timeline_end);
    RUN(test_unwind_dropped);
    RUN(test_unwind_without_room);
    RUN(test_left_begins_are_streamed);
    RUN(test_thread_ends_deep);
    RUN(test_deep_blocks_end_their_own);
    RUN(test_missing_end);
    RUN(test_odd_marks);
    return test_end();
}
