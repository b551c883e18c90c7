/* See fake_cupti.h. */
#if !defined(_DEFAULT_SOURCE)
#  define _DEFAULT_SOURCE 1
#endif
#include "fake_cupti.h"
#include "fake_records.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef FAKE_VERSION
#  define FAKE_VERSION 130001
#endif
#ifndef FAKE_DRIVER
#  define FAKE_DRIVER 13000
#endif
#ifndef FAKE_REFUSES
#  define FAKE_REFUSES 0                 /* what cuptiSubscribe says of the driver */
#endif

/* ---- kinds ---- */

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, KERNEL = 10, MARKER = 12, OVERHEAD = 17,
       PEER = 22, EVENT = 36, SYNC = 38, EXTERNAL = 39, MEMORY = 49, FUTURE = 60, KINDS = 64 };

/* ---- the state ---- */

typedef struct buffer {
    uint8_t *bytes;
    size_t size, used;
    uint64_t last_end;                   /* of the work in it */
    struct buffer *next;
} buffer;

typedef struct thread {
    volatile int lock;
    bool used;
    uint32_t id;
    int device;
    buffer *filling;
    uint64_t ids[16];
    uint32_t id_count;
    fake_counts counts;
    struct thread *next;
} thread;

struct stream { int device; uint32_t id; uint64_t tail; };
struct event { uint64_t time; };

typedef void (*request_fn)(uint8_t **, size_t *, size_t *);
typedef void (*complete_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*request_2_fn)(uint8_t **, size_t *, size_t *, const void *);
typedef void (*complete_2_fn)(uint8_t *, size_t, size_t, const void *);

typedef void (*callback_fn)(void *, int, uint32_t, const void *);

