/* Call paths and the time spent in each: for stacks and flamegraph.

       flame f = {0};
       flame_read(&f, &options, path);
       flame_finish(&f);
       ... f.nodes[1 .. f.count), parents before children ...
       flame_free(&f);                                                                          */
#ifndef PROF_FLAME_H
#define PROF_FLAME_H

#include "trace/trace.h"

struct flame_sample;
typedef struct flame_options {
    bool device;                /* time of the kernels that a call launched, not its CPU time */
    bool kernels;               /* with device: a kernel is an entry of its own */
    bool python;                /* Python functions are entries where the trace has them */
    bool frames_only;           /* only they are, and an op's time is its frames' (export_stacks) */
    bool threads;               /* the outermost entry is the thread */
    const range_options *window;         /* only what begins in it; NULL: all */
    bool by_site;               /* a name with several sites has an entry for each */
    const char *by_arg;          /* names have the value of this argument; NULL */
    /* is told of each call and kernel, and of what was allocated in a call; NULL: nobody */
    void (*take)(void *user, const struct flame_sample *sample);
    void (*on_event)(void *user, const trace_event *event);
    void (*on_member)(void *user, const trace_member *member);
    void *user;
} flame_options;

typedef struct flame_sample {
    uint32_t node;              /* in flame.nodes */
    const call *call;           /* that it is of, or the kernel's; NULL: of several, or none */
    const char *thread;         /* of the calls: its name, or its number; "": of none */
    int64_t pid;                /* its process, or the kernel's */
    int64_t cpu_ns, device_ns, calls, bytes;
} flame_sample;

/* One path: its name below its parent's path. Node 0 is the root, of no name. */
typedef struct flame_node {
    uint32_t parent, name;
    uint8_t kind;               /* trace_kind */
    int64_t self, total;        /* ns */
    int64_t self_before, total_before;   /* in the traces that it is compared with */
} flame_node;

typedef struct flame {
    interner names;
    numbering paths;            /* of nodes, by parent and name */
    flame_node *nodes;
    size_t count, capacity;
} flame;

/* Adds a file; the exit code. */
int flame_read(flame *f, const flame_options *options, const char *path);
void flame_compare(flame *f);   /* what was read so far is what the rest is compared with */
void flame_finish(flame *f);    /* after the last file: totals */
void flame_free(flame *f);
static inline const char *flame_name(const flame *f, uint32_t node) {
    return interned_text(&f->names, f->nodes[node].name);
}

/* The options of stacks and flamegraph; then the metric's name to options->device. false:
   reported. */
#define FLAME_OPTIONS(o, metric, window) \
    {"metric", 'm', OPTION_TEXT, &(metric), "METRIC", \
     "self_cpu_time_total (default) or self_cuda_time_total"}, \
    {"python", 0, OPTION_FLAG, &(o).python, NULL, "without Python functions"}, \
    {"kernels", 0, OPTION_FLAG, &(o).kernels, NULL, \
     "without kernels: their time is their callers'"}, \
    {"frames-only", 0, OPTION_FLAG, &(o).frames_only, NULL, \
     "Python functions only; ops' times are theirs"}, \
    {"group-by-site", 0, OPTION_FLAG, &(o).by_site, NULL, \
     "an entry for each site of a name: parse (a.c:12)"}, \
    {"group-by-arg", 0, OPTION_TEXT, &(o).by_arg, "ARG", \
     "an entry for each value that this argument has: _kernel_time (Conv)"}, \
    {"threads", 0, OPTION_FLAG, &(o).threads, NULL, "add the thread as the outermost entry"}, \
    RANGE_OPTIONS(window)
bool flame_metric(const char *name, flame_options *options);

/* Writes the folded stacks of traces; the exit code. For stacks and export. */
int stacks_export(const flame_options *o, char *const *traces, int count, const char *path);

#endif
