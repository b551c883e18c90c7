/* portable */
/* Sessions that begin and end at odd moments, and zones that do. */
#include "../test.h"

#include <setjmp.h>

static prof_trace *trace;

static void start(void) {
    prof_desc desc = test_desc();
    test_time.tick = 1000000;
    EQUAL(prof_start(&desc), PROF_OK);
}

static void wait_ns(uint64_t ns) { test_time.tick += ns; }

/* Stops, checks the tree and how many zones there are. */
static void stop(size_t zones) {
    size_t count;
    trace = prof_stop();
    CHECK(trace != NULL, "no trace");
    prof_events(trace, NULL, 0, &count);
    EQUAL(count, zones);
    EQUAL(prof_get_stats(NULL).recorded, zones);
    test_tree(trace);
}

/* The n-th zone of that name: from and to are ns since the start, up its parent or NULL. */
static void zone(const char *name, int n, int64_t from, int64_t to, const char *up) {
    const prof_event *event = test_find(trace, name, n);
    const prof_event *events = prof_events(trace, NULL, 0, NULL);
    CHECK(event != NULL, "no zone %s", name);
    EQUAL(event->start_ns, from);
    EQUAL(event->end_ns, to);
    EQUAL(event->parent == PROF_NONE, up == NULL);
    if (up) SAME_TEXT(events[event->parent].name, up);
}

/* The counts of zones that did not go by the book. */
static void counts(unsigned unbalanced, unsigned healed, unsigned unfinished) {
    prof_stats stats = prof_get_stats(NULL);
    EQUAL(stats.unbalanced, unbalanced);
    EQUAL(stats.healed, healed);
    EQUAL(stats.unfinished, unfinished);
    EQUAL(stats.dropped, 0);
}

/* ---- Sessions ---- */

static void test_session_start_twice(void) {
    PASS_ON(start());
    PROF_BEGIN("before");
    EQUAL(prof_start(NULL), PROF_ERROR_STATE);
    wait_ns(10);
    PROF_END();
    PASS_ON(stop(1));
    PASS_ON(zone("before", 0, 0, 10, NULL));
    PASS_ON(counts(0, 0, 0));
}

static void test_session_stop_without_start(void) {
    CHECK(prof_stop() == NULL, "a trace of nothing");
    PASS_ON(start());
    PASS_ON(stop(0));
    CHECK(prof_stop() == NULL, "a second trace of one session");
}

static void test_session_off_records_nothing(void) {
    PROF_BLOCK("off") { PROF_SCOPE("off too"); }
    PROF_BEGIN("never");
    PROF_END();
    PROF_END();
    prof_push("never");
    prof_pop();
    prof_pop();
    prof_instant("never");
    prof_counter("never", 1);
    prof_set_thread_name("never");
    prof_thread_end();
    EQUAL(prof_now(), 0);
    PASS_ON(start());
    PASS_ON(stop(0));
    PASS_ON(counts(0, 0, 0));
}

static void test_session_empty(void) {
    test_text text;
    size_t count = 7;
    int writer;
    PASS_ON(start());
    PASS_ON(stop(0));
    CHECK(prof_events(trace, NULL, 0, &count) == NULL, "events of nothing");
    EQUAL(count, 0);
    EQUAL(prof_key_averages(trace, NULL, NULL, 0), 0);
    EQUAL(prof_total_average(trace).count, 0);
    memset(&text, 0, sizeof text);
    for (writer = 0; writer < TEST_WRITERS; writer++)
        EQUAL(test_write(trace, writer, &text), PROF_OK);
    CHECK(strstr(text.data, "traceEvents") != NULL, "no trace in '%.200s'", text.data);
    test_text_clear(&text);
}

static void test_session_now(void) {
    EQUAL(prof_now(), 0);
    PASS_ON(start());
    EQUAL(prof_now(), 0);
    wait_ns(12345);
    EQUAL(prof_now(), 12345);
    PASS_ON(stop(0));
    EQUAL(prof_now(), 0);
}

