/* The steps of a trace: see step_times.h. */
#include "trace/step_times.h"

#include <stdlib.h>
#include <string.h>

#include "input/trace_reader.h"

void step_times_take(step_times *t, const trace_event *event) {
    static const char begin[] = "ProfilerStep#";
    size_t size = sizeof begin - 1;
    int64_t number;
    if (event->phase != 'X' || event->kind != TRACE_ANNOTATION || !text_begins(event->name, begin))
        return;
    if (!json_int((trace_text){event->name.data + size, event->name.size - size}, &number)) return;
    GROW(t->list, t->count, t->capacity);
    t->list[t->count++] =
        (struct step_time){event->ts_ns, event->ts_ns + event->dur_ns, number};
}

static int by_start(const void *a, const void *b) {
    const struct step_time *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

int64_t step_times_at(step_times *t, int64_t ns) {
    size_t from = 0, to = t->count;
    if (!t->sorted && t->count) qsort(t->list, t->count, sizeof *t->list, by_start);
    t->sorted = true;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (t->list[middle].start_ns <= ns) from = middle + 1;
        else to = middle;
    }
    return from && ns < t->list[from - 1].end_ns ? t->list[from - 1].number : NO_STEP;
}

void step_times_free(step_times *t) {
    free(t->list);
    memset(t, 0, sizeof *t);
}
