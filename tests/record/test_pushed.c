/* portable */
/* Names given to prof_push, at addresses where other texts stood before: the recorder remembers
   what stood where, and must see that it changed. */
#include "../test.h"

enum { NAMES = 400, LONGEST = 80, ROUNDS = 5, BUFFERS = 3 };
static char texts[NAMES][LONGEST + 1];
static int pushed[NAMES];
static uint64_t memory[5 << 14];

/* Of every length: "", "0", "00" ...; then pairs that differ only in their last byte. */
static void make_texts(void) {
    for (int i = 0; i < NAMES; i++) {
        int length = i <= LONGEST ? i : 1 + (i / 2) % LONGEST;
        memset(texts[i], i <= LONGEST ? '0' : 'a' + i / 2 / LONGEST, (size_t)length);
        if (i > LONGEST) texts[i][length - 1] = (char)('A' + i % 2);
        texts[i][length] = 0;
    }
}

static void push(const char *name, int number) {
    prof_push(name);
    test_time.tick++;
    prof_pop();
    pushed[number]++;
}

static int pushes_of(const char *name) {
    int sum = 0;
    for (int i = 0; i < NAMES; i++)
        if (!strcmp(texts[i], name)) sum += pushed[i];
    return sum;
}

/* Is each name there as often as it was pushed? */
static void check_names(const prof_trace *trace) {
    static prof_average averages[NAMES];
    size_t count = prof_key_averages(trace, NULL, averages, NAMES), i;
    int all = 0, sum = 0;
    prof_stats stats = prof_get_stats(NULL);
    CHECK(count <= NAMES, "%u names", (unsigned)count);
    EQUAL(stats.dropped + stats.others, 0);
    for (i = 0; i < NAMES; i++) all += pushed[i];
    for (i = 0; i < count; i++) {
        const char *name = averages[i].key;
        CHECK(averages[i].count == (uint64_t)pushes_of(name), "\"%s\": %u times", name,
              (unsigned)averages[i].count);
        sum += (int)averages[i].count;
    }
    EQUAL(sum, all);
}

static void start(void) {
    prof_desc desc = test_desc();
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    memset(pushed, 0, sizeof pushed);
    EQUAL(prof_start(&desc), PROF_OK);
}

/* Each text in each of three buffers, and where it lies itself, in another order each round. */
static void push_all(unsigned round) {
    static char buffers[BUFFERS][LONGEST + 1];
    for (unsigned i = 0; i < NAMES * BUFFERS; i++) {
        int number = (int)((i * (2 * round + 1) + round) % NAMES);
        char *buffer = buffers[i % BUFFERS];
        memcpy(buffer, texts[number], sizeof texts[number]);
        push(buffer, number);
        if (i % 2) push(buffer, number);
        push(texts[number], number);
    }
}

static void test_pushed_again(void) {
    make_texts();
    PASS_ON(start());
    for (unsigned round = 0; round < ROUNDS; round++) push_all(round);
    check_names(prof_stop());
}

/* A session in the memory of the one before, whose names have other numbers. */
static void test_pushed_next_session(void) {
    make_texts();
    for (int i = 0; i < 4; i++) {
        PASS_ON(start());
        for (int k = 0; k < 160; k++) push(texts[(k + 40 * i) % 160], (k + 40 * i) % 160);
        for (int k = 0; k < 160; k++) push(texts[k], k);
        PASS_ON(check_names(prof_stop()));
    }
}

/* One text at many addresses, and NULL, is one name. */
static void test_pushed_elsewhere(void) {
    static char same[64][8];
    prof_average average[2];
    prof_trace *trace;
    PASS_ON(start());
    for (int i = 0; i < 256; i++) {
        strcpy(same[i % 64], "(null)");
        prof_push(i % 3 ? same[i % 64] : NULL);
        prof_pop();
    }
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, NULL, average, 2), 1);
    EQUAL(average[0].count, 256);
}

int main(void) {
    RUN(test_pushed_again);
    RUN(test_pushed_next_session);
    RUN(test_pushed_elsewhere);
    return test_end();
}