fake_settings fake;
static callback_fn callback;
static void *callback_user;
static bool told[4][1024];               /* callbacks of a domain */
static request_fn request;
static complete_fn complete;
static request_2_fn request_2;           /* of one of several subscribers */
static complete_2_fn complete_2;
static bool multi, zeroed;
static bool on[KINDS], off[2][1024], per_thread = true, system_ids;
static int subscriber, subscribed, walking;
static uint32_t correlations, out, launches;
static size_t dropped_now;
static fake_counts counts_all;           /* of what no thread has */
static struct stream streams[8][FAKE_STREAMS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;   /* threads, full buffers */
static thread *threads;
static thread shared;                    /* the one buffer of all */
static buffer *full, *kept;
static pthread_t worker;
static bool worker_runs, worker_ends;
static __thread thread *self;
static __thread int context;             /* of the driver API: device + 1 */
static uint64_t ticks;

static void lock(thread *t) {
    while (__atomic_exchange_n(&t->lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}
static void unlock(thread *t) { __atomic_store_n(&t->lock, 0, __ATOMIC_RELEASE); }

static uint64_t real_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(void) {
    if (fake.quick_clock) return __atomic_add_fetch(&ticks, 10, __ATOMIC_RELAXED);
    if (fake.clock) return fake.clock();
    return real_time() + fake.clock_offset;
}

/* Part of what a real call takes. */
static void pass(uint64_t ns) {
    struct timespec begin, t;
    if (!ns) return;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while ((uint64_t)(t.tv_sec - begin.tv_sec) * 1000000000u + (uint64_t)t.tv_nsec <
           (uint64_t)begin.tv_nsec + ns);
}

static void wait_until(uint64_t ns) {
    while (!fake.quick_clock && !fake.clock && now() < ns) sched_yield();
}

static thread *me(void) {
    if (self) return self;
    self = (thread *)calloc(1, sizeof *self);
    if (!self) abort();
    self->id = (uint32_t)syscall(SYS_gettid);
    pthread_mutex_lock(&mutex);
    self->next = threads;
    threads = self;
    pthread_mutex_unlock(&mutex);
    return self;
}

/* ---- sizes of records, by version ---- */

static size_t sizes[KINDS];              /* by kind; 0: there is none */

static size_t size_of(uint32_t kind) { return kind < KINDS ? sizes[kind] : 0; }

static size_t size_in_version(uint32_t kind) {
    uint32_t v = fake.version;
    switch (kind) {
    case KERNEL: return (v < 15 ? 160u : v < 17 ? 168u : v < 18 ? 176u : v < 19 ? 200u
                         : v < 130000 ? 208u : 216u) + fake.tail;
    case MEMCPY: return v < 15 ? 72 : v < 17 ? 80 : v < 26 ? 88 : 96;
    case PEER: return v < 15 ? 80 : v < 17 ? 88 : 96;
    case MEMSET: return v < 15 ? 72 : v < 17 ? 80 : 88;
    case DRIVER: case RUNTIME: return sizeof(fake_call);
    case EXTERNAL: return sizeof(fake_external);
    case OVERHEAD: return v < 20 ? 40 : v < 22 ? 48 : 56;
    case SYNC: return v < 26 ? 40 : 56;
    case EVENT: return v < 26 ? 24 : 56;
    case MEMORY: return v < 15 ? 112 : v < 24 ? 120 : 128;
    case MARKER: return sizeof(fake_marker_record);
    case FUTURE: return 64;
    default: return 0;
    }
}

/* ---- buffers ---- */

static uint64_t *end_of(uint8_t *record) {
    switch (*(uint32_t *)(void *)record) {
    case KERNEL: return &((fake_kernel *)(void *)record)->end;
    case MEMCPY: return &((fake_memcpy *)(void *)record)->end;
    case PEER: return &((fake_peer *)(void *)record)->end;
    case MEMSET: return &((fake_memset_record *)(void *)record)->end;
    default: return NULL;
    }
}

/* Work that is not over has no end, and no start if it has not begun. */
static void cut(buffer *b, uint64_t at) {
    size_t i;
    for (i = 0; i < b->used; i += size_of(*(uint32_t *)(void *)(b->bytes + i))) {
        uint64_t *end = end_of(b->bytes + i);
        if (!end || *end <= at) continue;
        if (*end - at > 1000000000000) continue;   /* of another clock, it is over */
        *end = 0;
        if (end[-1] > at) end[-1] = at;
    }
}

static bool has_client(void) { return multi ? request_2 && complete_2 : request && complete; }

static void ask(uint8_t **bytes, size_t *size, size_t *most) {
    if (multi) request_2(bytes, size, most, "info");
    else request(bytes, size, most);
}

static void hand(uint8_t *bytes, size_t size, size_t used) {
    if (multi) complete_2(bytes, size, used, "info");
    else complete(NULL, 0, bytes, size, used);
}

static void give_back(buffer *b) {
    hand(b->bytes, b->size, b->used);
    free(b);
    __atomic_sub_fetch(&out, 1, __ATOMIC_RELEASE);
}

/* Hands back the full buffers whose work is over, at most so many; forced: all. */
static void deliver(bool forced, int most) {
    buffer *ready = NULL, **at, *b;
    uint64_t time = now();
    pthread_mutex_lock(&mutex);
    for (at = &full; (b = *at) != NULL && most;) {
        if (!forced && b->last_end > time) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        b->next = ready;
        ready = b;
        most--;
    }
    pthread_mutex_unlock(&mutex);
    if (fake.reverse) {                  /* full is a stack: ready has the oldest first */
        for (b = ready, ready = NULL; b;) {
            buffer *next = b->next;
            b->next = ready;
            ready = b;
            b = next;
        }
    }
    while ((b = ready) != NULL) {
        ready = b->next;
        if (b->last_end > time) cut(b, time);
        give_back(b);
    }
}

static void push_full(buffer *b) {
    pthread_mutex_lock(&mutex);
    b->next = full;
    full = b;
    pthread_mutex_unlock(&mutex);
}

/* A buffer of the client's; NULL: it has none. */
static buffer *buffer_new(void) {
    uint8_t *bytes = NULL;
    size_t size = 0, most = 0;
    buffer *b;
    ask(&bytes, &size, &most);
    if (bytes && zeroed && fake.check_zeros)
        for (size_t i = 0; i < size; i++)
            if (bytes[i]) {
                __atomic_add_fetch(&counts_all.dirty, 1, __ATOMIC_RELAXED);
                break;
            }
    if (!bytes && fake.version < 27) {
        fprintf(stderr, "fake CUPTI: no buffer; this version crashes here\n");
        abort();
    }
    if (!bytes || size < 1024 || ((uintptr_t)bytes & 7)) return NULL;
    b = (buffer *)calloc(1, sizeof *b);
    if (!b) abort();
    b->bytes = bytes;
    b->size = size;
    __atomic_add_fetch(&out, 1, __ATOMIC_RELAXED);
    return b;
}

/* Room for a record, under t's lock; NULL: it is dropped. *filled: a buffer is full. */
static uint8_t *room(thread *t, size_t size, bool *filled) {
    buffer *b = t->filling;
    t->counts.records++;
    if (b && b->used + size > b->size) {
        push_full(b);
        *filled = true;
        t->filling = b = NULL;
    }
    if (!b && kept) {
        t->filling = b = kept;
        kept = NULL;
    }
    if (!b && has_client()) t->filling = b = buffer_new();
    if (!b) {
        t->counts.dropped++;
        __atomic_add_fetch(&dropped_now, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    b->used += size;
    return b->bytes + b->used - size;
}

/* Writes a record of which `have` bytes are known; the version says how many it has. */
static void put(thread *t, const void *record, size_t have, uint64_t end, bool *filled) {
    size_t size = size_of(*(const uint32_t *)record);
    uint8_t *to = room(t, size, filled);
    if (!to) return;
    memcpy(to, record, have < size ? have : size);
    if (have < size) memset(to + have, 0xee, size - have);
    if (end > t->filling->last_end) t->filling->last_end = end;
}

static void *worker_main(void *unused) {
    struct timespec ms = { 0, 1000000 };
    (void)unused;
    while (!__atomic_load_n(&worker_ends, __ATOMIC_ACQUIRE)) {
        nanosleep(&ms, NULL);
        if (has_client()) deliver(fake.slow_worker, fake.slow_worker ? 1 : -1);
    }
    return NULL;
}

/* ---- work ---- */

/* Begins a launch: the buffer it writes to is locked until launch_end. */
typedef struct launch {
    thread *t, *where;
    uint64_t start, time;
    uint32_t correlation;
    bool filled;
} launch;

static launch launch_begin(void) {
    launch l;
    memset(&l, 0, sizeof l);
    pass(fake.call_ns);
    l.t = me();
    l.start = now();
    l.where = per_thread ? l.t : &shared;
    lock(l.where);
    l.correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
    return l;
}

static void put_call(launch *l, uint32_t kind, uint32_t cbid, uint64_t start, uint64_t end) {
    fake_call c;
    memset(&c, 0, sizeof c);
    c.kind = kind;
    c.cbid = cbid;
    c.start = start;
    c.end = end;
    c.process = 1;
    c.thread = system_ids ? l->t->id : 0x12345678;
    c.correlation = l->correlation;
    put(l->where, &c, sizeof c, end, &l->filled);
    l->t->counts.calls++;
}

/* The records of the call itself, and of the ids that are pushed. */
static void launch_call(launch *l, uint32_t runtime_cbid, uint32_t driver_cbid) {
    fake_external x;
    bool driver = on[DRIVER] && (driver_cbid >= 1024 || !off[0][driver_cbid]);
    l->time = now();
    if (on[EXTERNAL] && l->t->id_count) {
        memset(&x, 0, sizeof x);
        x.kind = EXTERNAL;
        x.external_kind = 5;
        x.id = l->t->ids[l->t->id_count - 1];
        x.correlation = l->correlation;
        put(l->where, &x, sizeof x, 0, &l->filled);
        if (fake.other_ids) {
            x.external_kind = 3;   /* as Kineto's */
            x.id += 1000;
            put(l->where, &x, sizeof x, 0, &l->filled);
        }
    }
    if (driver && (fake.nested_driver || fake.by_driver))
        put_call(l, DRIVER, driver_cbid, l->start + 1, l->time);
    if (!fake.by_driver && on[RUNTIME] && (runtime_cbid >= 1024 || !off[1][runtime_cbid]))
        put_call(l, RUNTIME, runtime_cbid, l->start, l->time + 1 + fake.call_ns / 2);
}

static void launch_end(launch *l) {
    unlock(l->where);
    pass(fake.call_ns);
    if (l->filled && !fake.worker && !fake.slow_worker && !fake.keep_buffers) deliver(false, -1);
}

/* When work of a length on a stream starts. */
static uint64_t queue(struct stream *s, uint64_t time, uint64_t ns) {
    uint64_t start = time + fake.latency_ns, tail = __atomic_load_n(&s->tail, __ATOMIC_RELAXED);
    if (tail > start) start = tail;
    __atomic_store_n(&s->tail, start + ns, __ATOMIC_RELAXED);
    return start;
}

static struct stream *stream_of(const thread *t, uint32_t i) {
    return &streams[t->device][i % FAKE_STREAMS];
}

void fake_device(int device) { me()->device = device; }

static void put_kernel(launch *l, struct stream *s, const char *name, uint64_t ns, uint32_t graph,
                       uint64_t node) {
    fake_kernel k;
    uint64_t start = queue(s, l->time, ns), end = start + ns;
    uint32_t n = __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
    if (!on[KERNEL]) return;
    memset(&k, 0, sizeof k);
    k.kind = KERNEL;
    k.registers = 32;
    k.start = start - fake.early_ns;
    k.end = end - fake.early_ns;
    if (n <= fake.head_kernels) {
        k.start = real_time();
        k.end = k.start + ns;
    }
    if (fake.zero_time_every && n % fake.zero_time_every == 0) k.start = k.end = 0;
    k.device = (uint32_t)s->device;
    k.context = (uint32_t)s->device + 1;
    k.stream = s->id;
    k.grid_x = 264;
    k.grid_y = k.grid_z = 1;
    k.block_x = 256;
    k.block_y = k.block_z = 1;
    k.dynamic_shared = 1024;
    k.correlation = l->correlation;
    k.name = name;
    k.graph = graph;
    k.graph_node = node;
    k.priority = fake.version < 130100 ? 0x5eeeeeee : -(int32_t)s->id;   /* padding before */
    if (graph && fake.mixed_graphs) k.correlation++;
    put(l->where, &k, sizeof k, end, &l->filled);
    l->t->counts.kernels++;
    if (fake.unknown_every && n % fake.unknown_every == 0) {
        uint32_t future[2] = { FUTURE, 0 };
        put(l->where, future, sizeof future, 0, &l->filled);
    }
}

void fake_launch(const char *kernel, uint32_t stream, uint64_t duration_ns) {
    launch l = launch_begin();
    l.time = now();
    if (fake.kernels_first) put_kernel(&l, stream_of(l.t, stream), kernel, duration_ns, 0, 0);
    launch_call(&l, 211, 307);
    if (!fake.kernels_first) put_kernel(&l, stream_of(l.t, stream), kernel, duration_ns, 0, 0);
    launch_end(&l);
}

/* What the callback for nodes gets; a node is its id. */
struct graph_data { void *graph, *original, *node, *original_node; uint32_t type; };
struct resource { void *context, *handle, *descriptor; };

static void tell_node(uint32_t cbid, uint64_t node, uint64_t original) {
    struct graph_data data;
    struct resource resource;
    memset(&data, 0, sizeof data);
    memset(&resource, 0, sizeof resource);
    data.node = (void *)(uintptr_t)node;
    data.original_node = (void *)(uintptr_t)original;
    resource.descriptor = &data;
    if (callback && told[3][cbid]) callback(callback_user, 3, cbid, &resource);
}

/* What the callback for a call gets. */
struct call_data { int site; const char *name; const void *params; const int *result; };

void fake_capture_call(uint32_t cbid, int result) {
    struct call_data data = { 0, "", NULL, &result };
    for (; data.site < 2; data.site++)
        if (callback && told[1][cbid]) callback(callback_user, 1, cbid, &data);
}

void fake_capture_node(uint32_t node) {
    launch l = launch_begin();
    launch_call(&l, 211, 307);
    launch_end(&l);
    tell_node(13, (uint64_t)4 << 32 | node, 0);
}

void fake_instantiate(uint32_t count) {
    uint32_t i;
    for (i = 0; i < count; i++) tell_node(20, (uint64_t)5 << 32 | i, (uint64_t)4 << 32 | i);
}

void fake_graph(const char *const *kernels, uint32_t count, uint32_t stream) {
    launch l = launch_begin();
    uint32_t i;
    launch_call(&l, 311, 514);
    for (i = 0; i < count; i++)
        put_kernel(&l, stream_of(l.t, stream), kernels[i], 1000, 5, (uint64_t)5 << 32 | i);
    launch_end(&l);
}

static uint64_t copy_node(uint32_t node) {
    return fake.graph_copies ? (uint64_t)fake.graph_copies << 32 | node : 0;
}

void fake_copy(int way, int from, int to, uint64_t bytes, uint32_t stream) {
    launch l = launch_begin();
    struct stream *s = stream_of(l.t, stream);
    fake_memcpy m;
    launch_call(&l, 41, 277);
    memset(&m, 0, sizeof m);
    m.kind = MEMCPY;
    m.way = (uint8_t)way;
    m.from = (uint8_t)from;
    m.to = (uint8_t)to;
    m.bytes = bytes;
    m.start = queue(s, l.time, bytes / 16);
    m.end = m.start + bytes / 16;
    m.device = (uint32_t)s->device;
    m.context = (uint32_t)s->device + 1;
    m.stream = s->id;
    m.correlation = l.correlation;
    m.graph = fake.graph_copies;
    m.graph_node = copy_node(7);
    if (on[MEMCPY]) put(l.where, &m, sizeof m, m.end, &l.filled);
    l.t->counts.copies += on[MEMCPY];
    launch_end(&l);
}

void fake_copy_peer(int from_device, int to_device, uint64_t bytes, uint32_t stream) {
    launch l = launch_begin();
    struct stream *s = stream_of(l.t, stream);
    fake_peer m;
    launch_call(&l, 41, 319);
    memset(&m, 0, sizeof m);
    m.kind = PEER;
    m.way = 10;
    m.from = m.to = 3;
    m.bytes = bytes;
    m.start = queue(s, l.time, bytes / 16);
    m.end = m.start + bytes / 16;
    m.device = (uint32_t)s->device;
    m.context = (uint32_t)s->device + 1;
    m.stream = s->id;
    m.from_device = (uint32_t)from_device;
    m.from_context = (uint32_t)from_device + 1;
    m.to_device = (uint32_t)to_device;
    m.to_context = (uint32_t)to_device + 1;
    m.correlation = l.correlation;
    m.graph = fake.graph_copies;
    m.graph_node = copy_node(8);
    if (on[PEER]) put(l.where, &m, sizeof m, m.end, &l.filled);
    l.t->counts.copies += on[PEER];
    launch_end(&l);
}

void fake_memset(uint64_t bytes, uint32_t stream) {
    launch l = launch_begin();
    struct stream *s = stream_of(l.t, stream);
    fake_memset_record m;
    launch_call(&l, 51, 216);
    memset(&m, 0, sizeof m);
    m.kind = MEMSET;
    m.bytes = bytes;
    m.start = queue(s, l.time, bytes / 64);
    m.end = m.start + bytes / 64;
    m.device = (uint32_t)s->device;
    m.context = (uint32_t)s->device + 1;
    m.stream = s->id;
    m.correlation = l.correlation;
    m.memory_kind = 3;
    m.graph = fake.graph_copies;
    m.graph_node = copy_node(9);
    if (on[MEMSET]) put(l.where, &m, sizeof m, m.end, &l.filled);
    l.t->counts.copies += on[MEMSET];
    launch_end(&l);
}

void fake_runtime_call(uint32_t cbid) {
    launch l = launch_begin();
    launch_call(&l, cbid, 1);
    launch_end(&l);
}

void fake_driver_call(uint32_t cbid) {
    launch l = launch_begin();
    l.time = now();
    if (on[DRIVER] && !off[0][cbid]) put_call(&l, DRIVER, cbid, l.start, l.time);
    launch_end(&l);
}

void fake_alloc(uint64_t address, uint64_t bytes, bool release) {
    launch l = launch_begin();
    fake_memory m;
    launch_call(&l, release ? 22 : 20, release ? 245 : 243);
    memset(&m, 0, sizeof m);
    m.kind = MEMORY;
    m.operation = release ? 2 : 1;
    m.memory_kind = fake.pinned ? 2 : 3;
    m.correlation = l.correlation;
    m.address = address;
    m.bytes = bytes;
    m.time = l.time;
    m.device = (uint32_t)l.t->device;
    m.context = (uint32_t)l.t->device + 1;
    m.stream = UINT32_MAX;
    if (on[MEMORY]) put(l.where, &m, sizeof m, 0, &l.filled);
    launch_end(&l);
}

void fake_event_record(uint32_t event, uint32_t stream) {
    launch l = launch_begin();
    fake_event_record_ e;
    launch_call(&l, 135, 1);
    memset(&e, 0, sizeof e);
    e.kind = EVENT;
    e.correlation = l.correlation;
    e.context = (uint32_t)l.t->device + 1;
    e.stream = stream_of(l.t, stream)->id;
    e.event = event;
    if (on[EVENT]) put(l.where, &e, sizeof e, 0, &l.filled);
    launch_end(&l);
}

void fake_wait_event(uint32_t event, uint32_t stream) {
    launch l = launch_begin();
    fake_sync s;
    launch_call(&l, 147, 1);
    memset(&s, 0, sizeof s);
    s.kind = SYNC;
    s.type = 2;
    s.start = l.start;
    s.end = l.time;
    s.correlation = l.correlation;
    s.context = (uint32_t)l.t->device + 1;
    s.stream = stream_of(l.t, stream)->id;
    s.event = event;
    if (on[SYNC]) put(l.where, &s, sizeof s, 0, &l.filled);
    launch_end(&l);
}

void fake_overhead(uint32_t kind, uint64_t ns) {
    launch l = launch_begin();
    fake_overhead_record o;
    memset(&o, 0, sizeof o);
    o.kind = OVERHEAD;
    o.overhead_kind = kind;
    o.start = l.start;
    o.end = l.start + ns;
    if (on[OVERHEAD]) put(l.where, &o, sizeof o, 0, &l.filled);
    launch_end(&l);
}

void fake_marker(uint32_t id, uint32_t flags, const char *name) {
    launch l = launch_begin();
    fake_marker_record m;
    memset(&m, 0, sizeof m);
    m.kind = MARKER;
    m.flags = flags;
    m.time = l.start;
    m.id = id;
    m.object_kind = 2;
    m.object[0] = 1;
    m.object[1] = l.t->id;
    m.name = name;
    if (on[MARKER]) put(l.where, &m, sizeof m, 0, &l.filled);
    launch_end(&l);
}

void *fake_stream(uint32_t stream) { return stream_of(me(), stream); }

void fake_deliver(const void *bytes, size_t size, size_t valid) {
    uint8_t *to = NULL;
    size_t room_size = 0, most = 0;
    ask(&to, &room_size, &most);
    if (!to) return;
    memcpy(to, bytes, size < room_size ? size : room_size);
    hand(to, room_size, valid);
}

void fake_walk_wrongly(int way) { walking = way; }

fake_counts fake_get_counts(void) {
    fake_counts sum = counts_all;
    const thread *t;
    pthread_mutex_lock(&mutex);
    for (t = threads; t; t = t->next) {
        sum.kernels += t->counts.kernels;
        sum.copies += t->counts.copies;
        sum.calls += t->counts.calls;
        sum.records += t->counts.records;
        sum.dropped += t->counts.dropped;
    }
    sum.records += shared.counts.records;
    sum.dropped += shared.counts.dropped;
    pthread_mutex_unlock(&mutex);
    return sum;
}

/* ---- CUPTI ---- */

/* What this call returns, when it is the one that fails. */
static int failure(const char *name) {
    if (!fake.fails || strcmp(name, fake.fails) != 0) return 0;
    if (fake.fails_after-- > 0) return 0;
    if (fake.fails_times && !--fake.fails_times) fake.fails = NULL;
    return fake.fail_code;
}
static int answer(const char *name) {
    __atomic_add_fetch(&counts_all.library_calls, 1, __ATOMIC_RELAXED);
    return failure(name);
}
#define ANSWER do { int code = answer(__func__); if (code) return code; } while (0)
/* A call of those for one subscriber alone, or of those for one of several, where it is allowed. */
#define ALONE if (multi) return 14
#define MULTI if (!multi || handle != &subscriber) return 14
#define DRIVER_ANSWER \
    do { int code = fake.fails ? failure(__func__) : 0; if (code) return code; } while (0)

int cuptiGetVersion(uint32_t *version);
int cuptiGetVersion(uint32_t *version) {
    ANSWER;
    *version = fake.version;
    return 0;
}
int cuptiGetTimestamp(uint64_t *time);
int cuptiGetTimestamp(uint64_t *time) {
    DRIVER_ANSWER;
    ALONE;
    *time = now();
    return 0;
}
int cuptiGetResultString(int result, const char **text);
int cuptiGetResultString(int result, const char **text) {
    DRIVER_ANSWER;
    *text = result == 21 ? "CUPTI_ERROR_INVALID_KIND"
        : fake.result_text ? fake.result_text : "CUPTI_ERROR_OF_SOME_KIND";
    return result > 1000;
}
int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name) {
    DRIVER_ANSWER;
    static const struct { int domain; uint32_t cbid; const char *name; } names[] = {
#define DRIVER_CALL(number, name) { 1, number, #name },
#define RUNTIME_CALL(number, name) { 2, number, #name },
        FAKE_DRIVER_CALLS(DRIVER_CALL) FAKE_RUNTIME_CALLS(RUNTIME_CALL)
        { 2, 900, "cudaThing_ptds" }, { 2, 901, "cuda_v" }, { 2, 902, "call" }, { 2, 903, NULL },
        { 2, 904, "cudaThing_ptds_vector" }, { 2, 905, "cuda_long_name_long_name_long_name_long_nam"
        "_long_name_long_name_long_name_long_name_long_name_long_name_long_name_long_name_long_name"
        "_long_name_long_name_long_name_long_name_long_name_long_name_long_name_long_name_long_name"
        "_long_name_long_name_long_name_long_name_long_name_long_name_long_name_long_name" } };
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].domain == domain && names[i].cbid == cbid) {
            *name = names[i].name;
            return 0;
        }
    return 1;
}
int cuptiSubscribe(void **handle, callback_fn wanted, void *user);
int cuptiSubscribe(void **handle, callback_fn wanted, void *user) {
    uint32_t kind;
    ANSWER;
    if (FAKE_REFUSES) return FAKE_REFUSES;
    if (subscribed || fake.other) return 39;
    for (kind = 0; kind < KINDS; kind++) sizes[kind] = size_in_version(kind);
    subscribed = 1;
    *handle = &subscriber;
    callback = wanted;
    callback_user = user;
    if (callback) callback(user, 0, 0, NULL);   /* nobody asked for any: it does nothing */
    return 0;
}
int cuptiEnableCallback(uint32_t enable_it, void *handle, int domain, uint32_t cbid);
int cuptiEnableCallback(uint32_t enable_it, void *handle, int domain, uint32_t cbid) {
    ANSWER;
    if (handle != &subscriber || domain < 1 || domain > 3 || cbid >= 1024) return 1;
    told[domain][cbid] = enable_it != 0;
    return 0;
}
int cuptiGetGraphNodeId(void *node, uint64_t *id);
int cuptiGetGraphNodeId(void *node, uint64_t *id) {
    DRIVER_ANSWER;
    *id = (uint64_t)(uintptr_t)node;
    return node ? 0 : 1;
}
int cuptiUnsubscribe(void *handle);
int cuptiUnsubscribe(void *handle) {
    ANSWER;
    if (handle != &subscriber || !subscribed) return 1;
    subscribed = 0;
    callback = NULL;
    memset(told, 0, sizeof told);
    if (!multi) return 0;                /* the worker may read all these */
    multi = false;
    request_2 = NULL;
    complete_2 = NULL;
    return 0;
}
int cuptiActivityRegisterCallbacks(request_fn requested, complete_fn completed);
int cuptiActivityRegisterCallbacks(request_fn requested, complete_fn completed) {
    ANSWER;
    ALONE;
    request = requested;
    complete = completed;
    if ((fake.worker || fake.slow_worker) && !worker_runs)
        worker_runs = pthread_create(&worker, NULL, worker_main, NULL) == 0;
    return 0;
}
static int enable(uint32_t kind, bool enabled) {
    if (kind >= KINDS || (enabled && !size_of(kind))) return 21;
    on[kind] = enabled;
    if (kind == DRIVER || kind == RUNTIME) memset(off[kind - DRIVER], 0, sizeof *off);
    return 0;
}
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityEnable(uint32_t kind) {
    ANSWER;
    ALONE;
    return enable(kind, true);
}
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind) {
    ANSWER;
    ALONE;
    return enable(kind, false);
}
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enabled);
int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enabled) {
    ANSWER;
    ALONE;
    if (cbid >= 1024) return 1;
    off[1][cbid] = !enabled;
    return 0;
}
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enabled);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enabled) {
    ANSWER;
    ALONE;
    if (cbid >= 1024) return 1;
    off[0][cbid] = !enabled;             /* as in 13.0, none is on without its kind */
    return 0;
}

