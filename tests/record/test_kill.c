/* A process killed at any moment (SIGKILL) leaves a stream that loads up to its last flush. In one
   of prof_start_env that has all that ended 2 ms before its thread's own last end. */
#include "../test.h"
#include "../../tools/prof/raw_read.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int kills = 50;                   /* 4 of a sample */

static char data[64 << 20];
static size_t size;

static bool to_file(void *file, const void *bytes, size_t n) {
    return fwrite(bytes, 1, n, (FILE *)file) == n && fflush((FILE *)file) == 0;
}

/* Streams zones until it is killed. */
static void stream_on(const char *path, prof_stream_format format) {
    prof_desc desc;
    unsigned i;
    FILE *file = fopen(path, "wb");
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = to_file;
    desc.stream.user = file;
    desc.stream_format = format;
    if (!file || prof_start(&desc) != PROF_OK) _exit(1);
    for (i = 0;; i++) {
        PROF_BEGIN("outer \"zone\"");
        PROF_BEGIN("inner");
        PROF_END();
        PROF_END();
        if (i % 1000 == 0) prof_flush();
    }
}

static size_t written(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (size_t)info.st_size : 0;
}

/* Runs stream_on, kills it a moment after it has written so much, reads what it left. */
static void run(const char *path, prof_stream_format format) {
    size_t wanted = test_random(200000);
    FILE *file;
    pid_t child, ended = 0;
    remove(path);
    child = fork();
    if (!child) stream_on(path, format);
    while (!ended && written(path) < wanted) {
        usleep(100);
        ended = waitpid(child, NULL, WNOHANG);
    }
    CHECK(!ended, "it ended by itself");
    usleep(test_random(1000));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    size = 0;
    file = fopen(path, "rb");
    if (!file) return;
    size = fread(data, 1, sizeof data - 1, file);
    data[size] = 0;
    fclose(file);
    CHECK(size >= wanted, "%u bytes of %u", (unsigned)size, (unsigned)wanted);
}

static size_t zones, wrong;

static void take(void *user, const prof_raw_item *item) {
    (void)user;
    if (item->kind != PROF_RAW_ZONE) return;
    wrong += strcmp(item->name, zones++ % 2 ? "outer \"zone\"" : "inner") != 0;
}

/* Gives each item of the data to `item`. */
static prof_raw_stats read_data(void (*item)(void *user, const prof_raw_item *item)) {
    static unsigned char memory[256 << 10];
    prof_raw_desc desc;
    prof_raw_stats stats;
    prof_raw *raw;
    memset(&desc, 0, sizeof desc);
    memset(&stats, 0, sizeof stats);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.item = item;
    if (prof_raw_open(&desc, &raw) != PROF_OK) return stats;
    prof_raw_feed(raw, data, size);
    prof_raw_close(raw, &stats);
    return stats;
}

static void test_raw(void) {
    size_t all = 0;
    int i;
    for (i = 0; i < kills; i++) {
        prof_raw_stats stats;
        PASS_ON(run(TEST_OUT "/killed.prof", PROF_STREAM_RAW));
        zones = wrong = 0;
        stats = read_data(take);
        EQUAL(wrong + stats.missing_blocks + stats.missing_records + stats.unknown_sites, 0);
        EQUAL(stats.ended, 0);
        CHECK(stats.damaged <= 1, "%u places damaged", (unsigned)stats.damaged);
        all += zones;
    }
    CHECK(all > 100 * (size_t)kills, "only %u zones in %d runs", (unsigned)all, kills);
}

/* Each line is an event, whole but for the last one. */
static void test_chrome(void) {
    size_t all = 0;
    int i;
    for (i = 0; i < kills; i++) {
        char *line, *end;
        PASS_ON(run(TEST_OUT "/killed.json", PROF_STREAM_CHROME));
        if (!size) continue;
        EQUAL(strncmp(data, "[\n", 2), 0);
        for (line = data + 2; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            CHECK(*line == '{' && strcmp(end - 2, "},") == 0, "'%s'", line);
            all++;
        }
        CHECK(!*line || *line == '{', "'%s'", line);
    }
    CHECK(all > 100 * (size_t)kills, "only %u events in %d runs", (unsigned)all, kills);
}

/* ---- what is in the file, by the rhythm of the zones and the way to end ---- */

enum { THREADS = 3, ENDS = 50000 };
static struct ends {                     /* of a thread's zones: ns of the clock */
    uint32_t count;
    uint64_t before_last, after[ENDS];
} *threads;                              /* the child's, shared */
static const char *const names[THREADS] = { "0", "1", "2" };

static uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void ended(struct ends *e) {
    if (e->count < ENDS) e->after[e->count++] = clock_ns();
}

static void work(struct ends *e, int count, unsigned us) {
    int i;
    for (i = 0; i < count; i++) {
        if (e == threads) PROF_BEGIN("0");
        else prof_push(names[e - threads]);
        if (us) usleep(us);
        e->before_last = clock_ns();
        PROF_END();
        ended(e);
    }
}

static void long_after_short(struct ends *e) {
    work(e, 20000, 0);
    work(e, 5, 4000);
}

