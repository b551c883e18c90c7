/* core.h and an interrupt at pseudo-random points of zones, then at each instruction of what comes
   first in a session and of begin and end. Nothing may be lost, torn or at another depth: the exit
   status is 0, and the dump on the UART decodes. tools/dev/embedded.sh also builds it with a core.h
   that lacks one of its protections, which must fail. */
#include "examples/baremetal/board.h"
#ifdef ONE_ROW                           /* as where nobody tells which interrupt runs */
#  define PROF_CONTEXT() 0u
#endif
#define PROF_NOW() (*(volatile uint32_t *)BOARD_CLOCK_AT)
#define PROF_IMPLEMENTATION
#include "examples/baremetal/core.h"

#include "core_dump.h"

enum { ROUNDS = 6000, SWEEP = 800 };

static volatile uint32_t interrupts;
static volatile bool once;
static uint32_t noise = 1;

void board_on_timer(void) {
    if (once) board_timer(0);
    prof_tick();
    PROF_BLOCK("interrupt") {
        PROF_BLOCK("Inside") interrupts = interrupts + 1;
    }
    noise = noise >> 1 ^ ((noise & 1) ? 0xB400 : 0);
    if (!once) board_timer(8 + (noise & 15));
}

static void round(void) {
    PROF_BEGIN("a");
    PROF_BLOCK("Bb") {}
    PROF_END();
}

/* So many zones, none that is not whole or not well; of the last ones that were found those with a
   capital are at depth 1 of their row, the others at depth 0. */
static bool right(uint32_t zones) {
    if (find(0) != PROF_OK || found.odd || found.zone_count != zones) return false;
    if (found.counts[RECORDED] != zones) return false;
    for (int i = FULL; i < COUNTS; i++)
        if (found.counts[i]) return false;
    for (uint32_t i = 0; i < zones && i < ZONES; i++) {
        const found_zone *z = found.zones + i;
        const char *name = found.names[z->site % SITES];
        if (z->start > z->end || (z->end - z->start) >> 31) return false;
#ifndef ONE_ROW
        if (z->depth != (*name < 'a')) return false;
#else
        (void)name;
#endif
    }
    return true;
}

/* Two instructions for each two of n, and one more if it is odd. */
static void wait(uint32_t n) {
    uint32_t pairs = n / 2 + 1;
    __asm__ volatile(".syntax unified\n1:\tsubs %0, #1\n\tbne 1b" : "+l"(pairs) : : "cc");
    if (n & 1) __asm__ volatile("nop");
}

/* How often an interrupt went wrong. A first one leaves its rows in the frames. */
static uint32_t wrong_sweep(void) {
    uint32_t wrong = 0;
    once = true;
    for (uint32_t n = 0; n < SWEEP; n++) {
        uint32_t before = interrupts;
        if (prof_start(NULL) != PROF_OK) return 1;
        *(volatile uint32_t *)0xE000ED04 = 1u << 26;   /* ICSR: SysTick is pending */
        while (interrupts == before) {}
        before++;
        board_timer(SWEEP / 40);         /* an instruction is 1 ns, a tick 40 */
        wait(n);
        round();
        round();
        while (interrupts == before) {}
        prof_stop();
        wrong += !right(8);
    }
    return wrong;
}

int main(void) {
    const prof_sink uart = { board_uart, NULL };
    if (prof_start(NULL) != PROF_OK) return 1;
    board_timer(10);
    for (uint32_t i = 0; i < ROUNDS; i++) round();
    board_timer(0);
    prof_stop();
    if (interrupts < 800) return 2;
    if (!right(2 * ROUNDS + 2 * interrupts)) return 3;
    if (prof_dump(uart) != PROF_OK) return 4;
    return wrong_sweep() ? 5 : 0;
}
