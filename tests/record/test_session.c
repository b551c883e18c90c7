/* portable */
/* Windows: what a session with a schedule calls, when, and what its traces hold. */
#include "../test.h"

/* A device and a handler that write down what is called: p s x f for the device, r for ready. */
static char calls[4096];
static int asked, device_fails;
static char ready_text[4096];            /* what each trace held that the handler was given */

static void note(char c) {
    size_t n = strlen(calls);
    if (n + 1 < sizeof calls) {
        calls[n] = c;
        calls[n + 1] = 0;
    }
}

static prof_result device_prepare(void *user) {
    (void)user;
    note('p');
    return device_fails == 1 ? PROF_ERROR_UNSUPPORTED : PROF_OK;
}

static prof_result device_start(void *user) {
    (void)user;
    note('s');
    return device_fails == 2 ? PROF_ERROR_UNSUPPORTED : PROF_OK;
}

static prof_result device_stop(void *user) {
    (void)user;
    note('x');
    return device_fails == 3 ? PROF_ERROR_UNSUPPORTED : PROF_OK;
}

static int device_user;

static void add_device(void) {
    prof_device_desc device;
    memset(&device, 0, sizeof device);
    device.name = "TEST";
    device.type = 1;
    device.activity = PROF_ACTIVITY_CUDA;
    device.prepare = device_prepare;
    device.start = device_start;
    device.stop = device_stop;
    device.user = &device_user;
    (void)prof_add_device(&device);
    calls[0] = ready_text[0] = 0;
    asked = device_fails = 0;
}

/* Names of the events, those of steps left out. */
static void names_of(const prof_trace *trace, char *text, size_t size) {
    size_t count, i;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    text[0] = 0;
    for (i = 0; i < count; i++) {
        if (strncmp(events[i].name, "ProfilerStep", 12) == 0) continue;
        strncat(text, events[i].name, size - strlen(text) - 1);
    }
}

static void on_ready(void *user, prof_trace *trace) {
    char text[512];
    (void)user;
    note('r');
    names_of(trace, text, sizeof text);
    strncat(ready_text, text, sizeof ready_text - strlen(ready_text) - 2);
    strncat(ready_text, "|", 2);
}

static const char *planned;              /* a schedule as letters, then none */

static prof_action plan(void *user, uint64_t step) {
    const char *letters = "NWRS", *at;
    int action;
    prof_action result;
    (void)user;
    asked++;
    at = step < strlen(planned) ? strchr(letters, planned[step]) : letters;
    action = at ? (int)(at - letters) : 77;
    memcpy(&result, &action, sizeof result);
    return result;
}

/* One zone a step, called by the step's number; stops at the end of the plan. */
static prof_trace *run_plan(prof_desc *desc, const char *actions) {
    char name[2] = "0";
    planned = actions;
    desc->schedule_fn = plan;
    desc->on_trace_ready = on_ready;
    if (prof_start(desc) != PROF_OK) return NULL;
    for (; *actions; actions++, name[0]++) {
        prof_push(name);
        test_time.tick += 1000;
        prof_pop();
        if (actions[1] && "NWRS"[prof_step()] != actions[1]) note('?');
    }
    return prof_stop();
}

/* Every ordered pair of actions: the calls, and how many transitions were illegal. */
static void test_session_pairs(void) {
    static const struct { const char *plan, *calls; int errors; } rows[] = {
        {"NN", "", 0}, {"NW", "psx", 0}, {"NR", "psxr", 0}, {"NS", "psxr", 0},
        {"WN", "psx", 1}, {"WW", "psx", 0}, {"WR", "psxr", 0}, {"WS", "psxr", 0},
        {"RN", "psx", 1}, {"RW", "psxpsx", 1}, {"RR", "psxr", 0}, {"RS", "psxr", 0},
        {"SN", "psxr", 0}, {"SW", "psxrpsx", 0}, {"SR", "psxrpsxr", 0}, {"SS", "psxrpsxr", 0}};
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prof_desc desc = test_desc();
        add_device();
        CHECK(run_plan(&desc, rows[i].plan) != NULL, "%s: no trace", rows[i].plan);
        CHECK(strcmp(calls, rows[i].calls) == 0, "%s: %s, not %s", rows[i].plan, calls,
              rows[i].calls);
        EQUAL(prof_get_stats(NULL).schedule_errors, rows[i].errors);
    }
}

