/* Which events are a device's, where their category does not say: see event_kinds.h. The rows of
   Ascend's torch_npu are defined in torch_npu/profiler/analysis of Ascend/pytorch, and in
   analysis/csrc/application/timeline of Ascend/msprof. */
#include "input/event_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "input/tasks.h"


/* What labels say of a process or a thread. They may stand anywhere in the file, in any order. */
enum {
    IS_HOST = 1, IS_DEVICE = 2, IS_BEHIND = 4 /* all processes, where Kineto puts devices */,
    IS_STREAM = 8, IS_OPS = 16 /* a row "XLA Ops" */, IS_NAMED = 32, REPEATS = 64 /* others */,
    TELLS_WHO_RAN = 128, HAS_STREAMS = 256, HAS_OPS = 512,
    NUMBER_SHIFT = 10, MOST_DEVICES = 65535 /* the device's number + 1 is above the rest */
};

static uint64_t process_key(int64_t pid) { return hash_mix((uint64_t)pid) | 1; }
static uint64_t thread_key(int64_t pid, int64_t tid) {
    return hash_mix(hash_mix((uint64_t)pid) * 31 + (uint64_t)tid) & ~(uint64_t)1;
}

/* ---- Labels ---- */

/* Is it one of these words with a number: "GPU 0", "cuda:1", "Stream #13(Compute)"? `alone`: the
   word is enough. */
static bool has_shape(const char *text, const char *const *words, bool alone) {
    for (; *words; words++) {
        size_t size = strlen(*words);
        if (strncasecmp(text, *words, size) != 0) continue;
        const char *number = text + size + strspn(text + size, " :#_-/");
        size_t digits = strspn(number, "0123456789");
        const char *rest = number + digits + strspn(number + digits, " ");
        if ((digits || alone) && (*rest == '\0' || *rest == '(')) return true;
    }
    return false;
}

/* Without what prof merge ("rank 3: ") and rocprof ("2 GPU0") put before it. */
static const char *plain_label(const char *text) {
    static const char rank[] = "rank ", digits[] = "0123456789";
    size_t size = strncmp(text, rank, sizeof rank - 1) == 0 ? sizeof rank - 1 : 0;
    size_t number = strspn(text + size, digits);
    if (size && number) text += size + number + (text[size + number] == ':');
    if (size && number) text += *text == ' ';
    number = strspn(text, digits);
    return number && text[number] == ' ' ? text + number + 1 : text;
}

/* Where XLA's and TensorFlow's "/device:GPU:0" and "/gpu:0" and Paddle's "trainer:gpu:0" name it;
   NULL: none of them. */
static const char *named_device(const char *text) {
    static const char *const marks[] = {"/device:", "/gpu:", ":gpu:", NULL};
    for (size_t i = 0; marks[i]; i++) {
        const char *at = strstr(text, marks[i]);
        if (at) return at;
    }
    return NULL;
}

/* One of those, whatever is behind; PyTorch's of 2020; "GPU 0". */
static bool is_device(const char *text, bool alone) {
    static const char *const words[] = {"GPU", "XPU", "MTIA", "HPU", "NPU", "TPU", "CUDA", "HIP",
                                        "device", NULL};
    const char *device = named_device(text);
    return (device && strncmp(device, "/device:CPU", 11) != 0) ||
           strcmp(text, "CUDA functions") == 0 || has_shape(text, words, alone);
}

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strcmp(text, *words) == 0) return true;
    return false;
}

static unsigned thread_bits(const char *text, int64_t tid) {
    static const char *const streams[] = {"stream", NULL};
    static const char *const hosts[] = {"CPU", "thread", "NVTX Thread", NULL};
    /* of Ascend and XLA: what other rows have, summed or cut otherwise */
    static const char *const parts[] = {"Plane ", "Step Trace", NULL};
    static const char *const repeats[] = {
        "Computing", "Communication(Not Overlapped)", "Free", "Steps", "XLA Modules",
        "XLA TraceMe", "Framework Name Scope", "Framework Ops", "Source code",
        "TensorFlow Name Scope", "TensorFlow Ops", NULL
    };
    unsigned bits = IS_NAMED;
    if (begins_with(text, hosts)) bits |= IS_HOST;
    if (has_shape(text, streams, false)) bits |= IS_STREAM;
    if (is_device(text, false)) bits |= IS_DEVICE;
    if (strcmp(text, "XLA Ops") == 0 || strcmp(text, "Async XLA Ops") == 0) bits |= IS_OPS;
    if (is_one_of(text, repeats) || begins_with(text, parts)) bits |= REPEATS;
    trace_text plain = tasks_plain_name((trace_text){text, strlen(text)});
    if (tid == CPU_ROW && text_is(plain, "CPU")) bits |= TELLS_WHO_RAN;
    return bits;
}

/* "/device:GPU:1", "GPU 1": the number + 1, shifted to where it stands; 0: none. */
static unsigned number_bits(const char *label) {
    const char *device = named_device(label);
    const char *digits = strpbrk(device ? device : label, "0123456789");
    unsigned long number = digits ? strtoul(digits, NULL, 10) : MOST_DEVICES;
    return number < MOST_DEVICES ? ((unsigned)number + 1) << NUMBER_SHIFT : 0;
}

