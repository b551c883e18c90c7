/* portable */
/* One name at several places: rows by place (group_by_site), and what traces tell of places. */
#include "../test.h"

#define ZONE(name, ns) do { PROF_BEGIN(name); test_time.tick += ns; PROF_END(); } while (0)

/* ---- The program. Its places count ---- */
#line 1 "a.c"
static void parse_a(void) { ZONE("parse", 3); }
static void single(void) { ZONE("single", 7); }
#line 1 "b.c"
static void parse_b(void) { ZONE("parse", 5); }
static void again_b(void) { ZONE("again", 1); }
static void again_c(void) { ZONE("again", 2); }
static void elsewhere(void) { ZONE("parse", 9); }
#line 21 "test_places.c"

enum { PLAIN, EVENTS, FULL, FULL_EVENTS, SUMS, KINDS };

static prof_trace *record(int kind, int turns) {
    static char small[1 << 17];
    prof_desc desc = test_desc();
    desc.mode = kind == SUMS ? PROF_MODE_AGGREGATE : PROF_MODE_TRACE;
    desc.keep = kind == EVENTS || kind == FULL_EVENTS ? PROF_KEEP_EVENTS : PROF_KEEP_ROWS;
    if (kind == FULL || kind == FULL_EVENTS) {
        desc.memory = small;
        desc.memory_size = sizeof small;
        desc.max_threads = 1;
    }
    if (prof_start(&desc) != PROF_OK) return NULL;
    for (int i = 0; i < turns; i++) {
        PROF_BEGIN("around");
        parse_a();
        single();
        parse_b();
        parse_b();
        again_b();
        again_c();
        prof_push("parse");
        test_time.tick += 11;
        prof_pop();
        PROF_END();
    }
    return prof_stop();
}

/* The row of a name at a place; line 0: of none. */
static const prof_average *row_of(const prof_average *rows, size_t count, const char *name,
                                  const char *file, uint32_t line) {
    for (size_t i = 0; i < count; i++) {
        const prof_site *site = rows[i].site;
        if (strcmp(rows[i].key, name) != 0 || !site != !line) continue;
        if (!site || (strcmp(site->file, file) == 0 && site->line == line)) return rows + i;
    }
    return NULL;
}

static void check_row(const prof_average *rows, size_t count, const char *name, const char *file,
                      uint32_t line, uint64_t calls, int64_t ns) {
    const prof_average *r = row_of(rows, count, name, file, line);
    CHECK(r, "no row %s at %s:%u", name, file, (unsigned)line);
    EQUAL(r->count, calls);
    EQUAL(r->cpu_time_total_ns, (int64_t)calls * ns);
    EQUAL(r->self_cpu_time_total_ns, (int64_t)calls * ns);
    EQUAL(r->min_ns, ns);
    EQUAL(r->max_ns, ns);
}

/* Whatever the session keeps, each place has its calls, and a name's rows are what it has. */
static void check_rows(int kind) {
    prof_averages_desc by;
    prof_average rows[16], whole[16];
    const uint64_t n = 4000;
    prof_trace *trace = record(kind, (int)n);
    size_t count;
    CHECK(trace, "no trace");
    EQUAL(prof_get_stats(NULL).dropped, 0);
    CHECK((kind != FULL && kind != FULL_EVENTS) || prof_get_stats(NULL).summed, "it is not full");
    if (kind == EVENTS || kind == FULL_EVENTS)
        CHECK(prof_events(trace, NULL, 0, &count), "no events");
    memset(&by, 0, sizeof by);
    EQUAL(prof_key_averages(trace, &by, whole, 16), 4);
    for (size_t i = 0; i < 4; i++) CHECK(!whole[i].site, "a place, not asked for");
    PASS_ON(check_row(whole, 4, "single", "", 0, n, 7));
    EQUAL(row_of(whole, 4, "parse", "", 0)->count, 4 * n);
    by.group_by_site = true;
    count = prof_key_averages(trace, &by, rows, 16);
    EQUAL(count, 7);
    PASS_ON(check_row(rows, count, "single", "a.c", 2, n, 7));
    PASS_ON(check_row(rows, count, "parse", "a.c", 1, n, 3));
    PASS_ON(check_row(rows, count, "parse", "b.c", 1, 2 * n, 5));
    PASS_ON(check_row(rows, count, "parse", "", 0, n, 11));
    PASS_ON(check_row(rows, count, "again", "b.c", 2, n, 1));
    PASS_ON(check_row(rows, count, "again", "b.c", 3, n, 2));
}

