/* Counters of each zone: what the kernel counts, in events, averages, tables and the trace; what
   prof_start says where it cannot. Counters of the hardware only where the machine has them. */
#include "../test.h"
#include "../inside.h"

#include <errno.h>

#if !defined(_WIN32)
#  include <pthread.h>
#  include <sys/mman.h>
#  include <sys/wait.h>
#  include <unistd.h>
#endif

enum { PAGE = 4096, PAGES = 64 };

static prof_result start(const char *counters) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.hw_counters = counters;
    return prof_start(&desc);
}

static const char *reason(void) { return prof_strerror(PROF_ERROR_UNSUPPORTED); }

/* Memory that is touched for the first time. */
static void fault(int pages) {
    char *p = (char *)mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int i;
    if (p == (char *)MAP_FAILED) abort();
    for (i = 0; i < pages; i++) *(volatile char *)(p + (size_t)i * PAGE) = 1;
    munmap(p, (size_t)pages * PAGE);
}

static void work(void) {
    PROF_SCOPE("outer");
    PROF_BLOCK("faults") fault(PAGES);
    PROF_BLOCK("nothing") {}
}

static void test_counters_zones(void) {
    const prof_event *outer, *faults, *nothing;
    prof_average rows[8];
    prof_trace *trace;
    test_text text;
    int i;
    memset(&text, 0, sizeof text);
    if (start("page-faults,task-clock") != PROF_OK) SKIP("%s", reason());
    for (i = 0; i < 3; i++) work();
    trace = prof_stop();
    SAME_TEXT(prof_hw_counter_name(trace, 0), "page-faults");
    SAME_TEXT(prof_hw_counter_name(trace, 1), "task-clock");
    CHECK(prof_hw_counter_name(trace, 2) == NULL, "a third one");
    outer = test_find(trace, "outer", 1);
    faults = test_find(trace, "faults", 1);
    nothing = test_find(trace, "nothing", 1);
    CHECK(outer && faults && nothing && faults->extra && outer->extra, "not recorded");
    EQUAL(faults->extra->counter_count, 2);
    CHECK(faults->extra->counters[0] >= PAGES && faults->extra->counters[0] < 20 * PAGES, "%d",
          (int)faults->extra->counters[0]);
    CHECK(nothing->extra->counters[0] <= 1, "%d", (int)nothing->extra->counters[0]);
    CHECK(outer->extra->counters[0] >= faults->extra->counters[0], "children are included");
    CHECK(faults->extra->counters[1] <= outer->extra->counters[1], "task-clock %d of %d",
          (int)faults->extra->counters[1], (int)outer->extra->counters[1]);
    EQUAL(prof_key_averages(trace, NULL, rows, 8), 3);
    CHECK(rows[0].counters[0] >= 3 * PAGES && rows[0].self_counters[0] < PAGES,
          "%d, %d", (int)rows[0].counters[0], (int)rows[0].self_counters[0]);
    EQUAL(rows[1].counters[0], rows[1].self_counters[0]);
    CHECK(rows[0].counters[1] > 0, "task-clock %d", (int)rows[0].counters[1]);
    EQUAL(rows[0].self_counters[0],
          rows[0].counters[0] - rows[1].counters[0] - rows[2].counters[0]);
    PASS_ON(test_tree(trace));
    EQUAL(prof_get_stats(trace).dropped, 0);
    EQUAL(prof_get_stats(trace).not_kept, 0);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Self page-faults   page-faults  Self task-clock"), "%s", text.data);
    test_text_clear(&text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"args\":{\"page-faults\":") && strstr(text.data, ",\"task-clock\":"),
          "%s", text.data);
    test_text_clear(&text);
    test_all_writers(trace);
}

static void test_counters_formats(void) {
    prof_table_desc table;
    prof_averages_desc by;
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    memset(&table, 0, sizeof table);
    memset(&by, 0, sizeof by);
    table.averages = &by;
    if (start("page-faults") != PROF_OK) SKIP("%s", reason());
    work();
    trace = prof_stop();
    table.format = PROF_FORMAT_CSV;
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, ",is_user_annotation,page-faults,self_page-faults,overload_name"), "%s",
          text.data);
    test_text_clear(&text);
    table.format = PROF_FORMAT_JSON;
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"page-faults\": ") && strstr(text.data, "\"self_page-faults\": "),
          "%s", text.data);
    test_text_clear(&text);
    table.averages = NULL;               /* a row for each event */
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"self_page-faults\": "), "%s", text.data);
    test_text_clear(&text);
}

