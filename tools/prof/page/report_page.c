/* The page of prof report --format html: see report_page.h and report.html. */
#include "page/report_page.h"
#include "analysis/ranks.h"
#include "input/losses.h"
#include "output/packed.h"
#include "output/timeline.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 3000,
    MOST_TEXT = 2000,            /* bytes of a name: as in the timeline */
    MOST_POINTS = 20000          /* of a memory line */
};

typedef struct memory_point { int64_t ts_ns, allocated, reserved; } memory_point;
typedef struct memory_line {
    int64_t type, index;
    uint32_t file;
    memory_point *points;
    size_t count, capacity;
} memory_line;

struct report_page {
    row_table *table;
    timeline *timeline;
    rank_table ranks;
    memory_line *lines;
    size_t line_count, line_capacity;
    map line_numbers;            /* device of a file -> its index there */
    unsigned files;
    void (*write_use)(output *out, void *user);  /* of memory; NULL */
    void *user_of_use;
};

/* ---- Reading ---- */

static memory_line *line_of(report_page *page, int64_t type, int64_t index) {
    bool is_new;
    uint64_t key = hash_mix(hash_mix(page->files) * 31 + (uint64_t)type) * 31 + (uint64_t)index;
    uint64_t *number = map_put(&page->line_numbers, key, &is_new);
    if (!is_new) return &page->lines[*number];
    GROW(page->lines, page->line_count, page->line_capacity);
    *number = page->line_count++;
    page->lines[*number] = (memory_line){.type = type, .index = index, .file = page->files};
    return &page->lines[*number];
}

static void add_memory_point(report_page *page, const trace_event *event) {
    int64_t type = 0, index = -1;
    memory_point point = {.ts_ns = event->ts_ns};
    if (!trace_arg_int(event, KEY_TOTAL, &point.allocated)) return;
    trace_arg_int(event, "Total Reserved", &point.reserved);
    trace_arg_int(event, KEY_DEVICE_TYPE, &type);
    trace_arg_int(event, KEY_DEVICE_INDEX, &index);
    memory_line *line = line_of(page, type, index);
    GROW(line->points, line->count, line->capacity);
    line->points[line->count++] = point;
}

static void on_event(void *user, const trace_event *event) {
    report_page *page = user;
    if (event->phase == 'i' && text_is(event->name, "[memory]")) add_memory_point(page, event);
    if (event->phase == 'X') ranks_take(&page->ranks, event);
    timeline_add(page->timeline, event);
}

static void on_member(void *user, const trace_member *member) {
    report_page *page = user;
    rank_id id = {0};
    rank_read(&id, member);
    if (id.told) timeline_set_rank(page->timeline, id.rank);
    ranks_take_member(&page->ranks, member);
}

void page_begin_file(report_page *page, const char *label) {
    timeline_begin_file(page->timeline, label, page->table);
    ranks_begin_file(&page->ranks, label);
}

void page_end_file(report_page *page) {
    ranks_end_file(&page->ranks, true);
    timeline_end_file(page->timeline, page->table->base_ns);
    page->files++;
}

void page_takes(report_page *page, row_table *table) {
    page->table = table;
    table->on_event = on_event;
    table->on_member = on_member;
    table->user = page;
}

report_page *page_new(row_table *table) {
    report_page *page = allocate(sizeof *page);
    page->timeline = timeline_new();
    page->ranks.untold = true;
    if (table) page_takes(page, table);
    return page;
}

void page_uses_memory(report_page *page, void (*write)(output *out, void *user), void *user) {
    page->write_use = write;
    page->user_of_use = user;
}

/* ---- Writing ---- */

static void write_text(output *out, const char *text) {
    size_t size = strlen(text);
    if (size > MOST_TEXT)
        for (size = MOST_TEXT; size && ((unsigned char)text[size] & 0xC0) == 0x80; size--) {}
    output_json_text(out, text, size);
}

static int by_self(const void *a, const void *b) {
    const prof_average *const *p = a, *const *q = b, *x = *p, *y = *q;
    int64_t m = x->self_cpu_time_total_ns + x->self_device_time_total_ns;
    int64_t n = y->self_cpu_time_total_ns + y->self_device_time_total_ns;
    return m != n ? (m < n ? 1 : -1) : strcmp(x->key, y->key);
}

/* names: of counters, NULL: no more. */
static void write_row(output *out, const prof_average *row, const char *const *names) {
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
    output_format(out, "%lld,%lld,%d", (long long)row->self_cpu_memory_usage,
                  (long long)row->self_device_memory_usage, row->is_user_annotation);
    if (row->on_cpu_ns || names[0]) output_text(out, ",");
    if (row->on_cpu_ns || names[0]) write_us(out, row->on_cpu_ns);
    for (int i = 0; i < PROF_COUNTERS && names[i]; i++)
        output_format(out, ",%lld,%lld", (long long)row->self_counters[i],
                      (long long)row->counters[i]);
    output_text(out, "]");
}