/* Each window holds its own steps, whatever came before in the same memory. */
static void test_session_windows(void) {
    prof_desc desc = test_desc();
    char text[64];
    prof_trace *trace;
    add_device();
    trace = run_plan(&desc, "NWRSNRRSSWRSN");
    SAME_TEXT(ready_text, "23|567|8|:;|");
    names_of(trace, text, sizeof text);
    SAME_TEXT(text, ":;");               /* the last cycle, though delivered */
    ready_text[0] = 0;
    trace = run_plan(&desc, "NRSRR");
    SAME_TEXT(ready_text, "12|34|");     /* what was open at the end goes out too */
    ready_text[0] = 0;
    trace = run_plan(&desc, "RSRN");
    SAME_TEXT(ready_text, "01|");
    names_of(trace, text, sizeof text);
    SAME_TEXT(text, "2");                /* not delivered */
    EQUAL(prof_get_stats(NULL).recorded, 1);
}

/* Times of a window count from its start; steps that are not recorded leave nothing. */
static void test_session_times(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    size_t count, i;
    const prof_event *events;
    planned = "NNRS";
    desc.schedule_fn = plan;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 4; i++) {
        EQUAL(test_info().step, i);
        EQUAL(prof_now(), i < 2 ? 0 : (int64_t)(i - 2) * 100);
        prof_push("zone");
        test_time.tick += 100;
        prof_pop();
        if (i < 3) EQUAL(prof_step(), planned[i + 1] == 'N' ? PROF_ACTION_NONE :
                         planned[i + 1] == 'R' ? PROF_ACTION_RECORD : PROF_ACTION_RECORD_AND_SAVE);
    }
    trace = prof_stop();
    PASS_ON(test_tree(trace));
    events = prof_events(trace, NULL, 0, &count);
    CHECK(count >= 2, "%u events", (unsigned)count);
    EQUAL(test_find(trace, "zone", 0)->start_ns, 0);
    EQUAL(test_find(trace, "zone", 1)->start_ns, 100);
    EQUAL(test_find(trace, "zone", 1)->end_ns, 200);
    CHECK(test_find(trace, "zone", 2) == NULL && events, "a third zone");
}

/* The tree as text: each event and its children in brackets, steps by their number. */
static void tree_text(const prof_event *events, uint32_t first, char *text, size_t size) {
    for (; first != PROF_NONE; first = events[first].next_sibling) {
        const prof_extra *x = events[first].extra;
        bool step = strcmp(events[first].name, "ProfilerStep*") == 0;
        strncat(text, step && x && x->trace_name ? x->trace_name + 12 : events[first].name,
                size - strlen(text) - 1);
        if (events[first].first_child == PROF_NONE) continue;
        strncat(text, "(", size - strlen(text) - 1);
        tree_text(events, events[first].first_child, text, size);
        strncat(text, ")", size - strlen(text) - 1);
    }
}

static void roots_text(const prof_trace *trace, char *text, size_t size) {
    size_t count, i;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    text[0] = 0;
    for (i = 0; i < count; i++) {
        prof_event alone;
        if (events[i].parent != PROF_NONE) continue;
        alone = events[i];
        alone.first_child = alone.next_sibling = PROF_NONE;
        tree_text(&alone, 0, text, size);
        if (events[i].first_child == PROF_NONE) continue;
        strncat(text, "(", size - strlen(text) - 1);
        tree_text(events, events[i].first_child, text, size);
        strncat(text, ")", size - strlen(text) - 1);
    }
}

/* Steps hold what was in them; a zone that is open across steps holds them, and is whole. */
static void test_session_steps(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    char text[512];
    size_t count, i;
    const prof_event *e;
    planned = "RRRRRS";
    desc.schedule_fn = plan;
    for (i = 0; i < 2; i++) {            /* with a clock that moves, and one that stands still */
        EQUAL(prof_start(&desc), PROF_OK);
        test_time.step = i ? 0 : 1;
        prof_push("a");
        prof_push("b");
        prof_pop();
        prof_pop();
        prof_step();
        prof_push("c");
        prof_step();
        prof_push("d");
        prof_pop();
        prof_step();
        prof_pop();
        prof_push("e");
        prof_pop();
        prof_step();
        prof_step();
        prof_push("f");
        trace = prof_stop();
        PASS_ON(test_tree(trace));
        roots_text(trace, text, sizeof text);
        if (!i) SAME_TEXT(text, "#0(a(b))#1c(#2(d))#3(e)#4#5f");
        e = test_find(trace, "ProfilerStep*", 5);
        CHECK(e != NULL, "six steps");
        EQUAL(e->flags & PROF_EVENT_USER_ANNOTATION, PROF_EVENT_USER_ANNOTATION);
        EQUAL(prof_key_averages(trace, NULL, NULL, 0), 7);
        EQUAL(prof_get_stats(NULL).recorded, 6);
        prof_events(trace, NULL, 0, &count);
        EQUAL(count, 12);
        prof_pop();
    }
}

