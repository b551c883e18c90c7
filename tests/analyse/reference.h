/* What the reports of a trace must say of its events, by the definitions, slowly: averages by every
   grouping, their total, tables by every metric. The events themselves are compared elsewhere. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "../test.h"

enum { REFERENCE_EVENTS = 1000 };

static int32_t node_of(const prof_event *e) {
    return e->extra && e->extra->has & PROF_HAS_NODE_ID ? e->extra->node_id : -1;
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_shape(const prof_shape *a, const prof_shape *b) {
    uint32_t i;
    if (a->count != b->count || !a->items != !b->items) return false;
    for (i = 0; i < a->count; i++)
        if (a->items ? !same_shape(a->items + i, b->items + i) : a->dims[i] != b->dims[i])
            return false;
    return true;
}

static uint32_t shape_count(const prof_extra *x) { return x->input_shapes ? x->input_count : 0; }

static bool same_row(const prof_event *a, const prof_event *b, const prof_averages_desc *by) {
    static prof_extra none;
    const prof_extra *x = a->extra ? a->extra : &none, *y = b->extra ? b->extra : &none;
    const uint16_t flags = PROF_EVENT_LEGACY | PROF_EVENT_USER_ANNOTATION;
    uint32_t i;
    if (strcmp(a->name, b->name) != 0 || node_of(a) != node_of(b)) return false;
    if (a->device_type != b->device_type || ((a->flags ^ b->flags) & flags)) return false;
    if (by->group_by_overload_name && !same_text(x->overload_name, y->overload_name)) return false;
    if (by->group_by_input_shapes && shape_count(x) != shape_count(y)) return false;
    for (i = 0; by->group_by_input_shapes && i < shape_count(x); i++)
        if (!same_shape(x->input_shapes + i, y->input_shapes + i)) return false;
    for (i = 0; i < by->group_by_stack_n; i++) {
        if ((i < x->stack_count) != (i < y->stack_count)) return false;
        if (i < x->stack_count && !same_text(x->stack[i], y->stack[i])) return false;
    }
    return true;
}

/* A row of event i alone. by NULL: of a table of events. */
static prof_average row_of_event(const prof_trace *trace, size_t i, const prof_averages_desc *by) {
    const prof_event *e = prof_events(trace, NULL, 0, NULL) + i;
    prof_event_totals t = prof_event_total(trace, e);
    prof_average r;
    memset(&r, 0, sizeof r);
    r.key = e->name;
    r.count = 1;
    r.cpu_time_total_ns = r.min_ns = r.max_ns = t.cpu_time_total_ns;
    r.self_cpu_time_total_ns = t.self_cpu_time_total_ns;
    r.device_time_total_ns = t.device_time_total_ns;
    r.self_device_time_total_ns = t.self_device_time_total_ns;
    r.cpu_memory_usage = t.cpu_memory_usage;
    r.self_cpu_memory_usage = t.self_cpu_memory_usage;
    r.device_memory_usage = t.device_memory_usage;
    r.self_device_memory_usage = t.self_device_memory_usage;
    r.parent = e->parent;
    r.first = (uint32_t)i;
    r.node_id = node_of(e);
    r.device_type = e->device_type;
    r.is_async = (e->flags & PROF_EVENT_ASYNC) != 0;
    r.is_remote = (e->flags & PROF_EVENT_REMOTE) != 0;
    r.is_legacy = (e->flags & PROF_EVENT_LEGACY) != 0;
    r.is_user_annotation = (e->flags & PROF_EVENT_USER_ANNOTATION) != 0;
    r.overload_name = e->extra && e->extra->overload_name ? e->extra->overload_name : "";
    if (e->extra) {
        r.flops = e->extra->flops;
        r.scope = e->extra->scope;
        r.input_shapes = e->extra->input_shapes;
        r.input_count = shape_count(e->extra);
        r.stack = e->extra->stack;
        r.stack_count = e->extra->stack_count;
    }
    if (!by) return r;
    if (!by->group_by_overload_name) r.overload_name = "";
    if (!by->group_by_input_shapes) r.input_count = PROF_NONE;
    if (r.stack_count > by->group_by_stack_n) r.stack_count = by->group_by_stack_n;
    return r;
}

