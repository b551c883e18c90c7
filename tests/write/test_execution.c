/* Execution traces: nodes, their inputs and attributes, and the observer's file over windows. */
#include "../test.h"

#if !defined(_WIN32)
#  include <signal.h>
#  include <sys/resource.h>
#  include <sys/wait.h>
#  include <unistd.h>
#endif

#ifdef PROF_ZLIB
#  include <zlib.h>
#endif

static const char *path = TEST_OUT "/et.json";

static prof_desc recording(void) {
    prof_desc desc = test_desc();
    test_time.step = 1000;
    desc.record_shapes = true;
    return desc;
}

static void has(const char *text, const char *part) {
    CHECK(strstr(text, part) != NULL, "no '%.200s' in '%.500s'", part, text);
}

/* The file of the observer, in memory that lives until the next call. */
static const char *file(void) {
    static char text[1 << 16];
#ifdef PROF_ZLIB
    gzFile f = gzopen(path, "rb");       /* plain files, too */
    int got = f ? gzread(f, text, sizeof text - 1) : 0;
    size_t n = got > 0 ? (size_t)got : 0;
    if (f) gzclose(f);
#else
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
#endif
    text[n] = 0;
    return text;
}

static long bytes_on_disk(void) {
    FILE *f = fopen(path, "rb");
    long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (f) fclose(f);
    return size;
}

/* It is whole: an end behind a list of which each node has one parent in it. */
static void whole(const char *text) {
    const char *at = text;
    size_t end = strlen(text);
    while (end && text[end - 1] == ' ') end--;
    CHECK(end > 2 && memcmp(text + end - 2, "}\n", 2) == 0, "it ends '%s'", text + end - 20);
    has(text, "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": ");
    has(text, "\n{\"id\":1,\"name\":\"[pytorch|profiler|execution_trace|process]\","
              "\"ctrl_deps\":1,");
    EQUAL(test_times(text, "\"finish_ts\": "), 1);
    while ((at = strstr(at, "\"ctrl_deps\":")) != NULL) {
        char id[40];
        at += strlen("\"ctrl_deps\":");
        snprintf(id, sizeof id, "\n{\"id\":%lu,", strtoul(at, NULL, 10));
        EQUAL(test_times(text, id), 1);
    }
}

#define ATTRIBUTES(record, scope) \
    "\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":" record "}," \
    "{\"name\":\"fw_parent\",\"type\":\"uint64\",\"value\":0}," \
    "{\"name\":\"seq_id\",\"type\":\"int64\",\"value\":-1}," \
    "{\"name\":\"scope\",\"type\":\"uint64\",\"value\":" scope "}," \
    "{\"name\":\"tid\",\"type\":\"uint64\",\"value\":0}," \
    "{\"name\":\"fw_tid\",\"type\":\"uint64\",\"value\":0}," \
    "{\"name\":\"op_schema\",\"type\":\"string\",\"value\":\"\"}," \
    "{\"name\":\"kernel_backend\",\"type\":\"string\",\"value\":\"\"}," \
    "{\"name\":\"kernel_file\",\"type\":\"string\",\"value\":\"\"}," \
    "{\"name\":\"tensor_range\",\"type\":\"string\",\"value\":\"\"}]}"
#define NONE "{\"values\":[],\"shapes\":[],\"types\":[],\"strides\":[]}"
#define NOTHING "\"inputs\":" NONE ",\"outputs\":" NONE ","

static void test_plain_zones(void) {
    test_text text;
    prof_desc desc = recording();
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("outer") PROF_BLOCK("inner \"quoted\"") set_annotation();
    EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data,
        "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 1, \"time\": \"1970-01-01 00:00:00\", "
        "\"start_ts\": 0,\n\"nodes\": [\n"
        "{\"id\":3,\"name\":\"[pytorch|profiler|execution_trace|thread]\",\"ctrl_deps\":1,"
        NOTHING ATTRIBUTES("0", "7") ",\n"
        "{\"id\":4,\"name\":\"outer\",\"ctrl_deps\":3," NOTHING ATTRIBUTES("1", "0") ",\n"
        "{\"id\":5,\"name\":\"inner \\\"quoted\\\"\",\"ctrl_deps\":4," NOTHING
        ATTRIBUTES("2", "7") ",\n"
        "{\"id\":1,\"name\":\"[pytorch|profiler|execution_trace|process]\",\"ctrl_deps\":1,"
        NOTHING ATTRIBUTES("0", "7") "\n], \"finish_ts\": 0}\n");
    test_text_clear(&text);
}

