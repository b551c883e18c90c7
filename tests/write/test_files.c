/* prof_save_chrome and the file system: all or nothing under the final name. */
#include "../test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER TEST_OUT "/test_files"
#define TRACE FOLDER "/trace.json"
#ifdef PROF_ZLIB
#  define ZIPPED TRACE ".gz"
#else
#  define ZIPPED TRACE
#endif

static prof_trace *trace;

static void record(void) {
    prof_desc desc = test_desc();
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 2000; i++) {
        PROF_SCOPE("outer");
        test_time.tick += 1500;
        PROF_BLOCK("inner") { test_time.tick += 500; }
    }
    trace = prof_stop();
}

/* Removes all files of the folder and returns how many there were. */
static int empty_folder(void) {
    char path[1000];
    struct dirent *entry;
    int files = 0;
    DIR *folder = opendir(FOLDER);
    if (!folder) return -1;
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%.500s", FOLDER, entry->d_name);
        files++;
        if (unlink(path) != 0) rmdir(path);
    }
    closedir(folder);
    return files;
}

static void prepare(void) {
    mkdir(TEST_OUT, 0777);
    mkdir(FOLDER, 0777);
    CHECK(empty_folder() >= 0, "no folder %s", FOLDER);
    record();
}

static void write_text(const char *path, const char *content) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL, "cannot write %s", path);
    fputs(content, file);
    fclose(file);
}

static void same_as_sink(const char *path) {
    test_text sunk, file;
    memset(&sunk, 0, sizeof sunk);
    memset(&file, 0, sizeof file);
    EQUAL(test_write(trace, TEST_CHROME, &sunk), PROF_OK);
    PASS_ON(test_read_file(path, &file));
    EQUAL(sunk.size, file.size);
    EQUAL(memcmp(sunk.data, file.data, file.size), 0);
    test_text_clear(&sunk);
    test_text_clear(&file);
}

static void test_save(void) {
    PASS_ON(prepare());
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    PASS_ON(same_as_sink(TRACE));
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    PASS_ON(same_as_sink(TRACE));
    EQUAL(empty_folder(), 1);
}

/* A new trace stands in an old file's place. */
static void test_save_replaces(void) {
    PASS_ON(prepare());
    PASS_ON(write_text(TRACE, "an older file"));
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    PASS_ON(same_as_sink(TRACE));
    EQUAL(empty_folder(), 1);
}

static void test_save_mode(void) {
    struct stat info;
    mode_t mask = umask(022);
    PASS_ON(prepare());
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    umask(mask);
    EQUAL(stat(TRACE, &info), 0);
    EQUAL(info.st_mode & 0777, 0644);
    EQUAL(chmod(TRACE, 0600), 0);                           /* an old file's are not widened */
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    EQUAL(stat(TRACE, &info), 0);
    EQUAL(info.st_mode & 0777, 0600);
    EQUAL(empty_folder(), 1);
}

/* Programs that the program executes meanwhile do not have it. */
static void test_file_is_own(void) {
    prof_file file;
    PASS_ON(prepare());
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    EQUAL(fcntl((int)file.handle, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EQUAL(prof_file_close(&file), PROF_OK);
    EQUAL(empty_folder(), 1);
}

/* Several writers into one file by hand; what fails, or is said to, leaves the old file. */
static void test_file_by_hand(void) {
    prof_file file;
    test_text got;
    memset(&got, 0, sizeof got);
    PASS_ON(prepare());
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    EQUAL(prof_write_table(trace, NULL, file.sink), PROF_OK);
    EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, file.sink), PROF_OK);
    EQUAL(access(TRACE, F_OK), -1);
    EQUAL(prof_file_close(&file), PROF_OK);
    PASS_ON(test_read_file(TRACE, &got));
    CHECK(strstr(got.data, "Self CPU time total") && strstr(got.data, "\nouter;inner "), "holds %s",
          got.data);
    EQUAL(prof_file_close(&file), PROF_ERROR_STATE);
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    file.failed = prof_write_stacks(trace, PROF_METRIC_COUNT, file.sink) != PROF_OK;
    EQUAL(prof_file_close(&file), PROF_ERROR_FILE);
    CHECK(empty_folder() == 1, "more than the file of before");
    EQUAL(prof_file_open(NULL, TRACE), PROF_ERROR_INVALID);
    EQUAL(prof_file_open(&file, NULL), PROF_ERROR_INVALID);
    EQUAL(prof_file_close(NULL), PROF_ERROR_INVALID);
    errno = 0;
    EQUAL(prof_file_open(&file, ""), PROF_ERROR_FILE);
    EQUAL(errno, ENOENT);
    EQUAL(prof_file_close(&file), PROF_ERROR_STATE);
    test_text_clear(&got);
}

