/* Plays a script with the prof.h that it was compiled with and writes all that this one answers, as
   fields: a line "field NAME BYTES", then so many bytes. compare.py makes scripts and compares.
       player SCRIPT
   The script alone moves the clock; the process has the same id, its threads have the same ids in
   each run. A script is lines of words: "push NAME". COMPARE_BARE 1: the freestanding build. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ticks = 1000000, ticks_per_us = 1000;
static unsigned in_context;

#define PROF_NOW() ((uint64_t)clock_ticks)
#if COMPARE_BARE
#  define PROF_FREESTANDING
#  define PROF_CONTEXT() in_context
#  define PROF_ONE_CORE 0                /* they take no turns: a zone of each is open at once */
#  define PROF_MAX_CONTEXTS 16
#  define PROF_ARENA_SIZE 65536
#  undef PROF_NOW
#  define PROF_NOW() ((uint32_t)clock_ticks)
#endif
#define PROF_IMPLEMENTATION
#include "prof.h"
/* Calls stand here by their names in this tree; here and in set.h stand those of the old header. */
#ifdef COMPARE_OLD
#  define prof_get_stats(trace) prof_get_stats()
#  define prof_events(trace, memory, size, count) prof_events(trace, count)
#  define events_in prof_make_events
#  define prof_open_zones prof_place
#  define site_of(trace, event) prof_event_site(trace, event)
#  define step_number prof_step_number
#  define INLINE stream_inline = v != 0
#  define RECORDS_ONLY records_only = v != 0
#  define EVENTS events = v != 0
#  define STACK with_stack = v != 0
#else
#  define INLINE when_full = v ? PROF_FULL_CONTINUE : PROF_FULL_DROP
#  define RECORDS_ONLY keep = v ? PROF_KEEP_RECORDS : desc.keep
#  define EVENTS keep = v && desc.keep != PROF_KEEP_RECORDS ? PROF_KEEP_EVENTS : desc.keep
#  define STACK with_stack = v ? PROF_STACK_ZONES : PROF_STACK_NONE
#  define events_in prof_events
#  define site_of(trace, event) prof_event_total(trace, event).site
#  if !COMPARE_BARE
static uint64_t step_number(void) {
    prof_session session;
    prof_session_info(&session);
    return session.step;
}
#  endif
#endif
#include "../../../tests/set.h"
#include "fields.h"                      /* made of the header: the numbers of its structs */
#include "report.h"

enum { THREADS = 16, SLOTS = 32, WORDS = 8 };

/* ---- The machine: a clock that stands still between two ticks, the same ids in each run ---- */

static __thread int me;                  /* the thread of the script that runs */

#if !COMPARE_BARE
int clock_gettime(clockid_t id, struct timespec *t) {
    uint64_t ns = clock_ticks * 1000 / ticks_per_us;
    t->tv_sec = (time_t)(ns / 1000000000u) + (id == CLOCK_REALTIME ? 1700000000 : 5);
    t->tv_nsec = (long)(ns % 1000000000u);
    return 0;
}
pid_t getpid(void) { return 4242; }
static uint32_t thread_id(void *user) {
    (void)user;
    return 5000u + (unsigned)me;
}
#endif

/* ---- The script ---- */

typedef struct op { void (*run)(char **words); char *words[WORDS]; } op;

static op *ops;
static size_t op_count, at;
static char *const empty = (char *)"";

static long long number(const char *word) { return strtoll(word, NULL, 0); }

static prof_desc desc;
static prof_trace *trace;
static bool recording;                   /* prof_start was fine */
static unsigned long long begun;         /* zones, since the session's start */
static char arena[64 << 20];

/* ---- Sessions ---- */

