/* Kineto's raw activities as events of prof_trace_from_events, as PyTorch makes FunctionEvents of
   them: _parse_kineto_results().

       kineto_events parsed = kineto_parse(&desc, raw, count, demangle);
       prof_trace_from_events(&desc, parsed.events, parsed.count, &trace);
       ...
       free(parsed.memory);              when the trace is not needed any more

   desc: its threads, if any, must be there; sums_in_us is set. raw: events as they go into
   prof_trace_from_events; strings and arrays that they point to are not copied.
   - Utility events are left out; ProfilerStep#N becomes ProfilerStep*; names that begin with _Z are
     demangled, unless demangle is NULL or returns NULL. Its text must outlive the trace.
   - A "[memory]" record (cpu_memory_usage or device_memory_usage) is charged to all events of its
     thread around it. Where there are none it becomes an event without length.
   - Work on a device is a kernel of the event whose extra.id is its linked_correlation_id. Calls of
     a device's library are on the thread of that event.
   - An event whose extra.end_thread is another thread than its own is async.
   - PyTorch's own frames are left out of stacks. */
#ifndef KINETO_H
#define KINETO_H

#include <stdlib.h>
#include <string.h>

#include "prof.h"

typedef struct kineto_events {
    prof_event *events;
    size_t count;
    void *memory;                        /* of all that was made; NULL: there was not enough */
} kineto_events;

typedef enum kineto_kind { KINETO_SPAN, KINETO_MEMORY, KINETO_FAILURE, KINETO_UTILITY } kineto_kind;

/* A record of memory; cpu and device: the bytes of all records before it. */
typedef struct kineto_charge {
    uint32_t thread;
    int64_t ns;
    size_t event;
    int64_t cpu, device;
    size_t covers;                       /* how many events begin before it, less those that end */
} kineto_charge;

/* An event that may have launched work. */
typedef struct kineto_launcher {
    int64_t id, start_ns, end_ns;
    size_t event;
} kineto_launcher;

typedef struct kineto_parser {
    prof_event *events;
    prof_extra *extras;                  /* one for each event */
    kineto_charge *charges;
    kineto_launcher *launchers;
    size_t *launched;                    /* how many kernels each event launched */
    prof_kernel *kernels;
    const char **stacks;
    size_t count, charge_count, launcher_count;
    size_t spans;                        /* they come first, then memory, then failures */
    int64_t last_id;
    const prof_trace_desc *desc;
    const char *(*demangle)(const char *name);
} kineto_parser;

/* A sum that wraps, as damaged activities may have any bytes. */
static inline int64_t kineto_plus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t kineto_minus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline bool kineto_is_host(uint8_t device_type) {
    return device_type == PROF_DEVICE_CPU || device_type == PROF_DEVICE_MKLDNN ||
           device_type == PROF_DEVICE_IDEEP;
}

