/* prof_cuda.h: NVIDIA GPU work in prof.h's tables and traces: kernels, copies, runtime and driver
   calls, attributed to the zone that launched them. MIT-0 license, as prof.h.

   Do this, in one file: the one that has prof.h's implementation, or another
       #define PROF_CUDA_IMPLEMENTATION
       #include "prof_cuda.h"
   and, before prof_start,
       prof_cuda_init(NULL);
   Link with -ldl -lpthread; nothing of CUDA is linked, included or needed to build. The same
   program starts where there is no GPU: the CPU profile is then whole, and prof_cuda_status(), the
   table's footer and the trace's metadata say why there is no more.

   How it works
       CUPTI (libcupti.so of CUDA 11 to 13) is opened when a session starts, and asked for activity
       records. It writes them into buffers of ours; when one is full its records are taken over in
       a compact form: 24 bytes each, and 64 once for each distinct launch (name, grid, stream...).
       After prof_stop they become events: a kernel belongs to the innermost zone that was open on
       the thread that launched it, at the time it did. Zones cost what they cost without a GPU.
       Where CUPTI is missing or in use by another profiler, ranges that the program marks with
       prof_cuda_range_begin and _end are timed with CUDA events instead.

   Memory
       One block: prof_cuda_desc.memory, or a static array of PROF_CUDA_MEMORY bytes (80 MiB; pages
       that are not touched cost nothing). What does not fit is counted, never silently lost: see
       prof_cuda_stats. Events are made when the trace is first read; those of a launch then take
       about 1.4 KB of the session's arena (prof_desc.memory), for which 64 MiB are little.
       GPU work needs PROF_MODE_TRACE: other modes have no room for it, and count it as dropped.

   Threads
       Set-up and shutdown: one thread, no session open. prof_cuda_range_*, prof_cuda_push_id,
       prof_cuda_flush: any thread. A child after fork() profiles its CPU side only.

   Macros
       PROF_CUDA_IMPLEMENTATION   put the function bodies here
       PROF_CUDA_MEMORY n         bytes of the built-in block
   Environment
       PROF_CUDA_CUPTI            path of the libcupti to open; else: one that is loaded, then the
                                  loader's, then those beside the CUDA libraries that are loaded, in
                                  CUDA_HOME, CUDA_PATH, CONDA_PREFIX, VIRTUAL_ENV (pip's too),
                                  /usr/local/cuda: of the driver's CUDA, then older, then newer
       NVTX_INJECTION64_PATH      for PROF_CUDA_MARKERS: path of libcupti, told to NVTX

   Limits
       Do not stop a session while a stream is captured: it waits for the GPU (or set no_sync).
       CUPTI 13.0 mixes up which graph launch a kernel came from after a process's first session.
       On Windows only what desc.symbol finds.

   Rooms, in this order: @API @OWN @MIRROR @LOAD @STORE @DECODE @STATES @RANGES @EVENTS @DEVICE
*/
#ifndef PROF_CUDA_H
#define PROF_CUDA_H

#include "prof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- @API ---- */

enum {                                   /* prof_cuda_desc.records */
    PROF_CUDA_KERNELS = 1,
    PROF_CUDA_COPIES = 2,                /* memcpy, peer-to-peer memcpy, memset */
    PROF_CUDA_RUNTIME = 4,               /* cuda... calls, without the few that are many and dull */
    PROF_CUDA_DRIVER = 8,                /* cu... calls that launch, copy or set */
    PROF_CUDA_OVERHEAD = 16,             /* what CUPTI itself and the driver's compiler took */
    PROF_CUDA_SYNC = 32,                 /* waits for events, streams, contexts */
    PROF_CUDA_DEVICE_MEMORY = 64,        /* every allocation and release on the device */
    PROF_CUDA_EXTERNAL_IDS = 128,        /* ids from prof_cuda_push_id */
    PROF_CUDA_MARKERS = 256,             /* NVTX ranges and marks, as CUPTI sees them: where
                                            NVTX_INJECTION64_PATH in the environment is its path */
    PROF_CUDA_DEFAULT = 31
};

/* Zero-initialise; 0 means the default. */
typedef struct prof_cuda_desc {
    void *memory;                        /* any alignment; NULL: the built-in block */
    size_t memory_size;
    uint32_t records;                    /* PROF_CUDA_...; 0: PROF_CUDA_DEFAULT */
    size_t buffer_size;                  /* bytes of a CUPTI buffer; 0: 256 KiB */
    size_t pool_size;                    /* bytes of all of them; 0: 16 MiB. At least 2 a thread */
    uint32_t max_ranges;                 /* CUDA-event ranges a session holds; 0: 4096 */
    bool shared_buffers;                 /* one CUPTI buffer at a time instead of one per thread */
    bool no_sync;                        /* stop does not wait for the GPU: what runs is cut off */
    bool no_cupti;                       /* CUDA events even where CUPTI is there */
    /* The address of a function, where the program has CUPTI or the driver API linked in or loaded
       in its own way. library: "cupti" or "cuda". NULL: dlopen and dlsym. */
    void *(*symbol)(void *user, const char *library, const char *name);
    void *user;
} prof_cuda_desc;

typedef enum prof_cuda_state {
    PROF_CUDA_OFF = 0,                   /* before prof_cuda_init, after prof_cuda_shutdown */
    PROF_CUDA_READY,
    PROF_CUDA_ACTIVE_CUPTI,
    PROF_CUDA_ACTIVE_EVENTS,             /* the fallback: prof_cuda_range_begin and _end */
    PROF_CUDA_DRAINING,                  /* waiting for the last buffers */
    PROF_CUDA_UNAVAILABLE                /* prof_cuda_status says why; stays so */
} prof_cuda_state;

/* Counts of the session, or of the last one. Records: those CUPTI had within the session. */
typedef struct prof_cuda_stats {
    prof_cuda_state state;
    uint32_t cupti_version;              /* CUPTI_API_VERSION of the library; 0: none */
    uint64_t kernels, copies, calls;     /* kept */
    uint64_t other;                      /* kept: overhead, waits, memory, ids, markers */
    uint64_t lost;                       /* the sum of lost_: records that did not come through */
    uint64_t lost_dropped;               /* CUPTI had no buffer, or dropped them itself */
    uint64_t lost_full;                  /* our block was full (give prof_cuda_desc.memory more) */
    uint64_t lost_overwritten;           /* no buffer was left, and a CUPTI before API 27 must have
                                            one: an estimate, as all others are exact */
    uint64_t corrupt;                    /* buffers with a record that is none: the rest skipped */
    uint64_t unknown;                    /* records of kinds not known here: skipped */
    uint64_t outside;                    /* records from before the session's start: skipped */
    uint64_t muted;                      /* calls that are many and dull, ids of other profilers,
                                            waits on streams that did no work: skipped */
    uint64_t no_time;                    /* records without a time: not in the trace */
    uint64_t wrong_clock;                /* records stamped by a clock that is not CUPTI's own, far
                                            off the session: not in the trace */
    uint64_t unfinished;                 /* were running at prof_stop: cut there, and flagged */
    uint64_t no_launch;                  /* device work whose launch call is not there */
    uint64_t no_buffer;                  /* times that CUPTI asked in vain for a buffer */
    uint64_t names_lost;                 /* names that did not fit */
    uint64_t ranges, ranges_lost;        /* CUDA-event ranges; lost: more than max_ranges */
    uint32_t buffers, buffers_most;      /* buffers there are; most that CUPTI held at a time */
    uint32_t buffers_missing;            /* that CUPTI kept at the stop: what is in them counts as
                                            `outside` of the session they come in */
    size_t bytes_used, bytes_total;      /* of the block, without the buffers */
} prof_cuda_stats;

/* A GPU. Kineto: deviceProperties */
typedef struct prof_cuda_device {
    int32_t id;
    char name[96];
    uint64_t total_memory;
    int32_t compute_major, compute_minor;
    int32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
    int32_t registers_per_block, registers_per_sm;
    int32_t warp_size, sm_count;
    int32_t shared_per_block, shared_per_block_optin, shared_per_sm;
} prof_cuda_device;

/* Joins the GPU to the sessions that follow; NULL or zeroed: every default. Loads nothing yet.
   PROF_ERROR_STATE: done already, or a session is open. PROF_ERROR_MEMORY: the block is too small
   (prof_cuda_memory_size). PROF_ERROR_INVALID: memory NULL with a size, or a buffer below 4 KiB. */
PROF_API prof_result prof_cuda_init(const prof_cuda_desc *desc);

/* Lets CUPTI and the driver go; not while a session is open (PROF_ERROR_STATE), nor while CUPTI
   keeps a buffer of prof_cuda_desc.memory (prof_cuda_stats.buffers_missing): it may still write
   there. A trace with GPU events must not be used any more. */
PROF_API prof_result prof_cuda_shutdown(void);

/* Bytes of memory for the buffers of desc and for `launches` kernels with their calls. */
PROF_API size_t prof_cuda_memory_size(const prof_cuda_desc *desc, size_t launches);

/* NULL: all is well, or nothing was tried yet. Else why there is no GPU work, or only CUDA-event
   ranges, and what to do about it; English, one line, valid until prof_cuda_shutdown. */
PROF_API const char *prof_cuda_status(void);

PROF_API prof_cuda_stats prof_cuda_get_stats(void);

/* The GPU with this number, from the driver, which it loads. False: there is none. */
PROF_API bool prof_cuda_get_device(int32_t id, prof_cuda_device *out);

/* Asks CUPTI for what is complete; a session does so at prof_step when its buffers run low. */
PROF_API void prof_cuda_flush(void);

/* Kernels and copies that this thread launches between these carry id (`External id`). Needs
   PROF_CUDA_EXTERNAL_IDS; else, and without CUPTI, they do nothing. id: not 0. */
PROF_API void prof_cuda_push_id(uint64_t id);
PROF_API void prof_cuda_pop_id(void);

/* Times what is put into stream (a CUstream or cudaStream_t; NULL: the default one) in between,
   as one event `name` on the GPU, where CUPTI is missing; else nothing. name is copied. Returns
   what _end takes: both on any thread, with the same context current. */
PROF_API uint32_t prof_cuda_range_begin(const char *name, void *stream);
PROF_API void prof_cuda_range_end(uint32_t range);

/* The program's own device allocator: bytes handed out, or taken back when negative, at address,
   on GPU `device`: prof_memory_alloc and _free for it. Needs prof_desc.profile_memory. */
PROF_API void prof_cuda_memory(const void *address, int64_t bytes, int32_t device);

#ifdef __cplusplus
}
#endif
#endif /* PROF_CUDA_H */

/* ======================================================================== implementation ==== */
#if defined(PROF_CUDA_IMPLEMENTATION) && !defined(PROF_CUDA__IMPLEMENTED)
#define PROF_CUDA__IMPLEMENTED

#if defined(_WIN32)
#  include <windows.h>
#else
#  include <dlfcn.h>
#  include <glob.h>
#  include <poll.h>
#  include <pthread.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PROF_CUDA_MEMORY
#  define PROF_CUDA_MEMORY (80u << 20)
#endif

#ifdef __cplusplus
#  ifdef __GNUC__
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wold-style-cast"   /* this is C */
#    pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#    ifndef __clang__
#      pragma GCC diagnostic ignored "-Wuseless-cast"
#    endif
#  endif
extern "C" {
#endif

/* ---- @OWN: what prof.h has too, but not for others: this file uses its public names alone ---- */

#if defined(__GNUC__) || defined(__clang__)
#  define PROF_CUDA__QUIET __attribute__((unused, no_instrument_function))
#else
#  define PROF_CUDA__QUIET
#endif
#define PROF_CUDA__FN static PROF_CUDA__QUIET
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#  define PROF_CUDA__LOAD(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)
#  define PROF_CUDA__STORE(p, v) __atomic_store_n(&(p), v, __ATOMIC_RELAXED)
#else
#  define PROF_CUDA__LOAD(p) (p)
#  define PROF_CUDA__STORE(p, v) ((p) = (v))
#endif
#define PROF_CUDA__MIN(a, b) ((a) < (b) ? (a) : (b))
#define PROF_CUDA__MAX(a, b) ((a) > (b) ? (a) : (b))
#define PROF_CUDA__NAME_MOST 4095        /* bytes of a name, as in prof.h */

PROF_CUDA__FN size_t prof_cuda__align(size_t n) { return (n + 15u) & ~(size_t)15u; }

/* Bytes of s, at most those of a name, and then whole characters. */
PROF_CUDA__FN size_t prof_cuda__length(const char *s) {
    size_t n = 0;
    while (n < PROF_CUDA__NAME_MOST && s[n]) n++;
    if (s[n])
        while (n && ((unsigned char)s[n] & 0xc0) == 0x80) n--;
    return n;
}

/* A stable merge sort of n numbers; other: room for n. */
PROF_CUDA__FN void prof_cuda__sort(uint32_t *list, uint32_t *other, uint32_t n,
                                   bool (*after)(uint32_t a, uint32_t b)) {
    uint32_t half = n / 2, i = 0, j = half;
    if (n < 2) return;
    prof_cuda__sort(list, other, half, after);
    prof_cuda__sort(list + half, other, n - half, after);
    for (uint32_t k = 0; k < n; k++)
        other[k] = i == half || (j < n && after(list[i], list[j])) ? list[j++] : list[i++];
    memcpy(list, other, n * sizeof *list);
}

/* ---- @MIRROR: the part of CUPTI's records that is used here ----

   The fields that all versions from CUDA 11.0 on have at the same place; later versions only add
   to the end. `make check_layout` compares them with cupti.h where that is installed. */

enum {                                   /* CUpti_ActivityKind */
    PROF_CUDA__MEMCPY = 1, PROF_CUDA__MEMSET = 2, PROF_CUDA__SERIAL_KERNEL = 3,
    PROF_CUDA__DRIVER_CALL = 4, PROF_CUDA__RUNTIME_CALL = 5, PROF_CUDA__KERNEL = 10,
    PROF_CUDA__MARKER = 12, PROF_CUDA__OVERHEAD_RECORD = 17, PROF_CUDA__MEMCPY_PEER = 22,
    PROF_CUDA__CUDA_EVENT = 36, PROF_CUDA__SYNCHRONIZATION = 38, PROF_CUDA__EXTERNAL = 39,
    PROF_CUDA__ALLOCATION = 49, PROF_CUDA__KINDS = 56
};

typedef struct prof_cuda__any { uint32_t kind; } prof_cuda__any;

typedef struct prof_cuda__kernel {       /* CUpti_ActivityKernel5 and later */
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t cache_requested, cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
} prof_cuda__kernel;

typedef struct prof_cuda__memcpy {       /* CUpti_ActivityMemcpy3 and later */
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
} prof_cuda__memcpy;

typedef struct prof_cuda__peer {         /* CUpti_ActivityMemcpyPtoP2 and later */
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, target_device, target_context, correlation;
    void *reserved;
    uint64_t graph_node;
} prof_cuda__peer;

typedef struct prof_cuda__memset {       /* CUpti_ActivityMemset2 and later */
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
} prof_cuda__memset;

typedef struct prof_cuda__call {         /* CUpti_ActivityAPI */
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
} prof_cuda__call;

typedef struct prof_cuda__external {     /* CUpti_ActivityExternalCorrelation */
    uint32_t kind, external_kind;
    uint64_t id;
    uint32_t correlation, reserved;
} prof_cuda__external;

typedef struct prof_cuda__overhead {     /* CUpti_ActivityOverhead and later */
    uint32_t kind, overhead_kind, object_kind, object[3];
    uint64_t start, end;
} prof_cuda__overhead;

typedef struct prof_cuda__overhead3 {    /* CUpti_ActivityOverhead3, API 22 and later */
    prof_cuda__overhead base;
    uint32_t correlation, reserved;
    void *data;                          /* ours to free */
} prof_cuda__overhead3;

typedef struct prof_cuda__sync {         /* CUpti_ActivitySynchronization and later */
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
} prof_cuda__sync;

typedef struct prof_cuda__event {        /* CUpti_ActivityCudaEvent and later */
    uint32_t kind, correlation, context, stream, event, padding;
} prof_cuda__event;

typedef struct prof_cuda__allocation {   /* CUpti_ActivityMemory2 and later */
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, time, pc;
    uint32_t process, device, context, stream;
} prof_cuda__allocation;

typedef struct prof_cuda__marker {       /* CUpti_ActivityMarker2 */
    uint32_t kind, flags;
    uint64_t time;
    uint32_t id, object_kind, process, thread, stream, padding;
    const char *name, *domain;
} prof_cuda__marker;

/* Bytes of a record that are looked at; 0: a kind that is not known. */
static const uint8_t prof_cuda__size_of[PROF_CUDA__KINDS] = {
    0, sizeof(prof_cuda__memcpy), sizeof(prof_cuda__memset), sizeof(prof_cuda__kernel),
    sizeof(prof_cuda__call), sizeof(prof_cuda__call), 0, 0, 0, 0,
    sizeof(prof_cuda__kernel), 0, sizeof(prof_cuda__marker), 0, 0, 0, 0,
    sizeof(prof_cuda__overhead), 0, 0, 0, 0,
    sizeof(prof_cuda__peer), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    sizeof(prof_cuda__event), 0, sizeof(prof_cuda__sync), sizeof(prof_cuda__external),
    0, 0, 0, 0, 0, 0, 0, 0, 0, sizeof(prof_cuda__allocation), 0, 0, 0, 0, 0, 0
};

enum { PROF_CUDA__END_OF_BUFFER = 12,    /* CUPTI_ERROR_MAX_LIMIT_REACHED */
       PROF_CUDA__OUR_IDS = 3,           /* CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 */
       PROF_CUDA__NOT_INITIALIZED = 15, PROF_CUDA__OTHER_SUBSCRIBER = 39 };   /* errors */

/* ---- @LOAD: CUPTI and the driver, at run time ---- */

typedef void (*prof_cuda__request_fn)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*prof_cuda__complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                       size_t valid);
typedef void (*prof_cuda__callback_fn)(void *user, int domain, uint32_t cbid, const void *data);

