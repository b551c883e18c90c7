/* The timeline may end, the table never lies: what the arena has no room for is in averages and
   tables all the same, to the tick. The programs nest as instrumented ones do: Lua (deep recursion
   of many names), zstd (millions of tiny zones under an outer one). Beside the library each thread
   adds up its own zones; its clock ticks as it says. */
#include "../test.h"
#include "../../tools/prof/raw_read.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

/* Ends the test where one before it failed, and says more. */
#define TOLD(...) do { if (test_bad) { test_say(__VA_ARGS__); return; } } while (0)

enum { NAMES = 96, THREADS = 8, DEPTH = 600 };

typedef struct sums { uint64_t count, total, self, least, most; } sums;

/* A thread's clock, and what it knows of its zones. */
typedef struct counter {
    uint64_t tick, left;                 /* left: zones still to come */
    uint32_t seed, depth;
    struct { uint64_t start, children; int name; } open[DEPTH];
    sums of[NAMES];
    sums program;                        /* an unfinished zone around all the others, */
    bool around;                         /* if it is wanted */
    bool many;                           /* all names; else a few */
    int run;                             /* 0: as Lua; 1: as zstd; 2: deeper than any record is */
} counter;

static __thread counter *mine;
static counter counters[THREADS];
static prof_average *rows;
static size_t row_count;
static char names[NAMES][24];

static uint64_t now(void *user) {
    (void)user;
    return mine ? mine->tick : 0;
}

static uint32_t draw(counter *c, uint32_t below) {
    c->seed = c->seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(c->seed >> 4) * below) >> 28);
}

static void put(sums *s, uint64_t ticks, uint64_t self) {
    if (!s->count || ticks < s->least) s->least = ticks;
    if (ticks > s->most) s->most = ticks;
    s->count++;
    s->total += ticks;
    s->self += self;
}

static void begin(counter *c, int name) {
    prof_push(names[name]);
    c->open[c->depth].start = c->tick;
    c->open[c->depth].children = 0;
    c->open[c->depth++].name = name;
}

static void end(counter *c) {
    uint64_t ticks;
    prof_pop();
    c->depth--;
    ticks = c->tick - c->open[c->depth].start;
    put(c->of + c->open[c->depth].name, ticks, ticks - c->open[c->depth].children);
    if (c->depth) c->open[c->depth - 1].children += ticks;
}

/* As instrumented Lua: a few calls, which call on. */
static void recurse(counter *c, uint32_t depth) {
    uint32_t calls = 1 + draw(c, 3);
    while (calls-- && c->left) {
        c->left--;
        begin(c, (int)draw(c, c->many ? NAMES : 20));
        c->tick += draw(c, 50);
        if (depth && draw(c, 8)) recurse(c, depth - 1);
        c->tick += draw(c, 3);
        end(c);
    }
}

/* As instrumented zstd: a block has many of a few tiny zones, in runs. */
static void compress(counter *c) {
    uint32_t i, k, n = 20 + draw(c, 400);
    begin(c, 0);
    for (i = 0; i < n && c->left; i++) {
        int name = 1 + (int)draw(c, 6);
        for (k = 1 + draw(c, 30); k && c->left; k--) {
            c->left--;
            begin(c, name);
            c->tick += draw(c, 8);
            end(c);
        }
        c->tick += draw(c, 5);
    }
    end(c);
}

/* As a parser of nested input: far down, and up by any number of levels. */
static void dive(counter *c) {
    uint32_t outer = c->depth;
    while (c->left) {
        uint32_t to = outer + draw(c, DEPTH - 30);
        for (; c->depth < to && c->left; c->left--) {
            begin(c, (int)draw(c, c->many ? NAMES : 20));
            c->tick += draw(c, 20);
        }
        if (c->depth < DEPTH - 30) recurse(c, 5);
        to = outer + draw(c, c->depth - outer + 1);
        for (; c->depth > to; end(c)) c->tick += draw(c, 5);
    }
    while (c->depth > outer) end(c);
}

static void program(counter *c) {
    mine = c;
    if (c->around) begin(c, 1);
    begin(c, 2);
    while (c->left) {
        if (c->run == 2) dive(c);
        else if (c->run) compress(c);
        else recurse(c, 20);
    }
    end(c);
    if (c->around) end(c);
}

static void *thread(void *of) {
    program((counter *)of);
    prof_thread_end();
    return NULL;
}

static void *thread_that_stays(void *of) {
    program((counter *)of);
    return NULL;
}

/* All that the threads counted. */
static void add_up(sums *all) {
    int i, k;
    memset(all, 0, NAMES * sizeof *all);
    for (i = 0; i < THREADS; i++)
        for (k = 0; k < NAMES; k++) {
            const sums *s = counters[i].of + k;
            if (!s->count) continue;
            if (!all[k].count || s->least < all[k].least) all[k].least = s->least;
            if (s->most > all[k].most) all[k].most = s->most;
            all[k].count += s->count;
            all[k].total += s->total;
            all[k].self += s->self;
        }
}

static const prof_average *row_of(const char *name) {
    size_t i;
    for (i = 0; i < row_count; i++)
        if (strcmp(rows[i].key, name) == 0) return rows + i;
    return NULL;
}

static void same(const prof_average *a, const sums *s) {
    EQUAL(a->count, s->count);
    EQUAL(a->cpu_time_total_ns, s->total);
    EQUAL(a->self_cpu_time_total_ns, s->self);
    EQUAL(a->min_ns, s->least);
    EQUAL(a->max_ns, s->most);
}

