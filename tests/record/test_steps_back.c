/* A clock that goes back within a zone: the zone has no length and is counted, in every mode, while
   zones of any legal length stay as they are; also where it stays back. PROF_NOW() has the rate
   that was told: a tick is 1 ns here. */
#ifndef _DEFAULT_SOURCE
#  define _DEFAULT_SOURCE 1
#endif
#include <stdint.h>

static uint64_t by_hand;
static uint64_t hand_now(void) { return by_hand; }
#define PROF_NOW() hand_now()
#include "../test.h"
#include "../../tools/prof/raw_read.h"

#include <unistd.h>

static char memory[1 << 20];
static char data[1 << 20];
static size_t size;

static bool keep(void *user, const void *bytes, size_t n) {
    (void)user;
    if (size + n > sizeof data) return false;
    memcpy(data + size, bytes, n);
    size += n;
    return true;
}

/* What the zones come to: all that have the name, in ticks, but for those in which it goes back. */
enum { ZONES = 300 };
static const uint64_t wrap = (uint64_t)1 << 32;
static uint64_t total, around;           /* ticks, of those in which it does not go back */

static void zone(int64_t lasts) {
    PROF_BEGIN("zone");
    by_hand += (uint64_t)lasts;
    PROF_END();
    if (lasts < 0) by_hand -= (uint64_t)lasts;
    else total += (uint64_t)lasts;
    by_hand += 1000;
}

/* Back by a little, and by most of a wrap; beside zones of up to more than a wrap. */
static uint64_t zones(void) {
    static const int64_t back[] = { -1, -100, -1000000, -2000000000, -2200000000 };
    uint64_t steps = 0;
    int i;
    for (i = 0; i < ZONES; i++) {
        if (i == 200) zone(3000000000);  /* within a wrap or across it */
        if (i == 220) zone(5000000000);
        if (i % 20 == 7) {
            by_hand = (by_hand | 0xffffffffu) + 3000000000u;   /* high in the next wrap */
            zone(back[i / 20 % 5]);
            steps++;
        }
        PROF_BEGIN("around");
        by_hand += 10000000;
        zone(100000000);
        PROF_END();
        around += 110001000;
    }
    return steps;
}

static prof_result start(prof_mode mode, prof_stream_format format) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mode = mode;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.stream.write = mode == PROF_MODE_STREAM ? keep : NULL;
    desc.stream_format = format;
    desc.platform.ticks_per_second = 1000000000;
    size = 0;
    total = around = 0;
    by_hand = 1000 * wrap + 5;
    return prof_start(&desc);
}

static void check_ratio(double zones_ns, double around_ns) {
    double ratio = zones_ns / around_ns * (double)around / (double)total;
    CHECK(ratio > 0.999 && ratio < 1.001, "%f of its time", ratio);
}

static void check_rows(const prof_average *rows, size_t n) {
    double ns[2] = { 0, 0 };
    size_t i;
    for (i = 0; i < n; i++) {
        const prof_average *r = rows + i;
        CHECK(r->self_cpu_time_total_ns >= 0 && r->cpu_time_total_ns >= 0, "%s: below 0", r->key);
        if (r->key[0] == 'z' || r->key[0] == 'a')
            ns[r->key[0] == 'a'] = (double)r->cpu_time_total_ns;
    }
    check_ratio(ns[0], ns[1]);
}

static void run(prof_mode mode) {
    prof_average rows[8];
    prof_trace *trace;
    uint64_t steps;
    EQUAL(start(mode, PROF_STREAM_RAW), PROF_OK);
    steps = zones();
    if (mode == PROF_MODE_AGGREGATE) PASS_ON(check_rows(rows, prof_snapshot(rows, 8)));
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).clock_steps, steps);
    PASS_ON(check_rows(rows, prof_key_averages(trace, NULL, rows, 8)));
    EQUAL(prof_get_stats(trace).clock_steps, steps);
}

static void test_trace(void) { run(PROF_MODE_TRACE); }
static void test_ring(void) { run(PROF_MODE_RING); }
static void test_aggregate(void) { run(PROF_MODE_AGGREGATE); }

static int64_t zones_ns, around_ns;
static uint64_t counted, empty;

static void take(void *user, const prof_raw_item *item) {
    int64_t lasts = item->end_ns - item->start_ns;
    (void)user;
    if (item->kind == PROF_RAW_COUNTS && item->value) counted = item->counts->clock_steps;
    if (item->kind != PROF_RAW_ZONE) return;
    if (strcmp(item->name, "around") == 0) around_ns += lasts;
    if (strcmp(item->name, "zone") != 0) return;
    zones_ns += lasts;
    empty += lasts == 0;
}

