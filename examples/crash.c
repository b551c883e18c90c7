/* A flight recorder: PROF_MODE_RING keeps each thread's last zones in fixed memory for as long as
   the program runs; when it crashes, its signal handler dumps them. This program crashes on purpose
   in a worker thread. What it was doing tells the prof command, on this machine or any other:

       cc -O2 -I. examples/crash.c examples/prof.c -o crash -lpthread && ./crash [crash.prof]
       prof decode crash.prof | grep finished         the zones that were open, and for how long
       prof decode crash.prof -o crash.json           all of them, for ui.perfetto.dev
       prof report crash.prof                         as a table */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prof.h"

static int dump_file;

static bool write_file(void *file, const void *data, size_t size) {
    return write(*(int *)file, data, size) == (ssize_t)size;
}

/* Nothing in here but what a signal handler may call. The signal then takes its course. */
static void on_crash(int number) {
    prof_sink sink = { write_file, &dump_file };
    prof_dump(sink);
    signal(number, SIG_DFL);
    raise(number);
}

static unsigned parse(const volatile unsigned *numbers, unsigned count) {
    unsigned sum = 0;
    PROF_FUNCTION();
    for (unsigned i = 0; i < count; i++) sum += numbers[i];
    return sum;
}

static void handle_request(unsigned id) {
    static const unsigned numbers[256] = { 1, 2, 3 };
    PROF_FUNCTION();
    prof_counter("request", id);
    parse(id == 20000 ? NULL : numbers, 256);        /* request 20000 is the bad one */
}

static void *worker(void *unused) {
    (void)unused;
    prof_set_thread_name("worker");
    for (unsigned id = 1;; id++) handle_request(id);
    return NULL;
}

static void run_and_crash(const char *path) {
    static char memory[1 << 20];
    pthread_t thread;
    prof_desc desc = { 0 };
    desc.mode = PROF_MODE_RING;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 4;
    desc.keep = PROF_KEEP_RECORDS;       /* no room for events: the dump is all we want */
    dump_file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    signal(SIGSEGV, on_crash);
    if (dump_file < 0 || prof_start(&desc) != PROF_OK) exit(1);
    pthread_create(&thread, NULL, worker, NULL);
    PROF_SCOPE("main waits");
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "crash.prof";
    int status = 0;
    pid_t child = fork();
    if (!child) run_and_crash(path);
    waitpid(child, &status, 0);
    printf("The program ended by signal %d. What was it doing?  prof decode %s | grep finished\n",
           WIFSIGNALED(status) ? WTERMSIG(status) : 0, path);
    return !WIFSIGNALED(status);
}
