/* What prof.h costs: bench [--instructions | --compile] FILE CPU

   Prints the figures of one list, below, and writes them to FILE as a JSON object. One beyond its
   limit says MISS, and the exit status is then 1. --instructions: those alone.
   Instructions are counted by valgrind's callgrind: they are the same on every machine. Clocks tell
   ratios alone. Times are CPU time; what is compared is timed in turns, A B A B ..., and a ratio is
   the median of the rounds' ratios, so that a round slowed by a neighbour slows both sides.
   "old" is an earlier commit (Makefile: BENCH_OLD), with whose headers this file was compiled, too:
   its bench NAME prints one figure, bench --count NAME runs what callgrind counts.

   The floor of a zone is what no profiler of this kind can leave out: two clock reads, one frame
   on a shadow stack, one 12-byte record and its cursor, into a ring that stays in the cache. */
#define _GNU_SOURCE
#define PROF_IMPLEMENTATION
#include "prof.h"
#ifdef BENCH_OLD
#  define prof_get_stats(trace) prof_get_stats()
#  define prof_events(trace, memory, size, count) prof_events(trace, count)
#  define KEEP_EVENTS events = true
#else
#  define KEEP_EVENTS keep = PROF_KEEP_EVENTS
#endif

#define PROF_CUDA_IMPLEMENTATION
#include "prof_cuda.h"
#include "fake_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

enum {
    ROUNDS = 51, SOME_ROUNDS = 15, FEW_ROUNDS = 5, PUSH_NAMES = 16,
    ZONES = 500000,                           /* 6 MB of records a round: past the cache */
    TREE_ZONES = 4000000, MAX_THREADS = 64,
    COUNTED_ZONES = 200000, COUNTED_EVENTS = 20000, LAUNCHES = 10000,
    STREAMED_ZONES = 50000                    /* which nobody has to flush */
};

/* The loops that are timed: never inlined, and called through a pointer the compiler cannot see
   through, since it takes what is called once for cold. */
#define TIMED __attribute__((noinline, aligned(64))) static
#define INLINE __attribute__((always_inline)) static inline
#define BARRIER() __asm__ volatile("" ::: "memory")

typedef void loop_fn(size_t count);

/* One of two things timed in turns; the hooks around it are not timed. */
typedef struct side {
    void (*before)(void);
    loop_fn *loop;
    void (*after)(void);
} side;

/* Medians: ns per item on both sides, and of the rounds' ratios. */
typedef struct comparison { double base, tested, ratio; } comparison;

static unsigned char *arena;                  /* touched memory, and its bytes */
static size_t arena_size;
static prof_trace *trace;                     /* the last session's */

/* ---- Errors, time, medians ---- */

__attribute__((noreturn)) static void fail(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(2);
}

static double ns_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_loop(loop_fn *loop, size_t count) {
    loop_fn *volatile call = loop;
    double start = ns_of(CLOCK_THREAD_CPUTIME_ID);
    call(count);
    return (ns_of(CLOCK_THREAD_CPUTIME_ID) - start) / (double)count;
}

static double time_side(side s, size_t count) {
    if (s.before) s.before();
    double ns = time_loop(s.loop, count);
    if (s.after) s.after();
    return ns;
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static comparison compare(side base, side tested, size_t count, size_t rounds) {
    double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
    for (size_t i = 0; i < rounds; i++) {
        a[i] = time_side(base, count);
        b[i] = time_side(tested, count);
        ratio[i] = b[i] / a[i];
    }
    comparison c = { median(a, rounds), median(b, rounds), median(ratio, rounds) };
    return c;
}

/* ---- The floor, with the clock that the library takes; a record keeps its low half ---- */

INLINE uint32_t os_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint32_t)((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

INLINE uint32_t cpu_clock(void) {
#if defined(__x86_64__) || defined(__i386__)
    uint32_t ticks;
    __asm__ volatile("rdtsc" : "=a"(ticks) : : "edx");
    return ticks;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return (uint32_t)ticks;
#else
    return os_clock();
#endif
}

enum { RING_RECORDS = 4096 };
typedef struct { uint32_t end, duration, depth_site; } ring_record;

static struct {
    struct { uint32_t start, site; } stack[64];
    ring_record records[RING_RECORDS];
    uint32_t top;
    ring_record *cursor;
} ring;

INLINE void floor_zones(size_t count, uint32_t (*now)(void)) {
    for (size_t i = 0; i < count; i++) {
        ring.stack[0].site = 1;
        ring.top = 1;
        ring.stack[0].start = now();
        BARRIER();
        uint32_t end = now();
        ring_record *record = &ring.records[i % RING_RECORDS];
        ring.top = 0;
        record->end = end;
        record->duration = end - ring.stack[0].start;
        record->depth_site = ring.stack[0].site << 8;
        ring.cursor = record;
        BARRIER();
    }
}

TIMED void floor_cpu(size_t count) { floor_zones(count, cpu_clock); }
TIMED void floor_os(size_t count) { floor_zones(count, os_clock); }

static side floor_side = { NULL, floor_cpu, NULL };

/* ---- Zones around nothing, and a nested mix: ten zones on three levels ---- */

TIMED void zones(size_t count) {
    for (size_t i = 0; i < count; i++) {
        PROF_SCOPE("zone");
        BARRIER();
    }
}

TIMED void nested_zones(size_t count) {
    for (size_t i = 0; i < count; i += 10) {
        PROF_SCOPE("step");
        for (int k = 0; k < 2; k++) {
            PROF_SCOPE("layer");
            PROF_BEGIN("matmul");
            BARRIER();
            PROF_END();
            PROF_BEGIN("relu");
            BARRIER();
            PROF_END();
        }
        PROF_SCOPE("optimizer");
        for (int k = 0; k < 2; k++) {
            PROF_SCOPE("update");
            BARRIER();
        }
    }
}

/* ---- Sessions ---- */

static void *touched(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) fail("mmap", "the benchmark needs 1 GiB of memory");
    memset(p, 1, size);
    return p;
}

static void make_arena(size_t size) {
    arena = touched(size);
    arena_size = size;
}

/* 0: in the library's own array. */
static prof_desc in_arena(size_t size) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = size ? arena : NULL;
    desc.memory_size = size;
    return desc;
}

