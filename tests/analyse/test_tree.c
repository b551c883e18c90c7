/* portable */
/* Random nestings under a fake clock, against a slow reference that is obviously right. */
#include "../test.h"

enum { MOST = 400 };

typedef struct zone {
    char name[12];
    uint64_t start, end;                 /* ns since the session's start */
    int depth, parent;                   /* parent: number of a zone, -1 for none */
} zone;

typedef struct model {
    zone zones[MOST];                    /* in the order of their begins */
    int count, depth, max_depth, deep;
    int open[MOST];                      /* numbers; -1: in sums */
    uint64_t start_tick, rate;           /* ticks per second; 0: ns */
    int sorted[MOST], place[MOST];       /* sorted[i]: zone of event i; place: the inverse */
} model;

static model m;

static uint64_t model_now(void) {
    uint64_t ticks = test_time.tick - m.start_tick;
    if (m.rate == 0) return ticks;
    return ticks / m.rate * 1000000000u + ticks % m.rate * 1000000000u / m.rate;
}

static void model_start(uint64_t rate, int max_depth, uint64_t start_tick) {
    prof_desc desc = test_desc();
    memset(&m, 0, sizeof m);
    m.rate = rate;
    m.max_depth = max_depth;
    m.start_tick = test_time.tick = start_tick;
    desc.platform.ticks_per_second = rate;
    desc.max_depth = (uint32_t)max_depth;
    EQUAL(prof_start(&desc), PROF_OK);
}

/* Names that come again are macros' (one site each), the others are all different. */
static void model_begin(void) {
    zone *z = &m.zones[m.count];
    int up = m.depth ? m.open[m.depth - 1] : -1;
    switch (test_random(6)) {
    case 0: strcpy(z->name, "red"); PROF_BEGIN("red"); break;
    case 1: strcpy(z->name, "green"); PROF_BEGIN("green"); break;
    default:
        snprintf(z->name, sizeof z->name, "z%d", m.count % 1000);
        prof_push(z->name);
    }
    m.deep += m.depth >= m.max_depth;
    if (m.depth >= m.max_depth) {
        m.open[m.depth++] = -1;
        return;
    }
    z->start = model_now();
    z->depth = m.depth;
    z->parent = up;
    m.open[m.depth++] = m.count++;
}

static void model_end(void) {
    int number = m.open[--m.depth];
    if (test_random(2)) PROF_END();
    else prof_pop();
    if (number >= 0) m.zones[number].end = model_now();
}

/* Does zone a stand before zone b? */
static int model_before(int a, int b) {
    const zone *x = &m.zones[a], *y = &m.zones[b];
    if (x->start != y->start) return x->start < y->start;
    if (x->end != y->end) return x->end > y->end;
    if (x->depth != y->depth) return x->depth < y->depth;
    return a < b;
}

static void model_sort(void) {
    int i, j;
    for (i = 0; i < m.count; i++) {
        for (j = i; j > 0 && model_before(i, m.sorted[j - 1]); j--) m.sorted[j] = m.sorted[j - 1];
        m.sorted[j] = i;
    }
    for (i = 0; i < m.count; i++) m.place[m.sorted[i]] = i;
}

/* The event of the first child of that parent begun after zone `after`; PROF_NONE: no more. */
static uint32_t model_child(int parent, int after) {
    int i;
    for (i = after + 1; i < m.count; i++)
        if (m.zones[i].parent == parent) return (uint32_t)m.place[i];
    return PROF_NONE;
}

static uint64_t model_self(int number) {
    uint64_t self = m.zones[number].end - m.zones[number].start;
    int i;
    for (i = 0; i < m.count; i++)
        if (m.zones[i].parent == number) self -= m.zones[i].end - m.zones[i].start;
    return self;
}

static void model_compare_event(const prof_event *events, int i) {
    const prof_event *event = events + i;
    int number = m.sorted[i];
    const zone *z = &m.zones[number];
    SAME_TEXT(event->name, z->name);
    EQUAL(event->start_ns, z->start);
    EQUAL(event->end_ns, z->end);
    EQUAL(event->depth, z->depth);
    EQUAL(event->flags, 0);
    EQUAL(event->parent, z->parent < 0 ? PROF_NONE : (uint32_t)m.place[z->parent]);
    EQUAL(event->first_child, model_child(number, -1));
    EQUAL(event->next_sibling, z->parent >= 0 ? model_child(z->parent, number) : PROF_NONE);
    EQUAL(event->self_cpu_time_total_ns, model_self(number));
}

