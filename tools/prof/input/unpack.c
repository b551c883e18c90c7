/* Files, gzip or not: see unpack.h. */
#include "input/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef PROF_ISAL                /* inflates two to three times as fast */
#  include <isa-l/igzip_lib.h>
#endif

#include "base/memory.h"

enum { PIECE = 1 << 18, FIRST = 1 << 12, GZIP = 16 };

struct unpacker {
    int fd;
    bool begun, packed, within;  /* within: a gzip member that has not ended yet */
    bool ended;                  /* the file; or what follows its last member is none, */
    bool rest;                   /* and not just zeros */
    bool (*wait)(void *user, int fd);    /* NULL: nobody waits */
    void *user;
    const char *why;             /* it cannot be read on; NULL: it can */
    bool unreadable;             /* that is the system's word, not zlib's */
    z_stream z;
#ifdef PROF_ISAL
    struct inflate_state *fast;  /* inflates in zlib's place; NULL: zlib does */
#endif
    bool dry;                    /* all is given that was in what was read */
    uint64_t member, given;      /* where this one begins in the file; bytes unpacked of it */
    uint64_t again;              /* of them, those that zlib unpacks once more */
    uint64_t offset;             /* bytes read of the file */
    unsigned char in[PIECE];
};

unpacker *unpack_open(int fd) {
    unpacker *u = allocate(sizeof *u);
    u->fd = fd;
    u->z.next_in = u->in;
    return u;
}

/* Bytes of the file; 0: there are no more. */
static size_t read_file(unpacker *u, void *to, size_t size) {
    if (u->wait && !u->wait(u->user, u->fd)) return 0;
    ssize_t got = read(u->fd, to, size);
    if (got < 0) {
        u->why = strerror(errno);
        u->unreadable = true;
    }
    if (got <= 0) return 0;
    u->offset += (uint64_t)got;
    return (size_t)got;
}

/* More of the file behind what is left of it; false: there is none. Before it is known to be packed
   a little will do. */
static bool more(unpacker *u) {
    if (u->z.avail_in) memmove(u->in, u->z.next_in, u->z.avail_in);
    u->z.next_in = u->in;
    size_t size = (u->packed ? sizeof u->in : FIRST) - u->z.avail_in;
    size_t got = read_file(u, u->in + u->z.avail_in, size);
    u->z.avail_in += (unsigned)got;
    return got > 0;
}

/* Two bytes tell a gzip member. */
static bool is_member(unpacker *u) {
    while (u->z.avail_in < 2 && more(u)) {}
    return u->z.avail_in >= 2 && u->z.next_in[0] == 0x1f && u->z.next_in[1] == 0x8b;
}

#ifdef PROF_ISAL
static void begin_fast(unpacker *u) {
    if (!u->fast) u->fast = allocate(sizeof *u->fast);
    isal_inflate_init(u->fast);
    u->fast->crc_flag = ISAL_GZIP;
}

static void end_fast(unpacker *u) {
    free(u->fast);
    u->fast = NULL;
}

/* What is damaged is read once more by zlib, from the member's begin on: whatever unpacks it, the
   same bytes are there, and the same is said of what follows them. */
static void leave_fast(unpacker *u) {
    off_t at = lseek(u->fd, 0, SEEK_CUR);
    if (at < 0 || lseek(u->fd, at - (off_t)(u->offset - u->member), SEEK_SET) < 0) {
        u->why = "the gzip data are damaged";
        return;
    }
    end_fast(u);
    u->z.avail_in = 0;
    u->offset = u->member;
    u->again = u->given;
}

static size_t inflate_fast(unpacker *u, void *to, size_t size) {
    struct inflate_state *s = u->fast;
    uint32_t before = u->z.avail_in;
    s->next_in = u->z.next_in;
    s->avail_in = before;
    s->next_out = to;
    s->avail_out = (uint32_t)size;
    int code = isal_inflate(s);
    u->z.next_in = s->next_in;
    u->z.avail_in = s->avail_in;
    if (code < ISAL_DECOMP_OK) return leave_fast(u), 0;    /* what it gave now may be damaged */
    size -= s->avail_out;
    u->given += size;
    u->dry = !size && s->avail_in == before;
    if (s->block_state == ISAL_BLOCK_FINISH) u->within = false;
    return size;
}
#endif

