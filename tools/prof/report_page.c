/* The page of prof report --format html: see report_page.h and report.html. */
#include "busy.h"
#include "losses.h"
#include "report_page.h"

#include <stdlib.h>
#include <string.h>

enum {
    BINS = 600,                  /* of a lane */
    MOST_THREADS = 12,           /* of a file, that get a lane */
    MOST_ROWS = 3000,
    MOST_NODES = 20000,          /* of the flame graph */
    MOST_POINTS = 1200           /* of a memory line */
};

typedef struct interval { int64_t start_ns, end_ns; uint32_t lane; work_kind kind; } interval;
typedef struct lane {            /* what is busy or idle: a device, a thread */
    char name[96];
    bool on_device;
    interval *busy;              /* apart from each other, by time; from the file's start on */
    size_t count, capacity;
    busy_time time;
    int64_t span_ns;             /* of the file */
} lane;

typedef struct flame_node {
    uint32_t name, parent;
    int64_t total_ns;
    uint64_t count;
    uint8_t kind;
} flame_node;

typedef struct memory_point { int64_t ts_ns, allocated, reserved; } memory_point;
typedef struct memory_line {
    int64_t type, index;
    memory_point *points;
    size_t count, capacity;
    size_t settled;              /* points of the files before: their times are settled */
} memory_line;

struct report_page {
    row_table *table;
    interval *device_spans;      /* of the file being read; lane: the device's index */
    size_t span_count, span_capacity;
    map work_names;              /* kinds of work */
    lane *lanes;
    size_t lane_count, lane_capacity;
    size_t threads_left;         /* without a lane */
    flame_node *nodes;
    size_t node_count, node_capacity;
    map node_numbers;
    memory_line *lines;
    size_t line_count, line_capacity;
    map line_numbers;            /* device -> its place there */
    int64_t span_ns;             /* of the longest file */
    unsigned files;
};

/* ---- Reading ---- */

static memory_line *line_of(report_page *page, int64_t type, int64_t index) {
    bool is_new;
    uint64_t key = hash_mix((uint64_t)type) * 31 + (uint64_t)index;
    uint64_t *number = map_put(&page->line_numbers, key, &is_new);
    if (!is_new) return &page->lines[*number];
    GROW(page->lines, page->line_count, page->line_capacity);
    *number = page->line_count++;
    page->lines[*number] = (memory_line){.type = type, .index = index};
    return &page->lines[*number];
}

static void add_memory_point(report_page *page, const trace_event *event) {
    int64_t type = 0, index = -1;
    memory_point point = {.ts_ns = event->ts_ns};
    if (!trace_arg_int(event, "Total Allocated", &point.allocated)) return;
    trace_arg_int(event, "Total Reserved", &point.reserved);
    trace_arg_int(event, "Device Type", &type);
    trace_arg_int(event, "Device Id", &index);
    memory_line *line = line_of(page, type, index);
    GROW(line->points, line->count, line->capacity);
    line->points[line->count++] = point;
}

static void on_event(void *user, const trace_event *event) {
    report_page *page = user;
    if (event->phase == 'i' && text_is(event->name, "[memory]")) add_memory_point(page, event);
    if (event->phase != 'X' || !kind_is_device(event->kind)) return;
    GROW(page->device_spans, page->span_count, page->span_capacity);
    page->device_spans[page->span_count++] = (interval){
        event->ts_ns, event->ts_ns + event->dur_ns, (uint32_t)trace_device(event),
        work_kind_of(&page->work_names, event)
    };
}

