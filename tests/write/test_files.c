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

/* Pieces are whole pages; the large buffer is one writer's, others have a small one. */
static void test_pieces(void) {
    within w;
    prof_sink sink = { write_within, NULL };
    memset(&w, 0, sizeof w);
    sink.user = &w;
    PASS_ON(prepare());
    EQUAL(prof_write_chrome(trace, NULL, sink), PROF_OK);
    EQUAL(w.outer.size, w.inner.size);
    EQUAL(memcmp(w.outer.data, w.inner.data, w.inner.size), 0);
    EQUAL(w.inner.calls, (w.inner.size + 8191) / 8192);
    EQUAL(w.outer.calls, (w.outer.size + 65535) / 65536);
    test_text_clear(&w.inner);
    PASS_ON(test_write(trace, TEST_CHROME, &w.inner));
    EQUAL(w.inner.calls, w.outer.calls);
    test_text_clear(&w.inner);
    test_text_clear(&w.outer);
}

/* ---- files that a thread of their own writes ---- */

static char behind_memory[600000];

/* All writers' output in one file; size 0: as the caller writes it. */
static void write_all(const char *path, size_t size) {
    prof_file file;
    int writer;
    EQUAL(prof_file_open(&file, path), PROF_OK);
    if (size) EQUAL(prof_file_write_behind(&file, behind_memory + size % 16, size), PROF_OK);
    for (writer = 0; writer < TEST_WRITERS; writer++)
        EQUAL(test_write_to(trace, writer, file.sink), PROF_OK);
    EQUAL(access(path, F_OK), -1);
    EQUAL(prof_file_close(&file), PROF_OK);
    EQUAL(prof_file_close(&file), PROF_ERROR_STATE);
}

/* The file is the same to the byte, for a small trace and a large one, in memory of any size. */
static void same_behind(const char *path, size_t size) {
    test_text usual, behind;
    memset(&usual, 0, sizeof usual);
    memset(&behind, 0, sizeof behind);
    PASS_ON(write_all(path, 0));
    PASS_ON(test_read_file(path, &usual));
    EQUAL(unlink(path), 0);
    PASS_ON(write_all(path, size));
    PASS_ON(test_read_file(path, &behind));
    EQUAL(unlink(path), 0);
    EQUAL(usual.size, behind.size);
    EQUAL(memcmp(usual.data, behind.data, usual.size), 0);
    test_text_clear(&usual);
    test_text_clear(&behind);
}

static void test_behind_same(void) {
    static const size_t sizes[] = { 16384, 16397, 20011, 131072, 599000 };
    prof_desc desc = test_desc();
    size_t i;
    PASS_ON(prepare());
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        PASS_ON(same_behind(TRACE, sizes[i]));
        PASS_ON(same_behind(ZIPPED, sizes[i]));
    }
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("alone") { test_time.tick += 500; }
    trace = prof_stop();
    PASS_ON(same_behind(TRACE, 16384));
    EQUAL(empty_folder(), 0);
}

/* More names than the writer keeps texts of, some longer than these, some escaped. */
static char some_names[300][160];

static void some_details(void) {
    prof_shape shape;
    memset(&shape, 0, sizeof shape);
    prof_set_shapes(&shape, NULL, 1);
    prof_set_arg("an argument", "\"quoted\"");
    prof_set_flops(test_random(1000));
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

/* The same for traces of all kinds of events, which piece ends cut anywhere. */
static void test_behind_kinds(void) {
    static const size_t sizes[] = { 16384, 20011, 599000 };
    size_t i;
    PASS_ON(prepare());
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        PASS_ON(record_some());
        PASS_ON(same_behind(TRACE, sizes[i]));
        PASS_ON(same_behind(ZIPPED, sizes[i]));
    }
    EQUAL(empty_folder(), 0);
}

/* Writes the trace n times into the file of TRACE. */
static prof_result write_often(int n, bool behind, prof_result *closed) {
    prof_result result = PROF_OK;
    prof_file file;
    if (prof_file_open(&file, TRACE) != PROF_OK) return PROF_ERROR_FILE;
    if (behind) prof_file_write_behind(&file, behind_memory, sizeof behind_memory);
    while (n-- && result == PROF_OK) result = prof_write_chrome(trace, NULL, file.sink);
    file.failed |= result != PROF_OK;
    *closed = prof_file_close(&file);
    return result;
}

