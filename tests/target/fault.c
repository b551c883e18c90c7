/* The last zones before a crash: a small ring, dumped to the UART by the HardFault handler. */
#include "prof.h"

#include "examples/baremetal/board.h"

void board_on_timer(void) {}

void board_on_fault(void) {
    prof_sink uart = { board_uart, NULL };
    board_exit(prof_dump(uart) == PROF_OK ? 0 : 1);
}

int main(void) {
    prof_desc desc = { 0 };
    desc.mode = PROF_MODE_RING;
    desc.keep = PROF_KEEP_RECORDS;
    desc.max_depth = 4;
    if (prof_start(&desc) != PROF_OK) return 2;
    for (int i = 0; i < 5000; i++) {
        PROF_BLOCK("step") {
            PROF_BLOCK("work") {}
            if (i % 10 == 0) prof_counter("step number", i);
        }
    }
    PROF_BEGIN("doomed");
    __asm__ volatile(".short 0xde00");       /* undefined */
    return 3;
}
