/* PROF_CORE and an interrupt at pseudo-random points of zones, then at each instruction of what
   comes first in a session and of begin and end. Nothing may be lost or torn: the exit status is 0,
   and the dump on the UART decodes. tools/dev/embedded.sh also builds it with a prof.h that takes a
   record's place unprotected, which must fail. */
#define PROF_CORE
#define PROF_IMPLEMENTATION
#include "examples/baremetal/prof.c"

enum { ROUNDS = 6000, SWEEP = 1500 };

static volatile uint32_t interrupts;
static volatile bool once;
static uint32_t noise = 1;

void board_on_timer(void) {
    if (once) board_timer(0);
    PROF_BLOCK("interrupt") {
        PROF_BLOCK("inside") interrupts = interrupts + 1;
    }
    noise = noise >> 1 ^ ((noise & 1) ? 0xB400 : 0);
    if (!once) board_timer(8 + (noise & 15));
}

static void round(void) {
    PROF_BEGIN("a");
    PROF_BLOCK("b") {}
    PROF_END();
}

static bool right(uint32_t zones) {
    prof_stats s = prof_get_stats();
    return s.recorded == zones && !s.dropped && !s.unbalanced && !s.healed && !s.unfinished &&
           !s.clock_steps;
}

/* Two instructions for each two of n, and one more if it is odd. */
static void wait(uint32_t n) {
    uint32_t pairs = n / 2 + 1;
    __asm__ volatile(".syntax unified\n1:\tsubs %0, #1\n\tbne 1b" : "+l"(pairs) : : "cc");
    if (n & 1) __asm__ volatile("nop");
}

/* How often one interrupt went wrong. */
static uint32_t wrong_sweep(void) {
    uint32_t wrong = 0;
    once = true;
    for (uint32_t n = 0; n < SWEEP; n++) {
        uint32_t before = interrupts;
        if (prof_start(NULL) != PROF_OK) return 1;
        board_timer(SWEEP / 40);         /* an instruction is 1 ns, a tick 40 */
        wait(n);
        round();
        round();
        while (interrupts == before) {}
        prof_stop();
        wrong += !right(6);
    }
    return wrong;
}

int main(void) {
    const prof_sink uart = { board_uart, NULL };
    uint32_t wrong;
    if (prof_start(NULL) != PROF_OK) return 1;
    board_timer(10);
    for (uint32_t i = 0; i < ROUNDS; i++) round();
    board_timer(0);
    prof_stop();
    if (interrupts < 800) return 2;
    if (!right(2 * ROUNDS + 2 * interrupts)) return 3;
    if (prof_dump(uart) != PROF_OK) return 4;
    wrong = wrong_sweep();
    return wrong ? 5 : 0;
}
