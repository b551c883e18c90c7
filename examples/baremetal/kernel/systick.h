/* A clock for a Cortex-M whose kernel has SysTick, and that has no other: a Cortex-M0 with an RTOS.
   In the file that has PROF_IMPLEMENTATION, before prof.h:
     #include "examples/baremetal/kernel/systick.h"
     #define PROF_NOW() prof_systick()
   It is SysTick's counter, with its wraps counted here: prof_tick() must be called in each tick of
   the kernel (freertos.h: define PROF_KERNEL_TICKS 1). desc.platform.ticks_per_second is the rate
   of SysTick's clock, most often the processor's.
   - Where interrupts stay masked for more than a tick, that tick is missing.
   - COUNTFLAG of SYST_CSR is taken: nobody else may read that register, a tickless idle neither,
     which changes SYST_RVR besides. */
#ifndef PROF_KERNEL_SYSTICK_H
#define PROF_KERNEL_SYSTICK_H

#include <stdint.h>

#define PROF_SYSTICK(offset) (*(volatile uint32_t *)(uintptr_t)(0xE000E010u + (offset)))

static inline uint32_t prof_systick(void) {
    static uint32_t before;              /* ticks of the clock until SysTick's last wrap */
    uint32_t reload = PROF_SYSTICK(4), left, now, was;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(was) : : "memory");
    left = PROF_SYSTICK(8);
    if (PROF_SYSTICK(0) & 1u << 16) {    /* it wrapped since the last call: that clears the flag */
        before += reload + 1;
        left = PROF_SYSTICK(8);
    }
    now = before + (reload - left);
    __asm__ volatile("msr primask, %0" : : "r"(was) : "memory");
    return now;
}
#endif