/* A key and a number: a field of the description. */
static void op_set(char **w) {
    long long v = number(w[1]);
#define SET(key, field) if (strcmp(w[0], key) == 0) { desc.field; return; }
    SET("mode", mode = (prof_mode)v)
    SET("memory", memory_size = (size_t)v)
    SET("when_full", when_full = (prof_full)v)
    SET("chrome_stream", stream_format = (prof_stream_format)v)
    SET("inline", INLINE)
    SET("records_only", RECORDS_ONLY)
    SET("events", EVENTS)
    SET("depth", max_depth = (uint32_t)v)
    SET("threads", max_threads = (uint32_t)v)
    SET("shapes", record_shapes = v != 0)
    SET("flops", with_flops = v != 0)
    SET("modules", with_modules = v != 0)
    SET("stack", STACK)
    SET("profile_memory", profile_memory = v != 0)
    SET("acc_events", acc_events = v != 0)
    SET("skip_first", schedule.skip_first = (uint32_t)v)
    SET("wait", schedule.wait = (uint32_t)v)
    SET("warmup", schedule.warmup = (uint32_t)v)
    SET("active", schedule.active = (uint32_t)v)
    SET("repeat", schedule.repeat = (uint32_t)v)
#undef SET
    fprintf(stderr, "player: set %s: no such key\n", w[0]);
    exit(2);
}

static void on_trace_ready(void *user, prof_trace *ready) {
    (void)user;
    report(ready, begun, 0);
    window++;
}

#if !COMPARE_BARE
static void *contexts[SLOTS];            /* a window's own (A30) */
#endif

static void op_start(char **w) {
    prof_result result;
    desc.memory = desc.memory_size ? arena : NULL;
    if (desc.mode == PROF_MODE_STREAM) {
        desc.stream.write = text_add;
        desc.stream.user = &stream;
    }
    if (desc.schedule.active) desc.on_trace_ready = on_trace_ready;
#if !COMPARE_BARE
    desc.platform.thread_id = thread_id;
    memset(contexts, 0, sizeof contexts);
#endif
#if COMPARE_BARE   /* hosts: 29a0f05 measured the rate of PROF_NOW() in any case (S23) */
    desc.platform.ticks_per_second = 1000000u * ticks_per_us;
#endif
    begun = 0;
    result = prof_start(&desc);
    recording = result == PROF_OK;
    end_field("start", result);
    memset(&desc, 0, sizeof desc);
}

static void op_stop(char **w) {
    trace = prof_stop();
    recording = false;
}

static void op_report(char **w) {
    if (stream.size) {
        text_add(&field, stream.data, stream.size);
        end_field("stream", PROF_OK);
        stream.size = 0;
    }
    report(trace, begun, (int)number(w[0]));
    window++;
}

static void op_categories(char **w) { (void)prof_set_categories((uint32_t)number(w[0])); }

static void op_flush(char **w) { (void)prof_flush(); }

static void op_dump(char **w) { end_field("dump", prof_dump(to_field)); }

/* The sums while zones are recorded; stats change with what is flushed, so they are no part. */
static void op_snapshot(char **w) {
    static prof_average rows[1000];
    size_t n = prof_snapshot(rows, 1000);
    for (size_t i = 0; i < n && i < 1000; i++) say_row(rows + i);
    end_field("snapshot", PROF_OK);
}

static void op_tick(char **w) { clock_ticks += (uint64_t)number(w[0]); }

static void op_rate(char **w) { ticks_per_us = (uint64_t)number(w[0]); }

/* ---- Zones ---- */

/* Each name at a place of its own; two names have several places, on hosts: on targets the old
   header has a row of sums for each (R15). */
#if COMPARE_BARE
#  define AGAIN(more) more
#else
#  define AGAIN(more)
#endif
static void op_begin(char **w) {
    begun += recording;
    switch (number(w[0])) {
    case 0: PROF_BEGIN("alpha"); break;
    case 1: PROF_BEGIN("beta"); break;
    case 2: PROF_BEGIN("gamma"); break;
    case 3: PROF_BEGIN("delta"); break;
    case 4: PROF_BEGIN("alpha" AGAIN("2")); break;
    case 5: PROF_BEGIN("aten::mm"); break;
    case 6: PROF_BEGIN("quote \" back \\ \xc3\xa9"); break;
    default: PROF_BEGIN("rest"); break;
    }
}

static void op_end(char **w) { PROF_END(); }

static void op_push(char **w) {
    begun += recording;
    prof_push(w[0]);
}

static void op_pop(char **w) { prof_pop(); }

static void op_instant(char **w) {
    switch (number(w[0])) {
    case 0: PROF_INSTANT("now"); break;
    case 1: PROF_COUNTER("level", number(w[1])); break;
    case 2: prof_instant(w[2]); break;
    default: prof_counter(w[2], number(w[1])); break;
    }
}

