/* The reading before the reading: see survey.h. */
#include "input/survey.h"

#include "input/trace_reader.h"

static void take_half(const trace_event *half, map *last, map *unsorted) {
    bool is_new;
    uint64_t key = trace_pair_key(half), *ns = map_put(last, key, &is_new);
    if (!is_new && (int64_t)*ns > half->ts_ns) map_put(unsorted, key, NULL);
    else *ns = (uint64_t)half->ts_ns;
}

void survey(const char *path, event_kinds *kinds, map *unsorted) {
    map last = {0};              /* key -> latest time so far */
    trace_reader *reader = trace_open_plain(path);
    if (!reader) return;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = reader->event;
        if (reader->item != TRACE_EVENT) continue;
        if (event->phase == 'M') kinds_note_row(kinds, event);
        else if (trace_is_half(event->phase)) take_half(event, &last, unsorted);
    }
    trace_close(reader);
    map_free(&last);
}