/* Each row is what was counted, and there is no other row. */
static void compare_rows(const sums *all) {
    size_t named = 0;
    int k;
    for (k = 0; k < NAMES; k++) {
        const prof_average *a = row_of(names[k]);
        CHECK((a != NULL) == (all[k].count != 0), "%s: %u calls", names[k], (unsigned)all[k].count);
        if (!a) continue;
        named++;
        same(a, all + k);
        TOLD(" of %s", names[k]);
    }
    EQUAL(row_count, named);
}

/* The pool ended: what has no row of its own is in that of all others, told, and the totals are
   right. */
static void compare_others(const sums *all, uint64_t others) {
    const prof_average *a = row_of("(others)");
    sums sum = { 0, 0, 0, 0, 0 };
    size_t i;
    int k;
    CHECK(a != NULL && a->count == others, "%u of %u in no row", a ? (unsigned)a->count : 0,
          (unsigned)others);
    for (i = 0; i < row_count; i++) {
        sum.count -= rows[i].count;
        sum.total -= (uint64_t)rows[i].cpu_time_total_ns;
        sum.self -= (uint64_t)rows[i].self_cpu_time_total_ns;
    }
    for (k = 0; k < NAMES; k++) {
        a = row_of(names[k]);
        CHECK(!a || (a->count <= all[k].count && a->min_ns >= (int64_t)all[k].least &&
                     a->max_ns <= (int64_t)all[k].most), "%s", names[k]);
        sum.count += all[k].count;
        sum.total += all[k].total;
        sum.self += all[k].self;
    }
    CHECK(!sum.count && !sum.total && !sum.self, "%d calls, %d ns, %d ns of their own are missing",
          (int)sum.count, (int)sum.total, (int)sum.self);
}

/* ---- What prof_dump writes of it ---- */

typedef struct dumped {
    prof_average rows[2 * NAMES];
    size_t count;
    int64_t within[THREADS + 1][256];    /* by thread and depth: what ended there */
    uint64_t summed;
    prof_raw_stats stats;
} dumped;

static dumped dumps[2];                  /* before prof_stop, and after it */
static char dump_memory[2][1 << 20];

static void add_dumped(void *user, const prof_raw_item *item) {
    dumped *d = (dumped *)user;
    prof_average *a = d->rows;
    bool sum = item->kind == PROF_RAW_SUMS, partial = test_partial(item->flags);
    int64_t ns = item->end_ns - item->start_ns, self = ns, *within;
    if (item->kind != PROF_RAW_ZONE && !sum) return;
    if (!sum) {
        within = d->within[item->thread % (THREADS + 1)] + item->depth;
        self -= within[1];
        within[1] = 0;
        within[0] += ns;
    }
    if (sum) d->summed += item->average->count;
    while (a < d->rows + d->count && strcmp(a->key, item->name) != 0) a++;
    if (a == d->rows + 2 * NAMES) return;
    if (a == d->rows + d->count) {
        a->key = item->name;
        a->min_ns = INT64_MAX;
        d->count++;
    }
    a->self_cpu_time_total_ns += sum ? item->average->self_cpu_time_total_ns
                                     : partial ? self - ns : self;
    if (sum ? !item->average->count : partial) return;
    a->count += sum ? item->average->count : 1;
    a->cpu_time_total_ns += sum ? item->average->cpu_time_total_ns : ns;
    if (sum) ns = item->average->min_ns;
    if (ns < a->min_ns) a->min_ns = ns;
    if (sum) ns = item->average->max_ns;
    if (ns > a->max_ns) a->max_ns = ns;
}

static void dump(int which) {
    test_text text = { NULL, 0, 0, 0, 0 };
    dumped *d = dumps + which;
    prof_raw_desc desc;
    prof_raw *raw;
    memset(d, 0, sizeof *d);
    memset(&desc, 0, sizeof desc);
    desc.memory = dump_memory[which];
    desc.memory_size = sizeof dump_memory[which];
    desc.item = add_dumped;
    desc.user = d;
    EQUAL(prof_dump(test_text_sink(&text)), PROF_OK);
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    prof_raw_feed(raw, text.data, text.size);
    EQUAL(prof_raw_close(raw, &d->stats), PROF_OK);
    test_text_clear(&text);
}

/* It is what the session's own rows say, and how much of it is in sums. */
static void compare_dump(const dumped *d) {
    size_t i, k;
    EQUAL(d->stats.bad_sums, 0);
    EQUAL(d->stats.counts.summed, d->summed);
    EQUAL(d->count, row_count);
    for (i = 0; i < d->count; i++) {
        const prof_average *a = d->rows + i, *own = row_of(a->key);
        CHECK(own != NULL, "%s: no row", a->key);
        EQUAL(a->count, own->count);
        EQUAL(a->cpu_time_total_ns, own->cpu_time_total_ns);
        EQUAL(a->self_cpu_time_total_ns, own->self_cpu_time_total_ns);
        EQUAL(a->min_ns, own->min_ns);
        EQUAL(a->max_ns, own->max_ns);
        TOLD(" of %s", a->key);
    }
    for (i = 0; i <= THREADS; i++)
        for (k = 1; k < 256; k++) CHECK(!d->within[i][k], "depth %u is in nothing", (unsigned)k);
}

