/* The table of a stream that grows, once a second. */
#ifndef PROF_TOP_H
#define PROF_TOP_H

#include "record.h"

#include <sys/types.h>

/* While the program runs: on stderr, of the first session that it tells of. */
void top_watch(pid_t program, record_notes *notes, int notes_file);

#endif
