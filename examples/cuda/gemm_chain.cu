/* gemm_chain.cu: matrix products one after the other, then the same as a CUDA graph.

   Shows: a schedule with steps, kernels of a graph as kernels of their own, the time of a product
          beside its launch's.
   Build: nvcc -O2 -I. examples/cuda/gemm_chain.cu -o gemm_chain      or: make cuda
   Run:   ./gemm_chain [trace.json] */

#include <cstdio>
#include <cstdlib>

#define PROF_IMPLEMENTATION
#include "prof.h"
#define PROF_CUDA_IMPLEMENTATION
#include "prof_cuda.h"

enum { N = 512, TILE = 16, CHAIN = 8, STEPS = 6 };

template <int tile> __global__ void gemm(const float *a, const float *b, float *c, int n) {
    __shared__ float as[tile][tile], bs[tile][tile];
    int row = (int)blockIdx.y * tile + (int)threadIdx.y;
    int column = (int)blockIdx.x * tile + (int)threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += tile) {
        as[threadIdx.y][threadIdx.x] = a[row * n + k + (int)threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(k + (int)threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum / (float)n;
}

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "gemm_chain: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

/* x = m x, CHAIN times, there and back. */
static void chain(const float *m, float *x, float *y, cudaStream_t stream) {
    const dim3 grid(N / TILE, N / TILE), block(TILE, TILE);
    PROF_FUNCTION();
    for (int i = 0; i < CHAIN; i++) {
        gemm<TILE><<<grid, block, 0, stream>>>(m, i % 2 ? y : x, i % 2 ? x : y, N);
    }
}

static cudaGraphExec_t capture(const float *m, float *x, float *y, cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    PROF_FUNCTION();
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    chain(m, x, y, stream);
    check(cudaStreamEndCapture(stream, &graph), "end capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    check(cudaGraphDestroy(graph), "destroy");
    return exec;
}

static void run(void) {
    const size_t bytes = (size_t)N * N * sizeof(float);
    float *m, *x, *y;
    cudaStream_t stream;
    cudaGraphExec_t graph;
    check(cudaMalloc(&m, bytes), "cudaMalloc");
    check(cudaMalloc(&x, bytes), "cudaMalloc");
    check(cudaMalloc(&y, bytes), "cudaMalloc");
    check(cudaMemset(m, 0, bytes), "cudaMemset");
    check(cudaMemset(x, 0, bytes), "cudaMemset");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    graph = capture(m, x, y, stream);
    for (int step = 0; step < STEPS; step++) {
        PROF_BLOCK("launches") { chain(m, x, y, stream); }
        PROF_BLOCK("graph") { check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch"); }
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        prof_step();
    }
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "trace.json";
    prof_desc desc = {};
    int devices = 0;
    desc.schedule.wait = 1;              /* the first step loads modules */
    desc.schedule.warmup = 1;
    desc.schedule.active = 3;
    desc.schedule.repeat = 1;

    prof_cuda_init(NULL);
    prof_start(&desc);
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) run();
    else fprintf(stderr, "gemm_chain: no GPU\n");
    prof_trace *trace = prof_stop();

    prof_print_table(trace, NULL);
    if (prof_cuda_status()) fprintf(stderr, "gemm_chain: %s\n", prof_cuda_status());
    if (prof_save_chrome(trace, path) != PROF_OK) return 1;
    printf("Open %s at ui.perfetto.dev\n", path);
    return 0;
}