static void add_row(prof_average *r, const prof_average *one) {
    r->count++;
    r->cpu_time_total_ns += one->cpu_time_total_ns;
    r->self_cpu_time_total_ns += one->self_cpu_time_total_ns;
    r->device_time_total_ns += one->device_time_total_ns;
    r->self_device_time_total_ns += one->self_device_time_total_ns;
    r->cpu_memory_usage += one->cpu_memory_usage;
    r->self_cpu_memory_usage += one->self_cpu_memory_usage;
    r->device_memory_usage += one->device_memory_usage;
    r->self_device_memory_usage += one->self_device_memory_usage;
    r->flops += one->flops;
    if (one->min_ns < r->min_ns) r->min_ns = one->min_ns;
    if (one->max_ns > r->max_ns) r->max_ns = one->max_ns;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The rows in the order in which they are first seen; by NULL: an event each. */
static size_t reference_rows(const prof_trace *trace, const prof_averages_desc *by,
                             prof_average *rows) {
    static int64_t times[REFERENCE_EVENTS];
    size_t count, n = 0, k, i, called;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < count; i++) {
        prof_average one = row_of_event(trace, i, by);
        for (k = 0; by && k < n && !same_row(events + rows[k].first, events + i, by); k++) {}
        if (by && k < n) add_row(rows + k, &one);
        else rows[n++] = one;
    }
    for (k = 0; by && by->percentiles && k < n; k++) {
        for (i = called = 0; i < count; i++)
            if (same_row(events + rows[k].first, events + i, by))
                times[called++] = row_of_event(trace, i, by).cpu_time_total_ns;
        qsort(times, called, sizeof *times, by_value);
        rows[k].p50_ns = times[(called * 50 + 99) / 100 - 1];
        rows[k].p90_ns = times[(called * 90 + 99) / 100 - 1];
        rows[k].p99_ns = times[(called * 99 + 99) / 100 - 1];
    }
    return n;
}

static void compare_row(const prof_average *a, const prof_average *b) {
    SAME_TEXT(a->key, b->key);
    EQUAL(a->count, b->count);
    EQUAL(a->cpu_time_total_ns, b->cpu_time_total_ns);
    EQUAL(a->self_cpu_time_total_ns, b->self_cpu_time_total_ns);
    EQUAL(a->min_ns, b->min_ns);
    EQUAL(a->max_ns, b->max_ns);
    EQUAL(a->p50_ns, b->p50_ns);
    EQUAL(a->p90_ns, b->p90_ns);
    EQUAL(a->p99_ns, b->p99_ns);
    EQUAL(a->device_time_total_ns, b->device_time_total_ns);
    EQUAL(a->self_device_time_total_ns, b->self_device_time_total_ns);
    EQUAL(a->cpu_memory_usage, b->cpu_memory_usage);
    EQUAL(a->self_cpu_memory_usage, b->self_cpu_memory_usage);
    EQUAL(a->device_memory_usage, b->device_memory_usage);
    EQUAL(a->self_device_memory_usage, b->self_device_memory_usage);
    EQUAL(a->flops, b->flops);
    SAME_TEXT(a->overload_name, b->overload_name);
    EQUAL(a->input_count, b->input_count);
    CHECK(a->input_count == PROF_NONE ? !a->input_shapes : a->input_shapes == b->input_shapes,
          "the shapes of %s", a->key);
    EQUAL(a->stack_count, b->stack_count);
    CHECK(a->stack == b->stack, "the stack of %s", a->key);
    EQUAL(a->parent, b->parent);
    EQUAL(a->first, b->first);
    EQUAL(a->node_id, b->node_id);
    EQUAL(a->device_type, b->device_type);
    EQUAL(a->scope, b->scope);
    EQUAL(a->is_async, b->is_async);
    EQUAL(a->is_remote, b->is_remote);
    EQUAL(a->is_legacy, b->is_legacy);
    EQUAL(a->is_user_annotation, b->is_user_annotation);
}

static prof_average reference[REFERENCE_EVENTS];
static size_t reference_count;