static int by_lane_and_start(const void *a, const void *b) {
    const interval *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void lane_add(lane *l, work_kind kind, int64_t start_ns, int64_t end_ns) {
    interval *last = l->count ? &l->busy[l->count - 1] : NULL;
    busy_add(&l->time, kind, start_ns, end_ns);
    if (end_ns <= start_ns) return;
    if (last && start_ns <= last->end_ns) {
        if (end_ns > last->end_ns) last->end_ns = end_ns;
        return;
    }
    GROW(l->busy, l->count, l->capacity);
    l->busy[l->count++] = (interval){start_ns, end_ns, 0, kind};
}

static lane *lane_new(report_page *page, bool on_device) {
    GROW(page->lanes, page->lane_count, page->lane_capacity);
    lane *l = &page->lanes[page->lane_count++];
    *l = (lane){.on_device = on_device};
    return l;
}

static void add_devices(report_page *page, int64_t begin_ns) {
    if (page->span_count)
        qsort(page->device_spans, page->span_count, sizeof(interval), by_lane_and_start);
    lane *l = NULL;
    for (size_t i = 0; i < page->span_count; i++) {
        const interval *span = &page->device_spans[i];
        if (i == 0 || span->lane != span[-1].lane) {
            int64_t index = (int32_t)span->lane;
            const uint64_t *d = map_get(&page->table->device_numbers, (uint64_t)index);
            const char *name = d ? page->table->devices[*d].name : "";
            l = lane_new(page, true);
            snprintf(l->name, sizeof l->name, "Device %d %s", (int)span->lane, name);
        }
        lane_add(l, span->kind, span->start_ns - begin_ns, span->end_ns - begin_ns);
    }
    page->span_count = 0;
}

static void name_thread(lane *l, const call_tree *tree, const call_thread *thread) {
    char tid[40];
    snprintf(tid, sizeof tid, "%lld", (long long)thread->tid);
    snprintf(l->name, sizeof l->name, "Thread %s", thread->tid_text == NO_CALL
                 ? tid : interned_text(&tree->names, thread->tid_text));
}

static int by_busy(const void *a, const void *b) {
    const lane *x = a, *y = b;
    return (x->time.busy_ns < y->time.busy_ns) - (x->time.busy_ns > y->time.busy_ns);
}

/* The call around it, of those that the page is of. */
static uint32_t parent_of(const call_tree *tree, const call *c) {
    return c->parent != NO_CALL && tree->calls[c->parent].outside ? NO_CALL : c->parent;
}

/* The threads that are busiest with marked calls. */
static void add_threads(report_page *page, const call_tree *tree, int64_t begin_ns) {
    size_t first = page->lane_count;
    uint32_t thread = NO_CALL;
    lane *l = NULL;
    for (size_t i = 0; i < tree->count; i++) {
        const call *c = &tree->calls[tree->order[i]];
        if (c->outside || parent_of(tree, c) != NO_CALL || c->kind == TRACE_PYTHON ||
            c->kind == TRACE_OVERHEAD || c->is_async) continue;
        if (!l || c->thread != thread) {
            l = lane_new(page, false);
            name_thread(l, tree, &tree->threads[thread = c->thread]);
        }
        lane_add(l, WORK_COMPUTE, c->start_ns - begin_ns, c->end_ns - begin_ns);
    }
    size_t added = page->lane_count - first;
    if (added) qsort(page->lanes + first, added, sizeof *page->lanes, by_busy);
    for (; added > MOST_THREADS; added--, page->threads_left++)
        free(page->lanes[--page->lane_count].busy);
}

static uint32_t node_of(report_page *page, uint32_t parent, const call *c) {
    bool is_new;
    uint64_t *number = map_put(&page->node_numbers, (uint64_t)parent << 32 | c->name, &is_new);
    if (is_new) {
        GROW(page->nodes, page->node_count, page->node_capacity);
        page->nodes[page->node_count] = (flame_node){
            .name = c->name, .parent = parent, .kind = c->kind
        };
        *number = page->node_count++;
    }
    return (uint32_t)*number;
}

static void add_flames(report_page *page, const call_tree *tree) {
    uint32_t *nodes = allocate((tree->count + 1) * sizeof *nodes);
    for (size_t i = 0; i < tree->count; i++) {
        const call *c = &tree->calls[tree->order[i]];
        if (c->kind == TRACE_PYTHON || c->is_async || c->outside) continue;
        uint32_t parent = parent_of(tree, c);
        uint32_t number = node_of(page, parent == NO_CALL ? 0 : nodes[parent], c);
        nodes[tree->order[i]] = number;
        page->nodes[number].total_ns += call_ns(c);
        page->nodes[number].count++;
        if (parent != NO_CALL) continue;
        page->nodes[0].total_ns += call_ns(c);
        page->nodes[0].count++;
    }
    free(nodes);
}

static void settle_memory(report_page *page, int64_t begin_ns) {
    for (size_t i = 0; i < page->line_count; i++) {
        memory_line *line = &page->lines[i];
        for (; line->settled < line->count; line->settled++)
            line->points[line->settled].ts_ns -= begin_ns;
    }
}

/* When the file's first call or kernel begins, and how long it goes on. */
static void file_range(const report_page *page, const call_tree *tree, int64_t *begin_ns,
                       int64_t *end_ns) {
    *begin_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t i = 0; i < tree->count; i++) {
        const call *c = &tree->calls[i];
        if (c->outside) continue;
        if (c->start_ns < *begin_ns) *begin_ns = c->start_ns;
        if (c->end_ns > *end_ns) *end_ns = c->end_ns;
    }
    for (size_t i = 0; i < page->span_count; i++) {
        const interval *span = &page->device_spans[i];
        if (span->start_ns < *begin_ns) *begin_ns = span->start_ns;
        if (span->end_ns > *end_ns) *end_ns = span->end_ns;
    }
    if (*end_ns < *begin_ns) *begin_ns = *end_ns = 0;
}

