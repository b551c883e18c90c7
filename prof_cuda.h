/* prof_cuda.h: NVIDIA GPU work in prof.h's tables and traces: kernels, copies, runtime and driver
   calls, each in the zone that launched it. MIT-0 license, as prof.h.

   Do this, in one file: the one that has prof.h's implementation, or another
       #define PROF_CUDA_IMPLEMENTATION
       #include "prof_cuda.h"
   and, before prof_start,
       prof_cuda_init(NULL);
   Link with -ldl -lpthread. Nothing of CUDA is linked, included or needed to build. Where there is
   no GPU, the profile of the CPU is whole, and prof_cuda_status(), the table's footer and the
   trace's metadata say why there is no more.

   How it works
       A session opens CUPTI (libcupti.so of CUDA 11 to 13), which writes records into buffers of
       ours. When one is full, its records are copied as they are. As it stops they become
       events: a kernel belongs to the zone that was innermost on the thread that launched it, when
       it did. Zones cost what they cost without a GPU.
       Work is kept in PROF_MODE_TRACE or a raw stream. Other modes keep none, and say so.
       Without CUPTI, time work with CUDA events and tell of it by prof_launch.

   Memory
       One block: prof_cuda_desc.memory, or a static array of PROF_CUDA_MEMORY bytes (80 MiB; pages
       that are not touched cost nothing). What does not fit is counted: see prof_cuda_stats. As a
       session stops, a launch also takes about 1.6 KB of its arena.

   Threads
       Set-up and shutdown: one thread, no session open. prof_cuda_push_id, prof_cuda_flush: any
       thread. A child after fork() profiles its CPU side only.

   Macro and environment
       PROF_CUDA_MEMORY n         bytes of the built-in block
       PROF_CUDA_CUPTI            path of the libcupti to open; else: one that is loaded, then the
                                  loader's, then those beside loaded CUDA libraries, in CUDA_HOME,
                                  CUDA_PATH, CONDA_PREFIX, VIRTUAL_ENV, /usr/local/cuda, by the
                                  pythons on PATH: of the driver's CUDA, then older, then newer
       NVTX_INJECTION64_PATH      for PROF_CUDA_MARKERS: path of libcupti, which NVTX reads

   Limits
       A stop does not wait for the GPU while a stream is captured, as the capture would fail: what
       runs is cut off, and flagged. Captures from before the session fail, unless no_sync is set.
       Before CUDA 13.3 CUPTI serves one profiler at a time: a torch.profiler that starts in a
       session sees no GPU work, and says so; after a torch.profiler this one sees none.
       CUPTI of CUDA 13 before 13.1 Update 1 may mix up which graph launch a kernel came from, after
       a process's first session: prof_cuda_stats.graph_doubts.
       On Windows only what desc.symbol finds.

   Rooms, in this order: @API @OWN @MIRROR @LOAD @DECODE @STATES @EVENTS @NVTX @DEVICE
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
    PROF_CUDA_MARKERS = 256,             /* NVTX ranges and marks: see NVTX_INJECTION64_PATH */
    PROF_CUDA_DEFAULT = 31
};

/* Zero-initialise; 0 means the default. */
typedef struct prof_cuda_desc {
    void *memory;                        /* any alignment; NULL: the built-in block */
    size_t memory_size;
    uint32_t records;                    /* PROF_CUDA_...; 0: PROF_CUDA_DEFAULT */
    size_t buffer_size;                  /* bytes of a CUPTI buffer; 0: 256 KiB */
    size_t pool_size;                    /* bytes of all of them; 0: 16 MiB. At least 2 a thread */
    bool shared_buffers;                 /* one CUPTI buffer at a time instead of one per thread */
    bool no_sync;                        /* stop does not wait for the GPU: what runs is cut off */
    bool hardware_trace;                 /* Blackwell's own time stamps (CUPTI's HES), which cannot
                                            be turned off any more: start before CUDA's first
                                            context, call prof_cuda_flush several times a second */
    /* The address of a function, where the program has CUPTI or the driver API linked in or loaded
       in its own way. library: "cupti" or "cuda". NULL: dlopen and dlsym. */
    void *(*symbol)(void *user, const char *library, const char *name);
    void *user;
} prof_cuda_desc;

typedef enum prof_cuda_state {
    PROF_CUDA_OFF = 0,                   /* before prof_cuda_init, after prof_cuda_shutdown */
    PROF_CUDA_READY,
    PROF_CUDA_ACTIVE,
    PROF_CUDA_DRAINING,                  /* waiting for the last buffers */
    PROF_CUDA_UNAVAILABLE                /* prof_cuda_status says why; stays so */
} prof_cuda_state;

