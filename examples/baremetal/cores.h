/* Two cores that record at the same time: what tells prof.h who records, and keeps the cores out of
   each other's way. Included where prof.h's implementation is (prof.c), before it. Here the two
   Cortex-M33 of ARM's SSE-200; elsewhere another register tells the core, and where ldrex does not
   work between cores (RP2040) a hardware spinlock takes the place of lock_take. */
#ifndef CORES_H
#define CORES_H

#include <stdint.h>

/* 0 or 1: the register CPUID of the block CPU_IDENTITY, which each core sees as its own. */
static inline uint32_t this_core(void) { return *(volatile uint32_t *)0x5001F000; }

/* A row for each core, and one for its interrupts: 0 and 1, 2 and 3. */
static inline uint32_t cores_context(void) {
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    return this_core() + (exception ? 2 : 0);
}

extern volatile uint32_t cores_owner;    /* the core that holds the lock, plus 1; 0: none */

static inline void lock_take(uint32_t owner) {
    uint32_t held, failed = 0;
    do {
        __asm__ volatile("ldrex %0, [%1]" : "=r"(held) : "r"(&cores_owner) : "memory");
        if (held) {
            __asm__ volatile("yield");
            continue;
        }
        __asm__ volatile("strex %0, %2, [%1]" : "=&r"(failed) : "r"(&cores_owner), "r"(owner)
                         : "memory");
    } while (held || failed);
    __asm__ volatile("dmb" : : : "memory");
}

/* Interrupts off, then the other core out; PRIMASK as it was, and bit 1 where the lock was held by
   this core already. */
static inline uintptr_t cores_lock(void) {
    uint32_t state, owner = this_core() + 1;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(state) : : "memory");
    if (cores_owner == owner) return state | 2;
    lock_take(owner);
    return state;
}

static inline void cores_unlock(uintptr_t state) {
    __asm__ volatile("dmb" : : : "memory");
    if (!(state & 2)) cores_owner = 0;
    __asm__ volatile("msr primask, %0" : : "r"(state & 1) : "memory");
}

#define PROF_CONTEXT() cores_context()
#define PROF_MAX_CONTEXTS 4
#ifndef PROF_LOCK
#  define PROF_LOCK() cores_lock()
#  define PROF_UNLOCK(state) cores_unlock(state)
#endif

#endif
