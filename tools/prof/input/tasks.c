/* Who had the core when: see tasks.h. */
#include "input/tasks.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_NAME = 15 };                          /* bytes that a target keeps of a task's name */

trace_text tasks_plain_name(trace_text name) {
    const char *open = memchr(name.data, '(', name.size);
    if (!open || !text_begins(name, "thread ")) return name;
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

static uint32_t process_of(tasks *t, int64_t pid) {
    bool is_new;
    uint64_t *number = map_put(&t->processes, hash_mix((uint64_t)pid), &is_new);
    if (is_new) *number = t->processes.count;
    return (uint32_t)*number;
}

void tasks_name(tasks *t, int64_t pid, int64_t tid, trace_text name) {
    *map_put(&t->threads, thread_key(pid, tid), NULL) = task_of(t, pid, tasks_plain_name(name)) + 1;
}

/* It stands behind its process' number. */
const char *tasks_thread_name(const tasks *t, int64_t pid, int64_t tid) {
    const uint64_t *task = map_get(&t->threads, thread_key(pid, tid));
    return task ? strchr(interned_text(&t->names, (uint32_t)*task - 1), ' ') + 1 : NULL;
}

static void add_turn(tasks *t, turns *to, int64_t pid, turn made) {
    made.process = process_of(t, pid);
    GROW(to->list, to->count, to->capacity);
    to->list[to->count++] = made;
}

void tasks_add(tasks *t, int64_t pid, trace_text task, int64_t start_ns, int64_t end_ns) {
    uint32_t owner = task_of(t, pid, task);
    const char *number = memchr(task.data, '#', task.size);
    add_turn(t, &t->stretches, pid, (turn){start_ns, end_ns, 0, owner});
    *map_put(&t->running, owner + 1, NULL) = 1;
    if (!number) return;
    task.size = (size_t)(number - task.data);
    *map_put(&t->twins, task_of(t, pid, task) + 1, NULL) = 1;
}

void tasks_interrupt(tasks *t, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns) {
    add_turn(t, &t->interrupts, pid, (turn){start_ns, end_ns, 0, (uint32_t)tid});
}

void tasks_ready(tasks *t, int64_t pid, int64_t tid, trace_text instant, int64_t ns) {
    static const char before[] = "ready ";
    enum { SIZE = sizeof before - 1 };
    if (instant.size == SIZE || !text_begins(instant, before)) return;
    trace_text name = {instant.data + SIZE, instant.size - SIZE};
    if (name.size > ROW_NAME) name.size = ROW_NAME;      /* the row is called no longer */
    add_turn(t, &t->ready, pid, (turn){ns, tid, 0, task_of(t, pid, name)});
}

/* By time, what lies around others first. */
static int by_time(const void *a, const void *b) {
    const turn *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static void in_order(turns *l) {
    if (l->count) qsort(l->list, l->count, sizeof(turn), by_time);
}

void tasks_sort(tasks *t) {
    in_order(&t->stretches);
    in_order(&t->interrupts);
    in_order(&t->ready);
}

/* All that were made ready before that stretch. Who runs does not wait, and who waits is made ready
   once: a kernel says so again where it changes a task's priority. */
static void take_ready(const tasks *t, wakes *w, const turn *until) {
    const turn *before = w->stretch ? until - 1 : NULL;
    for (; w->ready < t->ready.count; w->ready++) {
        const turn *at = &t->ready.list[w->ready];
        bool runs = before && before->owner == at->owner && before->end_ns > at->start_ns;
        if (at->process > until->process) return;
        if (at->process == until->process && at->start_ns > until->start_ns) return;
        if (runs || map_get(&t->twins, at->owner + 1)) continue;
        uint64_t *waiting = map_put(&w->waiting, at->owner + 1, NULL);
        if (!*waiting) *waiting = w->ready + 1;
    }
}

bool tasks_next_wake(const tasks *t, wakes *w, wake *found) {
    while (w->stretch < t->stretches.count) {
        const turn *run = &t->stretches.list[w->stretch];
        take_ready(t, w, run);
        w->stretch++;
        uint64_t *waiting = map_put(&w->waiting, run->owner + 1, NULL);
        if (!*waiting) continue;
        const turn *by = &t->ready.list[*waiting - 1];
        *waiting = 0;
        *found = (wake){by->end_ns, by->start_ns, run->start_ns};
        return true;
    }
    map_free(&w->waiting);
    return false;
}

/* The task of that thread + 1; 0: it is none. */
static uint64_t task_at(const tasks *t, int64_t pid, int64_t tid) {
    const uint64_t *task = map_get(&t->threads, thread_key(pid, tid));
    return task && (tid >= FIRST_TASK || map_get(&t->running, *task)) ? *task : 0;
}

bool tasks_is_task(const tasks *t, int64_t pid, int64_t tid) { return task_at(t, pid, tid) != 0; }

/* A call, and what is looked at next of the turns in it. */
typedef struct looking {
    const tasks *tasks;
    int64_t tid, start_ns, end_ns;
    uint64_t process, task;
    size_t stretch, interrupt;
} looking;

/* The first turn that begins at ns or later. */
static size_t turn_from(const turns *list, uint64_t process, int64_t ns) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const turn *at = &list->list[middle];
        if (at->process < process || (at->process == process && at->start_ns < ns))
            low = middle + 1;
        else high = middle;
    }
    return low;
}