static void model_stop(void) {
    size_t count;
    prof_trace *trace = prof_stop();
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    prof_stats stats = prof_get_stats(NULL);
    int i;
    EQUAL(count, m.count);
    EQUAL(stats.recorded, m.count);
    EQUAL(stats.dropped, 0);
    EQUAL(stats.deep, m.deep);
    EQUAL(stats.clock_steps, 0);
    EQUAL(stats.unbalanced + stats.healed + stats.unfinished, 0);
    model_sort();
    for (i = 0; i < m.count; i++) PASS_ON(model_compare_event(events, i));
    PASS_ON(test_tree(trace));
}

/* Begins and ends at random; before each, the clock goes on by what advance() says. */
static void model_run(int begins, uint64_t (*advance)(void)) {
    int budget = begins;
    while (budget > 0 || m.depth > 0) {
        test_time.tick += advance();
        if (budget > 0 && m.depth < MOST && (m.depth == 0 || test_random(9) < 5)) {
            model_begin();
            budget--;
        } else {
            model_end();
        }
    }
}

static void trials(int n, uint64_t rate, int max_depth, uint64_t (*advance)(void)) {
    int trial;
    for (trial = 0; trial < n; trial++) {
        uint64_t start = trial % 2 ? 0xfffffff0u * (uint64_t)trial : 0;
        test_seed = (uint32_t)trial * 977u + 1;
        PASS_ON(model_start(rate, max_depth, start));
        model_run(1 + (int)test_random(MOST - 1), advance);
        model_stop();
        if (test_bad) {
            test_say(" (trial %d)", trial);
            return;
        }
    }
}

static uint64_t fine(void) { return 3 * (1 + test_random(1000)); }
static uint64_t coarse(void) { return test_random(4) ? 0 : 1000; }
static uint64_t standing(void) { return 0; }
static uint64_t any_jump(void) { return (uint64_t)test_random(1u << 27) << test_random(9); }
static uint64_t rare_jump(void) { return test_random(30) ? test_random(100) : any_jump(); }
static uint64_t at_wrap(void) {
    static const uint64_t jumps[] = {0x7fffffff, 0x80000000u, 0xfffffffeu, 0xffffffffu,
                                     0x100000000u, 0x100000001u, 0x200000000u, 1, 0};
    return jumps[test_random(9)];
}

static void test_tree_fine_clock(void) { trials(100, 0, 255, fine); }
static void test_tree_coarse_clock(void) { trials(100, 0, 255, coarse); }
static void test_tree_standing_clock(void) { trials(20, 0, 255, standing); }
static void test_tree_wraps(void) { trials(100, 0, 255, any_jump); }
static void test_tree_rare_wraps(void) { trials(100, 0, 255, rare_jump); }
static void test_tree_exact_wraps(void) { trials(100, 0, 255, at_wrap); }
static void test_tree_rate_mhz(void) { trials(30, 1000000, 255, fine); }
static void test_tree_rate_3ghz(void) { trials(30, 3000000000u, 255, fine); }
static void test_tree_rate_32khz(void) { trials(30, 32768, 255, fine); }
static void test_tree_too_deep(void) { trials(50, 0, 5, fine); }
static void test_tree_one_deep(void) { trials(20, 0, 1, coarse); }

/* A chain of n zones, one inside the other, for each n that fits. */
static void test_tree_every_depth(void) {
    int depth, i;
    for (depth = 1; depth <= 255; depth++) {
        PASS_ON(model_start(0, 255, 0));
        for (i = 0; i < depth; i++) {
            test_time.tick += 7;
            model_begin();
        }
        while (m.depth) {
            test_time.tick += 3;
            model_end();
        }
        PASS_ON(model_stop());
    }
}

/* Around the deepest zone: one fewer, just as many, one more; then a zone after it. */
static void test_tree_deeper_than_max(void) {
    int max_depth, depth;
    for (max_depth = 1; max_depth <= 12; max_depth++)
        for (depth = max_depth - 1; depth <= max_depth + 3; depth++) {
            PASS_ON(model_start(0, max_depth, 0));
            while (m.depth < depth) {
                test_time.tick += 5;
                model_begin();
            }
            while (m.depth) {
                test_time.tick += 5;
                model_end();
            }
            model_begin();
            model_end();
            EQUAL(m.deep, depth > max_depth ? depth - max_depth : 0);
            PASS_ON(model_stop());
        }
}

