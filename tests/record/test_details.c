/* What zones carry: shapes, inputs, FLOPs, sequence numbers, modules, arguments; in the events, the
   table and the trace. */
#include "../test.h"

static const int64_t dims_a[] = { 8, 3, 32, 32 }, dims_b[] = { 16, 3, 5, 5 };
static const char *const types[] = { "float", "c10::BFloat16" };

static void two_shapes(prof_shape *s) {
    memset(s, 0, 2 * sizeof *s);
    s[0].dims = dims_a;
    s[1].dims = dims_b;
    s[0].count = s[1].count = 4;
}

static prof_desc everything(void) {
    prof_desc desc = test_desc();
    desc.record_shapes = desc.with_flops = desc.with_modules = true;
    return desc;
}

static void test_detail_fields(void) {
    static const char *const concrete[] = { "", "1" };
    static const char *const stack[] = { "net.lua(7): forward", "main.lua(1): main" };
    prof_desc desc = everything();
    const prof_event *e;
    prof_shape s[2], strides[2];
    prof_trace *trace;
    two_shapes(s);
    two_shapes(strides);
    strides[1].count = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("conv");
    prof_set_shapes(s, types, 2);
    PROF_BLOCK("inner") set_flops(77);
    set_strides(strides, 2);
    set_inputs(concrete, 2, "{\"bias\": null}");
    set_overload("out");
    set_sequence(41, 0, 0);
    prof_set_arg("path", "a\"b");
    prof_set_arg_int("size", -5);
    set_stack(stack, 2);
    set_annotation();
    memset(s, 0xff, sizeof s);           /* all was copied */
    PROF_END();
    PROF_BLOCK("plain") test_time.tick += 5;
    trace = prof_stop();
    e = test_find(trace, "conv", 0);
    CHECK(e && e->extra, "no extra");
    EQUAL(e->extra->input_count, 2);
    EQUAL(e->extra->input_shapes[0].count, 4);
    EQUAL(e->extra->input_shapes[1].dims[0], 16);
    EQUAL(e->extra->strides[1].count, 2);
    SAME_TEXT(e->extra->dtypes[1], "c10::BFloat16");
    SAME_TEXT(e->extra->concrete_inputs[1], "1");
    SAME_TEXT(e->extra->kwinputs, "{\"bias\": null}");
    SAME_TEXT(e->extra->overload_name, "out");
    SAME_TEXT(e->extra->metadata_json, "\"path\":\"a\\\"b\",\"size\":-5");
    EQUAL(e->extra->sequence_nr, 41);
    EQUAL(e->extra->has, PROF_HAS_SEQUENCE_NR);
    EQUAL(e->extra->stack_count, 2);
    SAME_TEXT(e->extra->stack[1], "main.lua(1): main");
    EQUAL(e->flags, PROF_EVENT_USER_ANNOTATION);
    EQUAL(test_find(trace, "inner", 0)->extra->flops, 77);
    CHECK(!test_find(trace, "plain", 0)->extra, "a plain zone has an extra");
    EQUAL(prof_get_stats(trace).not_kept, 0);
    EQUAL(prof_get_stats(trace).recorded, 3);
    PASS_ON(test_tree(trace));
}

static void test_detail_switches(void) {
    prof_desc desc = test_desc();
    prof_shape s[2];
    prof_trace *trace;
    two_shapes(s);
    prof_set_shapes(s, NULL, 2);         /* no session */
    EQUAL(prof_start(&desc), PROF_OK);
    set_overload("of nothing");     /* no zone */
    PROF_BEGIN("zone");
    prof_set_shapes(s, NULL, 2);
    set_flops(5);
    set_module("m");
    PROF_END();
    trace = prof_stop();
    CHECK(!test_find(trace, "zone", 0)->extra, "an attribute that was not asked for");
    EQUAL(prof_get_stats(trace).dropped, 0);
}