/* exact: the pool holds all names. */
static void compare(const prof_trace *trace, bool exact) {
    sums all[NAMES];
    uint64_t zones = 0;
    prof_stats stats = prof_get_stats(trace);
    prof_average total = prof_total_average(trace);
    int k;
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    add_up(all);
    if (stats.others && !exact) compare_others(all, stats.others);
    else compare_rows(all);
    if (test_bad) return;
    for (k = 0; k < NAMES; k++) zones += all[k].count;
    EQUAL(total.count, zones);
    EQUAL(stats.dropped, 0);
    EQUAL(stats.lost, 0);
    PASS_ON(dump(1));
    EQUAL(dumps[1].stats.counts.summed, stats.summed);
    EQUAL(dumps[1].stats.counts.timeline_ns, stats.timeline_ns);
    for (k = 0; k < 2; k++) {
        compare_dump(dumps + k);
        TOLD(", dumped %s prof_stop", k ? "after" : "before");
    }
}

/* The same of a dump before it. */
static prof_trace *stop(void) {
    dump(0);
    return prof_stop();
}

static char *arena;
static bool lean;                        /* of the sessions to come */

static void start(size_t kib, uint32_t depth) {
    prof_desc desc;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.platform.now = now;
    desc.memory = arena;
    desc.memory_size = kib << 10;
    desc.max_threads = kib < 128 ? 1 : THREADS;
    desc.max_depth = depth;
    desc.keep = lean ? PROF_KEEP_ROWS : PROF_KEEP_EVENTS;
    memset(counters, 0, sizeof counters);
    for (i = 0; i < NAMES; i++) sprintf(names[i], "function %d", i);
    EQUAL(prof_start(&desc), PROF_OK);
}

static void one(size_t kib, int run, uint64_t zones, uint32_t seed) {
    PASS_ON(start(kib, kib < 64 ? 24 : 64));
    counters[0].seed = seed;
    counters[0].run = run;
    counters[0].many = kib >= 1024;
    counters[0].left = zones;
    counters[0].around = seed & 1;
    program(counters);
    compare(stop(), kib >= 256);
    prof_thread_end();
}

/* How much is done: ten times as much with --all, twice as much under a sanitizer. */
static int scale(void) {
    if (!getenv("ALL") || !*getenv("ALL")) return 1;
    return TEST_SANITIZED ? 2 : 10;
}

static void test_one_thread(void) {
    static const size_t sizes[] = { 32, 48, 64, 256, 1024, 65536 };
    uint32_t seed, step = test_sample() > 1 ? 1 + test_random(3) : 1;
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (seed = 1 + test_random(step); seed <= 4; seed += step) {
            one(sizes[i], seed / 2 & 1, (uint64_t)(30000 * scale()), seed);
            TOLD(" in %u KiB, seed %u", (unsigned)sizes[i], (unsigned)seed);
        }
}

static void test_threads(void) {
    static const size_t sizes[] = { 1024, 2048, 16384 };
    pthread_t threads[THREADS];
    size_t i;
    int k, n;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (n = 1; n <= THREADS; n *= 2) {
            PASS_ON(start(sizes[i], 0));
            for (k = 0; k < n; k++) {
                counter *c = counters + k;
                c->seed = (uint32_t)(k + n);
                c->run = sizes[i] < 4096 ? k & 1 : k % 3;
                c->many = true;
                c->around = k & 2;
                c->left = (uint64_t)(20000 * scale());
                pthread_create(threads + k, NULL, k & 1 ? thread : thread_that_stays, c);
            }
            for (k = 0; k < n; k++) pthread_join(threads[k], NULL);
            compare(stop(), sizes[i] >= 4096);
            TOLD(" with %d threads in %u KiB", n, (unsigned)sizes[i]);
        }
}

/* Those that come when the arena is full are in sums from the first zone. */
static void test_threads_that_come_later(void) {
    pthread_t threads;
    int k;
    PASS_ON(start(512, 0));
    for (k = 0; k < THREADS; k++) {
        counters[k].seed = (uint32_t)k;
        counters[k].many = true;
        counters[k].left = k ? 500 : 20000;
        pthread_create(&threads, NULL, thread, counters + k);
        pthread_join(threads, NULL);
    }
    compare(stop(), false);
}

/* Zones that are open at prof_stop: those that began in the timeline, and later ones. */
static void test_open_at_stop(void) {
    uint32_t before, after;
    for (before = 0; before < 4; before++)
        for (after = 0; after < 4; after++) {
            counter *c = counters;
            prof_trace *trace;
            uint32_t i;
            PASS_ON(start(256, 0));
            mine = c;
            c->left = 20000;
            for (i = 0; i < before; i++) begin(c, (int)(90 + i));
            recurse(c, 10);
            while (c->left) recurse(c, 10);
            for (i = 0; i < after; i++) {
                c->tick += 7;
                begin(c, (int)(80 + i));
                c->left = 10;
                recurse(c, 3);
            }
            c->tick += 11;
            trace = stop();
            while (c->depth) end(c);
            compare(trace, true);
            TOLD(" %u open before, %u after", (unsigned)before, (unsigned)after);
            EQUAL(prof_get_stats(NULL).unfinished, before + after);
        }
}

/* Off and on again when it is full. */
static void test_off_and_on(void) {
    int i;
    PASS_ON(start(256, 0));
    for (i = 0; i < 10; i++) {
        counters[0].seed = (uint32_t)i;
        counters[0].left = 5000;
        program(counters);
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
        prof_push("off");
        prof_pop();
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    }
    compare(stop(), true);
}

/* ---- Stopped at any time, in signal handlers, dropping, written ---- */

static bool looping;
static uint64_t done[THREADS];

