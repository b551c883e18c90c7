/* What the application needs of a board, and of the emulator that stands in for one. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A clock that counts up: QEMU has no cycle counter for Cortex-M. Elsewhere prof.h has its own. */
#if defined(BOARD_MICROBIT)
#  define BOARD_HZ 16000000u
static inline uint32_t board_clock(void) {                     /* TIMER0, which board_open sets */
    *(volatile uint32_t *)0x40008040 = 1;                      /* CAPTURE[0] */
    return *(volatile uint32_t *)0x40008540;
}
#  define BOARD_CLOCK 1
#elif defined(BOARD_AN521)
#  define BOARD_HZ 25000000u
#  define BOARD_CLOCK_AT 0x50302018
void board_start_core(void (*entry)(void));    /* core 1: its stack has 2 KB, it must not return */
#elif defined(__arm__)
#  define BOARD_HZ 25000000u
#  define BOARD_CLOCK_AT 0x40028018      /* a timer of the MPS2 */
#else
#  define BOARD_HZ 1000000000u           /* of `cycle`, with QEMU's -icount shift=0 */
#endif

#ifdef __arm__
/* Interrupts off, and as they were: for PROF_LOCK() and PROF_UNLOCK(). */
static inline uintptr_t board_mask(void) {
    uintptr_t state;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(state) : : "memory");
    return state;
}
static inline void board_unmask(uintptr_t state) {
    __asm__ volatile("msr primask, %0" : : "r"(state) : "memory");
}
#endif

/* With FAKE_CLOCK the application's: on targets PROF_NOW() is it, elsewhere desc.platform.now. */
uint64_t fake_clock(void *user);

/* Bytes to the UART. A prof_sink's write. */
bool board_uart(void *user, const void *data, size_t size);

/* A file on the debugger's side, by semihosting. board_file is a prof_sink's write. */
bool board_file_open(const char *name);
bool board_file(void *user, const void *data, size_t size);
bool board_file_close(void);

/* Ends the program. */
void board_exit(int status);

/* On Cortex-M: a HardFault; the application may have one of its own. */
void board_on_fault(void);
/* The same: an SVC. */
void board_on_svc(void);

/* Calls board_on_timer, which the application has, from an interrupt, every so many ticks of the
   processor's clock; 0: never again. */
void board_timer(uint32_t ticks);
void board_on_timer(void);

#endif