/* Makes the buffer that a thread is filling a full one. */
static void seal(thread *t) {
    buffer *b;
    lock(t);
    b = t->filling;
    t->filling = NULL;
    unlock(t);
    if (b) push_full(b);
}

int cuptiActivityFlushAll(uint32_t forced);
int cuptiActivityFlushAll(uint32_t forced) {
    thread *t;
    ANSWER;
    if (!has_client() || fake.keep_buffers) return 0;
    seal(&shared);
    pthread_mutex_lock(&mutex);
    t = threads;
    pthread_mutex_unlock(&mutex);
    for (; t; t = t->next) seal(t);
    if (!fake.slow_worker) deliver(forced != 0, -1);
    while (fake.slow_worker && forced && __atomic_load_n(&out, __ATOMIC_ACQUIRE) > (kept != NULL))
        sched_yield();
    if (fake.keep_one && forced && !kept) kept = buffer_new();
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, uint8_t **record);
int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, uint8_t **record) {
    DRIVER_ANSWER;
    uint8_t *at = *record ? *record + size_of(*(uint32_t *)(void *)*record) : bytes;
    if (walking && *record) {
        *record = walking == 1 ? bytes + valid : walking == 2 ? bytes : *record + 4;
        walking = 0;
        return 0;
    }
    if (at >= bytes + valid) return 12;
    if (valid - (size_t)(at - bytes) >= 4 && !size_of(*(uint32_t *)(void *)at)) return 21;
    *record = at;
    return 0;
}
int cuptiActivityGetNumDroppedRecords(void *context_, uint32_t stream, size_t *count);
int cuptiActivityGetNumDroppedRecords(void *context_, uint32_t stream, size_t *count) {
    ANSWER;
    ALONE;
    (void)context_;
    (void)stream;
    *count = __atomic_exchange_n(&dropped_now, 0, __ATOMIC_RELAXED);
    return 0;
}
static int push(int kind, uint64_t id) {
    thread *t = me();
    if (kind != 5 || t->id_count == 16) return 1;
    t->ids[t->id_count++] = id;
    return 0;
}
static int pop(int kind, uint64_t *id) {
    thread *t = me();
    if (kind != 5) return 1;
    if (!t->id_count) return 18;
    *id = t->ids[--t->id_count];
    return 0;
}
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id);
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
    DRIVER_ANSWER;
    ALONE;
    return push(kind, id);
}
int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *id);
int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *id) {
    DRIVER_ANSWER;
    ALONE;
    return pop(kind, id);
}
int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
int cuptiActivitySetAttribute(int attribute, size_t *size, void *value) {
    ANSWER;
    ALONE;
    if (attribute == 9 && *size == 1) per_thread = *(uint8_t *)value != 0;
    if (attribute == 5 && *size == 1) zeroed = *(uint8_t *)value != 0;
    return 0;
}
int cuptiActivityEnableHWTrace(uint8_t enable);
int cuptiActivityEnableHWTrace(uint8_t enable) {
    ANSWER;
    ALONE;
    if (fake.no_hardware) return 27;
    counts_all.hardware = enable != 0;
    return 0;
}
int cuptiSetThreadIdType(int type);
int cuptiSetThreadIdType(int type) {
    ANSWER;
    ALONE;
    system_ids = type == 1;
    return 0;
}