static void test_file_full(void) {
    prof_file file;
    if (access("/dev/full", W_OK) != 0) SKIP("there is no /dev/full");
    PASS_ON(prepare());
    EQUAL(prof_file_open(&file, "/dev/full"), PROF_OK);
    EQUAL(prof_write_table(trace, NULL, file.sink), PROF_ERROR_SINK);
    errno = 0;
    EQUAL(prof_file_close(&file), PROF_ERROR_FILE);
    EQUAL(errno, ENOSPC);
    EQUAL(empty_folder(), 0);
}

static void test_save_no_folder(void) {
    PASS_ON(prepare());
    errno = 0;
    EQUAL(prof_save_chrome(trace, FOLDER "/none/trace.json"), PROF_ERROR_FILE);
    EQUAL(errno, ENOENT);
    EQUAL(empty_folder(), 0);
}

static void test_save_onto_folder(void) {
    PASS_ON(prepare());
    mkdir(TRACE, 0777);
    EQUAL(prof_save_chrome(trace, TRACE), PROF_ERROR_FILE);
    CHECK(rmdir(TRACE) == 0, "the folder is not there, or not empty");
    EQUAL(empty_folder(), 0);
}

static void test_save_long_path(void) {
    static char path[10000];
    PASS_ON(prepare());
    memset(path, 'a', sizeof path - 1);
    memcpy(path, FOLDER "/", strlen(FOLDER) + 1);
    EQUAL(prof_save_chrome(trace, path), PROF_ERROR_FILE);
    EQUAL(empty_folder(), 0);
}

static void test_save_read_only_folder(void) {
    PASS_ON(prepare());
    if (geteuid() == 0) SKIP("root may write anywhere");
    chmod(FOLDER, 0555);
    EQUAL(prof_save_chrome(trace, TRACE), PROF_ERROR_FILE);
    chmod(FOLDER, 0777);
    EQUAL(empty_folder(), 0);
}

/* The file that was there before is as it was, and alone. */
static void older_file_stays(void) {
    test_text file;
    memset(&file, 0, sizeof file);
    PASS_ON(test_read_file(TRACE, &file));
    SAME_TEXT(file.data, "an older file");
    test_text_clear(&file);
    EQUAL(empty_folder(), 1);
}

/* The disk is full half-way: the old file stays, nothing else does. */
static void test_save_disk_full(void) {
    struct rlimit old, small;
    prof_result result;
    int error;
    PASS_ON(prepare());
    PASS_ON(write_text(TRACE, "an older file"));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 70000;
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) SKIP("no limit on the size of files");
    errno = 0;
    result = prof_save_chrome(trace, TRACE);
    error = errno;
    setrlimit(RLIMIT_FSIZE, &old);
    EQUAL(result, PROF_ERROR_FILE);
    EQUAL(error, EFBIG);
    PASS_ON(older_file_stays());
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    PASS_ON(same_as_sink(TRACE));
    EQUAL(empty_folder(), 1);
}

/* A device is written in place, never replaced. Through a link first: harmless if it is. */
static void test_save_dev_full(void) {
    struct stat info;
    PASS_ON(prepare());
    if (stat("/dev/full", &info) != 0 || !S_ISCHR(info.st_mode)) SKIP("no /dev/full");
    if (symlink("/dev/full", TRACE) != 0) SKIP("no links here");
    EQUAL(prof_save_chrome(trace, TRACE), PROF_ERROR_FILE);
    EQUAL(empty_folder(), 1);
    errno = 0;
    EQUAL(prof_save_chrome(trace, "/dev/full"), PROF_ERROR_FILE);
    EQUAL(errno, ENOSPC);
    EQUAL(stat("/dev/full", &info), 0);
    CHECK(S_ISCHR(info.st_mode), "/dev/full was replaced");
}

/* A name of a descriptor, as /dev/stdout is, is written in place: as a link it may lead to a file,
   and would be replaced. */
static void test_save_descriptor(void) {
    char name[40];
    int file;
    PASS_ON(prepare());
    file = open(TRACE, O_RDWR | O_CREAT | O_TRUNC, 0644);
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    if (access(name, W_OK) != 0) SKIP("descriptors have no names here");
    EQUAL(prof_save_chrome(trace, name), PROF_OK);
    close(file);
    PASS_ON(same_as_sink(TRACE));
    EQUAL(empty_folder(), 1);
}

static void test_save_dev_null(void) {
    struct stat info;
    PASS_ON(prepare());
    if (stat("/dev/null", &info) != 0 || !S_ISCHR(info.st_mode)) SKIP("no /dev/null");
    if (symlink("/dev/null", TRACE) != 0) SKIP("no links here");
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    EQUAL(lstat(TRACE, &info), 0);
    CHECK(S_ISLNK(info.st_mode), "the link was replaced");
    EQUAL(empty_folder(), 1);
}