static void on_tree(void *user, const call_tree *tree) {
    report_page *page = user;
    int64_t begin_ns, end_ns;
    size_t first = page->lane_count;
    file_range(page, tree, &begin_ns, &end_ns);
    if (end_ns - begin_ns > page->span_ns) page->span_ns = end_ns - begin_ns;
    add_devices(page, begin_ns);
    add_threads(page, tree, begin_ns);
    for (size_t i = first; i < page->lane_count; i++) page->lanes[i].span_ns = end_ns - begin_ns;
    add_flames(page, tree);
    settle_memory(page, begin_ns);
    page->files++;
}

report_page *page_new(row_table *table) {
    report_page *page = allocate(sizeof *page);
    page->table = table;
    table->on_event = on_event;
    table->on_tree = on_tree;
    table->user = page;
    GROW(page->nodes, page->node_count, page->node_capacity);
    page->nodes[page->node_count++] = (flame_node){
        .name = intern(&table->tree.names, "all threads", 11)
    };
    return page;
}

/* ---- Writing ---- */

static void write_text(output *out, const char *text) {
    output_json_text(out, text, strlen(text));
}

static int by_self(const void *a, const void *b) {
    const prof_average *const *p = a, *const *q = b, *x = *p, *y = *q;
    int64_t m = x->self_cpu_time_total_ns + x->self_device_time_total_ns;
    int64_t n = y->self_cpu_time_total_ns + y->self_device_time_total_ns;
    return m != n ? (m < n ? 1 : -1) : strcmp(x->key, y->key);
}

static void write_row(output *out, const prof_average *row) {
    char name[2 * HEAD_NAME], source[HEAD_NAME];
    output_text(out, "[");
    if (row->site) {
        site_write(row->site, source, sizeof source);
        snprintf(name, sizeof name, "%s (%s)", row->key, source);
    }
    write_text(out, row->site ? name : row->key);
    output_format(out, ",%d,%llu,", row->device_type != PROF_DEVICE_CPU,
                  (unsigned long long)row->count);
    const int64_t times[] = {row->self_cpu_time_total_ns, row->cpu_time_total_ns,
                             row->self_device_time_total_ns, row->device_time_total_ns};
    for (int i = 0; i < 4; i++) {
        write_us(out, times[i]);
        output_text(out, ",");
    }
    output_format(out, "%lld,%lld,%d]", (long long)row->self_cpu_memory_usage,
                  (long long)row->self_device_memory_usage, row->is_user_annotation);
}

static void write_rows(output *out, const row_table *table) {
    const prof_average **order = allocate((table->count + 1) * sizeof *order);
    for (size_t i = 0; i < table->count; i++) order[i] = &table->rows[i];
    if (table->count) qsort(order, table->count, sizeof *order, by_self);
    size_t shown = table->count < MOST_ROWS ? table->count : MOST_ROWS;
    output_format(out, "\"rows_left\":%zu,\n\"rows\":[", table->count - shown);
    for (size_t i = 0; i < shown; i++) {
        output_text(out, i ? ",\n" : "\n");
        write_row(out, order[i]);
    }
    output_text(out, "],\n");
    free(order);
}