static void op_name(char **w) { prof_set_thread_name(w[0]); }

#if COMPARE_BARE
static void op_context(char **w) { in_context = (unsigned)number(w[0]); }

static void op_task(char **w) {
    static char names[THREADS][8];
    uint32_t n = (uint32_t)number(w[0]) % THREADS;
    snprintf(names[n], sizeof names[n], "task%u", n);
    prof_task_in(n, names[n]);
}
#else

/* ---- What hosted builds alone have ---- */

/* A window may free what an older one of its session allocated, which 29a0f05 could not: such frees
   are left out. Where each block of scripts.py came to be: the number of the stretch between steps
   and toggles; 0: it is free. */
static unsigned stretch = 1, held_in[32][2];
static unsigned *held(char **w, const char *device) {
    return &held_in[number(w[0]) / 4096 % 32][number(device) & 1];
}

static void op_step(char **w) {
    stretch++;
    SAY("%d", (int)prof_step());
    SAY(" %llu\n", (unsigned long long)step_number());
    end_field("step", PROF_OK);
}

static void op_toggle(char **w) {
    stretch++;
    (void)prof_toggle(PROF_ACTIVITY_CPU, number(w[0]) != 0);
    memset(contexts, 0, sizeof contexts);
}

static void op_push_f(char **w) {
    begun += recording;
    prof_push_f("%s %d", w[0], (int)number(w[1]));
}

static void op_counter_f(char **w) { prof_counter_f(w[0], (double)number(w[1]) / 8); }

static prof_open_zones marks[SLOTS];
static prof_async ranges[SLOTS];
static uint64_t flows[SLOTS];

static void op_mark(char **w) { marks[number(w[0])] = prof_mark(); }
static void op_unwind(char **w) { prof_unwind(marks[number(w[0])]); }

/* The thread goes on in the context of a slot, which then has the one that it leaves. */
static void op_context(char **w) {
    void **slot = contexts + number(w[0]);
    *slot = prof_context_switch(*slot);
}

static void op_async(char **w) { ranges[number(w[0])] = prof_async_begin(w[1]); }
static void op_async_end(char **w) { prof_async_end(ranges[number(w[0])]); }
static void op_flow(char **w) { flows[number(w[0])] = prof_flow(0); }
static void op_flow_end(char **w) { (void)prof_flow(flows[number(w[0])]); }

static prof_device device_of(const char *word) {
    prof_device device = { (uint8_t)number(word), 0 };
    return device;
}

static void op_alloc(char **w) {
    *held(w, w[2]) = stretch;
    prof_memory_alloc((void *)(uintptr_t)number(w[0]), (size_t)number(w[1]), device_of(w[2]));
}
static void op_free(char **w) {
    unsigned since = *held(w, w[1]);
    *held(w, w[1]) = 0;
    if (!since || since == stretch)
        prof_memory_free((void *)(uintptr_t)number(w[0]), device_of(w[1]));
}
static void op_kind(char **w) { (void)prof_memory_category((prof_memory_kind)number(w[0])); }

static void op_arg(char **w) { prof_set_arg(w[0], w[1]); }
static void op_arg_int(char **w) { prof_set_arg_int(w[0], number(w[1])); }
static void op_flops(char **w) { set_flops((uint64_t)number(w[0])); }
static void op_overload(char **w) { set_overload(w[0]); }
static void op_module(char **w) { set_module(w[0]); }
static void op_module_push(char **w) { prof_module_push(w[0]); }
static void op_metadata(char **w) { (void)prof_add_metadata(w[0], w[1]); }

static void op_module_pop(char **w) { prof_module_pop(); }

static void op_annotation(char **w) { set_annotation(); }

static void op_sequence(char **w) {
    set_sequence(number(w[0]), (uint8_t)number(w[1]), (uint64_t)number(w[2]));
}

static void op_stack(char **w) { set_stack((const char *const *)w, 3); }

/* n inputs of up to 3 dimensions each, some of them lists. */
static const char *const types[] = { "float", "double", "int", "" };
static int64_t dims[] = { 4, 8, 2, 16, 3, 5, 32 };
static prof_shape shapes[4], items[2] = { { dims + 3, NULL, 2 }, { dims + 1, NULL, 1 } };

