/* Calls with nothing in them, without a session, after it: an answer, never a crash. */
#include "../test.h"
#include "../../tools/prof/raw_read.h"

static const prof_sink no_sink = { NULL, NULL };

/* All that records, with NULL where text goes. */
static void call_everything(void) {
    static const char *const texts[] = { NULL, "", "x" };
    static const int64_t dims[] = { 1, 2 };
    prof_shape shape = { dims, NULL, 2 };
    prof_device cpu = { PROF_DEVICE_CPU, 0 };
    prof_push(NULL);
    prof_instant(NULL);
    prof_counter(NULL, 1);
    prof_set_thread_name(NULL);
    prof_set_shapes(NULL, NULL, 3);
    prof_set_shapes(&shape, texts, 1);
    set_strides(NULL, 2);
    set_inputs(texts, 3, NULL);
    set_inputs(NULL, 2, "{\"a\": 1}");
    set_flops(INT64_MAX);
    set_sequence(-1, 1, 7);
    set_overload(NULL);
    set_module(NULL);
    prof_set_arg(NULL, "x");
    prof_set_arg("key", NULL);
    prof_set_arg_int("number", INT64_MIN);
    set_stack(NULL, 2);
    set_stack(texts, 3);
    set_annotation();
    prof_module_push(NULL);
    prof_module_pop();
    prof_module_pop();
    prof_memory_alloc(NULL, 0, cpu);
    prof_memory_free(NULL, cpu);
    prof_async_end(prof_async_begin(NULL));
    (void)prof_flow(12345);
    prof_pop();
    prof_pop();
    prof_tick();
}

/* Moments whose name is a mark's, also in the sessions after the first. */
static void test_moments_by_mark(void) {
    test_text text;
    int evaluated = 0;
    memset(&text, 0, sizeof text);
    for (int session = 0; session < 3; session++) {
        EQUAL(prof_start(NULL), PROF_OK);
        PROF_BLOCK("around") {
            for (int i = 0; i < 4; i++) {
                if (i % 2) PROF_INSTANT("by mark");
                else PROF_COUNTER("level by mark", ++evaluated * -7);
            }
            prof_instant("by mark");
        }
        test_text_clear(&text);
        EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
        EQUAL(test_times(text.data, "\"name\":\"by mark\""), 3);
        EQUAL(test_times(text.data, "\"ph\":\"C\",\"name\":\"level by mark\""), 2);
        PROF_INSTANT("by mark");         /* nothing: no session */
    }
    EQUAL(evaluated, 6);
    EQUAL(test_times(text.data, "{\"value\":-42}"), 1);
    test_text_clear(&text);
}

static void test_calls_without_session(void) {
    prof_average row;
    test_text none;
    size_t count = 5;
    memset(&none, 0, sizeof none);
    call_everything();
    EQUAL(prof_now(), 0);
    EQUAL(prof_flow(0), 0);
    CHECK(prof_stop() == NULL, "a trace of no session");
    CHECK(prof_events(NULL, NULL, 0, &count) == NULL && count == 0, "events of no trace");
    CHECK(prof_threads(NULL, NULL) == NULL, "threads of no trace");
    EQUAL(prof_key_averages(NULL, NULL, &row, 1), 0);
    EQUAL(prof_snapshot(&row, 1), 0);
    EQUAL(prof_flush(), PROF_ERROR_STATE);
    EQUAL(prof_dump(test_text_sink(&none)), PROF_ERROR_STATE);
    SAME_TEXT(prof_strerror(PROF_ERROR_STATE), "no session of PROF_MODE_TRACE or _RING to dump");
    EQUAL(none.size, 0);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_ERROR_STATE);
    EQUAL(prof_add_metadata(NULL, "x"), PROF_ERROR_INVALID);
    EQUAL(prof_add_metadata_json("k", NULL), PROF_ERROR_INVALID);
    EQUAL(prof_set_distributed(NULL), PROF_ERROR_INVALID);
    prof_trace_handler(NULL, NULL);
    EQUAL(prof_step(), PROF_ACTION_NONE);
    EQUAL(prof_total_average(NULL).count, 0);
    EQUAL(prof_submit_thread(1, NULL), PROF_NONE);
    SAME_TEXT(prof_strerror((prof_result)15), "unknown error");
}