/* Functions by their names in the libraries: X(field, name, needed, arguments). */
#define PROF_CUDA__CUPTI(X) \
    X(version, "cuptiGetVersion", true, (uint32_t *)) \
    X(time, "cuptiGetTimestamp", true, (uint64_t *)) \
    X(result_text, "cuptiGetResultString", false, (int, const char **)) \
    X(callback_name, "cuptiGetCallbackName", true, (int, uint32_t, const char **)) \
    X(subscribe, "cuptiSubscribe", true, (void **, prof_cuda__callback_fn, void *)) \
    X(unsubscribe, "cuptiUnsubscribe", true, (void *)) \
    X(callbacks, "cuptiActivityRegisterCallbacks", true, \
      (prof_cuda__request_fn, prof_cuda__complete_fn)) \
    X(enable, "cuptiActivityEnable", true, (uint32_t)) \
    X(disable, "cuptiActivityDisable", true, (uint32_t)) \
    X(flush, "cuptiActivityFlushAll", true, (uint32_t)) \
    X(next, "cuptiActivityGetNextRecord", true, (uint8_t *, size_t, prof_cuda__any **)) \
    X(dropped, "cuptiActivityGetNumDroppedRecords", true, (void *, uint32_t, size_t *)) \
    X(push_id, "cuptiActivityPushExternalCorrelationId", true, (int, uint64_t)) \
    X(pop_id, "cuptiActivityPopExternalCorrelationId", true, (int, uint64_t *)) \
    X(attribute, "cuptiActivitySetAttribute", true, (int, size_t *, void *)) \
    X(thread_ids, "cuptiSetThreadIdType", true, (int)) \
    X(runtime_call, "cuptiActivityEnableRuntimeApi", false, (uint32_t, uint8_t)) \
    X(driver_call, "cuptiActivityEnableDriverApi", false, (uint32_t, uint8_t))

#define PROF_CUDA__DRIVER(X) \
    X(init, "cuInit", true, (unsigned)) \
    X(driver_version, "cuDriverGetVersion", true, (int *)) \
    X(device_count, "cuDeviceGetCount", true, (int *)) \
    X(device_name, "cuDeviceGetName", true, (char *, int, int)) \
    X(device_memory, "cuDeviceTotalMem_v2", true, (size_t *, int)) \
    X(device_attribute, "cuDeviceGetAttribute", true, (int *, int, int)) \
    X(context_now, "cuCtxGetCurrent", true, (void **)) \
    X(context_set, "cuCtxSetCurrent", true, (void *)) \
    X(context_device, "cuCtxGetDevice", true, (int *)) \
    X(synchronize, "cuCtxSynchronize", true, (void)) \
    X(primary_state, "cuDevicePrimaryCtxGetState", true, (int, unsigned *, int *)) \
    X(primary_retain, "cuDevicePrimaryCtxRetain", true, (void **, int)) \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", true, (int)) \
    X(event_create, "cuEventCreate", true, (void **, unsigned)) \
    X(event_destroy, "cuEventDestroy_v2", true, (void *)) \
    X(event_record, "cuEventRecord", true, (void *, void *)) \
    X(event_wait, "cuEventSynchronize", true, (void *)) \
    X(event_elapsed, "cuEventElapsedTime", true, (float *, void *, void *))

#define PROF_CUDA__FIELD(field, name, needed, arguments) int (*field) arguments;
#define PROF_CUDA__COUNT_ONE(field, name, needed, arguments) +1
#define PROF_CUDA__ENTRY(field, name, needed, arguments) { name, needed },
enum {
    PROF_CUDA__CUPTI_COUNT = 0 PROF_CUDA__CUPTI(PROF_CUDA__COUNT_ONE),
    PROF_CUDA__DRIVER_COUNT = 0 PROF_CUDA__DRIVER(PROF_CUDA__COUNT_ONE)
};
typedef struct prof_cuda__cupti { PROF_CUDA__CUPTI(PROF_CUDA__FIELD) } prof_cuda__cupti;
typedef struct prof_cuda__driver { PROF_CUDA__DRIVER(PROF_CUDA__FIELD) } prof_cuda__driver;
typedef struct prof_cuda__entry { const char *name; bool needed; } prof_cuda__entry;
static const prof_cuda__entry prof_cuda__cupti_names[] = { PROF_CUDA__CUPTI(PROF_CUDA__ENTRY) };
static const prof_cuda__entry prof_cuda__driver_names[] = { PROF_CUDA__DRIVER(PROF_CUDA__ENTRY) };

/* ---- the one state ---- */

/* A record as it is kept. */
typedef struct prof_cuda__record {
    uint64_t start;                      /* CUPTI's ns; of an id: the id */
    uint32_t duration;
    uint16_t duration_high;
    uint8_t kind, flags;
    uint32_t correlation;
    uint32_t detail;                     /* of calls: thread << 16 | cbid; else a detail's number */
} prof_cuda__record;
enum { PROF_CUDA__LEFT_OUT = 1, PROF_CUDA__RUNNING = 2 };   /* flags */

/* What many records have in common. */
typedef struct prof_cuda__detail {
    uint32_t kind, name;                 /* name: offset in the text, 0: none */
    uint32_t device, context, stream, graph;
    uint64_t node_or_bytes;              /* kernels: graph node; else: bytes */
    union {
        struct { uint32_t grid[3], block[3], registers, shared; } launch;
        struct { uint64_t node; uint32_t kinds, from[2], to[2], spare; } copy;
        struct { uint64_t address; uint32_t type, event, thread, memory_kind, spare[2]; } more;
    } u;
} prof_cuda__detail;

typedef struct prof_cuda__name { const char *source; uint32_t text; } prof_cuda__name;
typedef struct prof_cuda__pair { uint64_t cupti; int64_t session; } prof_cuda__pair;
typedef struct prof_cuda__stream {
    uint32_t context, stream, device;
    bool known;
} prof_cuda__stream;
typedef struct prof_cuda__range {
    void *begin, *end, *stream;          /* CUevents, CUstream */
    int64_t launch_ns;
    uint64_t thread;
    uint32_t name;
    int32_t device;
    bool ended;
} prof_cuda__range;

enum {
    PROF_CUDA__NAMES = 8192, PROF_CUDA__THREADS = 1024, PROF_CUDA__PAIRS = 64,
    PROF_CUDA__STREAMS = 4096, PROF_CUDA__ANY_STREAM = 0x7fffffff,   /* of a context */
    PROF_CUDA__DEVICES = 64, PROF_CUDA__BUFFERS = 8192, PROF_CUDA__CBIDS = 1024
};
#define PROF_CUDA__TEXT (1u << 20)

static struct prof_cuda__all {
    prof_cuda_desc desc;
    prof_cuda_state state;
    bool subscribed, enabled, fallback, taken;   /* taken: by another profiler */
    bool retry;                          /* what failed may work another time */
    bool tried_driver, has_driver, has_cupti;
    int device_count;
    char why[320];
    void *driver_handle;
    prof_cuda__cupti cupti;
    prof_cuda__driver driver;
    void *subscriber;
    prof_cuda_stats stats;
    /* buffers */
    uint8_t *pool;
    uint64_t scratch[1024];              /* for a CUPTI that cannot do without a buffer */
    size_t buffer_size;
    uint32_t buffer_count, free_count, out;
    uint16_t free_list[PROF_CUDA__BUFFERS];
    bool is_out[PROF_CUDA__BUFFERS];
    /* the store: records from low up, details from high down */
    char *base, *low, *high, *end;
    uint32_t record_count, detail_count, index_places, last_detail, judged;
    prof_cuda__stream streams[PROF_CUDA__STREAMS];
    uint32_t *index;                     /* details by content: number + 1 */
    prof_cuda__name *names;
    char *text;
    uint32_t text_used, name_count;
    uint32_t threads[PROF_CUDA__THREADS], thread_count;
    uint32_t call_names[2][PROF_CUDA__CBIDS];   /* of the driver's calls, of the runtime's */
    bool named[2][PROF_CUDA__CBIDS], dull[2][PROF_CUDA__CBIDS];
    struct { uint32_t from, to; } demangled[1024];   /* offsets in the text */
    prof_cuda_device devices[PROF_CUDA__DEVICES];
    bool device_known[PROF_CUDA__DEVICES];
    /* time */
    uint64_t window_start;               /* of the session, CUPTI's clock */
    prof_cuda__pair pairs[PROF_CUDA__PAIRS];
    uint32_t pair_count;
    bool handed_over;
    /* ranges */
    prof_cuda__range *ranges;
    uint32_t range_count, ranges_made;
    void *base_event[PROF_CUDA__DEVICES];
    int64_t base_ns[PROF_CUDA__DEVICES];
} prof_cuda__;

static union { char bytes[PROF_CUDA_MEMORY]; uint64_t align; void *pointer; } prof_cuda__memory;
static size_t prof_cuda__withheld;       /* of those: CUPTI kept a buffer in them when let go */

#if defined(_WIN32)
static CRITICAL_SECTION prof_cuda__mutex;
PROF_CUDA__FN void prof_cuda__lock_make(void) { InitializeCriticalSection(&prof_cuda__mutex); }
PROF_CUDA__FN void prof_cuda__lock(void) { EnterCriticalSection(&prof_cuda__mutex); }
PROF_CUDA__FN void prof_cuda__unlock(void) { LeaveCriticalSection(&prof_cuda__mutex); }
PROF_CUDA__FN void *prof_cuda__open(const char *name, bool loaded) {
    (void)name;
    (void)loaded;
    return NULL;
}
PROF_CUDA__FN void *prof_cuda__find(void *handle, const char *name) {
    (void)handle;
    (void)name;
    return NULL;
}
PROF_CUDA__FN void prof_cuda__close(void *handle) { (void)handle; }
PROF_CUDA__FN void prof_cuda__watch_threads(bool on) { (void)on; }
PROF_CUDA__FN void prof_cuda__watch_thread(void) {}
#else
static pthread_mutex_t prof_cuda__mutex = PTHREAD_MUTEX_INITIALIZER;
PROF_CUDA__FN void prof_cuda__lock_make(void) {}
PROF_CUDA__FN void prof_cuda__lock(void) { pthread_mutex_lock(&prof_cuda__mutex); }
PROF_CUDA__FN void prof_cuda__unlock(void) { pthread_mutex_unlock(&prof_cuda__mutex); }
/* loaded: only a copy that the process has already. */
PROF_CUDA__FN void *prof_cuda__open(const char *name, bool loaded) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | (loaded ? RTLD_NOLOAD : 0));
}
PROF_CUDA__FN void *prof_cuda__find(void *handle, const char *name) { return dlsym(handle, name); }
PROF_CUDA__FN void prof_cuda__close(void *handle) {
    if (handle) dlclose(handle);
}
/* Threads that launch are told of when they end. */
PROF_CUDA__FN void prof_cuda__thread_ends(void *user);
static pthread_key_t prof_cuda__thread_key;
static bool prof_cuda__watches;
PROF_CUDA__FN void prof_cuda__watch_threads(bool on) {
    if (on && !prof_cuda__watches)
        prof_cuda__watches =
            pthread_key_create(&prof_cuda__thread_key, prof_cuda__thread_ends) == 0;
    if (!on && prof_cuda__watches) {
        (void)pthread_key_delete(prof_cuda__thread_key);
        prof_cuda__watches = false;
    }
}
PROF_CUDA__FN void prof_cuda__watch_thread(void) {
    if (prof_cuda__watches && !pthread_getspecific(prof_cuda__thread_key))
        (void)pthread_setspecific(prof_cuda__thread_key, &prof_cuda__watches);
}
#endif


/* Keeps the reason that there is no more than this. */
PROF_CUDA__FN void prof_cuda__say(const char *a, const char *b, const char *c) {
    struct prof_cuda__all *g = &prof_cuda__;
    const char *part[3];
    size_t n = 0;
    part[0] = a;
    part[1] = b;
    part[2] = c;
    for (int i = 0; i < 3; i++)
        for (const char *s = part[i]; s && *s && n + 1 < sizeof g->why; s++) g->why[n++] = *s;
    g->why[n] = 0;
}

/* The state that does not change any more: no call into CUPTI or the driver follows. */
PROF_CUDA__FN bool prof_cuda__give_up(const char *a, const char *b, const char *c) {
    prof_cuda__say(a, b, c);
    prof_cuda__.state = PROF_CUDA_UNAVAILABLE;
    return false;
}

/* CUPTI cannot be had, the driver can: only ranges. */
PROF_CUDA__FN bool prof_cuda__fall_back(const char *a, const char *b, const char *c) {
    prof_cuda__say(a, b, c);
    prof_cuda__.fallback = true;
    return false;
}

/* Fills a table of functions; NULL, or the name that is missing. */
PROF_CUDA__FN const char *prof_cuda__resolve(const char *library, void *handle, char *table,
                                             const prof_cuda__entry *names, int count) {
    const prof_cuda_desc *d = &prof_cuda__.desc;
    for (int i = 0; i < count; i++) {
        void *f = d->symbol ? d->symbol(d->user, library, names[i].name)
                            : prof_cuda__find(handle, names[i].name);
        if (!f && names[i].needed) return names[i].name;
        memcpy(table + (size_t)i * sizeof f, &f, sizeof f);
    }
    return NULL;
}

PROF_CUDA__FN bool prof_cuda__load_driver(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    const char *missing;
    char number[24];
    int result;
    if (g->tried_driver) return g->has_driver;
    g->tried_driver = true;
    if (!g->desc.symbol) {
        g->driver_handle = prof_cuda__open("libcuda.so.1", false);
        if (!g->driver_handle)
            return prof_cuda__give_up("no GPU work: there is no NVIDIA driver here (libcuda.so.1)",
                                      "", "");
    }
    missing = prof_cuda__resolve("cuda", g->driver_handle, (char *)&g->driver,
                                 prof_cuda__driver_names, PROF_CUDA__DRIVER_COUNT);
    if (missing)
        return prof_cuda__give_up("no GPU work: the NVIDIA driver is too old, it lacks ", missing,
                                  "");
    result = g->driver.init(0);
    if (!result) result = g->driver.device_count(&g->device_count);
    if (result == 100 || (!result && g->device_count < 1))
        return prof_cuda__give_up("no GPU work: the NVIDIA driver finds no GPU (is it visible? see",
                                  " CUDA_VISIBLE_DEVICES)", "");
    (void)prof_format_text(number, sizeof number, "%u", (unsigned)result);
    if (result) return prof_cuda__give_up("no GPU work: cuInit fails with CUDA error ", number, "");
    return g->has_driver = true;
}

/* Says what a CUPTI error means for the user. */
PROF_CUDA__FN bool prof_cuda__cupti_failed(const char *what, int result) {
    const char *text = NULL;
    char number[64];
    (void)prof_format_text(number, sizeof number, " (CUPTI error %u)", (unsigned)result);
    if (result == PROF_CUDA__OTHER_SUBSCRIBER)
        return prof_cuda__fall_back("only CUDA-event ranges: another profiler is attached; end it "
                                    "(nsys, ncu, compute-sanitizer, PyTorch's)", number, "");
    if (result == 35 || result == 40)
        return prof_cuda__fall_back("only CUDA-event ranges: the driver lets only root profile; "
                                    "load the nvidia module with NVreg_RestrictProfilingToAdmin"
                                    "Users=0, or run as root", number, "");
    if (prof_cuda__.cupti.result_text && prof_cuda__.cupti.result_text(result, &text) != 0)
        text = NULL;
    prof_cuda__fall_back("only CUDA-event ranges: ", what, number);
    if (text) {
        char before[sizeof prof_cuda__.why];
        memcpy(before, prof_cuda__.why, sizeof before);
        prof_cuda__say(before, ": ", text);
    }
    return false;
}