/* ---- one of several subscribers: 13.3 ---- */

struct params { size_t size; const char *name; char *other; size_t other_size; uint8_t several; };
int cuptiSubscribe_v2(void **handle, callback_fn wanted, void *user, struct params *p);
int cuptiSubscribe_v2(void **handle, callback_fn wanted, void *user, struct params *p) {
    DRIVER_ANSWER;
    bool several = p && p->size >= sizeof *p && p->several;
    bool beside = fake.other && fake.other_multi && several;
    const char *other = fake.other;
    int result;
    if (several && fake.version < 130200) return 1;
    if (other && p && p->other) snprintf(p->other, p->other_size, "%s", other);
    if (beside) fake.other = NULL;
    result = cuptiSubscribe(handle, wanted, user);
    fake.other = other;
    if (several) multi = !result;
    return result;
}
int cuptiGetTimestamp_v2(void *handle, uint64_t *time);
int cuptiGetTimestamp_v2(void *handle, uint64_t *time) {
    DRIVER_ANSWER;
    MULTI;
    *time = now();
    return 0;
}
int cuptiActivityEnable_v2(void *handle, uint32_t kind, void *config);
int cuptiActivityEnable_v2(void *handle, uint32_t kind, void *config) {
    ANSWER;
    MULTI;
    return config ? 1 : enable(kind, true);
}
int cuptiActivityDisable_v2(void *handle, uint32_t kind, void *config);
int cuptiActivityDisable_v2(void *handle, uint32_t kind, void *config) {
    ANSWER;
    MULTI;
    return config ? 1 : enable(kind, false);
}
int cuptiActivityGetNextRecord_v2(void *handle, uint8_t *bytes, size_t valid, uint8_t **record);
int cuptiActivityGetNextRecord_v2(void *handle, uint8_t *bytes, size_t valid, uint8_t **record) {
    DRIVER_ANSWER;
    MULTI;
    return cuptiActivityGetNextRecord(bytes, valid, record);
}
int cuptiActivityGetNumDroppedRecords_v2(void *handle, void *ctx, uint32_t stream, size_t *count);
int cuptiActivityGetNumDroppedRecords_v2(void *handle, void *ctx, uint32_t stream, size_t *count) {
    ANSWER;
    MULTI;
    (void)ctx, (void)stream;
    *count = __atomic_exchange_n(&dropped_now, 0, __ATOMIC_RELAXED);
    return 0;
}
int cuptiActivityPushExternalCorrelationId_v2(void *handle, int kind, uint64_t id);
int cuptiActivityPushExternalCorrelationId_v2(void *handle, int kind, uint64_t id) {
    DRIVER_ANSWER;
    MULTI;
    return push(kind, id);
}
int cuptiActivityPopExternalCorrelationId_v2(void *handle, int kind, uint64_t *id);
int cuptiActivityPopExternalCorrelationId_v2(void *handle, int kind, uint64_t *id) {
    DRIVER_ANSWER;
    MULTI;
    return pop(kind, id);
}
int cuptiActivitySetAttribute_v2(void *handle, int attribute, size_t *size, void *value);
int cuptiActivitySetAttribute_v2(void *handle, int attribute, size_t *size, void *value) {
    ANSWER;
    MULTI;
    if (attribute == 21 && fake.no_thread_ids) return 1;
    if (attribute == 21) system_ids = *size == 4 && *(uint32_t *)value == 1;
    if (attribute == 13 && fake.no_hardware) return 27;
    if (attribute == 13) counts_all.hardware = *size == 1 && *(uint8_t *)value;
    if (attribute == 9) per_thread = *(uint8_t *)value != 0;
    if (attribute == 5) zeroed = *(uint8_t *)value != 0;
    return 0;
}
int cuptiActivityEnableRuntimeApi_v2(void *handle, uint32_t cbid, uint8_t enabled);
int cuptiActivityEnableRuntimeApi_v2(void *handle, uint32_t cbid, uint8_t enabled) {
    ANSWER;
    MULTI;
    off[1][cbid] = !enabled;
    return 0;
}
int cuptiActivityEnableDriverApi_v2(void *handle, uint32_t cbid, uint8_t enabled);
int cuptiActivityEnableDriverApi_v2(void *handle, uint32_t cbid, uint8_t enabled) {
    ANSWER;
    MULTI;
    off[0][cbid] = !enabled;
    return 0;
}
int cuptiActivityRegisterCallbacks_v2(void *handle, request_2_fn requested,
                                      complete_2_fn completed);
