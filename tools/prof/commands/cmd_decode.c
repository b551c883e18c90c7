/* prof decode: prof.h's raw stream, from a file, a pipe, a serial or TCP port, as a trace. */
#include "base/demangle.h"
#include "base/interrupts.h"
#include "commands/calls.h"
#include "commands/top.h"
#include "input/elf_names.h"
#include "input/losses.h"
#include "input/raw.h"
#include "input/source.h"
#include "input/swo.h"
#include "output/trace_writer.h"
#include "input/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int run(int argc, char **argv);

const command decode_command = {
    "decode", "[OPTION]... [STREAM]",
    "make a trace of a raw stream of prof.h, from a file or a port",
    "  prof decode run.prof -o run.json.gz\n"
    "      the raw stream of PROF_MODE_STREAM, of prof_dump or of a crash\n"
    "  prof decode --baud 921600 /dev/ttyUSB0 -o board.json\n"
    "      what a board sends, until Ctrl-C, which completes the trace\n"
    "  prof decode --connect localhost:19021 --follow -o board.json\n"
    "      what J-Link's RTT server, OpenOCD or QEMU sends; its table, once a second\n"
    "  prof decode --elf firmware.elf /dev/ttyACM0 -o board.json\n"
    "      of a program whose names stay in its ELF file\n"
    "  nc -l 9000 | prof decode - | prof report -\n"
    "      the table of what a program sends over the network\n", run, 0, 0
};

enum { PIECE = 1 << 16 };

/* ---- Where it comes from ---- */

typedef struct source {
    const char *path;
    int fd;
    bool as_it_comes;                    /* a port: nothing to unpack, it has no first bytes */
    elf_names *elf;                      /* --elf; NULL: none */
    swo *swo;                            /* --swo; NULL: none */
    top_view *top;                       /* --follow; NULL: none */
} source;

typedef struct decoder {
    event_queue made;
    raw_source *raw;
    trace_writer writer;
} decoder;

/* There is more to read; false: it is to end. */
static bool wait_more(void *user, int fd) {
    const source *from = user;
    if (from->top) return top_wait(from->top, fd);
    while (!interrupted() && !readable(fd, 200)) {}
    return !interrupted();
}

static long read_some(source *from, unpacker *file, void *to, size_t size,
                      const char **why) {
    if (file) return unpack_read(file, to, size, why);
    return wait_more(from, from->fd) ? (long)read(from->fd, to, size) : 0;
}

/* What the source has made so far. */
static void write_made(decoder *d) {
    for (const queued *made; (made = queue_next(&d->made)) != NULL; ) {
        const trace_member *member = &made->member;
        if (made->item == TRACE_EVENT) writer_put(&d->writer, &made->event);
        else writer_member(&d->writer, member->key, member->value);
    }
}

static bool push_all(decoder *d, source *from) {
    unsigned char piece[PIECE];
    int unpacked = from->as_it_comes ? -1 : dup(from->fd);
    if (!from->as_it_comes && unpacked < 0) return fail(from->path, "%s", strerror(errno)), false;
    unpacker *file = from->as_it_comes ? NULL : unpack_open(unpacked);
    if (file) unpack_wait(file, wait_more, from);
    const char *why = NULL;
    unsigned long long bytes = 0;
    long got = 0;
    while ((got = read_some(from, file, piece, sizeof piece, &why)) > 0) {
        size_t size = from->swo ? swo_take(from->swo, piece, (size_t)got) : (size_t)got;
        raw_push(d->raw, piece, size);
        write_made(d);
        if (from->top) top_push(from->top, piece, size);
        else progress("reading", 0, 0);
        bytes += (unsigned long long)got;
    }
    if (got < 0 && !why) why = strerror(errno);
    if (got == 0 && file && unpack_cut(file)) why = "the gzip file ends early";
    if (got == 0 && file && unpack_rest(file)) why = "what follows its gzip data is not gzip data";
    if (file) unpack_close(file);
    if (!why || interrupted()) return true;
    if (!bytes) return fail(from->path, "%s", why), false;
    warn(from->path, "byte %llu: %s; read up to there", bytes, why);
    note_cut_input();
    return true;
}

/* ---- The command ---- */

/* Whether that was a stream, and how it ended. */
static int judge(raw_source *raw, const source *from) {
    const prof_raw_stats *stats = raw_stats(raw);
    const char *path = from->path;
    if (!stats->bytes && from->swo)
        return fail(path, "no byte of port %u of the ITM", from->swo->port);
    if (!stats->bytes) return fail(path, "the file is empty");
    if (!stats->blocks)
        return fail(path, "byte 0: this is not a raw stream of prof.h: it has no whole block in "
                    "%llu bytes (prof report reads other traces)",
                    (unsigned long long)stats->bytes);
    if (raw_tell(raw, path) && !interrupted()) note_cut_input();
    losses_tell(path, raw_losses_of(raw));
    return EXIT_OK;
}