/* What is dull, by CUPTI's own names: driver calls that neither launch, copy nor set, and a few
   runtime calls that are many. Numbers differ between versions, names do not. */
PROF_CUDA__FN bool prof_cuda__is_dull(bool runtime, const char *name) {
    static const char *const work[] = { "cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset" };
    static const char *const many[] = { "cudaGetLastError", "cudaSetDevice_", "cudaGetDevice_",
        "cudaEventCreate_", "cudaEventCreateWithFlags", "cudaEventDestroy",
        "__cudaPushCallConfiguration", "__cudaPopCallConfiguration" };
    const char *const *prefixes = runtime ? many : work;
    int count = runtime ? 8 : 4;
    for (int i = 0; i < count; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return runtime;
    return !runtime;
}

PROF_CUDA__FN void prof_cuda__name_calls(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    for (int runtime = 0; runtime < 2; runtime++)
        for (uint32_t cbid = 1; cbid < PROF_CUDA__CBIDS; cbid++) {
            const char *name = NULL;
            g->named[runtime][cbid] =
                g->cupti.callback_name(runtime ? 2 : 1, cbid, &name) == 0 && name;
            g->dull[runtime][cbid] = g->named[runtime][cbid] && prof_cuda__is_dull(runtime, name);
        }
}

/* Takes the CUPTI of a handle; false: it is none that can be used. */
PROF_CUDA__FN bool prof_cuda__take_cupti(void *handle) {
    struct prof_cuda__all *g = &prof_cuda__;
    const char *missing;
    int result;
    missing = prof_cuda__resolve("cupti", handle, (char *)&g->cupti, prof_cuda__cupti_names,
                                 PROF_CUDA__CUPTI_COUNT);
    if (missing)
        return prof_cuda__fall_back("only CUDA-event ranges: the libcupti found is none of CUDA 11 "
                                    "to 13, it lacks ", missing, "");
    result = g->cupti.version(&g->stats.cupti_version);
    if (result) return prof_cuda__cupti_failed("cuptiGetVersion", result);
    if (g->stats.cupti_version < 13)
        return prof_cuda__fall_back("only CUDA-event ranges: the libcupti found is too old; take "
                                    "that of CUDA 11.0 or later", "", "");
    prof_cuda__name_calls();
    return true;
}

PROF_CUDA__FN void prof_cuda__subscriber(void *user, int domain, uint32_t cbid, const void *data) {
    (void)user;
    (void)domain;
    (void)cbid;
    (void)data;
}

/* Becomes the process's subscriber of the CUPTI that was taken. Another profiler may have left by
   the next start, and CUDA may be there: then it is tried again. */
PROF_CUDA__FN bool prof_cuda__subscribe(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    int result = g->cupti.subscribe(&g->subscriber, prof_cuda__subscriber, NULL);
    g->taken = result == PROF_CUDA__OTHER_SUBSCRIBER;
    if (g->taken || result == PROF_CUDA__NOT_INITIALIZED) g->retry = true;
    if (result) return prof_cuda__cupti_failed("cuptiSubscribe", result);
    return g->subscribed = true;
}

/* Tries a CUPTI, unless one is found already: that works, or that another profiler has. A copy of
   the driver's past or future may refuse: then the next is tried. */
PROF_CUDA__FN void prof_cuda__try_cupti(const char *path, bool loaded) {
    struct prof_cuda__all *g = &prof_cuda__;
    void *handle = g->has_cupti ? NULL : prof_cuda__open(path, loaded);
    char first[sizeof g->why];
    if (!handle) return;
    memcpy(first, g->why, sizeof first);
    g->has_cupti = prof_cuda__take_cupti(handle) && (prof_cuda__subscribe() || g->taken);
    if (g->subscribed) {
        g->why[0] = 0;
        g->fallback = g->retry = false;
    } else if (first[0]) memcpy(g->why, first, sizeof first);   /* the best one's */
}

#if defined(_WIN32)
PROF_CUDA__FN void prof_cuda__try_cuptis(void) {}
#else
/* The copies that a pattern finds. */
PROF_CUDA__FN void prof_cuda__try_pattern(const char *root, const char *place, const char *tail) {
    char pattern[600];
    glob_t found;
    size_t n = root ? strlen(root) : 0;
    if (!n || n > 500 || prof_cuda__.has_cupti) return;
    (void)prof_format_text(pattern, sizeof pattern, "%s%s/libcupti.so%s", root, place, tail);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i--;) prof_cuda__try_cupti(found.gl_pathv[i], false);
    globfree(&found);
}

/* The folder of a CUDA library that the process has loaded, as pip's libcudart. */
PROF_CUDA__FN const char *prof_cuda__loaded_folder(void) {
    static char line[600];
    FILE *maps = fopen("/proc/self/maps", "r");
    char *path = NULL, *end;
    while (maps && !path && fgets(line, sizeof line, maps)) {
        path = strchr(line, '/');
        if (path && !strstr(path, "/libcudart") && !strstr(path, "/libcublas")) path = NULL;
    }
    if (maps) fclose(maps);
    end = path ? strrchr(path, '/') : NULL;
    if (end) *end = 0;
    return path;
}

/* Where toolkits, conda and pip keep it that the system's loader does not know of. */
PROF_CUDA__FN void prof_cuda__try_folders(const char *tail) {
    static const char *const places[] = { "/lib64", "/extras/CUPTI/lib64", "/lib",
        "/lib/python3*/site-packages/nvidia/c*/lib" };
    const char *const roots[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), getenv("CONDA_PREFIX"),
                                  getenv("VIRTUAL_ENV"), "/usr/local/cuda" };
    const char *loaded = prof_cuda__loaded_folder();
    prof_cuda__try_pattern(loaded, "", tail);
    prof_cuda__try_pattern(loaded, "/../../cuda_cupti/lib", tail);
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 4; k++) prof_cuda__try_pattern(roots[i], places[k], tail);
}

/* Of one version of CUDA; each CUDA 11 has a name of its own. */
PROF_CUDA__FN void prof_cuda__try_version(int major, bool loaded) {
    char name[32];
    for (int minor = major == 11 ? 8 : -1; minor >= -1; minor--) {
        (void)prof_format_text(name, sizeof name,
                               minor < 0 ? "libcupti.so.%d" : "libcupti.so.%d.%d", major, minor);
        prof_cuda__try_cupti(name, loaded);
    }
    (void)prof_format_text(name, sizeof name, ".%d*", major);
    if (!loaded) prof_cuda__try_folders(name);
}

/* A copy that is loaded already comes first: it is the one that sees the program's kernels. Then
   that of the driver's CUDA: older ones work with it too, newer ones may not. */
PROF_CUDA__FN void prof_cuda__try_cuptis(void) {
    const char *path = getenv("PROF_CUDA_CUPTI");
    int version = 0, own;
    if (prof_cuda__.driver.driver_version(&version) != 0) version = 0;
    own = version >= 11000 && version < 13000 ? version / 1000 : 13;
    if (path && *path) {
        prof_cuda__try_cupti(path, false);
        return;
    }
    for (int loaded = 1; loaded >= 0; loaded--) {
        for (int major = own; major >= 11; major--) prof_cuda__try_version(major, loaded != 0);
        for (int major = own + 1; major <= 13; major++) prof_cuda__try_version(major, loaded != 0);
        prof_cuda__try_cupti("libcupti.so", loaded != 0);
    }
    prof_cuda__try_folders("");
}
#endif

/* Finds a CUPTI and subscribes; later only subscribes. */
PROF_CUDA__FN bool prof_cuda__load_cupti(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (g->has_cupti) return prof_cuda__subscribe();
    if (g->desc.no_cupti)
        return prof_cuda__fall_back("only CUDA-event ranges, as asked for", "", "");
    if (g->desc.symbol) g->has_cupti = prof_cuda__take_cupti(NULL) &&
                                       (prof_cuda__subscribe() || g->taken);
    else prof_cuda__try_cuptis();
    if (!g->has_cupti && !g->why[0])
        return prof_cuda__fall_back("only CUDA-event ranges: libcupti is not found; install it "
                                    "with CUDA's toolkit, or set PROF_CUDA_CUPTI to its path",
                                    "", "");
    return g->subscribed;
}

/* ---- @STORE: names, details, records ---- */

/* A copy of s, cut as prof.h cuts names; its offset. 0: no room. */
PROF_CUDA__FN uint32_t prof_cuda__text(const char *s) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t at = g->text_used;
    size_t n = prof_cuda__length(s);
    if (PROF_CUDA__TEXT - at <= n) {
        g->stats.names_lost++;
        return 0;
    }
    memcpy(g->text + at, s, n);
    g->text[at + n] = 0;
    g->text_used += (uint32_t)n + 1;
    return at;
}

/* A name in CUPTI's memory. Its address finds it, its bytes prove it: a module that was loaded
   again may reuse the address. */
PROF_CUDA__FN uint32_t prof_cuda__name_of(const char *s) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__name *n;
    uint32_t i = (uint32_t)((uint64_t)(uintptr_t)s * 0x9e3779b97f4a7c15u >> 32);
    if (!s) return 0;
    for (i %= PROF_CUDA__NAMES; (n = g->names + i)->source;
         i = i + 1 == PROF_CUDA__NAMES ? 0 : i + 1)
        if (n->source == s && strncmp(g->text + n->text, s, PROF_CUDA__NAME_MOST) == 0)
            return n->text;
    if (g->name_count == PROF_CUDA__NAMES / 2) {
        g->stats.names_lost++;
        return 0;
    }
    n->text = prof_cuda__text(s);
    n->source = s;
    g->name_count++;
    return n->text;
}

/* A record also takes its places in the table that joins calls and kernels. */
#define PROF_CUDA__RECORD_SHARE (sizeof(prof_cuda__record) + 2 * sizeof(uint32_t))

PROF_CUDA__FN bool prof_cuda__fits(size_t bytes) {
    const struct prof_cuda__all *g = &prof_cuda__;
    size_t tables = (g->record_count + 4) * 2 * sizeof(uint32_t);
    if (g->handed_over) return false;    /* a buffer that comes too late; texts are there now */
    return (size_t)(g->high - g->low) >= bytes + tables;
}

PROF_CUDA__FN prof_cuda__record *prof_cuda__records(void) {
    return (prof_cuda__record *)(void *)prof_cuda__.base;
}

PROF_CUDA__FN const prof_cuda__detail *prof_cuda__detail_at(uint32_t number) {
    return (const prof_cuda__detail *)(const void *)prof_cuda__.end - 1 - number;
}

/* A sum of products: they do not wait for one another. */
PROF_CUDA__FN uint32_t prof_cuda__detail_hash(const prof_cuda__detail *d) {
    uint64_t word[sizeof *d / 8], h = 0, odd = 0x9e3779b97f4a7c15u;
    memcpy(word, d, sizeof *d);
    for (size_t i = 0; i < sizeof *d / 8; i++, odd += 0x3c6ef372fe94f82au)
        h += (word[i] ^ word[i] >> 31) * odd;
    return (uint32_t)(h >> 32);
}

/* The number of a detail, new or known; PROF_NONE: no room. While the index is half full the same
   detail may be kept twice. */
PROF_CUDA__FN uint32_t prof_cuda__detail_of(const prof_cuda__detail *d) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t i;
    if (g->last_detail < g->detail_count &&
        memcmp(prof_cuda__detail_at(g->last_detail), d, sizeof *d) == 0)
        return g->last_detail;
    i = (uint32_t)((uint64_t)prof_cuda__detail_hash(d) * g->index_places >> 32);
    for (; g->index[i]; i = i + 1 == g->index_places ? 0 : i + 1)
        if (memcmp(prof_cuda__detail_at(g->index[i] - 1), d, sizeof *d) == 0)
            return g->last_detail = g->index[i] - 1;
    if (!prof_cuda__fits(sizeof *d + PROF_CUDA__RECORD_SHARE)) return PROF_NONE;
    g->high -= sizeof *d;
    memcpy(g->high, d, sizeof *d);
    if (g->detail_count < g->index_places / 2) g->index[i] = g->detail_count + 1;
    return g->last_detail = g->detail_count++;
}

/* Keeps a record; false: no room. */
PROF_CUDA__FN bool prof_cuda__keep(uint32_t kind, uint64_t start, uint64_t end,
                                   uint32_t correlation, uint32_t detail) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__record *r = (prof_cuda__record *)(void *)g->low;
    uint64_t duration = end > start ? end - start : 0;
    if (detail == PROF_NONE || !prof_cuda__fits(PROF_CUDA__RECORD_SHARE)) {
        g->stats.lost_full++;
        return false;
    }
    g->low += sizeof *r;
    g->record_count++;
    r->start = start;
    r->duration = (uint32_t)duration;
    r->duration_high = (uint16_t)(duration >> 32);
    r->kind = (uint8_t)kind;
    r->flags = 0;
    r->correlation = correlation;
    r->detail = detail;
    return true;
}

PROF_CUDA__FN uint64_t prof_cuda__duration(const prof_cuda__record *r) {
    return (uint64_t)r->duration_high << 32 | r->duration;
}

/* The number of a thread; the last one is for those that are too many. */
PROF_CUDA__FN uint32_t prof_cuda__thread_of(uint32_t id) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t i = id % PROF_CUDA__THREADS, tries = 0;
    for (; g->threads[i] != id; i = (i + 1) % PROF_CUDA__THREADS) {
        if (g->threads[i]) {
            if (++tries == 64) return PROF_CUDA__THREADS;
            continue;
        }
        g->threads[i] = id;
        break;
    }
    return i;
}

/* ---- @DECODE: CUPTI's buffers to records ---- */

/* Is a call of this number kept? Those that have no name are. */
PROF_CUDA__FN bool prof_cuda__wanted(bool runtime, uint32_t cbid) {
    return cbid >= PROF_CUDA__CBIDS || !prof_cuda__.dull[runtime][cbid];
}

/* Is a record with this start of the session? work: CUPTI works a GPU's times out from its own, so
   they may lie before the launch: prof_cuda__join judges by that. */
PROF_CUDA__FN bool prof_cuda__in_window(uint64_t start, bool work) {
    struct prof_cuda__all *g = &prof_cuda__;
    bool begun = g->window_start != UINT64_MAX;
    if (begun && !(start >> 62) && (work || !start || start >= g->window_start)) return true;
    if (begun && start >> 62) g->stats.corrupt++;
    else g->stats.outside++;
    return false;
}

/* Keeps device work. */
PROF_CUDA__FN bool prof_cuda__keep_work(uint32_t kind, uint64_t start, uint64_t end,
                                        uint32_t correlation, const prof_cuda__detail *d) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__record *r = (prof_cuda__record *)(void *)g->low;
    if (!prof_cuda__keep(kind, start, end, correlation, prof_cuda__detail_of(d))) return false;
    r->flags = start && !end ? PROF_CUDA__RUNNING : 0;
    g->stats.unfinished += start && !end;
    return true;
}

/* What device work has in common. */
PROF_CUDA__FN void prof_cuda__detail_open(prof_cuda__detail *d, uint32_t kind, uint32_t device,
                                          uint32_t context, uint32_t stream) {
    memset(d, 0, sizeof *d);
    d->kind = kind;
    d->device = device;
    d->context = context;
    d->stream = stream;
}

PROF_CUDA__FN void prof_cuda__take_kernel(const prof_cuda__kernel *k) {
    prof_cuda__detail d;
    if (!prof_cuda__in_window(k->start, true)) return;
    prof_cuda__detail_open(&d, PROF_CUDA__KERNEL, k->device, k->context, k->stream);
    d.name = prof_cuda__name_of(k->name);
    d.graph = k->graph;
    d.node_or_bytes = k->graph_node;
    for (int i = 0; i < 3; i++) {
        d.u.launch.grid[i] = (uint32_t)k->grid[i];
        d.u.launch.block[i] = (uint32_t)k->block[i];
    }
    d.u.launch.registers = k->registers;
    d.u.launch.shared = (uint32_t)k->static_shared + (uint32_t)k->dynamic_shared;
    prof_cuda__.stats.kernels +=
        prof_cuda__keep_work(PROF_CUDA__KERNEL, k->start, k->end, k->correlation, &d);
}

/* Keeps a copy or fill of bytes; kinds: of memory, and the way between. */
PROF_CUDA__FN void prof_cuda__keep_copy(prof_cuda__detail *d, uint64_t bytes, uint32_t kinds,
                                        uint64_t start, uint64_t end, uint32_t correlation) {
    d->node_or_bytes = bytes;
    d->u.copy.kinds = kinds;
    prof_cuda__.stats.copies += prof_cuda__keep_work(d->kind, start, end, correlation, d);
}

