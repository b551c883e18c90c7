/* prof decode: prof.h's raw stream, from a file, a pipe or a serial port, as a trace. */
#define _DEFAULT_SOURCE                          /* the fast baud rates */
#include "losses.h"
#include "raw_json.h"
#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static int run(int argc, char **argv);

const command decode_command = {
    "decode", "[OPTION]... STREAM", "a raw stream of prof.h, of a file or serial port, as a trace",
    "  prof decode run.prof -o run.json.gz\n"
    "      the raw stream of PROF_MODE_STREAM, of prof_dump or of a crash\n"
    "  prof decode --baud 921600 /dev/ttyUSB0 -o board.json\n"
    "      what a board sends, until Ctrl-C; then the trace is complete\n"
    "  nc -l 9000 | prof decode - | prof report -\n"
    "      the table of what a program sends over the network\n", run
};

enum { PIECE = 1 << 16 };

/* ---- Where it comes from ---- */

static volatile sig_atomic_t stopped;
static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static bool set_speed(int fd, int64_t baud, const char *path) {
    static const struct { int64_t baud; speed_t speed; } speeds[] = {
        {9600, B9600}, {19200, B19200}, {38400, B38400}, {57600, B57600}, {115200, B115200},
#ifdef B230400
        {230400, B230400},
#endif
#ifdef B460800
        {460800, B460800}, {921600, B921600}, {1000000, B1000000}, {2000000, B2000000},
        {3000000, B3000000}, {4000000, B4000000},
#endif
    };
    struct termios port;
    if (tcgetattr(fd, &port) != 0) return fail(path, "%s", strerror(errno)), false;
    port.c_iflag = port.c_oflag = port.c_lflag = 0;              /* bytes as they come */
    port.c_cflag = (port.c_cflag & ~(tcflag_t)(CSIZE | PARENB | CSTOPB)) | CS8 | CREAD | CLOCAL;
    port.c_cc[VMIN] = 1;
    port.c_cc[VTIME] = 0;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        if (speeds[i].baud != baud) continue;
        cfsetispeed(&port, speeds[i].speed);
        cfsetospeed(&port, speeds[i].speed);
        if (tcsetattr(fd, TCSANOW, &port) == 0) return true;
        return fail(path, "%s", strerror(errno)), false;
    }
    return fail("--baud", "%lld is no speed of a serial port", (long long)baud), false;
}

static bool push_all(raw_json *raw, int fd, const char *path) {
    unsigned char piece[PIECE];
    bool port = isatty(fd);
    unpacker *file = port ? NULL : unpack_open(dup(fd));
    if (file) unpack_as_is(file);
    const char *why = NULL;
    unsigned long long bytes = 0;
    long got = 0;
    while (!stopped && (got = port ? (long)read(fd, piece, sizeof piece)
                                   : unpack_read(file, piece, sizeof piece, &why)) > 0) {
        raw_json_push(raw, piece, (size_t)got);
        bytes += (unsigned long long)got;
        progress("reading", 0, 0);
    }
    if (got < 0 && !why) why = strerror(errno);
    if (got == 0 && file && unpack_cut(file)) why = "the gzip file ends early";
    if (file) unpack_close(file);
    if (!why || stopped) return true;
    if (!bytes) return fail(path, "%s", why), false;
    warn(path, "byte %llu: %s; read up to there", bytes, why);
    note_cut_input();
    return true;
}

static int open_stream(const char *path, int64_t baud) {
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NOCTTY);
    if (fd < 0) return fail(path, "%s", strerror(errno)), -1;
    if (!isatty(fd) || set_speed(fd, baud, path)) return fd;
    close(fd);
    return -1;
}

/* ---- The command ---- */

/* Whether that was a stream, and how it ended. */
static int judge(raw_json *raw, const prof_raw_stats *stats, const char *path) {
    if (!stats->bytes) return fail(path, "the file is empty");
    if (!stats->blocks)
        return fail(path, "byte 0: this is no raw stream of prof.h: no whole block in %llu bytes",
                    (unsigned long long)stats->bytes);
    if (raw_json_tell(raw, path) && !stopped) note_cut_input();
    losses_tell(path, raw_json_losses(raw));
    return EXIT_OK;
}

static int decode_to(int fd, const char *path, const char *to) {
    output out;
    if (!output_open(&out, to)) return EXIT_BAD;
    raw_json *raw = raw_json_open(&out);
    raw_json_read_ahead(raw, fd, lseek(fd, 0, SEEK_CUR));
    int status = push_all(raw, fd, path) ? EXIT_OK : EXIT_BAD;
    prof_raw_stats stats = raw_json_end(raw);
    if (status == EXIT_OK) status = judge(raw, &stats, path);
    raw_json_free(raw);
    return output_finish(&out, status);
}

/* What a port or a pipe sends ends with Ctrl-C; the trace of it is complete. */
static void take_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;                               /* without SA_RESTART */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int run(int argc, char **argv) {
    const char *to = NULL;
    int64_t baud = 115200;
    const option_spec options[] = {
        {"baud", 'b', OPTION_COUNT, &baud, "N", "speed of a serial port (115200)"},
        {"output", 'o', OPTION_TEXT, &to, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&decode_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != 1) return fail(NULL, "decode takes one stream; see prof decode --help");
    int fd = open_stream(argv[1], baud);
    if (fd < 0) return EXIT_BAD;
    struct stat kind;
    bool is_file = fstat(fd, &kind) == 0 && S_ISREG(kind.st_mode);
    if (is_file) input_note(&kind);
    else take_signals();
    status = decode_to(fd, argv[1], to);
    close(fd);
    return status;
}
