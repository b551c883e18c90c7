/* Compares the library with what PyTorch's own code answered: reads vector files (plain or .gz,
   their kind told by the beginning of their name; vectors/README.md describes them), prints
   each mismatch as "FILE case N: FIELD: ...", and last `N passed, M failed`. Exit status 1 when
   something failed or could not be read.
       replay FILE... */
#define _DEFAULT_SOURCE 1
#include "../../tools/prof/library.h"
#include "../../tools/prof/input/trace_reader.h"
#include "../../examples/kineto.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>
#include <zlib.h>

/* ---- What is being compared, and how it went ---- */

static struct {
    const char *file;
    size_t number;                       /* of the case, from 0 */
    bool failed;
    size_t passed_count, failed_count;
} now;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void mismatch(const char *field, const char *format, ...) {
    va_list list;
    now.failed = true;
    printf("%s case %lu: %s: ", now.file, (unsigned long)now.number, field);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

/* "a.b" or "a[3].b" in a buffer that lasts for a few calls. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static const char *path(const char *format, ...) {
    static char buffers[8][300];
    static int next;
    char *text = buffers[next++ % 8];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof buffers[0], format, list);
    va_end(list);
    return text;
}

static void *memory(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (!p) {
        fputs("replay: out of memory\n", stderr);
        exit(2);
    }
    return p;
}

/* Memory that is freed with its case. */
typedef struct block { struct block *next; long long align; } block;
static block *blocks;

static void *for_case(size_t size) {
    block *b = (block *)memory(sizeof *b + size);
    b->next = blocks;
    blocks = b;
    return b + 1;
}

static void free_case(void) {
    while (blocks) {
        block *b = blocks;
        blocks = b->next;
        free(b);
    }
}

/* ---- JSON: what is missing or null is NULL, and reads as 0, "" or an empty list ---- */

typedef yajl_val value;

static value get(value object, const char *key) {
    if (!YAJL_IS_OBJECT(object)) return NULL;
    for (size_t i = 0; i < object->u.object.len; i++)
        if (strcmp(object->u.object.keys[i], key) == 0)
            return YAJL_IS_NULL(object->u.object.values[i]) ? NULL : object->u.object.values[i];
    return NULL;
}

static size_t length(value list) { return YAJL_IS_ARRAY(list) ? list->u.array.len : 0; }

static value item(value list, size_t i) {
    value v = i < length(list) ? list->u.array.values[i] : NULL;
    return YAJL_IS_NULL(v) ? NULL : v;
}

static double number(value v) {
    return YAJL_IS_NUMBER(v) ? strtod(v->u.number.r, NULL) : 0;
}

static int64_t integer_or(value v, int64_t other) {
    if (YAJL_IS_TRUE(v)) return 1;
    if (!YAJL_IS_NUMBER(v)) return YAJL_IS_FALSE(v) ? 0 : other;
    return YAJL_IS_INTEGER(v) ? v->u.number.i : (int64_t)number(v);
}

static int64_t integer(value v) { return integer_or(v, 0); }
static bool is_true(value v) { return YAJL_IS_TRUE(v); }
static const char *said_of(value v) { return YAJL_IS_STRING(v) ? v->u.string : ""; }

/* Microseconds to ns. The vectors' times are whole ns, but for a double's last digits. */
static int64_t ns_of(value us) { return (int64_t)llround(number(us) * 1000); }

/* ---- Comparisons ---- */

static void same_integer(const char *field, int64_t got, value want) {
    if (got != integer(want))
        mismatch(field, "%lld, not %lld", (long long)got, (long long)integer(want));
}

static void same_bool(const char *field, bool got, value want) {
    if (got != is_true(want)) mismatch(field, "%s, not %s", got ? "true" : "false",
                                       got ? "false" : "true");
}

static void same_text(const char *field, const char *got, const char *want) {
    if (!got) got = "";
    if (strcmp(got, want) != 0) mismatch(field, "'%s', not '%s'", got, want);
}

static void same_time(const char *field, int64_t got_ns, value want_us) {
    if (got_ns != ns_of(want_us))
        mismatch(field, "%.3f us, not %.3f us", (double)got_ns / 1000, number(want_us));
}

static void same_ratio(const char *field, int64_t ns, uint64_t count, value want) {
    double got = count ? (double)ns / 1000 / (double)count : 0;
    if (fabs(got - number(want)) > 1e-9 * fmax(1, fabs(got)))
        mismatch(field, "%.12g, not %.12g", got, number(want));
}

/* Long texts: says where they part. */
static void same_lines(const char *field, const char *got, const char *want) {
    int line = 1;
    while (*got && *want && strcmp(got, want) != 0) {
        size_t g = strcspn(got, "\n"), w = strcspn(want, "\n");
        if (g != w || memcmp(got, want, g) != 0) break;
        got += g + (got[g] == '\n');
        want += w + (want[w] == '\n');
        line++;
    }
    if (strcmp(got, want) == 0) return;
    mismatch(field, "line %d\n    got  '%.*s'\n    want '%.*s'", line, (int)strcspn(got, "\n"), got,
             (int)strcspn(want, "\n"), want);
}

typedef struct text { char *data; size_t size; } text;

static bool text_write(void *user, const void *data, size_t size) {
    text *t = (text *)user;
    t->data = (char *)realloc(t->data, t->size + size + 1);
    if (!t->data) return false;
    if (size) memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
    return true;
}

static prof_sink text_sink(text *t) {
    prof_sink sink;
    memset(t, 0, sizeof *t);
    (void)text_write(t, "", 0);
    sink.write = text_write;
    sink.user = t;
    return sink;
}

/* What a writer gave against the text that is wanted. */
static void same_output(const char *field, prof_result result, text *got, value want) {
    if (result != PROF_OK) mismatch(field, "%s", prof_strerror(result));
    else if (!YAJL_IS_STRING(want)) mismatch(field, "an answer, not an error");
    else same_lines(field, got->data, said_of(want));
    free(got->data);
}

/* ---- Schedules ---- */

static const char *const action_names[] = {"NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"};

static const char *action_name(prof_action action) {
    return (unsigned)action < 4 ? action_names[action] : "no action";
}

static prof_action action_of(value name) {
    for (int i = 0; i < 4; i++)
        if (strcmp(said_of(name), action_names[i]) == 0) return (prof_action)i;
    return PROF_ACTION_NONE;
}

/* A count of a schedule; what no uint32_t holds becomes one that prof_start refuses. */
static uint32_t count_of(value args, const char *key) {
    int64_t n = integer(get(args, key));
    return n < 0 || n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static prof_schedule schedule_of(value args) {
    prof_schedule s;
    s.skip_first = count_of(args, "skip_first");
    s.wait = count_of(args, "wait");
    s.warmup = count_of(args, "warmup");
    s.active = count_of(args, "active");
    s.repeat = count_of(args, "repeat");
    s.skip_first_wait = integer(get(args, "skip_first_wait")) != 0;
    return s;
}

static void check_schedule(value c) {
    prof_schedule s = schedule_of(get(c, "args"));
    prof_desc desc;
    bool good;
    memset(&desc, 0, sizeof desc);
    desc.schedule = s;
    good = prof_start(&desc) == PROF_OK;
    prof_stop();
    if (!s.active) good = false;         /* all zero: no schedule */
    value want = get(c, "ok");
    if (good != (want != NULL)) mismatch("check", "%s", good ? "valid" : "invalid");
    for (size_t i = 0; i < length(want); i++)
        same_text(path("step %lu", (unsigned long)i), action_name(prof_schedule_action(&s, i)),
                  said_of(item(want, i)));
}

/* ---- The state machine: what a device and the handler see of a session ---- */

static struct {
    char calls[256];                     /* since the last step: "prepare start " */
    char steps[4096];                    /* of the window, as they should be: "#0 #1 " */
    bool open, step_open;                /* should the window be, and did the step begin in it */
    bool device_added;
    value log;
} machine;

static void machine_note(const char *call) {
    strncat(machine.calls, call, sizeof machine.calls - strlen(machine.calls) - 1);
}

static prof_result machine_prepare(void *user) {
    (void)user;
    machine_note("prepare ");
    return PROF_OK;
}

static prof_result machine_start(void *user) {
    (void)user;
    machine_note("start ");
    return PROF_OK;
}

static prof_result machine_stop(void *user) {
    (void)user;
    machine_note("stop ");
    return PROF_OK;
}

/* The steps in a trace, in order, against those that should be there. */
static void machine_steps(const prof_trace *trace, const char *want) {
    char got[4096] = "";
    size_t count;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (size_t i = 0; i < count; i++) {
        const prof_extra *x = events[i].extra;
        const char *name = x && x->trace_name ? x->trace_name : events[i].name;
        if (strncmp(name, "ProfilerStep#", 13) != 0) continue;
        strncat(got, name + 12, sizeof got - strlen(got) - 1);
        strncat(got, " ", sizeof got - strlen(got) - 1);
    }
    same_text("steps of the window", got, want);
}

static char machine_due[4096];           /* steps that the next trace should hold */

static void machine_ready(void *user, prof_trace *trace) {
    (void)user;
    machine_note("ready ");
    machine_steps(trace, machine_due);
}

static prof_action machine_pair(void *user, uint64_t step) {
    return action_of(get((value)user, step ? "second" : "first"));
}

static uint64_t machine_now(void *user) { return ++*(uint64_t *)user; }

/* Follows one line of the log: the calls that are wanted, and from them the steps of the window. */
static void machine_follow(value calls, char *want, size_t size) {
    want[0] = 0;
    for (size_t i = 0; i < length(calls); i++) {
        const char *call = said_of(item(calls, i)), *number_at = strchr(call, '#');
        if (strncmp(call, "rf_enter", 8) == 0) machine.step_open = machine.open;
        if (strncmp(call, "rf_exit", 7) == 0 && machine.open && machine.step_open && number_at) {
            strncat(machine.steps, number_at, sizeof machine.steps - strlen(machine.steps) - 2);
            strncat(machine.steps, " ", 2);
        }
        if (strcmp(call, "start") == 0) {
            machine.open = true;
            machine.step_open = false;
            machine.steps[0] = 0;
        }
        if (strcmp(call, "stop") == 0) {
            machine.open = false;
            memcpy(machine_due, machine.steps, sizeof machine_due);
        }
        if (strcmp(call, "prepare") && strcmp(call, "start") && strcmp(call, "stop") &&
            strcmp(call, "ready")) continue;
        strncat(want, call, size - strlen(want) - 2);
        strncat(want, " ", 2);
    }
}

static void machine_device(void) {
    prof_device_desc device;
    if (machine.device_added) return;
    memset(&device, 0, sizeof device);
    device.name = "replay";
    device.type = PROF_DEVICE_CUDA;
    device.activity = PROF_ACTIVITY_CUDA;
    device.prepare = machine_prepare;
    device.start = machine_start;
    device.stop = machine_stop;
    device.user = &machine;
    if (prof_add_device(&device) != PROF_OK) mismatch("prof_add_device", "failed");
    machine.device_added = true;
}

static void machine_line(value line, const prof_desc *desc, uint64_t *errors, const char **last) {
    const char *label = said_of(item(line, 0));
    char want[256];
    prof_trace *trace;
    machine.calls[0] = 0;
    machine_follow(item(line, 2), want, sizeof want);
    for (size_t i = 0; i < length(item(line, 3)); i++)
        *errors += strncmp(said_of(item(item(line, 3), i)), "Incorrect schedule", 18) == 0;
    if (strcmp(label, "start") == 0) {
        prof_result result = prof_start(desc);
        if (result != PROF_OK) mismatch(label, "%s", prof_strerror(result));
    } else if (strcmp(label, "stop") == 0) {
        trace = prof_stop();
        if (trace) machine_steps(trace, machine_due);
        else mismatch(label, "no trace");
    } else {
        *last = action_name(prof_step());
        same_text(path("%s: action", label), *last, said_of(item(line, 1)));
    }
    same_text(path("%s: calls", label), machine.calls, want);
    if ((uint64_t)prof_get_stats(NULL).schedule_errors != *errors)
        mismatch(path("%s: schedule_errors", label), "%lu, not %lu",
                 (unsigned long)prof_get_stats(NULL).schedule_errors, (unsigned long)*errors);
}

static void machine_run(value c, prof_desc *desc) {
    value log = get(c, "log");
    uint64_t clock = 0, errors = 0;
    const char *last = "";
    memset(machine_due, 0, sizeof machine_due);
    memset(machine.steps, 0, sizeof machine.steps);
    machine.open = machine.step_open = false;
    machine_device();
    desc->platform.now = machine_now;
    desc->platform.user = &clock;
    desc->on_trace_ready = machine_ready;
    if (get(c, "error") && prof_start(desc) == PROF_OK) mismatch("start", "no error");
    for (size_t i = 0; !get(c, "error") && i < length(log); i++)
        machine_line(item(log, i), desc, &errors, &last);
    (void)prof_stop();
}

static void check_machine(value c) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    if (get(c, "schedule")) desc.schedule = schedule_of(get(c, "schedule"));
    machine_run(c, &desc);
}

static void check_machine_pair(value c) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.schedule_fn = machine_pair;
    desc.user = c;
    machine_run(c, &desc);
}