static void open_session(prof_desc desc) {
    prof_result r = prof_start(&desc);
    if (r != PROF_OK) fail("prof_start", prof_strerror(r));
}

static void start_default(void) { open_session(in_arena(0)); }

/* Leaves nothing of this thread in the arena. A figure over zones that were dropped would be worth
   nothing. */
static void close_session(void) {
    trace = prof_stop();
    prof_thread_end();
    if (!trace || prof_get_stats(NULL).dropped) fail("prof_stop", "zones were dropped");
}

static uint64_t counted(void) {
    prof_average averages[16];
    uint64_t total = 0;
    size_t names = prof_key_averages(trace, NULL, averages, 16);
    for (size_t i = 0; i < names && i < 16; i++)
        total += averages[i].count;
    return total;
}

/* ---- What the old header is measured by, too: each figure by a process of its own ---- */

static double floor_ns;

static void choose_clock(void) {
    start_default();
    close_session();
    if (prof_get_stats(NULL).clock != PROF_CLOCK_CPU) floor_side.loop = floor_os;
    floor_ns = compare(floor_side, floor_side, ZONES / 10, ROUNDS).base;
}

/* A zone of a session by the floor. */
static double to_floor(void (*start)(void), loop_fn *loop, size_t rounds) {
    side tested = { start, loop, close_session };
    return compare(floor_side, tested, ZONES, rounds).ratio;
}

static double zone_ratio(void) { return to_floor(start_default, zones, ROUNDS); }

static void start_aggregate(void) {
    prof_desc desc = in_arena(0);
    desc.mode = PROF_MODE_AGGREGATE;
    open_session(desc);
}

static double aggregate_ratio(void) { return to_floor(start_aggregate, zones, SOME_ROUNDS); }

/* A session whose timeline has ended: its arena is full. */
static void start_summed(void) {
    if (!arena) make_arena(MIB);
    open_session(in_arena(MIB));
    zones(2 * MIB / 12);
}

static double summed_ratio(void) {
    double ratio = to_floor(start_summed, zones, SOME_ROUNDS);
    if (prof_get_stats(NULL).summed < ZONES) fail("zone.summed_ratio", "the arena was not full");
    return ratio;
}

static char push_names[PUSH_NAMES][16];

static void start_pushes(void) {
    for (int i = 0; i < PUSH_NAMES; i++)
        snprintf(push_names[i], sizeof push_names[i], "layer.%02d.fwd", i);
    start_default();
}

TIMED void pushes(size_t count) {
    for (size_t i = 0; i < count; i++) {
        prof_push(push_names[i % PUSH_NAMES]);
        BARRIER();
        prof_pop();
    }
}

static double push_ratio(void) { return to_floor(start_pushes, pushes, SOME_ROUNDS); }

/* ---- What is counted in instructions, for the old header, too: bench --count NAME ---- */

static size_t written;                        /* bytes that went nowhere */

static bool null_write(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    written += size;
    return true;
}
static const prof_sink null_sink = { null_write, NULL };

TIMED void write_chrome(size_t count) {
    written = 0;
    if (prof_write_chrome(trace, NULL, null_sink) != PROF_OK || written < count)
        fail("prof_write_chrome", "failed");
}

TIMED void write_stacks(size_t count) {
    (void)count;
    if (prof_write_stacks(trace, PROF_METRIC_NONE, null_sink) != PROF_OK)
        fail("prof_write_stacks", "failed");
}

static void start_ring(void) {
    make_arena(MIB);
    prof_desc desc = in_arena(MIB);
    desc.mode = PROF_MODE_RING;
    open_session(desc);
}

static void open_stream(prof_sink sink) {
    prof_desc desc = in_arena(0);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = sink;
    desc.max_threads = 2;
    open_session(desc);
}

static void start_null_stream(void) { open_stream(null_sink); }

