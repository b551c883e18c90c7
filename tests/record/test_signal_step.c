/* A signal handler that marks zones, run at each single instruction of the recorder: the CPU's trap
   flag raises SIGTRAP after every instruction, and at one of them its handler records. */
/* object: tests/record/step_prof.c */
#if !defined(_WIN32)
#  define _GNU_SOURCE 1                  /* REG_EFL */
#endif
#include "step_clock.h"
#include "../test.h"
#include "step.h"

#ifdef STEP_WHY
static void test_signal_step(void) { SKIP(STEP_WHY); }
int main(void) {
    RUN(test_signal_step);
    return test_end();
}
#else

/* ---- The handlers ---- */

static int handled, moments;             /* what handlers began, in this run */

static void handler_small(void) {
    PROF_SCOPE("handler");
    handled++;
}

/* Its second record lies where an end that it interrupts empties a slot. */
static void handler_pair(void) {
    PROF_SCOPE("handler");
    handled += 2;
    PROF_BLOCK("handler") {}
}

static void handler_mixed(void) {
    PROF_SCOPE("handler");
    handled += 5;
    moments += 2;
    PROF_BEGIN("handler");
    PROF_BLOCK("handler") { PROF_BEGIN("handler"); PROF_END(); }
    prof_push("handler");
    prof_counter("handler", 1);
    prof_instant("handler");
    prof_pop();
    PROF_END();
}

/* Goes on to new chunks, twice. */
static void handler_large(void) {
    int i;
    for (i = 0; i < 100; i++) PROF_BLOCK("handler") handled++;
}

/* The clock never goes back, also when a handler came between. */
static void step_jump(uint64_t ticks) {
    if (ticks > step_ticks) __atomic_add_fetch(&step_ticks, ticks - step_ticks, __ATOMIC_RELAXED);
}

static void handler_wrap(void) {
    step_jump(step_ticks | 0xffffffff);
    handler_small();
}

/* Comes twice: the second some instructions behind the first. */
static bool again;
static void handler_twice(void) {
    handler_small();
    again = !again;
    if (again) step_at = steps + step_at % 16;
}

static void (*const handlers[])(void) = {
    handler_small, handler_pair, handler_mixed, handler_large, handler_wrap, handler_twice };
enum { HANDLERS = sizeof handlers / sizeof *handlers };

static void handler_in_turn(void) { handlers[step_children % HANDLERS](); }

/* ---- What is interrupted ---- */

enum { ARENA = 128 << 10, GUARD = 64, BEFORE = 3 };
static union { uint64_t align; unsigned char bytes[ARENA + 2 * GUARD]; } memory;

static void zones(int n) {               /* 2 n */
    int i;
    for (i = 0; i < n; i++) {
        PROF_SCOPE("outer");
        PROF_SCOPE("inner");
    }
}

static void part_attach(void) { zones(2); }
static void part_attached(void) { zones(2); }
static void part_pairs(void) {
    PROF_BEGIN("outer");
    prof_push("inner");
    prof_pop();
    PROF_END();
    PROF_BEGIN("outer");
    PROF_BEGIN("inner");
    PROF_END();
    PROF_END();
}
static void part_moments(void) {
    PROF_SCOPE("outer");
    prof_counter("counter", 1 << 30);
    PROF_BLOCK("inner") { prof_instant("instant"); }
    prof_counter("counter", 2);
    PROF_SCOPE("inner");
}
static void part_wrap(void) {
    zones(1);
    step_jump(step_ticks | 0xffffffff);
    zones(1);
}
static void part_long(void) {
    PROF_SCOPE("outer");
    PROF_BLOCK("inner") { step_jump(step_ticks + ((uint64_t)5 << 32)); }
    PROF_BLOCK("inner") {}
}
static void part_unwound(void) {         /* an outer end finds two zones open */
    PROF_SCOPE("outer");
    PROF_BEGIN("inner");
    PROF_BEGIN("innermost");
}
static void part_end(void) {             /* with two zones open */
    PROF_BEGIN("outer");
    PROF_BEGIN("inner");
    prof_thread_end();
}

/* Begun after first, first + 1, ... last pairs of zones, so that chunks end within it. */
typedef struct part {
    const char *name;
    void (*body)(void);
    int zones, first, last, healed, unfinished;
} part;
static const part parts[] = {
    { "attach", part_attach, 4, 0, 0, 0, 0 },
    { "hot", part_attached, 4, 1, 1, 0, 0 },
    { "chunk", part_attached, 4, 14, 26, 0, 0 },
    { "pairs", part_pairs, 4, 1, 1, 0, 0 },
    { "moments", part_moments, 3, 1, 1, 0, 0 },
    { "moments at a chunk's end", part_moments, 3, 23, 25, 0, 0 },
    { "wrap", part_wrap, 4, 1, 1, 0, 0 },
    { "long", part_long, 3, 1, 1, 0, 0 },
    { "unwound", part_unwound, 3, 1, 1, 2, 0 },
    { "thread's end", part_end, 2, 1, 1, 0, 2 },
    { "thread's end at a chunk's end", part_end, 2, 23, 25, 0, 2 } };