static void test_inputs_and_outputs(void) {
    static const char *const dtypes[] = { "float", "Scalar", "c10::Half", "", "", "" };
    static const char *const concrete[] = { "", "16", "", "True", "a \"word\"", "[1, 2.5]" };
    static const int64_t dims[] = { 4, 2 }, strides[] = { 2, 1 };
    static const prof_shape items[] = { { dims, NULL, 2 }, { dims, NULL, 1 } };
    prof_shape shapes[6], steps[6], out = { dims, NULL, 1 };
    static const char *const out_type[] = { "long int" };
    prof_tensor tensors[7];
    test_text text;
    prof_desc desc = recording();
    memset(&text, 0, sizeof text);
    memset(shapes, 0, sizeof shapes);
    memset(steps, 0, sizeof steps);
    memset(tensors, 0, sizeof tensors);
    tensors[0].id = 7;
    tensors[6].id = 9;
    tensors[0].storage = tensors[6].storage = 3;
    tensors[0].offset = 5;
    tensors[6].offset = -1;
    tensors[0].device.type = PROF_DEVICE_CUDA;
    tensors[0].device.index = 1;
    tensors[6].device.type = PROF_DEVICE_PRIVATEUSE1;
    shapes[0].dims = dims;
    shapes[0].count = 2;
    shapes[2].items = items;
    shapes[2].count = 2;
    steps[0].dims = strides;
    steps[0].count = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("aten::op") {
        prof_set_shapes(shapes, dtypes, 6);
        set_strides(steps, 6);
        set_inputs(concrete, 6, NULL);
        set_outputs(&out, out_type, 1);
        set_tensors(tensors, 7);
        prof_set_arg("op_schema", "aten::op(Tensor self) -> \"Tensor\"");
        prof_set_arg("kernel_file", "kernels/k.py");
        prof_set_arg("note", "free");
        prof_set_arg_int("lanes", -4);
    }
    EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_OK);
    PASS_ON(has(text.data, "\"inputs\":{\"values\":[[7,3,5,8,4,\"cuda:1\"],16,"
        "[[0,0,0,8,2,\"cpu\"],[0,0,0,4,2,\"cpu\"]],true,\"a \\\"word\\\"\",[1, 2.5]],"
        "\"shapes\":[[4,2],[],[[4,2],[4]],[],[],[]],"
        "\"types\":[\"Tensor(float)\",\"Int\","
        "\"GenericList[Tensor(c10::Half),Tensor(c10::Half)]\",\"Bool\",\"String\","
        "\"GenericList[]\"],"
        "\"strides\":[[2,1],[],[],[],[],[]]},"
        "\"outputs\":{\"values\":[[9,3,-1,4,8,\"privateuse1:0\"]],\"shapes\":[[4]],"
        "\"types\":[\"Tensor(long int)\"],\"strides\":[[]]},"));
    PASS_ON(has(text.data, "{\"name\":\"op_schema\",\"type\":\"string\",\"value\":"
        "\"aten::op(Tensor self) -> \\\"Tensor\\\"\"},"
        "{\"name\":\"kernel_backend\",\"type\":\"string\",\"value\":\"\"},"
        "{\"name\":\"kernel_file\",\"type\":\"string\",\"value\":\"kernels/k.py\"},"
        "{\"name\":\"tensor_range\",\"type\":\"string\",\"value\":\"\"},"
        "{\"name\":\"note\",\"type\":\"string\",\"value\":\"free\"},"
        "{\"name\":\"lanes\",\"type\":\"int64\",\"value\":-4}]}"));
    test_text_clear(&text);
}

