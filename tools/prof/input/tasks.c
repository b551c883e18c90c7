/* Tasks of a kernel: see tasks.h. */
#include "input/tasks.h"

#include <stdlib.h>
#include <string.h>

enum { TASK_IDS = 1000 };        /* prof.h's tasks have these thread ids, and above */

trace_text tasks_plain_name(trace_text name) {
    const char *open = memchr(name.data, '(', name.size);
    if (!open || name.size < 7 || memcmp(name.data, "thread ", 7) != 0) return name;
    if (name.data[name.size - 1] != ')') return name;
    return (trace_text){open + 1, (size_t)(name.data + name.size - open) - 2};
}

/* Tasks of one name, of one process: only one of them lives at a time. */
static uint32_t task_of(tasks *t, int64_t pid, trace_text name) {
    char key[512];
    int size = snprintf(key, sizeof key, "%lld %.*s", (long long)pid,
                        (int)(name.size < 400 ? name.size : 400), name.data);
    return intern(&t->names, key, (size_t)size);
}

static uint64_t thread_key(int64_t pid, int64_t tid) {
    return hash_mix(hash_mix((uint64_t)pid) * 31 + (uint64_t)tid);
}

void tasks_name(tasks *t, int64_t pid, int64_t tid, trace_text name) {
    *map_put(&t->threads, thread_key(pid, tid), NULL) = task_of(t, pid, tasks_plain_name(name)) + 1;
}

void tasks_add(tasks *t, int64_t pid, trace_text task, int64_t start_ns, int64_t ns) {
    bool is_new;
    uint64_t *first = map_put(&t->firsts, hash_mix((uint64_t)pid), &is_new);
    if (is_new || start_ns < (int64_t)*first) *first = (uint64_t)start_ns;
    GROW(t->list, t->count, t->capacity);
    t->list[t->count++] = (struct stretch){start_ns, (uint64_t)ns, 0, task_of(t, pid, task)};
}

static int by_task(const void *a, const void *b) {
    const struct stretch *x = a, *y = b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void tasks_sort(tasks *t) {
    size_t at = 0;
    if (!t->count) return;
    qsort(t->list, t->count, sizeof *t->list, by_task);
    t->begins = allocate((t->names.count + 1) * sizeof *t->begins);
    for (uint32_t task = 0; task < t->names.count; task++) {
        uint64_t before_ns = 0;
        for (t->begins[task] = at; at < t->count && t->list[at].task == task; at++) {
            t->list[at].before_ns = before_ns;
            before_ns += t->list[at].ns;
        }
    }
    t->begins[t->names.count] = at;
}

/* How long it had run by then. */
static uint64_t ran(const tasks *t, uint32_t task, int64_t ns) {
    size_t low = t->begins[task], high = t->begins[task + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->list[middle].start_ns <= ns) low = middle + 1;
        else high = middle;
    }
    if (low == t->begins[task]) return 0;
    const struct stretch *last = &t->list[low - 1];
    uint64_t since = (uint64_t)ns - (uint64_t)last->start_ns;
    return last->before_ns + (since < last->ns ? since : last->ns);
}

int64_t tasks_away(const tasks *t, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns) {
    const uint64_t *first = map_get(&t->firsts, hash_mix((uint64_t)pid));
    const uint64_t *task = first ? map_get(&t->threads, thread_key(pid, tid)) : NULL;
    if (!task || (tid < TASK_IDS && t->begins[*task - 1] == t->begins[*task])) return 0;
    uint32_t number = (uint32_t)(*task - 1);
    if (start_ns < (int64_t)*first) start_ns = (int64_t)*first;
    if (end_ns <= start_ns) return 0;
    uint64_t ns = (uint64_t)end_ns - (uint64_t)start_ns;
    uint64_t on_cpu = ran(t, number, end_ns) - ran(t, number, start_ns);
    return on_cpu < ns ? (int64_t)(ns - on_cpu) : 0;
}

void tasks_clear(tasks *t) {
    intern_free(&t->names);
    map_free(&t->threads);
    map_free(&t->firsts);
    free(t->list);
    free(t->begins);
    *t = (tasks){0};
}
