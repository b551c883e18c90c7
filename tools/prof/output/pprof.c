/* A profile of pprof: see pprof.h. A sample for each path, thread, rank and step: paths are those
   of prof stacks, a kernel is a leaf below the call it counts for. */
#include "output/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/flame.h"
#include "base/protobuf.h"
#include "trace/rank_id.h"
#include "trace/step_times.h"

enum { /* fields of Profile and its messages */
    P_TYPE = 1, P_SAMPLE = 2, P_MAPPING = 3, P_LOCATION = 4, P_FUNCTION = 5, P_STRING = 6,
    P_TIME = 9, P_DURATION = 10, P_PERIOD_TYPE = 11, P_PERIOD = 12, P_DEFAULT_TYPE = 14,
    S_LOCATIONS = 1, S_VALUES = 2, S_LABEL = 3,
    L_KEY = 1, L_STR = 2, L_NUM = 3, L_UNIT = 4,
    HOST = 1, DEVICE = 2         /* mappings */
};

typedef enum value { CPU, ON_DEVICE, CALLS, BYTES, VALUES } value;

/* What samples of a path are apart by; and one of them. */
typedef struct context {
    int64_t step, rank;          /* rank: of a file of several; -1: the file's */
    uint32_t thread, file;
} context;
typedef struct sample { uint32_t node, context; int64_t values[VALUES]; } sample;

typedef struct profile {
    output *out;
    flame flame;
    rank_id *ranks;
    merged_ranks merged;         /* of the file being read */
    size_t file;                 /* being read */
    interner contexts, threads, texts, functions;
    numbering by_key;            /* of samples, by node and context */
    sample *samples;
    size_t count, capacity;
    context last;                /* and */
    uint32_t last_number;        /* in contexts: of the sample before */
    step_times steps;            /* of the file being read */
    int64_t base_ns, file_first_ns, file_last_ns, first_ns, last_ns;
    int64_t legacy_ns;           /* device time that calls of older records have */
    pb message;
    uint32_t *function_of;       /* a node: its number + 1; 0: not known yet */
    uint32_t *path;              /* functions of a sample, leaf first */
    size_t path_capacity;
} profile;

/* ---- Reading ---- */

static void take_member(void *user, const trace_member *member) {
    profile *p = user;
    rank_read(&p->ranks[p->file], member);
    merged_read(&p->merged, member);
    if (text_is(member->key, "baseTimeNanoseconds")) json_int(member->value, &p->base_ns);
}

static void take_event(void *user, const trace_event *event) {
    profile *p = user;
    int64_t end_ns = event->ts_ns + event->dur_ns;
    if (event->phase != 'X') return;
    if (event->ts_ns < p->file_first_ns) p->file_first_ns = event->ts_ns;
    if (end_ns > p->file_last_ns) p->file_last_ns = end_ns;
    step_times_take(&p->steps, event);
    if (trace_arg(event, "is_legacy")) p->legacy_ns += trace_kernels_ns(event);
}

static uint32_t context_of(profile *p, const flame_sample *s) {
    const merged_ranks *merged = &p->merged;
    context c = {
        .rank = merged_any(merged) ? merged->ranks[merged_place(merged, s->pid)] : -1,
        .step = s->call ? step_times_at(&p->steps, s->call->start_ns) : NO_STEP,
        .thread = intern(&p->threads, s->thread, strlen(s->thread)), .file = (uint32_t)p->file
    };
    if (!p->count || memcmp(&c, &p->last, sizeof c) != 0)
        p->last_number = intern(&p->contexts, (const char *)&c, sizeof c);
    p->last = c;
    return p->last_number;
}

static bool same_key(const void *samples, uint32_t number, const void *key) {
    const sample *a = (const sample *)samples + number, *b = key;
    return a->node == b->node && a->context == b->context;
}

static sample *sample_of(profile *p, const flame_sample *s) {
    const sample new_one = {.node = s->node, .context = context_of(p, s)};
    uint64_t hash = (uint64_t)new_one.node << 32 | new_one.context;
    uint32_t number = number_of_thing(&p->by_key, hash_mix(hash), p->samples, &new_one, same_key);
    if (number < p->count) return &p->samples[number];
    GROW(p->samples, p->count, p->capacity);
    p->samples[p->count++] = new_one;
    return &p->samples[number];
}