/* Without a schedule there are none; numbers of any length are written out. */
static void test_session_step_numbers(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    int i;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_step();
    CHECK(test_find(prof_stop(), "ProfilerStep*", 0) == NULL, "a step without a schedule");
    desc.schedule.skip_first = 12344;
    desc.schedule.active = 2;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 12345; i++) prof_step();
    test_time.tick++;
    trace = prof_stop();
    CHECK(test_find(trace, "ProfilerStep*", 1) != NULL, "two steps");
    SAME_TEXT(test_find(trace, "ProfilerStep*", 0)->extra->trace_name, "ProfilerStep#12345");
}

/* Every writer takes steps, also many of them in a small arena; what does not fit is counted. */
static void test_session_many_steps(void) {
    static union { char bytes[112 << 10]; void *align; } memory;
    prof_desc desc = test_desc();
    prof_trace *trace;
    size_t count;
    uint64_t missing;
    int i;
    desc.memory = memory.bytes;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.schedule.active = 2000;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 1000; i++) {
        test_time.tick += 2000;
        prof_push("zone");
        test_time.tick += 2000;
        prof_pop();
        test_time.tick += 2000;
        prof_step();
    }
    trace = prof_stop();
    prof_events(trace, NULL, 0, &count);
    missing = prof_get_stats(NULL).dropped + prof_get_stats(NULL).summed +
              prof_get_stats(NULL).not_kept;
    EQUAL(count + missing, 2001);
    CHECK(missing > 500 && count > 100, "%u events", (unsigned)count);
    PASS_ON(test_tree(trace));
    for (i = 0; i < TEST_WRITERS; i++) {
        test_text text;
        memset(&text, 0, sizeof text);
        EQUAL(test_write(trace, i, &text), PROF_OK);
        CHECK(strstr(text.data, "ProfilerStep") != NULL || i == TEST_EVENT_STACKS,
              "writer %d knows no steps", i);
        test_text_clear(&text);
    }
}

/* A zone that is open when the window opens is cut; one open when it closes ends there. */
static void test_session_zone_across(void) {
    prof_desc desc = test_desc();
    prof_stats stats;
    add_device();
    planned = "NRSN";
    desc.schedule_fn = plan;
    desc.on_trace_ready = on_ready;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("before");
    prof_step();
    prof_push("inside");
    prof_pop();
    prof_pop();                          /* of "before", which is not recorded */
    prof_push("after");
    prof_step();
    prof_step();
    SAME_TEXT(ready_text, "insideafter|");
    stats = prof_get_stats(NULL);
    EQUAL(stats.unfinished, 1);
    EQUAL(stats.unbalanced, 1);
    prof_pop();
    prof_stop();
}

static void test_session_accumulates(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    char text[64];
    size_t threads;
    add_device();
    desc.acc_events = true;
    trace = run_plan(&desc, "NRSNWRSSN");
    SAME_TEXT(calls, "psxrpsxrpsxr");
    SAME_TEXT(ready_text, "12|1256|12567|");
    names_of(trace, text, sizeof text);
    SAME_TEXT(text, "12567");
    EQUAL(test_find(trace, "5", 0)->start_ns, 4000);   /* one clock over all windows */
    prof_threads(trace, &threads);
    EQUAL(threads, 1);
    EQUAL(prof_get_stats(NULL).threads, 1);
    PASS_ON(test_tree(trace));
}

/* Toggling takes no more memory than the zones need. */
static void test_session_toggle_small(void) {
    static union { char bytes[64 << 10]; void *align; } memory;
    prof_desc desc = test_desc();
    prof_trace *trace;
    int i;
    desc.memory = memory.bytes;
    desc.memory_size = sizeof memory;
    desc.max_threads = 1;
    desc.max_depth = 8;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 50; i++) {
        prof_push("zone");
        test_time.tick++;
        prof_pop();
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
        prof_push("off");
        prof_pop();
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    }
    trace = prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 50);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    CHECK(test_find(trace, "zone", 49) != NULL, "50 zones");
    CHECK(test_find(trace, "off", 0) == NULL, "a zone while off");
    PASS_ON(test_tree(trace));
}