static void *loop(void *number) {
    uint64_t *mine_done = (uint64_t *)number;
    while (PROF__LOAD(looping)) {
        PROF_BLOCK("around") { PROF_BLOCK("within") {} }
        PROF__RELEASE(*mine_done, *mine_done + 1);
    }
    return NULL;
}

static uint64_t all_done(void) {
    uint64_t n = 0;
    int i;
    for (i = 0; i < THREADS; i++) n += PROF__ACQUIRE(done[i]);
    return n;
}

static void session_of(size_t kib) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = arena;
    desc.memory_size = kib << 10;
    desc.max_threads = THREADS;
    desc.keep = lean ? PROF_KEEP_ROWS : PROF_KEEP_EVENTS;
    EQUAL(prof_start(&desc), PROF_OK);
}

/* prof_stop comes while threads add their blocks to their rows: each zone counts once, and what was
   open or began in that moment is all that may be told either way. */
static void test_stopped_at_any_time(void) {
    pthread_t threads[4];
    int i, round;
    PROF__STORE(looping, true);
    memset(done, 0, sizeof done);
    for (i = 0; i < 4; i++) pthread_create(threads + i, NULL, loop, done + i);
    for (round = 0; round < 40 * scale() && !test_bad; round++) {
        uint64_t before = all_done(), after, told;
        prof_trace *trace;
        prof_stats stats;
        const prof_average *a;
        session_of(512);
        usleep(1000 + (unsigned)(round % 7) * 300);
        trace = prof_stop();
        after = all_done();
        stats = prof_get_stats(NULL);
        row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
        a = row_of("within");
        told = (a ? a->count : 0) + stats.dropped;
        if (told > after - before + 8 || stats.lost || row_of("(lost)")) test_bad = 1;
        a = row_of("around");
        if (a && a->self_cpu_time_total_ns < 0) test_bad = 1;
        if (test_bad)
            test_say("round %d: %u of %u, lost %u", round, (unsigned)told,
                     (unsigned)(after - before), (unsigned)stats.lost);
    }
    PROF__STORE(looping, false);
    for (i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static volatile sig_atomic_t signals;

/* New names, each in turn: rows and their index grow in here. */
static void on_signal(int number) {
    int i;
    (void)number;
    for (i = 0; i < 40; i++) {
        prof_push(names[(signals * 3 + i) % NAMES]);
        prof_pop();
    }
    signals++;
}

/* A table grows inside a signal handler, wherever that comes. */
static void test_grows_in_a_handler(void) {
    struct itimerval every, none;
    uint64_t zones = 0, told = 0;
    prof_trace *trace;
    prof_stats stats;
    size_t i;
    for (i = 0; i < NAMES; i++) sprintf(names[i], "function %d", (int)i);
    memset(&none, 0, sizeof none);
    memset(&every, 0, sizeof every);
    every.it_interval.tv_usec = every.it_value.tv_usec = 200;
    signals = 0;
    signal(SIGALRM, on_signal);
    PASS_ON(session_of(1024));
    for (i = 0; i < 30000; i++) { PROF_SCOPE("first"); }
    setitimer(ITIMER_REAL, &every, NULL);
    while (signals < 100 * scale()) {
        PROF_SCOPE("outer");
        for (i = 0; i < 500; i++, zones++) { PROF_SCOPE("inner"); }
        zones++;
    }
    setitimer(ITIMER_REAL, &none, NULL);
    zones += 30000 + 40 * (uint64_t)signals;
    trace = prof_stop();
    stats = prof_get_stats(NULL);
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    for (i = 0; i < row_count; i++) told += rows[i].count;
    told += stats.dropped;
    CHECK(stats.summed > 10000, "%u in sums", (unsigned)stats.summed);
    /* An end that a handler interrupts displaces what that recorded. */
    CHECK(told <= zones && told + 41 * (uint64_t)signals >= zones, "%u of %u, lost %u",
          (unsigned)told, (unsigned)zones, (unsigned)stats.lost);
    CHECK(row_of("inner") != NULL, "no row");
}

/* All of these with nothing kept for events; a session starts beside what threads own of it. */
static void test_lean(void) {
    lean = true;
    test_one_thread();
    if (!test_bad) test_threads();
    if (!test_bad) test_threads_that_come_later();
    if (!test_bad) test_open_at_stop();
    if (!test_bad) test_off_and_on();
    if (!test_bad) test_stopped_at_any_time();
    if (test_bad) test_say(" (lean)");
    lean = false;
}

/* What is written of a full lean arena has each zone, before and after there are events. */
static void test_lean_written(void) {
    test_text text[2] = { { NULL, 0, 0, 0, 0 }, { NULL, 0, 0, 0, 0 } };
    prof_trace *trace;
    sums all[NAMES];
    size_t count;
    int i;
    lean = true;
    PASS_ON(start(256, 0));
    lean = false;
    counters[0].run = 1;
    counters[0].left = 30000;
    program(counters);
    EQUAL(prof_dump(test_text_sink(text)), PROF_OK);
    CHECK(text[0].size > 1000, "%u bytes dumped", (unsigned)text[0].size);
    trace = prof_stop();
    add_up(all);
    for (i = 0; i < 2; i++) {
        row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
        PASS_ON(compare_rows(all));
        test_text_clear(text + i);
        EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, test_text_sink(text + i)), PROF_OK);
        PASS_ON(test_all_writers(trace));
        CHECK(test_events(trace, &count) && count > prof_get_stats(NULL).recorded, "no events");
    }
    EQUAL(text[0].size, text[1].size);
    SAME_TEXT(text[0].data, text[1].data);
    free(text[0].data);
    free(text[1].data);
    PASS_ON(start(32, 24));
    EQUAL(prof_stop() != NULL, true);
}