/* A zone's node has a column, and its stack lines: whatever is in its name, it is one entry. */
static void test_detail_nodes_and_stacks(void) {
    static const char *const own[] = { "a.lua(3): f;g", "main.lua(1): main" };
    prof_desc desc = test_desc();
    prof_table_desc table;
    prof_metric none;
    prof_extra node, stack;
    prof_trace *trace;
    test_text text;
    int metric = PROF_METRIC_LAST;
    memset(&text, 0, sizeof text);
    memset(&node, 0, sizeof node);
    memset(&stack, 0, sizeof stack);
    memset(&table, 0, sizeof table);
    memcpy(&none, &metric, sizeof none);
    node.has = PROF_HAS_NODE_ID;
    node.node_id = 3;
    stack.stack = own;
    stack.stack_count = 2;
    for (int i = 0; i < 2; i++) {
        desc.with_stack = i ? PROF_STACK_ZONES : PROF_STACK_NONE;
        EQUAL(prof_start(&desc), PROF_OK);
        prof_push_with("node;x", &node);
        test_time.tick += 5000;
        if (i) prof_push_with("lua_op", &stack);
        test_time.tick += 7000;
        if (i) prof_pop();
        prof_pop();
        trace = prof_stop();
        EQUAL(test_find(trace, "node;x", 0)->extra->node_id, 3);
        table.averages = &(prof_averages_desc){ false, false, 0, false, false };
        EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_OK);
        CHECK(strstr(text.data, "Node ID") && strstr(text.data, "             3  "), "%s",
              text.data);
        test_text_clear(&text);
        EQUAL(prof_write_event_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)),
              i ? PROF_OK : PROF_ERROR_NONE_RECORDED);
        if (!i) SAME_TEXT(prof_strerror(PROF_ERROR_NONE_RECORDED),
                          "the session did not record stacks: set with_stack in prof_desc");
        EQUAL(prof_write_stacks(trace, PROF_METRIC_CPU_MEMORY_USAGE, test_text_sink(&text)),
              PROF_ERROR_NONE_RECORDED);
        CHECK(strstr(prof_strerror(PROF_ERROR_NONE_RECORDED), "profile_memory"), "not which");
        EQUAL(prof_write_stacks(trace, PROF_METRIC_COUNT, test_text_sink(&text)),
              PROF_ERROR_INVALID);
        CHECK(strstr(prof_strerror(PROF_ERROR_INVALID), "total or self time"), "not what");
        EQUAL(prof_write_event_stacks(trace, none, test_text_sink(&text)), PROF_ERROR_INVALID);
        SAME_TEXT(prof_strerror(PROF_ERROR_INVALID), "metric is 13: there is no such prof_metric");
        table.sort_by = none;
        EQUAL(prof_write_table(trace, &table, test_text_sink(&text)), PROF_ERROR_INVALID);
        SAME_TEXT(prof_strerror(PROF_ERROR_INVALID),
                  "prof_table_desc.sort_by is 13: there is no such prof_metric");
        table.sort_by = PROF_METRIC_NONE;
        test_text_clear(&text);
    }
    EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
    SAME_TEXT(text.data, "node_x 5\nnode_x;main.lua(1):_main;a.lua(3):_f_g;lua_op 7\n");
    test_text_clear(&text);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"Call stack\":\"node_x\"") && strstr(text.data, "\"Node ID\":3"),
          "%s", text.data);
    CHECK(strstr(text.data, "\"Call stack\":\"a.lua(3): f_g;main.lua(1): main\""), "%s", text.data);
    test_text_clear(&text);
}

/* A program's own stacks: frames that the stack of the zone around has, from the outermost on, do
   not stand twice in folded stacks; a backward op's stack is of its forward op's kind. */
/* An argument takes no row of averages: a full arena has more zones with arguments than with
   nodes. */
static void test_detail_arguments_fill(void) {
    static char memory[1000000];
    size_t with[2] = { 0, 0 }, count;
    for (int nodes = 0; nodes < 2; nodes++) {
        prof_desc desc = test_desc();
        const prof_event *events;
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 5000; i++) {
            prof_extra node;
            memset(&node, 0, sizeof node);
            node.has = PROF_HAS_NODE_ID;
            PROF_BLOCK("zone") {
                if (nodes) prof_set(&node);
                else prof_set_arg_int("number", i);
            }
        }
        events = prof_events(prof_stop(), NULL, 0, &count);
        for (size_t i = 0; events && i < count; i++) with[nodes] += events[i].extra != NULL;
        CHECK(with[nodes] && with[nodes] + 1 >= count, "%zu of %zu", with[nodes], count);
    }
    CHECK(with[0] > with[1] / 5 * 6, "%zu with arguments, %zu with nodes", with[0], with[1]);
}

