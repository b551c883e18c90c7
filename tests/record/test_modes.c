/* Random sequences of calls against a model: trace, ring, streams and sums say the same of them. */
#include "sequence.h"

static uint8_t calls[4000];

static void random_calls(size_t size, bool deep) {
    for (size_t i = 0; i < size; i++) {
        calls[i] = (uint8_t)test_random(256);
        if (deep && test_random(3)) calls[i] &= 0xfb;   /* more begins than ends */
    }
}

static void test_modes_agree(void) {
    for (int round = 0; round < 200 && !test_bad; round++) {
        size_t size = test_random(round % 10 ? 300 : sizeof calls);
        test_seed = (uint32_t)round * 2654435761u + 7;
        random_calls(size, round % 3 == 0);
        check_sequence(calls, size, NULL);
        if (test_bad) test_say(" (round %d)", round);
    }
}

static void test_small_arenas(void) {
    for (int round = 0; round < 60 && !test_bad; round++) {
        test_seed = (uint32_t)round * 2654435761u + 9;
        random_calls(sizeof calls, round % 2);
        check_small_arena(calls, sizeof calls, 4000 + test_random(100000));
        if (test_bad) test_say(" (round %d)", round);
    }
}

int main(void) {
    RUN(test_modes_agree);
    RUN(test_small_arenas);
    return test_end();
}
