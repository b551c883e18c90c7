/* Runs a handler at a single instruction of what is stepped: the CPU's trap flag raises SIGTRAP
   after every one. Included after test.h, with _GNU_SOURCE defined (REG_EFL). */
#ifndef STEP_H
#define STEP_H

#include <signal.h>

#if TEST_TSAN
#  define STEP_WHY "ThreadSanitizer delivers signals when it likes"
#elif !(defined(__linux__) && defined(__x86_64__) && defined(__GNUC__))
#  define STEP_WHY "only x86-64 Linux has the trap flag at hand"
#endif

#ifndef STEP_WHY                         /* else: why it cannot be done here */
#include <time.h>
#include <ucontext.h>

static volatile long steps, step_at;     /* which instruction is interrupted */
static void (*handler)(void);

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    if (steps++ != step_at) return;
    handler();
    if (step_at >= steps) return;        /* it asks to be run once more */
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void step_install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
}

#define TRAP_FLAG(instruction)                                                             \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" instruction ", (%%rsp)\n\tpopfq\n\t" \
                     "lea 128(%%rsp), %%rsp" ::: "cc", "memory")

/* Every so many instructions are interrupted, from a random one on. */
TEST_UNUSED static uint32_t step_stride(uint32_t stride) { return stride * test_sample(); }

/* Steps body, by the handler at instruction step_at; steps: how many there were up to it. */
static void stepped(void (*body)(void), void (*by)(void)) {
    handler = by;
    steps = 0;
    TRAP_FLAG("orq $0x100");
    body();
    TRAP_FLAG("andq $~0x100");
}
#endif
#endif