/* Each zone is of a node of its own, of more nodes than there are threads. */
static void test_detail_many_nodes(void) {
    static prof_average rows[400];
    prof_desc desc = everything();
    prof_trace *trace;
    const prof_event *events;
    size_t count, own = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 300; i++) {
        prof_extra node;
        memset(&node, 0, sizeof node);
        node.node_id = i;
        node.has = PROF_HAS_NODE_ID;
        PROF_BLOCK("outer") {
            prof_set(&node);
            test_time.tick += 1000;
            PROF_BLOCK("inner") {
                prof_set(&node);
                test_time.tick += 1000;
            }
            test_time.tick += 1000;
        }
    }
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, 600);
    for (size_t i = 1; events && i < count; i++)
        own += events[i].parent == i - 1 &&
               events[i].extra->node_id == events[i - 1].extra->node_id;
    EQUAL(own, 300);
    EQUAL(prof_key_averages(trace, NULL, rows, 400), 600);
}

static void test_detail_own_stacks(void) {
    static const char *const lists[][3] = { { "f", "g", "main" }, { "h", "g", "main" },
                                            { "main" } };
    static const uint32_t counts[] = { 3, 3, 1 };
    static const char *const names[] = { "a", "b", "c" };
    prof_desc desc = test_desc();
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    for (int zones = 0; zones < 2; zones++) {
        desc.with_stack = zones ? PROF_STACK_ZONES : PROF_STACK_NONE;
        EQUAL(prof_start(&desc), PROF_OK);
        for (int i = 0; i < 3; i++) {
            prof_push(names[i]);
            set_stack(lists[i], counts[i]);
            if (!i) set_sequence(7, 0, 0);
            test_time.tick += 1000;
        }
        for (int i = 0; i < 3; i++) prof_pop();
        prof_push("backward");
        set_sequence(7, 1, prof_thread_id());
        test_time.tick += 2000;
        prof_pop();
        trace = prof_stop();
        EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
        CHECK(strstr(text.data, "main;g;f;a 1\n") && strstr(text.data, "main;g;f;a;h;b 1\n") &&
              strstr(text.data, "main;g;f;a;h;b;c 1\n") &&
              strstr(text.data, "main;g;f;backward 2\n"), "%s", text.data);
        test_text_clear(&text);
    }
}

static void test_detail_flops_formula(void) {
    prof_desc desc = test_desc();
    prof_table_desc table;
    static const int64_t a[] = { 4, 3 }, b[] = { 3, 2 };
    prof_shape s[2];
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    memset(&table, 0, sizeof table);
    memset(s, 0, sizeof s);
    s[0].dims = a;
    s[1].dims = b;
    s[0].count = s[1].count = 2;
    desc.with_flops = true;              /* turns record_shapes on */
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("aten::mm") prof_set_shapes(s, NULL, 2);
    PROF_BLOCK("mine") {
        prof_set_shapes(s, NULL, 2);
        set_flops(1000);
    }
    trace = prof_stop();
    EQUAL(test_find(trace, "aten::mm", 0)->extra->flops, 2 * 4 * 3 * 2);
    EQUAL(test_find(trace, "mine", 0)->extra->flops, 1000);
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "Total FLOPs"), "no FLOPs in %s", text.data);
    CHECK(strstr(text.data, "1000.000"), "no sum in %s", text.data);
    test_text_clear(&text);
}

static void test_detail_averages(void) {
    prof_desc desc = everything();
    prof_averages_desc by;
    prof_average rows[8];
    prof_shape s[2];
    prof_trace *trace;
    int i;
    memset(&by, 0, sizeof by);
    by.group_by_input_shapes = true;
    two_shapes(s);
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 6; i++) {
        PROF_BEGIN("op");
        if (i < 5) prof_set_shapes(s, NULL, i % 2 ? 1 : 2);
        PROF_END();
    }
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, &by, rows, 8), 3);
    EQUAL(rows[0].count, 3);
    EQUAL(rows[0].input_count, 2);
    EQUAL(rows[1].count, 2);
    EQUAL(rows[2].input_count, 0);
    EQUAL(prof_key_averages(trace, NULL, rows, 8), 1);
    EQUAL(rows[0].count, 6);
}

