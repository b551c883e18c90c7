/* All that a trace answers, as fields of the player's output. Included by player.c alone. */
#ifndef COMPARE_REPORT_H
#define COMPARE_REPORT_H

/* ---- Fields ---- */

typedef struct text { char *data; size_t size, room; } text;

static bool text_add(void *user, const void *data, size_t size) {
    text *t = user;
    if (t->size + size > t->room) {
        t->room = 2 * (t->size + size);
        t->data = realloc(t->data, t->room);
        if (!t->data) abort();
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
    return true;
}

static text field, stream;
static unsigned window;                  /* of the run, from 0: before each field's name */
static const prof_sink to_field = { text_add, &field };

#define SAY(...) do { char say_[4096]; \
        text_add(&field, say_, (size_t)snprintf(say_, sizeof say_, __VA_ARGS__)); } while (0)

/* Writes what stands in `field`, which is empty then. */
static void end_field(const char *name, prof_result result) {
    if (result != PROF_OK) SAY("result %d\n", (int)result);
    printf("field %u %s\n%zu\n", window, name, field.size);
    fwrite(field.data, 1, field.size, stdout);
    fflush(stdout);
    field.size = 0;
}

static void say_row(const prof_average *row) {
    SAY("key=%s overload=%s", row->key, row->overload_name ? row->overload_name : "");
#define X(name) SAY(" " #name "=%lld", (long long)row->name);
    COMPARE_AVERAGE(X)
#undef X
    SAY("\n");
}

static void say_stats(const prof_stats *s) {
#define X(name) SAY(#name "=%lld\n", (long long)s->name);
    COMPARE_STATS(X)
#undef X
}

static void report_events(const prof_trace *trace) {
    static char memory[16 << 20];
    size_t count = 0, threads;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    const prof_thread_info *list = prof_threads(trace, &threads);
#if !COMPARE_BARE                        /* where the arena has no room */
    if (!events) events = events_in(trace, memory, sizeof memory, &count);
#endif
    for (size_t i = 0; i < threads; i++)
        SAY("thread=%lld name=%s\n", (long long)list[i].id, list[i].name ? list[i].name : "-");
    end_field("threads", PROF_OK);
    SAY("count=%zu made=%d\n", count, events != NULL);
    for (size_t i = 0; events && i < count; i++) {
        const prof_event *e = events + i;
        const prof_site *site = site_of(trace, e);
        prof_event_totals total = prof_event_total(trace, e);
        SAY("i=%zu name=%s line=%u", i, e->name, site ? site->line : 0);
#define X(name) SAY(" " #name "=%lld", (long long)e->name);
        COMPARE_EVENT(X)
#undef X
#define X(name) SAY(" total." #name "=%lld", (long long)total.name);
        COMPARE_TOTALS(X)
#undef X
        SAY("\n");
    }
    end_field("events", PROF_OK);
}

/* Rows and tables of each grouping, sort and form. */
static const struct grouping { const char *name; prof_averages_desc desc; } groupings[] = {
    { "name", { false, false, 0, false, false } },
    { "shapes", { true, false, 0, false, false } },
    { "overload", { false, true, 0, false, false } },
    { "stack", { false, false, 3, false, false } },
    { "site", { false, false, 0, false, true } },
    { "percentiles", { false, false, 0, true, false } },
    { "all", { true, true, 2, true, true } },
};
enum { GROUPINGS = sizeof groupings / sizeof *groupings };

static void report_rows(const prof_trace *trace, size_t count) {
    static prof_average rows[20000];
    char name[64];
    for (size_t g = 0; g < count; g++) {
        size_t n = prof_key_averages(trace, &groupings[g].desc, rows, 20000);
        for (size_t i = 0; i < n && i < 20000; i++) say_row(rows + i);
        snprintf(name, sizeof name, "rows %s", groupings[g].name);
        end_field(name, PROF_OK);
    }
    *rows = prof_total_average(trace);
    say_row(rows);
    end_field("rows total", PROF_OK);
}

