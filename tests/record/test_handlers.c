/* What signal handlers did break: where they come to a single instruction (by the CPU's trap flag,
   see test_signal_step.c), in the clock, and where they do not return to what they interrupted. */
/* object: tests/record/step_prof.c */
#if !defined(_WIN32)
#  define _GNU_SOURCE 1                  /* REG_EFL */
#endif
#include "step_clock.h"
#include "../test.h"
#include "step.h"

#include <pthread.h>
#include <setjmp.h>

enum { ARENA = 256 << 10, LARGE = 4 * ARENA };

/* ---- In the clock: it is where the handler comes ---- */

static void (*interrupt)(void);

static uint64_t now_interrupted(void *user) {
    uint64_t now = ++test_time.tick;     /* read before the handler runs */
    void (*act)(void) = interrupt;
    (void)user;
    interrupt = NULL;
    if (act) act();
    return now;
}

static void act_range(void) {
    test_time.tick += 1000000;
    prof_async_end(prof_async_begin("range"));
}

/* A range in the slow path does not move the clock under it. */
static void test_range_in_the_clock(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    prof_stats stats;
    desc.platform.now = now_interrupted;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("before") {}
    interrupt = act_range;
    PROF_BLOCK("interrupted") { interrupt = act_range; }
    PROF_BLOCK("after") {}
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    stats = prof_get_stats(trace);
    EQUAL(stats.clock_steps, 0);
    EQUAL(stats.unfinished, 0);
    EQUAL(stats.dropped_busy, 2);        /* the ranges, and nothing else */
    EQUAL(stats.recorded, 3);
}

/* ---- Out of the slow path, for good ---- */

enum { JUMPERS = 6 };
static sigjmp_buf jump_to;
static bool jump_exits;

static void act_jump(void) {
    if (jump_exits) pthread_exit(NULL);
    siglongjmp(jump_to, 1);
}

static void *jumper(void *unused) {
    (void)unused;
    PROF_BEGIN("before");
    PROF_END();
    interrupt = act_jump;
    if (!sigsetjmp(jump_to, 1)) prof_push("jumped");
    interrupt = NULL;                    /* not there: without a state no clock is read */
    PROF_BEGIN("after");
    PROF_END();
    return NULL;
}

/* One thread after the other, in a session of room for two: each leaves its state to the next. */
static void jump_session(void *block) {
    prof_desc desc = test_desc();
    prof_stats stats;
    pthread_t thread;
    int i;
    desc.platform.now = now_interrupted;
    desc.memory = block;
    desc.memory_size = LARGE;
    desc.max_threads = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < JUMPERS; i++) {
        EQUAL(pthread_create(&thread, NULL, jumper, NULL), 0);
        pthread_join(thread, NULL);
    }
    stats = prof_get_stats(prof_stop());
    EQUAL(stats.dropped_threads, 0);
    EQUAL(stats.threads, JUMPERS);
    EQUAL(stats.recorded - stats.unfinished, JUMPERS);   /* before */
}

static void jump_twice(bool exits) {
    int i;
    jump_exits = exits;
    for (i = 0; i < 2 && !test_bad; i++) {
        void *block = malloc(LARGE);
        CHECK(block != NULL, "no memory");
        jump_session(block);
        if (test_bad) break;             /* a thread may own it still */
        memset(block, 0xa5, LARGE);      /* all threads have exited: it is nobody's */
        free(block);
    }
}

static void test_jump(void) { jump_twice(false); }

/* Who left by siglongjmp while it had the lock of all threads waits for nobody. */
static void test_jump_with_the_lock(void) {
    prof_desc desc = test_desc();
    desc.platform.now = now_interrupted;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("before") {}
    jump_exits = false;
    interrupt = act_jump;
    if (!sigsetjmp(jump_to, 1)) (void)prof_now();
    EQUAL(prof_get_stats(prof_stop()).recorded, 1);
}
static void test_exit(void) { jump_twice(true); }

#ifdef STEP_WHY
#  define STEPPED(test) static void test(void) { SKIP(STEP_WHY); }
STEPPED(test_ring)
STEPPED(test_thread_end)
STEPPED(test_stop)
STEPPED(test_stats)
STEPPED(test_range)
STEPPED(test_no_name)
STEPPED(test_busy)
#else

/* Each run starts elsewhere; 1: all instructions. */
#ifndef STEP_STRIDE
#  if TEST_SANITIZED                     /* more instructions, the time is their square */
#    define STEP_STRIDE 61
#  elif !defined(__OPTIMIZE__)
#    define STEP_STRIDE 5
#  else
#    define STEP_STRIDE 1
#  endif
#endif

/* ---- Stepped ---- */