/* Percent of each bin that the lane is busy. */
static void write_bins(output *out, const lane *l, int64_t span_ns) {
    double width = (double)span_ns / BINS;
    size_t next = 0;
    for (int bin = 0; bin < BINS; bin++) {
        double from = bin * width, to = from + width, busy = 0;
        while (next < l->count && (double)l->busy[next].end_ns <= from) next++;
        for (size_t i = next; i < l->count && (double)l->busy[i].start_ns < to; i++) {
            double start = (double)l->busy[i].start_ns, end = (double)l->busy[i].end_ns;
            busy += (end < to ? end : to) - (start > from ? start : from);
        }
        output_format(out, "%s%.0f", bin ? "," : "", width > 0 ? 100 * busy / width : 0.0);
    }
}

/* Of a device: see busy.h. Of a thread: the share of the file's time that it is in marked calls. */
static double share_of(const lane *l) {
    if (l->on_device) return busy_share(&l->time);
    return l->span_ns > 0 ? (double)l->time.busy_ns / (double)l->span_ns : 0.0;
}

static void write_lanes(output *out, const report_page *page) {
    output_format(out, "\"threads_left\":%zu,\n", page->threads_left);
    output_text(out, "\"lanes\":[");
    for (size_t i = 0; i < page->lane_count; i++) {
        const lane *l = &page->lanes[i];
        output_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
        write_text(out, l->name);
        output_format(out, ",\"device\":%s,\"share\":%.6f,\"busy\":[",
                      l->on_device ? "true" : "false", share_of(l));
        write_bins(out, l, page->span_ns);
        output_text(out, "]}");
    }
    output_text(out, "],\n");
}

/* Without nodes too small to see, whose children are smaller still. */
static void write_flame(output *out, const report_page *page) {
    uint32_t *numbers = allocate(page->node_count * sizeof *numbers);
    uint32_t *names = allocate((page->table->tree.names.count + 1) * sizeof *names);
    uint32_t count = 0, name_count = 0;
    int64_t least = page->nodes[0].total_ns / 5000;
    output_text(out, "\"flame\":[");
    for (size_t i = 0; i < page->node_count; i++) {
        const flame_node *node = &page->nodes[i];
        bool kept = i == 0 || (node->total_ns > least && count < MOST_NODES &&
                               numbers[node->parent]);
        if (!kept) continue;
        uint32_t parent = i ? numbers[node->parent] - 1 : 0;
        numbers[i] = ++count;
        if (!names[node->name]) names[node->name] = ++name_count;
        output_format(out, "%s[%u,%u,", i ? "," : "", names[node->name] - 1, parent);
        write_us(out, node->total_ns);
        output_format(out, ",%llu,%d]", (unsigned long long)node->count, node->kind);
    }
    output_text(out, "],\n\"names\":[");
    uint32_t *texts = allocate((name_count + 1) * sizeof *texts);
    for (size_t i = 0; i < page->table->tree.names.count; i++)
        if (names[i]) texts[names[i] - 1] = (uint32_t)i;
    for (uint32_t i = 0; i < name_count; i++) {
        output_text(out, i ? ",\n" : "\n");
        write_text(out, interned_text(&page->table->tree.names, texts[i]));
    }
    output_text(out, "],\n");
    free(numbers);
    free(names);
    free(texts);
}

static int by_time(const void *a, const void *b) {
    const memory_point *x = a, *y = b;
    return (x->ts_ns > y->ts_ns) - (x->ts_ns < y->ts_ns);
}

/* The highest point of each stretch of time, so that no peak is lost. */
static void write_points(output *out, const memory_line *line, int64_t span_ns) {
    int64_t width = span_ns / MOST_POINTS + 1;
    bool first = true;
    qsort(line->points, line->count, sizeof *line->points, by_time);
    for (size_t i = 0; i < line->count; ) {
        const memory_point *high = &line->points[i];
        int64_t stretch = high->ts_ns / width;
        for (i++; i < line->count && line->points[i].ts_ns / width == stretch; i++)
            if (line->points[i].allocated >= high->allocated) high = &line->points[i];
        output_text(out, first ? "[" : ",[");
        write_us(out, high->ts_ns);
        output_format(out, ",%lld,%lld]", (long long)high->allocated, (long long)high->reserved);
        first = false;
    }
}