int cuptiActivityRegisterCallbacks_v2(void *handle, request_2_fn requested,
                                      complete_2_fn completed) {
    ANSWER;
    MULTI;
    request_2 = requested;
    complete_2 = completed;
    return 0;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*callback)(void));
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) {
    (void)clock;
    abort();                             /* the real one then mixes up clocks, or loses times */
}

/* ---- the driver ---- */

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    DRIVER_ANSWER;
    (void)flags;
    return fake.no_driver_error;
}
int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    DRIVER_ANSWER;
    *version = fake.driver_version;
    return 0;
}
int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
    DRIVER_ANSWER;
    *count = fake.devices;
    return 0;
}
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetName(char *name, int size, int device) {
    DRIVER_ANSWER;
    snprintf(name, (size_t)size, "%s %d", fake.gpu_name ? fake.gpu_name : "Fake \"GPU\"", device);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    DRIVER_ANSWER;
    (void)device;
    *bytes = (size_t)80 << 30;
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    DRIVER_ANSWER;
    static const int values[][2] = { { 75, 9 }, { 76, 0 }, { 1, 1024 }, { 39, 2048 }, { 106, 32 },
        { 12, 65536 }, { 82, 65536 }, { 10, 32 }, { 16, 132 }, { 8, 49152 }, { 97, 232448 },
        { 81, 233472 } };
    size_t i;
    (void)device;
    for (i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i][0] == attribute)
            *value = attribute == fake.attribute ? fake.attribute_value : values[i][1];
    return 0;
}
int cuCtxGetCurrent(void **now_);
int cuCtxGetCurrent(void **now_) {
    DRIVER_ANSWER;
    *now_ = (void *)(uintptr_t)(unsigned)context;
    return 0;
}
int cuCtxSetCurrent(void *to);
int cuCtxSetCurrent(void *to) {
    DRIVER_ANSWER;
    context = (int)(uintptr_t)to;
    return 0;
}
int cuCtxSynchronize(void);
int cuCtxSynchronize(void) {
    DRIVER_ANSWER;
    int device = context > 0 ? context - 1 : me()->device;
    uint32_t i;
    __atomic_add_fetch(&counts_all.syncs, 1, __ATOMIC_RELAXED);
    for (i = 0; i < FAKE_STREAMS; i++)
        wait_until(__atomic_load_n(&streams[device][i].tail, __ATOMIC_RELAXED));
    return 0;
}
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    DRIVER_ANSWER;
    (void)device;
    *flags = 0;
    *active = !fake.idle;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **to, int device);