static void test_session_toggle(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    char text[64];
    add_device();
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_ERROR_STATE);
    EQUAL(prof_start(&desc), PROF_OK);
    test_time.step = 1;
    prof_push("a");
    prof_push("b");
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    prof_push("c");
    prof_pop();
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU | PROF_ACTIVITY_XPU, true), PROF_OK);
    prof_push("d");
    prof_pop();
    prof_pop();
    prof_pop();
    EQUAL(prof_toggle(PROF_ACTIVITY_CUDA, false), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CUDA, true), PROF_OK);
    SAME_TEXT(calls, "psxs");
    prof_push("e");
    prof_pop();
    trace = prof_stop();
    names_of(trace, text, sizeof text);
    SAME_TEXT(text, "abde");
    EQUAL(prof_get_stats(NULL).unfinished, 2);
    EQUAL(prof_get_stats(NULL).unbalanced, 2);
    PASS_ON(test_tree(trace));
}

/* What a step ends with or begins with is off; a step that had zones on is an event, whole. */
static void test_session_toggle_ends_steps(void) {
    static const struct { int off, on; const char *steps; } runs[] = {
        {9, 9, "012"}, {0, 1, "012"}, {0, 2, "012"}, {1, 3, "012"}, {0, 3, "012"},
        {0, 4, "02"},                    /* off all through step 1 */
        {0, 9, "0"}, {2, 9, "01"}, {4, 9, "012"}
    };
    int i, at;
    for (i = 0; i < 18; i++) {
        prof_desc desc = test_desc();
        const prof_event *events;
        char steps[8] = "";
        size_t count, k;
        desc.schedule.active = 3;
        desc.schedule.repeat = 1;
        desc.mode = i & 1 ? PROF_MODE_RING : PROF_MODE_TRACE;
        EQUAL(prof_start(&desc), PROF_OK);
        for (at = 0; at < 6; at++) {     /* twice in each step */
            test_time.tick += 10;
            if (at == runs[i / 2].off) EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
            if (at == runs[i / 2].on) EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
            test_time.tick += 10;
            if (at & 1 && at < 5) prof_step();
        }
        events = prof_events(prof_stop(), NULL, 0, &count);
        for (k = 0; k < count; k++) {
            const int64_t n = events[k].start_ns / 40;
            EQUAL(events[k].start_ns, n * 40);
            EQUAL(events[k].end_ns, n * 40 + 40);
            steps[k] = (char)('0' + n);
        }
        SAME_TEXT(steps, runs[i / 2].steps);
        EQUAL(prof_get_stats(NULL).dropped + prof_get_stats(NULL).unfinished, 0);
    }
}

/* An activity that is none, or that this session leaves out, is refused by name. */
static void test_session_unknown_activities(void) {
    prof_desc desc = test_desc();
    add_device();
    desc.activities = PROF_ACTIVITY_CPU | 1024;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    SAME_TEXT(prof_strerror(PROF_ERROR_INVALID),
              "prof_desc.activities is 1025: 1024 is no PROF_ACTIVITY_...");
    desc.activities = PROF_ACTIVITY_CPU | PROF_ACTIVITY_XPU;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU | 64, false), PROF_ERROR_INVALID);
    SAME_TEXT(prof_strerror(PROF_ERROR_INVALID),
              "prof_toggle: activity 64 is not recorded by this session");
    EQUAL(test_info().enabled, PROF_ACTIVITY_CPU);
    EQUAL(prof_toggle(PROF_ACTIVITY_CUDA, false), PROF_ERROR_INVALID);
    SAME_TEXT(prof_strerror(PROF_ERROR_INVALID),
              "prof_toggle: activity 2 is not recorded by this session");
    EQUAL(prof_toggle(PROF_ACTIVITY_XPU, false), PROF_OK);
    prof_stop();
}

/* Nothing but the device is recorded, or the device is not asked for. */
static void test_session_activities(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    size_t count;
    add_device();
    EQUAL(test_info().supported, PROF_ACTIVITY_CPU | PROF_ACTIVITY_CUDA);
    device_fails = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(test_info().supported, PROF_ACTIVITY_CPU);
    prof_stop();
    calls[0] = 0;
    device_fails = 0;
    desc.activities = PROF_ACTIVITY_CUDA;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("zone");
    prof_pop();
    trace = prof_stop();
    SAME_TEXT(calls, "psx");
    prof_events(trace, NULL, 0, &count);
    EQUAL(count, 0);
    desc.activities = PROF_ACTIVITY_CPU | PROF_ACTIVITY_HPU;
    calls[0] = 0;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_stop();
    SAME_TEXT(calls, "");
    desc.activities = PROF_ACTIVITY_HPU;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
}