static void *on_thread(void *unused) {
    (void)unused;
    work();
    return NULL;
}

/* Each thread counts for itself, and gives its files back. */
static void test_counters_threads(void) {
    prof_trace *trace;
    int before = dup(0), after, i;
    if (before >= 0) close(before);
    if (start("page-faults,context-switches") != PROF_OK) SKIP("%s", reason());
    for (i = 0; i < 40; i++) {
        pthread_t thread;
        EQUAL(pthread_create(&thread, NULL, on_thread, NULL), 0);
        pthread_join(thread, NULL);
    }
    PROF_BLOCK("sleep") usleep(2000);
    trace = prof_stop();
    for (i = 0; i < 40; i++) {
        const prof_event *e = test_find(trace, "faults", i);
        CHECK(e && e->extra && e->extra->counter_count == 2 && e->extra->counters[0] >= PAGES,
              "thread %d", i);
    }
    CHECK(test_find(trace, "sleep", 0)->extra->counters[1] >= 1, "it did not sleep");
    EQUAL(prof_get_stats(trace).not_kept, 0);
    prof_thread_end();
    after = dup(0);
    if (after >= 0) close(after);
    EQUAL(after, before);
}

static void test_counters_refused(void) {
    static const char *const bad[] = { "no-such-counter", "page-faults,,", "", ",", "rxyz", "r",
                                       "r/", "rG", "r~", "r1234567890abcdef0", "x1",
                                       "page-faults,page-faults,page-faults,page-faults,task-clock",
                                       "a-name-that-is-longer-than-any-counter-has-here" };
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        EQUAL(start(bad[i]), PROF_ERROR_UNSUPPORTED);
        CHECK(strncmp(reason(), "prof_desc.hw_counters has ", 26) == 0, "%s: %s", bad[i], reason());
        CHECK(strlen(reason()) > 20, "%s", reason());
    }
    for (i = 0; i < 2; i++) {            /* whether this machine counts them is another matter */
        prof_result result = start(i ? "rc0" : "r123456789abcdef0");
        CHECK(result == PROF_OK || !strstr(reason(), "not known"), "%s", reason());
        prof_stop();
    }
    EQUAL(prof_start(NULL), PROF_OK);    /* none of it stays */
    PROF_BLOCK("plain") {}
    {
        prof_trace *trace = prof_stop();
        CHECK(!test_find(trace, "plain", 0)->extra, "an extra");
        CHECK(!prof_hw_counter_name(trace, 0), "a counter");
    }
    CHECK(strstr(reason(), "left out of this build"), "%s", reason());
}

static volatile int spun;

static void spin(int times) {
    int i;
    for (i = 0; i < times; i++) spun++;
}

/* Where the machine counts instructions: more of them for more work. */
static void test_counters_hardware(void) {
    prof_trace *trace;
    if (start("instructions,cycles") != PROF_OK) {
        CHECK(strstr(reason(), "\"instructions\": "), "%s", reason());
        SKIP("%s", reason());
    }
    PROF_BLOCK("little") spin(1000);
    PROF_BLOCK("much") spin(100000);
    trace = prof_stop();
    CHECK(test_find(trace, "much", 0)->extra->counters[0] >
              20 * test_find(trace, "little", 0)->extra->counters[0], "instructions");
}

/* Not for what keeps no events. */
static void test_counters_other_modes(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.hw_counters = "page-faults";
    desc.mode = PROF_MODE_AGGREGATE;
    if (prof_start(&desc) != PROF_OK) SKIP("%s", reason());
    work();
    EQUAL(prof_get_stats(prof_stop()).recorded, 3);
    desc.mode = PROF_MODE_RING;
    EQUAL(prof_start(&desc), PROF_OK);
    work();
    CHECK(test_find(prof_stop(), "faults", 0)->extra->counters[0] >= PAGES, "in a ring");
}

/* The child counts for itself. */
static void test_counters_fork(void) {
    int status = 0;
    pid_t child;
    if (start("page-faults") != PROF_OK) SKIP("%s", reason());
    work();
    fflush(stdout);
    child = fork();
    if (!child) {
        if (start("page-faults") != PROF_OK) _exit(1);
        work();
        _exit(test_find(prof_stop(), "faults", 0)->extra->counters[0] >= PAGES ? 0 : 2);
    }
    waitpid(child, &status, 0);
    EQUAL(status, 0);
    work();
    EQUAL(prof_get_stats(prof_stop()).recorded, 6);
}

