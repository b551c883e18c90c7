/* Shows: kernels of OpenCL in two queues, attributed to the zones that enqueue them, with rows and
   arrows in the trace. What joins OpenCL to prof.h is opencl.h.

   cc -std=c99 -O2 -I. examples/device/opencl.c examples/prof.c -o opencl -lOpenCL -lpthread
   ./opencl trace.json */
#define CL_TARGET_OPENCL_VERSION 120
#include <stdio.h>
#include <stdlib.h>

#include "opencl.h"

enum { N = 128 };
static float host[N * N];
static cl_context context;
static cl_command_queue queues[2];
static cl_kernel matmul, scale;
static cl_mem a, b, c;

static const char *const source =
    "kernel void matmul(global const float *a, global const float *b, global float *c) {"
    "    int i = get_global_id(0), j = get_global_id(1), n = get_global_size(0);"
    "    float sum = 0;"
    "    for (int k = 0; k < n; k++) sum += a[j * n + k] * b[k * n + i];"
    "    c[j * n + i] = sum;"
    "}"
    "kernel void scale(global float *a) { a[get_global_id(0)] *= 0.5f; }";

static cl_device_id prepare(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_program program;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return NULL;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    for (int i = 0; i < 2; i++)
        queues[i] = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL);
    program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) return NULL;
    matmul = clCreateKernel(program, "matmul", NULL);
    scale = clCreateKernel(program, "scale", NULL);
    a = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, NULL);
    b = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, NULL);
    c = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, NULL);
    clSetKernelArg(matmul, 0, sizeof a, &a);
    clSetKernelArg(matmul, 1, sizeof b, &b);
    clSetKernelArg(matmul, 2, sizeof c, &c);
    clSetKernelArg(scale, 0, sizeof c, &c);
    return device;
}

static void run(cl_kernel kernel, const char *name, cl_uint dimensions) {
    const size_t size[] = { dimensions == 2 ? N : N * N, N };
    uint64_t token = opencl_launch(queues[0], name);
    cl_event event;
    if (clEnqueueNDRangeKernel(queues[0], kernel, dimensions, NULL, size, NULL, 0, NULL, &event) ==
        CL_SUCCESS) opencl_launched(token, event);
}

static void upload(cl_mem buffer) {
    uint64_t token = opencl_launch(queues[1], "upload");
    cl_event event;
    if (clEnqueueWriteBuffer(queues[1], buffer, CL_FALSE, 0, sizeof host, host, 0, NULL, &event) ==
        CL_SUCCESS) opencl_launched(token, event);
}

int main(int argc, char **argv) {
    static const char *const names[] = { "compute", "copies" };
    prof_trace *trace;
    if (!prepare()) {
        puts("there is no OpenCL here");
        return 0;
    }
    if (opencl_join(queues, names, 2) != PROF_OK || prof_start(NULL) != PROF_OK) return 1;
    PROF_BLOCK("load") {
        upload(a);
        upload(b);
        clFinish(queues[1]);
    }
    for (int i = 0; i < 10; i++)
        PROF_BLOCK("step") {
            PROF_BLOCK("forward") run(matmul, "matmul", 2);
            PROF_BLOCK("update") run(scale, "scale", 1);
        }
    trace = prof_stop();
    prof_print_table(trace, NULL);
    return prof_save_chrome(trace, argc > 1 ? argv[1] : "trace.json") != PROF_OK;
}