/* A device that cannot leaves the rest alone, and is asked again for the next window. */
static void test_session_device_fails(void) {
    static const char *const logs[] = {"pp", "psps", "psxrpsxr"};
    int i;
    for (i = 1; i <= 3; i++) {
        prof_desc desc = test_desc();
        char *from, *to;
        add_device();
        device_fails = i;
        run_plan(&desc, "SNSN");
        for (from = to = calls; *from; from++)
            if (*from != 'r' || i == 3) *to++ = *from;
        *to = 0;
        SAME_TEXT(calls, logs[i - 1]);
        SAME_TEXT(ready_text, "0|2|");
    }
}

/* Its window ends early, then silence to the cycle's end. */
/* What is costly is done in a warm-up step; the next one begins to record, to the session's end. */
static void test_session_prepare(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    add_device();
    calls[0] = 0;
    desc.schedule.warmup = desc.schedule.repeat = 1;
    desc.schedule.active = INT32_MAX;
    EQUAL(prof_start(&desc), PROF_OK);
    SAME_TEXT(calls, "p");
    PROF_BLOCK("before") { prof_instant("before"); }
    EQUAL(prof_now(), 0);
    EQUAL(prof_step(), PROF_ACTION_RECORD);
    SAME_TEXT(calls, "ps");
    PROF_BLOCK("a") {}
    EQUAL(prof_step(), PROF_ACTION_RECORD);
    trace = prof_stop();
    SAME_TEXT(calls, "psx");
    CHECK(test_find(trace, "a", 0) && !test_find(trace, "before", 0), "not from the step on");
    CHECK(!test_find(trace, "ProfilerStep#1", 0) && !test_find(trace, "ProfilerStep*", 0),
          "a window without end has steps");
}

static void test_session_adds_devices(void) {
    static int users[16];
    prof_device_desc device;
    prof_desc desc = test_desc();
    int i;
    memset(&device, 0, sizeof device);
    device.name = "D";
    device.activity = PROF_ACTIVITY_XPU;
    device.user = &users[0];
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_add_device(&device), PROF_ERROR_STATE);
    prof_stop();
    EQUAL(prof_add_device(NULL), PROF_ERROR_INVALID);
    device.name = NULL;
    EQUAL(prof_add_device(&device), PROF_ERROR_INVALID);
    device.name = "D";
    for (i = 0; i < 4; i++) {
        static const uint32_t bad[] = {0, PROF_ACTIVITY_CPU, 3, 6};
        device.activity = bad[i];
        EQUAL(prof_add_device(&device), PROF_ERROR_INVALID);
    }
    device.activity = PROF_ACTIVITY_XPU;
    EQUAL(prof_add_device(&device), PROF_OK);
    EQUAL(prof_add_device(&device), PROF_ERROR_STATE);
    for (i = 1; i < 16; i++) {
        device.user = &users[i];
        if (prof_add_device(&device) != PROF_OK) break;
    }
    EQUAL(prof_add_device(&device), PROF_ERROR_MEMORY);
    EQUAL(prof_start(&desc), PROF_OK);   /* devices without callbacks */
    EQUAL(prof_step(), PROF_ACTION_RECORD);
    CHECK(prof_stop() != NULL, "a trace");
}

/* ---- Calls that make no sense ---- */

static prof_result inner_start;
static prof_action inner_action;
static const prof_trace *inner_stop;

static void meddle(void *user, prof_trace *trace) {
    (void)user;
    (void)trace;
    note('r');
    inner_start = prof_start(NULL);
    inner_action = prof_step();
    inner_stop = prof_stop();
    (void)prof_toggle(PROF_ACTIVITY_CPU, false);
}

static void test_session_meddling_handler(void) {
    prof_desc desc = test_desc();
    add_device();
    planned = "SRSN";
    desc.schedule_fn = plan;
    desc.on_trace_ready = meddle;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_step(), PROF_ACTION_RECORD);
    EQUAL(inner_start, PROF_ERROR_STATE);
    EQUAL(inner_action, PROF_ACTION_RECORD);   /* the step that begins now */
    CHECK(inner_stop == NULL, "prof_stop in the handler");
    EQUAL(test_info().step, 1);
    EQUAL(asked, 2);
    prof_push("on");
    prof_pop();
    CHECK(test_find(prof_stop(), "on", 0) != NULL, "recording went on");
    SAME_TEXT(calls, "psxrpsxr");
}