static void stop_ring(void) {
    trace = prof_stop();
    prof_thread_end();
}

/* The analysis: of zones of one thread, a while after the start: times have the digits that most
   traces have. */
static void record(size_t count, bool events) {
    const struct timespec rest = { 0, 150000000 };
    prof_desc desc;
    if (!arena) make_arena(count * 120 + MIB);
    desc = in_arena(arena_size);
    if (events) desc.KEEP_EVENTS;
    open_session(desc);
    nanosleep(&rest, NULL);
    nested_zones(count);
    close_session();
}

TIMED void average_records(size_t count) {
    if (counted() != count) fail("prof_key_averages", "zones are missing");
}

TIMED void build_tree(size_t count) {
    size_t found;
    if (!prof_events(trace, NULL, 0, &found) || found != count)
        fail("prof_events", "zones are missing");
}

static void make_records(void) { record(COUNTED_EVENTS, false); }
static void make_room(void) { record(COUNTED_EVENTS, true); }   /* for events */

static void make_events(void) {
    make_room();
    build_tree(COUNTED_EVENTS);
}

static void make_chrome(void) {
    make_records();
    write_chrome(0);
}

/* prof_cuda.h: launches of the tests' stand-in for CUPTI and the driver. */
TIMED void launches(size_t count) {
    for (uint32_t i = 0; i < count; i++)
        fake_launch("_Z6vecAddPfS_S_i", i & 3, 1);
}

static void start_launches(void) {
    prof_cuda_desc desc;
    memset(&desc, 0, sizeof desc);
    fake_reset();
    desc.symbol = fake_symbol;
    desc.memory_size = prof_cuda_memory_size(&desc, LAUNCHES);
    desc.memory = touched(desc.memory_size);
    if (prof_cuda_init(&desc) != PROF_OK) fail("prof_cuda_init", "failed");
    start_default();
}

static void stop_launches(void) {
    prof_stop();
    if (prof_cuda_status() || prof_cuda_get_stats().lost) fail("cuda", "records were lost");
    prof_cuda_shutdown();
}

static const struct piece { const char *name; size_t count; side side; } pieces[] = {
    { "zone", COUNTED_ZONES, { start_default, zones, close_session } },
    { "nested", COUNTED_ZONES, { start_default, nested_zones, close_session } },
    { "off", COUNTED_ZONES, { NULL, zones, NULL } },
    { "ring", COUNTED_ZONES, { start_ring, zones, stop_ring } },
    { "summed", COUNTED_ZONES, { start_summed, zones, close_session } },
    { "aggregate", COUNTED_ZONES, { start_aggregate, zones, close_session } },
    { "stream", STREAMED_ZONES, { start_null_stream, zones, close_session } },
    { "push", COUNTED_ZONES, { start_pushes, pushes, close_session } },
    { "chrome", COUNTED_EVENTS, { make_events, write_chrome, NULL } },
    { "stacks", COUNTED_EVENTS, { make_records, write_stacks, NULL } },
    { "stacks_event", COUNTED_EVENTS, { make_events, write_stacks, NULL } },
    { "stacks_after_chrome", COUNTED_EVENTS, { make_chrome, write_stacks, NULL } },
    { "averages", COUNTED_EVENTS, { make_records, average_records, NULL } },
    { "tree", COUNTED_EVENTS, { make_room, build_tree, NULL } },
    { "launch", LAUNCHES, { start_launches, launches, stop_launches } }
};

/* What callgrind counts is what this calls. */
__attribute__((noinline)) static void under_callgrind(loop_fn *loop, size_t count) {
    loop(count);
    BARRIER();
}

/* Prints how many items it ran. */
static bool counted_piece(const char *name) {
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (!strcmp(name, pieces[i].name)) {
            side s = pieces[i].side;
            if (s.before) s.before();
            under_callgrind(s.loop, pieces[i].count);
            if (s.after) s.after();
            return true;
        }
    return false;
}

/* ---- With threads beside the one that is timed; the analysis of more than a cache holds ---- */

/* What they do, they do until the timed one is done. */
static pthread_t threads[MAX_THREADS];
static size_t thread_count;
static bool busy;

static void start_threads(size_t count, void *(*act)(void *)) {
    __atomic_store_n(&busy, true, __ATOMIC_RELAXED);
    for (thread_count = 0; thread_count < count; thread_count++)
        if (pthread_create(&threads[thread_count], NULL, act, NULL))
            fail("pthread_create", "cannot start a thread");
}

static void close_with_threads(void) {
    __atomic_store_n(&busy, false, __ATOMIC_RELAXED);
    for (size_t i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    close_session();
}

static bool is_busy(void) { return __atomic_load_n(&busy, __ATOMIC_RELAXED); }

static void *record_on(void *unused) {
    (void)unused;
    while (is_busy())
        zones(1000);
    return NULL;
}

static size_t core_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (size_t)cores;
}

static void start_alone(void) { open_session(in_arena(arena_size)); }

static void start_on_all_cores(void) {
    start_alone();
    start_threads(core_count() - 1, record_on);
}

