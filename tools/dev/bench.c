/* What prof.h costs on this machine: bench [--check] [FILE]

   Prints one line per figure and writes them as a JSON object of numbers to FILE. A figure that
   misses its limit says MISS; with --check the exit status is then 1.

   Times are CPU time of the measuring thread. What is compared is timed in turns, A B A B ..., and
   each figure is the median over the rounds; a ratio is the median of the rounds' ratios, so that
   a round slowed by a neighbour slows both sides.

   The floor of a zone is what no profiler of this kind can leave out: two clock reads, one frame
   on a shadow stack, one 12-byte record and its cursor, into a ring that stays in the cache. */
#define _GNU_SOURCE
#define PROF_IMPLEMENTATION
#include "prof.h"
#include "bench_work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

enum {
    ZONE_ROUNDS = 101, ZONES = 500000,        /* 6 MB of records a round: past the cache */
    WORK_ROUNDS = 51, WORK_ZONES = 200000, WORK_NS = 100,
    OFF_ZONES = 2000000,
    PUSH_ROUNDS = 25, PUSH_NAMES = 16,
    STEPPED = 32,
    PUSH_WORK_ROUNDS = 101, PUSH_WORK_ZONES = 50000,   /* their records stay in the cache */
    DETAILS = 200000, DETAIL_ROUNDS = 25,
    READY_ROUNDS = 9, READY_ZONES = 100000, STEPS = 20,
    THREAD_ROUNDS = 25, MAX_THREADS = 256,
    TREE_ROUNDS = 5, TREE_ZONES = 10000000,
    REPORT_ROUNDS = 5, FILE_ROUNDS = 3,
    STREAM_ZONES = 100000000,
    OUTSIDE_ROUNDS = 5, OUTSIDE_EVENTS = 1000000, OUTSIDE_DEEP = 10000,
    MAX_ROUNDS = 101,
    MAX_ROWS = 64,
    RING_RECORDS = 4096,
    LINE = 64,                                /* bytes in a cache line */
    PATTERN = 0xA5
};

/* Room for TREE_ZONES at 96 bytes, and for the fixed part of the arena. */
#define ARENA_SIZE ((size_t)TREE_ZONES * 96 + 64 * MIB)
#define FULL_SIZE (64 * MIB)

/* The loops that are timed: never inlined, and called through a pointer the compiler cannot see
   through, since it takes what is called once for cold. */
#define TIMED __attribute__((noinline, aligned(64))) static
#define INLINE __attribute__((always_inline)) static inline
#define BARRIER() __asm__ volatile("" ::: "memory")
#define PIN(x) __asm__ volatile("" : "+r"(x) : : "memory")

typedef void loop_fn(size_t count);

/* One of two things timed in turns; the hooks around it are not timed. */
typedef struct side {
    void (*before)(void);
    loop_fn *loop;
    void (*after)(void);
} side;

/* Medians: ns per item on both sides, and of the rounds' ratios and differences. */
typedef struct comparison {
    double base, tested, ratio, extra;
} comparison;

static unsigned char *arena;                  /* ARENA_SIZE bytes, touched */
static prof_trace *trace;                     /* the last session's */
static volatile uint64_t result;              /* keeps what loops compute alive */

/* ---- Errors, time, medians ---- */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(2);
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_loop(loop_fn *loop, size_t count)
{
    loop_fn *volatile call = loop;
    double start = cpu_ns();
    call(count);
    return cpu_ns() - start;
}

