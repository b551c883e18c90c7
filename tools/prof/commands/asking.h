/* Windows of a process that waits for them (PROF_MODE=wait), for prof window and prof top. */
#ifndef PROF_ASKING_H
#define PROF_ASKING_H

#include "commands/recording.h"
#include "library.h"

#include <stdbool.h>

typedef struct asking {
    char process[40];                    /* "process 123": for errors */
    long pid;
    char path[64];                       /* leads to what the process shares, while it does */
    int file;                            /* that */
    window_page *page;                   /* that, mapped */
    record_notes *notes;                 /* what the process told since asking_begin */
} asking;

/* Finds what the process shares. False: nothing, which is reported. */
bool asking_open(asking *a, const char *pid);
/* recording_open, of a folder that the process can write to. *inside: its name there. */
bool asking_folder(const asking *a, recording *r, const char **inside);
/* Asks for a window, at once or when others have had theirs. steps 0: until asking_end. False: it
   has none, which is reported, or a signal came. */
bool asking_begin(asking *a, const char *folder, uint32_t steps);
bool asking_over(const asking *a);       /* the window is, or the process */
/* Until it is over, or a signal comes, or for so long. */
void asking_wait(asking *a, double seconds);
/* Closes the window, and waits until it is over. */
void asking_end(asking *a);

#endif
