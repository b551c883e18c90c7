/* Files that ran at the same time: see beside.h. */
#include "trace/beside.h"

#include "base/memory.h"
#include "trace/trace_range.h"

#include <stdlib.h>

static int64_t calendar(const file_time *f, int64_t ns) { return time_add(f->base_ns, ns); }

static bool file_before(uint32_t a, uint32_t b, const void *context) {
    const file_time *files = context;
    int64_t x = calendar(&files[a], files[a].first_ns), y = calendar(&files[b], files[b].first_ns);
    return x != y ? x < y : a < b;
}

/* A file that begins before those before it have ended stands where it ran; what is further away
   than a slice may be long would not fit 64 bits. */
void file_times_align(file_time *files, size_t count) {
    uint32_t *order = sorted_numbers(count, file_before, files);
    int64_t begin_ns = 0, end_ns = INT64_MIN;    /* of those that are side by side */
    for (size_t i = 0; i < count; i++) {
        file_time *f = &files[order[i]];
        int64_t from_ns = calendar(f, f->first_ns), to_ns = calendar(f, f->last_ns);
        int64_t behind_ns = 0;
        f->begin_ns = f->first_ns;
        f->aside = i && from_ns < end_ns &&
                   !__builtin_sub_overflow(from_ns, begin_ns, &behind_ns) &&
                   behind_ns < BESIDE_MOST_NS;
        if (f->aside) {
            f->begin_ns -= behind_ns;
            files[order[i - 1]].aside = true;
        } else {
            begin_ns = from_ns;
        }
        if (!f->aside || to_ns > end_ns) end_ns = to_ns;
    }
    free(order);
}