/* Whatever names, types, inputs and arguments are: it is JSON. */
static void test_odd_texts(void) {
    prof_desc desc = recording();
    int i;
    for (i = 0; i < TEST_ODD_NAMES; i++) {
        const char *odd = test_odd_names[i];
        test_text text;
        prof_result json;
        memset(&text, 0, sizeof text);
        EQUAL(prof_start(&desc), PROF_OK);
        prof_push(odd);
        set_inputs(&odd, 1, odd);
        set_outputs(NULL, NULL, 1);
        prof_set_arg(odd, odd);
        prof_set_arg("kernel_file", odd);
        prof_pop();
        prof_push(odd);
        {
            prof_shape shape;
            memset(&shape, 0, sizeof shape);
            prof_set_shapes(&shape, &odd, 1);
        }
        prof_pop();
        EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_OK);
        PASS_ON(whole(text.data));
        json = prof_add_metadata_json("checked", text.data);   /* too large, but read before */
        CHECK(json != PROF_ERROR_JSON, "%s in %.900s", prof_strerror(json), text.data);
        test_text_clear(&text);
    }
}

/* The parent on the forward's thread is what is open there: here the zone around both. */
static void test_backward(void) {
    test_text text;
    prof_desc desc = recording();
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("train") {
        PROF_BLOCK("forward") set_sequence(3, 0, 0);
        PROF_BLOCK("backward") {
            PROF_BLOCK("AddBackward") set_sequence(3, 1, prof_thread_id());
        }
    }
    EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_OK);
    PASS_ON(has(text.data, "{\"id\":7,\"name\":\"AddBackward\",\"ctrl_deps\":6,"));
    PASS_ON(has(text.data, "{\"name\":\"fw_parent\",\"type\":\"uint64\",\"value\":6},"
                           "{\"name\":\"seq_id\",\"type\":\"int64\",\"value\":3},"
                           "{\"name\":\"scope\",\"type\":\"uint64\",\"value\":1},"));
    PASS_ON(whole(text.data));
    test_text_clear(&text);
}

static void test_events_from_outside(void) {
    static char memory[1 << 16];
    prof_event events[4];
    prof_extra extra[4];
    prof_trace_desc desc;
    prof_trace *trace;
    test_text text;
    int i;
    memset(&desc, 0, sizeof desc);
    memset(events, 0, sizeof events);
    memset(extra, 0, sizeof extra);
    memset(&text, 0, sizeof text);
    for (i = 0; i < 4; i++) {
        static const char *const names[] = { "op", "backward", "kernel", "cudaLaunchKernel" };
        events[i].name = names[i];
        events[i].thread = i == 1 ? 22 : 11;
        events[i].start_ns = i;
        events[i].end_ns = 10;
        events[i].extra = extra + i;
    }
    extra[1].has = PROF_HAS_SEQUENCE_NR | PROF_HAS_FWD_THREAD;
    extra[1].fwd_thread = 11;
    extra[1].scope = 1;
    extra[1].metadata_json = "\"Collective name\":\"allreduce\",\"half\":0.5,\"list\":[1],oops";
    events[2].device_type = PROF_DEVICE_CUDA;
    extra[3].activity_type = "cuda_runtime";
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    EQUAL(prof_trace_from_events(&desc, events, 4, &trace), PROF_OK);
    EQUAL(prof_write_execution_trace(trace, test_text_sink(&text)), PROF_OK);
    PASS_ON(whole(text.data));
    EQUAL(test_times(text.data, "\"ctrl_deps\""), 5);     /* two threads, two ops, the process */
    PASS_ON(has(text.data, "{\"name\":\"fw_parent\",\"type\":\"uint64\",\"value\":5}"));
    PASS_ON(has(text.data, "{\"name\":\"fw_tid\",\"type\":\"uint64\",\"value\":11}"));
    PASS_ON(has(text.data, "{\"name\":\"Collective name\",\"type\":\"string\",\"value\":"
                           "\"allreduce\"},{\"name\":\"half\",\"type\":\"double\","
                           "\"value\":0.5}]}"));
    test_text_clear(&text);
}