static void test_calls_in_each_mode(void) {
    for (int details = 0; details < 2; details++)
        for (int mode = PROF_MODE_TRACE; mode <= PROF_MODE_AGGREGATE; mode++) {
            prof_desc desc = test_desc();
            prof_trace *trace;
            test_text text;
            memset(&text, 0, sizeof text);
            desc.mode = (prof_mode)mode;
            desc.stream = test_text_sink(&text);
            desc.record_shapes = desc.with_flops = desc.profile_memory = details != 0;
            if (details && mode != PROF_MODE_STREAM) {   /* a stream carries neither */
                desc.with_modules = true;
                desc.with_stack = PROF_STACK_ZONES;
            }
            EQUAL(prof_start(&desc), PROF_OK);
            CHECK(prof_dump(no_sink) != PROF_OK, "a dump to nowhere");
            if (mode >= PROF_MODE_STREAM) EQUAL(prof_dump(desc.stream), PROF_ERROR_STATE);
            call_everything();
            trace = prof_stop();
            CHECK(trace != NULL, "no trace");
            if (mode <= PROF_MODE_RING) test_all_writers(trace);
            prof_events(trace, NULL, 0, NULL);
            prof_threads(trace, NULL);
            test_text_clear(&text);
        }
}

/* Every query and writer of a trace that is none: NULL, and one of another kind. */
static void test_no_trace(void) {
    static char memory[1 << 16];
    prof_trace_desc desc;
    prof_trace *made = NULL;
    prof_event event;
    prof_raw_desc raw_desc;
    prof_raw *raw = NULL;
    test_text text;
    prof_sink out;
    size_t count = 5;
    memset(&text, 0, sizeof text);
    memset(&event, 0, sizeof event);
    memset(&desc, 0, sizeof desc);
    memset(&raw_desc, 0, sizeof raw_desc);
    out = test_text_sink(&text);
    CHECK(!prof_threads(NULL, &count) && count == 0, "threads");
    CHECK(!prof_hw_counter_name(NULL, 0), "a name");
    CHECK(!prof_event_total(NULL, &event).site, "a site");
    EQUAL(prof_event_total(NULL, &event).cpu_time_total_ns, 0);
    EQUAL(prof_event_kernels(NULL, &event, NULL, 0), 0);
    EQUAL(prof_write_table(NULL, NULL, out), PROF_ERROR_INVALID);
    EQUAL(prof_write_chrome(NULL, NULL, out), PROF_ERROR_INVALID);
    EQUAL(prof_write_stacks(NULL, PROF_METRIC_NONE, out), PROF_ERROR_INVALID);
    EQUAL(prof_write_memory_timeline(NULL, NULL, out), PROF_ERROR_INVALID);
    EQUAL(prof_write_execution_trace(NULL, out), PROF_ERROR_INVALID);
    EQUAL(prof_trace_memory_size(NULL, NULL, 0), SIZE_MAX);
    EQUAL(prof_trace_memory_size(&desc, NULL, 1), SIZE_MAX);
    EQUAL(prof_trace_memory_size(&desc, &event, SIZE_MAX / 2), SIZE_MAX);
    EQUAL(prof_trace_from_events(NULL, NULL, 0, &made), PROF_ERROR_INVALID);
    EQUAL(prof_trace_from_events(&desc, NULL, 0, &made), PROF_ERROR_INVALID);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    EQUAL(prof_trace_from_events(&desc, NULL, 0, NULL), PROF_ERROR_INVALID);
    EQUAL(prof_trace_from_events(&desc, NULL, 1, &made), PROF_ERROR_INVALID);
    EQUAL(prof_trace_from_events(&desc, &event, SIZE_MAX / 2, &made), PROF_ERROR_INVALID);
    EQUAL(prof_raw_open(NULL, &raw), PROF_ERROR_INVALID);
    EQUAL(prof_raw_open(&raw_desc, &raw), PROF_ERROR_INVALID);
    raw_desc.memory = memory;
    EQUAL(prof_raw_open(&raw_desc, NULL), PROF_ERROR_INVALID);
    EQUAL(prof_raw_open(&raw_desc, &raw), PROF_ERROR_MEMORY);
    event.name = "made";
    event.end_ns = 5000;
    EQUAL(prof_trace_from_events(&desc, &event, 1, &made), PROF_OK);
    EQUAL(prof_write_memory_timeline(made, NULL, out), PROF_ERROR_NONE_RECORDED);
    CHECK(!prof_event_total(made, prof_events(made, NULL, 0, NULL)).site &&
              !prof_hw_counter_name(made, 0), "a site of an event from outside");
    EQUAL(prof_event_total(made, NULL).cpu_time_total_ns, 0);
    EQUAL(prof_event_total(made, prof_events(made, NULL, 0, NULL)).cpu_time_total_ns, 5000);
    EQUAL(prof_event_kernels(made, NULL, NULL, 0), 0);
    EQUAL(prof_event_kernels(made, prof_events(made, NULL, 0, NULL), NULL, 0), 0);
    EQUAL(text.size, 0);
}