static double time_side(side s, size_t count)
{
    if (s.before)
        s.before();
    double ns = time_loop(s.loop, count);
    if (s.after)
        s.after();
    return ns / (double)count;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static comparison compare(side base, side tested, size_t count, size_t rounds)
{
    double a[MAX_ROUNDS], b[MAX_ROUNDS], ratio[MAX_ROUNDS], extra[MAX_ROUNDS];
    for (size_t i = 0; i < rounds; i++) {
        a[i] = time_side(base, count);
        b[i] = time_side(tested, count);
        ratio[i] = b[i] / a[i];
        extra[i] = b[i] - a[i];
    }
    comparison c = { median(a, rounds), median(b, rounds),
                     median(ratio, rounds), median(extra, rounds) };
    return c;
}

/* ---- The report: rows on stdout, then the JSON file ---- */

typedef enum limit_kind { NO_LIMIT, AT_MOST, AT_LEAST } limit_kind;

static struct { const char *key; double value; } rows[MAX_ROWS];
static size_t row_count;
static bool missed;

static void report(const char *key, double value, limit_kind kind, double limit, const char *what)
{
    char bound[32] = "";
    const char *verdict = "";
    if (kind != NO_LIMIT) {
        bool ok = kind == AT_MOST ? value <= limit : value >= limit;
        snprintf(bound, sizeof bound, "%s %.2f", kind == AT_MOST ? "<=" : ">=", limit);
        verdict = ok ? "ok" : "MISS";
        missed |= !ok;
    }
    printf("%-20s %10.3f  %-9s %-5s %s\n", key, value, bound, verdict, what);
    fflush(stdout);
    rows[row_count].key = key;
    rows[row_count++].value = value;
}

static void write_json(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fail(path, strerror(errno));
    for (size_t i = 0; i < row_count; i++)
        fprintf(file, "%s\n  \"%s\": %.4f", i ? "," : "{", rows[i].key, rows[i].value);
    fputs("\n}\n", file);
    bool failed = ferror(file) != 0;
    if (fclose(file) || failed)
        fail(path, "cannot be written");
}

/* ---- Memory and sessions ---- */

static void *touched(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        fail("mmap", "the benchmark needs 4 GiB of memory");
    memset(p, 1, size);
    return p;
}

static void open_with(size_t memory_size, prof_full when_full, bool lean)
{
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory_size ? arena : NULL;
    desc.memory_size = memory_size;
    desc.when_full = when_full;
    desc.events = !lean;
    prof_result r = prof_start(&desc);
    if (r != PROF_OK)
        fail("prof_start", prof_strerror(r));
}
static void open_session(size_t memory_size) { open_with(memory_size, PROF_FULL_SUMS, false); }

/* Leaves nothing of this thread in the arena. A figure over zones that were dropped would be worth
   nothing. */
static void check_session(void)
{
    prof_thread_end();
    prof_stats stats = prof_get_stats();
    if (!trace || stats.dropped)
        fail("prof_stop", "zones were dropped");
}

static void close_session(void)
{
    trace = prof_stop();
    check_session();
}

static void start_default(void) { open_session(0); }
static void start_arena(void) { open_session(ARENA_SIZE); }

/* ---- Clocks, as the library reads them; a record keeps the low half ---- */

INLINE uint32_t os_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint32_t)((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

INLINE uint32_t cpu_clock(void)
{
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

/* ---- The floor ---- */

typedef struct { uint32_t end, duration, depth_site; } ring_record;
typedef struct { uint32_t start, site; } ring_frame;

static struct {
    ring_frame stack[64];
    ring_record records[RING_RECORDS];
    uint32_t top;
    ring_record *cursor;
} ring;

INLINE void floor_begin(uint32_t (*now)(void))
{
    ring.stack[0].site = 1;
    ring.top = 1;
    ring.stack[0].start = now();
}

INLINE void floor_end(uint32_t (*now)(void), size_t i)
{
    uint32_t end = now();
    ring_record *record = &ring.records[i % RING_RECORDS];
    ring.top = 0;
    record->end = end;
    record->duration = end - ring.stack[0].start;
    record->depth_site = ring.stack[0].site << 8;
    ring.cursor = record;
}

INLINE void floor_zones(size_t count, uint32_t (*now)(void))
{
    for (size_t i = 0; i < count; i++) {
        floor_begin(now);
        BARRIER();
        floor_end(now, i);
        BARRIER();
    }
}

TIMED void floor_cpu(size_t count) { floor_zones(count, cpu_clock); }
TIMED void floor_os(size_t count) { floor_zones(count, os_clock); }

/* ---- Zones around nothing, and around work ---- */

static size_t work_blocks = 8;                /* as many as take WORK_NS */

#define WORK_STEP x ^= x >> 29; x *= UINT64_C(0x9E3779B97F4A7C15);

/* A chain in which each step needs the one before. */
INLINE uint64_t work(uint64_t x)
{
    PIN(x);
    for (size_t i = 0; i < work_blocks; i++) {
        WORK_STEP WORK_STEP WORK_STEP WORK_STEP
        WORK_STEP WORK_STEP WORK_STEP WORK_STEP
    }
    PIN(x);
    return x;
}

INLINE void floor_around_work(size_t count, uint32_t (*now)(void))
{
    uint64_t x = 1;
    for (size_t i = 0; i < count; i++) {
        floor_begin(now);
        x = work(x);
        floor_end(now, i);
    }
    result = x;
}

TIMED void floor_work_cpu(size_t count) { floor_around_work(count, cpu_clock); }
TIMED void floor_work_os(size_t count) { floor_around_work(count, os_clock); }

TIMED void bare_work(size_t count)
{
    uint64_t x = 1;
    for (size_t i = 0; i < count; i++)
        x = work(x);
    result = x;
}

TIMED void zone_work(size_t count)
{
    uint64_t x = 1;
    for (size_t i = 0; i < count; i++) {
        PROF_SCOPE("work");
        x = work(x);
    }
    result = x;
}

TIMED void empty_loop(size_t count)
{
    for (size_t i = 0; i < count; i++)
        BARRIER();
}

TIMED void zones(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PROF_SCOPE("zone");
        BARRIER();
    }
}

/* Each hundredth carries an attribute. */
TIMED void carriers(size_t count)
{
    for (size_t i = 0; i < count; i += 100) {
        for (size_t j = 1; j < 100; j++) {
            PROF_SCOPE("zone");
            BARRIER();
        }
        PROF_SCOPE("zone");
        prof_set_arg_int("i", (int64_t)i);
        BARRIER();
    }
}

static char push_names[PUSH_NAMES][16];

TIMED void pushes(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        prof_push(push_names[i % PUSH_NAMES]);
        BARRIER();
        prof_pop();
    }
}

/* ---- Figures of the recorder ---- */

static loop_fn *floor_empty = floor_cpu, *floor_work = floor_work_cpu;
static double floor_ns;

/* Sees which clock the library takes, and makes the floor read the same one. */
static prof_stats choose_clock(void)
{
    start_default();
    close_session();
    prof_stats stats = prof_get_stats();
    if (stats.clock != PROF_CLOCK_CPU) {
        floor_empty = floor_os;
        floor_work = floor_work_os;
    }
    return stats;
}

static void figure_zone(void)
{
    side base = { NULL, floor_empty, NULL }, tested = { start_default, zones, close_session };
    comparison c = compare(base, tested, ZONES, ZONE_ROUNDS);
    floor_ns = c.base;
    report("zone.floor_ns", c.base, NO_LIMIT, 0, "two clock reads and a zone's stores, in cache");
    report("zone.ratio", c.ratio, AT_MOST, 1.05, "PROF_SCOPE around nothing / floor");
}

static void figure_extra(void)
{
    side base = { NULL, floor_work, NULL }, tested = { start_default, zone_work, close_session };
    double block_ns = time_loop(bare_work, WORK_ZONES) / WORK_ZONES / (double)work_blocks;
    work_blocks = (size_t)(WORK_NS / block_ns + 0.5);
    comparison c = compare(base, tested, WORK_ZONES, WORK_ROUNDS);
    report("zone.extra_ns", c.extra, AT_MOST, 2, "a zone around 100 ns of work - floor around it");
}

static void figure_off(void)
{
    side base = { NULL, empty_loop, NULL }, tested = { NULL, zones, NULL };
    comparison c = compare(base, tested, OFF_ZONES, WORK_ROUNDS);
    report("zone.off_ns", c.extra, AT_MOST, 0.05 * floor_ns, "a zone while nothing records");
}

static void figure_push(void)
{
    for (int i = 0; i < PUSH_NAMES; i++)
        snprintf(push_names[i], sizeof push_names[i], "layer.%02d.fwd", i);
    side base = { NULL, floor_empty, NULL }, tested = { start_default, pushes, close_session };
    comparison c = compare(base, tested, ZONES, PUSH_ROUNDS);
    report("push.ns", c.tested, AT_MOST, 4 * floor_ns, "prof_push and prof_pop, 16 names");
    report("push.ratio", c.ratio, AT_MOST, 4, "push.ns / floor");
}

/* The same where the clock costs nothing: two calls and a name beside a zone. */
static void figure_push_work(void)
{
    side base = { work_open, work_zones, work_close };
    side tested = { work_open, work_pushes, work_close };
    comparison c = compare(base, tested, PUSH_WORK_ZONES, PUSH_WORK_ROUNDS);
    report("push.work_ratio", c.ratio, AT_MOST, 4, "prof_push, prof_pop / a zone, without clock");
}

/* ---- Instructions: a child runs loops, and is stepped through them ---- */

static loop_fn *const stepped[] = { empty_loop, zones, pushes };
enum { LOOPS = sizeof stepped / sizeof *stepped, STEPPED_ROUNDS = 5 };

/* Stops before and after each loop, which runs once, and twice as long, in some rounds. */
static void be_stepped(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    start_default();
    zones(1);
    pushes(PUSH_NAMES);
    for (int i = 0; i < 2 * LOOPS * STEPPED_ROUNDS; i++) {
        loop_fn *volatile call = stepped[i / 2 % LOOPS];
        raise(SIGSTOP);
        call(i % 2 ? 2 * STEPPED : STEPPED);
    }
    raise(SIGSTOP);
    _exit(0);
}

/* The instructions up to its next stop; 0: it cannot be stepped. */
static size_t steps_to_stop(pid_t child)
{
    size_t steps = 0;
    int status;
    do {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) || waitpid(child, &status, 0) < 0)
            return 0;
        steps++;
    } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    return WIFSTOPPED(status) ? steps : 0;
}

