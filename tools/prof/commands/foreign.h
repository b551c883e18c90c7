/* Another process, whose word is taken for nothing, and what it owns. The command, which may be
   root's, never opens by a name that the process chose or may change: a child of the command's,
   which has the rights of the process, makes the folder in which it writes, reads its file there,
   and sends the bytes. */
#ifndef PROF_FOREIGN_H
#define PROF_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct foreign {
    int process;                         /* /proc/PID: it, whoever has its number later */
    uid_t user;                          /* whose rights it has */
    gid_t group;
    pid_t child;
    int line;                            /* to the child */
} foreign;

enum { FOREIGN_NAME = 128, FOREIGN_SILENCE = 10 };       /* bytes; s that the child may take */

/* False: errno says why. */
bool foreign_open(foreign *f, long pid);
/* What it shares, a memfd of that name, at least so large, that can get no smaller. link: leads to
   it from /proc/PID, "fd/N". -1: none; errno is 0, or says why one cannot be opened. */
int foreign_shared(const foreign *f, const char *name, int64_t size, char link[32]);
/* Would a file that we name be the same file to it, which has our rights? */
bool foreign_is_alike(const foreign *f);
/* Starts the child. It makes a folder in `there`, or -1: in the /tmp that the process sees. */
bool foreign_begin(foreign *f, int there, char name[FOREIGN_NAME]);
/* The file of that name in the folder, if it is a plain one of the process's: its bytes, at most so
   many, to `to`. Where that is -1 they come from f->line until foreign_end, with those that are
   still to come; what was sent takes no room there. False: errno says why. */
bool foreign_read(foreign *f, const char *file, int to, uint64_t most);
/* The folder goes, and the child. */
void foreign_end(foreign *f);

#endif
