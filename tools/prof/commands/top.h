/* The table of a stream that grows, once a second. */
#ifndef PROF_TOP_H
#define PROF_TOP_H

#include "commands/record_notes.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Of a stream that someone else reads:

       top_view *t = top_begin(path, elf, stdout);
       while (top_wait(t, fd) && (got = read(fd, ...)) > 0) top_push(t, data, got);
       top_end(t);                                                                              */
typedef struct top_view top_view;
bool top_can(int file);          /* it begins as a raw stream does; or that is not known yet */
struct elf_names;                /* of which names come that the stream does not tell; NULL: none */
/* NULL: there is no memory. */
top_view *top_begin(const char *path, struct elf_names *elf, FILE *out);
/* Until there is more in fd, which may be a file that grows: the table once a second, and keys.
   false: q or a signal came, or the stream has ended, and nothing for a second. */
bool top_wait(top_view *t, int fd);
void top_push(top_view *t, const void *data, size_t size);
void top_end(top_view *t);                            /* the table for the last time */

/* While the program runs: on stderr, of the first session that it tells of. */
void top_watch(pid_t program, record_notes *notes, int notes_file);

#endif