static void test_places_rows(void) {
    for (int kind = 0; kind < KINDS; kind++) PASS_ON(check_rows(kind));
}

/* Of the events alone; and with what else tells rows apart. */
static void test_places_combined(void) {
    prof_averages_desc by;
    prof_average rows[16];
    prof_desc desc = test_desc();
    int64_t dims[1] = { 4 };
    prof_shape shape;
    prof_trace *trace;
    memset(&by, 0, sizeof by);
    memset(&shape, 0, sizeof shape);
    shape.dims = dims;
    shape.count = 1;
    desc.record_shapes = true;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 6; i++) {
        dims[0] = i % 2;
#line 300 "a.c"
        PROF_BEGIN("op");
        prof_set_shapes(&shape, NULL, 1);
        PROF_END();
#line 1 "b.c"
        PROF_BEGIN("op");
        prof_set_shapes(&shape, NULL, 1);
        PROF_END();
    }
#line 141 "test_places.c"
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, &by, NULL, 0), 1);
    by.group_by_site = true;
    EQUAL(prof_key_averages(trace, &by, NULL, 0), 2);
    by.group_by_input_shapes = by.percentiles = true;
    EQUAL(prof_key_averages(trace, &by, rows, 16), 4);
    for (int i = 0; i < 4; i++) {
        EQUAL(rows[i].count, 3);
        EQUAL(rows[i].site->line, i % 2 ? 1 : 300);
        SAME_TEXT(rows[i].site->file, i % 2 ? "b.c" : "a.c");
    }
    SAME_TEXT(prof_total_average(trace).key, "Total");
}

/* ---- What is written ---- */

static const char *table_of(const prof_trace *trace, bool by_site, prof_format format,
                            test_text *text) {
    prof_averages_desc by;
    prof_table_desc desc;
    memset(&by, 0, sizeof by);
    memset(&desc, 0, sizeof desc);
    memset(text, 0, sizeof *text);
    by.group_by_site = by_site;
    desc.averages = &by;
    desc.format = format;
    if (prof_write_table(trace, &desc, test_text_sink(text)) != PROF_OK) return "";
    test_text_write(text, "", 1);
    return text->data;
}

static void check_tables(int kind) {
    prof_trace *trace = record(kind, 500);
    static const char *const heads[] = { "Source", ",stack,source\r\n", "\"source\": \"" };
    static const char *const cells[] = { "  b.c:1 ", ",\"b.c:1\"\r\n", "\"source\": \"b.c:1\"}" };
    for (int format = 0; format < 3; format++) {
        test_text text;
        const char *table = table_of(trace, true, (prof_format)format, &text);
        EQUAL(test_times(table, heads[format]), format == 2 ? 7 : 1);
        EQUAL(test_times(table, cells[format]), 1);
        test_text_clear(&text);
        table = table_of(trace, false, (prof_format)format, &text);
        EQUAL(test_times(table, "ource") + test_times(table, "b.c"), 0);
        test_text_clear(&text);
    }
}

static void test_places_tables(void) {
    for (int kind = 0; kind < KINDS; kind++) PASS_ON(check_tables(kind));
}

/* Rows of the caller's: columns where a row has a place, or where they are asked for. */
static void test_places_rows_written(void) {
    prof_site site = { "n", "dir/\"x\".c", "", 0 };
    prof_averages_desc by;
    prof_table_desc desc;
    prof_average rows[2];
    test_text text;
    memset(&desc, 0, sizeof desc);
    memset(&by, 0, sizeof by);
    memset(rows, 0, sizeof rows);
    memset(&text, 0, sizeof text);
    rows[0].key = rows[1].key = "n";
    rows[0].input_count = rows[1].input_count = PROF_NONE;
    desc.format = PROF_FORMAT_CSV;
    EQUAL(prof_write_rows(rows, 2, NULL, &desc, test_text_sink(&text)), PROF_OK);
    test_text_write(&text, "", 1);
    EQUAL(test_times(text.data, "source"), 0);
    text.size = 0;
    desc.averages = &by;
    by.group_by_site = true;
    EQUAL(prof_write_rows(rows, 2, NULL, &desc, test_text_sink(&text)), PROF_OK);
    test_text_write(&text, "", 1);
    EQUAL(test_times(text.data, ",source\r\n") +
              test_times(text.data, ",\"\",\"\",\"\",\"\"\r\n"), 3);
    text.size = 0;
    desc.averages = NULL;
    rows[1].site = &site;
    EQUAL(prof_write_rows(rows, 2, NULL, &desc, test_text_sink(&text)), PROF_OK);
    test_text_write(&text, "", 1);
    EQUAL(test_times(text.data, ",source\r\n"), 1);
    EQUAL(test_times(text.data, ",\"dir/\"\"x\"\".c\"\r\n"), 1);
    test_text_clear(&text);
}