/* Hands the items of what was written to item. */
static void read_raw(void item(void *user, const prof_raw_item *item)) {
    static unsigned char room[256 << 10];
    prof_raw_desc desc;
    prof_raw_stats stats;
    prof_raw *raw;
    memset(&desc, 0, sizeof desc);
    desc.memory = room;
    desc.memory_size = sizeof room;
    desc.item = item;
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    prof_raw_feed(raw, data, size);
    EQUAL(prof_raw_close(raw, &stats), PROF_OK);
}

static void check_raw(uint64_t steps) {
    zones_ns = around_ns = 0;
    counted = empty = 0;
    PASS_ON(read_raw(take));
    EQUAL(counted, steps);
    EQUAL(empty, steps);
    check_ratio((double)zones_ns, (double)around_ns);
}

static void test_stream(void) {
    uint64_t steps;
    EQUAL(start(PROF_MODE_STREAM, PROF_STREAM_RAW), PROF_OK);
    steps = zones();
    EQUAL(prof_flush(), PROF_OK);
    CHECK(prof_stop(), "not stopped");
    EQUAL(prof_get_stats(NULL).clock_steps, steps);
    PASS_ON(check_raw(steps));
}

static void test_dumps(void) {
    static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_RING };
    prof_sink sink = { keep, NULL };
    uint64_t steps;
    int i;
    for (i = 0; i < 2; i++) {
        EQUAL(start(modes[i], PROF_STREAM_RAW), PROF_OK);
        steps = zones();
        usleep(10000);                   /* enough ns for what the zones are long */
        EQUAL(prof_dump(sink), PROF_OK);
        PASS_ON(check_raw(steps));
        CHECK(prof_stop(), "not stopped");
        size = 0;
        EQUAL(prof_dump(sink), PROF_OK);
        PASS_ON(check_raw(steps));
    }
}

static void test_chrome(void) {
    uint64_t steps;
    EQUAL(start(PROF_MODE_STREAM, PROF_STREAM_CHROME), PROF_OK);
    steps = zones();
    CHECK(prof_stop(), "not stopped");
    EQUAL(prof_get_stats(NULL).clock_steps, steps);
    CHECK(size && size < sizeof data, "%u bytes", (unsigned)size);
    data[size] = 0;
    CHECK(!strstr(data, "\"dur\":-") && !strstr(data, "\"dur\": -"), "a length below 0");
}

/* ---- it stays back ---- */

enum { IN_A_LEAF, BETWEEN, AMONG_LEAVES, PLACES };

static void leaves(void) {
    int i;
    for (i = 0; i < 3; i++) {
        PROF_BLOCK("leaf") by_hand += 1000000;
        by_hand += 1000;
    }
}

static void nest(uint64_t back) {
    PROF_SCOPE("nest");
    leaves();
    if (back) {
        by_hand -= back;
        leaves();
    }
}

static void stay_back(int place, uint64_t back) {
    nest(0);
    if (place == IN_A_LEAF) {
        PROF_SCOPE("leaf");
        by_hand -= back;
    }
    if (place == BETWEEN) by_hand -= back;
    if (place == AMONG_LEAVES) nest(back);
    nest(0);
    nest(0);
}

static int64_t leaves_ns, nests_ns, latest_ns, sum_ns;

static void look(void *user, const prof_raw_item *item) {
    int64_t lasts = item->end_ns - item->start_ns;
    (void)user;
    if (item->kind == PROF_RAW_COUNTS && item->value) counted = item->counts->clock_steps;
    if (item->kind != PROF_RAW_ZONE) return;
    if (lasts < 0 || item->end_ns < latest_ns) empty++;   /* a thread's zones end in their order */
    latest_ns = item->end_ns;
    if (item->name[0] == 'l') leaves_ns += lasts;
    if (item->name[0] == 'l') sum_ns += lasts;
    if (item->name[0] != 'n') return;
    nests_ns += lasts;
    empty += lasts < sum_ns;             /* shorter than what is in it */
    sum_ns = 0;
}

static void look_at_rows(const prof_average *rows, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        empty += rows[i].self_cpu_time_total_ns < 0;
        *(rows[i].key[0] == 'l' ? &leaves_ns : &nests_ns) = rows[i].cpu_time_total_ns;
    }
}

