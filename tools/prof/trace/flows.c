/* The arrows of a trace: see flows.h. */
#include "trace/flows.h"

#include <stdlib.h>
#include <string.h>

#include "trace/lanes.h"

void flows_add(flows *f, const trace_event *event) {
    flow_end end = {
        .flow = trace_flow(event), .call = FLOWS_NO_CALL, .number = f->count++,
        .ts_ns = event->ts_ns, .cat = intern(&f->cats, event->cat.data, event->cat.size),
        .phase = event->phase
    };
    end.has_id = event->has & TRACE_HAS_ID && json_int(event->id, &end.id);
    if (!f->ends) f->ends = spill_new();
    spill_add(f->ends, &end, sizeof end);
}

static bool end_before(const void *one, const void *other) {
    const flow_end *a = one, *b = other;
    bool start = a->phase == 's';
    if (a->flow != b->flow) return a->flow < b->flow;
    return start != (b->phase == 's') ? start : a->number < b->number;
}

static void bind_end(flows *f, uint64_t number, const lane_call *call) {
    flow_end end;
    spill_read(f->ends, number * sizeof end, &end, sizeof end);
    if (call) end.call = call->id;
    sorter_add(f->bound, &end);
}

void flows_bind(flows *f, span_sorter *sorter, uint64_t *count) {
    lanes open = {0};
    span item;
    uint32_t thread = UINT32_MAX;
    f->bound = sorter_of(sizeof(flow_end), end_before);
    sorter_rewind(sorter);
    while (f->count && sorter_next(sorter, &item)) {
        if (item.thread != thread) lanes_clear(&open);
        thread = item.thread;
        if (item.what == FLOWS_CALL) {
            int64_t end_ns = item.start_ns + item.amount;
            lanes_take(&open, item.start_ns, &end_ns, count ? (*count)++ : (uint64_t)item.id);
        } else if (item.what == FLOWS_END) {
            bind_end(f, item.order, lanes_innermost(&open, item.start_ns));
        }
    }
    lanes_free(&open);
    sorter_finish(f->bound);
}

/* Each other end of a flow belongs to the start of its place among those, or to the last one, which
   may have several. Starts that have none are left over. */
void flows_match(flows *f, void (*take)(void *user, const flow_end *from, const flow_end *to),
                 void *user) {
    flow_end end;
    size_t starts = 0, others = 0;
    for (uint64_t flow = 0; sorter_next(f->bound, &end); flow = end.flow) {
        if (end.flow != flow) {
            f->unmatched += starts > others ? starts - others : 0;
            starts = others = 0;
        }
        if (end.phase == 's') {
            GROW(f->starts, starts, f->capacity);
            f->starts[starts++] = end;
            continue;
        }
        const flow_end *from = starts ? &f->starts[others < starts ? others : starts - 1] : NULL;
        others++;
        if (!from || from->call == FLOWS_NO_CALL || end.call == FLOWS_NO_CALL) f->unmatched++;
        else take(user, from, &end);
    }
    f->unmatched += starts > others ? starts - others : 0;
}

void flows_free(flows *f) {
    spill_free(f->ends);
    sorter_free(f->bound);
    free(f->starts);
    intern_free(&f->cats);
    memset(f, 0, sizeof *f);
}