static void test_process_groups(void) {
    prof_distributed info;
    test_text text;
    int given;
    memset(&info, 0, sizeof info);
    info.backend = "nccl";
    info.rank = 1;
    info.world_size = 8;
    info.pg_count = 2;
    for (given = 0; given < 2; given++) {
        prof_desc desc = recording();
        memset(&text, 0, sizeof text);
        info.pg_config = given ? "[{\"pg_name\": \"mine\"}]" : NULL;
        EQUAL(prof_start(&desc), PROF_OK);
        EQUAL(prof_set_distributed(&info), PROF_OK);
        PROF_BLOCK("zone") (void)0;
        EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_OK);
        PASS_ON(whole(text.data));
        PASS_ON(has(text.data, "{\"id\":2,\"name\":\"## process_group:init ##\",\"ctrl_deps\":3,"));
        PASS_ON(has(text.data, "\"shapes\":[[]],\"types\":[\"String\"],"));
        PASS_ON(has(text.data, given ? "[\"[{\\\"pg_name\\\": \\\"mine\\\"}]\"]"
            : "[\"[{\\\"pg_name\\\": \\\"0\\\", \\\"pg_desc\\\": \\\"default_pg\\\", "
              "\\\"backend_config\\\": \\\"nccl\\\", \\\"ranks\\\": [], "
              "\\\"group_size\\\": 8, \\\"group_count\\\": 2}]\"]"));
        test_text_clear(&text);
    }
}

static void test_not_an_execution_trace(void) {
    static char arena[1 << 20];
    test_text text;
    prof_desc desc = recording();
    memset(&text, 0, sizeof text);
    desc.keep = PROF_KEEP_RECORDS;
    desc.memory = arena;
    desc.memory_size = sizeof arena;
    EQUAL(prof_write_execution_trace(NULL, test_text_sink(&text)), PROF_ERROR_INVALID);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") (void)0;
    EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_ERROR_STATE);
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("zone") (void)0;
    text.fail_at = 1;
    EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_ERROR_SINK);
}

/* ---- the observer ---- */

static void test_observer_registers_once(void) {
    EQUAL(prof_execution_trace_start(), PROF_ERROR_STATE);
    EQUAL(prof_execution_trace_register(NULL), PROF_ERROR_INVALID);
    EQUAL(prof_execution_trace_register(""), PROF_ERROR_INVALID);
    EQUAL(prof_execution_trace_register(TEST_OUT "/none/et.json"), PROF_ERROR_FILE);
    CHECK(prof_execution_trace_path() == NULL, "a path");
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    PASS_ON(whole(file()));              /* nothing yet, and valid */
    EQUAL(prof_execution_trace_register("another"), PROF_OK);
    SAME_TEXT(prof_execution_trace_path(), path);
    EQUAL(prof_execution_trace_is_running(), false);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_execution_trace_is_running(), true);
    prof_execution_trace_stop();
    prof_execution_trace_stop();
    EQUAL(prof_execution_trace_is_running(), false);
    EQUAL(prof_execution_trace_unregister(), PROF_OK);
    EQUAL(prof_execution_trace_unregister(), PROF_OK);
    CHECK(prof_execution_trace_path() == NULL, "a path");
}

static char chrome[1 << 16];

static bool to_chrome(void *user, const void *data, size_t size) {
    size_t n = strlen(chrome);
    (void)user;
    if (n + size >= sizeof chrome) return false;
    memcpy(chrome + n, data, size);
    chrome[n + size] = 0;
    return true;
}

static void keep_chrome(void *user, prof_trace *trace) {
    prof_sink sink = { to_chrome, NULL };
    (void)user;
    (void)prof_write_chrome(trace, NULL, sink);
}