/* The default clock and arena: times that a clock on the wall would show. */
static void test_session_defaults(void) {
    size_t count, i;
    const prof_event *events;
    int64_t before, after;
    volatile unsigned work = 0;
    EQUAL(prof_start(NULL), PROF_OK);
    before = prof_now();
    for (i = 0; i < 1000; i++) {
        PROF_SCOPE("outer");
        PROF_BLOCK("inner") { work = work + 1; }
    }
    after = prof_now();
    CHECK(after >= before && before >= 0, "now %lld, then %lld", (long long)before,
          (long long)after);
    PASS_ON(stop(2000));
    events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < count; i++) {
        CHECK(events[i].start_ns >= before - 1000 && events[i].end_ns <= after + 1000,
              "event %u: %lld to %lld, not within %lld to %lld", (unsigned)i,
              (long long)events[i].start_ns, (long long)events[i].end_ns, (long long)before,
              (long long)after);
        SAME_TEXT(events[i].name, events[i].depth ? "inner" : "outer");
    }
    CHECK(prof_get_stats(NULL).clock != PROF_CLOCK_NONE, "no clock");
    CHECK(prof_get_stats(NULL).ticks_per_second > 0, "no rate");
    PASS_ON(counts(0, 0, 0));
}

static void test_session_os_clock(void) {
    prof_desc desc;
    int64_t begun;
    memset(&desc, 0, sizeof desc);
    inside_os_clock = true;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") {
        PROF_SCOPE("inner");
        for (begun = prof_now(); prof_now() < begun + 1000000;) {}
    }
    PASS_ON(stop(2));
    EQUAL(prof_get_stats(NULL).clock, PROF_CLOCK_OS);
    CHECK(test_find(trace, "inner", 0)->end_ns >= begun + 1000000, "the clock stood still");
    inside_os_clock = false;
}

/* ---- Zones open at the stop ---- */

static void test_open_at_stop(void) {
    PASS_ON(start());
    PROF_BEGIN("a");
    wait_ns(5);
    PROF_BEGIN("b");
    wait_ns(5);
    PROF_BLOCK("done") { wait_ns(1); }
    wait_ns(9);
    PASS_ON(stop(3));
    PASS_ON(counts(0, 0, 2));
    PASS_ON(zone("a", 0, 0, 20, NULL));
    PASS_ON(zone("b", 0, 5, 20, "a"));
    PASS_ON(zone("done", 0, 10, 11, "b"));
    EQUAL(test_find(trace, "a", 0)->flags, PROF_EVENT_UNFINISHED);
    EQUAL(test_find(trace, "b", 0)->flags, PROF_EVENT_UNFINISHED);
    EQUAL(test_find(trace, "done", 0)->flags, 0);
    PROF_END();                          /* too late: counted nowhere, harmful nowhere */
    PROF_END();
    PASS_ON(start());
    PROF_BLOCK("next") { wait_ns(3); }
    PASS_ON(stop(1));
    PASS_ON(counts(0, 0, 0));
}

/* A scope begun in one session ends in the next. */
static void reopen(void) {
    PROF_SCOPE("held");
    wait_ns(4);
    PASS_ON(stop(1));
    PASS_ON(zone("held", 0, 0, 4, NULL));
    PASS_ON(counts(0, 0, 1));
    PASS_ON(start());
    PROF_BEGIN("new");
    wait_ns(2);
    PROF_END();
}

static void test_held_scope(void) {
    PASS_ON(start());
    PASS_ON(reopen());
    PROF_BEGIN("after");
    wait_ns(1);
    PROF_END();
    PASS_ON(stop(2));
    PASS_ON(zone("new", 0, 0, 2, NULL));
    PASS_ON(zone("after", 0, 2, 3, NULL));
    PASS_ON(counts(1, 0, 0));
}

/* The new session's own zones are open when the old zone ends: they must stay open. */
static void reopen_inside(void) {
    PROF_SCOPE("held");
    PASS_ON(stop(1));
    PASS_ON(start());
    PROF_BEGIN("inside");
    wait_ns(6);
}

static void test_held_scope_ends_inside_new_zone(void) {
    PASS_ON(start());
    PASS_ON(reopen_inside());
    wait_ns(1);
    PROF_END();
    PASS_ON(stop(1));
    EQUAL(prof_get_stats(NULL).unfinished, 0);
    PASS_ON(zone("inside", 0, 0, prof_get_stats(NULL).healed ? 6 : 7, NULL));
}