/* Counts of the session, or of the last one, of which what is left out is known after its stop. */
typedef struct prof_cuda_stats {
    prof_cuda_state state;
    uint32_t cupti_version;              /* CUPTI_API_VERSION of the library; 0: none */
    uint64_t kernels, copies, calls;     /* kept */
    uint64_t other;                      /* kept: overhead, waits, memory, ids, markers */
    uint64_t captured;                   /* nodes of graphs that the session made. Their replays, in
                                            later sessions, too, tell its zone ("captured in") */
    uint64_t lost;                       /* records that did not come through: the next three */
    uint64_t lost_dropped;               /* CUPTI had no buffer, or dropped them itself */
    uint64_t lost_full;                  /* our block was full (give prof_cuda_desc.memory more) */
    uint64_t lost_overwritten;           /* no buffer was left, and a CUPTI before API 27 must have
                                            one: an estimate. All others are exact */
    uint64_t corrupt;                    /* buffers with a record that is none: the rest skipped */
    uint64_t foreign;                    /* buffers of another profiler in the process, as
                                            torch.profiler: it and this cannot record together */
    uint64_t unknown;                    /* records of kinds not known here: skipped */
    uint64_t outside;                    /* records from before the session's start: skipped */
    uint64_t muted;                      /* skipped: calls that are many and dull, ids of other
                                            profilers, waits on streams that did no work */
    uint64_t no_time;                    /* records without a time, or that end before they begin:
                                            not in the trace */
    uint64_t wrong_clock;                /* records with times far off the session, by a clock that
                                            is not CUPTI's own: not in the trace */
    uint64_t clock_back;                 /* times that CUPTI's clock was found to have gone back:
                                            records since then are misplaced, or count as outside */
    uint64_t unfinished;                 /* ran at prof_stop: cut there, and flagged */
    uint64_t no_launch;                  /* device work whose launch call is not there */
    uint64_t graph_doubts;               /* kernels maybe of another graph launch: see Limits */
    uint64_t no_buffer;                  /* times that CUPTI asked in vain for a buffer */
    uint64_t names_lost;                 /* names, and nodes of graphs, that did not fit */
    uint64_t failed_calls;               /* of CUPTI's functions: what they are for is missing */
    uint32_t buffers, buffers_most;      /* all there are; most that CUPTI held at a time */
    uint32_t buffers_missing;            /* CUPTI kept them at the stop: what is in them counts as
                                            `outside` of the session that they come in */
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

/* Joins the GPU to the sessions that follow; NULL or zeroed: every default. Loads the driver's
   library, but does not start it: prof_cuda_status() says at once where there is none.
   PROF_ERROR_STATE: done already, or a session is open. PROF_ERROR_MEMORY: the block is too small
   (prof_cuda_memory_size). PROF_ERROR_INVALID: memory NULL with a size, or a buffer below 4 KiB. */
PROF_API prof_result prof_cuda_init(const prof_cuda_desc *desc);

/* Lets CUPTI and the driver go; not while a session is open (PROF_ERROR_STATE), nor while CUPTI
   keeps a buffer of prof_cuda_desc.memory (prof_cuda_stats.buffers_missing): it may still write
   there. A trace with GPU events must not be used any more. */
PROF_API prof_result prof_cuda_shutdown(void);

/* Bytes of memory for the buffers of desc and for `launches` kernels with their calls. */
PROF_API size_t prof_cuda_memory_size(const prof_cuda_desc *desc, size_t launches);

/* NULL: all is well, or nothing was tried yet. Else why there is no GPU work or, until a session
   starts, why prof_cuda_emit_nvtx failed, and what to do about it; English, one line, valid until
   prof_cuda_shutdown. */
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

/* Turns zones into NVTX ranges and instants into NVTX marks, for nsys, ncu and other tools. A range
   tells what is known when it begins, as those of PyTorch's emit_nvtx() do: "name, seq = 5, op_id =
   7, sizes = [[2, 3]]"; backward ones "stashed seq = 5". false turns this off. Needs no
   prof_cuda_init. PROF_ERROR_UNSUPPORTED: prof_cuda_status() says why: no tool listens (nsys and
   ncu set NVTX_INJECTION64_PATH), or the compiler found no <nvtx3/nvToolsExt.h> (-isystem and
   CUDA's include folder). PROF_ERROR_STATE: a session is open, or it is on already; other errors:
   prof_add_observer. */
PROF_API prof_result prof_cuda_emit_nvtx(bool on);

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

#if defined(__has_include)
#  if __has_include(<nvtx3/nvToolsExt.h>)
#    define PROF_CUDA__NVTX              /* NVIDIA's own header, which has no library */
#    include <nvtx3/nvToolsExt.h>
#  endif
#endif

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
#define PROF_CUDA__ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))

/* ---- @MIRROR: the part of CUPTI's records that is used here ----

   The fields that all versions from CUDA 11.0 on have at the same offset; later versions only add
   to the end. `make check_layout` compares them with cupti.h where that is installed. */

enum {                                   /* CUpti_ActivityKind */
    PROF_CUDA__MEMCPY = 1, PROF_CUDA__MEMSET = 2, PROF_CUDA__DRIVER_CALL = 4,
    PROF_CUDA__RUNTIME_CALL = 5, PROF_CUDA__KERNEL = 10,
    PROF_CUDA__MARKER = 12, PROF_CUDA__OVERHEAD_RECORD = 17, PROF_CUDA__MEMCPY_PEER = 22,
    PROF_CUDA__CUDA_EVENT = 36, PROF_CUDA__SYNCHRONIZATION = 38, PROF_CUDA__EXTERNAL = 39,
    PROF_CUDA__ALLOCATION = 49,
    PROF_CUDA__NODE = 255,               /* ours */
    PROF_CUDA__KINDS = 256
};

typedef struct prof_cuda__any { uint32_t kind; } prof_cuda__any;

typedef struct prof_cuda__kernel {       /* CUpti_ActivityKernel5 and later */
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    int32_t priority;                    /* of CUDA 13.1 on; it stands elsewhere in the record */
    uint32_t cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    uint32_t grid[3], block[3];
    uint32_t static_shared, dynamic_shared;
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

typedef struct prof_cuda__copy {         /* CUpti_ActivityMemcpy3, ...Memset2 and later */
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;   /* of a fill: its value */
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t fill_flags, fill_memory;    /* of a copy: another correlation */
    uint32_t padding;
    uint64_t graph, graph_node;          /* graph: see prof_cuda__complete */
} prof_cuda__copy;

typedef struct prof_cuda__peer {         /* CUpti_ActivityMemcpyPtoP2 and later: begins alike */
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, target_device, target_context, correlation;
    uint64_t graph, graph_node;
} prof_cuda__peer;

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

/* A node of a graph, and the zone in which it was made. */
typedef struct prof_cuda__node {
    uint32_t kind, line;
    uint64_t id, time, thread;           /* thread: prof_thread_id's */
    const char *name, *file;
} prof_cuda__node;

/* What the callback for a graph's nodes gets: CUpti_ResourceData, and of it CUpti_GraphData. */
typedef struct prof_cuda__graph { void *graph, *original, *node, *original_node; } prof_cuda__graph;
typedef struct prof_cuda__resource {
    void *context, *handle;
    const prof_cuda__graph *graph;
} prof_cuda__resource;

/* What the callbacks for calls get: CUpti_CallbackData. ends: 0 where the call begins. */
typedef struct prof_cuda__called {
    int ends; const char *name; const void *arguments; const int *result; } prof_cuda__called;

enum {                                   /* what a record is */
    PROF_CUDA__CALL = 1,
    PROF_CUDA__INNER = 2,                /* a driver call: in one of the runtime, if it is there */
    PROF_CUDA__WORK = 4,                 /* on the device */
    PROF_CUDA__ID = 8,                   /* another id of a call */
    PROF_CUDA__TIMELESS = 16,            /* it tells of others, and becomes no event */
    PROF_CUDA__IN_STREAM = 32, PROF_CUDA__IN_CONTEXT = 64   /* what WORK is found by, too */
};

/* The kinds that are kept: what asks for them, whether there is a point without them, their bytes
   that are looked at, where times and correlation stand in these (0: there is none). */
#define PROF_CUDA__AT(type, member) ((uint8_t)offsetof(prof_cuda__##type, member))
#define PROF_CUDA__ROW(kind, records, needed, type, start, end, correlation, what)            \
    { records, kind, needed, (uint8_t)sizeof(prof_cuda__##type), PROF_CUDA__AT(type, start),  \
      PROF_CUDA__AT(type, end), PROF_CUDA__AT(type, correlation), what }
#define PROF_CUDA__SPAN(kind, records, needed, type, what) \
    PROF_CUDA__ROW(kind, records, needed, type, start, end, correlation, what)
static const struct prof_cuda__kind {
    uint16_t records;
    uint8_t kind;
    bool needed;
    uint8_t size, start, end, correlation, what;
} prof_cuda__kinds[] = {                 /* the most frequent first */
    PROF_CUDA__SPAN(PROF_CUDA__RUNTIME_CALL, PROF_CUDA_RUNTIME, true, call, PROF_CUDA__CALL),
    PROF_CUDA__SPAN(PROF_CUDA__KERNEL, PROF_CUDA_KERNELS, true, kernel, PROF_CUDA__WORK),
    PROF_CUDA__SPAN(PROF_CUDA__MEMCPY, PROF_CUDA_COPIES, true, copy, PROF_CUDA__WORK),
    PROF_CUDA__SPAN(PROF_CUDA__MEMCPY_PEER, PROF_CUDA_COPIES, false, peer, PROF_CUDA__WORK),
    PROF_CUDA__SPAN(PROF_CUDA__MEMSET, PROF_CUDA_COPIES, true, copy, PROF_CUDA__WORK),
    PROF_CUDA__SPAN(PROF_CUDA__DRIVER_CALL, PROF_CUDA_DRIVER, false, call,
                    PROF_CUDA__CALL | PROF_CUDA__INNER),
    PROF_CUDA__SPAN(PROF_CUDA__SYNCHRONIZATION, PROF_CUDA_SYNC, false, sync, 0),
    PROF_CUDA__ROW(PROF_CUDA__OVERHEAD_RECORD, PROF_CUDA_OVERHEAD, false, overhead, start, end,
                   kind, 0),
    PROF_CUDA__ROW(PROF_CUDA__CUDA_EVENT, PROF_CUDA_SYNC, false, event, kind, kind, correlation,
                   PROF_CUDA__TIMELESS),
    PROF_CUDA__ROW(PROF_CUDA__ALLOCATION, PROF_CUDA_DEVICE_MEMORY, false, allocation, time, time,
                   correlation, 0),
    PROF_CUDA__ROW(PROF_CUDA__EXTERNAL, PROF_CUDA_EXTERNAL_IDS, false, external, kind, kind,
                   correlation, PROF_CUDA__ID | PROF_CUDA__TIMELESS),
    PROF_CUDA__ROW(PROF_CUDA__MARKER, PROF_CUDA_MARKERS, false, marker, time, time, kind, 0),
    PROF_CUDA__ROW(PROF_CUDA__NODE, 0, false, node, time, time, kind, 0)
};
enum { PROF_CUDA__KIND_COUNT = sizeof prof_cuda__kinds / sizeof *prof_cuda__kinds };

/* What is known of a kind; NULL: nothing. */
PROF_CUDA__FN const struct prof_cuda__kind *prof_cuda__kind_of(uint32_t kind) {
    for (int i = 0; i < PROF_CUDA__KIND_COUNT; i++)
        if (prof_cuda__kinds[i].kind == kind) return prof_cuda__kinds + i;
    return NULL;
}

enum { PROF_CUDA__PRIORITY_FROM = 130100, PROF_CUDA__DATA_FROM = 22,   /* the API's version, */
       PROF_CUDA__PRIORITY_AT = 212, PROF_CUDA__DATA_AT = 48,   /* where it is in the record, */
                                         /* of CUpti_ActivityKernel11.priority,
                                            CUpti_ActivityOverhead3.overheadData */
       PROF_CUDA__END_OF_BUFFER = 12,    /* CUPTI_ERROR_MAX_LIMIT_REACHED */
       PROF_CUDA__OUR_IDS = 5,           /* CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
                                            Kineto's are CUSTOM0 */
       PROF_CUDA__DRIVER_CALLS = 1, PROF_CUDA__RESOURCE = 3,
       PROF_CUDA__NODE_MADE = 13, PROF_CUDA__NODE_CLONED = 20,   /* callbacks and domains */
       PROF_CUDA__ZEROED = 5, PROF_CUDA__PER_THREAD = 9,   /* CUPTI_ACTIVITY_ATTR_..., */
       PROF_CUDA__HES = 13, PROF_CUDA__THREAD_IDS = 21,   /* of 13.3 on */
       PROF_CUDA__NOT_INITIALIZED = 15, PROF_CUDA__NO_ID = 18,   /* errors, */
       PROF_CUDA__OTHER_SUBSCRIBER = 39,
       PROF_CUDA__INVALIDATED = 901, PROF_CUDA__UNJOINED = 904 };   /* by which a capture ends */

/* ---- @LOAD: CUPTI and the driver, at run time ---- */

typedef void (*prof_cuda__request_fn)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*prof_cuda__complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                       size_t valid);
typedef void (*prof_cuda__callback_fn)(void *user, int domain, uint32_t cbid, const void *data);

typedef struct prof_cuda__params {       /* CUpti_SubscriberParams */
    size_t size;
    const char *name;
    char *other;                         /* gets the name of who is there already */
    size_t other_size;
    uint8_t multiple, padding[7];        /* 13.2 and later */
} prof_cuda__params;

/* Functions by their names in the libraries: X(field, name, needed, arguments). */
#define PROF_CUDA__CUPTI(X) \
    X(version, "cuptiGetVersion", true, uint32_t *) \
    X(result_text, "cuptiGetResultString", false, int, const char **) \
    X(callback_name, "cuptiGetCallbackName", true, int, uint32_t, const char **) \
    X(subscribe, "cuptiSubscribe", true, void **, prof_cuda__callback_fn, void *) \
    X(callback, "cuptiEnableCallback", false, uint32_t, void *, int, uint32_t) \
    X(node_id, "cuptiGetGraphNodeId", false, void *, uint64_t *) \
    X(subscribe_v2, "cuptiSubscribe_v2", false, \
      void **, prof_cuda__callback_fn, void *, prof_cuda__params *) \
    X(hardware_trace, "cuptiActivityEnableHWTrace", false, uint8_t) \
    X(unsubscribe, "cuptiUnsubscribe", true, void *) \
    X(callbacks, "cuptiActivityRegisterCallbacks", true, \
      prof_cuda__request_fn, prof_cuda__complete_fn) \
    X(enable, "cuptiActivityEnable", true, uint32_t) \
    X(disable, "cuptiActivityDisable", true, uint32_t) \
    X(flush, "cuptiActivityFlushAll", true, uint32_t) \
    X(thread_ids, "cuptiSetThreadIdType", true, int)

/* Those that CUDA 13.3 also has for one of several subscribers, who is their first argument. */
#define PROF_CUDA__BOTH(X) \
    X(time, "cuptiGetTimestamp", true, uint64_t *) \
    X(next, "cuptiActivityGetNextRecord", true, uint8_t *, size_t, prof_cuda__any **) \
    X(push_id, "cuptiActivityPushExternalCorrelationId", true, int, uint64_t) \
    X(pop_id, "cuptiActivityPopExternalCorrelationId", true, int, uint64_t *) \
    X(attribute, "cuptiActivitySetAttribute", true, int, size_t *, void *) \
    X(dropped, "cuptiActivityGetNumDroppedRecords", true, void *, uint32_t, size_t *) \
    X(runtime_call, "cuptiActivityEnableRuntimeApi", false, uint32_t, uint8_t) \
    X(driver_call, "cuptiActivityEnableDriverApi", false, uint32_t, uint8_t)

/* Those that differ more. */
#define PROF_CUDA__MULTI(X) \
    X(enable, "cuptiActivityEnable_v2", true, void *, uint32_t, void *) \
    X(disable, "cuptiActivityDisable_v2", true, void *, uint32_t, void *) \
    X(callbacks, "cuptiActivityRegisterCallbacks_v2", true, void *, \
      void (*)(uint8_t **, size_t *, size_t *, const void *), \
      void (*)(uint8_t *, size_t, size_t, const void *))

#define PROF_CUDA__DRIVER(X) \
    X(init, "cuInit", true, unsigned) \
    X(driver_version, "cuDriverGetVersion", true, int *) \
    X(device_count, "cuDeviceGetCount", true, int *) \
    X(device_name, "cuDeviceGetName", true, char *, int, int) \
    X(device_memory, "cuDeviceTotalMem_v2", true, size_t *, int) \
    X(device_attribute, "cuDeviceGetAttribute", true, int *, int, int) \
    X(context_now, "cuCtxGetCurrent", true, void **) \
    X(context_set, "cuCtxSetCurrent", true, void *) \
    X(synchronize, "cuCtxSynchronize", true, void) \
    X(primary_state, "cuDevicePrimaryCtxGetState", true, int, unsigned *, int *) \
    X(primary_retain, "cuDevicePrimaryCtxRetain", true, void **, int) \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", true, int)

/* Calls what both have. */
#define PROF_CUDA__ASK(field, ...) \
    (prof_cuda__.is_multi ? (prof_cuda__.multi.field)(prof_cuda__.subscriber, __VA_ARGS__) \
                          : (prof_cuda__.cupti.field)(__VA_ARGS__))

#define PROF_CUDA__FIELD(field, name, needed, ...) int (*field)(__VA_ARGS__);
#define PROF_CUDA__FIELD_V2(field, name, needed, ...) int (*field)(void *, __VA_ARGS__);
#define PROF_CUDA__ENTRY(field, name, needed, ...) { name, needed },
#define PROF_CUDA__ENTRY_V2(field, name, needed, ...) { name "_v2", true },
typedef struct prof_cuda__entry { const char *name; bool needed; } prof_cuda__entry;
static const prof_cuda__entry prof_cuda__cupti_names[] = {
    PROF_CUDA__CUPTI(PROF_CUDA__ENTRY) PROF_CUDA__BOTH(PROF_CUDA__ENTRY) };
static const prof_cuda__entry prof_cuda__multi_names[] = {
    PROF_CUDA__MULTI(PROF_CUDA__ENTRY) PROF_CUDA__BOTH(PROF_CUDA__ENTRY_V2) };
static const prof_cuda__entry prof_cuda__driver_names[] = { PROF_CUDA__DRIVER(PROF_CUDA__ENTRY) };

/* ---- the one state ---- */

/* A name of CUPTI's: its address there, the copy, and that demangled. */
typedef struct prof_cuda__named { const char *source, *text, *plain; } prof_cuda__named;

enum {
    PROF_CUDA__DEVICES = 64, PROF_CUDA__BUFFERS = 8192, PROF_CUDA__CBIDS = 1024,
    PROF_CUDA__NODES = 1 << 17,          /* half of them are used: large models have that many */
    PROF_CUDA__NAMES = 8192, PROF_CUDA__TEXT = 1 << 20, PROF_CUDA__ALIKE = 8192,
    PROF_CUDA__ARGS = 1000, PROF_CUDA__NAME = 256
};

/* What a call does: nothing that is kept, or the begin or end of a stream's capture. */
enum { PROF_CUDA__DULL = 1, PROF_CUDA__BEGINS = 2, PROF_CUDA__ENDS = 4 };

enum {                                   /* added to a kept record's kind, as is its row << 8: */
    PROF_CUDA__LEFT_OUT = 1 << 16,       /* it becomes no event */
    PROF_CUDA__RUNNING = 1 << 17,        /* it has no end: work was cut off, others have a record */
    PROF_CUDA__END = 1 << 18             /* the end of the RUNNING marker with its id */
};

/* What stays in the block from one session to the next. */
typedef struct prof_cuda__tables {
    prof_cuda__named names[PROF_CUDA__NAMES];
    prof_cuda__node nodes[PROF_CUDA__NODES];   /* by id */
    char text[PROF_CUDA__TEXT];          /* of names */
} prof_cuda__tables;

static struct prof_cuda__all {
    prof_cuda_desc desc;
    prof_cuda_state state;
    bool enabled, taken;                 /* taken: CUPTI, by another profiler */
    uint64_t failed;                     /* calls of CUPTI's, since it was last made to record, */
    char failed_first[96];               /* and which was the first */
    bool retry;                          /* what failed may work another time */
    bool tried_driver, has_driver, has_cupti;
    bool can_multi, is_multi;            /* one of several subscribers: CUPTI could, it is so */
    bool zeroed;                         /* CUPTI gets buffers of zeros */
    bool hardware;                       /* Blackwell's own time stamps */
    int device_count;
    uint32_t version;                    /* of CUPTI's API */
    char why[320];
    const char *no_nvtx;                 /* why prof_cuda_emit_nvtx failed, if it did */
    struct { PROF_CUDA__CUPTI(PROF_CUDA__FIELD) PROF_CUDA__BOTH(PROF_CUDA__FIELD) } cupti;
    struct { PROF_CUDA__MULTI(PROF_CUDA__FIELD) PROF_CUDA__BOTH(PROF_CUDA__FIELD_V2) } multi;
    struct { PROF_CUDA__DRIVER(PROF_CUDA__FIELD) } driver;
    void *subscriber;                    /* NULL: CUPTI has let go */
    prof_cuda_stats stats;
    /* buffers */
    uint8_t *pool;
    size_t buffer_size, buffer_count;
    uint32_t out;                        /* CUPTI has so many */
    bool is_out[PROF_CUDA__BUFFERS];
    /* CUPTI's records as they came, from base up to low */
    char *base, *low, *end;
    char *judged;                        /* up to here they are checked */
    uint32_t indexed;                    /* records that the index has room for */
    bool closed;                         /* events were made of them */
    uint64_t kept[PROF_CUDA__KINDS], window_start;
    prof_clock_pair pair;                /* the last one */
    prof_cuda__tables *tables;
    uint32_t text_used, name_count, node_count;
    struct { uint32_t id, index; } threads[256];   /* index: in the session, + 1 */
    uint32_t *index, slots;              /* records by what others know of them: prof_cuda__slot */
    char *shared;                        /* behind these: texts that many events have, */
    char *texts[PROF_CUDA__ALIKE];       /* each behind what decides it, by its hash */
    uint8_t calls[2][PROF_CUDA__CBIDS];  /* of the driver, the runtime: PROF_CUDA__DULL ... */
    uint32_t capturing;                  /* streams that are captured now */
    const prof_cuda__event **recorded;   /* by (event, context, call) */
    uint32_t recorded_count;
    prof_cuda_device devices[PROF_CUDA__DEVICES];
} prof_cuda__;

static union { char bytes[PROF_CUDA_MEMORY]; uint64_t align; void *pointer; } prof_cuda__memory;
static size_t prof_cuda__withheld;       /* of those: CUPTI kept a buffer in them when let go */
static bool prof_cuda__used;             /* they may not be zeros */
static uint64_t prof_cuda__scratch[1024];   /* for a CUPTI that cannot do without a buffer */
static uint32_t prof_cuda__sessions;     /* of CUPTI's in this process */

#define PROF_CUDA__FAILS(...)                                                      \
    ((void)prof_format_text(prof_cuda__.why, sizeof prof_cuda__.why, "no GPU work: " __VA_ARGS__), \
     false)

#if defined(_WIN32)
static CRITICAL_SECTION prof_cuda__mutex;
#  define prof_cuda__once() InitializeCriticalSection(&prof_cuda__mutex)
#  define prof_cuda__lock() EnterCriticalSection(&prof_cuda__mutex)
#  define prof_cuda__unlock() LeaveCriticalSection(&prof_cuda__mutex)
#  define prof_cuda__open(name) ((void)(name), (void *)NULL)
#  define prof_cuda__loaded(name) NULL
#  define prof_cuda__find(handle, name) ((void)(handle), (void)(name), (void *)NULL)
#  define prof_cuda__watch_threads(on) ((void)(on))
#  define prof_cuda__watch_thread() ((void)0)
#  define prof_cuda__sleep() Sleep(1)
#else
static pthread_mutex_t prof_cuda__mutex = PTHREAD_MUTEX_INITIALIZER;
#  define prof_cuda__once() ((void)pthread_atfork(NULL, NULL, prof_cuda__child))
#  define prof_cuda__lock() ((void)pthread_mutex_lock(&prof_cuda__mutex))
#  define prof_cuda__unlock() ((void)pthread_mutex_unlock(&prof_cuda__mutex))
#  define prof_cuda__find(handle, name) dlsym(handle, name)
#  define prof_cuda__sleep() ((void)poll(NULL, 0, 1))
#  define prof_cuda__open(name) dlopen(name, RTLD_NOW | RTLD_LOCAL)

/* The path of a library that the process has loaded, by a part of it; NULL: there is none. It is
   valid until the next call. */
PROF_CUDA__FN const char *prof_cuda__loaded(const char *part) {
    static char line[600];
    FILE *maps = fopen("/proc/self/maps", "r");
    char *path = NULL;
    while (maps && !path && fgets(line, sizeof line, maps)) {
        path = strchr(line, '/');
        if (path && !strstr(path, part)) path = NULL;
    }
    if (maps) fclose(maps);
    if (path) path[strcspn(path, "\n")] = 0;
    return path;
}

PROF_CUDA__FN void prof_cuda__child(void) {
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    prof_cuda__mutex = fresh;
    if (prof_cuda__.state == PROF_CUDA_OFF) return;
    prof_cuda__.state = PROF_CUDA_UNAVAILABLE;
    (void)PROF_CUDA__FAILS("this is a forked child; CUDA and CUPTI stay with the parent");
}

/* Threads that launch are told of when they end. */
PROF_CUDA__FN void prof_cuda__thread_ends(void *user);
static pthread_key_t prof_cuda__thread_key;
static bool prof_cuda__watches;
PROF_CUDA__FN void prof_cuda__watch_threads(bool on) {
    if (prof_cuda__watches) (void)pthread_key_delete(prof_cuda__thread_key);
    prof_cuda__watches =
        on && pthread_key_create(&prof_cuda__thread_key, prof_cuda__thread_ends) == 0;
}
PROF_CUDA__FN void prof_cuda__watch_thread(void) {
    if (prof_cuda__watches && !pthread_getspecific(prof_cuda__thread_key))
        (void)pthread_setspecific(prof_cuda__thread_key, &prof_cuda__watches);
}
#endif

/* Fills a table of functions; NULL, or the name that is missing. */
PROF_CUDA__FN const char *prof_cuda__resolve(const char *library, void *handle, char *table,
                                             const prof_cuda__entry *names, size_t size) {
    const prof_cuda_desc *d = &prof_cuda__.desc;
    for (size_t i = 0; i < size / sizeof *names; i++) {
        void *f = d->symbol ? (d->symbol)(d->user, library, names[i].name)
                            : prof_cuda__find(handle, names[i].name);
        if (!f && names[i].needed) return names[i].name;
        memcpy(table + i * sizeof f, &f, sizeof f);
    }
    return NULL;
}

/* The driver's attributes, where they stand in prof_cuda_device, what Kineto calls them. */
static const struct { uint8_t attribute, at; const char *name; } prof_cuda__attributes[] = {
    { 75, offsetof(prof_cuda_device, compute_major), "computeMajor" },
    { 76, offsetof(prof_cuda_device, compute_minor), "computeMinor" },
    { 1, offsetof(prof_cuda_device, max_threads_per_block), "maxThreadsPerBlock" },
    { 39, offsetof(prof_cuda_device, max_threads_per_sm), "maxThreadsPerMultiprocessor" },
    { 12, offsetof(prof_cuda_device, registers_per_block), "regsPerBlock" },
    { 10, offsetof(prof_cuda_device, warp_size), "warpSize" },
    { 8, offsetof(prof_cuda_device, shared_per_block), "sharedMemPerBlock" },
    { 16, offsetof(prof_cuda_device, sm_count), "numSms" },
    { 82, offsetof(prof_cuda_device, registers_per_sm), "regsPerMultiprocessor" },
    { 97, offsetof(prof_cuda_device, shared_per_block_optin), "sharedMemPerBlockOptin" },
    { 81, offsetof(prof_cuda_device, shared_per_sm), "sharedMemPerMultiprocessor" },
    { 106, offsetof(prof_cuda_device, max_blocks_per_sm), NULL } };

PROF_CUDA__FN void prof_cuda__ask_device(int id) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda_device *d = g->devices + id;
    size_t memory = 0;
    d->id = id;
    if ((g->driver.device_name)(d->name, (int)sizeof d->name, id) != 0) d->name[0] = 0;
    if ((g->driver.device_memory)(&memory, id) == 0) d->total_memory = memory;
    for (size_t i = 0; i < sizeof prof_cuda__attributes / sizeof *prof_cuda__attributes; i++) {
        int32_t value = 0;
        if ((g->driver.device_attribute)(&value, prof_cuda__attributes[i].attribute, id) == 0)
            memcpy((char *)d + prof_cuda__attributes[i].at, &value, sizeof value);
    }
}

/* Without cuInit: the program may still fork. */
PROF_CUDA__FN bool prof_cuda__find_driver(void **handle) {
    if (prof_cuda__.desc.symbol) return true;
    *handle = prof_cuda__open("libcuda.so.1");
    return *handle || PROF_CUDA__FAILS("there is no NVIDIA driver here (libcuda.so.1)");
}

PROF_CUDA__FN bool prof_cuda__load_driver(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    void *handle = NULL;
    const char *missing;
    int result;
    if (g->tried_driver) return g->has_driver;
    g->tried_driver = true;
    if (!prof_cuda__find_driver(&handle)) return false;
    missing = prof_cuda__resolve("cuda", handle, (char *)&g->driver, prof_cuda__driver_names,
                                 sizeof prof_cuda__driver_names);
    if (missing) return PROF_CUDA__FAILS("the NVIDIA driver is too old, it lacks %s", missing);
    result = (g->driver.init)(0);
    if (!result) result = (g->driver.device_count)(&g->device_count);
    if (result == 100 || (!result && g->device_count < 1))
        return PROF_CUDA__FAILS("the NVIDIA driver finds no GPU (is it visible? see "
                                "CUDA_VISIBLE_DEVICES)");
    if (result) return PROF_CUDA__FAILS("cuInit fails with CUDA error %u", (unsigned)result);
    g->device_count = PROF_CUDA__MIN(g->device_count, PROF_CUDA__DEVICES);
    for (int i = 0; i < g->device_count; i++) prof_cuda__ask_device(i);
    return g->has_driver = true;
}

/* Says what a CUPTI error means for the user. other: who is there already, or "". */
PROF_CUDA__FN bool prof_cuda__cupti_failed(const char *what, int result, const char *other) {
    const char *text = NULL;
    if (result == PROF_CUDA__OTHER_SUBSCRIBER)
        return PROF_CUDA__FAILS("another profiler is attached; end it (%s) (CUPTI error 39)",
                                *other && !strstr(other, "not provided") ? other
                                : "nsys, ncu, compute-sanitizer; torch.profiler stays attached");
    if (result == 35)
        return PROF_CUDA__FAILS("the driver lets only root profile; load the nvidia module with "
                                "NVreg_RestrictProfilingToAdminUsers=0, or run as root, in a "
                                "container with --cap-add=SYS_ADMIN (CUPTI error 35)");
    if (result == 40)
        return PROF_CUDA__FAILS("the hypervisor does not let this virtual GPU be profiled; allow "
                                "it there (CUPTI error 40)");
    if (prof_cuda__.cupti.result_text && (prof_cuda__.cupti.result_text)(result, &text) != 0)
        text = NULL;
    return PROF_CUDA__FAILS("%s (CUPTI error %u)%s%s", what, (unsigned)result,
                            text ? ": " : "", text ? text : "");
}

/* Counts a call of CUPTI's that fails, where the session goes on without what it is for. Not under
   the lock. */
PROF_CUDA__FN bool prof_cuda__works(const char *call, int result) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (!result) return true;
    prof_cuda__lock();
    if (!g->failed++)
        (void)prof_format_text(g->failed_first, sizeof g->failed_first,
                               "calls of CUPTI that failed, cupti%s (error %u) first", call,
                               (unsigned)result);
    prof_cuda__unlock();
    return false;
}