/* Where two cores are halves of one, the old header's zones take longer, too. */
static double threads_ratio(void) {
    side alone = { start_alone, zones, close_session };
    side among = { start_on_all_cores, zones, close_with_threads };
    return compare(alone, among, ZONES, SOME_ROUNDS).ratio;
}

static prof_event *plain_events;              /* what the tree is compared with */

TIMED void write_events(size_t count) {
    for (size_t i = 0; i < count; i++) {
        prof_event *e = &plain_events[i];
        memset(e, 0, sizeof *e);
        e->name = "zone";
        e->start_ns = (int64_t)i;
        e->end_ns = (int64_t)(i + count);
        e->parent = (uint32_t)i;
    }
}

static void record_tree(void) { record(TREE_ZONES, true); }

static double tree_ratio(void) {
    side base = { NULL, write_events, NULL }, tree = { record_tree, build_tree, NULL };
    plain_events = touched(TREE_ZONES * sizeof *plain_events);
    return compare(base, tree, TREE_ZONES, 1).ratio;
}

static const struct part { const char *figure; double (*measure)(void); } parts[] = {
    { "zone.ratio", zone_ratio },
    { "zone.aggregate_ratio", aggregate_ratio },
    { "zone.summed_ratio", summed_ratio },
    { "push.ratio", push_ratio },
    { "zone.threads_ratio", threads_ratio },
    { "tree.floor_ratio", tree_ratio }
};

/* Prints the figure of that name. */
static bool measured_part(const char *figure) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(figure, parts[i].figure)) {
            choose_clock();
            printf("%f\n", parts[i].measure());
            return true;
        }
    return false;
}

static bool did_as_told(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--count")) return counted_piece(argv[2]);
    return argc == 2 && measured_part(argv[1]);
}

#ifdef BENCH_OLD
int main(int argc, char **argv) { return !did_as_told(argc, argv); }
#else

/* ---- The figures ---- */

#define SELF "build/bench"
#define OLD_FOLDER "build/bench_old/build/"
#define OLD OLD_FOLDER "bench"
#define OLD_HEADER "build/bench_old/prof.h"
#define TRACE "build/bench.trace.json"
#define RAW "build/bench.raw"
#define CALLGRIND "build/bench.callgrind"
#define REAL "../shared/traces/nccl_h100.json.gz"

enum {
    FULL_SIZE = 64 << 20,
    COUNTED_BYTES = 1000000, PEAK_BYTES = 200000000,   /* of a trace */
    COUNTED_RAW = 50000, PEAK_RAW = 100000000,         /* zones of a raw stream */
    COMPILE_ROUNDS = 3
};

/* The limits: '<' at most, '>' at least; beyond its limit a figure is a MISS, and bench fails (0:
   it has none). goal: what the change named later is to reach; until then it is a MISS that fails
   nothing. share: of the old one's figure in the same run, and more on top: the looser of the two
   limits counts. COUNT: instructions, by gcc 12: the old one's, limit and goal. Their ratio to the
   old one's is the limit, and where CI is set they themselves; else with 5 % more, which clang's
   code needs. What depends on the machine's times or libraries has 2 or 3 % of room. */
#define COUNT(name, old, limit, goal, later, what) \
    { "instructions." name, '<', limit, goal, old, 0, 0, later, what, 0, 0, 0 }
