/* portable */
/* Too little memory, too many names, names of all sorts, sinks that fail. */
#include "../test.h"

enum { GUARD = 64 };

/* A buffer whose surroundings are watched. */
static unsigned char buffer[GUARD + 17 + (64 << 10) + GUARD];

static void *guarded(size_t offset) {
    prof_thread_end();                   /* the last session's arena is about to be overwritten */
    memset(buffer, 0xa5, sizeof buffer);
    return buffer + GUARD + offset;
}

static void check_guards(size_t offset, size_t size) {
    size_t i;
    for (i = 0; i < GUARD + offset; i++)
        CHECK(buffer[i] == 0xa5, "byte %u before the arena was written", (unsigned)i);
    for (i = GUARD + offset + size; i < sizeof buffer; i++)
        CHECK(buffer[i] == 0xa5, "byte %u after the arena was written", (unsigned)i);
}

/* The last whole number in a text; 0: none. */
static size_t number_in(const char *text) {
    size_t number = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') continue;
        for (number = 0; *text >= '0' && *text <= '9'; text++)
            number = 10 * number + (size_t)(*text - '0');
        text--;
    }
    return number;
}

/* ---- Arenas of every size ---- */

static prof_full when_full;

static prof_desc sized_desc(size_t offset, size_t size) {
    prof_desc desc = test_desc();
    desc.when_full = when_full;
    desc.memory = guarded(offset);
    desc.memory_size = size;
    desc.max_threads = 1;
    desc.max_depth = 8;
    return desc;
}

/* Marks n pairs of zones in an outer one; returns how many begins that were. */
static unsigned mark_pairs(unsigned n) {
    unsigned i;
    PROF_BEGIN("outer");
    for (i = 0; i < n; i++) {
        test_time.tick += 10;
        prof_push("pushed");
        PROF_BEGIN("inner");
        test_time.tick += 10;
        PROF_END();
        prof_pop();
    }
    PROF_END();
    return 2 * n + 1;
}

/* What was recorded is there, what was not is counted. */
static void check_sum(const prof_trace *trace, unsigned marked) {
    prof_stats stats = prof_get_stats(NULL);
    size_t count, i, whole = 0;
    const prof_event *events;
    CHECK(trace != NULL, "no trace");
    events = test_events(trace, &count);
    for (i = 0; i < count; i++) whole += !test_partial(events[i].flags);
    EQUAL(whole, stats.recorded);
    EQUAL(test_told(trace), marked);
    if (when_full == PROF_FULL_DROP) EQUAL(stats.summed, 0);
    EQUAL(stats.dropped, stats.dropped_full + stats.dropped_threads);
    EQUAL(stats.unbalanced + stats.healed + stats.unfinished, 0);
    CHECK(stats.bytes_used <= stats.bytes_total, "%u bytes used of %u",
          (unsigned)stats.bytes_used, (unsigned)stats.bytes_total);
    PASS_ON(test_tree(trace));
    PASS_ON(test_all_writers(trace));
}

static void arena(size_t offset, size_t size, unsigned pairs) {
    prof_desc desc = sized_desc(offset, size);
    prof_result result = prof_start(&desc);
    if (result == PROF_OK) {
        unsigned marked = mark_pairs(pairs);
        CHECK(prof_get_stats(NULL).bytes_total <= size, "more bytes than were given");
        PASS_ON(check_sum(prof_stop(), marked));
    } else {
        EQUAL(result, PROF_ERROR_MEMORY);
        CHECK(number_in(prof_strerror(result)) > size, "needs %u, has %u: '%s'",
              (unsigned)number_in(prof_strerror(result)), (unsigned)size, prof_strerror(result));
        CHECK(prof_stop() == NULL, "a session after an error");
    }
    PASS_ON(check_guards(offset, size));
}

static void arenas(size_t from, size_t to, size_t step, unsigned pairs) {
    size_t size, n = 0;
    for (size = from; size <= to; size += step) {
        arena(n++ % 17, size, pairs);
        if (test_bad) {
            test_say(" (%u bytes)", (unsigned)size);
            return;
        }
    }
}

static size_t needed(void) {
    prof_desc desc = sized_desc(0, 0);
    return prof_arena_size(&desc);
}

static void each_size(void) {
    size_t step = 61 * (size_t)test_sample() * (test_sample() > 1 && TEST_SANITIZED ? 4 : 1);
    arenas(test_random((uint32_t)step), 64 << 10, step, 300);
}