/* ---- One run ---- */

static void guards(void) {
    int i;
    for (i = 0; i < GUARD; i++)
        CHECK(memory.bytes[i] == 0xa5 && memory.bytes[GUARD + ARENA + i] == 0xa5,
              "written outside the arena");
}

static prof_mode mode;
static long stride;                      /* handlers come so many instructions apart, in turn */

/* STEP_STRIDE=n, or every one, a sample a fixed part of them, from another on each time; of what
   sanitizers make of them, and of the modes but TRACE, fewer. */
static long stride_of(void) {
    const char *wanted = getenv("STEP_STRIDE");
    long of = wanted ? atol(wanted) : 0;
    if (of < 1) of = test_sample() > 1 ? 393 : 1;
    return of * (TEST_SANITIZED ? 64 : 1) * (mode == PROF_MODE_TRACE || of == 1 ? 1 : 5);
}

/* Each zone is recorded, or a handler's was dropped and counted; so may its moments be. "(lost)"
   stands around a handler's zones that came when an end was written but its zone still open, and
   for a dropped zone around others. "(others)" is a push while what is interrupted has the lock. */
static void check_counts(prof_stats stats, int wanted) {
    int64_t n = (int64_t)(stats.recorded + stats.dropped - stats.lost);
    if (mode == PROF_MODE_RING) n += (int64_t)stats.overwritten;
    CHECK(n >= wanted + handled && n <= wanted + handled + moments,
          "%d zones and %d in the handler, %lld recorded, %lld dropped", wanted, handled,
          (long long)stats.recorded, (long long)stats.dropped);
    CHECK(stats.dropped <= (uint64_t)(handled + moments), "%lld zones dropped",
          (long long)stats.dropped);
    CHECK(stats.lost <= 2 + stats.dropped, "%d lost", (int)stats.lost);
}

/* All zones stand where they must. */
static void check(const prof_trace *trace, int wanted) {
    size_t count, i;
    int known = 0;
    const prof_event *events = test_events(trace, &count);
    PASS_ON(test_tree(trace));
    for (i = 0; i < count; i++) {
        const char *name = events[i].name;
        int depth = strcmp(name, "outer") == 0 ? 0 : strcmp(name, "inner") == 0 ? 1
                  : strcmp(name, "innermost") == 0 ? 2 : -1;
        if (depth < 0) {
            CHECK(strcmp(name, "handler") == 0 || strcmp(name, "(lost)") == 0 ||
                  strcmp(name, "(others)") == 0, "'%s'", name);
            continue;
        }
        known++;
        CHECK(events[i].depth == depth, "%s at depth %d", name, (int)events[i].depth);
    }
    EQUAL(known, wanted);
}

static bool sink_write(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    return true;
}

static void run_and_check(const part *p, int filled) {
    void (*by)(void);
    prof_desc desc;
    prof_trace *trace;
    prof_stats stats;
    memset(&desc, 0, sizeof desc);
    memset(&memory, 0xa5, sizeof memory);
    desc.memory = memory.bytes + GUARD;
    desc.memory_size = ARENA;
    desc.max_depth = 8;
    desc.max_threads = mode == PROF_MODE_TRACE ? 16 : 6;   /* so that chunks are small */
    desc.mode = mode;
    desc.stream.write = sink_write;
    desc.when_full = PROF_FULL_DROP;
    handled = moments = 0;
    again = false;
    step_ticks += 100 - step_ticks % 100;
    EQUAL(prof_start(&desc), PROF_OK);
    zones(filled);
    PASS_ON(stepped_by(stride, p->body, handler_in_turn));
    by = handlers[step_children % HANDLERS];
    zones(60);                           /* and all goes on */
    trace = prof_stop();
    if (mode == PROF_MODE_TRACE) PASS_ON(check(trace, 2 * filled + p->zones + 120));
    stats = mode == PROF_MODE_TRACE ? prof_get_stats(trace) : prof_get_stats(NULL);
    PASS_ON(check_counts(stats, 2 * filled + p->zones + 120));
    PASS_ON(guards());
    if (p->body == part_attached && p->first == p->last &&
        (by == handler_pair || by == handler_twice))
        EQUAL(stats.dropped, 0);         /* only the slow path drops */
    EQUAL(stats.healed, p->healed);
    if (mode != PROF_MODE_RING) EQUAL(stats.unfinished, p->unfinished);   /* it has lost them */
    EQUAL(stats.unbalanced, 0);
    EQUAL(stats.deep + stats.dropped_threads, 0);
    EQUAL(stats.threads, p->body == part_end ? 2 : 1);
    prof_thread_end();
}