/* PROF_END knows no zone of its own: with none open, an end of an older session's zone. */
static void test_held_begin(void) {
    PASS_ON(start());
    PROF_BEGIN("held");
    PROF_BEGIN("held too");
    PASS_ON(stop(2));
    PASS_ON(start());
    PROF_BLOCK("new") { wait_ns(1); }
    PROF_END();
    PROF_END();
    PROF_BLOCK("after") { wait_ns(1); }
    PASS_ON(stop(2));
    PASS_ON(counts(2, 0, 0));
    PASS_ON(zone("after", 0, 1, 2, NULL));
}

static void start_shallow(void) {
    prof_desc desc = test_desc();
    desc.max_depth = 4;
    EQUAL(prof_start(&desc), PROF_OK);
}

/* As many zones as max_depth are open at once: none is too deep. */
static void fill_depth(void) {
    uint64_t before = prof_get_stats(NULL).recorded;
    int i;
    for (i = 0; i < 4; i++) prof_push("level");
    for (i = 0; i < 4; i++) prof_pop();
    EQUAL(prof_get_stats(NULL).deep, 0);
    EQUAL(prof_get_stats(NULL).recorded, before + 4);
}

static void end_in_the_next(void) {
    PROF_SCOPE("held");
    PROF_BLOCK("held too") {
        prof_stop();
        PASS_ON(start_shallow());
        PROF_BLOCK("new") wait_ns(1);
    }
}

static void end_while_off(void) {
    PROF_SCOPE("held");
    PROF_BLOCK("held too") { prof_stop(); }
}

/* Zones of an older session hold places of the stack until they end, no longer. */
static void test_held_zones_give_places_back(void) {
    PASS_ON(start_shallow());
    PASS_ON(end_in_the_next());
    PASS_ON(fill_depth());
    PASS_ON(counts(2, 0, 0));
    end_while_off();
    PASS_ON(start_shallow());
    PASS_ON(fill_depth());
    PASS_ON(counts(0, 0, 0));
    prof_stop();
}

/* Open while off, ended while on. */
static void begin_off_end_on(void) {
    PROF_SCOPE("off");
    PASS_ON(start());
    PROF_BLOCK("on") { wait_ns(1); }
}

static void test_begin_off_end_on(void) {
    PASS_ON(begin_off_end_on());
    PROF_BLOCK("after") { wait_ns(1); }
    PASS_ON(stop(2));
    PASS_ON(zone("on", 0, 0, 1, NULL));
    PASS_ON(zone("after", 0, 1, 2, NULL));
    EQUAL(prof_get_stats(NULL).unfinished + prof_get_stats(NULL).healed, 0);
}

/* Nothing is known of what was begun while nothing was recorded, but that there may be any number
   of it: ends that are left over are not called unbalanced. */
static void test_begun_off_ended_on(void) {
    test_text text;
    int i;
    for (i = 0; i < 3; i++) PROF_BEGIN("off");
    PASS_ON(start());
    PROF_BLOCK("on") { wait_ns(1); }
    PROF_END();
    PROF_BEGIN("between");
    wait_ns(1);
    PROF_END();
    PROF_END();
    PROF_END();
    PROF_BLOCK("after") { wait_ns(1); }
    PASS_ON(stop(3));
    PASS_ON(zone("after", 0, 2, 3, NULL));
    PASS_ON(counts(3, 0, 0));
    memset(&text, 0, sizeof text);
    EQUAL(test_write(trace, TEST_TABLE, &text), PROF_OK);
    CHECK(strstr(text.data, "in the session, ignored: 3"), "%s", text.data);
    test_text_clear(&text);
}

/* ---- Zones that do not go by the book ---- */

static void test_ended_twice(void) {
    PASS_ON(start());
    PROF_BEGIN("a");
    PROF_BEGIN("b");
    wait_ns(3);
    PROF_END();
    PROF_END();
    PROF_END();
    prof_pop();
    wait_ns(1);
    PROF_BLOCK("c") { wait_ns(2); }
    PASS_ON(stop(3));
    PASS_ON(counts(2, 0, 0));
    PASS_ON(zone("b", 0, 0, 3, "a"));
    PASS_ON(zone("c", 0, 4, 6, NULL));
}