static struct figure {
    const char *name;
    char sense;
    double limit, goal, old, share, more;
    const char *later, *what;
    bool measured, met;
    double best;                         /* of its measurements */
} figures[] = {
    COUNT("zone", 41.1, 44.9, 0, 0, "of PROF_SCOPE around nothing"),
    COUNT("nested", 46.4, 50.4, 0, 0, "of a zone, ten on three levels"),
    COUNT("off", 9, 9.1, 0, 0, "of a zone while nothing records"),
    COUNT("ring", 50.3, 47.7, 0, 0, "of a zone in PROF_MODE_RING"),
    COUNT("summed", 69.4, 60, 0, 0, "of a zone once the arena is full"),
    COUNT("aggregate", 54.9, 59, 0, 0, "of a zone in PROF_MODE_AGGREGATE"),
    COUNT("stream", 38.5, 43.9, 0, 0, "of a zone in PROF_MODE_STREAM"),
    COUNT("push", 178.5, 178, 0, 0, "of prof_push and prof_pop, 16 names"),
    COUNT("hook_ring", 241.5, 99.5, 0, 0, "of a function's two hooks, ring"),
    COUNT("hook_aggregate", 301.7, 135, 0, 0, "of the same, aggregate"),
    COUNT("averages", 167.6, 172, 0, 0, "of a record to key averages"),
    COUNT("tree", 207.2, 199, 0, 0, "of a record to its event"),
    COUNT("chrome", 170.2, 287, 0, 0, "of an event to Chrome JSON"),
    COUNT("stacks", 439.3, 371, 0, 0, "of a record to folded stacks"),
    COUNT("stacks_event", 503.7, 442, 0, 0, "of an event to folded stacks"),
    COUNT("stacks_after_chrome", 439.3, 442, 0, 0, "of a record once events were written"),
    COUNT("launch", 1119, 1210, 0, 0, "of a launch and the tests' stand-in for CUPTI"),
    COUNT("json", 13.6, 24.5, 16.7, "The command", "of prof report, a byte of bench's trace"),
    COUNT("json_real", 15.7, 22.8, 16.5, "The command", "of prof report, a byte of a real trace"),
    COUNT("raw", 687, 1350, 780, "The command", "of prof report, a raw zone"),
    { "zone.ratio", '<', 1.08, 0, 0, 1, 0.02, 0, "PROF_SCOPE around nothing / floor", 0, 0, 0 },
    { "zone.aggregate_ratio", '<', 1.15, 0, 0, 1.1, 0, 0,
      "a zone in PROF_MODE_AGGREGATE / floor", 0, 0, 0 },
    { "zone.summed_ratio", '<', 1.3, 0, 0, 1.1, 0, 0,
      "a zone once the arena is full / floor", 0, 0, 0 },
    { "push.ratio", '<', 1.8, 0, 0, 1.4, 0, 0,
      "prof_push and prof_pop, 16 names / floor", 0, 0, 0 },
    { "stream.ratio", '<', 1.3, 0, 0, 0, 0, 0,
      "a zone while 50 M of them are streamed raw / floor", 0, 0, 0 },
    { "zone.threads_ratio", '<', 1.10, 0, 0, 1.1, 0, 0,
      "a zone: a thread on each core / one thread", 0, 0, 0 },
    { "tree.floor_ratio", '<', 6, 0, 0, 1.3, 0, 0,
      "records to events / writing the event array once", 0, 0, 0 },
    { "zone.bytes", '<', 12.5, 0, 0, 0, 0, 0, "arena bytes a recorded zone takes", 0, 0, 0 },
    { "zone.all_in_bytes", '<', 13, 0, 0, 0, 0, 0,
      "arena bytes a zone takes in all, of a full arena", 0, 0, 0 },
    { "event.bytes", '<', 96, 0, 0, 0, 0, 0, "the same with PROF_KEEP_EVENTS", 0, 0, 0 },
    { "ring.share", '>', 0.9, 0, 0, 0, 0, 0, "of the arena that one thread's ring holds", 0, 0, 0 },
    { "read.peak_mb", '<', 60, 45, 0, 0, 0, "The command",
      "memory of prof report of a trace of 200 MB", 0, 0, 0 },
    { "raw.peak_mb", '<', 32, 0, 0, 0, 0, 0, "the same of 100 M plain zones, raw", 0, 0, 0 },
    { "compile.gcc_ratio", '<', 0.7, 0.6, 0, 0, 0, "House",
      "the header at -O2 / the old's", 0, 0, 0 },
    { "compile.clang_ratio", '<', 0.8, 0.7, 0, 0, 0, "House",
      "the header at -O2 / the old's", 0, 0, 0 },
    { "header.lines", '<', 0, 20000, 0, 0, 0, "House", "of prof.h", 0, 0, 0 },
    { "header.bytes", '<', 0, 905000, 0, 0, 0, "House", "of prof.h", 0, 0, 0 }
};

static struct figure *find(const char *name) {
    struct figure *f = figures;
    while (strcmp(f->name, name))
        f++;
    return f;
}

static bool within(const struct figure *f, double value, double limit) {
    return limit == 0 || (f->sense == '<' ? value <= limit : value >= limit);
}

/* What a limit or goal is beside the old one's figure in the same run; 0: there is none. */
static double beside(const struct figure *f, double limit, double old) {
    bool ci = getenv("CI") != NULL;
    double share = f->old > 0 ? limit / f->old * old * (ci ? 1 : 1.05) : f->share * old + f->more;
    if (limit == 0 || old == 0) return limit;
    if (f->old > 0) return ci && limit < share ? limit : share;
    return within(f, share, limit) ? limit : share;
}

/* old: the old one's; 0: it was not measured. */
static void report(const char *name, double value, double old) {
    struct figure *f = find(name);
    double limit = beside(f, f->limit, old), goal = beside(f, f->goal, old);
    bool held = within(f, value, limit), met = held && within(f, value, goal);
    printf("%-32s %10.4g", name, value);
    if (old > 0) printf("  old %8.4g  x %-5.3g", old, value / old);
    else printf("%23s", "");
    printf("  %c= %-8.4g %-4s %s", f->sense, held && goal > 0 ? goal : limit, met ? "ok" : "MISS",
           f->what);
    printf(met || !held ? "\n" : " (waits for: %s)\n", f->later);
    fflush(stdout);
    if (!f->measured || (f->sense == '<' ? value < f->best : value > f->best)) f->best = value;
    f->measured = true;
    f->met |= held;
}

static size_t missed(void) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        count += figures[i].measured && !figures[i].met;
    return count;
}

/* What else the machine does can spoil a figure but never better it: one that misses its limit is
   measured again, twice at most. */