/* Schedules, and arenas with too little room: what is counted is whole. */
static void test_counters_small_arenas(void) {
    static char memory[1 << 16];
    size_t size;
    for (size = 16000; size < sizeof memory; size += 2999) {
        prof_desc desc;
        prof_result result;
        size_t count, i;
        const prof_event *events;
        prof_trace *trace;
        memset(&desc, 0, sizeof desc);
        desc.hw_counters = "page-faults,task-clock";
        desc.memory = memory;
        desc.memory_size = size;
        desc.max_threads = 1;
        desc.max_depth = 8;
        result = prof_start(&desc);
        if (result == PROF_ERROR_MEMORY) continue;
        if (result == PROF_ERROR_UNSUPPORTED) SKIP("%s", reason());
        for (i = 0; i < 50; i++)
            PROF_BLOCK("a") PROF_BLOCK("b") {}
        trace = prof_stop();
        events = prof_events(trace, NULL, 0, &count);
        for (i = 0; i < count; i++) {
            const prof_extra *x = events[i].extra;
            CHECK(!x || !x->counter_count || x->counter_count == 2, "%d", (int)x->counter_count);
        }
        test_all_writers(trace);
    }
}

/* What the kernel's refusal means for the user. */
static void test_counters_reasons(void) {
    static const struct { int error; const char *says; } cases[] = {
        { EACCES, "not allowed" }, { EPERM, "not allowed" }, { EINVAL, "does not fit" },
        { ENOSPC, "does not fit" }, { EMFILE, "too many open files" }, { ENOSYS, "no perf events" },
        { ENFILE, "too many open files" }, { ENOENT, "does not count it" }
    };
    if (!inside_has_perf()) SKIP("no perf events here");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(strstr(inside_perf_refusal(cases[i].error), cases[i].says), "error %d",
              cases[i].error);
}

/* ---- desc.numbers ---- */

static prof_result start_numbers(const char *numbers, prof_mode mode) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.numbers = numbers;
    desc.mode = mode;
    return prof_start(&desc);
}

static void add_all(void) {
    PROF_SCOPE("add all");
    prof_add(0, 1);
    for (int i = 0; i < 3; i++) PROF_BLOCK("add") {
        prof_add(0, 10);
        prof_add(1, -1000000000000);
        prof_add(2, 5);                  /* there is no third one */
    }
    PROF_BLOCK("nothing") {}
}

static void *on_thread_add(void *unused) {
    (void)unused;
    add_all();
    return NULL;
}

static void check_numbers(prof_trace *trace, int64_t times) {
    prof_average rows[8];
    const prof_event *first = test_find(trace, "add all", 0);
    EQUAL(prof_key_averages(trace, NULL, rows, 8), 3);
    EQUAL(rows[0].counters[0], 31 * times);
    EQUAL(rows[0].self_counters[0], times);
    EQUAL(rows[0].counters[1], -3000000000000 * times);
    EQUAL(rows[0].self_counters[1], 0);
    EQUAL(rows[1].counters[0], 30 * times);
    EQUAL(rows[1].self_counters[1], -3000000000000 * times);
    EQUAL(rows[2].counters[0], 0);
    EQUAL(rows[0].counters[2], 0);
    CHECK(first && first->extra && first->extra->counter_count == 2, "not recorded");
    EQUAL(first->extra->counters[0], 31);
    EQUAL(prof_get_stats(trace).not_kept, 0);
}

/* ns per number: of a row's CPU total; unknown where nothing was added. */
static void test_numbers_per(const prof_trace *trace) {
    prof_averages_desc by;
    prof_table_desc table;
    prof_average rows[8];
    test_text text;
    char wanted[64];
    memset(&by, 0, sizeof by);
    memset(&table, 0, sizeof table);
    memset(&text, 0, sizeof text);
    table.averages = &by;
    table.ns_per_counter = true;
    prof_key_averages(trace, NULL, rows, 8);
    snprintf(wanted, sizeof wanted, "%.3f", (double)rows[1].cpu_time_total_ns / 60);
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "bytes  ns per points  ns per bytes    # of Calls"), "%s", text.data);
    CHECK(strstr(text.data, wanted) && strstr(text.data, "--            --  "), "%s, not %s",
          text.data, wanted);
    test_text_clear(&text);
    table.format = PROF_FORMAT_JSON;
    EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"ns_per_points\": null, \"ns_per_bytes\": null"), "%s", text.data);
    CHECK(strstr(text.data, wanted), "%s, not %s", text.data, wanted);
    test_text_clear(&text);
}

