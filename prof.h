/* prof.h: the PyTorch profiler's answers for any C or C++ program, from one header.
   MIT-0 license (end of file). Version: see PROF_VERSION.

   Do this
       #define PROF_IMPLEMENTATION
       #include "prof.h"
   in ONE C or C++ file, and #include "prof.h" alone in every other file that marks zones.
   On older systems link with -lpthread.

   In 10 lines
       #define PROF_IMPLEMENTATION
       #include "prof.h"
       static void work(void) { PROF_FUNCTION(); PROF_BLOCK("inner") { ... } }
       int main(void) {
           prof_start(NULL);
           for (int i = 0; i < 1000; i++) work();
           prof_trace *trace = prof_stop();
           prof_print_table(trace, NULL);
           return prof_save_chrome(trace, "trace.json") != PROF_OK;
       }

   Macros (define before the include; those marked * must be the same in every file)
       PROF_IMPLEMENTATION    put the function bodies here
       PROF_STATIC            everything static: each such file is a profiler of its own
       PROF_API a             what stands before each declaration, for one profiler in a program
                              and its shared libraries: visibility("default") with -fvisibility=
                              hidden; on Windows __declspec(dllexport) in the library that has the
                              implementation, __declspec(dllimport) elsewhere (zones are calls then)
       PROF_TLS_MODEL "m"     how the thread's state is reached (gcc's tls_model). Taken without:
                              "initial-exec" with glibc or in programs, gcc's choice in shared
                              libraries elsewhere, so that musl can open them by dlopen
       PROF_DISABLE           this file's zones become nothing; functions stay
       PROF_ARENA_SIZE n      bytes of the built-in arena (64 MiB, of which untouched pages cost
                                nothing; freestanding: 8 KiB)
       PROF_MAX_SITES n       distinct (name, file, line) a process can mark (16384; freestanding:
                                64, of 4 bytes each)
       PROF_SITE_TEXT n       bytes for their names and file names (1 MiB)
       PROF_NOW()             * your own clock expression, uint64_t ticks; set
                                desc.platform.ticks_per_second with it (freestanding: beside
                                PROF_IMPLEMENTATION is enough)
       PROF_ZLIB              what saves to a file writes .gz ones too (link with -lz)
       PROF_INSTRUMENT_FUNCTIONS   beside PROF_IMPLEMENTATION: every function that is compiled
                                with -finstrument-functions is a zone, named from the program's
                                symbols (Linux; elsewhere by address)
       PROF_METADATA_SIZE n   bytes for prof_add_metadata (8 KiB)
       PROF_NO_STB            formats (prof_push_f and its kin) are the C library's, even where
                              stb_sprintf.h is there
     Freestanding builds (room @TARGET; implied by -ffreestanding)
       PROF_FREESTANDING      * no C library, no OS, no threads, no files
       PROF_LOCK() PROF_UNLOCK(s)   keep interrupts out, let them in again (PRIMASK or mstatus
                                where contexts do not do without); all zones are then one row
       PROF_CONTEXT()         which interrupt or task runs: 0.. (IPSR on Cortex-M)
       PROF_MAX_CONTEXTS n    how many there are, 4 bytes each (127 from Cortex-M3 up, 48 on M0,
                                else 1, or 8 with PROF_CONTEXT)
       PROF_STRING            with PROF_IMPLEMENTATION: memcpy, memset and their kin are defined
                                here, for images without a C library

   How it works
       Each thread owns a shadow stack of its open zones and writes ONE 12-byte record when a zone
       ends, into a chunk of the arena that only it writes. Nothing is allocated, locked or shared
       between threads on that path. prof_stop() reads the published records; the first query
       builds the event tree from them in one pass.

   Memory
       All of it comes from one range: desc.memory, or a static array of PROF_ARENA_SIZE bytes.
       There is no malloc. A zone takes 12 bytes, and tables, stacks and traces are made of these;
       where zones carry more, or with desc.events, it is recorded only while room is left for its
       event (96 bytes in all). So whatever was recorded can be reported. When the arena is full
       the timeline ends, and later zones are added up per name (desc.when_full; freestanding: they
       are dropped). What is not kept is counted in prof_stats and named under the table and in the
       trace's metadata. desc.mode has other ways: the last zones only, a stream, sums alone.

   Threads
       Zones, prof_push/prof_pop, prof_instant, prof_counter: any thread, no lock. A zone begins and
       ends on one thread. Session calls (start, stop) may come from any thread, one at a time.
       Queries and writers of a trace: one thread at a time.
       desc.memory must stay valid until every thread that recorded has exited or has called
       prof_thread_end().

   Signals and fork
       Zones, prof_push/prof_pop, prof_instant and prof_counter may be marked in a signal handler,
       which must close what it begins and return (no longjmp). One that interrupts the program
       anywhere else is recorded like any other code. One that interrupts the profiler costs at
       most its own zones and the one zone whose end it interrupted; when that one held others,
       "(lost)" stands for it. All other zones keep their names, places and order; times next to the
       interruption may be off by as long as the handler ran. What a handler marks while its thread
       is in the slow path (first zone, new chunk, new name, slow clock) is dropped and counted:
       dropped_busy; displaced records: lost. Not in a handler: prof_start, prof_stop, prof_step,
       prof_thread_end, prof_get_stats, queries.
       After fork() the child records nothing until it calls prof_start() itself; but see
       prof_start_env.

   What the figures mean
       CPU time is wall time, as in PyTorch: a zone that waits or is preempted goes on counting.
       Shares are of all threads' self time. Each level of a recursion counts, so that a total can
       pass 100 %. The clock is the CPU's counter where it runs at one rate, else, or with
       desc.os_clock, the system's; the two are compared at start, at stop and now and then
       between, for which the first prof_stop() may wait until 5 ms have passed since the first
       prof_start(). Parents and children come from the order of begins and ends, so that they are
       right even where the clock stands still; a clock that goes back is counted. An empty zone
       reads as about one clock read; the rest of its cost is its parent's self time.

   Errors
       Set-up and export return a prof_result; prof_strerror() says it in words. Recording cannot
       fail. Nothing here prints (but prof_print_table), aborts or exits.

   Rooms, in this order; each begins with a banner
       @API-TYPES @API-SESSION @API-TRACE @API-INLINE @API-MACROS
       @PLATFORM @ARENA @TEXT @SITES @FORMAT @RECORD @TARGET @PRINTF @DETAILS @SYMBOLS @FUNCTIONS
       @NATIVE @COUNTERS @NEST @COLLECT @TREE @OUTSIDE @AVERAGES @FLOPS @TABLE @CHROME @STACKS
       @MEMORY @EXECUTION @RAW @AGGREGATE @OBSERVE @SCHEDULE @SESSION
*/
#ifndef PROF_H
#define PROF_H

#if defined(__cplusplus) ? __cplusplus < 201103L && !defined(_MSC_VER) \
                         : defined(__STDC__) && !defined(_MSC_VER) && \
                               (!defined(__STDC_VERSION__) || __STDC_VERSION__ + 0 < 199901L)
#  error "prof.h needs C99 or C++11: compile with -std=c99 or -std=c++11, or a later one"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROF_VERSION "0.2.0"

#if defined(PROF_FREESTANDING) || (defined(__STDC_HOSTED__) && __STDC_HOSTED__ == 0)
#  define PROF__BARE 1                  /* no C library, no OS: see @TARGET */
#else
#  define PROF__BARE 0
#  if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__linux__)
#    error "prof.h on a microcontroller: -ffreestanding, or PROF_FREESTANDING in every file"
#  endif
#endif

#ifdef PROF_STATIC
#  undef PROF_API
#  define PROF_API static
#elif defined(PROF_API)                  /* the user's: where the functions come from or go to */
#  define PROF__SHARED 1
#  define PROF__DATA extern PROF_API
#else
#  define PROF_API extern
#  define PROF__DATA extern
#endif

/* stb_sprintf: 2: the program has included it, 1: its header is there, 0: it is not. */
#define PROF__STB 0
#ifdef PROF_NO_STB
#elif defined(STB_SPRINTF_H_INCLUDE)
#  undef PROF__STB
#  define PROF__STB 2
#elif defined(__has_include)
#  if __has_include(<stb/stb_sprintf.h>)
#    undef PROF__STB
#    define PROF__STB 1
#    define PROF__STB_HEADER <stb/stb_sprintf.h>
#  elif __has_include("stb_sprintf.h")
#    undef PROF__STB
#    define PROF__STB 1
#    define PROF__STB_HEADER "stb_sprintf.h"
#  endif
#endif
#if defined(__clang__) || defined(__CUDACC__)   /* nvcc warns of gnu_printf */
#  define PROF__PRINTF(text, first) __attribute__((format(printf, text, first)))
#elif defined(__GNUC__) && !defined(__TINYC__)
#  define PROF__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#  define PROF__PRINTF(text, first)
#endif
#if defined(__GNUC__) && __GNUC__ > 10 && !defined(__CUDACC__)
#  define PROF__ADDRESS(i) __attribute__((access(none, i)))   /* not what is there */
#else
#  define PROF__ADDRESS(i)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- @API-TYPES: results, descriptions, events, averages ---- */

typedef enum prof_result {
    PROF_OK = 0,
    PROF_ERROR_INVALID,      /* an argument is not one this call takes */
    PROF_ERROR_MEMORY,       /* the arena is too small: see prof_arena_size */
    PROF_ERROR_STATE,        /* not now: already started, or the trace is gone */
    PROF_ERROR_SINK,         /* a sink's write() returned false */
    PROF_ERROR_FILE,         /* the file could not be created, written or renamed */
    PROF_ERROR_UNSUPPORTED,  /* left out of this build (.gz without PROF_ZLIB), or the device
                                cannot record: its status says why */
    PROF_ERROR_NONE_RECORDED, /* the session was not told to: see the field of prof_desc */
    PROF_ERROR_JSON          /* text that must be JSON is not: prof_strerror says where */
} prof_result;

/* Where output goes. write() gets consecutive pieces and returns false to stop: the writer then
   returns PROF_ERROR_SINK and calls it no more; the trace stays usable. */
typedef struct prof_sink {
    bool (*write)(void *user, const void *data, size_t size);
    void *user;
} prof_sink;

/* The machine, where it is not the default one. A zeroed struct means: this machine's own. The
   fields with a star are for freestanding builds only. */
typedef struct prof_platform {
    uint64_t (*now)(void *user);         /* ticks; NULL: TSC or cntvct where usable, else the OS;
                                            *: DWT->CYCCNT, SysTick, cycle, or PROF_NOW() */
    uint64_t ticks_per_second;           /* of now(), * or of the clock that is there; 0: 1e9 */
    uint32_t clock_bits;                 /* * now() wraps after so many; 0: 64 */
    uint32_t (*thread_id)(void *user);   /* the id shown for the calling thread; NULL: the OS's;
                                            *: the number of the task, from 0 up */
    uintptr_t (*lock)(void *user);       /* * keeps interrupts and tasks out, returns what unlock */
    void (*unlock)(void *user, uintptr_t state);   /* gets back; NULL: PRIMASK, mstatus.MIE */
    void *user;                          /* handed to the calls above */
} prof_platform;

/* What a step of the schedule does: PyTorch's ProfilerAction. */
typedef enum prof_action {
    PROF_ACTION_NONE = 0,                /* nothing */
    PROF_ACTION_WARMUP,                  /* gets ready, records nothing */
    PROF_ACTION_RECORD,
    PROF_ACTION_RECORD_AND_SAVE          /* records; the window closes at this step's end */
} prof_action;

/* Which steps are recorded: the first skip_first never; then, again and again, wait steps nothing,
   warmup steps getting ready, active steps recorded. PyTorch: torch.profiler.schedule() */
typedef struct prof_schedule {
    uint32_t skip_first;                 /* steps before the first cycle */
    uint32_t wait, warmup, active;       /* steps of a cycle; active: 1 or more */
    uint32_t repeat;                     /* cycles; 0: to the end */
    uint32_t skip_first_wait;            /* not 0: the first cycle does not wait */
} prof_schedule;

enum {                                   /* prof_desc.activities */
    PROF_ACTIVITY_CPU = 1, PROF_ACTIVITY_CUDA = 2, PROF_ACTIVITY_XPU = 4, PROF_ACTIVITY_MTIA = 8,
    PROF_ACTIVITY_HPU = 16, PROF_ACTIVITY_PRIVATEUSE1 = 32
};

typedef struct prof_trace prof_trace;    /* what was recorded; valid until the next prof_start */

typedef enum prof_mode {                 /* what a session keeps, and what it does when full */
    PROF_MODE_TRACE = 0,                 /* every zone; see desc.when_full */
    PROF_MODE_RING,                      /* each thread's last zones: see prof_dump */
    PROF_MODE_STREAM,                    /* nothing: full chunks leave through desc.stream */
    PROF_MODE_AGGREGATE                  /* no zones, but their sums per name: prof_snapshot */
} prof_mode;

typedef enum prof_full {                 /* PROF_MODE_TRACE: what it does when the arena is full */
    PROF_FULL_SUMS = 0,                  /* the timeline ends; later zones are added up per name, so
                                            that averages and tables are those of the whole run */
    PROF_FULL_DROP                       /* drops them: dropped_full. Freestanding: always */
} prof_full;

typedef enum prof_stream_format {
    PROF_STREAM_RAW = 0,                 /* see "The raw stream"; prof_raw_feed reads it */
    PROF_STREAM_CHROME                   /* a Chrome JSON array; loads when it is cut off too */
} prof_stream_format;

typedef enum prof_native {               /* how a zone's native call stack is read */
    PROF_NATIVE_NONE = 0,                /* not at all */
    PROF_NATIVE_FRAMES,                  /* by frame pointers, some ns a frame; for code built with
                                            -fno-omit-frame-pointer (x86, aarch64; not Windows) */
    PROF_NATIVE_UNWIND                   /* by the system's unwinder, some us a zone; any code
                                            (the C library's backtrace(), Windows) */
} prof_native;

/* Zero-initialise; 0 always means the default. */
typedef struct prof_desc {
    void *memory;                        /* the arena, any alignment; NULL: the built-in one */
    size_t memory_size;                  /* its bytes; 0 where memory is NULL */
    prof_mode mode;
    prof_sink stream;                    /* PROF_MODE_STREAM: where prof_flush writes; needed */
    prof_stream_format stream_format;
    bool stream_inline;                  /* a thread whose chunks are full flushes them itself */
    bool records_only;                   /* no room for events and tables: for prof_dump */
    bool events;                         /* room is kept for the event of each zone: 96 bytes, not
                                            12; else see prof_events. Kept anyway but in
                                            PROF_MODE_TRACE, with details (from the first one on),
                                            devices, a schedule, node, merge_duplicates, an
                                            execution trace */
    prof_platform platform;
    uint32_t max_threads;                /* recording at the same time; 0: up to 256, as fit */
    uint32_t max_depth;                  /* open zones per thread that are in the timeline, at most
                                            255; 0: 64. Deeper ones: see prof_stats.deep */
    uint32_t max_sites;                  /* names made at run time that this session may use; 0: one
                                            for each KiB of the arena, 4096 at most */
    bool os_clock;                       /* use the OS clock even where the TSC would do */
    prof_schedule schedule;              /* all zero: record from start to stop, no steps */
    prof_action (*schedule_fn)(void *user, uint64_t step);   /* instead; NULL: schedule */
    void (*on_trace_ready)(void *user, prof_trace *trace);   /* see prof_step; NULL: none */
    void *user;                          /* handed to the two above */
    uint32_t activities;                 /* PROF_ACTIVITY_...; 0: all that are there */
    bool acc_events;                     /* a new window goes on in the same trace */
    bool merge_duplicates;               /* a zone that is the only child of one of its name is
                                            merged into it, as PyTorch does; else, and among zones
                                            in sums (prof_stats.summed), f in f counts 2 */
    bool record_shapes;                  /* prof_set_shapes, _strides, _inputs count */
    bool with_flops;                     /* prof_set_flops counts, and the formulas of prof_flops
                                            for zones with shapes; turns record_shapes on */
    bool with_modules;                   /* prof_module_push, prof_set_module count */
    bool with_stack;                     /* each event's stack is that of its zones, or */
    prof_native native_stack;            /* its native call stack, read as the zone begins; turns
                                            with_stack on; not in STREAM and AGGREGATE */
    const char *hw_counters;             /* of each zone, as "cycles,instructions"; 4 at most;
                                            see prof_hw_counter_name; not in STREAM and AGGREGATE */
    bool profile_memory;                 /* prof_memory_alloc and _free count */
    uint32_t node;                       /* 1 + the node_id of all zones; 0: none */
    prof_full when_full;                 /* see prof_stats.summed; a sixteenth of the arena or more
                                            is kept for sums, names, threads to come. Instants,
                                            counters, steps, and what zones carry end with the
                                            timeline */
} prof_desc;

/* A device that takes part in sessions (prof_cuda.h is one). The callbacks may be NULL; they run
   on the thread that starts, steps or stops the session, under no lock. */
typedef struct prof_device_desc {
    const char *name;                    /* "CUDA": in tables; lives as long as the process */
    uint8_t type;                        /* prof_device_type */
    uint32_t activity;                   /* the PROF_ACTIVITY_... that asks for it */
    prof_result (*prepare)(void *user);  /* warm-up: costly set-up, nothing is recorded yet */
    prof_result (*start)(void *user);    /* not called when prepare failed */
    prof_result (*stop)(void *user);     /* prof_submits what is left; only after a good start */
    void (*flush)(void *user);           /* at each prof_step while started */
    void (*late)(void *user);            /* before the trace is first read: prof_submits what stop
                                            kept back in a form of its own, smaller than events */
    bool (*stopped)(void *user);         /* it stopped by itself: prof_step ends the window */
    const char *(*status)(void *user);   /* NULL: well; else why not, for footer and metadata */
    size_t (*metadata)(void *user, char *buf, size_t size);   /* JSON members for the trace's
                                            head; their length, cut to size as snprintf */
    void *user;
} prof_device_desc;

typedef enum prof_clock {
    PROF_CLOCK_NONE,                     /* no session yet */
    PROF_CLOCK_OS,                       /* CLOCK_MONOTONIC, QueryPerformanceCounter */
    PROF_CLOCK_CPU,                      /* invariant TSC, cntvct_el0, or PROF_NOW() */
    PROF_CLOCK_PLATFORM                  /* desc.platform.now */
} prof_clock;

/* Counts since prof_start; with a schedule, of the last window. dropped is the sum of the dropped_
   fields. */
typedef struct prof_stats {
    uint64_t recorded;                   /* zones */
    uint64_t dropped;                    /* begins and other records that were not recorded */
    uint64_t dropped_full;               /* ... the arena was full, and the room for sums too */
    uint64_t dropped_deep;               /* ... more than max_depth zones were open, and no room for
                                            them in sums */
    uint64_t dropped_threads;            /* ... no thread state was free (max_threads) */
    uint64_t dropped_sites;              /* ... what is no zone, for want of a name. Freestanding:
                                            zones, too: more names than PROF_MAX_SITES */
    uint64_t dropped_busy;               /* ... a signal handler's, or the lock was held too long */
    uint64_t unbalanced;                 /* ends of zones that had been ended: ignored */
    uint64_t healed;                     /* zones left open when an outer one ended, or that
                                            prof_unwind ended */
    uint64_t cut;                        /* ends without a begin in this session: ignored. It was
                                            before, or is missing: nothing is kept while off */
    uint64_t unfinished;                 /* zones ended by prof_stop or by their thread's exit */
    uint64_t clock_steps;                /* times the clock went back */
    uint64_t names_cut;                  /* names shortened to 4095 bytes, formatted ones to 255 */
    uint64_t rejected;                   /* events from outside that end before they start, or of
                                            no thread that there is */
    uint64_t duplicates;                 /* ... merged into a parent of the same name */
    uint64_t overlaps;                   /* ... that overlap another only partly */
    uint64_t no_forward;                 /* ... backward events without fwd_thread: no stack */
    uint64_t unlinked;                   /* ... device events whose launch is not there */
    uint64_t schedule_errors;            /* transitions that lose a window, and actions that are
                                            none, since prof_start */
    uint64_t lost;                       /* records that signal handlers displaced, "(lost)" */
    uint64_t overwritten;                /* zones that PROF_MODE_RING no longer holds */
    uint64_t stalls;                     /* PROF_MODE_STREAM: times a thread's chunks were full */
    uint64_t stream_failures;            /* ... and times its sink returned false */
    uint64_t memory_unknown;             /* frees of what was not allocated in this trace */
    uint64_t memory_twice;               /* frees of what had been freed */
    uint64_t memory_missed;              /* allocations where one still stood */
    uint64_t memory_refused;             /* allocations of more than 2^63 - 1 bytes */
    uint64_t async_open;                 /* ranges that never ended; known after prof_stop */
    uint64_t async_twice;                /* ... that ended twice: the first end counts */
    uint64_t details_cut;                /* inputs, texts, arguments and stacks that did not fit */
    uint64_t not_kept;                   /* in sums: counters, instants, steps, attributes. Events
                                            submitted to sessions that are not analysed */
    uint64_t others_names;               /* zones in "(others)", their own name could not be stored:
                                            more names than max_sites */
    uint64_t others_sites;               /* ... more marks and functions than PROF_MAX_SITES */
    uint64_t others_full;                /* ... no room in the arena for the name or its sums */
    uint64_t others_busy;                /* ... a signal handler's, or the lock was held too long */
    uint64_t deep;                       /* zones in max_depth others: as summed, which has
                                            them, too. "(in sums)" stands in the timeline for
                                            the outermost. Streams and records_only drop them */
    uint32_t threads;                    /* that recorded */
    prof_clock clock;
    uint64_t ticks_per_second;           /* of that clock, as far as it is known */
    size_t bytes_used, bytes_total;      /* of the arena: records, states, and the analysis share */
    uint32_t warnings;                   /* PROF_WARN_... */
    uint64_t window_ns;                  /* how long the last window was open, and what the profiler
                                            itself took for all of them, by the OS's clock: */
    uint64_t prepare_ns, start_ns, stop_ns, analysis_ns;
    uint64_t summed;                     /* zones that came when the arena was full, and deep ones:
                                            they are in no timeline, but in averages and tables.
                                            recorded has those in the timeline */
    uint64_t timeline_ns;                /* when the first thread's timeline ended, since the start;
                                            known after prof_stop. 0: none did */
} prof_stats;

enum {                                   /* prof_stats.warnings, and in the trace's head */
    PROF_WARN_NO_WARMUP = 1,             /* a schedule without: the first step has it all */
    PROF_WARN_SCHEDULE = 2,              /* see schedule_errors */
    PROF_WARN_DEVICE = 4                 /* one that was asked for could not record, or not all */
};

#define PROF_NONE UINT32_MAX             /* no such index */
#define PROF_COUNTERS 4                  /* that desc.hw_counters may name */
#define PROF_OTHER_DEVICES 3             /* types of devices with figures of their own, but one */

/* c10::DeviceType's numbers. */
typedef enum prof_device_type {
    PROF_DEVICE_CPU = 0, PROF_DEVICE_CUDA = 1, PROF_DEVICE_MKLDNN = 2, PROF_DEVICE_OPENGL = 3,
    PROF_DEVICE_OPENCL = 4, PROF_DEVICE_IDEEP = 5, PROF_DEVICE_HIP = 6, PROF_DEVICE_FPGA = 7,
    PROF_DEVICE_MAIA = 8, PROF_DEVICE_XLA = 9, PROF_DEVICE_VULKAN = 10, PROF_DEVICE_METAL = 11,
    PROF_DEVICE_XPU = 12, PROF_DEVICE_MPS = 13, PROF_DEVICE_META = 14, PROF_DEVICE_HPU = 15,
    PROF_DEVICE_VE = 16, PROF_DEVICE_LAZY = 17, PROF_DEVICE_IPU = 18, PROF_DEVICE_MTIA = 19,
    PROF_DEVICE_PRIVATEUSE1 = 20
} prof_device_type;

enum {                                   /* prof_event.flags */
    PROF_EVENT_UNFINISHED = 1,           /* never ended: closed by prof_stop or its thread's exit */
    PROF_EVENT_ASYNC = 2,                /* is_async: total time only, no parent, no children */
    PROF_EVENT_REMOTE = 4,               /* is_remote */
    PROF_EVENT_LEGACY = 8,               /* is_legacy: its one kernel covers its children's too */
    PROF_EVENT_USER_ANNOTATION = 16,     /* is_user_annotation */
    PROF_EVENT_SUBMITTED = 64,           /* from outside: set by the library */
    PROF_EVENT_PARTIAL = 128             /* PROF_MODE_RING: what was within it is lost in part */
};

/* One device activity that an event launched. PyTorch: Kernel */
typedef struct prof_kernel {
    const char *name;
    int64_t duration_ns;
    int32_t device;
} prof_kernel;

/* One input. items NULL: a tensor of count dimensions, or none (0); else a list of count tensors,
   whose own items are NULL. */
typedef struct prof_shape {
    const int64_t *dims;
    const struct prof_shape *items;
    uint32_t count;
} prof_shape;

/* Where memory is. index: which one of that type; 0 for the CPU. */
typedef struct prof_device { uint8_t type; int8_t index; } prof_device;

/* Which tensor an input or output is, for execution traces. */
typedef struct prof_tensor {
    uint64_t id, storage;                /* numbers of one's own, its and its memory's; 0: none */
    int64_t offset;                      /* in elements, in its storage */
    prof_device device;
} prof_tensor;

enum {                                   /* prof_extra.has: fields whose 0 is a value */
    PROF_HAS_NODE_ID = 1, PROF_HAS_SEQUENCE_NR = 2, PROF_HAS_FWD_THREAD = 4, PROF_HAS_ID = 8,
    PROF_HAS_DEVICE_INDEX = 16, PROF_HAS_LINK = 32, PROF_HAS_END_THREAD = 64, PROF_HAS_LAUNCH = 128,
    PROF_HAS_KEPT_TEXT = 256             /* for prof_submit of many events with the same text:
                                            activity_type and metadata_json are not copied, they
                                            live as long as the trace; behind metadata_json the
                                            Chrome trace has "correlation", from id, or else from
                                            linked_correlation_id. Not for zones */
};

/* What few events have: the rest of PyTorch's FunctionEvent. Zeroed: nothing is known. */
typedef struct prof_extra {
    uint32_t has;                        /* PROF_HAS_...; a field it does not name is the default */
    int32_t node_id;                     /* -1 */
    int64_t sequence_nr;                 /* -1 */
    uint64_t fwd_thread;                 /* of a backward event: thread id of its forward */
    uint64_t end_thread;                 /* thread id where it ended; the thread it began on */
    int64_t id;                          /* correlation id */
    int64_t linked_correlation_id;       /* id of the event that launched this one; 0: none */
    int64_t external_id;
    int64_t launch_ns;                   /* launched then, by the innermost zone of launch_thread */
    uint32_t launch_thread;              /* index into prof_threads() */
    int32_t device_index;
    int64_t device_resource_id;          /* stream; PROF_ROW_SYNC + stream: the waits for it */
    const char *overload_name;           /* NULL or "": none */
    const char *trace_name;              /* NULL: the name; "": none, left out of legacy traces */
    const char *activity_type;           /* Kineto's category, as "kernel"; NULL: by device type */
    const char *kwinputs, *metadata_json;   /* JSON: an object; members without the braces. What
                                            is none shows as text */
    const char *backend, *module_hierarchy;
    const prof_shape *input_shapes, *strides;
    const char *const *dtypes, *const *concrete_inputs;   /* input_count each, or NULL */
    const prof_shape *output_shapes;     /* output_count each, or NULL */
    const char *const *output_dtypes;
    const prof_tensor *tensors;          /* of the inputs, then of the outputs; tensor_count */
    uint32_t input_count, output_count, tensor_count;
    uint32_t stack_count, kernel_count;
    const char *const *stack;            /* "file(line): function", innermost first */
    const prof_kernel *kernels;
    int64_t cpu_memory_usage;            /* bytes allocated less freed, children included */
    int64_t device_memory_usage;
    int64_t flops;
    const int64_t *counters;             /* desc.hw_counters of this zone, children included */
    uint8_t counter_count;
    uint8_t scope;                       /* at::RecordScope; 1: backward */
} prof_extra;

enum { PROF_ROW_SYNC = 1000000 };        /* as Kineto numbers those rows */

/* Where a zone is marked in the source. Strings live as long as the process. */
typedef struct prof_site {
    const char *name, *file, *function;
    uint32_t line;
} prof_site;

/* One occurrence of a zone, or a device activity: PyTorch's FunctionEvent. Indices are into
   prof_events(). */
typedef struct prof_event {
    const char *name;                    /* UTF-8 as given; lives as long as the trace */
    const prof_extra *extra;             /* NULL: a plain zone */
    int64_t start_ns, end_ns;            /* time_range; 0: the session's or window's start */
    int64_t self_cpu_time_total_ns;      /* less the direct children */
    uint32_t parent;                     /* cpu_parent; PROF_NONE: top level */
    uint32_t first_child, next_sibling;  /* cpu_children, in the order they began */
    uint32_t thread;                     /* index into prof_threads() */
    uint32_t site;                       /* number of its name and place; 0: none */
    uint8_t depth;                       /* events around it; 255: that many or more */
    uint8_t device_type;                 /* prof_device_type */
    uint16_t flags;                      /* PROF_EVENT_... */
} prof_event;

typedef enum prof_memory_kind {          /* as PyTorch's memory timeline tells them apart */
    PROF_MEMORY_UNKNOWN = 0, PROF_MEMORY_PARAMETER, PROF_MEMORY_OPTIMIZER_STATE,
    PROF_MEMORY_INPUT, PROF_MEMORY_TEMPORARY, PROF_MEMORY_ACTIVATION, PROF_MEMORY_GRADIENT,
    PROF_MEMORY_AUTOGRAD_DETAIL
} prof_memory_kind;

/* Memory handed out or taken back, told of afterwards: see prof_submit_memory. */
typedef struct prof_memory_change {
    int64_t ns;                          /* when, by prof_now()'s clock */
    uint64_t address;
    uint64_t bytes;                      /* 2^63 - 1 at most; of a free: not looked at */
    uint32_t thread;                     /* whose zone that is open then has it: an index from
                                            prof_submit_thread or prof_threads; PROF_NONE: none's */
    prof_device device;
    prof_memory_kind kind;               /* of a free: that of its allocation */
    bool is_free;
} prof_memory_change;

/* What a companion asks of the session: see prof_session_info. */
typedef struct prof_session {
    bool open;                           /* prof_start or prof_prepare came, prof_stop not yet */
    uint32_t enabled;                    /* PROF_ACTIVITY_... that the window records, or recorded
                                            until the device's stop(); without those that
                                            prof_toggle has turned off. 0: no session */
    int64_t start_ns;                    /* prof_os_now() where prof_now() is 0; 0: no window is
                                            open, or the clock is desc.platform.now */
    prof_desc desc;                      /* as prof_start got it, 0 where that is the default; what
                                            with_flops and native_stack turn on is on. Without a
                                            session: the last one's */
} prof_session;

/* A range that prof_async_begin began. */
typedef struct prof_async { uint64_t id, start; uint32_t generation, site, thread; } prof_async;

/* How many zones a thread has open: see prof_mark. A value, to be kept as it is. */
typedef struct prof_place { uint64_t thread; uint32_t generation, zones, dropped; } prof_place;

/* What prof_flops takes beside the shapes of the inputs. Zeroed: the defaults. */
typedef struct prof_flops_desc {
    bool with_flops;                     /* the small set; see prof_flops */
    bool transposed;                     /* convolution: a transposed one */
    bool no_grad_input, no_grad_weight;  /* convolution_backward: output_mask without these */
    prof_shape stride, padding, dilation;   /* a value per dimension of the kernel, or one for
                                            all; count 0: stride 1, padding 0, dilation 1 */
    int64_t groups;                      /* 0: what the shapes say */
    const prof_shape *output;            /* convolution: the result's; NULL: computed */
    const char *const *concrete_inputs;  /* for formulas of one's own: the inputs as text, as many
                                            as shapes; NULL: not known */
    const char *kwinputs;                /* ... and the named ones, a JSON object; NULL: none */
} prof_flops_desc;

/* An event's amounts, its own and less those of its children. All 0 for what has none. */
typedef struct prof_event_totals {
    int64_t cpu_time_total_ns, self_cpu_time_total_ns;
    int64_t device_time_total_ns, self_device_time_total_ns;
    int64_t cpu_memory_usage, self_cpu_memory_usage;         /* bytes */
    int64_t device_memory_usage, self_device_memory_usage;
} prof_event_totals;

/* A thread that recorded. */
typedef struct prof_thread_info {
    uint64_t id;                         /* the OS's thread id, or platform.thread_id's */
    const char *name;                    /* prof_set_thread_name; NULL: none given */
} prof_thread_info;

/* All occurrences of one name, or of what prof_averages_desc adds to it: FunctionEventAvg. */
typedef struct prof_average {
    const char *key;                     /* the name */
    uint64_t count;
    int64_t cpu_time_total_ns, self_cpu_time_total_ns;
    int64_t min_ns, max_ns;              /* of cpu_time, one call */
    int64_t p50_ns, p90_ns, p99_ns;      /* half of the calls took no longer, ...; only in
                                            PROF_MODE_AGGREGATE, and where they were asked for */
    int64_t device_time_total_ns, self_device_time_total_ns;
    int64_t cpu_memory_usage, self_cpu_memory_usage;         /* bytes */
    int64_t device_memory_usage, self_device_memory_usage;
    int64_t flops;
    int64_t counters[PROF_COUNTERS], self_counters[PROF_COUNTERS];   /* prof_hw_counter_name */
    const char *overload_name;           /* "" unless grouped by it */
    const prof_shape *input_shapes;      /* input_count; PROF_NONE: not grouped by them */
    const char *const *stack;            /* stack_count, at most group_by_stack_n */
    uint32_t input_count, stack_count;
    uint32_t parent;                     /* cpu_parent of the first event, so too; PROF_NONE: top
                                            level */
    uint32_t first;                      /* index of the first event, where prof_events were made;
                                            else of the row */
    int32_t node_id;                     /* -1: none */
    uint8_t device_type, scope;
    bool is_async, is_remote;            /* of the first event */
    bool is_legacy, is_user_annotation;
    bool is_recursive;                   /* calls of it lie in each other: each is in the total;
                                            freestanding: false */
#if !PROF__BARE
    const prof_site *site;               /* group_by_site: file and line; NULL: it has no place */
    int64_t other_device_ns[PROF_OTHER_DEVICES];        /* of device_time_total_ns, and of */
    int64_t self_other_device_ns[PROF_OTHER_DEVICES];   /* self_: prof_view.other_devices' part */
#endif
} prof_average;

typedef enum prof_metric {
    PROF_METRIC_NONE = 0,                /* table: first-seen order; stacks: self CPU time */
    PROF_METRIC_SELF_CPU_TIME_TOTAL,
    PROF_METRIC_CPU_TIME_TOTAL,
    PROF_METRIC_CPU_TIME,                /* the average of one call */
    PROF_METRIC_COUNT,
    PROF_METRIC_SELF_DEVICE_TIME_TOTAL,
    PROF_METRIC_DEVICE_TIME_TOTAL,
    PROF_METRIC_DEVICE_TIME,
    PROF_METRIC_CPU_MEMORY_USAGE,
    PROF_METRIC_SELF_CPU_MEMORY_USAGE,
    PROF_METRIC_DEVICE_MEMORY_USAGE,
    PROF_METRIC_SELF_DEVICE_MEMORY_USAGE,
    PROF_METRIC_FLOPS,
    PROF_METRIC_LAST                     /* how many there are */
} prof_metric;

typedef enum prof_time_unit {
    PROF_TIME_AUTO = 0, PROF_TIME_S, PROF_TIME_MS, PROF_TIME_US
} prof_time_unit;

/* Grouping, beside name, node, device type, legacy and user annotation flag; zeroed: no more. */
typedef struct prof_averages_desc {
    bool group_by_input_shapes, group_by_overload_name;
    uint32_t group_by_stack_n;           /* by the innermost n stack entries */
    bool percentiles;                    /* p50_ns, p90_ns, p99_ns of each row, exact; in tables
                                            with min and max. They take a sort of the events */
    bool group_by_site;                  /* by the file and line of its macro, where one name has
                                            several; in tables a column "Source". Names made at run
                                            time have no place; of functions the compiler
                                            instrumented, static ones have their file (Linux).
                                            Freestanding: not taken */
} prof_averages_desc;

typedef enum prof_format {
    PROF_FORMAT_TEXT = 0,
    PROF_FORMAT_CSV,                     /* RFC 4180, with a head; times in us. Before a text that
                                            begins with = + - @ is a ', else it is a formula */
    PROF_FORMAT_JSON                     /* an array of objects; times in us */
} prof_format;

/* EventList.table()'s arguments. Widths are in code points; UINT32_MAX: unlimited. */
typedef struct prof_table_desc {
    const prof_averages_desc *averages;  /* NULL: the events themselves, one row each */
    prof_metric sort_by;                 /* descending; 0: first-seen order */
    uint32_t row_limit;                  /* 0: 100; UINT32_MAX: all */
    uint32_t max_name_column_width;      /* 0: 55 */
    uint32_t max_src_column_width;       /* 0: 75 */
    uint32_t max_shapes_column_width;    /* 0: 80 */
    const char *header;                  /* a line above the table; NULL: none */
    bool top_level_events_only;
    bool hide_notes;                     /* leave out what is below PyTorch's last line */
    prof_time_unit time_unit;
    prof_format format;
    uint32_t width;                      /* of a line: columns are narrowed, and the least useful
                                            left out and named below the table, until it fits.
                                            0: PyTorch's widths; prof_print_table: the terminal's */
    int64_t whole_cpu_ns, whole_device_ns;   /* what shares are of, where the rows are not all;
                                            0: of the sum over the rows */
} prof_table_desc;

/* What a table shows beside CPU times. EventList's use_device, profile_memory, with_flops. */
typedef struct prof_view {
    const char *device_name;             /* any text, printed upper-case; NULL: no device times */
    bool profile_memory, with_flops;
#if !PROF__BARE
    const char *counters[PROF_COUNTERS]; /* names of the rows' counters; NULL: no more */
    const char *other_devices[PROF_OTHER_DEVICES];   /* of other types than device_name's: their
                                            times have columns of their own; NULL: no more. What
                                            runs on more types than these is the last one's */
#endif
} prof_view;

/* A trace made of events from outside. */
typedef struct prof_trace_desc {
    void *memory;                        /* holds all of it; see prof_trace_memory_size */
    size_t memory_size;
    prof_view view;
    const prof_thread_info *threads;     /* event.thread is an index into it; */
    size_t thread_count;                 /* threads NULL: event.thread is the thread's id itself */
    int64_t base_time_ns;                /* of time 0, since 1970 */
    bool correlate;                      /* the events are raw activities: see the function */
    const char *(*demangle)(void *user, const char *name);   /* of `_Z...` when correlating; */
    void *user;                          /* NULL: none; its text must outlive the trace */
} prof_trace_desc;

typedef struct prof_memory_desc {        /* prof_write_memory_timeline; NULL: all zero */
    prof_device device;
    bool raw;
} prof_memory_desc;

typedef enum prof_chrome_format {
    PROF_CHROME_KINETO = 0,              /* an object, as torch.profiler's export_chrome_trace() */
    PROF_CHROME_ARRAY,                   /* an array, as PROF_STREAM_CHROME: loads when cut off */
    PROF_CHROME_LEGACY                   /* an array, as EventList.export_chrome_trace(): events
                                            with name and time only; not freestanding */
} prof_chrome_format;

/* Where zones are marked. Freestanding builds and the legacy array tell none. */
typedef enum prof_chrome_source {
    PROF_CHROME_SOURCE_AUTO = 0,         /* the head lists the places of names; events whose name
                                            has several say theirs: "args":{"source":"file:line"} */
    PROF_CHROME_SOURCE_NONE,             /* no file names at all */
    PROF_CHROME_SOURCE_ALL               /* all events say theirs */
} prof_chrome_source;

typedef struct prof_chrome_desc {
    prof_chrome_format format;
    bool window_marks;                   /* the recording's span, begin and end, as Kineto has them:
                                            their pids are texts, which speedscope rejects.
                                            Not freestanding, not in the legacy array */
    prof_chrome_source source;
} prof_chrome_desc;

/* ---- @API-SESSION: start, stop, and the calls that record ---- */

/* Opens a session; NULL or zeroed: every default. Any thread.
   PROF_ERROR_STATE: one is open. PROF_ERROR_MEMORY: the arena is too small.
   PROF_ERROR_INVALID: max_depth over 255, memory NULL with a size, a bad schedule (see
   prof_schedule_check), or activities of which none is there. PROF_ERROR_UNSUPPORTED: activities
   without PROF_ACTIVITY_CPU, and none of the devices can record; the OS's clock cannot be read; or
   native_stack or counters, where this system cannot do it: prof_strerror says what it lacks. */
PROF_API prof_result prof_start(const prof_desc *desc);

#if !PROF__BARE
/* What a warm-up step does, apart from a schedule: checks desc, takes the arena and touches its
   memory, lets devices prepare. Nothing is recorded until prof_start(NULL), which opens this
   session and then costs little. Errors are those of prof_start; PROF_ERROR_INVALID also where desc
   has a schedule. Until then prof_start(desc) says PROF_ERROR_STATE, prof_step does nothing, and
   prof_stop ends it with an empty trace. PyTorch: prepare_trace(), then start_trace() */
PROF_API prof_result prof_prepare(const prof_desc *desc);

/* For programs that are profiled when the environment asks for it: with PROF_TRACE=FILE these are
   prof_start(desc), and prof_stop and prof_save_chrome to FILE, whose %p is the process id; without
   they do nothing. Call them in main(), or where a session would be; prof record sets PROF_TRACE.
   FILE.raw is a raw stream that is written as it comes (FILE.json where a stream cannot have what
   desc asks for). A process that ends without prof_stop_env has its trace all the same, whole up to
   then: Linux: whatever way it ends, by a process beside it that shares its memory; elsewhere by
   exit. A child of fork records into a file of its own, where the name has %p. Other variables
   choose the mode, the memory and what is recorded: see tools/README.md.
   Errors are those of these calls, of a variable (PROF_ERROR_INVALID: prof_strerror says which), of
   the file of a stream; prof_stop_env: PROF_OK also where nothing was started. */
PROF_API prof_result prof_start_env(const prof_desc *desc);
PROF_API prof_result prof_stop_env(void);
#endif

/* Closes the session; zones still open end now. NULL only when no session was open (or in one of
   its callbacks). The trace holds the last window; an open one goes to on_trace_ready first.
   Threads may go on marking zones: they are not recorded. */
PROF_API prof_trace *prof_stop(void);

/* The next step begins: returns its action. Windows open and close here as the schedule says; one
   that is complete goes to on_trace_ready, while nothing is recorded, and dies when that returns.
   With a schedule each step is an event ProfilerStep#N of the calling thread. In a callback of the
   session prof_start, prof_step and prof_stop do nothing. Any thread, one at a time; without a
   session: PROF_ACTION_NONE. PyTorch: profile.step() */
PROF_API prof_action prof_step(void);

/* The number of the step, from 0. PyTorch: profile.step_num */
PROF_API uint64_t prof_step_number(void);

/* Turns recording of some activities (PROF_ACTIVITY_...) off or on inside a window; the next one
   begins with desc.activities again. Zones that are open end when their recording does.
   PROF_ERROR_STATE: no window is open. PyTorch: toggle_collection_dynamic */
PROF_API prof_result prof_toggle(uint32_t activities, bool enable);

/* Lets a device take part in the sessions to come; *device is copied. PROF_ERROR_STATE: a session
   is open, or one with this user was added. PROF_ERROR_MEMORY: there are 8 already.
   PROF_ERROR_INVALID: no name, or activity is not one bit above PROF_ACTIVITY_CPU. */
PROF_API prof_result prof_add_device(const prof_device_desc *device);

#if !PROF__BARE
/* The session as it is now, copied to *session. Any thread, a device's callbacks too; not in a
   signal handler. */
PROF_API void prof_session_info(prof_session *session);
#endif

/* The activities that desc.activities may ask for. PyTorch: supported_activities() */
PROF_API uint32_t prof_supported_activities(void);

/* What a schedule does at a step, from 0 on. Pure, any thread. active 0: PROF_ACTION_NONE. */
PROF_API prof_action prof_schedule_action(const prof_schedule *schedule, uint64_t step);

/* PROF_ERROR_INVALID: NULL, active 0, or a count above INT32_MAX (a negative number, most likely).
   skip_first_wait may be anything. */
PROF_API prof_result prof_schedule_check(const prof_schedule *schedule);

/* English, static, never NULL. After PROF_ERROR_MEMORY from prof_start it says how many bytes it
   takes (one text per process: read it before another thread calls prof_start). */
PROF_API const char *prof_strerror(prof_result result);

/* Counts of the open session, or of the last one. Any thread; exact after prof_stop. */
PROF_API prof_stats prof_get_stats(void);

/* Bytes of arena that desc needs to record and analyse at least one chunk of zones on each of its
   max_threads (0 counts as 1 here). */
PROF_API size_t prof_arena_size(const prof_desc *desc);

/* The session's clock: ns since its start. Any thread. 0 when none is open. */
PROF_API int64_t prof_now(void);

#if !PROF__BARE
/* The OS's steady clock, which device runtimes read too (CLOCK_MONOTONIC, QueryPerformanceCounter),
   in ns; it needs no session. prof_session.start_ns is by it. Any thread, also in a signal handler.
   0: it cannot be read. */
PROF_API int64_t prof_os_now(void);
#endif

/* Freestanding: sees that a 32-bit clock wraps. Call it at least once each half wrap, say from a
   timer's interrupt, where zones may be open or contexts silent for longer. Once called, go on
   with it to the end of the session: it is relied on. Hosted: nothing. */
PROF_API void prof_tick(void);

/* Categories of zones, a bit each, up to 32 of the program's own. PROF_SCOPE_IN and its kin mark a
   zone only while one of its categories is on; at first all are. Returns what was on. Any thread,
   at any time; open zones stay open. prof_category_on is for what PROF_BEGIN or prof_push mark. */
PROF_API uint32_t prof_set_categories(uint32_t on);
PROF_API bool prof_category_on(uint32_t categories);

/* A zone whose name is made at run time; name is copied (interned). NULL reads "(null)". */
PROF_API void prof_push(const char *name);
PROF_API void prof_pop(void);

/* The same by a format, as printf takes it; so are all that end in _f: 255 bytes at most, the rest
   is cut and counted (names_cut; details_cut). While nothing is recorded nothing is formatted.
   Each different text is a name of its own and takes its room: what differs much belongs into an
   argument (prof_set_arg_f). They are formatted by stb_sprintf, if its header is there as
   <stb/stb_sprintf.h> or "stb_sprintf.h" (Debian: libstb-dev) or was included before: then they are
   safe in signal handlers, as prof_push is, and take 2 KiB of stack. Hosted builds without it take
   vsnprintf, which is not. Freestanding builds need it; there it knows no floating point. */
PROF_API void prof_push_f(const char *format, ...) PROF__PRINTF(1, 2);

/* A moment, and a value that changes over time: shown in the Chrome trace. name is copied. */
PROF_API void prof_instant(const char *name);
PROF_API void prof_instant_f(const char *format, ...) PROF__PRINTF(1, 2);
PROF_API void prof_counter(const char *name, int64_t value);
#if !PROF__BARE
/* The same with a fraction: as many digits as it takes to read the same number back. NaN and the
   infinities show as null. Not freestanding: give it in thousandths to prof_counter there. */
PROF_API void prof_counter_f(const char *name, double value);
#endif

/* PROF_MODE_STREAM: writes what was recorded since the last flush to desc.stream. From an idle
   loop, or a thread of its own. PROF_ERROR_SINK: the sink returned false; what it did not take
   comes again with the next flush; zones are dropped, and counted, while all chunks are full.
   PROF_ERROR_STATE: no such session, or called from within the sink. The sink runs on the thread
   that flushes (any, one at a time) and must not call prof_start, prof_stop or prof_flush. */
PROF_API prof_result prof_flush(void);

/* PROF_MODE_AGGREGATE: the sums so far, a row for each name, in the order in which names came;
   while threads go on recording, or after prof_stop. Fills at most max rows and returns how many
   there are. Zones that are open do not count yet; those that end meanwhile may, or may not. p50,
   p90 and p99 are read from a histogram whose buckets double: at most a factor of 2 off. Rows go
   to prof_write_rows as table, CSV or JSON. Any thread; not in a signal handler: functions that the
   compiler instrumented and that are new get their names from the program's file. 0 in other modes.
   By place: prof_key_averages. */
PROF_API size_t prof_snapshot(prof_average *rows, size_t max);

/* Writes what PROF_MODE_TRACE or _RING holds, zones still open included, as a raw stream. Safe in a
   signal handler if out.write is: it takes no lock and calls only clock_gettime and getpid. Other
   threads may go on recording; what they overwrite meanwhile is left out. Also after prof_stop.
   PROF_ERROR_STATE: another mode, no session, or a dump is under way. */
PROF_API prof_result prof_dump(prof_sink out);

/* Names the calling thread in table and trace; copied, at most 63 bytes. Needs an open session. */
PROF_API void prof_set_thread_name(const char *name);
PROF_API void prof_set_thread_name_f(const char *format, ...) PROF__PRINTF(1, 2);

/* Gives back what this thread holds of the arena. Threads that exit do it by themselves. */
PROF_API void prof_thread_end(void);

#if !PROF__BARE
/* What longjmp, or another language's exception, leaves without an end: prof_mark() before setjmp
   says which zones are open, prof_unwind(mark) after the jump ends all that the calling thread has
   begun since and not ended. They end now, and count as healed. A mark is good for many jumps,
   while its zones are open. One of another thread or context, of another session or window, or of
   a zone that has ended is ignored and counted: unbalanced, or cut where the thread records
   nothing. One taken without a session does nothing. Any thread; not in a signal handler that
   interrupted the profiler: dropped_busy. C++ exceptions end scopes by themselves.
   Without these calls a thread that has three quarters of max_depth open ends what PROF_SCOPE and
   its kin, or instrumented functions, have begun since deeper in the stack than now, or at the same
   place (x86-64 and aarch64). */
PROF_API prof_place prof_mark(void);
PROF_API void prof_unwind(prof_place mark);

/* Fibers and coroutines: the calling thread goes on in another context, whose open zones are its
   own and whose row in the trace is its own. Returns the context that it leaves, to be given again
   when that one goes on, on any thread; NULL as argument, or a context of another session: a new
   one. So a scheduler's switch from a to b is: a->prof = prof_context_switch(b->prof). A context is
   over with prof_thread_end() while it is the current one, or with the session. Each takes a state
   and a chunk, as a thread does: see max_threads. NULL: no session, or none was current. */
PROF_API void *prof_context_switch(void *context);

/* ---- memory, with desc.profile_memory ---- */

/* An allocation, or a free: charged to the zones that are open on the calling thread, and an
   instant in the trace. A free's bytes are those of the allocation at this address, on any thread.
   pointer NULL with bytes: memory that could not be had, [OutOfMemory]; without: nothing.
   Counted and left out: over 2^63 - 1 bytes, frees of what was not allocated in this trace, and of
   what has been freed. Where an allocation still stood, its free was missed: counted too, and it
   ends. PyTorch: reportMemoryUsage() */
PROF_API void prof_memory_alloc(const void *pointer, size_t bytes, prof_device device)
    PROF__ADDRESS(1);
PROF_API void prof_memory_free(const void *pointer, prof_device device) PROF__ADDRESS(1);

/* What the calling thread's allocations are from now on; returns what they were, to be set again
   at the end of a block. */
PROF_API prof_memory_kind prof_memory_category(prof_memory_kind kind);

/* ---- what is not on one thread ---- */

/* A range that may end on another thread, by its token; a lane of its own in the trace, no part of
   the tree. Never ended, or ended twice: counted. */
PROF_API prof_async prof_async_begin(const char *name);
PROF_API void prof_async_end(prof_async token);

/* An arrow between the zones around two calls, on any threads: prof_flow(0) begins one and returns
   its number, prof_flow(number) ends it. Without its other end it is left out. 0: no session. */
PROF_API uint64_t prof_flow(uint64_t number);

/* ---- what the innermost open zone of the calling thread carries; all of it is copied ----
   Without a session or an open zone these do nothing. What is given twice, the last one counts. */

/* prof_push of a zone that carries this from its begin on, so that observers see it: of with, the
   input_ and output_ fields, dtypes, strides, concrete_inputs, kwinputs, tensors, flops, scope,
   sequence_nr, fwd_thread, overload_name, module_hierarchy, stack; id is for observers alone. */
PROF_API void prof_push_with(const char *name, const prof_extra *with);

/* Its inputs: shapes, and types as "float" (count of them, or NULL). With desc.record_shapes. Some
   200 dimensions in all; inputs past them are left out and counted. */
PROF_API void prof_set_shapes(const prof_shape *shapes, const char *const *dtypes, uint32_t count);
PROF_API void prof_set_strides(const prof_shape *strides, uint32_t count);

/* The inputs as text ("" for tensors), and named ones: a JSON object, or NULL. What is no JSON
   shows as text. With desc.record_shapes. PyTorch: concrete_inputs, kwinputs */
PROF_API void prof_set_inputs(const char *const *concrete, uint32_t count, const char *kwinputs);

/* Its outputs, as its inputs, and which tensors they all are (first the inputs, then the outputs;
   62 at most): for execution traces. With desc.record_shapes. */
PROF_API void prof_set_outputs(const prof_shape *shapes, const char *const *dtypes,
                               uint32_t count);
PROF_API void prof_set_tensors(const prof_tensor *tensors, uint32_t count);

/* Floating point operations; else prof_flops says. With desc.with_flops. */
PROF_API void prof_set_flops(uint64_t flops);

/* Joins backward zones with forward ones: an arrow in the trace, and with desc.with_stack the
   forward's stack for the backward zone and all within it; none where there is no such forward, as
   in PyTorch. scope 0: forward; 1: backward, of a forward on fwd_thread (see prof_thread_id). */
PROF_API void prof_set_sequence(int64_t sequence_nr, uint8_t scope, uint64_t fwd_thread);

/* overload_name, and module_hierarchy (with desc.with_modules). */
PROF_API void prof_set_overload(const char *name);
PROF_API void prof_set_module(const char *hierarchy);

/* An argument of one's own, shown in the Chrome trace; at most 16 a zone. */
PROF_API void prof_set_arg(const char *key, const char *text);
PROF_API void prof_set_arg_f(const char *key, const char *format, ...) PROF__PRINTF(2, 3);
PROF_API void prof_set_arg_int(const char *key, int64_t value);

/* A stack of one's own, say of an interpreter; innermost first. */
PROF_API void prof_set_stack(const char *const *entries, uint32_t count);

/* is_user_annotation: a range that the user marked, as PyTorch's record_function, not an op. */
PROF_API void prof_set_annotation(void);

/* Zones that begin between the two have name, after those of the pushes around it, as their module
   hierarchy: "model.encoder.0". With desc.with_modules. */
PROF_API void prof_module_push(const char *name);
PROF_API void prof_module_pop(void);

/* The calling thread's id, as in prof_thread_info. */
PROF_API uint64_t prof_thread_id(void);
#endif

#if !PROF__BARE
/* ---- observers: told of what is recorded, as it is recorded ---- */

/* The callbacks may be NULL. begin to counter run on the recording thread, which waits for them;
   zones in them are dropped and counted, and they must not start, step or stop the session. Each
   end belongs to the thread's last begin; zones that prof_stop closes get none. While there are
   observers every zone takes the slow path. */
typedef struct prof_observer {
    void (*begin)(void *user, const char *name);
    void (*end)(void *user, const char *name);
    void (*instant)(void *user, const char *name);
    void (*counter)(void *user, const char *name, int64_t value);
    void (*start)(void *user);           /* a window opens, before its first zone */
    void (*stop)(void *user);            /* it has closed */
    void (*cleanup)(void *user);         /* by prof_remove_observer */
    void *user;
    void (*begin_with)(void *user, const char *name, const prof_extra *with);   /* instead of
                                            begin; with: from prof_push_with, else NULL */
    void (*counter_f)(void *user, const char *name, double value);   /* of prof_counter_f; without
                                            it counter gets the value, towards 0 */
} prof_observer;

/* In the sessions to come, in the order in which they were added; copied. PROF_ERROR_STATE: a
   session is open, or one with this user was added. PROF_ERROR_MEMORY: there are 8.
   prof_remove_observer: PROF_ERROR_STATE: a session is open; PROF_ERROR_INVALID: no such user. */
PROF_API prof_result prof_add_observer(const prof_observer *observer);
PROF_API prof_result prof_remove_observer(const void *user);

/* Zones become NVTX ranges, instants NVTX marks, for nsys, ncu and other tools of NVTX; no header
   or library of theirs is needed. A range has what is known when it begins, PyTorch's way: "name,
   seq = 5, op_id = 7, sizes = [[2, 3]]": see prof_push_with. false: no more.
   PROF_ERROR_UNSUPPORTED: no tool listens; prof_strerror says what is missing (most likely
   NVTX_INJECTION64_PATH, which nsys and ncu set). PROF_ERROR_STATE: a session is open, or they are
   already; else see prof_add_observer. PyTorch: emit_nvtx() */
PROF_API prof_result prof_emit_nvtx(bool on);

/* The same with ITT tasks in the domain "prof", by their name, for VTune and others that set
   INTEL_LIBITTNOTIFY64. PyTorch: emit_itt() */
PROF_API prof_result prof_emit_itt(bool on);

/* ITT tasks of one's own; they need no session. Any thread. range_push returns the depth of the
   range that begins, range_pop that of the one that ends, 0 for the outermost of the thread; -1:
   there is no tool, or no range. text NULL: "". PyTorch: torch.profiler.itt */
PROF_API bool prof_itt_is_available(void);
PROF_API void prof_itt_mark(const char *text);
PROF_API int prof_itt_range_push(const char *text);
PROF_API int prof_itt_range_pop(void);

/* ---- the execution trace of all windows in one file: PyTorch's ExecutionTraceObserver ---- */

/* One for the process: a second register does nothing. The file is there at once; each window adds
   its nodes when it closes, and leaves a whole file. Only zones that begin while it runs, between
   start and stop, are in it; both may come before, between and within windows (16 times in one).
   The Chrome traces of these windows have their zones' ids, as prof et --link wants them.
   register: PROF_ERROR_FILE (errno says why), PROF_ERROR_INVALID: no path, or one over 1023 bytes.
   start: PROF_ERROR_STATE: not registered; PROF_ERROR_MEMORY: too often. unregister says what went
   wrong with the file; PROF_ERROR_STATE: the window has to close first, or (modes without events)
   there was nothing to write. After fork the child is not registered. Any thread, one at a time. */
PROF_API prof_result prof_execution_trace_register(const char *path);
PROF_API prof_result prof_execution_trace_start(void);
PROF_API void prof_execution_trace_stop(void);
PROF_API prof_result prof_execution_trace_unregister(void);
PROF_API bool prof_execution_trace_is_registered(void);
PROF_API bool prof_execution_trace_is_running(void);
PROF_API const char *prof_execution_trace_path(void);   /* NULL: not registered */

/* ---- what else the trace says of itself ---- */

/* A key of the trace's head, with text, or with JSON that was checked. A key given again has its
   last value. Given while no session is open it stays for all of them, else it is this session's
   alone. Any thread. PROF_ERROR_MEMORY: more than PROF_METADATA_SIZE bytes (8 KiB) in all.
   PROF_ERROR_JSON: json is not; prof_strerror says where and why. PyTorch: add_metadata(),
   add_metadata_json(), preset_metadata_json() */
PROF_API prof_result prof_add_metadata(const char *key, const char *text);
PROF_API prof_result prof_add_metadata_json(const char *key, const char *json);

/* With a text by a format. PROF_ERROR_MEMORY also: it is there, but cut to 255 bytes. */
PROF_API prof_result prof_add_metadata_f(const char *key, const char *format, ...)
    PROF__PRINTF(2, 3);

/* The process among others: the key distributedInfo. pg_config: a JSON array, or NULL. */
typedef struct prof_distributed {
    const char *backend;                 /* "nccl" */
    uint32_t rank, world_size, pg_count;
    const char *pg_config, *nccl_version;
} prof_distributed;
PROF_API prof_result prof_set_distributed(const prof_distributed *info);

/* An on_trace_ready that saves each window as DIR/WORKER.TIME_NS.pt.trace.json: desc.on_trace_ready
   = prof_trace_handler; desc.user = &handler. The directory is made. What went wrong last is in
   result. PyTorch: tensorboard_trace_handler() */
typedef struct prof_handler {
    const char *dir;                     /* NULL: "." */
    const char *worker;                  /* NULL: HOSTNAME_PID */
    bool gzip;                           /* .gz, with PROF_ZLIB */
    prof_result result;
    uint32_t saved;                      /* windows */
} prof_handler;
PROF_API void prof_trace_handler(void *handler, prof_trace *trace);
#endif

/* ---- @API-TRACE: what was recorded, and the writers ---- */

/* All events by (start, -end, thread, depth): a parent stands before its children. They are made by
   the first call that needs them, and live as long as the trace. NULL and 0 when there are none;
   NULL and how many there are, where the arena has no room for them (in a session without
   desc.events they are eight times as long as the records): prof_strerror(PROF_ERROR_MEMORY) tells
   how many bytes they take. PyTorch: profile.events() */
PROF_API const prof_event *prof_events(const prof_trace *trace, size_t *count);

#if !PROF__BARE
/* The same, in the caller's memory where the arena has no room: any alignment, it must live as long
   as the trace is used. NULL: it is too small, count is how many there are. */
PROF_API const prof_event *prof_make_events(const prof_trace *trace, void *memory, size_t size,
                                            size_t *count);
#endif

/* The threads that recorded, by index. */
PROF_API const prof_thread_info *prof_threads(const prof_trace *trace, size_t *count);

/* Name and place of an event; NULL when it has none. */
PROF_API const prof_site *prof_event_site(const prof_trace *trace, const prof_event *event);

/* The name of desc.hw_counters' number i, from 0; NULL: there are not so many. Names are those of
   `perf list`: cycles, instructions, cache-references, cache-misses, branches, branch-misses,
   ref-cycles, stalled-cycles-frontend, stalled-cycles-backend, L1-dcache-loads,
   L1-dcache-load-misses, LLC-loads, LLC-load-misses, dTLB-load-misses, iTLB-load-misses, and rHEX
   for a raw one (all of them in user mode only); task-clock (ns), page-faults, minor-faults,
   major-faults, context-switches, cpu-migrations. Linux: perf_event_open, a group for each thread,
   each of it read by a call of some 0.5 us at each begin and end. They are arguments in the trace,
   columns of tables and fields of averages. A zone that ends on another thread than it began on, or
   that prof_stop ends, has none. prof_start says PROF_ERROR_UNSUPPORTED, and prof_strerror why,
   where one is not known, not there or not allowed.
   Threads keep theirs (a few file descriptors) until they exit or call prof_thread_end. */
PROF_API const char *prof_hw_counter_name(const prof_trace *trace, uint32_t i);

#if !PROF__BARE
/* What tables call a prof_device_type where no device of that type was added: "cuda", "mps";
   "device" where there is no such type. Static. Any thread. */
PROF_API const char *prof_device_name(uint8_t type);
#endif

/* An event's times and memory, with and without its children. */
PROF_API prof_event_totals prof_event_total(const prof_trace *trace, const prof_event *event);

#if !PROF__BARE
/* The device activities that an event launched: fills at most max and returns how many there are.
   PyTorch: FunctionEvent.kernels */
PROF_API size_t prof_event_kernels(const prof_trace *trace, const prof_event *event,
                                   prof_kernel *kernels, size_t max);
#endif

/* One row per name and what desc (NULL: nothing) adds to it, in first-seen order; fills at most max
   and returns how many there are, so (NULL, 0) asks for the number. PyTorch: key_averages() */
PROF_API size_t prof_key_averages(const prof_trace *trace, const prof_averages_desc *desc,
                                  prof_average *rows, size_t max);

/* The sum over all events, key "Total"; what is no sum is the last event's. total_average() */
PROF_API prof_average prof_total_average(const prof_trace *trace);

#if !PROF__BARE
/* Adds from, a row of another window or trace, to a row of the same name: sums, counts, least and
   most. p50, p90 and p99, where both have them, are estimated from both rows' five points (least to
   most, straight between), exact where one row has no calls; else 0, not known. into zeroed, or its
   key NULL: it takes name, node, shapes and what else tells rows apart from `from` (texts stay
   those of its trace). Sums wrap past 2^63. Pure, any thread.
   PROF_ERROR_INVALID: NULL, or the names differ; into is as it was. PyTorch:
   FunctionEventAvg.__iadd__ */
PROF_API prof_result prof_average_add(prof_average *into, const prof_average *from);

/* Floating point operations of one call of op, by its inputs' shapes; a multiply and an add are
   two. 0: none, op is not known, or the shapes are not ones it takes; at most UINT64_MAX.
   `aten::` before op may be left out; desc NULL: defaults. Pure, any thread. There are two sets:
   - PyTorch's flop registry (torch.utils.flop_counter), for the ops that do the work: mm, addmm,
     bmm, baddbmm, _scaled_mm; convolution and its kinds (inputs: x, weight), transposed ones too;
     convolution_backward (grad_output, x, weight): for each gradient asked for as much as forward;
     scaled dot product attention of every name (query, key, value: two products) and backward
     (grad_output, query, key, value: five).
   - desc.with_flops: what stands behind profile(with_flops=True): mm, addmm, bmm, baddbmm, conv2d,
     and add, mul (the first input's elements). Others are 0, so that a conv2d is not counted again
     through the ops it calls. */
PROF_API uint64_t prof_flops(const char *op, const prof_shape *inputs, uint32_t count,
                             const prof_flops_desc *desc);

/* A formula for an op of one's own, for prof_flops and so for zones with shapes of sessions with
   desc.with_flops. It gets what prof_flops gets (desc never NULL; for a zone: its concrete and
   named inputs too) and returns 0 where it cannot tell. It must be pure: any thread may call it,
   while a trace is read, also with the profiler's locks held. */
typedef uint64_t (*prof_flops_formula)(const prof_shape *inputs, uint32_t count,
                                       const prof_flops_desc *desc);

/* name: all of an op's, `aten::` may be left out; it must live as long as the process. It goes
   before the built-in formula of that name; given again the last one counts, NULL takes it back.
   Any thread, before or during sessions: it counts for traces that are read from then on.
   PROF_ERROR_INVALID: no name. PROF_ERROR_MEMORY: there are 64. PyTorch: register_flop_formula() */
PROF_API prof_result prof_flops_register(const char *name, prof_flops_formula formula);
#endif

/* PyTorch's table. desc NULL: key averages by self CPU time. */
PROF_API prof_result prof_write_table(const prof_trace *trace, const prof_table_desc *desc,
                                      prof_sink out);

/* The same of rows that the caller has (row.first: their order); they are sorted in place. view
   NULL: CPU times only. desc.averages does not matter, but for group_by_site: CSV and JSON have the
   column also where no row has a place. */
PROF_API prof_result prof_write_rows(prof_average *rows, size_t count, const prof_view *view,
                                     const prof_table_desc *desc, prof_sink out);

/* The metric of PyTorch's name: "self_cuda_time_total". Any other device's name means the same as
   cuda: device, xpu, privateuseone, and what a backend is called. PROF_ERROR_INVALID: no metric. */
PROF_API prof_result prof_metric_from_text(const char *text, prof_metric *metric);

/* One line for each event, by start: `event=NAME node=MODULE stack_trace=FRAME`: name cut to 30
   code points, module hierarchy, innermost stack entry that is not only carets. Equal for equal
   runs: for tests of one's own. PyTorch: _canonicalize_profiler_events() */
PROF_API prof_result prof_write_canonical(const prof_trace *trace, prof_sink out);

/* One line for each event that has a stack and 1 us or more, as EventList.export_stacks writes. */
PROF_API prof_result prof_write_event_stacks(const prof_trace *trace, prof_metric metric,
                                             prof_sink out);

/* Chrome trace JSON, for Perfetto, chrome://tracing, speedscope; desc NULL: as Kineto, no marks.
   PROF_ERROR_INVALID: there is no such format. "prof" in its head (in an array the event "prof
   counts") has the counts of prof_stats that are not zero; and where zones are only in sums, all
   times being whole ns:
       "summed": how many, "timeline_end_ns": prof_stats.timeline_ns (PROF_MODE_AGGREGATE: 0),
       "session_ns": the session's length,
       "sums": [{"name", "count", "total", "self", "min", "max", "p50", "p90", "p99"}, ...]: a row a
       name of these zones alone; prof_average_add joins it with the row of the events.
       "sums_by_site", where a name has several places: the same, a row a place, with "source".
   "sites" there is [{"name", "source": "file:line"}, ...], of the names that have a place, each
   place once; source is "" for calls that have none of a name that has one. An event without
   args.source has the only place of its name. An array that is streamed tells no places.
   In the timeline an instant "timeline ends" says where a thread's ends; a zone that was open then
   has one child "(in sums)" for what of its children came later, which is in no row. */
PROF_API prof_result prof_write_chrome(const prof_trace *trace, const prof_chrome_desc *desc,
                                       prof_sink out);

/* Folded stacks, `outer;inner 123` with microseconds, for flamegraph.pl and speedscope; with bytes
   for memory. One line for each distinct stack with 1 us or byte or more. Where memory does not
   hold so many, the outer levels are told apart, and all further in is one stack, `(deeper)`
   (freestanding: PROF_ERROR_MEMORY; prof_make_events gives it memory). After desc.native_stack
   the functions stand between the zones that they called. metric: a sum (NONE: self CPU time), of
   the event alone where it is a self_ one, else children included. PROF_ERROR_INVALID: CPU_TIME,
   DEVICE_TIME, COUNT, FLOPS. */
PROF_API prof_result prof_write_stacks(const prof_trace *trace, prof_metric metric, prof_sink out);

#if !PROF__BARE
/* A file as a sink: any writer takes file.sink, several of them one after the other. It is written
   under a temporary name beside path and renamed by prof_file_close, so that no half file ever
   stands under path; what is no regular file (a device, a pipe) is written in place. .gz by its
   ending, with PROF_ZLIB. */
typedef struct prof_file {
    prof_sink sink;                      /* between open and close; its user is this struct, which
                                            must not be moved or copied meanwhile */
    bool failed;                         /* a write has failed; or set it, where a writer returned
                                            an error: close then leaves nothing behind */
    bool in_place;                       /* the rest is the library's own */
    int error;
    size_t path_size;
    intptr_t handle;
    void *zip;
    char temporary[1024];
} prof_file;

/* Both: any thread, one at a time for a file; not in a signal handler.
   open: PROF_ERROR_INVALID: NULL. PROF_ERROR_FILE: errno says why (a path over 990 bytes:
   ENAMETOOLONG). PROF_ERROR_UNSUPPORTED: .gz without PROF_ZLIB. Needs no close after an error.
   close: PROF_ERROR_FILE: it could not be written, closed or renamed, errno says why, or `failed`
   was set: the file is removed. PROF_ERROR_STATE: it is not open. */
PROF_API prof_result prof_file_open(prof_file *file, const char *path);
PROF_API prof_result prof_file_close(prof_file *file);
#endif

/* prof_write_chrome to a file, as by prof_file_open and prof_file_close. */
PROF_API prof_result prof_save_chrome(const prof_trace *trace, const char *path);

/* What is in use on a device over time, by category, as PyTorch's memory timeline: desc.raw false:
   [times in us, rows of 9: 0, then the 8 kinds, unknown last]; true: [ns, action (2: allocated, 4:
   freed), bytes, kind (7: unknown)] for each record. Times are since 1970. desc NULL: the CPU.
   PROF_ERROR_NONE_RECORDED: the session had no profile_memory. PyTorch: export_memory_timeline() */
PROF_API prof_result prof_write_memory_timeline(const prof_trace *trace,
                                                const prof_memory_desc *desc, prof_sink out);

#if !PROF__BARE
/* The same to a file, as prof_save_chrome, by path's ending: .raw.json raw, anything else rows;
   with .gz behind it zipped. .html: PROF_ERROR_UNSUPPORTED, and prof_strerror names the command
   that makes the page. PyTorch: export_memory_timeline(path, device) */
PROF_API prof_result prof_save_memory_timeline(const prof_trace *trace, const char *path,
                                               prof_device device);
#endif

/* What ran, in which order, on which inputs, as JSON of the schema 1.1.1-chakra.0.0.4: a node for
   each zone (none for device activities), whose ctrl_deps is the node around it. Arguments of zones
   become attributes: op_schema, kernel_backend, kernel_file, tensor_range are known to readers.
   PROF_ERROR_STATE: the session kept no events. PyTorch: ExecutionTraceObserver */
PROF_API prof_result prof_write_execution_trace(const prof_trace *trace, prof_sink out);

/* prof_write_table to stdout; where that is a terminal, as wide as it (see prof_table_desc.width).
 */
PROF_API prof_result prof_print_table(const prof_trace *trace, const prof_table_desc *desc);

#if !PROF__BARE
/* Characters in a line of the terminal that stdout is: COLUMNS, else what it says itself. 0: stdout
   is none. */
PROF_API uint32_t prof_terminal_width(void);
#endif

/* The raw stream: what PROF_MODE_STREAM and prof_dump write. A sequence of blocks, each of 32-bit
   words in the writer's byte order; a 64-bit field is two words, the low one first; text is bytes,
   filled up with zeroes to a whole word. A block:
       0     0x50524f46: tells the byte order
       1     version << 16 | type; this is version 2. Version 1 had no types from 7 on
       2     bytes of what follows word 5, a multiple of 4, at most 65536
       3     number of the block, from 0
       4, 5  Fletcher-64 of words 1 to the last, 4 and 5 taken as 0: two sums a and b, from 0;
             for each word a += word, b += a, both modulo 2^32 - 1
   Types, with their words from 6 on (u64 takes two):
       1 session  clock (prof_clock), process id, u64 ticks per second, u64 tick and u64 ns since
                  1970 of its start, generation, count of pairs, pairs {u64 tick, u64 ns}: time is
                  ns since the start; ticks between two pairs are linear, past the last they go on
                  as before. Without pairs (no CPU clock): ns = (tick - start) / rate
       2 sites    one or more {number, line, bytes of name, of file, of function; their text}
       3 thread   number, bytes of its name, u64 id, name
       4 records  thread, upper half of the ticks at which its zones end, u64 records that the
                  thread wrote before, u64 tick and u64 ns of when this was written, u64 ticks per
                  second; then records of three words
       5 open     thread, count, u64 tick at which they are held to end; {u64 tick of the begin,
                  site << 8 | depth, 0} of each zone still open, outermost first
       6 counts   1: the last, count of fields, u64 each: recorded, dropped_full, dropped_deep,
                  dropped_threads, dropped_sites, unbalanced, healed, cut, unfinished, clock_steps,
                  names_cut, overwritten, stalls, stream_failures, threads, dropped_busy, lost,
                  others_names, others_sites, others_full, others_busy
       7 sums     of zones in no timeline: thread, count, u64 tick at which the first timeline
                  ended, u64 tick of the session's end, or of now; then rows: site (0: all that
                  had no row, "(others)"), its first bucket << 16 | count of buckets, u64 each:
                  count, and in ticks total, total of its children, least, most; buckets: bucket n
                  counts zones of less than 2^n ticks that are in none before. Rows of a name add
                  up
   A record is a zone: lower half of the tick of its end, duration in ticks, site << 8 | depth. From
   site 0xffff00 on it is something else, and the depth is how many records more belong to it:
       ffff01 {upper half of the ticks from here on, 0}
       ffff02 {u64 duration} {u64 end, site << 8 | depth}: a long zone; upper half: that of end
       ffff03 the same, but it never ended: its thread or the session did
       ffff04 {u64 tick} {0, 0, site << 8 | 255}: an instant
       ffff05 {u64 tick} {u64 value, site << 8 | 255}: a counter
       ffff06 {u64 tick of its start} {u64 of its end, 255} {u64 number, 255}: ProfilerStep#number
       ffff0c as ffff05, the value an IEEE 754 double
   Others, of later versions, are to be skipped. Zones come in the order in which their thread ends
   them. Session, threads and all sites come again
   every 64 blocks of records, so a stream can be read from its middle. */

typedef enum prof_raw_kind {
    PROF_RAW_SESSION,                    /* start_ns: its start, since 1970; value: process id */
    PROF_RAW_THREAD,                     /* value: its id; name: its name or NULL; may come again */
    PROF_RAW_ZONE,                       /* at its end: inner ones come before outer ones; those
                                            that the stream's end found open: outer ones first */
    PROF_RAW_INSTANT,                    /* at start_ns */
    PROF_RAW_COUNTER,                    /* value at start_ns */
    PROF_RAW_STEP,                       /* ProfilerStep#value */
    PROF_RAW_COUNTS,                     /* counts so far */
    PROF_RAW_COUNTER_F,                  /* number at start_ns */
    PROF_RAW_SUMS                        /* average: of a name's zones that are in no timeline, of
                                            all threads, at the session's end. start_ns: when the
                                            timeline ended; end_ns: the session */
} prof_raw_kind;

typedef struct prof_raw_item {
    prof_raw_kind kind;
    uint32_t thread;                     /* its number in the stream, from 0 */
    const char *name;                    /* as site->name; site#N where the stream never tells it */
    const prof_site *site;               /* NULL: has none; lives as long as the reader */
    int64_t start_ns, end_ns;            /* since the session's start */
    int64_t value;
    double number;                       /* PROF_RAW_COUNTER_F */
    uint8_t depth;                       /* open zones around it */
    uint16_t flags;                      /* PROF_EVENT_UNFINISHED, _PARTIAL */
    const prof_stats *counts;            /* PROF_RAW_COUNTS; until the next item; value 1: last */
    const prof_average *average;         /* PROF_RAW_SUMS; until the next item */
} prof_raw_item;

typedef struct prof_raw_desc {
    void *memory;                        /* of the reader, for names and one block; */
    size_t memory_size;                  /* 1 MiB does for some 5000 names */
    void (*item)(void *user, const prof_raw_item *item);
    void *user;
} prof_raw_desc;

typedef struct prof_raw_stats {          /* of what was read */
    uint64_t bytes, blocks;
    uint64_t damaged, damaged_bytes;     /* places where bytes are in no whole block; those bytes */
    uint64_t tail_bytes;                 /* of them, those behind the last whole block */
    uint64_t missing_blocks;             /* numbers that were left out */
    uint64_t missing_records;            /* that threads wrote and that are not there */
    uint64_t newer;                      /* blocks of a version that this prof.h cannot read */
    uint64_t unknown_sites;              /* items called site#N */
    bool other_endian;                   /* written by a machine of the other byte order */
    bool ended;                          /* the last block says that it is the last */
    prof_stats counts;                   /* the last that were told */
    uint64_t bad_sums;                   /* rows of sums that make no sense, or had no room: left
                                            out */
} prof_raw_stats;

typedef struct prof_raw prof_raw;

/* A reader, in desc->memory. It needs no session. PROF_ERROR_MEMORY: under 72 KiB. */
PROF_API prof_result prof_raw_open(const prof_raw_desc *desc, prof_raw **raw);

/* The next bytes of a stream, cut anywhere; calls desc.item for what they hold. What is damaged is
   skipped and counted; records that come twice (a sink that failed) are handed on once. */
PROF_API void prof_raw_feed(prof_raw *raw, const void *data, size_t size);

/* The end of the stream. PROF_OK: it was whole. PROF_ERROR_INVALID: some was damaged or missing, or
   it is no raw stream (blocks is 0). PROF_ERROR_UNSUPPORTED: some is of a newer version. */
PROF_API prof_result prof_raw_close(prof_raw *raw, prof_raw_stats *stats);

/* As the table prints them: 12.345ms, 33.33%. Returns the length without the NUL; cut to size. */
PROF_API size_t prof_format_time(char *buf, size_t size, double us);
PROF_API size_t prof_format_share(char *buf, size_t size, double part, double total);
PROF_API size_t prof_format_memory(char *buf, size_t size, int64_t bytes);

/* snprintf by what formats the names of prof_push_f; returns the length as those above do. */
PROF_API size_t prof_format_text(char *buf, size_t size, const char *format, ...)
    PROF__PRINTF(3, 4);

#if !PROF__BARE
/* Events from outside into the open session: device activities, other clocks' or languages' spans.
   Their times are prof_now()'s, thread an index from prof_submit_thread or prof_threads. Copied
   with all they point to. They take their place among the zones by time: see
   prof_trace_from_events. A device event goes to the event whose extra.id is its
   linked_correlation_id (a call of activity_type *_runtime or *_driver passes it on to the zone
   around it), or to the zone that was the innermost of launch_thread at launch_ns.
   Any thread, not from a signal handler. PROF_ERROR_STATE: no session is open. PROF_ERROR_INVALID:
   some end before they start, or have no such thread: left out, counted. PROF_ERROR_MEMORY: some
   did not fit: dropped, counted. PROF_ERROR_UNSUPPORTED: the session is not analysed (a stream,
   sums, records_only) and keeps no events: none is taken, all are counted (not_kept). */
PROF_API prof_result prof_submit(const prof_event *events, size_t count);

/* The same for changes of memory, of any age and in any order; a free's bytes are those of the
   allocation at this address, as prof_memory_free's are. Each is charged to the innermost zone of
   its thread at its time and to those around; where there is none it is an event "[memory]". They
   need no desc.profile_memory, and turn on the tables' columns of memory. Errors and threads as
   with prof_submit; PROF_ERROR_INVALID: no such thread, or too many bytes: left out, counted
   (rejected, memory_refused). */
PROF_API prof_result prof_submit_memory(const prof_memory_change *changes, size_t count);

/* The index of the thread with this id in the open session, made if need be; name may be NULL.
   PROF_NONE: no session is open, or the arena is full. */
PROF_API uint32_t prof_submit_thread(uint64_t id, const char *name);

/* The same by the operating system's id, which prof_platform.thread_id may hide. */
PROF_API uint32_t prof_submit_os_thread(uint64_t os_id, const char *name);

/* ---- Traces from events ---- */

/* Bytes that prof_trace_from_events needs at most. */
PROF_API size_t prof_trace_memory_size(const prof_trace_desc *desc, const prof_event *events,
                                       size_t count);

/* A trace without a session: the tree, averages and tables of count events from outside. Any number
   may live at a time, each in its desc->memory, for as long as that memory does. Set name, times,
   thread, device_type, flags and extra of the events; the rest is computed. Events are copied and
   ordered by (start, -end), stable; strings and arrays they point to are not, and must live on.
   Parents are found by interval for each (thread, node_id); async and device events have none;
   an only child of its parent's name is merged into it. With desc->correlate the events are what
   Kineto recorded: utility events are left out, ProfilerStep#N becomes ProfilerStep*, "[memory]" is
   charged to the events of its thread around it, device events go to the event whose id is their
   linked_correlation_id, end_thread makes events async. PyTorch: EventList(), _build_tree()
   PROF_ERROR_INVALID: NULL where something is needed, a thread out of range, more than 2^31 - 2
   events. PROF_ERROR_MEMORY: memory_size is too small. Events that end before they start are left
   out and counted. */
PROF_API prof_result prof_trace_from_events(const prof_trace_desc *desc, const prof_event *events,
                                            size_t count, prof_trace **trace);

/* ---- Spans: what tools make of a file's events, by the live table's nest and sums ---- */

/* Spans in the caller's memory, by number: each has an end and the number of the one around it. */
typedef struct prof_nest {
    const void *spans;
    size_t size, end_ns, parent;         /* of one; where in it an int64_t and a uint32_t are */
    uint64_t overlaps;                   /* a span began in another and ended behind it */
} prof_nest;

/* Of the span `top` and those around it, the innermost that holds [start_ns, end_ns), which begins
   no earlier than they do; PROF_NONE: none. What has ended holds nothing, and what ends first does
   not hold what ends behind it: they stand beside each other. All of this library nests so. */
PROF_API uint32_t prof_nest_around(prof_nest *nest, uint32_t top, int64_t start_ns, int64_t end_ns);

enum {                                   /* prof_span.flags, beside PROF_EVENT_... */
    PROF_SPAN_MEMORY = 0x8000,           /* memory changes at start_ns: the innermost span and all
                                            around it have it; without one it is a row's own */
    PROF_SPAN_STEP = 0x4000,             /* steps follow each other, they hold each other never */
    PROF_SPAN_DEPTH = 0x2000,            /* depth tells: it comes after all that lie in it */
    PROF_SPAN_HIDDEN = 0x1000,           /* counts in no row, but lies in others; of memory: no
                                            call, but its row has the bytes */
    PROF_SPAN_LAUNCH = 0x0800            /* a call of a device's library: what it launched belongs
                                            to the innermost span around it that is none */
};

/* A call. */
typedef struct prof_span {
    int64_t start_ns, end_ns;
    uint32_t thread;                     /* a number for each thread, and each node on it */
    uint32_t row;                        /* prof_sums_row's. PROF_NONE: hidden, of a name unlike all
                                            others. Of a row of a device: it lies in nothing */
    int64_t device_ns;                   /* of the work that it launched itself; with
                                            PROF_EVENT_LEGACY its children's too */
    int64_t other_device_ns[PROF_OTHER_DEVICES];   /* of device_ns: prof_view.other_devices' */
    int64_t cpu_bytes, device_bytes;     /* its children's too; what PROF_SPAN_MEMORY adds is not */
    int64_t flops;                       /* its own */
    const int64_t *counters;             /* PROF_COUNTERS of them, its children's too, until the
                                            span around it has ended; NULL: none */
    uint32_t order;                      /* of two with the same times the lesser one is a row's
                                            first. 0 everywhere: by thread, then as they come */
    uint32_t depth;                      /* PROF_SPAN_DEPTH: spans around it */
    uint16_t flags;
} prof_span;

typedef struct prof_sums_desc {
    prof_averages_desc averages;         /* without percentiles */
    bool merge_duplicates;               /* an only child of its parent's name counts as that one */
    void *(*more)(void *user, size_t size);   /* memory, aligned as malloc's, that is the caller's
                                            again once the rows are not needed; NULL: none left */
    void *user;
} prof_sums_desc;

typedef struct prof_sums_stats {
    uint64_t spans, calls;               /* pushed; counted in rows */
    uint64_t overlaps;                   /* a span began in another and ended behind it: they stand
                                            beside each other */
    uint64_t duplicates;                 /* merged */
    uint64_t dropped;                    /* there was no memory for them: rows are not complete */
    int64_t self_cpu_time_total_ns;      /* of all spans, also of those in no row */
} prof_sums_stats;

typedef struct prof_sums prof_sums;

/* The nest and the sums of prof_key_averages for spans from elsewhere. One thread at a time; needs
   no session. Memory: a row 300 bytes, its texts and shapes, 250 bytes for each level of depth.
       prof_sums_open(&desc, &sums);
       span.row = prof_sums_row(sums, &event, NULL); ... prof_sums_push(sums, &span); ...
       n = prof_sums_close(sums, NULL, 0); prof_sums_close(sums, rows, n);
   open: PROF_ERROR_INVALID: NULL, or no `more`. PROF_ERROR_UNSUPPORTED: percentiles.
   PROF_ERROR_MEMORY. */
PROF_API prof_result prof_sums_open(const prof_sums_desc *desc, prof_sums **sums);

/* The row of an event: of its name, device_type, flags, and of its extra what desc.averages and the
   node ask for; with group_by_site, of site's file and line (NULL: of no place). A new row copies
   what it needs. PROF_NONE: no memory. */
PROF_API uint32_t prof_sums_row(prof_sums *sums, const prof_event *key, const prof_site *site);

/* Adds a span. They come by (thread, start, -end), memory after spans that start with it; times
   tell which lies in which, as prof_trace_from_events nests events. With PROF_SPAN_DEPTH, for a
   whole thread: in the order of their ends, children first, and depth tells. */
PROF_API void prof_sums_push(prof_sums *sums, const prof_span *span);

/* Ends the spans that are open. Those to come are of another file: later than all so far. */
PROF_API void prof_sums_next(prof_sums *sums);

/* Adds sums of calls that no span tells of to a row; PROF_NONE: to prof_sums_stats alone.
   Percentiles are those of rows without spans, which come last, in the order in which they were
   made. */
PROF_API void prof_sums_add(prof_sums *sums, uint32_t row, const prof_average *more);

/* Ends the spans that are open, fills at most max rows and returns how many there are, as
   prof_key_averages does: in first-seen order, those without a call left out. Their texts lie in
   the memory that `more` gave. first is the row's rank; parent is PROF_NONE where its first span
   lay in no other, else 0; scope is that of the key that made it; is_recursive is told. */
PROF_API size_t prof_sums_close(prof_sums *sums, prof_average *rows, size_t max);
PROF_API prof_sums_stats prof_sums_get_stats(const prof_sums *sums);

/* ---- Device work to the calls that launched it, by the ids that a file tells ---- */

#define PROF_NO_ID INT64_MIN
enum { PROF_JOIN_OP, PROF_JOIN_LAUNCH }; /* a call's id: its External id, its correlation id */

/* Zero but for resize and user. Memory: 32 to 80 bytes for each call with an id, and each work. */
typedef struct prof_join {
    void *(*resize)(void *user, void *old, size_t size);   /* as realloc; size 0: free */
    void *user;
    uint64_t unowned;                    /* works of no call, once prof_join_finish was called */
    uint64_t dropped;                    /* there was no memory for them: times are not complete */
    struct prof__joined *calls, *works;  /* the rest is the library's */
    uint32_t *index, places, call_count, call_room, work_count, work_room;
    bool launched;
} prof_join;

/* A call that may launch work; number: the caller's own. Of calls with the same id the first one
   counts. Calls may come before and behind their work. */
PROF_API void prof_join_call(prof_join *join, uint32_t kind, int64_t id, uint32_t number);
PROF_API void prof_join_work(prof_join *join, int64_t external, int64_t correlation, int64_t ns);

/* The number of the call that launched work with these ids: the op's, but where the external id
   only repeats the correlation id (2022, 2023) the launch's, if it is there. PROF_NONE: none. */
PROF_API uint32_t prof_join_owner(const prof_join *join, int64_t external, int64_t correlation);

/* All are there. Then take tells how long the work of a call took; the next time 0. */
PROF_API void prof_join_finish(prof_join *join);
PROF_API int64_t prof_join_take(prof_join *join, uint32_t kind, int64_t id, uint32_t number);
PROF_API void prof_join_close(prof_join *join);      /* gives its memory back */
#endif

/* Counts of a trace: of a session's as prof_get_stats(); of one made from events, recorded is how
   many there are. */
PROF_API prof_stats prof_trace_stats(const prof_trace *trace);

/* A count of prof_stats that matters where it is not 0: what was lost or mended, and what to do
   about it. The table's footers, the trace's head and `prof` all take them from one list. */
typedef struct prof_note {
    const char *key;                     /* the field of prof_stats, and its key in the head */
    const char *text;                    /* "Dropped, the arena was full (give ...)" */
    uint64_t count;
} prof_note;

/* Number i of that list, from 0, as it is in stats; stats NULL: count is 0. False: there are no
   more. Any thread. */
PROF_API bool prof_stats_note(const prof_stats *stats, size_t i, prof_note *note);

/* ---- @API-INLINE: what the macros compile to; not for direct use ---- */

#ifdef __cplusplus
#  define PROF__CAST(type, x) static_cast<type>(x)
#  define PROF__BITS(p) reinterpret_cast<uintptr_t>(p)
#else
#  define PROF__BITS(p) ((uintptr_t)(p))
#  define PROF__CAST(type, x) ((type)(x))
#endif
#if defined(__GNUC__) || defined(__clang__)
#  define PROF__LIKELY(x)   __builtin_expect(!!(x), 1)
#  define PROF__UNLIKELY(x) __builtin_expect(!!(x), 0)
#  if defined(__clang__) ? __clang_major__ >= 11 : __GNUC__ >= 9
#    define PROF__PROBABLY(x, p) __builtin_expect_with_probability(!!(x), 1, p)
#  else
#    define PROF__PROBABLY(x, p) (x)
#  endif
#  define PROF__UNUSED __attribute__((unused))
#  define PROF__QUIET __attribute__((unused, no_instrument_function))
#  if defined(PROF__COVERAGE) && PROF__COVERAGE   /* one copy, its branches count once */
#    define PROF__MEMBER inline __attribute__((no_instrument_function))
#  else
#    define PROF__MEMBER inline __attribute__((always_inline, no_instrument_function))
#  endif
#  define PROF__INLINE static PROF__MEMBER
#else
#  define PROF__LIKELY(x)   (x)
#  define PROF__UNLIKELY(x) (x)
#  define PROF__UNUSED
#  define PROF__QUIET
#  define PROF__MEMBER inline
#  define PROF__INLINE static inline
#endif

#ifdef __cplusplus
#  define PROF__NULL nullptr
#else
#  define PROF__NULL NULL
#endif

/* What zones refer to has the version, and the macros that must be the same in every file, in its
   symbol: files that do not fit together do not link, and the linker's message says why. In
   freestanding builds the implementation alone reads the clock. */
#define PROF__TEXT2(x) #x
#define PROF__TEXT(x) PROF__TEXT2(x)
#if defined(PROF_NOW) && !PROF__BARE
#  define PROF__CLOCK_LABEL "_with_PROF_NOW"
#else
#  define PROF__CLOCK_LABEL "_without_PROF_NOW"
#endif
#if PROF__BARE
#  define PROF__BARE_LABEL "_freestanding"
#else
#  define PROF__BARE_LABEL ""
#endif
#if defined(PROF_STATIC) || !(defined(__GNUC__) || defined(__TINYC__))
#  define PROF__LABEL(name)
#  if defined(_MSC_VER) && !defined(PROF_STATIC)
#    pragma detect_mismatch("prof.h", PROF_VERSION PROF__CLOCK_LABEL PROF__BARE_LABEL)
#  endif
#else
#  ifdef __USER_LABEL_PREFIX__
#    define PROF__LABEL_PREFIX PROF__TEXT(__USER_LABEL_PREFIX__)
#  else
#    define PROF__LABEL_PREFIX ""
#  endif
#  define PROF__LABEL(name) \
    __asm__(PROF__LABEL_PREFIX name "_of_PROF_IMPLEMENTATION_" PROF_VERSION PROF__CLOCK_LABEL \
                PROF__BARE_LABEL)
#endif

/* Where the implementation is: a symbol that takes no room, the first that two files with it have
   in common. */
#if defined(__GNUC__) && !defined(__TINYC__) && !defined(PROF_STATIC)
#  define PROF__ONE_NAME PROF__LABEL_PREFIX "prof__PROF_IMPLEMENTATION_is_in_two_files"
#  if defined(__ELF__)
#    define PROF__ONE_KIND ".hidden " PROF__ONE_NAME
#  elif defined(_WIN32)                  /* as functions have it, else it would stand behind them */
#    define PROF__ONE_KIND ".def " PROF__ONE_NAME "; .scl 2; .type 32; .endef"
#  else
#    define PROF__ONE_KIND ""
#  endif
#  define PROF__ONE \
    __asm__(".data\n\t.globl " PROF__ONE_NAME "\n\t" PROF__ONE_KIND "\n" \
            PROF__ONE_NAME ":\n\t.text");
#  ifdef PROF_IMPLEMENTATION
PROF__ONE
#    undef PROF__ONE
#  endif
#endif

/* The hot path is inline where the compiler has TLS, atomics and a CPU clock; else it is a call. */
#if !PROF__BARE && (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__) && \
    !(defined(_WIN32) && defined(PROF__SHARED)) && \
    (defined(PROF_NOW) || defined(__x86_64__) || defined(__i386__) || defined(__aarch64__))
#  define PROF__FAST 1
#else
#  define PROF__FAST 0
#endif

typedef struct prof__record { uint32_t end, duration, site_depth; } prof__record;
typedef struct prof__mark { uint32_t id; const prof_site *site; } prof__mark;   /* id: site << 8 */

#if PROF__BARE
/* On a target only the test for off is inline: flash is scarce. Both are calls into @TARGET. */
typedef struct prof__frame prof__frame;
#  if defined(PROF_STATIC)
static volatile unsigned char prof__on PROF__UNUSED;
#  else
PROF__DATA volatile unsigned char prof__on PROF__LABEL("prof__on");
#  endif
PROF_API prof__frame *prof__begin(prof__mark *mark) PROF__LABEL("prof__begin") PROF__QUIET;
PROF_API void prof__begin_dropped(void) PROF__QUIET;
PROF_API prof__frame *prof__begin_f(const char *format, ...) PROF__QUIET PROF__PRINTF(1, 2);
PROF_API void prof__end(prof__frame *token) PROF__QUIET;
PROF_API void prof__end_top(void) PROF__QUIET;

/* token: will it be used? Without, the end that comes must not take another zone's frame. */
PROF__INLINE prof__frame *prof__begin_inline(prof__mark *mark, bool token) {
    prof__frame *opened;
    if (!prof__on) return PROF__NULL;
    opened = prof__begin(mark);
    if (!token && !opened) prof__begin_dropped();
    return opened;
}

PROF__INLINE void prof__end_inline(prof__frame *token) {
    if (token) prof__end(token);
}

PROF__INLINE void prof__end_top_inline(void) {
    if (prof__on) prof__end_top();
}

/* What modes and a platform of the caller's add to the recorder. Where the compiler sees the
   description, it does here what it can, and the linker leaves out what is not asked for. */
typedef struct prof__parts prof__parts;
typedef struct prof__hooks prof__hooks;
PROF_API const prof__parts *prof__parts_ring(void) PROF__QUIET;
PROF_API const prof__parts *prof__parts_raw(prof_sink sink) PROF__QUIET;
PROF_API const prof__parts *prof__parts_chrome(prof_sink sink) PROF__QUIET;
PROF_API const prof__parts *prof__parts_aggregate(void) PROF__QUIET;
PROF_API const prof__hooks *prof__hooks_of(const prof_platform *platform) PROF__QUIET;
PROF_API prof_result prof__start(uint32_t shape, const prof__parts *parts,
                                 const prof__hooks *hooks, uint32_t rate) PROF__QUIET;
PROF_API prof_result prof__start_in(uint32_t shape, const prof__parts *parts,
                                    const prof__hooks *hooks, uint32_t rate, void *memory,
                                    size_t size) PROF__QUIET;

/* The shape: a description's max_depth, max_threads << 16 (at most that many), and these. */
enum { PROF__SHAPE_RECORDS_ONLY = 256, PROF__SHAPE_SUMS = 512, PROF__MOST_DEPTH = 32 };

PROF__INLINE uint32_t prof__shape_of(const prof_desc *d) {
    uint32_t shape = d->max_depth ? d->max_depth : 16;
    if (d->records_only || d->mode >= PROF_MODE_STREAM) shape |= PROF__SHAPE_RECORDS_ONLY;
    if (d->mode == PROF_MODE_AGGREGATE) shape |= PROF__SHAPE_SUMS;
    return shape | (d->max_threads < 0xffff ? d->max_threads : 0xffff) << 16;
}

PROF__INLINE bool prof__desc_valid(const prof_desc *d) {
    return d->mode <= PROF_MODE_AGGREGATE && d->max_depth <= PROF__MOST_DEPTH &&
           (d->memory || !d->memory_size) && (d->mode != PROF_MODE_STREAM || d->stream.write) &&
           !(d->platform.ticks_per_second >> 32);
}

PROF__INLINE const prof__parts *prof__parts_of(const prof_desc *d) {
    if (d->mode == PROF_MODE_TRACE) return PROF__NULL;
    if (d->mode == PROF_MODE_RING) return prof__parts_ring();
    if (d->mode == PROF_MODE_AGGREGATE) return prof__parts_aggregate();
    return d->stream_format == PROF_STREAM_CHROME ? prof__parts_chrome(d->stream)
                                                  : prof__parts_raw(d->stream);
}

/* Everything is read before the first call: what gets its address might change it. */
PROF__INLINE prof_result prof__start_inline(const prof_desc *d) {
    const prof__parts *parts;
    const prof__hooks *hooks = PROF__NULL;
    uint32_t shape, rate;
    bool platform;
    void *memory;
    size_t size;
    if (prof__on) return PROF_ERROR_STATE;
    if (!d) return prof__start(16, PROF__NULL, PROF__NULL, 0);
    if (!prof__desc_valid(d)) return PROF_ERROR_INVALID;
    shape = prof__shape_of(d);
    rate = PROF__CAST(uint32_t, d->platform.ticks_per_second);
    memory = d->memory;
    size = d->memory_size;
    platform = d->platform.now || d->platform.lock || d->platform.thread_id;
    parts = prof__parts_of(d);
    if (platform) hooks = prof__hooks_of(&d->platform);
    return memory ? prof__start_in(shape, parts, hooks, rate, memory, size)
                  : prof__start(shape, parts, hooks, rate);
}
#define prof_start(desc) prof__start_inline(desc)
#else
typedef struct prof__frame { uint32_t start, site, depth, epoch; } prof__frame;   /* an open zone */

/* The part of a thread's state that inline code touches. It goes to the slow path when a frame's
   epoch is not the clock's upper half (a new epoch, too deep, another clock, the arena is full)
   or when the cursor is not below limit. */
typedef struct prof__hot {
    prof__frame *top;                    /* one past the innermost open zone */
    prof__frame *bottom;                 /* top when none is open; below: older generations */
    prof__record *cursor;                /* published: everything below is written */
    prof__record *limit;                 /* NULL: always slow */
    uintptr_t span;                      /* bytes of this chunk below limit */
} prof__hot;

/* A thread's way to its state. skipped: begins dropped while it had none, in the generation
   skipped_in; stale: zones open when it gave the last one back; busy: in the slow path, plus the
   begins without a token that signal handlers tried meanwhile; inside: in a hook of an instrumented
   function. */
typedef struct prof__slot {
    uint32_t generation, skipped, stale, busy;
    prof__hot *hot;
    bool inside;
    uint8_t category;                    /* of its allocations */
    uint32_t itt_ranges, skipped_in;
    const prof_extra *with;              /* of the zone that it is just beginning */
} prof__slot;

PROF_API prof__frame *prof__begin(prof__mark *mark, bool token) PROF__LABEL("prof__begin")
    PROF__QUIET;
PROF_API void prof__end(prof__frame *token) PROF__QUIET;
PROF_API void prof__end_top(void) PROF__QUIET;
PROF_API prof__frame *prof__begin_f(const char *format, ...) PROF__QUIET PROF__PRINTF(1, 2);

#if PROF__FAST
#  if defined(PROF_STATIC)
static uint32_t prof__on PROF__UNUSED;                /* 0: off; else the generation, from 2 up */
static prof__hot prof__nowhere PROF__UNUSED;             /* a thread that holds no state */
static __thread prof__slot prof__tls = { 1, 0, 0, 0, &prof__nowhere, false, 0, 0, 0,
                                         PROF__NULL };
#  else
#    if defined(PROF_TLS_MODEL)
#      define PROF__TLS_MODEL __attribute__((tls_model(PROF_TLS_MODEL)))
#    elif defined(__ELF__) && (defined(__GLIBC__) || !defined(__PIC__) || defined(__PIE__))
#      define PROF__TLS_MODEL __attribute__((tls_model("initial-exec")))
#    else
#      define PROF__TLS_MODEL
#    endif
PROF__DATA uint32_t prof__on PROF__LABEL("prof__on");
PROF__DATA prof__hot prof__nowhere PROF__LABEL("prof__nowhere");
#    ifdef __linux__                     /* emulated TLS takes no label */
PROF__DATA __thread prof__slot prof__tls PROF__LABEL("prof__tls") PROF__TLS_MODEL;
#    else
PROF__DATA __thread prof__slot prof__tls PROF__TLS_MODEL;
#    endif
#  endif

#  define PROF__LOAD(p)          __atomic_load_n(&(p), __ATOMIC_RELAXED)
#  define PROF__STORE(p, v)      __atomic_store_n(&(p), v, __ATOMIC_RELAXED)
#  define PROF__ACQUIRE(p)       __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#  define PROF__RELEASE(p, v)    __atomic_store_n(&(p), v, __ATOMIC_RELEASE)

PROF__INLINE void prof__ticks(uint32_t *lo, uint32_t *hi) {
#  if defined(PROF_NOW)
    uint64_t now = PROF_NOW();
#  elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
#  endif
#  if !defined(PROF_NOW) && (defined(__x86_64__) || defined(__i386__))
    __asm__ volatile("rdtsc" : "=a"(*lo), "=d"(*hi));   /* two halves: joining them costs */
#  else
    *lo = PROF__CAST(uint32_t, now);
    *hi = PROF__CAST(uint32_t, now >> 32);
#  endif
}

/* NULL: the slow path must. The order of the three stores keeps zones in signal handlers and
   prof_stop() right. */
PROF__INLINE prof__frame *prof__frame_open(prof__hot *t, uint32_t site) {
    prof__frame *f = t->top;
    uint32_t lo, hi;
    prof__ticks(&lo, &hi);
    if (PROF__UNLIKELY(hi != f->epoch)) return PROF__NULL;
    PROF__STORE(t->top, f + 1);
    PROF__STORE(f->site, site);
    PROF__RELEASE(f->start, lo);
    return f + 1;
}

/* Returns the token that ends this zone: the frame above it; NULL when nothing was begun. token:
   will it be used? Without, the end that comes must not take another zone's frame. */
PROF__INLINE prof__frame *prof__begin_inline(prof__mark *mark, bool token) {
    uint32_t on = PROF__LOAD(prof__on), site;
    prof__frame *opened;
    if (PROF__PROBABLY(!on, 0.1)) return PROF__NULL;   /* kept in line: off costs nothing either */
    if (PROF__UNLIKELY(on != prof__tls.generation)) return prof__begin(mark, token);
    site = PROF__LOAD(mark->id);
    if (PROF__UNLIKELY(!site)) return prof__begin(mark, token);
    opened = prof__frame_open(prof__tls.hot, site);
    return PROF__LIKELY(opened != PROF__NULL) ? opened : prof__begin(mark, token);
}

/* One jump for both. The second one reads a frame that is another thread's where the first one
   holds, and means nothing then: ThreadSanitizer is not shown it. */
#if defined(__has_feature)
#  if __has_feature(thread_sanitizer)
#    define PROF__EITHER(a, b) ((a) || (b))
#  endif
#elif defined(__SANITIZE_THREAD__)
#  define PROF__EITHER(a, b) ((a) || (b))
#endif
#ifndef PROF__EITHER
#  define PROF__EITHER(a, b) (((a) | (b)) != 0)
#endif

PROF__INLINE void prof__end_inline(prof__frame *token) {
    uint32_t lo, hi;
    prof__hot *t;
    prof__record *c;
    prof__frame *f;
    if (PROF__UNLIKELY(!token)) return;
    prof__ticks(&lo, &hi);
    t = prof__tls.hot;
    c = t->cursor;
    f = token - 1;
    if (PROF__UNLIKELY(PROF__EITHER(PROF__BITS(t->top) ^ PROF__BITS(token), hi ^ f->epoch)) ||
        PROF__UNLIKELY(PROF__BITS(PROF__LOAD(t->limit)) - PROF__BITS(c) - 1 >= t->span)) {
        prof__end(token);                /* no room; or c is of another chunk: prof__cursor_check */
        return;
    }
    c->end = lo;
    c->duration = lo - f->start;
    c->site_depth = f->site + f->depth;
    PROF__RELEASE(t->cursor, c + 1);
    PROF__RELEASE(t->top, f);
}

PROF__INLINE void prof__end_top_inline(void) {
    uint32_t on = PROF__LOAD(prof__on);
    if (!on) return;
    if (PROF__LIKELY(on == prof__tls.generation)) {
        prof__frame *top = PROF__LOAD(prof__tls.hot->top);
        if (PROF__LIKELY(top != prof__tls.hot->bottom && PROF__LOAD(prof__tls.hot->limit))) {
            prof__end_inline(top);
            return;
        }
    }
    prof__end_top();
}
#else
#  define prof__begin_inline prof__begin
#  define prof__end_inline prof__end
#  define prof__end_top_inline prof__end_top
#endif
#endif /* !PROF__BARE */

#if PROF__FAST || PROF__BARE
#  if PROF__FAST
#    define PROF__CATEGORIES_OFF PROF__LOAD(prof__categories_off)
#  else
#    define PROF__CATEGORIES_OFF *PROF__CAST(volatile uint32_t *, &prof__categories_off)
#  endif
#  ifdef PROF_STATIC
static uint32_t prof__categories_off PROF__UNUSED;
#  else
PROF__DATA uint32_t prof__categories_off PROF__LABEL("prof__categories_off");
#  endif
PROF__INLINE bool prof__category_on(uint32_t categories) {
    return (categories & ~PROF__CATEGORIES_OFF) != 0;
}
#else
#  define prof__category_on prof_category_on
#endif

#if !PROF__BARE && !defined(PROF_STATIC)
/* So do the calls that open something, and the one that returns a struct. */
PROF__INLINE void prof__same_version(void) {
#  if PROF__FAST
    (void)__atomic_load_n(PROF__CAST(const volatile uint32_t *, &prof__on), __ATOMIC_RELAXED);
#  else
    prof__frame *(*volatile same)(prof__mark *, bool) = prof__begin;
    (void)same;
#  endif
}
#  define PROF__CHECKED(type, name, parameters, arguments) \
    PROF__INLINE type prof__checked_##name parameters { \
        prof__same_version(); \
        return prof_##name arguments; \
    }
PROF__CHECKED(prof_result, start, (const prof_desc *desc), (desc))
PROF__CHECKED(prof_result, start_env, (const prof_desc *desc), (desc))
PROF__CHECKED(prof_stats, get_stats, (void), ())
PROF__CHECKED(prof_result, trace_from_events, (const prof_trace_desc *desc,
              const prof_event *events, size_t count, prof_trace **trace),
              (desc, events, count, trace))
PROF__CHECKED(prof_result, raw_open, (const prof_raw_desc *desc, prof_raw **raw), (desc, raw))
#  define prof_start(desc) prof__checked_start(desc)
#  define prof_start_env(desc) prof__checked_start_env(desc)
#  define prof_get_stats() prof__checked_get_stats()
#  define prof_trace_from_events(desc, events, count, trace) \
    prof__checked_trace_from_events(desc, events, count, trace)
#  define prof_raw_open(desc, raw) prof__checked_raw_open(desc, raw)
#endif

#ifdef __cplusplus
} /* extern "C" */
struct prof__scope {
    prof__frame *token;
    bool once;
    PROF__MEMBER explicit prof__scope(prof__frame *f) : token(f), once(true) {}
    PROF__MEMBER explicit prof__scope(prof__mark *m)
        : token(prof__begin_inline(m, true)), once(true) {}
    PROF__MEMBER prof__scope(prof__mark *m, bool on)
        : token(on ? prof__begin_inline(m, true) : PROF__NULL), once(true) {}
    PROF__MEMBER ~prof__scope() { prof__end_inline(token); }
    prof__scope(const prof__scope &) = delete;
    prof__scope &operator=(const prof__scope &) = delete;
};
extern "C" {
#else
typedef struct prof__held { prof__frame *token; } prof__held;   /* bare, it was in -Wclobbered */
PROF__INLINE prof__held prof__hold(prof__frame *token) {
    prof__held held;
    held.token = token;
    return held;
}
PROF__INLINE void prof__scope_end(const prof__held *held) { prof__end_inline(held->token); }
#endif

/* ---- @API-MACROS: marking zones ---- */

#define PROF__JOIN2(a, b) a##b
#define PROF__JOIN(a, b) PROF__JOIN2(a, b)
#ifdef __COUNTER__
#  define PROF__ID __COUNTER__           /* two scopes on one line */
#else
#  define PROF__ID __LINE__
#endif

/* A name that is no literal: the first thing that the compiler says of it. */
#define PROF__NAME_FAULT "a zone's name is a literal, \"name\"; prof_push takes others"
#ifdef __cplusplus
#  define PROF__NAMED(name) static_assert(prof__is_name(#name), PROF__NAME_FAULT);
} /* extern "C" */
constexpr bool prof__is_name(const char *s) {   /* "" "name", "" u8"name", "" R"(name)", __func__ */
    return s[0] == '_' || s[3] == '"' || (s[3] == 'u' && s[4] == '8') ||
           (s[3] == 'R' && s[4] == '"');
}
extern "C" {
#elif (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#  define PROF__NAMED(name) \
    __extension__ _Static_assert(!__builtin_strncmp(#name, "_", 1) || \
                                     !__builtin_strncmp(#name, "\"\" \"", 4) || \
                                     !__builtin_strncmp(#name, "\"\" u8", 5), PROF__NAME_FAULT);
#else
#  define PROF__NAMED(name)
#endif
#define PROF__MARK(id, name) PROF__MARK_OF(id, name, __func__)
#define PROF__MARK_OF(id, name, function) \
    PROF__NAMED(name) \
    static const prof_site PROF__JOIN(prof__site_, id) = { name, __FILE__, function, __LINE__ }; \
    static prof__mark PROF__JOIN(prof__mark_, id) = { 0, &PROF__JOIN(prof__site_, id) }
#define PROF__MARK_REF(id) &PROF__JOIN(prof__mark_, id)
#if defined(PROF_DISABLE)
#  define PROF_SCOPE(name) PROF__NAMED("" name) PROF__NOTHING(PROF__ID, sizeof("" name))
#  define PROF_SCOPE_F(...) PROF__NOTHING(PROF__ID, sizeof(prof__nothing_f(__VA_ARGS__)))
PROF_API int prof__nothing_f(const char *format, ...) PROF__QUIET PROF__PRINTF(1, 2);
#  define PROF_FUNCTION() PROF__NOTHING(PROF__ID, 1)
#  define PROF__NOTHING(id, size) PROF__NOTHING2(id, size)   /* a declaration, as when enabled */
#  ifdef __cplusplus
#    define PROF__NOTHING2(id, size) static_assert((size) != 0, "")
#  else
#    define PROF__NOTHING2(id, size) enum { prof__off_##id = (size) != 0 }
#  endif
#  define PROF_BLOCK(name) PROF__ONCE(PROF__ID, name)
#  define PROF__ONCE(id, name) PROF__ONCE2(id, name)
#  define PROF__ONCE2(id, name) \
    for (bool prof__once_##id = sizeof("" name) != 0; prof__once_##id; prof__once_##id = false)
#  define PROF_SCOPE_IN(categories, name) \
    PROF__NAMED("" name) PROF__NOTHING(PROF__ID, sizeof(categories) + sizeof("" name))
#  define PROF_FUNCTION_IN(categories) PROF__NOTHING(PROF__ID, sizeof(categories))
#  define PROF_BLOCK_IN(categories, name) PROF_BLOCK(name)
#  define PROF_BEGIN(name) do { PROF__NAMED("" name) (void)("" name); } while (0)
#  define PROF_END() ((void)0)
#else

/* To the end of the block it stands in. */
#  define PROF_SCOPE(name) PROF__SCOPE(PROF__ID, "" name)

/* PROF_SCOPE with a name by a format: PROF_SCOPE_F("tile %d,%d", x, y); see prof_push_f. */
#  define PROF_SCOPE_F(...) PROF__SCOPE_F(PROF__ID, PROF__BEGIN_F(__VA_ARGS__))
#  if PROF__BARE && !PROF__STB
#    define PROF__BEGIN_F(...) PROF__NEEDS_STB(PROF_SCOPE_F)
#  elif PROF__FAST
#    define PROF__BEGIN_F(...) (PROF__LOAD(prof__on) ? prof__begin_f(__VA_ARGS__) : PROF__NULL)
#  else
#    define PROF__BEGIN_F(...) prof__begin_f(__VA_ARGS__)
#  endif

/* PROF_SCOPE named after the function; in C++ its qualified name, as A::update, or main::<lambda>,
   and what its template's parameters are. */
#  define PROF_FUNCTION() PROF__FUNCTION_IN(PROF__ID, true)

/* PROF_BLOCK("name") { ... } */
#  define PROF_BLOCK(name) PROF__BLOCK(PROF__ID, "" name)

/* The same while one of these categories is on: see prof_set_categories. */
#  define PROF_SCOPE_IN(categories, name) \
    PROF__SCOPE_IN(PROF__ID, "" name, prof__category_on(categories))
#  define PROF_FUNCTION_IN(categories) PROF__FUNCTION_IN(PROF__ID, prof__category_on(categories))
#  define PROF__FUNCTION_IN(id, on) PROF__FUNCTION_IN2(id, on)
#  if defined(__cplusplus) && defined(__GNUC__) && !PROF__BARE
#    define PROF__FUNCTION_IN2(id, on) \
    PROF__MARK_OF(id, __func__, __PRETTY_FUNCTION__); \
    const prof__scope prof__scope_##id(PROF__MARK_REF(id), on)
#  else
#    define PROF__FUNCTION_IN2(id, on) PROF__SCOPE3(id, __func__, on)
#  endif
#  define PROF_BLOCK_IN(categories, name) \
    PROF__BLOCK_IN(PROF__ID, "" name, prof__category_on(categories))

/* A pair that need not be in one block. PROF_END() ends the innermost open zone of this thread. */
#  define PROF_BEGIN(name) PROF__BEGIN(PROF__ID, "" name)
#  define PROF_END() prof__end_top_inline()

#  define PROF__SCOPE(id, name) PROF__SCOPE2(id, name)
#  define PROF__BLOCK(id, name) PROF__BLOCK2(id, name, true)
#  define PROF__SCOPE_F(id, token) PROF__SCOPE4(id, token)
#  define PROF__SCOPE_IN(id, name, on) PROF__SCOPE3(id, name, on)
#  define PROF__BLOCK_IN(id, name, on) PROF__BLOCK2(id, name, on)
#  define PROF__BEGIN(id, name) PROF__BEGIN2(id, name)
#  define PROF__BEGIN2(id, name) \
    do { PROF__MARK(id, name); (void)prof__begin_inline(PROF__MARK_REF(id), false); } while (0)

#  if defined(__cplusplus)
#    define PROF__SCOPE2(id, name) \
    PROF__MARK(id, name); const prof__scope prof__scope_##id(PROF__MARK_REF(id))
#    define PROF__SCOPE3(id, name, on) \
    PROF__MARK(id, name); const prof__scope prof__scope_##id(PROF__MARK_REF(id), on)
#    define PROF__SCOPE4(id, token) const prof__scope prof__scope_##id(token)
#    if defined(__GNUC__) || defined(__clang__)
#      define PROF__MAKE_MARK(id, name) __extension__({ PROF__MARK(id, name); PROF__MARK_REF(id); })
#    else
#      define PROF__MAKE_MARK(id, name) ([] { PROF__MARK(id, name); return PROF__MARK_REF(id); }())
#    endif
#    define PROF__BLOCK2(id, name, on) \
    for (prof__scope prof__scope_##id(PROF__MAKE_MARK(id, name), on); prof__scope_##id.once; \
         prof__scope_##id.once = false)
#  elif (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)   /* tcc ignores cleanup */
#    define PROF__SCOPE2(id, name) PROF__SCOPE3(id, name, true)
#    define PROF__SCOPE3(id, name, on) \
    PROF__MARK(id, name); \
    PROF__SCOPE4(id, (on) ? prof__begin_inline(PROF__MARK_REF(id), true) : PROF__NULL)
#    define PROF__SCOPE4(id, token) \
    __attribute__((cleanup(prof__scope_end), unused)) const prof__held prof__token_##id = \
        prof__hold(token)
#    define PROF__BLOCK2(id, name, on) \
    for (bool prof__once_##id = true; prof__once_##id; prof__once_##id = false) \
        for (__attribute__((cleanup(prof__scope_end), unused)) const prof__held \
                 prof__token_##id = \
                 __extension__({ PROF__MARK(id, name); \
                                 prof__hold((on) ? prof__begin_inline(PROF__MARK_REF(id), true) \
                                                 : NULL); }); \
             prof__once_##id; prof__once_##id = false)
#  else
#    define PROF__SCOPE2(id, name) \
    PROF_SCOPE_needs_cplusplus_or_cleanup__use_PROF_BLOCK prof__scope_##id
#    define PROF__SCOPE3(id, name, on) PROF__SCOPE2(id, name)
#    define PROF__SCOPE4(id, token) PROF__SCOPE2(id, "")
#    if defined(__TINYC__)
#      define PROF__MAKE_TOKEN(id, name, on) \
    __extension__({ PROF__MARK(id, name); \
                    (on) ? prof__begin_inline(PROF__MARK_REF(id), true) : NULL; })
#      define PROF__BLOCK2(id, name, on) \
    for (struct { prof__frame *token; bool once; } prof__block_##id = \
             { PROF__MAKE_TOKEN(id, name, on), true }; prof__block_##id.once; \
         prof__block_##id.once = false, prof__end_inline(prof__block_##id.token))
#    else                                /* not inside an unbraced if: it is two statements */
#      define PROF__BLOCK2(id, name, on) \
    PROF__MARK(id, name); \
    for (struct { prof__frame *token; bool once; } prof__block_##id = \
             { (on) ? prof__begin_inline(PROF__MARK_REF(id), true) : NULL, true }; \
         prof__block_##id.once; \
         prof__block_##id.once = false, prof__end_inline(prof__block_##id.token))
#    endif
#  endif
#endif

#if PROF__BARE && !PROF__STB
#  define PROF__NEEDS_STB(name) \
    (sizeof(struct name##_needs_stb_sprintf_h__give_its_folder_with_I) ? PROF__NULL : PROF__NULL)
#  define prof_push_f(...) ((void)PROF__NEEDS_STB(prof_push_f))
#  define prof_instant_f(...) ((void)PROF__NEEDS_STB(prof_instant_f))
#  define prof_set_thread_name_f(...) ((void)PROF__NEEDS_STB(prof_set_thread_name_f))
#  define prof_format_text(...) sizeof(PROF__NEEDS_STB(prof_format_text))
#endif

/* Names of 0.1: each is an error that tells today's. desc.counters is desc.hw_counters. */
#define prof_raw_push \
    _Pragma("GCC error \"prof_raw_push is called prof_raw_feed now\"") prof_raw_feed
#define prof_memory_size \
    _Pragma("GCC error \"prof_memory_size is called prof_arena_size now\"") prof_arena_size
#define prof_thread_name \
    _Pragma("GCC error \"prof_thread_name is called prof_set_thread_name now\"") \
    prof_set_thread_name
#define prof_counter_name \
    _Pragma("GCC error \"prof_counter_name is called prof_hw_counter_name now\"") \
    prof_hw_counter_name

#ifdef __cplusplus
}
#endif
#endif /* PROF_H */

/* ======================================================================== implementation ==== */
#if defined(PROF_IMPLEMENTATION) || (defined(PROF_STATIC) && !defined(PROF__IMPLEMENTED))
#ifndef PROF__IMPLEMENTED
#define PROF__IMPLEMENTED

#if !PROF__BARE
#  undef prof_start
#  undef prof_start_env
#  undef prof_get_stats
#  undef prof_trace_from_events
#  undef prof_raw_open
#endif
#ifdef PROF__ONE                         /* for a file that included prof.h before without it */
PROF__ONE
#endif

/* ---- @PLATFORM: clock, threads, files, locks ---- */

#if !PROF__BARE
#  include <errno.h>
#  include <stdio.h>
#  include <stdlib.h>
#  include <string.h>
#  include <time.h>
#elif __STDC_HOSTED__
#  include <string.h>
#else
#  define PROF__OWN_STRING_H 1           /* what of string.h this takes is declared here */
#endif
#if PROF__BARE
#elif defined(_WIN32)
#  include <windows.h>
#else
#  include <dlfcn.h>
#  include <fcntl.h>
#  include <poll.h>
#  include <pthread.h>
#  include <sched.h>
#  include <sys/ioctl.h>
#  include <sys/stat.h>
#  include <sys/utsname.h>
#  include <unistd.h>
#  if defined(__linux__)
#    include <sys/mman.h>
#    include <sys/resource.h>
#    include <sys/syscall.h>
#  endif
#endif
#ifdef PROF_ZLIB
#  include <zlib.h>
#endif
#include <stdarg.h>
#if defined(PROF_ASSERTS) && __STDC_HOSTED__
#  include <stdio.h>
#  include <stdlib.h>
#endif
#if PROF__STB == 1
/* A copy of one's own, under other names: the program may include stb_sprintf.h too, later. */
#  pragma push_macro("STB_SPRINTF_IMPLEMENTATION")
#  pragma push_macro("STB_SPRINTF_STATIC")
#  pragma push_macro("STB_SPRINTF_NOFLOAT")
#  pragma push_macro("STB_SPRINTF_NOUNALIGNED")
#  pragma push_macro("STB_SPRINTF_DECORATE")
#  undef STB_SPRINTF_IMPLEMENTATION
#  undef STB_SPRINTF_STATIC
#  undef STB_SPRINTF_NOFLOAT
#  undef STB_SPRINTF_NOUNALIGNED
#  undef STB_SPRINTF_DECORATE
#  define STB_SPRINTF_IMPLEMENTATION
#  define STB_SPRINTF_STATIC
#  if PROF__BARE
#    define STB_SPRINTF_NOFLOAT
#  endif
#  define STB_SPRINTF_NOUNALIGNED
#  define STB_SPRINTF_DECORATE(name) prof__stb_##name
#  define stbsp__period prof__stb_period
#  define stbsp__comma prof__stb_comma
#  define stbsp__digitpair prof__stb_digitpair
#  define stbsp__lead_sign prof__stb_lead_sign
#  define stbsp__strlen_limited prof__stb_strlen_limited
#  define stbsp__context prof__stb_context
#  define stbsp__clamp_callback prof__stb_clamp_callback
#  define stbsp__count_clamp_callback prof__stb_count_clamp_callback
#  define stbsp__real_to_parts prof__stb_real_to_parts
#  define stbsp__real_to_str prof__stb_real_to_str
#  define stbsp__raise_to_power10 prof__stb_raise_to_power10
#  define stbsp__powten prof__stb_powten
#  define stbsp__bot prof__stb_bot
#  define stbsp__negbot prof__stb_negbot
#  define stbsp__negboterr prof__stb_negboterr
#  define stbsp__top prof__stb_top
#  define stbsp__negtop prof__stb_negtop
#  define stbsp__toperr prof__stb_toperr
#  define stbsp__negtoperr prof__stb_negtoperr
#  if defined(__clang__)
#    pragma clang diagnostic push
#    pragma clang diagnostic ignored "-Weverything"
#  elif defined(__GNUC__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wpedantic"
#    pragma GCC diagnostic ignored "-Wextra"
#    pragma GCC diagnostic ignored "-Wconversion"
#    pragma GCC diagnostic ignored "-Wsign-conversion"
#    pragma GCC diagnostic ignored "-Wshadow"
#    pragma GCC diagnostic ignored "-Wundef"
#    pragma GCC diagnostic ignored "-Wcast-qual"
#    pragma GCC diagnostic ignored "-Wfloat-equal"
#    pragma GCC diagnostic ignored "-Wsign-compare"
#    pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#    pragma GCC diagnostic ignored "-Wunused-function"
#    ifdef __cplusplus
#      pragma GCC diagnostic ignored "-Wold-style-cast"
#      pragma GCC diagnostic ignored "-Wuseless-cast"
#      pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#    else
#      pragma GCC diagnostic ignored "-Wdeclaration-after-statement"
#    endif
#  endif
#  include PROF__STB_HEADER
#  if defined(__clang__)
#    pragma clang diagnostic pop
#  elif defined(__GNUC__)
#    pragma GCC diagnostic pop
#  endif
#  undef stbsp__period
#  undef stbsp__comma
#  undef stbsp__digitpair
#  undef stbsp__lead_sign
#  undef stbsp__strlen_limited
#  undef stbsp__context
#  undef stbsp__clamp_callback
#  undef stbsp__count_clamp_callback
#  undef stbsp__real_to_parts
#  undef stbsp__real_to_str
#  undef stbsp__raise_to_power10
#  undef stbsp__powten
#  undef stbsp__bot
#  undef stbsp__negbot
#  undef stbsp__negboterr
#  undef stbsp__top
#  undef stbsp__negtop
#  undef stbsp__toperr
#  undef stbsp__negtoperr
#  undef STB_SPRINTF_H_INCLUDE
#  undef STB_SPRINTF_MIN
#  undef STB_SPRINTF_IMPLEMENTATION
#  undef STB_SPRINTF_STATIC
#  undef STB_SPRINTF_NOFLOAT
#  undef STB_SPRINTF_NOUNALIGNED
#  undef STB_SPRINTF_DECORATE
#  pragma pop_macro("STB_SPRINTF_IMPLEMENTATION")
#  pragma pop_macro("STB_SPRINTF_STATIC")
#  pragma pop_macro("STB_SPRINTF_NOFLOAT")
#  pragma pop_macro("STB_SPRINTF_NOUNALIGNED")
#  pragma pop_macro("STB_SPRINTF_DECORATE")
#endif
#if !PROF__BARE && defined(__ELF__)
#  pragma weak dlopen                    /* so that no program has to link with -ldl */
#  pragma weak dlsym
#endif

#ifndef PROF_ARENA_SIZE
#  define PROF_ARENA_SIZE (PROF__BARE ? 8192u : 64u << 20)
#endif
#ifndef PROF_MAX_SITES
#  define PROF_MAX_SITES (PROF__BARE ? 64 : 16384)
#endif
#ifndef PROF_SITE_TEXT
#  define PROF_SITE_TEXT (1u << 20)
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
#elif defined(__GNUC__) && !defined(__TINYC__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wdeclaration-after-statement"   /* this is C99 */
#endif
#pragma push_macro("slots")              /* Qt's */
#undef slots

#define PROF__FN static PROF__QUIET
#if PROF__BARE                           /* inline where speed counts more than size */
#  define PROF__EAGER PROF__FN
#else
#  define PROF__EAGER PROF__INLINE
#endif
#if defined(__GNUC__) && !defined(__TINYC__)
#  define PROF__RARE(type) static __attribute__((noinline, cold)) PROF__QUIET type
#  define PROF__APART(type) static __attribute__((noinline)) PROF__QUIET type
#else
#  define PROF__RARE(type) static type
#  define PROF__APART(type) static type
#endif
#define PROF__MAX_NAME 4095
#define PROF__LEVELS (PROF__BARE ? 33 : 256)   /* more than zones can be open */
#define PROF__NEVER UINT32_MAX           /* an epoch no clock reaches: forces the slow path */
/* Defences that nothing reaches: what must hold, what cannot be. make coverage takes their word. */
#ifdef PROF__COVERAGE
#  define PROF__ALWAYS(x) true
#  define PROF__CANNOT(x) false
#else
#  define PROF__ALWAYS(x) (x)
#  define PROF__CANNOT(x) (x)
#endif
/* What always holds in a room. Compiled only with PROF_ASSERTS, as tests, fuzzing and stress are:
   there one that fails tells where and ends the program. Not in inline code: that is the user's. */
#if !defined(PROF_ASSERTS) || defined(PROF__COVERAGE)
#  define PROF__ASSERT(x) ((void)0)
#elif __STDC_HOSTED__
PROF__RARE(void) prof__assert_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: PROF__ASSERT(%s)\n", file, line, condition);
    fflush(stderr);
    abort();
}
#  define PROF__ASSERT(x) ((x) ? (void)0 : prof__assert_failed(__FILE__, __LINE__, #x))
#else
#  define PROF__ASSERT(x) ((x) ? (void)0 : __builtin_trap())
#endif
#define PROF__MIN(a, b) ((a) < (b) ? (a) : (b))
#define PROF__MAX(a, b) ((a) > (b) ? (a) : (b))
/* Amounts from outside may be anything: sums past 64 bits wrap, and are defined. */
#define PROF__PLUS(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define PROF__MINUS(a, b) ((int64_t)((uint64_t)(a) - (uint64_t)(b)))

#if !PROF__FAST && !PROF__BARE
static uint32_t prof__categories_off;
#elif !defined(PROF_STATIC)
uint32_t prof__categories_off;
#endif

#if PROF__BARE
#  ifndef PROF_STATIC
volatile unsigned char prof__on;
#  endif
#elif PROF__FAST
#  ifndef PROF_STATIC
uint32_t prof__on;
prof__hot prof__nowhere;
__thread prof__slot prof__tls = { 1, 0, 0, 0, &prof__nowhere, false, 0, 0, 0, NULL };
#  endif
#else
static uint32_t prof__on;
static prof__hot prof__nowhere;
#  if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
static __thread prof__slot prof__tls = { 1, 0, 0, 0, &prof__nowhere, false, 0, 0, 0, NULL };
#  else
#    define PROF__SLOTS 256              /* threads that record, where the compiler has no TLS */
#  endif
#endif

/* Atomics. Without the compiler's (tcc): x86 stores are in order and volatile keeps them so; read-
   modify-write happens under the lock only, which is then the OS's. */
#if !PROF__BARE && !PROF__FAST && (defined(__GNUC__) || defined(__clang__)) && \
    !defined(__TINYC__)
#  define PROF__LOAD(p)       __atomic_load_n(&(p), __ATOMIC_RELAXED)
#  define PROF__STORE(p, v)   __atomic_store_n(&(p), v, __ATOMIC_RELAXED)
#  define PROF__ACQUIRE(p)    __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#  define PROF__RELEASE(p, v) __atomic_store_n(&(p), v, __ATOMIC_RELEASE)
#elif !PROF__FAST
#  define PROF__LOAD(p)       (p)
#  define PROF__STORE(p, v)   ((p) = (v))
#  define PROF__ACQUIRE(p)    (p)
#  define PROF__RELEASE(p, v) ((p) = (v))
#endif
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#  define PROF__FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#  define PROF__SIGNAL_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#  define PROF__COUNT(n) ((void)__atomic_fetch_add(&(n), 1, __ATOMIC_RELAXED))
#else
#  define PROF__FENCE() ((void)0)
#  define PROF__SIGNAL_FENCE() ((void)0)
#  define PROF__COUNT(n) ((void)++(n))
#endif
#define PROF__BUMP(n, by) PROF__STORE(n, (n) + (by))   /* a count that one thread writes */

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#  define PROF__RACES __attribute__((no_sanitize_thread))   /* what was read may be old */
#else
#  define PROF__RACES
#endif

#if PROF__BARE
#define PROF__LOAD(p) (p)
#define PROF__STORE(p, v) ((p) = (v))
#define prof__process_id() 1u
#if defined(PROF__OWN_STRING_H)
#  ifdef PROF_STRING
#    define PROF__WEAK __attribute__((weak))
#  else
#    define PROF__WEAK
#  endif
PROF__WEAK void *memcpy(void *to, const void *from, size_t n);
PROF__WEAK void *memmove(void *to, const void *from, size_t n);
PROF__WEAK void *memset(void *to, int c, size_t n);
PROF__WEAK int memcmp(const void *a, const void *b, size_t n);
PROF__WEAK int strcmp(const char *a, const char *b);
PROF__WEAK int strncmp(const char *a, const char *b, size_t n);
PROF__WEAK size_t strlen(const char *s);
#endif

#ifdef PROF_STRING                       /* the barrier keeps them from being calls to themselves */
#  define PROF__OPAQUE __asm__ volatile("")
void *memcpy(void *to, const void *from, size_t n) {
    char *a = (char *)to;
    const char *b = (const char *)from;
    for (; n; n--) {
        PROF__OPAQUE;
        *a++ = *b++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    char *a = (char *)to;
    const char *b = (const char *)from;
    if ((uintptr_t)a <= (uintptr_t)b) return memcpy(to, from, n);
    while (n--) {
        PROF__OPAQUE;
        a[n] = b[n];
    }
    return to;
}

void *memset(void *to, int c, size_t n) {
    for (char *a = (char *)to; n; n--) {
        PROF__OPAQUE;
        *a++ = (char)c;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] - y[i];
    return 0;
}

int strncmp(const char *a, const char *b, size_t n) {
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i] || !x[i]) return x[i] - y[i];
    return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

#  if defined(__clang__) && defined(__ARM_EABI__)   /* the names by which clang calls them there */
static void prof__aeabi_move(void *to, const void *from, size_t n) {
    char *a = (char *)to;
    const char *b = (const char *)from;
    bool up = (uintptr_t)a <= (uintptr_t)b;
    for (size_t i = 0; i < n; i++) {
        PROF__OPAQUE;
        a[up ? i : n - 1 - i] = b[up ? i : n - 1 - i];
    }
}
static void prof__aeabi_set(void *to, size_t n, int c) {
    for (char *a = (char *)to; n; n--) {
        PROF__OPAQUE;
        *a++ = (char)c;
    }
}
#    define PROF__AEABI(name, parameters, call) \
    PROF__WEAK void __aeabi_##name parameters; \
    void __aeabi_##name parameters { call; }
#    define PROF__AEABI_ALL(aligned) \
    PROF__AEABI(memcpy##aligned, (void *a, const void *b, size_t n), prof__aeabi_move(a, b, n)) \
    PROF__AEABI(memmove##aligned, (void *a, const void *b, size_t n), prof__aeabi_move(a, b, n)) \
    PROF__AEABI(memset##aligned, (void *a, size_t n, int c), prof__aeabi_set(a, n, c)) \
    PROF__AEABI(memclr##aligned, (void *a, size_t n), prof__aeabi_set(a, n, 0))
PROF__AEABI_ALL()
PROF__AEABI_ALL(4)
PROF__AEABI_ALL(8)
#    undef PROF__AEABI_ALL
#    undef PROF__AEABI
#  endif

size_t strlen(const char *s) {
    size_t n = 0;
    while (s[n]) {
        PROF__OPAQUE;
        n++;
    }
    return n;
}
#endif

#define PROF__REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#  define PROF__CORTEX_M (__ARM_ARCH_ISA_THUMB >= 2 ? 2 : 1)   /* 2: it has a cycle counter */
#else
#  define PROF__CORTEX_M 0
#endif

/* The clock, 32 bits that wrap. One of fewer bits stands in the upper ones. */
#define PROF__CLOCK_SHIFT 0
PROF__INLINE uint32_t prof__clock(void) {
#if defined(PROF_NOW)
    return (uint32_t)PROF_NOW();
#elif PROF__CORTEX_M == 2
    return PROF__REGISTER(0xE0001004);   /* DWT->CYCCNT */
#elif PROF__CORTEX_M
#  undef PROF__CLOCK_SHIFT
#  define PROF__CLOCK_SHIFT 8
    return ~PROF__REGISTER(0xE000E018) << 8;   /* SysTick->VAL: 24 bits, downwards */
#elif defined(__riscv)
    unsigned long now;
    __asm__ volatile("csrr %0, cycle" : "=r"(now));
    return (uint32_t)now;
#else
    return 0;
#endif
}

/* Sets the clock going; false: there is none that would do. */
PROF__FN bool prof__clock_open(void) {
#if defined(PROF_NOW) || defined(__riscv)
    return true;
#elif PROF__CORTEX_M == 2
    PROF__REGISTER(0xE000EDFC) |= 1u << 24;    /* DEMCR.TRCENA */
    PROF__REGISTER(0xE0001FB0) = 0xC5ACCE55u;  /* the lock of a Cortex-M7 */
    PROF__REGISTER(0xE0001000) |= 1u;
    return !(PROF__REGISTER(0xE0001000) & 1u << 25);   /* NOCYCCNT */
#elif PROF__CORTEX_M
    if (!(PROF__REGISTER(0xE000E010) & 1u)) {
        PROF__REGISTER(0xE000E014) = 0xFFFFFFu;
        PROF__REGISTER(0xE000E018) = 0;
        PROF__REGISTER(0xE000E010) = 5;
    }
    return PROF__REGISTER(0xE000E014) == 0xFFFFFFu;   /* else someone uses it for less */
#else
    return false;
#endif
}

/* Who records. On Cortex-M each exception is a context of its own, by its number: what interrupts
   it has another, so nothing needs to be kept out. Elsewhere PROF_LOCK() keeps interrupts out of
   the few instructions of a begin or an end, and all are one context. */
#if !defined(PROF_CONTEXT) && PROF__CORTEX_M && !defined(PROF_LOCK)
#  define PROF__BY_IPSR 1
#  define PROF__CONTEXTS_POSSIBLE (PROF__CORTEX_M == 2 ? 512 : 48)
#  define PROF_CONTEXT() prof__ipsr()
PROF__INLINE uint32_t prof__ipsr(void) {
    uint32_t n;
    __asm__ volatile("mrs %0, ipsr" : "=r"(n));
    return n;
}
#else
#  define PROF__BY_IPSR 0
#  ifdef PROF_CONTEXT
#    define PROF__CONTEXTS_POSSIBLE 0x10000
#  else
#    define PROF__CONTEXTS_POSSIBLE 1
#    define PROF_CONTEXT() 0u
#  endif
#endif
#ifndef PROF_MAX_CONTEXTS
#  if PROF__BY_IPSR
#    define PROF_MAX_CONTEXTS (PROF__CORTEX_M == 2 ? 127 : 48)
#  elif PROF__CONTEXTS_POSSIBLE > 1
#    define PROF_MAX_CONTEXTS 8
#  else
#    define PROF_MAX_CONTEXTS 1
#  endif
#endif

/* The context's place in a table that has one more than PROF_MAX_CONTEXTS. */
#if PROF__BY_IPSR && PROF__CORTEX_M == 2 && PROF_MAX_CONTEXTS == 127
PROF__INLINE uint32_t prof__context_index(void) {
    uint32_t n;
    __asm__ volatile("mrs %0, ipsr\n\tusat %0, #7, %0" : "=r"(n));
    return n;
}
#  define PROF__CONTEXT_INDEX() prof__context_index()
#elif PROF_MAX_CONTEXTS < PROF__CONTEXTS_POSSIBLE
#  define PROF__CONTEXT_INDEX() PROF__MIN((uint32_t)PROF_CONTEXT(), PROF_MAX_CONTEXTS)
#else
#  define PROF__CONTEXT_INDEX() PROF_CONTEXT()
#endif

/* The mask of the slow path, and without contexts of the hot one too. */
PROF__INLINE uintptr_t prof__mask(void) {
#if defined(PROF_LOCK)
    return (uintptr_t)PROF_LOCK();
#elif PROF__CORTEX_M
    uint32_t state;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(state) : : "memory");
    return state;
#elif defined(__riscv) && !defined(__linux__)
    uintptr_t state;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(state) : : "memory");
    return state;
#else
    return 0;
#endif
}

PROF__INLINE void prof__unmask(uintptr_t state) {
#if defined(PROF_LOCK)
    PROF_UNLOCK(state);
#elif PROF__CORTEX_M
    __asm__ volatile("msr primask, %0" : : "r"(state) : "memory");
#elif defined(__riscv) && !defined(__linux__)
    __asm__ volatile("csrs mstatus, %0" : : "r"(state & 8u) : "memory");
#else
    (void)state;
#endif
}
#if !PROF__BY_IPSR && (defined(PROF_LOCK) || defined(__riscv))
#  define PROF__HOT_MASK() prof__mask()
#  define PROF__HOT_UNMASK(state) prof__unmask(state)
#else
#  define PROF__HOT_MASK() 0
#  define PROF__HOT_UNMASK(state) ((void)(state))
#endif

#if defined(__GNUC__) && !defined(__TINYC__)
#  define PROF__BARRIER() __asm__ volatile("" : : : "memory")
#  define PROF__BARRIER_WITH(value) __asm__ volatile("" : "+r"(value) : : "memory")
#else
#  define PROF__BARRIER() ((void)0)
#  define PROF__BARRIER_WITH(value) ((void)0)
#endif
#else
/* Strict C (-std=c99) hides these from the system's headers; they are there all the same. */
#if !defined(_WIN32) && !defined(CLOCK_MONOTONIC) && !defined(__cplusplus)
struct prof__timespec { time_t tv_sec; long tv_nsec; };
extern int clock_gettime(int clock, struct prof__timespec *t);
#  define PROF__TIMESPEC struct prof__timespec
#  define PROF__MONOTONIC 1
#  define PROF__REALTIME 0
#elif !defined(_WIN32)
#  define PROF__TIMESPEC struct timespec
#  define PROF__MONOTONIC CLOCK_MONOTONIC
#  define PROF__REALTIME CLOCK_REALTIME
#endif
#if defined(__linux__) && !defined(__cplusplus)
extern long syscall(long number, ...);
extern int clone(int (*run)(void *), void *stack, int flags, void *argument, ...);
#endif
#if !defined(_WIN32) && !defined(__cplusplus)
extern int ftruncate(int file, off_t size);
#endif

/* ThreadSanitizer ends a child of fork that starts a thread, and knows no clone. */
#if defined(__SANITIZE_THREAD__)
#  define PROF__TSAN 1
#elif defined(__has_feature)
#  if __has_feature(thread_sanitizer)
#    define PROF__TSAN 1
#  endif
#endif
#ifndef PROF__TSAN
#  define PROF__TSAN 0
#endif

/* Can a process that shares this memory write for it? */
#if defined(__linux__) && (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__) && \
    !PROF__TSAN
#  define PROF__KEEPER 1
#else
#  define PROF__KEEPER 0
#endif

/* 0: it cannot be read. */
PROF__FN uint64_t prof__os_now(void) {
#if defined(_WIN32)
    LARGE_INTEGER count, rate;
    uint64_t c, r;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&rate);
    c = (uint64_t)count.QuadPart;
    r = (uint64_t)rate.QuadPart;
    return c / r * 1000000000u + c % r * 1000000000u / r;
#else
    PROF__TIMESPEC t;
    if (clock_gettime(PROF__MONOTONIC, &t) != 0) return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/* ns since 1970. */
PROF__FN uint64_t prof__wall_now(void) {
#if defined(_WIN32)
    FILETIME t;
    GetSystemTimeAsFileTime(&t);
    return (((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) - 116444736000000000u) * 100u;
#else
    PROF__TIMESPEC t;
    if (clock_gettime(PROF__REALTIME, &t) != 0) return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

PROF__FN uint64_t prof__os_thread_id(void) {
#if defined(_WIN32)
    return GetCurrentThreadId();
#elif defined(__linux__)
    return (uint64_t)syscall(SYS_gettid);
#elif defined(__APPLE__)
    uint64_t id = 0;
    pthread_threadid_np(NULL, &id);
    return id;
#else
    return (uint64_t)(uintptr_t)pthread_self();
#endif
}

#if !defined(_WIN32)
static uint32_t prof__process;           /* known, for one that shares this memory asks too; or 0 */
#endif
PROF__FN uint32_t prof__process_id(void) {
#if defined(_WIN32)
    return (uint32_t)GetCurrentProcessId();
#else
    return prof__process ? prof__process : (uint32_t)getpid();
#endif
}

#if PROF__FAST
PROF__FN uint64_t prof__cpu_now(void) {
    uint32_t lo, hi;
    prof__ticks(&lo, &hi);
    return (uint64_t)hi << 32 | lo;
}
#else
#  define prof__cpu_now prof__os_now
#endif

/* Does the CPU's counter run at one rate on all cores? */
PROF__FN bool prof__cpu_clock_usable(void) {
#if !PROF__FAST
    return false;
#elif defined(PROF_NOW) || defined(__aarch64__)
    return true;
#else
    uint32_t a = 0x80000007u, b = 0, c = 0, d = 0;
#  if defined(__x86_64__)
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
#  else
    __asm__ volatile("xchgl %%ebx, %1\n\tcpuid\n\txchgl %%ebx, %1"
                     : "+a"(a), "=&r"(b), "+c"(c), "=d"(d));
#  endif
    (void)b;
    return (d & 1u << 8) != 0;           /* invariant TSC */
#endif
}

/* One lock for all that is rare: threads that come, chunks, names, start and stop. It holds its
   owner's slot address, so that a signal handler knows when it interrupted the owner. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
static uintptr_t prof__lock_word;
PROF__FN uintptr_t prof__self(void) { return (uintptr_t)&prof__tls; }
PROF__FN bool prof__try_lock(void) {
    uintptr_t none = 0;
    return __atomic_compare_exchange_n(&prof__lock_word, &none, prof__self(), false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
PROF__FN bool prof__lock_mine(void) { return PROF__LOAD(prof__lock_word) == prof__self(); }
PROF__FN void prof__unlock(void) { PROF__RELEASE(prof__lock_word, 0u); }
PROF__FN void prof__lock_reset(void) { prof__lock_word = 0; }
PROF__FN bool prof__swap(uint32_t *word, uint32_t from, uint32_t to) {
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
#elif defined(_WIN32)
#define prof__swap(word, from, to) ((void)(word), false)   /* so nothing is lent: prof__sums_lock */
static volatile LONG prof__lock_word;
PROF__FN bool prof__lock_mine(void) { return false; }
PROF__FN bool prof__try_lock(void) { return !InterlockedExchange(&prof__lock_word, 1); }
PROF__FN void prof__unlock(void) { InterlockedExchange(&prof__lock_word, 0); }
PROF__FN void prof__lock_reset(void) { prof__lock_word = 0; }
#else
#define prof__swap(word, from, to) ((void)(word), false)
static pthread_mutex_t prof__mutex = PTHREAD_MUTEX_INITIALIZER;
PROF__FN bool prof__lock_mine(void) { return false; }
PROF__FN bool prof__try_lock(void) { return pthread_mutex_trylock(&prof__mutex) == 0; }
PROF__FN void prof__unlock(void) { pthread_mutex_unlock(&prof__mutex); }
PROF__FN void prof__lock_reset(void) {
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    prof__mutex = fresh;
}
#endif

static void (*prof__while_waiting)(void);  /* NULL: nothing is done while a thread waits */
PROF__FN void prof__yield(void) {
    void (*look)(void) = PROF__ACQUIRE(prof__while_waiting);
    if (look) look();
#if defined(_WIN32)
    SwitchToThread();
#else
    sched_yield();
#endif
}

PROF__FN void prof__lock(void) {
    while (!prof__try_lock()) prof__yield();
}

/* For the recorder, which never blocks for good: a signal handler that interrupted the owner
   gives up at once, anyone else after a good part of a second of a stalled owner. */
PROF__FN bool prof__lock_briefly(void) {
    for (int i = 0; i < 1000000; i++) {
        if (prof__try_lock()) return true;
        if (prof__lock_mine()) return false;
        if (i >= 16) prof__yield();
    }
    return false;
}
#endif /* !PROF__BARE */

/* ---- @ARENA: one range; records from the top down, the rest from the bottom up ---- */

/* Between low and high lies what the analysis will need; promised says how much of that gap is
   spoken for. Always low + promised <= high. Under the lock. */
static struct prof__arena {
    char *base, *low, *high, *end;
#if PROF__BARE
    size_t room;                         /* of that gap, what is not spoken for */
#else
    size_t promised;
    size_t kept;                         /* of the rest, what only names, threads and sums get; */
    size_t seats;                        /* of that, what threads get that go on in sums */
    char *bound;                         /* what threads still own begins here, or above high */
    bool closed;                         /* by prof_stop: nothing more is taken */
#endif
} prof__arena;

static union { char bytes[PROF_ARENA_SIZE]; uint64_t align; void *pointer; } prof__builtin_arena;

PROF__FN size_t prof__align(size_t n) { return (n + 15u) & ~(size_t)15u; }

#if PROF__BARE
PROF__FN bool prof__promise(size_t bytes) {
    if (bytes > prof__arena.room) return false;
    prof__arena.room -= bytes;
    return true;
}

/* As below. */
PROF__FN void *prof__take(size_t bytes, size_t analysis) {
    char *p = prof__arena.low;
    bytes = prof__align(bytes);
    if (!prof__promise(bytes + analysis)) return NULL;
    prof__arena.low += bytes;
    return p;
}
#else
/* Bytes that are not spoken for. */
PROF__FN size_t prof__arena_room(void) {
    char *top = PROF__MIN(prof__arena.high, prof__arena.bound);
    size_t gap = top > prof__arena.low ? (size_t)(top - prof__arena.low) : 0;
    if (prof__arena.closed || gap < prof__arena.promised) return 0;
    return gap - prof__arena.promised;
}

PROF__FN bool prof__arena_fits(size_t bytes) {
    size_t room = prof__arena_room();
    return !prof__arena.closed && room >= prof__arena.kept && room - prof__arena.kept >= bytes;
}

/* Memory that lives as long as the session; NULL when bytes and the analysis they entail do not
   fit. */
PROF__FN void *prof__take(size_t bytes, size_t analysis) {
    char *p = prof__arena.low;
    bytes = prof__align(bytes);
    if (!prof__arena_fits(bytes + analysis)) return NULL;
    prof__arena.low += bytes;
    prof__arena.promised += analysis;
    PROF__ASSERT((size_t)(prof__arena.high - prof__arena.low) >= prof__arena.promised);
    return p;
}

/* The same from all that there is: for names, threads and sums. */
PROF__FN void *prof__take_kept(size_t bytes, size_t analysis) {
    size_t kept = prof__arena.kept;
    void *p;
    prof__arena.kept = 0;
    p = prof__take(bytes, analysis);
    prof__arena.kept = kept;
    return p;
}

/* For a name: threads may come yet that need theirs to go on in sums. */
PROF__FN bool prof__name_fits(size_t bytes) {
    return prof__arena_room() >= bytes + prof__arena.seats;
}
#endif

/* Open addressing: the place of a key's number + 1, or the free one where it would go. same()
   compares number with the key. */
typedef bool (*prof__same)(const void *context, uint32_t number);

PROF__FN uint32_t *prof__place_of(uint32_t *index, uint32_t places, uint64_t hash, prof__same same,
                               const void *context) {
    uint32_t i;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    i = (uint32_t)((hash >> 32) % places);
    while (index[i] && !same(context, index[i] - 1)) i = i + 1 == places ? 0 : i + 1;
    return index + i;
}

/* ---- @TEXT: numbers as Python prints them, and buffered output ---- */

/* A double without a floating point unit: m * 2^e, m of 53 bits or 0. The operations round to
   nearest even, so figures equal those of Python to the last digit on every machine. */
typedef struct prof__real { uint64_t m; int e; bool negative; } prof__real;

/* m * 2^e and something below its last bit. */
PROF__FN prof__real prof__real_round(uint64_t m, int e, bool rest) {
    prof__real r = { 0, 0, false };
    uint64_t low, half = 1u << 10;
    if (!m) return r;
    while (!(m >> 63)) {
        m <<= 1;
        e--;
    }
    low = m & 0x7ff;
    r.m = m >> 11;
    r.e = e + 11;
    if (low > half || (low == half && (rest || (r.m & 1)))) r.m++;
    if (r.m >> 53) {
        r.m >>= 1;
        r.e++;
    }
    return r;
}

PROF__FN prof__real prof__real_from(int64_t n) {
    prof__real r = prof__real_round(n < 0 ? 0u - (uint64_t)n : (uint64_t)n, 0, false);
    r.negative = n < 0;
    return r;
}

PROF__FN prof__real prof__real_from_double(double d) {
    prof__real r = { 0, 0, false };
    uint64_t bits;
    int e;
    memcpy(&bits, &d, sizeof bits);
    e = (int)(bits >> 52 & 0x7ff);
    r = prof__real_round((bits & 0xfffffffffffffu) | (uint64_t)(e != 0) << 52, (e ? e : 1) - 1075,
                         false);
    r.negative = (bits >> 63) != 0;
    return r;
}

PROF__FN prof__real prof__real_div(prof__real a, prof__real b) {
    uint64_t q = 0, r = a.m;
    prof__real out = { 0, 0, a.negative != b.negative };   /* Python's -0.0, too */
    if (!a.m || !b.m) return out;
    for (int i = 0; i < 63; i++) {       /* 62 or 63 bits of quotient; r tells if more follow */
        q <<= 1;
        if (r >= b.m) {
            r -= b.m;
            q |= 1;
        }
        r <<= 1;
    }
    out = prof__real_round(q, a.e - b.e - 62, r != 0);
    out.negative = a.negative != b.negative;
    return out;
}

PROF__FN prof__real prof__real_mul100(prof__real a) {
    bool negative = a.negative;
    a = prof__real_round(a.m * 100u, a.e, false);   /* 53 + 7 bits: exact before the rounding */
    a.negative = negative;
    return a;
}

PROF__FN prof__real prof__real_mul(prof__real a, prof__real b) {
    uint64_t al = a.m & 0xffffffffu, ah = a.m >> 32, bl = b.m & 0xffffffffu, bh = b.m >> 32;
    uint64_t low = al * bl, middle = ah * bl + (low >> 32);
    uint64_t cross = al * bh + (middle & 0xffffffffu);
    uint64_t high = ah * bh + (middle >> 32) + (cross >> 32);   /* 106 bits in high and low */
    prof__real out;
    low = cross << 32 | (low & 0xffffffffu);
    out = prof__real_round(high << 22 | low >> 42, a.e + b.e + 42, (low << 22) != 0);
    out.negative = a.negative != b.negative;
    return out;
}

PROF__FN bool prof__real_below(prof__real a, prof__real b) {
    bool negative = a.m && a.negative, other = b.m && b.negative;
    if (negative != other) return negative;
    if (negative) {
        prof__real swap = a;
        a = b;
        b = swap;
    }
    if (!a.m || !b.m) return !a.m && b.m;
    return a.e != b.e ? a.e < b.e : a.m < b.m;   /* both m have 53 bits */
}

/* Divides *n and returns the rest. */
PROF__EAGER uint32_t prof__divide(uint64_t *n, uint32_t by) {
#if PROF__BARE                           /* the compiler's library takes ten times the flash */
    uint64_t rest = 0, left = *n;
    for (int i = 0; i < 64; i++, left <<= 1) {
        rest = rest << 1 | left >> 63;
        *n <<= 1;
        if (rest < by) continue;
        rest -= by;
        *n |= 1;
    }
    return (uint32_t)rest;
#else
    uint64_t all = *n;
    *n = all / by;
    return (uint32_t)(all % by);
#endif
}

PROF__FN char *prof__text_u64(char *p, uint64_t n) {
    char digits[20];
    int i = 20;
#if PROF__BARE                           /* nine digits are 32 bits */
    for (int least = 20; n >> 32; least -= 9) {
        uint32_t low = prof__divide(&n, 1000000000u);
        for (; i > least - 9; low /= 10u) digits[--i] = (char)('0' + low % 10u);
    }
    for (uint32_t low = (uint32_t)n;;) {
        digits[--i] = (char)('0' + low % 10u);
        if (!(low /= 10u)) break;
    }
#else
    do digits[--i] = (char)('0' + n % 10u); while (n /= 10u);
#endif
    memcpy(p, digits + i, (size_t)(20 - i));
    return p + 20 - i;
}

PROF__FN char *prof__text_i64(char *p, int64_t n) {
    if (n < 0) *p++ = '-';
    return prof__text_u64(p, n < 0 ? 0u - (uint64_t)n : (uint64_t)n);
}

/* ns as microseconds with three decimals. */
PROF__EAGER char *prof__text_us(char *p, uint64_t ns) {
    uint32_t part = prof__divide(&ns, 1000);
    p = prof__text_u64(p, ns);
    p[0] = '.';
    p[1] = (char)('0' + part / 100u);
    p[2] = (char)('0' + part / 10u % 10u);
    p[3] = (char)('0' + part % 10u);
    return p + 4;
}

/* printf's %.2f or %.3f, ties to even on the exact value. Past 2^64 it stops at 2^64 - 1. */
PROF__FN char *prof__text_real(char *p, prof__real x, int decimals) {
    uint32_t scale = decimals == 2 ? 100 : 1000, part = 0;
    uint64_t n = x.m * scale;            /* 53 + 10 bits */
    if (x.negative) *p++ = '-';
    if (x.e >= 0) {
        n = x.e > 11 ? UINT64_MAX : x.m << x.e;
        p = prof__text_u64(p, n);
    } else {
        int shift = -x.e;
        uint64_t rest = shift > 63 ? n : n & (((uint64_t)1 << shift) - 1);
        uint64_t half = shift > 63 ? UINT64_MAX : (uint64_t)1 << (shift - 1);
        n = shift > 63 ? 0 : n >> shift;
        if (rest > half || (rest == half && (n & 1))) n++;
        part = prof__divide(&n, scale);
        p = prof__text_u64(p, n);
    }
    *p++ = '.';
    for (scale /= 10; scale; scale /= 10) *p++ = (char)('0' + part / scale % 10);
    return p;
}

/* us with its unit: unit 0 chooses by us, as _format_time. divided: us / 10^3k. */
PROF__FN char *prof__text_time(char *p, prof__real us, prof_time_unit unit) {
    static const char names[][3] = { "", "s", "ms", "us" };
    const char *name = names[unit];
    if (unit == PROF_TIME_S) us = prof__real_div(us, prof__real_from(1000000));
    if (unit == PROF_TIME_MS) us = prof__real_div(us, prof__real_from(1000));
    p = prof__text_real(p, us, 3);
    while (*name) *p++ = *name++;
    return p;
}

PROF__FN prof__real prof__us(int64_t ns) {
    return prof__real_div(prof__real_from(ns), prof__real_from(1000));
}

PROF__FN prof_time_unit prof__time_unit(int64_t ns) {
    return ns >= 1000000000 ? PROF_TIME_S : ns >= 1000000 ? PROF_TIME_MS : PROF_TIME_US;
}

PROF__FN char *prof__text_share(char *p, prof__real part, prof__real total) {
    if (!total.m) {
        memcpy(p, "NaN", 3);
        return p + 3;
    }
    p = prof__text_real(p, prof__real_div(prof__real_mul100(part), total), 2);
    *p++ = '%';
    return p;
}

PROF__FN size_t prof__text_copy(char *buf, size_t size, const char *text, size_t length) {
    if (size) {
        memcpy(buf, text, PROF__MIN(length, size - 1));
        buf[PROF__MIN(length, size - 1)] = 0;
    }
    return length;
}

PROF_API PROF__QUIET size_t prof_format_time(char *buf, size_t size, double us) {
    char text[48];
    prof__real x = prof__real_from_double(us);
    prof_time_unit unit = prof__real_below(x, prof__real_from(1000)) ? PROF_TIME_US
                        : prof__real_below(x, prof__real_from(1000000)) ? PROF_TIME_MS
                                                                        : PROF_TIME_S;
    return prof__text_copy(buf, size, text, (size_t)(prof__text_time(text, x, unit) - text));
}

PROF_API PROF__QUIET size_t prof_format_share(char *buf, size_t size, double part, double total) {
    char text[48],
        *end = prof__text_share(text, prof__real_from_double(part), prof__real_from_double(total));
    return prof__text_copy(buf, size, text, (size_t)(end - text));
}

PROF_API PROF__QUIET size_t prof_format_memory(char *buf, size_t size, int64_t bytes) {
    char text[48], *p = text;
    uint64_t n = bytes < 0 ? 0u - (uint64_t)bytes : (uint64_t)bytes;
    int power = n >> 30 ? 3 : n >> 20 ? 2 : n >> 10 ? 1 : 0;
    prof__real x = prof__real_from(bytes);
    x.e -= 10 * power;
    p = power ? prof__text_real(p, x, 2) : prof__text_i64(p, bytes);
    *p++ = ' ';
    if (power) *p++ = " KMG"[power];
    *p++ = 'B';
    return prof__text_copy(buf, size, text, (size_t)(p - text));
}

/* Output: a buffer before a sink; the first failure is kept and ends all writing. */
#define PROF__OUT_SIZE (PROF__BARE ? 256 : 8192)
typedef struct prof__out {
    prof_sink sink;
    bool failed;
    char *p;
    char buf[PROF__OUT_SIZE];
} prof__out;

PROF__FN void prof__out_open(prof__out *o, prof_sink sink) {
    o->sink = sink;
    o->failed = sink.write == NULL;
    o->p = o->buf;
}

PROF__FN void prof__out_flush(prof__out *o) {
    if (o->p > o->buf && !o->failed &&
        !o->sink.write(o->sink.user, o->buf, (size_t)(o->p - o->buf)))
        o->failed = true;
    o->p = o->buf;
}

PROF__FN prof_result prof__out_close(prof__out *o) {
    prof__out_flush(o);
    return o->failed ? PROF_ERROR_SINK : PROF_OK;
}

/* Room for n bytes at o->p. */
PROF__EAGER void prof__out_room(prof__out *o, size_t n) {
    if (PROF__UNLIKELY((size_t)(o->buf + PROF__OUT_SIZE - o->p) < n)) prof__out_flush(o);
}

PROF__FN void prof__out_bytes(prof__out *o, const char *s, size_t n) {
    while (n) {
        size_t room, part;
        prof__out_room(o, 1);
        room = (size_t)(o->buf + PROF__OUT_SIZE - o->p);
        part = PROF__MIN(n, room);
        memcpy(o->p, s, part);
        o->p += part;
        s += part;
        n -= part;
    }
}

PROF__FN void prof__out_text(prof__out *o, const char *s) { prof__out_bytes(o, s, strlen(s)); }

PROF__FN void prof__out_repeat(prof__out *o, char c, size_t n) {
    while (n--) {
        prof__out_room(o, 1);
        *o->p++ = c;
    }
}

PROF__FN void prof__out_u64(prof__out *o, uint64_t n) {
    prof__out_room(o, 20);
    o->p = prof__text_u64(o->p, n);
}

PROF__FN void prof__out_i64(prof__out *o, int64_t n) {
    prof__out_room(o, 21);
    o->p = prof__text_i64(o->p, n);
}

/* Bytes of the UTF-8 sequence at s: 1 to 4; 0 when it is not one. */
PROF__FN size_t prof__utf8_length(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    size_t n = u[0] < 0x80 ? 1 : u[0] >= 0xc2 && u[0] < 0xe0 ? 2 : (u[0] & 0xf0) == 0xe0 ? 3
             : u[0] >= 0xf0 && u[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80) return 0;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f)) return 0;
    return n;
}

#define PROF__REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The code point at *s as valid UTF-8; moves on. */
PROF__FN void prof__out_code_point(prof__out *o, const char **s) {
    size_t n = prof__utf8_length(*s);
    if (n) prof__out_bytes(o, *s, n);
    else prof__out_text(o, PROF__REPLACEMENT);
    *s += n ? n : 1;
}

PROF__FN void prof__out_json_rare(prof__out *o, const char **s) {
    static const char hex[] = "0123456789abcdef";
    unsigned char c = (unsigned char)**s;
    prof__out_room(o, 6);
    if (c == '"' || c == '\\') {
        *o->p++ = '\\';
        *o->p++ = (char)c;
    } else if (c < 0x20 || c == 0x7f) {
        memcpy(o->p, "\\u00", 4);
        o->p[4] = hex[c >> 4];
        o->p[5] = hex[c & 15];
        o->p += 6;
    } else {
        prof__out_code_point(o, s);
        return;
    }
    ++*s;
}

PROF__INLINE bool prof__json_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* s inside a JSON string. */
PROF__FN void prof__out_json(prof__out *o, const char *s) {
    while (*s) {
        prof__out_room(o, 32);
        for (int i = 0; i < 32 && prof__json_plain(*s); i++) *o->p++ = *s++;
        if (*s && !prof__json_plain(*s)) prof__out_json_rare(o, &s);
    }
}

PROF__FN void prof__out_us(prof__out *o, int64_t ns) {
    prof__out_room(o, 32);
    if (ns < 0) *o->p++ = '-';
    o->p = prof__text_us(o->p, ns < 0 ? 0u - (uint64_t)ns : (uint64_t)ns);
}

/* Writes format, where %s is a text, %j one within the quotes of JSON, %u a uint64_t, %i an
   int64_t, and not on targets: %t an int64_t of ns as microseconds with three decimals, %b bytes
   and their size_t. make lint checks the arguments. */
PROF__FN void prof__out_f(prof__out *o, const char *format, ...) {
    va_list arguments;
    char what;
    va_start(arguments, format);
    for (const char *from = format; ; from = format += 2) {
        while (*format && *format != '%') format++;
        prof__out_bytes(o, from, (size_t)(format - from));
        if (!*format) break;
        what = format[1];
        if (what == 's') prof__out_text(o, va_arg(arguments, const char *));
        else if (what == 'j') prof__out_json(o, va_arg(arguments, const char *));
        else if (what == 'u') prof__out_u64(o, va_arg(arguments, uint64_t));
        else if (PROF__BARE || what == 'i') prof__out_i64(o, va_arg(arguments, int64_t));
        else if (what == 't') prof__out_us(o, va_arg(arguments, int64_t));
        else {
            from = va_arg(arguments, const char *);
            prof__out_bytes(o, from, va_arg(arguments, size_t));
        }
    }
    va_end(arguments);
}

/* What prof_strerror says of PROF_ERROR_UNSUPPORTED. */
static const char prof__unsupported_usual[] =
    "left out of this build (.gz needs PROF_ZLIB), or the device asked for cannot record";
#if !PROF__BARE
static const char *prof__unsupported_text = prof__unsupported_usual;

/* ---- is it JSON? ---- */

static char prof__json_text_bad[96] = "this is not JSON";
typedef struct prof__json { const char *at, *why; } prof__json;

PROF__FN bool prof__json_bad(prof__json *j, const char *why) {
    if (!j->why) j->why = why;
    return false;
}

PROF__FN void prof__json_space(prof__json *j) {
    while (*j->at == ' ' || (*j->at >= '\t' && *j->at <= '\r' && *j->at != '\v' && *j->at != '\f'))
        j->at++;
}

PROF__FN bool prof__json_hex(const char *s) {
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return false;
    }
    return true;
}

PROF__FN bool prof__json_string(prof__json *j) {
    if (*j->at != '"') return prof__json_bad(j, "a string was expected");
    for (j->at++; *j->at != '"'; j->at++) {
        size_t n = prof__utf8_length(j->at);
        if ((unsigned char)*j->at < 0x20) return prof__json_bad(j, "a string has no end");
        if (!n) return prof__json_bad(j, "a byte is not UTF-8");
        j->at += n - 1;
        if (*j->at != '\\') continue;
        j->at++;
        if (*j->at == 'u' && prof__json_hex(j->at + 1)) j->at += 4;
        else if (!*j->at || *j->at == 'u' || !strchr("\"\\/bfnrt", *j->at))
            return prof__json_bad(j, "no such escape");
    }
    j->at++;
    return true;
}

PROF__FN bool prof__json_digits(prof__json *j) {
    if (*j->at < '0' || *j->at > '9') return prof__json_bad(j, "a digit was expected");
    while (*j->at >= '0' && *j->at <= '9') j->at++;
    return true;
}

PROF__FN bool prof__json_number(prof__json *j) {
    if (*j->at == '-') j->at++;
    if (*j->at == '0' && j->at[1] >= '0' && j->at[1] <= '9')
        return prof__json_bad(j, "a number begins with 0");
    if (!prof__json_digits(j)) return false;
    if (*j->at == '.' && (j->at++, !prof__json_digits(j))) return false;
    if (*j->at != 'e' && *j->at != 'E') return true;
    j->at++;
    if (*j->at == '+' || *j->at == '-') j->at++;
    return prof__json_digits(j);
}

PROF__FN bool prof__json_word(prof__json *j) {
    static const char *const words[] = { "true", "false", "null" };
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if (strncmp(j->at, words[i], n) != 0) continue;
        j->at += n;
        return true;
    }
    return prof__json_bad(j, "a value was expected");
}

/* After `{` or a comma in an object: the key and its colon. */
PROF__FN bool prof__json_member(prof__json *j) {
    prof__json_space(j);
    if (!prof__json_string(j)) return false;
    prof__json_space(j);
    if (*j->at != ':') return prof__json_bad(j, "a colon was expected");
    j->at++;
    return true;
}

/* A value that is no list. */
PROF__FN bool prof__json_plain_value(prof__json *j) {
    if (*j->at == '"') return prof__json_string(j);
    if (*j->at == '-' || (*j->at >= '0' && *j->at <= '9')) return prof__json_number(j);
    return prof__json_word(j);
}

/* One value with all in it; nests: a bit for each list around, 1 for objects. */
PROF__FN bool prof__json_value(prof__json *j) {
    uint64_t nests = 1;
    do {
        prof__json_space(j);
        if (*j->at == '{' || *j->at == '[') {
            bool object = *j->at++ == '{';
            if (nests >> 62) return prof__json_bad(j, "it is nested more than 61 deep");
            nests = nests << 1 | object;
            prof__json_space(j);
            if (*j->at != (object ? '}' : ']')) {
                if (object && !prof__json_member(j)) return false;
                continue;
            }
        } else if (!prof__json_plain_value(j)) {
            return false;
        }
        for (;;) {                       /* a value has ended: so may the lists around it */
            prof__json_space(j);
            if (nests == 1 || *j->at != (nests & 1 ? '}' : ']')) break;
            j->at++;
            nests >>= 1;
        }
        if (nests == 1) break;
        if (*j->at != ',') return prof__json_bad(j, "a comma was expected");
        j->at++;
        if (nests & 1 && !prof__json_member(j)) return false;
    } while (true);
    return true;
}

/* NULL: s is JSON; else where it is not. */
PROF__FN const char *prof__json_check_why(const char *s, const char **why) {
    prof__json j = { NULL, NULL };
    j.at = s;
    if (prof__json_value(&j) && *j.at) (void)prof__json_bad(&j, "there is more after the value");
    *why = j.why;
    return j.why ? j.at : NULL;
}

PROF__FN const char *prof__json_check(const char *s) {
    const char *why;
    return prof__json_check_why(s, &why);
}

/* Is s the members of an object, without its braces? */
PROF__FN bool prof__json_members(const char *s) {
    prof__json j = { NULL, NULL };
    for (j.at = s;; j.at++) {
        if (!prof__json_member(&j) || !prof__json_value(&j)) return false;
        if (*j.at != ',') return !*j.at;
    }
}
#endif

/* Bytes of the code point at s; an invalid byte is one of its own. */
PROF__FN size_t prof__utf8_step(const char *s) {
    size_t n = prof__utf8_length(s);
    return n ? n : 1;
}

/* The n-th of the texts, each with its NUL. A list of pointers would have all such lists' text
   linked to a freestanding program. */
PROF__FN const char *prof__nth(const char *texts, size_t n) {
    while (n--) texts += strlen(texts) + 1;
    return texts;
}

/* Text from outside; NULL is none. */
PROF__FN const char *prof__text(const char *s) { return s ? s : ""; }

/* Code points: Python's len(). */
PROF__FN size_t prof__text_width(const char *s) {
    size_t width = 0;
    for (; *s; width++) s += prof__utf8_step(s);
    return width;
}

PROF__FN bool prof__ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* PyTorch's unit for FLOPs: floor(log10(n) / 3), its logarithm rounding up two below 10^15. */
PROF__FN int prof__flops_power(int64_t n) {
    static const int64_t steps[] = { 1000, 1000000, 1000000000, 1000000000000, 999999999999998 };
    int power = 0;
    while (power < 5 && n >= steps[power]) power++;
    return power;
}

/* ---- @SITES: names, merged by (name, file, line); they outlive sessions and libraries ---- */

/* Site numbers: 0 none; 1.. static sites; PROF__PUSHED.. names of this session. In a mark and in
   records they stand shifted left by 8, above the depth. */
#define PROF__PUSHED (1u << 20)

/* FNV-1a over name, cut to PROF__MAX_NAME bytes at a character's start. */
PROF__FN uint32_t prof__hash(const char *s, size_t *length) {
    uint32_t h = 2166136261u;
    size_t n = 0;
    for (; s[n] && n < PROF__MAX_NAME; n++) h = (h ^ (unsigned char)s[n]) * 16777619u;
    if (s[n])
        while (n && ((unsigned char)s[n] & 0xc0) == 0x80) n--;
    *length = n;
    return h;
}

/* Sums of one row of averages. What the row is, its first event says. */
typedef struct prof__group {
    uint64_t count;
    int64_t cpu_ns, self_cpu_ns, min_ns, max_ns;
    uint32_t first, hash;                /* first: number of an event, or a site; PROF_NONE: no
                                            event, it is only in sums */
#if !PROF__BARE
    const struct prof__tally *sums;      /* what is in no timeline; NULL: nothing */
#endif
} prof__group;

/* The same of what only some traces have. */
typedef struct prof__group_wide {
    int64_t device_ns, self_device_ns, cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes;
    int64_t flops;
#if !PROF__BARE
    double cpu_us;                       /* raw activities: as Python adds them up; see below */
#endif
} prof__group_wide;

/* Bytes for one row more: the row, its last call, its places in two indices, two numbers to sort
   by. A rank takes less than what is wide. */
#define PROF__GROUP_SHARE \
    (sizeof(prof__group) + sizeof(prof__group_wide) + (PROF__BARE ? 5 : 6) * sizeof(uint32_t))
#define PROF__SITE_SHARE prof__align(PROF__GROUP_SHARE + (PROF__BARE ? 0 : 72))   /* 72: shares */

#if PROF__BARE
/* Names stay where they are. Marks fill the list from the left, names of this session from the
   right; numbers begin at PROF__FIRST_SITE, for a mark holds its number less 1. */
#define PROF__FIRST_SITE 2u
typedef struct prof__name { prof_site site; } prof__name;   /* its text follows it */
static struct prof__names {
    uint32_t count, sites;               /* names, marks */
    size_t share;                        /* PROF__SITE_SHARE, if there is to be an analysis */
    const prof_site *list[PROF_MAX_SITES];
} prof__names;
#define prof__site_count prof__names.sites
#define prof__sites prof__names.list

/* The number of site, which is new; 0 when the list or the arena is full. Under the lock. */
PROF__FN uint32_t prof__site_add(const prof_site *site, uint32_t place) {
    if (prof__site_count + prof__names.count == PROF_MAX_SITES ||
        !prof__promise(prof__names.share)) return 0;
    prof__sites[place] = site;
    return place + PROF__FIRST_SITE;
}

/* The number of a name that the session knows; 0: not yet. */
PROF__FN uint32_t prof__name_find(const char *name) {
    for (uint32_t i = 1; i <= prof__names.count; i++)
        if (strcmp(prof__sites[PROF_MAX_SITES - i]->name, name) == 0)
            return PROF_MAX_SITES - i + PROF__FIRST_SITE;
    return 0;
}

/* The number of a name made at run time; 0: no room. Under the lock. */
PROF__FN uint32_t prof__name_add(const char *name) {
    uint32_t number = prof__name_find(name = name ? name : "(null)");
    size_t size = strlen(name) + 1;
    prof__name *n = number ? NULL : (prof__name *)prof__take(sizeof *n + size, 0);
    if (!n) return number;
    n->site.name = (const char *)memcpy(n + 1, name, size);
    n->site.file = n->site.function = "";
    n->site.line = 0;
    number = prof__site_add(&n->site, PROF_MAX_SITES - 1 - prof__names.count);
    if (number) prof__names.count++;
    return number;
}

/* 0 is known: that of zones that are lost. */
PROF__FN bool prof__site_known(uint32_t number) {
    uint32_t i = number - PROF__FIRST_SITE;
    return !number || i < prof__site_count ||
           (i < PROF_MAX_SITES && i >= PROF_MAX_SITES - prof__names.count);
}

PROF__FN const prof_site *prof__site(uint32_t number) {
    static const char name[] = "(lost)";
    static const prof_site lost = { name, name + 6, name + 6, 0 };
    return number ? prof__sites[number - PROF__FIRST_SITE] : &lost;
}

/* Sites as 1, 2...: marks first. 0 stays. */
PROF__FN uint32_t prof__site_dense(uint32_t number) {
    uint32_t i = number - PROF__FIRST_SITE;
    if (!number) return 0;
    return i < prof__site_count ? i + 1 : prof__site_count + PROF_MAX_SITES - i;
}

#  define prof__site_order(number) prof__site_dense(number)
#  define prof__sites_of(s) (prof__site_count + 1 + prof__names.count)

#  define prof__same_place(a, b) true
#  define prof__hash_place(h, place) (h)
#  define prof__group_place(by, e) NULL
#else
typedef struct prof__name { prof_site site; uint32_t hash; } prof__name;   /* its text follows it */

#define PROF__OWN_SITES 3                /* the library's own: see prof__sums_sites */
static prof_site prof__sites[PROF_MAX_SITES + PROF__OWN_SITES + 1];
static uint32_t prof__site_index[(PROF_MAX_SITES + PROF__OWN_SITES) * 2 + 1];
static uint32_t prof__site_count, prof__sites_own;
static char prof__site_text[PROF_SITE_TEXT];
static size_t prof__site_text_used;

static struct prof__names {              /* in the arena, made with the session's first name */
    prof__name **list;
    uint32_t *index;                     /* 2 * capacity + 1 places of numbers from 1 up; 0: free */
    uint32_t count, capacity;
    size_t refused;                      /* names as long as this found no room */
} prof__names;

PROF__FN bool prof__same_text(const char *a, const char *b, size_t b_length) {
    return memcmp(a, b, b_length) == 0 && a[b_length] == 0;
}

/* A copy of s in the process-lifetime text, shared with the last one when equal (file names are).
   */
PROF__FN const char *prof__site_copy(const char *s, const char *last) {
    size_t n;
    char *p = prof__site_text + prof__site_text_used;
    (void)prof__hash(s, &n);
    if (last && strlen(last) == n && memcmp(last, s, n) == 0) return last;
    if (PROF_SITE_TEXT - prof__site_text_used <= n) return NULL;
    memcpy(p, s, n);
    p[n] = 0;
    prof__site_text_used += n + 1;
    return p;
}

static uint64_t prof__names_cut;

/* Where a site stands shifted by 8 these stand for none: the table of sites is full, that of names,
   the arena, the lock was held too long. */
enum { PROF__NO_SITE, PROF__NO_NAME, PROF__NO_ROOM, PROF__NO_LOCK, PROF__NOS };
static uint32_t prof__no_site;           /* why the last one was refused. Under the lock */

/* The library's own sites. "(others)" is that of zones whose own could not be stored; 0: none had
   to. Sites outlive sessions, so it stays the same. */
static const char prof__own_text[] = "(in sums)\0timeline ends\0(others)";
#define PROF__OWN_SITE(at) { prof__own_text + (at), prof__own_text + 9, prof__own_text + 9, 0 }
static uint32_t prof__others_site;
PROF__FN uint32_t prof__site_add(const prof_site *site, bool own);

PROF__FN uint32_t prof__others_make(void) {
    static const prof_site others = PROF__OWN_SITE(24);
    if (!prof__others_site) PROF__STORE(prof__others_site, prof__site_add(&others, true));
    return prof__others_site;
}

/* Under the lock. */
PROF__FN uint32_t prof__refuse_site(uint32_t why) {
    (void)prof__others_make();
    prof__no_site = why;
    return 0;
}

/* A number shifted, or why there was none. Under the lock. */
PROF__FN uint32_t prof__site_id(uint32_t number) { return number ? number << 8 : prof__no_site; }

/* All but the library's own. */
PROF__FN uint32_t prof__sites_marked(void) {
    return PROF__ACQUIRE(prof__site_count) - PROF__LOAD(prof__sites_own);
}

PROF__FN bool prof__sites_full(void) { return prof__sites_marked() >= PROF_MAX_SITES; }

/* Past the bracket that closes the one at s. */
PROF__FN const char *prof__closed(const char *s) {
    const char open = *s, close = open == '(' ? ')' : open == '<' ? '>' : '}';
    for (size_t depth = 0; *s; s++) {
        if (*s == open) depth++;
        if (*s == close && s[-1] != '-' && !--depth) return s + 1;
    }
    return s;
}

PROF__FN bool prof__begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

/* Past parameters, or a closure, and what may follow them. */
PROF__FN const char *prof__qualifiers_past(const char *s) {
    static const char *const more[] = { " const", " volatile", " mutable", " noexcept", " &" };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (prof__begins(s, more[i])) s += strlen(more[i]);
    return s;
}

typedef struct prof__qualified { char *text; size_t count, size; } prof__qualified;

PROF__FN void prof__qualified_add(prof__qualified *q, const char *s, const char *end) {
    for (; s < end && q->count + 1 < q->size; s++) q->text[q->count++] = *s;
    q->text[q->count] = 0;
}

/* A bracket within a name: an anonymous namespace is left out, a closure is <lambda>. */
PROF__FN const char *prof__qualified_group(prof__qualified *q, const char *s) {
    static const char lambda[] = "<lambda>";
    const char *after = prof__closed(s);
    if (prof__begins(s, "(anonymous namespace)::") || prof__begins(s, "{anonymous}::"))
        return after + 2;
    if (*s == '(' || prof__begins(s, "<lambda")) {
        prof__qualified_add(q, lambda, lambda + sizeof lambda - 1);
        return prof__begins(after, "::operator()") ? after + 12 : prof__qualifiers_past(after);
    }
    prof__qualified_add(q, s, after);
    return after;
}

/* From "operator" to its parameters. */
PROF__FN const char *prof__qualified_operator(prof__qualified *q, const char *s) {
    const char *end = s + 8;
    end += prof__begins(end, "()") ? 2 : strcspn(end, "(");
    prof__qualified_add(q, s, end);
    return end;
}

/* "static int A<T>::f(int) [with T = char]", as gcc and clang say it, is A<T>::f [T = char]. What
   stands before a space is no part of the name; of clang's pointers, nor is a star. */
PROF__FN void prof__qualified_make(prof__qualified *q, const char *s) {
    while (*s && !prof__begins(s, " [")) {
        char last = q->count ? q->text[q->count - 1] : ':';
        if (last == ':' && prof__begins(s, "operator")) s = prof__qualified_operator(q, s);
        else if (*s == '(' && last != ':') {
            s = prof__qualifiers_past(prof__closed(s));
            if (*s != ':') break;
        } else if (*s == '(' || *s == '<' || *s == '{') s = prof__qualified_group(q, s);
        else if (*s == ' ') s++, q->count = 0;
        else if (last == ':' && (*s == '*' || *s == '&')) s++;
        else {
            prof__qualified_add(q, s, s + 1);
            s++;
        }
    }
    s = strstr(s, " [");
    if (s) {
        const char *from = s + (prof__begins(s, " [with ") ? 7 : 2), *to = from + strlen(from);
        const char *names = strstr(from, "; std::");   /* what gcc says of its own names */
        prof__qualified_add(q, s, s + 2);
        prof__qualified_add(q, from, names ? names : to);
        if (names) prof__qualified_add(q, to - 1, to);
    }
}

/* A site's name: of one whose function is told with its parameters, the qualified name. */
PROF__FN const char *prof__site_name(const prof_site *site, char *text, size_t size) {
    prof__qualified q = { text, 0, size };
    const char *name = site->name ? site->name : "(null)";
    if (!site->function || !strchr(site->function, '(')) return name;
    *text = 0;
    prof__qualified_make(&q, site->function);
    return strstr(text, name) || strstr(text, "<lambda>") ? text : name;
}

/* The number of site, new or known; 0 when the table or the arena is full. own: it is one of the
   library's, room for it was kept. Under the lock. */
PROF__FN uint32_t prof__site_add(const prof_site *site, bool own) {
    char qualified[512];
    const uint32_t places = (PROF_MAX_SITES + PROF__OWN_SITES) * 2 + 1;
    const prof_site *last = prof__site_count ? &prof__sites[prof__site_count] : NULL;
    const char *name = prof__site_name(site, qualified, sizeof qualified);
    const char *file = site->file ? site->file : "",
               *function = name == qualified ? site->name : site->function ? site->function : "";
    prof_site *to = prof__sites + prof__site_count + 1;
    size_t length;
    uint32_t i = (prof__hash(name, &length) ^ site->line * 2654435761u) % places;
    for (; prof__site_index[i]; i = (i + 1) % places) {
        const prof_site *s = prof__sites + prof__site_index[i];
        if (s->line == site->line && prof__same_text(s->name, name, length) &&
            strcmp(s->file, file) == 0)
            return prof__site_index[i];
    }
    if (!own && prof__sites_full()) return prof__refuse_site(PROF__NO_SITE);
    if (!own && !prof__name_fits(PROF__SITE_SHARE)) return prof__refuse_site(PROF__NO_ROOM);
    to->name = own ? name : prof__site_copy(name, last ? last->name : NULL);
    to->file = own ? file : prof__site_copy(file, last ? last->file : NULL);
    to->function = own ? function : prof__site_copy(function, last ? last->function : NULL);
    to->line = site->line;
    if (!to->name || !to->file || !to->function) return prof__refuse_site(PROF__NO_SITE);
    if (name[length]) prof__names_cut++;
    PROF__STORE(prof__sites_own, prof__sites_own + own);
    if (!own) prof__arena.promised += PROF__SITE_SHARE;
    prof__site_index[i] = prof__site_count + 1;
    PROF__RELEASE(prof__site_count, prof__site_count + 1);
    return prof__site_count;
}

PROF__FN bool prof__names_open(void) {
    uint32_t n = prof__names.capacity;
    size_t list = prof__align(n * sizeof(prof__name *));
    char *p = (char *)prof__take_kept(list + (2 * (size_t)n + 1) * sizeof(uint32_t), 0);
    if (!p) return false;
    memset(p, 0, list + (2 * (size_t)n + 1) * sizeof(uint32_t));
    PROF__STORE(prof__names.list, (prof__name **)(void *)p);
    PROF__RELEASE(prof__names.index, (uint32_t *)(void *)(p + list));
    return true;
}

/* The place of name in the index: its number there, or 0 where it would go. Needs no lock: a
   place is filled last, and prof_stop waits for threads that look. One that was stalled here all
   the same reads another session's bytes: it stays inside the arena and finds nothing. */
PROF__FN uint32_t *prof__name_place(const char *name, size_t length, uint32_t hash) {
    uint32_t *index = PROF__ACQUIRE(prof__names.index), capacity = PROF__LOAD(prof__names.capacity);
    prof__name **list = PROF__LOAD(prof__names.list);
    uintptr_t base = (uintptr_t)PROF__LOAD(prof__arena.base),
              end = (uintptr_t)PROF__LOAD(prof__arena.end);
    uint32_t places = capacity * 2 + 1, i = hash % places, number;
    while ((number = PROF__ACQUIRE(index[i])) != 0 && number <= capacity) {
        const prof__name *n = PROF__LOAD(list[number - 1]);
        uintptr_t at = (uintptr_t)n;
        if (at < base || at + sizeof *n + length >= end) break;
        if (n->hash == hash && prof__same_text((const char *)(n + 1), name, length)) break;
        i = i + 1 == places ? 0 : i + 1;
    }
    return index + i;
}

PROF__FN uint32_t prof__refuse_name(size_t length) {
    if (length < prof__names.refused) PROF__STORE(prof__names.refused, length);
    return prof__refuse_site(PROF__NO_ROOM);
}

/* Why there is no place for a new name, as far as that is known; PROF__NOS: it is not. */
PROF__FN uint32_t prof__name_refused(size_t length) {
    if (!PROF__LOAD(prof__others_site)) return PROF__NOS;
    if (PROF__LOAD(prof__names.count) == PROF__LOAD(prof__names.capacity)) return PROF__NO_NAME;
    return length >= PROF__LOAD(prof__names.refused) ? PROF__NO_ROOM : PROF__NOS;
}

PROF__FN uint32_t prof__name_add(const char *name, size_t length, uint32_t hash) {
    uint32_t *place;
    prof__name *n;
    char *text;
    if (!prof__names.index && !prof__names_open()) return prof__refuse_name(length);
    place = prof__name_place(name, length, hash);
    if (*place) return *place;
    if (prof__names.count == prof__names.capacity) return prof__refuse_site(PROF__NO_NAME);
    if (!prof__name_fits(prof__align(sizeof *n + length + 1) + PROF__SITE_SHARE))
        return prof__refuse_name(length);
    n = (prof__name *)prof__take_kept(sizeof *n + length + 1, PROF__SITE_SHARE);
    if (!n) return prof__refuse_name(length);
    text = (char *)(n + 1);
    memcpy(text, name, length);
    text[length] = 0;
    n->site.name = text;
    n->site.file = n->site.function = "";
    n->site.line = 0;
    n->hash = hash;
    PROF__STORE(prof__names.list[prof__names.count], n);
    PROF__RELEASE(prof__names.count, prof__names.count + 1);
    PROF__RELEASE(*place, prof__names.count);   /* last: who finds it there may use it */
    return prof__names.count;
}

/* 0 is known: that of zones that are lost. */
PROF__FN bool prof__site_known(uint32_t number) {
    return number >= PROF__PUSHED ? number - PROF__PUSHED < PROF__ACQUIRE(prof__names.count)
                                  : number <= PROF__ACQUIRE(prof__site_count);
}

PROF__FN const prof_site *prof__site(uint32_t number) {
    return number >= PROF__PUSHED ? &prof__names.list[number - PROF__PUSHED]->site
                                  : prof__sites + number;
}

/* Static ones first. */
#define prof__site_order(number) (number)

/* The site, if it has a place in the source. */
PROF__FN const prof_site *prof__site_placed(uint32_t number) {
    const prof_site *site = number ? prof__site(number) : NULL;
    return site && *site->file ? site : NULL;
}

#define PROF__SOURCE (PROF__MAX_NAME + 16)

/* "file:line", or "file" where the line is not known; site NULL: "". source: PROF__SOURCE bytes. */
PROF__FN const char *prof__site_source(const prof_site *site, char *source) {
    source[0] = 0;
    if (site) (void)prof_format_text(source, PROF__SOURCE, site->line ? "%s:%u" : "%s", site->file,
                                     (unsigned)site->line);
    return source;
}

/* Is it the same place? NULL: none. */
PROF__FN bool prof__same_place(const prof_site *a, const prof_site *b) {
    if (a == b || !a || !b) return a == b;
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

PROF__FN uint32_t prof__hash_place(uint32_t h, const prof_site *place) {
    size_t length;
    return place ? (h ^ prof__hash(place->file, &length)) * 31 + place->line : h;
}

/* Where an event of a session is marked, if that is to tell rows apart. */
PROF__FN const prof_site *prof__group_place(const prof_averages_desc *by, const prof_event *e) {
    return by->group_by_site ? prof__site_placed(e->site) : NULL;
}
#endif

/* ---- @FORMAT: what a record is; the one place that knows ----

   A thread's records follow one another in 12-byte slots, in the order in which its zones ended. A
   zone is one slot: the end's lower half, the duration, its site and depth. Whatever else there is
   is longer: its site number is a kind, and where a zone has its depth stands how many slots
   follow the first. Every reader of records goes through prof__next.
   - A reader never looks behind `end`: a record that is cut off there is none of ours.
   - Each record takes at least one slot, so that a reader always gets on.
   - A kind that a later version wrote is passed by whole. */

/* Third word of a long record: kind << 8 | how many 12-byte slots follow the first. */
enum {
    PROF__KIND = 0xffff00,               /* site numbers from here on are kinds */
    PROF__CLOCK,                         /* {epoch, 0}: upper half of the ends that follow */
    PROF__ZONE64,                        /* {duration lo, hi}{end lo, hi, site_depth} */
    PROF__UNFINISHED,                    /* as ZONE64, ended by the profiler */
    PROF__INSTANT,                       /* {tick lo, hi}{0, 0, site << 8 | 255} */
    PROF__COUNTER,                       /* {tick lo, hi}{value lo, hi, site << 8 | 255} */
    PROF__STEP,                          /* {start lo, hi}{end lo, hi, 255}{number lo, hi, 255} */
    PROF__PART,                          /* these: see @DETAILS */
    PROF__ATTRIBUTE,
    PROF__MEMORY,
    PROF__ASYNC,
    PROF__FLOW,
    PROF__REAL                           /* as COUNTER, the value a double */
};

/* Where a reader stands among a thread's records. base: the clock, whose upper half ends take;
   freestanding the time that the next end is counted from. last: the end of the zone before, kept
   by a reader that wants a displaced clock record made up for; else 0. */
typedef struct prof__cursor {
    const prof__record *at, *end;
    uint64_t base, last;
} prof__cursor;

/* One record, at `at`, of `slots` slots. kind: 0 a zone; PROF__CLOCK to PROF__REAL as written;
   PROF__KIND: one that this version does not know, or that is cut off. A zone has end, duration
   and site_depth, a moment its time in end and its value, a step end, duration and value. */
typedef struct prof__item {
    uint32_t kind, slots, site_depth;
    uint64_t end, duration, value;
    const prof__record *at;
} prof__item;

PROF__INLINE uint64_t prof__record_get(const prof__record *c) {
    return (uint64_t)c->duration << 32 | c->end;
}

/* The end of a zone's record, whole. Half a turn back: its clock record was displaced.
   Freestanding: the first such time after the one before it. */
PROF__EAGER uint64_t prof__cursor_end(prof__cursor *k, uint32_t end) {
    if (PROF__BARE) return k->base += end - (uint32_t)k->base;
    if (PROF__UNLIKELY(k->last >> 32 == k->base >> 32 &&
                       (uint64_t)end + INT32_MAX < (uint32_t)k->last))
        k->base += (uint64_t)1 << 32;
    return k->base | end;
}

/* How many slots a longer record at c takes: what a later version wrote is passed by whole. */
PROF__FN uint32_t prof__record_slots(const prof__record *c, const prof__record *end,
                                     uint32_t *kind) {
    uint32_t more = c->site_depth & 0xff;
    uint32_t right = *kind == PROF__CLOCK ? 0 : *kind == PROF__STEP ? 2 : 1;
    if (PROF__BARE) return *kind > PROF__CLOCK ? 2 : 1;    /* nothing else is written there */
    if (*kind == PROF__PART) return 1;
    if (*kind != PROF__KIND && (*kind > PROF__STEP || more == right) && (size_t)(end - c) > more)
        return 1 + more;
    if (*kind >= PROF__ATTRIBUTE && *kind <= PROF__FLOW) more = 0;   /* cut: its parts follow */
    more = PROF__MIN(more, (uint32_t)(end - c) - 1);
    *kind = PROF__KIND;
    return 1 + more;
}

PROF__FN void prof__next_long(prof__cursor *k, prof__item *i) {
    const prof__record *c = k->at, *second;
    i->kind = c->site_depth >> 8;
    i->slots = prof__record_slots(c, k->end, &i->kind);
    i->at = c;
    k->at = c + i->slots;
    second = c + (i->slots > 1);
    i->site_depth = second->site_depth;
    i->duration = 0;
    i->end = prof__record_get(c);
    i->value = prof__record_get(second);
    if (i->kind == PROF__CLOCK) {
        k->base = (uint64_t)c->end << 32 | c->duration;
    } else if (i->kind == PROF__ZONE64 || (!PROF__BARE && i->kind == PROF__UNFINISHED)) {
        i->duration = i->end;
        k->base = PROF__BARE ? i->value : (uint64_t)second->duration << 32;
        i->end = PROF__BARE ? k->base : prof__cursor_end(k, second->end);
    } else if (!PROF__BARE && i->kind == PROF__STEP) {
        i->duration = i->value - PROF__MIN(i->end, i->value);
        i->end = i->value;
        i->value = prof__record_get(c + 2);
    }
}

/* The next record; false: there is none. */
PROF__EAGER bool prof__next(prof__cursor *k, prof__item *i) {
    const prof__record *c = k->at;
    if (c >= k->end) return false;
    if (PROF__UNLIKELY(c->site_depth >> 8 >= PROF__KIND)) {
        prof__next_long(k, i);
        return true;
    }
    i->kind = 0;
    i->slots = 1;
    i->at = c;
    i->site_depth = c->site_depth;
    i->duration = c->duration;
    i->end = prof__cursor_end(k, c->end);
    k->at = c + 1;
    return true;
}

PROF__INLINE bool prof__item_is_zone(const prof__item *i) {
    return !i->kind || i->kind == PROF__ZONE64 || (!PROF__BARE && i->kind == PROF__UNFINISHED);
}

/* ---- @RECORD: thread states, chunks, begin and end ---- */

/* A thread may be anywhere in here while others stop the session, start the next one and lay the
   arena out anew. What it may touch then, and what keeps that valid:
     its slot, its state, the memory between the state's begin and limit
                      are its own until it gives the state back: no session lays anything over them,
                      and what it writes there late nobody reads
     words of the process, as prof__on and prof__wants
                      atomically; they may be those of another session: what is written to a state
                      goes by what the state has of the session since prof__state_open
     all else: the trace, the arena, the description, names, observers
                      under the lock, where prof__on has the state's generation; or from
                      prof__look(t) to prof__looked(t), which the end of the session waits for
   Who ends the session reads the states in prof__owned; prof_dump those in use, by rules of its
   own. */

/* A stretch of records by one thread: a chunk, or what was left of one. In a ring it lies before
   its chunk, and is used again; row NULL: free. */
typedef struct prof__segment {
    prof__record *begin, *limit;
    prof__record *end; /* of its records, once the thread has gone on; else NULL */
    struct prof__segment *next;
    prof__record *flushed;               /* below: has left through the stream */
    uint64_t position;                   /* slots this thread wrote before it; freestanding: the
                                            clock at flushed */
#if !PROF__BARE
    struct prof__row *row;
    uint32_t use;                        /* counts how often it was emptied */
    uint32_t epoch;                      /* the clock's upper half at flushed */
#endif
} prof__segment;

typedef struct prof__open { uint64_t start; uint32_t site, depth; } prof__open;

#define PROF__HAS_SHARED 0x80000000u     /* in prof_extra.has: more than one event may have it */
#define PROF__HAS_NATIVE 0x40000000u     /* its stack is a native one */

/* What an allocation or free became. */
enum { PROF__ALLOCATED, PROF__FREED, PROF__FREE, PROF__NO_MEMORY, PROF__NOT_COUNTED };

typedef struct prof__memory {
    int64_t ns;
    uint64_t address;
    int64_t bytes, total;                /* as it changes; of its device, after it */
    uint32_t event, thread;              /* event: that has it; PROF_NONE: none */
    uint32_t next;                       /* while reading: another of the same zone; then 1 +
                                            the allocation that it ended, whose free was missed */
    uint8_t device_type;
    int8_t device_index;
    uint8_t category;                    /* and PROF__MEMORY_TOLD, for the Chrome trace */
    uint8_t what;
} prof__memory;
#define PROF__MEMORY_TOLD 0x80

/* What the trace knows of a thread. */
typedef struct prof__row {
    prof_thread_info info;
    prof__segment *first;
#if !PROF__BARE
    prof__open *open;                    /* zones that prof_stop ended, outermost first */
    uint32_t open_count;
    prof__record *cursor;                /* where prof_stop found it; NULL: the thread had left */
    uint64_t stop_tick;                  /* when */
    uint32_t generation;
    uint32_t renames;                    /* twice as many; odd: name is being written */
    size_t overwritten;                  /* slots */
    bool left;                           /* the thread has */
    bool over;                           /* it ended: who has its id from now on is another */
    bool kept;                           /* someone knows the index: it stays this thread's */
    bool listed;                         /* it is in the list of rows */
    uint64_t os_id;                      /* where platform.thread_id tells another */
    struct prof__row *again;             /* while it is free: the next one that is */
#endif
    uint32_t thread;                     /* its index in the trace; PROF_NONE: free, without one */
    struct prof__row *next;
    uint32_t number;                     /* in the order they came, from 0 */
    uint32_t announced;                  /* the round in which the stream told its name */
    char name[PROF__BARE ? 16 : 64];
} prof__row;

/* Written by their thread alone, read by any. */
typedef struct prof__counts {
    size_t full, deep, sites, unbalanced, healed, cut, unfinished, steps, not_kept;
#if !PROF__BARE
    size_t others[PROF__NOS];            /* zones in "(others)", by why */
    size_t async, async_ends;            /* ranges begun, and ends of ranges */
    size_t summed, summed_open, summed_deep;   /* zones that are only in sums; of them, unfinished,
                                            deeper than max_depth */
    size_t slots, extra;               /* 12-byte slots written, and those that are not a zone */
#endif
} prof__counts;

/* The counts of prof_stats, in the order in which they are told: name; value, of a trace s and the
   sum c of its threads' counts, 0 where that does not say it; place in the raw stream; note. PLAIN
   ones have none, HOST ones are not counted on targets. */
#define PROF__STATS(ALL, HOST, PLAIN) \
    PLAIN(recorded, 0, 0, NULL) \
    PLAIN(dropped, 0, PROF__NO, NULL) \
    ALL(dropped_full, c->full, 1, "Dropped, the arena was full (give prof_desc.memory more)") \
    ALL(dropped_deep, c->deep, 2, "Dropped, deeper than prof_desc.max_depth" \
        PROF__HOST_TEXT(" (raise it, or give prof_desc.memory more)")) \
    ALL(dropped_threads, s->dropped_threads, 3, \
        "Dropped, more threads at once than prof_desc.max_threads") \
    ALL(dropped_sites, c->sites, 4, \
        "Dropped, more names than PROF_MAX_SITES or prof_desc.max_sites") \
    HOST(dropped_busy, PROF__LOAD(prof__dropped_busy), 15, \
        "Dropped, in signal handlers that interrupted the profiler") \
    ALL(unbalanced, c->unbalanced, 5, "Ends of zones that had been ended, ignored") \
    ALL(healed, c->healed, 6, "Zones left open when an outer one ended, ended with it") \
    ALL(cut, c->cut, 7, "Ends without a begin in the session, ignored") \
    ALL(unfinished, c->unfinished, 8, \
        "Zones still open when their thread or the session ended, ended there") \
    HOST(names_cut, prof__names_cut + PROF__LOAD(prof__formats_cut), 10, \
        "Names that were cut (too long)") \
    ALL(clock_steps, c->steps + s->steps, 9, "Times the clock went back") \
    HOST(lost, s->lost, 16, "Records that signal handlers displaced, lost or shown as (lost)") \
    HOST(rejected, 0, PROF__NO, "Events left out, their end was before their start") \
    HOST(duplicates, 0, PROF__NO, "Events merged into a parent of the same name") \
    HOST(overlaps, 0, PROF__NO, \
        "Events that overlap another only partly (self times may be negative)") \
    HOST(no_forward, 0, PROF__NO, "Backward events without a forward thread: no stack") \
    HOST(unlinked, 0, PROF__NO, "Device events whose launch is not in the trace") \
    ALL(overwritten, s->overwritten, 11, \
        "Zones that the ring no longer holds (give prof_desc.memory more)") \
    HOST(stalls, s->stalls, 12, \
        "Times all chunks of a thread were full (call prof_flush more often)") \
    ALL(stream_failures, s->stream_failures, 13, "Times the stream's sink failed") \
    HOST(details_cut, PROF__LOAD(prof__details_cut), PROF__NO, \
        "Inputs, texts and arguments of zones that were too many or too long") \
    ALL(not_kept, c->not_kept, PROF__NO, "Zones, instants, counters, details, events not kept") \
    HOST(others_names, c->others[PROF__NO_NAME], PROF__HOSTED(17), \
        "Zones in (others), more names than prof_desc.max_sites") \
    HOST(others_sites, c->others[PROF__NO_SITE], PROF__HOSTED(18), \
        "Zones in (others), more marks and functions than PROF_MAX_SITES") \
    HOST(others_full, c->others[PROF__NO_ROOM] + s->not_merged, PROF__HOSTED(19), \
        "Zones in (others), no room for their names or sums (give prof_desc.memory more)") \
    HOST(others_busy, c->others[PROF__NO_LOCK], PROF__HOSTED(20), \
        "Zones in (others), in signal handlers that interrupted the profiler") \
    HOST(deep, s->average ? 0 : c->summed_deep, PROF__NO, \
        "Zones deeper than prof_desc.max_depth, in averages and tables, not in the trace") \
    HOST(memory_unknown, s->memory_unknown, PROF__NO, \
        "Frees of memory that was not allocated in this trace") \
    HOST(memory_twice, s->memory_twice, PROF__NO, "Frees of memory that had been freed") \
    HOST(memory_missed, s->memory_missed, PROF__NO, \
        "Allocations where one stood whose free was not seen") \
    HOST(memory_refused, PROF__LOAD(prof__memory_refused), PROF__NO, \
        "Allocations of more than 2^63 - 1 bytes, left out") \
    HOST(async_open, 0, PROF__NO, "Async ranges that never ended, left out") \
    HOST(async_twice, s->async_twice, PROF__NO, "Ends of async ranges that had ended, ignored") \
    HOST(schedule_errors, prof__session.errors, PROF__NO, \
        "Steps whose action lost a window or was none (see prof_schedule)")

enum { PROF__NO = PROF__BARE ? 17 : 21 };   /* place; all below it are in the raw stream */
#define PROF__HOSTED(place) (PROF__BARE ? PROF__NO : (place))

#define PROF__STAT_NONE(name, value, place, note)
#if PROF__BARE
#  define PROF__STAT_HOST(each) PROF__STAT_NONE
#  define PROF__HOST_TEXT(text) ""
#  define PROF__COLUMN_SITE(HOST)
#else
#  define PROF__STAT_HOST(each) each
#  define PROF__HOST_TEXT(text) text
#  define PROF__COLUMN_SITE(HOST) HOST(SITE, SITE, site, "Source", "source")
#endif

/* The list has each once: they fill what is before the threads. */
#define PROF__STAT_MEMBER(name, value, place, note) uint64_t name;
struct prof__stats_listed {
    PROF__STATS(PROF__STAT_MEMBER, PROF__STAT_MEMBER, PROF__STAT_MEMBER)
};
typedef char prof__stats_are_listed[
    sizeof(struct prof__stats_listed) == offsetof(prof_stats, threads) ? 1 : -1];

/* The sums of a thread's zones of one site, in ticks. Bucket n counts those under 2^n, and not
   under 2^(n-1). */
#if PROF__BARE                           /* n counts those under 4^n; the last one all others */
#  define PROF__BUCKETS 16
#  define PROF__BUCKET_BITS 2
#else
#  define PROF__BUCKETS 59
#  define PROF__BUCKET_BITS 1
#endif
typedef struct prof__tally {
    uint32_t site;                       /* shifted by 8; 0: "(others)" */
#if !PROF__BARE
    uint32_t number;                     /* in the order in which its thread's rows were made */
    uint64_t count;
#endif
    uint64_t total, inner, least, most;  /* inner: of its children */
    uint32_t histogram[PROF__BUCKETS];
#if !PROF__BARE
    struct prof__tally *next;            /* of its thread, NULL: the last one */
    const struct prof__tally *same;      /* while reading: another of the same name */
#endif
} prof__tally;

#if !PROF__BARE
/* Where the rows of sites are: at their place or the next free one; one is always free. */
typedef struct prof__tally_index {
    uint32_t mask;                       /* places - 1; a power of two */
    prof__tally *rows[1];
} prof__tally_index;

/* A thread's rows. They stay where they are once they are made, so that others may read them. */
typedef struct prof__tallies {
    prof__tally_index *index;
    prof__tally *others, *last;          /* others: the first row, of all sites that have none */
    prof__tally *spare;                  /* memory for rows, so many: */
    uint32_t spares;
    bool full;                           /* no row could be made any more */
    char *low, *high;                    /* all this memory lies between; others' may, too */
} prof__tallies;

/* The rows of all threads by name, made for a report; others is behind them. */
typedef struct prof__merged {
    prof__tally *rows;
    uint32_t places, used;               /* places: a power of two; one is always free */
    bool by_site;                        /* a row for each place of a name */
} prof__merged;

/* What sessions that ask for it record beside each zone: begin before its time is taken (entry: of
   the call that begins it), end after. All zones take the slow path then. */
typedef struct prof__entry_frame {
    const void *returns, *frame;
    uintptr_t stack;                     /* the stack pointer at the call; 0: not known */
} prof__entry_frame;

/* What began an open zone, where that is kept: of the upper quarter of max_depth, whose zones take
   the slow path, and of instrumented functions. It is of the zone in its frame if both began at the
   same time with the same name. */
enum { PROF__BY_CALL, PROF__BY_SCOPE, PROF__BY_FUNCTION };   /* CALL: it may outlive its block */
typedef struct prof__origin {
    uintptr_t stack, returns, function;
    uint32_t site_kind, start;
} prof__origin;
#if defined(PROF_INSTRUMENT_FUNCTIONS)
#  define PROF__ORIGINS(depth) ((size_t)(depth))
#else
#  define PROF__ORIGINS(depth) (((size_t)(depth) + 3) / 4)
#endif

/* Zones deeper than max_depth, which have no frames, so many at a time. They stay the state's. */
enum { PROF__DEEPS = 32 };
typedef struct prof__deep {
    prof__frame frame;                   /* first; a token of the zone is the address behind it */
    uint64_t within;                     /* ticks of what ended within it */
    prof__origin origin;
} prof__deep;
typedef struct prof__deeps {
    struct prof__deeps *below, *above;   /* further out, further in; NULL: there is none */
    prof__deep zones[PROF__DEEPS];
} prof__deeps;

struct prof__state;
typedef struct prof__hooks {
    void (*begin)(struct prof__state *t, prof__frame *f, prof__entry_frame entry);
    void (*end)(struct prof__state *t, prof__frame *f);
    uint32_t slots;                      /* that each may take */
} prof__hooks;

/* A thread's own. It stays the thread's over stop and start, until the thread gives it back. */
typedef struct prof__state {
    prof__hot hot;                       /* must be first */
    uint32_t generation, reserve;        /* reserve: slots kept for the zones that are open */
    uint32_t promised; /* the generation in which room for open zones was promised */
    uint32_t recording;                  /* the generation it records in; 0: none, or not yet */
    uint32_t looking;                    /* prof__look, so often */
    uint32_t wants;                      /* PROF__WANTS_..., of its session */
    bool full, fast;                     /* fast: the hot path may work */
    bool closed;                         /* prof_stop has read it */
    bool observed;                       /* there are observers */
    bool overlaid;                       /* zones of older generations were open in its frames */
    bool wide, narrow;                   /* attributes have room, have none; neither: not asked */
    prof_result (*flush)(void);          /* desc.stream_inline: makes room; else NULL */
    prof__hooks hooks;
    prof_clock clock;
    prof_platform platform;
    uint32_t skipped; /* begins without a token that were dropped: their ends are to come */
    prof__frame *deepest;                /* the last, which is never used */
    prof__deeps *deeps;                  /* the innermost deep zone is in here; NULL: none yet */
    uint32_t deep;                       /* how many are open: then top is deepest. prof__look */
    prof__frame *crowd;                  /* from here on zones are begun and ended the slow way, */
    prof__origin *origins;               /* and this is kept of them: prof__origin_of */
    prof__record *begin, *limit;         /* the memory this thread writes */
    prof__record *clock_end;             /* one past its last clock record */
    prof__record *detail_end;            /* one past its last attribute, */
    prof__frame *detail_top;             /* and top then */
    uint32_t counted_for;                /* the first generation in whose arena this lies: */
    uint64_t *counted;                   /* by depth: the counters at the begin */
    uintptr_t stack_low, stack_high;     /* the memory in which its call stack was last found */
    bool parked;                         /* a context that no thread is in. Under the lock. */
    uint32_t epoch;
    uint64_t last, bias;                 /* slow clocks: last tick seen, and what was added to it */
    prof__segment *segment;
    size_t segment_extra, segment_unfinished;   /* these counts when it was opened */
    struct prof__chunk *spare;
    /* In sums its memory is a block that is emptied into rows when it is full. */
    bool summing;                        /* all of AGGREGATE; a trace since the arena was full */
    bool held;                           /* who adds the block to them has the lock */
#if !PROF__BARE
    uint32_t loan;                       /* its thread wants the lock while sums change; or it */
#endif                                   /* was lent it, by one who waits for these */
    prof__tallies tallies;               /* kept for the state's next thread */
    prof__record *block, *block_end;     /* this, too; NULL: none yet */
    uint64_t *inner;                     /* by depth: ticks of what ended within the zone that is
                                            open there, and is in no timeline */
    uint32_t sums;                       /* how often these changed, twice; odd: they do now */
    uint32_t cut;                        /* zones below this depth began in the timeline, */
    uint64_t cut_tick;                   /* until here: they end in its last segment */
    uint64_t base;                       /* clock at the block's begin */
    uint32_t slots;                      /* for which room in the analysis was promised */
    prof__segment *ring;                 /* RING, STREAM: its chunks, used in turns; else NULL */
    uint32_t ring_count, ring_next, ring_flushed;   /* how many; to take next; not yet flushed */
    prof__row *row;
    uint32_t number;                     /* of that row: it is this thread's while it has it */
    prof__counts counts;
    struct prof__state *next;            /* in the list of free or of owned states */
    struct prof__state *used;            /* in the list of those that the arena's readers see */
    prof__frame frames[1];               /* max_depth + 1: the last has an impossible epoch */
} prof__state;

PROF__FN size_t prof__state_size(uint32_t depth) {
    return prof__align(sizeof(prof__state) + depth * sizeof(prof__frame) +
                       PROF__ORIGINS(depth) * sizeof(prof__origin));
}

PROF__FN char *prof__state_end(const prof__state *t) {
    return (char *)(uintptr_t)t + prof__state_size((uint32_t)(t->deepest - t->frames));
}

/* For frames from crowd on, and of instrumented functions: the last origins are the deepest; for
   deep zones. NULL: none is kept. */
PROF__FN prof__origin *prof__origin_of(const prof__state *t, const prof__frame *f) {
    if (PROF__UNLIKELY((uintptr_t)f - (uintptr_t)t->frames > (uintptr_t)t->deepest -
                                                                 (uintptr_t)t->frames))
        return &((prof__deep *)(uintptr_t)f)->origin;
    if ((size_t)(t->deepest - f) > PROF__ORIGINS(t->deepest - t->frames)) return NULL;
    return t->origins + PROF__ORIGINS(t->deepest - t->frames) - (t->deepest - f);
}

typedef struct prof__chunk {             /* free memory for records, described in itself */
    prof__record *begin, *limit;
    prof__segment *segment;              /* taken with it, so that going on to it cannot fail */
    struct prof__chunk *next;
} prof__chunk;

typedef struct prof__knot { uint64_t tick, ns; } prof__knot;
#define PROF__KNOTS 64
#endif

#if PROF__BARE
#  define prof__copy_words memcpy
#else
/* Words that their thread may be writing. The fence keeps the compiler from calling memcpy. */
PROF__FN PROF__RACES void prof__copy_words(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        memcpy((char *)to + i, (const char *)from + i, sizeof(uint32_t));
        PROF__SIGNAL_FENCE();
    }
}
#endif

/* ---- what the analysis keeps beside the events ---- */

/* What traces with device work or memory keep beside each event. */
typedef struct prof__side {
    int64_t device_ns, cpu_bytes, device_bytes;   /* children included */
    uint32_t first_kernel, last_kernel;  /* of work on a device, which has none: PROF_NONE, and
                                            the event that launched it */
} prof__side;

typedef struct prof__kernel {            /* an element of an event's list of kernels */
    const char *name;                    /* NULL: that, and its device, are of an event */
    int64_t duration_ns;
    int32_t device;                      /* ... and this is the event's number */
    uint32_t next;
} prof__kernel;

/* A thread of a node: the innermost event that may hold the next one. */
typedef struct prof__lane { uint32_t thread, top; int32_t node; } prof__lane;

#define PROF__LANE_SHARE (sizeof(prof__lane) + 2 * sizeof(uint32_t))

/* Beside a zone when a trace has events that were not recorded zone by zone: steps, and more for
   those from outside. */
#define PROF__FORK_SHARE (3 * sizeof(uint32_t))
#define PROF__WIDE_SHARE (sizeof(prof__side) + PROF__FORK_SHARE)

/* What a step's event points to, and all that its analysis takes beside its slots'. */
typedef struct prof__step { prof_extra extra; char name[40]; } prof__step;
#define PROF__EVENT_MEMORY 0x8000        /* in flags, until the order is made: "[memory]" */
#define PROF__EVENT_STEP 0x4000          /* in flags: steps follow each other, also at one time */
#define PROF__EVENT_NAMED 0x2000         /* in flags: its "Zone id" is in the Chrome trace, */
#define PROF__EVENT_TOLD 0x1000          /* or its "Zone parent id": see prof__marks_make */
#define PROF__STEP_SHARE (sizeof(prof__step) + PROF__GROUP_SHARE + PROF__LANE_SHARE)

#if !PROF__BARE
/* What lives from prof_start to prof_stop, over all windows. */
static struct prof__session {
    prof_desc desc;
    bool open;                           /* prof_start came, prof_stop not yet */
    bool busy;                           /* one of the calls that open and close windows runs */
    bool prepared;                       /* by prof_prepare: prof_start(NULL) comes next */
    bool has_steps;                      /* there is a schedule */
    bool silent;                         /* a device stopped by itself: no more in this cycle */
    bool step_open;                      /* the step began in this window, at step_tick */
    uint32_t activities;                 /* that are wanted and there */
    uint32_t enabled;                    /* those being recorded */
    prof_action action;
    uint64_t step, step_tick, errors;
} prof__session;
#endif

#if PROF__BARE
typedef uint32_t prof__amount;
#else
typedef uint64_t prof__amount;           /* as the fields of prof_stats */
#endif

#if PROF__BARE
struct prof__parts {                     /* all but mode may be NULL */
    prof_mode mode;
    void *(*chunk)(void *state);         /* one more, or one that may be used again; NULL: none.
                                            AGGREGATE: empties the one that there is */
    bool (*write)(void *state, void *chunk);   /* STREAM: what is new of it; false: it failed */
    void (*close)(void);                 /* when the session has ended */
    size_t (*average)(prof_average *rows, size_t max);
};

/* desc.platform: what replaces the chip's own. */
struct prof__hooks {
    bool (*open)(void);                  /* sets the session's clock going; false: there is none */
    uintptr_t (*lock)(void);
    void (*unlock)(uintptr_t state);
    uint32_t (*context)(void);
    void (*advance)(void);               /* the session's time */
};

/* Bytes that a state takes, and a chunk, with what both entail for the analysis. */
typedef struct prof__plan { size_t state, state_more, chunk, chunk_more; } prof__plan;
#endif

#if !PROF__BARE
/* ns by the OS's clock, of this session: see prof_stats. opened: when the window did. */
static struct prof__own_times {
    uint64_t prepare, start, stop, analysis, opened, window;
} prof__own_times;
#endif

/* The window that is open or was last, and with it the trace: there is one. */
struct prof_trace {
#if PROF__BARE                           /* first what the recorder needs: short offsets */
    bool slow;                           /* the hot path cannot work */
    uint8_t clock;                       /* prof_clock */
    uint16_t names_cut;                  /* those by a format */
    uint64_t time;                       /* when the clock was last read */
    const prof__parts *parts;            /* NULL: PROF_MODE_TRACE */
    const prof__hooks *hooks;            /* NULL: the chip's */
    bool (*ticked)(void *state, prof__frame *f);   /* prof__ticked, once prof_tick came */
    uintptr_t masked;                    /* in the slow path: what unlock gets */
    size_t reserve;                      /* bytes of a chunk kept for open zones, and one call */
    prof__plan plan;
    uint32_t rate;                       /* of the clock; 0: ns */
    prof__segment *free_chunks;
#else
    prof_mode mode;
    prof_clock clock;
    prof_platform platform;
#endif
    prof__row *rows;
    uint32_t row_count, thread_count;
    uint32_t max_threads, max_depth;
    size_t dropped_threads;
    prof__counts counts;                 /* of threads that left */
    bool open, stopped;
    bool records_only;                   /* nothing is promised for events, nor for rows */
    prof__amount overwritten, stream_failures, tallied;   /* tallied: zones */
    uint64_t start_tick, start_wall_ns;
#if !PROF__BARE
    prof__row *last_row;
    bool lean;                           /* nothing is promised for events until details come, */
    bool refused;                        /* and there is no room for them */
    bool read;                           /* the records were: what they lack is counted */
    char *first_scratch;                 /* where it begins without events; */
    char *place;                         /* of these, in the caller's memory; NULL: there */
    const char *limit;                   /* NULL: the arena's high */
    bool laid, began;                    /* the arena is laid out; its first window has started */
    bool flush_inline;
    uint32_t generation, first_generation;   /* first: of those whose records are in the arena */
    uint64_t stalls, not_merged, stop_tick;
    bool sums;                           /* when the arena is full threads go on in sums */
    bool sums_deep, any_deep;            /* deep zones go there; there are some */
    uint32_t in_sums, timeline_ends;     /* sites of what the timeline has instead; 0: not yet */
    uint64_t full_tick;                  /* when the first timeline ended; 0: none did */
    size_t kept;                         /* prof__arena.kept, while the session is open */
    size_t sums_each;                    /* what a thread takes to begin in sums */
    uint64_t streamed;                   /* zones that have left through the stream */
    bool streamed_all;                   /* the session is over, and so is its stream */
    char *regions;                       /* of the states' rings, in the arena; region_size each */
    size_t region_size;
    prof__row *free_rows;
    uint32_t row_number, came;           /* rows so far; threads */
    prof_sink stream;
    prof_result (*flush)(void);          /* writes what is full: the stream's */
    prof__merged merged;                 /* AGGREGATE: for reports; with rows for them */
    prof_average *averages;
    size_t (*average)(prof_average *rows, size_t max, bool by_site);   /* reads them; NULL: another
                                            mode */
    prof__knot knots[PROF__KNOTS];
    uint32_t knot_count;
    uint64_t knot_gap_ns;
    size_t state_size;
    prof__state *states;                 /* the grid: max_threads of state_size bytes */
    prof__state *free_states, *used;     /* used: have recorded in this arena; only ever added */
    prof__chunk *free_chunks;
#endif
    prof_event *events;                  /* made by the first query */
    uint32_t event_count;
    uint32_t outside_count;              /* events that may need an average's row of their own */
    struct prof__moment *moments;
    uint32_t moment_count;
    prof_thread_info *threads;
    char *scratch;                       /* free for queries, to the arena's high or to limit */
    bool prepared, analysed;             /* for queries; events are made */
    uint32_t sites;                      /* known when prepared: threads may add more meanwhile */
    prof__amount steps, lost, unfinished;   /* found while reading */
    uint32_t zone_count;                 /* of the events, before the others joined them */
    uint32_t step_count;                 /* from here on nothing of a freestanding trace */
    uint32_t made_count;                 /* events made of what is no zone: ranges, memory */
    bool built, raw;                     /* raw: of raw activities */
    prof__side *side;                    /* beside the events; NULL: no device work, no memory */
    uint32_t detail_rows;                /* rows of averages that they may make */
    size_t beside;                       /* bytes of analysis promised beside each slot's share */
    const struct prof_trace *self;       /* this, in a trace built without a session */
#if !PROF__BARE
    prof_view view;
    uint8_t device_types[1 + PROF_OTHER_DEVICES];   /* of view's names; 0: no more */
    prof__kernel *kernels;
    size_t chunk_size;
    prof__step *step_list;
    char *details;                       /* what zones carry */
    size_t detail_bytes;
    prof__memory *memory;                /* in order of time, once charged */
    uint32_t memory_count;
    prof_extra **paths;                  /* with_stack: of each distinct path; NULL: none */
    uint32_t async_count;                /* records of ranges */
    uint32_t *async_index;               /* 2 places a range: 1 + its event; 0: free */
    uint64_t memory_unknown, memory_twice, memory_missed, async_twice;
    bool any_sequence;                   /* some event has a sequence number */
    bool instants;                       /* some zone took no time: see prof__marks_make */
    uint32_t kernel_count;
    prof_extra *own_extras;              /* copies that the trace may write */
    uint32_t own_count, own_max;
    const char **own_stacks;
    const char *(*demangle)(void *user, const char *name);
    void *demangle_user;
    uint64_t rejected, duplicates, overlaps, no_forward, unlinked;
    bool any_launch, any_backward;       /* some event has a launch_ns, is backward, */
    bool any_same;                       /* has its parent's name */
    bool record_ids;                     /* an execution trace has its events, */
    uint64_t first_record;               /* and so many before them */
    bool merge;                          /* desc.merge_duplicates */
    bool unsorted;                       /* events from outside came out of order */
    size_t slot_count;                   /* zones there is room to analyse */
    struct prof__submitted *first_submitted, *last_submitted;
    uint32_t late_memory;                /* of these: changes of memory */
    bool late;                           /* devices may submit, though the session is over */
    uint32_t kernel_max;
#endif
};
static struct prof_trace prof__trace;

/* Bytes the analysis of n slots takes: an event each, and what queries need beside it. */
#define PROF__SLOT_SHARE (sizeof(prof_event) + (sizeof(void *) > 4 ? 16 : 24))

/* Events that no zone was recorded for. Freestanding traces have none of what this and the next
   three tell, and code for it is left out. */
PROF__FN uint32_t prof__others(const struct prof_trace *s) {
    return PROF__BARE ? 0 : s->outside_count + s->step_count + s->made_count;
}

/* Depths that zones in the records have: deep ones are one more, "(in sums)". */
PROF__FN uint32_t prof__depths(const struct prof_trace *s) {
    return s->max_depth + (PROF__BARE ? 0 : 1);
}

/* Amounts are kept beside every event. */
PROF__FN bool prof__wide(const struct prof_trace *s) {
    return !PROF__BARE && s->beside >= PROF__WIDE_SHARE;
}

PROF__INLINE prof__side *prof__side_of(const struct prof_trace *s) {
    return PROF__BARE ? NULL : s->side;
}

PROF__INLINE const prof_extra *prof__extra_of(const prof_event *e) {
    return PROF__BARE ? NULL : e->extra;
}

/* Nothing is promised for events: zones are all there is, and their records tell it. */
PROF__FN bool prof__lean(const struct prof_trace *s) {
#if PROF__BARE
    (void)s;
    return false;
#else
    return s->lean;
#endif
}

PROF__FN size_t prof__slot_share(void) {
    if (prof__trace.records_only || prof__lean(&prof__trace)) return 0;
    return PROF__SLOT_SHARE + prof__trace.beside;
}

#if !PROF__BARE
/* The numbers that sites of this trace have: 0, those of marks, those of names. */
PROF__FN uint32_t prof__sites_of(const struct prof_trace *s) {
    return s->built ? 0 : s->sites + 1 + prof__names.count;
}

PROF__FN uint32_t prof__site_dense(uint32_t number) {
    return number >= PROF__PUSHED ? prof__trace.sites + 1 + number - PROF__PUSHED : number;
}

/* slots: 0 in sums, where they become no events. */
PROF__FN size_t prof__state_share(uint32_t slots) {
    return (prof__trace.max_depth + 1) * sizeof(prof__open) + slots * prof__slot_share();
}

static size_t prof__dropped_busy, prof__cut;   /* counted without a state or the lock */
static size_t prof__details_cut, prof__memory_refused;
static size_t prof__formats_cut;         /* names */
static size_t prof__async_dropped;       /* ends of ranges for which there was no room */

/* Frames begin with the address of the next one outwards, and where they return to. */
#if defined(__GNUC__) && !defined(__TINYC__) && \
    (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)) && \
    (defined(__linux__) || defined(__APPLE__))
#  define PROF__FRAMES 1
#else
#  define PROF__FRAMES 0
#endif

/* The stack grows downwards, and its pointer is the same at all calls of a block: zones that
   longjmp left can be told. */
#if PROF__FRAMES && (defined(__x86_64__) || defined(__aarch64__))
#  define PROF__LEAVES 1
#else
#  define PROF__LEAVES 0
#endif

static prof__hooks prof__hooks_now;      /* of the session; its states have them from it */

#define PROF__OBSERVERS 8
enum { PROF__WANTS_DETAILS = 1, PROF__WANTS_SHAPES = 2, PROF__WANTS_FLOPS = 4,
       PROF__WANTS_MODULES = 8, PROF__WANTS_MEMORY = 16 };   /* DETAILS: there is an analysis */
static uint32_t prof__wants;             /* of the last session's description */
static void (*prof__thread_leaves)(void);   /* closes its counters; NULL: there never were any */

static prof_observer prof__observers[PROF__OBSERVERS];
static uint32_t prof__observer_count;    /* changes while no session is open */

static uint64_t prof__flow_last, prof__async_last;   /* numbers given */
static prof__state *prof__owned;         /* all states that threads own, of any session */
static prof__knot prof__first_knot;      /* of the process: the longest base for the clock's rate */

PROF__FN prof__slot *prof__slot_get(void);

/* A handler's siglongjmp, or pthread_exit out of a clock or a sink, may have left the slow path. */
PROF__FN void prof__thread_exits(void) {
    prof__slot_get()->busy = 0;
    prof_thread_end();
}

/* Arranges that it runs at this thread's exit. */
#if defined(_WIN32)
static DWORD prof__exit_key = FLS_OUT_OF_INDEXES;
PROF__FN void WINAPI prof__at_exit(void *used) {
    if (used) prof__thread_exits();
}
PROF__FN void prof__exit_key_make(void) {
    if (prof__exit_key == FLS_OUT_OF_INDEXES) prof__exit_key = FlsAlloc(prof__at_exit);
}
PROF__FN void prof__at_thread_exit(void) { FlsSetValue(prof__exit_key, &prof__trace); }
#else
static pthread_key_t prof__exit_key;
static bool prof__exit_key_made;
PROF__FN void prof__at_exit(void *used) {
    (void)used;
    prof__thread_exits();
}
PROF__FN void prof__child_after_fork(void);
PROF__FN void prof__exit_key_make(void) {
    if (prof__exit_key_made) return;
    prof__exit_key_made = pthread_key_create(&prof__exit_key, prof__at_exit) == 0;
    pthread_atfork(NULL, NULL, prof__child_after_fork);
}
PROF__FN void prof__at_thread_exit(void) {
    if (prof__exit_key_made) pthread_setspecific(prof__exit_key, &prof__trace);
}
#endif

/* The calling thread's slot. Without TLS in the compiler it is the thread library's. */
#if PROF__FAST
PROF__FN prof__slot *prof__slot_get(void) { return &prof__tls; }
#elif (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
PROF__FN prof__slot *prof__slot_get(void) { return &prof__tls; }
#elif defined(_MSC_VER)
static __declspec(thread) prof__slot prof__tls =
    { 1, 0, 0, 0, &prof__nowhere, false, 0, 0, 0, NULL };
PROF__FN prof__slot *prof__slot_get(void) { return &prof__tls; }
#else
static prof__slot prof__slots[PROF__SLOTS],
    prof__slot_none = { 1, 0, 0, 0, &prof__nowhere, false, 0, 0, 0, NULL };
static pthread_key_t prof__slot_key;
static pthread_once_t prof__slot_once = PTHREAD_ONCE_INIT;
PROF__FN void prof__slot_release(void *slot) { ((prof__slot *)slot)->hot = NULL; }
PROF__FN void prof__slot_key_make(void) { pthread_key_create(&prof__slot_key, prof__slot_release); }
PROF__FN prof__slot *prof__slot_get(void) {
    prof__slot *slot;
    pthread_once(&prof__slot_once, prof__slot_key_make);
    slot = (prof__slot *)pthread_getspecific(prof__slot_key);
    if (slot) return slot;
    prof__lock();
    for (slot = prof__slots; slot < prof__slots + PROF__SLOTS && slot->hot; slot++) {}
    if (slot < prof__slots + PROF__SLOTS) *slot = prof__slot_none;
    prof__unlock();
    if (slot == prof__slots + PROF__SLOTS) return &prof__slot_none;
    pthread_setspecific(prof__slot_key, slot);
    return slot;
}
#endif

/* Takes a lock that may be held for long: its word has the slot address of its owner. False: this
   thread holds it already. */
PROF__FN bool prof__own(uintptr_t *owner) {
    uintptr_t self = (uintptr_t)prof__slot_get();
    if (PROF__LOAD(*owner) == self) return false;
    for (;; prof__yield()) {
        bool taken;
        prof__lock();
        taken = !PROF__ACQUIRE(*owner);
        if (taken) PROF__STORE(*owner, self);
        prof__unlock();
        if (taken) return true;
    }
}

PROF__FN void prof__disown(uintptr_t *owner) { PROF__RELEASE(*owner, (uintptr_t)0); }

static uintptr_t prof__reading;          /* who reads the records; prof_get_stats may, too */

PROF__FN uint64_t prof__now_ticks(prof_clock clock, const prof_platform *platform) {
    if (clock == PROF_CLOCK_PLATFORM) return platform->now(platform->user);
    return clock == PROF_CLOCK_CPU ? prof__cpu_now() : prof__os_now();
}

/* The same for the recorder: never goes back within a thread. */
PROF__FN uint64_t prof__state_now(prof__state *t) {
    uint64_t now = prof__now_ticks(t->clock, &t->platform);
    if (t->clock == PROF_CLOCK_CPU) return now;
    if (!now && t->clock == PROF_CLOCK_OS) now = t->last - t->bias;
    now += t->bias;
    if (now < t->last) {
        PROF__BUMP(t->counts.steps, 1);
        t->bias += t->last - now;
        now = t->last;
    }
    return t->last = now;
}

/* While the OS's clock cannot be read a tick counts as a nanosecond; counted as a step. */
PROF__FN prof__knot prof__knot_now(void) {
    prof__knot best = { prof__cpu_now(), 0 };
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        uint64_t a = prof__cpu_now(), ns = prof__os_now(), b = prof__cpu_now();
        if (ns && b - a < width) {
            width = b - a;
            best.tick = a + width / 2;
            best.ns = ns;
        }
    }
    if (best.ns) return best;
    best.ns = prof__first_knot.ns + (best.tick - prof__first_knot.tick);
    PROF__COUNT(prof__trace.counts.steps);
    return best;
}

/* Adds a pair; when they are many, keeps every second one. Under the lock. */
PROF__FN void prof__knot_add(prof__knot k) {
    struct prof_trace *s = &prof__trace;
    if (s->knot_count == PROF__KNOTS) {
        for (uint32_t i = 1; i < PROF__KNOTS / 2; i++) s->knots[i] = s->knots[2 * i];
        s->knot_count = PROF__KNOTS / 2;
        s->knot_gap_ns *= 2;
    }
    if (s->knot_count && (k.tick <= s->knots[s->knot_count - 1].tick ||
                          k.ns < s->knots[s->knot_count - 1].ns)) return;
    s->knots[s->knot_count++] = k;
}

PROF__FN void prof__knot_sometimes(void) {
    struct prof_trace *s = &prof__trace;
    if (s->clock == PROF_CLOCK_CPU && s->mode != PROF_MODE_STREAM &&
        prof__os_now() - s->knots[s->knot_count - 1].ns >= s->knot_gap_ns)
        prof__knot_add(prof__knot_now());
}

PROF__FN bool prof__overlaps(const void *begin, const void *end, const void *a, const void *b) {
    return (uintptr_t)a < (uintptr_t)end && (uintptr_t)begin < (uintptr_t)b;
}

/* Is [begin, end) free of what threads still own from earlier sessions? */
PROF__FN bool prof__not_owned(const void *begin, const void *end) {
    for (const prof__state *t = prof__owned; t; t = t->next) {
        const prof__chunk *c = t->spare;
        if (t->generation == prof__trace.generation) continue;
        if (prof__overlaps(begin, end, t, prof__state_end(t))) return false;
        if (prof__overlaps(begin, end, t->begin, t->limit)) return false;
        if (c && prof__overlaps(begin, end, c->begin, c->limit)) return false;
        if (PROF__ACQUIRE(t->looking) &&          /* it was stopped while it added to its rows */
            prof__overlaps(begin, end, t->tallies.low, t->tallies.high)) return false;
    }
    return true;
}

/* Of that much memory below high, what lies in the lower part. */
PROF__FN size_t prof__below_bound(size_t size) {
    const char *high = prof__arena.high, *bound = prof__arena.bound;
    return high > bound && (size_t)(high - bound) >= size ? 0 : size;
}

/* Memory for records from the top, and that much for their analysis; NULL: full. */
PROF__FN char *prof__take_high(size_t size, size_t analysis) {
    while (prof__arena_fits(prof__below_bound(size) + analysis)) {
        char *p = prof__arena.high -= size;
        if (!prof__not_owned(p, p + size)) continue;
        prof__arena.promised += analysis;
        return p;
    }
    return NULL;
}

/* New memory for records and for their analysis; NULL: full. */
PROF__FN prof__chunk *prof__chunk_make(void) {
    size_t size = prof__trace.chunk_size, slots = size / sizeof(prof__record);
    char *p = prof__take_high(size, slots * prof__slot_share());
    prof__chunk *c = (prof__chunk *)(void *)p;
    if (!p) return NULL;
    prof__trace.slot_count += slots;
    c->begin = (prof__record *)(void *)p;
    c->limit = c->begin + slots;
    PROF__ASSERT(p >= prof__arena.low + prof__arena.promised);
    return c;
}

PROF__FN void prof__row_unlist(prof__row *row) {
    struct prof_trace *s = &prof__trace;
    prof__row *before = NULL;
    for (prof__row *r = s->rows; r != row; r = r->next) before = r;
    if (before) before->next = row->next;
    else s->rows = row->next;
    if (s->last_row == row) s->last_row = before;
    s->row_count--;
    row->listed = false;
}

/* The row of a thread that has left and of which nothing is kept is for the next thread, with its
   index, unless the thread has another row: that one keeps it. So each index has a row, and no two
   threads have one index. In PROF_MODE_TRACE it stays where it is, for prof_dump. */
PROF__FN void prof__row_free(prof__row *row) {
    struct prof_trace *s = &prof__trace;
    bool stays = s->mode == PROF_MODE_TRACE, shared = false;
    if (row->kept) return;
    for (const prof__row *r = s->rows; r; r = r->next)
        shared |= r != row && r->thread == row->thread;
    if (shared && stays) return;
    if (shared) row->thread = PROF_NONE;
    if (!stays) prof__row_unlist(row);
    row->again = s->free_rows;
    s->free_rows = row;
}

/* Lets go of the oldest records in a ring. */
PROF__FN void prof__segment_free(prof__segment *g) {
    prof__row *row = g->row;
    if (!row) return;
    PROF__ASSERT(row->first == g && g->begin <= g->end && g->end <= g->limit);   /* the oldest */
    PROF__STORE(g->row, NULL);
    PROF__RELEASE(g->use, g->use + 1);   /* prof_dump sees that it may have read both old and new */
    PROF__FENCE();
    row->overwritten += (size_t)(g->end - g->begin);
    if (prof__trace.mode == PROF_MODE_RING) prof__trace.overwritten += (size_t)(g->end - g->begin);
    row->first = g->next;
    if (row->left && !row->first && !row->open_count && prof__trace.open) prof__row_free(row);
}

/* The next chunk of a state's ring; NULL: it is still to be flushed. Under the lock. */
PROF__FN prof__chunk *prof__ring_take(prof__state *t) {
    prof__segment *g = t->ring + t->ring_next;
    prof__chunk *c = (prof__chunk *)(void *)g->begin;
    if (prof__trace.mode == PROF_MODE_STREAM && g->row) {
        prof__trace.stalls += !t->full;
        return NULL;
    }
    PROF__ASSERT(g != t->segment && t->ring_next < t->ring_count);
    prof__segment_free(g);
    PROF__STORE(t->ring_next, (t->ring_next + 1) % t->ring_count);
    c->begin = g->begin;
    c->limit = g->limit;
    c->segment = g;
    return c;
}

/* The states that have recorded in this arena, one after the other; after NULL the first. What else
   lies in the grid may be of another layout, and a thread's still. Without the lock, too. */
PROF__FN prof__state *prof__used(const prof__state *after) {
    return after ? PROF__ACQUIRE(after->used) : PROF__ACQUIRE(prof__trace.used);
}

PROF__FN bool prof__state_used(const prof__state *t) {
    const prof__state *u = prof__used(NULL);
    while (u && u != t) u = prof__used(u);
    return u != NULL;
}

/* The arena's readers see t from here on. Under the lock. */
PROF__FN void prof__state_use(prof__state *t) {
    prof__state **last = &prof__trace.used;
    PROF__STORE(t->row, NULL);
    PROF__STORE(t->closed, false);
    t->used = NULL;
    memset(&t->tallies, 0, sizeof t->tallies);
    t->block = NULL;
    t->deeps = NULL;
    PROF__STORE(t->deep, 0u);
    while (*last) last = &(*last)->used;
    PROF__RELEASE(*last, t);
}

/* Slots kept for the zones a thread has open: each may need a long record, and one clock record. */
PROF__FN uint32_t prof__reserve(uint32_t depth) { return 2 * depth + 4; }

/* What is left of a chunk goes to the next thread, if it is worth it. A ring's chunk that was not
   begun is the next again. Under the lock. */
PROF__FN void prof__chunk_give(prof__state *t, prof__record *begin, prof__record *limit) {
    uintptr_t at = ((uintptr_t)begin + 15u) & ~(uintptr_t)15u;
    prof__chunk *c = (prof__chunk *)at;
    if (t->ring) {
        uint32_t last = (t->ring_next + t->ring_count - 1) % t->ring_count;
        if (t->ring[last].begin == begin) PROF__STORE(t->ring_next, last);
        return;
    }
    if ((uintptr_t)limit < at + (prof__reserve(prof__trace.max_depth) + 16) * sizeof *begin) return;
    c->begin = (prof__record *)at;
    c->limit = c->begin + ((uintptr_t)limit - at) / sizeof *begin;
    c->next = prof__trace.free_chunks;
    prof__trace.free_chunks = c;
}

/* Divides a state's region into its ring, once: the segments, then the chunks from the top down.
   False: threads of earlier sessions own too much of it. */
PROF__FN bool prof__ring_open(prof__state *t) {
    const struct prof_trace *s = &prof__trace;
    size_t index = ((size_t)t - (size_t)s->states) / s->state_size;
    char *region = s->regions + index * s->region_size, *chunk = region + s->region_size;
    uint32_t most = (uint32_t)(s->region_size / (s->chunk_size + sizeof(prof__segment)));
    prof__segment *g = (prof__segment *)(void *)region;
    if (prof__state_used(t)) {
        if (t->spare) prof__chunk_give(t, t->spare->begin, t->spare->limit);
        return true;
    }
    t->ring = g;
    t->ring_count = t->ring_next = t->ring_flushed = 0;
    if (!prof__not_owned(region, region + most * sizeof *g)) return false;
    while (most--) {
        chunk -= s->chunk_size;
        if (!prof__not_owned(chunk, chunk + s->chunk_size)) continue;
        memset(g, 0, sizeof *g);
        g->begin = (prof__record *)(void *)chunk;
        g++->limit = (prof__record *)(void *)chunk + s->chunk_size / sizeof(prof__record);
        t->ring_count++;
    }
    if (t->ring_count < 2) return false;
    prof__state_use(t);
    return true;
}

/* A chunk that others left, or a new one, with its segment; NULL: full. It lies below what the
   thread has written, as prof__cursor_check needs; in a ring that comes round, a displaced cursor
   stays within the ring. Under the lock. */
PROF__FN prof__chunk *prof__chunk_take(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    prof__segment *g = t->ring ? NULL : (prof__segment *)prof__take(sizeof *g, 0);
    const prof__record *below = t->segment ? t->begin : NULL;
    prof__chunk **place = &s->free_chunks, *c;
    if (t->ring) return prof__ring_take(t);
    if (g) memset(g, 0, sizeof *g);      /* prof_dump sees it before it has a row */
    while (*place && below && (*place)->begin > below) place = &(*place)->next;
    c = g ? *place : NULL;
    if (c) *place = c->next;
    else if (g) c = prof__chunk_make();
    PROF__ASSERT(!c || (c->begin < c->limit && (!below || c->limit <= below)));
    if (c) c->segment = g;
    else if (g) prof__arena.low = (char *)(void *)g;
    return c;
}

PROF__FN void prof__put(prof__state *t, uint32_t a, uint32_t b, uint32_t site_depth) {
    prof__record *c = t->hot.cursor;
    PROF__ASSERT(t->begin <= c && c < t->limit);
    c->end = a;
    c->duration = b;
    c->site_depth = site_depth;
    PROF__RELEASE(t->hot.cursor, c + 1);
}

PROF__FN void prof__record_set(prof__record *c, uint64_t n, uint32_t word) {
    c->end = (uint32_t)n;
    c->duration = (uint32_t)(n >> 32);
    c->site_depth = word;
}

/* Two slots, both written before either is published. The second one's first and third word read
   like a zone's end and depth, 255 for none: prof__snapshot_check looks there. */
PROF__FN void prof__put_long(prof__state *t, uint32_t kind, uint64_t a, uint64_t b, uint32_t word) {
    prof__record *c = t->hot.cursor;
    PROF__ASSERT(t->begin <= c && c + 1 < t->limit);
    prof__record_set(c, a, kind << 8 | 1);
    prof__record_set(c + 1, b, word);
    if (!t->summing)
        PROF__BUMP(t->counts.extra, kind == PROF__ZONE64 || kind == PROF__UNFINISHED ? 1u : 2u);
    PROF__RELEASE(t->hot.cursor, c + 2);
}

/* Sums need times only of zones that go to the timeline. */
PROF__FN void prof__put_clock(prof__state *t) {
    if (t->summing && !t->cut) return;
    prof__put(t, t->epoch, 0, (uint32_t)PROF__CLOCK << 8);
    if (!t->summing) PROF__BUMP(t->counts.extra, 1);
    PROF__STORE(t->clock_end, t->hot.cursor);
}

/* Sets the limits that send the hot path to the slow one: while the arena is full, with a clock
   that is not the CPU's, among many open zones, and after the generation ended. */
PROF__FN void prof__set_limits(prof__state *t) {
    bool slow = !t->fast || t->full || t->skipped || t->hot.top > t->crowd;
    prof__record *limit = t->spare ? t->limit : t->limit - t->reserve;
    PROF__ASSERT(t->frames <= t->hot.bottom && t->hot.bottom <= t->hot.top);
    PROF__ASSERT(t->hot.top <= t->deepest && t->begin < limit);
    for (prof__frame *f = t->hot.top; f < t->deepest; f++)
        PROF__STORE(f->epoch, slow || f >= t->crowd ? PROF__NEVER : t->epoch);
    t->hot.span = (uintptr_t)limit - (uintptr_t)t->begin;
    PROF__STORE(t->hot.limit, slow ? NULL : limit);
    PROF__FENCE(); /* prof_stop: on = 0, then limit = NULL; here the other way round */
    if (PROF__LOAD(prof__on) != t->generation) PROF__STORE(t->hot.limit, NULL);
}

/* Read after the generation: a signal handler may give the thread its state in between. */
PROF__FN prof__state *prof__slot_state(prof__slot *slot) {
    prof__hot *hot;
    PROF__SIGNAL_FENCE();
    hot = slot->hot;
    return (prof__state *)(void *)hot;
}

/* Enters the slow path, which no signal handler may: it could not know what is half done. While
   limit is NULL the ends in handlers come here too; what they begin is dropped, and counted. */
PROF__FN bool prof__enter(prof__slot *slot) {
    if (slot->busy) return false;
    slot->busy = 1;
    PROF__SIGNAL_FENCE();
    if (slot->generation == PROF__LOAD(prof__on)) PROF__STORE(slot->hot->limit, NULL);
    PROF__SIGNAL_FENCE();
    return true;
}

PROF__FN void prof__leave(prof__slot *slot) {
    prof__state *t = prof__slot_state(slot);
    if (slot->generation == PROF__LOAD(prof__on) && t->fast) prof__set_limits(t);
    PROF__SIGNAL_FENCE();
    slot->busy = 0;
}

/* Until prof__looked() the session, all of it, stays as it is. False: it is over. */
PROF__FN bool prof__look(prof__state *t) {
    PROF__STORE(t->looking, t->looking + 1);
    PROF__FENCE();
    if (PROF__LOAD(prof__on) == t->generation) return true;
    PROF__RELEASE(t->looking, t->looking - 1);
    return false;
}

PROF__FN void prof__looked(prof__state *t) { PROF__RELEASE(t->looking, t->looking - 1); }

/* site: shifted by 8 */
PROF__FN void prof__observe_begin(prof__state *t, uint32_t site) {
    const prof_extra *with = prof__slot_get()->with;
    if (!prof__look(t)) return;
    for (uint32_t i = 0; i < prof__observer_count; i++) {
        const prof_observer *o = prof__observers + i;
        const char *name = PROF__ACQUIRE(prof__site(site >> 8)->name);   /* see @FUNCTIONS */
        if (o->begin_with) o->begin_with(o->user, name, with);
        else if (o->begin) o->begin(o->user, name);
    }
    prof__looked(t);
}

PROF__FN void prof__observe_end(prof__state *t, uint32_t site) {
    if (!prof__look(t)) return;
    for (uint32_t i = prof__observer_count; i--;)
        if (prof__observers[i].end)
            prof__observers[i].end(prof__observers[i].user,
                                   PROF__ACQUIRE(prof__site(site >> 8)->name));
    prof__looked(t);
}

/* A record's value as the double that it is. */
PROF__FN double prof__real_value(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

PROF__FN int64_t prof__real_whole(double x) {
    if (!(x > -9e18)) return x < 0 ? INT64_MIN : 0;      /* 0: it is no number */
    return x < 9e18 ? (int64_t)x : INT64_MAX;
}

PROF__FN void prof__observe_moment(prof__state *t, uint32_t kind, uint32_t site, uint64_t value) {
    bool real = kind == PROF__REAL;
    if (!prof__look(t)) return;
    for (uint32_t i = 0; i < prof__observer_count; i++) {
        const prof_observer *o = prof__observers + i;
        const char *name = prof__site(site)->name;
        if (kind == PROF__INSTANT && o->instant) o->instant(o->user, name);
        else if (real && o->counter_f) o->counter_f(o->user, name, prof__real_value(value));
        else if (kind != PROF__INSTANT && o->counter)
            o->counter(o->user, name,
                       real ? prof__real_whole(prof__real_value(value)) : (int64_t)value);
    }
    prof__looked(t);
}

/* Goes on writing in chunk c. The new segment is linked before the cursor moves, so that
   prof_stop finds the cursor in a segment it can reach at any moment. Under the lock. */
PROF__FN void prof__segment_open(prof__state *t, const prof__chunk *c) {
    prof__segment *g = c->segment;
    PROF__STORE(g->begin, c->begin);     /* prof_dump may be reading it */
    PROF__STORE(g->flushed, c->begin);
    PROF__STORE(g->limit, c->limit);
    PROF__STORE(g->end, NULL);
    PROF__STORE(g->next, NULL);
    PROF__STORE(g->epoch, t->epoch);
    if (t->segment) {
        PROF__ASSERT(t->segment->begin <= t->hot.cursor && t->hot.cursor <= t->segment->limit);
        PROF__RELEASE(t->segment->end, t->hot.cursor);
        PROF__BUMP(t->counts.slots, (size_t)(t->hot.cursor - t->segment->begin));
        PROF__RELEASE(t->segment->next, g);
    }
    if (!t->row->first) PROF__RELEASE(t->row->first, g);
    PROF__STORE(g->position, t->counts.slots);
    PROF__RELEASE(g->row, t->row);
    PROF__ASSERT(g != t->segment && c->limit - c->begin > (ptrdiff_t)t->reserve);
    t->segment = g;
    t->segment_extra = t->counts.extra;
    t->segment_unfinished = t->counts.unfinished;
    PROF__STORE(t->begin, c->begin);
    PROF__STORE(t->limit, c->limit);
    PROF__RELEASE(t->hot.cursor, c->begin);
    prof__put_clock(t);
}

/* ---- sums: a row a name ---- */

/* What holds. inner[d] has only ticks of zones that ended within the one open at d and are in no
   timeline. cut is at most the zones that are open. A row's inner is at most its total. One place
   of each index is free. The block below the cursor is written; empty slots have no site. Rows are
   written by their thread between prof__look and prof__looked, or by who ends its recording. */

/* More memory for t's rows. Under the lock. */
PROF__FN void *prof__tallies_take(prof__tallies *y, size_t bytes) {
    char *p = (char *)prof__take_kept(bytes, 0);
    if (!p) return NULL;
    if (!y->low) y->low = p;
    y->high = p + bytes;
    return memset(p, 0, bytes);
}

/* The row of a site (shifted by 8); NULL: there is none. */
PROF__INLINE prof__tally *prof__tally_find(const prof__tallies *y, uint32_t site) {
    const prof__tally_index *x = PROF__ACQUIRE(y->index);
    for (uint32_t i = site >> 8;; i++) {
        prof__tally *r = PROF__ACQUIRE(x->rows[i & x->mask]);
        if (!r || r->site == site) return r;
    }
}

PROF__FN void prof__tally_place(prof__tally_index *x, prof__tally *r) {
    uint32_t i = r->site >> 8;
    while (x->rows[i & x->mask]) i++;
    PROF__RELEASE(x->rows[i & x->mask], r);
}

/* An index of so many places for all rows; who reads the old one may go on. Under the lock. */
PROF__FN bool prof__tallies_index(prof__tallies *y, uint32_t places) {
    size_t bytes = sizeof(prof__tally_index) + (places - 1) * sizeof(prof__tally *);
    prof__tally_index *x = (prof__tally_index *)prof__tallies_take(y, bytes);
    if (!x) return false;
    x->mask = places - 1;
    for (prof__tally *r = y->others ? y->others->next : NULL; r; r = r->next)
        prof__tally_place(x, r);
    PROF__RELEASE(y->index, x);
    return true;
}

/* Memory for rows: some at once, but for a thread's first. Enough is left for threads that have
   none yet, or half of all. Under the lock. */
PROF__FN bool prof__tallies_more(prof__tallies *y) {
    size_t room = prof__arena_room(), left = y->last ? prof__arena.seats : 0;
    for (uint32_t n = y->last ? 16 : 4; n && !y->spares; n /= 4) {
        if (room < n * sizeof *y->spare + left) continue;
        y->spare = (prof__tally *)prof__tallies_take(y, n * sizeof *y->spare);
        if (y->spare) y->spares = n;
    }
    return y->spares != 0;
}

/* A row more, in the list of all; NULL: no room. Under the lock. */
PROF__FN prof__tally *prof__tallies_row(prof__tallies *y, uint32_t site) {
    prof__tally *r;
    if (!y->spares && !prof__tallies_more(y)) return NULL;
    r = y->spare++;
    y->spares--;
    r->site = site;
    r->least = UINT64_MAX;
    if (y->last) r->number = y->last->number + 1;
    if (y->last) PROF__RELEASE(y->last->next, r);
    else PROF__RELEASE(y->others, r);
    return y->last = r;
}

/* Has a site (shifted by 8) no row of its own? */
PROF__FN bool prof__is_others(uint32_t site) {
    return !site || site == PROF__LOAD(prof__others_site) << 8;
}

#if PROF__BARE
#define prof__sums_lock(t) ((t)->held || prof__lock_briefly())
#define prof__sums_unlock(t) ((t)->held ? (void)0 : prof__unlock())
#else
enum { PROF__LOAN_NONE, PROF__LOAN_WANTED, PROF__LOAN_GIVEN };

/* The lock, while t's sums change. Who has it may be waiting for just these, in a snapshot: then it
   lends it, and does nothing until it is given back. */
PROF__FN bool prof__sums_lock(prof__state *t) {
    if (t->held) return true;
    PROF__STORE(t->loan, (uint32_t)PROF__LOAN_WANTED);
    for (int i = 0; i < 1000000 && !prof__lock_mine(); i++) {
        if (PROF__ACQUIRE(t->loan) == PROF__LOAN_GIVEN) return true;
        if (prof__try_lock()) {
            PROF__STORE(t->loan, (uint32_t)PROF__LOAN_NONE);
            return true;
        }
        if (i >= 16) prof__yield();
    }
    (void)prof__swap(&t->loan, PROF__LOAN_WANTED, PROF__LOAN_NONE);
    return PROF__ACQUIRE(t->loan) == PROF__LOAN_GIVEN;
}

PROF__FN void prof__sums_unlock(prof__state *t) {
    if (t->held) return;
    if (PROF__LOAD(t->loan) == PROF__LOAN_GIVEN)
        PROF__RELEASE(t->loan, (uint32_t)PROF__LOAN_NONE);
    else prof__unlock();
}

/* By who has the lock and waits for t's sums. */
PROF__FN void prof__sums_lend(prof__state *t) {
    if (!prof__swap(&t->loan, PROF__LOAN_WANTED, PROF__LOAN_GIVEN)) return;
    while (PROF__ACQUIRE(t->loan) == PROF__LOAN_GIVEN) prof__yield();
}
#endif

/* A site's new row; where there is no room for it, the one of all others. */
PROF__RARE(prof__tally *) prof__tally_make(prof__state *t, uint32_t site) {
    prof__tallies *y = &t->tallies;
    uint32_t places = y->index->mask + 1;
    prof__tally *r = NULL;
    if (prof__is_others(site) || y->full || !prof__sums_lock(t)) return y->others;
    if (y->last->number + 1 <= places / 2 || prof__tallies_index(y, 2 * places) ||
        y->last->number + 1 < places) r = prof__tallies_row(y, site);
    if (r) prof__tally_place(y->index, r);
    y->full = !r;
    prof__sums_unlock(t);
    return r ? r : y->others;
}

PROF__INLINE prof__tally *prof__tally_of(prof__state *t, uint32_t site) {
    prof__tally *r = prof__tally_find(&t->tallies, site);
    return PROF__LIKELY(r != NULL) ? r : prof__tally_make(t, site);
}

/* Bits of n, where there is a bucket for so many. */
PROF__INLINE uint32_t prof__bucket_of(uint64_t n) {
    uint32_t bits = 0;
    n = PROF__MIN(n, ((uint64_t)1 << (PROF__BUCKETS - 1)) - 1);
#if defined(__GNUC__) || defined(__clang__)
    bits = 63 ^ (uint32_t)__builtin_clzll(2 * n + 1);
#else
    for (; n; n >>= 1) bits++;
#endif
    return bits;
}

/* n calls more, which are in the buckets. At every 2^31 calls these are halved, so that none
   overflows and the percentiles stay. */
PROF__INLINE void prof__tally_counted(prof__tally *r, uint64_t n) {
    uint64_t before = r->count;
    r->count = before + n;
    if (PROF__LIKELY(!((before ^ r->count) >> 31))) return;
    for (int i = 0; i < PROF__BUCKETS; i++) r->histogram[i] /= 2;
}

PROF__FN void prof__tally_put(prof__tally *r, uint64_t ticks, uint64_t inner) {
    r->total += ticks;
    r->inner += PROF__MIN(inner, ticks);
    r->least = PROF__MIN(r->least, ticks);
    r->most = PROF__MAX(r->most, ticks);
    r->histogram[prof__bucket_of(ticks)]++;
    prof__tally_counted(r, 1);
}

/* A zone ends: what ended within it, and counts within the one around it. inner: of its depth. */
PROF__INLINE uint64_t prof__tally_within(uint64_t *inner, uint64_t ticks) {
    uint64_t within = *inner;
    *inner = 0;
    inner[-1] += ticks;
    return within;
}

/* Zones for whose site there was no row; those that have none are counted at their begin. */
PROF__FN void prof__count_rowless(prof__state *t, uint32_t site_depth, size_t zones) {
    if (prof__is_others(site_depth & ~(uint32_t)0xff)) return;
    PROF__BUMP(t->counts.others[PROF__NO_ROOM], zones);
}

/* Adds the zones of one site and depth that begin at c, empties their records, and returns what
   follows. Only the first may hold others. The loop is what a zone in sums costs. */
PROF__INLINE prof__record *prof__tally_run(prof__state *t, prof__record *c, prof__record *end) {
    const uint32_t site_depth = c->site_depth;
    const prof__record *begin = c;
    prof__tally *r = prof__tally_of(t, site_depth & ~(uint32_t)0xff);
    uint64_t *inner = t->inner + (site_depth & 0xff), total = 0, least = r->least, most = r->most;
    r->inner += PROF__MIN(*inner, c->duration);
    do {
        uint64_t ticks = c->duration;
        total += ticks;
        if (PROF__UNLIKELY(ticks < least)) r->least = least = ticks;
        if (PROF__UNLIKELY(ticks > most)) r->most = most = ticks;
        r->histogram[prof__bucket_of(ticks)]++;
        c->site_depth = 0;
    } while (++c < end && c->site_depth == site_depth);
    (void)prof__tally_within(inner, total);
    r->total += total;
    prof__tally_counted(r, (uint64_t)(c - begin));
    PROF__BUMP(t->counts.summed, (size_t)(c - begin));
    if (PROF__UNLIKELY(!r->site)) prof__count_rowless(t, site_depth, (size_t)(c - begin));
    return c;
}

/* Adds a zone. */
PROF__FN void prof__sums_put(prof__state *t, const prof__item *i) {
    prof__tally *r = prof__tally_of(t, i->site_depth & ~(uint32_t)0xff);
    uint64_t *inner = t->inner + (i->site_depth & 0xff);
    prof__tally_put(r, i->duration, prof__tally_within(inner, i->duration));
    PROF__BUMP(t->counts.summed, 1);
    if (i->kind == PROF__UNFINISHED) PROF__BUMP(t->counts.summed_open, 1);
    if (!r->site) prof__count_rowless(t, i->site_depth, 1);
}

/* Writes a zone to the timeline's last segment, which has room for all that were open. */
PROF__FN void prof__rest_put(prof__state *t, uint32_t kind, uint64_t duration, uint64_t end,
                             uint32_t site_depth) {
    prof__segment *g = t->segment;
    prof__record *c = g->end;
    PROF__ASSERT(g->limit - c >= 2);
    prof__record_set(c, duration, kind << 8 | 1);
    prof__record_set(c + 1, end, site_depth);
    PROF__BUMP(t->counts.slots, 2);
    PROF__BUMP(t->counts.extra, 1);
    PROF__RELEASE(g->end, c + 2);
}

/* A zone below the cut: it is the timeline's, with what ended in it since as one child, "(in
   sums)". One that began since is not: a signal handler displaced the one that was open here. */
PROF__FN void prof__sums_cut(prof__state *t, const prof__item *i) {
    uint32_t depth = i->site_depth & 0xff, cut = t->cut;
    uint64_t within = 0;
    if (i->end - PROF__MIN(i->duration, i->end) > t->cut_tick) {
        PROF__STORE(t->cut, depth);
        prof__sums_put(t, i);
        return;
    }
    for (; cut > depth; t->inner[cut] = 0) within += t->inner[--cut];
    PROF__STORE(t->cut, depth);
    within = PROF__MIN(within, i->duration);
    if (within)
        prof__rest_put(t, PROF__ZONE64, within, i->end, prof__trace.in_sums << 8 | (depth + 1));
    prof__rest_put(t, i->kind == PROF__UNFINISHED ? PROF__UNFINISHED : PROF__ZONE64, i->duration,
                   i->end, i->site_depth);
}

PROF__FN void prof__sums_zone(prof__state *t, const prof__item *i) {
    if ((i->site_depth & 0xff) < t->cut) prof__sums_cut(t, i);
    else prof__sums_put(t, i);
}

/* Adds what is no plain zone above the cut, and empties it. What is no zone is not kept. */
PROF__FN prof__record *prof__sums_other(prof__state *t, prof__record *c, prof__record *end) {
    prof__cursor k = { c, end, t->base, 0 };
    prof__item i;
    (void)prof__next(&k, &i);
    t->base = k.base;
    if (!prof__item_is_zone(&i)) {
        if (i.kind != PROF__CLOCK) PROF__BUMP(t->counts.not_kept, 1);
    } else if (i.site_depth >> 8) {
        prof__sums_zone(t, &i);
    }
    for (uint32_t n = 0; n < i.slots; n++) c[n].site_depth = 0;
    return c + i.slots;
}

/* Adds the block up to end to the rows. Emptied records have no site: a signal handler may do this
   inside an end, which then sets the cursor behind them again. */
PROF__FN void prof__block_add(prof__state *t, prof__record *end) {
    prof__record *c = t->begin;
    PROF__ASSERT(end >= c && end <= t->limit);
    while (c < end) {
        uint32_t site_depth = c->site_depth;
        c = PROF__LIKELY((site_depth >> 8) - 1 < PROF__KIND - 1 && (site_depth & 0xff) >= t->cut)
                ? prof__tally_run(t, c, end) : prof__sums_other(t, c, end);
    }
}

PROF__FN void prof__sums_open(prof__state *t) {
    PROF__STORE(t->sums, t->sums + 1);
    PROF__FENCE();
}

PROF__FN void prof__sums_shut(prof__state *t) { PROF__RELEASE(t->sums, t->sums + 1); }

PROF__FN void prof__sums_add(prof__state *t, prof__record *end) {
    prof__sums_open(t);
    prof__block_add(t, end);
    prof__sums_shut(t);
}

/* The same under the lock. */
PROF__FN void prof__sums_add_held(prof__state *t, prof__record *end) {
    t->held = true;
    prof__sums_add(t, end);
    t->held = false;
}

PROF__FN void prof__block_emptied(prof__state *t) {
    PROF__STORE(t->clock_end, t->begin);
    PROF__RELEASE(t->hot.cursor, t->begin);
}

/* By the thread itself. False: the session is over, and who ended it has the block. */
PROF__FN bool prof__sums_drain(prof__state *t) {
    if (!prof__look(t)) return false;
    prof__sums_add(t, t->hot.cursor);
    prof__block_emptied(t);
    prof__looked(t);
    return true;
}

/* Where the block's records end, when the cursor is lost: the slots behind them are empty. */
PROF__FN PROF__RACES prof__record *prof__block_end(const prof__state *t) {
    prof__record *c = PROF__LOAD(t->limit);
    const prof__record *begin = PROF__LOAD(t->begin);
    while (c > begin && !PROF__LOAD(c[-1].site_depth)) c--;
    return c;
}

/* Where the records of t's chunk end when its cursor is outside of it: see prof__cursor_check. */
PROF__FN prof__record *prof__cursor_lost(const prof__state *t) {
    return PROF__LOAD(t->summing) ? prof__block_end(t) : PROF__LOAD(t->clock_end);
}

/* An end on the hot path sets the cursor it found one further, whatever a signal handler recorded
   in between. That leaves the cursor in the old chunk if the handler took a new one: outside of the
   new one it comes here; or before a clock record. */
PROF__FN void prof__cursor_check(prof__state *t) {
    if (t->hot.cursor < t->begin || t->hot.cursor > t->limit)
        PROF__RELEASE(t->hot.cursor, prof__cursor_lost(t));
    if (t->hot.cursor < t->clock_end) prof__put_clock(t);
}

/* Where the records of t's chunk end, read by others. */
PROF__FN prof__record *prof__cursor_of(const prof__state *t) {
    prof__record *c = PROF__ACQUIRE(t->hot.cursor);
    return c < PROF__LOAD(t->begin) || c > PROF__LOAD(t->limit) ? prof__cursor_lost(t) : c;
}

/* Bytes of the smallest block. */
PROF__FN size_t prof__sums_block(uint32_t depth) {
    return prof__align((prof__reserve(depth) + 64) * sizeof(prof__record));
}

/* What the sums of one thread take, of 16 names; those of all in a report no more. */
PROF__FN size_t prof__sums_share(uint32_t depth) {
    return prof__align((depth + 2) * sizeof(uint64_t)) + prof__sums_block(depth) +
           32 * sizeof(void *) + 17 * (sizeof(prof__tally) + sizeof(prof_average)) + 64;
}

/* What a thread must have to go over to sums with so many open zones. */
PROF__FN size_t prof__sums_first(uint32_t depth) {
    return prof__align((depth + 2) * sizeof(uint64_t)) + prof__sums_block(depth) +
           prof__align(sizeof(prof__segment)) + 4 * depth * sizeof(prof__record) +
           prof__align(sizeof(prof__tally_index) + 15 * sizeof(prof__tally *)) +
           4 * sizeof(prof__tally) + 64;
}

/* A block from the top, smaller where little room is left. Under the lock. */
PROF__FN bool prof__block_take(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    size_t kept = prof__arena.kept, size = PROF__MIN(prof__arena_room() / 64, 16384u);
    size = PROF__MAX(prof__sums_block(s->max_depth), size & ~(size_t)15u);
    prof__arena.kept = 0;
    t->block = (prof__record *)(void *)prof__take_high(size, 0);
    prof__arena.kept = kept;
    if (!t->block) return false;
    t->block_end = t->block + size / sizeof *t->block;
    prof__arena.seats -= PROF__MIN(prof__arena.seats, s->sums_each);
    PROF__STORE(prof__names.refused, SIZE_MAX);
    return true;
}

/* The sites of what stands in the timeline for what is not there. */
PROF__FN void prof__sums_sites(struct prof_trace *s) {
    static const prof_site in_sums = PROF__OWN_SITE(0), timeline_ends = PROF__OWN_SITE(10);
    if (!s->in_sums) s->in_sums = prof__site_add(&in_sums, true);
    if (!s->timeline_ends) s->timeline_ends = prof__site_add(&timeline_ends, true);
    (void)prof__others_make();
}

/* What a state needs for zones in sums: what ended by depth, a few rows. It keeps them. */
PROF__FN bool prof__rows_prepare(prof__state *t) {
    prof__tallies *y = &t->tallies;
    size_t depths = prof__trace.max_depth + 2;
    if (!y->low) {
        t->inner = (uint64_t *)prof__tallies_take(y, depths * sizeof *t->inner);
        if (!y->low) return false;
        t->inner++;                      /* [-1]: of no zone */
    }
    return (y->index || prof__tallies_index(y, 16)) && (y->others || prof__tallies_row(y, 0));
}

/* ... and to go over to sums: a block. False: no room. Under the lock. */
PROF__FN bool prof__sums_prepare(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    if (s->mode == PROF_MODE_TRACE) prof__sums_sites(s);
    return (t->block || prof__block_take(t)) && prof__rows_prepare(t);
}

/* From here on t's zones go to its block: prof__sums_prepare has been. */
PROF__FN void prof__sums_begin(prof__state *t) {
    static const prof__hooks none = { NULL, NULL, 0 };
    prof__sums_open(t);                  /* a dump may be reading what the last thread left */
    memset(t->block, 0, (size_t)(t->block_end - t->block) * sizeof *t->block);
    memset(t->inner - 1, 0, (prof__trace.max_depth + 2) * sizeof *t->inner);
    PROF__STORE(t->cut, 0u);
    t->base = (uint64_t)t->epoch << 32;
    t->wants = 0;
    t->hooks = none;
    PROF__STORE(t->summing, true);
    PROF__STORE(t->begin, t->block);
    PROF__STORE(t->limit, t->block_end);
    PROF__STORE(t->clock_end, t->block);
    PROF__RELEASE(t->hot.cursor, t->block);
    prof__sums_shut(t);
}

/* The timeline's last segment: for zones that are open now. It needs no room in the analysis: what
   is left of the chunk has that. NULL: no room. */
PROF__FN prof__segment *prof__rest_open(prof__state *t, uint32_t open) {
    size_t head = prof__align(sizeof(prof__segment));
    char *p = (char *)prof__tallies_take(&t->tallies, head + 4 * open * sizeof(prof__record));
    prof__segment *g = (prof__segment *)(void *)p;
    if (!p) return NULL;
    g->begin = g->end = g->flushed = (prof__record *)(void *)(p + head);
    g->limit = g->begin + 4 * open;
    g->epoch = t->epoch;
    g->row = t->row;
    return g;
}

/* The chunk's last records: a slot for an end that a signal handler interrupted, which may still
   write it, and where the timeline ends. */
PROF__FN void prof__timeline_end(prof__state *t) {
    prof__record *c = t->hot.cursor;
    uint32_t n = t->limit - c >= 3 ? 3 : 0;
    if (n) prof__record_set(c, 0, (uint32_t)PROF__PART << 8);
    if (n) prof__record_set(c + 1, t->cut_tick, (uint32_t)PROF__INSTANT << 8 | 1);
    if (n) prof__record_set(c + 2, 0, prof__trace.timeline_ends << 8 | 255u);
    PROF__BUMP(t->counts.extra, n);
    PROF__BUMP(t->counts.slots, (size_t)(c + n - t->segment->begin));
    PROF__RELEASE(t->segment->end, c + n);
}

/* A thread's timeline ended; 0 is for none, and may be a clock's first tick. Under the lock. */
PROF__FN void prof__timeline_full(struct prof_trace *s, uint64_t tick) {
    if (!s->full_tick || tick < s->full_tick) s->full_tick = PROF__MAX(tick, 1u);
}

/* The arena is full: t goes on in sums. False: there is no room for that either. Under the lock. */
PROF__FN bool prof__sum_from_here(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    uint32_t open = (uint32_t)(t->hot.top - t->hot.bottom);
    prof__segment *g;
    if (!s->sums || !prof__sums_prepare(t)) return false;
    g = prof__rest_open(t, open);
    if (!g) return false;
    t->cut_tick = s->clock == PROF_CLOCK_CPU ? prof__cpu_now() : t->last;
    prof__timeline_full(s, t->cut_tick);
    prof__timeline_end(t);
    g->position = t->counts.slots;
    PROF__RELEASE(t->segment->next, g);
    t->segment = g;
    prof__sums_begin(t);
    PROF__STORE(t->cut, open);
    prof__put_clock(t);
    t->fast = PROF__FAST && s->clock == PROF_CLOCK_CPU && !t->observed;
    return true;
}

/* Room for n slots more, beside those kept for open zones; the next chunk is taken before this
   one ends. */
PROF__FN bool prof__room_made(prof__state *t, uint32_t n) {
    bool ok, full = false;
    if (!prof__lock_briefly()) return false;
    ok = t->generation == PROF__LOAD(prof__on);
    if (ok && !t->spare) full = (t->spare = prof__chunk_take(t)) == NULL;
    if (full) ok = prof__sum_from_here(t);
    if (ok && !full && (size_t)(t->limit - t->hot.cursor) < n) {
        prof__segment_open(t, t->spare);
        t->spare = NULL;
        prof__knot_sometimes();
    }
    prof__unlock();
    return ok;
}

PROF__FN bool prof__room(prof__state *t, uint32_t n) {
    prof__cursor_check(t);
    PROF__ASSERT(t->begin <= t->hot.cursor && t->hot.cursor <= t->limit);
    if ((size_t)(t->limit - t->hot.cursor) >= n + t->reserve) return true;
    if (t->summing) return prof__sums_drain(t);
    if (prof__room_made(t, n)) return true;
    return t->flush && t->generation == PROF__LOAD(prof__on) && !prof__lock_mine() &&
           t->flush() == PROF_OK && prof__room_made(t, n);
}

/* A begin that is not recorded: an end without a token will come for it. */
PROF__FN prof__frame *prof__skip(prof__state *t, size_t *count, bool token) {
    if (count) PROF__BUMP(*count, 1);
    else PROF__COUNT(prof__dropped_busy);
    if (!token) t->skipped++;
    return NULL;
}

/* Writes the zone of frame f, ended at now. Room is there: prof__room, or what is kept for open
   zones. */
PROF__FN void prof__put_zone(prof__state *t, prof__frame *f, uint64_t now, bool unfinished) {
    uint64_t start = (uint64_t)f->epoch << 32 | f->start, duration;
    uint32_t site_depth = f->site + f->depth;
    if (start > now + INT32_MAX) start -= (uint64_t)1 << 32;   /* a handler changed the epoch */
    duration = now < start ? 0 : now - start;
    if (unfinished) PROF__BUMP(t->counts.unfinished, 1);
    if (now < start) PROF__BUMP(t->counts.steps, 1);
    if (unfinished || duration >> 32 || (now >> 32 != t->epoch && t->full)) {
        prof__put_long(t, unfinished ? PROF__UNFINISHED : PROF__ZONE64, duration, now, site_depth);
        t->epoch = (uint32_t)(now >> 32);
        PROF__STORE(t->clock_end, t->hot.cursor);   /* it is a clock record too */
        return;
    }
    if (now >> 32 != t->epoch) {
        t->epoch = (uint32_t)(now >> 32);
        prof__put_clock(t);
    }
    prof__put(t, (uint32_t)now, (uint32_t)duration, site_depth);
}

/* Ends the innermost open zone. False: prof_stop came between, and has it, or since its caller
   looked a signal handler that ends what it did not begin. Without room only when the lock could
   not be had; then the zone is dropped. */
PROF__FN bool prof__end_zone(prof__state *t, uint64_t now, bool unfinished) {
    prof__frame *f = t->hot.top - 1;
    if (f < t->hot.bottom) return false;
    if (t->hooks.end && prof__look(t)) {
        t->hooks.end(t, f);
        prof__looked(t);
    }
    if (!prof__room(t, 4)) {
        if (PROF__LOAD(prof__on) != t->generation) return false;
        t->full = true;
    }
    if (t->limit - t->hot.cursor >= 2) prof__put_zone(t, f, now, unfinished);
    else PROF__BUMP(t->counts.full, 1);
    PROF__RELEASE(t->hot.top, f);
    if (!t->fast) PROF__RELEASE(f->epoch, PROF__NEVER);
    if (t->observed) prof__observe_end(t, f->site);
    return true;
}

/* ---- deep zones: more than max_depth are open ---- */

/* They are in sums alone, added to their row as they end, one by one. The hot path cannot work
   while one is open. */
PROF__INLINE prof__deep *prof__deep_top(const prof__state *t) {
    return t->deeps->zones + (PROF__LOAD(t->deep) - 1) % PROF__DEEPS;
}

/* More memory for them, which others do not need yet. Under the lock. */
PROF__FN prof__deeps *prof__deeps_take(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    prof__deeps *b = NULL;
    if (!s->sums_deep) return NULL;
    if (prof__arena_room() >= sizeof *b + prof__arena.seats && prof__rows_prepare(t))
        b = (prof__deeps *)prof__tallies_take(&t->tallies, sizeof *b);
    if (!b) return NULL;
    if (s->mode != PROF_MODE_AGGREGATE) prof__sums_sites(s);
    PROF__STORE(s->any_deep, true);
    b->below = t->deeps;
    if (t->deeps) t->deeps->above = b;
    return b;
}

/* A deep zone more; NULL: no room. */
PROF__FN prof__deep *prof__deep_push(prof__state *t) {
    prof__deeps *b = t->deeps;
    if (PROF__LOAD(t->deep) % PROF__DEEPS == 0 && (PROF__LOAD(t->deep) || !b)) {
        if (b) b = b->above;
        if (!b && prof__lock_briefly()) {
            b = prof__deeps_take(t);
            prof__unlock();
        }
        if (!b) return NULL;
        t->deeps = b;
    }
    PROF__STORE(t->deep, t->deep + 1);
    return prof__deep_top(t);
}

PROF__FN void prof__deep_pop(prof__state *t) {
    PROF__STORE(t->deep, t->deep - 1);
    if (t->deep % PROF__DEEPS == 0 && t->deeps->below) t->deeps = t->deeps->below;
}

/* The innermost deep zone, ended at now, goes to its row: its ticks. By its thread, looking, or by
   who ends the session. */
PROF__FN uint64_t prof__deep_put(prof__state *t, uint64_t now, bool unfinished) {
    const prof__deep *d = prof__deep_top(t);
    uint64_t start = (uint64_t)d->frame.epoch << 32 | d->frame.start;
    uint64_t ticks = now - PROF__MIN(start, now);
    prof__tally *r = prof__tally_of(t, d->frame.site);
    prof__tally_put(r, ticks, d->within);
    if (!r->site) prof__count_rowless(t, d->frame.site, 1);
    PROF__BUMP(t->counts.summed, 1);
    PROF__BUMP(t->counts.summed_deep, 1);
    PROF__BUMP(t->counts.summed_open, unfinished);
    PROF__BUMP(t->counts.unfinished, unfinished);
    prof__deep_pop(t);
    if (PROF__LOAD(t->deep)) prof__deep_top(t)->within += ticks;
    return ticks;
}

/* The outermost deep zone ended: its ticks are not those of the zone around it. */
PROF__FN void prof__deep_leave(prof__state *t, uint64_t now, uint64_t ticks) {
    uint32_t depth = (uint32_t)(t->deepest - t->hot.bottom);
    bool room = t->summing || prof__room(t, 4);
    if (t->summing) t->inner[(int32_t)depth - 1] += ticks;
    else if (room) prof__put_long(t, PROF__ZONE64, ticks, now, prof__trace.in_sums << 8 | depth);
    else PROF__BUMP(t->counts.full, 1);
    if (t->summing || !room) return;
    t->epoch = (uint32_t)(now >> 32);
    PROF__STORE(t->clock_end, t->hot.cursor);   /* as in prof__put_zone */
}

/* Ends the innermost deep zone. False: prof_stop has it. */
PROF__FN bool prof__end_deep(prof__state *t, bool unfinished) {
    uint64_t now = prof__state_now(t), ticks;
    uint32_t site;
    if (!prof__look(t)) return false;
    site = prof__deep_top(t)->frame.site;
    prof__sums_open(t);
    if (t->summing) prof__block_add(t, t->hot.cursor);
    ticks = prof__deep_put(t, now, unfinished);
    prof__sums_shut(t);
    if (t->summing) prof__block_emptied(t);
    if (!PROF__LOAD(t->deep)) prof__deep_leave(t, now, ticks);
    prof__looked(t);
    if (t->observed) prof__observe_end(t, site);
    return true;
}

/* Ends those above n. */
PROF__FN bool prof__end_deeps(prof__state *t, uint32_t n) {
    for (; PROF__LOAD(t->deep) > n; PROF__BUMP(t->counts.healed, 1))
        if (!prof__end_deep(t, false)) return false;
    return true;
}

/* How many are open with the zone of this token; 0: it is none of them. */
PROF__FN uint32_t prof__deep_of(const prof__state *t, const prof__frame *token) {
    uint32_t n = PROF__LOAD(t->deep);
    for (const prof__deeps *b = t->deeps; n; b = n % PROF__DEEPS ? b : b->below)
        if (&b->zones[--n % PROF__DEEPS].frame == token - 1) return n + 1;
    return 0;
}

/* A signal handler in the slow path ended a zone around them. */
PROF__FN void prof__deep_check(prof__state *t) {
    if (PROF__LIKELY(!PROF__LOAD(t->deep) || t->hot.top == t->deepest) || !prof__look(t)) return;
    for (; PROF__LOAD(t->deep); PROF__BUMP(t->counts.deep, 1)) prof__deep_pop(t);
    prof__looked(t);
}

/* Is t one of this session's states, though perhaps of an older generation? */
PROF__FN bool prof__in_grid(const prof__state *t) {
    const struct prof_trace *s = &prof__trace;
    uintptr_t offset = (uintptr_t)t - (uintptr_t)s->states;
    return offset < s->max_threads * s->state_size && offset % s->state_size == 0 &&
           t->deepest == t->frames + s->max_depth;
}

/* All of prof__counts is size_t: as an array of them. */
enum { PROF__COUNTS = sizeof(prof__counts) / sizeof(size_t) };

/* Adds a thread's counts, which it may be changing. */
PROF__FN void prof__counts_add(prof__counts *sum, const prof__counts *c) {
    size_t *to = (size_t *)(void *)sum;
    const size_t *from = (const size_t *)(const void *)c;
    for (size_t i = 0; i < PROF__COUNTS; i++) PROF__BUMP(to[i], PROF__LOAD(from[i]));
}

PROF__FN void prof__counts_clear(prof__counts *c) {
    size_t *count = (size_t *)(void *)c;
    for (size_t i = 0; i < PROF__COUNTS; i++) PROF__STORE(count[i], (size_t)0);
}

/* The row of an older generation from which a thread goes on; NULL: it is new. */
PROF__FN const prof__row *prof__row_before(const struct prof_trace *s, uint64_t id) {
    const prof__row *old = NULL;
    const prof__row *r = s->generation == s->first_generation ? NULL : s->rows;
    for (; r; r = r->next) {
        if (r->info.id != id) continue;
        if (r->generation != s->generation) old = r->over ? NULL : r;
        else if (old && old->thread == r->thread) old = NULL;
    }
    return old;
}

/* A free row with an index, or one without; NULL: there is none. */
PROF__FN prof__row *prof__row_again(struct prof_trace *s, bool indexed) {
    prof__row **place = &s->free_rows, *row;
    while (*place && ((*place)->thread != PROF_NONE) != indexed) place = &(*place)->again;
    row = *place;
    if (row) *place = row->again;
    return row;
}

/* A row for the thread, whose index is that of old, or one of its own. A free index goes to no
   thread that has one already; when all else is taken, the thread goes on under a new one. */
PROF__FN prof__row *prof__row_take(struct prof_trace *s, const prof__row *old) {
    prof__row *row = prof__row_again(s, !old);
    if (!row) {
        row = (prof__row *)prof__take_kept(sizeof *row, sizeof row->info + PROF__LANE_SHARE);
        if (row) row->thread = PROF_NONE;
        if (row) row->listed = false;
    }
    if (row && old) row->thread = old->thread;
    if (!row) {
        row = prof__row_again(s, old != NULL);
        old = NULL;
    }
    if (!row) return NULL;
    if (row->thread == PROF_NONE) row->thread = s->thread_count++;
    s->came += !old;
    return row;
}

PROF__FN prof__row *prof__row_add(uint64_t id) {
    static prof__row empty;              /* zeroes */
    struct prof_trace *s = &prof__trace;
    prof__row *row = prof__row_take(s, prof__row_before(s, id));
    uint32_t thread;
    bool listed;
    if (!row) return NULL;
    thread = row->thread;
    listed = row->listed;
    prof__copy_words(row, &empty, offsetof(prof__row, thread));   /* prof_dump may be reading it */
    prof__copy_words(row->name, empty.name, sizeof row->name);
    PROF__STORE(row->announced, 0u);
    prof__copy_words(&row->info.id, &id, sizeof id);
    row->generation = s->generation;
    PROF__STORE(row->number, s->row_number++);
    PROF__STORE(row->thread, thread);
    row->listed = true;
    if (listed) return row;
    row->next = NULL;
    if (s->last_row) PROF__RELEASE(s->last_row->next, row);
    else PROF__RELEASE(s->rows, row);
    s->last_row = row;
    s->row_count++;
    return row;
}

/* The thread of this state ends; the row may be from before a toggle, or another's since. */
PROF__FN void prof__row_over(const prof__state *t) {
    const struct prof_trace *s = &prof__trace;
    if (!s->open || t->generation < s->first_generation || !prof__in_grid(t)) return;
    if (t->row->number == t->number) t->row->over = true;
}

PROF__FN void prof__row_name(prof__row *row, const char *name) {
    size_t n;
    (void)prof__hash(name, &n);
    n = PROF__MIN(n, sizeof row->name - 1);
    while (n && ((unsigned char)name[n] & 0xc0) == 0x80) n--;
    PROF__STORE(row->renames, row->renames + 1);
    PROF__FENCE();                       /* prof_dump may be reading it */
    memcpy(row->name, name, n);
    row->name[n] = 0;
    PROF__RELEASE(row->renames, row->renames + 1);
    PROF__STORE(row->announced, 0u);
}

PROF__FN bool prof__row_open(prof__state *t, uint64_t id) {
    const prof_platform *p = &prof__trace.platform;
    prof__row *row;
    if (!id) id = p->thread_id ? p->thread_id(p->user) : prof__os_thread_id();
    row = prof__row_add(id);
    if (!row) return false;
    if (p->thread_id) row->os_id = prof__os_thread_id();
    PROF__STORE(t->number, row->number);
    PROF__RELEASE(t->row, row);
    return true;
}

/* Empties the shadow stack for a new generation. As many places as zones are open from older ones
   stay below bottom, so that no token of theirs is ever taken for one of ours. */
PROF__FN void prof__stack_reset(prof__state *t, prof__frame *bottom) {
    PROF__RELEASE(t->hot.bottom, bottom);
    PROF__RELEASE(t->hot.top, bottom);
    for (prof__frame *f = t->frames; f <= t->deepest; f++) {   /* stale ends are slow, too */
        f->depth = f < bottom ? 0 : (uint32_t)(f - bottom);
        PROF__STORE(f->site, 0u);
        PROF__STORE(f->start, 0u);
        PROF__STORE(f->epoch, PROF__NEVER);
    }
}

/* Where t is to record: a chunk; NULL: in sums, if *ok. Room for its open zones is promised. Under
   the lock. */
PROF__FN prof__chunk *prof__state_place(prof__state *t, bool *ok) {
    struct prof_trace *s = &prof__trace;
    bool promised = t->promised == s->generation;
    uint32_t slots = promised ? t->slots : s->mode == PROF_MODE_AGGREGATE ? 0 : s->max_depth + 1;
    size_t share = promised ? 0 : prof__state_share(slots);
    prof__chunk *c = NULL;
    *ok = true;
    if (s->mode != PROF_MODE_AGGREGATE && slots && prof__arena_fits(share)) c = prof__chunk_take(t);
    if (c && !prof__arena_fits(share)) {
        prof__chunk_give(t, c->begin, c->limit);
        c = NULL;
    }
    if (!c) {
        if (!promised) share = prof__state_share(slots = 0);
        *ok = s->sums && prof__sums_prepare(t) && prof__arena_room() >= share;
        if (!*ok) return NULL;
    }
    prof__arena.promised += share;
    if (!promised) s->slot_count += slots;
    t->slots = slots;
    t->promised = s->generation;
    if (!c && s->mode == PROF_MODE_TRACE)
        prof__timeline_full(s, prof__now_ticks(s->clock, &s->platform));
    return c;
}

/* Makes t record in the open generation: a chunk or sums, a row (id 0: the thread's). False: the
   arena is full. Under the lock. */
PROF__FN bool prof__state_open(prof__state *t, uint32_t stale, uint64_t id) {
    const struct prof_trace *s = &prof__trace;
    prof__chunk *c;
    bool ok;
    PROF__STORE(t->recording, 0u);
    PROF__STORE(t->summing, false);
    if (!s->regions) t->ring = NULL;
    if (s->regions && !prof__ring_open(t)) return false;
    if (!s->regions && !prof__state_used(t)) prof__state_use(t);
    t->segment = NULL;
    c = prof__state_place(t, &ok);
    if (!ok) return false;
    prof__counts_clear(&t->counts);
    t->parked = false;
    t->spare = NULL;
    t->epoch = 0;
    t->full = false;
    t->skipped = 0;
    while (PROF__LOAD(t->deep)) prof__deep_pop(t);
    t->detail_end = NULL;
    t->last = t->bias = 0;
    t->stack_low = t->stack_high = 0;
    t->generation = s->generation;
    t->reserve = prof__reserve(s->max_depth);
    t->clock = s->clock;
    t->flush = s->flush_inline ? s->flush : NULL;
    t->platform = s->platform;
    t->hooks = prof__hooks_now;
    t->wants = PROF__LOAD(prof__wants);
    t->wide = prof__wide(s);
    t->narrow = false;
    t->observed = prof__observer_count != 0;
    PROF__STORE(t->closed, false);
    PROF__STORE(t->hot.limit, NULL);
    if (!prof__row_open(t, id)) {
        if (c) prof__chunk_give(t, c->begin, c->limit);
        return false;
    }
    if (c) prof__segment_open(t, c);
    else prof__sums_begin(t);
    t->fast = PROF__FAST && s->clock == PROF_CLOCK_CPU && !t->observed && !t->hooks.slots;
    PROF__STORE(t->deepest, t->frames + s->max_depth);
    t->crowd = t->deepest - (s->max_depth + 3) / 4;
    t->origins = (prof__origin *)(void *)(t->deepest + 1);
    t->overlaid = stale > s->max_depth / 2;
    prof__stack_reset(t, t->frames + (t->overlaid ? 0 : stale));
    t->next = prof__owned;
    prof__owned = t;
    PROF__RELEASE(t->recording, t->generation);
    return true;
}

/* Takes a thread's state from it; what is left of its memory is for others, if the arena it is in
   is still the one. Under the lock. */
PROF__FN void prof__state_give(prof__slot *slot, prof__state *t) {
    struct prof_trace *s = &prof__trace;
    prof__state **p = &prof__owned;
    slot->stale = (uint32_t)(t->hot.top - t->frames);
    slot->generation = 1;
    slot->hot = &prof__nowhere;
    while (*p && *p != t) p = &(*p)->next;
    if (*p) *p = t->next;
    if (!s->open || !prof__in_grid(t)) return;
    if (t->generation >= s->first_generation && !t->summing) {
        if (!t->ring) prof__chunk_give(t, t->hot.cursor, t->limit);
        if (t->spare) prof__chunk_give(t, t->spare->begin, t->spare->limit);
    }
    t->next = s->free_states;
    s->free_states = t;
}

/* The lock, when no end of the session is under way: that has the thread's open zones. */
PROF__FN void prof__lock_to_leave(const prof__state *t) {
    const struct prof_trace *s = &prof__trace;
    prof__lock();
    while (s->open && t->generation == s->generation && !t->closed &&
           PROF__LOAD(prof__on) != t->generation) {
        prof__unlock();
        prof__yield();
        prof__lock();
    }
}

/* Gives back what this thread holds. Its open zones end now, if its generation is the open one. */
PROF_API PROF__QUIET void prof_thread_end(void) {
    struct prof_trace *s = &prof__trace;
    prof__slot *slot = prof__slot_get();
    void (*leaves)(void);
    prof__state *t;
    if (!prof__enter(slot)) return;
    leaves = PROF__LOAD(prof__thread_leaves);
    if (leaves) leaves();
    t = prof__slot_state(slot);
    if (&t->hot == &prof__nowhere) {
        prof__leave(slot);
        return;
    }
    if (t->generation == PROF__LOAD(prof__on)) {
        uint64_t now = prof__state_now(t);
        while (PROF__LOAD(t->deep) && prof__end_deep(t, true)) {}
        while (t->hot.top > t->hot.bottom && prof__end_zone(t, now, true)) {}
    }
    prof__lock_to_leave(t);
    prof__row_over(t);
    if (s->open && t->generation == s->generation && !t->closed) {
        prof__cursor_check(t);
        if (t->summing) {
            prof__sums_add_held(t, t->hot.cursor);
            PROF__RELEASE(t->hot.cursor, t->begin);
        } else {
            if (t->segment) PROF__RELEASE(t->segment->end, t->hot.cursor);
            PROF__BUMP(t->counts.slots, (size_t)(t->hot.cursor - t->begin));
        }
        prof__counts_add(&s->counts, &t->counts);
        PROF__STORE(t->row->left, true);
        PROF__STORE(t->recording, 0u);
        if (!t->row->first) prof__row_free(t->row);
    }
    prof__state_give(slot, t);
    prof__unlock();
    prof__leave(slot);
}

/* A free state made to record in the open generation; one whose region threads of earlier sessions
   own is left for later. NULL: there was none; counted. Under the lock. */
PROF__FN prof__state *prof__state_take(uint32_t stale, uint64_t id) {
    struct prof_trace *s = &prof__trace;
    for (prof__state **p = &s->free_states, *t = *p; t; t = *p) {
        prof__state *after = t->next;
        if (prof__state_open(t, stale, id)) {
            *p = after;
            return t;
        }
        if (!s->regions) break;
        p = &t->next;
    }
    if (s->free_states) PROF__BUMP(s->counts.full, 1);
    else PROF__BUMP(s->dropped_threads, 1);
    return NULL;
}

/* Gives the calling thread a state in the open generation. */
PROF__FN prof__state *prof__attach(prof__slot *slot) {
    prof__state *t = NULL;
    prof__hot *hot = slot->hot;
    if (!prof__lock_briefly()) {
        PROF__COUNT(prof__dropped_busy);
        return NULL;
    }
    if (hot != &prof__nowhere) prof__state_give(slot, (prof__state *)(void *)hot);
    if (PROF__LOAD(prof__on)) t = prof__state_take(slot->stale, 0);   /* else prof_toggle came */
    prof__unlock();
    if (!t) return NULL;
    prof__at_thread_exit();
    slot->hot = &t->hot;
    PROF__SIGNAL_FENCE();
    slot->generation = t->generation;
    return t;
}

/* This thread's state in the open generation; made if need be. */
PROF__FN prof__state *prof__state_here(prof__slot *slot) {
    uint32_t on = PROF__LOAD(prof__on);
    prof__state *t;
    if (!on) return NULL;
    if (slot->generation == on) return prof__slot_state(slot);
    if (!prof__enter(slot)) {
        PROF__COUNT(prof__dropped_busy);
        return NULL;
    }
    t = slot->generation == on ? prof__slot_state(slot)   /* by a signal handler, just now */
                               : prof__attach(slot);
    prof__leave(slot);
    return t;
}

/* A call that begins a zone: from where, and the frame pointer there (its own frame may be gone
   when the stack is read). */
#if defined(__GNUC__) && !defined(__TINYC__)
#  define PROF__ENTRY __attribute__((noinline)) PROF__QUIET
PROF__FN prof__entry_frame prof__entry_of(const void *returns, const void *frame, void *stack) {
    prof__entry_frame e = { returns, frame, 0 };
    e.stack = (uintptr_t)stack;
    return e;
}
#  if PROF__FRAMES
#    define PROF__ENTRY_AT(stack) \
    prof__entry_of(__builtin_return_address(0), *(const void **)__builtin_frame_address(0), stack)
#  else
#    define PROF__ENTRY_AT(stack) prof__entry_of(__builtin_return_address(0), NULL, stack)
#  endif
#  if PROF__LEAVES
#    define PROF__ENTRY_FRAME() PROF__ENTRY_AT(__builtin_dwarf_cfa())
#  else
#    define PROF__ENTRY_FRAME() PROF__ENTRY_AT(NULL)
#  endif
#else
#  define PROF__ENTRY PROF__QUIET
static const prof__entry_frame prof__entry_none = { NULL, NULL, 0 };
#  define PROF__ENTRY_AT(stack) prof__entry_none
#  define PROF__ENTRY_FRAME() prof__entry_none
#endif

PROF__FN void prof__origin_set(prof__state *t, const prof__frame *f, uint32_t kind,
                               prof__entry_frame entry, uintptr_t function) {
    prof__origin *o = prof__origin_of(t, f);
    o->stack = entry.stack;
    o->returns = (uintptr_t)entry.returns;
    o->function = function;
    o->site_kind = f->site | kind;
    o->start = f->start;
}

#if PROF__LEAVES
PROF__FN bool prof__stack_find(prof__state *t, uintptr_t at);

/* Do both lie in the stack that the thread is on? */
PROF__FN bool prof__on_one_stack(prof__state *t, uintptr_t here, uintptr_t there) {
    if ((here < t->stack_low || here >= t->stack_high) && !prof__stack_find(t, here)) return false;
    return there >= t->stack_low && there < t->stack_high;
}

/* Has longjmp left the zone of frame f? Blocks and functions that began deeper in the stack than
   here are over; so is what began from here: by the same instruction in the same stack frame. */
PROF__FN bool prof__is_left(prof__state *t, const prof__frame *f, prof__entry_frame here) {
    const prof__origin *o = prof__origin_of(t, f);
    if (!o || (o->site_kind ^ f->site) - 1 >= PROF__BY_FUNCTION) return false;
    if (o->start != f->start || !o->stack || o->stack > here.stack) return false;
    if (o->stack == here.stack && o->returns != (uintptr_t)here.returns) return false;
    return prof__on_one_stack(t, here.stack, o->stack);
}

/* The innermost deep zone, if it has been left. False: none has, or the session is over. */
PROF__FN bool prof__heal_deep(prof__state *t, prof__entry_frame here) {
    bool left;
    if (!PROF__LOAD(t->deep) || !prof__look(t)) return false;
    left = prof__is_left(t, &prof__deep_top(t)->frame, here) && prof__end_deeps(t, t->deep - 1);
    prof__looked(t);
    return left;
}

/* A thread with many open zones begins one more: ends those that longjmp has left on top. */
PROF__FN void prof__heal(prof__state *t, prof__entry_frame here) {
    while (prof__heal_deep(t, here)) {}
    while (!PROF__LOAD(t->deep) && t->hot.top > t->crowd &&
           prof__is_left(t, t->hot.top - 1, here)) {
        if (!prof__end_zone(t, prof__state_now(t), false)) return;
        PROF__BUMP(t->counts.healed, 1);
    }
}
#else
#  define prof__heal(t, here) ((void)0)
#endif

/* Counts what is no zone and dropped for want of a site. */
PROF__FN void prof__count_siteless(prof__state *t, uint32_t why) {
    if (why <= PROF__NO_NAME) PROF__BUMP(t->counts.sites, 1);
    else if (why == PROF__NO_ROOM) PROF__BUMP(t->counts.full, 1);
    else PROF__COUNT(prof__dropped_busy);
}

/* Begins a zone where max_depth are open; why: its site was asked for. */
PROF__FN prof__frame *prof__open_deep(prof__state *t, uint32_t site, uint32_t why, bool token,
                                      prof__entry_frame entry) {
    prof__deep *d = NULL;
    uint64_t now;
    if (!t->skipped && prof__look(t)) {
        d = prof__deep_push(t);
        now = prof__state_now(t);
        if (d) {
            d->frame.site = site;
            d->frame.epoch = (uint32_t)(now >> 32);
            d->frame.start = (uint32_t)now;
            d->within = 0;
            prof__origin_set(t, &d->frame, token ? PROF__BY_SCOPE : PROF__BY_CALL, entry, 0);
        }
        prof__looked(t);
    }
    if (!d) return prof__skip(t, &t->counts.deep, token);
    if (why <= PROF__NO_LOCK) PROF__BUMP(t->counts.others[why], 1);
    if (t->observed) prof__observe_begin(t, site);
    return &d->frame + 1;
}

PROF__FN prof__frame *prof__open_zone(prof__state *t, uint32_t site, bool token,
                                      prof__entry_frame entry) {
    prof__frame *f = t->hot.top;
    uint32_t why = site;
    uint64_t now;
    if (site <= PROF__NO_LOCK) site = PROF__LOAD(prof__others_site) << 8;
    if (!site) return prof__skip(t, NULL, token);
    if (f > t->crowd) prof__heal(t, entry);
    f = t->hot.top;
    if (f == t->deepest) return prof__open_deep(t, site, why, token, entry);
    if (t->skipped || !prof__room(t, 4 + t->hooks.slots)) {
        t->full = true;
        return prof__skip(t, &t->counts.full, token);
    }
    if (why <= PROF__NO_LOCK) PROF__BUMP(t->counts.others[why], 1);
    if (t->hooks.begin && prof__look(t)) {
        t->hooks.begin(t, f, entry);
        prof__looked(t);
    }
    now = prof__state_now(t);
    if (now >> 32 != t->epoch) {
        t->epoch = (uint32_t)(now >> 32);
        prof__put_clock(t);
    }
    PROF__ASSERT(t->spare || (size_t)(t->limit - t->hot.cursor) >=
                                 prof__reserve((uint32_t)(f - t->hot.bottom)));
    t->full = false;
    PROF__STORE(f->epoch, t->epoch);
    PROF__STORE(t->hot.top, f + 1);
    PROF__STORE(f->site, site);
    PROF__RELEASE(f->start, (uint32_t)now);
    if (f >= t->crowd)
        prof__origin_set(t, f, token ? PROF__BY_SCOPE : PROF__BY_CALL, entry, 0);
    if (t->observed) prof__observe_begin(t, site);
    return f + 1;
}

/* The begins that a thread dropped in this generation while it had no state. Ends of older ones are
   ends of nothing that this session knows. */
PROF__FN uint32_t *prof__skipped_here(prof__slot *slot) {
    uint32_t on = PROF__LOAD(prof__on);
    if (slot->skipped_in != on) slot->skipped = 0;
    slot->skipped_in = on;
    return &slot->skipped;
}

/* Counts the begin that a thread without a state, or a signal handler in the slow path, drops. The
   end of the latter must not find the hot path open: it is, at the slow path's two ends. */
PROF__FN void prof__skip_here(prof__slot *slot, bool token) {
    if (token) return;
    if (!slot->busy) {
        ++*prof__skipped_here(slot);
        return;
    }
    slot->busy++;
    if (slot->generation == PROF__LOAD(prof__on)) PROF__STORE(slot->hot->limit, NULL);
}

/* Begins a zone of site (shifted by 8, or why there is none), which the hot path could not. */
PROF__FN prof__frame *prof__begin_site(uint32_t site, bool token, prof__entry_frame entry) {
    prof__slot *slot = prof__slot_get();
    prof__frame *opened;
    if (!prof__enter(slot)) {
        PROF__COUNT(prof__dropped_busy);
        prof__skip_here(slot, token);
        return NULL;
    }
    prof__deep_check(prof__slot_state(slot));
    opened = prof__open_zone(prof__slot_state(slot), site, token, entry);
    prof__leave(slot);
    return opened;
}

/* The number of a name that the session knows; 0: not yet. */
PROF__FN uint32_t prof__name_find(prof__state *t, const char *name, size_t length, uint32_t hash) {
    uint32_t number = 0;
    if (!prof__look(t)) return 0;
    if (PROF__ACQUIRE(prof__names.index))
        number = PROF__ACQUIRE(*prof__name_place(name, length, hash));
    prof__looked(t);
    return number;
}

/* The site of a run-time name, shifted by 8; or why there is none. */
PROF__FN uint32_t prof__intern(prof__state *t, const char *name) {
    size_t length;
    uint32_t hash, number, why;
    if (!name) name = "(null)";
    hash = prof__hash(name, &length);
    number = prof__name_find(t, name, length, hash);
    if (!number && (why = prof__name_refused(length)) != PROF__NOS) return why;
    why = PROF__NO_LOCK;
    if (!number && prof__lock_briefly()) {
        if (PROF__LOAD(prof__on) == t->generation) number = prof__name_add(name, length, hash);
        if (number && name[length]) prof__names_cut++;
        why = prof__no_site;
        prof__unlock();
    }
    return number ? (PROF__PUSHED + number - 1) << 8 : why;
}

/* The mark's site, shifted by 8, registered if need be; or why there is none. */
PROF__FN uint32_t prof__mark_resolve(prof__mark *mark) {
    uint32_t id = PROF__LOAD(mark->id);
    if (id) return id;
    if (!prof__lock_briefly()) return PROF__NO_LOCK;
    id = prof__site_id(prof__site_add(mark->site, false));
    prof__unlock();
    if (id > PROF__NO_LOCK) PROF__STORE(mark->id, id);
    return id;
}

/* This thread's state; NULL and the begin counted when there is none. */
PROF__FN prof__state *prof__state_to_begin(bool token) {
    prof__slot *slot = prof__slot_get();
    prof__state *t = prof__state_here(slot);
    if (!t && PROF__LOAD(prof__on)) prof__skip_here(slot, token);
    return t;
}

PROF_API PROF__ENTRY prof__frame *prof__begin(prof__mark *mark, bool token) {
    prof__state *t = prof__state_to_begin(token);
    return t ? prof__begin_site(prof__mark_resolve(mark), token, PROF__ENTRY_FRAME()) : NULL;
}

PROF__INLINE prof__frame *prof__push_from(const char *name, bool token, prof__entry_frame entry) {
    prof__state *t = prof__state_to_begin(token);
    uint32_t site;
    if (!t) return NULL;
    site = prof__intern(t, name);
#if PROF__FAST
    if (PROF__LIKELY(site > PROF__NO_LOCK)) {
        prof__frame *opened = prof__frame_open(&t->hot, site);
        if (PROF__LIKELY(opened != NULL)) return opened;
    }
#endif
    return prof__begin_site(site, token, entry);
}

PROF_API PROF__ENTRY void prof_push(const char *name) {
    (void)prof__push_from(name, false, PROF__ENTRY_FRAME());
}

#define prof__name_was_cut() PROF__COUNT(prof__formats_cut)
#define prof__push_text(name) ((void)prof__push_from(name, false, PROF__ENTRY_AT(NULL)))
#define prof__push_token(name) prof__push_from(name, true, PROF__ENTRY_AT(NULL))

/* An end whose zone began before this generation: takes its frame, and all above it, off the
   stack. */
PROF__FN void prof__end_stale(prof__state *t, prof__frame *frame) {
    PROF__BUMP(t->counts.cut, 1);
    prof__stack_reset(t, frame);
}

/* The same for a thread that has no state in the open generation. */
PROF__FN void prof__end_elsewhere(prof__slot *slot, prof__frame *token) {
    prof__hot *hot = slot->hot;
    prof__state *t = (prof__state *)(void *)hot;
    if (!token && *prof__skipped_here(slot)) {
        slot->skipped--;
        return;
    }
    if (PROF__LOAD(prof__on)) PROF__COUNT(prof__cut);
    if (hot == &prof__nowhere) {
        if (slot->stale) slot->stale--;
    } else if (PROF__ACQUIRE(t->closed)) {
        if (!token) token = t->hot.top;
        if (token > t->frames && token <= t->hot.top) PROF__RELEASE(t->hot.top, token - 1);
    }
}

/* The same in a signal handler that interrupted the slow path. */
PROF__FN void prof__end_busy(prof__slot *slot, prof__frame *token) {
    prof__hot *hot = slot->hot;
    uint32_t busy = PROF__LOAD(slot->busy);   /* once: a handler may end a zone in between, too */
    if (!token && busy > 1) {
        PROF__STORE(slot->busy, busy - 1);
        return;
    }
    if (!token) token = hot->top;
    if (token <= hot->bottom || token > hot->top) return;
    PROF__COUNT(prof__dropped_busy);
    PROF__STORE(hot->top, token - 1);    /* deep zones: prof__deep_check */
}

/* An end with a token, in the open generation. A token that is not of a zone open now may be an
   older one's; where too many were open then, that cannot be told. */
PROF__FN void prof__end_here(prof__state *t, prof__frame *token) {
    uint32_t deep = 0;
    if (PROF__LOAD(t->deep) && prof__look(t)) {
        deep = prof__deep_of(t, token);
        prof__looked(t);
    }
    if (deep) {
        if (prof__end_deeps(t, deep)) (void)prof__end_deep(t, false);
        return;
    }
    if (token <= t->frames || token > t->hot.top) {
        bool ended = token > t->frames && token <= t->deepest && !t->overlaid;
        size_t *count = ended ? &t->counts.unbalanced : &t->counts.cut;
        PROF__BUMP(*count, 1);
        return;
    }
    if (!prof__end_deeps(t, 0)) return;
    for (; t->hot.top > token && t->hot.top > t->hot.bottom; PROF__BUMP(t->counts.healed, 1))
        if (!prof__end_zone(t, prof__state_now(t), false)) return;
    if (token > t->hot.bottom) (void)prof__end_zone(t, prof__state_now(t), false);
    else prof__end_stale(t, token - 1);
}

/* And one without. */
PROF__FN void prof__end_top_here(prof__slot *slot, prof__state *t) {
    if (t->skipped) t->skipped--;
    else if (PROF__LOAD(t->deep)) (void)prof__end_deep(t, false);
    else if (t->hot.top > t->hot.bottom) (void)prof__end_zone(t, prof__state_now(t), false);
    else if (t->hot.bottom > t->frames) prof__end_stale(t, t->hot.bottom - 1);
    else if (*prof__skipped_here(slot)) slot->skipped--;
    else PROF__BUMP(t->counts.cut, 1);
}

/* Ends the zone of token, or the innermost one. */
PROF__FN void prof__end_any(prof__frame *token) {
    prof__slot *slot = prof__slot_get();
    prof__state *t;
    if (!prof__enter(slot)) {
        prof__end_busy(slot, token);
        return;
    }
    t = prof__slot_state(slot);
    if (slot->generation == PROF__LOAD(prof__on)) prof__deep_check(t);
    if (slot->generation != PROF__LOAD(prof__on)) prof__end_elsewhere(slot, token);
    else if (token) prof__end_here(t, token);
    else prof__end_top_here(slot, t);
    prof__leave(slot);
}

PROF_API PROF__QUIET void prof__end(prof__frame *token) {
    if (token) prof__end_any(token);
}

PROF_API PROF__QUIET void prof__end_top(void) {
    if (PROF__LOAD(prof__on)) prof__end_any(NULL);
}

PROF_API PROF__QUIET void prof_pop(void) { prof__end_top_inline(); }

/* A thread that has no state yet is known by its slot. */
PROF_API PROF__QUIET prof_place prof_mark(void) {
    prof__slot *slot = prof__slot_get();
    const prof__state *t = prof__slot_state(slot);
    prof_place mark = { (uintptr_t)slot, 0, 0, 0 };
    mark.generation = PROF__LOAD(prof__on);
    if (slot->generation == mark.generation) {
        mark.thread = t->number;
        mark.zones = (uint32_t)(PROF__LOAD(t->hot.top) - t->frames) + PROF__LOAD(t->deep);
        mark.dropped = t->skipped;
    } else if (mark.generation) {
        mark.dropped = *prof__skipped_here(slot);
    }
    return mark;
}

/* Ends what was begun after the mark: all zones but so many. The ends of begins dropped since do
   not come either. */
PROF__FN void prof__unwind_to(prof__state *t, size_t zones, uint32_t dropped) {
    size_t frames = (size_t)(t->deepest - t->frames);
    prof__frame *top = t->frames + PROF__MIN(zones, frames);
    t->skipped = PROF__MIN(t->skipped, dropped);
    if (!prof__end_deeps(t, (uint32_t)(zones - PROF__MIN(zones, frames)))) return;
    for (; t->hot.top > top; PROF__BUMP(t->counts.healed, 1))
        if (!prof__end_zone(t, prof__state_now(t), false)) return;
}

PROF__FN void prof__unwind_here(prof__slot *slot, prof__state *t, const prof_place *mark) {
    bool here = mark->generation == t->generation && mark->thread == t->number;
    size_t open = (size_t)(t->hot.top - t->frames) + PROF__LOAD(t->deep);
    size_t old = (size_t)(t->hot.bottom - t->frames);
    if (mark->generation == t->generation && mark->thread == (uintptr_t)slot)
        prof__unwind_to(t, old, 0);
    else if (here && mark->zones >= old && mark->zones <= open)
        prof__unwind_to(t, mark->zones, mark->dropped);
    else
        PROF__BUMP(t->counts.unbalanced, 1);
}

PROF_API PROF__QUIET void prof_unwind(prof_place mark) {
    prof__slot *slot = prof__slot_get();
    uint32_t on = PROF__LOAD(prof__on), *skipped;
    if (!on || !mark.generation) return;
    if (!prof__enter(slot)) {
        PROF__COUNT(prof__dropped_busy);
        return;
    }
    if (slot->generation == on) {
        prof__unwind_here(slot, prof__slot_state(slot), &mark);
    } else if (mark.generation == on && mark.thread == (uintptr_t)slot) {
        skipped = prof__skipped_here(slot);
        *skipped = PROF__MIN(*skipped, mark.dropped);
    } else {
        PROF__COUNT(prof__cut);
    }
    prof__leave(slot);
}

/* In sums. Who ends the session has the counts of its threads then. */
PROF__FN void prof__count_not_kept(prof__state *t) {
    if (!prof__look(t)) return;
    PROF__BUMP(t->counts.not_kept, 1);
    prof__looked(t);
}

/* A record of two slots; dropped and counted when it would take the room of open zones. */
PROF__FN void prof__put_moment(uint32_t kind, const char *name, uint64_t value) {
    prof__slot *slot = prof__slot_get();
    prof__state *t = prof__state_here(slot);
    uint32_t site = t ? prof__intern(t, name) : 0;
    if (!t) return;
    if (!prof__enter(slot)) {
        PROF__COUNT(prof__dropped_busy);
        return;
    }
    t = prof__slot_state(slot);
    if (t->summing) prof__count_not_kept(t);
    else if (site <= PROF__NO_LOCK) prof__count_siteless(t, site);
    else if (!prof__room(t, kind == PROF__INSTANT ? 2 : 3)) PROF__BUMP(t->counts.full, 1);
    else prof__put_long(t, kind, prof__state_now(t), value, site | 255u);
    if (site > PROF__NO_LOCK && t->observed) prof__observe_moment(t, kind, site >> 8, value);
    prof__leave(slot);
}

PROF_API PROF__QUIET void prof_instant(const char *name) {
    prof__put_moment(PROF__INSTANT, name, 0);
}

PROF_API PROF__QUIET void prof_counter(const char *name, int64_t value) {
    prof__put_moment(PROF__COUNTER, name, (uint64_t)value);
}

PROF_API PROF__QUIET void prof_counter_f(const char *name, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    prof__put_moment(PROF__REAL, name, bits);
}

/* Room for the event that a step becomes. */
PROF__FN bool prof__step_promise(void) {
    bool fits;
    if (prof__trace.records_only) return true;
    if (!prof__lock_briefly()) return false;
    fits = prof__arena_fits(PROF__STEP_SHARE);
    if (fits) prof__arena.promised += PROF__STEP_SHARE;
    prof__unlock();
    return fits;
}

/* Three slots for a step that ends now: {start}{end}{number}. */
PROF__FN void prof__put_step(uint64_t start, uint64_t number) {
    prof__slot *slot = prof__slot_get();
    prof__state *t = prof__state_here(slot);
    prof__record *c;
    if (!t || !prof__enter(slot)) return;
    if (t->summing || !prof__room(t, 4) || t->summing || !prof__step_promise()) {
        if (t->summing) prof__count_not_kept(t);
        else PROF__BUMP(t->counts.full, 1);
        prof__leave(slot);
        return;
    }
    c = t->hot.cursor;
    prof__record_set(c, start, (uint32_t)PROF__STEP << 8 | 2);
    prof__record_set(c + 1, prof__state_now(t), 255);
    prof__record_set(c + 2, number, 255);
    PROF__BUMP(t->counts.extra, 3);
    PROF__RELEASE(t->hot.cursor, c + 3);
    prof__leave(slot);
}

PROF_API PROF__QUIET void prof_set_thread_name(const char *name) {
    prof__state *t = prof__state_here(prof__slot_get());
    if (!t || !prof__lock_briefly()) return;
    if (t->generation == PROF__LOAD(prof__on)) prof__row_name(t->row, name ? name : "");
    prof__unlock();
}

#define prof__context_name(row) ((void)0)
#define prof__rows_unused(s) ((s)->free_rows)
#define prof__row_again_of(row) ((row)->again)
PROF_API PROF__QUIET void prof_tick(void) {}
#endif /* !PROF__BARE */

/* ---- @TARGET: the recorder of freestanding builds: interrupts, no threads ---- */

#if PROF__BARE
/* Begin and end are written for their number of instructions. They test two things: has the mark a
   site and the stack room, is the token that of the innermost zone and has the chunk room. All
   that is rare comes to the slow path through these: prof__contexts then holds &prof__nowhere,
   which passes neither. That is so while the context has no state yet or begins are dropped, with
   the caller's clock, and once each half wrap of the clock, so that the slow path sees it.
   The slow path masks interrupts. */

struct prof__frame {                     /* an open zone */
    uint32_t start, site_depth;
    uint16_t above;                      /* 256 + depth, what a mark's id lacks; 0: no frame */
    uint16_t epoch;                      /* of start: half wraps of the clock */
};

typedef struct prof__hot {
    prof__frame *top;                    /* one past the innermost open zone */
    prof__record *cursor;                /* everything below is written */
    prof__record *limit;
} prof__hot;

typedef struct prof__state {
    prof__hot hot;                       /* must be first */
    prof__record *end;                   /* of the chunk; limit leaves room for open zones */
    prof__segment *spare;                /* the next chunk, taken before this one ends */
    prof__segment *segment;
    const prof__record *known;           /* records from here on are the hot path's */
    uint64_t known_time;                 /* no later than their ends */
    uint16_t epoch, skipped;             /* skipped: begins dropped whose ends are to come */
    uint32_t written;                    /* slots, by the stream or the dump */
    prof__row row;
    prof__frame none, frames[1];         /* max_depth + 1: the last is none, too */
} prof__state;

PROF__FN size_t prof__state_size(size_t depth) {
    return prof__align(sizeof(prof__state) + depth * sizeof(prof__frame));
}

PROF__FN prof__state *prof__row_state(const prof__row *row) {
    return (prof__state *)((uintptr_t)row - offsetof(prof__state, row));
}

/* PROF_MODE_AGGREGATE: by depth, ticks of what ended within the zone around. */
PROF__FN uint64_t *prof__state_inner(prof__state *t) {
    return (uint64_t *)(void *)((char *)t + prof__state_size(prof__trace.max_depth));
}

static prof__frame prof__no_frames[2];
static prof__hot prof__nowhere = { &prof__no_frames[1], NULL, NULL };
static prof__hot *volatile prof__contexts[PROF_MAX_CONTEXTS + 1];   /* the last is nobody's */

PROF__INLINE prof__hot *prof__here(void) { return prof__contexts[PROF__CONTEXT_INDEX()]; }

PROF__INLINE uintptr_t prof__lock(void) {
    const prof__hooks *h = prof__trace.hooks;
    return h ? h->lock() : prof__mask();
}

PROF__INLINE void prof__unlock(uintptr_t state) {
    const prof__hooks *h = prof__trace.hooks;
    if (h) h->unlock(state);
    else prof__unmask(state);
}

/* All to the slow path. */
PROF__FN void prof__disarm(void) {
    for (uint32_t i = 0; i <= PROF_MAX_CONTEXTS; i++) prof__contexts[i] = &prof__nowhere;
}

/* Sets the session's time, 64 bits, by the chip's clock. */
PROF__INLINE void prof__advance(void) {
    prof__trace.time += (uint32_t)(prof__clock() - (uint32_t)prof__trace.time);
}

/* Sets the clock going, and time by it; false: there is none that would do. */
PROF__FN bool prof__chip_open(void) {
    prof__trace.clock = PROF_CLOCK_CPU;
    if (!prof__clock_open()) return false;
    prof__trace.time = prof__clock();
    return true;
}

/* Sets the session's time. t: a context, or NULL. Where nobody calls prof_tick, the clock may have
   wrapped since it was last read: the zones that the hot path recorded there tell. */
PROF__FN void prof__time_in(const prof__state *t) {
    struct prof_trace *s = &prof__trace;
    uint64_t before = s->time, time;
    if (t && !s->ticked) {
        const prof__record *c = t->known, *end = t->hot.cursor;
        time = t->known_time;
        if (c < end) do time += c->end - (uint32_t)time; while (++c < end);
        if (time > before) s->time = time;
    }
    if (s->hooks) s->hooks->advance();
    else prof__advance();
    if ((s->time ^ before) >> 31) prof__disarm();
}

PROF__FN void prof__put(prof__state *t, uint32_t a, uint32_t b, uint32_t site_depth) {
    prof__record *c = t->hot.cursor;
    c->end = a;
    c->duration = b;
    c->site_depth = site_depth;
    PROF__BARRIER();
    t->hot.cursor = c + 1;
}

/* Two slots, both written before either is published. */
PROF__FN void prof__put_long(prof__state *t, uint32_t kind, uint64_t a, uint64_t b, uint32_t word) {
    prof__record *c = t->hot.cursor;
    c[0].end = (uint32_t)a;
    c[0].duration = (uint32_t)(a >> 32);
    c[0].site_depth = kind << 8 | 1;
    c[1].end = (uint32_t)b;
    c[1].duration = (uint32_t)(b >> 32);
    c[1].site_depth = word;
    PROF__BARRIER();
    t->hot.cursor = c + 2;
}

/* The whole time: what the ends after it are counted from. */
PROF__FN void prof__put_clock(prof__state *t) {
    uint64_t time = prof__trace.time;
    prof__put(t, (uint32_t)(time >> 32), (uint32_t)time, (uint32_t)PROF__CLOCK << 8);
}

/* Of a chunk: each zone that is open may need a record of two slots, or one and the clock; a call
   that begins none takes three, and the reserve lets the hot path do without asking. */
#define PROF__RESERVE(open) (2 * (open) + 4)
#define PROF__CALL_SLOTS 3
#define PROF__WORK_SLOTS 12              /* beside those kept for max_depth zones */
PROF__FN size_t prof__open_zones(const prof__state *t) { return (size_t)(t->hot.top - t->frames); }

/* A new chunk; NULL: full. */
PROF__FN void *prof__chunk_new(void) {
    const prof__plan *p = &prof__trace.plan;
    prof__segment *g = (prof__segment *)prof__take(p->chunk, p->chunk_more);
    if (!g) return NULL;
    g->begin = (prof__record *)(void *)(g + 1);
    g->limit = (prof__record *)(void *)((char *)g + p->chunk);
    return g;
}

/* Goes on writing in the spare chunk. */
PROF__FN void prof__chunk_open(prof__state *t) {
    prof__segment *g = t->spare;
    if (t->segment) {
        t->segment->end = t->hot.cursor;
        t->segment->next = g;
    } else {
        t->row.first = g;
    }
    t->segment = g;
    t->spare = g->next = NULL;
    g->position = 0;
    g->end = NULL;
    g->flushed = t->hot.cursor = g->begin;
    t->end = g->limit;
    t->hot.limit = (prof__record *)(void *)((char *)t->end - prof__trace.reserve);
    prof__put_clock(t);
}

/* Room for one call's records, beside those kept for open zones. While the cursor is below the
   limit there is. */
PROF__FN bool prof__room(prof__state *t) {
    const prof__parts *parts = prof__trace.parts;
    if (!t->spare && t->hot.cursor >= t->hot.limit) {
        t->spare = (prof__segment *)(parts && parts->chunk ? parts->chunk(t) : prof__chunk_new());
        t->hot.limit = t->spare ? t->end : t->hot.limit;
    }
    if (!t->spare)
        return t->hot.cursor + PROF__RESERVE(prof__open_zones(t)) + PROF__CALL_SLOTS <= t->end;
    if (t->hot.cursor + PROF__CALL_SLOTS > t->end) prof__chunk_open(t);
    return true;
}

/* In a new half wrap of the clock: the frames not in use are of it from now on. */
PROF__FN void prof__new_epoch(prof__state *t) {
    uint16_t epoch = (uint16_t)(prof__trace.time >> 31);
    if (t->epoch == epoch) return;
    t->epoch = epoch;
    for (prof__frame *f = t->hot.top; f->above; f++) f->epoch = epoch;
    prof__put_clock(t);
}

PROF__FN prof__state *prof__state_make(uint32_t context) {
    struct prof_trace *s = &prof__trace;
    prof__state *t = NULL;
    if (context < PROF_MAX_CONTEXTS && s->row_count <= s->max_threads - 1u)   /* 0: any number */
        t = (prof__state *)prof__take(s->plan.state, s->plan.state_more);
    if (!t) {
        s->dropped_threads++;
        return NULL;
    }
    memset(t, 0, s->plan.state);
    t->hot.top = t->frames;
    for (uint32_t i = 0; i < s->max_depth; i++) t->frames[i].above = (uint16_t)(256u + i);
    t->row.info.id = context;
    t->row.thread = t->row.number = s->row_count;
    s->thread_count = ++s->row_count;
    t->epoch = (uint16_t)~(s->time >> 31);   /* not this one: so that all frames get it */
    return t;
}

/* The slow path begins: interrupts are out until prof__leave. The state of this context; made, if
   make. NULL: nothing is recorded, or there is none. */
PROF__FN prof__state *prof__enter(bool make) {
    struct prof_trace *s = &prof__trace;
    prof__row **row = &s->rows;
    prof__state *t;
    uintptr_t masked;
    uint32_t context;
    if (s->hooks) {
        masked = s->hooks->lock();
        context = s->hooks->context();
    } else {
        masked = prof__mask();
        context = PROF_CONTEXT();
    }
    s->masked = masked;
    if (!s->open) return NULL;
    while (*row && (uint32_t)(*row)->info.id != context) row = &(*row)->next;
    if (!*row) {
        t = make ? prof__state_make(context) : NULL;
        if (!t) return NULL;
        *row = &t->row;
    }
    t = prof__row_state(*row);
    prof__time_in(t);
    return t;
}

/* And ends: the hot path may work in t, or not. */
PROF__FN void prof__leave(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    if (t) {
        prof__hot *hot = &t->hot;
        t->known = t->hot.cursor;
        t->known_time = s->time;
        if (s->slow || t->skipped || t->hot.cursor >= t->hot.limit ||
            (s->ticked && s->ticked(t, NULL)))
            hot = &prof__nowhere;
        prof__contexts[t->row.info.id] = hot;
    }
    prof__unlock(s->masked);
}

/* Begins a zone, if it can, and leaves. */
PROF__FN prof__frame *prof__begun(prof__state *t, uint32_t site) {
    struct prof_trace *s = &prof__trace;
    prof__frame *f = t ? t->hot.top : NULL;
    if (t && site && f->above && !t->skipped && prof__room(t)) {
        prof__new_epoch(t);
        f->start = (uint32_t)s->time;
        f->site_depth = site + f->above;
        t->hot.top = ++f;
    } else if (t) {
        if (!site) s->counts.sites++;
        else if (!f->above) s->counts.deep++;
        else s->counts.full++;
        f = NULL;
    }
    prof__leave(t);
    return f;
}

/* The mark's site as marks hold it; registered if need be. 0: no room. */
PROF__FN uint32_t prof__mark_resolve(prof__mark *mark) {
    uint32_t number = mark->id ? 0 : prof__site_add(mark->site, prof__site_count);
    if (number) {
        prof__site_count++;
        mark->id = (number - 1) << 8;
    }
    return mark->id;
}

PROF__RARE(prof__frame *) prof__begin_slow(prof__mark *mark) {
    prof__state *t = prof__enter(true);
    return prof__begun(t, t ? prof__mark_resolve(mark) : 0);
}

PROF_API PROF__QUIET prof__frame *prof__begin(prof__mark *mark) {
    uintptr_t mask = PROF__HOT_MASK();
    prof__hot *t = prof__here();
    uint32_t site = mark->id;
    prof__frame *f = t->top;
    if (site && f->above) {              /* no hints: with -Os they cost instructions */
        site += f->above;
        t->top = f + 1;
        f->start = prof__clock();
        f->site_depth = site;
        PROF__HOT_UNMASK(mask);
        return f + 1;
    }
    PROF__HOT_UNMASK(mask);
    return prof__begin_slow(mark);
}

PROF_API PROF__QUIET void prof__begin_dropped(void) {
    prof__state *t = prof__enter(false);
    if (t) t->skipped++;
    prof__leave(t);
}

/* Writes the innermost zone, ended now. Room for it was kept. */
PROF__FN void prof__end_zone(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    prof__frame *f = t->hot.top - 1;
    uint32_t now = (uint32_t)s->time;
    (void)prof__room(t);
    prof__new_epoch(t);
    if (!s->ticked || !s->ticked(t, f)) prof__put(t, now, now - f->start, f->site_depth);
    f->epoch = t->epoch;
    t->hot.top = f;
}

/* token NULL: the innermost zone. */
PROF__RARE(void) prof__end_slow(prof__frame *token) {
    prof__state *t = prof__enter(false);
    prof__counts *counts = &prof__trace.counts;
    if (!t) {
        if (prof__trace.open) counts->cut++;
    } else if (!token && t->skipped) {
        t->skipped--;
    } else {
        if (!token) token = t->hot.top;
        if (token <= t->frames) {
            counts->cut++;
        } else if (token > t->hot.top) {
            counts->unbalanced++;
        } else {
            for (; t->hot.top > token; counts->healed++) prof__end_zone(t);
            prof__end_zone(t);
        }
    }
    prof__leave(t);
}

/* False: the slow path must. */
PROF__INLINE bool prof__end_hot(prof__hot *t, prof__frame *f, bool innermost) {
    uint32_t now = prof__clock(), start, site_depth;
    prof__record *c = t->cursor;
    if (PROF__UNLIKELY(!innermost) || PROF__UNLIKELY(c >= t->limit)) return false;
    start = f->start;
    site_depth = f->site_depth;
    start = now - start;
    c->end = now;
    c->duration = start;
    c->site_depth = site_depth;
    c++;
    PROF__BARRIER_WITH(c);               /* stores side by side: two in one instruction */
    t->top = f;
    t->cursor = c;
    return true;
}

PROF_API PROF__QUIET void prof__end(prof__frame *token) {
    uintptr_t mask = PROF__HOT_MASK();
    prof__hot *t = prof__here();
    bool done = prof__end_hot(t, token - 1, t->top == token);
    PROF__HOT_UNMASK(mask);
    if (PROF__UNLIKELY(!done)) prof__end_slow(token);
}

PROF_API PROF__QUIET void prof__end_top(void) {
    uintptr_t mask = PROF__HOT_MASK();
    prof__hot *t = prof__here();
    prof__frame *f = t->top - 1;
    bool done = prof__end_hot(t, f, f->above != 0);
    PROF__HOT_UNMASK(mask);
    if (PROF__UNLIKELY(!done)) prof__end_slow(NULL);
}

PROF_API PROF__QUIET void prof_push(const char *name) {
    prof__state *t = prof__enter(true);
    uint32_t site = t ? prof__name_add(name) : 0;
    if (!prof__begun(t, site ? (site - 1) << 8 : 0)) prof__begin_dropped();
}

PROF_API PROF__QUIET void prof_pop(void) { prof__end_top_inline(); }

/* A record of two slots; dropped and counted when it would take the room of open zones. */
PROF__FN void prof__put_moment(uint32_t kind, const char *name, int64_t value) {
    prof__state *t = prof__enter(true);
    uint32_t site = t ? prof__name_add(name) : 0;
    if (t && !site) {
        prof__trace.counts.sites++;
    } else if (t && !prof__room(t)) {
        prof__trace.counts.full++;
    } else if (t) {
        prof__new_epoch(t);
        prof__put_long(t, kind, prof__trace.time, (uint64_t)value, site << 8 | 255u);
    }
    prof__leave(t);
}

PROF_API PROF__QUIET void prof_instant(const char *name) {
    prof__put_moment(PROF__INSTANT, name, 0);
}

PROF_API PROF__QUIET void prof_counter(const char *name, int64_t value) {
    prof__put_moment(PROF__COUNTER, name, value);
}

PROF_API PROF__QUIET void prof_set_thread_name(const char *name) {
    prof__state *t = prof__enter(true);
    if (t && name)
        for (size_t i = 0; i + 1 < sizeof t->row.name && (t->row.name[i] = name[i]) != 0;) i++;
    prof__leave(t);
}

PROF_API PROF__QUIET void prof_thread_end(void) {}
#define prof__rows_unused(s) NULL
#define prof__row_again_of(row) NULL

#define PROF__ENTRY PROF__QUIET
#define prof__push_text(name) prof_push(name)
PROF__FN prof__frame *prof__push_token(const char *name) {
    prof__state *t = prof__enter(true);
    uint32_t site = t ? prof__name_add(name) : 0;
    return prof__begun(t, site ? (site - 1) << 8 : 0);
}

#if PROF__STB
PROF__FN void prof__name_was_cut(void) {
    prof__state *t = prof__enter(true);
    if (prof__trace.names_cut < UINT16_MAX) prof__trace.names_cut++;
    prof__leave(t);
}
#endif

/* Exceptions without a name get the one they have in ARM's manuals. */
PROF__FN void prof__context_name(prof__row *row) {
#if PROF__BY_IPSR
    static const char names[] = "\0\0NMI\0HardFault\0MemManage\0BusFault\0UsageFault\0SecureFault\0"
                                "\0\0\0SVCall\0DebugMonitor\0\0PendSV\0SysTick";
    uint32_t n = (uint32_t)row->info.id;
    const char *name = n < 16 ? prof__nth(names, n) : "IRQ ";
    if (row->name[0]) return;
    memcpy(row->name, name, strlen(name) + 1);
    if (n >= 16) *prof__text_u64(row->name + 4, n - 16) = 0;
#else
    (void)row;
#endif
}

/* ---- longer zones, other clocks: linked where a program has them ---- */

/* When a zone began, whole: within a wrap after its half wrap began; without ticks, before now. */
PROF__FN uint64_t prof__start_of(const prof__frame *f) {
    uint64_t now = prof__trace.time, half = now >> 31, start;
    if (!prof__trace.ticked) return now - ((uint32_t)now - f->start);
    half -= (uint16_t)(half - f->epoch);
    start = half << 31;
    return start + (uint32_t)(f->start - (uint32_t)start);
}

/* With ticks. f: writes the zone that ends, if it lasted longer than 32 bits can tell. NULL: is
   one open that may? */
PROF__FN bool prof__ticked(void *state, prof__frame *f) {
    prof__state *t = (prof__state *)state;
    uint64_t now = prof__trace.time, duration;
    if (!f) return prof__open_zones(t) && (uint16_t)(t->epoch - t->frames[0].epoch) > 1;
    duration = now - prof__start_of(f);
    if (duration >> 32) prof__put_long(t, PROF__ZONE64, duration, now, f->site_depth);
    return duration >> 32;
}

PROF_API PROF__QUIET void prof_tick(void) {
    uintptr_t lock = prof__lock();
    if (prof__on) {
        prof__trace.ticked = prof__ticked;
        prof__time_in(NULL);
    }
    prof__unlock(lock);
}

static struct prof__own_platform {
    prof_platform is;
    uint64_t read;                       /* what its clock last said */
} prof__platform;

PROF__FN uintptr_t prof__platform_lock(void) {
    const prof_platform *p = &prof__platform.is;
    return p->lock ? p->lock(p->user) : prof__mask();
}

PROF__FN void prof__platform_unlock(uintptr_t state) {
    const prof_platform *p = &prof__platform.is;
    if (p->lock) p->unlock(p->user, state);
    else prof__unmask(state);
}

PROF__FN uint32_t prof__platform_context(void) {
    const prof_platform *p = &prof__platform.is;
    return p->thread_id ? p->thread_id(p->user) : PROF_CONTEXT();
}

/* Of the caller's clock; one that goes back stands still for that long. */
PROF__FN void prof__platform_advance(void) {
    const prof_platform *p = &prof__platform.is;
    uint64_t now, step;
    if (!p->now) {
        prof__advance();
        return;
    }
    now = p->now(p->user);
    step = now - prof__platform.read;
    prof__platform.read = now;
    if (p->clock_bits && p->clock_bits < 64) step &= ((uint64_t)1 << p->clock_bits) - 1;
    else if (step >> 63) {
        prof__trace.counts.steps++;
        return;
    }
    prof__trace.time += step;
}

PROF__FN bool prof__platform_open(void) {
    struct prof_trace *s = &prof__trace;
    const prof_platform *p = &prof__platform.is;
    s->slow = p->now || p->thread_id;
    if (!p->now) return prof__chip_open();
    s->clock = PROF_CLOCK_PLATFORM;
    s->ticked = prof__ticked;
    s->time = prof__platform.read = p->now(p->user);
    return true;
}

PROF_API PROF__QUIET const prof__hooks *prof__hooks_of(const prof_platform *platform) {
    static const prof__hooks hooks = { prof__platform_open, prof__platform_lock,
                                       prof__platform_unlock, prof__platform_context,
                                       prof__platform_advance };
    prof__platform.is = *platform;
    return &hooks;
}
#endif

/* ---- @PRINTF: names and texts by a format: stb_sprintf, or the C library where it is not ---- */

#if PROF__STB || !PROF__BARE
#if PROF__STB == 2
#  define prof__vsnprintf(buf, size, format, list) \
    STB_SPRINTF_DECORATE(vsnprintf)(buf, (int)(size), format, list)
#elif PROF__STB
#  define prof__vsnprintf(buf, size, format, list) \
    prof__stb_vsnprintf(buf, (int)(size), format, list)
#elif defined(__MINGW32__)               /* Windows' own may know no %zu */
#  define prof__vsnprintf __mingw_vsnprintf
#else
#  define prof__vsnprintf vsnprintf
#endif

/* Formats into buf; false: it is cut. */
PROF__FN PROF__PRINTF(3, 0) bool prof__print(char *buf, size_t size, const char *format,
                                             va_list list) {
    int length = prof__vsnprintf(buf, size, format, list);
    buf[length < 0 ? 0 : size - 1] = 0;
    return length >= 0 && (size_t)length < size;
}

PROF_API PROF__QUIET size_t prof_format_text(char *buf, size_t size, const char *format, ...) {
    va_list list;
    if (!size) return 0;
    va_start(list, format);
    (void)prof__print(buf, size, format, list);
    va_end(list);
    return strlen(buf);
}

/* The arguments behind format, into the array text; what is done when they are cut. */
#define PROF__PRINT(text, format, when_cut) \
    do { \
        va_list list; \
        va_start(list, format); \
        if (!prof__print(text, sizeof text, format, list)) when_cut; \
        va_end(list); \
    } while (0)
#define PROF__PRINTED 256

PROF_API PROF__ENTRY void prof_push_f(const char *format, ...) {
    char text[PROF__PRINTED];
    if (!PROF__LOAD(prof__on)) return;
    PROF__PRINT(text, format, prof__name_was_cut());
    prof__push_text(text);
}

PROF_API PROF__ENTRY prof__frame *prof__begin_f(const char *format, ...) {
    char text[PROF__PRINTED];
    if (!PROF__LOAD(prof__on)) return NULL;
    PROF__PRINT(text, format, prof__name_was_cut());
    return prof__push_token(text);
}

PROF_API PROF__QUIET void prof_instant_f(const char *format, ...) {
    char text[PROF__PRINTED];
    if (!PROF__LOAD(prof__on)) return;
    PROF__PRINT(text, format, prof__name_was_cut());
    prof_instant(text);
}

PROF_API PROF__QUIET void prof_set_thread_name_f(const char *format, ...) {
    char text[PROF__PRINTED];
    if (!PROF__LOAD(prof__on)) return;
    PROF__PRINT(text, format, prof__name_was_cut());
    prof_set_thread_name(text);
}
#endif

/* ---- @DETAILS: what is recorded beside zones ---- */

#if !PROF__BARE
/* Records of many slots: PROF__ATTRIBUTE {type | depth << 8 | count << 16, bytes}, then slots of 8
   bytes each, whose third word says PROF__PART: alone, as when a signal handler's zone took the
   first one's place, they mean nothing. depth is that of the zone that has it: the next zone of
   that depth that the thread records. */
enum {
    PROF__SHAPES = 1,                    /* for each input: dims | list << 31, bytes of its dtype
                                            (UINT32_MAX: none); dims, or items as these; dtype */
    PROF__STRIDES,
    PROF__OUTPUTS,                       /* as PROF__SHAPES */
    PROF__TENSORS,                       /* for each: id, storage, offset, type | index << 8 */
    PROF__CONCRETE,                      /* for each text: bytes; the text */
    PROF__STACKED,                       /* the same */
    PROF__KWINPUTS,                      /* text of bytes bytes */
    PROF__OVERLOAD,
    PROF__HIERARCHY,
    PROF__ARGUMENT,                      /* "key":value */
    PROF__FLOPS,                         /* number */
    PROF__SEQUENCE,                      /* number, thread; count: scope */
    PROF__ANNOTATION,
    PROF__COUNTED,                       /* a number for each of count counters */
    PROF__NATIVE,                        /* bytes: the number of its call stack, see @NATIVE */
    PROF__MODULE_PUSH,                   /* text; depth: zones open */
    PROF__MODULE_POP,
    PROF__ATTRIBUTES
};
#define PROF__PART_WORD ((uint32_t)PROF__PART << 8)
#define PROF__SLOTS_MOST 250             /* of a record; a byte counts them */
#define PROF__TEXT_MOST (8 * PROF__SLOTS_MOST)

/* Slots of a zone's first attribute, so that their share of the analysis holds a prof_extra, a row
   of averages, and for each slot what its 8 bytes become: 40 bytes at most. */
#define PROF__EXTRA_SLOTS \
    ((sizeof(prof_extra) + PROF__GROUP_SHARE) / (PROF__SLOT_SHARE + PROF__WIDE_SHARE - 40) + 1)

/* A record being written. entered: in the slow path. */
typedef struct prof__long {
    prof__slot *slot;
    prof__state *t;
    prof__record *begin, *at;
    prof__frame *frame;                  /* of the zone whose attribute it is */
    bool entered;
} prof__long;

PROF__RARE(bool) prof__long_slow(prof__long *l, uint32_t slots, uint32_t wants) {
    prof__state *t = wants & ~PROF__LOAD(prof__wants) ? NULL : prof__state_here(l->slot);
    if (t && (t->summing || PROF__LOAD(t->deep)) && !(wants & ~PROF__LOAD(prof__wants))) {
        prof__count_not_kept(t);
        return false;
    }
    if (!t || wants & ~t->wants) return false;
    if (!prof__enter(l->slot)) {
        PROF__COUNT(prof__dropped_busy);
        return false;
    }
    l->entered = true;
    if (!t->skipped && prof__room(t, slots) &&
        (size_t)(t->limit - t->hot.cursor) >= slots) {
        l->t = t;
        l->begin = l->at = t->hot.cursor;
        return true;
    }
    PROF__BUMP(t->counts.full, 1);
    prof__leave(l->slot);
    return false;
}

/* Room for that many slots; false: none, counted, or the session does not want it. Where the hot
   path may work nothing need be shut out: a signal handler's zone may displace this record, or be
   displaced. */
PROF__INLINE bool prof__long_open(prof__long *l, uint32_t slots, uint32_t wants) {
    uint32_t on = PROF__LOAD(prof__on);
    l->slot = prof__slot_get();
    if (PROF__LIKELY(l->slot->generation == on && !l->slot->busy)) {
        uintptr_t limit;
        l->t = prof__slot_state(l->slot);
        l->begin = l->at = PROF__LOAD(l->t->hot.cursor);
        PROF__SIGNAL_FENCE();            /* a cursor of before a new chunk is outside it */
        limit = (uintptr_t)PROF__LOAD(l->t->hot.limit);
        l->entered = false;
        if (PROF__LIKELY((uintptr_t)(l->begin + slots) <= limit &&
                         limit - (uintptr_t)l->begin <= l->t->hot.span &&
                         !(wants & ~l->t->wants))) return true;
    }
    return prof__long_slow(l, slots, wants);
}

PROF__INLINE void prof__long_put(prof__long *l, uint64_t n) {
    prof__record_set(l->at++, n, PROF__PART_WORD);
}

PROF__FN void prof__long_text(prof__long *l, const char *s, size_t bytes) {
    for (; bytes; s += PROF__MIN(bytes, 8), bytes -= PROF__MIN(bytes, 8)) {
        uint64_t n = 0;
        memcpy(&n, s, PROF__MIN(bytes, 8));
        prof__record_set(l->at, 0, PROF__PART_WORD);
        memcpy(l->at++, &n, sizeof n);
    }
}

/* Publishes what was put. */
PROF__INLINE void prof__long_close(prof__long *l, uint32_t kind, uint64_t head) {
    uint32_t slots = (uint32_t)(l->at - l->begin);
    prof__record_set(l->begin, head, kind << 8 | (slots - 1));
    if (!l->t->summing) PROF__BUMP(l->t->counts.extra, slots);
    PROF__RELEASE(l->t->hot.cursor, l->at);
    if (PROF__UNLIKELY(l->entered)) prof__leave(l->slot);
}

PROF__FN uint32_t prof__text_slots(size_t bytes) { return (uint32_t)((bytes + 7) / 8); }

/* Bytes of s, at most so many, cut at a character's start. */
PROF__FN size_t prof__text_bytes(const char *s, size_t most) {
    size_t n = strlen(s);
    if (n <= most) return n;
    PROF__COUNT(prof__details_cut);
    for (n = most; n && ((unsigned char)s[n] & 0xc0) == 0x80;) n--;
    return n;
}

/* From now on the analysis keeps amounts beside every event. Under the lock. */
PROF__FN bool prof__widen(struct prof_trace *s) {
    size_t more;
    if (prof__wide(s)) return true;
    more = s->slot_count * (PROF__WIDE_SHARE - s->beside);
    if (s->lean) more += s->slot_count * PROF__SLOT_SHARE;
    if (!prof__arena_fits(more)) return false;
    prof__arena.promised += more;
    s->lean = false;
    s->beside = PROF__WIDE_SHARE;
    return true;
}

PROF__RARE(bool) prof__widen_now(prof__state *t) {
    if (!t->narrow && prof__lock_briefly()) {
        if (PROF__LOAD(prof__on) == t->generation) {
            t->wide = prof__widen(&prof__trace);
            t->narrow = !t->wide;
        }
        prof__unlock();
    }
    if (!t->wide) PROF__COUNT(prof__details_cut);
    return t->wide;
}

/* Does the session want these of the innermost open zone? What is not for this thread's session is
   found out when they are put. */
PROF__FN bool prof__wanted(uint32_t wants) {
    return PROF__LOAD(prof__on) && !((wants | PROF__WANTS_DETAILS) & ~PROF__LOAD(prof__wants));
}

/* Begins an attribute of the innermost open zone, of so many slots beside the first. */
PROF__FN bool prof__attribute_open(prof__long *l, uint32_t slots, uint32_t wants) {
    uint32_t first = PROF__MAX(slots + 1, (uint32_t)PROF__EXTRA_SLOTS);
    prof__slot *slot = prof__slot_get();
    prof__state *t = prof__slot_state(slot);
    prof__frame *top;
    wants |= PROF__WANTS_DETAILS;
    if (slot->generation != PROF__LOAD(prof__on) || wants & ~t->wants) return false;
    if (!t->wide && !prof__widen_now(t)) return false;
    if (!prof__long_open(l, first, wants)) return false;
    top = PROF__LOAD(l->t->hot.top);     /* once: a signal handler may end what it did not begin */
    if (top > l->t->hot.bottom && top < l->t->deepest && !l->t->skipped) {
        l->frame = top - 1;
        l->at = l->begin + 1;
        return true;
    }
    if (l->entered) prof__leave(l->slot);
    return false;
}

/* Publishes it, for the zone of frame f. The first one of a zone is filled up to what its extra
   takes. */
PROF__FN void prof__attribute_close_of(prof__long *l, prof__frame *f, uint32_t type,
                                       uint32_t count, size_t bytes) {
    prof__state *t = l->t;
    if (t->detail_end != l->begin || t->detail_top != f + 1)
        while ((size_t)(l->at - l->begin) < PROF__EXTRA_SLOTS) prof__long_put(l, 0);
    t->detail_end = l->at;
    t->detail_top = f + 1;
    prof__long_close(l, PROF__ATTRIBUTE,
                     (uint64_t)bytes << 32 | (uint64_t)(count << 16 | f->depth << 8 | type));
}

/* Begins one from within the slow path, where there is room. */
PROF__FN void prof__attribute_in(prof__long *l, prof__state *t) {
    memset(l, 0, sizeof *l);
    l->t = t;
    l->begin = t->hot.cursor;
    l->at = l->begin + 1;
}

PROF__FN void prof__attribute_close(prof__long *l, uint32_t type, uint32_t count, size_t bytes) {
    prof__attribute_close_of(l, l->frame, type, count, bytes);
}

PROF__FN void prof__attribute_text(uint32_t type, const char *s, uint32_t wants) {
    prof__long l;
    size_t bytes = s ? prof__text_bytes(s, PROF__TEXT_MOST) : 0;
    if (!s || !prof__attribute_open(&l, prof__text_slots(bytes), wants)) return;
    prof__long_text(&l, s, bytes);
    prof__attribute_close(&l, type, 1, bytes);
}

PROF__FN uint32_t prof__shape_slots(const prof_shape *s, const char *dtype) {
    uint32_t n = 1 + prof__text_slots(dtype ? strlen(dtype) : 0);
    if (!s->items) return n + (s->dims ? s->count : 0);
    for (uint32_t i = 0; i < s->count; i++) n += prof__shape_slots(s->items + i, NULL);
    return n;
}

PROF__FN void prof__shape_put(prof__long *l, const prof_shape *s, const char *dtype) {
    size_t bytes = dtype ? strlen(dtype) : 0;
    uint32_t count = s->dims || s->items ? s->count : 0;
    prof__long_put(l, (uint64_t)(dtype ? (uint32_t)bytes : UINT32_MAX) << 32 |
                          (count | (s->items ? 1u << 31 : 0)));
    for (uint32_t i = 0; s->items && i < count; i++) prof__shape_put(l, s->items + i, NULL);
    for (uint32_t i = 0; !s->items && i < count; i++) prof__long_put(l, (uint64_t)s->dims[i]);
    if (dtype) prof__long_text(l, dtype, bytes);
}

/* Those of the inputs that fit. */
PROF__FN void prof__attribute_shapes(uint32_t type, const prof_shape *shapes,
                                     const char *const *dtypes, uint32_t count) {
    prof__long l;
    uint32_t slots = 0, fit = 0;
    if (!shapes) return;
    for (; fit < count; fit++) {
        const prof_shape *s = shapes + fit;
        uint32_t more = s->count > PROF__SLOTS_MOST ? PROF__SLOTS_MOST + 1
                      : prof__shape_slots(s, dtypes ? dtypes[fit] : NULL);
        if (more > PROF__SLOTS_MOST - slots) break;
        slots += more;
    }
    if (fit < count) PROF__COUNT(prof__details_cut);
    if (!prof__attribute_open(&l, slots, PROF__WANTS_SHAPES)) return;
    for (uint32_t i = 0; i < fit; i++) prof__shape_put(&l, shapes + i, dtypes ? dtypes[i] : NULL);
    prof__attribute_close(&l, type, fit, 0);
}

PROF__FN void prof__attribute_texts(uint32_t type, const char *const *texts, uint32_t count,
                                    uint32_t wants) {
    prof__long l;
    uint32_t slots = 0, fit = 0;
    if (!texts) return;
    for (; fit < count; fit++) {
        size_t bytes = texts[fit] ? strlen(texts[fit]) : 0;
        if (1 + (bytes + 7) / 8 > PROF__SLOTS_MOST - slots) break;
        slots += 1 + prof__text_slots(bytes);
    }
    if (fit < count) PROF__COUNT(prof__details_cut);
    if (!prof__attribute_open(&l, slots, wants)) return;
    for (uint32_t i = 0; i < fit; i++) {
        const char *s = texts[i] ? texts[i] : "";
        prof__long_put(&l, strlen(s));
        prof__long_text(&l, s, strlen(s));
    }
    prof__attribute_close(&l, type, fit, 0);
}

PROF_API PROF__QUIET void prof_set_shapes(const prof_shape *shapes, const char *const *dtypes,
                                          uint32_t count) {
    if (prof__wanted(PROF__WANTS_SHAPES))
        prof__attribute_shapes(PROF__SHAPES, shapes, dtypes, count);
}

PROF_API PROF__QUIET void prof_set_strides(const prof_shape *strides, uint32_t count) {
    if (prof__wanted(PROF__WANTS_SHAPES))
        prof__attribute_shapes(PROF__STRIDES, strides, NULL, count);
}

PROF_API PROF__QUIET void prof_set_outputs(const prof_shape *shapes, const char *const *dtypes,
                                           uint32_t count) {
    if (prof__wanted(PROF__WANTS_SHAPES))
        prof__attribute_shapes(PROF__OUTPUTS, shapes, dtypes, count);
}

PROF_API PROF__QUIET void prof_set_tensors(const prof_tensor *tensors, uint32_t count) {
    prof__long l;
    uint32_t fit = PROF__MIN(count, (uint32_t)PROF__SLOTS_MOST / 4);
    if (!prof__wanted(PROF__WANTS_SHAPES) || !tensors) return;
    if (fit < count) PROF__COUNT(prof__details_cut);
    if (!prof__attribute_open(&l, 4 * fit, PROF__WANTS_SHAPES)) return;
    for (uint32_t i = 0; i < fit; i++) {
        prof__long_put(&l, tensors[i].id);
        prof__long_put(&l, tensors[i].storage);
        prof__long_put(&l, (uint64_t)tensors[i].offset);
        prof__long_put(&l, (uint64_t)(uint8_t)tensors[i].device.index << 8 |
                               tensors[i].device.type);
    }
    prof__attribute_close(&l, PROF__TENSORS, fit, 0);
}

PROF_API PROF__QUIET void prof_set_inputs(const char *const *concrete, uint32_t count,
                                          const char *kwinputs) {
    if (!prof__wanted(PROF__WANTS_SHAPES)) return;
    if (concrete) prof__attribute_texts(PROF__CONCRETE, concrete, count, PROF__WANTS_SHAPES);
    prof__attribute_text(PROF__KWINPUTS, kwinputs, PROF__WANTS_SHAPES);
}

PROF_API PROF__QUIET void prof_set_flops(uint64_t flops) {
    prof__long l;
    if (!prof__attribute_open(&l, 1, PROF__WANTS_FLOPS)) return;
    prof__long_put(&l, flops);
    prof__attribute_close(&l, PROF__FLOPS, 0, 0);
}

PROF_API PROF__QUIET void prof_set_sequence(int64_t sequence_nr, uint8_t scope,
                                            uint64_t fwd_thread) {
    prof__long l;
    if (!prof__attribute_open(&l, 2, 0)) return;
    prof__long_put(&l, (uint64_t)sequence_nr);
    prof__long_put(&l, fwd_thread);
    prof__attribute_close(&l, PROF__SEQUENCE, scope, 0);
}

PROF_API PROF__QUIET void prof_set_overload(const char *name) {
    if (prof__wanted(0)) prof__attribute_text(PROF__OVERLOAD, name, 0);
}

PROF_API PROF__QUIET void prof_set_module(const char *hierarchy) {
    if (prof__wanted(PROF__WANTS_MODULES))
        prof__attribute_text(PROF__HIERARCHY, hierarchy, PROF__WANTS_MODULES);
}

/* "key":value; the value is text when there is one. */
PROF__FN void prof__attribute_argument(const char *key, const char *text, int64_t value) {
    prof__out o;
    prof_sink none = { NULL, NULL };
    if (!key || !prof__wanted(0)) return;
    prof__out_open(&o, none);
    if (strlen(key) + (text ? strlen(text) : 0) > PROF__TEXT_MOST / 6 - 32) {   /* \u0001 is six */
        PROF__COUNT(prof__details_cut);
        return;
    }
    prof__out_text(&o, "\"");
    prof__out_json(&o, key);
    prof__out_text(&o, text ? "\":\"" : "\":");
    if (text) prof__out_json(&o, text);
    else prof__out_i64(&o, value);
    prof__out_text(&o, text ? "\"" : "");
    *o.p = 0;
    prof__attribute_text(PROF__ARGUMENT, o.buf, 0);
}

PROF_API PROF__QUIET void prof_set_arg(const char *key, const char *text) {
    prof__attribute_argument(key, text ? text : "(null)", 0);
}

PROF_API PROF__QUIET void prof_set_arg_f(const char *key, const char *format, ...) {
    char text[PROF__PRINTED];
    if (!prof__wanted(0)) return;
    PROF__PRINT(text, format, PROF__COUNT(prof__details_cut));
    prof_set_arg(key, text);
}

PROF_API PROF__QUIET void prof_set_arg_int(const char *key, int64_t value) {
    prof__attribute_argument(key, NULL, value);
}

PROF_API PROF__QUIET void prof_set_stack(const char *const *entries, uint32_t count) {
    if (prof__wanted(0)) prof__attribute_texts(PROF__STACKED, entries, count, 0);
}

PROF_API PROF__QUIET void prof_set_annotation(void) {
    prof__long l;
    if (!prof__attribute_open(&l, 0, 0)) return;
    prof__attribute_close(&l, PROF__ANNOTATION, 0, 0);
}

PROF_API PROF__ENTRY void prof_push_with(const char *name, const prof_extra *with) {
    prof__slot *slot = prof__slot_get();
    slot->with = with;
    prof__push_text(name);
    slot->with = NULL;
    if (!with || !PROF__LOAD(prof__on)) return;
    prof_set_shapes(with->input_shapes, with->dtypes, with->input_count);
    if (with->strides) prof_set_strides(with->strides, with->input_count);
    prof_set_inputs(with->concrete_inputs, with->input_count, with->kwinputs);
    if (with->output_shapes)
        prof_set_outputs(with->output_shapes, with->output_dtypes, with->output_count);
    if (with->tensors) prof_set_tensors(with->tensors, with->tensor_count);
    if (with->flops > 0) prof_set_flops((uint64_t)with->flops);
    if (with->has & PROF_HAS_SEQUENCE_NR)
        prof_set_sequence(with->sequence_nr, with->scope, with->fwd_thread);
    prof_set_overload(with->overload_name);
    prof_set_module(with->module_hierarchy);
    if (with->stack) prof_set_stack(with->stack, with->stack_count);
}

/* A record of the thread, not of a zone; depth: zones open. */
PROF__FN void prof__module_put(uint32_t type, const char *name) {
    prof__long l;
    size_t bytes = prof__text_bytes(name, 255);
    uint32_t slots = PROF__MAX(1 + prof__text_slots(bytes), (uint32_t)PROF__EXTRA_SLOTS + 8);
    if (!prof__wanted(PROF__WANTS_MODULES)) return;
    if (!prof__long_open(&l, slots, PROF__WANTS_DETAILS | PROF__WANTS_MODULES)) return;
    l.at = l.begin + 1;
    prof__long_text(&l, name, bytes);
    while (type == PROF__MODULE_PUSH && (uint32_t)(l.at - l.begin) < slots) prof__long_put(&l, 0);
    prof__long_close(&l, PROF__ATTRIBUTE,
                     (uint64_t)bytes << 32 |
                         ((uint64_t)(l.t->hot.top - l.t->hot.bottom) << 8 | type));
}

PROF_API PROF__QUIET void prof_module_push(const char *name) {
    prof__module_put(PROF__MODULE_PUSH, name ? name : "(null)");
}

PROF_API PROF__QUIET void prof_module_pop(void) { prof__module_put(PROF__MODULE_POP, ""); }

/* ---- memory: {tick} {address} {bytes} {what | depth << 8 | device type << 16 | index << 24 |
   category << 32}; depth 255: no zone is open. A slot's share is enough for the event of its own
   that memory outside of zones becomes ---- */

PROF__FN void prof__memory_put(uint32_t what, uintptr_t address, uint64_t bytes,
                               prof_device device) {
    prof__long l;
    prof__frame *top;
    if (!prof__wanted(PROF__WANTS_MEMORY)) return;
    if (!prof__long_open(&l, 4, PROF__WANTS_DETAILS | PROF__WANTS_MEMORY)) return;
    top = PROF__LOAD(l.t->hot.top);
    l.at = l.begin + 1;
    prof__long_put(&l, (uint64_t)address);
    prof__long_put(&l, bytes);
    prof__long_put(&l, (uint64_t)l.slot->category << 32 | (uint32_t)(uint8_t)device.index << 24 |
                           (uint32_t)device.type << 16 |
                           (top > l.t->hot.bottom ? top[-1].depth : 255u) << 8 | what);
    prof__long_close(&l, PROF__MEMORY, prof__state_now(l.t));
}

PROF_API PROF__QUIET void prof_memory_alloc(const void *pointer, size_t bytes,
                                            prof_device device) {
    if (!pointer && !bytes) return;
    if ((uint64_t)bytes >> 63) {   /* no comparison: size_t may have 32 bits */
        if (PROF__LOAD(prof__on)) PROF__COUNT(prof__memory_refused);
        return;
    }
    prof__memory_put(pointer ? PROF__ALLOCATED : PROF__NO_MEMORY, (uintptr_t)pointer, bytes,
                     device);
}

PROF_API PROF__QUIET void prof_memory_free(const void *pointer, prof_device device) {
    if (pointer) prof__memory_put(PROF__FREE, (uintptr_t)pointer, 0, device);
}

PROF_API PROF__QUIET prof_memory_kind prof_memory_category(prof_memory_kind kind) {
    prof__slot *slot = prof__slot_get();
    prof_memory_kind before = (prof_memory_kind)slot->category;
    slot->category = (unsigned)kind > PROF_MEMORY_AUTOGRAD_DETAIL ? 0 : (uint8_t)kind;
    return before;
}

/* ---- ranges: {start} {end} {id} {number of the row | site << 32}, and as many slots as their
   event takes; arrows: {tick} {number << 1 | is an end} ---- */

PROF__FN uint64_t prof__number(uint64_t *last) {
    uint64_t n = 0;
    if (!prof__lock_briefly()) return n;
    n = ++*last;
    prof__unlock();
    return n;
}

PROF_API PROF__QUIET prof_async prof_async_begin(const char *name) {
    prof_async a;
    prof__slot *slot = prof__slot_get();
    prof__state *t = prof__state_here(slot);
    uint32_t site;
    memset(&a, 0, sizeof a);
    if (!t || !(t->wants & PROF__WANTS_DETAILS) || (!t->wide && !prof__widen_now(t))) return a;
    site = prof__intern(t, name);
    a.site = site >> 8;
    if (!prof__enter(slot)) {
        PROF__COUNT(prof__dropped_busy);
        return a;
    }
    t = prof__slot_state(slot);
    a.id = a.site ? prof__number(&prof__async_last) : 0;
    if (a.id) {
        PROF__BUMP(t->counts.async, 1);
        a.thread = t->number;
        a.generation = t->generation;
        a.start = prof__state_now(t);
    } else {
        prof__count_siteless(t, site);
    }
    prof__leave(slot);
    return a;
}

PROF_API PROF__QUIET void prof_async_end(prof_async a) {
    prof__long l;
    uint64_t now;
    if (!a.id || !PROF__LOAD(prof__on)) return;
    if (a.generation != PROF__LOAD(prof__on)) {
        PROF__COUNT(prof__cut);
        return;
    }
    if (!prof__long_open(&l, PROF__EXTRA_SLOTS + 1, PROF__WANTS_DETAILS)) {
        PROF__COUNT(prof__async_dropped);
        return;
    }
    PROF__BUMP(l.t->counts.async_ends, 1);
    now = prof__state_now(l.t);
    l.at = l.begin + 1;
    prof__long_put(&l, PROF__MAX(now, a.start));
    prof__long_put(&l, a.id);
    prof__long_put(&l, (uint64_t)a.site << 32 | a.thread);
    while ((size_t)(l.at - l.begin) < PROF__EXTRA_SLOTS + 1) prof__long_put(&l, 0);
    prof__long_close(&l, PROF__ASYNC, a.start);
}

PROF_API PROF__QUIET uint64_t prof_flow(uint64_t number) {
    prof__long l;
    uint64_t id = number;
    if (!PROF__LOAD(prof__on)) return 0;
    if (!id) id = prof__number(&prof__flow_last);
    if (!id || !prof__long_open(&l, 2, 0)) return 0;
    l.at = l.begin + 1;
    prof__long_put(&l, id << 1 | (number != 0));
    prof__long_close(&l, PROF__FLOW, prof__state_now(l.t));
    return id;
}

/* ---- contexts: states that a thread changes between ---- */

static uint32_t prof__context_number;

/* The parked state that this handle names; NULL: none any more. Under the lock. */
PROF__FN prof__state *prof__context_find(const void *context) {
    prof__state *t = prof__owned;
    while (t && ((const void *)t != context || !t->parked ||
                 t->generation != prof__trace.generation)) t = t->next;
    return t;
}

/* A state of its own, whose row has an id that no thread has. Under the lock. */
PROF__FN prof__state *prof__context_make(void) {
    prof__state *t = prof__state_take(0, 0x40000000u | (++prof__context_number & 0xfffffff));
    if (!t) return NULL;
    prof__row_name(t->row, "context");
    return t;
}

PROF_API PROF__QUIET void *prof_context_switch(void *context) {
    prof__slot *slot = prof__slot_get();
    uint32_t on = PROF__LOAD(prof__on);
    prof__state *from = NULL, *to = NULL;
    if (!on || !prof__enter(slot)) return NULL;
    if (prof__lock_briefly()) {
        if (PROF__LOAD(prof__on) == on) {
            if (slot->generation == on) from = prof__slot_state(slot);
            else if (slot->hot != &prof__nowhere) prof__state_give(slot, prof__slot_state(slot));
            to = context ? prof__context_find(context) : NULL;
            if (!to) to = prof__context_make();
        }
        if (to && from) from->parked = true;
        if (to) to->parked = false;
        prof__unlock();
    }
    if (to) {
        prof__at_thread_exit();
        slot->hot = &to->hot;
        PROF__SIGNAL_FENCE();
        slot->generation = on;
    }
    prof__leave(slot);
    return to ? from : NULL;
}

/* At the end of a recording: nobody is in those that are parked. Under the lock. */
PROF__FN void prof__contexts_give(void) {
    prof__slot nobody;
    prof__state *t = prof__owned;
    while (t) {
        prof__state *next = t->next;
        if (t->parked) prof__state_give(&nobody, t);
        t = next;
    }
}

PROF_API PROF__QUIET uint64_t prof_thread_id(void) {
    prof__slot *slot = prof__slot_get();
    prof_platform p;
    memset(&p, 0, sizeof p);
    if (slot->generation == PROF__LOAD(prof__on)) {
        p = prof__slot_state(slot)->platform;
    } else if (prof__lock_briefly()) {
        p = prof__session.desc.platform;
        prof__unlock();
    }
    return p.thread_id ? p.thread_id(p.user) : prof__os_thread_id();
}
#endif

/* ---- @SYMBOLS: addresses to names: what is mapped where, and the symbols of ELF files ---- */

#if !PROF__BARE
/* A return address, and where its text is wanted. entry: only the function counts, for one mark
   may compile to several calls. */
typedef struct prof__symbol { uintptr_t address; const char **text; bool entry; } prof__symbol;

/* Those to be named, by address. Texts are put below high, not under low. */
typedef struct prof__symbols {
    prof__symbol *list;
    uint32_t count;
    char *low, *high;
    const char *path;                    /* the file that is being read, */
    uintptr_t shift;                     /* from addresses to those of the file, */
    uint32_t first, end;                 /* and whose addresses lie in it */
} prof__symbols;

PROF__FN char *prof__text_hex(char *p, uint64_t n) {
    static const char hex[] = "0123456789abcdef";
    int shift = 60;
    while (shift && !(n >> shift)) shift -= 4;
    *p++ = '0';
    *p++ = 'x';
    for (; shift >= 0; shift -= 4) *p++ = hex[n >> shift & 15];
    return p;
}

/* `file(0x1234): name`: the address in the file, as addr2line and objdump take it, within the call;
   begin: of the function. */
PROF__FN void prof__symbol_set(prof__symbols *n, uint32_t i, const char *name, uintptr_t begin) {
    const char *file = n->path;
    size_t length = strlen(name);
    char place[64], *p = place;
    for (const char *s = file; *s; s++)
        if (*s == '/' || *s == '\\') file = s + 1;
    if (i && n->list[i - 1].address == n->list[i].address) {
        *n->list[i].text = *n->list[i - 1].text;
        return;
    }
    for (; *file && p < place + 32; file++) *p++ = *file;
    *p++ = '(';
    p = prof__text_hex(p, (n->list[i].entry ? begin : n->list[i].address - 1) + n->shift);
    *p++ = ')';
    *p++ = ':';
    *p++ = ' ';
    if ((size_t)(n->high - n->low) < (size_t)(p - place) + length + 1) return;
    n->high -= (size_t)(p - place) + length + 1;
    memcpy(n->high, place, (size_t)(p - place));
    memcpy(n->high + (p - place), name, length + 1);
    *n->list[i].text = n->high;
}

/* The first of the list that is at address or past it. */
PROF__FN uint32_t prof__symbol_at(const prof__symbols *n, uintptr_t address) {
    uint32_t low = 0, high = n->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (n->list[middle].address < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

#if defined(__linux__)
#  include <elf.h>
#  if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Ehdr prof__elf_head;
typedef Elf64_Phdr prof__elf_segment;
typedef Elf64_Shdr prof__elf_section;
typedef Elf64_Sym prof__elf_symbol;
#  else
typedef Elf32_Ehdr prof__elf_head;
typedef Elf32_Phdr prof__elf_segment;
typedef Elf32_Shdr prof__elf_section;
typedef Elf32_Sym prof__elf_symbol;
#  endif

/* A line of /proc/self/maps. Only calls that a signal handler may make. */
typedef struct prof__map {
    int file;
    size_t at, size;                     /* of what is in buf */
    uintptr_t low, high;
    uint64_t offset;                     /* of low in the file at path */
    char path[512], buf[512];
} prof__map;

PROF__FN bool prof__map_open(prof__map *m) {
    m->at = m->size = 0;
    m->file = open("/proc/self/maps", O_RDONLY);
    return m->file >= 0;
}

/* -1: the end */
PROF__FN int prof__map_byte(prof__map *m) {
    if (m->at == m->size) {
        ssize_t n = read(m->file, m->buf, sizeof m->buf);
        if (n <= 0) return -1;
        m->at = 0;
        m->size = (size_t)n;
    }
    return (unsigned char)m->buf[m->at++];
}

PROF__FN uint64_t prof__map_number(prof__map *m) {
    uint64_t n = 0;
    int c;
    while ((c = prof__map_byte(m)) > ' ' && c != '-')
        n = n << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    return n;
}

/* Passes by a field; returns what ended it. */
PROF__FN int prof__map_field(prof__map *m) {
    int c;
    do c = prof__map_byte(m); while (c > ' ');
    return c;
}

/* `low-high rights offset device inode path`; false: there are no more. */
PROF__FN bool prof__map_next(prof__map *m) {
    size_t n = 0;
    int c;
    m->low = (uintptr_t)prof__map_number(m);
    m->high = (uintptr_t)prof__map_number(m);
    (void)prof__map_field(m);
    m->offset = prof__map_number(m);
    (void)prof__map_field(m);
    c = prof__map_field(m);
    while (c == ' ') c = prof__map_byte(m);
    for (; c >= 0 && c != '\n'; c = prof__map_byte(m))
        if (n + 1 < sizeof m->path) m->path[n++] = (char)c;
    m->path[n] = 0;
    return c == '\n';
}

typedef struct prof__elf {
    int file;
    prof__elf_head head;
    prof__elf_section names;             /* of the symbols being read */
    prof__elf_symbol source;             /* the file that local ones are of; no name: not known */
} prof__elf;
typedef void (*prof__elf_visit)(void *user, prof__elf *f, const prof__elf_symbol *symbol);

PROF__FN bool prof__elf_read(const prof__elf *f, uint64_t offset, void *to, size_t size) {
    return lseek(f->file, (off_t)offset, SEEK_SET) == (off_t)offset &&
           read(f->file, to, size) == (ssize_t)size;
}

PROF__FN bool prof__elf_open(prof__elf *f, const char *path) {
    f->file = open(path, O_RDONLY);
    if (f->file < 0) return false;
    if (prof__elf_read(f, 0, &f->head, sizeof f->head) &&
        memcmp(f->head.e_ident, ELFMAG, SELFMAG) == 0 &&
        f->head.e_shentsize == sizeof(prof__elf_section) &&
        f->head.e_phentsize == sizeof(prof__elf_segment)) return true;
    close(f->file);
    return false;
}

/* Hands on the functions in a section of symbols. */
PROF__FN void prof__elf_functions_in(prof__elf *f, const prof__elf_section *symbols,
                                     prof__elf_visit visit, void *user) {
    prof__elf_symbol list[64];
    uint64_t at = symbols->sh_offset, end = at + symbols->sh_size, n;
    memset(&f->source, 0, sizeof f->source);
    if (!prof__elf_read(f, f->head.e_shoff + symbols->sh_link * sizeof f->names, &f->names,
                        sizeof f->names)) return;
    for (; at < end; at += n * sizeof *list) {
        n = PROF__MIN((end - at) / sizeof *list, 64);
        if (!n || !prof__elf_read(f, at, list, (size_t)n * sizeof *list)) return;
        for (uint64_t i = 0; i < n; i++) {
            if ((list[i].st_info & 15) == STT_FILE) f->source = list[i];
            if ((list[i].st_info & 15) == STT_FUNC && list[i].st_shndx != SHN_UNDEF)
                visit(user, f, list + i);
        }
    }
}

/* All functions that the file tells of: those of its symbols, or where it has been stripped, those
   that it exports. */
PROF__FN void prof__elf_functions(prof__elf *f, prof__elf_visit visit, void *user) {
    static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
    bool found = false;
    for (int k = 0; k < 2 && !found; k++)
        for (uint32_t i = 0; i < f->head.e_shnum; i++) {
            prof__elf_section section;
            if (!prof__elf_read(f, f->head.e_shoff + i * sizeof section, &section,
                                sizeof section)) return;
            if (section.sh_type != types[k]) continue;
            prof__elf_functions_in(f, &section, visit, user);
            found = true;
        }
}

/* Cut to the buffer. */
PROF__FN bool prof__elf_name(const prof__elf *f, const prof__elf_symbol *symbol, char *name,
                             size_t size) {
    off_t at = (off_t)(f->names.sh_offset + symbol->st_name);
    memset(name, 0, size);
    return lseek(f->file, at, SEEK_SET) == at && read(f->file, name, size - 1) > 0 && name[0];
}

PROF__FN void prof__symbol_visit(void *user, prof__elf *f, const prof__elf_symbol *symbol) {
    prof__symbols *n = (prof__symbols *)user;
    uintptr_t begin = (uintptr_t)symbol->st_value - n->shift, size = (uintptr_t)symbol->st_size;
    uint32_t i = prof__symbol_at(n, begin + 1);
    char name[256];
    if (i >= n->end || n->list[i].address - 1 - begin >= size || *n->list[i].text) return;
    if (!prof__elf_name(f, symbol, name, sizeof name)) return;
    for (; i < n->end && n->list[i].address - 1 - begin < size; i++)
        if (!*n->list[i].text) prof__symbol_set(n, i, name, begin);
}

/* How far the file's own addresses are from those where it is mapped. */
PROF__FN bool prof__elf_shift(const prof__elf *f, const prof__map *m, uintptr_t address,
                              uintptr_t *shift) {
    uint64_t offset = m->offset + (address - m->low);
    for (uint32_t i = 0; i < f->head.e_phnum; i++) {
        prof__elf_segment g;
        if (!prof__elf_read(f, f->head.e_phoff + i * sizeof g, &g, sizeof g)) return false;
        if (g.p_type != PT_LOAD || offset < g.p_offset || offset - g.p_offset >= g.p_filesz)
            continue;
        *shift = (uintptr_t)(g.p_vaddr + (offset - g.p_offset)) - address;
        return true;
    }
    return false;
}

PROF__FN void prof__symbols_of(prof__symbols *n, const prof__map *m) {
    prof__elf f;
    n->path = m->path;
    n->shift = 0u - m->low;
    if (m->path[0] == '/' && prof__elf_open(&f, m->path)) {
        if (prof__elf_shift(&f, m, n->list[n->first].address - 1, &n->shift))
            prof__elf_functions(&f, prof__symbol_visit, n);
        close(f.file);
    }
    for (uint32_t i = n->first; i < n->end; i++)
        if (!*n->list[i].text) prof__symbol_set(n, i, "??", n->list[i].address - 1);
}

PROF__FN void prof__symbols_name(prof__symbols *n) {
    prof__map m;
    if (!prof__map_open(&m)) return;
    while (prof__map_next(&m)) {
        n->first = prof__symbol_at(n, m.low + 1);
        n->end = prof__symbol_at(n, m.high + 1);
        if (n->first < n->end) prof__symbols_of(n, &m);
    }
    close(m.file);
}
#elif defined(_WIN32)
/* The module and the address in it. */
PROF__FN void prof__symbols_name(prof__symbols *n) {
    for (uint32_t i = 0; i < n->count; i++) {
        char path[MAX_PATH + 1] = "";
        HMODULE module = NULL;
        DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                    GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
        if (GetModuleHandleExA(how, (LPCSTR)(n->list[i].address - 1), &module))
            (void)GetModuleFileNameA(module, path, MAX_PATH);
        n->path = path;
        n->shift = 0u - (uintptr_t)module;
        prof__symbol_set(n, i, "??", n->list[i].address - 1);
    }
}
#elif defined(__APPLE__)
#  include <dlfcn.h>
PROF__FN void prof__symbols_name(prof__symbols *n) {
    for (uint32_t i = 0; i < n->count; i++) {
        Dl_info d;
        bool known = dladdr((const void *)(n->list[i].address - 1), &d) != 0;
        n->path = known && d.dli_fname ? d.dli_fname : "";
        n->shift = known ? 0u - (uintptr_t)d.dli_fbase : 0;
        prof__symbol_set(n, i, known && d.dli_sname ? d.dli_sname : "??",
                         known ? (uintptr_t)d.dli_saddr : n->list[i].address - 1);
    }
}
#else
PROF__FN void prof__symbols_name(prof__symbols *n) {
    n->path = "";
    for (uint32_t i = 0; i < n->count; i++) prof__symbol_set(n, i, "??", n->list[i].address - 1);
}
#endif
#endif

/* ---- @FUNCTIONS: every function a zone, by -finstrument-functions ---- */

#if defined(PROF_INSTRUMENT_FUNCTIONS) && !PROF__BARE
#if defined(__linux__)
extern const char __ehdr_start[];        /* by the linker: where this program's image begins */
#endif

/* Functions by address, and the generation that was asked for their site. Sites are called 0x...
   until prof_stop or a snapshot reads the symbols. */
static struct prof__instrumented {
    uintptr_t address;                   /* 0: free */
    uint32_t id, asked;                  /* its site, shifted by 8; or why asked has none */
} prof__functions[PROF_MAX_SITES * 2 + 1];
static uint32_t prof__functions_unnamed, prof__functions_refused;
static uint32_t prof__functions_foreign;   /* unnamed ones, after symbols were read last */

PROF__FN struct prof__instrumented *prof__function_find(uintptr_t address) {
    const uint32_t places = PROF_MAX_SITES * 2 + 1;
    uint32_t i = (uint32_t)((address >> 4) * 2654435761u) % places;
    uintptr_t there;
    while ((there = PROF__ACQUIRE(prof__functions[i].address)) != 0 && there != address)
        i = i + 1 == places ? 0 : i + 1;
    return prof__functions + i;
}

/* Fills the place of a function, unless there are too many that found no room. Under the lock. */
PROF__FN uint32_t prof__function_add(struct prof__instrumented *f, uintptr_t address,
                                     uint32_t asked) {
    char name[24];
    prof_site site = { NULL, "", "", 0 };
    uint32_t id;
    *prof__text_hex(name, address) = 0;
    site.name = name;
    id = prof__site_id(prof__site_add(&site, false));
    if (id > PROF__NO_LOCK) PROF__BUMP(prof__functions_unnamed, 1);
    else if (!f->address && prof__functions_refused == PROF_MAX_SITES / 2) return id;
    else if (!f->address) prof__functions_refused++;
    PROF__STORE(f->id, id);
    PROF__RELEASE(f->asked, asked);
    PROF__RELEASE(f->address, address);
    return id;
}

/* The site of a function, shifted by 8; or why there is none, asked once in a generation. */
PROF__FN uint32_t prof__function_site(const prof__state *t, uintptr_t address) {
    struct prof__instrumented *f = prof__function_find(address);
    uint32_t id = PROF__NO_SITE;
    if (PROF__ACQUIRE(f->address) == address) {
        uint32_t asked = PROF__ACQUIRE(f->asked);
        id = PROF__LOAD(f->id);
        if (id > PROF__NO_LOCK || asked == t->generation) return id;
    }
    if (prof__sites_full() && PROF__LOAD(prof__others_site)) return PROF__NO_SITE;
    if (!prof__lock_briefly()) return PROF__NO_LOCK;
    f = prof__function_find(address);
    id = f->id;
    if (id <= PROF__NO_LOCK) id = prof__function_add(f, address, t->generation);
    prof__unlock();
    return id;
}

#ifdef __cplusplus
extern "C" {
#endif
void __cyg_profile_func_enter(void *function, void *caller) PROF__QUIET;
void __cyg_profile_func_exit(void *function, void *caller) PROF__QUIET;
#ifdef __cplusplus
}
#endif

void __cyg_profile_func_enter(void *function, void *caller) {
    prof__slot *slot = prof__slot_get();
    prof__frame *opened = NULL;
    prof__state *t;
    uint32_t site;
    (void)caller;
    if (slot->inside || slot->busy || !PROF__LOAD(prof__on)) return;
    slot->inside = true;
    t = prof__state_to_begin(false);
    site = t ? prof__function_site(t, (uintptr_t)function) : 0;
#if PROF__FAST
    if (site > PROF__NO_LOCK) opened = prof__frame_open(&t->hot, site);
#endif
    if (t && !opened) opened = prof__begin_site(site, false, PROF__ENTRY_FRAME());
    if (opened)
        prof__origin_set(t, opened - 1, PROF__BY_FUNCTION, PROF__ENTRY_FRAME(),
                         (uintptr_t)function);
    slot->inside = false;
}

PROF__INLINE bool prof__is_function(const prof__state *t, const prof__frame *f,
                                    uintptr_t function) {
    const prof__origin *o = prof__origin_of(t, f);
    return o->function == function && o->site_kind == (f->site | PROF__BY_FUNCTION) &&
           o->start == f->start;
}

/* A function ends that is not the innermost zone. What longjmp left above its zone ends with it. An
   end of what this session does not have must not end another: false. */
PROF__FN bool prof__function_heal(prof__slot *slot, prof__state *t, uintptr_t function) {
    prof__frame *f = t->hot.top;
    uint32_t deep = PROF__LOAD(t->deep);
    const prof__deeps *b = t->deeps;
    while (deep && !prof__is_function(t, &b->zones[(deep - 1) % PROF__DEEPS].frame, function))
        if (--deep % PROF__DEEPS == 0) b = b->below;
    while (!deep && f > t->hot.bottom && !prof__is_function(t, f - 1, function)) f--;
    if (!prof__enter(slot)) return true;
    if (f > t->hot.bottom) prof__unwind_to(t, (size_t)(f - t->frames) + deep, t->skipped);
    else PROF__BUMP(t->counts.cut, 1);
    prof__leave(slot);
    return f > t->hot.bottom;
}

/* The same where the innermost zone is a deep one. */
PROF__FN bool prof__function_ends_deep(prof__slot *slot, prof__state *t, uintptr_t function) {
    bool ends;
    if (!prof__look(t)) return true;
    ends = prof__is_function(t, &prof__deep_top(t)->frame, function) ||
           prof__function_heal(slot, t, function);
    prof__looked(t);
    return ends;
}

/* Is the zone that is to end now this function's? What was dropped ends first, in any case. */
PROF__INLINE bool prof__function_ends(prof__slot *slot, uintptr_t function) {
    prof__state *t;
    if (slot->generation != PROF__LOAD(prof__on)) return true;
    t = prof__slot_state(slot);
    if (t->skipped || t->hot.top <= t->hot.bottom) return true;
    if (PROF__UNLIKELY(PROF__LOAD(t->deep))) return prof__function_ends_deep(slot, t, function);
    return PROF__LIKELY(prof__is_function(t, t->hot.top - 1, function)) ||
           prof__function_heal(slot, t, function);
}

void __cyg_profile_func_exit(void *function, void *caller) {
    prof__slot *slot = prof__slot_get();
    (void)caller;
    if (slot->inside || slot->busy) return;
    slot->inside = true;
    if (prof__function_ends(slot, (uintptr_t)function)) prof__end_top_inline();
    slot->inside = false;
}

#if defined(__linux__)
static const char *prof__function_file;  /* of the last one that has one */

/* Only static functions have their file in the symbols. */
PROF__FN void prof__function_visit(void *user, prof__elf *elf, const prof__elf_symbol *symbol) {
    uintptr_t base = elf->head.e_type == ET_DYN ? (uintptr_t)__ehdr_start : 0;
    struct prof__instrumented *f = prof__function_find(base + symbol->st_value);
    const char *known = f->address ? prof__sites[f->id >> 8].name : "", *copy;
    char name[256];
    (void)user;
    if (known[0] != '0' || !prof__elf_name(elf, symbol, name, sizeof name)) return;
    copy = prof__site_copy(name, NULL);
    if (copy) PROF__RELEASE(prof__sites[f->id >> 8].name, copy);   /* an observer may read it */
    PROF__BUMP(prof__functions_unnamed, -1u);
    if (symbol->st_info >> 4 != STB_LOCAL || !elf->source.st_name ||
        !prof__elf_name(elf, &elf->source, name, sizeof name) || *name == '<') return;
    copy = prof__site_copy(name, prof__function_file);   /* mostly that of the one before */
    if (copy) prof__sites[f->id >> 8].file = prof__function_file = copy;
}
#endif

/* Functions of shared libraries keep their addresses. Under the lock. */
PROF__FN void prof__functions_name(void) {
#if defined(__linux__)
    prof__elf elf;
    if (prof__functions_unnamed == prof__functions_foreign) return;
    if (prof__elf_open(&elf, "/proc/self/exe")) {
        prof__elf_functions(&elf, prof__function_visit, NULL);
        close(elf.file);
    }
    PROF__STORE(prof__functions_foreign, prof__functions_unnamed);
#endif
}

/* Before a stream tells them. */
PROF__FN void prof__functions_name_new(void) {
    if (PROF__LOAD(prof__functions_unnamed) == PROF__LOAD(prof__functions_foreign)) return;
    prof__lock();
    prof__functions_name();
    prof__unlock();
}
#else
#  define prof__functions_name() ((void)0)
#  define prof__functions_name_new() ((void)0)
#endif

/* ---- @NATIVE: the native call stack of each zone, each distinct one kept once ---- */

#if !PROF__BARE
#define PROF__NATIVE_MOST 64             /* frames of a stack, the innermost ones */

/* A call stack: return addresses, innermost first, and their texts once they are known. */
typedef struct prof__trail {
    uint32_t hash, count;
    bool named;
    const char **texts;
    uintptr_t *addresses;
} prof__trail;

/* All of the session's, by number. In the arena, made with the first one. Under the lock. */
static struct prof__trails {
    prof__trail **list;
    uint32_t *index;                     /* 2 * capacity places */
    uint32_t count, capacity;
} prof__trails;

typedef struct prof__trail_key {
    uint32_t hash, count;
    const uintptr_t *addresses;
} prof__trail_key;
PROF__FN bool prof__trail_same(const void *context, uint32_t number) {
    const prof__trail_key *k = (const prof__trail_key *)context;
    const prof__trail *r = prof__trails.list[number];
    return r->hash == k->hash && r->count == k->count &&
           memcmp(r->addresses, k->addresses, k->count * sizeof *k->addresses) == 0;
}

PROF__FN bool prof__trails_open(void) {
    size_t n = PROF__MIN((size_t)(prof__arena.end - prof__arena.base) / 2048 + 16, 65536u);
    size_t list = n * sizeof(prof__trail *), index = 2 * n * sizeof(uint32_t);
    char *p = (char *)prof__take(list + index, 0);
    if (!p) return false;
    memset(p, 0, list + index);
    prof__trails.list = (prof__trail **)(void *)p;
    prof__trails.index = (uint32_t *)(void *)(p + list);
    prof__trails.capacity = (uint32_t)n;
    return true;
}

/* The number of a stack, from 1; 0: there is no room for it. Under the lock. */
PROF__FN uint32_t prof__trail_add(const prof__trail_key *k) {
    uint32_t *place;
    prof__trail *r;
    if (!prof__trails.list && !prof__trails_open()) return 0;
    place = prof__place_of(prof__trails.index, 2 * prof__trails.capacity, k->hash,
                           prof__trail_same, k);
    if (*place || prof__trails.count == prof__trails.capacity) return *place;
    r = (prof__trail *)prof__take(sizeof *r + k->count * (sizeof *r->texts + sizeof *r->addresses),
                                  0);
    if (!r) return 0;
    memset(r, 0, sizeof *r);
    r->hash = k->hash;
    r->count = k->count;
    r->texts = (const char **)(void *)(r + 1);
    r->addresses = (uintptr_t *)(void *)(r->texts + k->count);
    memset(r->texts, 0, k->count * sizeof *r->texts);
    memcpy(r->addresses, k->addresses, k->count * sizeof *k->addresses);
    prof__trails.list[prof__trails.count] = r;
    return *place = ++prof__trails.count;
}

#if defined(__aarch64__)
#  define PROF__CODE(address) ((uintptr_t)(address) & 0xffffffffffffu)   /* without a signature */
#else
#  define PROF__CODE(address) ((uintptr_t)(address))
#endif
#if PROF__FRAMES
#  define PROF__UNCHECKED __attribute__((no_sanitize("address", "thread")))
/* Finds the memory that holds this part of the stack, so that nothing past it is read. */
PROF__FN bool prof__stack_find(prof__state *t, uintptr_t at) {
#  if defined(__APPLE__)
    t->stack_high = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    t->stack_low = t->stack_high - pthread_get_stacksize_np(pthread_self());
#  else
    prof__map m;
    t->stack_low = t->stack_high = 0;
    if (!prof__map_open(&m)) return false;
    while (prof__map_next(&m))
        if (at >= m.low && at < m.high) {
            t->stack_low = m.low;
            t->stack_high = m.high;
        }
    close(m.file);
#  endif
    return at >= t->stack_low && at < t->stack_high;
}

/* From frame to frame outwards. Code built without frame pointers may leave anything in one. */
PROF__UNCHECKED PROF__FN uint32_t prof__native_frames(prof__state *t, prof__entry_frame entry,
                                                      uintptr_t *to) {
    uintptr_t last = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)entry.frame;
    uint32_t n = 0;
    to[n++] = PROF__CODE(entry.returns);
    if ((last < t->stack_low || last >= t->stack_high) && !prof__stack_find(t, last)) return n;
    while (n < PROF__NATIVE_MOST && at > last && at < t->stack_high && !(at % sizeof at) &&
           t->stack_high - at >= 2 * sizeof at) {
        const uintptr_t *frame = (const uintptr_t *)at;
        if (PROF__CODE(frame[1]) < 4096) break;
        to[n++] = PROF__CODE(frame[1]);
        last = at;
        at = frame[0];
    }
    return n;
}
#endif

#if defined(_WIN32)
PROF__FN uint32_t prof__unwind(void **to, uint32_t most) {
    return CaptureStackBackTrace(0, most, to, NULL);
}
#  define PROF__UNWINDS true
#elif defined(__GNUC__) && !defined(__TINYC__) && (defined(__linux__) || defined(__APPLE__))
/* The C library's, where it has one, under a name that no program uses for its own. */
#  define PROF__TEXT_OF2(x) #x
#  define PROF__TEXT_OF(x) PROF__TEXT_OF2(x)
extern int prof__backtrace(void **to, int most)
    __asm__(PROF__TEXT_OF(__USER_LABEL_PREFIX__) "backtrace") __attribute__((weak));
PROF__FN uint32_t prof__unwind(void **to, uint32_t most) {
    int n = prof__backtrace(to, (int)most);
    return n < 0 ? 0 : (uint32_t)n;
}
#  define PROF__UNWINDS (prof__backtrace != NULL)
#else
#  define prof__unwind(to, most) 0u
#  define PROF__UNWINDS false
#endif

/* The unwinder begins in here: the caller's part begins where the call that began the zone returns
   to. */
PROF__FN uint32_t prof__native_unwind(prof__entry_frame entry, uintptr_t *to) {
    void *all[PROF__NATIVE_MOST + 16];
    uint32_t n = prof__unwind(all, PROF__NATIVE_MOST + 16), first = 0, count = 0;
    while (first < n && entry.returns && PROF__CODE(all[first]) != PROF__CODE(entry.returns))
        first++;
    if (first == n && entry.returns) to[count++] = PROF__CODE(entry.returns);
    for (; first < n && count < PROF__NATIVE_MOST; first++)
        if (all[first]) to[count++] = PROF__CODE(all[first]);
    return count;
}

PROF__FN uint32_t prof__native_read(prof__state *t, prof__entry_frame entry, uintptr_t *to) {
#if PROF__FRAMES
    if (prof__session.desc.native_stack == PROF_NATIVE_FRAMES)
        return prof__native_frames(t, entry, to);
#endif
    (void)t;
    return prof__native_unwind(entry, to);
}

/* Records the call stack of the zone that frame f is to hold. Room is there. */
PROF__FN void prof__native_begin(prof__state *t, prof__frame *f, prof__entry_frame entry) {
    uintptr_t addresses[PROF__NATIVE_MOST];
    prof__trail_key key = { 2166136261u, 0, NULL };
    prof__long l;
    uint32_t number = 0;
    key.addresses = addresses;
    key.count = prof__native_read(t, entry, addresses);
    for (uint32_t i = 0; i < key.count; i++)
        key.hash = (key.hash ^ (uint32_t)addresses[i] ^ (uint32_t)((uint64_t)addresses[i] >> 32)) *
                   16777619u;
    if (key.count && prof__lock_briefly()) {
        if (PROF__LOAD(prof__on) == t->generation) number = prof__trail_add(&key);
        prof__unlock();
    }
    if (!number) {
        PROF__COUNT(prof__details_cut);
        return;
    }
    prof__attribute_in(&l, t);
    prof__attribute_close_of(&l, f, PROF__NATIVE, 0, number);
}

/* NULL: call stacks can be read in this way; else why not. Reads one: the first time the unwinder
   may have to load its library. */
PROF__FN const char *prof__native_check(prof_native how) {
    void *some[4];
    if (how == PROF_NATIVE_FRAMES)
        return PROF__FRAMES ? NULL : "native_stack: no frame pointers on this system; try "
                                     "PROF_NATIVE_UNWIND";
    if (!PROF__UNWINDS)
        return "native_stack: the C library has no backtrace(); try PROF_NATIVE_FRAMES";
    return prof__unwind(some, 4) ? NULL : "native_stack: the unwinder finds nothing";
}
#endif

/* ---- @COUNTERS: what the hardware and the kernel count in each zone ---- */

#if !PROF__BARE
static struct prof__counting {
    uint32_t count;                      /* counters; 0: none */
    uint32_t serial;                     /* of the sessions that have some */
    char names[PROF_COUNTERS][32], text[128];   /* text: why there are none */
    uint32_t type[PROF_COUNTERS];
    uint64_t config[PROF_COUNTERS];
} prof__counting;

PROF__FN const char *prof__counting_say(const char *name, const char *why) {
    (void)prof_format_text(prof__counting.text, sizeof prof__counting.text, "counters: %s%s", name,
                           why);
    return prof__counting.text;
}
#endif

#if !PROF__BARE && defined(__linux__) && defined(__GNUC__) && !defined(__TINYC__) && \
    defined(__has_include)
#  if __has_include(<linux/perf_event.h>) && defined(SYS_perf_event_open)
#    define PROF__PERF 1
#  endif
#endif
#ifdef PROF__PERF
#  include <linux/perf_event.h>

#define PROF__CACHE_MISS(cache) ((uint64_t)(cache) | (uint64_t)1 << 16)

/* What a thread counts with: a group, whose first one is read for all of them. */
static __thread struct prof__perf_group {
    uint32_t serial, count;              /* of the session for which they were opened */
    uint64_t number;                     /* of this opening; 0: closed */
    int file[PROF_COUNTERS];
} prof__perf;
static uint64_t prof__perf_last;

/* The number in a line of names, which it passes by; false: there is none of that name. */
PROF__FN bool prof__counter_parse(const char *name, uint32_t *type, uint64_t *config) {
    static const struct { const char *name; uint32_t type; uint64_t config; } list[] = {
        { "cycles", 0, 0 }, { "cpu-cycles", 0, 0 }, { "instructions", 0, 1 },
        { "cache-references", 0, 2 }, { "cache-misses", 0, 3 }, { "branches", 0, 4 },
        { "branch-instructions", 0, 4 }, { "branch-misses", 0, 5 }, { "bus-cycles", 0, 6 },
        { "stalled-cycles-frontend", 0, 7 }, { "stalled-cycles-backend", 0, 8 },
        { "ref-cycles", 0, 9 }, { "cpu-clock", 1, 0 }, { "task-clock", 1, 1 },
        { "page-faults", 1, 2 }, { "context-switches", 1, 3 }, { "cpu-migrations", 1, 4 },
        { "minor-faults", 1, 5 }, { "major-faults", 1, 6 }, { "L1-dcache-loads", 3, 0 },
        { "L1-dcache-load-misses", 3, PROF__CACHE_MISS(0) }, { "LLC-loads", 3, 2 },
        { "LLC-load-misses", 3, PROF__CACHE_MISS(2) },
        { "dTLB-load-misses", 3, PROF__CACHE_MISS(3) },
        { "iTLB-load-misses", 3, PROF__CACHE_MISS(4) } };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        *type = list[i].type;
        *config = list[i].config;
        if (strcmp(name, list[i].name) == 0) return true;
    }
    *type = PERF_TYPE_RAW;
    *config = 0;
    if (name[0] != 'r' || !name[1] || strlen(name) > 17) return false;
    while (*++name) {
        char c = *name;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
        *config = *config << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

/* One of the group; -1: errno says why. What only the kernel does counts only where its events may
   be seen. Each is on its own: of a group that software counts, kernels have given old values for
   all but the first. */
PROF__FN int prof__perf_open_one(uint32_t i) {
    struct perf_event_attr a;
    bool software = prof__counting.type[i] == PERF_TYPE_SOFTWARE;
    bool kernel = software && (prof__counting.config[i] == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                               prof__counting.config[i] == PERF_COUNT_SW_CPU_MIGRATIONS);
    long file;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = prof__counting.type[i];
    a.config = prof__counting.config[i];
    a.exclude_kernel = !software;
    a.exclude_hv = 1;
    a.pinned = 1;                        /* counted all the time, or not at all */
    file = syscall(SYS_perf_event_open, &a, 0, -1, -1, (long)PERF_FLAG_FD_CLOEXEC);
    if (file < 0 && software && !kernel && (errno == EACCES || errno == EPERM)) {
        a.exclude_kernel = 1;
        file = syscall(SYS_perf_event_open, &a, 0, -1, -1, (long)PERF_FLAG_FD_CLOEXEC);
    }
    return (int)file;
}

PROF__FN void prof__perf_close(void) {
    uint32_t count = prof__perf.count;
    prof__perf.count = 0;
    prof__perf.number = 0;
    PROF__SIGNAL_FENCE();                /* no handler's zone reads what is closed */
    for (uint32_t i = 0; i < count; i++) close(prof__perf.file[i]);
    memset(&prof__perf, 0, sizeof prof__perf);
}

/* The calling thread's group, of this session. One that failed is not tried again. */
PROF__FN bool prof__perf_open(void) {
    uint32_t serial = prof__counting.serial;
    if (prof__perf.serial == serial) return prof__perf.number != 0;
    prof__perf_close();
    for (uint32_t i = 0; i < prof__counting.count; i++) {
        prof__perf.file[i] = prof__perf_open_one(i);
        if (prof__perf.file[i] < 0) {
            int error = errno;
            prof__perf_close();
            prof__perf.serial = serial;
            prof__perf.count = 0;
            errno = error;
            return false;
        }
        prof__perf.count++;
    }
    prof__perf.serial = serial;
    prof__perf.number = __atomic_add_fetch(&prof__perf_last, 1, __ATOMIC_RELAXED);
    return true;
}

PROF__FN bool prof__perf_read(uint64_t *values) {
    for (uint32_t i = 0; i < prof__perf.count; i++)
        if (read(prof__perf.file[i], values + i, sizeof *values) != (ssize_t)sizeof *values)
            return false;
    return true;
}

/* Where a state keeps what its open zones began with: a number of the opening, and the counters. */
PROF__FN uint64_t *prof__counted_of(prof__state *t, const prof__frame *f) {
    const struct prof_trace *s = &prof__trace;
    size_t each = 1 + prof__counting.count;
    if (t->counted_for != s->first_generation) {
        if (!prof__lock_briefly()) return NULL;
        t->counted = PROF__LOAD(prof__on) != t->generation ? NULL
                   : (uint64_t *)prof__take(s->max_depth * each * sizeof *t->counted, 0);
        t->counted_for = s->first_generation;
        prof__unlock();
    }
    return t->counted ? t->counted + f->depth * each : NULL;
}

PROF__FN void prof__counters_begin(prof__state *t, prof__frame *f) {
    uint64_t *counted = prof__counted_of(t, f);
    if (!counted) return;
    counted[0] = prof__perf_open() && prof__perf_read(counted + 1) ? prof__perf.number : 0;
    if (!counted[0]) PROF__COUNT(prof__details_cut);
}

PROF__FN void prof__counters_end(prof__state *t, prof__frame *f) {
    uint64_t now[PROF_COUNTERS], *counted = prof__counted_of(t, f);
    prof__long l;
    if (!counted || !counted[0] || counted[0] != prof__perf.number || !prof__perf_read(now) ||
        !prof__room(t, t->hooks.slots + 4)) {
        PROF__COUNT(prof__details_cut);
        return;
    }
    prof__attribute_in(&l, t);
    for (uint32_t i = 0; i < prof__counting.count; i++)
        prof__long_put(&l, now[i] - counted[1 + i]);
    prof__attribute_close_of(&l, f, PROF__COUNTED, prof__counting.count, 0);
}

PROF__FN const char *prof__perf_refusal(int error) {
    if (error == EACCES || error == EPERM)
        return ": not allowed (see /proc/sys/kernel/perf_event_paranoid)";
    if (error == EINVAL || error == ENOSPC) return ": does not fit beside the others";
    if (error == EMFILE || error == ENFILE) return ": too many open files";
    if (error == ENOSYS) return ": this kernel has no perf events";
    return ": this machine does not count it";
}

/* Takes the names apart; the calling thread opens them all, to see whether it can. NULL: it can;
   else why not. */
PROF__FN const char *prof__counters_start(const char *names) {
    struct prof__counting *c = &prof__counting;
    c->count = 0;
    while (*names) {
        size_t n = strcspn(names, ",");
        char *name = c->names[c->count];
        if (c->count == PROF_COUNTERS) return prof__counting_say("", "more than four");
        if (n >= sizeof c->names[0]) return prof__counting_say(names, ": not known");
        memcpy(name, names, n);
        name[n] = 0;
        if (!prof__counter_parse(name, c->type + c->count, c->config + c->count))
            return prof__counting_say(name, ": not known (see prof_hw_counter_name)");
        c->count++;
        names += n + (names[n] == ',');
    }
    c->serial++;
    for (uint32_t i = 0, count = c->count; i < count; i++) {
        c->count = i + 1;
        prof__perf.serial = 0;
        if (!prof__perf_open()) return prof__counting_say(c->names[i], prof__perf_refusal(errno));
    }
    PROF__STORE(prof__thread_leaves, &prof__perf_close);
    return c->count ? NULL : prof__counting_say("", "none is named");
}
#elif !PROF__BARE
PROF__FN void prof__counters_begin(prof__state *t, prof__frame *f) {
    (void)t;
    (void)f;
}
#define prof__counters_end prof__counters_begin
PROF__FN const char *prof__counters_start(const char *names) {
    (void)names;
    prof__counting.count = 0;
    return prof__counting_say("", "they need the perf events of Linux");
}
#endif

#if !PROF__BARE
/* The hooks of a zone's begin; the counters last, for they count from here. */
PROF__FN void prof__hook_begin(prof__state *t, prof__frame *f, prof__entry_frame entry) {
    if (prof__session.desc.native_stack) prof__native_begin(t, f, entry);
    if (prof__counting.count) prof__counters_begin(t, f);
}

/* What the description asks for beside zones; NULL: the system can do it; else why not. */
PROF__FN const char *prof__hooks_start(const prof_desc *d, bool recorded) {
    const char *why = d->native_stack ? prof__native_check(d->native_stack) : NULL;
    memset(&prof__hooks_now, 0, sizeof prof__hooks_now);
    prof__counting.count = 0;
    if (!why && d->hw_counters) why = prof__counters_start(d->hw_counters);
    if (why) prof__counting.count = 0;
    if (why || !recorded) return why;
    if (d->native_stack || d->hw_counters) {
        prof__hooks_now.begin = prof__hook_begin;
        prof__hooks_now.slots = PROF__EXTRA_SLOTS + 1 + PROF_COUNTERS;
    }
    if (d->hw_counters) prof__hooks_now.end = prof__counters_end;
    return NULL;
}
#endif

/* ---- @NEST: what lies in what; the one place that knows ----

   Zones come by their ends, and their depth tells, or spans by (thread, start, -end), and their
   times tell. Both end in prof__nest_close: what a zone took itself, and whether it is a duplicate,
   its parent's only child, of its name.
   - Closes come in post-order: a zone after all that lie in it.
   - Self times within a zone at depth 0 add up to its own time, duplicates or not.
   - A span that only partly overlaps the one around it ends it: it stands beside it.
   - A level's sums are those of the closes at its depth since the last one further out. */

/* What few zones have. */
#define PROF__EXTRAS (PROF_COUNTERS + PROF_OTHER_DEVICES)
typedef struct prof__amounts {           /* its children's too */
    int64_t device_ns, cpu_bytes, device_bytes;
    int64_t counters[PROF__EXTRAS];      /* behind the counters, of device_ns: other devices' */
} prof__amounts;
typedef struct prof__beside {
    prof__amounts all, within;           /* within: of its direct children */
    int64_t flops;
    int64_t lifted_ns;                   /* of duplicates, which it has if it is one itself */
    bool counted;                        /* it has counters, or other devices' time */
} prof__beside;

/* A zone that has ended. */
typedef struct prof__close {
    int64_t start_ns, end_ns, cpu_ns, self_ns;
    const prof__beside *beside;          /* NULL: nothing */
    uint32_t what, thread, depth;        /* what: whoever feeds knows: a site, a row, an event */
    uint32_t order;                      /* among closes of the same times */
    uint32_t number, from;               /* as it came, from 0; the first of all that lie in it */
    uint16_t flags;
} prof__close;
typedef void prof__taker(void *user, const prof__close *c);

/* Which event is a row's first: by (start, -end), as told, by thread and depth, as they came. */
typedef struct prof__rank {
    int64_t start_ns, end_ns;
    uint32_t order, thread, depth, number;
} prof__rank;

PROF__FN bool prof__rank_after(const prof__rank *a, const prof__rank *b) {
    if (a->start_ns != b->start_ns) return a->start_ns > b->start_ns;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns;
    if (!PROF__BARE && a->order != b->order) return a->order > b->order;
    if (a->thread != b->thread) return a->thread > b->thread;
    if (a->depth != b->depth) return a->depth > b->depth;
    return a->number > b->number;
}

/* Of what is told by records, not by events, which on targets is all. */
PROF__INLINE bool prof__ranked(const prof__rank *ranks) { return PROF__BARE || ranks; }

/* Does c come before r, which becomes its? first: there was none. */
PROF__EAGER bool prof__rank_take(prof__rank *r, const prof__close *c, bool first) {
    const prof__rank own = { c->start_ns, c->end_ns, c->order, c->thread, c->depth, c->number };
    if (PROF__LIKELY(!PROF__BARE && !first && c->start_ns > r->start_ns)) return false;
    if (!first && !prof__rank_after(r, &own)) return false;
    *r = own;
    return true;
}

/* Of a depth: what has ended there since the last close further out. from: the first of it. */
#if PROF__BARE                           /* there is_recursive is not told */
typedef struct prof__level { int64_t ns; } prof__level;
#  define prof__nest_from(l, c) ((void)(c))
#else
typedef struct prof__level { int64_t ns; uint32_t count, from; } prof__level;

PROF__EAGER void prof__nest_from(prof__level *l, prof__close *c) {
    c->from = l[1].count ? l[1].from : c->number;
    l[1].count = 0;
    if (!l->count++) l->from = c->from;
}
#endif

/* l: of the zone's depth; behind it that of its children, who are now its own. */
PROF__EAGER void prof__nest_close(prof__level *l, prof__close *c) {
    prof__nest_from(l, c);
    c->self_ns = PROF__MINUS(c->cpu_ns, l[1].ns);
    l[1].ns = 0;
    l->ns = PROF__PLUS(l->ns, c->cpu_ns);
}

#if !PROF__BARE
/* What spans have beside their times. */
typedef struct prof__siblings {
    prof__amounts all;
    bool held;                           /* `only` is still to be told of: it is the only one, */
    prof__close only;
    prof__beside beside;
    int64_t only_ns;                     /* and what is in it took so long */
} prof__siblings;

typedef struct prof__nest {
    prof__level *levels;                 /* room + 1 of each */
    prof__siblings *siblings;
    prof_span *open;
    uint32_t depth, room, thread, number;
    bool merge;
    bool (*same)(void *user, uint32_t a, uint32_t b);   /* are rows of one name? */
    prof__taker *take;
    void *user;
    uint64_t overlaps, duplicates;
} prof__nest;

PROF__FN void prof__amounts_add(prof__amounts *to, const prof__amounts *from) {
    to->device_ns = PROF__PLUS(to->device_ns, from->device_ns);
    to->cpu_bytes = PROF__PLUS(to->cpu_bytes, from->cpu_bytes);
    to->device_bytes = PROF__PLUS(to->device_bytes, from->device_bytes);
    for (int i = 0; i < PROF__EXTRAS; i++)
        to->counters[i] = PROF__PLUS(to->counters[i], from->counters[i]);
}

/* Of device time, what other devices took; less: of that, what does not count. */
PROF__FN void prof__others_add(prof__beside *to, const prof__amounts *from,
                               const prof__amounts *less) {
    for (int i = PROF_COUNTERS; i < PROF__EXTRAS; i++) {
        int64_t ns = less ? PROF__MINUS(from->counters[i], less->counters[i]) : from->counters[i];
        to->all.counters[i] = PROF__PLUS(to->all.counters[i], ns);
        to->counted = to->counted || ns;
    }
}

/* The first of siblings, where it is known not to be a duplicate. */
PROF__FN void prof__nest_tell(prof__nest *n, prof__siblings *l) {
    if (l->held) n->take(n->user, &l->only);
    l->held = false;
}

/* c has one child, of its name: that is no call, and what lies in it lies in c. */
PROF__FN void prof__nest_merge(prof__nest *n, const prof__close *c, prof__beside *b,
                               prof__siblings *kids) {
    const prof__beside *child = &kids->beside;
    int64_t own = PROF__PLUS(child->all.device_ns, child->lifted_ns);
    if (!(kids->only.flags & PROF_EVENT_LEGACY)) own = PROF__MINUS(own, child->within.device_ns);
    if (c->flags & PROF_EVENT_LEGACY) b->lifted_ns = own;
    else b->all.device_ns = PROF__PLUS(b->all.device_ns, own);
    prof__others_add(b, &child->all, &child->within);
    n->levels[c->depth + 1].ns = kids->only_ns;
    kids->all = child->within;
    kids->held = false;
    n->duplicates++;
}

/* A zone of c's depth has ended: c has its times, b what it has: of device time what it launched
   itself, all of it with PROF_EVENT_LEGACY; else what is in it, too. */
PROF__FN void prof__nest_end(prof__nest *n, prof__close *c, prof__beside *b) {
    prof__siblings *l = n->siblings + c->depth, *kids = l + 1;
    prof__level *level = n->levels + c->depth;
    int64_t only_ns;
    c->number = n->number++;
    if (kids->held && level[1].count == 1 && n->same(n->user, c->what, kids->only.what))
        prof__nest_merge(n, c, b, kids);
    prof__nest_tell(n, kids);
    only_ns = level[1].ns;
    prof__nest_close(level, c);
    b->within = kids->all;
    if (!(c->flags & PROF_EVENT_LEGACY)) {
        b->all.device_ns = PROF__PLUS(b->all.device_ns, kids->all.device_ns);
        prof__others_add(b, &kids->all, NULL);
    }
    memset(&kids->all, 0, sizeof kids->all);
    prof__nest_tell(n, l);
    prof__amounts_add(&l->all, &b->all);
    l->held = level->count == 1 && n->merge && c->depth;
    if (!l->held) {
        n->take(n->user, c);
        return;
    }
    l->only = *c;
    l->beside = *b;
    l->only.beside = &l->beside;
    l->only_ns = only_ns;
}

PROF__FN prof__close prof__close_of(const prof_span *span, uint32_t depth, prof__beside *b) {
    prof__close c;
    memset(&c, 0, sizeof c);
    memset(b, 0, sizeof *b);
    c.start_ns = span->start_ns;
    c.end_ns = span->end_ns;
    c.cpu_ns = PROF__MINUS(span->end_ns, span->start_ns);
    c.beside = b;
    c.what = span->row;
    c.thread = span->thread;
    c.depth = depth;
    c.order = span->order;
    c.flags = span->flags;
    b->all.device_ns = span->device_ns;
    b->all.cpu_bytes = span->cpu_bytes;
    b->all.device_bytes = span->device_bytes;
    b->counted = span->counters != NULL;
    if (b->counted)
        memcpy(b->all.counters, span->counters, PROF_COUNTERS * sizeof *b->all.counters);
    for (int i = 0; i < PROF_OTHER_DEVICES; i++) {
        b->all.counters[PROF_COUNTERS + i] = span->other_device_ns[i];
        b->counted = b->counted || span->other_device_ns[i];
    }
    b->flops = span->flops;
    return c;
}

/* Ends the innermost open span. */
PROF__FN void prof__nest_pop(prof__nest *n) {
    prof__beside b;
    prof__close c;
    n->depth--;
    c = prof__close_of(n->open + n->depth, n->depth, &b);
    prof__nest_end(n, &c, &b);
}

/* Does what ends at outer_ns hold what begins no earlier? PyTorch: _populate_cpu_children() */
PROF__INLINE bool prof__spans_hold(int64_t outer_ns, int64_t start_ns, int64_t end_ns,
                                   bool *overlaps) {
    if (start_ns >= outer_ns) return false;
    *overlaps = *overlaps || end_ns > outer_ns;
    return end_ns <= outer_ns;
}

PROF__EAGER uint32_t prof__spans_around(prof_nest *n, uint32_t top, int64_t start_ns,
                                        int64_t end_ns) {
    bool overlaps = false;
    while (top != PROF_NONE) {
        const char *span = (const char *)n->spans + top * n->size;
        if (prof__spans_hold(*(const int64_t *)(const void *)(span + n->end_ns), start_ns, end_ns,
                             &overlaps)) break;
        top = *(const uint32_t *)(const void *)(span + n->parent);
    }
    n->overlaps += overlaps;
    return top;
}

PROF_API PROF__QUIET uint32_t prof_nest_around(prof_nest *nest, uint32_t top, int64_t start_ns,
                                               int64_t end_ns) {
    return nest ? prof__spans_around(nest, top, start_ns, end_ns) : PROF_NONE;
}

PROF__FN prof_nest prof__nest_of(const struct prof_trace *s) {
    const prof_nest n = { s->events, sizeof *s->events, offsetof(prof_event, end_ns),
                          offsetof(prof_event, parent), 0 };
    return n;
}

/* Is the innermost open span around s? */
PROF__FN bool prof__nest_holds(const prof__nest *n, const prof_span *s, bool *overlaps) {
    const prof_span *p = n->open + n->depth - 1;
    if (p->flags & s->flags & PROF_SPAN_STEP) return false;
    return prof__spans_hold(p->end_ns, s->start_ns, s->end_ns, overlaps);
}

/* A span begins: those end that do not hold it. There is room for it. */
PROF__FN void prof__nest_begin(prof__nest *n, const prof_span *s) {
    bool overlaps = false;
    uint32_t i;
    while (n->depth && !prof__nest_holds(n, s, &overlaps)) prof__nest_pop(n);
    n->overlaps += overlaps;
    for (i = n->depth; i && s->flags & n->open[i - 1].flags & PROF_SPAN_LAUNCH; i--) {}
    n->open[n->depth] = *s;
    if (i && s->flags & PROF_SPAN_LAUNCH) {
        prof_span *own = n->open + n->depth, *to = n->open + i - 1;
        own->device_ns = 0;
        to->device_ns = PROF__PLUS(to->device_ns, s->device_ns);
        for (int k = 0; k < PROF_OTHER_DEVICES; k++) {
            own->other_device_ns[k] = 0;
            to->other_device_ns[k] = PROF__PLUS(to->other_device_ns[k], s->other_device_ns[k]);
        }
    }
    n->depth++;
}

/* The thread's spans are through: what is open ends. */
PROF__FN void prof__nest_thread(prof__nest *n, uint32_t thread) {
    while (n->depth) prof__nest_pop(n);
    if (n->room) {
        prof__nest_tell(n, n->siblings);
        memset(n->siblings, 0, sizeof *n->siblings);
        memset(n->levels, 0, sizeof *n->levels);
    }
    n->thread = thread;
}
#endif

/* ---- @COLLECT: records back to zones and moments, thread by thread ---- */

PROF__FN int64_t prof__rate_ns(uint64_t ticks, uint64_t rate) {
    if (rate == 1000000000u) return (int64_t)ticks;
#if PROF__BARE                           /* prof_start takes no rate of more bits */
    uint64_t part = (uint64_t)prof__divide(&ticks, (uint32_t)rate) * 1000000000u;
    (void)prof__divide(&part, (uint32_t)rate);
    return (int64_t)(ticks * 1000000000u + part);
#else
    return (int64_t)(ticks / rate * 1000000000u + ticks % rate * 1000000000u / rate);
#endif
}

/* Of a clock that is not the CPU's. */
PROF__FN uint64_t prof__clock_rate(const struct prof_trace *s) {
#if PROF__BARE
    return s->rate ? s->rate : 1000000000u;
#else
    return s->platform.ticks_per_second ? s->platform.ticks_per_second : 1000000000u;
#endif
}

/* Ticks of a clock whose rate is told, to ns since the session's start. */
PROF__FN int64_t prof__ticks_ns(uint64_t tick) {
    const struct prof_trace *s = &prof__trace;
    tick = tick < s->start_tick ? 0 : tick - s->start_tick;
#if PROF__BARE
    if (s->clock == PROF_CLOCK_CPU) tick >>= PROF__CLOCK_SHIFT;
#endif
    return prof__rate_ns(tick, prof__clock_rate(s));
}

#if PROF__BARE
typedef struct prof__scale { uint32_t none; } prof__scale;
#  define prof__to_ns(scale, tick) prof__ticks_ns(tick)
#else
/* Ticks to ns since the session's start. Linear between two knots; never decreasing. */
typedef struct prof__scale { uint64_t tick, ns, last_tick, mult; int shift; } prof__scale;

PROF__FN uint64_t prof__scale_ns(const prof__scale *k, uint64_t ticks) {
    uint64_t high = ticks >> 32, low = ticks & 0xffffffffu;
    return k->ns + ((high * k->mult) << (32 - k->shift)) + ((low * k->mult) >> k->shift);
}

/* Times count from base. */
PROF__FN prof__scale prof__scale_between(prof__knot a, prof__knot b, uint64_t base) {
    prof__scale k = { a.tick, 0, b.tick, 0, 0 };
    prof__real r = prof__real_div(prof__real_from((int64_t)(b.ns - a.ns)),
                                  prof__real_from((int64_t)(b.tick - a.tick)));
    k.ns = a.ns - base;
    if (!r.m) return k;
    k.mult = r.m >> 21;                  /* 32 bits; rounded down, so the next knot is not passed */
    k.shift = -(r.e + 21);
    while (k.shift > 32 || k.mult >> 32) {
        k.mult >>= 1;
        k.shift--;
    }
    return k;
}

PROF__FN int64_t prof__knots_ns(prof__scale *k, const prof__knot *knots, uint32_t count,
                                uint64_t tick) {
    uint32_t i = 1;
    if (tick < k->tick || tick > k->last_tick) {
        if (count < 2) return (int64_t)(tick - knots[0].tick);
        while (i + 1 < count && tick > knots[i].tick) i++;
        *k = prof__scale_between(knots[i - 1], knots[i], knots[0].ns);
    }
    return tick < k->tick ? (int64_t)k->ns : (int64_t)prof__scale_ns(k, tick - k->tick);
}

PROF__FN int64_t prof__to_ns(prof__scale *k, uint64_t tick) {
    const struct prof_trace *s = &prof__trace;
    if (s->clock == PROF_CLOCK_CPU) return prof__knots_ns(k, s->knots, s->knot_count, tick);
    return prof__ticks_ns(tick);
}
#endif

#if !PROF__BARE
/* What is recorded beside zones, while a thread's records are read: a zone that is still open has
   its extra here, by depth. Counting and building take the same way. */
typedef struct prof__pending {
    prof_extra *extra;
    uint32_t memory;                     /* 1 + the last of its memory records; 0: none */
    uint32_t arguments, argument_bytes;
    bool any, annotation, in_module;     /* in_module: it was open when its module ended, */
    prof_extra *module;                  /* which has this; else the innermost one it begins in */
} prof__pending;
/* Of a push: what begins at its depth, or further in, begins after it. */
typedef struct prof__module { prof_extra *extra; uint32_t bytes, depth; } prof__module;
#define PROF__MODULES 64
#define PROF__HIERARCHY_MOST 1000

typedef struct prof__details {
    char *p;                             /* where all of it goes; NULL: only counted */
    size_t used;
    uint32_t high;                       /* above the depths that have something pending */
    uint32_t max_depth;
    bool raw, swap;                      /* of a raw stream; of the other byte order */
    uint32_t module_count, modules_skipped;
    prof__pending open[PROF__LEVELS];
    prof__module modules[PROF__MODULES];
    prof_extra *node;                    /* of zones that have nothing else; NULL: none */
    uint32_t extras;                     /* rows of averages that they may make */
    uint32_t memory_count, async_count, made_count;
    const prof_extra *unnamed;           /* of memory's own events */
} prof__details;
static prof__details prof__details_now;

/* Zeroed memory for what is read; NULL: only counted. */
PROF__FN void *prof__details_take(prof__details *d, size_t bytes) {
    char *p = d->p ? d->p + d->used : NULL;
    d->used += (bytes + 7) & ~(size_t)7;
    return p ? memset(p, 0, bytes) : NULL;
}

/* The payload of a record, slot by slot; at == end: no more. */
typedef struct prof__payload {
    const prof__record *at, *end;
    prof__details *d;                    /* where it goes */
} prof__payload;

PROF__FN uint64_t prof__payload_number(prof__payload *p) {
    uint64_t n = 0;
    if (p->at < p->end) n = (uint64_t)p->at->duration << 32 | p->at->end;
    p->at += p->at < p->end;
    return n;
}

/* Some bytes of text, which numbers of the other byte order are not. */
PROF__FN void prof__payload_bytes(prof__payload *p, char *to, size_t bytes) {
    const char *from = (const char *)p->at++;
    for (size_t i = 0; p->d->swap && i < bytes; i++) to[i] = from[i ^ 3];
    if (!p->d->swap) memcpy(to, from, bytes);
}

/* Text of so many bytes, or as many as there are. NULL when only counted. */
PROF__FN char *prof__payload_text(prof__payload *p, size_t bytes) {
    size_t most = 8 * (size_t)(p->end - p->at);
    char *text;
    bytes = PROF__MIN(bytes, most);
    text = (char *)prof__details_take(p->d, bytes + 1);
    if (!text) p->at += (bytes + 7) / 8;
    for (size_t i = 0; text && i < bytes; i += 8)
        prof__payload_bytes(p, text + i, PROF__MIN(bytes - i, 8));
    return text;
}

PROF__FN const int64_t *prof__payload_dims(prof__payload *p, uint32_t *count) {
    int64_t *dims;
    *count = PROF__MIN(*count, (uint32_t)(p->end - p->at));
    dims = (int64_t *)prof__details_take(p->d, *count * sizeof *dims);
    for (uint32_t i = 0; i < *count; i++) {
        uint64_t n = prof__payload_number(p);
        if (dims) dims[i] = (int64_t)n;
    }
    return dims;
}

/* One shape; a list's items are no lists. */
PROF__FN prof_shape prof__payload_shape(prof__payload *p, bool item, uint32_t *dtype) {
    uint64_t head = prof__payload_number(p);
    prof_shape s = { NULL, NULL, 0 }, *items;
    uint32_t none;
    s.count = (uint32_t)head & INT32_MAX;
    *dtype = (uint32_t)(head >> 32);
    if (!((uint32_t)head >> 31) || item) {
        s.dims = prof__payload_dims(p, &s.count);
        return s;
    }
    s.count = PROF__MIN(s.count, (uint32_t)(p->end - p->at));
    s.items = items = (prof_shape *)prof__details_take(p->d, (s.count + 1) * sizeof *items);
    for (uint32_t i = 0; i < s.count; i++) {
        prof_shape one = prof__payload_shape(p, true, &none);
        if (items) items[i] = one;
    }
    return s;
}

PROF__FN void prof__payload_shapes(prof__payload *p, uint32_t count, uint32_t type,
                                   prof_extra *x) {
    bool strides = type == PROF__STRIDES;
    prof_shape *shapes = (prof_shape *)prof__details_take(p->d, count * sizeof *shapes);
    const char **dtypes =
        strides ? NULL : (const char **)prof__details_take(p->d, count * sizeof *dtypes);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes;
        prof_shape s = prof__payload_shape(p, false, &bytes);
        const char *text = strides || bytes == UINT32_MAX ? NULL : prof__payload_text(p, bytes);
        if (shapes) shapes[i] = s;
        if (dtypes) dtypes[i] = text ? text : "";
        any = any || text;
    }
    if (!x) return;
    if (type == PROF__OUTPUTS) {
        x->output_shapes = shapes;
        x->output_dtypes = any ? dtypes : NULL;
        x->output_count = count;
        return;
    }
    if (strides) x->strides = shapes;
    else x->input_shapes = shapes;
    if (any) x->dtypes = dtypes;
    x->input_count = x->input_count ? PROF__MIN(x->input_count, count) : count;
}

PROF__FN void prof__payload_tensors(prof__payload *p, uint32_t count, prof_extra *x) {
    prof_tensor *tensors = (prof_tensor *)prof__details_take(p->d, count * sizeof *tensors);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word[4];
        for (int k = 0; k < 4; k++) word[k] = prof__payload_number(p);
        if (!tensors) continue;
        tensors[i].id = word[0];
        tensors[i].storage = word[1];
        tensors[i].offset = (int64_t)word[2];
        tensors[i].device.type = (uint8_t)word[3];
        tensors[i].device.index = (int8_t)(word[3] >> 8);
    }
    if (!x) return;
    x->tensors = tensors;
    x->tensor_count = count;
}

PROF__FN const char *const *prof__payload_texts(prof__payload *p, uint32_t count) {
    const char **texts = (const char **)prof__details_take(p->d, count * sizeof *texts);
    for (uint32_t i = 0; i < count; i++) {
        const char *text = prof__payload_text(p, (size_t)prof__payload_number(p));
        if (texts) texts[i] = text;
    }
    return texts;
}

/* Adds an argument to those that the zone has. */
PROF__FN void prof__read_argument(prof__pending *z, prof__payload *p, size_t bytes) {
    const char *before = z->extra ? z->extra->metadata_json : NULL;
    size_t length = z->argument_bytes, most = 8 * (size_t)(p->end - p->at);
    char *text;
    bytes = PROF__MIN(bytes, most);
    if (++z->arguments > 16) {
        if (z->extra) PROF__COUNT(prof__details_cut);
        return;
    }
    text = (char *)prof__details_take(p->d, length + bytes + 2);
    z->argument_bytes = (uint32_t)(length + bytes + (length != 0));
    if (!text) return;
    z->extra->metadata_json = text;
    if (before) memcpy(text, before, length);
    if (before) text[length++] = ',';
    for (size_t i = 0; i < bytes; i += 8)
        prof__payload_bytes(p, text + length + i, PROF__MIN(bytes - i, 8));
}

/* The extra of the zone that is open at depth. */
PROF__FN prof__pending *prof__read_pending(prof__details *d, uint32_t depth) {
    prof__pending *z = d->open + depth;
    if (!z->any) {
        z->arguments = z->argument_bytes = 0;
        z->annotation = false;
        z->any = true;
        z->extra = (prof_extra *)prof__details_take(d, sizeof *z->extra);
        d->extras++;
    }
    d->high = PROF__MAX(d->high, depth + 1);
    return z;
}

PROF__FN void prof__read_sequence(prof__payload *p, prof_extra *x, uint32_t scope) {
    int64_t number = (int64_t)prof__payload_number(p);
    uint64_t thread = prof__payload_number(p);
    if (!x) return;
    x->scope = (uint8_t)scope;
    x->sequence_nr = number;
    x->has |= PROF_HAS_SEQUENCE_NR;
    x->fwd_thread = thread;
    if (scope == 1) x->has |= PROF_HAS_FWD_THREAD;
}

PROF__FN void prof__read_texts(prof__payload *p, prof_extra *x, uint32_t type, uint32_t count) {
    const char *const *texts;
    count = PROF__MIN(count, (uint32_t)(p->end - p->at));
    texts = prof__payload_texts(p, count);
    if (!x) return;
    if (type == PROF__STACKED) {
        x->stack = texts;
        x->stack_count = count;
    } else {
        x->concrete_inputs = texts;
        x->input_count = x->input_count ? PROF__MIN(x->input_count, count) : count;
    }
}

PROF__FN void prof__read_text(prof__payload *p, prof_extra *x, uint32_t type, size_t bytes) {
    const char *text = prof__payload_text(p, bytes);
    if (!x) return;
    if (type == PROF__OVERLOAD) x->overload_name = text;
    else if (type == PROF__HIERARCHY) x->module_hierarchy = text;
    else x->kwinputs = text;
}

/* The modules around, joined by dots; 1000 bytes at most. */
PROF__FN void prof__read_module(prof__payload *p, uint32_t depth, size_t bytes) {
    prof__details *d = p->d;
    const prof__module *up = d->module_count ? d->modules + d->module_count - 1 : NULL;
    uint32_t before = up ? up->bytes : 0, most = (uint32_t)(8 * (p->end - p->at));
    prof__module *m = d->modules + d->module_count;
    char *text;
    bytes = PROF__MIN(bytes, most);
    if (d->module_count == PROF__MODULES || before + bytes + 2 > PROF__HIERARCHY_MOST) {
        if (d->p) PROF__COUNT(prof__details_cut);
        d->modules_skipped++;
        return;
    }
    m->extra = (prof_extra *)prof__details_take(p->d, sizeof *m->extra);
    text = (char *)prof__details_take(p->d, before + bytes + 2);
    m->depth = depth;
    m->bytes = before + (uint32_t)bytes + (before != 0);
    d->module_count++;
    if (!text) return;
    m->extra->module_hierarchy = text;
    m->extra->has |= PROF__HAS_SHARED;
    if (before) memcpy(text, up->extra->module_hierarchy, before);
    if (before) text[before++] = '.';
    for (size_t i = 0; i < bytes; i += 8)
        prof__payload_bytes(p, text + before + i, PROF__MIN(bytes - i, 8));
}

/* Zones that began in the module and are open keep it. open: how many zones are. */
PROF__FN void prof__read_module_end(uint32_t open) {
    prof__details *d = &prof__details_now;
    const prof__module *m;
    if (d->modules_skipped || !d->module_count) {
        d->modules_skipped -= d->modules_skipped != 0;
        return;
    }
    m = d->modules + --d->module_count;
    open = PROF__MIN(open, prof__trace.max_depth);
    for (uint32_t i = m->depth; i < open; i++) {
        if (i < d->high && d->open[i].in_module) continue;
        d->open[i].in_module = true;
        d->open[i].module = m->extra;
    }
    d->high = PROF__MAX(d->high, open);
}

/* What a zone of this depth, which ends, has of modules; NULL: none. Those that were pushed within
   it go on behind it. */
PROF__FN prof_extra *prof__read_module_of(uint32_t depth) {
    prof__details *d = &prof__details_now;
    uint32_t n = d->module_count;
    for (; n && d->modules[n - 1].depth > depth; n--) d->modules[n - 1].depth = depth;
    if (d->open[depth].in_module) return d->open[depth].module;
    return n ? d->modules[n - 1].extra : NULL;
}

PROF__FN void prof__read_flops(prof__payload *p, prof_extra *x) {
    uint64_t flops = prof__payload_number(p);
    if (x) x->flops = (int64_t)PROF__MIN(flops, (uint64_t)INT64_MAX);
}

/* A call stack that has names. One given by hand stays. */
PROF__FN void prof__read_native(prof_extra *x, size_t number) {
    const prof__trail *r = number && number <= prof__trails.count ? prof__trails.list[number - 1]
                                                                  : NULL;
    if (!x || !r || !r->named || x->stack_count) return;
    x->stack = r->texts;
    x->stack_count = r->count;
    x->has |= PROF__HAS_NATIVE;
}

PROF__FN void prof__read_counted(prof__payload *p, prof_extra *x, uint32_t count) {
    const int64_t *counters;
    count = PROF__MIN(count, (uint32_t)PROF_COUNTERS);
    counters = prof__payload_dims(p, &count);
    if (!x) return;
    x->counters = counters;
    x->counter_count = (uint8_t)count;
}

/* Attributes, whatever the bytes are. */
PROF__FN void prof__read_attribute(prof__details *d, const prof__record *c,
                                   const prof__record *end) {
    uint32_t type = c->end & 0xff, depth = c->end >> 8 & 0xff, count = c->end >> 16;
    size_t bytes = c->duration;
    prof__pending *z;
    prof__payload p;
    p.at = c + 1;
    p.end = end;
    p.d = d;
    if (type == PROF__MODULE_PUSH && !d->raw) prof__read_module(&p, depth, bytes);
    if (type == PROF__MODULE_POP && !d->raw) prof__read_module_end(depth);
    if (!type || type >= PROF__MODULE_PUSH || depth >= d->max_depth) return;
    z = prof__read_pending(d, depth);
    if (type <= PROF__OUTPUTS)
        prof__payload_shapes(&p, PROF__MIN(count, (uint32_t)(end - p.at)), type, z->extra);
    else if (type == PROF__TENSORS)
        prof__payload_tensors(&p, PROF__MIN(count, (uint32_t)(end - p.at) / 4), z->extra);
    else if (type == PROF__CONCRETE || type == PROF__STACKED)
        prof__read_texts(&p, z->extra, type, count);
    else if (type == PROF__ARGUMENT) prof__read_argument(z, &p, bytes);
    else if (type == PROF__SEQUENCE) prof__read_sequence(&p, z->extra, count);
    else if (type == PROF__ANNOTATION) z->annotation = true;
    else if (type == PROF__COUNTED) prof__read_counted(&p, z->extra, count);
    else if (type == PROF__NATIVE) prof__read_native(d->raw ? NULL : z->extra, bytes);
    else if (type != PROF__FLOPS) prof__read_text(&p, z->extra, type, bytes);
    else prof__read_flops(&p, z->extra);
}

/* FLOPs by formula: prof_flops, which is in a room further on. */
static uint64_t (*prof__flops_by)(const char *op, const prof_shape *inputs, uint32_t count,
                                 const prof_flops_desc *desc);

PROF__FN void prof__flops_of(const prof_event *e, prof_extra *x) {
    prof_flops_desc few;
    uint64_t flops;
    memset(&few, 0, sizeof few);
    few.with_flops = true;
    few.concrete_inputs = x->concrete_inputs;
    few.kwinputs = x->kwinputs;
    flops = prof__flops_by(e->name, x->input_shapes, x->input_count, &few);
    x->flops = (int64_t)PROF__MIN(flops, (uint64_t)INT64_MAX);
}

/* What is pending from depth on belongs to nothing. */
PROF__FN void prof__details_drop(uint32_t depth) {
    prof__details *d = &prof__details_now;
    for (uint32_t i = depth; i < d->high; i++) {
        d->open[i].any = d->open[i].in_module = false;
        d->open[i].memory = 0;
    }
    d->high = PROF__MIN(d->high, depth);
}

/* A zone of depth has come: e is its event, NULL where they are only counted. What is pending
   further in belongs to nothing. */
PROF__FN void prof__read_details(uint32_t depth, prof_event *e) {
    prof__details *d = &prof__details_now;
    prof__pending *z = d->open + depth;
    prof_extra *m = prof__read_module_of(depth);
    if (e) e->extra = z->any ? z->extra : m ? m : d->node;
    if (e && z->any) {
        if (m && !z->extra->module_hierarchy)
            z->extra->module_hierarchy = m->module_hierarchy;
        if (z->annotation) e->flags |= PROF_EVENT_USER_ANNOTATION;
        if (prof__session.desc.with_flops && !z->extra->flops && z->extra->input_shapes)
            prof__flops_of(e, z->extra);
    }
    if (e && e->extra && d->node) {
        prof_extra *x = z->any ? z->extra : m ? m : d->node;
        x->has |= PROF_HAS_NODE_ID;
        x->node_id = d->node->node_id;
    }
    for (uint32_t i = z->memory; i && e; i = prof__trace.memory[i - 1].next)
        prof__trace.memory[i - 1].event = (uint32_t)(e - prof__trace.events);
    prof__details_drop(depth);
}

/* The next thread's records, or the first one's. */
PROF__FN void prof__details_row(void) {
    prof__details *d = &prof__details_now;
    prof__details_drop(0);
    d->module_count = d->modules_skipped = 0;
}

/* p: where all of it goes; NULL: it is only counted. */
PROF__FN void prof__details_open(char *p) {
    prof__details *d = &prof__details_now;
    uint32_t node = prof__session.desc.node;
    prof_extra *unnamed;
    memset(d, 0, sizeof *d);
    d->p = p;
    d->max_depth = prof__trace.max_depth;
    if (!prof__wide(&prof__trace)) return;
    unnamed = (prof_extra *)prof__details_take(d, sizeof *unnamed);
    if (unnamed) unnamed->trace_name = "";
    d->unnamed = unnamed;
    if (!node) return;
    d->node = (prof_extra *)prof__details_take(d, sizeof *d->node);
    if (!d->node) return;
    d->node->has = PROF_HAS_NODE_ID | PROF__HAS_SHARED;
    d->node->node_id = (int32_t)(node - 1);
}

PROF__FN void prof__details_close(struct prof_trace *s) {
    s->detail_bytes = prof__details_now.used;
    s->detail_rows = prof__details_now.extras + (prof__details_now.made_count ? 2 : 0);
    s->memory_count = prof__details_now.memory_count;
    s->async_count = prof__details_now.async_count;
    s->made_count = prof__details_now.made_count;
    s->read = true;
}
#else
#  define prof__details_row() ((void)0)
#  define prof__details_open(p) ((void)0)
#  define prof__details_close(s) ((void)0)
#  define prof__read_details(depth, e) ((void)(e))
#endif

/* What the reader hands on: zones in the order of their ends, innermost first, and moments. */
typedef struct prof__moment {
    int64_t ns, value;
    uint32_t thread, site;
    uint8_t kind;                        /* PROF__MOMENT_... */
} prof__moment;
enum { PROF__MOMENT, PROF__MOMENT_COUNTER, PROF__MOMENT_REAL, PROF__MOMENT_FLOW,
       PROF__MOMENT_FLOW_END,
       PROF__MOMENT_NONE };
typedef struct prof__zone {
    uint64_t start, end;
    uint32_t site, depth;
    bool unfinished, partial;            /* partial: a ring has lost what was within it */
} prof__zone;
struct prof__reader;

/* Who takes the zones of a trace as they close, thread by thread. */
typedef struct prof__feed {
    prof__taker *take;                    /* NULL: they are only counted */
    void *user;
    void (*row)(void *user, const prof__row *row);   /* a thread's follow; NULL: no matter */
    void (*moment)(void *user, const prof__moment *m);   /* NULL: kept in lists, or counted */
    void (*segment)(struct prof__reader *r, const prof__record *c, const prof__record *end);
    prof_event **event;                  /* what take made of the zone; NULL: no event */
} prof__feed;

typedef struct prof__reader {
    const prof__feed *feed;
    bool counting;                       /* all that is no zone is only counted */
    prof__moment *moments;
    uint32_t thread, zones, unfinished, moment_count;
    uint32_t pending;                    /* depths whose zone is still to come, */
    uint64_t first_start[PROF__LEVELS];  /* and when the first zone within it began */
    uint64_t after[PROF__LEVELS];        /* it begins then or later: the one before it ended */
    prof__cursor k;
    uint64_t latest;                     /* no end comes after it */
    uint64_t lost;
    uint64_t oldest;                     /* end of the first record that a ring holds */
    uint32_t number;                     /* of closes, over all threads */
    prof__scale scale;
    prof__level levels[PROF__LEVELS + 1];
} prof__reader;

PROF__EAGER prof__close prof__read_close(prof__reader *r, const prof__zone *z) {
    prof__close c;
    c.start_ns = prof__to_ns(&r->scale, z->start);
    c.end_ns = prof__to_ns(&r->scale, z->end);
    c.cpu_ns = c.end_ns - c.start_ns;
    c.beside = NULL;
    c.what = z->site;
    c.thread = r->thread;
    c.depth = z->depth;
    c.order = 0;
    c.number = r->number++;
    c.flags = z->unfinished ? PROF_EVENT_UNFINISHED : 0;
    if (z->partial) c.flags |= PROF_EVENT_PARTIAL;
    prof__nest_close(r->levels + z->depth, &c);
    PROF__ASSERT(c.self_ns >= 0);
    return c;
}

/* A zone that is whole, after those within it. */
PROF__EAGER void prof__read_place(prof__reader *r, prof__zone *z, prof__taker *take) {
    PROF__ASSERT(z->depth + 1 >= r->pending && z->start <= z->end);
    r->zones++;
    if (!PROF__BARE) r->unfinished += z->unfinished && z->site;   /* 0: lost */
    if (!PROF__BARE && r->oldest == UINT64_MAX) r->oldest = z->end;
    z->partial = !PROF__BARE && z->start < r->oldest;
    if (r->pending <= z->depth) {
        z->start = PROF__MAX(z->start, r->k.last);
        for (uint32_t d = r->pending; d <= z->depth; d++) {
            r->first_start[d] = z->start;
            r->after[d] = r->k.last;
        }
    } else {
        z->start = PROF__MAX(z->start, r->after[z->depth]);
        if (z->depth && r->first_start[z->depth - 1] > z->start)
            r->first_start[z->depth - 1] = z->start;
    }
    r->k.last = z->end;
    r->pending = z->depth;
    if (take) {
        prof__close c = prof__read_close(r, z);
        take(r->feed->user, &c);
    }
    if (PROF__UNLIKELY(prof__wide(&prof__trace)))
        prof__read_details(z->depth, take && r->feed->event ? *r->feed->event : NULL);
}

/* Where a signal handler's zone took the place of another's record, "(lost)" stands for that one,
   so that what was inside keeps its place. What began before its parent is another's. */
PROF__FN void prof__read_lost(prof__reader *r, uint32_t down_to) {
    while (r->pending > down_to) {
        prof__zone z = { 0, 0, 0, 0, true, false };
        z.depth = r->pending - 1;
        z.start = r->first_start[z.depth];
        z.end = r->k.last;
        r->lost++;
        prof__read_place(r, &z, r->feed->take);
    }
}

PROF__EAGER void prof__read_zone_inline(prof__reader *r, uint64_t end, uint64_t duration,
                                         uint32_t site_depth, bool unfinished,
                                         prof__taker *take) {
    prof__zone z;
    z.depth = site_depth & 0xff;
    if (PROF__UNLIKELY(z.depth >= prof__depths(&prof__trace) ||
                       !prof__site_known(site_depth >> 8))) {
        r->lost++;                       /* not a record of ours */
        return;
    }
    if (PROF__UNLIKELY(r->pending > z.depth + 1)) prof__read_lost(r, z.depth + 1);
    if (end < r->k.last) {               /* the clock went back */
        prof__trace.steps++;
        end = r->k.last;
    }
    z.start = duration > end ? end : end - duration;
    z.end = end;
    if (!PROF__BARE && PROF__UNLIKELY(end > r->latest)) {   /* it went on while prof_stop came */
        z.end = r->latest;
        z.start = PROF__MIN(z.start, z.end);
    }
    z.site = site_depth >> 8;
    z.unfinished = unfinished;
    if (r->pending > z.depth && r->first_start[z.depth] < z.start) prof__read_lost(r, z.depth);
    prof__read_place(r, &z, take);
}

PROF__FN void prof__read_zone(prof__reader *r, uint64_t end, uint64_t duration, uint32_t site_depth,
                              bool unfinished) {
    prof__read_zone_inline(r, end, duration, site_depth, unfinished, r->feed->take);
}

PROF__FN void prof__read_moment(prof__reader *r, const prof__record *c, uint32_t kind) {
    uint64_t tick = (uint64_t)c->duration << 32 | c->end;
    bool fed = !PROF__BARE && r->feed->moment;
    prof__moment one, *m = &one;
    if (!prof__site_known(c[1].site_depth >> 8)) {
        r->lost++;
        return;
    }
    r->moment_count++;
    if (r->counting) return;
    if (!fed) m = r->moments + (r->moment_count - 1);
    m->ns = prof__to_ns(&r->scale, PROF__BARE ? tick : PROF__MIN(tick, r->latest));
    m->value = (int64_t)((uint64_t)c[1].duration << 32 | c[1].end);
    m->thread = r->thread;
    m->site = c[1].site_depth >> 8;
    m->kind = kind == PROF__REAL ? PROF__MOMENT_REAL :
              kind == PROF__COUNTER ? PROF__MOMENT_COUNTER : PROF__MOMENT;
    if (fed) r->feed->moment(r->feed->user, m);
}

#if PROF__BARE
#  define prof__read_step(r, c) ((void)0)
#else
/* Steps come as events from outside: after the recorded ones, until they are put in order. */
PROF__FN void prof__read_step(prof__reader *r, const prof__record *c) {
    struct prof_trace *s = &prof__trace;
    uint32_t n = s->step_count++;
    prof__step *step;
    prof_event *e;
    if (r->counting) return;
    step = s->step_list + n;
    e = s->events + s->event_count - 1 - n;
    memset(step, 0, sizeof *step);
    memset(e, 0, sizeof *e);
    memcpy(step->name, "ProfilerStep#", 13);
    *prof__text_u64(step->name + 13, prof__record_get(c + 2)) = 0;
    step->extra.trace_name = step->name;
    if (prof__details_now.node) {        /* else they would not hold the zones, which have it */
        step->extra.has = PROF_HAS_NODE_ID;
        step->extra.node_id = prof__details_now.node->node_id;
    }
    e->name = "ProfilerStep*";
    e->extra = &step->extra;
    e->start_ns = prof__to_ns(&r->scale, prof__record_get(c));
    e->end_ns = PROF__MAX(prof__to_ns(&r->scale, prof__record_get(c + 1)), e->start_ns);
    e->thread = r->thread;
    e->parent = e->first_child = e->next_sibling = PROF_NONE;
    e->flags = PROF_EVENT_USER_ANNOTATION | PROF_EVENT_SUBMITTED | PROF__EVENT_STEP;
}

/* The next event made of what is no zone; NULL where they are only counted. */
PROF__FN prof_event *prof__read_made(prof__reader *r, const char *name) {
    struct prof_trace *s = &prof__trace;
    prof_event *e;
    uint32_t n = prof__details_now.made_count++;
    if (r->counting) return NULL;
    e = s->events + s->zone_count + n;
    memset(e, 0, sizeof *e);
    e->name = name;
    e->flags = PROF_EVENT_SUBMITTED;
    e->thread = r->thread;
    e->parent = e->first_child = e->next_sibling = PROF_NONE;
    return e;
}

PROF__FN int64_t prof__read_ns(prof__reader *r, uint64_t tick) {
    return prof__to_ns(&r->scale, PROF__MIN(tick, r->latest));
}

/* Memory: the zone that has it is still to come; without one it is an event of its own. */
PROF__FN void prof__read_memory(prof__reader *r, const prof__record *c) {
    prof__details *d = &prof__details_now;
    uint64_t info = prof__record_get(c + 3);
    uint32_t depth = (uint32_t)(info >> 8) & 0xff, n = d->memory_count++;
    bool out = (info & 0xff) == PROF__NO_MEMORY;
    prof__memory *m;
    prof_event *e = NULL;
    if (depth >= prof__trace.max_depth)
        e = prof__read_made(r, out ? "[OutOfMemory]" : "[memory]");
    if (r->counting) return;
    m = prof__trace.memory + n;
    memset(m, 0, sizeof *m);
    m->ns = prof__read_ns(r, prof__record_get(c));
    m->address = prof__record_get(c + 1);
    m->bytes = (int64_t)prof__record_get(c + 2);
    m->event = PROF_NONE;
    m->thread = r->thread;
    m->what = (uint8_t)PROF__MIN(info & 0xff, (uint64_t)PROF__NOT_COUNTED);
    m->device_type = (uint8_t)(info >> 16);
    m->device_index = (int8_t)(uint8_t)(info >> 24);
    m->category = (uint8_t)(info >> 32 & 7);
    if (e) {
        e->flags |= PROF__EVENT_MEMORY;  /* beside the zones, also in the same moment */
        e->start_ns = e->end_ns = m->ns;
        e->extra = d->unnamed;
        m->event = (uint32_t)(e - prof__trace.events);
        return;
    }
    m->next = d->open[depth].memory;
    d->open[depth].memory = n + 1;
    d->high = PROF__MAX(d->high, depth + 1);
}

typedef struct prof__range_key { uint64_t id; } prof__range_key;
PROF__FN bool prof__range_same(const void *context, uint32_t number) {
    const prof__range_key *k = (const prof__range_key *)context;
    return (uint64_t)prof__trace.events[number].extra->id == k->id;
}

/* The index of the thread whose row has this number; other: nothing is kept of it. */
PROF__FN uint32_t prof__thread_numbered(const struct prof_trace *s, uint32_t number,
                                        uint32_t other) {
    const prof__row *row = s->rows;
    if (s->row_number == s->thread_count) return number;   /* no toggle, and no row used again */
    while (row && row->number < number) row = row->next;
    return row && row->number == number ? row->thread : other;
}

PROF__FN void prof__read_async(prof__reader *r, const prof__record *c) {
    struct prof_trace *s = &prof__trace;
    prof__details *d = &prof__details_now;
    uint64_t where = prof__record_get(c + 3);
    uint32_t site = (uint32_t)(where >> 32), thread = (uint32_t)where, *place;
    prof_extra *x = (prof_extra *)prof__details_take(d, sizeof *x);
    prof__range_key key;
    prof_event *e;
    int64_t end_ns;
    d->async_count++;
    if (!prof__site_known(site) || thread >= s->row_number) {
        r->lost++;
        return;
    }
    key.id = prof__record_get(c + 2);
    place = r->counting ? NULL : prof__place_of(s->async_index, 2 * s->async_count, key.id,
                                                prof__range_same, &key);
    end_ns = prof__read_ns(r, prof__record_get(c + 1));
    if (place && *place) {               /* ended twice: the earlier one counts */
        s->async_twice++;
        e = s->events + *place - 1;
        if (end_ns >= e->end_ns) return;
        x->id = (int64_t)key.id;
    } else {
        e = prof__read_made(r, prof__site(site)->name);
        if (!e) return;
        *place = (uint32_t)(e - s->events) + 1;
    }
    e->start_ns = prof__read_ns(r, prof__record_get(c));
    e->end_ns = PROF__MAX(e->start_ns, end_ns);
    e->flags |= PROF_EVENT_ASYNC;
    e->site = site;
    e->thread = prof__thread_numbered(s, thread, r->thread);
    e->extra = x;
    x->has = PROF_HAS_ID | PROF_HAS_END_THREAD;
    x->id = (int64_t)key.id;
    x->end_thread = s->threads[r->thread].id;
}

PROF__FN void prof__read_flow(prof__reader *r, const prof__record *c) {
    uint64_t number = prof__record_get(c + 1);
    uint32_t n = r->moment_count++;
    prof__moment one, *m = &one;
    if (r->counting) return;             /* its site means nothing */
    if (!r->feed->moment) m = r->moments + n;
    m->ns = prof__read_ns(r, prof__record_get(c));
    m->value = (int64_t)(number >> 1);
    m->thread = r->thread;
    m->kind = number & 1 ? PROF__MOMENT_FLOW_END : PROF__MOMENT_FLOW;
    if (r->feed->moment) r->feed->moment(r->feed->user, m);
}

/* A record of many slots. */
PROF__FN void prof__read_detail(prof__reader *r, const prof__record *c, uint32_t kind,
                                uint32_t slots) {
    if (kind == PROF__ATTRIBUTE) prof__read_attribute(&prof__details_now, c, c + 1 + slots);
    else if (kind == PROF__MEMORY && slots == 3) prof__read_memory(r, c);
    else if (kind == PROF__ASYNC && slots == PROF__EXTRA_SLOTS) prof__read_async(r, c);
    else if (kind == PROF__FLOW && slots == 1) prof__read_flow(r, c);
    else r->lost++;
}
#endif

/* What is no plain zone. */
PROF__FN void prof__read_item(prof__reader *r, const prof__item *i) {
    if (i->kind == PROF__ZONE64 || i->kind == PROF__UNFINISHED)
        prof__read_zone(r, i->end, i->duration, i->site_depth, i->kind == PROF__UNFINISHED);
    else if (i->kind == PROF__STEP) prof__read_step(r, i->at);
    else if (i->kind == PROF__INSTANT || i->kind == PROF__COUNTER)
        prof__read_moment(r, i->at, i->kind);
#if !PROF__BARE
    else if (i->kind == PROF__REAL && i->slots == 2)
        prof__read_moment(r, i->at, i->kind);
    else if (i->kind >= PROF__ATTRIBUTE && i->kind <= PROF__FLOW)
        prof__read_detail(r, i->at, i->kind, i->slots - 1);
#endif
    else if (i->kind != PROF__CLOCK && i->kind != PROF__PART) r->lost++;
}

/* The plain zones are read in place: an item that others may see would be stored each time. */
PROF__EAGER void prof__read_records(prof__reader *r, const prof__record *c,
                                    const prof__record *end, prof__taker *take) {
    prof__item i;
    r->k.end = end;
    while (c < end) {
        if (PROF__LIKELY(c->site_depth >> 8 < PROF__KIND)) {
            prof__read_zone_inline(r, prof__cursor_end(&r->k, c->end), c->duration, c->site_depth,
                                   false, take);
            c++;
            continue;
        }
        r->k.at = c;
        prof__next_long(&r->k, &i);
        prof__read_item(r, &i);
        c = r->k.at;
    }
}

PROF__FN PROF__RACES size_t prof__dropped(const struct prof_trace *s, const prof__counts *c) {
    return c->full + c->deep + c->sites + s->dropped_threads;
}

#define PROF__STAT_TAKE(name, value, place, note) out->name = value;

PROF__FN PROF__RACES void prof__stats_take(prof_stats *out, const struct prof_trace *s,
                                           const prof__counts *c) {
    memset(out, 0, sizeof *out);
    PROF__STATS(PROF__STAT_TAKE, PROF__STAT_HOST(PROF__STAT_TAKE), PROF__STAT_NONE)
    out->dropped = prof__dropped(s, c);
}

PROF__FN void prof__read_segment(prof__reader *r, const prof__record *c, const prof__record *end) {
    prof__read_records(r, c, end, r->feed->take);
}

#if PROF__BARE                           /* prof_stop leaves the states as they are */
#  define prof__row_cursor(row) (prof__row_state(row)->hot.cursor)
#  define prof__row_stop(row) (prof__trace.time)
#  define prof__row_overwritten(row) 0
#  define prof__row_latest() UINT64_MAX
#  define prof__stands_for_sums(site) false

PROF__FN uint32_t prof__row_open_count(const prof__row *row) {
    return prof__trace.open ? 0 : (uint32_t)prof__open_zones(prof__row_state(row));
}

PROF__FN prof__open prof__row_open(const prof__row *row, uint32_t i) {
    const prof__frame *f = prof__row_state(row)->frames + i;
    prof__open o = { 0, 0, 0 };
    o.start = prof__start_of(f);
    o.site = f->site_depth & ~(uint32_t)0xff;
    o.depth = i;
    return o;
}

/* All counts but that of the zones, which the records tell. */
PROF__FN prof_stats prof__counts_now(struct prof_trace *s) {
    prof_stats stats, *out = &stats;
    prof__stats_take(out, s, &s->counts);
    for (const prof__row *row = s->rows; row; row = row->next)
        out->unfinished += prof__row_open_count(row);
#if PROF__STB
    out->names_cut = s->names_cut;
#endif
    out->threads = s->row_count;
    out->clock = (prof_clock)s->clock;
    out->ticks_per_second = s->clock ? prof__clock_rate(s) : 0;
    out->bytes_total = (size_t)(prof__arena.end - prof__arena.base);
    out->bytes_used = out->bytes_total - prof__arena.room;
    return stats;
}
#else
#  define prof__row_cursor(row) ((row)->cursor)
#  define prof__row_stop(row) ((row)->stop_tick)
#  define prof__row_open_count(row) ((row)->open_count)
#  define prof__row_overwritten(row) ((row)->overwritten)
#  define prof__row_latest() \
    (prof__trace.clock == PROF_CLOCK_CPU ? prof__trace.stop_tick : UINT64_MAX)
#  define prof__row_open(row, i) ((row)->open[i])
#  define prof__stands_for_sums(site) ((site) >> 8 == prof__trace.in_sums)

/* Counts of threads, and those of no thread, as the caller sees them. prof_dump has no lock: for it
   the latter may be a moment old. */
PROF__FN PROF__RACES void prof__stats_add(prof_stats *out, const prof__counts *c) {
    const struct prof_trace *s = &prof__trace;
    uint64_t ended;
    prof__stats_take(out, s, c);
    out->dropped += out->dropped_busy;
    out->recorded = c->slots - PROF__MIN(c->extra, c->slots);
    out->cut += PROF__LOAD(prof__cut);
    ended = c->async_ends - PROF__MIN(s->async_twice, c->async_ends);
    ended += PROF__LOAD(prof__async_dropped);
    if (s->stopped && !s->records_only && c->async > ended) out->async_open = c->async - ended;
    if (!s->average) out->summed = c->summed;
    out->threads = s->came;
}
#endif

/* One thread: its segments up to where prof_stop found the cursor, then the zones it ended. */
PROF__FN void prof__read_row(prof__reader *r, const prof__row *row) {
    prof__details_row();
    r->latest = prof__row_latest();
    r->oldest = prof__row_overwritten(row) ? UINT64_MAX : 0;
    for (const prof__segment *g = row->first; g; g = g->next) {
        const prof__record *end = g->end ? g->end : prof__row_cursor(row);
        if (end > g->begin && end <= g->limit)
            (r->feed->segment ? r->feed->segment : prof__read_segment)(r, g->begin, end);
    }
    for (uint32_t i = prof__row_open_count(row); i--;) {
        prof__open o = prof__row_open(row, i);
        uint64_t stop = PROF__MAX(prof__row_stop(row), r->k.last);
        prof__read_zone(r, stop, stop < o.start ? 0 : stop - o.start, o.site | o.depth,
                        !prof__stands_for_sums(o.site));
    }
    prof__read_lost(r, 0);
}

/* ---- @TREE: zones in post-order to events in order of start, in one pass ---- */

/* A zone's place in pre-order is known when its record comes: its place in post-order, less the
   zones below it, plus its depth. For each depth we keep what the zone still open there has so
   far. */
typedef struct prof__branch { uint32_t first, child, last; } prof__branch;

typedef struct prof__tree {
    struct prof_trace *s;
    prof_event *events;                  /* of this thread, from 0 */
    prof_event *made;                    /* the last; NULL: there was no room */
    uint32_t count, offset, thread;      /* zones so far; index of events[0] in the trace */
    size_t room;                         /* events from events[0] on; none once they ran out */
    uint32_t pending;                    /* depths that have zones below one still open */
    bool touching;                       /* a zone began when the one before it ended */
#if !PROF__BARE
    bool instants;                       /* a zone took no time */
#endif
    int64_t root_end_ns;
    prof__branch levels[PROF__LEVELS + 1];
} prof__tree;

/* Depths from pending to depth get their first descendant now. */
PROF__FN void prof__tree_begin(prof__tree *t, uint32_t depth) {
    for (uint32_t d = t->pending; d <= depth; d++) {
        prof__branch *l = t->levels + d;
        l->first = t->count;
        l->child = l->last = PROF_NONE;
    }
}

PROF__EAGER void prof__tree_add(void *tree, const prof__close *c) {
    prof__tree *t = (prof__tree *)tree;
    prof__branch *own, *up;
    prof_event *e;
    uint32_t depth = c->depth, at;
    if (depth >= t->pending) prof__tree_begin(t, depth);
    own = t->levels + depth;
    at = own->first + depth;             /* = post-order place - zones below + depth */
    t->count++;
    t->made = NULL;
    if (PROF__UNLIKELY(at >= t->room)) {
        t->room = 0;
        return;
    }
    t->made = e = t->events + at;
    e->name = prof__site(c->what)->name;
    e->start_ns = c->start_ns;
    e->end_ns = c->end_ns;
    e->self_cpu_time_total_ns = c->self_ns;
    e->first_child = own->child;
    e->next_sibling = PROF_NONE;
    e->thread = c->thread;
    e->site = c->what;
    e->depth = (uint8_t)depth;
    e->device_type = PROF_DEVICE_CPU;
    e->flags = c->flags;
    e->extra = NULL;
#if !PROF__BARE
    t->instants |= e->start_ns == e->end_ns;
#endif
    t->pending = depth;
    if (!depth) {
        e->parent = PROF_NONE;
        if (e->start_ns <= t->root_end_ns) t->touching = true;
        t->root_end_ns = e->end_ns;
        return;
    }
    up = own - 1;
    e->parent = up->first + depth - 1 + t->offset;
    if (up->last == PROF_NONE) {
        up->child = at + t->offset;
    } else {
        prof_event *before = t->events + up->last;
        before->next_sibling = at + t->offset;
        if (e->start_ns <= before->end_ns) t->touching = true;
    }
    up->last = at;
}

/* Events come by (start, -end, thread, depth), the order of ends deciding the rest. */
PROF__FN bool prof__event_after(const prof_event *a, const prof_event *b) {
    if (a->start_ns != b->start_ns) return a->start_ns > b->start_ns;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns;
    if (a->thread != b->thread) return a->thread > b->thread;
    if (a->depth != b->depth) return a->depth > b->depth;
    return (a->flags & PROF_EVENT_SUBMITTED) < (b->flags & PROF_EVENT_SUBMITTED);
}

typedef bool (*prof__after)(const void *context, uint32_t a, uint32_t b);

/* A stable merge sort of n indices; other: room for n. */
PROF__FN void prof__sort(uint32_t *list, uint32_t *other, uint32_t n, prof__after after,
                         const void *context) {
    for (uint32_t width = 1; width < n; width = width > n / 2 ? n : width * 2) {
        for (uint32_t at = 0; at < n; at += PROF__MIN(2 * width, n - at)) {
            uint32_t i = at, middle = at + PROF__MIN(width, n - at), j = middle;
            uint32_t end = middle + PROF__MIN(width, n - middle);
            for (uint32_t k = at; k < end; k++) {
                bool right = i == middle || (j < end && after(context, list[i], list[j]));
                other[k] = right ? list[j++] : list[i++];
            }
        }
        memcpy(list, other, n * sizeof *list);
    }
}

PROF__FN bool prof__events_after(const void *events, uint32_t a, uint32_t b) {
    return prof__event_after((const prof_event *)events + a, (const prof_event *)events + b);
}

#ifdef PROF_ASSERTS
/* Do the links of events agree? A parent stands before its children; these are linked in the order
   they began, which in one tick need not be that of the events. */
PROF__FN bool prof__events_hold(const prof_event *events, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = events + i;
        uint32_t child = e->first_child, next = e->next_sibling;
        if (e->parent != PROF_NONE && e->parent >= i) return false;
        if (child != PROF_NONE && (child <= i || child >= n || events[child].parent != i))
            return false;
        if (next != PROF_NONE && (next >= n || events[next].start_ns < e->start_ns ||
                                  events[next].parent != e->parent)) return false;
    }
    return true;
}
#endif

/* Moves events to the places that order names, and their links with them. place: room for n. */
PROF__FN void prof__events_permute(prof_event *events, uint32_t *order, uint32_t *place,
                                   uint32_t n) {
    for (uint32_t i = 0; i < n; i++) place[order[i]] = i;
    for (uint32_t i = 0; i < n; i++) {
        prof_event *e = events + i;
        if (e->parent != PROF_NONE) e->parent = place[e->parent];
        if (e->first_child != PROF_NONE) e->first_child = place[e->first_child];
        if (e->next_sibling != PROF_NONE) e->next_sibling = place[e->next_sibling];
    }
    for (uint32_t i = 0; i < n; i++) {   /* a cycle at a time */
        prof_event moved = events[i];
        uint32_t at = i;
        while (order[at] != i) {
            uint32_t from = order[at];
            events[at] = events[from];
            order[at] = at;
            at = from;
        }
        events[at] = moved;
        order[at] = at;
    }
}

PROF__FN bool prof__events_in_order(const prof_event *events, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (prof__event_after(events + i - 1, events + i)) return false;
    return true;
}

PROF__FN void prof__events_sort(prof_event *events, uint32_t n, char *scratch) {
    uint32_t *order = (uint32_t *)(void *)scratch, *place = order + n;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    prof__sort(order, place, n, prof__events_after, events);
    prof__events_permute(events, order, place, n);
}

/* The end of the scratch memory. */
PROF__FN const char *prof__scratch_end(const struct prof_trace *s) {
#if !PROF__BARE
    if (s->limit) return s->limit;
#endif
    (void)s;
    return prof__arena.high;
}

/* The next row's zones follow. */
PROF__FN void prof__tree_row(void *tree, const prof__row *row) {
    prof__tree *t = (prof__tree *)tree;
    const char *end = prof__scratch_end(t->s);
    (void)row;
    t->offset += t->count;
    t->events = t->s->events + t->offset;
    t->room = (size_t)(end - (char *)(void *)t->s->events) / sizeof *t->events;
    t->room -= PROF__MIN(t->room, t->offset);
    t->count = t->pending = 0;
    t->root_end_ns = -1;
}

#if PROF__BARE
#  define prof__tree_segment NULL
#else
PROF__FN void prof__tree_segment(prof__reader *r, const prof__record *c, const prof__record *end) {
    prof__read_records(r, c, end, prof__tree_add);
}
#endif

PROF__FN void prof__tree_open(prof__tree *t, struct prof_trace *s) {
    memset(t, 0, sizeof *t);
    t->s = s;
}

PROF__FN void prof__tree_feed(prof__feed *feed, struct prof_trace *s, prof__tree *t) {
    prof__tree_open(t, s);
    memset(feed, 0, sizeof *feed);
    feed->take = prof__tree_add;
    feed->segment = prof__tree_segment;
    feed->row = prof__tree_row;
    if (!PROF__BARE) feed->event = &t->made;
    feed->user = t;
}

/* Hands all zones on, and counts them and all there is. build: what is no zone goes into the lists
   that there is room for; else it is only counted. */
PROF__FN void prof__read_rows(struct prof_trace *s, const prof__feed *feed, bool build) {
    uint32_t zones = 0, moments = 0;
    s->step_count = 0;
    s->steps = s->lost = s->unfinished = 0;
    for (prof__row *row = s->records_only ? NULL : s->rows; row; row = row->next) {
        prof__reader r;
        memset(&r, 0, sizeof r);
        r.feed = feed;
        r.counting = !build && (PROF__BARE || !feed->moment);
        r.moments = build ? s->moments + moments : NULL;
        r.number = zones;
        r.thread = row->thread;
        if (feed->row) feed->row(feed->user, row);
        prof__read_row(&r, row);
        zones += r.zones;
        moments += r.moment_count;
        s->lost += (prof__amount)r.lost;
        s->unfinished += r.unfinished;
    }
    s->zone_count = zones;
    s->moment_count = moments;
}

/* feed: takes the zones while they are counted, which is all there is to do in most traces. */
PROF__FN void prof__count_rows(struct prof_trace *s, const prof__feed *feed) {
    static const prof__feed none = { NULL, NULL, NULL, NULL, NULL, NULL };
    prof__details_open(NULL);
    prof__read_rows(s, feed ? feed : &none, false);
    prof__details_close(s);
}

/* Zones that there are events of, or will be. */
PROF__FN uint32_t prof__zones_now(const struct prof_trace *s) {
    return s->analysed ? s->event_count - prof__others(s) : s->zone_count;
}

PROF__FN void prof__build_rows(struct prof_trace *s, const prof__feed *feed) {
    prof__details_open(s->details);
#if !PROF__BARE
    memset(s->async_index, 0, s->async_count * 2 * sizeof *s->async_index);
#endif
    prof__read_rows(s, feed, true);
}

/* ---- @OUTSIDE: events from outside, and traces made of them ---- */

PROF__FN bool prof__valid(const prof_trace *trace) {
    return trace && (trace == &prof__trace || trace->self == trace) && trace->stopped;
}

PROF__FN uint32_t prof__has(const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    return x ? x->has : 0;
}

PROF__FN int32_t prof__node_id(const prof_event *e) {
    return prof__has(e) & PROF_HAS_NODE_ID ? e->extra->node_id : -1;
}

PROF__FN bool prof__in_tree(const prof_event *e) {
    return e->device_type == PROF_DEVICE_CPU && !(e->flags & PROF_EVENT_ASYNC);
}

PROF__FN int64_t prof__elapsed(const prof_event *e) {
    return PROF__MINUS(e->end_ns, e->start_ns);
}

PROF__FN int64_t prof__cpu_ns(const prof_event *e) {
    return e->device_type == PROF_DEVICE_CPU ? prof__elapsed(e) : 0;
}

#if !PROF__BARE
/* ---- events handed in while a session is open ---- */

#define PROF__DEVICES 8
static struct prof__device {
    prof_device_desc desc;
    bool prepared, started;
    prof_result result;                  /* of the callback that failed */
} prof__devices[PROF__DEVICES];
static uint32_t prof__device_count;

/* An event from outside, in the arena, with all it points to behind it. Marked as
   PROF__EVENT_MEMORY it is a change of memory. */
struct prof__submitted { struct prof__submitted *next; prof_event event; };
typedef struct prof__late { struct prof__submitted submitted; prof__memory memory; } prof__late;

/* Packs an extra and what it points to into one piece of memory; p NULL: only counts. */
typedef struct prof__pack { char *p; size_t used; } prof__pack;

PROF__FN void *prof__pack_bytes(prof__pack *k, const void *from, size_t size, size_t align) {
    char *to;
    k->used = (k->used + align - 1) & ~(align - 1);
    to = k->p ? k->p + k->used : NULL;
    if (to && from) memcpy(to, from, size);
    k->used += size;
    return to;
}

PROF__FN const char *prof__pack_text(prof__pack *k, const char *s) {
    return s ? (const char *)prof__pack_bytes(k, s, strlen(s) + 1, 1) : NULL;
}

/* An array of count pointers to text. */
PROF__FN const char *const *prof__pack_texts(prof__pack *k, const char *const *from,
                                             uint32_t count) {
    const char **to;
    if (!from || !count) return NULL;
    to = (const char **)prof__pack_bytes(k, from, count * sizeof *from, sizeof *from);
    for (uint32_t i = 0; i < count; i++) {
        const char *text = prof__pack_text(k, from[i]);
        if (to) to[i] = text;
    }
    return to;
}

PROF__FN const prof_shape *prof__pack_shapes(prof__pack *k, const prof_shape *from, uint32_t count,
                                             bool items) {
    prof_shape *to;
    if (!from || !count) return NULL;
    to = (prof_shape *)prof__pack_bytes(k, from, count * sizeof *from, sizeof(void *));
    for (uint32_t i = 0; i < count; i++) {
        const int64_t *dims = !from[i].items && from[i].dims
            ? (const int64_t *)prof__pack_bytes(k, from[i].dims, from[i].count * sizeof *dims,
                                                sizeof *dims) : NULL;
        if (to) to[i].dims = dims;
    }
    for (uint32_t i = 0; items && i < count; i++) {
        const prof_shape *list =
            from[i].items ? prof__pack_shapes(k, from[i].items, from[i].count, false) : NULL;
        if (to) to[i].items = list;
    }
    return to;
}

PROF__FN void prof__pack_kernels(prof__pack *k, prof_extra *x) {
    prof_kernel *to = NULL;
    if (x->kernels)
        to = (prof_kernel *)prof__pack_bytes(k, x->kernels, x->kernel_count * sizeof *to,
                                             sizeof(int64_t));
    for (uint32_t i = 0; x->kernels && i < x->kernel_count; i++) {
        const char *name = prof__pack_text(k, x->kernels[i].name ? x->kernels[i].name : "(null)");
        if (to) to[i].name = name;
    }
    x->kernels = to;
}

PROF__FN prof_extra *prof__pack_extra(prof__pack *k, const prof_extra *from) {
    prof_extra x = *from, *to = (prof_extra *)prof__pack_bytes(k, NULL, sizeof x, sizeof(int64_t));
    x.input_shapes = prof__pack_shapes(k, from->input_shapes, from->input_count, true);
    x.strides = prof__pack_shapes(k, from->strides, from->input_count, true);
    x.output_shapes = prof__pack_shapes(k, from->output_shapes, from->output_count, true);
    x.output_dtypes = prof__pack_texts(k, from->output_dtypes, from->output_count);
    if (from->tensors)
        x.tensors = (const prof_tensor *)prof__pack_bytes(
            k, from->tensors, from->tensor_count * sizeof *from->tensors, sizeof(int64_t));
    prof__pack_kernels(k, &x);
    x.dtypes = prof__pack_texts(k, from->dtypes, from->input_count);
    x.concrete_inputs = prof__pack_texts(k, from->concrete_inputs, from->input_count);
    x.stack = prof__pack_texts(k, from->stack, from->stack_count);
    x.overload_name = prof__pack_text(k, from->overload_name);
    x.trace_name = prof__pack_text(k, from->trace_name);
    if (!(x.has & PROF_HAS_KEPT_TEXT)) {
        x.activity_type = prof__pack_text(k, from->activity_type);
        x.metadata_json = prof__pack_text(k, from->metadata_json);
    }
    x.kwinputs = prof__pack_text(k, from->kwinputs);
    x.backend = prof__pack_text(k, from->backend);
    x.module_hierarchy = prof__pack_text(k, from->module_hierarchy);
    x.counters = NULL;
    x.counter_count = 0;
    if (to) *to = x;
    return to;
}

/* Bytes of analysis that an event from outside entails. */
#define PROF__OUTSIDE_SHARE \
    (PROF__SLOT_SHARE + sizeof(prof__side) + 2 * sizeof(uint32_t) + PROF__GROUP_SHARE + \
     PROF__LANE_SHARE + sizeof(prof__kernel) + sizeof(uint32_t))

/* What device columns are called when no device of that name was added. */
PROF_API PROF__QUIET const char *prof_device_name(uint8_t type) {
    static const char *const names[] = {
        "cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
        "fpga", "maia", "xla", "vulkan", "metal", "xpu", "mps",
        "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuse1" };
    return type < sizeof names / sizeof *names ? names[type] : "device";
}

/* What work on a type of device is called: as the device that was added for it. */
PROF__FN const char *prof__device_title(uint8_t type) {
    for (uint32_t i = 0; i < prof__device_count; i++)
        if (prof__devices[i].desc.type == type) return prof__devices[i].desc.name;
    return prof_device_name(type);
}

/* Which of the view's devices a type is: 0 the first, i other_devices[i - 1]. */
PROF__FN uint32_t prof__device_number(const struct prof_trace *s, uint8_t type) {
    uint32_t i = 0;
    while (i < PROF_OTHER_DEVICES && s->device_types[i] && s->device_types[i] != type) i++;
    return s->device_types[i] ? i : 0;
}

/* There is work on a device of this type. Memory, which may have named the first, is no work. */
PROF__FN void prof__device_note(struct prof_trace *s, uint8_t type) {
    uint32_t i = 0;
    while (i <= PROF_OTHER_DEVICES && s->device_types[i] && s->device_types[i] != type) i++;
    if (i > PROF_OTHER_DEVICES) {
        s->view.other_devices[PROF_OTHER_DEVICES - 1] = "others";
    } else if (!s->device_types[i]) {
        s->device_types[i] = type;
        if (i) s->view.other_devices[i - 1] = prof__device_title(type);
        else s->view.device_name = prof__device_title(type);
    }
}

PROF__FN void prof__submitted_add(struct prof_trace *s, struct prof__submitted *to) {
    to->next = NULL;
    if (s->last_submitted) s->last_submitted->next = to;
    else s->first_submitted = to;
    s->last_submitted = to;
    s->outside_count++;
}

PROF__FN prof_result prof__submit_event(struct prof_trace *s, const void *events, size_t at) {
    const prof_event *e = (const prof_event *)events + at;
    const char *name = e->name ? e->name : "(null)";
    size_t kernels = e->extra ? e->extra->kernel_count * sizeof(prof__kernel) : 0, length;
    uint32_t hash = prof__hash(name, &length), number;
    struct prof__submitted *to;
    prof__pack pack = { NULL, 0 };
    if (e->thread >= s->thread_count || e->end_ns < e->start_ns) {
        s->rejected++;
        return PROF_ERROR_INVALID;
    }
    number = prof__name_add(name, length, hash);
    if (e->extra) (void)prof__pack_extra(&pack, e->extra);
    to = number ? (struct prof__submitted *)prof__take(prof__align(sizeof *to) + pack.used,
                                                       PROF__OUTSIDE_SHARE + kernels) : NULL;
    if (!to) {
        PROF__BUMP(s->counts.full, 1);
        return PROF_ERROR_MEMORY;
    }
    to->event = *e;
    to->event.site = PROF__PUSHED + number - 1;
    to->event.name = prof__site(to->event.site)->name;
    to->event.flags = (uint16_t)((e->flags & 0xff) | PROF_EVENT_SUBMITTED);
    to->event.depth = 0;
    pack.p = (char *)to + prof__align(sizeof *to);
    pack.used = 0;
    if (e->extra) to->event.extra = prof__pack_extra(&pack, e->extra);
    prof__submitted_add(s, to);
    if (e->device_type != PROF_DEVICE_CPU) prof__device_note(s, e->device_type);
    s->kernel_max += (e->extra ? e->extra->kernel_count : 0) + 1;
    return PROF_OK;
}

/* Takes each of a list into the session that is open, or being read. */
PROF__FN prof_result prof__submit_each(const void *list, size_t count,
                                       prof_result (*one)(struct prof_trace *, const void *,
                                                          size_t)) {
    struct prof_trace *s = &prof__trace;
    prof_result result = PROF_OK;
    if (count && !list) return PROF_ERROR_INVALID;
    prof__lock();
    if (!s->open && !s->late) {
        result = PROF_ERROR_STATE;
    } else if (s->records_only) {
        result = PROF_ERROR_UNSUPPORTED;
        PROF__BUMP(s->counts.not_kept, count);
    } else if (count && !prof__widen(s)) {
        result = PROF_ERROR_MEMORY;
        PROF__BUMP(s->counts.full, count);
    } else {
        for (size_t i = 0; i < count; i++) {
            prof_result taken = one(s, list, i);
            if (taken != PROF_OK) result = taken;
        }
    }
    prof__unlock();
    return result;
}

PROF_API PROF__QUIET prof_result prof_submit(const prof_event *events, size_t count) {
    return prof__submit_each(events, count, prof__submit_event);
}

/* With next = PROF_NONE the innermost zone of the thread has it; else, and without one, it is an
   event of its own. */
PROF__FN prof__memory prof__memory_from(const prof_memory_change *c) {
    prof__memory m;
    memset(&m, 0, sizeof m);
    m.ns = c->ns;
    m.address = c->address;
    m.bytes = c->is_free ? 0 : (int64_t)c->bytes;
    m.what = c->is_free ? PROF__FREE : PROF__ALLOCATED;
    m.category = (unsigned)c->kind > PROF_MEMORY_AUTOGRAD_DETAIL ? 0 : (uint8_t)c->kind;
    m.device_type = c->device.type;
    m.device_index = c->device.index;
    if (c->thread == PROF_NONE) return m;
    m.thread = c->thread;
    m.next = PROF_NONE;
    return m;
}

PROF__FN prof_result prof__submit_change(struct prof_trace *s, const void *changes, size_t i) {
    const prof_memory_change *c = (const prof_memory_change *)changes + i;
    prof__memory m = prof__memory_from(c);
    prof__late *to;
    prof_event *e;
    if (!c->is_free && c->bytes >> 63) {
        PROF__COUNT(prof__memory_refused);
        return PROF_ERROR_INVALID;
    }
    if (m.thread >= s->thread_count) {
        s->rejected++;
        return PROF_ERROR_INVALID;
    }
    to = (prof__late *)prof__take(prof__align(sizeof *to),
                                  PROF__OUTSIDE_SHARE + prof__align(sizeof m));
    if (!to) {
        PROF__BUMP(s->counts.full, 1);
        return PROF_ERROR_MEMORY;
    }
    e = &to->submitted.event;
    to->memory = m;
    memset(e, 0, sizeof *e);
    e->name = "[memory]";
    e->start_ns = e->end_ns = m.ns;
    e->thread = m.thread;
    e->flags = PROF_EVENT_SUBMITTED | PROF__EVENT_MEMORY;
    prof__submitted_add(s, &to->submitted);
    s->late_memory++;
    s->view.profile_memory = true;
    return PROF_OK;
}

PROF_API PROF__QUIET prof_result prof_submit_memory(const prof_memory_change *changes,
                                                    size_t count) {
    return prof__submit_each(changes, count, prof__submit_change);
}

PROF__FN uint32_t prof__submit_thread(uint64_t id, const char *name, bool os) {
    struct prof_trace *s = &prof__trace;
    prof__row *row;
    uint32_t thread = PROF_NONE;
    bool open;
    prof__lock();
    os = os && s->platform.thread_id;
    open = s->open || s->late;
    for (row = open ? s->rows : NULL; row && (os ? row->os_id : row->info.id) != id;)
        row = row->next;
    if (!row && open) row = prof__row_add(id);
    if (row && name) prof__row_name(row, name);
    if (row) row->kept = true;
    if (row) thread = row->thread;
    prof__unlock();
    return thread;
}

PROF_API PROF__QUIET uint32_t prof_submit_thread(uint64_t id, const char *name) {
    return prof__submit_thread(id, name, false);
}

PROF_API PROF__QUIET uint32_t prof_submit_os_thread(uint64_t os_id, const char *name) {
    return prof__submit_thread(os_id, name, true);
}
/* ---- kernels ---- */

PROF__FN prof__kernel *prof__kernel_add(struct prof_trace *s, prof__side *to,
                                        const prof_kernel *from) {
    prof__kernel *k = s->kernels + s->kernel_count;
    k->name = from->name ? from->name : "(null)";
    k->duration_ns = from->duration_ns;
    k->device = from->device;
    k->next = PROF_NONE;
    if (to->first_kernel == PROF_NONE) to->first_kernel = s->kernel_count;
    else s->kernels[to->last_kernel].next = s->kernel_count;
    to->last_kernel = s->kernel_count++;
    return k;
}

PROF__FN int32_t prof__device_index(const prof_event *e) {
    return prof__has(e) & PROF_HAS_DEVICE_INDEX ? e->extra->device_index : 0;
}

PROF__FN prof_kernel prof__kernel_of(const struct prof_trace *s, const prof__kernel *k) {
    const prof_event *e = k->name ? NULL : s->events + k->device;
    prof_kernel kernel;
    kernel.name = e ? e->name : k->name;
    kernel.duration_ns = k->duration_ns;
    kernel.device = e ? prof__device_index(e) : k->device;
    return kernel;
}

PROF__FN void prof__kernels_lift(struct prof_trace *s, prof__side *to, const prof__side *from) {
    if (from->first_kernel == PROF_NONE) return;
    if (to->first_kernel == PROF_NONE) to->first_kernel = from->first_kernel;
    else s->kernels[to->last_kernel].next = from->first_kernel;
    to->last_kernel = from->last_kernel;
}

/* What an event brings with it, into what is kept beside it. */
PROF__FN void prof__side_open(struct prof_trace *s, uint32_t i) {
    const prof_extra *x = s->events[i].extra;
    prof__side *side = s->side + i;
    memset(side, 0, sizeof *side);
    side->first_kernel = side->last_kernel = PROF_NONE;
    if (!x) return;
    s->any_sequence = s->any_sequence || x->has & PROF_HAS_SEQUENCE_NR;
    s->any_launch = s->any_launch || x->has & PROF_HAS_LAUNCH;
    s->any_backward = s->any_backward || x->scope == 1;
    side->cpu_bytes = x->cpu_memory_usage;
    side->device_bytes = x->device_memory_usage;
    for (uint32_t k = 0; k < x->kernel_count; k++)
        (void)prof__kernel_add(s, side, x->kernels + k);
}

typedef struct prof__linker {
    struct prof_trace *s;
    prof__lane *lanes;
    uint32_t *index, *last_child;
    uint32_t *below;                     /* the next one out that may hold what comes */
    uint32_t *zone;                      /* of an event from outside: the recorded zone around it */
    uint32_t places, count, last;
} prof__linker;

typedef struct prof__lane_key {
    const prof__lane *lanes;
    uint32_t thread;
    int32_t node;
} prof__lane_key;
PROF__FN bool prof__lane_same(const void *context, uint32_t number) {
    const prof__lane_key *k = (const prof__lane_key *)context;
    return k->lanes[number].thread == k->thread && k->lanes[number].node == k->node;
}

PROF__FN prof__lane *prof__lane_of(prof__linker *k, const prof_event *e) {
    prof__lane_key key;
    uint32_t *place;
    key.lanes = k->lanes;
    key.thread = e->thread;
    key.node = prof__node_id(e);
    if (k->count && prof__lane_same(&key, k->last)) return k->lanes + k->last;
    place = prof__place_of(k->index, k->places, (uint64_t)(uint32_t)key.node << 32 | key.thread,
                        prof__lane_same, &key);
    if (!*place) {
        prof__lane *l = k->lanes + k->count++;
        l->thread = key.thread;
        l->node = key.node;
        l->top = PROF_NONE;
        *place = k->count;
    }
    k->last = *place - 1;
    return k->lanes + k->last;
}

/* Does event p, which is not known to have ended, hold e? Of two recorded zones the depths tell. */
PROF__FN bool prof__holds(const prof_event *p, const prof_event *e, bool *overlaps) {
    if (!((p->flags | e->flags) & PROF_EVENT_SUBMITTED)) return p->depth < e->depth;
    if (p->flags & e->flags & PROF__EVENT_STEP) return false;
    return prof__spans_hold(p->end_ns, e->start_ns, e->end_ns, overlaps);
}

/* The parent of event i, where *top is the innermost event that may hold it. A recorded zone knows
   its parent: only an event from outside that lies within that one can come between. */
PROF__FN uint32_t prof__link_parent(prof__linker *k, uint32_t *top, uint32_t i) {
    prof_event *events = k->s->events;
    const prof_event *e = events + i;
    uint32_t p, home = e->parent;
    bool overlaps = false;
    while (*top != PROF_NONE && !prof__holds(events + *top, e, &overlaps)) *top = k->below[*top];
    k->s->overlaps += overlaps;
    p = *top;
    k->below[i] = p;
    if (e->flags & PROF_EVENT_SUBMITTED) {
        bool outside = p != PROF_NONE && events[p].flags & PROF_EVENT_SUBMITTED;
        k->zone[i] = outside ? k->zone[p] : p;
    } else if (p == PROF_NONE || !(events[p].flags & PROF_EVENT_SUBMITTED) || k->zone[p] != home) {
        p = home;
    }
    *top = i;
    return p;
}

PROF__FN void prof__link_event(prof__linker *k, uint32_t i) {
    prof_event *events = k->s->events, *e = events + i, *p;
    prof__lane *lane;
    e->first_child = e->next_sibling = PROF_NONE;
    e->self_cpu_time_total_ns = 0;
    if (!prof__in_tree(e) || e->flags & PROF__EVENT_MEMORY) {
        e->parent = PROF_NONE;
        return;
    }
    lane = prof__lane_of(k, e);
    e->parent = prof__link_parent(k, &lane->top, i);
    if (e->parent == PROF_NONE) return;
    p = events + e->parent;
    if (e->flags & PROF_EVENT_SUBMITTED) e->depth = (uint8_t)(p->depth + (p->depth < 255));
    if (p->first_child == PROF_NONE) p->first_child = i;
    else events[k->last_child[e->parent]].next_sibling = i;
    k->last_child[e->parent] = i;
    k->s->any_same = k->s->any_same || strcmp(p->name, e->name) == 0;
}

/* Parents and children of all events, which stand in order. scratch: 12 bytes an event, and
   PROF__LANE_SHARE for each thread and each event with a node. */
PROF__FN void prof__link(struct prof_trace *s, char *scratch, uint32_t lanes, bool open_sides) {
    prof__linker k;
    memset(&k, 0, sizeof k);
    k.s = s;
    k.last_child = (uint32_t *)(void *)scratch;
    k.below = k.last_child + s->event_count;
    k.zone = k.below + s->event_count;
    k.index = k.zone + s->event_count;
    k.places = 2 * lanes;
    k.lanes = (prof__lane *)(void *)(k.index + k.places);
    memset(k.index, 0, k.places * sizeof *k.index);
    open_sides = open_sides && s->side;
    for (uint32_t i = 0; i < s->event_count; i++) {
        if (open_sides) prof__side_open(s, i);
        prof__link_event(&k, i);
    }
}

/* Events have changed places: what memory belongs to, too. */
PROF__FN void prof__memory_moved(struct prof_trace *s, const uint32_t *place) {
    for (uint32_t i = 0; i < s->memory_count; i++)
        s->memory[i].event = s->memory[i].event == PROF_NONE ? PROF_NONE
                                                             : place[s->memory[i].event];
}

/* ---- duplicates: an only child of its parent's name. PyTorch: _remove_dup_nodes() ---- */

PROF__FN bool prof__is_duplicate(const struct prof_trace *s, uint32_t i) {
    const prof_event *e = s->events + i, *p;
    if (e->parent == PROF_NONE) return false;
    p = s->events + e->parent;
    return p->first_child == i && e->next_sibling == PROF_NONE &&
           (s->merge || e->flags & p->flags & PROF_EVENT_SUBMITTED) &&
           (p->name == e->name || strcmp(p->name, e->name) == 0);
}

PROF__FN void prof__merge_into_parent(struct prof_trace *s, prof_event *e) {
    prof_event *p = s->events + e->parent;
    p->first_child = e->first_child;
    p->self_cpu_time_total_ns += e->self_cpu_time_total_ns;
    for (uint32_t c = e->first_child; c != PROF_NONE; c = s->events[c].next_sibling)
        s->events[c].parent = e->parent;
    if (s->side && !(p->flags & PROF_EVENT_LEGACY))   /* a legacy kernel covers the child's */
        prof__kernels_lift(s, s->side + e->parent, s->side + (e - s->events));
}

PROF__FN uint32_t prof__moved(const uint32_t *place, uint32_t i) {
    return i == PROF_NONE ? PROF_NONE : place[i];
}

/* The event that launched i, which is work on a device; PROF_NONE: none that is known. */
PROF__FN uint32_t prof__launcher_of(const struct prof_trace *s, uint32_t i) {
    bool work = s->side && s->events[i].device_type != PROF_DEVICE_CPU;
    return work && s->side[i].first_kernel == PROF_NONE ? s->side[i].last_kernel : PROF_NONE;
}

/* Of what is merged, its parent stays; PROF_NONE: nothing does. */
PROF__FN uint32_t prof__moved_into(const struct prof_trace *s, const uint32_t *place, uint32_t i) {
    while (i != PROF_NONE && place[i] == PROF_NONE) i = s->events[i].parent;
    return i == PROF_NONE ? PROF_NONE : place[i];
}

/* What belongs to events goes where they go. */
PROF__FN void prof__owned_move(struct prof_trace *s, const uint32_t *place) {
    for (uint32_t i = 0; s->side && i < s->event_count; i++) {
        uint32_t from = prof__launcher_of(s, i);
        if (from != PROF_NONE) s->side[i].last_kernel = prof__moved_into(s, place, from);
    }
    for (uint32_t i = 0; i < s->memory_count; i++)
        s->memory[i].event = prof__moved_into(s, place, s->memory[i].event);
    for (uint32_t i = 0; i < s->kernel_count; i++) {
        prof__kernel *k = s->kernels + i;
        prof_kernel own = prof__kernel_of(s, k);
        if (k->name) continue;
        if (place[k->device] == PROF_NONE) k->name = own.name;
        k->device = k->name ? own.device : (int32_t)place[k->device];
    }
}

/* Leaves only the events that have a place: place[i], or PROF_NONE. */
PROF__FN void prof__move_up(struct prof_trace *s, const uint32_t *place, uint32_t kept) {
    uint32_t n = s->event_count;
    if (kept == n) return;
    prof__owned_move(s, place);
    for (uint32_t i = 0; i < n; i++) {
        prof_event *e = s->events + i;
        if (place[i] == PROF_NONE) continue;
        e->parent = prof__moved(place, e->parent);
        e->first_child = prof__moved(place, e->first_child);
        e->next_sibling = prof__moved(place, e->next_sibling);
        s->events[place[i]] = *e;
        if (s->side) s->side[place[i]] = s->side[i];
    }
    s->event_count = kept;
    PROF__ASSERT(prof__events_hold(s->events, kept));
}

/* scratch: 4 bytes an event. */
PROF__FN void prof__merge_duplicates(struct prof_trace *s, char *scratch) {
    uint32_t *place = (uint32_t *)(void *)scratch, kept = 0, n = s->event_count;
    for (uint32_t i = 0; i < n; i++) {
        bool gone = prof__is_duplicate(s, i);
        if (gone) prof__merge_into_parent(s, s->events + i);
        place[i] = gone ? PROF_NONE : kept++;
    }
    s->duplicates += n - kept;
    prof__move_up(s, place, kept);
}

/* ---- amounts, children included ---- */

/* Device time of an event without its children. */
PROF__FN int64_t prof__launched_ns(const struct prof_trace *s, uint32_t i) {
    int64_t sum = 0;
    if (!s->view.device_name || s->events[i].flags & PROF_EVENT_ASYNC) return 0;
    if (s->events[i].device_type != PROF_DEVICE_CPU) return prof__elapsed(s->events + i);
    for (uint32_t k = s->side[i].first_kernel; k != PROF_NONE; k = s->kernels[k].next)
        sum = PROF__PLUS(sum, s->kernels[k].duration_ns);
    return sum;
}

/* Children stand after their parents, so one pass from the end sums all subtrees; self times are 0
   before it. */
PROF__FN void prof__sum_up(struct prof_trace *s) {
    for (uint32_t i = s->event_count; i--;) {
        prof_event *e = s->events + i, *p = e->parent == PROF_NONE ? NULL : s->events + e->parent;
        if (prof__in_tree(e))
            e->self_cpu_time_total_ns = PROF__PLUS(e->self_cpu_time_total_ns, prof__elapsed(e));
        if (p) p->self_cpu_time_total_ns = PROF__MINUS(p->self_cpu_time_total_ns, prof__elapsed(e));
        if (!s->side) continue;
        s->side[i].device_ns = PROF__PLUS(s->side[i].device_ns, prof__launched_ns(s, i));
        if (p && !(p->flags & PROF_EVENT_LEGACY))
            s->side[e->parent].device_ns =
                PROF__PLUS(s->side[e->parent].device_ns, s->side[i].device_ns);
    }
}

/* ---- the stack of a backward event is that of its forward. _set_backward_stacktraces() ---- */

typedef struct prof__forward {
    int64_t sequence_nr;
    uint64_t thread;
    uint32_t event;
} prof__forward;

typedef struct prof__backward {
    struct prof_trace *s;
    uint32_t *root;                      /* per event: the innermost backward event around it */
    uint32_t *index, places, count;
    prof__forward *forwards;             /* one for each (sequence_nr, forward thread) looked for */
} prof__backward;

#define PROF__BACKWARD_SHARE (sizeof(prof__forward) + 2 * sizeof(uint32_t))

typedef struct prof__forward_key {
    const prof__forward *list;
    int64_t sequence_nr;
    uint64_t thread;
} prof__forward_key;
PROF__FN bool prof__forward_same(const void *context, uint32_t number) {
    const prof__forward_key *k = (const prof__forward_key *)context;
    return k->list[number].sequence_nr == k->sequence_nr && k->list[number].thread == k->thread;
}

PROF__FN uint32_t *prof__forward_place(const prof__backward *b, const prof_event *e,
                                       uint64_t thread) {
    prof__forward_key key;
    key.list = b->forwards;
    key.thread = thread;
    key.sequence_nr = prof__has(e) & PROF_HAS_SEQUENCE_NR ? e->extra->sequence_nr : -1;
    return prof__place_of(b->index, b->places, (uint64_t)key.sequence_nr * 0x9e3779b1u ^ thread,
                       prof__forward_same, &key);
}

PROF__FN bool prof__is_backward(const prof_event *e) { return e->extra && e->extra->scope == 1; }

/* What backward event i looks for, once each. */
PROF__FN void prof__backward_ask(prof__backward *b, const prof_event *e) {
    uint32_t *place;
    prof__forward *f = b->forwards + b->count;
    if (!(prof__has(e) & PROF_HAS_FWD_THREAD)) {
        b->s->no_forward++;
        return;
    }
    place = prof__forward_place(b, e, e->extra->fwd_thread);
    if (*place) return;
    f->thread = e->extra->fwd_thread;
    f->sequence_nr = prof__has(e) & PROF_HAS_SEQUENCE_NR ? e->extra->sequence_nr : -1;
    f->event = PROF_NONE;
    *place = ++b->count;
}

PROF__FN void prof__backward_find(prof__backward *b, uint32_t i) {
    const prof_event *e = b->s->events + i;
    uint32_t *place = prof__forward_place(b, e, b->s->threads[e->thread].id);
    if (*place && b->forwards[*place - 1].event == PROF_NONE) b->forwards[*place - 1].event = i;
}

/* Is an event's extra its own, in the arena? Those of modules, nodes and zone stacks are shared. */
PROF__FN bool prof__extra_own(const struct prof_trace *s, const prof_event *e) {
    const char *x = (const char *)e->extra;
    if (!x || s->built || e->extra->has & PROF__HAS_SHARED) return false;
    return e->flags & PROF_EVENT_SUBMITTED || (x >= s->details && x < s->details + s->detail_bytes);
}

/* An event's extra where the trace may write it; NULL: no room. */
PROF__FN prof_extra *prof__own_extra(struct prof_trace *s, prof_event *e) {
    prof_extra *x = s->own_max ? s->own_extras + s->own_count : NULL;
    if (prof__extra_own(s, e))
        return (prof_extra *)(void *)(prof__arena.base +
                                      ((const char *)e->extra - prof__arena.base));
    if (x && e->extra >= s->own_extras && e->extra < x)
        return s->own_extras + (e->extra - s->own_extras);
    if (s->own_count == s->own_max) return NULL;
    s->own_count++;
    if (e->extra) *x = *e->extra;
    else memset(x, 0, sizeof *x);
    e->extra = x;
    return x;
}

PROF__FN void prof__backward_set(prof__backward *b, uint32_t i) {
    prof_event *e = b->s->events + i;
    const prof_event *root = b->s->events + b->root[i], *forward = NULL;
    const prof_extra *from;
    prof_extra *x;
    if (prof__has(root) & PROF_HAS_FWD_THREAD) {
        const prof__forward *f =
            b->forwards + *prof__forward_place(b, root, root->extra->fwd_thread) - 1;
        if (f->event != PROF_NONE) forward = b->s->events + f->event;
    }
    from = forward ? forward->extra : NULL;
    if (!(e->extra && e->extra->stack_count) && !(from && from->stack_count)) return;
    x = prof__own_extra(b->s, e);
    if (!x) return;
    x->stack = from ? from->stack : NULL;
    x->stack_count = from ? from->stack_count : 0;
    x->has &= ~(uint32_t)PROF__HAS_NATIVE;
}

/* scratch: 4 bytes an event, PROF__BACKWARD_SHARE for each of scope 1. */
PROF__FN void prof__set_backward_stacks(struct prof_trace *s, char *scratch) {
    prof__backward b;
    uint32_t n = s->event_count, asking = 0;
    for (uint32_t i = 0; i < n; i++) asking += prof__is_backward(s->events + i);
    if (!asking) return;
    memset(&b, 0, sizeof b);
    b.s = s;
    b.places = 2 * asking;
    b.forwards = (prof__forward *)(void *)scratch;
    b.index = (uint32_t *)(void *)(b.forwards + asking);
    b.root = b.index + b.places;
    memset(b.index, 0, b.places * sizeof *b.index);
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + i;
        b.root[i] = prof__is_backward(e) ? i : prof__moved(b.root, e->parent);
        if (b.root[i] == i) prof__backward_ask(&b, e);
    }
    for (uint32_t i = 0; i < n; i++)
        if (b.root[i] == PROF_NONE) prof__backward_find(&b, i);
    for (uint32_t i = 0; i < n; i++)
        if (b.root[i] != PROF_NONE) prof__backward_set(&b, i);
}

/* ---- raw activities to events. PyTorch: _parse_kineto_results() ---- */

PROF__FN bool prof__is_utility(const char *name) {
    static const char *const names[] = {
        "profiler::_record_function_enter", "profiler::_record_function_enter_new",
        "profiler::_record_function_exit", "aten::is_leaf", "aten::output_nr", "aten::_version" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

PROF__FN bool prof__starts_with(const char *s, const char *start) {
    return strncmp(s, start, strlen(start)) == 0;
}

/* The memory records of a raw trace by (thread, time), with running sums, so that an interval's sum
   is one difference. */
typedef struct prof__charges {
    const prof_event *events;
    int64_t *cpu, *device;               /* sums of the records before this one */
    uint32_t *order, count;
    uint32_t *cover;                     /* +1 where an event's interval begins, -1 at its end */
} prof__charges;

PROF__FN bool prof__charge_after(const void *events, uint32_t a, uint32_t b) {
    const prof_event *x = (const prof_event *)events + a, *y = (const prof_event *)events + b;
    return x->thread != y->thread ? x->thread > y->thread : x->start_ns > y->start_ns;
}

PROF__FN bool prof__is_host_memory(uint8_t device_type) {
    return device_type == PROF_DEVICE_CPU || device_type == PROF_DEVICE_MKLDNN ||
           device_type == PROF_DEVICE_IDEEP;
}

PROF__FN int64_t prof__bytes_of(const prof_event *e) {
    return e->extra ? PROF__PLUS(e->extra->cpu_memory_usage, e->extra->device_memory_usage) : 0;
}

PROF__FN void prof__charges_open(prof__charges *c, const struct prof_trace *s, char *scratch) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->event_count; i++) n += strcmp(s->events[i].name, "[memory]") == 0;
    c->events = s->events;
    c->count = n;
    c->cpu = (int64_t *)(void *)scratch;
    c->device = c->cpu + n + 1;
    c->order = (uint32_t *)(void *)(c->device + n + 1);
    c->cover = c->order + n;
    n = 0;
    for (uint32_t i = 0; i < s->event_count; i++)
        if (strcmp(s->events[i].name, "[memory]") == 0) c->order[n++] = i;
    prof__sort(c->order, c->cover, n, prof__charge_after, s->events);
    memset(c->cover, 0, (n + 1) * sizeof *c->cover);
    c->cpu[0] = c->device[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + c->order[i];
        bool host = prof__is_host_memory(e->device_type);
        c->cpu[i + 1] = PROF__PLUS(c->cpu[i], host ? prof__bytes_of(e) : 0);
        c->device[i + 1] = PROF__PLUS(c->device[i], host ? 0 : prof__bytes_of(e));
    }
}

/* The first record of thread at ns or later. */
PROF__FN uint32_t prof__charge_find(const prof__charges *c, uint32_t thread, int64_t ns) {
    uint32_t low = 0, high = c->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const prof_event *e = c->events + c->order[middle];
        if (e->thread < thread || (e->thread == thread && e->start_ns < ns)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Charges an event with the records of its thread in [start, end). */
PROF__FN void prof__charge(struct prof_trace *s, prof__charges *c, prof_event *e) {
    uint32_t a = prof__charge_find(c, e->thread, e->start_ns);
    uint32_t b = prof__charge_find(c, e->thread, e->end_ns);
    prof_extra *x = a < b ? prof__own_extra(s, e) : NULL;
    if (!x) return;
    x->cpu_memory_usage = PROF__PLUS(x->cpu_memory_usage, PROF__MINUS(c->cpu[b], c->cpu[a]));
    x->device_memory_usage =
        PROF__PLUS(x->device_memory_usage, PROF__MINUS(c->device[b], c->device[a]));
    c->cover[a]++;
    c->cover[b]--;
}

/* A record that no event covers is an event of its own, without length. */
PROF__FN void prof__memory_event(struct prof_trace *s, prof_event *e, int64_t id) {
    int64_t bytes = prof__bytes_of(e);
    bool host = prof__is_host_memory(e->device_type);
    prof_extra *x = prof__own_extra(s, e);
    e->device_type = PROF_DEVICE_CPU;
    e->flags = PROF_EVENT_SUBMITTED | PROF__EVENT_MEMORY;
    e->end_ns = e->start_ns;
    if (!x) return;
    memset(x, 0, sizeof *x);
    x->has = PROF_HAS_ID;
    x->id = id;
    x->trace_name = "";
    x->cpu_memory_usage = host ? bytes : 0;
    x->device_memory_usage = host ? 0 : bytes;
}

PROF__FN void prof__raw_name(struct prof_trace *s, prof_event *e) {
    const char *name = NULL;
    if (s->demangle && prof__starts_with(e->name, "_Z"))
        name = s->demangle(s->demangle_user, e->name);
    if (name) e->name = name;
    if (prof__starts_with(e->name, "ProfilerStep#")) {
        prof_extra *x = prof__own_extra(s, e);
        if (x) x->trace_name = e->name;
        e->name = "ProfilerStep*";
    }
    if (prof__has(e) & PROF_HAS_END_THREAD &&
        e->extra->end_thread != s->threads[e->thread].id) e->flags |= PROF_EVENT_ASYNC;
}

/* Is the stack entry PyTorch's own machinery? _filter_stack_entry() */
PROF__FN bool prof__is_machinery(const char *entry) {
    static const char *const pairs[][2] = {
        { "autograd/__init__", "_make_grads" }, { "autograd/__init__", "backward" },
        { "torch/tensor", "backward" }, { "_internal/common_utils", "prof_callable" },
        { "_internal/common_utils", "prof_func_call" },
        { "_internal/common_utils", "prof_meth_call" } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strstr(entry, pairs[i][0]) && strstr(entry, pairs[i][1])) return true;
    return false;
}

/* A stack without the machinery, in the trace's memory. */
PROF__FN void prof__raw_stack(struct prof_trace *s, prof_event *e) {
    uint32_t n = e->extra ? e->extra->stack_count : 0, kept = 0;
    const char **stack = s->own_stacks;
    prof_extra *x;
    for (uint32_t i = 0; i < n; i++)
        if (!prof__is_machinery(prof__text(e->extra->stack[i])))
            stack[kept++] = e->extra->stack[i];
    if (kept == n) return;
    x = prof__own_extra(s, e);
    if (!x) return;
    s->own_stacks += kept;
    x->stack = stack;
    x->stack_count = kept;
}

/* Charges, filters and renames; what is kept stands in its old order. */
PROF__FN void prof__raw_events(struct prof_trace *s, char *scratch) {
    prof__charges c;
    uint32_t kept = 0, covered = 0;
    int64_t id = 0;
    prof__charges_open(&c, s, scratch);
    for (uint32_t i = 0; i < s->event_count; i++) {
        prof_event *e = s->events + i;
        if (e->name[0] == '[' && (strcmp(e->name, "[memory]") == 0 ||
                                  strcmp(e->name, "[OutOfMemory]") == 0))
            e->flags |= PROF__EVENT_MEMORY;
        else if (prof__is_utility(e->name)) e->name = NULL;
        if (!e->name || e->flags & PROF__EVENT_MEMORY) continue;
        if (e->device_type == PROF_DEVICE_CPU) prof__charge(s, &c, e);
        if (prof__has(e) & PROF_HAS_ID && e->extra->id > id) id = e->extra->id;
        prof__raw_name(s, e);
        prof__raw_stack(s, e);
    }
    for (uint32_t i = 0; i < c.count; i++) {
        covered += c.cover[i];
        if (covered) s->events[c.order[i]].name = NULL;
    }
    for (int oom = 0; oom < 2; oom++)
        for (uint32_t i = 0; i < s->event_count; i++) {
            prof_event *e = s->events + i;
            if (e->name && e->flags & PROF__EVENT_MEMORY && (e->name[1] == 'O') == oom)
                prof__memory_event(s, e, id = PROF__PLUS(id, 1));
        }
    for (uint32_t i = 0; i < s->event_count; i++)
        if (s->events[i].name) s->events[kept++] = s->events[i];
    s->event_count = kept;
}

/* ---- device events to the events that launched them ---- */

/* Launches and ops by id: numbers below `count`, whose ids id_of tells. */
typedef struct prof__ids {
    uint32_t *index, places;
    int64_t (*id_of)(const void *of, uint32_t number);
    const void *of;
    int64_t wanted;
} prof__ids;

PROF__FN bool prof__id_same(const void *context, uint32_t number) {
    const prof__ids *ids = (const prof__ids *)context;
    return ids->id_of(ids->of, number) == ids->wanted;
}

PROF__FN uint32_t *prof__id_place(prof__ids *ids, int64_t id) {
    ids->wanted = id;
    return prof__place_of(ids->index, ids->places, (uint64_t)id, prof__id_same, ids);
}

/* Of calls with the same id the first one counts. */
PROF__FN bool prof__id_put(prof__ids *ids, int64_t id, uint32_t number) {
    uint32_t *place = prof__id_place(ids, id);
    if (*place) return false;
    *place = number + 1;
    return true;
}

PROF__FN int64_t prof__event_id(const void *events, uint32_t i) {
    return ((const prof_event *)events)[i].extra->id;
}

PROF__FN int64_t prof__link_of(const prof_event *e) {
    return prof__has(e) & PROF_HAS_LINK ? e->extra->linked_correlation_id : 0;
}

PROF__FN void prof__launched_by(struct prof_trace *s, const prof_event *e, uint32_t launcher) {
    prof__side *own = s->side + (e - s->events);
    prof_kernel from = { NULL, prof__elapsed(e), 0 };
    prof__kernel *k;
    if (own->first_kernel == PROF_NONE) own->last_kernel = launcher;
    k = prof__kernel_add(s, s->side + launcher, &from);
    k->name = NULL;
    k->device = (int32_t)(e - s->events);
}

/* A call of a device's library. */
PROF__FN bool prof__is_launch(const prof_event *e) {
    const char *type = e->extra ? e->extra->activity_type : NULL;
    return type && (prof__ends_with(type, "_runtime") || prof__ends_with(type, "_driver"));
}

/* The zone around launch calls has the kernel; without one the call itself. */
PROF__FN uint32_t prof__launcher(const struct prof_trace *s, uint32_t i) {
    uint32_t zone = i;
    while (!s->built && zone != PROF_NONE && prof__is_launch(s->events + zone))
        zone = s->events[zone].parent;
    return zone == PROF_NONE ? i : zone;
}

/* Joins by linked_correlation_id. Of events with the same id the first one counts. order: events in
   the order that kernels are listed in. index: 2 places an event. */
PROF__FN void prof__link_by_id(struct prof_trace *s, uint32_t *index, const uint32_t *order) {
    uint32_t n = s->event_count;
    prof__ids ids = { index, 2 * n, prof__event_id, s->events, 0 };
    memset(index, 0, 2 * n * sizeof *index);
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + i;
        if (!(prof__has(e) & PROF_HAS_ID) || prof__link_of(e) || !prof__in_tree(e)) continue;
        (void)prof__id_put(&ids, e->extra->id, i);
    }
    for (uint32_t i = 0; i < n; i++) {
        prof_event *e = s->events + (order ? order[i] : i);
        int64_t id = prof__link_of(e);
        uint32_t *place;
        if (!id) continue;
        place = prof__id_place(&ids, id);
        if (id < 0 || !*place) s->unlinked += e->device_type != PROF_DEVICE_CPU;
        else if (e->device_type != PROF_DEVICE_CPU)
            prof__launched_by(s, e, prof__launcher(s, *place - 1));
        else e->thread = s->events[*place - 1].thread;
    }
}

PROF__FN bool prof__launch_after(const void *events, uint32_t a, uint32_t b) {
    const prof_event *e = (const prof_event *)events;
    return e[a].extra->launch_ns > e[b].extra->launch_ns;
}

/* Can it be a zone around others? */
PROF__FN bool prof__is_zone(const prof_event *e) {
    return prof__in_tree(e) && !(e->flags & PROF__EVENT_MEMORY);
}

/* The zone that was the innermost of thread at ns, given the last that began; moves *last there. */
PROF__FN uint32_t prof__innermost(const struct prof_trace *s, uint32_t *last, int64_t ns) {
    prof_nest n = prof__nest_of(s);
    return *last = prof__spans_around(&n, *last, ns, ns);
}

PROF__FN bool prof__by_time(const prof_event *e) {
    return prof__has(e) & PROF_HAS_LAUNCH && e->device_type != PROF_DEVICE_CPU && !prof__link_of(e);
}

/* Joins by (thread, time of launch). scratch: 8 bytes an event, 4 a thread. */
PROF__FN void prof__link_by_time(struct prof_trace *s, char *scratch) {
    uint32_t *list = (uint32_t *)(void *)scratch, n = 0, at = 0, *last = list + 2 * s->event_count;
    for (uint32_t i = 0; i < s->event_count; i++)
        if (prof__by_time(s->events + i)) list[n++] = i;
    if (!n) return;
    prof__sort(list, list + n, n, prof__launch_after, s->events);
    for (uint32_t t = 0; t < s->thread_count; t++) last[t] = PROF_NONE;
    for (uint32_t i = 0; i <= s->event_count && at < n; i++) {
        const prof_event *e = s->events + i;
        for (; at < n; at++) {
            const prof_event *k = s->events + list[at];
            uint32_t zone = PROF_NONE, thread = k->extra->launch_thread;
            if (i < s->event_count && k->extra->launch_ns >= e->start_ns) break;
            if (thread < s->thread_count)
                zone = prof__innermost(s, last + thread, k->extra->launch_ns);
            if (zone == PROF_NONE) s->unlinked++;
            else prof__launched_by(s, k, prof__launcher(s, zone));
        }
        if (i < s->event_count && prof__is_zone(e)) last[e->thread] = i;
    }
}

/* ---- the same for tools, by the ids of a file ---- */

/* A call, by id and kind; or work, which may come before its call: id is the external one. */
struct prof__joined { int64_t id, correlation, ns; uint32_t number; };

PROF__FN int64_t prof__joined_id(const void *calls, uint32_t i) {
    return ((const struct prof__joined *)calls)[i].id;
}

PROF__FN prof__ids prof__join_ids(const prof_join *j) {
    const prof__ids ids = { j->index, j->places, prof__joined_id, j->calls, 0 };
    return ids;
}

/* Room for one more; false: no memory. */
PROF__FN bool prof__join_room(prof_join *j, struct prof__joined **list, uint32_t count,
                              uint32_t *room) {
    uint32_t more = *room ? 2 * *room : 256;
    void *p;
    if (count < *room) return true;
    p = more < INT32_MAX ? j->resize(j->user, *list, more * sizeof **list) : NULL;
    j->dropped += !p;
    if (!p) return false;
    *list = (struct prof__joined *)p;
    *room = more;
    return true;
}

/* The index is as long as the list has room; false: no memory. */
PROF__FN bool prof__join_index(prof_join *j) {
    size_t places = 2 * (size_t)j->call_room;
    prof__ids ids;
    void *p;
    if (j->places == places) return true;
    p = j->resize(j->user, j->index, places * sizeof *j->index);
    j->dropped += !p;
    if (!p) return false;
    j->index = (uint32_t *)memset(p, 0, places * sizeof *j->index);
    j->places = (uint32_t)places;
    ids = prof__join_ids(j);
    for (uint32_t i = 0; i < j->call_count; i++) (void)prof__id_put(&ids, j->calls[i].id, i);
    return true;
}

PROF__FN int64_t prof__join_key(uint32_t kind, int64_t id) {
    return (int64_t)((uint64_t)id << 1 | (kind & 1));
}

PROF_API PROF__QUIET void prof_join_call(prof_join *j, uint32_t kind, int64_t id, uint32_t number) {
    const struct prof__joined call = { prof__join_key(kind, id), 0, 0, number };
    prof__ids ids;
    if (id == PROF_NO_ID || !prof__join_room(j, &j->calls, j->call_count, &j->call_room) ||
        !prof__join_index(j)) return;
    ids = prof__join_ids(j);
    j->calls[j->call_count] = call;
    j->call_count += prof__id_put(&ids, call.id, j->call_count);
}

PROF__FN struct prof__joined *prof__join_find(const prof_join *j, uint32_t kind, int64_t id) {
    prof__ids ids = prof__join_ids(j);
    bool none = id == PROF_NO_ID || !j->index;
    uint32_t place = none ? 0 : *prof__id_place(&ids, prof__join_key(kind, id));
    return place ? j->calls + place - 1 : NULL;
}

PROF__FN struct prof__joined *prof__join_owner(const prof_join *j, int64_t external,
                                               int64_t correlation) {
    struct prof__joined *launch = prof__join_find(j, PROF_JOIN_LAUNCH, correlation);
    struct prof__joined *op = launch && external == correlation
        ? NULL : prof__join_find(j, PROF_JOIN_OP, external);
    return op ? op : launch;
}

PROF_API PROF__QUIET uint32_t prof_join_owner(const prof_join *j, int64_t external,
                                              int64_t correlation) {
    const struct prof__joined *call = prof__join_owner(j, external, correlation);
    return call ? call->number : PROF_NONE;
}

PROF_API PROF__QUIET void prof_join_work(prof_join *j, int64_t external, int64_t correlation,
                                         int64_t ns) {
    const struct prof__joined work = { external, correlation, ns, PROF_NONE };
    if (prof__join_room(j, &j->works, j->work_count, &j->work_room))
        j->works[j->work_count++] = work;
}

PROF_API PROF__QUIET void prof_join_finish(prof_join *j) {
    for (uint32_t i = 0; i < j->work_count; i++) {
        const struct prof__joined *work = j->works + i;
        struct prof__joined *call = prof__join_owner(j, work->id, work->correlation);
        j->unowned += !call;
        if (call) call->ns = PROF__PLUS(call->ns, work->ns);
        j->launched = j->launched || (call && call->id & PROF_JOIN_LAUNCH);
    }
}

PROF_API PROF__QUIET int64_t prof_join_take(prof_join *j, uint32_t kind, int64_t id,
                                            uint32_t number) {
    bool none = kind == PROF_JOIN_LAUNCH && !j->launched;
    struct prof__joined *call = none ? NULL : prof__join_find(j, kind, id);
    int64_t ns = call && call->number == number ? call->ns : 0;
    if (ns) call->ns = 0;
    return ns;
}

PROF_API PROF__QUIET void prof_join_close(prof_join *j) {
    void *const lists[] = { j->calls, j->works, j->index };
    for (int i = 0; i < 3; i++)
        if (lists[i]) (void)j->resize(j->user, lists[i], 0);
    j->calls = j->works = NULL;
    j->index = NULL;
    j->places = j->call_count = j->call_room = j->work_count = j->work_room = 0;
}

/* ---- all of it, for events that stand in order ---- */

PROF__FN void prof__set_depths(struct prof_trace *s) {
    for (uint32_t i = 0; i < s->event_count; i++) {
        prof_event *e = s->events + i;
        uint8_t up = e->parent == PROF_NONE ? 0 : s->events[e->parent].depth;
        e->depth = e->parent == PROF_NONE ? 0 : (uint8_t)(up + (up < 255));
    }
}

/* The tree of events from outside, and of recorded ones with them. */
PROF__FN void prof__outside_tree(struct prof_trace *s, uint32_t lanes, bool correlated) {
    char *scratch = s->scratch;
    prof__link(s, scratch, lanes, !correlated);
    if (s->side && !s->built) prof__link_by_id(s, (uint32_t *)(void *)scratch, NULL);
    if (s->any_launch) prof__link_by_time(s, scratch);
    if (s->any_same) prof__merge_duplicates(s, scratch);
    if (!s->built || s->duplicates) prof__set_depths(s);
    prof__sum_up(s);
    if (s->any_backward && s->built) prof__set_backward_stacks(s, scratch);
}

/* ---- traces without a session ---- */

PROF__FN bool prof__outside_after(const void *events, uint32_t a, uint32_t b) {
    const prof_event *x = (const prof_event *)events + a, *y = (const prof_event *)events + b;
    if (x->start_ns != y->start_ns) return x->start_ns > y->start_ns;
    if (x->end_ns != y->end_ns) return x->end_ns < y->end_ns;
    return (x->flags & PROF__EVENT_MEMORY) > (y->flags & PROF__EVENT_MEMORY);
}

/* What the memory of a built trace is to hold. */
typedef struct prof__sizes { size_t events, kernels, own, stacks, threads; bool wide; } prof__sizes;

PROF__FN prof__sizes prof__sizes_of(const prof_trace_desc *d, const prof_event *events,
                                    size_t count) {
    prof__sizes n;
    bool backward = false;
    memset(&n, 0, sizeof n);
    n.events = count;
    n.threads = d->threads ? d->thread_count : count;
    for (size_t i = 0; i < count; i++) {
        const prof_extra *x = events[i].extra;
        n.wide = n.wide || x || events[i].device_type != PROF_DEVICE_CPU;
        n.kernels += events[i].device_type != PROF_DEVICE_CPU;
        if (!x) continue;
        n.kernels += x->kernel_count;
        backward = backward || x->scope == 1;
        if (d->correlate) n.stacks += x->stack_count;
    }
    n.own = d->correlate || backward ? count : 0;
    return n;
}

/* What the passes need at most for an event, and averages of as many rows as events. */
PROF__FN size_t prof__built_scratch(size_t events) {
    return events * (PROF__GROUP_SHARE + 72) + 1024;   /* 72: percentiles */
}

PROF__FN size_t prof__built_size(const prof__sizes *n) {
    return 16 + prof__align(sizeof(struct prof_trace)) + n->events * sizeof(prof_event) +
           (n->wide ? prof__align(n->events * sizeof(prof__side)) : 0) +
           prof__align(n->kernels * sizeof(prof__kernel)) +
           prof__align(n->own * sizeof(prof_extra)) + prof__align(n->stacks * sizeof(char *)) +
           prof__align(n->threads * (sizeof(prof_thread_info) + sizeof(uint32_t))) +
           prof__built_scratch(n->events);
}

PROF_API PROF__QUIET size_t prof_trace_memory_size(const prof_trace_desc *desc,
                                                   const prof_event *events, size_t count) {
    prof__sizes n;
    if (!desc || (count && !events) || count > SIZE_MAX / 2048) return SIZE_MAX;
    n = prof__sizes_of(desc, events, count);
    return prof__built_size(&n);
}

PROF__FN char *prof__built_take(char **low, size_t bytes) {
    char *p = *low;
    *low += prof__align(bytes);
    return p;
}

/* Lays a trace out in the caller's memory. */
PROF__FN struct prof_trace *prof__built_open(const prof_trace_desc *d, const prof__sizes *n) {
    char *low = (char *)(((uintptr_t)d->memory + 15u) & ~(uintptr_t)15u);
    struct prof_trace *s = (struct prof_trace *)(void *)prof__built_take(&low, sizeof *s);
    memset(s, 0, sizeof *s);
    s->self = s;
    s->built = s->stopped = s->analysed = true;
    s->view = d->view;
    s->start_wall_ns = (uint64_t)d->base_time_ns;
    s->demangle = d->demangle;
    s->demangle_user = d->user;
    s->events = (prof_event *)(void *)prof__built_take(&low, n->events * sizeof(prof_event));
    if (n->wide)
        s->side = (prof__side *)(void *)prof__built_take(&low, n->events * sizeof(prof__side));
    s->kernels = (prof__kernel *)(void *)prof__built_take(&low, n->kernels * sizeof(prof__kernel));
    s->own_extras = (prof_extra *)(void *)prof__built_take(&low, n->own * sizeof(prof_extra));
    s->own_max = (uint32_t)n->own;
    s->own_stacks = (const char **)(void *)prof__built_take(&low, n->stacks * sizeof(char *));
    s->threads =
        (prof_thread_info *)(void *)prof__built_take(&low, n->threads * sizeof(prof_thread_info));
    s->scratch = low;
    s->limit = low + prof__built_scratch(n->events);
    return s;
}

typedef struct prof__thread_key { const prof_thread_info *list; uint64_t id; } prof__thread_key;
PROF__FN bool prof__thread_same(const void *context, uint32_t number) {
    const prof__thread_key *k = (const prof__thread_key *)context;
    return k->list[number].id == k->id;
}

/* The number of the thread with this id; threads are numbered in the order they are met. */
PROF__FN uint32_t prof__built_thread(struct prof_trace *s, uint32_t *index, uint32_t places,
                                     uint64_t id) {
    prof__thread_key key;
    uint32_t *place;
    key.list = s->threads;
    key.id = id;
    place = prof__place_of(index, places, id, prof__thread_same, &key);
    if (!*place) {
        s->threads[s->thread_count].id = id;
        s->threads[s->thread_count].name = NULL;
        *place = ++s->thread_count;
    }
    return *place - 1;
}

/* Copies what is an event, with threads by number; given: the caller numbered them. */
PROF__FN void prof__built_copy(struct prof_trace *s, const prof_event *from, size_t count,
                               bool given) {
    uint32_t *index = (uint32_t *)(void *)s->scratch, places = 2 * (uint32_t)count, last = 0;
    if (!given) memset(index, 0, places * sizeof *index);
    for (size_t i = 0; i < count; i++) {
        prof_event *e = s->events + s->event_count;
        if (from[i].end_ns < from[i].start_ns) {
            s->rejected++;
            continue;
        }
        *e = from[i];
        if (!e->name) e->name = "(null)";
        e->parent = e->first_child = e->next_sibling = PROF_NONE;
        e->site = 0;
        e->depth = 0;
        e->flags = (uint16_t)((e->flags & 0xff) | PROF_EVENT_SUBMITTED);
        if (!given && (!s->event_count || s->threads[last].id != e->thread))
            last = prof__built_thread(s, index, places, e->thread);
        if (!given) e->thread = last;
        if (s->event_count && prof__outside_after(e - 1, 0, 1)) s->unsorted = true;
        s->event_count++;
    }
}

PROF__FN void prof__built_sort(struct prof_trace *s) {
    uint32_t *order = (uint32_t *)(void *)s->scratch, n = s->event_count;
    if (!s->unsorted) return;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    prof__sort(order, order + n, n, prof__outside_after, s->events);
    prof__events_permute(s->events, order, order + n, n);
}

/* Sorts raw activities, and joins them in the order they came in. */
PROF__FN void prof__built_correlate(struct prof_trace *s) {
    uint32_t *order = (uint32_t *)(void *)s->scratch, n;
    prof__raw_events(s, s->scratch);
    n = s->event_count;
    s->unsorted = true;                  /* memory events come last of their time */
    for (uint32_t i = 0; i < n; i++) s->events[i].site = i;
    prof__built_sort(s);
    for (uint32_t i = 0; i < n; i++) {
        prof_event *e = s->events + i;
        e->flags &= (uint16_t)~PROF__EVENT_MEMORY;
        order[e->site] = i;
        e->site = 0;
    }
    if (!s->side) return;
    for (uint32_t i = 0; i < n; i++) prof__side_open(s, i);
    prof__link_by_id(s, order + n, order);
}

PROF_API PROF__QUIET prof_result prof_trace_from_events(const prof_trace_desc *desc,
                                                        const prof_event *events, size_t count,
                                                        prof_trace **trace) {
    struct prof_trace *s;
    prof__sizes n;
    if (!desc || !desc->memory || !trace || (count && !events)) return PROF_ERROR_INVALID;
    if (count > INT32_MAX - 1 || desc->thread_count > INT32_MAX || count > SIZE_MAX / 2048)
        return PROF_ERROR_INVALID;
    for (size_t i = 0; desc->threads && i < count; i++)
        if (events[i].thread >= desc->thread_count) return PROF_ERROR_INVALID;
    n = prof__sizes_of(desc, events, count);
    if (desc->memory_size < prof__built_size(&n)) return PROF_ERROR_MEMORY;
    s = prof__built_open(desc, &n);
    prof__built_copy(s, events, count, desc->threads != NULL);
    if (desc->threads) {
        memcpy(s->threads, desc->threads, desc->thread_count * sizeof *s->threads);
        s->thread_count = (uint32_t)desc->thread_count;
    }
    s->raw = desc->correlate;
    if (desc->correlate) prof__built_correlate(s);
    else prof__built_sort(s);
    prof__outside_tree(s, s->event_count, desc->correlate);
    s->outside_count = s->event_count;
    *trace = s;
    return PROF_OK;
}

#endif

/* ---- a session's events ---- */

PROF__FN void prof__thread_fill(struct prof_trace *s, prof__row *row) {
    prof__context_name(row);
    if (row->thread == PROF_NONE) return;
    s->threads[row->thread] = row->info;
    if (row->name[0]) s->threads[row->thread].name = row->name;
}

/* The threads come first, then the events, however many. Each index has a row, also that of a
   thread of which no zone is kept. */
PROF__FN void prof__analysis_threads(struct prof_trace *s) {
    s->threads = (prof_thread_info *)(void *)prof__arena.low;
    for (prof__row *row = prof__rows_unused(s); row; row = prof__row_again_of(row))
        prof__thread_fill(s, row);
    for (prof__row *row = s->rows; row; row = row->next) prof__thread_fill(s, row);
    s->events = (prof_event *)(void *)(prof__arena.low +
                                       prof__align(s->thread_count * sizeof *s->threads));
}

#if PROF__BARE
#  define prof__analysis_refuse(s, bytes) false
#else
PROF__FN void prof__say_events(size_t bytes);

/* Events do not fit: queries go on from the records. */
PROF__FN bool prof__analysis_refuse(struct prof_trace *s, size_t bytes) {
    prof__say_events(bytes);
    s->refused = true;
    s->analysed = s->instants = false;
    s->event_count = s->moment_count = 0;
    s->moments = NULL;
    s->events = NULL;
    s->limit = s->place = NULL;
    s->scratch = s->first_scratch;
    return false;
}
#endif

/* Lays out what the analysis makes of the records; false: it does not fit, which in a full arena
   only "(lost)" zones can bring about where room was promised. */
PROF__FN bool prof__analysis_open(struct prof_trace *s) {
    size_t n = s->event_count;
    char *p = (char *)(void *)(s->events + n);
    s->moments = (prof__moment *)(void *)p;
    p += prof__align(s->moment_count * sizeof *s->moments);
#if !PROF__BARE
    s->step_list = (prof__step *)(void *)p;
    p += prof__align(s->step_count * sizeof *s->step_list);
    s->details = p;
    p += prof__align(s->detail_bytes);
    s->memory = (prof__memory *)(void *)p;
    p += prof__align(s->memory_count * sizeof *s->memory);
    s->async_index = (uint32_t *)(void *)p;
    p += prof__align(s->async_count * 2 * sizeof *s->async_index);
    if (prof__wide(s)) {
        s->side = (prof__side *)(void *)p;
        p += n * sizeof *s->side;
        s->kernels = (prof__kernel *)(void *)p;
        p += s->kernel_max * sizeof *s->kernels;
    }
#endif
    s->scratch = p;
    n *= PROF__SLOT_SHARE + s->beside - sizeof(prof_event) - (prof__wide(s) ? sizeof *s->side : 0);
    if (prof__lean(s) && n)
        n += prof__sites_of(s) * PROF__SITE_SHARE + 4096;
    if (p <= prof__scratch_end(s) && (size_t)(prof__scratch_end(s) - p) >= n) return true;
    if (prof__lean(s)) return prof__analysis_refuse(s, (size_t)(p - (char *)s->events) + n);
    PROF__BUMP(s->counts.full, s->event_count);   /* prof_dump may be reading it */
    s->event_count = s->moment_count = s->outside_count = s->step_count = s->detail_rows = 0;
#if !PROF__BARE
    s->memory_count = s->made_count = s->async_count = 0;
    s->side = NULL;
#endif
    s->scratch = (char *)(void *)s->events;
    return false;
}

#if PROF__BARE
#  define prof__devices_late(s) ((void)(s))
#  define prof__memory_late(s) ((void)0)
#  define prof__trails_name(s) ((void)0)
#  define prof__flows_match(s) ((void)0)
#  define prof__made_close(s) ((void)0)
#  define prof__analyse_outside(s) ((void)0)
#  define prof__merge_all_duplicates(s) ((void)0)
#else
/* ---- memory: each free finds its allocation, and zones are charged ---- */

PROF__FN bool prof__memory_after(const void *memory, uint32_t a, uint32_t b) {
    return ((const prof__memory *)memory)[a].ns > ((const prof__memory *)memory)[b].ns;
}

/* Puts the records in the order of time. scratch: 8 bytes a record. */
PROF__FN void prof__memory_sort(struct prof_trace *s, char *scratch) {
    uint32_t *order = (uint32_t *)(void *)scratch, n = s->memory_count;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    prof__sort(order, order + n, n, prof__memory_after, s->memory);
    for (uint32_t i = 0; i < n; i++) {   /* a cycle at a time */
        prof__memory moved = s->memory[i];
        uint32_t at = i;
        while (order[at] != i) {
            uint32_t from = order[at];
            s->memory[at] = s->memory[from];
            order[at] = at;
            at = from;
        }
        s->memory[at] = moved;
        order[at] = at;
    }
}

PROF__FN bool prof__same_device(const prof__memory *a, const prof__memory *b) {
    return a->device_type == b->device_type && a->device_index == b->device_index;
}

typedef struct prof__memory_key { const prof__memory *list, *want; } prof__memory_key;
PROF__FN bool prof__memory_same(const void *context, uint32_t number) {
    const prof__memory_key *k = (const prof__memory_key *)context;
    const prof__memory *m = k->list + number;
    return m->address == k->want->address && prof__same_device(m, k->want);
}

/* What a record changes: 0 where it does not count. place: the last allocation at its address. */
PROF__FN int64_t prof__memory_change(struct prof_trace *s, prof__memory *m, uint32_t *place) {
    prof__memory *old = *place ? s->memory + *place - 1 : NULL;
    if (m->what == PROF__ALLOCATED) {
        *place = (uint32_t)(m - s->memory) + 1;
        if (!old || old->what != PROF__ALLOCATED) return m->bytes;
        old->what = PROF__FREED;         /* its free was missed */
        m->next = (uint32_t)(old - s->memory) + 1;
        s->memory_missed++;
        return m->bytes - old->bytes;
    }
    if (m->what != PROF__FREE) return 0;
    if (old && old->what == PROF__ALLOCATED) {
        old->what = PROF__FREED;
        m->category = old->category;
        return m->bytes = -old->bytes;
    }
    m->what = PROF__NOT_COUNTED;
    if (old) s->memory_twice++;
    else s->memory_unknown++;
    return 0;
}

/* What is in use on each device. More devices than these share the last place. */
typedef struct prof__in_use { const prof__memory *device[32]; int64_t bytes[32]; } prof__in_use;

PROF__FN int64_t prof__memory_total(prof__in_use *u, const prof__memory *m, int64_t change) {
    uint32_t i = 0;
    while (i < 31 && u->device[i] && !prof__same_device(u->device[i], m)) i++;
    u->device[i] = m;
    return u->bytes[i] = (int64_t)((uint64_t)u->bytes[i] + (uint64_t)change);
}

/* The zone that has it, and those around that. */
PROF__FN void prof__memory_to_zones(struct prof_trace *s, const prof__memory *m, int64_t change) {
    bool host = prof__is_host_memory(m->device_type);
    for (uint32_t i = s->side ? m->event : PROF_NONE; i != PROF_NONE; i = s->events[i].parent) {
        int64_t *bytes = host ? &s->side[i].cpu_bytes : &s->side[i].device_bytes;
        *bytes = (int64_t)((uint64_t)*bytes + (uint64_t)change);
    }
    if (!host && !s->view.device_name) s->view.device_name = prof__device_title(m->device_type);
}

/* scratch: 8 bytes a record. */
PROF__FN void prof__memory_charge(struct prof_trace *s) {
    uint32_t n = s->memory_count, *index = (uint32_t *)(void *)s->scratch;
    prof__in_use in_use;
    prof__memory_key key;
    if (!n) return;
    prof__memory_sort(s, s->scratch);
    memset(index, 0, 2 * n * sizeof *index);
    memset(&in_use, 0, sizeof in_use);
    s->memory_unknown = s->memory_twice = s->memory_missed = 0;
    key.list = s->memory;
    for (uint32_t i = 0; i < n; i++) {
        prof__memory *m = s->memory + i;
        int64_t change;
        key.want = m;
        m->next = 0;
        change = m->what == PROF__NO_MEMORY ? 0
               : prof__memory_change(s, m, prof__place_of(index, 2 * n, m->address,
                                                          prof__memory_same, &key));
        m->total = prof__memory_total(&in_use, m, change);
        prof__memory_to_zones(s, m, change);
    }
}

/* Late memory that a zone has is no event of its own. scratch: 4 bytes an event and a thread. */
PROF__FN void prof__memory_to_innermost(struct prof_trace *s, char *scratch) {
    uint32_t *place = (uint32_t *)(void *)scratch, *last = place + s->event_count, at = 0, kept = 0;
    if (!s->late_memory) return;
    prof__memory_sort(s, scratch);
    memset(place, 0, s->event_count * sizeof *place);
    for (uint32_t t = 0; t < s->thread_count; t++) last[t] = PROF_NONE;
    for (uint32_t i = 0; i <= s->event_count && at < s->memory_count; i++) {
        for (; at < s->memory_count; at++) {
            prof__memory *m = s->memory + at;
            uint32_t zone;
            if (i < s->event_count && m->ns >= s->events[i].start_ns) break;
            if (m->next != PROF_NONE) continue;
            zone = prof__innermost(s, last + m->thread, m->ns);
            if (zone == PROF_NONE) continue;
            place[m->event] = PROF_NONE;
            m->event = zone;
        }
        if (i < s->event_count && prof__is_zone(s->events + i)) last[s->events[i].thread] = i;
    }
    for (uint32_t i = 0; i < s->event_count; i++)
        if (place[i] != PROF_NONE) place[i] = kept++;
    prof__move_up(s, place, kept);
}

/* Frees that do not count are no events. scratch: 4 bytes an event. */
PROF__FN void prof__memory_leave_out(struct prof_trace *s) {
    uint32_t *place = (uint32_t *)(void *)s->scratch, kept = 0;
    if (!s->memory_unknown && !s->memory_twice) return;
    memset(place, 0, s->event_count * sizeof *place);
    for (uint32_t i = 0; i < s->memory_count; i++) {
        const prof__memory *m = s->memory + i;
        if (m->what == PROF__NOT_COUNTED && m->event != PROF_NONE &&
            s->events[m->event].extra == prof__details_now.unnamed) place[m->event] = PROF_NONE;
    }
    for (uint32_t i = 0; i < s->event_count; i++)
        if (place[i] != PROF_NONE) place[i] = kept++;
    prof__move_up(s, place, kept);
}

/* ---- with_stack: the zones around each event, one array for each distinct path ---- */

typedef struct prof__path { uint32_t parent, first, depth; } prof__path;   /* first: its event */

typedef struct prof__paths {
    const struct prof_trace *s;
    uint32_t *of_event, *index, count;
    prof__path *list;
    uint32_t parent, event;              /* what is looked for */
} prof__paths;

PROF__FN bool prof__path_same(const void *context, uint32_t number) {
    const prof__paths *p = (const prof__paths *)context;
    const prof_event *a = p->s->events + p->list[number].first, *b = p->s->events + p->event;
    return p->list[number].parent == p->parent && a->site == b->site && a->extra == b->extra;
}

/* The path of each event: its zone, behind that of its parent. scratch: 24 bytes an event. */
PROF__FN void prof__paths_find(prof__paths *p, const struct prof_trace *s) {
    uint32_t n = s->event_count;
    memset(p, 0, sizeof *p);
    p->s = s;
    p->of_event = (uint32_t *)(void *)s->scratch;
    p->index = p->of_event + n;
    p->list = (prof__path *)(void *)(p->index + 2 * n);
    memset(p->index, 0, 2 * n * sizeof *p->index);
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + i;
        uint32_t *place, up = prof__moved(p->of_event, e->parent);
        p->of_event[i] = up;
        if (!e->site || e->flags & PROF_EVENT_SUBMITTED) continue;
        p->parent = up;
        p->event = i;
        place = prof__place_of(p->index, 2 * n, (uint64_t)up << 32 | e->site, prof__path_same, p);
        if (!*place) {
            prof__path *path = p->list + p->count++;
            path->parent = up;
            path->first = i;
            path->depth = up == PROF_NONE ? 1 : p->list[up].depth + 1;
            *place = p->count;
        }
        p->of_event[i] = *place - 1;
    }
}

/* "file(line): function", or the name where there is no place. */
PROF__FN size_t prof__site_text_of(const prof_site *site, char *to) {
    char line[24];
    size_t file = strlen(site->file), function = strlen(site->function), digits;
    digits = (size_t)(prof__text_u64(line, site->line) - line);
    if (!file) {
        if (to) memcpy(to, site->name, strlen(site->name) + 1);
        return strlen(site->name) + 1;
    }
    if (to) {
        memcpy(to, site->file, file);
        to[file] = '(';
        memcpy(to + file + 1, line, digits);
        memcpy(to + file + 1 + digits, "): ", 3);
        memcpy(to + file + digits + 4, site->function, function + 1);
    }
    return file + digits + function + 5;
}

/* What queries need of the scratch memory. */
PROF__FN size_t prof__query_share(const struct prof_trace *s) {
    size_t rows = prof__sites_of(s) + prof__others(s) + s->detail_rows;
    return (size_t)s->event_count * (PROF__SLOT_SHARE + s->beside - sizeof(prof_event)) +
           rows * PROF__GROUP_SHARE + 4096;
}

/* Memory at the end of what queries may use; NULL: they need it. */
PROF__FN char *prof__stack_take(const struct prof_trace *s, size_t bytes) {
    size_t keep = prof__query_share(s);
    bytes = prof__align(bytes);
    if ((size_t)(prof__arena.high - s->scratch) < keep + bytes) return NULL;
    return prof__arena.high -= bytes;
}

PROF__FN bool prof__address_after(const void *symbols, uint32_t a, uint32_t b) {
    const prof__symbol *list = (const prof__symbol *)symbols;
    return list[a].address > list[b].address;
}

/* Lists the addresses that have no text, by address. The list, and as much again to sort it, is in
   the scratch memory; false: it does not fit. */
PROF__FN bool prof__trails_list(const struct prof_trace *s, prof__symbols *n) {
    prof__symbol *from = (prof__symbol *)(void *)s->scratch;
    size_t room = (size_t)(prof__arena.high - s->scratch), total = 0, at = 0;
    uint32_t *order;
    for (uint32_t i = 0; i < prof__trails.count; i++)
        total += prof__trails.list[i]->named ? 0 : prof__trails.list[i]->count;
    n->count = (uint32_t)total;
    if (room / (2 * sizeof *from + 2 * sizeof *order) <= total) return false;
    for (uint32_t i = 0; i < prof__trails.count; i++) {
        prof__trail *r = prof__trails.list[i];
        for (uint32_t k = 0; !r->named && k < r->count; k++, at++) {
            from[at].address = r->addresses[k];
            from[at].text = r->texts + k;
            from[at].entry = !k;
        }
    }
    n->list = from + total;
    order = (uint32_t *)(void *)(n->list + total);
    for (uint32_t i = 0; i < n->count; i++) order[i] = i;
    prof__sort(order, order + total, n->count, prof__address_after, from);
    for (uint32_t i = 0; i < n->count; i++) n->list[i] = from[order[i]];
    return true;
}

/* Names the addresses of all call stacks, as far as there is room. */
PROF__FN void prof__trails_name(struct prof_trace *s) {
    size_t keep = prof__query_share(s);
    prof__symbols n;
    memset(&n, 0, sizeof n);
    if (!prof__trails.count || !prof__trails_list(s, &n)) return;
    n.low = PROF__MAX((char *)(n.list + n.count), s->scratch + keep);
    n.high = prof__arena.high;
    if (n.low > n.high) return;
    prof__symbols_name(&n);
    prof__arena.high = (char *)((uintptr_t)n.high & ~(uintptr_t)15u);
    for (uint32_t i = 0; i < prof__trails.count; i++) {
        prof__trail *r = prof__trails.list[i];
        uint32_t k = 0;
        while (k < r->count && r->texts[k]) k++;
        r->named = k == r->count;
    }
}

/* The extra of a path, with its stack; NULL: no room. */
PROF__FN prof_extra *prof__path_extra(struct prof_trace *s, const prof__paths *p, uint32_t number) {
    const prof__path *path = p->list + number;
    const prof_extra *base = s->events[path->first].extra;
    prof_extra *x = (prof_extra *)(void *)prof__stack_take(
        s, sizeof *x + path->depth * sizeof(char *) + PROF__GROUP_SHARE);
    const char **stack;
    if (!x) return NULL;
    stack = (const char **)(void *)(x + 1);
    memset(x, 0, sizeof *x);
    if (base && !prof__extra_own(s, s->events + path->first)) *x = *base;
    x->has &= ~(uint32_t)PROF__HAS_SHARED;
    x->stack = stack;
    for (uint32_t up = number; up != PROF_NONE; up = p->list[up].parent) {
        const prof_site *site = prof__site(s->events[p->list[up].first].site);
        const char *text = NULL;
        size_t size = prof__site_text_of(site, NULL);
        if (up != number) {              /* the text is that of the parent's stack */
            const prof_extra *above = s->paths[up];
            text = above ? above->stack[0] : NULL;
        }
        if (!text) {
            char *own = prof__stack_take(s, size);
            if (own) (void)prof__site_text_of(site, own);
            text = own;
        }
        if (!text) break;
        stack[x->stack_count++] = text;
    }
    return x;
}

PROF__FN void prof__stacks_set(struct prof_trace *s) {
    prof__paths p;
    if (!s->event_count || !prof__session.desc.with_stack) return;
    prof__paths_find(&p, s);
    s->paths = (prof_extra **)(void *)prof__stack_take(s, p.count * sizeof *s->paths);
    for (uint32_t i = 0; s->paths && i < p.count; i++) {
        s->paths[i] = prof__path_extra(s, &p, i);
        if (s->paths[i]) s->detail_rows++;
        else PROF__COUNT(prof__details_cut);
    }
    for (uint32_t i = 0; s->paths && i < s->event_count; i++) {
        prof_event *e = s->events + i;
        const prof_extra *from = p.of_event[i] == PROF_NONE ? NULL : s->paths[p.of_event[i]];
        if (!from || !e->site || e->flags & PROF_EVENT_SUBMITTED) continue;
        if (!prof__extra_own(s, e)) {
            e->extra = from;
        } else if (!e->extra->stack_count) {
            prof_extra *x = prof__own_extra(s, e);
            x->stack = from->stack;
            x->stack_count = from->stack_count;
        }
    }
}

/* The same as for events from outside, once there are stacks: what is within a backward zone gets a
   copy of its extra, if it shares one. */
PROF__FN void prof__backward_stacks(struct prof_trace *s) {
    uint32_t *within = (uint32_t *)(void *)s->scratch, n = 0;
    for (uint32_t i = 0; i < s->event_count; i++) {
        const prof_event *e = s->events + i;
        within[i] = prof__is_backward(e) || (e->parent != PROF_NONE && within[e->parent]);
        n += within[i] && !prof__extra_own(s, e);
    }
    s->own_count = s->own_max = 0;
    s->detail_rows += n;
    s->own_extras = n ? (prof_extra *)(void *)prof__stack_take(s, n * sizeof *s->own_extras) : NULL;
    if (s->own_extras) s->own_max = n;
    else if (n) PROF__COUNT(prof__details_cut);
    prof__set_backward_stacks(s, s->scratch);
}

/* ---- arrows ---- */

typedef struct prof__flow_key { const prof__moment *list; int64_t number; } prof__flow_key;
PROF__FN bool prof__flow_same(const void *context, uint32_t number) {
    const prof__flow_key *k = (const prof__flow_key *)context;
    return k->list[number].value == k->number;
}

/* Leaves out arrows of one end, and second ends. scratch: 12 bytes a moment. */
PROF__FN void prof__flows_match(struct prof_trace *s) {
    uint32_t n = 0, *index = (uint32_t *)(void *)s->scratch, *ends;
    prof__flow_key key;
    key.list = s->moments;
    for (uint32_t i = 0; i < s->moment_count; i++) n += s->moments[i].kind == PROF__MOMENT_FLOW;
    ends = index + 2 * n;
    memset(index, 0, 2 * n * sizeof *index);
    for (uint32_t i = 0; n && i < s->moment_count; i++) {
        ends[i] = 0;
        if (s->moments[i].kind != PROF__MOMENT_FLOW) continue;
        key.number = s->moments[i].value;
        *prof__place_of(index, 2 * n, (uint64_t)key.number, prof__flow_same, &key) = i + 1;
    }
    for (uint32_t i = 0; i < s->moment_count; i++) {
        prof__moment *m = s->moments + i;
        uint32_t *place = NULL;
        if (m->kind != PROF__MOMENT_FLOW_END) continue;
        key.number = m->value;
        if (n) place = prof__place_of(index, 2 * n, (uint64_t)key.number, prof__flow_same, &key);
        if (!place || !*place || ends[*place - 1]) m->kind = PROF__MOMENT_NONE;
        else ends[*place - 1] = 1;
    }
    for (uint32_t i = 0; n && i < s->moment_count; i++)
        if (s->moments[i].kind == PROF__MOMENT_FLOW && !ends[i])
            s->moments[i].kind = PROF__MOMENT_NONE;
}

/* Fewer events were made than counted, for ranges that ended twice: the steps move up. */
PROF__FN void prof__made_close(struct prof_trace *s) {
    uint32_t made = prof__details_now.made_count, gap = s->made_count - made;
    prof_event *to = s->events + s->zone_count + made + s->outside_count;
    if (gap) memmove(to, to + gap, s->step_count * sizeof *to);
    s->made_count = made;
    s->event_count -= gap;
}

/* The events that were handed in, behind the recorded ones and before the steps; then all in order,
   in one tree. */
PROF__FN void prof__analyse_outside(struct prof_trace *s) {
    prof_event *to = s->events + s->zone_count + s->made_count;
    uint32_t memory = s->memory_count - s->late_memory;
    for (const struct prof__submitted *from = s->first_submitted; from; from = from->next) {
        *to = from->event;
        to->parent = to->first_child = to->next_sibling = PROF_NONE;
        if (to->flags & PROF__EVENT_MEMORY) {
            prof__memory *m = s->memory + memory++;
            *m = ((const prof__late *)(const void *)from)->memory;
            m->event = (uint32_t)(to - s->events);
            to->extra = prof__details_now.unnamed;
        }
        to++;
    }
    if (!prof__events_in_order(s->events, s->event_count)) {
        prof__events_sort(s->events, s->event_count, s->scratch);
        prof__memory_moved(s, (uint32_t *)(void *)s->scratch + s->event_count);
    }
    prof__outside_tree(s, s->thread_count + s->outside_count, false);
    prof__memory_to_innermost(s, s->scratch);
    prof__memory_charge(s);
    prof__memory_leave_out(s);
    prof__stacks_set(s);
    if (s->any_backward) prof__backward_stacks(s);
}

/* desc.merge_duplicates, where there was nothing from outside. */
PROF__FN void prof__merge_all_duplicates(struct prof_trace *s) {
    if (!s->merge || s->outside_count) return;
    prof__merge_duplicates(s, s->scratch);
    prof__set_depths(s);
}

/* Why a device has not recorded all there was in this trace; NULL: it has, or was not asked. */
PROF__FN const char *prof__device_status(const prof_trace *trace, uint32_t i) {
    const prof_device_desc *d = &prof__devices[i].desc;
    bool asked = !trace->built && (prof__session.activities & d->activity);
    return asked && d->status ? d->status(d->user) : NULL;
}

/* Devices submit what they kept back. */
PROF__FN void prof__devices_late(struct prof_trace *s) {
    s->kernel_count = 0;
    s->duplicates = s->overlaps = s->no_forward = s->unlinked = 0;
    s->async_twice = 0;
    prof__lock();
    prof__arena.closed = false;
    s->late = true;
    prof__unlock();
    for (uint32_t i = 0; i < prof__device_count; i++)
        if (prof__devices[i].desc.late) prof__devices[i].desc.late(prof__devices[i].desc.user);
    prof__lock();
    s->late = false;
    prof__arena.closed = true;
    prof__unlock();
}

PROF__FN void prof__memory_late(struct prof_trace *s) { s->memory_count += s->late_memory; }
#endif

/* What queries need of a session, once: all from its devices, its threads, memory. */
PROF__FN void prof__prepare(struct prof_trace *s) {
    if (s->prepared) return;
    s->prepared = true;
    prof__devices_late(s);
    prof__analysis_threads(s);
    s->scratch = (char *)(void *)s->events;
#if !PROF__BARE
    s->sites = PROF__ACQUIRE(prof__site_count);
    s->first_scratch = s->scratch;
    s->refused = false;
    s->limit = s->place = NULL;
#endif
}

/* Makes the events in the memory that was promised for them, or that is there. */
PROF__FN void prof__analyse_now(struct prof_trace *s) {
    static prof__tree tree;
    prof__feed feed;
    bool plain;
    prof__prepare(s);
#if !PROF__BARE
    s->events = (prof_event *)(void *)(s->place ? s->place : s->first_scratch);
#endif
    s->analysed = true;
    plain = !prof__wide(s);
    prof__tree_feed(&feed, s, &tree);
    prof__count_rows(s, plain ? &feed : NULL);
    s->event_count = s->zone_count + prof__others(s);
    prof__memory_late(s);
    if (!prof__analysis_open(s)) return;
    prof__trails_name(s);
    if (!plain || s->moment_count || s->step_count) {
        prof__tree_open(&tree, s);
        prof__build_rows(s, &feed);
    }
#if !PROF__BARE
    s->instants = tree.instants;
#endif
    prof__made_close(s);
    if (prof__others(s) || prof__wide(s)) prof__analyse_outside(s);
    else if ((s->row_count > 1 || tree.touching) &&
             !prof__events_in_order(s->events, s->event_count))
        prof__events_sort(s->events, s->event_count, s->scratch);
    prof__flows_match(s);
    prof__merge_all_duplicates(s);
    PROF__ASSERT(prof__events_hold(s->events, (uint32_t)s->event_count));
}

/* The same once. False: there is no room for events. */
PROF__FN bool prof__analyse(const prof_trace *trace) {
    struct prof_trace *s = &prof__trace;
#if PROF__BARE
    if (trace == s && !s->analysed) prof__analyse_now(s);
    return true;
#else
    uint64_t begin;
    bool taken;
    if (trace != s || s->analysed) return true;
    if (s->prepared && s->refused) return false;
    begin = prof__os_now();
    taken = prof__own(&prof__reading);
    prof__analyse_now(s);
    prof__own_times.analysis += prof__os_now() - begin;
    if (taken) prof__disown(&prof__reading);
    return s->analysed;
#endif
}

PROF_API PROF__QUIET const prof_event *prof_events(const prof_trace *trace, size_t *count) {
    bool ok = prof__valid(trace), made = ok && prof__analyse(trace);
    if (count) *count = made ? trace->event_count : ok ? trace->zone_count : 0;
    return made && trace->event_count ? trace->events : NULL;
}

#if !PROF__BARE
PROF_API PROF__QUIET const prof_event *prof_make_events(const prof_trace *trace, void *memory,
                                                        size_t size, size_t *count) {
    struct prof_trace *s = &prof__trace;
    const prof_event *events = prof_events(trace, count);
    char *base = (char *)(((uintptr_t)memory + 15u) & ~(uintptr_t)15u);
    if (events || trace != s || !s->prepared || !s->refused || !memory) return events;
    if ((size_t)(base - (char *)memory) >= size) return NULL;
    s->place = base;
    s->limit = (const char *)memory + size;
    s->refused = false;
    return prof_events(trace, count);
}
#endif

PROF_API PROF__QUIET const prof_thread_info *prof_threads(const prof_trace *trace, size_t *count) {
    bool ok = prof__valid(trace);
    if (ok && trace == &prof__trace) prof__prepare(&prof__trace);
    if (count) *count = ok ? trace->thread_count : 0;
    return ok && trace->thread_count ? trace->threads : NULL;
}

PROF_API PROF__QUIET const prof_site *prof_event_site(const prof_trace *trace,
                                                      const prof_event *event) {
    return prof__valid(trace) && event && event->site ? prof__site(event->site) : NULL;
}

PROF_API PROF__QUIET const char *prof_hw_counter_name(const prof_trace *trace, uint32_t i) {
#if !PROF__BARE
    if (prof__valid(trace) && !trace->built && i < prof__counting.count)
        return prof__counting.names[i];
#endif
    (void)trace;
    (void)i;
    return NULL;
}

/* ---- what an event sums up to ---- */

PROF_API PROF__QUIET prof_event_totals prof_event_total(const prof_trace *trace,
                                                        const prof_event *event) {
    prof_event_totals t;
    memset(&t, 0, sizeof t);
    if (!prof__valid(trace) || !event) return t;
    t.cpu_time_total_ns = prof__cpu_ns(event);
    t.self_cpu_time_total_ns = event->self_cpu_time_total_ns;
    if (prof__side_of(trace)) {
        const prof__side *side = trace->side + (event - trace->events);
        bool own = prof__in_tree(event);
        t.device_time_total_ns = t.self_device_time_total_ns = side->device_ns;
        t.cpu_memory_usage = side->cpu_bytes;
        t.device_memory_usage = side->device_bytes;
        t.self_cpu_memory_usage = own ? side->cpu_bytes : 0;
        t.self_device_memory_usage = own ? side->device_bytes : 0;
        for (uint32_t c = event->first_child; c != PROF_NONE; c = trace->events[c].next_sibling) {
            t.self_device_time_total_ns =
                PROF__MINUS(t.self_device_time_total_ns, trace->side[c].device_ns);
            t.self_cpu_memory_usage =
                PROF__MINUS(t.self_cpu_memory_usage, trace->side[c].cpu_bytes);
            t.self_device_memory_usage =
                PROF__MINUS(t.self_device_memory_usage, trace->side[c].device_bytes);
        }
    }
    return t;
}

#if !PROF__BARE
PROF_API PROF__QUIET size_t prof_event_kernels(const prof_trace *trace, const prof_event *event,
                                               prof_kernel *kernels, size_t max) {
    size_t n = 0;
    uint32_t at;
    if (!prof__valid(trace) || !event || !trace->side) return 0;
    at = trace->side[event - trace->events].first_kernel;
    for (; at != PROF_NONE; at = trace->kernels[at].next, n++) {
        if (kernels && n < max) kernels[n] = prof__kernel_of(trace, trace->kernels + at);
    }
    return n;
}
#endif

/* ---- what ended, from the records or from the events ---- */

/* While a thread reads records no other does: reading counts what they hold anew. */
#if PROF__BARE
#  define prof__reading_open() false
#  define prof__reading_close(taken) ((void)(taken))
#else
#  define prof__reading_open() prof__own(&prof__reading)
PROF__FN void prof__reading_close(bool taken) {
    if (taken) prof__disown(&prof__reading);
}
#endif

/* Are zones all there is, and no events made of them? Then their records tell all; else there are
   events from now on. */
PROF__FN bool prof__from_records(const prof_trace *trace) {
    struct prof_trace *s = &prof__trace;
#if !PROF__BARE
    if (trace != s) return false;
#endif
    (void)trace;
    prof__prepare(s);
#if !PROF__BARE
    if (s->beside || s->merge || prof__others(s)) prof__analyse(s);
    if (s->analysed) return false;
#endif
    return true;
}

PROF__FN void prof__closes_of_records(const prof__feed *feed) {
    struct prof_trace *s = &prof__trace;
#if PROF__BARE
    prof__count_rows(s, feed);
#else
    uint64_t begin = prof__os_now();
    bool taken = prof__own(&prof__reading);
    prof__count_rows(s, feed);
    prof__own_times.analysis += prof__os_now() - begin;
    if (taken) prof__disown(&prof__reading);
#endif
}

#if !PROF__BARE
/* Adds what other devices than the first worked for an event itself; false: nothing. */
PROF__FN bool prof__others_own(const struct prof_trace *s, const prof_event *e, int64_t *others) {
    uint32_t k = s->side[e - s->events].first_kernel, kind = prof__device_number(s, e->device_type);
    bool any = false;
    if (e->device_type != PROF_DEVICE_CPU && kind)
        others[kind - 1] = PROF__PLUS(others[kind - 1], prof__elapsed(e));
    if (e->device_type != PROF_DEVICE_CPU || e->flags & PROF_EVENT_ASYNC) return kind != 0;
    for (; k != PROF_NONE; k = s->kernels[k].next) {
        const prof__kernel *work = s->kernels + k;
        kind = work->name ? 0 : prof__device_number(s, s->events[work->device].device_type);
        if (kind) others[kind - 1] = PROF__PLUS(others[kind - 1], work->duration_ns);
        any = any || kind;
    }
    return any;
}

/* The event around e that has e's device time too; NULL: none. */
PROF__FN const prof_event *prof__others_up(const struct prof_trace *s, const prof_event *e) {
    const prof_event *up = e->parent == PROF_NONE ? NULL : s->events + e->parent;
    return up && !(up->flags & PROF_EVENT_LEGACY) ? up : NULL;
}

/* Other devices' parts of an event's device times. */
PROF__FN void prof__row_others(const struct prof_trace *s, const prof_event *e, prof_average *r) {
    const prof_event *at = e;
    if (!s->side || !s->device_types[1]) return;
    (void)prof__others_own(s, e, r->self_other_device_ns);
    for (;;) {
        (void)prof__others_own(s, at, r->other_device_ns);
        if (at->first_child != PROF_NONE && !(at->flags & PROF_EVENT_LEGACY)) {
            at = s->events + at->first_child;
            continue;
        }
        while (at != e && at->next_sibling == PROF_NONE) at = s->events + at->parent;
        if (at == e) return;
        at = s->events + at->next_sibling;
    }
}

PROF__FN void prof__beside_counters(prof__beside *b, const struct prof_trace *s,
                                    const prof_event *e) {
    b->counted = e->extra && e->extra->counter_count;
    if (!b->counted) return;
    memcpy(b->all.counters, e->extra->counters,
           PROF__MIN(e->extra->counter_count, PROF_COUNTERS) * sizeof *e->extra->counters);
    for (uint32_t c = e->first_child; c != PROF_NONE; c = s->events[c].next_sibling) {
        const prof_extra *x = s->events[c].extra;
        for (uint32_t i = 0; x && i < PROF__MIN(x->counter_count, PROF_COUNTERS); i++)
            b->within.counters[i] = PROF__PLUS(b->within.counters[i], x->counters[i]);
    }
}

PROF__FN void prof__beside_of_event(prof__beside *b, const struct prof_trace *s,
                                    const prof_event *e) {
    prof_event_totals t = prof_event_total(s, e);
    memset(b, 0, sizeof *b);
    b->all.device_ns = t.device_time_total_ns;
    b->all.cpu_bytes = t.cpu_memory_usage;
    b->all.device_bytes = t.device_memory_usage;
    b->within.device_ns = PROF__MINUS(t.device_time_total_ns, t.self_device_time_total_ns);
    b->within.cpu_bytes = PROF__MINUS(t.cpu_memory_usage, t.self_cpu_memory_usage);
    b->within.device_bytes = PROF__MINUS(t.device_memory_usage, t.self_device_memory_usage);
    b->flops = e->extra ? e->extra->flops : 0;
    prof__beside_counters(b, s, e);
}

PROF__EAGER void prof__close_event(const struct prof_trace *s, prof__taker *take, void *user,
                                   uint32_t i, uint32_t depth, uint32_t number) {
    const prof_event *e = s->events + i;
    prof__beside b;
    prof__close c;
    c.start_ns = e->start_ns;
    c.end_ns = e->end_ns;
    c.cpu_ns = prof__cpu_ns(e);
    c.self_ns = e->self_cpu_time_total_ns;
    c.beside = s->side ? &b : NULL;
    c.what = c.order = i;
    c.thread = e->thread;
    c.depth = depth;
    c.number = c.from = number;
    c.flags = e->flags;
    if (s->side) prof__beside_of_event(&b, s, e);
    take(user, &c);
}

/* For takers that need no order, depth or number: as the events lie in memory, parents first. */
PROF__EAGER void prof__closes_in_memory(const prof_trace *trace, prof__taker *take, void *user) {
    for (uint32_t i = 0; i < trace->event_count; i++)
        prof__close_event(trace, take, user, i, 0, i);
}

/* Each root after all that lies in it, by the links of the tree. */
PROF__FN void prof__closes_of_events(const prof_trace *trace, const prof__feed *feed) {
    uint32_t number = 0;
    for (uint32_t root = 0; root < trace->event_count; root++) {
        uint32_t i = root, depth = 0;
        while (trace->events[root].parent == PROF_NONE) {
            for (; trace->events[i].first_child != PROF_NONE; depth++)
                i = trace->events[i].first_child;
            prof__close_event(trace, feed->take, feed->user, i, depth, number++);
            for (; depth && trace->events[i].next_sibling == PROF_NONE; depth--) {
                i = trace->events[i].parent;
                prof__close_event(trace, feed->take, feed->user, i, depth - 1, number++);
            }
            if (!depth) break;
            i = trace->events[i].next_sibling;
        }
    }
}
#else
#  define prof__row_others(s, e, r) ((void)0)
#  define prof__closes_in_memory(trace, take, user) ((void)(take))
#  define prof__closes_of_events(trace, feed) ((void)0)
#endif

/* ---- @AVERAGES: events to one row per name, shape, stack ---- */

/* Rows in the scratch memory. Found by site where a plain zone has nothing else that tells rows
   apart; else by hash. */
typedef struct prof__groups {
    const struct prof_trace *s;
    prof_averages_desc by;
    prof__group *rows;
    prof__group_wide *wide;              /* NULL: the trace has none of it */
    prof__rank *ranks;                   /* of the rows' first zones, whose sites they have; NULL:
                                            they have the numbers of events */
    uint32_t *last;                      /* number of the row's last close; PROF_NONE: its calls lie
                                            in each other */
    uint32_t *row_of_site, *index;       /* row + 1; 0: none */
    uint32_t *order;                     /* the rows as they are first seen */
    uint32_t count, places, max;
    struct { const char *name; uint32_t kind, row; } recent[16];   /* by the name's address */
#if !PROF__BARE
    struct prof__shares *shares;         /* NULL: no percentiles */
    int64_t (*counts)[2 * PROF__EXTRAS];   /* of a row: with its children, without; NULL: none */
#endif
} prof__groups;

PROF__FN uint32_t prof__groups_max(const struct prof_trace *s) {
    return prof__sites_of(s) + prof__others(s) + s->detail_rows;
}

/* Where the table puts the order of n rows. */
PROF__FN char *prof__groups_end(const prof__groups *g) { return (char *)(g->index + g->places); }

PROF__FN void prof__groups_open(prof__groups *g, const struct prof_trace *s,
                                const prof_averages_desc *by, bool records) {
    uint32_t sites = prof__sites_of(s);
    char *p;
    memset(g, 0, sizeof *g);
    g->s = s;
    if (by) g->by = *by;
    g->max = prof__groups_max(s);
    g->places = 2 * g->max + 1;
    g->rows = (prof__group *)(void *)s->scratch;
    p = (char *)(g->rows + g->max);
    if (PROF__BARE || records) g->ranks = (prof__rank *)(void *)p;
    else if (prof__side_of(s)) g->wide = (prof__group_wide *)(void *)p;
    p += g->max *
         (prof__ranked(g->ranks) ? sizeof *g->ranks : g->wide ? sizeof *g->wide : 0);
    g->last = (uint32_t *)(void *)p;
    g->row_of_site = g->last + (PROF__BARE ? 0 : g->max);
    g->index = g->row_of_site + sites;
    memset(g->row_of_site, 0, (sites + g->places) * sizeof(uint32_t));
}

/* What else tells rows of one name apart: node, device type, legacy, user annotation. */
PROF__FN uint32_t prof__kind(const prof_event *e) {
    uint32_t flags = e->flags & (PROF_EVENT_LEGACY | PROF_EVENT_USER_ANNOTATION);
    if (PROF__BARE) return 0;
    return (((uint32_t)prof__node_id(e) + 1) << 13) ^ (flags << 8) ^ e->device_type;
}

PROF__FN bool prof__same_kind(const prof_event *a, const prof_event *b) {
    uint32_t flags = PROF_EVENT_LEGACY | PROF_EVENT_USER_ANNOTATION;
    if (PROF__BARE) return true;
    return prof__node_id(a) == prof__node_id(b) && a->device_type == b->device_type &&
           ((a->flags ^ b->flags) & flags) == 0;
}

PROF__FN const char *prof__overload(const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    return x && x->overload_name ? x->overload_name : "";
}

PROF__FN uint32_t prof__hash_more(uint32_t h, const char *s) {
    for (; s && *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return (h ^ 255u) * 16777619u;
}

PROF__FN uint32_t prof__hash_dims(uint32_t h, const prof_shape *s) {
    h = (h ^ (s->count + (s->items ? 1u << 16 : 0u))) * 16777619u;
    for (uint32_t i = 0; s->dims && !s->items && i < s->count; i++)
        h = (h ^ (uint32_t)s->dims[i] ^ (uint32_t)((uint64_t)s->dims[i] >> 32)) * 16777619u;
    return h;
}

/* Inputs may be known without their shapes. */
PROF__FN uint32_t prof__shape_count(const prof_extra *x) {
    return x && x->input_shapes ? x->input_count : 0;
}

PROF__FN uint32_t prof__hash_shapes(uint32_t h, const prof_extra *x) {
    for (uint32_t i = 0; i < prof__shape_count(x); i++) {
        const prof_shape *s = x->input_shapes + i;
        h = prof__hash_dims(h, s);
        for (uint32_t j = 0; s->items && j < s->count; j++) h = prof__hash_dims(h, s->items + j);
    }
    return h;
}

PROF__FN uint32_t prof__stack_part(const prof_averages_desc *by, const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    return x ? PROF__MIN(x->stack_count, by->group_by_stack_n) : 0;
}

PROF__FN uint32_t prof__group_hash(const prof_averages_desc *by, const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    uint32_t h = prof__hash_more(2166136261u ^ prof__kind(e), e->name);
    if (!PROF__BARE && by->group_by_overload_name) h = prof__hash_more(h, prof__overload(e));
    h = prof__hash_place(h, prof__group_place(by, e));
    if (!x) return h;
    if (by->group_by_input_shapes) h = prof__hash_shapes(h, x);
    for (uint32_t i = 0; i < prof__stack_part(by, e); i++) h = prof__hash_more(h, x->stack[i]);
    return h;
}

PROF__FN bool prof__same_dims(const prof_shape *a, const prof_shape *b) {
    if (a->count != b->count || (a->items == NULL) != (b->items == NULL)) return false;
    return a->items || !a->count || a->dims == b->dims ||
           (a->dims && b->dims && memcmp(a->dims, b->dims, a->count * sizeof *a->dims) == 0);
}

PROF__FN bool prof__same_shapes(const prof_extra *a, const prof_extra *b) {
    uint32_t n = prof__shape_count(a);
    if (n != prof__shape_count(b)) return false;
    for (uint32_t i = 0; i < n; i++) {
        const prof_shape *x = a->input_shapes + i, *y = b->input_shapes + i;
        if (!prof__same_dims(x, y)) return false;
        for (uint32_t j = 0; x->items && j < x->count; j++)
            if (!prof__same_dims(x->items + j, y->items + j)) return false;
    }
    return true;
}

PROF__FN bool prof__same_group(const prof_averages_desc *by, const prof_event *a,
                              const prof_event *b) {
    uint32_t n = prof__stack_part(by, a);
    if (!prof__same_kind(a, b) || strcmp(a->name, b->name) != 0) return false;
    if (!prof__same_place(prof__group_place(by, a), prof__group_place(by, b))) return false;
    if (!PROF__BARE && by->group_by_overload_name &&
        strcmp(prof__overload(a), prof__overload(b)) != 0) return false;
    if (by->group_by_input_shapes && !prof__same_shapes(prof__extra_of(a), prof__extra_of(b)))
        return false;
    if (n != prof__stack_part(by, b)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(prof__text(a->extra->stack[i]), prof__text(b->extra->stack[i])) != 0)
            return false;
    return true;
}

PROF__FN void prof__group_open(prof__group *r) {
    memset(r, 0, sizeof *r);
    r->min_ns = INT64_MAX;
    r->max_ns = INT64_MIN;
}

#if PROF__BARE
#  define prof__is_in_sums(s, what) false
#  define prof__group_in_sums(g, row) false
#  define prof__group_is_sums(r) false
#  define prof__sums_into_rows(g) ((void)0)
#  define prof__plain_event(r) g->s->events[0]
#else
PROF__FN const char *prof__tally_name(const prof__tally *r);
PROF__FN prof_average prof__sums_average(const struct prof_trace *s, const prof__tally *r);

/* Does a close stand for zones that are not in the timeline? In averages they are. */
PROF__FN bool prof__is_in_sums(const struct prof_trace *s, uint32_t what) {
    return s->in_sums && (s->analysed ? s->events[what].site : what) == s->in_sums;
}

/* Are there zones that are in no timeline? */
PROF__FN PROF__RACES bool prof__any_sums(const struct prof_trace *s) {
    return !s->built && (s->full_tick || PROF__LOAD(s->any_deep));
}

PROF__FN bool prof__group_is_sums(const prof__group *r) { return r->sums && !r->count; }

/* What a zone that is in no timeline would be as an event. */
PROF__FN prof_event prof__plain_event(const prof__tally *r) {
    prof_event e;
    memset(&e, 0, sizeof e);
    e.name = prof__tally_name(r);
    e.site = r->site >> 8;
    e.parent = e.first_child = e.next_sibling = PROF_NONE;
    e.extra = prof__session.desc.node ? prof__details_now.node : NULL;
    return e;
}
#endif

/* What a zone that has nothing but its site is as an event. */
PROF__FN prof_event prof__site_event(uint32_t site) {
    prof_event e;
    memset(&e, 0, sizeof e);
    e.name = prof__site(site)->name;
    if (!PROF__BARE) e.site = site;
    e.parent = PROF_NONE;
    return e;
}

/* An event that is one of the row's. */
PROF__FN prof_event prof__group_event(const prof__groups *g, const prof__group *r) {
    if (prof__ranked(g->ranks)) return prof__site_event(r->first);
    return r->first == PROF_NONE ? prof__plain_event(r->sums) : g->s->events[r->first];
}

/* The row of an event, new or known, by its hash. first: what a new one has. */
PROF__FN uint32_t prof__group_find(prof__groups *g, const prof_event *e, uint32_t first) {
    uint32_t hash = prof__group_hash(&g->by, e), at = hash % g->places;
    prof__group *r;
    for (; g->index[at]; at = at + 1 == g->places ? 0 : at + 1) {
        prof_event other;
        r = g->rows + g->index[at] - 1;
        if (r->hash != hash) continue;
        other = prof__group_event(g, r);
        if (prof__same_group(&g->by, e, &other)) return g->index[at] - 1;
    }
    r = g->rows + g->count;
    if (!PROF__BARE && g->wide) memset(g->wide + g->count, 0, sizeof *g->wide);
    prof__group_open(r);
    r->first = first;
    r->hash = hash;
    if (!PROF__BARE) g->last[g->count] = first;
    g->index[at] = ++g->count;
    return g->count - 1;
}

PROF__RARE(uint32_t) prof__group_new(prof__groups *g, uint32_t site) {
    prof_event e = prof__site_event(site);
    return prof__group_find(g, &e, site);
}

/* The row of a zone that has nothing but its site. */
PROF__EAGER uint32_t prof__group_of_site(prof__groups *g, uint32_t site) {
    uint32_t *row = g->row_of_site + prof__site_dense(site);
    if (PROF__UNLIKELY(!*row)) *row = prof__group_new(g, site) + 1;
    return *row - 1;
}

/* Adds a call to its row. w: what few traces have; NULL: this has none. */
PROF__EAGER void prof__call_add(prof__group *r, prof__group_wide *w, const prof__close *c) {
#define PROF__SUM(sum, self, field)                             \
    sum = PROF__PLUS(sum, b->all.field);                        \
    self = PROF__PLUS(self, PROF__MINUS(b->all.field, b->within.field))
    const prof__beside *b = c->beside;
    r->count++;
    r->cpu_ns = PROF__PLUS(r->cpu_ns, c->cpu_ns);
    r->self_cpu_ns = PROF__PLUS(r->self_cpu_ns, c->self_ns);
    if (c->cpu_ns < r->min_ns) r->min_ns = c->cpu_ns;
    if (c->cpu_ns > r->max_ns) r->max_ns = c->cpu_ns;
    if (PROF__BARE || !w || !b) return;
    PROF__SUM(w->device_ns, w->self_device_ns, device_ns);
    PROF__SUM(w->cpu_bytes, w->self_cpu_bytes, cpu_bytes);
    PROF__SUM(w->device_bytes, w->self_device_bytes, device_bytes);
    w->flops = PROF__PLUS(w->flops, b->flops);
#undef PROF__SUM
}

PROF__EAGER void prof__group_record(void *groups, const prof__close *c) {
    prof__groups *g = (prof__groups *)groups;
    uint32_t row = prof__group_of_site(g, c->what);
    prof__group *r = g->rows + row;
    (void)prof__rank_take(g->ranks + row, c, !r->count);
    if (!PROF__BARE)
        g->last[row] = r->count && g->last[row] >= c->from ? PROF_NONE : c->number;
    prof__call_add(r, NULL, c);
}

#if PROF__BARE
#  define prof__groups_percentiles(g) ((void)0)
#  define prof__groups_count(g) ((void)0)
#  define prof__groups_add_us(g) ((void)0)
#  define prof__group_segment NULL
#  define prof__group_event_take NULL
#else
PROF__FN void prof__group_segment(prof__reader *r, const prof__record *c,
                                  const prof__record *end) {
    prof__read_records(r, c, end, prof__group_record);
}

/* The row of event i, sooner when an event of this name's address was among the last ones. */
PROF__FN uint32_t prof__group_recent(prof__groups *g, uint32_t i) {
    const prof_event *e = g->s->events + i;
    uint32_t kind = prof__kind(e), at = (uint32_t)((uintptr_t)e->name >> 4 ^ kind) & 15;
    bool more = g->by.group_by_input_shapes || g->by.group_by_overload_name ||
                g->by.group_by_stack_n || g->by.group_by_site;
    if (more) return prof__group_find(g, e, i);
    if (g->recent[at].name != e->name || g->recent[at].kind != kind ||
        !prof__same_kind(e, g->s->events + g->rows[g->recent[at].row].first)) {
        g->recent[at].row = prof__group_find(g, e, i);
        g->recent[at].name = e->name;
        g->recent[at].kind = kind;
    }
    return g->recent[at].row;
}

PROF__EAGER uint32_t prof__group_of(prof__groups *g, uint32_t i) {
    const prof_event *e = g->s->events + i;
    uint32_t *row;
    if (!e->site || prof__extra_of(e) || (e->flags & ~PROF_EVENT_UNFINISHED))
        return prof__group_recent(g, i);
    row = g->row_of_site + prof__site_dense(e->site);
    if (PROF__UNLIKELY(!*row)) *row = prof__group_find(g, e, i) + 1;
    return *row - 1;
}

/* Does event i lie in one of its row? These begin with the first. */
PROF__FN bool prof__lies_in_row(prof__groups *g, uint32_t i, uint32_t row) {
    const prof_event *events = g->s->events;
    for (uint32_t first = g->rows[row].first; (i = events[i].parent) != PROF_NONE && i >= first;)
        if (prof__group_of(g, i) == row) return true;
    return false;
}

/* Parents come first: what lies in another of its row begins before one of those with children has
   ended, the last of which is remembered. */
PROF__EAGER void prof__group_event_take(void *groups, const prof__close *c) {
    prof__groups *g = (prof__groups *)groups;
    const prof_event *e = g->s->events + c->what;
    uint32_t row = prof__group_of(g, c->what), *last = g->last + row;
    if (*last != PROF_NONE) {
        int64_t end_ns = g->s->events[*last].end_ns;
        if (c->start_ns <= end_ns && c->what != *last && prof__lies_in_row(g, c->what, row))
            *last = PROF_NONE;
        else if (e->first_child != PROF_NONE && c->end_ns > end_ns) *last = c->what;
    }
    prof__call_add(g->rows + row, g->wide ? g->wide + row : NULL, c);
}

/* The row of zones that are in no timeline. */
PROF__FN uint32_t prof__group_of_sums(prof__groups *g, const prof__tally *r) {
    prof_event plain;
    if (prof__ranked(g->ranks))
        return prof__group_of_site(g, r->site ? r->site >> 8 : prof__others_site);
    plain = prof__plain_event(r);
    return prof__group_find(g, &plain, PROF_NONE);
}

/* Gives what the threads have in sums to the rows of plain zones; behind these come those that are
   in no timeline, in the order in which their threads met them. */
PROF__FN void prof__sums_into_rows(prof__groups *g) {
    const prof__state *t = prof__any_sums(g->s) ? prof__used(NULL) : NULL;
    for (; t; t = prof__used(t))
        for (prof__tally *r = t->tallies.others; r; r = r->next) {
            uint32_t row;
            if (!r->count) continue;
            row = prof__group_of_sums(g, r);
            r->same = g->rows[row].sums;
            g->rows[row].sums = r;
        }
}

/* Is it the row of what stands for them in the timeline? */
PROF__FN bool prof__group_in_sums(const prof__groups *g, uint32_t row) {
    const prof__group *r = g->rows + row;
    return r->count && prof__is_in_sums(g->s, r->first);
}
#endif

/* Hands on what ended, from the records or from the events. */
PROF__EAGER void prof__groups_feed(prof__groups *g, prof__taker *record, prof__taker *event) {
    prof__feed feed;
    memset(&feed, 0, sizeof feed);
    feed.user = g;
    feed.take = record;
    if (record == prof__group_record) feed.segment = prof__group_segment;
    if (prof__ranked(g->ranks)) prof__closes_of_records(&feed);
    else prof__closes_in_memory(g->s, event, g);
}

#if !PROF__BARE
/* Where a mean lies half way between two figures, the last bits of Python's sum decide. Kineto's
   times are no whole microseconds: the sum is made again as Python makes it. */
PROF__FN void prof__groups_add_us(prof__groups *g) {
    for (uint32_t i = 0; g->s->raw && g->wide && i < g->s->event_count; i++) {
        const prof_event *e = g->s->events + i;
        if (e->device_type == PROF_DEVICE_CPU)
            g->wide[prof__group_of(g, i)].cpu_us +=
                (double)e->end_ns / 1000 - (double)e->start_ns / 1000;
    }
}

/* ---- percentiles: in constant memory, by halving the range that each lies in ---- */

typedef struct prof__shares { int64_t low[3], high[3]; uint64_t below[3]; } prof__shares;

PROF__FN int64_t prof__between(int64_t low, int64_t high) {
    return PROF__PLUS(low, ((uint64_t)high - (uint64_t)low) / 2);
}

PROF__FN void prof__shares_count(prof__shares *p, int64_t ns) {
    for (int i = 0; i < 3; i++)
        p->below[i] += ns <= prof__between(p->low[i], p->high[i]);
}

PROF__FN void prof__shares_record(void *groups, const prof__close *c) {
    prof__groups *g = (prof__groups *)groups;
    prof__shares_count(g->shares + prof__group_of_site(g, c->what), c->cpu_ns);
}

PROF__EAGER void prof__shares_event(void *groups, const prof__close *c) {
    prof__groups *g = (prof__groups *)groups;
    prof__shares_count(g->shares + prof__group_of(g, c->what), c->cpu_ns);
}

/* Takes the half that each percentile lies in; false: it is known. */
PROF__FN bool prof__shares_halve(prof__shares *p, const prof__group *r) {
    static const uint32_t hundredths[] = { 50, 90, 99 };
    bool more = false;
    for (int i = 0; i < 3; i++) {
        uint64_t rank = (r->count * hundredths[i] + 99) / 100;
        int64_t half = prof__between(p->low[i], p->high[i]);
        if (p->below[i] >= rank) p->high[i] = half;
        else p->low[i] = half + 1;
        p->below[i] = 0;
        more = more || p->low[i] < p->high[i];
    }
    return more;
}

/* Memory behind the order that a table makes; NULL: there is none. */
PROF__FN void *prof__groups_more(const prof__groups *g, uintptr_t at, size_t bytes) {
    uintptr_t end = (uintptr_t)prof__scratch_end(g->s);
    at = (at + 7) & ~(uintptr_t)7;
    return end < at || end - at < bytes ? NULL : (void *)at;
}

PROF__FN void prof__groups_percentiles(prof__groups *g) {
    uintptr_t at = (uintptr_t)prof__groups_end(g) + 2 * g->count * sizeof(uint32_t);
    prof__shares *p = (prof__shares *)prof__groups_more(g, at, g->count * sizeof *p);
    bool more = g->count > 0;
    if (!g->by.percentiles || !p) return;
    memset(p, 0, g->count * sizeof *p);
    for (uint32_t row = 0; row < g->count; row++)
        for (int i = 0; i < 3; i++) {
            p[row].low[i] = g->rows[row].min_ns;
            p[row].high[i] = g->rows[row].max_ns;
        }
    g->shares = p;
    while (more) {
        more = false;
        prof__groups_feed(g, prof__shares_record, prof__shares_event);
        for (uint32_t row = 0; row < g->count; row++)
            more = prof__shares_halve(p + row, g->rows + row) || more;
    }
}


/* The row with what is only in sums. */
PROF__FN void prof__average_add_sums(prof_average *a, const prof__groups *g, const prof__group *r) {
    prof_average sums;
    if (!r->sums) return;
    sums = prof__sums_average(g->s, r->sums);
    (void)prof_average_add(a, &sums);
    if (!g->shares) a->p50_ns = a->p90_ns = a->p99_ns = 0;
}

PROF__FN void prof__average_extras(prof_average *a, const int64_t *all, const int64_t *self) {
    memcpy(a->counters, all, sizeof a->counters);
    memcpy(a->self_counters, self, sizeof a->self_counters);
    memcpy(a->other_device_ns, all + PROF_COUNTERS, sizeof a->other_device_ns);
    memcpy(a->self_other_device_ns, self + PROF_COUNTERS, sizeof a->self_other_device_ns);
}

/* ---- desc.hw_counters, and other devices' parts of device time, if there is room ---- */

PROF__EAGER void prof__counts_event(void *groups, const prof__close *c) {
    prof__groups *g = (prof__groups *)groups;
    const prof__beside *b = c->beside;
    int64_t *all = g->counts[prof__group_of(g, c->what)];
    for (int i = 0; b && b->counted && i < PROF_COUNTERS; i++, all++) {
        int64_t own = PROF__MINUS(b->all.counters[i], b->within.counters[i]);
        *all = PROF__PLUS(*all, b->all.counters[i]);
        all[PROF__EXTRAS] = PROF__PLUS(all[PROF__EXTRAS], own);
    }
}

PROF__FN void prof__groups_other(prof__groups *g, const prof_event *e, const int64_t *others,
                                 bool self) {
    int64_t *all = g->counts[prof__group_of(g, (uint32_t)(e - g->s->events))] + PROF_COUNTERS;
    if (self) all += PROF__EXTRAS;
    for (int i = 0; i < PROF_OTHER_DEVICES; i++) all[i] = PROF__PLUS(all[i], others[i]);
}

/* Whoever launched it has it itself, and all around have it. */
PROF__FN void prof__groups_others(prof__groups *g) {
    const struct prof_trace *s = g->s;
    for (uint32_t i = 0; i < s->event_count; i++) {
        int64_t others[PROF_OTHER_DEVICES] = { 0 };
        const prof_event *e = s->events + i;
        if (!prof__others_own(s, e, others)) continue;
        prof__groups_other(g, e, others, true);
        for (; e; e = prof__others_up(s, e)) prof__groups_other(g, e, others, false);
    }
}

PROF__FN void prof__groups_count(prof__groups *g) {
    uintptr_t at = (uintptr_t)prof__groups_end(g) + 2 * g->count * sizeof(uint32_t);
    bool others = g->s->side && g->s->device_types[1];
    if (g->s->built || !(prof__counting.count || others) || g->ranks) return;
    if (g->shares) at = (uintptr_t)(g->shares + g->count);
    g->counts = (int64_t (*)[2 * PROF__EXTRAS])prof__groups_more(
        g, at, g->count * sizeof *g->counts);
    if (!g->counts) return;
    memset(g->counts, 0, g->count * sizeof *g->counts);
    if (prof__counting.count) prof__groups_feed(g, NULL, prof__counts_event);
    if (others) prof__groups_others(g);
}
#endif

PROF__FN bool prof__group_after(const void *groups, uint32_t a, uint32_t b) {
    const prof__groups *g = (const prof__groups *)groups;
    if (prof__group_is_sums(g->rows + a) || prof__group_is_sums(g->rows + b))
        return prof__group_is_sums(g->rows + a) && !prof__group_is_sums(g->rows + b);
    if (prof__ranked(g->ranks)) return prof__rank_after(g->ranks + a, g->ranks + b);
    return g->rows[a].first > g->rows[b].first;
}

PROF__FN void prof__groups_make(prof__groups *g, const prof_trace *trace,
                                const prof_averages_desc *by) {
    bool taken = prof__reading_open();
    uint32_t n = 0;
    prof__groups_open(g, trace, by, prof__from_records(trace));
    prof__groups_feed(g, prof__group_record, prof__group_event_take);
    prof__groups_add_us(g);
    prof__sums_into_rows(g);
    prof__groups_percentiles(g);
    prof__groups_count(g);
    g->order = g->index;                 /* all rows are found */
    for (uint32_t i = 0; i < g->count; i++)
        if (!prof__group_in_sums(g, i)) g->order[n++] = i;
    g->count = n;
    prof__sort(g->order, g->order + g->count, g->count, prof__group_after, g);
    prof__reading_close(taken);
}

/* An average of nothing yet, with what it takes from an event. */
PROF__FN prof_average prof__average_of(const prof_event *e, uint32_t number) {
    const prof_extra *x = prof__extra_of(e);
    prof_average a;
    memset(&a, 0, sizeof a);
    a.key = e->name;
    a.parent = e->parent;
    a.first = number;
    a.node_id = prof__node_id(e);
    a.device_type = e->device_type;
    a.is_async = (e->flags & PROF_EVENT_ASYNC) != 0;
    a.is_remote = (e->flags & PROF_EVENT_REMOTE) != 0;
    a.is_legacy = (e->flags & PROF_EVENT_LEGACY) != 0;
    a.is_user_annotation = (e->flags & PROF_EVENT_USER_ANNOTATION) != 0;
    a.overload_name = prof__overload(e);
    if (!x) return a;
    a.scope = x->scope;
    a.input_shapes = x->input_shapes;
    a.input_count = prof__shape_count(x);
    a.stack = x->stack;
    a.stack_count = x->stack_count;
    return a;
}

PROF__FN void prof__average_sums(prof_average *a, const prof__group *r, const prof__group_wide *w) {
    a->count = r->count;
    a->cpu_time_total_ns = r->cpu_ns;
    a->self_cpu_time_total_ns = r->self_cpu_ns;
    a->min_ns = r->count ? r->min_ns : 0;
    a->max_ns = r->count ? r->max_ns : 0;
    if (PROF__BARE || !w) return;
    a->device_time_total_ns = w->device_ns;
    a->self_device_time_total_ns = w->self_device_ns;
    a->cpu_memory_usage = w->cpu_bytes;
    a->self_cpu_memory_usage = w->self_cpu_bytes;
    a->device_memory_usage = w->device_bytes;
    a->self_device_memory_usage = w->self_device_bytes;
    a->flops = w->flops;
}

/* Leaves out what rows are not told apart by. */
PROF__FN void prof__average_by(prof_average *a, const prof_averages_desc *by) {
    if (!PROF__BARE && !by->group_by_overload_name) a->overload_name = "";
    if (!by->group_by_input_shapes) {
        a->input_shapes = NULL;
        a->input_count = PROF_NONE;
    }
    if (!PROF__BARE) a->stack_count = PROF__MIN(a->stack_count, by->group_by_stack_n);
}

/* Row i of those that are seen first. */
PROF__FN prof_average prof__group_average(const prof__groups *g, uint32_t i) {
    uint32_t row = g->order[i];
    const prof__group *r = g->rows + row;
    prof_event first = prof__group_event(g, r);
    prof_average a;
    if (prof__ranked(g->ranks) && !prof__group_is_sums(r) && g->ranks[row].depth) first.parent = 0;
    a = prof__average_of(&first, prof__ranked(g->ranks) ? i : r->first);
    prof__average_sums(&a, r, !PROF__BARE && g->wide ? g->wide + row : NULL);
    prof__average_by(&a, &g->by);
    a.is_recursive = !PROF__BARE && !prof__group_is_sums(r) && g->last[row] == PROF_NONE;
#if !PROF__BARE
    a.site = prof__group_place(&g->by, &first);
    if (g->shares && r->count) {
        a.p50_ns = g->shares[row].low[0];
        a.p90_ns = g->shares[row].low[1];
        a.p99_ns = g->shares[row].low[2];
    }
    if (g->counts) {
        prof__average_extras(&a, g->counts[row], g->counts[row] + PROF__EXTRAS);
    }
    prof__average_add_sums(&a, g, r);
#endif
    return a;
}

PROF_API PROF__QUIET size_t prof_key_averages(const prof_trace *trace,
                                              const prof_averages_desc *desc, prof_average *rows,
                                              size_t max) {
    prof__groups g;
    if (!prof__valid(trace)) return 0;
#if PROF__BARE
    if (trace->parts && trace->parts->average)
        return trace->parts->average(rows, rows ? max : 0);
#else
    if (trace->average) return trace->average(rows, rows ? max : 0, desc && desc->group_by_site);
#endif
    prof__groups_make(&g, trace, desc);
    for (uint32_t i = 0; rows && i < g.count && i < max; i++) rows[i] = prof__group_average(&g, i);
    return g.count;
}

/* All calls as one row. */
typedef struct prof__total {
    prof__group sum;
    prof__group_wide wide;
#if !PROF__BARE
    const struct prof_trace *s;
#endif
} prof__total;

#if PROF__BARE
#  define prof__total_add_sums(total, trace) ((void)0)
#else
PROF__FN void prof__total_add_sums(prof_average *total, const prof_trace *trace) {
    prof__groups g;
    if (!trace || !prof__any_sums(trace)) return;
    prof__groups_open(&g, trace, NULL, true);
    prof__sums_into_rows(&g);
    for (uint32_t i = 0; i < g.count; i++) {
        prof_average sums = prof__sums_average(trace, g.rows[i].sums);
        total->key = sums.key = "Total";
        (void)prof_average_add(total, &sums);
    }
}
#endif

PROF__EAGER void prof__total_take(void *total, const prof__close *c) {
    prof__total *t = (prof__total *)total;
    if (prof__is_in_sums(t->s, c->what)) return;
    prof__call_add(&t->sum, &t->wide, c);
}

PROF_API PROF__QUIET prof_average prof_total_average(const prof_trace *trace) {
    prof_average total;
    prof_event last;
    prof__total t;
    prof__feed feed;
    bool taken;
    memset(&feed, 0, sizeof feed);
    memset(&t, 0, sizeof t);
    memset(&total, 0, sizeof total);
    memset(&last, 0, sizeof last);
    total.input_count = PROF_NONE;
    prof__group_open(&t.sum);
    feed.take = prof__total_take;
    feed.user = &t;
#if !PROF__BARE
    t.s = trace;
#endif
    taken = prof__reading_open();
    if (prof__valid(trace) && prof__from_records(trace)) {
        prof__closes_of_records(&feed);
#if !PROF__BARE
    } else if (prof__valid(trace)) {
        prof__closes_in_memory(trace, prof__total_take, &t);
        if (trace->event_count) last = trace->events[trace->event_count - 1];
#endif
    }
    prof__reading_close(taken);
    if (t.sum.count) total = prof__average_of(&last, PROF_NONE);
    prof__average_sums(&total, &t.sum, &t.wide);
    prof__total_add_sums(&total, trace);
    total.key = "Total";
    if (!total.overload_name) total.overload_name = "";
    total.parent = PROF_NONE;
    return total;
}

#if !PROF__BARE
/* ---- averages of spans ---- */

typedef struct prof__span_sums_row {
    prof_event key;                      /* with an extra of its own */
    prof__group sums;
    prof__group_wide wide;
    prof__rank first;
    int64_t counters[PROF__EXTRAS], self_counters[PROF__EXTRAS];
    uint32_t last;                       /* number of its last call */
    uint32_t part;                       /* of the first one */
    prof_average *more;                  /* of calls that no span tells of; NULL: none */
    const prof_site *site;               /* NULL: it has no place */
    uint16_t flags;                      /* of the first one */
    bool nested, recursive;              /* nested: the first one lay in another */
} prof__span_sums_row;

struct prof_sums {
    prof_sums_desc desc;
    prof__nest nest;
    prof__span_sums_row **rows;          /* they stay where they are */
    uint32_t *index, count, max, places;
    uint32_t *order;                     /* two for each row */
    uint32_t part;                       /* so many are over: prof_sums_next */
    prof_sums_stats stats;
    char *low, *high;                    /* what is left of the memory given last */
};

/* Memory that stays; NULL: there is none. */
PROF__FN void *prof__span_sums_take(prof_sums *s, size_t bytes) {
    void *p;
    bytes = prof__align(bytes);
    if ((size_t)(s->high - s->low) < bytes) {
        size_t size = PROF__MAX(bytes, (size_t)16384);
        char *more = (char *)s->desc.more(s->desc.user, size);
        if (!more) return NULL;
        s->low = more;
        s->high = more + size;
    }
    p = s->low;
    s->low += bytes;
    return memset(p, 0, bytes);
}

/* Another array, twice as long; NULL: no memory, and the old one stays. */
PROF__FN void *prof__span_sums_grow(prof_sums *s, const void *old, size_t count, size_t size) {
    void *p = prof__span_sums_take(s, (count ? 2 * count : 16) * size);
    if (p && old) memcpy(p, old, count * size);
    return p;
}

PROF__FN bool prof__span_sums_same(void *user, uint32_t a, uint32_t b) {
    const prof_sums *s = (const prof_sums *)user;
    if (a == PROF_NONE || b == PROF_NONE) return false;
    return a == b || strcmp(s->rows[a]->key.name, s->rows[b]->key.name) == 0;
}

PROF__FN void prof__span_sums_count(prof__span_sums_row *r, const prof__beside *b) {
    for (int i = 0; b->counted && i < PROF__EXTRAS; i++) {
        int64_t own = PROF__MINUS(b->all.counters[i], b->within.counters[i]);
        r->counters[i] = PROF__PLUS(r->counters[i], b->all.counters[i]);
        r->self_counters[i] = PROF__PLUS(r->self_counters[i], own);
    }
}

/* A span has ended, and is no duplicate. */
PROF__FN void prof__span_sums_take_call(void *user, const prof__close *c) {
    prof_sums *s = (prof_sums *)user;
    prof__span_sums_row *r;
    s->stats.self_cpu_time_total_ns = PROF__PLUS(s->stats.self_cpu_time_total_ns, c->self_ns);
    if (c->what == PROF_NONE || c->flags & PROF_SPAN_HIDDEN) return;
    r = s->rows[c->what];
    if ((!r->sums.count || r->part == s->part) &&
        prof__rank_take(&r->first, c, !r->sums.count)) {
        r->part = s->part;
        r->flags = c->flags;
        r->nested = c->depth != 0;
    }
    r->recursive = r->recursive || (r->sums.count && r->last >= c->from);
    r->last = PROF__MAX(r->last, c->number);
    s->stats.calls++;
    prof__call_add(&r->sums, &r->wide, c);
    prof__span_sums_count(r, c->beside);
}

PROF_API PROF__QUIET prof_result prof_sums_open(const prof_sums_desc *desc, prof_sums **sums) {
    prof_sums first, *s;
    if (!desc || !desc->more || !sums) return PROF_ERROR_INVALID;
    if (desc->averages.percentiles) return PROF_ERROR_UNSUPPORTED;
    memset(&first, 0, sizeof first);
    first.desc = *desc;
    s = (prof_sums *)prof__span_sums_take(&first, sizeof *s);
    if (!s) return PROF_ERROR_MEMORY;
    first.nest.merge = desc->merge_duplicates;
    first.nest.same = prof__span_sums_same;
    first.nest.take = prof__span_sums_take_call;
    first.nest.user = s;
    *s = first;
    *sums = s;
    return PROF_OK;
}

/* Room for another row: twice as many, found anew. */
PROF__FN bool prof__span_sums_room(prof_sums *s) {
    uint32_t max = s->max ? 2 * s->max : 16, places = 2 * max + 1, *index, *order;
    prof__span_sums_row **rows;
    if (s->count < s->max) return true;
    if (s->count >= INT32_MAX / 16) return false;
    rows = (prof__span_sums_row **)prof__span_sums_grow(s, s->rows, s->max, sizeof *rows);
    order = rows ? (uint32_t *)prof__span_sums_take(s, max * 2 * sizeof *order) : NULL;
    index = order ? (uint32_t *)prof__span_sums_take(s, places * sizeof *index) : NULL;
    if (!index) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = rows[i]->sums.hash % places;
        while (index[at]) at = at + 1 == places ? 0 : at + 1;
        index[at] = i + 1;
    }
    s->rows = rows;
    s->order = order;
    s->index = index;
    s->places = places;
    s->max = max;
    return true;
}

PROF__FN const char *prof__span_sums_text(prof_sums *s, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = (char *)prof__span_sums_take(s, size);
    return copy ? (const char *)memcpy(copy, text, size) : NULL;
}

PROF__FN const prof_site *prof__span_sums_site(prof_sums *s, const prof_site *site) {
    prof_site *copy = (prof_site *)prof__span_sums_take(s, sizeof *copy);
    if (!copy) return NULL;
    *copy = *site;
    copy->name = copy->function = "";
    copy->file = prof__span_sums_text(s, site->file);
    return copy->file ? copy : NULL;
}

/* A new row, with a copy of what tells it apart; NULL: no memory. */
PROF__FN prof__span_sums_row *prof__span_sums_make(prof_sums *s, const prof_event *key,
                                                   const prof_site *site) {
    prof__span_sums_row *r = (prof__span_sums_row *)prof__span_sums_take(s, sizeof *r);
    const char *name = r ? prof__span_sums_text(s, key->name) : NULL;
    prof__pack pack = { NULL, 0 };
    if (!name) return NULL;
    r->site = site ? prof__span_sums_site(s, site) : NULL;
    if (site && !r->site) return NULL;
    r->key = *key;
    r->key.name = name;
    if (key->extra) {
        prof_extra x = *key->extra;
        x.kernels = NULL;
        x.kernel_count = 0;
        (void)prof__pack_extra(&pack, &x);
        pack.p = (char *)prof__span_sums_take(s, pack.used);
        pack.used = 0;
        if (!pack.p) return NULL;
        r->key.extra = prof__pack_extra(&pack, &x);
    }
    prof__group_open(&r->sums);
    return r;
}

PROF_API PROF__QUIET uint32_t prof_sums_row(prof_sums *s, const prof_event *event,
                                            const prof_site *site) {
    uint32_t hash, at;
    prof__span_sums_row *r;
    prof_event key;
    if (!s || !event || !event->name) return PROF_NONE;
    if (!s->desc.averages.group_by_site || (site && !(site->file && *site->file))) site = NULL;
    key = *event;
    key.site = 0;                        /* a session's, which this is not */
    hash = prof__hash_place(prof__group_hash(&s->desc.averages, &key), site);
    at = s->places ? hash % s->places : 0;
    for (; s->places && s->index[at]; at = at + 1 == s->places ? 0 : at + 1) {
        r = s->rows[s->index[at] - 1];
        if (r->sums.hash == hash && prof__same_place(site, r->site) &&
            prof__same_group(&s->desc.averages, &key, &r->key)) return s->index[at] - 1;
    }
    r = prof__span_sums_room(s) ? prof__span_sums_make(s, &key, site) : NULL;
    if (!r) return PROF_NONE;
    r->sums.hash = hash;
    for (at = hash % s->places; s->index[at];) at = at + 1 == s->places ? 0 : at + 1;
    s->rows[s->count] = r;
    s->index[at] = ++s->count;
    return s->count - 1;
}

/* Room for spans in `depth` others. */
PROF__FN bool prof__span_sums_depth(prof_sums *s, uint32_t depth) {
    prof__nest *n = &s->nest;
    while (n->room <= depth) {
        uint32_t twice = n->room ? 2 * n->room : 16;
        prof__level *levels = (prof__level *)prof__span_sums_take(s, (twice + 1) * sizeof *levels);
        prof__siblings *siblings = levels ? (prof__siblings *)prof__span_sums_take(
            s, (twice + 1) * sizeof *siblings) : NULL;
        prof_span *open =
            siblings ? (prof_span *)prof__span_sums_grow(s, n->open, n->room, sizeof *open) : NULL;
        if (!open) return false;
        if (n->room) {
            memcpy(levels, n->levels, (n->room + 1) * sizeof *levels);
            memcpy(siblings, n->siblings, (n->room + 1) * sizeof *siblings);
        }
        n->levels = levels;
        n->siblings = siblings;
        n->open = open;
        n->room = twice;
    }
    return true;
}

/* What changes in memory: all that is open has it; else it is a call of its own. */
PROF__FN void prof__span_sums_memory(prof_sums *s, const prof_span *span) {
    prof__nest *n = &s->nest;
    prof_span moment = *span;
    bool none = false;
    moment.end_ns = span->start_ns;
    while (n->depth && !prof__nest_holds(n, &moment, &none)) prof__nest_pop(n);
    for (uint32_t i = 0; i < n->depth; i++) {
        n->open[i].cpu_bytes = PROF__PLUS(n->open[i].cpu_bytes, span->cpu_bytes);
        n->open[i].device_bytes = PROF__PLUS(n->open[i].device_bytes, span->device_bytes);
    }
    if (!n->depth && span->row != PROF_NONE) {
        prof__beside b;
        prof__close c = prof__close_of(span, 0, &b);
        bool call = !(c.flags & PROF_SPAN_HIDDEN);
        c.cpu_ns = 0;
        c.number = c.from = n->number++;
        c.flags &= (uint16_t)~PROF_SPAN_HIDDEN;
        prof__span_sums_take_call(s, &c);
        s->rows[c.what]->sums.count -= !call;
        s->stats.calls -= !call;
    }
}

/* What lies in nothing, and has nothing in it: a range, work on a device. */
PROF__FN void prof__span_sums_apart(prof_sums *s, const prof_span *span, bool device) {
    prof__beside b;
    prof__close c = prof__close_of(span, 0, &b);
    c.number = c.from = s->nest.number++;
    b.all.device_ns = !device || c.flags & PROF_EVENT_ASYNC ? 0 : c.cpu_ns;
    if (device) c.cpu_ns = 0;
    b.within = b.all;                    /* none of it is its own, */
    b.within.device_ns = 0;              /* but what it is */
    for (int i = PROF_COUNTERS; i < PROF__EXTRAS; i++) {
        b.within.counters[i] = 0;
        if (!device) b.all.counters[i] = 0;
    }
    prof__span_sums_take_call(s, &c);
}

PROF_API PROF__QUIET void prof_sums_push(prof_sums *s, const prof_span *span) {
    prof__nest *n = s ? &s->nest : NULL;
    prof__span_sums_row *r;
    bool device;
    if (!s || !span || (span->row != PROF_NONE && span->row >= s->count)) return;
    r = span->row == PROF_NONE ? NULL : s->rows[span->row];
    device = r && r->key.device_type != PROF_DEVICE_CPU;
    s->stats.spans++;
    if (span->thread != n->thread) prof__nest_thread(n, span->thread);
    if (span->flags & PROF_SPAN_MEMORY) {
        prof__span_sums_memory(s, span);
    } else if (device || span->flags & PROF_EVENT_ASYNC) {
        prof__span_sums_apart(s, span, device);
    } else if (!prof__span_sums_depth(s, PROF__MAX(span->depth, n->depth))) {
        s->stats.dropped++;
    } else if (span->flags & PROF_SPAN_DEPTH) {
        prof__beside b;
        prof__close c = prof__close_of(span, span->depth, &b);
        prof__nest_end(n, &c, &b);
    } else {
        prof__nest_begin(n, span);
    }
}

PROF_API PROF__QUIET void prof_sums_next(prof_sums *s) {
    if (!s) return;
    prof__nest_thread(&s->nest, s->nest.thread);
    s->part++;
}

PROF_API PROF__QUIET void prof_sums_add(prof_sums *s, uint32_t row, const prof_average *more) {
    prof__span_sums_row *r;
    prof_average named;
    if (!s || !more || (row != PROF_NONE && row >= s->count)) return;
    s->stats.self_cpu_time_total_ns =
        PROF__PLUS(s->stats.self_cpu_time_total_ns, more->self_cpu_time_total_ns);
    if (row == PROF_NONE) return;
    r = s->rows[row];
    if (!r->more) r->more = (prof_average *)prof__span_sums_take(s, sizeof *r->more);
    if (!r->more) s->stats.dropped++;
    if (!r->more) return;
    named = *more;
    named.key = r->key.name;
    (void)prof_average_add(r->more, &named);
}

PROF__FN bool prof__span_sums_after(const void *rows, uint32_t a, uint32_t b) {
    prof__span_sums_row *const *list = (prof__span_sums_row *const *)rows;
    if (!list[a]->sums.count || !list[b]->sums.count)
        return list[b]->sums.count || (!list[a]->sums.count && a > b);
    if (list[a]->part != list[b]->part) return list[a]->part > list[b]->part;
    return prof__rank_after(&list[a]->first, &list[b]->first);
}

PROF__FN prof_average prof__span_sums_average(const prof_sums *s, const prof__span_sums_row *r,
                                         uint32_t rank) {
    prof_event first = r->key;
    const uint16_t own = PROF_EVENT_ASYNC | PROF_EVENT_REMOTE;
    prof_average a;
    first.flags = (uint16_t)((first.flags & ~own) | (r->flags & own));
    first.parent = r->nested ? 0 : PROF_NONE;
    a = prof__average_of(&first, rank);
    prof__average_sums(&a, &r->sums, &r->wide);
    prof__average_by(&a, &s->desc.averages);
    a.site = r->site;
    prof__average_extras(&a, r->counters, r->self_counters);
    a.is_recursive = r->recursive;
    if (r->more) (void)prof_average_add(&a, r->more);
    return a;
}

PROF_API PROF__QUIET size_t prof_sums_close(prof_sums *s, prof_average *rows, size_t max) {
    uint32_t n = 0;
    if (!s) return 0;
    prof__nest_thread(&s->nest, s->nest.thread);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->rows[i]->sums.count || s->rows[i]->more) s->order[n++] = i;
    if (n) prof__sort(s->order, s->order + n, n, prof__span_sums_after, s->rows);
    for (uint32_t i = 0; rows && i < n && i < max; i++)
        rows[i] = prof__span_sums_average(s, s->rows[s->order[i]], i);
    return n;
}

PROF_API PROF__QUIET prof_sums_stats prof_sums_get_stats(const prof_sums *s) {
    prof_sums_stats stats;
    memset(&stats, 0, sizeof stats);
    if (s) stats = s->stats;
    if (s) stats.overlaps = s->nest.overlaps;
    if (s) stats.duplicates = s->nest.duplicates;
    return stats;
}

/* ---- rows of several traces ---- */

/* The share of a row's calls that took t or less: straight lines between the points it tells. */
PROF__FN double prof__share_below(const prof_average *a, int64_t t) {
    static const double shares[] = { 0, 0.5, 0.9, 0.99, 1 };
    const int64_t at[] = { a->min_ns, a->p50_ns, a->p90_ns, a->p99_ns, a->max_ns };
    int i = 1;
    if (t < at[0]) return 0;
    while (i < 5 && t >= at[i]) i++;
    if (i == 5) return 1;
    return shares[i - 1] + (shares[i] - shares[i - 1]) * (double)(t - at[i - 1]) /
                               (double)(at[i] - at[i - 1]);
}

/* The time that a share of the calls of both took or less. */
PROF__FN int64_t prof__both_share(const prof_average *a, const prof_average *b, double share) {
    int64_t least = PROF__MIN(a->min_ns, b->min_ns), most = PROF__MAX(a->max_ns, b->max_ns);
    double x = (double)a->count, y = (double)b->count;
    while (least < most) {
        int64_t half = least + (most - least) / 2;
        double below = x * prof__share_below(a, half) + y * prof__share_below(b, half);
        if (below >= share * (x + y)) most = half;
        else least = half + 1;
    }
    return least;
}

/* Least, most and percentiles; counts are those before. */
PROF__FN void prof__extremes_add(prof_average *into, const prof_average *from) {
    const prof_average a = *into, *b = from;
    bool known = a.p50_ns && b->p50_ns;
    if (!b->count) return;
    into->min_ns = a.count ? PROF__MIN(a.min_ns, b->min_ns) : b->min_ns;
    into->max_ns = a.count ? PROF__MAX(a.max_ns, b->max_ns) : b->max_ns;
    into->p50_ns = !a.count ? b->p50_ns : known ? prof__both_share(&a, b, 0.5) : 0;
    into->p90_ns = !a.count ? b->p90_ns : known ? prof__both_share(&a, b, 0.9) : 0;
    into->p99_ns = !a.count ? b->p99_ns : known ? prof__both_share(&a, b, 0.99) : 0;
}

/* What tells rows apart, and no sum. */
PROF__FN void prof__identity_take(prof_average *into, const prof_average *from) {
    into->key = from->key;
    into->overload_name = from->overload_name;
    into->input_shapes = from->input_shapes;
    into->input_count = from->input_count;
    into->stack = from->stack;
    into->site = from->site;
    into->stack_count = from->stack_count;
    into->parent = from->parent;
    into->first = from->first;
    into->node_id = from->node_id;
    into->device_type = from->device_type;
    into->scope = from->scope;
    into->is_async = from->is_async;
    into->is_remote = from->is_remote;
    into->is_legacy = from->is_legacy;
    into->is_user_annotation = from->is_user_annotation;
}

PROF_API PROF__QUIET prof_result prof_average_add(prof_average *into, const prof_average *from) {
#define PROF__SUM(field) into->field = PROF__PLUS(into->field, from->field)
    if (!into || !from || !from->key) return PROF_ERROR_INVALID;
    if (into->key && strcmp(into->key, from->key) != 0) return PROF_ERROR_INVALID;
    if (!into->key) prof__identity_take(into, from);
    prof__extremes_add(into, from);
    into->count += from->count;
    PROF__SUM(cpu_time_total_ns);
    PROF__SUM(self_cpu_time_total_ns);
    PROF__SUM(device_time_total_ns);
    PROF__SUM(self_device_time_total_ns);
    PROF__SUM(cpu_memory_usage);
    PROF__SUM(self_cpu_memory_usage);
    PROF__SUM(device_memory_usage);
    PROF__SUM(self_device_memory_usage);
    PROF__SUM(flops);
    into->is_recursive = into->is_recursive || from->is_recursive;
    for (int i = 0; i < PROF_COUNTERS; i++) {
        PROF__SUM(counters[i]);
        PROF__SUM(self_counters[i]);
    }
    for (int i = 0; i < PROF_OTHER_DEVICES; i++) {
        PROF__SUM(other_device_ns[i]);
        PROF__SUM(self_other_device_ns[i]);
    }
    return PROF_OK;
#undef PROF__SUM
}
#endif

/* ---- @FLOPS: how much an op computes, by its inputs' shapes ---- */

#if !PROF__BARE

/* Sums and products that stop at the largest number. */
PROF__FN uint64_t prof__mul(uint64_t a, uint64_t b) {
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

PROF__FN uint64_t prof__add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

PROF__FN uint64_t prof__product(const int64_t *dims, uint32_t count) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < count; i++)
        if (!dims[i]) return 0;
    for (uint32_t i = 0; i < count; i++) n = prof__mul(n, (uint64_t)dims[i]);
    return n;
}

/* Is it a tensor with that many dimensions, none below 0? */
PROF__FN bool prof__is_tensor(const prof_shape *s, uint32_t rank) {
    if (s->items || s->count != rank || (rank && !s->dims)) return false;
    for (uint32_t i = 0; i < rank; i++)
        if (s->dims[i] < 0) return false;
    return true;
}

/* The inputs of a formula, and the dims of its tensors. */
typedef struct prof__op {
    const prof_shape *in;
    const prof_flops_desc *desc;
    bool swapped;                        /* attention: (batch, length, heads, size) */
} prof__op;

PROF__FN uint64_t prof__flops_elements(const prof__op *op) {
    return prof__is_tensor(op->in, op->in->count) ? prof__product(op->in->dims, op->in->count) : 0;
}

/* (m, k) x (k, n), behind a batch of `lead` dimensions. */
PROF__FN uint64_t prof__flops_matmul(const prof__op *op, uint32_t lead) {
    const int64_t *a = op->in[0].dims, *b = op->in[1].dims;
    if (!prof__is_tensor(op->in, lead + 2) || !prof__is_tensor(op->in + 1, lead + 2) ||
        a[lead + 1] != b[lead] || (lead && a[0] != b[0])) return 0;
    return prof__mul(prof__mul(prof__product(a, lead + 2), (uint64_t)b[lead + 1]), 2);
}

PROF__FN uint64_t prof__flops_mm(const prof__op *op) { return prof__flops_matmul(op, 0); }
PROF__FN uint64_t prof__flops_bmm(const prof__op *op) { return prof__flops_matmul(op, 1); }

/* A convolution's parameter along dimension i. */
PROF__FN int64_t prof__along(const prof_shape *list, uint32_t i, int64_t other) {
    return list->count && list->dims ? list->dims[list->count == 1 ? 0 : i] : other;
}

/* How far the kernel's places reach along dimension i; 0: nowhere, or there is no such thing. */
PROF__FN uint64_t prof__conv_length(const prof_flops_desc *d, uint32_t i, int64_t x, int64_t w) {
    int64_t stride = prof__along(&d->stride, i, 1), padding = prof__along(&d->padding, i, 0),
            dilation = prof__along(&d->dilation, i, 1);
    uint64_t room = prof__add((uint64_t)x, prof__mul(2, (uint64_t)padding)), reach;
    if (stride < 1 || padding < 0 || dilation < 1 || w < 1) return 0;
    reach = prof__add(prof__mul((uint64_t)dilation, (uint64_t)w - 1), 1);
    return room < reach || reach == UINT64_MAX ? 0 : (room - reach) / (uint64_t)stride + 1;
}

PROF__FN bool prof__conv_list_fits(const prof_shape *list, uint32_t spatial) {
    return !list->items && (list->count <= 1 || list->count == spatial);
}

PROF__FN bool prof__conv_fits(const prof_shape *x, const prof_shape *w, const prof_flops_desc *d) {
    uint32_t spatial = x->count - 2;
    int64_t channels, groups = d->groups;
    if (x->count < 3 || !prof__is_tensor(x, x->count) || !prof__is_tensor(w, x->count) ||
        !prof__conv_list_fits(&d->stride, spatial) || !prof__conv_list_fits(&d->padding, spatial) ||
        !prof__conv_list_fits(&d->dilation, spatial) || groups < 0) return false;
    if (d->transposed) return x->dims[1] == w->dims[0];
    channels = w->dims[1];
    if (!channels) return !x->dims[1];
    return x->dims[1] % channels == 0 && (!groups || x->dims[1] / channels == groups);
}

/* Every place of the smaller image meets the whole kernel: of the output, or where transposed, of
   the input. */
PROF__FN uint64_t prof__flops_conv_of(const prof_shape *x, const prof_shape *w,
                                      const prof_shape *output, const prof_flops_desc *d) {
    uint64_t n;
    if (!prof__conv_fits(x, w, d)) return 0;
    n = prof__mul(prof__mul((uint64_t)x->dims[0], 2), prof__product(w->dims, w->count));
    if (d->transposed) return prof__mul(n, prof__product(x->dims + 2, x->count - 2));
    if (output)
        return prof__is_tensor(output, x->count)
                   ? prof__mul(n, prof__product(output->dims + 2, x->count - 2)) : 0;
    for (uint32_t i = 0; i < x->count - 2; i++)
        n = prof__mul(n, prof__conv_length(d, i, x->dims[2 + i], w->dims[2 + i]));
    return n;
}

PROF__FN uint64_t prof__flops_conv(const prof__op *op) {
    return prof__flops_conv_of(op->in, op->in + 1, op->desc->output, op->desc);
}

PROF__FN uint64_t prof__flops_conv2d(const prof__op *op) {
    return op->in->count == 4 ? prof__flops_conv(op) : 0;
}

PROF__FN uint64_t prof__flops_conv_transpose(const prof__op *op) {
    prof_flops_desc d = *op->desc;
    d.transposed = true;
    return prof__flops_conv_of(op->in, op->in + 1, NULL, &d);
}

PROF__FN uint64_t prof__flops_conv_backward(const prof__op *op) {
    const prof_flops_desc *d = op->desc;
    return prof__mul(prof__flops_conv_of(op->in + 1, op->in + 2, op->in, d),
                      (uint64_t)(!d->no_grad_input + !d->no_grad_weight));
}

/* Query, key, value, each (batch, heads, length, size); heads of the query may share a key's. A
   score of each pair of places takes a product over the size of query or value: of_query and
   of_value such ones. */
PROF__FN uint64_t prof__flops_pairs(const prof__op *op, const prof_shape *in, uint64_t of_query,
                                    uint64_t of_value) {
    const int64_t *q = in[0].dims, *k = in[1].dims, *v = in[2].dims;
    int heads = op->swapped ? 2 : 1, length = 3 - heads;
    uint64_t n;
    if (!prof__is_tensor(in, 4) || !prof__is_tensor(in + 1, 4) || !prof__is_tensor(in + 2, 4) ||
        q[0] != k[0] || q[0] != v[0] || k[heads] != v[heads] || k[length] != v[length] ||
        q[3] != k[3] || (k[heads] ? q[heads] % k[heads] != 0 : q[heads] != 0)) return 0;
    n = prof__mul(prof__product(q, 3), (uint64_t)k[length]);
    return prof__mul(prof__mul(n, 2), prof__add(prof__mul((uint64_t)q[3], of_query),
                                                prof__mul((uint64_t)v[3], of_value)));
}

PROF__FN uint64_t prof__flops_attention(const prof__op *op) {
    return prof__flops_pairs(op, op->in, 1, 1);
}

PROF__FN uint64_t prof__flops_attention_backward(const prof__op *op) {
    const prof_shape *grad = op->in, *q = op->in + 1, *v = op->in + 3;
    if (!prof__is_tensor(grad, 4) || !prof__is_tensor(q, 4) || !prof__is_tensor(v, 4)) return 0;
    for (int i = 0; i < 4; i++)
        if (grad->dims[i] != (i == 3 ? v : q)->dims[i]) return 0;
    return prof__flops_pairs(op, q, 3, 2);
}

/* Of the small set; of that alone; attention's other layout. */
enum { PROF__SMALL = 1, PROF__SMALL_ONLY = 2, PROF__SWAPPED = 4 };

/* Formulas for the inputs from number first on. A name without its `_forward` or `_backward`;
   with `*`: what begins so. */
typedef struct prof__formula {
    const char *op;
    uint64_t (*forward)(const prof__op *op);
    uint64_t (*backward)(const prof__op *op);
    uint8_t first, inputs, flags;        /* inputs: of forward; backward takes one more */
} prof__formula;

static const prof__formula prof__formulas[] = {
    { "mm", prof__flops_mm, NULL, 0, 2, PROF__SMALL },
    { "addmm", prof__flops_mm, NULL, 1, 2, PROF__SMALL },
    { "bmm", prof__flops_bmm, NULL, 0, 2, PROF__SMALL },
    { "baddbmm", prof__flops_bmm, NULL, 1, 2, PROF__SMALL },
    { "add", prof__flops_elements, NULL, 0, 1, PROF__SMALL | PROF__SMALL_ONLY },
    { "mul", prof__flops_elements, NULL, 0, 1, PROF__SMALL | PROF__SMALL_ONLY },
    { "conv2d", prof__flops_conv2d, NULL, 0, 2, PROF__SMALL },
    { "_scaled_mm", prof__flops_mm, NULL, 0, 2, 0 },
    { "conv1d", prof__flops_conv, NULL, 0, 2, 0 },
    { "conv3d", prof__flops_conv, NULL, 0, 2, 0 },
    { "convolution", prof__flops_conv, prof__flops_conv_backward, 0, 2, 0 },
    { "convolution_overrideable", prof__flops_conv, NULL, 0, 2, 0 },
    { "_convolution", prof__flops_conv, NULL, 0, 2, 0 },
    { "cudnn_convolution", prof__flops_conv, NULL, 0, 2, 0 },
    { "cudnn_convolution_relu", prof__flops_conv, NULL, 0, 2, 0 },
    { "cudnn_convolution_add_relu", prof__flops_conv, NULL, 0, 2, 0 },
    { "miopen_convolution", prof__flops_conv, NULL, 0, 2, 0 },
    { "miopen_depthwise_convolution", prof__flops_conv, NULL, 0, 2, 0 },
    { "mkldnn_convolution", prof__flops_conv, NULL, 0, 2, 0 },
    { "thnn_conv2d", prof__flops_conv, NULL, 0, 2, 0 },
    { "_slow_conv2d", prof__flops_conv, NULL, 0, 2, 0 },
    { "slow_conv3d", prof__flops_conv, NULL, 0, 2, 0 },
    { "_conv_depthwise2d", prof__flops_conv, NULL, 0, 2, 0 },
    { "conv_depthwise3d", prof__flops_conv, NULL, 0, 2, 0 },
    { "conv_transpose*", prof__flops_conv_transpose, NULL, 0, 2, 0 },
    { "cudnn_convolution_transpose", prof__flops_conv_transpose, NULL, 0, 2, 0 },
    { "miopen_convolution_transpose", prof__flops_conv_transpose, NULL, 0, 2, 0 },
    { "scaled_dot_product_*", prof__flops_attention, prof__flops_attention_backward, 0, 3, 0 },
    { "_scaled_dot_product_*", prof__flops_attention, prof__flops_attention_backward, 0, 3, 0 },
    { "_cudnn_attention", prof__flops_attention, prof__flops_attention_backward, 0, 3, 0 },
    { "_flash_attention", prof__flops_attention, prof__flops_attention_backward, 0, 3,
      PROF__SWAPPED },
    { "_efficient_attention", prof__flops_attention, prof__flops_attention_backward, 0, 3,
      PROF__SWAPPED }
};

PROF__FN bool prof__name_ends(const char *name, size_t *length, const char *end) {
    size_t n = strlen(end);
    bool ends = *length > n && memcmp(name + *length - n, end, n) == 0;
    if (ends) *length -= n;
    return ends;
}

/* The row of name, which is length bytes long; NULL: none. */
PROF__FN const prof__formula *prof__formula_find(const char *name, size_t length, bool few) {
    for (size_t i = 0; i < sizeof prof__formulas / sizeof *prof__formulas; i++) {
        const prof__formula *f = prof__formulas + i;
        size_t n = strlen(f->op);
        bool any = f->op[n - 1] == '*';
        if (any ? length < --n : length != n) continue;
        if (few ? !(f->flags & PROF__SMALL) : f->flags & PROF__SMALL_ONLY) continue;
        if (memcmp(name, f->op, n) == 0) return f;
    }
    return NULL;
}

/* Formulas of the program's own. A slot keeps its name; count grows when the slot is whole. */
enum { PROF__OWN_FORMULAS = 64 };
static struct prof__own_formulas {
    const char *names[PROF__OWN_FORMULAS];
    prof_flops_formula formulas[PROF__OWN_FORMULAS];
    uint32_t count;
} prof__own_formulas;

PROF__FN const char *prof__op_name(const char *name) {
    return strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
}

/* The slot of that name, or how many there are. */
PROF__FN uint32_t prof__own_formula(const char *name) {
    uint32_t count = PROF__ACQUIRE(prof__own_formulas.count), i = 0;
    while (i < count && strcmp(prof__own_formulas.names[i], name) != 0) i++;
    return i;
}

PROF_API PROF__QUIET prof_result prof_flops_register(const char *name,
                                                     prof_flops_formula formula) {
    struct prof__own_formulas *own = &prof__own_formulas;
    uint32_t i;
    if (!name || !*prof__op_name(name)) return PROF_ERROR_INVALID;
    prof__lock();
    i = prof__own_formula(prof__op_name(name));
    if (i < PROF__OWN_FORMULAS) PROF__RELEASE(own->formulas[i], formula);
    if (i == own->count && i < PROF__OWN_FORMULAS) {
        own->names[i] = prof__op_name(name);
        PROF__RELEASE(own->count, i + 1);
    }
    prof__unlock();
    return i < PROF__OWN_FORMULAS ? PROF_OK : PROF_ERROR_MEMORY;
}

/* NULL: the program has none. */
PROF__FN prof_flops_formula prof__own_formula_of(const char *name) {
    uint32_t i = prof__own_formula(name);
    bool there = i < PROF__OWN_FORMULAS && i < PROF__ACQUIRE(prof__own_formulas.count);
    return there ? PROF__ACQUIRE(prof__own_formulas.formulas[i]) : NULL;
}

PROF_API PROF__QUIET uint64_t prof_flops(const char *name, const prof_shape *inputs, uint32_t count,
                                         const prof_flops_desc *desc) {
    prof_flops_formula own;
    prof_flops_desc none;
    prof__op op;
    const prof__formula *f;
    size_t length;
    bool backward;
    memset(&none, 0, sizeof none);
    if (!name || !inputs) return 0;
    name = prof__op_name(name);
    own = prof__own_formula_of(name);
    if (own) return own(inputs, count, desc ? desc : &none);
    length = strlen(name);
    backward = prof__name_ends(name, &length, "_backward");
    if (!backward) (void)prof__name_ends(name, &length, "_forward");
    f = prof__formula_find(name, length, desc && desc->with_flops);
    if (!f || (backward && !f->backward)) return 0;
    if (count < (uint32_t)f->first + f->inputs + backward) return 0;
    op.in = inputs + f->first;
    op.desc = desc ? desc : &none;
    op.swapped = (f->flags & PROF__SWAPPED) != 0;
    return backward ? f->backward(&op) : f->forward(&op);
}
#endif

/* ---- @TABLE: EventList.table(), as text, CSV and JSON ---- */

/* The columns, in the order of the text: name; what a cell shows; of which member of prof_average;
   head, @ is the device; field of CSV and JSON, where it is one. HOST ones have no head on targets.
   The last are fields alone. */
#define PROF__COLUMNS_FIRST(X, HOST) \
    X(NAME, NAME, key, "Name", "") \
    HOST(OVERLOAD, NAME, overload_name, "Overload Name", "") \
    PROF__COLUMN_SITE(HOST) \
    X(SELF_CPU_SHARE, SHARE, self_cpu_time_total_ns, "Self CPU %", "") \
    X(SELF_CPU, TIME, self_cpu_time_total_ns, "Self CPU", "self_cpu_time_total") \
    X(CPU_SHARE, SHARE, cpu_time_total_ns, "CPU total %", "") \
    X(CPU, TIME, cpu_time_total_ns, "CPU total", "cpu_time_total") \
    X(CPU_MEAN, MEAN, cpu_time_total_ns, "CPU time avg", "cpu_time") \
    HOST(MIN, TIME, min_ns, "min", "min") \
    X(P50, TIME, p50_ns, "p50", "p50") \
    X(P90, TIME, p90_ns, "p90", "p90") \
    X(P99, TIME, p99_ns, "p99", "p99") \
    X(MAX, TIME, max_ns, "max", "max") \
    HOST(SELF_DEVICE, TIME, self_device_time_total_ns, "Self @", "self_device_time_total") \
    HOST(SELF_DEVICE_SHARE, SHARE, self_device_time_total_ns, "Self @ %", "") \
    HOST(DEVICE, TIME, device_time_total_ns, "@ total", "device_time_total") \
    HOST(DEVICE_MEAN, MEAN, device_time_total_ns, "@ time avg", "device_time")
#define PROF__COLUMNS_MEMORY(X, HOST) \
    HOST(CPU_MEMORY, MEMORY, cpu_memory_usage, "CPU Mem", "cpu_memory_usage") \
    HOST(SELF_CPU_MEMORY, MEMORY, self_cpu_memory_usage, "Self CPU Mem", "self_cpu_memory_usage") \
    HOST(DEVICE_MEMORY, MEMORY, device_memory_usage, "@ Mem", "device_memory_usage") \
    HOST(SELF_DEVICE_MEMORY, MEMORY, self_device_memory_usage, "Self @ Mem", \
         "self_device_memory_usage")
#define PROF__COLUMNS_LAST(X, HOST) \
    X(COUNT, INTEGER, count, "# of Calls", "count") \
    HOST(NODE, INTEGER, node_id, "Node ID", "node_id") \
    HOST(SHAPES, SHAPES, input_shapes, "Input Shapes", "") \
    HOST(FLOPS, FLOPS, flops, "Total FLOPs", "flops") \
    HOST(SOURCE, PATH, stack, "Source Location", "")
#define PROF__FIELDS_LAST(X) \
    X(DEVICE_TYPE, INTEGER, device_type, "", "device_type") \
    X(IS_ASYNC, FLAG, is_async, "", "is_async") \
    X(IS_REMOTE, FLAG, is_remote, "", "is_remote") \
    X(IS_LEGACY, FLAG, is_legacy, "", "is_legacy") \
    X(IS_USER_ANNOTATION, FLAG, is_user_annotation, "", "is_user_annotation")
#define PROF__COLUMNS_EACH(X, HOST) \
    PROF__COLUMNS_FIRST(X, HOST) PROF__COLUMNS_MEMORY(X, HOST) PROF__COLUMNS_LAST(X, HOST)

#define PROF__OTHER_COLUMNS (PROF__BARE ? 0 : 4 * PROF_OTHER_DEVICES)
#define PROF__COUNTER_COLUMNS (PROF__BARE ? 0 : 2 * PROF_COUNTERS)
#define PROF__COLUMN_NUMBER(name, shows, member, head, field) PROF__COL_##name,
enum {                                   /* other devices stand behind the first one, counters
                                            before the last columns */
    PROF__COLUMNS_FIRST(PROF__COLUMN_NUMBER, PROF__COLUMN_NUMBER)
    PROF__COL_OTHERS, PROF__COL_OTHERS_END = PROF__COL_OTHERS + PROF__OTHER_COLUMNS - 1,
    PROF__COLUMNS_MEMORY(PROF__COLUMN_NUMBER, PROF__COLUMN_NUMBER)
    PROF__COL_COUNTERS, PROF__COL_COUNTERS_END = PROF__COL_COUNTERS + PROF__COUNTER_COLUMNS - 1,
    PROF__COLUMNS_LAST(PROF__COLUMN_NUMBER, PROF__COLUMN_NUMBER)
    PROF__COLUMNS, PROF__FIELDS_BEFORE = PROF__COLUMNS - 1,
    PROF__FIELDS_LAST(PROF__COLUMN_NUMBER)
    PROF__FIELDS_END
};

enum { PROF__SHOW_NAME, PROF__SHOW_SHARE, PROF__SHOW_TIME, PROF__SHOW_MEAN, PROF__SHOW_MEMORY,
       PROF__SHOW_INTEGER, PROF__SHOW_SHAPES, PROF__SHOW_FLOPS, PROF__SHOW_PATH, PROF__SHOW_FLAG,
       PROF__SHOW_SITE };
typedef struct prof__column { uint8_t shows, at; } prof__column;
#define PROF__COLUMN_OF(name, shows, member, head, field) \
    { PROF__SHOW_##shows, offsetof(prof_average, member) },
static const prof__column prof__columns[] = {
    PROF__COLUMNS_EACH(PROF__COLUMN_OF, PROF__COLUMN_OF) PROF__FIELDS_LAST(PROF__COLUMN_OF)
};

/* Which column of another device it is, of the four that each has; -1: none. */
PROF__FN int prof__column_other(int column) {
    bool other = column >= PROF__COL_OTHERS && column <= PROF__COL_OTHERS_END;
    return other ? column - PROF__COL_OTHERS : -1;
}

/* Its place in lists that have no counters, and one device. */
PROF__FN size_t prof__column_place(int column) {
    int other = prof__column_other(column);
    if (!PROF__BARE && other >= 0) return (size_t)(PROF__COL_SELF_DEVICE + other % 4);
    return (size_t)(column - (column > PROF__COL_COUNTERS ? PROF__COUNTER_COLUMNS : 0) -
                    (column > PROF__COL_OTHERS ? PROF__OTHER_COLUMNS : 0));
}

PROF__FN uint8_t prof__column_shows(int column) {
    return prof__columns[prof__column_place(column)].shows;
}

/* A number of a row: times in ns. */
PROF__FN int64_t prof__row_number(const prof_average *r, int column) {
    const char *at = (const char *)r + prof__columns[prof__column_place(column)].at;
    int64_t n;
    if (!PROF__BARE && column == PROF__COL_NODE) return r->node_id;
    if (!PROF__BARE && column >= PROF__COL_DEVICE_TYPE) return *at;
    memcpy(&n, at, sizeof n);
    return n;
}

/* The field's name; "": it is none. */
PROF__FN const char *prof__column_field(int column) {
#define PROF__COLUMN_FIELD(name, shows, member, head, field) field "\0"
    static const char fields[] =
        PROF__COLUMNS_EACH(PROF__COLUMN_FIELD, PROF__COLUMN_FIELD)
        PROF__FIELDS_LAST(PROF__COLUMN_FIELD);
    return prof__nth(fields, prof__column_place(column));
}

/* The column of a metric; NONE's is the name. */
PROF__FN int prof__metric_column(prof_metric metric) {
    static const uint8_t columns[] = {
        PROF__COL_NAME, PROF__COL_SELF_CPU, PROF__COL_CPU, PROF__COL_CPU_MEAN, PROF__COL_COUNT,
        PROF__COL_SELF_DEVICE, PROF__COL_DEVICE, PROF__COL_DEVICE_MEAN, PROF__COL_CPU_MEMORY,
        PROF__COL_SELF_CPU_MEMORY, PROF__COL_DEVICE_MEMORY, PROF__COL_SELF_DEVICE_MEMORY,
        PROF__COL_FLOPS };
    return columns[(size_t)metric < sizeof columns ? (size_t)metric : 0];
}

/* Rows are averages, the caller's own, or the events themselves, seen as averages of one. */
typedef struct prof__table {
    const struct prof_trace *trace;      /* NULL: the rows are the caller's */
    const prof_table_desc *desc;
    prof_view view;
    const prof__groups *groups;
    prof_average *rows;
    prof_average (*row_at)(const struct prof__table *t, uint32_t i);
    void (*notes)(struct prof__table *t);   /* below it all; NULL: none */
    uint32_t count, row;                 /* row: being written */
    size_t width[PROF__COLUMNS];         /* 0: no such column */
#if !PROF__BARE
    bool measuring, fitted;              /* what cells need is noted; widths are the fitted ones */
    bool sited;                          /* CSV and JSON have the rows' places */
    size_t need[PROF__COLUMNS];          /* the widest cell's or head's width */
    bool told[PROF__COLUMNS];            /* some cell has a figure other than 0, or a text */
    bool left_out[PROF__COLUMNS];
    int64_t self_other_ns[PROF_OTHER_DEVICES];   /* of self_device_ns */
#endif
    int64_t self_cpu_ns, self_device_ns; /* what shares are of */
    int64_t rows_cpu_ns, rows_device_ns; /* sums over the rows */
    int64_t least_flops;                 /* the smallest above 0 */
    int flops_power;                     /* the FLOPs column is in 1000^this */
    prof__out out;
} prof__table;

#define PROF__COLUMN 12

PROF__FN void prof__row_counters(const struct prof_trace *s, const prof_event *e,
                                 prof_average *r) {
    const prof_extra *x = prof__extra_of(e);
    for (uint32_t i = 0; x && !s->built && i < x->counter_count && i < PROF_COUNTERS; i++) {
        r->counters[i] = r->self_counters[i] = x->counters[i];
        for (uint32_t c = e->first_child; c != PROF_NONE; c = s->events[c].next_sibling) {
            const prof_extra *y = s->events[c].extra;
            if (y && i < y->counter_count)
                r->self_counters[i] = PROF__MINUS(r->self_counters[i], y->counters[i]);
        }
    }
}

/* Pointers lead to a row, so that a program has only what it uses. */
PROF__FN prof_average prof__row_of_caller(const prof__table *t, uint32_t i) { return t->rows[i]; }

PROF__FN prof_average prof__row_of_group(const prof__table *t, uint32_t i) {
    return prof__group_average(t->groups, i);
}

PROF__FN prof_average prof__row_of_event(const prof__table *t, uint32_t i) {
    const prof_event *e = t->trace->events + i;
    prof_average r = prof__average_of(e, i);
    prof_event_totals n = prof_event_total(t->trace, e);
    r.count = 1;
    r.cpu_time_total_ns = r.min_ns = r.max_ns = n.cpu_time_total_ns;
    r.self_cpu_time_total_ns = n.self_cpu_time_total_ns;
    r.device_time_total_ns = n.device_time_total_ns;
    r.self_device_time_total_ns = n.self_device_time_total_ns;
    r.cpu_memory_usage = n.cpu_memory_usage;
    r.self_cpu_memory_usage = n.self_cpu_memory_usage;
    r.device_memory_usage = n.device_memory_usage;
    r.self_device_memory_usage = n.self_device_memory_usage;
    r.flops = prof__extra_of(e) ? e->extra->flops : 0;
    if (!PROF__BARE) prof__row_counters(t->trace, e, &r);
    prof__row_others(t->trace, e, &r);
    return r;
}

/* ---- order ---- */

PROF__FN int64_t prof__metric_of(const prof_average *r, prof_metric metric) {
    int column = prof__metric_column(metric);
    return prof__row_number(r, column ? column : PROF__COL_SELF_CPU);
}

PROF__FN prof__real prof__mean_us(int64_t ns, uint64_t count) {
    return prof__real_div(prof__us(ns), prof__real_from((int64_t)count));
}

/* In whole ns, towards 0. */
PROF__FN int64_t prof__mean_ns(int64_t ns, uint64_t count) {
#if PROF__BARE
    uint64_t whole = ns < 0 ? 0 : (uint64_t)ns;
    if (count) (void)prof__divide(&whole, (uint32_t)count);
    return (int64_t)whole;
#else
    return count ? ns / (int64_t)count : 0;
#endif
}

/* Is a's metric below b's? Means are compared as PyTorch's quotients are. */
PROF__FN bool prof__average_below(const prof_average *a, const prof_average *b,
                                  prof_metric metric) {
    int64_t x = prof__metric_of(a, metric), y = prof__metric_of(b, metric);
    if (metric == PROF_METRIC_CPU_TIME || metric == PROF_METRIC_DEVICE_TIME)
        return prof__real_below(prof__mean_us(x, a->count), prof__mean_us(y, b->count));
    return x < y;
}

/* CPU times of row i as Python's sum has them; NULL: in whole ns. */
PROF__FN const prof__group_wide *prof__table_raw(const prof__table *t, uint32_t i) {
    bool raw = !PROF__BARE && t->groups && t->trace->raw && t->groups->wide;
    return raw ? t->groups->wide + t->groups->order[i] : NULL;
}

PROF__FN bool prof__table_after(const void *table, uint32_t a, uint32_t b) {
    const prof__table *t = (const prof__table *)table;
    prof_average x, y;
#if !PROF__BARE
    if (t->desc->sort_by == PROF_METRIC_CPU_TIME_TOTAL && prof__table_raw(t, a))
        return prof__table_raw(t, a)->cpu_us < prof__table_raw(t, b)->cpu_us;
#endif
    x = t->row_at(t, a);
    y = t->row_at(t, b);
    return prof__average_below(&x, &y, t->desc->sort_by);
}

/* The rows' order by the metric; NULL: as they are. scratch: 8 bytes a row. */
PROF__FN const uint32_t *prof__table_sort(prof__table *t, char *scratch) {
    uint32_t *order = (uint32_t *)(void *)scratch;
    if (t->desc->sort_by == PROF_METRIC_NONE) return NULL;
    for (uint32_t i = 0; i < t->count; i++) order[i] = i;
    prof__sort(order, order + t->count, t->count, prof__table_after, t);
    return order;
}

/* Does row a come after row b? Equal ones keep their first-seen order. */
PROF__FN bool prof__row_after(const prof_average *a, const prof_average *b, prof_metric metric) {
    if (prof__average_below(a, b, metric)) return true;
    return !prof__average_below(b, a, metric) && a->first > b->first;
}

#if PROF__BARE                           /* few rows: what is short does */
PROF__FN void prof__rows_sort(prof_average *rows, size_t n, prof_metric metric) {
    for (prof_average *r = rows; r < rows + n; r++) {
        for (prof_average *later = r + 1; later < rows + n; later++) {
            prof_average moved = *r;
            if (!prof__row_after(r, later, metric)) continue;
            *r = *later;
            *later = moved;
        }
    }
}
#else
PROF__FN void prof__rows_sift(prof_average *rows, size_t i, size_t n, prof_metric metric) {
    prof_average moved = rows[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && prof__row_after(rows + child + 1, rows + child, metric)) child++;
        if (!prof__row_after(rows + child, &moved, metric)) break;
        rows[i] = rows[child];
    }
    rows[i] = moved;
}

/* A heap sort: the rows are the caller's, and there is no memory beside them. */
PROF__FN void prof__rows_sort(prof_average *rows, size_t n, prof_metric metric) {
    for (size_t i = n / 2; i--;) prof__rows_sift(rows, i, n, metric);
    while (n > 1) {
        prof_average last = rows[--n];
        rows[n] = rows[0];
        rows[0] = last;
        prof__rows_sift(rows, 0, n, metric);
    }
}
#endif

/* ---- shapes, as Python prints a list ---- */

PROF__FN void prof__put_dims(prof__out *o, const prof_shape *s, const char *comma) {
    prof__out_text(o, "[");
    for (uint32_t i = 0; s->dims && i < s->count; i++) {
        if (i) prof__out_text(o, comma);
        prof__out_i64(o, s->dims[i]);
    }
    prof__out_text(o, "]");
}

PROF__FN void prof__put_shapes(prof__out *o, const prof_shape *shapes, uint32_t count,
                               const char *comma) {
    prof__out_text(o, "[");
    for (uint32_t i = 0; i < count; i++) {
        const prof_shape *s = shapes + i;
        if (i) prof__out_text(o, comma);
        if (!s->items) {
            prof__put_dims(o, s, comma);
            continue;
        }
        prof__out_text(o, "[");
        for (uint32_t j = 0; j < s->count; j++) {
            if (j) prof__out_text(o, comma);
            prof__put_dims(o, s->items + j, comma);
        }
        prof__out_text(o, "]");
    }
    prof__out_text(o, "]");
}

/* A sink that counts, and hands on the first left bytes. */
typedef struct prof__window { prof__out *out; size_t left, width; } prof__window;

PROF__FN bool prof__window_write(void *user, const void *data, size_t size) {
    prof__window *c = (prof__window *)user;
    size_t n = PROF__MIN(size, c->left);
    c->width += size;
    c->left -= n;
    if (n) prof__out_bytes(c->out, (const char *)data, n);
    return true;
}

/* The width of a row's shapes; writes the first max bytes of them to out. */
PROF__FN size_t prof__shapes_text(const prof_average *r, prof__out *out, size_t max) {
    prof__window window;
    prof__out o;
    window.out = out;
    window.left = max;
    window.width = 0;
    if (r->input_count == PROF_NONE) return 0;
    o.sink.write = prof__window_write;
    o.sink.user = &window;
    prof__out_open(&o, o.sink);
    prof__put_shapes(&o, r->input_shapes, r->input_count, ", ");
    prof__out_flush(&o);
    return window.width;
}

/* ---- cells ---- */

#if PROF__BARE
#  define prof__table_need(t, column, width, text) ((void)0)
#  define prof__table_fits(t, cell) SIZE_MAX
#  define prof__table_site(t, r) ((void)0)
#  define prof__table_measure_site(t, r) ((void)0)
#  define prof__table_width_site(t) ((void)0)
#  define prof__table_find_sites(t) ((void)0)
#  define prof__csv_site(t, r) ((void)0)
#  define prof__json_site(t, r) ((void)0)
#else
/* Of a table that is to fit a line, before it is written. */
PROF__FN void prof__table_need(prof__table *t, int column, size_t width, const char *text) {
    if (!t->measuring) return;
    if (width > t->need[column]) t->need[column] = width;
    if (strpbrk(text, "123456789")) t->told[column] = true;
}

/* What a name may take of its cell. */
PROF__FN size_t prof__table_fits(const prof__table *t, size_t cell) {
    return t->fitted ? cell : SIZE_MAX;
}

/* ---- places ---- */

PROF__FN void prof__table_widen(prof__table *t, int column, size_t width);
PROF__FN void prof__csv_text(prof__out *o, const char *s);
PROF__FN void prof__table_path(prof__table *t, int column, const char *path);
PROF__FN size_t prof__table_limit(uint32_t given, uint32_t usual);

PROF__FN void prof__table_site(prof__table *t, const prof_average *r) {
    char source[PROF__SOURCE];
    prof__table_path(t, PROF__COL_SITE, prof__site_source(r->site, source));
}

PROF__FN void prof__table_measure_site(prof__table *t, const prof_average *r) {
    char source[PROF__SOURCE];
    if (r->site)
        prof__table_widen(t, PROF__COL_SITE,
                          PROF__MAX(prof__text_width(prof__site_source(r->site, source)), 6u));
}

PROF__FN void prof__table_width_site(prof__table *t) {
    t->width[PROF__COL_SITE] = PROF__MIN(t->width[PROF__COL_SITE],
                                         prof__table_limit(t->desc->max_src_column_width, 75));
}

/* Are rows told apart by place? */
PROF__FN void prof__table_find_sites(prof__table *t) {
    t->sited = t->desc->averages && t->desc->averages->group_by_site;
    for (uint32_t i = 0; t->rows && !t->sited && i < t->count; i++)
        t->sited = t->rows[i].site != NULL;
}

/* r NULL: the head. */
PROF__FN void prof__csv_site(prof__table *t, const prof_average *r) {
    char source[PROF__SOURCE];
    if (!t->sited) return;
    prof__out_text(&t->out, r ? "," : ",source");
    if (r) prof__csv_text(&t->out, prof__site_source(r->site, source));
}

PROF__FN void prof__json_site(prof__table *t, const prof_average *r) {
    char source[PROF__SOURCE];
    if (t->sited)
        prof__out_f(&t->out, ", \"source\": \"%j\"", prof__site_source(r->site, source));
}
#endif

/* A column's cell, padded: figures and names to the right, as Python's "{: >12}". */
PROF__FN void prof__table_cell(prof__table *t, int column, const char *text) {
    size_t width = prof__text_width(text), cell = t->width[column];
    if (!cell) return;
    prof__table_need(t, column, width, text);
    prof__out_repeat(&t->out, ' ', cell > width ? cell - width : 0);
    prof__out_text(&t->out, text);
    prof__out_text(&t->out, "  ");
}

/* Bytes of the control character at s, if it is one; U+0080 to U+009F are some, too. */
PROF__FN size_t prof__control(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    if (!PROF__BARE && u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0) return 2;
    return u[0] < 0x20 || u[0] == 0x7f;
}

/* Text on one line: control characters as spaces; keep code points of it. */
PROF__FN void prof__table_plain(prof__out *o, const char *text, size_t keep) {
    for (; keep && *text; keep--) {
        size_t control = prof__control(text);
        if (control) prof__out_text(o, " ");
        else prof__out_code_point(o, &text);
        text += control;
    }
}

/* A limit of the description: 0 is the default, UINT32_MAX unlimited. */
PROF__FN size_t prof__table_limit(uint32_t given, uint32_t usual) {
    return given == UINT32_MAX ? SIZE_MAX : given ? given : usual;
}

/* A name, cut with "..." as PyTorch cuts. */
PROF__FN void prof__table_name(prof__table *t, int column, const char *name) {
    size_t max = prof__table_limit(t->desc->max_name_column_width, 55), cell = t->width[column];
    size_t width = prof__text_width(name), keep = width;
    bool cut = max != SIZE_MAX && width + 3 >= max;
    if (!cell) return;
    prof__table_need(t, column, width, "1");
    if (width > prof__table_fits(t, cell)) {
        cut = true;
        max = cell;
    }
    if (cut) keep = max >= 3 ? PROF__MIN(width, max - 3)
                             : width - PROF__MIN(width, 3 - max);   /* Python's name[:-n] */
    width = keep + (cut ? 3 : 0);
    prof__out_repeat(&t->out, ' ', cell > width ? cell - width : 0);
    prof__table_plain(&t->out, name, keep);
    prof__out_text(&t->out, cut ? "...  " : "  ");
}

PROF__FN prof_time_unit prof__table_unit(const prof__table *t, int64_t ns) {
    return t->desc->time_unit ? t->desc->time_unit : prof__time_unit(ns);
}

PROF__FN void prof__table_time(prof__table *t, int column, int64_t ns) {
    char text[48];
    *prof__text_time(text, prof__us(ns), prof__table_unit(t, ns)) = 0;
    prof__table_cell(t, column, text);
}

PROF__FN void prof__table_mean(prof__table *t, int column, int64_t ns, uint64_t count) {
    char text[48];
    int64_t whole = prof__mean_ns(ns, count);
    prof__real us = prof__mean_us(ns, count);
#if !PROF__BARE
    if (column == PROF__COL_CPU_MEAN && prof__table_raw(t, t->row))
        us = prof__real_div(prof__real_from_double(prof__table_raw(t, t->row)->cpu_us),
                            prof__real_from((int64_t)count));
#endif
    *prof__text_time(text, us, prof__table_unit(t, whole)) = 0;
    prof__table_cell(t, column, text);
}

PROF__FN void prof__table_share(prof__table *t, int column, int64_t ns, int64_t sum) {
    char text[48];
    *prof__text_share(text, prof__us(ns), prof__us(sum)) = 0;
    prof__table_cell(t, column, text);
}

PROF__FN void prof__table_memory(prof__table *t, int column, int64_t bytes) {
    char text[48];
    (void)prof_format_memory(text, sizeof text, bytes);
    prof__table_cell(t, column, text);
}

PROF__FN void prof__table_integer(prof__table *t, int column, int64_t n) {
    char text[24];
    *prof__text_i64(text, n) = 0;
    prof__table_cell(t, column, text);
}

PROF__FN void prof__table_shapes(prof__table *t, const prof_average *r) {
    size_t cell = t->width[PROF__COL_SHAPES], width;
    if (!cell) return;
    width = prof__shapes_text(r, &t->out, 0);
    prof__table_need(t, PROF__COL_SHAPES, width, "1");
    prof__out_repeat(&t->out, ' ', cell > width ? cell - width : 0);
    (void)prof__shapes_text(r, &t->out, cell);
    prof__out_text(&t->out, "  ");
}

PROF__FN void prof__table_flops(prof__table *t, int64_t flops) {
    static const double scales[] = { 1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15 };
    char text[48] = "--", *p = text;
    prof__real x = prof__real_mul(prof__real_from(flops),
                                  prof__real_from_double(scales[t->flops_power]));
    if (flops > 0) *prof__text_real(p, x, 3) = 0;
    prof__table_cell(t, PROF__COL_FLOPS, text);
}

/* A path loses its beginning when it is too long. */
PROF__FN void prof__table_path(prof__table *t, int column, const char *path) {
    size_t cell = t->width[column], width = prof__text_width(path);
    size_t shown = PROF__MIN(width, cell), drop = width - shown;
    if (!cell) return;
    prof__table_need(t, column, width, "1");
    if (drop && shown > 3) {
        prof__out_text(&t->out, "...");
        drop += 3;
    }
    for (size_t i = 0; i < drop; i++) path += prof__utf8_step(path);
    prof__table_plain(&t->out, path, SIZE_MAX);
    prof__out_repeat(&t->out, ' ', cell - shown);
    prof__out_text(&t->out, "  ");
}

/* ---- lines ---- */

/* Further stack entries, one a line below the first, and an empty line. */
PROF__FN void prof__table_stack(prof__table *t, const prof_average *r) {
    for (uint32_t i = 1; i <= PROF__MAX(r->stack_count, 1u); i++) {
        for (int column = 0; column < PROF__COL_SOURCE; column++)
            if (t->width[column]) prof__table_cell(t, column, "");
        prof__table_path(t, PROF__COL_SOURCE,
                         prof__text(i < r->stack_count ? r->stack[i] : NULL));
        prof__out_text(&t->out, "\n");
    }
}

PROF__FN char prof__upper(char c) { return (char)(c >= 'a' && c <= 'z' ? c - 32 : c); }
PROF__FN char prof__lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c); }

PROF__FN void prof__table_put_wide(prof__table *t, const prof_average *r, int column) {
    int i = column - PROF__COL_COUNTERS;
    uint8_t shows = prof__column_shows(column);
    int64_t n = prof__row_number(r, column);
    if (i >= 0 && column <= PROF__COL_COUNTERS_END)
        prof__table_integer(t, column, i % 2 ? r->counters[i / 2] : r->self_counters[i / 2]);
    else if (shows == PROF__SHOW_MEMORY) prof__table_memory(t, column, n);
    else if (shows == PROF__SHOW_SHAPES) prof__table_shapes(t, r);
    else if (shows == PROF__SHOW_FLOPS) prof__table_flops(t, n);
    else if (shows == PROF__SHOW_PATH)
        prof__table_path(t, column, prof__text(r->stack_count ? r->stack[0] : NULL));
    else if (shows == PROF__SHOW_SITE) prof__table_site(t, r);
    else prof__table_integer(t, column, n);
}

#if PROF__BARE
#  define prof__table_number(t, r, column) prof__row_number(r, column)
#  define prof__table_whole_ns(t, column) ((t)->self_cpu_ns)
#  define prof__put_parts(t, r) ((void)0)
#  define prof__table_counter(t, i) ((void)(t), (void)(i), (const char *)NULL)
#  define prof__table_all_devices(t) ((t)->view.device_name)
#  define prof__table_device_ns(t, r) ((void)0)
#  define prof__table_measure_others(t, r) ((void)0)
#else
/* The name of counter i, where the rows have counters. */
PROF__FN const char *prof__table_counter(const prof__table *t, uint32_t i) {
    if (t->trace && !t->rows && (!t->groups || t->groups->counts))
        return prof_hw_counter_name(t->trace, i);
    return !t->trace && i < PROF_COUNTERS ? t->view.counters[i] : NULL;
}

/* What the sum over all devices is called. */
PROF__FN const char *prof__table_all_devices(const prof__table *t) {
    return t->view.other_devices[0] ? "devices" : t->view.device_name;
}

PROF__FN void prof__table_measure_others(prof__table *t, const prof_average *r) {
    for (int i = 0; i < PROF_OTHER_DEVICES && t->view.other_devices[i]; i++)
        if (r->self_other_device_ns[i] > 0) t->width[PROF__COL_OTHERS + 4 * i] = PROF__COLUMN;
}

PROF__FN void prof__table_device_ns(prof__table *t, const prof_average *r) {
    t->self_device_ns = PROF__PLUS(t->self_device_ns, r->self_device_time_total_ns);
    for (int i = 0; i < PROF_OTHER_DEVICES; i++)
        t->self_other_ns[i] = PROF__PLUS(t->self_other_ns[i], r->self_other_device_ns[i]);
}
/* What device i of the view has of device times: 0 the first one, which has what others do not. */
PROF__FN int64_t prof__device_part(int64_t all, const int64_t *others, uint32_t i) {
    if (i) return others[i - 1];
    for (uint32_t k = 0; k < PROF_OTHER_DEVICES; k++) all = PROF__MINUS(all, others[k]);
    return all;
}

/* A row's number, of device times what the column's device has. */
PROF__FN int64_t prof__table_number(const prof__table *t, const prof_average *r, int column) {
    int other = prof__column_other(column), place = (int)prof__column_place(column);
    uint32_t device = other < 0 ? 0 : (uint32_t)other / 4 + 1;
    if (!t->view.other_devices[0] || place < PROF__COL_SELF_DEVICE ||
        place > PROF__COL_DEVICE_MEAN) return prof__row_number(r, column);
    return place <= PROF__COL_SELF_DEVICE_SHARE
        ? prof__device_part(r->self_device_time_total_ns, r->self_other_device_ns, device)
        : prof__device_part(r->device_time_total_ns, r->other_device_ns, device);
}

/* What a column's shares are of. */
PROF__FN int64_t prof__table_whole_ns(const prof__table *t, int column) {
    int other = prof__column_other(column);
    if (other >= 0) return t->self_other_ns[other / 4];
    return column == PROF__COL_SELF_DEVICE_SHARE
        ? prof__device_part(t->self_device_ns, t->self_other_ns, 0) : t->self_cpu_ns;
}

/* Fields "cuda_time_total", "self_cuda_time_total" of each type of device, where there are several:
   their names for CSV's head (r NULL), or what a row has. */
PROF__FN void prof__put_part(prof__table *t, const prof_average *r, const char *name, uint32_t i,
                             bool self) {
    bool json = t->desc->format == PROF_FORMAT_JSON;
    prof__out_text(&t->out, json ? ", \"" : ",");
    if (json || !r) prof__out_text(&t->out, self ? "self_" : "");
    for (; (json || !r) && *name; name++) {
        char c = prof__lower(*name);
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) c = '_';
        prof__out_bytes(&t->out, &c, 1);
    }
    if (json || !r) prof__out_text(&t->out, json ? "_time_total\": " : "_time_total");
    if (r)
        prof__out_us(&t->out,
                     self ? prof__device_part(r->self_device_time_total_ns,
                                              r->self_other_device_ns, i)
                          : prof__device_part(r->device_time_total_ns, r->other_device_ns, i));
}

PROF__FN void prof__put_parts(prof__table *t, const prof_average *r) {
    const char *name = t->view.other_devices[0] ? t->view.device_name : NULL;
    for (uint32_t i = 0; name; i++) {
        prof__put_part(t, r, name, i, false);
        prof__put_part(t, r, name, i, true);
        name = i < PROF_OTHER_DEVICES ? t->view.other_devices[i] : NULL;
    }
}
#endif

PROF__FN void prof__table_put(prof__table *t, const prof_average *r, int column) {
    int i = column - PROF__COL_COUNTERS;
    bool counter = i >= 0 && column <= PROF__COL_COUNTERS_END;
    uint8_t shows = counter ? (uint8_t)PROF__SHOW_INTEGER : prof__column_shows(column);
    int64_t n = prof__table_number(t, r, column);
    if (!t->width[column]) return;
    if (shows == PROF__SHOW_NAME)
        prof__table_name(t, column,
                         column == PROF__COL_NAME ? r->key : prof__text(r->overload_name));
    else if (r->is_async && column == PROF__COL_CPU_SHARE) prof__table_cell(t, column, "0");
    else if (shows == PROF__SHOW_SHARE)
        prof__table_share(t, column, n, prof__table_whole_ns(t, column));
    else if (shows == PROF__SHOW_TIME) prof__table_time(t, column, n);
    else if (shows == PROF__SHOW_MEAN) prof__table_mean(t, column, n, r->count);
    else if (PROF__BARE) prof__table_integer(t, column, n);
    else prof__table_put_wide(t, r, column);
}

PROF__FN void prof__table_line(prof__table *t, const prof_average *r) {
    for (int i = 0; i < PROF__COLUMNS; i++) prof__table_put(t, r, i);
    prof__out_text(&t->out, "\n");
    if (!PROF__BARE && t->width[PROF__COL_SOURCE]) prof__table_stack(t, r);
}

PROF__FN void prof__table_rule(prof__table *t) {
    for (int i = 0; i < PROF__COLUMNS; i++) {
        if (!t->width[i]) continue;
        prof__out_repeat(&t->out, '-', t->width[i]);
        prof__out_text(&t->out, "  ");
    }
    prof__out_text(&t->out, "\n");
}

/* The head that the list has. */
PROF__FN const char *prof__column_head(int column) {
#define PROF__COLUMN_HEAD(name, shows, member, head, field) head "\0"
#define PROF__COLUMN_HOST_HEAD(name, shows, member, head, field) PROF__HOST_TEXT(head) "\0"
    static const char heads[] = PROF__COLUMNS_EACH(PROF__COLUMN_HEAD, PROF__COLUMN_HOST_HEAD);
    return prof__nth(heads, prof__column_place(column));
}

#if PROF__BARE
PROF__FN void prof__table_heads(prof__table *t) {
    for (int i = 0; i <= PROF__COL_COUNT; i++) prof__table_cell(t, i, prof__column_head(i));
    prof__out_text(&t->out, "\n");
}
#else
/* A head of the list, with the device's name, or of a counter: "Self cycles", "cycles". */
PROF__FN void prof__table_head_text(const prof__table *t, int column, char *text) {
    const char *device = t->view.device_name, *head = prof__column_head(column), *end = text + 96;
    int i = column - PROF__COL_COUNTERS, other = prof__column_other(column);
    bool memory = column == PROF__COL_DEVICE_MEMORY || column == PROF__COL_SELF_DEVICE_MEMORY;
    if (other >= 0) device = t->view.other_devices[other / 4];
    if (memory) device = prof__table_all_devices(t);
    if (i >= 0 && column <= PROF__COL_COUNTERS_END) {
        const char *counter = prof__table_counter(t, (uint32_t)i / 2);
        (void)prof_format_text(text, 96, i % 2 ? "%s" : "Self %s", counter ? counter : "");
        return;
    }
    for (; *head; head++) {
        const char *name = *head != '@' ? "" : device ? device : "None";
        for (; *name && text < end; name++) *text++ = device ? prof__upper(*name) : *name;
        if (*head != '@') *text++ = *head;
        if (column == PROF__COL_FLOPS && *head == ' ' && t->flops_power)
            *text++ = " KMGTP"[t->flops_power];
    }
    *text = 0;
}

PROF__FN void prof__table_heads(prof__table *t) {
    char text[128];
    for (int i = 0; i < PROF__COLUMNS; i++) {
        size_t width, cell = t->width[i];
        if (!cell) continue;
        prof__table_head_text(t, i, text);
        width = prof__text_width(text);
        if (i != PROF__COL_SOURCE && i != PROF__COL_SITE) {
            prof__table_cell(t, i, text);
        } else {                         /* the columns that are aligned to the left */
            prof__out_text(&t->out, text);
            prof__out_repeat(&t->out, ' ', 2 + (cell > width ? cell - width : 0));
        }
    }
    prof__out_text(&t->out, "\n");
}
#endif

PROF__FN void prof__table_head(prof__table *t) {
    prof__out *o = &t->out;
    size_t line = 0;
    for (int i = 0; i < PROF__COLUMNS; i++) line += t->width[i] ? t->width[i] + 2 : 0;
    if (t->desc->header) {
        prof__out_repeat(o, '=', line - 2);
        prof__out_text(o, "\n");
        prof__out_text(o, t->desc->header);
        prof__out_text(o, "\n");
    }
    if (t->desc->top_level_events_only) {
        prof__out_repeat(o, '=', line - 2);
        prof__out_text(o, "\nThis report only display top-level ops statistics\n");
    }
    prof__table_rule(t);
    prof__table_heads(t);
    prof__table_rule(t);
}

/* The counts of prof_stats that matter when they are not zero, each with what to do about it. */
typedef struct prof__note { const char *key, *text; size_t at; } prof__note;
#define PROF__NOTE(name, value, place, note) { #name, note, offsetof(prof_stats, name) },
static const prof__note prof__notes[] = {
    PROF__STATS(PROF__NOTE, PROF__STAT_HOST(PROF__NOTE), PROF__STAT_NONE)
};
#define PROF__NOTES (sizeof prof__notes / sizeof *prof__notes)

PROF__FN uint64_t prof__note_count(const prof_stats *s, size_t note) {
    uint64_t n;
    memcpy(&n, (const char *)s + prof__notes[note].at, sizeof n);
    return n;
}

PROF_API PROF__QUIET bool prof_stats_note(const prof_stats *stats, size_t i, prof_note *note) {
    if (!note || i >= PROF__NOTES) return false;
    note->key = prof__notes[i].key;
    note->text = prof__notes[i].text;
    note->count = stats ? prof__note_count(stats, i) : 0;
    return true;
}

PROF__FN void prof__table_sum(prof__table *t, const char *device, bool rows, int64_t ns) {
    char text[48];
    *prof__text_time(text, prof__us(ns), prof__table_unit(t, ns)) = 0;
    prof__out_text(&t->out, "Self ");
#if PROF__BARE
    prof__out_text(&t->out, device);
#else
    for (; *device; device++) {
        char c = prof__upper(*device);
        prof__out_bytes(&t->out, &c, 1);
    }
#endif
    prof__out_text(&t->out, rows && !PROF__BARE ? " time of these rows: " : " time total: ");
    prof__out_text(&t->out, text);
    prof__out_text(&t->out, "\n");
}

#if PROF__BARE
#  define prof__table_devices(t) ((void)(t))
#  define prof__table_timeline(t, stats) ((void)0)
#else
/* Where the timeline ended, when it did before the session. */
PROF__FN void prof__table_timeline(prof__table *t, const prof_stats *stats) {
    char text[48];
    prof__scale scale;
    int64_t end = (int64_t)stats->timeline_ns, all;
    memset(&scale, 0, sizeof scale);
    if (stats->summed == stats->deep) return;
    all = prof__to_ns(&scale, t->trace->stop_tick);
    *prof__text_time(text, prof__us(end), prof__table_unit(t, end)) = 0;
    prof__out_text(&t->out, "Timeline: the first ");
    prof__out_text(&t->out, text);
    *prof__text_time(text, prof__us(all), prof__table_unit(t, all)) = 0;
    prof__out_text(&t->out, " of ");
    prof__out_text(&t->out, text);
    prof__out_text(&t->out, ". ");
    prof__out_u64(&t->out, stats->summed - stats->deep);
    prof__out_text(&t->out, " later zones are in averages and tables, not in the trace (give "
                            "prof_desc.memory more)");
    if (prof__wide(t->trace)) prof__out_text(&t->out, ". What zones carry ends with it");
    prof__out_text(&t->out, "\n");
}

PROF__FN void prof__table_devices(prof__table *t) {
    for (uint32_t i = 0; i < prof__device_count; i++) {
        const char *status = prof__device_status(t->trace, i);
        if (status) prof__out_f(&t->out, "%s: %s\n", prof__devices[i].desc.name, status);
    }
}
#endif

/* What was dropped or mended. */
PROF__FN void prof__table_notes(prof__table *t) {
    prof_stats stats = prof_trace_stats(t->trace);
    prof__table_timeline(t, &stats);
    for (size_t i = 0; i < PROF__NOTES; i++) {
        uint64_t count = prof__note_count(&stats, i);
        if (!count) continue;
        prof__out_text(&t->out, prof__notes[i].text);
        prof__out_text(&t->out, ": ");
        prof__out_u64(&t->out, count);
        prof__out_text(&t->out, "\n");
    }
    prof__table_devices(t);
}

#if PROF__BARE
#  define prof__table_device_sums(t) ((void)0)
#  define prof__table_has(t, column) false
#  define prof__table_left_out(t) ((void)0)
#  define prof__table_recursion(t) ((void)0)
#  define prof__table_others(t) ((void)0)
#  define prof__table_empty(t) ((void)0)
#else
PROF__FN bool prof__table_has(const prof__table *t, int column) {
    return t->width[column] || t->left_out[column];
}

PROF__FN void prof__table_device_sums(prof__table *t) {
    for (int i = 0; i <= PROF_OTHER_DEVICES; i++) {
        int column = i ? PROF__COL_OTHERS + 4 * (i - 1) : (int)PROF__COL_SELF_DEVICE;
        if (prof__table_has(t, column))
            prof__table_sum(t, i ? t->view.other_devices[i - 1] : t->view.device_name, false,
                            prof__table_whole_ns(t, i ? column : column + 1));
    }
}

/* One more of a list below the table, whose line has *at characters; 0: head goes before it. A line
   that is to fit goes on in the next one. */
PROF__FN void prof__table_listed(prof__table *t, size_t *at, const char *head, const char *text) {
    size_t width = PROF__MIN(prof__text_width(text), 55u);
    const char *before = !*at ? head :
        t->desc->width && *at + width + 3 > t->desc->width ? ",\n  " : ", ";
    prof__out_text(&t->out, before);
    prof__table_plain(&t->out, text, 55);
    *at = (*before == ',' && before[1] == '\n' ? 2 : *at + strlen(before)) + width;
}

PROF__FN void prof__table_left_out(prof__table *t) {
    size_t at = 0;
    for (int i = 0; i < PROF__COLUMNS; i++) {
        char text[128];
        if (!t->left_out[i]) continue;
        prof__table_head_text(t, i, text);
        prof__table_listed(t, &at, "Left out, the lines are too narrow: ", text);
    }
    if (at) prof__out_text(&t->out, "\n");
}

/* ---- recursion ---- */

typedef struct prof__names_told { const char *names[4]; size_t count; } prof__names_told;

/* False: there are enough of them. */
PROF__FN bool prof__tell_name(prof__names_told *told, const char *name) {
    for (size_t i = 0; i < told->count; i++)
        if (strcmp(told->names[i], name) == 0) return true;
    told->names[told->count++] = name;
    return told->count < 4;
}

PROF__INLINE bool prof__same_name(const char *a, const char *b) {
    return a == b || (*a == *b && strcmp(a, b) == 0);    /* most differ in their first letter */
}

/* Rows tell, but those that no events are left of: there, what no time can be. */
PROF__FN void prof__find_recursive(const prof__table *t, prof__names_told *told) {
    for (uint32_t i = 0; (t->rows || t->groups) && i < t->count; i++) {
        prof_average r = t->row_at(t, i);
        bool sure = t->rows && t->trace && !r.is_async && r.device_type == PROF_DEVICE_CPU &&
                    r.cpu_time_total_ns > t->self_cpu_ns + t->count;   /* rows are cut to ns */
        if ((r.is_recursive || sure) && !prof__tell_name(told, r.key)) return;
    }
}

/* Why a row's CPU total may be more than the time that passed. */
PROF__FN void prof__table_recursion(prof__table *t) {
    prof__names_told told = { { NULL, NULL, NULL, NULL }, 0 };
    size_t at = 0;
    prof__find_recursive(t, &told);
    for (size_t i = 0; i < told.count; i++)
        prof__table_listed(t, &at, "Recursion, CPU total counts each level of it: ",
                           i < 3 ? told.names[i] : "...");
    if (told.count) prof__out_text(&t->out, "\n");
}

/* What rows of the caller's do not tell apart: of a trace the notes say why. */
PROF__FN void prof__table_others(prof__table *t) {
    for (uint32_t i = 0; t->rows && !t->trace && i < t->count; i++)
        if (strcmp(t->rows[i].key, "(others)") == 0)
            prof__out_f(&t->out, "Zones in (others), their names had no room: %u\n",
                        t->rows[i].count);
}

PROF__FN void prof__table_empty(prof__table *t) {
    const prof_desc *d = &prof__session.desc;
    prof_stats stats = prof_trace_stats(t->trace);
    if (t->trace->built) return;         /* PyTorch's table of nothing is "" */
    if (stats.recorded) {
        prof__out_f(&t->out, "Zones recorded, but not kept for a table "
                             "(prof_desc.records_only, PROF_MODE_STREAM): %u\n", stats.recorded);
        return;
    }
    prof__out_text(&t->out, "No zones were recorded");
    prof__out_text(&t->out, d->schedule_fn || d->schedule.active ?
        ": the schedule's last window had none, or prof_step never came to one\n" : stats.dropped ?
        ": all were dropped\n" :
        ": no PROF_SCOPE, PROF_BLOCK or prof_push ran from prof_start to prof_stop,\n"
        "or PROF_DISABLE made them nothing where they stand\n");
}
#endif

PROF__FN void prof__table_foot(prof__table *t) {
    bool device = !PROF__BARE && prof__table_has(t, PROF__COL_SELF_DEVICE);
    if (t->count) {
        prof__table_rule(t);
        prof__table_sum(t, "CPU", false, t->self_cpu_ns);
        prof__table_device_sums(t);
        if (!PROF__BARE && t->desc->whole_cpu_ns)
            prof__table_sum(t, "CPU", true, t->rows_cpu_ns);
        if (device && t->desc->whole_device_ns)
            prof__table_sum(t, prof__table_all_devices(t), true, t->rows_device_ns);
    } else if (PROF__BARE) {
        prof__out_text(&t->out, "No zones\n");
    }
    prof__table_left_out(t);
    if (t->desc->hide_notes) return;
    if (!PROF__BARE && !t->count && t->trace) prof__table_empty(t);
    prof__table_recursion(t);
    prof__table_others(t);
    if (t->notes) t->notes(t);
}

/* ---- widths and sums: over all rows, also those that row_limit hides ---- */

PROF__FN void prof__table_widen(prof__table *t, int column, size_t width) {
    if (width > t->width[column]) t->width[column] = width;
}

/* Were min and percentiles asked for? */
PROF__FN bool prof__table_percentiles(const prof__table *t) {
    return !PROF__BARE && t->desc->averages && t->desc->averages->percentiles;
}

/* The columns that only some traces have. */
PROF__FN void prof__table_measure_wide(prof__table *t, const prof_average *r) {
    bool device = r->device_type != PROF_DEVICE_CPU;
    if (r->overload_name && *r->overload_name) t->width[PROF__COL_OVERLOAD] = 1;
    if (prof__table_number(t, r, PROF__COL_SELF_DEVICE) > 0 && t->view.device_name)
        t->width[PROF__COL_SELF_DEVICE] = PROF__COLUMN;
    prof__table_measure_others(t, r);
    if (r->self_device_memory_usage > 0 && t->view.device_name && t->view.profile_memory)
        t->width[PROF__COL_DEVICE_MEMORY] = PROF__COLUMN;
    if (r->node_id != -1) t->width[PROF__COL_NODE] = PROF__COLUMN;
    prof__table_widen(t, PROF__COL_SHAPES, prof__shapes_text(r, &t->out, 0));
    if (r->input_count && r->input_count != PROF_NONE) t->width[PROF__COL_FLOPS] = 1;
    prof__table_measure_site(t, r);
    for (uint32_t i = 0; i < r->stack_count; i++)
        prof__table_widen(t, PROF__COL_SOURCE, prof__text_width(prof__text(r->stack[i])) + 4);
    if (r->flops > 0 && (!t->least_flops || r->flops < t->least_flops)) t->least_flops = r->flops;
    if (device ? !r->is_user_annotation : r->is_legacy)
        prof__table_device_ns(t, r);
    else if (!device)                    /* again, by the calls that launched it */
        t->rows_device_ns = PROF__PLUS(t->rows_device_ns, r->self_device_time_total_ns);
}

/* The widths of those columns, once all rows are measured. */
PROF__FN void prof__table_widths_wide(prof__table *t) {
    const prof_table_desc *d = t->desc;
    bool shapes = t->width[PROF__COL_FLOPS] != 0;   /* set above: some row has inputs */
    if (t->width[PROF__COL_OVERLOAD]) t->width[PROF__COL_OVERLOAD] = t->width[PROF__COL_NAME];
    for (int i = PROF__COL_SELF_DEVICE; i <= PROF__COL_DEVICE_MEAN; i++)
        t->width[i] = t->width[PROF__COL_SELF_DEVICE];
    for (int i = 0; i < PROF__OTHER_COLUMNS; i++)
        t->width[PROF__COL_OTHERS + i] = t->width[PROF__COL_OTHERS + i / 4 * 4];
    if (t->view.profile_memory)
        t->width[PROF__COL_CPU_MEMORY] = t->width[PROF__COL_SELF_CPU_MEMORY] = PROF__COLUMN;
    t->width[PROF__COL_SELF_DEVICE_MEMORY] = t->width[PROF__COL_DEVICE_MEMORY];
    t->width[PROF__COL_SHAPES] =
        shapes ? PROF__MIN(t->width[PROF__COL_SHAPES] + 4,
                           prof__table_limit(d->max_shapes_column_width, 80)) : 0;
    t->width[PROF__COL_SOURCE] = PROF__MIN(t->width[PROF__COL_SOURCE],
                                           prof__table_limit(d->max_src_column_width, 75));
    prof__table_width_site(t);
    t->width[PROF__COL_FLOPS] = t->view.with_flops && t->least_flops ? PROF__COLUMN : 0;
    t->flops_power = prof__flops_power(t->least_flops);
    for (int i = 0; i < PROF__COUNTER_COLUMNS; i++) {
        const char *name = prof__table_counter(t, (uint32_t)i / 2);
        size_t width = name ? strlen(name) + (i % 2 ? 0 : 5) : 0;
        if (name) t->width[PROF__COL_COUNTERS + i] = PROF__MAX(width, PROF__COLUMN);
    }
}

#if PROF__BARE
#  define prof__table_whole(t) ((void)0)
#else
PROF__FN void prof__table_whole(prof__table *t) {
    const prof_table_desc *d = t->desc;
    t->rows_cpu_ns = t->self_cpu_ns;
    if (t->self_device_ns) t->rows_device_ns = t->self_device_ns;
    if (d->whole_cpu_ns) t->self_cpu_ns = d->whole_cpu_ns;
    if (d->whole_device_ns) t->self_device_ns = d->whole_device_ns;
}
#endif

PROF__FN void prof__table_measure(prof__table *t) {
    size_t most = prof__table_limit(t->desc->max_name_column_width, 55);
    for (uint32_t i = 0; i < t->count; i++) {
        prof_average r = t->row_at(t, i);
        prof__table_widen(t, PROF__COL_NAME, prof__text_width(r.key) + 4);
        for (int j = prof__table_percentiles(t) ? PROF__COL_MIN : PROF__COL_P50;
             j <= PROF__COL_MAX; j++)
            if (r.p99_ns || prof__table_percentiles(t)) t->width[j] = PROF__COLUMN;
        t->self_cpu_ns = PROF__PLUS(t->self_cpu_ns, r.self_cpu_time_total_ns);
        if (!PROF__BARE) prof__table_measure_wide(t, &r);
    }
    prof__table_whole(t);
    t->width[PROF__COL_NAME] = PROF__MIN(t->width[PROF__COL_NAME], most);
    for (int i = PROF__COL_SELF_CPU_SHARE; i <= PROF__COL_CPU_MEAN; i++) t->width[i] = PROF__COLUMN;
    t->width[PROF__COL_COUNT] = PROF__COLUMN;
    if (!PROF__BARE) prof__table_widths_wide(t);
}

/* ---- the whole ---- */

/* What a spreadsheet would take for a formula stands behind a '. */
PROF__FN void prof__csv_text(prof__out *o, const char *s) {
    bool formula = *s == '=' || *s == '+' || *s == '-' || *s == '@' || *s == '\t' || *s == '\r';
    prof__out_text(o, formula ? "\"'" : "\"");
    for (; *s; s++) {
        if (*s == '"') prof__out_text(o, "\"");
        prof__out_bytes(o, s, 1);
    }
    prof__out_text(o, "\"");
}

PROF__FN void prof__put_mean(prof__out *o, int64_t ns, uint64_t count) {
    prof__out_room(o, 48);
    o->p = prof__text_real(o->p, prof__mean_us(ns, count), 3);
}

/* The fields that are numbers, in their order. */
static const uint8_t prof__row_fields[] = {
    PROF__COL_COUNT, PROF__COL_CPU, PROF__COL_SELF_CPU, PROF__COL_CPU_MEAN, PROF__COL_MIN,
    PROF__COL_MAX, PROF__COL_DEVICE, PROF__COL_SELF_DEVICE, PROF__COL_DEVICE_MEAN,
    PROF__COL_CPU_MEMORY, PROF__COL_SELF_CPU_MEMORY, PROF__COL_DEVICE_MEMORY,
    PROF__COL_SELF_DEVICE_MEMORY, PROF__COL_FLOPS, PROF__COL_NODE, PROF__COL_DEVICE_TYPE,
    PROF__COL_IS_ASYNC, PROF__COL_IS_REMOTE, PROF__COL_IS_LEGACY, PROF__COL_IS_USER_ANNOTATION,
    PROF__COL_P50, PROF__COL_P90, PROF__COL_P99 };
#define PROF__ROW_FIELDS ((int)sizeof prof__row_fields)

/* Percentiles only where they are. */
PROF__FN int prof__row_field_count(const prof__table *t) {
    bool rows = t->rows && t->count && t->rows[0].p99_ns;
    return rows || prof__table_percentiles(t) ? PROF__ROW_FIELDS : PROF__ROW_FIELDS - 3;
}

PROF__FN void prof__put_field(prof__out *o, const prof_average *r, int column, bool words) {
    int64_t n = prof__row_number(r, column);
    uint8_t shows = prof__column_shows(column);
    if (shows == PROF__SHOW_TIME) prof__out_us(o, n);
    else if (shows == PROF__SHOW_MEAN) prof__put_mean(o, n, r->count);
    else if (shows == PROF__SHOW_FLAG && words) prof__out_text(o, n ? "true" : "false");
    else prof__out_i64(o, n);
}

PROF__FN void prof__csv_head(prof__table *t, int fields) {
    prof__out *o = &t->out;
    prof__out_text(o, "key");
    for (int i = 0; i < fields; i++)
        prof__out_f(o, ",%s", prof__column_field(prof__row_fields[i]));
    prof__put_parts(t, NULL);
    for (uint32_t i = 0; prof__table_counter(t, i); i++)
        prof__out_f(o, ",%s,self_%s", prof__table_counter(t, i), prof__table_counter(t, i));
    prof__out_text(o, ",overload_name,input_shapes,stack");
    prof__csv_site(t, NULL);
    prof__out_text(o, "\r\n");
}

/* Stack entries stand on lines of their own within their field. */
PROF__FN void prof__csv_row(prof__table *t, const prof_average *r, int fields) {
    prof__out *o = &t->out;
    prof__csv_text(o, r->key);
    for (int i = 0; i < fields; i++) {
        prof__out_text(o, ",");
        prof__put_field(o, r, prof__row_fields[i], false);
    }
    prof__put_parts(t, r);
    for (uint32_t i = 0; prof__table_counter(t, i); i++)
        prof__out_f(o, ",%i,%i", r->counters[i], r->self_counters[i]);
    prof__out_text(o, ",");
    prof__csv_text(o, prof__text(r->overload_name));
    prof__out_text(o, ",\"");
    if (r->input_count != PROF_NONE) prof__put_shapes(o, r->input_shapes, r->input_count, ", ");
    prof__out_text(o, "\",\"");
    for (uint32_t i = 0; i < r->stack_count; i++) {
        const char *s = prof__text(r->stack[i]);
        if (i) prof__out_text(o, "\n");
        for (; *s; s++) prof__out_bytes(o, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    }
    prof__out_text(o, "\"");
    prof__csv_site(t, r);
    prof__out_text(o, "\r\n");
}

PROF__FN void prof__json_counters(prof__table *t, const prof_average *r) {
    for (uint32_t i = 0; prof__table_counter(t, i); i++)
        for (int self = 0; self < 2; self++) {
            prof__out_f(&t->out, self ? ", \"self_%s\": %i" : ", \"%s\": %i",
                        prof__table_counter(t, i), self ? r->self_counters[i] : r->counters[i]);
        }
}

PROF__FN void prof__json_row(prof__table *t, const prof_average *r, bool first, int fields) {
    prof__out *o = &t->out;
    prof__out_f(o, first ? "\n{\"key\": \"%j\"" : ",\n{\"key\": \"%j\"", r->key);
    for (int i = 0; i < fields; i++) {
        prof__out_f(o, ", \"%s\": ", prof__column_field(prof__row_fields[i]));
        prof__put_field(o, r, prof__row_fields[i], true);
    }
    prof__put_parts(t, r);
    prof__json_counters(t, r);
    prof__out_f(o, ", \"overload_name\": \"%j\", \"input_shapes\": ",
                prof__text(r->overload_name));
    prof__put_shapes(o, r->input_shapes, r->input_count == PROF_NONE ? 0 : r->input_count, ", ");
    prof__out_text(o, ", \"stack\": [");
    for (uint32_t i = 0; i < r->stack_count; i++)
        prof__out_f(o, i ? ", \"%j\"" : "\"%j\"", prof__text(r->stack[i]));
    prof__out_text(o, "]");
    prof__json_site(t, r);
    prof__out_text(o, "}");
}

PROF__FN void prof__table_rows(prof__table *t, const uint32_t *order) {
    uint32_t left = t->desc->row_limit ? t->desc->row_limit : 100;
    int fields = PROF__BARE ? 0 : prof__row_field_count(t);
    bool first = true;
    for (uint32_t i = 0; i < t->count && left; i++) {
        prof_average r = t->row_at(t, t->row = order ? order[i] : i);
        if (t->desc->top_level_events_only && r.parent != PROF_NONE) continue;
        if (left != UINT32_MAX) left--;
        if (PROF__BARE) prof__table_line(t, &r);
        else if (t->desc->format == PROF_FORMAT_JSON) prof__json_row(t, &r, first, fields);
        else if (t->desc->format == PROF_FORMAT_CSV) prof__csv_row(t, &r, fields);
        else prof__table_line(t, &r);
        first = false;
    }
}

#if PROF__BARE
#  define prof__table_fit(t, order) ((void)0)
#else
/* ---- to fit a line ---- */

/* What gives way to what: the column that the rows are sorted by and these go first. */
static const uint8_t prof__table_useful[] = {
    PROF__COL_OVERLOAD, PROF__COL_SITE, PROF__COL_SHAPES, PROF__COL_SOURCE, PROF__COL_SELF_CPU,
    PROF__COL_SELF_DEVICE, PROF__COL_COUNT, PROF__COL_SELF_CPU_SHARE, PROF__COL_SELF_DEVICE_SHARE,
    PROF__COL_CPU, PROF__COL_DEVICE, PROF__COL_P50, PROF__COL_P99, PROF__COL_MAX, PROF__COL_P90,
    PROF__COL_SELF_CPU_MEMORY, PROF__COL_SELF_DEVICE_MEMORY, PROF__COL_FLOPS, PROF__COL_CPU_SHARE,
    PROF__COL_CPU_MEMORY, PROF__COL_DEVICE_MEMORY, PROF__COL_MIN, PROF__COL_CPU_MEAN,
    PROF__COL_DEVICE_MEAN, PROF__COL_NODE };

/* Columns of text may be narrower than what stands in them. */
PROF__FN bool prof__table_is_text(int column) {
    return column == PROF__COL_NAME || column == PROF__COL_OVERLOAD || column == PROF__COL_SITE ||
           column == PROF__COL_SHAPES || column == PROF__COL_SOURCE;
}

/* "CUDA time avg" is wider than its column. */
PROF__FN size_t prof__table_line_width(const prof__table *t) {
    size_t sum = 0;
    for (int i = 0; i < PROF__COLUMNS; i++) {
        char text[128];
        if (!t->width[i]) continue;
        prof__table_head_text(t, i, text);
        sum += PROF__MAX(t->width[i], prof__text_width(text)) + 2;
    }
    return sum;
}

/* Keeps a column, if there is room for the least that it takes. */
PROF__FN void prof__table_keep(prof__table *t, int column, size_t *room) {
    size_t least = PROF__MIN(t->need[column], prof__table_is_text(column) ? 24u : SIZE_MAX);
    if (!t->left_out[column] || least + 2 > *room) return;
    t->left_out[column] = false;
    t->width[column] = least;
    *room -= least + 2;
}

/* All cells as they would be written, into nothing. */
PROF__FN bool prof__discard(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    (void)size;
    return true;
}

PROF__FN void prof__table_needs(prof__table *t, const uint32_t *order) {
    prof_sink sink = t->out.sink;
    t->out.sink.write = prof__discard;
    t->measuring = true;
    prof__table_rows(t, order);
    for (int i = 0; i < PROF__COLUMNS; i++) t->left_out[i] = t->width[i] != 0;
    for (int i = 0; i < PROF__COLUMNS; i++) {
        char text[128];
        prof__table_head_text(t, i, text);
        prof__table_need(t, i, prof__text_width(text), "");
        if (prof__table_is_text(i)) t->need[i] = PROF__MIN(t->need[i], t->width[i]);
    }
    t->measuring = false;
    prof__out_flush(&t->out);
    t->out.sink = sink;
}

/* First figures take no more than they need, then names give way, then whole columns, those without
   any figure but 0 before others. What is left goes back to names, shapes and places. */
PROF__FN void prof__table_fit(prof__table *t, const uint32_t *order) {
    size_t room = t->desc->width;
    if (!t->count || !room || prof__table_line_width(t) <= room) return;
    prof__table_needs(t, order);
    memset(t->width, 0, sizeof t->width);
    t->fitted = true;
    prof__table_keep(t, PROF__COL_NAME, &room);
    prof__table_keep(t, prof__metric_column(t->desc->sort_by), &room);
    for (int used = 1; used >= 0; used--) {
        for (size_t i = 0; i < sizeof prof__table_useful; i++)
            if (t->told[prof__table_useful[i]] == used)
                prof__table_keep(t, prof__table_useful[i], &room);
        for (int i = PROF__COL_OTHERS; used && i <= PROF__COL_OTHERS_END; i++)
            prof__table_keep(t, i, &room);
        for (int i = PROF__COL_COUNTERS; used && i <= PROF__COL_COUNTERS_END; i++)
            prof__table_keep(t, i, &room);
    }
    for (int i = 0; i < PROF__COLUMNS; i++) {
        size_t more = t->width[i] ? PROF__MIN(t->need[i] - t->width[i], room) : 0;
        t->width[i] += more;
        room -= more;
    }
    if (t->left_out[PROF__COL_NAME]) t->width[PROF__COL_NAME] = PROF__MIN(t->need[0], 8u);
    t->left_out[PROF__COL_NAME] = false;
}
#endif

PROF__FN void prof__table_write(prof__table *t, const uint32_t *order) {
    if (PROF__BARE || t->desc->format == PROF_FORMAT_TEXT) {
        prof__table_measure(t);
        prof__table_fit(t, order);
        if (t->count) prof__table_head(t);   /* PyTorch's table of nothing is "" */
        prof__table_rows(t, order);
        prof__table_foot(t);
        return;
    }
    prof__table_find_sites(t);
    if (t->desc->format == PROF_FORMAT_CSV) prof__csv_head(t, prof__row_field_count(t));
    else prof__out_text(&t->out, "[");
    prof__table_rows(t, order);
    if (t->desc->format == PROF_FORMAT_JSON) prof__out_text(&t->out, t->count ? "\n]\n" : "]\n");
}

PROF__FN void prof__table_open(prof__table *t, const prof_table_desc *desc, prof_sink out) {
    memset(t, 0, offsetof(prof__table, out));
    prof__out_open(&t->out, out);
    t->desc = desc;
}

PROF__FN prof_result prof__table_check(const prof_table_desc *desc, prof_sink out) {
    if (!out.write) return PROF_ERROR_INVALID;
    return PROF__BARE && desc && desc->format != PROF_FORMAT_TEXT ? PROF_ERROR_UNSUPPORTED
                                                                 : PROF_OK;
}

/* PROF_MODE_AGGREGATE: its rows; false: another mode. */
PROF__FN bool prof__averages_kept(const prof_trace *trace, const prof_averages_desc *by,
                                  prof_average **rows, uint32_t *count) {
#if PROF__BARE
    size_t most = (size_t)(prof__arena.high - prof__arena.low) / sizeof **rows;
    if (!trace->parts || !trace->parts->average) return false;
    *rows = (prof_average *)(void *)prof__arena.low;   /* nothing more is taken */
#else
    size_t most = trace->merged.places;
    if (!trace->average) return false;
    *rows = trace->averages;
#endif
    *count = (uint32_t)PROF__MIN(most, prof_key_averages(trace, by, *rows, most));
    return true;
}

/* Of desc NULL. */
PROF__FN const prof_table_desc *prof__table_usual(prof_table_desc *d) {
    static const prof_averages_desc plain = { false, false, 0, false, false };
    memset(d, 0, sizeof *d);
    d->averages = &plain;
    d->sort_by = PROF_METRIC_SELF_CPU_TIME_TOTAL;
    return d;
}

PROF_API PROF__QUIET prof_result prof_write_table(const prof_trace *trace,
                                                  const prof_table_desc *desc, prof_sink out) {
    prof_table_desc usual;
    prof__table t;
    prof__groups g;
    prof_result result = prof__table_check(desc, out);
    if (!prof__valid(trace)) return PROF_ERROR_INVALID;
    if (result != PROF_OK) return result;
    prof__table_open(&t, desc ? desc : prof__table_usual(&usual), out);
    t.trace = trace;
    t.notes = prof__table_notes;
    t.row_at = prof__row_of_event;
    if (prof__averages_kept(trace, t.desc->averages, &t.rows, &t.count)) {
        t.row_at = prof__row_of_caller;
#if !PROF__BARE
        t.view = trace->view;
#endif
        prof__rows_sort(t.rows, t.count, t.desc->sort_by ? t.desc->sort_by : PROF_METRIC_FLOPS);
        prof__table_write(&t, NULL);
        return prof__out_close(&t.out);
    }
    if (t.desc->averages) {
        prof__groups_make(&g, trace, t.desc->averages);
        t.groups = &g;
        t.row_at = prof__row_of_group;
        t.count = g.count;
    } else {
        if (!prof__analyse(trace)) return PROF_ERROR_MEMORY;
        t.count = trace->event_count;
    }
#if !PROF__BARE
    t.view = trace->view;
    if (t.groups && !g.counts && t.view.other_devices[0]) {   /* no room to tell them apart */
        memset(t.view.other_devices, 0, sizeof t.view.other_devices);
        t.view.device_name = "devices";
    }
#endif
    prof__table_write(&t, prof__table_sort(&t, t.groups ? prof__groups_end(&g) : trace->scratch));
    return prof__out_close(&t.out);
}

PROF_API PROF__QUIET prof_result prof_write_rows(prof_average *rows, size_t count,
                                                 const prof_view *view, const prof_table_desc *desc,
                                                 prof_sink out) {
    prof_table_desc usual;
    prof__table t;
    prof_result result = prof__table_check(desc, out);
    if ((count && !rows) || count >= UINT32_MAX) return PROF_ERROR_INVALID;
    if (result != PROF_OK) return result;
    prof__table_open(&t, desc ? desc : prof__table_usual(&usual), out);
    if (view) t.view = *view;
    t.rows = rows;
    t.row_at = prof__row_of_caller;
    t.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (!rows[i].key) rows[i].key = "(null)";
    if (t.desc->sort_by) prof__rows_sort(rows, count, t.desc->sort_by);
    prof__table_write(&t, NULL);
    return prof__out_close(&t.out);
}

/* Can it be a device's: a name as a programming language takes it, but for the CPU's? */
PROF__FN bool prof__is_device_name(const char *name, size_t size) {
    if (!size || (size >= 3 && memcmp(name, "cpu", 3) == 0) ||
        (size >= 4 && memcmp(name, "self", 4) == 0 && (size == 4 || name[4] == '_'))) return false;
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        bool letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (!i || c < '0' || c > '9')) return false;
    }
    return true;
}

/* A field's name, in which another device's may stand for "device". */
PROF_API PROF__QUIET prof_result prof_metric_from_text(const char *text, prof_metric *metric) {
    if (!text || !metric) return PROF_ERROR_INVALID;
    for (int i = 1; i < PROF_METRIC_LAST; i++) {
        const char *name = prof__column_field(prof__metric_column((prof_metric)i)), *after;
        size_t before = strncmp(name, "self_", 5) == 0 ? 5 : 0, size = strlen(text);
        *metric = (prof_metric)i;
        if (strcmp(text, name) == 0) return PROF_OK;
        after = name + before + 6;
        if (strncmp(name + before, "device", 6) == 0 && size > before + strlen(after) &&
            strncmp(text, name, before) == 0 && strcmp(text + size - strlen(after), after) == 0 &&
            prof__is_device_name(text + before, size - before - strlen(after))) return PROF_OK;
    }
    *metric = PROF_METRIC_NONE;
    return PROF_ERROR_INVALID;
}

/* ---- canonical text ---- */

PROF__FN bool prof__is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* What of a stack entry counts: without the space around it, and not only carets. */
PROF__FN size_t prof__canonical_frame(const char **s) {
    const char *p = *s;
    size_t n;
    while (prof__is_space(*p)) p++;
    n = strlen(p);
    while (n && prof__is_space(p[n - 1])) n--;
    *s = p;
    for (size_t i = 0; i < n; i++)
        if (p[i] != '^') return n;
    return 0;
}

PROF_API PROF__QUIET prof_result prof_write_canonical(const prof_trace *trace, prof_sink out) {
    prof__out o;
    if (!prof__valid(trace) || !out.write) return PROF_ERROR_INVALID;
    if (!prof__analyse(trace)) return PROF_ERROR_MEMORY;
    prof__out_open(&o, out);
    for (uint32_t i = 0; i < trace->event_count && !o.failed; i++) {
        const prof_event *e = trace->events + i;
        const prof_extra *x = e->extra;
        prof__out_text(&o, i ? "\nevent=" : "event=");
        prof__table_plain(&o, e->name, 30);
        prof__out_text(&o, " node=");
        prof__table_plain(&o, prof__text(x ? x->module_hierarchy : NULL), SIZE_MAX);
        prof__out_text(&o, " stack_trace=");
        for (uint32_t k = 0; x && k < x->stack_count; k++) {
            const char *s = prof__text(x->stack[k]);
            size_t n = prof__canonical_frame(&s);
            prof__out_bytes(&o, s, n);
            if (n) break;
        }
    }
    return prof__out_close(&o);
}

#if PROF__BARE
PROF_API PROF__QUIET prof_result prof_print_table(const prof_trace *trace,
                                                  const prof_table_desc *desc) {
    (void)trace;
    (void)desc;
    return PROF_ERROR_UNSUPPORTED;
}
#else
PROF__FN bool prof__stdio_write(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

PROF_API PROF__QUIET uint32_t prof_terminal_width(void) {
    const char *columns = getenv("COLUMNS");
    int given = columns ? atoi(columns) : 0;
    bool terminal = false;
    uint32_t width = 0;
#if defined(_WIN32)
    CONSOLE_SCREEN_BUFFER_INFO info;
    terminal = GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info) != 0;
    if (terminal) width = (uint32_t)(info.srWindow.Right - info.srWindow.Left + 1);
#else
    terminal = isatty(STDOUT_FILENO) != 0;
#  ifdef TIOCGWINSZ
    struct winsize size;
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
#  endif
#endif
    return !terminal ? 0 : given > 0 ? (uint32_t)given : width;
}

PROF_API PROF__QUIET prof_result prof_print_table(const prof_trace *trace,
                                                  const prof_table_desc *desc) {
    prof_sink out = { prof__stdio_write, NULL };
    prof_table_desc fitting, usual;
    prof_result r;
    fitting = desc ? *desc : *prof__table_usual(&usual);
    out.user = stdout;
    if (!fitting.width) fitting.width = prof_terminal_width();
    r = prof_write_table(trace, &fitting, out);
    return r == PROF_OK && fflush(stdout) ? PROF_ERROR_SINK : r;
}
#endif

/* ---- @CHROME: Chrome trace JSON as Kineto writes it ---- */

#define PROF__LITERAL(p, text) (memcpy(p, text, sizeof text - 1), (p) + sizeof text - 1)

/* Under a clock of the caller's all output is reproducible: process 1, threads by index. */
PROF__FN uint32_t prof__chrome_pid(const struct prof_trace *s) {
    return s->clock == PROF_CLOCK_PLATFORM ? 1 : prof__process_id() & INT32_MAX;
}

PROF__FN uint64_t prof__chrome_tid(const struct prof_trace *s, uint32_t thread) {
    return s->clock == PROF_CLOCK_PLATFORM ? thread : s->threads[thread].id & INT32_MAX;
}

/* `"pid":1,"tid":2,"ts":` of a thread: the same for all its events. */
typedef struct prof__place { uint32_t thread; size_t length; char text[64]; } prof__place;

PROF__FN void prof__chrome_place(prof__place *place, const struct prof_trace *s, uint32_t thread,
                                 uint64_t tid) {
    char *p = PROF__LITERAL(place->text, "\"pid\":");
    p = prof__text_u64(p, prof__chrome_pid(s));
    p = PROF__LITERAL(p, ",\"tid\":");
    p = prof__text_u64(p, tid);
    p = PROF__LITERAL(p, ",\"ts\":");
    place->length = (size_t)(p - place->text);
    place->thread = thread;
}

PROF__EAGER void prof__chrome_where(prof__out *o, const prof__place *place, int64_t ns) {
    prof__out_room(o, 128);
    memcpy(o->p, place->text,
           sizeof place->text); /* all of it: a copy of known size is the fastest */
    o->p = prof__text_us(o->p + place->length, (uint64_t)ns);
}

PROF__EAGER void prof__chrome_zone(prof__out *o, const prof__place *place, const char *name,
                                    int64_t start_ns, int64_t end_ns, uint32_t flags) {
    prof__out_room(o, 64);
    o->p = PROF__LITERAL(o->p, ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"");
    prof__out_json(o, name);
    prof__out_room(o, 2);
    o->p = PROF__LITERAL(o->p, "\",");
    prof__chrome_where(o, place, start_ns);
    o->p = PROF__LITERAL(o->p, ",\"dur\":");
    o->p = prof__text_us(o->p, (uint64_t)end_ns - (uint64_t)start_ns);
    if (PROF__UNLIKELY(flags & (PROF_EVENT_UNFINISHED | PROF_EVENT_PARTIAL)))
        prof__out_text(o, flags & PROF_EVENT_UNFINISHED ? ",\"args\":{\"finished\":false}}"
                                                        : ",\"args\":{\"partial\":true}}");
    else *o->p++ = '}';
}

PROF__FN void prof__chrome_event(prof__out *o, prof__place *place, const struct prof_trace *s,
                                 const prof_event *e) {
    if (PROF__UNLIKELY(place->thread != e->thread))
        prof__chrome_place(place, s, e->thread, prof__chrome_tid(s, e->thread));
    prof__chrome_zone(o, place, e->name, e->start_ns, e->end_ns, e->flags);
}

#if PROF__BARE
#  define prof__chrome_real(o, bits) ((void)0)
#else
/* A JSON number, of 15 digits or as many as tell it from others; whatever the locale's point. */
PROF__FN void prof__chrome_real(prof__out *o, uint64_t bits) {
    double x = prof__real_value(bits);
    char text[40] = "null";
    bool same = !(x - x <= 0);           /* it is none */
    for (int digits = 15; !same && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        same = !(strtod(text, NULL) < x) && !(strtod(text, NULL) > x);
    }
    for (char *p = text; *p; p++)
        if (!strchr("0123456789+-enul", *p)) *p = '.';
    prof__out_f(o, ",\"args\":{\"value\":%s}}", text);
}
#endif

/* value: NULL: an instant; real: it is a double's bits. */
PROF__FN void prof__chrome_put_moment(prof__out *o, const prof__place *place, const char *name,
                                      int64_t ns, const int64_t *value, bool real) {
    prof__out_f(o, value
        ? ",\n{\"ph\":\"C\",\"name\":\"%j\","
        : ",\n{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"%j\",", name);
    prof__chrome_where(o, place, ns);
    if (!value) prof__out_text(o, "}");
    else if (!PROF__BARE && real) prof__chrome_real(o, (uint64_t)*value);
    else prof__out_f(o, ",\"args\":{\"value\":%i}}", *value);
}

PROF__FN void prof__chrome_moment(prof__out *o, prof__place *place, const struct prof_trace *s,
                                  const prof__moment *m) {
    if (m->kind >= PROF__MOMENT_FLOW) return;
    if (place->thread != m->thread)
        prof__chrome_place(place, s, m->thread, prof__chrome_tid(s, m->thread));
    prof__chrome_put_moment(o, place, prof__site(m->site)->name, m->ns,
                            m->kind == PROF__MOMENT ? NULL : &m->value,
                            m->kind == PROF__MOMENT_REAL);
}

/* Not rare: what always calls it would be, and all of a trace's zones with it. */
PROF__APART(void) prof__chrome_meta(prof__out *o, const char *name, int64_t pid, uint64_t tid,
                                const char *key) {
    prof__out_f(o, "{\"ph\":\"M\",\"name\":\"%s\",\"ts\":0.000,\"pid\":%i,\"tid\":%u,"
                   "\"args\":{\"%s\":", name, pid, tid, key);
}

PROF__FN void prof__chrome_process(prof__out *o, const struct prof_trace *s) {
    prof__chrome_meta(o, "process_labels", prof__chrome_pid(s), 0, "labels");
    prof__out_text(o, "\"CPU\"}}");
}

PROF__FN void prof__chrome_thread(prof__out *o, uint32_t pid, uint64_t tid, const char *name,
                                  uint32_t place) {
    prof__out_text(o, ",\n");
    prof__chrome_meta(o, "thread_name", pid, tid, "name");
    prof__out_f(o, name ? "\"thread %u (%j)\"}},\n" : "\"thread %u\"}},\n", tid, name);
    prof__chrome_meta(o, "thread_sort_index", pid, tid, "sort_index");
    prof__out_f(o, "%u}}", (uint64_t)place);
}

/* What profiling a device costs: no thread of the program, but a process of its own. */
PROF__FN bool prof__is_overhead_row(const prof_thread_info *t) {
    size_t n = t->id || !t->name ? 0 : strlen(t->name);
    return n > 9 && memcmp(t->name + n - 9, " Overhead", 9) == 0;
}

PROF__FN void prof__chrome_threads(prof__out *o, const struct prof_trace *s) {
    prof__chrome_process(o, s);
    for (uint32_t i = 0; i < s->thread_count; i++)
        if (PROF__BARE || !prof__is_overhead_row(s->threads + i))
            prof__chrome_thread(o, prof__chrome_pid(s), prof__chrome_tid(s, i), s->threads[i].name,
                                i);
}

/* ---- events with more to tell: device work, its calls, and the arrows between them ---- */

#if PROF__BARE
#  define prof__chrome_status(o, s) ((void)(o), (void)(s))
#  define prof__chrome_devices(o, s) ((void)(o), (void)(s))

PROF__FN void prof__chrome_events(prof__out *o, const struct prof_trace *s) {
    prof__place place = { PROF_NONE, 0, "" };
    prof__chrome_threads(o, s);
    for (uint32_t i = 0; i < s->event_count && !o->failed; i++)
        prof__chrome_event(o, &place, s, s->events + i);
}
#else
/* A stream of a device: a row of the trace. type: number of the device's, as the view has them. */
typedef struct prof__stream { int32_t device; uint32_t type; int64_t id; } prof__stream;

/* What an annotation launched on a stream, from the first to the last. */
typedef struct prof__cover {
    uint32_t event, stream;
    int64_t start_ns, end_ns;
} prof__cover;

/* In the scratch memory: 66 bytes for each call and device event; PROF__GROUP_SHARE is there. */
typedef struct prof__gpu {
    const struct prof_trace *s;
    uint32_t places;                     /* of each index: 2 for each such event */
    uint32_t *calls, *stream_index, *cover_index;   /* number + 1; 0: free */
    uint8_t *launched;                   /* per place of calls: something came of the call */
    prof__stream *streams;
    prof__cover *covers;
    uint32_t stream_count, cover_count;
    uint32_t pid;
    prof__stream want;                   /* what is looked for */
    uint32_t want_event, want_stream;
    int64_t want_id;
} prof__gpu;

PROF__FN bool prof__gpu_same_call(const void *context, uint32_t number) {
    const prof__gpu *g = (const prof__gpu *)context;
    return g->s->events[number].extra->id == g->want_id;
}
PROF__FN bool prof__gpu_same_stream(const void *context, uint32_t number) {
    const prof__gpu *g = (const prof__gpu *)context;
    return g->streams[number].device == g->want.device && g->streams[number].id == g->want.id;
}
PROF__FN bool prof__gpu_same_cover(const void *context, uint32_t number) {
    const prof__gpu *g = (const prof__gpu *)context;
    return g->covers[number].event == g->want_event && g->covers[number].stream == g->want_stream;
}

/* The place of the call with this id. */
PROF__FN uint32_t *prof__gpu_call(prof__gpu *g, int64_t id) {
    g->want_id = id;
    return prof__place_of(g->calls, g->places, (uint64_t)id, prof__gpu_same_call, g);
}

PROF__FN bool prof__is_call(const prof_event *e) {
    return prof__has(e) & PROF_HAS_ID && prof__in_tree(e) && prof__is_launch(e);
}

PROF__FN bool prof__is_gpu(const prof_event *e) {
    return e->extra && (e->device_type != PROF_DEVICE_CPU || prof__is_call(e));
}

PROF__FN bool prof__is_annotation(const prof_event *e) {
    return (e->flags & PROF_EVENT_USER_ANNOTATION) != 0;
}

/* ProfilerStep#1, which tables call ProfilerStep*. */
PROF__FN const char *prof__chrome_name(const prof_event *e) {
    const char *name = e->extra ? e->extra->trace_name : NULL;
    return name && *name ? name : e->name;
}

/* Devices of other types than the first have numbers that no process and no GPU has. */
#define PROF__OTHER_PIDS (1u << 24)

PROF__FN prof__stream prof__stream_of(const struct prof_trace *s, const prof_event *e) {
    prof__stream at = { prof__device_index(e), 0, 0 };
    if (!s->built) at.type = prof__device_number(s, e->device_type);
    at.device = (int32_t)((uint32_t)at.device + at.type * PROF__OTHER_PIDS);
    if (e->extra) at.id = e->extra->device_resource_id;
    if (at.id < 0) at.id = at.id == INT64_MIN ? 0 : -at.id;
    return at;
}

PROF__FN uint32_t prof__gpu_stream(prof__gpu *g, const prof_event *e) {
    uint32_t *place;
    g->want = prof__stream_of(g->s, e);
    place = prof__place_of(g->stream_index, g->places,
                           (uint64_t)(uint32_t)g->want.device << 40 ^ (uint64_t)g->want.id,
                           prof__gpu_same_stream, g);
    if (!*place) {
        g->streams[g->stream_count++] = g->want;
        *place = g->stream_count;
    }
    return *place - 1;
}

/* Extends what annotation `event` covers on the stream by e. */
PROF__FN void prof__gpu_cover(prof__gpu *g, uint32_t event, uint32_t stream, const prof_event *e) {
    uint32_t *place;
    prof__cover *c;
    g->want_event = event;
    g->want_stream = stream;
    place = prof__place_of(g->cover_index, g->places, (uint64_t)event << 32 | stream,
                           prof__gpu_same_cover, g);
    if (!*place) {
        if (g->cover_count == g->places / 2) return;
        c = g->covers + g->cover_count++;
        c->event = event;
        c->stream = stream;
        c->start_ns = e->start_ns;
        c->end_ns = e->end_ns;
        *place = g->cover_count;
    }
    c = g->covers + *place - 1;
    c->start_ns = PROF__MIN(c->start_ns, e->start_ns);
    c->end_ns = PROF__MAX(c->end_ns, e->end_ns);
}

PROF__FN void prof__gpu_work(prof__gpu *g, const prof_event *e) {
    uint32_t stream = prof__gpu_stream(g, e), *place, i;
    if (!prof__link_of(e)) return;
    place = prof__gpu_call(g, prof__link_of(e));
    if (!*place) return;
    g->launched[place - g->calls] = 1;
    for (i = *place - 1; i != PROF_NONE; i = g->s->events[i].parent)
        if (prof__is_annotation(g->s->events + i)) prof__gpu_cover(g, i, stream, e);
}

/* Finds calls, streams and covers. No event has an extra: places is 0. */
PROF__FN void prof__gpu_open(prof__gpu *g, const struct prof_trace *s) {
    char *p = s->scratch;
    uint32_t n = 0;
    memset(g, 0, sizeof *g);
    g->s = s;
    g->pid = prof__chrome_pid(s);
    for (uint32_t i = 0; s->side && i < s->event_count; i++) n += prof__is_gpu(s->events + i);
    if (!n) return;
    g->places = 2 * n;
    g->streams = (prof__stream *)(void *)p;
    g->covers = (prof__cover *)(void *)(g->streams + n);
    g->calls = (uint32_t *)(void *)(g->covers + n);
    g->stream_index = g->calls + g->places;
    g->cover_index = g->stream_index + g->places;
    g->launched = (uint8_t *)(g->cover_index + g->places);
    memset(g->calls, 0, g->places * (3 * sizeof *g->calls + 1));
    for (uint32_t i = 0; i < s->event_count; i++) {
        uint32_t *place = prof__is_call(s->events + i) ? prof__gpu_call(g, s->events[i].extra->id)
                                                       : NULL;
        if (place && !*place) *place = i + 1;
    }
    for (uint32_t i = 0; i < s->event_count; i++)
        if (s->events[i].extra && s->events[i].device_type != PROF_DEVICE_CPU)
            prof__gpu_work(g, s->events + i);
}

/* `"pid":1,"tid":2,"ts":3.000` */
PROF__FN void prof__chrome_at(prof__out *o, prof__stream at, int64_t ns) {
    prof__out_f(o, "\"pid\":%i,\"tid\":%i,\"ts\":%t", (int64_t)at.device, at.id, ns);
}

PROF__FN bool prof__is_overhead(const prof_event *e) {
    const char *type = e->extra ? e->extra->activity_type : NULL;
    return type && strcmp(type, "overhead") == 0;
}

/* The row that an event stands in. */
PROF__FN prof__stream prof__chrome_row(const prof__gpu *g, const prof_event *e) {
    prof__stream at = { 0, 0, 0 };
    if (e->device_type != PROF_DEVICE_CPU) return prof__stream_of(g->s, e);
    at.device = (int32_t)g->pid;
    at.id = (int64_t)prof__chrome_tid(g->s, e->thread);
    if (prof__is_overhead(e)) {
        at.device = -1;
        at.id = 0;
    }
    return at;
}

PROF__FN const char *prof__chrome_category(const prof_event *e) {
    if (e->extra && e->extra->activity_type) return e->extra->activity_type;
    if (e->device_type != PROF_DEVICE_CPU) return "kernel";
    return prof__is_annotation(e) ? "user_annotation" : "cpu_op";
}

/* Is it a node of an execution trace, which PyTorch calls a record function? */
PROF__FN bool prof__is_node(const prof_event *e) {
    const char *type = e->extra ? e->extra->activity_type : NULL;
    if (e->device_type != PROF_DEVICE_CPU) return false;
    if (e->extra && e->extra == prof__details_now.unnamed) return false;   /* memory */
    return !type || strcmp(type, "cpu_op") == 0 || strcmp(type, "user_annotation") == 0;
}

PROF__FN uint64_t prof__record_id(const struct prof_trace *s, const prof_event *e) {
    return s->first_record + (uint64_t)(e - s->events) + 1;
}

/* `"key":` behind a comma, or behind the brace that opens the arguments. */
PROF__FN void prof__chrome_key(prof__out *o, const char **before, const char *key) {
    prof__out_f(o, "%s\"%s\":", *before, key);
    *before = ",";
}

PROF__FN void prof__chrome_number(prof__out *o, const char **before, const char *key, int64_t n) {
    prof__chrome_key(o, before, key);
    prof__out_i64(o, n);
}

PROF__FN void prof__chrome_texts(prof__out *o, const char *const *texts, uint32_t count) {
    prof__out_text(o, "[");
    for (uint32_t i = 0; i < count; i++)
        prof__out_f(o, i ? ",\"%j\"" : "\"%j\"", prof__text(texts[i]));
    prof__out_text(o, "]");
}

PROF__FN void prof__chrome_string(prof__out *o, const char **before, const char *key,
                                  const char *text) {
    if (!text || !*text) return;
    prof__chrome_key(o, before, key);
    prof__out_f(o, "\"%j\"", text);
}

/* JSON as it is, if it is that. */
PROF__FN void prof__chrome_json(prof__out *o, const char **before, const char *key,
                                const char *json) {
    if (!json || !*json) return;
    if (prof__json_check(json)) {
        prof__chrome_string(o, before, key, json);
        return;
    }
    prof__chrome_key(o, before, key);
    prof__out_text(o, json);
}

PROF__FN void prof__chrome_inputs(prof__out *o, const prof_extra *x, const char **before) {
    if (x->concrete_inputs) {
        prof__chrome_key(o, before, "Concrete Inputs");
        prof__chrome_texts(o, x->concrete_inputs, x->input_count);
    }
    prof__chrome_json(o, before, "kwinputs", x->kwinputs);
    if (x->dtypes) {
        prof__chrome_key(o, before, "Input type");
        prof__chrome_texts(o, x->dtypes, x->input_count);
    }
    if (x->strides) {
        prof__chrome_key(o, before, "Input Strides");
        prof__put_shapes(o, x->strides, x->input_count, ",");
    }
    if (x->input_shapes) {
        prof__chrome_key(o, before, "Input Dims");
        prof__put_shapes(o, x->input_shapes, x->input_count, ",");
    }
}

/* What a zone carries, in the order in which Kineto writes it. */
PROF__FN void prof__chrome_carried(prof__out *o, const prof_extra *x, const char **before) {
    prof__chrome_inputs(o, x, before);
    prof__chrome_string(o, before, "Overload Name", x->overload_name);
    if (x->stack_count) {
        prof__chrome_key(o, before, "Call stack");
        for (uint32_t i = 0; i < x->stack_count; i++)     /* innermost first, as in PyTorch */
            prof__out_f(o, i ? ";%j" : "\"%j", prof__text(x->stack[i]));
        prof__out_text(o, "\"");
    }
    prof__chrome_string(o, before, "Module Hierarchy", x->module_hierarchy);
    prof__chrome_string(o, before, "Backend", x->backend);
    if (x->has & PROF_HAS_SEQUENCE_NR && x->sequence_nr >= 0) {
        prof__chrome_number(o, before, "Sequence number", x->sequence_nr);
        prof__chrome_key(o, before, "Fwd thread id");
        prof__out_u64(o, x->has & PROF_HAS_FWD_THREAD ? x->fwd_thread : 0);
    }
    if (x->flops) prof__chrome_number(o, before, "Flops", x->flops);
    if (x->has & PROF_HAS_NODE_ID) prof__chrome_number(o, before, "Node ID", x->node_id);
    for (uint32_t i = 0; i < x->counter_count && i < prof__counting.count; i++)
        prof__chrome_number(o, before, prof__counting.names[i], x->counters[i]);
}

/* Members as they are; from outside they may be none, and show as text. */
PROF__FN void prof__chrome_members(prof__out *o, const char **before, const prof_event *e) {
    const char *json = e->extra->metadata_json;
    if (e->flags & PROF_EVENT_SUBMITTED && !prof__json_members(json)) {
        prof__chrome_string(o, before, "metadata_json", json);
        return;
    }
    prof__out_f(o, "%s%s", *before, json);
    *before = ",";
}

/* The parent, where times do not tell it, and a name for those that such events have. */
PROF__FN void prof__chrome_told(prof__out *o, const char **before, uint32_t parent) {
    prof__chrome_number(o, before, "Zone parent id",
                        parent == PROF_NONE ? 0 : (int64_t)parent + 1);
}

PROF__FN void prof__chrome_tree(prof__out *o, const struct prof_trace *s, const char **before,
                                const prof_event *e) {
    uint32_t i = e->flags & (PROF__EVENT_NAMED | PROF__EVENT_TOLD) ? (uint32_t)(e - s->events) : 0;
    if (e->flags & PROF__EVENT_NAMED)
        prof__chrome_number(o, before, "Zone id", (int64_t)i + 1);
    if (e->flags & PROF__EVENT_TOLD)
        prof__chrome_told(o, before, e->device_type == PROF_DEVICE_CPU ? e->parent
                                                                       : prof__launcher_of(s, i));
}

/* ---- places: see prof_chrome_source ---- */

/* Of each static site: is it used in the trace that is being written; do its events tell their
   place; are there calls of its name without a place; has its name this place by another site too.
   Writers of sessions' traces take turns. */
enum { PROF__SOURCE_USED = 1, PROF__SOURCE_TOLD = 2, PROF__SOURCE_BESIDE = 4,
       PROF__SOURCE_AGAIN = 8 };
static struct prof__sources {
    bool told;                           /* some do */
    uint8_t flags[PROF_MAX_SITES + PROF__OWN_SITES + 1];
} prof__sources;

/* While used ones are found: how many with a place are not found yet. */
typedef struct prof__sources_left { uint32_t left; } prof__sources_left;

PROF__EAGER void prof__source_use(prof__sources_left *n, uint32_t site) {
    if (site >= sizeof prof__sources.flags || prof__sources.flags[site]) return;
    prof__sources.flags[site] = PROF__SOURCE_USED;
    n->left -= prof__site_placed(site) != NULL;
}

PROF__FN void prof__source_take(void *user, const prof__close *c) {
    prof__source_use((prof__sources_left *)user, c->what);
}

PROF__FN void prof__sources_used(const struct prof_trace *s) {
    prof__sources_left n = { 0 };
    for (uint32_t i = 1; i <= s->sites; i++) n.left += prof__site_placed(i) != NULL;
    for (uint32_t i = 0; s->analysed && n.left && i < s->event_count; i++)
        prof__source_use(&n, s->events[i].site);
    if (!s->analysed && prof__lean(s)) {
        prof__feed feed;
        memset(&feed, 0, sizeof feed);
        feed.take = prof__source_take;
        feed.user = &n;
        prof__closes_of_records(&feed);
    }
    for (const prof__state *t = prof__used(NULL); t; t = prof__used(t))
        for (const prof__tally *r = t->tallies.others; r; r = r->next)
            if (r->count) prof__source_use(&n, r->site >> 8);
}

PROF__FN bool prof__source_same(const void *name, uint32_t number) {
    return strcmp(prof__sites[number + 1].name, (const char *)name) == 0;
}

/* The place in the index of the first site of this name that is used and has a place. */
PROF__FN uint32_t *prof__source_first(uint32_t *index, uint32_t places, const char *name) {
    size_t length;
    return prof__place_of(index, places, prof__hash(name, &length), prof__source_same, name);
}

PROF__FN bool prof__source_is(uint32_t site, uint8_t flag) {
    return site < sizeof prof__sources.flags && prof__sources.flags[site] & flag;
}

/* Finds the names that have several places. */
PROF__FN void prof__sources_join(const struct prof_trace *s) {
    uint32_t *index = (uint32_t *)(void *)s->scratch, places = 2 * s->sites + 1, *first;
    uint8_t *flags = prof__sources.flags;
    if ((size_t)(prof__scratch_end(s) - s->scratch) < places * sizeof *index) return;
    memset(index, 0, places * sizeof *index);
    for (uint32_t i = 1; i <= s->sites; i++) {
        const prof_site *site = flags[i] ? prof__site_placed(i) : NULL;
        if (!site) continue;
        first = prof__source_first(index, places, site->name);
        if (!*first) *first = i;
        else if (!prof__same_place(site, prof__site(*first))) flags[*first] |= PROF__SOURCE_TOLD;
        else flags[i] |= PROF__SOURCE_AGAIN;
    }
    for (uint32_t i = 1; i <= s->sites + prof__names.count; i++) {
        bool made = i > s->sites;
        if (!made && (!flags[i] || prof__site_placed(i))) continue;
        first = prof__source_first(index, places, made
            ? prof__names.list[i - s->sites - 1]->site.name : prof__sites[i].name);
        if (*first) flags[*first] |= PROF__SOURCE_TOLD | PROF__SOURCE_BESIDE;
    }
    for (uint32_t i = 0; prof__others(s) && i < s->event_count; i++) {
        if (s->events[i].site || s->events[i].device_type != PROF_DEVICE_CPU) continue;
        first = prof__source_first(index, places, s->events[i].name);
        if (*first) flags[*first] |= PROF__SOURCE_TOLD | PROF__SOURCE_BESIDE;
    }
    for (uint32_t i = 1; i <= s->sites; i++) {
        if (!flags[i]) continue;
        first = prof__source_first(index, places, prof__sites[i].name);
        if (*first) flags[i] |= flags[*first] & PROF__SOURCE_TOLD;
        prof__sources.told |= (flags[i] & PROF__SOURCE_TOLD) != 0;
    }
}

/* What the events and the head of this trace are to tell. */
PROF__FN void prof__sources_find(const struct prof_trace *s, prof_chrome_source source) {
    if (s->built) return;
    memset(&prof__sources, 0, sizeof prof__sources);
    if (source == PROF_CHROME_SOURCE_NONE) return;
    prof__sources_used(s);
    prof__sources_join(s);
    if (source == PROF_CHROME_SOURCE_AUTO) return;
    prof__sources.told = true;
    for (uint32_t i = 1; i <= s->sites; i++)
        if (prof__sources.flags[i]) prof__sources.flags[i] |= PROF__SOURCE_TOLD;
}

/* The place that an event is to tell; NULL: none. */
PROF__FN const prof_site *prof__source_told(const struct prof_trace *s, uint32_t site) {
    bool told = !s->built && prof__sources.told && prof__source_is(site, PROF__SOURCE_TOLD);
    return told ? prof__site_placed(site) : NULL;
}

PROF__FN void prof__chrome_source(prof__out *o, const char **before, const prof_site *site) {
    char source[PROF__SOURCE];
    if (site) prof__chrome_string(o, before, "source", prof__site_source(site, source));
}

/* "sites": see prof_write_chrome. */
PROF__FN void prof__chrome_sites(prof__out *o, const struct prof_trace *s) {
    const char *before = ",\"sites\":[";
    for (uint32_t i = 1; i <= s->sites; i++) {
        const prof_site *site = prof__site_placed(i);
        char source[PROF__SOURCE];
        if (!site || !prof__source_is(i, PROF__SOURCE_USED) ||
            prof__source_is(i, PROF__SOURCE_AGAIN)) continue;
        prof__out_f(o, "%s\n{\"name\":\"%j\",\"source\":\"%j\"}", before, site->name,
                    prof__site_source(site, source));
        before = ",";
        if (prof__source_is(i, PROF__SOURCE_BESIDE))
            prof__out_f(o, ",\n{\"name\":\"%j\",\"source\":\"\"}", site->name);
    }
    if (!before[1]) prof__out_text(o, "]");
}

PROF__FN void prof__chrome_args(prof__out *o, const struct prof_trace *s, const prof_event *e) {
    const prof_extra *x = e->extra;
    const char *before = ",\"args\":{";
    if (x && x->external_id) prof__chrome_number(o, &before, "External id", x->external_id);
    if (x) prof__chrome_carried(o, x, &before);
    if (s->record_ids && prof__is_node(e)) {
        prof__chrome_key(o, &before, "Record function id");
        prof__out_u64(o, prof__record_id(s, e));
    }
    if (x && (x->has & PROF_HAS_KEPT_TEXT || (!x->metadata_json && prof__is_gpu(e) &&
                                          x->has & (PROF_HAS_ID | PROF_HAS_LINK))))
        prof__chrome_number(o, &before, "correlation",
                            x->has & PROF_HAS_ID ? x->id : x->linked_correlation_id);
    if (x && x->metadata_json && *x->metadata_json) prof__chrome_members(o, &before, e);
    prof__chrome_source(o, &before, prof__source_told(s, e->site));
    if (e->flags & PROF_EVENT_UNFINISHED) {
        prof__chrome_key(o, &before, "finished");
        prof__out_text(o, "false");
    } else if (e->flags & PROF_EVENT_PARTIAL) {
        prof__chrome_key(o, &before, "partial");
        prof__out_text(o, "true");
    }
    if (e->device_type > PROF_DEVICE_CUDA)
        prof__chrome_number(o, &before, "Device Type", e->device_type);
    prof__chrome_tree(o, s, &before, e);
    prof__out_text(o, *before == ',' && !before[1] ? "}}" : "}");
}

/* The arrow from a call to what it launched; only where both ends are there. */
PROF__FN void prof__chrome_flow(prof__out *o, prof__gpu *g, const prof_event *e) {
    bool from = prof__is_call(e);
    int64_t id = from ? e->extra->id : prof__link_of(e);
    uint32_t *place;
    if (!g->places || !id || (!from && e->device_type == PROF_DEVICE_CPU)) return;
    place = prof__gpu_call(g, id);
    if (!*place || !g->launched[place - g->calls]) return;
    if (from && g->s->events + *place - 1 != e) return;
    prof__out_f(o, ",\n{\"ph\":\"%s\",\"id\":%i,", from ? "s" : "f", id);
    prof__chrome_at(o, prof__chrome_row(g, e), e->start_ns);
    prof__out_f(o, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"%s}", from ? "" : ",\"bp\":\"e\"");
}

PROF__FN void prof__chrome_rich(prof__out *o, prof__gpu *g, const prof_event *e) {
    const char *type = prof__chrome_category(e), *overload = prof__overload(e);
    bool instant = strcmp(type, "cpu_instant_event") == 0;
    prof__out_f(o, ",\n{\"ph\":\"%s,\"cat\":\"%j\",\"name\":\"%j%s%j\",",
                instant ? "i\",\"s\":\"t\"" : "X\"", type, prof__chrome_name(e),
                *overload ? "." : "", overload);   /* "aten::add.Tensor", as PyTorch has it */
    prof__chrome_at(o, prof__chrome_row(g, e), e->start_ns);
    if (!instant) prof__out_f(o, ",\"dur\":%t", prof__elapsed(e));
    prof__chrome_args(o, g->s, e);
    prof__chrome_flow(o, g, e);
}

/* Annotations on the rows of the streams, 1 ns wider than what they launched. */
PROF__FN void prof__chrome_covers(prof__out *o, const prof__gpu *g) {
    for (uint32_t i = 0; i < g->cover_count && !o->failed; i++) {
        const prof__cover *c = g->covers + i;
        prof__out_f(o, ",\n{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"%j\",",
                    prof__chrome_name(g->s->events + c->event));
        prof__chrome_at(o, g->streams[c->stream], c->start_ns - (c->start_ns > INT64_MIN));
        prof__out_f(o, ",\"dur\":%t,\"args\":{\"cover\":true}}",   /* drawn, no event */
                    PROF__PLUS(PROF__MINUS(c->end_ns, c->start_ns), 2));
    }
}

/* What the system calls the program. */
PROF__FN void prof__process_name(char *name, size_t size) {
#if defined(__linux__)
    FILE *file = prof__trace.clock == PROF_CLOCK_PLATFORM ? NULL : fopen("/proc/self/comm", "r");
    bool there = file && fgets(name, (int)size, file);
    if (file) fclose(file);
    name[there ? strcspn(name, "\n") : 0] = 0;
    if (there) return;
#endif
    (void)size;
    memcpy(name, "program", sizeof "program");
}

PROF__FN void prof__chrome_process_named(prof__out *o, int64_t pid, const char *name,
                                         int64_t sort_index) {
    prof__out_text(o, ",\n");
    prof__chrome_meta(o, "process_name", pid, 0, "name");
    prof__out_f(o, "\"%j\"}},\n", name);
    prof__chrome_meta(o, "process_sort_index", pid, 0, "sort_index");
    prof__out_f(o, "%i}}", sort_index);
}

/* What tables call type i of the devices. */
PROF__FN const char *prof__device_head(const struct prof_trace *s, uint32_t i, char text[64]) {
    const char *name = i ? s->view.other_devices[i - 1] : s->view.device_name;
    size_t n = 0;
    for (; name && name[n] && n < 63; n++) text[n] = prof__upper(name[n]);
    text[n] = 0;
    return text;
}

/* How its rows are labelled: as PyTorch has it, but by its name where that is one of its own, or
   there are several types. */
PROF__FN const char *prof__device_label(const struct prof_trace *s, uint32_t i, char text[64]) {
    const char *usual = prof_device_name(s->device_types[i]), *c = text;
    bool several = s->device_types[1];
    if (s->built || !*prof__device_head(s, i, text)) return "GPU";
    while (*c && *c == prof__upper(*usual)) c++, usual++;
    return several || *c || *usual ? text : "GPU";
}

/* What the types of devices are called, for those who read the trace. */
PROF__FN void prof__chrome_device_types(prof__out *o, const struct prof_trace *s) {
    const char *before = ",\"device_types\":{";
    char text[64];
    for (uint32_t i = 0; i <= PROF_OTHER_DEVICES && s->device_types[i]; i++) {
        prof__out_f(o, "%s\"%u\":\"%j\"", before, (uint64_t)s->device_types[i],
                    prof__device_head(s, i, text));
        before = ",";
    }
    if (!before[1]) prof__out_text(o, "}");
}

/* A GPU is a process, its streams are threads; so is what profiling it costs. */
PROF__FN void prof__chrome_streams(prof__out *o, const prof__gpu *g) {
    char program[64], text[64];
    if (g->stream_count) {
        prof__process_name(program, sizeof program);
        prof__chrome_process_named(o, (int64_t)g->pid, program, (int64_t)g->pid);
    }
    for (uint32_t i = 0; i < g->s->thread_count; i++)
        if (prof__is_overhead_row(g->s->threads + i))
            prof__chrome_process_named(o, -1, g->s->threads[i].name, 0x100000);
    for (uint32_t i = 0; i < g->stream_count; i++) {
        prof__stream at = g->streams[i];
        uint32_t first = 0;
        while (g->streams[first].device != at.device) first++;
        if (first == i) {
            const char *label = prof__device_label(g->s, at.type, text);
            prof__out_text(o, ",\n");
            prof__chrome_meta(o, "process_labels", at.device, 0, "labels");
            prof__out_f(o, "\"%j %i\"}}", label,
                        (int64_t)at.device - (int64_t)at.type * PROF__OTHER_PIDS);
            prof__chrome_process_named(o, at.device, program, 5000000 + (int64_t)at.device);
        }
        prof__out_text(o, ",\n");
        prof__chrome_meta(o, "thread_name", at.device, (uint64_t)at.id, "name");
        if (at.id < PROF_ROW_SYNC - 1) prof__out_f(o, "\"stream %i \"}},\n", at.id);
        else if (at.id < PROF_ROW_SYNC) prof__out_text(o, "\"waits\"}},\n");
        else prof__out_f(o, "\"stream %i (sync)\"}},\n", at.id - PROF_ROW_SYNC);
        prof__chrome_meta(o, "thread_sort_index", at.device, (uint64_t)at.id, "sort_index");
        prof__out_f(o, "%i}}", at.id);
    }
}

/* What the devices say of themselves. */
PROF__FN void prof__chrome_devices(prof__out *o, const struct prof_trace *s) {
    size_t room = s->built ? 0 : (size_t)(prof__scratch_end(s) - s->scratch);
    for (uint32_t i = 0; i < prof__device_count && !s->built; i++) {
        const prof_device_desc *d = &prof__devices[i].desc;
        size_t n = prof__session.activities & d->activity && d->metadata
            ? d->metadata(d->user, s->scratch, room) : 0;
        if (n && n < room) prof__out_f(o, ",\n%b", s->scratch, n);
    }
}

PROF__FN void prof__chrome_status(prof__out *o, const struct prof_trace *s) {
    const char *before = ",\"devices\":{";
    for (uint32_t i = 0; i < prof__device_count; i++) {
        const char *status = prof__device_status(s, i);
        if (!status) continue;
        prof__out_f(o, "%s\"%j\":\"%j\"", before, prof__devices[i].desc.name, status);
        before = ",";
    }
    if (!before[1]) prof__out_text(o, "}");
}

/* ---- arrows from forward to backward zones ---- */

/* A backward event, by its sequence number and its forward's thread; forward: the last that began.
   */
typedef struct prof__pair {
    const struct prof_trace *s;
    uint32_t *index, *forward, *backward, places, count;
    int64_t sequence_nr;                 /* what is looked for */
    uint64_t thread;
} prof__pair;

PROF__FN bool prof__pair_same(const void *context, uint32_t number) {
    const prof__pair *p = (const prof__pair *)context;
    const prof_extra *x = p->s->events[p->backward[number]].extra;
    return x->sequence_nr == p->sequence_nr && x->fwd_thread == p->thread;
}

PROF__FN bool prof__has_sequence(const prof_event *e) {
    return prof__has(e) & PROF_HAS_SEQUENCE_NR && e->extra->sequence_nr >= 0 && prof__in_tree(e);
}

PROF__FN bool prof__asks_forward(const prof_event *e) {
    return prof__has_sequence(e) && e->extra->has & PROF_HAS_FWD_THREAD && e->extra->fwd_thread;
}

PROF__FN uint32_t *prof__pair_place(prof__pair *p, int64_t sequence_nr, uint64_t thread) {
    p->sequence_nr = sequence_nr;
    p->thread = thread;
    return prof__place_of(p->index, p->places, (uint64_t)sequence_nr * 0x9e3779b1u ^ thread,
                          prof__pair_same, p);
}

/* scratch: 16 bytes a backward event. */
PROF__FN void prof__pairs_open(prof__pair *p, const struct prof_trace *s) {
    uint32_t n = 0;
    memset(p, 0, sizeof *p);
    for (uint32_t i = 0; i < s->event_count; i++) n += prof__asks_forward(s->events + i);
    if (!n) return;
    p->s = s;
    p->places = 2 * n;
    p->index = (uint32_t *)(void *)s->scratch;
    p->forward = p->index + p->places;
    p->backward = p->forward + n;
    memset(p->index, 0, p->places * sizeof *p->index);
    for (uint32_t i = 0; i < s->event_count; i++) {
        const prof_event *e = s->events + i;
        uint32_t *place;
        if (!prof__asks_forward(e)) continue;
        place = prof__pair_place(p, e->extra->sequence_nr, e->extra->fwd_thread);
        if (*place) continue;
        p->forward[p->count] = PROF_NONE;
        p->backward[p->count] = i;
        *place = ++p->count;
    }
    for (uint32_t i = 0; i < s->event_count; i++) {
        const prof_event *e = s->events + i;
        uint32_t *place;
        if (!prof__has_sequence(e) || prof__asks_forward(e)) continue;
        place = prof__pair_place(p, e->extra->sequence_nr, s->threads[e->thread].id);
        if (*place && e->start_ns <= s->events[p->backward[*place - 1]].start_ns)
            p->forward[*place - 1] = i;
    }
}

PROF__FN void prof__chrome_arrow(prof__out *o, const prof__gpu *g, const char *name,
                                 uint64_t id, const prof_event *e, bool end) {
    prof__out_f(o, ",\n{\"ph\":\"%s\",\"id\":%u,", end ? "f" : "s", id);
    prof__chrome_at(o, prof__chrome_row(g, e), e->start_ns);
    prof__out_f(o, ",\"cat\":\"%s\",\"name\":\"%s\"%s}", name, name, end ? ",\"bp\":\"e\"" : "");
}

PROF__FN void prof__chrome_pairs(prof__out *o, const prof__gpu *g) {
    const struct prof_trace *s = g->s;
    prof__pair p;
    uint64_t id = 0;
    prof__pairs_open(&p, s);
    for (uint32_t i = 0; i < p.count && !o->failed; i++) {
        if (p.forward[i] == PROF_NONE) continue;
        prof__chrome_arrow(o, g, "fwdbwd", ++id, s->events + p.forward[i], false);
        prof__chrome_arrow(o, g, "fwdbwd", id, s->events + p.backward[i], true);
    }
}

/* ---- what times do not tell ----
   Who reads the trace nests its events by time, as PyTorch does: the parent is the innermost event
   of the thread that holds it, and what has ended holds nothing. Where a clock is coarse, a zone
   lies across steps, or memory changes at a border, that is not the tree there was: such an event
   tells its parent, by "Zone parent id" (0: none). Readers go on from what is told. */

PROF__FN bool prof__tell(const struct prof_trace *s, uint32_t parent, uint32_t guess) {
    if (parent == guess) return false;
    if (parent != PROF_NONE) s->events[parent].flags |= PROF__EVENT_NAMED;
    return true;
}

/* The zone that has it; PROF_NONE: none, though it may have an event of its own. */
PROF__FN uint32_t prof__memory_zone(const struct prof_trace *s, const prof__memory *m) {
    bool own = m->event != PROF_NONE && s->events[m->event].extra == prof__details_now.unnamed;
    return own ? PROF_NONE : m->event;
}

PROF__FN bool prof__tell_memory(const struct prof_trace *s, uint32_t *top, prof__memory *m) {
    bool told = prof__tell(s, prof__memory_zone(s, m), prof__innermost(s, top + m->thread, m->ns));
    m->category = (uint8_t)((m->category & 7) | (told ? PROF__MEMORY_TOLD : 0));
    return told;
}

/* By correlation ids readers find the call, and so what launched the work. */
PROF__FN bool prof__tells_launch(const prof_event *e) {
    const char *json = e->extra ? e->extra->metadata_json : NULL;
    return e->extra && (e->extra->has & PROF_HAS_KEPT_TEXT ||
                        (json && strstr(json, "\"correlation\"") != NULL));
}

PROF__FN bool prof__tell_work(const struct prof_trace *s, uint32_t i) {
    const prof_event *e = s->events + i;
    uint32_t from = prof__launcher_of(s, i);
    if (prof__tells_launch(e)) return false;
    if (from == PROF_NONE) return e->extra && e->extra->external_id;
    return prof__tell(s, from, PROF_NONE);
}

PROF__FN bool prof__tell_zone(const struct prof_trace *s, uint32_t top, const prof_event *e) {
    prof_nest n = prof__nest_of(s);
    return prof__tell(s, e->parent, prof__spans_around(&n, top, e->start_ns, e->end_ns));
}

/* Marks zones and memory that have to tell their parent, and the parents; is there any? */
PROF__FN bool prof__marks_zones(const struct prof_trace *s) {
    const uint16_t none = (uint16_t)~(PROF__EVENT_NAMED | PROF__EVENT_TOLD);
    uint32_t *top = (uint32_t *)(void *)s->scratch, at = 0, n = s->event_count;
    bool any = false;
    for (uint32_t i = 0; i <= s->thread_count; i++) top[i] = PROF_NONE;
    for (uint32_t i = 0; i <= n; i++) {
        prof_event *e = s->events + i;
        uint32_t *last;
        for (; at < s->memory_count && (i == n || s->memory[at].ns < e->start_ns); at++)
            any |= prof__tell_memory(s, top, s->memory + at);
        if (i == n) break;
        if (e->flags & (uint16_t)~none) e->flags &= none;    /* of an earlier time */
        if (!prof__is_zone(e)) continue;
        last = top + (prof__is_overhead(e) ? s->thread_count : e->thread);
        if (prof__tell_zone(s, *last, e)) {
            e->flags |= PROF__EVENT_TOLD;
            any = true;
        }
        *last = i;
    }
    return any;
}

/* The same of work on devices too. */
PROF__FN bool prof__marks_make(const struct prof_trace *s) {
    bool any;
    if (!s->instants && !prof__others(s) && !prof__side_of(s)) return false;   /* times tell it */
    any = prof__marks_zones(s);
    for (uint32_t i = 0; s->side && i < s->event_count; i++) {
        if (s->events[i].device_type == PROF_DEVICE_CPU || !prof__tell_work(s, i)) continue;
        s->events[i].flags |= PROF__EVENT_TOLD;
        any = true;
    }
    return any;
}

/* ---- memory, arrows and ranges ---- */

/* A change of memory at the place and time of m. missed: it counts for none, see below. */
PROF__FN void prof__chrome_change(prof__out *o, const prof__gpu *g, const prof__memory *m,
                                  const prof__memory *block, int64_t bytes, int64_t total,
                                  bool missed) {
    static const char *const kinds[] = { "", "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY",
                                         "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL" };
    bool out = m->what == PROF__NO_MEMORY;
    const char *before = ",";
    const prof__stream at = { (int32_t)g->pid, 0, (int64_t)prof__chrome_tid(g->s, m->thread) };
    prof__out_f(o, ",\n{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[%s]\",",
                out ? "OutOfMemory" : "memory");
    prof__chrome_at(o, at, m->ns);
    prof__out_f(o, ",\"args\":{\"Device Type\":%u,\"Device Id\":%i", (uint64_t)block->device_type,
                (int64_t)(block->device_type ? block->device_index : -1));
    if (!out) prof__out_f(o, ",\"Addr\":%u", block->address);
    prof__out_f(o, ",\"Bytes\":%i,\"Total Allocated\":%i,\"Total Reserved\":0", bytes, total);
    if (block->category & 7) prof__out_f(o, ",\"Category\":\"%s\"", kinds[block->category & 7]);
    if (m->category & PROF__MEMORY_TOLD) prof__chrome_told(o, &before, prof__memory_zone(g->s, m));
    prof__out_text(o, missed ? ",\"Missed\":true}}" : "}}");
}

/* Where an allocation still stood, its free comes first: it was missed, and is no event. */
PROF__FN void prof__chrome_memory(prof__out *o, const prof__gpu *g, const prof__memory *m) {
    const prof__memory *old = m->next ? g->s->memory + m->next - 1 : NULL;
    if (m->what == PROF__NOT_COUNTED) return;
    if (old)
        prof__chrome_change(o, g, m, old, PROF__MINUS(0, old->bytes),
                            PROF__MINUS(m->total, m->bytes), true);
    prof__chrome_change(o, g, m, m, m->bytes, m->total, false);
}

PROF__FN void prof__chrome_moment_flow(prof__out *o, const prof__gpu *g, const prof__moment *m) {
    prof_event e;
    if (m->kind != PROF__MOMENT_FLOW && m->kind != PROF__MOMENT_FLOW_END) return;
    memset(&e, 0, sizeof e);
    e.thread = m->thread;
    e.start_ns = m->ns;
    prof__chrome_arrow(o, g, "flow", (uint64_t)m->value, &e, m->kind == PROF__MOMENT_FLOW_END);
}

/* One end of a range. */
PROF__FN void prof__chrome_range(prof__out *o, const prof__gpu *g, const prof_event *e, bool end) {
    prof__out_f(o, ",\n{\"ph\":\"%s\",\"id\":%i,\"cat\":\"async\",\"name\":\"%j\",",
                end ? "e" : "b", e->extra->id, e->name);
    prof__chrome_at(o, prof__chrome_row(g, e), end ? e->end_ns : e->start_ns);
    prof__out_text(o, "}");
}

PROF__FN void prof__chrome_made(prof__out *o, const prof__gpu *g) {
    const struct prof_trace *s = g->s;
    for (uint32_t i = 0; i < s->memory_count && !o->failed; i++)
        prof__chrome_memory(o, g, s->memory + i);
    for (uint32_t i = 0; s->moments && i < s->moment_count && !o->failed; i++)
        prof__chrome_moment_flow(o, g, s->moments + i);
}

/* Is it a range of the recorder's, in a lane of its own? */
PROF__FN bool prof__is_range(const struct prof_trace *s, const prof_event *e) {
    return !s->built && e->flags & PROF_EVENT_ASYNC && prof__has(e) & PROF_HAS_ID && e->site;
}

/* The rows, and all events in them. */
PROF__FN void prof__chrome_events(prof__out *o, const struct prof_trace *s) {
    prof__place place = { PROF_NONE, 0, "" };
    const bool told = !s->built && prof__sources.told;
    prof__gpu gpu;
    prof__gpu_open(&gpu, s);
    prof__chrome_threads(o, s);
    prof__chrome_streams(o, &gpu);
    for (uint32_t i = 0; i < s->event_count && !o->failed; i++) {
        const prof_event *e = s->events + i;
        if (e->extra && e->extra == prof__details_now.unnamed) continue;   /* memory: see below */
        if (PROF__UNLIKELY(e->extra && prof__is_range(s, e))) {
            prof__chrome_range(o, &gpu, e, false);
            prof__chrome_range(o, &gpu, e, true);
        } else if (PROF__UNLIKELY(e->extra || e->device_type || s->record_ids ||
                                  e->flags & (PROF__EVENT_NAMED | PROF__EVENT_TOLD) ||
                                  (told && prof__source_told(s, e->site))))
            prof__chrome_rich(o, &gpu, e);
        else prof__chrome_event(o, &place, s, e);
    }
    prof__chrome_covers(o, &gpu);
    if (s->any_sequence) prof__chrome_pairs(o, &gpu);
    prof__chrome_made(o, &gpu);
}
#endif

/* What was dropped or mended. */
PROF__FN void prof__chrome_counts(prof__out *o, const struct prof_trace *s) {
    prof_stats stats = prof_trace_stats(s);
    for (size_t i = 0; i < PROF__NOTES; i++) {
        uint64_t count = prof__note_count(&stats, i);
        if (count) prof__out_f(o, ",\"%s\":%u", prof__notes[i].key, count);
    }
    if (!PROF__BARE && stats.warnings)
        prof__out_f(o, ",\"warnings\":%u", (uint64_t)stats.warnings);
}

#if !PROF__BARE
/* ---- metadata: `"key":value` of one entry after the other, each with a NUL ---- */

#ifndef PROF_METADATA_SIZE
#  define PROF_METADATA_SIZE 8192
#endif
static struct prof__metadata {
    char text[PROF_METADATA_SIZE];
    size_t used, preset;                 /* preset: bytes that stay for all sessions */
} prof__metadata;

/* The entry of this key in [from, to); NULL: none. */
PROF__FN char *prof__metadata_find(const char *entry, size_t key, size_t from, size_t to) {
    struct prof__metadata *m = &prof__metadata;
    for (; from < to; from += strlen(m->text + from) + 1)
        if (strncmp(m->text + from, entry, key) == 0) return m->text + from;
    return NULL;
}

PROF__FN void prof__metadata_remove(char *entry) {
    struct prof__metadata *m = &prof__metadata;
    size_t at = (size_t)(entry - m->text), size = strlen(entry) + 1;
    memmove(entry, entry + size, m->used - at - size);
    if (at < m->preset) m->preset -= size;
    m->used -= size;
}

/* entry is `"key":value`, key its first bytes. Under the lock. */
PROF__FN prof_result prof__metadata_put(const char *entry, size_t key, size_t size) {
    struct prof__metadata *m = &prof__metadata;
    bool preset = !prof__session.open;
    char *old = preset ? prof__metadata_find(entry, key, 0, m->preset)
                       : prof__metadata_find(entry, key, m->preset, m->used);
    size_t freed = old ? strlen(old) + 1 : 0;
    char *at;
    if (m->used - freed + size + 1 > sizeof m->text) return PROF_ERROR_MEMORY;
    if (old) prof__metadata_remove(old);
    at = m->text + (preset ? m->preset : m->used);
    memmove(at + size + 1, at, m->used - (size_t)(at - m->text));
    memcpy(at, entry, size);
    at[size] = 0;
    m->used += size + 1;
    if (preset) m->preset += size + 1;
    return PROF_OK;
}

typedef struct prof__entry { char text[PROF_METADATA_SIZE]; size_t size; } prof__entry;

PROF__FN bool prof__entry_write(void *user, const void *data, size_t size) {
    prof__entry *e = (prof__entry *)user;
    if (size > sizeof e->text - e->size) return false;
    memcpy(e->text + e->size, data, size);
    e->size += size;
    return true;
}

PROF__FN prof_result prof__metadata_add(const char *key, const char *value, bool json) {
    static prof__entry entry;            /* under the lock */
    prof_sink sink = { prof__entry_write, &entry };
    prof_result result;
    size_t length;
    prof__out o;
    prof__lock();
    entry.size = 0;
    prof__out_open(&o, sink);
    prof__out_f(&o, "\"%j\":", key);
    prof__out_flush(&o);
    length = entry.size;
    prof__out_f(&o, json ? "%s" : "\"%j\"", value);
    result = prof__out_close(&o) == PROF_OK ? prof__metadata_put(entry.text, length, entry.size)
                                            : PROF_ERROR_MEMORY;
    prof__unlock();
    return result;
}

PROF_API PROF__QUIET prof_result prof_add_metadata(const char *key, const char *text) {
    return key && text ? prof__metadata_add(key, text, false) : PROF_ERROR_INVALID;
}

PROF_API PROF__QUIET prof_result prof_add_metadata_f(const char *key, const char *format, ...) {
    char text[PROF__PRINTED];
    prof_result cut = PROF_OK, result;
    PROF__PRINT(text, format, cut = PROF_ERROR_MEMORY);
    if (cut) PROF__COUNT(prof__details_cut);
    result = prof_add_metadata(key, text);
    return result == PROF_OK ? cut : result;
}

/* "this is not JSON, at byte 17: a colon was expected" */
PROF__FN void prof__json_say(size_t at, const char *why) {
    (void)prof_format_text(prof__json_text_bad, sizeof prof__json_text_bad,
                           "this is not JSON, at byte %zu: %s", at, why);
}

PROF_API PROF__QUIET prof_result prof_add_metadata_json(const char *key, const char *json) {
    const char *why = NULL, *at;
    if (!key || !json) return PROF_ERROR_INVALID;
    at = prof__json_check_why(json, &why);
    if (!at) return prof__metadata_add(key, json, true);
    prof__json_say((size_t)(at - json), why);
    return PROF_ERROR_JSON;
}

PROF_API PROF__QUIET prof_result prof_set_distributed(const prof_distributed *info) {
    static prof__entry entry;
    prof_sink sink = { prof__entry_write, &entry };
    prof__out o;
    if (!info || !info->backend) return PROF_ERROR_INVALID;
    if (info->pg_config && prof__json_check(info->pg_config)) return PROF_ERROR_JSON;
    entry.size = 0;
    prof__out_open(&o, sink);
    prof__out_f(&o, "{\"backend\": \"%j\", \"rank\": %u, \"world_size\": %u, \"pg_count\": %u",
                info->backend, (uint64_t)info->rank, (uint64_t)info->world_size,
                (uint64_t)info->pg_count);
    if (info->pg_config) prof__out_f(&o, ", \"pg_config\": %s", info->pg_config);
    if (info->nccl_version) prof__out_f(&o, ", \"nccl_version\": \"%j\"", info->nccl_version);
    prof__out_bytes(&o, "}", 2);         /* with its NUL */
    if (prof__out_close(&o) != PROF_OK) return PROF_ERROR_MEMORY;
    return prof__metadata_add("distributedInfo", entry.text, true);
}

/* What the session recorded, and what was added. A session's key hides a preset one. */
PROF__FN void prof__chrome_metadata(prof__out *o, const struct prof_trace *s) {
    const prof_desc *d = &prof__session.desc;
    const struct prof__metadata *m = &prof__metadata;
    const struct { const char *key; bool on; } flags[] = {
        { "profile_memory", d->profile_memory }, { "with_stack", d->with_stack },
        { "record_shapes", d->record_shapes }, { "with_modules", d->with_modules },
        { "with_flops", d->with_flops } };
    for (size_t i = 0; !s->built && i < sizeof flags / sizeof *flags; i++)
        if (flags[i].on) prof__out_f(o, ",\n\"%s\":1", flags[i].key);
    for (size_t at = 0; !s->built && at < m->used; at += strlen(m->text + at) + 1) {
        const char *entry = m->text + at;
        size_t key = 1;
        while (entry[key] != '"' || entry[key + 1] != ':') key += entry[key] == '\\' ? 2 : 1;
        if (at < m->preset && prof__metadata_find(entry, key + 2, m->preset, m->used)) continue;
        prof__out_f(o, ",\n%s", entry);
    }
}
#else
#  define prof__chrome_metadata(o, s) ((void)0)
#endif

/* What readers must know before the events: the arguments that are counters, and whether events
   tell their parents. */
#if PROF__BARE
#  define prof__chrome_promises(o, s) ((void)0)
#  define prof__chrome_sites(o, s) ((void)0)
#  define prof__sources_find(s, source) ((void)0)
#  define prof__chrome_sums(o, s) ((void)0)
#else
PROF__FN void prof__chrome_sum(prof__out *o, const prof_average *a, const char *before) {
    char source[PROF__SOURCE];
    static const char *const keys[] = { "\",\"count\":", ",\"total\":", ",\"self\":", ",\"min\":",
                                        ",\"max\":", ",\"p50\":", ",\"p90\":", ",\"p99\":" };
    int64_t ns;
    prof__out_text(o, before);
    prof__out_text(o, "\n{\"name\":\"");
    prof__out_json(o, a->key);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {   /* the fields from count on */
        memcpy(&ns, (const char *)a + offsetof(prof_average, count) + i * sizeof ns, sizeof ns);
        prof__out_text(o, keys[i]);
        prof__out_i64(o, ns);
    }
    if (a->site) prof__out_f(o, ",\"source\":\"%j\"", prof__site_source(a->site, source));
    prof__out_text(o, "}");
}

/* Rows by name, or by name and place. */
PROF__FN void prof__chrome_sums_list(prof__out *o, const struct prof_trace *s, bool by_site) {
    const char *before = by_site ? ",\"sums_by_site\":[" : ",\"sums\":[";
    prof_averages_desc by;
    prof_average *rows = NULL;           /* PROF_MODE_AGGREGATE: its own */
    prof__groups g;
    uint32_t n = 0;
    memset(&by, 0, sizeof by);
    by.group_by_site = by_site;
    if (!prof__averages_kept(s, &by, &rows, &n)) {
        prof__groups_open(&g, s, &by, true);
        prof__sums_into_rows(&g);
        n = g.count;
    }
    for (uint32_t i = 0; i < n; i++) {
        prof_average a = rows ? rows[i] : prof__sums_average(s, g.rows[i].sums);
        if (!rows) a.site = by_site ? prof__site_placed(g.rows[i].first) : NULL;
        prof__chrome_sum(o, &a, before);
        before = ",";
    }
    if (!before[1]) prof__out_text(o, "]");
}

/* What is in no timeline: see prof_write_chrome. */
PROF__FN void prof__chrome_sums(prof__out *o, const struct prof_trace *s) {
    prof_stats stats = prof_trace_stats(s);
    prof__scale scale;
    memset(&scale, 0, sizeof scale);
    if (s->built || !(stats.summed || s->average)) return;
    prof__out_text(o, ",\"summed\":");
    prof__out_u64(o, s->average ? stats.recorded : stats.summed);
    prof__out_text(o, ",\"timeline_end_ns\":");
    prof__out_u64(o, stats.timeline_ns);
    prof__out_text(o, ",\"session_ns\":");
    prof__out_i64(o, prof__to_ns(&scale, s->stop_tick));
    prof__chrome_sums_list(o, s, false);
    if (prof__sources.told) prof__chrome_sums_list(o, s, true);
}

PROF__FN void prof__chrome_promises(prof__out *o, const struct prof_trace *s) {
    for (uint32_t i = 0; prof_hw_counter_name(s, i); i++) {
        prof__out_f(o, i ? ",\"%j\"" : ",\"counters\":[\"%j\"", prof_hw_counter_name(s, i));
        if (!prof_hw_counter_name(s, i + 1)) prof__out_text(o, "]");
    }
    prof__chrome_device_types(o, s);
    if (prof__marks_make(s)) prof__out_text(o, ",\"zone_ids\":true");
}
#endif

PROF__FN void prof__chrome_head(prof__out *o, const struct prof_trace *s) {
    prof__out_text(o, "{\"schemaVersion\":1,\n\"prof\":{\"version\":\"" PROF_VERSION "\"");
    prof__chrome_promises(o, s);
    prof__chrome_counts(o, s);
    prof__chrome_sums(o, s);
    prof__chrome_status(o, s);
    prof__chrome_sites(o, s);
    prof__out_text(o, "}");
    prof__chrome_devices(o, s);
    prof__chrome_metadata(o, s);
    prof__out_f(o, ",\n\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":%u,"
                   "\n\"traceEvents\":[\n", s->start_wall_ns);
}

/* The head of an array: what the head of an object says, as far as it is known at the start. whole:
   all events are there. */
PROF__FN void prof__chrome_array_head(prof__out *o, const struct prof_trace *s, bool whole) {
    prof__out_text(o, "[\n");
    prof__chrome_meta(o, "prof", prof__chrome_pid(s), 0, "version");
    prof__out_f(o, "\"" PROF_VERSION "\",\"baseTimeNanoseconds\":%u", s->start_wall_ns);
    if (whole) prof__chrome_promises(o, s);
    if (whole) prof__chrome_sites(o, s);
    prof__out_text(o, "}},\n");
}

/* Counts, which are known at its end. */
PROF__FN void prof__chrome_array_recorded(prof__out *o, const struct prof_trace *s, uint64_t n) {
    prof__out_text(o, ",\n");
    prof__chrome_meta(o, "prof counts", prof__chrome_pid(s), 0, "recorded");
    prof__out_u64(o, n);
}

#if PROF__BARE
#  define prof__chrome_legacy(o, s) ((void)0)
#  define prof__chrome_marks(o, s) ((void)0)
#else
/* ---- the legacy array. PyTorch: EventList.export_chrome_trace() ---- */

PROF__FN const char *prof__legacy_name(const prof_event *e) {
    return e->extra && e->extra->trace_name ? e->extra->trace_name : e->name;
}

PROF__FN void prof__legacy_event(prof__out *o, const struct prof_trace *s, const prof_event *e,
                                 bool first) {
    prof__out_f(o, "%s{\"name\": \"%j\", \"ph\": \"X\", \"ts\": %t, \"dur\": %t, \"tid\": ",
                first ? "" : ",\n", prof__legacy_name(e), e->start_ns, prof__elapsed(e));
    if (e->flags & PROF_EVENT_REMOTE)
        prof__out_f(o, "\" node_id:%i, thread_id:%u \"", (int64_t)prof__node_id(e),
                    s->threads[e->thread].id);
    else prof__out_u64(o, s->threads[e->thread].id);
    prof__out_text(o, ", \"pid\": \"CPU functions\", \"args\": {}}");
}

/* Without: PyTorch's trace_name None. */
PROF__FN bool prof__legacy_has(const prof_event *e) {
    return !e->extra || !e->extra->trace_name || *e->extra->trace_name;
}

/* One end of the arrow from an event to its kernel. */
PROF__FN void prof__legacy_end(prof__out *o, const struct prof_trace *s, const prof_event *e,
                               uint32_t id, bool start) {
    const char *device = s->view.device_name ? s->view.device_name : "cuda";
    prof__out_f(o, ",\n{\"name\": \"%j\", \"ph\": \"%s, \"ts\": %t, \"tid\": %u, "
                   "\"pid\": \"CPU functions\", \"id\": %u, \"cat\": \"cpu_to_",
                prof__legacy_name(e), start ? "s\"" : "f\", \"bp\": \"e\"", e->start_ns,
                s->threads[e->thread].id, (uint64_t)id);
    for (; *device; device++) {
        char c[2] = { prof__lower(*device), 0 };
        prof__out_json(o, c);
    }
    prof__out_text(o, "\", \"args\": {}}");
}

/* Arrows to the kernels that are events of the trace; the numbers are PyTorch's, which writes the
   beginning of an arrow for every kernel and the end of none. */
PROF__FN void prof__legacy_flows(prof__out *o, const struct prof_trace *s, const prof_event *e,
                                 uint32_t *id) {
    uint32_t at = s->side ? s->side[e - s->events].first_kernel : PROF_NONE;
    for (; at != PROF_NONE; at = s->kernels[at].next, ++*id) {
        const prof__kernel *k = s->kernels + at;
        if (k->name || !prof__legacy_has(s->events + k->device)) continue;
        prof__legacy_end(o, s, e, *id, true);
        prof__legacy_end(o, s, s->events + k->device, *id, false);
    }
}

PROF__FN void prof__chrome_legacy(prof__out *o, const struct prof_trace *s) {
    bool first = true;
    uint32_t id = 0;
    prof__out_text(o, "[");
    for (uint32_t i = 0; i < s->event_count && !o->failed; i++) {
        const prof_event *e = s->events + i;
        if (!prof__legacy_has(e)) continue;
        prof__legacy_event(o, s, e, first);
        prof__legacy_flows(o, s, e, &id);
        first = false;
    }
    prof__out_text(o, "]\n");
}

/* ---- the window: Kineto's last four events, which upstream's tests count from the end ---- */

PROF__FN int64_t prof__chrome_end(const struct prof_trace *s) {
    prof__scale scale;
    int64_t end = 0;
    memset(&scale, 0, sizeof scale);
    if (!s->built) end = PROF__MAX(prof__to_ns(&scale, s->stop_tick), 0);
    for (uint32_t i = 0; i < s->event_count; i++) end = PROF__MAX(end, s->events[i].end_ns);
    for (uint32_t i = 0; s->moments && i < s->moment_count; i++)
        end = PROF__MAX(end, s->moments[i].ns);
    return end;
}

PROF__FN void prof__chrome_marks(prof__out *o, const struct prof_trace *s) {
    int64_t end = prof__chrome_end(s);
    prof__out_f(o, ",\n{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\","
                   "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":0.000,\"dur\":%t,"
                   "\"args\":{\"Op count\":0}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\","
                   "\"ts\":0.000,\"pid\":\"Spans\",\"tid\":0,"
                   "\"args\":{\"sort_index\":536870912}},"
                   "\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\","
                   "\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\",\"ts\":0.000},"
                   "\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\","
                   "\"tid\":\"\",\"ts\":%t}", end, end);
}
#endif

#if PROF__BARE
#  define prof__chrome_unordered(o, s) ((void)0)
#else
/* Where events have no room: thread by thread, in the order of ends. Zones that end together are
   held back and come as they began: of two that have the same times readers take the first for the
   outer one. */
typedef struct prof__unordered {
    prof__out *o;
    const struct prof_trace *s;
    prof__place place;
    prof__gpu gpu;
    prof__close *held;
    uint32_t count, max, *order;         /* order: room for two of each */
} prof__unordered;

PROF__FN void prof__unordered_write(prof__unordered *u, const prof__close *c) {
    if (PROF__UNLIKELY(u->place.thread != c->thread))
        prof__chrome_place(&u->place, u->s, c->thread, prof__chrome_tid(u->s, c->thread));
    if (PROF__UNLIKELY(prof__source_told(u->s, c->what) != NULL)) {
        prof_event e = prof__site_event(c->what);
        e.start_ns = c->start_ns;
        e.end_ns = c->end_ns;
        e.thread = c->thread;
        e.flags = c->flags;
        prof__chrome_rich(u->o, &u->gpu, &e);
        return;
    }
    prof__chrome_zone(u->o, &u->place, prof__site(c->what)->name, c->start_ns, c->end_ns, c->flags);
}

PROF__FN bool prof__unordered_after(const void *held, uint32_t a, uint32_t b) {
    const prof__close *x = (const prof__close *)held + a, *y = (const prof__close *)held + b;
    if (x->start_ns != y->start_ns) return x->start_ns > y->start_ns;
    return x->depth != y->depth ? x->depth > y->depth : x->number > y->number;
}

PROF__FN void prof__unordered_flush(prof__unordered *u) {
    for (uint32_t i = 0; i < u->count; i++) u->order[i] = i;
    prof__sort(u->order, u->order + u->count, u->count, prof__unordered_after, u->held);
    for (uint32_t i = 0; i < u->count; i++) prof__unordered_write(u, u->held + u->order[i]);
    u->count = 0;
}

PROF__FN void prof__unordered_zone(void *user, const prof__close *c) {
    prof__unordered *u = (prof__unordered *)user;
    if (u->count && (u->held->end_ns != c->end_ns || u->held->thread != c->thread ||
                     u->count == u->max)) prof__unordered_flush(u);
    if (u->max) u->held[u->count++] = *c;
    else prof__unordered_write(u, c);
}

PROF__FN void prof__unordered_moment(void *user, const prof__moment *m) {
    prof__unordered *u = (prof__unordered *)user;
    if (m->kind < PROF__MOMENT_FLOW) prof__chrome_moment(u->o, &u->place, u->s, m);
    else prof__chrome_moment_flow(u->o, &u->gpu, m);
}

PROF__FN void prof__chrome_unordered(prof__out *o, const struct prof_trace *s) {
    prof__unordered u;
    prof__feed feed;
    memset(&feed, 0, sizeof feed);
    memset(&u, 0, sizeof u);
    u.o = o;
    u.s = s;
    u.place.thread = PROF_NONE;
    prof__gpu_open(&u.gpu, s);
    feed.take = prof__unordered_zone;
    feed.moment = prof__unordered_moment;
    feed.user = &u;
    u.held = (prof__close *)(void *)s->scratch;
    u.max = (uint32_t)PROF__MIN((size_t)(prof__scratch_end(s) - s->scratch) /
                                (sizeof *u.held + 2 * sizeof *u.order), 1u << 20);
    u.order = (uint32_t *)(void *)(u.held + u.max);
    prof__closes_of_records(&feed);
    prof__unordered_flush(&u);
}
#endif

PROF__FN void prof__chrome_body(prof__out *o, const struct prof_trace *s, bool array, bool marks) {
    prof__place place = { PROF_NONE, 0, "" };
    if (array) prof__chrome_array_head(o, s, true);
    else prof__chrome_head(o, s);
    prof__chrome_events(o, s);
    if (prof__lean(s) && !s->analysed) prof__chrome_unordered(o, s);
    for (uint32_t i = 0; s->moments && i < s->moment_count && !o->failed; i++)
        prof__chrome_moment(o, &place, s, s->moments + i);
    if (array) {
        prof__chrome_array_recorded(o, s, prof__zones_now(s) + prof__others(s));
        prof__chrome_counts(o, s);
        prof__chrome_sums(o, s);
        prof__out_text(o, "}}");
    }
    if (marks) prof__chrome_marks(o, s);
    prof__out_text(o, array ? "\n]\n" : "\n],\n\"traceName\":\"prof\"}\n");
}

PROF_API PROF__QUIET prof_result prof_write_chrome(const prof_trace *trace,
                                                   const prof_chrome_desc *desc, prof_sink out) {
    prof__out o;
    uint32_t format = desc ? (uint32_t)desc->format : 0;
    if (!prof__valid(trace) || !out.write || format > PROF_CHROME_LEGACY) return PROF_ERROR_INVALID;
    if (PROF__BARE && (format == PROF_CHROME_LEGACY || (desc && desc->window_marks)))
        return PROF_ERROR_UNSUPPORTED;
    if (!PROF__BARE && desc && (uint32_t)desc->source > PROF_CHROME_SOURCE_ALL)
        return PROF_ERROR_INVALID;
    if (!prof__analyse(trace) && format == PROF_CHROME_LEGACY) return PROF_ERROR_MEMORY;
    prof__sources_find(trace, desc ? desc->source : PROF_CHROME_SOURCE_AUTO);
    prof__out_open(&o, out);
    if (format == PROF_CHROME_LEGACY) prof__chrome_legacy(&o, trace);
    else prof__chrome_body(&o, trace, format == PROF_CHROME_ARRAY, desc && desc->window_marks);
    return prof__out_close(&o);
}

#if PROF__BARE
PROF_API PROF__QUIET prof_result prof_save_chrome(const prof_trace *trace, const char *path) {
    (void)trace;
    (void)path;
    return PROF_ERROR_UNSUPPORTED;
}
#else
/* The handle of the system, and its calls. */
#if defined(_WIN32)
PROF__FN HANDLE prof__file_handle(const prof_file *f) { return (HANDLE)f->handle; }
PROF__FN bool prof__file_create(prof_file *f, const char *path) {
    f->handle = (intptr_t)CreateFileA(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                                      FILE_ATTRIBUTE_NORMAL, NULL);
    return prof__file_handle(f) != INVALID_HANDLE_VALUE;
}
PROF__FN bool prof__file_put(prof_file *f, const char *data, size_t size) {
    DWORD done = 0;
    return WriteFile(prof__file_handle(f), data, (DWORD)size, &done, NULL) && done == size;
}
PROF__FN bool prof__file_shut(prof_file *f) { return CloseHandle(prof__file_handle(f)) != 0; }
PROF__FN bool prof__file_rename(const char *from, const char *to) {
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) != 0;
}
PROF__FN void prof__file_remove(const char *path) { DeleteFileA(path); }
PROF__FN bool prof__file_special(const char *path) {
    return strcmp(path, "NUL") == 0;
}
#else
PROF__FN bool prof__file_create(prof_file *f, const char *path) {
    int handle;
    if (!f->in_place) (void)unlink(path);               /* a link of that name is not followed */
    handle = open(path, O_WRONLY | O_CREAT | (f->in_place ? O_TRUNC : O_EXCL), 0666);
    f->handle = handle;
    return handle >= 0;
}
PROF__FN bool prof__file_put(prof_file *f, const char *data, size_t size) {
    while (size) {
        ssize_t n = write((int)f->handle, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}
PROF__FN bool prof__file_shut(prof_file *f) { return close((int)f->handle) == 0; }
PROF__FN bool prof__file_rename(const char *from, const char *to) { return rename(from, to) == 0; }
PROF__FN void prof__file_remove(const char *path) { (void)unlink(path); }
PROF__FN bool prof__file_special(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? !S_ISREG(st.st_mode) : errno != ENOENT;
}
#endif

/* Keeps errno of what failed first. */
PROF__FN bool prof__file_check(prof_file *f, bool ok) {
    if (!ok && !f->failed) f->error = errno;
    f->failed = f->failed || !ok;
    return ok;
}

PROF__FN bool prof__file_write(void *file, const void *data, size_t size) {
    prof_file *f = (prof_file *)file;
    const char *p = (const char *)data;
    size_t n;
    for (; size; p += n, size -= n) {
        bool ok;
        n = PROF__MIN(size, (size_t)1 << 30);
#ifdef PROF_ZLIB
        if (f->zip) ok = gzwrite((gzFile)f->zip, p, (unsigned)n) == (int)n;
        else
#endif
        ok = prof__file_put(f, p, n);
        if (!prof__file_check(f, ok)) return false;
    }
    return true;
}

/* `path.<pid>.tmp`, beside path so that a rename stays on one disk. */
PROF__FN bool prof__file_name(prof_file *f, const char *path) {
    size_t n = strlen(path);
    if (!n || n + 32 > sizeof f->temporary) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return false;
    }
    f->path_size = n;
    (void)prof_format_text(f->temporary, sizeof f->temporary, "%s.%llu.tmp", path,
                           (unsigned long long)prof__process_id());
    f->in_place = prof__file_special(path);
    return prof__file_create(f, f->in_place ? path : f->temporary);
}

/* false: there is no memory for it. */
PROF__FN bool prof__file_zip(prof_file *f) {
#ifdef PROF_ZLIB
    f->zip = gzdopen((int)f->handle, "wb1");
#endif
    return f->zip != NULL;
}

PROF_API PROF__QUIET prof_result prof_file_open(prof_file *f, const char *path) {
    bool zip = path && prof__ends_with(path, ".gz");
    if (!f || !path) return PROF_ERROR_INVALID;
    memset(f, 0, sizeof *f);
#if !defined(PROF_ZLIB)
    prof__unsupported_text = prof__unsupported_usual;
    if (zip) return PROF_ERROR_UNSUPPORTED;
#endif
    if (!prof__file_name(f, path)) return PROF_ERROR_FILE;
    f->sink.write = prof__file_write;
    f->sink.user = f;
    if (!zip || prof__file_zip(f)) return PROF_OK;
    f->failed = true;
    f->error = ENOMEM;
    return prof_file_close(f);
}

PROF_API PROF__QUIET prof_result prof_file_close(prof_file *f) {
    char path[sizeof f->temporary];
    if (!f || !f->sink.write) return f ? PROF_ERROR_STATE : PROF_ERROR_INVALID;
    f->sink.write = NULL;
    errno = 0;
#ifdef PROF_ZLIB
    if (f->zip) (void)prof__file_check(f, gzclose((gzFile)f->zip) == Z_OK);
    else
#endif
    (void)prof__file_check(f, prof__file_shut(f));
    memcpy(path, f->temporary, f->path_size);
    path[f->path_size] = 0;
    if (!f->in_place && !f->failed)
        (void)prof__file_check(f, prof__file_rename(f->temporary, path));
    if (!f->in_place && f->failed) prof__file_remove(f->temporary);
    if (f->failed) errno = f->error;
    return f->failed ? PROF_ERROR_FILE : PROF_OK;
}

/* What goes into a file: desc is that of the writer. */
typedef prof_result (*prof__writer)(const prof_trace *trace, const void *desc, prof_sink out);

PROF__FN prof_result prof__save(const prof_trace *trace, const char *path, prof__writer writer,
                                const void *desc) {
    prof_file f;
    prof_result result = prof__valid(trace) ? prof_file_open(&f, path) : PROF_ERROR_INVALID;
    if (result != PROF_OK) return result;
    (void)prof__file_check(&f, writer(trace, desc, f.sink) == PROF_OK);
    return prof_file_close(&f);
}

PROF__FN prof_result prof__chrome_writer(const prof_trace *trace, const void *desc,
                                         prof_sink out) {
    return prof_write_chrome(trace, (const prof_chrome_desc *)desc, out);
}

PROF_API PROF__QUIET prof_result prof_save_chrome(const prof_trace *trace, const char *path) {
    return prof__save(trace, path, prof__chrome_writer, NULL);
}

/* ---- a file for each window ---- */

PROF__FN void prof__make_directory(const char *path) {
#if defined(_WIN32)
    (void)CreateDirectoryA(path, NULL);
#else
    (void)mkdir(path, 0777);
#endif
}

/* dir and those it lies in; what fails shows when the file is opened. */
PROF__FN void prof__make_directories(const char *dir) {
    char path[1024];
    size_t n = strlen(dir);
    if (n >= sizeof path) return;
    for (size_t i = 0; i <= n; i++) {
        path[i] = dir[i];
        if (!i || (dir[i] && dir[i] != '/' && dir[i] != '\\')) continue;
        path[i] = 0;
        prof__make_directory(path);
        path[i] = dir[i];
    }
}

/* HOSTNAME_PID */
PROF__FN void prof__worker_name(char *buf, size_t size) {
#if defined(_WIN32)
    const char *host = "localhost";
#else
    struct utsname names;
    const char *host = uname(&names) == -1 ? "localhost" : names.nodename;
#endif
    (void)prof_format_text(buf, size, "%s_%llu", host, (unsigned long long)prof__process_id());
}

PROF_API PROF__QUIET void prof_trace_handler(void *user, prof_trace *trace) {
    prof_handler *h = (prof_handler *)user;
    const char *dir = h && h->dir && *h->dir ? h->dir : ".";
    char path[992], worker[288];
    prof_result result;
    size_t n;
    if (!h) return;
    prof__make_directories(dir);
    prof__worker_name(worker, sizeof worker);
    n = prof_format_text(path, sizeof path, "%s/%s.%llu.pt.trace.json%s", dir,
                         h->worker && *h->worker ? h->worker : worker,
                         (unsigned long long)prof__wall_now(), h->gzip ? ".gz" : "");
    result = n == sizeof path - 1 ? PROF_ERROR_INVALID : prof_save_chrome(trace, path);
    if (result == PROF_OK) h->saved++;
    else h->result = result;
}
#endif

/* ---- @STACKS: folded stacks ---- */

/* A stack, in the scratch memory. What ended within a zone hangs below its node once it ends, and
   what meets its like there becomes one with it. Its name is that of a zone that had it. Siblings
   are a tree by the bits of their hashes; targets, whose zones have few, take them as a list. */
typedef struct prof__node {
    uint32_t what, child, value[2];      /* what: a site, or the number of the first event */
#if PROF__BARE
    uint32_t next[1];
#  define PROF__NODE_HASH(n) 0u
#else
    uint32_t next[2], hash;
#  define PROF__NODE_HASH(n) (n)->hash
#endif
} prof__node;
#define PROF__NEXT (PROF__BARE ? 0 : 1)

typedef struct prof__forest {
    const struct prof_trace *s;
    prof__node *nodes;
    prof__rank *ranks;                   /* of the nodes' first zones; NULL: they have events */
    uint32_t *tops;                      /* by depth: what has ended there since the last close
                                            further out; then the path of a line */
    uint32_t count, max, unused, depth;  /* unused: a list of nodes */
    uint32_t limit, *hashes;             /* what is deeper is one node; of names, by site */
    prof_metric metric;
    bool full;
} prof__forest;

PROF__FN const char *prof__forest_name(const prof__forest *f, uint32_t what) {
    if (!PROF__BARE && what == PROF_NONE) return "(deeper)";
    return prof__ranked(f->ranks) ? prof__site(what)->name : f->s->events[what].name;
}

#if PROF__BARE
#  define prof__forest_hash(f, what) 0
#  define prof__frames_of(s, e) 0u
#  define prof__frames_put(o, e, count) ((void)0)
#  define prof__same_frames(s, a, b) true
#else
PROF__FN const prof_extra *prof__native_of(const prof_event *e) {
    return e->extra && e->extra->has & PROF__HAS_NATIVE ? e->extra : NULL;
}

/* How many native frames an event has that its parent has not: behind them its call stack is the
   parent's, whose innermost function has only gone on. */
PROF__FN uint32_t prof__frames_of(const struct prof_trace *s, const prof_event *e) {
    const prof_extra *x, *up;
    uint32_t n;
    x = prof__native_of(e);
    if (!x) return 0;
    up = e->parent == PROF_NONE ? NULL : prof__native_of(s->events + e->parent);
    if (!up) return x->stack_count;
    if (x->stack_count < up->stack_count) return 0;
    n = x->stack_count - up->stack_count;
    for (uint32_t i = 1; i < up->stack_count; i++)
        if (strcmp(x->stack[n + i], up->stack[i]) != 0) return 0;
    return n;
}

/* The function of an entry `file(place): function`; the whole where it has no name. */
PROF__FN const char *prof__frame_function(const char *entry) {
    const char *name = strstr(entry, "): ");
    return name && strcmp(name, "): ??") != 0 ? name + 3 : entry;
}

PROF__FN bool prof__same_frames(const struct prof_trace *s, const prof_event *a,
                                const prof_event *b) {
    uint32_t n = prof__frames_of(s, a);
    if (n != prof__frames_of(s, b)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(prof__frame_function(a->extra->stack[i]),
                   prof__frame_function(b->extra->stack[i])) != 0) return false;
    return true;
}

/* Names of sites are read once. */
PROF__FN uint32_t prof__forest_hash(const prof__forest *f, uint32_t what) {
    const prof_event *e = f->ranks || what == PROF_NONE ? NULL : f->s->events + what;
    const char *name = prof__forest_name(f, what);
    uint32_t site = what == PROF_NONE ? 0 : e ? e->site : what, own = 0, h, n;
    uint32_t *kept = f->s->built ? &own : f->hashes + prof__site_dense(site);
    if (e && (!site || name != prof__site(site)->name)) kept = &own;
    if (!*kept) {
        h = prof__hash_more(2166136261u, name);
        *kept = (h ^ h >> 15) | 1u;
    }
    h = *kept;
    n = e ? prof__frames_of(f->s, e) : 0;
    for (uint32_t i = 0; i < n; i++)
        h = prof__hash_more(h, prof__frame_function(e->extra->stack[i]));
    return h;
}
#endif

PROF__FN bool prof__forest_same(const prof__forest *f, uint32_t a, uint32_t b) {
    const char *x = prof__forest_name(f, a), *y = prof__forest_name(f, b);
    if (!PROF__BARE && (a == PROF_NONE || b == PROF_NONE)) return a == b;
    if (x != y && strcmp(x, y) != 0) return false;
    return prof__ranked(f->ranks) || prof__same_frames(f->s, f->s->events + a, f->s->events + b);
}

/* Where the node like that is among siblings, or would be. */
PROF__FN uint32_t *prof__forest_place(prof__forest *f, uint32_t *place, const prof__node *like) {
    for (uint32_t h = PROF__NODE_HASH(like); *place != PROF_NONE; h >>= 1) {
        prof__node *n = f->nodes + *place;
        bool like_it = PROF__NODE_HASH(n) == PROF__NODE_HASH(like);
        if (like_it && prof__forest_same(f, n->what, like->what)) break;
        place = n->next + (h & 1);
    }
    return place;
}

/* Takes a node out of siblings that are looked into no more. */
PROF__FN uint32_t prof__forest_pop(prof__forest *f, uint32_t *from) {
    uint32_t at = *from;
    for (uint32_t left; !PROF__BARE && (left = f->nodes[at].next[0]) != PROF_NONE; at = left) {
        f->nodes[at].next[0] = f->nodes[left].next[PROF__NEXT];
        f->nodes[left].next[PROF__NEXT] = at;
    }
    *from = f->nodes[at].next[PROF__NEXT];
    f->nodes[at].next[PROF__NEXT] = PROF_NONE;
    return at;
}

/* ns or bytes */
PROF__FN int64_t prof__event_metric(const prof_trace *trace, const prof_event *e,
                                    prof_metric metric) {
    prof_event_totals t;
    if (metric <= PROF_METRIC_SELF_CPU_TIME_TOTAL) return e->self_cpu_time_total_ns;
    t = prof_event_total(trace, e);
    switch (metric) {
    case PROF_METRIC_CPU_TIME_TOTAL: return t.cpu_time_total_ns;
    case PROF_METRIC_DEVICE_TIME_TOTAL: return t.device_time_total_ns;
    case PROF_METRIC_SELF_DEVICE_TIME_TOTAL: return t.self_device_time_total_ns;
    case PROF_METRIC_CPU_MEMORY_USAGE: return t.cpu_memory_usage;
    case PROF_METRIC_SELF_CPU_MEMORY_USAGE: return t.self_cpu_memory_usage;
    case PROF_METRIC_DEVICE_MEMORY_USAGE: return t.device_memory_usage;
    default: return t.self_device_memory_usage;
    }
}

/* Stacks are weighed by a sum, in us or bytes. 0: not by this metric. */
PROF__FN int64_t prof__metric_unit(prof_metric metric) {
    if (metric == PROF_METRIC_NONE || metric == PROF_METRIC_SELF_CPU_TIME_TOTAL ||
        metric == PROF_METRIC_CPU_TIME_TOTAL || metric == PROF_METRIC_DEVICE_TIME_TOTAL ||
        metric == PROF_METRIC_SELF_DEVICE_TIME_TOTAL)
        return 1000;
    return metric >= PROF_METRIC_CPU_MEMORY_USAGE && metric <= PROF_METRIC_SELF_DEVICE_MEMORY_USAGE;
}

PROF__FN int64_t prof__close_metric(const prof__close *c, prof_metric metric) {
    const prof__beside *b = PROF__BARE ? NULL : c->beside;
    const prof__amounts *all = b ? &b->all : NULL, *within = b ? &b->within : NULL;
    if (metric <= PROF_METRIC_SELF_CPU_TIME_TOTAL) return c->self_ns;
    if (metric == PROF_METRIC_CPU_TIME_TOTAL) return c->cpu_ns;
    if (!b) return 0;
    switch (metric) {
    case PROF_METRIC_DEVICE_TIME_TOTAL: return all->device_ns;
    case PROF_METRIC_SELF_DEVICE_TIME_TOTAL: return PROF__MINUS(all->device_ns, within->device_ns);
    case PROF_METRIC_CPU_MEMORY_USAGE: return all->cpu_bytes;
    case PROF_METRIC_SELF_CPU_MEMORY_USAGE: return PROF__MINUS(all->cpu_bytes, within->cpu_bytes);
    case PROF_METRIC_DEVICE_MEMORY_USAGE: return all->device_bytes;
    default: return PROF__MINUS(all->device_bytes, within->device_bytes);
    }
}

PROF__FN uint64_t prof__node_value(const prof__node *n) {
    return (uint64_t)n->value[1] << 32 | n->value[0];
}

PROF__FN void prof__node_add(prof__node *n, uint64_t value) {
    value += prof__node_value(n);
    n->value[0] = (uint32_t)value;
    n->value[1] = (uint32_t)(value >> 32);
}

/* A node like no other yet; PROF_NONE: no memory. */
PROF__FN uint32_t prof__forest_add(prof__forest *f, const prof__close *c, uint32_t what,
                                   uint32_t kids) {
    uint32_t at = f->unused;
    uint64_t value = (uint64_t)prof__close_metric(c, f->metric);
    prof__node *n;
    if (at != PROF_NONE) f->unused = f->nodes[at].next[0];
    else if (f->count < f->max) at = f->count++;
    else return at;
    n = f->nodes + at;
    n->what = what;
#if !PROF__BARE
    n->hash = prof__forest_hash(f, what);
#endif
    n->value[0] = (uint32_t)value;
    n->value[1] = (uint32_t)(value >> 32);
    n->child = kids;
    n->next[0] = PROF_NONE;
    n->next[PROF__NEXT] = PROF_NONE;
    if (prof__ranked(f->ranks)) (void)prof__rank_take(f->ranks + at, c, true);
    return at;
}

/* Node `moved` has met its like. */
PROF__FN void prof__forest_join(prof__forest *f, uint32_t at, uint32_t moved) {
    prof__node *to = f->nodes + at, *n = f->nodes + moved;
    prof__node_add(to, prof__node_value(n));
    if (!prof__ranked(f->ranks)) to->what = PROF__MIN(to->what, n->what);
    else if (prof__rank_after(f->ranks + at, f->ranks + moved)) f->ranks[at] = f->ranks[moved];
}

/* Puts siblings among others, and all below them. */
PROF__FN void prof__forest_merge(prof__forest *f, uint32_t *list, uint32_t from) {
    uint32_t waiting = PROF_NONE, done;  /* nodes that are merged, but for what is below them */
    for (;;) {
        if (!PROF__BARE && *list == PROF_NONE) {
            *list = from;
            from = PROF_NONE;
        }
        while (from != PROF_NONE) {
            uint32_t moved = prof__forest_pop(f, &from), *place;
            prof__node *n = f->nodes + moved;
            place = prof__forest_place(f, list, n);
            if (*place == PROF_NONE) {
                *place = moved;
                continue;
            }
            prof__forest_join(f, *place, moved);
            n->what = *place;
            n->next[0] = waiting;
            waiting = moved;
        }
        if (waiting == PROF_NONE) return;
        done = waiting;
        waiting = f->nodes[done].next[0];
        list = &f->nodes[f->nodes[done].what].child;
        from = f->nodes[done].child;
        f->nodes[done].next[0] = f->unused;
        f->unused = done;
    }
}

PROF__FN void prof__forest_take(void *forest, const prof__close *c) {
    prof__forest *f = (prof__forest *)forest;
    uint32_t depth = c->depth, what = c->what, *list, at;
    if (!PROF__BARE && depth > f->limit) {
        depth = f->limit + 1;
        what = PROF_NONE;
    }
    list = f->tops + depth;
    at = prof__forest_add(f, c, what, list[1]);
    list[1] = PROF_NONE;
    f->full = f->full || at == PROF_NONE;
    if (!f->full) prof__forest_merge(f, list, at);
}

#if PROF__BARE
#  define prof__forest_deepest NULL
#else
PROF__FN void prof__forest_deepest(void *forest, const prof__close *c) {
    prof__forest *f = (prof__forest *)forest;
    f->depth = PROF__MAX(f->depth, c->depth);
}
#endif

PROF__FN void prof__forest_feed(prof__forest *f, prof__taker *take) {
    prof__feed feed;
    memset(&feed, 0, sizeof feed);
    feed.take = take;
    feed.user = f;
    if (prof__ranked(f->ranks)) prof__closes_of_records(&feed);
    else prof__closes_of_events(f->s, &feed);
}

/* The stacks of all that is no deeper than limit, from 0. False: they do not fit. */
PROF__FN bool prof__forest_open(prof__forest *f, const struct prof_trace *s, prof_metric metric,
                                uint32_t limit) {
    bool records = prof__from_records(s) || PROF__BARE;
    size_t size = sizeof *f->nodes + 2 * sizeof(uint32_t), room;
    uintptr_t at, end;
    memset(f, 0, sizeof *f);
    f->s = s;
    f->metric = metric;
    f->depth = prof__depths(s);
    f->unused = PROF_NONE;
    f->tops = (uint32_t *)(void *)s->scratch;
    if (!records) prof__forest_feed(f, prof__forest_deepest);
    if (!PROF__BARE) {
        f->limit = limit;
        f->depth = PROF__MIN(f->depth, limit);
        f->hashes = f->tops;
        f->tops += prof__sites_of(s);
        memset(f->hashes, 0, (size_t)((char *)f->tops - s->scratch));
    }
    at = ((uintptr_t)(f->tops + f->depth + 3) + 7) & ~(uintptr_t)7;
    end = (uintptr_t)prof__scratch_end(s);
    if (records) f->ranks = (prof__rank *)at;
    if (at > end) return false;
    room = (end - at) / (size + (records ? sizeof *f->ranks : 0));
    f->max = (uint32_t)PROF__MIN(room, (size_t)INT32_MAX);
    f->nodes = (prof__node *)(at + (records ? f->max * sizeof *f->ranks : 0));
    for (uint32_t i = 0; i < f->depth + 3; i++) f->tops[i] = PROF_NONE;
    prof__forest_feed(f, prof__forest_take);
    return !f->full;
}

/* Lists all nodes behind them, which then have their parents as next. Returns how many. */
PROF__FN uint32_t prof__forest_list(prof__forest *f, uint32_t *order) {
    uint32_t n = 0, parent = PROF_NONE, done = 0;
    for (uint32_t at = f->tops[0];; done++) {
        while (at != PROF_NONE) {
            order[n] = prof__forest_pop(f, &at);
            f->nodes[order[n++]].next[0] = parent;
        }
        if (done == n) return n;
        parent = order[done];
        at = f->nodes[parent].child;
    }
}

PROF__FN bool prof__forest_after(const void *forest, uint32_t a, uint32_t b) {
    const prof__forest *f = (const prof__forest *)forest;
    if (prof__ranked(f->ranks)) return prof__rank_after(f->ranks + a, f->ranks + b);
    return f->nodes[a].what > f->nodes[b].what;
}

/* PyTorch's translation: what would break a folded line becomes `_`. */
PROF__FN void prof__stack_entry(prof__out *o, const char *name) {
    while (*name) {
        size_t broken = *name == ' ' || *name == ';' ? 1 : prof__control(name);
        if (broken) prof__out_text(o, "_");
        else prof__out_code_point(o, &name);
        name += broken;
    }
}

#if !PROF__BARE
/* The functions between an event and its parent; not the one that the zone is named after. */
PROF__FN void prof__frames_put(prof__out *o, const prof_event *e, uint32_t count) {
    while (count--) {
        const char *name = prof__frame_function(e->extra->stack[count]);
        if (!count && strcmp(name, e->name) == 0) break;
        prof__stack_entry(o, name);
        prof__out_text(o, ";");
    }
}
#endif

/* The names from the root to a node: collected upwards, written downwards. */
PROF__FN void prof__stack_line(prof__out *o, const prof__forest *f, uint32_t node, int64_t unit) {
    uint64_t value = prof__node_value(f->nodes + node);
    uint32_t depth = 0;
    if (value >> 63) return;
    (void)prof__divide(&value, (uint32_t)unit);
    if (!value) return;
    for (; node != PROF_NONE; node = f->nodes[node].next[0]) f->tops[depth++] = f->nodes[node].what;
    while (depth--) {
        uint32_t what = f->tops[depth];
        if (!prof__ranked(f->ranks) && what != PROF_NONE)
            prof__frames_put(o, f->s->events + what, prof__frames_of(f->s, f->s->events + what));
        prof__stack_entry(o, prof__forest_name(f, what));
        prof__out_text(o, depth ? ";" : " ");
    }
    prof__out_u64(o, value);
    prof__out_text(o, "\n");
}

/* All stacks, from the records or from the events, which take less for each; where neither fits, as
   deep as they do. False: there is no room at all. */
PROF__FN bool prof__forest_make(prof__forest *f, const prof_trace *trace, prof_metric metric) {
    bool made = prof__forest_open(f, trace, metric, PROF_NONE - 3);
    if (!PROF__BARE && !made && f->ranks && prof__analyse(trace))
        made = prof__forest_open(f, trace, metric, PROF_NONE - 3);
    for (uint32_t limit = f->depth; !PROF__BARE && !made && limit--; limit -= limit / 4)
        made = prof__forest_open(f, trace, metric, limit);
    return made;
}

PROF_API PROF__QUIET prof_result prof_write_stacks(const prof_trace *trace, prof_metric metric,
                                                   prof_sink out) {
    prof__out o;
    prof__forest f;
    uint32_t *order, n;
    int64_t unit = prof__metric_unit(metric);
    bool made, taken;
    if (!prof__valid(trace) || !out.write || !unit) return PROF_ERROR_INVALID;
    taken = prof__reading_open();
    made = prof__forest_make(&f, trace, metric);
    prof__reading_close(taken);
    if (!made) return PROF_ERROR_MEMORY;
    order = (uint32_t *)(void *)(f.nodes + f.max);
    n = prof__forest_list(&f, order);
    prof__sort(order, order + n, n, prof__forest_after, &f);
    prof__out_open(&o, out);
    for (uint32_t i = 0; i < n && !o.failed; i++) prof__stack_line(&o, &f, order[i], unit);
    return prof__out_close(&o);
}

/* ---- the stacks that events carry. PyTorch: EventList.export_stacks() ---- */

PROF_API PROF__QUIET prof_result prof_write_event_stacks(const prof_trace *trace,
                                                         prof_metric metric, prof_sink out) {
    prof__out o;
    int64_t unit = prof__metric_unit(metric);
    if (!prof__valid(trace) || !out.write || !unit) return PROF_ERROR_INVALID;
    prof__analyse(trace);
    prof__out_open(&o, out);
    for (uint32_t i = 0; i < trace->event_count && !o.failed; i++) {
        const prof_event *e = trace->events + i;
        uint32_t n = e->extra ? e->extra->stack_count : 0;
        int64_t value = n ? prof__event_metric(trace, e, metric) / unit : 0;
        if (value <= 0) continue;
        while (n--) {
            prof__stack_entry(&o, prof__text(e->extra->stack[n]));
            prof__out_text(&o, n ? ";" : " ");
        }
        prof__out_i64(&o, value);
        prof__out_text(&o, "\n");
    }
    return prof__out_close(&o);
}

/* ---- @MEMORY: what is in use over time ---- */

#if PROF__BARE
PROF_API PROF__QUIET prof_result prof_write_memory_timeline(const prof_trace *trace,
                                                            const prof_memory_desc *desc,
                                                            prof_sink out) {
    (void)trace;
    (void)desc;
    (void)out;
    return PROF_ERROR_UNSUPPORTED;
}
#else
/* Where the writer is: what stands in each column. */
typedef struct prof__timeline {
    const struct prof_trace *s;
    prof__memory device;                 /* the one that is shown */
    int64_t in_use[9];
    int64_t us;                          /* of the row; -1: none yet */
    prof__out out;
} prof__timeline;

/* PyTorch's columns: PARAMETER 0 to AUTOGRAD_DETAIL 6, unknown 7. */
PROF__FN uint32_t prof__timeline_kind(const prof__memory *m) {
    return m->category & 7 ? (m->category & 7) - 1u : 7u;
}

PROF__FN bool prof__timeline_shows(const prof__timeline *t, const prof__memory *m) {
    return m->what <= PROF__FREE && prof__same_device(m, &t->device);
}

PROF__FN int64_t prof__timeline_ns(const prof__timeline *t, const prof__memory *m) {
    return (int64_t)t->s->start_wall_ns + m->ns;
}

PROF__FN void prof__timeline_raw(prof__timeline *t) {
    bool first = true;
    for (uint32_t i = 0; i < t->s->memory_count && !t->out.failed; i++) {
        const prof__memory *m = t->s->memory + i;
        if (!prof__timeline_shows(t, m)) continue;
        prof__out_f(&t->out, "%s[%i, %s, %i, %u]", first ? "" : ", ", prof__timeline_ns(t, m),
                    m->what == PROF__FREE ? "4" : "2", m->bytes,
                    (uint64_t)prof__timeline_kind(m));
        first = false;
    }
}

PROF__FN void prof__timeline_row(prof__timeline *t, bool times, bool first) {
    if (!first) prof__out_text(&t->out, ", ");
    if (times) {
        prof__out_i64(&t->out, t->us);
        return;
    }
    for (int i = 0; i < 9; i++) prof__out_f(&t->out, i ? ", %i" : "[%i", t->in_use[i]);
    prof__out_text(&t->out, "]");
}

/* All rows: their times, or their amounts. One for each microsecond in which something changed. */
PROF__FN void prof__timeline_rows(prof__timeline *t, bool times) {
    bool first = true;
    memset(t->in_use, 0, sizeof t->in_use);
    t->us = -1;
    for (uint32_t i = 0; i < t->s->memory_count && !t->out.failed; i++) {
        const prof__memory *m = t->s->memory + i;
        int64_t us = prof__timeline_ns(t, m) / 1000;
        if (!prof__timeline_shows(t, m)) continue;
        if (t->us >= 0 && us != t->us) {
            prof__timeline_row(t, times, first);
            first = false;
        }
        t->us = us;
        t->in_use[prof__timeline_kind(m) + 1] += m->bytes;
    }
    if (t->us >= 0) prof__timeline_row(t, times, first);
}

PROF_API PROF__QUIET prof_result prof_write_memory_timeline(const prof_trace *trace,
                                                            const prof_memory_desc *desc,
                                                            prof_sink out) {
    prof__timeline t;
    if (!prof__valid(trace) || !out.write) return PROF_ERROR_INVALID;
    if (trace->built || !trace->view.profile_memory) return PROF_ERROR_NONE_RECORDED;
    prof__analyse(trace);
    memset(&t, 0, offsetof(prof__timeline, out));
    prof__out_open(&t.out, out);
    t.s = trace;
    if (desc) {
        t.device.device_type = desc->device.type;
        t.device.device_index = desc->device.index;
    }
    prof__out_text(&t.out, "[");
    if (desc && desc->raw) {
        prof__timeline_raw(&t);
    } else {
        prof__out_text(&t.out, "[");
        prof__timeline_rows(&t, true);
        prof__out_text(&t.out, "], [");
        prof__timeline_rows(&t, false);
        prof__out_text(&t.out, "]");
    }
    prof__out_text(&t.out, "]\n");
    return prof__out_close(&t.out);
}

PROF__FN prof_result prof__timeline_writer(const prof_trace *trace, const void *desc,
                                           prof_sink out) {
    return prof_write_memory_timeline(trace, (const prof_memory_desc *)desc, out);
}

PROF_API PROF__QUIET prof_result prof_save_memory_timeline(const prof_trace *trace,
                                                           const char *path, prof_device device) {
    prof_memory_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device = device;
    if (!prof__valid(trace) || !path) return PROF_ERROR_INVALID;
    if (trace->built || !trace->view.profile_memory) return PROF_ERROR_NONE_RECORDED;
    if (prof__ends_with(path, ".html")) {
        prof__unsupported_text = "a page is made by the command: prof memory --format html -o "
                                 "FILE.html TRACE.json";
        return PROF_ERROR_UNSUPPORTED;
    }
    desc.raw = prof__ends_with(path, ".raw.json") || prof__ends_with(path, ".raw.json.gz");
    return prof__save(trace, path, prof__timeline_writer, &desc);
}
#endif

/* ---- @EXECUTION: what ran, in which order, on which inputs: PyTorch's execution trace ---- */

#if !PROF__BARE
#define PROF__SPANS 16
typedef struct prof__stretch { uint64_t from, to; } prof__stretch;   /* ticks */

/* The inputs of a node, or its outputs. */
typedef struct prof__values {
    const prof_shape *shapes, *strides;
    const char *const *dtypes, *const *concrete;
    const prof_tensor *tensors;
    uint32_t count, tensor_count;
} prof__values;

typedef struct prof__et_node {
    const char *name, *arguments;        /* arguments: members of a JSON object, or NULL */
    uint64_t id, parent, record, fw_parent, tid, fw_tid, scope;
    int64_t sequence_nr;
    prof__values in, out;
} prof__et_node;

PROF__FN uint64_t prof__elements(const prof_shape *s) {
    uint64_t n = 1;
    for (uint32_t i = 0; s && s->dims && i < s->count; i++) {
        uint64_t dim = s->dims[i] > 0 ? (uint64_t)s->dims[i] : 0;
        n = dim && n > (uint64_t)INT64_MAX / dim ? (uint64_t)INT64_MAX : n * dim;
    }
    return n;
}

/* Bytes of an element of this type; 0: not known. */
PROF__FN uint64_t prof__item_size(const char *dtype) {
    static const char *const names[] = {
        "double", "long int", "long", "c10::complex<float>", "float", "int", "unsigned int",
        "c10::Half", "c10::BFloat16", "short int", "short", "bool", "signed char",
        "unsigned char", "c10::complex<double>" };
    static const uint8_t sizes[] = { 8, 8, 8, 8, 4, 4, 4, 2, 2, 2, 2, 1, 1, 1, 16 };
    for (size_t i = 0; i < sizeof sizes; i++)
        if (strcmp(dtype, names[i]) == 0) return sizes[i];
    return strncmp(dtype, "c10::Float8", 11) == 0;
}

/* [id, storage, offset, elements, bytes of one, "cuda:0"] */
PROF__FN void prof__et_tensor(prof__out *o, const prof_shape *s, const char *dtype,
                                const prof_tensor *t) {
    static const prof_tensor none = { 0, 0, 0, { PROF_DEVICE_CPU, 0 } };
    if (!t) t = &none;
    prof__out_f(o, "[%u,%u,%i,%u,%u,\"%s", t->id, t->storage, t->offset, prof__elements(s),
                prof__item_size(dtype), prof_device_name(t->device.type));
    if (t->device.type != PROF_DEVICE_CPU) prof__out_f(o, ":%i", (int64_t)t->device.index);
    prof__out_text(o, "\"]");
}

PROF__FN const char *prof__value_dtype(const prof__values *v, uint32_t i) {
    return v->dtypes ? prof__text(v->dtypes[i]) : "";
}

/* The text of what is no tensor; NULL: it is one. */
PROF__FN const char *prof__value_scalar(const prof__values *v, uint32_t i) {
    const char *text = v->concrete ? prof__text(v->concrete[i]) : "";
    return *text && !(v->shapes && v->shapes[i].items) ? text : NULL;
}

/* The type of JSON, as PyTorch calls it; Python's words and other text are no JSON. */
PROF__FN const char *prof__scalar_type(const char *text, const char *dtype) {
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) return "Bool";
    if (strcmp(text, "None") == 0) return "None";
    if (strcmp(dtype, "String") == 0 || prof__json_check(text)) return "String";
    text += strspn(text, " \t\r\n");
    if (*text == '"') return "String";
    if (*text == '{') return "Dict";
    if (*text == '[') return "GenericList[]";
    if (*text == 't' || *text == 'f') return "Bool";
    if (*text == 'n') return "None";
    return text[strcspn(text, ".eE")] ? "Double" : "Int";
}

PROF__FN void prof__et_scalar(prof__out *o, const char *text, const char *dtype) {
    const char *type = prof__scalar_type(text, dtype);
    if (strcmp(type, "None") == 0) prof__out_text(o, "\"<None>\"");
    else if (*text == 'T' && *type == 'B') prof__out_text(o, "true");
    else if (*text == 'F' && *type == 'B') prof__out_text(o, "false");
    else if (*type == 'S' && (strcmp(dtype, "String") == 0 || prof__json_check(text)))
        prof__out_f(o, "\"%j\"", text);
    else prof__out_text(o, text);
}

PROF__FN void prof__et_value(prof__out *o, const prof__values *v, uint32_t i) {
    const prof_shape *s = v->shapes ? v->shapes + i : NULL;
    const char *scalar = prof__value_scalar(v, i), *dtype = prof__value_dtype(v, i);
    if (scalar) {
        prof__et_scalar(o, scalar, dtype);
    } else if (!s || !s->items) {
        prof__et_tensor(o, s, dtype, i < v->tensor_count ? v->tensors + i : NULL);
    } else {
        for (uint32_t j = 0; j < s->count; j++) {
            prof__out_text(o, j ? "," : "[");
            prof__et_tensor(o, s->items + j, dtype, NULL);
        }
        prof__out_text(o, s->count ? "]" : "[]");
    }
}

PROF__FN void prof__et_type(prof__out *o, const prof__values *v, uint32_t i) {
    const prof_shape *s = v->shapes ? v->shapes + i : NULL;
    const char *scalar = prof__value_scalar(v, i), *dtype = prof__value_dtype(v, i);
    uint32_t count = s && s->items ? s->count : 1;
    if (scalar) {
        prof__out_f(o, "\"%j\"", prof__scalar_type(scalar, dtype));
        return;
    }
    prof__out_text(o, s && s->items ? "\"GenericList[" : "\"");
    for (uint32_t j = 0; j < count; j++)
        prof__out_f(o, *dtype ? "%sTensor(%j)" : "%sTensor%j", j ? "," : "", dtype);
    prof__out_text(o, s && s->items ? "]\"" : "\"");
}

PROF__FN void prof__et_shapes(prof__out *o, const char *key, const prof_shape *shapes,
                                uint32_t count) {
    prof__out_text(o, key);
    if (shapes) {
        prof__put_shapes(o, shapes, count, ",");
        return;
    }
    for (uint32_t i = 0; i < count; i++) prof__out_text(o, i ? ",[]" : "[[]");
    prof__out_text(o, count ? "]" : "[]");
}

PROF__FN void prof__et_values(prof__out *o, const char *key, const prof__values *v) {
    prof__out_text(o, key);
    for (uint32_t i = 0; i < v->count; i++) {
        if (i) prof__out_text(o, ",");
        prof__et_value(o, v, i);
    }
    prof__et_shapes(o, "],\"shapes\":", v->shapes, v->count);
    prof__out_text(o, ",\"types\":[");
    for (uint32_t i = 0; i < v->count; i++) {
        if (i) prof__out_text(o, ",");
        prof__et_type(o, v, i);
    }
    prof__et_shapes(o, "],\"strides\":", v->strides, v->count);
    prof__out_text(o, "}");
}

/* ---- attributes ---- */

/* One `"key":value` of the members of an object. */
typedef struct prof__member { const char *key, *value; size_t key_size, value_size; } prof__member;

/* The next one, behind *at; false: there is none, or it is no JSON. */
PROF__FN bool prof__member_next(const char **at, prof__member *m) {
    prof__json j = { NULL, NULL };
    j.at = *at;
    prof__json_space(&j);
    if (*j.at == ',') j.at++;
    prof__json_space(&j);
    m->key = j.at;
    if (!prof__json_string(&j)) return false;
    m->key_size = (size_t)(j.at - m->key);
    prof__json_space(&j);
    if (*j.at != ':') return false;
    j.at++;
    prof__json_space(&j);
    m->value = j.at;
    if (!prof__json_value(&j)) return false;
    m->value_size = (size_t)(j.at - m->value);
    *at = j.at;
    return true;
}

PROF__FN bool prof__member_is(const prof__member *m, const char *key) {
    size_t n = strlen(key);
    return m->key_size == n + 2 && memcmp(m->key + 1, key, n) == 0;
}

/* What the zone was told of this key: text in its quotes; "": nothing. */
PROF__FN prof__member prof__member_text(const char *members, const char *key) {
    prof__member m = { NULL, NULL, 0, 0 };
    while (members && prof__member_next(&members, &m))
        if (prof__member_is(&m, key) && *m.value == '"') return m;
    m.value = "\"\"";
    m.value_size = 2;
    return m;
}

static const char *const prof__et_texts[] = { "op_schema", "kernel_backend", "kernel_file",
                                                "tensor_range" };
#define PROF__NODE_TEXTS (sizeof prof__et_texts / sizeof *prof__et_texts)

/* The zone's other arguments, but lists and objects. */
PROF__FN void prof__et_arguments(prof__out *o, const char *members) {
    prof__member m;
    while (members && prof__member_next(&members, &m)) {
        const char *type = "int64";
        bool known = *m.value == '[' || *m.value == '{' || *m.value == 'n';
        for (size_t i = 0; i < PROF__NODE_TEXTS; i++)
            if (prof__member_is(&m, prof__et_texts[i])) known = true;
        if (known) continue;
        if (*m.value == '"') type = "string";
        else if (*m.value == 't' || *m.value == 'f') type = "bool";
        else if (strcspn(m.value, ".eE") < m.value_size) type = "double";
        prof__out_f(o, ",{\"name\":%b,\"type\":\"%j\",\"value\":%b}", m.key, m.key_size, type,
                    m.value, m.value_size);
    }
}

PROF__FN void prof__et_attributes(prof__out *o, const prof__et_node *n) {
    prof__out_f(o, ",\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"fw_parent\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"seq_id\",\"type\":\"int64\",\"value\":%i},"
                   "{\"name\":\"scope\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"tid\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"fw_tid\",\"type\":\"uint64\",\"value\":%u}",
                n->record, n->fw_parent, n->sequence_nr, (uint64_t)n->scope, n->tid, n->fw_tid);
    for (size_t i = 0; i < PROF__NODE_TEXTS; i++) {
        prof__member m = prof__member_text(n->arguments, prof__et_texts[i]);
        prof__out_f(o, ",{\"name\":\"%s\",\"type\":\"string\",\"value\":%b}", prof__et_texts[i],
                    m.value, m.value_size);
    }
    prof__et_arguments(o, n->arguments);
    prof__out_text(o, "]}");
}

PROF__FN void prof__et_put(prof__out *o, const prof__et_node *n) {
    prof__out_f(o, "\n{\"id\":%u,\"name\":\"%j\",\"ctrl_deps\":%u", n->id, n->name, n->parent);
    prof__et_values(o, ",\"inputs\":{\"values\":[", &n->in);
    prof__et_values(o, ",\"outputs\":{\"values\":[", &n->out);
    prof__et_attributes(o, n);
}

/* One that stands for a process, a thread, a range of the user's. */
PROF__FN prof__et_node prof__et_plain(const char *name, uint64_t id, uint64_t parent,
                                     uint64_t tid) {
    prof__et_node n;
    memset(&n, 0, sizeof n);
    n.name = name;
    n.id = id;
    n.parent = parent;
    n.tid = tid;
    n.scope = 7;                         /* at::RecordScope::USER_SCOPE */
    n.sequence_nr = -1;
    return n;
}

/* ---- the nodes of a trace: its process groups, its threads, then its events by start ---- */

typedef struct prof__nodes {
    const struct prof_trace *s;
    uint64_t first;                      /* id of the first node */
    uint32_t done;                       /* events that were written before */
    int64_t spans[PROF__SPANS][2];       /* when the observer ran; */
    uint32_t span_count;                 /* 0: always */
    /* Threads that had an event, found by their id: entry n + 1 in index. In the scratch memory,
       16 bytes an event. */
    uint32_t *index, *thread, *last;     /* last: the last event that began */
    uint32_t thread_count;
    uint64_t want;                       /* the id that is looked for */
} prof__nodes;

PROF__FN bool prof__nodes_has(const prof__nodes *n, uint32_t i) {
    const prof_event *e = n->s->events + i;
    bool within = !n->span_count;
    if (i < n->done || !prof__is_node(e)) return false;
    for (uint32_t k = 0; k < n->span_count; k++)
        if (e->start_ns >= n->spans[k][0] && e->start_ns < n->spans[k][1]) within = true;
    return within;
}

PROF__FN uint64_t prof__nodes_id(const prof__nodes *n, uint32_t i) {
    return n->first + 1 + n->s->thread_count + i;
}

/* The node of event i or of the next one around it that has one; else of the thread. */
PROF__FN uint64_t prof__nodes_around(const prof__nodes *n, uint32_t i, uint32_t thread) {
    while (i != PROF_NONE && !prof__nodes_has(n, i)) i = n->s->events[i].parent;
    return i == PROF_NONE ? n->first + 1 + thread : prof__nodes_id(n, i);
}

PROF__FN bool prof__nodes_same(const void *context, uint32_t number) {
    const prof__nodes *n = (const prof__nodes *)context;
    return n->s->threads[n->thread[number]].id == n->want;
}

PROF__FN uint32_t *prof__nodes_thread(prof__nodes *n, uint64_t id) {
    n->want = id;
    return prof__place_of(n->index, 2 * n->s->event_count, id, prof__nodes_same, n);
}

/* What was open on the forward's thread when e, which is event i, began. */
PROF__FN uint64_t prof__nodes_forward(prof__nodes *n, const prof_event *e) {
    uint32_t k;
    if (!prof__asks_forward(e)) return 0;
    k = *prof__nodes_thread(n, e->extra->fwd_thread);
    if (!k--) return 0;
    return prof__nodes_around(n, prof__innermost(n->s, n->last + k, e->start_ns), n->thread[k]);
}

PROF__FN void prof__nodes_began(prof__nodes *n, uint32_t i) {
    const prof_event *e = n->s->events + i;
    uint32_t *place;
    if (!prof__in_tree(e)) return;
    place = prof__nodes_thread(n, n->s->threads[e->thread].id);
    if (!*place) {
        n->thread[n->thread_count] = e->thread;
        *place = ++n->thread_count;
    }
    n->last[*place - 1] = i;
}

PROF__FN void prof__nodes_extra(prof__et_node *node, const prof_extra *x) {
    node->arguments = x->metadata_json;
    if (node->scope != 7) node->scope = x->scope;
    if (x->has & PROF_HAS_SEQUENCE_NR) node->sequence_nr = x->sequence_nr;
    if (x->has & PROF_HAS_FWD_THREAD) node->fw_tid = x->fwd_thread;
    node->in.shapes = x->input_shapes;
    node->in.strides = x->strides;
    node->in.dtypes = x->dtypes;
    node->in.concrete = x->concrete_inputs;
    node->in.count = x->input_count;
    node->in.tensors = x->tensors;
    node->in.tensor_count = x->tensor_count;
    node->out.shapes = x->output_shapes;
    node->out.dtypes = x->output_dtypes;
    node->out.count = x->output_count;
    if (x->tensor_count <= x->input_count) return;
    node->out.tensors = x->tensors + x->input_count;
    node->out.tensor_count = x->tensor_count - x->input_count;
}

PROF__FN void prof__nodes_event(prof__nodes *n, prof__out *o, uint32_t i) {
    const struct prof_trace *s = n->s;
    const prof_event *e = s->events + i;
    prof__et_node node = prof__et_plain(prof__chrome_name(e), prof__nodes_id(n, i),
                                       prof__nodes_around(n, e->parent, e->thread),
                                       prof__chrome_tid(s, e->thread));
    if (!prof__is_annotation(e)) node.scope = 0;
    node.record = prof__record_id(s, e);
    if (e->extra) prof__nodes_extra(&node, e->extra);
    if (s->any_sequence) node.fw_parent = prof__nodes_forward(n, e);
    prof__et_put(o, &node);
    prof__out_text(o, ",");
}

/* torch.distributed's list of process groups; without one of the user's: the group of all. */
PROF__FN bool prof__process_groups(prof__out *o) {
    static const char key[] = "\"distributedInfo\":";
    const struct prof__metadata *m = &prof__metadata;
    const char *entry = prof__metadata_find(key, sizeof key - 1, m->preset, m->used), *at;
    prof__member member, size, count;
    if (!entry) entry = prof__metadata_find(key, sizeof key - 1, 0, m->preset);
    if (!entry || entry[sizeof key - 1] != '{') return false;
    size.value = count.value = "1";
    size.value_size = count.value_size = 1;
    for (at = entry + sizeof key; prof__member_next(&at, &member);) {
        if (prof__member_is(&member, "world_size")) size = member;
        if (prof__member_is(&member, "pg_count")) count = member;
        if (!prof__member_is(&member, "pg_config")) continue;
        prof__out_bytes(o, member.value, member.value_size);
        return true;
    }
    member = prof__member_text(entry + sizeof key, "backend");
    prof__out_f(o, "[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": %b, "
                   "\"ranks\": [], \"group_size\": %b, \"group_count\": %b}]",
                member.value, member.value_size, size.value, size.value_size,
                count.value, count.value_size);
    return true;
}

PROF__FN void prof__nodes_groups(const prof__nodes *n, prof__out *out) {
    static const char *const type = "String";
    prof__entry entry;
    prof_sink sink = { prof__entry_write, NULL };
    const char *text = entry.text;
    prof__et_node node = prof__et_plain("## process_group:init ##", n->first, 1, 0);
    prof__out o;
    sink.user = &entry;
    entry.size = 0;
    prof__out_open(&o, sink);
    if (n->s->built || !prof__process_groups(&o)) return;
    prof__out_bytes(&o, "", 1);
    if (prof__out_close(&o) != PROF_OK) return;
    if (n->s->thread_count) {
        node.parent = n->first + 1;
        node.tid = prof__chrome_tid(n->s, 0);
    }
    node.in.concrete = &text;
    node.in.dtypes = &type;
    node.in.count = 1;
    prof__et_put(out, &node);
    prof__out_text(out, ",");
}

PROF__FN void prof__nodes_write(prof__nodes *n, prof__out *o) {
    const struct prof_trace *s = n->s;
    prof__nodes_groups(n, o);
    for (uint32_t i = 0; i < s->thread_count && !o->failed; i++) {
        prof__et_node node = prof__et_plain("[pytorch|profiler|execution_trace|thread]",
                                           n->first + 1 + i, 1, prof__chrome_tid(s, i));
        prof__et_put(o, &node);
        prof__out_text(o, ",");
    }
    n->index = (uint32_t *)(void *)s->scratch;
    n->thread = n->index + 2 * s->event_count;
    n->last = n->thread + s->event_count;
    n->thread_count = 0;
    if (s->any_sequence) memset(n->index, 0, 2 * s->event_count * sizeof *n->index);
    for (uint32_t i = 0; i < s->event_count && !o->failed; i++) {
        if (prof__nodes_has(n, i)) prof__nodes_event(n, o, i);
        if (s->any_sequence) prof__nodes_began(n, i);
    }
}

/* ---- the file's head and end ---- */

PROF__FN void prof__put_padded(prof__out *o, const char *before, uint64_t n) {
    prof__out_f(o, n < 10 ? "%s0%u" : "%s%u", before, n);
}

PROF__FN bool prof__is_leap(uint64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* 2026-01-31 23:59:59, UTC */
PROF__FN void prof__put_date(prof__out *o, uint64_t ns) {
    static const uint8_t lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    uint64_t s = ns / 1000000000u, days = s / 86400, year = 1970, month = 0;
    for (; ; year++) {
        uint64_t n = prof__is_leap(year) ? 366 : 365;
        if (days < n) break;
        days -= n;
    }
    for (; ; month++) {
        uint64_t n = month == 1 && prof__is_leap(year) ? 29 : lengths[month];
        if (days < n) break;
        days -= n;
    }
    prof__out_u64(o, year);
    prof__put_padded(o, "-", month + 1);
    prof__put_padded(o, "-", days + 1);
    prof__put_padded(o, " ", s / 3600 % 24);
    prof__put_padded(o, ":", s / 60 % 60);
    prof__put_padded(o, ":", s % 60);
}

PROF__FN void prof__execution_head(prof__out *o, uint32_t pid, uint64_t wall_ns) {
    prof__out_f(o, "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": %u, \"time\": \"",
                (uint64_t)pid);
    prof__put_date(o, wall_ns);
    prof__out_f(o, "\", \"start_ts\": %u,\n\"nodes\": [", wall_ns / 1000000u);
}

PROF__FN void prof__execution_end(prof__out *o, uint64_t wall_ns) {
    prof__et_node root = prof__et_plain("[pytorch|profiler|execution_trace|process]", 1, 1, 0);
    prof__et_put(o, &root);
    prof__out_f(o, "\n], \"finish_ts\": %u}\n", wall_ns / 1000000u);
}

PROF__FN uint64_t prof__trace_end(const struct prof_trace *s) {
    int64_t end = 0;
    for (uint32_t i = 0; i < s->event_count; i++) end = PROF__MAX(end, s->events[i].end_ns);
    return s->start_wall_ns + (uint64_t)end;
}

PROF_API PROF__QUIET prof_result prof_write_execution_trace(const prof_trace *trace,
                                                            prof_sink out) {
    prof__nodes n;
    prof__out o;
    if (!prof__valid(trace) || !out.write) return PROF_ERROR_INVALID;
    if (trace->records_only) return PROF_ERROR_STATE;
    if (!prof__analyse(trace)) return PROF_ERROR_MEMORY;
    memset(&n, 0, sizeof n);
    n.s = trace;
    n.first = 2;
    prof__out_open(&o, out);
    prof__execution_head(&o, prof__chrome_pid(trace), trace->start_wall_ns);
    prof__nodes_write(&n, &o);
    prof__execution_end(&o, prof__trace_end(trace));
    return prof__out_close(&o);
}

/* ---- the observer: a file that gets the nodes of each window when it closes ---- */

static struct prof__execution {
    char path[1024];
    bool registered, running;
    prof_result result;                  /* of what went wrong first */
    uint64_t end;                        /* of the nodes in the file; 0: there are none yet */
    uint64_t next_id, next_record;       /* for the next window */
    uint32_t generation, done;           /* the trace that was written last, how many events */
    prof__stretch spans[PROF__SPANS];       /* of the open window */
    uint32_t span_count;
} prof__execution;

/* The file under path, to be written from offset at on; 0: it is emptied. */
#if defined(_WIN32)
PROF__FN bool prof__file_open_at(prof_file *f, const char *path, uint64_t at) {
    LARGE_INTEGER to;
    HANDLE h = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ, NULL,
                           at ? OPEN_EXISTING : CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    f->handle = (intptr_t)h;
    to.QuadPart = (LONGLONG)at;
    return h != INVALID_HANDLE_VALUE && SetFilePointerEx(h, to, NULL, FILE_BEGIN);
}
#else
PROF__FN bool prof__file_open_at(prof_file *f, const char *path, uint64_t at) {
    int handle = open(path, at ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0666);
    f->handle = handle;
    return handle >= 0 && (!at || lseek(handle, (off_t)at, SEEK_SET) == (off_t)at);
}
#endif

typedef struct prof__execution_file { prof_file file; uint64_t at; } prof__execution_file;

PROF__FN bool prof__execution_put(void *user, const void *data, size_t size) {
    prof__execution_file *f = (prof__execution_file *)user;
    f->at += size;
    return prof__file_put(&f->file, (const char *)data, size);
}

/* Writes n's nodes (NULL: none) behind those that the file has, its end, and blanks up to least. */
PROF__FN bool prof__execution_write(prof__nodes *n, uint64_t begin, uint64_t end,
                                    uint64_t *least) {
    struct prof__execution *x = &prof__execution;
    prof__execution_file f;
    prof_sink sink = { prof__execution_put, NULL };
    prof__out o;
    uint64_t nodes_end;
    bool ok;
    sink.user = &f;
    f.at = x->end;
    if (!prof__file_open_at(&f.file, x->path, x->end)) return false;
    prof__out_open(&o, sink);
    if (!x->end) prof__execution_head(&o, prof__chrome_pid(&prof__trace), begin);
    if (n) prof__nodes_write(n, &o);
    prof__out_flush(&o);
    nodes_end = f.at;
    prof__execution_end(&o, end);
    prof__out_flush(&o);
    prof__out_repeat(&o, ' ', (size_t)(*least > f.at ? *least - f.at : 0));
    ok = prof__out_close(&o) == PROF_OK;
    ok = prof__file_shut(&f.file) && ok;
    if (ok && n) x->end = nodes_end;
    *least = f.at;
    return ok;
}

PROF_API PROF__QUIET prof_result prof_execution_trace_register(const char *path) {
    struct prof__execution *x = &prof__execution;
    size_t size = path ? strlen(path) + 1 : 0;
    uint64_t now = prof__wall_now(), least = 0;
    if (x->registered) return PROF_OK;
    if (size < 2 || size > sizeof x->path) return PROF_ERROR_INVALID;
    memset(x, 0, sizeof *x);
    memcpy(x->path, path, size);
    x->next_id = 2;
    if (!prof__execution_write(NULL, now, now, &least)) return PROF_ERROR_FILE;
    x->registered = true;
    return PROF_OK;
}

PROF_API PROF__QUIET prof_result prof_execution_trace_start(void) {
    struct prof__execution *x = &prof__execution;
    struct prof_trace *s = &prof__trace;
    prof_result result = PROF_OK;
    prof__lock();
    if (!x->registered) {
        result = PROF_ERROR_STATE;
    } else if (!x->running && s->open && x->span_count == PROF__SPANS) {
        result = PROF_ERROR_MEMORY;
    } else if (!x->running) {
        x->running = true;
        if (s->open) {
            x->spans[x->span_count].from = prof__now_ticks(s->clock, &s->platform);
            x->spans[x->span_count++].to = UINT64_MAX;
        }
    }
    prof__unlock();
    return result;
}

PROF_API PROF__QUIET void prof_execution_trace_stop(void) {
    struct prof__execution *x = &prof__execution;
    struct prof_trace *s = &prof__trace;
    prof__lock();
    if (x->running && s->open && x->span_count)
        x->spans[x->span_count - 1].to = prof__now_ticks(s->clock, &s->platform);
    x->running = false;
    prof__unlock();
}

PROF_API PROF__QUIET prof_result prof_execution_trace_unregister(void) {
    struct prof__execution *x = &prof__execution;
    if (prof__trace.open && x->span_count) return PROF_ERROR_STATE;
    x->running = x->registered = false;
    return x->result;
}

PROF_API PROF__QUIET bool prof_execution_trace_is_registered(void) {
    return prof__execution.registered;
}

PROF_API PROF__QUIET bool prof_execution_trace_is_running(void) { return prof__execution.running; }

PROF_API PROF__QUIET const char *prof_execution_trace_path(void) {
    return prof__execution.registered ? prof__execution.path : NULL;
}

/* A window opens. */
PROF__FN void prof__execution_open(void) {
    struct prof__execution *x = &prof__execution;
    x->spans[0].from = 0;
    x->spans[0].to = UINT64_MAX;
    x->span_count = x->running;
}

PROF__FN prof_result prof__execution_append(struct prof_trace *s) {
    struct prof__execution *x = &prof__execution;
    prof__nodes n;
    prof__scale scale;
    uint64_t end, least = 0;
    if (s->records_only) return PROF_ERROR_STATE;
    memset(&n, 0, sizeof n);
    memset(&scale, 0, sizeof scale);
    if (!prof__analyse(s)) return PROF_ERROR_MEMORY;
    if (x->generation != s->first_generation) {
        s->first_record = x->next_record;
        x->done = 0;
    }
    x->generation = s->first_generation;
    s->record_ids = true;
    end = prof__trace_end(s);
    n.s = s;
    n.first = x->next_id;
    n.done = x->done;
    for (; n.span_count < x->span_count; n.span_count++) {
        const prof__stretch *span = x->spans + n.span_count;
        n.spans[n.span_count][0] = span->from ? prof__to_ns(&scale, span->from) : INT64_MIN;
        n.spans[n.span_count][1] =
            span->to != UINT64_MAX ? prof__to_ns(&scale, span->to) : INT64_MAX;
    }
    if (!prof__execution_write(&n, s->start_wall_ns, end, &least)) {
        (void)prof__execution_write(NULL, s->start_wall_ns, end, &least);   /* as it was */
        return PROF_ERROR_FILE;
    }
    x->done = s->event_count;
    x->next_id = prof__nodes_id(&n, s->event_count);
    x->next_record = s->first_record + s->event_count;
    return PROF_OK;
}

/* The window has closed. */
PROF__FN void prof__execution_close(struct prof_trace *s) {
    struct prof__execution *x = &prof__execution;
    prof_result result = PROF_OK;
    if (x->span_count && s->stopped) result = prof__execution_append(s);
    if (x->result == PROF_OK) x->result = result;
    x->span_count = 0;
}
#endif

/* ---- @RAW: records as blocks that can be read alone: the stream, the dump, the reader ---- */

/* ---- what a row of sums says ---- */

/* Calls in the buckets. */
PROF__FN uint64_t prof__tally_count(const prof__tally *r) {
    uint64_t n = 0;
    for (int i = 0; i < PROF__BUCKETS; i++) n += r->histogram[i];
    return n;
}

/* Ticks at or under which this share of the calls stayed: within a bucket they are held to lie
   evenly. */
PROF__FN uint64_t prof__tally_percentile(const prof__tally *r, uint32_t percent) {
    uint64_t before = 0, ticks = 0, rest, rank = prof__tally_count(r);
    uint32_t last = prof__divide(&rank, 100) * percent + 99;
    int i = 0;
    rank = rank * percent + last / 100;
    for (; i < PROF__BUCKETS - 1 && before + r->histogram[i] < rank; i++) before += r->histogram[i];
    if (i && r->histogram[i]) {
        uint64_t low = (uint64_t)1 << (i - 1) * PROF__BUCKET_BITS, parts = r->histogram[i];
        uint64_t part = rank - before, width = (low << PROF__BUCKET_BITS) - low;
        for (; parts >> 20; parts >>= 1) part >>= 1;
        rest = prof__divide(&width, (uint32_t)parts) * part;
        (void)prof__divide(&rest, (uint32_t)parts);
        ticks = low + width * part + rest;
    }
    return PROF__MAX(r->least, PROF__MIN(ticks, r->most));
}

/* The times of a row's average, in ticks, in the order of their fields: see prof_average. */
enum { PROF__TALLY_TIMES = 7 };
PROF__FN void prof__tally_times(const prof__tally *r, uint64_t *ticks) {
    static const uint8_t percents[] = { 50, 90, 99 };
    ticks[0] = r->total;
    ticks[1] = r->total - PROF__MIN(r->inner, r->total);
    ticks[2] = r->least;
    ticks[3] = r->most;
    for (int i = 0; i < 3; i++) ticks[4 + i] = prof__tally_percentile(r, percents[i]);
}

/* All that is no time. */
PROF__FN void prof__tally_identity(prof_average *a, const char *name, uint64_t count) {
    memset(a, 0, sizeof *a);
    a->key = name;
    a->count = count;
    a->overload_name = "";
    a->input_count = a->parent = PROF_NONE;
    a->node_id = -1;
}

#if !PROF__BARE
/* Adds the sums of one row to another; a bucket stays at its most. */
PROF__FN void prof__tally_add(prof__tally *r, const prof__tally *from) {
    r->count += from->count;
    r->total += from->total;
    r->inner += from->inner;
    r->least = PROF__MIN(r->least, from->least);
    r->most = PROF__MAX(r->most, from->most);
    for (int i = 0; i < PROF__BUCKETS; i++) {
        uint32_t n = r->histogram[i] + from->histogram[i];
        r->histogram[i] = n < from->histogram[i] ? UINT32_MAX : n;
    }
}
#endif

/* ---- blocks ---- */

enum {
    PROF__RAW_SESSION = 1, PROF__RAW_SITES, PROF__RAW_THREAD, PROF__RAW_RECORDS, PROF__RAW_OPEN,
    PROF__RAW_COUNTS, PROF__RAW_SUMS
};
enum {
    PROF__RAW_MAGIC = 0x50524f46, PROF__RAW_VERSION = 2,
    PROF__RAW_HEAD = 6,                  /* words before the payload */
    PROF__RAW_RECORDS_HEAD = 10,         /* ... and of it, before the records */
    PROF__RAW_SUMS_HEAD = 6,             /* ... before the rows; */
    PROF__RAW_SUM = 12,                  /* and of a row, before its buckets */
    PROF__RAW_WORDS = PROF__BARE ? 144 : 4096,   /* that the writer puts into a block */
    PROF__RAW_LIMIT = 65536,             /* bytes of payload that the reader takes */
    PROF__RAW_AGAIN = 64                 /* blocks of records between two that tell all names */
};

/* One block, made in place, and what the blocks before it have told. */
typedef struct prof__raw {
    prof_sink sink;
    bool failed, chrome, dump;
    uint32_t number, used, sites, names, round, told;   /* round: from 1; told: record blocks */
    uint32_t row;                        /* of a dump: 1 + number of the last one told */
#if PROF__BARE
    uint32_t zones;                      /* that were written */
#else
    uint64_t last_knot;
    prof__knot now;                      /* readings of both clocks, and of the session's */
    uint64_t now_ns;
#endif
    uint32_t words[PROF__RAW_WORDS];
} prof__raw;

/* n modulo 2^32 - 1, without a division. */
PROF__FN uint32_t prof__raw_modulo(uint64_t n) {
    n = (n >> 32) + (n & UINT32_MAX);
    n = (n >> 32) + (n & UINT32_MAX);
    return n == UINT32_MAX ? 0 : (uint32_t)n;
}

/* Seals a block of n words. Fewer than 65536 words cannot overflow 64 bits. */
PROF__FN void prof__raw_seal(uint32_t *words, size_t n) {
    uint64_t a = 0, b = 0;
    words[4] = words[5] = 0;
    for (size_t i = 1; i < n; i++) {
        a += words[i];
        b += a;
    }
    words[4] = prof__raw_modulo(a);
    words[5] = prof__raw_modulo(b);
}

PROF__FN void prof__raw_begin(prof__raw *w, uint32_t type) {
    w->words[0] = PROF__RAW_MAGIC;
    w->words[1] = (uint32_t)PROF__RAW_VERSION << 16 | type;
    w->used = PROF__RAW_HEAD;
}

PROF__FN bool prof__raw_end(prof__raw *w) {
    w->words[2] = (w->used - PROF__RAW_HEAD) * 4;
    w->words[3] = w->number;
    prof__raw_seal(w->words, w->used);
    if (!w->failed && !w->sink.write(w->sink.user, w->words, w->used * sizeof *w->words))
        w->failed = true;
    w->number += !w->failed;
    return !w->failed;
}

PROF__FN void prof__raw_u32(prof__raw *w, uint32_t n) { w->words[w->used++] = n; }

PROF__FN void prof__raw_u64(prof__raw *w, uint64_t n) {
    prof__raw_u32(w, (uint32_t)n);
    prof__raw_u32(w, (uint32_t)(n >> 32));
}

/* The texts one after another, then zeroes to a whole word. */
PROF__FN void prof__raw_text(prof__raw *w, const char *const *texts, const size_t *sizes, int n) {
    char *to = (char *)(w->words + w->used), *begin = to;
    for (int i = 0; i < n; to += sizes[i++]) memcpy(to, texts[i], sizes[i]);
    while ((to - begin) & 3) *to++ = 0;
    w->used += (uint32_t)((size_t)(to - begin) / 4);
}

/* False: the block is full. */
PROF__FN bool prof__raw_site(prof__raw *w, uint32_t number) {
    const prof_site *site = prof__site(number);
    const char *texts[3];
    size_t sizes[3], all = 0, room = sizeof w->words - (PROF__RAW_HEAD + 6) * sizeof *w->words;
    texts[0] = site->name;
    texts[1] = site->file;
    texts[2] = site->function;
    for (int i = 0; i < 3; i++) {        /* a block on a small machine may not hold it all */
        size_t n = strlen(texts[i]);
        sizes[i] = PROF__MIN(n, room - all);
        all += sizes[i];
    }
    if ((PROF__RAW_WORDS - w->used) * 4 < all + 24) return false;
    prof__raw_u32(w, number);
    prof__raw_u32(w, site->line);
    for (int i = 0; i < 3; i++) prof__raw_u32(w, (uint32_t)sizes[i]);
    prof__raw_text(w, texts, sizes, 3);
    return true;
}

/* The thread's name; none while it is being written. */
PROF__FN void prof__row_name_read(const prof__row *row, char *text) {
#if PROF__BARE
    memcpy(text, row->name, sizeof row->name);
#else
    uint32_t renames;
    PROF__FENCE();                       /* after it counts as announced */
    renames = PROF__ACQUIRE(row->renames);
    prof__copy_words(text, row->name, sizeof row->name);
    PROF__FENCE();
    if (renames % 2 || PROF__LOAD(row->renames) != renames) text[0] = 0;
#endif
    text[sizeof row->name - 1] = 0;
}

PROF__FN void prof__raw_thread_begin(prof__raw *w, const prof__row *row) {
    char text[sizeof row->name];
    const char *name = text;
    uint64_t id;
    size_t size;
    prof__row_name_read(row, text);
    prof__copy_words(&id, &row->info.id, sizeof id);
    size = strlen(text);
    prof__raw_begin(w, PROF__RAW_THREAD);
    prof__raw_u32(w, PROF__LOAD(row->number));
    prof__raw_u32(w, (uint32_t)size);
    prof__raw_u64(w, id);
    prof__raw_text(w, &name, &size, 1);
}

PROF__FN bool prof__raw_thread(prof__raw *w, const prof__row *row) {
    prof__raw_thread_begin(w, row);
    return prof__raw_end(w);
}

PROF__FN void prof__raw_open_head(prof__raw *w, const prof__row *row, uint64_t end, uint32_t n) {
    prof__raw_begin(w, PROF__RAW_OPEN);
    prof__raw_u32(w, PROF__LOAD(row->number));
    prof__raw_u32(w, n);
    prof__raw_u64(w, end);
}

#define PROF__RAW_PUT(name, value, place, note) counts[place] = s->name;
#define PROF__RAW_TAKE(name, value, place, note) s->name = counts[place];

PROF__FN void prof__raw_counts(prof__raw *w, const prof_stats *s, bool last) {
    uint64_t counts[PROF__NO + 1];
    PROF__STATS(PROF__RAW_PUT, PROF__RAW_PUT, PROF__RAW_PUT)
    counts[14] = s->threads;
    prof__raw_begin(w, PROF__RAW_COUNTS);
    prof__raw_u32(w, last);
    prof__raw_u32(w, PROF__NO);
    for (int i = 0; i < PROF__NO; i++) prof__raw_u64(w, counts[i]);
    prof__raw_end(w);
}

/* Zones, moments and steps: what streams tell of. */
PROF__FN bool prof__item_shows(const prof__item *i) {
    if (!PROF__BARE && i->kind == PROF__REAL) return i->slots == 2;
    return !i->kind || (i->kind > PROF__CLOCK && i->kind <= PROF__STEP);
}

/* When a zone, a step or a moment began. */
PROF__FN uint64_t prof__item_start(const prof__item *i) {
    return i->end - PROF__MIN(i->duration, i->end);
}

/* The stream as a Chrome array: every event stands behind a comma, so that it may end anywhere. */
static struct prof__chrome_stream {
    prof__out out;
    prof__place place;
    prof__scale scale;
    prof_sink sink;
    bool told;                           /* the head is written */
} prof__chrome_out;

PROF__FN uint64_t prof__chrome_row_tid(const struct prof_trace *s, const prof__row *row) {
    return s->clock == PROF_CLOCK_PLATFORM ? row->number : row->info.id & INT32_MAX;
}

/* The head of the array: in what process, and since when. */
PROF__FN void prof__chrome_begin(const struct prof_trace *s) {
    prof__out *o = &prof__chrome_out.out;
    if (prof__chrome_out.told) return;
    prof__chrome_out.told = true;
    prof__chrome_array_head(o, s, false);
    prof__chrome_process(o, s);
}

/* What comes before a row's events; the names of threads come again when the stream ends. */
PROF__FN void prof__chrome_tell(prof__row *row, bool again) {
    struct prof__chrome_stream *c = &prof__chrome_out;
    uint64_t tid = prof__chrome_row_tid(&prof__trace, row);
    bool tell = again || !PROF__LOAD(row->announced);
    char name[sizeof row->name];
    prof__chrome_begin(&prof__trace);
    PROF__STORE(row->announced, 1u);     /* first: a name that comes now is to be told, too */
    if (tell) {
        prof__row_name_read(row, name);
        prof__chrome_thread(&c->out, prof__chrome_pid(&prof__trace), tid, name[0] ? name : NULL,
                            row->number);
    }
    prof__chrome_place(&c->place, &prof__trace, row->number, tid);
}

PROF__FN void prof__chrome_item(struct prof__chrome_stream *c, const prof__item *i) {
    const char *name = prof__site(i->site_depth >> 8)->name;
    int64_t start = prof__to_ns(&c->scale, prof__item_start(i)), value;
    int64_t end = prof__to_ns(&c->scale, i->end);
    char step[40] = "ProfilerStep#";
    if (!PROF__BARE && i->kind == PROF__STEP) {
        *prof__text_u64(step + 13, i->value) = 0;
        prof__chrome_zone(&c->out, &c->place, step, start, end, 0);
    } else if (i->kind == PROF__INSTANT || i->kind == PROF__COUNTER || i->kind == PROF__REAL) {
        value = (int64_t)i->value;
        prof__chrome_put_moment(&c->out, &c->place, name, start,
                                i->kind == PROF__INSTANT ? NULL : &value, i->kind == PROF__REAL);
    } else {
        prof__chrome_zone(&c->out, &c->place, name, start, end,
                          i->kind == PROF__UNFINISHED ? PROF_EVENT_UNFINISHED : 0);
    }
}

/* Zones still open, and names that came late. Returns how many zones. */
PROF__FN uint32_t prof__chrome_rest(struct prof__chrome_stream *c, const struct prof_trace *s) {
    prof__item item;
    uint32_t n = 0;
    item.kind = PROF__UNFINISHED;
    prof__chrome_begin(s);
    for (prof__row *row = s->rows; row; row = row->next) {
        prof__chrome_tell(row, true);
        for (uint32_t i = 0; i < prof__row_open_count(row); i++, n++) {
            prof__open o = prof__row_open(row, i);
            item.end = PROF__MAX(prof__row_stop(row), o.start);
            item.duration = item.end - o.start;
            item.site_depth = o.site;
            prof__chrome_item(c, &item);
        }
    }
    return n;
}

#if !PROF__BARE
/* Ticks per second as the pairs of readings say. */
PROF__FN uint64_t prof__raw_rate(const struct prof_trace *s, prof__knot now) {
    uint64_t ticks = now.tick - prof__first_knot.tick, ns = now.ns - prof__first_knot.ns;
    if (s->clock != PROF_CLOCK_CPU) return prof__clock_rate(s);
    for (; ticks >> 33; ticks >>= 1) ns >>= 1;
    return ns ? ticks * 1000000000u / ns : 1;
}

/* knots: how many of the session's to tell; a dump of an open one tells where it began and now. */
PROF__FN bool prof__raw_session(prof__raw *w, bool dump) {
    const struct prof_trace *s = &prof__trace;
    uint32_t knots = s->clock != PROF_CLOCK_CPU ? 0 : dump ? 1 : s->knot_count;
    prof__raw_begin(w, PROF__RAW_SESSION);
    prof__raw_u32(w, (uint32_t)s->clock);
    prof__raw_u32(w, s->clock == PROF_CLOCK_PLATFORM ? 1 : prof__process_id());
    prof__raw_u64(w, prof__raw_rate(s, w->now));
    prof__raw_u64(w, s->start_tick);
    prof__raw_u64(w, s->start_wall_ns);
    prof__raw_u32(w, s->first_generation);   /* prof_toggle makes no new session */
    prof__raw_u32(w, knots + (knots && dump));
    for (uint32_t i = 0; i < knots; i++) {
        prof__raw_u64(w, s->knots[i].tick);
        prof__raw_u64(w, s->knots[i].ns - s->knots[0].ns);
    }
    if (knots && dump) {
        prof__raw_u64(w, w->now.tick);
        prof__raw_u64(w, w->now.ns - s->knots[0].ns);
    }
    return prof__raw_end(w);
}

/* The sites that the stream has not told yet, a block at a time. */
PROF__FN void prof__raw_sites(prof__raw *w) {
    uint32_t sites = PROF__ACQUIRE(prof__site_count), names = PROF__ACQUIRE(prof__names.count);
    if (w->sites < sites && prof__trace.mode == PROF_MODE_STREAM) prof__functions_name_new();
    while (!w->failed && (w->sites < sites || w->names < names)) {
        uint32_t i = w->sites, j = w->names;
        prof__raw_begin(w, PROF__RAW_SITES);
        while (i < sites && prof__raw_site(w, i + 1)) i++;
        while (i == sites && j < names && prof__raw_site(w, PROF__PUSHED + j)) j++;
        if (!prof__raw_end(w)) return;
        w->sites = i;
        w->names = j;
    }
}

/* A stretch of one thread's records, to be written. */
typedef struct prof__span {
    const prof__record *at, *end;
    uint64_t position;                   /* slots the thread wrote before it */
    uint64_t zones;                      /* that were written of it */
    uint32_t epoch;
} prof__span;

/* As many records as fit; a long one stays whole. They are copied before they are read: their
   thread may be writing them. */
PROF__FN void prof__raw_copy(prof__raw *w, prof__span *span) {
    prof__record *to = (prof__record *)(void *)(w->words + w->used);
    size_t room = (size_t)(PROF__RAW_WORDS - w->used) / 3, n = (size_t)(span->end - span->at);
    prof__cursor k = { to, NULL, (uint64_t)span->epoch << 32, 0 };
    prof__item i;
    n = PROF__MIN(n, room);
    prof__copy_words(to, span->at, n * sizeof *to);
    k.end = to + n;
    for (const prof__record *whole = to; prof__next(&k, &i); whole = k.at) {
        if (i.kind == PROF__KIND && whole != to) {
            k.at = whole;                /* cut: it begins the next block */
            break;
        }
        span->zones += prof__item_is_zone(&i);
    }
    span->epoch = (uint32_t)(k.base >> 32);
    span->position += (uint64_t)(k.at - to);
    span->at += k.at - to;
    w->used += 3 * (uint32_t)(k.at - to);
}

/* One block of records; false: the sink failed, and span is as it was. */
PROF__FN void prof__raw_records(prof__raw *w, const prof__row *row, prof__span *span) {
    prof__raw_begin(w, PROF__RAW_RECORDS);
    prof__raw_u32(w, PROF__LOAD(row->number));
    prof__raw_u32(w, span->epoch);
    prof__raw_u64(w, span->position);
    prof__raw_u64(w, w->now.tick);
    prof__raw_u64(w, w->now_ns);
    prof__raw_u64(w, prof__raw_rate(&prof__trace, w->now));
    prof__raw_copy(w, span);
}

/* The session's clock, read. A dump's time runs straight from the start to now. */
PROF__FN void prof__raw_now(prof__raw *w, bool dump) {
    const struct prof_trace *s = &prof__trace;
    prof__scale scale;
    memset(&scale, 0, sizeof scale);
    w->now.ns = 0;
    if (s->clock == PROF_CLOCK_CPU) w->now = prof__knot_now();
    else w->now.tick = prof__now_ticks(s->clock, &s->platform);
    w->now_ns = dump && s->clock == PROF_CLOCK_CPU ? w->now.ns - s->knots[0].ns
                                                   : (uint64_t)prof__to_ns(&scale, w->now.tick);
}

/* ---- The stream ---- */

static uintptr_t prof__stream_owner;     /* who writes something */
static prof__raw prof__raw_out;          /* the stream's, or a dump's */
static uint32_t prof__raw_busy;          /* by a dump; a word: not all have atomic bytes */
static uint32_t prof__windows_settled;   /* none opens or closes just now: 1 */

PROF__FN bool prof__stream_mine(void) {
    return PROF__LOAD(prof__stream_owner) == (uintptr_t)prof__slot_get();
}

/* False: a call out of the sink, or out of a signal handler. */
PROF__FN bool prof__stream_lock(void) { return prof__own(&prof__stream_owner); }
PROF__FN void prof__stream_unlock(void) { prof__disown(&prof__stream_owner); }

/* Records that are not written yet, of the oldest segment of t that has any. Done: they are the
   segment's last. NULL: there is nothing. */
PROF__FN prof__segment *prof__stream_find(prof__state *t, prof__span *span, bool *done) {
    prof__segment *g;
    prof__lock();
    g = t->ring + t->ring_flushed;
    if (!g->row) g = NULL;
    if (g) {
        const prof__record *end = g->end ? g->end : PROF__ACQUIRE(t->hot.cursor);
        if (end < g->flushed || end > g->limit) end = g->flushed;
        span->at = g->flushed;
        span->end = end;
        span->position = g->position + (uint64_t)(g->flushed - g->begin);
        span->epoch = g->epoch;
        span->zones = 0;
        *done = g->end != NULL;
        if (span->at == end && !*done) g = NULL;
    }
    prof__unlock();
    return g;
}

PROF__FN void prof__stream_left(prof__segment *g, const prof__span *span) {
    prof__lock();
    g->flushed = g->begin + (span->at - g->begin);
    g->epoch = span->epoch;
    prof__trace.streamed += span->zones;
    prof__unlock();
}

PROF__FN void prof__stream_done(prof__state *t, prof__segment *g) {
    prof__lock();
    prof__segment_free(g);
    t->ring_flushed = (t->ring_flushed + 1) % t->ring_count;
    prof__unlock();
}

/* Hands the sink whole events, but where one is longer than the buffer. */
PROF__FN bool prof__chrome_flush(struct prof__chrome_stream *c, prof__raw *w) {
    prof__out_flush(&c->out);
    w->failed = c->out.failed;
    return !w->failed;
}

/* Zones that end together, as they began: of two that have the same times readers take the first
   for the outer one. */
enum { PROF__TOGETHER = 32 };
static struct prof__together { prof__item list[PROF__TOGETHER]; uint32_t count; } prof__together;

PROF__FN void prof__together_hold(const prof__item *i) {
    prof__item *list = prof__together.list;
    uint32_t at = prof__together.count++;
    for (; at; at--) {
        uint64_t start = prof__item_start(list + at - 1), own = prof__item_start(i);
        uint32_t depth = list[at - 1].site_depth & 0xff;
        if (start < own || (start == own && depth <= (i->site_depth & 0xff))) break;
        list[at] = list[at - 1];
    }
    list[at] = *i;
}

/* Writes them, unless all end with this one, and there is room. */
PROF__FN void prof__together_write(struct prof__chrome_stream *c, const prof__item *next) {
    struct prof__together *t = &prof__together;
    if (next && t->count < PROF__TOGETHER && next->end == t->list->end) return;
    for (uint32_t i = 0; i < t->count; i++) prof__chrome_item(c, t->list + i);
    t->count = 0;
}

PROF__FN bool prof__chrome_write(prof__raw *w, prof__row *row, prof__span *span) {
    struct prof__chrome_stream *c = &prof__chrome_out;
    prof__span next = *span;
    uint32_t announced = PROF__LOAD(row->announced);
    bool told = c->told;
    prof__out_open(&c->out, w->sink);
    prof__chrome_tell(row, false);
    while (next.at < next.end) {
        prof__item item;
        prof__cursor k = { next.at, next.end, (uint64_t)next.epoch << 32, 0 };
        (void)prof__next(&k, &item);
        prof__together_write(c, &item);
        if (!prof__together.count && (size_t)(c->out.p - c->out.buf) > PROF__OUT_SIZE / 2) {
            if (!prof__chrome_flush(c, w)) break;
            span->at = next.at;
            span->epoch = next.epoch;
            span->zones = next.zones;
            told = true;
            announced = 1;
        }
        next.at = k.at;
        next.epoch = (uint32_t)(k.base >> 32);
        if (!prof__item_shows(&item) || !prof__site_known(item.site_depth >> 8)) continue;
        if (prof__item_is_zone(&item)) prof__together_hold(&item);
        else prof__chrome_item(c, &item);
        next.zones += prof__item_is_zone(&item);
    }
    prof__together_write(c, NULL);
    if (!w->failed && prof__chrome_flush(c, w)) {
        *span = next;
        return true;
    }
    c->told = told;                      /* what stood before the events is lost with them */
    if (!announced) PROF__STORE(row->announced, 0u);
    return false;
}

/* What is left, the counts, and the end. */
PROF__FN void prof__chrome_close(prof__raw *w, const struct prof_trace *s) {
    struct prof__chrome_stream *c = &prof__chrome_out;
    prof__out_open(&c->out, w->sink);
    (void)prof__chrome_rest(c, s);
    prof__chrome_array_recorded(&c->out, s, prof_get_stats().recorded);
    prof__chrome_counts(&c->out, s);
    prof__out_text(&c->out, "}}\n]\n");
    prof__chrome_flush(c, w);
    c->told = false;                     /* another window is another array */
}

/* What a reader must know before records: all of it now and then, else what is new. */
PROF__FN void prof__stream_tell(prof__raw *w, prof__row *row) {
    uint32_t announced;
    uint64_t knot = prof__trace.knot_count ? prof__trace.knots[prof__trace.knot_count - 1].tick : 0;
    if (w->round <= w->told / PROF__RAW_AGAIN) {
        prof_stats stats = prof_get_stats();
        w->round++;
        w->sites = w->names = 0;
        w->last_knot = UINT64_MAX;
        prof__raw_counts(w, &stats, false);
    }
    if (w->last_knot != knot && prof__raw_session(w, false)) w->last_knot = knot;
    prof__raw_sites(w);
    announced = PROF__LOAD(row->announced);
    if (announced == w->round) return;
    PROF__STORE(row->announced, w->round);   /* first: a name that comes now is to be told, too */
    if (!prof__raw_thread(w, row)) PROF__STORE(row->announced, announced);
}

/* Writes the records of span; false: the sink failed, and what is left is still in span. */
PROF__FN bool prof__stream_write(prof__raw *w, prof__row *row, prof__span *span) {
    if (w->chrome) prof__functions_name_new();
    if (w->chrome) return prof__chrome_write(w, row, span);
    if (span->at == span->end) prof__stream_tell(w, row);   /* the row's last: it may have a name */
    while (span->at < span->end) {
        prof__span next = *span;
        prof__stream_tell(w, row);
        prof__raw_records(w, row, &next);
        if (!prof__raw_end(w)) return false;
        w->told++;
        *span = next;
    }
    return !w->failed;
}

PROF__FN bool prof__stream_state(prof__raw *w, prof__state *t) {
    prof__segment *g;
    prof__span span;
    bool done;
    while ((g = prof__stream_find(t, &span, &done)) != NULL) {
        bool ok = prof__stream_write(w, g->row, &span);
        prof__stream_left(g, &span);
        if (!ok || !done) return ok;
        prof__stream_done(t, g);
    }
    return true;
}

/* Ticks become times before the pair of readings after them is known. So that pair is foretold:
   the last one lies ahead, where the clock's rate so far leads, and the next mends the error. */
PROF__FN void prof__stream_clock(struct prof_trace *s) {
    prof__knot now, first = prof__first_knot, a = { 0, 0 }, b = { 0, 0 };
    prof__scale ticks;
    uint64_t gap;
    if (s->clock != PROF_CLOCK_CPU) return;
    do now = prof__knot_now(); while (now.ns - first.ns < 5000000u);
    if (s->knot_count > 1 && now.tick < s->knots[s->knot_count - 1].tick) return;
    b.tick = now.ns - first.ns;
    b.ns = now.tick - first.tick;
    ticks = prof__scale_between(a, b, 0);
    gap = PROF__MAX((now.ns - s->knots[0].ns) / 4, 1000000000u);
    now.ns += gap;
    now.tick += prof__scale_ns(&ticks, gap);
    if (s->knot_count == PROF__KNOTS)    /* after 11 days: the start stays, what follows goes */
        memmove(s->knots + 1, s->knots + 2, --s->knot_count * sizeof *s->knots - sizeof *s->knots);
    prof__knot_add(now);
}

PROF__FN prof_result prof__stream_flush_locked(struct prof_trace *s) {
    prof__raw *w = &prof__raw_out;
    bool ok = true;
    w->failed = false;
    prof__lock();
    prof__stream_clock(s);
    prof__unlock();
    prof__raw_now(w, false);
    for (prof__state *t = prof__used(NULL); ok && t; t = prof__used(t))
        ok = prof__stream_state(w, t);
    s->stream_failures += !ok;
    return ok ? PROF_OK : PROF_ERROR_SINK;
}

PROF_API PROF__QUIET prof_result prof_flush(void) {
    struct prof_trace *s = &prof__trace;
    prof_result result = PROF_ERROR_STATE;
    bool ours;
    if (!prof__stream_lock()) return PROF_ERROR_STATE;
    prof__lock();
    ours = s->open && s->mode == PROF_MODE_STREAM;
    prof__unlock();
    if (ours) result = prof__stream_flush_locked(s);
    prof__stream_unlock();
    return result;
}

PROF__FN void prof__stream_open(struct prof_trace *s, const prof_desc *d) {
    prof__raw *w = &prof__raw_out;
    memset(w, 0, offsetof(prof__raw, words));
    w->sink = d->stream;
    w->chrome = d->stream_format == PROF_STREAM_CHROME;
    prof__chrome_out.told = false;
    s->flush = prof_flush;
    s->flush_inline = d->stream_inline;
    prof__stream_clock(s);
}

/* Zones that prof_stop ended. */
PROF__FN void prof__raw_open_row(prof__raw *w, const prof__row *row) {
    prof__raw_open_head(w, row, row->stop_tick, row->open_count);
    for (uint32_t i = 0; i < row->open_count; i++) {
        prof__raw_u64(w, row->open[i].start);
        prof__raw_u32(w, row->open[i].site | row->open[i].depth);
        prof__raw_u32(w, 0);
    }
    prof__raw_end(w);
}

/* After prof_stop: what is left, and what only now is known. */
PROF__FN void prof__stream_close(struct prof_trace *s) {
    prof__raw *w = &prof__raw_out;
    prof_stats stats;
    bool ok = prof__stream_flush_locked(s) == PROF_OK;
    prof__lock();
    s->streamed_all = true;
    prof__unlock();
    for (prof__row *row = w->chrome ? NULL : s->rows; ok && row; row = row->next) {
        prof__stream_tell(w, row);
        prof__raw_thread(w, row);
        if (row->open_count) prof__raw_open_row(w, row);
    }
    if (!w->chrome) {
        stats = prof_get_stats();
        prof__raw_counts(w, &stats, true);
    } else if (ok) {
        prof__chrome_close(w, s);
    }
    s->stream_failures += ok && w->failed;
}

/* Zones of the stream that is over: those that left, those left behind where the sink failed, and
   those that were open. Counted where they are read: what signal handlers displace is in none. */
PROF__FN uint64_t prof__stream_recorded(const struct prof_trace *s) {
    uint64_t zones = s->streamed;
    for (const prof__state *t = prof__used(NULL); t; t = prof__used(t))
        for (uint32_t i = 0; i < t->ring_count; i++) {
            const prof__segment *g = t->ring + i;
            prof__cursor k = { g->flushed, PROF__MIN(g->end, g->limit), 0, 0 };
            for (prof__item item; g->row && prof__next(&k, &item);)
                zones += prof__item_is_zone(&item);
        }
    for (const prof__row *row = s->rows; row; row = row->next) zones += row->open_count;
    return zones;
}

/* ---- The dump: no locks, nothing but what a signal handler may do ---- */

/* While state t's sums are whole: *sums is set to how often they changed. Their thread may be off
   its core for long; one that never comes back is waited for once: *gone is its number then.
   lend: t, where who reads has the lock. */
PROF__FN void prof__sums_begin_read(const prof__state *t, uint32_t *sums, uint32_t *gone,
                                    prof__state *lend) {
    uint32_t i = 0;
    while ((*sums = PROF__ACQUIRE(t->sums)) & 1 && *sums != *gone) {
        if (lend) prof__sums_lend(lend);
        if (i++ == 200000) *gone = *sums;
        prof__yield();
    }
}

PROF__FN bool prof__sums_same(const prof__state *t, uint32_t sums) {
    PROF__FENCE();
    return PROF__LOAD(t->sums) == sums;
}

/* What a state has not added to its sums, copied, and when: sums. Rows from number moved on have it
   since; that shows while they are read, for the buffer is copied first. */
typedef struct prof__rest {
    const prof__record *begin, *end;
    uint64_t *inner;
    uint32_t sums, moved, gone;
    uint32_t cut;                        /* as the state's, when all of this is added */
    uint64_t cut_tick;
    prof__record *ended;                 /* zones of the timeline that ended: where they go, or */
    uint32_t ended_count;                /* NULL; as prof__rest_put writes them */
    prof__state *lend;                   /* see prof__sums_begin_read */
} prof__rest;

/* To memory for a block of so many records, and for the times by depth. */
PROF__FN PROF__RACES void prof__rest_copy(prof__rest *rest, const prof__state *t,
                                          prof__record *to, size_t room, uint64_t *inner) {
    int i = 0;
    rest->gone = 0;
    do {
        const prof__record *begin, *end;
        size_t n;
        prof__sums_begin_read(t, &rest->sums, &rest->gone, rest->lend);
        begin = PROF__LOAD(t->begin);
        end = PROF__LOAD(t->summing) && !t->closed ? prof__cursor_of(t) : begin;
        n = end < begin ? 0 : PROF__MIN((size_t)(end - begin), room);
        prof__copy_words(inner, t->inner - 1, (prof__trace.max_depth + 2) * sizeof *inner);
        prof__copy_words(to, begin, n * sizeof *to);
        rest->cut = PROF__LOAD(t->summing) ? PROF__LOAD(t->cut) : 0;
        rest->cut_tick = t->cut_tick;
        rest->end = to + n;
    } while (!prof__sums_same(t, rest->sums) && i++ < 1000);
    rest->begin = to;
    rest->inner = inner + 1;
    rest->moved = UINT32_MAX;
    rest->ended = NULL;
    rest->ended_count = 0;
}

/* A row, whole; is what was copied in it by now? */
PROF__FN void prof__rest_row(prof__rest *rest, const prof__state *t, const prof__tally *from,
                             prof__tally *row) {
    uint32_t sums;
    int i = 0;
    do {
        prof__sums_begin_read(t, &sums, &rest->gone, rest->lend);
        prof__copy_words(row, from, sizeof *row);
    } while (!prof__sums_same(t, sums) && i++ < 1000);
    if (sums != rest->sums) rest->moved = PROF__MIN(rest->moved, row->number);
}

PROF__FN void prof__rest_end(prof__rest *rest, uint32_t kind, uint64_t duration, uint64_t end,
                             uint32_t site_depth) {
    prof__record *c = rest->ended + rest->ended_count;
    if (!rest->ended || rest->ended_count > 4 * PROF__LEVELS - 2) return;
    prof__record_set(c, duration, kind << 8 | 1);
    prof__record_set(c + 1, end, site_depth);
    rest->ended_count += 2;
}

/* As prof__sums_cut. False: it is no zone of the timeline. */
PROF__FN bool prof__rest_cut(prof__rest *rest, const prof__item *i) {
    uint32_t depth = i->site_depth & 0xff;
    uint64_t within = 0;
    if (depth >= rest->cut) return false;
    if (i->end - PROF__MIN(i->duration, i->end) > rest->cut_tick) {
        rest->cut = depth;
        return false;
    }
    for (; rest->cut > depth; rest->inner[rest->cut] = 0) within += rest->inner[--rest->cut];
    within = PROF__MIN(within, i->duration);
    if (within)
        prof__rest_end(rest, PROF__ZONE64, within, i->end, prof__trace.in_sums << 8 | (depth + 1));
    prof__rest_end(rest, PROF__ZONE64, i->duration, i->end, i->site_depth);
    return true;
}

/* The next zone that is in no row, and what ended within it; false: there is none. */
PROF__FN bool prof__rest_next(prof__rest *rest, const prof__state *t, prof__cursor *k,
                              prof__item *i, uint64_t *within) {
    while (prof__next(k, i)) {
        uint32_t site = i->site_depth & ~(uint32_t)0xff;
        const prof__tally *r;
        if (!site || !prof__item_is_zone(i) || prof__rest_cut(rest, i)) continue;
        *within = prof__tally_within(rest->inner + (i->site_depth & 0xff), i->duration);
        r = prof__tally_find(&t->tallies, site);
        if ((r ? r : t->tallies.others)->number < rest->moved) return true;
    }
    return false;
}

PROF__FN bool prof__raw_told(const prof__raw *w, uint32_t number) {
    return number >= PROF__PUSHED ? number - PROF__PUSHED < w->names : number <= w->sites;
}

/* Tells of row, unless it was the last one. use: NULL, or where it shows that the row has become
   another thread's meanwhile: false. */
PROF__FN bool prof__dump_row(prof__raw *w, const prof__row *row, const uint32_t *use) {
    uint32_t used = use ? PROF__LOAD(*use) : 0, number = PROF__LOAD(row->number);
    if (w->row == number + 1) return true;
    prof__raw_thread_begin(w, row);
    PROF__FENCE();
    if (use && PROF__LOAD(*use) != used) return false;
    w->row = number + 1;
    return prof__raw_end(w);
}

/* The frames of zones that are open in t now, from *bottom; NULL: there are none. */
PROF__FN const prof__frame *prof__dump_frames(const prof__state *t, const prof__frame **bottom) {
    const prof__frame *top = PROF__ACQUIRE(t->hot.top);
    *bottom = PROF__ACQUIRE(t->hot.bottom);
    if (top > t->frames && !PROF__LOAD(top[-1].site)) top--;   /* just being begun */
    return *bottom < t->frames || top > PROF__LOAD(t->deepest) || top <= *bottom ? NULL : top;
}

/* Zones that are open in t now. Of one in sums those below the cut, which are of the timeline, and
   what the innermost of them holds in sums. */
PROF__FN void prof__dump_open(prof__raw *w, const prof__state *t, const prof__row *row,
                              uint32_t cut, uint64_t in_sums) {
    const prof__frame *bottom, *top = prof__dump_frames(t, &bottom);
    uint32_t number = PROF__LOAD(row->number);
    if (top && (uint32_t)(top - bottom) > cut) top = bottom + cut;
    if (!top || top == bottom) return;
    prof__raw_sites(w);
    prof__raw_open_head(w, row, w->now.tick, (uint32_t)(top - bottom));
    for (const prof__frame *f = bottom; f < top; f++) {
        uint32_t start = PROF__ACQUIRE(f->start), site = PROF__LOAD(f->site);
        if (!prof__raw_told(w, site >> 8)) return;   /* begun since, and its name is new */
        prof__raw_u64(w, (uint64_t)PROF__LOAD(f->epoch) << 32 | start);
        prof__raw_u32(w, site | (uint32_t)(f - bottom));
        prof__raw_u32(w, 0);
    }
    if (in_sums) {
        w->words[PROF__RAW_HEAD + 1]++;
        prof__raw_u64(w, w->now.tick - PROF__MIN(in_sums, w->now.tick));
        prof__raw_u32(w, prof__trace.in_sums << 8 | (uint32_t)(top - bottom));
        prof__raw_u32(w, 0);
    }
    PROF__FENCE();                       /* else another thread has the state since */
    if (PROF__LOAD(t->row) == row && PROF__LOAD(row->number) == number) prof__raw_end(w);
}

/* What a dump copies of a thread in sums. */
static struct prof__dumped {
    uint64_t inner[PROF__LEVELS + 2];
    prof__record block[2048];            /* prof__block_take: 16 KiB at most */
    prof__record ended[4 * PROF__LEVELS];
} prof__dumped;

PROF__FN PROF__RACES void prof__raw_sums_begin(prof__raw *w, uint32_t thread) {
    const struct prof_trace *s = &prof__trace;
    prof__raw_begin(w, PROF__RAW_SUMS);
    prof__raw_u32(w, thread);
    prof__raw_u32(w, 0);                 /* rows */
    prof__raw_u64(w, s->full_tick);
    prof__raw_u64(w, s->open ? w->now.tick : s->stop_tick);
}

/* A row behind those of the block, or in another one. */
PROF__FN void prof__raw_sum(prof__raw *w, uint32_t thread, const prof__tally *r) {
    uint32_t first = 0, end = PROF__BUCKETS, site = r->site >> 8;
    const uint64_t sums[] = { r->count, r->total, r->inner, r->least, r->most };
    while (end && !r->histogram[end - 1]) end--;
    while (first < end && !r->histogram[first]) first++;
    if (!prof__raw_told(w, site) ||
        PROF__RAW_WORDS - w->used < (uint32_t)PROF__RAW_SUM + end - first) {
        prof__raw_end(w);
        prof__raw_sites(w);              /* it may have come since the dump began */
        prof__raw_sums_begin(w, thread);
    }
    prof__raw_u32(w, site);
    prof__raw_u32(w, first << 16 | (end - first));
    for (int i = 0; i < 5; i++) prof__raw_u64(w, sums[i]);
    for (; first < end; first++) prof__raw_u32(w, r->histogram[first]);
    w->words[PROF__RAW_HEAD + 1]++;
}

/* A row of one zone: of its name, or of all others where t would have none for it. */
PROF__FN PROF__RACES void prof__raw_sum_zone(prof__raw *w, const prof__state *t, uint32_t thread,
                                             uint32_t site_depth, uint64_t ticks,
                                             uint64_t within) {
    uint32_t site = site_depth & ~(uint32_t)0xff;
    prof__tally row;
    memset(&row, 0, sizeof row);
    row.site = t->tallies.full && !prof__tally_find(&t->tallies, site) ? 0 : site;
    row.least = UINT64_MAX;
    prof__tally_put(&row, ticks, within);
    prof__raw_sum(w, thread, &row);
}

/* Zones that are open and began in sums. */
PROF__FN void prof__dump_sums_open(prof__raw *w, const prof__state *t, uint32_t thread,
                                   const prof__rest *rest) {
    const prof__frame *bottom, *top = prof__dump_frames(t, &bottom);
    for (; top && (uint32_t)(top - bottom) > rest->cut; top--) {
        const prof__frame *f = top - 1;
        uint64_t start = (uint64_t)PROF__LOAD(f->epoch) << 32 | PROF__ACQUIRE(f->start);
        uint64_t ticks = w->now.tick - PROF__MIN(start, w->now.tick);
        uint64_t within = prof__tally_within(rest->inner + (f - bottom), ticks);
        prof__raw_sum_zone(w, t, thread, PROF__LOAD(f->site), ticks, within);
    }
}

/* Zones of the timeline that ended and are still in the block: behind the last segment's. */
PROF__FN void prof__dump_ended(prof__raw *w, const prof__row *row, const prof__rest *rest) {
    const prof__segment *g = row ? PROF__ACQUIRE(row->first) : NULL, *next;
    prof__span span;
    if (!rest->ended_count || !g || !prof__dump_row(w, row, NULL)) return;
    while ((next = PROF__ACQUIRE(g->next)) != NULL) g = next;
    span.at = rest->ended;
    span.end = rest->ended + rest->ended_count;
    span.position = PROF__LOAD(g->position) + (uint64_t)(PROF__ACQUIRE(g->end) - g->begin);
    span.epoch = PROF__LOAD(g->epoch);
    span.zones = 0;
    prof__raw_sites(w);
    while (span.at < span.end && !w->failed) {
        prof__raw_records(w, row, &span);
        prof__raw_end(w);
    }
}

/* The rows of t, and what is in its block; open: of a thread that records, zones that are open,
   too. */
PROF__FN void prof__dump_sums(prof__raw *w, const prof__state *t, prof__rest *rest, bool open) {
    const prof__row *row = PROF__ACQUIRE(t->row);
    uint32_t thread = row ? PROF__LOAD(row->number) : 0;
    prof__cursor k = { NULL, NULL, 0, 0 };
    prof__item i;
    uint64_t within = 0;
    prof__rest_copy(rest, t, prof__dumped.block,
                    sizeof prof__dumped.block / sizeof *prof__dumped.block, prof__dumped.inner);
    rest->ended = prof__dumped.ended;
    k.at = rest->begin;
    k.end = rest->end;
    prof__raw_sites(w);
    prof__raw_sums_begin(w, thread);
    for (const prof__tally *r = t->tallies.others; r; r = PROF__ACQUIRE(r->next)) {
        prof__tally whole;
        prof__rest_row(rest, t, r, &whole);
        if (whole.count) prof__raw_sum(w, thread, &whole);
    }
    while (prof__rest_next(rest, t, &k, &i, &within))
        prof__raw_sum_zone(w, t, thread, i.site_depth, i.duration, within);
    if (open && PROF__LOAD(t->summing)) prof__dump_sums_open(w, t, thread, rest);
    if (w->words[PROF__RAW_HEAD + 1]) prof__raw_end(w);
    prof__dump_ended(w, row, rest);
}

/* The end of a segment's records. Its thread t (NULL: it has left, at cursor) is read first: a
   cursor from before the chunk was last emptied would reach past what is written. */
PROF__FN const prof__record *prof__dump_end(const prof__segment *g, const prof__state *t,
                                            const prof__record *cursor) {
    const prof__record *end;
    if (t) cursor = PROF__ACQUIRE(t->hot.cursor);
    end = PROF__ACQUIRE(g->end);
    return end ? end : cursor;
}

/* The records of a segment that its thread may be emptying at this moment: a block that was copied
   while it did is not written. */
PROF__FN void prof__dump_segment(prof__raw *w, const prof__segment *g, const prof__state *t,
                                 const prof__record *cursor) {
    uint32_t use = PROF__ACQUIRE(g->use);
    const prof__row *row = PROF__ACQUIRE(g->row);
    prof__span span;
    if (!row || !prof__dump_row(w, row, &g->use) || PROF__LOAD(g->use) != use) return;
    span.end = prof__dump_end(g, t, cursor);
    span.at = PROF__LOAD(g->flushed);
    span.position = PROF__LOAD(g->position) + (uint64_t)(span.at - PROF__LOAD(g->begin));
    span.epoch = PROF__LOAD(g->epoch);
    if (span.at < PROF__LOAD(g->begin) || span.end > PROF__LOAD(g->limit)) return;
    prof__raw_sites(w);                  /* names may have come since the dump began */
    while (span.at < span.end && !w->failed) {
        prof__raw_records(w, row, &span);
        PROF__FENCE();
        if (PROF__LOAD(g->use) != use) return;
        prof__raw_end(w);
    }
}

PROF__FN void prof__dump_state(prof__raw *w, const prof__state *t) {
    const prof__row *row = PROF__ACQUIRE(t->row);
    uint32_t oldest = PROF__LOAD(t->ring_next);
    if (!row) return;
    for (uint32_t i = 0; i < t->ring_count; i++)
        prof__dump_segment(w, t->ring + (oldest + i) % t->ring_count, t, NULL);
    if (PROF__ACQUIRE(t->recording) == prof__trace.generation) {
        if (prof__dump_row(w, row, NULL)) prof__dump_open(w, t, row, UINT32_MAX, 0);
    } else if (row->open_count && PROF__LOAD(row->number) == PROF__LOAD(t->number)) {
        if (prof__dump_row(w, row, NULL)) prof__raw_open_row(w, row);
    }
}

/* PROF_MODE_TRACE: rows and segments are only ever added. */
PROF__FN PROF__RACES void prof__dump_rows(prof__raw *w, const struct prof_trace *s) {
    for (const prof__row *row = PROF__ACQUIRE(s->rows); row; row = PROF__ACQUIRE(row->next)) {
        const prof__state *of = row->cursor ? NULL : prof__used(NULL);
        const prof__segment *g = PROF__ACQUIRE(row->first);
        while (of && (PROF__ACQUIRE(of->recording) != s->generation || PROF__LOAD(of->row) != row))
            of = prof__used(of);
        prof__dump_row(w, row, NULL);
        for (; g; g = PROF__ACQUIRE(g->next)) prof__dump_segment(w, g, of, row->cursor);
    }
    for (const prof__state *t = prof__used(NULL); t; t = prof__used(t)) {
        bool open = s->open && PROF__ACQUIRE(t->recording) == s->generation, sums;
        prof__rest rest;
        rest.lend = NULL;
        sums = prof__any_sums(s) && PROF__ACQUIRE(t->tallies.others);
        if (sums) prof__dump_sums(w, t, &rest, open);
        if (!open) continue;
        sums = sums && PROF__LOAD(t->summing);   /* else all that is open is of the timeline */
        prof__dump_open(w, t, PROF__LOAD(t->row), sums ? rest.cut : UINT32_MAX,
                        sums && rest.cut ? rest.inner[rest.cut - 1] : 0);
    }
    for (const prof__row *row = s->open ? NULL : PROF__ACQUIRE(s->rows); row;
         row = PROF__ACQUIRE(row->next))
        if (row->open_count) prof__raw_open_row(w, row);
}

PROF__FN void prof__dump_counts(prof__raw *w, const struct prof_trace *s) {
    prof_stats stats;
    prof__counts sum;
    memset(&sum, 0, sizeof sum);
    prof__counts_add(&sum, &s->counts);
    for (const prof__state *t = s->open ? prof__used(NULL) : NULL; t; t = prof__used(t)) {
        const prof__record *begin, *end;
        if (PROF__ACQUIRE(t->recording) != s->generation) continue;
        prof__counts_add(&sum, &t->counts);
        begin = PROF__ACQUIRE(t->begin);
        end = prof__cursor_of(t);
        if (end > begin && PROF__LOAD(t->begin) == begin)
            *(PROF__LOAD(t->summing) ? &sum.summed : &sum.slots) += (size_t)(end - begin);
    }
    prof__stats_add(&stats, &sum);
    prof__raw_counts(w, &stats, true);
}

PROF__FN void prof__dump(prof__raw *w, const struct prof_trace *s) {
    prof__raw_now(w, true);
    prof__raw_session(w, s->open);
    prof__raw_sites(w);
    for (const prof__state *t = s->regions ? prof__used(NULL) : NULL; t; t = prof__used(t))
        prof__dump_state(w, t);
    if (!s->regions) prof__dump_rows(w, s);
    prof__dump_counts(w, s);
}

/* False: another thread is dumping, or the code that this signal interrupted. */
PROF__FN bool prof__dump_claim(void) {
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
    return !__atomic_exchange_n(&prof__raw_busy, 1u, __ATOMIC_SEQ_CST);
#else
    uint32_t busy = prof__raw_busy;
    prof__raw_busy = 1;
    return !busy;
#endif
}

/* No dump may begin until they are settled, and one that is under way ends; but when it does not
   end in a good part of a second. */
PROF__FN void prof__windows_unsettle(void) {
    PROF__STORE(prof__windows_settled, 0u);
    PROF__FENCE();
    for (int i = 0; i < 1000000 && PROF__ACQUIRE(prof__raw_busy); i++) prof__yield();
}

PROF__FN bool prof__dump_possible(const struct prof_trace *s) {
    PROF__FENCE();
    return PROF__ACQUIRE(prof__windows_settled) && (s->open || s->stopped) &&
           (s->mode == PROF_MODE_TRACE || s->mode == PROF_MODE_RING);
}

PROF_API PROF__QUIET prof_result prof_dump(prof_sink out) {
    const struct prof_trace *s = &prof__trace;
    prof__raw *w = &prof__raw_out;
    prof_result result = PROF_ERROR_STATE;
    if (!out.write) return PROF_ERROR_INVALID;
    if (!prof__dump_claim()) return PROF_ERROR_STATE;
    if (prof__dump_possible(s)) {
        memset(w, 0, offsetof(prof__raw, words));
        w->sink = out;
        prof__dump(w, s);
        result = w->failed ? PROF_ERROR_SINK : PROF_OK;
    }
    PROF__RELEASE(prof__raw_busy, 0u);
    return result;
}

/* ---- The reader ---- */

typedef struct prof__raw_place {
    prof_site site;
    uint32_t number;
    bool used, known;
} prof__raw_place;
typedef struct prof__raw_row {
    prof_thread_info info;
    uint64_t position, oldest;           /* of the slot to come; end of the first one after a gap */
    uint32_t number;
    bool used;
} prof__raw_row;

/* The sums of a name. */
typedef struct prof__raw_named {
    prof__tally tally;
    const char *name;
    struct prof__raw_named *next, *same;  /* same: another of its place in the index */
} prof__raw_named;
enum { PROF__RAW_NAMES = 1024 };         /* places in it */

struct prof_raw {
    prof_raw_desc desc;
    prof_raw_stats stats;
    prof__raw_place *sites;              /* place number % site_places, or the next free one */
    prof__raw_row *rows;
    uint32_t site_places, row_places, next_block;
    char *text, *text_end;
    bool session, in_damage, swap;
    uint32_t generation, clock, knot_count;
    uint64_t rate, start_tick, start_wall_ns;
    prof__knot knots[PROF__KNOTS + 1], pair;
    prof__scale scale;
    prof__raw_named **names, *first_name, *last_name;   /* names: NULL: no sums so far */
    uint64_t full_tick, sums_tick;
    size_t have;                         /* bytes in block */
    uint32_t block[PROF__RAW_HEAD + PROF__RAW_LIMIT / 4];
};

PROF__FN uint32_t prof__raw_swapped(uint32_t n) {
    return n << 24 | (n & 0xff00) << 8 | (n >> 8 & 0xff00) | n >> 24;
}

/* Word i of the block, in this machine's order. */
PROF__FN uint32_t prof__raw_get(const prof_raw *r, size_t i) {
    return r->swap ? prof__raw_swapped(r->block[i]) : r->block[i];
}

PROF__FN uint64_t prof__raw_get64(const prof_raw *r, size_t i) {
    return prof__raw_get(r, i) | (uint64_t)prof__raw_get(r, i + 1) << 32;
}

/* The thread's row; NULL: there are too many. */
PROF__FN prof__raw_row *prof__raw_row_of(prof_raw *r, uint32_t number) {
    uint32_t i = number % r->row_places;
    for (uint32_t n = 0; n < r->row_places; n++, i = i + 1 == r->row_places ? 0 : i + 1) {
        prof__raw_row *row = r->rows + i;
        if (row->used && row->number != number) continue;
        if (!row->used) {
            memset(row, 0, sizeof *row);
            row->used = true;
            row->number = number;
        }
        return row;
    }
    return NULL;
}

PROF__FN const char *prof__raw_keep(prof_raw *r, const char *text, size_t size) {
    char *p = r->text;
    if ((size_t)(r->text_end - p) <= size) return NULL;
    memcpy(p, text, size);
    p[size] = 0;
    r->text += size + 1;
    return p;
}

PROF__FN prof__raw_place *prof__raw_place_of(prof_raw *r, uint32_t number) {
    uint32_t i = number % r->site_places;
    for (uint32_t n = 0; n < r->site_places; n++, i = i + 1 == r->site_places ? 0 : i + 1)
        if (!r->sites[i].used || r->sites[i].number == number) return r->sites + i;
    return NULL;
}

/* A site's name and place; one that was never told is called site#N. */
PROF__FN const prof_site *prof__raw_site_of(prof_raw *r, uint32_t number) {
    static const prof_site none = { "site#?", "", "", 0 };
    prof__raw_place *place = prof__raw_place_of(r, number);
    char name[24] = "site#", *end = prof__text_u64(name + 5, number);
    const char *kept;
    if (!place || !place->known) r->stats.unknown_sites++;
    if (place && place->used) return &place->site;
    kept = place ? prof__raw_keep(r, name, (size_t)(end - name)) : NULL;
    if (!kept) return &none;
    place->site = none;
    place->site.name = kept;
    place->number = number;
    place->used = true;
    return &place->site;
}

PROF__FN void prof__raw_put_site(prof_raw *r, uint32_t number, uint32_t line, const char *text,
                                 const uint32_t *sizes) {
    prof__raw_place *place = prof__raw_place_of(r, number);
    char *begin = r->text;
    prof_site site = { NULL, NULL, NULL, 0 };
    if (!place || place->known) return;
    site.name = prof__raw_keep(r, text, sizes[0]);
    site.file = prof__raw_keep(r, text + sizes[0], sizes[1]);
    site.function = prof__raw_keep(r, text + sizes[0] + sizes[1], sizes[2]);
    site.line = line;
    if (!site.name || !site.file || !site.function) {
        r->text = begin;
        return;
    }
    place->site = site;
    place->number = number;
    place->used = place->known = true;
}

PROF__FN void prof__raw_read_sites(prof_raw *r, size_t at, size_t end) {
    while (at + 5 <= end) {
        uint32_t sizes[3];
        uint64_t words = 3;
        for (size_t i = 0; i < 3; i++) words += sizes[i] = prof__raw_get(r, at + 2 + i);
        words /= 4;
        if (words > end - at - 5) return;
        prof__raw_put_site(r, prof__raw_get(r, at), prof__raw_get(r, at + 1),
                           (const char *)(r->block + at + 5), sizes);
        at += 5 + (size_t)words;
    }
}

PROF__FN void prof__raw_hand(prof_raw *r, const prof_raw_item *item) {
    if (r->desc.item) r->desc.item(r->desc.user, item);
}

PROF__FN void prof__raw_forget(prof_raw *r) {
    char *base = (char *)(void *)(r + 1);
    memset(base, 0, (size_t)(r->text_end - base) / 2);
    r->text = base + (r->text_end - base) / 2;
    r->names = NULL;
    r->first_name = r->last_name = NULL;
    r->full_tick = r->sums_tick = 0;
}

/* ---- sums: rows of a name are added up, and handed on when no more can come ---- */

/* Zeroed memory that lasts as long as the session; NULL: none. */
PROF__FN void *prof__raw_take(prof_raw *r, size_t size) {
    char *p = (char *)(((uintptr_t)r->text + 7u) & ~(uintptr_t)7u);
    if (p > r->text_end || (size_t)(r->text_end - p) <= size) return NULL;
    r->text = p + size;
    return memset(p, 0, size);
}

/* The row of a name; NULL: no memory. */
PROF__FN prof__raw_named *prof__raw_name_of(prof_raw *r, const char *name) {
    size_t length;
    uint32_t place = prof__hash(name, &length) % PROF__RAW_NAMES;
    prof__raw_named *n;
    if (!r->names)
        r->names = (prof__raw_named **)prof__raw_take(r, PROF__RAW_NAMES * sizeof *r->names);
    for (n = r->names ? r->names[place] : NULL; n && strcmp(n->name, name) != 0;) n = n->same;
    if (n || !r->names) return n;
    n = (prof__raw_named *)prof__raw_take(r, sizeof *n);
    if (!n) return NULL;
    n->tally.least = UINT64_MAX;
    n->name = name;
    n->same = r->names[place];
    r->names[place] = n;
    if (r->last_name) r->last_name->next = n;
    else r->first_name = n;
    return r->last_name = n;
}

/* Another dump of the session begins: what the one before told, it tells again. */
PROF__FN void prof__raw_sums_again(prof_raw *r) {
    for (prof__raw_named *n = r->first_name; n; n = n->next) {
        memset(&n->tally, 0, sizeof n->tally);
        n->tally.least = UINT64_MAX;
    }
}

/* Sums that calls can have, and that do not overflow with those before. */
PROF__FN bool prof__raw_sum_ok(const prof__tally *sums, const prof__tally *more) {
    const uint64_t most = (uint64_t)1 << 60;
    return more->count && more->count < most && more->total < most && more->least <= more->most &&
           more->most <= more->total && more->inner <= more->total &&
           more->total / more->count >= more->least &&
           more->total / more->count <= more->most &&
           sums->count + more->count < most && sums->total + more->total < most;
}

/* A row at `at`, of n buckets from the first on. */
PROF__FN void prof__raw_read_sum(prof_raw *r, size_t at, uint32_t first, uint32_t n) {
    uint32_t number = prof__raw_get(r, at);
    const char *name = number ? prof__raw_site_of(r, number)->name : "(others)";
    prof__raw_named *row = prof__raw_name_of(r, name);
    prof__tally more;
    memset(&more, 0, sizeof more);
    more.count = prof__raw_get64(r, at + 2);
    more.total = prof__raw_get64(r, at + 4);
    more.inner = prof__raw_get64(r, at + 6);
    more.least = prof__raw_get64(r, at + 8);
    more.most = prof__raw_get64(r, at + 10);
    for (uint32_t i = 0; i < n; i++)
        more.histogram[first + i] = prof__raw_get(r, at + PROF__RAW_SUM + i);
    if (row && prof__raw_sum_ok(&row->tally, &more)) prof__tally_add(&row->tally, &more);
    else r->stats.bad_sums++;
}

PROF__FN void prof__raw_read_sums(prof_raw *r, size_t at, size_t end) {
    uint32_t rows = end - at < PROF__RAW_SUMS_HEAD ? 0 : prof__raw_get(r, at + 1);
    if (rows) r->full_tick = prof__raw_get64(r, at + 2);
    if (rows) r->sums_tick = prof__raw_get64(r, at + 4);
    for (at += PROF__RAW_SUMS_HEAD; rows && at + PROF__RAW_SUM <= end; rows--) {
        uint32_t buckets = prof__raw_get(r, at + 1), first = buckets >> 16, n = buckets & 0xffff;
        if (first + n > PROF__BUCKETS || at + PROF__RAW_SUM + n > end) break;
        prof__raw_read_sum(r, at, first, n);
        at += PROF__RAW_SUM + n;
    }
    r->stats.bad_sums += rows;
}

/* Clocks that go on, at a rate that 64 bits can hold. */
PROF__FN bool prof__raw_pair_ok(prof__knot a, prof__knot b) {
    return b.tick > a.tick && b.ns >= a.ns && (b.ns - a.ns) >> 20 <= b.tick - a.tick &&
           !(b.tick >> 62) && !(b.ns >> 62);
}

PROF__FN int64_t prof__raw_ns(prof_raw *r, uint64_t tick) {
    uint64_t rate = r->rate ? r->rate : 1000000000u;
    if (r->session && r->knot_count > 1)
        return prof__knots_ns(&r->scale, r->knots, r->knot_count, tick);
    if (r->session && r->clock != PROF_CLOCK_CPU)
        return prof__rate_ns(tick < r->start_tick ? 0 : tick - r->start_tick, rate);
    if (tick >= r->pair.tick)            /* what overflows is damage that has a right checksum */
        return (int64_t)(r->pair.ns + (uint64_t)prof__rate_ns(tick - r->pair.tick, rate));
    return PROF__MINUS(r->pair.ns, prof__rate_ns(r->pair.tick - tick, rate));
}

/* What converts ticks that are no time of day, as prof__sums_scale: ns = scale of ticks. */
PROF__FN int64_t prof__raw_span_ns(const prof_raw *r, uint64_t ticks) {
    prof__knot zero = { 0, 0 }, whole = { 0, 0 };
    prof__scale k;
    if (!r->session || r->knot_count < 2)
        return prof__rate_ns(ticks, r->rate ? r->rate : 1000000000u);
    whole.tick = r->knots[r->knot_count - 1].tick - r->knots[0].tick;
    whole.ns = r->knots[r->knot_count - 1].ns - r->knots[0].ns;
    k = prof__scale_between(zero, whole, 0);
    return (int64_t)prof__scale_ns(&k, ticks);
}

PROF__FN void prof__raw_hand_sums(prof_raw *r) {
    prof_raw_item item;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_SUMS;
    item.start_ns = r->full_tick ? prof__raw_ns(r, r->full_tick) : 0;
    item.end_ns = prof__raw_ns(r, r->sums_tick);
    for (const prof__raw_named *n = r->first_name; n; n = n->next) {
        uint64_t ticks[PROF__TALLY_TIMES];
        int64_t ns[PROF__TALLY_TIMES];
        prof_average a;
        if (!n->tally.count) continue;
        prof__tally_times(&n->tally, ticks);
        for (int i = 0; i < PROF__TALLY_TIMES; i++) ns[i] = prof__raw_span_ns(r, ticks[i]);
        prof__tally_identity(&a, n->name, n->tally.count);
        memcpy((char *)&a + offsetof(prof_average, cpu_time_total_ns), ns, sizeof ns);
        a.first = PROF_NONE;
        item.name = n->name;
        item.average = &a;
        prof__raw_hand(r, &item);
    }
}

PROF__FN void prof__raw_read_session(prof_raw *r, size_t at, size_t end) {
    prof_raw_item item;
    uint32_t count;
    if (end - at < 10) return;
    count = prof__raw_get(r, at + 9);
    if (count > PROF__KNOTS || end - at < 10 + 4 * count || (count == 1)) return;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_SESSION;
    item.start_ns = (int64_t)prof__raw_get64(r, at + 6);
    item.value = prof__raw_get(r, at + 1);
    if (!r->session || r->generation != prof__raw_get(r, at + 8) ||
        r->start_wall_ns != (uint64_t)item.start_ns) {
        if (r->session) prof__raw_hand_sums(r);
        if (r->session) prof__raw_forget(r);
        prof__raw_hand(r, &item);
    }
    r->session = true;
    r->clock = prof__raw_get(r, at);
    r->rate = prof__raw_get64(r, at + 2);
    r->start_tick = prof__raw_get64(r, at + 4);
    r->start_wall_ns = (uint64_t)item.start_ns;
    r->generation = prof__raw_get(r, at + 8);
    r->knot_count = count;
    memset(&r->scale, 0, sizeof r->scale);
    for (uint32_t i = 0; i < count; i++) {
        r->knots[i].tick = prof__raw_get64(r, at + 10 + 4 * i);
        r->knots[i].ns = prof__raw_get64(r, at + 12 + 4 * i);
        if (i && !prof__raw_pair_ok(r->knots[i - 1], r->knots[i]))
            r->knot_count = 0;           /* no clock: the pairs with the records must do */
    }
}

PROF__FN void prof__raw_read_thread(prof_raw *r, size_t at, size_t end) {
    prof_raw_item item;
    prof__raw_row *row;
    const char *text = (const char *)(r->block + at + 4);
    size_t size;
    if (end - at < 4) return;
    size = prof__raw_get(r, at + 1);
    row = prof__raw_row_of(r, prof__raw_get(r, at));
    if (size > (end - at - 4) * 4 || !row) return;
    row->info.id = prof__raw_get64(r, at + 2);
    if (size && (!row->info.name || strlen(row->info.name) != size ||
                 memcmp(row->info.name, text, size) != 0))
        row->info.name = prof__raw_keep(r, text, size);
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_THREAD;
    item.thread = row->number;
    item.name = row->info.name;
    item.value = (int64_t)row->info.id;
    prof__raw_hand(r, &item);
}

PROF__FN void prof__raw_hand_item(prof_raw *r, const prof__raw_row *row, uint32_t thread,
                                  const prof__item *i) {
    prof_raw_item item;
    memset(&item, 0, sizeof item);
    item.kind = i->kind == PROF__COUNTER ? PROF_RAW_COUNTER : i->kind == PROF__STEP ? PROF_RAW_STEP
              : i->kind == PROF__INSTANT ? PROF_RAW_INSTANT
              : i->kind == PROF__REAL ? PROF_RAW_COUNTER_F : PROF_RAW_ZONE;
    if (i->kind == PROF__REAL) memcpy(&item.number, &i->value, sizeof item.number);
    item.thread = thread;
    item.name = "ProfilerStep";
    if (item.kind != PROF_RAW_STEP) {
        item.site = prof__raw_site_of(r, i->site_depth >> 8);
        item.name = item.site->name;
    }
    item.start_ns = prof__raw_ns(r, prof__item_start(i));
    item.end_ns = prof__raw_ns(r, i->end);
    if (item.end_ns < item.start_ns) item.end_ns = item.start_ns;
    item.value = i->kind >= PROF__INSTANT ? (int64_t)i->value : 0;
    item.depth = (uint8_t)i->site_depth;
    if (i->kind == PROF__UNFINISHED) item.flags = PROF_EVENT_UNFINISHED;
    if (item.kind == PROF_RAW_ZONE && row && prof__item_start(i) < row->oldest)
        item.flags |= PROF_EVENT_PARTIAL;
    prof__raw_hand(r, &item);
}

/* Where these records stand among the thread's: how many of them were there before. */
PROF__FN size_t prof__raw_known(prof_raw *r, prof__raw_row *row, uint64_t position, size_t count) {
    uint64_t known = row->position > position ? row->position - position : 0;
    if (row->position < position) {
        r->stats.missing_records += position - row->position;
        row->oldest = UINT64_MAX;
    }
    row->position = PROF__MAX(row->position, position + count);
    return (size_t)PROF__MIN(known, count);
}

PROF__FN void prof__raw_read_records(prof_raw *r, size_t at, size_t end) {
    const prof__record *begin;
    prof__cursor k = { NULL, NULL, 0, 0 };
    prof__raw_row *row;
    prof__item item;
    uint32_t thread;
    size_t known = 0;
    if (end - at < PROF__RAW_RECORDS_HEAD) return;
    thread = prof__raw_get(r, at);
    k.base = (uint64_t)prof__raw_get(r, at + 1) << 32;
    row = prof__raw_row_of(r, thread);
    r->pair.tick = prof__raw_get64(r, at + 4);
    r->pair.ns = prof__raw_get64(r, at + 6);
    r->rate = prof__raw_get64(r, at + 8);
    k.at = begin = (const prof__record *)(const void *)(r->block + at + PROF__RAW_RECORDS_HEAD);
    k.end = k.at + (end - at - PROF__RAW_RECORDS_HEAD) / 3;
    if (row) known = prof__raw_known(r, row, prof__raw_get64(r, at + 2), (size_t)(k.end - k.at));
    for (size_t i = at; r->swap && i < end; i++) r->block[i] = prof__raw_swapped(r->block[i]);
    while (prof__next(&k, &item)) {
        bool again = (size_t)(item.at - begin) < known;
        if (!prof__item_shows(&item) || again) continue;
        if (row && row->oldest == UINT64_MAX) row->oldest = item.end;
        prof__raw_hand_item(r, row, thread, &item);
    }
}

PROF__FN void prof__raw_read_open(prof_raw *r, size_t at, size_t end) {
    uint32_t thread, count;
    prof__item item;
    if (end - at < 4) return;
    thread = prof__raw_get(r, at);
    count = prof__raw_get(r, at + 1);
    item.kind = PROF__UNFINISHED;
    item.value = 0;
    item.end = prof__raw_get64(r, at + 2);
    for (at += 4; count && at + 4 <= end; count--, at += 4) {
        item.duration = item.end - PROF__MIN(prof__raw_get64(r, at), item.end);
        item.site_depth = prof__raw_get(r, at + 2);
        prof__raw_hand_item(r, prof__raw_row_of(r, thread), thread, &item);
    }
}

PROF__FN void prof__raw_read_counts(prof_raw *r, size_t at, size_t end) {
    uint64_t counts[PROF__NO + 1];
    prof_stats *s = &r->stats.counts;
    prof_raw_item item;
    size_t given = end - at < 2 ? 0 : PROF__MIN((end - at - 2) / 2, prof__raw_get(r, at + 1));
    for (size_t i = 0; i <= PROF__NO; i++)
        counts[i] = i < PROF__MIN(given, (size_t)PROF__NO) ? prof__raw_get64(r, at + 2 + 2 * i) : 0;
    PROF__STATS(PROF__RAW_TAKE, PROF__RAW_TAKE, PROF__RAW_TAKE)
    s->dropped = s->dropped_full + s->dropped_deep + s->dropped_threads + s->dropped_sites +
                 s->dropped_busy;
    s->threads = (uint32_t)counts[14];
    s->clock = (prof_clock)(r->clock <= PROF_CLOCK_PLATFORM ? r->clock : 0);
    s->ticks_per_second = r->rate;
    s->timeline_ns = r->full_tick ? (uint64_t)prof__raw_ns(r, r->full_tick) : 0;
    s->summed = 0;
    for (const prof__raw_named *n = r->first_name; n; n = n->next) s->summed += n->tally.count;
    r->stats.ended = end > at && prof__raw_get(r, at) == 1;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_COUNTS;
    item.counts = s;
    item.value = r->stats.ended;
    prof__raw_hand(r, &item);
}

PROF__FN void prof__raw_read_block(prof_raw *r, size_t words) {
    uint32_t type = prof__raw_get(r, 1) & 0xffff, number = prof__raw_get(r, 3);
    if (number > r->next_block) r->stats.missing_blocks += number - r->next_block;
    r->next_block = number + 1;
    r->stats.blocks++;
    r->in_damage = false;
    r->stats.tail_bytes = 0;
    if (r->swap) r->stats.other_endian = true;
    if (prof__raw_get(r, 1) >> 16 > PROF__RAW_VERSION) {
        r->stats.newer++;
        return;
    }
    if (!number) prof__raw_sums_again(r);
    switch (type) {
    case PROF__RAW_SESSION: prof__raw_read_session(r, PROF__RAW_HEAD, words); break;
    case PROF__RAW_SITES: prof__raw_read_sites(r, PROF__RAW_HEAD, words); break;
    case PROF__RAW_THREAD: prof__raw_read_thread(r, PROF__RAW_HEAD, words); break;
    case PROF__RAW_RECORDS: prof__raw_read_records(r, PROF__RAW_HEAD, words); break;
    case PROF__RAW_OPEN: prof__raw_read_open(r, PROF__RAW_HEAD, words); break;
    case PROF__RAW_COUNTS: prof__raw_read_counts(r, PROF__RAW_HEAD, words); break;
    case PROF__RAW_SUMS: prof__raw_read_sums(r, PROF__RAW_HEAD, words); break;
    default: break;                      /* of a later library: nothing that an older one needs */
    }
}

/* Is the block at the buffer's start, of so many words, what was written? */
PROF__FN bool prof__raw_right(prof_raw *r, size_t words) {
    uint64_t a = 0, b = 0;
    for (size_t i = 1; i < words; i++) {
        a += i == 4 || i == 5 ? 0 : prof__raw_get(r, i);
        b += a;
    }
    return prof__raw_get(r, 4) == a % UINT32_MAX && prof__raw_get(r, 5) == b % UINT32_MAX;
}

/* The words of the block that begins with these 12 bytes; 0: none does. swap: of the other byte
   order. */
PROF__FN size_t prof__raw_length(const char *head, bool *swap) {
    uint32_t word[3];
    memcpy(word, head, sizeof word);
    *swap = word[0] != PROF__RAW_MAGIC;
    for (int i = 0; *swap && i < 3; i += 2) word[i] = prof__raw_swapped(word[i]);
    if (word[0] != PROF__RAW_MAGIC || word[2] & 3 || word[2] > PROF__RAW_LIMIT) return 0;
    return PROF__RAW_HEAD + word[2] / 4;
}

PROF__FN void prof__raw_skip(prof_raw *r, size_t bytes) {
    r->have -= bytes;
    memmove(r->block, (char *)r->block + bytes, r->have);
}

/* Bytes up to where a block may begin, by its head as far as that is there. */
PROF__FN size_t prof__raw_damage(const prof_raw *r) {
    const char *p = (const char *)r->block + 1, *end = (const char *)r->block + r->have;
    bool swap;
    for (; p < end; p++) {
        size_t left = (size_t)(end - p);
        if (left < 12 ? *p == 'P' || *p == 'F' : prof__raw_length(p, &swap) != 0) break;
    }
    return (size_t)(p - (const char *)r->block);
}

/* Reads whole blocks; last: nothing more will come. */
PROF__FN void prof__raw_read(prof_raw *r, bool last) {
    while (r->have >= 4 * PROF__RAW_HEAD || (last && r->have)) {
        size_t words = r->have < 4 * PROF__RAW_HEAD
            ? 0 : prof__raw_length((const char *)r->block, &r->swap), skip;
        if (words * 4 > r->have) {
            if (!last) return;
            words = 0;
        }
        if (words && prof__raw_right(r, words)) {
            prof__raw_read_block(r, words);
            prof__raw_skip(r, words * 4);
            continue;
        }
        skip = prof__raw_damage(r);
        r->stats.damaged_bytes += skip;
        r->stats.tail_bytes += skip;
        r->stats.damaged += !r->in_damage;
        r->in_damage = true;
        prof__raw_skip(r, skip);
    }
}

PROF_API PROF__QUIET prof_result prof_raw_open(const prof_raw_desc *desc, prof_raw **raw) {
    char *memory = desc ? (char *)desc->memory : NULL, *middle;
    size_t skip = (16u - ((uintptr_t)memory & 15u)) & 15u, size;
    prof_raw *r;
    if (!memory || !raw) return PROF_ERROR_INVALID;
    r = (prof_raw *)(void *)(memory + skip);
    if (desc->memory_size < sizeof *r + skip + 4096) return PROF_ERROR_MEMORY;
    memset(r, 0, sizeof *r);
    r->desc = *desc;
    size = (desc->memory_size - skip - sizeof *r) & ~(size_t)15u;
    middle = (char *)(void *)(r + 1) + size / 8;
    r->text_end = (char *)(void *)(r + 1) + size;
    r->rows = (prof__raw_row *)(void *)(r + 1);
    r->row_places = (uint32_t)(size / 8 / sizeof *r->rows);
    r->sites = (prof__raw_place *)(void *)(((uintptr_t)middle + 15u) & ~(uintptr_t)15u);
    r->site_places = (uint32_t)((size / 2 - size / 8 - 16) / sizeof *r->sites);
    prof__raw_forget(r);
    *raw = r;
    return PROF_OK;
}

PROF_API PROF__QUIET void prof_raw_feed(prof_raw *raw, const void *data, size_t size) {
    const char *from = (const char *)data;
    raw->stats.bytes += size;
    while (size) {
        size_t part = PROF__MIN(size, sizeof raw->block - raw->have);
        memcpy((char *)raw->block + raw->have, from, part);
        raw->have += part;
        from += part;
        size -= part;
        prof__raw_read(raw, false);
    }
}

PROF_API PROF__QUIET prof_result prof_raw_close(prof_raw *raw, prof_raw_stats *stats) {
    prof__raw_read(raw, true);
    prof__raw_hand_sums(raw);
    if (stats) *stats = raw->stats;
    if (raw->stats.newer) return PROF_ERROR_UNSUPPORTED;
    return raw->stats.damaged || raw->stats.missing_blocks || !raw->stats.blocks
               ? PROF_ERROR_INVALID : PROF_OK;
}
#else
static prof__raw prof__raw_out;

PROF__FN uint64_t prof__raw_rate(void) {
    const struct prof_trace *s = &prof__trace;
    uint64_t rate = prof__clock_rate(s);
    return s->clock == PROF_CLOCK_CPU ? rate << PROF__CLOCK_SHIFT : rate;
}

/* Records of one context, to be written. base: the time that the next end is counted from. */
typedef struct prof__span {
    const prof__record *at, *end;
    uint64_t base;
} prof__span;

PROF__FN void prof__raw_session(prof__raw *w) {
    const struct prof_trace *s = &prof__trace;
    prof__raw_begin(w, PROF__RAW_SESSION);
    prof__raw_u32(w, PROF_CLOCK_PLATFORM);
    prof__raw_u32(w, 1);
    prof__raw_u64(w, prof__raw_rate());
    prof__raw_u64(w, s->start_tick);
    prof__raw_u64(w, 0);
    prof__raw_u32(w, 1);
    prof__raw_u32(w, 0);
    prof__raw_end(w);
}

/* The sites that the stream has not told yet: those of marks, then names. */
PROF__FN void prof__raw_sites(prof__raw *w) {
    while (!w->failed && w->sites + w->names < prof__site_count + prof__names.count) {
        uint32_t i = w->sites, j = w->names;
        prof__raw_begin(w, PROF__RAW_SITES);
        while (i < prof__site_count && prof__raw_site(w, i + PROF__FIRST_SITE)) i++;
        while (i == prof__site_count && j < prof__names.count &&
               prof__raw_site(w, PROF_MAX_SITES - 1 - j + PROF__FIRST_SITE)) j++;
        if (!prof__raw_end(w)) return;
        w->sites = i;
        w->names = j;
    }
}

/* What a reader must know before records: all of it now and then, else what is new. */
PROF__FN void prof__raw_tell(prof__raw *w, prof__row *row) {
    if (w->round <= w->told / PROF__RAW_AGAIN) {
        w->round++;
        w->sites = w->names = 0;
        prof__raw_session(w);
    }
    prof__raw_sites(w);
    if (row->announced == w->round) return;
    prof__context_name(row);
    if (prof__raw_thread(w, row)) row->announced = w->round;
}

/* As many records as fit. The recorder lets the ends wrap; a stream says when they do. */
PROF__FN void prof__raw_copy(prof__raw *w, prof__span *span) {
    prof__cursor k = { span->at, span->end, span->base, 0 };
    prof__item i;
    for (uint32_t epoch = (uint32_t)(k.base >> 32); prof__next(&k, &i); span->base = k.base) {
        prof__record clock = { (uint32_t)(k.base >> 32), 0, (uint32_t)PROF__CLOCK << 8 };
        if ((PROF__RAW_WORDS - w->used) / 3 < i.slots + 1) return;
        span->at = k.at;
        if (i.kind == PROF__CLOCK) continue;
        if (!i.kind && clock.end != epoch) {
            memcpy(w->words + w->used, &clock, sizeof clock);
            w->used += 3;
        }
        epoch = clock.end;
        memcpy(w->words + w->used, i.at, i.slots * sizeof clock);
        w->used += 3 * i.slots;
        w->zones += prof__item_is_zone(&i);
    }
}

/* One block of records; false: the sink failed, and span is as it was. */
PROF__FN bool prof__raw_records(prof__raw *w, prof__state *t, prof__span *span) {
    prof__span next = *span;
    prof__raw_tell(w, &t->row);
    prof__raw_begin(w, PROF__RAW_RECORDS);
    prof__raw_u32(w, t->row.number);
    prof__raw_u32(w, (uint32_t)(span->base >> 32));
    prof__raw_u64(w, t->written);
    prof__raw_u64(w, prof__trace.time);
    prof__raw_u64(w, (uint64_t)prof__ticks_ns(prof__trace.time));
    prof__raw_u64(w, prof__raw_rate());
    prof__raw_copy(w, &next);
    if (!prof__raw_end(w)) return false;
    t->written += (w->used - PROF__RAW_HEAD - PROF__RAW_RECORDS_HEAD) / 3;
    w->told++;
    *span = next;
    return true;
}

/* What chunk g holds from flushed on. */
PROF__FN void prof__raw_chunk(prof__raw *w, prof__state *t, prof__segment *g) {
    prof__span span;
    span.at = g->flushed;
    span.end = g->end ? g->end : t->hot.cursor;
    span.base = g->position;
    while (span.at < span.end && prof__raw_records(w, t, &span)) {}
    if (w->dump) return;
    g->flushed = g->begin + (span.at - g->begin);
    g->position = span.base;
}

/* The zones still open, outermost first. */
PROF__FN void prof__raw_open(prof__raw *w, const prof__state *t) {
    uint32_t n = (uint32_t)prof__open_zones(t);
    if (!n) return;
    prof__raw_open_head(w, &t->row, prof__trace.time, n);
    for (uint32_t i = 0; i < n; i++) {
        prof__raw_u64(w, prof__start_of(t->frames + i));
        prof__raw_u32(w, t->frames[i].site_depth);
        prof__raw_u32(w, 0);
    }
    prof__raw_end(w);
    w->zones += n;
}

PROF__FN void prof__raw_rest(prof__raw *w) {
    prof_stats stats = prof__counts_now(&prof__trace);
    for (prof__row *row = prof__trace.rows; row; row = row->next)
        prof__raw_open(w, prof__row_state(row));
    stats.recorded = w->zones;
    prof__raw_counts(w, &stats, true);
}

PROF__FN prof_mode prof__mode(void) {
    return prof__trace.parts ? prof__trace.parts->mode : PROF_MODE_TRACE;
}

PROF_API PROF__QUIET prof_result prof_dump(prof_sink out) {
    struct prof_trace *s = &prof__trace;
    prof__raw *w = &prof__raw_out;
    if (!(s->open || s->stopped) || prof__mode() >= PROF_MODE_STREAM) return PROF_ERROR_STATE;
    if (!out.write) return PROF_ERROR_INVALID;
    memset(w, 0, sizeof *w);
    w->sink = out;
    w->dump = true;
    if (s->open) prof__time_in(NULL);
    for (prof__row *row = s->rows; row; row = row->next) {
        prof__state *t = prof__row_state(row);
        row->announced = 0;
        t->written = 0;
        for (prof__segment *g = row->first; g; g = g->next) prof__raw_chunk(w, t, g);
    }
    prof__raw_rest(w);
    return w->failed ? PROF_ERROR_SINK : PROF_OK;
}

/* ---- The ring and the stream ---- */

/* A new chunk, or the thread's oldest. */
PROF__FN void *prof__chunk_ring(void *state) {
    prof__state *t = (prof__state *)state;
    prof__segment *g = (prof__segment *)prof__chunk_new(), *oldest = t->row.first;
    if (g || oldest == t->segment) return g;
    t->row.first = oldest->next;
    prof__trace.overwritten += (prof__amount)(oldest->end - oldest->begin);
    return oldest;
}

PROF_API PROF__QUIET const prof__parts *prof__parts_ring(void) {
    static const prof__parts parts = { PROF_MODE_RING, prof__chunk_ring, NULL, NULL, NULL };
    return &parts;
}

/* ... or one that was streamed. */
PROF__FN void *prof__chunk_stream(void *state) {
    prof__segment *g = (prof__segment *)prof__chunk_new();
    (void)state;
    if (g || !prof__trace.free_chunks) return g;
    g = prof__trace.free_chunks;
    prof__trace.free_chunks = g->next;
    return g;
}

/* Gives back the oldest chunk of a row, which the stream has written. */
PROF__FN void prof__chunk_give(prof__row *row) {
    uintptr_t lock = prof__lock();
    prof__segment *g = row->first;
    row->first = g->next;
    g->next = prof__trace.free_chunks;
    prof__trace.free_chunks = g;
    prof__unlock(lock);
}

PROF_API PROF__QUIET prof_result prof_flush(void) {
    struct prof_trace *s = &prof__trace;
    bool ok = true;
    if (prof__mode() != PROF_MODE_STREAM || !(s->open || s->stopped)) return PROF_ERROR_STATE;
    for (prof__row *row = s->rows; row; row = row->next) {
        for (bool whole = true; whole && ok && row->first;) {
            whole = row->first->end != NULL;
            ok = s->parts->write(prof__row_state(row), row->first);
            if (whole && ok) prof__chunk_give(row);
        }
    }
    s->stream_failures += !ok;
    return ok ? PROF_OK : PROF_ERROR_SINK;
}

PROF__FN bool prof__raw_write(void *state, void *chunk) {
    prof__raw *w = &prof__raw_out;
    w->failed = false;
    prof__raw_chunk(w, (prof__state *)state, (prof__segment *)chunk);
    return !w->failed;
}

PROF__FN void prof__raw_close_stream(void) {
    (void)prof_flush();
    prof__raw_rest(&prof__raw_out);
}

PROF_API PROF__QUIET const prof__parts *prof__parts_raw(prof_sink sink) {
    static const prof__parts parts = { PROF_MODE_STREAM, prof__chunk_stream, prof__raw_write,
                                       prof__raw_close_stream, NULL };
    memset(&prof__raw_out, 0, sizeof prof__raw_out);
    prof__raw_out.sink = sink;
    return &parts;
}

/* ---- The stream as a Chrome array ---- */

/* False: the sink failed. */
PROF__FN bool prof__chrome_sent(struct prof__chrome_stream *c) {
    prof__out_flush(&c->out);
    return !c->out.failed;
}

/* The array's head, then the thread's name: each is there or comes again. */
PROF__FN bool prof__chrome_introduce(struct prof__chrome_stream *c, prof__row *row) {
    bool told = c->told;
    uint32_t announced = row->announced;
    prof__chrome_begin(&prof__trace);
    if (!prof__chrome_sent(c)) {
        c->told = told;
        return false;
    }
    prof__context_name(row);
    prof__chrome_tell(row, false);
    if (!prof__chrome_sent(c)) row->announced = announced;
    return !c->out.failed;
}

/* An event at a time goes to the sink: one that it did not take comes again. */
PROF__FN bool prof__chrome_write(void *state, void *chunk) {
    prof__state *t = (prof__state *)state;
    prof__segment *g = (prof__segment *)chunk;
    struct prof__chrome_stream *c = &prof__chrome_out;
    const prof__record *end = g->end ? g->end : t->hot.cursor;
    prof__out_open(&c->out, c->sink);
    if (g->flushed == end) return true;
    if (!prof__chrome_introduce(c, &t->row)) return false;
    while (g->flushed < end) {
        prof__cursor k = { g->flushed, end, g->position, 0 };
        prof__item item;
        (void)prof__next(&k, &item);
        if (item.kind != PROF__CLOCK) prof__chrome_item(c, &item);
        if (!prof__chrome_sent(c)) return false;
        prof__trace.tallied += prof__item_is_zone(&item);
        g->flushed += item.slots;
        g->position = k.base;
    }
    return true;
}

PROF__FN void prof__chrome_close(void) {
    struct prof__chrome_stream *c = &prof__chrome_out;
    uint64_t dropped = prof__dropped(&prof__trace, &prof__trace.counts);
    (void)prof_flush();
    prof__out_open(&c->out, c->sink);
    prof__trace.tallied += prof__chrome_rest(c, &prof__trace);
    prof__chrome_array_recorded(&c->out, &prof__trace, prof__trace.tallied);
    if (dropped) prof__out_f(&c->out, ",\"dropped\":%u", dropped);
    prof__out_text(&c->out, "}}\n]\n");
    prof__out_flush(&c->out);
}

PROF_API PROF__QUIET const prof__parts *prof__parts_chrome(prof_sink sink) {
    static const prof__parts parts = { PROF_MODE_STREAM, prof__chunk_stream, prof__chrome_write,
                                       prof__chrome_close, NULL };
    prof__chrome_out.sink = sink;
    prof__chrome_out.told = false;
    return &parts;
}
#endif

/* ---- @AGGREGATE: the sums of all threads, a row per name ---- */

#if PROF__BARE
#  define prof__tally_calls prof__tally_count
#  define prof__tally_name(r) (prof__site((r)->site >> 8)->name)
#else
#  define prof__tally_calls(r) ((r)->count)

PROF__FN const char *prof__tally_name(const prof__tally *r) {
    return r->site ? prof__site(r->site >> 8)->name : "(others)";
}
#endif

PROF__FN int64_t prof__tally_ns(const prof__scale *k, uint64_t ticks) {
#if PROF__BARE
    (void)k;
    if (prof__trace.clock == PROF_CLOCK_CPU) ticks >>= PROF__CLOCK_SHIFT;
#else
    if (prof__trace.clock == PROF_CLOCK_CPU) return (int64_t)prof__scale_ns(k, ticks);
#endif
    return prof__rate_ns(ticks, prof__clock_rate(&prof__trace));
}

PROF__FN void prof__tally_average(prof_average *a, const prof__tally *r, const prof__scale *k) {
    uint64_t ticks[PROF__TALLY_TIMES];
    prof__tally_identity(a, prof__tally_name(r), prof__tally_calls(r));
    prof__tally_times(r, ticks);
    for (int i = 0; i < PROF__TALLY_TIMES; i++) {
        int64_t ns = prof__tally_ns(k, ticks[i]);
        memcpy((char *)a + offsetof(prof_average, cpu_time_total_ns) + sizeof ns * (size_t)i, &ns,
               sizeof ns);
    }
    a->first = prof__site_order(r->site >> 8);
    if (!PROF__BARE && !r->site) a->first = PROF_NONE;
}

#if PROF__BARE
/* The rows of sites, of all contexts. A context sums its chunk up when that is full; reports do so
   with what they find in it. */
static prof__tally *prof__tally_rows[PROF_MAX_SITES];

PROF__FN prof__tally *prof__tally_of(uint32_t site) {
    prof__tally **place = prof__tally_rows + (site >> 8) - PROF__FIRST_SITE;
    if (*place) return *place;
    *place = (prof__tally *)prof__take(sizeof **place, 0);
    if (!*place) return NULL;
    memset(*place, 0, sizeof **place);
    (*place)->site = site;
    (*place)->least = UINT64_MAX;
    return *place;
}

PROF__FN void prof__tally_zone(prof__state *t, uint32_t site_depth, uint64_t ticks) {
    uint64_t *inner = prof__state_inner(t) + (site_depth & 0xff);
    prof__tally *r = prof__tally_of(site_depth & ~(uint32_t)0xff);
    uint32_t i = 0;
    while (i < PROF__BUCKETS - 1 && ticks >> i * PROF__BUCKET_BITS) i++;
    if (r) {
        r->histogram[i]++;
        r->total += ticks;
        r->inner += inner[1];
        r->least = PROF__MIN(r->least, ticks);
        r->most = PROF__MAX(r->most, ticks);
    } else {
        prof__trace.counts.not_kept++;
    }
    inner[1] = 0;
    inner[0] += ticks;
}

/* Sums up what is new. Under the lock. */
PROF__FN void prof__tally_chunk(prof__state *t) {
    prof__record *c = t->segment->flushed, *end = t->hot.cursor;
    for (; c < end; c++) {               /* prof__next would cost 170 bytes here */
        uint32_t kind = c->site_depth >> 8;
        if (kind < PROF__KIND) prof__tally_zone(t, c->site_depth, c->duration);
        if (kind <= PROF__CLOCK) continue;
        c++;
        if (kind == PROF__ZONE64) prof__tally_zone(t, c->site_depth, prof__record_get(c - 1));
        else prof__trace.counts.not_kept++;
    }
    t->segment->flushed = end;
}

/* A context has one chunk, which is emptied. */
PROF__FN void *prof__tally_chunk_again(void *state) {
    prof__state *t = (prof__state *)state;
    if (!t->segment) return prof__chunk_new();
    prof__tally_chunk(t);
    t->hot.cursor = t->segment->flushed = t->segment->begin;
    return NULL;
}

/* Zones still open end now. */
PROF__FN void prof__tally_close(void) {
    for (prof__row *row = prof__trace.rows; row; row = row->next) {
        prof__state *t = prof__row_state(row);
        for (; prof__open_zones(t); prof__trace.counts.unfinished++) prof__end_zone(t);
        if (t->segment) prof__tally_chunk(t);
    }
}

PROF__FN size_t prof__average_tallies(prof_average *rows, size_t max) {
    uintptr_t lock = prof__lock();
    size_t n = 0;
    prof__scale k = { 0 };
    for (prof__row *row = prof__trace.rows; row; row = row->next) {
        prof__state *t = prof__row_state(row);
        if (t->segment) prof__tally_chunk(t);
    }
    prof__trace.tallied = 0;
    for (uint32_t i = 0; i < PROF_MAX_SITES; i++) {
        const prof__tally *r = prof__tally_rows[i];
        if (!r) continue;
        prof__trace.tallied += (prof__amount)prof__tally_count(r);
        if (n < max) prof__tally_average(rows + n, r, &k);
        n++;
    }
    prof__unlock(lock);
    return n;
}

PROF_API PROF__QUIET const prof__parts *prof__parts_aggregate(void) {
    static const prof__parts parts = { PROF_MODE_AGGREGATE, prof__tally_chunk_again, NULL,
                                       prof__tally_close, prof__average_tallies };
    memset(prof__tally_rows, 0, sizeof prof__tally_rows);
    return &parts;
}

PROF_API PROF__QUIET size_t prof_snapshot(prof_average *rows, size_t max) {
    const prof__parts *parts = prof__trace.parts;
    return parts && parts->average ? parts->average(rows, rows ? max : 0) : 0;
}
#else
PROF__FN const prof_site *prof__merged_place(const prof__merged *y, uint32_t site) {
    return y->by_site ? prof__site_placed(site >> 8) : NULL;
}

/* The merged row of a site's name, or place; all others' where none is free. */
PROF__FN prof__tally *prof__merged_of(prof__merged *y, uint32_t site) {
    const char *name = site ? prof__site(site >> 8)->name : "";
    const prof_site *place = prof__merged_place(y, site);
    size_t length;
    uint32_t i = prof__hash_place(prof__hash(name, &length), place) & (y->places - 1);
    if (prof__is_others(site)) return y->rows + y->places;
    for (; y->rows[i].site; i = (i + 1) & (y->places - 1))
        if (strcmp(prof__site(y->rows[i].site >> 8)->name, name) == 0 &&
            prof__same_place(prof__merged_place(y, y->rows[i].site), place)) return y->rows + i;
    if (y->used + 1 == y->places) return y->rows + y->places;
    y->used++;
    y->rows[i].site = site;
    y->rows[i].least = UINT64_MAX;
    return y->rows + i;
}

PROF__FN void prof__merge(prof__merged *to, const prof__tally *from) {
    prof__tally *r = prof__merged_of(to, from->site);
    if (from->site && !r->site) prof__trace.not_merged += from->count;
    if (r->site && prof__site_order(from->site >> 8) < prof__site_order(r->site >> 8))
        r->site = from->site;
    prof__tally_add(r, from);
}

PROF__FN void prof__merge_state(prof__merged *to, const prof__state *t, prof__rest *rest) {
    prof__cursor k = { rest->begin, rest->end, 0, 0 };
    prof__item i;
    uint64_t within;
    for (const prof__tally *r = t->tallies.others; r; r = PROF__ACQUIRE(r->next)) {
        prof__tally row;
        prof__rest_row(rest, t, r, &row);
        prof__merge(to, &row);
    }
    while (prof__rest_next(rest, t, &k, &i, &within))
        prof__tally_put(prof__merged_of(to, i.site_depth & ~(uint32_t)0xff), i.duration, within);
}

/* Merges what the states hold. Under the lock. */
PROF__FN void prof__merge_all(struct prof_trace *s) {
    uint64_t *inner = (uint64_t *)(void *)(s->merged.rows + s->merged.places + 1);
    prof__record *to = (prof__record *)(void *)(inner + prof__align(s->max_depth + 2));
    memset(s->merged.rows, 0, (s->merged.places + 1) * sizeof *s->merged.rows);
    s->merged.rows[s->merged.places].least = UINT64_MAX;
    s->merged.used = 0;
    s->not_merged = 0;
    for (prof__state *t = prof__used(NULL); t; t = prof__used(t)) {
        prof__rest rest;
        rest.lend = t;
        if (!t->tallies.others) continue;
        prof__rest_copy(&rest, t, to, SIZE_MAX, inner);   /* there is room for any block */
        prof__merge_state(&s->merged, t, &rest);
    }
}

/* Ticks that are no time of day, as ns: at the session's rate, or what is known of it so far. */
PROF__FN prof__scale prof__sums_scale(const struct prof_trace *s) {
    prof__knot zero = { 0, 0 }, rate = { 1, 1 };
    if (s->clock == PROF_CLOCK_CPU) {
        bool ended = s->stopped && s->knot_count;
        prof__knot first = ended ? s->knots[0] : prof__first_knot;
        if (ended) rate = s->knots[s->knot_count - 1];
        else do rate = prof__knot_now(); while (rate.ns - first.ns < 5000000u);
        rate.tick -= first.tick;
        rate.ns -= first.ns;
    }
    return prof__scale_between(zero, rate, 0);
}

/* The rows of one name, of all threads. */
PROF__FN prof_average prof__sums_average(const struct prof_trace *s, const prof__tally *r) {
    prof__scale k = prof__sums_scale(s);
    prof_average a;
    prof__tally all;
    memset(&all, 0, sizeof all);
    all.least = UINT64_MAX;
    all.site = r->site;
    for (; r; r = r->same) prof__tally_add(&all, r);
    prof__tally_average(&a, &all, &k);
    return a;
}

PROF__FN size_t prof__average_tallies(prof_average *rows, size_t max, bool by_site) {
    struct prof_trace *s = &prof__trace;
    prof__scale k;
    size_t n = 0;
    prof__lock();
    if (!s->average) {
        prof__unlock();
        return 0;
    }
    prof__functions_name();
    s->merged.by_site = by_site;
    prof__merge_all(s);
    s->tallied = 0;
    k = prof__sums_scale(s);
    for (uint32_t i = 0; i <= s->merged.places; i++) {
        const prof__tally *r = s->merged.rows + i;
        if (!r->count) continue;
        s->tallied += r->count;
        if (n < max) {
            prof__tally_average(rows + n, r, &k);
            rows[n].site = prof__merged_place(&s->merged, r->site);
        }
        n++;
    }
    prof__unlock();
    prof__rows_sort(rows, PROF__MIN(n, max), PROF_METRIC_FLOPS);   /* all have 0: by first */
    return n;
}

PROF_API PROF__QUIET size_t prof_snapshot(prof_average *rows, size_t max) {
    return prof__average_tallies(rows, rows ? max : 0, false);
}

/* Room for the rows of all names, for the table made of them, and for a copy of one block: of a
   small arena half, at most 8,192 names; threads take theirs as they come. */
PROF__FN bool prof__merged_open(struct prof_trace *s) {
    size_t gap = (size_t)(prof__arena.high - prof__arena.low) - prof__arena.promised, rows;
    size_t block = prof__sums_block(s->max_depth), most = PROF__MIN(gap / 64, 16384u);
    size_t rest = prof__align(s->max_depth + 2) * sizeof(uint64_t) + PROF__MAX(block, most);
    uint32_t places = 8192;
    for (;; places /= 2) {
        rows = (places + 1) * (sizeof(prof__tally) + sizeof(prof_average));
        if (places < 8) return false;
        if (rows + rest <= gap / (places > 16 ? 4 : 2)) break;
    }
    prof__arena.high -= prof__align((places + 1) * sizeof(prof_average));
    s->averages = (prof_average *)(void *)prof__arena.high;
    prof__arena.high -= prof__align((places + 1) * sizeof(prof__tally) + rest);
    s->merged.rows = (prof__tally *)(void *)prof__arena.high;
    s->merged.places = places;
    s->average = prof__average_tallies;
    s->sums = true;
    s->sums_each = prof__sums_share(s->max_depth) / 2;
    prof__arena.seats = PROF__MIN(s->max_threads * s->sums_each, prof__arena_room() / 2);
    return true;
}
#endif

/* ---- @OBSERVE: observers, and those that hand zones on to NVTX and ITT ---- */

#if !PROF__BARE
PROF__FN uint32_t prof__observer_find(const void *user) {
    uint32_t i = 0;
    while (i < prof__observer_count && prof__observers[i].user != user) i++;
    return i;
}

PROF_API PROF__QUIET prof_result prof_add_observer(const prof_observer *observer) {
    prof_result result = PROF_OK;
    if (!observer) return PROF_ERROR_INVALID;
    prof__lock();
    if (prof__session.open || prof__observer_find(observer->user) < prof__observer_count)
        result = PROF_ERROR_STATE;
    else if (prof__observer_count == PROF__OBSERVERS) result = PROF_ERROR_MEMORY;
    else prof__observers[prof__observer_count++] = *observer;
    prof__unlock();
    return result;
}

PROF_API PROF__QUIET prof_result prof_remove_observer(const void *user) {
    prof_observer gone;
    prof_result result = PROF_OK;
    uint32_t i;
    memset(&gone, 0, sizeof gone);
    prof__lock();
    i = prof__observer_find(user);
    if (prof__session.open) result = PROF_ERROR_STATE;
    else if (i == prof__observer_count) result = PROF_ERROR_INVALID;
    else {
        gone = prof__observers[i];
        prof__observer_count--;
        memmove(prof__observers + i, prof__observers + i + 1,
                (prof__observer_count - i) * sizeof gone);
    }
    prof__unlock();
    if (gone.cleanup) gone.cleanup(gone.user);
    return result;
}

/* ---- libraries that a tool names in the environment ---- */

PROF__FN char *prof__append(char *p, const char *end, const char *text) {
    while (*text && p < end) *p++ = *text++;
    return p;
}

/* What prof_strerror says of PROF_ERROR_UNSUPPORTED from now on. */
PROF__FN void prof__unsupported(const char *who, const char *a, const char *b, const char *c) {
    static char text[160];
    prof__unsupported_text = text;
    (void)prof_format_text(text, sizeof text, "%s: %s%s%s", who, a, b, c);
}

typedef void (*prof__function)(void);

/* A library, or NULL and why not, in prof_strerror's words. */
PROF__FN void *prof__library_open(const char *who, const char *variable) {
    const char *path = getenv(variable);
    void *library = NULL;
    if (!path || !*path) {
        prof__unsupported(who, "no tool listens, ", variable, " is not set");
        return NULL;
    }
#if defined(_WIN32)
    library = (void *)LoadLibraryA(path);
#else
#  if defined(__ELF__)
    if (!dlopen || !dlsym) {
        prof__unsupported(who, "link with -ldl, and not -static", "", "");
        return NULL;
    }
#  endif
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
    if (!library) prof__unsupported(who, "the library that ", variable, " names cannot be loaded");
    return library;
}

/* NULL: it has none of this name. */
PROF__FN prof__function prof__library_find(void *library, const char *name) {
    prof__function f = NULL;
#if defined(_WIN32)
    FARPROC p = GetProcAddress((HMODULE)library, name);
#else
    void *p = dlsym(library, name);
#endif
    memcpy(&f, &p, sizeof f);
    return f;
}

/* What loads at the first use: one thread does, others wait. */
typedef struct prof__lazy { bool begun, done, good; } prof__lazy;

PROF__FN bool prof__lazy_load(prof__lazy *lazy, bool (*load)(void)) {
    bool mine;
    if (PROF__ACQUIRE(lazy->done)) return lazy->good;
    prof__lock();
    mine = !lazy->begun;
    lazy->begun = true;
    prof__unlock();
    if (mine) {
        lazy->good = load();
        lazy->begun = lazy->good;        /* what failed may be tried again */
        PROF__RELEASE(lazy->done, lazy->good);
        return lazy->good;
    }
    for (int i = 0; i < 10000 && !PROF__ACQUIRE(lazy->done); i++) prof__yield();
    return PROF__ACQUIRE(lazy->done) && lazy->good;
}

/* ---- NVTX: as its header does, hands the tool a table of functions to fill in ---- */

#if defined(_WIN32)
#  define PROF__STDCALL __stdcall
#else
#  define PROF__STDCALL
#endif

enum { PROF__NVTX_MARK = 2, PROF__NVTX_PUSH = 9, PROF__NVTX_POP = 11, PROF__NVTX_CORE = 16 };

static struct prof__nvtx {
    prof__lazy lazy;
    prof__function core[PROF__NVTX_CORE], others[PROF__NVTX_CORE];   /* others: are never called */
    prof__function *core_table[PROF__NVTX_CORE + 1], *other_table[PROF__NVTX_CORE + 1];
} prof__nvtx;

typedef void (PROF__STDCALL *prof__nvtx_mark)(const char *text);
typedef int (PROF__STDCALL *prof__nvtx_push)(const char *text);
typedef int (PROF__STDCALL *prof__nvtx_pop)(void);

PROF__FN int PROF__STDCALL prof__nvtx_module(int module, prof__function ***table,
                                             unsigned *count) {
    static const uint8_t counts[] = { 0, PROF__NVTX_CORE, 9, 15, 7, 16, 7 };
    if (module < 1 || module >= (int)sizeof counts) return 0;
    if (table) *table = module == 1 ? prof__nvtx.core_table : prof__nvtx.other_table;
    if (count) *count = counts[module];
    return 1;
}

PROF__FN void PROF__STDCALL prof__nvtx_version(uint32_t version) { (void)version; }

/* 1: the tables, 3: which version of NVTX this is. */
PROF__FN const void *PROF__STDCALL prof__nvtx_export(uint32_t id) {
    static const struct {
        size_t size;
        int (PROF__STDCALL *module)(int, prof__function ***, unsigned *);
    } tables = { sizeof tables, prof__nvtx_module };
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (PROF__STDCALL *tell)(uint32_t);
    } version = { sizeof version, 3, 0, prof__nvtx_version };
    return id == 1 ? (const void *)&tables : id == 3 ? (const void *)&version : NULL;
}

PROF__FN bool prof__nvtx_load(void) {
    struct prof__nvtx *n = &prof__nvtx;
    const char *variable = sizeof(void *) == 4 ? "NVTX_INJECTION32_PATH" : "NVTX_INJECTION64_PATH";
    int (PROF__STDCALL *begin)(const void *(PROF__STDCALL *)(uint32_t)) = NULL;
    void *library = prof__library_open("NVTX", variable);
    prof__function f;
    if (!library) return false;
    for (int i = 1; i < PROF__NVTX_CORE; i++) {
        n->core_table[i] = n->core + i;
        n->other_table[i] = n->others + i;
    }
    f = prof__library_find(library, "InitializeInjectionNvtx2");
    memcpy(&begin, &f, sizeof begin);
    if (begin && begin(prof__nvtx_export)) return true;
    prof__unsupported("NVTX", "the library that ", variable, " names is no tool that works");
    return false;
}

/* ", sizes = [[2, 3], []]", as much as fits */
PROF__FN char *prof__append_number(char *p, const char *end, int64_t n) {
    char number[24];
    *prof__text_i64(number, n) = 0;
    return prof__append(p, end, number);
}

PROF__FN char *prof__append_shapes(char *p, const char *end, const prof_shape *s, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        p = prof__append(p, end, i ? ", [" : "[[");
        for (uint32_t k = 0; k < s[i].count && s[i].dims && !s[i].items; k++) {
            if (k) p = prof__append(p, end, ", ");
            p = prof__append_number(p, end, s[i].dims[k]);
        }
        p = prof__append(p, end, "]");
    }
    return prof__append(p, end, "]");
}

/* PyTorch's text of a range: what is known of "name, seq = 5, op_id = 7, sizes = [[2, 3], []]". */
PROF__FN void prof__nvtx_text(char *p, size_t size, const char *name, const prof_extra *with) {
    const char *end = p + size - 1;
    p = prof__append(p, end, name);
    if (with->has & PROF_HAS_SEQUENCE_NR && with->sequence_nr >= 0) {
        p = prof__append(p, end, ", seq = ");
        p = prof__append_number(p, end, with->sequence_nr);
    }
    if (with->has & PROF_HAS_ID && with->id > 0) {
        p = prof__append(p, end, ", op_id = ");
        p = prof__append_number(p, end, with->id);
    }
    if (with->input_shapes && with->input_count) {
        p = prof__append(p, end, ", sizes = ");
        p = prof__append_shapes(p, end, with->input_shapes, with->input_count);
    }
    *p = 0;
}

PROF__FN void prof__nvtx_begin(void *user, const char *name, const prof_extra *with) {
    prof__nvtx_push push = NULL;
    char text[1024];
    (void)user;
    memcpy(&push, prof__nvtx.core + PROF__NVTX_PUSH, sizeof push);
    if (!push) return;
    if (with) prof__nvtx_text(text, sizeof text, name, with);
    (void)push(with ? text : name);
}

PROF__FN void prof__nvtx_end(void *user, const char *name) {
    prof__nvtx_pop pop = NULL;
    (void)user;
    (void)name;
    memcpy(&pop, prof__nvtx.core + PROF__NVTX_POP, sizeof pop);
    if (pop) (void)pop();
}

PROF__FN void prof__nvtx_instant(void *user, const char *name) {
    prof__nvtx_mark mark = NULL;
    (void)user;
    memcpy(&mark, prof__nvtx.core + PROF__NVTX_MARK, sizeof mark);
    if (mark) mark(name);
}

/* Adds the observer of a library that loaded, or takes it away. */
PROF__FN prof_result prof__emit(bool on, bool loaded, const prof_observer *observer) {
    if (!on) return prof_remove_observer(observer->user);
    return loaded ? prof_add_observer(observer) : PROF_ERROR_UNSUPPORTED;
}

PROF_API PROF__QUIET prof_result prof_emit_nvtx(bool on) {
    prof_observer o;
    memset(&o, 0, sizeof o);
    o.begin_with = prof__nvtx_begin;
    o.end = prof__nvtx_end;
    o.instant = prof__nvtx_instant;
    o.user = &prof__nvtx;
    return prof__emit(on, on && prof__lazy_load(&prof__nvtx.lazy, prof__nvtx_load), &o);
}

/* ---- ITT: as its static part does, has the tool fill in a list of functions ---- */

typedef struct prof__itt_id { unsigned long long d1, d2, d3; } prof__itt_id;
typedef struct prof__itt_api {
    const char *name;
    prof__function *function;
    void *init_function, *null_function;
    int group;
} prof__itt_api;

/* The head of ITT's __itt_global, version 3, and room for more. */
typedef struct prof__itt_global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long initialized, mutex_initialized, counter;
#if defined(_WIN32)
    CRITICAL_SECTION mutex;
#else
    pthread_mutex_t mutex;
#endif
    void *library, *error_handler;
    const char **path;
    prof__itt_api *list;
    void *next, *threads, *domains, *strings;
    int state;
    void *more[8];
} prof__itt_global;

#if defined(_WIN32)
#  define PROF__ITT_TEXT(name) name "A"
#else
#  define PROF__ITT_TEXT(name) name
#endif
enum { PROF__ITT_DOMAIN, PROF__ITT_STRING, PROF__ITT_BEGIN, PROF__ITT_END, PROF__ITT_APIS };

static struct prof__itt {
    prof__lazy lazy;
    prof__function functions[PROF__ITT_APIS];
    prof__itt_api list[PROF__ITT_APIS + 1];
    prof__itt_global global;
    volatile int *domain;                /* its first field: 0 is off */
} prof__itt;

PROF__FN void prof__itt_global_open(prof__itt_global *g, void *library) {
    static const unsigned char magic[] = { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 };
    memcpy(g->magic, magic, sizeof magic);
    g->version_major = 3;
    g->version_minor = 26;
    g->version_build = 20250807;
    g->initialized = 1;
    g->mutex_initialized = 1;
#if defined(_WIN32)
    InitializeCriticalSection(&g->mutex);
#else
    (void)pthread_mutex_init(&g->mutex, NULL);
#endif
    g->library = library;
    g->list = prof__itt.list;
}

PROF__FN bool prof__itt_load(void) {
    static const char *const names[] = { PROF__ITT_TEXT("__itt_domain_create"),
        PROF__ITT_TEXT("__itt_string_handle_create"), "__itt_task_begin", "__itt_task_end" };
    const char *variable = sizeof(void *) == 4 ? "INTEL_LIBITTNOTIFY32" : "INTEL_LIBITTNOTIFY64";
    struct prof__itt *t = &prof__itt;
    void *library = prof__library_open("ITT", variable);
    void (*begin)(prof__itt_global *, int) = NULL;
    volatile int *(*create)(const char *) = NULL;
    prof__function f;
    if (!library) return false;
    for (int i = 0; i < PROF__ITT_APIS; i++) {
        t->list[i].name = names[i];
        t->list[i].function = t->functions + i;
        t->functions[i] = prof__library_find(library, names[i]);
    }
    prof__itt_global_open(&t->global, library);
    f = prof__library_find(library, "__itt_api_init");
    memcpy(&begin, &f, sizeof begin);
    if (begin) begin(&t->global, -1);    /* all groups */
    memcpy(&create, t->functions + PROF__ITT_DOMAIN, sizeof create);
    t->domain = create ? create("prof") : NULL;
    if (t->domain && t->functions[PROF__ITT_STRING] && t->functions[PROF__ITT_BEGIN] &&
        t->functions[PROF__ITT_END]) return true;
    prof__unsupported("ITT", "the library that ", variable, " names is no tool that works");
    return false;
}

PROF__FN void prof__itt_begin(const char *text) {
    void *(*string)(const char *) = NULL;
    void (*begin)(volatile int *, prof__itt_id, prof__itt_id, void *) = NULL;
    prof__itt_id none = { 0, 0, 0 };
    if (!*prof__itt.domain) return;
    memcpy(&string, prof__itt.functions + PROF__ITT_STRING, sizeof string);
    memcpy(&begin, prof__itt.functions + PROF__ITT_BEGIN, sizeof begin);
    begin(prof__itt.domain, none, none, string(text));
}

PROF__FN void prof__itt_end(void) {
    void (*end)(volatile int *) = NULL;
    if (!*prof__itt.domain) return;
    memcpy(&end, prof__itt.functions + PROF__ITT_END, sizeof end);
    end(prof__itt.domain);
}

PROF__FN void prof__itt_observe_begin(void *user, const char *name) {
    (void)user;
    prof__itt_begin(name);
}
PROF__FN void prof__itt_observe_end(void *user, const char *name) {
    (void)user;
    (void)name;
    prof__itt_end();
}
PROF__FN void prof__itt_observe_instant(void *user, const char *name) {
    (void)user;
    prof__itt_begin(name);
    prof__itt_end();
}

PROF_API PROF__QUIET prof_result prof_emit_itt(bool on) {
    prof_observer o;
    memset(&o, 0, sizeof o);
    o.begin = prof__itt_observe_begin;
    o.end = prof__itt_observe_end;
    o.instant = prof__itt_observe_instant;
    o.user = &prof__itt;
    return prof__emit(on, on && prof_itt_is_available(), &o);
}

PROF_API PROF__QUIET bool prof_itt_is_available(void) {
    return prof__lazy_load(&prof__itt.lazy, prof__itt_load);
}

PROF_API PROF__QUIET void prof_itt_mark(const char *text) {
    if (prof_itt_is_available()) prof__itt_observe_instant(NULL, prof__text(text));
}

PROF_API PROF__QUIET int prof_itt_range_push(const char *text) {
    if (!prof_itt_is_available()) return -1;
    prof__itt_begin(prof__text(text));
    return (int)prof__slot_get()->itt_ranges++;
}

PROF_API PROF__QUIET int prof_itt_range_pop(void) {
    prof__slot *slot = prof__slot_get();
    if (!slot->itt_ranges || !prof_itt_is_available()) return -1;
    prof__itt_end();
    return (int)--slot->itt_ranges;
}
#endif

/* ---- @SCHEDULE: which steps are recorded ---- */

PROF_API PROF__QUIET prof_result prof_schedule_check(const prof_schedule *s) {
    const uint32_t most = INT32_MAX;
    return s && s->active && s->skip_first <= most && s->wait <= most && s->warmup <= most &&
                   s->active <= most && s->repeat <= most ? PROF_OK : PROF_ERROR_INVALID;
}

PROF_API PROF__QUIET prof_action prof_schedule_action(const prof_schedule *s, uint64_t step) {
    uint64_t length, cycle;
    if (!s || !s->active || step < s->skip_first) return PROF_ACTION_NONE;
    length = (uint64_t)s->wait + s->warmup + s->active;
    cycle = (step - s->skip_first) / length;
    step = (step - s->skip_first) % length + (s->skip_first_wait ? s->wait : 0);
    if (step >= length) {
        step -= length;
        cycle++;
    }
    if (s->repeat && cycle >= s->repeat) return PROF_ACTION_NONE;
    if (step < s->wait) return PROF_ACTION_NONE;
    if (step < (uint64_t)s->wait + s->warmup) return PROF_ACTION_WARMUP;
    return step < length - 1 ? PROF_ACTION_RECORD : PROF_ACTION_RECORD_AND_SAVE;
}

/* What a change of action does: p prepares a window, s starts it, x stops it, r hands it out; `!`:
   a window is lost on the way. Rows: from; columns: to, the last one prof_stop. */
#define PROF__EXIT 4
static const char *const prof__transitions[4][5] = {
    { "", "p", "ps", "ps", "" },         /* from PROF_ACTION_NONE */
    { "!sx", "", "s", "s", "sx" },       /* WARMUP */
    { "!x", "!xp", "", "", "xr" },       /* RECORD */
    { "xr", "xrp", "xrps", "xrps", "xr" }   /* RECORD_AND_SAVE */
};

/* The same where a device stopped by itself: the window ends early. */
PROF__FN const char *prof__transition_stopped(prof_action from) {
    return from == PROF_ACTION_WARMUP ? "sxr" : "xr";
}

/* ---- @SESSION: start, stop, statistics ---- */

#if PROF__BARE
static const char prof__memory_text[] =
#else
static char prof__memory_text[96] =
#endif
    "the arena is too small: prof_arena_size(desc) says how much it takes";

#if PROF__BARE
static const char prof__json_text_bad[] = "this is not JSON";
#endif

PROF_API PROF__QUIET uint32_t prof_set_categories(uint32_t on) {
    uint32_t before = ~PROF__LOAD(prof__categories_off);
    PROF__STORE(prof__categories_off, ~on);
    return before;
}

PROF_API PROF__QUIET bool prof_category_on(uint32_t categories) {
    return (categories & ~PROF__LOAD(prof__categories_off)) != 0;
}

#if !PROF__BARE
/* What the environment asks for.
   prof_start_env keeps a session beside its file. A stream leaves through a keeper: a process that
   shares this one's memory (Linux; elsewhere a thread), so that it is there when the program is
   not: exit, a crash, exec and kill need no handler. */
static struct prof__env {
    prof_desc desc;                      /* for a child of fork, which records again */
    bool started, streams, child;
    bool last;                           /* into the reserve */
    uint32_t open, saving, mute, blocks; /* of the file; mute: nothing is written; that were */
    char path[1024], wrong[256];         /* wrong: what prof_start_env did not like; "" */
    prof_file file;
    uint64_t end;                        /* of what was written whole */
    uint64_t failed_ns;                  /* when a write failed last; 0: it did not */
    int error;                           /* of that */
#if !defined(_WIN32)
    uint64_t device, inode;              /* of the file: a program may close what it did not open */
#endif
} prof__env;
#endif

PROF_API PROF__QUIET const char *prof_strerror(prof_result result) {
    static const char *const texts[] = {
        "no error", "an argument is not one this call takes", prof__memory_text,
        "not now: a session is open already", "the sink's write() returned false",
        "the file could not be written (errno says why)",
        prof__unsupported_usual,
        "the session did not record that: set profile_memory in prof_desc", prof__json_text_bad };
#if !PROF__BARE
    if (result == PROF_ERROR_UNSUPPORTED) return prof__unsupported_text;
    if (result == PROF_ERROR_INVALID && prof__env.wrong[0]) return prof__env.wrong;
#endif
    return (unsigned)result < sizeof texts / sizeof *texts ? texts[result] : "unknown error";
}

#if PROF__BARE
/* What a state and a chunk take, and what both entail for the analysis: returned, of a context.
   size: of the arena. */
PROF__FN size_t prof__plan_make(prof__plan *p, uint32_t shape, size_t size) {
    size_t depth = shape & 0xff, slots = PROF__RESERVE(depth) + PROF__WORK_SLOTS;
    size_t share = shape & PROF__SHAPE_RECORDS_ONLY ? 0 : PROF__SLOT_SHARE;
    slots = PROF__MAX(slots, size >> 10);
    p->state = sizeof(prof__state) + depth * sizeof(prof__frame);
    if (shape & PROF__SHAPE_SUMS) p->state += depth * sizeof(uint64_t) + 24;   /* at most */
    p->state_more = depth * share + prof__align(sizeof(prof_thread_info));
    p->chunk = sizeof(prof__segment) + slots * sizeof(prof__record);
    p->chunk_more = slots * share;
    return p->state + p->state_more + p->chunk + p->chunk_more + 30;   /* to align both */
}

/* The least arena. */
PROF_API PROF__QUIET size_t prof_arena_size(const prof_desc *desc) {
    prof__plan p;
    uint32_t shape = desc ? prof__shape_of(desc) : 16, threads = shape >> 16;
    size_t one = prof__plan_make(&p, shape, 0);
    size_t sites = shape & PROF__SHAPE_RECORDS_ONLY ? 0 : PROF__SITE_SHARE;
    return 15 + (threads ? threads : 1) * one + (prof__site_count + 1) * sites;
}

/* In prof__arena from base to end. */
PROF__FN prof_result prof__open_session(uint32_t shape, const prof__parts *parts,
                                        const prof__hooks *hooks, uint32_t rate) {
    struct prof_trace *s = &prof__trace;
    size_t need, threads = shape >> 16;
    memset(s, 0, sizeof *s);
    s->parts = parts;
    s->hooks = hooks;
    s->rate = rate;
    if (hooks ? !hooks->open() : !prof__chip_open()) return PROF_ERROR_UNSUPPORTED;
    s->start_tick = s->time;
    s->max_depth = shape & 0xff;
    s->max_threads = (uint32_t)threads;
    s->records_only = (shape & PROF__SHAPE_RECORDS_ONLY) != 0;
    s->reserve = (PROF__RESERVE(s->max_depth) + PROF__CALL_SLOTS) * sizeof(prof__record);
    prof__names.count = 0;
    prof__arena.low = prof__arena.base;
    prof__arena.high = prof__arena.end;
    prof__arena.room = (size_t)(prof__arena.end - prof__arena.base);
    need = prof__plan_make(&s->plan, shape, prof__arena.room);
    if (threads) need *= threads;
    prof__names.share = s->records_only ? 0 : PROF__SITE_SHARE;
    if (!prof__promise((prof__site_count + 1) * prof__names.share) || prof__arena.room < need)
        return PROF_ERROR_MEMORY;
    prof__disarm();
    s->open = true;
    PROF__BARRIER();
    prof__on = 1;
    return PROF_OK;
}

PROF_API PROF__QUIET prof_result prof__start(uint32_t shape, const prof__parts *parts,
                                             const prof__hooks *hooks, uint32_t rate) {
    prof__arena.base = prof__builtin_arena.bytes;
    prof__arena.end = prof__builtin_arena.bytes + sizeof prof__builtin_arena.bytes;
    return prof__open_session(shape, parts, hooks, rate);
}

PROF_API PROF__QUIET prof_result prof__start_in(uint32_t shape, const prof__parts *parts,
                                                const prof__hooks *hooks, uint32_t rate,
                                                void *memory, size_t size) {
    size_t skip = (0 - (uintptr_t)memory) & 15u;
    prof__arena.base = (char *)memory + PROF__MIN(skip, size);
    prof__arena.end = (char *)memory + size;
    return prof__open_session(shape, parts, hooks, rate);
}

/* For pointers to it, and other languages. */
PROF_API PROF__QUIET prof_result(prof_start)(const prof_desc *desc) {
    return prof__start_inline(desc);
}

PROF_API PROF__QUIET prof_trace *prof_stop(void) {
    struct prof_trace *s = &prof__trace;
    if (!s->open) return NULL;
    (void)prof__enter(false);
    for (prof__row *row = s->rows; row; row = row->next) prof__time_in(prof__row_state(row));
    prof__on = 0;
    s->open = false;
    s->stopped = true;
    prof__disarm();
    prof__leave(NULL);
    if (s->parts && s->parts->close) s->parts->close();
    prof__arena.room = 0;                /* nothing more is taken */
    return s;
}

PROF_API PROF__QUIET int64_t prof_now(void) {
    uintptr_t lock = prof__lock();
    uint64_t now;
    if (prof__trace.open) prof__time_in(NULL);
    now = prof__trace.open ? prof__trace.time : 0;
    prof__unlock(lock);
    return now ? prof__ticks_ns(now) : 0;
}

PROF_API PROF__QUIET prof_stats prof_get_stats(void) {
    struct prof_trace *s = &prof__trace;
    prof_stats out;
    if (!s->analysed) prof__count_rows(s, NULL);
    out = prof__counts_now(s);
    out.recorded = prof__zones_now(s);
    if (s->parts && s->parts->average) {
        (void)s->parts->average(NULL, 0);
        out.recorded = s->tallied;
    }
    return out;
}

PROF_API PROF__QUIET prof_stats prof_trace_stats(const prof_trace *trace) {
    (void)trace;                         /* there is one */
    return prof_get_stats();
}
#else
PROF__FN void prof__say_needed(size_t need, size_t have) {
    (void)prof_format_text(prof__memory_text, sizeof prof__memory_text,
                           "the arena is too small: %zu bytes, and this description needs %zu",
                           have, need);
}

PROF__FN void prof__say_events(size_t bytes) {
    (void)prof_format_text(prof__memory_text, sizeof prof__memory_text,
                           "the events take %zu bytes: see prof_make_events, prof_desc.events",
                           bytes);
}

PROF__FN uint32_t prof__depth_of(const prof_desc *d) { return d->max_depth ? d->max_depth : 64; }

/* The smallest chunk: what is kept for open zones, and as much again to work with. */
PROF__FN size_t prof__chunk_least(uint32_t depth) {
    return prof__align((2 * (size_t)depth + 4 + 2 * 16) * sizeof(prof__record));
}

PROF__FN bool prof__ring_mode(const prof_desc *d) {
    return d->mode == PROF_MODE_RING || d->mode == PROF_MODE_STREAM;
}

PROF__FN bool prof__records_only(const prof_desc *d) {
    return d->records_only || d->mode >= PROF_MODE_STREAM;
}

PROF__FN uint32_t prof__wants_of(const prof_desc *d) {
    uint32_t wants = 0;
    if (!prof__records_only(d)) wants |= PROF__WANTS_DETAILS;
    if (d->record_shapes || d->with_flops) wants |= PROF__WANTS_SHAPES;
    if (d->with_flops) wants |= PROF__WANTS_FLOPS;
    if (d->with_modules) wants |= PROF__WANTS_MODULES;
    if (d->profile_memory) wants |= PROF__WANTS_MEMORY;
    return wants;
}

PROF__FN bool prof__has_schedule(const prof_desc *d) {
    const prof_schedule *c = &d->schedule;
    return d->schedule_fn || (c->skip_first | c->wait | c->warmup | c->active | c->repeat |
                              c->skip_first_wait) != 0;
}

/* What the analysis keeps beside each zone. */
PROF__FN size_t prof__beside_of(const prof_desc *d) {
    if (d->record_shapes || d->with_flops || d->with_modules || d->with_stack ||
        d->native_stack || d->hw_counters || d->profile_memory || d->node) return PROF__WIDE_SHARE;
    return prof__has_schedule(d) ? PROF__FORK_SHARE : 0;
}

PROF__FN bool prof__is_lean(const prof_desc *d) {
    return !d->events && d->mode == PROF_MODE_TRACE && !d->records_only && !d->merge_duplicates &&
           !prof__beside_of(d) && !prof__device_count && !prof__execution.registered;
}

/* Of a zone whose event is made, unless there are never any. */
PROF__FN size_t prof__event_share(const prof_desc *d) {
    if (prof__records_only(d)) return sizeof(prof__record);
    return sizeof(prof__record) + PROF__SLOT_SHARE + prof__beside_of(d);
}

PROF__FN size_t prof__record_share(const prof_desc *d) {
    return prof__is_lean(d) ? sizeof(prof__record) : prof__event_share(d);
}

/* What one thread takes: state, row, segments, a chunk (a ring: two) with its analysis, its open
   zones at stop. */
PROF__FN size_t prof__thread_share(const prof_desc *d, size_t chunk) {
    uint32_t depth = prof__depth_of(d);
    size_t zones = depth + 1 + chunk / sizeof(prof__record) * (prof__ring_mode(d) ? 2 : 1);
    size_t state = prof__state_size(depth) + prof__align(sizeof(prof__row)) +
                   sizeof(prof_thread_info) + PROF__LANE_SHARE;
    if (d->mode == PROF_MODE_AGGREGATE)
        return state + (depth + 1) * sizeof(prof__open) + prof__sums_share(depth);
    return state + 2 * prof__align(sizeof(prof__segment)) + (depth + 1) * sizeof(prof__open) +
           zones * prof__record_share(d);
}

/* Alignment, rows of no site and of the library's own. */
#define PROF__FIXED_SHARE (64 + (1 + PROF__OWN_SITES) * PROF__SITE_SHARE)

/* With a schedule threads may still hold a chunk of the window before, and there are steps. */
PROF__FN size_t prof__need(const prof_desc *d, uint32_t threads) {
    size_t chunk = prof__chunk_least(prof__depth_of(d)), share = prof__thread_share(d, chunk);
    if (prof__has_schedule(d)) share += chunk + PROF__STEP_SHARE;
    if (d->mode == PROF_MODE_AGGREGATE) threads++;   /* the sums of all */
    return PROF__FIXED_SHARE + prof__sites_marked() * PROF__SITE_SHARE + threads * share;
}

PROF_API PROF__QUIET size_t prof_arena_size(const prof_desc *desc) {
    prof_desc none;
    memset(&none, 0, sizeof none);
    if (!desc) desc = &none;
    return prof__need(desc, desc->max_threads ? desc->max_threads : 1);
}

/* As many threads as the description says; by default as fit into a quarter of the arena. */
PROF__FN uint32_t prof__threads_of(const prof_desc *d, size_t size) {
    size_t n = size / 4 / prof__thread_share(d, prof__chunk_least(prof__depth_of(d)));
    if (d->max_threads) return d->max_threads;
    return n < 1 ? 1 : n > 256 ? 256 : (uint32_t)n;
}

/* A power of two, so that each thread could have four chunks in the records' share of the arena,
   also where events get theirs only later; 16 in a ring, which loses one at a time, and beside
   sums. */
PROF__FN size_t prof__chunk_of(size_t size, uint32_t threads, const prof_desc *d) {
    size_t want = size / (prof__event_share(d) / sizeof(prof__record)) / threads, n = 1024;
    want /= prof__ring_mode(d) || d->mode == PROF_MODE_AGGREGATE ? 16u : 4u;
    while (n * 2 <= want && n < (64u << 10)) n *= 2;
    return PROF__MAX(n <= want ? n : 0, prof__chunk_least(prof__depth_of(d)));
}

/* Each thread's part of what is left when names and threads that come and go have an eighth. */
PROF__FN bool prof__regions_open(struct prof_trace *s, const prof_desc *d) {
    size_t gap = (size_t)(prof__arena.high - prof__arena.low) - prof__arena.promised, least, size;
    least = 2 * (s->chunk_size + prof__align(sizeof(prof__segment)));
    size = (gap - gap / 8) / s->max_threads -
           PROF__MIN((gap - gap / 8) / s->max_threads,
                     prof__thread_share(d, 0) - prof__state_size(s->max_depth));
    size = (size / prof__record_share(d) * sizeof(prof__record)) & ~(size_t)15u;
    if (d->mode == PROF_MODE_STREAM) size = PROF__MIN(size, 16 * s->chunk_size + 1024);
    if (size < least) size = least;
    if (gap / size < s->max_threads) return false;
    s->region_size = size;
    s->regions = prof__arena.high -= size * s->max_threads;
    s->slot_count = size / sizeof(prof__record) * s->max_threads;
    prof__arena.promised += s->slot_count * prof__slot_share();
    return (size_t)(prof__arena.high - prof__arena.low) >= prof__arena.promised;
}

/* A block that a thread still owns, the n-th of four; false: there is none. */
PROF__FN bool prof__owned_block(const prof__state *t, int n, char *block[2]) {
    block[0] = n == 0 ? (char *)(uintptr_t)t : n == 1 ? (char *)t->begin : NULL;
    block[1] = n == 0 ? prof__state_end(t) : (char *)t->limit;
    if (n == 2 && t->spare) {
        block[0] = (char *)t->spare->begin;
        block[1] = (char *)t->spare->limit;
    }
    if (n == 3 && PROF__ACQUIRE(t->looking)) {   /* it was stopped while it added to its rows */
        block[0] = t->tallies.low;
        block[1] = t->tallies.high;
    }
    return block[0] && prof__overlaps(block[0], block[1], prof__arena.low, prof__arena.high);
}

/* The first block in the arena that ends behind p; { high, high }: none. */
PROF__FN void prof__owned_next(const char *p, char *first[2]) {
    char *block[2];
    first[0] = first[1] = prof__arena.high;
    for (const prof__state *t = prof__owned; t; t = t->next)
        for (int n = 0; n < 4; n++)
            if (prof__owned_block(t, n, block) && block[1] > p && block[0] < first[0]) {
                first[0] = PROF__MAX(block[0], prof__arena.low);
                first[1] = block[1];
            }
}

/* The arena's lower part is the widest gap between the blocks that threads still own from earlier
   sessions. Blocks above it are stepped over when a chunk would take them, if records are all that
   lies there or they lie among the chunks, else the arena ends below them. */
PROF__FN void prof__arena_avoid_owned(bool lean) {
    char *chunks = prof__arena.end - (prof__arena.end - prof__arena.base) / 6;
    char *p = prof__arena.low, *low = p, *block[2];
    prof__arena.bound = low;
    for (;;) {
        prof__owned_next(p, block);
        if (block[0] > p && block[0] - p > prof__arena.bound - low) {
            low = p;
            prof__arena.bound = block[0];
        }
        if (block[0] == prof__arena.high) break;
        p = (char *)(((uintptr_t)block[1] + 15u) & ~(uintptr_t)15u);
        if (p >= prof__arena.high) break;
    }
    if (prof__arena.bound == prof__arena.high) prof__arena.bound = prof__arena.end;
    else if (!lean && prof__arena.bound < chunks) prof__arena.high = prof__arena.bound;
    prof__arena.low = low;
}

/* The states that no thread owns are free; room promised for their open zones is not needed. What
   was never one in this arena holds anything. */
PROF__FN void prof__states_free(struct prof_trace *s) {
    s->free_states = NULL;
    for (uint32_t i = s->max_threads; i--;) {
        char *p = (char *)s->states + i * s->state_size;
        prof__state *t = (prof__state *)(void *)p;
        if (!prof__not_owned(p, p + s->state_size)) continue;
        if (!prof__state_used(t)) memset(p, 0, offsetof(prof__state, frames));
        if (t->promised) {
            prof__arena.promised -= prof__state_share(t->slots);
            s->slot_count -= t->slots;
        }
        t->promised = 0;
        t->next = s->free_states;
        s->free_states = t;
    }
}

/* The grid of states at the arena's start. */
PROF__FN void prof__states_open(struct prof_trace *s) {
    s->state_size = prof__state_size(s->max_depth);
    s->states = (prof__state *)(void *)prof__arena.low;
    prof__arena.low += s->max_threads * s->state_size;
    prof__states_free(s);
}

/* Touches the records' share (or one ring), 8 MiB at most: the first touch of a page costs more
   than a zone. */
PROF__FN void prof__prefault(const struct prof_trace *s) {
    size_t share = (size_t)(prof__arena.high - prof__arena.low) / 8;
    char *p = s->regions ? s->regions + s->region_size : prof__arena.high, *end;
    if (s->regions) share = s->region_size;
    end = p - PROF__MIN(share, 8u << 20);
    for (; p - 4096 >= end; p -= 4096)
        if (prof__not_owned(p - 4096, p)) *(volatile char *)(p - 4096) = 0;
}

/* What is kept for sums, names and threads when records have filled the arena: a sixteenth, up to
   an eighth for many threads, up to a quarter for what they must have, but no more than is left of
   what the threads need. */
PROF__FN void prof__sums_keep(struct prof_trace *s, const prof_desc *d, size_t size, size_t left) {
    size_t first = s->max_threads * prof__sums_first(s->max_depth);
    s->sums_each = prof__sums_share(s->max_depth) / 2;
    s->sums = d->when_full == PROF_FULL_SUMS;
    s->kept = PROF__MAX(size / 16, PROF__MIN(2 * s->max_threads * s->sums_each, size / 8));
    s->kept = PROF__MAX(s->kept, PROF__MIN(first, size / 4));
    s->kept = s->sums ? PROF__MIN(s->kept, left) : 0;
    prof__arena.seats = PROF__MIN(s->max_threads * s->sums_each, s->kept / 2);
    prof__arena.kept = s->kept;
}

/* Lays the arena out; false: too small. */
PROF__FN bool prof__arena_open(struct prof_trace *s, const prof_desc *d) {
    char *memory = d->memory ? (char *)d->memory : prof__builtin_arena.bytes;
    size_t size = d->memory ? d->memory_size : sizeof prof__builtin_arena.bytes, skip, need;
    s->max_depth = prof__depth_of(d);
    s->max_threads = prof__threads_of(d, size);
    need = prof__need(d, s->max_threads);
    prof__say_needed(need, size);
    if (size < need) return false;
    skip = (16u - ((uintptr_t)memory & 15u)) & 15u;
    prof__arena.low = memory + skip;
    prof__arena.high = memory + skip + ((size - skip) & ~(size_t)15u);
    PROF__STORE(prof__arena.base, prof__arena.low);
    PROF__STORE(prof__arena.end, prof__arena.high);
    s->chunk_size = prof__chunk_of(size, s->max_threads, d);
    s->states = NULL;
    prof__states_open(s);
    prof__arena.promised = 0;
    prof__arena_avoid_owned(prof__is_lean(d));
    prof__arena.promised = PROF__FIXED_SHARE - 64 + prof__sites_marked() * PROF__SITE_SHARE;
    prof__arena.kept = prof__arena.seats = 0;
    prof__arena.closed = false;
    if (!prof__arena_fits(0)) return false;
    if (d->mode == PROF_MODE_AGGREGATE) {
        prof__arena.high = PROF__MIN(prof__arena.high, prof__arena.bound);
        return prof__merged_open(s);
    }
    if (prof__ring_mode(d))
        return prof__regions_open(s, d) &&
               prof__arena_fits(s->max_threads * (prof__thread_share(d, 0) - s->state_size));
    need = s->max_threads * (prof__thread_share(d, prof__chunk_least(s->max_depth)) -
                             s->state_size);
    if (!prof__arena_fits(need)) return false;
    prof__sums_keep(s, d, size, prof__arena_room() - need);
    return true;
}

/* How many run-time names a session may use: by default one for each KiB of the arena, 4096 at
   most. */
PROF__FN uint32_t prof__names_of(const prof_desc *d) {
    size_t n = PROF__MIN((size_t)(prof__arena.end - prof__arena.base) / 1024, 4096u);
    if (d->max_sites) n = PROF__MIN(d->max_sites, (uint32_t)(PROF__KIND - PROF__PUSHED));
    return (uint32_t)PROF__MAX(n, 1u);
}

PROF__FN prof_clock prof__clock_of(const prof_desc *d) {
    if (d->platform.now) return PROF_CLOCK_PLATFORM;
    return prof__cpu_clock_usable() && !d->os_clock ? PROF_CLOCK_CPU : PROF_CLOCK_OS;
}

PROF__FN void prof__clock_start(struct prof_trace *s) {
    s->knot_count = 0;
    s->knot_gap_ns = 1000000000u;
    s->start_wall_ns = s->clock == PROF_CLOCK_PLATFORM ? 0 : prof__wall_now();
    if (s->clock == PROF_CLOCK_CPU) {
        prof__knot_add(prof__knot_now());
        if (!prof__first_knot.ns) prof__first_knot = s->knots[0];
    }
    s->start_tick =
        s->clock == PROF_CLOCK_CPU ? s->knots[0].tick : prof__now_ticks(s->clock, &s->platform);
}

/* A short session borrows the rate of the whole process: two pairs of readings 5 ms apart are
   exact to 1 in 100,000. */
PROF__FN void prof__clock_stop(struct prof_trace *s) {
    prof__knot k, *start = s->knots;
    if (s->clock != PROF_CLOCK_CPU) return;
    do k = prof__knot_now(); while (k.ns - prof__first_knot.ns < 5000000u);
    if (s->knot_count == 1 && k.ns - start->ns < 100000000u) {
        double rate =
            (double)(k.ns - prof__first_knot.ns) / (double)(k.tick - prof__first_knot.tick);
        k.ns = start->ns + (uint64_t)((double)(k.tick - start->tick) * rate);
    }
    prof__knot_add(k);
}

#if !defined(_WIN32)
PROF__FN void prof__child_after_fork(void) {
    prof__slot *slot = prof__slot_get();
    prof__process = 0;
    prof__lock_reset();
    PROF__STORE(prof__on, 0u);
    prof__trace.open = prof__trace.stopped = false;
    prof__session.open = prof__session.busy = false;
    prof__stream_unlock();
    prof__disown(&prof__reading);
    PROF__STORE(prof__raw_busy, 0u);
    prof__owned = NULL;
    slot->hot = &prof__nowhere;          /* its state is another's as soon as a session wants it */
    slot->generation = 1;
    prof__counting.serial++;             /* those that are open count the parent */
    prof__arena.closed = true;
    prof__execution.registered = prof__execution.running = false;
}
#endif

PROF__FN void prof__generation_next(struct prof_trace *s) {
    s->generation = s->generation < 2 || s->generation == UINT32_MAX ? 2 : s->generation + 1;
}

/* Lays the arena out for a window; what it held is gone. Under the lock. */
PROF__FN bool prof__window_lay(struct prof_trace *s) {
    const prof_desc *desc = &prof__session.desc;
    const uint32_t generation = s->generation;
    memset(s, 0, sizeof *s);
    s->generation = generation;
    prof__generation_next(s);
    s->first_generation = s->generation;
    s->beside = prof__beside_of(desc);
    s->lean = prof__is_lean(desc);
    PROF__STORE(prof__names.index, NULL);
    PROF__STORE(prof__names.refused, SIZE_MAX);
    PROF__STORE(prof__names.count, 0u);
    memset(&prof__trails, 0, sizeof prof__trails);
    prof__names_cut = 0;
    PROF__STORE(prof__formats_cut, 0u);
    prof__sites[0].name = "(lost)";
    PROF__STORE(prof__dropped_busy, 0u);
    PROF__STORE(prof__details_cut, 0u);
    PROF__STORE(prof__memory_refused, 0u);
    PROF__STORE(prof__async_dropped, 0u);
    PROF__STORE(prof__cut, 0u);
    s->mode = desc->mode;
    s->records_only = prof__records_only(desc);
    s->sums_deep = s->mode == PROF_MODE_AGGREGATE || !s->records_only;
    s->view.profile_memory = desc->profile_memory;
    s->view.with_flops = desc->with_flops;
    prof__flops_by = prof_flops;
    if (!prof__arena_open(s, desc)) {
        prof__arena.low = prof__arena.high;   /* for what is told of it: there is no room */
        prof__arena.promised = 0;
        prof__arena.closed = true;
        s->counts.full++;
        return false;
    }
    PROF__STORE(prof__names.capacity, prof__names_of(desc));
    s->platform = desc->platform;
    s->merge = desc->merge_duplicates;
    s->clock = prof__clock_of(desc);
    s->laid = true;
    return true;
}

/* Threads record from here on; again: they did before, in this arena. Under the lock. */
PROF__FN void prof__recording_open(struct prof_trace *s, bool again) {
    if (again) {
        prof__generation_next(s);
        prof__states_free(s);
    }
    PROF__RELEASE(prof__on, s->generation);
}

PROF__FN void prof__snapshot_open(prof__row *row, const prof__frame *bottom) {
    for (uint32_t i = 0; i < row->open_count; i++) {
        const prof__frame *f = bottom + i;
        uint32_t start = PROF__ACQUIRE(f->start);
        row->open[i].start = (uint64_t)PROF__ACQUIRE(f->epoch) << 32 | start;
        row->open[i].site = PROF__LOAD(f->site);
        row->open[i].depth = i;
    }
}

/* Where a thread stands: its cursor and its open zones, read while it may be running. Two equal
   readings in a row leave at most the one begin or end that was under way when the limits were
   set. */
PROF__FN void prof__snapshot(prof__state *t, prof__row *row) {
    const prof__frame *top = NULL, *bottom = NULL;
    const void *kept;
    uint32_t slots;
    PROF__ASSERT(t->promised == t->generation &&
                 prof__arena.promised >= prof__state_share(t->slots));
    prof__arena.promised -= prof__state_share(t->slots);   /* becomes what is taken */
    prof__trace.slot_count -= t->slots;
    t->promised = 0;
    row->open = (prof__open *)(void *)prof__arena.low;
    row->cursor = NULL;
    for (int i = 0; i < 1000; i++) {
        const prof__frame *now_top = PROF__ACQUIRE(t->hot.top),
                          *now_bottom = PROF__ACQUIRE(t->hot.bottom);
        prof__record *now_cursor = prof__cursor_of(t);
        if (now_top == top && now_bottom == bottom && now_cursor == row->cursor) break;
        top = now_top;
        bottom = now_bottom;
        row->cursor = now_cursor;
        row->open_count = top > bottom ? (uint32_t)(top - bottom) : 0;
        prof__snapshot_open(row, bottom);
        PROF__FENCE();
    }
    slots = t->summing ? 0 : row->open_count + 1;   /* for deep zones: prof__deeps_close */
    kept = prof__take_kept((row->open_count + 1) * sizeof *row->open, slots * prof__slot_share());
    PROF__ASSERT(kept != NULL);          /* it was promised */
    (void)kept;
    prof__trace.slot_count += slots;
}

/* Of the records from begin to end, is the last zone the one that o says is open? -1: there is
   none. Clock records and both slots of a moment are no zones. In one tick it may be another. */
PROF__FN PROF__RACES int prof__ended_last(const prof__open *o, const prof__record *begin,
                              const prof__record *c) {
    while (c-- > begin) {
        uint32_t kind = c > begin ? c[-1].site_depth >> 8 : 0;
        bool two = kind == PROF__ZONE64 || kind == PROF__UNFINISHED;
        uint32_t duration = two ? c[-1].end : c->duration, site = c->site_depth >> 8;
        if (!site || site >= PROF__KIND || (c->site_depth & 0xff) == 0xff) continue;
        return (c->site_depth & 0xff) == o->depth && duration &&
               c->end - duration == (uint32_t)o->start;
    }
    return -1;
}

/* The innermost open zone may be one that was just being begun, which has still what the frame's
   last zone had, or one just ended. That is the last recorded, unless one around o ended since. */
PROF__FN void prof__snapshot_check(const prof__state *t, prof__row *row) {
    const prof__open *o = row->open + row->open_count - 1;
    int ended = 0;
    if (!row->open_count || PROF__LOAD(t->deep)) return;
    if (t->summing) ended = prof__ended_last(o, t->begin, row->cursor);
    for (const prof__segment *g = t->summing ? NULL : row->first; g; g = g->next) {
        const prof__record *end = g->end ? g->end : row->cursor;
        int last = end > g->begin && end <= g->limit ? prof__ended_last(o, g->begin, end) : -1;
        if (last >= 0) ended = last;
    }
    if (!o->site || ended > 0 || (row->open_count > 1 && o->start < o[-1].start)) row->open_count--;
}

/* Adds the counts of a thread that may just be counting a record after the one it stopped at: what
   the records tell is taken from them. */
PROF__FN void prof__snapshot_counts(prof__counts *sum, const prof__state *t,
                                    const prof__record *cursor) {
    size_t extra = sum->extra + t->segment_extra, left = sum->unfinished + t->segment_unfinished;
    prof__cursor k = { t->begin, cursor, 0, 0 };
    prof__item i;
    prof__counts_add(sum, &t->counts);
    if (!t->segment || t->summing) {     /* of sums all is added */
        PROF__STORE(sum->extra, sum->extra);
        return;
    }
    while (prof__next(&k, &i)) {
        extra += prof__item_is_zone(&i) ? i.slots - 1 : i.slots;
        left += i.kind == PROF__UNFINISHED;
    }
    PROF__STORE(sum->extra, extra);
    PROF__STORE(sum->unfinished, left);
}

/* Deep zones that are open go to their rows; returned: the ticks of the outermost. */
PROF__FN uint64_t prof__deeps_close(prof__state *t, uint64_t stop) {
    uint64_t ticks = 0;
    t->held = true;
    prof__sums_open(t);
    while (PROF__LOAD(t->deep)) ticks = prof__deep_put(t, stop, true);
    prof__sums_shut(t);
    t->held = false;
    return ticks;
}

/* The same of a thread that has a timeline: "(in sums)" is open there. */
PROF__FN void prof__deeps_stand(prof__state *t, prof__row *row, bool own) {
    prof__open *o = row->open + row->open_count;
    if (!PROF__LOAD(t->deep) || (!own && PROF__ACQUIRE(t->looking))) return;
    o->start = row->stop_tick - prof__deeps_close(t, row->stop_tick);
    o->site = prof__trace.in_sums << 8;
    o->depth = row->open_count++;
}

/* Adds what a thread's block still has, and the zones that are open: those that began in the
   timeline go there. One that was stopped in the middle of this keeps what it has. */
PROF__FN void prof__sums_close(prof__state *t, prof__row *row, bool own) {
    uint64_t stop = PROF__MAX(row->stop_tick, t->cut_tick);
    if (!own && PROF__ACQUIRE(t->looking)) {
        for (const prof__record *c = t->begin; c < row->cursor; c++)
            PROF__COUNT(prof__dropped_busy);
        row->open_count = 0;
        return;
    }
    prof__sums_add_held(t, row->cursor);
    if (PROF__LOAD(t->deep)) t->inner[(int32_t)row->open_count - 1] += prof__deeps_close(t, stop);
    t->held = true;
    while (row->open_count) {
        const prof__open *o = row->open + --row->open_count;
        prof__item i = { PROF__UNFINISHED, 2, 0, 0, 0, 0, NULL };
        i.site_depth = o->site | o->depth;
        i.end = stop;
        i.duration = stop > o->start ? stop - o->start : 0;
        prof__sums_zone(t, &i);
    }
    t->held = false;
}

PROF__FN void prof__state_close(struct prof_trace *s, prof__state *t, const prof__state *own) {
    prof__row *row = t->row;
    prof__snapshot(t, row);
    row->stop_tick = s->stop_tick;
    if (t != own) prof__snapshot_check(t, row);
    PROF__ASSERT(t->begin <= row->cursor && row->cursor <= t->limit);
    PROF__ASSERT(row->open_count <= s->max_depth);
    s->counts.unfinished += row->open_count;
    if (t->summing) prof__sums_close(t, row, t == own);
    else prof__deeps_stand(t, row, t == own);
    if (!t->summing) s->counts.slots += (size_t)(row->cursor - t->begin) + row->open_count;
    prof__snapshot_counts(&s->counts, t, row->cursor);
    if (t->ring) t->segment->end = row->cursor;
    row->left = true;
    PROF__STORE(t->recording, 0u);
    PROF__RELEASE(t->closed, true);
}

/* Waits for threads that look at the session: as long as a good part of a second, for one may have
   been stopped. They may want the lock: it is open meanwhile. */
PROF__FN void prof__looks_end(const struct prof_trace *s, const prof__state *own) {
    for (int i = 0; i < 1000000; i++) {
        const prof__state *t = prof__owned;
        while (t && (t == own || t->generation != s->generation || !PROF__ACQUIRE(t->looking)))
            t = t->next;
        if (!t) return;
        prof__unlock();
        prof__yield();
        prof__lock();
    }
}

/* on = 0 ends begins, limit = NULL sends ends to prof__end, which lets them go. Under the lock. */
PROF__FN void prof__recording_close(struct prof_trace *s) {
    prof__slot *slot = prof__slot_get();
    prof__hot *hot = slot->hot;
    prof__state *own = hot == &prof__nowhere ? NULL : (prof__state *)(void *)hot;
    if (!PROF__LOAD(prof__on)) return;
    PROF__STORE(prof__on, 0u);
    for (prof__state *t = prof__owned; t; t = t->next)
        if (t->generation == s->generation) PROF__STORE(t->hot.limit, NULL);
    PROF__FENCE();
    s->stop_tick = prof__now_ticks(s->clock, &s->platform);
    prof__looks_end(s, own);
    for (prof__state *t = prof__owned; t; t = t->next)
        if (t->generation == s->generation) prof__state_close(s, t, own);
    if (own) prof__state_give(slot, own);   /* so a program of one thread may free the arena */
    prof__contexts_give();
}

/* ---- Devices ---- */

PROF_API PROF__QUIET uint32_t prof_supported_activities(void) {
    uint32_t all = PROF_ACTIVITY_CPU;
    for (uint32_t i = 0; i < prof__device_count; i++) all |= prof__devices[i].desc.activity;
    return all;
}

PROF__FN prof_result prof__device_add(const prof_device_desc *device) {
    struct prof__device *d = prof__devices + prof__device_count;
    if (prof__session.open) return PROF_ERROR_STATE;
    for (uint32_t i = 0; i < prof__device_count; i++)
        if (prof__devices[i].desc.user == device->user) return PROF_ERROR_STATE;
    if (prof__device_count == PROF__DEVICES) return PROF_ERROR_MEMORY;
    memset(d, 0, sizeof *d);
    d->desc = *device;
    prof__device_count++;
    return PROF_OK;
}

PROF_API PROF__QUIET prof_result prof_add_device(const prof_device_desc *device) {
    prof_result result;
    uint32_t bit = device ? device->activity : 0;
    if (!device || !device->name || bit <= PROF_ACTIVITY_CPU || (bit & (bit - 1)))
        return PROF_ERROR_INVALID;
    prof__lock();
    result = prof__device_add(device);
    prof__unlock();
    return result;
}

/* What a device's function says, which prof_get_stats reads; NULL: all is well. */
PROF__FN bool prof__device_call(struct prof__device *d, prof_result (*call)(void *user)) {
    prof_result result = call ? call(d->desc.user) : PROF_OK;
    prof__lock();
    d->result = result;
    prof__unlock();
    return result == PROF_OK;
}

/* One that fails takes no further part in the window; the others go on. */
PROF__FN void prof__device_prepare(struct prof__device *d) {
    d->prepared = prof__device_call(d, d->desc.prepare);
}

PROF__FN void prof__device_start(struct prof__device *d) {
    if (d->prepared && !d->started) d->started = prof__device_call(d, d->desc.start);
}

PROF__FN void prof__device_stop(struct prof__device *d) {
    if (!d->started) return;
    d->started = false;
    if (d->desc.stop) (void)prof__device_call(d, d->desc.stop);
}

PROF__FN void prof__device_flush(struct prof__device *d) {
    if (d->started && d->desc.flush) d->desc.flush(d->desc.user);
}

PROF__FN void prof__devices_each(uint32_t activities, void (*call)(struct prof__device *device)) {
    for (uint32_t i = 0; i < prof__device_count; i++)
        if (prof__devices[i].desc.activity & activities) call(prof__devices + i);
}

PROF__FN bool prof__devices_stopped(uint32_t activities) {
    bool any = false;
    for (uint32_t i = 0; i < prof__device_count; i++) {
        const prof_device_desc *d = &prof__devices[i].desc;
        if ((d->activity & activities) && d->stopped && d->stopped(d->user)) any = true;
    }
    return any;
}

/* ---- Windows ---- */

PROF__FN void prof__window_prepare(struct prof_trace *s) {
    bool ready = true;
    prof__windows_unsettle();
    prof__lock();
    if (s->stopped && !prof__session.desc.acc_events) ready = prof__window_lay(s);
    s->stopped = s->prepared = s->read = s->analysed = false;
    if (ready && !s->began) prof__prefault(s);
    prof__unlock();
    PROF__STORE(prof__session.enabled, prof__session.activities);
    prof__devices_each(prof__session.enabled, prof__device_prepare);
}

PROF__FN void prof__window_start(struct prof_trace *s) {
    prof__windows_unsettle();
    for (uint32_t i = 0; i < prof__observer_count; i++)
        if (prof__observers[i].start) prof__observers[i].start(prof__observers[i].user);
    prof__lock();
    if (s->laid) {
        if (!s->began) prof__clock_start(s);
        if (!s->began && s->mode == PROF_MODE_STREAM) prof__stream_open(s, &prof__session.desc);
        else if (s->clock == PROF_CLOCK_CPU) prof__knot_add(prof__knot_now());
        prof__arena.closed = false;
        prof__arena.kept = s->kept;
        s->streamed_all = false;
        s->open = true;
        prof__execution_open();
        if (prof__session.enabled & PROF_ACTIVITY_CPU) prof__recording_open(s, s->began);
        s->began = true;
    }
    prof__unlock();
    prof__devices_each(prof__session.enabled, prof__device_start);
}

/* Recording ends, and the stream: also after the end of the program, by another process. */
PROF__FN void prof__window_close(struct prof_trace *s) {
    bool stream;
    (void)prof__stream_lock();
    prof__windows_unsettle();
    prof__lock();
    stream = s->open && s->mode == PROF_MODE_STREAM;
    if (s->open) {
        prof__recording_close(s);
        prof__clock_stop(s);
        prof__functions_name();
        prof__arena.kept = 0;
        prof__arena.high = PROF__MIN(prof__arena.high, prof__arena.bound);   /* for analysis */
        s->open = false;
        s->stopped = true;
    }
    prof__arena.closed = true;
    prof__unlock();
    PROF__RELEASE(prof__windows_settled, 1u);
    if (stream) prof__stream_close(s);
    prof__stream_unlock();
}

/* Devices first: they submit what they still have. */
PROF__FN void prof__window_stop(struct prof_trace *s) {
    prof__devices_each(UINT32_MAX, prof__device_stop);
    prof__window_close(s);
    prof__execution_close(s);
    for (uint32_t i = prof__observer_count; i--;)
        if (prof__observers[i].stop) prof__observers[i].stop(prof__observers[i].user);
}

/* Adds what a call took to the profiler's own times. */
PROF__FN void prof__took(char call, uint64_t begin) {
    uint64_t ns = prof__os_now() - begin;
    prof__lock();
    if (call == 'p') prof__own_times.prepare += ns;
    if (call == 's') prof__own_times.start += ns;
    if (call == 's') prof__own_times.opened = begin + ns;
    if (call == 'x') prof__own_times.stop += ns;
    if (call == 'x') prof__own_times.window = begin - prof__own_times.opened;
    if (call == '!') prof__session.errors++;
    prof__unlock();
}

PROF__FN void prof__calls(struct prof_trace *s, const char *calls) {
    const prof_desc *d = &prof__session.desc;
    for (; *calls; calls++) {
        uint64_t begin = prof__os_now();
        if (*calls == 'p') prof__window_prepare(s);
        else if (*calls == 's') prof__window_start(s);
        else if (*calls == 'x') prof__window_stop(s);
        else if (*calls != '!' && s->stopped && d->on_trace_ready) d->on_trace_ready(d->user, s);
        prof__took(*calls, begin);
    }
}

/* From one action to the next; to may be PROF__EXIT. */
PROF__FN void prof__transit(struct prof_trace *s, prof_action from, int to) {
    struct prof__session *v = &prof__session;
    if (v->silent) {                     /* to the end of the cycle */
        if (from != PROF_ACTION_RECORD_AND_SAVE && from != PROF_ACTION_NONE) return;
        v->silent = false;
        from = PROF_ACTION_NONE;
    }
    if ((from == PROF_ACTION_WARMUP || from == PROF_ACTION_RECORD) && to != PROF_ACTION_NONE &&
        to != PROF__EXIT && prof__devices_stopped(v->enabled)) {
        v->silent = true;
        prof__calls(s, prof__transition_stopped(from));
        return;
    }
    prof__calls(s, prof__transitions[from][to]);
}

/* ---- The session ---- */

PROF__FN prof_action prof__action_at(struct prof__session *v, uint64_t step) {
    const prof_desc *d = &v->desc;
    prof_action action;
    if (!v->has_steps) return PROF_ACTION_RECORD;
    if (!d->schedule_fn) return prof_schedule_action(&d->schedule, step);
    action = d->schedule_fn(d->user, step);
    if ((unsigned)action <= PROF_ACTION_RECORD_AND_SAVE) return action;
    prof__took('!', 0);
    return PROF_ACTION_NONE;
}

PROF__FN prof_result prof__desc_check(const prof_desc *d) {
    if (d->max_depth > 255 || (!d->memory && d->memory_size)) return PROF_ERROR_INVALID;
    if ((uint32_t)d->mode > PROF_MODE_AGGREGATE) return PROF_ERROR_INVALID;
    if ((uint32_t)d->when_full > PROF_FULL_DROP) return PROF_ERROR_INVALID;
    if (d->mode == PROF_MODE_STREAM && !d->stream.write) return PROF_ERROR_INVALID;
    if (d->activities && !(d->activities & prof_supported_activities())) return PROF_ERROR_INVALID;
    if ((uint32_t)d->native_stack > PROF_NATIVE_UNWIND) return PROF_ERROR_INVALID;
    if (d->schedule_fn || !prof__has_schedule(d)) return PROF_OK;
    return prof_schedule_check(&d->schedule);
}

/* Can the system do what is asked for? */
PROF__FN prof_result prof__natively(const prof_desc *d) {
    const char *why = prof__hooks_start(d, !prof__records_only(d));
    prof__unsupported_text = why ? why : prof__unsupported_usual;
    return why ? PROF_ERROR_UNSUPPORTED : PROF_OK;
}

PROF__FN prof_result prof__session_open(struct prof_trace *s, const prof_desc *desc) {
    struct prof__session *v = &prof__session;
    prof_result result = prof__desc_check(desc);
    if (v->open) return PROF_ERROR_STATE;
    if (result == PROF_OK) result = prof__natively(desc);
    if (result != PROF_OK) return result;
    if (!desc->platform.now && !prof__os_now()) return PROF_ERROR_UNSUPPORTED;
    prof__exit_key_make();
    memset(v, 0, sizeof *v);
    v->desc = *desc;
    PROF__STORE(prof__wants, prof__wants_of(desc));
    v->desc.record_shapes = desc->record_shapes || desc->with_flops;
    v->desc.with_stack = desc->with_stack || desc->native_stack;
    prof__metadata.used = prof__metadata.preset;
    memset(&prof__own_times, 0, sizeof prof__own_times);
    v->has_steps = prof__has_schedule(desc);
    v->activities = prof_supported_activities();
    if (desc->activities) v->activities &= desc->activities;
    prof__windows_unsettle();
    if (!prof__window_lay(s)) return PROF_ERROR_MEMORY;
    v->open = v->busy = true;
    return PROF_OK;
}

/* The step's zone is one record, written when it ends, so that zones may be open across. */
PROF__FN void prof__step_begin(struct prof_trace *s) {
    struct prof__session *v = &prof__session;
    v->step_open = v->has_steps && s->open;
    if (v->step_open) v->step_tick = prof__now_ticks(s->clock, &s->platform);
}

PROF__FN void prof__step_end(void) {
    if (prof__session.step_open) prof__put_step(prof__session.step_tick, prof__session.step);
    prof__session.step_open = false;
}

/* Takes hold of the session; false: there is none, or this is one of its callbacks, or its sink. */
PROF__FN bool prof__session_claim(void) {
    bool mine;
    prof__lock();
    mine = prof__session.open && !prof__session.busy && !prof__stream_mine();
    if (mine) prof__session.busy = true;
    prof__unlock();
    return mine;
}

PROF__FN void prof__session_release(bool open) {
    prof__lock();
    prof__session.busy = false;
    prof__session.open = open;
    PROF__RELEASE(prof__windows_settled, 1u);   /* before the next caller can lay the arena */
    prof__unlock();
}

/* Only devices were asked for, and all that were tried are not well. */
PROF__FN bool prof__devices_fail(uint32_t activities) {
    bool tried = false;
    if (activities & PROF_ACTIVITY_CPU) return false;
    for (uint32_t i = 0; i < prof__device_count; i++) {
        const struct prof__device *d = prof__devices + i;
        if (!(d->desc.activity & activities)) continue;
        tried = true;
        if (d->result == PROF_OK && !(d->desc.status && d->desc.status(d->desc.user))) return false;
    }
    return tried;
}

/* The step that is being made, or its action: a later one. */
PROF__FN prof_action prof__step_set(uint64_t step, prof_action action) {
    struct prof__session *v = &prof__session;
    prof_action before;
    prof__lock();
    before = v->action;
    v->step = step;
    v->action = action;
    prof__unlock();
    return before;
}

/* ---- The environment: programs that are profiled when it asks for it ---- */

enum { PROF__ENV_RESERVE = 8192, PROF__ENV_AGAIN_NS = 100000000 };

/* A line for prof record, which names a file for them in PROF_STATUS. */
PROF__FN void prof__env_tell(const char *what, const char *text) {
#if !defined(_WIN32)
    const char *path = getenv("PROF_STATUS");
    int kept = errno, file = path && *path ? open(path, O_WRONLY | O_APPEND) : -1;
    char line[1280];
    prof_file f;
    if (file < 0) return;
    f.handle = file;
    (void)prof_format_text(line, sizeof line, "%s %u %s\n", what, prof__process_id(), text);
    (void)prof__file_put(&f, line, strlen(line));
    (void)prof__file_shut(&f);
    errno = kept;
#else
    (void)what;
    (void)text;
#endif
}

/* ---- Its variables ---- */

/* "0x1f", "64M": from least to most. */
PROF__FN bool prof__env_number(const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    static const char units[] = "KMG";
    char *end;
    const char *unit;
    uint64_t n;
    if (*text < '0' || *text > '9') return false;
    n = strtoull(text, &end, 0);
    unit = *end & ~0x20 ? strchr(units, *end & ~0x20) : NULL;
    for (int i = unit ? (int)(unit - units) : -1; i >= 0; i--)
        n = n > UINT64_MAX >> 10 ? UINT64_MAX : n << 10;
    if (unit) end++;
    *value = n;
    return !*end && n >= least && n <= most;
}

/* The number of the word in a list of them, as "trace, ring"; -1: it is none. */
PROF__FN int prof__env_word(const char *text, const char *words) {
    size_t n = strlen(text);
    for (int i = 0; *words; i++) {
        size_t word = strcspn(words, ",");
        if (word == n && strncmp(words, text, n) == 0) return i;
        words += word;
        words += strspn(words, ", ");
    }
    return -1;
}

static const char prof__env_modes[] = "trace, ring, stream, aggregate";
static const char prof__env_stacks[] = "none, zones, frames, unwind";

PROF__FN bool prof__env_mode(prof_desc *d, const char *text) {
    int word = prof__env_word(text, prof__env_modes);
    d->mode = word < 0 ? d->mode : (prof_mode)word;
    return word >= 0;
}

PROF__FN bool prof__env_flag(bool *flag, const char *text) {
    int word = prof__env_word(text, "0, 1");
    *flag = word > 0;
    return word >= 0;
}

/* More than the built-in arena is taken from the system, once for all sessions. */
PROF__FN bool prof__env_memory(prof_desc *d, const char *text) {
    static void *taken;
    static uint64_t size;
    uint64_t n;
    if (!prof__env_number(text, 64u << 10, SIZE_MAX / 4, &n)) return false;
    d->memory = prof__builtin_arena.bytes;
    d->memory_size = (size_t)n;
    if (n <= sizeof prof__builtin_arena.bytes) return true;
#if defined(__linux__)
    if (size < n) taken = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | 0x20 /* MAP_ANONYMOUS */, -1, 0);
    size = taken == MAP_FAILED ? 0 : PROF__MAX(size, n);
#endif
    d->memory = taken;
    return size != 0;
}

PROF__FN bool prof__env_categories(prof_desc *d, const char *text) {
    uint64_t n;
    bool ok = prof__env_number(text, 0, UINT32_MAX, &n);
    (void)d;
    if (ok) (void)prof_set_categories((uint32_t)n);
    return ok;
}

PROF__FN bool prof__env_counters(prof_desc *d, const char *text) {
    d->hw_counters = text;               /* prof_start says what is wrong with them */
    return true;
}

PROF__FN bool prof__env_depth(prof_desc *d, const char *text) {
    uint64_t n;
    if (!prof__env_number(text, 1, 255, &n)) return false;
    d->max_depth = (uint32_t)n;
    return true;
}

PROF__FN bool prof__env_threads(prof_desc *d, const char *text) {
    uint64_t n;
    if (!prof__env_number(text, 1, 65536, &n)) return false;
    d->max_threads = (uint32_t)n;
    return true;
}

PROF__FN bool prof__env_shapes(prof_desc *d, const char *text) {
    return prof__env_flag(&d->record_shapes, text);
}

PROF__FN bool prof__env_profile(prof_desc *d, const char *text) {
    return prof__env_flag(&d->profile_memory, text);
}

PROF__FN bool prof__env_stack(prof_desc *d, const char *text) {
    int word = prof__env_word(text, prof__env_stacks);
    d->with_stack = word > 0;
    d->native_stack = word > 1 ? (prof_native)(word - 1) : PROF_NATIVE_NONE;
    return word >= 0;
}

static const struct prof__variable {
    const char *name, *takes;
    bool (*take)(prof_desc *d, const char *text);
} prof__variables[] = {
    { "PROF_MODE", prof__env_modes, prof__env_mode },
    { "PROF_MEMORY", "bytes that there are, 64K at least", prof__env_memory },
    { "PROF_MAX_DEPTH", "1 to 255", prof__env_depth },
    { "PROF_MAX_THREADS", "1 to 65536", prof__env_threads },
    { "PROF_CATEGORIES", "a number, a bit for each that is on", prof__env_categories },
    { "PROF_COUNTERS", "", prof__env_counters },
    { "PROF_SHAPES", "0, 1", prof__env_shapes },
    { "PROF_STACKS", prof__env_stacks, prof__env_stack },
    { "PROF_PROFILE_MEMORY", "0, 1", prof__env_profile },
};

/* What they say, into *d. False: one is wrong. */
PROF__FN bool prof__env_read(prof_desc *d) {
    for (size_t i = 0; i < sizeof prof__variables / sizeof *prof__variables; i++) {
        const struct prof__variable *v = prof__variables + i;
        const char *text = getenv(v->name);
        if (!text || !*text || v->take(d, text)) continue;
        (void)prof_format_text(prof__env.wrong, sizeof prof__env.wrong, "%s=%.64s: it takes %s",
                               v->name, text, v->takes);
        return false;
    }
    return true;
}

/* What is asked for and a stream cannot have; NULL: nothing. */
PROF__FN const char *prof__env_unstreamed(const prof_desc *d) {
    if (d->native_stack) return "native stacks";
    if (d->hw_counters) return "hardware counters";
    if (prof__has_schedule(d) || d->on_trace_ready || d->acc_events) return "windows of steps";
    if (prof__beside_of(d)) return "what zones carry";
    if (d->merge_duplicates) return "merged duplicates";
    return prof__device_count ? "device work" : NULL;
}

/* ---- Its file ---- */

/* What is there must not be lost: of a name with %p, one that is free; else none that nobody may
   write. */
PROF__FN bool prof__env_name_free(bool own) {
    (void)own;
#if !defined(_WIN32)
    size_t n = strlen(prof__env.path), dot = n;
    struct stat st;
    char end[16];
    while (dot && prof__env.path[dot] != '.') dot--;
    (void)prof_format_text(end, sizeof end, "%s", prof__env.path + dot);
    for (int i = 2; own && i < 1000 && stat(prof__env.path, &st) == 0; i++)
        (void)prof_format_text(prof__env.path + dot, sizeof prof__env.path - dot, "-%d%s", i, end);
    if (stat(prof__env.path, &st) == 0 && !(st.st_mode & 0222)) {
        errno = EACCES;
        return false;
    }
#endif
    return true;
}

PROF__FN bool prof__env_open(void) {
    struct prof__env *e = &prof__env;
    e->end = 0;
    if (!prof__file_open_at(&e->file, e->path, 0)) return false;
#if !defined(_WIN32)
    struct stat st;
    int high = fcntl((int)e->file.handle, F_DUPFD, 100);   /* no low number of the program's */
    if (high >= 0) (void)prof__file_shut(&e->file);
    if (high >= 0) e->file.handle = high;
    (void)fcntl((int)e->file.handle, F_SETFD, FD_CLOEXEC);
    if (fstat((int)e->file.handle, &st) != 0) return false;
    e->device = (uint64_t)st.st_dev;
    e->inode = (uint64_t)st.st_ino;
#endif
    PROF__RELEASE(e->open, 1u);
    return true;
}

#if defined(__linux__)
/* Is there room for so much, and behind it for the last counts? Asked before, a write neither ends
   in the middle of a block nor by SIGXFSZ. */
PROF__FN bool prof__env_room(size_t size) {
    struct prof__env *e = &prof__env;
    struct rlimit most;
    size_t reserve = e->last ? 0 : PROF__ENV_RESERVE;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
        e->end + size + reserve > most.rlim_cur) {
        errno = EFBIG;
        return false;
    }
#if defined(__LP64__) && defined(SYS_fallocate)
    if (reserve && syscall(SYS_fallocate, (int)e->file.handle, 1 /* KEEP_SIZE */, (long)e->end,
                           (long)(size + reserve)) != 0)
        return errno != ENOSPC && errno != EDQUOT;
#endif
    return true;
}

/* Nobody may read the pipe any more: an error, not the end of the program. */
PROF__FN bool prof__env_put(prof_file *f, const void *data, size_t size) {
    uint64_t pipe_signal = (uint64_t)1 << 12 /* SIGPIPE - 1 */, before = 0;
    PROF__TIMESPEC none = { 0, 0 };
    bool ok;
    (void)syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &pipe_signal, &before, sizeof before);
    ok = prof__file_put(f, (const char *)data, size);
    if (!ok && errno == EPIPE && !(before & pipe_signal))
        while (syscall(SYS_rt_sigtimedwait, &pipe_signal, NULL, &none, sizeof before) < 0 &&
               errno == EINTR) {}
    (void)syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof before);
    return ok;
}
#else
PROF__FN bool prof__env_room(size_t size) { return size != 0; }
PROF__FN bool prof__env_put(prof_file *f, const void *data, size_t size) {
    return prof__file_put(f, (const char *)data, size);
}
#endif

#if defined(_WIN32)
PROF__FN bool prof__env_block(const void *data, size_t size) {
    return prof__env_put(&prof__env.file, data, size);
}
#else
PROF__FN bool prof__env_same(int handle) {
    struct stat st;
    return fstat(handle, &st) == 0 && (uint64_t)st.st_dev == prof__env.device &&
           (uint64_t)st.st_ino == prof__env.inode;
}

/* At the end of what is whole; a program that has closed the file opens it again. */
PROF__FN bool prof__env_block(const void *data, size_t size) {
    struct prof__env *e = &prof__env;
    prof_file f;
    bool same, ok;
    f.handle = e->file.handle;
    same = prof__env_same((int)f.handle);
    if (!same) f.handle = open(e->path, O_WRONLY);
    ok = (same || prof__env_same((int)f.handle)) && prof__env_room(size);
    if (ok) (void)lseek((int)f.handle, (off_t)e->end, SEEK_SET);   /* a pipe has no places */
    ok = ok && prof__env_put(&f, data, size);
    if (!ok && ftruncate((int)f.handle, (off_t)e->end) != 0) errno = EIO;
    if (!same && f.handle >= 0) (void)prof__file_shut(&f);
    return ok;
}
#endif

/* The file of a child of fork is made when there is something to write. */
PROF__FN bool prof__env_made(void) {
    if (PROF__ACQUIRE(prof__env.open)) return true;
    if (!prof__env_name_free(true) || !prof__env_open()) return false;
    prof__env_tell("start", prof__env.path);
    return true;
}

/* The sink. What a full disk did not take comes again, now and then. */
PROF__FN bool prof__env_write(void *user, const void *data, size_t size) {
    struct prof__env *e = (struct prof__env *)user;
    uint64_t now = e->failed_ns ? prof__os_now() : 0;
    if (PROF__LOAD(e->mute)) return true;
    if (now && now - e->failed_ns < PROF__ENV_AGAIN_NS && !PROF__LOAD(e->saving)) return false;
    if (!prof__env_made() || !prof__env_block(data, size)) {
        e->error = errno;
        e->failed_ns = prof__os_now();
        return false;
    }
    e->failed_ns = 0;
    e->end += size;
    PROF__BUMP(e->blocks, 1);
    return true;
}

/* Counts that say what stayed behind, for which room was kept on a full disk. Is all there? */
PROF__FN bool prof__env_counts(void) {
    const struct prof_trace *s = &prof__trace;
    prof__raw *w = &prof__raw_out;
    prof_stats stats = prof_get_stats();
    uint64_t left = stats.recorded - PROF__MIN(s->streamed, stats.recorded);
    if (!w->failed) return true;
    w->failed = w->chrome || !prof__env.open;
    stats.recorded -= left;
    stats.dropped += left;
    stats.dropped_full += left;
    prof__env.last = true;
    if (!w->failed) prof__raw_counts(w, &stats, true);
    return false;
}

/* The session is over: what it has goes to its file. A child's that has nothing is not made. */
PROF__FN prof_result prof__env_save(void) {
    struct prof__env *e = &prof__env;
    prof_result result = PROF_OK;
    if (e->streams) {
        if (!prof__env_counts()) result = PROF_ERROR_FILE;
    } else if (!e->child || prof_get_stats().recorded) {
        result = prof_save_chrome(&prof__trace, e->path);
    }
    if (result != PROF_OK) errno = e->error ? e->error : errno;
    prof__env_tell(result == PROF_OK ? "end" : "failed", result == PROF_ERROR_FILE
                   ? strerror(errno) : prof_strerror(result));
    return result;
}

/* ---- Who writes a stream while the program runs ---- */

#if defined(_WIN32)
PROF__FN void prof__keeper_start(void) {}
PROF__FN void prof__keeper_end(void) {}
#else
/* A thread, the host, waits for a process that shares all memory: the keeper. Where there is none
   (any more) the host does its work. */
static struct prof__keeper {
    pthread_t thread;
    long host;                           /* the thread's id */
    uintptr_t self;                      /* of both: as prof__own knows them */
    uint32_t ready, end, runs, ended;    /* end: it is to; runs: there is a host; ended: all done */
    uint32_t apart, alone;               /* in a process of its own; the program is over */
} prof__keeper;
#if PROF__KEEPER
static union { char bytes[128 << 10]; uint64_t align[2]; } prof__keeper_stack;
#endif

/* The program went in the middle of something: it will never give these back. */
PROF__FN void prof__keeper_free_locks(void) {
    const uintptr_t self = prof__keeper.self;
    if (PROF__LOAD(prof__stream_owner) != self) prof__disown(&prof__stream_owner);
    if (PROF__LOAD(prof__reading) != self) prof__disown(&prof__reading);
    if (!prof__lock_mine()) prof__lock_reset();
}

PROF__FN void prof__keeper_sleep(int ms) {
    struct pollfd none;
    (void)poll(&none, 0, ms);
}

#if PROF__KEEPER
/* Its host is gone, so the program is. The other threads were stopped before, or are within an
   interrupt's time. */
PROF__FN bool prof__keeper_alone(void) {
    struct prof__keeper *k = &prof__keeper;
    if (!k->apart || k->alone) return k->alone != 0;
    if (syscall(SYS_tgkill, (long)prof__process, k->host, 0L) == 0 || errno != ESRCH) return false;
    prof__keeper_sleep(2);
    k->alone = 1;
    for (prof__state *t = prof__owned; t; t = t->next) PROF__STORE(t->looking, false);
    PROF__STORE(prof__raw_busy, 0u);
    return true;
}

/* While a lock is waited for. */
PROF__FN void prof__keeper_waits(void) {
    if ((uintptr_t)prof__slot_get() != PROF__LOAD(prof__keeper.self)) return;
    if (prof__keeper_alone()) prof__keeper_free_locks();
}
#else
PROF__FN bool prof__keeper_alone(void) { return false; }
#endif

/* What prof_stop_env would have done. */
PROF__FN void prof__keeper_last(void) {
    struct prof_trace *s = &prof__trace;
    bool open = s->open;
    if (!open && !prof__env.saving) return;      /* the program has taken its trace */
    prof__keeper_free_locks();
    PROF__STORE(prof__env.saving, 1u);
    if (prof__env.streams) (void)prof_flush();
    if (prof__env.child && prof__env.streams && !prof__env.open) return;
    if (open) prof__window_close(s);
    else if (prof__env.streams && !s->streamed_all) prof__stream_close(s);
    (void)prof__env_save();
}

/* Again at once while there is much to do. */
PROF__FN void prof__keeper_work(void) {
    struct prof__keeper *k = &prof__keeper;
    PROF__RELEASE(k->ready, 1u);
    for (int idle = 0; !PROF__ACQUIRE(k->end) && !prof__keeper_alone();) {
        uint32_t before = PROF__LOAD(prof__env.blocks);
        if (prof__env.streams) (void)prof_flush();
        idle = PROF__LOAD(prof__env.blocks) - before > 4 ? 0 : PROF__MIN(2 * idle + 1, 20);
        if (idle) prof__keeper_sleep(idle);
        else prof__yield();
    }
    if (k->alone) prof__keeper_last();
    PROF__RELEASE(k->ended, 1u);
}

#if PROF__KEEPER
/* Files of the program, that it may wait to see closed, are not the keeper's. */
PROF__FN void prof__keeper_close_files(void) {
    long file = PROF__ACQUIRE(prof__env.open) ? (long)prof__env.file.handle : -1;
    bool closed = false;
#  if defined(SYS_close_range)
    closed = (file <= 0 || syscall(SYS_close_range, 0L, file - 1, 0L) == 0) &&
             syscall(SYS_close_range, file + 1, (long)INT32_MAX, 0L) == 0;
#  endif
    for (int i = 0; !closed && i < 65536; i++)
        if (i != file) (void)close(i);
}

PROF__FN int prof__keeper_process(void *unused) {
    (void)unused;
    (void)setsid();                      /* what ends the program's group is not for it */
    prof__keeper_close_files();
    prof__keeper_work();
    return 0;
}
#endif

PROF__FN void *prof__keeper_host(void *unused) {
    struct prof__keeper *k = &prof__keeper;
    (void)unused;
    PROF__STORE(k->self, (uintptr_t)prof__slot_get());
#if PROF__KEEPER
    void (*waits)(void) = prof__keeper_waits;
    long child, reaped;
    k->host = syscall(SYS_gettid);
    k->apart = 1;
    PROF__RELEASE(prof__while_waiting, waits);
    child = clone(prof__keeper_process, prof__keeper_stack.bytes + sizeof prof__keeper_stack,
                  0x100 /* CLONE_VM, and no signal when it ends */, NULL);
    do reaped = syscall(SYS_wait4, child, NULL, 0x80000000L /* __WCLONE */, NULL);
    while (child > 0 && reaped < 0 && errno == EINTR);
    k->apart = 0;
    if (!PROF__ACQUIRE(k->ended)) {      /* there could be none, or it was killed */
        if (PROF__LOAD(prof__stream_owner) == k->self) prof__stream_unlock();
        if (prof__lock_mine()) prof__unlock();
    }
#endif
    if (!PROF__ACQUIRE(k->ended)) prof__keeper_work();
    return unused;
}

/* No signal is for the host, but those of the C library (32 to 34), which wait for all threads. */
PROF__FN void prof__keeper_start(void) {
    struct prof__keeper *k = &prof__keeper;
#if defined(__linux__)
    uint64_t all = ~((uint64_t)7 << 31), before = 0;
    (void)syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &before, sizeof all);
#endif
    memset(k, 0, sizeof *k);
    k->runs = pthread_create(&k->thread, NULL, prof__keeper_host, NULL) == 0;
#if defined(__linux__)
    (void)syscall(SYS_rt_sigprocmask, 2, &before, NULL, sizeof before);
#endif
    while (k->runs && !PROF__ACQUIRE(k->ready)) prof__yield();   /* the program may end at once */
}

PROF__FN void prof__keeper_end(void) {
    struct prof__keeper *k = &prof__keeper;
    if (!k->runs) return;
    PROF__RELEASE(k->end, 1u);
    (void)pthread_join(k->thread, NULL);
    PROF__STORE(prof__while_waiting, NULL);
    k->runs = 0;
}
#endif

PROF_API PROF__QUIET prof_result prof_prepare(const prof_desc *desc) {
    struct prof_trace *s = &prof__trace;
    prof_desc none;
    prof_result result;
    memset(&none, 0, sizeof none);
    if (desc && (desc->schedule_fn || prof__has_schedule(desc))) return PROF_ERROR_INVALID;
    prof__lock();
    result = prof__session_open(s, desc ? desc : &none);
    prof__unlock();
    if (result != PROF_OK) return result;
    (void)prof__step_set(0, PROF_ACTION_WARMUP);
    prof__transit(s, PROF_ACTION_NONE, PROF_ACTION_WARMUP);
    prof__session.prepared = true;
    prof__session_release(true);
    return PROF_OK;
}

/* Takes hold of the session that prof_prepare made; under the lock. */
PROF__FN bool prof__prepared_claim(void) {
    struct prof__session *v = &prof__session;
    bool mine = v->open && !v->busy && v->prepared && !prof__stream_mine();
    if (mine) v->busy = true;
    if (mine) v->prepared = false;
    return mine;
}

PROF__FN prof_result prof__session_begin(const prof_desc *desc) {
    struct prof_trace *s = &prof__trace;
    prof_action from = PROF_ACTION_WARMUP;
    prof_desc none;
    prof_result result = PROF_OK;
    memset(&none, 0, sizeof none);
    prof__lock();
    if (desc || !prof__prepared_claim()) {
        from = PROF_ACTION_NONE;
        result = prof__session_open(s, desc ? desc : &none);
    }
    prof__unlock();
    if (result != PROF_OK) return result;
    (void)prof__step_set(0, prof__action_at(&prof__session, 0));
    prof__transit(s, from, (int)prof__session.action);
    if (prof__devices_fail(prof__session.activities)) {
        prof__window_stop(s);
        prof__session_release(false);
        return PROF_ERROR_UNSUPPORTED;
    }
    prof__step_begin(s);
    prof__session_release(true);
    return PROF_OK;
}

PROF_API PROF__QUIET prof_result prof_start(const prof_desc *desc) {
    prof__env.wrong[0] = 0;
    prof__env_tell("own", "");
    return prof__session_begin(desc);
}

PROF_API PROF__QUIET prof_action prof_step(void) {
    struct prof_trace *s = &prof__trace;
    struct prof__session *v = &prof__session;
    prof_action from, to;
    if (!prof__session_claim()) {
        prof__lock();
        from = v->open ? v->action : PROF_ACTION_NONE;
        prof__unlock();
        return from;
    }
    if (v->prepared) {
        prof__session_release(true);
        return PROF_ACTION_WARMUP;
    }
    prof__step_end();
    prof__devices_each(v->enabled, prof__device_flush);
    (void)prof__step_set(v->step + 1, v->action);
    to = prof__action_at(v, v->step);
    from = prof__step_set(v->step, to);
    prof__transit(s, from, (int)to);
    prof__step_begin(s);
    prof__session_release(true);
    return to;
}

PROF_API PROF__QUIET uint64_t prof_step_number(void) {
    uint64_t step;
    prof__lock();
    step = prof__session.step;
    prof__unlock();
    return step;
}

PROF_API PROF__QUIET prof_trace *prof_stop(void) {
    struct prof_trace *s = &prof__trace;
    if (!prof__session_claim()) return NULL;
    prof__session.prepared = false;
    prof__step_end();
    prof__transit(s, prof__session.action, PROF__EXIT);
    prof__windows_unsettle();
    prof__lock();
    s->stopped = s->laid;                /* also where no window was ever opened */
    prof__unlock();
    prof__session_release(false);
    if (!prof__env.saving) prof__keeper_end();   /* another session is not its */
    return s;
}

/* PROF_TRACE with the process id for each %p. */
PROF__FN bool prof__env_expand(const char *from) {
    char number[24], *p = prof__env.path, *end = p + sizeof prof__env.path - 1;
    *prof__text_u64(number, prof__process_id()) = 0;
    for (; *from && p < end; from++) {
        if (*from == '%' && from[1] == 'p') {
            p = prof__append(p, end, number);
            from++;
        } else *p++ = *from;
    }
    *p = 0;
    return p < end - 8;                  /* another ending, and a number, have room */
}

PROF__FN prof_result prof__env_refuse(const char *why) {
    (void)prof_format_text(prof__env.wrong, sizeof prof__env.wrong, "%s", why);
    return PROF_ERROR_INVALID;
}

/* A file FILE.raw is a stream, unless another mode is asked for: then it is FILE.json. */
PROF__FN prof_result prof__env_settle(prof_desc *d) {
    struct prof__env *e = &prof__env;
    const char *mode = getenv("PROF_MODE"), *why = NULL;
    bool raw = prof__ends_with(e->path, ".raw"), said = mode && *mode;
    e->streams = said ? d->mode == PROF_MODE_STREAM : raw && d->mode == PROF_MODE_TRACE;
    if (e->streams && (why = prof__env_unstreamed(d)) != NULL) {
        e->streams = false;
        d->mode = PROF_MODE_TRACE;
        prof__env_tell("kept", why);
    }
    if (raw && !e->streams) memcpy(e->path + strlen(e->path) - 4, ".json", 6);
    if (prof__ends_with(e->path, ".gz") && e->streams)
        return prof__env_refuse("PROF_TRACE: a stream cannot end in .gz");
#if !defined(PROF_ZLIB)
    prof__unsupported_text = prof__unsupported_usual;
    if (prof__ends_with(e->path, ".gz")) return PROF_ERROR_UNSUPPORTED;
#endif
    if (!e->streams) return PROF_OK;
    d->mode = PROF_MODE_STREAM;
    d->stream_format = raw ? PROF_STREAM_RAW : PROF_STREAM_CHROME;
    d->stream_inline = true;             /* what the keeper cannot keep up with waits */
    d->stream.write = prof__env_write;
    d->stream.user = e;
    return PROF_OK;
}

/* The file of a stream is there from the start: what is wrong with it shows then. */
PROF__FN prof_result prof__env_begin(const prof_desc *desc, const char *path) {
    struct prof__env *e = &prof__env;
    bool own = strstr(path, "%p") != NULL;
    prof_desc d = *desc;
    prof_result result;
    e->started = e->last = false;
    e->open = e->saving = e->mute = 0;
    e->failed_ns = 0;
    e->error = 0;
    if (!prof__env_expand(path)) return prof__env_refuse("PROF_TRACE: the name is too long");
    if (!prof__env_read(&d)) return PROF_ERROR_INVALID;
    result = prof__env_settle(&d);
    if (result != PROF_OK) return result;
    if (!e->child && (!prof__env_name_free(own && e->streams) || (e->streams && !prof__env_open())))
        return PROF_ERROR_FILE;
    result = prof__session_begin(&d);
    if (result != PROF_OK && e->open) {
        (void)prof__file_shut(&e->file);
        prof__file_remove(e->path);
    }
    return result;
}

PROF__FN void prof__env_at_exit(void) { (void)prof_stop_env(); }

PROF__FN void prof__env_go(void);

#if !defined(_WIN32)
/* A child of fork records into a file of its own, if its name says whose it is. */
PROF__FN void prof__env_after_fork(void) {
    struct prof__env *e = &prof__env;
    const char *path = getenv("PROF_TRACE");
    PROF__STORE(prof__while_waiting, NULL);
    prof__keeper.runs = 0;
    if (e->open && prof__env_same((int)e->file.handle)) (void)prof__file_shut(&e->file);
    e->open = 0;
    if (!e->started) return;
    e->started = false;
    e->child = true;
    if (!PROF__TSAN && path && strstr(path, "%p") &&
        prof__env_begin(&e->desc, path) == PROF_OK) prof__env_go();
}
#endif

/* The session is open. */
PROF__FN void prof__env_go(void) {
    static bool arranged;
    prof__env.started = true;
    if (!prof__env.child) prof__env_tell("start", prof__env.path);
    if (!arranged) (void)atexit(prof__env_at_exit);
#if !defined(_WIN32)
    if (!arranged) (void)pthread_atfork(NULL, NULL, prof__env_after_fork);
    prof__process = prof__process_id();
#endif
    arranged = true;
    prof__keeper_start();
}

PROF_API PROF__QUIET prof_result prof_start_env(const prof_desc *desc) {
    struct prof__env *e = &prof__env;
    const char *path = getenv("PROF_TRACE");
    prof_result result;
    if (!path || !*path) return PROF_OK;
    if (prof__session.open) return PROF_ERROR_STATE;
    prof__keeper_end();
    e->wrong[0] = 0;
    e->child = false;
    memset(&e->desc, 0, sizeof e->desc);
    if (desc) e->desc = *desc;
    result = prof__env_begin(&e->desc, path);
    if (result == PROF_OK) prof__env_go();
    else prof__env_tell("error", result == PROF_ERROR_FILE ? strerror(errno)
                                                           : prof_strerror(result));
    return result;
}

PROF_API PROF__QUIET prof_result prof_stop_env(void) {
    struct prof__env *e = &prof__env;
    prof_result result = PROF_OK;
    if (e->started && prof__session.open) {
        PROF__STORE(e->saving, 1u);
        if (e->child && e->streams && !PROF__LOAD(e->open)) (void)prof_flush();
        if (e->child && e->streams && !PROF__LOAD(e->open)) PROF__STORE(e->mute, 1u);
        (void)prof_stop();
        result = e->mute ? PROF_OK : prof__env_save();
        PROF__STORE(e->saving, 0u);
    }
    prof__keeper_end();
    if (e->open) (void)prof__file_shut(&e->file);
    e->open = 0;
    e->started = false;
    return result;
}

/* Those of activities that are wanted, off or on. */
PROF__FN void prof__toggle(struct prof_trace *s, uint32_t activities, bool enable) {
    uint32_t changed = activities & prof__session.activities &
                       (enable ? ~prof__session.enabled : prof__session.enabled);
    PROF__STORE(prof__session.enabled, prof__session.enabled ^ changed);
    if (!enable) prof__devices_each(changed, prof__device_stop);
    prof__windows_unsettle();
    prof__lock();
    if (changed & PROF_ACTIVITY_CPU) {
        if (enable) prof__recording_open(s, true);
        else prof__recording_close(s);
    }
    prof__unlock();
    if (enable) prof__devices_each(changed, prof__device_start);
}

PROF_API PROF__QUIET prof_result prof_toggle(uint32_t activities, bool enable) {
    struct prof_trace *s = &prof__trace;
    bool open;
    if (!prof__session_claim()) return PROF_ERROR_STATE;
    open = s->open;
    if (open) prof__toggle(s, activities, enable);
    prof__session_release(true);
    return open ? PROF_OK : PROF_ERROR_STATE;
}

PROF_API PROF__QUIET int64_t prof_now(void) {
    const struct prof_trace *s = &prof__trace;
    prof_platform platform;
    prof_clock clock;
    uint64_t start, rate, now;
    if (!prof__lock_briefly()) return 0;
    clock = s->open ? s->clock : PROF_CLOCK_NONE;
    platform = s->platform;
    start = clock == PROF_CLOCK_CPU ? s->knots[0].ns : s->start_tick;
    rate = prof__clock_rate(s);
    prof__unlock();
    if (clock == PROF_CLOCK_NONE) return 0;
    now = clock == PROF_CLOCK_PLATFORM ? platform.now(platform.user) : prof__os_now();
    if (now < start) return 0;
    return clock == PROF_CLOCK_CPU ? (int64_t)(now - start) : prof__rate_ns(now - start, rate);
}

PROF_API PROF__QUIET int64_t prof_os_now(void) { return (int64_t)prof__os_now(); }

PROF_API PROF__QUIET void prof_session_info(prof_session *session) {
    const struct prof_trace *s = &prof__trace;
    prof__lock();
    session->desc = prof__session.desc;
    session->open = prof__session.open;
    session->enabled = session->open ? PROF__LOAD(prof__session.enabled) : 0;
    session->start_ns = !s->open || s->clock == PROF_CLOCK_PLATFORM ? 0
                      : (int64_t)(s->clock == PROF_CLOCK_CPU ? s->knots[0].ns : s->start_tick);
    prof__unlock();
}

PROF__FN uint64_t prof__rate(const struct prof_trace *s) {
    prof__knot k = s->clock != PROF_CLOCK_CPU ? prof__first_knot
                 : s->stopped && s->knot_count ? s->knots[s->knot_count - 1] : prof__knot_now();
    if (s->clock != PROF_CLOCK_CPU || k.ns <= prof__first_knot.ns)
        return s->clock == PROF_CLOCK_PLATFORM && s->platform.ticks_per_second
                   ? s->platform.ticks_per_second : s->clock ? 1000000000u : 0;
    return (uint64_t)((double)(k.tick - prof__first_knot.tick) * 1e9 /
                      (double)(k.ns - prof__first_knot.ns));
}

PROF_API PROF__QUIET prof_stats prof_trace_stats(const prof_trace *trace) {
    prof_stats out;
    memset(&out, 0, sizeof out);
    if (!prof__valid(trace)) return out;
    if (!trace->built) {
        bool taken = prof__reading_open();
        if (!trace->read) (void)prof__from_records(trace);
        out = prof_get_stats();
        prof__reading_close(taken);
    } else {
        out.recorded = trace->event_count;
        out.threads = trace->thread_count;
    }
    out.rejected = trace->rejected;
    out.duplicates = trace->duplicates;
    out.overlaps = trace->overlaps;
    out.no_forward = trace->no_forward;
    out.unlinked = trace->unlinked;
    return out;
}

PROF__FN void prof__own_stats(const struct prof_trace *s, prof_stats *out) {
    const prof_desc *d = &prof__session.desc;
    out->window_ns = prof__own_times.window;
    out->prepare_ns = prof__own_times.prepare;
    out->start_ns = prof__own_times.start;
    out->stop_ns = prof__own_times.stop;
    out->analysis_ns = prof__own_times.analysis;
    if (prof__has_schedule(d) && !d->schedule_fn && !d->schedule.warmup)
        out->warnings |= PROF_WARN_NO_WARMUP;
    if (prof__session.errors) out->warnings |= PROF_WARN_SCHEDULE;
    for (uint32_t i = 0; i < prof__device_count; i++)
        if ((prof__devices[i].desc.activity & prof__session.activities) &&
            (prof__devices[i].result != PROF_OK || prof__device_status(s, i)))
            out->warnings |= PROF_WARN_DEVICE;
}

PROF__FN uint64_t prof__ended_ns(const struct prof_trace *s) {
    prof__scale scale;
    memset(&scale, 0, sizeof scale);
    return s->stopped && s->full_tick ? (uint64_t)prof__to_ns(&scale, s->full_tick) : 0;
}

PROF_API PROF__QUIET prof_stats prof_get_stats(void) {
    struct prof_trace *s = &prof__trace;
    prof_stats out;
    prof__counts c;
    bool taken = prof__own(&prof__reading);
    (void)prof__average_tallies(NULL, 0, false);
    prof__lock();
    c = s->counts;
    for (const prof__state *t = s->open ? prof__owned : NULL; t; t = t->next) {
        if (t->generation != s->generation || t->closed) continue;   /* closed: prof_toggle has */
        prof__counts_add(&c, &t->counts);
        *(t->summing ? &c.summed : &c.slots) += (size_t)(prof__cursor_of(t) - t->begin);
    }
    if (s->stopped && !s->read) prof__count_rows(s, NULL);
    prof__stats_add(&out, &c);
    if (s->average) out.recorded = s->tallied;
    if (s->stopped && !s->records_only) {
        uint64_t zones = prof__zones_now(s);
        if (s->overwritten) out.overwritten = out.recorded - PROF__MIN(zones, out.recorded);
        out.recorded = zones;
        out.unfinished = s->unfinished + c.summed_open;
    }
    out.timeline_ns = prof__ended_ns(s);
    if (s->streamed_all) out.recorded = prof__stream_recorded(s);
    prof__own_stats(s, &out);
    out.clock = s->clock;
    out.ticks_per_second = prof__rate(s);
    out.bytes_total = (size_t)(prof__arena.end - prof__arena.base);
    out.bytes_used =
        out.bytes_total - (size_t)(prof__arena.high - prof__arena.low) + prof__arena.promised;
    prof__unlock();
    if (taken) prof__disown(&prof__reading);
    return out;
}
#endif /* !PROF__BARE */

#pragma pop_macro("slots")
#ifdef __cplusplus
} /* extern "C" */
#  ifdef __GNUC__
#    pragma GCC diagnostic pop
#  endif
#elif defined(__GNUC__) && !defined(__TINYC__)
#  pragma GCC diagnostic pop
#endif
#endif
#endif

/*
   Changes

   0.2.0
       Called otherwise: prof_raw_push: prof_raw_feed; prof_memory_size: prof_arena_size;
       prof_thread_name: prof_set_thread_name; prof_counter_name: prof_hw_counter_name;
       desc.counters: desc.hw_counters.
       New: prof_file_open, prof_file_close, prof_save_memory_timeline; prof_average_add; prof_mark,
       prof_unwind; prof_nest, prof_join, prof_sums; prof_make_events, desc.events (without it a
       zone takes 12 bytes); group_by_site; prof_flops_register; prof_prepare; prof_counter_f;
       prof_submit_os_thread; by format: prof_push_f, PROF_SCOPE_F, prof_instant_f, prof_set_arg_f,
       prof_set_thread_name_f, prof_add_metadata_f, prof_format_text (stb_sprintf's, where it is
       there); prof_stats_note, prof_terminal_width;
       PROF_API and PROF_TLS_MODEL may be given.
       For companions: prof_session_info, prof_os_now, prof_submit_memory, PROF_HAS_KEPT_TEXT;
       prof_cuda.h uses public names alone, so its body may stand in a file of its own.
       A full arena ends the timeline, not the table (desc.when_full, prof_stats.summed).
       Other results: "Call stack" is innermost first, as PyTorch writes it; the overload's name
       has PyTorch's key; a module's hierarchy is that of its zone's begin; the table on a terminal
       is as wide as that, tells recursion, and says why it is empty; what was cut, unfinished or
       left open is counted where it is true by construction.
       Files of different versions of prof.h, or of another PROF_NOW, no longer link.
   0.1.0
       The first.
*/
/*
   MIT No Attribution

   Copyright 2026 the prof authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of this
   software and associated documentation files (the "Software"), to deal in the Software
   without restriction, including without limitation the rights to use, copy, modify,
   merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
   permit persons to whom the Software is furnished to do so.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED,
   INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A
   PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT
   HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION
   OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
   SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