static void write_rows(output *out, const row_table *table) {
    const prof_average **order = allocate((table->count + 1) * sizeof *order);
    for (size_t i = 0; i < table->count; i++) order[i] = &table->rows[i];
    if (table->count) qsort(order, table->count, sizeof *order, by_self);
    size_t shown = table->count < MOST_ROWS ? table->count : MOST_ROWS;
    output_text(out, "\"counters\":[");
    for (int i = 0; i < PROF_COUNTERS && table->view.counters[i]; i++) {
        if (i) output_text(out, ",");
        write_text(out, table->view.counters[i]);
    }
    output_format(out, "],\n\"rows_left\":%zu,\n\"rows\":[", table->count - shown);
    for (size_t i = 0; i < shown; i++) {
        output_text(out, i ? ",\n" : "\n");
        write_row(out, order[i], table->view.counters);
    }
    output_text(out, "],\n");
    free(order);
}

static int by_time(const void *a, const void *b) {
    const memory_point *x = a, *y = b;
    return (x->ts_ns > y->ts_ns) - (x->ts_ns < y->ts_ns);
}

/* The highest point of each stretch of time, so that no peak is lost: when, allocated, reserved,
   each as what is more than of the point before. */
static void write_points(output *out, const memory_line *line, int64_t begin_ns) {
    packed p;
    memory_point last = {.ts_ns = begin_ns};
    packed_begin(&p, out);
    qsort(line->points, line->count, sizeof *line->points, by_time);
    const memory_point *end = line->points + line->count;
    uint64_t first_ns = (uint64_t)line->points->ts_ns;
    uint64_t width = ((uint64_t)end[-1].ts_ns - first_ns) / MOST_POINTS + 1;
    for (const memory_point *point = line->points; point < end; ) {
        const memory_point *high = point;
        uint64_t stretch = ((uint64_t)point->ts_ns - first_ns) / width;
        for (; point < end && ((uint64_t)point->ts_ns - first_ns) / width == stretch; point++)
            if (point->allocated >= high->allocated) high = point;
        packed_signed(&p, high->ts_ns - last.ts_ns);
        packed_signed(&p, high->allocated - last.allocated);
        packed_signed(&p, high->reserved - last.reserved);
        last = *high;
    }
    packed_end(&p);
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
        output_format(out, ",\"device\":%s,\"file\":%u,\"points\":", host ? "false" : "true",
                      line->file);
        write_points(out, line, timeline_begin(page->timeline, line->file));
        output_text(out, "}");
    }
    output_text(out, "],\n");
}

static void write_card(output *out, const char *name, const char *value) {
    output_text(out, "[");
    write_text(out, name);
    output_text(out, ",");
    write_text(out, value);
    output_text(out, "],");
}

static void write_cards(output *out, const report_page *page, const row_table *table) {
    char text[64];
    output_text(out, "\"cards\":[");
    format_time(text, sizeof text, (double)timeline_longest(page->timeline) * 1e-3);
    write_card(out, page->files > 1 ? "Longest file" : "Time span", text);
    format_time(text, sizeof text, (double)table->whole_cpu_ns * 1e-3);
    write_card(out, "Self CPU total", text);
    if (table->view.device_name) {
        format_time(text, sizeof text, (double)table->whole_device_ns * 1e-3);
        write_card(out, "Device total", text);
        snprintf(text, sizeof text, "%llu", (unsigned long long)table->kernels);
        write_card(out, "Kernels and copies", text);
    }
    snprintf(text, sizeof text, "%zu", table->count);
    write_card(out, "Names", text);
    out->used--;                                           /* the last comma */
    output_text(out, "],\n");
}

/* Of each collective [file, when its part of that began, ns that it waited for the last]. */
static void write_collective_parts(output *out, const report_page *page) {
    const rank_table *t = &page->ranks;
    output_text(out, ",\n\"collective_parts\":[");
    for (size_t i = 0; i < t->joined_count; i++) {
        const joined_row *row = &t->joined[i];
        output_text(out, i ? ",[" : "[");
        for (uint32_t k = 0; k < row->count; k++) {
            const collective_part *part = &t->parts[row->first + k];
            int64_t begin_ns = timeline_begin(page->timeline, part->file) +
                               t->rows[part->file].base_ns;
            int64_t waited_ns = ranks_consistent(t, row) ? row->last_ns - part->begin_ns : 0;
            output_format(out, "%s[%u,%lld,%lld]", k ? "," : "", (unsigned)part->file,
                          (long long)(part->begin_ns - begin_ns), (long long)waited_ns);
        }
        output_text(out, "]");
    }
    output_text(out, "],\n");
}

/* As prof ranks --format json has them; then what a range needs of them. */
static void write_ranks(output *out, report_page *page) {
    ranks_finish(&page->ranks, false);
    output_text(out, "\"ranks\":");
    ranks_write_json(&page->ranks, out);
    output_text(out, ",\n\"rank_files\":[");
    for (size_t i = 0; i < page->ranks.count; i++)
        output_format(out, "%s%u", i ? "," : "", (unsigned)page->ranks.order[i]);
    output_text(out, "]");
    write_collective_parts(out, page);
}

