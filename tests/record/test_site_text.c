/* portable */
/* Names of marks that PROF_SITE_TEXT has no room for. */
#define PROF_MAX_SITES 8
#define PROF_SITE_TEXT 256
#include "../test.h"

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG HUNDRED HUNDRED HUNDRED HUNDRED
#define MARK(name) do { PROF_BEGIN(name); test_time.tick += 10; PROF_END(); } while (0)
#define MARK_EIGHT(name) \
    do { \
        MARK(name "a"); \
        MARK(name "b"); \
        MARK(name "c"); \
        MARK(name "d"); \
        MARK(name "e"); \
        MARK(name "f"); \
        MARK(name "g"); \
        MARK(name "h"); \
    } while (0)
#define MARK_ALL() do { MARK_EIGHT("s"); MARK_EIGHT(LONG); MARK_EIGHT("t" LONG); } while (0)

/* All marks are on one line, so that names are compared wherever they meet in the index. A name
   longer than the whole text must not be compared past its end: asan sees it. */
static void test_names_longer_than_the_text(void) {
    prof_trace *trace;
    prof_desc desc = test_desc();
    int i;
    for (i = 0; i < 2; i++) {
        EQUAL(prof_start(&desc), PROF_OK);
        MARK_ALL();
        trace = prof_stop();
        PASS_ON(test_tree(trace));
        EQUAL(prof_get_stats(NULL).recorded, 24);
        EQUAL(prof_get_stats(NULL).others, 16);
        CHECK(test_find(trace, "sa", 0) && test_find(trace, "sh", 0), "a short name is missing");
        CHECK(test_find(trace, "(others)", 15) != NULL, "a long one is missing");
    }
}

int main(void) {
    RUN(test_names_longer_than_the_text);
    return test_end();
}
