/* Ctrl-C, for commands that then finish what they do: a stream of a port ends by it. And moments in
   which no signal ends the command. */
#ifndef PROF_TOOL_INTERRUPTS_H
#define PROF_TOOL_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>

void interrupts_take(void);      /* SIGINT and SIGTERM no longer end the command */
bool interrupted(void);          /* one of them has come since */
/* Until fd can be read, or one of the two: at most so many milliseconds. */
bool readable(int fd, int milliseconds);
/* Signals wait in between. */
void signals_hold(sigset_t *before);
void signals_release(const sigset_t *before);

#endif