/* ---- Figures as text ---- */

/* One row of one of the three lists. */
static void check_format(const char *list, value row) {
    char got[64];
    const char *want = said_of(item(row, 1));
    if (strcmp(list, "time") == 0) {
        format_time(got, sizeof got, number(item(row, 0)));
    } else if (strcmp(list, "memory") == 0) {
        format_memory(got, sizeof got, integer(item(row, 0)));
    } else {
        format_share(got, sizeof got, number(item(row, 0)), number(item(row, 1)));
        want = said_of(get(item(row, 2), "ok"));
    }
    same_text(path("%s of %s", list,
                   YAJL_IS_NUMBER(item(row, 0)) ? item(row, 0)->u.number.r : "?"), got, want);
}

/* ---- Shapes and FLOPs ---- */

/* A list of numbers is a tensor, a list of lists a list of tensors, anything else no tensor. */
static prof_shape shape_of(value v) {
    prof_shape s;
    size_t n = length(v);
    memset(&s, 0, sizeof s);
    s.count = (uint32_t)n;
    if (n && !YAJL_IS_NUMBER(item(v, 0))) {
        prof_shape *items = (prof_shape *)for_case(n * sizeof *items);
        for (size_t i = 0; i < n; i++) items[i] = shape_of(item(v, i));
        s.items = items;
    } else if (n) {
        int64_t *dims = (int64_t *)for_case(n * sizeof *dims);
        for (size_t i = 0; i < n; i++) dims[i] = integer(item(v, i));
        s.dims = dims;
    }
    return s;
}