/* A large file takes no more of the disk than it needs: room that was asked for goes back. */
static void test_file_large(void) {
    struct stat info;
    test_text sunk;
    prof_result closed;
    int behind;
    memset(&sunk, 0, sizeof sunk);
    PASS_ON(prepare());
    PASS_ON(test_write(trace, TEST_CHROME, &sunk));
    for (behind = 0; behind < 2; behind++) {
        EQUAL(write_often(20, behind, &closed), PROF_OK);
        EQUAL(closed, PROF_OK);
        EQUAL(stat(TRACE, &info), 0);
        EQUAL(info.st_size, 20 * sunk.size);
        CHECK((size_t)info.st_size > 4000000, "%lu bytes", (unsigned long)info.st_size);
        CHECK(info.st_blocks * 512 < info.st_size + 300000, "%lu bytes on the disk",
              (unsigned long)info.st_blocks * 512);
    }
    test_text_clear(&sunk);
    EQUAL(empty_folder(), 1);
}

/* It may not become as large as the room that is asked for: told as for a small one. */
static void test_file_large_limit(void) {
    struct rlimit old, small;
    prof_result result, closed;
    int behind, error;
    PASS_ON(prepare());
    signal(SIGXFSZ, SIG_DFL);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 2500000;
    for (behind = 0; behind < 2; behind++) {
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) SKIP("no limit on the size of files");
        result = write_often(20, behind, &closed);
        error = errno;
        setrlimit(RLIMIT_FSIZE, &old);
        EQUAL(result, PROF_ERROR_SINK);
        EQUAL(closed, PROF_ERROR_FILE);
        EQUAL(error, EFBIG);
        EQUAL(empty_folder(), 0);
    }
}

/* How many threads this process has; 0: it cannot be told. */
static int threads_now(void) {
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int n = 0;
    while (folder && (entry = readdir(folder)) != NULL) n += entry->d_name[0] != '.';
    if (folder) closedir(folder);
    return n;
}

/* One thread more, until close. */
static void test_behind_thread(void) {
    int before = threads_now();
    prof_file file;
    PASS_ON(prepare());
    if (!before) SKIP("there is no /proc");
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    EQUAL(threads_now(), before);
    EQUAL(prof_file_write_behind(&file, behind_memory, sizeof behind_memory), PROF_OK);
    EQUAL(threads_now(), before + 1);
    EQUAL(prof_write_chrome(trace, NULL, file.sink), PROF_OK);
    EQUAL(prof_file_close(&file), PROF_OK);
    PASS_ON(same_as_sink(TRACE));
    EQUAL(empty_folder(), 1);
}

static void nap(void) {
    struct timespec some = { 0, 20000000 };
    nanosleep(&some, NULL);
}

/* Reads a pipe to its end, late and in two naps. */
static void *read_late(void *into) {
    test_text *text = (test_text *)into;
    prof_sink sink = test_text_sink(text);
    char part[4096];
    ssize_t n;
    int pipe = open(TRACE, O_RDONLY);
    nap();
    while ((n = read(pipe, part, sizeof part)) > 0) {
        if (text->size < 100000 && text->size + (size_t)n >= 100000) nap();
        sink.write(sink.user, part, (size_t)n);
    }
    close(pipe);
    return NULL;
}

/* The caller has to sleep until the thread has written, and the thread until there is more. */
static void test_behind_sleeps(void) {
    test_text sunk, piped;
    pthread_t reader;
    prof_file file;
    int i;
    memset(&sunk, 0, sizeof sunk);
    memset(&piped, 0, sizeof piped);
    PASS_ON(prepare());
    if (mkfifo(TRACE, 0666) != 0) SKIP("no pipes here");
    EQUAL(pthread_create(&reader, NULL, read_late, &piped), 0);
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    EQUAL(prof_file_write_behind(&file, behind_memory, 16384), PROF_OK);
    for (i = 0; i < 2; i++) {
        EQUAL(prof_write_chrome(trace, NULL, file.sink), PROF_OK);
        EQUAL(test_write(trace, TEST_CHROME, &sunk), PROF_OK);
        nap();
    }
    EQUAL(prof_file_close(&file), PROF_OK);
    pthread_join(reader, NULL);
    EQUAL(piped.size, sunk.size);
    EQUAL(memcmp(piped.data, sunk.data, sunk.size), 0);
    test_text_clear(&piped);
    test_text_clear(&sunk);
    EQUAL(empty_folder(), 1);
}

/* There is no memory for a thread's stack: the caller writes. To be the first that asks for a
   thread: stacks of those that have ended are taken again. */
