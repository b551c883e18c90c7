/* --lanes: see json_lanes.h. */
#include "output/json_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "trace/lanes.h"
#include "trace/trace.h"

enum { FIRST_TID = 800000 };     /* of lanes, but for those that the trace has */

typedef struct row {
    int64_t sort;
    bool has_sort;
    uint32_t first_lane, lane_count;         /* in lane_tids; without the row itself */
} row;

struct json_lanes {
    struct trace trace;          /* its threads, */
    row *rows;                   /* of which each is one */
    size_t row_count, row_capacity;
    map tids;                    /* those that the trace has */
    map moved;                   /* offset of an event in the file -> its tid */
    int64_t *lane_tids, next_tid;
    size_t lane_count, lane_capacity;
    map ends;                    /* offset of a begin -> that of its end */
    row_items items;             /* their ids: offsets */
};

static uint32_t row_of(json_lanes *l, const trace_event *event) {
    uint32_t number = trace_thread(&l->trace, event);
    if (number < l->row_count) return number;
    GROW(l->rows, l->row_count, l->row_capacity);
    l->rows[l->row_count++] = (row){.has_sort = false};
    *map_put(&l->tids, (uint64_t)event->tid, NULL) = 1;
    return number;
}

static void take_name(json_lanes *l, const trace_event *event) {
    uint32_t number = row_of(l, event);          /* it may move the rows */
    row *r = &l->rows[number];
    trace_take_name(&l->trace, event);
    if (text_is(event->name, "thread_sort_index"))
        r->has_sort |= trace_arg_int(event, "sort_index", &r->sort);
}

static void take_event(json_lanes *l, const trace_event *event) {
    if (event->phase == 'M') take_name(l, event);
    if (event->phase != 'X' || event->is_async || !(event->has & TRACE_HAS_TID)) return;
    if (event->end_offset) *map_put(&l->ends, event->offset, NULL) = event->end_offset;
    items_add(&l->items, (row_item){
        event->ts_ns, event->dur_ns, event->offset, row_of(l, event), ITEM_CALL, event->is_pair
    });
}

static int64_t new_tid(json_lanes *l) {
    while (map_get(&l->tids, (uint64_t)l->next_tid)) l->next_tid++;
    return l->next_tid++;
}

/* The event at this offset, and the end of its pair, go to the lane, which is not the first. */
static void move(json_lanes *l, row *r, uint32_t lane, uint64_t offset) {
    if (!r->lane_count) r->first_lane = (uint32_t)l->lane_count;
    while (r->lane_count < lane) {
        GROW(l->lane_tids, l->lane_count, l->lane_capacity);
        l->lane_tids[l->lane_count++] = new_tid(l);
        r->lane_count++;
    }
    uint64_t tid = (uint64_t)l->lane_tids[r->first_lane + lane - 1];
    const uint64_t *end = map_get(&l->ends, offset);
    *map_put(&l->moved, offset, NULL) = tid;
    if (end) *map_put(&l->moved, *end, NULL) = tid;
}

/* path: of the trace, whose calls these are. */
static void find_lanes(json_lanes *l, const char *path) {
    lanes open = {0};
    uint32_t number = UINT32_MAX;
    items_sort(&l->items);
    for (size_t i = 0; i < l->items.count; i++) {
        const row_item *item = &l->items.list[l->items.order[i]];
        int64_t end_ns = item->start_ns + item->amount;
        if (item->row != number) lanes_clear(&open);
        number = item->row;
        uint32_t lane = lanes_take(&open, item->start_ns, &end_ns, 0);
        if (lane) move(l, &l->rows[number], lane, item->id);
    }
    if (open.shortened)
        warn(path, "%llu calls overlap %d others: they still do, in the last lane",
             (unsigned long long)open.shortened, MOST_LANES);
    lanes_free(&open);
    items_free(&l->items);
}

json_lanes *json_lanes_find(const char *path) {
    trace_reader *reader = trace_open(path);
    if (!reader) return NULL;
    json_lanes *l = allocate(sizeof *l);
    l->next_tid = FIRST_TID;
    reader->quiet = true;
    while (trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT) take_event(l, reader->event);
    if (trace_close(reader) != EXIT_OK) return json_lanes_free(l), NULL;
    find_lanes(l, path);
    return l;
}

bool json_lanes_edit(const json_lanes *l, const trace_event *event, text_edit *edit) {
    const uint64_t *tid = l ? map_get(&l->moved, event->offset) : NULL;
    trace_text rest = event->raw, key, value;
    if (!tid) return false;
    while (json_next(&rest, &key, &value)) {
        if (!text_is(key, "tid")) continue;
        *edit = (text_edit){.old = value};
        snprintf(edit->text, sizeof edit->text, "%lld", (long long)*tid);
        return true;
    }
    return false;
}

static void write_name(const json_lanes *l, trace_writer *w, uint32_t number, uint32_t lane) {
    char name[600];
    const row *r = &l->rows[number];
    const call_thread *t = &l->trace.threads[number];
    const char *own = trace_thread_name(&l->trace, number);
    writer_row to = {t->pid, l->lane_tids[r->first_lane + lane - 1],
                     trace_words(&l->trace, t->pid_text)};
    if (own) snprintf(name, sizeof name, "%.500s (lane %u)", own, lane + 1);
    else snprintf(name, sizeof name, "%lld (lane %u)", (long long)t->tid, lane + 1);
    writer_name(w, "thread_name", to, name);
    if (t->tid_text != NO_CALL && !r->has_sort) return;
    writer_sort_index(w, "thread_sort_index", to, r->has_sort ? r->sort : t->tid);
}

void json_lanes_names(const json_lanes *l, trace_writer *w) {
    for (uint32_t i = 0; l && i < l->row_count; i++) {
        for (uint32_t lane = 1; lane <= l->rows[i].lane_count; lane++) write_name(l, w, i, lane);
    }
}

void json_lanes_free(json_lanes *l) {
    if (!l) return;
    items_free(&l->items);
    map *maps[] = {&l->tids, &l->moved, &l->ends};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    free(l->rows);
    free(l->lane_tids);
    trace_free(&l->trace);
    free(l);
}
