/* What tools/dev/cuda_acceptance.cu needs of CUDA's runtime, on the stand-in for the driver and
   CUPTI: the program's own logic then runs where there is no GPU, and no nvcc. */
#ifndef FAKE_RUNTIME_H
#define FAKE_RUNTIME_H

#include "fake_cupti.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventElapsedTime(float *ms, void *from, void *to);
int cuEventSynchronize(void *event);
int cuCtxSynchronize(void);
int cuptiSubscribe(void **handle, void (*callback)(void *, int, uint32_t, const void *),
                   void *user);
}

typedef int cudaError_t;
typedef void *cudaEvent_t;
typedef uint32_t cudaStream_t;           /* the stand-in's number */
typedef struct { const char *kernels[64]; uint32_t count; } fake_graph_t;
typedef fake_graph_t *cudaGraph_t, *cudaGraphExec_t;
enum { cudaSuccess = 0, cudaStreamNonBlocking = 1, cudaStreamCaptureModeThreadLocal = 1 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

static fake_graph_t *fake_capture;
static const void *fake_pinned;

static uint64_t fake_address = 0x700000000;

static inline const char *cudaGetErrorString(cudaError_t) { return "the stand-in fails"; }
static inline cudaError_t cudaGetDeviceCount(int *count) { return *count = fake.devices, 0; }
static inline cudaError_t cudaDeviceSynchronize() { return cuCtxSynchronize(); }
template <class T> cudaError_t cudaMalloc(T **p, size_t bytes) {
    *p = (T *)(fake_address += 0x1000000);
    return fake_alloc((uint64_t)*p, bytes, false), 0;
}
static inline cudaError_t cudaFree(void *p) { return fake_alloc((uint64_t)p, 0, true), 0; }
static inline cudaError_t cudaMallocHost(void **p, size_t bytes) {
    fake_pinned = *p = malloc(bytes);
    return 0;
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind way) {
    const void *host = way == cudaMemcpyHostToDevice ? from : to;
    int kind = host == fake_pinned ? 2 : 1;
    if (way == cudaMemcpyHostToDevice) fake_copy(1, kind, 3, bytes, 0);
    else fake_copy(2, 3, kind, bytes, 0);
    return 0;
}
static inline cudaError_t cudaMemset(void *, int, size_t bytes) { return fake_memset(bytes, 0), 0; }
static inline cudaError_t cudaStreamCreate(cudaStream_t *s) {
    static uint32_t made;
    return *s = ++made, 0;
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) {
    return cudaStreamCreate(s);
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *e) { return cuEventCreate(e, 0); }
static inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = 0) {
    return cuEventRecord(e, fake_stream(s));
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t e) { return cuEventSynchronize(e); }
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) {
    return cuEventElapsedTime(ms, a, b);
}
static inline cudaError_t cudaStreamBeginCapture(cudaStream_t, int) {
    fake_capture = (fake_graph_t *)calloc(1, sizeof *fake_capture);
    return fake_capture ? 0 : 2;
}
static inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *g) {
    *g = fake_capture;
    fake_capture = NULL;
    return 0;
}
static inline cudaError_t cudaGraphGetNodes(cudaGraph_t g, void *, size_t *n) {
    return *n = g->count, 0;
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, int) {
    return *e = g, 0;
}
static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
    return fake_graph(e->kernels, e->count, s), 0;
}

static inline void fake_run(const char *kernel, cudaStream_t stream, uint64_t ns) {
    if (fake_capture) fake_capture->kernels[fake_capture->count++] = kernel;
    else fake_launch(kernel, stream, ns);
}

/* The environment makes it go wrong: FAKE_HEAD_KERNELS, FAKE_EARLY_NS, FAKE_ZERO_TIMES. */
static inline void fake_settle(void) {
    static const char *const names[] = { "FAKE_HEAD_KERNELS", "FAKE_EARLY_NS", "FAKE_ZERO_TIMES" };
    uint64_t values[3];
    for (int i = 0; i < 3; i++)
        values[i] = getenv(names[i]) ? strtoull(getenv(names[i]), NULL, 10) : 0;
    fake.devices = 2;
    fake.call_ns = 500;
    fake.head_kernels = (uint32_t)values[0];
    if (values[0]) fake.clock_offset = (uint64_t)0 - 1000000000000000u;
    fake.early_ns = values[1];
    fake.zero_time_every = (uint32_t)values[2];
}
#endif
