/* The arrows of a trace: see flows.h. */
#include "flows.h"

#include <stdlib.h>
#include <string.h>

#include "lanes.h"

void flows_add(flows *f, const trace_event *event) {
    GROW(f->ends, f->count, f->capacity);
    flow_end *end = &f->ends[f->count++];
    *end = (flow_end){
        .flow = trace_flow(event), .call = FLOWS_NO_CALL, .ts_ns = event->ts_ns,
        .cat = intern(&f->cats, event->cat.data, event->cat.size), .phase = event->phase
    };
    end->has_id = event->has & TRACE_HAS_ID && json_int(event->id, &end->id);
}

void flows_bind(flows *f, span_sorter *sorter, uint64_t *count) {
    lanes open = {0};
    span item;
    uint32_t thread = UINT32_MAX;
    sorter_rewind(sorter);
    while (f->count && sorter_next(sorter, &item)) {
        if (item.thread != thread) lanes_clear(&open);
        thread = item.thread;
        if (item.what == FLOWS_CALL) {
            int64_t end_ns = item.start_ns + item.amount;
            lanes_take(&open, item.start_ns, &end_ns, count ? (*count)++ : (uint64_t)item.id);
        } else if (item.what == FLOWS_END) {
            const lane_call *call = lanes_innermost(&open, item.start_ns);
            if (call) f->ends[item.order].call = call->id;
        }
    }
    lanes_free(&open);
}

static bool end_before(uint32_t a, uint32_t b, const void *context) {
    const flow_end *ends = context;
    if (ends[a].flow != ends[b].flow) return ends[a].flow < ends[b].flow;
    return ends[a].phase == 's' && ends[b].phase != 's';
}

typedef struct taker {
    void (*take)(void *user, const flow_end *from, const flow_end *to);
    void *user;
} taker;

static void take_pair(flows *f, const taker *t, const flow_end *from, const flow_end *to) {
    if (from->call == FLOWS_NO_CALL || to->call == FLOWS_NO_CALL) f->unmatched++;
    else t->take(t->user, from, to);
}

/* The ends of one flow, starts first: each other end belongs to the start of its place among
   those, or to the last one, which may have several. */
static void match_ends(flows *f, const taker *t, const uint32_t *order, size_t count) {
    size_t starts = 0;
    while (starts < count && f->ends[order[starts]].phase == 's') starts++;
    if (!starts || starts == count) {
        f->unmatched += count;
        return;
    }
    for (size_t i = starts; i < count; i++) {
        size_t place = i - starts < starts ? i - starts : starts - 1;
        take_pair(f, t, &f->ends[order[place]], &f->ends[order[i]]);
    }
    if (starts > count - starts) f->unmatched += starts - (count - starts);
}

void flows_match(flows *f, void (*take)(void *user, const flow_end *from, const flow_end *to),
                 void *user) {
    const taker t = {take, user};
    uint32_t *order = f->count ? sorted_numbers(f->count, end_before, f->ends) : NULL;
    for (size_t i = 0, next; i < f->count; i = next) {
        for (next = i + 1; next < f->count; next++)
            if (f->ends[order[next]].flow != f->ends[order[i]].flow) break;
        match_ends(f, &t, order + i, next - i);
    }
    free(order);
}

void flows_free(flows *f) {
    free(f->ends);
    intern_free(&f->cats);
    memset(f, 0, sizeof *f);
}
