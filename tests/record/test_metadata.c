/* What the trace says of itself, and files for each window. */
#include "../test.h"

#if !defined(_WIN32)
#  include <dirent.h>
#endif

static void chrome_of_empty(test_text *text) {
    prof_desc desc = test_desc();
    test_text_clear(text);
    if (prof_start(&desc) != PROF_OK) return;
    (void)prof_write_chrome(prof_stop(), NULL, test_text_sink(text));
}

static void test_metadata_presets(void) {
    prof_desc desc = test_desc();
    test_text text;
    memset(&text, 0, sizeof text);
    EQUAL(prof_add_metadata("model", "a \"b\"\n"), PROF_OK);
    EQUAL(prof_add_metadata("color", "red"), PROF_OK);
    desc.profile_memory = true;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_add_metadata("color", "green"), PROF_OK);
    EQUAL(prof_add_metadata_json("sizes", "[1, {\"a\": null}, -2.5e+3]"), PROF_OK);
    EQUAL(prof_add_metadata_json("sizes", "{}"), PROF_OK);   /* a key twice: the last counts */
    EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, ",\n\"model\":\"a \\\"b\\\"\\u000a\""), "%s", text.data);
    CHECK(strstr(text.data, "\"color\":\"green\"") && !strstr(text.data, "red"), "%s", text.data);
    CHECK(strstr(text.data, "\"sizes\":{}") && !strstr(text.data, "null"), "%s", text.data);
    CHECK(strstr(text.data, ",\n\"profile_memory\":1"), "%s", text.data);
    chrome_of_empty(&text);
    CHECK(strstr(text.data, "\"color\":\"red\"") && !strstr(text.data, "sizes"), "%s", text.data);
    EQUAL(prof_add_metadata("color", "blue"), PROF_OK);
    chrome_of_empty(&text);
    CHECK(strstr(text.data, "blue") && !strstr(text.data, "red"), "%s", text.data);
    test_text_clear(&text);
}

static void test_metadata_json(void) {
    static const struct { const char *json; int at; } bad[] = {
        { "", 0 }, { "tru", 0 }, { "[1,]", 3 }, { "{\"a\" 1}", 5 }, { "{\"a\":1", 6 },
        { "[1] 2", 4 }, { "\"a\nb\"", 2 }, { "01", 1 }, { "-", 1 }, { "1.", 2 },
        { "\"\\x\"", 1 }, { "\"\\u12g4\"", 1 }, { "\"\\", 1 }, { "[1,-01]", 5 }, { "{1:2}", 1 },
        { "[1 2]", 3 }, { "\"\xff\"", 1 }, { "NaN", 0 }, { "]", 0 }, { "{]", 1 }, { "1 x", 2 },
        { "\"a", 2 } };
    static const char *const good[] = {
        "null", " [ ] ", "{\"a\":[{},[],{\"b\":\"\\u00e9\\n\"}]}", "-0.5E-10", "\"\"",
        "[[[[1]]]]" };
    char deep[300], place[48];
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        EQUAL(prof_add_metadata_json("j", bad[i].json), PROF_ERROR_JSON);
        snprintf(place, sizeof place, "this is not JSON, at byte %d", bad[i].at);
        SAME_TEXT(prof_strerror(PROF_ERROR_JSON), place);
    }
    for (i = 0; i < sizeof good / sizeof *good; i++)
        EQUAL(prof_add_metadata_json("j", good[i]), PROF_OK);
    memset(deep, '[', 61);
    memset(deep + 61, ']', 61);
    deep[122] = 0;
    EQUAL(prof_add_metadata_json("j", deep), PROF_OK);
    deep[61] = '[';
    EQUAL(prof_add_metadata_json("j", deep), PROF_ERROR_JSON);
    memset(deep, '[', 200);
    deep[200] = 0;
    EQUAL(prof_add_metadata_json("j", deep), PROF_ERROR_JSON);
    EQUAL(prof_add_metadata_json(NULL, "1"), PROF_ERROR_INVALID);
    EQUAL(prof_add_metadata("j", NULL), PROF_ERROR_INVALID);
}

