/* Chrome traces of zones that carry nothing are written without events: the bytes are the same as
   with events, whoever asks first. */
#include "../test.h"

#include <pthread.h>

static prof_trace *trace;
static prof_chrome_desc how;
static unsigned threads;                     /* beside this one */

/* No room is for its text to be kept. */
#define LONG "a long name, a long name, a long name, a long name, a long name, a long name, "

static void nested(unsigned *random, int deep) {
    static const char *const names[] = {
        "plain", "a \"quoted\"\\\n", "\x01\xff", "",
        LONG
    };
    *random = *random * 1103515245u + 12345u;
    if (*random >> 16 & 1) {
        PROF_SCOPE("scope");
        if (deep) nested(random, deep - 1);
        if (deep && *random >> 20 & 1) nested(random, deep - 1);
        return;
    }
    prof_push(names[(*random >> 17) % 5]);
    if (deep) nested(random, deep - 1);
    if (!threads) test_time.tick += *random >> 26;
    if (*random >> 25 & 1) prof_instant("instant");
    prof_pop();
}

static void *zones(void *seed) {
    unsigned random = *(const unsigned *)seed;
    int i;
    for (i = 0; i < 100; i++) nested(&random, 6);
    prof_push("left open");
    return NULL;
}

static void record(prof_desc desc) {
    unsigned seeds[4] = { 1, 2, 3, 4 };
    pthread_t thread[4];
    unsigned i;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < threads; i++) pthread_create(thread + i, NULL, zones, seeds + i);
    zones(seeds + 3);
    for (i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    trace = prof_stop();
    prof_pop();
    CHECK(trace != NULL, "no trace");
}

/* A sink that once asks for what it was told to. */
typedef struct asking {
    test_text got, other;
    bool events;
} asking;

static bool write_asking(void *user, const void *data, size_t size) {
    asking *a = (asking *)user;
    size_t count;
    bool ok = true;
    if (a->got.size < 20000 && a->got.size + size >= 20000) {
        if (a->events) ok = prof_events(trace, &count) != NULL;
        else ok = prof_write_chrome(trace, &how, test_text_sink(&a->other)) == PROF_OK;
    }
    return ok && test_text_write(&a->got, data, size);
}

static void same(const test_text *a, const test_text *b) {
    EQUAL(a->size, b->size);
    EQUAL(memcmp(a->data, b->data, a->size), 0);
}

/* Without events; with a writer in between, and with events made half-way; with events. */
static void all_the_same(void) {
    test_text first;
    asking writer, events;
    prof_sink sink = { write_asking, NULL };
    size_t count;
    memset(&first, 0, sizeof first);
    memset(&writer, 0, sizeof writer);
    memset(&events, 0, sizeof events);
    events.events = true;
    EQUAL(prof_write_chrome(trace, &how, test_text_sink(&first)), PROF_OK);
    sink.user = &writer;
    EQUAL(prof_write_chrome(trace, &how, sink), PROF_OK);
    PASS_ON(same(&writer.got, &first));
    PASS_ON(same(&writer.other, &first));
    sink.user = &events;
    EQUAL(prof_write_chrome(trace, &how, sink), PROF_OK);
    PASS_ON(same(&events.got, &first));
    CHECK(prof_events(trace, &count) != NULL && count > 500, "%zu events", count);
    test_text_clear(&writer.got);
    EQUAL(prof_write_chrome(trace, &how, test_text_sink(&writer.got)), PROF_OK);
    PASS_ON(same(&writer.got, &first));
    test_text_clear(&first);
    test_text_clear(&writer.got);
    test_text_clear(&writer.other);
    test_text_clear(&events.got);
}

/* Each format, and each choice of places. */
static void try_all(prof_desc desc) {
    unsigned k;
    for (k = 0; k < 6; k++) {
        how.format = k & 1 ? PROF_CHROME_ARRAY : PROF_CHROME_KINETO;
        how.source = (prof_chrome_source)(k / 2);
        PASS_ON(record(desc));
        PASS_ON(all_the_same());
    }
}

static void test_usual_clock(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    for (threads = 0; threads < 4; threads++) {
        desc.events = threads & 1;
        PASS_ON(try_all(desc));
    }
    threads = 0;
}

/* Zones that take no time have to tell their parents, and so need events. */
static void test_coarse_clock(void) {
    prof_desc desc = test_desc();
    PASS_ON(try_all(desc));
}

/* Of an event from outside: no start may be taken for one whose first digits are kept. */
static void test_any_start(void) {
    static const struct { int64_t ns; const char *ts; } starts[] = {
        { INT64_MIN, "\"ts\":9223372036854775.808," },
        { INT64_MIN + 999, "\"ts\":9223372036854776.807," },
        { INT64_MAX - 999, "\"ts\":9223372036854774.808," }, { 0, "\"ts\":0.000," },
        { 99999999, "\"ts\":99999.999," }, { 100000001, "\"ts\":100000.001," },
        { 199999999, "\"ts\":199999.999," }, { 200000000, "\"ts\":200000.000," }
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        test_text got;
        prof_event e;
        prof_desc desc = test_desc();
        memset(&e, 0, sizeof e);
        memset(&got, 0, sizeof got);
        e.name = "outside";
        e.start_ns = starts[i].ns;
        e.end_ns = starts[i].ns + 140;
        EQUAL(prof_start(&desc), PROF_OK);
        e.thread = prof_submit_thread(1, "thread");
        EQUAL(prof_submit(&e, 1), PROF_OK);
        EQUAL(prof_write_chrome(prof_stop(), NULL, test_text_sink(&got)), PROF_OK);
        CHECK(strstr(got.data, starts[i].ts) != NULL, "%s", starts[i].ts);
        test_text_clear(&got);
    }
}

int main(void) {
    RUN(test_any_start);
    RUN(test_usual_clock);
    RUN(test_coarse_clock);
    return test_end();
}
