/* A stand-in for libcupti and libcuda: GPUs of the mind. Work is launched with the calls below;
   its records reach the profiler by CUPTI's own rules, in the layouts of the version asked for:
   - each thread fills a buffer of its own, or all one (the attribute decides);
   - a buffer is handed back once it is full and all work in it is over: by the thread that filled
     it, or by fake.worker;
   - cuptiActivityFlushAll(0) hands back what is complete, (1) all: work that still runs then comes
     without an end, and never again;
   - without a buffer records are dropped and counted; before API 27 that is a crash.
   Linked into a test it is found through prof_cuda_desc.symbol = fake_symbol; built as a shared
   library, under the names of the real ones. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How it behaves; fake_reset makes all of it the default. */
typedef struct fake_settings {
    uint32_t version;                    /* CUPTI_API_VERSION: 130001 */
    int no_driver_error;                 /* cuInit's result: 0; 100 is no device */
    int devices;                         /* 1 */
    const char *missing;                 /* this function is not in the library */
    const char *fails;                   /* this one returns fail_code */
    int fail_code, fails_after;          /* after so many calls that succeed */
    int fails_times;                     /* so many times; 0: from then on */
    int driver_version;                  /* 13000 */
    const char *result_text;             /* of each error; those above 1000 have none */
    const char *gpu_name;                /* Fake "GPU" */
    int attribute, attribute_value;      /* of the devices: this one is that instead */
    bool idle;                           /* no primary context is active */
    uint32_t tail;                       /* bytes that a future CUPTI adds to each kernel record */
    uint32_t zero_time_every;            /* kernels come without times; 0: none */
    uint32_t unknown_every;              /* a record of kind 60 after so many kernels; 0: none */
    uint64_t call_ns;                    /* a call takes that before its begin, and after: 0 */
    uint64_t latency_ns;                 /* from launch to start: 3000 */
    uint64_t clock_offset;               /* its clock is the OS's realtime clock plus this */
    bool quick_clock;                    /* counts 10 ns a reading instead */
    bool nested_driver;                  /* a driver record inside each runtime one */
    bool by_driver;                      /* launches are driver calls */
    bool pinned;                         /* fake_alloc's memory is the host's, page-locked */
    bool reverse;                        /* buffers come back in another order */
    bool worker;                         /* a thread of its own hands them back */
    bool keep_buffers;                   /* flushing hands nothing back */
    bool keep_one;                       /* a forced flush asks for one buffer, which it keeps */
    bool slow_worker;                    /* a thread of its own hands buffers back, one a
                                            millisecond; only a forced flush waits for it */
    uint32_t head_kernels;               /* so many are stamped by the OS's realtime clock alone */
    uint64_t early_ns;                   /* kernels are stamped that much before their time */
    bool kernels_first;                  /* their records come before those of their calls */
    uint32_t graph_copies;               /* copies and fills are nodes of this graph; 0: of none */
    bool mixed_graphs;                   /* graphs' kernels have the correlation of the next call */
    bool check_zeros;                    /* buffers must be zeros, where the client says so */
    const char *other;                   /* the name of another subscriber, that came first */
    bool other_multi;                    /* which is of those that allow more */
    bool no_thread_ids;                  /* many subscribers cannot have the OS's thread ids */
    bool no_hardware;                    /* no time stamps of the hardware's */
    bool other_ids;                      /* another profiler pushes ids around all launches, too */
    uint64_t (*clock)(void);             /* its clock; NULL: as above. Nothing waits for it */
} fake_settings;
extern fake_settings fake;

/* What happened since fake_reset. */
typedef struct fake_counts {
    uint64_t kernels, copies, calls;     /* launched, while CUPTI's records for them were on */
    uint64_t records;                    /* all of CUPTI's records, dropped ones too */
    uint64_t dropped;
    uint64_t library_calls;              /* into CUPTI, without GetNextRecord */
    uint64_t dirty;                      /* buffers that were not zeros */
    uint64_t syncs;                      /* waits for a context */
    bool hardware;                       /* their time stamps were asked for */
} fake_counts;

void fake_reset(void);
fake_counts fake_get_counts(void);
void *fake_symbol(void *user, const char *library, const char *name);
const char *fake_call_name(size_t i);    /* of each that can fail; NULL: there are no more */

enum { FAKE_STREAMS = 64 };              /* numbers 0.. of each device; 0 is the default one */

void fake_device(int device);            /* for the calling thread's launches */
void fake_launch(const char *kernel, uint32_t stream, uint64_t duration_ns);
/* Kinds as CUPTI's: way 1 HtoD, 2 DtoH, 8 DtoD; memory 1 pageable, 2 pinned, 3 device. */
void fake_copy(int way, int from, int to, uint64_t bytes, uint32_t stream);
void fake_copy_peer(int from_device, int to_device, uint64_t bytes, uint32_t stream);
void fake_memset(uint64_t bytes, uint32_t stream);
void fake_graph(const char *const *kernels, uint32_t count, uint32_t stream);   /* one launch */
void fake_capture_node(uint32_t node);   /* a call makes a node of graph 4, of which */
void fake_instantiate(uint32_t count);   /* fake_graph's, 5, is a clone then */
void fake_runtime_call(uint32_t cbid);   /* a call that launches nothing */
void fake_driver_call(uint32_t cbid);
/* A stream's capture begins or ends: 13.0 tells of the driver's calls, by the runtime, too. */
void fake_capture_call(uint32_t cbid, int result);
void fake_alloc(uint64_t address, uint64_t bytes, bool release);
void fake_event_record(uint32_t event, uint32_t stream);
void fake_wait_event(uint32_t event, uint32_t stream);
void fake_overhead(uint32_t kind, uint64_t ns);
void fake_marker(uint32_t id, uint32_t flags, const char *name);
void *fake_stream(uint32_t stream);      /* its CUstream */

/* Hands bytes over as a buffer of which it says that valid bytes are good. */
void fake_deliver(const void *bytes, size_t size, size_t valid);
/* The next buffers' records are walked wrongly: 1 past the end, 2 backwards, 3 misaligned. */
void fake_walk_wrongly(int way);

#ifdef __cplusplus
}
#endif
#endif