static void measure(void (*figure)(void)) {
    size_t before = missed();
    figure();
    for (int again = 0; again < 2 && missed() > before; again++) {
        puts("measured again:");
        figure();
    }
}

static void write_json(FILE *json, const char *cpu) {
    fprintf(json, "{\n  \"cpu\": \"%s\",\n  \"floor_ns\": %.4f", cpu, floor_ns);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (figures[i].measured)
            fprintf(json, ",\n  \"%s\": %.4f", figures[i].name, figures[i].best);
    fputs("\n}\n", json);
}

/* ---- Other programs ---- */

static bool has_old(void) { return access(OLD, X_OK) == 0; }

typedef struct cost { double seconds, peak_mb; } cost;

/* What a command of the shell costs; a failure of it ends all. The peak is at least what this
   program has when it forks, which the system counts, too. */
static cost run(const char *command) {
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status) fail(command, "failed");
    cost c = { (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
               (double)usage.ru_maxrss * 1024 / 1e6 };
    return c;
}

/* The number that a command prints. */
static double number_of(const char *command) {
    double number;
    FILE *pipe = popen(command, "r");
    if (!pipe || fscanf(pipe, "%lf", &number) != 1 || pclose(pipe)) fail(command, "failed");
    return number;
}

/* Measures both in turns. */
static void report_beside(const char *name, double (*measure_side)(bool old), size_t rounds) {
    double number[2][FEW_ROUNDS];
    size_t sides = has_old() ? 2 : 1;
    for (size_t i = 0; i < sides * rounds; i++)
        number[i % sides][i / sides] = measure_side(i % sides);
    report(name, median(number[0], rounds), sides == 2 ? median(number[1], rounds) : 0);
}

static const struct part *part;               /* of main's loop */

static double part_of(bool old) {
    char command[64];
    snprintf(command, sizeof command, "%s %s", old ? OLD : SELF, part->figure);
    return number_of(command);
}

static void figure_part(void) { report_beside(part->figure, part_of, FEW_ROUNDS); }

/* ---- Streaming ---- */

/* Rests as prof.h advises: one that does not reads a thread's cursor after each zone, and the
   figure tells how far it got, not what streaming costs. */
static void *flush_often(void *unused) {
    const struct timespec rest = { 0, 1000000 };
    (void)unused;
    while (is_busy()) {
        if (prof_flush() != PROF_OK) fail("prof_flush", "the null sink failed");
        nanosleep(&rest, NULL);
    }
    return NULL;
}

static void start_stream(void) {
    open_stream(null_sink);
    start_threads(1, flush_often);
}

/* A round takes the stream's memory several times over. The old header's zones do not all fit. */
static void figure_stream(void) {
    side stream = { start_stream, zones, close_with_threads };
    report("stream.ratio", compare(floor_side, stream, 20 * ZONES, FEW_ROUNDS).ratio, 0);
}

/* ---- Bytes ---- */

/* Arena bytes, in cache lines, that a session of this many zones has written. */
static size_t bytes_written(size_t count) {
    unsigned char same[64];
    size_t lines = 0;
    memset(same, 0xA5, sizeof same);
    memset(arena, 0xA5, FULL_SIZE);
    open_session(in_arena(FULL_SIZE));
    nested_zones(count);
    close_session();
    for (size_t i = 0; i < FULL_SIZE; i += sizeof same)
        lines += memcmp(arena + i, same, sizeof same) != 0;
    return lines * sizeof same;
}

/* Fills an arena, and checks that all of what it took can be reported. */
static double bytes_in_all(bool events) {
    size_t count;
    prof_desc desc = in_arena(FULL_SIZE);
    desc.when_full = PROF_FULL_DROP;
    desc.keep = events ? PROF_KEEP_EVENTS : PROF_KEEP_ROWS;
    open_session(desc);
    nested_zones(FULL_SIZE / 6);
    trace = prof_stop();
    prof_thread_end();
    prof_stats stats = prof_get_stats(NULL);
    if (!stats.dropped_full || counted() != stats.recorded)
        fail("bytes", "zones are missing in the averages");
    if (prof_write_table(trace, NULL, null_sink) != PROF_OK)
        fail("bytes", "a full arena has no table");
    write_chrome(0);
    write_stacks(0);
    if (events && (!prof_events(trace, NULL, 0, &count) || count != stats.recorded))
        fail("bytes", "events are missing");
    return (double)FULL_SIZE / (double)stats.recorded;
}

static double ring_share(void) {
    prof_desc desc = in_arena(FULL_SIZE);
    desc.mode = PROF_MODE_RING;
    open_session(desc);
    nested_zones(FULL_SIZE / 6);
    close_session();
    return (double)counted() * 12 / FULL_SIZE;
}

/* Of zone.bytes what twice the zones write more: the fixed part falls out. */
static void figure_bytes(void) {
    double once = (double)bytes_written(2 * MIB), half = (double)bytes_written(MIB);
    if (once <= half) fail("zone.bytes", "the records were not seen in the arena");
    report("zone.bytes", (once - half) / (double)MIB, 0);
    report("zone.all_in_bytes", bytes_in_all(false), 0);
    report("event.bytes", bytes_in_all(true), 0);
    report("ring.share", ring_share(), 0);
}

