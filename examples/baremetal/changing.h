/* A clock for prof.h that goes on over a change of rate, and over a sleep in which it stands.
   Included where prof.h's implementation is (prof.c), before it. CHANGING_CLOCK(): your counter of
   32 bits, which counts up, and after a sleep goes on where it stood, as DWT->CYCCNT.

       #define CHANGING_CLOCK() (*(volatile uint32_t *)0xE0001004)
       #include "changing.h"
       #define PROF_NOW() changing_now()

   desc.platform.ticks_per_second is the fastest rate, whose factor is 1; at a quarter of it the
   factor is 4. For 48 and 64 MHz take 192 MHz, and factors of 4 and 3. */
#ifndef CHANGING_H
#define CHANGING_H

#include <stdint.h>

static volatile uint32_t changing_before, changing_since, changing_factor = 1, changing_count;

/* An interrupt that changes the rate may come in the middle: then once more. */
static inline uint32_t changing_now(void) {
    uint32_t count, now;
    do {
        count = changing_count;
        now = changing_before + (CHANGING_CLOCK() - changing_since) * changing_factor;
    } while (count != changing_count);
    return now;
}

/* With interrupts masked, right after the change, or the sleep. slept: ticks of
   ticks_per_second that the counter stood, by the clock that woke the chip; a longer sleep in parts
   of less than half a wrap, with prof_tick() after each. */
void changing_clock(uint32_t factor, uint32_t slept);
void changing_clock(uint32_t factor, uint32_t slept) {
    uint32_t now = CHANGING_CLOCK();
    changing_before = changing_before + (now - changing_since) * changing_factor + slept;
    changing_since = now;
    changing_factor = factor;
    changing_count = changing_count + 1;
}

/* With interrupts masked, right after somebody else has set the counter, which said `said` before:
   a library that measures with it sets it to 0. Two readings do not tell that from a wrap. */
void changing_set(uint32_t said);
void changing_set(uint32_t said) {
    changing_before = changing_before + (said - changing_since) * changing_factor;
    changing_since = CHANGING_CLOCK();
    changing_count = changing_count + 1;
}

#endif