static const turn *turn_at(const looking *l, const turns *list, size_t number) {
    const turn *at = number < list->count ? &list->list[number] : NULL;
    return at && at->process == l->process && at->start_ns < l->end_ns ? at : NULL;
}

/* Another task's, if the call is of no interrupt; NULL: none. */
static const turn *next_stretch(looking *l) {
    const turn *at;
    bool interrupt = !l->task && l->tid;
    while ((at = turn_at(l, &l->tasks->stretches, l->stretch)) != NULL)
        if (!interrupt && at->owner + UINT64_C(1) != l->task && at->end_ns > l->start_ns) return at;
        else l->stretch++;
    return NULL;
}

/* That of another interrupt which begins and ends within the call. Of two with the same times the
   one with the lesser number is the outer one. */
static const turn *next_interrupt(looking *l) {
    const turn *at;
    for (; (at = turn_at(l, &l->tasks->interrupts, l->interrupt)) != NULL; l->interrupt++) {
        bool same = at->start_ns == l->start_ns && at->end_ns == l->end_ns;
        if (at->owner != l->tid && at->end_ns <= l->end_ns && !(same && at->owner < l->tid))
            return at;
    }
    return NULL;
}

static away away_in(looking l) {
    const tasks *t = l.tasks;
    int64_t start_ns = l.start_ns, end_ns = l.end_ns, from_ns = start_ns;
    away sum = {0, 0};
    l.stretch = turn_from(&t->stretches, l.process, start_ns);
    l.interrupt = turn_from(&t->interrupts, l.process, start_ns);
    if (l.stretch && t->stretches.list[l.stretch - 1].process == l.process)
        l.stretch--;                             /* it may last into the call */
    for (;;) {
        const turn *stretch = next_stretch(&l), *interrupt = next_interrupt(&l), *at = stretch;
        if (!at || (interrupt && interrupt->start_ns < at->start_ns)) at = interrupt;
        if (!at) return sum;
        int64_t until_ns = at->end_ns < end_ns ? at->end_ns : end_ns;
        int64_t begin_ns = at->start_ns > from_ns ? at->start_ns : from_ns;
        if (at == stretch && l.task)
            sum.for_tasks_ns += until_ns - (at->start_ns > start_ns ? at->start_ns : start_ns);
        if (until_ns > begin_ns) sum.ns += until_ns - begin_ns;
        if (until_ns > from_ns) from_ns = until_ns;
        if (at == stretch) l.stretch++;
        else l.interrupt++;
    }
}

away tasks_away(const tasks *t, int64_t pid, int64_t tid, int64_t start_ns, int64_t end_ns) {
    const uint64_t *process = map_get(&t->processes, hash_mix((uint64_t)pid));
    if (!process) return (away){0, 0};
    return away_in((looking){t, tid, start_ns, end_ns, *process, task_at(t, pid, tid), 0, 0});
}

void tasks_clear(tasks *t) {
    intern_free(&t->names);
    map_free(&t->threads);
    map_free(&t->processes);
    map_free(&t->running);
    map_free(&t->twins);
    free(t->stretches.list);
    free(t->interrupts.list);
    free(t->ready.list);
    *t = (tasks){0};
}