PROF_CUDA__FN void prof_cuda__take_memcpy(const prof_cuda__memcpy *m) {
    prof_cuda__detail d;
    uint32_t kinds = (uint32_t)m->copy_kind << 16 | (uint32_t)m->source_kind << 8 | m->target_kind;
    if (!prof_cuda__in_window(m->start, true)) return;
    prof_cuda__detail_open(&d, PROF_CUDA__MEMCPY, m->device, m->context, m->stream);
    d.u.copy.node = m->graph_node;
    prof_cuda__keep_copy(&d, m->bytes, kinds, m->start, m->end, m->correlation);
}

PROF_CUDA__FN void prof_cuda__take_peer(const prof_cuda__peer *m) {
    prof_cuda__detail d;
    uint32_t kinds = (uint32_t)m->copy_kind << 16 | (uint32_t)m->source_kind << 8 | m->target_kind;
    if (!prof_cuda__in_window(m->start, true)) return;
    prof_cuda__detail_open(&d, PROF_CUDA__MEMCPY_PEER, m->device, m->context, m->stream);
    d.u.copy.node = m->graph_node;
    d.u.copy.from[0] = m->source_device;
    d.u.copy.from[1] = m->source_context;
    d.u.copy.to[0] = m->target_device;
    d.u.copy.to[1] = m->target_context;
    prof_cuda__keep_copy(&d, m->bytes, kinds, m->start, m->end, m->correlation);
}

PROF_CUDA__FN void prof_cuda__take_memset(const prof_cuda__memset *m) {
    prof_cuda__detail d;
    if (!prof_cuda__in_window(m->start, true)) return;
    prof_cuda__detail_open(&d, PROF_CUDA__MEMSET, m->device, m->context, m->stream);
    d.u.copy.node = m->graph_node;
    prof_cuda__keep_copy(&d, m->bytes, m->memory_kind, m->start, m->end, m->correlation);
}

PROF_CUDA__FN void prof_cuda__take_call(const prof_cuda__call *c) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (!prof_cuda__in_window(c->start, false)) return;
    if (!prof_cuda__wanted(c->kind == PROF_CUDA__RUNTIME_CALL, c->cbid)) {
        g->stats.muted++;
        return;
    }
    g->stats.calls += prof_cuda__keep(c->kind, c->start, c->end, c->correlation,
                                      prof_cuda__thread_of(c->thread) << 16 | (c->cbid & 0xffff));
}

PROF_CUDA__FN void prof_cuda__take_overhead(const prof_cuda__overhead *o, size_t room) {
    struct prof_cuda__all *g = &prof_cuda__;
    const prof_cuda__overhead3 *o3 = (const prof_cuda__overhead3 *)(const void *)o;
    if (g->stats.cupti_version >= 22 && room >= sizeof *o3) free(o3->data);
    if (!prof_cuda__in_window(o->start, false)) return;
    g->stats.other += prof_cuda__keep(o->kind, o->start, o->end, 0, o->overhead_kind & 0xffffff);
}

PROF_CUDA__FN void prof_cuda__take_sync(const prof_cuda__sync *s) {
    prof_cuda__detail d;
    if (!prof_cuda__in_window(s->start, false)) return;
    prof_cuda__detail_open(&d, PROF_CUDA__SYNCHRONIZATION, 0, s->context, s->stream);
    d.u.more.type = s->type;
    d.u.more.event = s->event;
    prof_cuda__.stats.other +=
        prof_cuda__keep(s->kind, s->start, s->end, s->correlation, prof_cuda__detail_of(&d));
}

/* Which call recorded an event last: for the waits that follow. */
PROF_CUDA__FN void prof_cuda__take_event(const prof_cuda__event *e) {
    prof_cuda__detail d;
    prof_cuda__detail_open(&d, PROF_CUDA__CUDA_EVENT, 0, e->context, e->stream);
    d.u.more.event = e->event;
    prof_cuda__.stats.other +=
        prof_cuda__keep(e->kind, 0, 0, e->correlation, prof_cuda__detail_of(&d));
}

PROF_CUDA__FN void prof_cuda__take_allocation(const prof_cuda__allocation *a) {
    prof_cuda__detail d;
    if (!prof_cuda__in_window(a->time, false)) return;
    if (a->bytes >> 63) {
        prof_cuda__.stats.corrupt++;
        return;
    }
    prof_cuda__detail_open(&d, PROF_CUDA__ALLOCATION, a->device, a->context, a->stream);
    d.node_or_bytes = a->bytes;
    d.u.more.address = a->address;
    d.u.more.type = a->operation;
    d.u.more.memory_kind = a->memory_kind;
    prof_cuda__.stats.other +=
        prof_cuda__keep(a->kind, a->time, a->time, a->correlation, prof_cuda__detail_of(&d));
}

PROF_CUDA__FN void prof_cuda__take_marker(const prof_cuda__marker *m) {
    prof_cuda__detail d;
    if (!prof_cuda__in_window(m->time, false)) return;
    prof_cuda__detail_open(&d, PROF_CUDA__MARKER, 0, 0, 0);
    d.name = prof_cuda__name_of(m->name);
    d.u.more.type = m->flags;
    d.u.more.thread = prof_cuda__thread_of(m->thread);
    prof_cuda__.stats.other +=
        prof_cuda__keep(m->kind, m->time, m->time, m->id, prof_cuda__detail_of(&d));
}

PROF_CUDA__FN void prof_cuda__take(const void *r, uint32_t kind, size_t room) {
    struct prof_cuda__all *g = &prof_cuda__;
    switch (kind) {
    case PROF_CUDA__SERIAL_KERNEL:
    case PROF_CUDA__KERNEL: prof_cuda__take_kernel((const prof_cuda__kernel *)r); break;
    case PROF_CUDA__MEMCPY: prof_cuda__take_memcpy((const prof_cuda__memcpy *)r); break;
    case PROF_CUDA__MEMCPY_PEER: prof_cuda__take_peer((const prof_cuda__peer *)r); break;
    case PROF_CUDA__MEMSET: prof_cuda__take_memset((const prof_cuda__memset *)r); break;
    case PROF_CUDA__RUNTIME_CALL:
    case PROF_CUDA__DRIVER_CALL: prof_cuda__take_call((const prof_cuda__call *)r); break;
    case PROF_CUDA__SYNCHRONIZATION: prof_cuda__take_sync((const prof_cuda__sync *)r); break;
    case PROF_CUDA__CUDA_EVENT: prof_cuda__take_event((const prof_cuda__event *)r); break;
    case PROF_CUDA__MARKER: prof_cuda__take_marker((const prof_cuda__marker *)r); break;
    case PROF_CUDA__OVERHEAD_RECORD:
        prof_cuda__take_overhead((const prof_cuda__overhead *)r, room);
        break;
    case PROF_CUDA__ALLOCATION:
        prof_cuda__take_allocation((const prof_cuda__allocation *)r);
        break;
    case PROF_CUDA__EXTERNAL: {
        const prof_cuda__external *x = (const prof_cuda__external *)r;
        if (x->external_kind != PROF_CUDA__OUR_IDS) g->stats.muted++;
        else g->stats.other += prof_cuda__keep(kind, x->id, x->id, x->correlation, 0);
        break;
    }
    default: g->stats.unknown++;
    }
}

/* The next record, if it lies in the buffer as a whole; NULL: none, or it does not. */
PROF_CUDA__FN const void *prof_cuda__next(uint8_t *buffer, const uint8_t *at, const uint8_t *end,
                                          prof_cuda__any **cursor, size_t *size) {
    struct prof_cuda__all *g = &prof_cuda__;
    int result = g->cupti.next(buffer, (size_t)(end - buffer), cursor);
    const uint8_t *p = (const uint8_t *)*cursor;
    if (result == PROF_CUDA__END_OF_BUFFER) return NULL;
    *size = 8;
    if (!result && p >= at && p <= end - 8 && ((uintptr_t)p & 7) == 0) {
        uint32_t kind = (*cursor)->kind;
        if (kind < PROF_CUDA__KINDS && prof_cuda__size_of[kind]) *size = prof_cuda__size_of[kind];
        if (*size <= (size_t)(end - p)) return p;
    }
    g->stats.corrupt++;
    return NULL;
}

/* Under the lock. lost: the buffer is scratch; what is in it is only counted. */
PROF_CUDA__FN void prof_cuda__decode(uint8_t *buffer, size_t valid, bool lost) {
    prof_cuda__any *cursor = NULL;
    const uint8_t *at = buffer, *end = buffer + valid;
    const void *r;
    size_t size = 0;
    if (valid < 8) return;
    while ((r = prof_cuda__next(buffer, at, end, &cursor, &size)) != NULL) {
        if (lost) prof_cuda__.stats.lost_overwritten++;
        else prof_cuda__take(r, cursor->kind, (size_t)(end - (const uint8_t *)r));
        at = (const uint8_t *)r + size;
    }
}

/* CUPTI wants a buffer. Without one it drops records and counts them; versions before API 27 crash
   instead: they get scratch, whose records count as lost. */
PROF_CUDA__FN void prof_cuda__requested(uint8_t **buffer, size_t *size, size_t *most) {
    struct prof_cuda__all *g = &prof_cuda__;
    *buffer = NULL;
    *size = *most = 0;
    prof_cuda__watch_thread();
    prof_cuda__lock();
    if (PROF_CUDA__LOAD(g->state) == PROF_CUDA_OFF) {   /* shut down, and CUPTI was not told */
    } else if (g->free_count) {
        uint32_t i = g->free_list[--g->free_count];
        g->is_out[i] = true;
        *buffer = g->pool + i * g->buffer_size;
        *size = g->buffer_size;
        if (++g->out > g->stats.buffers_most) g->stats.buffers_most = g->out;
    } else {
        g->stats.no_buffer++;
        if (g->stats.cupti_version < 27) {
            *buffer = (uint8_t *)g->scratch;
            *size = sizeof g->scratch;
        }
    }
    prof_cuda__unlock();
}

PROF_CUDA__FN void prof_cuda__completed(void *context, uint32_t stream, uint8_t *buffer,
                                        size_t size, size_t valid) {
    struct prof_cuda__all *g = &prof_cuda__;
    size_t at = (size_t)((uintptr_t)buffer - (uintptr_t)g->pool);
    size_t i = g->buffer_size ? at / g->buffer_size : 0;
    (void)context;
    (void)stream;
    (void)size;
    prof_cuda__lock();
    if (i < g->buffer_count && at % g->buffer_size == 0 && g->is_out[i]) {
        prof_cuda__decode(buffer, PROF_CUDA__MIN(valid, g->buffer_size), false);
        g->is_out[i] = false;
        g->free_list[g->free_count++] = (uint16_t)i;
        g->out--;
    } else if (buffer == (uint8_t *)g->scratch) {
        prof_cuda__decode(buffer, PROF_CUDA__MIN(valid, sizeof g->scratch), true);
    } else if ((size_t)((uintptr_t)buffer - (uintptr_t)prof_cuda__memory.bytes) >=
               prof_cuda__withheld) {
        g->stats.corrupt++;              /* not one of ours */
    }
    prof_cuda__unlock();
}

/* ---- @STATES: prepare, start, flush, stop ---- */

/* Pairs a reading of CUPTI's clock with one of the session's: the closest of four. When pairs are
   many every second one goes. */
PROF_CUDA__FN void prof_cuda__pair_now(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__pair best = { 0, 0 };
    int64_t width = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        int64_t a = prof_now(), b;
        uint64_t t = 0;
        if (g->cupti.time(&t) != 0) return;
        b = prof_now();
        if (b - a >= width) continue;
        width = b - a;
        best.cupti = t;
        best.session = a + width / 2;
    }
    prof_cuda__lock();
    if (g->pair_count && best.cupti <= g->pairs[g->pair_count - 1].cupti) {
        prof_cuda__unlock();             /* two threads flush, or the clock was set back */
        return;
    }
    if (g->pair_count == PROF_CUDA__PAIRS) {
        for (uint32_t i = 1; i < PROF_CUDA__PAIRS / 2; i++) g->pairs[i] = g->pairs[2 * i];
        g->pair_count = PROF_CUDA__PAIRS / 2;
    }
    g->pairs[g->pair_count++] = best;
    prof_cuda__unlock();
}

/* A time of CUPTI's as the session's. Between two pairs the difference of the clocks moves evenly,
   unless one of them jumped: by more than the 500 ppm that the system slews its clock by. */
PROF_CUDA__FN int64_t prof_cuda__session_ns(uint64_t t) {
    const struct prof_cuda__all *g = &prof_cuda__;
    const prof_cuda__pair *p = g->pairs;
    uint32_t i = 0;
    int64_t offset;
    if (!g->pair_count) return 0;
    while (i + 1 < g->pair_count && p[i + 1].cupti <= t) i++;
    offset = p[i].session - (int64_t)p[i].cupti;
    if (i + 1 < g->pair_count && t > p[i].cupti) {
        int64_t span = (int64_t)(p[i + 1].cupti - p[i].cupti), jump = span / 2000 + 100000;
        int64_t drift = p[i + 1].session - (int64_t)p[i + 1].cupti - offset;
        if (drift > -jump && drift < jump)
            offset += (int64_t)((double)drift * (double)(t - p[i].cupti) / (double)span);
    }
    return PROF_CUDA__MAX((int64_t)t + offset, 0);
}

/* Kinds of records by what asks for them. needed: without it there is no point. */
static const struct prof_cuda__kind { uint32_t records, kind; bool needed; } prof_cuda__kinds[] = {
    { PROF_CUDA_KERNELS, PROF_CUDA__KERNEL, true },
    { PROF_CUDA_COPIES, PROF_CUDA__MEMCPY, true },
    { PROF_CUDA_COPIES, PROF_CUDA__MEMCPY_PEER, false },
    { PROF_CUDA_COPIES, PROF_CUDA__MEMSET, true },
    { PROF_CUDA_RUNTIME, PROF_CUDA__RUNTIME_CALL, true },
    { PROF_CUDA_OVERHEAD, PROF_CUDA__OVERHEAD_RECORD, false },
    { PROF_CUDA_SYNC, PROF_CUDA__SYNCHRONIZATION, false },
    { PROF_CUDA_SYNC, PROF_CUDA__CUDA_EVENT, false },
    { PROF_CUDA_DEVICE_MEMORY, PROF_CUDA__ALLOCATION, false },
    { PROF_CUDA_EXTERNAL_IDS, PROF_CUDA__EXTERNAL, false },
    { PROF_CUDA_MARKERS, PROF_CUDA__MARKER, false }
};
enum { PROF_CUDA__KIND_COUNT = sizeof prof_cuda__kinds / sizeof *prof_cuda__kinds };

/* Driver calls one by one where CUPTI can; else all, and the decoder mutes. */
PROF_CUDA__FN void prof_cuda__enable_driver(void) {
    const struct prof_cuda__all *g = &prof_cuda__;
    bool any = false;
    for (uint32_t cbid = 1; g->cupti.driver_call && cbid < PROF_CUDA__CBIDS; cbid++)
        if (g->named[0][cbid] && !g->dull[0][cbid])
            any = g->cupti.driver_call(cbid, 1) == 0 || any;
    if (!any) (void)g->cupti.enable(PROF_CUDA__DRIVER_CALL);
}

PROF_CUDA__FN void prof_cuda__disable_driver(void) {
    const struct prof_cuda__all *g = &prof_cuda__;
    for (uint32_t cbid = 1; g->cupti.driver_call && cbid < PROF_CUDA__CBIDS; cbid++)
        if (g->named[0][cbid] && !g->dull[0][cbid]) (void)g->cupti.driver_call(cbid, 0);
    (void)g->cupti.disable(PROF_CUDA__DRIVER_CALL);
}

PROF_CUDA__FN void prof_cuda__disable(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    for (int i = 0; i < PROF_CUDA__KIND_COUNT; i++)
        if (g->desc.records & prof_cuda__kinds[i].records)
            (void)g->cupti.disable(prof_cuda__kinds[i].kind);
    if (g->desc.records & PROF_CUDA_DRIVER) prof_cuda__disable_driver();
    g->enabled = false;
}

PROF_CUDA__FN void prof_cuda__unsubscribe(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (g->subscribed) (void)g->cupti.unsubscribe(g->subscriber);
    g->subscribed = false;
}

PROF_CUDA__FN bool prof_cuda__enable_kinds(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    bool runtime = g->cupti.runtime_call && g->desc.records & PROF_CUDA_RUNTIME;
    for (int i = 0; i < PROF_CUDA__KIND_COUNT; i++) {
        const struct prof_cuda__kind *k = prof_cuda__kinds + i;
        int result = g->desc.records & k->records ? g->cupti.enable(k->kind) : 0;
        if (result && k->needed) return prof_cuda__cupti_failed("cuptiActivityEnable", result);
    }
    if (g->desc.records & PROF_CUDA_DRIVER) prof_cuda__enable_driver();
    for (uint32_t cbid = 1; runtime && cbid < PROF_CUDA__CBIDS; cbid++)
        if (g->dull[1][cbid]) (void)g->cupti.runtime_call(cbid, 0);
    return g->enabled = true;
}

