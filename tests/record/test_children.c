/* prof_start_env makes no thread and no process, and leaves the children of the program alone. */
#include "../test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void begin(void) {
    setenv("PROF_TRACE", TEST_OUT "/children.raw", 1);
    EQUAL(prof_start_env(NULL), PROF_OK);
    PROF_BLOCK("parent") {}
}

static int status_of(pid_t child) {          /* -1: it did not end within ten seconds */
    int status = 0, i;
    for (i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(10000);
    if (i < 1000) return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

/* A child as of _Fork: no handler of fork has run in it. */
static pid_t copied(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL); }

static void test_copy_ends(void) {
    pid_t child;
    PASS_ON(begin());
    child = copied();
    if (!child) {
        PROF_BLOCK("child") {}
        exit(3);
    }
    EQUAL(status_of(child), 3);
    EQUAL(prof_stop_env(), PROF_OK);
}

static void test_copy_full(void) {           /* its stream finds no way out */
    pid_t child;
    setenv("PROF_MEMORY", "256K", 1);
    PASS_ON(begin());
    child = copied();
    if (!child) {
        int i;
        for (i = 0; i < 100000; i++) PROF_BLOCK("child") {}
        _exit(prof_stop() != NULL || prof_flush() != PROF_ERROR_STATE ? 4 : 3);
    }
    EQUAL(status_of(child), 3);
    PROF_BLOCK("parent") {}
    EQUAL(prof_get_stats(NULL).recorded, 2);
    EQUAL(prof_stop_env(), PROF_OK);
    unsetenv("PROF_MEMORY");
}

/* A child of vfork shares its parent's stack of zones, and the count of those that had no room; not
   under TSan, which makes it a fork. */
static void test_vfork_where_full(void) {
    static char memory[64 << 10];
    static volatile bool shared;
    prof_desc desc;
    pid_t child;
    int i;
    uint64_t before;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.when_full = PROF_FULL_DROP;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("outer");
    for (i = 0; i < 10000; i++) PROF_BLOCK("fill") {}
    PROF_BEGIN("dropped");
    before = prof_get_stats(NULL).dropped;
    child = vfork();
    if (!child) {
        shared = true;
        PROF_BEGIN("in the child");
        PROF_BEGIN("deeper in it");
        _exit(3);
    }
    EQUAL(status_of(child), 3);
    EQUAL(prof_get_stats(NULL).dropped, before + (shared ? 2u : 0u));
    PROF_END();
    PROF_END();
    prof_stop();
    CHECK(prof_get_stats(NULL).dropped_full > 0, "all had room");
    EQUAL(prof_get_stats(NULL).unbalanced, 0);
    EQUAL(prof_get_stats(NULL).unfinished, 0);
}

static void test_no_child(void) {            /* as a tracer waits */
    PASS_ON(begin());
    EQUAL(waitpid(-1, NULL, 0x40000000 /* __WALL */), -1);
    EQUAL(errno, ECHILD);
    EQUAL(prof_stop_env(), PROF_OK);
}

static void test_no_thread(void) {           /* unshare(CLONE_NEWUSER) takes no other */
    DIR *tasks;
    struct dirent *task;
    int count = 0;
    PASS_ON(begin());
    tasks = opendir("/proc/self/task");
    while (tasks && (task = readdir(tasks)) != NULL) count += task->d_name[0] != '.';
    if (tasks) closedir(tasks);
    EQUAL(count, 1);
    EQUAL(prof_stop_env(), PROF_OK);
}

int main(void) {
    RUN(test_copy_ends);
    RUN(test_copy_full);
    RUN(test_vfork_where_full);
    RUN(test_no_child);
    RUN(test_no_thread);
    return test_end();
}