/* Of TensorFlow's timeline: on a device that has a job the processor starts the ops; the rows
   "stream:all" and "memcpy" have what its streams have. */
static unsigned process_bits(const char *text, bool alone) {
    static const char *const hosts[] = {"CPU", NULL};
    const char *label = plain_label(text);
    if (strcmp(label, "Overlap Analysis") == 0) return REPEATS;
    if (label > text && strcmp(label, "COPY") == 0) return IS_DEVICE;    /* rocprof's */
    if (!is_device(label, alone)) return alone && begins_with(label, hosts) ? IS_HOST : 0;
    if (strncmp(label, "/job:", 5) == 0 && !strstr(label, "/stream:")) return IS_HOST;
    if (strstr(label, "/stream:all") || strstr(label, "/memcpy")) return REPEATS;
    return IS_DEVICE | number_bits(label);
}

/* Older labels of Ascend have no number, but the pid has (ascend_device). */
static unsigned ascend_number(const char *label, int64_t pid) {
    return strcmp(label, "NPU") == 0 && pid >= 1024 ? ((unsigned)(pid & 31) + 1) << NUMBER_SHIFT
                                                    : 0;
}

static void note(event_kinds *k, uint64_t key, unsigned bits) {
    if (!bits) return;
    uint64_t *known = map_put(&k->rows, key, NULL);
    *known |= *known >> NUMBER_SHIFT ? bits & ((1u << NUMBER_SHIFT) - 1) : bits;
}

static void note_thread(event_kinds *k, const trace_event *event, const char *name) {
    unsigned bits = thread_bits(name, event->tid);
    note(k, thread_key(event->pid, event->tid), bits);
    note(k, process_key(event->pid),
         (bits & IS_STREAM ? HAS_STREAMS : 0u) | (bits & IS_OPS ? HAS_OPS : 0u));
}

void kinds_note_row(event_kinds *k, const trace_event *event) {
    enum { BEHIND_PROCESSES = 5000000 };
    char text[128];
    int64_t index;
    uint64_t process = process_key(event->pid);
    k->last.any = false;
    if (text_is(event->name, "thread_name") && trace_arg_text(event, "name", text, sizeof text)) {
        note_thread(k, event, text);
    } else if (text_is(event->name, "process_labels") &&
               trace_arg_text(event, "labels", text, sizeof text)) {
        note(k, process, process_bits(text, true) | ascend_number(text, event->pid));
    } else if (text_is(event->name, "process_name") &&
               trace_arg_text(event, "name", text, sizeof text)) {
        note(k, process, process_bits(text, false));
    } else if (text_is(event->name, "process_sort_index") &&
               trace_arg_int(event, "sort_index", &index) && index >= BEHIND_PROCESSES) {
        note(k, process, IS_BEHIND);
    }
}

/* ---- Events ---- */

static unsigned bits_of(const event_kinds *k, uint64_t key) {
    const uint64_t *bits = map_get(&k->rows, key);
    return bits ? (unsigned)*bits : 0;
}

/* A pid or tid that is a text is a label, too. */
static void note_texts(event_kinds *k, const trace_event *event) {
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)event->pid_text.size, event->pid_text.data);
    if (event->pid_text.size) note(k, process_key(event->pid), process_bits(text, false));
    snprintf(text, sizeof text, "%.*s", (int)event->tid_text.size, event->tid_text.data);
    if (event->tid_text.size) note_thread(k, event, text);
}

/* Its thread's name counts most, then its process' label. */
static row_side find_side(const event_kinds *k, const trace_event *event) {
    unsigned thread = bits_of(k, thread_key(event->pid, event->tid));
    unsigned process = bits_of(k, process_key(event->pid));
    bool behind = process & IS_BEHIND && !(process & IS_HOST);
    if (thread & IS_HOST) return ROW_ON_HOST;
    if (process & REPEATS) return ROW_REPEATS;
    if (process & IS_DEVICE || behind) {
        bool named = thread & IS_NAMED;
        if (process & HAS_STREAMS) named &= !(thread & (IS_STREAM | IS_DEVICE));
        else if (process & HAS_OPS) named &= !(thread & IS_OPS);
        else named &= (thread & REPEATS) != 0;
        return named ? ROW_REPEATS : ROW_ON_DEVICE;
    }
    if (thread & (IS_STREAM | IS_DEVICE)) return ROW_ON_DEVICE;
    return process & IS_HOST ? ROW_ON_HOST : ROW_UNKNOWN;
}

static row_side side_of(event_kinds *k, const trace_event *event) {
    if (k->last.any && k->last.pid == event->pid && k->last.tid == event->tid)
        return k->last.side;
    if (event->pid_text.size || event->tid_text.size) note_texts(k, event);
    k->last.pid = event->pid;
    k->last.tid = event->tid;
    k->last.device = (int64_t)(bits_of(k, process_key(event->pid)) >> NUMBER_SHIFT) - 1;
    k->last.any = true;
    return k->last.side = find_side(k, event);
}