static prof_shape *shapes_of(value v) {
    prof_shape *list = (prof_shape *)for_case((length(v) + 1) * sizeof *list);
    for (size_t i = 0; i < length(v); i++) list[i] = shape_of(item(v, i));
    return list;
}

/* A parameter: a list, or one number for all. */
static prof_shape parameter(value v) {
    prof_shape s = shape_of(v);
    if (YAJL_IS_NUMBER(v)) {
        int64_t *one = (int64_t *)for_case(sizeof *one);
        *one = integer(v);
        s.dims = one;
        s.count = 1;
    }
    return s;
}

static void same_flops(uint64_t got, value want) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)got);
    if (!want) same_text("flops", digits, "0");
    else if (YAJL_IS_INTEGER(want)) same_text("flops", digits, want->u.number.r);
    else if ((double)got != number(want)) mismatch("flops", "%s, not %g", digits, number(want));
}

static void check_with_flops(value c) {
    value shapes = get(c, "shapes");
    prof_flops_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.with_flops = true;
    desc.stride = parameter(get(c, "stride"));
    desc.padding = parameter(get(c, "padding"));
    desc.dilation = parameter(get(c, "dilation"));
    desc.groups = integer(get(c, "groups"));
    same_flops(prof_flops(said_of(get(c, "op")), shapes_of(shapes), (uint32_t)length(shapes),
                          &desc), get(c, "ok"));
}

/* A convolution's argument: by name, or by its place behind the tensors. */
static value argument(value c, const char *key, size_t place) {
    value named = get(get(c, "kwargs"), key);
    return named ? named : item(get(c, "args"), place);
}

static void check_flops(value c) {
    const char *op = said_of(get(c, "op"));
    bool backward = strstr(op, "_backward") != NULL;
    bool convolution = strstr(op, "convolution") != NULL;
    size_t tensors = backward ? 4 : 3;   /* the bias is one */
    value args = get(c, "args"), out = get(get(c, "kwargs"), "out_val");
    value mask = convolution ? argument(c, "output_mask", tensors + 6) : NULL;
    prof_shape result = shape_of(out);
    prof_flops_desc desc;
    memset(&desc, 0, sizeof desc);
    if (convolution) {
        desc.stride = parameter(argument(c, "stride", tensors));
        desc.padding = parameter(argument(c, "padding", tensors + 1));
        desc.dilation = parameter(argument(c, "dilation", tensors + 2));
        desc.transposed = is_true(argument(c, "transposed", tensors + 3));
        desc.groups = integer(argument(c, "groups", tensors + 5));
        desc.no_grad_input = length(mask) > 0 && !is_true(item(mask, 0));
        desc.no_grad_weight = length(mask) > 1 && !is_true(item(mask, 1));
        if (out && !backward) desc.output = &result;
    }
    same_flops(prof_flops(op, shapes_of(args), (uint32_t)length(args), &desc), get(c, "ok"));
}

/* ---- Events ---- */

static const char *const device_names[] = {
    "CPU", "CUDA", "MKLDNN", "OPENGL", "OPENCL", "IDEEP", "HIP", "FPGA", "MAIA", "XLA", "Vulkan",
    "Metal", "XPU", "MPS", "Meta", "HPU", "VE", "Lazy", "IPU", "MTIA", "PrivateUse1"
};
enum { DEVICES = sizeof device_names / sizeof device_names[0] };

static const char *device_name(uint8_t type) {
    return path("DeviceType.%s", type < DEVICES ? device_names[type] : "?");
}

/* A number, or a name with or without `DeviceType.` */
static uint8_t device_type_of(value v) {
    const char *name = said_of(v);
    uint8_t type = 0;
    if (!YAJL_IS_STRING(v)) return (uint8_t)integer(v);
    if (strncmp(name, "DeviceType.", 11) == 0) name += 11;
    for (; type < DEVICES; type++) {
        size_t i = 0;
        while (name[i] && tolower((unsigned char)name[i]) ==
                              tolower((unsigned char)device_names[type][i])) i++;
        if (!name[i] && !device_names[type][i]) return type;
    }
    mismatch("device_type", "'%s' is none", name);
    return 0;
}

static const char **texts_of(value v) {
    const char **list = (const char **)for_case((length(v) + 1) * sizeof *list);
    for (size_t i = 0; i < length(v); i++) list[i] = said_of(item(v, i));
    return list;
}

static prof_kernel *kernels_of(value v) {
    prof_kernel *list = (prof_kernel *)for_case((length(v) + 1) * sizeof *list);
    for (size_t i = 0; i < length(v); i++) {
        list[i].name = said_of(item(item(v, i), 0));
        list[i].device = (int32_t)integer(item(item(v, i), 1));
        list[i].duration_ns = ns_of(item(item(v, i), 2));
    }
    return list;
}

static uint16_t flag_if(value v, uint16_t flag) { return is_true(v) ? flag : 0; }

/* The fields that all forms of an event share. */
static prof_extra *extra_of(value e, prof_event *event) {
    prof_extra *x = (prof_extra *)for_case(sizeof *x);
    value shapes = get(e, "input_shapes") ? get(e, "input_shapes") : get(e, "shapes");
    memset(event, 0, sizeof *event);
    event->name = said_of(get(e, "name"));
    event->extra = x;
    event->device_type = device_type_of(get(e, "device_type"));
    event->flags = (uint16_t)(flag_if(get(e, "is_async"), PROF_EVENT_ASYNC) |
                              flag_if(get(e, "is_remote"), PROF_EVENT_REMOTE) |
                              flag_if(get(e, "is_legacy"), PROF_EVENT_LEGACY) |
                              flag_if(get(e, "is_user_annotation"), PROF_EVENT_USER_ANNOTATION));
    if (get(e, "node_id")) x->has |= PROF_HAS_NODE_ID;
    if (get(e, "sequence_nr")) x->has |= PROF_HAS_SEQUENCE_NR;
    if (get(e, "fwd_thread")) x->has |= PROF_HAS_FWD_THREAD;
    x->node_id = (int32_t)integer(get(e, "node_id"));
    x->sequence_nr = integer(get(e, "sequence_nr"));
    x->fwd_thread = (uint64_t)integer(get(e, "fwd_thread"));
    x->scope = (uint8_t)integer(get(e, "scope"));
    x->flops = integer(get(e, "flops"));
    x->overload_name = said_of(get(e, "overload_name"));
    x->input_shapes = shapes_of(shapes);
    x->input_count = (uint32_t)length(shapes);
    x->stack = texts_of(get(e, "stack"));
    x->stack_count = (uint32_t)length(get(e, "stack"));
    x->kernels = kernels_of(get(e, "kernels"));
    x->kernel_count = (uint32_t)length(get(e, "kernels"));
    x->cpu_memory_usage = integer(get(e, "cpu_memory_usage"));
    x->device_memory_usage = integer(get(e, "device_memory_usage"));
    return x;
}

