/* What devices do, and for how long: see busy.h. */
#include "analysis/busy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span_sorter.h"

/* word: lower case. XLA writes '-' for its '_'. */
static bool holds(trace_text text, const char *word) {
    size_t size = strlen(word);
    for (size_t at = 0; at + size <= text.size; at++) {
        size_t i = 0;
        while (i < size && (lower_case(text.data[at + i]) == word[i] ||
                            (text.data[at + i] == '-' && word[i] == '_'))) i++;
        if (i == size) return true;
    }
    return false;
}

/* Only what communicates is asked for the words from "sendrecv" on: others broadcast, too. */
static const struct { const char *words, *collective; bool communicates; } lists[] = {
#define LINE(words, collective) {words, collective, true},
    WORK_WORDS(LINE)
#undef LINE
    {"send_recv, sendrecv", "sendrecv", false}, {"broadcast", "broadcast", false},
    {"ncclkernel_reduce, nccldevkernel_reduce, hcom_reduce", "reduce", false},
    {"hcom_send", "send", false}, {"hcom_receive", "recv", false}
};
enum { LISTS = sizeof lists / sizeof *lists };

/* One of the words, with a comma and a space between them. */
static bool holds_one(trace_text text, const char *words) {
    char word[32];
    for (size_t size; *words; words += size + strspn(words + size, ", ")) {
        size = strcspn(words, ",");
        snprintf(word, sizeof word, "%.*s", (int)size, words);
        if (holds(text, word)) return true;
    }
    return false;
}

static bool is_communication(trace_text name) {
    for (size_t i = 0; i < LISTS; i++)
        if (lists[i].communicates && holds_one(name, lists[i].words)) return true;
    return false;
}

const char *work_collective(trace_text name) {
    for (size_t i = 0; i < LISTS; i++)
        if (lists[i].collective && holds_one(name, lists[i].words)) return lists[i].collective;
    return NULL;
}

static work_kind kind_of_name(trace_text name) {
    static const char *const copies[] = {"__amd_rocclr_copyBuffer", "__amd_rocclr_fillBuffer",
                                         "MEMORY_COPY_"};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (text_begins(name, copies[i])) return WORK_MEMORY;
    return text_begins(name, "triton_") || !is_communication(name) ? WORK_COMPUTE
                                                                   : WORK_COMMUNICATION;
}

bool work_communicates(trace_text name) { return kind_of_name(name) == WORK_COMMUNICATION; }

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

/* ---- Times that cannot be ---- */

bool odd_take(odd_works *o, const far_times *far, uint64_t row, int64_t start_ns, int64_t end_ns) {
    bool is_new;
    if (far_is(far, start_ns, end_ns)) {
        *(start_ns == 0 ? &o->at_zero : &o->away) += 1;
        return false;
    }
    size_t number = NUMBER_OF(&o->rows, row, o->last, o->count, o->capacity, &is_new);
    struct odd_last *last = &o->last[number];
    if (is_new) *last = (struct odd_last){start_ns, end_ns};
    bool over = start_ns > last->start_ns && last->end_ns > start_ns;
    o->whole_ns += end_ns - start_ns;
    o->over += over;
    if (over) o->over_ns += last->end_ns - start_ns;
    if (start_ns > last->start_ns || end_ns > last->end_ns)
        *last = (struct odd_last){start_ns, end_ns};
    return true;
}

/* A hundredth of the whole may be kernels that begin where others fade out. */
size_t odd_text(const odd_works *o, char text[320]) {
    int used = 0;
    if (o->over && o->over_ns > o->whole_ns / 100)
        used = snprintf(text, 320, "Device work lasts beyond the next begin on its stream, %llu "
                        "times, by %.3f ms in all: where an end was lost, --repair clips it",
                        (unsigned long long)o->over, (double)o->over_ns * 1e-6);
    if (o->at_zero)
        used += snprintf(text + used, 320 - (size_t)used, "%sDevice work begins at 0, far from all "
                         "other, %llu times: it is in no span", used ? ". " : "",
                         (unsigned long long)o->at_zero);
    if (o->away)
        used += snprintf(text + used, 320 - (size_t)used, "%sDevice work begins or ends a year or "
                         "more from all other, %llu times: it is in no span", used ? ". " : "",
                         (unsigned long long)o->away);
    return (size_t)used;
}

void odd_free(odd_works *o) {
    map_free(&o->rows);
    free(o->last);
    *o = (odd_works){0};
}

/* ---- Of each device of several files ---- */

enum { MOST_LINES = 16, LINE = 110 /* columns of one, about */ };

static bool work_before(const void *one, const void *other) {
    const busy_work *a = one, *b = other;
    if (a->device != b->device) return a->device < b->device;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->ns > b->ns;
}

span_sorter *busy_works(void) { return sorter_of(sizeof(busy_work), work_before); }

void busy_next_file(busy_table *t, const char *path) {
    t->path = path;
    GROW(t->far, t->files, t->far_capacity);
    t->far[t->files++] = (far_times){.count = 0};
}

void busy_take(busy_table *t, const trace_event *event) {
    bool is_new, ascend = trace_arg(event, "Task Type") || trace_arg(event, "alg_type");
    int64_t pid = ascend ? ascend_device(event->pid) : event->pid;
    uint64_t key = hash_mix(hash_mix(t->files) * 31 + (uint64_t)pid);
    size_t number = NUMBER_OF(&t->numbers, key, t->devices, t->count, t->capacity, &is_new);
    if (is_new) {
        struct busy_device *device = &t->devices[number];
        *device = (struct busy_device){t->path, event->pid, trace_device(event), t->files - 1, ""};
        if (event->pid_text.size && device->index == event->pid)
            snprintf(device->name, sizeof device->name, "%.*s", (int)event->pid_text.size,
                     event->pid_text.data);
    }
    if (!t->works) t->works = busy_works();
    far_note(&t->far[t->files - 1], event->ts_ns, event->ts_ns + event->dur_ns, 0);
    sorter_add(t->works, &(busy_work){
        event->ts_ns, event->dur_ns, hash_mix(number) * 31 + (uint64_t)event->tid,
        (uint32_t)number, work_kind_of(&t->names, event)
    });
}

static void write_device(const busy_table *t, size_t number, const busy_time *b, size_t width,
                         output *out) {
    const struct busy_device *device = &t->devices[number];
    double whole = busy_span(b) > 0 ? (double)busy_span(b) / 100 : 1;
    output_text(out, "Device ");
    if (device->name[0]) output_plain_text(out, device->name);
    else output_format(out, "%lld", (long long)device->index);
    if (device->pid >= 0 && device->pid != device->index)     /* else made of a text */
        output_format(out, " (pid %lld)", (long long)device->pid);
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
    char text[320];
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
        const far_times *far = &t->far[t->devices[number].file];
        if (odd_take(&t->odd, far, work.row, work.start_ns, work.start_ns + work.ns))
            busy_add(&time, (work_kind)work.kind, work.start_ns, work.start_ns + work.ns);
    }
    if (odd_text(&t->odd, text)) output_format(out, "%s.\n", text);
    if (t->count > MOST_LINES)
        output_format(out, "%zu more devices: prof ranks has all.\n", t->count - MOST_LINES);
}

void busy_free(busy_table *t) {
    map_free(&t->names);
    map_free(&t->numbers);
    odd_free(&t->odd);
    free(t->devices);
    free(t->far);
    if (t->works) sorter_free(t->works);
}
