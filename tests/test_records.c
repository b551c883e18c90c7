/* Whatever bytes lie where records should be: the reports are whole, and every event has a name. */
#include "test.h"

static void zones(int depth) {
    PROF_SCOPE("static");
    prof_push(depth % 2 ? "pushed" : "pushed too");
    if (depth % 3 == 0) prof_counter("counter", depth);
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
    const prof_event *events = prof_events(trace, &count);
    for (i = 0; i < count; i++) {
        CHECK(events[i].name != NULL, "event %u has no name", (unsigned)i);
        CHECK(events[i].parent == PROF_NONE || events[i].parent < i, "event %u: parent %u",
              (unsigned)i, (unsigned)events[i].parent);
    }
}

static void test_records_scribbled(void) {
    static uint64_t memory[1 << 15];
    size_t events = 0;
    int trial, writer, n;
    for (trial = 0; trial < 300; trial++) {
        test_text text;
        prof_desc desc;
        prof_trace *trace;
        size_t count;
        memset(&desc, 0, sizeof desc);
        memset(&text, 0, sizeof text);
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        desc.max_depth = 40;
        EQUAL(prof_start(&desc), PROF_OK);
        for (n = 0; n < 20; n++) zones(n % 13);
        trace = prof_stop();
        scribble(trace, 1u << trial % 6);
        PASS_ON(each_in_place(trace));
        prof_events(trace, &count);
        events += count;
        CHECK(prof_get_stats().lost > 0 || count > 300, "nothing lost of %u", (unsigned)count);
        for (writer = 0; writer < TEST_WRITERS; writer++)
            EQUAL(test_write(trace, writer, &text), PROF_OK);
        test_text_clear(&text);
    }
    CHECK(events > 10000, "only %u events", (unsigned)events);
}

int main(void) {
    RUN(test_records_scribbled);
    return test_end();
}