static void compare_averages(const prof_trace *trace, const prof_averages_desc *by) {
    static prof_average rows[REFERENCE_EVENTS];
    size_t i, n = prof_key_averages(trace, by, rows, REFERENCE_EVENTS);
    EQUAL(n, reference_count);
    EQUAL(prof_key_averages(trace, by, NULL, 0), n);
    for (i = 0; i < n; i++) PASS_ON(compare_row(rows + i, reference + i));
    if (!n) return;
    memset(rows, 0xa5, sizeof *rows);
    EQUAL(prof_key_averages(trace, by, rows, n - 1), n);   /* no more than asked for */
    CHECK(n > 1 ? rows->key == reference->key : rows->count != reference->count, "of %s",
          reference->key);
}

static void compare_total(const prof_trace *trace) {
    size_t n = reference_rows(trace, NULL, reference), i;
    prof_average sum, got = prof_total_average(trace);
    memset(&sum, 0, sizeof sum);
    sum.overload_name = "";
    sum.input_count = PROF_NONE;
    if (n) {                             /* all that is no sum is the last one's */
        sum = reference[n - 1];
        for (i = 0; i + 1 < n; i++) add_row(&sum, reference + i);
    }
    sum.key = "Total";
    sum.parent = PROF_NONE;
    sum.first = n ? PROF_NONE : 0;
    compare_row(&got, &sum);
}

/* ---- Tables ---- */

static double metric_of(const prof_average *r, prof_metric metric) {
    switch (metric) {
    case PROF_METRIC_SELF_CPU_TIME_TOTAL: return (double)r->self_cpu_time_total_ns;
    case PROF_METRIC_CPU_TIME_TOTAL: return (double)r->cpu_time_total_ns;
    case PROF_METRIC_CPU_TIME: return (double)r->cpu_time_total_ns / 1000 / (double)r->count;
    case PROF_METRIC_COUNT: return (double)r->count;
    case PROF_METRIC_SELF_DEVICE_TIME_TOTAL: return (double)r->self_device_time_total_ns;
    case PROF_METRIC_DEVICE_TIME_TOTAL: return (double)r->device_time_total_ns;
    case PROF_METRIC_DEVICE_TIME: return (double)r->device_time_total_ns / 1000 / (double)r->count;
    case PROF_METRIC_CPU_MEMORY_USAGE: return (double)r->cpu_memory_usage;
    case PROF_METRIC_SELF_CPU_MEMORY_USAGE: return (double)r->self_cpu_memory_usage;
    case PROF_METRIC_DEVICE_MEMORY_USAGE: return (double)r->device_memory_usage;
    case PROF_METRIC_SELF_DEVICE_MEMORY_USAGE: return (double)r->self_device_memory_usage;
    case PROF_METRIC_FLOPS: return (double)r->flops;
    default: return 0;                   /* first-seen order */
    }
}