/* ---- Zones deeper than max_depth: in sums alone, to the tick ---- */

/* depth: max_depth. */
static void deep_session(prof_mode mode, size_t kib, uint32_t depth) {
    prof_desc desc;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.platform.now = now;
    desc.mode = mode;
    desc.memory = arena;
    desc.memory_size = kib << 10;
    desc.max_threads = 1;
    desc.max_depth = depth;
    desc.keep = lean ? PROF_KEEP_ROWS : PROF_KEEP_EVENTS;
    memset(counters, 0, sizeof counters);
    for (i = 0; i < NAMES; i++) sprintf(names[i], "function %d", i);
    EQUAL(prof_start(&desc), PROF_OK);
    mine = counters;
    mine->seed = depth + (uint32_t)kib;
    mine->many = true;
}

static void check_deep(const prof_trace *trace, prof_mode mode) {
    sums all[NAMES];
    prof_stats stats = prof_get_stats(NULL);
    EQUAL(stats.dropped + stats.lost + stats.healed + stats.others, 0);
    CHECK((stats.deep > 1000) == (mode != PROF_MODE_AGGREGATE), "%u are deep",
          (unsigned)stats.deep);
    if (mode == PROF_MODE_TRACE) {
        compare(trace, true);
        return;
    }
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    add_up(all);
    compare_rows(all);
}

/* In a timeline that ends before it, in between, or never; in sums; in a ring that holds all. */
static void test_deep_zones(void) {
    static const struct { prof_mode mode; size_t kib; uint32_t depth; } of[] = {
        { PROF_MODE_TRACE, 65536, 0 }, { PROF_MODE_TRACE, 65536, 255 }, { PROF_MODE_TRACE, 512, 0 },
        { PROF_MODE_TRACE, 1024, 1 }, { PROF_MODE_TRACE, 1024, 255 }, { PROF_MODE_RING, 65536, 7 },
        { PROF_MODE_AGGREGATE, 1024, 0 }, { PROF_MODE_AGGREGATE, 65536, 255 } };
    size_t i;
    for (i = 0; i < sizeof of / sizeof *of; i++) {
        prof_trace *trace;
        PASS_ON(deep_session(of[i].mode, of[i].kib, of[i].depth));
        mine->left = 20000;
        dive(mine);
        trace = of[i].mode == PROF_MODE_TRACE ? stop() : prof_stop();
        check_deep(trace, of[i].mode);
        TOLD(" in session %u", (unsigned)i);
    }
    lean = !lean;
    if (lean) test_deep_zones();
    lean = false;
}

/* Open at prof_stop, in a timeline and in sums. */
static void test_deep_at_stop(void) {
    size_t kib;
    uint32_t depth;
    for (kib = 256; kib < 65536; kib *= 8)
        for (depth = 60; depth < 400; depth += 67) {
            prof_trace *trace;
            PASS_ON(deep_session(PROF_MODE_TRACE, kib, 64));
            mine->left = 5000;
            dive(mine);
            while (mine->depth < depth) begin(mine, (int)mine->depth % 90), mine->tick += 3;
            trace = prof_stop();
            while (mine->depth) end(mine);
            dump(0);
            compare(trace, true);
            TOLD(" with %u open in %u KiB", (unsigned)depth, (unsigned)kib);
            EQUAL(prof_get_stats(NULL).unfinished, depth);
        }
}

/* What prof_unwind leaves, at any depth. */
static void test_deep_unwound(void) {
    uint32_t depth, open;
    PASS_ON(deep_session(PROF_MODE_TRACE, 65536, 64));
    for (depth = 0; depth < 300; depth += 13) {
        prof_open_zones mark;
        while (mine->depth < depth) begin(mine, 7), mine->tick += 2;
        mark = prof_mark();
        for (open = 0; open < 100; open++) begin(mine, 9), mine->tick += 2;
        prof_unwind(mark);
        while (open--) {
            counter *c = mine;
            uint64_t ticks = c->tick - c->open[--c->depth].start;
            put(c->of + 9, ticks, ticks - c->open[c->depth].children);
            if (c->depth) c->open[c->depth - 1].children += ticks;
        }
    }
    while (mine->depth) end(mine);
    EQUAL(prof_get_stats(NULL).healed, 0);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    compare(stop(), true);
}

static void scopes(counter *c, int depth) {
    PROF_SCOPE("scope");
    c->tick += 1;
    if (depth % 100 == 50) PROF_BEGIN("left open");
    if (depth) scopes(c, depth - 1);
    c->tick += 1;
}

/* Scopes end what they began, whatever was left open in them. */
static void test_deep_scopes(void) {
    prof_trace *trace;
    const prof_average *a;
    test_text text;
    memset(&text, 0, sizeof text);
    PASS_ON(deep_session(PROF_MODE_TRACE, 65536, 64));
    scopes(mine, 1999);
    trace = prof_stop();
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    a = row_of("scope");
    EQUAL(a->count, 2000);
    EQUAL(a->cpu_time_total_ns, 4002000);
    EQUAL(row_of("left open")->count, 20);
    EQUAL(a->self_cpu_time_total_ns + row_of("left open")->self_cpu_time_total_ns, 4000);
    EQUAL(prof_get_stats(NULL).healed, 20);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded, 64);
    EQUAL(prof_get_stats(NULL).deep, 1956);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Zones deeper than prof_desc.max_depth (prof record --max-depth), not "
                            "in the timeline (is a PROF_END missing?): 1956"),
          "%s", text.data);
    CHECK(!strstr(text.data, "Timeline:"), "the timeline has not ended");
    test_text_clear(&text);
}