static void test_arena_every_size(void) { each_size(); }

static void test_arena_every_size_dropping(void) {
    when_full = PROF_FULL_DROP;
    each_size();
    when_full = PROF_FULL_CONTINUE;
}

static void test_arena_around_the_least(void) {
    size_t least = needed(), step = test_sample() > 1 ? TEST_SANITIZED ? 20 : 5 : 1;
    CHECK(least > 1000 && least < (32u << 10), "needs %u bytes", (unsigned)least);
    PASS_ON(arenas(least - 600 + test_random((uint32_t)step), least + 600, step, 40));
}

static void test_arena_first_bytes(void) { arenas(0, 300, 1, 3); }

/* A session in that much memory: two zones are recorded. */
static void two_zones(size_t offset, size_t size) {
    prof_desc desc = sized_desc(offset, size);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") { PROF_SCOPE("inner"); }
    PASS_ON(check_sum(prof_stop(), 2));
    EQUAL(prof_get_stats(NULL).dropped, 0);
    PASS_ON(check_guards(offset, size));
}

/* The size that prof_arena_size tells is enough wherever the memory lies, and so is the one that
   the error tells. */
static void test_arena_size_told(void) {
    size_t offset, told;
    prof_desc desc;
    PASS_ON(two_zones(0, 64 << 10));     /* now their names are known: the size counts them */
    for (offset = 0; offset < 17; offset++) PASS_ON(two_zones(offset, needed()));
    desc = sized_desc(0, needed() / 2);
    EQUAL(prof_start(&desc), PROF_ERROR_MEMORY);
    told = number_in(prof_strerror(PROF_ERROR_MEMORY));
    CHECK(told > needed() / 2 && told <= needed() + 64, "told %u, least %u", (unsigned)told,
          (unsigned)needed());
    PASS_ON(two_zones(3, told));
}

static void test_arena_size_grows(void) {
    prof_desc desc = sized_desc(0, 0);
    size_t one = prof_arena_size(&desc), four;
    CHECK(prof_arena_size(NULL) > 0, "nothing for the default");
    desc.max_threads = 4;
    four = prof_arena_size(&desc);
    CHECK(four > one, "4 threads: %u bytes, 1: %u", (unsigned)four, (unsigned)one);
    desc.max_depth = 255;
    CHECK(prof_arena_size(&desc) > four, "depth costs nothing");
}

/* In a small arena each byte of a thread's state is one less for records. */
static void test_thread_takes(void) {
    prof_desc desc = sized_desc(0, 0);
    size_t few, more;
    desc.max_depth = 16;
    desc.max_threads = 8;
    few = prof_arena_size(&desc);
    desc.max_threads = 9;
    more = prof_arena_size(&desc) - few;
    CHECK(more <= 3024 || sizeof(void *) > 8, "a thread more takes %u bytes", (unsigned)more);
}

static void test_arena_bad_desc(void) {
    prof_desc desc = sized_desc(0, 4096);
    desc.memory = NULL;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    memset(&desc, 0, sizeof desc);
    EQUAL(prof_start(&desc), PROF_OK);
    CHECK(prof_stop() != NULL, "no trace");
}

static void test_strerror(void) {
    int i, j;
    for (i = PROF_OK; i <= PROF_ERROR_UNSUPPORTED; i++)
        for (j = PROF_OK; j <= i; j++) {
            const char *a = prof_strerror((prof_result)i), *b = prof_strerror((prof_result)j);
            CHECK(a && b && *a, "result %d has no text", i);
            EQUAL(strcmp(a, b) == 0, i == j);
        }
    CHECK(prof_strerror((prof_result)(PROF_ERROR_UNSUPPORTED + 1)) != NULL, "unknown result");
}