static void end_too_much(void) {
    PROF_SCOPE("scope");
    wait_ns(2);
    PROF_END();
    wait_ns(2);
}

/* PROF_END takes a scope's zone away: the scope's own end is then the one too many. */
static void test_scope_ended_by_hand(void) {
    PASS_ON(start());
    end_too_much();
    PROF_BLOCK("after") { wait_ns(2); }
    PASS_ON(stop(2));
    PASS_ON(counts(1, 0, 0));
    PASS_ON(zone("scope", 0, 0, 2, NULL));
    PASS_ON(zone("after", 0, 4, 6, NULL));
}

/* The same where no more zones fit in. */
static void test_deepest_scope_ended_by_hand(void) {
    int i;
    PASS_ON(start_shallow());
    for (i = 0; i < 3; i++) prof_push("level");
    end_too_much();
    for (i = 0; i < 3; i++) prof_pop();
    PASS_ON(stop(4));
    PASS_ON(counts(1, 0, 0));
}

/* The same one level down: the outer zone must not end with it. */
static void test_inner_scope_ended_by_hand(void) {
    PASS_ON(start());
    {
        PROF_SCOPE("outer");
        end_too_much();
        wait_ns(1);
    }
    PASS_ON(stop(2));
    PASS_ON(counts(1, 0, 0));
    PASS_ON(zone("scope", 0, 0, 2, "outer"));
    PASS_ON(zone("outer", 0, 0, 5, NULL));
}

static void leave_open(void) {
    PROF_SCOPE("scope");
    wait_ns(1);
    PROF_BEGIN("lost");
    wait_ns(1);
    PROF_BEGIN("lost too");
    wait_ns(1);
}

/* Never ended: the scope around them closes them when it ends. */
static void test_never_ended(void) {
    PASS_ON(start());
    PROF_BEGIN("all");
    leave_open();
    wait_ns(1);
    PROF_BLOCK("after") { wait_ns(1); }
    PROF_END();
    PASS_ON(stop(5));
    PASS_ON(counts(0, 2, 0));
    PASS_ON(zone("scope", 0, 0, 3, "all"));
    PASS_ON(zone("lost", 0, 1, 3, "scope"));
    PASS_ON(zone("lost too", 0, 2, 3, "lost"));
    PASS_ON(zone("after", 0, 4, 5, "all"));
    PASS_ON(zone("all", 0, 0, 5, NULL));
}

static int return_early(int how) {
    PROF_BLOCK("block") {
        wait_ns(1);
        if (how == 0) return 1;
        PROF_BLOCK("inner") {
            wait_ns(1);
            if (how == 1) break;
            if (how == 2) return 2;
        }
        wait_ns(1);
    }
    return 0;
}

/* return and break inside a block end it at once. */
static void test_block_left_early(void) {
    int how;
    PASS_ON(start());
    for (how = 0; how < 4; how++) PROF_BLOCK("call") { return_early(how); }
    PASS_ON(stop(4 + 4 + 3));
    PASS_ON(counts(0, 0, 0));
    PASS_ON(zone("block", 0, 0, 1, "call"));
    PASS_ON(zone("block", 1, 1, 4, "call"));
    PASS_ON(zone("block", 2, 4, 6, "call"));
    PASS_ON(zone("block", 3, 6, 9, "call"));
}

/* ---- longjmp ---- */

static jmp_buf back;

static void jump_inside(void) {
    PROF_BEGIN("jumped over");
    wait_ns(1);
    PROF_BEGIN("jumped over");
    wait_ns(1);
    longjmp(back, 1);
}

static void jump(void) {
    PROF_BEGIN("jumped over");
    wait_ns(1);
    jump_inside();
}

static void jump_and_land(void) {
    if (setjmp(back) == 0) jump();
}

static void around_the_jump(void) {
    PROF_SCOPE("around");
    jump_and_land();
    wait_ns(1);
}