static void test_tree_max_depth_checked(void) {
    prof_desc desc = test_desc();
    desc.max_depth = 256;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    desc.max_depth = 255;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_stop();
}

static uint64_t back_and_forth(void) {
    uint64_t jump = test_random(1000) << test_random(14);
    if (test_random(8)) return jump;
    return jump < test_time.tick ? 0 - jump : 0;
}

/* A clock that is set back below the session's start goes on from there, too. */
static void test_tree_clock_before_start(void) {
    prof_desc desc = test_desc();
    const prof_event *events;
    prof_trace *trace;
    test_time.tick = 5000;
    EQUAL(prof_start(&desc), PROF_OK);
    test_time.tick = 10;
    PROF_BLOCK("early") test_time.tick = 20;
    test_time.tick = 6000;
    PROF_BLOCK("late") test_time.tick = 6500;
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, NULL);
    EQUAL(events[0].end_ns, 10);
    EQUAL(events[1].start_ns, 5990);
    EQUAL(prof_get_stats(NULL).clock_steps, 1);
}

/* The program's clock of 64 bits may begin anywhere, and wrap. */
static void test_tree_clock_wraps(void) {
    static const uint64_t starts[] = { 0, (uint64_t)1 << 63, 0 - ((uint64_t)1 << 31), 0 - 5000u };
    for (int k = 0; k < 8; k++) {
        prof_desc desc = test_desc();
        prof_average row;
        prof_trace *trace;
        desc.mode = k & 1 ? PROF_MODE_AGGREGATE : PROF_MODE_TRACE;
        test_time.tick = starts[k / 2];
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 100; i++) PROF_BLOCK("zone") test_time.tick += 100;
        EQUAL(prof_now(), 10000);
        trace = prof_stop();
        EQUAL(prof_key_averages(trace, NULL, &row, 1), 1);
        EQUAL(row.count, 100);
        EQUAL(row.cpu_time_total_ns, 10000);
        EQUAL(row.max_ns, 100);
        EQUAL(prof_get_stats(NULL).clock_steps, 0);
    }
}

/* It goes 146 thousand million years forward. */
static void test_tree_clock_far(void) {
    prof_desc desc = test_desc();
    const prof_event *events;
    desc.platform.ticks_per_second = 1;
    test_time.tick = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("outer") {
        PROF_BLOCK("inner") test_time.tick = (uint64_t)1 << 62;
    }
    events = prof_events(prof_stop(), NULL, 0, NULL);
    EQUAL(events[0].end_ns, INT64_MAX);
    EQUAL(events[1].end_ns, INT64_MAX);
}

/* The clock goes back: times are whatever they are, but names, nesting and counts stay right. */
static void test_tree_clock_back(void) {
    int trial, i;
    for (trial = 0; trial < 50; trial++) {
        prof_trace *trace;
        size_t count;
        const prof_event *events;
        test_seed = (uint32_t)trial + 1;
        PASS_ON(model_start(0, 255, 1u << 20));
        model_run(MOST, back_and_forth);
        trace = prof_stop();
        events = prof_events(trace, NULL, 0, &count);
        EQUAL(count, m.count);
        CHECK(prof_get_stats(NULL).clock_steps > 0, "no step in trial %d", trial);
        PASS_ON(test_tree(trace));
        for (i = 0; i < m.count; i++) {
            const zone *z = &m.zones[i];
            const prof_event *event;
            if (z->name[0] != 'z') continue;
            event = test_find(trace, z->name, 0);
            CHECK(event != NULL, "zone %s is not there", z->name);
            EQUAL(event->depth, z->depth);
            if (z->parent < 0) EQUAL(event->parent, PROF_NONE);
            else SAME_TEXT(events[event->parent].name, m.zones[z->parent].name);
        }
    }
}