/* The rows that a table shows, in its order: insertion keeps equal ones as they are. */
static size_t table_rows(const prof_table_desc *desc, size_t *order) {
    size_t i, j, n = 0;
    for (i = 0; i < reference_count; i++) {
        double own = metric_of(reference + i, desc->sort_by);
        if (desc->top_level_events_only && reference[i].parent != PROF_NONE) continue;
        for (j = n++; j && metric_of(reference + order[j - 1], desc->sort_by) < own; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    return n < desc->row_limit ? n : desc->row_limit;
}

static char *put_us(char *p, int64_t ns) {
    unsigned long long n = ns < 0 ? 0u - (unsigned long long)ns : (unsigned long long)ns;
    return p + sprintf(p, ",%s%llu.%03llu", ns < 0 ? "-" : "", n / 1000, n % 1000);
}

/* The numbers of a row of CSV: what follows the name up to the overload name. */
static void csv_numbers(char *p, const prof_average *r, bool percentiles) {
    p += sprintf(p, ",%llu", (unsigned long long)r->count);
    p = put_us(put_us(p, r->cpu_time_total_ns), r->self_cpu_time_total_ns);
    p += sprintf(p, ",%.3f", (double)r->cpu_time_total_ns / 1000 / (double)r->count);
    p = put_us(put_us(p, r->min_ns), r->max_ns);
    p = put_us(put_us(p, r->device_time_total_ns), r->self_device_time_total_ns);
    p += sprintf(p, ",%.3f", (double)r->device_time_total_ns / 1000 / (double)r->count);
    p += sprintf(p, ",%lld,%lld,%lld,%lld,%lld,%d,%d,%d,%d,%d,%d", (long long)r->cpu_memory_usage,
                 (long long)r->self_cpu_memory_usage, (long long)r->device_memory_usage,
                 (long long)r->self_device_memory_usage, (long long)r->flops, (int)r->node_id,
                 r->device_type, r->is_async, r->is_remote, r->is_legacy, r->is_user_annotation);
    if (percentiles) p = put_us(put_us(put_us(p, r->p50_ns), r->p90_ns), r->p99_ns);
    strcpy(p, ",\"");
}

/* Each shown row's text in its place. */
static void compare_csv(const test_text *text, const prof_table_desc *desc) {
    static size_t order[REFERENCE_EVENTS];
    static char want[1000];
    size_t n = table_rows(desc, order), i;
    const char *at = strchr(text->data, '\n');
    for (i = 0; i < n; i++) {
        const prof_average *r = reference + order[i];
        sprintf(want, "\n\"%s\"", r->key);
        csv_numbers(want + strlen(want), r, desc->averages && desc->averages->percentiles);
        CHECK(at && strncmp(at, want, strlen(want)) == 0, "row %u by %d is not%s but%.200s",
              (unsigned)i, (int)desc->sort_by, want, at ? at : " not there");
        at = strchr(at + 1, '\n');
        while (at && at[1] != '"' && at[1]) at = strchr(at + 1, '\n');   /* stacks are in lines */
    }
    CHECK(at && !at[1], "more rows than %u: %s", (unsigned)n, at);
}

/* The names of the rows of text, between its second and third rule: lines, where no stacks are. */
static void compare_lines(const test_text *text, const prof_table_desc *desc) {
    static size_t order[REFERENCE_EVENTS];
    size_t n = table_rows(desc, order), i;
    const char *at = strstr(text->data, "Name  ");
    at = at ? strstr(at, "\n--") : NULL;
    at = at ? strchr(at + 1, '\n') : NULL;
    for (i = 0; i < n; i++) {
        const char *name = reference[order[i]].key;
        CHECK(at, "no row %u", (unsigned)i);
        at += 1 + strspn(at + 1, " ");
        CHECK(strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == ' ', "row %u is '%.20s'",
              (unsigned)i, at);
        at = strchr(at, '\n');
    }
    CHECK(!reference_count || (at && at[1] == '-'), "more rows than %u", (unsigned)n);
}

static void compare_tables(const prof_trace *trace, const prof_averages_desc *by) {
    prof_table_desc desc;
    test_text text;
    int metric;
    memset(&text, 0, sizeof text);
    memset(&desc, 0, sizeof desc);
    desc.averages = by;
    for (metric = (int)test_random(4); metric < PROF_METRIC_LAST && !test_bad; metric += 4) {
        desc.sort_by = (prof_metric)metric;
        desc.row_limit = test_random(2) ? 1 + test_random(10) : UINT32_MAX;
        desc.top_level_events_only = !test_random(3);
        desc.format = test_random(2) || !by || by->group_by_stack_n ? PROF_FORMAT_CSV
                                                                 : PROF_FORMAT_TEXT;
        test_text_write(&text, "", 0);
        text.size = 0;
        EQUAL(prof_write_table(trace, &desc, test_text_sink(&text)), PROF_OK);
        if (desc.format) compare_csv(&text, &desc);
        else compare_lines(&text, &desc);
    }
    test_text_clear(&text);
}

static void compare_reports(const prof_trace *trace) {
    static const prof_averages_desc by[] = {
        { false, false, 0, false, false }, { true, false, 0, false, false },
        { false, true, 0, true, false }, { false, false, 2, false, false },
        { true, true, 5, true, false } };
    size_t i;
    PASS_ON(compare_total(trace));
    for (i = 0; i <= sizeof by / sizeof *by; i++) {
        const prof_averages_desc *one = i ? by + i - 1 : NULL;
        reference_count = reference_rows(trace, one, reference);
        if (one) PASS_ON(compare_averages(trace, one));
        PASS_ON(compare_tables(trace, one));
    }
}

#endif