/* Of each trace, of the CPU and of devices. */
static void write_compared_cards(output *out, const page_comparison *c) {
    char text[64], name[128];
    output_text(out, "\"cards\":[");
    for (int i = 0; i < 4; i++) {
        const page_pair *total = &c->totals[i / 2];
        if (total->count[0] + total->count[1] == 0) continue;
        format_time(text, sizeof text, (double)total->ns[i % 2] * 1e-3);
        snprintf(name, sizeof name, "%s: %s", c->names[i % 2], i > 1 ? "device" : "self CPU");
        write_card(out, name, text);
    }
    snprintf(text, sizeof text, "%zu", c->count);
    write_card(out, "Names", text);
    out->used--;                                           /* the last comma */
    output_text(out, "],\n");
}

static void write_compared_rows(output *out, const page_comparison *c) {
    size_t shown = c->count < MOST_ROWS ? c->count : MOST_ROWS;
    output_text(out, "\"compare\":[");
    write_text(out, c->names[0]);
    output_text(out, ",");
    write_text(out, c->names[1]);
    output_text(out, ",");
    write_text(out, c->metric);
    output_format(out, "],\n\"rows_left\":%zu,\n\"rows\":[", c->count - shown);
    for (size_t i = 0; i < shown; i++) {
        const page_pair *row = &c->rows[i];
        output_text(out, i ? ",\n[" : "\n[");
        write_text(out, row->key);
        output_format(out, ",%d,%llu,%llu,", row->on_device, (unsigned long long)row->count[0],
                      (unsigned long long)row->count[1]);
        write_us(out, row->ns[0]);
        output_text(out, ",");
        write_us(out, row->ns[1]);
        output_format(out, ",%d]", row->is_worse);
    }
    output_text(out, "],\n");
}

/* A device is a process of the trace, as under the table: [process, name, ns: from first to last,
   compute, exposed communication, exposed copies, busy]. false: there is none. */
static bool write_devices(output *out, const report_page *page) {
    const timeline *t = page->timeline;
    bool any = false;
    output_text(out, ",\n\"devices\":[");
    for (uint32_t i = 0; i < timeline_processes(t); i++) {
        int64_t number;
        const busy_time *b = timeline_device(t, i, &number);
        if (!b) continue;
        const uint64_t *d = map_get(&page->table->device_numbers, (uint64_t)number);
        char name[64];
        snprintf(name, sizeof name, "Device %lld %s", (long long)number,
                 d ? page->table->devices[*d].name : "");
        output_format(out, "%s\n[%u,", any ? "," : "", i);
        write_text(out, name);
        output_format(out, ",%lld,%lld,%lld,%lld,%lld]", (long long)busy_span(b),
                      (long long)b->kind_ns[WORK_COMPUTE], (long long)busy_exposed(b),
                      (long long)b->exposed_memory_ns, (long long)b->busy_ns);
        any = true;
    }
    output_text(out, "]");
    return any;
}

typedef struct page_data {
    report_page *page;
    const page_comparison *comparison;
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
    output_format(out, ",\"with_memory\":%s,\"sums\":[",
                  d->table->view.profile_memory ? "true" : "false");
    write_us(out, d->table->whole_cpu_ns);
    output_text(out, ",");
    write_us(out, d->table->whole_device_ns);
    output_text(out, "]");
    text_list told = losses_told();
    write_texts(out, "losses", &told);
    write_texts(out, "notes", d->notes);
    bool devices = write_devices(out, d->page);
    output_text(out, ",\n");
    if (d->page->write_use) {
        output_text(out, "\"cards\":[],\"rows_left\":0,\"rows\":[],\n\"memory_use\":");
        d->page->write_use(out, d->page->user_of_use);
        output_text(out, ",\n");
    } else if (d->comparison) {
        write_compared_cards(out, d->comparison);
        write_compared_rows(out, d->comparison);
    } else {
        write_cards(out, d->page, d->table);
        if (devices) write_ranks(out, d->page);
        write_rows(out, d->table);
    }
    write_memory(out, d->page);
    timeline_write(d->page->timeline, out);
    output_text(out, "}\n");
}

void page_write(report_page *page, const row_table *table, const char *title,
                const text_list *notes, const page_comparison *comparison, output *out) {
    static const char *const lines[] = {
#include "report_html.h"
        NULL
    };
    page_data data = {page, comparison, table, title, notes};
    timeline_align(page->timeline);
    output_page(out, lines, write_data, &data);
}

void page_free(report_page *page) {
    for (size_t i = 0; i < page->line_count; i++) free(page->lines[i].points);
    free(page->lines);
    timeline_free(page->timeline);
    ranks_free(&page->ranks);
    map_free(&page->line_numbers);
    free(page);
}