static void test_session_nonsense_actions(void) {
    prof_desc desc = test_desc();
    test_text text;
    add_device();
    planned = "RS?NX";
    desc.schedule_fn = plan;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_step();
    EQUAL(prof_step(), PROF_ACTION_NONE);
    prof_step();
    EQUAL(prof_step(), PROF_ACTION_NONE);
    EQUAL(prof_get_stats(NULL).schedule_errors, 2);
    memset(&text, 0, sizeof text);
    EQUAL(prof_write_table(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "whose action is not valid (see prof_schedule): 2") != NULL,
          "the table does not say it");
    test_text_clear(&text);
    planned = "?";
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_get_stats(NULL).schedule_errors, 1);
    CHECK(prof_stop() != NULL, "an empty trace");
}

static void test_session_without_one(void) {
    prof_desc desc = test_desc();
    EQUAL(prof_step(), PROF_ACTION_NONE);
    CHECK(prof_stop() == NULL, "no session");
    desc.schedule.wait = 3;              /* active 0 */
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    EQUAL(prof_step(), PROF_ACTION_NONE);
    EQUAL(prof_start(NULL), PROF_OK);    /* no schedule: always recording */
    EQUAL(prof_step(), PROF_ACTION_RECORD);
    EQUAL(test_info().step, 1);
    CHECK(prof_stop() != NULL, "a trace");
}

/* Nothing was ever recorded: an empty trace that every writer takes. */
static void test_session_all_waiting(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    size_t count;
    int i;
    desc.schedule.skip_first = 100;
    desc.schedule.active = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 10; i++) {
        prof_push("zone");
        prof_pop();
        EQUAL(prof_step(), PROF_ACTION_NONE);
    }
    trace = prof_stop();
    CHECK(trace != NULL, "an empty trace");
    CHECK(prof_events(trace, NULL, 0, &count) == NULL && count == 0, "%u events", (unsigned)count);
    for (i = 0; i < TEST_WRITERS; i++) {
        test_text text;
        memset(&text, 0, sizeof text);
        EQUAL(test_write(trace, i, &text), PROF_OK);
        test_text_clear(&text);
    }
}

/* The smallest arena that prof_arena_size allows serves every window. */
static void test_session_small_arena(void) {
    prof_desc desc = test_desc();
    prof_trace *trace;
    size_t size;
    char *memory;
    int i;
    desc.schedule.active = 1;
    desc.max_threads = 1;
    desc.max_depth = 4;
    size = prof_arena_size(&desc) + 8192;   /* and names */
    memory = (char *)malloc(size);
    CHECK(memory != NULL, "memory");
    desc.memory = memory;
    desc.memory_size = size;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 100; i++) {
        prof_push("zone");
        prof_pop();
        EQUAL(prof_get_stats(NULL).recorded, 1);
        EQUAL(prof_get_stats(NULL).dropped, 0);
        EQUAL(prof_step(), PROF_ACTION_RECORD_AND_SAVE);
    }
    prof_push("last");
    prof_pop();
    trace = prof_stop();
    CHECK(test_find(trace, "last", 0) != NULL, "the last window");
    EQUAL(prof_start(NULL), PROF_OK);    /* the memory is the caller's again */
    prof_stop();
    free(memory);
}

int main(void) {
    RUN(test_session_pairs);
    RUN(test_session_windows);
    RUN(test_session_times);
    RUN(test_session_steps);
    RUN(test_session_step_numbers);
    RUN(test_session_many_steps);
    RUN(test_session_zone_across);
    RUN(test_session_accumulates);
    RUN(test_session_toggle_small);
    RUN(test_session_toggle);
    RUN(test_session_toggle_ends_steps);
    RUN(test_session_unknown_activities);
    RUN(test_session_activities);
    RUN(test_session_device_fails);
    RUN(test_session_prepare);
    RUN(test_session_meddling_handler);
    RUN(test_session_nonsense_actions);
    RUN(test_session_without_one);
    RUN(test_session_all_waiting);
    RUN(test_session_small_arena);
    RUN(test_session_adds_devices);
    return test_end();
}