static void test_detail_ranks(void) {
    prof_desc desc = everything();
    int64_t dims[64];
    prof_shape s[3], items[2];
    prof_trace *trace;
    const prof_extra *x;
    int i;
    memset(s, 0, sizeof s);
    memset(items, 0, sizeof items);
    for (i = 0; i < 64; i++) dims[i] = i - 1;
    s[0].dims = dims;
    s[0].count = 64;                     /* s[1]: rank 0 */
    s[2].items = items;
    s[2].count = 2;
    items[1].dims = dims + 2;
    items[1].count = 3;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("op") prof_set_shapes(s, NULL, 3);
    trace = prof_stop();
    x = test_find(trace, "op", 0)->extra;
    CHECK(x, "no extra");
    EQUAL(x->input_count, 3);
    EQUAL(x->input_shapes[0].count, 64);
    EQUAL(x->input_shapes[0].dims[63], 62);
    EQUAL(x->input_shapes[1].count, 0);
    EQUAL(x->input_shapes[2].count, 2);
    EQUAL(x->input_shapes[2].items[0].count, 0);
    EQUAL(x->input_shapes[2].items[1].dims[2], 3);
    CHECK(!x->dtypes, "types that none gave");
    test_all_writers(trace);
}

static void test_detail_too_much(void) {
    static char text[5000];
    static int64_t dims[300];
    prof_desc desc = everything();
    prof_shape s[2];
    prof_trace *trace;
    const prof_extra *x;
    int i;
    memset(text, 'x', sizeof text - 1);
    memset(s, 0, sizeof s);
    s[0].dims = s[1].dims = dims;
    s[0].count = 200;
    s[1].count = 100;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("zone");
    prof_set_shapes(s, NULL, 2);         /* the second does not fit */
    set_overload(text);
    for (i = 0; i < 20; i++) prof_set_arg_int("n", i);
    prof_set_arg("long", text);
    PROF_END();
    PROF_BEGIN("huge");
    s[0].count = UINT32_MAX;
    prof_set_shapes(s, NULL, 2);
    PROF_END();
    trace = prof_stop();
    x = test_find(trace, "zone", 0)->extra;
    EQUAL(x->input_count, 1);
    EQUAL(strlen(x->overload_name), 2000);
    EQUAL(strlen(x->metadata_json), 10 * 5 + 6 * 6 + 15);
    EQUAL(prof_get_stats(trace).not_kept, 1 + 1 + 4 + 1 + 1);
    test_all_writers(trace);
}

static void test_detail_orphans(void) {
    prof_desc desc = everything();
    prof_trace *trace;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("outer");
    PROF_BEGIN("left open");
    set_overload("of the inner one");
    prof_stop();
    desc = everything();
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("again");
    PROF_END();
    trace = prof_stop();
    CHECK(!test_find(trace, "again", 0)->extra, "another session's attribute");
}

static const char *module_of(const prof_trace *trace, const char *name) {
    const prof_event *e = test_find(trace, name, 0);
    return e && e->extra && e->extra->module_hierarchy ? e->extra->module_hierarchy : "none";
}

/* What counts is where a zone begins: it may end after its module, and a module go on behind it. */
static void test_detail_modules_begin(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    int i;
    test_time.step = 1;
    desc.with_modules = true;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("around");
    for (i = 0; i < 2; i++) {
        prof_module_push("model");
        prof_push(i ? "second" : "first");
        prof_module_push("layer");
        prof_push("inner");
        set_flops(1);
        prof_module_pop();
        prof_push("in inner");
        prof_module_pop();
        prof_push("out of all");
        prof_pop();
        prof_pop();
        prof_pop();
        prof_pop();
    }
    prof_module_push("goes on");
    PROF_END();
    prof_push("behind around");
    prof_module_pop();
    prof_pop();
    prof_push("last");
    prof_pop();
    trace = prof_stop();
    SAME_TEXT(module_of(trace, "around"), "none");
    SAME_TEXT(module_of(trace, "first"), "model");
    SAME_TEXT(module_of(trace, "second"), "model");
    SAME_TEXT(module_of(trace, "inner"), "model.layer");
    SAME_TEXT(module_of(trace, "in inner"), "model");
    SAME_TEXT(module_of(trace, "out of all"), "none");
    SAME_TEXT(module_of(trace, "behind around"), "goes on");
    SAME_TEXT(module_of(trace, "last"), "none");
}

