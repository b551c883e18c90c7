/* Whatever bytes lie where records should be: the reports are whole, and every event has a name. */
#include "../test.h"

/* What zones carry: every kind of it in turn. */
static void carry(int depth) {
    static const char *const texts[] = { "one", "two", "and a longer one" };
    static const int64_t dims[] = { 2, 3, 4 };
    static const prof_shape items[] = { { dims, NULL, 3 }, { dims, NULL, 1 } };
    static const prof_shape shapes[] = { { dims, NULL, 3 }, { NULL, items, 2 } };
    static const prof_tensor tensors[] = { { 1, 2, 3, { 0, 0 } } };
    switch (depth % 8) {
    case 0: prof_set_shapes(shapes, texts, 2); break;
    case 1: set_inputs(texts, 3, "{}"); break;
    case 2: set_stack(texts, 3); break;
    case 3: prof_set_arg("key", "text"); break;
    case 4: set_outputs(shapes, texts, 2); break;
    case 5: set_tensors(tensors, 1); break;
    case 6: prof_module_push("module"); break;
    default: prof_module_pop();
    }
}

static void zones(int depth) {
    PROF_SCOPE("static");
    prof_push(depth % 2 ? "pushed" : "pushed too");
    if (depth % 3 == 0) prof_counter("counter", depth);
    carry(depth);
    if (depth) zones(depth - 1);
    prof_pop();
}

static uint32_t word(void) { return test_random(1u << 16) << 16 | test_random(1u << 16); }

/* Another value for a record's third word, its site and depth or its kind and length. */
static uint32_t site_depth(uint32_t was) {
    switch (test_random(6)) {
    case 0: return was;
    case 1: return (test_random(8) << 8) | test_random(8);
    case 2: return ((PROF__PUSHED + test_random(8)) << 8) | test_random(8);
    case 3: return (((uint32_t)PROF__KIND + test_random(10)) << 8) | test_random(4);
    case 4: return (((uint32_t)PROF__KIND + test_random(256)) << 8) | test_random(256);
    default: return word();
    }
}

static void scribble(const prof_trace *trace, uint32_t one_in) {
    const prof__row *row;
    const prof__segment *g;
    for (row = trace->rows; row; row = row->next)
        for (g = row->first; g; g = g->next) {
            const prof__record *end = g->end ? g->end : row->cursor;
            prof__record *c;
            for (c = g->begin; c < end; c++) {
                if (test_random(one_in)) continue;
                if (c->site_depth >> 8 == PROF__ATTRIBUTE && test_random(2)) {   /* other counts */
                    c->end = (c->end & 0xffff) | word() << 16;
                    if (test_random(2)) c->duration = word();
                    continue;
                }
                c->site_depth = site_depth(c->site_depth);
                if (test_random(2)) c->end = word();
                if (test_random(2)) c->duration = word();
            }
        }
}

/* Names, and parents before their children. Of memory records without memory and steps without
   steps more cannot be asked. */
static void each_in_place(const prof_trace *trace) {
    size_t count, i;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < count; i++) {
        const prof_extra *x = events[i].extra;
        CHECK(!x || (x->stack_count <= 250 && x->input_count <= 250 && x->output_count <= 250 &&
                     x->tensor_count <= 250), "event %u has more than a record holds", (unsigned)i);
        CHECK(events[i].name != NULL, "event %u has no name", (unsigned)i);
        CHECK(events[i].parent == PROF_NONE || events[i].parent < i, "event %u: parent %u",
              (unsigned)i, (unsigned)events[i].parent);
    }
}