static uint32_t shapes_of(unsigned n) {
    for (unsigned i = 0; i < 4; i++) {
        shapes[i].dims = dims + (n + i) % 4;
        shapes[i].count = n == 6 ? 2 : (n + i) % 4;
        shapes[i].items = n % 5 == 4 && i == 1 ? items : NULL;
        if (shapes[i].items) shapes[i].count = 2;
    }
    return 1 + n % 4;
}

static void op_shapes(char **w) {
    uint32_t count = shapes_of((unsigned)number(w[0]));
    prof_set_shapes(shapes, number(w[1]) ? types : NULL, count);
}

static void op_strides(char **w) { set_strides(shapes, shapes_of((unsigned)number(w[0]))); }
static void op_outputs(char **w) {
    set_outputs(shapes, types, shapes_of((unsigned)number(w[0])));
}
static void op_inputs(char **w) { set_inputs((const char *const *)w, 3, "{\"alpha\": 2}"); }

static void op_tensors(char **w) {
    prof_tensor list[3];
    memset(list, 0, sizeof list);
    for (unsigned i = 0; i < 3; i++) {
        list[i].id = (uint64_t)number(w[0]) + i;
        list[i].storage = 100 + i;
        list[i].offset = i;
    }
    set_tensors(list, 3);
}

static void op_push_with(char **w) {
    prof_extra with;
    memset(&with, 0, sizeof with);
    with.input_shapes = shapes;
    with.input_count = shapes_of((unsigned)number(w[1]));
    with.dtypes = types;
    with.has = PROF_HAS_SEQUENCE_NR;
    with.sequence_nr = number(w[1]);
    with.overload_name = "Tensor";
    begun += recording;
    prof_push_with(w[0], &with);
}

/* ---- Events from outside ---- */

/* The row of this thread, once it has a zone: before that events made a second one (A33). */
static uint32_t own_row(void) {
    begun += recording;
    prof_push("first");
    prof_pop();
    return prof_submit_thread(5000u + (unsigned)me, NULL);
}

/* A call, and the work on a device that it launched: start, duration, id, device type. Each call
   has a name of its own: the old side merges one into another of its name around it. */
static void op_submit(char **w) {
    static unsigned calls;
    prof_event e[2];
    prof_extra x[2];
    uint32_t row = own_row();
    char name[24];
    (void)snprintf(name, sizeof name, "launch %u", calls++);
    memset(e, 0, sizeof e);
    memset(x, 0, sizeof x);
    for (int i = 0; i < 2; i++) {
        e[i].name = i ? "kernel" : name;
        e[i].extra = x + i;
        e[i].start_ns = prof_now() - number(w[0]) + 100 * i;
        e[i].end_ns = e[i].start_ns + number(w[1]);
        if (e[i].end_ns < 0) e[i].end_ns = 0;   /* else it is an earlier window's */
        e[i].thread = row;
        e[i].device_type = (uint8_t)(i ? number(w[3]) : 0);
        x[i].has = PROF_HAS_ID | (i ? PROF_HAS_LINK | PROF_HAS_DEVICE_INDEX : 0);
        x[i].node_id = -1;
        x[i].sequence_nr = -1;
        x[i].id = number(w[2]);
        x[i].linked_correlation_id = i ? number(w[2]) : 0;
        x[i].device_resource_id = i ? 7 : 0;
        x[i].activity_type = i ? "kernel" : "cuda_runtime";
        x[i].metadata_json = i ? "\"grid\": [1, 2, 3]" : NULL;
    }
    SAY("%d\n", (int)prof_submit(e, 2));
    end_field("submit", PROF_OK);
}

static void op_submit_memory(char **w) {
    prof_memory_change c;
    memset(&c, 0, sizeof c);
    c.ns = prof_now() - number(w[0]);
    c.address = (uint64_t)number(w[1]);
    c.is_free = number(w[3]) != 0;
    c.bytes = c.is_free ? 0 : (uint64_t)number(w[2]);   /* of a free they count since S5 */
    c.device = device_of(w[4]);
    c.thread = own_row();
    SAY("%d\n", (int)prof_submit_memory(&c, 1));
    end_field("submit", PROF_OK);
}