/* Does PyTorch leave the name out? _filter_name() */
static inline bool kineto_is_utility(const char *name) {
    static const char *const names[] = {
        "profiler::_record_function_enter", "profiler::_record_function_enter_new",
        "profiler::_record_function_exit", "aten::is_leaf", "aten::output_nr", "aten::_version" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static inline kineto_kind kineto_kind_of(const prof_event *e) {
    if (!e->name) return KINETO_SPAN;
    if (strcmp(e->name, "[memory]") == 0) return KINETO_MEMORY;
    if (strcmp(e->name, "[OutOfMemory]") == 0) return KINETO_FAILURE;
    return kineto_is_utility(e->name) ? KINETO_UTILITY : KINETO_SPAN;
}

/* Is the stack entry PyTorch's own? _filter_stack_entry() */
static inline bool kineto_is_own_frame(const char *entry) {
    static const char *const pairs[][2] = {
        { "autograd/__init__", "_make_grads" }, { "autograd/__init__", "backward" },
        { "torch/tensor", "backward" }, { "_internal/common_utils", "prof_callable" },
        { "_internal/common_utils", "prof_func_call" },
        { "_internal/common_utils", "prof_meth_call" } };
    for (size_t i = 0; entry && i < sizeof pairs / sizeof *pairs; i++)
        if (strstr(entry, pairs[i][0]) && strstr(entry, pairs[i][1])) return true;
    return false;
}

static inline void *kineto_take(char **at, size_t count, size_t size) {
    void *p = *at;
    if (at && count) *at += (count * size + 15) & ~(size_t)15;
    return p;
}

/* Takes what prof_trace_from_events would refuse out, too: nothing is to be charged to it. */
static inline bool kineto_is_right(const prof_event *e) {
    const prof_extra *x = e->extra;
    return e->end_ns >= e->start_ns &&
           (!x || ((x->stack || !x->stack_count) && (x->kernels || !x->kernel_count) &&
                   (x->tensors || !x->tensor_count)));
}

/* Memory for all that raw can become. False: there is not enough. */
static inline bool kineto_open(kineto_parser *p, kineto_events *out, const prof_event *raw,
                               size_t count) {
    size_t kernels = count, frames = 0;
    char *at;
    for (size_t i = 0; i < count; i++) {
        if (!raw[i].extra || !kineto_is_right(raw + i)) continue;
        kernels += raw[i].extra->kernel_count;
        frames += raw[i].extra->stack_count;
    }
    out->memory = malloc(128 + (count + 1) * (sizeof(prof_event) + sizeof(prof_extra) +
                                        sizeof(kineto_charge) + sizeof(kineto_launcher) +
                                        sizeof(size_t)) +
                         kernels * sizeof(prof_kernel) + frames * sizeof(char *));
    if (!out->memory) return false;
    at = (char *)out->memory;
    p->events = (prof_event *)kineto_take(&at, count, sizeof(prof_event));
    p->extras = (prof_extra *)kineto_take(&at, count, sizeof(prof_extra));
    p->charges = (kineto_charge *)kineto_take(&at, count + 1, sizeof(kineto_charge));
    p->launchers = (kineto_launcher *)kineto_take(&at, count, sizeof(kineto_launcher));
    p->launched = (size_t *)kineto_take(&at, count, sizeof(size_t));
    p->kernels = (prof_kernel *)kineto_take(&at, kernels, sizeof(prof_kernel));
    p->stacks = (const char **)kineto_take(&at, frames, sizeof(char *));
    return true;
}

/* An event's name, flags and stack as PyTorch shows them. */
static inline void kineto_rename(kineto_parser *p, prof_event *e, prof_extra *x) {
    bool listed = p->desc->threads && e->thread < p->desc->thread_count;
    uint64_t thread = listed ? p->desc->threads[e->thread].id : e->thread;
    uint32_t count = x->stack_count;
    const char *const *from = x->stack;
    const char *name = NULL;
    if (p->demangle && strncmp(e->name, "_Z", 2) == 0) name = p->demangle(e->name);
    if (name) e->name = name;
    if (strncmp(e->name, "ProfilerStep#", 13) == 0) {
        x->trace_name = e->name;
        e->name = "ProfilerStep*";
    }
    if (x->has & PROF_HAS_END_THREAD && x->end_thread != thread) e->flags |= PROF_EVENT_ASYNC;
    if (x->has & PROF_HAS_ID && x->id > p->last_id) p->last_id = x->id;
    x->stack = p->stacks;
    x->stack_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!kineto_is_own_frame(from[i])) p->stacks[x->stack_count++] = from[i];
    p->stacks += x->stack_count;
}

/* Lists a record of memory to be charged. */
static inline void kineto_charge_add(kineto_parser *p, const prof_event *e, const prof_extra *x) {
    kineto_charge *c = p->charges + p->charge_count++;
    int64_t bytes = kineto_plus(x->cpu_memory_usage, x->device_memory_usage);
    memset(c, 0, sizeof *c);
    c->thread = e->thread;
    c->ns = e->start_ns;
    c->event = p->count;
    *(kineto_is_host(e->device_type) ? &c->cpu : &c->device) = bytes;
}

/* Copies the activities of a kind, without utility events. */
static inline void kineto_copy(kineto_parser *p, const prof_event *raw, size_t count,
                               kineto_kind kind) {
    for (size_t i = 0; i < count; i++) {
        prof_event *e = p->events + p->count;
        prof_extra *x = p->extras + p->count;
        if (!kineto_is_right(raw + i) || kineto_kind_of(raw + i) != kind) continue;
        *e = raw[i];
        if (!e->name) e->name = "(null)";
        e->extra = x;
        memset(x, 0, sizeof *x);
        if (raw[i].extra) *x = *raw[i].extra;
        if (kind == KINETO_MEMORY) kineto_charge_add(p, e, x);
        if (kind == KINETO_SPAN) kineto_rename(p, e, x);
        p->count++;
    }
    if (kind == KINETO_SPAN) p->spans = p->count;
}

static inline int kineto_charge_order(const void *a, const void *b) {
    const kineto_charge *x = (const kineto_charge *)a, *y = (const kineto_charge *)b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->event < y->event ? -1 : 1;
}

/* The first record of thread at ns or later. */
static inline kineto_charge *kineto_charge_at(const kineto_parser *p, uint32_t thread, int64_t ns) {
    size_t low = 0, high = p->charge_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const kineto_charge *c = p->charges + middle;
        if (c->thread < thread || (c->thread == thread && c->ns < ns)) low = middle + 1;
        else high = middle;
    }
    return p->charges + low;
}

