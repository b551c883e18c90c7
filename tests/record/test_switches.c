/* portable */
/* Categories of zones, on and off while they are recorded, and PROF_TRACE in the environment. */
#include "../test.h"

#if defined(_WIN32)
#  include <process.h>
#  define getpid _getpid
#else
#  include <sys/wait.h>
#  include <unistd.h>
#endif

enum { GAME = 1, SOUND = 2, LAST = (int)0x40000000 };

/* Every kind of zone in a category, but those that need cleanup. */
static void mark(uint32_t category) {
#if defined(__GNUC__) && !defined(__TINYC__)
    PROF_FUNCTION_IN(category);
    PROF_SCOPE_IN(category, "scope");
#endif
    PROF_BLOCK_IN(category, "block") {
        if (prof_category_on(category)) prof_push("pushed");
        PROF_BLOCK("plain") (void)0;
        if (prof_category_on(category)) prof_pop();
    }
}

static int count(const prof_trace *trace, const char *name) {
    int n = 0;
    while (test_find(trace, name, n)) n++;
    return n;
}

static void expect(const prof_trace *trace, int zones) {
    EQUAL(count(trace, "block"), zones);
    EQUAL(count(trace, "pushed"), zones);
#if defined(__GNUC__) && !defined(__TINYC__)
    EQUAL(count(trace, "mark"), zones);
    EQUAL(count(trace, "scope"), zones);
#endif
    EQUAL(prof_trace_stats(trace).unbalanced, 0);
    PASS_ON(test_tree(trace));
}

static void test_categories(void) {
    prof_trace *trace;
    prof_desc desc = test_desc();
    EQUAL(prof_start(&desc), PROF_OK);
    mark(GAME);
    EQUAL(prof_set_categories(SOUND), UINT32_MAX);
    mark(GAME);
    mark(SOUND);
    mark(GAME | SOUND);                  /* one of them is enough */
    mark(0);
    EQUAL(prof_set_categories(0), SOUND);
    mark(SOUND);
    mark(UINT32_MAX);
    EQUAL(prof_set_categories(LAST), 0);
    mark(LAST);
    EQUAL(prof_set_categories(UINT32_MAX), LAST);
    trace = prof_stop();
    EQUAL(count(trace, "plain"), 8);
    PASS_ON(expect(trace, 4));
}

/* What is open stays open, whatever is switched. */
static void test_category_switched_within(void) {
    prof_trace *trace;
    EQUAL(prof_start(NULL), PROF_OK);
    PROF_BLOCK_IN(GAME, "outer") {
        prof_set_categories(~(uint32_t)GAME);
        PROF_BLOCK_IN(GAME, "off") PROF_BLOCK("inner") prof_set_categories(UINT32_MAX);
        PROF_BLOCK_IN(GAME, "on") (void)0;
    }
    trace = prof_stop();
    EQUAL(prof_trace_stats(trace).recorded, 3);
    EQUAL(prof_trace_stats(trace).unbalanced + prof_trace_stats(trace).healed, 0);
    CHECK(test_find(trace, "inner", 0)->depth == 1, "inner is not in outer");
    CHECK(!test_find(trace, "off", 0) && test_find(trace, "on", 0), "off is there");
}

/* ---- PROF_TRACE ---- */

static void set_trace(const char *path) {
#if defined(_WIN32)
    static char line[1100];
    snprintf(line, sizeof line, "PROF_TRACE=%s", path ? path : "");
    _putenv(line);
#else
    if (path) setenv("PROF_TRACE", path, 1);
    else unsetenv("PROF_TRACE");
#endif
}

static bool exists(const char *path) {
    FILE *f = fopen(path, "r");
    if (f) fclose(f);
    return f != NULL;
}

static void test_environment(void) {
    static const char *const pattern = TEST_OUT "/env_%p_%p.json";
    static const char *const plain = TEST_OUT "/e.json";
    char path[1024];
    remove(plain);
    set_trace(NULL);
    EQUAL(prof_start_env(NULL), PROF_OK);
    EQUAL(prof_now(), 0);                /* nothing runs */
    EQUAL(prof_stop_env(), PROF_OK);
    set_trace("");
    EQUAL(prof_start_env(NULL), PROF_OK);
    EQUAL(prof_stop_env(), PROF_OK);
    set_trace(plain);
    EQUAL(prof_stop_env(), PROF_OK);     /* not begun */
    EQUAL(exists(plain), false);
    EQUAL(prof_start_env(NULL), PROF_OK);
    prof_stop();                         /* the program's own: nothing is left to save */
    EQUAL(prof_stop_env(), PROF_OK);
    EQUAL(exists(plain), false);
    EQUAL(prof_start_env(NULL), PROF_OK);
    EQUAL(prof_start_env(NULL), PROF_ERROR_STATE);
    PROF_BLOCK("zone") (void)0;
    EQUAL(prof_stop_env(), PROF_OK);
    EQUAL(exists(plain), true);
    EQUAL(prof_stop_env(), PROF_OK);     /* once */
    set_trace(pattern);
    snprintf(path, sizeof path, TEST_OUT "/env_%ld_%ld.json", (long)getpid(), (long)getpid());
    remove(path);
    EQUAL(prof_start_env(NULL), PROF_OK);
    EQUAL(prof_stop_env(), PROF_OK);
    EQUAL(exists(path), true);
}

static void test_environment_errors(void) {
    static char large[2000];
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(large, 'x', sizeof large - 1);
    set_trace(TEST_OUT "/none/e.json");
    EQUAL(prof_start_env(NULL), PROF_OK);
    EQUAL(prof_stop_env(), PROF_ERROR_FILE);
    desc.max_depth = 256;
    EQUAL(prof_start_env(&desc), PROF_ERROR_INVALID);
    EQUAL(prof_stop_env(), PROF_OK);
    set_trace(large);
    EQUAL(prof_start_env(NULL), PROF_ERROR_INVALID);
#if !defined(PROF_ZLIB)
    set_trace(TEST_OUT "/e.json.gz");
    EQUAL(prof_start_env(NULL), PROF_ERROR_UNSUPPORTED);
#endif
    set_trace(NULL);
}

/* A child that did not start a session has nothing to save. */
static void test_environment_of_a_child(void) {
#if defined(_WIN32)
    SKIP("no fork");
#else
    static const char *const path = TEST_OUT "/child.json";
    int status = 1;
    pid_t child;
    remove(path);
    set_trace(path);
    EQUAL(prof_start_env(NULL), PROF_OK);
    child = fork();
    if (!child) _exit(prof_stop_env() != PROF_OK || exists(path));
    waitpid(child, &status, 0);
    EQUAL(status, 0);
    EQUAL(prof_stop_env(), PROF_OK);
    EQUAL(exists(path), true);
    set_trace(NULL);
#endif
}

int main(void) {
    RUN(test_categories);
    RUN(test_category_switched_within);
    RUN(test_environment);
    RUN(test_environment_errors);
    RUN(test_environment_of_a_child);
    return test_end();
}