/* What a call does, by CUPTI's own name for it; numbers differ between versions. Dull are driver
   calls that neither launch, copy nor set, and a few runtime calls that are many. */
PROF_CUDA__FN uint8_t prof_cuda__does(bool runtime, const char *name) {
    static const char *const work[] = { "cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset" };
    static const char *const many[] = { "cudaGetLastError", "cudaSetDevice_", "cudaGetDevice_",
        "cudaEventCreate_", "cudaEventCreateWithFlags", "cudaEventDestroy", "__cuda" };
    const char *const *prefixes = runtime ? many : work;
    if (strncmp(name, "__cudaLaunchKernel", 18) == 0) return 0;
    for (int i = 0; i < (runtime ? 7 : 4); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return runtime ? PROF_CUDA__DULL : 0;
    if (runtime) return 0;
    return PROF_CUDA__DULL | (strstr(name, "StreamBeginCapture") ? PROF_CUDA__BEGINS : 0) |
           (strstr(name, "StreamEndCapture") ? PROF_CUDA__ENDS : 0);
}

/* Takes the CUPTI of a handle; false: it is none that can be used. */
PROF_CUDA__FN bool prof_cuda__take_cupti(void *handle) {
    struct prof_cuda__all *g = &prof_cuda__;
    const char *missing;
    int result;
    missing = prof_cuda__resolve("cupti", handle, (char *)&g->cupti, prof_cuda__cupti_names,
                                 sizeof prof_cuda__cupti_names);
    if (missing)
        return PROF_CUDA__FAILS("the libcupti found is none of CUDA 11 to 13, it lacks %s",
                                missing);
    result = (g->cupti.version)(&g->version);
    if (result) return prof_cuda__cupti_failed("cuptiGetVersion", result, "");
    if (g->version < 13)
        return PROF_CUDA__FAILS("the libcupti found is too old; take that of CUDA 11.0 or later");
    g->can_multi = g->version >= 130300 && g->cupti.subscribe_v2 &&
                   !prof_cuda__resolve("cupti", handle, (char *)&g->multi, prof_cuda__multi_names,
                                       sizeof prof_cuda__multi_names);
    for (uint32_t i = 0; i < 2 * PROF_CUDA__CBIDS; i++) {
        const char *name = NULL;
        bool runtime = i >= PROF_CUDA__CBIDS;
        uint32_t cbid = i % PROF_CUDA__CBIDS;
        result = (g->cupti.callback_name)(1 + runtime, cbid, &name);
        g->calls[runtime][cbid] = cbid && !result && name ? prof_cuda__does(runtime, name) : 0;
    }
    return true;
}

PROF_CUDA__FN void prof_cuda__subscriber(void *user, int domain, uint32_t cbid, const void *data);

/* Lets CUPTI go; where that fails, the next start and prof_cuda_shutdown try again. */
PROF_CUDA__FN void prof_cuda__leave(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (g->subscriber && prof_cuda__works("Unsubscribe", (g->cupti.unsubscribe)(g->subscriber)))
        g->subscriber = NULL;
}

/* Beside others, if they and CUPTI can, and all that is needed works; or alone. */
PROF_CUDA__FN int prof_cuda__subscribe_to(bool multi, char *other, size_t size) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__params params = { sizeof params, "prof", other, size, multi, { 0 } };
    uint64_t now;
    uint32_t os_ids = 1;
    size_t bytes = sizeof os_ids;
    int result;
    g->is_multi = multi;
    if (!multi) params.size = offsetof(prof_cuda__params, multiple);
    result = g->cupti.subscribe_v2
                 ? (g->cupti.subscribe_v2)(&g->subscriber, prof_cuda__subscriber, NULL, &params)
                 : (g->cupti.subscribe)(&g->subscriber, prof_cuda__subscriber, NULL);
    if (result) g->subscriber = NULL;
    if (result || !multi) return result;
    result = PROF_CUDA__ASK(time, &now);
    if (!result) result = PROF_CUDA__ASK(attribute, PROF_CUDA__THREAD_IDS, &bytes, &os_ids);
    if (result) prof_cuda__leave();
    return result;
}

/* Becomes a subscriber of the CUPTI that was taken: alone, or beside another profiler that allows
   it. That may have left by the next start, and CUDA may be there: then it is tried again. */
PROF_CUDA__FN bool prof_cuda__subscribe(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    char other[64] = "";
    int result;
    prof_cuda__leave();
    result = prof_cuda__subscribe_to(false, other, sizeof other);
    if (result == PROF_CUDA__OTHER_SUBSCRIBER && g->can_multi &&
        prof_cuda__subscribe_to(true, other, sizeof other) == 0) result = 0;
    g->is_multi = g->is_multi && !result;
    other[sizeof other - 1] = 0;
    g->taken = result == PROF_CUDA__OTHER_SUBSCRIBER;
    if (g->taken || result == PROF_CUDA__NOT_INITIALIZED) g->retry = true;
    if (result) return prof_cuda__cupti_failed("cuptiSubscribe", result, other);
    return true;
}

/* Tries a CUPTI (NULL: desc.symbol's), unless one is found that works, or that another has. One of
   the driver's past or future may refuse: then the next is tried. */
PROF_CUDA__FN void prof_cuda__try_cupti(const char *path) {
    struct prof_cuda__all *g = &prof_cuda__;
    void *handle = g->has_cupti || !path ? NULL : prof_cuda__open(path);
    char first[sizeof g->why];
    bool subscribed;
    if (g->has_cupti || (path && !handle)) return;
    memcpy(first, g->why, sizeof first);
    subscribed = prof_cuda__take_cupti(handle) && prof_cuda__subscribe();
    g->has_cupti = subscribed || g->taken;
    if (subscribed) {
        g->why[0] = 0;
        g->retry = false;
    } else if (first[0]) memcpy(g->why, first, sizeof first);   /* the best one's */
}

#if defined(_WIN32)
PROF_CUDA__FN void prof_cuda__try_cuptis(void) {}
#else
/* The copies that lie where toolkits, conda and pip keep them below a folder, beside pip's
   libcudart, too. */
PROF_CUDA__FN void prof_cuda__try_folder(const char *folder, size_t length, const char *up,
                                         const char *tail) {
    static const char *const folders[] = { "", "/../../cuda_cupti/lib", "/lib64",
        "/extras/CUPTI/lib64", "/lib", "/lib/python3*/site-packages/nvidia/c*/lib",
        "/lib/python3*/dist-packages/nvidia/c*/lib" };
    char pattern[600];
    glob_t found;
    if (!length || length > 490) return;
    for (size_t k = 0; k < 7 && !prof_cuda__.has_cupti; k++) {
        (void)prof_format_text(pattern, sizeof pattern, "%.*s%s%s/libcupti.so%s", (int)length,
                               folder, up, folders[k], tail);
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t i = found.gl_pathc; i--;) prof_cuda__try_cupti(found.gl_pathv[i]);
        globfree(&found);
    }
}

/* Where the system's loader does not look: beside a library of CUDA that the process has loaded,
   where the environment says, beside the pythons on PATH. */
PROF_CUDA__FN void prof_cuda__try_folders(const char *tail) {
    const char *const roots[] = { prof_getenv("CUDA_HOME"), prof_getenv("CUDA_PATH"),
        prof_getenv("CONDA_PREFIX"), prof_getenv("VIRTUAL_ENV"), "/usr/local/cuda" };
    const char *beside = prof_cuda__loaded("/libcudart"), *path = prof_getenv("PATH");
    if (!beside) beside = prof_cuda__loaded("/libcublas");
    if (beside) prof_cuda__try_folder(beside, (size_t)(strrchr(beside, '/') - beside), "", tail);
    for (size_t i = 0; i < 5; i++)
        if (roots[i]) prof_cuda__try_folder(roots[i], strlen(roots[i]), "", tail);
    for (size_t n; path && (n = strcspn(path, ":"), *path); path += n + (path[n] == ':'))
        prof_cuda__try_folder(path, n, "/..", tail);
}

/* Of one version of CUDA; each CUDA 11 has a name of its own. */
PROF_CUDA__FN void prof_cuda__try_version(int major) {
    char name[32];
    for (int minor = major == 11 ? 8 : -1; minor >= -1; minor--) {
        (void)prof_format_text(name, sizeof name,
                               minor < 0 ? "libcupti.so.%d" : "libcupti.so.%d.%d", major, minor);
        prof_cuda__try_cupti(name);
    }
    (void)prof_format_text(name, sizeof name, ".%d*", major);
    prof_cuda__try_folders(name);
}

/* A copy that is loaded already comes first: it is the one that sees the program's kernels. Then
   that of the driver's CUDA: older ones work with it too, newer ones may not. */