/* Charges events on the CPU with the records of their threads in [start, end). */
static inline void kineto_charge_all(kineto_parser *p) {
    int64_t cpu = 0, device = 0;
    qsort(p->charges, p->charge_count, sizeof *p->charges, kineto_charge_order);
    memset(p->charges + p->charge_count, 0, sizeof *p->charges);
    for (size_t i = 0; i <= p->charge_count; i++) {
        kineto_charge *c = p->charges + i, own = *c;
        c->cpu = cpu;
        c->device = device;
        cpu = kineto_plus(cpu, own.cpu);
        device = kineto_plus(device, own.device);
    }
    for (size_t i = 0; i < p->spans; i++) {
        const prof_event *e = p->events + i;
        prof_extra *x = p->extras + i;
        kineto_charge *a = kineto_charge_at(p, e->thread, e->start_ns);
        kineto_charge *b = kineto_charge_at(p, e->thread, e->end_ns);
        if (a >= b || e->device_type != PROF_DEVICE_CPU) continue;
        x->cpu_memory_usage = kineto_plus(x->cpu_memory_usage, kineto_minus(b->cpu, a->cpu));
        x->device_memory_usage =
            kineto_plus(x->device_memory_usage, kineto_minus(b->device, a->device));
        a->covers++;
        b->covers--;
    }
}

/* Makes events of the memory that no event covers. */
static inline void kineto_memory_events(kineto_parser *p) {
    size_t covers = 0, kept = p->spans;
    for (size_t i = 0; i < p->charge_count; i++) {
        covers += p->charges[i].covers;
        if (covers) p->events[p->charges[i].event].name = NULL;
    }
    for (size_t i = p->spans; i < p->count; i++) {
        prof_event *e = p->events + i;
        prof_extra *x = p->extras + i;
        bool host = kineto_is_host(e->device_type);
        int64_t bytes = kineto_plus(x->cpu_memory_usage, x->device_memory_usage);
        if (!e->name) continue;
        memset(x, 0, sizeof *x);
        x->has = PROF_HAS_ID;
        x->id = p->last_id = kineto_plus(p->last_id, 1);
        x->trace_name = "";
        *(host ? &x->cpu_memory_usage : &x->device_memory_usage) = bytes;
        e->device_type = PROF_DEVICE_CPU;
        e->flags = 0;
        e->end_ns = e->start_ns;
        p->events[kept++] = *e;
    }
    p->count = kept;
}