static void set_id(prof_extra *x, value id) {
    if (!id) return;
    x->has |= PROF_HAS_ID;
    x->id = integer(id);
}

static void event_of(value e, prof_event *event) {
    prof_extra *x = extra_of(e, event);
    set_id(x, get(e, "id"));
    x->trace_name = said_of(get(e, "trace_name"));   /* PyTorch's None: left out of legacy traces */
    event->start_ns = ns_of(get(e, "start_us"));
    event->end_ns = ns_of(get(e, "end_us"));
}

/* Thread ids as indices. */
typedef struct threads { prof_thread_info *list; size_t count; } threads;

static uint32_t thread_of(threads *t, value id) {
    uint64_t n = (uint64_t)integer(id);
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].id == n) return (uint32_t)i;
    t->list[t->count].id = n;
    t->list[t->count].name = NULL;
    return (uint32_t)t->count++;
}

/* Makes the trace of a case; NULL: could not. */
static prof_trace *trace_of(prof_trace_desc *desc, const threads *t, const prof_event *events,
                            size_t count) {
    prof_trace *trace = NULL;
    prof_result result;
    desc->threads = t->list;
    desc->thread_count = t->count;
    desc->memory_size = prof_trace_memory_size(desc, events, count);
    desc->memory = for_case(desc->memory_size);
    result = prof_trace_from_events(desc, events, count, &trace);
    if (result != PROF_OK) mismatch("prof_trace_from_events", "%s", prof_strerror(result));
    return result == PROF_OK ? trace : NULL;
}

/* ---- What is known of events and averages, against the answer ---- */

static void shapes_text(text *t, const prof_shape *list, uint32_t count) {
    char digits[24];
    text_write(t, "[", 1);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_write(t, ", ", 2);
        if (list[i].items) {
            shapes_text(t, list[i].items, list[i].count);
            continue;
        }
        text_write(t, "[", 1);
        for (uint32_t d = 0; d < list[i].count; d++) {
            int n = snprintf(digits, sizeof digits, d ? ", %lld" : "%lld",
                             (long long)list[i].dims[d]);
            text_write(t, digits, (size_t)n);
        }
        text_write(t, "]", 1);
    }
    text_write(t, "]", 1);
}

static void same_shapes(const char *field, const prof_shape *list, uint32_t count, value want) {
    const char *text_wanted = said_of(want);
    text got;
    if (strcmp(text_wanted, "None") == 0) text_wanted = count ? "" : "[]";   /* of no events */
    (void)text_sink(&got);
    if (count != PROF_NONE) shapes_text(&got, list, count);
    same_text(field, got.data, text_wanted);
    free(got.data);
}

static void same_texts(const char *field, const char *const *list, size_t count, value want) {
    if (count != length(want)) {
        mismatch(field, "%lu entries, not %lu", (unsigned long)count, (unsigned long)length(want));
        return;
    }
    for (size_t i = 0; i < count; i++)
        same_text(path("%s[%lu]", field, (unsigned long)i), list[i], said_of(item(want, i)));
}

static void same_kernels(const char *field, const prof_trace *trace, const prof_event *e,
                         value want) {
    prof_kernel got[64];
    size_t count = prof_event_kernels(trace, e, got, 64);
    if (count != length(want)) {
        mismatch(field, "%lu, not %lu", (unsigned long)count, (unsigned long)length(want));
        return;
    }
    for (size_t i = 0; i < count && i < 64; i++) {
        value k = item(want, i);
        same_text(path("%s[%lu].name", field, (unsigned long)i), got[i].name, said_of(item(k, 0)));
        same_integer(path("%s[%lu].device", field, (unsigned long)i), got[i].device, item(k, 1));
        same_time(path("%s[%lu].duration", field, (unsigned long)i), got[i].duration_ns,
                  item(k, 2));
    }
}

static void same_average(const char *field, const prof_average *a, value want) {
#define AT(name) path("%s.%s", field, name), a
    same_text(AT("key")->key, said_of(get(want, "key")));
    same_integer(AT("count")->count ? (int64_t)a->count : 0, get(want, "count"));
    same_integer(AT("node_id")->node_id, get(want, "node_id"));
    same_text(path("%s.device_type", field), device_name(a->device_type),
              said_of(get(want, "device_type")));
    same_bool(AT("is_legacy")->is_legacy, get(want, "is_legacy"));
    same_bool(AT("is_user_annotation")->is_user_annotation, get(want, "is_user_annotation"));
    same_bool(AT("is_async")->is_async, get(want, "is_async"));
    same_bool(AT("is_remote")->is_remote, get(want, "is_remote"));
    same_text(AT("overload_name")->overload_name, said_of(get(want, "overload_name")));
    same_shapes(AT("input_shapes")->input_shapes, a->input_count, get(want, "input_shapes"));
    same_texts(AT("stack")->stack, a->stack_count, get(want, "stack"));
    same_integer(AT("scope")->scope, get(want, "scope"));
    same_time(AT("cpu_time_total")->cpu_time_total_ns, get(want, "cpu_time_total"));
    same_time(AT("self_cpu_time_total")->self_cpu_time_total_ns, get(want, "self_cpu_time_total"));
    same_time(AT("device_time_total")->device_time_total_ns, get(want, "device_time_total"));
    same_time(AT("self_device_time_total")->self_device_time_total_ns,
              get(want, "self_device_time_total"));
    same_ratio(AT("cpu_time")->cpu_time_total_ns, a->count, get(want, "cpu_time"));
    same_ratio(AT("device_time")->device_time_total_ns, a->count, get(want, "device_time"));
    same_integer(AT("cpu_memory_usage")->cpu_memory_usage, get(want, "cpu_memory_usage"));
    same_integer(AT("self_cpu_memory_usage")->self_cpu_memory_usage,
                 get(want, "self_cpu_memory_usage"));
    same_integer(AT("device_memory_usage")->device_memory_usage, get(want, "device_memory_usage"));
    same_integer(AT("self_device_memory_usage")->self_device_memory_usage,
                 get(want, "self_device_memory_usage"));
    same_integer(AT("flops")->flops, get(want, "flops"));
#undef AT
}

static prof_averages_desc grouping_of(value v) {
    prof_averages_desc d;
    memset(&d, 0, sizeof d);
    d.group_by_input_shapes = is_true(get(v, "group_by_input_shapes"));
    d.group_by_overload_name = is_true(get(v, "group_by_overload_name"));
    d.group_by_stack_n = (uint32_t)integer(get(v, "group_by_stack_n"));
    return d;
}

static void same_averages(const char *field, const prof_trace *trace,
                          const prof_averages_desc *desc, value want) {
    size_t count = prof_key_averages(trace, desc, NULL, 0);
    prof_average *rows = (prof_average *)for_case((count + 1) * sizeof *rows);
    if (prof_key_averages(trace, desc, rows, count) != count || count != length(want)) {
        mismatch(field, "%lu rows, not %lu", (unsigned long)count, (unsigned long)length(want));
        return;
    }
    for (size_t i = 0; i < count; i++)
        same_average(path("%s[%lu]", field, (unsigned long)i), rows + i, item(want, i));
}

