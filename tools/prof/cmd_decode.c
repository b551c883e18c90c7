/* prof decode: prof.h's raw stream, from a file, a pipe or a serial port, as a trace. */
#define _DEFAULT_SOURCE                          /* the fast baud rates */
#include "losses.h"
#include "trace_other.h"
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

enum { MEMORY = 8 << 20, PIECE = 1 << 16 };

typedef struct decoder {
    trace_writer writer;
    bool has_session;
    int64_t pid, base_ns, shift_ns;      /* shift: of a later session's times, since the first */
    map threads;                         /* number in the stream -> thread id */
    losses lost;
    raw_losses raw_lost;
} decoder;

/* ---- What the stream tells, as events ---- */

static int64_t tid_of(const decoder *d, uint32_t thread) {
    const uint64_t *id = map_get(&d->threads, thread);
    return id ? (int64_t)*id : (int64_t)thread;
}

static void begin_event(decoder *d, char phase, const char *category, const char *name,
                        const prof_raw_item *item) {
    output *out = d->writer.out;
    writer_event(&d->writer);
    output_format(out, "{\"ph\": \"%c\", \"cat\": \"%s\", \"name\": ", phase, category);
    output_json_text(out, name, strlen(name));
    output_format(out, ", \"pid\": %lld, \"tid\": %lld, \"ts\": ", (long long)d->pid,
                  (long long)tid_of(d, item->thread));
    write_us(out, item->start_ns + d->shift_ns);
}

static void write_zone(decoder *d, const char *category, const char *name,
                       const prof_raw_item *item) {
    output *out = d->writer.out;
    begin_event(d, 'X', category, name, item);
    output_text(out, ", \"dur\": ");
    write_us(out, item->end_ns - item->start_ns);
    bool finished = !(item->flags & PROF_EVENT_UNFINISHED);
    output_text(out, finished ? "}" : ", \"args\": {\"finished\": false}}");
}

/* The first one is the trace's; one that begins later is placed behind it by its clock. */
static void take_session(decoder *d, const prof_raw_item *item) {
    if (!d->has_session) {
        d->base_ns = item->start_ns;
    }
    if (!d->has_session && !d->writer.had_events) {      /* else the stream's begin is missing */
        writer_key(&d->writer, "schemaVersion");
        output_text(d->writer.out, "1");
        writer_key(&d->writer, "baseTimeNanoseconds");
        output_format(d->writer.out, "%lld", (long long)d->base_ns);
    }
    d->has_session = true;
    d->pid = item->value;
    d->shift_ns = item->start_ns - d->base_ns;
}

static void take_thread(decoder *d, const prof_raw_item *item) {
    bool is_new;
    *map_put(&d->threads, item->thread, &is_new) = (uint64_t)item->value;
    if (!is_new || !item->name) return;
    writer_event(&d->writer);
    output_format(d->writer.out, "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %lld, "
                  "\"tid\": %lld, \"args\": {\"name\": ", (long long)d->pid,
                  (long long)item->value);
    output_json_text(d->writer.out, item->name, strlen(item->name));
    output_text(d->writer.out, "}}");
}

static void take(void *user, const prof_raw_item *item) {
    decoder *d = user;
    char step[40];
    losses_take_raw(&d->lost, &d->raw_lost, item);
    switch (item->kind) {
    case PROF_RAW_SESSION: take_session(d, item); break;
    case PROF_RAW_THREAD: take_thread(d, item); break;
    case PROF_RAW_ZONE: write_zone(d, "cpu_op", item->name, item); break;
    case PROF_RAW_STEP:
        snprintf(step, sizeof step, "ProfilerStep#%lld", (long long)item->value);
        write_zone(d, "user_annotation", step, item);
        break;
    case PROF_RAW_INSTANT:
        begin_event(d, 'i', "cpu_instant_event", item->name, item);
        output_text(d->writer.out, ", \"s\": \"t\"}");
        break;
    case PROF_RAW_COUNTER:
        begin_event(d, 'C', "counter", item->name, item);
        output_format(d->writer.out, ", \"args\": {\"value\": %lld}}", (long long)item->value);
        break;
    case PROF_RAW_COUNTER_F:
        begin_event(d, 'C', "counter", item->name, item);
        output_text(d->writer.out, ", \"args\": {\"value\": ");
        output_double(d->writer.out, item->number);
        output_text(d->writer.out, "}}");
        break;
    case PROF_RAW_COUNTS: break;
    }
}

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

static bool push_all(prof_raw *raw, int fd, const char *path) {
    unsigned char piece[PIECE];
    bool port = isatty(fd);
    unpacker *file = port ? NULL : unpack_open(dup(fd));
    const char *why = NULL;
    unsigned long long bytes = 0;
    long got = 0;
    while (!stopped && (got = port ? (long)read(fd, piece, sizeof piece)
                                   : unpack_read(file, piece, sizeof piece, &why)) > 0) {
        prof_raw_feed(raw, piece, (size_t)got);
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

static int decode(decoder *d, int fd, const char *path) {
    prof_raw_stats stats;
    prof_raw *raw;
    void *memory = allocate(MEMORY);
    prof_raw_desc desc = {.memory = memory, .memory_size = MEMORY, .item = take, .user = d};
    int status = EXIT_OK;
    if (prof_raw_open(&desc, &raw) != PROF_OK) status = fail(NULL, "out of memory");
    else if (!push_all(raw, fd, path)) status = EXIT_BAD;
    if (status == EXIT_OK) {
        prof_raw_close(raw, &stats);
        if (stats.blocks == 0 && stats.bytes == 0) status = fail(path, "the file is empty");
        else if (stats.blocks == 0)
            status = fail(path, "byte 0: this is no raw stream of prof.h: no whole block in %llu "
                          "bytes", (unsigned long long)stats.bytes);
        else if (raw_tell(&stats, path, &d->lost) && !stopped) note_cut_input();
    }
    free(memory);
    return status;
}

static int decode_to(int fd, const char *path, const char *to) {
    decoder d = {.pid = 1};
    output out;
    if (!output_open(&out, to)) return EXIT_BAD;
    writer_begin(&d.writer, &out, false);
    int status = decode(&d, fd, path);
    map_free(&d.threads);
    if (status != EXIT_OK) {
        output_discard(&out);
        return status;
    }
    losses_end_raw(&d.lost, &d.raw_lost);
    losses_write_head(&d.lost, NULL, 0, &d.writer);
    writer_end(&d.writer);
    losses_tell(path, &d.lost);
    return output_close(&out);
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