static void test_detail_modules(void) {
    prof_desc desc = everything();
    prof_trace *trace;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("before") (void)0;
    prof_module_push("model");
    PROF_BLOCK("step") {
        prof_module_push("encoder");
        PROF_BLOCK("op") set_overload("x");
        prof_module_pop();
        PROF_BLOCK("op2") set_module("its own");
    }
    prof_module_pop();
    prof_module_pop();                   /* one too many */
    PROF_BLOCK("after") (void)0;
    for (i = 0; i < 100; i++) prof_module_push("deep");
    PROF_BLOCK("in the deep") (void)0;
    for (i = 0; i < 100; i++) prof_module_pop();
    PROF_BLOCK("out again") (void)0;
    trace = prof_stop();
    CHECK(!test_find(trace, "before", 0)->extra, "a module before its push");
    SAME_TEXT(test_find(trace, "op", 0)->extra->module_hierarchy, "model.encoder");
    SAME_TEXT(test_find(trace, "op2", 0)->extra->module_hierarchy, "its own");
    SAME_TEXT(test_find(trace, "step", 0)->extra->module_hierarchy, "model");
    CHECK(!test_find(trace, "after", 0)->extra, "a module after its pop");
    EQUAL(strlen(test_find(trace, "in the deep", 0)->extra->module_hierarchy), 64 * 5 - 1);
    CHECK(!test_find(trace, "out again", 0)->extra, "a module after its pop");
}

static void test_detail_chrome(void) {
    prof_desc desc = everything();
    prof_shape s[2];
    prof_trace *trace;
    test_text text;
    memset(&text, 0, sizeof text);
    two_shapes(s);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("forward");
    prof_set_shapes(s, types, 2);
    set_inputs(NULL, 0, "not JSON");
    set_sequence(7, 0, 0);
    test_time.tick = 1000;
    PROF_END();
    test_time.tick = 2000;
    PROF_BEGIN("backward");
    set_sequence(7, 1, prof_thread_id());
    set_annotation();
    test_time.tick = 3000;
    PROF_END();
    trace = prof_stop();
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "\"args\":{\"kwinputs\":\"not JSON\",\"Input type\":[\"float\","
                            "\"c10::BFloat16\"],\"Input Dims\":[[8,3,32,32],[16,3,5,5]],"
                            "\"Sequence number\":7,\"Fwd thread id\":0}"), "%s", text.data);
    CHECK(strstr(text.data, "{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\","
                            "\"pid\":1,\"tid\":0,\"ts\":0.000,\"id\":1}"), "%s", text.data);
    CHECK(strstr(text.data, "{\"ph\":\"f\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\","
                            "\"pid\":1,\"tid\":0,\"ts\":2.000,\"id\":1,\"bp\":\"e\"}"), "%s",
          text.data);
    CHECK(strstr(text.data, "\"cat\":\"user_annotation\",\"name\":\"backward\""), "%s", text.data);
    test_text_clear(&text);
}

static void leaf(void) { PROF_FUNCTION(); }

static void forward_op(int64_t number) {
    PROF_SCOPE("op");
    set_sequence(number, 0, 0);
    test_time.tick += 10;
}

static void backward_op(int64_t number, uint64_t thread) {
    PROF_SCOPE("op backward");
    set_sequence(number, 1, thread);
    PROF_BLOCK("within") leaf();
    test_time.tick += 10;
}

static const char *first_entry(const prof_event *e) {
    return e && e->extra && e->extra->stack_count ? e->extra->stack[0] : "";
}

