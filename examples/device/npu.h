/* Shows: how a device of one's own joins the tables and traces of prof.h. The device is made up: an
   NPU with a queue and a clock of its own. What the tracer of a real one brings is in npu_launch
   and npu_alloc; the rest is all that it takes. npu_join() comes before prof_start. */
#include <pthread.h>
#include <string.h>

#include "prof.h"

enum { NPU_CALL, NPU_KERNEL };           /* kinds of records */

static struct {
    prof_store *store;
    uint64_t idle_at;                    /* the NPU's clock, when all that was launched has run */
    uint32_t launches;
    bool records;
    char memory[4 << 20];
} npu;
static pthread_mutex_t npu_mutex = PTHREAD_MUTEX_INITIALIZER;    /* launches: from any thread */
static void npu_lock(void) { pthread_mutex_lock(&npu_mutex); }
static void npu_unlock(void) { pthread_mutex_unlock(&npu_mutex); }

static uint64_t npu_clock(void) { return (uint64_t)prof_os_now() + 3600000000000; }

/* The driver at work: it waits until then. */
static void npu_wait(uint64_t until) { while (npu_clock() < until) {} }

/* ---- what happens: one call, what it launched; both have its number ---- */

static void npu_launch(const char *kernel, uint32_t tiles, uint64_t ns) {
    uint64_t begin = npu_clock() + 1000, start;
    prof_store_detail_head detail = { NPU_KERNEL, 0, 0, 1, { tiles } };   /* queue 1 of NPU 0 */
    npu_wait(begin);
    npu_lock();
    start = begin + 5000 > npu.idle_at ? begin + 5000 : npu.idle_at;
    npu.idle_at = start + ns;
    npu.launches++;
    if (npu.records) {
        uint32_t thread = prof_store_thread(npu.store, (uint32_t)prof_thread_id());
        detail.name = prof_store_name(npu.store, kernel);
        prof_store_keep(npu.store, NPU_KERNEL, PROF_STORE_WORK, start, npu.idle_at, npu.launches,
                        prof_store_detail(npu.store, &detail));
        prof_store_keep(npu.store, NPU_CALL, PROF_STORE_CALL, begin, begin + 1000, npu.launches,
                        thread << 16);
    }
    npu_unlock();
    npu_wait(begin + 2000);
}

/* Memory of the NPU is that of the zone that is open; desc.profile_memory asks for it. */
static const prof_device npu_device = { PROF_DEVICE_PRIVATEUSE1, 0 };
static void npu_alloc(const void *at, size_t bytes) { prof_memory_alloc(at, bytes, npu_device); }
static void npu_free(const void *at) { prof_memory_free(at, npu_device); }

/* ---- what it looks like ---- */

static bool npu_event(void *user, const prof_store_record *r, prof_event *e, prof_extra *x,
                      char *args, char *name) {
    prof_store_detail_head d;
    (void)user;
    (void)name;
    x->activity_type = r->kind == NPU_CALL ? "npu_runtime" : "kernel";
    e->name = "npuLaunch";
    if (r->kind == NPU_CALL) return true;
    memcpy(&d, prof_store_detail_at(npu.store, r->detail), sizeof d);
    e->name = prof_store_text(npu.store, d.name);
    if (args) prof_format_text(args, PROF_STORE_ARGS, "\"tiles\":%u", (unsigned)d.own[0]);
    return true;
}

/* ---- the session starts, stops, is read ---- */

static bool npu_read(void *user, uint64_t *ns) {
    (void)user;
    return (*ns = npu_clock()) != 0;
}

static prof_result npu_start(void *user) {
    (void)user;
    npu_lock();
    prof_store_clear(npu.store);
    prof_store_pair(npu.store, prof_pair_clocks(npu_read, NULL));
    prof_store_begin(npu.store, npu_clock());
    npu.records = true;
    npu_unlock();
    return PROF_OK;
}

static prof_result npu_stop(void *user) {
    (void)user;
    npu_lock();
    npu.records = false;
    npu_wait(npu.idle_at);
    prof_store_pair(npu.store, prof_pair_clocks(npu_read, NULL));
    prof_store_judge(npu.store);
    npu_unlock();
    return PROF_OK;
}

static void npu_late(void *user) {
    (void)user;
    npu_lock();
    prof_store_submit(npu.store, true);
    npu_unlock();
}

static const char *npu_status(void *user) {
    static char text[64];
    prof_store_stats s = prof_store_get_stats(npu.store);
    (void)user;
    prof_format_text(text, sizeof text, "records lost: %u", (unsigned)s.lost_full);
    return s.lost_full ? text : NULL;
}

static prof_result npu_join(void) {
    const prof_store_desc store = {      /* a kernel's arguments are those of its detail */
        npu.memory, sizeof npu.memory, PROF_DEVICE_PRIVATEUSE1, 1 << NPU_KERNEL, NULL, NULL,
        npu_event, NULL, NULL };
    const prof_device_desc device = {
        "NPU", PROF_DEVICE_PRIVATEUSE1, PROF_ACTIVITY_PRIVATEUSE1, NULL, npu_start, npu_stop, NULL,
        npu_late, NULL, npu_status, NULL, &npu };
    npu.store = prof_store_open(&store);
    return npu.store ? prof_add_device(&device) : PROF_ERROR_MEMORY;
}