/* Makes CUPTI record. What costs is done here, in the session's warm-up. */
PROF_CUDA__FN bool prof_cuda__enable(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint8_t per_thread = !g->desc.shared_buffers;
    size_t size = sizeof per_thread;
    int result;
    if (g->enabled) return true;
    g->fallback = g->retry = false;
    g->why[0] = 0;
    if (!prof_cuda__load_cupti()) return false;
    prof_cuda__watch_threads(true);
    (void)g->cupti.thread_ids(1);        /* the OS's thread ids */
    (void)g->cupti.attribute(9, &size, &per_thread);
    result = g->cupti.callbacks(prof_cuda__requested, prof_cuda__completed);
    if (result) prof_cuda__cupti_failed("cuptiActivityRegisterCallbacks", result);
    if (!result && prof_cuda__enable_kinds()) return true;
    if (!result) prof_cuda__disable();
    prof_cuda__unsubscribe();
    return false;
}

/* Empties the store for a new session. Names stay: they are the process's. */
PROF_CUDA__FN void prof_cuda__clear(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda_stats fresh;
    memset(&fresh, 0, sizeof fresh);
    fresh.cupti_version = g->stats.cupti_version;
    prof_cuda__lock();
    g->stats = fresh;
    g->stats.buffers_most = g->out;
    g->low = g->base;
    g->high = g->end;
    g->record_count = g->detail_count = g->judged = 0;
    memset(g->index, 0, g->index_places * sizeof *g->index);
    g->pair_count = 0;
    g->window_start = UINT64_MAX;
    g->handed_over = false;
    prof_cuda__unlock();
}

PROF_CUDA__FN prof_result prof_cuda__prepare(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    (void)user;
    if (g->state == PROF_CUDA_OFF || g->state == PROF_CUDA_UNAVAILABLE ||
        !prof_cuda__load_driver()) return PROF_ERROR_UNSUPPORTED;
    if (g->state != PROF_CUDA_READY) return PROF_OK;
    if (!g->fallback || g->retry) (void)prof_cuda__enable();
    return PROF_OK;                      /* ranges at least */
}

/* What was going on when CUPTI counted before the session is not ours. */
PROF_CUDA__FN void prof_cuda__forget_drops(void) {
    size_t n = 0;
    (void)prof_cuda__.cupti.dropped(NULL, 0, &n);
}

PROF_CUDA__FN prof_result prof_cuda__start(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_result result = prof_cuda__prepare(user);
    uint64_t now = 0;
    if (result != PROF_OK) return result;
    prof_cuda__clear();
    if (g->fallback) {
        PROF_CUDA__STORE(g->state, PROF_CUDA_ACTIVE_EVENTS);
        return PROF_OK;
    }
    if (g->free_count < g->buffer_count / 2) (void)g->cupti.flush(0);   /* the warm-up's */
    prof_cuda__forget_drops();
    prof_cuda__pair_now();
    (void)g->cupti.time(&now);
    prof_cuda__lock();
    g->window_start = now;
    prof_cuda__unlock();
    PROF_CUDA__STORE(g->state, PROF_CUDA_ACTIVE_CUPTI);
    return PROF_OK;
}

PROF_API PROF_CUDA__QUIET void prof_cuda_flush(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (PROF_CUDA__LOAD(g->state) != PROF_CUDA_ACTIVE_CUPTI) return;
    (void)g->cupti.flush(0);
    prof_cuda__pair_now();
}

/* A thread that launched ends: the buffer that it filled comes back when CUPTI is asked. */
PROF_CUDA__FN void prof_cuda__thread_ends(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    bool low;
    (void)user;
    prof_cuda__lock();
    low = g->free_count < g->buffer_count / 2;
    prof_cuda__unlock();
    if (low) prof_cuda_flush();
}

/* Buffers, and where the clocks stand: a pair of readings each second follows their drift. */
PROF_CUDA__FN void prof_cuda__flush(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    bool old;
    prof_cuda__thread_ends(user);
    prof_cuda__lock();
    old = !g->pair_count || prof_now() - g->pairs[g->pair_count - 1].session >= 1000000000;
    prof_cuda__unlock();
    if (old) prof_cuda__pair_now();
}


/* Waits for the GPUs that this process uses: the context that is current here, and the primary
   ones that are active. */
PROF_CUDA__FN void prof_cuda__synchronize(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    void *before = NULL, *context;
    unsigned flags;
    int active;
    if (g->driver.context_now(&before) != 0) return;
    if (before) (void)g->driver.synchronize();
    for (int i = 0; i < g->device_count; i++) {
        active = 0;
        if (g->driver.primary_state(i, &flags, &active) != 0 || !active) continue;
        if (g->driver.primary_retain(&context, i) != 0) continue;
        if (context != before && g->driver.context_set(context) == 0) (void)g->driver.synchronize();
        (void)g->driver.primary_release(i);
    }
    (void)g->driver.context_set(before);
}

PROF_CUDA__FN void prof_cuda__sleep(void) {
#if defined(_WIN32)
    Sleep(1);
#else
    (void)poll(NULL, 0, 1);
#endif
}

/* A forced flush hands every buffer over before it returns, but for those that CUPTI's own thread
   is about to: until none came for 50 ms. */
PROF_CUDA__FN void prof_cuda__await_buffers(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    int64_t since = prof_os_now();
    uint32_t out, before = UINT32_MAX;
    for (;;) {
        prof_cuda__lock();
        out = g->out;
        prof_cuda__unlock();
        if (out != before) since = prof_os_now();
        before = out;
        if (!out || prof_os_now() - since > 50000000) break;
        prof_cuda__sleep();
    }
    prof_cuda__lock();
    g->stats.buffers_missing = out;
    prof_cuda__unlock();
}

PROF_CUDA__FN void prof_cuda__join(void);
PROF_CUDA__FN void prof_cuda__ranges_read(void);
PROF_CUDA__FN void prof_cuda__hand_over(void *user);

PROF_CUDA__FN prof_result prof_cuda__stop(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda_state state = g->state;
    prof_session session;
    size_t dropped = 0;
    (void)user;
    if (g->enabled && state != PROF_CUDA_ACTIVE_CUPTI) {   /* prepared, never started */
        prof_cuda__disable();
        prof_cuda__unsubscribe();
    }
    if (state != PROF_CUDA_ACTIVE_CUPTI && state != PROF_CUDA_ACTIVE_EVENTS) return PROF_OK;
    PROF_CUDA__STORE(g->state, PROF_CUDA_DRAINING);
    if (!g->desc.no_sync) prof_cuda__synchronize();
    if (state == PROF_CUDA_ACTIVE_EVENTS) {
        prof_cuda__ranges_read();
        PROF_CUDA__STORE(g->state, PROF_CUDA_READY);
        return PROF_OK;
    }
    prof_cuda__pair_now();
    prof_cuda__disable();
    (void)g->cupti.flush(0);
    (void)g->cupti.flush(1);
    prof_cuda__await_buffers();
    if (g->cupti.dropped(NULL, 0, &dropped) != 0) dropped = 0;
    prof_cuda__unsubscribe();
    prof_cuda__lock();
    g->stats.lost_dropped += dropped;
    prof_cuda__join();
    prof_cuda__unlock();
    /* when the window goes on, or others are added to it, the store is needed again */
    prof_session_info(&session);
    if (session.desc.acc_events || !(session.enabled & PROF_ACTIVITY_CUDA))
        prof_cuda__hand_over(NULL);
    PROF_CUDA__STORE(g->state, PROF_CUDA_READY);
    return PROF_OK;
}

PROF_API PROF_CUDA__QUIET const char *prof_cuda_status(void) {
    return prof_cuda__.why[0] ? prof_cuda__.why : NULL;
}

PROF_API PROF_CUDA__QUIET prof_cuda_stats prof_cuda_get_stats(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda_stats out;
    prof_cuda__lock();
    out = g->stats;
    out.state = PROF_CUDA__LOAD(g->state);
    out.lost = out.lost_dropped + out.lost_full + out.lost_overwritten;
    out.buffers = g->buffer_count;
    out.bytes_total = (size_t)(g->end - g->base);
    out.bytes_used = (size_t)(g->low - g->base) + (size_t)(g->end - g->high) +
                     (g->record_count ? (g->record_count + 1) * 2 * sizeof(uint32_t) : 0);
    prof_cuda__unlock();
    return out;
}

PROF_CUDA__FN bool prof_cuda__wants_ids(const struct prof_cuda__all *g) {
    return PROF_CUDA__LOAD(g->state) == PROF_CUDA_ACTIVE_CUPTI &&
           g->desc.records & PROF_CUDA_EXTERNAL_IDS;
}

PROF_API PROF_CUDA__QUIET void prof_cuda_push_id(uint64_t id) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (prof_cuda__wants_ids(g))
        (void)g->cupti.push_id(PROF_CUDA__OUR_IDS, id);
}

PROF_API PROF_CUDA__QUIET void prof_cuda_pop_id(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint64_t id;
    if (prof_cuda__wants_ids(g))
        (void)g->cupti.pop_id(PROF_CUDA__OUR_IDS, &id);
}

/* ---- @RANGES: CUDA events where there is no CUPTI ---- */

/* The device's base event: times on it are told from here. False: none can be had. */
PROF_CUDA__FN bool prof_cuda__base(int32_t device) {
    struct prof_cuda__all *g = &prof_cuda__;
    void *event = NULL;
    int64_t before;
    if (g->base_event[device]) return true;
    if (g->driver.event_create(&event, 0) != 0) return false;
    (void)g->driver.synchronize();       /* an idle GPU records the event at once */
    before = prof_now();
    if (g->driver.event_record(event, NULL) != 0 || g->driver.event_wait(event) != 0) {
        (void)g->driver.event_destroy(event);
        return false;
    }
    g->base_ns[device] = before + (prof_now() - before) / 2;
    g->base_event[device] = event;
    return true;
}

/* Puts the range's first event into stream; false: something is not there. Under the lock. */
PROF_CUDA__FN bool prof_cuda__range_open(prof_cuda__range *r, const char *name, void *stream) {
    struct prof_cuda__all *g = &prof_cuda__;
    int device = 0;
    if (g->driver.context_device(&device) != 0 || device < 0 || device >= PROF_CUDA__DEVICES ||
        !prof_cuda__base(device)) return false;
    if (g->driver.event_create(&r->begin, 0) != 0) return false;
    r->device = device;
    r->stream = stream;
    r->name = prof_cuda__text(name ? name : "(null)");
    r->thread = prof_thread_id();
    r->launch_ns = prof_now();
    r->ended = false;
    if (g->driver.event_create(&r->end, 0) == 0) {
        if (g->driver.event_record(r->begin, stream) == 0) return true;
        (void)g->driver.event_destroy(r->end);
    }
    (void)g->driver.event_destroy(r->begin);
    return false;
}

PROF_API PROF_CUDA__QUIET uint32_t prof_cuda_range_begin(const char *name, void *stream) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t number = PROF_NONE;
    if (PROF_CUDA__LOAD(g->state) != PROF_CUDA_ACTIVE_EVENTS) return PROF_NONE;
    prof_cuda__lock();
    if (g->range_count == g->desc.max_ranges ||
        !prof_cuda__range_open(g->ranges + g->range_count, name, stream)) g->stats.ranges_lost++;
    else number = g->range_count++;
    prof_cuda__unlock();
    return number;
}

PROF_API PROF_CUDA__QUIET void prof_cuda_range_end(uint32_t range) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (PROF_CUDA__LOAD(g->state) != PROF_CUDA_ACTIVE_EVENTS) return;
    prof_cuda__lock();
    if (range < g->range_count && !g->ranges[range].ended) {
        prof_cuda__range *r = g->ranges + range;
        r->ended = g->driver.event_record(r->end, r->stream) == 0;
    }
    prof_cuda__unlock();
}

/* ms as the driver tells them, to ns. */
PROF_CUDA__FN bool prof_cuda__elapsed_ns(void *from, void *to, int64_t *ns) {
    float ms = 0;
    if (prof_cuda__.driver.event_elapsed(&ms, from, to) != 0 || !(ms >= 0 && ms < 1e12f))
        return false;
    *ns = (int64_t)((double)ms * 1e6);
    return true;
}

/* The ranges that took time become events. One that is not over, or has no time, is counted. */
PROF_CUDA__FN void prof_cuda__ranges_read(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    for (uint32_t i = 0; i < g->range_count; i++) {
        prof_cuda__range *r = g->ranges + i;
        int64_t start = 0, duration = 0;
        prof_event e;
        prof_extra x;
        memset(&e, 0, sizeof e);
        memset(&x, 0, sizeof x);
        if (r->ended && g->driver.event_wait(r->end) == 0 &&
            prof_cuda__elapsed_ns(g->base_event[r->device], r->begin, &start) &&
            prof_cuda__elapsed_ns(r->begin, r->end, &duration) && duration > 0) {
            e.name = g->text + r->name;
            e.start_ns = g->base_ns[r->device] + start;
            e.end_ns = e.start_ns + duration;
            e.device_type = PROF_DEVICE_CUDA;
            e.thread = prof_submit_thread(r->thread, NULL);
            e.extra = &x;
            x.has = PROF_HAS_DEVICE_INDEX | PROF_HAS_LAUNCH;
            x.device_index = r->device;
            x.launch_thread = e.thread;
            x.launch_ns = r->launch_ns;
            x.activity_type = "kernel";
            if (prof_submit(&e, 1) == PROF_OK) g->stats.ranges++;
        } else {
            g->stats.ranges_lost++;
        }
        (void)g->driver.event_destroy(r->begin);
        (void)g->driver.event_destroy(r->end);
    }
    for (int i = 0; i < PROF_CUDA__DEVICES; i++)
        if (g->base_event[i]) (void)g->driver.event_destroy(g->base_event[i]);
    memset(g->base_event, 0, sizeof g->base_event);
    g->range_count = 0;
}

/* ---- @EVENTS: what was kept, as events of the session ---- */

/* Records of the kinds asked for, by correlation: number + 1. Places: 2 a record, behind them. */
typedef struct prof_cuda__table { uint32_t *index, places; } prof_cuda__table;

PROF_CUDA__FN uint32_t *prof_cuda__place(const prof_cuda__table *t, uint32_t correlation) {
    const prof_cuda__record *r = prof_cuda__records();
    uint32_t i = (uint32_t)((uint64_t)(correlation * 2654435761u) * t->places >> 32);
    while (t->index[i] && r[t->index[i] - 1].correlation != correlation)
        i = i + 1 == t->places ? 0 : i + 1;
    return t->index + i;
}

PROF_CUDA__FN bool prof_cuda__is_call(const prof_cuda__record *r) {
    return r->kind == PROF_CUDA__RUNTIME_CALL || r->kind == PROF_CUDA__DRIVER_CALL;
}

PROF_CUDA__FN bool prof_cuda__is_work(const prof_cuda__record *r) {
    return r->kind == PROF_CUDA__KERNEL || r->kind == PROF_CUDA__MEMCPY ||
           r->kind == PROF_CUDA__MEMCPY_PEER || r->kind == PROF_CUDA__MEMSET;
}

typedef enum prof_cuda__what {
    PROF_CUDA__CALLS, PROF_CUDA__IDS, PROF_CUDA__ENDS
} prof_cuda__what;

/* Calls, external ids, or ends of markers. */
PROF_CUDA__FN bool prof_cuda__in_table(const prof_cuda__record *r, prof_cuda__what what) {
    if (what == PROF_CUDA__CALLS) return prof_cuda__is_call(r) && !r->flags;
    if (what == PROF_CUDA__IDS) return r->kind == PROF_CUDA__EXTERNAL;
    return r->kind == PROF_CUDA__MARKER && prof_cuda__detail_at(r->detail)->u.more.type & 4;
}

/* A table in *memory, which moves on: it begins behind the records, and prof_cuda__fits has kept
   room for all tables. A runtime call stands for the driver call in it. */
PROF_CUDA__FN prof_cuda__table prof_cuda__table_of(prof_cuda__what what, uint32_t **memory) {
    const prof_cuda__record *r = prof_cuda__records();
    prof_cuda__table t;
    uint32_t n = 0, count = prof_cuda__.record_count;
    for (uint32_t i = 0; i < count; i++) n += prof_cuda__in_table(r + i, what);
    t.index = *memory;
    t.places = 2 * n + 1;
    *memory += t.places;
    memset(t.index, 0, t.places * sizeof *t.index);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *place;
        if (!prof_cuda__in_table(r + i, what)) continue;
        place = prof_cuda__place(&t, r[i].correlation);
        if (!*place || r[i].kind != PROF_CUDA__DRIVER_CALL) *place = i + 1;
    }
    return t;
}

