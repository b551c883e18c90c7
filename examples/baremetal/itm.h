/* A prof_sink to the SWO pin of Cortex-M3 and up: words through a stimulus port of the ITM, which
   the debug probe switches on. A file of what SWO brings, or the probe's TCP port:

       desc.stream = (prof_sink){itm_write, NULL};
       prof decode --swo --connect localhost:3443 --follow -o trace.json

   It waits for the pin, at most ITM_PATIENCE looks a word, then gives up the rest of the block,
   which prof decode counts as missing. Without a probe it takes nothing, and returns at once. */
#ifndef ITM_H
#define ITM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef ITM_PORT
#  define ITM_PORT 0u
#endif
#ifndef ITM_PATIENCE
#  define ITM_PATIENCE 100000u
#endif
#ifndef ITM_READY                        /* a test has others */
#  define ITM_STIMULUS (0xE0000000u + 4 * ITM_PORT)
#  define ITM_ON() \
    ((*(volatile uint32_t *)0xE0000E80u & 1) && (*(volatile uint32_t *)0xE0000E00u >> ITM_PORT & 1))
#  define ITM_READY() (*(volatile uint32_t *)ITM_STIMULUS & 1)
#  define ITM_WORD(word) (*(volatile uint32_t *)ITM_STIMULUS = (word))
#  define ITM_BYTE(byte) (*(volatile uint8_t *)ITM_STIMULUS = (byte))
#endif

static inline bool itm_wait(void) {
    for (uint32_t i = 0; i < ITM_PATIENCE; i++)
        if (ITM_READY()) return true;
    return false;
}

static inline bool itm_write(void *user, const void *data, size_t size) {
    const unsigned char *from = (const unsigned char *)data;
    (void)user;
    if (!ITM_ON()) return true;
    for (; size >= 4; size -= 4, from += 4) {
        uint32_t word = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16;
        word |= (uint32_t)from[3] << 24;
        if (!itm_wait()) return true;
        ITM_WORD(word);
    }
    for (; size; size--) {
        if (!itm_wait()) return true;
        ITM_BYTE(*from++);
    }
    return true;
}

#endif