/* An error of a description names the field and its value, one of state the state. */
static void test_strerror_names(void) {
    static char memory[100];
    prof_desc desc[6];
    const int nine = 9;
    static const char *const says[] = {
        "prof_desc.max_depth is 300: 255 at most", "prof_desc.memory_size is 100: ",
        "prof_desc.stream.write is 0: ", "prof_desc.mode is 9: ",
        "prof_desc.schedule.active is 0: ", "prof_desc.activities is 1073741824: " };
    memset(desc, 0, sizeof desc);
    desc[0].max_depth = 300;
    desc[1].memory_size = sizeof memory;
    desc[2].mode = PROF_MODE_STREAM;
    memcpy(&desc[3].mode, &nine, sizeof desc[3].mode);
    desc[4].schedule.wait = 1;
    desc[5].activities = 1u << 30;
    for (int i = 0; i < 6; i++) {
        const char *said;
        EQUAL(prof_start(desc + i), PROF_ERROR_INVALID);
        said = prof_strerror(PROF_ERROR_INVALID);
        CHECK(strncmp(said, says[i], strlen(says[i])) == 0, "'%s'", said);
        EQUAL(prof_write_table(NULL, NULL, desc[2].stream), PROF_ERROR_INVALID);
        CHECK(!strstr(prof_strerror(PROF_ERROR_INVALID), "prof_desc"), "it stands for another");
    }
#define STATE(call, text) \
    do { \
        EQUAL(call, PROF_ERROR_STATE); \
        SAME_TEXT(prof_strerror(PROF_ERROR_STATE), text); \
    } while (0)
    STATE(prof_toggle(PROF_ACTIVITY_CPU, false),
          "no session is open, or this is its callback");
    STATE(prof_submit(NULL, 0), "events were submitted while no session is open");
    STATE(prof_flush(), "no session of PROF_MODE_STREAM is open");
    STATE(prof_execution_trace_start(), "no execution trace is registered");
    desc[0].max_depth = 0;
    EQUAL(prof_start(desc), PROF_OK);
    STATE(prof_start(desc), "a session is open already: call prof_stop first");
    STATE(prof_remove_observer(NULL), "a session is open already: call prof_stop first");
    STATE(prof_flush(), "no session of PROF_MODE_STREAM is open");
    CHECK(prof_stop() != NULL, "no trace");
}

/* ---- A full arena ---- */

static void fill_up(unsigned n) {
    unsigned i;
    PROF_BEGIN("one");
    PROF_BEGIN("two");
    PROF_BEGIN("three");
    for (i = 0; i < n; i++) {
        test_time.tick += 1;
        PROF_BLOCK("zone") { PROF_SCOPE("inside"); }
    }
    test_time.tick += 100;
    PROF_END();
    test_time.tick += 100;
    PROF_END();
    test_time.tick += 100;
    PROF_END();
}

/* The zones open when it fills up are recorded whole, and writers say what is missing. */
static void test_full_arena(void) {
    prof_desc desc = sized_desc(0, 32 << 10);
    test_text table, chrome;
    prof_trace *trace;
    char number[24];
    const prof_event *one, *two, *three;
    desc.when_full = PROF_FULL_DROP;
    EQUAL(prof_start(&desc), PROF_OK);
    fill_up(5000);
    trace = prof_stop();
    PASS_ON(check_sum(trace, 10003));
    CHECK(prof_get_stats(NULL).recorded > 150, "only %u recorded in 32 KiB",
          (unsigned)prof_get_stats(NULL).recorded);
    EQUAL(prof_get_stats(NULL).dropped_full, 10003 - prof_get_stats(NULL).recorded);
    one = test_find(trace, "one", 0);
    two = test_find(trace, "two", 0);
    three = test_find(trace, "three", 0);
    CHECK(one && two && three, "open zones were dropped");
    EQUAL(three->end_ns, 5100);
    EQUAL(two->end_ns, 5200);
    EQUAL(one->end_ns, 5300);
    EQUAL(one->flags | two->flags | three->flags, 0);
    EQUAL(three->depth, 2);
    snprintf(number, sizeof number, "%u", (unsigned)prof_get_stats(NULL).dropped);
    memset(&table, 0, sizeof table);
    memset(&chrome, 0, sizeof chrome);
    EQUAL(test_write(trace, TEST_TABLE, &table), PROF_OK);
    EQUAL(test_write(trace, TEST_CHROME, &chrome), PROF_OK);
    CHECK(strstr(table.data, number) != NULL, "the table does not say %s", number);
    CHECK(strstr(chrome.data, number) != NULL, "the trace does not say %s", number);
    test_text_clear(&table);
    test_text_clear(&chrome);
    PASS_ON(check_guards(0, 32 << 10));
}

/* Once full, deep zones come and go unseen, and the next session finds all as it was. */
static void test_full_then_new_session(void) {
    int i, j;
    for (i = 0; i < 20; i++) {
        prof_desc desc = sized_desc(0, 32 << 10);
        EQUAL(prof_start(&desc), PROF_OK);
        fill_up(1000);
        for (j = 0; j < 30; j++) PROF_BEGIN("deep");
        for (j = 0; j < 30; j++) PROF_END();
        PASS_ON(check_sum(prof_stop(), 2033));
    }
}