/* The place of a context's stream among those that work is known of. */
PROF_CUDA__FN prof_cuda__stream *prof_cuda__stream_at(uint32_t context, uint32_t stream) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t i = (context * 31 + stream) * 2654435761u >> 16;
    prof_cuda__stream *s = NULL;
    for (uint32_t tries = 0; tries < 64; tries++, i++) {
        s = g->streams + i % PROF_CUDA__STREAMS;
        if (!s->known || (s->context == context && s->stream == stream)) return s;
    }
    return s;
}

PROF_CUDA__FN void prof_cuda__stream_add(uint32_t context, uint32_t stream, uint32_t device) {
    prof_cuda__stream *s = prof_cuda__stream_at(context, stream);
    if (s->known) return;
    s->known = true;
    s->context = context;
    s->stream = stream;
    s->device = device;
}

PROF_CUDA__FN void prof_cuda__streams_find(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    memset(g->streams, 0, sizeof g->streams);
    for (uint32_t i = 0; i < g->detail_count; i++) {
        const prof_cuda__detail *d = prof_cuda__detail_at(i);
        if (d->kind != PROF_CUDA__KERNEL && d->kind != PROF_CUDA__MEMCPY &&
            d->kind != PROF_CUDA__MEMCPY_PEER && d->kind != PROF_CUDA__MEMSET) continue;
        prof_cuda__stream_add(d->context, PROF_CUDA__ANY_STREAM, d->device);
        prof_cuda__stream_add(d->context, d->stream, d->device);
    }
}

/* Leaves out a record without a time, or with one that is no time of the session at all: another
   profiler in the process may have given CUPTI a clock that only part of the records follow. */
PROF_CUDA__FN void prof_cuda__judge_time(prof_cuda__record *r) {
    struct prof_cuda__all *g = &prof_cuda__;
    const uint64_t second = 1000000000;
    uint64_t end = r->start + prof_cuda__duration(r);
    if (r->kind == PROF_CUDA__EXTERNAL || r->kind == PROF_CUDA__CUDA_EVENT) return;
    if (!r->start) g->stats.no_time++;
    else if (g->pair_count && (r->start + second < g->window_start ||
                               end > g->pairs[g->pair_count - 1].cupti + second))
        g->stats.wrong_clock++;
    else return;
    if (r->flags & PROF_CUDA__RUNNING) g->stats.unfinished--;
    r->flags = PROF_CUDA__LEFT_OUT;
}

/* Device work without its launch, from before the session's start, is not the session's. */
PROF_CUDA__FN void prof_cuda__judge_work(prof_cuda__record *r) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (!r->start || r->start >= g->window_start) {
        g->stats.no_launch++;
        return;
    }
    if (r->flags & PROF_CUDA__RUNNING) g->stats.unfinished--;
    if (r->flags & PROF_CUDA__LEFT_OUT) g->stats.wrong_clock--;
    r->flags = PROF_CUDA__LEFT_OUT;
    g->stats.outside++;
    if (r->kind == PROF_CUDA__KERNEL) g->stats.kernels--;
    else g->stats.copies--;
}

/* Streams that only wait say nothing: Kineto leaves them out, too. */
PROF_CUDA__FN void prof_cuda__judge_wait(prof_cuda__record *r) {
    struct prof_cuda__all *g = &prof_cuda__;
    const prof_cuda__detail *d = prof_cuda__detail_at(r->detail);
    if (d->u.more.type != 2 || prof_cuda__stream_at(d->context, d->stream)->known) return;
    r->flags = PROF_CUDA__LEFT_OUT;
    g->stats.other--;
    g->stats.muted++;
}

/* Judges what has come since the last time, and counts what has lost its other half. */
PROF_CUDA__FN void prof_cuda__join(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__record *r = prof_cuda__records();
    uint32_t *memory = (uint32_t *)(void *)g->low, first = g->judged;
    prof_cuda__table calls;
    for (uint32_t i = first; i < g->record_count; i++) prof_cuda__judge_time(r + i);
    prof_cuda__streams_find();
    calls = prof_cuda__table_of(PROF_CUDA__CALLS, &memory);
    for (uint32_t i = first; i < g->record_count; i++) {
        if (prof_cuda__is_work(r + i) && !*prof_cuda__place(&calls, r[i].correlation))
            prof_cuda__judge_work(r + i);
        if (r[i].kind == PROF_CUDA__SYNCHRONIZATION && !r[i].flags) prof_cuda__judge_wait(r + i);
    }
    g->judged = g->record_count;
}

/* Text that is being put together. */
typedef struct prof_cuda__line { char *p, *end; } prof_cuda__line;

PROF_CUDA__FN void prof_cuda__put(prof_cuda__line *l, const char *s) {
    size_t n = strlen(s);
    if ((size_t)(l->end - l->p) <= n) return;
    memcpy(l->p, s, n + 1);
    l->p += n;
}

PROF_CUDA__FN void prof_cuda__put_number(prof_cuda__line *l, uint64_t n) {
    char digits[20], *p = digits + sizeof digits;
    size_t length;
    do *--p = (char)('0' + n % 10);
    while (n /= 10);
    length = (size_t)(digits + sizeof digits - p);
    if ((size_t)(l->end - l->p) <= length) return;
    memcpy(l->p, p, length);
    l->p += length;
    *l->p = 0;
}

/* `,"name":n` */
PROF_CUDA__FN void prof_cuda__member(prof_cuda__line *l, const char *name, uint64_t n) {
    prof_cuda__put(l, ",\"");
    prof_cuda__put(l, name);
    prof_cuda__put(l, "\":");
    prof_cuda__put_number(l, n);
}

/* The same; what CUPTI does not know is -1, as in Kineto. */
PROF_CUDA__FN void prof_cuda__member_or_none(prof_cuda__line *l, const char *name, uint32_t n) {
    if (n != UINT32_MAX) {
        prof_cuda__member(l, name, n);
        return;
    }
    prof_cuda__put(l, ",\"");
    prof_cuda__put(l, name);
    prof_cuda__put(l, "\":-1");
}

/* a / b with at most so many decimals, 15 or fewer, rounded; b not 0. */
PROF_CUDA__FN void prof_cuda__put_ratio(prof_cuda__line *l, uint64_t a, uint64_t b,
                                        int decimals) {
    char digits[20], *p = digits;
    uint64_t part = 0, unit = 1, rest = a % b;
    for (int i = 0; i < decimals; i++, rest %= b) {
        rest = PROF_CUDA__MIN(rest, UINT64_MAX / 10) * 10;
        part = part * 10 + rest / b;
        unit *= 10;
    }
    part += rest >= b - rest;
    prof_cuda__put_number(l, a / b + part / unit);
    *p++ = '.';
    for (part %= unit; unit /= 10, unit; part %= unit) *p++ = (char)('0' + part / unit);
    while (p[-1] == '0') p--;
    if (p[-1] == '.') p--;
    *p = 0;
    prof_cuda__put(l, digits);
}

PROF_CUDA__FN void prof_cuda__put_three(prof_cuda__line *l, const char *name, const uint32_t *v) {
    prof_cuda__put(l, ",\"");
    prof_cuda__put(l, name);
    prof_cuda__put(l, "\":[");
    for (int i = 0; i < 3; i++) {
        prof_cuda__put_number(l, v[i]);
        prof_cuda__put(l, i < 2 ? "," : "]");
    }
}

PROF_CUDA__FN const prof_cuda_device *prof_cuda__device_at(uint32_t id);

PROF_CUDA__FN uint32_t prof_cuda__round_up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

/* Blocks of a kernel that fit on a multiprocessor: by threads, registers, shared memory. */
PROF_CUDA__FN uint32_t prof_cuda__blocks_fit(const prof_cuda_device *v, const prof_cuda__detail *d,
                                             uint32_t threads) {
    uint32_t warps = (threads + 31) / 32, fit = (uint32_t)v->max_threads_per_sm / 32 / warps;
    uint32_t per_warp = prof_cuda__round_up(d->u.launch.registers * 32, 256);
    uint32_t shared = d->u.launch.shared + (v->compute_major >= 8 ? 1024 : 0);
    if (v->max_blocks_per_sm) fit = PROF_CUDA__MIN(fit, (uint32_t)v->max_blocks_per_sm);
    if (per_warp)                        /* registers are dealt to warps in fours */
        fit = PROF_CUDA__MIN(fit, (uint32_t)v->registers_per_sm / per_warp / 4 * 4 / warps);
    shared = prof_cuda__round_up(shared, 128);
    if (shared && v->shared_per_sm) fit = PROF_CUDA__MIN(fit, (uint32_t)v->shared_per_sm / shared);
    return fit;
}

/* How much of the GPU a launch can keep busy. As Kineto's figures of these names, but above 48 KiB
   of shared memory, where Kineto tells 0 and this the real value. */
PROF_CUDA__FN void prof_cuda__put_occupancy(prof_cuda__line *l, const prof_cuda__detail *d) {
    const prof_cuda_device *v = prof_cuda__device_at(d->device);
    const uint32_t *g = d->u.launch.grid, *b = d->u.launch.block;
    uint64_t blocks = (uint64_t)g[0] * g[1] * g[2], threads = (uint64_t)b[0] * b[1] * b[2];
    uint64_t fit, share;
    if (!v || v->sm_count < 1 || v->max_threads_per_sm < 1 || !threads || threads > 4096) return;
    prof_cuda__put(l, ",\"blocks per SM\":");
    prof_cuda__put_ratio(l, blocks, (uint64_t)v->sm_count, 6);
    prof_cuda__put(l, ",\"warps per SM\":");
    prof_cuda__put_ratio(l, blocks * threads, 32 * (uint64_t)v->sm_count, 6);
    fit = prof_cuda__blocks_fit(v, d, (uint32_t)threads) * (uint64_t)v->sm_count;
    share = PROF_CUDA__MIN(blocks, fit) * threads * 100;
    prof_cuda__member(l, "est. achieved occupancy %",
                      (share + (uint64_t)v->sm_count * (uint64_t)v->max_threads_per_sm / 2) /
                          ((uint64_t)v->sm_count * (uint64_t)v->max_threads_per_sm));
}

/* correlation: 0 where the writer tells it. */
PROF_CUDA__FN void prof_cuda__kernel_json(prof_cuda__line *l, const prof_cuda__detail *d,
                                          uint32_t correlation) {
    prof_cuda__put(l, "\"queued\":0");
    prof_cuda__member(l, "device", d->device);
    prof_cuda__member(l, "context", d->context);
    prof_cuda__member(l, "stream", d->stream);
    if (correlation) prof_cuda__member(l, "correlation", correlation);
    prof_cuda__member(l, "registers per thread", d->u.launch.registers);
    prof_cuda__member(l, "shared memory", d->u.launch.shared);
    prof_cuda__put_three(l, "grid", d->u.launch.grid);
    prof_cuda__put_three(l, "block", d->u.launch.block);
    prof_cuda__put_occupancy(l, d);
    prof_cuda__member(l, "graph id", d->graph);
    prof_cuda__member(l, "graph node id", d->node_or_bytes);
}

PROF_CUDA__FN void prof_cuda__copy_json(prof_cuda__line *l, const prof_cuda__record *r,
                                        const prof_cuda__detail *d) {
    uint64_t ns = prof_cuda__duration(r);
    prof_cuda__put(l, "\"device\":");
    prof_cuda__put_number(l, d->device);
    prof_cuda__member(l, "context", d->context);
    prof_cuda__member(l, "stream", d->stream);
    prof_cuda__member(l, "correlation", r->correlation);
    if (d->kind == PROF_CUDA__MEMCPY_PEER) {
        prof_cuda__member(l, "fromDevice", d->u.copy.from[0]);
        prof_cuda__member(l, "inDevice", d->device);
        prof_cuda__member(l, "toDevice", d->u.copy.to[0]);
        prof_cuda__member(l, "fromContext", d->u.copy.from[1]);
        prof_cuda__member(l, "inContext", d->context);
        prof_cuda__member(l, "toContext", d->u.copy.to[1]);
    }
    prof_cuda__member(l, "bytes", d->node_or_bytes);
    prof_cuda__put(l, ",\"memory bandwidth (GB/s)\":");
    if (ns && !r->flags) prof_cuda__put_ratio(l, d->node_or_bytes, ns, 15);
    else prof_cuda__put(l, "\"N/A\"");
}

PROF_CUDA__FN const char *prof_cuda__list(const char *const *names, uint32_t count, uint32_t i) {
    return names[i < count ? i : 0];
}

static const char *const prof_cuda__memory_kinds[] = {
    "Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
    "Managed Static" };

/* "Memcpy HtoD (Pageable -> Device)" */
PROF_CUDA__FN void prof_cuda__copy_name(prof_cuda__line *l, const prof_cuda__detail *d) {
    static const char *const ways[] = { "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                        "DtoA", "DtoD", "HtoH", "PtoP" };
    uint32_t kinds = d->u.copy.kinds;
    prof_cuda__put(l, d->kind == PROF_CUDA__MEMSET ? "Memset (" : "Memcpy ");
    if (d->kind != PROF_CUDA__MEMSET) {
        prof_cuda__put(l, prof_cuda__list(ways, 11, kinds >> 16));
        prof_cuda__put(l, " (");
        prof_cuda__put(l, prof_cuda__list(prof_cuda__memory_kinds, 8, kinds >> 8 & 255));
        prof_cuda__put(l, " -> ");
    }
    prof_cuda__put(l, prof_cuda__list(prof_cuda__memory_kinds, 8, kinds & 255));
    prof_cuda__put(l, ")");
}

/* A demangled name in the text, by the C++ library's own function where there is one. Its result
   is malloc'ed by it; that is once for each distinct name. */
PROF_CUDA__FN uint32_t prof_cuda__demangle(uint32_t name) {
#if defined(_WIN32)
    return name;
#else
    typedef char *(*demangle_fn)(const char *, char *, size_t *, int *);
    static demangle_fn demangle;
    static bool tried;
    char *text;
    if (!tried) {
        void *handle = dlopen(NULL, RTLD_NOW), *f;
        tried = true;
        f = handle ? dlsym(handle, "__cxa_demangle") : NULL;
        if (!f && (handle = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL)) != NULL)
            f = dlsym(handle, "__cxa_demangle");
        memcpy(&demangle, &f, sizeof f);
    }
    text = demangle ? demangle(prof_cuda__.text + name, NULL, NULL, NULL) : NULL;
    if (text) {
        uint32_t to = prof_cuda__text(text);
        if (to) name = to;
    }
    free(text);
    return name;
#endif
}

PROF_CUDA__FN const char *prof_cuda__kernel_name(const prof_cuda__detail *d) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t i = d->name % 1024;
    const char *name = g->text + d->name;
    if (!d->name) return "(unknown kernel)";
    if (name[0] != '_' || name[1] != 'Z') return name;
    if (g->demangled[i].from != d->name) {
        g->demangled[i].from = d->name;
        g->demangled[i].to = prof_cuda__demangle(d->name);
    }
    return g->text + g->demangled[i].to;
}

/* "cudaLaunchKernel_ptsz" of CUPTI's "cudaLaunchKernel_ptsz_v7000"; a "_v2" is the call's own. */
PROF_CUDA__FN const char *prof_cuda__call_name(const prof_cuda__record *r) {
    struct prof_cuda__all *g = &prof_cuda__;
    bool runtime = r->kind == PROF_CUDA__RUNTIME_CALL;
    uint32_t cbid = r->detail & 0xffff, n = 0, *known;
    const char *name = NULL, *tail;
    char text[256];
    if (cbid >= PROF_CUDA__CBIDS) return runtime ? "cuda call" : "driver call";
    known = &g->call_names[runtime][cbid];
    if (*known) return g->text + *known;
    if (g->cupti.callback_name(runtime ? 2 : 1, cbid, &name) != 0 || !name)
        return runtime ? "cuda call" : "driver call";
    while (name[n] && n + 1 < sizeof text) {
        text[n] = name[n];
        n++;
    }
    text[n] = 0;
    for (tail = text + n; tail > text && tail[-1] >= '0' && tail[-1] <= '9';) tail--;
    if (runtime && text + n - tail >= 4 && tail - text > 2 && memcmp(tail - 2, "_v", 2) == 0)
        text[tail - 2 - text] = 0;
    *known = prof_cuda__text(text);
    return *known ? g->text + *known : "cuda call";
}

/* ---- one event at a time ---- */

enum { PROF_CUDA__BATCH = 32, PROF_CUDA__JSON = 1024 };