static void test_longjmp(void) {
    PASS_ON(start());
    around_the_jump();
    PROF_BLOCK("after") { wait_ns(1); }
    PASS_ON(stop(5));
    PASS_ON(counts(0, 3, 0));
    PASS_ON(zone("around", 0, 0, 4, NULL));
    PASS_ON(zone("jumped over", 0, 0, 4, "around"));
    PASS_ON(zone("after", 0, 4, 5, NULL));
}

#ifndef __cplusplus                      /* C++ may not jump over destructors */
static void jump_from_scope(void) {
    PROF_SCOPE("scope jumped over");
    wait_ns(1);
    longjmp(back, 1);
}

static void jump_over_scope(void) {
    PROF_SCOPE("around");
    if (setjmp(back) == 0) jump_from_scope();
    wait_ns(1);
}

static void restart_and_jump(void) {
    PROF_SCOPE("held too");
    prof_stop();
    PASS_ON(start_shallow());
    PROF_BEGIN("new");
    longjmp(back, 1);
}

static void jump_into_the_next(void) {
    PROF_SCOPE("held");
    if (setjmp(back) == 0) restart_and_jump();
}

/* Two zones of an older session, and one of this, end with the outer one of the older. */
static void test_longjmp_from_the_next(void) {
    PASS_ON(start_shallow());
    jump_into_the_next();
    PASS_ON(counts(1, 1, 0));
    PASS_ON(fill_depth());
    prof_stop();
}

static void test_longjmp_over_scope(void) {
    PASS_ON(start());
    jump_over_scope();
    PROF_BLOCK("after") { wait_ns(1); }
    PASS_ON(stop(3));
    PASS_ON(counts(0, 1, 0));
    PASS_ON(zone("around", 0, 0, 2, NULL));
    PASS_ON(zone("scope jumped over", 0, 0, 2, "around"));
}
#endif

/* ---- Many sessions in one small arena ---- */

static void small_start(void *memory, size_t size) {
    prof_desc desc = test_desc();
    desc.memory = memory;
    desc.memory_size = size;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
}

static void cycle(void *memory, size_t size) {
    PASS_ON(small_start(memory, size));
    PROF_BEGIN("before");
    wait_ns(2);
    PROF_END();
    {
        PROF_SCOPE("held");
        wait_ns(2);
        PASS_ON(stop(2));
        PASS_ON(counts(0, 0, 1));
        PASS_ON(zone("held", 0, 2, 4, NULL));
        PASS_ON(small_start(memory, size));
        prof_push("run time");
        wait_ns(3);
        prof_pop();
    }
    PROF_BLOCK("after") { wait_ns(1); }
    PASS_ON(stop(2));
    PASS_ON(counts(1, 0, 0));
    PASS_ON(zone("run time", 0, 0, 3, NULL));
    PASS_ON(zone("after", 0, 3, 4, NULL));
}

static void cycles(int n, void *one, void *other, size_t size) {
    int i;
    for (i = 0; i < n; i++) {
        cycle(i % 2 ? one : other, size);
        if (test_bad) {
            test_say(" (cycle %d)", i);
            return;
        }
    }
}

static void test_cycles(void) {
    static uint64_t memory[1 << 13];
    cycles(5000, memory, memory, sizeof memory);
}

static void test_cycles_in_two_arenas(void) {
    static uint64_t one[1 << 13], other[1 << 13];
    cycles(500, one, other, sizeof one);
    prof_thread_end();
}

static void test_cycles_default_clock(void) {
    int i;
    for (i = 0; i < 20; i++) {
        EQUAL(prof_start(NULL), PROF_OK);
        PROF_BLOCK("zone") { PROF_SCOPE("inner"); }
        PASS_ON(stop(2));
    }
}

/* ---- One trace, many readers ---- */

static void record_some(void) {
    int i;
    PASS_ON(start());
    for (i = 0; i < 100; i++) {
        PROF_SCOPE("outer");
        wait_ns(1500);
        PROF_BLOCK("inner") { wait_ns(2500); }
        prof_counter("i", i);
        prof_instant("now");
    }
}