/* Windows add up in one file: ids go on, and the Chrome traces have the same ones. */
static void test_observer_over_windows(void) {
    const char *text;
    prof_desc desc = recording();
    int i;
    desc.schedule.wait = 1;
    desc.schedule.active = 2;
    desc.on_trace_ready = keep_chrome;
    chrome[0] = 0;
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 6; i++) {
        PROF_BLOCK("work") (void)0;
        prof_step();
        PASS_ON(whole(file()));
    }
    prof_stop();
    EQUAL(prof_execution_trace_unregister(), PROF_OK);
    text = file();
    PASS_ON(whole(text));
    EQUAL(test_times(text, "\"name\":\"work\""), 4);
    EQUAL(test_times(text, "\"name\":\"ProfilerStep#"), 4);
    EQUAL(test_times(text, "execution_trace|thread]"), 2);
    for (i = 1; i <= 8; i++) {           /* each id once in each */
        char part[80];
        snprintf(part, sizeof part, "\"rf_id\",\"type\":\"uint64\",\"value\":%d}", i);
        EQUAL(test_times(text, part), 1);
        snprintf(part, sizeof part, "\"Record function id\":%d}", i);
        EQUAL(test_times(chrome, part), 1);
    }
}

static void test_observer_within_a_window(void) {
    const char *text;
    prof_desc desc = recording();
    int i;
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("before") (void)0;
    PROF_BLOCK("around") {
        EQUAL(prof_execution_trace_start(), PROF_OK);
        PROF_BLOCK("in 1") PROF_BLOCK("in 2") (void)0;
        PROF_BEGIN("in, ends out");
        prof_execution_trace_stop();
        PROF_BLOCK("out") (void)0;
        PROF_END();
        EQUAL(prof_execution_trace_unregister(), PROF_ERROR_STATE);
        EQUAL(prof_execution_trace_start(), PROF_OK);
        PROF_BLOCK("in 3") (void)0;
        prof_execution_trace_stop();
        PROF_BLOCK("out") (void)0;
    }
    for (i = 2; i < 17; i++) {
        EQUAL(prof_execution_trace_start(), i < 16 ? PROF_OK : PROF_ERROR_MEMORY);
        prof_execution_trace_stop();
    }
    prof_stop();
    EQUAL(prof_execution_trace_unregister(), PROF_OK);
    text = file();
    PASS_ON(whole(text));
    EQUAL(test_times(text, "\"name\":\"in"), 4);
    EQUAL(test_times(text, "\"name\":\"out\"") + test_times(text, "\"name\":\"around\"") +
          test_times(text, "\"name\":\"before\""), 0);
    PASS_ON(has(text, "\"name\":\"in 1\",\"ctrl_deps\":3,"));   /* the thread */
}

/* The same trace goes on: what was written is not written again. */
static void test_observer_accumulates(void) {
    prof_desc desc = recording();
    int i;
    desc.schedule.wait = 1;
    desc.schedule.active = 1;
    desc.acc_events = true;
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 6; i++) {
        PROF_BLOCK("work") (void)0;
        prof_step();
    }
    prof_stop();
    EQUAL(prof_execution_trace_unregister(), PROF_OK);
    PASS_ON(whole(file()));
    EQUAL(test_times(file(), "\"name\":\"work\""), 3);
}

static bool take(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    (void)size;
    return true;
}

static void test_observer_without_events(void) {
    prof_desc desc = recording();
    desc.mode = PROF_MODE_AGGREGATE;
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("work") (void)0;
    prof_stop();
    EQUAL(prof_execution_trace_unregister(), PROF_ERROR_STATE);
    PASS_ON(whole(file()));
    EQUAL(test_times(file(), "\"name\":\"work\""), 0);
}

/* A stream carries no execution trace. */
static void test_observer_of_a_stream(void) {
    prof_desc desc = recording();
    desc.mode = PROF_MODE_STREAM;
    desc.stream.write = take;
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_start(&desc), PROF_ERROR_UNSUPPORTED);
    EQUAL(prof_execution_trace_unregister(), PROF_OK);
    PASS_ON(whole(file()));
}

