/* Writes the traces of a job of many ranks, as PyTorch has them:
       many_ranks FOLDER RANKS EVENTS       writes FOLDER/rank0.json.gz, ..., of so many events each
   Layers of two ops, a launch and a kernel; an allreduce after each ten. A higher rank's kernels
   take up to 0.5 us longer, and who is done first waits in the allreduce. */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { US = 20, OPS = 40 };

typedef struct job {
    gzFile out;
    long rank, ranks, number;
    unsigned long state;
} job;

/* No two durations are alike, as in life: 0 to 999 ns. */
static long some_ns(job *j) {
    j->state = j->state * 1103515245 + 12345;
    return (long)(j->state >> 16) % 1000;
}

static void call(job *j, const char *category, const char *name, long layer, long ts, long ns,
                 const char *more) {
    int place = *category == 'k' ? 7 : 100;      /* stream 7 of device 0 */
    gzprintf(j->out, "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s%ld\",\"pid\":%d,\"tid\":%d,"
                     "\"ts\":%ld.%03ld,\"dur\":%ld.%03ld%s}",
             j->number ? ",\n" : "", category, name, layer % OPS,
             place == 7 ? 0 : place, place, ts / 1000, ts % 1000, ns / 1000, ns % 1000, more);
    j->number++;
}

/* A layer takes 20 us on the host and on the device. */
static void layer(job *j, long number, long ts) {
    char launch[80], kernel[120];
    long id = j->number + 1, wait = 900 * (j->ranks - 1 - j->rank) / j->ranks;
    long ns = 12000 + 100 * (number % OPS);
    int all = number % 10 == 9;
    snprintf(launch, sizeof launch, ",\"args\":{\"correlation\":%ld}", id);
    snprintf(kernel, sizeof kernel,
             ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":%ld}", id);
    call(j, "cpu_op", "layer::forward", number, ts, 17500 + some_ns(j), "");
    call(j, "cpu_op", "aten::addmm", number, ts + some_ns(j), 15000 + some_ns(j), "");
    call(j, "cuda_runtime", "cudaLaunchKernel", 0, ts + 3000, 4000 + some_ns(j), launch);
    if (all) call(j, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, ts + 5000,
                  9000 + some_ns(j) + wait, kernel);
    else call(j, "kernel", "gemm_128x128_", number, ts + 5000,
              ns + 3 * some_ns(j) + 500 * j->rank / j->ranks, kernel);
}

static int write_rank(const char *folder, long rank, long ranks, long events) {
    char path[4096];
    job j = {NULL, rank, ranks, 0, (unsigned long)rank};
    snprintf(path, sizeof path, "%s/rank%ld.json.gz", folder, rank);
    j.out = gzopen(path, "wb1");
    if (!j.out) return 1;
    gzprintf(j.out, "{\"schemaVersion\":1,\"baseTimeNanoseconds\":1767189312000000000,"
                    "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%ld,\"world_size\":%ld},\n"
                    "\"traceEvents\":[\n", rank, ranks);
    for (long i = 0, ts = 1000; j.number < events; i++, ts += US * 1000) layer(&j, i, ts);
    gzprintf(j.out, "\n]}\n");
    return gzclose(j.out) != Z_OK;
}

int main(int argc, char **argv) {
    long ranks = argc == 4 ? atol(argv[2]) : 0;
    if (ranks < 1) return 2;
    for (long rank = 0; rank < ranks; rank++)
        if (write_rank(argv[1], rank, ranks, atol(argv[3]))) return 1;
    return 0;
}