static inline int64_t kineto_link(const prof_event *e) {
    return e->extra->has & PROF_HAS_LINK ? e->extra->linked_correlation_id : 0;
}

static inline int kineto_launcher_order(const void *a, const void *b) {
    const kineto_launcher *x = (const kineto_launcher *)a, *y = (const kineto_launcher *)b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    return x->event < y->event ? -1 : 1;
}

/* The event of this id, of several the first to begin; NULL: there is none. */
static inline prof_event *kineto_launcher_of(const kineto_parser *p, int64_t id) {
    size_t low = 0, high = p->launcher_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->launchers[middle].id < id) low = middle + 1;
        else high = middle;
    }
    if (id <= 0 || low == p->launcher_count || p->launchers[low].id != id) return NULL;
    return p->events + p->launchers[low].event;
}

static inline void kineto_launchers_list(kineto_parser *p) {
    for (size_t i = 0; i < p->count; i++) {
        const prof_event *e = p->events + i;
        kineto_launcher *l = p->launchers + p->launcher_count;
        if (!(e->extra->has & PROF_HAS_ID) || kineto_link(e)) continue;
        if (e->device_type != PROF_DEVICE_CPU || e->flags & PROF_EVENT_ASYNC) continue;
        l->id = e->extra->id;
        l->start_ns = e->start_ns;
        l->end_ns = e->end_ns;
        l->event = i;
        p->launcher_count++;
    }
    qsort(p->launchers, p->launcher_count, sizeof *p->launchers, kineto_launcher_order);
}

/* Gives each event the kernels that it launched, behind those that it has. */
static inline void kineto_kernels(kineto_parser *p) {
    kineto_launchers_list(p);
    for (size_t i = 0; i < p->count; i++) p->launched[i] = 0;
    for (size_t i = 0; i < p->spans; i++) {
        prof_event *e = p->events + i, *by = kineto_launcher_of(p, kineto_link(e));
        if (by && e->device_type == PROF_DEVICE_CPU) e->thread = by->thread;
        else if (by) p->launched[by - p->events]++;
    }
    for (size_t i = 0; i < p->count; i++) {
        prof_extra *x = (prof_extra *)(uintptr_t)p->events[i].extra;
        size_t room = x->kernel_count + p->launched[i];
        if (!p->launched[i]) continue;
        if (x->kernel_count) memcpy(p->kernels, x->kernels, x->kernel_count * sizeof *x->kernels);
        x->kernels = p->kernels;
        p->kernels += room;
    }
    for (size_t i = 0; i < p->spans; i++) {
        const prof_event *e = p->events + i, *by = kineto_launcher_of(p, kineto_link(e));
        prof_extra *x = by ? (prof_extra *)(uintptr_t)by->extra : NULL;
        prof_kernel *k;
        if (!x || e->device_type == PROF_DEVICE_CPU) continue;
        k = (prof_kernel *)(uintptr_t)x->kernels + x->kernel_count++;
        k->name = e->name;
        k->duration_ns = kineto_minus(e->end_ns, e->start_ns);
        k->device = e->extra->has & PROF_HAS_DEVICE_INDEX ? e->extra->device_index : 0;
    }
}

static inline kineto_events kineto_parse(prof_trace_desc *desc, const prof_event *raw,
                                         size_t count, const char *(*demangle)(const char *name)) {
    kineto_events out = { NULL, 0, NULL };
    kineto_parser p;
    memset(&p, 0, sizeof p);
    p.desc = desc;
    desc->sums_in_us = true;
    p.demangle = demangle;
    if (!kineto_open(&p, &out, raw, count)) return out;
    kineto_copy(&p, raw, count, KINETO_SPAN);
    kineto_copy(&p, raw, count, KINETO_MEMORY);
    kineto_copy(&p, raw, count, KINETO_FAILURE);
    kineto_charge_all(&p);
    kineto_memory_events(&p);
    kineto_kernels(&p);
    out.events = p.events;
    out.count = p.count;
    return out;
}

#endif