/* What runs backward has the stack of what ran forward; what looks for nothing that ran, none. */
static void test_detail_backward_stacks(void) {
    prof_desc desc = test_desc();
    prof_averages_desc by;
    prof_average rows[16];
    const prof_event *e;
    prof_trace *trace;
    size_t i, n, found = 0;
    memset(&by, 0, sizeof by);
    desc.with_stack = PROF_STACK_ZONES;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("first layer") forward_op(1);
    PROF_BLOCK("second layer") forward_op(2);
    backward_op(2, prof_thread_id());
    backward_op(1, prof_thread_id());
    backward_op(3, prof_thread_id());    /* there is no such forward */
    PROF_BLOCK("optimizer") leaf();
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    for (i = 0; i < 2; i++) {
        const prof_event *op = test_find(trace, "op", 1 - (int)i);
        e = test_find(trace, "op backward", (int)i);
        EQUAL(op->extra->stack_count, 2);
        EQUAL(e->extra->stack_count, 2);
        SAME_TEXT(e->extra->stack[0], op->extra->stack[0]);
        SAME_TEXT(e->extra->stack[1], op->extra->stack[1]);
        CHECK(e->extra->stack == op->extra->stack, "not the forward's");
        CHECK(test_find(trace, "leaf", (int)i)->extra->stack == op->extra->stack, "within");
    }
    EQUAL(test_find(trace, "op backward", 2)->extra->stack_count, 0);
    EQUAL(test_find(trace, "within", 2)->extra->stack_count, 0);
    CHECK(strstr(first_entry(test_find(trace, "leaf", 3)), "leaf"), "the zones' own is gone");
    by.group_by_stack_n = 2;
    n = prof_key_averages(trace, &by, rows, 16);
    for (i = 0; i < n; i++) found += strcmp(rows[i].key, "within") == 0;
    EQUAL(found, 3);
    EQUAL(prof_get_stats(trace).not_kept, 0);
    test_all_writers(trace);
}

/* Random ones, also without a stack or in arenas too small for all of it. */
static void test_detail_backward_random(void) {
    static char memory[1 << 16];
    int round, i;
    for (round = 0; round < 30; round++) {
        prof_desc desc = test_desc();
        desc.with_stack = round % 3 ? PROF_STACK_ZONES : PROF_STACK_NONE;
        desc.with_modules = round % 2 != 0;
        desc.memory = memory;
        desc.memory_size = 20000 + (size_t)round * 1500;
        desc.max_threads = 1;
        desc.max_depth = 8;
        EQUAL(prof_start(&desc), PROF_OK);
        prof_module_push("m");
        for (i = 0; i < 60; i++) {
            int64_t number = (int64_t)test_random(20) - 2;
            if (test_random(2)) forward_op(number);
            else backward_op(number, test_random(4) ? prof_thread_id() : test_random(3));
        }
        prof_module_pop();
        PASS_ON(test_tree(prof_stop()));
    }
}

static void test_detail_stacks(void) {
    prof_desc desc = test_desc();
    prof_averages_desc by;
    prof_average rows[8];
    const prof_event *e;
    prof_trace *trace;
    test_text text;
    int i;
    memset(&text, 0, sizeof text);
    memset(&by, 0, sizeof by);
    by.group_by_stack_n = 3;
    desc.with_stack = PROF_STACK_ZONES;
    desc.with_modules = true;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 3; i++) {
        PROF_BLOCK("one") { test_time.tick += 2000; leaf(); }
        PROF_BLOCK("two") {
            if (i == 2) set_overload("x");
            leaf();
            prof_push("made");
            test_time.tick += 3000;
            prof_pop();
        }
    }
    trace = prof_stop();
    e = test_find(trace, "made", 1);
    CHECK(e && e->extra, "no stack");
    EQUAL(e->extra->stack_count, 2);
    SAME_TEXT(e->extra->stack[0], "made");
    CHECK(strstr(e->extra->stack[1], "test_details.c(") && strstr(e->extra->stack[1],
          "): test_detail_stacks"), "%s", e->extra->stack[1]);
    e = test_find(trace, "two", 2);
    SAME_TEXT(e->extra->overload_name, "x");
    EQUAL(e->extra->stack_count, 1);
    EQUAL(prof_key_averages(trace, &by, rows, 8), 5);   /* leaf has two stacks */
    EQUAL(prof_key_averages(trace, NULL, rows, 8), 4);
    EQUAL(prof_write_event_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "test_detail_stacks;made 3\n"), "%s", text.data);
    EQUAL(prof_get_stats(trace).not_kept, 0);
    test_all_writers(trace);
    test_text_clear(&text);
}

/* Every size of arena: what is recorded is analysed, what is not is counted. */
static void mark_many(const prof_desc *desc, size_t count) {
    prof_shape s[2];
    size_t i;
    two_shapes(s);
    if (prof_start(desc) != PROF_OK) return;
    for (i = 0; i < count; i++) {
        PROF_BEGIN("outer");
        PROF_BEGIN("inner");
        if (i % 3) prof_set_shapes(s, types, 2);
        if (i % 5 == 0) set_overload("an overload");
        if (i % 7 == 0) prof_set_arg_int("i", (int64_t)i);
        PROF_END();
        if (i % 2) set_flops(3);
        PROF_END();
    }
}