/* ---- Tables and files ---- */

/* A width or limit: missing is the default, null and -1 are no limit. */
static uint32_t limit_of(value args, const char *key) {
    int64_t n = integer_or(get(args, key), -1);
    for (size_t i = 0; YAJL_IS_OBJECT(args) && i < args->u.object.len; i++)
        if (strcmp(args->u.object.keys[i], key) == 0) return n < 0 ? UINT32_MAX : (uint32_t)n;
    return 0;
}

static void check_table(const prof_trace *trace, value table) {
    value args = get(table, "args"), unit = get(args, "time_unit");
    prof_averages_desc grouping = grouping_of(get(table, "key_averages"));
    prof_table_desc desc;
    text got;
    prof_sink sink = text_sink(&got);
    memset(&desc, 0, sizeof desc);
    desc.hide_notes = true;
    if (get(table, "key_averages")) desc.averages = &grouping;
    if (get(args, "sort_by") && !metric_from_text(said_of(get(args, "sort_by")), &desc.sort_by))
        mismatch("sort_by", "'%s' is no metric", said_of(get(args, "sort_by")));
    desc.row_limit = limit_of(args, "row_limit");
    desc.max_name_column_width = limit_of(args, "max_name_column_width");
    desc.max_src_column_width = limit_of(args, "max_src_column_width");
    desc.max_shapes_column_width = limit_of(args, "max_shapes_column_width");
    if (get(args, "header")) desc.header = said_of(get(args, "header"));
    desc.top_level_events_only = is_true(get(args, "top_level_events_only"));
    desc.time_unit = !unit ? PROF_TIME_AUTO : strcmp(said_of(unit), "us") == 0 ? PROF_TIME_US
                   : strcmp(said_of(unit), "ms") == 0 ? PROF_TIME_MS : PROF_TIME_S;
    same_output(path("table %s", said_of(get(table, "name"))),
                prof_write_table(trace, &desc, sink), &got, get(table, "ok"));
}

static void check_stacks(const prof_trace *trace, value stacks) {
    for (size_t i = 0; YAJL_IS_OBJECT(stacks) && i < stacks->u.object.len; i++) {
        const char *name = stacks->u.object.keys[i];
        prof_metric metric = PROF_METRIC_NONE;
        text got;
        prof_sink sink = text_sink(&got);
        if (!metric_from_text(name, &metric)) mismatch(name, "is no metric");
        same_output(path("stacks %s", name), prof_write_event_stacks(trace, metric, sink), &got,
                    get(stacks->u.object.values[i], "ok"));
    }
}

/* The next event of that phase at or after *i; NULL: none. */
static value next_of(value list, size_t *i, const char *phase) {
    while (*i < length(list)) {
        value e = item(list, (*i)++);
        if (strcmp(said_of(get(e, "ph")), phase) == 0) return e;
    }
    return NULL;
}

static void same_chrome_event(const char *field, value got, value want) {
    value tid = get(want, "tid");
    same_text(path("%s.name", field), said_of(get(got, "name")), said_of(get(want, "name")));
    same_text(path("%s.pid", field), said_of(get(got, "pid")), said_of(get(want, "pid")));
    same_time(path("%s.ts", field), ns_of(get(got, "ts")), get(want, "ts"));
    same_time(path("%s.dur", field), ns_of(get(got, "dur")), get(want, "dur"));
    if (YAJL_IS_STRING(tid))
        same_text(path("%s.tid", field), said_of(get(got, "tid")), said_of(tid));
    else if (!YAJL_IS_NUMBER(get(got, "tid"))) mismatch(path("%s.tid", field), "is no number");
    else same_integer(path("%s.tid", field), integer(get(got, "tid")), tid);
}

/* Where arrows begin: PyTorch writes one for each kernel of each event, and no end. */
static void same_flow(const char *field, const prof_trace *trace, const prof_event *e,
                      const char *device, value want) {
    const prof_extra *x = e->extra;
    same_text(path("%s.name", field), x->trace_name ? x->trace_name : e->name,
              said_of(get(want, "name")));
    same_time(path("%s.ts", field), e->start_ns, get(want, "ts"));
    same_integer(path("%s.tid", field), (int64_t)prof_threads(trace, NULL)[e->thread].id,
                 get(want, "tid"));
    same_text(path("%s.cat", field), path("cpu_to_%s", device), said_of(get(want, "cat")));
    same_text(path("%s.pid", field), "CPU functions", said_of(get(want, "pid")));
}

static void check_flows(const prof_trace *trace, const char *device, value want) {
    size_t count, at = 0;
    int64_t id = 0;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (size_t i = 0; i < count; i++) {
        const prof_extra *x = events[i].extra;
        size_t kernels = prof_event_kernels(trace, events + i, NULL, 0);
        for (; x && !(x->trace_name && !*x->trace_name) && kernels; kernels--, id++) {
            value flow = next_of(want, &at, "s");
            const char *field = path("legacy_chrome flow[%ld]", (long)id);
            same_integer(path("%s.id", field), id, get(flow, "id"));
            same_flow(field, trace, events + i, device, flow);
        }
    }
    if (next_of(want, &at, "s"))
        mismatch("legacy_chrome", "%ld kernels, then another flow", (long)id);
}

/* What is written has both ends: the kernel is an event, too. */
static void check_written_flows(value list) {
    size_t i = 0, j = 0;
    value start, end;
    while ((start = next_of(list, &i, "s")) != NULL) {
        end = next_of(list, &j, "f");
        same_text("legacy_chrome f.bp", said_of(get(end, "bp")), "e");
        same_integer("legacy_chrome f.id", integer(get(end, "id")), get(start, "id"));
    }
    if (next_of(list, &j, "f")) mismatch("legacy_chrome", "a flow without a start");
}

static void check_legacy_chrome(const prof_trace *trace, const char *device, value want) {
    char error[256] = "";
    text got;
    prof_sink sink = text_sink(&got);
    prof_chrome_desc desc = { PROF_CHROME_LEGACY, PROF_CHROME_SOURCE_AUTO };
    prof_result result = prof_write_chrome(trace, &desc, sink);
    value parsed = yajl_tree_parse(got.data, error, sizeof error);
    size_t i = 0, j = 0, number_of = 0;
    if (result != PROF_OK) mismatch("legacy_chrome", "%s", prof_strerror(result));
    else if (!YAJL_IS_ARRAY(parsed)) mismatch("legacy_chrome", "is no JSON array: %s", error);
    else
        for (;; number_of++) {
            value a = next_of(parsed, &i, "X"), b = next_of(want, &j, "X");
            if (!a != !b) mismatch("legacy_chrome", "%lu X events, then %s",
                                   (unsigned long)number_of, a ? "too many" : "too few");
            if (!a || !b) break;
            same_chrome_event(path("legacy_chrome X[%lu]", (unsigned long)number_of), a, b);
        }
    check_flows(trace, device, want);
    check_written_flows(parsed);
    yajl_tree_free(parsed);
    free(got.data);
}