static void test_records_scribbled(void) {
    static uint64_t memory[(1 << 15) + (1 << 13)];   /* the last ones are not given */
    size_t events = 0;
    int trial, writer, n, trials = test_sample() > 1 ? 100 : 300;
    for (trial = 0; trial < trials; trial++) {
        test_text text;
        prof_desc desc;
        prof_trace *trace;
        size_t count;
        memset(&desc, 0, sizeof desc);
        memset(&text, 0, sizeof text);
        memset(memory + (1 << 15), 0xa5, sizeof *memory << 13);
        desc.memory = memory;
        desc.memory_size = sizeof *memory << 15;
        desc.record_shapes = desc.with_modules = trial % 2;
        desc.max_depth = 40;
        EQUAL(prof_start(&desc), PROF_OK);
        for (n = 0; n < 20; n++) zones(n % 13);
        trace = prof_stop();
        scribble(trace, 1u << trial % 6);
        PASS_ON(each_in_place(trace));
        prof_events(trace, NULL, 0, &count);
        events += count;
        CHECK(prof_get_stats(NULL).lost > 0 || count > 300, "nothing lost of %u", (unsigned)count);
        for (writer = 0; writer < TEST_WRITERS; writer++)
            EQUAL(test_write(trace, writer, &text), PROF_OK);
        test_text_clear(&text);
        for (n = 1 << 15; n < (1 << 15) + (1 << 13); n++)
            CHECK(memory[n] == 0xa5a5a5a5a5a5a5a5u, "word %d behind the arena was written", n);
    }
    CHECK(events > 10000, "only %u events", (unsigned)events);
}

/* A zone that ends before the one before it begins where that ended, and lasts as long as its
   record says, whether or not there is more to read. It counts as no mode could count it: not. */
static void test_clock_back(void) {
    int more;
    for (more = 0; more < 2; more++) {
        prof_desc desc = test_desc();
        prof__record *c;
        prof_trace *trace;
        EQUAL(prof_start(&desc), PROF_OK);
        test_time.step = 10;
        PROF_BLOCK("one") (void)0;
        PROF_BLOCK("two") (void)0;
        if (more) prof_instant("more");
        trace = prof_stop();
        for (c = trace->rows->first->begin; c->site_depth >> 8 >= PROF__KIND; c++) {}
        c[1].end -= 25;
        CHECK(test_find(trace, "two", 0) != NULL, "no zone");
        EQUAL(test_find(trace, "two", 0)->start_ns, test_find(trace, "one", 0)->end_ns);
        EQUAL(test_find(trace, "two", 0)->end_ns - test_find(trace, "two", 0)->start_ns, 10);
        EQUAL(prof_get_stats(trace).clock_steps, 0);
        PASS_ON(test_tree(trace));
    }
}

/* A range of a thread that is not there, or of a name, is lost; the one behind it is not. */
static void test_damaged_range(void) {
    int what;
    for (what = 0; what < 3; what++) {
        prof_desc desc = test_desc();
        prof__record *c;
        prof_trace *trace;
        size_t count;
        EQUAL(prof_start(&desc), PROF_OK);
        test_time.step = 10;
        prof_async_end(prof_async_begin("one"));
        prof_async_end(prof_async_begin("two"));
        trace = prof_stop();
        for (c = trace->rows->first->begin; c->site_depth >> 8 != PROF__ASYNC; c++) {}
        if (what == 1) c[3].end = 1;     /* there is number 0 */
        if (what == 2) c[3].duration = 0xfffe00;
        prof_events(trace, NULL, 0, &count);
        EQUAL(count, what ? 1 : 2);
        EQUAL(prof_get_stats(trace).lost, what != 0);
        CHECK(test_find(trace, "two", 0) != NULL, "no range");
        EQUAL(test_find(trace, "two", 0)->end_ns - test_find(trace, "two", 0)->start_ns, 10);
    }
}

/* Neither is an instant or a counter of a name that is not there. */
static void test_damaged_moments(void) {
    for (int counter = 0; counter < 2; counter++) {
        prof_desc desc = test_desc();
        prof__record *c;
        prof_trace *trace;
        test_text text;
        memset(&text, 0, sizeof text);
        EQUAL(prof_start(&desc), PROF_OK);
        if (counter) prof_counter("gone", 7);
        else prof_instant("gone");
        prof_counter("kept", 7);
        prof_instant("kept, too");
        trace = prof_stop();
        for (c = trace->rows->first->begin; (c->site_depth & 255) != 255; c++) {}
        c->site_depth = ((uint32_t)PROF__KIND - 1) << 8 | 255;
        EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
        EQUAL(prof_get_stats(trace).lost, 1);
        EQUAL(test_times(text.data, "\"kept"), 2);
        EQUAL(test_times(text.data, "\"gone"), 0);
        test_text_clear(&text);
    }
}

static prof__record *record_at_depth(const prof_trace *trace, uint32_t depth) {
    prof__record *c = trace->rows->first->begin;
    while (c->site_depth >> 8 >= PROF__KIND || (c->site_depth & 0xff) != depth) c++;
    return c;
}

