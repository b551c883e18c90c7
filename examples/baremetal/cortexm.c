/* Start-up, UART and semihosting for a Cortex-M, without any library. BOARD_MICROBIT: the BBC
   micro:bit (nRF51822, Cortex-M0, 16 KB of RAM); BOARD_AN521: ARM's MPS2 with two Cortex-M33; else
   the MPS2 with a Cortex-M3, M4 or M7. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

extern uint32_t image_data[], data_start[], data_end[], bss_start[], bss_end[];
void stack_top(void);                    /* an address, like the ones above */
void board_reset(void);
int main(void);

/* ---- semihosting: the debugger, or QEMU, answers ---- */

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5, SYS_EXIT_EXTENDED = 0x20 };

static uintptr_t semihost(uintptr_t call, const uintptr_t *arguments) {
    register uintptr_t r0 __asm__("r0") = call;
    register const uintptr_t *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_exit(int status) {
    uintptr_t arguments[2] = { 0x20026, (uintptr_t)status };   /* the application's own exit */
    for (;;) semihost(SYS_EXIT_EXTENDED, arguments);
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

/* ---- UART and clock ---- */

#ifdef BOARD_MICROBIT
static void board_open(void) {
    REGISTER(0x40002500) = 4;                                  /* UART: ENABLE */
    REGISTER(0x40002008) = 1;                                  /* STARTTX */
    REGISTER(0x40008508) = 3;                                  /* TIMER0: BITMODE, 32 bits */
    REGISTER(0x40008510) = 0;                                  /* PRESCALER: 16 MHz */
    REGISTER(0x40008000) = 1;                                  /* START */
}

static void uart_put(uint8_t byte) {
    REGISTER(0x4000211C) = 0;                                  /* TXDRDY */
    REGISTER(0x4000251C) = byte;
    while (!REGISTER(0x4000211C)) {}
}
#else
#  ifdef BOARD_AN521
enum { UART = 0x50200000 };
#  else
enum { UART = 0x40004000 };
#  endif
static void board_open(void) {
    REGISTER(UART + 16) = 16;                                  /* BAUDDIV */
    REGISTER(UART + 8) = 1;                                    /* transmit */
}

static void uart_put(uint8_t byte) {
    while (REGISTER(UART + 4) & 1) {}                          /* buffer full */
    REGISTER(UART) = byte;
}
#endif

bool board_uart(void *user, const void *data, size_t size) {
    const uint8_t *bytes = (const uint8_t *)data;
    (void)user;
    for (size_t i = 0; i < size; i++) uart_put(bytes[i]);
    return true;
}

/* ---- SysTick ---- */

void board_timer(uint32_t ticks) {
    REGISTER(0xE000E010) = 0;
    REGISTER(0xE000E014) = ticks - 1;
    REGISTER(0xE000E018) = 0;
    if (ticks) REGISTER(0xE000E010) = 7;                       /* from the processor's clock */
}

/* ---- start ---- */

void board_reset(void) {
    const uint32_t *from = image_data;
    for (uint32_t *to = data_start; to < data_end;) *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
#ifdef __ARM_FP
    REGISTER(0xE000ED88) |= 0xFu << 20;                        /* the floating-point unit on */
    __asm__ volatile("dsb\n\tisb");
#endif
    board_open();
    board_exit(main());
}

static void fault(void) { board_exit(99); }
__attribute__((weak)) void board_on_fault(void) { board_exit(98); }
__attribute__((weak)) void board_on_svc(void) { fault(); }

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    stack_top, board_reset, fault, board_on_fault, fault, fault, fault,
    [11] = board_on_svc, [14] = fault, [15] = board_on_timer };

/* ---- the second core: of ARM's SSE-200, which waits until it is let go ---- */

#ifdef BOARD_AN521
static uint64_t other_stack[256];

void board_start_core(void (*entry)(void)) {
    static void (*others[16])(void) __attribute__((aligned(128)));
    for (int i = 0; i < 16; i++) others[i] = vectors[i];
    others[0] = (void (*)(void))(uintptr_t)(other_stack + 256);
    others[1] = entry;
    __asm__ volatile("dsb" : : : "memory");
    REGISTER(0x50021114) = (uint32_t)(uintptr_t)others;        /* INITSVTOR1 */
    REGISTER(0x50021118) = 0;                                  /* CPUWAIT */
}
#endif