/* Rows that the caller filled in. */
static void test_own_rows(void) {
    prof_average rows[2];
    prof_view view;
    test_text text;
    memset(&text, 0, sizeof text);
    memset(rows, 0, sizeof rows);
    memset(&view, 0, sizeof view);
    view.device_name = "g~pU";
    rows[0].count = 1;
    rows[0].device_time_total_ns = rows[0].self_device_time_total_ns = 5000;
    rows[1].key = "b";
    rows[0].overload_name = rows[1].overload_name = "";
    EQUAL(prof_write_rows(rows, 2, &view, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "(null)") && strstr(text.data, "Self G~PU"), "%s", text.data);
    EQUAL(prof_write_rows(rows, (size_t)UINT32_MAX, NULL, NULL, test_text_sink(&text)),
          PROF_ERROR_INVALID);
    test_text_clear(&text);
    EQUAL(prof_write_rows(NULL, 0, NULL, NULL, test_text_sink(&text)), PROF_OK);
    test_text_clear(&text);
}

/* A sink that dumps while a dump writes to it. */
static prof_result inner_dump;
static bool dump_again(void *user, const void *data, size_t size) {
    (void)data;
    (void)size;
    inner_dump = prof_dump(test_text_sink((test_text *)user));
    return true;
}

static void test_dump_in_a_dump(void) {
    prof_desc desc = test_desc();
    test_text text;
    prof_sink out = { dump_again, &text };
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") test_time.tick += 5;
    EQUAL(prof_dump(out), PROF_OK);
    EQUAL(inner_dump, PROF_ERROR_STATE);
    EQUAL(text.size, 0);
}

static void test_writers_without_sink(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    desc.profile_memory = true;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") test_time.tick += 5000;
    trace = prof_stop();
    EQUAL(prof_write_table(trace, NULL, no_sink), PROF_ERROR_INVALID);
    EQUAL(prof_write_chrome(trace, NULL, no_sink), PROF_ERROR_INVALID);
    EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, no_sink), PROF_ERROR_INVALID);
    EQUAL(prof_write_event_stacks(trace, PROF_METRIC_NONE, no_sink), PROF_ERROR_INVALID);
    EQUAL(prof_write_memory_timeline(trace, NULL, no_sink), PROF_ERROR_INVALID);
    EQUAL(prof_write_rows(NULL, 1, NULL, NULL, no_sink), PROF_ERROR_INVALID);
    EQUAL(prof_dump(no_sink), PROF_ERROR_INVALID);
}

/* Folded stacks by every metric, and by numbers that are none. */
static void test_stacks_of_each_metric(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") test_time.tick += 5000;
    trace = prof_stop();
    for (int metric = PROF_METRIC_NONE; metric <= PROF_METRIC_LAST; metric++) {
        test_text text;
        prof_result result;
        memset(&text, 0, sizeof text);
        result = prof_write_stacks(trace, (prof_metric)metric, test_text_sink(&text));
        CHECK(result == PROF_OK || result == PROF_ERROR_INVALID ||
                  result == PROF_ERROR_NONE_RECORDED, "metric %d: %d", metric, (int)result);
        if (metric == PROF_METRIC_CPU_TIME_TOTAL || metric == PROF_METRIC_SELF_CPU_TIME_TOTAL)
            SAME_TEXT(text.data, "zone 5\n");
        result = prof_write_event_stacks(trace, (prof_metric)metric, test_text_sink(&text));
        CHECK(result == PROF_OK || result == PROF_ERROR_INVALID ||
                  result == PROF_ERROR_NONE_RECORDED, "metric %d: %d", metric, (int)result);
        test_text_clear(&text);
    }
}