/* A full disk in the middle of a window's nodes: the file is whole again, without them. */
static void test_observer_disk_full(void) {
#if defined(_WIN32)
    SKIP("no limit on file sizes");
#else
    struct rlimit limit, small;
    prof_desc desc = recording();
    int i;
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("kept") (void)0;
    prof_stop();
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = (rlim_t)bytes_on_disk() + 500;
    setrlimit(RLIMIT_FSIZE, &small);
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 200; i++) PROF_BLOCK("lost") (void)0;
    prof_stop();
    setrlimit(RLIMIT_FSIZE, &limit);
    EQUAL(prof_execution_trace_unregister(), PROF_ERROR_FILE);
    PASS_ON(whole(file()));
    EQUAL(test_times(file(), "\"name\":\"lost\""), 0);
    EQUAL(test_times(file(), "\"name\":\"kept\""), 1);
#endif
}

static void test_observer_ends_in_a_child(void) {
#if defined(_WIN32)
    SKIP("no fork");
#else
    int status = 1;
    pid_t child;
    EQUAL(prof_execution_trace_register(path), PROF_OK);
    EQUAL(prof_execution_trace_start(), PROF_OK);
    EQUAL(prof_start(NULL), PROF_OK);
    child = fork();
    if (!child) _exit(prof_execution_trace_path() || prof_execution_trace_is_running());
    waitpid(child, &status, 0);
    prof_stop();
    EQUAL(status, 0);
    EQUAL(prof_execution_trace_unregister(), PROF_OK);
#endif
}

/* A path that ends in .gz makes a zipped file that is whole after each window, too. */
static void test_observer_zips(void) {
    const char *plain = path;
    path = TEST_OUT "/et.json.gz";
#ifdef PROF_ZLIB
    test_observer_accumulates();
    if (!test_bad) CHECK(bytes_on_disk() < (long)strlen(file()) / 2, "it is not smaller");
    if (!test_bad) test_observer_within_a_window();
    if (!test_bad) test_observer_disk_full();
#else
    EQUAL(prof_execution_trace_register(path), PROF_ERROR_UNSUPPORTED);
#endif
    path = plain;
}

/* The types of values that are no tensors, by their text. */
static void test_scalars(void) {
    static const char *const texts[] = { "False", "None", "null", "true", "false", "\"text\"",
                                         "{\"a\":1}", "1.5", "2e3", "3", "a word", "7" };
    static const char *const dtypes[] = { "", "", "", "", "", "", "", "", "", "", "", "String" };
    test_text text;
    prof_desc desc = recording();
    memset(&text, 0, sizeof text);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("op") {
        static const prof_shape none[12] = { { NULL, NULL, 0 } };
        prof_set_shapes(none, dtypes, 12);
        set_inputs(texts, 12, NULL);
    }
    EQUAL(prof_write_execution_trace(prof_stop(), test_text_sink(&text)), PROF_OK);
    PASS_ON(has(text.data, "\"values\":[false,\"<None>\",\"<None>\",true,false,\"text\",{\"a\":1},"
                           "1.5,2e3,3,\"a word\",\"7\"]"));
    PASS_ON(has(text.data, "\"types\":[\"Bool\",\"None\",\"None\",\"Bool\",\"Bool\",\"String\","
                           "\"Dict\",\"Double\",\"Double\",\"Int\",\"String\",\"String\"]"));
    test_text_clear(&text);
}