/* Twice in a head they would make the file no trace. */
static void test_metadata_own_keys(void) {
    static const char *const own[] = { "schemaVersion", "prof", "displayTimeUnit", "device_clocks",
                                       "baseTimeNanoseconds", "traceEvents", "traceName" };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        EQUAL(prof_add_metadata(own[i], "mine"), PROF_ERROR_INVALID);
        CHECK(strstr(prof_strerror(PROF_ERROR_INVALID), "the trace's own"), "no word of it");
        EQUAL(prof_add_metadata_json(own[i], "[]"), PROF_ERROR_INVALID);
    }
    EQUAL(prof_add_metadata("profiler", ""), PROF_OK);
}

static size_t count_of(const char *text, const char *part) {
    size_t n = 0;
    while ((text = strstr(text, part)) != NULL) n++, text++;
    return n;
}

static size_t told_by(void *user, char *buf, size_t size) {
    return (size_t)snprintf(buf, size, "%s", (const char *)user);
}

/* Keys of the session's and of devices stand once, with the last value, the program's own last. */
static void test_metadata_keys_once(void) {
    static char first[] = "\"deviceProperties\": [{\"id\":0}], \"driver\":\"1\"";
    static char second[] = "\"driver\" : \"2\",\"with_flops\":[7],\"mine\":{}";
    static char odd[] = "\"odd\"";
    char *const told[] = { first, second, odd };
    prof_desc desc = test_desc();
    test_text text;
    memset(&text, 0, sizeof text);
    for (int i = 0; i < 3; i++) {
        prof_device_desc device;
        memset(&device, 0, sizeof device);
        device.name = told[i];
        device.activity = PROF_ACTIVITY_XPU;
        device.metadata = told_by;
        device.user = told[i];
        EQUAL(prof_add_device(&device), PROF_OK);
    }
    desc.with_stack = PROF_STACK_ZONES;
    desc.with_flops = desc.record_shapes = true;
    EQUAL(prof_add_metadata_json("with_stack", "2"), PROF_OK);
    EQUAL(prof_add_metadata("deviceProperties", "preset"), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_add_metadata("record_shapes", "session"), PROF_OK);
    EQUAL(prof_add_metadata("deviceProperties", "session"), PROF_OK);
    EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, ",\n\"with_stack\":2"), "%s", text.data);
    CHECK(strstr(text.data, ",\n\"record_shapes\":\"session\""), "%s", text.data);
    CHECK(strstr(text.data, "\"with_flops\":[7]"), "%s", text.data);
    CHECK(strstr(text.data, ",\n\"deviceProperties\":\"session\""), "%s", text.data);
    CHECK(strstr(text.data, "\"driver\":\"2\""), "%s", text.data);
    CHECK(strstr(text.data, "\"mine\":{}"), "%s", text.data);
    EQUAL(count_of(text.data, "\"with_stack\":") + count_of(text.data, "\"with_flops\":") +
          count_of(text.data, "\"record_shapes\":") + count_of(text.data, "\"driver\":") +
          count_of(text.data, "\"deviceProperties\":") + count_of(text.data, "odd"), 5);
    test_text_clear(&text);
}

static void test_metadata_full(void) {
    static char text[3000];
    memset(text, 'x', sizeof text - 1);
    EQUAL(prof_add_metadata("one", text), PROF_OK);
    EQUAL(prof_add_metadata("two", text), PROF_OK);
    EQUAL(prof_add_metadata("three", text), PROF_ERROR_MEMORY);
    EQUAL(prof_add_metadata("two", text + 1), PROF_OK);
    EQUAL(prof_add_metadata("one", ""), PROF_OK);
    EQUAL(prof_add_metadata("two", ""), PROF_OK);
}

