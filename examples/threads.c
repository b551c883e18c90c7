/* threads.c: zones on many threads.

   Shows: workers with names, short-lived threads, a counter and an instant. Each thread records
          on its own; nothing here is locked for the profiler.
   Build: cc -std=c99 -O2 -I. examples/threads.c examples/prof.c -o threads -pthread
   Run:   ./threads [trace.json]    then open the file at ui.perfetto.dev */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "prof.h"

enum { WORKERS = 3, RANGES = 60, RANGE = 5000, HELPERS = 24, HELPER_RANGE = 500 };
enum { END = RANGES * RANGE + HELPERS * HELPER_RANGE };

/* The ranges of numbers still to be searched for primes, and what was found. */
static struct {
    pthread_mutex_t lock;
    int next;
    int primes;
} work = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

static int is_prime(int n) {
    for (int d = 2; d * d <= n; d++) {
        if (n % d == 0) return 0;
    }
    return n > 1;
}

static int count_primes(int first, int count) {
    PROF_FUNCTION();
    int primes = 0;
    for (int n = first; n < first + count; n++) primes += is_prime(n);
    return primes;
}

/* Hands out the next range, or -1. */
static int take_range(void) {
    PROF_FUNCTION();
    pthread_mutex_lock(&work.lock);
    int range = work.next < RANGES ? work.next++ : -1;
    prof_counter("ranges left", RANGES - work.next);
    pthread_mutex_unlock(&work.lock);
    if (range == RANGES / 2) prof_instant("half way");
    return range;
}

static void add_primes(int primes) {
    PROF_FUNCTION();
    pthread_mutex_lock(&work.lock);
    work.primes += primes;
    pthread_mutex_unlock(&work.lock);
}

static void *worker(void *name) {
    prof_set_thread_name((const char *)name);
    PROF_SCOPE("worker");
    for (int range = take_range(); range >= 0; range = take_range()) {
        add_primes(count_primes(range * RANGE, RANGE));
    }
    return NULL;
}

/* Lives for one small range; its room in the profiler goes to the next thread. */
static void *helper(void *first) {
    PROF_SCOPE("helper");
    add_primes(count_primes(*(int *)first, HELPER_RANGE));
    return NULL;
}

static int start_thread(pthread_t *thread, void *(*run)(void *), void *argument) {
    if (pthread_create(thread, NULL, run, argument) == 0) return 1;
    fprintf(stderr, "threads: no thread could be started\n");
    return 0;
}

static int run_workers(void) {
    static char names[WORKERS][16] = {"worker A", "worker B", "worker C"};
    pthread_t threads[WORKERS];
    int started = 0;

    PROF_FUNCTION();
    while (started < WORKERS && start_thread(&threads[started], worker, names[started])) started++;
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return started == WORKERS;
}

static int run_helpers(void) {
    PROF_FUNCTION();
    for (int first = RANGES * RANGE; first < END; first += HELPER_RANGE) {
        pthread_t thread;
        if (!start_thread(&thread, helper, &first)) return 0;
        pthread_join(thread, NULL);
    }
    return 1;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "trace.json";

    prof_start(NULL);
    prof_set_thread_name("main");
    int ok = run_workers() && run_helpers();
    prof_trace *trace = prof_stop();
    if (!ok) return EXIT_FAILURE;

    printf("There are %d primes below %d.\n", work.primes, END);
    printf("%d threads recorded.\n", (int)prof_get_stats(NULL).threads);
    prof_print_table(trace, NULL);
    prof_result result = prof_save_chrome(trace, path);
    if (result != PROF_OK) {
        fprintf(stderr, "threads: %s: %s\n", path, prof_strerror(result));
        return EXIT_FAILURE;
    }
    printf("Open %s at ui.perfetto.dev\n", path);
    return EXIT_SUCCESS;
}
