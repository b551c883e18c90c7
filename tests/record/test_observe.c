/* portable */
/* Observers: what they are told, in which order, and when there are too many. */
#include "../test.h"

static char told[1000];

static void tell(void *user, const char *what, const char *name) {
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s%s%s ", (const char *)user, what, name);
}
static void on_begin(void *user, const char *name, const prof_extra *with) {
    tell(user, with ? "with " : "+", name);
}
static void on_end(void *user, const char *name) { tell(user, "-", name); }
static void on_instant(void *user, const char *name) { tell(user, "!", name); }
static void on_counter(void *user, const char *name, int64_t value) {
    tell(user, value == 7 ? "7" : "?", name);
}
static void on_start(void *user) { tell(user, "start", ""); }
static void on_stop(void *user) { tell(user, "stop", ""); }
static void on_cleanup(void *user) { tell(user, "cleanup", ""); }

static prof_observer observer(const char *user) {
    prof_observer o;
    memset(&o, 0, sizeof o);
    o.begin = on_begin;
    o.end = on_end;
    o.instant = on_instant;
    o.counter = on_counter;
    o.start = on_start;
    o.stop = on_stop;
    o.cleanup = on_cleanup;
    o.user = (void *)(uintptr_t)user;
    return o;
}

static void test_observer_told(void) {
    prof_observer a = observer("a");
    prof_trace *trace;
    told[0] = 0;
    EQUAL(prof_add_observer(&a), PROF_OK);
    EQUAL(prof_add_observer(&a), PROF_ERROR_STATE);   /* the same twice */
    EQUAL(prof_start(NULL), PROF_OK);                 /* the CPU's clock: no fast path */
    EQUAL(prof_add_observer(&a), PROF_ERROR_STATE);
    EQUAL(prof_remove_observer(a.user), PROF_ERROR_STATE);
    PROF_BLOCK("one") {
        PROF_BLOCK("two") prof_instant("moment");
        prof_counter("count", 7);
    }
    prof_push("made");
    prof_pop();
    prof_pop();                          /* one too many: no end */
    PROF_BEGIN("open");
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).recorded, 4);
    SAME_TEXT(told, "astart a+one a+two a!moment a-two a7count a-one a+made a-made a+open astop ");
    told[0] = 0;
    EQUAL(prof_remove_observer(a.user), PROF_OK);
    EQUAL(prof_remove_observer(a.user), PROF_ERROR_INVALID);
    SAME_TEXT(told, "acleanup ");
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("unseen") (void)0;
    prof_stop();
    SAME_TEXT(told, "acleanup ");
    PASS_ON(test_tree(trace));
}

/* Zones too deep for the timeline are told, too, and so are those whose name has no room. */
static void test_observer_deep(void) {
    static uint64_t small[2 << 10];
    prof_observer a = observer("a");
    prof_desc desc = test_desc();
    a.start = a.stop = a.cleanup = NULL;
    desc.max_depth = desc.max_threads = 1;
    desc.memory = small;
    desc.memory_size = sizeof small;
    EQUAL(prof_add_observer(&a), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    test_fill_names();
    told[0] = 0;
    prof_push("n0");
    prof_push("n0");
    prof_push("another");
    prof_pop();
    prof_pop();
    prof_pop();
    prof_stop();
    SAME_TEXT(told, "a+n0 a+n0 a+(others) a-(others) a-n0 a-n0 ");
    EQUAL(prof_remove_observer(a.user), PROF_OK);
}

static void test_observers_many(void) {
    static char users[9][2] = { "1", "2", "3", "4", "5", "6", "7", "8", "9" };
    prof_observer o;
    int i;
    told[0] = 0;
    for (i = 0; i < 9; i++) {
        o = observer(users[i]);
        o.start = o.stop = o.cleanup = NULL;
        if (i > 1) o.begin = NULL;
        if (i > 1) o.end = NULL;
        EQUAL(prof_add_observer(&o), i < 8 ? PROF_OK : PROF_ERROR_MEMORY);
    }
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("x") (void)0;
    prof_stop();
    for (i = 0; i < 8; i++) EQUAL(prof_remove_observer(users[i]), PROF_OK);
    SAME_TEXT(told, "1+x 2+x 2-x 1-x ");
    EQUAL(prof_add_observer(NULL), PROF_ERROR_INVALID);
}

static void marks_zones(void *user, const char *name) {
    (void)user;
    (void)name;
    PROF_BLOCK("within") (void)0;
}

static void begin_marks_zones(void *user, const char *name, const prof_extra *with) {
    (void)with;
    marks_zones(user, name);
}

static void test_observer_marks_zones(void) {
    prof_observer o;
    prof_trace *trace;
    memset(&o, 0, sizeof o);
    o.begin = begin_marks_zones;
    o.end = marks_zones;
    EQUAL(prof_add_observer(&o), PROF_OK);
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK("zone") (void)0;
    trace = prof_stop();
    EQUAL(prof_get_stats(trace).recorded, 1);
    EQUAL(prof_get_stats(trace).dropped_busy, 2);
    EQUAL(prof_get_stats(trace).dropped, 2);
    EQUAL(prof_remove_observer(NULL), PROF_OK);
}

static void on_counter_f(void *user, const char *name, double value) {
    tell(user, value > 0.24 && value < 0.26 ? "f" : "?", name);
}

static void test_observer_numbers(void) {
    prof_observer a = observer("a"), b = observer("b");
    a.counter_f = on_counter_f;
    a.start = a.stop = a.cleanup = b.start = b.stop = b.cleanup = NULL;
    told[0] = 0;
    EQUAL(prof_add_observer(&a), PROF_OK);
    EQUAL(prof_add_observer(&b), PROF_OK);
    EQUAL(prof_start(NULL), PROF_OK);
    prof_counter_f("load", 0.25);
    prof_counter_f("seven", 7.9);
    prof_counter("seven", 7);
    prof_stop();
    SAME_TEXT(told, "afload b?load a?seven b7seven a7seven b7seven ");
    EQUAL(prof_remove_observer(a.user), PROF_OK);
    EQUAL(prof_remove_observer(b.user), PROF_OK);
}

int main(void) {
    RUN(test_observer_told);
    RUN(test_observer_numbers);
    RUN(test_observer_deep);
    RUN(test_observers_many);
    RUN(test_observer_marks_zones);
    return test_end();
}