/* A zone has what was added in it and its children, on any thread. Where nothing was added it
   carries nothing. */
static void test_numbers_zones(void) {
    prof_trace *trace;
    pthread_t thread;
    test_text text;
    memset(&text, 0, sizeof text);
    prof_add(0, 99);                     /* no session */
    EQUAL(start_numbers("points,bytes", PROF_MODE_TRACE), PROF_OK);
    add_all();
    EQUAL(pthread_create(&thread, NULL, on_thread_add, NULL), 0);
    pthread_join(thread, NULL);
    trace = prof_stop();
    SAME_TEXT(prof_hw_counter_name(trace, 0), "points");
    SAME_TEXT(prof_hw_counter_name(trace, 1), "bytes");
    check_numbers(trace, 2);
    CHECK(!test_find(trace, "nothing", 0)->extra, "nothing was added");
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Self points        points    Self bytes         bytes"), "%s",
          text.data);
    CHECK(!strstr(text.data, "ns per"), "%s", text.data);
    test_text_clear(&text);
    test_numbers_per(trace);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"args\":{\"points\":10,\"bytes\":-1000000000000"), "%s",
          text.data);
    test_text_clear(&text);
    test_all_writers(trace);
}

/* A ring keeps the numbers of its zones; sums refuse them; what no zone gets is counted. */
static void test_numbers_modes(void) {
    prof_trace *trace;
    EQUAL(start_numbers("points,bytes", PROF_MODE_RING), PROF_OK);
    add_all();
    check_numbers(prof_stop(), 1);
    EQUAL(start_numbers("points", PROF_MODE_AGGREGATE), PROF_ERROR_UNSUPPORTED);
    CHECK(strstr(reason(), "PROF_MODE_AGGREGATE"), "%s", reason());
    EQUAL(start_numbers("points", PROF_MODE_TRACE), PROF_OK);
    prof_add(0, 5);
    PROF_BLOCK("zone") prof_add(0, 7);
    trace = prof_stop();
    EQUAL(test_find(trace, "zone", 0)->extra->counters[0], 7);
    EQUAL(prof_get_stats(trace).not_kept, 1);
}

static void test_numbers_refused(void) {
    static const char *const bad[] = { "", ",", "a,", ",a", "a,,b", "a,b,c,d,e", "a,b,a",
                                       "a-name-that-is-longer-than-31-bytes" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EQUAL(start_numbers(bad[i], PROF_MODE_TRACE), PROF_ERROR_UNSUPPORTED);
        CHECK(strstr(reason(), "prof_desc.numbers has "), "%s", reason());
    }
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("plain") prof_add(0, 1);
    CHECK(!test_find(prof_stop(), "plain", 0)->extra, "an extra");
}

/* Counters of the system come first; together they are four. */
static void test_numbers_with_counters(void) {
    prof_desc desc;
    prof_trace *trace;
    const prof_event *e;
    memset(&desc, 0, sizeof desc);
    desc.hw_counters = "page-faults,task-clock";
    desc.numbers = "a,b,c";
    if (start("page-faults") != PROF_OK) SKIP("%s", reason());
    prof_stop();
    EQUAL(prof_start(&desc), PROF_ERROR_UNSUPPORTED);
    CHECK(strstr(reason(), "numbers has \"c\": counters and numbers are four at most"), "%s",
          reason());
    desc.numbers = "a,b";
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") {
        prof_add(1, 3);
        fault(PAGES);
    }
    trace = prof_stop();
    SAME_TEXT(prof_hw_counter_name(trace, 3), "b");
    e = test_find(trace, "zone", 0);
    CHECK(e->extra && e->extra->counters[0] >= PAGES, "page faults");
    EQUAL(e->extra->counters[3], 3);
}

int main(void) {
    RUN(test_counters_zones);
    RUN(test_counters_formats);
    RUN(test_counters_threads);
    RUN(test_counters_refused);
    RUN(test_counters_reasons);
    RUN(test_counters_hardware);
    RUN(test_counters_other_modes);
    RUN(test_counters_fork);
    RUN(test_counters_small_arenas);
    RUN(test_numbers_zones);
    RUN(test_numbers_modes);
    RUN(test_numbers_refused);
    RUN(test_numbers_with_counters);
    return test_end();
}
