/* Windows of a process that waits for them (PROF_MODE=wait), for prof window and prof top. */
#ifndef PROF_ASKING_H
#define PROF_ASKING_H

#include "commands/foreign.h"
#include "commands/recording.h"
#include "library.h"

#include <stdbool.h>

typedef struct asking {
    char process[40];                    /* "process 123": for errors */
    long pid;
    foreign other;                       /* that process, and what it owns */
    char shared[32];                     /* leads to what it shares, while it does */
    int file;                            /* that */
    window_page *page;                   /* that, mapped */
    char pattern[2 * PATH_ROOM];         /* the file that it is to write, as it sees it */
    record_notes notes;                  /* what it told since asking_begin */
} asking;

/* Finds what the process shares. False: nothing, which is reported. */
bool asking_open(asking *a, const char *pid);
/* A folder in which it can write, and recording_open. */
bool asking_folder(asking *a, recording *r);
/* Asks for a window, at once or when others have had theirs. steps 0: until asking_end. False: it
   has none, which is reported, or a signal came. */
bool asking_begin(asking *a, uint32_t steps);
bool asking_over(const asking *a);       /* the window is, or the process */
/* It tells more than a session has to tell: then that is over, too. */
bool asking_babbles(const asking *a);
bool asking_streams(const asking *a);    /* else it writes JSON when the window is over */
/* Until it is over, or a signal comes, or for so long. */
void asking_wait(asking *a, double seconds);
/* Closes the window, and waits until it is over, but not for ever. */
void asking_end(asking *a);
/* What was recorded goes into the folder of `r`, at most so many bytes, and what the process told
   into its notes. */
void asking_take(asking *a, recording *r, uint64_t most);
/* Behind asking_folder, always. */
void asking_close(asking *a);

#endif