/* The next gzip member. */
static void begin_member(unpacker *u) {
    u->member = u->offset - u->z.avail_in;
    u->given = 0;
    u->dry = false;
#ifdef PROF_ISAL
    begin_fast(u);
#endif
}

/* Zeros behind the last member fill a block of a tape. */
static bool has_rest(unpacker *u) {
    do {
        for (; u->z.avail_in && !*u->z.next_in; u->z.avail_in--) u->z.next_in++;
    } while (!u->z.avail_in && more(u));
    return u->z.avail_in > 0;
}

/* Is there anything to unpack or copy? Bytes behind a member that are none are no part of it. */
static bool begin(unpacker *u) {
    if (!u->begun) {
        u->begun = true;
        u->packed = u->within = is_member(u);
        if (u->packed && inflateInit2(&u->z, MAX_WBITS + GZIP) != Z_OK) u->why = "out of memory";
        if (u->packed) begin_member(u);
    } else if (u->packed && !u->within) {
        u->within = is_member(u);
        if (u->within) inflateReset(&u->z);
        if (u->within) begin_member(u);
        else u->ended = true, u->rest = has_rest(u);
    }
    if (!u->why && !u->ended && u->packed && !u->z.avail_in && !more(u)) u->ended = u->dry;
    return !u->why && !u->ended;
}

/* Of a file that is not packed only the first bytes lie in `in`. */
static size_t copy(unpacker *u, void *to, size_t size) {
    if (!u->z.avail_in) {
        size = read_file(u, to, size);
        u->ended = size == 0;
        return size;
    }
    if (size > u->z.avail_in) size = u->z.avail_in;
    memcpy(to, u->z.next_in, size);
    u->z.next_in += size;
    u->z.avail_in -= (unsigned)size;
    return size;
}

static size_t inflate_some(unpacker *u, void *to, size_t size) {
#ifdef PROF_ISAL
    if (u->fast) return inflate_fast(u, to, size);
#endif
    if (u->again && u->again < size) size = (size_t)u->again;
    u->z.next_out = to;
    u->z.avail_out = (unsigned)size;
    unsigned before = u->z.avail_in;
    int code = inflate(&u->z, Z_NO_FLUSH);
    if (code == Z_STREAM_END) u->within = false;
    else if (code != Z_OK && code != Z_BUF_ERROR)
        u->why = u->z.msg ? u->z.msg : "this is no gzip file that zlib can read";
    size -= u->z.avail_out;
    u->dry = !size && u->z.avail_in == before;
    if (!u->again) return size;
    u->again -= size;
    return 0;
}

static size_t read_some(unpacker *u, void *to, size_t size) {
    size_t got = 0;
    while (!got && begin(u)) got = u->packed ? inflate_some(u, to, size) : copy(u, to, size);
    return got;
}

long unpack_read(unpacker *u, void *to, size_t size, const char **why) {
    if (size > 1 << 30) size = 1 << 30;
    size_t got = read_some(u, to, size);
    *why = got ? NULL : u->why;
    return got ? (long)got : u->why ? -1 : 0;
}

void unpack_wait(unpacker *u, bool (*wait)(void *user, int fd), void *user) {
    u->wait = wait;
    u->user = user;
}

off_t unpack_plain(const unpacker *u, int *fd) {
    off_t at = u->packed || u->wait ? -1 : lseek(u->fd, 0, SEEK_CUR);
    *fd = at < 0 ? -1 : u->fd;
    return at < 0 ? at : at - (off_t)u->offset;
}

bool unpack_cut(const unpacker *u) { return u->ended && u->within; }

bool unpack_rest(const unpacker *u) { return u->rest; }

bool unpack_unreadable(const unpacker *u) { return u->unreadable; }

uint64_t unpack_offset(const unpacker *u) { return u->offset - u->z.avail_in; }

void unpack_close(unpacker *u) {
    if (u->packed) inflateEnd(&u->z);
#ifdef PROF_ISAL
    free(u->fast);
#endif
    close(u->fd);
    free(u);
}
