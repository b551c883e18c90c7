/* prof_save_chrome and the file system: all or nothing under the final name. */
#include "../test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER TEST_OUT "/test_files"
#define TRACE FOLDER "/trace.json"

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

/* The disk is full half-way: the old file stays, nothing else does. */
static void test_save_disk_full(void) {
    struct rlimit old, small;
    prof_result result;
    test_text file;
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
    memset(&file, 0, sizeof file);
    PASS_ON(test_read_file(TRACE, &file));
    SAME_TEXT(file.data, "an older file");
    test_text_clear(&file);
    EQUAL(empty_folder(), 1);
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

int main(void) {
    RUN(test_save);
    RUN(test_save_replaces);
    RUN(test_save_mode);
    RUN(test_file_by_hand);
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
    return test_end();
}