static const char *trace_of(const prof_trace *trace, prof_chrome_source source, bool array,
                            test_text *text) {
    prof_chrome_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(text, 0, sizeof *text);
    desc.source = source;
    desc.format = array ? PROF_CHROME_ARRAY : PROF_CHROME_KINETO;
    if (prof_write_chrome(trace, &desc, test_text_sink(text)) != PROF_OK) return "";
    test_text_write(text, "", 1);
    return text->data;
}

/* The head lists names with one place; events of names with several tell theirs. */
static void check_trace(int kind, bool array) {
    const size_t n = 10;
    prof_trace *trace = record(kind, (int)n);
    test_text text;
    const char *told = trace_of(trace, PROF_CHROME_SOURCE_AUTO, array, &text);
    EQUAL(test_times(told, "{\"name\":\"parse\",\"source\":"), 0);
    EQUAL(test_times(told, "{\"name\":\"again\",\"source\":"), 0);
    EQUAL(test_times(told, "{\"name\":\"single\",\"source\":\"a.c:2\"}"), 1);
    EQUAL(test_times(told, "\"args\":{\"source\":\"b.c:1\"}"), kind == SUMS ? 0 : 2 * n);
    EQUAL(test_times(told, "\"args\":{\"source\":\"b.c:2\"}"), kind == SUMS ? 0 : n);
    EQUAL(test_times(told, "\"args\":{\"source\":\"a.c:2\"}"), 0);
    EQUAL(test_times(told, "b.c:4"), 0);      /* of another session */
    EQUAL(test_times(told, "\"sums_by_site\""), kind == SUMS);
    EQUAL(test_times(told, ",\"p99\":5,\"source\":\"b.c:1\"}"), kind == SUMS);
    test_text_clear(&text);
    told = trace_of(trace, PROF_CHROME_SOURCE_ALL, array, &text);
    EQUAL(test_times(told, "\"args\":{\"source\":\"a.c:2\"}"), kind == SUMS ? 0 : n);
    EQUAL(test_times(told, "\"args\":{\"source\":"), kind == SUMS ? 0 : 7 * n);
    test_text_clear(&text);
    told = trace_of(trace, PROF_CHROME_SOURCE_NONE, array, &text);
    EQUAL(test_times(told, "source") + test_times(told, "sites") + test_times(told, "a.c"), 0);
    test_text_clear(&text);
}

static void test_places_traces(void) {
    prof_desc desc = test_desc();
    prof_chrome_desc bad;
    test_text text;
    EQUAL(prof_start(&desc), PROF_OK);
    elsewhere();
    prof_stop();
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == FULL || kind == FULL_EVENTS) continue;
        PASS_ON(check_trace(kind, false));
        PASS_ON(check_trace(kind, true));
    }
    memset(&bad, 0, sizeof bad);
    memset(&text, 0, sizeof text);
    bad.source = (prof_chrome_source)(PROF_CHROME_SOURCE_ALL + 1);
    EQUAL(prof_write_chrome(record(PLAIN, 1), &bad, test_text_sink(&text)), PROF_ERROR_INVALID);
    test_text_clear(&text);
}

/* Events of a name that has one place say nothing: the head does. */
static void test_places_single(void) {
    prof_desc desc = test_desc();
    test_text none, usual;
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 1000; i++) single();
    trace = prof_stop();
    (void)trace_of(trace, PROF_CHROME_SOURCE_NONE, false, &none);
    (void)trace_of(trace, PROF_CHROME_SOURCE_AUTO, false, &usual);
    EQUAL(test_times(usual.data, "{\"name\":\"single\",\"source\":\"a.c:2\"}"), 1);
    EQUAL(test_times(usual.data, "\"args\":{\"source\""), 0);
    CHECK(usual.size < none.size + 500, "%lu bytes more", (unsigned long)(usual.size - none.size));
    test_text_clear(&none);
    test_text_clear(&usual);
}

int main(void) {
    RUN(test_places_rows);
    RUN(test_places_combined);
    RUN(test_places_tables);
    RUN(test_places_rows_written);
    RUN(test_places_traces);
    RUN(test_places_single);
    return test_end();
}