/* prof_push_with: each of its details is the zone's, where the session keeps that kind. */
static void test_push_with_all(void) {
    static const int64_t dims[] = { 4, 2 };
    static const char *const types[] = { "float" }, *const inputs[] = { "1" };
    static const char *const stack[] = { "a.py(1): f", "b.py(2): g" };
    static prof_tensor tensors[70];
    const prof_shape in = { dims, NULL, 2 }, out = { dims, NULL, 1 };
    const prof_extra *x;
    prof_extra with;
    test_text text;
    prof_desc desc = recording();
    prof_trace *trace;
    memset(&text, 0, sizeof text);
    memset(&with, 0, sizeof with);
    with.input_shapes = &in;
    with.strides = &out;
    with.dtypes = types;
    with.concrete_inputs = inputs;
    with.kwinputs = "{\"k\": 1}";
    with.output_shapes = &out;
    with.output_dtypes = types;
    with.input_count = with.output_count = 1;
    tensors[1].id = 9;
    with.tensors = tensors;
    with.tensor_count = 2;
    with.flops = 1234;
    with.has = PROF_HAS_SEQUENCE_NR;
    with.sequence_nr = 5;
    with.overload_name = "over";
    with.module_hierarchy = "M";
    with.stack = stack;
    with.stack_count = 2;
    prof_push_with("off", &with);
    for (int all = 1; all >= 0; all--) {
        desc.record_shapes = desc.with_flops = desc.with_modules = all;
        desc.with_stack = all ? PROF_STACK_ZONES : PROF_STACK_NONE;
        EQUAL(prof_start(&desc), PROF_OK);
        prof_push_with("op", &with);
        prof_pop();
        prof_push_with("none", NULL);
        set_tensors(NULL, 3);
        set_tensors(tensors, 70);   /* some of them */
        prof_pop();
        trace = prof_stop();
        x = test_find(trace, "op", 0)->extra;
        CHECK(x && x->sequence_nr == 5 && strcmp(x->overload_name, "over") == 0, "all %d", all);
        EQUAL(x->input_count, all);
        EQUAL(x->tensor_count, all ? 2 : 0);
        EQUAL(x->flops, all ? 1234 : 0);
        EQUAL(prof_get_stats(trace).not_kept, all);
        EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
        CHECK((strstr(text.data, "\"Input Strides\":[[4]]") != NULL) == (all != 0), "%d", all);
        test_text_clear(&text);
        if (!all) break;
        EQUAL(x->stack_count, 2);
        EQUAL(x->tensors[1].id, 9);
        EQUAL(x->strides[0].dims[0], 4);
        EQUAL(x->output_shapes[0].count, 1);
        SAME_TEXT(x->module_hierarchy, "M");
        SAME_TEXT(x->stack[1], "b.py(2): g");
    }
}

/* Events from outside keep their tensors. */
static void test_submitted_tensors(void) {
    prof_desc desc = recording();
    prof_tensor tensor = { 7, 8, 9, { PROF_DEVICE_CPU, 0 } };
    prof_event e;
    prof_extra x;
    const prof_event *got;
    memset(&e, 0, sizeof e);
    memset(&x, 0, sizeof x);
    e.name = "outside";
    e.end_ns = 5;
    e.extra = &x;
    x.tensors = &tensor;
    x.tensor_count = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    e.thread = prof_submit_thread(1, NULL);
    EQUAL(prof_submit(&e, 1), PROF_OK);
    got = test_find(prof_stop(), "outside", 0);
    CHECK(got && got->extra->tensor_count == 1 && got->extra->tensors != &tensor, "no tensors");
    EQUAL(got->extra->tensors[0].storage, 8);
    EQUAL(got->extra->tensors[0].offset, 9);
}

int main(void) {
    RUN(test_plain_zones);
    RUN(test_inputs_and_outputs);
    RUN(test_odd_texts);
    RUN(test_backward);
    RUN(test_events_from_outside);
    RUN(test_process_groups);
    RUN(test_not_an_execution_trace);
    RUN(test_observer_registers_once);
    RUN(test_observer_over_windows);
    RUN(test_observer_within_a_window);
    RUN(test_observer_accumulates);
    RUN(test_observer_without_events);
    RUN(test_observer_of_a_stream);
    RUN(test_observer_disk_full);
    RUN(test_observer_ends_in_a_child);
    RUN(test_observer_zips);
    RUN(test_scalars);
    RUN(test_push_with_all);
    RUN(test_submitted_tensors);
    return test_end();
}