/* JSON by its grammar: what each text is. */
static void test_metadata_grammar(void) {
    static const struct { const char *json; bool is; } texts[] = {
        { "0", true }, { "-0.5e+10", true }, { "1E5", true }, { "\t[ ]\r\n", true }, { "{}", true },
        { "{\"a\" : [true,false , null]}", true }, { "\"\\u00Ff\\\"\\/\\b\\f\\n\\r\\t\"", true },
        { "\"\xe2\x82\xac\xf0\x9f\x98\x80\"", true }, { "[[[[1]]], {\"b\":{}}]", true },
        { "", false }, { "01", false }, { "-", false }, { "1.", false }, { "1e", false },
        { "1e+", false }, { "[1,]", false }, { "{\"a\"}", false }, { "{\"a\":}", false },
        { "{a:1}", false }, { "[1 2]", false }, { "\"", false }, { "\"\\x\"", false },
        { "\"\\u12g4\"", false }, { "\"\\u12", false }, { "\"\n\"", false }, { "\"\\", false },
        { "\"\xc0\xaf\"", false }, { "\"\xe0\x80\x80\"", false }, { "\"\xed\xa0\x80\"", false },
        { "\"\xf0\x80\x80\x80\"", false }, { "\"\xf4\x90\x80\x80\"", false }, { "tru", false },
        { "1 1", false }, { "]", false }, { "nul", false }, { "\v1", false }
    };
    char deep[200];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        prof_desc desc = test_desc();
        prof_result result;
        EQUAL(prof_start(&desc), PROF_OK);
        result = prof_add_metadata_json("key", texts[i].json);
        prof_stop();
        CHECK(result == (texts[i].is ? PROF_OK : PROF_ERROR_JSON), "'%s': %d", texts[i].json,
              (int)result);
    }
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = 0;
    EQUAL(prof_add_metadata_json("key", deep), PROF_ERROR_JSON);
}

#if !defined(__cplusplus)
/* Some calls are macros, too. A description that is made in the call has commas. */
static void test_descriptions_made_in_the_call(void) {
    static char memory[1 << 20], room[1 << 20];
    prof_trace *trace;
    prof_raw *raw;
    EQUAL(prof_start(&(prof_desc){ .memory = memory, .memory_size = sizeof memory }), PROF_OK);
    prof_push("zone");
    prof_pop();
    trace = prof_stop();
    EQUAL(prof_write_table(trace, &(prof_table_desc){ .row_limit = 1, .hide_notes = true },
                           (prof_sink){ NULL, NULL }), PROF_ERROR_INVALID);
    EQUAL(prof_start_env(&(prof_desc){ .max_depth = 8, .max_threads = 2 }), PROF_OK);
    EQUAL(prof_raw_open(&(prof_raw_desc){ .memory = room, .memory_size = sizeof room }, &raw),
          PROF_OK);
    EQUAL(prof_raw_close(raw, NULL), PROF_ERROR_INVALID);   /* nothing was fed */
    EQUAL(prof_trace_from_events(&(prof_trace_desc){ .memory = room, .memory_size = sizeof room },
                                 &(prof_event){ .name = "a", .end_ns = 1 }, 1, &trace), PROF_OK);
}
#endif

int main(void) {
    RUN(test_calls_without_session);
    RUN(test_calls_in_each_mode);
    RUN(test_dump_in_a_dump);
    RUN(test_no_trace);
    RUN(test_own_rows);
    RUN(test_writers_without_sink);
    RUN(test_stacks_of_each_metric);
    RUN(test_metadata_grammar);
    RUN(test_moments_by_mark);
#if !defined(__cplusplus)
    RUN(test_descriptions_made_in_the_call);
#endif
    return test_end();
}
