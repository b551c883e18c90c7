/* desc.exclude: functions that the compiler instruments and that are no zones; what the table says
   of functions that take less than timing them. */
#define PROF_INSTRUMENT_FUNCTIONS
#include "../test.h"

#ifdef __cplusplus
extern "C" {                             /* no other names in the symbols */
#endif
void tiny_one(void);
void tiny_two(void);
void tiny_one(void) { test_time.tick += 5; }
void tiny_two(void) { test_time.tick += 7; }
#ifdef __cplusplus
}
#endif

static void *address_of(void (*function)(void)) {
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

static void call(void (*function)(void)) {
    __cyg_profile_func_enter(address_of(function), NULL);
    function();
    __cyg_profile_func_exit(address_of(function), NULL);
}

static uint64_t calls_of(const prof_trace *trace, const char *name) {
    prof_average rows[16];
    size_t count = prof_key_averages(trace, NULL, rows, 16);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, name) == 0) return rows[i].count;
    return 0;
}

/* A session in which outer calls both functions so often. */
static prof_trace *record(const char *exclude, int calls) {
    prof_desc desc = test_desc();
    desc.exclude = exclude;
    if (prof_start(&desc) != PROF_OK) return NULL;
    call(tiny_one);                      /* the first of its thread */
    PROF_BLOCK("outer") {
        for (int i = 0; i < calls; i++) {
            call(tiny_one);
            call(tiny_two);
        }
    }
    return prof_stop();
}

/* Each session excludes what it names, and no more; the time is the caller's. */
static void test_exclude_by_session(void) {
#if !defined(__linux__)
    CHECK(!record("tiny_one", 10), "names are read on Linux alone");
    EQUAL(strncmp(prof_strerror(PROF_ERROR_UNSUPPORTED), "prof_desc.exclude is ", 21), 0);
#else
    static const struct { const char *exclude; uint64_t one, two; } kinds[] = {
        { NULL, 11, 10 }, { "tiny_one", 0, 10 }, { "tiny", 11, 10 }, { "", 11, 10 },
        { "none,tiny_two, tiny_one", 0, 0 }, { "tiny_two", 11, 0 }, { NULL, 11, 10 } };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const prof_trace *trace = record(kinds[k].exclude, 10);
        prof_stats stats = prof_get_stats(NULL);
        CHECK(trace, "%s", prof_strerror(PROF_ERROR_UNSUPPORTED));
        EQUAL(calls_of(trace, "tiny_one"), kinds[k].one);
        EQUAL(calls_of(trace, "tiny_two"), kinds[k].two);
        EQUAL(calls_of(trace, "outer"), 1);
        EQUAL(stats.recorded + stats.summed, kinds[k].one + kinds[k].two + 1);
        EQUAL(stats.dropped + stats.unbalanced + stats.healed, 0);
    }
#endif
}

/* The table names functions of few ns, but not where they are few, and no marks. */
static void test_exclude_told(void) {
    static const char line[] = "tiny_one: 1000001 calls of 5 ns; leave it out with "
                               "__attribute__((no_instrument_function)) or prof_desc.exclude\n";
    for (int many = test_sample() > 1; many < 2; many++) {   /* half a second each */
        test_text text;
        memset(&text, 0, sizeof text);
        EQUAL(test_write(record(NULL, many ? 1000000 : 999998), TEST_TABLE, &text), PROF_OK);
        CHECK((strstr(text.data, line) != NULL) == many, "%s", text.data);
        CHECK((strstr(text.data, "calls of") != NULL) == many, "%s", text.data);
        CHECK(!strstr(text.data, "outer:"), "%s", text.data);
        test_text_clear(&text);
    }
}

int main(void) {
    RUN(test_exclude_by_session);
    RUN(test_exclude_told);
    return test_end();
}