int cuDevicePrimaryCtxRetain(void **to, int device) {
    DRIVER_ANSWER;
    *to = (void *)(uintptr_t)(unsigned)(device + 1);
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
    DRIVER_ANSWER;
    (void)device;
    return 0;
}
int cuEventCreate(void **event, unsigned flags);
int cuEventCreate(void **event, unsigned flags) {
    DRIVER_ANSWER;
    (void)flags;
    *event = calloc(1, sizeof(struct event));
    return *event ? 0 : 2;
}
int cuEventDestroy_v2(void *event);
int cuEventDestroy_v2(void *event) {
    free(event);
    return 0;
}
int cuEventRecord(void *event, void *stream);
int cuEventRecord(void *event, void *stream) {
    DRIVER_ANSWER;
    const struct stream *s = stream ? (const struct stream *)stream : stream_of(me(), 0);
    uint64_t time = now(), tail = __atomic_load_n(&s->tail, __ATOMIC_RELAXED);
    ((struct event *)event)->time = tail > time ? tail : time;
    return 0;
}
int cuEventSynchronize(void *event);
int cuEventSynchronize(void *event) {
    DRIVER_ANSWER;
    wait_until(((struct event *)event)->time);
    return 0;
}
int cuEventElapsedTime(float *ms, void *from, void *to);
int cuEventElapsedTime(float *ms, void *from, void *to) {
    DRIVER_ANSWER;
    int64_t ns = (int64_t)(((struct event *)to)->time - ((struct event *)from)->time);
    *ms = (float)((double)ns * 1e-6);
    return 0;
}