/* Instructions of one turn of each loop: of the rounds the least, in which no chunk of records was
   full. False: this system lets no process be stepped. */
static bool count_instructions(double per_turn[LOOPS])
{
    size_t least[LOOPS][2];
    int status;
    pid_t child = fork();
    if (!child)
        be_stepped();
    bool ok = child > 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status);
    memset(least, 0xff, sizeof least);
    for (int i = 0; i < 2 * LOOPS * STEPPED_ROUNDS && ok; i++) {
        size_t steps = steps_to_stop(child), *best = &least[i / 2 % LOOPS][i % 2];
        if (steps < *best)
            *best = steps;
        ok = steps > 0;
    }
    for (int i = 0; i < LOOPS; i++)
        per_turn[i] = ((double)least[i][1] - (double)least[i][0]) / STEPPED;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    return ok;
}

static void figure_instructions(void)
{
    double counts[LOOPS];
    if (!count_instructions(counts)) {
        printf("zone.instructions: not counted, as ptrace is not to be had here\n");
        return;
    }
    report("zone.instructions", counts[1] - counts[0], AT_MOST, 38,
           "of PROF_SCOPE around nothing; its loop takes some more");
    report("push.instructions", counts[2] - counts[0], NO_LIMIT, 0, "of prof_push and prof_pop");
}