/* Counters and instants that do not fit are counted too. */
static void test_full_of_counters(void) {
    prof_desc desc = sized_desc(0, 32 << 10);
    int i;
    desc.when_full = PROF_FULL_DROP;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("around");
    for (i = 0; i < 5000; i++) {
        prof_counter("count", i);
        prof_instant("now");
    }
    PROF_END();
    PASS_ON(test_all_writers(prof_stop()));
    EQUAL(prof_get_stats(NULL).recorded, 1);
    CHECK(prof_get_stats(NULL).dropped > 5000 && prof_get_stats(NULL).dropped < 10000, "dropped %u",
          (unsigned)prof_get_stats(NULL).dropped);
    PASS_ON(check_guards(0, 32 << 10));
}

/* A zone left open, in an arena filled to the brim: it is there up to then, and whole in sums. */
static void test_full_and_unfinished(void) {
    prof_desc desc = sized_desc(0, 16 << 10);
    prof_trace *trace;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 7; i++) PROF_BEGIN("open");
    for (i = 0; i < 3000; i++) PROF_BLOCK("zone") { test_time.tick++; }
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).unfinished, 7);
    for (i = 0; i < 7; i++) {
        const prof_event *open = test_find(trace, "open", i);
        CHECK(open != NULL, "zone %d was dropped", i);
        EQUAL(open->depth, i);
        CHECK(test_partial(open->flags), "zone %d goes on", i);
        EQUAL(open->end_ns, prof_get_stats(NULL).timeline_ns);
    }
    PASS_ON(test_tree(trace));
    PASS_ON(test_all_writers(trace));
}

/* ---- Names ---- */

static void start(void) {
    prof_desc desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
}

static void test_more_names_than_fit(void) {
    prof_desc desc = sized_desc(0, 32 << 10);
    char name[24];
    int i, round;
    EQUAL(prof_start(&desc), PROF_OK);
    for (round = 0; round < 2; round++)
        for (i = 0; i < 40; i++) {
            snprintf(name, sizeof name, "name %d", i);
            prof_push(name);
            test_time.tick++;
            prof_pop();
        }
    PASS_ON(check_sum(prof_stop(), 80));
    EQUAL(prof_get_stats(NULL).recorded, 80);
    CHECK(prof_get_stats(NULL).others >= 16, "%u in others", (unsigned)prof_get_stats(NULL).others);
    EQUAL(prof_get_stats(NULL).others % 2, 0);
}

/* One that has none, in a zone that is too deep for the timeline, is told as the others are. */
static void test_more_names_than_fit_deep(void) {
    prof_desc desc = sized_desc(0, 32 << 10);
    desc.max_depth = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    test_fill_names();
    prof_push("n0");
    prof_push("another");
    prof_pop();
    prof_pop();
    prof_stop();
    EQUAL(prof_get_stats(NULL).others, 2);
    EQUAL(prof_get_stats(NULL).deep, 1);
}

/* A name that found no place takes no zone but its own with it. */
static void test_names_dropped_inside(void) {
    prof_desc desc = sized_desc(0, 32 << 10);
    prof_trace *trace;
    uint64_t filled;
    EQUAL(prof_start(&desc), PROF_OK);
    test_fill_names();
    filled = prof_get_stats(NULL).recorded;
    prof_push("n0");
    test_time.tick += 1;
    prof_push("n1");
    test_time.tick += 1;
    prof_push("another");
    test_time.tick += 1;
    prof_push("n0");
    test_time.tick += 1;
    prof_pop();
    prof_pop();
    test_time.tick += 1;
    prof_pop();
    test_time.tick += 1;
    prof_pop();
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).others, 2);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded, filled + 4);
    EQUAL(test_find(trace, "(others)", 1)->start_ns, 2);
    EQUAL(test_find(trace, "n0", 2)->start_ns, 3);
    EQUAL(test_find(trace, "n0", 0)->end_ns, 6);
    EQUAL(test_find(trace, "n1", 1)->end_ns, 5);
    PASS_ON(test_tree(trace));
}