static void test_detail_small_arenas(void) {
    static char memory[96 << 10];
    prof_desc desc = everything();
    size_t size;
    mark_many(&desc, 1);                 /* so that the names have their place */
    prof_stop();
    prof_thread_end();
    desc.max_threads = 1;
    desc.max_depth = 8;
    desc.memory = memory;
    desc.memory_size = 1;
    for (size = prof_arena_size(&desc); size < sizeof memory; size += 1237) {
        prof_stats stats;
        prof_trace *trace;
        const prof_event *events;
        size_t count = 0, whole = 0;
        desc.memory_size = size;
        mark_many(&desc, 600);
        trace = prof_stop();
        stats = prof_get_stats(NULL);
        events = prof_events(trace, NULL, 0, &count);
        for (size_t i = 0; i < count; i++) whole += !test_partial(events[i].flags);
        CHECK(whole == stats.recorded, "%u of %u at %u", (unsigned)whole, (unsigned)stats.recorded,
              (unsigned)size);
        CHECK(test_told(trace) >= 1200, "lost without a count at %u", (unsigned)size);
        CHECK(count > 0, "nothing at %u", (unsigned)size);
        PASS_ON(test_tree(trace));
        PASS_ON(test_all_writers(trace));
        EQUAL(prof_get_stats(NULL).bytes_used, stats.bytes_used);   /* promised */
        CHECK(stats.bytes_used <= size, "%u of %u", (unsigned)stats.bytes_used, (unsigned)size);
        prof_thread_end();
    }
}

/* Where there is no analysis nothing is read of what zones carry, nor written over the threads. */
static void test_detail_records_only(void) {
    static const prof_shape shape = { NULL, NULL, 0 };
    prof_desc desc = test_desc();
    const prof_thread_info *threads;
    size_t count;
    desc.keep = PROF_KEEP_RECORDS;
    desc.record_shapes = desc.profile_memory = true;
    desc.schedule.active = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_set_thread_name("the main one");
    prof_step();
    for (int i = 0; i < 100; i++) {
        static const prof_device cpu = { PROF_DEVICE_CPU, 0 };
        PROF_BEGIN("zone");
        prof_set_shapes(&shape, NULL, 1);
        prof_memory_alloc(&desc, 4, cpu);
        prof_async_end(prof_async_begin("range"));
        (void)prof_flow(0);
        PROF_END();
    }
    threads = prof_threads(prof_stop(), &count);
    EQUAL(count, 1);
    SAME_TEXT(threads[0].name, "the main one");
}

static size_t told;                      /* in the last window */

static void tell_details(void *user, prof_trace *trace) {
    size_t count;
    const prof_event *e = prof_events(trace, NULL, 0, &count);
    (void)user;
    told = 0;
    for (size_t i = 0; i < count; i++) told += e[i].extra && e[i].extra->metadata_json;
}

/* A window gives back the memory that its analysis took for details. */
static void test_detail_windows(void) {
    enum { WINDOWS = 150 };
    static uint64_t memory[200 << 10];
    prof_desc desc = everything();
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.acc_events = true;
    desc.schedule.active = 1;
    desc.on_trace_ready = tell_details;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 1; i <= WINDOWS; i++) {
        PROF_BLOCK("zone") prof_set_arg_int("size", i);
        (void)prof_step();
        EQUAL(told, i);
    }
    (void)prof_stop();
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).not_kept, 0);
}

int main(void) {
    RUN(test_detail_records_only);
    RUN(test_detail_fields);
    RUN(test_detail_switches);
    RUN(test_detail_nodes_and_stacks);
    RUN(test_detail_own_stacks);
    RUN(test_detail_flops_formula);
    RUN(test_detail_averages);
    RUN(test_detail_ranks);
    RUN(test_detail_too_much);
    RUN(test_detail_orphans);
    RUN(test_detail_modules);
    RUN(test_detail_modules_begin);
    RUN(test_detail_chrome);
    RUN(test_detail_backward_stacks);
    RUN(test_detail_backward_random);
    RUN(test_detail_stacks);
    RUN(test_detail_arguments_fill);
    RUN(test_detail_many_nodes);
    RUN(test_detail_small_arenas);
    RUN(test_detail_windows);
    return test_end();
}