/* ---- by name ---- */

#define FUNCTION(f) { #f, (void (*)(void))f }
static const struct { const char *name; void (*function)(void); } all[] = {
    FUNCTION(cuptiGetVersion), FUNCTION(cuptiGetTimestamp), FUNCTION(cuptiGetResultString),
    FUNCTION(cuptiGetCallbackName), FUNCTION(cuptiSubscribe), FUNCTION(cuptiUnsubscribe),
    FUNCTION(cuptiActivityRegisterCallbacks), FUNCTION(cuptiActivityEnable),
    FUNCTION(cuptiActivityDisable), FUNCTION(cuptiActivityFlushAll),
    FUNCTION(cuptiActivityGetNextRecord), FUNCTION(cuptiActivityGetNumDroppedRecords),
    FUNCTION(cuptiActivityPushExternalCorrelationId),
    FUNCTION(cuptiActivityPopExternalCorrelationId), FUNCTION(cuptiActivitySetAttribute),
    FUNCTION(cuptiSetThreadIdType), FUNCTION(cuptiActivityRegisterTimestampCallback),
    FUNCTION(cuptiActivityEnableRuntimeApi), FUNCTION(cuptiActivityEnableDriverApi),
    FUNCTION(cuptiSubscribe_v2), FUNCTION(cuptiGetTimestamp_v2),
    FUNCTION(cuptiActivityEnable_v2), FUNCTION(cuptiActivityDisable_v2),
    FUNCTION(cuptiActivityGetNextRecord_v2), FUNCTION(cuptiActivityGetNumDroppedRecords_v2),
    FUNCTION(cuptiActivityPushExternalCorrelationId_v2),
    FUNCTION(cuptiActivityPopExternalCorrelationId_v2),
    FUNCTION(cuptiActivitySetAttribute_v2), FUNCTION(cuptiActivityEnableRuntimeApi_v2),
    FUNCTION(cuptiActivityEnableDriverApi_v2), FUNCTION(cuptiActivityRegisterCallbacks_v2),
    FUNCTION(cuptiActivityEnableHWTrace), FUNCTION(cuptiEnableCallback),
    FUNCTION(cuptiGetGraphNodeId),
    FUNCTION(cuInit), FUNCTION(cuDriverGetVersion), FUNCTION(cuDeviceGetCount),
    FUNCTION(cuDeviceGetName), FUNCTION(cuDeviceTotalMem_v2), FUNCTION(cuDeviceGetAttribute),
    FUNCTION(cuCtxGetCurrent), FUNCTION(cuCtxSetCurrent),
    FUNCTION(cuCtxSynchronize), FUNCTION(cuDevicePrimaryCtxGetState),
    FUNCTION(cuDevicePrimaryCtxRetain), FUNCTION(cuDevicePrimaryCtxRelease_v2),
    FUNCTION(cuEventCreate), FUNCTION(cuEventDestroy_v2), FUNCTION(cuEventRecord),
    FUNCTION(cuEventSynchronize), FUNCTION(cuEventElapsedTime) };