PROF_CUDA__FN void prof_cuda__try_cuptis(void) {
    const char *path = prof_getenv("PROF_CUDA_CUPTI");
    int version = 0, own;
    if ((prof_cuda__.driver.driver_version)(&version) != 0) version = 0;
    own = version >= 11000 && version < 13000 ? version / 1000 : 13;
    if (path && *path) {
        prof_cuda__try_cupti(path);
        return;
    }
    path = prof_cuda__loaded("/libcupti.so");
    if (path) prof_cuda__try_cupti(path);
    for (int major = own; major >= 11; major--) prof_cuda__try_version(major);
    for (int major = own + 1; major <= 13; major++) prof_cuda__try_version(major);
    prof_cuda__try_cupti("libcupti.so");
    prof_cuda__try_folders("");
}
#endif

/* Finds a CUPTI and subscribes; later only subscribes. */
PROF_CUDA__FN bool prof_cuda__load_cupti(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (g->has_cupti) return prof_cuda__subscribe();
    if (g->desc.symbol) prof_cuda__try_cupti(NULL);
    else prof_cuda__try_cuptis();
    if (!g->has_cupti && !g->why[0])
        return PROF_CUDA__FAILS("libcupti is not found; install it with CUDA's toolkit, or set "
                                "PROF_CUDA_CUPTI to its path, as PyTorch's "
                                ".../site-packages/nvidia/cuda_cupti/lib/libcupti.so.12");
    return g->has_cupti && !g->taken;
}

/* ---- @DECODE: CUPTI's buffers to records that are kept ---- */

/* Copies a text, cut as all names are; NULL: no room. */
PROF_CUDA__FN const char *prof_cuda__copy_text(const char *text) {
    struct prof_cuda__all *g = &prof_cuda__;
    size_t room = PROF_CUDA__MIN((size_t)(PROF_CUDA__TEXT - g->text_used), (size_t)4096);
    char *to = g->tables->text + g->text_used;
    size_t n = prof_format_text(to, room, "%s", text);
    if (n + 1 >= room && room < 4096) return NULL;
    g->text_used += (uint32_t)n + 1;
    return to;
}

/* By the C++ library's own function where there is one, whose result is malloc'ed. NULL: no name
   of C++, or no room. It is looked up before a session: a callback of CUPTI that loads a library
   can wait for a thread that is loading one, and that waits for the callback. */
#if defined(_WIN32)
#  define prof_cuda__find_demangle() ((void)0)
#  define prof_cuda__demangle(name) ((void)(name), (const char *)NULL)
#else
static char *(*prof_cuda__cxa_demangle)(const char *, char *, size_t *, int *);
PROF_CUDA__FN void prof_cuda__find_demangle(void) {
    void *handle = dlopen(NULL, RTLD_NOW), *f = handle ? dlsym(handle, "__cxa_demangle") : NULL;
    if (!f && (handle = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL)) != NULL)
        f = dlsym(handle, "__cxa_demangle");
    memcpy(&prof_cuda__cxa_demangle, &f, sizeof f);
}
PROF_CUDA__FN const char *prof_cuda__demangle(const char *name) {
    bool is_cxx = prof_cuda__cxa_demangle && strncmp(name, "_Z", 2) == 0;
    char *text = is_cxx ? prof_cuda__cxa_demangle(name, NULL, NULL, NULL) : NULL;
    const char *plain = text ? prof_cuda__copy_text(text) : NULL;
    free(text);
    return plain;
}
#endif

/* What a kept record has for its name, which lives as long as the block; NULL: there is no name, or
   no room. It is found by its address, but its bytes must be the same: a library that is loaded
   again may have another name there. */
PROF_CUDA__FN const char *prof_cuda__name(const char *name) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t i = (uint32_t)((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u >> 32);
    prof_cuda__named *n;
    if (!name) return NULL;
    for (i %= PROF_CUDA__NAMES; (n = g->tables->names + i)->source; i = (i + 1) % PROF_CUDA__NAMES)
        if (n->source == name && strncmp(n->text, name, 4095) == 0) return n->plain;
    n->text = g->name_count < PROF_CUDA__NAMES / 2 ? prof_cuda__copy_text(name) : NULL;
    if (!n->text) {
        g->stats.names_lost++;
        return NULL;
    }
    n->source = name;
    n->plain = prof_cuda__demangle(n->text);
    if (!n->plain) n->plain = n->text;
    g->name_count++;
    return n->plain;
}

PROF_CUDA__FN uint64_t prof_cuda__u64(const void *record, uint32_t at) {
    uint64_t n = 0;
    if (at) memcpy(&n, (const char *)record + at, sizeof n);
    return n;
}

/* Keeps a record; NULL: there is no window yet, or no room. All have room for what is made of them
   later: slots of an index. */
PROF_CUDA__FN char *prof_cuda__keep(const void *record, const struct prof_cuda__kind *k) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t kind = k->kind | (uint32_t)(k - prof_cuda__kinds) << 8;
    size_t size = PROF_CUDA__ROUND_UP(k->size, 8u);
    char *to = g->low;
    if (g->window_start == UINT64_MAX) {
        g->stats.outside++;
        return NULL;
    }
    if (g->closed || (size_t)(g->end - to) < size + (g->indexed + 4u) * sizeof(uint64_t)) {
        g->stats.lost_full++;
        return NULL;
    }
    memcpy(to, record, k->size);
    if (k->what & PROF_CUDA__WORK && prof_cuda__u64(to, k->start) && !prof_cuda__u64(to, k->end))
        kind |= PROF_CUDA__RUNNING;
    memcpy(to, &kind, sizeof kind);
    g->low += size;
    g->indexed++;
    g->kept[k->kind]++;
    return to;
}

/* The slot of a graph's node: its id is 0 where it is not known. */
PROF_CUDA__FN prof_cuda__node *prof_cuda__node_of(uint64_t id) {
    prof_cuda__node *nodes = prof_cuda__.tables->nodes;
    uint32_t i = (uint32_t)(id * 0x9e3779b97f4a7c15u >> 32) % PROF_CUDA__NODES;
    while (nodes[i].id && nodes[i].id != id) i = (i + 1) % PROF_CUDA__NODES;
    return nodes + i;
}

PROF_CUDA__FN bool prof_cuda__time(void *user, uint64_t *ns) {
    (void)user;
    return prof_cuda__works("GetTimestamp", PROF_CUDA__ASK(time, ns));
}

/* A node of a graph is made in a zone, or cloned when the graph is made ready to be launched. */
PROF_CUDA__FN void prof_cuda__node_told(uint32_t cbid, const prof_cuda__graph *graph) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_session session;
    prof_cuda__node node, *slot;
    uint64_t id = 0, original = 0, time = 0;
    if (!graph || !prof_cuda__works("GetGraphNodeId", (g->cupti.node_id)(graph->node, &id)) || !id)
        return;
    if (cbid == PROF_CUDA__NODE_CLONED &&
        !prof_cuda__works("GetGraphNodeId", (g->cupti.node_id)(graph->original_node, &original)))
        return;
    if (!prof_cuda__time(NULL, &time)) return;
    prof_session_info(&session);
    prof_cuda__lock();
    node = *prof_cuda__node_of(original ? original : id);
    if (!original && session.zone) {
        const char *slash = session.zone->file ? strrchr(session.zone->file, '/') : NULL;
        node.name = prof_cuda__name(session.zone->name);
        node.file = prof_cuda__name(slash ? slash + 1 : session.zone->file);
        node.line = session.zone->line;
    } else if (!original) node.name = NULL;
    slot = prof_cuda__node_of(id);
    if (!node.name || (!slot->id && g->node_count == PROF_CUDA__NODES / 2)) {
        g->stats.names_lost += node.name != NULL;
    } else {
        node.kind = PROF_CUDA__NODE;
        node.id = id;
        node.time = time;
        node.thread = prof_thread_id();
        g->node_count += !slot->id;
        *slot = node;
        (void)prof_cuda__keep(&node, prof_cuda__kind_of(PROF_CUDA__NODE));
    }
    prof_cuda__unlock();
}

/* CUPTI's callback: a node of a graph, or a call by which a stream's capture begins or ends. */
PROF_CUDA__FN void prof_cuda__subscriber(void *user, int domain, uint32_t cbid, const void *data) {
    struct prof_cuda__all *g = &prof_cuda__;
    const prof_cuda__called *call = (const prof_cuda__called *)data;
    (void)user;
    if (!PROF_CUDA__LOAD(g->enabled)) return;   /* CUPTI may not have let go */
    if (data && domain == PROF_CUDA__RESOURCE) {
        prof_cuda__node_told(cbid, ((const prof_cuda__resource *)data)->graph);
    } else if (data && call->ends) {
        bool begins = g->calls[0][cbid] & PROF_CUDA__BEGINS;
        int result = *call->result;
        bool over = result == PROF_CUDA__INVALIDATED || result == PROF_CUDA__UNJOINED;
        prof_cuda__lock();               /* an end that fails otherwise ends none */
        if (!result && begins) PROF_CUDA__STORE(g->capturing, g->capturing + 1);
        if ((!result || over) && !begins && g->capturing)
            PROF_CUDA__STORE(g->capturing, g->capturing - 1);
        prof_cuda__unlock();
    }
}

/* Fills in what CUPTI has elsewhere, behind or beside its record r.
   A copy's graph has its id behind the rest, and only since CUDA 12 as Kineto shows it: it takes
   the offset of `reserved`, which is before graph_node in all three kinds. */
PROF_CUDA__FN void prof_cuda__complete(char *kept, const char *r, const struct prof_cuda__kind *k,
                                       size_t room) {
    prof_cuda__kernel *kernel = (prof_cuda__kernel *)(void *)kept;
    prof_cuda__marker *m = (prof_cuda__marker *)(void *)kept;
    uint32_t version = prof_cuda__.version;
    uint64_t graph = 0;
    if (k->kind == PROF_CUDA__KERNEL) {
        kernel->name = prof_cuda__name(kernel->name);
        if (version >= PROF_CUDA__PRIORITY_FROM && room >= PROF_CUDA__PRIORITY_AT + sizeof(int32_t))
            memcpy(&kernel->priority, r + PROF_CUDA__PRIORITY_AT, sizeof kernel->priority);
        if (kernel->graph && prof_cuda__sessions > 1 && version >= 130000 && version < 130101)
            prof_cuda__.stats.graph_doubts++;
    } else if (k->kind == PROF_CUDA__MARKER) {   /* flags: 1 a mark, 2 a begin, 4 an end */
        m->kind |= m->flags & 4 ? PROF_CUDA__END : m->flags & 2 ? PROF_CUDA__RUNNING : 0;
        m->name = prof_cuda__name(m->name);
    } else if (k->what & PROF_CUDA__WORK) {
        if (version >= 19 && room >= k->size + sizeof(uint32_t))
            memcpy(&graph, r + k->size, sizeof(uint32_t));
        memcpy(kept + k->size - 2 * sizeof graph, &graph, sizeof graph);
    }
}

/* Keeps a record, or counts it. room: bytes from it to its buffer's end. */
PROF_CUDA__FN void prof_cuda__take(const char *r, const struct prof_cuda__kind *k, size_t room) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t cbid = ((const prof_cuda__call *)(const void *)r)->cbid;   /* of a call */
    void *data;
    char *kept;
    if (!k || k->kind == PROF_CUDA__NODE) {
        g->stats.unknown++;
        return;
    }
    if (k->what & PROF_CUDA__CALL
            ? cbid < PROF_CUDA__CBIDS &&
                  g->calls[k->kind == PROF_CUDA__RUNTIME_CALL][cbid] & PROF_CUDA__DULL
            : k->kind == PROF_CUDA__EXTERNAL && cbid != PROF_CUDA__OUR_IDS) {
        g->stats.muted++;
        return;
    }
    if (k->kind == PROF_CUDA__OVERHEAD_RECORD && g->version >= PROF_CUDA__DATA_FROM &&
        room >= PROF_CUDA__DATA_AT + sizeof data) {
        memcpy(&data, r + PROF_CUDA__DATA_AT, sizeof data);
        free(data);                      /* CUPTI leaves that to us */
    }
    kept = prof_cuda__keep(r, k);
    if (kept) prof_cuda__complete(kept, r, k, room);
}

/* Takes a buffer's records, as far as they lie in it as a whole. Under the lock. lost: the buffer
   is scratch; what is in it is only counted. */
PROF_CUDA__FN void prof_cuda__decode(uint8_t *buffer, size_t valid, bool lost) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__any *cursor = NULL;
    const uint8_t *at = buffer, *end = buffer + valid;
    while (valid >= 8) {
        int result = PROF_CUDA__ASK(next, buffer, valid, &cursor);
        const uint8_t *r = (const uint8_t *)cursor;
        bool whole = !result && r >= at && r <= end - 8 && ((uintptr_t)r & 7) == 0;
        const struct prof_cuda__kind *k = whole ? prof_cuda__kind_of(cursor->kind) : NULL;
        bool over = result == PROF_CUDA__END_OF_BUFFER && cursor && end - at < 1024;
        if (over) return;
        if (whole) at = r + (k ? k->size : 8);
        if (!whole || at > end) {
            g->stats.corrupt++;
            return;
        }
        if (lost) g->stats.lost_overwritten++;
        else prof_cuda__take((const char *)r, k, (size_t)(end - r));
    }
}

/* CUPTI wants a buffer. Without one it drops records and counts them; versions before API 27 crash
   instead: they get scratch, whose records count as lost. All get it after prof_cuda_shutdown. */
PROF_CUDA__FN void prof_cuda__requested(uint8_t **buffer, size_t *size, size_t *most) {
    struct prof_cuda__all *g = &prof_cuda__;
    bool *unused;
    *buffer = NULL;
    *size = *most = 0;
    prof_cuda__watch_thread();
    prof_cuda__lock();
    unused = (bool *)memchr(g->is_out, false, g->buffer_count);
    if (unused) {
        *unused = true;
        *buffer = g->pool + (size_t)(unused - g->is_out) * g->buffer_size;
        *size = g->buffer_size;
        PROF_CUDA__STORE(g->out, g->out + 1);
        g->stats.buffers_most = PROF_CUDA__MAX(g->stats.buffers_most, g->out);
    } else {
        g->stats.no_buffer++;
        if (g->version < 27) {
            *buffer = (uint8_t *)prof_cuda__scratch;
            *size = sizeof prof_cuda__scratch;
        }
    }
    prof_cuda__unlock();
}

PROF_CUDA__FN void prof_cuda__completed(void *context, uint32_t stream, uint8_t *buffer,
                                        size_t size, size_t valid) {
    struct prof_cuda__all *g = &prof_cuda__;
    size_t at = (size_t)((uintptr_t)buffer - (uintptr_t)g->pool);
    size_t i = g->buffer_size ? at / g->buffer_size : 0;
    (void)context, (void)stream, (void)size;
    prof_cuda__lock();
    if (i < g->buffer_count && at % g->buffer_size == 0 && g->is_out[i]) {
        valid = PROF_CUDA__MIN(valid, g->buffer_size);
        prof_cuda__decode(buffer, valid, false);
        if (g->zeroed) memset(buffer, 0, valid);   /* else CUPTI does, where work is launched */
        g->is_out[i] = false;
        PROF_CUDA__STORE(g->out, g->out - 1);
    } else if (buffer == (uint8_t *)prof_cuda__scratch) {
        valid = PROF_CUDA__MIN(valid, sizeof prof_cuda__scratch);
        prof_cuda__decode(buffer, g->cupti.next ? valid : 0, true);   /* NULL: shut down */
    } else if ((size_t)((uintptr_t)buffer - (uintptr_t)prof_cuda__memory.bytes) >=
               prof_cuda__withheld) {
        g->stats.foreign++;
    }
    prof_cuda__unlock();
}