typedef struct prof_cuda__writer {
    prof_cuda__table calls, ids, ends;
    uint32_t *recorded, recorded_count;   /* records of CUDA events by (event, context, call) */
    uint32_t thread_of[PROF_CUDA__THREADS + 1];   /* in the session, + 1; 0: not asked yet */
    uint32_t overhead_thread;
    int64_t stop_ns;
    /* arguments that many events have, behind the tables: kept until the next session */
    char *shared, *shared_end;            /* NULL: there is no room, or they do not live as long */
    const char **of_detail, *of_call[2][PROF_CUDA__CBIDS];
    uint32_t count;
    prof_event events[PROF_CUDA__BATCH];
    prof_extra extras[PROF_CUDA__BATCH];
    char json[PROF_CUDA__BATCH][PROF_CUDA__JSON];
    char names[PROF_CUDA__BATCH][128];
} prof_cuda__writer;

PROF_CUDA__FN uint32_t prof_cuda__session_thread(prof_cuda__writer *w, uint32_t i) {
    uint32_t id = i < PROF_CUDA__THREADS ? prof_cuda__.threads[i] : 0;
    if (!w->thread_of[i])
        w->thread_of[i] = (id ? prof_submit_os_thread(id, NULL)
                              : prof_submit_thread(0, "other threads")) + 1;
    return w->thread_of[i] ? w->thread_of[i] - 1 : 0;
}

PROF_CUDA__FN void prof_cuda__send(prof_cuda__writer *w) {
    (void)prof_submit(w->events, w->count);   /* what does not fit is counted by the session */
    w->count = 0;
}

/* The next event of the batch, with what all have. */
PROF_CUDA__FN prof_event *prof_cuda__event_of(prof_cuda__writer *w, const prof_cuda__record *r,
                                              const char *type) {
    prof_event *e;
    prof_extra *x;
    const uint32_t *id;
    if (w->count == PROF_CUDA__BATCH) prof_cuda__send(w);
    e = w->events + w->count;
    x = w->extras + w->count;
    memset(e, 0, sizeof *e);
    memset(x, 0, sizeof *x);
    w->json[w->count][0] = 0;
    x->metadata_json = w->json[w->count++];
    x->activity_type = type;
    e->extra = x;
    e->start_ns = prof_cuda__session_ns(r->start);
    e->end_ns = e->start_ns + (int64_t)prof_cuda__duration(r);
    id = w->ids.places > 1 && r->correlation ? prof_cuda__place(&w->ids, r->correlation) : NULL;
    if (id && *id) x->external_id = (int64_t)prof_cuda__records()[*id - 1].start;
    return e;
}

PROF_CUDA__FN prof_cuda__line prof_cuda__json_of(prof_cuda__writer *w) {
    prof_cuda__line l;
    l.p = w->json[w->count - 1];
    l.end = l.p + PROF_CUDA__JSON;
    return l;
}

/* The call that launched a record; NULL: it is not there. */
PROF_CUDA__FN const prof_cuda__record *prof_cuda__call_of(const prof_cuda__writer *w,
                                                          const prof_cuda__record *r) {
    uint32_t place = r->correlation ? *prof_cuda__place(&w->calls, r->correlation) : 0;
    return place ? prof_cuda__records() + place - 1 : NULL;
}

/* The last event of the batch gets *text as its arguments, those it has now where *text is NULL
   still: they end at `end`. Without room for them they stay its own. */
PROF_CUDA__FN void prof_cuda__share(prof_cuda__writer *w, const char **text, const char *end) {
    prof_extra *x = w->extras + w->count - 1;
    size_t size = (size_t)(end - w->json[w->count - 1]) + 1;
    if (!*text && (size_t)(w->shared_end - w->shared) >= size) {
        memcpy(w->shared, w->json[w->count - 1], size);
        *text = w->shared;
        w->shared += size;
    }
    if (!*text) return;
    x->metadata_json = *text;
    x->has |= PROF_HAS_KEPT_TEXT;
}

/* Lays out the shared texts behind what the tables take. */
PROF_CUDA__FN void prof_cuda__share_open(prof_cuda__writer *w, uint32_t *memory, bool kept) {
    const struct prof_cuda__all *g = &prof_cuda__;
    char *at = (char *)prof_cuda__align((uintptr_t)memory);
    size_t size = g->detail_count * sizeof *w->of_detail;
    w->shared = NULL;
    if (!kept || at > g->high || (size_t)(g->high - at) < size) return;
    w->of_detail = (const char **)(void *)at;
    memset(at, 0, size);
    memset(w->of_call, 0, sizeof w->of_call);
    w->shared = at + size;
    w->shared_end = g->high;
}

PROF_CUDA__FN void prof_cuda__call_event(prof_cuda__writer *w, const prof_cuda__record *r) {
    bool runtime = r->kind == PROF_CUDA__RUNTIME_CALL;
    prof_cuda__line l;
    prof_extra *x;
    prof_event *e;
    if (!runtime && prof_cuda__call_of(w, r) != r) return;   /* inside a runtime call */
    e = prof_cuda__event_of(w, r, runtime ? "cuda_runtime" : "cuda_driver");
    e->name = prof_cuda__call_name(r);
    e->thread = prof_cuda__session_thread(w, r->detail >> 16);
    x = w->extras + w->count - 1;
    x->has = PROF_HAS_ID;
    x->id = r->correlation;
    l = prof_cuda__json_of(w);
    prof_cuda__put(&l, "\"cbid\":");
    prof_cuda__put_number(&l, r->detail & 0xffff);
    if (w->shared && (r->detail & 0xffff) < PROF_CUDA__CBIDS)
        prof_cuda__share(w, &w->of_call[runtime][r->detail & 0xffff], l.p);
    if (!(x->has & PROF_HAS_KEPT_TEXT)) prof_cuda__member(&l, "correlation", r->correlation);
}

/* What all device events have: where it ran, and what launched it. */
PROF_CUDA__FN prof_event *prof_cuda__device_event(prof_cuda__writer *w, const prof_cuda__record *r,
                                                  const prof_cuda__detail *d, const char *type) {
    const prof_cuda__record *call = prof_cuda__call_of(w, r);
    prof_event *e = prof_cuda__event_of(w, r, type);
    prof_extra *x = w->extras + w->count - 1;
    e->device_type = PROF_DEVICE_CUDA;
    x->has = PROF_HAS_DEVICE_INDEX;
    x->device_index = (int32_t)d->device;
    x->device_resource_id = d->stream == UINT32_MAX ? -1 : (int64_t)d->stream;
    if (!call) return e;
    e->thread = prof_cuda__session_thread(w, call->detail >> 16);
    x->has |= PROF_HAS_LINK;
    x->linked_correlation_id = r->correlation;
    return e;
}

PROF_CUDA__FN void prof_cuda__work_event(prof_cuda__writer *w, const prof_cuda__record *r) {
    const prof_cuda__detail *d = prof_cuda__detail_at(r->detail);
    bool kernel = r->kind == PROF_CUDA__KERNEL;
    prof_cuda__line l, name;
    prof_event *e;
    e = prof_cuda__device_event(w, r, d, kernel ? "kernel"
                                : r->kind == PROF_CUDA__MEMSET ? "gpu_memset" : "gpu_memcpy");
    if (r->flags & PROF_CUDA__RUNNING) {
        e->flags = PROF_EVENT_UNFINISHED;
        e->end_ns = PROF_CUDA__MAX(w->stop_ns, e->start_ns);
    }
    l = prof_cuda__json_of(w);
    if (kernel) {
        bool linked = w->extras[w->count - 1].has & PROF_HAS_LINK;
        const char **text = w->shared && linked ? w->of_detail + r->detail : NULL;
        e->name = prof_cuda__kernel_name(d);
        if (!text || !*text) prof_cuda__kernel_json(&l, d, text ? 0 : r->correlation);
        if (text) prof_cuda__share(w, text, l.p);
        if (text && !*text) prof_cuda__member(&l, "correlation", r->correlation);
    } else {
        name.p = w->names[w->count - 1];
        name.end = name.p + sizeof w->names[0];
        e->name = name.p;
        prof_cuda__copy_name(&name, d);
        prof_cuda__copy_json(&l, r, d);
    }
}

PROF_CUDA__FN void prof_cuda__overhead_event(prof_cuda__writer *w, const prof_cuda__record *r) {
    static const char *const names[] = { "Unknown", "Buffer Flush", "Instrumentation", "Resource",
        "Runtime Triggered Module Loading", "Lazy Function Loading", "Command Buffer Full",
        "Activity Buffer Request", "UVM Activity Init" };
    prof_event *e = prof_cuda__event_of(w, r, "overhead");
    e->name = r->detail == 1 ? "Driver Compiler" : prof_cuda__list(names, 9, r->detail >> 16);
    if (w->overhead_thread == PROF_NONE)
        w->overhead_thread = prof_submit_thread(0, "CUPTI Overhead");
    e->thread = w->overhead_thread == PROF_NONE ? 0 : w->overhead_thread;
    w->extras[w->count - 1].metadata_json = NULL;
}

/* Orders records of CUDA events, and waits among them, by (event, context, call). */
PROF_CUDA__FN bool prof_cuda__event_after(uint32_t a, uint32_t b) {
    const prof_cuda__record *x = prof_cuda__records() + a, *y = prof_cuda__records() + b;
    const prof_cuda__detail *d = prof_cuda__detail_at(x->detail);
    const prof_cuda__detail *e = prof_cuda__detail_at(y->detail);
    if (d->u.more.event != e->u.more.event) return d->u.more.event > e->u.more.event;
    if (d->context != e->context) return d->context > e->context;
    return x->correlation > y->correlation;
}

PROF_CUDA__FN void prof_cuda__recorded_open(prof_cuda__writer *w, uint32_t *memory) {
    const prof_cuda__record *r = prof_cuda__records();
    w->recorded = memory;
    w->recorded_count = 0;
    for (uint32_t i = 0; i < prof_cuda__.record_count; i++)
        if (r[i].kind == PROF_CUDA__CUDA_EVENT) w->recorded[w->recorded_count++] = i;
    prof_cuda__sort(w->recorded, w->recorded + w->recorded_count, w->recorded_count,
                    prof_cuda__event_after);
}

/* The call that last recorded the event before this wait for it; NULL: none. */
PROF_CUDA__FN const prof_cuda__record *prof_cuda__recorded_by(const prof_cuda__writer *w,
                                                              const prof_cuda__record *wait) {
    const prof_cuda__detail *d = prof_cuda__detail_at(wait->detail), *of;
    uint32_t low = 0, high = w->recorded_count, number = (uint32_t)(wait - prof_cuda__records());
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (prof_cuda__event_after(w->recorded[middle], number)) high = middle;
        else low = middle + 1;
    }
    if (!low) return NULL;
    of = prof_cuda__detail_at(prof_cuda__records()[w->recorded[low - 1]].detail);
    return of->u.more.event == d->u.more.event && of->context == d->context
        ? prof_cuda__records() + w->recorded[low - 1] : NULL;
}

PROF_CUDA__FN void prof_cuda__sync_event(prof_cuda__writer *w, const prof_cuda__record *r) {
    static const char *const names[] = { "Unknown Sync", "Event Sync", "Stream Wait Event",
                                         "Stream Sync", "Context Sync" };
    const prof_cuda__detail *d = prof_cuda__detail_at(r->detail);
    const prof_cuda__record *from = NULL;
    const prof_cuda__stream *on = prof_cuda__stream_at(d->context, PROF_CUDA__ANY_STREAM);
    prof_event *e = prof_cuda__device_event(w, r, d, "cuda_sync");
    prof_extra *x = w->extras + w->count - 1;
    prof_cuda__line l = prof_cuda__json_of(w);
    uint32_t device = on->known && on->context == d->context ? on->device : 0;
    x->device_index = (int32_t)device;
    x->device_resource_id += PROF_ROW_SYNC;   /* waits overlap the stream's work */
    e->name = prof_cuda__list(names, 5, d->u.more.type);
    prof_cuda__put(&l, "\"cuda_sync_kind\":\"");
    prof_cuda__put(&l, e->name);
    prof_cuda__put(&l, "\"");
    if (d->u.more.type == 1 || d->u.more.type == 2) from = prof_cuda__recorded_by(w, r);
    if (d->u.more.type == 1 || d->u.more.type == 2) {
        prof_cuda__member_or_none(&l, "wait_on_stream",
                                  from ? prof_cuda__detail_at(from->detail)->stream : UINT32_MAX);
        prof_cuda__member_or_none(&l, "wait_on_cuda_event_record_corr_id",
                                  from ? from->correlation : UINT32_MAX);
        prof_cuda__member_or_none(&l, "wait_on_cuda_event_id", d->u.more.event);
    }
    prof_cuda__member_or_none(&l, "stream", d->stream);
    prof_cuda__member(&l, "correlation", r->correlation);
    prof_cuda__member(&l, "device", device);
    prof_cuda__member(&l, "context", d->context);
}

/* Page-locked memory is the host's. A zone has what it allocated, its thread's innermost. */
PROF_CUDA__FN void prof_cuda__hand_allocation(prof_cuda__writer *w, const prof_cuda__record *r) {
    const prof_cuda__detail *d = prof_cuda__detail_at(r->detail);
    const prof_cuda__record *call = prof_cuda__call_of(w, r);
    bool host = d->u.more.memory_kind == 1 || d->u.more.memory_kind == 2;
    prof_memory_change c;
    memset(&c, 0, sizeof c);
    c.ns = prof_cuda__session_ns(r->start);
    c.address = d->u.more.address;
    c.bytes = d->node_or_bytes;
    c.is_free = d->u.more.type == 2;
    c.device.type = host ? PROF_DEVICE_CPU : PROF_DEVICE_CUDA;
    c.device.index = (int8_t)(host ? 0 : d->device);
    c.thread = call ? prof_cuda__session_thread(w, call->detail >> 16) : PROF_NONE;
    (void)prof_submit_memory(&c, 1);     /* what is left out is counted there */
}

/* Flags of a marker: 1 a mark, 2 a begin, 4 an end. */
PROF_CUDA__FN void prof_cuda__marker_event(prof_cuda__writer *w, const prof_cuda__record *r) {
    const prof_cuda__detail *d = prof_cuda__detail_at(r->detail);
    const prof_cuda__record *end = NULL;
    uint32_t place;
    prof_event *e;
    if (d->u.more.type & 4) return;
    place = d->u.more.type & 2 ? *prof_cuda__place(&w->ends, r->correlation) : 0;
    if (place) end = prof_cuda__records() + place - 1;
    e = prof_cuda__event_of(w, r, "user_annotation");
    e->name = d->name ? prof_cuda__.text + d->name : "(null)";
    e->thread = prof_cuda__session_thread(w, d->u.more.thread);
    e->flags = PROF_EVENT_USER_ANNOTATION;
    if (end) e->end_ns = PROF_CUDA__MAX(prof_cuda__session_ns(end->start), e->start_ns);
    else if (d->u.more.type & 2) e->end_ns = PROF_CUDA__MAX(w->stop_ns, e->start_ns);
    w->extras[w->count - 1].metadata_json = NULL;
    w->extras[w->count - 1].external_id = 0;
}

/* Hands a record to the session. */
PROF_CUDA__FN void prof_cuda__hand_one(prof_cuda__writer *w, const prof_cuda__record *r) {
    if (r->flags & PROF_CUDA__LEFT_OUT) return;
    if (prof_cuda__is_work(r)) prof_cuda__work_event(w, r);
    else if (prof_cuda__is_call(r)) prof_cuda__call_event(w, r);
    else if (r->kind == PROF_CUDA__OVERHEAD_RECORD) prof_cuda__overhead_event(w, r);
    else if (r->kind == PROF_CUDA__SYNCHRONIZATION) prof_cuda__sync_event(w, r);
    else if (r->kind == PROF_CUDA__ALLOCATION) prof_cuda__hand_allocation(w, r);
    else if (r->kind == PROF_CUDA__MARKER) prof_cuda__marker_event(w, r);
}

/* Hands everything that was kept to the session, once. Under the lock: a buffer may come late.
   user: NULL where the trace outlives what is kept. */
PROF_CUDA__FN void prof_cuda__hand_over(void *user) {
    static prof_cuda__writer writer;
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__writer *w = &writer;
    uint32_t *memory;
    prof_cuda__lock();
    memory = (uint32_t *)(void *)g->low;
    if (!g->handed_over && g->record_count) {
        prof_cuda__join();
        w->calls = prof_cuda__table_of(PROF_CUDA__CALLS, &memory);
        w->ids = prof_cuda__table_of(PROF_CUDA__IDS, &memory);
        w->ends = prof_cuda__table_of(PROF_CUDA__ENDS, &memory);
        prof_cuda__recorded_open(w, memory);
        prof_cuda__share_open(w, memory + 2 * w->recorded_count, user != NULL);
        memset(w->thread_of, 0, sizeof w->thread_of);
        w->overhead_thread = PROF_NONE;
        w->stop_ns = g->pair_count ? g->pairs[g->pair_count - 1].session : 0;
        w->count = 0;
        for (uint32_t i = 0; i < g->record_count; i++)
            prof_cuda__hand_one(w, prof_cuda__records() + i);
        prof_cuda__send(w);
    }
    g->handed_over = true;
    prof_cuda__unlock();
}