static void take_sample(void *user, const flame_sample *s) {
    profile *p = user;
    int64_t *values = sample_of(p, s)->values;
    values[CPU] += s->cpu_ns > 0 ? s->cpu_ns : 0;    /* overlaps leave less than nothing */
    values[ON_DEVICE] += s->device_ns;
    values[CALLS] += s->calls;
    values[BYTES] += s->bytes;
}

static int read_file(profile *p, const char *path) {
    const flame_options options = {
        .device = true, .kernels = true, .python = true, .by_site = true, .take = take_sample,
        .on_event = take_event, .on_member = take_member, .user = p
    };
    p->base_ns = p->legacy_ns = 0;
    p->file_first_ns = INT64_MAX;
    p->file_last_ns = INT64_MIN;
    p->ranks[p->file].path = path;
    int status = flame_read(&p->flame, &options, path);
    step_times_free(&p->steps);
    merged_free(&p->merged);
    if (p->legacy_ns)
        warn(path, "%.3f us of device time are in no sample: older records tell of what the device "
             "did for a call alone (prof report has it)", (double)p->legacy_ns / 1e3);
    bool any = p->file_first_ns <= p->file_last_ns;
    if (any && p->file_first_ns + p->base_ns < p->first_ns)
        p->first_ns = p->file_first_ns + p->base_ns;
    if (any && p->file_last_ns + p->base_ns > p->last_ns)
        p->last_ns = p->file_last_ns + p->base_ns;
    p->file++;
    return status;
}

/* ---- Writing ---- */

static uint64_t text(profile *p, const char *words) {
    return intern(&p->texts, words, strlen(words));
}

static void write_message(profile *p, uint32_t field) {
    pb head = {0};
    pb_bytes(&head, field, p->message.data, p->message.size);
    output_write(p->out, head.data, head.size);
    free(head.data);
    p->message.size = 0;
}

static void write_type(profile *p, uint32_t field, const char *what, const char *unit) {
    pb_uint(&p->message, 1, text(p, what));
    pb_uint(&p->message, 2, text(p, unit));
    write_message(p, field);
}

static void write_types(profile *p) {
    text(p, "");
    write_type(p, P_TYPE, "cpu", "nanoseconds");
    write_type(p, P_TYPE, "device", "nanoseconds");
    write_type(p, P_TYPE, "calls", "count");
    write_type(p, P_TYPE, "alloc_space", "bytes");
    for (uint64_t id = HOST; id <= DEVICE; id++) {
        pb_uint(&p->message, 1, id);
        pb_uint(&p->message, 5, text(p, id == HOST ? "[host]" : "[device]"));
        for (uint32_t field = 7; field <= 9; field++) pb_uint(&p->message, field, 1);
        write_message(p, P_MAPPING);
    }
}

/* A number for a label has a unit: readers drop 0 without one. */
static void put_label(profile *p, const char *what, const char *words, int64_t number) {
    size_t label = pb_open(&p->message, S_LABEL);
    pb_uint(&p->message, L_KEY, text(p, what));
    if (words) pb_uint(&p->message, L_STR, text(p, words));
    else pb_uint(&p->message, L_NUM, (uint64_t)number);
    if (!words) pb_uint(&p->message, L_UNIT, text(p, what));
    pb_close(&p->message, label);
}

/* The number of a function, from 1: a name, on the host or a device. */
static uint32_t function_of(profile *p, uint32_t number) {
    uint32_t *known = &p->function_of[number];
    const flame_node *node = &p->flame.nodes[number];
    uint32_t k[2] = {node->name, node->kind == TRACE_KERNEL ? DEVICE : HOST};
    if (!*known) *known = intern(&p->functions, (const char *)k, sizeof k) + 1;
    return *known;
}

static void write_sample(profile *p, const sample *s) {
    context c;
    size_t depth = 0;
    memcpy(&c, p->contexts.entries[s->context].text, sizeof c);
    for (uint32_t node = s->node; node; node = p->flame.nodes[node].parent) {
        GROW(p->path, depth, p->path_capacity);
        p->path[depth++] = function_of(p, node);
    }
    if (!depth) return;
    size_t list = pb_open(&p->message, S_LOCATIONS);
    for (size_t i = 0; i < depth; i++) pb_varint(&p->message, p->path[i]);
    pb_close(&p->message, list);
    list = pb_open(&p->message, S_VALUES);
    for (int i = 0; i < VALUES; i++) pb_varint(&p->message, (uint64_t)s->values[i]);
    pb_close(&p->message, list);
    const char *thread = interned_text(&p->threads, c.thread);
    if (*thread) put_label(p, "thread", thread, 0);
    put_label(p, "rank", NULL, c.rank < 0 ? p->ranks[c.file].rank : c.rank);
    if (c.step != NO_STEP) put_label(p, "step", NULL, c.step);
    write_message(p, P_SAMPLE);
}