static bool is_stretch(const event_kinds *k, const trace_event *event) {
    return k->own && event->tid == CPU_ROW && event->kind == TRACE_CPU_OP &&
           bits_of(k, thread_key(event->pid, event->tid)) & TELLS_WHO_RAN;
}

static void count_guess(event_kinds *k, const trace_event *event, bool device) {
    uint32_t number = intern(&k->unknown, event->cat.data, event->cat.size);
    GROW(k->guesses, number, k->guess_capacity);
    if (number == k->guess_count) memset(&k->guesses[k->guess_count++], 0, sizeof *k->guesses);
    k->guesses[number].count[device]++;
}

static uint8_t leave_out(event_kinds *k, const trace_event *event) {
    if (k->repeated++ == 0)
        snprintf(k->first_repeated, sizeof k->first_repeated, "%.*s", (int)event->name.size,
                 event->name.data);
    return TRACE_SPAN;
}

/* XLA's loops and branches stand in the row of their ops, and around these. */
static bool is_around_ops(const event_kinds *k, const trace_event *event) {
    static const char *const words[] = {"while", "conditional", "call", NULL};
    for (size_t i = 0; words[i]; i++) {
        size_t size = strlen(words[i]);
        if (!text_begins(event->name, words[i]) ||
            (event->name.size > size && event->name.data[size] != '.')) continue;
        return bits_of(k, thread_key(event->pid, event->tid)) & IS_OPS;
    }
    return false;
}

/* Of clang's -ftime-trace: "Total Backend", a row for each name, from 0 on. */
static bool is_total(const trace_event *event) {
    return !event->cat.size && text_begins(event->name, "Total ") && trace_arg(event, "avg ms");
}

/* Ascend tells what its tasks are. One that waits or signals keeps no unit busy. */
static uint8_t task_kind(const trace_event *event) {
    static const char *const copies[] = {"SDMA", "PCIE_DMA", "MEMCPY", NULL};
    char type[32];
    if (!trace_arg_text(event, "Task Type", type, sizeof type)) return TRACE_KERNEL;
    if (strstr(type, "EVENT_") || strstr(type, "NOTIFY_") || strstr(type, "Notify"))
        return TRACE_SYNC;
    return begins_with(type, copies) || trace_arg(event, "operation") ? TRACE_MEMCPY
                                                                      : TRACE_KERNEL;
}

/* By its row; where that does not tell, by a stream among its arguments. What has no category and
   shares an id with device work, as in JAX's traces, launched it. */
static uint8_t guessed_kind(event_kinds *k, trace_event *event) {
    row_side side = side_of(k, event);
    if (side == ROW_REPEATS || (side == ROW_ON_DEVICE && is_around_ops(k, event)) ||
        is_total(event)) return leave_out(k, event);
    bool device = side == ROW_UNKNOWN ? event->cat.size && trace_arg(event, "stream")
                                       : side == ROW_ON_DEVICE;
    int64_t id;
    if (event->cat.size) count_guess(k, event, device);
    if (device) {
        event->device = k->last.device;
        return task_kind(event);
    }
    return !event->cat.size && trace_correlation(event, &id) ? TRACE_RUNTIME : TRACE_OTHER;
}

/* Of XPU: it lies around the kernel that it names. */
static bool is_metrics(const trace_event *event) {
    return event->kind == TRACE_KERNEL && text_begins(event->name, "metrics: ");
}

void kinds_odd(event_kinds *k, trace_event *event) {
    if (event->is_async && text_is(event->cat, "async")) return;   /* prof.h's: of no device */
    if (event->phase == 'M') kinds_note_row(k, event);
    else if (kinds_asks(event)) event->kind = guessed_kind(k, event);
    else if (is_metrics(event)) event->kind = leave_out(k, event);
    else if (is_stretch(k, event)) event->kind = TRACE_TASK;
    else if (event->kind == TRACE_COUNTED) event->dur_ns = 0, k->counted++;
}

void kinds_tell(const event_kinds *k, const char *path) {
    enum { SHOWN = 4 };
    if (k->repeated)
        warn(path, "%llu events, as '%s', repeat those of other rows: not counted",
             (unsigned long long)k->repeated, k->first_repeated);
    if (k->counted)
        warn(path, "%llu ranges of counters (cuda_profiler_range), whose times Kineto makes up: "
             "they count as calls without time", (unsigned long long)k->counted);
    if (!k->guess_count) return;
    char text[512];
    size_t used = 0;
    for (size_t i = 0; i < k->guess_count && i < SHOWN; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
            "%s'%.40s' (%llu events as CPU time, %llu as device time)", i ? ", " : "",
            interned_text(&k->unknown, (uint32_t)i), (unsigned long long)k->guesses[i].count[0],
            (unsigned long long)k->guesses[i].count[1]);
    if (k->guess_count > SHOWN)
        snprintf(text + used, sizeof text - used, " and %zu more", k->guess_count - SHOWN);
    warn(path, "categories that are not known, guessed by labels and streams: %s", text);
}

void kinds_free(event_kinds *k) {
    map_free(&k->rows);
    intern_free(&k->unknown);
    free(k->guesses);
}