static void pushes(counter *c, int n) {
    for (int i = 0; i < n; i++, c->tick++) prof_push("push");
    for (int i = 0; i < n; i++, c->tick++) prof_pop();
}

/* As a recursion of 10,000 calls. */
static void test_deepest(void) {
    prof_trace *trace;
    const prof_average *a;
    PASS_ON(deep_session(PROF_MODE_TRACE, 65536, 0));
    pushes(mine, 10000);
    pushes(mine, 10000);
    trace = prof_stop();
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    a = row_of("push");
    EQUAL(a->count, 20000);
    EQUAL(a->cpu_time_total_ns, 2 * 100000000);
    EQUAL(a->self_cpu_time_total_ns, 2 * 19999);
    EQUAL(prof_get_stats(NULL).deep, 2 * (10000 - 64));
    EQUAL(prof_get_stats(NULL).dropped, 0);
    PASS_ON(test_all_writers(trace));
}

/* Where there is no memory for them they are dropped and told. */
static void test_deep_without_room(void) {
    prof_trace *trace;
    prof_stats stats;
    const prof_average *a;
    PASS_ON(deep_session(PROF_MODE_TRACE, 64, 8));
    pushes(mine, 4000);
    trace = prof_stop();
    stats = prof_get_stats(NULL);
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    a = row_of("push");
    CHECK(stats.deep > 100 && stats.dropped_full > 100, "%u deep, %u dropped",
          (unsigned)stats.deep, (unsigned)stats.dropped_full);
    EQUAL(a->max_ns, 7999);
    EQUAL(a->self_cpu_time_total_ns, 7999);
    EQUAL(a->count + stats.dropped_full, 4000);
}

static void test_dropping(void) {
    prof_desc desc = test_desc();
    prof_stats stats;
    int i;
    desc.memory = arena;
    desc.memory_size = 256 << 10;
    desc.max_threads = 1;
    desc.when_full = PROF_FULL_DROP;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 10000; i++) { PROF_SCOPE("zone"); }
    prof_stop();
    stats = prof_get_stats(NULL);
    EQUAL(stats.summed, 0);
    EQUAL(stats.timeline_ns, 0);
    EQUAL(stats.recorded + stats.dropped_full, 10000);
    memset(&desc.when_full, 2, sizeof desc.when_full);
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
}

/* Table, trace and statistics say where the timeline ended, with events and without. */
static void told_where_it_ends(bool events, unsigned zones) {
    prof_desc desc = test_desc();
    prof_chrome_desc array = { PROF_CHROME_ARRAY, PROF_CHROME_SOURCE_AUTO };
    test_text text;
    prof_trace *trace;
    prof_stats stats;
    char number[96];
    unsigned i, later;
    memset(&text, 0, sizeof text);
    desc.memory = arena;
    desc.memory_size = 256 << 10;
    desc.max_threads = 1;
    desc.keep = events ? PROF_KEEP_EVENTS : PROF_KEEP_ROWS;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("outer");
    for (i = 0; i < zones; i++) { PROF_SCOPE("zone"); test_time.tick += 7; }
    prof_instant("late");
    PROF_END();
    trace = prof_stop();
    stats = prof_get_stats(NULL);
    later = (unsigned)stats.summed - 1;  /* of them, "zone" */
    CHECK(stats.timeline_ns > 0 && stats.timeline_ns < 7 * zones, "no end");
    EQUAL(stats.not_kept, 1);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    sprintf(number, " of %u.000us. %u later zones", 7 * zones / 1000, (unsigned)stats.summed);
    CHECK(strstr(text.data, "Timeline: the first ") && strstr(text.data, number), "%s", text.data);
    test_text_clear(&text);
    for (i = 0; i < 2; i++) {
        EQUAL(prof_write_chrome(trace, i ? &array : NULL, test_text_sink(&text)), PROF_OK);
        sprintf(number, "\"name\":\"zone\",\"count\":%u,\"total\":%u,", later, 7 * later);
        CHECK(strstr(text.data, number), "%s", number);
        sprintf(number, "\"session_ns\":%u,", 7 * zones);
        CHECK(strstr(text.data, number) && strstr(text.data, "\"name\":\"timeline ends\"") &&
              strstr(text.data, "\"timeline_end_ns\":"), "%s", number);
        test_text_clear(&text);
    }
    CHECK(events || !prof_events(trace, NULL, 0, NULL), "events have room");
    EQUAL(test_told(trace), zones + 1);
    CHECK(test_partial(test_find(trace, "outer", 0)->flags), "it goes on");
    EQUAL(test_find(trace, "outer", 0)->end_ns, stats.timeline_ns);
    EQUAL(test_find(trace, "outer", 0)->self_cpu_time_total_ns, 0);
}

static void test_told_where_it_ends(void) {
    PASS_ON(told_where_it_ends(true, 10000));
    told_where_it_ends(false, 40000);
}

static void outer_of(void *user, const prof_raw_item *item) {
    bool summed = item->kind == PROF_RAW_SUMS;
    if ((item->kind != PROF_RAW_ZONE && !summed) || strcmp(item->name, "outer") != 0) return;
    ((prof_raw_item *)user)[summed] = *item;
    if (summed) ((prof_raw_item *)user)->value = item->average->cpu_time_total_ns;
}