static void test_names_odd(void) {
    prof_trace *trace;
    int i;
    PASS_ON(start());
    prof_push(NULL);
    prof_pop();
    for (i = 0; i < TEST_ODD_NAMES; i++) {
        prof_push(test_odd_names[i]);
        test_time.tick += 1000;
        prof_counter(test_odd_names[i], INT64_MIN);
        prof_instant(test_odd_names[i]);
        prof_pop();
    }
    prof_instant(NULL);
    prof_counter(NULL, INT64_MAX);
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, TEST_ODD_NAMES + 1);
    EQUAL(prof_get_stats(NULL).not_kept, 0);
    CHECK(test_find(trace, "(null)", 0) != NULL, "no (null)");
    for (i = 0; i < TEST_ODD_NAMES; i++)
        CHECK(test_find(trace, test_odd_names[i], 0) != NULL, "name %d is not there", i);
    PASS_ON(test_all_writers(trace));
}

static void test_names_long(void) {
    static char name[100001];
    prof_trace *trace;
    size_t length, count;
    const prof_event *events;
    PASS_ON(start());
    for (length = 4090; length <= 4100; length++) {
        memset(name, 'a', length);
        name[length] = 0;
        name[0] = (char)('A' + length - 4090);
        prof_push(name);
        prof_pop();
        test_time.tick++;
    }
    memset(name, 'b', 100000);
    name[100000] = 0;
    prof_push(name);
    prof_pop();
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, 12);
    for (length = 4090; length <= 4100; length++)
        EQUAL(strlen(events[length - 4090].name), length < 4095 ? length : 4095);
    EQUAL(strlen(events[11].name), 4095);
    EQUAL(events[11].name[4094], 'b');
    EQUAL(prof_get_stats(NULL).not_kept, 6);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    PASS_ON(test_all_writers(trace));
}

/* Names are copied when they are given. */
static void test_names_copied(void) {
    char name[] = "first", thread[100];
    prof_trace *trace;
    size_t count;
    PASS_ON(start());
    memset(thread, 't', sizeof thread);
    thread[99] = 0;
    prof_set_thread_name(thread);
    prof_push(name);
    strcpy(name, "other");
    prof_pop();
    prof_push(name);
    strcpy(name, "third");
    prof_pop();
    memset(thread, 'x', sizeof thread);
    trace = prof_stop();
    CHECK(test_find(trace, "first", 0) && test_find(trace, "other", 0), "names changed");
    memset(thread, 't', sizeof thread);
    thread[63] = 0;
    SAME_TEXT(prof_threads(trace, &count)->name, thread);
    EQUAL(count, 1);
}

/* Many names, many times each: each is one site, told apart by every letter. */
static void test_names_many(void) {
    prof_trace *trace;
    char name[24];
    size_t rows;
    int i, round;
    PASS_ON(start());
    for (round = 0; round < 3; round++)
        for (i = 0; i < 2000; i++) {
            snprintf(name, sizeof name, "name %d", i);
            prof_push(name);
            prof_pop();
        }
    trace = prof_stop();
    rows = prof_key_averages(trace, NULL, NULL, 0);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(rows, 2000);
    CHECK(test_find(trace, "name 1999", 2) && !test_find(trace, "name 1999", 3), "not three");
}

/* ---- Sinks that fail ---- */

static void some_trace(prof_trace **trace) {
    int i;
    PASS_ON(start());
    prof_set_thread_name("main");
    for (i = 0; i < 400; i++) {
        PROF_SCOPE("outer");
        test_time.tick += 1234;
        prof_push(test_odd_names[i % TEST_ODD_NAMES]);
        test_time.tick += 2345;
        prof_pop();
        prof_counter("i", i);
    }
    *trace = prof_stop();
}

static void failing_writer(const prof_trace *trace, int writer) {
    test_text whole, part;
    size_t k, calls;
    memset(&whole, 0, sizeof whole);
    EQUAL(test_write(trace, writer, &whole), PROF_OK);
    calls = whole.calls;
    CHECK(calls > 0 || writer == TEST_EVENT_STACKS, "nothing written");   /* no stacks there */
    for (k = 1; k <= calls; k++) {
        memset(&part, 0, sizeof part);
        part.fail_at = k;
        EQUAL(test_write(trace, writer, &part), PROF_ERROR_SINK);
        CHECK(part.calls == k, "%u writes after the one that failed", (unsigned)(part.calls - k));
        CHECK(part.size < whole.size && (!part.size || !memcmp(part.data, whole.data, part.size)),
              "another beginning, cut at write %u", (unsigned)k);
        test_text_clear(&part);
    }
    memset(&part, 0, sizeof part);
    EQUAL(test_write(trace, writer, &part), PROF_OK);
    EQUAL(part.size, whole.size);
    EQUAL(memcmp(part.data, whole.data, whole.size), 0);
    test_text_clear(&part);
    test_text_clear(&whole);
}