static void write_all(test_text *texts) {
    int writer;
    for (writer = 0; writer < TEST_WRITERS; writer++) {
        memset(&texts[writer], 0, sizeof texts[writer]);
        EQUAL(test_write(trace, writer, &texts[writer]), PROF_OK);
    }
}

/* Whoever comes first, a query or a writer, every one gives the same, once and again. */
static void test_readers_in_any_order(void) {
    test_text first[TEST_WRITERS], again[TEST_WRITERS];
    const prof_event *events;
    prof_event copy[200];
    size_t count;
    int writer, round;
    PASS_ON(record_some());
    trace = prof_stop();
    PASS_ON(write_all(first));
    events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, 200);
    memcpy(copy, events, sizeof copy);
    for (round = 0; round < 2; round++) {
        PASS_ON(write_all(again));
        for (writer = 0; writer < TEST_WRITERS; writer++) {
            CHECK(strcmp(first[writer].data, again[writer].data) == 0, "writer %d, again: differs",
                  writer);
            test_text_clear(&again[writer]);
        }
    }
    EQUAL(prof_total_average(trace).count, 200);
    CHECK(prof_events(trace, NULL, 0, &count) == events, "the events moved");
    EQUAL(memcmp(copy, events, sizeof copy), 0);
    PASS_ON(record_some());
    trace = prof_stop();                 /* the same once more, asked in another order */
    prof_events(trace, NULL, 0, &count);
    for (writer = TEST_WRITERS - 1; writer >= 0; writer--) {
        memset(&again[writer], 0, sizeof again[writer]);
        EQUAL(test_write(trace, writer, &again[writer]), PROF_OK);
        SAME_TEXT(again[writer].data, first[writer].data);
        test_text_clear(&again[writer]);
        test_text_clear(&first[writer]);
    }
}

static uint32_t own_id;
static uint32_t thread_id(void *user) {
    (void)user;
    return own_id;
}

static void zone_of(uint32_t id, const char *name) {
    own_id = id;
    prof_push(name);
    test_time.tick++;
    prof_pop();
}

/* A thread is one in all windows of a trace, another that has its id in one window is not. */
static void test_ids_over_windows(void) {
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    static const uint32_t threads[] = { 0, 0, 1, 2, 3 }, ids[] = { 5, 5, 9, 9, 5 };
    prof_desc desc = test_desc();
    const prof_thread_info *infos;
    size_t count;
    int i;
    desc.platform.thread_id = thread_id;
    EQUAL(prof_start(&desc), PROF_OK);
    zone_of(ids[0], names[0]);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
    for (i = 1; i < 5; i++) {
        zone_of(ids[i], names[i]);
        prof_thread_end();
    }
    trace = prof_stop();
    infos = prof_threads(trace, &count);
    EQUAL(count, 4);
    for (i = 0; i < 5; i++) {
        EQUAL(test_find(trace, names[i], 0)->thread, threads[i]);
        EQUAL(infos[threads[i]].id, ids[i]);
    }
}

int main(void) {
    RUN(test_session_stop_without_start);
    RUN(test_session_start_twice);
    RUN(test_session_off_records_nothing);
    RUN(test_session_empty);
    RUN(test_session_now);
    RUN(test_session_defaults);
    RUN(test_session_os_clock);
    RUN(test_open_at_stop);
    RUN(test_held_scope);
    RUN(test_held_scope_ends_inside_new_zone);
    RUN(test_held_begin);
    RUN(test_held_zones_give_places_back);
    RUN(test_begin_off_end_on);
    RUN(test_begun_off_ended_on);
    RUN(test_ended_twice);
    RUN(test_scope_ended_by_hand);
    RUN(test_deepest_scope_ended_by_hand);
    RUN(test_inner_scope_ended_by_hand);
    RUN(test_never_ended);
    RUN(test_block_left_early);
    RUN(test_longjmp);
#ifndef __cplusplus
    RUN(test_longjmp_over_scope);
    RUN(test_longjmp_from_the_next);
#endif
    RUN(test_cycles);
    RUN(test_cycles_in_two_arenas);
    RUN(test_cycles_default_clock);
    RUN(test_readers_in_any_order);
    RUN(test_ids_over_windows);
    return test_end();
}