PROF_CUDA__FN void prof_cuda__requested_multi(uint8_t **buffer, size_t *size, size_t *most,
                                              const void *info) {
    (void)info;
    prof_cuda__requested(buffer, size, most);
}
PROF_CUDA__FN void prof_cuda__completed_multi(uint8_t *buffer, size_t size, size_t valid,
                                              const void *info) {
    (void)info;
    prof_cuda__completed(NULL, 0, buffer, size, valid);
}

/* ---- @STATES: prepare, start, flush, stop ---- */

/* A clock that jumps ahead is another one, which another profiler set: no ticks are that short. */
PROF_CUDA__FN void prof_cuda__pair_now(void) {
    const prof_device device = { PROF_DEVICE_CUDA, 0 };
    struct prof_cuda__all *g = &prof_cuda__;
    prof_clock_pair pair = prof_pair_clocks(prof_cuda__time, NULL), last;
    if (!pair.device_ns) return;         /* CUPTI could not tell */
    prof_cuda__lock();
    last = g->pair;
    if (last.device_ns && pair.device_ns > last.device_ns + 1000000000 &&
        (pair.device_ns - last.device_ns) / 16 > (uint64_t)(pair.session_ns - last.session_ns)) {
    } else if (prof_device_clock(device, pair.session_ns, pair.device_ns) != PROF_OK) {
        g->stats.clock_back += pair.device_ns < last.device_ns;
    } else {
        g->pair.device_ns = pair.device_ns;
        PROF_CUDA__STORE(g->pair.session_ns, pair.session_ns);
    }
    prof_cuda__unlock();
}

/* Turns a kind of records on or off. */
PROF_CUDA__FN int prof_cuda__switch(uint32_t kind, bool on) {
    const struct prof_cuda__all *g = &prof_cuda__;
    if (g->is_multi && on) return (g->multi.enable)(g->subscriber, kind, NULL);
    if (g->is_multi) return (g->multi.disable)(g->subscriber, kind, NULL);
    return on ? (g->cupti.enable)(kind) : (g->cupti.disable)(kind);
}

PROF_CUDA__FN void prof_cuda__ask_callback(int domain, uint32_t cbid) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (g->cupti.callback)
        (void)prof_cuda__works("EnableCallback",
                               (g->cupti.callback)(1, g->subscriber, domain, cbid));
}

/* Turns all that is asked for on or off; dull calls stay off where CUPTI can do that for one call,
   else the decoder mutes them. CUPTI's error where there is no point without what failed. */
PROF_CUDA__FN int prof_cuda__switch_all(bool on) {
    struct prof_cuda__all *g = &prof_cuda__;
    int failed = 0;
    for (int i = 0; i < PROF_CUDA__KIND_COUNT; i++) {
        const struct prof_cuda__kind *k = prof_cuda__kinds + i;
        int result = g->desc.records & k->records ? prof_cuda__switch(k->kind, on) : 0;
        (void)prof_cuda__works(on ? "ActivityEnable" : "ActivityDisable", result);
        if (k->needed && !failed) failed = result;
    }
    for (uint32_t cbid = 0; on && cbid < PROF_CUDA__CBIDS; cbid++) {
        if (g->calls[1][cbid] & PROF_CUDA__DULL && g->cupti.runtime_call)
            (void)PROF_CUDA__ASK(runtime_call, cbid, 0);
        if (g->calls[0][cbid] & PROF_CUDA__DULL && g->cupti.driver_call)
            (void)PROF_CUDA__ASK(driver_call, cbid, 0);
        if (g->calls[0][cbid] & (PROF_CUDA__BEGINS | PROF_CUDA__ENDS))
            prof_cuda__ask_callback(PROF_CUDA__DRIVER_CALLS, cbid);
    }
    PROF_CUDA__STORE(g->enabled, on && !failed);
    return failed;
}

/* Makes CUPTI record. What costs is done here, in the session's warm-up. */
PROF_CUDA__FN bool prof_cuda__enable(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint8_t per_thread = !g->desc.shared_buffers, yes = 1;
    size_t size = 1;
    int result;
    if (g->enabled) return true;
    g->retry = false;
    g->capturing = 0;
    g->failed = 0;
    if (!prof_cuda__load_driver()) return false;
    g->why[0] = 0;
    if (!prof_cuda__load_cupti()) return false;
    prof_cuda__find_demangle();
    if (!g->is_multi)                    /* the OS's thread ids */
        (void)prof_cuda__works("SetThreadIdType", (g->cupti.thread_ids)(1));
    (void)PROF_CUDA__ASK(attribute, PROF_CUDA__PER_THREAD, &size, &per_thread);
    g->zeroed = g->version >= 27 &&   /* before, there may be scratch */
                PROF_CUDA__ASK(attribute, PROF_CUDA__ZEROED, &size, &yes) == 0;
    if (g->desc.hardware_trace && !g->hardware)
        g->hardware = g->is_multi ? PROF_CUDA__ASK(attribute, PROF_CUDA__HES, &size, &yes) == 0
                                  : g->cupti.hardware_trace && !(g->cupti.hardware_trace)(1);
    if (g->cupti.node_id) {
        prof_cuda__ask_callback(PROF_CUDA__RESOURCE, PROF_CUDA__NODE_MADE);
        prof_cuda__ask_callback(PROF_CUDA__RESOURCE, PROF_CUDA__NODE_CLONED);
    }
    result = g->is_multi ? (g->multi.callbacks)(g->subscriber, prof_cuda__requested_multi,
                                                prof_cuda__completed_multi)
                         : (g->cupti.callbacks)(prof_cuda__requested, prof_cuda__completed);
    if (result) {
        prof_cuda__cupti_failed("cuptiActivityRegisterCallbacks", result, "");
    } else {
        result = prof_cuda__switch_all(true);
        if (!result) return true;
        prof_cuda__cupti_failed("cuptiActivityEnable", result, "");
        (void)prof_cuda__switch_all(false);
    }
    prof_cuda__leave();
    return false;
}

PROF_CUDA__FN prof_result prof_cuda__prepare(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    (void)user;
    g->no_nvtx = NULL;
    if (g->state == PROF_CUDA_READY && !prof_cuda__enable() && !g->retry)
        g->state = PROF_CUDA_UNAVAILABLE;
    return g->enabled ? PROF_OK : PROF_ERROR_UNSUPPORTED;
}

/* Does CUPTI have most of the buffers? */
PROF_CUDA__FN bool prof_cuda__runs_low(void) {
    return PROF_CUDA__LOAD(prof_cuda__.out) > prof_cuda__.buffer_count / 2;
}

PROF_CUDA__FN void prof_cuda__flush_now(uint32_t forced) {
    (void)prof_cuda__works("ActivityFlushAll", (prof_cuda__.cupti.flush)(forced));
}

/* Records that CUPTI dropped since it was last asked. */
PROF_CUDA__FN size_t prof_cuda__dropped(void) {
    size_t n = 0;
    return prof_cuda__works("ActivityGetNumDroppedRecords", PROF_CUDA__ASK(dropped, NULL, 0, &n))
               ? n : 0;
}

/* Forgets all records; nothing is kept until window_start tells when the window began. */
PROF_CUDA__FN void prof_cuda__clear(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    g->low = g->base;
    g->judged = g->base;
    g->indexed = 0;
    g->closed = false;
    g->window_start = UINT64_MAX;
    g->pair.device_ns = 0;
    memset(g->kept, 0, sizeof g->kept);
}

PROF_CUDA__FN prof_result prof_cuda__start(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_result result = prof_cuda__prepare(user);
    uint64_t now = 0;
    if (result != PROF_OK) return result;
    prof_cuda__lock();
    memset(&g->stats, 0, sizeof g->stats);
    g->stats.buffers_most = g->out;
    prof_cuda__clear();
    prof_cuda__unlock();
    if (prof_cuda__runs_low()) prof_cuda__flush_now(0);   /* the warm-up's */
    (void)prof_cuda__dropped();          /* those are not ours */
    prof_cuda__pair_now();
    (void)prof_cuda__time(NULL, &now);
    prof_cuda__lock();
    g->window_start = now;
    prof_cuda__sessions++;
    prof_cuda__unlock();
    PROF_CUDA__STORE(g->state, PROF_CUDA_ACTIVE);
    return PROF_OK;
}

PROF_API PROF_CUDA__QUIET void prof_cuda_flush(void) {
    if (PROF_CUDA__LOAD(prof_cuda__.state) != PROF_CUDA_ACTIVE) return;
    prof_cuda__flush_now(0);
    prof_cuda__pair_now();
}

/* A thread that launched ends: the buffer that it filled comes back when CUPTI is asked. */
PROF_CUDA__FN void prof_cuda__thread_ends(void *user) {
    (void)user;
    if (prof_cuda__runs_low()) prof_cuda_flush();
}

/* Buffers, and where the clocks stand: a pair of readings each second follows their drift. */
PROF_CUDA__FN void prof_cuda__flush(void *user) {
    prof_cuda__thread_ends(user);
    if (PROF_CUDA__LOAD(prof_cuda__.pair.session_ns) < prof_now() - 1000000000)
        prof_cuda__pair_now();
}

/* Waits for the GPUs that this process uses: the context that is current here, and the primary
   ones that are active. */
PROF_CUDA__FN void prof_cuda__synchronize(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    void *before = NULL, *context;
    unsigned flags;
    int active;
    if ((g->driver.context_now)(&before) != 0) return;
    if (before) (void)(g->driver.synchronize)();
    for (int i = 0; i < g->device_count; i++) {
        active = 0;
        if ((g->driver.primary_state)(i, &flags, &active) != 0 || !active) continue;
        if ((g->driver.primary_retain)(&context, i) != 0) continue;
        if (context != before && (g->driver.context_set)(context) == 0)
            (void)(g->driver.synchronize)();
        (void)(g->driver.primary_release)(i);
    }
    (void)(g->driver.context_set)(before);
}

/* A forced flush hands every buffer over before it returns, but for those that CUPTI's own thread
   is about to. */
PROF_CUDA__FN void prof_cuda__await_buffers(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    for (int ms = 0; ms < 200 && PROF_CUDA__LOAD(g->out); ms++) prof_cuda__sleep();
    prof_cuda__lock();
    g->stats.buffers_missing = g->out;
    prof_cuda__unlock();
}

PROF_CUDA__FN void prof_cuda__judge(void);
PROF_CUDA__FN void prof_cuda__hand_over(bool goes_on);
PROF_CUDA__FN prof_result prof_cuda__stop(void *user) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_session session;
    size_t dropped;
    (void)user;
    if (g->state != PROF_CUDA_ACTIVE) return PROF_OK;
    PROF_CUDA__STORE(g->state, PROF_CUDA_DRAINING);
    if (!g->desc.no_sync && !PROF_CUDA__LOAD(g->capturing)) prof_cuda__synchronize();
    prof_cuda__pair_now();
    (void)prof_cuda__switch_all(false);
    prof_cuda__flush_now(0);
    prof_cuda__flush_now(1);
    prof_cuda__await_buffers();
    dropped = prof_cuda__dropped();
    prof_cuda__leave();
    prof_cuda__lock();
    g->stats.lost_dropped += dropped;
    prof_cuda__unlock();
    prof_session_info(&session);
    prof_cuda__hand_over(session.desc.acc_events || !(session.enabled & PROF_ACTIVITY_CUDA));
    PROF_CUDA__STORE(g->state, PROF_CUDA_READY);
    return PROF_OK;
}

PROF_API PROF_CUDA__QUIET const char *prof_cuda_status(void) {
    if (prof_cuda__.no_nvtx) return prof_cuda__.no_nvtx;
    return prof_cuda__.why[0] ? prof_cuda__.why : NULL;
}

PROF_API PROF_CUDA__QUIET prof_cuda_stats prof_cuda_get_stats(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    const uint64_t *kept = g->kept;
    prof_cuda_stats out;
    prof_cuda__lock();
    if (PROF_CUDA__LOAD(g->state) == PROF_CUDA_READY) prof_cuda__judge();
    out = g->stats;
    out.state = PROF_CUDA__LOAD(g->state);
    out.cupti_version = g->version;
    out.buffers = (uint32_t)g->buffer_count;
    out.kernels = kept[PROF_CUDA__KERNEL];
    out.copies = kept[PROF_CUDA__MEMCPY] + kept[PROF_CUDA__MEMCPY_PEER] + kept[PROF_CUDA__MEMSET];
    out.calls = kept[PROF_CUDA__RUNTIME_CALL] + kept[PROF_CUDA__DRIVER_CALL];
    for (int i = 0; i < PROF_CUDA__KINDS; i++) out.other += kept[i];
    out.bytes_total = (size_t)(g->end - g->base);
    out.bytes_used = (size_t)(g->low - g->base) + g->indexed * sizeof(uint64_t);
    out.captured = kept[PROF_CUDA__NODE];
    out.failed_calls = g->failed;
    prof_cuda__unlock();
    out.other -= out.kernels + out.copies + out.calls + out.captured;
    out.lost = out.lost_dropped + out.lost_full + out.lost_overwritten;
    return out;
}

PROF_CUDA__FN bool prof_cuda__wants_ids(void) {
    return PROF_CUDA__LOAD(prof_cuda__.state) == PROF_CUDA_ACTIVE &&
           prof_cuda__.desc.records & PROF_CUDA_EXTERNAL_IDS;
}

PROF_API PROF_CUDA__QUIET void prof_cuda_push_id(uint64_t id) {
    if (prof_cuda__wants_ids())
        (void)prof_cuda__works("ActivityPushExternalCorrelationId",
                               PROF_CUDA__ASK(push_id, PROF_CUDA__OUR_IDS, id));
}

PROF_API PROF_CUDA__QUIET void prof_cuda_pop_id(void) {
    uint64_t id;
    int result = prof_cuda__wants_ids() ? PROF_CUDA__ASK(pop_id, PROF_CUDA__OUR_IDS, &id) : 0;
    if (result != PROF_CUDA__NO_ID)      /* it was pushed before the session */
        (void)prof_cuda__works("ActivityPopExternalCorrelationId", result);
}

PROF_API PROF_CUDA__QUIET bool prof_cuda_get_device(int32_t id, prof_cuda_device *out) {
    struct prof_cuda__all *g = &prof_cuda__;
    memset(out, 0, sizeof *out);
    if (g->state == PROF_CUDA_OFF || g->state == PROF_CUDA_UNAVAILABLE) return false;
    if (!prof_cuda__load_driver() || id < 0 || id >= g->device_count) return false;
    *out = g->devices[id];
    return true;
}

/* ---- @EVENTS: what was kept, as events of the session ---- */