/* ---- Threads ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t waiting, expected, zones;
} gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0 };

static void wait_for_all(void)
{
    pthread_mutex_lock(&gate.lock);
    if (++gate.waiting == gate.expected)
        pthread_cond_broadcast(&gate.changed);
    while (gate.waiting < gate.expected)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void *timed_thread(void *ns)
{
    zones(1);                                 /* the thread's first zone sets it up */
    wait_for_all();
    *(double *)ns = time_loop(zones, gate.zones);
    return NULL;
}

/* CPU ns per zone, the mean of threads that record at the same time. */
static double time_threads(size_t count)
{
    pthread_t thread[MAX_THREADS];
    double ns[MAX_THREADS], sum = 0;
    gate.waiting = 0;
    gate.expected = count;
    start_arena();
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&thread[i], NULL, timed_thread, &ns[i]))
            fail("pthread_create", "cannot start a thread");
    for (size_t i = 0; i < count; i++) {
        pthread_join(thread[i], NULL);
        sum += ns[i];
    }
    close_session();
    return sum / (double)count / (double)gate.zones;
}

static size_t core_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (size_t)cores;
}

static void figure_threads(void)
{
    double ratio[THREAD_ROUNDS];
    size_t fit = TREE_ZONES / 2 / core_count();
    gate.zones = fit < ZONES ? fit : ZONES;
    for (size_t i = 0; i < THREAD_ROUNDS; i++) {
        double one = time_threads(1);
        ratio[i] = time_threads(core_count()) / one;
    }
    report("zone.threads_ratio", median(ratio, THREAD_ROUNDS), AT_MOST, 1.10,
           "CPU time of a zone: a thread on each core / one thread");
}

/* ---- A nested mix: ten zones on three levels ---- */

__attribute__((noinline)) static void layer(void)
{
    PROF_FUNCTION();
    PROF_BEGIN("matmul");
    BARRIER();
    PROF_END();
    PROF_BEGIN("relu");
    BARRIER();
    PROF_END();
}

__attribute__((noinline)) static void optimizer(void)
{
    PROF_FUNCTION();
    for (int i = 0; i < 2; i++) {
        PROF_SCOPE("update");
        BARRIER();
    }
}

TIMED void nested_zones(size_t count)
{
    for (size_t i = 0; i < count; i += 10) {
        PROF_SCOPE("step");
        layer();
        layer();
        optimizer();
    }
}

/* ---- Bytes ---- */

/* Arena bytes, in cache lines, that a session of this many zones has written. */
static size_t bytes_written(size_t count)
{
    unsigned char same[LINE];
    size_t lines = 0, size = 256 * MIB;
    memset(same, PATTERN, sizeof same);
    memset(arena, PATTERN, size);
    open_session(size);
    nested_zones(count);
    close_session();
    for (size_t i = 0; i < size; i += LINE)
        lines += memcmp(arena + i, same, LINE) != 0;
    return lines * LINE;
}

/* Seen from outside: what twice the zones write more. The fixed part falls out. */
static void figure_zone_bytes(void)
{
    size_t count = 1000000;
    double once = (double)bytes_written(count), more = (double)bytes_written(2 * count) - once;
    if (more <= 0)
        fail("zone.bytes", "the records were not seen in the arena");
    report("zone.bytes", more / (double)count, AT_MOST, 12.5, "arena bytes a recorded zone takes");
}

static bool null_write(void *user, const void *data, size_t size)
{
    (void)data;
    *(size_t *)user += size;
    return true;
}

/* Fills an arena, and checks that all of what it took can be reported. */
static void figure_event_bytes(void)
{
    size_t count, written = 0;
    prof_sink sink = { null_write, &written };
    open_with(FULL_SIZE, PROF_FULL_DROP, false);
    nested_zones(2 * FULL_SIZE / 96);
    trace = prof_stop();
    prof_thread_end();
    prof_stats stats = prof_get_stats();
    prof_events(trace, &count);
    if (!stats.dropped_full || count != stats.recorded)
        fail("event.bytes", "a full arena was not analysed whole");
    if (prof_write_chrome(trace, NULL, sink) != PROF_OK)
        fail("event.bytes", "prof_write_chrome failed on a full arena");
    report("event.bytes", (double)FULL_SIZE / (double)count, AT_MOST, 96,
           "arena bytes a zone takes in all, analysed");
}