/* ---- Lists of events ---- */

/* Children as a list of indices. */
static void same_children(const char *field, const prof_event *events, const prof_event *e,
                          value want) {
    size_t n = 0;
    for (uint32_t child = e->first_child; child != PROF_NONE; child = events[child].next_sibling)
        if (n >= length(want) || integer(item(want, n++)) != (int64_t)child) n = SIZE_MAX / 2;
    if (n != length(want)) mismatch(field, "are others than the %lu", (unsigned long)length(want));
}

static void same_parent(const char *field, const prof_event *e, value want) {
    int64_t got = e->parent == PROF_NONE ? -1 : (int64_t)e->parent;
    if (got != integer_or(want, -1))
        mismatch(field, "%lld, not %lld", (long long)got, (long long)integer_or(want, -1));
}

static void check_kept(const prof_trace *trace, const prof_event *events, size_t i, value ok) {
    const prof_event *e = events + i;
    prof_event_totals t = prof_event_total(trace, e);
    const prof_extra *x = e->extra;
    char field[32];
    snprintf(field, sizeof field, "event[%lu]", (unsigned long)i);
#define AT(name, key) path("%s.%s", field, name), key
#define WANT(key) item(get(ok, key), i)
    if (!x) {
        mismatch(field, "has lost its extra");
        return;
    }
    same_integer(AT("id", x->id), WANT("kept"));
    same_parent(path("%s.parent", field), e, WANT("parent"));
    same_children(path("%s.children", field), events, e, WANT("children"));
    same_kernels(path("%s.kernels", field), trace, e, WANT("kernels"));
    same_time(AT("self_cpu", t.self_cpu_time_total_ns), WANT("self_cpu"));
    same_time(AT("cpu", t.cpu_time_total_ns), WANT("cpu"));
    same_time(AT("dev", t.device_time_total_ns), WANT("dev"));
    same_time(AT("self_dev", t.self_device_time_total_ns), WANT("self_dev"));
    same_integer(AT("self_cpu_mem", t.self_cpu_memory_usage), WANT("self_cpu_mem"));
    same_integer(AT("self_dev_mem", t.self_device_memory_usage), WANT("self_dev_mem"));
    same_texts(AT("stack", x->stack), x->stack_count, WANT("stack"));
#undef AT
#undef WANT
}

static void check_kept_events(const prof_trace *trace, value ok) {
    size_t count;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    int64_t self = 0;
    if (count != length(get(ok, "kept"))) {
        mismatch("events", "%lu kept, not %lu", (unsigned long)count,
                 (unsigned long)length(get(ok, "kept")));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        prof_event_totals t = prof_event_total(trace, events + i);
        check_kept(trace, events, i, ok);
        self += t.self_cpu_time_total_ns;
    }
    same_time("self_cpu_time_total", self, get(ok, "self_cpu_time_total"));
}

static void check_answers(const prof_trace *trace, const char *device, value ok) {
    static const struct { const char *name; prof_averages_desc desc; } groupings[] = {
        {"plain", {false, false, 0, false, false}}, {"shapes", {true, false, 0, false, false}},
        {"stack2", {false, false, 2, false, false}}, {"overload", {false, true, 0, false, false}}};
    prof_average total = prof_total_average(trace);
    for (size_t i = 0; i < 4; i++)
        same_averages(path("averages.%s", groupings[i].name), trace, &groupings[i].desc,
                      get(get(ok, "averages"), groupings[i].name));
    same_average("total", &total, get(ok, "total"));
    for (size_t i = 0; i < length(get(ok, "tables")); i++)
        check_table(trace, item(get(ok, "tables"), i));
    check_stacks(trace, get(ok, "stacks"));
    check_legacy_chrome(trace, device, get(get(ok, "legacy_chrome"), "ok"));
}

static void check_event_list(value c) {
    value list = get(c, "events");
    size_t count = length(list);
    prof_event *events = (prof_event *)for_case((count + 1) * sizeof *events);
    threads t;
    prof_trace_desc desc;
    prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    t.list = (prof_thread_info *)for_case((count + 1) * sizeof *t.list);
    t.count = 0;
    if (get(c, "use_device")) desc.view.device_name = said_of(get(c, "use_device"));
    desc.view.profile_memory = is_true(get(c, "profile_memory"));
    desc.view.with_flops = is_true(get(c, "with_flops"));
    for (size_t i = 0; i < count; i++) {
        event_of(item(list, i), events + i);
        events[i].thread = thread_of(&t, get(item(list, i), "thread"));
    }
    trace = trace_of(&desc, &t, events, count);
    if (!trace) return;
    check_kept_events(trace, get(c, "ok"));
    check_answers(trace, get(c, "use_device") ? said_of(get(c, "use_device")) : "cuda",
                  get(c, "ok"));
}

/* ---- Raw events of Kineto ---- */

extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status);

static const char *demangle(const char *name) {
    char *found = __cxa_demangle(name, NULL, NULL, NULL), *copy = NULL;
    if (!found) return NULL;
    copy = (char *)for_case(strlen(found) + 1);
    memcpy(copy, found, strlen(found));
    free(found);
    return copy;
}

static bool on_device(uint8_t type) {
    return type != PROF_DEVICE_CPU && type != PROF_DEVICE_MKLDNN && type != PROF_DEVICE_IDEEP;
}

static void raw_event_of(value e, prof_event *event, int64_t base_ns) {
    prof_extra *x = extra_of(e, event);
    value end_thread = get(e, "end_thread_id"), bytes = get(e, "nbytes");
    set_id(x, get(e, "correlation_id"));
    event->start_ns = integer(get(e, "start_ns")) - base_ns;
    event->end_ns = integer(get(e, "end_ns")) - base_ns;
    if (end_thread) x->has |= PROF_HAS_END_THREAD;
    x->end_thread = (uint64_t)integer(end_thread);
    if (integer(get(e, "linked_correlation_id"))) x->has |= PROF_HAS_LINK;
    x->linked_correlation_id = integer(get(e, "linked_correlation_id"));
    if (get(e, "device_index")) x->has |= PROF_HAS_DEVICE_INDEX;
    x->device_index = (int32_t)integer(get(e, "device_index"));
    x->device_resource_id = integer(get(e, "device_resource_id"));
    if (!bytes) return;
    if (on_device(event->device_type)) x->device_memory_usage = integer(bytes);
    else x->cpu_memory_usage = integer(bytes);
}

