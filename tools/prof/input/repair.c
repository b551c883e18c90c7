/* Device work whose end was lost: see repair.h. */
#include "input/repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "input/event_kinds.h"
#include "input/trace_reader.h"

bool trace_repairs;

struct repairs { map ends; };    /* place of an event in the file -> its end */

typedef struct device_work { int64_t pid, tid, start_ns, end_ns; uint64_t offset; } device_work;

static int by_stream_and_start(const void *a, const void *b) {
    const device_work *x = a, *y = b;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid) return x->tid < y->tid ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static device_work *read_works(const char *path, size_t *count) {
    size_t capacity = 0;
    device_work *works = NULL;
    trace_repairs = false;                       /* this reading is of the times as they are */
    trace_reader *reader = trace_open(path);
    trace_repairs = true;
    if (!reader) return NULL;
    reader->quiet = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *e = reader->event;
        if (reader->item != TRACE_EVENT || e->phase != 'X' || !kind_is_device(e->kind)) continue;
        GROW(works, *count, capacity);
        works[(*count)++] = (device_work){e->pid, e->tid, e->ts_ns, e->ts_ns + e->dur_ns,
                                          e->offset};
    }
    trace_close(reader);
    return works;
}

repairs *repair_find(const char *path) {
    if (file_reads_once(path)) {
        warn(path, "--repair reads a trace twice: this one cannot be, its times stay");
        return NULL;
    }
    static map told;             /* files that are read again */
    bool is_new;
    repairs *r = allocate(sizeof *r);
    size_t count = 0;
    int64_t less_ns = 0;
    device_work *works = read_works(path, &count);
    if (count) qsort(works, count, sizeof *works, by_stream_and_start);
    for (size_t i = count, next = count; i-- > 0; ) {
        device_work *w = &works[i];
        if (i + 1 < count && w->start_ns < w[1].start_ns) next = i + 1;
        bool same = next < count && w->pid == works[next].pid && w->tid == works[next].tid;
        if (!same || works[next].start_ns <= w->start_ns || w->end_ns <= works[next].start_ns)
            continue;
        *map_put(&r->ends, w->offset, NULL) = (uint64_t)works[next].start_ns;
        less_ns += w->end_ns - works[next].start_ns;
    }
    map_put(&told, hash_bytes(path, strlen(path)), &is_new);
    if (r->ends.count && is_new)
        warn(path, "device work ends where the next on its stream begins, %zu times: %.3f ms "
             "less", r->ends.count, (double)less_ns * 1e-6);
    free(works);
    return r;
}

void repair_event(const repairs *r, trace_event *event) {
    const uint64_t *end = event->phase == 'X' ? map_get(&r->ends, event->offset) : NULL;
    if (end) event->dur_ns = (int64_t)*end - event->ts_ns;
}

void repair_free(repairs *r) {
    if (r) map_free(&r->ends);
    free(r);
}
