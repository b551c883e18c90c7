/* portable */
/* Categories of zones, on and off while they are recorded, and PROF_TRACE in the environment. */
#include "../test.h"

#include <errno.h>

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
    EQUAL(prof_get_stats(trace).unbalanced, 0);
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
    EQUAL(prof_get_stats(trace).recorded, 3);
    EQUAL(prof_get_stats(trace).unbalanced + prof_get_stats(trace).healed, 0);
    CHECK(test_find(trace, "inner", 0)->depth == 1, "inner is not in outer");
    CHECK(!test_find(trace, "off", 0) && test_find(trace, "on", 0), "off is there");
}

/* ---- PROF_TRACE ---- */

static void set(const char *name, const char *value) {
#if defined(_WIN32)
    char line[2100];
    snprintf(line, sizeof line, "%s=%s", name, value ? value : "");
    _putenv(line);
#else
    if (value) setenv(name, value, 1);
    else unsetenv(name);
#endif
}

static void set_trace(const char *path) { set("PROF_TRACE", path); }

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
    EQUAL(prof_start_env(NULL), PROF_ERROR_FILE);   /* now, not when the program ends */
    EQUAL(errno, ENOENT);
    EQUAL(prof_stop_env(), PROF_OK);
    set_trace(TEST_OUT "/e.json");
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

/* What prof_start_env says of a variable's value. */
static prof_result says(const char *name, const char *value) {
    prof_result result;
    set(name, value);
    result = prof_start_env(NULL);
    set(name, NULL);
    if (result == PROF_OK) prof_stop_env();
    else if (strncmp(prof_strerror(result), name, strlen(name)) != 0) return PROF_ERROR_STATE;
    return result;
}

static void test_variables(void) {
    static const char *const wrong[][2] = {
        {"PROF_MODE", "nonsense"}, {"PROF_MODE", "tra"}, {"PROF_MODE", "trace,"},
        {"PROF_MEMORY", "1K"}, {"PROF_MEMORY", "64Q"}, {"PROF_MEMORY", "-1"},
        {"PROF_MEMORY", "99999999999999999999G"}, {"PROF_MAX_DEPTH", "0"},
        {"PROF_MAX_DEPTH", "256"}, {"PROF_MAX_THREADS", "x"}, {"PROF_CATEGORIES", "0x1ffffffff"},
        {"PROF_SHAPES", "yes"}, {"PROF_STACKS", "some"}, {"PROF_PROFILE_MEMORY", "2"}};
    static const char *const right[][2] = {
        {"PROF_MODE", "trace"}, {"PROF_MODE", "ring"}, {"PROF_MODE", "aggregate"},
        {"PROF_MODE", "stream"}, {"PROF_MODE", ""}, {"PROF_MEMORY", "512K"},
        {"PROF_MEMORY", "0x400000"}, {"PROF_MAX_DEPTH", "255"}, {"PROF_MAX_THREADS", "2"},
        {"PROF_CATEGORIES", "0xffffffff"}, {"PROF_SHAPES", "1"}, {"PROF_STACKS", "zones"},
        {"PROF_PROFILE_MEMORY", "1"}};
    set_trace(TEST_OUT "/variables.json");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        EQUAL(says(wrong[i][0], wrong[i][1]), PROF_ERROR_INVALID);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        EQUAL(says(right[i][0], right[i][1]), PROF_OK);
    EQUAL(strcmp(prof_strerror(PROF_ERROR_INVALID),
                 "an argument is NULL or out of range, or the trace is gone"), 0);
    set_trace(NULL);
}

/* FILE.raw is written while the session is open, and can be one after another. */
static void test_stream_by_name(void) {
    static const char *const path = TEST_OUT "/s.raw";
    long size = 0;
    for (int i = 0; i < 3; i++) {
        FILE *f;
        remove(path);
        set_trace(path);
        EQUAL(prof_start_env(NULL), PROF_OK);
        EQUAL(exists(path), true);
        for (int j = 0; j < 100000; j++) PROF_BLOCK("zone") (void)0;
        EQUAL(prof_stop_env(), PROF_OK);
        EQUAL((long long)prof_get_stats(NULL).recorded, 100000);
        EQUAL((long long)prof_get_stats(NULL).dropped, 0);
        f = fopen(path, "rb");
        if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
        if (f) fclose(f);
        CHECK(size > 12 * 100000, "%ld bytes", size);
    }
    set_trace(TEST_OUT "/none/s.raw");
    EQUAL(prof_start_env(NULL), PROF_ERROR_FILE);
    EQUAL(prof_stop_env(), PROF_OK);
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
    if (!child) {
        FILE *f = prof_stop_env() == PROF_OK ? fopen(path, "r") : NULL;
        _exit(!f || fgetc(f) != EOF);
    }
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
    RUN(test_variables);
    RUN(test_stream_by_name);
    RUN(test_environment_of_a_child);
    return test_end();
}