/* Links that somebody laid where the file goes are replaced, not followed. */
static void test_save_follows_no_link(void) {
    char temporary[300];
    test_text other;
    memset(&other, 0, sizeof other);
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", TRACE, (long)getpid());
    PASS_ON(prepare());
    PASS_ON(write_text(FOLDER "/other", "of somebody else"));
    if (symlink("other", temporary) != 0 || symlink("other", TRACE) != 0) SKIP("no links here");
    EQUAL(prof_save_chrome(trace, TRACE), PROF_OK);
    PASS_ON(same_as_sink(TRACE));
    PASS_ON(test_read_file(FOLDER "/other", &other));
    SAME_TEXT(other.data, "of somebody else");
    test_text_clear(&other);
    EQUAL(empty_folder(), 2);
}

static void test_save_bad_arguments(void) {
    PASS_ON(prepare());
    EQUAL(prof_save_chrome(trace, NULL), PROF_ERROR_INVALID);
    CHECK(prof_save_chrome(NULL, TRACE) != PROF_OK, "saved no trace at all");
    EQUAL(empty_folder(), 0);
}

static void test_save_gz_unsupported(void) {
    PASS_ON(prepare());
#ifndef PROF_ZLIB
    EQUAL(prof_save_chrome(trace, TRACE ".gz"), PROF_ERROR_UNSUPPORTED);
    EQUAL(empty_folder(), 0);
#else
    EQUAL(prof_save_chrome(trace, TRACE ".gz"), PROF_OK);
    EQUAL(empty_folder(), 1);
#endif
}

/* A sink that once writes the trace elsewhere before it takes what came. */
typedef struct within {
    test_text outer, inner;
} within;

static bool write_within(void *user, const void *data, size_t size) {
    within *w = (within *)user;
    bool ok = w->outer.size || prof_write_chrome(trace, NULL, test_text_sink(&w->inner)) == PROF_OK;
    return ok && test_text_write(&w->outer, data, size);
}

/* Each writer has a buffer of its own, and its pieces are about as large as that. */
static void same_pieces(void) {
    within w;
    prof_sink sink = { write_within, NULL };
    memset(&w, 0, sizeof w);
    sink.user = &w;
    EQUAL(prof_write_chrome(trace, NULL, sink), PROF_OK);
    EQUAL(w.outer.size, w.inner.size);
    EQUAL(memcmp(w.outer.data, w.inner.data, w.inner.size), 0);
    EQUAL(w.inner.calls, w.outer.calls);
    CHECK(w.inner.calls <= w.inner.size / 7900 + 1, "%lu pieces", (unsigned long)w.inner.calls);
    test_text_clear(&w.inner);
    test_text_clear(&w.outer);
}

static void test_pieces(void) {
    PASS_ON(prepare());
    PASS_ON(same_pieces());
}

/* More names than the writer keeps texts of, some longer than these, some escaped. */
static char some_names[300][160];

static void some_details(void) {
    prof_shape shape;
    memset(&shape, 0, sizeof shape);
    prof_set_shapes(&shape, NULL, 1);
    prof_set_arg("an argument", "\"quoted\"");
    set_flops(test_random(1000));
}

/* Zones, half of them of ten names, and whatever else has a time; some zones stay open. */
static void *some_events(void *name) {
    uint64_t arrow = 0, memory[2] = { 0, 0 };
    const prof_device host = { 0, 0 };
    int i;
    prof_set_thread_name((const char *)name);
    for (i = 0; i < 2000; i++) {
        char *text = some_names[test_random(test_random(2) ? 10 : 300)];
        test_time.tick += test_random(50) ? test_random(3000) : test_random(1u << 30);
        switch (test_random(24)) {
        case 0: prof_instant(text); break;
        case 1: prof_counter(text, (int64_t)test_random(1000) - 500); break;
        case 2: prof_counter_f(text, test_random(1000) / 7.0); break;
        case 3: prof_async_end(prof_async_begin(text)); break;
        case 4: arrow = prof_flow(arrow); break;
        case 5: prof_memory_alloc(memory, test_random(1000), host); break;
        case 6: prof_memory_free(memory, host); break;
        case 7: some_details(); break;
        case 8: case 9: case 10: case 11: case 12: case 13: prof_pop(); break;
        default: prof_push(text);
        }
    }
    return NULL;
}

