/* Raw streams for the fuzzers: blocks get their check sum, so that what is in them is read. */
#ifndef MEND_H
#define MEND_H

#include <stddef.h>
#include <stdint.h>

/* Fletcher-64 as "The raw stream" in prof.h tells it, written again. */
static void mend(uint32_t *words, size_t count) {
    uint64_t a = 0, b = 0;
    words[4] = words[5] = 0;
    for (size_t i = 1; i < count; i++) {
        a = (a + words[i]) % 0xffffffffu;
        b = (b + a) % 0xffffffffu;
    }
    words[4] = (uint32_t)a;
    words[5] = (uint32_t)b;
}

static void mend_all(uint32_t *words, size_t count) {
    for (size_t at = 0; at + 6 <= count;) {
        size_t size = 6 + words[at + 2] / 4;
        if (words[at] != 0x50524f46u || words[at + 2] > 65536 || size > count - at) {
            at++;
            continue;
        }
        mend(words + at, size);
        at += size;
    }
}

#endif