static void test_sinks_that_fail(void) {
    prof_trace *trace = NULL;
    int writer;
    PASS_ON(some_trace(&trace));
    for (writer = 0; writer < TEST_WRITERS; writer++) {
        failing_writer(trace, writer);
        if (test_bad) {
            test_say(" (writer %d)", writer);
            return;
        }
    }
}

/* ---- Paths ---- */

static void test_save_unwritable(void) {
    prof_trace *trace = NULL;
    PASS_ON(some_trace(&trace));
    EQUAL(prof_save_chrome(trace, TEST_DIR "/no/such/folder/trace.json"), PROF_ERROR_FILE);
    CHECK(strstr(prof_strerror(PROF_ERROR_FILE), ": " TEST_DIR "/no/such/folder/trace.json"),
          "no name of the file");
    EQUAL(prof_save_chrome(trace, "."), PROF_ERROR_FILE);
    EQUAL(prof_save_chrome(trace, ""), PROF_ERROR_FILE);
}

/* Names that are first seen when all memory has records have rows of their own, as many as before
   there were seats for threads that never come. With max_threads those threads keep theirs. */
static void late_names(size_t size, uint32_t threads, unsigned least) {
    static char memory[4000000];
    static prof_average rows[400];
    prof_desc desc = sized_desc(0, 0);
    size_t i, rows_count, others = 0, late = 0;
    char name[16];
    desc.memory = memory;
    desc.memory_size = size;
    desc.max_depth = 255;
    desc.max_threads = threads;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "early %u", (unsigned)i);
        prof_push(name);
        prof_pop();
    }
    for (i = 0; i < size / 64; i++) PROF_BLOCK("fill") {}
    for (i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "late %u", (unsigned)i % 200);
        prof_push(name);
        prof_pop();
    }
    rows_count = prof_key_averages(prof_stop(), NULL, rows, 400);
    for (i = 0; i < rows_count; i++) {
        if (memcmp(rows[i].key, "late", 4) == 0) late += rows[i].count == 3;
        if (strcmp(rows[i].key, "(others)") == 0) others = (size_t)rows[i].count;
    }
    CHECK(late >= least, "%u of %u bytes", (unsigned)late, (unsigned)size);
    EQUAL(others, 3 * (200 - late));
}

static void test_names_late(void) {
    PASS_ON(late_names(1000000, 0, 116));
    PASS_ON(late_names(2600000, 0, 200));
    PASS_ON(late_names(4000000, 0, 200));
    PASS_ON(late_names(1000000, 4, 43));
    PASS_ON(late_names(2600000, 4, 200));
}

/* ---- The end of a trace ---- */

static void test_trace_gone(void) {
    prof_trace *trace = NULL;
    test_text text;
    int writer;
    memset(&text, 0, sizeof text);
    for (writer = 0; writer < TEST_WRITERS; writer++)
        CHECK(test_write(NULL, writer, &text) != PROF_OK, "wrote no trace at all");
    EQUAL(text.calls, 0);
    test_text_clear(&text);
    PASS_ON(some_trace(&trace));
}

int main(void) {
    RUN(test_arena_every_size);
    RUN(test_arena_every_size_dropping);
    RUN(test_arena_around_the_least);
    RUN(test_arena_first_bytes);
    RUN(test_arena_size_told);
    RUN(test_arena_size_grows);
    RUN(test_thread_takes);
    RUN(test_arena_bad_desc);
    RUN(test_strerror);
    RUN(test_strerror_names);
    RUN(test_full_arena);
    RUN(test_full_then_new_session);
    RUN(test_full_of_counters);
    RUN(test_full_and_unfinished);
    RUN(test_more_names_than_fit);
    RUN(test_more_names_than_fit_deep);
    RUN(test_names_dropped_inside);
    RUN(test_names_odd);
    RUN(test_names_long);
    RUN(test_names_copied);
    RUN(test_names_many);
    RUN(test_names_late);
    RUN(test_sinks_that_fail);
    RUN(test_save_unwritable);
    RUN(test_trace_gone);
    return test_end();
}
