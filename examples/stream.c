/* Streaming: PROF_MODE_STREAM holds a few chunks of memory however long the program runs. A thread
   of our own writes them to a file as they fill. Killed at any moment (kill -9), the program leaves
   a file that loads up to the last flush.

       cc -std=c99 -O2 -I. examples/stream.c examples/prof.c -o stream -lpthread
       ./stream trace.json        a Chrome JSON array, for ui.perfetto.dev
       ./stream trace.prof 60     the raw stream, smaller and faster, for 60 s (default: 1) */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prof.h"

static bool write_file(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size && fflush((FILE *)file) == 0;
}

/* The sleep is a zone too: it shows in the trace. */
static volatile bool running = true;

static void sleep_ms(long ms) {
    struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&pause, NULL);
}

static void *drain(void *unused) {
    (void)unused;
    prof_set_thread_name("drain");
    while (running) {
        PROF_BLOCK("flush") prof_flush();
        PROF_BLOCK("sleep") sleep_ms(5);
    }
    return NULL;
}

/* ---- The work: primes, by trial division ---- */

static bool is_prime(unsigned n) {
    PROF_FUNCTION();
    for (unsigned i = 2; i * i <= n; i++)
        if (n % i == 0) return false;
    return n > 1;
}

static unsigned count_primes(unsigned from, unsigned to) {
    unsigned count = 0;
    PROF_FUNCTION();
    for (; from < to; from++) count += is_prime(from);
    prof_counter("primes", count);
    return count;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "trace.json";
    int seconds = argc > 2 ? atoi(argv[2]) : 1;
    FILE *file = fopen(path, "wb");
    prof_desc desc = { 0 };
    pthread_t drainer;
    prof_stats stats;
    if (!file) {
        perror(path);
        return 1;
    }
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = write_file;
    desc.stream.user = file;
    desc.stream_format = strstr(path, ".json") ? PROF_STREAM_CHROME : PROF_STREAM_RAW;
    desc.max_threads = 4;
    if (prof_start(&desc) != PROF_OK) return 1;
    pthread_create(&drainer, NULL, drain, NULL);
    for (unsigned n = 0; prof_now() < seconds * INT64_C(1000000000); n += 100) {
        count_primes(n % 100000, n % 100000 + 100);
        if (n % 10000 == 0) sleep_ms(1);
    }
    running = false;
    pthread_join(drainer, NULL);
    prof_stop();                         /* writes what is left */
    stats = prof_get_stats(NULL);
    fclose(file);
    printf("%llu zones, %llu dropped, threads waited %llu us; %s\n",
           (unsigned long long)stats.recorded, (unsigned long long)stats.dropped,
           (unsigned long long)stats.stalled_us, path);
    return 0;
}
