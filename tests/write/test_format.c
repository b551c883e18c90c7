/* portable */
/* Figures as the table prints them, against Python's. */
#include "../test.h"
#include "../../tools/prof/library.h"
#include "../inside.h"
#include "format_vectors.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_format_time(void) {
    char text[64];
    size_t i;
    for (i = 0; i < COUNT(time_rows); i++) {
        size_t length = format_time(text, sizeof text, time_rows[i].us);
        SAME_TEXT(text, time_rows[i].text);
        EQUAL(length, strlen(text));
    }
}

static void test_format_share(void) {
    char text[64];
    size_t i;
    for (i = 0; i < COUNT(share_rows); i++) {
        size_t length =
            format_share(text, sizeof text, share_rows[i].part, share_rows[i].total);
        SAME_TEXT(text, share_rows[i].text);
        EQUAL(length, strlen(text));
    }
}

static void test_format_memory(void) {
    char text[64];
    size_t i;
    for (i = 0; i < COUNT(memory_rows); i++) {
        size_t length = format_memory(text, sizeof text, memory_rows[i].bytes);
        SAME_TEXT(text, memory_rows[i].text);
        EQUAL(length, strlen(text));
    }
}

/* Half-way figures go to the even digit. */
static void test_format_ties(void) {
    static const time_row times[] = {{0.0625, "0.062us"}, {0.1875, "0.188us"}, {2.0625, "2.062us"},
                                     {-0.0625, "-0.062us"}, {1062.5, "1.062ms"}};
    static const share_row shares[] = {{1, 32, "3.12%"}, {3, 32, "9.38%"}};
    static const memory_row memory[] = {{1152, "1.12 KB"}, {1408, "1.38 KB"}, {-1152, "-1.12 KB"}};
    char text[64];
    size_t i;
    for (i = 0; i < COUNT(times); i++) {
        format_time(text, sizeof text, times[i].us);
        SAME_TEXT(text, times[i].text);
    }
    for (i = 0; i < COUNT(shares); i++) {
        format_share(text, sizeof text, shares[i].part, shares[i].total);
        SAME_TEXT(text, shares[i].text);
    }
    for (i = 0; i < COUNT(memory); i++) {
        format_memory(text, sizeof text, memory[i].bytes);
        SAME_TEXT(text, memory[i].text);
    }
}

/* What is in text after a call with that size: the first size - 1 letters, a NUL, nothing more. */
static void check_cut(const char *text, size_t size, const char *whole) {
    size_t length = strlen(whole), kept = size > length ? length : size ? size - 1 : 0, i;
    CHECK(memcmp(text, whole, kept) == 0, "size %u of '%s'", (unsigned)size, whole);
    if (size) EQUAL(text[kept], 0);
    for (i = size ? kept + 1 : 0; i < 64; i++) EQUAL(text[i], '#');
}

static void test_format_cut(void) {
    char text[64];
    size_t size;
    for (size = 0; size <= 10; size++) {
        memset(text, '#', sizeof text);
        format_time(text, size, 12345.0);
        PASS_ON(check_cut(text, size, "12.345ms"));
        memset(text, '#', sizeof text);
        format_share(text, size, 1, 3);
        PASS_ON(check_cut(text, size, "33.33%"));
        memset(text, '#', sizeof text);
        format_memory(text, size, 1536);
        PASS_ON(check_cut(text, size, "1.50 KB"));
    }
}

/* Figures out of all bounds still end in a text that fits. */
static void test_format_extremes(void) {
    static const double odd[] = {1e300, -1e300, 1e18, -1.0, -0.0, 9.2233720368547758e18, 1e-300};
    char text[64];
    size_t i;
    for (i = 0; i < COUNT(odd); i++) {
        memset(text, '#', sizeof text);
        CHECK(format_time(text, sizeof text, odd[i]) > 0, "time %g", odd[i]);
        CHECK(memchr(text, 0, sizeof text) != NULL, "time %g has no end", odd[i]);
        memset(text, '#', sizeof text);
        CHECK(format_share(text, sizeof text, odd[i], 3) > 0, "share %g", odd[i]);
        CHECK(memchr(text, 0, sizeof text) != NULL, "share %g has no end", odd[i]);
    }
    CHECK(format_memory(text, sizeof text, INT64_MIN) > 0, "INT64_MIN");
    SAME_TEXT(text, "-8589934592.00 GB");
    format_memory(text, sizeof text, INT64_MAX);
    SAME_TEXT(text, "8589934592.00 GB");
}

/* The doubles that need no floating point unit round as the machine's do: to nearest, ties to even,
   and a tie with more behind it is none. */
static void test_format_rounding(void) {
    const uint64_t one = (uint64_t)1 << 52;
    uint64_t m, low;
    int shift;
    for (shift = 1; shift <= 10; shift++)
        for (m = one; m < one + 4; m++)
            for (low = 0; low < (uint64_t)1 << shift; low++) {
                uint64_t n = m << shift | low;
                inside_real r = inside_real_round(n, 0);
                CHECK((double)r.m * (double)((uint64_t)1 << r.e) == (double)n, "%llu: %llu * 2^%d",
                      (unsigned long long)n, (unsigned long long)r.m, r.e);
            }
    for (m = one; m < one + 4; m++) {
        EQUAL(inside_real_round(m << 11 | 1u << 10 | 1, 0).m, m + 1);
        EQUAL(inside_real_round(m << 11 | 1u << 10, 0).m, m + (m & 1));
        EQUAL(inside_real_round(m << 11 | ((1u << 10) - 1), 0).m, m);
    }
}

int main(void) {
    RUN(test_format_time);
    RUN(test_format_share);
    RUN(test_format_memory);
    RUN(test_format_ties);
    RUN(test_format_rounding);
    RUN(test_format_cut);
    RUN(test_format_extremes);
    return test_end();
}
