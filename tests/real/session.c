/* A session around a workload. WORK_MODE: off, trace or sums; WORK_BYTES: of the arena;
   WORK_OUT: the file for what came out, a line for each figure and for each row; WORK_CLOCK: see
   clock.h. */
#define _GNU_SOURCE
#include "clock.h"
#define clock_gettime work_gettime
#define PROF_IMPLEMENTATION
#define PROF_INSTRUMENT_FUNCTIONS
#define PROF_ARENA_SIZE 4096             /* unused: the arena is mapped */
#include "prof.h"
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static struct rusage began;
static const char *mode;

static double cpu_seconds(const struct rusage *r) {
    return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
           (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
}

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void session(void) {
    const char *bytes = getenv("WORK_BYTES");
    prof_desc desc = { 0 };
    prof_result result;
    desc.mode = strcmp(mode, "sums") == 0 ? PROF_MODE_AGGREGATE : PROF_MODE_TRACE;
    desc.max_depth = 255;
    desc.max_threads = 4;
    desc.memory_size = bytes ? strtoull(bytes, NULL, 10) : (size_t)64 << 20;
    desc.memory = mmap(NULL, desc.memory_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (desc.memory == MAP_FAILED) fail("no memory for the arena");
    result = prof_start(&desc);
    if (result != PROF_OK) fail(prof_strerror(result));
}

void work_begin(void) {
    mode = getenv("WORK_MODE");
    if (!mode) mode = "off";
    work_clock_open();
    if (strcmp(mode, "off") != 0) session();
    getrusage(RUSAGE_SELF, &began);
}

static void tell_rows(FILE *out, prof_trace *trace) {
    prof_averages_desc averages = { 0 };
    size_t count = prof_key_averages(trace, &averages, NULL, 0);
    prof_average *rows = (prof_average *)calloc(count + 1, sizeof *rows);
    if (!rows || prof_key_averages(trace, &averages, rows, count) != count) fail("no averages");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "row %llu %lld %lld %s\n", (unsigned long long)rows[i].count,
                (long long)rows[i].self_cpu_time_total_ns, (long long)rows[i].cpu_time_total_ns,
                rows[i].key);
    free(rows);
}

void work_end(void) {
    const char *path = getenv("WORK_OUT");
    struct rusage ended;
    prof_trace *trace = NULL;
    FILE *out;
    getrusage(RUSAGE_SELF, &ended);
    work_clock_catch_up();
    if (strcmp(mode, "off") != 0) trace = prof_stop();
    if (!path || !(out = fopen(path, "w"))) return;
    fprintf(out, "seconds %f\n", cpu_seconds(&ended) - cpu_seconds(&began));
    if (trace) {
        prof_stats stats = prof_get_stats(NULL);
        fprintf(out, "later %llu\n", (unsigned long long)(stats.summed - stats.deep));
        fprintf(out, "recorded %llu\ndropped %llu\nhealed %llu\nunfinished %llu\nunbalanced %llu\n",
                (unsigned long long)stats.recorded, (unsigned long long)stats.dropped,
                (unsigned long long)stats.healed, (unsigned long long)stats.unfinished,
                (unsigned long long)stats.unbalanced);
        tell_rows(out, trace);
    }
    fclose(out);
}