/* A trace of events alone: so many, of a seed, as raw activities or not. */
static prof_event outside[4096];
static prof_extra outside_extra[4096];

static unsigned long long draw_state;
static unsigned draw(unsigned below) {
    draw_state = draw_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(draw_state >> 33) % below;
}

static void outside_event(prof_event *e, prof_extra *x, unsigned spread) {
    static const char *const names[] = { "aten::mm", "aten::add", "outer", "ProfilerStep#3", "x\ty",
                                         "kernel_a", "kernel_b", "[memory]" };
    unsigned kind = draw(12);
    memset(e, 0, sizeof *e);
    memset(x, 0, sizeof *x);
    e->name = names[kind == 0 ? 5 + draw(2) : draw(5)];
    e->extra = draw(4) || kind == 0 ? x : NULL;
    e->start_ns = 10 * (int64_t)draw(spread);
    e->end_ns = e->start_ns + 10 * (int64_t)draw(1 + draw(spread / 2));
    e->thread = draw(3);
    e->device_type = (uint8_t)(kind == 0 ? 1 : 0);
    e->flags = (uint16_t)(draw(20) ? 0 : 1u << draw(5));
    x->has = PROF_HAS_ID;
    x->node_id = -1;
    x->sequence_nr = -1;
    x->id = 1 + draw(40);
    if (kind == 0) {
        x->has |= PROF_HAS_LINK | PROF_HAS_DEVICE_INDEX;
        x->linked_correlation_id = 1 + draw(40);
    }
    x->input_shapes = shapes;
    x->input_count = shapes_of(draw(8));
    x->cpu_memory_usage = draw(3) ? 0 : 64 * (int64_t)draw(100);
}

static void outside_trace(unsigned count) {
    static char memory[32 << 20];
    prof_trace_desc d;
    memset(&d, 0, sizeof d);
    d.memory = memory;
    d.memory_size = sizeof memory;
    d.view.device_name = "CUDA";
    d.view.profile_memory = true;
    trace = NULL;
    SAY("%d\n", (int)prof_trace_from_events(&d, outside, count, &trace));
    end_field("from events", PROF_OK);
}

static void op_outside(char **w) {
    unsigned count = (unsigned)number(w[1]);
    draw_state = (unsigned long long)number(w[0]);
    for (unsigned i = 0; i < count; i++) outside_event(outside + i, outside_extra + i, 2 * count);
    outside_trace(count);
}

/* So many small traces of few times, so that many starts and ends are equal; of events without
   length, of some that end before they start, and of times before 0. */
static void op_nests(char **w) {
    for (long long n = 0; n < number(w[1]); n++) {
        draw_state = (unsigned long long)(number(w[0]) + n);
        unsigned count = 1 + draw(60), spread = 2 + draw(2 + draw(40)), before = draw(2) * spread;
        for (unsigned i = 0; i < count; i++) {
            prof_event *e = outside + i;
            outside_event(e, outside_extra + i, 2 * spread);
            e->start_ns -= 10 * (int64_t)before;
            e->end_ns -= 10 * (int64_t)before;
            if (draw(5) == 0) e->end_ns = e->start_ns;
            if (draw(40) == 0) e->end_ns = e->start_ns - 10;
        }
        outside_trace(count);
        if (trace) report_events(trace);
        if (trace) report_rows(trace, 2);
    }
}
#endif

/* ---- Threads: one at a time, by turns that the script gives ---- */

static void play(void);

#if !COMPARE_BARE
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static struct { pthread_t handle; bool running, ending; } threads[THREADS];
static int turn;

static void wait_turn(void) {
    while (turn != me) pthread_cond_wait(&turned, &turns);
}

static void *thread_main(void *number_of) {
    me = (int)(intptr_t)number_of;
    pthread_mutex_lock(&turns);
    wait_turn();
    play();
    turn = 0;
    pthread_mutex_unlock(&turns);
    return NULL;
}

static void op_thread(char **w) {
    int n = (int)number(w[0]);
    if (!threads[n].running && n) {
        threads[n].running = true;
        threads[n].ending = false;
        pthread_create(&threads[n].handle, NULL, thread_main, (void *)(intptr_t)n);
    }
    turn = n;
    pthread_cond_broadcast(&turned);
    wait_turn();
}