/* The same of zones alone: table, averages, Chrome trace and stacks, without events. */
static void figure_all_in_bytes(void)
{
    prof_average averages[64];
    uint64_t calls = 0;
    size_t written = 0;
    prof_sink sink = { null_write, &written };
    open_with(FULL_SIZE, PROF_FULL_DROP, true);
    nested_zones(2 * FULL_SIZE / 12);
    trace = prof_stop();
    prof_thread_end();
    prof_stats stats = prof_get_stats();
    size_t names = prof_key_averages(trace, NULL, averages, 64);
    for (size_t i = 0; i < names && i < 64; i++)
        calls += averages[i].count;
    if (calls != stats.recorded)
        fail("zone.all_in_bytes", "zones are missing in the averages");
    if (prof_write_table(trace, NULL, sink) != PROF_OK ||
        prof_write_chrome(trace, NULL, sink) != PROF_OK ||
        prof_write_stacks(trace, PROF_METRIC_NONE, sink) != PROF_OK)
        fail("zone.all_in_bytes", "a writer failed on a full arena");
    report("zone.all_in_bytes", (double)FULL_SIZE / (double)stats.recorded, AT_MOST, 20,
           "arena bytes a zone takes in a trace of zones alone");
}

/* ---- What zones carry, memory, steps ---- */

static void start_details(void)
{
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = arena;
    desc.memory_size = ARENA_SIZE;
    desc.record_shapes = desc.profile_memory = desc.with_stack = true;
    if (prof_start(&desc) != PROF_OK)
        fail("prof_start", "with details");
}

TIMED void shaped_zones(size_t count)
{
    static const char *const types[] = { "float", "float" };
    int64_t left[] = { 8, 3, 32, 32 }, right[] = { 16, 3, 5, 5 };
    prof_shape shapes[] = { { left, NULL, 4 }, { right, NULL, 4 } };
    for (size_t i = 0; i < count; i++) {
        PROF_SCOPE("zone");
        prof_set_shapes(shapes, types, 2);
    }
}

TIMED void allocations(size_t count)
{
    prof_device host = { PROF_DEVICE_CPU, 0 };
    for (size_t i = 0; i < count; i += 2) {
        prof_memory_alloc(arena + i, 64, host);
        prof_memory_free(arena + i, host);
    }
}

static void figure_details(void)
{
    side base = { NULL, floor_empty, NULL };
    side shaped = { start_details, shaped_zones, close_session };
    side memory = { start_details, allocations, close_session };
    report("attr.ratio", compare(base, shaped, DETAILS, DETAIL_ROUNDS).ratio, AT_MOST, 6,
           "a zone with two 4-d shapes; memory and stacks on / floor");
    report("memory.ratio", compare(base, memory, DETAILS, DETAIL_ROUNDS).ratio, AT_MOST, 3,
           "prof_memory_alloc or _free / floor");
}

static void write_window(void *user, prof_trace *window)
{
    size_t written = 0;
    prof_sink sink = { null_write, &written };
    (void)user;
    if (prof_write_chrome(window, NULL, sink) != PROF_OK)
        fail("ready.ms", "prof_write_chrome failed");
}

/* Steps inside a window, and the step that ends one of 100,000 zones and writes it. */
static void figure_steps(void)
{
    double step[READY_ROUNDS], ready[READY_ROUNDS];
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = arena;
    desc.memory_size = 64 * MIB;
    desc.schedule.active = STEPS + 1;
    desc.on_trace_ready = write_window;
    if (prof_start(&desc) != PROF_OK)
        fail("prof_start", "with a schedule");
    for (size_t i = 0; i < READY_ROUNDS; i++) {
        nested_zones(READY_ZONES);
        double start = cpu_ns();
        for (size_t k = 0; k < STEPS; k++)
            prof_step();
        step[i] = (cpu_ns() - start) / STEPS;
        start = cpu_ns();
        prof_step();
        ready[i] = cpu_ns() - start;
    }
    prof_stop();
    prof_thread_end();
    report("step.us", median(step, READY_ROUNDS) / 1e3, AT_MOST, 10, "prof_step within a window");
    report("ready.ms", median(ready, READY_ROUNDS) / 1e6, AT_MOST, 20,
           "the step that ends a window of 100,000 zones and writes it");
}

/* ---- Figures of the analysis: 10 M zones of one thread ---- */

static prof_event *plain_events;              /* what the tree is compared with */
static const prof_event *events;
static unsigned char *copy_from, *copy_to;    /* 1 GiB each */
static size_t written_bytes;                  /* by the writer that ran last */

static void record_tree(void)
{
    start_arena();
    nested_zones(TREE_ZONES);
    close_session();
}

static void *record_half(void *unused)
{
    (void)unused;
    wait_for_all();
    nested_zones(TREE_ZONES / 2);
    return NULL;
}

/* The same by two threads at a time, whose events are to be merged. */
static void record_threads(void)
{
    pthread_t thread[2];
    gate.waiting = 0;
    gate.expected = 2;
    start_arena();
    for (size_t i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, record_half, NULL))
            fail("pthread_create", "cannot start a thread");
    for (size_t i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    close_session();
}

TIMED void build_tree(size_t count)
{
    size_t found;
    events = prof_events(trace, &found);
    if (!events || found != count)
        fail("prof_events", "zones are missing");
}

TIMED void write_events(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        prof_event *e = &plain_events[i];
        memset(e, 0, sizeof *e);
        e->name = "zone";
        e->start_ns = (int64_t)i;
        e->end_ns = (int64_t)(i + count);
        e->parent = (uint32_t)i;
    }
}