static int decode_to(source *from, const char *to) {
    output out;
    if (!output_open(&out, to)) return EXIT_BAD;
    decoder d = {.made = {0}};
    source_desc desc = {.to = &d.made, .path = from->path, .fd = from->fd, .live = true};
    desc.begin = lseek(from->fd, 0, SEEK_CUR);
    if (from->top || from->swo || desc.begin < 0) desc.fd = -1;
    d.raw = raw_open(&desc);
    raw_names(d.raw, from->elf);
    writer_begin(&d.writer, &out, false);
    int status = push_all(&d, from) ? EXIT_OK : EXIT_BAD;
    while (raw_end(d.raw)) write_made(&d);
    write_made(&d);
    writer_end(&d.writer);
    if (from->top) top_end(from->top);
    if (status == EXIT_OK) status = judge(d.raw, from);
    raw_close(d.raw);
    queue_free(&d.made);
    return output_close(&out, status);
}

static bool is_packed(int file) {
    unsigned char magic[2];
    bool there = pread(file, magic, 2, lseek(file, 0, SEEK_CUR)) == 2;
    return there && magic[0] == 0x1f && magic[1] == 0x8b;
}

/* The table goes to stdout; a trace where one is asked for. What a port or a pipe sends, and a file
   that grows, ends with Ctrl-C too; the trace of it is complete. */
static int decode(source *from, const char *to, bool follow) {
    struct stat kind = {0};
    bool is_file = fstat(from->fd, &kind) == 0 && S_ISREG(kind.st_mode);
    if (follow && to && strcmp(to, "-") == 0)
        return fail("--follow", "the table goes to stdout; give the trace a file with -o");
    if (follow && is_file && !from->swo && !is_packed(from->fd) && !top_can(from->fd))
        return fail(from->path, "byte 0: this is not a raw stream of prof.h (prof report reads "
                    "other traces)");
    if (is_file) input_note(&kind);
    if (!is_file || follow) interrupts_take();
    from->as_it_comes = S_ISSOCK(kind.st_mode) || isatty(from->fd);
    if (follow && !(from->top = top_begin(from->path, from->elf, stdout)))
        return fail(NULL, "out of memory");
    return decode_to(from, follow && !to ? "/dev/null" : to);
}

int decode_file(const char *path, const char *to) {
    source from = {.path = path, .fd = source_open(path, 0)};
    int status = from.fd < 0 ? EXIT_BAD : decode(&from, to, false);
    if (from.fd >= 0) close(from.fd);
    return status;
}

static int run(int argc, char **argv) {
    const char *to = NULL, *where = NULL, *elf = NULL;
    int64_t baud = 115200, port = 0;
    bool follow = false, itm = false;
    const option_spec options[] = {
        {"baud", 'b', OPTION_COUNT, &baud, "N", "speed of a serial port (115200)"},
        {"connect", 'c', OPTION_TEXT, &where, "HOST:PORT", "the stream comes from that TCP port"},
        {"elf", 'e', OPTION_TEXT, &elf, "FILE",
         "the program file, which has the names of its zones "
         "(PROF_NAMES_IN_ELF) and of a Cortex-M's interrupt handlers"},
        {"follow", 'f', OPTION_FLAG, &follow, NULL, "the table on stdout as it grows, once a "
         "second, until the stream ends, q or Ctrl-C; the trace with -o alone"},
        {"output", 'o', OPTION_TEXT, &to, "FILE", "instead of stdout; .gz by its ending"},
        {"swo", 0, OPTION_FLAG, &itm, NULL,
         "unpack the stream from the packets of a Cortex-M's SWO pin"},
        {"swo-port", 0, OPTION_COUNT, &port, "N", "the ITM's stimulus port (0)"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    demangles = false;           /* names are written as they are */
    int status, count = options_parse(&decode_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != (where ? 0 : 1))
        return fail(NULL, "decode takes one stream%s; see prof decode --help",
                    where ? ", and --connect is that" : "");
    if (port > 31) return fail("--swo-port", "the ITM has ports 0 to 31");
    swo pin = {.port = (unsigned)port};
    source from = {.path = where ? where : argv[1]};
    from.fd = where ? source_connect(where) : source_open(from.path, baud);
    if (from.fd < 0) return EXIT_BAD;
    if (itm) from.swo = &pin;
    if (elf) from.elf = elf_open(elf);
    status = elf && !from.elf ? EXIT_BAD : decode(&from, to, follow);
    if (from.swo) swo_tell(from.swo, from.path);
    if (from.elf && elf_tell(from.elf)) note_cut_input();
    elf_close(from.elf);
    close(from.fd);
    return status;
}