/* Thread 0 lets a thread end, with the zones that it has open, and waits for it. */
static void op_join(char **w) {
    int n = (int)number(w[0]);
    if (!threads[n].running) return;
    threads[n].ending = true;
    turn = n;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&turns);
    pthread_join(threads[n].handle, NULL);
    pthread_mutex_lock(&turns);
    threads[n].running = false;
}
static bool over(void) { return at >= op_count || threads[me].ending; }
#else
static bool over(void) { return at >= op_count; }
#endif

/* ---- Blocks and loops: the C functions that call each other as the script nests ---- */

static void scope(void) {
    PROF_SCOPE("scope");
    play();
}

static void function(void) {
    PROF_FUNCTION();
    play();
}

static void op_block(char **w) {
    begun += recording;
    switch (number(w[0])) {
    case 0: scope(); break;
    case 1: function(); break;
    case 2: PROF_BLOCK("block") play(); break;
    case 3: PROF_BLOCK_IN(1u, "in one") play(); break;
    default: PROF_BLOCK("alpha" AGAIN("3")) play(); break;
    }
}

static void op_close(char **w) {}

/* Plays what follows, up to its close, so many times. */
static void op_loop(char **w) {
    size_t begin = at;
    for (long long n = number(w[0]); n > 0; n--) {
        at = begin;
        play();
    }
}

static const struct { const char *word; void (*run)(char **); } words[] = {
    { "set", op_set }, { "start", op_start }, { "stop", op_stop }, { "report", op_report },
    { "categories", op_categories },
    { "flush", op_flush }, { "dump", op_dump }, { "snapshot", op_snapshot },
    { "tick", op_tick }, { "rate", op_rate },
    { "begin", op_begin }, { "end", op_end },
    { "push", op_push }, { "pop", op_pop }, { "instant", op_instant }, { "name", op_name },
    { "block", op_block }, { "close", op_close }, { "loop", op_loop }, { "context", op_context },
#if COMPARE_BARE
    { "task", op_task },
#else
    { "step", op_step }, { "toggle", op_toggle }, { "push_f", op_push_f },
    { "counter_f", op_counter_f }, { "mark", op_mark },
    { "unwind", op_unwind }, { "async", op_async }, { "async_end", op_async_end },
    { "flow", op_flow }, { "flow_end", op_flow_end }, { "alloc", op_alloc }, { "free", op_free },
    { "kind", op_kind }, { "arg", op_arg }, { "arg_int", op_arg_int }, { "flops", op_flops },
    { "overload", op_overload }, { "module", op_module }, { "module_push", op_module_push },
    { "module_pop", op_module_pop }, { "metadata", op_metadata }, { "annotation", op_annotation },
    { "sequence", op_sequence }, { "stack", op_stack }, { "shapes", op_shapes },
    { "strides", op_strides }, { "outputs", op_outputs }, { "inputs", op_inputs },
    { "tensors", op_tensors }, { "push_with", op_push_with }, { "submit", op_submit },
    { "submit_memory", op_submit_memory }, { "outside", op_outside }, { "nests", op_nests },
    { "thread", op_thread }, { "join", op_join },
#endif
};

/* Up to the close of what called it, the end of the thread, or of the script. */
static void play(void) {
    while (!over()) {
        op *o = ops + at++;
        if (o->run == op_close) return;
        o->run(o->words);
    }
}

static void load_line(char *line, unsigned where) {
    op *o = ops + op_count;
    char *word = strtok(line, " \n");
    if (!word) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0) o->run = words[i].run;
    if (!o->run) {
        fprintf(stderr, "player: line %u: %s: no such word\n", where, word);
        exit(2);
    }
    for (int i = 0; i < WORDS; i++) {
        word = strtok(NULL, " \n");
        o->words[i] = word ? strdup(word) : empty;
    }
    op_count++;
}

static void load(const char *path) {
    char line[1024];
    unsigned where = 0;
    FILE *file = fopen(path, "r");
    if (!file) exit(2);
    ops = calloc(100000, sizeof *ops);
    while (op_count < 100000 && fgets(line, sizeof line, file)) load_line(line, ++where);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    load(argv[1]);
#if !COMPARE_BARE
    pthread_mutex_lock(&turns);
#endif
    play();
    return 0;
}