static void test_tree_steps_back(void) {
    PASS_ON(model_start(0, 255, 1000000));
    test_time.tick += 100;
    PROF_BEGIN("one");
    test_time.tick += 100;
    PROF_END();
    test_time.tick -= 150;
    PROF_BEGIN("two");
    test_time.tick += 25;
    PROF_END();
    test_time.tick = 0;                  /* which is a time as any other */
    PROF_BLOCK("three") test_time.tick += 5;
    prof_trace *trace = prof_stop();
    const prof_event *one = test_find(trace, "one", 0), *two = test_find(trace, "two", 0),
                     *three = test_find(trace, "three", 0);
    CHECK(one && two && three, "events are missing");
    EQUAL(three->start_ns, two->end_ns);
    EQUAL(three->end_ns - three->start_ns, 5);
    EQUAL(one->end_ns - one->start_ns, 100);
    EQUAL(two->end_ns - two->start_ns, 25);
    CHECK(two->start_ns >= one->end_ns, "two starts at %lld", (long long)two->start_ns);
    EQUAL(prof_get_stats(NULL).clock_steps, 2);
    PASS_ON(test_tree(trace));
}

/* ---- From records as from events ---- */

static uint64_t coarse_tick;
static uint32_t coarse_seed, coarse_of;

/* A clock that mostly stands. */
static uint64_t coarse_now(void *user) {
    (void)user;
    coarse_seed = coarse_seed * 1664525u + 1013904223u;
    return coarse_tick += (coarse_seed >> 24) % coarse_of == 0;
}

static prof_trace *coarse_trace(uint32_t seed, const prof_desc *more, int zones) {
    prof_desc desc = *more;
    int open = 0, i;
    char name[8];
    desc.platform.now = coarse_now;
    coarse_seed = test_seed = seed * 2654435761u + 1;
    coarse_of = 1 + test_random(20);
    if (prof_start(&desc) != PROF_OK) return NULL;
    for (i = 0; i < zones; i++) {
        if (open && test_random(5) < 2) {
            prof_pop();
            open--;
        } else if (open < 12) {
            snprintf(name, sizeof name, "n%u", (unsigned)test_random(6));
            prof_push(name);
            open++;
        }
        if (!test_random(50)) prof_instant("i");
    }
    return prof_stop();
}

static void same_averages(const prof_average *a, const prof_average *b, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        SAME_TEXT(a[i].key, b[i].key);
        EQUAL(a[i].count, b[i].count);
        EQUAL(a[i].cpu_time_total_ns, b[i].cpu_time_total_ns);
        EQUAL(a[i].self_cpu_time_total_ns, b[i].self_cpu_time_total_ns);
        EQUAL(a[i].min_ns, b[i].min_ns);
        EQUAL(a[i].max_ns, b[i].max_ns);
        EQUAL(a[i].p50_ns, b[i].p50_ns);
        EQUAL(a[i].p90_ns, b[i].p90_ns);
        EQUAL(a[i].p99_ns, b[i].p99_ns);
        EQUAL(a[i].parent == PROF_NONE, b[i].parent == PROF_NONE);
        EQUAL(a[i].is_recursive, b[i].is_recursive);
    }
}

/* All that is told of a trace before there are events of it is the same after. */
static void one_trace_twice(uint32_t seed) {
    prof_averages_desc by;
    prof_average before[16], after[16], total[2];
    prof_desc desc;
    test_text stacks[2] = { { NULL, 0, 0, 0, 0 }, { NULL, 0, 0, 0, 0 } };
    prof_trace *trace;
    size_t n;
    memset(&desc, 0, sizeof desc);
    memset(&by, 0, sizeof by);
    by.percentiles = true;
    trace = coarse_trace(seed, &desc, 200);
    CHECK(trace != NULL, "no trace");
    n = prof_key_averages(trace, &by, before, 16);
    total[0] = prof_total_average(trace);
    EQUAL(prof_write_stacks(trace, PROF_METRIC_CPU_TIME_TOTAL, test_text_sink(stacks)), PROF_OK);
    CHECK(prof_events(trace, NULL, 0, NULL) != NULL, "no events");
    EQUAL(prof_key_averages(trace, &by, after, 16), n);
    PASS_ON(same_averages(before, after, n));
    total[1] = prof_total_average(trace);
    PASS_ON(same_averages(total, total + 1, 1));
    EQUAL(prof_write_stacks(trace, PROF_METRIC_CPU_TIME_TOTAL, test_text_sink(stacks + 1)),
          PROF_OK);
    EQUAL(stacks[0].size, stacks[1].size);
    if (stacks[0].size) SAME_TEXT(stacks[0].data, stacks[1].data);
    free(stacks[0].data);
    free(stacks[1].data);
}

