/* The arrows of a trace: see flows.h. */
#include "trace/flows.h"

#include <stdlib.h>
#include <string.h>

void flows_add(flows *f, const trace_event *event, uint32_t row) {
    flow_end end = {
        .flow = trace_flow(event), .call = FLOWS_NO_CALL, .ts_ns = event->ts_ns, .row = row,
        .cat = intern(&f->cats, event->cat.data, event->cat.size), .phase = event->phase,
        .at_instant = event->phase == 's' && text_is(event->cat, "wake")
    };
    end.has_id = event->has & TRACE_HAS_ID && json_int(event->id, &end.id);
    GROW(f->ends, f->count, f->capacity);
    f->ends[f->count++] = end;
}

static bool before_on_row(uint32_t one, uint32_t other, const void *ends) {
    const flow_end *a = (const flow_end *)ends + one, *b = (const flow_end *)ends + other;
    return a->row != b->row ? a->row < b->row : a->ts_ns < b->ts_ns;
}

/* Ends, by row and time; so many are bound. point: the last that is no call, of this row. */
typedef struct binding {
    flows *f;
    uint32_t *order;
    size_t next;
    uint32_t point;
    int64_t point_ns;
} binding;

/* Those before that time on that row, to the calls of `row` that are open. */
static void bind_until(binding *b, const lanes *open, uint32_t row, uint32_t to_row, int64_t ns) {
    for (; b->next < b->f->count; b->next++) {
        flow_end *end = &b->f->ends[b->order[b->next]];
        if (end->row > to_row || (end->row == to_row && end->ts_ns >= ns)) return;
        const lane_call *call = end->row == row ? lanes_innermost(open, end->ts_ns) : NULL;
        bool at_point = end->at_instant && end->row == row && b->point != FLOWS_NO_CALL &&
                        b->point_ns == end->ts_ns;
        if (at_point) end->call = b->point;
        else if (call) end->call = (uint32_t)call->id;
    }
}

void flows_bind(flows *f, const row_items *items) {
    binding b = {f, sorted_numbers(f->count, before_on_row, f->ends), 0, FLOWS_NO_CALL, 0};
    lanes open = {0};
    uint32_t row = UINT32_MAX;
    for (size_t i = 0; f->count && i < items->count; i++) {
        const row_item *item = &items->list[items->order[i]];
        int64_t end_ns = item->start_ns + item->amount;
        bind_until(&b, &open, row, item->row, item->start_ns);
        if (item->row != row) {
            lanes_clear(&open);
            b.point = FLOWS_NO_CALL;
        }
        row = item->row;
        if (item->what == ITEM_CALL) {
            lanes_take(&open, item->start_ns, &end_ns, i);
        } else {
            b.point = (uint32_t)i;
            b.point_ns = item->start_ns;
        }
    }
    bind_until(&b, &open, row, UINT32_MAX, INT64_MAX);
    lanes_free(&open);
    free(b.order);
}

/* Starts before others; else as they came. */
static bool end_before(uint32_t one, uint32_t other, const void *ends) {
    const flow_end *a = (const flow_end *)ends + one, *b = (const flow_end *)ends + other;
    return a->flow != b->flow ? a->flow < b->flow : a->phase == 's' && b->phase != 's';
}

/* Each other end of a flow belongs to the start of its place among those, or to the last one, which
   may have several. Starts that have none are left over. */
void flows_match(flows *f, void (*take)(void *user, const flow_end *from, const flow_end *to),
                 void *user) {
    uint32_t *order = sorted_numbers(f->count, end_before, f->ends);
    size_t first = 0, starts = 0, others = 0;    /* of a flow: where it begins in order */
    for (size_t i = 0; i < f->count; i++) {
        const flow_end *end = &f->ends[order[i]];
        if (end->flow != f->ends[order[first]].flow) {
            f->unmatched += starts > others ? starts - others : 0;
            first = i;
            starts = others = 0;
        }
        if (end->phase == 's') {
            starts++;
            continue;
        }
        size_t start = others < starts ? others : starts - 1;
        const flow_end *from = starts ? &f->ends[order[first + start]] : NULL;
        others++;
        if (!from || from->call == FLOWS_NO_CALL || end->call == FLOWS_NO_CALL) f->unmatched++;
        else take(user, from, end);
    }
    f->unmatched += starts > others ? starts - others : 0;
    free(order);
}

void flows_free(flows *f) {
    free(f->ends);
    intern_free(&f->cats);
    memset(f, 0, sizeof *f);
}
