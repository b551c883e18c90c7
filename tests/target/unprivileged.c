/* race.c in a task without privileges, under an MPU: its code, its memory with that of prof.h, and
   the peripherals are allowed, the kernel's memory is not. The exit status is race.c's; 6: there
   are privileges; 98: a fault. TRESPASS: the task touches the kernel's memory, which must fault. */
#include "examples/baremetal/board.h"
#include "examples/baremetal/unprivileged.h"

static void timer(uint32_t ticks);

#define main race
#define board_timer timer
#include "race.c"
#undef main
#undef board_timer

enum { SVC_TIMER = 1, SVC_EXIT = 2 };

#define AT(address) (*(volatile uint32_t *)(address))

static volatile uint32_t of_kernel[64] __attribute__((aligned(256)));

static uint32_t control(void) {
    uint32_t value;
    __asm__ volatile("mrs %0, control" : "=r"(value));
    return value;
}

/* ---- The kernel ---- */

uint32_t *on_svc(uint32_t *frame);

/* r0 to r3, r12, lr, pc: the instruction before pc has the number. */
__attribute__((used)) uint32_t *on_svc(uint32_t *frame) {
    uint8_t number = *(const uint8_t *)(uintptr_t)(frame[6] - 2);
    if (number == SVC_TIMER) {
        board_timer(frame[0]);
        AT(0xE000ED04) = 1u << 25;       /* one that came meanwhile would start the timer anew */
    }
    if (number == SVC_EXIT) board_exit((int)frame[0]);
    if (number > SVC_EXIT) frame[0] = unprivileged_svc(frame[0]);
    return frame;
}

__attribute__((naked)) void board_on_svc(void) {
    __asm__ volatile("mrs r0, psp\n\tb on_svc");
}

/* From address on, 2 to the power of bits bytes; access: ARM's AP and XN. */
static void region(uint32_t number, uint32_t address, uint32_t bits, uint32_t access) {
    AT(0xE000ED98) = number;                                   /* RNR */
    AT(0xE000ED9C) = address;                                  /* RBAR */
    AT(0xE000EDA0) = access << 24 | (bits - 1) << 1 | 1;       /* RASR */
}

enum { KERNEL_ONLY = 0x11, ALL_WRITE = 0x13, ALL_RUN = 0x06 };

static void protect(void) {
    region(0, 0, 18, ALL_RUN);
    region(1, 0x20000000, 22, ALL_WRITE);
    region(2, 0x40000000, 18, ALL_WRITE);                      /* the UART, prof.h's clock */
    region(3, (uint32_t)(uintptr_t)of_kernel, 8, KERNEL_ONLY); /* the highest number is in force */
    AT(0xE000ED94) = 5;                                        /* on; the kernel may do anything */
    AT(0xE000ED20) = UNPRIVILEGED_MASK << 24;                  /* SysTick may be held back */
    __asm__ volatile("dsb\n\tisb");
}

/* ---- The task ---- */

static void call(uint32_t value, bool end) {
    register uint32_t r0 __asm__("r0") = value;
    if (end) __asm__ volatile("svc 2" : "+r"(r0) : : "memory");
    else __asm__ volatile("svc 1" : "+r"(r0) : : "memory");
}

static void timer(uint32_t ticks) {
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    if (exception) board_timer(ticks);
    else call(ticks, false);
}

static void task(void) {
#ifdef TRESPASS
    call(of_kernel[0], true);
#endif
    call(control() & 1 ? (uint32_t)race() : 6, true);
}

int main(void) {
    static uint64_t stack[1024];
    of_kernel[0] = 7;
    protect();
    __asm__ volatile("msr psp, %0\n\tmsr control, %1\n\tisb\n\tbx %2"
                     : : "r"(stack + 1024), "r"(3), "r"(task) : "memory");
    return 7;
}
