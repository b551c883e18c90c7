/* Shows: OpenCL's kernels and copies in prof.h's tables and traces. Copy this file: opencl_join()
   once, before prof_start, with queues that have CL_QUEUE_PROFILING_ENABLE; then, at each call that
   enqueues,
       uint64_t token = opencl_launch(queue, "matmul");
       clEnqueueNDRangeKernel(queue, ..., &event);
       opencl_launched(token, event);                 it releases the event */
#include <CL/cl.h>
#include <pthread.h>

#include "prof.h"

enum { OPENCL_QUEUES = 16 };
static struct {
    prof_device device;
    cl_command_queue queues[OPENCL_QUEUES];
    uint32_t numbers[OPENCL_QUEUES];     /* prof_queue's */
    uint32_t count, running;             /* running: events whose end is still to come */
    pthread_mutex_t lock;
    pthread_cond_t idle;
} opencl = { { PROF_DEVICE_OPENCL, 0 }, { NULL }, { 0 }, 0, 0, PTHREAD_MUTEX_INITIALIZER,
             PTHREAD_COND_INITIALIZER };

static void opencl_add(int more) {
    pthread_mutex_lock(&opencl.lock);
    opencl.running += (uint32_t)more;
    if (!opencl.running) pthread_cond_broadcast(&opencl.idle);
    pthread_mutex_unlock(&opencl.lock);
}

/* Work of a queue that opencl_join was not told of is left out, and counted (rejected). */
static uint64_t opencl_launch(cl_command_queue queue, const char *name) {
    uint32_t i = 0;
    while (i < opencl.count && opencl.queues[i] != queue) i++;
    return prof_launch(i < opencl.count ? opencl.numbers[i] : PROF_NONE, name);
}

/* OpenCL calls this on a thread of its own. */
static void CL_CALLBACK opencl_complete(cl_event event, cl_int status, void *token) {
    cl_ulong start = 0, end = 0;
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    if (status == CL_COMPLETE) prof_launch_done(*(uint64_t *)token, start, end);
    clReleaseEvent(event);
    free(token);
    opencl_add(-1);
}

static void opencl_launched(uint64_t token, cl_event event) {
    uint64_t *kept = token ? (uint64_t *)malloc(sizeof *kept) : NULL;
    if (kept) {
        *kept = token;
        opencl_add(1);
        if (clSetEventCallback(event, CL_COMPLETE, opencl_complete, kept) == CL_SUCCESS) return;
        opencl_add(-1);
    }
    free(kept);
    clReleaseEvent(event);
}

/* Pairs the clocks: a marker tells when it was put into the queue, by the device's clock, and
   prof_now() before and after that call when it was by the session's. The closest of 8 counts. */
static void opencl_pair(void *user) {
    int64_t host_ns = 0, width = INT64_MAX;
    cl_ulong device_ns = 0;
    (void)user;
    for (int i = 0; i < 8; i++) {
        int64_t before = prof_now(), after;
        cl_ulong queued = 0;
        cl_event event;
        if (clEnqueueMarkerWithWaitList(opencl.queues[0], 0, NULL, &event) != CL_SUCCESS) return;
        after = prof_now();
        clWaitForEvents(1, &event);
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL);
        clReleaseEvent(event);
        if (after - before >= width) continue;
        width = after - before;
        host_ns = before + width / 2;
        device_ns = queued;
    }
    prof_device_clock(opencl.device, host_ns, device_ns);
}

static prof_result opencl_start(void *user) {
    opencl_pair(user);
    return PROF_OK;
}

/* All that was launched belongs to the session: waits for it. */
static prof_result opencl_stop(void *user) {
    for (uint32_t i = 0; i < opencl.count; i++) clFinish(opencl.queues[i]);
    pthread_mutex_lock(&opencl.lock);
    while (opencl.running) pthread_cond_wait(&opencl.idle, &opencl.lock);
    pthread_mutex_unlock(&opencl.lock);
    opencl_pair(user);
    return PROF_OK;
}

/* names: of the queues; their work stands in rows of these names. */
static prof_result opencl_join(const cl_command_queue *queues, const char *const *names,
                               uint32_t count) {
    const prof_device_desc device = {
        "OpenCL", PROF_DEVICE_OPENCL, PROF_ACTIVITY_PRIVATEUSE1, NULL, opencl_start, opencl_stop,
        opencl_pair, NULL, NULL, &opencl };
    if (!count || count > OPENCL_QUEUES) return PROF_ERROR_INVALID;
    for (uint32_t i = 0; i < count; i++) {
        opencl.queues[i] = queues[i];
        opencl.numbers[i] = prof_queue(opencl.device, names[i]);
    }
    opencl.count = count;
    return prof_add_device(&device);
}