/* Runs it once for each instruction of what it steps, or each stride-th. */
static void each_step(uint32_t stride, void (*run)(void)) {
    long at;
    stride = step_stride(stride) * (test_sample() > 1 ? 4 : 1);   /* a fork each */
    for (at = test_random(stride);; at += stride) {
        step_at = at;
        run();
        if (test_bad) {
            test_say(" (instruction %ld)", at);
            return;
        }
        if (steps <= at) return;         /* past the last one */
    }
}

/* ---- An end whose chunk the handler changed ---- */

static union { uint64_t align; unsigned char bytes[LARGE]; } memory;

static prof_desc desc_of(prof_mode mode, bool records_only) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory.bytes;
    desc.memory_size = ARENA;
    desc.max_depth = 8;
    desc.max_threads = 16;               /* chunks of 50 to 85 zones */
    desc.mode = mode;
    desc.keep = records_only ? PROF_KEEP_RECORDS : PROF_KEEP_ROWS;
    return desc;
}

enum { HANDLED = 50 };                   /* less than a chunk: to the next one, not round a ring */
static int begun, handled;               /* zones; the handler's */
static int filled;                       /* zones before */
static bool records_only;
static prof_mode mode;

static void zone(void) {
    PROF_BEGIN("zone");
    PROF_END();
}

static void zones(int n) {
    begun += n;
    while (n-- > 0) zone();
}

static void handler_chunk(void) {
    int i;
    for (i = 0; i < HANDLED; i++) PROF_BLOCK("handler") handled++;
}

/* Each zone is recorded or counted. In a ring's trace what is overwritten is no more recorded. */
static void check_stats(prof_stats stats, bool of_trace) {
    int64_t missing = begun + handled - (int64_t)(stats.recorded + stats.dropped);
    bool ring = of_trace && mode == PROF_MODE_RING && !records_only;
    if (ring && stats.overwritten) missing -= (int64_t)stats.overwritten;
    else if (!records_only) missing += (int64_t)stats.lost;   /* "(lost)" is recorded, too */
    CHECK(missing == 0, "%d zones begun, %lld recorded, %lld overwritten",
          begun + handled, (long long)stats.recorded, (long long)stats.overwritten);
    CHECK(stats.overwritten <= (uint64_t)(begun + handled), "%lld overwritten",
          (long long)stats.overwritten);
    EQUAL(stats.unfinished + stats.unbalanced + stats.healed, 0);
}

static void check_trace(const prof_trace *trace) {
    prof_stats stats = prof_get_stats(trace);
    size_t count, i;
    int known = 0;
    const prof_event *events = test_events(trace, &count);
    PASS_ON(check_stats(stats, true));
    PASS_ON(test_tree(trace));
    for (i = 0; i < count; i++) {
        bool ours = strcmp(events[i].name, "zone") == 0;
        CHECK(ours || events[i].name[0] == 'h' || events[i].name[0] == '(', "'%s'", events[i].name);
        CHECK(!ours || events[i].depth == 0, "a zone at depth %d", (int)events[i].depth);
        known += ours;
    }
    if (mode == PROF_MODE_TRACE && !records_only)
        EQUAL(known, begun);
}

static void chunk_start(void) {
    prof_desc desc = desc_of(mode, records_only);
    EQUAL(prof_start(&desc), PROF_OK);
    begun = handled = 0;
    zones(filled);
    stepped(zone, handler_chunk);
    begun++;
}

static void chunk_end(void) {
    PASS_ON(check_trace(prof_stop()));
    prof_thread_end();
}

static void run_ring(void) {
    PASS_ON(chunk_start());
    zones(1200);                         /* more than the ring holds: through all its chunks */
    PASS_ON(check_stats(prof_get_stats(NULL), false));
    chunk_end();
}

static void test_ring(void) {
    int i;
    mode = PROF_MODE_RING;
    for (i = 0; i < 2; i++) {
        records_only = i == 0;           /* has more chunks */
        for (filled = 1; filled < (i ? 130 : 1100) && !test_bad; filled += 41)
            each_step(STEP_STRIDE, run_ring);
        if (test_bad) {
            test_say(" (%d before, records only: %d)", filled - 41, (int)records_only);
            return;
        }
    }
}

static void run_thread_end(void) {
    PASS_ON(chunk_start());
    prof_thread_end();
    chunk_end();
}

static void run_stop(void) {
    PASS_ON(chunk_start());
    chunk_end();
}

static void run_stats(void) {
    PASS_ON(chunk_start());
    PASS_ON(check_stats(prof_get_stats(NULL), false));
    chunk_end();
}