PROF_API PROF_CUDA__QUIET void prof_cuda_memory(const void *address, int64_t bytes,
                                                int32_t device) {
    prof_device on;
    on.type = PROF_DEVICE_CUDA;
    on.index = (int8_t)device;
    if (bytes < 0) prof_memory_free(address, on);
    else prof_memory_alloc(address, (size_t)bytes, on);
}

/* ---- @DEVICE: the GPUs, and how all this joins a session ---- */

PROF_API PROF_CUDA__QUIET bool prof_cuda_get_device(int32_t id, prof_cuda_device *out) {
    struct prof_cuda__all *g = &prof_cuda__;
    static const uint8_t attributes[] = { 75, 76, 1, 39, 106, 12, 82, 10, 16, 8, 97, 81 };
    int32_t *fields[sizeof attributes];
    size_t memory = 0;
    memset(out, 0, sizeof *out);
    if (g->state == PROF_CUDA_OFF || g->state == PROF_CUDA_UNAVAILABLE) return false;
    if (!prof_cuda__load_driver() || id < 0 || id >= g->device_count) return false;
    fields[0] = &out->compute_major;
    fields[1] = &out->compute_minor;
    fields[2] = &out->max_threads_per_block;
    fields[3] = &out->max_threads_per_sm;
    fields[4] = &out->max_blocks_per_sm;
    fields[5] = &out->registers_per_block;
    fields[6] = &out->registers_per_sm;
    fields[7] = &out->warp_size;
    fields[8] = &out->sm_count;
    fields[9] = &out->shared_per_block;
    fields[10] = &out->shared_per_block_optin;
    fields[11] = &out->shared_per_sm;
    out->id = id;
    if (g->driver.device_name(out->name, (int)sizeof out->name, id) != 0) out->name[0] = 0;
    if (g->driver.device_memory(&memory, id) == 0) out->total_memory = memory;
    for (size_t i = 0; i < sizeof attributes; i++) {
        int value = 0;
        if (g->driver.device_attribute(&value, attributes[i], id) == 0) *fields[i] = value;
    }
    return true;
}

/* The same, asked for once; NULL: there is none. */
PROF_CUDA__FN const prof_cuda_device *prof_cuda__device_at(uint32_t id) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (id >= PROF_CUDA__DEVICES || id >= (uint32_t)g->device_count) return NULL;
    if (!g->device_known[id])
        g->device_known[id] = prof_cuda_get_device((int32_t)id, g->devices + id);
    return g->device_known[id] ? g->devices + id : NULL;
}

PROF_CUDA__FN void prof_cuda__put_quoted(prof_cuda__line *l, const char *s) {
    static const char hex[] = "0123456789abcdef";
    char text[8] = "\\u00", c[2] = "";
    prof_cuda__put(l, "\"");
    for (; *s; s++) {
        unsigned char u = (unsigned char)*s;
        text[4] = hex[u >> 4];
        text[5] = hex[u & 15];
        c[0] = *s;
        prof_cuda__put(l, u < 0x20 || u >= 0x7f || u == '"' || u == '\\' ? text : c);
    }
    prof_cuda__put(l, "\"");
}

PROF_CUDA__FN void prof_cuda__device_json(prof_cuda__line *l, const prof_cuda_device *d) {
    prof_cuda__put(l, "{\"id\":");
    prof_cuda__put_number(l, (uint64_t)d->id);
    prof_cuda__put(l, ",\"name\":");
    prof_cuda__put_quoted(l, d->name);
    prof_cuda__member(l, "totalGlobalMem", d->total_memory);
    prof_cuda__member(l, "computeMajor", (uint64_t)d->compute_major);
    prof_cuda__member(l, "computeMinor", (uint64_t)d->compute_minor);
    prof_cuda__member(l, "maxThreadsPerBlock", (uint64_t)d->max_threads_per_block);
    prof_cuda__member(l, "maxThreadsPerMultiprocessor", (uint64_t)d->max_threads_per_sm);
    prof_cuda__member(l, "regsPerBlock", (uint64_t)d->registers_per_block);
    prof_cuda__member(l, "warpSize", (uint64_t)d->warp_size);
    prof_cuda__member(l, "sharedMemPerBlock", (uint64_t)d->shared_per_block);
    prof_cuda__member(l, "numSms", (uint64_t)d->sm_count);
    prof_cuda__member(l, "regsPerMultiprocessor", (uint64_t)d->registers_per_sm);
    prof_cuda__member(l, "sharedMemPerBlockOptin", (uint64_t)d->shared_per_block_optin);
    prof_cuda__member(l, "sharedMemPerMultiprocessor", (uint64_t)d->shared_per_sm);
    prof_cuda__put(l, "}");
}

PROF_CUDA__FN uint64_t prof_cuda__runtime_version(void) {
    static const char *const names[] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                         "libcudart.so" };
    int version = 0;
    for (int i = 0; i < 4 && !version; i++) {
        void *handle = prof_cuda__open(names[i], true);
        void *f = handle ? prof_cuda__find(handle, "cudaRuntimeGetVersion") : NULL;
        int (*get)(int *) = NULL;
        memcpy(&get, &f, sizeof f);
        if (get && get(&version) != 0) version = 0;
        prof_cuda__close(handle);
    }
    return version > 0 ? (uint64_t)version : 0;
}

/* What is not 0 of what was lost or is odd, for the trace's head and the table's footer. */
PROF_CUDA__FN void prof_cuda__counts_json(prof_cuda__line *l) {
    const prof_cuda_stats s = prof_cuda_get_stats();
    const struct { const char *name; uint64_t n; } counts[] = {
        { "lost_dropped", s.lost_dropped }, { "lost_full", s.lost_full },
        { "lost_overwritten", s.lost_overwritten }, { "corrupt", s.corrupt },
        { "unknown", s.unknown }, { "no_time", s.no_time }, { "wrong_clock", s.wrong_clock },
        { "unfinished", s.unfinished },
        { "no_launch", s.no_launch }, { "no_buffer", s.no_buffer },
        { "names_lost", s.names_lost }, { "ranges_lost", s.ranges_lost },
        { "buffers_missing", s.buffers_missing } };
    prof_cuda__put(l, ",\"prof_cuda\":{\"kernels\":");
    prof_cuda__put_number(l, s.kernels);
    prof_cuda__member(l, "copies", s.copies);
    prof_cuda__member(l, "calls", s.calls);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].n) prof_cuda__member(l, counts[i].name, counts[i].n);
    prof_cuda__put(l, "}");
}

PROF_CUDA__FN size_t prof_cuda__metadata(void *user, char *buf, size_t size) {
    struct prof_cuda__all *g = &prof_cuda__;
    static char text[PROF_CUDA__DEVICES * 1024];   /* a name of 96 bytes may be six times as long */
    prof_cuda__line l;
    size_t length;
    int version = 0;
    (void)user;
    if (g->state == PROF_CUDA_OFF) return 0;
    l.p = text;
    l.end = text + sizeof text;
    prof_cuda__put(&l, "\"deviceProperties\":[");
    for (int i = 0; i < g->device_count && i < PROF_CUDA__DEVICES - 4; i++) {
        const prof_cuda_device *d = prof_cuda__device_at((uint32_t)i);
        if (i) prof_cuda__put(&l, ",\n");
        if (d) prof_cuda__device_json(&l, d);
    }
    prof_cuda__put(&l, "]");
    if (g->stats.cupti_version) prof_cuda__member(&l, "cupti_version", g->stats.cupti_version);
    if (prof_cuda__runtime_version())
        prof_cuda__member(&l, "cuda_runtime_version", prof_cuda__runtime_version());
    if (g->has_driver && g->driver.driver_version(&version) == 0)
        prof_cuda__member(&l, "cuda_driver_version", (uint64_t)version);
    prof_cuda__counts_json(&l);
    length = (size_t)(l.p - text);
    if (size) memcpy(buf, text, PROF_CUDA__MIN(length, size - 1));
    if (size) buf[PROF_CUDA__MIN(length, size - 1)] = 0;
    return length;
}

/* Why not, or what was lost: a line for the footer. */
PROF_CUDA__FN const char *prof_cuda__status_line(void *user) {
    static char text[sizeof prof_cuda__.why];
    const prof_cuda_stats s = prof_cuda_get_stats();
    const struct { const char *text; uint64_t n; } more[] = {
        { "; without a time: ", s.no_time },
        { "; of another clock, as another profiler in the process sets it: ", s.wrong_clock },
        { "; corrupt buffers: ", s.corrupt }, { "; of kinds not known: ", s.unknown },
        { "; buffers CUPTI kept: ", s.buffers_missing } };
    prof_cuda__line l;
    (void)user;
    if (prof_cuda_status()) return prof_cuda_status();
    if (!s.lost && !s.corrupt && !s.no_time && !s.wrong_clock && !s.unknown && !s.buffers_missing)
        return NULL;
    l.p = text;
    l.end = text + sizeof text;
    prof_cuda__put(&l, "GPU records lost: ");
    prof_cuda__put_number(&l, s.lost);
    if (s.lost_dropped) prof_cuda__put(&l, " (dropped by CUPTI: a larger pool_size helps)");
    if (s.lost_full) prof_cuda__put(&l, " (no room: give prof_cuda_desc.memory more)");
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        if (more[i].n) prof_cuda__put(&l, more[i].text);
        if (more[i].n) prof_cuda__put_number(&l, more[i].n);
    }
    return text;
}

PROF_CUDA__FN size_t prof_cuda__buffer_bytes(const prof_cuda_desc *d) {
    return ((d->buffer_size ? d->buffer_size : 256u << 10) + 63) & ~(size_t)63;
}

PROF_CUDA__FN size_t prof_cuda__buffer_count(const prof_cuda_desc *d) {
    size_t n = (d->pool_size ? d->pool_size : 16u << 20) / prof_cuda__buffer_bytes(d);
    return PROF_CUDA__MAX(2u, PROF_CUDA__MIN(n, (size_t)PROF_CUDA__BUFFERS));
}

/* Bytes before the store. */
PROF_CUDA__FN size_t prof_cuda__fixed_bytes(const prof_cuda_desc *d) {
    uint32_t ranges = d->max_ranges ? d->max_ranges : 4096;
    return 64 + prof_cuda__buffer_count(d) * prof_cuda__buffer_bytes(d) +
           PROF_CUDA__NAMES * sizeof(prof_cuda__name) + PROF_CUDA__TEXT +
           prof_cuda__align(ranges * sizeof(prof_cuda__range));
}

PROF_API PROF_CUDA__QUIET size_t prof_cuda_memory_size(const prof_cuda_desc *desc,
                                                       size_t launches) {
    prof_cuda_desc none;
    size_t fixed;
    memset(&none, 0, sizeof none);
    fixed = prof_cuda__fixed_bytes(desc ? desc : &none) + 4096;
    if (launches > (SIZE_MAX - fixed) / 256) return SIZE_MAX;
    /* a kernel, a runtime and a driver call; every 16th launch unlike the ones before */
    return fixed + launches * (3 * PROF_CUDA__RECORD_SHARE + sizeof(prof_cuda__detail) / 16 + 8);
}

/* The built-in block is used from behind the last buffer that CUPTI keeps. */
PROF_CUDA__FN void prof_cuda__withhold(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t i = g->buffer_count;
    while (i && !g->is_out[i - 1]) i--;
    if (i) prof_cuda__withheld = (size_t)((char *)g->pool + i * g->buffer_size -
                                          prof_cuda__memory.bytes);
}

PROF_CUDA__FN char *prof_cuda__carve(char **p, size_t bytes) {
    char *at = *p;
    *p += prof_cuda__align(bytes);
    return at;
}

/* Lays the block out; false: it is too small. */
PROF_CUDA__FN bool prof_cuda__lay(char *memory, size_t size) {
    struct prof_cuda__all *g = &prof_cuda__;
    char *p = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63), *end = memory + size;
    size_t store;
    if (size < prof_cuda__fixed_bytes(&g->desc) + 4096) return false;
    g->buffer_size = prof_cuda__buffer_bytes(&g->desc);
    g->buffer_count = (uint32_t)prof_cuda__buffer_count(&g->desc);
    g->pool = (uint8_t *)prof_cuda__carve(&p, g->buffer_count * g->buffer_size);
    g->names = (prof_cuda__name *)(void *)prof_cuda__carve(&p, PROF_CUDA__NAMES *
                                                           sizeof(prof_cuda__name));
    memset(g->names, 0, PROF_CUDA__NAMES * sizeof(prof_cuda__name));
    g->text = prof_cuda__carve(&p, PROF_CUDA__TEXT);
    g->text[0] = 0;
    g->text_used = 1;
    g->ranges = (prof_cuda__range *)(void *)prof_cuda__carve(
        &p, g->desc.max_ranges * sizeof(prof_cuda__range));
    store = (size_t)(end - p);
    g->index_places = (uint32_t)PROF_CUDA__MIN(store / 512, (size_t)1 << 20) | 1;
    g->index = (uint32_t *)(void *)prof_cuda__carve(&p, g->index_places * sizeof(uint32_t));
    g->base = g->low = p;
    g->end = g->high = p + ((size_t)(end - p) & ~(size_t)63);
    for (uint32_t i = 0; i < g->buffer_count; i++)
        g->free_list[i] = (uint16_t)(g->buffer_count - 1 - i);
    g->free_count = g->buffer_count;
    return g->end > g->base;
}

#if !defined(_WIN32)
PROF_CUDA__FN void prof_cuda__child(void) {
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    prof_cuda__mutex = fresh;
    if (prof_cuda__.state != PROF_CUDA_OFF)
        (void)prof_cuda__give_up("no GPU work: this is a forked child; CUDA and CUPTI stay with "
                                 "the parent", "", "");
}
#endif

/* The device is added once a process: it cannot be taken away. */
PROF_CUDA__FN prof_result prof_cuda__join_sessions(void) {
    static bool joined;
    prof_device_desc d;
    prof_result result;
    if (joined) return PROF_OK;
    memset(&d, 0, sizeof d);
    d.name = "CUDA";
    d.type = PROF_DEVICE_CUDA;
    d.activity = PROF_ACTIVITY_CUDA;
    d.prepare = prof_cuda__prepare;
    d.start = prof_cuda__start;
    d.stop = prof_cuda__stop;
    d.flush = prof_cuda__flush;
    d.late = prof_cuda__hand_over;
    d.status = prof_cuda__status_line;
    d.metadata = prof_cuda__metadata;
    d.user = &prof_cuda__;
    result = prof_add_device(&d);
    joined = result == PROF_OK;
#if !defined(_WIN32)
    if (joined) pthread_atfork(NULL, NULL, prof_cuda__child);
#endif
    if (joined) prof_cuda__lock_make();
    return result;
}

PROF_CUDA__FN bool prof_cuda__session_open(void) {
    prof_session session;
    prof_session_info(&session);
    return session.open;
}

PROF_API PROF_CUDA__QUIET prof_result prof_cuda_init(const prof_cuda_desc *desc) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_result result;
    if (g->state != PROF_CUDA_OFF || prof_cuda__session_open()) return PROF_ERROR_STATE;
    memset(g, 0, sizeof *g);
    if (desc) g->desc = *desc;
    if ((!g->desc.memory && g->desc.memory_size) ||
        (g->desc.buffer_size && g->desc.buffer_size < 4096)) return PROF_ERROR_INVALID;
    if (!g->desc.records) g->desc.records = PROF_CUDA_DEFAULT;
    if (!g->desc.max_ranges) g->desc.max_ranges = 4096;
    if (!g->desc.memory ? !prof_cuda__lay(prof_cuda__memory.bytes + prof_cuda__withheld,
                                          sizeof prof_cuda__memory.bytes - prof_cuda__withheld)
                        : !prof_cuda__lay((char *)g->desc.memory, g->desc.memory_size))
        return PROF_ERROR_MEMORY;
    result = prof_cuda__join_sessions();
    if (result == PROF_OK) g->state = PROF_CUDA_READY;
    return result;
}

PROF_API PROF_CUDA__QUIET prof_result prof_cuda_shutdown(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (prof_cuda__session_open()) return PROF_ERROR_STATE;
    if (g->out && g->desc.memory) return PROF_ERROR_STATE;   /* CUPTI may still write into them */
    prof_cuda__withhold();
    prof_cuda__watch_threads(false);
    memset(g, 0, sizeof *g);             /* the libraries stay: they do not survive being closed */
    return PROF_OK;
}

#ifdef __cplusplus
} /* extern "C" */
#  ifdef __GNUC__
#    pragma GCC diagnostic pop
#  endif
#endif
#endif
