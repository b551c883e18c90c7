/* What prof_cuda.h costs on this machine, without a GPU: bench_cuda [FILE]

   The launches are those of the tests' stand-in for CUPTI and the driver, so the figures hold what
   is ours: handing out buffers, decoding, keeping, joining. FILE is a JSON object that bench wrote:
   the figures are added to it. */
#define _GNU_SOURCE
#define PROF_IMPLEMENTATION
#include "prof.h"
#define PROF_CUDA_IMPLEMENTATION
#include "prof_cuda.h"
#include "../../tests/cuda/fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 7, LAUNCHES = 200000, MILLION = 1000000, DECODED = 1000, DECODE_ROUNDS = 51 };

static struct { const char *key; double value; } rows[4];
static size_t row_count;
static prof_cuda_desc desc;

static void fail(const char *why) {
    fprintf(stderr, "bench_cuda: %s\n", why);
    exit(2);
}

static double ns_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    const double *x = (const double *)a, *y = (const double *)b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void report(const char *key, double value, double limit, const char *what) {
    printf("%-20s %10.3f  <= %-6.2f %-5s %s\n", key, value, limit, value <= limit ? "ok" : "MISS",
           what);
    rows[row_count].key = key;
    rows[row_count++].value = value;
}

/* Adds the figures before the closing brace. */
static void add_to_json(const char *path) {
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (!file || !n || n == sizeof text - 1) fail("the file is none of bench's");
    fclose(file);
    while (n && text[n] != '}') n--;
    while (n && (text[n - 1] == '\n' || text[n - 1] == ' ')) n--;
    if (n < 2) fail("the file is none of bench's");
    file = fopen(path, "w");
    if (!file) fail("the file cannot be written");
    fwrite(text, 1, n, file);
    for (size_t i = 0; i < row_count; i++)
        fprintf(file, ",\n  \"%s\": %.4f", rows[i].key, rows[i].value);
    fputs("\n}\n", file);
    if (fclose(file)) fail("the file cannot be written");
}

static double launches(size_t count) {
    double start = ns_of(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < count; i++) fake_launch("_Z6vecAddPfS_S_i", i & 3, 1);
    return (ns_of(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)count;
}

static void start(void) {
    if (prof_start(NULL) != PROF_OK) fail("no session");
    if (prof_cuda_status()) fail(prof_cuda_status());
}

/* CPU time of all threads: launches with a session, less those without. */
static void figure_launch(void) {
    double added[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double off = launches(LAUNCHES);
        start();
        added[i] = launches(LAUNCHES) - off;
        prof_stop();
        if (prof_cuda_get_stats().lost) fail("records were lost");
    }
    report("cuda.launch_ns", median(added, ROUNDS), 150,
           "added to a launch: CUPTI's and our part of two records");
}

/* Kernel and call records in turns, as they lie in a buffer. */
static void figure_decode(void) {
    double each[DECODE_ROUNDS];
    start();
    for (int i = 0; i < DECODE_ROUNDS; i++) {
        uint8_t *buffer = NULL;
        size_t size = 0, most = 0, used = 0;
        prof_cuda__requested(&buffer, &size, &most);
        for (uint32_t k = 0; k < DECODED / 2; k++) {
            prof_cuda__call call;
            struct { prof_cuda__kernel known; uint64_t tail[7]; } kernel;
            memset(&call, 0, sizeof call);
            memset(&kernel, 0, sizeof kernel);
            call.kind = PROF_CUDA__RUNTIME_CALL;
            kernel.known.kind = PROF_CUDA__KERNEL;
            call.cbid = 211;
            call.thread = 1;
            call.correlation = kernel.known.correlation = k + 1;
            call.start = kernel.known.start = UINT64_MAX >> 3;
            kernel.known.end = call.end = call.start + 5;
            kernel.known.name = k % 3 ? "gemm" : "a kernel with a longer name<float, 128, 4>";
            kernel.known.stream = k % 5;
            memcpy(buffer + used, &call, sizeof call);
            memcpy(buffer + used + sizeof call, &kernel, sizeof kernel);
            used += sizeof call + sizeof kernel;
        }
        each[i] = ns_of(CLOCK_THREAD_CPUTIME_ID);
        prof_cuda__completed(NULL, 0, buffer, size, used);
        each[i] = (ns_of(CLOCK_THREAD_CPUTIME_ID) - each[i]) / DECODED;
    }
    if (prof_cuda_get_stats().kernels != DECODED / 2 * DECODE_ROUNDS) fail("records were lost");
    prof_stop();
    report("cuda.decode_ns", median(each, DECODE_ROUNDS), 70, "a record, taken over from CUPTI");
}

static void figure_million(void) {
    double begin;
    prof_cuda_stats s;
    start();
    launches(MILLION);
    begin = ns_of(CLOCK_MONOTONIC);
    prof_stop();
    begin = ns_of(CLOCK_MONOTONIC) - begin;
    s = prof_cuda_get_stats();
    if (s.kernels + s.lost != MILLION && !s.lost) fail("records were lost");
    report("cuda.bytes", (double)s.bytes_used / MILLION, 112, "kept for a launch: kernel and call");
    report("cuda.stop_ms", begin / 1e6, 1000, "prof_stop after a million launches");
}

int main(int argc, char **argv) {
    fake_reset();
    desc.symbol = fake_symbol;
    desc.memory_size = prof_cuda_memory_size(&desc, MILLION);
    desc.memory = malloc(desc.memory_size);
    if (!desc.memory || prof_cuda_init(&desc) != PROF_OK) fail("no memory");
    memset(desc.memory, 1, desc.memory_size);   /* first touches are the system's */
    prof_cuda_shutdown();
    if (prof_cuda_init(&desc) != PROF_OK) fail("no session");
    figure_launch();
    figure_decode();
    figure_million();
    if (argc > 1) add_to_json(argv[1]);
    return 0;
}
