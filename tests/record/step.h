/* Runs a handler at a single instruction of what is stepped: the CPU's trap flag raises SIGTRAP
   after every one. Included after test.h, with _GNU_SOURCE defined (REG_EFL). A trap takes some us,
   ten times that on virtual machines: stepped_by steps once, and forks where a handler comes. */
#ifndef STEP_H
#define STEP_H

#include <signal.h>

#if TEST_TSAN
#  define STEP_WHY "ThreadSanitizer delivers signals when it likes"
#elif !(defined(__linux__) && defined(__x86_64__) && defined(__GNUC__))
#  define STEP_WHY "only x86-64 Linux has the trap flag at hand"
#endif

#ifndef STEP_WHY                         /* else: why it cannot be done here */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long steps, step_at;     /* which instruction is interrupted */
static void (*handler)(void);

/* Each step_every-th instruction is interrupted, in step_times children of its own. */
static long step_every, step_children;   /* 0: in none; how many there were before this one */
static int step_times = 1;
static bool step_child;                  /* this is one */

/* Without what the C library and prof.h do at a fork: the child is to go on as the parent would. */
static bool step_fork(void) {
    int status = -1;
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) return step_child = true;
    if (waitpid(child, &status, 0) != child || status != 0) {
        test_fail(__FILE__, __LINE__, "a child ends well");
        test_say("instruction %ld, child %ld: status %d", step_at, step_children, status);
    }
    step_children++;
    return false;
}

static bool step_forks(void) {
    int i;
    for (i = 0; i < step_times && !test_bad; i++)
        if (step_fork()) return true;
    step_at += step_every;
    return false;
}

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    if (steps++ != step_at) return;
    if (step_every && !step_child && !step_forks()) return;
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

/* The same at step_at and each step_every-th from there on. Behind it each child goes on, up to
   step_end, and the parent, where no handler came. */
TEST_UNUSED static void stepped_by(long every, void (*body)(void), void (*by)(void)) {
    step_every = every;
    stepped(body, by);
    step_every = 0;
}

/* Here a child ends, and says what was not well. */
TEST_UNUSED static void step_end(void) {
    if (!step_child) return;
    if (test_bad) printf("%s\n", test_why);
    fflush(stdout);
    _exit(test_bad);
}
#endif
#endif