enum { DUMP = PROF_MODE_AGGREGATE + 1 };   /* a mode, here */
static void stay(int mode, int place, uint64_t back) {
    bool dump = mode == DUMP;
    prof_sink sink = { keep, NULL };
    prof_average rows[8];
    prof_trace *trace;
    EQUAL(start(dump ? PROF_MODE_TRACE : (prof_mode)mode, PROF_STREAM_RAW), PROF_OK);
    leaves_ns = nests_ns = latest_ns = sum_ns = 0;
    counted = empty = 0;
    stay_back(place, back);
    if (dump) EQUAL(prof_dump(sink), PROF_OK);
    trace = prof_stop();
    CHECK(trace, "not stopped");
    if (size) {
        PASS_ON(read_raw(look));
    } else {
        counted = prof_get_stats(trace).clock_steps;
        look_at_rows(rows, prof_key_averages(trace, NULL, rows, 8));
    }
    EQUAL(empty, 0);
    CHECK(counted >= (place == IN_A_LEAF) && counted <= 2, "%u steps", (unsigned)counted);
    EQUAL(leaves_ns, place == AMONG_LEAVES ? 15000000 : 9000000);
    if (place != AMONG_LEAVES) EQUAL(nests_ns, 9009000);
    else CHECK(nests_ns >= 9009000 && nests_ns < 15020000, "%d ns", (int)nests_ns);
}

static void test_stays_back(void) {
    static const uint64_t back[] = { 5000000, 1500000000, 2200000000u, 4294967296u, 4299967296u,
                                     12884901888u, 1099511627783u };
    int mode, place;
    size_t i;
    for (mode = PROF_MODE_TRACE; mode <= DUMP; mode++)
        for (place = 0; place < PLACES; place++)
            for (i = 0; i < sizeof back / sizeof *back; i++) {
                PASS_ON(stay(mode, place, back[i]));
            }
}

/* One zone in another, random, with a step somewhere that may end later: each mode counts it as
   many times as the others. */
static int ends, step_at, step_for;
static uint64_t step;

static void tick(void) {
    by_hand += 1000;
    ends++;
    if (ends == step_at) by_hand -= step;
    if (step_for && ends == step_at + step_for) by_hand += step;
}

static void tree(int depth) {
    int i = depth < 3 ? (int)test_random(4) : 0;
    PROF_SCOPE("tree");
    for (tick(); i > 0; i--) {
        tree(depth + 1);
        tick();
    }
}

static uint64_t steps_of(int mode, uint32_t seed) {
    static const uint64_t back[] = { 500, 5000, 20000, 3000000000u, 5000000000u };
    test_seed = seed;
    ends = 0;
    step_at = 3 + (int)test_random(20);
    step_for = (int)test_random(6);
    step = back[test_random(5)];
    if (start((prof_mode)mode, PROF_STREAM_RAW)) return UINT64_MAX;
    for (mode = 0; mode < 3; mode++) tree(0);
    return prof_get_stats(prof_stop()).clock_steps;
}

static void test_counts_alike(void) {
    uint64_t some = 0;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        uint64_t first = steps_of(PROF_MODE_TRACE, seed);
        some += first;
        EQUAL(steps_of(PROF_MODE_RING, seed), first);
        EQUAL(steps_of(PROF_MODE_STREAM, seed), first);
        EQUAL(steps_of(PROF_MODE_AGGREGATE, seed), first);
    }
    CHECK(some > 20, "%u steps", (unsigned)some);
}

/* A thread whose first zone follows the step: all of its time lies before the session's start. */
static void test_back_before_the_start(void) {
    prof_average row;
    prof_trace *trace;
    EQUAL(start(PROF_MODE_TRACE, PROF_STREAM_RAW), PROF_OK);
    by_hand -= 5 * wrap;
    PROF_BLOCK("only") by_hand += 77;
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, NULL, &row, 1), 1);
    EQUAL(row.cpu_time_total_ns, 77);
    EQUAL(prof_get_stats(trace).ticks_per_second, 1000000000);
}

/* The time of a session whose PROF_NOW() has a told rate is by that rate alone. */
static void test_now_by_the_told_rate(void) {
    EQUAL(start(PROF_MODE_TRACE, PROF_STREAM_RAW), PROF_OK);
    by_hand += 3000000007u;
    EQUAL(prof_now(), 3000000007);
    CHECK(prof_stop(), "not stopped");
}

int main(void) {
    RUN(test_trace);
    RUN(test_ring);
    RUN(test_aggregate);
    RUN(test_stream);
    RUN(test_dumps);
    RUN(test_chrome);
    RUN(test_stays_back);
    RUN(test_counts_alike);
    RUN(test_back_before_the_start);
    RUN(test_now_by_the_told_rate);
    return test_end();
}
