/* Signals that ask for the end: see interrupts.h. */
#include "base/interrupts.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t stopped;
static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

void interrupts_take(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;                               /* without SA_RESTART */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupted(void) { return stopped; }

bool readable(int fd, int milliseconds) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, fd >= 0, milliseconds) > 0;
}

void signals_hold(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, before);
}

void signals_release(const sigset_t *before) { sigprocmask(SIG_SETMASK, before, NULL); }
