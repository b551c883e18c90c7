/* What devices do, and for how long: see busy.h. */
#include "analysis/busy.h"

#include <stdlib.h>
#include <string.h>

#include "base/span_sorter.h"

/* Stands it at the text's begin? */
static bool begins(trace_text text, const char *word) {
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0;
}

static bool holds(trace_text text, const char *word) {       /* word: lower case */
    size_t size = strlen(word);
    for (size_t at = 0; at + size <= text.size; at++) {
        size_t i = 0;
        while (i < size && lower_case(text.data[at + i]) == word[i]) i++;
        if (i == size) return true;
    }
    return false;
}

/* Does its name hold one of WORK_WORDS? */
static bool is_communication(trace_text name) {
    static const char words[] = WORK_WORDS;
    char word[32];
    size_t size = 0;
    for (const char *p = words; ; p++) {
        if (*p && !strchr(" ,\n", *p)) {
            word[size++] = *p;
            continue;
        }
        word[size] = '\0';
        if (size && holds(name, word)) return true;
        size = 0;
        if (!*p) return false;
    }
}

static work_kind kind_of_name(trace_text name) {
    static const char *const copies[] = {"__amd_rocclr_copyBuffer", "__amd_rocclr_fillBuffer",
                                         "MEMORY_COPY_"};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (begins(name, copies[i])) return WORK_MEMORY;
    return begins(name, "triton_") || !is_communication(name) ? WORK_COMPUTE : WORK_COMMUNICATION;
}

work_kind work_kind_of(map *names, const trace_event *event) {
    bool is_new;
    if (event->kind != TRACE_KERNEL) return WORK_MEMORY;
    uint64_t *kind = map_put(names, hash_bytes(event->name.data, event->name.size), &is_new);
    if (is_new) *kind = kind_of_name(event->name);
    if (*kind != WORK_MEMORY && trace_arg(event, "Collective name")) return WORK_COMMUNICATION;
    return (work_kind)*kind;
}

bool call_waits(const char *name) {
    if (strstr(name, "Synchronize")) return true;
    return strstr(name, "Memcpy") && !strstr(name, "Async") && !strstr(name, "Node");
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t length(int64_t from, int64_t to) { return to > from ? to - from : 0; }

/* All works so far began before this one, so behind its begin each kind goes on without a hole to
   its latest end, or is over. */
void busy_add(busy_time *b, work_kind kind, int64_t start, int64_t end) {
    if (!b->any) {
        b->first_ns = b->last_ns = start;
        for (int i = 0; i < WORK_KINDS; i++) b->ends_ns[i] = start;
    }
    b->any = true;
    int64_t from = later(start, b->ends_ns[kind]);           /* what is new of its kind */
    int64_t compute = b->ends_ns[WORK_COMPUTE], communication = b->ends_ns[WORK_COMMUNICATION];
    int64_t memory = b->ends_ns[WORK_MEMORY], both = later(compute, communication);
    b->busy_ns += length(later(start, b->last_ns), end);
    b->last_ns = later(b->last_ns, end);
    if (end <= from) return;
    b->kind_ns[kind] += end - from;
    if (kind == WORK_MEMORY) {
        b->exposed_memory_ns += length(later(from, both), end);
    } else {
        int64_t other = kind == WORK_COMPUTE ? communication : compute;
        b->overlap_ns += length(from, other < end ? other : end);
        b->exposed_memory_ns -= length(later(start, both), memory < end ? memory : end);
    }
    b->ends_ns[kind] = end;
}

/* ---- Of each device of several files ---- */

enum { MOST_LINES = 16, LINE = 110 /* columns of one, about */ };

typedef struct busy_work { int64_t start_ns, ns; uint32_t device, kind; } busy_work;

static bool work_before(const void *one, const void *other) {
    const busy_work *a = one, *b = other;
    if (a->device != b->device) return a->device < b->device;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->ns > b->ns;
}

void busy_next_file(busy_table *t, const char *path) {
    t->path = path;
    t->files++;
}

void busy_take(busy_table *t, const trace_event *event) {
    bool is_new;
    uint64_t key = hash_mix(hash_mix(t->files) * 31 + (uint64_t)event->pid);
    uint64_t *number = map_put(&t->numbers, key, &is_new);
    if (is_new) {
        GROW(t->devices, t->count, t->capacity);
        t->devices[t->count] = (struct busy_device){t->path, event->pid, trace_device(event)};
        *number = t->count++;
    }
    if (!t->works)
        t->works = sorter_by_thread(sizeof(busy_work), work_before, offsetof(busy_work, device));
    sorter_add(t->works, &(busy_work){
        event->ts_ns, event->dur_ns, (uint32_t)*number, work_kind_of(&t->names, event)
    });
}

static void write_device(const busy_table *t, size_t number, const busy_time *b, size_t width,
                         output *out) {
    const struct busy_device *device = &t->devices[number];
    double whole = busy_span(b) > 0 ? (double)busy_span(b) / 100 : 1;
    output_format(out, "Device %lld", (long long)device->index);
    if (device->pid != device->index) output_format(out, " (pid %lld)", (long long)device->pid);
    if (t->files > 1) {
        output_text(out, " of ");
        output_plain_text(out, file_name(device->path));
    }
    output_format(out, " busy %.1f %% of %.3f ms:", (double)b->busy_ns / whole,
                  (double)busy_span(b) * 1e-6);
    output_format(out, "%s%.1f %% compute, %.1f %% exposed comm., %.1f %% exposed copies\n",
                  width && width < LINE ? "\n  " : " ", (double)b->kind_ns[WORK_COMPUTE] / whole,
                  (double)busy_exposed(b) / whole, (double)b->exposed_memory_ns / whole);
}

void busy_write(busy_table *t, size_t width, output *out) {
    busy_time time = {0};
    size_t number = 0;
    busy_work work;
    if (!t->works) return;
    sorter_finish(t->works);
    for (bool more = true; more; ) {
        more = sorter_next(t->works, &work);
        if (time.any && (!more || work.device != number)) {
            if (number < MOST_LINES) write_device(t, number, &time, width, out);
            time = (busy_time){0};
        }
        if (!more) break;
        number = work.device;
        busy_add(&time, (work_kind)work.kind, work.start_ns, work.start_ns + work.ns);
    }
    if (t->count > MOST_LINES)
        output_format(out, "%zu more devices: prof ranks has all.\n", t->count - MOST_LINES);
}

void busy_free(busy_table *t) {
    map_free(&t->names);
    map_free(&t->numbers);
    free(t->devices);
    if (t->works) sorter_free(t->works);
}