/* A zone that was open when the timeline ended, after the clock's lower 32 bits have gone round: a
   dump has it up to there, in that hour, and whole in sums. */
static void test_dumped_when_it_was(void) {
    const unsigned zones = 40000;
    prof_desc desc = test_desc();
    prof_raw_desc reader;
    prof_raw_item items[2];              /* in the timeline, in sums */
    prof_raw_stats stats;
    prof_raw *raw;
    test_text text;
    unsigned i;
    memset(&text, 0, sizeof text);
    memset(&reader, 0, sizeof reader);
    memset(items, 0, sizeof items);
    reader.memory = dump_memory[0];
    reader.memory_size = sizeof dump_memory[0];
    reader.item = outer_of;
    reader.user = items;
    test_time.tick += (uint64_t)5 << 32;
    desc.memory = arena;
    desc.memory_size = 256 << 10;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("outer");
    for (i = 0; i < zones; i++) { PROF_SCOPE("zone"); test_time.tick += 7; }
    PROF_END();
    EQUAL(prof_dump(test_text_sink(&text)), PROF_OK);
    CHECK(prof_get_stats(NULL).summed > 10000, "%u zones in sums",
          (unsigned)prof_get_stats(NULL).summed);
    prof_stop();
    EQUAL(prof_raw_open(&reader, &raw), PROF_OK);
    prof_raw_feed(raw, text.data, text.size);
    EQUAL(prof_raw_close(raw, &stats), PROF_OK);
    test_text_clear(&text);
    CHECK(test_partial(items[0].flags), "it goes on");
    EQUAL(items[0].start_ns, 0);
    EQUAL(items[0].end_ns, prof_get_stats(NULL).timeline_ns);
    EQUAL(items[0].value, 7 * zones);
}

static void *dumped_here(void *text) {
    PROF_SCOPE("late");
    return prof_dump(test_text_sink((test_text *)text)) == PROF_OK ? NULL : text;
}

/* A thread that came too late for a timeline, while the clock stands where it began. */
static void test_dumped_at_tick_0(void) {
    prof_desc desc = test_desc();
    pthread_t thread;
    test_text text;
    void *failed;
    memset(&text, 0, sizeof text);
    desc.memory = arena;
    desc.memory_size = 256 << 10;
    desc.max_threads = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 40000; i++) { PROF_SCOPE("zone"); }
    pthread_create(&thread, NULL, dumped_here, &text);
    pthread_join(thread, &failed);
    EQUAL(failed == NULL, true);
    test_text_clear(&text);
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded + prof_get_stats(NULL).summed, 40001);
}

static void *names_without_end(void *data) {
    char name[32];
    int i;
    (void)data;
    for (i = 0; i < 20000; i++) {
        sprintf(name, "of many %d", i);
        prof_push(name);
        prof_pop();
    }
    return NULL;
}

enum { MANY = 6000, TURNS = 10 };

static void many_names(void) {
    char name[32];
    int i;
    for (i = 0; i < TURNS * MANY; i++) {
        sprintf(name, "one of %d", i % MANY);
        prof_push(name);
        counters[0].tick += 3;
        prof_push("child");
        counters[0].tick += 2;
        prof_pop();
        counters[0].tick += 1;
        prof_pop();
    }
}

/* More names than are kept take neither their zones with them nor what lies in these. */
static void check_many_names(prof_trace *trace, uint64_t stored) {
    test_text text;
    char told[96];
    prof_average *all = (prof_average *)malloc(3 * MANY * sizeof *all);
    const prof_average *a = all, *o = all;
    size_t n = prof_key_averages(trace, NULL, all, 3 * MANY);
    prof_stats stats = prof_get_stats(NULL);
    memset(&text, 0, sizeof text);
    EQUAL(n, stored + 2);
    while (strcmp(a->key, "child")) a++;
    while (strcmp(o->key, "(others)")) o++;
    EQUAL(a->count, TURNS * MANY);
    EQUAL(a->cpu_time_total_ns, 2 * TURNS * MANY);
    EQUAL(o->count, TURNS * (MANY - stored));
    EQUAL(o->cpu_time_total_ns, 6 * TURNS * (MANY - (int64_t)stored));
    EQUAL(o->self_cpu_time_total_ns, 4 * TURNS * (MANY - (int64_t)stored));
    EQUAL(stats.others, o->count);
    EQUAL(stats.dropped, 0);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    sprintf(told, "(PROF_MAX_SITES, prof_desc.memory): %u\n", (unsigned)o->count);
    CHECK(strstr(text.data, told), "%s", told);
    test_text_clear(&text);
    free(all);
}

static void test_more_names_than_are_kept(void) {
    prof_desc desc;
    int mode;
    for (mode = 0; mode < 4; mode++) {
        memset(&desc, 0, sizeof desc);
        desc.platform.now = now;
        desc.memory = arena;
        desc.memory_size = 64 << 20;
        desc.keep = mode != 1 ? PROF_KEEP_EVENTS : PROF_KEEP_ROWS;
        desc.max_threads = 1;
        desc.mode = mode == 2 ? PROF_MODE_AGGREGATE : mode == 3 ? PROF_MODE_RING : PROF_MODE_TRACE;
        memset(counters, 0, sizeof counters);
        mine = counters;
        EQUAL(prof_start(&desc), PROF_OK);
        many_names();
        PASS_ON(check_many_names(prof_stop(), 4095));   /* and the child */
    }
}