TIMED void read_events(size_t count)
{
    const unsigned char *bytes = (const unsigned char *)events;
    uint64_t sum = 0;
    for (size_t i = 0; i < count * sizeof *events; i += LINE)
        sum += *(const uint64_t *)(const void *)(bytes + i);
    result = sum;
}

TIMED void average_events(size_t count)
{
    prof_average averages[MAX_ROWS];
    uint64_t total = 0;
    size_t names = prof_key_averages(trace, NULL, averages, MAX_ROWS);
    for (size_t i = 0; i < names && i < MAX_ROWS; i++)
        total += averages[i].count;
    if (total != count)
        fail("prof_key_averages", "zones are missing");
}

static void check_written(prof_result r)
{
    if (r != PROF_OK)
        fail("writer", prof_strerror(r));
}

TIMED void write_chrome(size_t count)
{
    prof_sink sink = { null_write, &written_bytes };
    (void)count;
    written_bytes = 0;
    check_written(prof_write_chrome(trace, NULL, sink));
}

TIMED void write_stacks(size_t count)
{
    prof_sink sink = { null_write, &written_bytes };
    (void)count;
    written_bytes = 0;
    check_written(prof_write_stacks(trace, PROF_METRIC_NONE, sink));
}

TIMED void copy_written(size_t count)
{
    (void)count;
    for (size_t left = written_bytes; left;) {
        size_t size = left < GIB ? left : GIB;
        memcpy(copy_to, copy_from, size);
        BARRIER();
        left -= size;
    }
}

static void figure_tree(void)
{
    plain_events = touched(TREE_ZONES * sizeof *plain_events);
    side base = { NULL, write_events, NULL }, tested = { record_tree, build_tree, NULL };
    side merged = { record_threads, build_tree, NULL };
    comparison two = compare(base, merged, TREE_ZONES, TREE_ROUNDS);
    comparison c = compare(base, tested, TREE_ZONES, TREE_ROUNDS);
    munmap(plain_events, TREE_ZONES * sizeof *plain_events);
    report("tree.mevents_s", 1e3 / c.tested, NO_LIMIT, 0, "10 M records to events with parents");
    report("tree.floor_ratio", c.ratio, AT_MOST, 5, "its time / writing the event array once");
    report("tree.two_mevents_s", 1e3 / two.tested, NO_LIMIT, 0, "the same, of two threads");
}

/* Before there are events of it. */
static void figure_report(void)
{
    side base = { NULL, copy_written, NULL }, tested = { record_tree, average_events, NULL };
    comparison c;
    written_bytes = 0;
    c = compare(base, tested, TREE_ZONES, TREE_ROUNDS);
    report("report.mevents_s", 1e3 / c.tested, AT_LEAST, 90, "10 M records to key averages");
}

static void figure_averages(void)
{
    side base = { NULL, read_events, NULL }, tested = { NULL, average_events, NULL };
    comparison c = compare(base, tested, TREE_ZONES, REPORT_ROUNDS);
    report("averages.mevents_s", 1e3 / c.tested, NO_LIMIT, 0, "key averages of 10 M events");
    report("averages.floor_ratio", c.ratio, AT_MOST, 3, "its time / reading the event array once");
}

static void figure_chrome(void)
{
    copy_from = touched(GIB);
    copy_to = touched(GIB);
    write_chrome(TREE_ZONES);                 /* so that the first copy knows its size */
    side base = { NULL, copy_written, NULL }, tested = { NULL, write_chrome, NULL };
    comparison c = compare(base, tested, TREE_ZONES, REPORT_ROUNDS);
    munmap(copy_from, GIB);
    munmap(copy_to, GIB);
    double mb_s = (double)written_bytes / (c.tested * TREE_ZONES) * 1e3;
    report("chrome.mevents_s", 1e3 / c.tested, AT_LEAST, 15, "Chrome JSON to a null sink");
    report("chrome.mb_s", mb_s, NO_LIMIT, 0, "bytes of it, in MB/s");
    report("chrome.floor_ratio", c.ratio, AT_MOST, 5, "its time / memcpy of that many bytes");
}

static double wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double file_closed;                    /* when the last one was */

/* ns on the wall from open to close of a Chrome trace in a file of TMPDIR. */
static double time_chrome_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[1000];
    prof_file file;
    snprintf(path, sizeof path, "%s/prof_bench.%ld.json", folder ? folder : "/tmp", (long)getpid());
    double start = wall_ns();
    check_written(prof_file_open(&file, path));
    file.failed = prof_write_chrome(trace, NULL, file.sink) != PROF_OK;
    check_written(prof_file_close(&file));
    file_closed = wall_ns();
    remove(path);
    return file_closed - start;
}

/* ns on the wall from prof_stop to the close of its Chrome file. The check comes later: before
   there are events prof_get_stats reads all records to count the zones. */
static double time_stop_to_file(void)
{
    start_arena();
    nested_zones(TREE_ZONES);
    double start = wall_ns();
    trace = prof_stop();
    time_chrome_file();
    double end = file_closed;
    check_session();
    build_tree(TREE_ZONES);                   /* for what follows: the writer made none */
    return end - start;
}

