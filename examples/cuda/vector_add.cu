/* vector_add.cu: kernels, copies and streams in the table and the trace.

   Shows: prof_cuda_init, zones around launches, copies of pinned and pageable memory, four streams
          that overlap, and what is said where there is no GPU.
   Build: nvcc -O2 -I. examples/cuda/vector_add.cu -o vector_add      or: make cuda
   Run:   ./vector_add [trace.json]    then open the file at ui.perfetto.dev */

#include <cstdio>
#include <cstdlib>
#include <vector>

#define PROF_IMPLEMENTATION
#include "prof.h"
#define PROF_CUDA_IMPLEMENTATION
#include "prof_cuda.h"

enum { NUMBERS = 1 << 22, STREAMS = 4, ROUNDS = 25 };

__global__ void vec_add(const float *a, const float *b, float *sum, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) sum[i] = a[i] + b[i];
}

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "vector_add: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

/* One piece of the vectors for each stream. */
static void add(const float *a, const float *b, float *sum, cudaStream_t *streams) {
    const int part = NUMBERS / STREAMS;
    PROF_FUNCTION();
    for (int i = 0; i < STREAMS; i++)
        vec_add<<<part / 256, 256, 0, streams[i]>>>(a + i * part, b + i * part, sum + i * part, part);
    check(cudaGetLastError(), "launch");
}

static float run(void) {
    const size_t bytes = NUMBERS * sizeof(float);
    std::vector<float> a(NUMBERS, 1.0f), sum(NUMBERS);
    float *pinned, *da, *db, *dsum;
    cudaStream_t streams[STREAMS];
    PROF_FUNCTION();
    PROF_BLOCK("set-up") {
        check(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
        check(cudaMalloc(&da, bytes), "cudaMalloc");
        check(cudaMalloc(&db, bytes), "cudaMalloc");
        check(cudaMalloc(&dsum, bytes), "cudaMalloc");
        for (int i = 0; i < STREAMS; i++) check(cudaStreamCreate(&streams[i]), "cudaStreamCreate");
        for (int i = 0; i < NUMBERS; i++) pinned[i] = 2.0f;
    }
    PROF_BLOCK("copy in") {
        check(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        check(cudaMemcpy(db, pinned, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        check(cudaMemset(dsum, 0, bytes), "cudaMemset");
    }
    for (int i = 0; i < ROUNDS; i++) add(da, db, dsum, streams);
    PROF_BLOCK("copy out") {
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        check(cudaMemcpy(sum.data(), dsum, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    return sum[NUMBERS - 1];
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "trace.json";
    float last = 0;
    int devices = 0;

    prof_cuda_init(NULL);
    prof_start(NULL);
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) last = run();
    prof_trace *trace = prof_stop();

    printf("The last sum is %g.\n", last);
    prof_print_table(trace, NULL);
    if (prof_cuda_status()) fprintf(stderr, "vector_add: %s\n", prof_cuda_status());
    if (prof_save_chrome(trace, path) != PROF_OK) return 1;
    printf("Open %s at ui.perfetto.dev\n", path);
    return 0;
}