static void test_behind_no_thread(void) {
    struct rlimit old, small;
    int before = threads_now(), now;
    prof_file file;
    prof_result result;
    PASS_ON(prepare());
    if (TEST_SANITIZED) SKIP("sanitizers need memory");
    if (!before) SKIP("there is no /proc");
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    getrlimit(RLIMIT_AS, &old);
    small = old;
    small.rlim_cur = 1 << 20;
    if (setrlimit(RLIMIT_AS, &small) != 0) SKIP("no limit on memory");
    result = prof_file_write_behind(&file, behind_memory, sizeof behind_memory);
    setrlimit(RLIMIT_AS, &old);
    EQUAL(result, PROF_OK);
    now = threads_now();
    EQUAL(now, before);
    EQUAL(prof_write_chrome(trace, NULL, file.sink), PROF_OK);
    EQUAL(prof_file_close(&file), PROF_OK);
    PASS_ON(same_as_sink(TRACE));
    EQUAL(prof_file_open(&file, "/dev/full"), PROF_OK);
    setrlimit(RLIMIT_AS, &small);
    result = prof_file_write_behind(&file, behind_memory, 16384);
    setrlimit(RLIMIT_AS, &old);
    EQUAL(result, PROF_OK);
    EQUAL(prof_write_chrome(trace, NULL, file.sink), PROF_ERROR_SINK);
    EQUAL(prof_file_close(&file), PROF_ERROR_FILE);
    EQUAL(errno, ENOSPC);
    EQUAL(empty_folder(), 1);
}

/* What fails while close writes the rest, and what fails before: close says it. */
static void test_behind_device_full(void) {
    prof_file file;
    if (access("/dev/full", W_OK) != 0) SKIP("there is no /dev/full");
    PASS_ON(prepare());
    EQUAL(prof_file_open(&file, "/dev/full"), PROF_OK);
    EQUAL(prof_file_write_behind(&file, behind_memory, sizeof behind_memory), PROF_OK);
    EQUAL(prof_write_table(trace, NULL, file.sink), PROF_OK);
    errno = 0;
    EQUAL(prof_file_close(&file), PROF_ERROR_FILE);
    EQUAL(errno, ENOSPC);
    EQUAL(prof_file_open(&file, "/dev/full"), PROF_OK);
    EQUAL(prof_file_write_behind(&file, behind_memory, 16384), PROF_OK);
    EQUAL(prof_write_chrome(trace, NULL, file.sink), PROF_ERROR_SINK);
    EQUAL(file.failed, true);
    errno = 0;
    EQUAL(prof_file_close(&file), PROF_ERROR_FILE);
    EQUAL(errno, ENOSPC);
    EQUAL(empty_folder(), 0);
}

/* The disk is full half-way; the signal for it, not ignored here, does not end the program. */
static void test_behind_disk_full(void) {
    struct rlimit old, small;
    prof_file file;
    prof_result result;
    PASS_ON(prepare());
    PASS_ON(write_text(TRACE, "an older file"));
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 70000;
    signal(SIGXFSZ, SIG_DFL);
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    EQUAL(prof_file_write_behind(&file, behind_memory, 16384), PROF_OK);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) SKIP("no limit on the size of files");
    result = prof_write_chrome(trace, NULL, file.sink);
    errno = 0;
    EQUAL(prof_file_close(&file), PROF_ERROR_FILE);
    EQUAL(errno, EFBIG);
    setrlimit(RLIMIT_FSIZE, &old);
    EQUAL(result, PROF_ERROR_SINK);
    PASS_ON(older_file_stays());
}

static void test_behind_bad_arguments(void) {
    prof_file file;
    PASS_ON(prepare());
    EQUAL(prof_file_open(&file, TRACE), PROF_OK);
    EQUAL(prof_file_write_behind(NULL, behind_memory, 16384), PROF_ERROR_INVALID);
    EQUAL(prof_file_write_behind(&file, NULL, 16384), PROF_ERROR_INVALID);
    EQUAL(prof_file_write_behind(&file, behind_memory, 16383), PROF_ERROR_INVALID);
    EQUAL(prof_file_write_behind(&file, behind_memory, 16384), PROF_OK);
    EQUAL(prof_file_write_behind(&file, behind_memory, 16384), PROF_ERROR_STATE);
    file.failed = true;                  /* what the program says goes here, too */
    EQUAL(prof_file_close(&file), PROF_ERROR_FILE);
    EQUAL(prof_file_write_behind(&file, behind_memory, 16384), PROF_ERROR_STATE);
    EQUAL(empty_folder(), 0);
}

int main(void) {
    RUN(test_behind_no_thread);
    RUN(test_save);
    RUN(test_save_replaces);
    RUN(test_save_mode);
    RUN(test_file_by_hand);
    RUN(test_pieces);
    RUN(test_file_full);
    RUN(test_save_no_folder);
    RUN(test_save_onto_folder);
    RUN(test_save_long_path);
    RUN(test_save_read_only_folder);
    RUN(test_save_disk_full);
    RUN(test_save_dev_full);
    RUN(test_save_dev_null);
    RUN(test_save_follows_no_link);
    RUN(test_save_bad_arguments);
    RUN(test_save_gz_unsupported);
    RUN(test_behind_same);
    RUN(test_behind_kinds);
    RUN(test_file_large);
    RUN(test_file_large_limit);
    RUN(test_behind_thread);
    RUN(test_behind_sleeps);
    RUN(test_behind_device_full);
    RUN(test_behind_disk_full);
    RUN(test_behind_bad_arguments);
    return test_end();
}