static void check_raw_event(const prof_trace *trace, const prof_event *events, size_t i,
                            value want) {
    const prof_event *e = events + i;
    const prof_extra *x = e->extra;
    prof_event_totals t = prof_event_total(trace, e);
    char field[32];
    snprintf(field, sizeof field, "event[%lu]", (unsigned long)i);
#define AT(name) path("%s.%s", field, name)
    same_integer(AT("id"), x && x->has & PROF_HAS_ID ? x->id : 0, get(want, "id"));
    same_text(AT("name"), e->name, said_of(get(want, "name")));
    if (get(want, "trace_name"))
        same_text(AT("trace_name"), x && x->trace_name ? x->trace_name : e->name,
                  said_of(get(want, "trace_name")));
    same_integer(AT("thread"), (int64_t)prof_threads(trace, NULL)[e->thread].id,
                 get(want, "thread"));
    same_time(AT("start"), e->start_ns, get(want, "start"));
    same_time(AT("end"), e->end_ns, get(want, "end"));
    same_bool(AT("is_async"), (e->flags & PROF_EVENT_ASYNC) != 0, get(want, "is_async"));
    same_text(AT("device"), device_name(e->device_type), said_of(get(want, "device")));
    same_integer(AT("cpu_mem"), t.cpu_memory_usage, get(want, "cpu_mem"));
    same_integer(AT("dev_mem"), t.device_memory_usage, get(want, "dev_mem"));
    same_kernels(AT("kernels"), trace, e, get(want, "kernels"));
    same_parent(AT("parent"), e, get(want, "parent"));
    same_time(AT("self_cpu"), t.self_cpu_time_total_ns, get(want, "self_cpu"));
    same_time(AT("dev"), t.device_time_total_ns, get(want, "dev"));
#undef AT
}

static void check_raw_answers(const prof_trace *trace, value ok) {
    prof_table_desc desc;
    prof_averages_desc plain;
    text got;
    prof_sink sink = text_sink(&got);
    size_t count;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    memset(&desc, 0, sizeof desc);
    memset(&plain, 0, sizeof plain);
    if (count != length(get(ok, "events")))
        mismatch("events", "%lu, not %lu", (unsigned long)count,
                 (unsigned long)length(get(ok, "events")));
    for (size_t i = 0; i < count && i < length(get(ok, "events")); i++)
        check_raw_event(trace, events, i, item(get(ok, "events"), i));
    same_averages("averages", trace, &plain, get(ok, "averages"));
    desc.averages = &plain;
    desc.hide_notes = true;
    desc.sort_by = PROF_METRIC_CPU_TIME_TOTAL;
    same_output("table", prof_write_table(trace, &desc, sink), &got, get(get(ok, "table"), "ok"));
}

static void check_kineto_events(value c) {
    value list = get(c, "events");
    size_t count = length(list);
    prof_event *events = (prof_event *)for_case((count + 1) * sizeof *events);
    threads t;
    prof_trace_desc desc;
    kineto_events parsed;
    prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    t.list = (prof_thread_info *)for_case((count + 1) * sizeof *t.list);
    t.count = 0;
    if (get(c, "use_device")) desc.view.device_name = said_of(get(c, "use_device"));
    desc.view.profile_memory = true;
    for (size_t i = 0; i < count; i++) {
        raw_event_of(item(list, i), events + i, integer(get(c, "trace_start_ns")));
        events[i].thread = thread_of(&t, get(item(list, i), "start_thread_id"));
    }
    desc.threads = t.list;
    desc.thread_count = t.count;
    parsed = kineto_parse(&desc, events, count, demangle);
    trace = parsed.memory ? trace_of(&desc, &t, parsed.events, parsed.count) : NULL;
    if (trace) check_raw_answers(trace, get(c, "ok"));
    else mismatch("events", "no memory");
    free(parsed.memory);
}

/* ---- The older stream of records, by the reader of the prof command ---- */

static void write_value(output *out, value v) {
    bool object = YAJL_IS_OBJECT(v);
    size_t count = object ? v->u.object.len : length(v);
    if (!object && !YAJL_IS_ARRAY(v)) {
        if (YAJL_IS_STRING(v)) output_json_text(out, said_of(v), strlen(said_of(v)));
        else output_text(out, YAJL_IS_NUMBER(v) ? v->u.number.r : YAJL_IS_TRUE(v) ? "true" :
                         YAJL_IS_FALSE(v) ? "false" : "null");
        return;
    }
    output_text(out, object ? "{" : "[");
    for (size_t i = 0; i < count; i++) {
        if (i) output_text(out, ",");
        if (object) output_json_text(out, v->u.object.keys[i], strlen(v->u.object.keys[i]));
        if (object) output_text(out, ":");
        write_value(out, object ? v->u.object.values[i] : v->u.array.values[i]);
    }
    output_text(out, object ? "}" : "]");
}

static value parse_case(trace_text json) {
    char *copy = (char *)for_case(json.size + 1);
    memcpy(copy, json.data, json.size);
    return yajl_tree_parse(copy, NULL, 0);
}

/* "a;b" as a list. */
static void split_stack(prof_extra *x, const char *joined) {
    size_t size = strlen(joined);
    char *copy = (char *)for_case(size + 1), *end;
    const char **stack = (const char **)for_case((size + 1) * sizeof *stack);
    memcpy(copy, joined, size);
    x->stack = stack;
    while (*copy) {
        stack[x->stack_count++] = copy;
        if (!(end = strchr(copy, ';'))) break;
        *end = 0;
        copy = end + 1;
    }
}

/* An event of the reader as the library's; root: its arguments, to be freed with the case. */
static void read_event(prof_event *e, const trace_event *from, value root) {
    char *name = (char *)for_case(from->name.size + 1);
    value args = get(root, "args");
    prof_extra *x = extra_of(args, e);
    memcpy(name, from->name.data, from->name.size);
    e->name = strncmp(name, "ProfilerStep#", 13) == 0 ? "ProfilerStep*" : name;
    x->trace_name = strcmp(name, "[memory]") == 0 ? "" : name;
    set_id(x, get(args, "External id"));
    e->start_ns = from->ts_ns;
    e->end_ns = from->ts_ns + from->dur_ns;
    e->flags |= (uint16_t)(from->is_async ? PROF_EVENT_ASYNC : 0);
    if (get(args, "Node ID")) x->has |= PROF_HAS_NODE_ID;
    x->node_id = (int32_t)integer(get(args, "Node ID"));
    if (get(args, "Sequence number")) x->has |= PROF_HAS_SEQUENCE_NR;
    x->sequence_nr = integer(get(args, "Sequence number"));
    x->flops = integer(get(args, "Flops"));
    x->input_shapes = shapes_of(get(args, "Input Dims"));
    x->input_count = (uint32_t)length(get(args, "Input Dims"));
    split_stack(x, said_of(get(args, "Call stack")));
}

typedef struct stream {
    struct read_one { prof_event event; value root; } *list;   /* root: what its texts point into */
    size_t count, capacity;
} stream;

static void read_stream(stream *s, const char *file) {
    trace_reader *reader = trace_open(file);
    if (reader) reader->with_text = true;
    while (reader && trace_next(reader) != TRACE_END) {
        if (reader->item != TRACE_EVENT || reader->event->phase != 'X') continue;
        GROW(s->list, s->count, s->capacity);
        s->list[s->count].root = parse_case(reader->event->raw);
        read_event(&s->list[s->count].event, reader->event, s->list[s->count].root);
        s->count++;
    }
    if (!reader || trace_close(reader) != EXIT_OK) mismatch("reader", "failed");
}

static prof_trace *stream_trace(const stream *s, prof_trace_desc *desc) {
    prof_event *events = (prof_event *)for_case((s->count + 1) * sizeof *events);
    threads t = { NULL, 0 };
    t.list = (prof_thread_info *)for_case((s->count + 1) * sizeof *t.list);
    for (size_t i = 0; i < s->count; i++) {
        events[i] = s->list[i].event;
        events[i].thread = thread_of(&t, get(s->list[i].root, "tid"));
    }
    return trace_of(desc, &t, events, s->count);
}