static void figure_chrome_file(void)
{
    double usual[FILE_ROUNDS], whole[FILE_ROUNDS];
    for (size_t i = 0; i < FILE_ROUNDS; i++) {
        usual[i] = time_chrome_file();
        whole[i] = time_stop_to_file();
    }
    report("chrome.file_s", median(usual, FILE_ROUNDS) / 1e9, NO_LIMIT, 0,
           "10 M events to a Chrome file, on the wall");
    report("chrome.stop_file_s", median(whole, FILE_ROUNDS) / 1e9, NO_LIMIT, 0,
           "prof_stop of 10 M zones and its Chrome file");
}

static void figure_stacks(void)
{
    double ns[REPORT_ROUNDS];
    for (size_t i = 0; i < REPORT_ROUNDS; i++)
        ns[i] = time_loop(write_stacks, TREE_ZONES) / TREE_ZONES;
    report("stacks.mevents_s", 1e3 / median(ns, REPORT_ROUNDS), AT_LEAST, 10,
           "folded stacks to a null sink");
}

/* ---- Events from outside: a trace of 1 M, a quarter with a kernel, and its averages ---- */

static prof_event *outside[3];                /* usual, deep, flat */
static const prof_event *outside_now;

/* Trees of depth events, each inside the one before, one after the other. */
static prof_event *outside_events(size_t depth)
{
    static const char *const names[] = { "step", "forward", "linear", "mm", "relu", "softmax" };
    static const prof_kernel kernel = { "gemm", 500, 0 };
    static prof_extra extra;
    prof_event *list = touched(OUTSIDE_EVENTS * sizeof *list);
    extra.kernels = &kernel;
    extra.kernel_count = 1;
    memset(list, 0, OUTSIDE_EVENTS * sizeof *list);
    for (size_t i = 0; i < OUTSIDE_EVENTS; i++) {
        size_t level = i % depth, tree = i / depth;
        list[i].name = names[i % 6];
        list[i].start_ns = (int64_t)((tree * 2 * depth + level) * 1000);
        list[i].end_ns = (int64_t)((tree * 2 * depth + 2 * depth - level) * 1000 - 1);
        list[i].extra = i % 4 ? NULL : &extra;
    }
    return list;
}

TIMED void build_outside(size_t count)
{
    prof_average averages[MAX_ROWS];
    prof_trace_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.memory = arena;
    desc.memory_size = ARENA_SIZE;
    desc.view.device_name = "cuda";
    if (prof_trace_from_events(&desc, outside_now, count, &trace) != PROF_OK)
        fail("prof_trace_from_events", "the arena is too small");
    if (prof_key_averages(trace, NULL, averages, MAX_ROWS) != 6)
        fail("prof_key_averages", "rows are missing");
}

static void usual_outside(void) { outside_now = outside[0]; }
static void deep_outside(void) { outside_now = outside[1]; }
static void flat_outside(void) { outside_now = outside[2]; }

static void figure_outside(void)
{
    outside[0] = outside_events(6);
    outside[1] = outside_events(OUTSIDE_DEEP);
    outside[2] = outside_events(1);
    side usual = { usual_outside, build_outside, NULL };
    side deep = { deep_outside, build_outside, NULL }, flat = { flat_outside, build_outside, NULL };
    comparison d = compare(usual, deep, OUTSIDE_EVENTS, OUTSIDE_ROUNDS);
    comparison f = compare(usual, flat, OUTSIDE_EVENTS, OUTSIDE_ROUNDS);
    report("outside.mevents_s", 1e3 / d.base, NO_LIMIT, 0,
           "1 M events from outside, 6 deep: tree, kernels, averages");
    report("outside.deep_ratio", d.ratio, AT_MOST, 4, "10,000 deep / 6 deep");
    report("outside.flat_ratio", f.ratio, AT_MOST, 4, "all on one level / 6 deep");
}

/* ---- The other modes ---- */

static void open_mode(prof_desc desc)
{
    prof_result r = prof_start(&desc);
    if (r != PROF_OK)
        fail("prof_start", prof_strerror(r));
    zones(1);
}

static void start_aggregate(void)
{
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_AGGREGATE;
    open_mode(desc);
}

static void figure_aggregate(void)
{
    side base = { NULL, floor_empty, NULL }, tested = { start_aggregate, zones, close_session };
    comparison c = compare(base, tested, ZONES, WORK_ROUNDS);
    report("zone.aggregate_ratio", c.ratio, AT_MOST, 1.15, "a zone in PROF_MODE_AGGREGATE / floor");
}

/* A session whose timeline has ended: its arena is full. */
static void start_summed(void)
{
    open_session(MIB);
    zones(2 * MIB / 96);
}
static void figure_summed(void)
{
    side base = { NULL, floor_empty, NULL }, tested = { start_summed, zones, close_session };
    comparison c = compare(base, tested, ZONES, WORK_ROUNDS);
    if (!prof_get_stats().summed)
        fail("zone.summed_ratio", "the arena was not full");
    report("zone.summed_ratio", c.ratio, AT_MOST, 1.3, "a zone once the arena is full / floor");
}

/* Streams to a null sink; a thread of its own flushes. */
static bool draining;

