/* QEMU has no cycle counter: DWT->CYCCNT reads as 0. A session by it would have no times. */
#define PROF_IMPLEMENTATION
#include "prof.h"

#include "examples/baremetal/board.h"

void board_on_timer(void) {}

int main(void) {
    prof_desc desc = { 0 };
    return prof_start(&desc) == PROF_ERROR_UNSUPPORTED ? 0 : 1;
}