static void stream_free(stream *s) {
    for (size_t i = 0; i < s->count; i++) yajl_tree_free(s->list[i].root);
    free(s->list);
}

/* The case as a file of its own, without the answer. */
static void stream_of(stream *s, value c) {
    const char *folder = getenv("TMPDIR");
    char file[1024];
    output out;
    int fd, n = snprintf(file, sizeof file, "%s/prof_replay_XXXXXX",
                         folder && *folder ? folder : "/tmp");
    fd = n < (int)sizeof file ? mkstemp(file) : -1;
    memset(s, 0, sizeof *s);
    if (fd < 0 || !output_open(&out, file)) {
        mismatch("file", "cannot be made");
        return;
    }
    close(fd);
    output_text(&out, "{\"use_device\": ");
    write_value(&out, get(c, "use_device"));
    output_text(&out, ", \"threads\": ");
    write_value(&out, get(c, "threads"));
    output_text(&out, "}\n");
    if (output_close(&out, EXIT_OK) == EXIT_OK) read_stream(s, file);
    unlink(file);
    inputs_forget();                                 /* its number may be the next file's */
}

static void same_shape_list(const char *field, const prof_shape *list, uint32_t count,
                            value want) {
    text a, b;
    (void)text_sink(&a);
    (void)text_sink(&b);
    shapes_text(&a, list, count);
    shapes_text(&b, shapes_of(want), (uint32_t)length(want));
    same_text(field, a.data, b.data);
    free(a.data);
    free(b.data);
}

static void check_stream_event(const prof_trace *trace, const prof_event *e, size_t i, value want) {
    const prof_extra *x = e->extra;
    char field[32];
    snprintf(field, sizeof field, "event[%lu]", (unsigned long)i);
#define AT(name, key) path("%s.%s", field, name), key
    same_integer(AT("id", x->id), get(want, "id"));
    same_text(AT("name", e->name), said_of(get(want, "name")));
    same_text(AT("trace_name", x->trace_name), said_of(get(want, "trace_name")));
    same_integer(AT("thread", (int64_t)prof_threads(trace, NULL)[e->thread].id),
                 get(want, "thread"));
    same_time(AT("start", e->start_ns), get(want, "start"));
    same_time(AT("end", e->end_ns), get(want, "end"));
    same_shape_list(AT("input_shapes", x->input_shapes), x->input_count, get(want, "input_shapes"));
    same_texts(AT("stack", x->stack), x->stack_count, get(want, "stack"));
    same_bool(AT("is_async", (e->flags & PROF_EVENT_ASYNC) != 0), get(want, "is_async"));
    same_integer(AT("cpu_mem", x->cpu_memory_usage), get(want, "cpu_mem"));
    same_integer(AT("dev_mem", x->device_memory_usage), get(want, "dev_mem"));
    same_kernels(AT("kernels", trace), e, get(want, "kernels"));
    same_integer(AT("sequence_nr", x->has & PROF_HAS_SEQUENCE_NR ? x->sequence_nr : -1),
                 get(want, "sequence_nr"));
    same_integer(AT("flops", x->flops), get(want, "flops"));
#undef AT
}

/* The trace lacks those that were merged into a parent of their name. */
static void same_stream(const prof_trace *trace, value want) {
    size_t count, at = 0;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (size_t i = 0; i < length(want); i++) {
        const prof_extra *x = at < count ? events[at].extra : NULL;
        if (x && x->id == integer(get(item(want, i), "id")) &&
            events[at].start_ns == ns_of(get(item(want, i), "start")))
            check_stream_event(trace, events + at++, i, item(want, i));
    }
    if (at != count)
        mismatch("events", "%lu of %lu are in the list", (unsigned long)at, (unsigned long)count);
}

static void check_legacy_records(value c) {
    stream s;
    prof_trace_desc desc;
    prof_trace *trace;
    memset(&desc, 0, sizeof desc);
    if (get(c, "use_device")) desc.view.device_name = said_of(get(c, "use_device"));
    stream_of(&s, c);
    trace = stream_trace(&s, &desc);
    if (trace) same_stream(trace, get(get(c, "ok"), "events"));
    stream_free(&s);
}

/* ---- Canonical text ---- */

/* ---- Files ---- */

static char *read_file(const char *name) {
    gzFile file = gzopen(name, "rb");
    size_t size = 0, room = 1 << 16;
    char *data = (char *)malloc(room);
    int n = -1;
    while (file && data && (n = gzread(file, data + size, (unsigned)(room - size - 1))) > 0) {
        size += (size_t)n;
        if (room - size > 1) continue;
        room *= 2;
        data = (char *)realloc(data, room);
    }
    if (file) gzclose(file);
    if (n < 0 || !data) {
        free(data);
        return NULL;
    }
    data[size] = 0;
    return data;
}

static void end_case(void) {
    if (now.failed) now.failed_count++;
    else now.passed_count++;
    now.failed = false;
    now.number++;
    free_case();
}

static void check_formats(value root) {
    static const char *const lists[] = {"time", "memory", "share"};
    for (size_t l = 0; l < 3; l++) {
        value list = get(root, lists[l]);
        for (size_t i = 0; i < length(list); i++) {
            check_format(lists[l], item(list, i));
            end_case();
        }
    }
}

/* The longer name first where one begins like another. */
static const struct { const char *name; void (*check)(value c); } kinds[] = {
    {"schedules", check_schedule}, {"machine_pairs", check_machine_pair},
    {"machine", check_machine}, {"with_flops", check_with_flops}, {"flops", check_flops},
    {"format", NULL}, {"event_lists", check_event_list}, {"kineto_events", check_kineto_events},
    {"legacy_records", check_legacy_records}
};

static void fail_file(const char *why) {
    printf("%s: %s\n", now.file, why);
    now.failed_count++;
}

static void check_file(const char *name) {
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    size_t kind = 0, kind_count = sizeof kinds / sizeof kinds[0];
    char error[256] = "it is empty";
    char *data;
    value root;
    now.file = base;
    now.number = 0;
    while (kind < kind_count &&
           strncmp(base, kinds[kind].name, strlen(kinds[kind].name)) != 0) kind++;
    if (kind == kind_count) {
        fail_file("no kind of vectors begins so (schedules, machine, flops...)");
        return;
    }
    data = read_file(name);
    root = data ? yajl_tree_parse(data, error, sizeof error) : NULL;
    free(data);
    if (!root) {
        fail_file(data ? error : "cannot be read");
        return;
    }
    if (!kinds[kind].check) check_formats(root);
    for (size_t i = 0; kinds[kind].check && i < length(root); i++) {
        kinds[kind].check(item(root, i));
        end_case();
    }
    if (!now.number) fail_file("holds no cases");
    yajl_tree_free(root);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: replay FILE...\n", stderr);
        return 2;
    }
    for (int i = 1; i < argc; i++) check_file(argv[i]);
    printf("%lu passed, %lu failed\n", (unsigned long)now.passed_count,
           (unsigned long)now.failed_count);
    return now.failed_count != 0;
}