static void test_records_as_events(void) {
    uint32_t seed;
    for (seed = 1; seed <= 300 && !test_bad; seed++) {
        one_trace_twice(seed);
        if (test_bad) test_say(" (seed %u)", (unsigned)seed);
    }
}

static prof_desc in_arena(void *arena, size_t size) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = arena;
    desc.memory_size = size;
    desc.max_threads = 1;
    return desc;
}

/* The bytes that events take, as the refusal of prof_events says. */
static size_t events_size(void) {
    unsigned long size = 0;
    (void)sscanf(prof_strerror(PROF_ERROR_MEMORY), "the events take %lu bytes: give", &size);
    return size;
}

/* A trace of zones alone takes 12 bytes a zone; events where there is room for them. */
static void test_lean(void) {
    static uint64_t arena[1 << 17], room[1 << 20];
    test_text text = { NULL, 0, 0, 0, 0 };
    prof_average before[16], after[16];
    const prof_event *events;
    prof_stats stats;
    prof_desc desc;
    prof_trace *trace;
    size_t n, count, chrome, size;
    desc = in_arena(arena, sizeof arena);
    trace = coarse_trace(3, &desc, 130000);
    CHECK(trace != NULL, "no trace");
    stats = prof_get_stats(NULL);
    EQUAL(stats.dropped, 0);
    CHECK(stats.recorded > 50000 && stats.bytes_used < 60000 + (stats.recorded + 6000) * 25 / 2,
          "%lu bytes, %lu zones", (unsigned long)stats.bytes_used, (unsigned long)stats.recorded);
    CHECK(!prof_events(trace, NULL, 0, &count) && !count, "there are events");
    size = events_size();
    CHECK(size && size <= sizeof room && size <= 8 * stats.bytes_used, "%u bytes", (unsigned)size);
    EQUAL(prof_write_execution_trace(trace, test_text_sink(&text)), PROF_ERROR_MEMORY);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"ph\":\"X\""), stats.recorded);
    chrome = text.size;
    n = prof_key_averages(trace, NULL, before, 16);
    EQUAL(n, 6);
    CHECK(!prof_events(trace, room, 1000, &count) && !count, "events in 1000 bytes");
    CHECK(!prof_events(trace, room, size - 4096, &count), "too small");
    events = prof_events(trace, room, size, &count);
    CHECK(events != NULL, "no events");
    EQUAL(count, stats.recorded);
    CHECK(prof_events(trace, NULL, 0, NULL) == events, "others");
    EQUAL(prof_key_averages(trace, NULL, after, 16), n);
    PASS_ON(same_averages(before, after, n));
    text.size = 0;
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(text.size >= chrome, "less in the order of starts");
    free(text.data);
}

/* Where events do not fit, memory of the caller's has room for what is beside zones, too. */
static void test_lean_moments(void) {
    static uint64_t arena[1 << 13], room[1 << 16];
    const prof_event *events;
    test_text text = { NULL, 0, 0, 0, 0 };
    prof_desc desc = in_arena(arena, sizeof arena);
    prof_trace *trace;
    size_t size, count;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 500; i++) {
        PROF_BEGIN("zone");
        PROF_INSTANT("moment");
        PROF_END();
    }
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).dropped, 0);
    CHECK(!prof_events(trace, NULL, 0, &count) && !count, "there are events");
    size = events_size();
    CHECK(size && size <= sizeof room, "%u bytes", (unsigned)size);
    events = prof_events(trace, room, size, &count);
    CHECK(events != NULL, "no events in %u bytes", (unsigned)size);
    EQUAL(count, 500);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    EQUAL(test_times(text.data, "\"ph\":\"i\""), 500);
    free(text.data);
}

/* Details that come when zones have taken the room are left out, and counted. */
static void test_lean_details(void) {
    static uint64_t arena[1 << 14];
    prof_desc desc;
    desc = in_arena(arena, sizeof arena);
    desc.when_full = PROF_FULL_DROP;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(2500);
    prof_push("late");
    prof_set_arg("key", "value");
    prof_pop();
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_get_stats(NULL).recorded, 5001);
    CHECK(prof_get_stats(NULL).not_kept >= 1, "not counted");
    EQUAL(prof_start(&desc), PROF_OK);   /* early ones have room, and the session is lean no more */
    prof_push("early");
    prof_set_arg("key", "value");
    prof_pop();
    test_zones(2500);
    CHECK(prof_stop() != NULL, "no trace");
    EQUAL(prof_get_stats(NULL).not_kept, 0);
    CHECK(prof_get_stats(NULL).dropped_full > 1000, "all had room");
}

