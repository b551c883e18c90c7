/* Tasks without privileges, from Cortex-M3 up: `cpsid i` does nothing there, so that prof.h's slow
   path must ask the kernel. An SVC sets BASEPRI, which holds back all interrupts but those of
   priority 0: SVCall has that, and what records must not. Included where prof.h's implementation
   is (prof.c), before it. */
#ifndef UNPRIVILEGED_H
#define UNPRIVILEGED_H

#include <stdint.h>

#define UNPRIVILEGED_MASK 0x20u          /* interrupts of this priority or less wait */

/* For the kernel's SVC handler, which calls it with the value that the task passed in r0, and puts
   what it returns there. */
static inline uint32_t unprivileged_svc(uint32_t priority) {
    uint32_t before;
    __asm__ volatile("mrs %0, basepri\n\tmsr basepri, %1"
                     : "=&r"(before) : "r"(priority) : "memory");
    return before;
}

/* Sets BASEPRI, and returns what it was. */
static inline uint32_t unprivileged_mask(uint32_t priority) {
    register uint32_t r0 __asm__("r0") = priority;
    uint32_t control, exception;
    __asm__ volatile("mrs %0, control\n\tmrs %1, ipsr" : "=r"(control), "=r"(exception));
    if (exception || !(control & 1)) return unprivileged_svc(priority);
    __asm__ volatile("svc 80" : "+r"(r0) : : "memory");   /* any that the kernel leaves */
    return r0;
}

#define PROF_LOCK() unprivileged_mask(UNPRIVILEGED_MASK)
#define PROF_UNLOCK(state) unprivileged_mask((uint32_t)(state))
#define PROF_ONE_CORE 1
#define PROF_MAX_CONTEXTS 32             /* 16, and the chip's interrupts */
static inline uint32_t unprivileged_context(void) {
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    return exception;
}
#define PROF_CONTEXT() unprivileged_context()

#endif