const char *fake_call_name(size_t i) { return i < sizeof all / sizeof *all ? all[i].name : NULL; }

void *fake_symbol(void *user, const char *library, const char *name) {
    size_t i;
    void *address = NULL;
    (void)user;
    (void)library;
    if (fake.missing && strcmp(name, fake.missing) == 0) return NULL;
    if (fake.version < 28 && strcmp(name, "cuptiSubscribe_v2") == 0) return NULL;
    for (i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) memcpy(&address, &all[i].function, sizeof address);
    return address;
}

void fake_reset(void) {
    thread *t;
    buffer *b;
    int i;
    if (worker_runs) {
        __atomic_store_n(&worker_ends, true, __ATOMIC_RELEASE);
        pthread_join(worker, NULL);
        worker_runs = worker_ends = false;
    }
    memset(&fake, 0, sizeof fake);
    fake.version = FAKE_VERSION;
    fake.driver_version = FAKE_DRIVER;
    fake.devices = 1;
    fake.latency_ns = 3000;
    seal(&shared);
    for (t = threads; t; t = t->next) seal(t);
    while ((b = full) != NULL) {
        full = b->next;
        free(b);
    }
    for (t = threads; t; t = t->next) {
        memset(&t->counts, 0, sizeof t->counts);
        t->device = 0;
        t->id_count = 0;
    }
    memset(&shared.counts, 0, sizeof shared.counts);
    memset(&counts_all, 0, sizeof counts_all);
    for (i = 0; i < 8 * FAKE_STREAMS; i++) {
        struct stream *at = &streams[i / FAKE_STREAMS][i % FAKE_STREAMS];
        at->device = i / FAKE_STREAMS;
        at->id = i % FAKE_STREAMS ? 12u + (uint32_t)i % FAKE_STREAMS : 7;
        at->tail = 0;
    }
    free(kept);
    kept = NULL;
    memset(on, 0, sizeof on);
    memset(off, 0, sizeof off);
    request = NULL;
    complete = NULL;
    request_2 = NULL;
    complete_2 = NULL;
    per_thread = true;
    system_ids = multi = zeroed = false;
    subscribed = walking = 0;
    callback = NULL;
    memset(told, 0, sizeof told);
    out = correlations = launches = 0;
    dropped_now = 0;
}

/* As a library it is loaded with the defaults. */
__attribute__((constructor)) static void load(void) { fake_reset(); }

#ifdef __cplusplus
}
#endif
