/* What a trace has none or too much of: see doubts.h. */
#include "analysis/doubts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/busy.h"

static void add(doubts *d, const char *format, ...) PRINTF_LIKE(2, 3);

static void add(doubts *d, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size >= (int)sizeof text) size = sizeof text - 1;
    d->lines.items = reallocate(d->lines.items, (d->lines.count + 1) * sizeof *d->lines.items);
    d->lines.items[d->lines.count++] = arena_text(&d->memory, text, (size_t)size);
}

static const char *name_of(const struct trace *t, uint32_t name) {
    return interned_text(&t->names, name);
}

/* ---- Launches ---- */

typedef struct launch_sum { uint32_t name; uint64_t count, without; } launch_sum;

/* Only what asks a device for work, and tells by which id. */
static bool is_launch(const struct trace *t, size_t number) {
    const call *c = &t->calls[number];
    if (c->kind != TRACE_RUNTIME || t->ids[number] == NO_ID || t->ids[number] == 0) return false;
    const char *name = name_of(t, c->name);
    return strstr(name, "Launch") && !strstr(name, "LaunchHostFunc");
}

/* A few at the ends of a window lose theirs: a tenth of them does not. */
static void find_launches(doubts *d, const struct trace *t) {
    enum { LEAST = 10 };
    map works = {0}, numbers = {0};
    launch_sum *sums = NULL;
    size_t count = 0, capacity = 0;
    bool is_new;
    for (size_t i = 0; i < t->work_count; i++)
        if (t->works[i].correlation != NO_ID)
            map_put(&works, (uint64_t)t->works[i].correlation, NULL);
    for (size_t i = 0; t->ids && i < t->call_count; i++) {
        if (!is_launch(t, i)) continue;
        size_t at = NUMBER_OF(&numbers, t->calls[i].name, sums, count, capacity, &is_new);
        if (is_new) sums[at] = (launch_sum){t->calls[i].name, 0, 0};
        sums[at].count++;
        sums[at].without += !map_get(&works, (uint64_t)t->ids[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (sums[i].count >= LEAST && sums[i].without >= sums[i].count / LEAST)
            add(d, "%llu of %llu calls of %.100s have no device work in the trace: was it lost%s?",
                (unsigned long long)sums[i].without, (unsigned long long)sums[i].count,
                name_of(t, sums[i].name), works.count ? "" : ", or not asked for");
    free(sums);
    map_free(&works);
    map_free(&numbers);
}

/* ---- Steps ---- */

static int by_number(const void *one, const void *other) {
    const struct step_time *a = one, *b = other;
    return (a->number > b->number) - (a->number < b->number);
}

/* One run of them: with one number twice, they are of several ranks. */
static bool are_one_run(const step_times *s) {
    struct step_time *list = allocate((s->count + 1) * sizeof *list);
    bool once = true;
    if (s->count) memcpy(list, s->list, s->count * sizeof *list);
    if (s->count) qsort(list, s->count, sizeof *list, by_number);
    for (size_t i = 1; i < s->count; i++) once &= list[i].number != list[i - 1].number;
    free(list);
    return once;
}

static int64_t asked_ns(const struct trace *t, const device_work *w) {
    return w->launch != NO_CALL ? t->calls[w->launch].start_ns :
           w->launched_ns != NO_ID ? w->launched_ns : w->start_ns;
}

/* Where at least half of them have some. */
static void find_idle_steps(doubts *d, const struct trace *t) {
    enum { LEAST = 3 };
    map with = {0};
    int64_t first = NO_STEP;
    for (size_t i = 0; i < t->work_count; i++)
        map_put(&with, (uint64_t)step_times_at(&d->steps, asked_ns(t, &t->works[i])), NULL);
    size_t without = 0;
    for (size_t i = 0; i < d->steps.count; i++) {
        int64_t number = d->steps.list[i].number;
        if (map_get(&with, (uint64_t)number)) continue;
        if (!without++) first = number;
    }
    if (without && 2 * without <= d->steps.count && d->steps.count >= LEAST)
        add(d, "%zu of %zu steps launched no device work, the first ProfilerStep#%lld.", without,
            d->steps.count, (long long)first);
    map_free(&with);
}

static uint64_t step_key(uint32_t name, int64_t step) {
    return hash_mix(name + UINT64_C(1)) * 31 + (uint64_t)step;
}

static void tell_lack(doubts *d, const struct trace *t, const map *seen, uint32_t name,
                      size_t lacking) {
    for (size_t i = 0; i < d->steps.count; i++) {
        int64_t number = d->steps.list[i].number;
        if (map_get(seen, step_key(name, number))) continue;
        add(d, lacking == 1 ? "ProfilerStep#%lld lacks '%.100s', which the other steps have."
                            : "ProfilerStep#%lld and others lack '%.100s', which most steps have.",
            (long long)number, name_of(t, name));
        return;
    }
}

/* What steps call themselves: of a call that most of them have, those without. */
static void find_lacks(doubts *d, const struct trace *t) {
    enum { LEAST = 3, MOST_LINES = 4 };
    map seen = {0}, steps_with = {0};
    uint32_t *names = NULL;
    size_t count = 0, capacity = 0, lines = 0;
    for (size_t i = 0; d->steps.count >= LEAST && i < t->call_count; i++) {
        const call *c = &t->calls[i];
        if (c->parent == NO_CALL || c->kind == TRACE_RUNTIME || c->kind == TRACE_PYTHON ||
            strcmp(name_of(t, t->calls[c->parent].name), "ProfilerStep*") != 0) continue;
        bool is_new;
        map_put(&seen, step_key(c->name, step_times_at(&d->steps, c->start_ns)), &is_new);
        if (!is_new) continue;
        uint64_t *with = map_put(&steps_with, c->name, &is_new);
        if ((*with)++ || !is_new) continue;
        GROW(names, count, capacity);
        names[count++] = c->name;
    }
    for (size_t i = 0; i < count && lines < MOST_LINES; i++) {
        size_t lacking = d->steps.count - (size_t)*map_get(&steps_with, names[i]);
        if (!lacking || lacking > d->steps.count || (lacking > 1 && 4 * lacking > d->steps.count))
            continue;
        tell_lack(d, t, &seen, names[i], lacking);
        lines++;
    }
    free(names);
    map_free(&seen);
    map_free(&steps_with);
}

/* ---- Collectives ---- */

typedef struct length { uint32_t name; int64_t ns; } length;
typedef struct kernel_span { uint32_t name; int64_t least, most; bool asked; } kernel_span;

static int by_name_and_ns(const void *one, const void *other) {
    const length *a = one, *b = other;
    if (a->name != b->name) return a->name < b->name ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

enum { STALL_TIMES = 1000 };

/* The kernels that communicate and whose longest is so much longer than their shortest. */
static size_t stall_list(const struct trace *t, length **list) {
    kernel_span *spans = NULL;
    map numbers = {0};
    size_t count = 0, capacity = 0, listed = 0, room = 0;
    bool is_new;
    for (size_t i = 0; i < t->work_count; i++) {
        const device_work *w = &t->works[i];
        int64_t ns = work_ns(w);
        if (w->kind != TRACE_KERNEL) continue;
        size_t at = NUMBER_OF(&numbers, w->name, spans, count, capacity, &is_new);
        if (is_new) spans[at] = (kernel_span){w->name, ns, ns, false};
        if (ns < spans[at].least) spans[at].least = ns;
        if (ns > spans[at].most) spans[at].most = ns;
    }
    for (size_t i = 0; i < count; i++)
        spans[i].asked = spans[i].most / STALL_TIMES >= spans[i].least &&
                         work_communicates(text_of(name_of(t, spans[i].name)));
    for (size_t i = 0; i < t->work_count; i++) {
        const device_work *w = &t->works[i];
        if (w->kind != TRACE_KERNEL) continue;
        size_t at = NUMBER_OF(&numbers, w->name, spans, count, capacity, &is_new);
        if (!spans[at].asked) continue;
        GROW(*list, listed, room);
        (*list)[listed++] = (length){w->name, work_ns(w)};
    }
    map_free(&numbers);
    free(spans);
    return listed;
}

static void find_stalls(doubts *d, const struct trace *t) {
    enum { LEAST = 8 };
    length *list = NULL;
    size_t count = stall_list(t, &list);
    if (count) qsort(list, count, sizeof *list, by_name_and_ns);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && list[to].name == list[from].name; ) to++;
        int64_t median = list[from + (to - from) / 2].ns, most = list[to - 1].ns;
        if (to - from >= LEAST && median > 0 && most / STALL_TIMES >= median)
            add(d, "%.100s: one takes %.3f ms, %lld times the median of %.3f ms: did a rank hang?",
                name_of(t, list[from].name), (double)most * 1e-6, (long long)(most / median),
                (double)median * 1e-6);
    }
    free(list);
}

/* ---- A file ---- */

void doubts_end_file(doubts *d, const struct trace *t) {
    enum { MOST_EVENTS = 1000000 };
    if (!t->range.parts && !t->own) {
        find_launches(d, t);
        if (are_one_run(&d->steps)) {
            find_idle_steps(d, t);
            find_lacks(d, t);
        }
        find_stalls(d, t);
        if (d->events == MOST_EVENTS)
            add(d, "The trace has 1000000 events exactly: JAX's and TensorFlow's exporters write "
                "no more, the rest is not in it (the .xplane.pb beside it has all).");
    }
    d->events = 0;
    step_times_free(&d->steps);
}

void doubts_free(doubts *d) {
    step_times_free(&d->steps);
    free(d->lines.items);
    arena_free(&d->memory);
}
