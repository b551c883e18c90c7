/* UART, timer, files and exit for QEMU's RISC-V machine "virt", without any library. */
#include "board.h"

#define REGISTER8(address) (*(volatile uint8_t *)(uintptr_t)(address))
#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

uintptr_t semihost(uintptr_t call, const uintptr_t *arguments);
void board_start(void);
void riscv_trap(uintptr_t cause);
int main(void);

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5 };

void board_exit(int status) {            /* the test device of the machine */
    REGISTER(0x100000) = status ? (uint32_t)status << 16 | 0x3333 : 0x5555;
    for (;;) {}
}

static uintptr_t file;

bool board_file_open(const char *name) {
    uintptr_t arguments[3] = { (uintptr_t)name, 5, 0 };        /* 5: "wb" */
    while (name[arguments[2]]) arguments[2]++;
    file = semihost(SYS_OPEN, arguments);
    return file != (uintptr_t)-1;
}

bool board_file(void *user, const void *data, size_t size) {
    uintptr_t arguments[3] = { file, (uintptr_t)data, size };
    (void)user;
    return semihost(SYS_WRITE, arguments) == 0;                /* bytes that were not written */
}

bool board_file_close(void) {
    uintptr_t arguments[1] = { file };
    return semihost(SYS_CLOSE, arguments) == 0;
}

bool board_uart(void *user, const void *data, size_t size) {
    const uint8_t *bytes = (const uint8_t *)data;
    (void)user;
    for (size_t i = 0; i < size; i++) {
        while (!(REGISTER8(0x10000005) & 0x20)) {}             /* a 16550's transmitter is full */
        REGISTER8(0x10000000) = bytes[i];
    }
    return true;
}

/* ---- the timer of the core-local interruptor, 10 MHz ---- */

static uint32_t period;

static void timer_next(void) {
    uint64_t next = (uint64_t)REGISTER(0x200BFFC) << 32 | REGISTER(0x200BFF8);
    next += period;
    REGISTER(0x2004004) = UINT32_MAX;                          /* no early interrupt between */
    REGISTER(0x2004000) = (uint32_t)next;
    REGISTER(0x2004004) = (uint32_t)(next >> 32);
}

void board_timer(uint32_t ticks) {
    period = ticks;
    __asm__ volatile("csrc mie, %0" : : "r"(1u << 7));
    if (!ticks) return;
    timer_next();
    __asm__ volatile("csrs mie, %0\n\tcsrsi mstatus, 8" : : "r"(1u << 7) : "memory");
}

void riscv_trap(uintptr_t cause) {
    uintptr_t timer = (uintptr_t)1 << (sizeof timer * 8 - 1) | 7;
    if (cause != timer) board_exit(99);
    timer_next();
    board_on_timer();
}

void board_start(void) { board_exit(main()); }
