/* prof.h: the PyTorch profiler's answers for any C or C++ program, from one header.
   MIT-0 license (end of file). Version: see PROF_VERSION.

   In one C or C++ file
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
   Every other file that marks zones includes prof.h alone. Define _GNU_SOURCE and the like before
   the include. On older systems link with -lpthread.

   Words
       zone         a stretch of one thread's time under a name, from its begin to its end
       mark         a macro or a call that begins a zone; site: its name, file and line
       open         begun and not yet ended; frame: what a thread keeps of an open zone
       record       the 12 bytes that a zone leaves when it ends
       arena        all memory of the profiler; chunk: a piece of it that one thread fills with
                    records; slot: the room for one item, in a chunk, an array or an index
       session      from prof_start to prof_stop; window: those of its steps that are saved together
       trace        what a session or a window recorded
       event        what a trace says of one zone, or of other things that took time
       moment       what takes no time: an instant, a counter, a change of memory
       work         what a device does; launch: the call that starts it
       row          a line: in a table the sums of one name, in a trace a thread or a queue
       sums         rows that are added up while the program runs, instead of records
       self, total  the time of a zone without the zones inside it, and with them
       target       a microcontroller; its threads are contexts: interrupts, tasks, the main program
       dropped      never recorded, but counted

   Macros (define before the include; those marked * must be the same in every file)
       PROF_IMPLEMENTATION    put the function bodies here
       PROF_STATIC            everything static: each such file is a profiler of its own. C++ keeps
                              one copy of an inline function or template of a library, with
                              RTLD_GLOBAL or -rdynamic of a program: its zones are those of one
                              profiler
       PROF_SHARED            * one profiler for a program and its shared libraries, plugins or
                              DLLs. The file with PROF_IMPLEMENTATION exports it, all others
                              import it. If that file is in the program itself, link the program
                              with -rdynamic. On Windows each zone is then a call
       PROF_API a             instead of PROF_SHARED: what stands before each declaration
       PROF_TLS_MODEL "m"     gcc's tls_model of the thread's state. Default: "initial-exec" with
                              glibc or in programs; in other shared libraries gcc's choice
       PROF_DISABLE           turns this file's zones into nothing; functions stay. C++ keeps one
                              copy of an inline function or template: where it has zones, give
                              this to all files that have it, or to none
       PROF_ARENA_SIZE n      bytes of the built-in arena (64 MiB, of which untouched pages cost
                              nothing; freestanding: 8 KiB)
       PROF_MAX_SITES n       distinct (name, file, line) a process can mark (16384; freestanding:
                              64, of 4 bytes each)
       PROF_SITE_TEXT n       bytes for their names and file names (1 MiB)
       PROF_METADATA_SIZE n   bytes for prof_add_metadata (8 KiB)
       PROF_NOW()             * your own clock, as an expression: uint64_t ticks; set
                              desc.platform.ticks_per_second with it (freestanding: define it only
                              where PROF_IMPLEMENTATION is)
       PROF_OS_CLOCK e        where e is true at prof_start, the system's clock is taken even where
                              the CPU's is usable
       PROF_ZLIB              calls that save to a file can write .gz files, too (link with -lz)
       PROF_INSTRUMENT_FUNCTIONS   beside PROF_IMPLEMENTATION: every function that is compiled
                              with -finstrument-functions is a zone, named from the program's
                              symbols (Linux; elsewhere by address)
       PROF_NO_STB            the C library formats names (prof_push_f and its kin), even where
                              stb_sprintf.h is found. (A file that also has stb_sprintf's
                              implementation includes that before prof.h.)
     Freestanding builds (room @TARGET; implied by -ffreestanding)
       PROF_FREESTANDING      * no C library, no OS, no threads, no files
       PROF_CLOCK_AT a        instead of PROF_NOW(): the address of a 32-bit counter that counts up
       PROF_CLOCK_BITS n      bits of PROF_NOW() or PROF_CLOCK_AT, where it has fewer than 32
       PROF_NO_ASM            begin and end are C on Cortex-M3 and up, too, instead of assembly
       PROF_NAMES_IN_ELF      * names, files and lines of zones stay out of the image: they are in
                              the ELF file's section prof_sites, where `prof decode --elf` finds
                              them (except with g++, and for PROF_FUNCTION()); tables and Chrome
                              JSON made on the target lack them
       PROF_LOCK() PROF_UNLOCK(s)   mask interrupts and restore them (default: PRIMASK, mstatus);
                              all zones are then in one row, unless PROF_CONTEXT is defined
       PROF_CONTEXT()         which interrupt or task runs: 0.. (IPSR on Cortex-M)
       PROF_ONE_CORE 0        contexts run at once (default 1; 0 with PROF_CONTEXT and PROF_LOCK)
       PROF_MAX_CONTEXTS n    how many there are, 4 bytes each (127 from Cortex-M3 up, 48 on M0,
                              else 1, or 8 with PROF_CONTEXT)

   Memory
       All of it comes from one range: desc.memory, or a static array of PROF_ARENA_SIZE bytes.
       There is no malloc. Each thread keeps a stack of its open zones. When a zone ends, the thread
       writes a record of 12 bytes into a chunk that only it writes: without a lock. prof_stop()
       reads the records; tables, stacks and traces are made from them. prof_mode, prof_full and
       prof_keep say what is kept, and what happens when the arena is full. prof_stats counts what
       is not kept; the table and the trace's head say so.

   Threads
       Any thread may mark zones (without a lock) and tell what they carry, at any time. A zone
       begins and ends on one thread. No call is a cancellation point: the sink and callbacks run
       with cancellation off. Asynchronous cancellation, for which POSIX has three functions alone,
       takes nothing from other threads: what the call was recording may be lost or there twice, and
       what prof_start_env, prof_stop_env or a writer opened may stay open. A mark takes at most
       1 KiB of stack; with a format (prof_push_f) 2 KiB; where it writes a stream, as under
       PROF_TRACE, also what the sink takes; and the system's loader takes 4 KiB where the program
       was not linked with -z now.
       Session calls (start, stop), queries and writers: any thread, one at a time where their
       comment does not say "at any time".
       A compiler without TLS and atomics (tcc) records from the first thread only: zones of
       others are dropped (dropped_busy). Make all other calls from that thread, too.
       Seccomp filters must allow gettid (a thread's first zone of a session), getpid (PROF_BEGIN
       of a new site, session calls), sched_yield (threads that wait), sigaltstack (after longjmp),
       and write for streams.
       desc.memory must stay valid until every thread that recorded has exited or has called
       prof_thread_end(). A thread that TerminateThread ends counts among max_threads for ever.

   Signals and fork
       A signal handler may mark zones, instants and counters, even in the middle of a begin or an
       end. It must end what it begins, and return (no longjmp). Of other calls it may make those
       whose comment says so. What it marks while its thread is in the slow path (first zone, new
       chunk, new name, an argument, slow clock) is dropped: dropped_busy; as is all that the thread
       marks later, if a handler leaves that path by siglongjmp (but from the stream's sink, whose
       block then comes again). If the zone around a handler's
       zones was dropped or just recorded, the trace has a zone "(lost)" instead: lost.
       A child of fork() records nothing until it calls prof_start() (or see prof_start_env); what
       a child of _Fork() records is lost.
       A child of vfork() shares its parent's memory. It must end its zones before exec(), and end
       none of its parent's; a PROF_BEGIN that only such children have reached is dropped, and so
       is what the child begins after it: dropped_busy.

   What the figures mean
       CPU time is wall time, as in PyTorch: a zone that waits or is preempted goes on counting.
       Shares are of all threads' self time. Each level of a recursion counts, so a total can pass
       100 %. The clock is the CPU's counter where that runs at one rate; else, or with
       PROF_OS_CLOCK, the system's. Both are compared at start, at stop and now and then between;
       the first prof_stop() may wait until 5 ms after prof_start().
       Parents and children come from the order of begins and ends, so they are right even where
       the clock stands still. A clock that goes back is counted: the system's and a target's at any
       reading, the CPU's where a zone would end before it begins. Such a zone takes as long as what
       is in it, or no time; its thread's time goes on from where it was, even if the clock stays
       back. An empty zone reads as about one clock read; the rest of its cost is its parent's self
       time.

   Errors
       Set-up and export return a prof_result; prof_strerror() says it in words. Recording cannot
       fail. Nothing here prints (except prof_print_table), aborts or exits.

   Rooms, in this order; each begins with a banner
       @API-MARKS @API-SESSION @API-RESULTS @API-DETAILS @API-COMPANIONS @API-INLINE
       @API-MACROS
       @PLATFORM @ARENA @TEXT @SITES @FORMAT @STATES @NEST @THREADS @SUMS @RECORD
       @TARGET @PRINTF @DETAILS @SYMBOLS @FUNCTIONS @NATIVE @COUNTERS @READ @COLLECT @TREE
       @OUTSIDE @LINK @EVENTS @AVERAGES @TABLE @CHROME @STACKS @MEMORY @EXECUTION @FLOPS @RAW
       @AGGREGATE @OBSERVE @SCHEDULE @SESSION @ENV
*/
#ifndef PROF_H
#define PROF_H

#if defined(__cplusplus) ? __cplusplus < 201103L && !defined(_MSC_VER) \
                         : defined(__STDC__) && !defined(_MSC_VER) && \
                               (!defined(__STDC_VERSION__) || __STDC_VERSION__ + 0 < 199901L)
#  error "prof.h needs C99 or C++11: compile with -std=c99 or -std=c++11, or a later one"
#  include "prof.h needs C99 or C++11"      /* a file that is not there: the compiler stops here */
#endif
#if defined(PROF_CORE) || defined(PROF_CORE_H)
#  error "PROF_CORE is a file of its own: include examples/baremetal/core.h in the place of prof.h"
#endif
#ifdef PROF_STRING
#  error "PROF_STRING is gone: link the C library, or compile examples/baremetal/string.c with it"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROF_VERSION "0.3.0"

#if defined(PROF_SHARED) && !defined(PROF_API)
#  ifndef _WIN32
#    define PROF_API __attribute__((visibility("default")))
#  elif defined(PROF_IMPLEMENTATION)
#    define PROF_API __declspec(dllexport)
#  else
#    define PROF_API __declspec(dllimport)
#  endif
#endif
#ifdef PROF_STATIC
#  undef PROF_API
#  define PROF_API static
#elif defined(PROF_API)                  /* where the functions come from or go to */
#  define PROF__SHARED 1
#  define PROF__DATA extern PROF_API
#else
#  define PROF_API extern
#  define PROF__DATA extern
#endif

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#  define PROF__GNU 1                    /* attributes, atomics, assembly */
#else
#  define PROF__GNU 0
#endif

/* The port: hosted, or bare (freestanding: no C library, no OS; see @TARGET).
   PROF__PORT_LABEL: the settings that must be the same in every file; see PROF__LABEL. PROF__TICKS:
   the compiler has atomics and reads the CPU's clock. PROF__FAST: the hot path is inline. */
#if defined(PROF_FREESTANDING) || (defined(__STDC_HOSTED__) && __STDC_HOSTED__ == 0)
#  define PROF__BARE 1
#  define PROF__FAST 0
#  define PROF__PORT_LABEL "_without_PROF_NOW_freestanding"   /* see PROF_NOW above */
/* What the linker says where stb_sprintf was not found: see prof_push_f. */
#  define prof_push_f prof_push_f__needs_stb_sprintf_h
#  define prof_format_text prof_format_text__needs_stb_sprintf_h
#  define prof__begin_f prof_scope_f__needs_stb_sprintf_h
#else
#  define PROF__BARE 0
#  if PROF__GNU && (defined(PROF_NOW) || defined(__x86_64__) || defined(__i386__) || \
                    defined(__aarch64__))
#    define PROF__TICKS 1
#  else
#    define PROF__TICKS 0
#  endif
#  if defined(_WIN32) && defined(PROF__SHARED)   /* no DLL sees another's TLS */
#    define PROF__FAST 0
#  else
#    define PROF__FAST PROF__TICKS
#  endif
#  ifdef PROF_NOW
#    define PROF__PORT_LABEL "_with_PROF_NOW"
#  else
#    define PROF__PORT_LABEL "_without_PROF_NOW"
#  endif
#  undef PROF_NAMES_IN_ELF               /* hosted programs have the names in memory anyway */
#  if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__linux__)
#    error "prof.h on a microcontroller: -ffreestanding, or PROF_FREESTANDING in every file"
#  endif
#endif

#if defined(__clang__) || defined(__CUDACC__)   /* nvcc warns of gnu_printf */
#  define PROF__PRINTF(text, first) __attribute__((format(printf, text, first)))
#elif PROF__GNU
#  define PROF__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#  define PROF__PRINTF(text, first)
#endif
#if defined(__GNUC__) && __GNUC__ > 10 && !defined(__CUDACC__)
#  define PROF__ADDRESS(i) __attribute__((access(none, i)))   /* argument i is not dereferenced */
#else
#  define PROF__ADDRESS(i)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- @API-MARKS: zones, moments and values ----

   A program marks what it does by these, whether a session is open or not. Macros take a literal
   name, which is looked up once; functions take any name. With PROF_DISABLE macros do nothing. */

/* A zone from here to the end of the enclosing block. */
#define PROF_SCOPE(name) PROF__SCOPE_IN(PROF__ID, "" name, true)

/* PROF_SCOPE with a name by a format: PROF_SCOPE_F("tile %d,%d", x, y); see prof_push_f. */
#define PROF_SCOPE_F(...) PROF__SCOPE_F(PROF__ID, __VA_ARGS__)

/* PROF_SCOPE named after the function; in C++ with its class, namespaces and template arguments. */
#define PROF_FUNCTION() PROF__FUNCTION_IN(PROF__ID, true)

/* A zone around the block or statement that follows: PROF_BLOCK("name") { ... } */
#define PROF_BLOCK(name) PROF__BLOCK_IN(PROF__ID, "" name, true)

/* The same, but a zone only while one of these categories is on: see prof_set_categories. */
#define PROF_SCOPE_IN(categories, name) \
    PROF__SCOPE_IN(PROF__ID, "" name, prof__category_on(categories))
#define PROF_FUNCTION_IN(categories) PROF__FUNCTION_IN(PROF__ID, prof__category_on(categories))
#define PROF_BLOCK_IN(categories, name) \
    PROF__BLOCK_IN(PROF__ID, "" name, prof__category_on(categories))

/* A pair that need not be in one block. PROF_END() ends the innermost open zone of this thread. */
#define PROF_BEGIN(name) PROF__BEGIN("" name)
#define PROF_END() PROF__END()

/* prof_instant and prof_counter with a literal name. Both are statements, not expressions. */
#define PROF_INSTANT(name) PROF__INSTANT("" name)
#define PROF_COUNTER(name, value) PROF__COUNTER("" name, value)

/* A zone whose name is made at run time; name is copied, once for each text. NULL: "(null)". */
PROF_API void prof_push(const char *name);
PROF_API void prof_pop(void);

/* prof_push by a format as printf takes it. The text has at most 255 bytes; the rest is cut and
   counted (not_kept). While nothing is recorded nothing is formatted. Each text takes room as a
   name of its own: what often changes belongs in an argument (prof_set_arg). stb_sprintf formats,
   if it was included before or is found as <stb/stb_sprintf.h> or "stb_sprintf.h" (Debian:
   libstb-dev); else vsnprintf, which is not safe in signal handlers. Targets need stb_sprintf. */
PROF_API void prof_push_f(const char *format, ...) PROF__PRINTF(1, 2);

/* A moment, and a value that changes over time, for the Chrome trace. name is copied. */
PROF_API void prof_instant(const char *name);
PROF_API void prof_counter(const char *name, int64_t value);

/* Turns these categories of zones on, and all others off; at first all are on. A category is a bit
   of the program's own. Returns what was on. At any time; open zones stay open. */
PROF_API uint32_t prof_set_categories(uint32_t on);
PROF_API bool prof_category_on(uint32_t categories);   /* is one of these on? */

/* Names the calling thread in table and trace; copied, at most 63 bytes. Needs an open session. */
PROF_API void prof_set_thread_name(const char *name);

/* ---- @API-SESSION: start, stop, and what a session is asked for ----

   In a description 0, NULL and false are the defaults. Times are ns since the session's start,
   sizes bytes, unless a name or comment says otherwise. "Freestanding" tells what differs there. */

typedef enum prof_result {
    PROF_OK = 0,
    PROF_ERROR_INVALID,      /* an argument is wrong: NULL, out of range, a trace that is gone */
    PROF_ERROR_MEMORY,       /* the arena is too small: see prof_arena_size */
    PROF_ERROR_STATE,        /* the call is not possible now: a session is open, or none is */
    PROF_ERROR_SINK,         /* a sink's write() returned false */
    PROF_ERROR_FILE,         /* a file could not be made, written or renamed: see errno. Paths are
                                UTF-8, also on Windows, where they may be long, too */
    PROF_ERROR_UNSUPPORTED,  /* not in this build (.gz without PROF_ZLIB), or by this device */
    PROF_ERROR_NONE_RECORDED, /* prof_desc did not ask for what the call needs */
    PROF_ERROR_JSON          /* text that must be JSON is not: prof_strerror says where */
} prof_result;

/* Where output goes. write() gets consecutive pieces. When it returns false the writer stops and
   returns PROF_ERROR_SINK; the trace stays usable. */
typedef struct prof_sink {
    bool (*write)(void *user, const void *data, size_t size);
    void *user;
} prof_sink;

/* The machine's clock and threads, where the defaults (all zero) do not fit. Freestanding builds
   take ticks_per_second alone: their clock is DWT->CYCCNT, SysTick, cycle, or PROF_NOW(), their
   threads are PROF_CONTEXT(). */
typedef struct prof_platform {
    uint64_t (*now)(void *user);         /* ticks; NULL: TSC or cntvct where usable, else the OS */
    uint64_t ticks_per_second;           /* of now, or of PROF_NOW(). 0: 1e9; for PROF_NOW(), it is
                                            measured. Freestanding: not known, all counts ticks */
    uint32_t (*thread_id)(void *user);   /* NULL: the OS's id */
    void *user;                          /* passed to the functions above */
} prof_platform;

/* What a step of the schedule does: PyTorch's ProfilerAction. */
typedef enum prof_action {
    PROF_ACTION_NONE = 0,
    PROF_ACTION_WARMUP,                  /* gets ready, records nothing */
    PROF_ACTION_RECORD,
    PROF_ACTION_RECORD_AND_SAVE          /* records; the window closes at this step's end */
} prof_action;

/* Which steps are recorded. A cycle is `wait` steps that do nothing, `warmup` steps that get ready,
   and `active` steps that are recorded. PyTorch: torch.profiler.schedule() */
typedef struct prof_schedule {
    uint32_t skip_first;                 /* steps before the first cycle */
    uint32_t wait, warmup, active;       /* active: 1 or more; INT32_MAX: to prof_stop, and steps
                                            are no events (PyTorch: start_trace()) */
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
    PROF_MODE_RING,                      /* the last zones, whoever's they are: see prof_dump */
    PROF_MODE_STREAM,                    /* nothing: prof_flush writes full chunks to desc.stream.
                                            It takes no stacks, modules and execution traces, as a
                                            Chrome array no devices and details either */
    PROF_MODE_AGGREGATE                  /* no zones, but their sums per name: prof_snapshot */
} prof_mode;

/* What a thread does when it finds the arena full. PROF_FULL_CONTINUE loses no zone: in
   PROF_MODE_TRACE the timeline ends, and tables still have the whole run (of later zones the times
   alone; a sixteenth of the arena or more is kept for that, new names and threads). In
   PROF_MODE_STREAM the thread calls prof_flush, and waits for the sink. */
typedef enum prof_full {
    PROF_FULL_CONTINUE = 0,
    PROF_FULL_DROP                       /* drops zones: dropped_full. Freestanding: always */
} prof_full;

typedef enum prof_stream_format {
    PROF_STREAM_RAW = 0,                 /* blocks of records; `prof decode` reads it */
    PROF_STREAM_CHROME                   /* a Chrome JSON array; loads when it is cut off too */
} prof_stream_format;

/* What an event's stack is. A native call stack is read as the zone begins, on 4 KiB of the stack.
   Frame pointers take some ns a frame, and code built with -fno-omit-frame-pointer (x86, aarch64;
   not Windows). The unwinder takes some us a zone (the C library's backtrace(), Windows). */
typedef enum prof_stack {
    PROF_STACK_NONE = 0,
    PROF_STACK_ZONES,                    /* the zones around it */
    PROF_STACK_FRAMES,                   /* its native call stack, by frame pointers */
    PROF_STACK_UNWIND                    /* the same by the system's unwinder, of any code */
} prof_stack;

/* What the arena keeps room for. With details (from the first one on; if it finds the arena full
   they are cut), devices, a schedule or an execution trace it is always PROF_KEEP_EVENTS, but for
   freestanding builds; PROF_MODE_STREAM and _AGGREGATE keep no events. */
typedef enum prof_keep {
    PROF_KEEP_ROWS = 0,                  /* records, 12 bytes a zone, and the rows of tables */
    PROF_KEEP_EVENTS,                    /* prof_events, too: 96 bytes a zone */
    PROF_KEEP_RECORDS                    /* records alone, no tables: for prof_dump */
} prof_keep;

/* Zero-initialise; 0 always means the default. */
typedef struct prof_desc {
    void *memory;                        /* the arena, any alignment; NULL: the built-in one */
    size_t memory_size;                  /* its bytes; 0 where memory is NULL */
    prof_mode mode;
    prof_sink stream;                    /* PROF_MODE_STREAM, which needs it: see there */
    prof_stream_format stream_format;
    prof_full when_full;
    prof_keep keep;
    prof_platform platform;
    uint32_t max_threads;                /* recording at the same time; 0: up to 256, as fit */
    uint32_t max_depth;                  /* open zones per thread in the timeline, up to 255; 0: 64
                                            (freestanding: 32; 0: 16). More: see prof_stats.deep */
    prof_schedule schedule;              /* all zero: record from start to stop, no steps */
    prof_action (*schedule_fn)(void *user, uint64_t step);   /* instead; NULL: schedule */
    void (*on_trace_ready)(void *user, prof_trace *trace);   /* see prof_step; NULL: none */
    void *user;                          /* passed to the two above */
    uint32_t activities;                 /* PROF_ACTIVITY_...; 0: all that are available */
    bool acc_events;                     /* a new window adds to the same trace */
    bool record_shapes;                  /* records inputs and outputs: prof_set_shapes, prof_set */
    bool with_flops;                     /* record_shapes, and flops: prof_set's, or prof_flops */
    bool with_modules;                   /* records prof_module_push, module_hierarchy */
    prof_stack with_stack;               /* not in AGGREGATE, STREAM */
    const char *hw_counters;             /* as "cycles,instructions": see prof_hw_counter_name */
    const char *numbers;                 /* the program's own, as "points,bytes": see prof_add. Both
                                            together at most 4. Not in AGGREGATE */
    bool profile_memory;                 /* records prof_memory_alloc and prof_memory_free */
    const char *exclude;                 /* instrumented functions left out: "step,draw". Linux */
} prof_desc;

typedef enum prof_clock {
    PROF_CLOCK_NONE,                     /* no session yet */
    PROF_CLOCK_OS,                       /* see prof_os_now */
    PROF_CLOCK_CPU,                      /* invariant TSC, cntvct_el0, or PROF_NOW() */
    PROF_CLOCK_PLATFORM                  /* desc.platform.now */
} prof_clock;

/* Counts since prof_start; with a schedule, of the last window. */
typedef struct prof_stats {
    uint64_t recorded;                   /* zones, without those in summed */
    uint64_t dropped;                    /* begins and other records that were not recorded: */
    uint64_t dropped_full;               /* - the arena was full, and the room for sums too */
    uint64_t dropped_threads;            /* - more threads at once than max_threads */
    uint64_t dropped_busy;               /* - the thread was in the profiler, had ended, or was a
                                            vfork child; or the lock was held too long */
    uint64_t deep;                       /* zones inside max_depth others: in summed, too
                                            (freestanding: in dropped) */
    uint64_t others;                     /* zones under the name "(others)": no room for their own
                                            or its sums, or a signal handler began them
                                            (freestanding: they are in dropped) */
    uint64_t unbalanced;                 /* ends of a zone or range that had ended, or had not begun
                                            in this session: ignored */
    uint64_t healed;                     /* zones that an outer one's end ended */
    uint64_t unfinished;                 /* zones ended by prof_stop or by their thread's exit;
                                            ranges and launches not done at prof_stop: left out */
    uint64_t clock_steps;                /* times the clock went back; of the CPU's clock: zones
                                            that would end before they began */
    uint64_t rejected;                   /* bad events from outside, allocations over 2^63 bytes */
    uint64_t misplaced;                  /* events that overlap another only partly: from outside,
                                            or a step by a zone that is open around prof_step;
                                            device events before or without their launch; backward
                                            events without their forward thread, and so no stack */
    uint64_t schedule_errors;            /* since prof_start: steps that lost a window, and what
                                            schedule_fn returned that is no prof_action */
    uint64_t lost;                       /* zones "(lost)"; see "Signals and fork" */
    uint64_t overwritten;                /* zones that PROF_MODE_RING no longer holds */
    uint64_t stalled_us;                 /* PROF_MODE_STREAM: how long threads, their chunks full,
                                            waited for the sink within their zones */
    uint64_t stream_failures;            /* how often the stream's sink returned false */
    uint64_t memory_unmatched;           /* frees of what is not allocated in this trace;
                                            allocations at an address that was not freed before */
    uint64_t not_kept;                   /* names, texts and lists that were shortened: names to
                                            4095 bytes, formatted ones to 255; details that did not
                                            fit; counters, instants, steps, attributes where only
                                            sums are kept; events without room for events */
    uint32_t threads;                    /* that recorded */
    prof_clock clock;
    uint64_t ticks_per_second;           /* of that clock, so far; 0: not known, ns are ticks */
    size_t bytes_used, bytes_total;      /* of the arena, with what the analysis will take */
    uint32_t warnings;                   /* PROF_WARN_... */
    uint64_t summed;                     /* zones in tables but no timeline: arena full, or deep */
    uint64_t timeline_ns;                /* after prof_stop: when the timeline ended; else 0 */
} prof_stats;

enum {                                   /* prof_stats.warnings, and in the trace's head */
    PROF_WARN_NO_WARMUP = 1,             /* a schedule without warm-up: its cost is in step one */
    PROF_WARN_SCHEDULE = 2,              /* see schedule_errors */
    PROF_WARN_DEVICE = 4                 /* a device is missing, or could not record everything */
};

/* Opens a session; NULL or zeroed: every default. Errors, of which prof_strerror says more: STATE:
   one is open. MEMORY: the arena is too small, or is split into pieces that are, by chunks that
   threads still hold from earlier sessions (until they record again). INVALID: a field of desc is
   wrong. UNSUPPORTED: this system, a stream, or the devices asked for cannot do it. Freestanding:
   not in an interrupt (prof_stop may be); UNSUPPORTED: also a clock that does not count. */
PROF_API prof_result prof_start(const prof_desc *desc);

/* Closes the session; zones still open end now. NULL only when no session was open (or in one of
   its callbacks). The trace holds the last window; an open one goes to on_trace_ready first. */
PROF_API prof_trace *prof_stop(void);

/* Begins the next step and returns its action (no session: PROF_ACTION_NONE). Windows open and
   close here. A complete one goes to on_trace_ready, while nothing is recorded; its trace is gone
   when that returns. With a schedule each step is an event ProfilerStep#N of the calling thread. In
   callbacks prof_start, prof_step and prof_stop do nothing. PyTorch: profile.step() */
PROF_API prof_action prof_step(void);

/* Turns recording of some activities (PROF_ACTIVITY_...) off or on inside a window; the next one
   begins with desc.activities again. Zones that are open end when their recording does (a step that
   had it on for some time is whole); prof_submit leaves out work on devices that were not added
   while theirs is off. INVALID: one that desc.activities leave out, or that is none. STATE: no
   window is open. PyTorch: toggle_collection_dynamic */
PROF_API prof_result prof_toggle(uint32_t activities, bool enable);

/* What a schedule does at a step, from 0 on. Pure. active 0: PROF_ACTION_NONE. */
PROF_API prof_action prof_schedule_action(const prof_schedule *schedule, uint64_t step);

/* A result in words, never NULL. After an error it tells what is known of the last one of this
   kind, as "prof_desc.max_depth is 300: 255 at most". One text per process: read it at once. */
PROF_API const char *prof_strerror(prof_result result);

/* The counts of a trace; of one made from events, recorded is the number of events. NULL: those of
   the open session, or of the last one, at any time; exact after prof_stop. */
PROF_API prof_stats prof_get_stats(const prof_trace *trace);

/* Bytes of arena that desc needs for at least a chunk of zones on each of max_threads (0: one). */
PROF_API size_t prof_arena_size(const prof_desc *desc);

/* The session's clock: ns since its start, as in its zones' times. At any time. 0: no session. */
PROF_API int64_t prof_now(void);

/* Freestanding: notices when a 32-bit clock wraps. Call it at least once in half the time of a
   wrap, say from a timer's interrupt, if zones may be open, or contexts silent, for longer than
   that. Once called it must go on to the end of the session. Hosted: does nothing. */
PROF_API void prof_tick(void);

/* PROF_MODE_STREAM: writes what was recorded since the last flush to desc.stream. Call it often, so
   that threads whose chunks are full seldom have to do so themselves: from an idle loop, or from a
   thread that sleeps about 1 ms in between: without a pause other threads' zones cost twice as
   much. Freestanding, a raw stream keeps a context's records back until they are 48, or a quarter
   of a second old. The sink runs on the thread that flushes (any, one at a time), also in a signal
   handler that marks zones (not with PROF_FULL_DROP); it must not call prof_start, prof_stop or
   prof_flush. SINK: it returned false; the next flush writes the same bytes again, and zones that
   find all chunks full are dropped. STATE: no such session, or in the sink. */
PROF_API prof_result prof_flush(void);

/* Writes what PROF_MODE_TRACE or _RING holds, zones still open included, as a raw stream, which
   `prof decode` and `prof report` read. Safe in a signal handler if out.write is: it takes no lock
   and calls only clock_gettime and getpid; with PROF_INSTRUMENT_FUNCTIONS it waits for a lock for
   part of a second, and reads the names of new functions from the program's files (open, lseek,
   read, close), on 3 KiB of stack. Other threads may go on recording; what they overwrite is left
   out. Also after prof_stop. PROF_ERROR_STATE: another mode, no session, a dump goes on, or
   siglongjmp left its sink. */
PROF_API prof_result prof_dump(prof_sink out);

/* Gives back what the calling thread has of the arena, as its exit does. Freestanding: the task of
   PROF_CONTEXT() has ended: its zones end, and the next task of this number has another row. */
PROF_API void prof_thread_end(void);

#if !PROF__BARE
/* For programs that are profiled when the environment asks for it, as `prof record` does by
   PROF_TRACE=FILE: then these are prof_start(desc), and prof_stop() with prof_save_chrome(), else
   they do nothing and return PROF_OK. exit() stops the session, too. tools/README.md has all
   variables, and what a process leaves that is killed, forks or executes another program.
   PROF_MODE=wait, for sessions from outside, takes no schedule and on_trace_ready of desc.
   INVALID: a variable is wrong. FILE: FILE cannot be made now. UNSUPPORTED: the program has other
   rights than its caller (set-user-id): it reads no variables, here and elsewhere. */
PROF_API prof_result prof_start_env(const prof_desc *desc);
PROF_API prof_result prof_stop_env(void);
#endif

/* ---- @API-RESULTS: what was recorded: events, rows, tables, files ----

   Queries and writers of a trace: one at a time, as they use the free part of the arena. */

#define PROF_NONE UINT32_MAX             /* no such index */
#define PROF_COUNTERS 4                  /* at most so many in desc.hw_counters and numbers */

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
    PROF_EVENT_PARTIAL = 128             /* PROF_MODE_RING: some of what was within it is gone. With
                                            UNFINISHED: the timeline ended within it, and it counts
                                            in no row: sums have it whole */
};

/* One device activity that an event launched. PyTorch: Kernel */
typedef struct prof_kernel {
    const char *name;
    int64_t duration_ns;
    int32_t device;
} prof_kernel;

/* One input. items NULL: a tensor of count dimensions; else a list of tensors without items. */
typedef struct prof_shape {
    const int64_t *dims;
    const struct prof_shape *items;
    uint32_t count;
} prof_shape;

/* Where memory is. index: which one of that type; 0 for the CPU. */
typedef struct prof_device { uint8_t type; int8_t index; } prof_device;

/* Where a zone is marked in the source. Strings live as long as the process. */
typedef struct prof_site {
    const char *name, *file, *function;
    uint32_t line;
} prof_site;

typedef struct prof_extra prof_extra;    /* see @API-DETAILS */
/* A zone or device activity: PyTorch's FunctionEvent. Indices are into prof_events(). */
typedef struct prof_event {
    const char *name;                    /* UTF-8 as given; lives as long as the trace */
    const prof_extra *extra;             /* NULL: a plain zone */
    int64_t start_ns, end_ns;            /* time_range; 0: the session's or window's start */
    int64_t self_cpu_time_total_ns;      /* less the direct children; freestanding: also less tasks
                                            and interrupts that had the core then */
    uint32_t parent;                     /* cpu_parent; PROF_NONE: top level */
    uint32_t first_child, next_sibling;  /* cpu_children, in the order they began */
    uint32_t thread;                     /* index into prof_threads() */
    uint32_t site;                       /* number of its site; 0: none */
    uint8_t depth;                       /* events around it; 255: that many or more */
    uint8_t device_type;                 /* prof_device_type */
    uint16_t flags;                      /* PROF_EVENT_... */
} prof_event;

/* What an event amounts to, with its children and (self_) without; 0: nothing. */
typedef struct prof_event_totals {
    const prof_site *site;
    int64_t cpu_time_total_ns, self_cpu_time_total_ns;
    int64_t device_time_total_ns, self_device_time_total_ns;
    int64_t cpu_memory_usage, self_cpu_memory_usage;         /* bytes */
    int64_t device_memory_usage, self_device_memory_usage;
} prof_event_totals;

/* A thread that recorded. */
typedef struct prof_thread_info {
    uint64_t id;                         /* the OS's, or platform.thread_id's; 2^30 and more where
                                            an ended thread had the same */
    const char *name;                    /* prof_set_thread_name; NULL: none */
} prof_thread_info;

/* All occurrences of one name, or of what prof_averages_desc adds to it: FunctionEventAvg. */
typedef struct prof_average {
    const char *key;                     /* the name */
    uint64_t count;
    int64_t cpu_time_total_ns, self_cpu_time_total_ns;
    int64_t min_ns, max_ns;              /* of cpu_time, one call */
    int64_t p50_ns, p90_ns, p99_ns;      /* percentiles: in PROF_MODE_AGGREGATE, or as asked for */
    int64_t device_time_total_ns, self_device_time_total_ns;
    int64_t cpu_memory_usage, self_cpu_memory_usage;         /* bytes */
    int64_t device_memory_usage, self_device_memory_usage;
    int64_t flops;
    int64_t counters[PROF_COUNTERS], self_counters[PROF_COUNTERS];   /* prof_hw_counter_name */
    const char *overload_name;           /* "" unless grouped by it */
    const prof_shape *input_shapes;      /* input_count; PROF_NONE: not grouped by them */
    const char *const *stack;            /* stack_count, at most group_by_stack_n */
    uint32_t input_count, stack_count;
    uint32_t parent;                     /* the first event's cpu_parent; PROF_NONE: top level */
    uint32_t first;                      /* index of the first event. Where there are no events,
                                            parent is 0, first the row's place in their order */
    int32_t node_id;                     /* -1: none */
    uint8_t device_type, scope;
    bool is_async, is_remote, is_legacy, is_user_annotation;   /* of the first event */
    bool is_recursive;                   /* some calls lie in others of the row. Targets: false */
    int64_t on_cpu_ns;                   /* of cpu_time_total: see prof_task_in. 0: no tasks */
    const prof_site *site;               /* group_by_site: file and line; NULL: it has none */
} prof_average;

typedef enum prof_metric {               /* PyTorch's. CPU_TIME, DEVICE_TIME: a call's average */
    PROF_METRIC_NONE = 0,                /* table: first-seen order; stacks: self CPU time */
    PROF_METRIC_SELF_CPU_TIME_TOTAL, PROF_METRIC_CPU_TIME_TOTAL, PROF_METRIC_CPU_TIME,
    PROF_METRIC_COUNT,
    PROF_METRIC_SELF_DEVICE_TIME_TOTAL, PROF_METRIC_DEVICE_TIME_TOTAL, PROF_METRIC_DEVICE_TIME,
    PROF_METRIC_CPU_MEMORY_USAGE, PROF_METRIC_SELF_CPU_MEMORY_USAGE,
    PROF_METRIC_DEVICE_MEMORY_USAGE, PROF_METRIC_SELF_DEVICE_MEMORY_USAGE,
    PROF_METRIC_FLOPS,
    PROF_METRIC_LAST                     /* how many there are */
} prof_metric;

typedef enum prof_time_unit {
    PROF_TIME_AUTO = 0, PROF_TIME_S, PROF_TIME_MS, PROF_TIME_US
} prof_time_unit;

/* What tells rows apart beside name, node, device type, legacy and user annotation flag. */
typedef struct prof_averages_desc {
    bool group_by_input_shapes, group_by_overload_name;
    uint32_t group_by_stack_n;           /* by the innermost n stack entries */
    bool percentiles;                    /* and in tables min and max. ~p50: estimated, of sums */
    bool group_by_site;                  /* by file and line, where one name has several: column
                                            "Source". Names made at run time have none.
                                            Freestanding: ignored */
} prof_averages_desc;

typedef enum prof_format {
    PROF_FORMAT_TEXT = 0,
    PROF_FORMAT_CSV,                     /* RFC 4180, with a head; times in us. Text that begins
                                            with = + - @, as formulas do, gets a ' before */
    PROF_FORMAT_JSON                     /* an array of objects; times in us */
} prof_format;

/* EventList.table()'s arguments. Widths are in code points; UINT32_MAX: unlimited. */
typedef struct prof_table_desc {
    const prof_averages_desc *averages;  /* NULL: a row for each event (not freestanding) */
    prof_metric sort_by;                 /* descending; 0: first-seen order */
    uint32_t row_limit;                  /* 0: 100; UINT32_MAX: all */
    uint32_t max_name_column_width;      /* 0: 55 */
    uint32_t max_src_column_width;       /* 0: 75 */
    uint32_t max_shapes_column_width;    /* 0: 80 */
    const char *header;                  /* a line above the table; NULL: none */
    bool top_level_events_only;
    bool hide_notes;                     /* leave out the lines below those that PyTorch prints */
    prof_time_unit time_unit;
    prof_format format;
    uint32_t width;                      /* of a line. Columns are narrowed, or left out and named
                                            below the table, until it fits. 0: PyTorch's widths, or
                                            the terminal's (prof_print_table) */
    bool ns_per_counter;                 /* a column for each, as "ns per points": see prof_add */
    int64_t whole_cpu_ns, whole_device_ns;   /* 100 % of the shares; 0: the sum over the rows */
} prof_table_desc;

/* What a table shows beside CPU times. EventList's use_device, profile_memory, with_flops. */
typedef struct prof_view {
    const char *device_name;             /* printed upper-case; NULL: no device times */
    bool profile_memory, with_flops;
    const char *counters[PROF_COUNTERS]; /* names of the rows' counters; NULL: no more */
    bool estimated;                      /* percentiles, by sums: heads are ~p50, ~p90, ~p99 */
} prof_view;

typedef struct prof_memory_desc {        /* prof_write_memory_timeline; NULL: see there */
    prof_device device;
    bool raw;
} prof_memory_desc;

typedef enum prof_chrome_format {
    PROF_CHROME_KINETO = 0,              /* an object, as torch.profiler's export_chrome_trace() */
    PROF_CHROME_ARRAY,                   /* an array, as PROF_STREAM_CHROME: loads when cut off */
    PROF_CHROME_LEGACY                   /* as EventList.export_chrome_trace(); not freestanding */
} prof_chrome_format;

/* Which events tell where they are marked; none in freestanding builds and the legacy array. */
typedef enum prof_chrome_source {
    PROF_CHROME_SOURCE_AUTO = 0,         /* the head lists names that have one site; events of
                                            others say theirs: "args":{"source":"file:line"} */
    PROF_CHROME_SOURCE_NONE,             /* no file names at all */
    PROF_CHROME_SOURCE_ALL               /* all events say theirs */
} prof_chrome_source;

typedef struct prof_chrome_desc {
    prof_chrome_format format;
    prof_chrome_source source;
} prof_chrome_desc;

/* All events, sorted by (start, -end, thread, depth): a parent comes before its children. The first
   call that needs them makes them; they live as long as the trace. They take eight times the memory
   of records: where the arena has no room (without PROF_KEEP_EVENTS) they go to `size` bytes at
   memory (or NULL; not freestanding), which must live as long. Returns NULL with count 0 where
   there are none, or no room: prof_strerror(PROF_ERROR_MEMORY) says how many bytes they take.
   PyTorch: profile.events() */
PROF_API const prof_event *prof_events(const prof_trace *trace, void *memory, size_t size,
                                       size_t *count);

/* The threads that recorded, by index. */
PROF_API const prof_thread_info *prof_threads(const prof_trace *trace, size_t *count);

/* The name of counter i, from 0, of desc.hw_counters, then desc.numbers; NULL: there are fewer.
   desc.hw_counters takes names of `perf list`: cycles, instructions, cache-references,
   cache-misses, branches, branch-misses, ref-cycles, stalled-cycles-frontend,
   stalled-cycles-backend, L1-dcache-loads, L1-dcache-load-misses, LLC-loads, LLC-load-misses,
   dTLB-load-misses, iTLB-load-misses, and rHEX for a raw one (all of them in user mode only);
   task-clock (ns), page-faults, minor-faults, major-faults, context-switches, cpu-migrations. It
   needs Linux, where each begin and end of a zone reads each of them by a system call of about
   0.5 us; a thread keeps a file open for each until it exits or calls prof_thread_end. A zone that
   ends on another thread, or by prof_stop, has no counts. */
PROF_API const char *prof_hw_counter_name(const prof_trace *trace, uint32_t i);

/* The site, times and memory of an event. */
PROF_API prof_event_totals prof_event_total(const prof_trace *trace, const prof_event *event);

/* One row per name, and per what desc (NULL: nothing) adds to it, in first-seen order; fills at
   most max rows and returns how many there are, also for (NULL, 0). PyTorch: key_averages() */
PROF_API size_t prof_key_averages(const prof_trace *trace, const prof_averages_desc *desc,
                                  prof_average *rows, size_t max);

/* The sum over all events, key "Total"; other fields: the last event's. PyTorch: total_average() */
PROF_API prof_average prof_total_average(const prof_trace *trace);

/* PROF_MODE_AGGREGATE: the sums so far, a row for each name, in the order in which names came. At
   any time, also after prof_stop. Fills at most max rows and returns how many there are; 0 in other
   modes. Open zones do not count yet. p50, p90 and p99 are off by a factor of 2 at most.
   prof_write_rows prints the rows; prof_key_averages has them by site. */
PROF_API size_t prof_snapshot(prof_average *rows, size_t max);

/* PyTorch's table. desc NULL: key averages by self CPU time. */
PROF_API prof_result prof_write_table(const prof_trace *trace, const prof_table_desc *desc,
                                      prof_sink out);

/* prof_write_table to stdout; on a terminal it fits the width (see prof_table_desc.width). */
PROF_API prof_result prof_print_table(const prof_trace *trace, const prof_table_desc *desc);

/* A table of the caller's rows (row.first: first-seen order), which are sorted in place. view NULL:
   CPU times only. Of desc.averages only group_by_site counts: CSV and JSON have that column. */
PROF_API prof_result prof_write_rows(prof_average *rows, size_t count, const prof_view *view,
                                     const prof_table_desc *desc, prof_sink out);

/* A line for each event that has a stack and lasts 1 us or more. NONE_RECORDED: no event has, nor
   has the session with_stack; or as prof_write_stacks. PyTorch: export_stacks() */
PROF_API prof_result prof_write_event_stacks(const prof_trace *trace, prof_metric metric,
                                             prof_sink out);

/* Folded stacks, `outer;inner 123` with microseconds or bytes, for flamegraph.pl and speedscope: a
   line for each distinct stack of 1 or more. If memory does not hold all stacks, inner ones are
   merged into `(deeper)` (freestanding: PROF_ERROR_MEMORY); prof_events with memory gives more.
   Native functions, and stacks by prof_set, stand between the zones around them. metric: self_ ones
   count the event alone, others its children, too. INVALID: CPU_TIME, DEVICE_TIME, COUNT, FLOPS.
   NONE_RECORDED: memory, without profile_memory. */
PROF_API prof_result prof_write_stacks(const prof_trace *trace, prof_metric metric, prof_sink out);

/* Chrome trace JSON, for Perfetto, chrome://tracing, speedscope; desc NULL: Kineto's format.
   PROF_ERROR_INVALID: there is no such format. "prof" in its head (in an array the event "prof
   counts") has the counts of prof_stats that are not zero, and "sums" where some zones are in no
   timeline: tools/README.md tells of its members. An instant "timeline ends" shows where a thread's
   timeline ends. A zone that was open then ends there, with "finished": false and "partial": true;
   its call is in the sums. */
PROF_API prof_result prof_write_chrome(const prof_trace *trace, const prof_chrome_desc *desc,
                                       prof_sink out);

/* prof_write_chrome to a file: see prof_file. */
PROF_API prof_result prof_save_chrome(const prof_trace *trace, const char *path);

/* The memory in use on a device over time, by kind, as PyTorch's memory timeline. desc.raw false:
   [times in us, rows of 9: 0, then the 8 kinds, unknown last]; true: [ns, action (2: allocated, 4:
   freed), bytes, kind (7: unknown)] for each record. What the window freed and older steps of the
   session allocated comes first: [-1, 1, bytes, kind]. Times are since 1970. desc NULL: not raw,
   the device with memory that has the lowest index, or else the CPU.
   PROF_ERROR_NONE_RECORDED: the session had no profile_memory. PyTorch: export_memory_timeline() */
PROF_API prof_result prof_write_memory_timeline(const prof_trace *trace,
                                                const prof_memory_desc *desc, prof_sink out);

/* What ran, in which order, on which inputs, as JSON of the schema 1.1.1-chakra.0.0.4: a node for
   each zone (none for device activities), whose ctrl_deps is the node around it. Arguments of zones
   become attributes; readers know op_schema, kernel_backend, kernel_file and tensor_range.
   PROF_ERROR_STATE: the session kept no events. PyTorch: ExecutionTraceObserver */
PROF_API prof_result prof_write_execution_trace(const prof_trace *trace, prof_sink out);

#if !PROF__BARE
/* Hosted builds alone have the rest of this room. */

/* An event's device work: fills at most max, returns how many. PyTorch: FunctionEvent.kernels */
PROF_API size_t prof_event_kernels(const prof_trace *trace, const prof_event *event,
                                   prof_kernel *kernels, size_t max);

/* Adds `from`, a row of another window or trace, to `into`, a row of the same name: sums, counts,
   min and max. Percentiles are estimated where both rows have them, else 0. A zeroed `into` takes
   from's name and what else tells rows apart; the texts stay from's. Pure. PROF_ERROR_INVALID:
   NULL, or the names differ. PyTorch: FunctionEventAvg.__iadd__ */
PROF_API prof_result prof_average_add(prof_average *into, const prof_average *from);

/* A file as a sink, for any number of writers in turn. It is written under a temporary name beside
   path, which prof_file_close renames: path is never half a file. It has the rights of the file it
   replaces. A link is replaced, but /dev/stdout and such, which are written in place, as a device
   or pipe is. .gz, with PROF_ZLIB. */
typedef struct prof_file {
    prof_sink sink;                      /* from open to close, while the struct must not move */
    bool failed;                         /* a write failed; if you set it, close leaves no file */
    bool in_place;                       /* from here on: the library's own */
    int error;
    size_t path_size;
    intptr_t handle;
    void *zip;
    char temporary[1024];
} prof_file;

/* Several threads may have files of their own. INVALID: NULL. UNSUPPORTED: .gz without PROF_ZLIB.
   FILE: errno says why (a path over 992 bytes: ENAMETOOLONG), or `failed` was set: the temporary
   file is removed. STATE: it is not open. After an error of open it needs no close. */
PROF_API prof_result prof_file_open(prof_file *file, const char *path);
PROF_API prof_result prof_file_close(prof_file *file);

/* An on_trace_ready (desc.user: a prof_handler) that saves each window as
   DIR/WORKER.TIME_NS.pt.trace.json. It makes DIR. PyTorch: tensorboard_trace_handler() */
typedef struct prof_handler {
    const char *dir;                     /* NULL: "." */
    const char *worker;                  /* NULL: HOSTNAME_PID */
    bool gzip;                           /* .gz, with PROF_ZLIB */
    prof_result result;                  /* the last error */
    uint32_t saved;                      /* windows */
} prof_handler;
PROF_API void prof_trace_handler(void *handler, prof_trace *trace);
#endif

/* ---- @API-DETAILS: what zones carry, and what is recorded beside them ---- */

/* Which tensor an input or output is, for execution traces. */
typedef struct prof_tensor {
    uint64_t id, storage;                /* the caller's numbers of it and of its memory; 0: none */
    int64_t offset;                      /* elements from the start of its storage */
    prof_device device;
} prof_tensor;

enum {                                   /* prof_extra.has: fields whose 0 is a value. _LINK counts
                                            without its bit, too, but with PROF_HAS_KEPT_TEXT */
    PROF_HAS_NODE_ID = 1, PROF_HAS_SEQUENCE_NR = 2, PROF_HAS_FWD_THREAD = 4, PROF_HAS_ID = 8,
    PROF_HAS_DEVICE_INDEX = 16, PROF_HAS_LINK = 32, PROF_HAS_END_THREAD = 64,
    PROF_HAS_ANNOTATION = 512,           /* of zones, see prof_set; events have a flag */
    PROF_HAS_KEPT_TEXT = 256             /* prof_submit: activity_type and metadata_json are not
                                            copied, and live as long as the trace, which adds
                                            "correlation" (id, or else linked_correlation_id) */
};

/* What few events have: the rest of PyTorch's FunctionEvent. Zeroed: nothing is known. */
struct prof_extra {
    uint32_t has;                        /* PROF_HAS_... of the fields that are set */
    int32_t node_id;                     /* default -1 */
    int64_t sequence_nr;                 /* default -1 */
    uint64_t fwd_thread;                 /* of a backward event: thread id of its forward */
    uint64_t end_thread;                 /* thread id where it ended; default: where it began */
    int64_t id;                          /* correlation id */
    int64_t linked_correlation_id;       /* id of the event that launched this one; 0: none */
    int64_t external_id;
    int32_t device_index;
    int64_t device_resource_id;          /* stream; PROF_ROW_SYNC + stream: the waits for it */
    const char *overload_name;           /* NULL or "": none */
    const char *trace_name;              /* NULL: the name; "": none, left out of legacy traces */
    const char *activity_type;           /* Kineto's category, as "kernel"; NULL: by device type */
    const char *kwinputs;                /* a JSON object; text that is none is shown as a string */
    const char *metadata_json;           /* JSON members without the braces; the same */
    const char *backend, *module_hierarchy;
    const prof_shape *input_shapes, *strides;
    const char *const *dtypes, *const *concrete_inputs;   /* input_count each, or NULL */
    const prof_shape *output_shapes;     /* output_count each, or NULL */
    const char *const *output_dtypes;
    const prof_tensor *tensors;          /* of the inputs, then of the outputs; tensor_count */
    uint32_t input_count, output_count, tensor_count;
    uint32_t stack_count;
    uint32_t kernel_count;               /* 0 for prof_submit, to which kernels are events */
    const char *const *stack;            /* "file(line): function", innermost first */
    const prof_kernel *kernels;
    int64_t cpu_memory_usage;            /* bytes allocated less freed, children included */
    int64_t device_memory_usage;
    int64_t flops;
    const int64_t *counters;             /* desc.hw_counters, then .numbers, with its children */
    uint8_t counter_count;
    uint8_t scope;                       /* at::RecordScope; 1: backward */
};

typedef enum prof_memory_kind {          /* as PyTorch's memory timeline tells them apart */
    PROF_MEMORY_UNKNOWN = 0, PROF_MEMORY_PARAMETER, PROF_MEMORY_OPTIMIZER_STATE,
    PROF_MEMORY_INPUT, PROF_MEMORY_TEMPORARY, PROF_MEMORY_ACTIVATION, PROF_MEMORY_GRADIENT,
    PROF_MEMORY_AUTOGRAD_DETAIL
} prof_memory_kind;

/* The token of a range: see prof_async_begin. Keep it as it is. */
typedef struct prof_async { uint64_t id, start; uint32_t generation, site, thread; } prof_async;

/* How many zones a thread has open: see prof_mark. Keep it as it is. */
typedef struct prof_open_zones {
    uint64_t thread;
    uint32_t generation, zones, dropped;
} prof_open_zones;

/* What prof_flops takes beside the inputs' shapes. Zeroed: the defaults. */
typedef struct prof_flops_desc {
    bool with_flops;                     /* the small set; see prof_flops */
    bool transposed;                     /* convolution: a transposed one */
    bool no_grad_input, no_grad_weight;  /* convolution_backward: output_mask without these */
    prof_shape stride, padding, dilation;   /* a value per dimension, or one; none: 1, 0, 1 */
    int64_t groups;                      /* 0: as the shapes imply */
    const prof_shape *output;            /* convolution: the result's; NULL: computed */
    const char *const *concrete_inputs;  /* for own formulas: a text per shape; NULL: not known */
    const char *kwinputs;                /* ... and the named inputs, a JSON object; NULL: none */
} prof_flops_desc;

/* Adds to number `index` of desc.numbers, from 0, for the innermost zone and all zones around it:
   what it worked on, as points, bytes or rows. Numbers are arguments in the trace, columns of
   tables ("Self points", "points") and prof_average.counters, after those of desc.hw_counters. A
   zone takes 12 bytes more for each that is not 0. What is added outside of zones, or after the
   timeline ended, is left out and counted (not_kept). Does nothing if desc.numbers has
   no such number, or in freestanding builds. */
PROF_API void prof_add(uint32_t index, int64_t value);

/* snprintf by the formatter of prof_push_f; but returns the length of the text after it is cut. */
PROF_API size_t prof_format_text(char *buf, size_t size, const char *format, ...)
    PROF__PRINTF(3, 4);

#if !PROF__BARE
/* Hosted builds alone have the rest of this room. */

/* prof_counter with a fraction, which the trace has exactly. NaN and the infinities become null. */
PROF_API void prof_counter_f(const char *name, double value);

/* ---- what the innermost open zone of the calling thread carries; all of it is copied ----
   Without a session or an open zone these calls do nothing. The last of several values counts. */

/* Sets what `with` has of these: the input_ and output_ fields, dtypes, strides, concrete_inputs,
   kwinputs, tensors (62 at most), flops (instead of what prof_flops computes), overload_name,
   module_hierarchy, stack (the program's own, say of an interpreter), and by `has`
   - PROF_HAS_SEQUENCE_NR: sequence_nr, scope, fwd_thread. They join a backward zone (scope 1) with
     its forward zone (scope 0), which has the same number and is on the thread fwd_thread (see
     prof_thread_id): an arrow in the trace, and with desc.with_stack the forward's stack for the
     backward zone and all within it (no stack where there is no such forward, as in PyTorch).
   - PROF_HAS_ANNOTATION: a range that the user marked, no op, as PyTorch's record_function.
   - PROF_HAS_NODE_ID: node_id, for which tables have a column.
   Inputs, outputs and tensors need desc.record_shapes, flops desc.with_flops, module_hierarchy
   desc.with_modules. Outputs and tensors are for execution traces. */
PROF_API void prof_set(const prof_extra *with);

/* prof_push, then prof_set: so observers see it as the zone begins. id is for observers alone. */
PROF_API void prof_push_with(const char *name, const prof_extra *with);

/* prof_set of shapes and types such as "float" (count of them, or NULL) alone. About 200 dimensions
   in all fit; further inputs are left out and counted (not_kept). */
PROF_API void prof_set_shapes(const prof_shape *shapes, const char *const *dtypes, uint32_t count);

/* An argument for the Chrome trace; at most 16 a zone. Where key and text have over 300 bytes
   together it is left out and counted (not_kept). */
PROF_API void prof_set_arg(const char *key, const char *text);
PROF_API void prof_set_arg_int(const char *key, int64_t value);

/* Zones that begin between the two calls have the names of all open pushes, outermost first, as
   their module hierarchy: "model.encoder.0". With desc.with_modules. */
PROF_API void prof_module_push(const char *name);
PROF_API void prof_module_pop(void);

/* ---- zones that end out of order: jumps and fibers ---- */

/* Ends zones that longjmp, or another language's exception, left open (C++ exceptions end scopes
   by themselves). prof_mark(), before setjmp, remembers which zones are open; prof_unwind(mark),
   after the jump, ends all zones that the calling thread has begun since and that are still open,
   now. A mark is good for many jumps, while its zones are open. A mark of
   another thread, context, session or window, or of a zone that has ended, is ignored and counted
   (unbalanced). In a signal handler that interrupted the profiler: dropped_busy. Without these
   calls, on x86-64 and aarch64, such zones end later: those of instrumented functions, with all in
   them, when the next one begins; PROF_SCOPE and its kin at three quarters of max_depth. */
PROF_API prof_open_zones prof_mark(void);
PROF_API void prof_unwind(prof_open_zones mark);

/* Fibers and coroutines: the calling thread goes on in another context, which has its own open
   zones and its own row in the trace. Returns the context that it leaves (NULL where there was
   none, or no session); pass it to the call that resumes it, on any thread:
       a->prof = prof_context_switch(b->prof);
   NULL, or a context of another session or window: a new one. A context ends with the session, or
   with prof_thread_end() while it is current. Each counts as a thread: see max_threads. Without
   room for a new one the thread is in none until its next switch: its begins are dropped. */
PROF_API void *prof_context_switch(void *context);

/* ---- memory, with desc.profile_memory ---- */

/* An allocation, or a free: charged to the zones that are open on the calling thread, and an
   instant in the trace. A free's bytes are those of the allocation at this address, on any thread.
   pointer NULL with bytes: an allocation that failed, [OutOfMemory]; without bytes: ignored. Left
   out and counted: over 2^63 - 1 bytes (rejected), frees of what is not allocated, or was before
   prof_start (memory_unmatched). A window also frees what other steps of the session allocated,
   which a 64th of the memory notes (not_kept: no room). An allocation at an address in use ends
   the one before, and counts so, too.
   PyTorch: reportMemoryUsage() */
PROF_API void prof_memory_alloc(const void *pointer, size_t bytes, prof_device device)
    PROF__ADDRESS(1);
PROF_API void prof_memory_free(const void *pointer, prof_device device) PROF__ADDRESS(1);

/* Sets the kind of the calling thread's next allocations; returns the one before. */
PROF_API prof_memory_kind prof_memory_category(prof_memory_kind kind);

/* ---- ranges and arrows across threads ---- */

/* A range that may end on another thread, by its token. It has a lane of its own in the trace and
   is no part of the tree. Counted if it never ends (unfinished) or ends twice (unbalanced). */
PROF_API prof_async prof_async_begin(const char *name);
PROF_API void prof_async_end(prof_async token);

/* An arrow between the zones around two calls, on any threads: prof_flow(0) begins one and returns
   its number (0: no session), prof_flow(number) ends it. An arrow without an end is left out. */
PROF_API uint64_t prof_flow(uint64_t number);

/* ---- floating point operations ---- */

/* Floating point operations of one call of op, by its inputs' shapes; a multiply and an add are
   two. 0: none, op is not known, or the shapes are not ones it takes; at most UINT64_MAX.
   `aten::` before op may be left out; desc NULL: defaults. Pure. There are two sets:
   - PyTorch's flop registry (torch.utils.flop_counter), for the ops that do the work: mm, addmm,
     bmm, baddbmm, _scaled_mm; convolution and its kinds (inputs: x, weight), transposed ones too;
     convolution_backward (grad_output, x, weight): for each gradient asked for as much as forward;
     scaled dot product attention of every name (query, key, value: two products) and backward
     (grad_output, query, key, value: five).
   - desc.with_flops: the set of profile(with_flops=True): mm, addmm, bmm, baddbmm, conv2d; add, mul
     (the first input's elements). Others are 0: a conv2d calls ops that must not count again. */
PROF_API uint64_t prof_flops(const char *op, const prof_shape *inputs, uint32_t count,
                             const prof_flops_desc *desc);

/* A formula for an op of the program's own. It gets prof_flops' arguments (desc is never NULL; for
   a zone it has the concrete and named inputs, too) and returns 0 where it cannot tell. It must be
   pure: any thread may call it while a trace is read, also with the profiler's locks held. */
typedef uint64_t (*prof_flops_formula)(const prof_shape *inputs, uint32_t count,
                                       const prof_flops_desc *desc);

/* Registers a formula for the op `name`, where `aten::` may be left out; name must live as long as
   the process. It replaces an earlier one; NULL removes that. At any time, for traces that are read
   from then on. INVALID: no name. MEMORY: there are 64. PyTorch: register_flop_formula() */
PROF_API prof_result prof_flops_register(const char *name, prof_flops_formula formula);

/* ---- metadata: keys in the trace's head ---- */

/* Adds a key with text, or with JSON, to the trace's head. The last value of a key counts. A key
   added while no session is open stays for all later sessions, else it is this session's alone. A
   raw stream has them at once, and a dump. MEMORY: more than PROF_METADATA_SIZE bytes of either, or
   in a stream 16,356 of one. INVALID: NULL, or a key that the trace writes itself (as traceEvents).
   JSON: prof_strerror says at which byte. UNSUPPORTED: a stream of PROF_STREAM_CHROME is open,
   which has no head. PyTorch: add_metadata(), add_metadata_json(), preset_metadata_json() */
PROF_API prof_result prof_add_metadata(const char *key, const char *text);
PROF_API prof_result prof_add_metadata_json(const char *key, const char *json);

/* Which of several processes this is: the key distributedInfo. pg_config: a JSON array, or NULL. */
typedef struct prof_distributed {
    const char *backend;                 /* "nccl" */
    uint32_t rank, world_size, pg_count;
    const char *pg_config, *nccl_version;
} prof_distributed;
PROF_API prof_result prof_set_distributed(const prof_distributed *info);

/* ---- observers: called with what is recorded, as it is recorded ---- */

/* Any callback may be NULL. begin, end, instant and counter run on the recording thread, which
   waits for them; zones in them are dropped and counted, and they must not start, step or stop the
   session. Each end belongs to the thread's last begin; zones that prof_stop ends get no end. While
   there are observers every zone takes the slow path. */
typedef struct prof_observer {
    void (*begin)(void *user, const char *name, const prof_extra *with);   /* with: or NULL */
    void (*end)(void *user, const char *name);
    void (*instant)(void *user, const char *name);
    void (*counter)(void *user, const char *name, int64_t value);
    void (*start)(void *user);           /* a window opens, before its first zone */
    void (*stop)(void *user);            /* it has closed */
    void (*cleanup)(void *user);         /* by prof_remove_observer */
    void *user;
    void (*counter_f)(void *user, const char *name, double value);   /* NULL: counter gets it */
} prof_observer;

/* Adds an observer for the sessions to come, after those added before; *observer is copied.
   PROF_ERROR_STATE: a session is open, or one with this user exists. PROF_ERROR_MEMORY: there are
   8. prof_remove_observer removes the one with this user; PROF_ERROR_INVALID: there is none. */
PROF_API prof_result prof_add_observer(const prof_observer *observer);
PROF_API prof_result prof_remove_observer(const void *user);

/* Turns zones and instants into ITT tasks of these names in the domain "prof", for VTune and other
   tools that set INTEL_LIBITTNOTIFY64, without their headers or libraries; false turns it off.
   PROF_ERROR_UNSUPPORTED: no tool listens; prof_strerror says what is missing. PROF_ERROR_STATE: a
   session is open, or it is on already. PyTorch: emit_itt(). NVTX: prof_cuda_emit_nvtx. */
PROF_API prof_result prof_emit_itt(bool on);

/* ITT tasks of the program's own; they need no session. range_push and range_pop return the depth
   of the range that begins or ends: 0 for the thread's outermost; -1: there is no tool, or no
   range. text NULL: "". PyTorch: torch.profiler.itt */
PROF_API bool prof_itt_is_available(void);
PROF_API void prof_itt_mark(const char *text);
PROF_API int prof_itt_range_push(const char *text);
PROF_API int prof_itt_range_pop(void);

/* ---- the execution trace of all windows in one file: PyTorch's ExecutionTraceObserver ---- */

/* One for the process: a second register does nothing. The file is made at once; each window adds
   its nodes when it closes, and leaves a valid file. It has only zones that begin between start and
   stop, which may be called before, between and within windows (up to 16 times in one). The Chrome
   traces of these windows have the zones' ids, which `prof et --link` needs. .gz, with PROF_ZLIB.
   register: PROF_ERROR_FILE: errno says why; PROF_ERROR_INVALID: no path, or over 1023 bytes.
   start: PROF_ERROR_STATE: not registered; PROF_ERROR_MEMORY: too often. unregister says what went
   wrong with the file; PROF_ERROR_STATE: the window has to close first, or the mode keeps no
   events. After fork the child is not registered. One call at a time. */
PROF_API prof_result prof_execution_trace_register(const char *path);
PROF_API prof_result prof_execution_trace_start(void);
PROF_API void prof_execution_trace_stop(void);
PROF_API prof_result prof_execution_trace_unregister(void);
PROF_API bool prof_execution_trace_is_running(void);
PROF_API const char *prof_execution_trace_path(void);   /* NULL: not registered */
#endif

/* ---- @API-COMPANIONS: for kernels, devices, bindings and tools ----

   prof_cuda.h, the command prof and ports of kernels call these; programs seldom do. Any thread may
   call them, but no signal handler, unless their text says otherwise. Those that need an open
   session return PROF_ERROR_STATE without one. */

enum { PROF_ROW_SYNC = 1000000,          /* as Kineto numbers those rows */
       PROF_ROW_LANE = 10000 };          /* further rows of a queue whose work overlaps */

/* A device that takes part in sessions, as prof_cuda.h does. The callbacks may be NULL; they run
   on the thread that starts, steps or stops the session, under no lock. */
typedef struct prof_device_desc {
    const char *name;                    /* "CUDA": for tables; must live as long as the process */
    uint8_t type;                        /* prof_device_type */
    uint32_t activity;                   /* the PROF_ACTIVITY_... that asks for it */
    prof_result (*prepare)(void *user);  /* warm-up: costly set-up; nothing is recorded yet */
    prof_result (*start)(void *user);    /* not called when prepare failed */
    prof_result (*stop)(void *user);     /* calls prof_submit for the rest; after a good start */
    void (*flush)(void *user);           /* at each prof_step while started */
    const char *(*status)(void *user);   /* what went wrong, for footer and head; NULL: nothing */
    size_t (*metadata)(void *user, char *buf, size_t size);   /* writes JSON members for the
                                            trace's head (others are left out; prof_add_metadata's
                                            count); returns their length, as snprintf does */
    void *user;
} prof_device_desc;

/* An allocation or a free that is reported afterwards: see prof_submit_memory. */
typedef struct prof_memory_change {
    int64_t ns;                          /* when, by prof_now()'s clock */
    uint64_t address;
    uint64_t bytes;                      /* 2^63 - 1 at most; of a free: counts where its
                                            allocation is older than the window; 0: not known */
    uint32_t thread;                     /* its zones that are open then are charged: an index from
                                            prof_submit_thread or prof_threads; PROF_NONE: none */
    prof_device device;
    prof_memory_kind kind;               /* of a free: that of its allocation */
    bool is_free;
} prof_memory_change;

/* The session as it is now: see prof_session_info. */
typedef struct prof_session {
    bool open;                           /* between prof_start and prof_stop */
    uint32_t supported;                  /* PROF_ACTIVITY_... of devices that work, as far as is
                                            known. PyTorch: supported_activities() */
    uint64_t step;                       /* the current one, from 0. PyTorch: profile.step_num */
    uint32_t enabled;                    /* PROF_ACTIVITY_... that are recorded now; in a device's
                                            stop(), that were until then. 0: no session */
    int64_t start_ns;                    /* what prof_os_now() was when prof_now() was 0; 0: no
                                            window is open, or the clock is desc.platform.now */
    const prof_site *zone;               /* site of the calling thread's innermost zone; NULL: none
                                            is open. Until prof_stop */
    prof_desc desc;                      /* as given to prof_start; no session: the last one's */
} prof_session;

/* A trace made of events from outside. */
typedef struct prof_trace_desc {
    void *memory;                        /* holds all of it; see prof_trace_memory_size */
    size_t memory_size;
    prof_view view;
    const prof_thread_info *threads;     /* event.thread is an index into it; */
    size_t thread_count;                 /* threads NULL: event.thread is the thread's id itself */
    int64_t base_time_ns;                /* of time 0, since 1970 */
    bool sums_in_us;                     /* tables add up us as doubles, as Python does */
} prof_trace_desc;

/* Lets a device take part in the sessions to come; *device is copied. PROF_ERROR_STATE: a session
   is open, or one with this user was added. PROF_ERROR_MEMORY: there are 8 already.
   PROF_ERROR_INVALID: no name, or activity is not one bit above PROF_ACTIVITY_CPU. */
PROF_API prof_result prof_add_device(const prof_device_desc *device);

#if PROF__BARE
/* The tasks of a preemptive kernel on one core, where PROF_CONTEXT() is 0 in tasks. The kernel
   calls prof_task_in at each switch and prof_task_gone at the end of a task, also while nothing is
   recorded, so that a session knows which task runs when it starts: see examples/baremetal/kernel.
   Each task has a row of its own, at no further cost a zone. The row "CPU" tells which task ran (a
   record of 12 bytes a switch, counted in prof_stats.recorded; not in PROF_MODE_AGGREGATE), and so
   how long zones were on the CPU: column "On CPU" of tables, "tdur" in Chrome traces. Time for
   which this is not known (before a ring's first switch, after a dropped switch) counts as on it.
   prof_task_in: `number` runs from now on, which is the caller or the next to run. A task keeps its
   number while it lives, any will do; its row's id is 1000 + number. name: must stay as it is until
   the task first runs in a session, which copies it; NULL: none; a second live task of that name
   gets its number added. One call at a time.
   prof_task_gone: the task will not run again, or is the caller and ends: its zones end
   (unfinished). Its memory goes to the next task; in PROF_MODE_TRACE its records stay. */
PROF_API void prof_task_in(uint32_t number, const char *name);
PROF_API void prof_task_gone(uint32_t number);
#else
/* Hosted builds alone have what follows. There each task is a thread, or a prof_context_switch. */
#  define prof_task_in(number, name) ((void)(number), (void)(name))
#  define prof_task_gone(number) ((void)(number))

/* Fills in the session as it is now. Also in callbacks. */
PROF_API void prof_session_info(prof_session *session);

/* The OS's steady clock in ns (CLOCK_MONOTONIC, QueryPerformanceCounter), which device runtimes
   read, too. Needs no session. Also in a signal handler. 0: it cannot be read. */
PROF_API int64_t prof_os_now(void);

/* getenv, UTF-8 also on Windows; NULL in a program with other rights than its caller's. */
PROF_API const char *prof_getenv(const char *name);

/* The calling thread's id, as in prof_thread_info. */
PROF_API uint64_t prof_thread_id(void);

/* ---- events from outside ---- */

/* Adds events from outside to the open session: device activities, other clocks' or languages'
   spans. All times are this window's prof_now(): what ended before 0, and has no link, is an
   earlier window's (rejected). thread is an index from prof_submit_thread or prof_threads. Events
   are copied with all that they point to (about 750 bytes of the arena each), and nest among the
   zones by time: see prof_trace_from_events. A device event belongs to the submitted event whose
   extra.id is its linked_correlation_id; a call of activity_type *_runtime or *_driver passes it on
   to the zone around it. In a raw stream they go to the sink at once, on this thread.
   All that is left out is counted. INVALID: some were wrong, or name no known thread (rejected).
   MEMORY: some did not fit (dropped). UNSUPPORTED: the session keeps no events (a Chrome stream,
   sums, a ring without details, PROF_KEEP_RECORDS: not_kept). SINK: the sink failed (not_kept).
   OK: desc.activities leave the device out (not_kept). */
PROF_API prof_result prof_submit(const prof_event *events, size_t count);

/* The same for changes of memory, of any age and in any order; a free's bytes are those of the
   allocation at this address, where the window has it. Each is charged to the zones of its thread
   that are open at its time; where there is none it is an event "[memory]". They need no
   desc.profile_memory, and turn on the tables' columns of memory. Errors and threads as with
   prof_submit; PROF_ERROR_INVALID: no such thread, or too many bytes: left out, counted
   (rejected). */
PROF_API prof_result prof_submit_memory(const prof_memory_change *changes, size_t count);

/* The index of the thread with this id in the open session, added if need be; name may be NULL.
   PROF_NONE: no session is open, or the arena is full. */
PROF_API uint32_t prof_submit_thread(uint64_t id, const char *name);

/* The same by the operating system's id, which prof_platform.thread_id may hide. */
PROF_API uint32_t prof_submit_os_thread(uint64_t os_id, const char *name);

/* ---- Launches: what a program reports of the work that it gives to a device ----

       queue = prof_queue(device, "copies");                    once
       token = prof_launch(queue, "matmul");                    beside the call that launches it
       prof_launch_done(token, start, end);                     when its times are known
   The work belongs to the zone that was innermost where prof_launch was called, and in the trace an
   arrow leads there. With its event it takes 160 bytes of the arena. Kept in PROF_MODE_TRACE, and
   in a ring with details; in other modes launches are counted (not_kept). */

/* The number of a device's queue, a row in the trace of this name (47 bytes; NULL: ""); work that
   overlaps gets further rows. For the whole process, at any time. PROF_NONE: there are 64. */
PROF_API uint32_t prof_queue(prof_device device, const char *name);

/* Work is launched here and now; name is copied. 0: no session is open, or it cannot be kept, which
   is counted (dropped_full, not_kept, rejected). */
PROF_API uint64_t prof_launch(uint32_t queue, const char *name);

/* When it began and ended, by the device's clock: see prof_device_clock. Until prof_stop, or in
   prof_device_desc.stop: launches that are not done then are left out and counted (unfinished).
   token 0: nothing. INVALID: the token is another window's, or was done, or end is before start:
   counted (rejected). */
PROF_API prof_result prof_launch_done(uint64_t token, uint64_t start, uint64_t end);

/* What a device's clock was when prof_now() was host_ns. One pair tells how far the clocks are
   apart, two (say at the window's start and stop) also how fast the device's runs, in whatever
   unit; times between pairs are linear, and the trace's head says how far pairs are off that line
   ("device_clocks"). Without a pair the device's clock is prof_now()'s. MEMORY: 16 devices have
   clocks. INVALID: not later than the pair before, or no time of prof_now(): ignored. */
PROF_API prof_result prof_device_clock(prof_device device, int64_t host_ns, uint64_t device_ns);

/* A device's time on the session's clock, by the pairs so far. */
PROF_API int64_t prof_device_ns(prof_device device, uint64_t device_ns);

/* Two clocks at one moment: the device's, by `read` (false: it cannot), and prof_now(): the closest
   of 4 readings, or of up to 32 if the thread had to wait. device_ns 0: read failed. */
typedef struct prof_clock_pair { uint64_t device_ns; int64_t session_ns; } prof_clock_pair;
PROF_API prof_clock_pair prof_pair_clocks(bool (*read)(void *user, uint64_t *ns), void *user);

/* ---- Traces from events ---- */

/* Bytes that prof_trace_from_events needs at most. */
PROF_API size_t prof_trace_memory_size(const prof_trace_desc *desc, const prof_event *events,
                                       size_t count);

/* A trace without a session: the tree, averages and tables of count events from outside. Any number
   may live at a time, each in its desc->memory. Set name, times, thread, device_type, flags and
   extra of the events; the rest is computed. Events are copied and sorted by (start, -end), stable;
   strings and arrays that they point to are not copied. Parents are found by interval for each
   (thread, node_id); async and device events have none; an only child of its parent's name is
   merged into it. Kineto's raw activities become such events by examples/kineto.h. PyTorch:
   EventList(), _build_tree()
   Left out and counted (rejected): events that end before they start, or have a stack_count,
   kernel_count or tensor_count beside a NULL list. INVALID: NULL where something is needed, a
   thread out of range, more than 2^31 - 2 events. MEMORY: memory is too small. */
PROF_API prof_result prof_trace_from_events(const prof_trace_desc *desc, const prof_event *events,
                                            size_t count, prof_trace **trace);
#endif

/* ---- @API-INLINE: what the macros compile to; not for direct use ----

   The hot path: the begin and end of a zone, compiled into the program.
   - It neither allocates nor locks. Whatever it cannot do goes to @RECORD or @TARGET: they set a
     limit or an epoch that no zone can meet, so that the hot path's own checks fail.
   - Each instruction counts: make bench has zone.instructions, make size zone_instructions. */

#ifdef __cplusplus
#  define PROF__CAST(type, x) static_cast<type>(x)
#  define PROF__BITS(p) reinterpret_cast<uintptr_t>(p)
#  define PROF__NULL nullptr
#else
#  define PROF__BITS(p) ((uintptr_t)(p))
#  define PROF__CAST(type, x) ((type)(x))
#  define PROF__NULL NULL
#endif
#if PROF__GNU
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

/* ThreadSanitizer sees no assembler, and cannot follow fork and clone. */
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

/* Symbols that zones refer to contain the version and the macros that must be the same in every
   file: files that do not fit together do not link, and the linker's message tells why. */
#define PROF__TEXT2(x) #x
#define PROF__TEXT(x) PROF__TEXT2(x)
#if defined(PROF_STATIC) || !(defined(__GNUC__) || defined(__TINYC__))
#  define PROF__LABEL(name)
#  if defined(_MSC_VER) && !defined(PROF_STATIC)
#    pragma detect_mismatch("prof.h", PROF_VERSION PROF__PORT_LABEL)
#  endif
#else
#  ifdef __USER_LABEL_PREFIX__
#    define PROF__LABEL_PREFIX PROF__TEXT(__USER_LABEL_PREFIX__)
#  else
#    define PROF__LABEL_PREFIX ""
#  endif
#  define PROF__LABEL(name) \
    __asm__(PROF__LABEL_PREFIX name "_of_PROF_IMPLEMENTATION_" PROF_VERSION PROF__PORT_LABEL)
#endif

/* A variable that inline code reads: of the implementation, or with PROF_STATIC of this file. */
#ifdef PROF_STATIC
#  define PROF__SEEN(type, name) static type name PROF__UNUSED
#else
#  define PROF__SEEN(type, name) PROF__DATA type name PROF__LABEL(#name)
#endif

typedef struct prof__record { uint32_t end, duration, site_depth; } prof__record;
/* Not with g++, which refuses sections for statics of inline functions and templates. */
#if defined(PROF_NAMES_IN_ELF) && defined(__ELF__) && PROF__GNU && \
    (defined(__clang__) || !defined(__cplusplus))
#  define PROF__ZONES_IN_ELF 1
#else
#  define PROF__ZONES_IN_ELF 0
#endif

typedef struct prof__mark { uint32_t id; const prof_site *site; } prof__mark;   /* id: site << 8 */
PROF_API void prof__instant(prof__mark *mark) PROF__QUIET;
PROF_API void prof__counter(prof__mark *mark, int64_t value) PROF__QUIET;
typedef struct prof__frame prof__frame;  /* an open zone */
PROF_API prof__frame *prof__begin_f(const char *format, ...) PROF__QUIET PROF__PRINTF(1, 2);
PROF_API void prof__end(prof__frame *token) PROF__QUIET;
PROF_API void prof__end_top(void) PROF__QUIET;

#if PROF__BARE
/* On a target only the test whether recording is on is inline: flash is scarce. The rest of begin
   and end are calls into @TARGET. */
PROF__SEEN(volatile unsigned char, prof__on);
PROF__SEEN(uint32_t, prof__categories_off);
PROF_API prof__frame *prof__begin(prof__mark *mark) PROF__LABEL("prof__begin") PROF__QUIET;
PROF_API prof__frame *prof__begin_in_elf(const char *site) PROF__QUIET;
PROF_API void prof__begin_dropped(void) PROF__QUIET;

/* token: will the caller use it? If not, a dropped begin is noted, and the next end is ignored. */
PROF__INLINE prof__frame *prof__begin_inline(prof__mark *mark, bool token) {
    prof__frame *opened;
    if (!prof__on) return PROF__NULL;
    opened = prof__begin(mark);
    if (!token && !opened) prof__begin_dropped();
    return opened;
}

/* With PROF_NAMES_IN_ELF the call tests whether recording is on, so that these zones are small. */
PROF__INLINE prof__frame *prof__begin_in_elf_inline(const char *site, bool token) {
    prof__frame *opened = prof__begin_in_elf(site);
    if (!token && !opened && prof__on) prof__begin_dropped();
    return opened;
}

PROF__INLINE void prof__end_inline(prof__frame *token) {
    if (token) prof__end(token);
}

PROF__INLINE void prof__end_top_inline(void) {
    if (prof__on) prof__end_top();
}
#  define PROF__IF_ON if (prof__on)

PROF__INLINE bool prof__category_on(uint32_t categories) {
    return (categories & ~*PROF__CAST(volatile uint32_t *, &prof__categories_off)) != 0;
}

#  define PROF__BEGIN_F(...) prof__begin_f(__VA_ARGS__)

/* Parts: what a mode adds to the recorder, chosen inline: so the linker leaves out other modes. */
typedef struct prof__parts prof__parts;
PROF_API const prof__parts *prof__parts_ring(void) PROF__QUIET;
PROF_API const prof__parts *prof__parts_raw(prof_sink sink) PROF__QUIET;
PROF_API const prof__parts *prof__parts_chrome(prof_sink sink) PROF__QUIET;
PROF_API const prof__parts *prof__parts_aggregate(void) PROF__QUIET;
PROF_API prof_result prof__refuse(const char *why) PROF__QUIET;
PROF_API prof_result prof__start(uint32_t shape, const prof__parts *parts,
                                 uint32_t rate) PROF__QUIET;
PROF_API prof_result prof__start_in(uint32_t shape, const prof__parts *parts, uint32_t rate,
                                    void *memory, size_t size) PROF__QUIET;

/* A shape packs a description: max_depth, max_threads << 16 (at most 0xffff), and these bits. */
enum { PROF__SHAPE_RECORDS_ONLY = 256, PROF__SHAPE_SUMS = 512, PROF__SHAPE_EVENTS = 1024,
       PROF__MOST_DEPTH = 32 };

PROF__INLINE uint32_t prof__shape_of(const prof_desc *d) {
    uint32_t shape = d->max_depth ? d->max_depth : 16;
    if (d->keep == PROF_KEEP_RECORDS || d->mode >= PROF_MODE_STREAM)
        shape |= PROF__SHAPE_RECORDS_ONLY;
    else if (d->keep == PROF_KEEP_EVENTS) shape |= PROF__SHAPE_EVENTS;
    if (d->mode == PROF_MODE_AGGREGATE) shape |= PROF__SHAPE_SUMS;
    return shape | (d->max_threads < 0xffff ? d->max_threads : 0xffff) << 16;
}

/* The field that prof_start cannot take; NULL: it takes all. */
PROF__INLINE const char *prof__desc_wrong(const prof_desc *d) {
    const prof_platform *p = &d->platform;
    if (d->mode > PROF_MODE_AGGREGATE) return "mode";
    if (d->max_depth > PROF__MOST_DEPTH) return "max_depth: 32 at most";
    if (!d->memory && d->memory_size) return "memory_size: memory is NULL";
    if (d->mode == PROF_MODE_STREAM && !d->stream.write) return "stream.write";
    if (p->ticks_per_second >> 32) return "platform.ticks_per_second: less than 2^32";
    if (p->now) return "platform.now: define PROF_NOW() beside PROF_IMPLEMENTATION";
    if (p->thread_id) return "platform.thread_id: define PROF_CONTEXT() there";
    return PROF__NULL;
}

PROF__INLINE const prof__parts *prof__parts_of(const prof_desc *d) {
    if (d->mode == PROF_MODE_TRACE) return PROF__NULL;
    if (d->mode == PROF_MODE_RING) return prof__parts_ring();
    if (d->mode == PROF_MODE_AGGREGATE) return prof__parts_aggregate();
    return d->stream_format == PROF_STREAM_CHROME ? prof__parts_chrome(d->stream)
                                                  : prof__parts_raw(d->stream);
}

/* All of *d is read before the first call that gets an address in it, and so might change it. */
PROF__INLINE prof_result prof__start_inline(const prof_desc *d) {
    const prof__parts *parts;
    uint32_t shape, rate;
    void *memory;
    size_t size;
    if (prof__on) return PROF_ERROR_STATE;
    if (!d) return prof__start(16, PROF__NULL, 0);
    if (prof__desc_wrong(d)) return prof__refuse(prof__desc_wrong(d));
    if (d->hw_counters || d->numbers) return PROF_ERROR_UNSUPPORTED;
#  ifdef PROF_NAMES_IN_ELF               /* these modes need names on the target */
    if (d->mode == PROF_MODE_AGGREGATE) return PROF_ERROR_UNSUPPORTED;
    if (d->mode == PROF_MODE_STREAM && d->stream_format == PROF_STREAM_CHROME)
        return PROF_ERROR_UNSUPPORTED;
#  endif
    shape = prof__shape_of(d);
    rate = PROF__CAST(uint32_t, d->platform.ticks_per_second);
    memory = d->memory;
    size = d->memory_size;
    parts = prof__parts_of(d);
    return memory ? prof__start_in(shape, parts, rate, memory, size)
                  : prof__start(shape, parts, rate);
}
#define prof_start(...) prof__start_inline(__VA_ARGS__)   /* a compound literal has commas */
#else
struct prof__frame { uint32_t start, site, depth, epoch; };

/* The part of a thread's state that inline code touches. Inline code takes the slow path when a
   frame's epoch is not the clock's upper half (a new epoch, too deep, another clock, the arena is
   full), or when the cursor is behind last. */
typedef struct prof__hot {
    prof__frame *top;                    /* one past the innermost open zone */
    prof__frame *bottom;                 /* top when none is open; below: older generations */
    prof__record *cursor;                /* slots below are claimed; one without a third word is not
                                            written yet */
    uintptr_t last;                      /* its last byte that may be written; 0: always slow */
    uint32_t due;                        /* an end after this tick is slow: see prof__due */
} prof__hot;

/* What each thread has in TLS: its way to its state. skipped: begins dropped while it had no state,
   in the generation skipped_in; stale: zones that were open when it gave its last state back; busy:
   0, or 1 in the slow path plus the begins without a token that signal handlers tried meanwhile;
   inside: PROF__HOOK in a hook of an instrumented function, PROF__USERS in a function
   of the user's that prof.h calls. */
typedef struct prof__tls_data {
    uint32_t generation, skipped, inside, busy;
    prof__hot *hot;
    uint32_t stale;
    uint8_t category;                    /* prof_memory_kind of its allocations */
    uint32_t itt_ranges, skipped_in;
    const prof_extra *with;              /* prof_push_with: of the zone that is just beginning */
} prof__tls_data;

PROF_API prof__frame *prof__begin(prof__mark *mark, bool token) PROF__LABEL("prof__begin")
    PROF__QUIET;
PROF_API void prof__end_interrupted(prof__record *own, const prof__record *seen, prof__frame *f)
    PROF__QUIET;

#if PROF__GNU
#  ifndef PROF__POINT                    /* tests: what runs before each of these */
#    define PROF__POINT() ((void)0)
#  endif
#  define PROF__LOAD(p)          (PROF__POINT(), __atomic_load_n(&(p), __ATOMIC_RELAXED))
#  define PROF__STORE(p, v)      (PROF__POINT(), __atomic_store_n(&(p), v, __ATOMIC_RELAXED))
#  define PROF__ACQUIRE(p)       (PROF__POINT(), __atomic_load_n(&(p), __ATOMIC_ACQUIRE))
#  define PROF__RELEASE(p, v)    (PROF__POINT(), __atomic_store_n(&(p), v, __ATOMIC_RELEASE))
#endif

/* A variable of each thread. With gcc for Windows that is a call each time, and it is gone before
   the thread is: there it lies in a section that the system copies for each thread. */
#if defined(_WIN32) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#  define PROF__THREAD __attribute__((section(".tls$"), used))
#  define PROF__TLS prof__tls_image PROF__LABEL("prof__tls_image")
#  define prof__tls (*prof__tls_here())
#else
#  define PROF__TLS prof__tls
#  if defined(_MSC_VER) && !defined(__clang__)
#    define PROF__THREAD __declspec(thread)
#  elif !PROF__GNU
#    define PROF__THREAD
#    define PROF__ONE_THREAD             /* see prof__tls_get */
#  else
#    define PROF__THREAD __thread
#  endif
#endif
#define PROF__TLS_BEGINS { 1, 0, 0, 0, &prof__nowhere, 0, 0, 0, 0, PROF__NULL }

/* What the inline code of every zone reads. */
#if PROF__FAST
PROF__SEEN(uint32_t, prof__on);          /* 0: off; else the generation, from 2 up */
PROF__SEEN(prof__hot, prof__nowhere);    /* a thread that holds no state */
PROF__SEEN(uint32_t, prof__categories_off);
#  if defined(PROF_STATIC)
static PROF__THREAD prof__tls_data PROF__TLS = PROF__TLS_BEGINS;
#  elif !defined(prof__tls)
#    if defined(PROF_TLS_MODEL)
#      define PROF__TLS_MODEL __attribute__((tls_model(PROF_TLS_MODEL)))
#    elif defined(__ELF__) && (defined(__GLIBC__) || !defined(__PIC__) || defined(__PIE__))
#      define PROF__TLS_MODEL __attribute__((tls_model("initial-exec")))
#    else
#      define PROF__TLS_MODEL
#    endif
#    ifdef __linux__                     /* emulated TLS takes no label */
PROF__DATA __thread prof__tls_data prof__tls PROF__LABEL("prof__tls") PROF__TLS_MODEL;
#    else
PROF__DATA __thread prof__tls_data prof__tls PROF__TLS_MODEL;
#    endif
#  endif
#endif
#ifdef prof__tls
#  ifndef PROF_STATIC
extern prof__tls_data PROF__TLS;
#  endif
PROF__INLINE prof__tls_data *prof__tls_here(void) {
    char *copy;                          /* less the address of what it is a copy of */
    uintptr_t all;
    __asm__("{movl _tls_index(%%rip), %k0|mov %k0, DWORD PTR _tls_index[rip]}\n\t"
            "{movq %%gs:88, %1|mov %1, QWORD PTR gs:88}\n\t"
            "{movq (%1,%0,8), %0|mov %0, QWORD PTR [%1+%0*8]}\n\t"
            "{leaq _tls_start(%%rip), %1|lea %1, _tls_start[rip]}\n\t"
            "{subq %1, %0|sub %0, %1}" : "=&r"(copy), "=&r"(all) : : "cc");
    return PROF__CAST(prof__tls_data *, PROF__CAST(void *, copy + PROF__BITS(&prof__tls_image)));
}
#endif

#if PROF__TICKS
#  ifdef PROF_NOW                        /* where no local name is that it may call */
PROF__INLINE uint64_t prof__own_now(void) { return PROF_NOW(); }
#  endif
PROF__INLINE void prof__ticks(uint32_t *lo, uint32_t *hi) {
#  if !defined(PROF_NOW) && !defined(__aarch64__)
    __asm__ volatile("rdtsc" : "=a"(*lo), "=d"(*hi));   /* two halves: joining them costs */
#  else
#    ifdef PROF_NOW
    uint64_t now = prof__own_now();
#    else
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
#    endif
    *lo = PROF__CAST(uint32_t, now);
    *hi = PROF__CAST(uint32_t, now >> 32);
#  endif
}
#endif

#if PROF__FAST
/* Writes the record of the innermost zone, f, to the slot that was claimed, which has its end. */
PROF__INLINE void prof__frame_put(prof__hot *t, prof__record *c, prof__frame *f) {
    c->duration = c->end - f->start;
    PROF__RELEASE(c->site_depth, f->site + f->depth);
    PROF__RELEASE(t->top, f);
}

/* Opens a frame; NULL: only the slow path can. The order of the three stores keeps zones of signal
   handlers, and the zones that prof_stop() finds open, right. */
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
   will the caller use it? If not, a dropped begin is noted, and the next end is ignored. */
PROF__INLINE prof__frame *prof__begin_inline(prof__mark *mark, bool token) {
    uint32_t on = PROF__LOAD(prof__on), site;
    prof__frame *opened;
    if (PROF__PROBABLY(on != prof__tls.generation, 0.1)) {   /* no thread's generation is 0 */
        if (PROF__LIKELY(!on)) return PROF__NULL;
        return prof__begin(mark, token);
    }
    site = PROF__LOAD(mark->id);
    if (PROF__UNLIKELY(!site)) return prof__begin(mark, token);
    opened = prof__frame_open(prof__tls.hot, site);
    return PROF__LIKELY(opened != PROF__NULL) ? opened : prof__begin(mark, token);
}

/* Claims the slot at the cursor by one instruction, so that a signal handler that comes before or
   after it has other slots. No other thread claims here: nothing needs to be locked. */
PROF__INLINE prof__record *prof__claim(prof__hot *t) {
    union { uintptr_t bits; prof__record *at; } c;
#  if (defined(__x86_64__) || defined(__i386__)) && !PROF__TSAN
    c.bits = sizeof(prof__record);
    __asm__ volatile("{xadd %0, %1|xadd %1, %0}" : "+r"(c.bits), "+m"(t->cursor) : : "memory");
#  elif defined(__aarch64__) && !PROF__TSAN   /* a signal between its loads and stores repeats it */
    uintptr_t next, failed;
    __asm__ volatile("1: ldxr %0, %3\n\tadd %1, %0, %4\n\tstlxr %w2, %1, %3\n\tcbnz %w2, 1b"
                     : "=&r"(c.bits), "=&r"(next), "=&r"(failed), "+Q"(t->cursor)
                     : "I"(sizeof(prof__record)) : "memory");
#  else
    c.at = __atomic_fetch_add(&t->cursor, sizeof(prof__record), __ATOMIC_RELEASE);
#  endif
    return c.at;
}

/* Ends the innermost zone by its token; false: only the slow path can. */
PROF__INLINE bool prof__frame_close(prof__frame *token) {
    uint32_t lo, hi;
    prof__hot *t;
    prof__record *c, *seen;
    prof__frame *f;
    prof__ticks(&lo, &hi);
    t = prof__tls.hot;
    seen = t->cursor;
    f = token - 1;
    if (PROF__UNLIKELY(t->top != token) || PROF__UNLIKELY(hi != f->epoch) ||
        PROF__UNLIKELY(lo > t->due) || PROF__UNLIKELY(PROF__BITS(seen) > PROF__LOAD(t->last)))
        return false;
    PROF__STORE(seen[1].site_depth, 0u); /* the slot at the cursor is always empty */
    c = prof__claim(t);
    c->end = lo;
    if (PROF__UNLIKELY(c != seen)) prof__end_interrupted(c, seen, f);
    else prof__frame_put(t, c, f);
    return true;
}

PROF__INLINE void prof__end_inline(prof__frame *token) {
    if (PROF__UNLIKELY(!token)) return;
    if (PROF__UNLIKELY(!prof__frame_close(token))) prof__end(token);
}

PROF__INLINE void prof__end_top_inline(void) {
    uint32_t on = PROF__LOAD(prof__on);
    if (!on) return;
    if (PROF__LIKELY(on == prof__tls.generation)) {
        prof__frame *top = PROF__LOAD(prof__tls.hot->top);
        if (PROF__LIKELY(top != prof__tls.hot->bottom && PROF__LOAD(prof__tls.hot->last))) {
            prof__end_inline(top);
            return;
        }
    }
    prof__end_top();
}

PROF__INLINE bool prof__category_on(uint32_t categories) {
    return (categories & ~PROF__LOAD(prof__categories_off)) != 0;
}
#  define PROF__IF_ON if (PROF__LOAD(prof__on))
#  define PROF__BEGIN_F(...) (PROF__LOAD(prof__on) ? prof__begin_f(__VA_ARGS__) : PROF__NULL)
#else
#  define PROF__IF_ON
#  define prof__begin_inline prof__begin
#  define prof__end_inline prof__end
#  define prof__end_top_inline prof__end_top
#  define prof__category_on prof_category_on
#  define PROF__BEGIN_F(...) prof__begin_f(__VA_ARGS__)
#endif
#if defined(__cplusplus) && defined(__GNUC__)
#  define PROF__QUALIFIED __PRETTY_FUNCTION__   /* targets have no room for that text */
#endif
#endif /* !PROF__BARE */

PROF__INLINE void prof__instant_inline(prof__mark *mark) { PROF__IF_ON prof__instant(mark); }
PROF__INLINE void prof__counter_inline(prof__mark *mark, int64_t value) {
    PROF__IF_ON prof__counter(mark, value);
}

#ifdef __cplusplus
} /* extern "C" */
struct prof__scope {
    prof__frame *token;
    bool once;
    PROF__MEMBER explicit prof__scope(prof__frame *f) : token(f), once(true) {}
    PROF__MEMBER ~prof__scope() { prof__end_inline(token); }
    prof__scope(const prof__scope &) = delete;
    prof__scope &operator=(const prof__scope &) = delete;
};
extern "C" {
#else
typedef struct prof__scope { prof__frame *token; bool once; } prof__scope;
PROF__INLINE void prof__scope_end(const prof__scope *s) { prof__end_inline(s->token); }
#endif

/* ---- @API-MACROS: what marks are made of ----

   Each mark has a static variable at its site, so that its name is looked up once. Scopes end
   where their block does: by a destructor, gcc's cleanup, or a for loop. */

#define PROF__JOIN2(a, b) a##b
#define PROF__JOIN(a, b) PROF__JOIN2(a, b)
#ifdef __COUNTER__
#  define PROF__ID __COUNTER__           /* two scopes on one line */
#else
#  define PROF__ID __LINE__
#endif

/* The compiler's first message for a name that is no literal. */
#define PROF__NAME_FAULT \
    "a zone's name is a literal, \"name\"; prof_push, prof_instant, prof_counter take others"
#ifdef __cplusplus
#  define PROF__NAMED(name) static_assert(prof__is_name(#name), PROF__NAME_FAULT);
} /* extern "C" */
constexpr bool prof__is_name(const char *s) {   /* "" "name", "" u8"name", "" R"(name)", __func__ */
    return s[0] == '_' || s[3] == '"' || (s[3] == 'u' && s[4] == '8') ||
           (s[3] == 'R' && s[4] == '"');
}
extern "C" {
#elif PROF__GNU
#  define PROF__NAMED(name) \
    __extension__ _Static_assert(!__builtin_strncmp(#name, "_", 1) || \
                                     !__builtin_strncmp(#name, "\"\" \"", 4) || \
                                     !__builtin_strncmp(#name, "\"\" u8", 5), PROF__NAME_FAULT);
#else
#  define PROF__NAMED(name)
#endif
#ifndef PROF__QUALIFIED
#  define PROF__QUALIFIED __func__
#endif
#define PROF__MARK(id, name) PROF__MARK_OF(id, name, __func__)
#define PROF__MARK_OF(id, name, function) \
    PROF__NAMED(name) \
    static const prof__own_site PROF__JOIN(prof__site_, id) = \
        { { name, __FILE__, function, __LINE__ } }; \
    static prof__own_mark PROF__JOIN(prof__mark_, id) = \
        { { 0, &PROF__JOIN(prof__site_, id).its } }
#define PROF__MARK_REF(id) &PROF__JOIN(prof__mark_, id).its

/* The types of a mark's statics. In C++ the loader merges the statics of inline functions over all
   libraries, whose profilers number marks differently, and never unloads those with g++'s. Not so
   where the library hides their type, or the file has it to itself. */
#if defined(__cplusplus) && PROF__GNU && !defined(PROF_STATIC) && \
    (defined(__ELF__) || defined(__APPLE__))
#  define PROF__HIDDEN __attribute__((visibility("hidden")))
#else
#  define PROF__HIDDEN
#endif
#if defined(__cplusplus) && defined(PROF_STATIC)
namespace {
#endif
typedef struct PROF__HIDDEN prof__own_site { prof_site its; } prof__own_site;
typedef struct PROF__HIDDEN prof__own_mark { prof__mark its; } prof__own_mark;
#if defined(__cplusplus) && defined(PROF_STATIC)
} /* namespace */
#endif

/* A zone's site: a mark, or its texts (name, file and line) in a section of the ELF file. */
#if PROF__ZONES_IN_ELF
#  define PROF__SITE(id, name) \
    PROF__NAMED(name) \
    static const char PROF__JOIN(prof__in_elf_, id)[] __attribute__((section("prof_sites"))) = \
        name "\0" __FILE__ "\0" PROF__TEXT(__LINE__)
#  define PROF__OPEN(id, token) prof__begin_in_elf_inline(PROF__JOIN(prof__in_elf_, id), token)
#else
#  define PROF__SITE(id, name) PROF__MARK(id, name)
#  define PROF__OPEN(id, token) prof__begin_inline(PROF__MARK_REF(id), token)
#endif
#if defined(PROF_DISABLE)                /* declarations and statements as when enabled */
PROF_API int prof__nothing_f(const char *format, ...) PROF__QUIET PROF__PRINTF(1, 2);
#  define PROF__NOTHING(id, size) enum { PROF__JOIN(prof__off_, id) = (size) != 0 }
#  define PROF__SCOPE_IN(id, name, on) \
    PROF__NAMED(name) PROF__NOTHING(id, sizeof(name) + sizeof(on))
#  define PROF__SCOPE_F(id, ...) PROF__NOTHING(id, sizeof(prof__nothing_f(__VA_ARGS__)))
#  define PROF__FUNCTION_IN(id, on) PROF__NOTHING(id, sizeof(on))
#  define PROF__BLOCK_IN(id, name, on) \
    for (bool PROF__JOIN(prof__once_, id) = sizeof(name) + sizeof(on) != 0; \
         PROF__JOIN(prof__once_, id); PROF__JOIN(prof__once_, id) = false)
#  define PROF__BEGIN(name) do { PROF__NAMED(name) (void)(name); } while (0)
#  define PROF__END() ((void)0)
#  define PROF__INSTANT(name) PROF__BEGIN(name)
#  define PROF__COUNTER(name, value) \
    do { PROF__NAMED(name) (void)(name); (void)sizeof((value) + 0); } while (0)
#else
#  define PROF__BEGIN(name) \
    do { PROF__SITE(begin, name); (void)PROF__OPEN(begin, false); } while (0)
#  define PROF__END() prof__end_top_inline()
#  define PROF__INSTANT(name) \
    do { PROF__MARK(moment, name); prof__instant_inline(PROF__MARK_REF(moment)); } while (0)
#  define PROF__COUNTER(name, value) \
    do { \
        PROF__MARK(moment, name); \
        prof__counter_inline(PROF__MARK_REF(moment), value); \
    } while (0)
#  define PROF__SCOPE_IN(id, name, on) \
    PROF__SITE(id, name); \
    PROF__SCOPE_OF(id, (on) ? PROF__OPEN(id, true) : PROF__NULL)
#  define PROF__SCOPE_F(id, ...) PROF__SCOPE_OF(id, PROF__BEGIN_F(__VA_ARGS__))
#  define PROF__FUNCTION_IN(id, on)      /* a mark: __func__ is no literal */ \
    PROF__MARK_OF(id, __func__, PROF__QUALIFIED); \
    PROF__SCOPE_OF(id, (on) ? prof__begin_inline(PROF__MARK_REF(id), true) : PROF__NULL)
#  if PROF__GNU || defined(__TINYC__)
#    define PROF__OPENED(id, name, on) \
    __extension__({ PROF__SITE(id, name); (on) ? PROF__OPEN(id, true) : PROF__NULL; })
#  elif defined(__cplusplus)
#    define PROF__OPENED(id, name, on) \
    ((on) ? prof__begin_inline([] { PROF__MARK(id, name); return PROF__MARK_REF(id); }(), true) \
          : PROF__NULL)
#  endif

#  if defined(__cplusplus)
#    define PROF__SCOPE_OF(id, token) prof__scope PROF__JOIN(prof__scope_, id)(token)
#  elif PROF__GNU                        /* tcc ignores cleanup */
#    define PROF__SCOPE_OF(id, token) \
    __attribute__((cleanup(prof__scope_end), unused)) \
        prof__scope PROF__JOIN(prof__scope_, id) = { token, true }
#  else
#    define PROF__SCOPE_OF(id, token) \
    PROF_SCOPE_needs_cplusplus_or_cleanup__use_PROF_BLOCK PROF__JOIN(prof__scope_, id)
#    define PROF__BLOCK_OF(id, token) \
    for (prof__scope PROF__JOIN(prof__scope_, id) = { token, true }; \
         PROF__JOIN(prof__scope_, id).once; PROF__JOIN(prof__scope_, id).once = false, \
             prof__scope_end(&PROF__JOIN(prof__scope_, id)))
#  endif
#  if defined(__cplusplus)
#    define PROF__BLOCK_IN(id, name, on) \
    for (PROF__SCOPE_OF(id, PROF__OPENED(id, name, on)); PROF__JOIN(prof__scope_, id).once; \
         PROF__JOIN(prof__scope_, id).once = false)
#  elif PROF__GNU                        /* one loop more is smaller: a break shares the end */
#    define PROF__BLOCK_IN(id, name, on) \
    for (bool PROF__JOIN(prof__once_, id) = true; PROF__JOIN(prof__once_, id); \
         PROF__JOIN(prof__once_, id) = false) \
        for (PROF__SCOPE_OF(id, PROF__OPENED(id, name, on)); PROF__JOIN(prof__once_, id); \
             PROF__JOIN(prof__once_, id) = false)
#  elif defined(__TINYC__)
#    define PROF__BLOCK_IN(id, name, on) PROF__BLOCK_OF(id, PROF__OPENED(id, name, on))
#  else                                  /* two statements: not inside an if without braces */
#    define PROF__BLOCK_IN(id, name, on) \
    PROF__SITE(id, name); \
    PROF__BLOCK_OF(id, ((on) ? PROF__OPEN(id, true) : NULL))
#  endif
#endif

#ifdef __cplusplus
}
#endif
#endif /* PROF_H */

/* ======================================================================== implementation ==== */
#if defined(PROF_IMPLEMENTATION) || (defined(PROF_STATIC) && !defined(PROF__IMPLEMENTED))
#ifndef PROF__IMPLEMENTED
#define PROF__IMPLEMENTED

/* ---- @PLATFORM: clock, threads, files, locks ----

   This room hides most of what systems, compilers and chips do differently. One lock guards what
   threads share: "under the lock" in other comments means this one.
   - It is held for moments. Code that a signal handler may run takes it by prof__lock_briefly,
     which may fail. What is held for longer has a lock of its own. */

#ifdef PROF_NOW
#  define PROF__OWN_CLOCK false
#else
#  define PROF__OWN_CLOCK true           /* calls no function of the user's */
#endif
#if defined(_WIN32) || defined(__wasi__)
#  define PROF__POSIX 0
#else
#  define PROF__POSIX 1                  /* threads, fork, dlopen, locks of files */
#endif
enum { PROF__USERS = 1, PROF__HOOK };    /* prof__tls_data.inside */
#if PROF__BARE
#  if __STDC_HOSTED__
#    include <stdio.h>                   /* for PROF_ASSERTS */
#    include <stdlib.h>
#    include <string.h>
#  endif
#  define PROF__EAGER PROF__FN
#else
#  include <errno.h>
#  include <stdio.h>
#  include <stdlib.h>
#  include <string.h>
#  include <time.h>
#  if defined(_WIN32)
#    include <direct.h>
#    include <fcntl.h>
#    include <io.h>
#    include <process.h>
#    include <sys/stat.h>
#    define PROF__LIBC(name) _##name
#  elif defined(__wasi__)
#    include <fcntl.h>
#    include <sched.h>
#    include <sys/ioctl.h>
#    include <sys/stat.h>
#    include <unistd.h>
#    include <wasi/api.h>
#    define PROF__LIBC(name) name
#  else
#    define PROF__LIBC(name) name
#    if defined(open) || defined(close) || defined(read) || defined(write)
#      error "prof.h: include lwip/sockets.h, or what has macros like its, after it"
#    endif
#    include <dlfcn.h>
#    include <fcntl.h>
#    include <pthread.h>
#    include <sched.h>
#    include <sys/file.h>
#    include <sys/ioctl.h>
#    include <sys/resource.h>
#    include <sys/stat.h>
#    include <sys/utsname.h>
#    include <unistd.h>
#    if defined(__linux__)
#      include <sys/auxv.h>
#      include <sys/mman.h>
#      include <sys/syscall.h>
#    endif
#    ifdef __ELF__                       /* so that no program has to link with -ldl */
#      pragma weak dlsym
#    endif
#  endif
#  define PROF__EAGER PROF__INLINE
#  define PROF__FLOATS 1                 /* formats know floating point */
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#  define PROF__LITTLE 1                 /* a word's first byte is its lowest */
#else
#  define PROF__LITTLE 0
#endif
#ifdef PROF_ZLIB
#  include <zlib.h>
#endif
#include <stdarg.h>
/* Cold code: all but the loops over records and events, and what a push, a hook or a moment runs.
   gcc compiles it at -Og, clang inlines less of it: a third of their work less. The choice is made
   here, as inside such a region __OPTIMIZE__ is set whatever the user said. gcc before 12 dropped
   options there, and nvcc warns of it. */
#if PROF__BARE || !defined(__OPTIMIZE__) || defined(__OPTIMIZE_SIZE__) || defined(__CUDACC__)
#  define PROF__COLD_BEGIN
#  define PROF__COLD_END
#elif defined(__clang__)
#  define PROF__COLD_BEGIN \
    _Pragma("clang attribute push(__attribute__((cold)), apply_to = function)")
#  define PROF__COLD_END _Pragma("clang attribute pop")
#elif defined(__GNUC__) && __GNUC__ >= 12
#  define PROF__COLD_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"Og\")")
#  define PROF__COLD_END _Pragma("GCC pop_options")
#else
#  define PROF__COLD_BEGIN
#  define PROF__COLD_END
#endif
PROF__COLD_BEGIN
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
#if defined(__SANITIZE_THREAD__) && !defined(__clang__) && __GNUC__ >= 11
#  pragma GCC diagnostic ignored "-Wtsan" /* fences: TSan does not know them, and says so */
#endif
#pragma push_macro("slots")              /* a macro of Qt */
#undef slots

/* stb_sprintf: the program has included it, or this includes PROF__STB_HEADER. */
#if !defined(PROF_NO_STB) && !defined(STB_SPRINTF_H_INCLUDE) && defined(__has_include)
#  if __has_include(<stb/stb_sprintf.h>)
#    define PROF__STB_HEADER <stb/stb_sprintf.h>
#  elif __has_include("stb_sprintf.h")
#    define PROF__STB_HEADER "stb_sprintf.h"
#  endif
#endif
#if defined(PROF__STB_HEADER) || (defined(STB_SPRINTF_H_INCLUDE) && !defined(PROF_NO_STB))
#  define PROF__STB 1
#else
#  define PROF__STB 0
#endif
#ifdef PROF__STB_HEADER
#  define STB_SPRINTF_IMPLEMENTATION
#  define STB_SPRINTF_STATIC
#  ifndef PROF__FLOATS
#    define STB_SPRINTF_NOFLOAT
#  endif
#  define STB_SPRINTF_NOUNALIGNED
#  if defined(__clang__)
#    pragma clang diagnostic push
#    pragma clang diagnostic ignored "-Weverything"
#  elif defined(__GNUC__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wpedantic"
#    pragma GCC diagnostic ignored "-Wsign-compare"
#    pragma GCC diagnostic ignored "-Wconversion"
#    pragma GCC diagnostic ignored "-Wsign-conversion"
#    pragma GCC diagnostic ignored "-Wcast-qual"
#    pragma GCC diagnostic ignored "-Wunused-function"
#  endif
#  include PROF__STB_HEADER
#  if defined(__clang__)
#    pragma clang diagnostic pop
#  elif defined(__GNUC__)
#    pragma GCC diagnostic pop
#  endif
#  undef STB_SPRINTF_IMPLEMENTATION
#  undef STB_SPRINTF_STATIC
/* The program's own copy, after this one, meets this macro first. */
#  define stbsp__period \
    _Pragma("GCC error \"stb_sprintf.h with its implementation: include it before prof.h\"")
#endif
#if PROF__STB
#  define prof__vsnprintf(buf, size, format, list) \
    STB_SPRINTF_DECORATE(vsnprintf)(buf, (int)(size), format, list)
#endif

/* CALL: a function of the API. FN: one of the library's own. EAGER: inline, what runs for each
   record. RARE: the slow way of what is inline. */
#define PROF__CALL PROF_API PROF__QUIET
#define PROF__FN static PROF__QUIET
#if PROF__GNU
#  define PROF__RARE static __attribute__((noinline, cold)) PROF__QUIET
#  define PROF__RACES __attribute__((no_sanitize_thread))   /* it may read old values */
#  define PROF__FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#  define PROF__SIGNAL_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#  define PROF__COUNT(n) ((void)__atomic_fetch_add(&(n), 1, __ATOMIC_RELAXED))
#else
#  define PROF__RARE static
#  define PROF__RACES
#  define PROF__FENCE() ((void)0)
#  define PROF__SIGNAL_FENCE() ((void)0)
#  define PROF__COUNT(n) ((void)++(n))
#endif
#define PROF__MAX_NAME 4095
#define PROF__LEVELS (PROF__BARE ? 33 : 256)   /* one more than the largest max_depth */
/* The epoch half the clock's range from where the session began, which it does not reach: it forces
   the slow path. */
#define PROF__NEVER ((uint32_t)(prof__trace.start_tick >> 32) ^ 1u << 31)
/* No call is a cancellation point: between these are the system's calls and the user's functions.
   _off returns what _back takes. glibc's signal of an asynchronous cancel may be on its way: that
   ends the thread, whatever the state is, if the type is asynchronous as it comes, as glibc has it
   within a system call. Such a call returns when the signal has come. */
#if !PROF__BARE && PROF__POSIX && !defined(__ANDROID__)
PROF__FN int prof__cancel_off(void) {
    int state = 0, type = 0;
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS) {
        int kept = errno;
        (void)close(-1);
        errno = kept;
    }
    return type << 8 | state;
}
PROF__FN void prof__cancel_back(int before) {
    int off;
    (void)pthread_setcancelstate(before & 0xff, &off);
    (void)pthread_setcanceltype(before >> 8, &off);
}
#else
#  define prof__cancel_off() 0
#  define prof__cancel_back(before) ((void)(before))
#endif

/* A room's invariant. It is compiled only with PROF_ASSERTS, as tests, fuzzing and stress are; when
   it fails it prints where, and ends the program. Inline code has none: that is compiled with the
   user's code. */
#if !defined(PROF_ASSERTS) || defined(PROF__COVERAGE)
#  define PROF__ASSERT(x) ((void)0)
#  define prof__arena_check() ((void)0)
#else
PROF__FN void prof__arena_check(void);   /* see @ARENA */
#  if __STDC_HOSTED__
PROF__RARE void prof__assert_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: PROF__ASSERT(%s)\n", file, line, condition);
    fflush(stderr);
    abort();
}
#    define PROF__ASSERT(x) ((x) ? (void)0 : prof__assert_failed(__FILE__, __LINE__, #x))
#  else
#    define PROF__ASSERT(x) ((x) ? (void)0 : __builtin_trap())
#  endif
#endif
#define PROF__MIN(a, b) ((a) < (b) ? (a) : (b))
#define PROF__MAX(a, b) ((a) > (b) ? (a) : (b))
/* Amounts from outside may be anything: their sums wrap, without undefined behaviour. */
#define PROF__PLUS(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define PROF__MINUS(a, b) ((int64_t)((uint64_t)(a) - (uint64_t)(b)))

/* Atomic accesses, where @API-INLINE does not define them. Targets, and compilers without atomics
   (tcc: one thread; MSVC, whose lock is the OS's), use plain ones, which x86 keeps in order. */
#ifndef PROF__LOAD
#  define PROF__LOAD(p)       (p)
#  define PROF__STORE(p, v)   ((p) = (v))
#  define PROF__ACQUIRE(p)    (p)
#  define PROF__RELEASE(p, v) ((p) = (v))
#endif
#define PROF__BUMP(n, by) PROF__STORE(n, (n) + (by))   /* a count that one thread writes */

#if PROF__BARE
#ifndef PROF_STATIC
volatile unsigned char prof__on;
uint32_t prof__categories_off;
#endif
#define prof__process_id() 1u
#if !__STDC_HOSTED__                     /* what is in use of string.h */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
size_t strlen(const char *s);
#endif

#define PROF__REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#  define PROF__CORTEX_M (__ARM_ARCH_ISA_THUMB >= 2 ? 2 : 1)   /* 2: it has a cycle counter */
#else
#  define PROF__CORTEX_M 0
#endif

/* The clock: 32 bits that wrap. A clock of fewer bits is shifted to the upper ones. */
#if defined(PROF_CLOCK_AT) && defined(PROF_NOW)
#  error "prof.h: PROF_CLOCK_AT stands for PROF_NOW(): define one of them"
#elif defined(PROF_CLOCK_AT)
#  define PROF_NOW() PROF__REGISTER(PROF_CLOCK_AT)
#elif !defined(PROF_NOW) && PROF__CORTEX_M == 2
#  define PROF_CLOCK_AT 0xE0001004       /* DWT->CYCCNT */
#endif
#if defined(PROF_CLOCK_BITS)
#  define PROF__CLOCK_SHIFT (32 - PROF_CLOCK_BITS)
#elif PROF__CORTEX_M == 1 && !defined(PROF_NOW)
#  define PROF__CLOCK_SHIFT 8
#else
#  define PROF__CLOCK_SHIFT 0
#endif
PROF__INLINE uint32_t prof__clock(void) {
#if defined(PROF_NOW)
    return (uint32_t)PROF_NOW() << PROF__CLOCK_SHIFT;
#elif PROF__CORTEX_M == 2
    return PROF__REGISTER(PROF_CLOCK_AT);
#elif PROF__CORTEX_M
    return ~PROF__REGISTER(0xE000E018) << PROF__CLOCK_SHIFT;   /* SysTick->VAL: downwards */
#elif defined(__riscv)
    unsigned long now;
    __asm__ volatile("csrr %0, cycle" : "=r"(now));
    return (uint32_t)now;
#else
    return 0;
#endif
}

/* Starts the chip's clock; false: there is none, or the program uses it with a shorter period. */
PROF__FN bool prof__clock_open(void) {
#if defined(PROF_NOW) || defined(__riscv)
    return true;
#elif PROF__CORTEX_M == 2
    PROF__REGISTER(0xE000EDFC) |= 1u << 24;    /* DEMCR.TRCENA */
    PROF__REGISTER(0xE0001FB0) = 0xC5ACCE55u;  /* the lock of a Cortex-M7 */
    PROF__REGISTER(0xE0001000) |= 1u;
    return true;
#elif PROF__CORTEX_M
    if (!(PROF__REGISTER(0xE000E010) & 1u)) {
        PROF__REGISTER(0xE000E014) = 0xFFFFFFu;
        PROF__REGISTER(0xE000E018) = 0;
        PROF__REGISTER(0xE000E010) = 5;
    }
    return PROF__REGISTER(0xE000E014) == 0xFFFFFFu;
#else
    return false;
#endif
}

/* Does the chip's clock count? Not where there is none (NOCYCCNT, an emulator) or trace is off. */
PROF__FN bool prof__clock_runs(uint32_t before) {
#if !defined(PROF_NOW)
    for (int i = PROF__CORTEX_M == 1 ? 256 : 1; i; i--)   /* SysTick may be slower than we are */
        if (prof__clock() != before) return true;
    return false;
#else
    (void)before;
    return true;
#endif
}

/* A context is what has a row of its own, as a thread has on hosts. On Cortex-M each exception is a
   context, by its number: whatever interrupts it is another context, so that the hot path need not
   mask interrupts. Elsewhere begin and end mask interrupts for a few instructions, and all code is
   one context, unless PROF_CONTEXT() tells contexts apart. */
#ifndef PROF_ONE_CORE                    /* else self times leave out what interrupted: prof__ran */
#  if defined(PROF_CONTEXT) && defined(PROF_LOCK)
#    define PROF_ONE_CORE 0
#  else
#    define PROF_ONE_CORE 1
#  endif
#endif
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

#if PROF__BY_IPSR
/* The name of exception n in ARM's manuals; "": it has none. */
PROF__FN const char *prof__exception(uint32_t n) {
    static const char names[] = "\0\0NMI\0HardFault\0MemManage\0BusFault\0UsageFault\0SecureFault\0"
                                "\0\0\0SVCall\0DebugMonitor\0\0PendSV\0SysTick\0IRQ ";
    const char *name = names;
    for (n = PROF__MIN(n, 16); n; n--)
        while (*name++) {}
    return name;
}
#endif

/* Where no local name is that the user's macro may call. */
PROF__INLINE uint32_t prof__context_now(void) { return (uint32_t)PROF_CONTEXT(); }

/* The context's index in a table of PROF_MAX_CONTEXTS + 1; all contexts beyond share the last. */
#if PROF__BY_IPSR && PROF__CORTEX_M == 2 && PROF_MAX_CONTEXTS == 127
PROF__INLINE uint32_t prof__context_index(void) {
    uint32_t n;
    __asm__ volatile("mrs %0, ipsr\n\tusat %0, #7, %0" : "=r"(n));
    return n;
}
#  define PROF__CONTEXT_INDEX() prof__context_index()
#  if defined(PROF_CLOCK_AT) && !defined(PROF_CLOCK_BITS) && !defined(PROF_NO_ASM) && \
    !defined(__PIC__) && !defined(__APCS_ROPI) && !defined(__APCS_RWPI) && \
    !defined(__ARM_BIG_ENDIAN)
#    define PROF__THUMB2 1               /* see prof__begin; position-independent code takes C */
#  endif
#elif PROF_MAX_CONTEXTS < PROF__CONTEXTS_POSSIBLE
#  define PROF__CONTEXT_INDEX() PROF__MIN(prof__context_now(), PROF_MAX_CONTEXTS)
#else
#  define PROF__CONTEXT_INDEX() prof__context_now()
#endif

#ifndef PROF__THUMB2
#  define PROF__THUMB2 0
#endif

/* Masks interrupts for moments of the slow path; also on the hot path, where contexts are not
   exceptions. */
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

PROF__INLINE void prof__unmask(uintptr_t prof__masked) {   /* as prof__context_now */
#if defined(PROF_LOCK)
    PROF_UNLOCK(prof__masked);
#elif PROF__CORTEX_M
    __asm__ volatile("msr primask, %0" : : "r"(prof__masked) : "memory");
#elif defined(__riscv) && !defined(__linux__)
    __asm__ volatile("csrw mstatus, %0" : : "r"(prof__masked) : "memory");
#else
    (void)prof__masked;
#endif
}
#if !PROF__BY_IPSR && (defined(PROF_LOCK) || defined(__riscv))
#  define PROF__HOT_MASK() prof__mask()
#  define PROF__HOT_UNMASK(state) prof__unmask(state)
#else
#  define PROF__HOT_MASK() 0
#  define PROF__HOT_UNMASK(state) ((void)(state))
#endif

/* The lock of data that contexts share, held for a few instructions. */
#define prof__lock() prof__mask()
#define prof__unlock(state) prof__unmask(state)

#if defined(__GNUC__) && !defined(__TINYC__)
#  define PROF__BARRIER() __asm__ volatile("" : : : "memory")
#  define PROF__BARRIER_WITH(value) __asm__ volatile("" : "+r"(value) : : "memory")
#else
#  define PROF__BARRIER() ((void)0)
#  define PROF__BARRIER_WITH(value) ((void)0)
#endif

/* Divides *n and returns the rest. The compiler's library would take ten times the flash. */
PROF__FN uint32_t prof__divide(uint64_t *n, uint32_t by) {
    uint64_t rest = 0, left = *n;
    for (int i = 0; i < 64; i++, left <<= 1) {
        rest = rest << 1 | left >> 63;
        *n <<= 1;
        if (rest < by) continue;
        rest -= by;
        *n |= 1;
    }
    return (uint32_t)rest;
}
#else
#define PROF__CLOCK_SHIFT 0              /* hosted clocks need no shift */
#if PROF__STB                            /* it formats */
#elif defined(__MINGW32__)               /* Windows' own may know no %zu */
#  define prof__vsnprintf __mingw_vsnprintf
#else
#  define prof__vsnprintf vsnprintf
#endif

#if !PROF__FAST
static uint32_t prof__on, prof__categories_off;
static prof__hot prof__nowhere;
#  ifndef prof__tls
static
#  endif
PROF__THREAD prof__tls_data PROF__TLS = PROF__TLS_BEGINS;
#elif !defined(PROF_STATIC)
uint32_t prof__on, prof__categories_off;
prof__hot prof__nowhere;
PROF__THREAD prof__tls_data PROF__TLS = PROF__TLS_BEGINS;
#endif

#if defined(_WIN32)
#  ifdef NO_STRICT
typedef void prof__dll;
#  else
typedef struct HINSTANCE__ prof__dll;
#  endif
typedef intptr_t (__stdcall *prof__far)(void);
#  ifndef _WINDOWS_                      /* windows.h, whose macros hurt: what is used of it */
#    define PROF__OS(type) __declspec(dllimport) type __stdcall
union _LARGE_INTEGER;
struct _CONSOLE_SCREEN_BUFFER_INFO;
struct _FILETIME;
struct _RTL_CRITICAL_SECTION;
PROF__OS(int) GetConsoleScreenBufferInfo(void *, struct _CONSOLE_SCREEN_BUFFER_INFO *);
PROF__OS(unsigned long) GetCurrentThreadId(void);
PROF__OS(unsigned long) GetEnvironmentVariableW(const wchar_t *, wchar_t *, unsigned long);
PROF__OS(unsigned long) GetFullPathNameW(const wchar_t *, unsigned long, wchar_t *, wchar_t **);
PROF__OS(unsigned long) GetModuleFileNameW(prof__dll *, wchar_t *, unsigned long);
PROF__OS(int) GetModuleHandleExW(unsigned long, const wchar_t *, prof__dll **);
PROF__OS(prof__far) GetProcAddress(prof__dll *, const char *);
PROF__OS(int) GetFileTime(void *, struct _FILETIME *, struct _FILETIME *, struct _FILETIME *);
PROF__OS(void *) GetStdHandle(unsigned long);
PROF__OS(void) GetSystemTimeAsFileTime(struct _FILETIME *);
PROF__OS(void) InitializeCriticalSection(struct _RTL_CRITICAL_SECTION *);
PROF__OS(prof__dll *) LoadLibraryW(const wchar_t *);
PROF__OS(int) MoveFileExW(const wchar_t *, const wchar_t *, unsigned long);
PROF__OS(int) MultiByteToWideChar(unsigned, unsigned long, const char *, int, wchar_t *, int);
PROF__OS(int) QueryPerformanceCounter(union _LARGE_INTEGER *);
PROF__OS(int) QueryPerformanceFrequency(union _LARGE_INTEGER *);
PROF__OS(unsigned short) RtlCaptureStackBackTrace(unsigned long, unsigned long, void **,
                                                  unsigned long *);
PROF__OS(int) SwitchToThread(void);
PROF__OS(int) WideCharToMultiByte(unsigned, unsigned long, const wchar_t *, int, char *, int,
                                  const char *, int *);
#  endif
#endif

/* Strict C (-std=c99) hides these declarations of the system's headers; the functions are there. */
#if PROF__POSIX && !defined(CLOCK_MONOTONIC) && !defined(__cplusplus)
struct prof__timespec { time_t tv_sec; long tv_nsec; };
extern int clock_gettime(int clock, struct prof__timespec *t);
#  define PROF__TIMESPEC struct prof__timespec
#  define PROF__MONOTONIC 1
#  define PROF__REALTIME 0
#elif PROF__POSIX
#  define PROF__TIMESPEC struct timespec
#  define PROF__MONOTONIC CLOCK_MONOTONIC
#  define PROF__REALTIME CLOCK_REALTIME
#endif
#if PROF__POSIX && !defined(__cplusplus)
extern int ftruncate(int file, off_t size);
#  if defined(__linux__)
extern long syscall(long number, ...);
#  else
extern int issetugid(void);
#  endif
#endif

/* Reads one of the system's clocks, in ns; 0: it cannot be read. */
#if defined(_WIN32)
#elif defined(__wasi__)
#  define PROF__CLOCK_READ(id) \
    __wasi_timestamp_t now; \
    return __wasi_clock_time_get(id, 1, &now) ? 0 : now
#  define PROF__MONOTONIC __WASI_CLOCKID_MONOTONIC
#  define PROF__REALTIME __WASI_CLOCKID_REALTIME
#else
#  define PROF__CLOCK_READ(id) \
    PROF__TIMESPEC t; \
    return clock_gettime(id, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
#endif

/* The system's monotonic clock. */
PROF__FN uint64_t prof__os_now(void) {
#if defined(_WIN32)
    uint64_t now, rate;
    QueryPerformanceCounter((union _LARGE_INTEGER *)(void *)&now);
    QueryPerformanceFrequency((union _LARGE_INTEGER *)(void *)&rate);
    return now / rate * 1000000000u + now % rate * 1000000000u / rate;
#else
    PROF__CLOCK_READ(PROF__MONOTONIC);
#endif
}

/* ns since 1970. */
PROF__FN uint64_t prof__wall_now(void) {
#if defined(_WIN32)
    uint64_t since_1601;                 /* in 100 ns */
    GetSystemTimeAsFileTime((struct _FILETIME *)(void *)&since_1601);
    return (since_1601 - 116444736000000000u) * 100u;
#else
    PROF__CLOCK_READ(PROF__REALTIME);
#endif
}

/* Has the program other rights than its caller, to whom the environment belongs? */
PROF__FN bool prof__trusts_none(void) {
#if !PROF__POSIX
    return false;
#elif defined(__linux__)
    return getauxval(23 /* AT_SECURE */) != 0;
#else
    return issetugid() != 0;
#endif
}

#if defined(_WIN32)
#  define PROF__UTF8 65001, 0            /* for what follows */
/* The path as the system takes it: from the root, and where it is long without the limit of 260.
   NULL: errno says why. */
#  define PROF__WIDE(name, path) \
    wchar_t name##_room[2048]; \
    const wchar_t *name = prof__path_wide(path, name##_room + 8, 2040)
PROF__FN const wchar_t *prof__path_wide(const char *path, wchar_t *to, unsigned long most) {
    wchar_t text[1024];
    unsigned long n = 0;
    int count = MultiByteToWideChar(65001, 8 /* MB_ERR_INVALID_CHARS */, path, -1, text, 1024);
    if (count) n = GetFullPathNameW(text, most, to, NULL);
    if (!n || n >= most) {
        errno = count && !n ? ENOENT : count || strlen(path) > 1023 ? ENAMETOOLONG : EILSEQ;
        return NULL;
    }
    if (n < 240 || (*to == '\\' && (to[2] == '.' || to[2] == '?'))) return to;
    return *to == '\\' ? (wchar_t *)memcpy(to - 6, L"\\\\?\\UNC", 7 * sizeof *to)
                       : (wchar_t *)memcpy(to - 4, L"\\\\?\\", 4 * sizeof *to);
}

PROF__FN void prof__from_wide(char *to, int size, const wchar_t *text) {
    if (!WideCharToMultiByte(PROF__UTF8, text, -1, to, size, NULL, NULL)) *to = 0;
}

/* As UTF-8; good until seven more are asked for. What is too long is as the C library has it. */
PROF__FN const char *prof__getenv(const char *name) {
    static char texts[8][1024];
    static uint32_t next;
    wchar_t key[64], text[1024];
    char *to = texts[next++ % 8];
    unsigned long n = 0;
    if (MultiByteToWideChar(PROF__UTF8, name, -1, key, 64))
        n = GetEnvironmentVariableW(key, text, 1024);
    *to = 0;
    if (n && n < 1024) prof__from_wide(to, 1024, text);
    return *to ? to : getenv(name);
}
#else
#  define prof__getenv getenv
#endif

PROF__CALL const char *prof_getenv(const char *name) {
    return prof__trusts_none() ? NULL : prof__getenv(name);
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
#elif PROF__POSIX
    return (uint64_t)(uintptr_t)pthread_self();
#else
    return 1;
#endif
}

/* What the port keeps for the process. lock is written by whoever takes it, all else under the
   lock. */
static struct prof__port {
#if PROF__POSIX
    pthread_key_t exit_key;              /* its value is set in threads whose exit is awaited */
    bool exit_key_made;
#endif
    uint32_t owner;                      /* the process of the open session; 0: there is none */
    volatile uint32_t lock;              /* prof__holder of who has it; 0: nobody */
    int cancel;                          /* its holder's, before */
} prof__port;

PROF__FN uint32_t prof__process_id(void) {
#if defined(__wasi__)
    return 1;
#else
    return (uint32_t)PROF__LIBC(getpid)();
#endif
}

#if PROF__TICKS
PROF__INLINE uint64_t prof__cpu_now(void) {
    uint32_t lo, hi;
    prof__ticks(&lo, &hi);
    return (uint64_t)hi << 32 | lo;
}
#else
#  define prof__cpu_now prof__os_now
#endif

/* Does the CPU's counter run at one rate on all cores, and may it be used? */
PROF__FN bool prof__cpu_clock_usable(void) {
#ifdef PROF_OS_CLOCK
    if (PROF_OS_CLOCK) return false;
#endif
#if !PROF__TICKS
    return false;
#elif defined(PROF_NOW) || defined(__aarch64__)
    return true;
#else
    uint32_t a = 0x80000007u, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (d & 1u << 8) != 0;           /* invariant TSC */
#endif
}

/* The calling thread's TLS. Without it only the first thread that is here has one: others have
   one that is in the slow path for ever, so that what they begin is dropped and counted. */
PROF__INLINE prof__tls_data *prof__tls_get(void) {
#ifdef PROF__ONE_THREAD
    static prof__tls_data others = { 1, 0, 0, 1, &prof__nowhere, 0, 0, 0, 0, NULL };
    static pthread_t first;
    static bool known;
    if (!known) first = pthread_self();
    known = true;
    if (!pthread_equal(first, pthread_self())) return &others;
#endif
    return &prof__tls;
}

/* The calling thread, by its TLS: a signal handler knows it when it interrupted who has a lock. */
PROF__INLINE uint32_t prof__holder(void) {
    return (uint32_t)((uintptr_t)prof__tls_get() >> 3) | 1;
}

PROF__INLINE bool prof__swap(volatile uint32_t *word, uint32_t from, uint32_t to) {
#if PROF__GNU
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
#elif defined(_WIN32)
    return _InterlockedCompareExchange((volatile long *)word, (long)to, (long)from) == (long)from;
#else                                    /* one thread */
    bool is = *word == from;
    if (is) *word = to;
    return is;
#endif
}

/* A lock is a word that has prof__holder of who holds it, or 0. */
PROF__FN bool prof__mine(const volatile uint32_t *lock) {
    return PROF__LOAD(*lock) == prof__holder();
}

PROF__FN bool prof__try(volatile uint32_t *lock) { return prof__swap(lock, 0, prof__holder()); }
PROF__FN void prof__release(volatile uint32_t *lock) { PROF__RELEASE(*lock, 0u); }

/* Lets others run. True: there are none, and what they held nobody gives back. Windows ends all
   other threads, wherever they are, before it calls what a DLL runs at exit. */
PROF__FN bool prof__yield(void) {
#if defined(_WIN32)
    static prof__far ends;
    prof__dll *system;
    SwitchToThread();
    if (!ends && GetModuleHandleExW(2, L"ntdll.dll", &system))
        ends = GetProcAddress(system, "RtlDllShutdownInProgress");
    return ends && (ends() & 0xff);
#else
    sched_yield();
    return false;
#endif
}

PROF__FN void prof__take_lock(volatile uint32_t *lock) {
    while (!prof__try(lock) && !prof__mine(lock))   /* its own: siglongjmp left it behind */
        if (prof__yield()) prof__release(lock);
}

/* Has a wait that began at *since taken a good part of a second? *since is 0 at first. Where cores
   are busy a yield takes milliseconds, so that a count of yields bounds no time; it does where this
   clock stands. */
PROF__FN bool prof__waited(uint64_t *since) {
    uint64_t now = prof__os_now();
    if (!*since) *since = now;
    return now - *since > 900000000u;
}

/* False: the holder did not let go in time; or it is this thread, in code that this signal handler
   interrupted. A thousand tries come first: one thread may hold the lock nearly always, as in a
   loop of snapshots, and where cores are busy another has few chances in a second. */
PROF__FN bool prof__take_lock_briefly(volatile uint32_t *lock, int tries) {
    uint64_t since = 0;
    for (int i = 0; i < tries && (i <= 1000 || !prof__waited(&since)); i++) {
        if (prof__try(lock)) return true;
        if (prof__mine(lock)) return false;
        if (i >= 16) prof__yield();
    }
    return false;
}

/* The lock: for all that is rare: new threads, chunks, names, start and stop. The recorder never
   waits for ever: it gives up after a good part of a second. */
PROF__FN void prof__lock(void) {
    int cancel = prof__cancel_off();
    bool left = prof__mine(&prof__port.lock);
    prof__take_lock(&prof__port.lock);
    if (!left) prof__port.cancel = cancel;
}
PROF__FN bool prof__lock_briefly(void) {
    int cancel = prof__cancel_off();
    bool taken = prof__take_lock_briefly(&prof__port.lock, 1000000);
    if (taken) prof__port.cancel = cancel;
    else prof__cancel_back(cancel);
    return taken;
}
PROF__FN void prof__unlock(void) {
    int cancel = prof__port.cancel;
    prof__arena_check();
    prof__release(&prof__port.lock);
    prof__cancel_back(cancel);
}

/* Divides *n and returns the rest. */
PROF__INLINE uint32_t prof__divide(uint64_t *n, uint32_t by) {
    uint64_t all = *n;
    *n = all / by;
    return (uint32_t)(all % by);
}
#endif

/* ---- @ARENA: one range; records from the top down, the rest from the bottom up ----

   The arena is all the memory there is. prof__arena_check asserts what is drawn here, in tests,
   after each change; all of them are made under the lock (targets: masked).

     base          low                                    high                    end
     | all but records: | the gap: [promised] [seats, other | records: chunks and    | held
     | grows up         | bytes kept] [free]                | blocks of sums; grow   | blocks
     |                  |             bound: <-- no later   | down                   | (windows)

   - base to low: free states of an earlier session of the same size, then what was taken: states,
     rows, segments (what tells of a chunk), tallies, names, launches, open zones at prof_stop.
   - promised: what the analysis of all that is recorded takes there later, from low upwards.
     kept: names and rows may take it, and threads; seats: threads to come alone.
   - high to end, in AGGREGATE: the rows of reports, then blocks. A chunk (targets: a page) is a
     thread's (`segment`; `ahead` and, in a ring, `before`), in its row's list; left (the pool's
     `free`, in a ring from `oldest` on); or flushed, and then free. TRACE gives the rest of a left
     one away. prof_dump reads any chunk without the lock, and looks again whose it is.
   - Stale: threads of earlier sessions may still write to their state, chunk or block anywhere in
     the arena. prof_start has the gap begin in the widest part without stale blocks; they begin at
     `bound` again, above which chunks go past them. In AGGREGATE, and once a window is over,
     nothing lies above bound.
   - closed: prof_stop has all; the analysis has the gap, without the lock.
   - low + promised <= high, and <= bound: whatever was recorded can be reported. */

/* A session's arena where its description has none. It stands apart so that linkers can drop it. */
static union { char bytes[PROF_ARENA_SIZE]; uint64_t align; void *pointer; } prof__builtin_arena;

#define PROF__ALIGN (PROF__BARE ? 8u : 16u)
PROF__FN size_t prof__align(size_t n) { return (n + PROF__ALIGN - 1) & ~(size_t)(PROF__ALIGN - 1); }

/* Looks a key up in an index with open addressing: the slot that holds the key's number + 1, or
   the free slot where it would go. same() tells whether a number is that of the key, `context`. */
typedef bool (*prof__same)(const void *context, uint32_t number);

PROF__FN uint32_t *prof__slot_find(uint32_t *index, uint32_t slots, uint64_t hash, prof__same same,
                               const void *context) {
    uint32_t i;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    i = (uint32_t)((hash >> 32) % slots);
    while (index[i] && !same(context, index[i] - 1)) i = i + 1 == slots ? 0 : i + 1;
    return index + i;
}

#if PROF__BARE
static struct prof__arena {
    char *base, *low, *high, *end;
    size_t room;                         /* bytes of the gap that are not promised */
} prof__arena;

PROF__FN bool prof__promise(size_t bytes) {
    if (bytes > prof__arena.room) return false;
    prof__arena.room -= bytes;
    return true;
}

/* As on hosted builds, but it locks by itself. */
PROF__FN void *prof__take(size_t bytes, size_t analysis) {
    char *p = NULL;
    uintptr_t lock;
    bytes = prof__align(bytes);
    lock = prof__lock();
    if (prof__promise(bytes + analysis)) {
        p = prof__arena.low;
        prof__arena.low += bytes;
    }
    prof__arena_check();
    prof__unlock(lock);
    return p;
}

#ifndef prof__arena_check
PROF__FN void prof__arena_check(void) {
    const struct prof__arena *a = &prof__arena;
    PROF__ASSERT(a->base <= a->low && a->low + a->room <= a->high && a->high <= a->end);
}
#endif
#else
static struct prof__arena {
    char *base, *low, *high, *end;
    size_t promised;
    size_t seats;                        /* for threads to come */
    size_t kept;                         /* for names and rows, and for threads */
    char *bound;                         /* blocks that threads still own begin here, or >= high */
    bool closed;                         /* by prof_stop: nothing more is taken */
} prof__arena;

/* What takes memory: what recording cannot do without; names, rows, deep zones; all else. */
enum { PROF__FOR_THREADS, PROF__FOR_NAMES, PROF__FOR_RECORDS };

/* Bytes of the gap that it may take. */
PROF__FN size_t prof__arena_room(int what) {
    const struct prof__arena *a = &prof__arena;
    const char *top = PROF__MIN(a->high, a->bound);
    size_t gap = top > a->low ? (size_t)(top - a->low) : 0, others = a->promised;
    if (a->closed) return 0;             /* high is the analysis's, which has no lock */
    if (what >= PROF__FOR_NAMES) others += a->seats;
    if (what >= PROF__FOR_RECORDS) others += a->kept;
    return gap - PROF__MIN(gap, others);
}

/* Memory that lives as long as the session. NULL when bytes and the analysis they entail do not
   fit. */
PROF__FN void *prof__take_for(int what, size_t bytes, size_t analysis) {
    char *p = prof__arena.low;
    bytes = prof__align(bytes);
    if (prof__arena_room(what) < bytes + analysis) return NULL;
    prof__arena.low += bytes;
    prof__arena.promised += analysis;
    return p;
}

PROF__FN void *prof__take(size_t bytes, size_t analysis) {
    return prof__take_for(PROF__FOR_RECORDS, bytes, analysis);
}

/* Keeps more for threads to come; less than 0: one has come. */
PROF__FN void prof__seats_add(ptrdiff_t bytes) {
    prof__arena.seats += (size_t)PROF__MAX(bytes, -(ptrdiff_t)prof__arena.seats);
}
#endif

/* ---- @TEXT: numbers as Python prints them, and buffered output ----

   This room turns numbers into text, for the header and for the tools, and writes text to sinks.
   - Numbers equal Python's to the last digit on every machine: no floating point, no locale.
   - The first failure of an output is kept, and ends all writing to it.
   - Text from outside is written as valid UTF-8, and escaped within JSON. */

/* A double without a floating point unit: m * 2^e, m of 53 bits or 0. The operations round to
   nearest even, as IEEE 754 does. */
typedef struct prof__real { uint64_t m; int e; bool negative; } prof__real;

/* m * 2^e, rounded to 53 bits. */
PROF__FN prof__real prof__real_round(uint64_t m, int e) {
    prof__real r = { 0, 0, false };
    if (!m) return r;
    while (!(m >> 63)) {
        m <<= 1;
        e--;
    }
    r.m = m >> 11;
    r.e = e + 11;
    if ((m & 0x7ff) + (r.m & 1) > 1u << 10) r.m++;
    if (r.m >> 53) {
        r.m >>= 1;
        r.e++;
    }
    return r;
}

PROF__FN prof__real prof__real_from(int64_t n) {
    prof__real r = prof__real_round(n < 0 ? 0u - (uint64_t)n : (uint64_t)n, 0);
    r.negative = n < 0;
    return r;
}

PROF__FN prof__real prof__real_from_double(double d) {
    prof__real r = { 0, 0, false };
    uint64_t bits;
    int e;
    memcpy(&bits, &d, sizeof bits);
    e = (int)(bits >> 52 & 0x7ff);
    r = prof__real_round((bits & 0xfffffffffffffu) | (uint64_t)(e != 0) << 52, (e ? e : 1) - 1075);
    r.negative = (bits >> 63) != 0;
    return r;
}

PROF__FN prof__real prof__real_div(prof__real a, prof__real b) {
    uint64_t q = 0, r = a.m;
    prof__real out = { 0, 0, a.negative != b.negative };   /* Python's -0.0, too */
    if (!a.m || !b.m) return out;
    for (int i = 0; i < 63; i++) {       /* 62 or 63 bits of quotient */
        q <<= 1;
        if (r >= b.m) {
            r -= b.m;
            q |= 1;
        }
        r <<= 1;
    }
    out = prof__real_round(q | (r != 0), a.e - b.e - 62);   /* more would follow */
    out.negative = a.negative != b.negative;
    return out;
}

PROF__FN prof__real prof__real_over(prof__real a, int64_t n) {
    return prof__real_div(a, prof__real_from(n));
}

PROF__FN bool prof__real_below(prof__real a, prof__real b) {
    prof__real less = a.negative ? b : a, more = a.negative ? a : b;
    if (a.negative != b.negative) return a.negative && (a.m || b.m);
    if (!less.m || !more.m || less.e == more.e) return less.m < more.m;   /* of 53 bits, or 0 */
    return less.e < more.e;
}

PROF__COLD_END
/* n < 100 in two digits. A Cortex-M0 has no division: n * 103 / 1024 is n / 10. */
PROF__EAGER char *prof__text_two(char *p, uint32_t n) {
    uint32_t tens = n * 103 >> 10;
    *p++ = (char)('0' + tens);
    *p++ = (char)('0' + n - 10 * tens);
    return p;
}

PROF__FN char *prof__text_u64(char *p, uint64_t n) {
    char digits[20], *from = digits + sizeof digits;
    if (!PROF__BARE && n < 10) {
        *p = (char)('0' + n);
        return p + 1;
    }
    do {
        from -= 2;
        (void)prof__text_two(from, prof__divide(&n, 100));
    } while (n);
    from += *from == '0';
    while (from < digits + sizeof digits) *p++ = *from++;
    return p;
}

PROF__FN char *prof__text_i64(char *p, int64_t n) {
    if (n < 0) *p++ = '-';
    return prof__text_u64(p, n < 0 ? 0u - (uint64_t)n : (uint64_t)n);
}

/* A point, and n in 2 or 3 decimals: n * 41 / 4096 is n / 100. */
PROF__EAGER char *prof__text_part(char *p, uint32_t n, int decimals) {
    uint32_t hundreds = n * 41 >> 12;
    *p++ = '.';
    if (decimals == 3) *p++ = (char)('0' + hundreds);
    return prof__text_two(p, n - 100 * hundreds);
}

/* n < 10^8 in eight digits, a byte each, the first in the lowest: halves of a word at once, then
   quarters, then bytes. 10486 >> 20 is 1 / 100, 103 >> 10 is 1 / 10. */
PROF__EAGER uint64_t prof__eight_digits(uint32_t n) {
    uint64_t x = n / 10000u | (uint64_t)(n % 10000u) << 32;
    uint64_t high = x * 10486u >> 20 & 0x0000007f0000007fu;
    x = high | (x - 100u * high) << 16;
    high = x * 103u >> 10 & 0x000f000f000f000fu;
    return high | (x - 10u * high) << 8;
}

/* ns as microseconds with three decimals. Hosted, it writes up to 4 bytes behind the text. */
PROF__FN char *prof__text_us(char *p, uint64_t ns) {
    uint64_t digits, point;
    uint32_t low, zeros = 0;             /* before the digits, of which the last four stay */
    if (PROF__BARE || !PROF__LITTLE) {
        low = prof__divide(&ns, 1000);
        return prof__text_part(prof__text_u64(p, ns), low, 3);
    }
    low = (uint32_t)(ns % 100000000u);
    if (low < ns) p = prof__text_u64(p, ns / 100000000u);
    else zeros = 4u - (low >= 10000u) - (low >= 100000u) - (low >= 1000000u) - (low >= 10000000u);
    digits = prof__eight_digits(low) + 0x3030303030303030u;
    point = digits >> 40 << 8 | '.';
    digits >>= 8 * zeros;
    memcpy(p, &digits, sizeof digits);
    p += 5 - zeros;
    memcpy(p, &point, 4);
    return p + 4;
}

PROF__COLD_BEGIN
/* printf's %.2f or %.3f, ties to even on the exact value. Past 2^64 it stops at 2^64 - 1. */
PROF__FN char *prof__text_real(char *p, prof__real x, int decimals) {
    uint32_t scale = decimals == 2 ? 100 : 1000, part = 0;
    uint64_t n = x.m * scale;            /* 53 + 10 bits */
    if (x.negative) *p++ = '-';
    if (x.e >= 0) {
        n = x.e > 11 ? UINT64_MAX : x.m << x.e;
        p = prof__text_u64(p, n);
    } else {
        bool half = false, rest = false; /* of what was shifted out: its first bit, any other */
        for (int e = x.e; e < 0; e++) {
            rest = rest || half;
            half = n & 1;
            n >>= 1;
        }
        if (half && (rest || (n & 1))) n++;
        part = prof__divide(&n, scale);
        p = prof__text_u64(p, n);
    }
    return prof__text_part(p, part, decimals);
}

/* us in a unit, with three decimals and the unit's name; unit 0: us, without a name. */
PROF__FN char *prof__text_time(char *p, prof__real us, prof_time_unit unit) {
    static const char names[][3] = { "", "s", "ms", "us" };
    const char *name = names[unit];
    if (unit == PROF_TIME_S) us = prof__real_over(us, 1000000);
    if (unit == PROF_TIME_MS) us = prof__real_over(us, 1000);
    p = prof__text_real(p, us, 3);
    while (*name) *p++ = *name++;
    return p;
}

PROF__FN prof__real prof__us(int64_t ns) { return prof__real_over(prof__real_from(ns), 1000); }

PROF__FN char *prof__text_percent(char *p, prof__real part, prof__real total) {
    prof__real hundredths = prof__real_round(part.m * 100, part.e);   /* 53 + 7 bits */
    hundredths.negative = part.negative;
    if (!total.m) {
        memcpy(p, "NaN", 3);
        return p + 3;
    }
    p = prof__text_real(p, prof__real_div(hundredths, total), 2);
    *p++ = '%';
    return p;
}

/* Copies a literal to p, and is p behind it. */
#define PROF__LITERAL(p, text) (memcpy(p, text, sizeof text - 1), (p) + sizeof text - 1)

/* Text i of a list in which each stands behind the NUL of the one before. An array of pointers
   takes more room, and its texts stay in a program that is linked without it. */
PROF__FN const char *prof__text_of(const char *list, size_t i) {
    while (i--) list += strlen(list) + 1;
    return list;
}

PROF__FN char *prof__text_memory(char *p, int64_t bytes) {
    uint64_t n = bytes < 0 ? 0u - (uint64_t)bytes : (uint64_t)bytes;
    int power = n >> 30 ? 3 : n >> 20 ? 2 : n >> 10 ? 1 : 0;
    prof__real x = prof__real_from(bytes);
    x.e -= 10 * power;
    p = power ? prof__text_real(p, x, 2) : prof__text_i64(p, bytes);
    *p++ = ' ';
    if (power) *p++ = " KMG"[power];
    *p++ = 'B';
    return p;
}

/* Output: a buffer before a sink. */
#define PROF__OUT_SIZE (PROF__BARE ? 256 : 8192)
typedef struct prof__out {
    prof_sink sink;
    bool failed;
    const char *comma;                   /* hosted: what %, writes */
    char *p;
    char buf[PROF__OUT_SIZE];
} prof__out;

PROF__FN void prof__out_open(prof__out *o, prof_sink sink) {
    o->sink = sink;
    o->failed = sink.write == NULL;
    o->p = o->buf;
}

PROF__FN void prof__out_flush(prof__out *o) {
    int cancel = prof__cancel_off();
    if (o->p > o->buf && !o->failed)
        o->failed = !(o->sink.write)(o->sink.user, o->buf, (size_t)(o->p - o->buf));
    o->p = o->buf;
    prof__cancel_back(cancel);
}

PROF__INLINE size_t prof__out_left(const prof__out *o) {
    return (size_t)(o->buf + PROF__OUT_SIZE - o->p);
}

PROF__FN prof_result prof__out_close(prof__out *o) {
    prof__out_flush(o);
    return o->failed ? PROF_ERROR_SINK : PROF_OK;
}

/* Makes room for n bytes at o->p, which the buffer must hold. */
PROF__EAGER void prof__out_room(prof__out *o, size_t n) {
    if (PROF__UNLIKELY(prof__out_left(o) < n)) prof__out_flush(o);
}

PROF__FN void prof__out_bytes(prof__out *o, const char *s, size_t n) {
    while (n) {
        size_t room, part;
        prof__out_room(o, 1);
        room = prof__out_left(o);
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

/* us: n is ns, written as microseconds with three decimals. */
PROF__FN void prof__out_number(prof__out *o, int64_t n, bool us) {
    uint64_t size = n < 0 ? 0u - (uint64_t)n : (uint64_t)n;
    prof__out_room(o, 32);
    if (n < 0) *o->p++ = '-';
    o->p = us ? prof__text_us(o->p, size) : prof__text_u64(o->p, size);
}

/* Bytes of the UTF-8 sequence at s: 1 to 4; 0 when it is not one. */
PROF__FN size_t prof__utf8_length(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    uint32_t c = u[0], n = 0;
    if (c < 0x80) return 1;
    while (c & 0x80u >> n) n++;          /* as many bytes as there are ones in front */
    if (n < 2 || n > 4) return 0;
    c &= 0x7fu >> n;
    for (uint32_t i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (u[i] & 0x3f);
    }
    /* No surrogate, at most 10ffff, and not in fewer bytes: from 2^7, 2^11, 2^16 on. */
    return c >> 11 == 0x1b || c > 0x10ffff || !(c >> (5 * n - 4 + (n == 2))) ? 0 : n;
}

/* Bytes of the character at s if a terminal would obey it or show nothing: control characters and,
   not on targets, U+0080 to U+009F, what Unicode's Default_Ignorable_Code_Point names, marks of
   lines, annotations and hieroglyphs; 0: it is none. */
PROF__FN size_t prof__control(const char *s) {
    static const uint32_t ranges[][2] = {          /* of its bytes */
        { 0xc280, 0xc29f }, { 0xc2ad, 0xc2ad }, { 0xcd8f, 0xcd8f }, { 0xd89c, 0xd89c },
        { 0xe1859f, 0xe185a0 }, { 0xe19eb4, 0xe19eb5 }, { 0xe1a08b, 0xe1a08f },
        { 0xe2808b, 0xe2808f }, { 0xe280a8, 0xe280ae }, { 0xe281a0, 0xe281af },
        { 0xe385a4, 0xe385a4 }, { 0xefb880, 0xefb88f }, { 0xefbbbf, 0xefbbbf },
        { 0xefbea0, 0xefbea0 }, { 0xefbfb0, 0xefbfbb }, { 0xf09390b0, 0xf09390bf },
        { 0xf09bb2a0, 0xf09bb2a3 }, { 0xf09d85b3, 0xf09d85ba }, { 0xf3a08080, 0xf3a0bfbf } };
    uint32_t bytes = 0;
    if (*s >= 0x20 && *s < 0x7f) return 0;         /* most */
    size_t n = prof__utf8_length(s);
    if (n < 2 || PROF__BARE) return n < 2 ? n : 0;
    for (size_t i = 0; i < n; i++) bytes = bytes << 8 | (unsigned char)s[i];
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (bytes >= ranges[i][0] && bytes <= ranges[i][1]) return n;
    return 0;
}

/* Writes the code point at *s as valid UTF-8, else U+FFFD, and moves *s past it. */
PROF__FN void prof__out_code_point(prof__out *o, const char **s) {
    size_t n = prof__utf8_length(*s);
    if (n) prof__out_bytes(o, *s, n);
    else prof__out_text(o, "\xef\xbf\xbd");
    *s += n ? n : 1;
}

/* Writes the code point at *s, escaped for the inside of a JSON string, to p: 12 bytes at most.
   Moves *s past it, and returns p behind it. */
PROF__FN char *prof__text_json(char *p, const char **s) {
    static const char hex[] = "0123456789abcdef";
    const char *c = *s;
    size_t n = prof__utf8_length(c);
    *s += n ? n : 1;
    if (!n) c = "\xef\xbf\xbd";
    n = n ? n : 3;
    if (prof__control(c)) {
        uint32_t code = (unsigned char)*c & 0xffu >> n;
        while (--n) code = code << 6 | ((unsigned char)*++c & 0x3f);
        if (!PROF__BARE && code > 0xffff)
            code = (0xd7c0u + (code >> 10)) << 16 | 0xdc00u | (code & 0x3ff);
        for (int i = code > 0xffff ? 28 : 12; i >= 0; i -= 4) {
            if (i % 16 == 12) {
                *p++ = '\\';
                *p++ = 'u';
            }
            *p++ = hex[code >> i & 15];
        }
        return p;
    }
    if (*c == '"' || *c == '\\') *p++ = '\\';
    while (n--) *p++ = *c++;
    return p;
}

/* Writes s escaped for the inside of a JSON string. */
PROF__FN void prof__out_json(prof__out *o, const char *s) {
    for (const char *from = s; *s; from = s) {
        while (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\') s++;
        prof__out_bytes(o, from, (size_t)(s - from));
        prof__out_room(o, 12);
        if (*s) o->p = prof__text_json(o->p, &s);
    }
}

/* Writes format, in which %s is a text, %j a text inside a JSON string, %u a uint64_t, %i an
   int64_t, %t an int64_t of ns as microseconds with three decimals, and, not on targets, %b bytes
   and their size_t, and %, what o->comma says, which is a comma from then on. make lint checks the
   arguments. */
PROF__FN void prof__out_list(prof__out *o, const char *format, va_list arguments) {
    char what;
    for (const char *from = format; ; from = format += 2) {
        while (*format && *format != '%') format++;
        prof__out_bytes(o, from, (size_t)(format - from));
        if (!*format) break;
        what = format[1];
        if (what == 's') prof__out_text(o, va_arg(arguments, const char *));
        else if (what == 'j') prof__out_json(o, va_arg(arguments, const char *));
        else if (what == 'u') prof__out_u64(o, va_arg(arguments, uint64_t));
        else if (PROF__BARE || what == 'i' || what == 't')
            prof__out_number(o, va_arg(arguments, int64_t), what == 't');
        else if (what == ',') {
            prof__out_text(o, o->comma);
            o->comma = ",";
        } else {
            from = va_arg(arguments, const char *);
            prof__out_bytes(o, from, va_arg(arguments, size_t));
        }
    }
}

PROF__FN void prof__out_f(prof__out *o, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    prof__out_list(o, format, arguments);
    va_end(arguments);
}

typedef struct prof__text_end { char *p, *end; } prof__text_end;

/* Takes what has room; false: that was not all. */
PROF__FN bool prof__text_write(void *user, const void *data, size_t size) {
    prof__text_end *to = (prof__text_end *)user;
    size_t room = (size_t)(to->end - to->p), part = PROF__MIN(size, room);
    memcpy(to->p, data, part);
    to->p += part;
    return part == size;
}

/* The same into buf, cut to size. Returns its length. What prof.h itself says is made here, so that
   stb_sprintf is linked only where the program gives a format. */
PROF__FN size_t prof__text_f(char *buf, size_t size, const char *format, ...) {
    prof__text_end to;
    prof_sink sink = { prof__text_write, PROF__NULL };
    prof__out o;
    va_list arguments;
    to.p = buf;
    to.end = buf + size - 1;
    sink.user = &to;
    prof__out_open(&o, sink);
    va_start(arguments, format);
    prof__out_list(&o, format, arguments);
    va_end(arguments);
    (void)prof__out_close(&o);
    *to.p = 0;
    return (size_t)(to.p - buf);
}

/* Bytes of the code point at s; an invalid byte is one of its own. */
PROF__FN size_t prof__utf8_step(const char *s) {
    size_t n = prof__utf8_length(s);
    return n ? n : 1;
}

/* Text from outside, where NULL stands for "". */
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

/* PyTorch's unit for FLOPs: floor(log10(n) / 3); its logarithm rounds up from 10^15 - 2 on. */
PROF__FN int prof__flops_power(int64_t n) {
    static const int64_t steps[] = { 1000, 1000000, 1000000000, 1000000000000, 999999999999998 };
    int power = 0;
    while (power < 5 && n >= steps[power]) power++;
    return power;
}

/* ---- @SITES: names, merged by (name, file, line); they outlive sessions and libraries ----

   A site is the name of a zone, and the file and line where it is marked. Sites have numbers: from
   1 up those of marks, from PROF__PUSHED up the names of this session; 0 is none. For freestanding
   builds see PROF__FIRST_SITE. In marks and records a number is shifted by 8, above the depth.
   - A site never changes or moves, so that a reader with its number needs no lock. Only the name of
     a function is filled in later: see @FUNCTIONS.
   - Zones whose name has no room are recorded as "(others)", and counted by the reason.
     Freestanding builds drop and count them. */

#define PROF__PUSHED (1u << 20)

PROF__FN size_t prof__site_cost(void);   /* bytes that each name takes in the analysis */

/* The FNV-1a hash of s. *length: how many bytes of s a name keeps: at most PROF__MAX_NAME, cut
   before a character, not within it. */
PROF__FN uint32_t prof__hash(const char *s, size_t *length) {
    uint32_t h = 2166136261u;
    size_t n = 0;
    for (; s[n] && n < PROF__MAX_NAME; n++) h = (h ^ (unsigned char)s[n]) * 16777619u;
    if (s[n])
        while (n && ((unsigned char)s[n] & 0xc0) == 0x80) n--;
    *length = n;
    return h;
}

/* The number of a zone whose name is in the ELF file is the offset of the name in the section
   prof_sites, plus PROF__IN_ELF. PROF__BUILD is a site whose name is the build id. */
#define PROF__IN_ELF 0x400000u
#define PROF__BUILD (PROF__IN_ELF - 1)
PROF__INLINE bool prof__in_elf(uint32_t number) {
    return number - PROF__IN_ELF < PROF__IN_ELF;
}

#if PROF__BARE
#  ifdef PROF_NAMES_IN_ELF
#    define PROF__NAMES_OUT(number) prof__in_elf(number)
#  else
#    define PROF__NAMES_OUT(number) false
#  endif

/* Marks fill the list from the left, the names of this session from the right. A number is an index
   in the list plus 2. A mark's id holds its number less 1, shifted; 0: it has none yet. */
#define PROF__FIRST_SITE 2u
#define PROF__MARK_NUMBER(i) ((i) + PROF__FIRST_SITE)
#define PROF__NAME_NUMBER(i) (PROF_MAX_SITES - 1 - (i) + PROF__FIRST_SITE)
typedef struct prof__name { prof_site site; } prof__name;   /* its text follows it */
static struct prof__sites {
    struct { uint32_t count; } names;
    uint32_t count;                      /* marks */
    size_t cost;                         /* prof__site_cost(), or 0 where nothing is analysed */
    const prof_site *list[PROF_MAX_SITES];
} prof__sites;                           /* under the lock */

#define PROF__SITE_ID(index) (((uint32_t)(index) + PROF__FIRST_SITE - 1) << 8)   /* a mark's id */

PROF__FN bool prof__sites_full(void) {
    return prof__sites.count + prof__sites.names.count == PROF_MAX_SITES;
}

/* Adds a mark's site to the list, unless it is there. Returns the mark's id; 0: the list or the
   arena is full. */
PROF__FN uint32_t prof__mark_resolve(prof__mark *mark) {
    uintptr_t lock = prof__lock();
    if (!mark->id && !prof__sites_full() && prof__promise(prof__sites.cost)) {
        prof__sites.list[prof__sites.count] = mark->site;
        mark->id = PROF__SITE_ID(prof__sites.count++);
    }
    prof__unlock(lock);
    return mark->id;
}

/* The id, as a mark's, of a name made at run time; 0: no room. Interrupts may add names while this
   one is looked up and copied: it enters the list once it was compared with all names there. */
PROF__FN uint32_t prof__name_add(const char *name) {
    prof__name *n = NULL;
    if (!name) name = "(null)";
    for (uint32_t i = 0;;) {
        uintptr_t lock;
        for (; i < prof__sites.names.count; i++)
            if (strcmp(prof__sites.list[PROF_MAX_SITES - 1 - i]->name, name) == 0)
                return PROF__SITE_ID(PROF_MAX_SITES - 1 - i);
        if (prof__sites_full()) return 0;
        if (!n) {                        /* with what the analysis needs for it */
            size_t size = strlen(name) + 1;
            n = (prof__name *)prof__take(sizeof *n + size, prof__sites.cost);
            if (!n) return 0;
            n->site.name = (const char *)memcpy(n + 1, name, size);
            n->site.file = n->site.function = "";
            n->site.line = 0;
        }
        lock = prof__lock();
        if (i == prof__sites.names.count && !prof__sites_full()) {
            prof__sites.list[PROF_MAX_SITES - 1 - i] = &n->site;
            prof__sites.names.count = i + 1;
        }
        prof__unlock(lock);
    }
}

/* Is there a site of this number? 0 is that of "(lost)". */
PROF__FN bool prof__site_known(uint32_t number) {
    uint32_t i = number - PROF__FIRST_SITE;
    return !number || i < prof__sites.count || PROF__NAMES_OUT(number) ||
           (i < PROF_MAX_SITES && i >= PROF_MAX_SITES - prof__sites.names.count);
}

#  ifdef PROF_NAMES_IN_ELF
/* The build id's note, if the linker script defines where: it tells one ELF file from others. */
extern const uint32_t prof_build_id[] __attribute__((weak));

PROF__FN const prof_site *prof__build(void) {
    static char hex[41];
    static const prof_site site = { hex, "", "", 0 };
    const uint32_t *note = prof_build_id;
    const unsigned char *id = (const unsigned char *)(note + 4);
    if (!note || note[0] != 4 || note[1] > 20 || note[2] != 3) return NULL;
    for (size_t i = 0; i < note[1] * 2; i++)
        hex[i] = "0123456789abcdef"[id[i / 2] >> (i % 2 ? 0 : 4) & 15];
    return &site;
}

PROF__FN const prof_site *prof__site_out(uint32_t number) {
    static const char name[] = "(in the ELF file)";
    static const prof_site out = { name, name + 17, name + 17, 0 };
    return number == PROF__BUILD ? prof__build() : prof__in_elf(number) ? &out : NULL;
}
#  endif

PROF__FN const prof_site *prof__site(uint32_t number) {
    static const char name[] = "(lost)";
    static const prof_site lost = { name, name + 6, name + 6, 0 };
#  ifdef PROF_NAMES_IN_ELF
    if (prof__site_out(number)) return prof__site_out(number);
#  endif
    return number ? prof__sites.list[number - PROF__FIRST_SITE] : &lost;
}

/* Numbers without gaps: 1, 2, ..., marks first, then names; 0 for names in the ELF file, and 0. */
PROF__EAGER uint32_t prof__site_dense(uint32_t number) {
    uint32_t i = number - PROF__FIRST_SITE;
    if (!number || PROF__NAMES_OUT(number)) return 0;
    return i < prof__sites.count ? i + 1 : prof__sites.count + PROF_MAX_SITES - i;
}

#  define prof__site_order(number) prof__site_dense(number)
#  define prof__sites_of(s) (prof__sites.count + 1 + prof__sites.names.count)

#  define prof__same_site(a, b) true
#  define prof__hash_site(h, site) (h)
#  define prof__group_site(by, e) NULL
#else
typedef struct prof__name {              /* its text follows it */
    prof_site site;
    uint32_t hash, number;               /* number: its index in the list, from 1 up */
} prof__name;

#define PROF__MARK_NUMBER(i) ((i) + 1)
#define PROF__NAME_NUMBER(i) (PROF__PUSHED + (i))
#define PROF__OWN_SITES 3                /* the library's own: see prof__sums_prepare */
#define PROF__SITE_SLOTS ((PROF_MAX_SITES + PROF__OWN_SITES) * 2 + 1)   /* of an index of sites */
typedef struct prof__names {             /* of the session: in the arena from the first one on */
    prof__name **list;
    uint32_t *index;                     /* 2 * capacity + 1 slots of numbers from 1 up; 0: free */
    uint32_t count, capacity;
} prof__names;

/* What has a name. Written under the lock; threads look names up without it: what is in use stays
   where it is, and what says that it is there is written last. */
static struct prof__sites {
    prof__names names;
    uint32_t count, own;                 /* sites of the process, of them the library's own */
    uint32_t others;                     /* the site of "(others)"; 0: none needed it yet */
    uint64_t cut;                        /* names that were too long, in this session */
    prof_site list[PROF_MAX_SITES + PROF__OWN_SITES + 1];   /* 0: "(lost)" */
    uint32_t index[PROF__SITE_SLOTS];
    size_t text_used;
    char text[PROF_SITE_TEXT];
} prof__sites;

/* Reads no further than a's end, after which there may be no memory of b_length bytes. */
PROF__FN bool prof__same_text(const char *a, const char *b, size_t b_length) {
    return strncmp(a, b, b_length) == 0 && a[b_length] == 0;
}

/* Copies s into the text that lives as long as the process. Returns `last`, a copy made before, if
   s equals it, as file names often do. NULL: no room. */
PROF__FN const char *prof__site_copy(const char *s, const char *last) {
    size_t n;
    char *p = prof__sites.text + prof__sites.text_used;
    (void)prof__hash(s, &n);
    if (last && strlen(last) == n && memcmp(last, s, n) == 0) return last;
    if (PROF_SITE_TEXT - prof__sites.text_used <= n) return NULL;
    memcpy(p, s, n);
    p[n] = 0;
    prof__sites.text_used += n + 1;
    return p;
}

/* Why there is no site, instead of its shifted number: a table or the arena is full; or the lock
   was held too long. */
enum { PROF__NO_ROOM, PROF__NO_LOCK, PROF__NO_COPY };

PROF__FN uint32_t prof__site_add(const prof_site *site, bool own);

/* A site has no room: makes "(others)" for it, one of the library's own sites, which stays, as all
   sites outlive sessions. Under the lock. */
PROF__FN uint32_t prof__others_make(void) {
    static const prof_site others = { "(others)", "", "", 0 };
    if (!prof__sites.others) PROF__STORE(prof__sites.others, prof__site_add(&others, true));
    return PROF__NO_ROOM;
}

/* The number of sites, without the library's own. */
PROF__FN uint32_t prof__sites_marked(void) {
    return PROF__ACQUIRE(prof__sites.count) - PROF__LOAD(prof__sites.own);
}

PROF__FN bool prof__sites_full(void) { return prof__sites_marked() >= PROF_MAX_SITES; }

/* s after the bracket that closes the one at s. */
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

/* Skips the qualifiers that may follow parameters or a closure. */
PROF__FN const char *prof__qualifiers_past(const char *s) {
    static const char more[][11] = { " const", " volatile", " mutable", " noexcept", " &" };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (prof__begins(s, more[i])) s += strlen(more[i]);
    return s;
}

typedef struct prof__qualified { char *text; size_t count, size; } prof__qualified;

PROF__FN void prof__qualified_add(prof__qualified *q, const char *s, const char *end) {
    for (; s < end && q->count + 1 < q->size; s++) q->text[q->count++] = *s;
    q->text[q->count] = 0;
}

/* Adds the bracket at s, which is part of a name, and returns what follows it. An anonymous
   namespace is left out, a closure is <lambda>. */
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

/* Makes A<T>::f [T = char] of "static int A<T>::f(int) [with T = char]", the form of gcc and clang.
   Text before a space is no part of the name, nor is a star that clang puts before it. */
PROF__FN void prof__qualified_make(prof__qualified *q, const char *s) {
    while (*s && !prof__begins(s, " [")) {
        char last = q->count ? q->text[q->count - 1] : ':';
        if (last == ':' && prof__begins(s, "operator")) {
            const char *name = s;
            s += 8;
            s += prof__begins(s, "()") ? 2 : strcspn(s, "(");
            prof__qualified_add(q, name, s);
        } else if (*s == '(' && last != ':') {
            s = prof__qualifiers_past(prof__closed(s));
            if (*s != ':') break;
        } else if (*s == '(' && (s[1] == '*' || s[1] == '&')) s += 2;   /* of what it returns */
        else if (*s == '(' || *s == '<' || *s == '{') s = prof__qualified_group(q, s);
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
        const char *names = strstr(from, "; std::");   /* gcc explains its own names there */
        prof__qualified_add(q, s, s + 2);
        prof__qualified_add(q, from, names ? names : to);
        if (names) prof__qualified_add(q, to - 1, to);
    }
}

/* A site's name; where its function has parameters, as in C++, the qualified name. */
PROF__FN const char *prof__site_name(const prof_site *site, char *text, size_t size) {
    prof__qualified q = { text, 0, size };
    const char *name = site->name ? site->name : "(null)";
    if (!site->function || !strchr(site->function, '(')) return name;
    *text = 0;
    prof__qualified_make(&q, site->function);
    return strstr(text, strcmp(name, "operator()") ? name : "") ? text : name;
}

/* The number of a site, new or known; 0 when the table or the arena is full. own: it is one of the
   library's, for which room was kept. Under the lock. */
PROF__FN uint32_t prof__site_add(const prof_site *site, bool own) {
    static char qualified[512];          /* not on the stack, of which a zone has little */
    const prof_site *last = prof__sites.count ? &prof__sites.list[prof__sites.count] : NULL;
    const char *name = prof__site_name(site, qualified, sizeof qualified);
    const char *file = site->file ? site->file : "",
               *function = name == qualified ? site->name : site->function ? site->function : "";
    prof_site *to = prof__sites.list + prof__sites.count + 1;
    size_t length;
    uint32_t i = (prof__hash(name, &length) ^ site->line * 2654435761u) % PROF__SITE_SLOTS;
    for (; prof__sites.index[i]; i = (i + 1) % PROF__SITE_SLOTS) {
        const prof_site *s = prof__sites.list + prof__sites.index[i];
        if (s->line == site->line && prof__same_text(s->name, name, length) &&
            strcmp(s->file, file) == 0)
            return prof__sites.index[i];
    }
    if (!own && (prof__sites_full() || prof__arena_room(PROF__FOR_NAMES) < prof__site_cost()))
        return prof__others_make();
    to->name = own ? name : prof__site_copy(name, last ? last->name : NULL);
    to->file = own ? file : prof__site_copy(file, last ? last->file : NULL);
    to->function = own ? function : prof__site_copy(function, last ? last->function : NULL);
    to->line = site->line;
    if (!to->name || !to->file || !to->function) return prof__others_make();
    if (name[length]) prof__sites.cut++;
    PROF__STORE(prof__sites.own, prof__sites.own + own);
    if (!own) prof__arena.promised += prof__site_cost();
    prof__sites.index[i] = prof__sites.count + 1;
    PROF__RELEASE(prof__sites.count, prof__sites.count + 1);
    return prof__sites.count;
}

/* The slot of a name in the index, which holds its number, or 0 if it is new. Needs no lock: the
   slot is filled last, and prof_stop waits for threads that search. A thread that was stalled here
   for longer may read another session's bytes: it stays inside the arena and finds nothing. */
PROF__FN uint32_t *prof__name_slot(const char *name, size_t length, uint32_t hash) {
    prof__names *names = &prof__sites.names;
    uint32_t *index = PROF__ACQUIRE(names->index), capacity = PROF__LOAD(names->capacity);
    prof__name **list = PROF__LOAD(names->list);
    uintptr_t base = (uintptr_t)PROF__LOAD(prof__arena.base),
              end = (uintptr_t)PROF__LOAD(prof__arena.end);
    uint32_t slots = capacity * 2 + 1, i = hash % slots, number;
    while ((number = PROF__ACQUIRE(index[i])) != 0 && number <= capacity) {
        const prof__name *n = PROF__LOAD(list[number - 1]);
        uintptr_t at = (uintptr_t)n;
        if (at < base || at + sizeof *n + length >= end) break;
        if (n->hash == hash && prof__same_text((const char *)(n + 1), name, length)) break;
        i = i + 1 == slots ? 0 : i + 1;
    }
    return index + i;
}

PROF__FN uint32_t prof__name_add(const char *name, size_t length, uint32_t hash) {
    prof__names *names = &prof__sites.names;
    uint32_t *slot;
    prof__name *n;
    char *text;
    if (!names->index) {
        size_t list = prof__align(names->capacity * sizeof *names->list);
        size_t bytes = prof__align(list + (2 * (size_t)names->capacity + 1) * sizeof(uint32_t));
        char *p = (char *)prof__take_for(PROF__FOR_NAMES, bytes, 0);
        if (!p) return prof__others_make();
        memset(p, 0, bytes);
        PROF__STORE(names->list, (prof__name **)(void *)p);
        PROF__RELEASE(names->index, (uint32_t *)(void *)(p + list));
    }
    slot = prof__name_slot(name, length, hash);
    if (*slot) return *slot;
    if (names->count == names->capacity) return prof__others_make();
    n = (prof__name *)prof__take_for(PROF__FOR_NAMES, sizeof *n + length + 1, prof__site_cost());
    if (!n) return prof__others_make();
    text = (char *)(n + 1);
    memcpy(text, name, length);
    text[length] = 0;
    n->site.name = text;
    n->site.file = n->site.function = "";
    n->site.line = 0;
    n->hash = hash;
    n->number = names->count + 1;
    PROF__STORE(names->list[names->count], n);
    PROF__RELEASE(names->count, n->number);
    PROF__RELEASE(*slot, names->count);   /* last: a reader who finds it may use it */
    return names->count;
}

/* Is there a site of this number? 0 is that of "(lost)". */
PROF__FN bool prof__site_known(uint32_t number) {
    return number >= PROF__PUSHED ? number - PROF__PUSHED < PROF__ACQUIRE(prof__sites.names.count)
                                  : number <= PROF__ACQUIRE(prof__sites.count);
}

PROF__FN const prof_site *prof__site(uint32_t number) {
    return number >= PROF__PUSHED ? &prof__sites.names.list[number - PROF__PUSHED]->site
                                  : prof__sites.list + number;
}

/* Numbers are in order already: those of marks come first. */
#define prof__site_order(number) (number)

/* The site, if it is in the source: of a file and line. */
PROF__FN const prof_site *prof__site_placed(uint32_t number) {
    const prof_site *site = number ? prof__site(number) : NULL;
    return site && *site->file ? site : NULL;
}

#define PROF__SOURCE (PROF__MAX_NAME + 16)

/* "file:line", or "file" where the line is not known; site NULL: "". source: PROF__SOURCE bytes. */
PROF__FN const char *prof__site_source(const prof_site *site, char *source) {
    source[0] = 0;
    if (site) (void)prof__text_f(source, PROF__SOURCE, site->line ? "%s:%u" : "%s", site->file,
                                 (uint64_t)site->line);
    return source;
}

/* Are these the same file and line? NULL: none. */
PROF__FN bool prof__same_site(const prof_site *a, const prof_site *b) {
    if (a == b || !a || !b) return a == b;
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

PROF__FN uint32_t prof__hash_site(uint32_t h, const prof_site *site) {
    size_t length;
    return site ? (h ^ prof__hash(site->file, &length)) * 31 + site->line : h;
}

/* The site where an event is marked, if rows are told apart by it; else NULL. */
PROF__FN const prof_site *prof__group_site(const prof_averages_desc *by, const prof_event *e) {
    return by->group_by_site ? prof__site_placed(e->site) : NULL;
}
#endif

/* ---- @FORMAT: what a record is; all that knows it ----

   A thread's records follow one another in 12-byte slots, in the order in which its zones ended. A
   zone is one slot: the lower half of its end, its duration, its site and depth. All other records
   may take more slots: they have a kind instead of the site, and instead of the depth the number
   of slots that follow the first. Every reader of records goes through prof__next.
   - A reader never looks past `end`; a record that is cut off there is not read.
   - Each record takes at least one slot, so that a reader always makes progress.
   - No third word is 0, but of a slot that was claimed and is not written. Readers pass over it.
   - Records of a kind that only a later version knows are skipped whole. */

/* The third word of a long record is kind << 8 | how many 12-byte slots follow the first. */
enum {
    PROF__KIND = 0xffff00,               /* site numbers from here on are kinds */
    PROF__CLOCK,                         /* {epoch, 0}: upper half of the ends that follow */
    PROF__ZONE64,                        /* {duration lo, hi}{end lo, hi, site_depth} */
    PROF__UNFINISHED,                    /* as ZONE64, ended by the profiler */
    PROF__INSTANT,                       /* {tick lo, hi}{0, 0, site << 8 | 255} */
    PROF__COUNTER,                       /* {tick lo, hi}{value lo, hi, site << 8 | 255} */
    PROF__STEP,                          /* {start lo, hi}{end lo, hi, 255}{number lo, hi, 255} */
    PROF__PART,                          /* from here to FLOW: see @DETAILS */
    PROF__ATTRIBUTE,
    PROF__MEMORY,
    PROF__ASYNC,
    PROF__FLOW,
    PROF__REAL,                          /* as COUNTER, the value a double */
    PROF__PARTIAL                        /* as ZONE64, up to where the timeline ended: sums have all
                                            of the zone */
};
#define PROF__PART_WORD ((uint32_t)PROF__PART << 8)   /* alone: an empty slot */

/* The position of a reader in a thread's records. base: a time whose upper half is that of the ends
   that follow; freestanding: from which the next end is counted. last: the end of the zone before,
   if the reader sets it. */
typedef struct prof__cursor {
    const prof__record *at, *end;
    uint64_t base, last;
} prof__cursor;

/* One record, at `at`, of `slots` slots. kind: 0 a zone; PROF__CLOCK to PROF__PARTIAL as written;
   PROF__KIND: one that this version does not know, or that is cut off. A zone has end, duration
   and site_depth, a moment its time in end and its value, a step end, duration and value. */
typedef struct prof__item {
    uint32_t kind, slots, site_depth;
    uint64_t end, duration, value;
    const prof__record *at;
} prof__item;

/* How far a thread's time has come: the end and the depth of its last zone; the ticks by which its
   clock has gone back. */
typedef struct prof__course {
    uint64_t last, back;
    uint32_t depth;
} prof__course;

PROF__INLINE uint64_t prof__record_get(const prof__record *c) {
    return (uint64_t)c->duration << 32 | c->end;
}

PROF__EAGER void prof__record_set(prof__record *c, uint64_t n, uint32_t word) {
    c->end = (uint32_t)n;
    c->duration = (uint32_t)(n >> 32);
    c->site_depth = word;
}

/* Slots of a chunk that are kept for so many open zones: the end of each may need a record of two
   slots, or one and the clock's. */
#define PROF__RESERVE(open) (2 * (open) + 4)

/* Slots behind a chunk's limit: each end that a signal handler interrupts between its look at the
   limit and its claim takes one, and handlers interrupt each other. */
enum { PROF__CLAIMS = PROF__BARE ? 0 : 4 };

PROF__FN void prof__clock_back(void);

/* Freestanding: the time, of 64 bits, at which the clock next has this lower half; where it went
   back by less than 2^16 ticks, the time before. */
PROF__FN uint64_t prof__time_next(uint64_t time, uint32_t clock) {
    uint32_t step = clock - (uint32_t)time;
    if (step >= 0xffff0000u) time -= (uint64_t)1 << 32;
    return time + step;
}

/* The 64-bit end of a zone's record. Freestanding: by the end before; if that is more than half a
   wrap earlier the clock went back. */
PROF__EAGER uint64_t prof__cursor_end(prof__cursor *k, uint32_t end) {
    if (!PROF__BARE) return k->base | end;
    if ((end - (uint32_t)k->base) >> 31) prof__clock_back();
    return k->base = prof__time_next(k->base, end);
}

/* How many slots a longer record at c takes. Sets *kind to PROF__KIND where it cannot be read. */
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

PROF__INLINE bool prof__item_is_zone(const prof__item *i) {
    return !i->kind || i->kind == PROF__ZONE64 ||
           (!PROF__BARE && (i->kind == PROF__UNFINISHED || i->kind == PROF__PARTIAL));
}

/* Hosts: did the clock go back within the zone of a record of one slot? The hot path writes end -
   begin; zones that begin in another upper half of the clock than they end in have two slots. Who
   reads records of this process takes such a zone as one without length, and counts it. A slot that
   is not written yet tells nothing. */
#define PROF__BACK UINT64_MAX            /* the ticks of such a zone */
PROF__INLINE bool prof__went_back(const prof__record *zone) {
    return zone->duration > zone->end && zone->site_depth;
}

#if !PROF__BARE
/* Where the clock went back between zones, the thread's time goes on from where it was: for who
   reads items one by one. A zone that ends before those in it did ends with them. */
PROF__FN void prof__go_on(prof__course *c, prof__item *i) {
    uint64_t late;
    i->end += c->back;
    if (!prof__item_is_zone(i)) return;
    late = c->last - PROF__MIN(i->end, c->last);
    if ((uint8_t)i->site_depth >= c->depth) {   /* nothing is in it */
        if (late) late += i->duration;
        c->back += late;
    } else {
        i->duration += late;
    }
    c->last = i->end += late;
    c->depth = (uint8_t)i->site_depth;
}
#endif

/* What a zone's event has in flags. */
PROF__FN uint16_t prof__item_flags(const prof__item *i) {
    if (!PROF__BARE && i->kind == PROF__PARTIAL) return PROF_EVENT_UNFINISHED | PROF_EVENT_PARTIAL;
    return i->kind == PROF__UNFINISHED ? PROF_EVENT_UNFINISHED : 0;
}

PROF__FN void prof__next_long(prof__cursor *k, prof__item *i) {
    const prof__record *c = k->at, *second;
    i->kind = c->site_depth >> 8;
    if (i->kind < PROF__KIND) i->kind = PROF__PART;   /* a slot that is not written */
    i->slots = prof__record_slots(c, k->end, &i->kind);
    i->at = c;
    k->at = c + i->slots;
    second = c + (i->slots > 1);
    i->site_depth = second->site_depth;
    i->duration = 0;
    i->end = prof__record_get(c);
    i->value = prof__record_get(second);
    if (!second->site_depth && i->kind != PROF__KIND) i->kind = PROF__PART;
    if (i->kind == PROF__CLOCK) {
        k->base = (uint64_t)c->end << 32 | c->duration;
    } else if (prof__item_is_zone(i)) {
        i->duration = i->end;
        k->base = PROF__BARE ? i->value : (uint64_t)second->duration << 32;
        i->end = PROF__BARE ? k->base : prof__cursor_end(k, second->end);
    } else if (!PROF__BARE && i->kind == PROF__STEP) {
        i->duration = i->value - PROF__MIN(i->end, i->value);
        i->end = i->value;
        i->value = prof__record_get(c + 2);
    }
}

/* Reads the next record; false: there is none. */
PROF__EAGER bool prof__next(prof__cursor *k, prof__item *i) {
    const prof__record *c = k->at;
    if (c >= k->end) return false;
    if (PROF__UNLIKELY((c->site_depth >> 8) - 1 >= PROF__KIND - 1)) {
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

/* ---- @STATES: what a thread has: its open zones, its chunks, its row in the trace ----

   A thread may be recording while others stop the session, start the next one and lay the
   arena out anew. What it may touch then, and what keeps that valid:
     its slot, its state, the memory between the state's begin and limit
                      are its own until it gives the state back: no session lays anything over them,
                      and nobody reads what it writes there too late
     words of the process, such as prof__on and prof__recorder.wants
                      are read atomically and may be of a later session; what a thread writes to its
                      state goes by what prof__state_open copied there from its session
     all else: the trace, the arena, the description, names, observers
                      where prof__on has the state's generation, under the lock or in the slow
                      path: there the thread has its own lock, which the end of the session takes
   The thread that ends the session reads the states in prof__recorder.owned. prof_dump reads those
   in pool.used, by rules of its own. */

#define PROF__HAS_PLACE 0x20000000u      /* in prof_extra.has: work that prof_launch told of */
#define PROF__HAS_SHARED 0x80000000u     /* in prof_extra.has: more than one event may have it */
#define PROF__HAS_NATIVE 0x40000000u     /* its stack is a native one */
#define PROF__HAS_PATH 0x10000000u       /* ... is the zones around it; else the program's own */

/* What an allocation or free became. */
enum { PROF__ALLOCATED, PROF__FREED, PROF__FREE, PROF__NO_MEMORY, PROF__NOT_COUNTED,
       PROF__FREE_OLDER };               /* of what was allocated before the window */

typedef struct prof__memory {
    int64_t ns;
    uint64_t address;
    int64_t bytes, total;                /* the change; in use on its device after it */
    uint32_t event, thread;              /* event: that it is charged to, or PROF_NONE */
    uint32_t next;                       /* first PROF_NONE: charge the zone around it; then 1 + the
                                            earlier allocation there, whose free was missed */
    prof_device device;
    uint8_t category;                    /* prof_memory_kind; in Chrome traces | MEMORY_TOLD */
    uint8_t what;
} prof__memory;
#define PROF__MEMORY_TOLD 0x80

/* ---- what the analysis keeps beside the events ---- */

/* What traces with device work or memory keep beside each event, children included: of a host the
   kernels that it launched, of work (prof__is_work) its launch and the launcher's next kernel. */
typedef struct prof__side {
    int64_t device_ns, device_bytes;
    union {
        struct { uint32_t first_kernel, last_kernel; int64_t cpu_bytes; } host;
        struct { uint32_t next, launcher; int64_t launched_ns; } work;
        struct { uint32_t next; const prof_kernel *kernel; } listed;   /* in an extra */
    } of;
} prof__side;

/* Work that was launched: see prof_launch. Its token tells where it lies. */
enum { PROF__LAUNCH_OPEN = 1, PROF__LAUNCH_DONE };
typedef struct prof__launch {
    uint64_t at;                         /* when, in ticks */
    uint64_t start, end;                 /* by the device's clock */
    uint32_t name;                       /* a site */
    uint16_t thread;
    uint8_t queue, state;
} prof__launch;

enum { PROF__LAUNCHES = 64 };            /* of a block */
struct prof__launches {
    prof__launch list[PROF__LAUNCHES];   /* first: tokens count 16 bytes */
    struct prof__launches *next;
    uint32_t count;
};

/* One thread of one node. top: the innermost event that may hold the next one. */
typedef struct prof__lane { int64_t id; uint32_t top; } prof__lane;

#define PROF__LANE_COST (sizeof(prof__lane) + 2 * sizeof(uint32_t))

/* Bytes beside each zone where a trace has events that are no zones (FORK: steps alone), or where
   zones carry more than their times (WIDE). */
#define PROF__FORK_COST (3 * sizeof(uint32_t))
#define PROF__WIDE_COST (sizeof(prof__side) + PROF__FORK_COST)

/* The room for a step's name. PROF__STEP_COST: bytes of a step's analysis beside its slots'. */
enum { PROF__STEP_NAME = 40 };
#define PROF__EVENT_MEMORY 0x8000        /* in flags, until the order is made: "[memory]" */
#define PROF__EVENT_STEP 0x4000          /* in flags: steps follow each other, also at one time */
#define PROF__EVENT_NAMED 0x2000         /* in flags: its "Zone id" is in the Chrome trace, */
#define PROF__EVENT_TOLD 0x1000          /* or its "Zone parent id": see prof__tell_parents */
#define PROF__EVENT_DROPPED 0x0800       /* in flags: prof__move_up removes it */
#define PROF__STEP_COST \
    (sizeof(prof_extra) + PROF__STEP_NAME + PROF__GROUP_COST + PROF__LANE_COST)

typedef struct prof__segment prof__segment;
typedef struct prof__row prof__row;
typedef struct prof__tally prof__tally;

/* Counts of both ports. Hosted: each thread writes its own, any reads. Bare: one set, locked. */
#define PROF__COUNTS_BOTH \
    size_t full, deep, others, unbalanced, healed, unfinished, steps, not_kept;

/* ---- the two ports: members that structs below have in one alone (PROF__..._PORT), and types ----

   PROF__HOST(call): call, or on targets nothing. PROF__STAT_HOST(each): each, or on targets a macro
   that drops what is counted on hosts alone.
   PROF__NO: the index of counts that are not in the raw stream; its indexes are lower. */

#if PROF__BARE
#define PROF__GROUP_PORT int64_t on_cpu_ns;
#define prof__wide_of(r) ((void)(r), (prof__group_wide *)NULL)
#define PROF__SEGMENT_PORT \
    uint64_t base;                       /* the clock at its first record that is not flushed */
#define PROF__OPEN_PORT \
    bool ended;                          /* it ended, at: */ \
    uint64_t end;
#define PROF__TALLY_PORT
#define PROF__ROW_PORT \
    uint16_t context;                    /* whose it is, or: */
#define PROF__OVER UINT16_MAX            /* nobody's: the task has ended */
#define PROF__AWAY (UINT16_MAX - 1)      /* a task's that does not run, or main()'s before tasks */
#define PROF__CPU (UINT16_MAX - 2)       /* the kernel's: which task ran when */
#define PROF__RAW_PORT \
    uint32_t zones;                      /* how many were written */
#define PROF__SPAN_PORT \
    prof__segment *page;                 /* in which `at` is; those behind are in the span, too */ \
    const struct prof__state *t;         /* whose; NULL: there is no page */
#define PROF__BUCKETS 16
#define PROF__BUCKET_BITS 2
enum { PROF__NO = 17 };
#define PROF__HOSTED(index) PROF__NO
#define PROF__HOST(call) ((void)0)
#define PROF__STAT_HOST(each) PROF__STAT_NONE
#define prof__launched(s) 0u
#define prof__launch_rows(s) 0u
#define PROF__HOST_TEXT(text) ""
#define PROF__COLUMN_SITE(HOST)
#define PROF__COLUMN_COUNTERS(HOST)
#define prof__inside(now) (now)
#define PROF__CALL_USERS(call) call
#define prof__copy_words memcpy

typedef struct prof__counts { PROF__COUNTS_BOTH } prof__counts;
typedef uint8_t prof__at;                /* of a member of prof_average */
typedef uint32_t prof__amount;
typedef struct prof__scale { uint32_t none; } prof__scale;

struct prof__state;
struct prof__parts {                     /* what a mode does: all but mode may be NULL */
    prof_mode mode;
    prof__segment *(*page)(struct prof__state *t);   /* to go on in, or its own, emptied;
                                            NULL: none. Without: a free one */
    bool (*late)(struct prof__state *t); /* writes the zones that wait; false: no room */
    bool (*write)(struct prof__state *t, prof__segment *g);   /* STREAM: what is new of it;
                                            false: it failed */
    void (*close)(void);                 /* when the session has ended */
    size_t (*average)(prof_average *rows, size_t max);
};

typedef struct prof__plan { size_t state, page; } prof__plan;   /* bytes */
#else
#define PROF__GROUP_PORT \
    const prof__tally *sums;             /* what is in no timeline; NULL: nothing */ \
    uint32_t last;                       /* close, or its event; PROF_NONE: it is recursive */ \
    prof__group_wide wide;
#define prof__wide_of(r) (&(r)->wide)
#define PROF__OPEN_PORT
#define PROF__SEGMENT_PORT \
    prof__record *flushed;               /* below: streamed */ \
    prof__record *begin, *limit; \
    uint64_t position;                   /* slots this thread wrote before it */ \
    prof__row *row; \
    size_t number;                       /* in the order in which they were begun, from 1; 0: it \
                                            is free. Another one says that it was used again */ \
    prof__segment *made, *queued;        /* next of all; of those that may be taken */ \
    uint32_t epoch;                      /* the clock's upper half at flushed */
#define PROF__TALLY_PORT \
    uint32_t number;                     /* in the order in which its thread's rows were made */ \
    uint64_t usual;                      /* longer ones take prof__block_put */ \
    uint64_t halved;                     /* calls that the buckets have no more */ \
    uint64_t around;                     /* ticks of deep zones in its zones in records */ \
    prof__tally *next;                   /* of its thread, NULL: the last one */ \
    const prof__tally *same;             /* while reading: another of the same name */
#define PROF__ROW_PORT \
    uint32_t open_count; \
    prof__record *cursor;                /* where prof_stop found it; NULL: the thread had left */ \
    uint64_t stop_tick;                  /* when prof_stop did */ \
    uint32_t generation; \
    uint32_t renames;                    /* twice their number; odd: name is being written */ \
    size_t overwritten;                  /* slots */ \
    bool left;                           /* the thread has given its state back */ \
    bool over;                           /* the thread ended: its id may be another's now */ \
    bool pinned;                         /* the caller knows the index: it stays this thread's */ \
    uint8_t awaited;                     /* made for a thread without zones so far: 1: by its id, 2:
                                            by its OS id; 0: it is no such row */ \
    uint64_t os_id;                      /* the OS's; info.id is this row's alone */ \
    prof__course course;                 /* of what is in a Chrome stream */ \
    prof__row *again;                    /* while it is free: the next free row */ \
    prof__open *open;                    /* zones that prof_stop ended, outermost first. This and \
                                            what follows stays when it is used again */ \
    bool listed;                         /* the row is in the list of rows */ \
    uint32_t order;                      /* of its thread, as threads came */
#define PROF__SPAN_PORT \
    uint32_t holes;                      /* their zones are lost; once recording is over, open */ \
    uint32_t steps;                      /* zones in which the clock went back */
#define PROF__RAW_PORT \
    uint32_t row;                        /* of a dump: 1 + number of the last row written */ \
    uint32_t metadata;                   /* changes that were written */ \
    uint64_t last_knot;                  /* last one written; UINT64_MAX: none in this round */ \
    prof__knot now;                      /* both clocks, as read last; the session's time then */ \
    uint64_t now_ns;
#define PROF__BUCKETS 59
#define PROF__BUCKET_BITS 1
enum { PROF__NO = 26 };
#define PROF__HOSTED(index) (index)
#define PROF__HOST(call) call
#define PROF__STAT_HOST(each) each
#define prof__launched(s) ((s)->outside.launched)
#define prof__launch_rows(s) ((s)->outside.launch_rows)
#define PROF__HOST_TEXT(text) text
#define PROF__COLUMN_SITE(HOST) HOST(SITE, SITE, site, "Source", "source")
#define PROF__COLUMN_COUNTER(HOST, i) \
    HOST(SELF_COUNTER##i, INTEGER, self_counters[i], "Self $", "self_$") \
    HOST(COUNTER##i, INTEGER, counters[i], "$", "$")
#define PROF__COLUMN_NS_PER(HOST, i) HOST(NS_PER##i, NS_PER, counters[i], "ns per $", "ns_per_$")
#define PROF__COLUMN_COUNTERS(HOST) \
    PROF__COLUMN_COUNTER(HOST, 0) PROF__COLUMN_COUNTER(HOST, 1) \
    PROF__COLUMN_COUNTER(HOST, 2) PROF__COLUMN_COUNTER(HOST, 3) \
    PROF__COLUMN_NS_PER(HOST, 0) PROF__COLUMN_NS_PER(HOST, 1) \
    PROF__COLUMN_NS_PER(HOST, 2) PROF__COLUMN_NS_PER(HOST, 3)

typedef struct prof__counts {
    PROF__COUNTS_BOTH
    size_t stalled_us;                   /* see prof_stats */
    size_t async, async_ends;            /* ranges begun, and ends of ranges */
    size_t summed, summed_open;          /* zones that are only in sums; of them, unfinished */
    size_t slots, extra;               /* 12-byte slots written, and those that are not a zone */
} prof__counts;
typedef uint16_t prof__at;

/* Where the rows of sites are: in their slot or the next free one; one is always free. */
typedef struct prof__tally_index {
    uint32_t mask;                       /* slots - 1; a power of two */
    prof__tally *rows[1];
} prof__tally_index;

/* A thread's rows. They stay where they are once they are made, so that others may read them. */
typedef struct prof__tallies {
    prof__tally_index *index;
    prof__tally *others, *last;          /* others: the first row, of all sites that have none */
    size_t calls;                        /* since prof__tallies_halve */
    bool full;                           /* no row could be made any more */
    char *low, *high;                    /* all this memory lies between; others' may, too */
} prof__tallies;

/* The rows of all threads by name, made for a report; others is behind them. */
typedef struct prof__merged {
    prof__tally *rows;
    uint32_t slots, used;                /* slots: a power of two; one is always free */
    bool by_site;                        /* a row for each site of a name */
} prof__merged;

/* The call that begins a zone: where it returns to, and its stack frame. */
enum { PROF__BY_CALL, PROF__BY_SCOPE };  /* CALL: the zone may outlive its block */
typedef struct prof__entry_frame {
    const void *returns, *frame;
    uintptr_t stack;                     /* the stack pointer at the call; 0: not known */
    uintptr_t function;                  /* the instrumented one, or PROF__BY_... of a mark */
} prof__entry_frame;

typedef struct prof__bounds { uintptr_t low, high; } prof__bounds;

/* What began an open zone. It is kept for the upper quarter of max_depth, whose zones take the slow
   path, and for instrumented functions. What is here may be of an older zone: it is of the zone in
   the frame if both have the same start and site. */
typedef struct prof__origin {
    uintptr_t stack, returns, function;  /* of prof__entry_frame */
    struct { uint32_t start, site; } of; /* as in the frame */
} prof__origin;
#if defined(PROF_INSTRUMENT_FUNCTIONS)
#  define PROF__ORIGINS(depth) ((size_t)(depth))
#  define PROF__ORIGINS_FROM(t) ((t)->frames)   /* the first frame that has one */
#else
#  define PROF__ORIGINS(depth) (((size_t)(depth) + 3) / 4)
#  define PROF__ORIGINS_FROM(t) ((t)->crowd)
#endif

enum { PROF__HINTS = 64, PROF__HINTED = 64 };   /* HINTED: bytes of a name for which there is one */

/* An open zone deeper than max_depth. The state keeps the memory of all that it had. */
typedef struct prof__deep {
    prof__frame frame;                   /* first; a token of the zone is the address behind it */
    struct prof__deep *below, *above;    /* the zone around it; where the next one within it goes */
    uint64_t within;                     /* ticks of what ended within it */
    prof__origin origin;
} prof__deep;

/* What a session records beside each zone: counters, native stacks. begin runs before the zone's
   start is taken and end after its end is, so that its time includes neither. With hooks all zones
   take the slow path. */
struct prof__state;
typedef struct prof__zone_hooks {
    void (*begin)(struct prof__state *t, prof__frame *f, prof__entry_frame entry);
    void (*end)(struct prof__state *t, prof__frame *f);
    uint32_t slots;                      /* the most that one of them writes; 0: there is none */
} prof__zone_hooks;

/* ---- a thread's state in parts ----

   The thread that owns the state writes all of it; others write only what says so, and read by the
   rules above. */

/* @SUMS: where its zones are added up, not recorded, its memory is a block that is emptied into
   rows when it is full. */
typedef struct prof__state_sums {
    bool on;                             /* with AGGREGATE always; in a trace, once it is full */
    bool held;                           /* the lock is held by who adds the block */
    uint64_t since;                      /* when the timeline ended; 0: there was none */
    uint64_t *inner;                     /* by depth: ticks of what ended within the zone that is
                                            open there, and is in no timeline. See
                                            prof__timeline_end */
    prof__record *block, *block_end;     /* kept for the state's next thread; NULL: none yet */
    prof__tallies tallies;               /* kept, too */
} prof__state_sums;

/* @RECORD: zones deeper than max_depth. */
typedef struct prof__state_deep {
    prof__deep *first, *top;             /* first: where the outermost goes; top: the innermost */
    uint32_t open;                       /* how many; not 0: hot.top is deepest */
} prof__state_deep;

/* @DETAILS */
typedef struct prof__state_details {
    prof__record *end;                   /* one past its last attribute, */
    prof__frame *top;                    /* and top then */
    bool wide, narrow;                   /* details have room, have none; neither: not asked yet */
    bool row;                            /* there is room for its zone's row of averages */
} prof__state_details;

/* @COUNTERS */
typedef struct prof__state_counters {
    uint64_t *begun;                     /* by depth: the counters at the begin */
    uint64_t added[PROF_COUNTERS];       /* by prof_add, on this thread, ever */
    uint32_t generation;                 /* the first one in whose arena these lie */
} prof__state_counters;

/* What a thread records with, from one session to the next, until it exits or calls
   prof_thread_end. What a zone's slow path reads comes first. */
typedef struct prof__state {
    prof__hot hot;                       /* must be first */
    /* Since prof__state_open, of the session: */
    uint32_t generation;
    uint32_t reserve;                    /* slots kept for the zones that are open */
    uint32_t promised;                   /* in which room for its open zones was promised */
    uint32_t recording;                  /* the generation it records in; 0: not yet, or prof_stop
                                            has read it. Under the lock */
    uint32_t lock;                       /* its own: of the slow path, and of who reads it */
    uint32_t wants;                      /* PROF__WANTS_... */
    bool fast;                           /* the hot path may work */
    bool observed;                       /* there are observers */
    bool overlaid;                       /* its zones use frames of open zones of older ones */
    bool streams;                        /* its records leave as they are: no event needs room */
    bool flushes;                        /* PROF_FULL_CONTINUE: a flush makes room */
    prof__zone_hooks hooks;
    prof_clock clock;
    prof_platform platform;
    uint32_t armed;                      /* epoch of the free frames below crowd */
    uint32_t slots;                      /* for which room in the analysis was promised */
    uint32_t number;                     /* the row is this thread's while it has this number */
    prof__row *row;
    prof__record *begin, *limit;         /* of its chunk or block of sums. Under the lock */
    prof__frame *deepest;                /* the last, which is never used */
    prof__frame *crowd;                  /* zones from this frame on take the slow path, which */
    prof__origin *origins;               /* keeps what began them: prof__origin_of */
    uintptr_t origins_less;              /* see prof__origin_at */
    prof__state_deep deep;
    prof__state_sums sums;
    prof__state_counters counters;
    /* Cleared there, from full to hints: */
    bool full;
    bool parked;                         /* a context that no thread is in. Under the lock. */
    bool own;                            /* `stack` was looked up: its thread's own, or nothing */
    uint32_t epoch;
    uint32_t skipped;                    /* begins without a token that were dropped: their ends
                                            are to come */
    uint32_t copy, copy_skipped;         /* the vfork child that is here, a process; 0: none.
                                            `skipped` before it came */
    uintptr_t handle;                    /* of the context; 0: it was never left. Under the lock */
    uint64_t last, bias;                 /* slow clocks: last tick seen, and what was added to it */
    prof__bounds stack;                  /* the memory in which its call stack was last found */
    prof__segment *segment, *before;     /* before: in a ring, left and not queued yet, or NULL */
    prof__segment *ahead;                /* it goes on there; NULL: not taken yet */
    struct { uint64_t at; size_t records; } due;   /* UINT64_MAX, 0: never. See prof__due */
    prof__state_details details;
    int32_t hints[PROF__HINTS + 1];      /* where names lie that it pushed: prof__hint_name */
    prof__counts counts;
    /* Lists, under the lock: */
    struct prof__state *next;            /* of free or of owned states */
    struct prof__state *used;            /* of those that the arena's readers see */
    prof__frame frames[1];               /* max_depth + 1: the last has an impossible epoch */
} prof__state;

PROF__FN size_t prof__state_size(uint32_t depth) {
    return prof__align(sizeof(prof__state) + depth * sizeof(prof__frame) +
                       PROF__ORIGINS(depth) * sizeof(prof__origin));
}

/* See @FUNCTIONS. */
#if defined(PROF_INSTRUMENT_FUNCTIONS)
PROF__FN uint32_t prof__inside(uint32_t now);
PROF__FN uint32_t prof__inside_users(void);
#  define PROF__CALL_USERS(call) \
    do { uint32_t before = prof__inside_users(); call; (void)prof__inside(before); } while (0)
#else
#  define prof__inside(now) (now)
#  define PROF__CALL_USERS(call) call
#endif

/* The origin of the zone in frame f, which may be a deep zone's. The state has origins for its last
   frames: from crowd on, or all where functions are instrumented. NULL: none is kept. */
PROF__EAGER prof__origin *prof__origin_of(const prof__state *t, const prof__frame *f) {
    if (PROF__UNLIKELY((uintptr_t)f - (uintptr_t)t->frames > (uintptr_t)t->deepest -
                                                                 (uintptr_t)t->frames))
        return &((prof__deep *)(uintptr_t)f)->origin;
    return f < PROF__ORIGINS_FROM(t) ? NULL : t->origins + (f - PROF__ORIGINS_FROM(t));
}

/* Is this what began the zone of frame f, which starts with the same two words? */
PROF__INLINE bool prof__origin_fits(const prof__origin *o, const prof__frame *f) {
    return memcmp(&o->of, f, sizeof o->of) == 0;
}

typedef struct prof__knot { uint64_t tick, ns; } prof__knot;   /* both clocks at one moment */
#define PROF__KNOTS 64

/* Words that their thread may be writing. The fence keeps the compiler from calling memcpy. */
PROF__FN PROF__RACES void prof__copy_words(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        memcpy((char *)to + i, (const char *)from + i, sizeof(uint32_t));
        PROF__SIGNAL_FENCE();
    }
}

/* Copies records that their thread may be writing, the third words first: the thread writes them
   last, so that where one is there the other two are. 0 is a slot that is not written yet. */
PROF__FN PROF__RACES void prof__copy_records(prof__record *to, const prof__record *from, size_t n) {
    for (size_t i = 0; i < n; i++)
        prof__copy_words(&to[i].site_depth, &from[i].site_depth, sizeof to[i].site_depth);
    PROF__FENCE();
    for (size_t i = 0; i < n; i++) prof__copy_words(to + i, from + i, 2 * sizeof(uint32_t));
}

/* What lives from prof_start to prof_stop, over all windows. Written by the calls that open and
   close windows, of which one runs at a time: see busy, which is under the lock. */
static struct prof__session {
    prof_desc desc;
    bool open;                           /* prof_start came, prof_stop not yet */
    bool busy;                           /* one of the calls that open and close windows runs */
    bool has_steps;                      /* there is a schedule */
    bool step_open;                      /* the step began in this window, at step_tick */
    bool step_seen;                      /* zones were on in some of it */
    uint32_t activities;                 /* that are wanted and there */
    uint32_t enabled;                    /* those being recorded */
    uint32_t off;                        /* that prof_toggle turned off in this window */
    prof_action action;
    uint64_t step, step_tick;
    size_t errors;                       /* steps that lost a window, or whose action is none */
} prof__session;

/* What prof_strerror says of the last error of each kind, where that is more than usual: a literal,
   or the text of this kind. Whoever fails sets it. */
static struct prof__errors {
    const char *said[PROF_ERROR_JSON + 1];
    char texts[PROF_ERROR_JSON + 1][256];
} prof__errors;

/* Says why a call fails; NULL: the usual. Returns result. */
PROF__FN prof_result prof__fail(prof_result result, const char *why) {
    PROF__STORE(prof__errors.said[result], why);
    return result;
}

/* The text that the last error of this kind set; NULL: none. */
PROF__FN const char *prof__said(prof_result result) {
    return (unsigned)result <= PROF_ERROR_JSON ? PROF__LOAD(prof__errors.said[result]) : NULL;
}

/* prof__fail, why by a format: see prof__out_list. */
#define PROF__FAIL(result, ...) \
    ((void)prof__text_f(prof__errors.texts[result], sizeof prof__errors.texts[result], \
                        __VA_ARGS__), prof__fail(result, prof__errors.texts[result]))

struct prof__reader;
struct prof__table;
enum { PROF__DEVICE_PREPARE, PROF__DEVICE_START, PROF__DEVICE_STOP, PROF__DEVICE_FLUSH };
/* A function of a room further on. */
PROF__FN void prof__devices_each(uint32_t activities, int what);

typedef uint64_t prof__amount;           /* as the fields of prof_stats */

/* ---- a trace in parts: what one room writes stands together ---- */

/* Ticks to ns since the session's start. Linear between two knots; never decreasing. */
typedef struct prof__scale { uint64_t tick, ns, last_tick, mult; int shift; } prof__scale;

/* @RECORD, under the lock: what the CPU's counter read at which ns of the OS's clock. */
typedef struct prof__knots {
    prof__knot list[PROF__KNOTS];
    uint32_t count;
    uint64_t gap_ns;
} prof__knots;

/* @THREADS, under the lock: what threads take when they begin, and give back. */
typedef struct prof__pool {
    uint32_t states;                     /* made; max_threads at most */
    size_t state_size, chunk_size;
    prof__state *free_states, *used;     /* used: all that were made; only ever added */
    size_t begun;                        /* segments so far */
    prof__segment *made, *free;          /* made: all, only ever added; free: linked by queued */
    prof__segment *oldest, *newest;      /* of a ring: those that no thread writes to any more */
    prof__row *free_rows, *last_row;
    uint32_t row_number, came;           /* rows so far; threads */
    uint32_t awaited;                    /* rows that are */
    uint32_t ids[1024];                  /* a bit for each id that a row had, by its lowest 15 */
} prof__pool;

/* @SUMS: zones that have no record. What is merged is @AGGREGATE's, when it is asked for. */
typedef struct prof__summed {
    bool on;                             /* when the arena is full threads go on in sums */
    bool any_deep;                       /* there are deep zones */
    uint32_t timeline_ends;              /* the site of that instant; 0: none yet */
    uint64_t full_tick;                  /* when the first timeline ended; 0: none did */
    size_t each;                         /* what a thread takes to begin in sums */
    uint64_t not_merged;
    prof__merged merged;                 /* AGGREGATE: for reports; with rows for them */
    prof_average *rows;
    size_t (*average)(prof_average *rows, size_t max, bool by_site);   /* reads them; NULL: another
                                            mode */
} prof__summed;

/* @RAW: what leaves while the session is open. */
typedef struct prof__streamed {
    bool flush_inline, often;            /* often: see prof__due */
    uint32_t wait;                       /* ticks between two looks of a thread: see prof__due */
    uint64_t flushed;                    /* when the last flush began. The stream's owner's */
    bool over;                           /* the session is over, and so is its stream */
    uint32_t asked;                      /* PROF__RAW_HAS_... */
    uint64_t zones;                      /* that have left */
} prof__streamed;

/* @OUTSIDE: events that no zone was recorded for, and what they say of the others. */
typedef struct prof__outside {
    struct prof__submitted *first, *last;
    uint32_t late_memory;                /* how many of these are changes of memory */
    struct prof__launches *launches;     /* the newest block */
    uint32_t launched, pending;          /* launches that are done; that are not */
    uint32_t launch_rows, queue_rows;    /* rows of averages, of the trace that they may have */
    bool any_backward;                   /* some event is backward; */
    bool any_sequence;                   /* has a sequence number */
    uint32_t kernel_count;               /* of those that extras list */
    uint64_t rejected, misplaced;
} prof__outside;

/* @LINK: changes of memory, in order of time once they are charged to zones. */
typedef struct prof__memories {
    prof__memory *list;
    uint32_t count;
    uint64_t unmatched;
} prof__memories;

#endif

/* ---- what both ports have ---- */

/* A stretch of one thread's records: a chunk, or what another thread had left of one. A ring and a
   stream use it again. On targets it is a page, whose records follow it. */
struct prof__segment {
    prof__record *end;                   /* of its records, once its thread has gone on; or NULL */
    prof__segment *next;
    PROF__SEGMENT_PORT
};

/* A zone that has no record when the session ends. */
typedef struct prof__open { uint64_t start; uint32_t site, depth; PROF__OPEN_PORT } prof__open;

/* What the trace knows of a thread. */
struct prof__row {
    prof_thread_info info;
    prof__segment *first;
    PROF__ROW_PORT
    uint32_t thread;                     /* its index in the trace; PROF_NONE: free, without one */
    prof__row *next;
    uint32_t number;                     /* in the order they came, from 0 */
    uint32_t announced;                  /* the round in which the stream wrote its name */
    char name[PROF__BARE ? 16 : 64];
};

/* The counts of prof_stats, in the order in which they are shown: name; value, of a trace s and the
   sum c of its threads' counts, 0 where that does not say it; index in the raw stream; note. PLAIN
   ones have none, HOST ones are not counted on targets. */
#define PROF__STATS(ALL, HOST, PLAIN) \
    PLAIN(recorded, 0, 0, NULL) \
    PLAIN(dropped, 0, PROF__NO, NULL) \
    HOST(stalled_us, c->stalled_us, PROF__HOSTED(25), \
        "Microseconds that threads waited for the stream within their zones, which are longer by " \
        "that (give prof_desc.memory more, or call prof_flush more often)") \
    ALL(dropped_full, c->full, 1, "Dropped, no room (give prof_desc.memory " \
        PROF__HOST_TEXT("or PROF_MAX_SITES more, or a stream ") "more" \
        PROF__HOST_TEXT(" of its disk") ")") \
    ALL(dropped_threads, s->dropped_threads, 3, \
        "Dropped, more threads at once than prof_desc.max_threads") \
    HOST(dropped_busy, PROF__LOAD(prof__loose.dropped_busy), 15, \
        "Dropped, in signal handlers that interrupted the profiler, or after a thread's end") \
    ALL(deep, c->deep, PROF__BARE ? 2 : PROF__NO, \
        "Zones deeper than prof_desc.max_depth" PROF__HOST_TEXT(" (prof record --max-depth)") \
        ", not in the timeline (is a PROF_END missing?)") \
    ALL(others, c->others, PROF__BARE ? 4 : 17, "Zones in (others), or dropped, no room for " \
        "their names or sums (PROF_MAX_SITES, prof_desc.memory)") \
    ALL(unbalanced, c->unbalanced, 5, \
        "Ends of zones or ranges that had ended, or not begun in the session, ignored") \
    ALL(healed, c->healed, 6, "Zones closed by the end of a zone around them" \
        PROF__HOST_TEXT(" (is a PROF_END missing? their times may be too long)")) \
    ALL(unfinished, c->unfinished, 8, "Zones still open when their thread or the recording ended" \
        PROF__HOST_TEXT(" (ranges and launches are left out)")) \
    ALL(clock_steps, c->steps + s->steps, 9, "Times the clock went back") \
    HOST(lost, s->lost, 16, "Zones around those of signal handlers, shown as (lost)") \
    HOST(rejected, PROF__LOAD(prof__loose.rejected) + s->outside.rejected, PROF__HOSTED(24), \
        "Events left out: their times, bytes, thread or launch are wrong (see prof_submit)") \
    HOST(misplaced, s->outside.misplaced, PROF__NO, \
        "Events that overlap another partly (is a zone open around prof_step?), or before or " \
        "without their launch or forward thread (do the clocks agree? see prof_device_clock)") \
    ALL(overwritten, s->overwritten, 11, \
        "Zones that the ring no longer holds, their time counts as self time of the zones " \
        "around them (give prof_desc.memory more)") \
    ALL(stream_failures, s->stream_failures, 13, "Times the stream's sink failed") \
    ALL(not_kept, c->not_kept, PROF__HOSTED(22), \
        "Names, details, instants, counters, events shortened or not kept (too long, or only " \
        "sums are kept, because of prof_desc.mode or memory)") \
    HOST(memory_unmatched, s->memory.unmatched, PROF__NO, \
        "Frees of memory that was not allocated in this trace, or had been freed, and " \
        "allocations at an address in use") \
    HOST(schedule_errors, PROF__LOAD(prof__session.errors), PROF__NO, \
        "Steps that lost a window, or whose action is not valid (see prof_schedule)")

#define PROF__STAT_NONE(name, value, index, note)
PROF__FN void prof__stats_take(prof_stats *out, const struct prof_trace *s, const prof__counts *c);

/* Checks that the list has as many counts as stand in prof_stats before threads. */
#define PROF__STAT_MEMBER(name, value, index, note) uint64_t name;
struct prof__stats_listed {
    PROF__STATS(PROF__STAT_MEMBER, PROF__STAT_MEMBER, PROF__STAT_MEMBER)
};
typedef char prof__stats_are_listed[
    sizeof(struct prof__stats_listed) == offsetof(prof_stats, threads) ? 1 : -1];

/* The sums of a thread's zones of one site, in ticks. Bucket n counts those under 2^(n*bits), and
   not under 2^((n-1)*bits); the last one all others. */
struct prof__tally {
    uint32_t site;                       /* shifted by 8; 0: "(others)" */
    PROF__TALLY_PORT
    uint64_t total, inner, least, most;  /* inner: of its children */
    uint32_t histogram[PROF__BUCKETS];
};

/* What decides which event is a row's first: the earlier start, the later end, the lesser order,
   thread and depth, and what came first. */
typedef struct prof__rank {
    int64_t start_ns, end_ns;
    uint32_t order, thread, depth, number;
} prof__rank;

/* The sums of a row that only some traces have, in the order of a prof_average, and cpu_us. */
typedef struct prof__group_wide {
    int64_t device_ns, self_device_ns, cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes;
    int64_t flops;
    int64_t counters[PROF_COUNTERS], self_counters[PROF_COUNTERS];
    double cpu_us;                       /* as Python adds them up */
} prof__group_wide;

/* The sums of one row of averages. Its first event tells what the row is. */
typedef struct prof__group {
    uint64_t count;
    int64_t cpu_ns, self_cpu_ns, min_ns, max_ns;
    uint32_t first, hash;                /* first: number of an event; a site where rows are made of
                                            records, or the row is only in sums */
    prof__rank rank;                     /* of its first zone */
    PROF__GROUP_PORT
} prof__group;

/* Bytes for one row more: the row, its slots in two indices, two numbers to sort by. */
#define PROF__GROUP_COST (sizeof(prof__group) + 5 * sizeof(uint32_t))

PROF__FN size_t prof__site_cost(void) {
    return prof__align(PROF__GROUP_COST + (PROF__BARE ? 0 : 72));   /* 72: shares */
}

enum { PROF__SUMS_ROW = sizeof(prof_average) + 2 * sizeof(uint32_t) };   /* with its slot in the
                                            order of a table */
enum { PROF__DEVICE_TYPES = 8 };         /* that a trace tells apart; further ones are the last's */

/* How far a trace is read. RECORDS: their losses are counted. NO_ROOM: for events, until memory is
   lent. EVENTS: made, or being made. */
typedef enum prof__progress {
    PROF__READ_NOTHING, PROF__READ_RECORDS, PROF__READ_NO_ROOM, PROF__READ_EVENTS
} prof__progress;

/* The window that is open or was last, and with it the trace: there is one. What is in no part is
   set by @SESSION when it opens, and by @RECORD or @TARGET under the lock while it is open. */
struct prof_trace {
    bool open, stopped;
#if PROF__BARE                           /* first what the recorder needs: short offsets */
    bool dumping;                        /* pages stay whose they are: prof_dump reads them */
    uint64_t time;                       /* when the clock was last read */
    const prof__parts *parts;            /* NULL: PROF_MODE_TRACE */
    bool (*ticked)(void *state, prof__frame *f);   /* prof__ticked, once prof_tick came */
    prof__plan plan;
    uint32_t rate;                       /* of the clock; 0: ns */
    prof__segment *free_pages;
    prof__row *cpu, *running;            /* "CPU"; the task's that runs, while its context is 0 */
    int64_t (*on_cpu)(uint32_t thread, const int64_t *times);   /* NULL: no tasks */
    const char *refused;                 /* what prof_start could not take last; or NULL */
#else
    prof_mode mode;
    prof_clock clock;
    prof_platform platform;
    bool lean;                           /* nothing is promised for events until details come */
    char *limit;                         /* where the memory for queries ends: at the arena's high,
                                            at what details took of it, or in the caller's */
    bool laid, began;                    /* the arena is laid out; its first window has started */
    uint32_t generation, first_generation;   /* first: of those whose records are in the arena */
    uint32_t counters;                   /* how many of desc.hw_counters */
    uint64_t stop_tick;
    prof__knots knots;
    prof__pool pool;
    prof__summed sums;
    prof__streamed stream;
    prof_view view;
    uint8_t device_types[PROF__DEVICE_TYPES];   /* that there is work on; 0: no more */
    size_t detail_bytes;                 /* that what is beside zones takes */
    size_t slot_count;                   /* zones there is room to analyse */
    bool instants;                       /* some zone took no time: see prof__tell_parents */
    bool record_ids;                     /* an execution trace has its events, */
    uint64_t first_record;               /* and so many before them */
    prof__outside outside;
    prof__memories memory;
    uint64_t ranges_twice;               /* ends of ranges that had ended */
#endif
    prof__row *rows, **rows_end;         /* rows_end: targets, where the next one goes */
    uint32_t row_count, thread_count;
    uint32_t max_threads, max_depth;
    size_t dropped_threads;
    prof__counts counts;                 /* of threads that left */
    bool records_only;                   /* nothing is promised for events, nor for rows */
    prof__amount overwritten, stream_failures, tallied;   /* tallied: zones */
    uint64_t start_tick, start_wall_ns;
    uint64_t bias;                       /* desc.platform.now has begun at 0 with it */
    uint64_t interrupts;                 /* targets' AGGREGATE: ticks of their zones */
    prof_event *events;                  /* made by the first query */
    uint32_t event_count;
    uint32_t outside_count;              /* events that may need an average's row of their own */
    struct prof__moment *moments;
    uint32_t moment_count;
    prof_thread_info *threads;           /* NULL: not prepared yet */
    char *scratch;                       /* free for queries, to the arena's high or to limit */
    prof__progress read;
    uint32_t sites;                      /* known when prepared: threads may add more meanwhile */
    prof__amount steps, lost, unfinished;   /* found while reading */
    uint32_t zone_count;                 /* of the events, before the others joined them; */
    uint32_t partials;                   /* of them, those that sums have whole */
    uint32_t made_count;                 /* events made of what is no zone: steps, ranges, memory.
                                            What follows is not for freestanding traces */
    bool built, sums_in_us;              /* built: by prof_trace_from_events */
    prof__side *side;                    /* beside the events; NULL: no device work, no memory */
    uint32_t detail_rows;                /* rows of averages that they may make */
    size_t beside;                       /* bytes of analysis promised beside each slot's cost */
    const struct prof_trace *self;       /* this, in a trace built without a session */
};
static struct prof_trace prof__trace;    /* the session's */

/* Freestanding: counts a step back of the clock, which a reader of records has found. */
PROF__FN void prof__clock_back(void) { prof__trace.steps++; }

/* Bytes the analysis of n slots takes: an event each, and what queries need beside it. */
#define PROF__SLOT_COST (sizeof(prof_event) + (sizeof(void *) > 4 ? 16 : 24))

/* Converts ticks to ns. rate: ticks per second. */
PROF__FN int64_t prof__rate_ns(uint64_t ticks, uint64_t rate);
/* Ticks per second of the trace's clock; on hosts only where that is not the CPU's. */
PROF__FN uint64_t prof__clock_rate(const struct prof_trace *s);

/* Converts a tick of a clock whose rate is known to ns since the session's start. */
PROF__FN int64_t prof__ticks_ns(uint64_t tick) {
    const struct prof_trace *s = &prof__trace;
    tick = tick < s->start_tick ? 0 : tick - s->start_tick;
    tick >>= PROF__CLOCK_SHIFT;
    return prof__rate_ns(tick, prof__clock_rate(s));
}

#define PROF__KEEPS_NONE "this session keeps no work of devices; PROF_MODE_TRACE does"

/* How many events are not recorded zones. Freestanding builds have none. There this function and
   the next ones are constants, so that the compiler leaves out the code behind them. */
PROF__FN uint32_t prof__others(const struct prof_trace *s) {
    return PROF__BARE ? 0 : s->outside_count + s->made_count + prof__launched(s);
}

/* How many rows of averages they may need. */
PROF__FN uint32_t prof__other_rows(const struct prof_trace *s) {
    return prof__others(s) - prof__launched(s) + prof__launch_rows(s);
}

/* Is there a prof__side beside every event? */
PROF__EAGER bool prof__wide(const struct prof_trace *s) {
    return !PROF__BARE && s->beside >= PROF__WIDE_COST;
}

PROF__INLINE prof__side *prof__side_of(const struct prof_trace *s) {
    return PROF__BARE ? NULL : s->side;
}

PROF__INLINE const prof_extra *prof__extra_of(const prof_event *e) {
    return PROF__BARE ? NULL : e->extra;
}

/* Is no memory set aside for events? Then zones are all there is, and tables are made of their
   records. */
PROF__FN bool prof__lean(const struct prof_trace *s);

PROF__FN size_t prof__slot_cost(void) {
    if (prof__trace.records_only || prof__lean(&prof__trace)) return 0;
    return PROF__SLOT_COST + prof__trace.beside;
}

/* ---- what a row of sums comes to ---- */

/* How many calls the buckets hold. */
PROF__RARE uint64_t prof__tally_count(const prof__tally *r) {
    uint64_t n = 0;
    for (int i = 0; i < PROF__BUCKETS; i++) n += r->histogram[i];
    return n;
}

/* The ticks that this share of the calls took at most. Within a bucket they are taken to be spread
   evenly. */
PROF__FN uint64_t prof__tally_percentile(const prof__tally *r, uint32_t percent) {
    uint64_t before = 0, ticks = 0, rest, rank = prof__tally_count(r) * percent + 99;
    int i = 0;
    (void)prof__divide(&rank, 100);
    for (; i < PROF__BUCKETS - 1 && before + r->histogram[i] < rank; i++) before += r->histogram[i];
    if (i && r->histogram[i]) {
        uint64_t low = (uint64_t)1 << (i - 1) * PROF__BUCKET_BITS, parts = r->histogram[i];
        uint64_t part = rank - before, width = (low << PROF__BUCKET_BITS) - low;
        for (; parts >> 20; parts >>= 1) part >>= 1;
        rest = prof__divide(&width, (uint32_t)parts) * part;
        (void)prof__divide(&rest, (uint32_t)parts);
        ticks = low + width * part + rest;
    }
    return PROF__MIN(PROF__MAX(ticks, r->least), r->most);
}

/* A row's average, with its times in ticks. Where more ended within its zones than they took, they
   are in the timeline: the self time is below 0. */
PROF__FN void prof__tally_average(prof_average *a, const prof__tally *r, const char *name,
                                  uint64_t count) {
    memset(a, 0, sizeof *a);
    a->key = name;
    a->count = count;
    a->cpu_time_total_ns = (int64_t)r->total;
    a->self_cpu_time_total_ns = (int64_t)(r->total - r->inner);
    if (PROF__BARE && r->inner > r->total) a->self_cpu_time_total_ns = 0;
    a->min_ns = (int64_t)PROF__MIN(r->least, r->most);   /* of no call: 0 */
    a->max_ns = (int64_t)r->most;
    a->p50_ns = (int64_t)prof__tally_percentile(r, 50);
    a->p90_ns = (int64_t)prof__tally_percentile(r, 90);
    a->p99_ns = (int64_t)prof__tally_percentile(r, 99);
    a->overload_name = "";
    a->input_count = a->parent = PROF_NONE;
    a->node_id = -1;
}

/* Time i of these, from 0. */
enum { PROF__TALLY_TIMES = 7 };
PROF__FN int64_t *prof__tally_time(prof_average *a, int i) {
    const size_t at = offsetof(prof_average, cpu_time_total_ns) + sizeof(int64_t) * (size_t)i;
    return (int64_t *)(void *)((char *)a + at);
}

/* ---- @NEST: what lies in what; all that knows it ----

   This room works out what a zone took without its children. Zones come with their depths.
   - Closes come in post-order: a zone after all that lie in it.
   - Self times within a zone at depth 0 add up to its own time, duplicates or not.
   - A level's sums are those of the closes at its depth since the last one further out. */

/* What few zones have. */
typedef struct prof__amounts {           /* its children's too */
    int64_t device_ns, cpu_bytes, device_bytes;
    int64_t counters[PROF_COUNTERS];
} prof__amounts;
typedef struct prof__beside {
    prof__amounts all, within;           /* within: of its direct children */
    int64_t flops;
    bool counted;                        /* it has counters */
} prof__beside;

/* A zone that has ended. */
typedef struct prof__close {
    int64_t start_ns, end_ns, cpu_ns, self_ns;
    const prof__beside *beside;          /* NULL: nothing */
    uint32_t what, thread, depth;        /* what: a site, row or event, as who closes it chose */
    uint32_t order;                      /* among closes of the same times */
    uint32_t number, from;               /* of this close, from 0; of the first one within it */
    uint32_t up;                         /* from records: of the first one in the zone around it */
    uint16_t flags;
} prof__close;
typedef void prof__taker(void *user, const prof__close *c);

PROF__FN bool prof__rank_after(const prof__rank *a, const prof__rank *b) {
    if (a->start_ns != b->start_ns) return a->start_ns > b->start_ns;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns;
    if (!PROF__BARE && a->order != b->order) return a->order > b->order;
    if (a->thread != b->thread) return a->thread > b->thread;
    if (a->depth != b->depth) return a->depth > b->depth;
    return a->number > b->number;
}

/* If c comes before r, sets r to the rank of c and returns true. */
#define PROF__NO_RANK INT64_MAX          /* the start_ns of a row without a close */
PROF__EAGER bool prof__rank_take(prof__rank *r, const prof__close *c) {
    const prof__rank own = { c->start_ns, c->end_ns, c->order, c->thread, c->depth, c->number };
    if (PROF__LIKELY(!PROF__BARE && c->start_ns > r->start_ns)) return false;
    if (!prof__rank_after(r, &own)) return false;
    *r = own;
    return true;
}

/* Did the timeline end within it? Then no row counts it: sums have all of it. */
PROF__INLINE bool prof__is_partial(uint32_t flags) {
    const uint32_t both = PROF_EVENT_UNFINISHED | PROF_EVENT_PARTIAL;
    return !PROF__BARE && (flags & both) == both;
}

/* A zone closes. level: of its depth: the time of what has closed there since the last close
   further out; the level behind it has that of its children. ran_ns: its time less what others had
   its core. */
PROF__EAGER void prof__nest_close(int64_t *level, prof__close *c, int64_t ran_ns) {
    c->self_ns = PROF__MINUS(ran_ns, level[1]);
    level[1] = 0;
    *level = PROF__PLUS(*level, ran_ns);
}

#if !PROF__BARE
/* ---- @THREADS: states, which threads take and give back, with their chunks ---- */

PROF__FN bool prof__lean(const struct prof_trace *s) { return s->lean; }

/* How many numbers the sites of this trace take: number 0, those of marks and those of names. */
PROF__FN uint32_t prof__sites_of(const struct prof_trace *s) {
    return s->built ? 0 : s->sites + 1 + prof__sites.names.count;
}

PROF__EAGER uint32_t prof__site_dense(uint32_t number) {
    return number >= PROF__PUSHED ? prof__trace.sites + 1 + number - PROF__PUSHED : number;
}

/* Bytes to promise for the zones that a state may have open. slots: 0 in sums (no events). */
PROF__FN size_t prof__state_cost(uint32_t slots) {
    return prof__trace.max_depth * sizeof(prof__open) + slots * prof__slot_cost();
}

/* Counted by any thread, atomically, without a state or the lock. */
static struct prof__loose {
    size_t dropped_busy, unbalanced, not_kept, rejected;
    size_t async_dropped;                /* ends of ranges for which there was no room */
} prof__loose;

/* 1: a stack frame begins with the address of its caller's frame, then the return address. */
#if defined(__GNUC__) && !defined(__TINYC__) && \
    (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)) && \
    (defined(__linux__) || defined(__APPLE__))
#  define PROF__FRAMES 1
#else
#  define PROF__FRAMES 0
#endif

/* Can the zones that longjmp left be recognised? They can where the stack grows downwards and its
   pointer is the same at all calls of a block. */
#if PROF__FRAMES && (defined(__x86_64__) || defined(__aarch64__))
#  define PROF__LEAVES 1
#else
#  define PROF__LEAVES 0
#endif

#define PROF__OBSERVERS 8
enum { PROF__WANTS_DETAILS = 1, PROF__WANTS_SHAPES = 2, PROF__WANTS_FLOPS = 4,
       PROF__WANTS_MODULES = 8, PROF__WANTS_MEMORY = 16 };   /* DETAILS: there is an analysis */

/* A lock that is held while the user's functions run. Its owner is not cancelled meanwhile. stack:
   of the call that took it. */
typedef struct prof__long_lock {
    uint32_t owner;
    int cancel;
    uintptr_t stack;
} prof__long_lock;

/* What outlives a session. Written under the lock; threads load `wants`, `thread_leaves` and the
   observers without it. prof__number counts flow_last and async_last. */
static struct prof__recorder {
    prof__zone_hooks hooks;              /* of the session; its states have them from it */
    uint32_t wants;                      /* PROF__WANTS_..., of the last session's description */
    uint32_t observer_count;             /* changes while no session is open */
    prof_observer observers[PROF__OBSERVERS];
    void (*thread_leaves)(void);         /* closes its counters; NULL: there never were any */
    uint64_t flow_last, async_last;      /* numbers given */
    uint32_t context_last;
    uintptr_t handle_last;               /* handles of contexts given */
    prof__state *owned;                  /* all states that threads own, of any session */
    bool holding;                        /* a thread has or takes the own locks of others */
    prof__knot first_knot;               /* of the process: the longest base for the clock's rate */
    prof__long_lock stream;              /* of who writes the stream */
    prof__long_lock reading;             /* of who reads records, or takes statistics */
    uint32_t dumping;                    /* the lock of who writes a dump */
    int cancel;                          /* of who has the session: see prof__session_claim */
} prof__recorder;

PROF__FN void prof__thread_exits(void);

/* Arranges that prof__thread_exits runs at the exit of this thread, which has taken t. */
#if defined(_WIN32)
/* The system calls what is in sections .CRT$XL for each thread that ends, until the module is
   unloaded; this after what C++ has there. */
PROF__FN void __stdcall prof__at_exit(void *module, unsigned long why, void *more) {
    (void)module;
    (void)more;
    if (why == 3 /* DLL_THREAD_DETACH */) prof__thread_exits();
}
#  if defined(_MSC_VER) && !defined(__clang__)
#    pragma section(".CRT$XLY", read)
__declspec(allocate(".CRT$XLY"))
#  else
__attribute__((section(".CRT$XLY"), used))
#  endif
static void (__stdcall *const prof__exit_entry)(void *, unsigned long, void *) = prof__at_exit;
#  define prof__exit_key_make() ((void)0)
#  define prof__at_thread_exit() ((void)0)
#elif PROF__POSIX
PROF__FN void prof__at_exit(void *used) {
    (void)used;
    prof__thread_exits();
}
PROF__FN void prof__child_after_fork(void);
PROF__FN void prof__exit_key_make(void) {
    if (prof__port.exit_key_made) return;
    if (pthread_key_create(&prof__port.exit_key, prof__at_exit) == 0)
        PROF__RELEASE(prof__port.exit_key_made, true);
    pthread_atfork(NULL, NULL, prof__child_after_fork);
}
PROF__FN void prof__at_thread_exit(void) {
    if (PROF__ACQUIRE(prof__port.exit_key_made))
        pthread_setspecific(prof__port.exit_key, &prof__trace);
}
#  if defined(__GNUC__) && !defined(__TINYC__)
/* dlclose takes this code away: threads that end later must not call it. */
__attribute__((destructor)) PROF__FN void prof__exit_key_delete(void) {
    if (prof__port.exit_key_made) (void)pthread_key_delete(prof__port.exit_key);
    prof__port.exit_key_made = false;
}
#  endif
#else
#  define prof__exit_key_make() ((void)0)
#  define prof__at_thread_exit() ((void)0)
#endif

PROF__INLINE uint64_t prof__now_ticks(prof_clock clock, const prof_platform *platform) {
    uint64_t now;
    if (clock != PROF_CLOCK_PLATFORM)
        return clock == PROF_CLOCK_CPU ? prof__cpu_now() : prof__os_now();
    PROF__CALL_USERS(now = (platform->now)(platform->user));
    return now;
}

PROF__FN uint64_t prof__session_now(const struct prof_trace *s) {
    uint64_t now = prof__now_ticks(s->clock, &s->platform) + s->bias;
    return s->clock == PROF_CLOCK_PLATFORM && now >> 63 ? 0 : now;   /* set back below 0 */
}

/* The same by a state's clock. It never goes back within a thread: a step back is counted. */
PROF__INLINE uint64_t prof__state_now(prof__state *t) {
    uint64_t now = prof__now_ticks(t->clock, &t->platform);
    if (t->clock == PROF_CLOCK_CPU) return now;
    if (!now && t->clock == PROF_CLOCK_OS) now = t->last - t->bias;
    now += t->bias;
    if ((int64_t)(now - t->last) < 0) {
        PROF__BUMP(t->counts.steps, 1);
        t->bias += t->last - now;
        now = t->last;
    }
    return t->last = now;
}

/* Reads both clocks. While the OS's cannot be read a tick is taken as 1 ns, and a step counted. */
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
    best.ns = prof__recorder.first_knot.ns + (best.tick - prof__recorder.first_knot.tick);
    PROF__COUNT(prof__trace.counts.steps);
    return best;
}

/* The last pair of readings; 0 where there is none. */
PROF__FN prof__knot prof__knot_last(const struct prof_trace *s) {
    static const prof__knot none = { 0, 0 };
    return s->knots.count ? s->knots.list[s->knots.count - 1] : none;
}

/* Adds a pair; when they are many, keeps every second one. Under the lock. */
PROF__FN void prof__knot_add(prof__knot k) {
    prof__knots *knots = &prof__trace.knots;
    prof__knot last = prof__knot_last(&prof__trace);
    if (knots->count == PROF__KNOTS) {
        for (uint32_t i = 1; i < PROF__KNOTS / 2; i++) knots->list[i] = knots->list[2 * i];
        knots->count = PROF__KNOTS / 2;
        knots->gap_ns *= 2;
        last = knots->list[knots->count - 1];
    }
    if (knots->count && (k.tick <= last.tick || k.ns < last.ns)) return;
    knots->list[knots->count++] = k;
}

/* Is the clock's rate what readings of both clocks say? A PROF_NOW() whose rate was told has its
   two pairs from the start, a second apart. */
PROF__FN bool prof__measured(const struct prof_trace *s) {
#ifdef PROF_NOW
    if (s->platform.ticks_per_second) return false;
#endif
    return s->clock == PROF_CLOCK_CPU;
}

PROF__FN void prof__knots_start(const struct prof_trace *s) {
    prof__knot k;
    if (!prof__measured(s) && s->knots.count) return;
    prof__knot_add(k = prof__knot_now());
    if (!prof__recorder.first_knot.ns) prof__recorder.first_knot = k;
    if (prof__measured(s)) return;
    k.tick += s->platform.ticks_per_second;
    k.ns += 1000000000u;
    prof__knot_add(k);
}

PROF__FN void prof__knot_sometimes(void) {
    struct prof_trace *s = &prof__trace;
    if (prof__measured(s) && s->mode != PROF_MODE_STREAM &&
        prof__os_now() - prof__knot_last(s).ns >= s->knots.gap_ns)
        prof__knot_add(prof__knot_now());
}

/* A block that a thread still owns, the n-th of PROF__OWNED; false: there is none. */
enum { PROF__OWNED = 3 };
PROF__FN bool prof__owned_block(const prof__state *t, int n, char *block[2]) {
    block[0] = n == 0 ? (char *)(uintptr_t)t : n == 1 ? (char *)PROF__LOAD(t->begin) : NULL;
    block[1] = n == 0 ? block[0] + prof__state_size((uint32_t)(t->deepest - t->frames))
                      : (char *)(PROF__LOAD(t->limit) + PROF__CLAIMS);
    if (n == 1 && PROF__LOAD(t->sums.on)) {
        block[0] = (char *)t->sums.block;
        block[1] = (char *)t->sums.block_end;
    }
    if (n == 2 && PROF__ACQUIRE(t->lock)) {   /* it was stopped while it added to its rows */
        block[0] = t->sums.tallies.low;
        block[1] = t->sums.tallies.high;
    }
    return block[0] != NULL;
}

#ifndef prof__arena_check
PROF__FN bool prof__apart(char *const *block, const void *begin, const void *end) {
    return block[1] <= (const char *)begin || block[0] >= (const char *)end;
}

/* Stale rows, the last that prof__owned_block tells of, are left out: their thread may have its
   lock for a moment only. While it has, its block may be changing. */
PROF__FN void prof__arena_check(void) {
    const struct prof__arena *a = &prof__arena;
    const prof__segment *g = prof__trace.pool.made;   /* the newest */
    const char *top = PROF__MIN(a->high, a->bound), *told = (const char *)(const void *)g;
    char *block[2];
    if (a->closed || !prof__trace.laid) return;
    PROF__ASSERT(a->base <= a->low && a->low + a->promised <= top && a->high <= a->end);
    PROF__ASSERT(((uintptr_t)a->low | (uintptr_t)a->high) % 16 == 0);
    PROF__ASSERT(!g || (told >= a->base && told + sizeof *g <= a->low));
    PROF__ASSERT(!g || ((char *)g->begin >= a->high && (char *)g->limit <= a->end));
    for (const prof__state *t = prof__recorder.owned; t; t = t->next)
        for (int n = 0; n < 2; n++) {
            bool stale = t->generation < prof__trace.first_generation;
            if (stale && n && PROF__ACQUIRE(t->lock)) continue;
            if (!prof__owned_block(t, n, block)) continue;
            if (stale) {
                PROF__ASSERT(prof__apart(block, a->low, top));
                PROF__ASSERT(!g || prof__apart(block, g->begin, g->limit));
            } else {
                PROF__ASSERT(block[0] >= (n ? a->high : a->base));
                PROF__ASSERT(block[1] <= (n ? a->end : a->low));
            }
        }
}
#endif

/* The first stale block in [begin, end), by what of it lies there, rounded to 16 bytes: it begins
   at end if there is none. */
PROF__FN void prof__stale_next(char *begin, char *end, char *stale[2]) {
    char *block[2];
    stale[0] = stale[1] = end;
    for (const prof__state *t = prof__recorder.owned; t; t = t->next) {
        if (prof__trace.open && t->generation == prof__trace.generation) continue;
        for (int n = 0; n < PROF__OWNED; n++) {
            if (!prof__owned_block(t, n, block) || block[1] <= begin || block[0] >= stale[0])
                continue;
            stale[0] = PROF__MAX(block[0] - (uintptr_t)block[0] % 16, begin);
            stale[1] = block[1] + (0 - (uintptr_t)block[1]) % 16;
        }
    }
}

PROF__FN bool prof__not_stale(char *begin, size_t size) {
    char *stale[2];
    prof__stale_next(begin, begin + size, stale);
    return stale[0] == begin + size;
}

/* Takes memory for records from the top, and promises `analysis` bytes; NULL: full. What lies above
   bound is not in prof__arena_room. */
PROF__FN char *prof__take_high(int what, size_t size, size_t analysis) {
    for (;;) {
        char *top = prof__arena.high, *bound = prof__arena.bound;
        bool above = top > bound && (size_t)(top - bound) >= size;
        if (prof__arena_room(what) < analysis + (above ? 0 : size)) return NULL;
        prof__arena.high = top - size;
        if (!prof__not_stale(top - size, size)) continue;
        prof__arena.promised += analysis;
        return top - size;
    }
}

/* Makes a segment of the records from begin to limit. begin NULL: of a new chunk, for the analysis
   of which it promises memory. NULL: full. */
PROF__FN prof__segment *prof__segment_make(prof__record *begin, prof__record *limit) {
    struct prof_trace *s = &prof__trace;
    size_t slots = s->pool.chunk_size / sizeof *begin;
    prof__segment *g = (prof__segment *)prof__take(sizeof *g, 0);
    if (!g) return NULL;
    if (!begin) {
        begin = (prof__record *)(void *)prof__take_high(PROF__FOR_RECORDS, s->pool.chunk_size,
                                                        slots * prof__slot_cost());
        if (!begin) {
            prof__arena.low = (char *)(void *)g;
            return NULL;
        }
        limit = begin + slots;
        s->slot_count += slots;
    }
    memset(g, 0, sizeof *g);             /* prof_dump sees it before it has a row */
    g->begin = begin;
    g->limit = limit;
    g->made = s->pool.made;
    PROF__RELEASE(s->pool.made, g);
    PROF__ASSERT(begin < limit);
    return g;
}

PROF__FN void prof__segment_give(prof__segment *g) {
    g->queued = prof__trace.pool.free;
    prof__trace.pool.free = g;
}

PROF__FN bool prof__row_empty(const prof__row *row) { return !row->first && !row->open_count; }

PROF__FN void prof__row_unlist(prof__row *row) {
    struct prof_trace *s = &prof__trace;
    prof__row *before = row == s->rows ? NULL : s->rows;
    while (before && before->next != row) before = before->next;
    if (before) PROF__STORE(before->next, row->next);
    else PROF__STORE(s->rows, row->next);
    if (s->pool.last_row == row) s->pool.last_row = before;
    s->row_count--;
    row->listed = false;
}

/* The row of a thread that is over, without records, goes to the next thread. So does its index,
   unless the thread has another row, which keeps it: each index has a row, and no two threads have
   one index. In PROF_MODE_TRACE the row stays in the list, where prof_dump may be reading it. */
PROF__FN void prof__row_free(prof__row *row) {
    struct prof_trace *s = &prof__trace;
    bool stays = s->mode == PROF_MODE_TRACE, shared = false;
    if (row->pinned) return;
    for (const prof__row *r = s->rows; r; r = r->next)
        shared |= r != row && r->thread == row->thread;
    if (shared && stays) return;
    if (shared) row->thread = PROF_NONE;
    if (!stays) prof__row_unlist(row);
    row->again = s->pool.free_rows;
    s->pool.free_rows = row;
}

/* Lets go of a row's first records, of a ring or a stream. */
PROF__FN void prof__segment_free(prof__segment *g) {
    prof__row *row = g->row;
    PROF__ASSERT(row->first == g && g->begin <= g->end && g->end <= g->limit);   /* the oldest */
    PROF__RELEASE(g->number, (size_t)0); /* prof_dump sees that it may have read both old and new */
    PROF__FENCE();
    row->overwritten += (size_t)(g->end - g->begin);
    if (prof__trace.mode == PROF_MODE_RING) prof__trace.overwritten += (size_t)(g->end - g->begin);
    PROF__RELEASE(row->first, g->next);
    if (!row->left || row->first || !prof__trace.open) return;
    if (prof__trace.mode == PROF_MODE_RING) {   /* they ended with a window before */
        prof__trace.overwritten += row->open_count;
        prof__trace.slot_count -= row->open_count;
        prof__arena.promised -= row->open_count * prof__slot_cost();
        row->open_count = 0;
    }
    if (row->over && !row->open_count) prof__row_free(row);
}

/* A ring's segment that its thread has left for good: others may take it, the oldest first. g NULL:
   nothing is to be done. */
PROF__FN void prof__ring_queue(prof__segment *g) {
    if (!g) return;
    g->queued = NULL;
    if (prof__trace.pool.oldest) prof__trace.pool.newest->queued = g;
    else prof__trace.pool.oldest = g;
    prof__trace.pool.newest = g;
}

/* Overwrites the oldest records of all in a ring; where nobody has left any, those that t wrote
   before its current ones. NULL: there are none. */
PROF__FN prof__segment *prof__ring_take(prof__state *t) {
    prof__segment *g = prof__trace.pool.oldest;
    if (g) {
        prof__trace.pool.oldest = g->queued;
    } else {
        g = t->before;
        t->before = NULL;
    }
    if (g) prof__segment_free(g);
    return g;
}

/* The next of this arena's states; after NULL the first. Needs no lock. */
PROF__FN prof__state *prof__used(const prof__state *after) {
    return after ? PROF__ACQUIRE(after->used) : PROF__ACQUIRE(prof__trace.pool.used);
}

/* Makes a state at p, for the next thread that comes. Under the lock. */
PROF__FN void prof__state_make(char *p) {
    prof__pool *pool = &prof__trace.pool;
    prof__state *t = (prof__state *)(void *)p, **last = &pool->used;
    memset(p, 0, offsetof(prof__state, frames));
    t->next = pool->free_states;
    pool->free_states = t;
    pool->states++;
    while (*last) last = &(*last)->used;
    PROF__RELEASE(*last, t);
}

/* Does a state still hold g? Its thread may write there after its window, or have ended since. */
PROF__FN bool prof__segment_held(const prof__segment *g) {
    const prof__state *t = prof__used(NULL);
    while (t && t->segment != g) t = prof__used(t);
    return t != NULL;
}

/* What a thread that ends has left of its chunk goes to the next thread, if it is worth it. In a
   ring and a stream chunks stay whole. Under the lock. */
PROF__FN void prof__chunk_give(prof__state *t) {
    prof__record *rest = t->hot.cursor, *limit = t->limit + PROF__CLAIMS;
    ptrdiff_t worth = PROF__RESERVE((ptrdiff_t)prof__trace.max_depth) + PROF__CLAIMS + 16;
    prof__segment *g = NULL;
    if (t->ahead) prof__segment_give(t->ahead);
    if (prof__trace.mode == PROF_MODE_RING) {
        prof__ring_queue(t->before);
        prof__ring_queue(t->segment);
    } else if (prof__trace.mode == PROF_MODE_STREAM) {
        if (!t->segment->number) g = t->segment;   /* flushed */
    } else if (limit - rest >= worth) {
        g = prof__segment_make(rest, limit);
    }
    if (g) prof__segment_give(g);
    t->ahead = t->segment = t->before = NULL;
}

/* A segment that others left, or a new one; NULL: the arena is full. Under the lock. */
PROF__FN prof__segment *prof__segment_take(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    prof__segment *g = s->pool.free;
    if (g) s->pool.free = g->queued;
    else g = prof__segment_make(NULL, NULL);
    return g || s->mode != PROF_MODE_RING ? g : prof__ring_take(t);
}

PROF__COLD_END
/* Sets the cursor; the slot there is empty. */
PROF__FN void prof__publish(prof__state *t, prof__record *c) {
    PROF__STORE(c->site_depth, 0u);
    PROF__RELEASE(t->hot.cursor, c);
}

PROF__FN void prof__put(prof__state *t, uint32_t a, uint32_t b, uint32_t site_depth) {
    prof__record *c = t->hot.cursor;
    PROF__ASSERT(t->begin <= c && c < t->limit);
    c->end = a;
    c->duration = b;
    c->site_depth = site_depth;
    prof__publish(t, c + 1);
}

/* A record of two slots, published when both are written. The first and third word of its second
   slot stand where a zone has its end and depth (255: none), which prof__snapshot_check reads. */
PROF__FN void prof__put_long(prof__state *t, uint32_t kind, uint64_t a, uint64_t b, uint32_t word) {
    prof__record *c = t->hot.cursor;
    PROF__ASSERT(t->begin <= c && c + 1 < t->limit);
    prof__record_set(c, a, kind << 8 | 1);
    prof__record_set(c + 1, b, word);
    PROF__BUMP(t->counts.extra, kind == PROF__ZONE64 || kind == PROF__UNFINISHED ? 1u : 2u);
    prof__publish(t, c + 2);
}

/* Writes the clock's upper half. Sums do without. */
PROF__FN void prof__put_clock(prof__state *t) {
    if (t->sums.on) return;
    prof__put(t, t->epoch, 0, (uint32_t)PROF__CLOCK << 8);
    PROF__BUMP(t->counts.extra, 1);
}

/* Sets the limits that send the hot path to the slow one: while the arena is full, with a clock
   that is not the CPU's, among many open zones, and after the generation ended. */
PROF__FN void prof__set_limits(prof__state *t) {
    bool slow = !t->fast || t->full || t->skipped || t->copy || t->hot.top > t->crowd;
    uint32_t epoch = slow ? PROF__NEVER : t->epoch;
    prof__record *limit = t->ahead ? t->limit : t->limit - t->reserve;
    uint32_t due = t->due.at >> 32 > t->epoch ? UINT32_MAX
                 : t->due.at >> 32 < t->epoch ? 0 : (uint32_t)t->due.at;
    if (t->due.records) {                /* prof_stop may be counting what it sums */
        size_t left = t->due.records - (size_t)PROF__LOAD(t->counts.slots);
        if (left < (size_t)(limit - t->begin)) limit = t->begin + left;
    }
    PROF__ASSERT(t->frames <= t->hot.bottom && t->hot.bottom <= t->hot.top);
    PROF__ASSERT(t->hot.top <= t->deepest);
    for (prof__frame *f = t->hot.top; epoch != t->armed && f < t->crowd; f++)
        PROF__STORE(f->epoch, epoch);
    t->armed = epoch;
    t->hot.due = due;
    PROF__STORE(t->hot.last, slow ? 0 : (uintptr_t)limit - 1);
    PROF__FENCE(); /* prof_stop: on = 0, then last = 0; here the other way round */
    if (PROF__LOAD(prof__on) != t->generation) PROF__STORE(t->hot.last, 0u);
}

/* Is called after the generation was read: a handler may give the thread its state in between. */
PROF__INLINE prof__state *prof__tls_state(prof__tls_data *tls) {
    prof__hot *hot;
    PROF__SIGNAL_FENCE();
    hot = tls->hot;
    return (prof__state *)(void *)hot;
}

/* ---- a thread's own lock: it has it in the slow path; others take it to read what it wrote. Who
   waits for it holds no other lock ---- */

PROF__FN void prof__state_unlock(prof__state *t) {
    if (prof__mine(&t->lock)) prof__release(&t->lock);
}

/* Is the state's generation recorded? In the slow path it stays valid while that lasts. */
PROF__FN bool prof__is_open(const prof__state *t) { return PROF__LOAD(prof__on) == t->generation; }

PROF__FN bool prof__lock_pause(void) {
    bool alone;
    prof__unlock();
    alone = prof__yield();
    prof__lock();
    return alone;
}

/* Takes the own locks of the session's threads but `own`, the caller's; one after the other, so one
   thread at a time does this. Gives up on who keeps its lock for long: it may be stalled. Under the
   lock, which is free meanwhile. */
PROF__FN void prof__states_lock(const struct prof_trace *s, const prof__state *own, int tries) {
    uint64_t since = 0;
    for (; prof__recorder.holding && tries && !prof__waited(&since); tries--)
        if (prof__lock_pause()) break;
    prof__recorder.holding = true;
    since = 0;
    for (bool all = false; !all && tries; tries--) {
        all = true;
        for (prof__state *t = prof__recorder.owned; t; t = t->next)
            if (t != own && t->generation == s->generation && !prof__mine(&t->lock) &&
                !prof__try(&t->lock)) all = false;
        if (!all && (prof__lock_pause() || prof__waited(&since))) break;
    }
}

PROF__FN void prof__states_unlock(const prof__state *own) {
    for (prof__state *t = prof__recorder.owned; t; t = t->next)
        if (t != own) prof__state_unlock(t);
    prof__recorder.holding = false;
}

/* ---- locks that are held while the user's functions run ---- */

#if PROF__LEAVES
PROF__FN prof__bounds prof__stack_own(uintptr_t at);

/* Is what began at `inner` over, which is deeper in the thread's own stack than here? Not where a
   signal handler runs on a stack that may be a part of that one. */
PROF__RARE bool prof__stack_left(prof__bounds own, uintptr_t inner, uintptr_t here) {
#  if defined(__linux__)
    struct { void *stack; int flags; size_t size; } at = { NULL, 0, 0 };
    if (syscall(SYS_sigaltstack, NULL, &at) == 0 && at.flags & 1 /* SS_ONSTACK */) return false;
#  endif
    return inner >= own.low && here < own.high;
}

/* Does this thread hold it from a call that siglongjmp left? A call from within that one, as of a
   sink or a signal handler, is deeper in the thread's own stack, by 320 bytes and more, or on
   another one; a call after it may get here some bytes deeper. */
PROF__RARE bool prof__long_left(const prof__long_lock *l) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    prof__bounds own;
    if (!prof__mine(&l->owner) || here + 224 < l->stack) return false;
    own = prof__stack_own(here);
    return prof__stack_left(own, l->stack, here);
}
#else
#  define prof__long_left(lock) false
#endif

PROF__FN void prof__disown(prof__long_lock *l) {
    int cancel = l->cancel;
    PROF__ASSERT(prof__mine(&l->owner));
    prof__release(&l->owner);
    prof__cancel_back(cancel);
}

/* Takes it. False: this thread holds it already; or who holds it did not let go in time. */
PROF__RARE bool prof__own(prof__long_lock *l, bool briefly) {
    int cancel;
    bool taken;
    if (prof__long_left(l)) prof__disown(l);
    if (prof__mine(&l->owner)) return false;
    cancel = prof__cancel_off();
    taken = briefly ? prof__take_lock_briefly(&l->owner, 1000000)
                    : (prof__take_lock(&l->owner), true);
    if (!taken) {
        prof__cancel_back(cancel);
        return false;
    }
    l->cancel = cancel;
#if PROF__LEAVES
    l->stack = (uintptr_t)__builtin_frame_address(0);
#endif
    prof__at_thread_exit();
    return true;
}

/* siglongjmp left the stream's sink, which was called in the slow path: leaves that. False: this
   thread is still in it. */
PROF__RARE bool prof__busy_left(prof__tls_data *tls) {
    if (!prof__long_left(&prof__recorder.stream)) return false;
    prof__disown(&prof__recorder.stream);
    prof__state_unlock(prof__tls_state(tls));
    tls->busy = 0;
    return true;
}

/* Enters the slow path, which no signal handler may: it could not know what is half done. While
   last is 0 the ends in handlers come here too; what they begin is dropped, and counted. A thread
   locks when prof__on is 0, too: prof_stop may be about to read it. */
PROF__FN bool prof__enter(prof__tls_data *tls) {
    if (tls->busy && !prof__busy_left(tls)) return false;
    tls->busy = 1;
    PROF__SIGNAL_FENCE();
    if (tls->hot == &prof__nowhere) return true;
    PROF__STORE(tls->hot->last, 0u);
    PROF__SIGNAL_FENCE();
    prof__take_lock(&prof__tls_state(tls)->lock);
    return true;
}

/* Flushes, unless since is not 0 and another flush began then or later. briefly: or where whoever
   flushes does not let go in time. */
PROF__FN prof_result prof__flush(uint64_t since, bool briefly);

PROF__FN uint64_t prof__due_now(prof_clock clock) {
    return clock == PROF_CLOCK_CPU ? prof__cpu_now() : prof__os_now();
}

/* What ends a program at once costs it what was not flushed. So in a stream of prof_start_env each
   thread looks at the first end that comes a millisecond or more after it last looked, and flushes
   unless another thread did within a millisecond: what it lacks in the file then ended less than
   two before its last end. Its first records it flushes as they come. Returns since when there
   must have been a flush; 0: none is due. */
PROF__FN uint64_t prof__due(prof__state *t) {
    size_t written = (size_t)PROF__LOAD(t->counts.slots) + (size_t)(t->hot.cursor - t->begin);
    bool first = t->due.records && written >= t->due.records;
    uint64_t now = prof__due_now(t->clock), wait = PROF__LOAD(prof__trace.stream.wait);
    if (!first && t->due.at - now <= wait) return 0;   /* else it is past, or the clock went back */
    if (!t->segment || prof__mine(&prof__port.lock)) return 0;
    if (first) t->due.records = t->due.records < 64 ? 2 * t->due.records : 0;
    t->due.at = now + wait;
    return first ? now : now - wait;
}

/* A first touch of a page is slow: who takes a chunk touches its end, and the begin of the next
   one, here, where signal handlers record again. A swap changes nothing that others have there. */
PROF__FN void prof__touch_ahead(const prof__state *t) {
    prof__record *begin = t->ahead->begin, *end = t->ahead->limit, *next = begin - (end - begin);
    (void)prof__swap(&end[-1].end, 0, 0);
    if (!PROF__TSAN && (uintptr_t)next > (uintptr_t)t) (void)prof__swap(&next->end, 0, 0);
}

PROF__FN void prof__leave(prof__tls_data *tls) {
    prof__state *t = prof__tls_state(tls);
    bool on = tls->generation == PROF__LOAD(prof__on);
    uint64_t since = on && t->due.at != UINT64_MAX ? prof__due(t) : 0;
    if (on && t->fast) prof__set_limits(t);
    if (on && t->ahead) prof__touch_ahead(t);
    if (&t->hot != &prof__nowhere) prof__state_unlock(t);
    PROF__SIGNAL_FENCE();
    tls->busy = 0;
    if (since) (void)prof__flush(since, true);
}

PROF__COLD_BEGIN
/* siglongjmp, pthread_exit or pthread_cancel may have left the slow path half way. What signal
   handlers and destructors mark from here on is dropped: nobody would give back the state that they
   took. */
PROF__FN void prof__thread_exits(void) {
    prof__tls_data *tls = prof__tls_get();
    if (prof__mine(&prof__recorder.stream.owner)) prof__release(&prof__recorder.stream.owner);
    if (prof__mine(&prof__recorder.reading.owner)) prof__release(&prof__recorder.reading.owner);
    if (prof__mine(&prof__recorder.dumping)) prof__release(&prof__recorder.dumping);
    if (prof__mine(&prof__port.lock)) prof__release(&prof__port.lock);
    if (tls->hot != &prof__nowhere) prof__state_unlock(prof__tls_state(tls));
    tls->busy = 0;
    prof_thread_end();
    tls->busy = 1;
}

PROF__FN void prof__observe_begin(prof__state *t, uint32_t site) {
    const prof_extra *with = prof__tls_get()->with;
    if (!prof__is_open(t)) return;
    for (uint32_t i = 0; i < prof__recorder.observer_count; i++) {
        const prof_observer *o = prof__recorder.observers + i;
        const char *name = PROF__ACQUIRE(prof__site(site >> 8)->name);   /* see @FUNCTIONS */
        if (o->begin) PROF__CALL_USERS((o->begin)(o->user, name, with));
    }
}

PROF__FN void prof__observe_end(prof__state *t, uint32_t site) {
    if (!prof__is_open(t)) return;
    for (uint32_t i = prof__recorder.observer_count; i--;) {
        const prof_observer *o = prof__recorder.observers + i;
        const char *name = PROF__ACQUIRE(prof__site(site >> 8)->name);
        if (o->end) PROF__CALL_USERS((o->end)(o->user, name));
    }
}

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
    if (!prof__is_open(t)) return;
    for (uint32_t i = 0; i < prof__recorder.observer_count; i++) {
        const prof_observer *o = prof__recorder.observers + i;
        const char *name = prof__site(site)->name;
        double x = prof__real_value(value);
        int64_t whole = real ? prof__real_whole(x) : (int64_t)value;
        if (kind == PROF__INSTANT) {
            if (o->instant) PROF__CALL_USERS((o->instant)(o->user, name));
        } else if (real && o->counter_f) PROF__CALL_USERS((o->counter_f)(o->user, name, x));
        else if (o->counter) PROF__CALL_USERS((o->counter)(o->user, name, whole));
    }
}

/* Goes on writing in segment g, which is linked before the cursor moves, so that prof_stop finds
   the cursor in a segment it can reach at any moment. Under the lock. */
PROF__FN void prof__segment_open(prof__state *t, prof__segment *g) {
    prof__record *limit = g->limit - PROF__CLAIMS;
    PROF__STORE(g->flushed, g->begin);   /* prof_dump may be reading it */
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
    PROF__STORE(g->row, t->row);
    PROF__STORE(prof__trace.pool.begun, prof__trace.pool.begun + 1);
    PROF__RELEASE(g->number, prof__trace.pool.begun);
    if (prof__trace.mode == PROF_MODE_RING) {
        prof__ring_queue(t->before);
        t->before = t->segment;
    }
    PROF__ASSERT(g != t->segment && g->limit - g->begin > (ptrdiff_t)t->reserve + PROF__CLAIMS);
    t->segment = g;
    memset(limit, 0, PROF__CLAIMS * sizeof *limit);
    PROF__STORE(t->begin, g->begin);
    PROF__STORE(t->limit, limit);
    prof__publish(t, g->begin);
    prof__put_clock(t);
}

/* Where the slots of t's chunk end that are claimed, read by others. The chunk may change
   meanwhile. */
PROF__FN prof__record *prof__cursor_of(const prof__state *t) {
    const prof__record *begin = PROF__LOAD(t->begin), *limit = PROF__LOAD(t->limit);
    prof__record *c = PROF__ACQUIRE(t->hot.cursor);
    return c < begin || c > limit + PROF__CLAIMS ? (prof__record *)(uintptr_t)begin : c;
}

/* ---- @SUMS: what zones come to by name, where no record of them is kept ----

   This room adds up all zones of PROF_MODE_AGGREGATE, and those of a trace after its arena is full.
   A thread writes their records to a block of its own; when the block is full it adds them to its
   rows (tallies), one for each site, and begins the block again. Who has the thread's own lock may
   read both: what is in the block is in no row.
   - inner[d] is the ticks of zones that ended within the zone open at depth d and are in no
     timeline.
   - A zone that is open when the timeline ends is added up whole when it ends. The timeline has it
     up to there (PROF__PARTIAL): of that, rows of averages take only what its children there took
     off its self time.
   - Rows never move; an index always has a free slot.
   - The block has only zones of one slot; others are added to their rows at once. Between begin and
   cursor a slot without a third word is one that its zone has still to write.
   - Who changes rows, or empties the block, has their thread's own lock. */

/* Counts n more calls in a bucket, which does not overflow. */
PROF__INLINE void prof__bucket_add(prof__tally *r, uint32_t i, uint32_t n) {
    uint32_t room = UINT32_MAX - r->histogram[i];
    r->histogram[i] += PROF__MIN(n, room);
    r->halved += n - PROF__MIN(n, room);
}

/* Adds the sums of one row to another. */
PROF__FN void prof__tally_add(prof__tally *r, const prof__tally *from) {
    r->halved += from->halved;
    r->total += from->total;
    r->inner += from->inner;
    r->around += from->around;
    r->least = PROF__MIN(r->least, from->least);
    r->most = PROF__MAX(r->most, from->most);
    for (uint32_t i = 0; i < PROF__BUCKETS; i++) prof__bucket_add(r, i, from->histogram[i]);
}

/* More memory for t's rows. Under the lock. */
PROF__FN void *prof__tallies_take(prof__tallies *y, int what, size_t bytes) {
    char *p = (char *)prof__take_for(what, bytes, 0);
    if (!p) return NULL;
    if (!y->low) y->low = p;
    y->high = p + bytes;
    return memset(p, 0, bytes);
}

/* The row of a site (shifted by 8; a depth may be added); others: it has none. */
PROF__INLINE prof__tally *prof__tally_find(const prof__tallies *y, uint32_t site) {
    const prof__tally_index *x = PROF__ACQUIRE(y->index);
    prof__tally *r = PROF__ACQUIRE(x->rows[site >> 8 & x->mask]);
    for (uint32_t i = site >> 8; PROF__UNLIKELY((r->site ^ site) > 0xff && r != y->others);)
        r = PROF__ACQUIRE(x->rows[++i & x->mask]);
    return r;
}

PROF__FN void prof__tally_place(prof__tally_index *x, const prof__tally *others, prof__tally *r) {
    uint32_t i = r->site >> 8;
    while (x->rows[i & x->mask] != others) i++;
    PROF__RELEASE(x->rows[i & x->mask], r);
}

/* An index of so many slots for all rows; readers of the old one may go on. Only the first may use
   the seats of threads to come. Under the lock. */
PROF__FN bool prof__tallies_index(prof__tallies *y, uint32_t slots) {
    size_t bytes = sizeof(prof__tally_index) + (slots - 1) * sizeof(prof__tally *);
    int what = y->index ? PROF__FOR_NAMES : PROF__FOR_THREADS;
    prof__tally_index *x = (prof__tally_index *)prof__tallies_take(y, what, bytes);
    if (!x) return false;
    x->mask = slots - 1;
    for (uint32_t i = 0; i < slots; i++) x->rows[i] = y->others;
    for (prof__tally *r = y->others->next; r; r = r->next) prof__tally_place(x, y->others, r);
    PROF__RELEASE(y->index, x);
    return true;
}

/* A new row, at the end of the list of all; NULL: no room. Only a thread's first four rows may use
   the seats of threads to come. Under the lock. */
PROF__FN prof__tally *prof__tallies_row(prof__tallies *y, uint32_t site) {
    int what = !y->last || y->last->number < 3 ? PROF__FOR_THREADS : PROF__FOR_NAMES;
    prof__tally *r = (prof__tally *)prof__tallies_take(y, what, sizeof *r);
    if (!r) return NULL;
    r->site = site;
    r->least = UINT64_MAX;
    if (y->last) r->number = y->last->number + 1;
    if (y->last) PROF__RELEASE(y->last->next, r);
    else PROF__RELEASE(y->others, r);
    return y->last = r;
}

PROF__FN bool prof__is_others(uint32_t site) {
    return !site || site == PROF__LOAD(prof__sites.others) << 8;
}

/* A new row for a site; where there is no room for it, the row of all others. */
PROF__RARE prof__tally *prof__tally_make(prof__state *t, uint32_t site) {
    prof__tallies *y = &t->sums.tallies;
    uint32_t slots = y->index->mask + 1;
    prof__tally *r = NULL;
    if (prof__is_others(site) || y->full) return y->others;
    if (!t->sums.held && !prof__lock_briefly()) return y->others;
    if (y->last->number + 1 <= slots / 2 || prof__tallies_index(y, 2 * slots) ||
        y->last->number + 1 < slots) r = prof__tallies_row(y, site);
    if (r) prof__tally_place(y->index, y->others, r);
    PROF__ASSERT(y->last->number <= y->index->mask);   /* others, in no slot, is number 0 */
    y->full = !r;
    if (!t->sums.held) prof__unlock();
    return r ? r : y->others;
}

PROF__INLINE prof__tally *prof__tally_of(prof__state *t, uint32_t site) {
    prof__tally *r = prof__tally_find(&t->sums.tallies, site);
    return PROF__LIKELY(r->site == site) ? r : prof__tally_make(t, site);
}

/* The bucket of n ticks: the number of bits of n, at most the last bucket. */
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

/* At every 2^30 calls rows that have as many in their buckets halve them: none overflows, and the
   percentiles stay. */
PROF__RARE void prof__tallies_halve(prof__tallies *y) {
    y->calls = 0;
    for (prof__tally *r = y->others; r; r = r->next) {
        uint64_t n = prof__tally_count(r);
        if (!(n >> 30)) continue;
        for (int i = 0; i < PROF__BUCKETS; i++) r->histogram[i] /= 2;
        r->halved += n - prof__tally_count(r);
    }
}

PROF__INLINE void prof__sums_counted(prof__state *t, size_t n) {
    PROF__BUMP(t->counts.summed, n);
    t->sums.tallies.calls += n;
    if (PROF__UNLIKELY(t->sums.tallies.calls >> 30)) prof__tallies_halve(&t->sums.tallies);
}

PROF__FN void prof__tally_put(prof__tally *r, uint64_t ticks, uint64_t inner) {
    r->total += ticks;
    r->inner += PROF__MIN(inner, ticks);
    r->least = PROF__MIN(r->least, ticks);
    r->most = PROF__MAX(r->most, ticks);
    prof__bucket_add(r, prof__bucket_of(ticks), 1);
}

/* A zone of so many ticks ends: returns the ticks of zones that ended within it, and adds its own
   to those within the zone around it. inner: the slot of its depth. */
PROF__INLINE uint64_t prof__tally_within(uint64_t *inner, uint64_t ticks) {
    uint64_t within = *inner;
    *inner = 0;
    inner[-1] += ticks;
    return within >> 63 ? 0 : within;    /* the timeline ended just after the zone within did */
}

/* Adds a zone to its row. within: ticks of what ended within it. */
PROF__FN void prof__sums_put(prof__state *t, uint32_t site, uint64_t ticks, uint64_t within,
                             bool unfinished) {
    prof__tally *r = prof__tally_of(t, site);
    prof__tally_put(r, ticks, within);
    r->usual = PROF__MIN(r->most, 65536u);
    prof__sums_counted(t, 1);
    PROF__BUMP(t->counts.summed_open, unfinished);
    if (!r->site && !prof__is_others(site)) PROF__BUMP(t->counts.others, 1);
}

/* A zone ends, of which the block has no record. What the block has is added before. */
PROF__FN void prof__sums_end(prof__state *t, uint32_t site_depth, uint64_t ticks, bool unfinished) {
    uint64_t within = prof__tally_within(t->sums.inner + (site_depth & 0xff), ticks);
    prof__sums_put(t, site_depth & ~(uint32_t)0xff, ticks, within, unfinished);
}

/* Adds any record, and empties it. */
PROF__RARE void prof__block_put(prof__state *t, prof__record *c) {
    bool back = prof__went_back(c);
    PROF__BUMP(t->counts.steps, back);
    prof__sums_end(t, c->site_depth, back ? 0 : c->duration, false);
    c->site_depth = 0;
}

PROF__COLD_END
/* The hot loop of sums: adds the records from c on to the rows and empties them, up to one that is
   not written, which it returns. Where site and depth repeat, only the first can hold others. */
PROF__FN prof__record *prof__block_run(prof__state *t, prof__record *c) {
    const prof__record *begin = c;
    uint64_t *const inners = t->sums.inner, *inner = NULL;
    uint32_t last = UINT32_MAX;          /* that is none */
    prof__tally *r = NULL;
    for (;; c++) {
        const uint64_t ticks = c->duration;
        if (c->site_depth != last || PROF__UNLIKELY(ticks > r->usual)) {
            last = c->site_depth;
            if (!last) break;
            r = prof__tally_find(&t->sums.tallies, last);
            if (PROF__UNLIKELY((r->site ^ last) > 0xff || ticks > r->usual)) {
                prof__block_put(t, c);   /* of a new site, or maybe the longest of its row */
                begin++;
                last = UINT32_MAX;
                continue;
            }
            inner = inners + (last & 0xff);
            if (*inner && !(*inner >> 63)) r->inner += PROF__MIN(*inner, ticks);
            *inner = 0;
        }
        if (PROF__UNLIKELY(ticks < r->least)) r->least = ticks;
        r->total += ticks;
        inner[-1] += ticks;
        r->histogram[prof__bucket_of(ticks)]++;
        c->site_depth = 0;
    }
    prof__sums_counted(t, (size_t)(c - begin));
    return c;
}

PROF__COLD_BEGIN
/* Adds all that the block has, up to end, when no more will be written there. */
PROF__FN void prof__block_add(prof__state *t, prof__record *end) {
    PROF__ASSERT(end >= t->begin && end <= t->limit + PROF__CLAIMS);
    for (prof__record *c = t->begin; c < end; c++)
        if (c->site_depth) prof__block_put(t, c);
}

/* Adds the block to the rows, and begins it again. This may be a signal handler that interrupted an
   end, which has claimed a slot and has still to write it: then what follows the slot stays, and
   while there is no room behind, each zone is added to its row as it ends (prof__put_zone). */
PROF__FN void prof__block_empty(prof__state *t) {
    prof__record *c = prof__block_run(t, t->begin);
    bool all = c == t->hot.cursor;
    PROF__STORE(t->begin, all ? t->sums.block : c);
    if (all) PROF__RELEASE(t->hot.cursor, t->sums.block);
}

/* Bytes of the least block. No zone needs room there: see prof__block_empty. */
#define PROF__SUMS_BLOCK ((64 + PROF__CLAIMS) * sizeof(prof__record))

/* Bytes that the sums of a thread take with 16 names, with the rows of a report. */
PROF__FN size_t prof__sums_cost(uint32_t depth) {
    return prof__align((depth + 2) * sizeof(uint64_t)) + PROF__SUMS_BLOCK +
           32 * sizeof(void *) + 17 * (sizeof(prof__tally) + sizeof(prof_average)) + 64;
}

/* Bytes that a thread needs to begin in sums, or to go over to sums with so many open zones. */
PROF__FN size_t prof__sums_first(uint32_t depth) {
    return prof__align((depth + 2) * sizeof(uint64_t)) + PROF__SUMS_BLOCK +
           prof__align(sizeof(prof__tally_index) + 15 * sizeof(prof__tally *)) +
           8 * sizeof(prof__tally) + sizeof(prof__row) + depth * sizeof(prof__open);
}

/* A block from the arena's top, smaller where little room is left. Under the lock. */
PROF__FN bool prof__block_take(prof__state *t) {
    const struct prof_trace *s = &prof__trace;
    size_t size = PROF__MIN(prof__arena_room(PROF__FOR_NAMES) / 64, 16384u);
    size_t seat = PROF__MIN(prof__arena.seats, s->sums.each);
    size = PROF__MAX(PROF__SUMS_BLOCK, size & ~(size_t)15u);
    t->sums.block = (prof__record *)(void *)prof__take_high(PROF__FOR_THREADS, size, 0);
    if (!t->sums.block) return false;
    t->sums.block_end = t->sums.block + size / sizeof *t->sums.block;
    prof__arena.seats -= seat;
    prof__arena.kept += seat;            /* records do not get what it leaves of its seat */
    return true;
}

/* Makes what a state needs, and keeps, for zones in sums: ticks by depth, an index, a few rows. */
PROF__FN bool prof__rows_prepare(prof__state *t) {
    prof__tallies *y = &t->sums.tallies;
    size_t depths = prof__trace.max_depth + 2;
    if (!y->low) {
        t->sums.inner = (uint64_t *)prof__tallies_take(y, PROF__FOR_THREADS,
                                                       depths * sizeof *t->sums.inner);
        if (!y->low) return false;
        t->sums.inner++;                      /* [-1]: of no zone */
    }
    return (y->others || prof__tallies_row(y, 0)) && (y->index || prof__tallies_index(y, 16));
}

/* ... and to go over to sums: a block. False: no room. Under the lock. */
PROF__FN bool prof__sums_prepare(prof__state *t) {
    static const prof_site timeline_ends = { "timeline ends", "", "", 0 };
    struct prof_trace *s = &prof__trace;
    if (s->mode == PROF_MODE_TRACE) {
        if (!s->sums.timeline_ends) s->sums.timeline_ends = prof__site_add(&timeline_ends, true);
        (void)prof__others_make();
    }
    if (!(t->sums.block || prof__block_take(t)) || !prof__rows_prepare(t)) return false;
    memset(t->sums.inner - 1, 0, (s->max_depth + 2) * sizeof *t->sums.inner);
    return true;
}

/* From here on t's zones go to its block, which prof__sums_prepare has made. */
PROF__FN void prof__sums_begin(prof__state *t, uint64_t since) {
    static const prof__zone_hooks none = { NULL, NULL, 0 };
    memset(t->sums.block, 0, (size_t)(t->sums.block_end - t->sums.block) * sizeof *t->sums.block);
    t->wants = 0;
    t->hooks = none;
    PROF__STORE(t->sums.since, since);
    PROF__STORE(t->sums.on, true);
    t->reserve = 0;
    PROF__STORE(t->begin, t->sums.block);
    PROF__STORE(t->limit, t->sums.block_end - PROF__CLAIMS - 1);   /* behind is an empty slot */
    PROF__RELEASE(t->hot.cursor, t->sums.block);
}

/* A thread's timeline ended at tick; full_tick 0 is kept for none. Under the lock. */
PROF__FN void prof__timeline_full(struct prof_trace *s, uint64_t tick) {
    if (!s->sums.full_tick || tick < s->sums.full_tick) s->sums.full_tick = PROF__MAX(tick, 1u);
}

/* Copies what t has not added to its rows yet: its block to `to`, which has room for so many
   records, and the ticks by depth to inner. Returns the copy's end. What is read after the rows is
   in none of them. */
PROF__FN PROF__RACES prof__record *prof__block_copy(const prof__state *t, prof__record *to,
                                                    size_t room, uint64_t *inner) {
    const prof__record *begin = PROF__LOAD(t->begin);
    const bool adds = PROF__LOAD(t->sums.on) && PROF__LOAD(t->recording);
    const prof__record *end = adds ? prof__cursor_of(t) : begin;
    size_t n = end < begin ? 0 : PROF__MIN((size_t)(end - begin), room);
    prof__copy_words(inner, t->sums.inner - 1, (prof__trace.max_depth + 2) * sizeof *inner);
    prof__copy_records(to, begin, n);
    return to + n;
}

/* The next zone of the copy, and the ticks within it. False: no more. */
PROF__FN bool prof__block_next(prof__cursor *k, prof__item *i, uint64_t *inner, uint64_t *within) {
    while (prof__next(k, i)) {
        if (!prof__item_is_zone(i)) continue;
        if (!i->kind && prof__went_back(i->at)) i->duration = 0;
        *within = prof__tally_within(inner + 1 + (i->site_depth & 0xff), i->duration);
        return true;
    }
    return false;
}

/* ---- @RECORD: zones begin and end, on the thread that has them ----

   The hot path fills a frame when a zone begins and writes a record when it ends. Epochs that no
   clock has, and hot.last = 0, lead here, into the slow path: for a thread's first zone, a new
   chunk, sums, deep zones, other clocks, ends out of order. The thread holds its own lock here;
   what a signal handler begins meanwhile is dropped.
   - A zone that began is written: a chunk always has room left for the records of open zones.
   - top moves after the cursor at an end, and before the site at a begin, so that a signal handler
     in between finds each zone either open or written.
   - A drop is counted where it happens, and the end of a dropped begin ends nothing. */

/* Slots up to the limit; less than 0: ends that signal handlers interrupted claimed some behind. */
PROF__INLINE ptrdiff_t prof__left(const prof__state *t) { return t->limit - t->hot.cursor; }

/* Writes the zone of frame f, ended at now, and returns its ticks. kind: 0, PROF__UNFINISHED or
   PROF__PARTIAL. The caller has made room: by prof__room, or it uses the slots kept for open
   zones. In sums there may be none. */
PROF__FN uint64_t prof__put_zone(prof__state *t, const prof__frame *f, uint64_t now,
                                 uint32_t kind) {
    uint64_t start = (uint64_t)f->epoch << 32 | f->start, duration;
    uint32_t site_depth = f->site + f->depth;
    bool two;
    duration = now < start ? 0 : now - start;
    if (kind == PROF__UNFINISHED) PROF__BUMP(t->counts.unfinished, 1);
    if (now < start) PROF__BUMP(t->counts.steps, 1);
    two = kind || duration > (uint32_t)now;   /* see prof__went_back */
    if (t->sums.on && (two || t->full || prof__left(t) < 1)) {
        prof__block_empty(t);
        prof__sums_end(t, site_depth, duration, kind != 0);
        return duration;
    }
    if (two || (now >> 32 != t->epoch && !t->sums.on))
        prof__put_long(t, kind ? kind : (uint32_t)PROF__ZONE64, duration, now, site_depth);
    else prof__put(t, (uint32_t)now, (uint32_t)duration, site_depth);
    t->epoch = (uint32_t)(now >> 32);    /* a long one is a clock record, too */
    return duration;
}

/* The timeline of t ends now: with its open zones up to here, in the slots kept for their ends, and
   the instant "timeline ends". In sums an open zone's time so far lies in the zone around it
   already: inner ticks begin that much below 0, and are above when both have ended. An end that
   this interrupted may yet empty one of the next two slots: they hold nothing. Under the lock. */
PROF__FN void prof__timeline_end(prof__state *t, uint64_t now) {
    t->sums.held = true;
    for (int i = 0; i < 2 && prof__left(t) >= 2; i++) {
        prof__put(t, 0, 0, PROF__PART_WORD);
        PROF__BUMP(t->counts.extra, 1);
    }
    for (prof__frame *f = t->hot.top; f > t->hot.bottom && prof__left(t) >= 2;) {
        prof__frame part = *--f;
        if (!prof__tally_of(t, f->site)->site) part.site = prof__sites.others << 8;
        t->sums.inner[f - t->hot.bottom - 1] -= prof__put_zone(t, &part, now, PROF__PARTIAL);
    }
    t->sums.held = false;
    if (prof__left(t) >= 2)
        prof__put_long(t, PROF__INSTANT, now, 0, prof__trace.sums.timeline_ends << 8 | 255u);
    PROF__BUMP(t->counts.slots, (size_t)(t->hot.cursor - t->segment->begin));
    PROF__RELEASE(t->segment->end, t->hot.cursor);
}

/* The arena is full: t goes on in sums. False: there is no room for that either. Under the lock. */
PROF__FN bool prof__sum_from_here(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    uint64_t now;
    if (!s->sums.on || !prof__sums_prepare(t)) return false;
    now = s->clock == PROF_CLOCK_CPU ? prof__cpu_now() : t->last;
    prof__timeline_full(s, now);
    prof__timeline_end(t, now);
    prof__sums_begin(t, now);
    t->fast = PROF__FAST && s->clock == PROF_CLOCK_CPU && !t->observed;
    return true;
}

/* Makes room for n more slots, beside those kept for open zones; takes the next chunk before this
   one ends. Afterwards t may be in sums, whose zones need none. */
PROF__FN bool prof__room_made(prof__state *t, uint32_t n) {
    bool ok, full = false;
    if (!prof__lock_briefly()) return false;
    ok = t->generation == PROF__LOAD(prof__on);
    if (ok && !t->ahead) {
        t->ahead = prof__segment_take(t);
        full = t->ahead == NULL;
    }
    if (full) ok = prof__sum_from_here(t);
    if (ok && !full && prof__left(t) < (ptrdiff_t)n) {
        prof__segment_open(t, t->ahead);
        t->ahead = NULL;
        prof__knot_sometimes();
    }
    prof__unlock();
    return ok;
}

PROF__FN bool prof__room(prof__state *t, uint32_t n) {
    uint64_t before;
    bool made;
    if (prof__left(t) >= (ptrdiff_t)(n + t->reserve)) return true;
    if (t->sums.on && !prof__is_open(t)) return false;   /* its end adds the block */
    if (t->sums.on) prof__block_empty(t);
    if (t->sums.on) return true;
    if (prof__room_made(t, n)) return true;
    if (!t->flushes || !prof__is_open(t) || prof__mine(&prof__port.lock)) return false;
    prof__state_unlock(t);                     /* who ends the session may be about to flush */
    before = prof__os_now();
    made = prof__flush(0, true) == PROF_OK;
    prof__take_lock(&t->lock);
    if (prof__is_open(t))
        PROF__BUMP(t->counts.stalled_us, (size_t)((prof__os_now() - before) / 1000));
    return made && prof__room_made(t, n);
}

/* Counts a dropped begin (NULL: dropped_busy). Without a token its end must be skipped, too. */
PROF__FN prof__frame *prof__skip(prof__state *t, size_t *count, bool token) {
    if (count) PROF__BUMP(*count, 1);
    else PROF__COUNT(prof__loose.dropped_busy);
    if (!token) t->skipped++;
    return NULL;
}

/* Ends the innermost zone, which is no deep one. False: there is none any more: prof_stop has ended
   it, or a signal handler. Without room, where the lock could not be taken, it is dropped. */
PROF__FN bool prof__end_zone(prof__state *t, bool unfinished) {
    uint64_t now = prof__state_now(t);
    prof__frame *f = t->hot.top - 1;
    if (f < t->hot.bottom) return false;
    if (t->hooks.end && prof__is_open(t)) (t->hooks.end)(t, f);
    if (!prof__room(t, 4)) {
        if (PROF__LOAD(prof__on) != t->generation) return false;
        t->full = true;
    }
    if (t->sums.on) now = PROF__MAX(now, t->sums.since);   /* its part's end */
    if (t->sums.on || prof__left(t) >= 2)
        (void)prof__put_zone(t, f, now, unfinished ? (uint32_t)PROF__UNFINISHED : 0);
    else PROF__BUMP(t->counts.full, 1);
    PROF__RELEASE(t->hot.top, f);
    PROF__RELEASE(f->epoch, f < t->crowd ? t->armed : PROF__NEVER);
    if (t->observed) prof__observe_end(t, f->site);
    return true;
}

/* ---- deep zones: more than max_depth are open ---- */

/* Deep zones are only in sums; each is added to its row as it ends. While one is open all zones
   take the slow path. This makes memory for one more, of what names may have. Under the lock. */
PROF__FN prof__deep *prof__deep_take(prof__state *t) {
    struct prof_trace *s = &prof__trace;
    prof__deep *d = NULL;
    if (prof__arena_room(PROF__FOR_NAMES) >= sizeof *d && prof__rows_prepare(t))
        d = (prof__deep *)prof__tallies_take(&t->sums.tallies, PROF__FOR_THREADS, sizeof *d);
    if (!d) return NULL;
    if (s->mode != PROF_MODE_AGGREGATE) (void)prof__others_make();
    PROF__STORE(s->sums.any_deep, true);
    d->below = t->deep.top;
    if (d->below) d->below->above = d;
    else t->deep.first = d;
    return d;
}

/* The frame of one more; NULL: no room. */
PROF__FN prof__frame *prof__deep_push(prof__state *t) {
    prof__deep *d = t->deep.top ? t->deep.top->above : t->deep.first;
    if (!prof__is_open(t)) return NULL;
    if (!d && prof__lock_briefly()) {
        d = prof__deep_take(t);
        prof__unlock();
    }
    if (!d) return NULL;
    if (!t->deep.top && !t->sums.on && t->deepest > t->hot.bottom &&
        !prof__tally_of(t, t->deepest[-1].site)->site) return NULL;   /* it takes what ends here */
    d->within = 0;
    t->deep.top = d;
    PROF__SIGNAL_FENCE();                /* a thread may be cancelled in between */
    PROF__STORE(t->deep.open, t->deep.open + 1);
    return &d->frame;
}

PROF__FN void prof__deep_pop(prof__state *t) {
    PROF__STORE(t->deep.open, t->deep.open - 1);
    PROF__SIGNAL_FENCE();
    t->deep.top = t->deep.top->below;
}

/* Ends the innermost deep zone at now: adds it to its row, and its ticks to those within the zone
   around it. If that one is in the timeline, they go to its row. Called by its thread, or by the
   thread that ends the session. */
PROF__FN void prof__deep_put(prof__state *t, uint64_t now, bool unfinished) {
    const prof__deep *d = t->deep.top;
    uint64_t start = (uint64_t)d->frame.epoch << 32 | d->frame.start;
    uint64_t ticks = now - PROF__MIN(start, now);
    prof__tally *r;
    prof__sums_put(t, d->frame.site, ticks, d->within, unfinished);
    PROF__BUMP(t->counts.deep, 1);
    PROF__BUMP(t->counts.steps, !unfinished && now < start);
    PROF__BUMP(t->counts.unfinished, unfinished);
    prof__deep_pop(t);
    if (PROF__LOAD(t->deep.open)) t->deep.top->within += ticks;
    else if (t->sums.on) t->sums.inner[t->deepest - t->hot.bottom - 1] += ticks;
    else if (t->deepest > t->hot.bottom) {
        r = prof__tally_of(t, t->deepest[-1].site);
        if (r->site) r->around += ticks; /* it has: prof__deep_push */
    }
}

/* The same, on its thread. False: the session is over; prof_stop ends it. */
PROF__FN bool prof__end_deep(prof__state *t, bool unfinished) {
    uint64_t now = prof__state_now(t);
    uint32_t site;
    if (!prof__is_open(t)) return false;
    site = t->deep.top->frame.site;
    if (t->sums.on) prof__block_empty(t);
    prof__deep_put(t, now, unfinished);
    if (t->observed) prof__observe_end(t, site);
    return true;
}

/* Ends the innermost zone. False: it is not open any more. */
PROF__FN bool prof__end_innermost(prof__state *t, bool unfinished) {
    return PROF__LOAD(t->deep.open) ? prof__end_deep(t, unfinished) : prof__end_zone(t, unfinished);
}

/* How many zones are open, also of older generations. */
PROF__FN size_t prof__open_zones(const prof__state *t) {
    return (size_t)(PROF__LOAD(t->hot.top) - t->frames) + PROF__LOAD(t->deep.open);
}

/* Ends the zones that are open: all but the outer ones, so many. False: as above. */
PROF__EAGER bool prof__end_inner(prof__state *t, size_t outer) {
    while (prof__open_zones(t) > outer)
        if (!prof__end_innermost(t, false)) return false;
    return true;
}

/* The same where they were left open, of which nobody told. */
PROF__FN bool prof__end_left(prof__state *t, size_t outer) {
    size_t open = prof__open_zones(t);
    bool ended = prof__end_inner(t, outer);
    PROF__BUMP(t->counts.healed, open - PROF__MIN(prof__open_zones(t), open));
    return ended;
}

/* Drops deep zones where a signal handler, in the slow path, ended a zone around them. */
PROF__FN void prof__deep_check(prof__state *t) {
    if (PROF__LIKELY(!PROF__LOAD(t->deep.open) || t->hot.top == t->deepest)) return;
    if (!prof__is_open(t)) return;
    for (; PROF__LOAD(t->deep.open); PROF__COUNT(prof__loose.dropped_busy)) prof__deep_pop(t);
}

enum { PROF__COUNTS = sizeof(prof__counts) / sizeof(size_t) };

/* Adds a thread's counts, which may be changing. */
PROF__FN void prof__counts_add(prof__counts *sum, const prof__counts *c) {
    size_t *to = (size_t *)(void *)sum;
    const size_t *from = (const size_t *)(const void *)c;
    for (size_t i = 0; i < PROF__COUNTS; i++) PROF__BUMP(to[i], PROF__LOAD(from[i]));
}

PROF__FN void prof__counts_clear(prof__counts *c) {
    size_t *count = (size_t *)(void *)c;
    for (size_t i = 0; i < PROF__COUNTS; i++) PROF__STORE(count[i], (size_t)0);
}

/* The id that the row's thread tells. */
PROF__FN uint64_t prof__row_told(const prof__row *r) {
    return prof__trace.platform.thread_id ? r->info.id : r->os_id;
}

/* A free row, with or without an index of prof_threads(). NULL: there is none. */
PROF__FN prof__row *prof__row_again(struct prof_trace *s, bool indexed) {
    prof__row **from = &s->pool.free_rows, *row;
    while ((row = *from) != NULL && (row->thread != PROF_NONE) != indexed) from = &row->again;
    if (row) *from = row->again;
    return row;
}

/* A row for the thread, with the index and the name of old or a new one. Where only free rows with
   another index are left, a thread that has one already continues under a new index. */
PROF__FN prof__row *prof__row_take(struct prof_trace *s, const prof__row *old) {
    static const char none[sizeof old->name] = "";
    prof__row *row = prof__row_again(s, !old);
    if (!row) {
        row = (prof__row *)prof__take_for(PROF__FOR_THREADS, sizeof *row,
                                          sizeof row->info + PROF__LANE_COST);
        if (row) memset(row, 0, sizeof *row);
        if (row) row->thread = PROF_NONE;
    }
    if (!row) {
        row = prof__row_again(s, old != NULL);
        old = NULL;
    }
    if (!row) return NULL;
    if (old) row->thread = old->thread;
    if (row->thread == PROF_NONE) row->thread = s->thread_count++;
    row->order = old ? old->order : s->pool.came++;
    prof__copy_words(row->name, old ? old->name : none, sizeof none);   /* prof_dump may read it */
    return row;
}

PROF__FN prof__row *prof__row_add(uint64_t id) {
    struct prof_trace *s = &prof__trace;
    static prof__row empty;              /* zeros, not on the stack of a zone */
    prof__row *row, *old = NULL;         /* old: of an older generation; the thread continues it */
    uint64_t own = id;
    uint32_t thread;
    uint32_t bit = 1u << id % 32, *ids = s->pool.ids + id / 32 % 1024;
    bool fresh = !s->platform.thread_id && !(*ids & bit);   /* no row has it */
    *ids |= bit;
    row = fresh || s->generation == s->first_generation ? NULL : s->rows;
    for (; row; row = row->next)
        if (!row->over && row->generation != s->generation && prof__row_told(row) == id) old = row;
    if (old && s->mode != PROF_MODE_TRACE && prof__row_empty(old) && !old->pinned)
        prof__row_unlist(row = old);     /* the newest is the last */
    else row = prof__row_take(s, old);
    if (!row) return NULL;
    if (old) old->over = true;
    thread = row->thread;
    prof__copy_words(row, &empty, offsetof(prof__row, open));   /* prof_dump may read it */
    PROF__STORE(row->announced, 0u);
    for (const prof__row *r = fresh || s->platform.thread_id ? NULL : s->rows; r && own == id;
         r = r->next)
        if (r->info.id == id && r->thread != thread)
            own = 1u << 30 | thread;     /* the system gave id to a thread before */
    prof__copy_words(&row->info.id, &own, sizeof own);
    row->os_id = id;
    row->generation = s->generation;
    PROF__STORE(row->number, s->pool.row_number++);
    if (s->mode == PROF_MODE_TRACE) row->open = NULL;
    if (row->listed) return row;
    row->listed = true;
    PROF__STORE(row->next, NULL);
    if (s->pool.last_row) PROF__RELEASE(s->pool.last_row->next, row);
    else PROF__RELEASE(s->rows, row);
    s->pool.last_row = row;
    s->row_count++;
    return row;
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

PROF__FN bool prof__row_for(prof__state *t, uint64_t id) {
    const prof_platform *p = &prof__trace.platform;
    uint64_t os_id = prof__os_thread_id();
    prof__row *row;
    bool context = id != 0;
    if (!id) id = p->thread_id ? (p->thread_id)(p->user) : os_id;
    for (row = prof__trace.pool.awaited ? prof__trace.rows : NULL; row; row = row->next) {
        if (!row->awaited || row->generation != prof__trace.generation) continue;
        if (row->awaited == 1 ? prof__row_told(row) == id : !context && row->os_id == os_id) break;
    }
    if (!row) row = prof__row_add(id);
    if (!row) return false;
    prof__trace.pool.awaited -= row->awaited != 0;
    row->awaited = 0;
    row->over = context;                 /* no toggle keeps it */
    if (p->thread_id) prof__copy_words(&row->info.id, &id, sizeof id);
    if (p->thread_id) row->os_id = os_id;
    PROF__STORE(t->number, row->number);
    PROF__RELEASE(t->row, row);
    return true;
}

/* Empties the shadow stack for a new generation. Zones that are open from older generations keep
   their frames below bottom, so that no token of theirs is taken for a new one. */
PROF__FN void prof__stack_reset(prof__state *t, prof__frame *bottom) {
    PROF__RELEASE(t->hot.bottom, bottom);
    PROF__RELEASE(t->hot.top, bottom);
    t->armed = PROF__NEVER;
    for (prof__frame *f = t->frames; f <= t->deepest; f++) {   /* stale ends are slow, too */
        f->depth = f < bottom ? 0 : (uint32_t)(f - bottom);
        PROF__STORE(f->site, 0u);
        PROF__STORE(f->start, 0u);
        PROF__STORE(f->epoch, PROF__NEVER);
    }
}

/* A segment for t; NULL: none is left, and where *ok is true t records in sums. Sets memory aside
   for the zones that it may have open. Under the lock. */
PROF__FN prof__segment *prof__state_place(prof__state *t, bool *ok) {
    struct prof_trace *s = &prof__trace;
    bool promised = t->promised == s->generation;
    uint32_t slots = promised ? t->slots : s->mode == PROF_MODE_AGGREGATE ? 0 : s->max_depth;
    size_t cost = promised ? 0 : prof__state_cost(slots);
    prof__segment *g = NULL;
    *ok = true;
    if (s->mode != PROF_MODE_AGGREGATE && slots) g = prof__segment_take(t);
    if (g && prof__arena_room(s->sums.on ? PROF__FOR_RECORDS : PROF__FOR_THREADS) < cost) {
        prof__segment_give(g);
        g = NULL;
    }
    if (!g) {
        if (!promised) cost = prof__state_cost(slots = 0);
        *ok = s->sums.on && prof__sums_prepare(t) && prof__arena_room(PROF__FOR_THREADS) >= cost;
        if (!*ok) return NULL;
    }
    prof__arena.promised += cost;
    if (cost && g && !s->sums.on) prof__seats_add(-(ptrdiff_t)s->sums.each);
    if (!promised) s->slot_count += slots;
    t->slots = slots;
    t->promised = s->generation;
    if (!g && s->mode == PROF_MODE_TRACE) prof__timeline_full(s, prof__session_now(s));
    return g;
}

/* Makes t record in the session that is open: gives it a segment, or sums where there is none left,
   and a row in the trace (of the thread id; 0: the calling thread's). stale: zones of older
   sessions that are still open in its frames. False: the arena is full. Under the lock. */
PROF__FN bool prof__state_open(prof__state *t, uint32_t stale, uint64_t id) {
    const struct prof_trace *s = &prof__trace;
    prof__segment *g;
    bool ok;
    PROF__STORE(t->recording, 0u);
    PROF__STORE(t->sums.on, false);
    (void)prof__take_lock_briefly(&t->lock, 1000);
    prof__release(&t->lock);             /* a dump may have read what the last thread wrote */
    memset((char *)t + offsetof(prof__state, full), 0,
           offsetof(prof__state, counts) - offsetof(prof__state, full));
    g = prof__state_place(t, &ok);
    if (!ok) return false;
    prof__counts_clear(&t->counts);
    PROF__STORE(t->deep.open, 0u);
    t->deep.top = NULL;
    t->generation = s->generation;
    t->reserve = PROF__RESERVE(s->max_depth);
    t->clock = s->clock;
    t->bias = s->bias;
    t->flushes = s->stream.flush_inline;
    t->due.at = s->stream.often ? 0 : UINT64_MAX;
    t->due.records = s->stream.often;
    t->platform = s->platform;
    t->hooks = prof__recorder.hooks;
    t->wants = PROF__LOAD(prof__recorder.wants);
    t->streams = s->mode == PROF_MODE_STREAM;
    t->details.wide = t->streams || prof__wide(s);
    t->observed = prof__recorder.observer_count != 0;
    PROF__STORE(t->hot.last, 0u);
    while (!prof__row_for(t, id)) {      /* a ring's oldest row may become free */
        if (g) prof__segment_give(g);
        g = g && s->mode == PROF_MODE_RING ? prof__ring_take(t) : NULL;
        if (!g) return false;
    }
    if (g) prof__segment_open(t, g);
    else prof__sums_begin(t, 0);
    t->fast = PROF__FAST && s->clock == PROF_CLOCK_CPU && !t->observed && !t->hooks.slots;
    PROF__STORE(t->deepest, t->frames + s->max_depth);
    t->crowd = t->deepest - (s->max_depth + 3) / 4;
    t->origins = (prof__origin *)(void *)(t->deepest + 1);
    t->origins_less = (uintptr_t)t->origins - 2 * (uintptr_t)t->frames;
    t->overlaid = stale > s->max_depth / 2;
    prof__stack_reset(t, t->frames + (t->overlaid ? 0 : stale));
    t->next = prof__recorder.owned;
    prof__recorder.owned = t;
    PROF__RELEASE(t->recording, t->generation);
    return true;
}

/* Takes a thread's state away; the rest of its memory goes to others, if it is in this session's
   arena. Under the lock. */
PROF__FN void prof__state_give(prof__tls_data *tls, prof__state *t) {
    struct prof_trace *s = &prof__trace;
    prof__state **p = &prof__recorder.owned;
    tls->stale = (uint32_t)(t->hot.top - t->frames);
    tls->generation = 1;
    tls->hot = &prof__nowhere;
    prof__state_unlock(t);
    while (*p && *p != t) p = &(*p)->next;
    if (*p) *p = t->next;
    if (!s->open || t->generation < s->first_generation) return;
    if (!t->sums.on) prof__chunk_give(t);
    t->next = s->pool.free_states;
    s->pool.free_states = t;
}

/* Takes the lock when no end of the session is under way: that owns the thread's open zones. */
PROF__FN void prof__lock_to_leave(prof__state *t) {
    const struct prof_trace *s = &prof__trace;
    prof__lock();
    while (s->open && t->recording == s->generation && !prof__is_open(t)) {
        prof__unlock();
        prof__state_unlock(t);
        prof__yield();
        prof__take_lock(&t->lock);
        prof__lock();
    }
}

/* Gives back what this thread holds. Its open zones end now, if its generation is the open one. */
PROF__CALL void prof_thread_end(void) {
    struct prof_trace *s = &prof__trace;
    prof__tls_data *tls = prof__tls_get();
    void (*leaves)(void);
    prof__state *t;
    bool ends;
    if (!prof__enter(tls)) return;
    leaves = PROF__LOAD(prof__recorder.thread_leaves);
    if (leaves) leaves();
    t = prof__tls_state(tls);
    if (&t->hot == &prof__nowhere) {
        prof__leave(tls);
        return;
    }
    while (prof__is_open(t) && prof__end_innermost(t, true)) {}
    prof__lock_to_leave(t);
    ends = prof__session.open && t->generation >= s->first_generation &&
           t->row->number == t->number &&         /* else it is another thread's row, */
           !(t->row->over && t->row->left);       /* or a context's, over since its window closed */
    if (s->open && t->recording == s->generation) {
        if (t->sums.on) {
            t->sums.held = true;
            prof__block_add(t, t->hot.cursor);
            t->sums.held = false;
            PROF__RELEASE(t->hot.cursor, t->begin);
        } else {
            if (t->segment) PROF__RELEASE(t->segment->end, t->hot.cursor);
            PROF__BUMP(t->counts.slots, (size_t)(t->hot.cursor - t->begin));
        }
        prof__counts_add(&s->counts, &t->counts);
        PROF__STORE(t->row->left, true);
        PROF__STORE(t->recording, 0u);
    }
    if (ends) t->row->over = true;
    if (ends && s->open && prof__row_empty(t->row)) prof__row_free(t->row);
    prof__state_give(tls, t);
    prof__unlock();
    prof__leave(tls);
}

/* A free state or a new one, which records in the open generation from now on. What is kept for
   threads goes last. NULL: no room, or max_threads. Under the lock. */
PROF__FN prof__state *prof__state_find(uint32_t stale, uint64_t id) {
    struct prof_trace *s = &prof__trace;
    size_t size = s->pool.state_size, each = s->sums.each;
    prof__state *t, *after;
    if (!s->pool.free_states && s->pool.states < s->max_threads) {
        bool seat = prof__session.desc.max_threads ||
                    prof__arena_room(PROF__FOR_RECORDS) < size + each;
        char *p = (char *)prof__take_for(PROF__FOR_THREADS, size, 0);
        prof__seats_add(seat ? -(ptrdiff_t)size : (ptrdiff_t)each);
        if (p) prof__state_make(p);
    }
    t = s->pool.free_states;
    after = t ? t->next : NULL;
    if (!t || !prof__state_open(t, stale, id)) return NULL;
    s->pool.free_states = after;
    return t;
}

/* The same. Where all chunks wait to be flushed it may flush them, with the lock open meanwhile. */
PROF__FN prof__state *prof__state_take(uint32_t stale, uint64_t id) {
    struct prof_trace *s = &prof__trace;
    uint32_t on = PROF__LOAD(prof__on);
    prof__state *t = prof__state_find(stale, id);
    if (!t && s->stream.flush_inline) {
        prof__unlock();
        (void)prof__flush(0, true);
        prof__lock();
        if (PROF__LOAD(prof__on) != on) return NULL;
        t = prof__state_find(stale, id);
    }
    return t;
}

/* Gives the calling thread a state in the open generation. *refused: the generation that has none
   for it, which is counted. Under the lock. */
PROF__FN prof__state *prof__attach_locked(prof__tls_data *tls, uint32_t *refused) {
    struct prof_trace *s = &prof__trace;
    prof__state *t = NULL;
    prof__hot *hot = tls->hot;
    uint32_t on;
    if (hot != &prof__nowhere) prof__state_give(tls, (prof__state *)(void *)hot);
    on = PROF__LOAD(prof__on);
    if (on) t = prof__state_take(tls->stale, 0);          /* off: prof_toggle, just now */
    if (!t && on && PROF__LOAD(prof__on) == on) {
        bool all = !s->pool.free_states && s->pool.states == s->max_threads;
        PROF__BUMP(*(all ? &s->dropped_threads : &s->counts.full), 1);
        *refused = on;
    }
    if (!t) return NULL;
    tls->hot = &t->hot;
    PROF__SIGNAL_FENCE();
    tls->generation = t->generation;
    return t;
}

PROF__FN prof__state *prof__attach(prof__tls_data *tls, uint32_t *refused) {
    prof__state *t = NULL;
    int cancel = prof__cancel_off();     /* or it would have a state that nobody gives back */
    if (prof__lock_briefly()) {
        t = prof__attach_locked(tls, refused);
        prof__unlock();
        if (t) prof__at_thread_exit();
    } else {
        PROF__COUNT(prof__loose.dropped_busy);
        *refused = PROF__LOAD(prof__on);
    }
    prof__cancel_back(cancel);
    return t;
}

/* The number of begins that a thread dropped in generation `on` while it had no state. Begins of
   older generations are forgotten: their ends are cut. */
PROF__FN uint32_t *prof__skipped_in(prof__tls_data *tls, uint32_t on) {
    if (tls->skipped_in != on) tls->skipped = 0;
    tls->skipped_in = on;
    return &tls->skipped;
}

PROF__FN uint32_t *prof__skipped_here(prof__tls_data *tls) {
    return prof__skipped_in(tls, PROF__LOAD(prof__on));
}

/* Notes a begin that was dropped in generation `on`, so that its end ends nothing: by a thread
   without a state, or by a signal handler that interrupted the slow path. At its first and last
   instructions the hot path still works: last is set to 0, so that the handler's end is not hot. */
PROF__FN void prof__skip_in(prof__tls_data *tls, uint32_t on, bool token) {
    if (token) return;
    if (!tls->busy) {
        ++*prof__skipped_in(tls, on);
        return;
    }
    tls->busy++;
    if (tls->generation == PROF__LOAD(prof__on)) PROF__STORE(tls->hot->last, 0u);
}

/* The slow path of prof__state_here. */
PROF__FN prof__state *prof__state_first(prof__tls_data *tls, uint32_t on, bool token) {
    uint32_t refused = 0;
    prof__state *t = NULL;
    if (!prof__enter(tls)) {
        PROF__COUNT(prof__loose.dropped_busy);
        refused = on;
    } else {
        t = tls->generation == on ? prof__tls_state(tls)   /* by a signal handler, just now */
                                   : prof__attach(tls, &refused);
        prof__leave(tls);
    }
    if (refused) prof__skip_in(tls, refused, token);
    return t;
}

/* This thread's state in the open generation, made if need be. NULL: nothing is recorded, or there
   is none for it, which is counted. token: false where a zone begins that will be ended without
   one. A begin while nothing is recorded is not noted as skipped: its end is cut. */
PROF__EAGER prof__state *prof__state_here(prof__tls_data *tls, bool token) {
    uint32_t on = PROF__LOAD(prof__on);
    if (PROF__LIKELY(on && tls->generation == on)) return prof__tls_state(tls);
    return on ? prof__state_first(tls, on, token) : NULL;
}

/* Describes the call that begins a zone: its return address, and the caller's frame pointer (its
   own frame may be gone when the stack is read). */
#if defined(__GNUC__) && !defined(__TINYC__) && !defined(__wasm__)
#  define PROF__ENTRY __attribute__((noinline)) PROF__QUIET
PROF__EAGER prof__entry_frame prof__entry_of(const void *returns, const void *frame, void *stack) {
    prof__entry_frame e = { returns, frame, 0, 0 };
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
static const prof__entry_frame prof__entry_none = { NULL, NULL, 0, 0 };
#  define PROF__ENTRY_AT(stack) prof__entry_none
#  define PROF__ENTRY_FRAME() prof__entry_none
#endif

PROF__INLINE void prof__origin_set(prof__origin *o, const prof__frame *f,
                                   prof__entry_frame entry) {
    o->stack = entry.stack;
    o->returns = (uintptr_t)entry.returns;
    o->function = entry.function;
    memcpy(&o->of, f, sizeof o->of);
}

#if PROF__LEAVES
/* Blocks and functions that began deeper in the stack than here are over; so are those that began
   here, by the same instruction in the same stack frame. */
PROF__INLINE bool prof__is_over(const prof__origin *o, prof__entry_frame here) {
    return o->stack < here.stack || (o->stack == here.stack && o->function == here.function &&
                                     o->returns == (uintptr_t)here.returns);
}

/* Has longjmp left the zone of frame f? Of stacks that are not the thread's own (coroutines,
   sigaltstack) nothing is known. */
PROF__FN bool prof__is_left(prof__state *t, const prof__frame *f, const prof__entry_frame *here) {
    const prof__origin *o = prof__origin_of(t, f);
    if (!o || o->function == PROF__BY_CALL || !prof__origin_fits(o, f)) return false;
    if (!o->stack || !prof__is_over(o, *here)) return false;
    if (!t->own) t->stack = prof__stack_own(here->stack);
    t->own = true;
    return prof__stack_left(t->stack, o->stack, here->stack);
}

/* A thread with many open zones begins another: first ends the inner zones that longjmp left. */
PROF__FN void prof__heal(prof__state *t, const prof__entry_frame *here) {
    while (prof__is_open(t) && t->hot.top > t->crowd &&
           prof__is_left(t, t->deep.top ? &t->deep.top->frame : t->hot.top - 1, here))
        if (!prof__end_left(t, prof__open_zones(t) - 1)) return;
}
#else
#  define prof__is_over(o, here) ((void)(here), false)
#  define prof__heal(t, here) ((void)0)
#endif

/* Counts an instant, a counter or such that is dropped because it has no site. */
PROF__FN void prof__count_siteless(prof__state *t, uint32_t why) {
    if (why == PROF__NO_ROOM) PROF__BUMP(t->counts.full, 1);
    else PROF__COUNT(prof__loose.dropped_busy);
}

/* Is this a child of vfork, which shares its parent's open zones? begins: it is at a mark that the
   parent never reached. The parent goes on with its zones as they were. */
PROF__FN bool prof__in_copy(prof__state *t, bool begins) {
    uint32_t process = t->copy || begins ? prof__process_id() : 0;
    if (t->copy != process && t->copy) {
        t->skipped = t->copy_skipped;
        t->copy = 0;
    }
    if (begins && !t->copy) {
        t->copy_skipped = t->skipped;
        t->copy = process;
    }
    return t->copy != 0;
}

/* Begins a zone, which may be a deep one. NULL: it is dropped. */
PROF__FN prof__frame *prof__open_zone(prof__state *t, uint32_t site, bool token,
                                      prof__entry_frame entry) {
    prof__frame *f = NULL;
    uint32_t why = site;
    uint64_t now;
    bool deep;
    if (prof__in_copy(t, site == PROF__NO_COPY)) return prof__skip(t, NULL, token);
    if (site <= PROF__NO_LOCK) site = PROF__LOAD(prof__sites.others) << 8;
    if (!site) return prof__skip(t, NULL, token);
    if (!entry.function) entry.function = token ? PROF__BY_SCOPE : PROF__BY_CALL;
    if (t->hot.top > t->crowd) prof__heal(t, &entry);
    deep = t->hot.top == t->deepest;
    if (!t->skipped && deep) f = prof__deep_push(t);
    else if (!t->skipped && prof__room(t, 4 + t->hooks.slots)) f = t->hot.top;
    t->full = !f;
    if (!f) return prof__skip(t, &t->counts.full, token);
    if (why <= PROF__NO_LOCK) PROF__BUMP(t->counts.others, 1);
    if (!deep && t->hooks.begin && prof__is_open(t)) (t->hooks.begin)(t, f, entry);
    now = prof__state_now(t);
    if (!deep && now >> 32 != t->epoch) {
        t->epoch = (uint32_t)(now >> 32);
        prof__put_clock(t);
    }
    PROF__ASSERT(deep || t->ahead || t->sums.on ||
                 prof__left(t) >= (ptrdiff_t)PROF__RESERVE(f - t->hot.bottom));
    PROF__STORE(f->epoch, (uint32_t)(now >> 32));
    if (!deep) PROF__STORE(t->hot.top, f + 1);
    PROF__STORE(f->site, site);
    PROF__RELEASE(f->start, (uint32_t)now);
    if (deep || f >= t->crowd) prof__origin_set(prof__origin_of(t, f), f, entry);
    if (t->observed) prof__observe_begin(t, site);
    return f + 1;
}

/* Begins a zone that the hot path could not. site: shifted by 8, or PROF__NO_...: why none. */
PROF__FN prof__frame *prof__begin_site(uint32_t site, bool token, prof__entry_frame entry) {
    prof__tls_data *tls = prof__tls_get();
    prof__frame *opened;
    if (!prof__enter(tls)) {
        PROF__COUNT(prof__loose.dropped_busy);
        prof__skip_in(tls, PROF__LOAD(prof__on), token);
        return NULL;
    }
    prof__deep_check(prof__tls_state(tls));
    opened = prof__open_zone(prof__tls_state(tls), site, token, entry);
    prof__leave(tls);
    return opened;
}

PROF__COLD_END
/* Each thread remembers the names that it pushed last, by the address of their text (hints).
   Returns the first of two slots for this address. */
PROF__INLINE int32_t *prof__hint_of(prof__state *t, const char *name) {
    return t->hints + (uint32_t)((uintptr_t)name * 0x9e3779b1u) / (UINT32_MAX / PROF__HINTS + 1);
}

/* The name of a hint, which says how many times 16 bytes behind the state it lies. */
PROF__INLINE const prof__name *prof__hint_name(const prof__state *t, int32_t hint) {
    return (const prof__name *)(const void *)((const char *)t + (intptr_t)hint * 16);
}

/* Does a name's text, of which PROF__HINTED bytes may be read, equal name? It may be another
   session's bytes by now, a race that is hidden from ThreadSanitizer: what is inlined is not. */
#if PROF__TSAN
#  define PROF__HINTS_FN PROF__FN PROF__RACES
#else
#  define PROF__HINTS_FN PROF__EAGER
#endif
PROF__HINTS_FN bool prof__hint_fits(const char *text, const char *name) {
#if PROF__TSAN
    size_t i = 0;
    while (i < PROF__HINTED - 1 && name[i] && text[i] == name[i]) i++;
    return text[i] == name[i] && !name[i];
#else
    return strncmp(text, name, PROF__HINTED) == 0;
#endif
}

/* The number of a name by the thread's hints; 0: it must be looked up. The text that a hint points
   to is compared, as it may be of another name. It needs no lock: if the session has ended
   meanwhile, the number goes into a frame that nobody reads. */
PROF__HINTS_FN uint32_t prof__name_hinted(prof__state *t, const char *name) {
    const int32_t *slot = prof__hint_of(t, name);
    for (int way = 0; way < 2; way++) {
        int32_t hint = PROF__LOAD(slot[way]);
        const prof__name *n = prof__hint_name(t, hint);
        if (!hint) return 0;
        if (prof__hint_fits((const char *)(n + 1), name)) return n->number;
    }
    return 0;
}

PROF__COLD_BEGIN
/* Makes a name the first hint of its address; the first becomes the second. A signal handler may
   interrupt this, as each slot always holds some name of this session. */
PROF__FN void prof__name_hint(prof__state *t, const char *name, uint32_t number) {
    int32_t *slot = prof__hint_of(t, name), hint;
    const prof__name *n = PROF__LOAD(prof__sites.names.list)[number - 1];
    hint = (int32_t)(((intptr_t)n - (intptr_t)t) / 16);
    if ((uintptr_t)PROF__LOAD(prof__arena.end) - (uintptr_t)(n + 1) >= PROF__HINTED &&
        prof__hint_name(t, hint) == n) {
        PROF__STORE(slot[1], PROF__LOAD(slot[0]));
        PROF__STORE(slot[0], hint);
    }
}

/* The same, by the table of names; it is added there. In the slow path. */
PROF__FN uint32_t prof__name_found(prof__state *t, const char *name) {
    const prof__names *names = &prof__sites.names;
    size_t length;
    uint32_t hash = prof__hash(name, &length), number = 0, why = PROF__NO_LOCK;
    if (!prof__is_open(t)) return why;
    if (PROF__ACQUIRE(names->index)) number = PROF__ACQUIRE(*prof__name_slot(name, length, hash));
    if (!number && PROF__LOAD(prof__sites.others) &&
        PROF__LOAD(names->count) == PROF__LOAD(names->capacity)) return PROF__NO_ROOM;
    if (!number && prof__lock_briefly()) {
        if (prof__is_open(t)) number = prof__name_add(name, length, hash);
        if (number && name[length]) PROF__COUNT(prof__loose.not_kept);
        why = PROF__NO_ROOM;
        prof__unlock();
    }
    if (!number) return why;
    if (length < PROF__HINTED) prof__name_hint(t, name, number);
    return (PROF__PUSHED + number - 1) << 8;
}

PROF__COLD_END
/* The site of a run-time name, shifted by 8; or PROF__NO_...: why there is none. */
PROF__FN uint32_t prof__intern(prof__state *t, const char *name) {
    prof__tls_data *tls = prof__tls_get();
    uint32_t number, site;
    if (!name) name = "(null)";
    if ((number = prof__name_hinted(t, name)) != 0) return (PROF__PUSHED + number - 1) << 8;
    if (!prof__enter(tls)) return PROF__NO_LOCK;
    site = prof__name_found(t, name);
    prof__leave(tls);
    return site;
}

PROF__COLD_BEGIN
/* The mark's site, shifted by 8, registered if need be; or PROF__NO_...: why there is none. */
PROF__FN uint32_t prof__mark_resolve(prof__mark *mark) {
    uint32_t id = PROF__LOAD(mark->id);
    if (id) return id;
    if (!prof__lock_briefly()) return PROF__NO_LOCK;
    id = prof__site_add(mark->site, false) << 8;
    prof__unlock();
    if (id > PROF__NO_LOCK) PROF__STORE(mark->id, id);
    return id;
}

PROF__FN bool prof__is_copy(void);

PROF_API PROF__ENTRY prof__frame *prof__begin(prof__mark *mark, bool token) {
    prof__state *t = prof__state_here(prof__tls_get(), token);
    uint32_t site = PROF__LOAD(mark->id);
    if (!t) return NULL;
    if (!site && !token && prof__is_copy()) site = PROF__NO_COPY;   /* blocks end by themselves */
    if (!site) site = prof__mark_resolve(mark);
    return prof__begin_site(site, token, PROF__ENTRY_FRAME());
}

PROF__COLD_END
PROF__INLINE prof__frame *prof__push_from(const char *name, bool token, prof__entry_frame entry) {
    prof__state *t = prof__state_here(prof__tls_get(), token);
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

PROF__COLD_BEGIN
#define prof__name_was_cut() PROF__COUNT(prof__loose.not_kept)
#define prof__push_text(name) ((void)prof__push_from(name, false, PROF__ENTRY_AT(NULL)))
#define prof__push_token(name) prof__push_from(name, true, PROF__ENTRY_AT(NULL))

/* Ends a zone that began before this generation: counts the end, and takes its frame and all above
   it off the stack. */
PROF__FN void prof__end_stale(prof__state *t, prof__frame *frame) {
    PROF__BUMP(t->counts.unbalanced, 1);
    prof__stack_reset(t, frame);
}

/* An end on a thread that has no state in the open generation. */
PROF__FN void prof__end_elsewhere(prof__tls_data *tls, prof__frame *token) {
    prof__state *t = prof__tls_state(tls);
    if (!token && *prof__skipped_here(tls)) {
        tls->skipped--;
        return;
    }
    if (PROF__LOAD(prof__on)) PROF__COUNT(prof__loose.unbalanced);
    if (&t->hot == &prof__nowhere) {
        if (tls->stale) tls->stale--;
    } else if (!PROF__ACQUIRE(t->recording)) {
        if (!token) token = t->hot.top;
        if (token > t->frames && token <= t->hot.top) PROF__RELEASE(t->hot.top, token - 1);
    }
}

/* An end in a signal handler that interrupted the slow path. */
PROF__FN void prof__end_busy(prof__tls_data *tls, prof__frame *token) {
    prof__hot *hot = tls->hot;
    uint32_t busy = PROF__LOAD(tls->busy);   /* once: a handler may end a zone in between, too */
    if (!token && busy > 1) {
        PROF__STORE(tls->busy, busy - 1);
        return;
    }
    if (!token) token = hot->top;
    if (token <= hot->bottom || token > hot->top) return;
    PROF__COUNT(prof__loose.dropped_busy);
    PROF__STORE(hot->top, token - 1);    /* deep zones: prof__deep_check */
    PROF__STORE(token[-1].epoch, PROF__NEVER);
}

/* An end with a token, in the open generation. A token of no open zone may be of an older
   generation; where too many zones were open then (overlaid), it counts as cut. */
PROF__FN void prof__end_here(prof__state *t, prof__frame *token) {
    const prof__deep *deep = prof__is_open(t) ? t->deep.top : NULL;
    size_t outer = prof__open_zones(t);  /* with its own */
    for (; deep && &deep->frame != token - 1; deep = deep->below) outer--;
    if (!deep && (token <= t->frames || token > t->hot.top)) {
        PROF__BUMP(t->counts.unbalanced, 1);
        return;
    }
    if (!deep) outer = (size_t)(PROF__MAX(token, t->hot.bottom) - t->frames);
    if (!prof__end_left(t, outer)) return;
    if (deep || token > t->hot.bottom) (void)prof__end_innermost(t, false);
    else prof__end_stale(t, token - 1);
}

/* Ends the zone of token, or the innermost one. */
PROF__FN void prof__end_any(prof__frame *token) {
    prof__tls_data *tls = prof__tls_get();
    prof__state *t;
    if (!prof__enter(tls)) {
        prof__end_busy(tls, token);
        return;
    }
    t = prof__tls_state(tls);
    if (tls->generation == PROF__LOAD(prof__on)) prof__deep_check(t);
    if (tls->generation == PROF__LOAD(prof__on)) (void)prof__in_copy(t, false);
    if (tls->generation != PROF__LOAD(prof__on)) prof__end_elsewhere(tls, token);
    else if (token) prof__end_here(t, token);
    else if (t->skipped) t->skipped--;
    else if (t->hot.top > t->hot.bottom) (void)prof__end_innermost(t, false);
    else if (t->hot.bottom > t->frames) prof__end_stale(t, t->hot.bottom - 1);
    else if (*prof__skipped_here(tls)) tls->skipped--;
    else PROF__BUMP(t->counts.unbalanced, 1);
    prof__leave(tls);
}

PROF__CALL void prof__end(prof__frame *token) {
    if (token) prof__end_any(token);
}

PROF__CALL void prof__end_top(void) {
    if (PROF__LOAD(prof__on)) prof__end_any(NULL);
}

#if PROF__FAST
/* The third word of a handler's record, by its zone's frame; 0: another zone began there since. */
PROF__FN uint32_t prof__handled(const prof__state *t, const prof__record *c) {
    for (const prof__frame *f = t->hot.top; f < t->deepest; f++)
        if (f->site && f->start == c->end - c->duration) return f->site + f->depth;
    return 0;
}

/* A signal handler recorded in the middle of an end. If it came between the look at the cursor and
   the store behind it, that store has emptied the slot of the handler's second record, which may be
   streamed by now, or added to its row. In sums it goes to "(others)" if its frame is gone. own:
   what this end claimed, not written yet. */
PROF__FN void prof__interrupted(const prof__record *seen, const prof__record *own) {
    prof__tls_data *tls = prof__tls_get();
    prof__state *t = prof__tls_state(tls);
    prof__record *at = (prof__record *)(uintptr_t)(seen + 1);
    bool sums, here = false, entered;
    uint32_t word = 0;
    if (at == own || at->site_depth || !at->end) return;   /* !end: prof__timeline_end's */
    entered = prof__enter(tls);          /* false: a slow path is about to begin, or has ended */
    sums = t->sums.on && at >= t->begin && at < t->hot.cursor;
    for (const prof__segment *g = prof__is_open(t) ? PROF__ACQUIRE(t->row->first) : NULL; g;
         g = PROF__ACQUIRE(g->next)) {
        const prof__record *end = PROF__LOAD(g->end);
        here |= at >= PROF__LOAD(g->flushed) && at < (end ? end : t->hot.cursor);
    }
    if (sums || here) word = prof__handled(t, at);
    if (!word && sums) {
        word = (uint32_t)(t->hot.top - t->hot.bottom);
        PROF__BUMP(t->counts.others, 1);
    } else if (!word && here) {
        word = PROF__PART_WORD;
        PROF__COUNT(prof__loose.dropped_busy);
        PROF__BUMP(t->counts.extra, 1);
    }
    if (word) PROF__RELEASE(at->site_depth, word);
    if (entered) prof__leave(tls);
}

/* The rest of such an end. */
PROF__CALL void prof__end_interrupted(prof__record *own, const prof__record *seen, prof__frame *f) {
    prof__interrupted(seen, own);
    prof__frame_put(prof__tls_get()->hot, own, f);
}
#endif

/* A thread that has no state yet is identified by its TLS's address. */
PROF__CALL prof_open_zones prof_mark(void) {
    prof__tls_data *tls = prof__tls_get();
    const prof__state *t = prof__tls_state(tls);
    prof_open_zones mark = { (uintptr_t)tls, 0, 0, 0 };
    mark.generation = PROF__LOAD(prof__on);
    if (tls->generation == mark.generation) {
        mark.thread = t->number;
        mark.zones = (uint32_t)prof__open_zones(t);
        mark.dropped = t->skipped;
    } else if (mark.generation) {
        mark.dropped = *prof__skipped_here(tls);
    }
    return mark;
}

/* Ends what began since the mark. Begins that were dropped since will have no end either. */
PROF__FN void prof__unwind_here(prof__tls_data *tls, prof__state *t, const prof_open_zones *mark) {
    bool bare = mark->thread == (uintptr_t)tls;   /* it had no state then */
    size_t old = (size_t)(t->hot.bottom - t->frames), outer = bare ? old : mark->zones;
    if (mark->generation != t->generation || (!bare && mark->thread != t->number) ||
        outer < old || outer > prof__open_zones(t)) {
        PROF__BUMP(t->counts.unbalanced, 1);
        return;
    }
    t->skipped = PROF__MIN(t->skipped, bare ? 0 : mark->dropped);
    (void)prof__end_inner(t, outer);
}

PROF__CALL void prof_unwind(prof_open_zones mark) {
    prof__tls_data *tls = prof__tls_get();
    uint32_t on = PROF__LOAD(prof__on), *skipped;
    if (!on || !mark.generation) return;
    if (!prof__enter(tls)) {
        PROF__COUNT(prof__loose.dropped_busy);
        return;
    }
    if (tls->generation == on) {
        prof__unwind_here(tls, prof__tls_state(tls), &mark);
    } else if (mark.generation == on && mark.thread == (uintptr_t)tls) {
        skipped = prof__skipped_here(tls);
        *skipped = PROF__MIN(*skipped, mark.dropped);
    } else {
        PROF__COUNT(prof__loose.unbalanced);
    }
    prof__leave(tls);
}

/* Counts a record that a thread in sums does not keep; not after the end of the session, which has
   taken over the thread's counts. */
PROF__FN void prof__count_not_kept(prof__state *t) {
    if (prof__is_open(t)) PROF__BUMP(t->counts.not_kept, 1);
}

PROF__COLD_END
/* Writes an instant or a counter: two slots; dropped and counted when it would take the room of
   open zones. Its site is the mark's, or where mark is NULL that of name. */
PROF__FN void prof__put_moment(uint32_t kind, prof__mark *mark, const char *name, uint64_t value) {
    prof__tls_data *tls = prof__tls_get();
    prof__state *t = prof__state_here(tls, true);
    uint32_t site;
    bool room;
    if (!t) return;
    site = mark ? prof__mark_resolve(mark) : prof__intern(t, name);
    if (!prof__enter(tls)) {
        PROF__COUNT(prof__loose.dropped_busy);
        return;
    }
    t = prof__tls_state(tls);
    room = site > PROF__NO_LOCK && prof__room(t, kind == PROF__INSTANT ? 2 : 3);
    if (t->sums.on) prof__count_not_kept(t);
    else if (site <= PROF__NO_LOCK) prof__count_siteless(t, site);
    else if (!room) PROF__BUMP(t->counts.full, 1);
    else prof__put_long(t, kind, prof__state_now(t), value, site | 255u);
    if (site > PROF__NO_LOCK && t->observed) prof__observe_moment(t, kind, site >> 8, value);
    prof__leave(tls);
}

PROF__COLD_BEGIN
#define prof__moment_named(kind, name, value) prof__put_moment(kind, NULL, name, (uint64_t)(value))
#define prof__moment_here(kind, mark, value) prof__put_moment(kind, mark, NULL, (uint64_t)(value))

PROF__CALL void prof_counter_f(const char *name, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    prof__put_moment(PROF__REAL, NULL, name, bits);
}

PROF__CALL void prof_set_thread_name(const char *name) {
    prof__state *t = prof__state_here(prof__tls_get(), true);
    if (!t || !prof__lock_briefly()) return;
    if (t->generation == PROF__LOAD(prof__on)) prof__row_name(t->row, name ? name : "");
    prof__unlock();
}

#define prof__context_name(row) ((void)0)
#define prof__rows_unused(s) ((s)->pool.free_rows)
#define prof__row_again_of(row) ((row)->again)
#define prof__row_index(row) ((row)->order)
PROF__CALL void prof_tick(void) {}

/* ---- rows, as prof_stop leaves them; these names have another meaning on each port ---- */

#define prof__row_cursor(row) ((row)->cursor)
#define prof__row_stop(row) ((row)->stop_tick)
#define prof__open_stop(row, o) prof__row_stop(row)
#define prof__segment_begin(g) ((g)->begin)
#define prof__segment_limit(g) ((g)->limit)
#define prof__segment_clock(r, g) ((void)0)
#define prof__row_open_count(row) ((row)->open_count)
#define prof__row_overwritten(row) ((row)->overwritten)
#define prof__row_is_cpu(row) false
#define prof__row_open(row, i) ((row)->open[i])
#define prof__open_ended(o) ((void)(o), false)

/* Adds the counts of threads, c, and those of no thread to *out. prof_dump has no lock: for it the
   latter may be a moment old. */
PROF__FN PROF__RACES void prof__stats_add(prof_stats *out, const prof__counts *c) {
    const struct prof_trace *s = &prof__trace;
    uint64_t ended;
    prof__stats_take(out, s, c);
    out->dropped += out->dropped_busy;
    out->recorded = c->slots - PROF__MIN(c->extra, c->slots);
    out->unbalanced += PROF__LOAD(prof__loose.unbalanced);
    out->others += s->sums.not_merged;
    out->not_kept += PROF__LOAD(prof__loose.not_kept) + prof__sites.cut;
    ended = c->async_ends - PROF__MIN(s->ranges_twice, c->async_ends);
    ended += PROF__LOAD(prof__loose.async_dropped);
    if (s->stopped) out->unfinished += s->outside.pending + c->async - PROF__MIN(ended, c->async);
    if (s->sums.average) out->deep = 0;
    else out->summed = c->summed;
    out->threads = s->pool.came;
}

/* ---- what only targets have in the rooms that follow: nothing here ---- */

#define prof__group_on_cpu(r, c) ((void)0)
#define prof__average_on_cpu(a, r) ((void)0)
#define prof__event_on_cpu(o, s, e) ((void)0)
#define prof__tally_calls(r) ((r)->halved + prof__tally_count(r))
#define prof__mode() (prof__trace.mode)
#define prof__clock_kind(s) ((s)->clock)
#define prof__window_number(s) ((s)->first_generation)
#define prof__one_core() false
#define prof__who_ran() NULL
#define prof__interrupts_ns() 0

/* The thread's name; none while it is being written. */
PROF__FN void prof__row_name_read(const prof__row *row, char *text) {
    uint32_t renames;
    PROF__FENCE();                       /* after it counts as announced */
    renames = PROF__ACQUIRE(row->renames);
    prof__copy_words(text, row->name, sizeof row->name);
    PROF__FENCE();
    if (renames % 2 || PROF__LOAD(row->renames) != renames) text[0] = 0;
}
#else
/* ---- @TARGET: the recorder of freestanding builds: interrupts, no threads ----

   This room records zones and sums as @RECORD does, without threads, a C library or atomics. What a
   call does differently is told where it is declared, under "Freestanding". A target's chunks are
   all of one size: pages. */

PROF__FN bool prof__lean(const struct prof_trace *s) {
    (void)s;
    return false;
}

/* prof__begin and prof__end take few instructions. prof__begin tests whether the mark has a site
   and the stack a free frame, prof__end whether the token is that of the innermost zone and the
   page has room. Where something rare is to be done prof__contexts holds &prof__nowhere, which
   fails these tests and so leads to the slow path: while a context has no state yet, or its begins
   are dropped, and once in each half wrap of the clock, so that the slow path sees every one. A
   context alone changes its state, on the slow path, too. What all contexts share is changed with
   interrupts masked, for at most 150 instructions (make size: masked_max).
   Records are in pages of one size, which come from the arena's high end one by one, for whichever
   context needs one. A zone that ends when there is none waits in its frame: whatever began has
   room for its end. Begins are dropped until there is a page again. */

struct prof__frame {                     /* an open zone, or one that waits */
    uint32_t start, site_depth;
    uint16_t above;                      /* 256 + depth, to be added to a mark's id; 0: no frame.
                                            Waits: half wraps of the clock at its end */
    uint16_t epoch;                      /* of start: half wraps of the clock */
    uint32_t end;                        /* waits: when it ended */
};

typedef struct prof__hot {
    prof__frame *top;                    /* one past the innermost open zone */
    prof__record *cursor;                /* everything below is written */
    prof__record *limit;
} prof__hot;

typedef struct prof__state {
    prof__hot hot;                       /* must be first */
    prof__segment *page;                 /* in which cursor and limit are; NULL: none */
    const prof__record *known;           /* records from here on are the hot path's */
    prof__record *flushed;               /* of row.first: those below are streamed, or in sums */
    uint64_t known_time;                 /* no later than their ends */
    uint16_t half, epoch;                /* half wraps of the clock then; of the free frames */
    uint16_t skipped;                    /* begins dropped whose ends are to come */
    uint16_t waiting;                    /* zones in the frames from top on */
    uint32_t written;                    /* slots that the stream or the dump wrote */
    bool busy;                           /* claimed: see prof__claim */
    prof__row row;
    prof__frame none, frames[1];         /* max_depth + 1: the last is none, too. none.site_depth:
                                            a task's site in the row "CPU" */
} prof__state;

PROF__FN size_t prof__state_size(size_t depth) {
    return prof__align(sizeof(prof__state) + depth * sizeof(prof__frame));
}

PROF__FN prof__state *prof__row_state(const prof__row *row) {
    return (prof__state *)((uintptr_t)row - offsetof(prof__state, row));
}

/* With PROF_MODE_AGGREGATE, by depth: the ticks of zones that ended within the zone around them. */
PROF__FN uint64_t *prof__state_inner(prof__state *t) {
    return (uint64_t *)(void *)((char *)t + prof__state_size(prof__trace.max_depth));
}

static prof__frame prof__no_frames[2];
static prof__hot prof__nowhere = { &prof__no_frames[1], NULL, NULL };
static prof__hot *volatile prof__contexts[PROF_MAX_CONTEXTS + 1];   /* last: of higher numbers */

PROF__INLINE prof__hot *prof__here(void) { return prof__contexts[PROF__CONTEXT_INDEX()]; }

/* Counts one more, under the lock: contexts share the counts. at: PROF__COUNTED. */
#define PROF__COUNTED(name) (offsetof(struct prof_trace, counts) + offsetof(prof__counts, name))
PROF__FN void prof__count(size_t at) {
    uintptr_t lock = prof__lock();
    ++*(size_t *)(void *)((char *)&prof__trace + at);
    prof__unlock(lock);
}

/* Sends all contexts to the slow path. */
PROF__FN void prof__disarm(void) {
    for (uint32_t i = 0; i <= PROF_MAX_CONTEXTS; i++) prof__contexts[i] = &prof__nowhere;
}

/* Starts the chip's clock, and sets the session's time by it; false: no clock runs. */
PROF__FN bool prof__chip_open(void) {
    if (!prof__clock_open()) return false;
    prof__trace.time = prof__clock();
    return prof__clock_runs((uint32_t)prof__trace.time);
}

/* Reads the session's time, which is at least `least` by now. In a new half wrap all contexts take
   the slow path once. */
PROF__FN uint64_t prof__time_now(uint64_t least) {
    struct prof_trace *s = &prof__trace;
    uintptr_t lock = prof__lock();
    uint64_t before = s->time, now = prof__time_next(PROF__MAX(before, least), prof__clock());
    s->time = now;
    prof__unlock(lock);
    if ((uint32_t)((now ^ before) >> 31)) prof__disarm();
    return now;
}

/* Sets the time that a context knows. Where nobody calls prof_tick the clock may have wrapped more
   than once since it was last read: the records that the hot path made meanwhile tell how often. */
PROF__FN void prof__time_in(prof__state *t) {
    uint64_t time = t->known_time;
    if (!prof__trace.ticked)
        for (const prof__record *c = t->known; c < t->hot.cursor; c++)
            time = prof__time_next(time, c->end);
    t->known = t->hot.cursor;
    t->known_time = prof__time_now(time);
    t->half = (uint16_t)(t->known_time >> 31);
}

/* Writes a record. */
PROF__FN void prof__put(prof__state *t, uint32_t a, uint32_t b, uint32_t site_depth) {
    prof__record *c = t->hot.cursor;
    c->end = a;
    c->duration = b;
    c->site_depth = site_depth;
    c++;
    PROF__BARRIER_WITH(c);
    t->hot.cursor = c;
}

/* Writes a record of two slots, both of them before either is published. */
PROF__FN void prof__put_long(prof__state *t, uint32_t kind, uint64_t a, uint64_t b, uint32_t word) {
    prof__record *c = t->hot.cursor;
    prof__record_set(c, a, kind << 8 | 1);
    prof__record_set(c + 1, b, word);
    PROF__BARRIER();
    t->hot.cursor = c + 2;
}

/* Writes the whole time, from which the ends after it are counted. */
PROF__RARE void prof__put_clock(prof__state *t) {
    uint64_t time = t->known_time;
    prof__put(t, (uint32_t)(time >> 32), (uint32_t)time, (uint32_t)PROF__CLOCK << 8);
}

PROF__FN size_t prof__open_zones(const prof__state *t) { return (size_t)(t->hot.top - t->frames); }

PROF__INLINE prof__record *prof__page_begin(prof__segment *g) {
    return (prof__record *)(void *)(g + 1);
}

/* A free page; NULL: the arena is full. */
PROF__FN prof__segment *prof__page_new(void) {
    struct prof_trace *s = &prof__trace;
    const prof__plan *p = &s->plan;
    uintptr_t lock = prof__lock();
    prof__segment *g = s->free_pages;
    if (g) {
        s->free_pages = g->next;
    } else if (prof__promise(p->page)) {
        g = (prof__segment *)(void *)(prof__arena.high -= p->page);
    }
    prof__arena_check();
    prof__unlock(lock);
    return g;
}

/* Takes off a row its first page, if nobody writes there any more; else NULL. */
PROF__FN prof__segment *prof__page_off(prof__row *row) {
    prof__state *t = prof__row_state(row);
    uintptr_t lock = prof__lock();
    prof__segment *g = row->first && row->first->end ? row->first : NULL;
    if (g) row->first = g->next;
    if (g && g->next) t->flushed = prof__page_begin(g->next);
    if (g && g == t->page) {             /* of a task that is over */
        t->page = NULL;
        t->known = t->hot.cursor = t->hot.limit = NULL;
    }
    prof__unlock(lock);
    return g;
}

PROF__FN void prof__page_give(prof__segment *g) {
    uintptr_t lock = prof__lock();
    g->next = prof__trace.free_pages;
    prof__trace.free_pages = g;
    prof__unlock(lock);
}

/* If the clock has come into a new half wrap, the frames not in use are of it from now on. */
PROF__FN bool prof__new_epoch(prof__state *t) {
    if (t->epoch == t->half) return false;
    t->epoch = t->half;
    for (prof__frame *f = t->hot.top + t->waiting; f->above; f++) f->epoch = t->half;
    return true;
}

/* Counts what a ring has overwritten of a page. */
PROF__FN void prof__ring_lost(prof__segment *g, const prof__record *end) {
    prof__trace.overwritten += (prof__amount)(end - prof__page_begin(g));
}

/* Goes on in a page, which may be its own, emptied; false: there is none. */
PROF__FN bool prof__page_turn(prof__state *t) {
    const prof__parts *parts = prof__trace.parts;
    prof__segment *g = parts && parts->page ? (parts->page)(t) : prof__page_new();
    uintptr_t lock;
    if (!g) return false;
    lock = prof__lock();                 /* a stream may read */
    if (!t->page) {
        t->row.first = g;
    } else if (t->page != g) {
        t->page->end = t->hot.cursor;
        t->page->next = g;
    }
    g->next = NULL;
    g->end = NULL;
    g->base = t->known_time;
    t->page = g;
    t->hot.cursor = prof__page_begin(g);
    if (t->row.first == g) t->flushed = t->hot.cursor;
    prof__unlock(lock);
    t->hot.limit = (prof__record *)(void *)((char *)g + prof__trace.plan.page);
    (void)prof__new_epoch(t);
    return true;
}

/* Is there room for so many slots, and the clock's if need be? May take a page. */
PROF__FN bool prof__slots(prof__state *t, uint32_t slots) {
    size_t room = (uintptr_t)t->hot.limit - (uintptr_t)t->hot.cursor;   /* without a page: 0 */
    slots += t->epoch != t->half;
    if (room < slots * sizeof(prof__record) && !prof__page_turn(t)) return false;
    if (prof__new_epoch(t)) prof__put_clock(t);
    return true;
}

/* Is there room for so many slots, after the zones that wait? */
PROF__FN bool prof__room(prof__state *t, uint32_t slots) {
    const prof__parts *parts = prof__trace.parts;
    if (t->waiting && !(parts && parts->late && (parts->late)(t))) return false;
    return prof__slots(t, slots);
}

/* Where an interrupt may have the context of what it interrupts, whoever is in the slow path has
   claimed the state. What comes into it meanwhile has a state of its own, whose context is WITHIN
   higher. PROF__OUTER: a context's index in prof__contexts. */
#if PROF__BY_IPSR
#  define PROF__WITHIN 0
#  define PROF__OUTER(context) (context)
#  define prof__claim(t) true
#else
#  define PROF__WITHIN 0x4000u
#  define PROF__OUTER(context) (PROF_MAX_CONTEXTS == 1 ? 0 : (context) & (PROF__WITHIN - 1))
PROF__FN bool prof__claim(prof__state *t) {
    uintptr_t mask = prof__mask();
    bool busy = t->busy;
    t->busy = true;
    prof__contexts[PROF__CONTEXT_INDEX()] = &prof__nowhere;
    prof__unmask(mask);
    return !busy;
}
#endif

/* Makes a context's state, which is in no list yet; NULL: there is no room. */
PROF__INLINE prof__state *prof__state_make(uint32_t context) {
    struct prof_trace *s = &prof__trace;
    prof__state *t = NULL;
    prof__frame *f;
    if (PROF__OUTER(context) < PROF_MAX_CONTEXTS && (PROF__BY_IPSR || context <= UINT16_MAX) &&
        s->row_count <= s->max_threads - 1u)   /* 0: any number */
        t = (prof__state *)prof__take(s->plan.state, 0);
    if (!t) {
        prof__count(offsetof(struct prof_trace, dropped_threads));
        return NULL;
    }
    memset(t, 0, s->plan.state);
    f = t->hot.top = t->frames;
    for (uint32_t i = 256; i < 256u + s->max_depth; i++) (f++)->above = (uint16_t)i;
    t->row.info.id = context;
    t->row.context = (uint16_t)context;
    return t;
}

/* Adds a row to the list of rows, if it still has `count` of them. */
PROF__INLINE bool prof__row_add(prof__row *row, uint32_t count) {
    struct prof_trace *s = &prof__trace;
    uintptr_t lock = prof__lock();
    bool same = s->row_count == count;
    if (same) {
        *s->rows_end = row;
        s->rows_end = &row->next;
        row->number = count;
        s->row_count = count + 1;
    }
    prof__unlock(lock);
    return same;
}

/* Enters the slow path, which prof__state_leave leaves. Returns the state of this context, and
   makes it if `make` says so. NULL: nothing is recorded, or there is no state. Where an interrupt
   of the same context made one meanwhile, ours is not used. */
PROF__FN prof__state *prof__state_enter(bool make) {
    struct prof_trace *s = &prof__trace;
    prof__state *t = NULL;
    uint32_t context = prof__context_now();
    if (!s->open) return NULL;
    for (;;) {
        uint32_t count = s->row_count;
        const prof__row *row = s->rows;
        while (row && row->context != context) row = row->next;
        if (!row) {
            if (!t && (!make || !(t = prof__state_make(context)))) return NULL;
            (void)prof__row_add(&t->row, count);
        } else if (prof__claim(prof__row_state(row))) {
            prof__time_in(prof__row_state(row));
            return prof__row_state(row);
        } else {
            context += PROF__WITHIN;
        }
    }
}

/* Lets a context take the hot path, if that may work. It looks afterwards whether the session ended
   or a half wrap came, so that what an interrupt or another core disarms meanwhile stays so. */
PROF__INLINE void prof__arm(prof__state *t, uint32_t context) {
    const struct prof_trace *s = &prof__trace;
    const bool alone = !PROF__BY_IPSR && PROF_MAX_CONTEXTS == 1;   /* nothing comes meanwhile */
    prof__contexts[context] = &t->hot;
    PROF__BARRIER();
    if (!s->open || (!alone && t->half != (uint16_t)(s->time >> 31)) || t->skipped ||
        t->waiting || t->hot.cursor >= t->hot.limit || (s->ticked && (s->ticked)(t, NULL)))
        prof__contexts[context] = &prof__nowhere;
}

/* Leaves the slow path. */
PROF__FN void prof__state_leave(prof__state *t) {
    uintptr_t mask = PROF__HOT_MASK();
    t->known = t->hot.cursor;
    if (!PROF__BY_IPSR) t->busy = false;
    prof__arm(t, PROF__OUTER(t->row.context));
    PROF__HOT_UNMASK(mask);
}

/* Begins a zone, if there is room, and leaves the slow path. NULL: the zone is dropped. */
PROF__FN prof__frame *prof__begun(prof__state *t, uint32_t site) {
    prof__frame *f;
    size_t dropped;
    if (!t) return NULL;
    f = t->hot.top;
    dropped = !site ? PROF__COUNTED(others) : !f->above ? PROF__COUNTED(deep)
            : t->skipped || !prof__room(t, 1) ? PROF__COUNTED(full) : 0;
    if (!dropped) {
        f->start = (uint32_t)t->known_time;
        f->site_depth = site + f->above;
        t->hot.top = ++f;
    } else {
        prof__count(dropped);
        f = NULL;
    }
    prof__state_leave(t);
    return f;
}

PROF__RARE prof__frame *prof__begin_slow(prof__mark *mark) {
    uint32_t site = prof__mark_resolve(mark);
    return prof__begun(prof__state_enter(true), site);
}

/* Opens a frame; NULL: only the slow path can, or there is no site. */
PROF__INLINE prof__frame *prof__frame_open(uint32_t site) {
    uintptr_t mask = PROF__HOT_MASK();
    prof__hot *t = prof__here();
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
    return NULL;
}

#if PROF__THUMB2                         /* r12 is free here; compilers save r4 instead */
PROF__CALL __attribute__((naked)) prof__frame *prof__begin(prof__mark *mark PROF__UNUSED) {
    __asm__ volatile(
        "mrs r2, ipsr\n\t"              /* as below */
        "usat r2, #7, r2\n\t"
        "ldr r3, =%c0\n\t"
        "ldr r1, [r0]\n\t"
        "ldr.w r12, [r3, r2, lsl #2]\n\t"
        "cbz r1, 1f\n\t"
        "ldr.w r3, [r12]\n\t"           /* r3: f */
        "ldrh r2, [r3, %3]\n\t"
        "cbz r2, 1f\n\t"
        "add r1, r2\n\t"
        "add.w r0, r3, %4\n\t"
        "str.w r0, [r12]\n\t"
        "ldr r2, =%c1\n\t"
        "ldr r2, [r2]\n\t"
        "strd r2, r1, [r3]\n\t"
        "bx lr\n"
        "1:\tb.w %c2\n\t"
        ".ltorg"
        : : "i"(prof__contexts), "i"(PROF_CLOCK_AT), "i"(prof__begin_slow),
            "i"(offsetof(prof__frame, above)), "i"(sizeof(prof__frame)));
}
#else
PROF__CALL prof__frame *prof__begin(prof__mark *mark) {
    prof__frame *opened = prof__frame_open(mark->id);
    return opened ? opened : prof__begin_slow(mark);
}
#endif

#ifdef PROF_NAMES_IN_ELF
extern const char __start_prof_sites[] __attribute__((weak));

PROF__RARE prof__frame *prof__begin_in_elf_slow(uint32_t site) {
    return prof__begun(prof__state_enter(true), site);
}

/* As prof__begin. texts: the site's in the ELF file; what a mark would hold follows from them. */
PROF__CALL prof__frame *prof__begin_in_elf(const char *texts) {
    uint32_t at = (uint32_t)((uintptr_t)texts - (uintptr_t)__start_prof_sites);
    uint32_t site = (at + PROF__IN_ELF - 1) << 8;
    prof__frame *opened;
    if (!prof__on) return NULL;
    opened = prof__frame_open(site);
    return opened ? opened : prof__begin_in_elf_slow(site);
}
#endif

PROF__CALL void prof__begin_dropped(void) {
    prof__state *t = prof__state_enter(false);
    if (!t) return;
    t->skipped++;
    prof__state_leave(t);
}

/* Ends the innermost zone now, and writes it or lets it wait. */
PROF__FN void prof__end_zone(prof__state *t) {
    const struct prof_trace *s = &prof__trace;
    prof__frame *f = t->hot.top - 1;
    bool room = prof__room(t, s->ticked ? 2 : 1);
    uint32_t now = (uint32_t)t->known_time;
    t->hot.top = f;
    if (!room) {
        f->above = t->half;
        f->end = now;
        t->waiting++;
        return;
    }
    if (!(s->ticked && (s->ticked)(t, f))) prof__put(t, now, now - f->start, f->site_depth);
    f->epoch = t->epoch;
}

/* token NULL: the innermost zone. */
PROF__RARE void prof__end_slow(prof__frame *token) {
    prof__state *t = prof__state_enter(false);
    if (!t) {
        if (prof__trace.open) prof__count(PROF__COUNTED(unbalanced));
        return;
    }
    if (!token && t->skipped) {
        t->skipped--;
    } else {
        if (!token) token = t->hot.top;
        if (token <= t->frames || token > t->hot.top) {
            prof__count(PROF__COUNTED(unbalanced));
        } else {
            while (prof__end_zone(t), t->hot.top >= token) prof__count(PROF__COUNTED(healed));
        }
    }
    prof__state_leave(t);
}

/* False: the slow path must end the zone. */
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

#if PROF__THUMB2
PROF__CALL __attribute__((naked)) void prof__end(prof__frame *token PROF__UNUSED) {
    __asm__ volatile(
        "mrs r2, ipsr\n\t"              /* as below and in prof__end_hot */
        "usat r2, #7, r2\n\t"
        "ldr r3, =%c0\n\t"
        "ldr.w r12, [r3, r2, lsl #2]\n\t"
        "ldr r1, =%c1\n\t"
        "ldr r1, [r1]\n\t"
        "ldrd r2, r3, [r12]\n\t"        /* r3: c */
        "cmp r2, r0\n\t"
        "bne 1f\n\t"
        "ldr.w r2, [r12, %3]\n\t"
        "cmp r3, r2\n\t"
        "bcs 1f\n\t"
        "ldr r2, [r0, #-%c4]!\n\t"
        "subs r2, r1, r2\n\t"
        "str r1, [r3], #4\n\t"
        "ldr r1, [r0, %5]\n\t"
        "strd r2, r1, [r3], #8\n\t"
        "strd r0, r3, [r12]\n\t"
        "bx lr\n"
        "1:\tb.w %c2\n\t"
        ".ltorg"
        : : "i"(prof__contexts), "i"(PROF_CLOCK_AT), "i"(prof__end_slow),
            "i"(offsetof(prof__hot, limit)), "i"(sizeof(prof__frame)),
            "i"(offsetof(prof__frame, site_depth)));
}
#else
PROF__CALL void prof__end(prof__frame *token) {
    uintptr_t mask = PROF__HOT_MASK();
    prof__hot *t = prof__here();
    bool done = prof__end_hot(t, token - 1, t->top == token);
    PROF__HOT_UNMASK(mask);
    if (PROF__UNLIKELY(!done)) prof__end_slow(token);
}
#endif

PROF__CALL void prof__end_top(void) {
    uintptr_t mask = PROF__HOT_MASK();
    prof__hot *t = prof__here();
    prof__frame *f = t->top - 1;
    bool done = prof__end_hot(t, f, f->above != 0);
    PROF__HOT_UNMASK(mask);
    if (PROF__UNLIKELY(!done)) prof__end_slow(NULL);
}

PROF__FN prof__frame *prof__push_token(const char *name) {
    prof__state *t = prof__state_enter(true);
    return prof__begun(t, t ? prof__name_add(name) : 0);
}

PROF__CALL void prof_push(const char *name) {
    if (!prof__push_token(name)) prof__begin_dropped();
}

/* Writes a moment, of two slots, and leaves the slow path. It is dropped and counted where it has
   no site or no room. */
PROF__FN void prof__put_moment(prof__state *t, uint32_t kind, uint32_t site, int64_t value) {
    if (!t) return;
    if (site && prof__room(t, 2)) {
        prof__put_long(t, kind, t->known_time, (uint64_t)value, (site + 256) | 255u);
    } else {
        prof__count(!site ? PROF__COUNTED(others) : PROF__COUNTED(full));
    }
    prof__state_leave(t);
}

PROF__FN void prof__moment_named(uint32_t kind, const char *name, int64_t value) {
    prof__state *t = prof__state_enter(true);
    prof__put_moment(t, kind, t ? prof__name_add(name) : 0, value);
}

/* On the hot path where prof_tick counts wraps of the clock, and the page has room. */
PROF__FN void prof__moment_here(uint32_t kind, prof__mark *mark, int64_t value) {
    uintptr_t mask = PROF__HOT_MASK();
    prof__state *t = (prof__state *)(void *)prof__here();
    size_t room = (uintptr_t)t->hot.limit - (uintptr_t)t->hot.cursor;
    bool hot = mark->id && prof__trace.ticked && room >= 2 * sizeof(prof__record);
    if (hot)
        prof__put_long(t, kind, prof__time_next(t->known_time, prof__clock()), (uint64_t)value,
                       (mark->id + 256) | 255u);
    PROF__HOT_UNMASK(mask);
    if (hot) return;
    t = prof__state_enter(true);
    prof__put_moment(t, kind, t ? prof__mark_resolve(mark) : 0, value);
}

PROF__FN void prof__row_call(prof__row *row, const char *name) {
    size_t i = 0;
    for (; i + 1 < sizeof row->name && name[i]; i++) row->name[i] = name[i];
    row->name[i] = 0;
}

PROF__CALL void prof_set_thread_name(const char *name) {
    prof__state *t = prof__state_enter(true);
    if (!t) return;
    if (name) prof__row_call(&t->row, name);
    prof__state_leave(t);
}

PROF__FN void prof__row_over(prof__state *t);

/* The context's task is over, and the next one of its number has another row. */
PROF__CALL void prof_thread_end(void) {
    prof__state *t = prof__state_enter(false);
    if (t) prof__row_over(t);
}
#define prof__rows_unused(s) NULL
#define prof__row_again_of(row) NULL
#define prof__row_index(row) ((row)->number)

#define PROF__ENTRY PROF__QUIET
#define prof__push_text(name) prof_push(name)

#define prof__name_was_cut() prof__count(PROF__COUNTED(not_kept))

/* Exceptions without a name get the one they have in ARM's manuals. */
PROF__FN void prof__context_name(prof__row *row) {
#if PROF__BY_IPSR
    uint32_t n = (uint32_t)row->info.id;
    const char *name = prof__exception(n);
    if (row->name[0]) return;
    memcpy(row->name, name, strlen(name) + 1);
    if (n >= 16) *prof__text_u64(row->name + 4, n - 16) = 0;
#else
    if (row->context >= PROF__CPU || row->context < PROF__WITHIN) return;
    row->info.id = 990 + row->context / PROF__WITHIN;   /* see prof__row_interrupts */
    if (!row->name[0]) prof__row_call(row, "interrupts");
#endif
}

/* ---- longer zones, other clocks ---- */

/* The time no later than now of which these are the lowest bits and the half wraps. */
PROF__FN uint64_t prof__time_at(uint32_t tick, uint16_t epoch) {
    uint64_t half = prof__trace.time >> 31, base;
    half -= (uint16_t)(half - epoch);
    base = half << 31;
    return base + (uint32_t)(tick - (uint32_t)base);
}

/* When a zone began, in 64 bits, of which the end, or now, is known. With prof_tick its epoch tells
   the half wrap; without, it is taken to have lasted less than a wrap. */
PROF__FN uint64_t prof__start_of(const prof__frame *f, uint64_t end) {
    if (prof__trace.ticked) return prof__time_at(f->start, f->epoch);
    return end - ((uint32_t)end - f->start);
}

/* The record of a zone that waits. */
PROF__FN void prof__waiting_record(const prof__frame *f, prof__record *c) {
    uint64_t end = prof__time_at(f->end, f->above);
    prof__record_set(c, end - prof__start_of(f, end), (uint32_t)PROF__ZONE64 << 8 | 1);
    prof__record_set(c + 1, end, f->site_depth);
}

/* Writes the zones that wait, innermost first; false: there is no room. */
PROF__FN bool prof__late(prof__state *t) {
    while (t->waiting && prof__slots(t, 2)) {
        prof__frame *f = t->hot.top + --t->waiting;
        prof__waiting_record(f, t->hot.cursor);
        PROF__BARRIER();
        t->hot.cursor += 2;
        f->above = (uint16_t)(256 + (f - t->frames));
        f->epoch = t->epoch;
    }
    return !t->waiting;
}

/* What prof_trace.ticked is with prof_tick. f: writes the zone that ends, if it lasted longer than
   32 bits can tell; false: it did not. f NULL: is a zone open that may last so long? */
PROF__FN bool prof__ticked(void *state, prof__frame *f) {
    prof__state *t = (prof__state *)state;
    uint64_t now = t->known_time, duration;
    if (!f) return prof__open_zones(t) && (uint16_t)(t->epoch - t->frames[0].epoch) > 1;
    duration = now - prof__start_of(f, now);
    if (duration >> 32) prof__put_long(t, PROF__ZONE64, duration, now, f->site_depth);
    return duration >> 32;
}

PROF__CALL void prof_tick(void) {
    uint64_t before = prof__trace.time;
    if (!prof__on) return;
    prof__trace.ticked = prof__ticked;
    if (((prof__time_now(0) - before) >> 31) == 1)
        prof__trace.counts.steps++;      /* it went back, so far that nobody knows when it is */
}

/* ---- the tasks of a kernel ---- */

/* prof__begin and prof__end know no tasks. The state of the task that runs is that of context 0, as
   main()'s is; the states of the others are PROF__AWAY. A switch changes that, and ends and begins
   a zone in the row "CPU", whose records switches alone write. It does not touch what a task writes
   in the slow path, for a task may be switched away in the middle of that. The slow path sets
   prof__contexts[0], too, but only while its task runs. */
static struct prof__task {
    uint32_t number, queries;            /* of the task that runs; of sessions that were read */
    const char *name;                    /* NULL: nobody knows who runs */
} prof__task;

static int64_t prof__on_cpu(uint32_t thread, const int64_t *times) PROF__QUIET;

enum { PROF__CPU_ID = 999, PROF__TASK_IDS };

PROF__FN bool prof__row_is_task(const prof__row *row, uint32_t number) {
    if (!row->context) return prof__task.name && prof__task.number == number;
    return row->context == PROF__AWAY && (uint32_t)row->info.id == PROF__TASK_IDS + number;
}

PROF__FN prof__row *prof__task_found(uint32_t number) {
    prof__row *row = prof__trace.rows;
    while (row && !prof__row_is_task(row, number)) row = row->next;
    return row;
}

/* The row of context 0: main()'s, or that of the task that runs. */
PROF__FN prof__row *prof__row_running(void) {
    prof__row *row = prof__trace.running;
    if (!row || row->context)
        for (row = prof__trace.rows; row && row->context;) row = row->next;
    return row;
}

PROF__FN prof_mode prof__mode(void) {
    return prof__trace.parts ? prof__trace.parts->mode : PROF_MODE_TRACE;
}

/* PROF_MODE_AGGREGATE: no zone is kept. */
PROF__FN bool prof__sums_alone(const struct prof_trace *s) { return s->parts && s->parts->average; }

/* A row that may be used again, without records if there is one; or NULL. In a ring and in sums it
   may have records: a ring's are overwritten anyway. */
PROF__FN prof__row *prof__row_gone(void) {
    const struct prof_trace *s = &prof__trace;
    bool any = prof__sums_alone(s) || (prof__mode() == PROF_MODE_RING && !s->dumping);
    prof__row *over = NULL;
    for (prof__row *row = s->rows; row; row = row->next) {
        bool empty = !row->first && !prof__row_state(row)->waiting;
        if (row->context == PROF__OVER && (!over || over->first) && (empty || any)) over = row;
    }
    return over;
}

/* Does another row have this name, whose task still lives? */
PROF__FN bool prof__name_taken(const prof__row *own) {
    const prof__row *row = prof__trace.rows;
    while (row && (row == own || row->context == PROF__OVER || strcmp(row->name, own->name) != 0))
        row = row->next;
    return row != NULL;
}

/* Makes a row a task's, with a name that no other live one has. */
PROF__FN void prof__row_name_task(prof__row *row, uint32_t number, const char *name) {
    char text[20], *end = prof__text_u64(text, number);
    size_t length;
    row->info.id = (uint64_t)PROF__TASK_IDS + number;
    row->announced = 0;
    if (!row->name[0]) prof__row_call(row, name);
    *end++ = 0;
    length = PROF__MIN(strlen(row->name), sizeof row->name - 1 - (size_t)(end - text));
    if (!row->name[0] || prof__name_taken(row)) {
        row->name[length] = '#';
        memcpy(row->name + length + 1, text, (size_t)(end - text));
    }
    if (!prof__sums_alone(&prof__trace))
        prof__row_state(row)->none.site_depth = prof__name_add(row->name);
}

/* Gives the state of a task that is gone to another. What a ring has of it is overwritten. */
PROF__FN prof__state *prof__state_again(prof__row *row) {
    prof__state *t = prof__row_state(row);
    if (!prof__sums_alone(&prof__trace)) {
        for (prof__segment *g; (g = prof__page_off(row)) != NULL; prof__page_give(g))
            prof__ring_lost(g, g->end);
        row->number += 0x10000;          /* to who reads a dump it is another row */
    }
    t->skipped = 0;
    t->written = 0;
    row->name[0] = 0;
    return t;
}

/* A new state, of a row that is no running task's; NULL: there is no room. */
PROF__FN prof__state *prof__state_new(uint16_t context) {
    prof__state *t = prof__state_make(0);
    if (!t) return NULL;
    t->row.context = context;
    while (!prof__row_add(&t->row, prof__trace.row_count)) {}
    return t;
}

/* The row of a task that was not there before, and does not run yet; NULL: no room. 5: its
   name, and four that come late. */
PROF__FN prof__row *prof__task_row(uint32_t number, const char *name) {
    prof__state *t = NULL;
    const struct prof_trace *s = &prof__trace;
    prof__row *over = prof__row_gone();
    size_t named = prof__align(sizeof(prof__name) + sizeof over->name) + 5 * prof__sites.cost;
    bool full = prof__arena.room < s->plan.state + named ||
                s->row_count > s->max_threads - 1u;
    if (!over || (over->first && !prof__sums_alone(s) && !full)) t = prof__state_new(PROF__AWAY);
    else t = prof__state_again(over);
    if (!t) return NULL;
    t->row.context = PROF__AWAY;
    prof__row_name_task(&t->row, number, name);
    return &t->row;
}

/* The row "CPU"; NULL: no room, or sums alone are kept. */
PROF__FN prof__row *prof__cpu_row(void) {
    prof__state *t = prof__sums_alone(&prof__trace) ? NULL : prof__state_new(PROF__CPU);
    if (!t) return NULL;
    t->row.info.id = PROF__CPU_ID;
    prof__row_call(&t->row, "CPU");
    prof__trace.on_cpu = prof__on_cpu;
    return &t->row;
}

/* A task runs from `then` on: begins its zone in the row "CPU". NULL: nobody knows which task. */
PROF__FN void prof__stretch_begin(prof__state *cpu, const prof__row *task, uint64_t then) {
    uint32_t site = task ? prof__row_state(task)->none.site_depth : 0;
    prof__frame *f = cpu->hot.top;
    bool room = prof__room(cpu, 1);
    if (site && room) {
        f->start = (uint32_t)then;
        f->site_depth = site + f->above;
        f->epoch = (uint16_t)(then >> 31);
        cpu->hot.top = f + 1;
    } else if (task) {
        prof__count(room ? PROF__COUNTED(others) : PROF__COUNTED(full));
    }
}

/* In the row "CPU" the zone of the task that ran ends, and that of the task that comes begins.
   before: who ran from the session's start on; NULL: the zone is there, or none ran. */
PROF__FN void prof__stretch_change(prof__row *row, const prof__row *before, const prof__row *in) {
    prof__state *cpu = prof__row_state(row);
    prof__time_in(cpu);
    if (before) prof__stretch_begin(cpu, before, prof__trace.start_tick);
    if (prof__open_zones(cpu)) prof__end_zone(cpu);
    prof__stretch_begin(cpu, in, cpu->known_time);
    cpu->known = cpu->hot.cursor;
}

/* The same on the hot path, in the half wrap in which both zones begin; false: it did not. */
PROF__FN bool prof__stretch_hot(prof__state *cpu, uint32_t site) {
    uint64_t time = prof__trace.time;
    uint16_t half = (uint16_t)(time >> 31);
    prof__frame *f = cpu->frames;
    if (!site || f->epoch != half || cpu->epoch != half ||
        (prof__clock() ^ (uint32_t)time) >> 31 ||
        !prof__end_hot(&cpu->hot, f, cpu->hot.top == f + 1)) return false;
    f->start = cpu->hot.cursor[-1].end;
    f->site_depth = site + f->above;
    cpu->hot.top = f + 1;
    return true;
}

PROF__FN void prof__switch(prof__row *out, prof__row *in) {
    struct prof_trace *s = &prof__trace;
    const prof__row *before = !s->cpu && out && out->info.id ? out : NULL;
    prof__state *t = in ? prof__row_state(in) : NULL;
    uintptr_t mask = PROF__HOT_MASK();   /* an interrupt always finds one of them */
    if (out) out->context = PROF__AWAY;
    if (in) in->context = 0;
    prof__contexts[0] = &prof__nowhere;
    PROF__HOT_UNMASK(mask);
    s->running = in;
    if (!s->cpu) s->cpu = prof__cpu_row();
    if (!s->cpu) (void)prof__time_now(0);
    else if (!t || !prof__stretch_hot(prof__row_state(s->cpu), t->none.site_depth))
        prof__stretch_change(s->cpu, before, in);
    mask = PROF__HOT_MASK();             /* busy: it is in the slow path */
    if (t && t->epoch == (uint16_t)(s->time >> 31) && !t->busy) prof__arm(t, 0);
    PROF__HOT_UNMASK(mask);
}

PROF__CALL void prof_task_in(uint32_t number, const char *name) {
    struct prof_trace *s = &prof__trace;
    if (!name) name = "";
    if (s->open) {
        prof__row *out = prof__row_running(), *in;
        if (out && !out->info.id && prof__task.name)   /* it was there when we started */
            prof__row_name_task(out, prof__task.number, prof__task.name);
        in = prof__task_found(number);
        if (!in || in != out || !s->cpu)
            prof__switch(out, in ? in : prof__task_row(number, name));
    }
    prof__task.number = number;
    prof__task.name = name;
}

/* A row's task is over, whose state is claimed: its zones end. Its page is complete, so that it can
   be given back. */
PROF__FN void prof__row_over(prof__state *t) {
    if (t->row.context < PROF__AWAY - 1)
        prof__contexts[PROF__OUTER(t->row.context)] = &prof__nowhere;
    prof__time_in(t);
    for (; prof__open_zones(t); prof__count(PROF__COUNTED(unfinished))) prof__end_zone(t);
    if (t->page && !prof__sums_alone(&prof__trace)) t->page->end = t->hot.cursor;
    t->known = t->hot.cursor;
    t->row.context = PROF__OVER;
    t->busy = false;
}

PROF__CALL void prof_task_gone(uint32_t number) {
    prof__row *row = prof__trace.open ? prof__task_found(number) : NULL;
    if (row) {
        (void)prof__claim(prof__row_state(row));
        prof__row_over(prof__row_state(row));
    }
    if (prof__task.number == number) prof__task.name = NULL;
}

/* As prof_start takes no rate of more than 32 bits, part does not overflow. */
PROF__FN int64_t prof__rate_ns(uint64_t ticks, uint64_t rate) {
    uint64_t part;
    if (rate == 1000000000u) return (int64_t)ticks;
    part = (uint64_t)prof__divide(&ticks, (uint32_t)rate) * 1000000000u;
    (void)prof__divide(&part, (uint32_t)rate);
    return (int64_t)(ticks * 1000000000u + part);
}

PROF__FN uint64_t prof__clock_rate(const struct prof_trace *s) {
    return s->rate ? s->rate : 1000000000u;
}

/* ---- rows: prof_stop leaves the states as they are ---- */

#define prof__row_cursor(row) (prof__row_state(row)->hot.cursor)
#define prof__segment_begin(g) ((const prof__record *)(const void *)((g) + 1))
#define prof__segment_limit(g) \
    ((const prof__record *)(const void *)((const char *)(g) + prof__trace.plan.page))
#define prof__segment_clock(r, g) ((r)->k.base = (g)->base)
#define prof__row_stop(row) (prof__trace.time)
#define prof__open_stop(row, o) ((o)->end)
#define prof__row_overwritten(row) 0
#define prof__row_is_cpu(row) ((row)->context == PROF__CPU)   /* whose zones are in no sum */
#define prof__open_ended(o) ((o)->ended)

PROF__FN uint32_t prof__row_open_count(const prof__row *row) {
    const prof__state *t = prof__row_state(row);
    return prof__trace.open ? 0 : (uint32_t)prof__open_zones(t) + t->waiting;
}

PROF__FN prof__open prof__row_open(const prof__row *row, uint32_t i) {
    const prof__state *t = prof__row_state(row);
    const prof__frame *f = t->frames + i;
    prof__open o;
    o.ended = f >= t->hot.top;
    o.end = o.ended ? prof__time_at(f->end, f->above) : prof__trace.time;
    o.start = prof__start_of(f, o.end);
    o.site = f->site_depth & ~(uint32_t)0xff;
    o.depth = i;
    return o;
}

/* All counts but that of the zones, which the records tell. */
PROF__FN prof_stats prof__counts_now(struct prof_trace *s) {
    prof_stats stats, *out = &stats;
    prof__stats_take(out, s, &s->counts);
    for (const prof__row *row = s->open ? NULL : s->rows; row; row = row->next)
        out->unfinished += prof__row_is_cpu(row) ? 0 : prof__open_zones(prof__row_state(row));
    out->threads = s->row_count;
    out->clock = s->max_depth ? PROF_CLOCK_CPU : PROF_CLOCK_NONE;   /* it has been a session's */
    out->ticks_per_second = s->rate || !out->clock ? prof__clock_rate(s) : 0;
    out->bytes_total = (size_t)(prof__arena.end - prof__arena.base);
    out->bytes_used = out->bytes_total - prof__arena.room;
    return stats;
}

/* ---- who had the core: tasks, by the stretches of the row "CPU", and interrupts ---- */

typedef struct prof__stretches {         /* a position among the outermost zones of a row */
    prof__cursor k;
    const prof__row *row;
    const prof__segment *next;           /* behind that in which k is */
    uint32_t site, query;
    bool last;
    int64_t start_ns, end_ns, before;    /* before: when the stretch before it ended */
} prof__stretches;

PROF__FN bool prof__stretch_record(prof__stretches *w, prof__item *i) {
    while (!prof__next(&w->k, i)) {
        const prof__segment *g = w->next;
        if (!g) return false;
        w->k.at = prof__segment_begin(g);
        w->k.end = g->end ? g->end : prof__row_cursor(w->row);
        w->k.base = g->base;
        w->next = g->next;
    }
    return true;
}

/* The next stretch; false: there is none. */
PROF__FN bool prof__stretch_next(prof__stretches *w) {
    prof__open o;
    prof__item i;
    bool more;
    do more = prof__stretch_record(w, &i);
    while (more && (!prof__item_is_zone(&i) || i.site_depth & 0xff));
    if (!more) {
        if (w->last || !prof__row_open_count(w->row)) return false;
        w->last = true;
        o = prof__row_open(w->row, 0);
        i.site_depth = o.site;
        i.end = o.end;
        i.duration = o.end - o.start;
    }
    w->site = i.site_depth;
    w->before = w->end_ns;
    w->start_ns = prof__ticks_ns(i.end - i.duration);
    w->end_ns = prof__ticks_ns(i.end);
    return true;
}

/* The first stretch of the row that ends after ns; NULL: there is none. A search goes on
   where the last one ended: zones come nearly in order. */
PROF__FN const prof__stretches *prof__stretch_from(const prof__row *row, int64_t ns) {
    static prof__stretches slots[4];
    prof__stretches *w = slots + row->number % 4;
    if (w->row != row || w->query != prof__task.queries || w->before > ns) {
        memset(w, 0, sizeof *w);
        w->row = row;
        w->query = prof__task.queries;
        w->next = row->first;
        while (w->next && w->next->next && prof__ticks_ns(w->next->next->base) <= ns)
            w->next = w->next->next;
    }
    while (w->end_ns <= ns)
        if (!prof__stretch_next(w)) return NULL;
    return w;
}

/* Are these an interrupt's zones? */
PROF__FN bool prof__row_interrupts(const prof__row *row) {
    return row->info.id && row->info.id < PROF__CPU_ID;
}

/* The first of the row's stretches that ends after ns and was no time of `own` from times[0] to
   times[1]: another task's, or an interrupt's that lies within. Of two with the same times the one
   with the lesser number is the outer one. */
PROF__FN const prof__stretches *prof__stretch_other(const prof__row *row, const prof__row *own,
                                                    const int64_t *times, int64_t ns) {
    uint32_t site = prof__row_state(own)->none.site_depth + 256;
    bool first = row->info.id < own->info.id;
    for (;;) {
        const prof__stretches *w = prof__stretch_from(row, ns);
        if (!w || w->start_ns >= times[1]) return NULL;
        ns = w->end_ns;
        if (prof__row_is_cpu(row) ? w->site != site
                                  : w->start_ns >= times[0] + (first && ns == times[1]) &&
                                    ns <= times[1]) return w;
    }
}

/* How long the context of a row ran from times[0] to times[1]: a core does one thing at a time.
   tasks: with what interrupted it; what is no task always runs then. */
PROF__FN int64_t prof__ran(const prof__row *own, const int64_t *times, bool tasks) {
    int64_t ns = times[1] - times[0], from = times[0];
    if (tasks && !prof__row_state(own)->none.site_depth) return ns;
    while (from < times[1]) {
        int64_t start = times[1], end = start;
        for (const prof__row *row = prof__trace.rows; row; row = row->next) {
            bool others = prof__row_is_cpu(row) ? !prof__row_interrupts(own)
                                                : !tasks && prof__row_interrupts(row);
            const prof__stretches *w = NULL;
            if (others && row != own) w = prof__stretch_other(row, own, times, from);
            if (!w || w->start_ns >= start) continue;
            start = PROF__MAX(w->start_ns, from);
            end = PROF__MIN(w->end_ns, times[1]);
        }
        ns -= end - start;
        from = end;
    }
    return ns;
}

/* How long interrupts lasted whose zones are in sums alone. */
PROF__FN int64_t prof__interrupts_ns(void) {
    uint64_t ticks = PROF_ONE_CORE ? prof__trace.interrupts >> PROF__CLOCK_SHIFT : 0;
    return prof__rate_ns(ticks, prof__clock_rate(&prof__trace));
}

static int64_t prof__on_cpu(uint32_t thread, const int64_t *times) {
    const prof__row *row = prof__trace.rows;
    while (row->thread != thread) row = row->next;
    return prof__ran(row, times, true);
}

/* ---- what the rooms that follow have for hosts alone: here it is refused, or nothing ---- */

PROF__CALL void prof_add(uint32_t index, int64_t value) {
    (void)index;
    (void)value;
}

PROF__CALL const char *prof_hw_counter_name(const prof_trace *trace, uint32_t i) {
    (void)trace;
    (void)i;
    return NULL;
}

PROF__CALL prof_result prof_print_table(const prof_trace *trace, const prof_table_desc *desc) {
    (void)trace;
    (void)desc;
    return PROF_ERROR_UNSUPPORTED;
}

PROF__CALL prof_result prof_save_chrome(const prof_trace *trace, const char *path) {
    (void)trace;
    (void)path;
    return PROF_ERROR_UNSUPPORTED;
}

PROF__CALL prof_result prof_write_memory_timeline(const prof_trace *trace,
                                                  const prof_memory_desc *desc, prof_sink out) {
    (void)trace;
    (void)desc;
    (void)out;
    return PROF_ERROR_UNSUPPORTED;
}

/* @READ */
#define prof__to_ns(scale, tick) prof__ticks_ns(tick)
#define prof__read_beside(r, i) false
#define prof__scratch_end(s) prof__arena.high

/* @OUTSIDE */
#define prof__queries_open(s) ((void)prof__task.queries++)
#define prof__beside_lay(s, p) (p)
#define prof__analysis_lend(s, memory, size) ((void)(memory), (void)(size), false)
#define prof__needs_events(s) false
#define prof__reading_open() false
#define prof__reading_close(taken) ((void)(taken))
#define prof__beside_of_event(b, s, e) ((void)(b))

/* @AVERAGES */
#define prof__group_sums(r) false
#define prof__group_segment NULL
#define prof__average_on_cpu(a, r) ((a)->on_cpu_ns = (r)->on_cpu_ns)

PROF__INLINE void prof__group_on_cpu(prof__group *r, const struct prof__close *c) {
    if (prof__trace.on_cpu) r->on_cpu_ns += (prof__trace.on_cpu)(c->thread, &c->start_ns);
}

PROF__INLINE size_t prof__sums_averages(const struct prof_trace *s, const prof_averages_desc *by,
                                        prof_average *rows, size_t max) {
    (void)by;
    return (s->parts->average)(rows, rows ? max : 0);
}

PROF__FN void prof__prepare(struct prof_trace *s);

/* Memory for rows that are made of them, behind the threads. most: how many. */
PROF__FN prof_average *prof__sums_room(const struct prof_trace *s, size_t *most) {
    uint64_t room;
    prof__prepare(&prof__trace);
    room = (size_t)(prof__arena.high - s->scratch);
    (void)prof__divide(&room, PROF__SUMS_ROW);
    *most = (size_t)room;
    return (prof_average *)(void *)s->scratch;
}

/* @TABLE */
#define prof__table_head_text(t, column, text) ((void)(text), prof__column_head(column))

/* @CHROME */
typedef struct prof__gpu { bool none; } prof__gpu;
#define prof__chrome_other(o, g, e) false

PROF__INLINE void prof__event_on_cpu(prof__out *o, const struct prof_trace *s,
                                     const prof_event *e) {
    if (!s->on_cpu) return;
    o->p--;                              /* of the event that was just written */
    prof__out_f(o, ",\"tdur\":%t}", (s->on_cpu)(e->thread, &e->start_ns));
}

/* @TABLE, @STACKS */
#define prof__metric_none(what, metric) PROF_ERROR_INVALID
#define prof__stacks_are(s) true
#define prof__memory_is(s) true
#define prof__frames_of(s, e) 0u
#define prof__frame_text(x, i) ((x)->stack[i])
#define prof__same_frames(s, a, b) true

/* @RAW, @AGGREGATE */
#define prof__clock_kind(s) ((void)(s), PROF_CLOCK_CPU)
#define prof__window_number(s) 1u
#define prof__one_core() PROF_ONE_CORE
#define prof__who_ran() (PROF_ONE_CORE ? prof__ran : NULL)

PROF__INLINE void prof__row_name_read(const prof__row *row, char *text) {
    memcpy(text, row->name, sizeof row->name);
    text[sizeof row->name - 1] = 0;
}

#define prof__tally_calls(r) prof__tally_count(r)
#define prof__tally_name(r) (prof__site((r)->site >> 8)->name)
#define prof__scale_ns(k, ticks) ((void)(k), (ticks))

/* @SESSION */
#define prof__said(result) ((result) == PROF_ERROR_INVALID ? prof__trace.refused : NULL)
#define prof__fail(result, why) (result)
#endif

/* ---- on both ports ---- */

PROF__COLD_END
PROF__CALL void prof_pop(void) { prof__end_top_inline(); }

PROF__COLD_BEGIN
PROF__CALL void prof_instant(const char *name) { prof__moment_named(PROF__INSTANT, name, 0); }

PROF__CALL void prof_counter(const char *name, int64_t value) {
    prof__moment_named(PROF__COUNTER, name, value);
}

PROF__CALL void prof__instant(prof__mark *mark) { prof__moment_here(PROF__INSTANT, mark, 0); }

PROF__CALL void prof__counter(prof__mark *mark, int64_t value) {
    prof__moment_here(PROF__COUNTER, mark, value);
}

/* ---- @PRINTF: names and texts by a format: stb_sprintf, or without it the C library's ----

   This room formats the names and texts of calls that end in _f; prof.h's own texts are
   formatted in @TEXT.
   - A text that does not fit is cut at its end; a program's texts are then counted. */

#ifdef prof__vsnprintf                   /* else programs with such calls do not link */

/* Formats into buf; false: it is cut. */
PROF__FN PROF__PRINTF(3, 0) bool prof__print(char *buf, size_t size, const char *format,
                                             va_list list) {
    uint32_t inside = prof__inside(PROF__USERS);   /* instrumented functions of stb are no zones */
    int length = prof__vsnprintf(buf, size, format, list);
    (void)prof__inside(inside);
    buf[length < 0 ? 0 : size - 1] = 0;
    return length >= 0 && (size_t)length < size;
}

PROF__CALL size_t prof_format_text(char *buf, size_t size, const char *format, ...) {
    va_list list;
    if (!size) return 0;
    va_start(list, format);
    (void)prof__print(buf, size, format, list);
    va_end(list);
    return strlen(buf);
}

/* Formats the arguments after format into the array text; runs when_cut if the text is cut. */
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
#endif

#if !PROF__BARE
/* ---- @DETAILS: what is recorded beside zones ----

   Shapes, arguments, memory, ranges and arrows are records between those of zones.
   - A zone's attributes come before its record: they belong to the next zone of their depth that
     the thread records. Readers skip them if it never comes.
   - A detail without room is counted, and its zone is recorded without it. */

/* An attribute is a record of many slots: PROF__ATTRIBUTE {type | depth << 8 | count << 16, bytes},
   then slots of 8 bytes each, whose third word is PROF__PART. */
/* How a field is coded in records, and so read, packed and written as JSON. */
enum {
    PROF__AS_SHAPES,                     /* for each: dims | list << 31, bytes of its dtype
                                            (UINT32_MAX: none); dims, or items as these; dtype */
    PROF__AS_TENSORS,                    /* for each: id, storage, offset, type | index << 8 */
    PROF__AS_TEXTS,                      /* for each: bytes; the text */
    PROF__AS_STACK,                      /* the same, in JSON one text */
    PROF__AS_TEXT,                       /* text of bytes bytes */
    PROF__AS_JSON                        /* the same, in JSON as it is */
};

/* The fields of prof_extra that are pointers: number, coding, field, its count (`has`: it is no
   list), the field of its dtypes, what the session must want, key in a Chrome trace. Zones have the
   first nine, in records of these numbers, dtypes with shapes; the last two are prof_submit's. */
#define PROF__FIELDS_EACH(X) \
    X(SHAPES, SHAPES, input_shapes, input_count, DTYPES, SHAPES, "Input Dims") \
    X(STRIDES, SHAPES, strides, input_count, NONE, SHAPES, "Input Strides") \
    X(OUTPUTS, SHAPES, output_shapes, output_count, OUTPUT_DTYPES, SHAPES, NULL) \
    X(TENSORS, TENSORS, tensors, tensor_count, NONE, SHAPES, NULL) \
    X(CONCRETE, TEXTS, concrete_inputs, input_count, NONE, SHAPES, "Concrete Inputs") \
    X(STACKED, STACK, stack, stack_count, NONE, DETAILS, "Call stack") \
    X(KWINPUTS, JSON, kwinputs, has, NONE, SHAPES, "kwinputs") \
    X(OVERLOAD, TEXT, overload_name, has, NONE, DETAILS, "Overload Name") \
    X(HIERARCHY, TEXT, module_hierarchy, has, NONE, MODULES, "Module Hierarchy") \
    X(DTYPES, TEXTS, dtypes, input_count, NONE, SHAPES, "Input type") \
    X(OUTPUT_DTYPES, TEXTS, output_dtypes, output_count, NONE, SHAPES, NULL) \
    X(BACKEND, TEXT, backend, has, NONE, DETAILS, "Backend") \
    X(TRACE_NAME, TEXT, trace_name, has, NONE, DETAILS, NULL)
#define PROF__FIELD_NUMBER(number, coding, field, count, dtypes, wants, key) PROF__##number,
#define PROF__FIELD_ROW(number, coding, field, count, dtypes, wants, key) \
    { PROF__AS_##coding, offsetof(prof_extra, field), offsetof(prof_extra, count), PROF__##dtypes, \
      PROF__WANTS_##wants, key },
enum { PROF__NONE, PROF__FIELDS_EACH(PROF__FIELD_NUMBER) PROF__FIELDS };
typedef struct prof__field {
    uint8_t coding;
    uint16_t at, count;                  /* offsets */
    uint8_t dtypes, wants;
    const char *key;                     /* NULL: Chrome traces do not have it */
} prof__field;
static const prof__field prof__fields[] = {
    { 0, 0, 0, 0, 0, NULL }, PROF__FIELDS_EACH(PROF__FIELD_ROW)
};

/* Numbers of records that are not of a field. */
enum {
    PROF__ARGUMENT = PROF__HIERARCHY + 1,   /* "key":value */
    PROF__FLOPS,                         /* number */
    PROF__SEQUENCE,                      /* number, thread; count: scope */
    PROF__ANNOTATION,
    PROF__COUNTED,                       /* a number for each of count counters */
    PROF__NATIVE,                        /* bytes: the number of its call stack, see @NATIVE */
    PROF__MODULE_PUSH,                   /* text; depth: zones open */
    PROF__MODULE_POP,
    PROF__NODE                           /* number */
};

PROF__FN const void *prof__field_get(const prof_extra *x, uint32_t field) {
    const void *value;
    memcpy(&value, (const char *)x + prof__fields[field].at, sizeof value);
    return value;
}

PROF__FN uint32_t prof__field_count(const prof_extra *x, uint32_t field) {
    uint32_t count;
    memcpy(&count, (const char *)x + prof__fields[field].count, sizeof count);
    return count;
}

PROF__FN void prof__field_set(prof_extra *x, uint32_t field, const void *value) {
    memcpy((char *)x + prof__fields[field].at, &value, sizeof value);
}

#define PROF__SLOTS_MOST 250             /* of a record; a byte counts them */
#define PROF__TEXT_MOST (8 * PROF__SLOTS_MOST)

/* So many slots come with room for these bytes in the analysis, beside what each slot's 8 bytes
   become: 40 at most. A zone's first attribute takes a prof_extra, its first that may tell rows of
   averages apart such a row. */
#define PROF__SLOTS_FOR(bytes) ((bytes) / (PROF__SLOT_COST + PROF__WIDE_COST - 40) + 1)
#define PROF__EXTRA_SLOTS \
    (PROF__SLOTS_FOR(sizeof(prof_extra)) + PROF__SLOTS_FOR(PROF__GROUP_COST))

PROF__FN bool prof__tells_rows(uint32_t type) {
    return type != PROF__ARGUMENT && type != PROF__FLOPS && type != PROF__COUNTED;
}

/* A record that is being written, in the slow path. */
typedef struct prof__long {
    prof__tls_data *tls;
    prof__state *t;
    prof__record *begin, *at;
    prof__frame *frame;                  /* of the zone whose attribute it is */
    bool entered;                        /* prof__long_close is to leave the slow path */
} prof__long;

/* Opens a record of so many slots; false: no room, which is counted, or it is not wanted. */
PROF__FN bool prof__long_open(prof__long *l, uint32_t slots, uint32_t wants) {
    prof__state *t;
    bool room;
    l->tls = prof__tls_get();
    if (wants & ~PROF__LOAD(prof__recorder.wants)) return false;
    t = prof__state_here(l->tls, true);
    if (!t || (wants & ~t->wants && !t->sums.on)) return false;
    if (!prof__enter(l->tls)) {
        PROF__COUNT(prof__loose.dropped_busy);
        return false;
    }
    l->t = t = prof__tls_state(l->tls);
    l->entered = true;
    room = !t->skipped && !PROF__LOAD(t->deep.open) && prof__room(t, slots);
    if (t->sums.on || PROF__LOAD(t->deep.open)) {
        prof__count_not_kept(t);
    } else if (!room || prof__left(t) < (ptrdiff_t)slots) {
        PROF__BUMP(t->counts.full, 1);
    } else {
        l->begin = l->at = t->hot.cursor;
        return true;
    }
    prof__leave(l->tls);
    return false;
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

PROF__INLINE void prof__long_close(prof__long *l, uint32_t kind, uint64_t head) {
    uint32_t slots = (uint32_t)(l->at - l->begin);
    prof__record_set(l->begin, head, kind << 8 | (slots - 1));
    PROF__BUMP(l->t->counts.extra, slots);
    prof__publish(l->t, l->at);
    if (PROF__UNLIKELY(l->entered)) prof__leave(l->tls);
}

PROF__FN uint32_t prof__text_slots(size_t bytes) { return (uint32_t)((bytes + 7) / 8); }

/* Bytes of s that are recorded: at most `most`, whole characters; a cut is counted. */
PROF__FN size_t prof__text_bytes(const char *s, size_t most) {
    size_t n = strlen(s);
    if (n <= most) return n;
    PROF__COUNT(prof__loose.not_kept);
    for (n = most; n && ((unsigned char)s[n] & 0xc0) == 0x80;) n--;
    return n;
}

/* Promises room for a prof__side beside every event. False: no room. Under the lock. */
PROF__FN bool prof__widen(struct prof_trace *s) {
    size_t more;
    if (prof__wide(s)) return true;
    more = s->slot_count * (PROF__WIDE_COST - s->beside);
    if (s->lean) more += s->slot_count * PROF__SLOT_COST;
    if (prof__arena_room(PROF__FOR_RECORDS) < more) return false;
    prof__arena.promised += more;
    s->lean = false;
    s->beside = PROF__WIDE_COST;
    return true;
}

PROF__RARE bool prof__widen_now(prof__state *t) {
    if (!t->details.narrow && prof__lock_briefly()) {
        if (PROF__LOAD(prof__on) == t->generation) {
            t->details.wide = prof__widen(&prof__trace);
            t->details.narrow = !t->details.wide;
        }
        prof__unlock();
    }
    if (!t->details.wide) PROF__COUNT(prof__loose.not_kept);
    return t->details.wide;
}

/* Records a step that ends now: {start}{end}{number}. Where events are made of it empty slots come
   before: with them, and two of its own, comes the room for what a step takes beside an event. */
PROF__FN void prof__put_step(uint64_t start, uint64_t number) {
    uint32_t more = PROF__STEP_COST / (PROF__SLOT_COST + PROF__FORK_COST) - 1;
    prof__long l;
    if (prof__trace.records_only) more = 0;
    if (!prof__long_open(&l, more + 3, 0)) return;
    PROF__BUMP(l.t->counts.extra, more);
    while (more--) prof__long_put(&l, 0);
    l.begin = l.at++;
    prof__record_set(l.at++, prof__state_now(l.t), 255);
    prof__record_set(l.at++, number, 255);
    prof__long_close(&l, PROF__STEP, start);
}

/* Does the session want such attributes? Whether the thread records in it is checked later. */
PROF__FN bool prof__wanted(uint32_t wants) {
    wants |= PROF__WANTS_DETAILS;
    return PROF__LOAD(prof__on) && !(wants & ~PROF__LOAD(prof__recorder.wants));
}

/* Begins an attribute of the innermost open zone, of so many slots beside the first. */
PROF__FN bool prof__attribute_open(prof__long *l, uint32_t slots, uint32_t wants) {
    uint32_t first = PROF__MAX(slots + 1, (uint32_t)PROF__EXTRA_SLOTS);
    prof__tls_data *tls = prof__tls_get();
    prof__state *t = prof__tls_state(tls);
    prof__frame *top;
    wants |= PROF__WANTS_DETAILS;
    if (tls->generation != PROF__LOAD(prof__on) || wants & ~t->wants) return false;
    if (!t->details.wide && !prof__widen_now(t)) return false;
    if (!prof__long_open(l, first, wants)) return false;
    top = l->t->hot.top;
    if (top > l->t->hot.bottom && top < l->t->deepest && !l->t->skipped) {
        l->frame = top - 1;
        l->at = l->begin + 1;
        return true;
    }
    prof__leave(l->tls);
    return false;
}

/* Publishes an attribute, padded to what it takes in the analysis. */
PROF__FN void prof__attribute_close(prof__long *l, uint32_t type, uint32_t count, size_t bytes) {
    prof__state *t = l->t;
    prof__frame *f = l->frame;
    bool first = t->details.end != l->begin || t->details.top != f + 1;
    size_t least = first ? PROF__SLOTS_FOR(sizeof(prof_extra)) : 0;
    bool row = prof__tells_rows(type) && (first || !t->details.row);
    if (row) least += PROF__SLOTS_FOR(PROF__GROUP_COST);
    t->details.row = row || (t->details.row && !first);
    while (!t->streams && (size_t)(l->at - l->begin) < least) prof__long_put(l, 0);
    t->details.end = l->at;
    t->details.top = f + 1;
    prof__long_close(l, PROF__ATTRIBUTE,
                     (uint64_t)bytes << 32 | (uint64_t)(count << 16 | f->depth << 8 | type));
}

/* Begins an attribute of frame f within the slow path, where room for it was made. */
PROF__FN void prof__attribute_in(prof__long *l, prof__state *t, prof__frame *f) {
    memset(l, 0, sizeof *l);
    l->t = t;
    l->frame = f;
    l->begin = t->hot.cursor;
    l->at = l->begin + 1;
}

/* Puts a shape, or where l is NULL only counts its slots, which it returns. */
PROF__FN uint32_t prof__shape_put(prof__long *l, const prof_shape *s, const char *dtype) {
    size_t bytes = dtype ? strlen(dtype) : 0;
    uint32_t count = s->dims || s->items ? s->count : 0, n = 1 + prof__text_slots(bytes);
    if (l)
        prof__long_put(l, (uint64_t)(dtype ? (uint32_t)bytes : UINT32_MAX) << 32 |
                              (count | (s->items ? 1u << 31 : 0)));
    for (uint32_t i = 0; s->items && i < count; i++) n += prof__shape_put(l, s->items + i, NULL);
    for (uint32_t i = 0; l && !s->items && i < count; i++) prof__long_put(l, (uint64_t)s->dims[i]);
    if (l) prof__long_text(l, dtype, bytes);
    return s->items ? n : n + count;
}

/* Puts item i of a list, or where l is NULL only counts its slots, which it returns: more than
   PROF__SLOTS_MOST where it is too large. */
PROF__FN uint32_t prof__item_put(prof__long *l, uint32_t coding, const void *list,
                                 const char *const *dtypes, uint32_t i) {
    const char *text;
    size_t bytes;
    if (coding == PROF__AS_SHAPES) {
        const prof_shape *s = (const prof_shape *)list + i;
        if (s->count > PROF__SLOTS_MOST) return s->count;
        return prof__shape_put(l, s, dtypes ? dtypes[i] : NULL);
    }
    if (coding == PROF__AS_TENSORS) {
        prof_tensor tensor = ((const prof_tensor *)list)[i];
        if (!l) return 4;
        prof__long_put(l, tensor.id);
        prof__long_put(l, tensor.storage);
        prof__long_put(l, (uint64_t)tensor.offset);
        prof__long_put(l, (uint64_t)(uint8_t)tensor.device.index << 8 | tensor.device.type);
        return 4;
    }
    text = prof__text(((const char *const *)list)[i]);
    bytes = strlen(text);
    if (l) prof__long_put(l, bytes);
    if (l) prof__long_text(l, text, bytes);
    return 1 + prof__text_slots(PROF__MIN(bytes, PROF__TEXT_MOST));
}

/* Records an attribute by its coding: a text, or the items of a list that fit. */
PROF__FN void prof__attribute_put(uint32_t type, const void *value, const char *const *dtypes,
                                  uint32_t count) {
    const prof__field *f = prof__fields + type;
    prof__long l;
    uint32_t slots = 0, fit = 0;
    if (!value || !prof__wanted(f->wants)) return;
    if (f->coding >= PROF__AS_TEXT) {
        const char *text = (const char *)value;
        size_t bytes = prof__text_bytes(text, PROF__TEXT_MOST);
        if (!prof__attribute_open(&l, prof__text_slots(bytes), f->wants)) return;
        prof__long_text(&l, text, bytes);
        prof__attribute_close(&l, type, 1, bytes);
        return;
    }
    for (; fit < count; fit++) {
        uint32_t more = prof__item_put(NULL, f->coding, value, dtypes, fit);
        if (more > PROF__SLOTS_MOST - slots) break;
        slots += more;
    }
    if (fit < count) PROF__COUNT(prof__loose.not_kept);
    if (!prof__attribute_open(&l, slots, f->wants)) return;
    for (uint32_t i = 0; i < fit; i++) (void)prof__item_put(&l, f->coding, value, dtypes, i);
    prof__attribute_close(&l, type, fit, 0);
}

PROF__CALL void prof_set_shapes(const prof_shape *shapes, const char *const *dtypes,
                                uint32_t count) {
    prof__attribute_put(PROF__SHAPES, shapes, dtypes, count);
}

/* A text that is put into a record byte by byte. */
typedef struct prof__piece { prof__long l; size_t bytes; char word[8]; } prof__piece;

PROF__FN void prof__piece_put(prof__piece *to, const char *s, bool json) {
    char c[12], *end = c + 1;
    while (*s) {
        if (json) end = prof__text_json(c, &s);
        else *c = *s++;
        for (const char *p = c; p < end; p++) {
            to->word[to->bytes++ % 8] = *p;
            if (to->bytes % 8 == 0) prof__long_text(&to->l, to->word, 8);
        }
    }
}

/* Records "key":value; the value is text, or a number where text is NULL. Zones on small stacks
   have arguments, so that there is no buffer. */
PROF__FN void prof__attribute_argument(const char *key, const char *text, int64_t value) {
    prof__piece to;
    char number[24];
    size_t most;
    if (!key || !prof__wanted(0)) return;
    most = 6 * (strlen(key) + (text ? strlen(text) : 0)) + 32;   /* \u0001 is six */
    if (most > PROF__TEXT_MOST - 160) {
        PROF__COUNT(prof__loose.not_kept);
        return;
    }
    if (!prof__attribute_open(&to.l, prof__text_slots(most), 0)) return;
    to.bytes = 0;
    *prof__text_i64(number, value) = 0;
    prof__piece_put(&to, "\"", false);
    prof__piece_put(&to, key, true);
    prof__piece_put(&to, text ? "\":\"" : "\":", false);
    prof__piece_put(&to, text ? text : number, true);
    prof__piece_put(&to, text ? "\"" : "", false);
    prof__long_text(&to.l, to.word, to.bytes % 8);
    prof__attribute_close(&to.l, PROF__ARGUMENT, 1, to.bytes);
}

PROF__CALL void prof_set_arg(const char *key, const char *text) {
    prof__attribute_argument(key, text ? text : "(null)", 0);
}

PROF__CALL void prof_set_arg_int(const char *key, int64_t value) {
    prof__attribute_argument(key, NULL, value);
}

/* Records an attribute of count numbers; kind: see PROF__SEQUENCE. */
PROF__FN void prof__attribute_numbers(uint32_t type, uint32_t kind, const uint64_t *numbers,
                                      uint32_t count, uint32_t wants) {
    prof__long l;
    if (!prof__attribute_open(&l, count, wants)) return;
    for (uint32_t i = 0; i < count; i++) prof__long_put(&l, numbers[i]);
    prof__attribute_close(&l, type, kind, 0);
}

PROF__CALL void prof_set(const prof_extra *with) {
    uint64_t flops, node, sequence[2];
    if (!with || !PROF__LOAD(prof__on)) return;
    node = (uint32_t)with->node_id;
    flops = (uint64_t)with->flops;
    sequence[0] = (uint64_t)with->sequence_nr;
    sequence[1] = with->fwd_thread;
    for (uint32_t i = PROF__SHAPES; i <= PROF__HIERARCHY; i++) {
        const void *value = prof__field_get(with, i), *dtypes = NULL;
        if (prof__fields[i].dtypes) dtypes = prof__field_get(with, prof__fields[i].dtypes);
        prof__attribute_put(i, value, (const char *const *)dtypes, prof__field_count(with, i));
    }
    if (with->flops > 0)
        prof__attribute_numbers(PROF__FLOPS, 0, &flops, 1, PROF__WANTS_FLOPS);
    if (with->has & PROF_HAS_SEQUENCE_NR)
        prof__attribute_numbers(PROF__SEQUENCE, with->scope, sequence, 2, 0);
    if (with->has & PROF_HAS_ANNOTATION)
        prof__attribute_numbers(PROF__ANNOTATION, 0, NULL, 0, 0);
    if (with->has & PROF_HAS_NODE_ID) prof__attribute_numbers(PROF__NODE, 0, &node, 1, 0);
}

PROF_API PROF__ENTRY void prof_push_with(const char *name, const prof_extra *with) {
    prof__tls_data *tls = prof__tls_get();
    tls->with = with;
    prof__push_text(name);
    tls->with = NULL;
    prof_set(with);
}

/* A module begins or ends. The record belongs to the thread, not to a zone; depth: open zones. */
PROF__FN void prof__module_put(uint32_t type, const char *name) {
    prof__long l;
    size_t bytes = prof__text_bytes(name, 255);
    uint32_t slots = PROF__MAX(1 + prof__text_slots(bytes), (uint32_t)PROF__EXTRA_SLOTS + 8);
    if (!prof__wanted(PROF__WANTS_MODULES)) return;
    if (!prof__long_open(&l, slots, PROF__WANTS_DETAILS | PROF__WANTS_MODULES)) return;
    l.at = l.begin + 1;
    prof__long_text(&l, name, bytes);
    while (type == PROF__MODULE_PUSH && (uint32_t)(l.at - l.begin) < slots) prof__long_put(&l, 0);
    prof__long_close(&l, PROF__ATTRIBUTE, (uint64_t)bytes << 32 |
                         ((uint64_t)(l.t->hot.top - l.t->hot.bottom) << 8 | type));
}

PROF__CALL void prof_module_push(const char *name) {
    prof__module_put(PROF__MODULE_PUSH, name ? name : "(null)");
}

PROF__CALL void prof_module_pop(void) { prof__module_put(PROF__MODULE_POP, ""); }

/* ---- memory: {tick} {address} {bytes} {what | depth << 8 | device type << 16 | index << 24 |
   category << 32}; depth 255: no zone is open. The analysis cost of these slots has room for the
   event that memory outside of zones becomes ---- */

PROF__FN bool prof__device_is(prof_device a, prof_device b) {
    return a.type == b.type && a.index == b.index;
}

PROF__FN bool prof__device_is_host(prof_device d) {
    return d.type == PROF_DEVICE_CPU || d.type == PROF_DEVICE_MKLDNN || d.type == PROF_DEVICE_IDEEP;
}

/* What is allocated, in a session with a schedule: a window does not see what older ones, or the
   steps between them, allocated. Open addressing; a slot with address 0 is free. It lies behind the
   arena of all windows. Under the lock. */
typedef struct prof__held {
    uintptr_t address;
    uint64_t bytes;
    prof_device device;
    uint8_t category;
} prof__held;
static struct prof__holding {
    bool on;                             /* there is such a session */
    size_t count, slots;                 /* slots: 0: no such session, or no room */
    prof__held *list;
} prof__holding;

PROF__FN size_t prof__held_home(const prof__held *b) {
    uint64_t hash = ((uint64_t)b->address ^ (uint8_t)b->device.index) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) % prof__holding.slots;
}

/* The slot of this block, or the free one where it would stand. */
PROF__FN size_t prof__held_find(const prof__held *b) {
    const prof__held *list = prof__holding.list;
    size_t at = prof__held_home(b);
    while (list[at].address && (list[at].address != b->address ||
                                !prof__device_is(list[at].device, b->device)))
        at = (at + 1) % prof__holding.slots;
    return at;
}

/* Takes a 64th of the memory, from its end on, but below what threads still own there. */
PROF__FN void prof__holding_open(bool on, char *memory, size_t size) {
    struct prof__holding *h = &prof__holding;
    size_t bytes = on ? size / 64 + 16 : 0, end = size;
    char *stale[2];
    for (; end >= bytes; end = (size_t)(stale[0] - memory)) {
        prof__stale_next(memory + end - bytes, memory + end, stale);
        if (stale[0] == memory + end) break;
    }
    h->count = 0;
    h->slots = end < bytes ? 0 : size / 64 / sizeof *h->list;
    if (!on || !h->slots) h->slots = end = 0;
    else end -= bytes;
    h->list = (prof__held *)(void *)(memory + end + (16 - ((uintptr_t)memory + end) % 16) % 16);
    if (h->slots) memset(h->list, 0, h->slots * sizeof *h->list);
    PROF__STORE(h->on, h->slots > 1);
}

/* Is there such a session? Under the lock, if so: else another may have begun meanwhile. */
PROF__FN bool prof__holding_lock(void) {
    if (!PROF__LOAD(prof__holding.on) || !prof__lock_briefly()) return false;
    if (prof__holding.on) return true;
    prof__unlock();
    return false;
}

/* Takes a block out, and moves up those behind it; *b: what was known of it. */
PROF__FN void prof__held_take(prof__held *b) {
    prof__held *list;
    size_t hole, at, slots;
    if (!prof__holding_lock()) return;
    list = prof__holding.list;
    slots = prof__holding.slots;
    at = hole = prof__held_find(b);
    if (list[hole].address) {
        *b = list[hole];
        prof__holding.count--;
        while (list[at = (at + 1) % slots].address) {
            size_t home = prof__held_home(list + at);
            if ((at - home + slots) % slots < (at - hole + slots) % slots) continue;
            list[hole] = list[at];
            hole = at;
        }
        list[hole].address = 0;
    }
    prof__unlock();
}

/* Notes a block; what does not fit is as if it had not been seen, and counted. */
PROF__FN void prof__held_put(const prof__held *b) {
    struct prof__holding *h = &prof__holding;
    size_t at;
    if (!prof__holding_lock()) return;
    at = prof__held_find(b);
    if (h->list[at].address || h->count < h->slots - h->slots / 4 - 1) {
        h->count += !h->list[at].address;
        h->list[at] = *b;
    } else {
        PROF__COUNT(prof__loose.not_kept);
    }
    prof__unlock();
}

PROF__FN void prof__memory_put(uint32_t what, const prof__held *b) {
    prof__long l;
    prof__frame *top;
    if (!prof__wanted(PROF__WANTS_MEMORY)) return;
    if (!prof__long_open(&l, 4, PROF__WANTS_DETAILS | PROF__WANTS_MEMORY)) return;
    top = PROF__LOAD(l.t->hot.top);
    l.at = l.begin + 1;
    prof__long_put(&l, (uint64_t)b->address);
    prof__long_put(&l, b->bytes);
    prof__long_put(&l, (uint64_t)b->category << 32 | (uint32_t)(uint8_t)b->device.index << 24 |
                           (uint32_t)b->device.type << 16 |
                           (top > l.t->hot.bottom ? top[-1].depth : 255u) << 8 | what);
    prof__long_close(&l, PROF__MEMORY, prof__state_now(l.t));
}

/* The contents of a record of memory, without its time. */
PROF__FN prof__memory prof__memory_get(const prof__item *i, uint32_t *depth) {
    uint64_t info = prof__record_get(i->at + 3);
    prof__memory m;
    memset(&m, 0, sizeof m);
    m.address = i->value;
    m.bytes = (int64_t)prof__record_get(i->at + 2);
    m.event = PROF_NONE;
    m.what = (uint8_t)PROF__MIN(info & 0xff, (uint64_t)PROF__NOT_COUNTED);
    m.device.type = (uint8_t)(info >> 16);
    m.device.index = (int8_t)(uint8_t)(info >> 24);
    m.category = (uint8_t)(info >> 32 & 7);
    *depth = (uint32_t)(info >> 8) & 0xff;
    return m;
}

PROF__CALL void prof_memory_alloc(const void *pointer, size_t bytes, prof_device device) {
    prof__held b = { (uintptr_t)pointer, bytes, device, prof__tls_get()->category };
    if (!pointer && !bytes) return;
    if ((uint64_t)bytes >> 63) {   /* no comparison: size_t may have 32 bits */
        if (PROF__LOAD(prof__on)) PROF__COUNT(prof__loose.rejected);
        return;
    }
    if (pointer) prof__held_put(&b);
    prof__memory_put(pointer ? PROF__ALLOCATED : PROF__NO_MEMORY, &b);
}

PROF__CALL void prof_memory_free(const void *pointer, prof_device device) {
    prof__held b = { (uintptr_t)pointer, 0, device, 0 };
    if (!pointer) return;
    prof__held_take(&b);
    prof__memory_put(PROF__FREE, &b);
}

PROF__CALL prof_memory_kind prof_memory_category(prof_memory_kind kind) {
    prof__tls_data *tls = prof__tls_get();
    prof_memory_kind before = (prof_memory_kind)tls->category;
    tls->category = (unsigned)kind > PROF_MEMORY_AUTOGRAD_DETAIL ? 0 : (uint8_t)kind;
    return before;
}

/* ---- ranges: {start} {end} {id} {number of the row | site << 32}, and as many slots as their
   event takes; arrows: {tick} {number << 1 | is an end} ---- */

/* The contents of the record of a range, without its start. */
typedef struct prof__range { uint64_t end, id; uint32_t thread, site; } prof__range;

PROF__FN prof__range prof__range_get(const prof__item *i) {
    uint64_t where = prof__record_get(i->at + 3);
    prof__range range = { i->value, prof__record_get(i->at + 2), (uint32_t)where,
                          (uint32_t)(where >> 32) };
    return range;
}

PROF__FN uint64_t prof__number(uint64_t *last) {
    uint64_t n = 0;
    if (!prof__lock_briefly()) return n;
    n = ++*last;
    prof__unlock();
    return n;
}

PROF__CALL prof_async prof_async_begin(const char *name) {
    prof_async a;
    prof__tls_data *tls = prof__tls_get();
    prof__state *t = prof__state_here(tls, true);
    uint32_t site;
    memset(&a, 0, sizeof a);
    if (!t || !(t->wants & PROF__WANTS_DETAILS)) return a;
    if (!t->details.wide && !prof__widen_now(t)) return a;
    site = prof__intern(t, name);
    a.site = site >> 8;
    if (!prof__enter(tls)) {
        PROF__COUNT(prof__loose.dropped_busy);
        return a;
    }
    t = prof__tls_state(tls);
    a.id = a.site ? prof__number(&prof__recorder.async_last) : 0;
    if (a.id) {
        PROF__BUMP(t->counts.async, 1);
        a.thread = t->number;
        a.generation = t->generation;
        a.start = prof__state_now(t);
    } else {
        prof__count_siteless(t, site);
    }
    prof__leave(tls);
    return a;
}

PROF__CALL void prof_async_end(prof_async a) {
    prof__long l;
    uint64_t now;
    if (!a.id || !PROF__LOAD(prof__on)) return;
    if (a.generation != PROF__LOAD(prof__on)) {
        PROF__COUNT(prof__loose.unbalanced);
        return;
    }
    if (!prof__long_open(&l, PROF__EXTRA_SLOTS + 1, PROF__WANTS_DETAILS)) {
        PROF__COUNT(prof__loose.async_dropped);
        return;
    }
    PROF__BUMP(l.t->counts.async_ends, 1);
    now = prof__state_now(l.t);
    l.at = l.begin + 1;
    prof__long_put(&l, PROF__MAX(now, a.start));
    prof__long_put(&l, a.id);
    prof__long_put(&l, (uint64_t)a.site << 32 | a.thread);
    while (!l.t->streams && (size_t)(l.at - l.begin) < PROF__EXTRA_SLOTS + 1) prof__long_put(&l, 0);
    prof__long_close(&l, PROF__ASYNC, a.start);
}

PROF__CALL uint64_t prof_flow(uint64_t number) {
    prof__long l;
    uint64_t id = number;
    if (!PROF__LOAD(prof__on)) return 0;
    if (!id) id = prof__number(&prof__recorder.flow_last);
    if (!id || !prof__long_open(&l, 2, 0)) return 0;
    l.at = l.begin + 1;
    prof__long_put(&l, id << 1 | (number != 0));
    prof__long_close(&l, PROF__FLOW, prof__state_now(l.t));
    return id;
}

/* ---- contexts: states that a thread changes between ---- */

/* The parked state of this handle; else a new one, whose id no thread has. Under the lock. */
PROF__FN prof__state *prof__context_take(const void *context) {
    prof__state *t = context ? prof__recorder.owned : NULL;
    while (t && (t->handle != (uintptr_t)context || !t->parked ||
                 t->generation != prof__trace.generation)) t = t->next;
    if (t) return t;
    t = prof__state_take(0, 0x40000000u | (++prof__recorder.context_last & 0xfffffff));
    if (t) prof__row_name(t->row, "context");
    return t;
}

PROF__CALL void *prof_context_switch(void *context) {
    prof__tls_data *tls = prof__tls_get();
    uint32_t on = PROF__LOAD(prof__on);
    prof__state *from = NULL, *to = NULL;
    uintptr_t handle = 0;
    bool leaves = false;
    int cancel = prof__cancel_off();     /* as in prof__attach */
    if (!on || !prof__enter(tls)) {
        prof__cancel_back(cancel);
        return NULL;
    }
    if (prof__lock_briefly()) {
        if (PROF__LOAD(prof__on) == on) {
            if (tls->generation == on) from = prof__tls_state(tls);
            else if (tls->hot != &prof__nowhere) prof__state_give(tls, prof__tls_state(tls));
            to = prof__context_take(context);
            leaves = PROF__LOAD(prof__on) == on;
        }
        if (leaves && from) {
            from->parked = true;
            if (!from->handle) from->handle = ++prof__recorder.handle_last;
            handle = from->handle;
        }
        if (to) to->parked = false;
        prof__unlock();
    }
    if (leaves) {
        if (from) prof__state_unlock(from);
        if (to) prof__at_thread_exit();
        tls->hot = to ? &to->hot : &prof__nowhere;
        PROF__SIGNAL_FENCE();
        tls->generation = to ? on : 1;
        if (to) prof__take_lock(&to->lock);   /* to leave; the session may have ended */
    }
    prof__leave(tls);
    prof__cancel_back(cancel);
    return (void *)handle;
}

PROF__CALL uint64_t prof_thread_id(void) {
    prof__tls_data *tls = prof__tls_get();
    prof_platform p;
    memset(&p, 0, sizeof p);
    if (prof__enter(tls)) {
        bool on = tls->generation == PROF__LOAD(prof__on);
        uint64_t id = 0;
        if (on) id = prof__tls_state(tls)->row->info.id;
        prof__leave(tls);
        if (on) return id;
    }
    if (prof__lock_briefly()) {
        p = prof__session.desc.platform;
        prof__unlock();
    }
    return p.thread_id ? (p.thread_id)(p.user) : prof__os_thread_id();
}

/* ---- is it JSON? Each moves *at behind what it reads, or to where that is none ---- */

PROF__FN void prof__json_space(const char **at) { *at += strspn(*at, " \t\r\n"); }

/* Passes spaces, and then c. False: another character stands there. */
PROF__FN bool prof__json_sign(const char **at, char c) {
    prof__json_space(at);
    if (**at != c) return false;
    ++*at;
    return true;
}

PROF__FN bool prof__json_string(const char **at) {
    if (!prof__json_sign(at, '"')) return false;
    while (**at != '"') {
        size_t n = prof__utf8_length(*at);
        char escape = **at == '\\' ? (*at)[1] : 'n';
        if (!n || (unsigned char)**at < 0x20 || !escape) return false;
        if (escape == 'u' ? strspn(*at + 2, "0123456789abcdefABCDEF") < 4
                          : !strchr("\"\\/bfnrt", escape)) return false;
        *at += **at != '\\' ? n : escape == 'u' ? 6 : 2;
    }
    ++*at;
    return true;
}

PROF__FN bool prof__json_digits(const char **at) {
    size_t n = strspn(*at, "0123456789");
    *at += n;
    return n != 0;
}

PROF__FN bool prof__json_number(const char **at) {
    if (**at == '-') ++*at;
    if (**at == '0') ++*at;              /* no digit may follow */
    else if (!prof__json_digits(at)) return false;
    if (**at == '.') {
        ++*at;
        if (!prof__json_digits(at)) return false;
    }
    if (**at != 'e' && **at != 'E') return true;
    ++*at;
    if (**at == '+' || **at == '-') ++*at;
    return prof__json_digits(at);
}

/* One value with all that is in it, which may be nested 61 deep. */
PROF__FN bool prof__json_value(const char **at, int depth) {
    bool object = prof__json_sign(at, '{');
    char end = object ? '}' : ']';
    if (!object && !prof__json_sign(at, '[')) {
        size_t word = prof__begins(*at, "true") || prof__begins(*at, "null") ? 4
                    : prof__begins(*at, "false") ? 5 : 0;
        if (**at == '"') return prof__json_string(at);
        *at += word;
        return word || prof__json_number(at);
    }
    if (depth == 61) return false;
    if (prof__json_sign(at, end)) return true;
    do {
        if (object && !(prof__json_string(at) && prof__json_sign(at, ':'))) return false;
        if (!prof__json_value(at, depth + 1)) return false;
    } while (prof__json_sign(at, ','));
    return prof__json_sign(at, end);
}

/* NULL: s is JSON; else where it is not. */
PROF__FN const char *prof__json_check(const char *s) {
    return prof__json_value(&s, 0) && prof__json_sign(&s, 0) ? NULL : s;
}

/* Is s the members of an object, without its braces? */
PROF__FN bool prof__json_members(const char *s) {
    do {
        if (!prof__json_string(&s) || !prof__json_sign(&s, ':') || !prof__json_value(&s, 0))
            return false;
    } while (prof__json_sign(&s, ','));
    return !*s;
}

/* One `"key":value` of the members of an object. */
typedef struct prof__member { const char *key, *value; size_t key_size, value_size; } prof__member;

/* Reads the next member, after *at; false: there is none, or it is not JSON. */
PROF__FN bool prof__member_next(const char **at, prof__member *m) {
    const char *p = *at;
    (void)prof__json_sign(&p, ',');
    prof__json_space(&p);
    m->key = p;
    if (!prof__json_string(&p)) return false;
    m->key_size = (size_t)(p - m->key);
    if (!prof__json_sign(&p, ':')) return false;
    prof__json_space(&p);
    m->value = p;
    if (!prof__json_value(&p, 0)) return false;
    m->value_size = (size_t)(p - m->value);
    *at = p;
    return true;
}

/* ---- @SYMBOLS: addresses to names: what is mapped where, and the symbols of ELF files ----

   This room names the addresses that @FUNCTIONS and @NATIVE found, when a trace is read.
   - The files are the program's own, but not trusted: nonsense in them gives no name.
   - An address without a name is shown as a number. */

/* A return address, and where its text goes. entry: the text has the address of the function, not
   of the call, for one mark may compile to several calls. */
typedef struct prof__symbol { uintptr_t address; const char **text; bool entry; } prof__symbol;

/* The addresses to be named, sorted. Their texts are stored from high downwards, as far as low. */
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

/* Sets a text: `file(0x1234): name`, with the address in the file, as addr2line and objdump take
   it, of the call, or of the function, which is at begin. */
PROF__FN void prof__symbol_set(prof__symbols *n, uint32_t i, const char *name, uintptr_t begin) {
    const char *file = n->path;
    size_t length, size;
    char hex[20];
    for (const char *s = file; *s; s++)
        if (*s == '/' || *s == '\\') file = s + 1;
    if (i && n->list[i - 1].address == n->list[i].address) {
        *n->list[i].text = *n->list[i - 1].text;
        return;
    }
    *prof__text_hex(hex, (n->list[i].entry ? begin : n->list[i].address - 1) + n->shift) = 0;
    length = PROF__MIN(strlen(file), (size_t)32);
    size = length + strlen(hex) + strlen(name) + 5;
    if ((size_t)(n->high - n->low) < size) return;
    n->high -= size;
    (void)prof__text_f(n->high, size, "%b(%s): %s", file, length, hex, name);
    *n->list[i].text = n->high;
}

/* The number of the first in the list that is at address or past it. */
PROF__FN uint32_t prof__symbol_at(const prof__symbols *n, uintptr_t address) {
    uint32_t low = 0, high = n->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (n->list[middle].address < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

#define PROF__MAP_PATH 512u
#if defined(__linux__)
#  include <elf.h>
#  if UINTPTR_MAX > UINT32_MAX
#    define PROF__ELF(type) Elf64_##type
#  else
#    define PROF__ELF(type) Elf32_##type
#  endif

/* A line of /proc/self/maps. It is read only by calls that are safe in signal handlers. */
typedef struct prof__map {
    int file, cancel;
    size_t at, size;                     /* of what is in buf */
    uintptr_t low, high;
    bool code;                           /* it may be executed */
    uint64_t offset;                     /* of low in the file at path */
    char *path, buf[256];                /* zones read it, too: on little stack, without paths */
} prof__map;

/* path: room for PROF__MAP_PATH bytes, or NULL: it is passed over. */
PROF__FN bool prof__map_open(prof__map *m, char *path) {
    m->path = path;
    m->at = m->size = 0;
    m->cancel = prof__cancel_off();
    m->file = open("/proc/self/maps", O_RDONLY);
    if (m->file < 0) prof__cancel_back(m->cancel);
    return m->file >= 0;
}

PROF__FN void prof__map_close(prof__map *m) {
    close(m->file);
    prof__cancel_back(m->cancel);
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

/* `low-high rights offset device inode path`; false: there are no more. */
PROF__FN bool prof__map_next(prof__map *m) {
    uint64_t numbers[4] = { 0, 0, 0, 0 };   /* of these fields; the rights are none */
    uint32_t field = 0;
    size_t n = 0;
    int c;
    m->code = false;
    while ((c = prof__map_byte(m)) >= 0 && c != '\n') {
        if (field < 6 && (c == ' ' || (c == '-' && !field))) field++;
        else if (field < 4)
            numbers[field] = numbers[field] << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        else if (field == 6 && (n || c != ' ') && m->path && n + 1 < PROF__MAP_PATH)
            m->path[n++] = (char)c;
        if (field == 2 && c == 'x') m->code = true;
    }
    m->low = (uintptr_t)numbers[0];
    m->high = (uintptr_t)numbers[1];
    m->offset = numbers[3];
    if (m->path) m->path[n] = 0;
    return c == '\n';
}

typedef struct prof__elf {
    int file;
    PROF__ELF(Ehdr) head;
    PROF__ELF(Shdr) names;             /* of the symbols being read */
    PROF__ELF(Sym) source;             /* the source file of local symbols; no name: unknown */
    uintptr_t shift;                   /* from addresses in memory to those in the file */
} prof__elf;
typedef void (*prof__elf_visit)(void *user, prof__elf *f, const PROF__ELF(Sym) *symbol);

PROF__FN bool prof__elf_read(const prof__elf *f, uint64_t offset, void *to, size_t size) {
    return lseek(f->file, (off_t)offset, SEEK_SET) == (off_t)offset &&
           read(f->file, to, size) == (ssize_t)size;
}

PROF__FN bool prof__elf_open(prof__elf *f, const char *path) {
    f->file = open(path, O_RDONLY);
    if (f->file < 0) return false;
    if (prof__elf_read(f, 0, &f->head, sizeof f->head) &&
        memcmp(f->head.e_ident, ELFMAG, SELFMAG) == 0 &&
        f->head.e_shentsize == sizeof(PROF__ELF(Shdr)) &&
        f->head.e_phentsize == sizeof(PROF__ELF(Phdr))) return true;
    close(f->file);
    return false;
}

/* Visits all functions in the file's symbols. False: it was stripped, and exports only these. */
PROF__FN bool prof__elf_functions(prof__elf *f, prof__elf_visit visit, void *user) {
    PROF__ELF(Sym) list[16];             /* few: a dump is in a crash handler, on 8 KiB of stack */
    PROF__ELF(Shdr) section, symbols;
    uint64_t at, end, n;
    memset(&symbols, 0, sizeof symbols);
    memset(&f->source, 0, sizeof f->source);
    for (uint32_t i = 0; i < f->head.e_shnum && symbols.sh_type != SHT_SYMTAB; i++) {
        at = f->head.e_shoff + i * sizeof section;
        if (!prof__elf_read(f, at, &section, sizeof section)) return false;
        if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) symbols = section;
    }
    at = f->head.e_shoff + symbols.sh_link * sizeof f->names;
    if (!symbols.sh_type || !prof__elf_read(f, at, &f->names, sizeof f->names)) return false;
    at = symbols.sh_offset;
    for (end = at + symbols.sh_size; at < end; at += n * sizeof *list) {
        n = PROF__MIN((end - at) / sizeof *list, 16);
        if (!n || !prof__elf_read(f, at, list, (size_t)n * sizeof *list)) return false;
        for (uint64_t i = 0; i < n; i++) {
            if ((list[i].st_info & 15) == STT_FILE) f->source = list[i];
            if ((list[i].st_info & 15) == STT_FUNC && list[i].st_shndx != SHN_UNDEF)
                visit(user, f, list + i);
        }
    }
    return symbols.sh_type == SHT_SYMTAB;
}

/* The CRC-32 of a whole file. */
PROF__FN uint32_t prof__elf_crc(const prof__elf *f) {
    uint32_t table[16], crc = UINT32_MAX;
    unsigned char part[512];
    ssize_t n;
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int bit = 0; bit < 4; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    if (lseek(f->file, 0, SEEK_SET) != 0) return 0;
    while ((n = read(f->file, part, sizeof part)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            crc = crc >> 4 ^ table[(crc ^ part[i]) & 15];
            crc = crc >> 4 ^ table[(crc ^ part[i] >> 4) & 15];
        }
    return ~crc;
}

/* Reads the section .gnu_debuglink of a stripped file: another one's name, and *crc of it. */
PROF__FN bool prof__elf_debuglink(const prof__elf *f, char *name, size_t size, uint32_t *crc) {
    PROF__ELF(Shdr) names, s;
    uint64_t at = f->head.e_shoff + f->head.e_shstrndx * sizeof names;
    if (!prof__elf_read(f, at, &names, sizeof names)) return false;
    for (uint32_t i = 0; i < f->head.e_shnum; i++) {
        if (!prof__elf_read(f, f->head.e_shoff + i * sizeof s, &s, sizeof s)) return false;
        if (!prof__elf_read(f, names.sh_offset + s.sh_name, name, 15)) continue;
        if (memcmp(name, ".gnu_debuglink", 15) != 0 || s.sh_size < 8) continue;
        return prof__elf_read(f, s.sh_offset, name, PROF__MIN((size_t)s.sh_size, size)) &&
               prof__elf_read(f, s.sh_offset + s.sh_size - 4, crc, sizeof *crc) &&
               memchr(name, 0, PROF__MIN((size_t)s.sh_size, size)) && !strchr(name, '/');
    }
    return false;
}

/* prof__elf_functions of the file that a stripped one names: beside it, in .debug there, or under
   /usr/lib/debug. */
PROF__RARE void prof__elf_debug(const prof__elf *f, const char *path, prof__elf_visit visit,
                                void *user) {
    static const char *const folders[] = { "", "", "", ".debug/", "/usr/lib/debug", "" };
    char name[128], at[PROF__MAP_PATH + 160];
    const char *file = strrchr(path, '/');
    uint32_t crc;
    if (!file || !prof__elf_debuglink(f, name, sizeof name, &crc)) return;
    for (int i = 0; i < 6; i += 2) {
        prof__elf debug;
        bool same;
        strcpy(at, folders[i]);          /* prof__text_f takes 8 KiB of stack */
        strncat(at, path, (size_t)(file + 1 - path));
        strcat(at, folders[i + 1]);
        strcat(at, name);
        if (!prof__elf_open(&debug, at)) continue;
        same = prof__elf_crc(&debug) == crc;
        debug.shift = f->shift;
        if (same) (void)prof__elf_functions(&debug, visit, user);
        close(debug.file);
        if (same) return;
    }
}

/* Reads a symbol's name, cut to size; a copy that the compiler made (f.lto_priv.0, f.llvm.17) has
   the function's name. False: it has none. */
PROF__FN bool prof__elf_name(const prof__elf *f, const PROF__ELF(Sym) *symbol, char *name,
                             size_t size) {
    static const char *const clones[] = { ".constprop.", ".isra.", ".llvm.", ".localalias",
                                          ".lto_priv.", ".part." };
    off_t at = (off_t)(f->names.sh_offset + symbol->st_name);
    memset(name, 0, size);
    if (lseek(f->file, at, SEEK_SET) != at || read(f->file, name, size - 1) <= 0) return false;
    for (size_t i = 0; i < sizeof clones / sizeof *clones; i++) {
        char *clone = strstr(name, clones[i]);
        if (clone) *clone = '\0';
    }
    return name[0] != '\0';
}

PROF__FN void prof__symbol_visit(void *user, prof__elf *f, const PROF__ELF(Sym) *symbol) {
    prof__symbols *n = (prof__symbols *)user;
    uintptr_t begin = (uintptr_t)symbol->st_value - f->shift, size = (uintptr_t)symbol->st_size;
    uint32_t i = prof__symbol_at(n, begin + 1);
    char name[256];
    if (i >= n->end || n->list[i].address - 1 - begin >= size || *n->list[i].text) return;
    if (!prof__elf_name(f, symbol, name, sizeof name)) return;
    for (; i < n->end && n->list[i].address - 1 - begin < size; i++)
        if (!*n->list[i].text) prof__symbol_set(n, i, name, begin);
}

#ifdef __TINYC__                         /* its linker does not tell this */
static const char prof__image[1];
#else
extern const char prof__image[] __asm__("__ehdr_start");   /* the linker's: this program's image */
#endif

/* Opens the file of a mapping; if the program's own was replaced since it began, by /proc. */
PROF__FN bool prof__map_elf(const prof__map *m, prof__elf *f) {
    if (prof__elf_open(f, m->path)) return true;
    if (m->low - m->offset != (uintptr_t)prof__image || !prof__elf_open(f, "/proc/self/exe"))
        return false;
    if (memcmp(prof__image, &f->head, sizeof f->head) == 0) return true;
    close(f->file);
    return false;
}

/* Visits the functions of the file of a mapping, which an address is in. *shift: see prof__elf.
   False: it is no such file. */
PROF__FN bool prof__map_functions(const prof__map *m, uintptr_t address, uintptr_t *shift,
                                  prof__elf_visit visit, void *user) {
    uint64_t offset = m->offset + (address - m->low);
    bool known = false;
    prof__elf f;
    if (m->path[0] != '/' || !prof__map_elf(m, &f)) return false;
    for (uint32_t i = 0; i < f.head.e_phnum && !known; i++) {
        PROF__ELF(Phdr) g;
        if (!prof__elf_read(&f, f.head.e_phoff + i * sizeof g, &g, sizeof g)) break;
        known = g.p_type == PT_LOAD && offset >= g.p_offset && offset - g.p_offset < g.p_filesz;
        if (known) *shift = f.shift = (uintptr_t)(g.p_vaddr + (offset - g.p_offset)) - address;
    }
    if (known && !prof__elf_functions(&f, visit, user)) prof__elf_debug(&f, m->path, visit, user);
    close(f.file);
    return known;
}

PROF__FN void prof__symbols_name(prof__symbols *n) {
    char path[PROF__MAP_PATH];
    prof__map m;
    if (!prof__map_open(&m, path)) return;
    while (prof__map_next(&m)) {
        n->first = prof__symbol_at(n, m.low + 1);
        n->end = prof__symbol_at(n, m.high + 1);
        if (n->first == n->end) continue;
        n->path = m.path;
        n->shift = 0u - m.low;
        (void)prof__map_functions(&m, n->list[n->first].address - 1, &n->shift, prof__symbol_visit,
                                  n);
        for (uint32_t i = n->first; i < n->end; i++)
            if (!*n->list[i].text) prof__symbol_set(n, i, "??", n->list[i].address - 1);
    }
    prof__map_close(&m);
}
#else
/* Windows tells modules, but no names. */
PROF__FN void prof__symbols_name(prof__symbols *n) {
    for (uint32_t i = 0; i < n->count; i++) {
        uintptr_t at = n->list[i].address - 1, begin = at;
        const char *name = "??";
#  if defined(_WIN32)
        char path[1024] = "";
        wchar_t file[1024];
        prof__dll *module = NULL;   /* 6: by an address in it, which does not keep it */
        if (GetModuleHandleExW(6, (const wchar_t *)at, &module) &&
            GetModuleFileNameW(module, file, 1024)) prof__from_wide(path, sizeof path, file);
        n->shift = 0u - (uintptr_t)module;
        n->path = path;
#  else
        n->shift = 0;
        n->path = "";
#  endif
#  if defined(__APPLE__)
        Dl_info d;
        if (dladdr((const void *)at, &d)) {
            n->shift = 0u - (uintptr_t)d.dli_fbase;
            if (d.dli_fname) n->path = d.dli_fname;
            if (d.dli_sname) name = d.dli_sname;
            begin = (uintptr_t)d.dli_saddr;
        }
#  endif
        prof__symbol_set(n, i, name, begin);
    }
}
#endif

/* ---- @FUNCTIONS: every function a zone, by -finstrument-functions ----

   The compiler calls a hook at each function's begin and end; they push and pop by address.
   - A function's site is made once; its name is 0x... until symbols are read.
   - Functions that prof.h itself calls are no zones.
   - The program's dlclose is this room's (Linux): names are read before a library goes. A function
     that is there afterwards is another one, with a site of its own.
   - prof_start looks desc.exclude up once; begins and ends of these functions return at once. */

/* The number of a word in a list such as "trace, ring"; -1: it is not in it. */
PROF__FN int prof__word_in(const char *text, const char *words) {
    size_t n = strlen(text);
    for (int i = 0; *words; i++) {
        size_t word = strcspn(words, ",");
        if (word == n && strncmp(words, text, n) == 0) return i;
        words += word;
        words += strspn(words, ", ");
    }
    return -1;
}

#ifdef PROF_INSTRUMENT_FUNCTIONS
/* A function. Both words are its site, shifted by 8. While it is no zone asked is PROF__EXCLUDED or
   (id is PROF__NO_ROOM) the generation that last asked for a site; UINT32_MAX: none did. */
struct prof__instrumented {
    uintptr_t address;                   /* 0: free */
    uint32_t id, asked;
};
enum { PROF__EXCLUDED = 1 };             /* generations begin at 2 */
enum { PROF__FUNCTIONS = PROF_MAX_SITES * 2 };   /* a quarter stays free */
/* Written under the lock; threads look functions up without it: an address is written last. */
static struct prof__functions {
    uint32_t unnamed, refused;
    uint32_t foreign;                    /* how many stayed unnamed when symbols were read last */
    const char *file;                    /* the last source file that was copied */
    bool excludes;                       /* some functions are no zones */
    char path[PROF__MAP_PATH], name[1024];   /* of what is being read */
    struct prof__instrumented list[PROF__FUNCTIONS];
} prof__functions;

/* Where a function is in the list, unless another one was there first. */
PROF__INLINE struct prof__instrumented *prof__function_slot(uintptr_t address) {
    uint64_t slots = PROF__FUNCTIONS;
    return prof__functions.list + ((uint32_t)address * 2654435761u * slots >> 32);
}

/* The slot of the function at an address, or where there is none, a free one. */
PROF__FN struct prof__instrumented *prof__function_find(uintptr_t address) {
    struct prof__instrumented *f = prof__function_slot(address);
    uintptr_t there;
    while ((there = PROF__ACQUIRE(f->address)) != 0 && there != address)
        if (++f == prof__functions.list + PROF__FUNCTIONS) f = prof__functions.list;
    return f;
}

/* Fills the slot of a function, unless too many have no site already. Under the lock. */
PROF__FN uint32_t prof__function_add(struct prof__instrumented *f, uintptr_t address,
                                     uint32_t asked) {
    char name[24];
    prof_site site = { NULL, "", "", 0 };
    uint32_t id;
    *prof__text_hex(name, address) = 0;
    site.name = name;
    id = prof__site_add(&site, false) << 8;
    if (id > PROF__NO_LOCK) PROF__BUMP(prof__functions.unnamed, 1);
    else if (!f->address && prof__functions.refused == PROF_MAX_SITES / 2) return id;
    else if (!f->address) prof__functions.refused++;
    PROF__STORE(f->id, id);
    PROF__RELEASE(f->asked, id > PROF__NO_LOCK ? id : asked);
    PROF__RELEASE(f->address, address);
    return id;
}

/* The slow path of prof__function_site. */
PROF__FN uint32_t prof__function_ask(const prof__state *t, uintptr_t address) {
    struct prof__instrumented *f = prof__function_find(address);
    uint32_t id;
    if (PROF__ACQUIRE(f->address) == address && PROF__ACQUIRE(f->asked) == t->generation)
        return PROF__LOAD(f->id);
    if (prof__sites_full() && PROF__LOAD(prof__sites.others)) return PROF__NO_ROOM;
    if (!prof__lock_briefly()) return PROF__NO_LOCK;
    f = prof__function_find(address);
    id = f->id;
    if (id <= PROF__NO_LOCK) id = prof__function_add(f, address, t->generation);
    prof__unlock();
    return id;
}

/* Is this the slot of a function that is a zone? Sets *id to its site. */
PROF__INLINE bool prof__function_known(const struct prof__instrumented *f, uintptr_t address,
                                       uint32_t *id) {
    if (PROF__ACQUIRE(f->address) != address) return false;
    *id = PROF__LOAD(f->id);
    return PROF__LOAD(f->asked) == *id;
}

/* A function's site, shifted by 8, asked for once a generation; PROF__NO_...: why it has none. */
PROF__FN uint32_t prof__function_site(const prof__state *t, uintptr_t address) {
    uint32_t id;
    if (prof__function_known(prof__function_find(address), address, &id)) return id;
    return prof__function_ask(t, address);
}

/* Is the zone of frame f this function's? 0: is it any function's? */
PROF__INLINE bool prof__is_function(const prof__state *t, const prof__frame *f,
                                    uintptr_t function) {
    const prof__origin *o = prof__origin_of(t, f);
    return (function ? o->function == function : o->function > PROF__BY_SCOPE) &&
           prof__origin_fits(o, f);
}

/* How many zones are open up to the innermost one of this function, whose frame is *at; 0: it has
   none open. */
PROF__FN size_t prof__function_zones(const prof__state *t, uintptr_t function,
                                     const prof__frame **at) {
    const prof__frame *f = t->hot.top;
    const prof__deep *deep = t->deep.top;
    size_t n = PROF__LOAD(t->deep.open);
    for (; deep && !prof__is_function(t, &deep->frame, function); deep = deep->below) n--;
    while (!deep && f > t->hot.bottom && !prof__is_function(t, f - 1, function)) f--;
    *at = deep ? &deep->frame : f - 1;
    return f > t->hot.bottom ? (size_t)(f - t->frames) + n : 0;
}

#if PROF__LEAVES
/* A function begins: may longjmp have left the innermost one? */
PROF__INLINE bool prof__functions_left(const prof__state *t, prof__entry_frame here) {
    const prof__frame *f = t->hot.top;
    while (f > t->hot.bottom && !prof__is_function(t, f - 1, 0)) f--;
    return PROF__LOAD(t->deep.open) ||
           (f > t->hot.bottom && prof__is_over(prof__origin_of(t, f - 1), here));
}

/* Ends the functions that longjmp left, and all that is in them. */
PROF__FN void prof__functions_heal(prof__tls_data *tls, prof__state *t, prof__entry_frame here) {
    const prof__frame *f;
    size_t zones;
    if (!prof__enter(tls)) return;
    while (prof__is_open(t) && (zones = prof__function_zones(t, 0, &f)) != 0 &&
           prof__is_left(t, f, &here)) {
        t->skipped = 0;                  /* nor will begins that were dropped in it have an end */
        if (!prof__end_left(t, zones - 1)) break;
    }
    prof__leave(tls);
}
#else
#  define prof__functions_left(t, here) ((void)(t), (void)(here), false)
#  define prof__functions_heal(slot, t, here) ((void)0)
#endif

/* A function ends that may not be the innermost zone. Dropped begins end first, in any case; then
   the zones in its zone, which longjmp left. False: this session has no zone of it, so that its
   end must end nothing. Where no zone is open it began before the session, as main does that calls
   prof_start: no fault. */
PROF__FN bool prof__function_heal(prof__tls_data *tls, prof__state *t, uintptr_t function) {
    const prof__frame *f;
    size_t zones;
    if (!t->skipped && t->hot.top <= t->hot.bottom)
        return t->hot.bottom > t->frames || *prof__skipped_here(tls);
    if (t->skipped || !prof__enter(tls)) return true;
    zones = prof__is_open(t) ? prof__function_zones(t, function, &f) : 0;
    if (zones) (void)prof__end_left(t, zones);
    else PROF__BUMP(t->counts.unbalanced, 1);
    prof__leave(tls);
    return zones != 0;
}

/* ---- what the compiler calls ---- */

/* Unless now is 0, functions that this thread enters are no zones. Returns the value before. */
PROF__FN uint32_t prof__inside(uint32_t now) {
    prof__tls_data *tls = prof__tls_get();
    uint32_t before = tls->inside;
    tls->inside = now;
    return before;
}

/* Before a call of the user's function: what a hook or a slow path calls is no zone. */
PROF__FN uint32_t prof__inside_users(void) {
    const prof__tls_data *tls = prof__tls_get();
    return prof__inside(tls->busy || tls->inside ? (uint32_t)PROF__USERS : 0);
}

#if PROF__LEAVES
/* A function begins while this thread is in a hook: did siglongjmp leave that, and the innermost
   function with it? */
PROF__FN bool prof__hook_left(prof__tls_data *tls, prof__entry_frame here) {
    prof__state *t = prof__tls_state(tls);
    const prof__frame *f;
    if (tls->busy || tls->inside != PROF__HOOK || tls->hot == &prof__nowhere) return false;
    return prof__functions_left(t, here) && prof__function_zones(t, 0, &f) &&
           prof__is_left(t, f, &here);
}
#else
#  define prof__hook_left(tls, here) ((void)(here), false)
#endif

/* Is this thread in a hook, or in the slow path? The two words are read as one, and so written by
   who is in neither: a CPU waits where it reads more than it has just written. */
PROF__INLINE bool prof__is_inside(const prof__tls_data *tls) {
    uint64_t both;
    memcpy(&both, (const char *)tls + offsetof(prof__tls_data, inside), sizeof both);
    return both != 0;
}

PROF__INLINE void prof__inside_set(prof__tls_data *tls, uint32_t inside) {
    const uint32_t both[2] = { inside, 0 };
    memcpy((char *)tls + offsetof(prof__tls_data, inside), both, sizeof both);
}

PROF__INLINE bool prof__is_excluded(uintptr_t function) {
    return PROF__UNLIKELY(PROF__LOAD(prof__functions.excludes)) &&
           PROF__LOAD(prof__function_find(function)->asked) == PROF__EXCLUDED;
}

/* Is the zone that is to end now this function's? */
PROF__FN bool prof__function_ends(prof__tls_data *tls, uintptr_t function) {
    prof__state *t;
    if (tls->generation != PROF__LOAD(prof__on))
        return tls->hot != &prof__nowhere || tls->stale || *prof__skipped_here(tls);
    t = prof__tls_state(tls);
    return (!t->skipped && !PROF__LOAD(t->deep.open) && t->hot.top > t->hot.bottom &&
            prof__is_function(t, t->hot.top - 1, function)) ||
           prof__function_heal(tls, t, function);
}

/* Begins the zone of a function, whatever it takes. */
PROF__FN void prof__function_begin(uintptr_t function, const void *returns, const void *frame,
                                   uintptr_t stack) {
    prof__tls_data *tls = prof__tls_get();
    prof__entry_frame here = { returns, frame, stack, function };
    prof__state *t = prof__is_excluded(function) ? NULL : prof__state_here(tls, false);
    prof__frame *opened = NULL;
    uint32_t site;
    if (t && prof__functions_left(t, here)) prof__functions_heal(tls, t, here);
    site = t ? prof__function_site(t, function) : 0;
#if PROF__FAST
    if (site > PROF__NO_LOCK) opened = prof__frame_open(&t->hot, site);
#endif
    if (t && !opened) opened = prof__begin_site(site, false, here);
    if (opened) prof__origin_set(prof__origin_of(t, opened - 1), opened - 1, here);
    tls->inside = 0;
}

/* A function in a hook or a slow path: one of a signal handler, which is dropped, or of the user's
   that prof.h calls. But it begins where siglongjmp left the hook. */
PROF__FN void prof__function_inside(uintptr_t function, const void *returns, const void *frame,
                                    uintptr_t stack) {
    prof__tls_data *tls = prof__tls_get();
    prof__entry_frame here = { returns, frame, stack, function };
    if (prof__hook_left(tls, here)) prof__function_begin(function, returns, frame, stack);
    else if (PROF__OWN_CLOCK && tls->inside != PROF__USERS && PROF__LOAD(prof__on))
        PROF__COUNT(prof__loose.dropped_busy);
}

/* Ends it: first what longjmp left in it. */
PROF__FN void prof__function_end(uintptr_t function) {
    prof__tls_data *tls = prof__tls_get();
    if (!PROF__LOAD(prof__on) || prof__is_excluded(function)) return;
    tls->inside = PROF__HOOK;
    if (prof__function_ends(tls, function)) prof__end_top_inline();
    tls->inside = 0;
}
PROF__COLD_END

/* prof__origin_of a frame of the state, by one addition: most have two frames' size. */
PROF__INLINE prof__origin *prof__origin_at(const prof__state *t, const prof__frame *f) {
    if (sizeof(prof__origin) != 2 * sizeof *f) return prof__origin_of(t, f);
    return (prof__origin *)(t->origins_less + 2 * (uintptr_t)f);
}

#if PROF__FAST
/* The two as most functions begin and end: the site is known, and the innermost zone is a
   function's, which longjmp did not leave. False: nothing was done. While deep zones are open, or
   begins were dropped, last is 0. */
PROF__INLINE bool prof__function_began(prof__tls_data *tls, uintptr_t function,
                                       prof__entry_frame here) {
    prof__state *t;
    prof__frame *f;
    prof__origin *o;
    uint32_t site;
    if (PROF__UNLIKELY(tls->generation != PROF__LOAD(prof__on))) return false;
    if (!prof__function_known(prof__function_slot(function), function, &site)) return false;
    t = prof__tls_state(tls);
    f = t->hot.top;
    o = prof__origin_at(t, f);
    here.function = function;
    if (f > t->hot.bottom && (!prof__origin_fits(o - 1, f - 1) || prof__is_over(o - 1, here)))
        return false;
    if (!prof__frame_open(&t->hot, site)) return false;
    prof__origin_set(o, f, here);
    return true;
}

PROF__INLINE bool prof__function_ended(prof__tls_data *tls, uintptr_t function) {
    const prof__state *t = prof__tls_state(tls);
    const prof__origin *o;
    prof__frame *top = t->hot.top;
    if (top <= t->hot.bottom) return false;   /* as in prof__nowhere */
    o = prof__origin_at(t, top) - 1;
    return o->function == function && prof__origin_fits(o, top - 1) && prof__frame_close(top);
}
#else
#  define prof__function_began(tls, function, here) ((void)(here), false)
#  define prof__function_ended(tls, function) false
#endif

void __cyg_profile_func_enter(void *function, void *caller) PROF__ENTRY;
void __cyg_profile_func_exit(void *function, void *caller) PROF__QUIET;

void __cyg_profile_func_enter(void *function, void *caller) {
    prof__tls_data *tls = prof__tls_get();
    (void)caller;
    if (PROF__UNLIKELY(prof__is_inside(tls))) {
        prof__entry_frame here = PROF__ENTRY_FRAME();
        prof__function_inside((uintptr_t)function, here.returns, here.frame, here.stack);
        return;
    }
    prof__inside_set(tls, PROF__HOOK);
    PROF__SIGNAL_FENCE();
    if (PROF__LIKELY(prof__function_began(tls, (uintptr_t)function, PROF__ENTRY_FRAME())) ||
        !PROF__LOAD(prof__on)) {
        PROF__SIGNAL_FENCE();
        prof__inside_set(tls, 0);
    } else {
        prof__entry_frame here = PROF__ENTRY_FRAME();
        prof__function_begin((uintptr_t)function, here.returns, here.frame, here.stack);
    }
}

void __cyg_profile_func_exit(void *function, void *caller) {
    prof__tls_data *tls = prof__tls_get();
    (void)caller;
    if (!prof__is_inside(tls) && !prof__function_ended(tls, (uintptr_t)function))
        prof__function_end((uintptr_t)function);
}
PROF__COLD_BEGIN

#if defined(__linux__)
/* Names a function that has none yet. False: there is no room for its name. */
PROF__FN bool prof__function_call(const struct prof__instrumented *f, const char *name) {
    const char *copy = prof__site_copy(name, NULL);
    if (copy) PROF__RELEASE(prof__sites.list[f->id >> 8].name, copy);   /* observers may read it */
    if (copy) PROF__BUMP(prof__functions.unnamed, -1u);
    return copy != NULL;
}

/* Names a function that has no name yet. A name that is cut ends with its address, to be unique.
   Symbols have the source file of static functions only. Under the lock. */
PROF__FN void prof__function_visit(void *user, prof__elf *elf, const PROF__ELF(Sym) *symbol) {
    uintptr_t address = (uintptr_t)symbol->st_value - elf->shift;
    struct prof__instrumented *f = prof__function_find(address);
    const char *known = f->address ? prof__sites.list[f->id >> 8].name : "", *copy;
    char *name = prof__functions.name;
    const size_t size = sizeof prof__functions.name;
    (void)user;
    if (known[0] != '0' || !prof__elf_name(elf, symbol, name, size)) return;
    if (strlen(name) == size - 1) *prof__text_hex(name + size - 20, address) = 0;
    if (!prof__function_call(f, name)) return;
    if (symbol->st_info >> 4 != STB_LOCAL || !elf->source.st_name ||
        !prof__elf_name(elf, &elf->source, name, size) || *name == '<') return;
    copy = prof__site_copy(name, prof__functions.file);   /* mostly that of the one before */
    if (copy) prof__sites.list[f->id >> 8].file = prof__functions.file = copy;
}

/* A function in this range that has no name yet; 0: there is none. */
PROF__FN uintptr_t prof__function_within(uintptr_t low, uintptr_t high) {
    for (uint32_t i = 0; i < PROF__FUNCTIONS; i++) {
        const struct prof__instrumented *f = prof__functions.list + i;
        if (f->address >= low && f->address < high && f->id > PROF__NO_LOCK &&
            prof__sites.list[f->id >> 8].name[0] == '0') return f->address;
    }
    return 0;
}

/* Names functions that have no symbol: `file+0x1234`, the same in each run. */
PROF__FN void prof__functions_offset(const prof__map *m, uintptr_t shift) {
    const char *file = strrchr(m->path, '/') + 1;
    size_t size = PROF__MIN(strlen(file), 100u);
    uintptr_t address;
    while ((address = prof__function_within(m->low, m->high)) != 0) {
        char name[128];
        memcpy(name, file, size);
        name[size] = '+';
        *prof__text_hex(name + size + 1, address + shift) = 0;
        if (!prof__function_call(prof__function_find(address), name)) return;
    }
}
#endif

/* Names functions from the symbols of the files that are mapped. Under the lock. */
PROF__FN void prof__functions_name(void) {
#if defined(__linux__)
    prof__map m;
    if (prof__functions.unnamed == prof__functions.foreign ||
        !prof__map_open(&m, prof__functions.path)) return;
    while (prof__functions.unnamed && prof__map_next(&m)) {
        uintptr_t address = prof__function_within(m.low, m.high), shift;
        if (address && prof__map_functions(&m, address, &shift, prof__function_visit, NULL))
            prof__functions_offset(&m, shift);
    }
    prof__map_close(&m);
    PROF__STORE(prof__functions.foreign, prof__functions.unnamed);
#endif
}

#if defined(__linux__)
/* Takes their sites from functions whose code has gone: others may be there next. */
PROF__FN void prof__functions_forget(void) {
    uintptr_t from = 0;
    bool more = true;
    prof__map m;
    if (!prof__map_open(&m, NULL)) return;
    prof__lock();
    while (more) {
        more = prof__map_next(&m);
        if (more && !m.code) continue;
        for (uint32_t i = 0; i < PROF__FUNCTIONS; i++) {
            struct prof__instrumented *f = prof__functions.list + i;
            if (f->address < from || f->address >= (more ? m.low : UINTPTR_MAX)) continue;
            PROF__STORE(f->asked, UINT32_MAX);
            PROF__STORE(f->id, (uint32_t)PROF__NO_ROOM);
        }
        from = m.high;
    }
    prof__unlock();
    prof__map_close(&m);
}

/* Excludes a function that is named. It needs no site, only a slot in the list. */
PROF__FN void prof__exclude_visit(void *user, prof__elf *elf, const PROF__ELF(Sym) *symbol) {
    uintptr_t address = (uintptr_t)symbol->st_value - elf->shift;
    struct prof__instrumented *f;
    if (!prof__elf_name(elf, symbol, prof__functions.name, sizeof prof__functions.name) ||
        prof__word_in(prof__functions.name, (const char *)user) < 0) return;
    f = prof__function_find(address);
    if (!f->address && prof__functions.refused == PROF_MAX_SITES / 2) return;
    if (!f->address) prof__functions.refused++;
    PROF__STORE(f->asked, (uint32_t)PROF__EXCLUDED);
    PROF__RELEASE(f->address, address);
    PROF__STORE(prof__functions.excludes, true);
}
#endif

/* A session begins: excludes the functions of desc.exclude, and no others. False: names cannot be
   read here. Under the lock. */
PROF__FN bool prof__functions_exclude(const char *names) {
    struct prof__instrumented *f = prof__functions.list;
    for (uint32_t i = 0; prof__functions.excludes && i < PROF__FUNCTIONS; i++, f++)
        if (f->asked == PROF__EXCLUDED) PROF__STORE(f->asked, f->id ? f->id : UINT32_MAX);
    PROF__STORE(prof__functions.excludes, false);
#if defined(__linux__)
    void *list = (void *)(uintptr_t)names;
    char path[PROF__MAP_PATH];
    uintptr_t shift;
    prof__map m;
    if (!names) return true;
    if (!prof__map_open(&m, path)) return false;
    while (prof__map_next(&m))
        if (!m.offset) (void)prof__map_functions(&m, m.low, &shift, prof__exclude_visit, list);
    prof__map_close(&m);
    return true;
#else
    return !names;
#endif
}

/* Is a zone of this name a function that the compiler instrumented? */
PROF__FN bool prof__is_function_name(const char *name) {
    for (uint32_t i = 0; i < PROF__FUNCTIONS; i++) {
        const struct prof__instrumented *f = prof__functions.list + i;
        if (PROF__ACQUIRE(f->address) && PROF__LOAD(f->id) > PROF__NO_LOCK &&
            strcmp(prof__site(f->id >> 8)->name, name) == 0) return true;
    }
    return false;
}

/* Names new functions before a stream or a dump writes their sites. A dump may be in a signal
   handler: it does not wait for ever, and keeps the addresses. */
PROF__FN void prof__functions_name_new(void) {
    if (PROF__LOAD(prof__functions.unnamed) == PROF__LOAD(prof__functions.foreign)) return;
    if (!prof__lock_briefly()) return;
    prof__functions_name();
    prof__unlock();
}

#if defined(__linux__) && !defined(PROF_STATIC)
/* What programs call as dlclose: the functions of a library get their names before it goes. */
int prof__dlclose(void *library) __asm__("dlclose") __attribute__((weak)) PROF__QUIET;
int prof__dlclose(void *library) {
    void *found = dlsym ? dlsym((void *)~(uintptr_t)0 /* RTLD_NEXT */, "dlclose") : NULL;
    int (*next)(void *), result;
    if (!found) return -1;
    memcpy(&next, &found, sizeof next);
    prof__functions_name_new();
    result = (next)(library);
    prof__functions_forget();
    return result;
}
#endif
#else
#  define prof__functions_name() ((void)0)
#  define prof__functions_name_new() ((void)0)
#  define prof__functions_exclude(names) (!(names))
#  define prof__is_function_name(name) ((void)(name), false)
#endif

/* ---- @NATIVE: the native call stack of each zone, each distinct one kept once ----

   Stacks are read at a zone's begin, by frame pointers or by the system's unwinder; they are
   numbered, and named when a trace is read.
   - By frame pointers only the thread's own stack is read, within the bounds that the system tells.
   - Each distinct stack is kept once, and keeps its number while the session lasts. */

#define PROF__NATIVE_MOST 64             /* frames of a stack, the innermost ones */

/* A call stack: return addresses, innermost first, and their texts once they are known. */
typedef struct prof__trail {
    uint32_t hash, count;
    bool named;
    const char **texts;
    uintptr_t *addresses;
} prof__trail;

/* The session's stacks, by number less 1. In the arena, made with the first one. Under the lock. */
static struct prof__trails {
    prof__trail **list;
    uint32_t *index;                     /* 2 * capacity slots */
    uint32_t count, capacity;
} prof__trails;

PROF__FN bool prof__trail_same(const void *trail, uint32_t number) {
    const prof__trail *a = (const prof__trail *)trail, *b = prof__trails.list[number];
    return a->hash == b->hash && a->count == b->count &&
           memcmp(a->addresses, b->addresses, a->count * sizeof *a->addresses) == 0;
}

/* The number of a stack, from 1; 0: there is no room for it. Under the lock. */
PROF__FN uint32_t prof__trail_add(const prof__trail *k) {
    size_t most = PROF__MIN((size_t)(prof__arena.end - prof__arena.base) / 2048 + 16, 65536u);
    size_t bytes = most * (sizeof(prof__trail *) + 2 * sizeof(uint32_t));
    uint32_t *slot;
    prof__trail *r;
    if (!prof__trails.list) {
        prof__trail **list = (prof__trail **)prof__take(bytes, 0);
        if (!list) return 0;
        memset(list, 0, bytes);
        prof__trails.list = list;
        prof__trails.index = (uint32_t *)(void *)(list + most);
        prof__trails.capacity = (uint32_t)most;
    }
    slot = prof__slot_find(prof__trails.index, 2 * prof__trails.capacity, k->hash,
                           prof__trail_same, k);
    if (*slot || prof__trails.count == prof__trails.capacity) return *slot;
    r = (prof__trail *)prof__take(sizeof *r + k->count * (sizeof *r->texts + sizeof *r->addresses),
                                  0);
    if (!r) return 0;
    *r = *k;
    r->texts = (const char **)(void *)(r + 1);
    r->addresses = (uintptr_t *)(void *)(r->texts + k->count);
    memset(r->texts, 0, k->count * sizeof *r->texts);
    memcpy(r->addresses, k->addresses, k->count * sizeof *k->addresses);
    prof__trails.list[prof__trails.count] = r;
    return *slot = ++prof__trails.count;
}

#if defined(__aarch64__)
#  define PROF__CODE(address) ((uintptr_t)(address) & 0xffffffffffffu)   /* without a signature */
#else
#  define PROF__CODE(address) ((uintptr_t)(address))
#endif
#if PROF__FRAMES
/* The memory that holds this part of the stack, so that nothing past it is read; else nothing. */
PROF__FN prof__bounds prof__stack_find(uintptr_t at) {
    prof__bounds found = { 1, 1 };
#  if defined(__APPLE__)
    uintptr_t high = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    uintptr_t low = high - pthread_get_stacksize_np(pthread_self());
    if (at >= low && at < high) found.low = low, found.high = high;
#  else
    prof__map m;
    if (!prof__map_open(&m, NULL)) return found;
    while (prof__map_next(&m))
        if (at >= m.low && at < m.high) {
            found.low = m.low;
            found.high = m.high;
        }
    prof__map_close(&m);
#  endif
    return found;
}

#  if PROF__LEAVES
/* The calling thread's own stack, if `at` is in it; else nothing. The main thread's lies below what
   the kernel put there, with nothing else near; another's ends where the C library keeps what it
   knows of the thread. */
PROF__FN prof__bounds prof__stack_own(uintptr_t at) {
#    if defined(__linux__)
    uintptr_t kernel = (uintptr_t)getauxval(25 /* AT_RANDOM */), self = (uintptr_t)pthread_self();
    prof__bounds found = { kernel - ((uintptr_t)8 << 20), kernel };
    if (at >= found.low && at < kernel) return found;
    found = prof__stack_find(at);
    if (self > at && self < found.high) found.high = self;
    else found.low = found.high = 1;
    return found;
#    else
    return prof__stack_find(at);
#    endif
}
#  endif

/* Reads frame after frame, outwards; checks each: the register may hold anything. */
__attribute__((no_sanitize("address", "thread")))
PROF__FN uint32_t prof__native_frames(prof__state *t, prof__entry_frame entry, uintptr_t *to) {
    uintptr_t last = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)entry.frame;
    uint32_t n = 0;
    to[n++] = PROF__CODE(entry.returns);
    if (last < t->stack.low || last >= t->stack.high) {
        t->stack = prof__stack_find(last);
        t->own = false;
    }
    while (n < PROF__NATIVE_MOST && at > last && at < t->stack.high && !(at % sizeof at) &&
           t->stack.high - at >= 2 * sizeof at) {
        const uintptr_t *frame = (const uintptr_t *)at;
        if (PROF__CODE(frame[1]) < 4096) break;
        to[n++] = PROF__CODE(frame[1]);
        last = at;
        at = frame[0];
    }
    return n;
}
#else
#  define prof__native_frames(t, entry, to) 0u
#endif

#if defined(_WIN32)
PROF__FN uint32_t prof__unwind(void **to, uint32_t most) {
    return RtlCaptureStackBackTrace(0, most, to, NULL);
}
#  define PROF__UNWINDS true
#elif defined(__GNUC__) && !defined(__TINYC__) && (defined(__linux__) || defined(__APPLE__))
/* The C library's backtrace(), if it has one, under a name that cannot clash with a program's. */
extern int prof__backtrace(void **to, int most)
    __asm__(PROF__TEXT(__USER_LABEL_PREFIX__) "backtrace") __attribute__((weak));
PROF__FN uint32_t prof__unwind(void **to, uint32_t most) {
    int n = prof__backtrace(to, (int)most);
    return n < 0 ? 0 : (uint32_t)n;
}
#  define PROF__UNWINDS (prof__backtrace != NULL)
#else
#  define prof__unwind(to, most) ((void)(to), 0u)
#  define PROF__UNWINDS false
#endif

/* The unwinder also finds the profiler's own frames: the caller's begin with entry.returns. */
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

/* Records the call stack of the zone that frame f will hold. The caller has made room. */
PROF__FN void prof__native_begin(prof__state *t, prof__frame *f, prof__entry_frame entry) {
    uintptr_t addresses[PROF__NATIVE_MOST];
    prof__trail key = { 2166136261u, 0, false, NULL, addresses };
    prof__long l;
    uint32_t number = 0;
    key.count = prof__session.desc.with_stack == PROF_STACK_FRAMES
                    ? prof__native_frames(t, entry, addresses)
                    : prof__native_unwind(entry, addresses);
    for (uint32_t i = 0; i < key.count; i++)
        key.hash = (key.hash ^ (uint32_t)addresses[i] ^ (uint32_t)((uint64_t)addresses[i] >> 32)) *
                   16777619u;
    if (key.count && prof__lock_briefly()) {
        if (PROF__LOAD(prof__on) == t->generation) number = prof__trail_add(&key);
        prof__unlock();
    }
    if (!number) {
        PROF__COUNT(prof__loose.not_kept);
        return;
    }
    prof__attribute_in(&l, t, f);
    prof__attribute_close(&l, PROF__NATIVE, 0, number);
}

/* NULL: call stacks can be read in this way; else why not. It reads one, because the unwinder may
   have to load a library the first time. */
PROF__FN const char *prof__native_check(prof_stack how) {
    void *some[4];
    if (how <= PROF_STACK_ZONES) return NULL;
    if (how == PROF_STACK_FRAMES)
        return PROF__FRAMES ? NULL : "prof_desc.with_stack is PROF_STACK_FRAMES: no frame pointers "
                                     "on this system; try PROF_STACK_UNWIND";
    if (!PROF__UNWINDS)
        return "prof_desc.with_stack is PROF_STACK_UNWIND: the C library has no backtrace(); try "
               "PROF_STACK_FRAMES";
    return prof__unwind(some, 4) ? NULL
         : "prof_desc.with_stack is PROF_STACK_UNWIND: the unwinder finds nothing";
}

/* ---- the stacks of a trace's events ---- */

/* The event's extra, if its stack is none of zones. */
PROF__FN const prof_extra *prof__stack_of(const prof_event *e) {
    const prof_extra *x = e->extra;
    return x && x->stack_count && !(x->has & PROF__HAS_PATH) ? x : NULL;
}

/* How many frames, native ones or the program's own, an event has beyond those of its parent's
   stack, counted from the outermost. The parent's innermost native address has gone on; without its
   other ones a native stack is broken, and shows none. */
PROF__FN uint32_t prof__frames_of(const struct prof_trace *s, const prof_event *e) {
    const prof_extra *x = prof__stack_of(e), *up;
    uint32_t n, left;
    bool native;
    if (!x) return 0;
    up = e->parent == PROF_NONE ? NULL : prof__stack_of(s->events + e->parent);
    native = x->has & PROF__HAS_NATIVE;
    if (!up || (!native && up->has & PROF__HAS_NATIVE)) return x->stack_count;
    for (n = x->stack_count, left = up->stack_count; n && left; n--, left--)
        if (strcmp(prof__text(x->stack[n - 1]), prof__text(up->stack[left - 1])) != 0) break;
    if (!native) return n;
    return left > 1 || n < left ? 0 : n - left;
}

/* An entry of a stack; of a native one `file(line): function` the function, where it is known. */
PROF__FN const char *prof__frame_text(const prof_extra *x, uint32_t i) {
    const char *entry = prof__text(x->stack[i]);
    const char *name = x->has & PROF__HAS_NATIVE ? strstr(entry, "): ") : NULL;
    return name && strcmp(name, "): ??") != 0 ? name + 3 : entry;
}

PROF__FN bool prof__same_frames(const struct prof_trace *s, const prof_event *a,
                                const prof_event *b) {
    uint32_t n;
    if (!a->extra && !b->extra) return true;
    n = prof__frames_of(s, a);
    if (n != prof__frames_of(s, b)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(prof__frame_text(a->extra, i), prof__frame_text(b->extra, i)) != 0)
            return false;
    return true;
}

/* ---- @COUNTERS: what the hardware, the kernel and the program count in each zone ----

   Each thread has counters of its own, read at each begin and end: those of the system by read(2),
   then what prof_add has added up.
   - Where a counter cannot be opened prof_start fails, and tells why.
   - A zone's counts include its children's; @NEST takes those off. */

/* Written when a session opens; opened by threads, atomically. */
static struct prof__counting {
    uint64_t opened;                     /* groups of counters, so far */
    uint32_t count;                      /* counters; 0: none */
    uint32_t numbers;                    /* the last ones of them, by prof_add */
    uint32_t serial;                     /* the number of the last session with counters */
    char names[PROF_COUNTERS][32];
    uint32_t type[PROF_COUNTERS];
    uint64_t config[PROF_COUNTERS];
} prof__counting;

#if defined(__linux__) && defined(__GNUC__) && !defined(__TINYC__) && defined(__has_include)
#  if __has_include(<linux/perf_event.h>) && defined(SYS_perf_event_open)
#    define PROF__PERF 1
#  endif
#endif
#ifdef PROF__PERF
#  include <linux/perf_event.h>

/* A thread's open counters, a file each. */
static __thread struct prof__perf_group {
    uint32_t serial, count, refused;     /* serial: of the session for which they were opened */
    uint64_t number;                     /* of this opening, for all threads; 0: closed */
    int file[PROF_COUNTERS];
} prof__perf;

/* A counter's type and config, as perf_event_open takes them, by its name; false: not known.
   Misses of a cache are config 0x10000 and the cache's number. */
PROF__FN bool prof__counter_parse(const char *name, uint32_t *type, uint64_t *config) {
    static const struct { char name[24]; uint32_t type, config; } list[] = {
        { "cycles", 0, 0 }, { "cpu-cycles", 0, 0 }, { "instructions", 0, 1 },
        { "cache-references", 0, 2 }, { "cache-misses", 0, 3 }, { "branches", 0, 4 },
        { "branch-instructions", 0, 4 }, { "branch-misses", 0, 5 }, { "bus-cycles", 0, 6 },
        { "stalled-cycles-frontend", 0, 7 }, { "stalled-cycles-backend", 0, 8 },
        { "ref-cycles", 0, 9 }, { "cpu-clock", 1, 0 }, { "task-clock", 1, 1 },
        { "page-faults", 1, 2 }, { "context-switches", 1, 3 }, { "cpu-migrations", 1, 4 },
        { "minor-faults", 1, 5 }, { "major-faults", 1, 6 }, { "L1-dcache-loads", 3, 0 },
        { "L1-dcache-load-misses", 3, 0x10000 }, { "LLC-loads", 3, 2 },
        { "LLC-load-misses", 3, 0x10002 }, { "dTLB-load-misses", 3, 0x10003 },
        { "iTLB-load-misses", 3, 0x10004 } };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        *type = list[i].type;
        *config = list[i].config;
        if (strcmp(name, list[i].name) == 0) return true;
    }
    *type = PERF_TYPE_RAW;
    *config = strtoull(name + 1, NULL, 16);
    return name[0] == 'r' && name[1] && strlen(name) <= 17 &&
           !name[1 + strspn(name + 1, "0123456789abcdef")];
}

/* Opens a counter; -1: errno says why. Events of the kernel alone count only where they may be
   seen. The counters form no perf group: for software ones kernels have returned old values. */
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
    int cancel = prof__cancel_off();
    prof__perf.count = 0;
    prof__perf.number = 0;
    PROF__SIGNAL_FENCE();                /* a signal handler's zone reads no closed file */
    for (uint32_t i = 0; i < count; i++) close(prof__perf.file[i]);
    memset(&prof__perf, 0, sizeof prof__perf);
    prof__cancel_back(cancel);
}

/* Opens the calling thread's counters for this session. After a failure it does not try again. */
PROF__FN bool prof__perf_open(void) {
    uint32_t serial = prof__counting.serial;
    if (prof__perf.serial == serial) return prof__perf.number != 0;
    prof__perf_close();
    for (uint32_t i = 0; i < prof__counting.count - prof__counting.numbers; i++) {
        prof__perf.file[i] = prof__perf_open_one(i);
        if (prof__perf.file[i] < 0) {
            int error = errno;
            prof__perf_close();
            prof__perf.serial = serial;
            prof__perf.refused = i;
            errno = error;
            return false;
        }
        prof__perf.count++;
    }
    prof__perf.serial = serial;
    prof__perf.number = __atomic_add_fetch(&prof__counting.opened, 1, __ATOMIC_RELAXED);
    return true;
}

PROF__FN const char *prof__perf_refusal(int error) {
    if (error == EACCES || error == EPERM)
        return ": not allowed (see /proc/sys/kernel/perf_event_paranoid)";
    if (error == EINVAL || error == ENOSPC) return ": does not fit beside the others";
    if (error == EMFILE || error == ENFILE) return ": too many open files";
    if (error == ENOSYS) return ": this kernel has no perf events";
    return ": this machine does not count it";
}

/* Opens all counters on this thread, as a test. NULL: well; else why not, of the last one. */
PROF__FN const char *prof__counters_test(void) {
    prof__counting.serial++;
    if (!prof__perf_open()) {
        prof__counting.count = prof__perf.refused + 1;
        return prof__perf_refusal(errno);
    }
    PROF__STORE(prof__recorder.thread_leaves, &prof__perf_close);
    return NULL;
}
#else
#  define prof__counter_parse(name, type, config) false
#  define prof__counters_test() NULL
#endif

/* Adds a list of names: of counters, or of numbers. NULL: well; else why not, of the last one. */
PROF__FN const char *prof__counters_take(const char *list, bool numbers) {
    struct prof__counting *c = &prof__counting;
    for (;; list++) {
        bool full = c->count == PROF_COUNTERS;
        uint32_t i = c->count - full;
        size_t n = strcspn(list, ",");
        (void)prof__text_f(c->names[i], sizeof c->names[i], "%b", list, n);
        if (full) return ": counters and numbers are four at most";
        PROF__STORE(c->count, c->count + 1);
        if (!n || n >= sizeof c->names[i]) return ": a name is empty, or has over 31 bytes";
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(c->names[i], c->names[k]) == 0) return ": it is there twice";
        if (!numbers && !prof__counter_parse(c->names[i], c->type + i, c->config + i))
            return ": not known here (see prof_hw_counter_name)";
        PROF__STORE(c->numbers, c->numbers + numbers);
        list += n;
        if (!*list) return NULL;
    }
}

/* Prepares what desc counts. NULL: well; else why not. */
PROF__FN const char *prof__counters_start(const prof_desc *d) {
    struct prof__counting *c = &prof__counting;
    const char *why = NULL, *field = "hw_counters";
    PROF__STORE(c->count, 0u);           /* threads may read both */
    PROF__STORE(c->numbers, 0u);
    if (d->hw_counters) why = prof__counters_take(d->hw_counters, false);
    if (!why && d->hw_counters) why = prof__counters_test();
    if (!why) field = "numbers";
    if (!why && d->numbers) why = prof__counters_take(d->numbers, true);
    if (!why && d->numbers && d->mode == PROF_MODE_AGGREGATE) why = ": not in PROF_MODE_AGGREGATE";
    if (!why) return NULL;
    (void)PROF__FAIL(PROF_ERROR_UNSUPPORTED, "prof_desc.%s has \"%s\"%s", field,
                     c->names[PROF__MAX(c->count, 1u) - 1], why);
    PROF__STORE(c->count, 0u);
    PROF__STORE(c->numbers, 0u);
    return prof__errors.texts[PROF_ERROR_UNSUPPORTED];
}

/* Reads the counters of the calling thread, whose state is t. Returns the number of the opening
   that they are of, 1 where none is needed; 0: they are not known. */
PROF__FN uint64_t prof__counters_read(const prof__state *t, uint64_t *values) {
    uint32_t hardware = prof__counting.count - prof__counting.numbers;
    uint64_t opening = 1;
#ifdef PROF__PERF
    int cancel;
    if (hardware && !prof__perf_open()) return 0;
    if (hardware) opening = prof__perf.number;
    cancel = hardware ? prof__cancel_off() : 0;
    for (uint32_t i = 0; hardware && i < prof__perf.count; i++)
        if (read(prof__perf.file[i], values + i, sizeof *values) != (ssize_t)sizeof *values)
            opening = 0;
    if (hardware) prof__cancel_back(cancel);
    if (!opening) return 0;
#endif
    for (uint32_t i = 0; i < prof__counting.numbers; i++)
        values[hardware + i] = t->counters.added[i];
    return opening;
}

/* A state's counters at the begin of frame f's zone: the opening, and the values. */
PROF__FN uint64_t *prof__counted_of(prof__state *t, const prof__frame *f) {
    const struct prof_trace *s = &prof__trace;
    size_t each = 1 + prof__counting.count;
    if (t->counters.generation != s->first_generation) {
        if (!prof__lock_briefly()) return NULL;
        t->counters.begun = PROF__LOAD(prof__on) != t->generation ? NULL
                   : (uint64_t *)prof__take(s->max_depth * each * sizeof *t->counters.begun, 0);
        t->counters.generation = s->first_generation;
        prof__unlock();
    }
    return t->counters.begun ? t->counters.begun + f->depth * each : NULL;
}

/* Writes what was counted since the zone's begin, unless all of it is 0. */
PROF__FN void prof__counters_end(prof__state *t, prof__frame *f) {
    uint64_t now[PROF_COUNTERS], *counted = prof__counted_of(t, f), any = 0;
    prof__long l;
    if (counted && counted[0] && counted[0] == prof__counters_read(t, now)) {
        for (uint32_t i = 0; i < prof__counting.count; i++) any |= now[i] -= counted[1 + i];
        if (!any) return;
        if (prof__room(t, t->hooks.slots + 4) && !t->sums.on) {
            prof__attribute_in(&l, t, f);
            for (uint32_t i = 0; i < prof__counting.count; i++) prof__long_put(&l, now[i]);
            prof__attribute_close(&l, PROF__COUNTED, prof__counting.count, 0);
            return;
        }
    }
    PROF__COUNT(prof__loose.not_kept);
}

PROF__CALL void prof_add(uint32_t index, int64_t value) {
    prof__state *t;
    uint32_t open;
    if (index >= PROF__LOAD(prof__counting.numbers)) return;
    t = prof__state_here(prof__tls_get(), true);
    if (!t) return;
    open = (uint32_t)(t->hot.top - t->hot.bottom);
    if (t->sums.on) prof__count_not_kept(t);
    else if (open) t->counters.added[index] += (uint64_t)value;
    else PROF__COUNT(prof__loose.not_kept);
}

/* The hooks of a zone's begin; the counters come last, since they count from here. */
PROF__FN void prof__hook_begin(prof__state *t, prof__frame *f, prof__entry_frame entry) {
    if (prof__session.desc.with_stack > PROF_STACK_ZONES) prof__native_begin(t, f, entry);
    if (prof__counting.count) {
        uint64_t *counted = prof__counted_of(t, f);
        if (!counted) return;
        counted[0] = prof__counters_read(t, counted + 1);
        if (!counted[0]) PROF__COUNT(prof__loose.not_kept);
    }
}

/* Prepares native stacks and counters, as described. NULL: the system has them; else why not. */
PROF__FN const char *prof__hooks_start(const prof_desc *d, bool recorded) {
    const char *why = prof__native_check(d->with_stack);
    memset(&prof__recorder.hooks, 0, sizeof prof__recorder.hooks);
    if (!why) why = prof__counters_start(d);
    if (!why && recorded && (d->with_stack > PROF_STACK_ZONES || prof__counting.count)) {
        prof__recorder.hooks.begin = prof__hook_begin;
        prof__recorder.hooks.slots = PROF__EXTRA_SLOTS + 1 + PROF_COUNTERS;
        if (prof__counting.count) prof__recorder.hooks.end = prof__counters_end;
    }
    return why;
}

/* ---- @READ: turns ticks into times, and records beside zones into what zones carry ----

   @COLLECT calls this room for each record that it reads. A knot is a pair of readings: ticks and
   ns.
   - Times never decrease where ticks do not, whatever the knots are.
   - Details of a zone that never comes are forgotten. */

PROF__FN int64_t prof__rate_ns(uint64_t ticks, uint64_t rate) {
    if (ticks / rate >= INT64_MAX / 1000000000u) return INT64_MAX;   /* 292 years */
    if (rate == 1000000000u) return (int64_t)ticks;
    return (int64_t)(ticks / rate * 1000000000u + ticks % rate * 1000000000u / rate);
}

PROF__FN uint64_t prof__clock_rate(const struct prof_trace *s) {
    return s->platform.ticks_per_second ? s->platform.ticks_per_second : 1000000000u;
}

PROF__EAGER uint64_t prof__scale_ns(const prof__scale *k, uint64_t ticks) {
    uint64_t high = ticks >> 32, low = ticks & 0xffffffffu;
    return k->ns + ((high * k->mult) << (32 - k->shift)) + ((low * k->mult) >> k->shift);
}

/* The scale between two knots; its times count from base. */
PROF__FN prof__scale prof__scale_between(prof__knot a, prof__knot b, uint64_t base) {
    prof__scale k = { a.tick, 0, b.tick, 0, 0 };
    prof__real r = prof__real_over(prof__real_from((int64_t)(b.ns - a.ns)),
                                   (int64_t)(b.tick - a.tick));
    k.ns = a.ns - base;
    if (!r.m) return k;
    k.mult = r.m >> 21;                  /* 32 bits; rounded down, not to pass the next knot */
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

PROF__FN int64_t prof__clock_ns(prof__scale *k, uint64_t tick) {
    const struct prof_trace *s = &prof__trace;
    if (s->clock == PROF_CLOCK_CPU) return prof__knots_ns(k, s->knots.list, s->knots.count, tick);
    return prof__ticks_ns(tick);
}

/* Most ticks lie between the same two knots as the one before. */
PROF__EAGER int64_t prof__to_ns(prof__scale *k, uint64_t tick) {
    if (PROF__LIKELY(tick >= k->tick && tick <= k->last_tick))
        return (int64_t)prof__scale_ns(k, tick - k->tick);
    return prof__clock_ns(k, tick);
}

/* ---- details: they come before the record of their zone, and wait here for it ----

   All that is beside zones goes from the end of the memory for events downwards, while the events
   of zones grow from its begin: records are read once. */

/* An event that is no zone, in the arena; one by prof_submit is followed by all that it points to.
   With PROF__EVENT_MEMORY it is a prof__late: a change of memory, DROPPED where a zone has it. */
struct prof__submitted { struct prof__submitted *next; prof_event event; };
typedef struct prof__late {
    struct prof__submitted submitted;
    prof__memory memory;
    struct prof__late *same;             /* that zone's next change */
} prof__late;

/* Details of the next zone that ends at a depth. */
typedef struct prof__pending {
    prof_extra *extra;
    prof__late *memory;                  /* its last change of memory; NULL: none */
    uint32_t arguments, argument_bytes;
    bool any, annotation;                /* any: an attribute came */
    bool row;                            /* one that may give the zone a row of averages */
    bool in_module;                      /* the zone began in `module`, which has been popped; */
    prof_extra *module;                  /* else it is in the innermost module */
} prof__pending;

/* A module that was pushed. Zones of its depth, or deeper, began after the push. */
typedef struct prof__module { prof_extra *extra; uint32_t bytes, depth; } prof__module;
#define PROF__MODULES 64
#define PROF__HIERARCHY_MOST 1000

typedef struct prof__details {
    char *high;                          /* free from floor to here; NULL: all is only counted */
    const char *floor;
    size_t used;                         /* also where there was no room */
    size_t *room;                        /* zones that have room for their events; 0: it ran out */
    uint32_t deepest;                    /* no details wait from this depth on */
    uint32_t max_depth;
    bool swap;                           /* of a raw stream of the other byte order */
    uint32_t module_count, modules_skipped;
    prof__pending open[PROF__LEVELS];
    prof__module modules[PROF__MODULES];
    prof_extra unnamed;                  /* of "[memory]" events */
    uint32_t rows;                       /* of averages that they may make */
    uint32_t memory_count, made_count;
    struct prof__submitted *made, **made_end;   /* what is no zone, and what only passes through: */
    struct prof__noted *noted, **noted_end;
} prof__details;
static prof__details prof__details_now;  /* of who reads: prof__reading_open */

PROF__FN bool prof__details_fit(const prof__details *d, size_t bytes) {
    return d->high > d->floor && (size_t)(d->high - d->floor) >= bytes;
}

/* Zeroed memory for what is read; NULL: there is no room for it, nor for events. */
PROF__FN void *prof__details_take(prof__details *d, size_t bytes) {
    bytes = (bytes + 7) & ~(size_t)7;
    d->used += bytes;
    if (!prof__details_fit(d, bytes)) {
        *d->room = 0;
        return NULL;
    }
    d->high -= bytes;
    if (*d->room)
        *d->room = (size_t)(d->high - (char *)(void *)prof__trace.events) / sizeof(prof_event);
    return memset(d->high, 0, bytes);
}

/* A record's payload, read slot by slot; at == end: there is no more. */
typedef struct prof__payload {
    const prof__record *at, *end;
    prof__details *d;                    /* takes what is read */
} prof__payload;

PROF__FN uint64_t prof__payload_number(prof__payload *p) {
    uint64_t n = 0;
    if (p->at < p->end) n = prof__record_get(p->at);
    p->at += p->at < p->end;
    return n;
}

/* Reads so many bytes, or fewer if the payload ends. */
PROF__FN size_t prof__payload_most(const prof__payload *p, size_t bytes) {
    size_t most = 8 * (size_t)(p->end - p->at);
    return PROF__MIN(bytes, most);
}

/* `before`, of length bytes, a separator, and the payload's text; length 0: only the latter. */
PROF__FN char *prof__payload_joined(prof__payload *p, const char *before, size_t length,
                                    char separator, size_t bytes) {
    char *text = (char *)prof__details_take(p->d, length + (length != 0) + bytes + 1);
    if (length) {
        memcpy(text, before, length);
        text[length++] = separator;
    }
    for (size_t i = 0; i < bytes; i += 8) {
        const char *from = (const char *)p->at++;
        /* With `swap` the words have been swapped, and the text with them. */
        for (size_t j = 0; j < PROF__MIN(bytes - i, 8); j++)
            text[length + i + j] = from[p->d->swap ? j ^ 3 : j];
    }
    return text;
}

PROF__FN char *prof__payload_text(prof__payload *p, size_t bytes) {
    return prof__payload_joined(p, NULL, 0, 0, prof__payload_most(p, bytes));
}

PROF__FN const int64_t *prof__payload_dims(prof__payload *p, uint32_t *count) {
    int64_t *dims;
    *count = PROF__MIN(*count, (uint32_t)(p->end - p->at));
    dims = (int64_t *)prof__details_take(p->d, *count * sizeof *dims);
    for (uint32_t i = 0; i < *count; i++) dims[i] = (int64_t)prof__payload_number(p);
    return dims;
}

/* Reads one shape. item: it is in a list, so it cannot be a list. */
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
    s.items = items = (prof_shape *)prof__details_take(p->d, s.count * sizeof *items);
    for (uint32_t i = 0; i < s.count; i++) items[i] = prof__payload_shape(p, true, &none);
    return s;
}

/* Shapes; and where dtypes is not NULL their dtypes, if any has one. */
PROF__FN const prof_shape *prof__payload_shapes(prof__payload *p, uint32_t count,
                                                const char ***dtypes) {
    prof_shape *shapes = (prof_shape *)prof__details_take(p->d, count * sizeof *shapes);
    const char **texts =
        dtypes ? (const char **)prof__details_take(p->d, count * sizeof *texts) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes;
        shapes[i] = prof__payload_shape(p, false, &bytes);
        if (!dtypes) continue;
        texts[i] = bytes == UINT32_MAX ? "" : prof__payload_text(p, bytes);
        if (bytes != UINT32_MAX) *dtypes = texts;
    }
    return shapes;
}

PROF__FN const prof_tensor *prof__payload_tensors(prof__payload *p, uint32_t count) {
    prof_tensor *tensors = (prof_tensor *)prof__details_take(p->d, count * sizeof *tensors);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word[4];
        for (int k = 0; k < 4; k++) word[k] = prof__payload_number(p);
        tensors[i].id = word[0];
        tensors[i].storage = word[1];
        tensors[i].offset = (int64_t)word[2];
        tensors[i].device.type = (uint8_t)word[3];
        tensors[i].device.index = (int8_t)(word[3] >> 8);
    }
    return tensors;
}

/* Adds an argument to the zone's others. */
PROF__FN void prof__read_argument(prof__pending *z, prof__payload *p, size_t bytes) {
    size_t length = z->argument_bytes;
    if (++z->arguments > 16) {
        PROF__COUNT(prof__loose.not_kept);
        return;
    }
    bytes = prof__payload_most(p, bytes);
    z->extra->metadata_json = prof__payload_joined(p, z->extra->metadata_json, length, ',', bytes);
    z->argument_bytes = (uint32_t)(length + bytes + (length != 0));
}

/* The details that wait for the zone open at depth, with an extra. */
PROF__FN prof__pending *prof__read_pending(prof__details *d, uint32_t depth) {
    prof__pending *z = d->open + depth;
    if (!z->any) {
        z->arguments = z->argument_bytes = 0;
        z->annotation = false;
        z->any = true;
        z->row = false;
        z->extra = (prof_extra *)prof__details_take(d, sizeof *z->extra);
    }
    d->deepest = PROF__MAX(d->deepest, depth + 1);
    return z;
}

/* Reads a text or a list. All lists of a zone's inputs are cut to the length of the shortest, which
   in damaged records may be 0. */
PROF__FN void prof__read_field(prof__payload *p, prof_extra *x, uint32_t type, uint32_t count,
                               size_t bytes) {
    const prof__field *f = prof__fields + type;
    const char **dtypes = NULL;
    const void *value;
    uint32_t slots = (uint32_t)(p->end - p->at);
    count = PROF__MIN(count, f->coding == PROF__AS_TENSORS ? slots / 4 : slots);
    if (f->coding == PROF__AS_SHAPES)
        value = prof__payload_shapes(p, count, f->dtypes ? &dtypes : NULL);
    else if (f->coding == PROF__AS_TENSORS) value = prof__payload_tensors(p, count);
    else if (f->coding < PROF__AS_TEXT) {
        const char **texts = (const char **)prof__details_take(p->d, count * sizeof *texts);
        for (uint32_t i = 0; i < count; i++)
            texts[i] = prof__payload_text(p, (size_t)prof__payload_number(p));
        value = texts;
    } else value = prof__payload_text(p, bytes);
    if (f->count == offsetof(prof_extra, input_count) &&
        (x->input_shapes || x->strides || x->concrete_inputs))
        count = PROF__MIN(count, x->input_count);
    if (f->coding < PROF__AS_TEXT) memcpy((char *)x + f->count, &count, sizeof count);
    if (dtypes || type == PROF__OUTPUTS) prof__field_set(x, f->dtypes, dtypes);
    prof__field_set(x, type, value);
}

/* Pushes a module: its hierarchy is the names of all, joined by dots; at most 1000 bytes. */
PROF__FN void prof__read_module(prof__payload *p, uint32_t depth, size_t bytes) {
    prof__details *d = p->d;
    const prof__module *up = d->module_count ? d->modules + d->module_count - 1 : NULL;
    uint32_t before = up ? up->bytes : 0;
    prof__module *m = d->modules + d->module_count;
    bytes = prof__payload_most(p, bytes);
    if (d->module_count == PROF__MODULES || before + bytes + 2 > PROF__HIERARCHY_MOST) {
        PROF__COUNT(prof__loose.not_kept);
        d->modules_skipped++;
        return;
    }
    m->extra = (prof_extra *)prof__details_take(p->d, sizeof *m->extra);
    m->extra->module_hierarchy = prof__payload_joined(p, up ? up->extra->module_hierarchy : NULL,
                                                      before, '.', bytes);
    m->extra->has |= PROF__HAS_SHARED;
    m->depth = depth;
    m->bytes = before + (uint32_t)bytes + (before != 0);
    d->module_count++;
}

/* Pops a module. Open zones that began in it keep it. open: the number of open zones. */
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
        if (i < d->deepest && d->open[i].in_module) continue;
        d->open[i].in_module = true;
        d->open[i].module = m->extra;
    }
    d->deepest = PROF__MAX(d->deepest, open);
}

/* A native call stack, once it has names. A stack by prof_set is kept instead. */
PROF__FN void prof__read_native(prof_extra *x, size_t number) {
    const prof__trail *r = number && number <= prof__trails.count ? prof__trails.list[number - 1]
                                                                  : NULL;
    if (!r || !r->named || x->stack_count) return;
    x->stack = r->texts;
    x->stack_count = r->count;
    x->has |= PROF__HAS_NATIVE;
}

/* Reads an attribute. Its bytes may be anything: what a slot has becomes 40 bytes at most. */
PROF__FN void prof__read_attribute(prof__details *d, const prof__record *c,
                                   const prof__record *end) {
    uint32_t type = c->end & 0xff, depth = c->end >> 8 & 0xff, count = c->end >> 16;
    size_t bytes = c->duration, most = sizeof(prof_extra) + PROF__HIERARCHY_MOST;
    prof__pending *z;
    prof__payload p;
    prof_extra *x;
    uint64_t number;
    if (!d->high) return;
    most += (size_t)(end - c) * 40 + (depth < d->max_depth ? d->open[depth].argument_bytes : 0);
    if (!prof__details_fit(d, most)) {
        PROF__COUNT(prof__loose.not_kept);
        d->used += most;
        return;
    }
    p.at = c + 1;
    p.end = end;
    p.d = d;
    if (type == PROF__MODULE_PUSH) prof__read_module(&p, depth, bytes);
    if (type == PROF__MODULE_POP) prof__read_module_end(depth);
    if (!type || type == PROF__MODULE_PUSH || type == PROF__MODULE_POP || type > PROF__NODE ||
        depth >= d->max_depth) return;
    z = prof__read_pending(d, depth);
    x = z->extra;
    d->rows += !z->row && prof__tells_rows(type);
    z->row |= prof__tells_rows(type);
    switch (type) {
    case PROF__ARGUMENT: prof__read_argument(z, &p, bytes); break;
    case PROF__ANNOTATION: z->annotation = true; break;
    case PROF__NODE:
        x->node_id = (int32_t)(uint32_t)prof__payload_number(&p);
        x->has |= PROF_HAS_NODE_ID;
        break;
    case PROF__NATIVE: prof__read_native(x, bytes); break;
    case PROF__FLOPS:
        number = prof__payload_number(&p);
        x->flops = (int64_t)PROF__MIN(number, (uint64_t)INT64_MAX);
        break;
    case PROF__SEQUENCE:
        x->scope = (uint8_t)count;
        x->sequence_nr = (int64_t)prof__payload_number(&p);
        x->fwd_thread = prof__payload_number(&p);
        x->has |= PROF_HAS_SEQUENCE_NR | (count == 1 ? PROF_HAS_FWD_THREAD : 0);
        break;
    case PROF__COUNTED:
        count = PROF__MIN(count, (uint32_t)PROF_COUNTERS);
        x->counters = prof__payload_dims(&p, &count);
        x->counter_count = (uint8_t)count;
        break;
    default: prof__read_field(&p, x, type, count, bytes);
    }
}

/* Formulas for FLOPs. The program's own are looked up without a lock: a slot keeps its name, and
   count grows when the slot is filled. They are added under the lock. */
enum { PROF__OWN_FORMULAS = 64 };
static struct prof__formulary {
    uint32_t count;
    const char *names[PROF__OWN_FORMULAS];
    prof_flops_formula formulas[PROF__OWN_FORMULAS];
} prof__formulary;

PROF__FN void prof__flops_of(const prof_event *e, prof_extra *x) {
    prof_flops_desc few;
    uint64_t flops;
    memset(&few, 0, sizeof few);
    few.with_flops = true;
    few.concrete_inputs = x->concrete_inputs;
    few.kwinputs = x->kwinputs;
    flops = prof_flops(e->name, x->input_shapes, x->input_count, &few);
    x->flops = (int64_t)PROF__MIN(flops, (uint64_t)INT64_MAX);
}

/* Forgets the details that wait at this depth and deeper: their zones were not recorded. */
PROF__FN void prof__details_drop(uint32_t depth) {
    prof__details *d = &prof__details_now;
    for (uint32_t i = depth; i < d->deepest; i++) {
        d->open[i].any = d->open[i].in_module = false;
        d->open[i].memory = NULL;
    }
    d->deepest = PROF__MIN(d->deepest, depth);
}

/* A zone of this depth has come: it gets the details that wait for it; deeper ones have no zone. */
PROF__FN void prof__read_details(uint32_t depth, prof_event *e) {
    prof__details *d = &prof__details_now;
    prof__pending *z = d->open + depth;
    prof_extra *m, *x;
    uint32_t n = d->module_count;
    for (; n && d->modules[n - 1].depth > depth; n--)
        d->modules[n - 1].depth = depth;   /* a module that was pushed in the zone stays open */
    m = z->in_module ? z->module : n ? d->modules[n - 1].extra : NULL;
    x = z->any ? z->extra : m;
    e->extra = x;
    if (z->any) {
        if (m && !x->module_hierarchy) x->module_hierarchy = m->module_hierarchy;
        if (z->annotation) e->flags |= PROF_EVENT_USER_ANNOTATION;
        if (prof__session.desc.with_flops && !x->flops && x->input_shapes) prof__flops_of(e, x);
    }
    for (prof__late *c = z->memory; c; c = c->same)
        c->memory.event = (uint32_t)(e - prof__trace.events);
    prof__details_drop(depth);
}

/* The records of a thread begin. */
PROF__FN void prof__details_row(void) {
    prof__details *d = &prof__details_now;
    prof__details_drop(0);
    d->module_count = d->modules_skipped = 0;
}

/* The end of the scratch memory. */
PROF__FN const char *prof__scratch_end(const struct prof_trace *s) {
    return s->limit;
}

/* room: how many events there is memory for, of which details take from the end; NULL: they are
   only counted. */
PROF__FN void prof__details_open(struct prof_trace *s, size_t *room) {
    prof__details *d = &prof__details_now;
    memset(d, 0, sizeof *d);
    d->max_depth = s->max_depth;
    d->made_end = &d->made;
    d->noted_end = &d->noted;
    d->unnamed.trace_name = "";
    d->unnamed.has = PROF__HAS_SHARED;
    if (!room) return;
    d->room = room;
    d->high = (char *)((uintptr_t)prof__scratch_end(s) & ~(uintptr_t)7u);
    *room = (size_t)(d->high - (char *)(void *)s->events) / sizeof *s->events;
}

PROF__FN void prof__details_close(struct prof_trace *s) {
    prof__details *d = &prof__details_now;
    s->detail_bytes = d->used;
    s->detail_rows = d->rows + (d->made_count ? 2 : 0);
    s->memory.count = d->memory_count + s->outside.late_memory;
    s->made_count = d->made_count;
    if (s->read == PROF__READ_NOTHING) s->read = PROF__READ_RECORDS;
    if (d->high) s->limit = d->high;
}

/* What is no zone: see @OUTSIDE. */
struct prof__reader;
PROF__FN bool prof__read_beside(struct prof__reader *r, const prof__item *i);
PROF__FN void prof__moment_note(const struct prof__reader *r, const struct prof__moment *m);
#endif

PROF__COLD_END
/* ---- @COLLECT: records back to zones and moments, thread by thread ----

   This room reads a thread's records in order, by @FORMAT, and hands the closes of zones, by @NEST,
   to tables, stacks and events (@TREE).
   - Records are only read: reading them twice gives the same.
   - "(lost)" stands for a zone that others lie in and that has no record. */

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
    uint16_t flags;                      /* PROF_EVENT_UNFINISHED, _PARTIAL */
} prof__zone;
struct prof__reader;
typedef void prof__segmenter(struct prof__reader *r, const prof__record *c,
                             const prof__record *end);

/* Takes the zones of a trace as they close, thread by thread. */
typedef struct prof__feed {
    prof__taker *take;                    /* NULL: they are only counted */
    void *user;
    void (*row)(void *user, const prof__row *row);   /* before a thread's zones; NULL: not called */
    void (*moment)(void *user, const prof__moment *m);   /* NULL: listed, or counted */
    prof__segmenter *segment;            /* reads records, faster for this take; NULL: any */
    prof_event **event;                  /* what take made last, for details; NULL: none wanted */
    /* targets: how long the row's context had the core from times[0] to times[1]; NULL: always */
    int64_t (*ran)(const prof__row *row, const int64_t *times, bool tasks);
} prof__feed;

typedef struct prof__reader {
    const prof__feed *feed;
    const prof__row *row;
    uint32_t thread, unfinished, partials, moment_count;
    uint32_t number;                     /* of closes so far, over all threads */
    uint32_t pending;                    /* zones at depths below this are still to come */
    uint32_t first[PROF__LEVELS + 1];    /* [depth + 1]: of such a zone: the number of the first one
                                            in it; [0]: of the thread's first */
    uint64_t first_start[PROF__LEVELS];  /* of such a zone: when the first zone in it began */
    uint64_t after[PROF__LEVELS];        /* and the earliest time at which it can begin */
    prof__cursor k;
    uint64_t back;                       /* ticks by which the clock went back between zones */
    uint64_t most;                       /* hosted: an end behind it is of a damaged record */
    uint64_t lost;
    uint64_t oldest;                     /* end of the first record that a ring holds */
    prof__scale scale;
    int64_t levels[PROF__LEVELS + 1];
} prof__reader;

/* A zone ran at least as long as the zones in it. */
PROF__FN int64_t prof__read_ran(const prof__reader *r, const prof__close *c) {
    int64_t ns = (r->feed->ran)(r->row, &c->start_ns, false);
    return PROF__MAX(ns, r->levels[c->depth + 1]);
}

PROF__EAGER prof__close prof__read_close(prof__reader *r, const prof__zone *z, uint32_t from) {
    prof__close c;
    c.start_ns = prof__to_ns(&r->scale, z->start);
    c.end_ns = prof__to_ns(&r->scale, z->end);
    c.cpu_ns = c.end_ns - c.start_ns;
    c.beside = NULL;
    c.what = z->site;
    c.thread = r->thread;
    c.depth = z->depth;
    c.order = 0;
    c.number = r->number;
    c.from = from;
    c.up = r->first[z->depth];
    c.flags = z->flags;
    prof__nest_close(r->levels + z->depth, &c,
                     PROF__BARE && r->feed->ran ? prof__read_ran(r, &c) : c.cpu_ns);
    PROF__ASSERT(c.self_ns >= 0);
    return c;
}

/* Hands on a whole zone; those within it have come before. */
PROF__EAGER void prof__read_place(prof__reader *r, prof__zone *z, prof__taker *take) {
    uint32_t from = r->number;
    PROF__ASSERT(z->depth + 1 >= r->pending && z->start <= z->end);
    if (!PROF__BARE) {
        r->unfinished += z->flags == PROF_EVENT_UNFINISHED && z->site;   /* 0: lost */
        r->partials += prof__is_partial(z->flags);
        if (r->oldest == UINT64_MAX) r->oldest = z->end;
        if (!z->flags && z->start < r->oldest) z->flags = PROF_EVENT_PARTIAL;
    }
    if (r->pending <= z->depth) {
        z->start = PROF__MAX(z->start, r->k.last);
        for (uint32_t d = r->pending; d < z->depth; d++) {
            r->first_start[d] = z->start;
            r->after[d] = r->k.last;
            r->first[d + 1] = from;
        }
    } else {
        from = r->first[z->depth + 1];
        z->start = PROF__MAX(z->start, r->after[z->depth]);
        if (z->depth && r->first_start[z->depth - 1] > z->start)
            r->first_start[z->depth - 1] = z->start;
    }
    r->k.last = z->end;
    r->pending = z->depth;
    if (take) {
        prof__close c = prof__read_close(r, z, from);
        take(r->feed->user, &c);
    }
    r->number++;
    if (!PROF__BARE && PROF__UNLIKELY(r->feed->event != NULL) && *r->feed->event)
        PROF__HOST(prof__read_details(z->depth, *r->feed->event));
}

PROF__FN void prof__read_zone(prof__reader *r, uint64_t end, uint64_t duration, uint32_t site_depth,
                              uint16_t flags);

/* "(lost)" stands for a zone that was dropped, so that the zones in it keep their depth; and for
   one whose end was written just before a signal handler's zones in it. */
PROF__FN void prof__read_lost(prof__reader *r, uint32_t down_to) {
    while (r->pending > down_to) {
        prof__zone z = { 0, 0, 0, 0, PROF_EVENT_UNFINISHED };
        z.depth = r->pending - 1;
        z.start = r->first_start[z.depth];
        z.end = r->k.last;
        r->lost++;
        if (PROF__BARE) prof__read_place(r, &z, r->feed->take);   /* stacks have a bound there */
        else prof__read_zone(r, z.end - r->back, z.end - z.start, z.depth, z.flags);   /* no copy */
    }
}

/* The end of a zone that does not follow the one before, or does not hold what is within it. A
   signal handler that came between the time of the end and its claim has a zone within it that
   ended later, and may have written a clock record. A zone that begins after all in it has ended is
   not the one around them, which is lost. Else the clock went back: within a zone that holds
   others, which lasts as long as they, or before one that holds none. From there on the thread's
   time goes on from where it was. It is not counted here, as sums cannot tell: the zones in which
   it went back are, wherever prof__went_back finds them. */
PROF__FN uint64_t prof__read_late(prof__reader *r, uint32_t depth, uint64_t end,
                                  uint64_t *duration) {
    const uint64_t wrap = (uint64_t)1 << 32, first = r->first_start[depth], last = r->k.last;
    bool back = *duration == PROF__BACK || (!*duration && r->back);
    uint64_t start = end - (back ? 0 : PROF__MIN(*duration, end));
    if (PROF__BARE) return PROF__MAX(end, last);   /* prof__cursor_end counted it */
    if (r->pending <= depth) {
        *duration = end - start;
        r->back += last - start;
        return last + *duration;
    }
    if (!back && start > first && start >= wrap && start - wrap <= first) {
        start -= wrap;
        end -= wrap;
    }
    if (!back && start > first && start >= last) return end;
    end = PROF__MAX(end, last);
    *duration = end - (back ? first : PROF__MIN(start, first));
    return end;
}

PROF__EAGER void prof__read_zone_inline(prof__reader *r, uint64_t end, uint64_t duration,
                                         uint32_t site_depth, uint16_t flags,
                                         prof__taker *take) {
    prof__zone z;
    z.depth = site_depth & 0xff;
    if (!PROF__BARE) end += r->back;
    if (PROF__UNLIKELY(z.depth >= prof__trace.max_depth ||
                       ((PROF__BARE || site_depth >> 8 > PROF__ACQUIRE(prof__sites.count)) &&
                        !prof__site_known(site_depth >> 8)))) {   /* a call, for pushed names */
        r->lost++;                       /* no such depth or site */
        return;
    }
    if (PROF__UNLIKELY(r->pending > z.depth + 1)) prof__read_lost(r, z.depth + 1);
    if (PROF__UNLIKELY(end < r->k.last || (r->pending > z.depth &&
                                           end - duration > r->first_start[z.depth]))) {
        end = prof__read_late(r, z.depth, end, &duration);
        if (r->pending > z.depth && r->first_start[z.depth] < end - PROF__MIN(duration, end))
            prof__read_lost(r, z.depth);
    }
    z.start = duration > end ? end : end - duration;
    z.end = end;
    if (!PROF__BARE && PROF__UNLIKELY(end > r->most)) {
        z.end = r->most;
        z.start = PROF__MIN(z.start, z.end);
    }
    z.site = site_depth >> 8;
    z.flags = flags;
    prof__read_place(r, &z, take);
}

PROF__FN void prof__read_zone(prof__reader *r, uint64_t end, uint64_t duration, uint32_t site_depth,
                              uint16_t flags) {
    prof__read_zone_inline(r, end, duration, site_depth, flags, r->feed->take);
}

PROF__FN void prof__read_moment(prof__reader *r, const prof__item *i) {
    uint32_t kind = i->kind, site = i->site_depth >> 8;
    bool flow = !PROF__BARE && kind == PROF__FLOW;
    prof__moment m;
    if (!flow && !prof__site_known(site)) {
        r->lost++;
        return;
    }
    r->moment_count++;
    m.ns = prof__to_ns(&r->scale, PROF__BARE ? i->end : PROF__MIN(i->end, r->most));
    m.value = flow ? (int64_t)(i->value >> 1) : (int64_t)i->value;
    m.thread = r->thread;
    m.site = site;
    m.kind = flow ? (i->value & 1 ? PROF__MOMENT_FLOW_END : PROF__MOMENT_FLOW)
           : kind == PROF__REAL ? PROF__MOMENT_REAL
           : kind == PROF__COUNTER ? PROF__MOMENT_COUNTER : PROF__MOMENT;
    if (r->feed->moment) (r->feed->moment)(r->feed->user, &m);
    else PROF__HOST(prof__moment_note(r, &m));
}

/* A record that is no plain zone. */
PROF__FN void prof__read_item(prof__reader *r, prof__item *i) {
    uint32_t kind = i->kind;
    if (prof__item_is_zone(i)) {
        prof__read_zone(r, i->end, i->duration, i->site_depth, prof__item_flags(i));
        return;
    }
    if (!PROF__BARE) i->end += r->back;
    if (kind == PROF__INSTANT || kind == PROF__COUNTER ||
             (!PROF__BARE && (kind == PROF__REAL || kind == PROF__FLOW) && i->slots == 2))
        prof__read_moment(r, i);
    else if (kind != PROF__CLOCK && kind != PROF__PART && !prof__read_beside(r, i)) r->lost++;
}

/* Plain zones are read here, without an item: it would be stored in memory for each. take: of the
   feed, where there is a copy of the code for it alone; else NULL on hosts. */
PROF__EAGER void prof__read_records(prof__reader *r, const prof__record *c,
                                    const prof__record *end, prof__taker *take) {
    prof__item i;
    r->k.end = end;
    while (c < end) {
        if (PROF__LIKELY((c->site_depth >> 8) - 1 < PROF__KIND - 1)) {
            uint64_t at = prof__cursor_end(&r->k, c->end), ticks = c->duration;
            if (!PROF__BARE && PROF__UNLIKELY(prof__went_back(c))) ticks = PROF__BACK;
            if (PROF__BARE || take) prof__read_zone_inline(r, at, ticks, c->site_depth, 0, take);
            else prof__read_zone(r, at, ticks, c->site_depth, 0);
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
    return c->full + (PROF__BARE ? c->deep + c->others : 0) + s->dropped_threads;
}

#define PROF__STAT_TAKE(name, value, index, note) out->name = value;

PROF__FN PROF__RACES void prof__stats_take(prof_stats *out, const struct prof_trace *s,
                                           const prof__counts *c) {
    memset(out, 0, sizeof *out);
    PROF__STATS(PROF__STAT_TAKE, PROF__STAT_HOST(PROF__STAT_TAKE), PROF__STAT_NONE)
    out->dropped = prof__dropped(s, c);
}

/* Reads one thread: its segments, the last of which ends where prof_stop found the cursor, and the
   zones that prof_stop ended. */
PROF__FN void prof__read_row(prof__reader *r, const prof__row *row) {
    PROF__HOST(prof__details_row());
    PROF__HOST(r->most = prof__trace.clock == PROF_CLOCK_CPU
                             ? prof__trace.stop_tick + ((uint64_t)1 << 56) : INT64_MAX);
    r->oldest = prof__row_overwritten(row) ? UINT64_MAX : 0;
    for (const prof__segment *g = row->first; g; g = g->next) {
        const prof__record *begin = prof__segment_begin(g);
        const prof__record *end = g->end ? g->end : prof__row_cursor(row);
        prof__segment_clock(r, g);
        if (end <= begin || end > prof__segment_limit(g)) continue;
        if (r->feed->segment) (r->feed->segment)(r, begin, end);
        else prof__read_records(r, begin, end, r->feed->take);
    }
    for (uint32_t i = prof__row_open_count(row); i--;) {
        prof__open o = prof__row_open(row, i);
        uint64_t stop = PROF__MAX(prof__open_stop(row, &o), r->k.last - r->back);
        prof__read_zone(r, stop, stop < o.start ? 0 : stop - o.start, o.site | o.depth,
                        prof__open_ended(&o) ? 0 : PROF_EVENT_UNFINISHED);
    }
    prof__read_lost(r, 0);
}

/* ---- @TREE: zones in post-order to events in order of start, in one pass ----

   This room makes the array of events from the nest's closes.
   - Events of a thread are in the order of their starts, a parent before its children. Depths and
     the order of the closes decide that, not times: clocks may stand still.
   - parent < child < count; first child and next sibling agree with parent. */

typedef struct prof__tree {
    struct prof_trace *s;
    prof_event *made;                    /* the last of this row; NULL: there was no room */
    size_t room;                         /* events in all; none once they ran out */
    bool instants;                       /* a zone took no time: one thread's may be out of order */
} prof__tree;

PROF__FN uint32_t prof__moved(const uint32_t *index, uint32_t i) {
    return i == PROF_NONE ? PROF_NONE : index[i];
}

/* Turns the links of an event from numbers into positions. */
PROF__FN void prof__event_moved(prof_event *e, const uint32_t *index) {
    e->parent = prof__moved(index, e->parent);
    e->first_child = prof__moved(index, e->first_child);
    e->next_sibling = prof__moved(index, e->next_sibling);
}

/* When a zone closes, its index in pre-order is its index in post-order, less its descendants, plus
   its depth; from is that without the depth. Whether a sibling follows, and where, the next close
   tells, unless it is the parent's. */
PROF__EAGER void prof__tree_add(void *tree, const prof__close *c) {
    prof__tree *t = (prof__tree *)tree;
    prof_event *e, *last = t->made;
    uint32_t at = c->from + c->depth;
    t->made = NULL;
    if (PROF__UNLIKELY(at >= t->room)) {
        t->room = 0;
        return;
    }
    t->instants |= c->start_ns == c->end_ns;
    t->made = e = t->s->events + at;
    e->name = prof__site(c->what)->name;
    e->extra = NULL;
    e->start_ns = c->start_ns;
    e->end_ns = c->end_ns;
    e->self_cpu_time_total_ns = c->self_ns;
    e->parent = c->depth ? c->up + c->depth - 1 : PROF_NONE;
    e->first_child = c->from == c->number ? PROF_NONE : at + 1;
    e->next_sibling = PROF_NONE;
    e->thread = c->thread;
    e->site = c->what;
    e->depth = (uint8_t)c->depth;
    e->device_type = PROF_DEVICE_CPU;
    e->flags = c->flags;
    if (last && last->depth && c->depth >= last->depth)
        last->next_sibling = c->number + last->depth;
}

/* The same where a pointer leads to it. */
PROF__FN void prof__tree_take(void *tree, const prof__close *c) { prof__tree_add(tree, c); }

/* Called before the zones of each row; without it those of a target's row CPU are left out. */
PROF__FN void prof__tree_row(void *tree, const prof__row *row) {
    (void)row;
    ((prof__tree *)tree)->made = NULL;
}

/* The order of a trace's events: (start, -end, thread, depth), those from outside before zones.
   Sorts are stable, so that equal events stay in the order of their ends. */
PROF__FN bool prof__events_after(const void *events, uint32_t i, uint32_t j) {
    const prof_event *a = (const prof_event *)events + i, *b = (const prof_event *)events + j;
    if (a->start_ns != b->start_ns) return a->start_ns > b->start_ns;
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns;
    if (a->thread != b->thread) return a->thread > b->thread;
    if (a->depth != b->depth) return a->depth > b->depth;
    return (a->flags & PROF_EVENT_SUBMITTED) < (b->flags & PROF_EVENT_SUBMITTED);
}

typedef bool (*prof__after)(const void *context, uint32_t a, uint32_t b);

/* Merges list[0, n) and list[n, end), each in order; other: room for the first. */
PROF__FN void prof__sort_merge(uint32_t *list, uint32_t n, uint32_t end, uint32_t *other,
                               prof__after after, const void *context) {
    const uint32_t *first = other, *last = other + n, *second = list + n, *limit = list + end;
    if (!after(context, list[n - 1], list[n])) return;
    memcpy(other, list, n * sizeof *list);
    while (first < last)
        *list++ = second < limit && after(context, *first, *second) ? *second++ : *first++;
}

/* A stable merge sort of n indices; other: room for n. It merges the runs that are in order, as the
   events of each thread are. A run waits while it is shorter than half of the one before it,
   so that at most 33 wait. False: all was in order. */
PROF__FN bool prof__sort(uint32_t *list, uint32_t *other, uint32_t n, prof__after after,
                         const void *context) {
    uint32_t begin[33], top = 0, at = 0;
    bool moved = false;
    while (at < n) {
        PROF__ASSERT(top < 33);
        begin[top++] = at;
        for (at++; at < n && !after(context, list[at - 1], list[at]);) at++;
        for (; top > 1; top--) {
            uint32_t before = begin[top - 2], last = begin[top - 1];
            if (at < n && at - last < (last - before) / 2) break;
            prof__sort_merge(list + before, last - before, at - before, other, after, context);
            moved = true;
        }
    }
    return moved;
}

#if defined(PROF_ASSERTS) && !defined(PROF__COVERAGE)
/* Do the links of events agree? A parent comes before its children, which are linked in the order
   in which they began; within one tick that need not be the order of the events. */
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

/* Sorts events, and adjusts their links. side: what moves with them, or NULL. False: they were in
   order. scratch: 8 bytes an event; the latter half has where each went. Each moves to where one
   has just left, so that the events of threads that ran together stay together. */
PROF__FN bool prof__events_sort(struct prof_trace *s, prof__side *side, prof__after after) {
    prof_event *events = s->events;
    uint32_t n = s->event_count, *order = (uint32_t *)(void *)s->scratch, *index = order + n;
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    if (!prof__sort(order, index, n, after, events)) return false;
    for (uint32_t i = 0; i < n; i++) index[order[i]] = i;
    for (uint32_t i = 0; i < n; i++) prof__event_moved(events + i, index);
    for (uint32_t i = 0; i < n; i++) {   /* order[from] is now where the one at from went */
        prof_event moved = events[i];
        uint32_t from = order[i];
        while (from < i) from = order[from];
        events[i] = events[from];
        events[from] = moved;
        order[i] = from;
        if (!PROF__BARE && side) {
            prof__side beside = side[i];
            side[i] = side[from];
            side[from] = beside;
        }
    }
    return true;
}

PROF__FN void prof__tree_segment(prof__reader *r, const prof__record *c, const prof__record *end) {
    prof__read_records(r, c, end, prof__tree_add);
}

/* Feeds the zones of all threads; counts zones, moments, losses. room: see prof__details_open. The
   caller has the reader's turn. */
PROF__FN void prof__read_rows(struct prof_trace *s, const prof__feed *feed,
                              size_t *room PROF__UNUSED) {
    uint32_t zones = 0, moments = 0;
    PROF__HOST(PROF__ASSERT(prof__mine(&prof__recorder.reading.owner)));
    PROF__HOST(prof__details_open(s, room));
    s->lost = s->unfinished = s->partials = 0;
    if (!s->records_only) s->steps = 0;  /* a target's stream counts as it writes */
    for (prof__row *row = s->records_only ? NULL : s->rows; row; row = row->next) {
        prof__reader r;
        memset(&r, 0, sizeof r);
        r.feed = feed;
        r.row = row;
        r.number = r.first[0] = zones;
        r.k.last = s->start_tick;        /* a clock that was set back below it is counted */
        r.thread = row->thread;
        if (feed->row) (feed->row)(feed->user, row);
        else if (feed->take && prof__row_is_cpu(row)) continue;
        prof__read_row(&r, row);
        zones = r.number;
        moments += r.moment_count;
        s->lost += (prof__amount)r.lost;
        s->unfinished += r.unfinished;
        s->partials += r.partials;
    }
    s->zone_count = zones;
    s->moment_count = moments;
    PROF__HOST(prof__details_close(s));
}

/* Counts all records, and feeds the zones at the same time. */
PROF__FN void prof__count_rows(struct prof_trace *s, const prof__feed *feed) {
    static const prof__feed none = { NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    prof__read_rows(s, feed ? feed : &none, NULL);
}

PROF__COLD_BEGIN
/* ---- @OUTSIDE: events that no zone was recorded for: steps, ranges, memory, work of devices ----

   This room makes events of records that are no zones, and takes those of prof_submit and
   prof_launch while a session is open. @EVENTS puts all of them behind the zones.
   - An event from outside that is refused is counted (rejected), and changes nothing else.
   - A launch never moves: its token tells where it lies. */

PROF__FN bool prof__valid(const prof_trace *trace) {
    return trace && (trace == &prof__trace || trace->self == trace) && trace->stopped;
}

PROF__FN uint32_t prof__has(const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    bool linked = x && x->linked_correlation_id && !(x->has & PROF_HAS_KEPT_TEXT);
    return x ? x->has | (linked ? (uint32_t)PROF_HAS_LINK : 0u) : 0;
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
/* ---- records that are no zones ---- */

struct prof__noted { struct prof__noted *next; prof__moment moment; };

/* Events of zones so far lie below the floor. */
PROF__FN void prof__read_floor(const prof__reader *r) {
    if (prof__trace.events) prof__details_now.floor =
        (char *)(void *)(prof__trace.events + r->number + prof__trace.max_depth + 1);
}

PROF__FN void prof__moment_note(const prof__reader *r, const prof__moment *m) {
    prof__details *d = &prof__details_now;
    struct prof__noted *to = NULL;
    prof__read_floor(r);
    if (d->high) to = (struct prof__noted *)prof__details_take(d, sizeof *to);
    if (!to) return;
    to->moment = *m;
    *d->noted_end = to;
    d->noted_end = &to->next;
}

/* The next event of a step, a range or memory, of so many bytes; NULL: they are only counted. */
PROF__FN void *prof__read_made(prof__reader *r, const char *name, uint32_t flags, size_t size) {
    prof__details *d = &prof__details_now;
    struct prof__submitted *to = NULL;
    if (d->high) to = (struct prof__submitted *)prof__details_take(d, size);
    if (!to) return NULL;
    *d->made_end = to;
    d->made_end = &to->next;
    to->event.name = name;
    to->event.flags = (uint16_t)(PROF_EVENT_SUBMITTED | flags);
    to->event.thread = r->thread;
    return to;
}

PROF__FN int64_t prof__read_ns(prof__reader *r, uint64_t tick) {
    return prof__to_ns(&r->scale, PROF__MIN(tick, r->most));
}

/* A step or a range with its extra, followed by what it is for. */
typedef struct prof__spanned { struct prof__submitted submitted; prof_extra extra; } prof__spanned;

PROF__FN prof__spanned *prof__read_span(prof__reader *r, const char *name, uint32_t flags,
                                        uint32_t more) {
    prof__spanned *span =
        (prof__spanned *)prof__read_made(r, name, flags, sizeof(prof__spanned) + more);
    prof__details_now.made_count++;
    if (span) span->submitted.event.extra = &span->extra;
    return span;
}

/* Steps are events from outside. */
PROF__FN void prof__read_step(prof__reader *r, const prof__item *i) {
    prof__spanned *span = prof__read_span(r, "ProfilerStep*", PROF_EVENT_USER_ANNOTATION |
                                          PROF__EVENT_STEP, PROF__STEP_NAME);
    char *name;
    prof_event *e;
    if (!span) return;
    name = (char *)(span + 1);
    e = &span->submitted.event;
    memcpy(name, "ProfilerStep#", 13);
    *prof__text_u64(name + 13, i->value) = 0;
    span->extra.trace_name = name;
    e->start_ns = prof__to_ns(&r->scale, i->end - i->duration);
    e->end_ns = PROF__MAX(prof__to_ns(&r->scale, i->end), e->start_ns);
}

/* A change of memory: its zone is still to come; without a zone it becomes an event. */
PROF__FN void prof__read_memory(prof__reader *r, const prof__item *i) {
    prof__details *d = &prof__details_now;
    uint32_t depth;
    prof__memory read = prof__memory_get(i, &depth);
    prof__late *c = (prof__late *)prof__read_made(
        r, read.what == PROF__NO_MEMORY ? "[OutOfMemory]" : "[memory]", PROF__EVENT_MEMORY,
        sizeof(prof__late));
    d->memory_count++;
    d->made_count += depth >= d->max_depth;
    if (!c) return;
    read.ns = prof__read_ns(r, i->end);
    read.thread = r->thread;
    c->memory = read;
    c->submitted.event.start_ns = c->submitted.event.end_ns = read.ns;
    if (depth >= d->max_depth) return;
    c->submitted.event.flags |= PROF__EVENT_DROPPED;
    c->same = d->open[depth].memory;
    d->open[depth].memory = c;
    d->deepest = PROF__MAX(d->deepest, depth + 1);
}

PROF__FN void prof__read_async(prof__reader *r, const prof__item *i) {
    struct prof_trace *s = &prof__trace;
    prof__range range = prof__range_get(i);
    const prof__row *row = s->rows;      /* of the thread that began it, unless it is gone */
    prof__spanned *span;
    prof_event *e;
    if (!prof__site_known(range.site) || range.thread >= s->pool.row_number) {
        r->lost++;
        return;
    }
    span = prof__read_span(r, prof__site(range.site)->name, PROF_EVENT_ASYNC, 0);
    if (!span) return;
    e = &span->submitted.event;
    e->start_ns = prof__read_ns(r, i->end);
    e->end_ns = PROF__MAX(e->start_ns, prof__read_ns(r, range.end));
    e->site = range.site;
    if (s->pool.row_number == s->thread_count) {   /* no row was used again */
        e->thread = range.thread;
    } else {
        while (row && row->number < range.thread) row = row->next;
        if (row && row->number == range.thread) e->thread = row->thread;
    }
    span->extra.has = PROF_HAS_ID | PROF_HAS_END_THREAD;
    span->extra.id = (int64_t)range.id;
    span->extra.end_thread = s->threads[r->thread].id;
}

/* Reads a record that belongs to a zone, or that becomes an event. False: it is damaged. */
PROF__FN bool prof__read_beside(prof__reader *r, const prof__item *i) {
    prof__read_floor(r);
    if (i->kind == PROF__STEP) prof__read_step(r, i);
    else if (!prof__wide(&prof__trace)) return false;
    else if (i->kind == PROF__ATTRIBUTE)
        prof__read_attribute(&prof__details_now, i->at, i->at + i->slots);
    else if (i->kind == PROF__MEMORY && i->slots == 4) prof__read_memory(r, i);
    else if (i->kind == PROF__ASYNC && i->slots == PROF__EXTRA_SLOTS + 1) prof__read_async(r, i);
    else return false;
    return true;
}

/* ---- events handed in while a session is open ---- */

#define PROF__DEVICES 8
struct prof__device {
    prof_device_desc desc;
    bool prepared, started, refused;     /* refused: the session keeps no work of devices */
    bool tried;                          /* a callback was called */
    prof_result result;                  /* of the callback that failed */
};

/* Pairs of readings, of this session's clock and a device's. */
enum { PROF__CLOCKS = 16, PROF__PAIRS = 64 };
typedef struct prof__paired {
    prof_device device;
    uint32_t count;
    prof_clock_pair pairs[PROF__PAIRS];
} prof__paired;

/* A queue is known as long as the process lives. rows: of this session: PROF__ROWS extras, one for
   each row that the queue's work needs where it overlaps; NULL: nothing was launched there. */
enum { PROF__QUEUES = 64, PROF__ROWS = 8 };
typedef struct prof__queue {
    prof_device device;
    uint32_t row;                        /* its first: a device counts them as they came */
    char name[48];
    prof_extra *rows;
} prof__queue;

/* Devices are added while no session is open; calls that open and close windows write them. Queues
   and clocks come at any time, under the lock. */
static struct prof__devices {
    struct prof__device list[PROF__DEVICES];
    uint32_t count, queue_count, clock_count;
    prof__queue queues[PROF__QUEUES];
    prof__paired clocks[PROF__CLOCKS];
} prof__devices;

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

PROF__FN const prof_shape *prof__pack_shapes(prof__pack *k, const prof_shape *from,
                                             uint32_t count, bool items) {
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
        if (to) to[i].items = list || !from[i].items ? list : to;   /* an empty one is one, too */
    }
    return to;
}

PROF__FN prof_extra *prof__pack_extra(prof__pack *k, const prof_extra *from) {
    prof_extra x = *from, *to = (prof_extra *)prof__pack_bytes(k, NULL, sizeof x, sizeof(int64_t));
    x.has &= 2 * PROF_HAS_KEPT_TEXT - 1;   /* the others are of zones, or ours */
    for (uint32_t i = PROF__SHAPES; i < PROF__FIELDS; i++) {
        uint32_t coding = prof__fields[i].coding, count = prof__field_count(from, i);
        const void *value = prof__field_get(from, i);
        if (!value) continue;
        if (coding == PROF__AS_SHAPES)
            value = prof__pack_shapes(k, (const prof_shape *)value, count, true);
        else if (coding == PROF__AS_TENSORS)
            value = prof__pack_bytes(k, value, count * sizeof(prof_tensor), sizeof(int64_t));
        else if (coding < PROF__AS_TEXT)
            value = prof__pack_texts(k, (const char *const *)value, count);
        else value = prof__pack_text(k, (const char *)value);
        prof__field_set(&x, i, value);
    }
    if (!(x.has & PROF_HAS_KEPT_TEXT)) {
        x.activity_type = prof__pack_text(k, from->activity_type);
        x.metadata_json = prof__pack_text(k, from->metadata_json);
    }
    x.kernels = NULL;
    x.counters = NULL;
    x.kernel_count = x.counter_count = 0;
    if (to) *to = x;
    return to;
}

/* Bytes of analysis that an event from outside entails. */
#define PROF__OUTSIDE_COST \
    (PROF__SLOT_COST + PROF__WIDE_COST + PROF__GROUP_COST + PROF__LANE_COST)

PROF__FN const char *prof__device_name(uint8_t type) {
    static const char names[][12] = {
        "cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
        "fpga", "maia", "xla", "vulkan", "metal", "xpu", "mps",
        "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuse1" };
    return type < sizeof names / sizeof *names ? names[type] : "device";
}

/* The name for work on a type of device: that of the device that was added for it, if any. */
PROF__FN const char *prof__device_title(uint8_t type) {
    for (uint32_t i = 0; i < prof__devices.count; i++)
        if (prof__devices.list[i].desc.type == type) return prof__devices.list[i].desc.name;
    return prof__device_name(type);
}

/* The number of a device type in the session's list; the last, where it had no room. */
PROF__FN uint32_t prof__device_number(const struct prof_trace *s, uint8_t type) {
    uint32_t i = 0;
    while (i < PROF__DEVICE_TYPES - 1 && s->device_types[i] && s->device_types[i] != type) i++;
    return i;
}

/* Notes that such a device has work; a change of memory may already have noted the first one. */
PROF__FN void prof__device_used(struct prof_trace *s, uint8_t type) {
    uint8_t *slot = s->device_types + prof__device_number(s, type);
    if (!*slot) *slot = type;
    s->view.device_name = s->device_types[1] ? "device" : prof__device_title(type);
}

PROF__FN void prof__submitted_add(struct prof_trace *s, struct prof__submitted *to) {
    to->next = NULL;
    if (s->outside.last) s->outside.last->next = to;
    else s->outside.first = to;
    s->outside.last = to;
    s->outside_count++;
}

/* Is the event valid: does it end no earlier than it starts, and have all that it counts? */
PROF__FN bool prof__event_right(const prof_event *e) {
    const prof_extra *x = e->extra;
    return e->end_ns >= e->start_ns &&
           (!x || ((x->stack || !x->stack_count) && (x->kernels || !x->kernel_count) &&
                   (x->tensors || !x->tensor_count)));
}

/* May it join a session? What ended before 0 is an earlier window's, but with a link, for devices'
   times may be early. Kernels that it launched are events of their own. */
PROF__FN bool prof__event_joins(const prof_event *e) {
    return prof__event_right(e) && !(e->extra && e->extra->kernel_count) &&
           (e->end_ns >= 0 || prof__has(e) & PROF_HAS_LINK);
}

/* Does the window take work of such devices? It can leave out only those that were added, or whose
   activity is known. Added devices themselves leave out what ran while they were toggled off. */
PROF__FN bool prof__device_asked(uint8_t type) {
    static const struct { uint8_t type, activity; } kinds[] = {
        { PROF_DEVICE_CUDA, PROF_ACTIVITY_CUDA }, { PROF_DEVICE_HIP, PROF_ACTIVITY_CUDA },
        { PROF_DEVICE_XPU, PROF_ACTIVITY_XPU }, { PROF_DEVICE_MTIA, PROF_ACTIVITY_MTIA },
        { PROF_DEVICE_HPU, PROF_ACTIVITY_HPU },
        { PROF_DEVICE_PRIVATEUSE1, PROF_ACTIVITY_PRIVATEUSE1 } };
    uint32_t asked = prof__session.desc.activities ? prof__session.desc.activities : UINT32_MAX;
    for (uint32_t i = 0; i < prof__devices.count; i++)
        if (prof__devices.list[i].desc.type == type)
            return (asked & prof__devices.list[i].desc.activity) != 0;
    asked &= ~PROF__LOAD(prof__session.off);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type) return (asked & kinds[i].activity) != 0;
    return true;
}

PROF__FN prof_result prof__submit_event(struct prof_trace *s, const void *events, size_t at) {
    const prof_event *e = (const prof_event *)events + at;
    const char *name = e->name ? e->name : "(null)";
    size_t length;
    uint32_t hash = prof__hash(name, &length), number;
    struct prof__submitted *to;
    prof__pack pack = { NULL, 0 };
    if (e->thread >= s->thread_count || !prof__event_joins(e)) return PROF_ERROR_INVALID;
    if (!prof__device_asked(e->device_type)) {
        PROF__BUMP(s->counts.not_kept, 1);
        return PROF_OK;
    }
    number = prof__name_add(name, length, hash);
    if (e->extra) (void)prof__pack_extra(&pack, e->extra);
    to = number ? (struct prof__submitted *)prof__take(prof__align(sizeof *to) + pack.used,
                                                       PROF__OUTSIDE_COST) : NULL;
    if (!to) return PROF_ERROR_MEMORY;
    to->event = *e;
    to->event.site = PROF__PUSHED + number - 1;
    to->event.name = prof__site(to->event.site)->name;
    to->event.flags = (uint16_t)((e->flags & 0xff) | PROF_EVENT_SUBMITTED);
    to->event.depth = 0;
    pack.p = (char *)to + prof__align(sizeof *to);
    pack.used = 0;
    if (e->extra) to->event.extra = prof__pack_extra(&pack, e->extra);
    prof__submitted_add(s, to);
    if (e->device_type != PROF_DEVICE_CPU) prof__device_used(s, e->device_type);
    return PROF_OK;
}

PROF__FN prof_result prof__submit_streamed(const prof_event *events, size_t count);
PROF__FN bool prof__streams_events(const struct prof_trace *s);

/* Does the session keep work (apart from what a raw stream takes)? */
PROF__FN bool prof__keeps_work(const struct prof_trace *s) {
    return !s->records_only && (s->mode != PROF_MODE_RING || prof__wide(s));
}

/* Adds each of a list to the session that is open, or counts why it does not. */
PROF__FN prof_result prof__submit_each(const void *list, size_t count,
                                       prof_result (*one)(struct prof_trace *, const void *,
                                                          size_t)) {
    struct prof_trace *s = &prof__trace;
    prof_result result = PROF_OK;
    if (count && !list) return PROF_ERROR_INVALID;
    prof__lock();
    if (!s->open) {
        result = prof__fail(PROF_ERROR_STATE, "events were submitted while no session is open");
    } else if (!prof__keeps_work(s)) {
        result = prof__fail(PROF_ERROR_UNSUPPORTED, PROF__KEEPS_NONE);
        PROF__BUMP(s->counts.not_kept, count);
    } else if (count && !prof__widen(s)) {
        result = PROF_ERROR_MEMORY;
        PROF__BUMP(s->counts.full, count);
    } else {
        for (size_t i = 0; i < count; i++) {
            prof_result taken = one(s, list, i);
            if (taken != PROF_OK) result = taken;
            s->outside.rejected += taken == PROF_ERROR_INVALID;
            PROF__BUMP(s->counts.full, taken == PROF_ERROR_MEMORY);
        }
    }
    prof__unlock();
    return result;
}

PROF__CALL prof_result prof_submit(const prof_event *events, size_t count) {
    bool streams;
    prof__lock();
    streams = prof__streams_events(&prof__trace);
    prof__unlock();
    return streams && events ? prof__submit_streamed(events, count)
                             : prof__submit_each(events, count, prof__submit_event);
}

/* A change of memory.next = PROF_NONE: it is of the innermost zone of its thread. Else, and without
   such a zone, it is an event of its own. */
PROF__FN prof_result prof__submit_change(struct prof_trace *s, const void *changes, size_t i) {
    const prof_memory_change *c = (const prof_memory_change *)changes + i;
    bool placed = c->thread != PROF_NONE;
    prof__late *to;
    prof_event *e;
    if (c->bytes >> 63 || (placed ? c->thread : 0) >= s->thread_count)
        return PROF_ERROR_INVALID;
    to = (prof__late *)prof__take(prof__align(sizeof *to),
                                  PROF__OUTSIDE_COST + prof__align(sizeof to->memory));
    if (!to) return PROF_ERROR_MEMORY;
    memset(to, 0, sizeof *to);
    to->memory.ns = c->ns;
    to->memory.address = c->address;
    to->memory.bytes = (int64_t)c->bytes;
    to->memory.what = c->is_free ? PROF__FREE : PROF__ALLOCATED;
    to->memory.category =
        (unsigned)c->kind > PROF_MEMORY_AUTOGRAD_DETAIL ? 0 : (uint8_t)c->kind;
    to->memory.device = c->device;
    to->memory.thread = placed ? c->thread : 0;
    to->memory.next = placed ? PROF_NONE : 0;
    e = &to->submitted.event;
    e->name = "[memory]";
    e->start_ns = e->end_ns = c->ns;
    e->thread = to->memory.thread;
    e->flags = PROF_EVENT_SUBMITTED | PROF__EVENT_MEMORY;
    prof__submitted_add(s, &to->submitted);
    s->outside.late_memory++;
    s->view.profile_memory = true;
    return PROF_OK;
}

PROF__CALL prof_result prof_submit_memory(const prof_memory_change *changes, size_t count) {
    return prof__submit_each(changes, count, prof__submit_change);
}

PROF__FN uint32_t prof__submit_thread(uint64_t id, const char *name, bool os) {
    struct prof_trace *s = &prof__trace;
    prof__row *r, *row = NULL;
    uint32_t thread = PROF_NONE;
    prof__lock();
    os = os && s->platform.thread_id;
    /* the last to have this id may still live */
    for (r = s->open ? s->rows : NULL; r; r = r->next)
        if ((os ? r->os_id : prof__row_told(r)) == id && (!row || os || !s->platform.thread_id))
            row = r;
    if (!row && s->open) {
        row = prof__row_add(id);
        if (row) row->awaited = os ? 2 : 1;
        s->pool.awaited += row != NULL;
    }
    if (row && name) prof__row_name(row, name);
    if (row) row->pinned = true;
    if (row) thread = row->thread;
    prof__unlock();
    return thread;
}

PROF__CALL uint32_t prof_submit_thread(uint64_t id, const char *name) {
    return prof__submit_thread(id, name, false);
}

PROF__CALL uint32_t prof_submit_os_thread(uint64_t os_id, const char *name) {
    return prof__submit_thread(os_id, name, true);
}

/* ---- clocks of devices, and launches ---- */

PROF__CALL prof_clock_pair prof_pair_clocks(bool (*read)(void *user, uint64_t *ns), void *user) {
    prof_clock_pair best = { 0, 0 };
    int64_t width = INT64_MAX;
    for (int i = 0; i < 4 || (i < 32 && width > 2000); i++) {
        int64_t a = prof_now(), b;
        uint64_t t = 0;
        if (!read(user, &t)) break;
        b = prof_now();
        if (b - a >= width) continue;
        width = b - a;
        best.device_ns = t;
        best.session_ns = a + width / 2;
    }
    return best;
}

PROF__FN prof__paired *prof__paired_of(prof_device device) {
    prof__paired *c = prof__devices.clocks, *end = c + prof__devices.clock_count;
    while (c < end && !prof__device_is(c->device, device)) c++;
    return c < end ? c : NULL;
}

/* ns of the session for each unit of the device's clock, from one pair to another. */
PROF__FN double prof__paired_rate(const prof__paired *c, uint32_t from, uint32_t to) {
    return (double)(c->pairs[to].session_ns - c->pairs[from].session_ns) /
           (double)(c->pairs[to].device_ns - c->pairs[from].device_ns);
}

/* The rate from the first pair to the last. */
PROF__FN double prof__paired_usual(const prof__paired *c) {
    return c->count > 1 ? prof__paired_rate(c, 0, c->count - 1) : 1;
}

/* A driver may give any times. They count as at most PROF__FAR ns, so that the sum of two does not
   overflow; results of a rate count as at most 60 years. */
#define PROF__FAR (INT64_MAX / 2)
PROF__FN int64_t prof__span_ns(double ns) {
    return (int64_t)PROF__MAX(PROF__MIN(ns, 2e18), -2e18);
}

/* Drops every second pair when there are too many. */
PROF__CALL prof_result prof_device_clock(prof_device device, int64_t host_ns, uint64_t device_ns) {
    prof_result result = PROF_OK;
    prof__paired *c;
    prof__lock();
    c = prof__paired_of(device);
    if (!prof__trace.open) {
        result = prof__fail(PROF_ERROR_STATE, "clocks were paired while no session is open");
    } else if (!c && prof__devices.clock_count == PROF__CLOCKS) {
        result = prof__fail(PROF_ERROR_MEMORY, "16 devices have clocks");
    } else if (host_ns < 0 || host_ns > PROF__FAR ||
               (c && (c->pairs[c->count - 1].device_ns >= device_ns ||
                      c->pairs[c->count - 1].session_ns >= host_ns))) {
        result = prof__fail(PROF_ERROR_INVALID, "a pair of clocks is no later than the one before, "
                                                "or its host_ns is no time of prof_now()");
    } else {
        if (!c) {
            c = prof__devices.clocks + prof__devices.clock_count++;
            memset(c, 0, sizeof *c);
            c->device = device;
        }
        if (c->count == PROF__PAIRS) {
            for (uint32_t i = 1; i < PROF__PAIRS / 2; i++) c->pairs[i] = c->pairs[2 * i];
            c->count = PROF__PAIRS / 2;
        }
        c->pairs[c->count].device_ns = device_ns;
        c->pairs[c->count++].session_ns = host_ns;
    }
    prof__unlock();
    return result;
}

/* A device's time on the session's clock: linear between two pairs, beyond them by the usual rate.
   c NULL: its clock is the session's. */
PROF__FN int64_t prof__paired_ns(const prof__paired *c, uint64_t t) {
    uint32_t i = 0;
    int64_t ns;
    double rate;
    if (!c) return (int64_t)PROF__MIN(t, (uint64_t)PROF__FAR);
    rate = prof__paired_usual(c);
    while (i + 1 < c->count && c->pairs[i + 1].device_ns <= t) i++;
    if (i + 1 < c->count && t > c->pairs[i].device_ns) rate = prof__paired_rate(c, i, i + 1);
    ns = c->pairs[i].session_ns +
         prof__span_ns(rate * (double)(int64_t)(t - c->pairs[i].device_ns));
    return PROF__MAX(PROF__MIN(ns, PROF__FAR), 0);
}

PROF__CALL int64_t prof_device_ns(prof_device device, uint64_t device_ns) {
    int64_t ns;
    prof__lock();
    ns = prof__paired_ns(prof__paired_of(device), device_ns);
    prof__unlock();
    return ns;
}

PROF__CALL uint32_t prof_queue(prof_device device, const char *name) {
    prof__queue *q = prof__devices.queues;
    uint32_t i = 0, row = 0;
    if (!name) name = "";
    prof__lock();
    for (; i < prof__devices.queue_count; i++, q++) {
        if (!prof__device_is(q->device, device)) continue;
        if (strncmp(q->name, name, sizeof q->name - 1) == 0) break;
        row++;
    }
    if (i == prof__devices.queue_count && i < PROF__QUEUES) {
        q->device = device;
        q->row = row;
        (void)prof__text_f(q->name, sizeof q->name, "%s", name);
        PROF__RELEASE(prof__devices.queue_count, i + 1);   /* a trace may be written */
    }
    prof__unlock();
    return i < PROF__QUEUES ? i : PROF_NONE;
}

/* Bytes that a writer of traces needs for a row of a device. */
#define PROF__ROW_COST 112u

/* Makes the extras of a queue's work. False: no room. */
PROF__FN bool prof__queue_open(struct prof_trace *s, uint32_t queue) {
    const size_t size = PROF__ROWS * sizeof(prof_extra);
    prof_extra *x = prof__devices.queues[queue].rows;
    if (x) return true;
    x = (prof_extra *)prof__take(size, PROF__ROWS * PROF__ROW_COST);
    if (!x) return false;
    memset(x, 0, size);
    for (uint32_t i = 0; i < PROF__ROWS; i++) {
        x[i].has = PROF_HAS_DEVICE_INDEX | PROF__HAS_PLACE | PROF__HAS_SHARED;
        x[i].device_index = prof__devices.queues[queue].device.index;
        x[i].device_resource_id = prof__devices.queues[queue].row + i * PROF_ROW_LANE;
        x[i].activity_type = "kernel";
    }
    prof__devices.queues[queue].rows = x;
    s->outside.queue_rows += PROF__ROWS;
    return true;
}

/* Promises a row of averages for each name and each type of device. */
PROF__FN bool prof__launch_rows_promise(struct prof_trace *s) {
    uint32_t types = 1, rows;
    size_t more;
    while (types < PROF__DEVICE_TYPES && s->device_types[types]) types++;
    rows = types * prof__sites.names.count;
    if (rows <= s->outside.launch_rows) return true;
    more = (rows - s->outside.launch_rows) * prof__site_cost();
    if (prof__arena_room(PROF__FOR_RECORDS) < more) return false;
    prof__arena.promised += more;
    s->outside.launch_rows = rows;
    return true;
}

/* Room for a launch and its analysis; NULL: there is none. */
PROF__FN prof__launch *prof__launch_take(struct prof_trace *s) {
    struct prof__launches *b = s->outside.launches;
    if (!b || b->count == PROF__LAUNCHES) {
        size_t cost = PROF__LAUNCHES * (PROF__SLOT_COST + PROF__WIDE_COST);
        b = (struct prof__launches *)prof__take(sizeof *b, cost);
        if (!b) return NULL;
        b->next = s->outside.launches;
        b->count = 0;
        s->outside.launches = b;
    }
    return b->list + b->count++;
}

/* Keeps a launch. 0: it is not kept, which is counted. Under the lock. */
PROF__FN uint64_t prof__launch_keep(struct prof_trace *s, uint32_t queue, const char *name,
                                    uint32_t thread, uint64_t tick) {
    const prof_device device = prof__devices.queues[queue].device;
    prof__launch *l = NULL;
    size_t length;
    uint32_t hash = prof__hash(name, &length), number;
    if (!prof__keeps_work(s) || !prof__device_asked(device.type)) {
        PROF__BUMP(s->counts.not_kept, 1);
        return 0;
    }
    number = prof__name_add(name, length, hash);
    if (number && thread < PROF__MIN(s->thread_count, 1u << 16) && prof__widen(s) &&
        prof__queue_open(s, queue)) {
        prof__device_used(s, device.type);
        if (prof__launch_rows_promise(s)) l = prof__launch_take(s);
    }
    if (!l) {
        PROF__BUMP(s->counts.full, 1);
        return 0;
    }
    l->at = tick;
    l->start = l->end = 0;
    l->name = PROF__PUSHED + number - 1;
    l->thread = (uint16_t)thread;
    l->queue = (uint8_t)queue;
    l->state = PROF__LAUNCH_OPEN;
    s->outside.pending++;
    return (uint64_t)s->generation << 32 | (uint64_t)((char *)l - prof__arena.base) / 16;
}

PROF__CALL uint64_t prof_launch(uint32_t queue, const char *name) {
    struct prof_trace *s = &prof__trace;
    prof__state *t = prof__state_here(prof__tls_get(), true);
    uint64_t token = 0, tick = 0;
    uint32_t thread = PROF_NONE;
    if (t) tick = prof__now_ticks(t->clock, &t->platform) + t->bias;
    else if (!PROF__LOAD(prof__on))      /* zones are turned off, launches are not */
        thread = prof_submit_thread(prof_thread_id(), NULL);
    prof__lock();
    if (s->open) {
        if (t && t->generation == s->generation) {
            thread = t->row->thread;
            t->row->pinned = true;       /* it stays this thread's */
        } else tick = prof__session_now(s);
        if (queue >= prof__devices.queue_count) s->outside.rejected++;
        else token = prof__launch_keep(s, queue, name ? name : "(null)", thread, tick);
    }
    prof__unlock();
    return token;
}

PROF__CALL prof_result prof_launch_done(uint64_t token, uint64_t start, uint64_t end) {
    struct prof_trace *s = &prof__trace;
    prof_result result = PROF_OK;
    prof__launch *l;
    size_t at = (size_t)(uint32_t)token * 16;
    if (!token) return PROF_OK;
    prof__lock();
    l = (prof__launch *)(void *)(prof__arena.base + at);
    if (!s->open) {
        result = PROF_ERROR_STATE;
    } else if (token >> 32 != s->generation || (char *)(l + 1) > prof__arena.low ||
               l->state != PROF__LAUNCH_OPEN || end < start) {
        result = prof__fail(PROF_ERROR_INVALID, "a launch is another window's, or was done, or its "
                                                "end is before its start");
        s->outside.rejected++;
    } else {
        l->start = start;
        l->end = end;
        l->state = PROF__LAUNCH_DONE;
        s->outside.pending--;
        s->outside.launched++;
    }
    prof__unlock();
    return result;
}

/* Makes the events of launches that are done. */
PROF__FN void prof__launches_copy(struct prof_trace *s, prof_event *to) {
    const prof__paired *clock = NULL;
    prof__scale scale;
    memset(&scale, 0, sizeof scale);
    for (struct prof__launches *b = s->outside.launches; b; b = b->next)
        for (uint32_t i = 0; i < b->count; i++) {
            const prof__launch *l = b->list + i;
            prof_device device = prof__devices.queues[l->queue].device;
            double rate;
            if (l->state != PROF__LAUNCH_DONE) continue;
            if (!clock || !prof__device_is(clock->device, device)) clock = prof__paired_of(device);
            memset(to, 0, sizeof *to);
            to->name = prof__site(l->name)->name;
            to->site = l->name;
            to->extra = prof__devices.queues[l->queue].rows;
            to->start_ns = prof__paired_ns(clock, l->start);
            rate = clock ? prof__paired_usual(clock) : 1;
            if (rate > 0.99 && rate < 1.01) rate = 1;   /* the device counts ns: as it is */
            to->end_ns = to->start_ns + prof__span_ns(rate * (double)(l->end - l->start));
            to->thread = l->thread;
            to->device_type = device.type;
            to->flags = PROF_EVENT_SUBMITTED;
            s->side[to++ - s->events].of.work.launched_ns = prof__to_ns(&scale, l->at);
        }
}

/* ---- @LINK: all events in one tree, and work of devices with the zones that launched it ----

   This room finds parents, charges memory, links work to launches, and sums up.
   - A recorded zone keeps its parent, but for an event from outside between the two.
   - Events go before work is linked: lists of kernels never change.
   - In the end prof__events_hold is true. */

/* Is it work on a device, which the event that launched it lists? */
PROF__FN bool prof__is_work(const struct prof_trace *s, const prof_event *e) {
    return s->side && !s->built && e->device_type != PROF_DEVICE_CPU;
}

/* Appends the kernels from first to last, which are joined, to the list of event i. */
PROF__FN void prof__kernels_add(struct prof_trace *s, uint32_t i, uint32_t first, uint32_t last) {
    prof__side *to = s->side + i;
    if (to->of.host.first_kernel == PROF_NONE) to->of.host.first_kernel = first;
    else s->side[to->of.host.last_kernel].of.work.next = first;
    to->of.host.last_kernel = last;
}

PROF__FN int32_t prof__device_index(const prof_event *e) {
    return prof__has(e) & PROF_HAS_DEVICE_INDEX ? e->extra->device_index : 0;
}

/* Opens an event's prof__side. Kernels that its extra lists have sides behind all others. */
PROF__FN void prof__side_open(struct prof_trace *s, uint32_t i) {
    const prof_event *e = s->events + i;
    const prof_extra *x = e->extra;
    prof__side *side = s->side + i;
    side->device_ns = 0;
    side->device_bytes = x ? x->device_memory_usage : 0;
    if (prof__is_work(s, e)) side->of.work.next = side->of.work.launcher = PROF_NONE;
    else side->of.host.first_kernel = side->of.host.last_kernel = PROF_NONE;
    if (!prof__is_work(s, e)) side->of.host.cpu_bytes = x ? x->cpu_memory_usage : 0;
    if (!x) return;
    s->outside.any_sequence = s->outside.any_sequence || x->has & PROF_HAS_SEQUENCE_NR;
    s->outside.any_backward = s->outside.any_backward || x->scope == 1;
    for (uint32_t k = 0; k < x->kernel_count; k++) {
        uint32_t number = s->event_count + s->outside.kernel_count++;
        s->side[number].of.listed.next = PROF_NONE;
        s->side[number].of.listed.kernel = x->kernels + k;
        prof__kernels_add(s, i, number, number);
    }
}

PROF__FN prof_kernel prof__kernel_at(const struct prof_trace *s, uint32_t k) {
    const prof_event *e = s->built ? NULL : s->events + k;
    prof_kernel work;
    if (!e) return *s->side[k].of.listed.kernel;
    work.name = e->name;
    work.duration_ns = prof__elapsed(e);
    work.device = prof__device_index(e);
    return work;
}

/* prof__slot_find for ids: id_of(of, number) tells a number's id. Ids are often counted up, so the
   hash lets eight of them in a row share two lines of the cache. */
typedef struct prof__ids {
    uint32_t *index, slots;
    int64_t (*id_of)(const void *of, uint32_t number);
    const void *of;
} prof__ids;

PROF__FN uint32_t *prof__id_slot(const prof__ids *ids, int64_t id) {
    uint64_t hash = (uint64_t)id >> 3;
    uint32_t i;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    i = (uint32_t)(((hash >> 32) + ((uint64_t)id & 7)) % ids->slots);
    while (ids->index[i] && (ids->id_of)(ids->of, ids->index[i] - 1) != id)
        i = i + 1 == ids->slots ? 0 : i + 1;
    return ids->index + i;
}

PROF__FN int64_t prof__event_id(const void *events, uint32_t i) {
    return ((const prof_event *)events)[i].extra->id;
}

typedef struct prof__linker {
    struct prof_trace *s;
    prof__lane *lanes;
    prof__ids ids;                       /* of the lanes */
    uint32_t *last_child;
    uint32_t *below;                     /* of an event: the next outer one that may hold others */
    uint32_t *zone;                      /* of an event from outside: the recorded zone around it */
    uint32_t count, last;
} prof__linker;

PROF__FN int64_t prof__lane_id(const void *lanes, uint32_t i) {
    return ((const prof__lane *)lanes)[i].id;
}

PROF__FN prof__lane *prof__lane_of(prof__linker *k, const prof_event *e) {
    int64_t id = (int64_t)((uint64_t)(uint32_t)prof__node_id(e) << 32 | e->thread);
    uint32_t *slot;
    if (k->count && k->lanes[k->last].id == id) return k->lanes + k->last;
    slot = prof__id_slot(&k->ids, id);
    if (!*slot) {
        k->lanes[k->count].id = id;
        k->lanes[k->count].top = PROF_NONE;
        *slot = ++k->count;
    }
    k->last = *slot - 1;
    return k->lanes + k->last;
}

/* Does a span with this end hold one that began no earlier? One that only partly overlaps another
   is its sibling. PyTorch: _populate_cpu_children() */
PROF__INLINE bool prof__spans_hold(int64_t outer_ns, int64_t start_ns, int64_t end_ns,
                                   bool *overlaps) {
    if (start_ns >= outer_ns) return false;
    *overlaps = *overlaps || end_ns > outer_ns;
    return end_ns <= outer_ns;
}

/* The innermost, of the event `top` and those around it, that holds [start_ns, end_ns), which
   begins no earlier than they do; PROF_NONE: none. */
PROF__FN uint32_t prof__events_around(const struct prof_trace *s, uint32_t top, int64_t start_ns,
                                      int64_t end_ns) {
    bool overlaps = false;
    while (top != PROF_NONE &&
           !prof__spans_hold(s->events[top].end_ns, start_ns, end_ns, &overlaps))
        top = s->events[top].parent;
    return top;
}

/* Does event p, which may still be open, hold e? For two recorded zones the depths decide. */
PROF__FN bool prof__holds(const prof_event *p, const prof_event *e, bool *overlaps) {
    if (!((p->flags | e->flags) & PROF_EVENT_SUBMITTED)) return p->depth < e->depth;
    if (p->flags & e->flags & PROF__EVENT_STEP) return false;
    return prof__spans_hold(p->end_ns, e->start_ns, e->end_ns, overlaps);
}

/* Can other events lie in this one? */
PROF__FN bool prof__is_zone(const prof_event *e) {
    return prof__in_tree(e) && !(e->flags & PROF__EVENT_MEMORY);
}

/* The parent of event i, where *top is the innermost event that may hold it. A recorded zone has
   its parent already: only an event from outside that lies in that parent can come between. */
PROF__FN uint32_t prof__link_parent(prof__linker *k, uint32_t *top, uint32_t i) {
    prof_event *events = k->s->events;
    const prof_event *e = events + i;
    uint32_t p, home = e->parent;
    bool overlaps = false;
    while (*top != PROF_NONE && !prof__holds(events + *top, e, &overlaps)) *top = k->below[*top];
    k->s->outside.misplaced += overlaps;
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

/* Does a range end again in event i? The earlier end, which counts, stands behind the later one. */
PROF__FN bool prof__range_again(const struct prof_trace *s, uint32_t i) {
    const prof_event *e = s->events + i;
    const uint32_t has = PROF_HAS_ID | PROF_HAS_END_THREAD;
    if (s->built || !(e->flags & PROF_EVENT_ASYNC) || (prof__has(e) & has) != has) return false;
    while (++i < s->event_count && s->events[i].start_ns == e->start_ns)
        if (s->events[i].flags & PROF_EVENT_ASYNC && (prof__has(s->events + i) & has) == has &&
            s->events[i].extra->id == e->extra->id) return true;
    return false;
}

/* Links all events, which are in order, to parents and children. A change of memory, which is no
   child, gets the zone around it as its parent: see prof__memory_charge. scratch: 12 bytes an
   event, and PROF__LANE_COST for each thread and each event with a node. */
PROF__FN void prof__link(struct prof_trace *s, char *scratch, uint32_t lanes) {
    prof__linker k;
    memset(&k, 0, sizeof k);
    k.s = s;
    k.last_child = (uint32_t *)(void *)scratch;
    k.below = k.last_child + s->event_count;
    k.zone = k.below + s->event_count;
    k.lanes = (prof__lane *)(((uintptr_t)(k.zone + s->event_count) + 7) & ~(uintptr_t)7);
    k.ids.index = (uint32_t *)(void *)(k.lanes + lanes);
    k.ids.slots = 2 * lanes;
    k.ids.id_of = prof__lane_id;
    k.ids.of = k.lanes;
    memset(k.ids.index, 0, k.ids.slots * sizeof *k.ids.index);
    for (uint32_t i = 0; i < s->event_count; i++) {
        prof_event *e = s->events + i, *p;
        if (s->side) prof__side_open(s, i);
        e->first_child = e->next_sibling = PROF_NONE;
        e->self_cpu_time_total_ns = 0;
        if (prof__range_again(s, i)) {
            e->flags |= PROF__EVENT_DROPPED;
            s->ranges_twice++;
        }
        if (prof__is_zone(e)) e->parent = prof__link_parent(&k, &prof__lane_of(&k, e)->top, i);
        else e->parent = prof__in_tree(e) ? prof__events_around(s, prof__lane_of(&k, e)->top,
                                                                e->start_ns, e->end_ns) : PROF_NONE;
        if (e->parent == PROF_NONE || !prof__is_zone(e)) continue;
        p = s->events + e->parent;
        if (p->first_child == PROF_NONE) p->first_child = i;
        else s->events[k.last_child[e->parent]].next_sibling = i;
        k.last_child[e->parent] = i;
    }
}

/* The list of the kernels that event i launched: its first. */
PROF__FN uint32_t prof__kernels_of(const struct prof_trace *s, uint32_t i) {
    bool any = s->side && !prof__is_work(s, s->events + i);
    return any ? s->side[i].of.host.first_kernel : PROF_NONE;
}

/* ---- duplicates: an only child of its parent's name. PyTorch: _remove_dup_nodes() ---- */

/* Drops them, in a trace made of events alone. */
PROF__FN void prof__merge_duplicates(struct prof_trace *s) {
    for (uint32_t i = 0; i < s->event_count; i++) {
        prof_event *e = s->events + i, *p;
        uint32_t first = prof__kernels_of(s, i);
        if (e->parent == PROF_NONE || e->next_sibling != PROF_NONE) continue;
        p = s->events + e->parent;
        if (p->first_child != i || strcmp(p->name, e->name) != 0) continue;
        e->flags |= PROF__EVENT_DROPPED;
        p->first_child = e->first_child;
        p->self_cpu_time_total_ns += e->self_cpu_time_total_ns;
        for (uint32_t c = e->first_child; c != PROF_NONE; c = s->events[c].next_sibling)
            s->events[c].parent = e->parent;
        if (first == PROF_NONE) continue;
        if (p->flags & PROF_EVENT_LEGACY && prof__kernels_of(s, e->parent) != PROF_NONE)
            continue;                    /* a legacy kernel covers the child's */
        prof__kernels_add(s, e->parent, first, s->side[i].of.host.last_kernel);
    }
}

/* The event that launched i, which is work on a device; PROF_NONE: it is not known. */
PROF__FN uint32_t prof__launcher_of(const struct prof_trace *s, uint32_t i) {
    return prof__is_work(s, s->events + i) ? s->side[i].of.work.launcher : PROF_NONE;
}

/* Removes the events that are dropped, and updates all that refers to others by number; work that
   was launched is in no list yet. scratch: 4 bytes an event. */
PROF__FN void prof__move_up(struct prof_trace *s, char *scratch) {
    uint32_t n = s->event_count, kept = 0, *index = (uint32_t *)(void *)scratch;
    for (uint32_t i = 0; i < n; i++)
        index[i] = s->events[i].flags & PROF__EVENT_DROPPED ? PROF_NONE : kept++;
    if (kept == n) return;
    for (uint32_t i = 0; i < s->memory.count; i++)
        s->memory.list[i].event = prof__moved(index, s->memory.list[i].event);
    for (uint32_t i = 0; i < n; i++) {
        prof_event *e = s->events + i;
        if (index[i] == PROF_NONE) continue;
        prof__event_moved(e, index);
        s->events[index[i]] = *e;
        if (s->side) s->side[index[i]] = s->side[i];
    }
    s->event_count = kept;
    PROF__ASSERT(prof__events_hold(s->events, kept));
}

/* ---- amounts, children included ---- */

/* Parents come before their children, so that one pass gives depths, and one from the end sums all
   subtrees. Self times are 0 before, or what duplicates left. */
PROF__FN void prof__sum_up(struct prof_trace *s) {
    for (uint32_t i = 0; i < s->event_count; i++) {
        prof_event *e = s->events + i;
        uint32_t depth = e->parent == PROF_NONE ? 0 : s->events[e->parent].depth + 1u;
        e->depth = (uint8_t)PROF__MIN(depth, 255u);
    }
    for (uint32_t i = s->event_count; i--;) {
        prof_event *e = s->events + i, *p = e->parent == PROF_NONE ? NULL : s->events + e->parent;
        int64_t *self = &e->self_cpu_time_total_ns, *device;
        if (prof__in_tree(e)) *self = PROF__PLUS(*self, prof__elapsed(e));
        if (p) p->self_cpu_time_total_ns = PROF__MINUS(p->self_cpu_time_total_ns, prof__elapsed(e));
        if (!s->side || !s->view.device_name) continue;
        device = &s->side[i].device_ns;
        if (!prof__in_tree(e) && !(e->flags & PROF_EVENT_ASYNC))
            *device = PROF__PLUS(*device, prof__elapsed(e));
        for (uint32_t k = prof__in_tree(e) ? prof__kernels_of(s, i) : PROF_NONE; k != PROF_NONE;
             k = s->side[k].of.work.next)
            *device = PROF__PLUS(*device, prof__kernel_at(s, k).duration_ns);
        if (p && !(p->flags & PROF_EVENT_LEGACY))
            s->side[e->parent].device_ns = PROF__PLUS(s->side[e->parent].device_ns, *device);
    }
}

/* ---- backward events get the stack of their forward. PyTorch: _set_backward_stacktraces() ---- */

/* Events by a thread's id and a sequence number: their own thread's, or the one they ask for. */
typedef struct prof__sequences {
    const struct prof_trace *s;
    uint32_t *index;                     /* two slots an event */
    bool asking;
    int64_t sequence_nr;                 /* the key that prof__sequence_same compares with, */
    uint64_t thread;                     /* both fields */
} prof__sequences;

PROF__FN int64_t prof__sequence_of(const prof_event *e) {
    return prof__has(e) & PROF_HAS_SEQUENCE_NR ? e->extra->sequence_nr : -1;
}

PROF__FN bool prof__sequence_same(const void *context, uint32_t number) {
    const prof__sequences *q = (const prof__sequences *)context;
    const prof_event *e = q->s->events + number;
    return prof__sequence_of(e) == q->sequence_nr &&
           (q->asking ? e->extra->fwd_thread : q->s->threads[e->thread].id) == q->thread;
}

PROF__FN uint32_t *prof__sequence_slot(prof__sequences *q, const prof_event *e, uint64_t thread) {
    q->sequence_nr = prof__sequence_of(e);
    q->thread = thread;
    return prof__slot_find(q->index, 2 * q->s->event_count,
                          (uint64_t)q->sequence_nr * 0x9e3779b1u ^ thread, prof__sequence_same, q);
}

/* The bytes of scratch memory that queries need. */
PROF__FN size_t prof__query_cost(const struct prof_trace *s) {
    size_t rows = prof__sites_of(s) + prof__other_rows(s) + s->detail_rows;
    return (size_t)s->event_count * (PROF__SLOT_COST + s->beside - sizeof(prof_event)) +
           rows * PROF__GROUP_COST + 4096;
}

/* The most that the passes need, averages with as many rows as events (percentiles: 72), and what
   writers keep of threads. */
PROF__FN size_t prof__built_scratch(size_t events, size_t threads) {
    return prof__align(events * (PROF__GROUP_COST + 72) + threads * 4 + 1024);
}

/* Takes memory from the end of the scratch memory; NULL: queries need it. */
PROF__FN char *prof__stack_take(struct prof_trace *s, size_t bytes) {
    size_t keep = s->built ? prof__built_scratch(s->event_count, s->thread_count)
                           : prof__query_cost(s);
    bytes = prof__align(bytes);
    if ((size_t)(prof__scratch_end(s) - s->scratch) < keep + bytes) return NULL;
    return s->limit -= bytes;
}

/* An event's extra, if no other event has it: modules, queues and zone stacks share theirs. NULL:
   it has none, or it is the caller's, whose events a trace was made of. */
PROF__FN prof_extra *prof__extra_own(const struct prof_trace *s, const prof_event *e) {
    bool own = e->extra && !s->built && !(e->extra->has & PROF__HAS_SHARED);
    return own ? (prof_extra *)(uintptr_t)e->extra : NULL;
}

/* Gives an event the stack of the forward event of asker: the backward event around it, or it. An
   extra that is not its own is copied. */
PROF__FN void prof__backward_set(prof__sequences *q, struct prof_trace *s, prof_event *e,
                                 const prof_event *asker) {
    uint32_t slot = prof__has(asker) & PROF_HAS_FWD_THREAD
        ? *prof__sequence_slot(q, asker, asker->extra->fwd_thread) : 0;
    const prof_extra *from = slot ? s->events[slot - 1].extra : NULL;
    prof_extra *x = prof__extra_own(s, e);
    if (!(e->extra && e->extra->stack_count) && !(from && from->stack_count)) return;
    if (!x) {
        x = (prof_extra *)(void *)prof__stack_take(s, sizeof *x);
        if (!x) {
            PROF__COUNT(prof__loose.not_kept);
            return;
        }
        s->detail_rows += !s->built;
        if (e->extra) *x = *e->extra;
        else memset(x, 0, sizeof *x);
        x->has &= ~(uint32_t)PROF__HAS_SHARED;
        e->extra = x;
    }
    x->stack = from ? from->stack : NULL;
    x->stack_count = from ? from->stack_count : 0;
    x->has &= ~(uint32_t)(PROF__HAS_NATIVE | PROF__HAS_PATH);
    if (from) x->has |= from->has & (PROF__HAS_NATIVE | PROF__HAS_PATH);
}

/* scratch: 12 bytes an event. */
PROF__FN void prof__set_backward_stacks(struct prof_trace *s, char *scratch) {
    uint32_t n = s->event_count, *root = (uint32_t *)(void *)scratch;
    prof__sequences q = { s, root + n, false, 0, 0 };
    memset(q.index, 0, 2 * n * sizeof *q.index);
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + i;
        uint32_t *slot;
        root[i] = e->extra && e->extra->scope == 1 ? i : prof__moved(root, e->parent);
        if (root[i] == i) s->outside.misplaced += !(prof__has(e) & PROF_HAS_FWD_THREAD);
        if (root[i] != PROF_NONE) continue;
        slot = prof__sequence_slot(&q, e, s->threads[e->thread].id);
        if (!*slot) *slot = i + 1;
    }
    for (uint32_t i = 0; i < n; i++)
        if (root[i] != PROF_NONE)
            prof__backward_set(&q, s, s->events + i, s->events + root[i]);
}

/* ---- device events to the events that launched them ---- */

PROF__FN int64_t prof__link_of(const prof_event *e) {
    return prof__has(e) & PROF_HAS_LINK ? e->extra->linked_correlation_id : 0;
}

/* Can work have a zone that launched it? Not in a session of devices alone. */
PROF__FN bool prof__zones_asked(const struct prof_trace *s) {
    return s->built || prof__session.activities & PROF_ACTIVITY_CPU;
}

/* A call of a device's library. */
PROF__FN bool prof__is_launch(const prof_event *e) {
    const char *type = e->extra ? e->extra->activity_type : NULL;
    return type && (prof__ends_with(type, "_runtime") || prof__ends_with(type, "_driver"));
}

/* Work was launched at ns in event i, and belongs to the innermost, of i and those around
   it, that is no call of a device's library; where all are, to i itself. */
PROF__FN void prof__launched_by(struct prof_trace *s, uint32_t work, uint32_t i, int64_t ns) {
    uint32_t launcher = i;
    while (launcher != PROF_NONE && prof__is_launch(s->events + launcher))
        launcher = s->events[launcher].parent;
    if (launcher == PROF_NONE) launcher = i;
    s->outside.misplaced += s->events[work].start_ns < ns;
    s->side[work].of.work.launcher = launcher;
    prof__kernels_add(s, launcher, work, work);
}

/* Joins by linked_correlation_id. Of events with the same id the first counts. scratch: 8 bytes an
   event. */
PROF__FN void prof__link_by_id(struct prof_trace *s, char *scratch) {
    uint32_t n = s->event_count;
    prof__ids ids = { (uint32_t *)(void *)scratch, 2 * n, prof__event_id, s->events };
    memset(scratch, 0, 2 * n * sizeof *ids.index);
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + i;
        uint32_t *slot;
        if (!(prof__has(e) & PROF_HAS_ID) || prof__link_of(e) || !prof__in_tree(e)) continue;
        slot = prof__id_slot(&ids, e->extra->id);
        if (!*slot) *slot = i + 1;       /* of several the first */
    }
    for (uint32_t i = 0; i < n; i++) {
        prof_event *e = s->events + i;
        int64_t id = prof__link_of(e);
        uint32_t *slot;
        if (!id) continue;
        slot = prof__id_slot(&ids, id);
        if (id < 0 || !*slot)
            s->outside.misplaced += e->device_type != PROF_DEVICE_CPU && prof__zones_asked(s);
        else if (e->device_type != PROF_DEVICE_CPU)
            prof__launched_by(s, i, *slot - 1, s->events[*slot - 1].start_ns);
        else e->thread = s->events[*slot - 1].thread;
    }
}

/* Is this event work that prof_launch told of? */
PROF__FN bool prof__was_launched(const struct prof_trace *s, const prof_event *e) {
    return prof__is_work(s, e) && prof__has(e) & PROF__HAS_PLACE;
}

/* Puts work that overlaps in a queue into rows of its own, while there are any left. */
PROF__FN void prof__launches_part(struct prof_trace *s) {
    int64_t until[PROF__QUEUES][PROF__ROWS];
    memset(until, 0, sizeof until);
    for (uint32_t i = 0; i < s->event_count; i++) {
        prof_event *e = s->events + i;
        uint32_t queue = 0, row = 0;
        if (!prof__was_launched(s, e)) continue;
        while (prof__devices.queues[queue].rows != e->extra) queue++;
        while (row < PROF__ROWS && until[queue][row] > e->start_ns) row++;
        s->outside.misplaced += row == PROF__ROWS;
        row = PROF__MIN(row, (uint32_t)PROF__ROWS - 1);
        until[queue][row] = PROF__MAX(until[queue][row], e->end_ns);
        e->extra += row;
    }
}

PROF__FN bool prof__launch_after(const void *trace, uint32_t a, uint32_t b) {
    const struct prof_trace *s = (const struct prof_trace *)trace;
    return s->side[a].of.work.launched_ns > s->side[b].of.work.launched_ns;
}

/* The innermost zone of a thread at ns, where *last is the last that began; *last becomes it. */
PROF__FN uint32_t prof__innermost(const struct prof_trace *s, uint32_t *last, int64_t ns) {
    return *last = prof__events_around(s, *last, ns, ns);
}

/* Joins launches to the zones that were the innermost of their threads then. scratch: 8 bytes an
   event, 4 a thread. */
PROF__FN void prof__link_by_time(struct prof_trace *s, char *scratch) {
    uint32_t *list = (uint32_t *)(void *)scratch, *last = list + 2 * s->event_count;
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < s->event_count; i++)
        if (prof__was_launched(s, s->events + i)) list[n++] = i;
    prof__sort(list, list + n, n, prof__launch_after, s);
    for (uint32_t t = 0; t < s->thread_count; t++) last[t] = PROF_NONE;
    for (uint32_t i = 0; i <= s->event_count; i++) {
        const prof_event *e = i < s->event_count ? s->events + i : NULL;
        for (; at < n; at++) {
            int64_t ns = s->side[list[at]].of.work.launched_ns;
            uint32_t zone;
            if (e && ns >= e->start_ns) break;
            zone = prof__innermost(s, last + s->events[list[at]].thread, ns);
            if (zone == PROF_NONE) s->outside.misplaced += prof__zones_asked(s);
            else prof__launched_by(s, list[at], zone, ns);
        }
        if (e && prof__is_zone(e)) last[e->thread] = i;
    }
}

/* ---- memory: each free finds its allocation, and zones are charged ---- */

PROF__FN bool prof__memory_after(const void *memory, uint32_t a, uint32_t b) {
    return ((const prof__memory *)memory)[a].ns > ((const prof__memory *)memory)[b].ns;
}

/* Puts the records in the order of time. scratch: 8 bytes a record, and a copy of all. */
PROF__FN void prof__memory_sort(struct prof_trace *s, char *scratch) {
    uint32_t *order = (uint32_t *)(void *)scratch, n = s->memory.count;
    prof__memory *copy = (prof__memory *)(void *)(order + 2 * n);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    if (!prof__sort(order, order + n, n, prof__memory_after, s->memory.list)) return;
    memcpy(copy, s->memory.list, n * sizeof *copy);
    for (uint32_t i = 0; i < n; i++) s->memory.list[i] = copy[order[i]];
}

typedef struct prof__memory_key { const prof__memory *list, *want; } prof__memory_key;
PROF__FN bool prof__memory_same(const void *context, uint32_t number) {
    const prof__memory_key *k = (const prof__memory_key *)context;
    const prof__memory *m = k->list + number;
    return m->address == k->want->address && prof__device_is(m->device, k->want->device);
}

/* The bytes by which a record changes what is in use; 0 where it does not count. slot: of the last
   allocation at its address. */
PROF__FN int64_t prof__memory_change(struct prof_trace *s, prof__memory *m, uint32_t *slot) {
    prof__memory *old = *slot ? s->memory.list + *slot - 1 : NULL;
    if (m->what == PROF__ALLOCATED) {
        *slot = (uint32_t)(m - s->memory.list) + 1;
        if (!old || old->what != PROF__ALLOCATED) return m->bytes;
        old->what = PROF__FREED;         /* its free was missed */
        m->next = (uint32_t)(old - s->memory.list) + 1;
        s->memory.unmatched++;
        return m->bytes - old->bytes;
    }
    if (m->what != PROF__FREE) return 0;
    if (!(old && old->what == PROF__ALLOCATED) && m->bytes) {
        m->what = PROF__FREE_OLDER;
        return m->bytes = -m->bytes;
    }
    if (old && old->what == PROF__ALLOCATED) {
        old->what = PROF__FREED;
        m->category = old->category;
        return m->bytes = -old->bytes;
    }
    m->what = PROF__NOT_COUNTED;
    s->memory.unmatched++;
    return 0;
}

/* The bytes in use on each device; further devices share the last entry. */
typedef struct prof__in_use { const prof__memory *last[32]; int64_t bytes[32]; } prof__in_use;

/* Charges zones. A change's own event is dropped where a zone has the change, or it does not count.
   scratch: 8 bytes a record. */
PROF__FN void prof__memory_charge(struct prof_trace *s, char *scratch) {
    uint32_t n = s->memory.count, *index = (uint32_t *)(void *)scratch;
    prof__in_use in_use;
    prof__memory_key key;
    memset(index, 0, 2 * n * sizeof *index);
    memset(&in_use, 0, sizeof in_use);
    s->memory.unmatched = 0;
    key.list = s->memory.list;
    for (uint32_t i = 0; i < n; i++) {
        prof__memory *m = s->memory.list + i;
        bool host = prof__device_is_host(m->device);
        uint32_t at = 0;
        int64_t change;
        prof_event *own = m->event != PROF_NONE ? s->events + m->event : NULL;
        if (own && !(own->flags & PROF__EVENT_MEMORY)) own = NULL;
        if (own && own->parent != PROF_NONE) {
            if (m->next == PROF_NONE) m->event = own->parent;
            if (m->next == PROF_NONE) own->flags |= PROF__EVENT_DROPPED;
            own->parent = PROF_NONE;
        }
        key.want = m;
        m->next = 0;
        change = m->what == PROF__NO_MEMORY ? 0
               : prof__memory_change(s, m, prof__slot_find(index, 2 * n, m->address,
                                                          prof__memory_same, &key));
        while (at < 31 && in_use.last[at] &&
               !prof__device_is(in_use.last[at]->device, m->device)) at++;
        in_use.last[at] = m;
        if (m->what != PROF__FREE_OLDER)
            in_use.bytes[at] = (int64_t)((uint64_t)in_use.bytes[at] + (uint64_t)change);
        m->total = in_use.bytes[at];
        for (uint32_t z = s->side ? m->event : PROF_NONE; z != PROF_NONE; z = s->events[z].parent) {
            int64_t *bytes = host ? &s->side[z].of.host.cpu_bytes : &s->side[z].device_bytes;
            *bytes = (int64_t)((uint64_t)*bytes + (uint64_t)change);
        }
        if (!host && m->what != PROF__NOT_COUNTED && !s->view.device_name)
            s->view.device_name = prof__device_title(m->device.type);
        if (m->what == PROF__NOT_COUNTED && own) own->flags |= PROF__EVENT_DROPPED;   /* a free's */
    }
}

/* ---- all of these steps, for events in order ---- */

/* Makes the tree of events from outside, together with recorded ones. */
PROF__FN void prof__outside_tree(struct prof_trace *s, uint32_t lanes) {
    char *scratch = s->scratch;
    prof__link(s, scratch, lanes);
    if (s->built) prof__merge_duplicates(s);
    if (s->memory.count) prof__memory_sort(s, scratch);
    if (s->memory.count) prof__memory_charge(s, scratch);
    prof__move_up(s, scratch);
    if (s->outside.launched) prof__launches_part(s);
    if (s->side && !s->built) prof__link_by_id(s, scratch);
    if (s->outside.launched) prof__link_by_time(s, scratch);
    prof__sum_up(s);
}

/* ---- @EVENTS: the array of a trace's events, and closes from it or from records ----

   This room makes the array once a query needs it. Where it does not fit queries read records,
   until prof_events lends memory.
   - Closes tell the same, from the array and from records. */

/* ---- traces without a session ---- */

PROF__FN bool prof__outside_after(const void *events, uint32_t a, uint32_t b) {
    const prof_event *x = (const prof_event *)events + a, *y = (const prof_event *)events + b;
    if (x->start_ns != y->start_ns) return x->start_ns > y->start_ns;
    return x->end_ns < y->end_ns;
}

/* Makes an empty trace of events that lies behind it in memory, with all that it needs; returns
   the bytes of both. memory NULL: only counts. */
PROF__FN size_t prof__built_lay(struct prof_trace *s, char *memory, const prof_trace_desc *d,
                                const prof_event *events, size_t count) {
    size_t kernels = 0, own = 0, threads = d->threads ? d->thread_count : count;
    prof__pack k = { memory, 0 };
    bool wide = false;
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < count; i++) {
        const prof_extra *x = events[i].extra;
        wide = wide || x || events[i].device_type != PROF_DEVICE_CPU;
        kernels += x ? x->kernel_count : 0;
        if (x && x->scope == 1) own = count * prof__align(sizeof *x);   /* for their stacks */
    }
    (void)prof__pack_bytes(&k, NULL, sizeof *s, 16);
    s->events = (prof_event *)prof__pack_bytes(&k, NULL, count * sizeof *s->events, 16);
    kernels += count;                    /* see prof__side_open */
    if (wide) s->side = (prof__side *)prof__pack_bytes(&k, NULL, kernels * sizeof *s->side, 16);
    s->threads = (prof_thread_info *)prof__pack_bytes(&k, NULL, threads * sizeof *s->threads, 16);
    s->scratch = (char *)prof__pack_bytes(&k, NULL, prof__built_scratch(count, threads) + own, 16);
    s->limit = memory ? memory + k.used : NULL;
    return k.used;
}

PROF__CALL size_t prof_trace_memory_size(const prof_trace_desc *desc, const prof_event *events,
                                         size_t count) {
    struct prof_trace s;
    if (!desc || (count && !events) || count > SIZE_MAX / 2048) return SIZE_MAX;
    return 16 + prof__built_lay(&s, NULL, desc, events, count);
}

PROF__FN int64_t prof__thread_id(const void *threads, uint32_t i) {
    return (int64_t)((const prof_thread_info *)threads)[i].id;
}

/* Copies the valid events, with threads by number; given: the caller numbered them. Else they are
   numbered in the order of their first events. */
PROF__FN void prof__built_copy(struct prof_trace *s, const prof_event *from, size_t count,
                               bool given) {
    prof__ids ids = { (uint32_t *)(void *)s->scratch, 2 * (uint32_t)count, prof__thread_id,
                      s->threads };
    uint32_t last = 0;
    if (!given) memset(ids.index, 0, ids.slots * sizeof *ids.index);
    for (size_t i = 0; i < count; i++) {
        prof_event *e = s->events + s->event_count;
        if (!prof__event_right(from + i)) {
            s->outside.rejected++;
            continue;
        }
        *e = from[i];
        if (!e->name) e->name = "(null)";
        e->parent = e->first_child = e->next_sibling = PROF_NONE;
        e->site = 0;
        e->depth = 0;
        e->flags = (uint16_t)((e->flags & 0xff) | PROF_EVENT_SUBMITTED);
        if (!given && (!s->event_count || s->threads[last].id != e->thread)) {
            uint32_t *slot = prof__id_slot(&ids, (int64_t)e->thread);
            if (!*slot) {
                s->threads[s->thread_count].id = e->thread;
                s->threads[s->thread_count].name = NULL;
                *slot = ++s->thread_count;
            }
            last = *slot - 1;
        }
        if (!given) e->thread = last;
        s->event_count++;
    }
}

PROF__CALL prof_result prof_trace_from_events(const prof_trace_desc *desc,
                                               const prof_event *events, size_t count,
                                               prof_trace **trace) {
    struct prof_trace *s;
    char *memory;
    if (!desc || !desc->memory || !trace || (count && !events)) return PROF_ERROR_INVALID;
    if (count > INT32_MAX - 1 || desc->thread_count > INT32_MAX || count > SIZE_MAX / 2048)
        return PROF_ERROR_INVALID;
    for (size_t i = 0; desc->threads && i < count; i++)
        if (events[i].thread >= desc->thread_count) return PROF_ERROR_INVALID;
    if (desc->memory_size < prof_trace_memory_size(desc, events, count)) return PROF_ERROR_MEMORY;
    memory = (char *)(((uintptr_t)desc->memory + 15u) & ~(uintptr_t)15u);
    s = (struct prof_trace *)(void *)memory;
    (void)prof__built_lay(s, memory, desc, events, count);
    s->self = s;
    s->built = s->stopped = true;
    s->read = PROF__READ_EVENTS;
    s->view = desc->view;
    s->sums_in_us = desc->sums_in_us;
    s->start_wall_ns = (uint64_t)desc->base_time_ns;
    prof__built_copy(s, events, count, desc->threads != NULL);
    if (desc->threads) {
        memcpy(s->threads, desc->threads, desc->thread_count * sizeof *s->threads);
        s->thread_count = (uint32_t)desc->thread_count;
    }
    (void)prof__events_sort(s, NULL, prof__outside_after);
    prof__outside_tree(s, s->event_count);
    if (s->outside.any_backward) prof__set_backward_stacks(s, s->scratch);
    s->outside_count = s->event_count;
    *trace = s;
    return PROF_OK;
}

/* ---- with_stack: the zones around each event, one array for each distinct path ---- */

/* A path: the names of a zone and of all zones around it. */
typedef struct prof__path {
    const prof_extra *base, *extra;      /* what its zones share, and that with the stack */
    uint32_t parent, site;               /* parent: the path around; PROF_NONE: there is none */
} prof__path;

typedef struct prof__paths { prof__path *list, want; } prof__paths;

PROF__FN bool prof__path_same(const void *context, uint32_t number) {
    const prof__paths *p = (const prof__paths *)context;
    const prof__path *a = p->list + number;
    return a->parent == p->want.parent && a->site == p->want.site && a->base == p->want.base;
}

/* The extra of the path that is wanted: entries are "file(line): function", or the name where the
   site is not in the source. NULL: no room. */
PROF__FN const prof_extra *prof__path_extra(struct prof_trace *s, const prof__paths *p) {
    const prof_extra *above = p->want.parent == PROF_NONE ? NULL : p->list[p->want.parent].extra;
    const prof_site *site = prof__site(p->want.site);
    const char *first = *site->file ? site->file : site->name, **stack;
    size_t count = above ? above->stack_count : 0;
    size_t size = strlen(first) + strlen(site->function) + 16;
    prof_extra *x = (prof_extra *)(void *)prof__stack_take(
        s, sizeof *x + (count + 1) * sizeof *stack + size + PROF__GROUP_COST);
    if (!x) {
        PROF__COUNT(prof__loose.not_kept);
        return NULL;
    }
    stack = (const char **)(void *)(x + 1);
    memset(x, 0, sizeof *x);
    if (p->want.base) *x = *p->want.base;
    x->has |= PROF__HAS_SHARED;
    x->has |= PROF__HAS_PATH;
    x->stack = stack;
    x->stack_count = (uint32_t)count + 1;
    stack[0] = (char *)(void *)(stack + count + 1);
    (void)prof__text_f((char *)(void *)(stack + count + 1), size, *site->file ? "%s(%u): %s" : "%s",
                       first, (uint64_t)site->line, site->function);
    if (above) memcpy(stack + 1, above->stack, count * sizeof *stack);
    s->detail_rows++;
    return x;
}

/* Gives zones the stacks of their paths. scratch: 44 bytes an event. */
PROF__FN void prof__stacks_set(struct prof_trace *s) {
    uint32_t n = s->event_count, count = 0, *of_event = (uint32_t *)(void *)s->scratch;
    uint32_t *index = of_event + n, *slot;
    prof__paths p;
    if (!n || !prof__session.desc.with_stack) return;
    if ((size_t)(prof__scratch_end(s) - s->scratch) < prof__query_cost(s)) {
        PROF__COUNT(prof__loose.not_kept);
        return;
    }
    memset(index, 0, 2 * n * sizeof *index);
    p.list = (prof__path *)(((uintptr_t)(index + 2 * n) + 7) & ~(uintptr_t)7);
    for (uint32_t i = 0; i < n; i++) {
        prof_event *e = s->events + i;
        prof_extra *own = prof__extra_own(s, e);
        of_event[i] = p.want.parent = prof__moved(of_event, e->parent);
        if (!e->site || e->flags & PROF_EVENT_SUBMITTED) continue;
        p.want.site = e->site;
        p.want.base = own ? NULL : e->extra;
        slot = prof__slot_find(index, 2 * n, (uint64_t)p.want.parent << 32 | e->site,
                               prof__path_same, &p);
        if (!*slot) {
            p.want.extra = prof__path_extra(s, &p);
            p.list[count++] = p.want;
            *slot = count;
        }
        of_event[i] = *slot - 1;
        p.want.extra = p.list[of_event[i]].extra;
        if (!own && p.want.extra) e->extra = p.want.extra;
        if (!own || !p.want.extra || own->stack_count) continue;
        own->has |= PROF__HAS_PATH;
        own->stack = p.want.extra->stack;
        own->stack_count = p.want.extra->stack_count;
    }
}

PROF__FN bool prof__address_after(const void *symbols, uint32_t a, uint32_t b) {
    const prof__symbol *list = (const prof__symbol *)symbols;
    return list[a].address > list[b].address;
}

/* Names the addresses of all call stacks that have no text, as far as there is room beside what the
   analysis was promised. Their list, sorted, and as much again, is in the scratch memory. */
PROF__FN void prof__trails_name(struct prof_trace *s) {
    prof__symbol *from = (prof__symbol *)(void *)s->scratch;
    size_t keep = prof__arena.promised, total = 0, at = 0;
    uint32_t *order;
    prof__symbols n;
    for (uint32_t i = 0; i < prof__trails.count; i++)
        total += prof__trails.list[i]->named ? 0 : prof__trails.list[i]->count;
    if (!prof__trails.count || (size_t)(s->limit - s->scratch) /
                               (2 * sizeof *from + 2 * sizeof *order) <= total) return;
    for (uint32_t i = 0; i < prof__trails.count; i++) {
        prof__trail *r = prof__trails.list[i];
        for (uint32_t k = 0; !r->named && k < r->count; k++, at++) {
            from[at].address = r->addresses[k];
            from[at].text = r->texts + k;
            from[at].entry = !k;
        }
    }
    memset(&n, 0, sizeof n);
    n.count = (uint32_t)total;
    n.list = from + total;
    order = (uint32_t *)(void *)(n.list + total);
    for (uint32_t i = 0; i < n.count; i++) order[i] = i;
    prof__sort(order, order + total, n.count, prof__address_after, from);
    for (uint32_t i = 0; i < n.count; i++) n.list[i] = from[order[i]];
    n.low = PROF__MAX((char *)(n.list + n.count), s->scratch + keep);
    n.high = s->limit;
    if (n.low > n.high) return;
    prof__symbols_name(&n);
    s->limit = (char *)((uintptr_t)n.high & ~(uintptr_t)15u);
    for (uint32_t i = 0; i < prof__trails.count; i++) {
        prof__trail *r = prof__trails.list[i];
        uint32_t k = 0;
        while (k < r->count && r->texts[k]) k++;
        r->named = k == r->count;
    }
}

/* ---- arrows ---- */

PROF__FN int64_t prof__flow_id(const void *moments, uint32_t i) {
    return ((const prof__moment *)moments)[i].value;
}

/* Puts all moments into one list, without arrows of only one end, and second ends. scratch: 8 bytes
   a moment. */
PROF__FN void prof__moments_list(struct prof_trace *s) {
    prof__ids ids = { (uint32_t *)(void *)s->scratch, 2 * s->moment_count, prof__flow_id,
                      s->moments };
    prof__moment *to = s->moments;
    for (const struct prof__noted *n = prof__details_now.noted; n; n = n->next) *to++ = n->moment;
    memset(ids.index, 0, ids.slots * sizeof *ids.index);
    for (uint32_t i = 0; i < s->moment_count; i++) {
        prof__moment *m = s->moments + i;
        if (m->kind != PROF__MOMENT_FLOW) continue;
        *prof__id_slot(&ids, m->value) = i + 1;
        m->kind = PROF__MOMENT_NONE;     /* until its end is found */
    }
    for (uint32_t i = 0; i < s->moment_count; i++) {
        prof__moment *m = s->moments + i, *begin = NULL;
        uint32_t slot;
        if (m->kind != PROF__MOMENT_FLOW_END) continue;
        slot = *prof__id_slot(&ids, m->value);
        if (slot) begin = s->moments + slot - 1;
        if (!begin || begin->kind == PROF__MOMENT_FLOW) m->kind = PROF__MOMENT_NONE;
        else begin->kind = PROF__MOMENT_FLOW;
    }
}

PROF__FN prof_event *prof__others_copy(struct prof_trace *s, const struct prof__submitted *from,
                                       prof_event *to) {
    for (; from; from = from->next) {
        bool memory = from->event.flags & PROF__EVENT_MEMORY;
        prof__memory *m = s->memory.list + s->memory.count;
        if (memory) *m = ((const prof__late *)(const void *)from)->memory;
        s->memory.count += memory;
        if (from->event.flags & PROF__EVENT_DROPPED) continue;
        *to = from->event;
        to->parent = to->first_child = to->next_sibling = PROF_NONE;
        if (memory) to->extra = &prof__details_now.unnamed;
        if (memory) m->event = (uint32_t)(to - s->events);
        to++;
    }
    return to;
}

/* Copies events that are no zones behind the zones, sorts all, and makes one tree of them. */
PROF__FN void prof__analyse_outside(struct prof_trace *s) {
    prof_event *to = s->events + s->zone_count;
    const uint32_t *index = (const uint32_t *)(const void *)s->scratch + s->event_count;
    s->memory.count = 0;
    to = prof__others_copy(s, prof__details_now.made, to);
    to = prof__others_copy(s, s->outside.first, to);
    prof__launches_copy(s, to);
    if (prof__events_sort(s, s->outside.launched ? s->side : NULL, prof__events_after))
        for (uint32_t i = 0; i < s->memory.count; i++)
            s->memory.list[i].event = prof__moved(index, s->memory.list[i].event);
    prof__outside_tree(s, s->thread_count + s->outside_count + s->detail_rows);
    prof__stacks_set(s);
    if (s->outside.any_backward) prof__set_backward_stacks(s, s->scratch);
}

/* Why a device could not record everything in this trace; NULL: it could, or was not asked. */
PROF__FN const char *prof__device_status(const prof_trace *trace, uint32_t i) {
    const prof_device_desc *d = &prof__devices.list[i].desc;
    bool asked = !trace->built && (prof__session.activities & d->activity);
    if (asked && PROF__LOAD(prof__devices.list[i].refused)) return PROF__KEEPS_NONE;
    return asked && d->status ? (d->status)(d->user) : NULL;
}

/* Lays out moments, memory and the sides of events from p on. Returns their end. */
PROF__FN char *prof__beside_lay(struct prof_trace *s, char *p) {
    s->moments = (prof__moment *)(void *)p;
    p += prof__align(s->moment_count * sizeof *s->moments);
    s->memory.list = (prof__memory *)(void *)p;
    p += prof__align(s->memory.count * sizeof *s->memory.list);
    if (!prof__wide(s)) return p;
    s->side = (prof__side *)(void *)p;
    return p + s->event_count * sizeof *s->side;
}

/* ---- where a session's events go, and what happens where they do not fit ---- */

PROF__FN void prof__queries_open(struct prof_trace *s) {
    s->sites = PROF__ACQUIRE(prof__sites.count);
    s->limit = prof__arena.high;
    s->outside.misplaced = 0;
    s->ranges_twice = 0;
}

/* If events do not fit, queries work from the records. */
PROF__FN void prof__analysis_refuse(struct prof_trace *s, size_t bytes) {
    bytes += s->detail_bytes + 32;
    (void)PROF__FAIL(PROF_ERROR_MEMORY,
                     "the events take %u bytes: give prof_events memory, or set prof_desc.keep",
                     (uint64_t)bytes);
    s->limit = prof__arena.high;
    s->instants = false;
    s->memory.count = 0;
    s->side = NULL;
    s->events = NULL;
    s->scratch = (char *)s->threads + prof__align(s->thread_count * sizeof *s->threads);
}

PROF__CALL size_t prof_event_kernels(const prof_trace *trace, const prof_event *event,
                                     prof_kernel *kernels, size_t max) {
    size_t n = 0;
    uint32_t at;
    if (!prof__valid(trace) || !event || !trace->side) return 0;
    at = prof__kernels_of(trace, (uint32_t)(event - trace->events));
    for (; at != PROF_NONE; at = trace->side[at].of.work.next, n++) {
        prof_kernel k = prof__kernel_at(trace, at);
        if (!k.name) k.name = "(null)";
        if (kernels && n < max) kernels[n] = k;
    }
    return n;
}

PROF__CALL const char *prof_hw_counter_name(const prof_trace *trace, uint32_t i) {
    bool counted = prof__valid(trace) && !trace->built && i < prof__counting.count;
    return counted ? prof__counting.names[i] : NULL;
}

/* ---- closes, from the events ---- */

/* The reader's turn: one thread at a time reads records, since each reading counts anew. Who has it
   opens it no second time but in a user's function: prof__long_left tells these by their depth. */
PROF__FN bool prof__reading_open(void) { return prof__own(&prof__recorder.reading, false); }
PROF__FN void prof__reading_close(bool taken) {
    if (taken) prof__disown(&prof__recorder.reading);
}

/* Lends the caller's memory to an analysis that found no room. False: too little. */
PROF__FN bool prof__analysis_lend(struct prof_trace *s, void *memory, size_t size) {
    size_t skip = (0 - (uintptr_t)memory) & 15u;
    bool lent = memory && skip < size, taken = prof__reading_open();
    if (s->read != PROF__READ_NO_ROOM) lent = false;
    if (lent) {
        s->scratch = (char *)memory + skip;
        s->events = (prof_event *)(void *)s->scratch;
        s->limit = (char *)memory + size;
        s->read = PROF__READ_RECORDS;
    }
    prof__reading_close(taken);
    return lent;
}

/* Does the trace have anything beside zones, which only events have? */
PROF__FN bool prof__needs_events(const struct prof_trace *s) {
    return s->beside || prof__others(s);
}

PROF__FN void prof__counters_add(int64_t *to, const prof_extra *x) {
    for (uint32_t i = 0; x && i < PROF__MIN(x->counter_count, PROF_COUNTERS); i++)
        to[i] = PROF__PLUS(to[i], x->counters[i]);
}

/* What an event has besides its times. In no tree, it has no bytes of its own. */
PROF__FN void prof__beside_of_event(prof__beside *b, const struct prof_trace *s,
                                    const prof_event *e) {
    prof__amounts *all = &b->all, *within = &b->within;
    const prof__side *side = s->side + (e - s->events);
    memset(b, 0, sizeof *b);
    all->device_ns = side->device_ns;
    all->cpu_bytes = !prof__is_work(s, e) ? side->of.host.cpu_bytes
                   : e->extra ? e->extra->cpu_memory_usage : 0;
    all->device_bytes = side->device_bytes;
    b->flops = e->extra ? e->extra->flops : 0;
    b->counted = e->extra && e->extra->counter_count;
    prof__counters_add(all->counters, e->extra);
    if (!prof__in_tree(e)) {
        within->cpu_bytes = all->cpu_bytes;
        within->device_bytes = all->device_bytes;
    }
    for (uint32_t c = e->first_child; c != PROF_NONE; c = s->events[c].next_sibling) {
        side = s->side + c;
        within->device_ns = PROF__PLUS(within->device_ns, side->device_ns);
        within->cpu_bytes = PROF__PLUS(within->cpu_bytes, side->of.host.cpu_bytes);
        within->device_bytes = PROF__PLUS(within->device_bytes, side->device_bytes);
        prof__counters_add(within->counters, s->events[c].extra);
    }
}

PROF__FN prof__close prof__event_close(const struct prof_trace *s, uint32_t i, prof__beside *b);

/* Walks the tree by its links: each event comes after all that lie in it. feed NULL: for its depth
   alone, which it returns. */
PROF__FN uint32_t prof__closes_of_events(const struct prof_trace *s, const prof__feed *feed) {
    uint32_t number = 0, deepest = 0;
    for (uint32_t root = 0; root < s->event_count; root++) {
        uint32_t i = root, depth = 0;
        bool up = false;                 /* what lies in i has been handed on */
        while (s->events[root].parent == PROF_NONE) {
            prof__beside b;
            prof__close c;
            for (; !up && s->events[i].first_child != PROF_NONE; depth++)
                i = s->events[i].first_child;
            deepest = PROF__MAX(deepest, depth);
            if (feed) {
                c = prof__event_close(s, i, &b);
                c.depth = depth;
                c.number = c.from = number++;
                (feed->take)(feed->user, &c);
            }
            if (!depth) break;
            up = s->events[i].next_sibling == PROF_NONE;
            i = up ? s->events[i].parent : s->events[i].next_sibling;
            depth -= up;
        }
    }
    return deepest;
}

/* ---- zones that are in no timeline: @SUMS has them ---- */

PROF__FN const char *prof__tally_name(const prof__tally *r) {
    return r->site ? prof__site(r->site >> 8)->name : "(others)";
}

PROF__FN prof_average prof__sums_average(const struct prof_trace *s, const prof__tally *r);

/* Are there zones that are in no timeline? */
PROF__FN PROF__RACES bool prof__any_sums(const struct prof_trace *s) {
    return !s->built && (s->sums.full_tick || PROF__LOAD(s->sums.any_deep));
}

/* PROF_MODE_AGGREGATE: no zone is kept, and there are rows of sums alone. */
PROF__FN bool prof__sums_alone(const struct prof_trace *s) { return s->sums.average != NULL; }

PROF__FN size_t prof__sums_averages(const struct prof_trace *s, const prof_averages_desc *by,
                                    prof_average *rows, size_t max) {
    return (s->sums.average)(rows, rows ? max : 0, by && by->group_by_site);
}

/* Memory for rows that are made of them. most: how many. */
PROF__FN prof_average *prof__sums_room(const struct prof_trace *s, size_t *most) {
    *most = s->sums.merged.slots;
    return s->sums.rows;
}

/* Marks the row as recursive if its last call lies in this one. events: NULL: rows of records. */
PROF__INLINE void prof__group_recurs(const prof_event *events, prof__group *r,
                                     const prof__close *c) {
    if (!events) {
        r->last = r->count && r->last >= c->from ? PROF_NONE : c->number;
    } else if (r->last != PROF_NONE) {
        uint32_t up = r->count ? r->last : PROF_NONE;   /* parents come before their children */
        while (up != PROF_NONE && up > c->what) up = events[up].parent;
        r->last = up == c->what ? PROF_NONE : c->what;
    }
}

/* Of these rows, the first of a thread's sums; NULL: all its zones are in the timeline. */
#define prof__group_sums(r) ((r)->sums)

#endif

/* ---- a session's events ---- */

PROF__FN void prof__thread_fill(struct prof_trace *s, prof__row *row) {
    prof__context_name(row);
    if (PROF__BARE) row->thread = s->thread_count++;
    if (row->thread == PROF_NONE) return;
    s->threads[row->thread] = row->info;
    if (row->name[0]) s->threads[row->thread].name = row->name;
}

/* Lays out what the analysis makes of the records. all: what was read had room. False: it does not
   fit; where a host promised room, only if the reader added "(lost)" zones. */
PROF__FN bool prof__analysis_open(struct prof_trace *s, bool all) {
    size_t n = s->event_count, left;
    char *p = prof__beside_lay(s, (char *)(void *)(s->events + n));
    n *= PROF__SLOT_COST + s->beside - sizeof(prof_event) - (prof__wide(s) ? sizeof *s->side : 0);
    PROF__HOST(n += s->detail_rows * PROF__LANE_COST);   /* each may be of a node of its own */
    if (PROF__BARE) n += prof__sites_of(s) * prof__site_cost();
    else if (prof__lean(s) && n) n += prof__sites_of(s) * prof__site_cost() + 4096;
    left = p <= prof__scratch_end(s) ? (size_t)(prof__scratch_end(s) - p) : 0;
    if (p <= prof__scratch_end(s) && left >= n && (all || p == (char *)s->events)) {
        s->scratch = p;
        return true;
    }
    PROF__HOST(prof__analysis_refuse(s, (size_t)(p - (char *)s->events) + n));
    s->read = PROF__READ_NO_ROOM;
    s->event_count = s->moment_count = 0;
    s->moments = NULL;
    return false;
}

/* Prepares a session for queries, once: lists threads, lays out memory. */
PROF__FN void prof__prepare(struct prof_trace *s) {
    if (s->threads) return;
    s->threads = (prof_thread_info *)(void *)prof__arena.low;
    for (prof__row *row = prof__rows_unused(s); row; row = prof__row_again_of(row))
        prof__thread_fill(s, row);       /* each index has a row, also of a thread without zones */
    for (prof__row *row = s->rows; row; row = row->next) prof__thread_fill(s, row);
    s->events = (prof_event *)(void *)(prof__arena.low +
                                       prof__align(s->thread_count * sizeof *s->threads));
    s->scratch = (char *)(void *)s->events;
    prof__queries_open(s);
}

/* Makes the events unless they are made already, in the memory that was promised for them, or in
   what is free. The caller has the reader's turn. */
PROF__FN void prof__analyse_now(struct prof_trace *s) {
    static prof__tree tree;
    prof__feed feed;
    if (s->read >= PROF__READ_NO_ROOM) return;
    prof__prepare(s);
    PROF__HOST(prof__trails_name(s));
    s->read = PROF__READ_EVENTS;
    memset(&tree, 0, sizeof tree);
    tree.s = s;
    tree.room = (size_t)(prof__scratch_end(s) - (char *)(void *)s->events) / sizeof *s->events;
    memset(&feed, 0, sizeof feed);
    feed.take = prof__tree_take;
    feed.segment = PROF__BARE ? NULL : prof__tree_segment;
    feed.ran = prof__who_ran();
    feed.row = prof__tree_row;
    feed.event = prof__wide(s) ? &tree.made : NULL;
    feed.user = &tree;
    prof__read_rows(s, &feed, &tree.room);
    s->event_count = s->zone_count + prof__others(s);
    if (!prof__analysis_open(s, tree.room != 0)) return;
    PROF__HOST(s->instants = tree.instants);
    if (prof__others(s) || prof__wide(s)) PROF__HOST(prof__analyse_outside(s));
    else if (s->row_count > 1 || tree.instants)
        (void)prof__events_sort(s, NULL, prof__events_after);
    PROF__HOST(prof__moments_list(s));
    PROF__ASSERT(prof__events_hold(s->events, (uint32_t)s->event_count));
}

/* Without the reader's turn. False: there is no room for the events. */
PROF__FN bool prof__analyse(const prof_trace *trace) {
    struct prof_trace *s = &prof__trace;
    bool taken, made;
    if (trace != s) return true;
    taken = prof__reading_open();
    prof__analyse_now(s);
    made = s->read == PROF__READ_EVENTS;
    prof__reading_close(taken);
    return made;
}

PROF__CALL const prof_event *prof_events(const prof_trace *trace, void *memory, size_t size,
                                         size_t *count) {
    bool made = prof__valid(trace) &&
                (prof__analyse(trace) || (prof__analysis_lend(&prof__trace, memory, size) &&
                                          prof__analyse(trace)));
    if (count) *count = made ? trace->event_count : 0;
    return made && trace->event_count ? trace->events : NULL;
}

PROF__CALL const prof_thread_info *prof_threads(const prof_trace *trace, size_t *count) {
    bool ok = prof__valid(trace);
    if (ok && trace == &prof__trace) prof__prepare(&prof__trace);
    if (count) *count = ok ? trace->thread_count : 0;
    return ok && trace->thread_count ? trace->threads : NULL;
}

/* ---- what an event sums up to ---- */

PROF__CALL prof_event_totals prof_event_total(const prof_trace *trace, const prof_event *event) {
    prof_event_totals t;
    memset(&t, 0, sizeof t);
    if (!prof__valid(trace) || !event) return t;
    if (event->site) t.site = prof__site(event->site);
    t.cpu_time_total_ns = prof__cpu_ns(event);
    t.self_cpu_time_total_ns = event->self_cpu_time_total_ns;
    if (prof__side_of(trace)) {
        prof__beside b;
        prof__beside_of_event(&b, trace, event);
        t.device_time_total_ns = b.all.device_ns;
        t.cpu_memory_usage = b.all.cpu_bytes;
        t.device_memory_usage = b.all.device_bytes;
        t.self_device_time_total_ns = PROF__MINUS(b.all.device_ns, b.within.device_ns);
        t.self_cpu_memory_usage = PROF__MINUS(b.all.cpu_bytes, b.within.cpu_bytes);
        t.self_device_memory_usage = PROF__MINUS(b.all.device_bytes, b.within.device_bytes);
    }
    return t;
}

/* ---- closes, from the records or from the events ---- */

/* The close of an event. b: memory for its amounts. */
PROF__FN prof__close prof__event_close(const struct prof_trace *s, uint32_t i, prof__beside *b) {
    const prof_event *e = s->events + i;
    prof__close c;
    memset(&c, 0, sizeof c);
    c.start_ns = e->start_ns;
    c.end_ns = e->end_ns;
    c.cpu_ns = prof__cpu_ns(e);
    c.self_ns = e->self_cpu_time_total_ns;
    c.beside = prof__side_of(s) ? b : NULL;
    c.what = c.order = i;
    c.thread = e->thread;
    c.flags = e->flags;
    if (c.beside) prof__beside_of_event(b, s, e);
    return c;
}

/* Are there only zones, and no events yet, so that records suffice? Else makes the events. The
   caller has the reader's turn. */
PROF__FN bool prof__from_records(const prof_trace *trace) {
    struct prof_trace *s = &prof__trace;
    if (!PROF__BARE && trace != s) return false;
    prof__prepare(s);
    if (prof__needs_events(s)) prof__analyse_now(s);
    return PROF__BARE || s->read != PROF__READ_EVENTS;
}

/* Hands all closes to take, from the records where these suffice: see prof__from_records. segment:
   reads records, faster for this take. The caller has the reader's turn. */
PROF__FN void prof__closes(const struct prof_trace *s, prof__taker *take, prof__segmenter *segment,
                           void *user) {
    prof__feed feed;
    memset(&feed, 0, sizeof feed);
    feed.take = take;
    feed.user = user;
    feed.segment = segment;
    feed.ran = prof__who_ran();
    if (prof__from_records(s)) prof__count_rows(&prof__trace, &feed);
    else PROF__HOST((void)prof__closes_of_events(s, &feed));
}

/* ---- @AVERAGES: events to one row per name, shape, stack ----

   This room adds closes up, one row for all that prof_averages_desc does not tell apart. Rows are
   in the scratch memory until the next query.
   - Until a table sorts them, rows are in the order of their first events: by (start, -end), order,
     thread, depth.
   - Rows are the same whether closes come from records or from events.
   - Zones that are only in sums join their row at the end, or make a row after the others. */

/* The rows in the scratch memory. A zone that carries nothing finds its row by its site, others by
   a hash of what tells rows apart. */
typedef struct prof__groups {
    const struct prof_trace *s;
    prof_averages_desc by;
    bool records;                        /* rows are made of records, and not of events */
    prof__group *rows;
    uint32_t *row_of_site, *index;       /* row + 1; 0: none */
    uint32_t *order;                     /* the rows in first-seen order */
    uint32_t count, slots;
    struct prof__percentile *percentiles;          /* three of each row; NULL: no percentiles */
    uint32_t shift;                      /* a quarter of their ranges is 2^shift ns */
} prof__groups;

/* The memory after the rows, where a table puts its own order of them. */
PROF__FN char *prof__groups_end(const prof__groups *g) { return (char *)(g->index + g->slots); }

PROF__FN void prof__groups_open(prof__groups *g, const struct prof_trace *s,
                                const prof_averages_desc *by, bool records) {
    uint32_t sites = prof__sites_of(s), max = sites + prof__other_rows(s) + s->detail_rows;
    memset(g, 0, sizeof *g);
    g->s = s;
    if (by) g->by = *by;
    g->records = PROF__BARE || records;
    g->slots = 2 * max + 1;
    g->rows = (prof__group *)(void *)s->scratch;
    g->row_of_site = (uint32_t *)(void *)(g->rows + max);
    g->index = g->row_of_site + sites;
    memset(g->row_of_site, 0, (sites + g->slots) * sizeof(uint32_t));
}

/* What tells rows of one name apart in any case: node, device type, legacy, user annotation. */
PROF__FN uint64_t prof__kind(const prof_event *e) {
    uint32_t flags = e->flags & (PROF_EVENT_LEGACY | PROF_EVENT_USER_ANNOTATION);
    if (PROF__BARE) return 0;
    return (uint64_t)(uint32_t)prof__node_id(e) << 32 | flags << 8 | e->device_type;
}

PROF__FN const char *prof__overload(const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    return x && x->overload_name ? x->overload_name : "";
}

PROF__FN uint32_t prof__hash_more(uint32_t h, const char *s) {
    for (; s && *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return (h ^ 255u) * 16777619u;
}

/* How many shapes are known: an event may have inputs without their shapes. */
PROF__FN uint32_t prof__shape_count(const prof_extra *x) {
    return x && x->input_shapes ? x->input_count : 0;
}

PROF__FN uint32_t prof__hash_shapes(uint32_t h, const prof_shape *shapes, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        const prof_shape *s = shapes + k;
        h = (h ^ (s->count + (s->items ? 1u << 16 : 0u))) * 16777619u;
        if (s->items) h = prof__hash_shapes(h, s->items, s->count);
        for (uint32_t i = 0; s->dims && !s->items && i < s->count; i++)
            h = (h ^ (uint32_t)s->dims[i] ^ (uint32_t)((uint64_t)s->dims[i] >> 32)) * 16777619u;
    }
    return h;
}

PROF__FN uint32_t prof__stack_part(const prof_averages_desc *by, const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    return x ? PROF__MIN(x->stack_count, by->group_by_stack_n) : 0;
}

PROF__FN uint32_t prof__group_hash(const prof_averages_desc *by, const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    uint64_t kind = prof__kind(e);
    uint32_t h = prof__hash_more(2166136261u ^ (uint32_t)(kind ^ kind >> 19), e->name);
    if (!PROF__BARE && by->group_by_overload_name) h = prof__hash_more(h, prof__overload(e));
    h = prof__hash_site(h, prof__group_site(by, e));
    if (!x) return h;
    if (by->group_by_input_shapes) h = prof__hash_shapes(h, x->input_shapes, prof__shape_count(x));
    for (uint32_t i = 0; i < prof__stack_part(by, e); i++) h = prof__hash_more(h, x->stack[i]);
    return h;
}

PROF__FN bool prof__same_shapes(const prof_shape *a, const prof_shape *b, uint32_t n) {
    for (; n--; a++, b++) {
        if (a->count != b->count || !a->items != !b->items) return false;
        if (a->items ? !prof__same_shapes(a->items, b->items, a->count)
                     : a->count && a->dims != b->dims &&
                       (!a->dims || !b->dims || memcmp(a->dims, b->dims,
                                                       a->count * sizeof *a->dims) != 0))
            return false;
    }
    return true;
}

PROF__FN bool prof__same_group(const prof_averages_desc *by, const prof_event *a,
                              const prof_event *b) {
    const prof_extra *x = prof__extra_of(a), *y = prof__extra_of(b);
    uint32_t n = prof__stack_part(by, a);
    if (prof__kind(a) != prof__kind(b) || strcmp(a->name, b->name) != 0) return false;
    if (!prof__same_site(prof__group_site(by, a), prof__group_site(by, b))) return false;
    if (!PROF__BARE && by->group_by_overload_name &&
        strcmp(prof__overload(a), prof__overload(b)) != 0) return false;
    if (by->group_by_input_shapes && (prof__shape_count(x) != prof__shape_count(y) ||
            (x && y && !prof__same_shapes(x->input_shapes, y->input_shapes,
                                          prof__shape_count(x))))) return false;
    if (n != prof__stack_part(by, b)) return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(prof__text(x->stack[i]), prof__text(y->stack[i])) != 0) return false;
    return true;
}

PROF__FN void prof__group_open(prof__group *r) {
    memset(r, 0, sizeof *r);
    r->min_ns = INT64_MAX;
    r->max_ns = INT64_MIN;
    r->rank.start_ns = PROF__NO_RANK;
}

/* Is no zone of this row in the timeline? */
PROF__FN bool prof__group_is_sums(const prof__group *r) {
    return prof__group_sums(r) && r->rank.start_ns == PROF__NO_RANK;
}

/* A zone that carries nothing, as an event of its site. */
PROF__FN prof_event prof__site_event(uint32_t site) {
    prof_event e;
    memset(&e, 0, sizeof e);
    e.name = prof__site(site)->name;
    if (!PROF__BARE) e.site = site;
    e.parent = PROF_NONE;
    return e;
}

/* An event of a row, to compare with. first: the row's. */
PROF__FN prof_event prof__group_event(const prof__groups *g, uint32_t first, bool is_site) {
    const prof_event *e;
    if (PROF__BARE || g->records || is_site) return prof__site_event(first);
    e = g->s->events + first;
    return prof__is_partial(e->flags) && e->site ? prof__site_event(e->site) : *e;
}

/* Finds the row of an event by its hash, or makes one, with `first`. */
PROF__FN uint32_t prof__group_find(prof__groups *g, const prof_event *e, uint32_t first) {
    uint32_t hash = prof__group_hash(&g->by, e);
    uint32_t at = (uint32_t)((uint64_t)hash * g->slots >> 32);   /* a Cortex-M0 cannot divide */
    prof__group *r;
    for (; g->index[at]; at = at + 1 == g->slots ? 0 : at + 1) {
        prof_event other;
        r = g->rows + g->index[at] - 1;
        if (r->hash != hash) continue;
        other = prof__group_event(g, r->first, prof__group_is_sums(r));
        if (prof__same_group(&g->by, e, &other)) return g->index[at] - 1;
    }
    r = g->rows + g->count;
    prof__group_open(r);
    r->first = first;
    r->hash = hash;
    g->index[at] = ++g->count;
    return g->count - 1;
}

PROF__RARE uint32_t prof__group_new(prof__groups *g, uint32_t what) {
    prof_event e = prof__group_event(g, what, false);
    return prof__group_find(g, &e, what);
}

/* A close's row, by site or event. Sums leave out what a zone carries. */
PROF__COLD_END
PROF__EAGER uint32_t prof__group_of(prof__groups *g, uint32_t what) {
    uint32_t site = what, *row;
    if (!PROF__BARE && !g->records) {
        const prof_event *e = g->s->events + what;
        bool carries = prof__extra_of(e) || e->flags & ~PROF_EVENT_UNFINISHED;
        site = carries && !prof__is_partial(e->flags) ? 0 : e->site;
        if (!site) return prof__group_find(g, e, what);
    }
    row = g->row_of_site + prof__site_dense(site);
    if (PROF__UNLIKELY(!*row)) *row = prof__group_new(g, what) + 1;
    return *row - 1;
}

/* Adds a call to its row; of a partial one only what its children took. */
PROF__EAGER void prof__call_add(prof__group *r, const prof__close *c) {
#define PROF__SUM(sum, self, field)                             \
    sum = PROF__PLUS(sum, b->all.field);                        \
    self = PROF__PLUS(self, PROF__MINUS(b->all.field, b->within.field))
    const prof__beside *b = c->beside;
    prof__group_wide *w = prof__wide_of(r);
    r->self_cpu_ns = PROF__PLUS(r->self_cpu_ns, c->self_ns);
    if (PROF__UNLIKELY(prof__is_partial(c->flags))) {
        r->self_cpu_ns = PROF__MINUS(r->self_cpu_ns, c->cpu_ns);
    } else {
        r->count++;
        r->cpu_ns = PROF__PLUS(r->cpu_ns, c->cpu_ns);
        if (c->cpu_ns < r->min_ns) r->min_ns = c->cpu_ns;
        if (c->cpu_ns > r->max_ns) r->max_ns = c->cpu_ns;
    }
    if (PROF__BARE || !b) return;
    PROF__SUM(w->device_ns, w->self_device_ns, device_ns);
    PROF__SUM(w->cpu_bytes, w->self_cpu_bytes, cpu_bytes);
    PROF__SUM(w->device_bytes, w->self_device_bytes, device_bytes);
    w->flops = PROF__PLUS(w->flops, b->flops);
    for (int i = 0; b->counted && i < PROF_COUNTERS; i++) {
        PROF__SUM(w->counters[i], w->self_counters[i], counters[i]);
    }
#undef PROF__SUM
}

PROF__EAGER void prof__group_take(void *groups, const prof__close *c) {
    prof__groups *g = (prof__groups *)groups;
    prof__group *r = g->rows + prof__group_of(g, c->what);
    PROF__HOST(prof__group_recurs(g->records ? NULL : g->s->events, r, c));
    if (prof__rank_take(&r->rank, c)) r->first = c->what;
    prof__group_on_cpu(r, c);
    prof__call_add(r, c);
}

/* An average without sums, with the fields that the first event of its row tells. */
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

PROF__FN void prof__average_sums(prof_average *a, const prof__group *r) {
    a->count = r->count;
    a->cpu_time_total_ns = r->cpu_ns;
    a->self_cpu_time_total_ns = r->self_cpu_ns;
    a->min_ns = r->count ? r->min_ns : 0;
    a->max_ns = r->count ? r->max_ns : 0;
    prof__average_on_cpu(a, r);
    if (PROF__BARE) return;
    memcpy((char *)a + offsetof(prof_average, device_time_total_ns), prof__wide_of(r),
           offsetof(prof__group_wide, cpu_us));
}

/* Fills in the sums of a row with this call alone. */
PROF__FN void prof__average_call(prof_average *a, const prof__close *c) {
    prof__group sum;
    prof__close whole = *c;
    whole.flags = 0;
    prof__group_open(&sum);
    prof__call_add(&sum, &whole);
    prof__average_sums(a, &sum);
}

/* Clears the fields that rows are not grouped by. */
PROF__FN void prof__average_by(prof_average *a, const prof_averages_desc *by) {
    if (!PROF__BARE && !by->group_by_overload_name) a->overload_name = "";
    if (!by->group_by_input_shapes) {
        a->input_shapes = NULL;
        a->input_count = PROF_NONE;
    }
    if (!PROF__BARE) a->stack_count = PROF__MIN(a->stack_count, by->group_by_stack_n);
}

/* Adds the sums of a row to another's, but for percentiles. */
PROF__FN void prof__average_join(prof_average *into, const prof_average *from) {
#define PROF__SUM(field) into->field = PROF__PLUS(into->field, from->field)
    const size_t end = offsetof(prof_average, overload_name);
    size_t i = offsetof(prof_average, device_time_total_ns);
    if (from->count) {
        into->min_ns = into->count ? PROF__MIN(into->min_ns, from->min_ns) : from->min_ns;
        into->max_ns = into->count ? PROF__MAX(into->max_ns, from->max_ns) : from->max_ns;
    }
    into->count += from->count;
    PROF__SUM(cpu_time_total_ns);
    PROF__SUM(self_cpu_time_total_ns);
    PROF__SUM(on_cpu_ns);
    for (; !PROF__BARE && i < end; i += sizeof(int64_t)) {
        int64_t *sum = (int64_t *)(void *)((char *)into + i);
        *sum = PROF__PLUS(*sum, *(const int64_t *)(const void *)((const char *)from + i));
    }
    into->is_recursive = into->is_recursive || from->is_recursive;
#undef PROF__SUM
}

#if !PROF__BARE
PROF__FN void prof__group_segment(prof__reader *r, const prof__record *c, const prof__record *end) {
    prof__read_records(r, c, end, prof__group_take);
}

PROF__COLD_BEGIN

/* The time that deep zones take off the self times of zones with records. It is nothing if some of
   those records are gone or in no row: then a zone around deep ones keeps it. */
PROF__FN uint64_t prof__tally_around(const prof__tally *r) {
    const struct prof_trace *s = &prof__trace;
    return s->records_only || s->overwritten ? 0 : r->around;
}

/* Adds the threads' sums to the rows of plain zones. Names without a row get one after those of the
   timeline, in the order of threads, and in each as they first came. */
PROF__FN void prof__sums_into_rows(prof__groups *g) {
    const prof__state *t = prof__any_sums(g->s) ? prof__used(NULL) : NULL;
    for (; t; t = prof__used(t))
        for (prof__tally *r = t->sums.tallies.others; r; r = r->next) {
            uint32_t site = r->site ? r->site >> 8 : prof__sites.others, row;
            prof_event plain;
            if (!prof__tally_calls(r) && !prof__tally_around(r)) continue;
            plain = prof__site_event(site);
            row = prof__group_find(g, &plain, site);
            r->same = g->rows[row].sums;
            g->rows[row].sums = r;
        }
}

/* Adds up CPU times in double microseconds, as PyTorch does for Kineto's times: where a mean is
   half way between two figures, the rounding errors of that sum decide. */
PROF__FN void prof__groups_us(prof__groups *g) {
    if (!g->s->sums_in_us) return;
    for (uint32_t i = 0; i < g->s->event_count; i++) {
        const prof_event *e = g->s->events + i;
        if (e->device_type == PROF_DEVICE_CPU)
            g->rows[prof__group_of(g, i)].wide.cpu_us +=
                (double)e->end_ns / 1000 - (double)e->start_ns / 1000;
    }
}

/* ---- percentiles in constant memory: each pass over all closes counts how many lie in each
   quarter of the range that has a percentile, and narrows the range to one quarter ---- */

/* A percentile: the rank-th smallest of the durations from low on. parts: how many of these are in
   each of the first three quarters of its range. */
typedef struct prof__percentile { int64_t low; uint32_t rank, parts[3]; } prof__percentile;

PROF__FN void prof__percentiles_take(void *groups, const prof__close *c) {
    prof__groups *g = (prof__groups *)groups;
    prof__percentile *p = g->percentiles + 3 * (size_t)prof__group_of(g, c->what);
    for (int i = 0; i < 3 && !prof__is_partial(c->flags); i++) {
        uint64_t part = ((uint64_t)c->cpu_ns - (uint64_t)p[i].low) >> g->shift;
        if (part < 3) p[i].parts[part]++;
    }
}

/* Takes memory behind the order that a table makes; without enough there are no percentiles. */
PROF__FN void prof__groups_percentiles(prof__groups *g) {
    static const uint32_t hundredths[] = { 50, 90, 99 };
    uintptr_t at = (uintptr_t)prof__groups_end(g) + 2 * g->count * sizeof(uint32_t);
    uintptr_t end = (uintptr_t)prof__scratch_end(g->s);
    const size_t n = 3 * (size_t)g->count;
    uint64_t range = 0;
    at = (at + 7) & ~(uintptr_t)7;
    if (end < at || end - at < n * sizeof *g->percentiles) return;
    g->percentiles = (prof__percentile *)at;
    memset(g->percentiles, 0, n * sizeof *g->percentiles);
    for (size_t i = 0; i < n; i++) {
        const prof__group *r = g->rows + i / 3;
        g->percentiles[i].low = r->min_ns;
        g->percentiles[i].rank = (uint32_t)((r->count * hundredths[i % 3] + 99) / 100);
        if (r->count) range |= (uint64_t)r->max_ns - (uint64_t)r->min_ns;
    }
    for (g->shift = 64; g->shift;) {
        g->shift -= 2;
        if (!(range >> g->shift)) continue;
        prof__closes(g->s, prof__percentiles_take, NULL, g);
        for (size_t i = 0; i < n; i++) { /* narrows the range to the quarter that has it */
            prof__percentile *p = g->percentiles + i;
            uint32_t part = 0;
            for (; part < 3 && p->rank > p->parts[part]; part++) p->rank -= p->parts[part];
            p->low = PROF__PLUS(p->low, (uint64_t)part << g->shift);
            memset(p->parts, 0, sizeof p->parts);
        }
    }
}

/* Fills in what only hosts have: the row's site, percentiles, and zones that are only in sums. */
PROF__FN void prof__average_more(prof_average *a, const prof__groups *g, uint32_t row,
                                 const prof_event *first) {
    const prof__group *r = g->rows + row;
    prof_average sums;
    a->site = prof__group_site(&g->by, first);
    a->is_recursive = r->last == PROF_NONE;
    if (g->percentiles && r->count) {
        a->p50_ns = g->percentiles[3 * (size_t)row].low;
        a->p90_ns = g->percentiles[3 * (size_t)row + 1].low;
        a->p99_ns = g->percentiles[3 * (size_t)row + 2].low;
    }
    if (!r->sums) return;
    sums = prof__sums_average(g->s, r->sums);
    (void)prof_average_add(a, &sums);
    if (!g->percentiles) a->p50_ns = a->p90_ns = a->p99_ns = 0;   /* nobody asked for them */
}

/* ---- rows of several traces ---- */

/* The share of a row's calls of t or less, spread evenly between min, percentiles and max. */
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

/* The time that this share of both rows' calls did not exceed. */
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

PROF__CALL prof_result prof_average_add(prof_average *into, const prof_average *from) {
    const size_t begin = offsetof(prof_average, overload_name);
    prof_average before;
    bool known;
    if (!into || !from || !from->key) return PROF_ERROR_INVALID;
    if (into->key && strcmp(into->key, from->key) != 0)
        return PROF__FAIL(PROF_ERROR_INVALID,
                          "prof_average_add: rows of different names, '%s' and '%s'", into->key,
                          from->key);
    if (!into->key) {                    /* takes what tells rows apart, but no sums */
        into->key = from->key;
        into->site = from->site;
        memcpy((char *)into + begin, (const char *)from + begin,
               offsetof(prof_average, is_recursive) - begin);
    }
    before = *into;
    prof__average_join(into, from);
    if (!from->count) return PROF_OK;
    known = before.p50_ns && from->p50_ns;
    into->p50_ns = !before.count ? from->p50_ns : known ? prof__both_share(&before, from, 0.5) : 0;
    into->p90_ns = !before.count ? from->p90_ns : known ? prof__both_share(&before, from, 0.9) : 0;
    into->p99_ns = !before.count ? from->p99_ns : known ? prof__both_share(&before, from, 0.99) : 0;
    return PROF_OK;
}
#endif

/* ---- the rows, and all calls as one ---- */

/* Rows that are only in sums come last: they have no rank. */
PROF__FN bool prof__group_after(const void *groups, uint32_t a, uint32_t b) {
    const prof__group *rows = ((const prof__groups *)groups)->rows;
    return prof__rank_after(&rows[a].rank, &rows[b].rank);
}

PROF__FN void prof__groups_make(prof__groups *g, const prof_trace *trace,
                                const prof_averages_desc *by) {
    bool taken = prof__reading_open();
    uint32_t n = 0;
    prof__groups_open(g, trace, by, prof__from_records(trace));
    prof__closes(trace, prof__group_take, prof__group_segment, g);
    PROF__HOST(prof__groups_us(g));
    PROF__HOST(prof__sums_into_rows(g));
    if (g->by.percentiles) PROF__HOST(prof__groups_percentiles(g));
    g->order = g->index;                 /* the index is no longer needed */
    for (uint32_t i = 0; i < g->count; i++)
        if (g->rows[i].count || prof__group_sums(g->rows + i)) g->order[n++] = i;
    g->count = n;
    prof__sort(g->order, g->order + g->count, g->count, prof__group_after, g);
    prof__reading_close(taken);
}

/* The average of row i in first-seen order. */
PROF__FN prof_average prof__group_average(const prof__groups *g, uint32_t i) {
    uint32_t row = g->order[i];
    const prof__group *r = g->rows + row;
    bool is_sums = prof__group_is_sums(r);
    prof_event first = prof__group_event(g, r->first, is_sums);
    prof_average a;
    if (g->records && !is_sums && r->rank.depth) first.parent = 0;
    a = prof__average_of(&first, g->records ? i : is_sums ? PROF_NONE : r->first);
    prof__average_sums(&a, r);
    prof__average_by(&a, &g->by);
    PROF__HOST(prof__average_more(&a, g, row, &first));
    return a;
}

PROF__CALL size_t prof_key_averages(const prof_trace *trace, const prof_averages_desc *desc,
                                    prof_average *rows, size_t max) {
    prof__groups g;
    if (!prof__valid(trace)) return 0;
    if (prof__sums_alone(trace)) return prof__sums_averages(trace, desc, rows, max);
    prof__groups_make(&g, trace, desc);
    for (uint32_t i = 0; rows && i < g.count && i < max; i++) rows[i] = prof__group_average(&g, i);
    return g.count;
}

/* Makes the rows of PROF_MODE_AGGREGATE. False: the trace is of another mode. */
PROF__FN bool prof__averages_of_sums(const prof_trace *trace, const prof_averages_desc *by,
                                  prof_average **rows, uint32_t *count) {
    size_t most;
    if (!prof__sums_alone(trace)) return false;
    *rows = prof__sums_room(trace, &most);
    *count = (uint32_t)PROF__MIN(most, prof__sums_averages(trace, by, *rows, most));
    return true;
}

PROF__CALL prof_average prof_total_average(const prof_trace *trace) {
    prof_average total, *rows = NULL;
    prof_event last;
    prof__groups g;
    uint32_t n = 0;
    memset(&total, 0, sizeof total);
    memset(&last, 0, sizeof last);
    total.input_count = PROF_NONE;
    if (prof__valid(trace) && !prof__averages_of_sums(trace, NULL, &rows, &n)) {
        prof__groups_make(&g, trace, NULL);
        n = g.count;
        if (!PROF__BARE && trace->event_count) last = trace->events[trace->event_count - 1];
        if (n && !prof__group_is_sums(g.rows + g.order[0]))
            total = prof__average_of(&last, PROF_NONE);
    }
    for (uint32_t i = 0; i < n; i++) {
        prof_average row = rows ? rows[i] : prof__group_average(&g, i);
        prof__average_join(&total, &row);
    }
    total.key = "Total";
    if (!total.overload_name) total.overload_name = "";
    total.parent = PROF_NONE;
    total.is_recursive = false;
    return total;
}

/* ---- @TABLE: EventList.table(), as text, CSV and JSON ----

   This room writes rows of averages, or events as rows of one call each. One list of columns makes
   text, CSV and JSON, and the metrics by which rows are sorted.
   - Shares are of all rows, whether they are shown or not.
   - Notes below a table tell what is missing in its figures: prof__note_text. */

/* The columns, in the order of the text: name; what a cell shows; the member of prof_average; head,
   where @ stands for the device's name and $ for a counter's; field of CSV and JSON, "": none. On
   targets HOST columns have no head. PROF__FIELDS_LAST are fields only. */
#define PROF__COLUMNS_EACH(X, HOST) \
    X(NAME, NAME, key, "Name", "key") \
    HOST(OVERLOAD, NAME, overload_name, "Overload Name", "overload_name") \
    PROF__COLUMN_SITE(HOST) \
    X(SELF_CPU_PERCENT, PERCENT, self_cpu_time_total_ns, "Self CPU %", "") \
    X(SELF_CPU, TIME, self_cpu_time_total_ns, "Self CPU", "self_cpu_time_total") \
    X(CPU_PERCENT, PERCENT, cpu_time_total_ns, "CPU total %", "") \
    X(CPU, TIME, cpu_time_total_ns, "CPU total", "cpu_time_total") \
    X(CPU_MEAN, MEAN, cpu_time_total_ns, "CPU time avg", "cpu_time") \
    X(ON_CPU, TIME, on_cpu_ns, "On CPU", "on_cpu") \
    HOST(MIN, TIME, min_ns, "min", "min") \
    X(P50, TIME, p50_ns, "p50", "p50") \
    X(P90, TIME, p90_ns, "p90", "p90") \
    X(P99, TIME, p99_ns, "p99", "p99") \
    X(MAX, TIME, max_ns, "max", "max") \
    HOST(SELF_DEVICE, TIME, self_device_time_total_ns, "Self @", "self_device_time_total") \
    HOST(SELF_DEVICE_PERCENT, PERCENT, self_device_time_total_ns, "Self @ %", "") \
    HOST(DEVICE, TIME, device_time_total_ns, "@ total", "device_time_total") \
    HOST(DEVICE_MEAN, MEAN, device_time_total_ns, "@ time avg", "device_time") \
    HOST(CPU_MEMORY, MEMORY, cpu_memory_usage, "CPU Mem", "cpu_memory_usage") \
    HOST(SELF_CPU_MEMORY, MEMORY, self_cpu_memory_usage, "Self CPU Mem", "self_cpu_memory_usage") \
    HOST(DEVICE_MEMORY, MEMORY, device_memory_usage, "@ Mem", "device_memory_usage") \
    HOST(SELF_DEVICE_MEMORY, MEMORY, self_device_memory_usage, "Self @ Mem", \
         "self_device_memory_usage") \
    PROF__COLUMN_COUNTERS(HOST) \
    X(COUNT, INTEGER, count, "# of Calls", "count") \
    HOST(NODE, INTEGER, node_id, "Node ID", "node_id") \
    HOST(SHAPES, SHAPES, input_shapes, "Input Shapes", "input_shapes") \
    HOST(FLOPS, FLOPS, flops, "Total FLOPs", "flops") \
    HOST(SOURCE, PATH, stack, "Source Location", "stack")
#define PROF__FIELDS_LAST(X) \
    X(DEVICE_TYPE, INTEGER, device_type, "", "device_type") \
    X(IS_ASYNC, FLAG, is_async, "", "is_async") \
    X(IS_REMOTE, FLAG, is_remote, "", "is_remote") \
    X(IS_LEGACY, FLAG, is_legacy, "", "is_legacy") \
    X(IS_USER_ANNOTATION, FLAG, is_user_annotation, "", "is_user_annotation")

#define PROF__COLUMN_NUMBER(name, shows, member, head, field) PROF__COL_##name,
enum {
    PROF__COLUMNS_EACH(PROF__COLUMN_NUMBER, PROF__COLUMN_NUMBER)
    PROF__COLUMNS, PROF__FIELDS_BEFORE = PROF__COLUMNS - 1,
    PROF__FIELDS_LAST(PROF__COLUMN_NUMBER)
    PROF__FIELDS_END
};

enum { PROF__SHOW_NAME, PROF__SHOW_PERCENT, PROF__SHOW_TIME, PROF__SHOW_MEAN, PROF__SHOW_MEMORY,
       PROF__SHOW_INTEGER, PROF__SHOW_NS_PER, PROF__SHOW_FLOPS, PROF__SHOW_FLAG,
       PROF__SHOW_SHAPES, PROF__SHOW_PATH, PROF__SHOW_SITE };
typedef struct prof__column { uint8_t shows; prof__at at; } prof__column;
#define PROF__COLUMN_OF(name, shows, member, head, field) \
    { PROF__SHOW_##shows, offsetof(prof_average, member) },
static const prof__column prof__columns[] = {
    PROF__COLUMNS_EACH(PROF__COLUMN_OF, PROF__COLUMN_OF) PROF__FIELDS_LAST(PROF__COLUMN_OF)
};

/* A row's value in a column of numbers; times in ns. */
PROF__FN int64_t prof__row_number(const prof_average *r, int column) {
    const char *at = (const char *)r + prof__columns[column].at;
    if (!PROF__BARE && column == PROF__COL_NODE) return r->node_id;
    if (!PROF__BARE && column >= PROF__COL_DEVICE_TYPE) return *at;
    return *(const int64_t *)(const void *)at;
}

/* The name of a column's field in the list, with its $; "": it has none. */
PROF__FN const char *prof__column_field(int column) {
#define PROF__COLUMN_FIELD(name, shows, member, head, field) field "\0"
    static const char fields[] =
        PROF__COLUMNS_EACH(PROF__COLUMN_FIELD, PROF__COLUMN_FIELD)
        PROF__FIELDS_LAST(PROF__COLUMN_FIELD);
    return prof__text_of(fields, (size_t)column);
}

/* The column of a metric; that of PROF_METRIC_NONE is the name. */
PROF__FN int prof__metric_column(prof_metric metric) {
    static const uint8_t columns[] = {
        PROF__COL_NAME, PROF__COL_SELF_CPU, PROF__COL_CPU, PROF__COL_CPU_MEAN, PROF__COL_COUNT,
        PROF__COL_SELF_DEVICE, PROF__COL_DEVICE, PROF__COL_DEVICE_MEAN, PROF__COL_CPU_MEMORY,
        PROF__COL_SELF_CPU_MEMORY, PROF__COL_DEVICE_MEMORY, PROF__COL_SELF_DEVICE_MEMORY,
        PROF__COL_FLOPS };
    return columns[(size_t)metric < sizeof columns ? (size_t)metric : 0];
}

#define PROF__FITTED (PROF__BARE ? 1 : (int)PROF__COLUMNS)   /* columns that can be fitted */

/* Rows are averages, the caller's own, or the events themselves, seen as averages of one. Who makes
   rows of a trace, and its notes, is called by a pointer: a target that writes only rows of its own
   links nothing of it. */
typedef struct prof__table {
    const struct prof_trace *trace;      /* NULL: the rows are the caller's */
    prof_average (*made)(const struct prof__table *t, uint32_t i);   /* a row; NULL: of `rows` */
    void (*notes)(struct prof__table *t);
    const prof_table_desc *desc;
    prof_view view;
    const prof__groups *groups;
    prof_average *rows;
    uint32_t count, row;                 /* row: the one being written */
    size_t width[PROF__COLUMNS];         /* 0: no such column */
    int64_t self_cpu_ns, self_device_ns; /* 100 % of the shares */
    int64_t rows_cpu_ns, rows_device_ns; /* sums over the rows */
    int64_t least_flops;                 /* the smallest above 0 */
    int flops_power;                     /* the FLOPs column is in 1000^this */
    bool fitted;                         /* columns were narrowed or left out to fit a line: */
    size_t need[PROF__FITTED];           /* the width of the widest cell or head; 0: no such column.
                                            It is left out if it has no width */
    bool filled[PROF__FITTED];           /* some cell has a figure other than 0, or a text */
    prof__out out;
    prof_table_desc usual;               /* where none is given */
} prof__table;

#define PROF__COLUMN 12

PROF__FN prof_average prof__table_row(const prof__table *t, uint32_t i) {
    return t->rows ? t->rows[i] : (t->made)(t, i);
}

PROF__FN prof_average prof__table_made(const prof__table *t, uint32_t i) {
    prof_average r;
    prof__beside b;
    prof__close c;
    if (PROF__BARE || t->groups) return prof__group_average(t->groups, i);
    r = prof__average_of(t->trace->events + i, i);
    c = prof__event_close(t->trace, i, &b);
    prof__average_call(&r, &c);
    return r;
}

/* ---- order ---- */

PROF__FN int64_t prof__metric_of(const prof_average *r, prof_metric metric) {
    int column = prof__metric_column(metric);
    return prof__row_number(r, column ? column : PROF__COL_SELF_CPU);
}

PROF__FN prof__real prof__mean_us(int64_t ns, uint64_t count) {
    return prof__real_over(prof__us(ns), (int64_t)count);
}

/* A mean in whole ns, towards 0. */
PROF__FN int64_t prof__mean_ns(int64_t ns, uint64_t count) {
    uint64_t whole = ns < 0 ? 0 : (uint64_t)ns;
    if (!PROF__BARE) return count ? ns / (int64_t)count : 0;
    if (count) (void)prof__divide(&whole, (uint32_t)count);
    return (int64_t)whole;
}

/* Is a's metric below b's? Means are compared as doubles, as in PyTorch. */
PROF__FN bool prof__average_below(const prof_average *a, const prof_average *b,
                                  prof_metric metric) {
    int64_t x = prof__metric_of(a, metric), y = prof__metric_of(b, metric);
    if (metric == PROF_METRIC_CPU_TIME || metric == PROF_METRIC_DEVICE_TIME)
        return prof__real_below(prof__mean_us(x, a->count), prof__mean_us(y, b->count));
    return x < y;
}

/* The sums of row i whose cpu_us is its CPU time as Python adds it up; NULL: whole ns are exact. */
PROF__FN const prof__group_wide *prof__table_raw(const prof__table *t, uint32_t i) {
    if (PROF__BARE || !t->groups || !t->trace->sums_in_us) return NULL;
    return prof__wide_of(t->groups->rows + t->groups->order[i]);
}

PROF__FN bool prof__table_after(const void *table, uint32_t a, uint32_t b) {
    const prof__table *t = (const prof__table *)table;
    prof_average x, y;
    if (t->desc->sort_by == PROF_METRIC_CPU_TIME_TOTAL && prof__table_raw(t, a))
        return prof__table_raw(t, a)->cpu_us < prof__table_raw(t, b)->cpu_us;
    x = prof__table_row(t, a);
    y = prof__table_row(t, b);
    return prof__average_below(&x, &y, t->desc->sort_by);
}

/* Does row a come after row b? Equal ones keep their first-seen order. */
PROF__FN bool prof__row_after(const prof_average *a, const prof_average *b, prof_metric metric) {
    if (prof__average_below(a, b, metric)) return true;
    return !prof__average_below(b, a, metric) && a->first > b->first;
}

/* A shell sort, which needs no memory. */
PROF__FN void prof__rows_sort(prof_average *rows, size_t n, prof_metric metric) {
    for (size_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 7 / 16) {
        for (size_t i = gap; i < n; i++) {
            prof_average moved = rows[i];
            size_t to = i;
            for (; to >= gap && prof__row_after(rows + to - gap, &moved, metric); to -= gap)
                rows[to] = rows[to - gap];
            rows[to] = moved;
        }
    }
}

/* ---- shapes, as Python prints a list ---- */

/* A tensor's dimensions, or those of each in a list. */
PROF__FN void prof__put_shape(prof__out *o, const prof_shape *s, const char *comma) {
    prof__out_text(o, "[");
    for (uint32_t i = 0; (s->items || s->dims) && i < s->count; i++) {
        if (i) prof__out_text(o, comma);
        if (s->items) prof__put_shape(o, s->items + i, comma);
        else prof__out_number(o, s->dims[i], false);
    }
    prof__out_text(o, "]");
}

PROF__FN void prof__put_shapes(prof__out *o, const prof_shape *shapes, uint32_t count,
                               const char *comma) {
    const prof_shape list = { NULL, shapes, count };
    prof__put_shape(o, &list, comma);
}

/* A sink that counts all bytes in width, and writes only as many as are left. */
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

/* Notes how wide a cell of this column is, and whether it has a figure other than 0. */
PROF__FN void prof__table_need(prof__table *t, int column, size_t width, const char *text) {
    if (PROF__BARE) return;
    if (width > t->need[column]) t->need[column] = width;
    for (; *text; text++)
        if (*text >= '1' && *text <= '9') t->filled[column] = true;
}

/* A column's cell, padded: paths to the left, all else to the right, as Python's "{: >12}". */
PROF__FN void prof__table_cell(prof__table *t, int column, const char *text) {
    size_t width = prof__text_width(text), cell = t->width[column];
    size_t left = cell > width ? cell - width : 0;
    bool path = !PROF__BARE && prof__columns[column].shows >= PROF__SHOW_PATH;
    if (!cell) return;
    prof__table_need(t, column, width, text);
    if (!path) prof__out_repeat(&t->out, ' ', left);
    prof__out_text(&t->out, text);
    prof__out_repeat(&t->out, ' ', path ? left + 2 : 2);
}

/* Writes the first keep code points of a text; control characters become spaces. quoted: it stands
   in the quotes of CSV, where quotes are doubled and line feeds may stay. */
PROF__FN void prof__table_plain(prof__out *o, const char *text, size_t keep, bool quoted) {
    for (; keep && *text; keep--) {
        size_t control = !PROF__BARE && quoted && *text == '\n' ? 0 : prof__control(text);
        if (!PROF__BARE && quoted && *text == '"') prof__out_text(o, "\"");
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
    if (!PROF__BARE && t->fitted && width > cell) {
        cut = true;
        max = cell;
    }
    if (cut) keep = max >= 3 ? PROF__MIN(width, max - 3)
                             : width - PROF__MIN(width, 3 - max);   /* Python's name[:-n] */
    width = keep + (cut ? 3 : 0);
    prof__out_repeat(&t->out, ' ', cell > width ? cell - width : 0);
    prof__table_plain(&t->out, name, keep, false);
    prof__out_text(&t->out, cut ? "...  " : "  ");
}

PROF__FN prof_time_unit prof__table_unit(const prof__table *t, int64_t ns) {
    if (t->desc->time_unit) return t->desc->time_unit;
    return ns >= 1000000000 ? PROF_TIME_S : ns >= 1000000 ? PROF_TIME_MS : PROF_TIME_US;
}

/* The mean of `count` times, ended by a NUL, in the unit that suits it in whole ns. */
PROF__FN char *prof__table_time(const prof__table *t, char *p, int64_t ns, uint64_t count) {
    prof_time_unit unit = prof__table_unit(t, prof__mean_ns(ns, count));
    p = prof__text_time(p, prof__mean_us(ns, count), unit);
    *p = 0;
    return p;
}

/* Has the row no figure here: no percentiles, as its calls are in sums alone, or no points? */
PROF__FN bool prof__table_unknown(const prof_average *r, int column) {
    if (PROF__BARE) return false;
    if (prof__columns[column].shows == PROF__SHOW_NS_PER) return prof__row_number(r, column) <= 0;
    /* a p99 of 0 stands where the clock stood still in 99 of 100 calls: the others took it all */
    return column >= PROF__COL_P50 && column <= PROF__COL_P99 && !r->p99_ns && r->max_ns > 0 &&
           (uint64_t)(r->cpu_time_total_ns / r->max_ns) > r->count / 100;
}

/* Writes a number as the text of a cell, or, exactly, as a field of CSV or JSON; times in us. */
PROF__FN void prof__table_text(const prof__table *t, const prof_average *r, int column,
                               char text[48]) {
    uint8_t shows = prof__columns[column].shows;
    prof_format format = PROF__BARE ? PROF_FORMAT_TEXT : t->desc->format;
    int64_t n = prof__row_number(r, column);
    if (shows == PROF__SHOW_PERCENT) {
        bool device = !PROF__BARE && column == PROF__COL_SELF_DEVICE_PERCENT;
        int64_t whole = device ? t->self_device_ns : t->self_cpu_ns;
        text = prof__text_percent(text, prof__us(n), prof__us(whole));
    } else if (prof__table_unknown(r, column)) {
        const char *none = format == PROF_FORMAT_JSON ? "null" : format ? "" : "--";
        while (*none) *text++ = *none++;
    } else if (!PROF__BARE && shows == PROF__SHOW_NS_PER) {
        text = prof__text_real(text, prof__real_over(prof__real_from(r->cpu_time_total_ns), n), 3);
    } else if (format && shows == PROF__SHOW_TIME) {
        if (n < 0) *text++ = '-';
        text = prof__text_us(text, n < 0 ? 0u - (uint64_t)n : (uint64_t)n);
    } else if (format && shows == PROF__SHOW_MEAN) {
        text = prof__text_real(text, prof__mean_us(n, r->count), 3);
    } else if (format) {
        text = prof__text_i64(text, n);
    } else if (column == PROF__COL_CPU_MEAN && prof__table_raw(t, t->row)) {
        double us = prof__table_raw(t, t->row)->cpu_us;
        text = prof__text_time(text, prof__real_over(prof__real_from_double(us), (int64_t)r->count),
                               prof__table_unit(t, prof__mean_ns(n, r->count)));
    } else if (shows == PROF__SHOW_TIME || shows == PROF__SHOW_MEAN) {
        text = prof__table_time(t, text, n, shows == PROF__SHOW_MEAN ? r->count : 1);
    } else if (!PROF__BARE && shows == PROF__SHOW_MEMORY) {
        text = prof__text_memory(text, n);
    } else if (!PROF__BARE && shows == PROF__SHOW_FLOPS) {
        static const double scales[] = { 1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15 };
        double x = (double)n * scales[t->flops_power];
        text = n > 0 ? prof__text_real(text, prof__real_from_double(x), 3)
                     : PROF__LITERAL(text, "--");
    } else {
        text = prof__text_i64(text, n);
    }
    *text = 0;
}

PROF__FN char prof__upper(char c) { return (char)(c >= 'a' && c <= 'z' ? c - 32 : c); }

/* A device's name as tables have it. */
PROF__FN const char *prof__text_upper(char text[64], const char *name) {
    size_t n = 0;
    for (; name[n] && n < 63; n++) text[n] = prof__upper(name[n]);
    text[n] = 0;
    return text;
}

PROF__FN void prof__table_widen(prof__table *t, int column, size_t width) {
    if (width > t->width[column]) t->width[column] = width;
}

/* A column's head in the list, with its @ and $. */
PROF__FN const char *prof__column_head(int column) {
#define PROF__COLUMN_HEAD(name, shows, member, head, field) head "\0"
#define PROF__COLUMN_HOST_HEAD(name, shows, member, head, field) PROF__HOST_TEXT(head) "\0"
    static const char heads[] = PROF__COLUMNS_EACH(PROF__COLUMN_HEAD, PROF__COLUMN_HOST_HEAD);
    return prof__text_of(heads, (size_t)column);
}

/* Writes a line that ends with a time. */
PROF__FN void prof__table_line(prof__table *t, const char *before, int64_t ns) {
    char text[48];
    (void)prof__table_time(t, text, ns, 1);
    prof__out_text(&t->out, before);     /* prof__out_f would cost targets 600 bytes */
    prof__out_text(&t->out, text);
    prof__out_text(&t->out, "\n");
}

/* The default description, for NULL. */
PROF__FN const prof_table_desc *prof__table_usual(prof_table_desc *d) {
    static const prof_averages_desc plain = { false, false, 0, false, false };
    memset(d, 0, sizeof *d);
    d->averages = &plain;
    d->sort_by = PROF_METRIC_SELF_CPU_TIME_TOTAL;
    return d;
}

#if !PROF__BARE
/* ---- what was asked for is not there ---- */

PROF__FN prof_result prof__metric_none(const char *what, prof_metric metric) {
    return PROF__FAIL(PROF_ERROR_INVALID, "%s is %u: there is no such prof_metric", what,
                      (uint64_t)(uint32_t)metric);
}

/* Has the session, or an event, stacks? */
PROF__FN bool prof__stacks_are(const struct prof_trace *s) {
    bool any = s->built || prof__session.desc.with_stack;
    for (uint32_t i = 0; !any && i < s->event_count; i++) {
        const prof_extra *x = prof__extra_of(s->events + i);
        any = x && x->stack_count;
    }
    return any;
}

PROF__FN bool prof__memory_is(const struct prof_trace *s) { return s->view.profile_memory; }

/* ---- cells that only hosts have: of memory, shapes, FLOPs, sites, devices ---- */

/* A path, which is cut at its beginning when it is too long. */
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
    prof__table_plain(&t->out, path, SIZE_MAX, false);
    prof__out_repeat(&t->out, ' ', cell - shown);
    prof__out_text(&t->out, "  ");
}

/* The name of a column's counter, where the rows have it; else NULL. */
PROF__FN const char *prof__table_counter(const prof__table *t, int column) {
    size_t i = (prof__columns[column].at - offsetof(prof_average, counters)) / sizeof(int64_t);
    if (i >= 2 * PROF_COUNTERS) return NULL;
    i %= PROF_COUNTERS;
    if (t->trace) return t->rows ? NULL : prof_hw_counter_name(t->trace, (uint32_t)i);
    return t->view.counters[i];
}

/* Writes a cell of shapes, or of a path. */
PROF__FN void prof__table_put_wide(prof__table *t, const prof_average *r, int column) {
    char source[PROF__SOURCE];
    size_t cell = t->width[column], width;
    if (column == PROF__COL_SHAPES) {
        width = prof__shapes_text(r, &t->out, 0);
        prof__table_need(t, column, width, "1");
        prof__out_repeat(&t->out, ' ', cell > width ? cell - width : 0);
        (void)prof__shapes_text(r, &t->out, cell);
        prof__out_text(&t->out, "  ");
    } else if (column == PROF__COL_SITE) {
        prof__table_path(t, column, prof__site_source(r->site, source));
    } else {
        prof__table_path(t, column, prof__text(r->stack_count ? r->stack[0] : NULL));
    }
}

/* Writes the further stack entries, a line for each, and an empty line. */
PROF__FN void prof__table_stack(prof__table *t, const prof_average *r) {
    if (!t->width[PROF__COL_SOURCE]) return;
    for (uint32_t i = 1; i <= PROF__MAX(r->stack_count, 1u); i++) {
        for (int column = 0; column < PROF__COL_SOURCE; column++)
            if (t->width[column]) prof__table_cell(t, column, "");
        prof__table_path(t, PROF__COL_SOURCE, prof__text(i < r->stack_count ? r->stack[i] : NULL));
        prof__out_text(&t->out, "\n");
    }
}

/* A column's head or field, as it stands in the list, with the name of the device, or of the
   counter: 96 bytes and what follows it in the list. */
PROF__FN void prof__column_text(const prof__table *t, int column, const char *listed, char *text) {
    const char *device = t->view.device_name, *end = text + 96;
    for (; *listed; listed++) {
        bool upper = *listed == '@' && device;
        const char *name = *listed == '$' ? prof__text(prof__table_counter(t, column))
                         : *listed == '@' ? device ? device : "None" : "";
        for (; *name && text < end; name++) *text++ = upper ? prof__upper(*name) : *name;
        if (*listed != '@' && *listed != '$') *text++ = *listed;
    }
    *text = 0;
}

/* A column's head, in text. */
PROF__FN const char *prof__table_head_text(const prof__table *t, int column, char *text) {
    const char *head = text;
    if (t->view.estimated && column >= PROF__COL_P50 && column <= PROF__COL_P99) *text++ = '~';
    prof__column_text(t, column, prof__column_head(column), text);
    if (column == PROF__COL_FLOPS && t->flops_power)
        (void)prof__text_f(text, 96, "Total %bFLOPs", &" KMGTP"[t->flops_power], (size_t)1);
    return head;
}

/* ---- widths and sums of these columns ---- */

PROF__FN void prof__table_view(prof__table *t) {
    t->view = t->trace->view;
    t->view.estimated = t->rows || prof__any_sums(t->trace);
}

/* The columns that only some traces have. */
PROF__FN void prof__table_measure_wide(prof__table *t, const prof_average *r) {
    bool device = r->device_type != PROF_DEVICE_CPU;
    char source[PROF__SOURCE];
    if (r->overload_name && *r->overload_name) t->width[PROF__COL_OVERLOAD] = 1;
    if (r->self_device_time_total_ns > 0 && t->view.device_name)
        t->width[PROF__COL_SELF_DEVICE] = PROF__COLUMN;
    if (r->self_device_memory_usage > 0 && t->view.device_name && t->view.profile_memory)
        t->width[PROF__COL_DEVICE_MEMORY] = PROF__COLUMN;
    if (r->node_id != -1) t->width[PROF__COL_NODE] = PROF__COLUMN;
    prof__table_widen(t, PROF__COL_SHAPES, prof__shapes_text(r, &t->out, 0));
    if (r->input_count && r->input_count != PROF_NONE) t->width[PROF__COL_FLOPS] = 1;
    if (r->site)
        prof__table_widen(t, PROF__COL_SITE,
                          PROF__MAX(prof__text_width(prof__site_source(r->site, source)), 6u));
    for (uint32_t i = 0; i < r->stack_count; i++)
        prof__table_widen(t, PROF__COL_SOURCE, prof__text_width(prof__text(r->stack[i])) + 4);
    if (r->flops > 0 && (!t->least_flops || r->flops < t->least_flops)) t->least_flops = r->flops;
    if (device ? !r->is_user_annotation : r->is_legacy)
        t->self_device_ns = PROF__PLUS(t->self_device_ns, r->self_device_time_total_ns);
    else if (!device)                    /* the same work, counted at the calls that launched it */
        t->rows_device_ns = PROF__PLUS(t->rows_device_ns, r->self_device_time_total_ns);
}

/* The widths of those columns, once all rows are measured. */
PROF__FN void prof__table_widths_wide(prof__table *t) {
    const prof_table_desc *d = t->desc;
    bool shapes = t->width[PROF__COL_FLOPS] != 0;   /* set above: some row has inputs */
    t->rows_cpu_ns = t->self_cpu_ns;
    if (t->self_device_ns) t->rows_device_ns = t->self_device_ns;
    if (d->whole_cpu_ns) t->self_cpu_ns = d->whole_cpu_ns;
    if (d->whole_device_ns) t->self_device_ns = d->whole_device_ns;
    if (t->width[PROF__COL_OVERLOAD]) t->width[PROF__COL_OVERLOAD] = t->width[PROF__COL_NAME];
    for (int i = PROF__COL_SELF_DEVICE; i <= PROF__COL_DEVICE_MEAN; i++)
        t->width[i] = t->width[PROF__COL_SELF_DEVICE];
    if (t->view.profile_memory)
        t->width[PROF__COL_CPU_MEMORY] = t->width[PROF__COL_SELF_CPU_MEMORY] = PROF__COLUMN;
    t->width[PROF__COL_SELF_DEVICE_MEMORY] = t->width[PROF__COL_DEVICE_MEMORY];
    t->width[PROF__COL_SHAPES] =
        shapes ? PROF__MIN(t->width[PROF__COL_SHAPES] + 4,
                           prof__table_limit(d->max_shapes_column_width, 80)) : 0;
    t->width[PROF__COL_SOURCE] = PROF__MIN(t->width[PROF__COL_SOURCE],
                                           prof__table_limit(d->max_src_column_width, 75));
    t->width[PROF__COL_SITE] = PROF__MIN(t->width[PROF__COL_SITE],
                                         prof__table_limit(d->max_src_column_width, 75));
    t->width[PROF__COL_FLOPS] = t->view.with_flops && t->least_flops ? PROF__COLUMN : 0;
    t->flops_power = prof__flops_power(t->least_flops);
    for (int i = PROF__COL_SELF_COUNTER0; i <= PROF__COL_NS_PER3; i++) {
        char head[128];
        bool wanted = prof__columns[i].shows != PROF__SHOW_NS_PER || d->ns_per_counter;
        if (wanted && prof__table_counter(t, i))
            t->width[i] = PROF__MAX(strlen(prof__table_head_text(t, i, head)), PROF__COLUMN);
    }
    if (d->format && d->averages && d->averages->group_by_site)
        prof__table_widen(t, PROF__COL_SITE, 1);
}

/* ---- CSV and JSON ---- */

PROF__FN void prof__table_rows(prof__table *t, const uint32_t *order);

/* Is s a formula to a spreadsheet? Some skip what shows nothing, and take full width signs. */
PROF__FN bool prof__is_formula(const char *s) {
    char c;
    while (*s && (*s == ' ' || prof__control(s) || !strncmp(s, "\xc2\xa0", 2)))
        s += prof__utf8_length(s);
    c = !strncmp(s, "\xef\xbc", 2) ? (char)(s[2] - 0x60) : *s;     /* U+FF1D is = + 0xfee0 */
    return c == '=' || c == '+' || c == '-' || c == '@';
}

/* The fields, in their order. */
static const uint8_t prof__row_fields[] = {
    PROF__COL_NAME, PROF__COL_COUNT, PROF__COL_CPU, PROF__COL_SELF_CPU, PROF__COL_CPU_MEAN,
    PROF__COL_MIN, PROF__COL_MAX, PROF__COL_DEVICE, PROF__COL_SELF_DEVICE, PROF__COL_DEVICE_MEAN,
    PROF__COL_CPU_MEMORY, PROF__COL_SELF_CPU_MEMORY, PROF__COL_DEVICE_MEMORY,
    PROF__COL_SELF_DEVICE_MEMORY, PROF__COL_FLOPS, PROF__COL_NODE, PROF__COL_DEVICE_TYPE,
    PROF__COL_IS_ASYNC, PROF__COL_IS_REMOTE, PROF__COL_IS_LEGACY, PROF__COL_IS_USER_ANNOTATION,
    PROF__COL_P50, PROF__COL_P90, PROF__COL_P99, PROF__COL_ON_CPU,
    PROF__COL_COUNTER0, PROF__COL_SELF_COUNTER0, PROF__COL_COUNTER1, PROF__COL_SELF_COUNTER1,
    PROF__COL_COUNTER2, PROF__COL_SELF_COUNTER2, PROF__COL_COUNTER3, PROF__COL_SELF_COUNTER3,
    PROF__COL_NS_PER0, PROF__COL_NS_PER1, PROF__COL_NS_PER2, PROF__COL_NS_PER3,
    PROF__COL_OVERLOAD, PROF__COL_SHAPES, PROF__COL_SOURCE, PROF__COL_SITE };

/* Texts, one or more, within quotes. In CSV each has a line, and a ' stands before what a
   spreadsheet would take for a formula. */
PROF__FN void prof__list_texts(prof__out *o, const char *const *texts, uint32_t n, bool json) {
    if (!json) prof__out_text(o, prof__is_formula(prof__text(n ? texts[0] : NULL)) ? "\"'" : "\"");
    for (uint32_t i = 0; i < n; i++) {
        if (i) prof__out_text(o, json ? ", " : "\n");
        if (json) prof__out_f(o, "\"%j\"", prof__text(texts[i]));
        else prof__table_plain(o, prof__text(texts[i]), SIZE_MAX, true);
    }
    if (!json) prof__out_text(o, "\"");
}

/* Writes a field as CSV or JSON; r NULL: its name for the head of CSV. */
PROF__FN void prof__list_field(prof__table *t, const prof_average *r, int column) {
    bool json = t->desc->format == PROF_FORMAT_JSON;
    uint8_t shows = prof__columns[column].shows;
    char text[PROF__SOURCE];
    const char *name;
    prof__out *o = &t->out;
    if (column != PROF__COL_NAME) prof__out_text(o, json ? ", " : ",");
    prof__column_text(t, column, prof__column_field(column), text);
    if (json || !r) prof__out_f(o, json ? "\"%j\": " : "%s", text);
    if (!r) return;
    switch (shows) {
    case PROF__SHOW_NAME:
    case PROF__SHOW_SITE:
        name = column == PROF__COL_NAME ? r->key : column == PROF__COL_OVERLOAD ? r->overload_name
             : prof__site_source(r->site, text);
        prof__list_texts(o, &name, 1, json);
        break;
    case PROF__SHOW_SHAPES:
        if (!json) prof__out_text(o, "\"");
        if (json || r->input_count != PROF_NONE)
            prof__put_shapes(o, r->input_shapes, r->input_count == PROF_NONE ? 0 : r->input_count,
                            ", ");
        if (!json) prof__out_text(o, "\"");
        break;
    case PROF__SHOW_PATH:
        if (json) prof__out_text(o, "[");
        prof__list_texts(o, r->stack, r->stack_count, json);
        if (json) prof__out_text(o, "]");
        break;
    default:
        prof__table_text(t, r, column, text);
        if (json && shows == PROF__SHOW_FLAG) prof__out_text(o, *text == '0' ? "false" : "true");
        else prof__out_text(o, text);
    }
}

/* Writes a row's fields; r NULL: the head of CSV. */
PROF__FN void prof__list_row(prof__table *t, const prof_average *r, bool first) {
    bool json = t->desc->format == PROF_FORMAT_JSON;
    if (json) prof__out_text(&t->out, first ? "\n{" : ",\n{");
    for (size_t i = 0; i < sizeof prof__row_fields; i++) {
        int column = prof__row_fields[i];
        bool at_times = column == PROF__COL_SITE || column == PROF__COL_ON_CPU ||
                        (column >= PROF__COL_P50 && column <= PROF__COL_P99) ||
                        (column >= PROF__COL_SELF_COUNTER0 && column <= PROF__COL_NS_PER3);
        if (!at_times || t->width[column]) prof__list_field(t, r, column);
    }
    prof__out_text(&t->out, json ? "}" : "\r\n");
}

/* ---- tables that fit a line ---- */

/* The order in which columns get room, after the name and the column by which rows are sorted; the
   others come after these. */
static const uint8_t prof__table_useful[] = {
    PROF__COL_OVERLOAD, PROF__COL_SITE, PROF__COL_SHAPES, PROF__COL_SOURCE, PROF__COL_SELF_CPU,
    PROF__COL_SELF_DEVICE, PROF__COL_COUNT, PROF__COL_SELF_CPU_PERCENT,
    PROF__COL_SELF_DEVICE_PERCENT, PROF__COL_CPU, PROF__COL_DEVICE, PROF__COL_P50, PROF__COL_P99,
    PROF__COL_MAX, PROF__COL_P90, PROF__COL_SELF_CPU_MEMORY, PROF__COL_SELF_DEVICE_MEMORY,
    PROF__COL_FLOPS, PROF__COL_CPU_PERCENT, PROF__COL_CPU_MEMORY, PROF__COL_DEVICE_MEMORY,
    PROF__COL_MIN, PROF__COL_CPU_MEAN, PROF__COL_DEVICE_MEAN, PROF__COL_NODE, PROF__COL_NS_PER0,
    PROF__COL_NS_PER1, PROF__COL_NS_PER2, PROF__COL_NS_PER3 };

/* Is it a column of text, which may be narrower than its cells? */
PROF__FN bool prof__table_is_text(int column) {
    uint8_t shows = prof__columns[column].shows;
    return shows == PROF__SHOW_NAME || shows >= PROF__SHOW_SHAPES;
}

/* Keeps a column, if there is room for its least width. */
PROF__FN void prof__table_keep(prof__table *t, int column, size_t *room) {
    size_t least = PROF__MIN(t->need[column], prof__table_is_text(column) ? 24u : SIZE_MAX);
    if (!least || t->width[column] || least + 2 > *room) return;
    t->width[column] = least;
    *room -= least + 2;
}

/* Makes the table fit a line. Columns get room one by one, figures as much as they need, texts at
   most 24; columns of zeroes come last. Columns without room are left out. The rest of the room
   widens columns of text. */
PROF__FN void prof__table_fit(prof__table *t, const uint32_t *order) {
    size_t room = t->desc->width, line = 0;
    prof_sink sink = t->out.sink;
    prof__window none = { NULL, 0, 0 };
    if (!t->count || !room) return;
    for (int i = 0; i < PROF__COLUMNS; i++) {   /* a head may be wider, as "CUDA time avg" is */
        char text[128];
        if (!t->width[i]) continue;
        t->need[i] = prof__text_width(prof__table_head_text(t, i, text));
        line += PROF__MAX(t->width[i], t->need[i]) + 2;
    }
    if (line <= room) return;
    t->out.sink.write = prof__window_write;
    t->out.sink.user = &none;
    prof__table_rows(t, order);          /* finds what they need */
    prof__out_flush(&t->out);
    t->out.sink = sink;
    for (int i = 0; i < PROF__COLUMNS; i++) {
        if (prof__table_is_text(i)) t->need[i] = PROF__MIN(t->need[i], t->width[i]);
        t->width[i] = 0;
    }
    t->fitted = true;
    prof__table_keep(t, PROF__COL_NAME, &room);
    prof__table_keep(t, prof__metric_column(t->desc->sort_by), &room);
    for (int filled = 1; filled >= 0; filled--) {
        for (size_t i = 0; i < sizeof prof__table_useful; i++)
            if (t->filled[prof__table_useful[i]] == filled)
                prof__table_keep(t, prof__table_useful[i], &room);
        for (int i = 0; i < PROF__COLUMNS; i++)
            if (t->filled[i] == filled) prof__table_keep(t, i, &room);
    }
    for (int i = 0; i < PROF__COLUMNS; i++) {
        size_t more = t->width[i] ? PROF__MIN(t->need[i] - t->width[i], room) : 0;
        t->width[i] += more;
        room -= more;
    }
    prof__table_widen(t, PROF__COL_NAME, PROF__MIN(t->need[PROF__COL_NAME], 8u));
}

/* ---- below the table ---- */

/* Says why there are no rows, why zones are in none, and where the timeline ended, if it ended
   before the session. */
PROF__FN void prof__table_timeline(prof__table *t, const prof_stats *stats) {
    const prof_desc *d = &prof__session.desc;
    char first[48], whole[48];
    prof__scale scale;
    uint64_t later = stats->summed - PROF__MIN(stats->summed, stats->deep);
    if (t->trace->built) return;         /* PyTorch's table of nothing is "" */
    if (t->count ? t->trace->records_only && t->trace->mode != PROF_MODE_AGGREGATE
                 : stats->recorded != 0)
        prof__out_f(&t->out, "Zones recorded, but not kept for a table "
                             "(PROF_KEEP_RECORDS, PROF_MODE_STREAM): %u\n", stats->recorded);
    else if (!t->count)
        prof__out_f(&t->out, "No zones were recorded%s\n",
            d->schedule_fn || d->schedule.active ?
            ": the schedule's last window had none, or prof_step never came to one" :
            stats->dropped ? ": all were dropped" :
            ": no PROF_SCOPE, PROF_BLOCK or prof_push ran from prof_start to prof_stop,\n"
            "or PROF_DISABLE made them nothing where they stand");
    if (later == 0) return;
    memset(&scale, 0, sizeof scale);
    (void)prof__table_time(t, first, (int64_t)stats->timeline_ns, 1);
    (void)prof__table_time(t, whole, prof__to_ns(&scale, t->trace->stop_tick), 1);
    prof__out_f(&t->out, "Timeline: the first %s of %s. %u later zones are in averages and tables, "
                         "not in the trace (give prof_desc.memory more)%s\n", first, whole, later,
                prof__wide(t->trace) ? ". What zones carry ends with it" : "");
}

PROF__FN void prof__table_devices(prof__table *t) {
    for (uint32_t i = 0; i < prof__devices.count; i++) {
        const char *status = prof__device_status(t->trace, i);
        if (status) prof__out_f(&t->out, "%s: %s\n", prof__devices.list[i].desc.name, status);
    }
}

/* Adds a text to a list below the table. *at: the width of its line so far; 0: the list begins with
   head. Where lines must fit a width the list is wrapped. */
PROF__FN void prof__table_listed(prof__table *t, size_t *at, const char *head, const char *text) {
    size_t width = PROF__MIN(prof__text_width(text), 55u);
    const char *before = !*at ? head :
        t->desc->width && *at + width + 3 > t->desc->width ? ",\n  " : ", ";
    prof__out_text(&t->out, before);
    prof__table_plain(&t->out, text, 55, false);
    *at = (*before == ',' && before[1] == '\n' ? 2 : *at + strlen(before)) + width;
}

PROF__FN void prof__table_left_out(prof__table *t) {
    size_t at = 0;
    for (int i = 0; i < PROF__COLUMNS; i++) {
        char text[128];
        if (!t->need[i] || t->width[i]) continue;
        prof__table_listed(t, &at, "Left out to fit the width: ",
                           prof__table_head_text(t, i, text));
    }
    if (at) prof__out_text(&t->out, "\n");
}

/* ---- recursion ---- */

/* Names of recursion; open: a zone of one of them was still open when the recording ended. */
typedef struct prof__recursion {
    const prof__groups *groups;
    const char *names[4];
    size_t count;
    bool open;
} prof__recursion;

PROF__FN bool prof__recursion_has(const prof__recursion *r, const char *name) {
    size_t n = 0;
    while (n < r->count && strcmp(r->names[n], name) != 0) n++;
    return n < r->count;
}

PROF__FN void prof__recursion_take(void *recursion, const prof__close *c) {
    prof__recursion *r = (prof__recursion *)recursion;
    if (c->flags & PROF_EVENT_UNFINISHED)
        r->open |= prof__recursion_has(r, prof__group_event(r->groups, c->what, false).name);
}

/* May it be no recursion, but a zone that nobody ended? A zone that another's end closed may have
   had any name. Sums do not tell which were open. */
PROF__FN bool prof__recursion_doubtful(const prof__table *t, prof__recursion *r) {
    prof_stats stats = prof_get_stats(t->trace);
    bool taken;
    if (!t->trace || stats.healed) return t->trace != NULL;
    if (!stats.unfinished || !t->groups) return stats.unfinished != 0;
    r->groups = t->groups;
    taken = prof__reading_open();
    prof__closes(t->trace, prof__recursion_take, NULL, r);
    prof__reading_close(taken);
    return r->open;
}

/* Tells why a row's CPU total may be more than the time that passed: calls of its name lie in each
   other. Rows of PROF_MODE_AGGREGATE do not tell it: there it is certain if a total is more than
   all self time. */
PROF__FN void prof__table_recursion(prof__table *t) {
    prof__recursion found;
    const char *what;
    size_t at = 0;
    memset(&found, 0, sizeof found);
    for (uint32_t i = 0; (t->rows || t->groups) && i < t->count && found.count < 4; i++) {
        prof_average r = prof__table_row(t, i);
        bool sure = t->rows && t->trace && !r.is_async && r.device_type == PROF_DEVICE_CPU &&
                    r.cpu_time_total_ns > t->self_cpu_ns + t->count;   /* rows are cut to ns */
        if (!r.is_recursive && !sure) continue;
        if (!prof__recursion_has(&found, r.key)) found.names[found.count++] = r.key;
    }
    if (!found.count) return;
    what = prof__recursion_doubtful(t, &found)
         ? "Recursive, so that CPU total counts each level (or is a PROF_END missing?): "
         : "Recursive, so that CPU total counts each level: ";
    for (size_t n = 0; n < found.count; n++)
        prof__table_listed(t, &at, what, n < 3 ? found.names[n] : "...");
    prof__out_text(&t->out, "\n");
}

/* Names functions whose calls take less time than timing them does. Of rows without a trace, which
   has notes, it also says what "(others)" is. */
PROF__FN void prof__table_remarks(prof__table *t) {
    const uint64_t calls = 1000000, ns = 50;
    for (uint32_t i = 0; (t->rows || t->groups) && i < t->count; i++) {
        prof_average r = prof__table_row(t, i);
        uint64_t mean = r.count < calls ? ns : (uint64_t)r.cpu_time_total_ns / r.count;
        if (!t->trace && strcmp(r.key, "(others)") == 0)
            prof__out_f(&t->out, "Zones in (others), their names had no room: %u\n", r.count);
        if (mean >= ns || !prof__is_function_name(r.key)) continue;
        prof__table_plain(&t->out, r.key, SIZE_MAX, false);
        prof__out_f(&t->out, ": %u calls of %u ns; leave it out with "
                             "__attribute__((no_instrument_function)) or prof_desc.exclude\n",
                    r.count, mean);
    }
}

/* Writes the sums of devices, and those of the rows where shares are of more than the rows. */
PROF__FN void prof__table_sums_wide(prof__table *t) {
    char name[64], line[96];
    bool device = t->width[PROF__COL_SELF_DEVICE] || t->need[PROF__COL_SELF_DEVICE];
    if (device) {
        (void)prof__text_f(line, sizeof line, "Self %s time total: ",
                           prof__text_upper(name, t->view.device_name));
        prof__table_line(t, line, t->self_device_ns);
    }
    if (t->desc->whole_cpu_ns) prof__table_line(t, "Self CPU time of these rows: ", t->rows_cpu_ns);
    if (t->desc->whole_device_ns && device) {
        (void)prof__text_f(line, sizeof line, "Self %s time of these rows: ", name);
        prof__table_line(t, line, t->rows_device_ns);
    }
}

/* ---- to the terminal ---- */

PROF__FN bool prof__stdio_write(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

PROF__FN uint32_t prof__terminal_width(void) {
    const char *columns = prof_getenv("COLUMNS");
    int given = columns ? atoi(columns) : 0;
    bool terminal = false;
    uint32_t width = 0;
#if defined(_WIN32)
    short info[11];                      /* 5: the window's left, 7: its right */
    struct _CONSOLE_SCREEN_BUFFER_INFO *to = (struct _CONSOLE_SCREEN_BUFFER_INFO *)(void *)info;
    terminal = GetConsoleScreenBufferInfo(GetStdHandle((unsigned long)-11), to) != 0;
    if (terminal) width = (uint32_t)(info[7] - info[5] + 1);
#else
    terminal = isatty(STDOUT_FILENO) != 0;
#  ifdef TIOCGWINSZ
    struct winsize size;
    memset(&size, 0, sizeof size);       /* Emscripten's call succeeds, but tells no size */
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
#  endif
#endif
    return !terminal ? 0 : given > 0 ? (uint32_t)given : width;
}

PROF__CALL prof_result prof_print_table(const prof_trace *trace, const prof_table_desc *desc) {
    prof_sink out = { prof__stdio_write, NULL };
    prof_table_desc fitting;
    prof_result r;
    int cancel;
    fitting = desc ? *desc : *prof__table_usual(&fitting);
    out.user = stdout;
    if (!fitting.width) fitting.width = prof__terminal_width();
    r = prof_write_table(trace, &fitting, out);
    cancel = prof__cancel_off();
    if (r == PROF_OK && fflush(stdout)) r = PROF_ERROR_SINK;
    prof__cancel_back(cancel);
    return r;
}
#endif

/* ---- lines ---- */

PROF__FN void prof__table_put(prof__table *t, const prof_average *r, int column) {
    uint8_t shows = prof__columns[column].shows;
    char text[48] = "0";
    if (!t->width[column]) return;
    if (shows == PROF__SHOW_NAME) {
        prof__table_name(t, column, PROF__BARE || column == PROF__COL_NAME
                                        ? r->key : prof__text(r->overload_name));
    } else if (!PROF__BARE && shows >= PROF__SHOW_SHAPES) {
        PROF__HOST(prof__table_put_wide(t, r, column));
    } else {
        if (!r->is_async || column != PROF__COL_CPU_PERCENT) prof__table_text(t, r, column, text);
        prof__table_cell(t, column, text);
    }
}

PROF__FN void prof__table_rule(prof__table *t) {
    for (int i = 0; i < PROF__COLUMNS; i++) {
        if (!t->width[i]) continue;
        prof__out_repeat(&t->out, '-', t->width[i]);
        prof__out_text(&t->out, "  ");
    }
    prof__out_text(&t->out, "\n");
}

PROF__FN void prof__table_head(prof__table *t) {
    prof__out *o = &t->out;
    char text[PROF__BARE ? 1 : 128];
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
    for (int i = 0; i < PROF__COLUMNS; i++)
        if (t->width[i]) prof__table_cell(t, i, prof__table_head_text(t, i, text));
    prof__out_text(o, "\n");
    prof__table_rule(t);
}

/* The counts of prof_stats that matter when they are not zero. */
#define PROF__NOTE_OFFSET(name, value, index, note) offsetof(prof_stats, name),
static const uint16_t prof__note_offsets[] = {
    PROF__STATS(PROF__NOTE_OFFSET, PROF__STAT_HOST(PROF__NOTE_OFFSET), PROF__STAT_NONE)
};
#define PROF__NOTES (sizeof prof__note_offsets / sizeof *prof__note_offsets)

PROF__FN const char *prof__note_key(size_t note) {
#define PROF__NOTE_KEY(name, value, index, note) #name "\0"
    static const char keys[] =
        PROF__STATS(PROF__NOTE_KEY, PROF__STAT_HOST(PROF__NOTE_KEY), PROF__STAT_NONE);
    return prof__text_of(keys, note);
}

/* What to do about it. */
PROF__FN const char *prof__note_text(size_t note) {
#define PROF__NOTE_TEXT(name, value, index, note) note "\0"
    static const char texts[] =
        PROF__STATS(PROF__NOTE_TEXT, PROF__STAT_HOST(PROF__NOTE_TEXT), PROF__STAT_NONE);
    return prof__text_of(texts, note);
}

PROF__FN uint64_t prof__note_count(const prof_stats *s, size_t note) {
    return *(const uint64_t *)(const void *)((const char *)s + prof__note_offsets[note]);
}

/* Says what was dropped from the trace or mended in it. */
PROF__FN void prof__table_notes(prof__table *t) {
    prof_stats stats = prof_get_stats(t->trace);
    int64_t interrupts = prof__interrupts_ns();
    PROF__HOST(prof__table_timeline(t, &stats));
    for (size_t i = 0; i < PROF__NOTES; i++) {
        uint64_t count = prof__note_count(&stats, i);
        if (!count) continue;
        prof__out_text(&t->out, prof__note_text(i));
        prof__out_text(&t->out, ": ");
        prof__out_u64(&t->out, count);
        prof__out_text(&t->out, "\n");
    }
    if (interrupts)                      /* sums do not say what an interrupt interrupted */
        prof__table_line(t, "Interrupts, whose time counts in what they interrupted, too: ",
                         interrupts);
    if (PROF__BARE && !stats.ticks_per_second)
        prof__out_text(&t->out, "1 ns is 1 tick: set desc.platform.ticks_per_second\n");
    PROF__HOST(prof__table_devices(t));
}

PROF__FN void prof__table_foot(prof__table *t) {
    if (t->count) {
        prof__table_rule(t);
        prof__table_line(t, "Self CPU time total: ", t->self_cpu_ns);
        PROF__HOST(prof__table_sums_wide(t));
    } else if (PROF__BARE) {
        prof__out_text(&t->out, "No zones\n");
    }
    PROF__HOST(prof__table_left_out(t));
    if (t->desc->hide_notes) return;
    PROF__HOST(prof__table_recursion(t));
    if (t->notes) (t->notes)(t);
    PROF__HOST(prof__table_remarks(t));
}

/* ---- widths and sums: over all rows, also those that row_limit hides ---- */

PROF__FN void prof__table_measure(prof__table *t) {
    size_t most = prof__table_limit(t->desc->max_name_column_width, 55);
    bool percentiles = !PROF__BARE && t->desc->averages && t->desc->averages->percentiles;
    for (int j = PROF__COL_MIN; percentiles && j <= PROF__COL_MAX; j++) t->width[j] = PROF__COLUMN;
    for (uint32_t i = 0; i < t->count; i++) {
        prof_average r = prof__table_row(t, i);
        prof__table_widen(t, PROF__COL_NAME, prof__text_width(r.key) + 4);
        if (r.p99_ns)
            for (int j = PROF__COL_P50; j <= PROF__COL_MAX; j++) t->width[j] = PROF__COLUMN;
        t->self_cpu_ns = PROF__PLUS(t->self_cpu_ns, r.self_cpu_time_total_ns);
        PROF__HOST(prof__table_measure_wide(t, &r));
        if (r.on_cpu_ns) t->width[PROF__COL_ON_CPU] = PROF__COLUMN;
    }
    t->width[PROF__COL_NAME] = PROF__MIN(t->width[PROF__COL_NAME], most);
    for (int i = PROF__COL_SELF_CPU_PERCENT; i <= PROF__COL_CPU_MEAN; i++)
        t->width[i] = PROF__COLUMN;
    t->width[PROF__COL_COUNT] = PROF__COLUMN;
    PROF__HOST(prof__table_widths_wide(t));
}

/* ---- the whole ---- */

PROF__FN void prof__table_rows(prof__table *t, const uint32_t *order) {
    uint32_t left = t->desc->row_limit ? t->desc->row_limit : 100;
    bool first PROF__UNUSED = true;
    for (uint32_t i = 0; i < t->count && left; i++) {
        prof_average r = prof__table_row(t, t->row = order ? order[i] : i);
        if (t->desc->top_level_events_only && r.parent != PROF_NONE) continue;
        if (left != UINT32_MAX) left--;
        if (PROF__BARE || t->desc->format == PROF_FORMAT_TEXT) {
            for (int j = 0; j < PROF__COLUMNS; j++) prof__table_put(t, &r, j);
            prof__out_text(&t->out, "\n");
            PROF__HOST(prof__table_stack(t, &r));
        } else {
            PROF__HOST(prof__list_row(t, &r, first));
        }
        first = false;
    }
}

PROF__FN void prof__table_write(prof__table *t, const uint32_t *order) {
    prof__table_measure(t);
    if (!PROF__BARE && t->desc->format != PROF_FORMAT_TEXT) {
        bool json = t->desc->format == PROF_FORMAT_JSON;
        if (json) prof__out_text(&t->out, "[");
        else PROF__HOST(prof__list_row(t, NULL, true));
        prof__table_rows(t, order);
        if (json) prof__out_text(&t->out, t->count ? "\n]\n" : "]\n");
        return;
    }
    PROF__HOST(prof__table_fit(t, order));
    if (t->count) prof__table_head(t);   /* PyTorch's table of nothing is "" */
    prof__table_rows(t, order);
    prof__table_foot(t);
}

PROF__FN prof_result prof__table_open(prof__table *t, const prof_table_desc *desc, prof_sink out) {
    memset(t, 0, offsetof(prof__table, out));
    prof__out_open(&t->out, out);
    t->desc = desc ? desc : prof__table_usual(&t->usual);
    if (!out.write) return PROF_ERROR_INVALID;
    if ((uint32_t)t->desc->sort_by >= PROF_METRIC_LAST)
        return prof__metric_none("prof_table_desc.sort_by", t->desc->sort_by);
    return PROF__BARE && t->desc->format != PROF_FORMAT_TEXT ? PROF_ERROR_UNSUPPORTED : PROF_OK;
}

PROF__CALL prof_result prof_write_table(const prof_trace *trace, const prof_table_desc *desc,
                                        prof_sink out) {
    prof__table t;
    prof__groups g;
    uint32_t *order;
    prof_result result = prof__table_open(&t, desc, out);
    if (!prof__valid(trace)) return PROF_ERROR_INVALID;
    if (result != PROF_OK) return result;
    t.trace = trace;
    t.made = prof__table_made;
    t.notes = prof__table_notes;
    if (prof__averages_of_sums(trace, t.desc->averages, &t.rows, &t.count)) {
        order = (uint32_t *)(void *)(t.rows + t.count);
    } else if (t.desc->averages) {
        prof__groups_make(&g, trace, t.desc->averages);
        t.groups = &g;
        t.count = g.count;
        order = (uint32_t *)(void *)prof__groups_end(&g);
    } else {
        if (PROF__BARE) return PROF_ERROR_UNSUPPORTED;
        if (!prof__analyse(trace)) return PROF_ERROR_MEMORY;
        t.count = trace->event_count;
        order = (uint32_t *)(void *)trace->scratch;
    }
    for (uint32_t i = 0; i < t.count; i++) order[i] = i;
    if (t.desc->sort_by) prof__sort(order, order + t.count, t.count, prof__table_after, &t);
    PROF__HOST(prof__table_view(&t));
    prof__table_write(&t, order);
    return prof__out_close(&t.out);
}

PROF__CALL prof_result prof_write_rows(prof_average *rows, size_t count, const prof_view *view,
                                       const prof_table_desc *desc, prof_sink out) {
    prof__table t;
    prof_result result = prof__table_open(&t, desc, out);
    if ((count && !rows) || count >= UINT32_MAX) return PROF_ERROR_INVALID;
    if (result != PROF_OK) return result;
    if (view) t.view = *view;
    t.rows = rows;
    t.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (!rows[i].key) rows[i].key = "(null)";
    if (t.desc->sort_by) prof__rows_sort(rows, count, t.desc->sort_by);
    prof__table_write(&t, NULL);
    return prof__out_close(&t.out);
}

/* ---- @CHROME: Chrome trace JSON as Kineto writes it ----

   This room writes events in order of start where there is memory for all of them, else zones
   thread by thread as they ended. One writer serves both, and streams. Metadata and files are here,
   too.
   - The output is JSON in UTF-8, whatever names are, and complete unless the sink fails.
   - Parents that times do not show (zones that begin and end together) are given by ids:
     prof__tell_parents.
   - The head tells what is lost, and the sums of zones that are in no timeline. */

/* With a clock of the caller's output is reproducible: the process is 1, threads are indices. */
PROF__FN uint32_t prof__chrome_pid(const struct prof_trace *s) {
    return prof__clock_kind(s) == PROF_CLOCK_PLATFORM ? 1 : prof__process_id() & INT32_MAX;
}

PROF__FN uint64_t prof__chrome_tid(const struct prof_trace *s, uint32_t thread) {
    return prof__clock_kind(s) == PROF_CLOCK_PLATFORM ? thread : s->threads[thread].id & INT32_MAX;
}

/* What leads all events of a thread: `"pid":1,"tid":2,"ts":` */
typedef struct prof__lead {
    uint32_t thread;
    uint64_t tid;
    size_t length;                       /* hosted: of the text */
    char text[PROF__BARE ? 1 : 64];
} prof__lead;

/* pid: of the writer, who asks once: it is a call to the kernel. */
PROF__FN void prof__lead_make(prof__lead *lead, uint32_t pid, uint32_t thread, uint64_t tid) {
    char *p = lead->text;
    lead->thread = thread;
    lead->tid = tid;
    if (PROF__BARE) return;
    p = PROF__LITERAL(p, "\"pid\":");
    p = prof__text_u64(p, pid);
    p = PROF__LITERAL(p, ",\"tid\":");
    p = prof__text_u64(p, tid);
    p = PROF__LITERAL(p, ",\"ts\":");
    lead->length = (size_t)(p - lead->text);
}

/* Begins an event of a thread, up to its time. ph: with what else stands before its name. */
PROF__FN void prof__chrome_front(prof__out *o, const prof__lead *lead, const char *ph,
                                 const char *name, int64_t ns) {
    prof__out_f(o, ",\n{\"ph\":\"%s\",\"name\":\"%j\",", ph, name);
    if (PROF__BARE) prof__out_f(o, "\"pid\":1,\"tid\":%u,\"ts\":%t", lead->tid, ns);
    else prof__out_f(o, "%b%t", lead->text, lead->length, ns);
}

PROF__COLD_END
/* What a zone begins with, up to its time: is behind it, with room for the times. */
PROF__EAGER char *prof__chrome_head(prof__out *o, const prof__lead *lead, const char *name) {
    char *p;
    prof__out_room(o, 64);
    o->p = PROF__LITERAL(o->p, ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"");
    prof__out_json(o, name);
    prof__out_room(o, 160);
    p = PROF__LITERAL(o->p, "\",");
    memcpy(p, lead->text, sizeof lead->text);   /* all: a copy of known size is the fastest */
    return p + lead->length;
}

PROF__EAGER const char *prof__chrome_end(uint32_t flags) {
    return prof__is_partial(flags) ? ",\"args\":{\"finished\":false,\"partial\":true}}"
         : flags & PROF_EVENT_UNFINISHED ? ",\"args\":{\"finished\":false}}"
         : flags & PROF_EVENT_PARTIAL ? ",\"args\":{\"partial\":true}}" : "}";
}

/* What follows the head at p. */
PROF__EAGER void prof__chrome_times(prof__out *o, char *p, int64_t start_ns, int64_t end_ns,
                                    uint32_t flags) {
    const char *end = prof__chrome_end(flags);
    p = prof__text_us(p, (uint64_t)start_ns);
    p = PROF__LITERAL(p, ",\"dur\":");
    o->p = prof__text_us(p, (uint64_t)end_ns - (uint64_t)start_ns);
    if (PROF__UNLIKELY(end[1])) prof__out_text(o, end);
    else *o->p++ = '}';
}

PROF__COLD_BEGIN
PROF__FN void prof__chrome_zone(prof__out *o, const prof__lead *lead, const char *name,
                                int64_t start_ns, int64_t end_ns, uint32_t flags) {
    if (PROF__BARE) {
        prof__chrome_front(o, lead, "X\",\"cat\":\"cpu_op", name, start_ns);
        prof__out_f(o, ",\"dur\":%t%s", end_ns - start_ns, prof__chrome_end(flags));
        return;
    }
    prof__chrome_times(o, prof__chrome_head(o, lead, name), start_ns, end_ns, flags);
}

PROF__RARE void prof__chrome_meta(prof__out *o, const char *name, int64_t pid, uint64_t tid,
                                const char *key) {
    prof__out_f(o, "{\"ph\":\"M\",\"name\":\"%s\",\"ts\":0.000,\"pid\":%i,\"tid\":%u,"
                   "\"args\":{\"%s\":", name, pid, tid, key);
}

PROF__FN void prof__chrome_process(prof__out *o, const struct prof_trace *s) {
    prof__chrome_meta(o, "process_labels", prof__chrome_pid(s), 0, "labels");
    prof__out_text(o, "\"CPU\"}}");
}

PROF__FN void prof__chrome_thread(prof__out *o, uint32_t pid, uint64_t tid, const char *name,
                                  uint32_t index) {
    prof__out_text(o, ",\n");
    prof__chrome_meta(o, "thread_name", pid, tid, "name");
    prof__out_f(o, name ? "\"thread %u (%j)\"}},\n" : "\"thread %u\"}},\n", tid, name);
    prof__chrome_meta(o, "thread_sort_index", pid, tid, "sort_index");
    prof__out_f(o, "%u}}", (uint64_t)index);
}

/* Is it the row for the overhead of profiling a device, which in the trace is a process? */
PROF__FN bool prof__is_overhead_row(const prof_thread_info *t) {
    size_t n = t->id || !t->name ? 0 : strlen(t->name);
    return n > 9 && memcmp(t->name + n - 9, " Overhead", 9) == 0;
}

/* What zones of a name and a thread begin with. */
typedef struct prof__head {
    const char *name;                    /* NULL: it did not fit */
    size_t length;
    uint32_t thread;
    char text[PROF__BARE ? 1 : 108];
} prof__head;

/* The state of a writer of events. */
typedef struct prof__chrome {
    prof__out *o;
    const struct prof_trace *s;
    struct prof__gpu *gpu;               /* NULL: a stream, of plain zones alone */
    prof__lead lead;                     /* of the last plain zone or moment */
    prof__head heads[PROF__BARE ? 1 : 32];   /* hosted: the last ones, by a hash */
} prof__chrome;

#if !PROF__BARE
/* ---- device work, its calls, and the arrows between them ---- */

/* A double as a JSON number, or null: with 15 to 17 digits, as many as it takes to read the same
   number back. The locale's decimal point becomes a point. */
PROF__FN void prof__chrome_real(prof__out *o, uint64_t bits) {
    double x = prof__real_value(bits);
    char text[40] = "null";
    bool same = !(x - x <= 0);           /* infinite, or no number: null */
    for (int digits = 15; !same && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        same = !(strtod(text, NULL) < x) && !(strtod(text, NULL) > x);
    }
    for (char *p = text; *p; p++)
        if (!strchr("0123456789+-enul", *p)) *p = '.';
    prof__out_f(o, ",\"args\":{\"value\":%s}}", text);
}

/* A stream of a device, a row of the trace. type: see prof__device_number. */
typedef struct prof__stream { int32_t device; uint32_t type; int64_t id; } prof__stream;

/* The time of the work on a stream, or of what of it an annotation launched: from first to last. */
typedef struct prof__cover {
    prof__stream at;
    uint32_t event;                      /* the annotation; PROF_NONE: all of the stream */
    int64_t start_ns, end_ns;
} prof__cover;

/* What a writer knows of device events. In the scratch memory, where PROF__GROUP_COST makes room:
   106 bytes for each device event and for each call that launches one. */
typedef struct prof__gpu {
    const struct prof_trace *s;
    uint32_t slots;                      /* of calls: 2 for each such event; of the index 4 */
    uint32_t *calls, *index;             /* number + 1; 0: free */
    uint8_t *launched;                   /* by slot of calls: the call launched something */
    prof__cover *covers;
    uint32_t count;                      /* of covers, at most as many as slots */
    uint32_t pid;
    prof__cover want;                    /* the key of the search that is under way */
} prof__gpu;

PROF__FN bool prof__gpu_same_cover(const void *context, uint32_t number) {
    const prof__gpu *g = (const prof__gpu *)context;
    const prof__cover *c = g->covers + number;
    return c->event == g->want.event && c->at.device == g->want.at.device &&
           c->at.id == g->want.at.id;
}

/* The slot in the index of the call with this id. */
PROF__FN uint32_t *prof__gpu_call(prof__gpu *g, int64_t id) {
    prof__ids ids = { g->calls, g->slots, prof__event_id, g->s->events };
    return prof__id_slot(&ids, id);
}

PROF__FN bool prof__is_call(const prof_event *e) {
    return prof__has(e) & PROF_HAS_ID && prof__in_tree(e) && prof__is_launch(e);
}

/* The slot of the call that launched this work: the one that its link names; or where links name
   ops, those of calls too, as in Kineto, the one of its own id. NULL: none. */
PROF__FN uint32_t *prof__gpu_launch(prof__gpu *g, const prof_event *e) {
    int64_t ids[2] = { prof__link_of(e), prof__has(e) & PROF_HAS_ID ? e->extra->id : 0 };
    for (int i = 0; i < 2; i++) {
        uint32_t *slot = ids[i] ? prof__gpu_call(g, ids[i]) : NULL;
        if (slot && *slot && (i == 1) == (prof__link_of(g->s->events + *slot - 1) != 0))
            return slot;
    }
    return NULL;
}

PROF__FN bool prof__is_gpu(const prof_event *e) {
    return e->extra && (e->device_type != PROF_DEVICE_CPU || prof__is_call(e));
}

PROF__FN bool prof__is_annotation(const prof_event *e) {
    return (e->flags & PROF_EVENT_USER_ANNOTATION) != 0;
}

/* The name in traces: ProfilerStep#1, which tables call ProfilerStep*. */
PROF__FN const char *prof__chrome_name(const prof_event *e) {
    const char *name = e->extra ? e->extra->trace_name : NULL;
    return name && *name ? name : e->name;
}

/* Added to the numbers of devices of further types, to differ from all processes and GPUs. */
#define PROF__OTHER_PIDS (1u << 24)

PROF__FN prof__stream prof__stream_of(const struct prof_trace *s, const prof_event *e) {
    prof__stream at = { prof__device_index(e), 0, 0 };
    if (!s->built) at.type = prof__device_number(s, e->device_type);
    at.device = (int32_t)((uint32_t)at.device + at.type * PROF__OTHER_PIDS);
    if (e->extra) at.id = e->extra->device_resource_id;
    if (at.id < 0) at.id = at.id == INT64_MIN ? 0 : -at.id;
    return at;
}

/* Extends the time that `event` covers on e's stream by e. */
PROF__FN void prof__gpu_cover(prof__gpu *g, uint32_t event, const prof_event *e) {
    uint32_t *slot;
    prof__cover *c;
    g->want.at = prof__stream_of(g->s, e);
    g->want.event = event;
    g->want.start_ns = e->start_ns;
    g->want.end_ns = e->end_ns;
    slot = prof__slot_find(g->index, 2 * g->slots,
                           (uint64_t)(uint32_t)g->want.at.device << 40 ^ (uint64_t)g->want.at.id ^
                               (uint64_t)event << 32, prof__gpu_same_cover, g);
    if (!*slot) {
        if (g->count == g->slots) return;   /* an annotation's: streams have room */
        g->covers[g->count++] = g->want;
        *slot = g->count;
    }
    c = g->covers + *slot - 1;
    c->start_ns = PROF__MIN(c->start_ns, e->start_ns);
    c->end_ns = PROF__MAX(c->end_ns, e->end_ns);
}

/* Finds calls, streams and covers among device events; without any slots stays 0. */
PROF__FN void prof__gpu_open(prof__gpu *g, const struct prof_trace *s) {
    uint32_t n = 0;
    memset(g, 0, sizeof *g);
    g->s = s;
    g->pid = prof__chrome_pid(s);
    if (s->side && !s->built) n = s->outside.queue_rows;
    for (uint32_t i = 0; s->side && i < s->event_count; i++)   /* of launches the rows count */
        n += !prof__was_launched(s, s->events + i) && prof__is_gpu(s->events + i);
    if (!n) return;
    g->slots = 2 * n;
    g->covers = (prof__cover *)(void *)s->scratch;
    g->calls = (uint32_t *)(void *)(g->covers + g->slots);
    g->index = g->calls + g->slots;
    g->launched = (uint8_t *)(g->index + 2 * g->slots);
    memset(g->calls, 0, g->slots * (3 * sizeof *g->calls + 1));
    for (uint32_t i = 0; i < s->event_count; i++) {
        const prof_event *e = s->events + i;
        uint32_t *slot = prof__is_call(e) ? prof__gpu_call(g, e->extra->id) : NULL;
        if (slot && !*slot) *slot = i + 1;
        if (e->extra && e->device_type != PROF_DEVICE_CPU) prof__gpu_cover(g, PROF_NONE, e);
    }
    for (uint32_t i = 0; i < s->event_count; i++) {
        const prof_event *e = s->events + i;
        uint32_t *slot = e->extra && e->device_type != PROF_DEVICE_CPU ? prof__gpu_launch(g, e)
                                                                       : NULL;
        if (!slot) continue;
        g->launched[slot - g->calls] = 1;
        for (uint32_t up = *slot - 1; up != PROF_NONE; up = s->events[up].parent)
            if (prof__is_annotation(s->events + up)) prof__gpu_cover(g, up, e);
    }
}

/* Begins an event, up to its time. ph: with "s", for an instant. With an overload the name is
   "aten::add.Tensor", as PyTorch has it. */
PROF__FN void prof__chrome_open(prof__out *o, const char *ph, const char *category,
                                const char *name, const char *overload, prof__stream at,
                                int64_t ns) {
    prof__out_f(o, ",\n{\"ph\":\"%s\",\"cat\":\"%j\",\"name\":\"%j%s%j\",\"pid\":%i,\"tid\":%i,"
                   "\"ts\":%t", ph, category, name, *overload ? "." : "", overload,
                (int64_t)at.device, at.id, ns);
}
#define PROF__INSTANT_PH "i\",\"s\":\"t"

PROF__FN bool prof__is_overhead(const prof_event *e) {
    const char *type = e->extra ? e->extra->activity_type : NULL;
    return type && strcmp(type, "overhead") == 0;
}

/* The row that an event is drawn in. */
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

/* Is it a node of an execution trace, and so a record function of PyTorch? */
PROF__FN bool prof__is_node(const prof_event *e) {
    const char *type = e->extra ? e->extra->activity_type : NULL;
    if (e->device_type != PROF_DEVICE_CPU) return false;
    if (e->extra && e->extra == &prof__details_now.unnamed) return false;   /* memory */
    return !type || strcmp(type, "cpu_op") == 0 || strcmp(type, "user_annotation") == 0;
}

PROF__FN uint64_t prof__record_id(const struct prof_trace *s, const prof_event *e) {
    return s->first_record + (uint64_t)(e - s->events) + 1;
}

PROF__FN void prof__chrome_string(prof__out *o, const char *key, const char *text) {
    if (text && *text) prof__out_f(o, "%,\"%s\":\"%j\"", key, text);
}

/* JSON is written as it is; what is none becomes a string. A stack becomes one text, innermost
   first, as in PyTorch. */
/* An entry of a stack, whose ';' stands between others: "_" instead, as in folded stacks. */
PROF__FN void prof__chrome_frame(prof__out *o, const char *text) {
    while (*text) {
        bool ends = *text == ';';
        text += ends;
        if (ends) prof__out_text(o, "_");
        else prof__out_room(o, 6);
        if (!ends) o->p = prof__text_json(o->p, &text);
    }
}

PROF__FN void prof__chrome_field(prof__out *o, const prof_extra *x, uint32_t field) {
    const prof__field *f = prof__fields + field;
    const void *value = prof__field_get(x, field);
    const char *text = (const char *)value, *const *texts = (const char *const *)value;
    uint32_t count = prof__field_count(x, field);
    bool stack = f->coding == PROF__AS_STACK;
    if (f->coding == PROF__AS_TEXT ||
        (f->coding == PROF__AS_JSON && text && prof__json_check(text))) {
        prof__chrome_string(o, f->key, text);
        return;
    }
    if (!value || (stack && !count)) return;
    prof__out_f(o, "%,\"%s\":", f->key);
    if (f->coding == PROF__AS_JSON) {
        prof__out_text(o, text);
    } else if (f->coding == PROF__AS_SHAPES) {
        prof__put_shapes(o, (const prof_shape *)value, count, ",");
    } else {
        prof__out_text(o, stack ? "\"" : "[");
        for (uint32_t i = 0; i < count; i++) {
            text = prof__text(texts[i]);
            prof__out_text(o, !i ? "" : stack ? ";" : ",");
            if (!stack) prof__out_f(o, "\"%j\"", text);
            else prof__chrome_frame(o, text);
        }
        prof__out_text(o, stack ? "\"" : "]");
    }
}

/* Writes what a zone carries, in Kineto's order. */
PROF__FN void prof__chrome_carried(prof__out *o, const prof_extra *x) {
    static const uint8_t order[] = {
        PROF__CONCRETE, PROF__KWINPUTS, PROF__DTYPES, PROF__STRIDES, PROF__SHAPES,
        PROF__OVERLOAD, PROF__STACKED, PROF__HIERARCHY, PROF__BACKEND
    };
    for (size_t i = 0; i < sizeof order; i++) prof__chrome_field(o, x, order[i]);
    if (x->stack_count && prof__session.desc.with_stack &&
        !(x->has & (PROF__HAS_PATH | PROF__HAS_NATIVE))) prof__out_text(o, ",\"Own stack\":true");
    if (x->has & PROF_HAS_SEQUENCE_NR && x->sequence_nr >= 0)
        prof__out_f(o, "%,\"Sequence number\":%i,\"Fwd thread id\":%u",
                    x->sequence_nr, x->has & PROF_HAS_FWD_THREAD ? x->fwd_thread : (uint64_t)0);
    if (x->flops) prof__out_f(o, "%,\"Flops\":%i", x->flops);
    if (x->has & PROF_HAS_NODE_ID)
        prof__out_f(o, "%,\"Node ID\":%i", (int64_t)x->node_id);
    for (uint32_t i = 0; i < x->counter_count && i < prof__counting.count; i++)
        prof__out_f(o, "%,\"%s\":%i", prof__counting.names[i], x->counters[i]);
}

/* Writes the parent's id where times do not show the parent, and an event's own id where some event
   names it as its parent: see "parents that times do not show" below. */
PROF__FN void prof__chrome_ids(prof__out *o, uint32_t parent) {
    prof__out_f(o, "%,\"Zone parent id\":%i", parent == PROF_NONE ? 0 : (int64_t)parent + 1);
}

/* ---- sites: see prof_chrome_source ---- */

/* shared, for static sites: other sites, or calls without a site, have the same name. Only traces
   of sessions use it, one writer at a time. */
static struct prof__sources {
    bool some, all, listed;              /* some events name their sites; each; the head does */
    bool shared[PROF_MAX_SITES + PROF__OWN_SITES + 1];
    uint32_t index[PROF__SITE_SLOTS];    /* the first site of each name */
} prof__sources;

PROF__FN bool prof__site_is(const void *name, uint32_t i) {
    return strcmp(prof__site(i + 1)->name, (const char *)name) == 0;
}

/* Finds the sites that the events and the head of this trace name. */
PROF__FN void prof__sources_find(const struct prof_trace *s, prof_chrome_source source) {
    struct prof__sources *all = &prof__sources;
    if (s->built) return;
    memset(all, 0, sizeof *all);
    if (source == PROF_CHROME_SOURCE_NONE) return;
    all->some = all->all = source == PROF_CHROME_SOURCE_ALL;
    all->listed = true;
    for (uint32_t i = 1; i <= s->sites; i++) {
        const prof_site *own = prof__site(i);
        size_t length;
        uint32_t hash = prof__hash(own->name, &length);
        uint32_t *first = prof__slot_find(all->index, PROF__SITE_SLOTS, hash, prof__site_is,
                                          own->name);
        bool placed = own->line || *own->file;
        if (!*first) *first = i;
        if (!prof__same_site(prof__site(*first), own) ||
            (placed && prof__sites.names.index && *prof__name_slot(own->name, length, hash)))
            all->shared[*first] = all->shared[i] = all->some = true;
    }
}

/* The site that an event must name; NULL: none. */
PROF__FN const prof_site *prof__chrome_site(const struct prof_trace *s, uint32_t site) {
    if (!prof__sources.some || s->built || site > s->sites) return NULL;
    return prof__sources.all || prof__sources.shared[site] ? prof__site_placed(site) : NULL;
}

/* "sites": see tools/README.md. */
PROF__FN void prof__chrome_sites(prof__out *o, const struct prof_trace *s) {
    o->comma = ",\"sites\":[";
    for (uint32_t i = 1; prof__sources.listed && i <= s->sites; i++) {
        const prof_site *site = prof__site_placed(i);
        char source[PROF__SOURCE];
        if (!site || prof__sources.shared[i]) continue;
        prof__out_f(o, "%,\n{\"name\":\"%j\",\"source\":\"%j\"}", site->name,
                    prof__site_source(site, source));
    }
    if (!o->comma[1]) prof__out_text(o, "]");
}

/* Its id in the execution trace. */
PROF__FN void prof__chrome_record(prof__out *o, const struct prof_trace *s, const prof_event *e) {
    if (s->record_ids && prof__is_node(e))
        prof__out_f(o, "%,\"Record function id\":%u", prof__record_id(s, e));
}

/* Writes the arguments from prof_event.extra, and that id among them. */
PROF__FN void prof__chrome_extra(prof__out *o, const struct prof_trace *s, const prof_event *e) {
    const prof_extra *x = e->extra;
    if (x->external_id) prof__out_f(o, "%,\"External id\":%i", x->external_id);
    prof__chrome_carried(o, x);
    prof__chrome_record(o, s, e);
    if (x->has & PROF_HAS_KEPT_TEXT || (!x->metadata_json && prof__is_gpu(e) &&
                                        prof__has(e) & (PROF_HAS_ID | PROF_HAS_LINK)))
        prof__out_f(o, "%,\"correlation\":%i",
                    x->has & PROF_HAS_ID ? x->id : x->linked_correlation_id);
    if (!x->metadata_json || !*x->metadata_json) return;
    if (e->flags & PROF_EVENT_SUBMITTED && !prof__json_members(x->metadata_json))
        prof__chrome_string(o, "metadata_json", x->metadata_json);
    else prof__out_f(o, "%,%s", x->metadata_json);
}

/* Writes the members of an event's arguments. */
PROF__FN void prof__chrome_arg_members(prof__out *o, const struct prof_trace *s,
                                       const prof_event *e) {
    const prof_site *site = prof__chrome_site(s, e->site);
    char source[PROF__SOURCE];
    uint32_t i = 0;
    if (e->extra) prof__chrome_extra(o, s, e);
    else prof__chrome_record(o, s, e);
    if (site) prof__chrome_string(o, "source", prof__site_source(site, source));
    if (e->flags & PROF_EVENT_UNFINISHED) prof__out_f(o, "%,\"finished\":false");
    if (e->flags & PROF_EVENT_PARTIAL) prof__out_f(o, "%,\"partial\":true");
    if (e->device_type > PROF_DEVICE_CUDA) {
        prof__out_f(o, "%,\"Device Type\":%u", (uint64_t)e->device_type);
        if (!e->extra || !e->extra->metadata_json)
            prof__out_f(o, "%,\"device\":%i", (int64_t)prof__device_index(e));
    }
    if (e->flags & (PROF__EVENT_NAMED | PROF__EVENT_TOLD)) i = (uint32_t)(e - s->events);
    if (e->flags & PROF__EVENT_NAMED)
        prof__out_f(o, "%,\"Zone id\":%u", (uint64_t)i + 1);
    if (e->flags & PROF__EVENT_TOLD)
        prof__chrome_ids(o, e->device_type == PROF_DEVICE_CPU ? e->parent
                                                              : prof__launcher_of(s, i));
}

PROF__FN prof_result prof__write_args(const prof_event *event, prof_sink out) {
    prof__out o;
    prof_event e;
    if (!event || !out.write) return PROF_ERROR_INVALID;
    e = *event;
    e.site = 0;
    e.flags &= 0xff;                     /* the others have meaning only in a trace */
    prof__out_open(&o, out);
    o.comma = "{";
    prof__chrome_arg_members(&o, &prof__trace, &e);
    prof__out_text(&o, *o.comma == '{' ? "{}" : "}");
    prof__out_flush(&o);
    return o.failed ? PROF_ERROR_SINK : PROF_OK;
}

PROF__FN void prof__chrome_arrow(prof__out *o, const prof__gpu *g, const char *name, int64_t id,
                                 const prof_event *e, int64_t ns, bool end) {
    prof__chrome_open(o, end ? "f" : "s", name, name, "", prof__chrome_row(g, e), ns);
    prof__out_f(o, end ? ",\"id\":%i,\"bp\":\"e\"}" : ",\"id\":%i}", id);
}

/* The ids of arrows from zones to work that no id links. */
#define PROF__LAUNCH_IDS ((int64_t)1 << 40)

PROF__FN void prof__chrome_rich(prof__out *o, prof__gpu *g, const prof_event *e) {
    const char *type = e->extra ? e->extra->activity_type : NULL;
    bool instant = type && strcmp(type, "cpu_instant_event") == 0, call = prof__is_call(e);
    const prof_event *from;
    bool launched = prof__was_launched(g->s, e);   /* else e may be no element of events */
    uint32_t i = launched ? (uint32_t)(e - g->s->events) : PROF_NONE, by, *slot;
    int64_t at = launched ? g->s->side[i].of.work.launched_ns : 0;
    if (!type) type = e->device_type != PROF_DEVICE_CPU ? "kernel"
                    : prof__is_annotation(e) ? "user_annotation" : "cpu_op";
    prof__chrome_open(o, instant ? PROF__INSTANT_PH : "X", type, prof__chrome_name(e),
                      prof__overload(e), prof__chrome_row(g, e), e->start_ns);
    if (!instant) prof__out_f(o, ",\"dur\":%t", prof__elapsed(e));
    o->comma = ",\"args\":{";
    prof__chrome_arg_members(o, g->s, e);
    if (launched)
        prof__out_f(o, "%,\"Launch latency (us)\":%t", PROF__MINUS(e->start_ns, at));
    prof__out_text(o, o->comma[1] ? "}" : "}}");
    by = launched ? prof__launcher_of(g->s, i) : PROF_NONE;
    if (by != PROF_NONE) {               /* no id links them */
        prof__chrome_arrow(o, g, "ac2g", PROF__LAUNCH_IDS + i, g->s->events + by, at, false);
        prof__chrome_arrow(o, g, "ac2g", PROF__LAUNCH_IDS + i, e, e->start_ns, true);
    }
    if (!g->slots || (!call && e->device_type == PROF_DEVICE_CPU)) return;
    slot = call ? prof__gpu_call(g, e->extra->id) : prof__gpu_launch(g, e);
    if (!slot || !*slot || !g->launched[slot - g->calls]) return;
    from = g->s->events + *slot - 1;     /* an arrow's end, where the trace has both */
    if (!call || from == e)
        prof__chrome_arrow(o, g, "ac2g", from->extra->id, e, e->start_ns, !call);
}

/* The system's name of the program. */
PROF__FN void prof__process_name(char *name, size_t size) {
#if defined(__linux__)
    int cancel = prof__cancel_off();
    FILE *file = prof__trace.clock == PROF_CLOCK_PLATFORM ? NULL : fopen("/proc/self/comm", "r");
    bool there = file && fgets(name, (int)size, file);
    if (file) fclose(file);
    prof__cancel_back(cancel);
    name[there ? strcspn(name, "\n") : 0] = 0;
    if (there) return;
#endif
    (void)size;
    memcpy(name, "program", sizeof "program");
}

/* what: "process" or "thread". */
PROF__FN void prof__chrome_named(prof__out *o, const char *what, int64_t pid, int64_t tid,
                                 const char *name, int64_t sort_index) {
    prof__out_f(o, ",\n{\"ph\":\"M\",\"name\":\"%s_name\",\"ts\":0.000,\"pid\":%i,\"tid\":%i,"
                   "\"args\":{\"name\":\"%j\"}}", what, pid, tid, name);
    prof__out_f(o, ",\n{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"ts\":0.000,\"pid\":%i,\"tid\":%i,"
                   "\"args\":{\"sort_index\":%i}}", what, pid, tid, sort_index);
}

/* The label of device type i's rows: its name in tables; "GPU" for CUDA alone, as in PyTorch. */
PROF__FN const char *prof__device_label(const struct prof_trace *s, uint32_t i, char text[64]) {
    const char *title = prof__device_title(s->device_types[i]);
    bool alone = s->device_types[i] == PROF_DEVICE_CUDA && !s->device_types[1];
    return s->built || !*title || (alone && strcmp(prof__text_upper(text, title), "CUDA") == 0)
        ? "GPU" : prof__text_upper(text, title);
}

/* The name of a row: of a queue, "copies", "copies (2)", or of a stream. */
PROF__FN void prof__stream_name(const prof__gpu *g, prof__stream at, char *name, size_t size) {
    for (uint32_t i = 0; !g->s->built && i < PROF__ACQUIRE(prof__devices.queue_count); i++) {
        const prof__queue *q = prof__devices.queues + i;
        if (!q->rows || !q->name[0] || g->s->device_types[at.type] != q->device.type ||
            q->row != at.id % PROF_ROW_LANE ||
            at.device - (int32_t)(at.type * PROF__OTHER_PIDS) != q->device.index) continue;
        (void)prof__text_f(name, size, at.id >= PROF_ROW_LANE ? "%s (%i)" : "%s", q->name,
                           at.id / PROF_ROW_LANE + 1);
        return;
    }
    (void)prof__text_f(name, size, at.id < PROF_ROW_SYNC - 1 ? "stream %i "
                                   : at.id < PROF_ROW_SYNC ? "waits" : "stream %i (sync)",
                       at.id < PROF_ROW_SYNC ? at.id : at.id - PROF_ROW_SYNC);
}

/* A GPU is a process, its streams are threads. The overhead of profiling a device is a process. */
PROF__FN void prof__chrome_streams(prof__out *o, const prof__gpu *g) {
    char program[64], text[64], name[sizeof prof__devices.queues->name + 24];
    if (g->count) {
        prof__process_name(program, sizeof program);
        prof__chrome_named(o, "process", (int64_t)g->pid, 0, program, (int64_t)g->pid);
    }
    for (uint32_t i = 0; i < g->s->thread_count; i++)
        if (prof__is_overhead_row(g->s->threads + i))
            prof__chrome_named(o, "process", -1, 0, g->s->threads[i].name, 0x100000);
    for (uint32_t i = 0; i < g->count; i++) {
        prof__stream at = g->covers[i].at;
        uint32_t first = 0;
        if (g->covers[i].event != PROF_NONE) continue;
        while (g->covers[first].at.device != at.device) first++;
        if (first == i) {
            const char *label = prof__device_label(g->s, at.type, text);
            prof__out_text(o, ",\n");
            prof__chrome_meta(o, "process_labels", at.device, 0, "labels");
            prof__out_f(o, "\"%j %i\"}}", label,
                        (int64_t)at.device - (int64_t)at.type * PROF__OTHER_PIDS);
            prof__chrome_named(o, "process", at.device, 0, program,
                               5000000 + (int64_t)at.device);
        }
        prof__stream_name(g, at, name, sizeof name);
        prof__chrome_named(o, "thread", at.device, at.id, name, at.id);
    }
}

/* What pairs of readings tell of the devices' clocks. error_ns: by how much one is off the line
   between those around it, at most. */
PROF__FN void prof__chrome_clocks(prof__out *o) {
    for (uint32_t i = 0; i < prof__devices.clock_count; i++) {
        const prof__paired *c = prof__devices.clocks + i;
        double most = 0;
        for (uint32_t k = 1; k + 1 < c->count; k++) {
            double off = (double)(c->pairs[k].session_ns - c->pairs[k - 1].session_ns) -
                         prof__paired_rate(c, k - 1, k + 1) *
                             (double)(c->pairs[k].device_ns - c->pairs[k - 1].device_ns);
            most = PROF__MAX(most, off < 0 ? -off : off);
        }
        prof__out_f(o, "%s{\"device\":\"%j %i\",\"pairs\":%u,\"ns_per_1e9\":%i,\"error_ns\":%i}",
                    i ? "," : ",\n\"device_clocks\":[", prof__device_title(c->device.type),
                    (int64_t)c->device.index, (uint64_t)c->count,
                    prof__span_ns(prof__paired_usual(c) * 1e9), prof__span_ns(most));
    }
    if (prof__devices.clock_count) prof__out_text(o, "]");
}

PROF__FN void prof__chrome_status(prof__out *o, const struct prof_trace *s) {
    o->comma = ",\"devices\":{";
    for (uint32_t i = 0; i < prof__devices.count; i++) {
        const char *status = prof__device_status(s, i);
        if (status) prof__out_f(o, "%,\"%j\":\"%j\"", prof__devices.list[i].desc.name, status);
    }
    if (!o->comma[1]) prof__out_text(o, "}");
}

/* ---- arrows from forward to backward zones ---- */

PROF__FN bool prof__has_sequence(const prof_event *e) {
    return prof__has(e) & PROF_HAS_SEQUENCE_NR && e->extra->sequence_nr >= 0 && prof__in_tree(e);
}

PROF__FN bool prof__asks_forward(const prof_event *e) {
    return prof__has_sequence(e) && e->extra->has & PROF_HAS_FWD_THREAD && e->extra->fwd_thread;
}

/* Draws an arrow to a sequence's first backward event from its last forward before that. */
PROF__FN void prof__chrome_pairs(prof__out *o, const prof__gpu *g) {
    const struct prof_trace *s = g->s;
    uint32_t n = s->event_count, *forward = (uint32_t *)(void *)s->scratch, at;
    prof__sequences q = { s, forward + n, true, 0, 0 };
    int64_t id = 0;
    memset(q.index, 0, 2 * n * sizeof *q.index);
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + i;
        uint32_t *slot = prof__asks_forward(e) ? prof__sequence_slot(&q, e, e->extra->fwd_thread)
                                                : NULL;
        if (slot && !*slot) *slot = i + 1;
        forward[i] = PROF_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        const prof_event *e = s->events + i;
        if (!prof__has_sequence(e) || prof__asks_forward(e)) continue;
        at = *prof__sequence_slot(&q, e, s->threads[e->thread].id);
        if (at && e->start_ns <= s->events[at - 1].start_ns) forward[at - 1] = i;
    }
    for (uint32_t i = 0; i < n && !o->failed; i++) {
        if (forward[i] == PROF_NONE) continue;
        prof__chrome_arrow(o, g, "fwdbwd", ++id, s->events + forward[i],
                           s->events[forward[i]].start_ns, false);
        prof__chrome_arrow(o, g, "fwdbwd", id, s->events + i, s->events[i].start_ns, true);
    }
}

/* ---- parents that times do not show ----
   Readers of the trace nest its events by time, as PyTorch does: the parent is the innermost event
   of the thread that holds it; an event that has ended holds nothing. Where a clock is coarse, a
   zone lies across steps, or memory changes at a border, that gives another tree than there was:
   such an event tells its parent by "Zone parent id" (0: none), which readers go on from. */

/* If a reader would guess another parent, notes that this parent is named. */
PROF__FN bool prof__tell(const struct prof_trace *s, uint32_t parent, uint32_t guess) {
    if (parent == guess) return false;
    if (parent != PROF_NONE) s->events[parent].flags |= PROF__EVENT_NAMED;
    return true;
}

/* The zone in which memory changed; PROF_NONE: none, also where the change is an event itself. */
PROF__FN uint32_t prof__memory_zone(const struct prof_trace *s, const prof__memory *m) {
    bool own = m->event != PROF_NONE && s->events[m->event].extra == &prof__details_now.unnamed;
    return own ? PROF_NONE : m->event;
}

/* Marks zones and changes of memory that must tell their parent, and these parents. False: none. */
PROF__FN bool prof__tell_zones(const struct prof_trace *s) {
    const uint16_t none = (uint16_t)~(PROF__EVENT_NAMED | PROF__EVENT_TOLD);
    uint32_t *top = (uint32_t *)(void *)s->scratch, at = 0, n = s->event_count;
    bool any = false;
    for (uint32_t i = 0; i <= s->thread_count; i++) top[i] = PROF_NONE;
    for (uint32_t i = 0; i <= n; i++) {
        prof_event *e = s->events + i;
        uint32_t *last;
        for (; at < s->memory.count && (i == n || s->memory.list[at].ns < e->start_ns); at++) {
            prof__memory *m = s->memory.list + at;
            bool told = prof__tell(s, prof__memory_zone(s, m),
                                   prof__innermost(s, top + m->thread, m->ns));
            m->category = (uint8_t)((m->category & 7) | (told ? PROF__MEMORY_TOLD : 0));
            any |= told;
        }
        if (i == n) break;
        if (e->flags & (uint16_t)~none) e->flags &= none;    /* marks of an earlier writer */
        if (!prof__is_zone(e)) continue;
        last = top + (prof__is_overhead(e) ? s->thread_count : e->thread);
        if (prof__tell(s, e->parent, prof__events_around(s, *last, e->start_ns, e->end_ns))) {
            e->flags |= PROF__EVENT_TOLD;
            any = true;
        }
        *last = i;
    }
    return any;
}

/* Marks all events that must tell their parent, work on devices, too. False: there are none. */
PROF__FN bool prof__tell_parents(const struct prof_trace *s) {
    bool any;
    if (!s->instants && !prof__others(s) && !prof__side_of(s)) return false;   /* by times alone */
    any = prof__tell_zones(s);
    for (uint32_t i = 0; s->side && i < s->event_count; i++) {
        prof_event *e = s->events + i;
        const char *json = e->extra ? e->extra->metadata_json : NULL;
        uint32_t from;
        if (e->device_type == PROF_DEVICE_CPU || prof__has(e) & PROF_HAS_KEPT_TEXT) continue;
        if (json && strstr(json, "\"correlation\"")) continue;   /* tells the call */
        from = prof__launcher_of(s, i);
        if (from != PROF_NONE ? !prof__tell(s, from, PROF_NONE)
                              : !e->extra || !e->extra->external_id) continue;
        e->flags |= PROF__EVENT_TOLD;
        any = true;
    }
    return any;
}

/* ---- memory, arrows and ranges ---- */

/* Writes the change m. block: m; or an older one that was still in use at its address, so that its
   free was missed: an event for that free comes first, so that totals agree. */
PROF__FN void prof__chrome_change(prof__out *o, const prof__gpu *g, const prof__memory *m,
                                  const prof__memory *block) {
    static const char kinds[][16] = { "", "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY",
                                         "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL" };
    bool out = m->what == PROF__NO_MEMORY, missed = block != m;
    const prof__stream at = { (int32_t)g->pid, 0, (int64_t)prof__chrome_tid(g->s, m->thread) };
    prof__chrome_open(o, PROF__INSTANT_PH, "cpu_instant_event", out ? "[OutOfMemory]" : "[memory]",
                      "", at, m->ns);
    prof__out_f(o, ",\"args\":{\"Device Type\":%u,\"Device Id\":%i", (uint64_t)block->device.type,
                (int64_t)(block->device.type ? block->device.index : -1));
    if (!out) prof__out_f(o, ",\"Addr\":%u", block->address);
    prof__out_f(o, ",\"Bytes\":%i,\"Total Allocated\":%i,\"Total Reserved\":0",
                missed ? PROF__MINUS(0, block->bytes) : m->bytes,
                missed ? PROF__MINUS(m->total, m->bytes) : m->total);
    if (block->category & 7)
        prof__out_f(o, ",\"Category\":\"%s\"", kinds[block->category & 7]);
    o->comma = ",";
    if (m->category & PROF__MEMORY_TOLD) prof__chrome_ids(o, prof__memory_zone(g->s, m));
    prof__out_text(o, missed ? ",\"Missed\":true}}" : "}}");
}

PROF__FN void prof__chrome_moment_flow(prof__out *o, const prof__gpu *g, const prof__moment *m) {
    prof_event e;
    memset(&e, 0, sizeof e);
    e.thread = m->thread;
    e.start_ns = m->ns;
    prof__chrome_arrow(o, g, "flow", m->value, &e, e.start_ns, m->kind == PROF__MOMENT_FLOW_END);
}

/* What stands behind the events, and comes from them or beside them. */
PROF__FN void prof__chrome_beside(prof__out *o, const prof__gpu *g) {
    const struct prof_trace *s = g->s;
    for (uint32_t i = 0; i < g->count && !o->failed; i++) {   /* 1 ns wider at each end */
        const prof__cover *c = g->covers + i;
        if (c->event == PROF_NONE) continue;
        prof__chrome_open(o, "X", "gpu_user_annotation", prof__chrome_name(s->events + c->event),
                          "", c->at, c->start_ns - (c->start_ns > INT64_MIN));
        prof__out_f(o, ",\"dur\":%t,\"args\":{\"cover\":true}}",  /* drawn, no event */
                    PROF__PLUS(PROF__MINUS(c->end_ns, c->start_ns), 2));
    }
    if (s->outside.any_sequence) prof__chrome_pairs(o, g);
    for (uint32_t i = 0; i < s->memory.count && !o->failed; i++) {
        const prof__memory *m = s->memory.list + i;
        if (m->what == PROF__NOT_COUNTED) continue;
        if (m->next) prof__chrome_change(o, g, m, s->memory.list + m->next - 1);
        prof__chrome_change(o, g, m, m);
    }
}

/* Writes an event that is no plain zone. False: it is one. */
PROF__FN bool prof__chrome_other(prof__out *o, prof__gpu *g, const prof_event *e) {
    const struct prof_trace *s = g->s;
    if (e->extra && e->extra == &prof__details_now.unnamed) return true;   /* memory: see beside */
    if (e->extra && !s->built && e->flags & PROF_EVENT_ASYNC && prof__has(e) & PROF_HAS_ID &&
        e->site) {                       /* of prof_async_begin */
        for (int end = 0; end < 2; end++) {
            prof__chrome_open(o, end ? "e" : "b", "async", e->name, "", prof__chrome_row(g, e),
                              end ? e->end_ns : e->start_ns);
            prof__out_f(o, ",\"id\":%i}", e->extra->id);
        }
        return true;
    }
    if (!e->extra && !e->device_type && !s->record_ids &&
        !(e->flags & (PROF__EVENT_NAMED | PROF__EVENT_TOLD)) && !prof__chrome_site(s, e->site))
        return false;
    prof__chrome_rich(o, g, e);
    return true;
}

/* ---- metadata: `"key":value` of one entry after the other, each with a NUL ---- */

#ifndef PROF_METADATA_SIZE
#  define PROF_METADATA_SIZE 8192
#endif
typedef struct prof__entries {
    size_t used;
    uint32_t changes;
    char text[PROF_METADATA_SIZE];
} prof__entries;

/* Under the lock. The first are those that stay for all sessions; its `changes` is of both: their
   number times two, odd while one is made. */
static prof__entries prof__metadata[2];

/* For a writer, whose sink must not be called under the lock: another thread may add an entry. */
PROF__FN void prof__metadata_copy(prof__entries m[2]) {
    prof__lock();
    memcpy(m, prof__metadata, sizeof prof__metadata);
    prof__unlock();
}

/* The entry with the key of this one; NULL: none. */
PROF__FN char *prof__metadata_find(prof__entries *m, const char *entry) {
    size_t key = 1;
    while (entry[key] != '"') key += entry[key] == '\\' ? 2 : 1;
    for (char *at = m->text; at < m->text + m->used; at += strlen(at) + 1)
        if (strncmp(at, entry, key + 1) == 0) return at;
    return NULL;
}

/* A block of the stream holds a whole entry. */
enum { PROF__METADATA_LONGEST = 4 * (4096 - 7) };
PROF__FN void prof__raw_metadata_now(void);

PROF__FN bool prof__streams(const struct prof_trace *s) {
    return s->open && s->mode == PROF_MODE_STREAM;
}

/* Adds an entry instead of an older one of its key. json: of the value's text. A stream has it from
   now on. */
PROF__FN prof_result prof__metadata_add(const char *key, const char *value, bool json) {
    static const char own[][20] = { "schemaVersion", "prof", "displayTimeUnit", "device_clocks",
                                    "baseTimeNanoseconds", "traceEvents", "traceName" };
    static char entry[PROF_METADATA_SIZE + 1];
    const struct prof_trace *s = &prof__trace;
    prof__entries *m;
    char *old = NULL;
    size_t size, freed;
    bool fits, streams;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(key, own[i]) == 0)
            return prof__fail(PROF_ERROR_INVALID, "this key of metadata is the trace's own");
    prof__lock();
    streams = s->open && s->mode == PROF_MODE_STREAM;
    if (streams && prof__session.desc.stream_format == PROF_STREAM_CHROME) {
        prof__unlock();
        return prof__fail(PROF_ERROR_UNSUPPORTED, "a stream in Chrome's format has no metadata");
    }
    m = prof__metadata + prof__session.open;
    size = 1 + prof__text_f(entry, sizeof entry, json ? "\"%j\":%s" : "\"%j\":\"%j\"", key, value);
    if (size <= sizeof m->text) old = prof__metadata_find(m, entry);   /* it is not cut */
    freed = old ? strlen(old) + 1 : 0;
    fits = m->used - freed + size <= sizeof m->text;
    if (streams) fits &= size - 1 <= PROF__METADATA_LONGEST;
    PROF__STORE(prof__metadata->changes, prof__metadata->changes + fits);
    PROF__FENCE();
    if (fits && old) memmove(old, old + freed, m->used - (size_t)(old - m->text) - freed);
    if (fits) memcpy(m->text + m->used - freed, entry, size);
    if (fits) m->used += size - freed;
    PROF__RELEASE(prof__metadata->changes, prof__metadata->changes + fits);
    prof__unlock();
    if (!fits) return PROF_ERROR_MEMORY;
    if (streams) prof__raw_metadata_now();
    return PROF_OK;
}

/* Is there a later value of this key: one of `rest`, members of an object, or metadata? */
PROF__FN bool prof__member_hidden(prof__entries m[2], const prof__member *e, const char *rest) {
    prof__member later;
    while (prof__member_next(&rest, &later))
        if (later.key_size == e->key_size && memcmp(later.key, e->key, e->key_size) == 0)
            return true;
    return prof__metadata_find(m, e->key) || prof__metadata_find(m + 1, e->key);
}

/* What devices tell, as members of one object, in the scratch space. */
PROF__FN const char *prof__devices_told(const struct prof_trace *s) {
    size_t room = (size_t)(prof__scratch_end(s) - s->scratch), used = 0;
    for (uint32_t i = 0; i < prof__devices.count; i++) {
        const prof_device_desc *d = &prof__devices.list[i].desc;
        char *to = s->scratch + used + (used != 0);
        size_t left = room - PROF__MIN(room, used + 1), n;
        if (!(prof__session.activities & d->activity) || !d->metadata) continue;
        n = (d->metadata)(d->user, to, left);
        if (!n || n >= left) continue;
        to[n] = 0;
        if (!prof__json_members(to)) continue;
        if (used) to[-1] = ',';
        used = (size_t)(to - s->scratch) + n;
    }
    return used ? s->scratch : "";
}

/* Writes what devices tell, what the session was asked for, and entries; of each key the last: a
   session's entry hides a preset one, and both what stands before them. */
PROF__FN void prof__chrome_metadata(prof__out *o, const struct prof_trace *s) {
    const prof_desc *d = &prof__session.desc;
    prof__entries m[2];
    const struct { const char *member; bool on; } flags[] = {
        { "\"profile_memory\":1", d->profile_memory }, { "\"with_stack\":1", d->with_stack != 0 },
        { "\"record_shapes\":1", d->record_shapes }, { "\"with_modules\":1", d->with_modules },
        { "\"with_flops\":1", d->with_flops } };
    const char *told, *at, *line = ",\n";
    prof__member e;
    if (s->built) return;
    prof__chrome_clocks(o);
    prof__metadata_copy(m);
    told = prof__devices_told(s);
    for (at = told; prof__member_next(&at, &e); line = ",")
        if (!prof__member_hidden(m, &e, at))
            prof__out_f(o, "%s%b:%b", line, e.key, e.key_size, e.value, e.value_size);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        at = flags[i].member;
        if (flags[i].on && prof__member_next(&at, &e) && !prof__member_hidden(m, &e, told))
            prof__out_f(o, ",\n%s", flags[i].member);
    }
    for (int i = 0; i < 2; i++)
        for (const char *entry = m[i].text; entry < m[i].text + m[i].used;
             entry += strlen(entry) + 1)
            if (i || !prof__metadata_find(m + 1, entry)) prof__out_f(o, ",\n%s", entry);
}

PROF__CALL prof_result prof_add_metadata(const char *key, const char *text) {
    return key && text ? prof__metadata_add(key, text, false) : PROF_ERROR_INVALID;
}

/* Checks it; prof_strerror then says "this is not JSON, at byte 17". */
PROF__FN prof_result prof__json_result(const char *json) {
    const char *at = prof__json_check(json);
    return !at ? PROF_OK : PROF__FAIL(PROF_ERROR_JSON, "this is not JSON, at byte %u",
                                      (uint64_t)(at - json));
}

PROF__CALL prof_result prof_add_metadata_json(const char *key, const char *json) {
    prof_result result = key && json ? prof__json_result(json) : PROF_ERROR_INVALID;
    return result == PROF_OK ? prof__metadata_add(key, json, true) : result;
}

PROF__CALL prof_result prof_set_distributed(const prof_distributed *info) {
    char text[PROF_METADATA_SIZE + 1];   /* a cut one does not fit either */
    prof_result result = PROF_OK;
    if (!info || !info->backend) return PROF_ERROR_INVALID;
    if (info->pg_config) result = prof__json_result(info->pg_config);
    if (result != PROF_OK) return result;
    (void)prof__text_f(text, sizeof text, "{\"backend\": \"%j\", \"rank\": %u, \"world_size\": %u, "
                       "\"pg_count\": %u%s%s%s%j%s}", info->backend, (uint64_t)info->rank,
                       (uint64_t)info->world_size, (uint64_t)info->pg_count,
                       info->pg_config ? ", \"pg_config\": " : "", prof__text(info->pg_config),
                       info->nccl_version ? ", \"nccl_version\": \"" : "",
                       prof__text(info->nccl_version), info->nccl_version ? "\"" : "");
    return prof__metadata_add("distributedInfo", text, true);
}

/* ---- the trace's head ---- */

/* Rows by name, or by name and site. */
PROF__FN void prof__chrome_sums_list(prof__out *o, const struct prof_trace *s, bool by_site) {
    char source[PROF__SOURCE];
    prof_averages_desc by;
    prof_average *rows = NULL;           /* those of PROF_MODE_AGGREGATE */
    prof__groups g;
    uint32_t n = 0;
    o->comma = by_site ? ",\"sums_by_site\":[" : ",\"sums\":[";
    memset(&by, 0, sizeof by);
    by.group_by_site = by_site;
    if (!prof__averages_of_sums(s, &by, &rows, &n)) {
        prof__groups_open(&g, s, &by, true);
        prof__sums_into_rows(&g);
        n = g.count;
    }
    for (uint32_t i = 0; i < n; i++) {
        prof_average a = rows ? rows[i] : prof__sums_average(s, g.rows[i].sums);
        if (!rows) a.site = by_site ? prof__site_placed(g.rows[i].first) : NULL;
        prof__out_f(o, "%,\n{\"name\":\"%j\"", a.key);
        prof__out_f(o, ",\"count\":%u,\"total\":%i,\"self\":%i,\"min\":%i,\"max\":%i", a.count,
                    a.cpu_time_total_ns, a.self_cpu_time_total_ns, a.min_ns, a.max_ns);
        prof__out_f(o, ",\"p50\":%i,\"p90\":%i,\"p99\":%i", a.p50_ns, a.p90_ns, a.p99_ns);
        if (a.site)
            prof__out_f(o, ",\"source\":\"%j\"", prof__site_source(a.site, source));
        prof__out_text(o, "}");
    }
    if (!o->comma[1]) prof__out_text(o, "]");
}

/* Zones that are in no timeline: see tools/README.md. */
PROF__FN void prof__chrome_sums(prof__out *o, const struct prof_trace *s) {
    prof_stats stats = prof_get_stats(s);
    prof__scale scale;
    memset(&scale, 0, sizeof scale);
    if (s->built || !(stats.summed || s->sums.average)) return;
    prof__out_f(o, ",\"summed\":%u,\"timeline_end_ns\":%u,\"session_ns\":%i",
                s->sums.average ? stats.recorded : stats.summed, stats.timeline_ns,
                prof__to_ns(&scale, s->stop_tick));
    prof__chrome_sums_list(o, s, false);
    if (prof__sources.some) prof__chrome_sums_list(o, s, true);
}

/* Writes what readers must know first: which arguments are counters, the types of devices, and
   whether events name their parents. */
PROF__FN void prof__chrome_promises(prof__out *o, const struct prof_trace *s) {
    const char *name;
    char text[64];
    uint32_t i = 0;
    for (; (name = prof_hw_counter_name(s, i)) != NULL; i++)
        prof__out_f(o, i ? ",\"%j\"" : ",\"counters\":[\"%j\"", name);
    if (i) prof__out_text(o, "]");
    o->comma = ",\"device_types\":{";
    for (uint32_t k = 0; k < PROF__DEVICE_TYPES && s->device_types[k]; k++)
        prof__out_f(o, "%,\"%u\":\"%j\"", (uint64_t)s->device_types[k],
                    prof__text_upper(text, prof__device_title(s->device_types[k])));
    if (!o->comma[1]) prof__out_text(o, "}");
    if (prof__tell_parents(s)) prof__out_text(o, ",\"zone_ids\":true");
}

/* ---- the legacy array. PyTorch: EventList.export_chrome_trace() ---- */

/* An event whose trace_name is "", PyTorch's None, is left out. */
PROF__FN bool prof__legacy_has(const prof_event *e) {
    return !e->extra || !e->extra->trace_name || *e->extra->trace_name;
}

/* One end of the arrow from an event to its kernel. */
PROF__FN void prof__legacy_end(prof__out *o, const struct prof_trace *s, const prof_event *e,
                               uint32_t id, bool start) {
    const char *device = s->view.device_name ? s->view.device_name : "cuda";
    prof__out_f(o, ",\n{\"name\": \"%j\", \"ph\": \"%s, \"ts\": %t, \"tid\": %u, "
                   "\"pid\": \"CPU functions\", \"id\": %u, \"cat\": \"cpu_to_",
                prof__chrome_name(e), start ? "s\"" : "f\", \"bp\": \"e\"", e->start_ns,
                s->threads[e->thread].id, (uint64_t)id);
    for (; *device; device++) {
        char c[2] = { (char)(*device >= 'A' && *device <= 'Z' ? *device + 32 : *device), 0 };
        prof__out_json(o, c);
    }
    prof__out_text(o, "\", \"args\": {}}");
}

/* Behind an event come arrows to the kernels that are events of the trace. Their numbers are
   PyTorch's, which writes the begin of an arrow for each kernel, but no ends. */
PROF__FN void prof__chrome_legacy(prof__out *o, const struct prof_trace *s) {
    bool first = true;
    uint32_t id = 0, at;
    prof__out_text(o, "[");
    for (uint32_t i = 0; i < s->event_count && !o->failed; i++) {
        const prof_event *e = s->events + i;
        if (!prof__legacy_has(e)) continue;
        prof__out_f(o, "%s{\"name\": \"%j\", \"ph\": \"X\", \"ts\": %t, \"dur\": %t, \"tid\": ",
                    first ? "" : ",\n", prof__chrome_name(e), e->start_ns, prof__elapsed(e));
        if (e->flags & PROF_EVENT_REMOTE)
            prof__out_f(o, "\" node_id:%i, thread_id:%u \"", (int64_t)prof__node_id(e),
                        s->threads[e->thread].id);
        else prof__out_u64(o, s->threads[e->thread].id);
        prof__out_text(o, ", \"pid\": \"CPU functions\", \"args\": {}}");
        first = false;
        at = prof__kernels_of(s, i);
        for (; at != PROF_NONE; at = s->side[at].of.work.next, id++) {
            if (s->built || !prof__legacy_has(s->events + at)) continue;
            prof__legacy_end(o, s, e, id, true);
            prof__legacy_end(o, s, s->events + at, id, false);
        }
    }
    prof__out_text(o, "]\n");
}

/* ---- files ---- */

#if defined(__linux__)
enum { PROF__FILE_SIGNALS = 1 << 12 | 1 << 24 };   /* SIGPIPE, SIGXFSZ */

/* Blocks the signals that would end the program for writing to a pipe that nobody reads, or beyond
   a file's largest size, until prof__file_unhush. Returns the signals that were blocked before. */
PROF__FN uint64_t prof__file_hush(void) {
    uint64_t signals = PROF__FILE_SIGNALS, before = 0;
    (void)syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &signals, &before, sizeof before);
    return before;
}
PROF__FN void prof__file_unhush(uint64_t before, bool ok) {
    uint64_t ours = ~before & PROF__FILE_SIGNALS;
    PROF__TIMESPEC none = { 0, 0 };
    int error = errno;
    while (!ok && ours && (syscall(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof ours) > 0 ||
                           errno == EINTR)) {}
    (void)syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof before);
    errno = error;
}
#else
#  define prof__file_hush() 0u
#  define prof__file_unhush(before, ok) ((void)(before))
#endif

/* ---- the system's files ---- */

enum { PROF__FILE_THERE, PROF__FILE_NEW, PROF__FILE_EMPTY };   /* NEW: no file may be there */
#if defined(_WIN32)
#  define prof__seek(file, at, from) _lseeki64(file, (int64_t)(at), from)
#  define prof__file_mode(path) ((void)(path), 0666)
#  define prof__file_cut(file, end) _chsize_s(file, (int64_t)(end))
#  define PROF__FILE_BUSY (_doserrno == 32)   /* another process writes it */
#  define PROF__FILE_WRITABLE(path) true
PROF__FN int prof__file_open(const char *path, int what, int mode) {
    static const int how[] = { 0, _O_CREAT | _O_EXCL, _O_CREAT | _O_TRUNC };
    PROF__WIDE(wide, path);
    (void)mode;
    return wide ? _wsopen(wide, _O_WRONLY | _O_BINARY | _O_NOINHERIT | how[what],
                          0x20 /* _SH_DENYWR */, _S_IWRITE) : -1;
}
PROF__FN bool prof__file_rename(const char *from, const char *to) {
    PROF__WIDE(before, from);
    PROF__WIDE(after, to);
    bool ok = before && after && MoveFileExW(before, after, 1 /* MOVEFILE_REPLACE_EXISTING */);
    if (before && after && !ok) errno = EACCES;   /* it is a folder, or open */
    return ok;
}
PROF__FN void prof__file_remove(const char *path) {
    PROF__WIDE(wide, path);
    if (wide) (void)_wunlink(wide);
}
PROF__FN bool prof__file_special(const char *path) {   /* nul, con, a pipe */
    PROF__WIDE(wide, path);
    return wide && wide[0] == '\\' && wide[2] == '.';
}
PROF__FN void prof__folder_make(const char *path) {
    PROF__WIDE(wide, path);
    if (wide) (void)_wmkdir(wide);
}
PROF__FN bool prof__folder_is(const char *path) {   /* or a drive */
    PROF__WIDE(wide, path);
    return wide && _waccess(wide, 0) == 0;
}
#else
#  define prof__seek(file, at, from) (lseek)(file, (off_t)(at), from)
#  define prof__file_cut(file, end) ftruncate(file, (off_t)(end))
#  define PROF__FILE_BUSY false
#  define PROF__FILE_WRITABLE(path) (access(path, W_OK) == 0)
#  define prof__folder_make(path) ((void)mkdir(path, 0777))
PROF__FN bool prof__folder_is(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}
PROF__FN int prof__file_open(const char *path, int what, int mode) {
    static const int how[] = { 0, O_CREAT | O_EXCL, O_CREAT | O_TRUNC };
    int cancel = prof__cancel_off(), file = open(path, O_WRONLY | how[what], mode);
    prof__cancel_back(cancel);
    return file >= 0 && fcntl(file, F_SETFD, FD_CLOEXEC) == 0 ? file : -1;
}
PROF__FN bool prof__file_rename(const char *from, const char *to) { return rename(from, to) == 0; }
PROF__FN void prof__file_remove(const char *path) { (void)unlink(path); }
PROF__FN bool prof__file_special(const char *path) {
    static const char *const of_descriptors[] = { "/dev/std", "/dev/fd/", "/proc/" };   /* links */
    struct stat st;
    for (int i = 0; i < 3; i++)
        if (strncmp(path, of_descriptors[i], strlen(of_descriptors[i])) == 0) return true;
    return stat(path, &st) == 0 ? !S_ISREG(st.st_mode) : errno != ENOENT;
}
PROF__FN int prof__file_mode(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int)(0666 & st.st_mode) : 0666;
}
#endif
PROF__FN bool prof__file_shut(prof_file *f) {
    int cancel = prof__cancel_off(), failed = PROF__LIBC(close)((int)f->handle);
    prof__cancel_back(cancel);
    return !failed;
}

PROF__FN bool prof__file_put(prof_file *f, const char *data, size_t size) {
    int cancel = prof__cancel_off();
    uint64_t before = prof__file_hush();
    bool ok = true;
    while (size && ok) {
        unsigned part = (unsigned)PROF__MIN(size, 1u << 30);
        ptrdiff_t n;
#ifdef PROF_ZLIB
        if (f->zip) n = gzwrite((gzFile)f->zip, data, part);
        else
#endif
        n = PROF__LIBC(write)((int)f->handle, data, part);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        data += ok ? n : 0;
        size -= ok ? (size_t)n : 0;
    }
    prof__file_unhush(before, ok);
    prof__cancel_back(cancel);
    return ok;
}

/* Opens the file of this path and cuts it, to write from offset `at` on. */
PROF__FN bool prof__file_open_at(prof_file *f, const char *path, uint64_t at) {
    f->handle = prof__file_open(path, at ? PROF__FILE_THERE : PROF__FILE_EMPTY, 0644);
    return f->handle >= 0 && (!at || ((uint64_t)prof__seek((int)f->handle, at, SEEK_SET) == at &&
                                      prof__file_cut((int)f->handle, at) == 0));
}

#ifdef PROF_ZLIB
/* Closes a zipped file, or ends a member of it. */
PROF__FN bool prof__file_zip_end(prof_file *f, bool close) {
    int cancel = prof__cancel_off();
    uint64_t before = prof__file_hush();
    bool ok = (close ? gzclose((gzFile)f->zip) : gzflush((gzFile)f->zip, Z_FINISH)) == Z_OK;
    prof__file_unhush(before, ok);
    prof__cancel_back(cancel);
    return ok;
}
#endif

/* Keeps errno of the first failure. */
PROF__FN bool prof__file_check(prof_file *f, bool ok) {
    if (!ok && !f->failed) f->error = errno;
    f->failed = f->failed || !ok;
    return ok;
}

PROF__FN bool prof__file_write(void *file, const void *data, size_t size) {
    prof_file *f = (prof_file *)file;
    return prof__file_check(f, prof__file_put(f, (const char *)data, size));
}

/* Its sink is open from here on. */
PROF__FN prof_result prof__file_begin(prof_file *f, bool zip) {
    f->sink.write = prof__file_write;
    f->sink.user = f;
    if (!zip) return PROF_OK;
#ifdef PROF_ZLIB
    f->zip = gzdopen((int)f->handle, "wb1");
#endif
    if (f->zip) return PROF_OK;
    f->failed = true;
    f->error = ENOMEM;
    return prof_file_close(f);
}

/* errno stays. */
PROF__FN prof_result prof__file_fail(const char *path) {
    return PROF__FAIL(PROF_ERROR_FILE, "%s: %s", strerror(errno), path);
}

#define PROF__NO_ZLIB "a file that ends in .gz needs PROF_ZLIB where PROF_IMPLEMENTATION is"

/* A file is written as `path.<pid>.tmp`, beside path so that a rename stays on one disk. */
PROF__CALL prof_result prof_file_open(prof_file *f, const char *path) {
    bool zip = path && prof__ends_with(path, ".gz");
    size_t n = path ? strlen(path) : 0;
    if (!f || !path) return PROF_ERROR_INVALID;
    memset(f, 0, sizeof *f);
#if !defined(PROF_ZLIB)
    if (zip) return prof__fail(PROF_ERROR_UNSUPPORTED, PROF__NO_ZLIB);
#endif
    errno = n ? ENAMETOOLONG : ENOENT;
    if (!n || n + 32 > sizeof f->temporary) return prof__file_fail(path);
    f->path_size = n;
    (void)prof__text_f(f->temporary, sizeof f->temporary, "%s.%u.tmp", path,
                       (uint64_t)prof__process_id());
    f->in_place = prof__file_special(path);
    if (!f->in_place) prof__file_remove(f->temporary);   /* a link of that name is not followed */
    f->handle = prof__file_open(f->in_place ? path : f->temporary,
                                f->in_place ? PROF__FILE_EMPTY : PROF__FILE_NEW,
                                prof__file_mode(path));   /* the old one's rights, no wider */
    return f->handle < 0 ? prof__file_fail(path) : prof__file_begin(f, zip);
}

PROF__CALL prof_result prof_file_close(prof_file *f) {
    char path[sizeof f->temporary];
    if (!f) return PROF_ERROR_INVALID;
    if (!f->sink.write) return prof__fail(PROF_ERROR_STATE, "this prof_file is not open");
    f->sink.write = NULL;
    errno = 0;
#ifdef PROF_ZLIB
    if (f->zip) (void)prof__file_check(f, prof__file_zip_end(f, true));
    else
#endif
    (void)prof__file_check(f, prof__file_shut(f));
    memcpy(path, f->temporary, f->path_size);
    path[f->path_size] = 0;
    if (!f->in_place && !f->failed)
        (void)prof__file_check(f, prof__file_rename(f->temporary, path));
    if (!f->in_place && f->failed) prof__file_remove(f->temporary);
    if (!f->failed) return PROF_OK;
    errno = f->error;
    return prof__file_fail(path);
}

/* Closes the file of a writer, which returned this. */
PROF__FN prof_result prof__file_written(prof_file *f, prof_result written) {
    (void)prof__file_check(f, written == PROF_OK);
    return prof_file_close(f);
}

PROF__CALL prof_result prof_save_chrome(const prof_trace *trace, const char *path) {
    prof_file f;
    prof_result result = prof__valid(trace) ? prof_file_open(&f, path) : PROF_ERROR_INVALID;
    if (result != PROF_OK) return result;
    return prof__file_written(&f, prof_write_chrome(trace, NULL, f.sink));
}

/* ---- a file for each window ---- */

/* Makes dir and the directories it is in; failures show when the file is opened. */
/* False: it is not there then; errno says why. */
PROF__FN bool prof__make_directories(const char *dir) {
    char path[1024];
    size_t n = strlen(dir);
    if (n >= sizeof path) return true;   /* the file's name is too long, too */
    for (size_t i = 0; i <= n; i++) {
        path[i] = dir[i];
        if (!i || (dir[i] && dir[i] != '/' && dir[i] != '\\')) continue;
        path[i] = 0;
        prof__folder_make(path);
        path[i] = dir[i];
    }
    return prof__folder_is(dir);
}

PROF__CALL void prof_trace_handler(void *user, prof_trace *trace) {
    prof_handler *h = (prof_handler *)user;
    const char *dir = h && h->dir && *h->dir ? h->dir : ".";
    char path[992], worker[288];
    prof_result result;
    size_t n;
#if !PROF__POSIX
    const char *host = prof__getenv("COMPUTERNAME");
#else
    struct utsname names;
    const char *host = uname(&names) == -1 ? NULL : names.nodename;
#endif
    if (!h) return;
    if (!prof__make_directories(dir)) {
        h->result = PROF__FAIL(PROF_ERROR_FILE, "the folder '%s' of a trace handler cannot be made",
                               dir);
        return;
    }
    (void)prof__text_f(worker, sizeof worker, "%s_%u", host ? host : "localhost",
                       (uint64_t)prof__process_id());
    n = prof__text_f(path, sizeof path, "%s/%s.%u.pt.trace.json%s", dir,
                     h->worker && *h->worker ? h->worker : worker, prof__wall_now(),
                     h->gzip ? ".gz" : "");
    result = n == sizeof path - 1 ? PROF_ERROR_INVALID : prof_save_chrome(trace, path);
    if (result == PROF_OK) h->saved++;
    else h->result = result;
}
#endif

/* ---- the whole ---- */

/* Makes a thread's lead the writer's. */
PROF__EAGER void prof__chrome_at(prof__chrome *w, uint32_t thread) {
    if (PROF__LIKELY(w->lead.thread == thread)) return;
    prof__lead_make(&w->lead, prof__chrome_pid(w->s), thread, prof__chrome_tid(w->s, thread));
}

/* An instant (value NULL) or a counter's value; real: the value is the bits of a double. */
PROF__FN void prof__chrome_put_moment(prof__out *o, const prof__lead *lead, const char *name,
                                      int64_t ns, const int64_t *value, bool real) {
    prof__chrome_front(o, lead, value ? "C" : "i\",\"cat\":\"cpu_instant_event\",\"s\":\"t", name,
                       ns);
    if (!value) prof__out_text(o, "}");
    else if (!PROF__BARE && real) PROF__HOST(prof__chrome_real(o, (uint64_t)*value));
    else prof__out_f(o, ",\"args\":{\"value\":%i}}", *value);
}

PROF__FN void prof__chrome_moment(prof__chrome *w, const prof__moment *m) {
    if (m->kind == PROF__MOMENT_NONE) return;
    if (m->kind >= PROF__MOMENT_FLOW) {
        PROF__HOST(prof__chrome_moment_flow(w->o, w->gpu, m));
        return;
    }
    prof__chrome_at(w, m->thread);
    prof__chrome_put_moment(w->o, &w->lead, prof__site(m->site)->name, m->ns,
                            m->kind == PROF__MOMENT ? NULL : &m->value,
                            m->kind == PROF__MOMENT_REAL);
}

PROF__COLD_END
/* Writes an event's head, mostly a copy of what an event before it began with. */
PROF__EAGER char *prof__chrome_kept(prof__chrome *w, const prof_event *e) {
    uint32_t hash = ((uint32_t)(uintptr_t)e->name ^ e->thread << 20) * 0x9e3779b1u;
    prof__head *h = w->heads + (PROF__BARE ? 0 : hash >> 27);
    const char *from;
    char *p;
    prof__out_room(w->o, 384);           /* so that what is kept has passed no flush */
    from = w->o->p;
    if (PROF__LIKELY(h->name == e->name && h->thread == e->thread)) {
        memcpy(w->o->p, h->text, sizeof h->text);
        return w->o->p + h->length;
    }
    prof__chrome_at(w, e->thread);
    p = prof__chrome_head(w->o, &w->lead, e->name);
    h->length = (size_t)(p - from);
    h->thread = e->thread;
    h->name = h->length <= sizeof h->text && strlen(e->name) < sizeof h->text ? e->name : NULL;
    if (h->name) memcpy(h->text, from, h->length);
    return p;
}

PROF__FN void prof__chrome_event(void *chrome, const prof_event *e) {
    prof__chrome *w = (prof__chrome *)chrome;
    if (w->gpu && PROF__UNLIKELY(prof__chrome_other(w->o, w->gpu, e))) return;
    if (PROF__BARE) {
        prof__chrome_at(w, e->thread);
        prof__chrome_zone(w->o, &w->lead, e->name, e->start_ns, e->end_ns, e->flags);
    } else {
        prof__chrome_times(w->o, prof__chrome_kept(w, e), e->start_ns, e->end_ns, e->flags);
    }
    prof__event_on_cpu(w->o, w->s, e);
}

PROF__COLD_BEGIN
/* ---- zones in the order of their ends, in an order that readers nest right ---- */

/* Writes zones where there are no events: thread by thread, as they end. Readers take the first of
   two events that begin together for the outer one. So a zone waits while the zone around it may
   have begun with it. Those that began together stand one behind the other: a run, which is written
   by depth. */
typedef struct prof__order {
    void (*write)(void *user, const prof_event *zone);
    void *user;
    prof_event *held;                    /* first_child: where its run begins */
    uint32_t room, count;                /* of held: its slots, and how many zones wait there */
} prof__order;

/* Writes a run: by depth, zones of equal depth as they came. */
PROF__FN void prof__order_write(const prof__order *o, uint32_t first, uint32_t end) {
    uint32_t depth = 255, left = end - first;
    for (uint32_t i = first; i < end; i++) depth = PROF__MIN(depth, o->held[i].depth);
    for (; left; depth++) {
        for (uint32_t i = first; i < end; i++) {
            if (o->held[i].depth != depth) continue;
            (o->write)(o->user, o->held + i);
            left--;
        }
    }
}

/* Writes all zones that wait: at the end of a thread's zones or of the file. */
PROF__FN void prof__order_end(prof__order *o) {
    for (uint32_t first = 0, end = 1; first < o->count; first = end++) {
        while (end < o->count && o->held[end].first_child == first) end++;
        prof__order_write(o, first, end);
    }
    o->count = 0;
}

/* Adds the next zone of a thread. Writes the zones that are certain to come before it, and where
   no slot is left all that wait. */
PROF__FN void prof__order_add(prof__order *o, const prof_event *e) {
    const prof_event *last;
    uint32_t first;
    if (!o->room) {
        (o->write)(o->user, e);
        return;
    }
    for (; o->count; o->count = last->first_child) {
        last = o->held + o->count - 1;
        if (last->start_ns == e->start_ns) break;
        /* Certain: it lies in the zone, nothing is around it, or one beside it began before it. */
        if (last->depth <= e->depth && last->depth &&
            (!last->first_child || o->held[last->first_child - 1].depth != last->depth)) break;
        prof__order_write(o, last->first_child, o->count);
    }
    if (o->count == o->room) prof__order_end(o);
    first = o->count;
    if (first && o->held[first - 1].start_ns == e->start_ns) first = o->held[first - 1].first_child;
    o->held[o->count] = *e;
    o->held[o->count++].first_child = first;
}

PROF__FN void prof__order_row(void *order, const prof__row *row) {
    (void)row;
    prof__order_end((prof__order *)order);
}

PROF__FN void prof__order_take(void *order, const prof__close *c) {
    prof_event e = prof__site_event(c->what);
    e.start_ns = c->start_ns;
    e.end_ns = c->end_ns;
    e.thread = c->thread;
    e.depth = (uint8_t)c->depth;
    e.flags = c->flags;
    prof__order_add((prof__order *)order, &e);
}

PROF__FN void prof__order_moment(void *order, const prof__moment *m) {
    prof__chrome_moment((prof__chrome *)((prof__order *)order)->user, m);
}

PROF__FN void prof__chrome_by_end(prof__chrome *w) {
    size_t room = (size_t)(prof__scratch_end(w->s) - w->s->scratch) / sizeof(prof_event);
    prof__order order = { prof__chrome_event, w, (prof_event *)(void *)w->s->scratch, 0, 0 };
    prof__feed feed;
    bool taken;
    memset(&feed, 0, sizeof feed);
    feed.row = prof__order_row;
    feed.take = prof__order_take;
    feed.moment = prof__order_moment;
    feed.user = &order;
    order.room = (uint32_t)PROF__MIN(room, 1u << 20);
    taken = prof__reading_open();
    prof__count_rows(&prof__trace, &feed);
    prof__reading_close(taken);
    prof__order_end(&order);
}

/* Writes the rows, and all that is in them. */
PROF__FN void prof__chrome_events(prof__out *o, const struct prof_trace *s) {
    prof__gpu gpu;
    prof__chrome w = { o, s, &gpu, { PROF_NONE, 0, 0, "" }, { { NULL, 0, 0, "" } } };
    PROF__HOST(prof__gpu_open(&gpu, s));
    prof__chrome_process(o, s);
    for (uint32_t i = 0; i < s->thread_count; i++)
        if (PROF__BARE || !prof__is_overhead_row(s->threads + i))
            prof__chrome_thread(o, prof__chrome_pid(s), prof__chrome_tid(s, i), s->threads[i].name,
                                i);
    PROF__HOST(prof__chrome_streams(o, &gpu));
    for (uint32_t i = 0; !PROF__BARE && i < s->event_count && !o->failed; i++)
        prof__chrome_event(&w, s->events + i);
    if (PROF__BARE || s->read != PROF__READ_EVENTS) prof__chrome_by_end(&w);
    PROF__HOST(prof__chrome_beside(o, &gpu));
    for (uint32_t i = 0; !PROF__BARE && s->moments && i < s->moment_count && !o->failed; i++)
        prof__chrome_moment(&w, s->moments + i);
}

/* Writes the counts that are not 0. */
PROF__FN void prof__chrome_counts(prof__out *o, const struct prof_trace *s) {
    prof_stats stats = prof_get_stats(s);
    for (size_t i = 0; i < PROF__NOTES; i++) {
        uint64_t count = prof__note_count(&stats, i);
        if (count) prof__out_f(o, ",\"%s\":%u", prof__note_key(i), count);
    }
    if (PROF__BARE && !stats.ticks_per_second) prof__out_text(o, ",\"ns_are_ticks\":1");
    if (!PROF__BARE && stats.warnings) prof__out_f(o, ",\"warnings\":%u", (uint64_t)stats.warnings);
}

/* An array's head: an object's, as far as known at the start. whole: it is no stream. */
PROF__FN void prof__chrome_array_head(prof__out *o, const struct prof_trace *s, bool whole) {
    prof__out_text(o, "[\n");
    prof__chrome_meta(o, "prof", prof__chrome_pid(s), 0, "version");
    prof__out_f(o, "\"" PROF_VERSION "\",\"baseTimeNanoseconds\":%u", s->start_wall_ns);
    if (prof__one_core()) prof__out_text(o, ",\"one_core\":1");
    if (whole) PROF__HOST(prof__chrome_promises(o, s));
    if (whole) PROF__HOST(prof__chrome_sites(o, s));
    prof__out_text(o, "}},\n");
}

/* An array's counts, which are known only at its end. */
PROF__FN void prof__chrome_array_recorded(prof__out *o, const struct prof_trace *s, uint64_t n) {
    prof__out_text(o, ",\n");
    prof__chrome_meta(o, "prof counts", prof__chrome_pid(s), 0, "recorded");
    prof__out_u64(o, n);
}

PROF__FN void prof__chrome_body(prof__out *o, const struct prof_trace *s, bool array) {
    if (array) {
        prof__chrome_array_head(o, s, true);
    } else {
        prof__out_text(o, "{\"schemaVersion\":1,\n\"prof\":{\"version\":\"" PROF_VERSION "\"");
        if (prof__one_core()) prof__out_text(o, ",\"one_core\":1");
        PROF__HOST(prof__chrome_promises(o, s));
        prof__chrome_counts(o, s);
        PROF__HOST(prof__chrome_sums(o, s));
        PROF__HOST(prof__chrome_status(o, s));
        PROF__HOST(prof__chrome_sites(o, s));
        prof__out_text(o, "}");
        PROF__HOST(prof__chrome_metadata(o, s));
        prof__out_f(o, ",\n\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":%u,"
                       "\n\"traceEvents\":[\n", s->start_wall_ns);
    }
    prof__chrome_events(o, s);
    if (array) {
        prof__chrome_array_recorded(o, s, s->read == PROF__READ_EVENTS
                                            ? s->event_count : s->zone_count + prof__others(s));
        prof__chrome_counts(o, s);
        PROF__HOST(prof__chrome_sums(o, s));
        prof__out_text(o, "}}");
    }
    prof__out_text(o, array ? "\n]\n" : "\n],\n\"traceName\":\"prof\"}\n");
}

PROF__CALL prof_result prof_write_chrome(const prof_trace *trace, const prof_chrome_desc *desc,
                                         prof_sink out) {
    prof__out o;
    uint32_t format = desc ? (uint32_t)desc->format : 0;
    if (!prof__valid(trace) || !out.write || format > PROF_CHROME_LEGACY) return PROF_ERROR_INVALID;
    if (PROF__BARE && format == PROF_CHROME_LEGACY) return PROF_ERROR_UNSUPPORTED;
    if (!PROF__BARE && desc && (uint32_t)desc->source > PROF_CHROME_SOURCE_ALL)
        return PROF_ERROR_INVALID;
    if (PROF__BARE) prof__prepare(&prof__trace);   /* zones by their ends suffice */
    else if (!prof__analyse(trace) && format == PROF_CHROME_LEGACY) return PROF_ERROR_MEMORY;
    PROF__HOST(prof__sources_find(trace, desc ? desc->source : PROF_CHROME_SOURCE_AUTO));
    prof__out_open(&o, out);
    if (format == PROF_CHROME_LEGACY) PROF__HOST(prof__chrome_legacy(&o, trace));
    else prof__chrome_body(&o, trace, format == PROF_CHROME_ARRAY);
    return prof__out_close(&o);
}

/* ---- @STACKS: folded stacks ----

   This room writes the input of flame graphs: each line is a path of names, and the metric's sum
   over the zones at its end (PROF_METRIC_NONE: their time without their children).
   - A path comes after those that it begins with; else their order is any.
   - Where memory is short, deeper zones are one node "(deeper)" below those that fit: no time is
     lost. */

/* A path of names, in the scratch memory. When a zone ends, the nodes of zones that ended within it
   become children of its node; siblings of the same name become one node, and so do their children.
   Siblings are a tree by the bits of their hashes; on targets, where there are few, a list. */
typedef struct prof__node {
    uint64_t value;
    uint32_t what, child;                /* what: a site, or the number of an event */
    uint32_t next[PROF__BARE ? 1 : 3];   /* two links, and the hash */
} prof__node;
enum { PROF__NEXT = PROF__BARE ? 0 : 1, PROF__HASH = PROF__BARE ? 0 : 2 };

typedef struct prof__hashed { const char *name; uint32_t hash; } prof__hashed;

typedef struct prof__forest {
    const struct prof_trace *s;
    prof__node *nodes;
    bool records;                        /* closes come from records */
    uint32_t *tops;                      /* by depth: nodes of zones that have ended there, in a
                                            zone that is open; later the path of a line */
    uint32_t count, max, unused, depth;  /* unused: a list of free nodes */
    uint32_t limit;                      /* deeper zones are one node */
    prof_metric metric;
    bool full;
    prof__hashed hashed[PROF__BARE ? 1 : 32];
} prof__forest;

PROF__COLD_END
PROF__FN const char *prof__forest_name(const prof__forest *f, uint32_t what) {
    if (!PROF__BARE && what == PROF_NONE) return "(deeper)";
    return f->records ? prof__site(what)->name : f->s->events[what].name;
}

/* The event of a node; NULL: it has none. */
PROF__FN const prof_event *prof__forest_event(const prof__forest *f, uint32_t what) {
    return f->records || what == PROF_NONE ? NULL : f->s->events + what;
}

/* Are two nodes' names, and the native frames before them, the same? */
PROF__FN bool prof__forest_same(const prof__forest *f, uint32_t a, uint32_t b) {
    const char *x, *y;
    if (a == b || (!PROF__BARE && (a == PROF_NONE || b == PROF_NONE))) return a == b;
    x = prof__forest_name(f, a);
    y = prof__forest_name(f, b);
    if (x != y && strcmp(x, y) != 0) return false;
    return f->records || prof__same_frames(f->s, f->s->events + a, f->s->events + b);
}

/* The link that leads to the sibling like this one, or where it would be inserted. */
PROF__FN uint32_t *prof__forest_slot(prof__forest *f, uint32_t *slot, const prof__node *like) {
    uint32_t hash = PROF__BARE ? 0 : like->next[PROF__HASH];
    for (uint32_t h = hash; *slot != PROF_NONE; h >>= 1) {
        prof__node *n = f->nodes + *slot;
        bool like_it = PROF__BARE || n->next[PROF__HASH] == hash;
        if (like_it && prof__forest_same(f, n->what, like->what)) break;
        slot = n->next + (h & 1);
    }
    return slot;
}

/* Removes a node from siblings, among which prof__forest_slot finds none any more: left branches
   are rotated to the right until there is none. */
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

/* The divisor of a line's value: 1000 (times, in us), 1 (bytes); 0: the metric is no such sum. */
PROF__FN int64_t prof__metric_unit(prof_metric metric) {
    if (metric == PROF_METRIC_NONE || metric == PROF_METRIC_SELF_CPU_TIME_TOTAL ||
        metric == PROF_METRIC_CPU_TIME_TOTAL || metric == PROF_METRIC_DEVICE_TIME_TOTAL ||
        metric == PROF_METRIC_SELF_DEVICE_TIME_TOTAL)
        return 1000;
    return metric >= PROF_METRIC_CPU_MEMORY_USAGE && metric <= PROF_METRIC_SELF_DEVICE_MEMORY_USAGE;
}

PROF__FN int64_t prof__close_metric(const prof__close *c, prof_metric metric) {
    prof_average a;
    if (metric <= PROF_METRIC_SELF_CPU_TIME_TOTAL) return c->self_ns;
    if (metric == PROF_METRIC_CPU_TIME_TOTAL) return c->cpu_ns;
    if (PROF__BARE || !c->beside) return 0;
    prof__average_call(&a, c);
    return prof__metric_of(&a, metric);
}

/* Merges the siblings `from` into those of the list, with all nodes below them. */
PROF__FN void prof__forest_merge(prof__forest *f, uint32_t *list, uint32_t from) {
    uint32_t waiting = PROF_NONE, done;  /* waiting: nodes whose children are still to be merged */
    for (;;) {
        if (!PROF__BARE && *list == PROF_NONE) {
            *list = from;
            from = PROF_NONE;
        }
        while (from != PROF_NONE) {
            uint32_t moved = prof__forest_pop(f, &from), *slot;
            prof__node *n = f->nodes + moved;
            slot = prof__forest_slot(f, list, n);
            if (*slot == PROF_NONE) {
                *slot = moved;
                continue;
            }
            f->nodes[*slot].value += n->value;
            n->what = *slot;
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

/* Of a node's name and the native frames before it. Those of the last names are known. */
PROF__FN uint32_t prof__forest_hash(prof__forest *f, uint32_t what) {
    const char *name = prof__forest_name(f, what);
    const prof_event *e = prof__forest_event(f, what);
    uint32_t frames = e && e->extra ? prof__frames_of(f->s, e) : 0, h;
    prof__hashed *known = f->hashed + ((uint32_t)(uintptr_t)name * 0x9e3779b1u >> 27);
    if (known->name != name) {
        known->name = name;
        known->hash = prof__hash_more(2166136261u, name);
    }
    h = known->hash;
    for (uint32_t i = 0; i < frames; i++) h = prof__hash_more(h, prof__frame_text(e->extra, i));
    return h ^ h >> 15;
}

/* Makes a node for a close, with the nodes within it, and merges it into its siblings. */
PROF__FN void prof__forest_take(void *forest, const prof__close *c) {
    prof__forest *f = (prof__forest *)forest;
    bool deeper = !PROF__BARE && c->depth > f->limit;
    uint32_t *list = f->tops + (deeper ? f->limit + 1 : c->depth), at = f->unused, *slot;
    prof__node *n;
    f->full = f->full || (at == PROF_NONE && f->count == f->max);
    if (f->full) return;
    if (at == PROF_NONE) at = f->count++;
    else f->unused = f->nodes[at].next[0];
    n = f->nodes + at;
    n->what = deeper ? PROF_NONE : c->what;
    if (!PROF__BARE) n->next[PROF__HASH] = prof__forest_hash(f, n->what);
    n->value = (uint64_t)prof__close_metric(c, f->metric);
    n->child = list[1];
    list[1] = PROF_NONE;
    n->next[0] = PROF_NONE;
    n->next[PROF__NEXT] = PROF_NONE;
    if (PROF__BARE || n->child != PROF_NONE) {
        prof__forest_merge(f, list, at);
        return;
    }
    slot = prof__forest_slot(f, list, n);
    if (*slot == PROF_NONE) {
        *slot = at;
    } else {
        f->nodes[*slot].value += n->value;
        n->next[0] = f->unused;
        f->unused = at;
    }
}

PROF__COLD_BEGIN
/* Makes the paths of all zones, cut after depth `limit`. False: they do not fit. */
PROF__FN bool prof__forest_open(prof__forest *f, const struct prof_trace *s, prof_metric metric,
                                uint32_t limit) {
    const size_t size = sizeof *f->nodes + sizeof(uint32_t);   /* with its slot in the list */
    uintptr_t at, end;
    memset(f, 0, sizeof *f);
    f->s = s;
    f->metric = metric;
    f->records = prof__from_records(s);
    f->depth = s->max_depth;
    f->unused = PROF_NONE;
    f->tops = (uint32_t *)(void *)s->scratch;
    PROF__HOST(if (!f->records) f->depth = prof__closes_of_events(s, NULL));
    if (!PROF__BARE) {
        f->limit = limit;
        f->depth = PROF__MIN(f->depth, limit);
    }
    at = ((uintptr_t)(f->tops + f->depth + 3) + 7) & ~(uintptr_t)7;
    end = (uintptr_t)prof__scratch_end(s);
    if (at > end) return false;
    f->max = (uint32_t)PROF__MIN((end - at) / size, (size_t)INT32_MAX);
    f->nodes = (prof__node *)at;
    for (uint32_t i = 0; i < f->depth + 3; i++) f->tops[i] = PROF_NONE;
    prof__closes(s, prof__forest_take, NULL, f);
    return !f->full;
}

/* Lists the numbers of all nodes in order, parents first, and makes each node's next its parent.
   Returns how many there are. */
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

/* Writes a name as PyTorch does: characters that would break a folded line become `_`; so does a
   name without any, which readers of such lines refuse. */
PROF__FN void prof__stack_entry(prof__out *o, const char *name) {
    if (!*name) prof__out_text(o, "_");
    while (*name) {
        size_t broken = *name == ' ' || *name == ';' ? 1 : prof__control(name);
        if (broken) prof__out_text(o, "_");
        else prof__out_code_point(o, &name);
        name += broken;
    }
}

/* Writes the line of a node: its path is collected from its end, and written from its begin. Native
   frames between an event and its parent come before its name, which may be one of theirs. */
PROF__FN void prof__stack_line(prof__out *o, const prof__forest *f, uint32_t node, int64_t unit) {
    uint64_t value = f->nodes[node].value;
    uint32_t depth = 0;
    if (value >> 63) return;
    (void)prof__divide(&value, (uint32_t)unit);
    if (!value) return;
    for (; node != PROF_NONE; node = f->nodes[node].next[0]) f->tops[depth++] = f->nodes[node].what;
    while (depth--) {
        uint32_t what = f->tops[depth];
        const prof_event *e = prof__forest_event(f, what);
        for (uint32_t n = e ? prof__frames_of(f->s, e) : 0; n; n--) {
            const char *name = prof__frame_text(e->extra, n - 1);
            if (n == 1 && strcmp(name, e->name) == 0) break;
            prof__stack_entry(o, name);
            prof__out_text(o, ";");
        }
        prof__stack_entry(o, prof__forest_name(f, what));
        prof__out_text(o, depth ? ";" : " ");
    }
    prof__out_u64(o, value);
    prof__out_text(o, "\n");
}

/* Can this sink have stacks of this metric, which the trace recorded? */
PROF__FN prof_result prof__stacks_check(const prof_trace *trace, prof_metric metric,
                                        prof_sink out) {
    if (!prof__valid(trace) || !out.write) return PROF_ERROR_INVALID;
    if ((uint32_t)metric >= PROF_METRIC_LAST) return prof__metric_none("metric", metric);
    if (!prof__metric_unit(metric))
        return prof__fail(PROF_ERROR_INVALID, "stacks take a metric of total or self time or of "
                                              "memory");
    if (metric < PROF_METRIC_CPU_MEMORY_USAGE || prof__memory_is(trace))
        return PROF_OK;
    return prof__fail(PROF_ERROR_NONE_RECORDED, PROF__NULL);
}

PROF__CALL prof_result prof_write_stacks(const prof_trace *trace, prof_metric metric,
                                         prof_sink out) {
    prof__out o;
    prof__forest f;
    uint32_t *order, n;
    int64_t unit = prof__metric_unit(metric);
    prof_result result = prof__stacks_check(trace, metric, out);
    bool made, taken;
    if (result != PROF_OK) return result;
    taken = prof__reading_open();
    made = prof__forest_open(&f, trace, metric, PROF_NONE - 3);
    for (uint32_t limit = f.depth; !PROF__BARE && !made && limit--; limit -= limit / 4)
        made = prof__forest_open(&f, trace, metric, limit);
    prof__reading_close(taken);
    if (!made) return PROF_ERROR_MEMORY;
    order = (uint32_t *)(void *)(f.nodes + f.max);
    n = prof__forest_list(&f, order);
    prof__out_open(&o, out);
    for (uint32_t i = 0; i < n && !o.failed; i++) prof__stack_line(&o, &f, order[i], unit);
    return prof__out_close(&o);
}

/* ---- the stacks that events carry. PyTorch: EventList.export_stacks() ---- */

/* Writes those whose metric is above 0. */
PROF__CALL prof_result prof_write_event_stacks(const prof_trace *trace, prof_metric metric,
                                               prof_sink out) {
    prof__out o;
    int64_t unit = prof__metric_unit(metric);
    prof_result result = prof__stacks_check(trace, metric, out);
    if (result != PROF_OK) return result;
    (void)prof__analyse(trace);
    if (!prof__stacks_are(trace))
        return prof__fail(PROF_ERROR_NONE_RECORDED,
                          "the session did not record stacks: set with_stack in prof_desc");
    prof__out_open(&o, out);
    for (uint32_t i = 0; i < trace->event_count; i++) {
        const prof_extra *x = prof__extra_of(trace->events + i);
        prof__beside b;
        prof__close c = prof__event_close(trace, i, &b);
        int64_t value = prof__close_metric(&c, metric) / unit;
        for (uint32_t n = x && value > 0 ? x->stack_count : 0; n--;) {
            prof__stack_entry(&o, prof__text(x->stack[n]));
            if (n) prof__out_text(&o, ";");
            else prof__out_f(&o, " %i\n", value);
        }
    }
    return prof__out_close(&o);
}

/* ---- @MEMORY: what is in use over time ----

   This room writes PyTorch's memory timeline of one device from the changes of memory recorded.
   - A row has the bytes in use by category; there is one for each microsecond with a change.
   - The raw form has the changes themselves, one by one. */

#if !PROF__BARE
/* The row that is being written. */
typedef struct prof__timeline {
    const struct prof_trace *s;
    prof_device device;                  /* the one that is shown */
    int64_t in_use[9];                   /* PyTorch's first column is 0, always */
    int64_t us;                          /* of the row; -1: none yet */
    uint32_t rows;                       /* that are written */
    prof__out out;
} prof__timeline;

PROF__FN void prof__timeline_row(prof__timeline *t, bool times) {
    prof__out_text(&t->out, t->rows++ ? ", " : "");
    if (times) prof__out_number(&t->out, t->us, false);
    for (int i = 0; i < 9 && !times; i++)
        prof__out_f(&t->out, i ? ", %i" : "[%i", t->in_use[i]);
    if (!times) prof__out_text(&t->out, "]");
}

/* PyTorch's number of a category: PARAMETER 0 to AUTOGRAD_DETAIL 6, unknown 7. */
PROF__FN uint32_t prof__timeline_kind(const prof__memory *m) {
    return m->category & 7 ? (m->category & 7) - 1u : 7u;
}

PROF__FN bool prof__timeline_has(const prof__timeline *t, const prof__memory *m) {
    return m->what != PROF__NO_MEMORY && m->what != PROF__NOT_COUNTED &&
           prof__device_is(m->device, t->device);
}

PROF__FN void prof__timeline_raw(prof__timeline *t, int64_t ns, const char *action, int64_t bytes,
                                 const prof__memory *m) {
    prof__out_f(&t->out, "%s[%i, %s, %i, %u]", t->rows++ ? ", " : "", ns, action, bytes,
                (uint64_t)prof__timeline_kind(m));
}

PROF__FN prof_device prof__timeline_device(const struct prof_trace *s) {
    prof_device best = { 0, 0 };
    for (uint32_t i = 0; i < s->memory.count; i++) {
        const prof__memory *m = s->memory.list + i;
        if (m->what != PROF__NO_MEMORY && m->what != PROF__NOT_COUNTED &&
            !prof__device_is_host(m->device) && (!best.type || m->device.index < best.index))
            best = m->device;
    }
    return best;
}

/* What was allocated before the window, as its frees tell; t->us: the window's first change.
   PyTorch gives it the time -1, in rows that of the first change. False: nothing. */
PROF__FN bool prof__timeline_older(prof__timeline *t, bool raw) {
    bool any = false;
    for (uint32_t i = 0; i < t->s->memory.count && !t->out.failed; i++) {
        const prof__memory *m = t->s->memory.list + i;
        if (!prof__timeline_has(t, m)) continue;
        if (t->us < 0) t->us = ((int64_t)t->s->start_wall_ns + m->ns) / 1000;
        if (m->what != PROF__FREE_OLDER) continue;
        if (raw) prof__timeline_raw(t, -1, "1", -m->bytes, m);
        t->in_use[prof__timeline_kind(m) + 1] -= m->bytes;
        any = true;
    }
    return any;
}

/* Writes the times of all rows, or their amounts; raw: the changes. */
PROF__FN void prof__timeline_rows(prof__timeline *t, bool times, bool raw) {
    memset(t->in_use, 0, sizeof t->in_use);
    t->us = -1;
    t->rows = 0;
    if (prof__timeline_older(t, raw) && !raw) prof__timeline_row(t, times);
    t->us = -1;
    for (uint32_t i = 0; i < t->s->memory.count && !t->out.failed; i++) {
        const prof__memory *m = t->s->memory.list + i;
        int64_t ns = (int64_t)t->s->start_wall_ns + m->ns, us = ns / 1000;
        if (!prof__timeline_has(t, m)) continue;
        if (raw) {
            prof__timeline_raw(t, ns, m->what < PROF__FREE ? "2" : "4", m->bytes, m);
            continue;
        }
        if (t->us >= 0 && us != t->us) prof__timeline_row(t, times);
        t->us = us;
        t->in_use[prof__timeline_kind(m) + 1] += m->bytes;
    }
    if (t->us >= 0) prof__timeline_row(t, times);
}

PROF__CALL prof_result prof_write_memory_timeline(const prof_trace *trace,
                                                  const prof_memory_desc *desc, prof_sink out) {
    prof__timeline t;
    if (!prof__valid(trace) || !out.write) return PROF_ERROR_INVALID;
    if (trace->built || !trace->view.profile_memory)
        return prof__fail(PROF_ERROR_NONE_RECORDED, PROF__NULL);
    prof__analyse(trace);
    memset(&t, 0, offsetof(prof__timeline, out));
    prof__out_open(&t.out, out);
    t.s = trace;
    t.device = desc ? desc->device : prof__timeline_device(trace);
    prof__out_text(&t.out, "[");
    if (desc && desc->raw) prof__timeline_rows(&t, false, true);
    else {
        prof__out_text(&t.out, "[");
        prof__timeline_rows(&t, true, false);
        prof__out_text(&t.out, "], [");
        prof__timeline_rows(&t, false, false);
        prof__out_text(&t.out, "]");
    }
    prof__out_text(&t.out, "]\n");
    return prof__out_close(&t.out);
}

/* ---- @EXECUTION: what ran, in which order, on which inputs: PyTorch's execution trace ----

   This room writes events as nodes, with their inputs and outputs: of one trace, or of all windows
   into one file; @SESSION calls it when a window opens or closes.
   - A window's nodes are its process groups and threads, then its zones, a parent before its
     children, with rising ids. The process, node 1, comes last: later windows overwrite it.
   - The file is valid JSON after each window that closes. */

#define PROF__SPANS 16
typedef struct prof__stretch { uint64_t from, to; } prof__stretch;   /* ticks */

typedef struct prof__et_node {
    const char *name;
    uint64_t id, parent, record, fw_parent, tid;
    prof_extra with;                     /* its arguments, inputs, outputs */
} prof__et_node;

/* [id, storage, offset, elements, bytes of one (0: not known), "cuda:0"] */
PROF__FN void prof__et_tensor(prof__out *o, const prof_shape *s, const char *dtype,
                              const prof_tensor *t) {
    static const prof_tensor none = { 0, 0, 0, { PROF_DEVICE_CPU, 0 } };
    static const struct { uint8_t size; char name[21]; } types[] = {
        { 8, "double" }, { 8, "long int" }, { 8, "long" }, { 8, "c10::complex<float>" },
        { 4, "float" }, { 4, "int" }, { 4, "unsigned int" }, { 2, "c10::Half" },
        { 2, "c10::BFloat16" }, { 2, "short int" }, { 2, "short" }, { 1, "bool" },
        { 1, "signed char" }, { 1, "unsigned char" }, { 16, "c10::complex<double>" } };
    uint64_t elements = 1, size = strncmp(dtype, "c10::Float8", 11) == 0;
    for (uint32_t i = 0; s && s->dims && i < s->count; i++) {
        uint64_t dim = s->dims[i] > 0 ? (uint64_t)s->dims[i] : 0;
        bool fits = !dim || elements <= (uint64_t)INT64_MAX / dim;
        elements = fits ? elements * dim : (uint64_t)INT64_MAX;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(dtype, types[i].name) == 0) size = types[i].size;
    if (!t) t = &none;
    prof__out_f(o, "[%u,%u,%i,%u,%u,\"%s", t->id, t->storage, t->offset, elements, size,
                prof__device_name(t->device.type));
    if (t->device.type != PROF_DEVICE_CPU) prof__out_f(o, ":%i", (int64_t)t->device.index);
    prof__out_text(o, "\"]");
}

/* PyTorch's name for the type of a JSON value, or of a word of Python's. Other text is a String. */
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

/* Writes the value that this text is, or its type. */
PROF__FN void prof__et_scalar(prof__out *o, const char *text, const char *dtype, bool of_type) {
    const char *type = prof__scalar_type(text, dtype);
    if (of_type) prof__out_f(o, "\"%j\"", type);
    else if (strcmp(type, "None") == 0) prof__out_text(o, "\"<None>\"");
    else if (*text == 'T' && *type == 'B') prof__out_text(o, "true");
    else if (*text == 'F' && *type == 'B') prof__out_text(o, "false");
    else if (*type == 'S' && (strcmp(dtype, "String") == 0 || prof__json_check(text)))
        prof__out_f(o, "\"%j\"", text);
    else prof__out_text(o, text);
}

/* Writes input i, or its type. What is no scalar is a tensor, or a list of tensors. */
PROF__FN void prof__et_value(prof__out *o, const prof_extra *x, uint32_t i, bool of_type) {
    const prof_shape *s = x->input_shapes ? x->input_shapes + i : NULL;
    bool list = s && s->items;
    const char *scalar = !list && x->concrete_inputs ? prof__text(x->concrete_inputs[i]) : "";
    const char *dtype = x->dtypes ? prof__text(x->dtypes[i]) : "", *quote = of_type ? "\"" : "";
    if (i) prof__out_text(o, ",");
    if (*scalar) {
        prof__et_scalar(o, scalar, dtype, of_type);
        return;
    }
    prof__out_text(o, quote);
    if (list) prof__out_text(o, of_type ? "GenericList[" : "[");
    for (uint32_t j = 0; j < (list ? s->count : 1); j++) {
        if (j) prof__out_text(o, ",");
        if (of_type) prof__out_f(o, *dtype ? "Tensor(%j)" : "Tensor%j", dtype);
        else prof__et_tensor(o, list ? s->items + j : s, dtype,
                             !list && i < x->tensor_count ? x->tensors + i : NULL);
    }
    prof__out_f(o, "%s%s", list ? "]" : "", quote);
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

PROF__FN void prof__et_values(prof__out *o, const char *key, const prof_extra *x) {
    prof__out_f(o, ",\"%s\":{\"values\":[", key);
    for (uint32_t i = 0; i < x->input_count; i++) prof__et_value(o, x, i, false);
    prof__et_shapes(o, "],\"shapes\":", x->input_shapes, x->input_count);
    prof__out_text(o, ",\"types\":[");
    for (uint32_t i = 0; i < x->input_count; i++) prof__et_value(o, x, i, true);
    prof__et_shapes(o, "],\"strides\":", x->strides, x->input_count);
    prof__out_text(o, "}");
}

/* ---- attributes ---- */

PROF__FN bool prof__member_is(const prof__member *m, const char *key) {
    size_t n = strlen(key);
    return m->key_size == n + 2 && memcmp(m->key + 1, key, n) == 0;
}

/* The value of this key among the members; without the key, `other`. */
PROF__FN prof__member prof__member_find(const char *members, const char *key, const char *other) {
    prof__member m;
    while (members && prof__member_next(&members, &m))
        if (prof__member_is(&m, key)) return m;
    m.value = other;
    m.value_size = strlen(other);
    return m;
}

static const char prof__et_texts[][16] = { "op_schema", "kernel_backend", "kernel_file",
                                            "tensor_range" };
#define PROF__NODE_TEXTS (sizeof prof__et_texts / sizeof *prof__et_texts)

/* Writes what PyTorch tells of a node, then the zone's arguments but for lists, objects, null. */
PROF__FN void prof__et_attributes(prof__out *o, const prof__et_node *n) {
    const prof_extra *x = &n->with;
    const char *members = x->metadata_json;
    prof__member m;
    prof__out_f(o, ",\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"fw_parent\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"seq_id\",\"type\":\"int64\",\"value\":%i},"
                   "{\"name\":\"scope\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"tid\",\"type\":\"uint64\",\"value\":%u},"
                   "{\"name\":\"fw_tid\",\"type\":\"uint64\",\"value\":%u}",
                n->record, n->fw_parent, x->has & PROF_HAS_SEQUENCE_NR ? x->sequence_nr : -1,
                (uint64_t)x->scope, n->tid, x->has & PROF_HAS_FWD_THREAD ? x->fwd_thread : 0);
    for (size_t i = 0; i < PROF__NODE_TEXTS; i++) {
        m = prof__member_find(members, prof__et_texts[i], "\"\"");
        if (*m.value != '"') m = prof__member_find(NULL, "", "\"\"");
        prof__out_f(o, ",{\"name\":\"%s\",\"type\":\"string\",\"value\":%b}", prof__et_texts[i],
                    m.value, m.value_size);
    }
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
    prof__out_text(o, "]}");
}

/* Writes a node, and what follows it. Its outputs are written as the inputs of another one. */
PROF__FN void prof__et_put(prof__out *o, const prof__et_node *n, const char *after) {
    const prof_extra *x = &n->with;
    prof_extra out;
    memset(&out, 0, sizeof out);
    out.input_shapes = x->output_shapes;
    out.dtypes = x->output_dtypes;
    out.input_count = x->output_count;
    if (x->tensor_count > x->input_count) {
        out.tensors = x->tensors + x->input_count;
        out.tensor_count = x->tensor_count - x->input_count;
    }
    prof__out_f(o, "\n{\"id\":%u,\"name\":\"%j\",\"ctrl_deps\":%u", n->id, n->name, n->parent);
    prof__et_values(o, "inputs", x);
    prof__et_values(o, "outputs", &out);
    prof__et_attributes(o, n);
    prof__out_text(o, after);
}

enum { PROF__USER_SCOPE = 7 };           /* at::RecordScope */

/* A node of the user's scope without inputs, as for a process or a thread. */
PROF__FN prof__et_node prof__et_plain(const char *name, uint64_t id, uint64_t parent,
                                      uint64_t tid) {
    prof__et_node n;
    memset(&n, 0, sizeof n);
    n.name = name;
    n.id = id;
    n.parent = parent;
    n.tid = tid;
    n.with.scope = PROF__USER_SCOPE;
    return n;
}

/* ---- the nodes of a trace: its process groups, its threads, then its events by start ---- */

typedef struct prof__nodes {
    const struct prof_trace *s;
    uint64_t first;                      /* id of the first node */
    uint32_t done;                       /* events that earlier windows wrote */
    int64_t spans[PROF__SPANS][2];       /* ns from when to when the observer ran; */
    uint32_t span_count;                 /* 0: all the time */
    uint32_t *last;                      /* by thread: the last event that began; PROF_NONE */
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

/* The id of the node of event i, or of the innermost event around it with one, or of its thread. */
PROF__FN uint64_t prof__nodes_around(const prof__nodes *n, uint32_t i, uint32_t thread) {
    while (i != PROF_NONE && !prof__nodes_has(n, i)) i = n->s->events[i].parent;
    return i == PROF_NONE ? n->first + 1 + thread : prof__nodes_id(n, i);
}

/* The id of the node that was the innermost of the thread with this id at ns; 0: it had none. */
PROF__FN uint64_t prof__nodes_then(const prof__nodes *n, uint64_t id, int64_t ns) {
    const struct prof_trace *s = n->s;
    for (uint32_t i = 0; i < s->thread_count; i++) {
        uint32_t last = n->last[i];
        if (s->threads[i].id == id && last != PROF_NONE)
            return prof__nodes_around(n, prof__innermost(s, &last, ns), i);
    }
    return 0;
}

PROF__FN void prof__nodes_event(prof__nodes *n, prof__out *o, uint32_t i) {
    const struct prof_trace *s = n->s;
    const prof_event *e = s->events + i;
    prof__et_node node = prof__et_plain(prof__chrome_name(e), prof__nodes_id(n, i),
                                       prof__nodes_around(n, e->parent, e->thread),
                                       prof__chrome_tid(s, e->thread));
    node.record = prof__record_id(s, e);
    if (e->extra) node.with = *e->extra;
    else node.with.scope = 0;
    if (prof__is_annotation(e)) node.with.scope = PROF__USER_SCOPE;
    if (prof__asks_forward(e))
        node.fw_parent = prof__nodes_then(n, e->extra->fwd_thread, e->start_ns);
    prof__et_put(o, &node, ",");
}

/* Writes torch.distributed's list of process groups: the program's list, or else one group of all
   processes. */
PROF__FN void prof__nodes_groups(const prof__nodes *n, prof__out *o) {
    static const char key[] = "\"distributedInfo\":", *const type = "String";
    char groups[PROF_METADATA_SIZE + 256];   /* more than all metadata */
    const char *text = groups, *info;
    prof__et_node node = prof__et_plain("## process_group:init ##", n->first, 1, 0);
    prof__member list, backend, size, count;
    prof__entries m[2];
    prof__metadata_copy(m);
    info = prof__metadata_find(m + 1, key);
    if (!info) info = prof__metadata_find(m, key);
    if (n->s->built || !info || info[sizeof key - 1] != '{') return;
    info += sizeof key;
    list = prof__member_find(info, "pg_config", "");
    backend = prof__member_find(info, "backend", "\"\"");
    size = prof__member_find(info, "world_size", "1");
    count = prof__member_find(info, "pg_count", "1");
    (void)prof__text_f(groups, sizeof groups, "%b", list.value, list.value_size);
    if (!list.value_size)
        (void)prof__text_f(groups, sizeof groups, "[{\"pg_name\": \"0\", "
                           "\"pg_desc\": \"default_pg\", \"backend_config\": %b, "
                           "\"ranks\": [], \"group_size\": %b, \"group_count\": %b}]",
                           backend.value, backend.value_size, size.value, size.value_size,
                           count.value, count.value_size);
    if (n->s->thread_count) {
        node.parent = n->first + 1;
        node.tid = prof__chrome_tid(n->s, 0);
    }
    node.with.concrete_inputs = &text;
    node.with.dtypes = &type;
    node.with.input_count = 1;
    prof__et_put(o, &node, ",");
}

PROF__FN void prof__nodes_write(prof__nodes *n, prof__out *o) {
    const struct prof_trace *s = n->s;
    prof__nodes_groups(n, o);
    for (uint32_t i = 0; i < s->thread_count && !o->failed; i++) {
        prof__et_node node = prof__et_plain("[pytorch|profiler|execution_trace|thread]",
                                           n->first + 1 + i, 1, prof__chrome_tid(s, i));
        prof__et_put(o, &node, ",");
    }
    n->last = (uint32_t *)(void *)s->scratch;
    for (uint32_t i = 0; i < s->thread_count; i++) n->last[i] = PROF_NONE;
    for (uint32_t i = 0; i < s->event_count && !o->failed; i++) {
        const prof_event *e = s->events + i;
        if (prof__nodes_has(n, i)) prof__nodes_event(n, o, i);
        if (prof__in_tree(e)) n->last[e->thread] = i;
    }
}

/* ---- the file's head and end ---- */

/* Its time is as 2026-01-31 23:59:59, UTC. */
PROF__FN void prof__execution_head(prof__out *o, uint32_t pid, uint64_t wall_ns) {
    static const uint8_t lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    uint64_t s = wall_ns / 1000000000u, days = s / 86400, year = 1970, month = 0;
    for (;;) {
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        uint64_t n = month == 1 && leap ? 29 : lengths[month];
        if (days < n) break;
        days -= n;
        year += month == 11;
        month = (month + 1) % 12;
    }
    prof__out_f(o, "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": %u, \"time\": \"%u",
                (uint64_t)pid, year);
    for (int i = 0; i < 5; i++) {
        const uint64_t parts[] = { month + 1, days + 1, s / 3600 % 24, s / 60 % 60, s % 60 };
        prof__out_f(o, parts[i] < 10 ? "%b0%u" : "%b%u", &"-- ::"[i], (size_t)1, parts[i]);
    }
    prof__out_f(o, "\", \"start_ts\": %u,\n\"nodes\": [", wall_ns / 1000000u);
}

PROF__FN void prof__execution_end(prof__out *o, uint64_t wall_ns) {
    prof__et_node root = prof__et_plain("[pytorch|profiler|execution_trace|process]", 1, 1, 0);
    prof__et_put(o, &root, "\n], \"finish_ts\": ");
    prof__out_f(o, "%u}\n", wall_ns / 1000000u);
}

PROF__FN uint64_t prof__trace_end(const struct prof_trace *s) {
    int64_t end = 0;
    for (uint32_t i = 0; i < s->event_count; i++) end = PROF__MAX(end, s->events[i].end_ns);
    return s->start_wall_ns + (uint64_t)end;
}

#define PROF__NO_EVENTS "an execution trace needs events, which this mode does not keep"

PROF__CALL prof_result prof_write_execution_trace(const prof_trace *trace, prof_sink out) {
    prof__nodes n;
    prof__out o;
    if (!prof__valid(trace) || !out.write) return PROF_ERROR_INVALID;
    if (trace->records_only) return prof__fail(PROF_ERROR_STATE, PROF__NO_EVENTS);
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

/* Written by the prof_execution_trace_ calls, and by those that open and close windows. */
static struct prof__execution {
    char path[1024];
    bool registered, running;
    prof_result result;                  /* what went wrong first */
    uint64_t end;                        /* of the nodes in the file; 0: there are none yet */
    uint64_t next_id, next_record;       /* for the next window */
    uint32_t generation, done;           /* the trace that was written last, how many events */
    prof__stretch spans[PROF__SPANS];       /* of the open window */
    uint32_t span_count;
} prof__execution;

/* Writes n's nodes (NULL: none) after those in the file, then the file's end. In a .gz both are
   members of their own, so that the next window can overwrite the end. */
PROF__FN bool prof__execution_write(prof__nodes *n, uint64_t begin, uint64_t end) {
    struct prof__execution *x = &prof__execution;
    int64_t nodes_end = 0;
    prof_file f;
    prof__out o;
    memset(&f, 0, sizeof f);
    f.in_place = true;
    if (!prof__file_open_at(&f, x->path, x->end) ||
        prof__file_begin(&f, prof__ends_with(x->path, ".gz")) != PROF_OK) return false;
    prof__out_open(&o, f.sink);
    if (!x->end) prof__execution_head(&o, prof__chrome_pid(&prof__trace), begin);
    if (n) {
        prof__nodes_write(n, &o);
        prof__out_flush(&o);
#ifdef PROF_ZLIB
        if (f.zip && !prof__file_check(&f, prof__file_zip_end(&f, false))) o.failed = true;
#endif
        nodes_end = prof__seek((int)f.handle, 0, 1 /* SEEK_CUR */);
    }
    prof__execution_end(&o, end);
    if (prof__file_written(&f, prof__out_close(&o)) != PROF_OK || nodes_end < 0) return false;
    if (n) x->end = (uint64_t)nodes_end;
    return true;
}

PROF__CALL prof_result prof_execution_trace_register(const char *path) {
    struct prof__execution *x = &prof__execution;
    size_t size = path ? strlen(path) + 1 : 0;
    uint64_t now = prof__wall_now();
    if (x->registered) return PROF_OK;
    if (size < 2 || size > sizeof x->path) return PROF_ERROR_INVALID;
#if !defined(PROF_ZLIB)
    if (prof__ends_with(path, ".gz")) return prof__fail(PROF_ERROR_UNSUPPORTED, PROF__NO_ZLIB);
#endif
    memset(x, 0, sizeof *x);
    memcpy(x->path, path, size);
    x->next_id = 2;
    if (!prof__execution_write(NULL, now, now)) return prof__file_fail(path);
    x->registered = true;
    return PROF_OK;
}

PROF__CALL prof_result prof_execution_trace_start(void) {
    struct prof__execution *x = &prof__execution;
    struct prof_trace *s = &prof__trace;
    prof_result result = PROF_OK;
    prof__lock();
    if (!x->registered) {
        result = prof__fail(PROF_ERROR_STATE, "no execution trace is registered");
    } else if (!x->running && s->open && x->span_count == PROF__SPANS) {
        result = PROF_ERROR_MEMORY;
    } else if (!x->running) {
        x->running = true;
        if (s->open) {
            x->spans[x->span_count].from = prof__session_now(s);
            x->spans[x->span_count++].to = UINT64_MAX;
        }
    }
    prof__unlock();
    return result;
}

PROF__CALL void prof_execution_trace_stop(void) {
    struct prof__execution *x = &prof__execution;
    struct prof_trace *s = &prof__trace;
    prof__lock();
    if (x->running && s->open && x->span_count)
        x->spans[x->span_count - 1].to = prof__session_now(s);
    x->running = false;
    prof__unlock();
}

PROF__CALL prof_result prof_execution_trace_unregister(void) {
    struct prof__execution *x = &prof__execution;
    if (prof__trace.open && x->span_count)
        return prof__fail(PROF_ERROR_STATE, "the window that the execution trace is of is open");
    x->running = x->registered = false;
    return x->result;
}

PROF__CALL bool prof_execution_trace_is_running(void) { return prof__execution.running; }

PROF__CALL const char *prof_execution_trace_path(void) {
    return prof__execution.registered ? prof__execution.path : NULL;
}

PROF__FN prof_result prof__execution_append(struct prof_trace *s) {
    struct prof__execution *x = &prof__execution;
    prof__nodes n;
    prof__scale scale;
    uint64_t end;
    if (s->records_only) return prof__fail(PROF_ERROR_STATE, PROF__NO_EVENTS);
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
    if (!prof__execution_write(&n, s->start_wall_ns, end)) {
        prof_result result = prof__file_fail(x->path);
        (void)prof__execution_write(NULL, s->start_wall_ns, end);   /* as it was */
        return result;
    }
    x->done = s->event_count;
    x->next_id = prof__nodes_id(&n, s->event_count);
    x->next_record = s->first_record + s->event_count;
    return PROF_OK;
}
/* ---- @FLOPS: how much an op computes, by its inputs' shapes ----

   This room has PyTorch's formulas for its ops.
   - An op without inputs, or with inputs that its formula does not take, has 0.
   - Sums and products saturate at the largest number. */

/* Sums and products that saturate. */
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

/* What a formula is for. SMALL: it is also in the small set of with_flops; SMALL_ONLY: only there.
   BATCH: matrices come after a dimension of the batch. PLANE: only inputs of four dimensions.
   TRANSPOSED: a convolution, whatever desc says. SWAPPED: attention has (batch, length, heads,
   size). */
enum {
    PROF__SMALL = 1, PROF__SMALL_ONLY = 2, PROF__BATCH = 4, PROF__PLANE = 8,
    PROF__TRANSPOSED = 16, PROF__SWAPPED = 32
};

/* The arguments of a formula: the inputs that it uses, the caller's description, what it is for. */
typedef struct prof__op {
    const prof_shape *in;
    const prof_flops_desc *desc;
    uint32_t flags;
} prof__op;

PROF__FN uint64_t prof__flops_elements(const prof__op *op) {
    return prof__is_tensor(op->in, op->in->count) ? prof__product(op->in->dims, op->in->count) : 0;
}

/* (m, k) x (k, n) */
PROF__FN uint64_t prof__flops_matmul(const prof__op *op) {
    const int64_t *a = op->in[0].dims, *b = op->in[1].dims;
    uint32_t lead = op->flags & PROF__BATCH ? 1 : 0;
    if (!prof__is_tensor(op->in, lead + 2) || !prof__is_tensor(op->in + 1, lead + 2) ||
        a[lead + 1] != b[lead] || (lead && a[0] != b[0])) return 0;
    return prof__mul(prof__mul(prof__product(a, lead + 2), (uint64_t)b[lead + 1]), 2);
}

/* A convolution's parameter along dimension i; one alone is for all dimensions. */
PROF__FN int64_t prof__along(const prof_shape *list, uint32_t i, int64_t other) {
    return list->count && list->dims ? list->dims[list->count == 1 ? 0 : i] : other;
}

/* The number of positions where the kernel, w long, fits along dimension i of an input that is x
   long; 0: none, or there is no such convolution. */
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

PROF__FN bool prof__conv_fits(const prof_shape *x, const prof_shape *w, const prof_flops_desc *d,
                              bool transposed) {
    uint32_t spatial = x->count - 2;
    int64_t channels, groups = d->groups;
    if (x->count < 3 || !prof__is_tensor(x, x->count) || !prof__is_tensor(w, x->count) ||
        !prof__conv_list_fits(&d->stride, spatial) || !prof__conv_list_fits(&d->padding, spatial) ||
        !prof__conv_list_fits(&d->dilation, spatial) || groups < 0) return false;
    if (transposed) return x->dims[1] == w->dims[0];
    channels = w->dims[1];
    if (!channels) return !x->dims[1];
    return x->dims[1] % channels == 0 && (!groups || x->dims[1] / channels == groups);
}

/* Each position of the output, or where transposed of the input, takes the whole kernel. */
PROF__FN uint64_t prof__flops_conv_of(const prof__op *op, const prof_shape *x,
                                      const prof_shape *w, const prof_shape *output) {
    const prof_flops_desc *d = op->desc;
    bool transposed = d->transposed || op->flags & PROF__TRANSPOSED;
    uint64_t n;
    if (!prof__conv_fits(x, w, d, transposed)) return 0;
    n = prof__mul(prof__mul((uint64_t)x->dims[0], 2), prof__product(w->dims, w->count));
    if (transposed) output = x;
    if (output)
        return prof__is_tensor(output, x->count)
                   ? prof__mul(n, prof__product(output->dims + 2, x->count - 2)) : 0;
    for (uint32_t i = 0; i < x->count - 2; i++)
        n = prof__mul(n, prof__conv_length(d, i, x->dims[2 + i], w->dims[2 + i]));
    return n;
}

PROF__FN uint64_t prof__flops_conv(const prof__op *op) {
    if (op->flags & PROF__PLANE && op->in->count != 4) return 0;
    return prof__flops_conv_of(op, op->in, op->in + 1, op->desc->output);
}

PROF__FN uint64_t prof__flops_conv_backward(const prof__op *op) {
    return prof__mul(prof__flops_conv_of(op, op->in + 1, op->in + 2, op->in),
                     (uint64_t)(!op->desc->no_grad_input + !op->desc->no_grad_weight));
}

/* Query, key and value are each (batch, heads, length, size); several heads of the query may share
   one of the key. Each pair of a position in the query and one in the key takes of_query products
   over the size of a query, and of_value products over the size of a value. */
PROF__FN uint64_t prof__flops_pairs(const prof__op *op, const prof_shape *in, uint64_t of_query,
                                    uint64_t of_value) {
    const int64_t *q = in[0].dims, *k = in[1].dims, *v = in[2].dims;
    int heads = op->flags & PROF__SWAPPED ? 2 : 1, length = 3 - heads;
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

/* The formulas of some ops, which use the inputs from number `first` on. ops: their names, without
   `_forward` or `_backward`; with a `*` at its end one stands for all that begin with it. */
typedef struct prof__formula {
    const char *ops;
    uint64_t (*forward)(const prof__op *op);
    uint64_t (*backward)(const prof__op *op);
    uint8_t first, inputs, flags;        /* inputs: of forward; backward takes one more */
} prof__formula;

static const prof__formula prof__formulas[] = {
    { "mm", prof__flops_matmul, NULL, 0, 2, PROF__SMALL },
    { "addmm", prof__flops_matmul, NULL, 1, 2, PROF__SMALL },
    { "bmm", prof__flops_matmul, NULL, 0, 2, PROF__SMALL | PROF__BATCH },
    { "baddbmm", prof__flops_matmul, NULL, 1, 2, PROF__SMALL | PROF__BATCH },
    { "add mul", prof__flops_elements, NULL, 0, 1, PROF__SMALL | PROF__SMALL_ONLY },
    { "conv2d", prof__flops_conv, NULL, 0, 2, PROF__SMALL | PROF__PLANE },
    { "_scaled_mm", prof__flops_matmul, NULL, 0, 2, 0 },
    { "convolution", prof__flops_conv, prof__flops_conv_backward, 0, 2, 0 },
    { "conv1d conv3d _convolution convolution_overrideable cudnn_convolution "
      "cudnn_convolution_relu cudnn_convolution_add_relu miopen_convolution "
      "miopen_depthwise_convolution mkldnn_convolution thnn_conv2d _slow_conv2d slow_conv3d "
      "_conv_depthwise2d conv_depthwise3d", prof__flops_conv, NULL, 0, 2, 0 },
    { "conv_transpose* cudnn_convolution_transpose miopen_convolution_transpose", prof__flops_conv,
      NULL, 0, 2, PROF__TRANSPOSED },
    { "scaled_dot_product_* _scaled_dot_product_* _cudnn_attention", prof__flops_attention,
      prof__flops_attention_backward, 0, 3, 0 },
    { "_flash_attention _efficient_attention", prof__flops_attention,
      prof__flops_attention_backward, 0, 3, PROF__SWAPPED }
};

/* The formulas of a name of length bytes; NULL: none. few: of the small set. */
PROF__FN const prof__formula *prof__formula_find(const char *name, size_t length, bool few) {
    for (size_t i = 0; i < sizeof prof__formulas / sizeof *prof__formulas; i++) {
        const prof__formula *f = prof__formulas + i;
        size_t n;
        if (few ? !(f->flags & PROF__SMALL) : f->flags & PROF__SMALL_ONLY) continue;
        for (const char *op = f->ops; *op; op += n + strspn(op + n, " ")) {
            bool any;
            n = strcspn(op, " ");
            any = op[n - 1] == '*';
            if ((any ? length >= n - 1 : length == n) && memcmp(name, op, n - any) == 0) return f;
        }
    }
    return NULL;
}

PROF__FN const char *prof__op_name(const char *name) {
    return strncmp(name, "aten::", 6) == 0 ? name + 6 : name;
}

/* The slot of a name, or the number of slots if it has none. */
PROF__FN uint32_t prof__own_formula(const char *name) {
    uint32_t count = PROF__ACQUIRE(prof__formulary.count), i = 0;
    while (i < count && strcmp(prof__formulary.names[i], name) != 0) i++;
    return i;
}

PROF__CALL prof_result prof_flops_register(const char *name, prof_flops_formula formula) {
    struct prof__formulary *own = &prof__formulary;
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

PROF__CALL uint64_t prof_flops(const char *name, const prof_shape *inputs, uint32_t count,
                               const prof_flops_desc *desc) {
    prof_flops_formula own = NULL;
    prof_flops_desc none;
    prof__op op;
    const prof__formula *f;
    uint32_t i;
    size_t length;
    bool backward;
    memset(&none, 0, sizeof none);
    if (!name || !inputs) return 0;
    name = prof__op_name(name);
    i = prof__own_formula(name);
    if (i < PROF__OWN_FORMULAS && i < PROF__ACQUIRE(prof__formulary.count))
        own = PROF__ACQUIRE(prof__formulary.formulas[i]);
    if (own) return own(inputs, count, desc ? desc : &none);
    backward = prof__ends_with(name, "_backward");
    length = strlen(name) - (backward ? 9u : prof__ends_with(name, "_forward") ? 8u : 0u);
    f = prof__formula_find(name, length, desc && desc->with_flops);
    if (!f || (backward && !f->backward)) return 0;
    if (count < (uint32_t)f->first + f->inputs + backward) return 0;
    op.in = inputs + f->first;
    op.desc = desc ? desc : &none;
    op.flags = f->flags;
    return backward ? (f->backward)(&op) : (f->forward)(&op);
}

#endif

/* ---- @RAW: records as blocks that can be read alone: the stream, the dump ----

   The stream writes records while the session goes on; the dump writes all records at one moment.
   - A block has its size, its type and a checksum, so that a reader finds the next one after
     damage. Sites and threads, which records refer to by number, have blocks of their own: they
     come before the records, and are repeated. What each holds stands in tools/prof/raw_read.h,
     which reads it.
   - The dump takes no lock, and writes only what was consistent when it was copied. */

/* ---- blocks ---- */

enum {
    PROF__RAW_SESSION = 1, PROF__RAW_SITES, PROF__RAW_THREAD, PROF__RAW_RECORDS, PROF__RAW_OPEN,
    PROF__RAW_COUNTS, PROF__RAW_SUMS, PROF__RAW_DETAILS, PROF__RAW_EVENT, PROF__RAW_OLD_CORE,
    PROF__RAW_DENSE, PROF__RAW_METADATA
};
enum {
    PROF__RAW_MAGIC = 0x50524f46, PROF__RAW_VERSION = PROF__BARE ? 3 : 2,
    PROF__RAW_HEAD = 6,                  /* words before the payload */
    PROF__RAW_RECORDS_HEAD = 10,         /* words of a payload before its records */
    PROF__RAW_LONGEST = 28,              /* bytes of a record in a dense block, at most */
    PROF__RAW_WAIT = 48,                 /* records that are worth a dense block */
    PROF__RAW_SUM = 12,                  /* words of such a row before its buckets */
    PROF__RAW_WORDS = PROF__BARE ? 144 : 4096,   /* the most that the writer puts into a block */
    PROF__RAW_HAS_MEMORY = 1, PROF__RAW_HAS_FLOPS = 2, PROF__RAW_HAS_SHAPES = 4,
    PROF__RAW_HAS_STEPS = 8,
    PROF__RAW_AGAIN = 64                 /* blocks of records between two that tell all names */
};

/* A sum over a block's words, modulo 2^32 - 1. Where size_t has 64 bits the whole sum fits, and is
   reduced only at the end; where it has 32, each carry is added at once. */
PROF__INLINE size_t prof__raw_sum_add(size_t sum, size_t n) {
    sum += n;
    return sizeof sum > 4 ? sum : sum + (sum < n);
}

PROF__INLINE uint32_t prof__raw_sum_end(size_t sum) {
    if (sizeof sum > 4) sum %= UINT32_MAX;
    return sum == UINT32_MAX ? 0 : (uint32_t)sum;
}

/* A writer: one block, made in place, and what earlier blocks had. */
typedef struct prof__raw {
    prof_sink sink;
    bool failed, chrome, dump;
    /* sites, names: written so far; blocks: of records; round: of repeated blocks, from 1 */
    uint32_t number, used, sites, names, round, blocks;
    PROF__RAW_PORT
    uint32_t words[PROF__RAW_WORDS];
} prof__raw;

typedef struct prof__span {
    const prof__record *at, *end;
    uint64_t base;                       /* of a prof__cursor at `at` */
    prof__amount position, zones;        /* slots of its thread before it; zones written of it */
    PROF__SPAN_PORT
} prof__span;

/* What each port does in its own way; defined with the stream and the dump of each. The knots are
   readings of both clocks, after their number. */
PROF__FN uint64_t prof__raw_rate(const prof__raw *w);   /* ticks per second */
PROF__FN void prof__raw_knots(prof__raw *w);
PROF__FN void prof__raw_tell_session(prof__raw *w, bool again);   /* again, or if it changed */
/* Makes a block of records, as many as fit, for prof__raw_end to write, and moves span on. */
PROF__FN void prof__raw_records(prof__raw *w, const prof__row *row, prof__span *span);

PROF__RARE void prof__raw_begin(prof__raw *w, uint32_t type) {
    w->words[0] = PROF__RAW_MAGIC;
    w->words[1] = (uint32_t)PROF__RAW_VERSION << 16 | type;
    w->used = PROF__RAW_HEAD;
}

/* Completes the block's head, and writes the block. */
PROF__FN bool prof__raw_end(prof__raw *w) {
    size_t a = 0, b = 0;
    w->words[2] = (w->used - PROF__RAW_HEAD) * 4;
    w->words[3] = w->number;
    w->words[4] = w->words[5] = 0;
    for (uint32_t i = 1; i < w->used; i++) {
        a = prof__raw_sum_add(a, w->words[i]);
        b = prof__raw_sum_add(b, a);
    }
    w->words[4] = prof__raw_sum_end(a);
    w->words[5] = prof__raw_sum_end(b);
    if (!w->failed)
        PROF__CALL_USERS(
            w->failed = !(w->sink.write)(w->sink.user, w->words, w->used * sizeof *w->words));
    w->number += !w->failed;
    return !w->failed;
}

PROF__FN void prof__raw_u32(prof__raw *w, uint32_t n) { w->words[w->used++] = n; }

PROF__FN void prof__raw_u64(prof__raw *w, uint64_t n) {
    prof__raw_u32(w, (uint32_t)n);
    prof__raw_u32(w, (uint32_t)(n >> 32));
}

/* Writes the texts one after another, then zeroes up to a whole word. */
PROF__FN void prof__raw_text(prof__raw *w, const char *const *texts, const size_t *sizes, int n) {
    char *to = (char *)(w->words + w->used), *begin = to;
    for (int i = 0; i < n; to += sizes[i++]) memcpy(to, texts[i], sizes[i]);
    while ((to - begin) & 3) *to++ = 0;
    w->used += (uint32_t)((size_t)(to - begin) / 4);
}

/* Adds a site to the block. False: the block is full. */
PROF__FN bool prof__raw_site(prof__raw *w, uint32_t number) {
    const prof_site *site = prof__site(number);
    const char *texts[3];
    size_t sizes[3], all = 0, room = sizeof w->words - (PROF__RAW_HEAD + 6) * sizeof *w->words;
    texts[0] = site->name;
    texts[1] = site->file;
    texts[2] = site->function;
    for (int i = 0; i < 3; i++) {        /* cut to what a small machine's block can hold */
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

PROF__FN void prof__raw_open_head(prof__raw *w, const prof__row *row, uint64_t end, uint32_t n) {
    prof__raw_begin(w, PROF__RAW_OPEN);
    prof__raw_u32(w, PROF__LOAD(row->number));
    prof__raw_u32(w, n);
    prof__raw_u64(w, end);
}

#define PROF__RAW_PUT(name, value, index, note) counts[index] = s->name;

PROF__FN void prof__raw_counts(prof__raw *w, const prof_stats *s, bool last) {
    uint64_t counts[PROF__NO + 1];
    memset(counts, 0, sizeof counts);
    PROF__STATS(PROF__RAW_PUT, PROF__RAW_PUT, PROF__RAW_PUT)
    counts[14] = s->threads;
    prof__raw_begin(w, PROF__RAW_COUNTS);
    prof__raw_u32(w, last);
    prof__raw_u32(w, PROF__NO);
    for (int i = 0; i < PROF__NO; i++) prof__raw_u64(w, counts[i]);
    prof__raw_end(w);
}

/* Writes the session. A target's clock is written as PROF_CLOCK_PLATFORM. */
PROF__FN bool prof__raw_session(prof__raw *w) {
    const struct prof_trace *s = &prof__trace;
    bool own = PROF__BARE || prof__clock_kind(s) == PROF_CLOCK_PLATFORM;
    prof__raw_begin(w, PROF__RAW_SESSION);
    prof__raw_u32(w, own ? (uint32_t)PROF_CLOCK_PLATFORM : (uint32_t)prof__clock_kind(s));
    prof__raw_u32(w, own ? 1 : prof__process_id());
    prof__raw_u64(w, prof__raw_rate(w));
    prof__raw_u64(w, s->start_tick);
    prof__raw_u64(w, s->start_wall_ns);
    prof__raw_u32(w, prof__window_number(s));   /* prof_toggle makes no new session */
    prof__raw_knots(w);
    return prof__raw_end(w);
}

/* Writes the sites that were not written yet, a block at a time: those of marks, then names. */
PROF__FN void prof__raw_sites(prof__raw *w) {
    uint32_t sites = PROF__ACQUIRE(prof__sites.count);
    uint32_t names = PROF__ACQUIRE(prof__sites.names.count);
    if (w->sites < sites) PROF__HOST(prof__functions_name_new());
    while (!w->failed && (w->sites < sites || w->names < names)) {
        uint32_t i = w->sites, j = w->names;
        prof__raw_begin(w, PROF__RAW_SITES);
        while (i < sites && prof__raw_site(w, PROF__MARK_NUMBER(i))) i++;
        while (i == sites && j < names && prof__raw_site(w, PROF__NAME_NUMBER(j))) j++;
        if (!prof__raw_end(w)) return;
        w->sites = i;
        w->names = j;
    }
}

/* Writes what a reader must know before records: what is new, after PROF__RAW_AGAIN blocks all. */
PROF__FN void prof__raw_tell(prof__raw *w, prof__row *row) {
    bool again = w->round <= w->blocks / PROF__RAW_AGAIN;
    if (again) {
        w->round++;
        w->sites = w->names = 0;
    }
    prof__raw_tell_session(w, again);
    prof__raw_sites(w);
    if (PROF__LOAD(row->announced) == w->round) return;
    prof__context_name(row);
    PROF__STORE(row->announced, w->round);   /* first: a name set from now on comes again */
    prof__raw_thread_begin(w, row);
    if (!prof__raw_end(w)) PROF__STORE(row->announced, 0u);
}

/* Writes the records of span; false: the sink failed, and the rest is still in span. */
PROF__FN bool prof__raw_span(prof__raw *w, prof__row *row, prof__span *span) {
    while (span->at < span->end) {
        prof__span next = *span;
        prof__raw_tell(w, row);
        prof__raw_records(w, row, &next);
        if (!prof__raw_end(w)) return false;
        w->blocks++;
        *span = next;
    }
    return true;
}

PROF__FN void prof__raw_open_zone(prof__raw *w, uint64_t start, uint32_t site_depth) {
    prof__raw_u64(w, start);
    prof__raw_u32(w, site_depth);
    prof__raw_u32(w, 0);
}

/* Writes a row's open zones, so many, outermost first. */
PROF__FN void prof__raw_open(prof__raw *w, const prof__row *row, uint32_t count) {
    if (!count) return;
    prof__raw_open_head(w, row, prof__row_stop(row), count);
    for (uint32_t i = 0; i < count; i++) {
        prof__open o = prof__row_open(row, i);
        prof__raw_open_zone(w, o.start, o.site | o.depth);
    }
    prof__raw_end(w);
}

/* Is it a zone, a moment or a step, which streams show? */
PROF__FN bool prof__item_shows(const prof__item *i) {
    if (!PROF__BARE && i->kind == PROF__REAL) return i->slots == 2;
    return prof__item_is_zone(i) || (i->kind >= PROF__INSTANT && i->kind <= PROF__STEP);
}

PROF__FN uint64_t prof__item_start(const prof__item *i) {
    return i->end - PROF__MIN(i->duration, i->end);
}

/* The stream as a Chrome array: each event comes after a comma, so that it may end anywhere. Who
   writes the stream writes this: prof__stream_lock, on a target the one caller of prof_flush. */
static struct prof__chrome_stream {
    prof__out out;
    prof__lead lead;
    prof__scale scale;
    prof_sink sink;
    bool has_head;                       /* the head is written */
} prof__chrome_out;

/* Writes the head of the array: the process, and when the session began. */
PROF__FN void prof__chrome_begin(const struct prof_trace *s) {
    prof__out *o = &prof__chrome_out.out;
    if (prof__chrome_out.has_head) return;
    prof__chrome_out.has_head = true;
    prof__chrome_array_head(o, s, false);
    prof__chrome_process(o, s);
}

/* Writes a row's name before its events; again: also if it was written before. */
PROF__FN void prof__chrome_tell(prof__row *row, bool again) {
    struct prof__chrome_stream *c = &prof__chrome_out;
    uint32_t index = prof__row_index(row);
    uint64_t tid = prof__clock_kind(&prof__trace) == PROF_CLOCK_PLATFORM ? index
                                                            : row->info.id & INT32_MAX;
    bool tell = again || !PROF__LOAD(row->announced);
    char copy[sizeof row->name], *name = PROF__BARE ? row->name : copy;
    prof__chrome_begin(&prof__trace);
    PROF__STORE(row->announced, 1u);     /* first: a name set from now on comes again */
    if (tell) {
        if (!PROF__BARE) prof__row_name_read(row, name);
        prof__chrome_thread(&c->out, prof__chrome_pid(&prof__trace), tid, name[0] ? name : NULL,
                            index);
    }
    prof__lead_make(&c->lead, prof__chrome_pid(&prof__trace), index, tid);
}

PROF__FN void prof__chrome_item(struct prof__chrome_stream *c, const prof__item *i) {
    const char *name = prof__site(i->site_depth >> 8)->name;
    int64_t start = prof__to_ns(&c->scale, prof__item_start(i)), value = (int64_t)i->value;
    char step[40] = "ProfilerStep#";
    if (i->kind == PROF__INSTANT || i->kind == PROF__COUNTER || i->kind == PROF__REAL) {
        prof__chrome_put_moment(&c->out, &c->lead, name, start,
                                i->kind == PROF__INSTANT ? NULL : &value, i->kind == PROF__REAL);
        return;
    }
    if (!PROF__BARE && i->kind == PROF__STEP) {
        *prof__text_u64(step + 13, i->value) = 0;
        name = step;
    }
    prof__chrome_zone(&c->out, &c->lead, name, start, prof__to_ns(&c->scale, i->end),
                      prof__item_flags(i));
}

/* Writes the zones of a row that are still open, and its name as prof__chrome_tell does. Returns
   how many they are. */
PROF__FN uint32_t prof__chrome_left(struct prof__chrome_stream *c, prof__row *row, bool again) {
    uint32_t n = prof__row_open_count(row);
    prof__chrome_tell(row, again);
    for (uint32_t i = 0; i < n; i++) {
        prof__open o = prof__row_open(row, i);
        prof__item item;
        item.end = PROF__MAX(prof__open_stop(row, &o), o.start);
        item.kind = prof__open_ended(&o) ? PROF__ZONE64 : PROF__UNFINISHED;
        item.duration = item.end - o.start;
        item.site_depth = o.site;
        prof__chrome_item(c, &item);
    }
    return n;
}

/* The same of all rows, with all names again. */
PROF__FN uint32_t prof__chrome_rest(struct prof__chrome_stream *c, const struct prof_trace *s) {
    uint32_t n = 0;
    prof__chrome_begin(s);
    for (prof__row *row = s->rows; row; row = row->next) n += prof__chrome_left(c, row, true);
    return n;
}

#if !PROF__BARE
/* The rate of the clock: the CPU's has that of its readings up to `now`. */
PROF__FN uint64_t prof__rate_until(prof__knot now) {
    prof__knot first = prof__recorder.first_knot;
    if (!prof__measured(&prof__trace)) return prof__clock_rate(&prof__trace);
    if (now.ns <= first.ns) return 1000000000u;
    return (uint64_t)PROF__MIN((double)(now.tick - first.tick) * 1e9 / (double)(now.ns - first.ns),
                               1e18);   /* the clock may jump */
}

PROF__FN uint64_t prof__raw_rate(const prof__raw *w) { return prof__rate_until(w->now); }

/* A dump of an open session has the first knot, and one of now. */
PROF__FN void prof__raw_knots(prof__raw *w) {
    const struct prof_trace *s = &prof__trace;
    const prof__knot *first = s->knots.list;
    bool now = w->dump && s->open && prof__measured(s);
    uint32_t knots = s->clock != PROF_CLOCK_CPU ? 0 : now ? 1 : s->knots.count;
    prof__raw_u32(w, knots + now);
    for (uint32_t i = 0; i < knots + now; i++) {
        prof__knot k = i < knots ? first[i] : w->now;
        prof__raw_u64(w, k.tick);
        prof__raw_u64(w, k.ns - first->ns);
    }
}

PROF__FN void prof__raw_string(prof__raw *w, const char *text, size_t size) {
    prof__raw_u32(w, (uint32_t)size);
    prof__raw_text(w, &text, &size, 1);
}

/* Writes what the session asked for beside zones, if anything. */
PROF__FN void prof__raw_details(prof__raw *w) {
    if (!prof__trace.stream.asked && !prof__trace.counters) return;
    prof__raw_begin(w, PROF__RAW_DETAILS);
    prof__raw_u32(w, prof__trace.stream.asked);
    prof__raw_u32(w, prof__trace.counters);
    for (uint32_t i = 0; i < prof__trace.counters; i++)
        prof__raw_string(w, prof__counting.names[i], strlen(prof__counting.names[i]));
    prof__raw_end(w);
}

/* How long the entry is; `room`: it has no end. */
PROF__FN PROF__RACES size_t prof__entry_size(const char *entry, size_t room) {
    size_t n = 0;
    for (; n < room && entry[n]; n++) PROF__SIGNAL_FENCE();   /* no call of strlen */
    return n;
}

/* An entry as a text. Its owner may be writing it: see prof__copy_words. */
PROF__FN PROF__RACES void prof__raw_entry(prof__raw *w, const char *entry, size_t size) {
    char *to;
    size_t n = 0;
    prof__raw_u32(w, (uint32_t)size);
    to = (char *)(w->words + w->used);
    for (; n < size; n++) {
        to[n] = entry[n];
        PROF__SIGNAL_FENCE();
    }
    while (n & 3) to[n++] = 0;
    w->used += (uint32_t)(n / 4);
}

/* Writes the metadata, if it changed: of all sessions, then of this one, which counts where both
   have a key. A dump takes no lock; what changes meanwhile comes with the next block. */
PROF__FN PROF__RACES void prof__raw_metadata(prof__raw *w) {
    enum { ROOM = PROF__METADATA_LONGEST };
    uint32_t changes = PROF__ACQUIRE(prof__metadata->changes), list = 0;
    size_t at = 0;
    if (w->metadata == changes || changes & 1) return;
    while (list < 2 && !w->failed) {
        const prof__entries *m = prof__metadata + list;
        prof__raw_begin(w, PROF__RAW_METADATA);
        if (!w->dump) prof__lock();
        for (size_t size; at < m->used; at += size + 1) {
            size = prof__entry_size(m->text + at, m->used - at);
            if (size <= ROOM && (PROF__RAW_WORDS - w->used - 1) * 4 < size) break;
            if (size <= ROOM) prof__raw_entry(w, m->text + at, size);
            else if (w->round < 2) PROF__COUNT(prof__loose.not_kept);
        }
        if (at >= m->used) at = 0, list++;
        if (!w->dump) prof__unlock();
        PROF__FENCE();
        if (PROF__LOAD(prof__metadata->changes) != changes) return;
        if (w->used > PROF__RAW_HEAD) prof__raw_end(w);
    }
    if (!w->failed) w->metadata = changes;
}

/* Copies whole records, as many as fit, and reads the copy: their thread may write them. */
PROF__FN void prof__raw_records(prof__raw *w, const prof__row *row, prof__span *span) {
    const size_t room = (PROF__RAW_WORDS - PROF__RAW_HEAD - PROF__RAW_RECORDS_HEAD) / 3;
    size_t n = PROF__MIN((size_t)(span->end - span->at), room);
    prof__cursor k = { NULL, NULL, span->base, 0 };
    prof__record *to;
    prof__item i;
    prof__raw_begin(w, PROF__RAW_RECORDS);
    prof__raw_u32(w, PROF__LOAD(row->number));
    prof__raw_u32(w, (uint32_t)(span->base >> 32));
    prof__raw_u64(w, span->position);
    prof__raw_u64(w, w->now.tick);
    prof__raw_u64(w, w->now_ns);
    prof__raw_u64(w, prof__raw_rate(w));
    to = (prof__record *)(void *)(w->words + w->used);
    prof__copy_records(to, span->at, n);
    k.at = to;
    k.end = to + n;
    for (const prof__record *whole = to; prof__next(&k, &i); whole = k.at) {
        if (i.kind == PROF__KIND && whole != to) {
            k.at = whole;                /* cut: it begins the next block */
            break;
        }
        span->zones += prof__item_is_zone(&i);
        if (!i.kind && prof__went_back(i.at)) {
            to[i.at - to].duration = 0;
            span->steps++;
        }
        if (i.at->site_depth) continue;
        to[i.at - to].site_depth = PROF__PART_WORD;
        PROF__HOST(span->holes++);
    }
    n = (size_t)(k.at - to);
    span->base = k.base;
    span->at += n;
    span->position += n;
    w->used += 3 * (uint32_t)n;
}

/* Reads the session's clock. A dump's times are linear from the session's start to now. */
PROF__FN void prof__raw_now(prof__raw *w) {
    const struct prof_trace *s = &prof__trace;
    prof__scale scale = { 0, 0, 0, 0, 0 };
    w->now.ns = 0;
    if (s->clock == PROF_CLOCK_CPU) w->now = prof__knot_now();
    else w->now.tick = prof__session_now(s);
    w->now_ns = w->dump && prof__measured(s)
        ? w->now.ns - s->knots.list[0].ns : (uint64_t)prof__to_ns(&scale, w->now.tick);
}

/* ---- The stream ---- */

PROF__FN void prof__dump_states(prof__raw *w, const struct prof_trace *s);

/* Zones that prof__order holds back until their order is known: as many as fit half the buffer. */
enum { PROF__HELD = 32, PROF__HELD_BYTES = PROF__OUT_SIZE / 2 / PROF__HELD };

/* A dump's copies of a thread in sums. */
typedef struct prof__dumped {
    uint64_t inner[PROF__LEVELS + 2];
    prof__record block[2048];            /* prof__block_take: 16 KiB at most */
} prof__dumped;

/* What leaves while a session is open. raw and held are the owner's; in a session that is not
   streamed raw is the dump's, as dumped always is: prof__recorder.dumping. The owner is
   prof__recorder.stream. */
static struct prof__outgoing {
    uint32_t settled;                    /* 1: no window is opening or closing */
    size_t steps;                        /* zones in this dump in which the clock went back */
    prof__raw raw;                       /* the stream's, or a dump's */
    prof_event held[PROF__HELD];
    prof__dumped dumped;
} prof__outgoing;

/* False: the call comes from the sink, or from a signal handler that interrupted the owner. */
PROF__FN bool prof__stream_lock(bool briefly) { return prof__own(&prof__recorder.stream, briefly); }
PROF__FN void prof__stream_unlock(void) { prof__disown(&prof__recorder.stream); }

/* The thread that records in row; NULL: none does. */
PROF__FN PROF__RACES const prof__state *prof__row_state(const prof__row *row) {
    const prof__state *t = prof__used(NULL);
    while (t && (PROF__ACQUIRE(t->recording) != prof__trace.generation ||
                 PROF__LOAD(t->row) != row)) t = prof__used(t);
    return t;
}

/* Finds the first row from *row on that has records that are not written yet, in segments up to
   `last`, and the oldest of those; *done: they are its segment's last. NULL: there are none. In a
   thread's last two segments an end that a signal handler interrupted may still write the slot that
   it claimed. */
PROF__FN prof__segment *prof__stream_find(uint32_t *row, size_t last, prof__span *span,
                                          bool *done) {
    prof__segment *g = NULL;
    prof__lock();
    for (const prof__row *r = prof__trace.rows; r && !g; r = r->next) {
        const prof__state *t;
        const prof__record *end, *whole;
        g = r->number < *row ? NULL : r->first;
        if (g && g->number > last) g = NULL;
        if (!g) continue;
        *row = r->number;
        t = g->next && g->next->next ? NULL : prof__row_state(r);
        whole = g->end ? g->end : t ? PROF__ACQUIRE(t->hot.cursor) : r->cursor;
        if (whole < g->flushed || whole > g->limit) whole = g->flushed;
        end = t ? g->flushed : whole;
        while (end < whole && PROF__ACQUIRE(end->site_depth)) end++;
        span->at = g->flushed;
        span->end = end;
        span->position = g->position + (uint64_t)(g->flushed - g->begin);
        span->base = (uint64_t)g->epoch << 32;
        span->zones = span->holes = span->steps = 0;
        *done = g->end && end == whole;
        if (span->at == end && !*done) g = NULL;
    }
    prof__unlock();
    return g;
}

/* Writes the head and the thread's name, if they are new, and records until the buffer is half
   full. False: the sink failed: all of it comes again. */
PROF__FN bool prof__chrome_write(prof__raw *w, prof__row *row, prof__span *span) {
    struct prof__chrome_stream *c = &prof__chrome_out;
    prof__chrome chrome = { &c->out, &prof__trace, NULL, { 0, 0, 0, "" }, { { NULL, 0, 0, "" } } };
    prof__order order = { prof__chrome_event, &chrome, prof__outgoing.held, PROF__HELD, 0 };
    prof__span next = *span;
    uint64_t last = 0;                   /* the end of the last zone */
    uint32_t announced = PROF__LOAD(row->announced);
    bool had_head = c->has_head;
    prof__course course = row->course;
    course.last = PROF__MAX(course.last, prof__trace.start_tick);
    prof__out_open(&c->out, w->sink);
    prof__chrome_tell(row, false);
    chrome.lead = c->lead;
    while (next.at < next.end) {
        prof__item i;
        prof__cursor k = { next.at, next.end, next.base, 0 };
        size_t used = (size_t)(c->out.p - c->out.buf);
        (void)prof__next(&k, &i);
        if (used > PROF__OUT_SIZE / 2 && (i.end != last ||
            used + PROF__HELD_BYTES * (order.count + 1) >= PROF__OUT_SIZE)) break;
        next.at = k.at;
        next.base = k.base;
        next.holes += !i.at->site_depth;
        if (!prof__item_shows(&i) || !prof__site_known(i.site_depth >> 8)) continue;
        next.zones += prof__item_is_zone(&i);
        if (!i.kind && prof__went_back(i.at)) {
            i.duration = 0;
            next.steps++;
        }
        prof__go_on(&course, &i);
        if (prof__item_is_zone(&i)) {
            prof_event e = prof__site_event(i.site_depth >> 8);
            e.start_ns = prof__to_ns(&c->scale, prof__item_start(&i));
            e.end_ns = prof__to_ns(&c->scale, i.end);
            e.thread = c->lead.thread;
            e.depth = (uint8_t)i.site_depth;
            e.flags = prof__item_flags(&i);
            prof__order_add(&order, &e);
            last = i.end;
        } else {
            prof__chrome_item(c, &i);
        }
    }
    prof__order_end(&order);
    w->failed = prof__out_close(&c->out) != PROF_OK;
    if (!w->failed) {
        *span = next;
        row->course = course;
        return true;
    }
    c->has_head = had_head;
    if (!announced) PROF__STORE(row->announced, 0u);
    return false;
}

/* Counts follow the session, as readers take them for those of the last session written. */
PROF__FN void prof__raw_tell_session(prof__raw *w, bool again) {
    uint64_t knot = prof__knot_last(&prof__trace).tick;
    if (again) w->last_knot = UINT64_MAX;
    if (again) w->metadata = 1;          /* never: it is odd */
    if (w->last_knot != knot && prof__raw_session(w)) {
        if (w->last_knot == UINT64_MAX) {
            prof_stats stats = prof_get_stats(NULL);
            prof__raw_details(w);
            prof__raw_counts(w, &stats, false);
        }
        w->last_knot = knot;
    }
    prof__raw_metadata(w);
}

/* A row's last records are written, and its thread has left: writes the zones that were open. */
PROF__FN bool prof__stream_open_zones(prof__raw *w, prof__row *row) {
    if (!row->open_count) return true;
    if (w->chrome) {
        prof__out_open(&prof__chrome_out.out, w->sink);
        (void)prof__chrome_left(&prof__chrome_out, row, false);
        w->failed = prof__out_close(&prof__chrome_out.out) != PROF_OK;
    } else {
        prof__raw_open(w, row, row->open_count);
    }
    if (w->failed) return false;
    prof__lock();
    prof__trace.stream.zones += row->open_count;
    row->open_count = 0;
    prof__unlock();
    return true;
}

/* Writes what is new of all threads, and notes how much that was, so that it is not written again.
   What comes meanwhile is for the next time. */
PROF__FN bool prof__stream_rows(prof__raw *w) {
    prof__segment *g;
    prof__span span;
    size_t last = PROF__LOAD(prof__trace.pool.begun);
    uint32_t row = 0;
    bool done, ok = true;
    while (ok && (g = prof__stream_find(&row, last, &span, &done)) != NULL) {
        if (w->chrome) {
            prof__functions_name_new();
            do ok = prof__chrome_write(w, g->row, &span); while (ok && span.at < span.end);
        } else {
            if (span.at == span.end) prof__raw_tell(w, g->row);   /* its last: it may have a name */
            ok = prof__raw_span(w, g->row, &span) && !w->failed;
        }
        if (ok && done && !g->next) ok = prof__stream_open_zones(w, g->row);
        prof__lock();
        PROF__STORE(g->flushed, g->begin + (span.at - g->begin));
        g->epoch = (uint32_t)(span.base >> 32);
        prof__trace.stream.zones += span.zones;
        if (prof__trace.open) PROF__BUMP(prof__trace.counts.full, span.holes);
        PROF__BUMP(prof__trace.counts.steps, span.steps);
        if (!done) row++;
        if (done && ok) prof__segment_free(g);
        if (done && ok && !prof__segment_held(g)) prof__segment_give(g);
        prof__unlock();
    }
    return ok;
}

/* A stream turns ticks into times before the next readings of both clocks are known. So the last
   pair lies ahead, by the clock's rate so far, and the next pair corrects its error. */
PROF__FN void prof__stream_clock(struct prof_trace *s) {
    prof__knot now, first = prof__recorder.first_knot, a = { 0, 0 }, b = { 0, 0 };
    prof__scale ticks;
    uint64_t gap;
    if (!prof__measured(s)) return;
    do now = prof__knot_now(); while (now.ns - first.ns < 5000000u);
    if (s->knots.count > 1 && now.tick < prof__knot_last(s).tick) return;
    b.tick = now.ns - first.ns;
    b.ns = now.tick - first.tick;
    ticks = prof__scale_between(a, b, 0);
    gap = PROF__MAX((now.ns - s->knots.list[0].ns) / 4, 1000000000u);
    now.ns += gap;
    now.tick += prof__scale_ns(&ticks, gap);
    if (s->knots.count == PROF__KNOTS)    /* after 11 days: the oldest but the start is removed */
        memmove(s->knots.list + 1, s->knots.list + 2, (--s->knots.count - 1) * sizeof first);
    prof__knot_add(now);
}

PROF__FN prof_result prof__stream_flush_locked(struct prof_trace *s) {
    prof__raw *w = &prof__outgoing.raw;
    uint64_t began = prof__due_now(s->clock), rate = 1000000000u;
    bool ok;
    w->failed = false;
    prof__lock();
    prof__stream_clock(s);
    prof__unlock();
    prof__raw_now(w);
    if (s->clock == PROF_CLOCK_CPU) rate = PROF__MIN(prof__raw_rate(w), 10000000000u);
    PROF__STORE(s->stream.wait, (uint32_t)(rate / 1024));
    ok = prof__stream_rows(w);
    s->stream_failures += !ok;
    if (ok) s->stream.flushed = began;
    return ok ? PROF_OK : PROF_ERROR_SINK;
}

PROF__FN bool prof__env_failed(void);
PROF__FN bool prof__env_streams(const prof_sink *sink);

/* Is this a child of the session's process in which no handler of fork has run (_Fork, vfork)? It
   leaves the session as it is. */
PROF__FN bool prof__is_copy(void) {
    uint32_t owner = PROF__LOAD(prof__port.owner);
    return owner && owner != prof__process_id();
}

PROF__FN prof_result prof__flush(uint64_t since, bool briefly) {
    struct prof_trace *s = &prof__trace;
    prof_result result;
    bool ours;
    if (prof__is_copy() || !prof__stream_lock(briefly))
        return prof__fail(PROF_ERROR_STATE, "prof_flush was called in the sink, or in a child");
    result = prof__fail(PROF_ERROR_STATE, "no session of PROF_MODE_STREAM is open");
    prof__lock();
    ours = s->open && s->mode == PROF_MODE_STREAM;
    prof__unlock();
    if (ours) result = prof__env_failed() ? PROF_ERROR_SINK : PROF_OK;
    if (result == PROF_OK && (!since || s->stream.flushed - since > 2 * (uint64_t)s->stream.wait))
        result = prof__stream_flush_locked(s);   /* further ahead: the clock went back */
    prof__stream_unlock();
    return result;
}

PROF__CALL prof_result prof_flush(void) { return prof__flush(0, false); }

PROF__FN void prof__stream_open(struct prof_trace *s, const prof_desc *d) {
    prof__raw *w = &prof__outgoing.raw;
    memset(w, 0, offsetof(prof__raw, words));
    w->sink = d->stream;
    w->chrome = d->stream_format == PROF_STREAM_CHROME;
    prof__chrome_out.has_head = false;
    memset(&prof__chrome_out.scale, 0, sizeof prof__chrome_out.scale);   /* of the last session */
    s->stream.flush_inline = d->when_full == PROF_FULL_CONTINUE;
    s->stream.often = prof__env_streams(&d->stream);
    prof__stream_clock(s);
}

/* Metadata that were just added leave at once. In the sink they leave with what is written next. */
PROF__FN void prof__raw_metadata_now(void) {
    struct prof_trace *s = &prof__trace;
    prof__raw *w = &prof__outgoing.raw;
    bool ours, failed;
    if (!prof__stream_lock(false)) return;
    prof__lock();
    ours = prof__streams(s);
    if (ours) prof__stream_clock(s);
    prof__unlock();
    if (ours) {                          /* else the buffer may be a dump's */
        w->failed = failed = prof__env_failed();
        prof__raw_now(w);
        prof__raw_tell_session(w, !w->round);
        s->stream_failures += w->failed && !failed;
    }
    prof__stream_unlock();
}

/* ---- events of prof_submit leave as they come ---- */

PROF__FN bool prof__streams_events(const struct prof_trace *s) {
    return prof__streams(s) && !prof__outgoing.raw.chrome;
}

PROF__FN void prof__raw_event(prof__raw *w, const prof__row *row, const prof_event *e) {
    const prof_extra *x = prof__extra_of(e);
    const char *name = prof__chrome_name(e), *type = x ? x->activity_type : NULL;
    const char *device = prof__device_title(e->device_type);
    char args[8192];
    prof__text_end end;
    prof_sink sink = { prof__text_write, NULL };
    end.p = args;
    end.end = args + sizeof args;
    sink.user = &end;
    if (prof__write_args(e, sink) != PROF_OK) {   /* too long */
        PROF__COUNT(prof__loose.not_kept);
        end.p = args;
    }
    prof__raw_begin(w, PROF__RAW_EVENT);
    prof__raw_u64(w, (uint64_t)e->start_ns);
    prof__raw_u64(w, (uint64_t)e->end_ns);
    prof__raw_u32(w, row->number);
    prof__raw_u32(w, (e->flags & 0xffu) | (uint32_t)e->device_type << 16);
    prof__raw_u32(w, prof__has(e));
    prof__raw_u32(w, (uint32_t)prof__device_index(e));
    prof__raw_u64(w, x ? (uint64_t)x->device_resource_id : 0);
    prof__raw_u64(w, x ? (uint64_t)x->id : 0);
    prof__raw_u64(w, x ? (uint64_t)x->linked_correlation_id : 0);
    prof__raw_u64(w, x ? (uint64_t)x->external_id : 0);
    prof__raw_string(w, name ? name : "(null)", name ? PROF__MIN(strlen(name), PROF__MAX_NAME) : 6);
    prof__raw_string(w, type ? type : "", type ? PROF__MIN(strlen(type), 255u) : 0);
    prof__raw_string(w, args + (end.p > args), PROF__MAX((size_t)(end.p - args), 2u) - 2);
    prof__raw_string(w, device, PROF__MIN(strlen(device), 63u));
    prof__raw_end(w);
}

/* Events that the sink does not take are lost and counted, since nothing keeps them. */
PROF__FN prof_result prof__submit_streamed(const prof_event *events, size_t count) {
    struct prof_trace *s = &prof__trace;
    prof__raw *w = &prof__outgoing.raw;
    prof_result result = PROF_OK;
    bool ours, failed;
    if (!prof__stream_lock(false))
        return prof__fail(PROF_ERROR_STATE, "events were submitted in the stream's sink");
    prof__lock();
    ours = prof__streams_events(s);
    if (ours) prof__stream_clock(s);
    prof__unlock();
    if (!ours) {
        prof__stream_unlock();
        return prof__fail(PROF_ERROR_STATE, "events were submitted while no session is open");
    }
    w->failed = failed = prof__env_failed();
    prof__raw_now(w);
    for (size_t i = 0; i < count; i++) {
        const prof_event *e = events + i;
        bool right, asked = prof__device_asked(e->device_type);
        prof__row *row;
        prof__lock();
        for (row = s->rows; row && row->thread != e->thread;) row = row->next;
        right = row && prof__event_joins(e);
        prof__unlock();
        if (right && asked && !w->failed) {
            prof__raw_tell(w, row);
            prof__raw_event(w, row, e);
        }
        if (!right) result = PROF_ERROR_INVALID;
        else if (asked && w->failed) result = PROF_ERROR_SINK;
        prof__lock();
        s->outside.rejected += !right;
        PROF__BUMP(s->counts.not_kept, right && (!asked || w->failed));
        prof__unlock();
    }
    s->stream_failures += w->failed && !failed;
    prof__stream_unlock();
    return result;
}

/* After prof_stop: writes the remaining records, and what is known only now. */
PROF__FN void prof__stream_close(struct prof_trace *s) {
    prof__raw *w = &prof__outgoing.raw;
    prof__out *o = &prof__chrome_out.out;
    prof_stats stats;
    bool ok = prof__stream_flush_locked(s) == PROF_OK, taken;
    prof__lock();
    s->stream.over = true;
    prof__unlock();
    for (prof__row *row = w->chrome ? NULL : s->rows; ok && row; row = row->next) {
        prof__raw_tell(w, row);
        prof__raw_open(w, row, row->open_count);
    }
    if (!w->chrome) {
        w->metadata = 1;                 /* once more */
        if (ok) prof__raw_tell_session(w, !w->round);
        if (ok) prof__dump_states(w, s);
        stats = prof_get_stats(NULL);
        prof__raw_counts(w, &stats, true);
    } else if (ok) {
        prof__out_open(o, w->sink);
        (void)prof__chrome_rest(&prof__chrome_out, s);
        prof__chrome_array_recorded(o, s, prof_get_stats(NULL).recorded);
        prof__chrome_counts(o, s);
        taken = prof__reading_open();    /* others may read statistics */
        if (prof__any_sums(s)) prof__prepare(s);
        prof__reading_close(taken);
        PROF__HOST(prof__sources_find(s, PROF_CHROME_SOURCE_NONE));
        PROF__HOST(prof__chrome_sums(o, s));
        prof__out_text(o, "}}\n]\n");
        w->failed = prof__out_close(o) != PROF_OK;
        prof__chrome_out.has_head = false;   /* another window is another array */
    }
    s->stream_failures += ok && w->failed;
}

/* The zones of a stream or a ring that has ended: those written, those that remain (in a stream
   where the sink failed), and those that were open. */
PROF__FN uint64_t prof__stream_recorded(const struct prof_trace *s) {
    uint64_t zones = s->stream.zones;
    for (const prof__row *row = s->rows; row; row = row->next) {
        for (const prof__segment *g = row->first; g; g = g->next) {
            prof__cursor k = { g->flushed, g->end ? g->end : row->cursor, 0, 0 };
            for (prof__item item; prof__next(&k, &item);) zones += prof__item_is_zone(&item);
        }
        zones += row->open_count;
    }
    return zones;
}

/* ---- The dump: no locks, only calls that are safe in signal handlers ---- */

PROF__FN bool prof__raw_told(const prof__raw *w, uint32_t number) {
    return number >= PROF__PUSHED ? number - PROF__PUSHED < w->names : number <= w->sites;
}

/* Writes row, unless it was the last one. False: *use changed: it may be another thread's. */
PROF__FN bool prof__dump_row(prof__raw *w, const prof__row *row, const size_t *use) {
    size_t used = use ? PROF__LOAD(*use) : 0;
    uint32_t number = PROF__LOAD(row->number);
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

/* Writes the zones that are open in t now. */
PROF__FN void prof__dump_open(prof__raw *w, const prof__state *t, const prof__row *row) {
    const prof__frame *bottom, *top = prof__dump_frames(t, &bottom);
    uint32_t number = PROF__LOAD(row->number);
    if (!top) return;
    prof__raw_sites(w);
    prof__raw_open_head(w, row, w->now.tick, (uint32_t)(top - bottom));
    for (const prof__frame *f = bottom; f < top; f++) {
        uint32_t start = PROF__ACQUIRE(f->start), site = PROF__LOAD(f->site);
        if (!site || !prof__raw_told(w, site >> 8)) return;   /* it began just now */
        prof__raw_open_zone(w, (uint64_t)PROF__LOAD(f->epoch) << 32 | start,
                            site | (uint32_t)(f - bottom));
    }
    PROF__FENCE();                       /* dropped if another thread has the state since */
    if (PROF__LOAD(t->row) == row && PROF__LOAD(row->number) == number) prof__raw_end(w);
}

/* Adds a row to the block of sums. False: it is full, or lacks the row's name. */
PROF__FN PROF__RACES bool prof__raw_sum(prof__raw *w, const prof__tally *r) {
    uint32_t first = 0, end = PROF__BUCKETS, site = r->site >> 8;
    const uint64_t inner = r->inner + (w->dump && prof__trace.overwritten ? 0 : r->around);
    const uint64_t sums[] = { prof__tally_calls(r), r->total, inner, r->least, r->most };
    if (!sums[0] && !inner) return true;
    while (end && !r->histogram[end - 1]) end--;
    while (first < end && !r->histogram[first]) first++;
    if (!prof__raw_told(w, site) ||
        PROF__RAW_WORDS - w->used < (uint32_t)PROF__RAW_SUM + end - first) return false;
    prof__raw_u32(w, site);
    prof__raw_u32(w, first << 16 | (end - first));
    for (int i = 0; i < 5; i++) prof__raw_u64(w, sums[i]);
    for (; first < end; first++) prof__raw_u32(w, r->histogram[first]);
    w->words[PROF__RAW_HEAD + 1]++;
    return true;
}

/* Writes the block of sums, and begins the next with the names so far. */
PROF__FN PROF__RACES void prof__raw_sums_next(prof__raw *w, uint32_t thread) {
    const struct prof_trace *s = &prof__trace;
    if (w->words[PROF__RAW_HEAD + 1]) prof__raw_end(w);
    prof__raw_sites(w);
    prof__raw_begin(w, PROF__RAW_SUMS);
    prof__raw_u32(w, thread);
    prof__raw_u32(w, 0);                 /* rows */
    prof__raw_u64(w, s->sums.full_tick);
    prof__raw_u64(w, s->open ? w->now.tick : s->stop_tick);
}

/* Adds a row of one zone: of its name, or of all others where t would have none for it. */
PROF__FN PROF__RACES void prof__raw_sum_zone(prof__raw *w, const prof__state *t, uint32_t thread,
                                             uint32_t site_depth, uint64_t ticks,
                                             uint64_t within) {
    uint32_t site = site_depth & ~(uint32_t)0xff;
    prof__tally row;
    memset(&row, 0, sizeof row);
    row.site = t->sums.tallies.full ? prof__tally_find(&t->sums.tallies, site)->site : site;
    row.least = UINT64_MAX;
    prof__tally_put(&row, ticks, within);
    if (prof__raw_sum(w, &row)) return;
    prof__raw_sums_next(w, thread);
    (void)prof__raw_sum(w, &row);
}

/* Writes the rows of t, as many as a block has room for while it is held, and copies t's block
   with the last of them. Returns the copy's end. Where t has not let go in time, or this signal
   handler interrupted it, what it was just adding may be missing. */
PROF__FN prof__record *prof__dump_rows_of(prof__raw *w, prof__state *t, uint32_t thread) {
    prof__dumped *d = &prof__outgoing.dumped;
    const prof__tally *r = PROF__ACQUIRE(t->sums.tallies.others);
    prof__record *end = d->block;
    prof__tls_data *tls = prof__tls_get();
    const bool idle = tls->hot == &t->hot && !tls->busy;
    w->words[PROF__RAW_HEAD + 1] = 0;
    prof__raw_sums_next(w, thread);
    do {
        bool held;
        if (idle) tls->busy = 1;         /* handlers on this thread wait for nobody */
        held = prof__take_lock_briefly(&t->lock, 1000);
        for (; r; r = PROF__ACQUIRE(r->next)) {
            prof__tally row;
            prof__copy_words(&row, r, sizeof row);
            if (!prof__raw_sum(w, &row)) break;
        }
        if (!r) end = prof__block_copy(t, d->block, sizeof d->block / sizeof *d->block, d->inner);
        if (held) prof__state_unlock(t);
        if (idle) tls->busy = 0;
        if (r) prof__raw_sums_next(w, thread);
    } while (r && !w->failed);
    return end;
}

/* Writes the sums of t: rows, zones in its block, and if `open` open zones of a thread in sums. */
PROF__FN void prof__dump_sums(prof__raw *w, prof__state *t, bool open) {
    const prof__row *row = PROF__ACQUIRE(t->row);
    const prof__frame *bottom, *top;
    uint32_t thread = row ? PROF__LOAD(row->number) : 0;
    prof__dumped *d = &prof__outgoing.dumped;
    prof__cursor k = { d->block, d->block, 0, 0 };
    prof__item i;
    uint64_t within = 0;
    k.end = prof__dump_rows_of(w, t, thread);
    while (prof__block_next(&k, &i, d->inner, &within))
        prof__raw_sum_zone(w, t, thread, i.site_depth, i.duration, within);
    top = prof__dump_frames(t, &bottom);
    if (!open || !PROF__LOAD(t->sums.on)) top = NULL;
    for (; top && top > bottom; top--) {
        const prof__frame *f = top - 1;
        uint64_t start = (uint64_t)PROF__LOAD(f->epoch) << 32 | PROF__ACQUIRE(f->start);
        uint64_t ticks = w->now.tick - PROF__MIN(start, w->now.tick);
        within = prof__tally_within(d->inner + 1 + (f - bottom), ticks);
        prof__raw_sum_zone(w, t, thread, PROF__LOAD(f->site), ticks, within);
    }
    if (w->words[PROF__RAW_HEAD + 1]) prof__raw_end(w);
}

/* Writes the records of a segment, but no block that was copied while it was used again. t's cursor
   (NULL: it has left, at cursor) is read before g->end: one from before the chunk was last emptied
   would reach past what is written. */
PROF__FN void prof__dump_segment(prof__raw *w, const prof__segment *g, const prof__state *t,
                                 const prof__record *cursor) {
    size_t number = PROF__ACQUIRE(g->number);
    const prof__row *row = PROF__ACQUIRE(g->row);
    prof__span span;
    if (!number || !prof__dump_row(w, row, &g->number) || PROF__LOAD(g->number) != number) return;
    if (t) cursor = PROF__ACQUIRE(t->hot.cursor);
    span.end = PROF__ACQUIRE(g->end);
    if (!span.end) span.end = cursor;
    span.at = PROF__LOAD(g->flushed);
    span.position = PROF__LOAD(g->position) + (uint64_t)(span.at - PROF__LOAD(g->begin));
    span.base = (uint64_t)PROF__LOAD(g->epoch) << 32;
    if (span.at < PROF__LOAD(g->begin) || span.end > PROF__LOAD(g->limit)) return;
    span.zones = span.holes = span.steps = 0;
    prof__raw_sites(w);                  /* names may be newer than the dump's begin */
    while (span.at < span.end && !w->failed) {
        prof__raw_records(w, row, &span);
        PROF__FENCE();
        if (PROF__LOAD(g->number) != number) return;
        prof__raw_end(w);
    }
    prof__outgoing.steps += span.steps;
}

/* Writes the zones that were open when their window was closed. */
PROF__FN PROF__RACES void prof__dump_closed(prof__raw *w, const struct prof_trace *s) {
    for (const prof__row *row = PROF__ACQUIRE(s->rows); row; row = PROF__ACQUIRE(row->next))
        if (row->open_count && !prof__row_state(row) && prof__dump_row(w, row, NULL))
            prof__raw_open(w, row, row->open_count);
}

/* Writes a ring, which threads may be overwriting: its segments in the order in which they were
   begun. A row may be another thread's by now: so is its cursor, which lies in another segment. */
PROF__FN PROF__RACES void prof__dump_ring(prof__raw *w, const struct prof_trace *s) {
    for (size_t number = 0, last = PROF__LOAD(s->pool.begun); number < last && !w->failed;) {
        const prof__segment *next = NULL;
        size_t least = last;
        for (const prof__segment *g = PROF__ACQUIRE(s->pool.made); g; g = g->made) {
            size_t n = PROF__LOAD(g->number);
            if (n <= number || n > least) continue;
            least = n;
            next = g;
        }
        number = least;
        if (!next) continue;
        const prof__row *row = PROF__ACQUIRE(next->row);
        prof__dump_segment(w, next, prof__row_state(row), row->cursor);
    }
}

/* With PROF_MODE_TRACE rows and segments are only ever added. */
PROF__FN PROF__RACES void prof__dump_rows(prof__raw *w, const struct prof_trace *s) {
    for (const prof__row *row = PROF__ACQUIRE(s->rows); row; row = PROF__ACQUIRE(row->next)) {
        const prof__state *of = row->cursor ? NULL : prof__row_state(row);
        const prof__segment *g = PROF__ACQUIRE(row->first);
        prof__dump_row(w, row, NULL);
        for (; g; g = PROF__ACQUIRE(g->next)) prof__dump_segment(w, g, of, row->cursor);
    }
}

/* Writes the zones that are only in sums, and while the session is open the open ones. */
PROF__FN PROF__RACES void prof__dump_states(prof__raw *w, const struct prof_trace *s) {
    for (prof__state *t = prof__used(NULL); t; t = prof__used(t)) {
        const prof__row *row = PROF__ACQUIRE(t->row);
        bool open = s->open && row && PROF__ACQUIRE(t->recording) == s->generation;
        if (prof__any_sums(s) && PROF__ACQUIRE(t->sums.tallies.others))
            prof__dump_sums(w, t, open);
        if (!open) continue;
        if (s->mode == PROF_MODE_RING && !prof__dump_row(w, row, NULL)) continue;
        if (!PROF__LOAD(t->sums.on)) prof__dump_open(w, t, row);
        else if (t->segment && PROF__LOAD(t->sums.since) >= w->now.tick)   /* ended since */
            prof__dump_segment(w, t->segment, NULL, NULL);
    }
}

/* The counts of all threads so far. It takes no lock: who has it sees them as they are. */
PROF__FN void prof__counts_now(const struct prof_trace *s, prof__counts *sum) {
    memset(sum, 0, sizeof *sum);
    prof__counts_add(sum, &s->counts);
    for (const prof__state *t = s->open ? prof__used(NULL) : NULL; t; t = prof__used(t)) {
        const prof__record *begin, *end;
        if (PROF__ACQUIRE(t->recording) != s->generation) continue;
        prof__counts_add(sum, &t->counts);
        begin = PROF__ACQUIRE(t->begin);
        end = prof__cursor_of(t);
        if (end > begin && PROF__LOAD(t->begin) == begin)
            *(PROF__LOAD(t->sums.on) ? &sum->summed : &sum->slots) += (size_t)(end - begin);
    }
}

/* A window is about to open or close: until that is done no dump begins. Waits for a dump that is
   being written, but for no more than a good part of a second. */
PROF__FN void prof__windows_unsettle(void) {
    PROF__STORE(prof__outgoing.settled, 0u);
    PROF__FENCE();
    for (int i = 0; i < 1000000 && PROF__ACQUIRE(prof__recorder.dumping); i++) prof__yield();
}

/* STATE also while another thread, or the code that this signal handler interrupted, is dumping. */
PROF__CALL prof_result prof_dump(prof_sink out) {
    const struct prof_trace *s = &prof__trace;
    prof__raw *w = &prof__outgoing.raw;
    prof_stats stats;
    prof__counts sum;
    prof_result result;
    int cancel;
    if (!out.write) return PROF_ERROR_INVALID;
    cancel = prof__cancel_off();
    if (!prof__try(&prof__recorder.dumping)) {
        prof__cancel_back(cancel);
        return prof__fail(PROF_ERROR_STATE, "another dump is being written");
    }
    result = prof__fail(PROF_ERROR_STATE, "no session of PROF_MODE_TRACE or _RING to dump");
    PROF__FENCE();
    if (PROF__ACQUIRE(prof__outgoing.settled) && (s->open || s->stopped) &&
        s->mode <= PROF_MODE_RING) {
        memset(w, 0, offsetof(prof__raw, words));
        prof__outgoing.steps = 0;
        w->sink = out;
        w->dump = true;
        prof__raw_now(w);
        prof__raw_session(w);
        prof__raw_details(w);
        prof__raw_metadata(w);
        prof__raw_sites(w);
        if (s->mode == PROF_MODE_RING) prof__dump_ring(w, s);
        else prof__dump_rows(w, s);
        prof__dump_states(w, s);
        prof__dump_closed(w, s);
        prof__counts_now(s, &sum);
        if (s->open) sum.steps += prof__outgoing.steps;   /* else prof_stop counted them */
        prof__stats_add(&stats, &sum);
        prof__raw_counts(w, &stats, true);
        result = w->failed ? PROF_ERROR_SINK : PROF_OK;
    }
    prof__release(&prof__recorder.dumping);
    prof__cancel_back(cancel);
    return result;
}

#else
static prof__raw prof__raw_out;

PROF__FN uint64_t prof__raw_rate(const prof__raw *w) {
    const struct prof_trace *s = &prof__trace;
    uint64_t rate = prof__clock_rate(s);
    (void)w;
    return prof__clock_kind(s) == PROF_CLOCK_CPU ? rate << PROF__CLOCK_SHIFT : rate;
}

PROF__FN void prof__raw_knots(prof__raw *w) {
    prof__raw_u32(w, 0);
    if (prof__one_core()) prof__raw_u32(w, 1);
}

PROF__FN void prof__raw_tell_session(prof__raw *w, bool again) {
    if (!again) return;
    prof__raw_session(w);
#  ifdef PROF_NAMES_IN_ELF
    if (!prof__build()) return;
    prof__raw_begin(w, PROF__RAW_SITES);
    prof__raw_site(w, PROF__BUILD);
    prof__raw_end(w);
#  endif
}

PROF__FN void prof__span_page(prof__span *span, prof__segment *g) {
    span->page = g;
    span->at = g == span->t->row.first ? span->t->flushed : prof__page_begin(g);
    span->end = g->end ? g->end : span->t->hot.cursor;
    span->base = g->base;
}

/* Reads the next record of a span, page after page; false: there is none. */
PROF__FN bool prof__span_next(prof__cursor *k, prof__span *span, prof__item *i) {
    while (!prof__next(k, i)) {
        if (!span->t || !span->page->next) return false;
        prof__span_page(span, span->page->next);
        k->at = span->at;
        k->end = span->end;
        k->base = span->base;
    }
    return true;
}

/* Writes n, 7 bits a byte, the low ones first; bit 7: more bytes follow. */
PROF__FN unsigned char *prof__raw_varint(unsigned char *to, uint64_t n) {
    for (; n > 127; n >>= 7) *to++ = (unsigned char)(n | 128);
    *to++ = (unsigned char)n;
    return to;
}

/* A block holds the more records the later it is written: see prof_flush. */
PROF__FN void prof__raw_records(prof__raw *w, const prof__row *row, prof__span *span) {
    prof__cursor k = { span->at, span->end, span->base, 0 };
    unsigned char *to, *limit = (unsigned char *)(w->words + PROF__RAW_WORDS) - PROF__RAW_LONGEST;
    uint64_t last = k.base, after, sign;
    prof__item i;
    prof__raw_begin(w, PROF__RAW_DENSE);
    to = (unsigned char *)(w->words + w->used);
    to = prof__raw_varint(to, row->number);
    to = prof__raw_varint(to, span->position);
    to = prof__raw_varint(to, prof__raw_rate(w));
    to = prof__raw_varint(to, last);
    while (to <= limit && prof__span_next(&k, span, &i)) {
        if (!i.kind) {
            uint32_t depth = i.site_depth & 255, few = PROF__MIN(depth, 31);
            after = i.end - last;
            sign = (uint64_t)0 - (after >> 63);
            to = prof__raw_varint(to, i.site_depth >> 8 << 5 | few);
            if (few == 31) to = prof__raw_varint(to, depth);
            to = prof__raw_varint(to, after << 1 ^ sign);
            to = prof__raw_varint(to, i.duration);
        } else if (i.kind != PROF__CLOCK) {
            *to++ = (unsigned char)i.slots;
            memcpy(to, i.at, i.slots * sizeof *i.at);
            to += i.slots * sizeof *i.at;
        }
        if (prof__item_is_zone(&i)) last = i.end;
        span->at = k.at;
        span->base = k.base;
        span->position += i.kind == PROF__CLOCK ? 0 : i.slots;
        span->zones += prof__item_is_zone(&i);
    }
    while ((to - (unsigned char *)w->words) & 3) *to++ = 0;
    w->used = (uint32_t)(to - (unsigned char *)w->words) / 4;
}

/* Writes what is new from a page on. Returns the page that it has come to. */
PROF__FN prof__segment *prof__raw_pages(prof__raw *w, prof__state *t, prof__segment *g) {
    prof__span span;
    span.t = t;
    span.position = t->written;
    span.zones = w->zones;
    prof__span_page(&span, g);
    (void)prof__raw_span(w, &t->row, &span);
    t->written = span.position;
    w->zones = span.zones;
    if (w->dump) return span.page;
    while (t->row.first != span.page) prof__page_give(prof__page_off(&t->row));
    t->flushed += span.at - t->flushed;
    span.page->base = span.base;
    return span.page;
}

/* Writes the zones that wait, innermost first, open zones, then counts. For a ring `recorded` has
   all zones that ended: the reader subtracts those that it has; the others are overwritten. */
PROF__FN void prof__raw_rest(prof__raw *w) {
    prof_stats stats = prof__counts_now(&prof__trace);
    uint64_t ended;
    for (prof__row *row = prof__trace.rows; row; row = row->next) {
        prof__state *t = prof__row_state(row);
        for (uint32_t i = t->waiting; i--;) {
            prof__record records[2];
            prof__span span = { records, records + 2, 0, t->written, w->zones, NULL, NULL };
            prof__waiting_record(t->hot.top + i, records);
            (void)prof__raw_span(w, row, &span);
            t->written = span.position;
            w->zones = span.zones;
        }
    }
    ended = w->zones + stats.overwritten;
    for (prof__row *row = prof__trace.rows; row; row = row->next) {
        uint32_t open = (uint32_t)prof__open_zones(prof__row_state(row));
        if (open) prof__raw_tell(w, row);    /* it may have no records */
        prof__raw_open(w, row, open);
        w->zones += open;
    }
    stats.recorded = stats.overwritten ? ended : w->zones;
    prof__raw_counts(w, &stats, true);
}

PROF__CALL prof_result prof_dump(prof_sink out) {
    struct prof_trace *s = &prof__trace;
    prof__raw *w = &prof__raw_out;
    if (!(s->open || s->stopped) || prof__mode() >= PROF_MODE_STREAM) return PROF_ERROR_STATE;
    if (!out.write) return PROF_ERROR_INVALID;
    memset(w, 0, offsetof(prof__raw, words));
    w->sink = out;
    w->dump = true;
    s->steps = 0;
    s->dumping = true;
    if (s->open) (void)prof__time_now(0);
    for (prof__row *row = s->rows; row; row = row->next) {
        prof__state *t = prof__row_state(row);
        row->announced = 0;
        t->written = 0;
        for (prof__segment *g = row->first; g; g = g->next) g = prof__raw_pages(w, t, g);
    }
    prof__raw_rest(w);
    s->dumping = false;
    return w->failed ? PROF_ERROR_SINK : PROF_OK;
}

/* ---- The ring and the stream ---- */

/* Is there a page? Memory is kept for who comes late: an eighth of the arena, or max_threads, and
   for one more at least. */
PROF__FN bool prof__page_free(void) {
    const struct prof_trace *s = &prof__trace;
    size_t one = s->plan.state + 4 * prof__sites.cost, used = (s->row_count + 1) * one;
    size_t all = (size_t)(prof__arena.end - prof__arena.base);
    size_t kept = PROF__MAX(s->max_threads * one, all / 8);
    kept = PROF__MAX(kept, used) - used;
    return s->free_pages || prof__arena.room >= kept + one + s->plan.page;
}

PROF__FN prof__segment *prof__page_kept(prof__state *t) {
    return !t->page || prof__page_free() ? prof__page_new() : NULL;
}

/* A new page, or the oldest that nobody writes to, whoever had it, or its own. The first is
   of the memory that is kept only if there is no other. */
PROF__FN prof__segment *prof__page_ring(prof__state *t) {
    prof__segment *g = prof__page_free() ? prof__page_new() : NULL;
    while (!g && !prof__trace.dumping) {
        prof__row *oldest = NULL;
        uint64_t base = UINT64_MAX;
        for (prof__row *row = prof__trace.rows; row; row = row->next) {
            const prof__segment *first = row->first;
            if (!first || !first->end || first->base >= base) continue;
            base = first->base;
            oldest = row;
        }
        if (oldest) g = prof__page_off(oldest);   /* NULL: an interrupt took it */
        else if ((g = t->page) == NULL) break;
        if (g) prof__ring_lost(g, oldest ? g->end : t->hot.cursor);
    }
    return g || t->page ? g : prof__page_new();
}

PROF__CALL const prof__parts *prof__parts_ring(void) {
    static const prof__parts parts = { PROF_MODE_RING, prof__page_ring, prof__late, NULL, NULL,
                                       NULL };
    return &parts;
}

PROF__CALL prof_result prof_flush(void) {
    struct prof_trace *s = &prof__trace;
    bool ok = true;
    if (prof__mode() != PROF_MODE_STREAM || !(s->open || s->stopped)) return PROF_ERROR_STATE;
    for (prof__row *row = s->rows; row; row = row->next) {
        for (bool whole = true; whole && ok && row->first;) {
            ok = (s->parts->write)(prof__row_state(row), row->first);
            whole = row->first->end == prof__row_state(row)->flushed;
            if (whole && ok) prof__page_give(prof__page_off(row));
        }
    }
    s->stream_failures += !ok;
    return ok ? PROF_OK : PROF_ERROR_SINK;
}

/* Is there less in a live row's pages than a block has room for, a page for what follows, and was
   the last block written just now? Then it waits: blocks are as long where flushes are many. */
PROF__FN bool prof__raw_waits(const prof__state *t, prof__segment *g) {
    const prof__record *at = t->flushed;
    size_t slots = 0;
    if (!prof__trace.open || t->row.context == PROF__OVER || !prof__page_free()) return false;
    for (; g->end && g->next; at = prof__page_begin(g)) {
        slots += (size_t)(g->end - at);
        g = g->next;
    }
    slots += (size_t)(t->hot.cursor - at);
    if (slots >= PROF__RAW_WAIT) return false;
    return prof__time_now(0) - t->row.first->base < prof__raw_rate(NULL) / 4;
}

PROF__FN bool prof__page_to_raw(prof__state *t, prof__segment *g) {
    prof__raw *w = &prof__raw_out;
    if (prof__raw_waits(t, g)) return true;
    w->failed = false;
    (void)prof__raw_pages(w, t, g);
    prof__trace.tallied = w->zones;
    return !w->failed;
}

PROF__FN void prof__raw_finish(void) {
    (void)prof_flush();
    prof__raw_rest(&prof__raw_out);
    prof__trace.tallied = prof__raw_out.zones;
}

PROF__CALL const prof__parts *prof__parts_raw(prof_sink sink) {
    static const prof__parts parts = { PROF_MODE_STREAM, prof__page_kept, prof__late,
                                       prof__page_to_raw, prof__raw_finish, NULL };
    memset(&prof__raw_out, 0, sizeof prof__raw_out);
    prof__raw_out.sink = sink;
    return &parts;
}

/* ---- The stream as a Chrome array ---- */

/* Head, thread's name and events go to the sink one at a time: what it refuses comes again. */
PROF__FN bool prof__page_to_chrome(prof__state *t, prof__segment *g) {
    struct prof__chrome_stream *c = &prof__chrome_out;
    const prof__record *end = g->end ? g->end : t->hot.cursor;
    uint32_t announced = t->row.announced;
    bool had_head = c->has_head;
    prof__out_open(&c->out, c->sink);
    if (t->flushed == end) return true;
    prof__chrome_begin(&prof__trace);
    if (prof__out_close(&c->out) != PROF_OK) {
        c->has_head = had_head;
        return false;
    }
    prof__context_name(&t->row);
    prof__chrome_tell(&t->row, false);
    if (prof__out_close(&c->out) != PROF_OK) {
        t->row.announced = announced;
        return false;
    }
    while (t->flushed < end) {
        prof__cursor k = { t->flushed, end, g->base, 0 };
        prof__item item;
        (void)prof__next(&k, &item);
        if (item.kind != PROF__CLOCK) prof__chrome_item(c, &item);
        if (prof__out_close(&c->out) != PROF_OK) return false;
        prof__trace.tallied += prof__item_is_zone(&item);
        t->flushed += item.slots;
        g->base = k.base;
    }
    return true;
}

PROF__FN void prof__chrome_finish(void) {
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

PROF__CALL const prof__parts *prof__parts_chrome(prof_sink sink) {
    static const prof__parts parts = { PROF_MODE_STREAM, prof__page_kept, prof__late,
                                       prof__page_to_chrome, prof__chrome_finish, NULL };
    prof__chrome_out.sink = sink;
    prof__chrome_out.has_head = false;
    return &parts;
}
#endif

/* ---- @AGGREGATE: the sums of all threads, a row per name ----

   This room merges the threads' rows that @SUMS keeps into one row per name.
   - A snapshot may come at any time; each row is as it was at one moment.
   - Zones without a row are in "(others)", so that the totals are those of all zones; a target
     leaves them out, and counts them (not_kept). */

PROF__FN void prof__tally_in_ns(prof_average *a, const prof__tally *r, const prof__scale *k) {
    bool cpu = prof__clock_kind(&prof__trace) == PROF_CLOCK_CPU;
    prof__tally_average(a, r, prof__tally_name(r), prof__tally_calls(r));
    for (int i = 0; i < PROF__TALLY_TIMES; i++) {
        int64_t *time = prof__tally_time(a, i);
        bool below = !PROF__BARE && *time < 0;
        uint64_t ticks = below ? 0u - (uint64_t)*time : (uint64_t)*time;
        *time = !PROF__BARE && cpu ? (int64_t)prof__scale_ns(k, ticks)
                                   : prof__rate_ns(ticks >> (cpu ? PROF__CLOCK_SHIFT : 0),
                                                   prof__clock_rate(&prof__trace));
        if (below) *time = -*time;
    }
    a->first = !PROF__BARE && !r->site ? PROF_NONE : prof__site_order(r->site >> 8);
}

#if PROF__BARE
/* The rows of sites, of all contexts. One sums its page up when it is full, as reports do. */
static prof__tally *prof__tally_rows[PROF_MAX_SITES];   /* written with interrupts masked, */
static volatile uint32_t prof__tally_changes;   /* as this; apart, as RV32 has shorter code so */

PROF__FN void prof__tally_clear(prof__tally *r) {
    memset(r, 0, sizeof *r);
    r->least = UINT64_MAX;
}

/* The row of a site; NULL: no room. */
PROF__FN prof__tally *prof__tally_of(uint32_t site) {
    prof__tally **slot = prof__tally_rows + ((site >> 8) - PROF__FIRST_SITE), *r;
    uintptr_t lock;
    if (*slot) return *slot;
    r = (prof__tally *)prof__take(sizeof **slot, 0);
    if (!r) return NULL;
    prof__tally_clear(r);
    r->site = site;
    lock = prof__lock();
    if (!*slot) *slot = r;
    prof__unlock(lock);
    return *slot;
}

/* Sums up the next record of a context; false: there is none. Interrupts may do so meanwhile. */
PROF__FN bool prof__tally_next(prof__state *t) {
    prof__record *c = t->page ? t->flushed : t->hot.cursor;
    uint32_t kind, site_depth, i = 0;
    uint64_t ticks;
    prof__tally *r = NULL;
    uintptr_t lock;
    bool zone;
    if (c >= t->hot.cursor) return false;
    kind = c->site_depth >> 8;           /* prof__next would cost 170 bytes here */
    site_depth = c[kind == PROF__ZONE64].site_depth;
    ticks = kind == PROF__ZONE64 ? prof__record_get(c) : c->duration;
    zone = kind < PROF__KIND || kind == PROF__ZONE64;
    if (zone) r = prof__tally_of(site_depth & ~(uint32_t)0xff);
    while (i < PROF__BUCKETS - 1 && ticks >> i * PROF__BUCKET_BITS) i++;
    lock = prof__lock();
    if (c == t->flushed && c[kind == PROF__ZONE64].site_depth == site_depth) {
        uint64_t *inner = prof__state_inner(t) + (site_depth & 0xff);
        t->flushed += kind <= PROF__CLOCK ? 1 : 2;
        if (r) {
            prof__tally_changes++;
            r->histogram[i]++;
            r->total += ticks;
            r->inner += inner[1];
            r->least = PROF__MIN(r->least, ticks);
            r->most = PROF__MAX(r->most, ticks);
        } else if (kind != PROF__CLOCK) {
            prof__trace.counts.not_kept++;
        }
        if (zone) {
            inner[1] = 0;
            inner[0] += ticks;
        }
    }
    prof__unlock(lock);
    return true;
}

PROF__FN void prof__tally_page(prof__state *t) {
    while (prof__tally_next(t)) {}
}

/* A context has one page. When it is full it is summed up and used again. */
PROF__FN prof__segment *prof__page_again(prof__state *t) {
    prof__tally_page(t);
    return t->page ? t->page : prof__page_new();
}

PROF__FN void prof__tally_close(void) {
    for (prof__row *row = prof__trace.rows; row; row = row->next) {
        prof__state *t = prof__row_state(row);
        for (; prof__open_zones(t); prof__trace.counts.unfinished++) prof__end_zone(t);
        prof__tally_page(t);
        if (prof__row_interrupts(row)) prof__trace.interrupts += *prof__state_inner(t);
    }
}

/* The first row from j on that has the name of row i, of another site perhaps. */
PROF__FN uint32_t prof__tally_named(prof__tally *const *rows, uint32_t i, uint32_t j) {
    while (j < PROF_MAX_SITES &&
           !(rows[j] && strcmp(prof__tally_name(rows[i]), prof__tally_name(rows[j])) == 0)) j++;
    return j;
}

/* Adds a row, as it was at one moment. */
PROF__FN void prof__tally_take(prof__tally *to, const prof__tally *from) {
    prof__tally r;
    uint32_t changes;
    do {
        changes = prof__tally_changes;
        PROF__BARRIER();
        r = *from;
        PROF__BARRIER();
    } while (changes != prof__tally_changes);
    if (!to->site) to->site = r.site;
    to->total += r.total;
    to->inner += r.inner;
    to->least = PROF__MIN(to->least, r.least);
    to->most = PROF__MAX(to->most, r.most);
    for (int i = 0; i < PROF__BUCKETS; i++) to->histogram[i] += r.histogram[i];
}

PROF__FN size_t prof__average_tallies(prof_average *rows, size_t max) {
    size_t n = 0;
    prof__scale k = { 0 };
    for (prof__row *row = prof__trace.rows; row; row = row->next)
        prof__tally_page(prof__row_state(row));
    prof__trace.tallied = 0;
    for (uint32_t at = 0; at < PROF_MAX_SITES; at++) {
        uint32_t marks = prof__sites.count, i = at;
        prof__tally r;
        if (i >= marks) i = PROF_MAX_SITES - 1 - (i - marks);   /* names: from the end on */
        if (!prof__tally_rows[i] || prof__tally_named(prof__tally_rows, i, 0) < i) continue;
        prof__tally_clear(&r);
        for (uint32_t j = i; j < PROF_MAX_SITES; j = prof__tally_named(prof__tally_rows, i, j + 1))
            prof__tally_take(&r, prof__tally_rows[j]);
        prof__trace.tallied += (prof__amount)prof__tally_count(&r);
        if (n < max) prof__tally_in_ns(rows + n, &r, &k);
        n++;
    }
    return n;
}

PROF__CALL const prof__parts *prof__parts_aggregate(void) {
    static const prof__parts parts = { PROF_MODE_AGGREGATE, prof__page_again, NULL, NULL,
                                       prof__tally_close, prof__average_tallies };
    memset(prof__tally_rows, 0, sizeof prof__tally_rows);
    return &parts;
}

PROF__CALL size_t prof_snapshot(prof_average *rows, size_t max) {
    const prof__parts *parts = prof__trace.parts;
    return parts && parts->average ? (parts->average)(rows, rows ? max : 0) : 0;
}
#else
PROF__FN const prof_site *prof__merged_site(const prof__merged *y, uint32_t site) {
    return y->by_site ? prof__site_placed(site >> 8) : NULL;
}

/* The merged row of a site's name, or of the site; it has the site of it that was seen first. That
   of all others where none is free. */
PROF__FN prof__tally *prof__merged_of(prof__merged *y, uint32_t site) {
    const char *name = site ? prof__site(site >> 8)->name : "";
    const prof_site *placed = prof__merged_site(y, site);
    size_t length;
    uint32_t i = prof__hash_site(prof__hash(name, &length), placed) & (y->slots - 1);
    if (prof__is_others(site)) return y->rows + y->slots;
    for (; y->rows[i].site; i = (i + 1) & (y->slots - 1)) {
        uint32_t other = y->rows[i].site;
        if (strcmp(prof__site(other >> 8)->name, name) != 0 ||
            !prof__same_site(prof__merged_site(y, other), placed)) continue;
        if (prof__site_order(site >> 8) < prof__site_order(other >> 8)) y->rows[i].site = site;
        return y->rows + i;
    }
    if (y->used + 1 == y->slots) return y->rows + y->slots;
    y->used++;
    y->rows[i].site = site;
    y->rows[i].least = UINT64_MAX;
    return y->rows + i;
}

/* Merges the rows and blocks of all states, whose own locks are taken. Under the lock. Of a thread
   that stands still in its slow path, what it was just adding may be missing. */
PROF__FN void prof__merge_all(struct prof_trace *s) {
    prof__merged *to = &s->sums.merged;
    uint64_t *inner = (uint64_t *)(void *)(to->rows + to->slots + 1), within;
    prof__record *block = (prof__record *)(void *)(inner + prof__align(s->max_depth + 2));
    memset(to->rows, 0, (to->slots + 1) * sizeof *to->rows);
    to->rows[to->slots].least = UINT64_MAX;
    to->used = 0;
    s->sums.not_merged = 0;
    for (prof__state *t = prof__used(NULL); t; t = prof__used(t)) {
        prof__cursor k = { block, block, 0, 0 };
        prof__item i;
        if (!t->sums.tallies.others) continue;
        for (const prof__tally *r = t->sums.tallies.others; r; r = PROF__ACQUIRE(r->next)) {
            prof__tally row, *sum;
            prof__copy_words(&row, r, sizeof row);
            sum = prof__merged_of(to, row.site);
            if (row.site && !sum->site) s->sums.not_merged += prof__tally_calls(&row);
            prof__tally_add(sum, &row);
        }
        k.end = prof__block_copy(t, block, SIZE_MAX, inner);   /* there is room for any block */
        while (prof__block_next(&k, &i, inner, &within))
            prof__tally_put(prof__merged_of(to, i.site_depth & ~(uint32_t)0xff), i.duration,
                            within);
    }
}

/* The scale from ticks to ns, at the session's rate, or what is known of it so far. */
PROF__FN prof__scale prof__sums_scale(const struct prof_trace *s) {
    prof__knot zero = { 0, 0 }, rate = { 1, 1 };
    if (s->clock == PROF_CLOCK_CPU) {
        bool ended = (s->stopped || !prof__measured(s)) && s->knots.count;
        prof__knot first = ended ? s->knots.list[0] : prof__recorder.first_knot;
        if (ended) rate = prof__knot_last(s);
        else do rate = prof__knot_now(); while (rate.ns - first.ns < 5000000u);
        rate.tick -= first.tick;
        rate.ns -= first.ns;
    }
    return prof__scale_between(zero, rate, 0);
}

/* The average of a name, from the rows that threads have for it. */
PROF__FN prof_average prof__sums_average(const struct prof_trace *s, const prof__tally *r) {
    prof__scale k = prof__sums_scale(s);
    prof_average a;
    prof__tally all;
    memset(&all, 0, sizeof all);
    all.least = UINT64_MAX;
    all.site = r->site;
    for (; r; r = r->same) prof__tally_add(&all, r);
    all.inner += prof__tally_around(&all);
    prof__tally_in_ns(&a, &all, &k);
    return a;
}

PROF__FN size_t prof__average_tallies(prof_average *rows, size_t max, bool by_site) {
    struct prof_trace *s = &prof__trace;
    const prof__state *own = prof__tls_state(prof__tls_get());
    prof__scale k;
    size_t n = 0;
    int cancel = prof__cancel_off();     /* it has locks of other threads */
    memset(&k, 0, sizeof k);
    prof__lock();
    if (s->sums.average) {
        prof__functions_name();
        prof__states_lock(s, own, 200000);
        s->sums.merged.by_site = by_site;
        if (s->sums.average) prof__merge_all(s);   /* else another session has begun meanwhile */
        prof__states_unlock(own);
        k = prof__sums_scale(s);
        s->tallied = 0;
    }
    for (uint32_t i = 0; s->sums.average && i <= s->sums.merged.slots; i++) {
        const prof__tally *r = s->sums.merged.rows + i;
        if (!prof__tally_calls(r)) continue;
        s->tallied += prof__tally_calls(r);
        if (n < max) {
            prof__tally_in_ns(rows + n, r, &k);
            rows[n].site = prof__merged_site(&s->sums.merged, r->site);
        }
        n++;
    }
    prof__unlock();
    prof__cancel_back(cancel);
    prof__rows_sort(rows, PROF__MIN(n, max), PROF_METRIC_FLOPS);   /* all have 0: by first */
    return n;
}

PROF__CALL size_t prof_snapshot(prof_average *rows, size_t max) {
    return prof__average_tallies(rows, rows ? max : 0, false);
}

/* Makes room for the merged rows, for the averages made of them, and for a copy of one block: a
   quarter of the arena, half of a small one, for at most 8,192 names. */
PROF__FN bool prof__merged_open(struct prof_trace *s, uint32_t threads) {
    size_t gap = (size_t)(prof__arena.high - prof__arena.low) - prof__arena.promised, rows;
    size_t block = PROF__MAX(PROF__SUMS_BLOCK, PROF__MIN(gap / 64, 16384u));
    size_t rest = prof__align(s->max_depth + 2) * sizeof(uint64_t) + block;
    uint32_t slots = 8192;
    for (;; slots /= 2) {
        rows = (slots + 1) * (sizeof(prof__tally) + PROF__SUMS_ROW);
        if (slots < 8) return false;
        if (rows + rest <= gap / (slots > 16 ? 4 : 2)) break;
    }
    prof__arena.high -= prof__align((slots + 1) * PROF__SUMS_ROW);
    s->sums.rows = (prof_average *)(void *)prof__arena.high;
    prof__arena.high -= prof__align((slots + 1) * sizeof(prof__tally) + rest);
    s->sums.merged.rows = (prof__tally *)(void *)prof__arena.high;
    s->sums.merged.slots = slots;
    s->sums.average = prof__average_tallies;
    s->sums.on = true;
    prof__seats_add((ptrdiff_t)PROF__MIN(threads * (s->sums.each + s->pool.state_size),
                                         prof__arena_room(PROF__FOR_THREADS) / 2));
    return true;
}

/* ---- @OBSERVE: observers, and one that hands zones on to ITT ----

   Observers see each zone begin and end, on its thread: begins in the order in which observers were
   added, ends in reverse.
   - Observers are added and removed only while no session is open.
   - While there are any, all zones take the slow path; their records are the same. */

#define PROF__IS_OPEN "a session is open already: call prof_stop first"

PROF__FN uint32_t prof__observer_find(const void *user) {
    uint32_t i = 0;
    while (i < prof__recorder.observer_count && prof__recorder.observers[i].user != user) i++;
    return i;
}

PROF__CALL prof_result prof_add_observer(const prof_observer *observer) {
    prof_result result = PROF_OK;
    if (!observer) return PROF_ERROR_INVALID;
    prof__lock();
    if (prof__session.open || prof__observer_find(observer->user) < prof__recorder.observer_count)
        result = prof__fail(PROF_ERROR_STATE, prof__session.open
                                ? PROF__IS_OPEN : "this observer is there already");
    else if (prof__recorder.observer_count == PROF__OBSERVERS) result = PROF_ERROR_MEMORY;
    else prof__recorder.observers[prof__recorder.observer_count++] = *observer;
    prof__unlock();
    return result;
}

PROF__CALL prof_result prof_remove_observer(const void *user) {
    prof_observer gone;
    prof_result result = PROF_OK;
    uint32_t i;
    memset(&gone, 0, sizeof gone);
    prof__lock();
    i = prof__observer_find(user);
    if (prof__session.open) result = prof__fail(PROF_ERROR_STATE, PROF__IS_OPEN);
    else if (i == prof__recorder.observer_count) result = PROF_ERROR_INVALID;
    else {
        gone = prof__recorder.observers[i];
        prof__recorder.observer_count--;
        memmove(prof__recorder.observers + i, prof__recorder.observers + i + 1,
                (prof__recorder.observer_count - i) * sizeof gone);
    }
    prof__unlock();
    if (gone.cleanup) (gone.cleanup)(gone.user);
    return result;
}

/* ---- ITT: as ITT's own static part does, this has the tool fill in a list of functions ---- */

#if UINTPTR_MAX > 0xffffffffu
#  define PROF__ITT_LIBRARY "INTEL_LIBITTNOTIFY64"
#else
#  define PROF__ITT_LIBRARY "INTEL_LIBITTNOTIFY32"
#endif
#define PROF__OTHER_RIGHTS "a program with other rights than its caller's reads no variables"
typedef void (*prof__function)(void);
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
    void *mutex[sizeof(void *) == 8 ? 5 : 6];
#elif PROF__POSIX
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
enum { PROF__ITT_APIS = 4 };

/* Written by the thread that loads the collector; others wait for it. */
static struct prof__itt {
    bool begun, ready;
    union {                              /* the tool fills in the list; who calls knows the types */
        prof__function list[PROF__ITT_APIS];
        struct {
            volatile int *(*create)(const char *name);
            void *(*string)(const char *text);
            void (*begin)(volatile int *domain, prof__itt_id, prof__itt_id, void *string);
            void (*end)(volatile int *domain);
        } of;
    } calls;
    prof__itt_api list[PROF__ITT_APIS + 1];
    prof__itt_global global;
    volatile int *domain;                /* its first field: 0 is off */
} prof__itt;

/* Opens the library that a tool names in the environment. NULL: prof_strerror then says why. */
PROF__FN void *prof__itt_open(void) {
    const char *path = prof_getenv(PROF__ITT_LIBRARY);
    const char *why = "ITT: the library that " PROF__ITT_LIBRARY " names cannot be loaded";
    void *library = NULL;
    if (!path || !*path) {
        why = prof__trusts_none() ? "ITT: " PROF__OTHER_RIGHTS
                                  : "ITT: no tool listens, " PROF__ITT_LIBRARY " is not set";
    } else {
#if defined(_WIN32)
        PROF__WIDE(wide, path);
        library = wide ? (void *)LoadLibraryW(wide) : NULL;
#elif PROF__POSIX && defined(__ELF__)
        void *(*open)(const char *, int) = NULL;   /* by name a static link would warn of it */
        void *found = dlsym ? dlsym(NULL, "dlopen") : NULL;
        memcpy(&open, &found, sizeof found);
        if (!open) why = "ITT: link with -ldl, and not -static";
        else library = (*open)(path, RTLD_NOW | RTLD_LOCAL);
#elif PROF__POSIX
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
    }
    if (!library) (void)prof__fail(PROF_ERROR_UNSUPPORTED, why);
    return library;
}

/* The library's function of this name; NULL: it has none. */
PROF__FN prof__function prof__itt_find(void *library, const char *name) {
    prof__function f = NULL;
#if defined(_WIN32)
    prof__far p = GetProcAddress((prof__dll *)library, name);
#elif PROF__POSIX
    void *p = dlsym(library, name);
#else
    void *p = NULL;
    (void)library;
    (void)name;
#endif
    memcpy(&f, &p, sizeof f);
    return f;
}

PROF__FN bool prof__itt_load(void) {
    static const unsigned char magic[] = { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 };
    static const char names[][32] = { PROF__ITT_TEXT("__itt_domain_create"),
        PROF__ITT_TEXT("__itt_string_handle_create"), "__itt_task_begin", "__itt_task_end" };
    struct prof__itt *t = &prof__itt;
    prof__itt_global *g = &t->global;
    void *library = prof__itt_open();
    void (*begin)(prof__itt_global *, int) = NULL;
    prof__function f;
    if (!library) return false;
    for (int i = 0; i < PROF__ITT_APIS; i++) {
        t->list[i].name = names[i];
        t->list[i].function = t->calls.list + i;
        t->calls.list[i] = prof__itt_find(library, names[i]);
    }
    memcpy(g->magic, magic, sizeof magic);
    g->version_major = 3;
    g->version_minor = 26;
    g->version_build = 20250807;
    g->initialized = 1;
    g->mutex_initialized = 1;
#if defined(_WIN32)
    InitializeCriticalSection((struct _RTL_CRITICAL_SECTION *)(void *)g->mutex);
#elif PROF__POSIX
    (void)pthread_mutex_init(&g->mutex, NULL);
#endif
    g->library = library;
    g->list = t->list;
    f = prof__itt_find(library, "__itt_api_init");
    memcpy(&begin, &f, sizeof begin);
    if (begin) (begin)(g, -1);           /* all groups */
    t->domain = t->calls.of.create ? (t->calls.of.create)("prof") : NULL;
    if (t->domain && t->calls.of.string && t->calls.of.begin && t->calls.of.end) return true;
    (void)prof__fail(PROF_ERROR_UNSUPPORTED,
                     "ITT: the library that " PROF__ITT_LIBRARY " names is no tool that works");
    return false;
}

PROF__CALL bool prof_itt_is_available(void) {
    struct prof__itt *t = &prof__itt;
    bool mine;
    if (PROF__ACQUIRE(t->ready)) return true;
    prof__lock();
    mine = !t->begun;
    t->begun = true;
    prof__unlock();
    if (mine) {
        t->begun = prof__itt_load();     /* a failure may be tried again */
        PROF__RELEASE(t->ready, t->begun);
    }
    for (int i = 0; i < 10000 && !mine && !PROF__ACQUIRE(t->ready); i++) prof__yield();
    return PROF__ACQUIRE(t->ready);
}

PROF__FN void prof__itt_begin(void *user, const char *text, const prof_extra *with) {
    struct prof__itt *t = &prof__itt;
    prof__itt_id none = { 0, 0, 0 };
    (void)user;
    (void)with;
    if (*t->domain) (t->calls.of.begin)(t->domain, none, none, (t->calls.of.string)(text));
}

PROF__FN void prof__itt_end(void *user, const char *text) {
    (void)user;
    (void)text;
    if (*prof__itt.domain) (prof__itt.calls.of.end)(prof__itt.domain);
}

PROF__FN void prof__itt_instant(void *user, const char *text) {
    prof__itt_begin(user, text, NULL);
    prof__itt_end(user, text);
}

PROF__CALL prof_result prof_emit_itt(bool on) {
    prof_observer o;
    memset(&o, 0, sizeof o);
    o.begin = prof__itt_begin;
    o.end = prof__itt_end;
    o.instant = prof__itt_instant;
    o.user = &prof__itt;
    if (!on) return prof_remove_observer(o.user);
    return prof_itt_is_available() ? prof_add_observer(&o) : PROF_ERROR_UNSUPPORTED;
}

PROF__CALL void prof_itt_mark(const char *text) {
    if (prof_itt_is_available()) prof__itt_instant(NULL, prof__text(text));
}

PROF__CALL int prof_itt_range_push(const char *text) {
    if (!prof_itt_is_available()) return -1;
    prof__itt_begin(NULL, prof__text(text), NULL);
    return (int)prof__tls_get()->itt_ranges++;
}

PROF__CALL int prof_itt_range_pop(void) {
    prof__tls_data *tls = prof__tls_get();
    if (!tls->itt_ranges || !prof_itt_is_available()) return -1;
    prof__itt_end(NULL, NULL);
    return (int)--tls->itt_ranges;
}
#endif

/* ---- @SCHEDULE: which steps are recorded ----

   This room computes the action of a step from its number, and what must happen between two steps.
   It has no state of its own: that is in @SESSION. */

PROF__CALL prof_action prof_schedule_action(const prof_schedule *s, uint64_t step) {
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

/* What a change of action does: p prepares a window, s starts it, x stops it, r calls
   on_trace_ready; `!` counts a window that is lost. A row is the action before, a column the one
   after; the last column is prof_stop. */
#define PROF__EXIT 4
static const char prof__transitions[4][5][5] = {
    { "", "p", "ps", "ps", "" },         /* from PROF_ACTION_NONE */
    { "!sx", "", "s", "s", "sx" },       /* WARMUP */
    { "!x", "!xp", "", "", "xr" },       /* RECORD */
    { "xr", "xrp", "xrps", "xrps", "xr" }   /* RECORD_AND_SAVE */
};

/* ---- @SESSION: start, stop, statistics ----

   This room opens and closes sessions and their windows: it lays out the arena, starts the clock
   and the devices, waits for threads, and adds up their counts.
   - A session is open from prof_start to prof_stop, a window while prof__on is its generation; each
     window has a generation of its own.
   - The thread that ends a window sets prof__on to 0, then hot.last of all states to 0, then waits
     for threads that look at the session. After that a thread publishes at most the end of the zone
     that it is just ending, which is not read.
   - Calls that open and close windows come one at a time: a busy session refuses the others. */

PROF__CALL uint32_t prof_set_categories(uint32_t on) {
    uint32_t before = ~PROF__LOAD(prof__categories_off);
    PROF__STORE(prof__categories_off, ~on);
    return before;
}

PROF__CALL bool prof_category_on(uint32_t categories) {
    return (categories & ~PROF__LOAD(prof__categories_off)) != 0;
}

PROF__CALL const char *prof_strerror(prof_result result) {
    static const char texts[] =
        "no error\0"
        "an argument is NULL or out of range, or the trace is gone\0"
        "the arena is too small: prof_arena_size(desc) says how much it takes\0"
        "not now: no session is open, or one is open already\0"
        "the sink's write() returned false\0"
        "the file could not be written (errno says why)\0"
        "left out of this build, or the device asked for cannot record\0"
        "the session did not record that: set profile_memory in prof_desc\0"
        "this is not JSON\0"
        "unknown error";
    const char *said = prof__said(result);
    if (result == PROF_ERROR_INVALID || result == PROF_ERROR_FILE)
        (void)prof__fail(result, PROF__NULL);            /* it is told once */
    return said ? said : prof__text_of(texts, PROF__MIN((unsigned)result, PROF_ERROR_JSON + 1u));
}

#if PROF__BARE
/* Plans the bytes of a state, and of a page of 8 slots, 6 for several contexts, and one more for
   each 2 KiB of room; an even number, so that pages are aligned. Returns their sum. */
PROF__INLINE size_t prof__plan_make(prof__plan *p, uint32_t shape, size_t room) {
    size_t depth = shape & 0xff, slots = shape >> 17 ? 6 : 8;   /* >> 17: max_threads > 1 */
    slots = (slots + PROF__MIN(room >> 11, 248)) & ~(size_t)1;
    p->page = sizeof(prof__segment) + slots * sizeof(prof__record);
    p->state = sizeof(prof__state) + depth * sizeof(prof__frame);
    if (shape & PROF__SHAPE_SUMS) p->state += (depth + 3) * sizeof(uint64_t);
    return p->state + p->page;
}

PROF__CALL size_t prof_arena_size(const prof_desc *desc) {
    prof__plan p;
    uint32_t shape = desc ? prof__shape_of(desc) : 16, threads = shape >> 16;
    size_t size = (threads ? threads : 1) * prof__plan_make(&p, shape, 0);
    if (shape & PROF__SHAPE_EVENTS) size = size * 64 / 7 + 64;
    if (!(shape & PROF__SHAPE_RECORDS_ONLY)) size += (prof__sites.count + 1) * prof__site_cost();
    return 15 + size;
}

/* Opens a session in the arena from base to end. */
PROF__FN prof_result prof__open_session(uint32_t shape, const prof__parts *parts, uint32_t rate) {
    struct prof_trace *s = &prof__trace;
    prof__arena.room = (size_t)(prof__arena.end - prof__arena.base) & ~(size_t)(PROF__ALIGN - 1);
    memset(s, 0, sizeof *s);
    s->rows_end = &s->rows;
    s->parts = parts;
    s->rate = rate;
    if (!prof__chip_open()) return PROF_ERROR_UNSUPPORTED;
    s->start_tick = s->time;
    s->max_depth = shape & 0xff;
    s->max_threads = shape >> 16;
    s->records_only = (shape & PROF__SHAPE_RECORDS_ONLY) != 0;
    prof__sites.names.count = 0;
    prof__sites.cost = s->records_only ? 0 : prof__site_cost();
    prof__arena.low = prof__arena.base;
    prof__arena.high = prof__arena.base + prof__arena.room;
    if (!prof__promise((prof__sites.count + 1) * prof__sites.cost)) return PROF_ERROR_MEMORY;
    if (shape & PROF__SHAPE_EVENTS) prof__arena.room = prof__arena.room / 64 * 7;
    if (PROF__MAX(s->max_threads, 1) * prof__plan_make(&s->plan, shape, prof__arena.room) >
        prof__arena.room) return PROF_ERROR_MEMORY;
    prof__disarm();
    s->open = true;
    PROF__BARRIER();
    prof__on = 1;
    return PROF_OK;
}

PROF__CALL prof_result prof__refuse(const char *why) {
    prof__trace.refused = why;
    return PROF_ERROR_INVALID;
}

PROF__CALL prof_result prof__start(uint32_t shape, const prof__parts *parts, uint32_t rate) {
    prof__arena.base = prof__builtin_arena.bytes;
    prof__arena.end = prof__builtin_arena.bytes + sizeof prof__builtin_arena.bytes;
    return prof__open_session(shape, parts, rate);
}

PROF__CALL prof_result prof__start_in(uint32_t shape, const prof__parts *parts, uint32_t rate,
                                      void *memory, size_t size) {
    size_t skip = (0 - (uintptr_t)memory) & 15u;
    prof__arena.base = (char *)memory + PROF__MIN(skip, size);
    prof__arena.end = (char *)memory + size;
    return prof__open_session(shape, parts, rate);
}

/* The macro of this name as a function, for pointers to it and for other languages. */
PROF__CALL prof_result(prof_start)(const prof_desc *desc) {
    return prof__start_inline(desc);
}

PROF__CALL prof_trace *prof_stop(void) {
    struct prof_trace *s = &prof__trace;
    uintptr_t lock = prof__lock();
    bool open = s->open;
    s->open = false;                     /* from now on only this call has the session */
    prof__unlock(lock);
    if (!open) return NULL;
    prof__on = 0;
    s->stopped = true;
    prof__disarm();
    for (prof__row *row = s->rows; row; row = row->next) prof__time_in(prof__row_state(row));
    if (s->parts && s->parts->close) (s->parts->close)();
    prof__arena.room = 0;                /* nothing more is taken */
    return s;
}

PROF__CALL int64_t prof_now(void) {
    uint64_t now = prof__trace.open ? prof__time_now(0) : 0;
    return now ? prof__ticks_ns(now) : 0;
}

PROF__CALL prof_stats prof_get_stats(const prof_trace *trace) {
    struct prof_trace *s = &prof__trace;
    prof_stats out;
    bool only = s->records_only && prof__mode() < PROF_MODE_STREAM;
    (void)trace;                         /* there is one */
    if (only) s->records_only = false;   /* so that its zones are counted, too */
    if (only || s->read != PROF__READ_EVENTS) prof__count_rows(s, NULL);
    out = prof__counts_now(s);
    out.recorded = s->zone_count;
    if (only) {
        s->records_only = true;
        prof__count_rows(s, NULL);       /* the analysis must find none */
    }
    if (s->parts && s->parts->average) (void)(s->parts->average)(NULL, 0);
    if (prof__mode() >= PROF_MODE_STREAM) out.recorded = s->tallied;   /* streamed, or in sums */
    return out;
}

#else
PROF__FN bool prof__has_schedule(const prof_desc *d) {
    const prof_schedule *c = &d->schedule;
    return d->schedule_fn || (c->skip_first | c->wait | c->warmup | c->active | c->repeat |
                              c->skip_first_wait) != 0;
}

/* What a description comes to. Sizes are bytes. */
typedef struct prof__needs {
    uint32_t depth, wants;               /* wants: PROF__WANTS_... */
    bool ring;                           /* chunks are used again */
    bool records_only;                   /* events are never made */
    bool lean;                           /* zones take only their records: events then need other
                                            memory */
    size_t beside;                       /* kept by the analysis beside each zone */
    size_t event, record;                /* a zone with its event; what a zone takes */
    size_t chunk;                        /* the smallest: the slots kept for open zones and claims,
                                            and 24 others */
    size_t begin, thread;                /* a thread without chunks; with the smallest ones. In a
                                            ring or a stream they are up to three: the current one,
                                            the ones before and behind it */
} prof__needs;

PROF__FN prof__needs prof__needs_of(const prof_desc *d) {
    prof__needs n;
    const uint32_t depth = d->max_depth ? d->max_depth : 64;
    bool wide = d->record_shapes || d->with_flops || d->with_modules || d->with_stack ||
                d->hw_counters || d->numbers || d->profile_memory;
    n.depth = depth;
    n.ring = d->mode == PROF_MODE_RING || d->mode == PROF_MODE_STREAM;
    n.records_only = d->keep == PROF_KEEP_RECORDS || d->mode >= PROF_MODE_STREAM;
    n.wants = 0;
    if (d->record_shapes || d->with_flops) n.wants |= PROF__WANTS_SHAPES;
    if (d->with_flops) n.wants |= PROF__WANTS_FLOPS;
    if (d->with_modules) n.wants |= PROF__WANTS_MODULES;
    if (d->profile_memory) n.wants |= PROF__WANTS_MEMORY;
    if (!n.records_only ||
        (d->mode == PROF_MODE_STREAM && d->stream_format == PROF_STREAM_RAW))
        n.wants |= PROF__WANTS_DETAILS;  /* attributes, memory, ranges and arrows */
    n.beside = wide ? PROF__WIDE_COST : prof__has_schedule(d) ? PROF__FORK_COST : 0;
    n.lean = d->keep == PROF_KEEP_ROWS && d->mode <= PROF_MODE_RING && !n.beside &&
             !prof__devices.count && !prof__execution.registered;
    n.event = sizeof(prof__record) + (n.records_only ? 0 : PROF__SLOT_COST + n.beside);
    n.record = n.lean ? sizeof(prof__record) : n.event;
    n.chunk = PROF__RESERVE((size_t)depth) + PROF__CLAIMS + 24;
    n.chunk = prof__align(n.chunk * sizeof(prof__record));
    n.begin = prof__state_size(depth) + prof__align(sizeof(prof__row)) + sizeof(prof_thread_info) +
              PROF__LANE_COST + depth * sizeof(prof__open);
    if (d->mode == PROF_MODE_AGGREGATE) {
        n.thread = n.begin += prof__sums_cost(depth);
        return n;
    }
    n.begin += (n.ring ? 4 : 2) * prof__align(sizeof(prof__segment)) + depth * n.record;
    n.thread = n.begin + (n.ring ? 3 : 1) * (n.chunk / sizeof(prof__record)) * n.record;
    return n;
}

/* What the description asks for that a stream cannot carry; NULL: nothing. A stack is known only
   when the zones around have ended, names of call stacks at prof_stop. */
PROF__FN const char *prof__unstreamable(const prof_desc *d) {
    return d->with_stack ? "stacks"
         : d->with_modules ? "modules"
         : prof__execution.registered ? "an execution trace"
         : d->stream_format != PROF_STREAM_CHROME ? NULL
         : prof__devices.count ? "device work"
         : prof__needs_of(d).beside == PROF__WIDE_COST ? "what zones carry" : NULL;
}

/* For alignment, and for the rows of zones without a site and of the library's own sites. */
#define PROF__FIXED_COST (64 + (1 + PROF__OWN_SITES) * prof__site_cost())

/* The least arena. With a schedule threads may hold the last window's memory; there are steps. */
PROF__FN size_t prof__need(const prof_desc *d, uint32_t threads) {
    prof__needs n = prof__needs_of(d);
    size_t need;
    if (prof__has_schedule(d)) n.thread += n.begin + n.chunk + PROF__STEP_COST;
    if (d->mode == PROF_MODE_AGGREGATE) threads++;   /* for the merged sums */
    need = PROF__FIXED_COST + prof__sites_marked() * prof__site_cost() + threads * n.thread;
    return prof__has_schedule(d) && d->profile_memory ? need + need / 63 + 48 : need;
}

PROF__CALL size_t prof_arena_size(const prof_desc *desc) {
    prof_desc none;
    memset(&none, 0, sizeof none);
    if (!desc) desc = &none;
    return prof__need(desc, desc->max_threads ? desc->max_threads : 1);
}

/* The size of a chunk: a power of two, so that each thread could have four chunks in the records'
   share of the arena, and 16 in AGGREGATE. A ring or a stream has 256, and eight for each thread;
   no more than 4,096. The share of events is not counted, also where a trace gets it only later. */
PROF__FN size_t prof__chunk_bytes(size_t size, uint32_t threads, const prof__needs *n, bool sums) {
    size_t share = (n->ring ? n->record : n->event) / sizeof(prof__record);
    size_t most = n->ring ? PROF__MAX(16u << 10, size >> 12) : 64u << 10, bytes = 1024;
    size_t parts = n->ring ? PROF__MAX(threads * 8u, 256u) : threads * (sums ? 16u : 4u);
    size_t want = size / share / parts;
    while (bytes * 2 <= want && bytes < most) bytes *= 2;
    return PROF__MAX(bytes <= want ? bytes : 0, n->chunk);
}

/* The gap is the widest range between stale blocks. Chunks begin above it: they go past those. */
PROF__FN void prof__arena_avoid_stale(void) {
    struct prof__arena *a = &prof__arena;
    char *p = a->low, *stale[2];
    for (a->bound = p; p < a->end; p = stale[1]) {
        prof__stale_next(p, a->end, stale);
        if (stale[0] - p <= a->bound - a->low) continue;
        a->low = p;
        a->bound = stale[0];
    }
}

/* Lists the states that no thread owns as free. */
PROF__FN void prof__states_free(struct prof_trace *s) {
    s->pool.free_states = NULL;
    for (prof__state *t = prof__used(NULL); t; t = prof__used(t)) {
        if (!prof__not_stale((char *)t, s->pool.state_size)) continue;
        if (t->segment && !t->sums.on) prof__chunk_give(t);
        if (t->promised) {
            prof__arena.promised -= prof__state_cost(t->slots);
            s->slot_count -= t->slots;
        }
        t->promised = 0;
        t->next = s->pool.free_states;
        s->pool.free_states = t;
    }
}

/* Touches the pages of the first records, an eighth of the gap, at most 8 MiB: the first touch of a
   page costs more than a zone. */
PROF__FN void prof__prefault(void) {
    size_t share = (size_t)(prof__arena.high - prof__arena.low) / 8;
    char *p = prof__arena.high, *end = p - PROF__MIN(share, 8u << 20);
    for (; p - 4096 >= end; p -= 4096)
        if (prof__not_stale(p - 4096, 4096)) *(volatile char *)(p - 4096) = 0;
}

/* Sets what is kept when records have filled the arena: a sixteenth of it, up to an eighth for many
   threads, up to a quarter for what they must have, but no more than `left`, which the threads'
   least chunks leave. In a ring or a stream a 32nd. What threads need to begin comes on top.
   Threads that max_threads told of have seats of all that, up to three quarters of what is kept;
   without it threads and names have it as they come. */
PROF__FN void prof__sums_keep(struct prof_trace *s, const prof__needs *n, uint32_t threads,
                              size_t size, size_t left) {
    size_t begin = threads * s->pool.state_size, sums = threads * s->sums.each, kept = size / 32;
    const bool sure = prof__session.desc.max_threads != 0;
    s->sums.on = !n->ring && prof__session.desc.when_full == PROF_FULL_CONTINUE;
    if (n->ring) {
        begin += sums;
        sums = 0;
    } else {
        kept = PROF__MAX(size / 16, PROF__MIN(threads * prof__sums_cost(s->max_depth), size / 8));
        kept = s->sums.on ? PROF__MAX(kept, PROF__MIN(sums, size / 4)) : 0;
    }
    if (!sure) left -= begin = PROF__MIN(begin, left);
    kept = PROF__MIN(kept, left);
    prof__arena.seats = sure ? begin + PROF__MIN(sums, kept - kept / 4) : 0;
    prof__arena.kept = begin + kept - prof__arena.seats;
}

/* For how many threads room is kept where max_threads does not say it: as many as fit a quarter of
   the arena with records; in a ring or a stream a 32nd without, or up to 16 a quarter. one: bytes
   to begin. */
PROF__FN uint32_t prof__threads_kept(const prof__needs *n, size_t size, size_t one) {
    size_t most = PROF__MAX(size / 32, PROF__MIN(size / 4, 16 * one)) / one;
    most = n->ring ? PROF__MIN(most, size / n->thread) : size / 4 / n->thread;
    return (uint32_t)PROF__MAX(PROF__MIN(most, 256u), 1u);
}

PROF__FN char *prof__memory_of(const prof_desc *d, size_t *size) {
    *size = d->memory ? d->memory_size : sizeof prof__builtin_arena.bytes;
    return d->memory ? (char *)d->memory : prof__builtin_arena.bytes;
}

/* Lays the arena out; false: it is too small. Threads take their states as they come. */
PROF__FN bool prof__arena_open(struct prof_trace *s, const prof_desc *d, const prof__needs *n) {
    size_t size, skip, need;
    char *memory = prof__memory_of(d, &size);
    uint32_t threads = d->max_threads;
    s->max_depth = n->depth;
    s->max_threads = threads ? threads : 256;
    need = prof__need(d, threads ? threads : 1);
    (void)PROF__FAIL(PROF_ERROR_MEMORY,
                     "the arena is too small: %u bytes, and this description needs %u",
                     (uint64_t)size, (uint64_t)need);
    if (size < need) return false;
    if (prof__holding.slots) size = (size_t)((char *)prof__holding.list - memory);
    skip = (16u - ((uintptr_t)memory & 15u)) & 15u;
    prof__arena.low = memory + skip;
    prof__arena.high = memory + skip + ((size - skip) & ~(size_t)15u);
    PROF__STORE(prof__arena.base, prof__arena.low);
    PROF__STORE(prof__arena.end, prof__arena.high);
    s->pool.state_size = prof__state_size(s->max_depth);
    s->sums.each = n->ring ? n->begin - s->pool.state_size : prof__sums_first(s->max_depth);
    if (!threads) threads = prof__threads_kept(n, size, s->sums.each + s->pool.state_size);
    s->pool.chunk_size = prof__chunk_bytes(size, threads, n, d->mode == PROF_MODE_AGGREGATE);
    prof__arena.promised = 0;
    prof__arena_avoid_stale();
    for (char *p = prof__arena.base; s->pool.states < s->max_threads; p += s->pool.state_size) {
        if ((size_t)(prof__arena.low - p) < s->pool.state_size) break;
        if (prof__not_stale(p, s->pool.state_size)) prof__state_make(p);
    }
    prof__arena.promised = PROF__FIXED_COST - 64 + prof__sites_marked() * prof__site_cost();
    prof__arena.seats = prof__arena.kept = 0;
    prof__arena.closed = false;
    if (!prof__arena_room(PROF__FOR_THREADS)) return false;
    if (d->mode == PROF_MODE_AGGREGATE) {
        prof__arena.high = PROF__MIN(prof__arena.high, prof__arena.bound);
        return prof__merged_open(s, threads);
    }
    need = d->max_threads ? threads : 1;
    need = need * n->thread - PROF__MIN(need, s->pool.states) * s->pool.state_size;
    if (prof__arena_room(PROF__FOR_THREADS) < need) return false;
    prof__sums_keep(s, n, threads, size, prof__arena_room(PROF__FOR_THREADS) - need);
    return true;
}

/* A session shorter than 100 ms takes the clock's rate from the whole process: two pairs of
   readings 5 ms apart are exact to 1 in 100,000. */
PROF__FN void prof__clock_stop(struct prof_trace *s) {
    prof__knot k, first = prof__recorder.first_knot, *start = s->knots.list;
    if (!prof__measured(s)) return;
    do k = prof__knot_now(); while (k.ns - first.ns < 5000000u);
    if (s->knots.count == 1 && k.ns - start->ns < 100000000u)
        k.ns = start->ns + (uint64_t)((double)(k.tick - start->tick) *
                                      ((double)(k.ns - first.ns) / (double)(k.tick - first.tick)));
    prof__knot_add(k);
}

#if PROF__POSIX
PROF__FN void prof__child_after_fork(void) {
    prof__tls_data *tls = prof__tls_get();
    prof__release(&prof__port.lock);
    PROF__STORE(prof__on, 0u);
    prof__trace.open = prof__trace.stopped = false;
    prof__session.open = prof__session.busy = false;
    PROF__STORE(prof__port.owner, 0u);
    prof__release(&prof__recorder.stream.owner);
    prof__release(&prof__recorder.reading.owner);
    prof__release(&prof__recorder.dumping);
    prof__recorder.owned = NULL;
    prof__recorder.holding = prof__holding.on = false;
    tls->hot = &prof__nowhere;           /* the next session may use its state */
    tls->generation = 1;
    prof__counting.serial++;             /* open counters count the parent */
    prof__arena.closed = true;
    prof__execution.registered = prof__execution.running = false;
}
#endif

PROF__FN void prof__generation_next(struct prof_trace *s) {
    s->generation = s->generation < 2 || s->generation == UINT32_MAX ? 2 : s->generation + 1;
}

/* Lays the arena out for a window; its contents are lost. Under the lock. */
PROF__FN bool prof__window_lay(struct prof_trace *s) {
    const prof_desc *desc = &prof__session.desc;
    const prof__needs n = prof__needs_of(desc);
    const uint32_t generation = s->generation;
    size_t names;
    memset(s, 0, sizeof *s);
    s->generation = generation;
    prof__generation_next(s);
    s->first_generation = s->generation;
    s->beside = n.beside;
    s->lean = n.lean;
    PROF__STORE(prof__sites.names.index, NULL);
    PROF__STORE(prof__sites.names.count, 0u);
    memset(&prof__trails, 0, sizeof prof__trails);
    for (uint32_t i = 0; i < prof__devices.queue_count; i++) prof__devices.queues[i].rows = NULL;
    prof__devices.clock_count = 0;
    prof__sites.cut = 0;
    prof__sites.list[0].name = "(lost)";
    for (size_t i = 0; i < sizeof prof__loose / sizeof(size_t); i++)
        PROF__STORE(((size_t *)(void *)&prof__loose)[i], (size_t)0);
    s->mode = desc->mode;
    s->records_only = n.records_only;
    s->counters = prof__counting.count;
    s->stream.asked = (desc->profile_memory ? (uint32_t)PROF__RAW_HAS_MEMORY : 0u) |
               (desc->with_flops ? (uint32_t)PROF__RAW_HAS_FLOPS : 0u) |
               (desc->record_shapes ? (uint32_t)PROF__RAW_HAS_SHAPES : 0u) |
               (prof__session.has_steps ? (uint32_t)PROF__RAW_HAS_STEPS : 0u);
    s->view.profile_memory = desc->profile_memory;
    s->view.with_flops = desc->with_flops;
    if (!prof__arena_open(s, desc, &n)) {
        prof__arena.low = prof__arena.high;   /* bytes_used tells that there is no room */
        prof__arena.promised = 0;
        prof__arena.closed = true;
        s->counts.full++;
        return false;
    }
    names = (size_t)(prof__arena.end - prof__arena.base);   /* a KiB each, from 4,096 on 16 */
    names = PROF__MAX(PROF__MIN(names >> 10, 4096u), names >> 14);
    names = PROF__MIN(names, (size_t)(PROF__KIND - PROF__PUSHED));
    PROF__STORE(prof__sites.names.capacity, (uint32_t)names);
    s->platform = desc->platform;
    s->clock = desc->platform.now ? PROF_CLOCK_PLATFORM
             : prof__cpu_clock_usable() ? PROF_CLOCK_CPU : PROF_CLOCK_OS;
    s->bias = desc->platform.now ? 0 - (desc->platform.now)(desc->platform.user) : 0;
    s->laid = true;
    return true;
}

/* Threads record from now on; again: they have recorded in this arena before. Then rows of a
   stream's and of sums' windows have no records any more: those of threads that are over are for
   threads that come. Under the lock. */
PROF__FN void prof__recording_open(struct prof_trace *s, bool again) {
    if (again) {
        prof__generation_next(s);
        prof__states_free(s);
        for (prof__row *row = s->mode == PROF_MODE_TRACE ? NULL : s->rows, *next; row; row = next) {
            next = row->next;
            if (row->over && prof__row_empty(row)) prof__row_free(row);
        }
    }
    PROF__RELEASE(prof__on, s->generation);
}

/* Reads a thread's cursor and its open zones. As it may be running they are read until two readings
   in a row are equal. In doubt is only the begin or end under way when hot.last became 0: a zone
   whose slot is claimed and not written is still open. */
PROF__FN void prof__snapshot(prof__state *t, prof__row *row) {
    const prof__frame *top = NULL, *bottom = NULL;
    const bool again = row->open != NULL;   /* it has room for them of an older window */
    uint32_t slots, room;
    PROF__ASSERT(t->promised == t->generation &&
                 prof__arena.promised >= prof__state_cost(t->slots));
    prof__arena.promised -= prof__state_cost(t->slots);   /* it is taken now */
    prof__trace.slot_count -= t->slots;
    t->promised = 0;
    if (!again) row->open = (prof__open *)(void *)prof__arena.low;
    row->cursor = NULL;
    for (int i = 0; i < 1000; i++) {
        const prof__frame *now_top = PROF__ACQUIRE(t->hot.top),
                          *now_bottom = PROF__ACQUIRE(t->hot.bottom);
        prof__record *now_cursor = prof__cursor_of(t);
        while (now_cursor > t->begin && !PROF__ACQUIRE(now_cursor[-1].site_depth)) now_cursor--;
        if (now_top == top && now_bottom == bottom && now_cursor == row->cursor) break;
        top = now_top;
        bottom = now_bottom;
        row->cursor = now_cursor;
        row->open_count = top > bottom ? (uint32_t)(top - bottom) : 0;
        for (uint32_t k = 0; k < row->open_count; k++) {
            uint32_t start = PROF__ACQUIRE(bottom[k].start);
            row->open[k].start = (uint64_t)PROF__ACQUIRE(bottom[k].epoch) << 32 | start;
            row->open[k].site = PROF__LOAD(bottom[k].site);
            row->open[k].depth = k;
        }
        PROF__FENCE();
    }
    slots = t->sums.on ? 0 : row->open_count;
    room = prof__trace.mode == PROF_MODE_TRACE ? row->open_count : prof__trace.max_depth;
    if (again || !row->open_count) room = 0;
    if (!again && !room) row->open = NULL;
    /* It was promised. */
    (void)prof__take_for(PROF__FOR_THREADS, room * sizeof *row->open, slots * prof__slot_cost());
    prof__trace.slot_count += slots;
}

/* Was o the last zone recorded in [begin, c)? 1, 0; -1: no zone there. Another zone of o's depth
   passes for o if both began in one tick. */
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

/* Removes the innermost open zone if it was just beginning, so that the frame still has the last
   zone of its depth, or has just ended: then it is the last zone recorded. */
PROF__FN void prof__snapshot_check(const prof__state *t, prof__row *row) {
    const prof__open *o;
    int ended = 0;
    if (!row->open_count || PROF__LOAD(t->deep.open)) return;
    o = row->open + row->open_count - 1;
    if (t->sums.on) ended = prof__ended_last(o, t->begin, row->cursor);
    for (const prof__segment *g = t->sums.on ? NULL : row->first; g; g = g->next) {
        const prof__record *end = g->end ? g->end : row->cursor;
        int last = end > g->begin && end <= g->limit ? prof__ended_last(o, g->begin, end) : -1;
        if (last >= 0) ended = last;
    }
    if (!o->site || ended > 0 || (row->open_count > 1 && o->start < o[-1].start)) row->open_count--;
}

/* Adds to a thread's rows: zones in its block, its open deep zones, and in sums all open ones. */
PROF__FN void prof__sums_close(prof__state *t, prof__row *row) {
    uint64_t stop = row->stop_tick;
    t->sums.held = true;
    if (t->sums.on) prof__block_add(t, row->cursor);
    while (PROF__LOAD(t->deep.open)) prof__deep_put(t, stop, true);
    while (t->sums.on && row->open_count) {
        const prof__open *o = row->open + --row->open_count;
        prof__sums_end(t, o->site + o->depth, stop > o->start ? stop - o->start : 0, true);
    }
    t->sums.held = false;
}

/* A thread stands still in its slow path: what only it could add to its rows counts as dropped. */
PROF__FN void prof__stalled_count(const prof__state *t, prof__row *row) {
    uint32_t n = PROF__LOAD(t->deep.open);
    if (t->sums.on) {
        for (const prof__record *c = t->begin; c < row->cursor; c++)
            n += PROF__LOAD(c->site_depth) != 0;
        n += row->open_count;
        row->open_count = 0;
    }
    while (n--) PROF__COUNT(prof__loose.dropped_busy);
}

PROF__FN void prof__state_close(struct prof_trace *s, prof__state *t, const prof__state *own) {
    prof__row *row = t->row;
    bool stalled = t != own && !prof__mine(&t->lock);
    prof__snapshot(t, row);
    row->stop_tick = s->stop_tick;
    if (t != own) prof__snapshot_check(t, row);
    PROF__ASSERT(t->begin <= row->cursor && row->cursor <= t->limit + PROF__CLAIMS);
    PROF__ASSERT(row->open_count <= s->max_depth);
    if (stalled) prof__stalled_count(t, row);
    s->counts.unfinished += row->open_count;
    if (!stalled) prof__sums_close(t, row);
    if (!t->sums.on) s->counts.slots += (size_t)(row->cursor - t->begin) + row->open_count;
    prof__counts_add(&s->counts, &t->counts);
    if (s->mode == PROF_MODE_RING || s->mode == PROF_MODE_STREAM) t->segment->end = row->cursor;
    row->left = true;
    PROF__RELEASE(t->recording, 0u);
}

/* prof__on = 0 stops begins; hot.last = 0 sends ends to prof__end, ignored. Under the lock. */
PROF__FN void prof__recording_close(struct prof_trace *s) {
    const prof__state *own = prof__tls_state(prof__tls_get());   /* or it is no state */
    if (!PROF__LOAD(prof__on)) return;
    PROF__STORE(prof__on, 0u);
    for (prof__state *t = prof__recorder.owned; t; t = t->next)
        if (t->generation == s->generation) PROF__STORE(t->hot.last, 0u);
    PROF__FENCE();
    s->stop_tick = prof__session_now(s);
    prof__states_lock(s, own, 1000000);
    for (prof__state *t = prof__recorder.owned; t; t = t->next)
        if (t->generation == s->generation) prof__state_close(s, t, own);
    prof__states_unlock(own);
    for (prof__state *t = prof__recorder.owned, *next; t; t = next) {
        prof__tls_data nobody;           /* no thread is in a parked state */
        next = t->next;
        if (t->parked) prof__state_give(&nobody, t);
    }
}

/* ---- Devices ---- */

PROF__FN uint32_t prof__supported(void) {
    uint32_t all = PROF_ACTIVITY_CPU;
    for (uint32_t i = 0; i < prof__devices.count; i++) all |= prof__devices.list[i].desc.activity;
    return all;
}

/* The same without devices that failed, or that say why they cannot record before they are asked.
   Under the lock. */
PROF__FN uint32_t prof__working(void) {
    uint32_t all = PROF_ACTIVITY_CPU;
    for (uint32_t i = 0; i < prof__devices.count; i++) {
        const struct prof__device *d = prof__devices.list + i;
        bool says = !d->tried && d->desc.status && (d->desc.status)(d->desc.user);
        if (d->result == PROF_OK && !says) all |= d->desc.activity;
    }
    return all;
}

/* Calls a device's function, if it has one, and keeps the result for prof_get_stats. */
PROF__FN bool prof__device_call(struct prof__device *d, prof_result (*call)(void *user)) {
    prof_result result = call ? call(d->desc.user) : PROF_OK;
    prof__lock();
    d->result = result;
    d->tried = true;
    prof__unlock();
    return result == PROF_OK;
}

/* Calls the devices of these activities. One that fails to prepare or start takes no further part
   in the window; the others go on. */
PROF__FN void prof__devices_each(uint32_t activities, int what) {
    for (uint32_t i = 0; i < prof__devices.count; i++) {
        struct prof__device *d = prof__devices.list + i;
        if (!(d->desc.activity & activities)) continue;
        if (what == PROF__DEVICE_PREPARE) {
            PROF__STORE(d->refused, !prof__keeps_work(&prof__trace) &&
                                    !(prof__session.desc.mode == PROF_MODE_STREAM &&
                                      prof__session.desc.stream_format == PROF_STREAM_RAW));
            d->prepared = !d->refused && prof__device_call(d, d->desc.prepare);
        } else if (what == PROF__DEVICE_START && d->prepared && !d->started) {
            d->started = prof__device_call(d, d->desc.start);
        } else if (what == PROF__DEVICE_STOP && d->started) {
            d->started = false;
            if (d->desc.stop) (void)prof__device_call(d, d->desc.stop);
        } else if (what == PROF__DEVICE_FLUSH && d->started && d->desc.flush) {
            (d->desc.flush)(d->desc.user);
        }
    }
}

/* Were only devices asked for, and do all of them fail? */
PROF__FN bool prof__devices_fail(uint32_t activities) {
    bool tried = false;
    if (activities & PROF_ACTIVITY_CPU) return false;
    for (uint32_t i = 0; i < prof__devices.count; i++) {
        const struct prof__device *d = prof__devices.list + i;
        if (!(d->desc.activity & activities)) continue;
        tried = true;
        if (d->refused) (void)prof__fail(PROF_ERROR_UNSUPPORTED, PROF__KEEPS_NONE);
        if (d->refused || d->result != PROF_OK) continue;
        if (!d->desc.status || !(d->desc.status)(d->desc.user)) return false;
    }
    return tried;
}

PROF__CALL prof_result prof_add_device(const prof_device_desc *device) {
    prof_result result = PROF_OK;
    uint32_t bit = device ? device->activity : 0, i = 0;
    if (!device || !device->name || bit <= PROF_ACTIVITY_CPU || (bit & (bit - 1)))
        return PROF_ERROR_INVALID;
    prof__lock();
    while (i < prof__devices.count && prof__devices.list[i].desc.user != device->user) i++;
    if (prof__session.open || i < prof__devices.count) {
        result = prof__fail(PROF_ERROR_STATE, prof__session.open ? PROF__IS_OPEN
                                                                 : "this device is there already");
    } else if (i == PROF__DEVICES) {
        result = PROF_ERROR_MEMORY;
    } else {
        memset(prof__devices.list + i, 0, sizeof *prof__devices.list);
        prof__devices.list[prof__devices.count++].desc = *device;
    }
    prof__unlock();
    return result;
}

/* ---- Windows ---- */

PROF__FN void prof__window_prepare(struct prof_trace *s) {
    bool ready = true;
    prof__windows_unsettle();
    prof__lock();
    if (s->stopped && !prof__session.desc.acc_events) ready = prof__window_lay(s);
    s->stopped = false;
    s->threads = NULL;
    s->read = PROF__READ_NOTHING;
    if (ready && !s->began) prof__prefault();
    prof__unlock();
    PROF__STORE(prof__session.enabled, prof__session.activities);
    PROF__STORE(prof__session.off, 0u);
    prof__devices_each(prof__session.enabled, PROF__DEVICE_PREPARE);
}

PROF__FN void prof__window_start(struct prof_trace *s) {
    prof__windows_unsettle();
    for (uint32_t i = 0; i < prof__recorder.observer_count; i++) {
        const prof_observer *o = prof__recorder.observers + i;
        if (o->start) (o->start)(o->user);
    }
    prof__lock();
    if (s->laid) {
        bool cpu = s->clock == PROF_CLOCK_CPU;
        if (!s->began) s->start_wall_ns = s->clock == PROF_CLOCK_PLATFORM ? 0 : prof__wall_now();
        if (!s->began) s->knots.gap_ns = 1000000000u;
        if (cpu) prof__knots_start(s);
        if (!s->began) s->start_tick = cpu ? s->knots.list[0].tick : prof__session_now(s);
        if (!s->began && s->mode == PROF_MODE_STREAM) prof__stream_open(s, &prof__session.desc);
        prof__arena.closed = false;
        s->stream.over = false;
        s->open = true;
        prof__execution.spans[0].from = 0;
        prof__execution.spans[0].to = UINT64_MAX;
        prof__execution.span_count = prof__execution.running;
        if (prof__session.enabled & PROF_ACTIVITY_CPU) prof__recording_open(s, s->began);
        s->began = true;
    }
    prof__unlock();
    prof__devices_each(prof__session.enabled, PROF__DEVICE_START);
}

/* Counts the zones of a window's records in which the clock went back. */
PROF__FN void prof__steps_count(struct prof_trace *s) {
    for (const prof__row *row = s->rows; row; row = row->next)
        for (const prof__segment *g = row->first; g; g = g->next) {
            const prof__record *end = g->end ? g->end : row->cursor, *c = g->begin;
            prof__cursor k = { c, end, 0, 0 };
            prof__item i;
            while (c < end && !prof__went_back(c)) c++;   /* no zone may be told from this alone */
            while (c < end && prof__next(&k, &i))
                if (!i.kind && prof__went_back(i.at)) PROF__BUMP(s->counts.steps, 1);
        }
}

PROF__FN void prof__window_close(struct prof_trace *s) {
    prof__tls_data *tls = prof__tls_get();
    bool stream;
    (void)prof__stream_lock(false);
    prof__windows_unsettle();
    prof__lock();
    stream = s->open && s->mode == PROF_MODE_STREAM;
    if (s->open) {
        prof__recording_close(s);
        if (!stream) prof__steps_count(s);
        if (tls->hot != &prof__nowhere && !prof__session.desc.acc_events)
            prof__state_give(tls, prof__tls_state(tls));   /* the next window has its memory */
        prof__clock_stop(s);
        prof__functions_name();
        prof__arena.high = PROF__MIN(prof__arena.high, prof__arena.bound);   /* for analysis */
        prof__arena_check();
        s->open = false;
        s->stopped = true;
    }
    prof__arena.closed = true;
    prof__unlock();
    PROF__RELEASE(prof__outgoing.settled, 1u);
    if (stream) prof__stream_close(s);
    prof__stream_unlock();
}

/* Devices stop first: they submit the rest of their events. */
PROF__FN void prof__window_stop(struct prof_trace *s) {
    struct prof__execution *x = &prof__execution;
    prof_result result = PROF_OK;
    prof__devices_each(UINT32_MAX, PROF__DEVICE_STOP);
    prof__window_close(s);
    if (x->span_count && s->stopped) result = prof__execution_append(s);
    if (x->result == PROF_OK) x->result = result;
    x->span_count = 0;
    for (uint32_t i = prof__recorder.observer_count; i--;) {
        const prof_observer *o = prof__recorder.observers + i;
        if (o->stop) (o->stop)(o->user);
    }
}

/* Does the letters of a transition: see prof__transitions. */
PROF__FN void prof__calls(struct prof_trace *s, const char *calls) {
    const prof_desc *d = &prof__session.desc;
    for (; *calls; calls++) {
        if (*calls == 'p') prof__window_prepare(s);
        else if (*calls == 's') prof__window_start(s);
        else if (*calls == 'x') prof__window_stop(s);
        else if (*calls == '!') PROF__COUNT(prof__session.errors);
        else if (s->stopped && d->on_trace_ready) (d->on_trace_ready)(d->user, s);
    }
}

/* ---- The session ---- */

PROF__FN prof_action prof__action_at(struct prof__session *v, uint64_t step) {
    const prof_desc *d = &v->desc;
    prof_action action;
    if (!v->has_steps) return PROF_ACTION_RECORD;
    if (!d->schedule_fn) return prof_schedule_action(&d->schedule, step);
    action = (d->schedule_fn)(d->user, step);
    if ((unsigned)action <= PROF_ACTION_RECORD_AND_SAVE) return action;
    PROF__COUNT(prof__session.errors);
    return PROF_ACTION_NONE;
}

PROF__FN prof_result prof__desc_wrong(const char *field, uint64_t value, const char *takes) {
    return PROF__FAIL(PROF_ERROR_INVALID, "prof_desc.%s is %u: %s", field, value, takes);
}

/* The bits that are no activity. */
PROF__FN uint32_t prof__activity_none(uint32_t activities) {
    return activities & ~(PROF_ACTIVITY_PRIVATEUSE1 * 2u - 1);
}

PROF__FN prof_result prof__desc_check(const prof_desc *d) {
    const prof_schedule *c = &d->schedule;
    const uint32_t enums[] = { (uint32_t)d->mode, (uint32_t)d->when_full,
                               (uint32_t)d->with_stack, (uint32_t)d->stream_format,
                               (uint32_t)d->keep };
    static const char names[][16] = { "mode", "when_full", "with_stack", "stream_format", "keep" };
    static const uint8_t most[] = { PROF_MODE_AGGREGATE, PROF_FULL_DROP, PROF_STACK_UNWIND,
                                    PROF_STREAM_CHROME, PROF_KEEP_RECORDS };
    for (int i = 0; i < 5; i++)
        if (enums[i] > most[i]) return prof__desc_wrong(names[i], enums[i], "there is no such one");
    if (d->max_depth > 255) return prof__desc_wrong("max_depth", d->max_depth, "255 at most");
    if (!d->memory && d->memory_size)
        return prof__desc_wrong("memory_size", d->memory_size, "it is 0 where memory is NULL");
    if (d->mode == PROF_MODE_STREAM && !d->stream.write)
        return prof__desc_wrong("stream.write", 0, "PROF_MODE_STREAM needs it");
    if (prof__activity_none(d->activities))
        return PROF__FAIL(PROF_ERROR_INVALID,
                          "prof_desc.activities is %u: %u is no PROF_ACTIVITY_...",
                          (uint64_t)d->activities, (uint64_t)prof__activity_none(d->activities));
    if (d->activities && !(d->activities & prof__supported()))
        return prof__desc_wrong("activities", d->activities, "no such device was added");
    if (d->schedule_fn || !prof__has_schedule(d)) return PROF_OK;
    if (!c->active) return prof__desc_wrong("schedule.active", 0, "1 or more");
    if ((c->skip_first | c->wait | c->warmup | c->active | c->repeat) <= INT32_MAX) return PROF_OK;
    return prof__fail(PROF_ERROR_INVALID, "prof_desc.schedule has a count over 2147483647");
}

PROF__FN prof_result prof__session_open(struct prof_trace *s, const prof_desc *desc) {
    struct prof__session *v = &prof__session;
    prof_result result = prof__desc_check(desc);
    const char *why = desc->mode == PROF_MODE_STREAM ? prof__unstreamable(desc) : NULL;
    const uint32_t wants = prof__needs_of(desc).wants;
    size_t size;
    char *memory = prof__memory_of(desc, &size);
    if (v->open) return prof__fail(PROF_ERROR_STATE, PROF__IS_OPEN);
    if (result != PROF_OK) return result;
    if (why)
        return PROF__FAIL(PROF_ERROR_UNSUPPORTED,
                          "this stream cannot carry %s: use PROF_MODE_TRACE", why);
    prof__windows_unsettle();            /* a dump tells the names of counters */
    why = !prof__functions_exclude(desc->exclude)
        ? "prof_desc.exclude is for PROF_INSTRUMENT_FUNCTIONS on Linux"
        : prof__hooks_start(desc, (wants & PROF__WANTS_DETAILS) != 0);
    if (!why && !desc->platform.now && !prof__os_now()) why = "the system's clock cannot be read";
    if (why) {
        PROF__RELEASE(prof__outgoing.settled, 1u);
        return prof__fail(PROF_ERROR_UNSUPPORTED, why);
    }
    prof__exit_key_make();
    memset(v, 0, sizeof *v);
    v->desc = *desc;
    PROF__STORE(prof__recorder.wants, wants);
    v->desc.record_shapes = desc->record_shapes || desc->with_flops;
    prof__metadata[1].used = 0;
    v->has_steps = prof__has_schedule(desc);
    prof__holding_open(v->has_steps && desc->profile_memory, memory, size);
    v->activities = prof__supported();
    if (desc->activities) v->activities &= desc->activities;
    if (!prof__window_lay(s)) {
        PROF__STORE(prof__holding.on, false);
        return PROF_ERROR_MEMORY;
    }
    v->open = v->busy = true;
    PROF__STORE(prof__port.owner, prof__process_id());
    return PROF_OK;
}

/* A step's zone is one record, written when the step ends: zones may be open across its bounds. */
PROF__FN void prof__step_begin(struct prof_trace *s) {
    struct prof__session *v = &prof__session;
    v->step_open = v->has_steps && s->open &&
                   (v->desc.schedule_fn || v->desc.schedule.active < INT32_MAX);
    v->step_seen = PROF__LOAD(prof__on) != 0;
    if (v->step_open) v->step_tick = prof__session_now(s);
}

/* A step ends while prof_toggle has zones off: this thread alone records, and nothing else. */
PROF__FN void prof__step_put_off(struct prof_trace *s) {
    prof__tls_data *tls = prof__tls_get();
    uint32_t refused = 0;
    prof__windows_unsettle();
    prof__lock();
    prof__recording_open(s, true);
    if (prof__attach_locked(tls, &refused))
        prof__put_step(prof__session.step_tick, prof__session.step);
    prof__recording_close(s);
    prof__unlock();
}

/* Steps that had zones off from begin to end are left out. */
PROF__FN void prof__step_end(struct prof_trace *s) {
    struct prof__session *v = &prof__session;
    if (v->step_open && PROF__LOAD(prof__on)) prof__put_step(v->step_tick, v->step);
    else if (v->step_open && v->step_seen) prof__step_put_off(s);
    v->step_open = false;
}

/* Claims the session; false: there is none, or this is one of its callbacks, or its sink. */
PROF__FN bool prof__session_claim(void) {
    bool mine;
    int cancel;
    if (prof__is_copy()) return false;
    cancel = prof__cancel_off();
    prof__lock();
    mine = prof__session.open && !prof__session.busy &&
           !prof__mine(&prof__recorder.stream.owner);
    if (mine) prof__session.busy = true;
    if (mine) prof__recorder.cancel = cancel;
    prof__unlock();
    if (!mine) prof__cancel_back(cancel);
    return mine;
}

PROF__FN void prof__session_release(bool open) {
    int cancel = prof__recorder.cancel;
    prof__lock();
    prof__session.busy = false;
    prof__session.open = open;
    if (!open) PROF__STORE(prof__port.owner, 0u);
    if (!open) PROF__STORE(prof__holding.on, false);
    PROF__RELEASE(prof__outgoing.settled, 1u);   /* before the next caller can lay the arena */
    prof__unlock();
    prof__cancel_back(cancel);
}

PROF__FN void prof__step_set(uint64_t step, prof_action action) {
    prof__lock();
    prof__session.step = step;
    prof__session.action = action;
    prof__unlock();
}

PROF__FN prof_result prof__session_begin(const prof_desc *desc) {
    struct prof_trace *s = &prof__trace;
    prof_desc none;
    prof_result result;
    int cancel = prof__cancel_off();
    memset(&none, 0, sizeof none);
    prof__lock();
    result = prof__session_open(s, desc ? desc : &none);
    if (result == PROF_OK) prof__recorder.cancel = cancel;
    prof__unlock();
    if (result != PROF_OK) prof__cancel_back(cancel);
    if (result != PROF_OK) return result;
    prof__step_set(0, prof__action_at(&prof__session, 0));
    prof__calls(s, prof__transitions[PROF_ACTION_NONE][prof__session.action]);
    if (prof__devices_fail(prof__session.activities)) {
        prof__window_stop(s);
        prof__session_release(false);
        return PROF_ERROR_UNSUPPORTED;
    }
    prof__step_begin(s);
    prof__session_release(true);
    return PROF_OK;
}

PROF__FN void prof__env_own(void);

PROF__CALL prof_result prof_start(const prof_desc *desc) {
    (void)prof__fail(PROF_ERROR_INVALID, NULL);
    (void)prof__fail(PROF_ERROR_UNSUPPORTED, NULL);
    prof__env_own();
    return prof__session_begin(desc);
}

PROF__CALL prof_action prof_step(void) {
    struct prof_trace *s = &prof__trace;
    struct prof__session *v = &prof__session;
    prof_action from, to;
    bool mine = prof__session_claim();
    prof__lock();
    from = v->open ? v->action : PROF_ACTION_NONE;
    prof__unlock();
    if (!mine) return from;
    prof__step_end(s);
    prof__devices_each(v->enabled, PROF__DEVICE_FLUSH);
    prof__step_set(v->step + 1, from);
    to = prof__action_at(v, v->step);
    prof__step_set(v->step, to);
    prof__calls(s, prof__transitions[from][to]);
    prof__step_begin(s);
    prof__session_release(true);
    return to;
}

PROF__CALL prof_trace *prof_stop(void) {
    struct prof_trace *s = &prof__trace;
    prof__tls_data *tls = prof__tls_get();
    if (!prof__session_claim()) return NULL;
    prof__step_end(s);
    prof__calls(s, prof__transitions[prof__session.action][PROF__EXIT]);
    prof__windows_unsettle();
    prof__lock();
    if (tls->hot != &prof__nowhere)      /* a program with one thread may free the arena */
        prof__state_give(tls, prof__tls_state(tls));
    s->stopped = s->laid;                /* also if no window was opened */
    prof__unlock();
    prof__session_release(false);
    return s;
}

PROF__CALL prof_result prof_toggle(uint32_t activities, bool enable) {
    struct prof_trace *s = &prof__trace;
    uint32_t changed, other = prof__activity_none(activities);
    bool open;
    if (!prof__session_claim())
        return prof__fail(PROF_ERROR_STATE, "no session is open, or this is its callback");
    if (prof__session.desc.activities) other |= activities & ~prof__session.desc.activities;
    open = s->open && !other;
    if (open) {
        changed = activities & prof__session.activities &
                  (enable ? ~prof__session.enabled : prof__session.enabled);
        PROF__STORE(prof__session.enabled, prof__session.enabled ^ changed);
        PROF__STORE(prof__session.off, enable ? prof__session.off & ~activities
                                              : prof__session.off | activities);
        if (!enable) prof__devices_each(changed, PROF__DEVICE_STOP);
        prof__windows_unsettle();
        prof__lock();
        if (changed & PROF_ACTIVITY_CPU && enable) prof__recording_open(s, true);
        else if (changed & PROF_ACTIVITY_CPU) prof__recording_close(s);
        if (PROF__LOAD(prof__on)) prof__session.step_seen = true;
        prof__unlock();
        if (enable) prof__devices_each(changed, PROF__DEVICE_START);
    }
    prof__session_release(true);
    if (other)
        return PROF__FAIL(PROF_ERROR_INVALID,
                          "prof_toggle: activity %u is not recorded by this session",
                          (uint64_t)other);
    return open ? PROF_OK : prof__fail(PROF_ERROR_STATE, "no window is open");
}

PROF__CALL int64_t prof_now(void) {
    const struct prof_trace *s = &prof__trace;
    prof__scale scale = { 0, 0, 0, 0, 0 };
    prof_clock clock;
    int64_t ns = 0;
    if (!prof__lock_briefly()) return 0;
    clock = s->open ? s->clock : PROF_CLOCK_NONE;
    if (clock == PROF_CLOCK_CPU && (s->mode == PROF_MODE_STREAM || !prof__measured(s)) &&
        s->knots.count > 1)              /* foretold */
        ns = prof__knots_ns(&scale, s->knots.list, s->knots.count, prof__cpu_now());
    else if (clock == PROF_CLOCK_CPU)
        ns = PROF__MAX((int64_t)(prof__os_now() - s->knots.list[0].ns), 0);
    else if (clock != PROF_CLOCK_NONE) ns = prof__ticks_ns(prof__session_now(s));
    prof__unlock();
    return ns;
}

PROF__CALL int64_t prof_os_now(void) { return (int64_t)prof__os_now(); }

PROF__CALL void prof_session_info(prof_session *session) {
    const struct prof_trace *s = &prof__trace;
    prof__tls_data *tls = prof__tls_get();
    uint32_t on = PROF__LOAD(prof__on);
    const prof__hot *hot = on && tls->generation == on ? &prof__tls_state(tls)->hot : NULL;
    prof__lock();
    session->zone = hot && hot->top != hot->bottom && hot->top[-1].site
                        ? prof__site(hot->top[-1].site >> 8) : NULL;
    session->desc = prof__session.desc;
    session->open = prof__session.open;
    session->supported = prof__working();
    session->step = prof__session.step;
    session->enabled = session->open ? PROF__LOAD(prof__session.enabled) : 0;
    session->start_ns = !s->open || s->clock == PROF_CLOCK_PLATFORM ? 0
                      : (int64_t)(s->clock == PROF_CLOCK_CPU ? s->knots.list[0].ns : s->start_tick);
    prof__unlock();
}

PROF__FN uint32_t prof__warnings(const struct prof_trace *s) {
    const prof_desc *d = &prof__session.desc;
    uint32_t warnings = PROF__LOAD(prof__session.errors) ? PROF_WARN_SCHEDULE : 0;
    if (prof__has_schedule(d) && !d->schedule_fn && !d->schedule.warmup)
        warnings |= PROF_WARN_NO_WARMUP;
    if (d->activities & ~prof__supported()) warnings |= PROF_WARN_DEVICE;
    for (uint32_t i = 0; i < prof__devices.count; i++)
        if ((prof__devices.list[i].desc.activity & prof__session.activities) &&
            (prof__devices.list[i].result != PROF_OK || prof__device_status(s, i)))
            warnings |= PROF_WARN_DEVICE;
    return warnings;
}

/* The counts of the session; trace: NULL, or its trace, whose events are made if it needs them. */
PROF__FN prof_stats prof__stats_now(const prof_trace *trace) {
    struct prof_trace *s = &prof__trace;
    prof_stats out;
    prof__counts c;
    prof__scale scale;
    bool taken = prof__reading_open();
    if (trace && !trace->read) (void)prof__from_records(trace);
    (void)prof__average_tallies(NULL, 0, false);   /* counts in AGGREGATE */
    prof__lock();
    prof__counts_now(s, &c);
    if (s->stopped && !s->read) prof__count_rows(s, NULL);
    prof__stats_add(&out, &c);
    out.unbalanced += s->ranges_twice;
    if (s->sums.average) out.recorded = s->tallied;
    if (s->stopped && (!s->records_only || s->mode == PROF_MODE_RING)) {
        uint64_t zones = s->records_only ? prof__stream_recorded(s) : s->zone_count;
        uint64_t written = out.recorded + s->lost;
        if (s->overwritten) out.overwritten = written - PROF__MIN(zones, written);
        out.recorded = zones - s->partials;
        if (!s->records_only) out.unfinished += s->unfinished + c.summed_open - c.unfinished;
    }
    memset(&scale, 0, sizeof scale);
    if (s->stopped && s->sums.full_tick)
        out.timeline_ns = (uint64_t)prof__to_ns(&scale, s->sums.full_tick);
    if (s->stream.over) out.recorded = prof__stream_recorded(s);
    out.warnings = prof__warnings(s);
    out.clock = s->clock;
    if (s->clock != PROF_CLOCK_NONE)
        out.ticks_per_second = prof__rate_until(s->stopped && s->knots.count ? prof__knot_last(s)
                                                                             : prof__knot_now());
    out.bytes_total = (size_t)(prof__arena.end - prof__arena.base);
    out.bytes_used = out.bytes_total - (size_t)(prof__arena.high - prof__arena.low) +
                     prof__arena.promised;
    prof__unlock();
    prof__reading_close(taken);
    return out;
}

PROF__CALL prof_stats prof_get_stats(const prof_trace *trace) {
    prof_stats out;
    if (!trace || (prof__valid(trace) && !trace->built)) return prof__stats_now(trace);
    memset(&out, 0, sizeof out);
    if (!prof__valid(trace)) return out;
    out.recorded = trace->event_count;
    out.threads = trace->thread_count;
    out.rejected = trace->outside.rejected;
    out.misplaced = trace->outside.misplaced;
    return out;
}

/* ---- @ENV: the session that the environment asks for, its file, and windows from outside ----

   prof_start_env starts a session as variables say, and writes its file. With PROF_MODE=wait a
   thread opens a window when prof window asks for one.
   - Another process's file is never written: ours is locked until the process ends.
   - The program goes on as without it: errno stays, and a write that fails ends the stream alone.
   - A child of fork gets a file of its own once it has recorded something. */

/* Threads write the stream themselves, so often that a sudden end costs its last moments alone: see
   prof__due. */
static struct prof__env {
    prof_desc desc;                      /* for a child of fork, which records again */
    bool started, streams, child;
    bool arranged;                       /* handlers of exit and fork are installed */
    int waits;                           /* the file of prof__shared, or 0 */
    uint32_t open, mute;                 /* open: the file; mute: write nothing */
    char path[1024], ending[32];         /* ending: of the path, whose size without it is stem */
    size_t stem;
    bool own, made;                      /* the name has this process's number; no file was there */
    prof_file file;
    uint64_t end;                        /* the end of the whole blocks in the file */
    bool failed, counting;               /* a write has: no more is written but counts */
    bool torn;                           /* a write began, and has not returned */
    int error;                           /* errno of that write */
    void *memory;                        /* `taken` bytes from the system, for all sessions */
    uint64_t taken;
#if PROF__POSIX
    uint64_t device, inode;              /* of the file: the program may close it by mistake */
    prof_file notes;                     /* PROF_STATUS, or 0 */
    uint64_t notes_device, notes_inode;
#endif
} prof__env;

#if PROF__POSIX
/* Moves an open file out of the low numbers, which are the program's; those that it executes do not
   have it. */
PROF__FN bool prof__env_move(prof_file *f, int file) {
    int high;
    f->handle = file;
    if (file < 0) return false;
    high = fcntl(file, F_DUPFD, 100);
    if (high >= 0) (void)prof__file_shut(f);
    if (high >= 0) f->handle = high;
    return fcntl((int)f->handle, F_SETFD, FD_CLOEXEC) == 0;
}

/* Opens PROF_STATUS for the lines to prof record, unless it is open: a process that becomes another
   user, and its children, could not. A daemon outlives record: then that name may lead to
   another's file. */
PROF__FN bool prof__env_notes(void) {
    struct prof__env *e = &prof__env;
    const char *path = prof_getenv("PROF_STATUS");
    char head[12];
    struct stat st;
    if (e->notes.handle && fstat((int)e->notes.handle, &st) == 0 &&
        (uint64_t)st.st_dev == e->notes_device && (uint64_t)st.st_ino == e->notes_inode)
        return true;
    e->notes.handle = 0;                 /* or the program has closed it */
    if (!path || !*path || !prof__env_move(&e->notes, open(path, O_RDWR | O_APPEND))) return false;
    if (fstat((int)e->notes.handle, &st) == 0 && S_ISREG(st.st_mode) &&
        read((int)e->notes.handle, head, 12) == 12 && memcmp(head, "prof record\n", 12) == 0) {
        e->notes_device = (uint64_t)st.st_dev;
        e->notes_inode = (uint64_t)st.st_ino;
        return true;
    }
    (void)prof__file_shut(&e->notes);
    e->notes.handle = 0;
    return false;
}

/* Writes a line for prof record, or for prof window. */
PROF__FN void prof__env_tell(const char *what, const char *text) {
    const int kept = errno, own = prof__env.waits;   /* or closed by now */
    const int cancel = prof__cancel_off();
    char line[1280];
    prof_file f;
    memset(&f, 0, sizeof f);
    if (own ? fcntl(own, 1034 /* F_GET_SEALS */, 0) == 2 : prof__env_notes()) {
        f.handle = own ? own : prof__env.notes.handle;
        (void)prof__text_f(line, sizeof line, "%s %u %s\n", what, (uint64_t)prof__process_id(),
                           text);
        (void)prof__file_put(&f, line, strlen(line));
    }
    prof__cancel_back(cancel);
    errno = kept;
}
#else
#  define prof__env_tell(what, text) ((void)(text))
#endif

PROF__FN void prof__env_own(void) {
    if (!prof__env.waits) prof__env_tell("own", "");
}

/* The file's name, without its folder, which is record's. */
PROF__FN void prof__env_tell_start(void) {
    const char *slash = strrchr(prof__env.path, '/');
    prof__env_tell("start", slash ? slash + 1 : prof__env.path);
}

/* ---- Its variables ---- */

/* A number such as "0x1f" or "64M"; false: it is none from least to most. */
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

/* A variable, the values that it takes, and what they are: words, text, numbers from least to most.
   at: the offset of the description's field. */
enum { PROF__ENV_MODE, PROF__ENV_FLAG, PROF__ENV_STACK, PROF__ENV_TEXT, PROF__ENV_COUNT,
       PROF__ENV_CATEGORIES, PROF__ENV_MEMORY };
typedef struct prof__variable {
    char name[20], takes[40];
    uint8_t kind;
    size_t at;
    uint64_t least, most;
} prof__variable;

/* Memory beyond the built-in arena is taken from the system, once for all sessions. */
PROF__FN bool prof__env_memory(prof_desc *d, size_t n) {
    struct prof__env *e = &prof__env;
    d->memory = prof__builtin_arena.bytes;
    d->memory_size = n;
    if (n <= sizeof prof__builtin_arena.bytes) return true;
#if defined(__linux__)
    if (e->taken < n) e->memory = mmap(NULL, n, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | 0x20 /* MAP_ANONYMOUS */, -1, 0);
    e->taken = e->memory == MAP_FAILED ? 0 : PROF__MAX(e->taken, n);
#endif
    d->memory = e->memory;
    return e->taken != 0;
}

/* Puts a variable's value into *d; false: it takes others. */
PROF__FN bool prof__env_put(const prof__variable *v, prof_desc *d, const char *text) {
    void *at = (char *)(void *)d + v->at;
    uint64_t n = 0;
    int word = v->kind < PROF__ENV_TEXT ? prof__word_in(text, v->takes) : 0;
    if (v->kind >= PROF__ENV_COUNT && !prof__env_number(text, v->least, v->most, &n)) return false;
    if (word < 0) return false;
    switch (v->kind) {
    case PROF__ENV_MODE: d->mode = word > 3 ? PROF_MODE_STREAM : (prof_mode)word; break;
    case PROF__ENV_FLAG: *(bool *)at = word > 0; break;
    case PROF__ENV_STACK: d->with_stack = (prof_stack)word; break;
    case PROF__ENV_TEXT: *(const char **)at = text; break;   /* prof_start checks it */
    case PROF__ENV_COUNT: *(uint32_t *)at = (uint32_t)n; break;
    case PROF__ENV_CATEGORIES: (void)prof_set_categories((uint32_t)n); break;
    default: return prof__env_memory(d, (size_t)n);
    }
    return true;
}

#define PROF__AT(field) offsetof(prof_desc, field)
static const prof__variable prof__variables[] = {
    { "PROF_MODE", "trace, ring, stream, aggregate, wait", PROF__ENV_MODE, 0, 0, 0 },
    { "PROF_MEMORY", "bytes, 64K or more, as there is memory", PROF__ENV_MEMORY, 0, 64u << 10,
      SIZE_MAX / 4 },
    { "PROF_MAX_DEPTH", "1 to 255", PROF__ENV_COUNT, PROF__AT(max_depth), 1, 255 },
    { "PROF_MAX_THREADS", "1 to 65536", PROF__ENV_COUNT, PROF__AT(max_threads), 1, 65536 },
    { "PROF_CATEGORIES", "a number, a bit for each that is on", PROF__ENV_CATEGORIES, 0, 0,
      UINT32_MAX },
    { "PROF_COUNTERS", "", PROF__ENV_TEXT, PROF__AT(hw_counters), 0, 0 },
    { "PROF_EXCLUDE", "", PROF__ENV_TEXT, PROF__AT(exclude), 0, 0 },
    { "PROF_SHAPES", "0, 1", PROF__ENV_FLAG, PROF__AT(record_shapes), 0, 0 },
    { "PROF_STACKS", "none, zones, frames, unwind", PROF__ENV_STACK, 0, 0, 0 },
    { "PROF_PROFILE_MEMORY", "0, 1", PROF__ENV_FLAG, PROF__AT(profile_memory), 0, 0 },
};

/* All variables into *d. False: one is wrong, as prof_strerror says. */
PROF__FN bool prof__env_read(prof_desc *d) {
    for (size_t i = 0; i < sizeof prof__variables / sizeof *prof__variables; i++) {
        const prof__variable *v = prof__variables + i;
        const char *text = prof_getenv(v->name);
        if (!text || !*text || prof__env_put(v, d, text)) continue;
        (void)PROF__FAIL(PROF_ERROR_INVALID, "%s=%b: it takes %s", v->name, text,
                         PROF__MIN(strlen(text), (size_t)64), v->takes);
        return false;
    }
    return true;
}

/* ---- Its file ---- */

/* The file's first name, or another one: by the process's number, unless it has that, then counted
   on, for the sessions of a process and for programs that it executes. */
PROF__FN void prof__env_name(int other) {
    struct prof__env *e = &prof__env;
    char *to = e->path + e->stem;
    if (other && !e->own) to += prof__text_f(to, 12, ".%u", (uint64_t)prof__process_id());
    if (other > !e->own) to += prof__text_f(to, 12, "-%i", (int64_t)other + e->own);
    (void)prof__text_f(to, sizeof e->ending, "%s", e->ending);
}

#if !PROF__POSIX
#  define prof__env_keep() true          /* no other process can write it while it is open */
#  define prof__env_same() true
#else
PROF__FN bool prof__env_same(void) {
    struct stat st;
    return fstat((int)prof__env.file.handle, &st) == 0 &&
           (uint64_t)st.st_dev == prof__env.device && (uint64_t)st.st_ino == prof__env.inode;
}

/* Keeps the file that was opened, and locks it until this process ends. False: another one has it,
   or had it until now and took its name away. Some file systems have no locks. */
PROF__FN bool prof__env_keep(void) {
    struct prof__env *e = &prof__env;
    struct stat st;
    if (!prof__env_move(&e->file, (int)e->file.handle) ||
        fstat((int)e->file.handle, &st) != 0) return false;
    e->device = (uint64_t)st.st_dev;
    e->inode = (uint64_t)st.st_ino;
    if (!S_ISREG(st.st_mode)) return true;
    if (flock((int)e->file.handle, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    return stat(e->path, &st) == 0 && (uint64_t)st.st_dev == e->device &&
           (uint64_t)st.st_ino == e->inode;
}
#endif

/* Makes the file. Another name is tried where another process writes it, a link leads to nothing,
   or a process of this number has written it: in containers many have one number. */
PROF__FN bool prof__env_open(void) {
    struct prof__env *e = &prof__env;
    bool open = false;
    e->end = 0;
    prof__env_name(0);
    if (!e->streams && prof__file_special(e->path)) return PROF__FILE_WRITABLE(e->path);
    for (int i = 0; i < 1000 && !open; i++) {
        prof__env_name(i);
        e->file.handle = prof__file_open(e->path, PROF__FILE_THERE, 0);
        e->made = e->file.handle < 0 && errno == ENOENT;
        if (e->made) e->file.handle = prof__file_open(e->path, PROF__FILE_NEW, 0666);
        if (e->file.handle < 0 && errno != EEXIST && !PROF__FILE_BUSY) return false;
        if (e->file.handle < 0) continue;
        open = prof__env_keep();
        if (e->own && prof__seek((int)e->file.handle, 0, SEEK_END) > 0) open = false;
        if (!open) (void)prof__file_shut(&e->file);
    }
    if (open && e->streams && prof__seek((int)e->file.handle, 0, SEEK_END) > 0)
        open = prof__file_cut((int)e->file.handle, 0) == 0;
    PROF__RELEASE(e->open, (uint32_t)open);
    return open;
}

/* Closes the file, if the program has not done so. Where there was nothing to write none stays. */
PROF__FN void prof__env_shut(void) {
    struct prof__env *e = &prof__env;
    bool ours = e->open && prof__env_same();
    bool empty = ours && e->made && !e->error && !prof__seek((int)e->file.handle, 0, SEEK_END);
    if (empty && PROF__POSIX) prof__file_remove(e->path);   /* nobody else has it yet */
    if (ours) (void)prof__file_shut(&e->file);
    if (empty && !PROF__POSIX) prof__file_remove(e->path);
    e->open = 0;
}

/* Writes a block after the whole ones. If the program has closed the file it is opened again. A
   write past the limit of a file's size would end the program. */
PROF__FN bool prof__env_block(const void *data, size_t size) {
    struct prof__env *e = &prof__env;
    bool ok;
#if PROF__POSIX
    struct rlimit most;
    struct stat st;
    size_t rest = e->counting ? 0 : 4096;      /* for the counts at the end */
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && e->end + size + rest > most.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    if (!prof__env_same()) {
        e->file.handle = prof__file_open(e->path, PROF__FILE_THERE, 0);
        if (e->file.handle < 0 || !prof__env_same() || !prof__env_keep()) return false;
    }
    if (e->torn && prof__file_cut((int)e->file.handle, e->end) != 0 && errno != EINVAL)
        return false;                    /* EINVAL: it is a pipe */
    if (fstat((int)e->file.handle, &st) != 0) return false;
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size != e->end) {
        errno = EBUSY;                   /* another process has written it: there are no locks */
        return false;
    }
#endif
    (void)prof__seek((int)e->file.handle, e->end, SEEK_SET);   /* fails for a pipe */
    e->torn = true;
    ok = prof__file_put(&e->file, (const char *)data, size);
    if (!ok) {
        int why = errno;
        errno = prof__file_cut((int)e->file.handle, e->end) == 0 || errno == EINVAL ? why : EIO;
    }
    if (ok) e->end += size;
    e->torn = false;
    return ok;
}

/* Has the stream's file failed? Then the program goes on without it; its end tries once more. */
PROF__FN bool prof__env_failed(void) {
    const struct prof__env *e = &prof__env;
    return prof__env_streams(&prof__outgoing.raw.sink) && PROF__LOAD(e->failed);
}

PROF__FN bool prof__env_streams(const prof_sink *sink) { return sink->user == &prof__env; }

/* The sink of the stream. */
PROF__FN bool prof__env_write(void *user, const void *data, size_t size) {
    struct prof__env *e = (struct prof__env *)user;
    int kept = errno;                    /* the program's: a zone may write */
    bool ok = true;
    if (!PROF__ACQUIRE(e->open) && !PROF__LOAD(e->mute)) {   /* a child of fork: its first block */
        ok = prof__env_open();
        if (ok) prof__env_tell_start();
        else if (!PROF__LOAD(e->failed)) prof__env_tell("failed", strerror(errno));
    }
    ok = PROF__LOAD(e->mute) || (ok && prof__env_block(data, size));
    if (!ok) e->error = errno;
    if (!ok) PROF__STORE(e->failed, true);
    errno = kept;
    return ok;
}

/* The session is over: finishes its file. A stream that could not all be written gets counts of the
   rest, where there is room. A child of fork that recorded nothing makes no file. */
PROF__FN prof_result prof__env_save(void) {
    struct prof__env *e = &prof__env;
    prof__raw *w = &prof__outgoing.raw;
    prof_stats stats = prof_get_stats(NULL);
    prof_result result = PROF_OK;
    if (e->streams && w->failed) {
        uint64_t zones = prof__trace.stream.zones;
        uint64_t left = stats.recorded - PROF__MIN(zones, stats.recorded);
        stats.recorded -= left;
        stats.dropped += left;
        stats.dropped_full += left;
        e->counting = true;
        w->failed = w->chrome || !e->open;
        if (!w->failed) prof__raw_counts(w, &stats, true);
        result = PROF_ERROR_FILE;
    } else if (!e->streams && (!e->child || stats.recorded)) {
        if (e->child && prof__env_open()) prof__env_tell_start();
        if (!PROF__POSIX) prof__env_shut();   /* it is replaced */
        result = prof_save_chrome(&prof__trace, e->path);
        e->error = errno;
        if (result == PROF_OK) e->made = false;   /* it has another file's place */
    }
    if (result != PROF_OK) errno = e->error ? e->error : errno;
    if (!e->failed || PROF__LOAD(e->open))         /* else that is told */
        prof__env_tell(result == PROF_OK ? "end" : "failed", result == PROF_ERROR_FILE
                       ? strerror(errno) : prof_strerror(result));
    return result == PROF_ERROR_FILE ? prof__file_fail(e->path) : result;
}

/* Makes the file's name: PROF_TRACE with the process id for each %p, % for %%, and the folder that
   is the current one now: daemons change to another. False: it is too long. */
PROF__FN bool prof__env_expand(const char *from) {
    struct prof__env *e = &prof__env;
    char *p = e->path, *end = p + sizeof e->path - 1;
    e->own = strstr(from, "%p") != NULL;
#if PROF__POSIX
    if (*from != '/' && getcwd(p, sizeof e->path - 1)) {
        p += strlen(p);
        *p++ = '/';
    }
#endif
    for (; *from && p < end; from++) {
        if (*from == '%' && from[1] == 'p') {
            p += prof__text_f(p, (size_t)(end - p) + 1, "%u", (uint64_t)prof__process_id());
            from++;
        } else {
            from += *from == '%' && from[1] == '%';      /* as prof record writes its folder's */
            *p++ = *from;
        }
    }
    *p = 0;
    e->stem = (size_t)(p - e->path) - (prof__ends_with(e->path, ".gz") ? 3 : 0);
    while (e->stem && !strchr("./\\", e->path[--e->stem])) {}
    if (e->path[e->stem] != '.' || strlen(e->path + e->stem) >= sizeof e->ending)
        e->stem = (size_t)(p - e->path);
    memcpy(e->ending, e->path + e->stem, strlen(e->path + e->stem) + 1);
    return p < end - 32;                 /* with room for another ending and for numbers */
}

/* A file FILE.raw is a stream, unless another mode is asked for: then it is FILE.json. */
PROF__FN prof_result prof__env_settle(prof_desc *d) {
    struct prof__env *e = &prof__env;
    const char *mode = prof_getenv("PROF_MODE"), *why = NULL;
    bool raw = strcmp(e->ending, ".raw") == 0, said = mode && *mode;
    e->streams = said ? d->mode == PROF_MODE_STREAM : raw && d->mode == PROF_MODE_TRACE;
    d->stream_format = raw ? PROF_STREAM_RAW : PROF_STREAM_CHROME;
    if (e->streams)
        why = d->on_trace_ready ? "what on_trace_ready reads"
            : !raw && prof__has_schedule(d) ? "several windows in one array of JSON"
            : prof__unstreamable(d);
    if (why) {
        e->streams = false;
        d->mode = PROF_MODE_TRACE;
        prof__env_tell("kept", why);
    }
    if (raw && !e->streams) memcpy(e->ending, ".json", 6);
    if (prof__ends_with(e->path, ".gz") && e->streams)
        return prof__fail(PROF_ERROR_INVALID, "PROF_TRACE: a stream cannot end in .gz");
#if !defined(PROF_ZLIB)
    if (prof__ends_with(e->path, ".gz")) return prof__fail(PROF_ERROR_UNSUPPORTED, PROF__NO_ZLIB);
#endif
    if (!e->streams) return PROF_OK;
    d->mode = PROF_MODE_STREAM;
    d->when_full = PROF_FULL_CONTINUE;
    d->stream.write = prof__env_write;
    d->stream.user = e;
    return PROF_OK;
}

/* Starts the session. The file is made first, so that its errors show now. */
PROF__FN prof_result prof__env_begin(const prof_desc *desc, const char *path) {
    struct prof__env *e = &prof__env;
    prof_desc d = *desc;
    prof_result result;
    prof__env_shut();                    /* the program ended the last session by prof_stop */
    e->started = e->failed = e->counting = e->torn = false;
    e->mute = 0;
    e->error = 0;
    if (!prof__env_expand(path))
        return prof__fail(PROF_ERROR_INVALID, "PROF_TRACE: the name is too long");
    if (!prof__env_read(&d)) return PROF_ERROR_INVALID;
    result = prof__env_settle(&d);
    if (result != PROF_OK) return result;
    if (!e->child && !prof__env_open())
        return prof__file_fail(e->path);
    result = prof__session_begin(&d);
    if (result != PROF_OK) prof__env_shut();
    return result;
}

/* Starts the session, and tells. A child's first block does. */
PROF__FN prof_result prof__env_start(const char *path) {
    struct prof__env *e = &prof__env;
    prof_result result = prof__env_begin(&e->desc, path);
    const char *said = prof__said(result);
    e->started = result == PROF_OK;
    if (e->child) return result;
    if (e->started) prof__env_tell_start();
    else prof__env_tell("error", result == PROF_ERROR_FILE ? strerror(errno)
                                                           : prof_strerror(result));
    return prof__fail(result, said);     /* for the program, too */
}

/* Ends it. Another thread may be in prof_step. */
PROF__FN prof_result prof__env_end(void) {
    struct prof__env *e = &prof__env;
    prof_result result = PROF_OK;
    if (e->started && prof__session.open) {
        if (e->child && e->streams && !PROF__LOAD(e->open)) {
            (void)prof_flush();
            if (!PROF__LOAD(e->open) && !e->failed) PROF__STORE(e->mute, 1u);
        }
        for (int i = 0; i < 1000000 && !prof_stop() && prof__session.open; i++) prof__yield();
        result = e->mute ? PROF_OK : prof__env_save();
    }
    prof__env_shut();
    e->started = false;
    return result;
}

#if defined(__linux__) && defined(SYS_futex) && defined(SYS_memfd_create)
#define PROF__WAIT
/* What PROF_MODE=wait shares with prof window, which locks it: a file without a name, to which
   /proc/PID/fd leads. Lines of prof__env_tell come behind it. */
typedef struct prof__shared {
    uint32_t bell;                       /* a futex; odd: a window is wanted */
    uint32_t steps;                      /* of prof_step that it has; 0: until the bell is even */
    char path[1016];                     /* its PROF_TRACE */
} prof__shared;

static struct prof__wait {
    prof__shared *shared;
    uint32_t served, over;               /* the last bell heard; its end */
    pthread_t thread;
} prof__wait;

/* Opens or closes a window, by the bell and while who asked lives. */
PROF__FN void prof__wait_look(uint32_t bell) {
    struct prof__wait *w = &prof__wait;
    struct prof__env *e = &prof__env;
    prof_schedule *c = &e->desc.schedule;
    struct flock l;
    char path[sizeof w->shared->path];
    uint64_t step;
    memset(&l, 0, sizeof l);
    l.l_type = F_WRLCK;
    if (fcntl(e->waits, F_GETLK, &l) != 0 || l.l_type == F_UNLCK) bell = 0;
    prof__lock();
    step = prof__session.step;
    prof__unlock();
    if (e->started && (bell != w->served || (c->active && step > c->active))) {
        (void)prof__env_end();
        prof__env_tell("over", "");
    }
    if (!(bell & 1) || bell == w->served) return;
    w->served = bell;
    memset(c, 0, sizeof *c);
    c->active = PROF__LOAD(w->shared->steps);
    c->warmup = c->repeat = c->active != 0;      /* the rest of this step is no whole one */
    memcpy(path, w->shared->path, sizeof path);
    path[sizeof path - 1] = 0;
    (void)prof__env_start(path);
}

/* Sleeps between windows; in one it looks after steps and asker. */
PROF__FN void *prof__wait_thread(void *unused) {
    struct prof__wait *w = &prof__wait;
    long moment[2] = { 0, 10000000 };
    while (!PROF__ACQUIRE(w->over)) {
        uint32_t bell = PROF__ACQUIRE(w->shared->bell);
        prof__wait_look(bell);
        (void)syscall(SYS_futex, &w->shared->bell, 0 /* FUTEX_WAIT */, bell,
                      prof__env.started ? moment : NULL, NULL, 0);
    }
    prof__wait_look(0);
    return unused;
}

/* A child of fork has no thread. */
PROF__FN void prof__wait_close(bool has_thread) {
    struct prof__wait *w = &prof__wait;
    prof__shared *shared = w->shared;
    prof_file f;
    f.handle = prof__env.waits;
    if (has_thread) {
        PROF__STORE(w->over, 1u);
        PROF__COUNT(shared->bell);
        (void)syscall(SYS_futex, &shared->bell, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
        (void)pthread_join(w->thread, NULL);
    }
    prof__env.waits = 0;
    (void)munmap((void *)shared, sizeof *shared);
    if (fcntl((int)f.handle, 1034 /* F_GET_SEALS */, 0) == 2) (void)prof__file_shut(&f);
}

/* Shares its memory and starts the thread, which takes no signals but the C library's. */
PROF__FN prof_result prof__wait_open(void) {
    struct prof__wait *w = &prof__wait;
    struct prof__env *e = &prof__env;
    unsigned long mask[2] = { ~(unsigned long)(7ull << 31), ~3ul }, before[2] = { 0, 0 };
    bool made;
    prof_desc tried = e->desc;
    prof_file f;
    void *shared = MAP_FAILED;
    if (!prof__env_read(&tried)) return PROF_ERROR_INVALID;
    if (prof__env_move(&f, (int)syscall(SYS_memfd_create, "prof window", 2 /* _ALLOW_SEALING */)) &&
        ftruncate((int)f.handle, sizeof(prof__shared)) == 0 &&
        fcntl((int)f.handle, F_SETFL, O_RDWR | O_APPEND) == 0 &&
        fcntl((int)f.handle, 1033 /* F_ADD_SEALS */, 2 /* it gets no smaller */) == 0)
        shared = mmap(NULL, sizeof(prof__shared), PROT_READ | PROT_WRITE, MAP_SHARED,
                      (int)f.handle, 0);
    if (shared == MAP_FAILED)
        return prof__fail(PROF_ERROR_UNSUPPORTED, "PROF_MODE=wait: no memory");
    w->shared = (prof__shared *)shared;
    e->waits = (int)f.handle;
    w->served = w->over = 0;
    e->started = false;
    e->desc.schedule_fn = NULL;
    e->desc.on_trace_ready = NULL;
    (void)prof__tls_get();               /* no TLS: the first is the program's */
    (void)syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, mask, before, (size_t)8);
    made = pthread_create(&w->thread, NULL, prof__wait_thread, NULL) == 0;
    (void)syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, before, NULL, (size_t)8);
    if (made) return PROF_OK;
    prof__wait_close(false);
    return prof__fail(PROF_ERROR_UNSUPPORTED, "PROF_MODE=wait: no thread can be made");
}
#else
#  define prof__wait_close(has_thread) ((void)0)
#  define prof__wait_open() prof__fail(PROF_ERROR_UNSUPPORTED, "PROF_MODE=wait: this is for Linux")
#endif

PROF__FN void prof__env_at_exit(void) { (void)prof_stop_env(); }

#if defined(__linux__) && !defined(__ANDROID__) && !defined(__UCLIBC__)
#  define prof__at_quick_exit at_quick_exit
#  ifndef __cplusplus
int at_quick_exit(void (*handler)(void));      /* C99's headers leave it out */
#  endif
#else
#  define prof__at_quick_exit(handler) 0
#endif

#if PROF__POSIX
/* A child of fork records into a file of its own, if the name has %p. */
PROF__FN void prof__env_after_fork(void) {
    struct prof__env *e = &prof__env;
    const char *path = prof_getenv("PROF_TRACE");
    e->made = false;
    prof__env_shut();
    if (e->waits) {
        prof__wait_close(false);
        (void)prof__wait_open();
        return;
    }
    if (!e->started) return;
    e->started = false;
    e->child = true;
    if (path && strstr(path, "%p")) (void)prof__env_start(path);
}
#endif

PROF__CALL prof_result prof_start_env(const prof_desc *desc) {
    struct prof__env *e = &prof__env;
    const char *path = prof__getenv("PROF_TRACE"), *mode = prof__getenv("PROF_MODE");
    bool waits = mode && strcmp(mode, "wait") == 0;
    prof_result result;
    if (!waits && (!path || !*path)) return PROF_OK;
    if (prof__trusts_none())
        return prof__fail(PROF_ERROR_UNSUPPORTED, "PROF_TRACE: " PROF__OTHER_RIGHTS);
    (void)prof__fail(PROF_ERROR_INVALID, NULL);
    if (prof__session.open || e->waits) return prof__fail(PROF_ERROR_STATE, PROF__IS_OPEN);
    e->child = false;
    memset(&e->desc, 0, sizeof e->desc);
    if (desc) e->desc = *desc;
    result = waits ? prof__wait_open() : prof__env_start(path);
    if (result != PROF_OK || e->arranged) return result;
    (void)atexit(prof__env_at_exit);     /* handlers for its end */
    (void)prof__at_quick_exit(prof__env_at_exit);
#if PROF__POSIX
    prof__exit_key_make();               /* its handler of fork comes first */
    (void)pthread_atfork(NULL, NULL, prof__env_after_fork);
#endif
    e->arranged = true;
    return result;
}

PROF__CALL prof_result prof_stop_env(void) {
    if (prof__is_copy()) return PROF_OK;
    if (prof__env.waits) prof__wait_close(true);
    return prof__env_end();
}
#endif /* !PROF__BARE */

PROF__COLD_END
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
