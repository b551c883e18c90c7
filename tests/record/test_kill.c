/* A process killed at any moment (SIGKILL) leaves a stream that loads up to its last flush. */
#include "../test.h"
#include "../../tools/prof/raw_read.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS = 50 };

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

static void test_raw(void) {
    static unsigned char memory[256 << 10];
    size_t all = 0;
    int i;
    for (i = 0; i < KILLS; i++) {
        prof_raw_desc desc;
        prof_raw_stats stats;
        prof_raw *raw;
        PASS_ON(run(TEST_OUT "/killed.prof", PROF_STREAM_RAW));
        memset(&desc, 0, sizeof desc);
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        desc.item = take;
        zones = wrong = 0;
        EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
        prof_raw_feed(raw, data, size);
        prof_raw_close(raw, &stats);
        EQUAL(wrong + stats.missing_blocks + stats.missing_records + stats.unknown_sites, 0);
        EQUAL(stats.ended, 0);
        CHECK(stats.damaged <= 1, "%u places damaged", (unsigned)stats.damaged);
        all += zones;
    }
    CHECK(all > 10000, "only %u zones in %d runs", (unsigned)all, KILLS);
}

/* Each line is an event, whole but for the last one. */
static void test_chrome(void) {
    size_t all = 0;
    int i;
    for (i = 0; i < KILLS; i++) {
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
    CHECK(all > 10000, "only %u events in %d runs", (unsigned)all, KILLS);
}

int main(void) {
    RUN(test_raw);
    RUN(test_chrome);
    return test_end();
}