static void bursts(struct ends *e) {
    int i;
    for (i = 0; i < 6; i++) {
        work(e, 1000, 0);
        usleep(4000);
    }
}

static void growing_bursts(struct ends *e) {
    int n;
    for (n = 1; n <= 8192; n *= 2) {
        work(e, n, 0);
        usleep(2500);
    }
}

static void growing_pauses(struct ends *e) {
    unsigned us;
    for (us = 250; us <= 16000; us *= 2) {
        work(e, 100, 0);
        usleep(us);
    }
    work(e, 1, 0);
}

static void even(struct ends *e) { work(e, 100, 200); }

static void nested(struct ends *e) {
    int i;
    for (i = 0; i < 5; i++) {
        PROF_BEGIN("0");
        work(e, 2000, 0);
        usleep(3000);
        e->before_last = clock_ns();
        PROF_END();
        ended(e);
    }
}

static void *fast(void *e) {
    work((struct ends *)e, ENDS, 0);
    return NULL;
}

static void *slow(void *e) {
    work((struct ends *)e, 3, 5000);
    return NULL;
}

/* One thread beside two; they end before it does. */
static void one_among(struct ends *e, void *(*other)(void *), void (*own)(struct ends *)) {
    pthread_t two[2];
    int i;
    for (i = 0; i < 2; i++) pthread_create(&two[i], NULL, other, e + 1 + i);
    own(e);
    for (i = 0; i < 2; i++) pthread_join(two[i], NULL);
}

static void slow_among_fast(struct ends *e) { one_among(e, fast, even); }
static void fast_among_slow(struct ends *e) { one_among(e, slow, long_after_short); }

static const struct { const char *name; void (*run)(struct ends *e); } rhythms[] = {
    { "long_after_short", long_after_short }, { "bursts", bursts },
    { "growing_bursts", growing_bursts }, { "growing_pauses", growing_pauses },
    { "even", even }, { "nested", nested }, { "slow_among_fast", slow_among_fast },
    { "fast_among_slow", fast_among_slow } };
static const char *const ways[] = { "kill", "abort", "crash", "_exit", "exec", "quick_exit" };
void quick_exit(int status);             /* C99's headers leave it out */
enum { RHYTHMS = sizeof rhythms / sizeof *rhythms, WAYS = sizeof ways / sizeof *ways };

static void end_by(int way) {
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGSEGV, SIG_DFL);            /* a sanitizer has its own */
    signal(SIGABRT, SIG_DFL);
    if (way == 0) raise(SIGKILL);
    if (way == 1) abort();
    if (way == 2) raise(SIGSEGV);
    if (way == 3) _exit(0);
    if (way == 4) execlp("true", "true", (char *)NULL);
    if (way == 5) quick_exit(0);
    _exit(9);
}

static size_t found[THREADS];

static void take_own(void *user, const prof_raw_item *item) {
    int i;
    (void)user;
    if (item->kind != PROF_RAW_ZONE || (item->flags & PROF_EVENT_UNFINISHED)) return;
    for (i = 0; i < THREADS; i++) found[i] += strcmp(item->name, names[i]) == 0;
}

static void kill_in(int rhythm, int way) {
    const char *path = TEST_OUT "/rhythm.raw";
    FILE *file;
    pid_t child;
    int i;
    memset(threads, 0, THREADS * sizeof *threads);
    setenv("PROF_TRACE", path, 1);
    child = fork();
    if (!child) {
        if (prof_start_env(NULL) == PROF_OK) rhythms[rhythm].run(threads);
        end_by(way);
    }
    waitpid(child, NULL, 0);
    file = fopen(path, "rb");
    CHECK(file, "%s %s: no file", rhythms[rhythm].name, ways[way]);
    size = fread(data, 1, sizeof data - 1, file);
    fclose(file);
    memset(found, 0, sizeof found);
    read_data(take_own);
    for (i = 0; i < THREADS; i++) {
        const struct ends *e = threads + i;
        uint32_t due = e->count;
        while (way != 5 && due && e->after[due - 1] + 2000000 > e->before_last) due--;
        CHECK(found[i] >= due, "%s %s: thread %d: of %u zones %u were due, %u are there",
              rhythms[rhythm].name, ways[way], i, (unsigned)e->count, (unsigned)due,
              (unsigned)found[i]);
    }
}

static void test_rhythms(void) {
    size_t bytes = THREADS * sizeof *threads;
    int rhythm, way;
    int tried = test_sample() > 1 ? 1 : WAYS;
    threads = (struct ends *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                  -1, 0);
    CHECK(threads != (struct ends *)MAP_FAILED, "no memory");
    for (rhythm = 0; rhythm < RHYTHMS; rhythm++) {
        int first = (int)test_random(WAYS);
        for (way = 0; way < tried; way++)
            PASS_ON(kill_in(rhythm, (first + way) % WAYS));
    }
    unsetenv("PROF_TRACE");
}

int main(void) {
    if (test_sample() > 1) kills = 4;
    RUN(test_raw);
    RUN(test_chrome);
    RUN(test_rhythms);
    return test_end();
}