/* us in all lines of folded stacks; lines: how many; deep: the semicolons of the deepest. */
static uint64_t folded_sum(const char *text, size_t *lines, size_t *deep) {
    uint64_t sum = 0;
    *lines = *deep = 0;
    for (; *text; text++) {
        size_t depth = 0;
        for (; *text != ' '; text++) depth += *text == ';';
        sum += (uint64_t)strtoull(text, NULL, 10);
        text = strchr(text, '\n');
        *deep = depth > *deep ? depth : *deep;
        ++*lines;
    }
    return sum;
}

static uint64_t us_tick;
static uint64_t us_now(void *user) {
    (void)user;
    return us_tick += 1000;
}

/* Each path of eight names, a zone each. */
static void all_paths(int depth) {
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    int i;
    for (i = 0; depth && i < 8; i++) {
        prof_push(names[i]);
        all_paths(depth - 1);
        prof_pop();
    }
}

/* Where there is no memory for all stacks the outer ones are told apart, and no time is lost. */
static void test_stacks_too_many(void) {
    static uint64_t arena[1 << 16], room[1 << 20];
    test_text text = { NULL, 0, 0, 0, 0 };
    size_t count, lines, deep;
    uint64_t all, whole;
    prof_desc desc;
    prof_trace *trace;
    desc = in_arena(arena, sizeof arena);
    desc.platform.now = us_now;
    EQUAL(prof_start(&desc), PROF_OK);
    all_paths(5);
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 8 + 64 + 512 + 4096 + 32768);
    all = (uint64_t)prof_total_average(trace).self_cpu_time_total_ns / 1000;
    CHECK(!prof_events(trace, NULL, 0, &count), "events have room");
    EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
    EQUAL(folded_sum(text.data, &lines, &deep), all);
    CHECK(strstr(text.data, ";(deeper) ") && lines > 64 && deep >= 2, "%u lines, %u deep",
          (unsigned)lines, (unsigned)deep);
    CHECK(prof_events(trace, room, sizeof room, &count), "no room for %u", (unsigned)count);
    text.size = 0;
    EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
    whole = folded_sum(text.data, &lines, &deep);
    EQUAL(whole, all);
    EQUAL(lines, count);
    EQUAL(deep, 4);
    CHECK(!strstr(text.data, "deeper"), "not all stacks");
    free(text.data);
}

/* All zones of a ring have events. */
static void test_lean_ring(void) {
    static uint64_t arena[1 << 14];
    prof_desc desc;
    prof_trace *trace;
    size_t count;
    desc = in_arena(arena, sizeof arena);
    desc.mode = PROF_MODE_RING;
    desc.keep = PROF_KEEP_EVENTS;
    trace = coarse_trace(5, &desc, 50000);
    CHECK(trace && prof_events(trace, NULL, 0, &count), "no events");
    EQUAL(count, prof_get_stats(NULL).recorded);
    CHECK(prof_get_stats(NULL).overwritten > 1000, "it has not gone round");
    PASS_ON(test_tree(trace));
    PASS_ON(test_all_writers(trace));
}

int main(void) {
    RUN(test_lean_ring);
    RUN(test_stacks_too_many);
    RUN(test_records_as_events);
    RUN(test_lean);
    RUN(test_lean_moments);
    RUN(test_lean_details);
    RUN(test_tree_fine_clock);
    RUN(test_tree_coarse_clock);
    RUN(test_tree_standing_clock);
    RUN(test_tree_wraps);
    RUN(test_tree_rare_wraps);
    RUN(test_tree_exact_wraps);
    RUN(test_tree_rate_mhz);
    RUN(test_tree_rate_3ghz);
    RUN(test_tree_rate_32khz);
    RUN(test_tree_too_deep);
    RUN(test_tree_one_deep);
    RUN(test_tree_every_depth);
    RUN(test_tree_deeper_than_max);
    RUN(test_tree_max_depth_checked);
    RUN(test_tree_clock_before_start);
    RUN(test_tree_clock_wraps);
    RUN(test_tree_clock_far);
    RUN(test_tree_clock_back);
    RUN(test_tree_steps_back);
    return test_end();
}