/* ---- records by what others know of them ---- */

PROF_CUDA__FN uint32_t prof_cuda__kind_at(const void *record) {
    return ((const prof_cuda__any *)record)->kind & ~0xff00u;
}

PROF_CUDA__FN const struct prof_cuda__kind *prof_cuda__row(const void *record) {
    return prof_cuda__kinds + (((const prof_cuda__any *)record)->kind >> 8 & 0xff);
}

PROF_CUDA__FN uint32_t prof_cuda__correlation(const void *record) {
    uint32_t n = 0, at = prof_cuda__row(record)->correlation;
    if (at) memcpy(&n, (const char *)record + at, sizeof n);
    return n;
}

/* Bytes to the next record; a round of all: from base, to low. */
PROF_CUDA__FN size_t prof_cuda__size(const void *record) {
    return PROF_CUDA__ROUND_UP(prof_cuda__row(record)->size, 8u);
}

/* What a record is found as: a call, an id, an end, work of a stream and a context. */
PROF_CUDA__FN uint32_t prof_cuda__marks_of(const void *record) {
    uint32_t kind = prof_cuda__kind_at(record), what = prof_cuda__row(record)->what;
    if (what & PROF_CUDA__WORK) return PROF_CUDA__IN_STREAM | PROF_CUDA__IN_CONTEXT;
    if (kind & (PROF_CUDA__LEFT_OUT | PROF_CUDA__END)) return kind & PROF_CUDA__END;
    return what & (PROF_CUDA__CALL | PROF_CUDA__ID);
}

/* Where work ran: device, context, stream. */
PROF_CUDA__FN const uint32_t *prof_cuda__where(const void *work) {
    return prof_cuda__row(work)->kind == PROF_CUDA__KERNEL
               ? &((const prof_cuda__kernel *)work)->device
               : &((const prof_cuda__copy *)work)->device;
}

/* What a record is found by: its correlation, its context and stream, a marker its id. */
PROF_CUDA__FN uint64_t prof_cuda__key_of(uint32_t mark, const void *record) {
    const uint32_t *where;
    if (mark == PROF_CUDA__END) return ((const prof_cuda__marker *)record)->id;
    if (!(mark & (PROF_CUDA__IN_STREAM | PROF_CUDA__IN_CONTEXT)))
        return prof_cuda__correlation(record);
    where = prof_cuda__where(record);
    return (uint64_t)where[1] << 32 | (mark == PROF_CUDA__IN_STREAM ? where[2] : 0);
}

/* The slot of a key: a record's offset / 8, + 1; 0: there is none. */
PROF_CUDA__FN uint32_t *prof_cuda__slot(uint32_t mark, uint64_t key) {
    const struct prof_cuda__all *g = &prof_cuda__;
    uint64_t hash = (key ^ (uint64_t)mark << 56 ^ mark) * 0x9e3779b97f4a7c15u >> 32;
    uint32_t i = (uint32_t)(hash * g->slots >> 32);
    for (; g->index[i]; i = i + 1 == g->slots ? 0 : i + 1) {
        const char *r = g->base + (g->index[i] - 1) * (size_t)8;
        if (prof_cuda__marks_of(r) & mark && prof_cuda__key_of(mark, r) == key) break;
    }
    return g->index + i;
}

/* The record with this mark and key; NULL: none. */
PROF_CUDA__FN const void *prof_cuda__find_record(uint32_t mark, uint64_t key) {
    uint32_t at = *prof_cuda__slot(mark, key);
    return at ? prof_cuda__.base + (at - 1) * (size_t)8 : NULL;
}

/* The one with r's correlation. */
PROF_CUDA__FN const void *prof_cuda__match(uint32_t mark, const void *r) {
    uint32_t correlation = prof_cuda__correlation(r);
    return correlation ? prof_cuda__find_record(mark, correlation) : NULL;
}

/* Makes the index behind the records: two slots for each (CUDA events' records use theirs in
   prof_cuda__hand_over), and one that stays empty. An outer call stands for the one in it. */
PROF_CUDA__FN void prof_cuda__index_all(void) {
    static const uint32_t marks[] = { PROF_CUDA__CALL, PROF_CUDA__ID, PROF_CUDA__END,
                                      PROF_CUDA__IN_STREAM, PROF_CUDA__IN_CONTEXT };
    struct prof_cuda__all *g = &prof_cuda__;
    g->index = (uint32_t *)(void *)g->low;
    g->slots = 2 * (g->indexed - (uint32_t)g->kept[PROF_CUDA__CUDA_EVENT]) + 1;
    memset(g->index, 0, g->slots * sizeof *g->index);
    for (const char *r = g->base; r < g->low; r += prof_cuda__size(r)) {
        bool outer = !(prof_cuda__row(r)->what & PROF_CUDA__INNER);
        for (int i = 0; i < 5; i++) {
            uint32_t *slot;
            if (!(prof_cuda__marks_of(r) & marks[i])) continue;
            slot = prof_cuda__slot(marks[i], prof_cuda__key_of(marks[i], r));
            if (!*slot || (marks[i] == PROF_CUDA__CALL && outer))
                *slot = (uint32_t)((r - g->base) / 8) + 1;
        }
    }
}

/* ---- what is the session's ---- */

/* What a record counts as that is not the session's; NULL: it is. Devices work their times out, so
   that work may seem to begin before its call, and before the session. A time of another day is one
   of another clock. Streams that only wait say nothing: Kineto leaves them out, too. */
PROF_CUDA__FN uint64_t *prof_cuda__not_ours(const char *record, const struct prof_cuda__kind *k) {
    struct prof_cuda__all *g = &prof_cuda__;
    const prof_cuda__sync *sync = (const prof_cuda__sync *)(const void *)record;
    const uint64_t start = prof_cuda__u64(record, k->start), day = 86400000000000u;
    bool early = start && start < g->window_start && start + day >= g->window_start;
    if (start >> 62) return &g->stats.corrupt;
    if (k->kind == PROF_CUDA__ALLOCATION &&
        ((const prof_cuda__allocation *)(const void *)record)->bytes >> 63)
        return &g->stats.corrupt;
    if (k->what & PROF_CUDA__WORK && prof_cuda__match(PROF_CUDA__CALL, record)) return NULL;
    if (early) return &g->stats.outside;
    if (k->what & PROF_CUDA__WORK) g->stats.no_launch++;
    return k->kind != PROF_CUDA__SYNCHRONIZATION || sync->type != 2 ||
                   prof_cuda__find_record(PROF_CUDA__IN_STREAM,
                                          (uint64_t)sync->context << 32 | sync->stream)
               ? NULL : &g->stats.muted;
}

/* Leaves out a record that is not the session's, has no time that is right, or one far outside the
   session: some records may be by another clock. */
PROF_CUDA__FN void prof_cuda__judge_one(char *record, const struct prof_cuda__kind *k) {
    struct prof_cuda__all *g = &prof_cuda__;
    const uint64_t second = 1000000000;
    uint64_t start = prof_cuda__u64(record, k->start), end = prof_cuda__u64(record, k->end);
    uint64_t *count = prof_cuda__not_ours(record, k);
    if (count) g->kept[k->kind]--;
    else if (!start || (end && end < start)) count = &g->stats.no_time;
    else if (g->pair.device_ns && (start + second < g->window_start ||
                                   PROF_CUDA__MAX(start, end) > g->pair.device_ns + second))
        count = &g->stats.wrong_clock;
    if (count) ((prof_cuda__any *)(void *)record)->kind |= PROF_CUDA__LEFT_OUT;
    else if (!end && k->what & PROF_CUDA__WORK) count = &g->stats.unfinished;
    if (count) ++*count;
}

/* Checks the records that came since the last time, and indexes all: what others are found by
   first. Under the lock. */
PROF_CUDA__FN void prof_cuda__judge(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    if (g->closed || g->judged == g->low) return;
    for (int found = 1; found >= 0; found--) {
        if (!found) prof_cuda__index_all();
        for (char *r = g->judged; r < g->low; r += prof_cuda__size(r)) {
            const struct prof_cuda__kind *k = prof_cuda__row(r);
            bool last = k->what & PROF_CUDA__WORK || k->kind == PROF_CUDA__SYNCHRONIZATION;
            if (!(k->what & PROF_CUDA__TIMELESS) && last == !found) prof_cuda__judge_one(r, k);
        }
    }
    g->judged = g->low;
}

/* ---- texts ---- */

/* Text that is being put together; what does not fit is cut off. */
typedef struct prof_cuda__line { char *p, *end; } prof_cuda__line;
#define PROF_CUDA__PUT(l, ...) \
    ((l)->p += prof_format_text((l)->p, (size_t)((l)->end - (l)->p), __VA_ARGS__))

/* `,"name":n` */
PROF_CUDA__FN void prof_cuda__member(prof_cuda__line *l, const char *name, uint64_t n) {
    PROF_CUDA__PUT(l, ",\"%s\":%lld", name, (long long)n);
}

/* An id that CUPTI may not know is -1, as in Kineto. */
PROF_CUDA__FN uint64_t prof_cuda__id(uint32_t id) { return id == UINT32_MAX ? UINT64_MAX : id; }

/* A text in quotes, cut where there is no room. */
PROF_CUDA__FN void prof_cuda__put_text(prof_cuda__line *l, const char *s) {
    PROF_CUDA__PUT(l, "\"");
    for (; *s && (l->end - l->p > 80 || (*s & 0xc0) == 0x80); s++) {
        unsigned char u = (unsigned char)*s;
        bool plain = u >= 0x20 && u != 0x7f && u != '"' && u != '\\';
        PROF_CUDA__PUT(l, plain ? "%c" : "\\u%04x", (int)u);
    }
    PROF_CUDA__PUT(l, "\"");
}

/* Ids of a graph and its node, and the zone in which that was made. What no graph ran has none. */
PROF_CUDA__FN void prof_cuda__put_node(prof_cuda__line *l, uint64_t graph, uint64_t id) {
    const prof_cuda__node *node = prof_cuda__node_of(id);
    char text[300];
    if (graph) prof_cuda__member(l, "graph id", graph);
    if (id) prof_cuda__member(l, "graph node id", id);
    if (!id || !node->id) return;
    (void)prof_format_text(text, sizeof text, "%.150s (%.120s:%u)",
                           node->name, node->file ? node->file : "", (unsigned)node->line);
    PROF_CUDA__PUT(l, ",\"captured in\":");
    prof_cuda__put_text(l, node->line ? text : node->name);
}

/* ---- one event at a time ---- */

/* What a record becomes. */
typedef struct prof_cuda__made {
    prof_event e;
    prof_extra x;
    char *args;                          /* arguments, each behind a comma; */
    prof_cuda__line l;                   /* they end at l.p. NULL: they stand there already */
    char name[PROF_CUDA__NAME], own[PROF_CUDA__ARGS];
} prof_cuda__made;

/* Blocks of a kernel that fit on a multiprocessor: by threads, registers, shared memory. */
PROF_CUDA__FN uint32_t prof_cuda__blocks_fit(const prof_cuda_device *v, const prof_cuda__kernel *k,
                                             uint32_t threads) {
    uint32_t warps = (threads + 31) / 32, fit = (uint32_t)v->max_threads_per_sm / 32 / warps;
    uint32_t per_warp = PROF_CUDA__ROUND_UP(k->registers * 32u, 256);
    uint32_t shared = k->static_shared + k->dynamic_shared + (v->compute_major >= 8 ? 1024 : 0);
    if (v->max_blocks_per_sm) fit = PROF_CUDA__MIN(fit, (uint32_t)v->max_blocks_per_sm);
    if (per_warp)                        /* registers are dealt to warps in fours */
        fit = PROF_CUDA__MIN(fit, (uint32_t)v->registers_per_sm / per_warp / 4 * 4 / warps);
    shared = PROF_CUDA__ROUND_UP(shared, 128);
    if (shared && v->shared_per_sm) fit = PROF_CUDA__MIN(fit, (uint32_t)v->shared_per_sm / shared);
    return fit;
}

/* How much of the GPU a launch can keep busy. As Kineto's figures of these names, but above 48 KiB
   of shared memory, where Kineto tells 0 and this the real value. Its object "occupancy" of 2026,
   which says why there is no more, is not written. */
PROF_CUDA__FN void prof_cuda__put_occupancy(prof_cuda__line *l, const prof_cuda__kernel *k) {
    const prof_cuda_device *v = prof_cuda__.devices + k->device;
    const uint32_t *g = k->grid, *b = k->block;
    uint64_t blocks = (uint64_t)g[0] * g[1] * g[2], threads = (uint64_t)b[0] * b[1] * b[2];
    uint64_t fit, share, most = (uint64_t)v->sm_count * (uint64_t)v->max_threads_per_sm;
    if (v->sm_count < 1 || v->max_threads_per_sm < 1 || !threads || threads > 4096) return;
    PROF_CUDA__PUT(l, ",\"blocks per SM\":%.9g,\"warps per SM\":%.9g",
                   (double)blocks / v->sm_count, (double)(blocks * threads) / 32 / v->sm_count);
    fit = prof_cuda__blocks_fit(v, k, (uint32_t)threads) * (uint64_t)v->sm_count;
    share = PROF_CUDA__MIN(blocks, fit) * threads * 100;
    prof_cuda__member(l, "est. achieved occupancy %", (share + most / 2) / most);
}

PROF_CUDA__FN void prof_cuda__kernel_event(const prof_cuda__kernel *k, prof_cuda__made *m) {
    const uint32_t *g = k->grid, *b = k->block;
    prof_cuda__line *l = &m->l;
    m->x.activity_type = "kernel";
    m->e.name = k->name ? k->name : "(unknown kernel)";
    if (!l->p) return;
    PROF_CUDA__PUT(l, ",\"queued\":0,\"device\":%u,\"context\":%u,\"stream\":%u",
                   (unsigned)k->device, (unsigned)k->context, (unsigned)k->stream);
    PROF_CUDA__PUT(l, ",\"registers per thread\":%u,\"shared memory\":%u",
                   (unsigned)k->registers, (unsigned)(k->static_shared + k->dynamic_shared));
    PROF_CUDA__PUT(l, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", (unsigned)g[0],
                   (unsigned)g[1], (unsigned)g[2], (unsigned)b[0], (unsigned)b[1], (unsigned)b[2]);
    if (k->device < PROF_CUDA__DEVICES) prof_cuda__put_occupancy(l, k);
    prof_cuda__put_node(l, k->graph, k->graph_node);
    if (prof_cuda__.version >= PROF_CUDA__PRIORITY_FROM)
        PROF_CUDA__PUT(l, ",\"priority\":%d", (int)k->priority);
}

PROF_CUDA__FN const char *prof_cuda__list(const char *const *names, uint32_t count, uint32_t i) {
    return names[i < count ? i : 0];
}