/* ---- The command: a trace as Kineto writes it, and raw zones ---- */

static unsigned random_state;

static unsigned next_random(void) {
    return (random_state = random_state * 1664525u + 1013904223u) >> 8;
}

/* An op, its launch, its kernel, the flow between them, as Kineto writes them. */
static void write_step(FILE *file, unsigned i, unsigned us) {
    unsigned name = next_random() % 200;
    fprintf(file,
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op_%u\",\"pid\":4242,\"tid\":4242,"
        "\"ts\":%u.250,\"dur\":5.%03u,\"args\":{\"External id\":%u,"
        "\"Concrete Inputs\":[\"\",\"\",\"\"],\"Input type\":[\"float\",\"float\",\"Scalar\"],"
        "\"Input Strides\":[[2,1],[3,1],[]],\"Input Dims\":[[4,%u],[%u,3],[]],"
        "\"Sequence number\":%u,\"Fwd thread id\":0,\"Record function id\":0,\"Ev Idx\":%u}},\n",
        name, us, next_random() % 1000, i, name, name, i, i);
    fprintf(file,
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4242,"
        "\"tid\":4242,\"ts\":%u.250,\"dur\":2.007,\"args\":{\"External id\":%u,\"cbid\":211,"
        "\"correlation\":%u}},\n"
        "{\"ph\":\"s\",\"id\":%u,\"pid\":4242,\"tid\":4242,\"ts\":%u.250,\"cat\":\"ac2g\","
        "\"name\":\"ac2g\"},\n", us + 1, i, i, i, us + 1);
    fprintf(file,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void kernel_%u<float, 4>(float*, int)\","
        "\"pid\":0,\"tid\":7,\"ts\":%u.750,\"dur\":4.%03u,\"args\":{\"External id\":%u,"
        "\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":%u,"
        "\"registers per thread\":32,\"shared memory\":0,\"blocks per SM\":0.0075,"
        "\"warps per SM\":0.0606,\"grid\":[1,1,1],\"block\":[256,1,1],"
        "\"est. achieved occupancy %%\":0,\"graph id\":0,\"graph node id\":0,\"priority\":0}},\n"
        "{\"ph\":\"f\",\"id\":%u,\"pid\":0,\"tid\":7,\"ts\":%u.750,\"cat\":\"ac2g\","
        "\"name\":\"ac2g\",\"bp\":\"e\"},\n",
        name, us + 2, next_random() % 1000, i, i, i, us + 2);
}

static void write_trace(size_t bytes) {
    FILE *file = fopen(TRACE, "w");
    unsigned us = 1000;
    random_state = 1;
    if (!file) fail(TRACE, "cannot be written");
    fputs("{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100\"}],"
          "\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":[\n", file);
    for (unsigned i = 1; (size_t)ftell(file) < bytes; i++) {
        write_step(file, i, us);
        us += 7 + next_random() % 10;
    }
    fprintf(file, "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\","
                  "\"tid\":\"\",\"ts\":%u}],\"traceName\":\"x\"}\n", us);
    if (fclose(file)) fail(TRACE, "cannot be written");
}

static bool write_all(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, stdout) == size;
}

/* --raw: the zones, to stdout. */
static int write_raw(const char *zone_count) {
    prof_sink sink = { write_all, NULL };
    open_stream(sink);
    nested_zones((size_t)atol(zone_count));
    close_session();
    return fflush(stdout) != 0;
}

static void write_raw_file(size_t zone_count) {
    char command[64];
    snprintf(command, sizeof command, SELF " --raw %zu >" RAW, zone_count);
    run(command);
}

/* Memory is one process's, of today's command. */
static void figure_peaks(void) {
    write_trace(PEAK_BYTES);
    report("read.peak_mb", run("exec build/prof report " TRACE " >/dev/null").peak_mb, 0);
    write_raw_file(PEAK_RAW);
    report("raw.peak_mb", run("exec build/prof report " RAW " >/dev/null").peak_mb, 0);
    remove(TRACE);
    remove(RAW);
}

/* ---- Instructions ---- */

/* Of a program in all its threads, or as callgrind's options say. */
static double instructions(const char *options, const char *program) {
    char command[400];
    snprintf(command, sizeof command,
             "valgrind --tool=callgrind --callgrind-out-file=" CALLGRIND " %s %s >/dev/null 2>"
             CALLGRIND ".log && sed -n 's/^totals: //p' " CALLGRIND, options, program);
    double number = number_of(command);
    remove(CALLGRIND);
    remove(CALLGRIND ".log");
    return number;
}

/* The same program's, of both headers. */
typedef struct counts { double today, old; } counts;

static counts counts_of(const char *options, const char *program, const char *arguments) {
    char today[96], old[96];
    snprintf(today, sizeof today, "build/%s %s", program, arguments);
    snprintf(old, sizeof old, OLD_FOLDER "%s %s", program, arguments);
    counts c = { instructions(options, today), has_old() ? instructions(options, old) : 0 };
    return c;
}

/* What the second has more than the first, for each of so many items. */
static void report_counts(const char *name, counts first, counts second, double items) {
    report(name, (second.today - first.today) / items, (second.old - first.old) / items);
}

static const counts nothing = { 0, 0 };

static void count_loop(const char *name, const char *program, const char *arguments, size_t items) {
    counts c = counts_of("--toggle-collect='under_callgrind*'", program, arguments);
    report_counts(name, nothing, c, (double)items);
}

static void count_loops(void) {
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char name[40], arguments[40];
        snprintf(name, sizeof name, "instructions.%s", pieces[i].name);
        snprintf(arguments, sizeof arguments, "--count %s", pieces[i].name);
        count_loop(name, "bench", arguments, pieces[i].count);
    }
    count_loop("instructions.hook_ring", "bench_functions", "ring 90000", 90000);
    count_loop("instructions.hook_aggregate", "bench_functions", "aggregate 90000", 90000);
}

