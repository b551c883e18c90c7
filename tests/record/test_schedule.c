/* portable */
/* The schedule: which steps are recorded. */
#include "../test.h"

static prof_schedule schedule(uint32_t skip_first, uint32_t wait, uint32_t warmup, uint32_t active,
                              uint32_t repeat, uint32_t skip_first_wait) {
    prof_schedule s;
    s.skip_first = skip_first;
    s.wait = wait;
    s.warmup = warmup;
    s.active = active;
    s.repeat = repeat;
    s.skip_first_wait = skip_first_wait;
    return s;
}

/* The actions of the first steps as letters. */
static const char *actions(prof_schedule s, size_t steps) {
    static char text[100];
    size_t i;
    for (i = 0; i < steps; i++) text[i] = "NWRS"[prof_schedule_action(&s, i)];
    text[i] = 0;
    return text;
}

static void test_schedule_known(void) {
    SAME_TEXT(actions(schedule(3, 2, 1, 4, 2, 0), 22), "NNNNNWRRRSNNWRRRSNNNNN");
    SAME_TEXT(actions(schedule(0, 1, 1, 2, 0, 0), 9), "NWRSNWRSN");
    SAME_TEXT(actions(schedule(3, 5, 1, 2, 2, 1), 18), "NNNWRSNNNNNWRSNNNN");
    SAME_TEXT(actions(schedule(0, 2, 0, 1, 0, 7), 6), "SNNSNN");
    SAME_TEXT(actions(schedule(0, 0, 0, 1, 3, 0), 6), "SSSNNN");
}

/* Sums and products past 32 bits, steps to the last number there is. */
static void test_schedule_large(void) {
    const uint64_t most = UINT32_MAX, end = UINT64_MAX;
    prof_schedule s = schedule(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0);
    EQUAL(prof_schedule_action(&s, 2 * most - 1), PROF_ACTION_NONE);
    EQUAL(prof_schedule_action(&s, 2 * most), PROF_ACTION_WARMUP);
    EQUAL(prof_schedule_action(&s, 3 * most), PROF_ACTION_RECORD);
    EQUAL(prof_schedule_action(&s, 4 * most - 1), PROF_ACTION_RECORD_AND_SAVE);
    EQUAL(prof_schedule_action(&s, 4 * most), PROF_ACTION_NONE);
    s = schedule(0, UINT32_MAX, 0, 1, 0, 1);
    EQUAL(prof_schedule_action(&s, 0), PROF_ACTION_RECORD_AND_SAVE);
    EQUAL(prof_schedule_action(&s, end), PROF_ACTION_NONE);
    EQUAL(prof_schedule_action(&s, end - end % ((uint64_t)1 << 32)), PROF_ACTION_RECORD_AND_SAVE);
    s = schedule(0, 0, 0, UINT32_MAX, UINT32_MAX, 0);
    EQUAL(prof_schedule_action(&s, most * most - 1), PROF_ACTION_RECORD_AND_SAVE);
    EQUAL(prof_schedule_action(&s, most * most), PROF_ACTION_NONE);
}

/* What prof_start says of a schedule. */
static prof_result started(const prof_schedule *s) {
    prof_desc desc = test_desc();
    prof_result result;
    desc.schedule = *s;
    result = prof_start(&desc);
    prof_stop();
    return result;
}

static void test_schedule_check(void) {
    prof_schedule s = schedule(0, 0, 0, 1, 0, 0), bad;
    uint32_t *field[5];
    size_t i;
    EQUAL(started(&s), PROF_OK);
    s.skip_first_wait = UINT32_MAX;
    EQUAL(started(&s), PROF_OK);
    field[0] = &bad.skip_first;
    field[1] = &bad.wait;
    field[2] = &bad.warmup;
    field[3] = &bad.active;
    field[4] = &bad.repeat;
    for (i = 0; i < 5; i++) {
        bad = s;
        *field[i] = (uint32_t)-1;
        EQUAL(started(&bad), PROF_ERROR_INVALID);
        *field[i] = INT32_MAX;
        EQUAL(started(&bad), PROF_OK);
    }
    bad = schedule(1, 1, 1, 0, 1, 0);
    EQUAL(started(&bad), PROF_ERROR_INVALID);
    EQUAL(prof_schedule_action(&bad, 2), PROF_ACTION_NONE);
    EQUAL(prof_schedule_action(NULL, 2), PROF_ACTION_NONE);
}

/* A schedule without a warm-up is warned of. */
static void test_schedule_warns(void) {
    prof_desc desc;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.schedule.active = 2;
    desc.schedule.repeat = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 3; i++) {
        PROF_BLOCK("zone") {}
        prof_step();
    }
    (void)prof_events(prof_stop(), NULL, 0, NULL);
    EQUAL(prof_get_stats(NULL).warnings, PROF_WARN_NO_WARMUP);
    desc.schedule.warmup = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_step();
    prof_stop();
    EQUAL(prof_get_stats(NULL).warnings, 0);
    EQUAL(prof_start(NULL), PROF_OK);
    prof_stop();
    EQUAL(prof_get_stats(NULL).warnings, 0);
}

/* A zone that is open around prof_step overlaps the steps, which the table says. */
static void test_schedule_zone_around(void) {
    prof_desc desc;
    test_text text;
    memset(&desc, 0, sizeof desc);
    memset(&text, 0, sizeof text);
    desc.schedule.active = 2;
    desc.schedule.repeat = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("around") prof_step();
    EQUAL(prof_write_table(prof_stop(), NULL, test_text_sink(&text)), PROF_OK);
    CHECK(strstr(text.data, "(is a zone open around prof_step?)"), "%s", text.data);
    EQUAL(prof_get_stats(NULL).misplaced, 2);
    test_text_clear(&text);
}

/* Steps in an arena that they fill: each is an event, or counted. */
static void test_schedule_full(void) {
    prof_desc desc = test_desc();
    size_t size, count, i;
    desc.max_threads = 1;
    desc.max_depth = 8;
    desc.schedule.active = 10000;
    for (size = 24 << 10; size < 64 << 10; size += 2500) {
        const prof_event *e;
        prof_trace *trace;
        size_t steps = 0;
        uint64_t missing;
        desc.memory = malloc(desc.memory_size = size);
        EQUAL(prof_start(&desc), PROF_OK);
        for (i = 0; i < 1000; i++) {
            test_time.tick += 10;
            prof_step();
        }
        trace = prof_stop();
        e = prof_events(trace, NULL, 0, &count);
        for (i = 0; i < count; i++) steps += strncmp(e[i].name, "ProfilerStep", 12) == 0;
        missing = prof_get_stats(NULL).dropped_full + prof_get_stats(NULL).not_kept;
        CHECK(steps > 10 && steps < 1000 && missing + steps == 1001,
              "%d steps, %d are missing of %d", (int)steps, (int)missing, (int)size);
        PASS_ON(test_tree(trace));
        prof_thread_end();
        free(desc.memory);
    }
}

int main(void) {
    RUN(test_schedule_full);
    RUN(test_schedule_known);
    RUN(test_schedule_large);
    RUN(test_schedule_check);
    RUN(test_schedule_warns);
    RUN(test_schedule_zone_around);
    return test_end();
}