/* "Memcpy HtoD (Pageable -> Device)" */
PROF_CUDA__FN const char *prof_cuda__copy_name(const prof_cuda__copy *p, char *name) {
    static const char *const ways[] = { "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                        "DtoA", "DtoD", "HtoH", "PtoP" };
    static const char *const kinds[] = { "Unknown", "Pageable", "Pinned", "Device", "Array",
                                         "Managed", "Device Static", "Managed Static" };
    if (prof_cuda__row(p)->kind == PROF_CUDA__MEMSET)
        (void)prof_format_text(name, PROF_CUDA__NAME, "Memset (%s)",
                               prof_cuda__list(kinds, 8, p->fill_memory));
    else
        (void)prof_format_text(name, PROF_CUDA__NAME, "Memcpy %s (%s -> %s)",
                               prof_cuda__list(ways, 11, p->copy_kind),
                               prof_cuda__list(kinds, 8, p->source_kind),
                               prof_cuda__list(kinds, 8, p->target_kind));
    return name;
}

/* Copies and fills. */
PROF_CUDA__FN void prof_cuda__copy_event(const prof_cuda__peer *p, prof_cuda__made *m) {
    const struct prof_cuda__kind *k = prof_cuda__row(p);
    prof_cuda__line *l = &m->l;
    uint64_t graphs[2];
    m->x.activity_type = k->kind == PROF_CUDA__MEMSET ? "gpu_memset" : "gpu_memcpy";
    m->e.name = prof_cuda__copy_name((const prof_cuda__copy *)(const void *)p, m->name);
    PROF_CUDA__PUT(l, ",\"device\":%u,\"context\":%u,\"stream\":%u", (unsigned)p->device,
                   (unsigned)p->context, (unsigned)p->stream);
    if (k->kind == PROF_CUDA__MEMCPY_PEER)
        PROF_CUDA__PUT(l, ",\"fromDevice\":%u,\"inDevice\":%u,\"toDevice\":%u,\"fromContext\":%u"
                          ",\"inContext\":%u,\"toContext\":%u", (unsigned)p->source_device,
                       (unsigned)p->device, (unsigned)p->target_device,
                       (unsigned)p->source_context, (unsigned)p->context,
                       (unsigned)p->target_context);
    prof_cuda__member(l, "bytes", p->bytes);
    if (p->end > p->start)
        PROF_CUDA__PUT(l, ",\"memory bandwidth (GB/s)\":%.9g",
                       (double)p->bytes / (double)(p->end - p->start));
    else PROF_CUDA__PUT(l, ",\"memory bandwidth (GB/s)\":\"N/A\"");
    memcpy(graphs, (const char *)p + k->size - sizeof graphs, sizeof graphs);
    prof_cuda__put_node(l, graphs[0], graphs[1]);
}

/* The session's index of a thread. Ids are often consecutive. */
PROF_CUDA__FN uint32_t prof_cuda__thread(uint32_t id) {
    struct prof_cuda__all *g = &prof_cuda__;
    uint32_t i = id % 256, index;
    if (!g->threads[i].index || g->threads[i].id != id) {
        index = id ? prof_submit_os_thread(id, NULL) : prof_submit_thread(0, "CUPTI Overhead");
        g->threads[i].id = id;
        g->threads[i].index = index + 1;
    }
    return g->threads[i].index ? g->threads[i].index - 1 : 0;
}

/* "cudaLaunchKernel_ptsz" of CUPTI's "cudaLaunchKernel_ptsz_v7000"; a "_v2" is the call's own. */
PROF_CUDA__FN const char *prof_cuda__call_name(bool runtime, uint32_t cbid, char *text) {
    const char *name = NULL;
    char *end, *tail;
    if (cbid >= PROF_CUDA__CBIDS ||
        (prof_cuda__.cupti.callback_name)(runtime ? 2 : 1, cbid, &name) != 0 || !name)
        return runtime ? "cuda call" : "driver call";
    end = text + prof_format_text(text, PROF_CUDA__NAME, "%s", name);
    for (tail = end; tail > text && tail[-1] >= '0' && tail[-1] <= '9';) tail--;
    if (runtime && end - tail >= 4 && tail - text > 2 && memcmp(tail - 2, "_v", 2) == 0)
        tail[-2] = 0;
    return text;
}

PROF_CUDA__FN void prof_cuda__call_event(const prof_cuda__call *c, prof_cuda__made *m) {
    bool runtime = prof_cuda__row(c)->kind == PROF_CUDA__RUNTIME_CALL;
    m->e.thread = prof_cuda__thread(c->thread);
    m->e.name = prof_cuda__call_name(runtime, c->cbid, m->name);
    m->x.has = PROF_HAS_ID;
    m->x.id = (int64_t)c->correlation;
    m->x.activity_type = runtime ? "cuda_runtime" : "cuda_driver";
    if (m->l.p) prof_cuda__member(&m->l, "cbid", c->cbid);
}

/* Orders records of CUDA events by (event, context, call). */
PROF_CUDA__FN int prof_cuda__event_order(const void *a, const void *b) {
    const prof_cuda__event *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x->event != y->event) return x->event < y->event ? -1 : 1;
    if (x->context != y->context) return x->context < y->context ? -1 : 1;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

/* The call that last recorded the event before this wait for it; NULL: none. */
PROF_CUDA__FN const prof_cuda__event *prof_cuda__recorded_by(const prof_cuda__sync *wait) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__event want = { 0, wait->correlation, wait->context, 0, wait->event, 0 };
    const prof_cuda__event *by = NULL, *key = &want;
    uint32_t low = 0, high = g->recorded_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (prof_cuda__event_order(g->recorded + middle, &key) <= 0) {
            low = middle + 1;
            by = g->recorded[middle];
        } else high = middle;
    }
    return by && by->event == wait->event && by->context == wait->context ? by : NULL;
}

/* Fills in where a record ran, and the call that launched it, if that is there. */
PROF_CUDA__FN void prof_cuda__link(const void *r, uint32_t device, uint32_t stream,
                                   prof_cuda__made *m) {
    const prof_cuda__call *call = (const prof_cuda__call *)prof_cuda__match(PROF_CUDA__CALL, r);
    m->e.device_type = PROF_DEVICE_CUDA;
    m->e.thread = prof_cuda__thread(call ? call->thread : 0);
    m->x.has = PROF_HAS_DEVICE_INDEX | (call ? PROF_HAS_LINK : 0);
    m->x.device_index = (int32_t)device;
    m->x.device_resource_id = stream == UINT32_MAX ? -1 : (int64_t)stream;
    m->x.linked_correlation_id = (int64_t)prof_cuda__correlation(r);
}

PROF_CUDA__FN void prof_cuda__sync_event(const prof_cuda__sync *s, prof_cuda__made *m) {
    static const char *const names[] = { "Unknown Sync", "Event Sync", "Stream Wait Event",
                                         "Stream Sync", "Context Sync" };
    const void *work =
        prof_cuda__find_record(PROF_CUDA__IN_CONTEXT, (uint64_t)s->context << 32);
    uint32_t device = work ? prof_cuda__where(work)[0] : 0;
    const prof_cuda__event *from;
    prof_cuda__link(s, device, s->stream, m);
    m->x.device_resource_id += PROF_ROW_SYNC;   /* waits overlap the stream's work */
    m->x.activity_type = "cuda_sync";
    m->e.name = prof_cuda__list(names, 5, s->type);
    PROF_CUDA__PUT(&m->l, ",\"cuda_sync_kind\":\"%s\"", m->e.name);
    if (s->type == 1 || s->type == 2) {
        from = prof_cuda__recorded_by(s);
        prof_cuda__member(&m->l, "wait_on_stream", prof_cuda__id(from ? from->stream : UINT32_MAX));
        prof_cuda__member(&m->l, "wait_on_cuda_event_record_corr_id",
                          from ? from->correlation : UINT64_MAX);
        prof_cuda__member(&m->l, "wait_on_cuda_event_id", prof_cuda__id(s->event));
    }
    prof_cuda__member(&m->l, "stream", prof_cuda__id(s->stream));
    prof_cuda__member(&m->l, "device", device);
    prof_cuda__member(&m->l, "context", s->context);
}

/* Page-locked memory is the host's. A zone has what it allocated, its thread's innermost. */
PROF_CUDA__FN void prof_cuda__allocation_told(const prof_cuda__allocation *a, prof_cuda__made *m) {
    bool host = a->memory_kind == 1 || a->memory_kind == 2;
    prof_memory_change c;
    prof_cuda__link(a, a->device, a->stream, m);
    memset(&c, 0, sizeof c);
    c.ns = m->e.start_ns;
    c.address = a->address;
    c.bytes = a->bytes;
    c.is_free = a->operation == 2;
    c.device.type = host ? PROF_DEVICE_CPU : PROF_DEVICE_CUDA;
    c.device.index = (int8_t)(host ? 0 : a->device);
    c.thread = m->x.has & PROF_HAS_LINK ? m->e.thread : PROF_NONE;
    (void)prof_submit_memory(&c, 1);     /* what is left out is counted there */
}

/* Fills in what a kind of records has of its own. False: no event. */
PROF_CUDA__FN bool prof_cuda__event_of(const void *r, const struct prof_cuda__kind *k,
                                       prof_cuda__made *m) {
    static const char *const overheads[] = { "Unknown", "Buffer Flush", "Instrumentation",
        "Resource", "Runtime Triggered Module Loading", "Lazy Function Loading",
        "Command Buffer Full", "Activity Buffer Request", "UVM Activity Init" };
    const prof_cuda__marker *marker = (const prof_cuda__marker *)r;
    uint32_t overhead = ((const prof_cuda__overhead *)r)->overhead_kind;
    if (k->what & PROF_CUDA__WORK)
        prof_cuda__link(r, prof_cuda__where(r)[0], prof_cuda__where(r)[2], m);
    switch (k->kind) {
    case PROF_CUDA__RUNTIME_CALL:
    case PROF_CUDA__DRIVER_CALL: prof_cuda__call_event((const prof_cuda__call *)r, m); break;
    case PROF_CUDA__KERNEL: prof_cuda__kernel_event((const prof_cuda__kernel *)r, m); break;
    case PROF_CUDA__SYNCHRONIZATION: prof_cuda__sync_event((const prof_cuda__sync *)r, m); break;
    case PROF_CUDA__MARKER:
        m->x.activity_type = "user_annotation";
        m->e.name = marker->name ? marker->name : "(null)";
        m->e.thread = prof_cuda__thread(marker->thread);
        m->e.flags = PROF_EVENT_USER_ANNOTATION;
        break;
    case PROF_CUDA__OVERHEAD_RECORD:
        m->x.activity_type = "overhead";
        m->e.name =
            overhead == 1 ? "Driver Compiler" : prof_cuda__list(overheads, 9, overhead >> 16);
        m->e.thread = prof_cuda__thread(0);
        break;
    case PROF_CUDA__NODE:
        m->x.activity_type = "cuda_runtime";
        m->e.name = "(captured graph node)";
        m->e.thread = prof_submit_thread(((const prof_cuda__node *)r)->thread, NULL);
        prof_cuda__put_node(&m->l, 0, ((const prof_cuda__node *)r)->id);
        break;
    case PROF_CUDA__ALLOCATION:
        prof_cuda__allocation_told((const prof_cuda__allocation *)r, m);
        return false;
    default: prof_cuda__copy_event((const prof_cuda__peer *)r, m);
    }
    return true;
}

/* A time of CUPTI's on the session's clock. */
PROF_CUDA__FN int64_t prof_cuda__ns(uint64_t t) {
    const prof_device device = { PROF_DEVICE_CUDA, 0 };
    return t && prof_cuda__.pair.device_ns ? prof_device_ns(device, t) : 0;
}

/* Durations are CUPTI's own, unless its clock runs at another rate. */
PROF_CUDA__FN void prof_cuda__times(const void *r, const struct prof_cuda__kind *k,
                                    prof_event *e) {
    const prof_cuda__marker *end = NULL;
    uint64_t start = prof_cuda__u64(r, k->start), stop = prof_cuda__u64(r, k->end);
    int64_t length = stop > start ? (int64_t)(stop - start) : 0, off;
    e->start_ns = prof_cuda__ns(start);
    off = prof_cuda__ns(stop) - e->start_ns - length;
    e->end_ns = e->start_ns + length + (off > length / 100 || -off > length / 100 + 1 ? off : 0);
    if (prof_cuda__kind_at(r) & PROF_CUDA__RUNNING) {
        if (k->what & PROF_CUDA__WORK) e->flags = PROF_EVENT_UNFINISHED;
        else end = (const prof_cuda__marker *)prof_cuda__find_record(
                 PROF_CUDA__END, ((const prof_cuda__marker *)r)->id);
        e->end_ns = end ? prof_cuda__ns(end->time) : prof_cuda__.pair.session_ns;
    }
    e->end_ns = PROF_CUDA__MAX(e->end_ns, e->start_ns);
}

/* Where the arguments of a kernel or call are, which those that are alike share; at g->shared: they
   are to be written there. NULL: others have their own, as all have where there is no room. */
PROF_CUDA__FN char *prof_cuda__shared_args(const char *r, const struct prof_cuda__kind *k) {
    struct prof_cuda__all *g = &prof_cuda__;
    const size_t from = offsetof(prof_cuda__kernel, device);
    uint32_t key[18] = { k->kind }, hash = 0;
    char **at;
    if (k->what & PROF_CUDA__CALL) {
        memcpy(key + 1, r + offsetof(prof_cuda__call, cbid), 4);
    } else if (k->kind == PROF_CUDA__KERNEL) {
        memcpy(key + 1, r + 4, 8);       /* registers, priority */
        memcpy(key + 3, r + from, offsetof(prof_cuda__kernel, local_per_thread) - from);
        memcpy(key + 14, r + offsetof(prof_cuda__kernel, graph_node), 16);   /* graph */
    } else return NULL;
    for (int i = 0; i < 18; i++) hash = (hash ^ key[i]) * 16777619u;
    at = g->texts + (hash ^ hash >> 16) % PROF_CUDA__ALIKE;
    if (!*at || memcmp(*at, key, sizeof key) != 0) {
        if ((size_t)(g->end - g->shared) < sizeof key + PROF_CUDA__ARGS) return NULL;
        *at = (char *)memcpy(g->shared, key, sizeof key);
        g->shared += sizeof key;
    }
    return *at + sizeof key;
}

/* Hands a record to the session, if it becomes an event. */
PROF_CUDA__FN void prof_cuda__hand(const char *r) {
    const prof_cuda__external *id = (const prof_cuda__external *)prof_cuda__match(PROF_CUDA__ID, r);
    const struct prof_cuda__kind *k = prof_cuda__row(r);
    uint32_t correlation = prof_cuda__correlation(r);
    char *shared = correlation ? prof_cuda__shared_args(r, k) : NULL;
    prof_cuda__made m;
    memset(&m, 0, offsetof(prof_cuda__made, name));
    m.e.extra = &m.x;
    if (id) m.x.external_id = (int64_t)id->id;
    prof_cuda__times(r, k, &m.e);
    m.args = shared ? shared : m.own;
    if (!shared || shared == prof_cuda__.shared) m.l.p = m.args;
    m.l.end = m.args + PROF_CUDA__ARGS;
    if (!shared && correlation) prof_cuda__member(&m.l, "correlation", correlation);
    if (!prof_cuda__event_of(r, k, &m)) return;
    if (m.l.p != m.args) m.x.metadata_json = m.args + 1;
    if (shared) m.x.has |= PROF_HAS_KEPT_TEXT;
    if (shared == prof_cuda__.shared) prof_cuda__.shared = m.l.p + 1;
    (void)prof_submit(&m.e, 1);          /* what does not fit is counted by the session */
}