static void test_metadata_distributed(void) {
    prof_distributed info;
    test_text text;
    memset(&text, 0, sizeof text);
    memset(&info, 0, sizeof info);
    EQUAL(prof_set_distributed(&info), PROF_ERROR_INVALID);
    info.backend = "nccl";
    info.rank = 5;
    info.world_size = 8;
    info.pg_config = "[";
    EQUAL(prof_set_distributed(&info), PROF_ERROR_JSON);
    SAME_TEXT(prof_strerror(PROF_ERROR_JSON), "this is not JSON, at byte 1");
    info.pg_config = NULL;
    EQUAL(prof_set_distributed(&info), PROF_OK);
    chrome_of_empty(&text);
    CHECK(strstr(text.data, "\"distributedInfo\":{\"backend\": \"nccl\", \"rank\": 5, "
                            "\"world_size\": 8, \"pg_count\": 0}"), "%s", text.data);
    test_text_clear(&text);
}

#if !defined(_WIN32)
static int files_in(const char *dir, const char *begin, const char *end) {
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;
    while (d && (e = readdir(d)) != NULL) {
        size_t length = strlen(e->d_name), most = strlen(end);
        n += strncmp(e->d_name, begin, strlen(begin)) == 0 && length > most &&
             strcmp(e->d_name + length - most, end) == 0;
    }
    if (d) closedir(d);
    return n;
}

static void test_trace_handler(void) {
    const char *dir = TEST_OUT "/handler/deep";
    char path[1100];
    prof_desc desc;
    prof_handler handler;
    int i, before;
    memset(&desc, 0, sizeof desc);
    memset(&handler, 0, sizeof handler);
    handler.dir = dir;
    handler.worker = "worker0";
    desc.on_trace_ready = prof_trace_handler;
    desc.user = &handler;
    desc.schedule.wait = desc.schedule.warmup = desc.schedule.active = 1;
    desc.schedule.repeat = 3;
    before = files_in(dir, "worker0.", ".pt.trace.json");
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 12; i++) {
        PROF_BLOCK("work") (void)0;
        prof_step();
    }
    prof_stop();
    EQUAL(handler.result, PROF_OK);
    EQUAL(handler.saved, 3);
    EQUAL(files_in(dir, "worker0.", ".pt.trace.json"), before + 3);
    handler.dir = "/dev/null/no";
    EQUAL(prof_start(NULL), PROF_OK);
    prof_trace_handler(&handler, prof_stop());
    EQUAL(handler.result, PROF_ERROR_FILE);
    SAME_TEXT(prof_strerror(PROF_ERROR_FILE),
              "the folder '/dev/null/no' of a trace handler cannot be made");
    handler.result = PROF_OK;            /* it keeps what went wrong last */
    handler.gzip = true;
    handler.dir = dir;
    EQUAL(prof_start(NULL), PROF_OK);
    prof_trace_handler(&handler, prof_stop());
#ifdef PROF_ZLIB
    EQUAL(handler.result, PROF_OK);
#else
    EQUAL(handler.result, PROF_ERROR_UNSUPPORTED);
#endif
    handler.gzip = false;                /* the worker is the host's name and the process then */
    for (i = 0; i < 2; i++) {
        handler.worker = i ? "" : NULL;
        handler.result = PROF_OK;
        before = files_in(dir, "", ".pt.trace.json");
        EQUAL(prof_start(NULL), PROF_OK);
        prof_trace_handler(&handler, prof_stop());
        EQUAL(handler.result, PROF_OK);
        EQUAL(files_in(dir, "", ".pt.trace.json"), before + 1);
    }
    memset(path, 'x', sizeof path - 1);  /* too long for a file's name */
    path[sizeof path - 1] = 0;
    handler.worker = path;
    EQUAL(prof_start(NULL), PROF_OK);
    prof_trace_handler(&handler, prof_stop());
    EQUAL(handler.result, PROF_ERROR_INVALID);
}
#endif

int main(void) {
    RUN(test_metadata_presets);
    RUN(test_metadata_json);
    RUN(test_metadata_own_keys);
    RUN(test_metadata_full);
    RUN(test_metadata_keys_once);
    RUN(test_metadata_distributed);
#if !defined(_WIN32)
    RUN(test_trace_handler);
#endif
    return test_end();
}