static void three_deep(void) {
    prof_desc desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    test_time.step = 10;
    PROF_BLOCK("outer") PROF_BLOCK("middle") PROF_BLOCK("inner") (void)0;
}

/* Of a zone whose record is gone what was within it tells: it is as long as that. */
static void test_lost_in_between(void) {
    const prof_event *lost, *inner;
    prof_trace *trace;
    size_t count;
    PASS_ON(three_deep());
    trace = prof_stop();
    record_at_depth(trace, 1)->site_depth = (uint32_t)PROF__PART << 8;
    EQUAL(prof_get_stats(NULL).lost, 1);     /* nothing has read the trace yet */
    PASS_ON(test_tree(trace));
    prof_events(trace, NULL, 0, &count);
    lost = test_find(trace, "(lost)", 0);
    inner = test_find(trace, "inner", 0);
    EQUAL(count, 3);
    CHECK(lost && inner, "an event is missing");
    EQUAL(lost->depth, 1);
    EQUAL(lost->start_ns, inner->start_ns);
    EQUAL(lost->end_ns, inner->end_ns);
    EQUAL(lost->flags, PROF_EVENT_UNFINISHED);
    EQUAL(prof_get_stats(trace).lost, 1);
}

/* A record that says it is longer than what there is is none: "(lost)" stands for its zone. */
static void test_wrong_length(void) {
    for (uint32_t kind = PROF__KIND; kind < PROF__KIND + 20u; kind++)
        for (uint32_t slots = 1; slots < 4; slots++) {
            prof_trace *trace;
            size_t count;
            if (kind == PROF__PART) continue;
            PASS_ON(three_deep());
            trace = prof_stop();
            record_at_depth(trace, 0)->site_depth = kind << 8 | slots;   /* the last one */
            prof_events(trace, NULL, 0, &count);
            CHECK(count == 3 && prof_get_stats(trace).lost == 2, "%d events, %d lost of %x, %d",
                  (int)count, (int)prof_get_stats(trace).lost, (unsigned)kind, (int)slots);
        }
}

/* Nor is one that is not as long as its kind is. */
static void test_length_of_another_kind(void) {
    static const uint32_t wrong[][2] = {
        { PROF__MEMORY, 1 }, { PROF__MEMORY, 2 }, { PROF__ASYNC, 1 }, { PROF__FLOW, 2 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        prof_trace *trace;
        PASS_ON(three_deep());
        trace = prof_stop();
        record_at_depth(trace, 2)->site_depth = wrong[i][0] << 8 | wrong[i][1];
        EQUAL(prof_events(trace, NULL, 0, NULL) != NULL, wrong[i][1] == 1);
        EQUAL(prof_get_stats(trace).lost, 1);
    }
}

static void zones_of_7(int n) {
    while (n--) {
        prof_push("zone");
        test_time.tick += 7;
        prof_pop();
    }
}

/* An end claims its slot; a signal handler records more than a block or chunk holds; then the end
   writes the slot. */
static void test_claimed(void) {
    static const prof_mode modes[] = { PROF_MODE_AGGREGATE, PROF_MODE_TRACE };
    for (int i = 0; i < 4; i++) {
        prof_desc desc = test_desc();
        prof_average row;
        prof__record *slot, zone;
        desc.mode = modes[i / 2];
        EQUAL(prof_start(&desc), PROF_OK);
        zones_of_7(10);
        slot = prof__tls_state(prof__tls_get())->hot.cursor++;
        zone = slot[-1];
        zone.end += 7;
        test_time.tick += 7;
        zones_of_7(3000);
        if (i & 1) *slot = zone;         /* else the handler does not come back */
        zones_of_7(3000);
        EQUAL(prof_key_averages(prof_stop(), NULL, &row, 1), 1);
        EQUAL(row.count, 6010 + (i & 1));
        EQUAL(row.cpu_time_total_ns, 7 * (6010 + (i & 1)));
        EQUAL(prof_get_stats(prof_stop()).lost, 0);
    }
}

int main(void) {
    RUN(test_claimed);
    RUN(test_length_of_another_kind);
    RUN(test_clock_back);
    RUN(test_damaged_range);
    RUN(test_damaged_moments);
    RUN(test_lost_in_between);
    RUN(test_wrong_length);
    RUN(test_records_scribbled);
    return test_end();
}