/* In both modes that keep zones, from several places in a chunk. */
static void each_chunk(void (*run)(void)) {
    int i;
    for (i = 0; i < 12; i++) {
        mode = i & 1 ? PROF_MODE_RING : PROF_MODE_TRACE;
        records_only = (i & 2) != 0;
        filled = 20 * (i / 4 + 1);
        each_step(STEP_STRIDE, run);
        if (test_bad) {
            test_say(" (%d before, mode %d, records only: %d)", filled, (int)mode, records_only);
            return;
        }
    }
}

static void test_thread_end(void) { each_chunk(run_thread_end); }
static void test_stop(void) { each_chunk(run_stop); }
static void test_stats(void) { each_chunk(run_stats); }

/* ---- A range within the begin of another ---- */

static prof_async range;

static void handler_range(void) { prof_async_end(prof_async_begin("range")); }
static void range_begin(void) { range = prof_async_begin("range"); }

static void run_range(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE, false);
    prof_stats stats;
    EQUAL(prof_start(&desc), PROF_OK);
    handler_range();
    stepped(range_begin, handler_range);
    prof_async_end(range);
    stats = prof_get_stats(prof_stop());
    EQUAL(stats.unfinished, 0);
    EQUAL(stats.unbalanced + stats.clock_steps, 0);
    prof_thread_end();
}

static void test_range(void) { each_step(STEP_STRIDE, run_range); }

/* ---- Sums, where a handler ends the zone that has no name yet ---- */

enum { NAMES = 120 };                    /* in nearly all places of a table of 128 */
static char names[NAMES][8];
static prof_average rows[NAMES + 8];

static void handler_end(void) {
    step_ticks += 1000000;
    PROF_END();
}
static void begin_zone(void) { PROF_BEGIN("zone"); }

/* The nameless is in no other's row: it has none, or is in "(others)". */
static void check_sums(const prof_trace *trace) {
    size_t count = prof_key_averages(trace, NULL, rows, NAMES + 8), i;
    int64_t all = 0;                     /* of the zones; the unit of the clock is not known */
    CHECK(count == NAMES + 2 || (count == NAMES + 3 && prof_get_stats(trace).others == 0),
          "%d rows", (int)count);
    for (i = 0; i < count; i++)
        if (strcmp(rows[i].key, "zone") == 0) all = rows[i].cpu_time_total_ns;
    for (i = 0; i < count; i++)
        CHECK(rows[i].key[0] != '#' ||
              (rows[i].count == 1 && rows[i].cpu_time_total_ns < all / 100), "%s: %lld ns of %lld",
              rows[i].key, (long long)rows[i].cpu_time_total_ns, (long long)all);
}

static void run_no_name(void) {
    prof_desc desc = desc_of(PROF_MODE_AGGREGATE, true);
    int i;
    desc.memory_size = LARGE;
    desc.max_threads = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    zone();
    PROF_BEGIN("outer");
    stepped(begin_zone, handler_end);
    PROF_END();
    PROF_END();
    zones(3000);                         /* what was recorded goes into the sums */
    for (i = 0; i < NAMES; i++) {
        prof_push(names[i]);
        prof_pop();
    }
    zones(3000);
    PASS_ON(check_sums(prof_stop()));
    prof_thread_end();
}

static void test_no_name(void) {
    int i;
    for (i = 0; i < NAMES; i++) snprintf(names[i], sizeof names[i], "#%d", i);
    each_step(1, run_no_name);
}

/* ---- Two handlers: one interrupts the other's end, which interrupted the slow path ---- */

static void handler_unbegun(void) { PROF_END(); }
static void end_dropped(void) { PROF_END(); }

static void act_busy(void) {
    prof_push("dropped");
    stepped(end_dropped, handler_unbegun);
    PROF_BLOCK("inside") {}              /* the slow path is still shut */
}

static void run_busy(void) {
    prof_desc desc = desc_of(PROF_MODE_TRACE, false);
    prof_trace *trace;
    desc.platform.now = now_interrupted;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("outer");
    PROF_BEGIN("middle");
    interrupt = act_busy;
    prof_instant("moment");
    PROF_END();
    PROF_END();
    PROF_BLOCK("after") {}
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    CHECK(!test_find(trace, "inside", 0), "the slow path was entered twice");
    CHECK(test_find(trace, "after", 0), "nothing is recorded any more");
    EQUAL(prof_get_stats(trace).clock_steps, 0);
    prof_thread_end();
}

static void test_busy(void) { each_step(1, run_busy); }
#endif

int main(void) {
#ifndef STEP_WHY
    step_install();
#endif
    RUN(test_range_in_the_clock);
    RUN(test_jump);
    RUN(test_jump_with_the_lock);
    RUN(test_exit);
    RUN(test_ring);
    RUN(test_thread_end);
    RUN(test_stop);
    RUN(test_stats);
    RUN(test_range);
    RUN(test_no_name);
    RUN(test_busy);
    return test_end();
}
