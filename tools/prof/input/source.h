/* Where a raw stream comes from: a file, stdin, a serial port, or a TCP port. */
#ifndef PROF_TOOL_SOURCE_H
#define PROF_TOOL_SOURCE_H

#include <stdint.h>

/* A file descriptor; -1: it has reported why not. "-": stdin; baud: of serial ports. */
int source_open(const char *path, int64_t baud);
int source_connect(const char *where);           /* "HOST:PORT"; it gives up after seconds */

#endif
