/* The bytes of a file, unpacked where it is gzip, up to where it ends or is damaged. zlib's own
   gzread gives nothing of the piece in which the damage is. */
#ifndef PROF_UNPACK_H
#define PROF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct unpacker unpacker;

unpacker *unpack_open(int fd);                   /* fd is closed by unpack_close */
/* Is asked before each time that fd is read; false: that was the end. */
void unpack_wait(unpacker *u, bool (*wait)(void *user, int fd), void *user);
/* At most size bytes; 0: that was the end; -1: it cannot be read on, and *why says why not. */
long unpack_read(unpacker *u, void *to, size_t size, const char **why);
/* Of a file that is not packed, and can be read elsewhere too: where its bytes begin; else -1, as
   is *fd. */
off_t unpack_plain(const unpacker *u, int *fd);
bool unpack_cut(const unpacker *u);              /* after the end: a gzip file that ends early */
bool unpack_rest(const unpacker *u);             /* what follows the gzip data is none */
bool unpack_unreadable(const unpacker *u);       /* the system cannot read it: EIO, ... */
uint64_t unpack_offset(const unpacker *u);       /* packed bytes that were used so far */
void unpack_close(unpacker *u);

#endif