/* Rests as prof.h advises: one that does not reads a thread's cursor after each zone, and the
   figure tells how far it got, not what streaming costs. */
static void *drain(void *unused)
{
    const struct timespec rest = { 0, 1000000 };
    (void)unused;
    while (PROF__LOAD(draining)) {
        if (prof_flush() != PROF_OK)
            fail("prof_flush", "the null sink failed");
        nanosleep(&rest, NULL);
    }
    return NULL;
}

static size_t resident_kb(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %zu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Zones streamed for a long time: what each costs this thread, over the floor, and by how much
   memory grows after the first hundredth. A thread whose chunks are full waits: nothing may be
   lost. */
static double stream_zones(loop_fn *loop, size_t *kb)
{
    size_t written = 0, rounds = STREAM_ZONES / ZONES;
    double ratio[STREAM_ZONES / ZONES];
    pthread_t drainer;
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = null_write;
    desc.stream.user = &written;
    desc.stream_inline = true;
    desc.max_threads = 2;
    open_mode(desc);
    PROF__STORE(draining, true);
    if (pthread_create(&drainer, NULL, drain, NULL))
        fail("pthread_create", "cannot start a thread");
    for (size_t i = 0; i < rounds; i++) {
        double base = time_loop(floor_empty, ZONES);
        ratio[i] = time_loop(loop, ZONES) / base;
        if (i == rounds / 100)
            *kb = resident_kb();
    }
    *kb = resident_kb() - *kb;
    PROF__STORE(draining, false);
    pthread_join(drainer, NULL);
    close_session();
    if (written < (size_t)STREAM_ZONES * 12)
        fail("stream", "zones are missing");
    return median(ratio, rounds);
}

static void figure_stream(void)
{
    size_t kb = 0, unused;
    report("stream.ratio", stream_zones(zones, &kb), AT_MOST, 1.15,
           "a zone while 100 M of them are streamed raw / floor");
    report("stream.rss_kb", (double)(int64_t)kb, AT_MOST, 1024, "memory that this took more");
    report("stream.attributes_ratio", stream_zones(carriers, &unused), AT_MOST, 1.15,
           "the same where 1 of 100 has an attribute");
}

/* A million zones in rings, dumped to memory. */
static bool copy_write(void *user, const void *data, size_t size)
{
    unsigned char **to = user;
    memcpy(*to, data, size);
    *to += size;
    return true;
}

static void figure_dump(void)
{
    double ms[REPORT_ROUNDS];
    unsigned char *copy = touched(32 * MIB);
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_RING;
    desc.memory = arena;
    desc.memory_size = 32 * MIB;
    desc.max_threads = 1;
    desc.records_only = true;
    open_mode(desc);
    zones(1000000);
    for (size_t i = 0; i < REPORT_ROUNDS; i++) {
        unsigned char *to = copy;
        prof_sink sink = { copy_write, &to };
        double start = cpu_ns();
        if (prof_dump(sink) != PROF_OK || to - copy < 12000000)
            fail("prof_dump", "zones are missing");
        ms[i] = (cpu_ns() - start) / 1e6;
    }
    close_session();
    munmap(copy, 32 * MIB);
    report("dump.ms", median(ms, REPORT_ROUNDS), AT_MOST, 50, "1 M zones to memory, as a handler");
}

/* ---- The machine, and main ---- */

/* "model name : X" of /proc/cpuinfo, else what uname says. */
static void cpu_model(char *model, size_t size)
{
    char line[256];
    struct utsname names;
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(model, size, "%s", uname(&names) < 0 ? "unknown CPU" : names.machine);
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value)
            continue;
        snprintf(model, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        break;
    }
    if (file)
        fclose(file);
}

static void print_machine(prof_stats stats)
{
    char model[256];
    cpu_model(model, sizeof model);
    printf("prof %s on %s, %zu core%s\nclock: %s, %.1f MHz; compiler: %s\n\n", PROF_VERSION, model,
           core_count(), core_count() == 1 ? "" : "s",
           stats.clock == PROF_CLOCK_CPU ? "the CPU's" : "the system's",
           (double)stats.ticks_per_second / 1e6, __VERSION__);
    printf("%-20s %10s  %-9s %-5s %s\n", "figure", "value", "limit", "", "what it is");
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    bool check = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--check"))
            check = true;
        else if (argv[i][0] == '-' || path)
            fail(argv[i], "usage: bench [--check] [FILE]");
        else
            path = argv[i];
    }
    print_machine(choose_clock());
    figure_zone();
    figure_extra();
    figure_off();
    figure_aggregate();
    figure_stream();
    figure_push();
    figure_push_work();
    figure_instructions();
    arena = touched(ARENA_SIZE);
    figure_summed();
    figure_details();
    figure_steps();
    figure_zone_bytes();
    figure_dump();
    figure_threads();
    figure_event_bytes();
    figure_all_in_bytes();
    figure_report();
    figure_tree();
    figure_averages();
    figure_chrome();
    figure_chrome_file();
    figure_stacks();
    figure_outside();
    if (path)
        write_json(path);
    return check && missed;
}