/* A clock that begins with 0: nothing is lost in a timeline that ends there. */
static void test_full_at_tick_0(void) {
    pthread_t thread;
    int i;
    PASS_ON(start(256, 24));
    for (i = 0; i < 2; i++) {
        counters[i].left = 30000;
        counters[i].seed = 7;
        mine = counters + i;
        if (i) pthread_create(&thread, NULL, thread_that_stays, counters + 1);
        else while (mine->left) begin(mine, 3), mine->left--, end(mine);
        if (i) pthread_join(thread, NULL);
    }
    compare(stop(), false);
}

static void *known(void *data) {
    int i;
    (void)data;
    for (i = 0; i < 1000; i++) { PROF_SCOPE("known"); }
    return NULL;
}

/* Names take what is kept for them, but not what threads need that come then. */
static void test_names_without_end(void) {
    prof_trace *trace;
    pthread_t thread;
    const prof_average *a;
    int i;
    PASS_ON(session_of(1024));
    for (i = 0; i < 51; i++) known(NULL);
    names_without_end(NULL);
    for (i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, known, NULL);
        pthread_join(thread, NULL);
    }
    trace = prof_stop();
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    if (row_count > 2 * NAMES) row_count = 2 * NAMES;
    a = row_of("known");
    CHECK(a && a->count == 54000, "%u of 54000", a ? (unsigned)a->count : 0);
}

/* Each of a chain of threads is there until the ones after it are over. Those before the last have
   `open` zones around all that, and use names that no other has. */
static struct { uint32_t open, names, left; bool late; } chain;

static void *chained(void *data) {
    uint32_t number = chain.left--, i;
    char name[24];
    (void)data;
    known(NULL);
    for (i = 0; i < chain.open; i++) prof_push("known");
    if (chain.late || !number)
        for (i = 0; i < chain.names; i++) {
            sprintf(name, "name %u of %u", (unsigned)i, (unsigned)number);
            prof_push(name);
            prof_pop();
        }
    if (number) {
        pthread_t next;
        pthread_create(&next, NULL, chained, NULL);
        pthread_join(next, NULL);
    }
    for (i = 0; i < 20; i++) known(NULL);
    for (i = 0; i < chain.open; i++) prof_pop();
    return NULL;
}

/* Rows and what finds them leave room for the threads that max_threads promises: for those that
   come late, and for those that go over to sums with all of their zones open. */
static void test_room_for_threads(void) {
    static const struct { size_t kib; uint32_t names; } of[] = {
        { 1024, 60 }, { 1024, 2000 }, { 2048, 150 }, { 2048, 400 }, { 4096, 700 }, { 8192, 3000 } };
    size_t i;
    for (i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        uint32_t k, fills, zones;
        prof_average total;
        prof_stats stats;
        PASS_ON(start(of[i / 2].kib, 0));
        chain.late = i & 1;
        chain.open = chain.late ? 0 : 60;
        chain.names = of[i / 2].names;
        chain.left = THREADS - 1;
        fills = chain.late ? (uint32_t)of[i / 2].kib / 16 : 0;
        for (k = 0; k < fills; k++) known(NULL);
        chained(NULL);
        zones = 1000 * (fills + 21 * THREADS) + chain.open * THREADS +
                chain.names * (chain.late ? THREADS : 1);
        total = prof_total_average(prof_stop());
        stats = prof_get_stats(NULL);
        CHECK(total.count == zones && !stats.dropped, "%u of %u, %u dropped: %u KiB, %s",
              (unsigned)total.count, (unsigned)zones, (unsigned)stats.dropped,
              (unsigned)of[i / 2].kib, chain.late ? "late" : "early");
        prof_thread_end();
    }
}

/* A thread for each request: those that come in sums leave their row to the next. */
static void test_a_thread_a_request(void) {
    prof_trace *trace;
    pthread_t thread;
    const prof_average *a;
    int i;
    PASS_ON(session_of(1024));
    for (i = 0; i < 3000; i++) {
        pthread_create(&thread, NULL, known, NULL);
        pthread_join(thread, NULL);
    }
    trace = prof_stop();
    row_count = prof_key_averages(trace, NULL, rows, 2 * NAMES);
    a = row_of("known");
    CHECK(a && a->count == 3000000, "%u of 3000000", a ? (unsigned)a->count : 0);
    EQUAL(prof_get_stats(NULL).threads, 3000);
}

int main(void) {
    rows = (prof_average *)malloc(2 * NAMES * sizeof *rows);
    arena = (char *)malloc((size_t)64 << 20);
    RUN(test_one_thread);
    RUN(test_threads);
    RUN(test_threads_that_come_later);
    RUN(test_open_at_stop);
    RUN(test_off_and_on);
    RUN(test_stopped_at_any_time);
    RUN(test_grows_in_a_handler);
    RUN(test_names_without_end);
    RUN(test_room_for_threads);
    RUN(test_a_thread_a_request);
    RUN(test_dumped_when_it_was);
    RUN(test_dumped_at_tick_0);
    RUN(test_more_names_than_are_kept);
    RUN(test_full_at_tick_0);
    RUN(test_deep_zones);
    RUN(test_deep_at_stop);
    RUN(test_deep_unwound);
    RUN(test_deep_scopes);
    RUN(test_deepest);
    RUN(test_deep_without_room);
    RUN(test_lean);
    RUN(test_lean_written);
    RUN(test_dropping);
    RUN(test_told_where_it_ends);
    free(arena);
    free(rows);
    return test_end();
}
