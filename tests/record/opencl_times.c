/* Run by tests/test_examples.sh: device times of zones and kernels against OpenCL's own events; two
   threads, two queues, one of them out of order. Sums must be the same to the ns. */
#define CL_TARGET_OPENCL_VERSION 120
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/device/opencl.h"

enum { N = 4096, MOST = 1000 };
static struct { const char *zone, *name; cl_event event; } told[MOST];
static uint32_t told_count;
static cl_command_queue queues[2];
static cl_kernel work;
static cl_mem memory;
static float host[N];

static const char *const source =
    "kernel void work(global float *a) {"
    "    float x = a[get_global_id(0)];"
    "    for (int i = 0; i < 500; i++) x = x * 0.999f + 1;"
    "    a[get_global_id(0)] = x;"
    "}";

/* Puts a kernel or a copy into a queue, and keeps its event. */
static void put(const char *zone, int queue, bool copy) {
    const size_t size = N;
    const char *name = copy ? "copy" : "kernel";
    uint64_t token = opencl_launch(queues[queue], name);
    cl_event event;
    cl_int error = copy
        ? clEnqueueReadBuffer(queues[queue], memory, CL_FALSE, 0, sizeof host, host, 0, NULL,
                              &event)
        : clEnqueueNDRangeKernel(queues[queue], work, 1, NULL, &size, NULL, 0, NULL, &event);
    uint32_t at = __atomic_fetch_add(&told_count, 1, __ATOMIC_RELAXED);
    if (error != CL_SUCCESS || at >= MOST) exit(2);
    clRetainEvent(event);
    told[at].zone = zone;
    told[at].name = name;
    told[at].event = event;
    opencl_launched(token, event);
}

static void *loader(void *unused) {
    (void)unused;
    for (int i = 0; i < 40; i++) {
        PROF_BLOCK("load") {
            put("load", 1, true);
            PROF_BLOCK("augment") put("augment", 1, false);
            put("load", 1, false);
        }
        if (i % 2) clFinish(queues[1]);  /* a trace has 8 rows for a queue's work that overlaps */
    }
    return NULL;
}

/* Of the events of a zone, or of a name. */
static int64_t sum(const char *of) {
    int64_t ns = 0;
    for (uint32_t i = 0; i < told_count; i++) {
        cl_ulong start = 0, end = 0;
        if (strcmp(told[i].zone, of) != 0 && strcmp(told[i].name, of) != 0) continue;
        clGetEventProfilingInfo(told[i].event, CL_PROFILING_COMMAND_START, sizeof start, &start,
                                NULL);
        clGetEventProfilingInfo(told[i].event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        ns += (int64_t)(end - start);
    }
    return ns;
}

static bool open_device(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return false;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queues[0] = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL);
    queues[1] = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE |
                                     CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) return false;
    work = clCreateKernel(program, "work", NULL);
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, NULL);
    clSetKernelArg(work, 0, sizeof memory, &memory);
    return true;
}

int main(void) {
    static const char *const names[] = { "compute", "loading" };
    static const char *const rows[] = { "forward", "backward", "load", "augment", "kernel",
                                        "copy" };
    bool wrong = !open_device();
    prof_trace *trace;
    prof_stats stats;
    pthread_t thread;
    if (wrong) puts("there is no OpenCL here");
    if (wrong || opencl_join(queues, names, 2) != PROF_OK || prof_start(NULL) != PROF_OK) return 3;
    pthread_create(&thread, NULL, loader, NULL);
    for (int i = 0; i < 40; i++) {
        PROF_BLOCK("forward") put("forward", 0, false);
        PROF_BLOCK("backward") put("backward", 0, i % 2 == 0);
    }
    pthread_join(thread, NULL);
    trace = prof_stop();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const prof_event *events;
        int64_t ns = 0;
        size_t count;
        events = prof_events(trace, NULL, 0, &count);
        for (size_t k = 0; k < count; k++)
            if (strcmp(events[k].name, rows[i]) == 0)
                ns += prof_event_total(trace, events + k).self_device_time_total_ns;
        printf("%s: %lld ns, OpenCL %lld\n", rows[i], (long long)ns, (long long)sum(rows[i]));
        wrong = wrong || ns != sum(rows[i]) || !ns;
    }
    stats = prof_get_stats(trace);
    printf("%u misplaced, %u unfinished\n", (unsigned)stats.misplaced,
           (unsigned)stats.unfinished);
    return wrong || stats.misplaced || stats.unfinished;
}