static void run(const part *p, int filled) {
    step_at = test_random((uint32_t)stride);
    run_and_check(p, filled);
    if (test_bad) test_say(" (%s after %d; the child's number tells its handler)", p->name, filled);
    step_end();
}

/* A sample, or with a sanitizer: one of what is filled before, another each time. */
static void each_part(prof_mode of) {
    size_t i;
    long before = step_children;
    mode = of;
    stride = stride_of();
    for (i = 0; i < sizeof parts / sizeof *parts; i++) {
        int all = parts[i].last - parts[i].first + 1;
        int step = test_sample() > 1 || TEST_SANITIZED ? all : 1;
        int filled = parts[i].first + (int)test_random((uint32_t)step);
        if (mode != PROF_MODE_TRACE) step = all;
        for (; filled <= parts[i].last; filled += step) PASS_ON(run(parts + i, filled));
    }
    printf("%ld handlers, %ld instructions apart\n", step_children - before, stride);
}

static void test_signal_step(void) { each_part(PROF_MODE_TRACE); }
static void test_signal_step_ring(void) { each_part(PROF_MODE_RING); }
static void test_signal_step_stream(void) { each_part(PROF_MODE_STREAM); }
static void test_signal_step_aggregate(void) { each_part(PROF_MODE_AGGREGATE); }

/* ---- One handler after another ---- */

static long apart;                       /* one comes at each so many instructions */
static void handler_often(void) {
    handler_small();
    step_at = steps + apart - 1;
}
static int often_zones;
static void part_often(void) { zones(often_zones); }

/* Begun after so many pairs of zones: with 1,000 the timeline has ended. */
static const struct { prof_mode mode; size_t memory; int before; } often[] = {
    { PROF_MODE_TRACE, 16001, 1 }, { PROF_MODE_TRACE, 16001, 1000 }, { PROF_MODE_RING, 16001, 1 },
    { PROF_MODE_STREAM, 16001, 25 }, { PROF_MODE_AGGREGATE, 60000, 1000 } };

/* Also where a handler adds the block up, ends the timeline or flushes amid an end: each zone is
   recorded, in a sum, or dropped, and counts once. "(lost)" stands around others. */
static void run_often(int which) {
    prof_desc desc;
    prof_stats stats;
    int64_t all, begun;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory.bytes;
    desc.memory_size = often[which].memory;
    desc.mode = often[which].mode;
    desc.stream.write = sink_write;
    desc.max_threads = 1;
    desc.max_depth = 16;
    handled = 0;
    step_ticks += 100 - step_ticks % 100;
    EQUAL(prof_start(&desc), PROF_OK);
    zones(often[which].before);
    step_at = apart;
    stepped(part_often, handler_often);
    stats = prof_get_stats(prof_stop());
    begun = 2 * (often[which].before + often_zones) + handled;
    all = (int64_t)(stats.recorded + stats.overwritten + stats.summed + stats.dropped - stats.lost);
    CHECK(all == begun, "%lld zones of %lld, at each %ld instructions of run %d", (long long)all,
          (long long)begun, apart, which);
    prof_thread_end();
}

/* A sample, or what a sanitizer slows down, takes two of often and fewer zones. */
static void test_signals_often(void) {
    static const long at[] = { 1, 2, 3, 5, 7 };
    bool all = test_sample() == 1 && !TEST_SANITIZED;
    uint32_t first = all ? 0 : test_random(5);
    int from = all ? 0 : (int)test_random(5), i, runs = all ? 25 : from + 2;
    often_zones = all ? 60 : 12;
    for (i = from; i < runs; i++) {
        apart = at[((uint32_t)i / 5 + (uint32_t)i + first) % 5];
        run_often(i % 5);
    }
}

/* STEP_HANDLERS=all: all of them come to each instruction. A sample runs TRACE and one of the other
   modes, another each time. */
int main(void) {
    bool all = test_sample() == 1;
    uint32_t one = test_random(3);
    const char *of_each = getenv("STEP_HANDLERS");
    step_install();
    step_times = of_each && strcmp(of_each, "all") == 0 ? HANDLERS : 1;
    RUN(test_signals_often);
    RUN(test_signal_step);
    if (all || one == 0) RUN(test_signal_step_ring);
    if (all || one == 1) RUN(test_signal_step_stream);
    if (all || one == 2) RUN(test_signal_step_aggregate);
    return test_end();
}
#endif