/* Where a function is, as its name tells: "file.py(12): f" of Python, "f (file.c:12)" of prof.h's
   zones. */
typedef struct site { char *name, *file; uint64_t line; } site;

static site site_of(char *name, bool python) {
    site s = {name, NULL, 0};
    char *close = python ? strstr(name, "): ") : strrchr(name, ')'), *open = NULL, *end;
    if (!close || (!python && close[1])) return s;
    for (open = close; open > name && *open != (python ? '(' : ':'); open--) {}
    if (open == name || open + 1 == close) return s;
    s.line = strtoull(open + 1, &end, 10);
    char *from = open;
    while (!python && from > name && *from != '(') from--;
    if (end != close || (!python && (from < name + 2 || from[-1] != ' ')))
        return (site){name, NULL, 0};
    *open = '\0';
    s.file = python ? name : from + 1;
    s.name = python ? close + 3 : name;
    if (!python) from[-1] = '\0';
    return s;
}

/* system_name is not the name: else go tool pprof takes a name for one of C++ and cuts it. */
static void write_function(profile *p, uint32_t number) {
    uint32_t k[2];
    memcpy(k, p->functions.entries[number].text, sizeof k);
    const struct interned *name = &p->flame.names.entries[k[0]];
    char *copy = allocate(name->size + 1);
    memcpy(copy, name->text, name->size);
    bool python = k[1] == HOST && strstr(copy, ".py(");
    site s = k[1] == HOST ? site_of(copy, python) : (site){copy, NULL, 0};
    pb_uint(&p->message, 1, number + 1u);
    pb_uint(&p->message, 2, text(p, s.name));
    pb_uint(&p->message, 3, text(p, "prof"));
    if (s.file) pb_uint(&p->message, 4, text(p, s.file));
    if (s.file) pb_uint(&p->message, 5, s.line);
    write_message(p, P_FUNCTION);
    pb_uint(&p->message, 1, number + 1u);
    pb_uint(&p->message, 2, k[1]);
    size_t line = pb_open(&p->message, 4);
    pb_uint(&p->message, 1, number + 1u);
    if (s.file) pb_uint(&p->message, 2, s.line);
    pb_close(&p->message, line);
    write_message(p, P_LOCATION);
    free(copy);
}

static void write_tail(profile *p) {
    pb tail = {0};
    write_type(p, P_PERIOD_TYPE, "cpu", "nanoseconds");
    if (p->first_ns > p->last_ns) p->first_ns = p->last_ns = 0;
    pb_uint(&tail, P_TIME, (uint64_t)p->first_ns);
    pb_uint(&tail, P_DURATION, (uint64_t)(p->last_ns - p->first_ns));
    pb_uint(&tail, P_PERIOD, 1);
    pb_uint(&tail, P_DEFAULT_TYPE, text(p, "cpu"));
    for (size_t i = 0; i < p->texts.count; i++)
        pb_bytes(&tail, P_STRING, p->texts.entries[i].text, p->texts.entries[i].size);
    output_write(p->out, tail.data, tail.size);
    free(tail.data);
}

static void write_profile(profile *p) {
    write_types(p);
    p->function_of = allocate(p->flame.count * sizeof *p->function_of);
    for (size_t i = 0; i < p->count; i++) write_sample(p, &p->samples[i]);
    for (uint32_t i = 0; i < p->functions.count; i++) write_function(p, i);
    write_tail(p);
}

int pprof_write(char *const *traces, size_t count, output *out) {
    profile p = {.out = out, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    int status = EXIT_OK;
    p.ranks = allocate(count * sizeof *p.ranks);
    for (size_t i = 0; i < count && status == EXIT_OK; i++) status = read_file(&p, traces[i]);
    if (status == EXIT_OK) {
        free(ranks_order(p.ranks, sizeof *p.ranks, &count, false));
        write_profile(&p);
    }
    interner *all[] = {&p.contexts, &p.threads, &p.texts, &p.functions};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) intern_free(all[i]);
    flame_free(&p.flame);
    free(p.ranks);
    free(p.by_key.slots);
    free(p.samples);
    free(p.message.data);
    free(p.function_of);
    free(p.path);
    return status;
}