static void report_tables(const prof_trace *trace) {
    static const char *const forms[] = { "text", "csv", "json" };
    char name[64];
    for (unsigned i = 0; i < GROUPINGS * 3; i++) {
        prof_table_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.averages = &groupings[i / 3].desc;
        desc.format = (prof_format)(i % 3);
        desc.row_limit = UINT32_MAX;
        snprintf(name, sizeof name, "table %s %s", groupings[i / 3].name, forms[i % 3]);
        end_field(name, prof_write_table(trace, &desc, to_field));
    }
    for (int metric = 0; metric < (int)PROF_METRIC_LAST; metric++) {
        prof_table_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.averages = &groupings[metric % 2].desc;
        desc.sort_by = (prof_metric)metric;
        desc.row_limit = metric % 3 ? 0 : 4;
        desc.width = metric % 4 == 3 ? 90u + (unsigned)metric : 0;
        desc.top_level_events_only = metric % 5 == 4;
        desc.time_unit = (prof_time_unit)(metric % 4);
        snprintf(name, sizeof name, "table by %d", metric);
        end_field(name, prof_write_table(trace, &desc, to_field));
    }
    for (int format = COMPARE_BARE ? 3 : 0; format < 3; format++) {   /* no more on targets */
        prof_table_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.format = (prof_format)format;
        desc.sort_by = format ? PROF_METRIC_CPU_TIME_TOTAL : PROF_METRIC_NONE;
        desc.row_limit = format ? UINT32_MAX : 0;
        snprintf(name, sizeof name, "table events %s", forms[format]);
        end_field(name, prof_write_table(trace, &desc, to_field));
    }
}

static void report_chrome(const prof_trace *trace) {
    static const struct { const char *name; prof_chrome_desc desc; } all[] = {
        { "chrome kineto", { .format = PROF_CHROME_KINETO } },
        { "chrome source", { .source = PROF_CHROME_SOURCE_ALL } },
        { "chrome array", { .format = PROF_CHROME_ARRAY, .source = PROF_CHROME_SOURCE_NONE } },
        { "chrome legacy", { .format = PROF_CHROME_LEGACY } },
    };
    for (size_t i = 0; i < (COMPARE_BARE ? 1 : sizeof all / sizeof *all); i++)
        end_field(all[i].name, prof_write_chrome(trace, &all[i].desc, to_field));
}

static void report_files(const prof_trace *trace) {
    char name[64];
    for (int metric = 0; metric < (int)PROF_METRIC_LAST; metric++) {
        snprintf(name, sizeof name, "stacks %d", metric);
        end_field(name, prof_write_stacks(trace, (prof_metric)metric, to_field));
    }
    end_field("event stacks",
              prof_write_event_stacks(trace, PROF_METRIC_SELF_CPU_TIME_TOTAL, to_field));
    for (int i = 0; i < 4; i++) {
        prof_memory_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.device.type = (uint8_t)(i / 2);
        desc.raw = i % 2;
        snprintf(name, sizeof name, "memory %d %s", i / 2, i % 2 ? "raw" : "rows");
        end_field(name, prof_write_memory_timeline(trace, &desc, to_field));
    }
#if !COMPARE_BARE
    end_field("execution", prof_write_execution_trace(trace, to_field));
#endif
}

/* The order of these is that in which their errors are easiest to read; so rows come first, made of
   records where no events were asked for. A second time, rows are made of the events.
   few 1: stats and rows by name alone; 2: and events. */
static void report(const prof_trace *trace, unsigned long long begun, int few) {
    prof_stats stats = prof_get_stats(NULL);
    say_stats(&stats);
    SAY("begun=%llu\n", begun);
    end_field("stats", PROF_OK);
    if (!trace) return;
    report_rows(trace, few ? 1 : GROUPINGS);
    if (few == 2) report_events(trace);
    if (few) return;
    report_chrome(trace);
    report_files(trace);
    report_events(trace);
    report_rows(trace, GROUPINGS);
    report_tables(trace);
#if !COMPARE_BARE                        /* 29a0f05 crashes here, with sums alone on targets */
    report_chrome(trace);
#endif
}
#endif