static void record_some(void) {
    prof_desc desc = test_desc();
    pthread_t thread;
    int i;
    desc.record_shapes = desc.with_flops = desc.profile_memory = true;
    for (i = 0; i < 300; i++)
        snprintf(some_names[i], sizeof some_names[i], "%s %d%*s", i % 3 ? "name" : "\"\\\n\xff", i,
                 i % 7 ? 1 : i / 2, "");
    EQUAL(prof_start(&desc), PROF_OK);
    some_events((void *)"main");
    for (i = 0; i < 2; i++) {
        EQUAL(pthread_create(&thread, NULL, some_events, (void *)"another"), 0);
        pthread_join(thread, NULL);
    }
    trace = prof_stop();
}

/* The same of traces of all kinds of events, which piece ends cut anywhere. */
static void test_pieces_kinds(void) {
    size_t i;
    PASS_ON(prepare());
    for (i = 0; i < 6; i++) {
        PASS_ON(record_some());
        PASS_ON(same_pieces());
    }
    EQUAL(empty_folder(), 0);
}

/* Names that take, quoted, as much as a writer's buffer, each three times in a row. */
static void test_long_names(void) {
    static char names[60][4096], quoted[60][8300];
    prof_desc desc = test_desc();
    test_text sunk;
    size_t i, j;
    memset(&sunk, 0, sizeof sunk);
    PASS_ON(prepare());
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 60; i++) {
        strcpy(names[i], "a");
        strcpy(quoted[i], "\"a");
        for (j = 0; j < 4000 + i; j++) {
            names[i][1 + j] = '"';
            memcpy(quoted[i] + 2 + 2 * j, "\\\"", 2);
        }
        strcpy(quoted[i] + 2 + 2 * j, "\"");
        for (j = 0; j < 3; j++) {
            prof_push(names[i]);
            prof_pop();
        }
    }
    trace = prof_stop();
    PASS_ON(test_write(trace, TEST_CHROME, &sunk));
    for (i = 0; i < 60; i++) {
        const char *at = sunk.data;
        for (j = 0; at && j < 3; j++) at = strstr(at + 1, quoted[i]);
        CHECK(at != NULL, "name %lu is there %lu times", (unsigned long)i, (unsigned long)j - 1);
    }
    test_text_clear(&sunk);
    EQUAL(empty_folder(), 0);
}

/* Writes the trace n times into the file of TRACE. */
static prof_result write_often(int n, prof_result *closed) {
    prof_result result = PROF_OK;
    prof_file file;
    if (prof_file_open(&file, TRACE) != PROF_OK) return PROF_ERROR_FILE;
    while (n-- && result == PROF_OK) result = prof_write_chrome(trace, NULL, file.sink);
    file.failed |= result != PROF_OK;
    *closed = prof_file_close(&file);
    return result;
}

/* A large file has what its writers wrote. */
static void test_file_large(void) {
    struct stat info;
    test_text sunk;
    prof_result closed;
    memset(&sunk, 0, sizeof sunk);
    PASS_ON(prepare());
    PASS_ON(test_write(trace, TEST_CHROME, &sunk));
    EQUAL(write_often(20, &closed), PROF_OK);
    EQUAL(closed, PROF_OK);
    EQUAL(stat(TRACE, &info), 0);
    EQUAL(info.st_size, 20 * sunk.size);
    CHECK((size_t)info.st_size > 4000000, "%lu bytes", (unsigned long)info.st_size);
    test_text_clear(&sunk);
    EQUAL(empty_folder(), 1);
}

/* What fails in a later writer; the signal for it, not ignored here, does not end the program. */
static void test_file_large_limit(void) {
    struct rlimit old, small;
    prof_result result, closed;
    int error;
    PASS_ON(prepare());
    signal(SIGXFSZ, SIG_DFL);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 2500000;
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) SKIP("no limit on the size of files");
    result = write_often(20, &closed);
    error = errno;
    setrlimit(RLIMIT_FSIZE, &old);
    EQUAL(result, PROF_ERROR_SINK);
    EQUAL(closed, PROF_ERROR_FILE);
    EQUAL(error, EFBIG);
    EQUAL(empty_folder(), 0);
}

int main(void) {
    RUN(test_save);
    RUN(test_save_replaces);
    RUN(test_save_mode);
    RUN(test_file_is_own);
    RUN(test_file_by_hand);
    RUN(test_pieces);
    RUN(test_pieces_kinds);
    RUN(test_long_names);
    RUN(test_file_full);
    RUN(test_save_no_folder);
    RUN(test_save_onto_folder);
    RUN(test_save_long_path);
    RUN(test_save_read_only_folder);
    RUN(test_save_disk_full);
    RUN(test_save_dev_full);
    RUN(test_save_descriptor);
    RUN(test_save_dev_null);
    RUN(test_save_follows_no_link);
    RUN(test_save_bad_arguments);
    RUN(test_save_gz_unsupported);
    RUN(test_file_large);
    RUN(test_file_large_limit);
    return test_end();
}
