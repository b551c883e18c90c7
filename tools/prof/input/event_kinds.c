/* Which events are a device's, where their category does not say: see event_kinds.h. */
#include "input/event_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "input/tasks.h"

enum { ON_HOST = 1, ON_DEVICE, WHO_RAN /* of a kernel's tasks: CPU_ROW */, CPU_ROW = 999 };

static uint64_t process_key(const trace_event *event) { return hash_mix((uint64_t)event->pid) | 1; }
static uint64_t thread_key(const trace_event *event) {
    return hash_mix(hash_mix((uint64_t)event->pid) * 31 + (uint64_t)event->tid) & ~(uint64_t)1;
}

/* What metadata say of a process or thread: its label "CPU" or "GPU 0", its name "stream 7", or
   that it stands behind all processes, where Kineto puts devices. */
static void note_row(event_kinds *k, const trace_event *event) {
    static const char *const devices[] = {"GPU", "XPU", "MTIA", "HPU", "NPU", "CUDA", "HIP",
                                          "device", "stream", NULL};
    static const char *const hosts[] = {"CPU", "thread", NULL};
    enum { BEHIND_PROCESSES = 5000000 };
    char text[64];
    int64_t index;
    bool labels = text_is(event->name, "process_labels");
    bool thread = text_is(event->name, "thread_name");
    uint64_t key = thread ? thread_key(event) : process_key(event);
    if ((labels && trace_arg_text(event, "labels", text, sizeof text)) ||
        (thread && trace_arg_text(event, "name", text, sizeof text))) {
        if (begins_with(text, devices)) *map_put(&k->rows, key, NULL) = ON_DEVICE;
        else if (begins_with(text, hosts)) *map_put(&k->rows, key, NULL) = ON_HOST;
        trace_text plain = tasks_plain_name((trace_text){text, strlen(text)});
        if (thread && event->tid == CPU_ROW && text_is(plain, "CPU"))
            *map_put(&k->rows, key, NULL) = WHO_RAN;
    } else if (text_is(event->name, "process_sort_index") && !map_get(&k->rows, key) &&
               trace_arg_int(event, "sort_index", &index) && index >= BEHIND_PROCESSES) {
        *map_put(&k->rows, key, NULL) = ON_DEVICE;
    }
}

static bool is_stretch(const event_kinds *k, const trace_event *event) {
    const uint64_t *row = k->own && event->tid == CPU_ROW ? map_get(&k->rows, thread_key(event))
                                                          : NULL;
    return row && *row == WHO_RAN && event->kind == TRACE_CPU_OP;
}

/* Its thread's name counts most, then its process' label; then a stream among its arguments. */
static uint8_t guessed_kind(event_kinds *k, const trace_event *event) {
    const uint64_t *row = map_get(&k->rows, thread_key(event));
    if (!row) row = map_get(&k->rows, process_key(event));
    bool device = row ? *row == ON_DEVICE : trace_arg(event, "stream") != NULL;
    uint32_t number = intern(&k->unknown, event->cat.data, event->cat.size);
    GROW(k->guesses, number, k->guess_capacity);
    if (number == k->guess_count) memset(&k->guesses[k->guess_count++], 0, sizeof *k->guesses);
    k->guesses[number].count[device]++;
    return device ? TRACE_KERNEL : TRACE_OTHER;
}

void kinds_tell(const event_kinds *k, const char *path) {
    enum { SHOWN = 4 };
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


void kinds_odd(event_kinds *k, trace_event *event) {
    if (event->is_async && text_is(event->cat, "async")) return;   /* prof.h's: of no device */
    if (event->phase == 'M') note_row(k, event);
    else if (event->phase == 'X' && event->kind == TRACE_OTHER && event->cat.size)
        event->kind = guessed_kind(k, event);
    else if (event->phase == 'X' && is_stretch(k, event))
        event->kind = TRACE_TASK;
}

void kinds_free(event_kinds *k) {
    map_free(&k->rows);
    intern_free(&k->unknown);
    free(k->guesses);
}
