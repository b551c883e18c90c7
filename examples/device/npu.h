/* Shows: how a device of one's own joins the tables and traces of prof.h. The device is made up: an
   NPU with a queue and a clock of its own. Where a real driver calls back, npu_launch knows the
   times at once. npu_join() comes before prof_start. */
#include <pthread.h>

#include "prof.h"

static const prof_device npu_device = { PROF_DEVICE_PRIVATEUSE1, 0 };
static struct {
    uint64_t idle_at;                    /* the NPU's clock, when all that was launched has run */
    uint32_t queue;
} npu;
static pthread_mutex_t npu_mutex = PTHREAD_MUTEX_INITIALIZER;    /* launches: from any thread */

static uint64_t npu_clock(void) { return (uint64_t)prof_os_now() + 3600000000000; }

/* The driver at work: it waits until then. */
static void npu_wait(uint64_t until) { while (npu_clock() < until) {} }

/* ---- what happens ---- */

static void npu_launch(const char *kernel, uint64_t ns) {
    uint64_t token = prof_launch(npu.queue, kernel), now = npu_clock(), start;
    pthread_mutex_lock(&npu_mutex);
    start = now + 5000 > npu.idle_at ? now + 5000 : npu.idle_at;
    npu.idle_at = start + ns;
    pthread_mutex_unlock(&npu_mutex);
    prof_launch_done(token, start, start + ns);
    npu_wait(now + 2000);
}

/* Memory of the NPU is that of the zone that is open; desc.profile_memory asks for it. */
static void npu_alloc(const void *at, size_t bytes) { prof_memory_alloc(at, bytes, npu_device); }
static void npu_free(const void *at) { prof_memory_free(at, npu_device); }

/* ---- the session starts, steps, stops ---- */

static bool npu_read(void *user, uint64_t *ns) {
    (void)user;
    return (*ns = npu_clock()) != 0;
}

static void npu_pair(void *user) {
    prof_clock_pair pair = prof_pair_clocks(npu_read, user);
    prof_device_clock(npu_device, pair.session_ns, pair.device_ns);
}

static prof_result npu_start(void *user) {
    npu_pair(user);
    return PROF_OK;
}

static prof_result npu_stop(void *user) {
    npu_wait(npu.idle_at);
    npu_pair(user);
    return PROF_OK;
}

static prof_result npu_join(void) {
    const prof_device_desc device = {
        "NPU", PROF_DEVICE_PRIVATEUSE1, PROF_ACTIVITY_PRIVATEUSE1, NULL, npu_start, npu_stop,
        npu_pair, NULL, NULL, &npu };
    npu.queue = prof_queue(npu_device, "compute");
    return prof_add_device(&device);
}