static void write_memory(output *out, const report_page *page) {
    output_text(out, "\"memory\":[");
    for (size_t i = 0; i < page->line_count; i++) {
        const memory_line *line = &page->lines[i];
        bool host = line->type == PROF_DEVICE_CPU;
        const char *device = page->table->view.device_name;
        output_text(out, i ? ",\n" : "\n");
        if (host) output_text(out, "{\"name\":\"CPU\"");
        else output_format(out, "{\"name\":\"%s %lld\"", device ? device : "Device",
                           (long long)line->index);
        output_format(out, ",\"device\":%s,\"points\":[", host ? "false" : "true");
        write_points(out, line, page->span_ns);
        output_text(out, "]}");
    }
    output_text(out, "]\n");
}

static void write_card(output *out, const char *name, const char *value) {
    output_text(out, "[");
    write_text(out, name);
    output_text(out, ",");
    write_text(out, value);
    output_text(out, "],");
}

static void write_cards(output *out, const report_page *page, const row_table *table) {
    enum { MOST_CARDS = 8 };
    char text[64];
    int devices = 0;
    output_text(out, "\"cards\":[");
    prof_format_time(text, sizeof text, (double)page->span_ns * 1e-3);
    write_card(out, page->files > 1 ? "Longest file" : "From first to last", text);
    prof_format_time(text, sizeof text, (double)table->whole_cpu_ns * 1e-3);
    write_card(out, "Self CPU total", text);
    if (table->view.device_name) {
        prof_format_time(text, sizeof text, (double)table->whole_device_ns * 1e-3);
        write_card(out, "Device total", text);
        snprintf(text, sizeof text, "%llu", (unsigned long long)table->kernels);
        write_card(out, "Kernels and copies", text);
    }
    for (size_t i = 0; i < page->lane_count; i++) {
        const lane *l = &page->lanes[i];
        if (!l->on_device || ++devices > MOST_CARDS) continue;
        char name[48];
        snprintf(name, sizeof name, "%.*s busy", (int)strcspn(l->name + 7, " ") + 7, l->name);
        snprintf(text, sizeof text, "%.1f %%", 100 * share_of(l));
        write_card(out, name, text);
    }
    snprintf(text, sizeof text, "%zu", table->count);
    write_card(out, "Names", text);
    out->used--;                                           /* the last comma */
    output_text(out, "],\n");
}

typedef struct page_data {
    report_page *page;
    const row_table *table;
    const char *title;
    const text_list *notes;
} page_data;

static void write_texts(output *out, const char *member, const text_list *texts) {
    output_format(out, ",\n\"%s\":[", member);
    for (size_t i = 0; i < texts->count; i++) {
        if (i) output_text(out, ",");
        write_text(out, texts->items[i]);
    }
    output_text(out, "]");
}

static void write_data(output *out, void *user) {
    const page_data *d = user;
    const char *device = d->table->view.device_name;
    output_text(out, "{\"title\":");
    write_text(out, d->title);
    output_format(out, ",\"version\":\"%s\",\"events\":%llu,\"device\":", PROF_VERSION,
                  (unsigned long long)d->table->events);
    if (device) write_text(out, device);
    else output_text(out, "null");
    output_format(out, ",\"with_memory\":%s,\"span\":",
                  d->table->view.profile_memory ? "true" : "false");
    write_us(out, d->page->span_ns > 0 ? d->page->span_ns : 1);
    output_text(out, ",\"sums\":[");
    write_us(out, d->table->whole_cpu_ns);
    output_text(out, ",");
    write_us(out, d->table->whole_device_ns);
    output_text(out, "]");
    text_list told = losses_told();
    write_texts(out, "losses", &told);
    write_texts(out, "notes", d->notes);
    output_text(out, ",\n");
    write_cards(out, d->page, d->table);
    write_rows(out, d->table);
    write_lanes(out, d->page);
    write_flame(out, d->page);
    write_memory(out, d->page);
    output_text(out, "}\n");
}

void page_write(report_page *page, const row_table *table, const char *title,
                const text_list *notes, output *out) {
    static const char *const lines[] = {
#include "report_html.h"
        NULL
    };
    page_data data = {page, table, title, notes};
    output_page(out, lines, write_data, &data);
}

void page_free(report_page *page) {
    for (size_t i = 0; i < page->lane_count; i++) free(page->lanes[i].busy);
    map_free(&page->work_names);
    for (size_t i = 0; i < page->line_count; i++) free(page->lines[i].points);
    free(page->device_spans);
    free(page->lanes);
    free(page->nodes);
    free(page->lines);
    map_free(&page->node_numbers);
    map_free(&page->line_numbers);
    free(page);
}