/* Makes events of all records, once. goes_on: the window does, or others are added to it: the trace
   outlives the records, whose memory is needed again. */
PROF_CUDA__FN void prof_cuda__hand_over(bool goes_on) {
    struct prof_cuda__all *g = &prof_cuda__;
    prof_cuda__lock();
    if (!g->closed && g->low != g->base) {
        prof_cuda__judge();
        g->shared = (char *)(((uintptr_t)(g->index + g->slots) + 15) & ~(uintptr_t)15);
        memset(g->threads, 0, sizeof g->threads);
        memset(g->texts, 0, sizeof g->texts);
        g->recorded = (const prof_cuda__event **)(void *)g->shared;   /* each has room there */
        g->recorded_count = 0;
        for (const char *r = g->base; r < g->low; r += prof_cuda__size(r))
            if (prof_cuda__row(r)->kind == PROF_CUDA__CUDA_EVENT)
                g->recorded[g->recorded_count++] = (const prof_cuda__event *)(const void *)r;
        qsort((void *)g->recorded, g->recorded_count, sizeof *g->recorded, prof_cuda__event_order);
        g->shared += g->recorded_count * sizeof *g->recorded;
        if (goes_on) g->shared = g->end;
        for (const char *r = g->base; r < g->low; r += prof_cuda__size(r)) {
            uint32_t kind = prof_cuda__kind_at(r), what = prof_cuda__row(r)->what;
            if (!(kind & (PROF_CUDA__LEFT_OUT | PROF_CUDA__END)) &&
                !(what & PROF_CUDA__TIMELESS) &&
                (!(what & PROF_CUDA__INNER) || prof_cuda__match(PROF_CUDA__CALL, r) == r))
                prof_cuda__hand(r);
        }
    }
    g->closed = true;
    prof_cuda__unlock();
}

/* ---- @NVTX: zones as NVTX ranges ---- */

#ifdef PROF_CUDA__NVTX
PROF_CUDA__FN void prof_cuda__nvtx_sizes(prof_cuda__line *l, const prof_extra *with) {
    for (uint32_t i = 0; with->input_shapes && i < with->input_count; i++) {
        const prof_shape *s = with->input_shapes + i;
        PROF_CUDA__PUT(l, i ? ", [" : ", sizes = [[");
        for (uint32_t k = 0; s->dims && !s->items && k < s->count; k++)
            PROF_CUDA__PUT(l, k ? ", %lld" : "%lld", (long long)s->dims[k]);
        PROF_CUDA__PUT(l, "]");
    }
    if (with->input_shapes && with->input_count) PROF_CUDA__PUT(l, "]");
}

PROF_CUDA__FN void prof_cuda__nvtx_begin(void *user, const char *name, const prof_extra *with) {
    char text[1024];
    prof_cuda__line l = { text, text + sizeof text };
    (void)user;
    if (with) {
        PROF_CUDA__PUT(&l, "%s", name);
        if (with->has & PROF_HAS_SEQUENCE_NR && with->sequence_nr >= 0)
            PROF_CUDA__PUT(&l, ", %sseq = %lld", with->scope == 1 ? "stashed " : "",
                           (long long)with->sequence_nr);
        if (with->has & PROF_HAS_ID && with->id > 0)
            PROF_CUDA__PUT(&l, ", op_id = %lld", (long long)with->id);
        prof_cuda__nvtx_sizes(&l, with);
    }
    (void)nvtxRangePushA(with ? text : name);
}

PROF_CUDA__FN void prof_cuda__nvtx_end(void *user, const char *name) {
    (void)user, (void)name;
    (void)nvtxRangePop();
}

PROF_CUDA__FN void prof_cuda__nvtx_instant(void *user, const char *name) {
    (void)user;
    nvtxMarkA(name);
}
#endif

PROF_API PROF_CUDA__QUIET prof_result prof_cuda_emit_nvtx(bool on) {
    static char user;
    prof_observer o;
    memset(&o, 0, sizeof o);
    o.user = &user;
    if (!on) return prof_remove_observer(&user);
#ifdef PROF_CUDA__NVTX
    o.begin = prof_cuda__nvtx_begin;
    o.end = prof_cuda__nvtx_end;
    o.instant = prof_cuda__nvtx_instant;
    if (prof_getenv("NVTX_INJECTION64_PATH") && *prof_getenv("NVTX_INJECTION64_PATH"))
        return prof_add_observer(&o);
    prof_cuda__.no_nvtx = "no NVTX ranges: no tool listens, NVTX_INJECTION64_PATH is not set";
#else
    prof_cuda__.no_nvtx =
        "no NVTX ranges: compile with <nvtx3/nvToolsExt.h> of CUDA's include folder";
#endif
    return PROF_ERROR_UNSUPPORTED;
}

/* ---- @DEVICE: the GPUs, and how all this joins a session ---- */

PROF_CUDA__FN void prof_cuda__device_json(prof_cuda__line *l, const prof_cuda_device *d) {
    PROF_CUDA__PUT(l, "{\"id\":%d,\"name\":", (int)d->id);
    prof_cuda__put_text(l, d->name);
    PROF_CUDA__PUT(l, ",\"totalGlobalMem\":%llu", (unsigned long long)d->total_memory);
    for (size_t i = 0; prof_cuda__attributes[i].name; i++) {
        int32_t value;
        memcpy(&value, (const char *)d + prof_cuda__attributes[i].at, sizeof value);
        PROF_CUDA__PUT(l, ",\"%s\":%d", prof_cuda__attributes[i].name, (int)value);
    }
    PROF_CUDA__PUT(l, "}");
}

/* 0: it is not known, as where it is linked statically. */
PROF_CUDA__FN uint64_t prof_cuda__runtime_version(void) {
    const char *path = prof_cuda__loaded("/libcudart");
    void *handle = path ? prof_cuda__open(path) : NULL;
    void *f = handle ? prof_cuda__find(handle, "cudaRuntimeGetVersion") : NULL;
    int (*get)(int *) = NULL;
    int version = 0;
    memcpy(&get, &f, sizeof f);
    if (get && get(&version) != 0) version = 0;
    return version > 0 ? (uint64_t)version : 0;
}

/* Tells what is not 0 of what was lost or is odd, and how CUPTI is used: all of it as JSON, or what
   a user must know as text. False: there was none. */
PROF_CUDA__FN bool prof_cuda__tell(prof_cuda__line *l, bool json) {
    const prof_cuda_stats s = prof_cuda_get_stats();
    const struct { const char *name, *text; uint64_t n; } told[] = {
        { "lost_dropped", "dropped by CUPTI, give a larger pool_size", s.lost_dropped },
        { "lost_full", "no room, give prof_cuda_desc.memory more", s.lost_full },
        { "lost_overwritten", "without a buffer, give a larger pool_size", s.lost_overwritten },
        { "no_time", "without a time", s.no_time },
        { "wrong_clock", "of another clock, as another profiler in the process sets it",
          s.wrong_clock },
        { "clock_back", "records are misplaced or left out, as CUPTI's clock went back, as the "
          "system's does when it is set; times", s.clock_back },
        { "foreign", "buffers of another profiler in the process, end it, as torch.profiler",
          s.foreign },
        { "graph_doubts", "kernels that this CUPTI may give to a wrong graph launch, as CUDA 13.1 "
          "Update 1 does not", s.graph_doubts },
        { NULL, "a stop can hang in this CUPTI, take CUDA 13.0 Update 1: API version",
          s.cupti_version == 130000 ? 130000u : 0 },
        { "corrupt", "corrupt buffers", s.corrupt }, { "unknown", "of kinds not known", s.unknown },
        { "buffers_missing", "buffers CUPTI kept", s.buffers_missing },
        { "no_launch", "of no zone, as the call that launched them is not there", s.no_launch },
        { "unfinished", "still ran at the stop, which did not wait (no_sync, or a stream was "
          "captured)", s.unfinished },
        { "no_buffer", NULL, s.no_buffer },
        { "names_lost", "names, or nodes of graphs, that did not fit", s.names_lost },
        { "failed_calls", prof_cuda__.failed_first, s.failed_calls },
        { "multi_subscriber", NULL, prof_cuda__.is_multi },
        { "zeroed_buffers", NULL, prof_cuda__.zeroed },
        { "hardware_trace", NULL, prof_cuda__.hardware } };
    bool any = false;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (!told[i].n || !(json ? told[i].name : told[i].text)) continue;
        any = true;
        if (json) prof_cuda__member(l, told[i].name, told[i].n);
        else PROF_CUDA__PUT(l, "; %s: %llu", told[i].text, (unsigned long long)told[i].n);
    }
    return any;
}

PROF_CUDA__FN size_t prof_cuda__metadata(void *user, char *buf, size_t size) {
    struct prof_cuda__all *g = &prof_cuda__;
    const prof_cuda_stats s = prof_cuda_get_stats();
    prof_cuda__line l = { buf, buf + size };
    uint64_t runtime;
    int version = 0;
    (void)user;
    if (g->state == PROF_CUDA_OFF) return 0;
    runtime = prof_cuda__runtime_version();
    PROF_CUDA__PUT(&l, "\"deviceProperties\":[");
    for (int i = 0; i < g->device_count; i++) {
        if (i) PROF_CUDA__PUT(&l, ",\n");
        prof_cuda__device_json(&l, g->devices + i);
    }
    PROF_CUDA__PUT(&l, "]");
    if (s.cupti_version) prof_cuda__member(&l, "cupti_version", s.cupti_version);
    if (runtime) prof_cuda__member(&l, "cuda_runtime_version", runtime);
    if (g->has_driver && (g->driver.driver_version)(&version) == 0)
        prof_cuda__member(&l, "cuda_driver_version", (uint64_t)version);
    PROF_CUDA__PUT(&l, ",\"prof_cuda\":{\"kernels\":%llu", (unsigned long long)s.kernels);
    prof_cuda__member(&l, "copies", s.copies);
    prof_cuda__member(&l, "calls", s.calls);
    (void)prof_cuda__tell(&l, true);
    PROF_CUDA__PUT(&l, "}");
    return l.p + 1 < l.end ? (size_t)(l.p - buf) : size;   /* it was cut */
}

/* Why not, or what was lost: a line for the footer. */
PROF_CUDA__FN const char *prof_cuda__status_line(void *user) {
    static char text[1024];
    prof_cuda__line l = { text, text + sizeof text };
    (void)user;
    if (prof_cuda__.why[0]) return prof_cuda__.why;
    PROF_CUDA__PUT(&l, "GPU records lost: %llu", (unsigned long long)prof_cuda_get_stats().lost);
    return prof_cuda__tell(&l, false) ? text : NULL;
}

/* The bytes of a buffer, their count, and the bytes of them, of the tables and of a few records. */
PROF_CUDA__FN size_t prof_cuda__fixed_bytes(const prof_cuda_desc *d, size_t *bytes, size_t *count) {
    size_t n;
    *bytes = PROF_CUDA__ROUND_UP(d->buffer_size ? d->buffer_size : 256u << 10, (size_t)64);
    n = (d->pool_size ? d->pool_size : 16u << 20) / *bytes;
    *count = PROF_CUDA__MAX(2u, PROF_CUDA__MIN(n, (size_t)PROF_CUDA__BUFFERS));
    return 64 + *count * *bytes + sizeof(prof_cuda__tables) + 4096;
}

PROF_API PROF_CUDA__QUIET size_t prof_cuda_memory_size(const prof_cuda_desc *desc,
                                                       size_t launches) {
    static prof_cuda_desc usual;
    size_t bytes, count, fixed = prof_cuda__fixed_bytes(desc ? desc : &usual, &bytes, &count);
    size_t each = PROF_CUDA__ROUND_UP(sizeof(prof_cuda__kernel), 8u) +
                  2 * PROF_CUDA__ROUND_UP(sizeof(prof_cuda__call), 8u) + 3 * sizeof(uint64_t) + 8;
    return launches > (SIZE_MAX - fixed) / each ? SIZE_MAX : fixed + launches * each;
}

/* Lays the block out; false: it is too small. */
PROF_CUDA__FN bool prof_cuda__lay(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    bool own = g->desc.memory != NULL;
    char *memory = own ? (char *)g->desc.memory : prof_cuda__memory.bytes + prof_cuda__withheld;
    size_t size = own ? g->desc.memory_size : sizeof prof_cuda__memory - prof_cuda__withheld;
    char *p = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    if (size < prof_cuda__fixed_bytes(&g->desc, &g->buffer_size, &g->buffer_count)) return false;
    g->pool = (uint8_t *)p;
    g->tables = (prof_cuda__tables *)(void *)(p + g->buffer_count * g->buffer_size);
    if (own || prof_cuda__used) memset(p, 0, (size_t)(g->tables->text - p));
    prof_cuda__used = true;
    g->base = (char *)(g->tables + 1);
    g->end = memory + size;
    prof_cuda__clear();
    return true;
}

PROF_CUDA__FN bool prof_cuda__session_open(void) {
    prof_session session;
    prof_session_info(&session);
    return session.open;
}

PROF_API PROF_CUDA__QUIET prof_result prof_cuda_init(const prof_cuda_desc *desc) {
    static bool joined;                  /* a device is added once: it cannot be taken away */
    struct prof_cuda__all *g = &prof_cuda__;
    const prof_device_desc d = {
        "CUDA", PROF_DEVICE_CUDA, PROF_ACTIVITY_CUDA, prof_cuda__prepare, prof_cuda__start,
        prof_cuda__stop, prof_cuda__flush, prof_cuda__status_line, prof_cuda__metadata, g };
    prof_result result;
    void *driver;
    if (g->state != PROF_CUDA_OFF || prof_cuda__session_open()) return PROF_ERROR_STATE;
    memset(g, 0, sizeof *g);
    if (desc) g->desc = *desc;
    if ((!g->desc.memory && g->desc.memory_size) ||
        (g->desc.buffer_size && g->desc.buffer_size < 4096)) return PROF_ERROR_INVALID;
    if (!g->desc.records) g->desc.records = PROF_CUDA_DEFAULT;
    if (!prof_cuda__lay()) return PROF_ERROR_MEMORY;
    if (!joined) {
        result = prof_add_device(&d);
        if (result != PROF_OK) return result;
        prof_cuda__once();
        joined = true;
    }
    prof_cuda__watch_threads(true);
    g->state = PROF_CUDA_READY;
    (void)prof_cuda__find_driver(&driver);
    return PROF_OK;
}

PROF_API PROF_CUDA__QUIET prof_result prof_cuda_shutdown(void) {
    struct prof_cuda__all *g = &prof_cuda__;
    size_t i;
    if (prof_cuda__session_open()) return PROF_ERROR_STATE;
    if (g->out && g->desc.memory) return PROF_ERROR_STATE;   /* CUPTI may still write into them */
    for (i = g->buffer_count; i && !g->is_out[i - 1];) i--;
    if (i)                               /* the built-in block is used from behind the last one */
        prof_cuda__withheld =
            (size_t)((char *)g->pool + i * g->buffer_size - prof_cuda__memory.bytes);
    prof_cuda__watch_threads(false);
    prof_cuda__leave();
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