static counts count_report(const char *file) { return counts_of("", "prof report", file); }

/* Of an input, and of one of twice the size: the fixed part falls out. */
static void count_reports(void) {
    write_trace(COUNTED_BYTES);
    counts half = count_report(TRACE);
    write_trace(2 * COUNTED_BYTES);
    report_counts("instructions.json", half, count_report(TRACE), COUNTED_BYTES);
    write_raw_file(COUNTED_RAW);
    half = count_report(RAW);
    write_raw_file(2 * COUNTED_RAW);
    report_counts("instructions.raw", half, count_report(RAW), COUNTED_RAW);
    remove(RAW);
    if (system("gzip -dc " REAL " >" TRACE " 2>/dev/null"))
        puts(REAL " is not here: instructions.json_real is left out");
    else
        report_counts("instructions.json_real", nothing, count_report(TRACE),
                      number_of("wc -c <" TRACE));
    remove(TRACE);
}

static void count_all(void) {
    if (system("command -v valgrind >/dev/null")) {
        puts("valgrind is not installed: instructions.* is left out");
        return;
    }
    count_loops();
    count_reports();
}

/* ---- The compilers ---- */

static double compile_seconds(const char *compiler, const char *header) {
    char command[128];
    snprintf(command, sizeof command, "%s -std=c99 -O2 -DPROF_IMPLEMENTATION -x c -c %s -o %s.o",
             compiler, header, SELF);
    return run(command).seconds;
}

static void figure_compiler(const char *compiler) {
    double seconds[COMPILE_ROUNDS], ratio[COMPILE_ROUNDS];
    char name[32];
    for (size_t i = 0; i < COMPILE_ROUNDS; i++) {
        seconds[i] = compile_seconds(compiler, "prof.h");
        ratio[i] = seconds[i] / compile_seconds(compiler, OLD_HEADER);
    }
    printf("%s -O2 takes %.1f s\n", compiler, median(seconds, COMPILE_ROUNDS));
    remove(SELF ".o");
    snprintf(name, sizeof name, "compile.%s_ratio", compiler);
    report(name, median(ratio, COMPILE_ROUNDS), 0);
}

static void compile_all(void) {
    report("header.lines", number_of("wc -l <prof.h"), 0);
    report("header.bytes", number_of("wc -c <prof.h"), 0);
    if (has_old()) figure_compiler("gcc");
    if (has_old() && !system("command -v clang >/dev/null")) figure_compiler("clang");
}

/* ---- The machine, and main ---- */

static void measure_all(void) {
    make_arena(FULL_SIZE);
    measure(figure_stream);
    measure(figure_bytes);
    munmap(arena, arena_size);
    for (part = parts; part < parts + sizeof parts / sizeof *parts; part++)
        measure(figure_part);
    figure_peaks();
}

int main(int argc, char **argv) {
    if (did_as_told(argc, argv)) return 0;
    if (argc == 3 && !strcmp(argv[1], "--raw")) return write_raw(argv[2]);
    const char *option = argc == 4 ? argv[1] : "";
    bool compile = !strcmp(option, "--compile"), count = !strcmp(option, "--instructions");
    if (argc != 3 && !compile && !count)
        fail("usage", "bench [--instructions | --compile] FILE CPU");
    const char *path = argv[argc - 2], *cpu = argv[argc - 1];
    FILE *json = fopen(path, "w");
    if (!json) fail(path, "cannot be written");
    choose_clock();
    printf("prof %s on %s, %zu cores, compiled by %s; floor %.1f ns\n", PROF_VERSION, cpu,
           core_count(), __VERSION__, floor_ns);
    if (!has_old())
        puts("git has no old commit here: compile.* is left out, limits are those of gcc 12");
    if (compile)
        compile_all();
    else
        count_all();
    if (!option[0]) measure_all();
    write_json(json, cpu);
    if (fclose(json)) fail(path, "cannot be written");
    return missed() > 0;
}
#endif
