/* prof top: what a program does at the moment, from the stream that it is writing. */
#define _GNU_SOURCE                      /* fallocate */
#include "commands/top.h"

#include "base/demangle.h"
#include "base/files.h"
#include "base/interrupts.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/text.h"
#include "commands/asking.h"
#include "input/elf_names.h"
#include "input/losses.h"
#include "input/raw.h"
#include "input/raw_ahead.h"
#include "input/tasks.h"
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int run(int argc, char **argv);

const command top_command = {
    "top", "[OPTION]... STREAM|PID", "the table of a stream while it is written, once a second",
    "  prof top run.raw\n"
    "      the stream of a program with PROF_TRACE=run.raw. Keys: q quits, s sorts by\n"
    "      the next column, p pauses\n"
    "  prof top --looks 1 --sort calls run.raw\n"
    "      the table as it is now\n"
    "  prof top 4711\n"
    "      process 4711 from now on, if it waits to be asked: see prof window --help\n", run, 1, 1
};

enum { PIECE = 1 << 16, BEFORE_END = 12 };

/* As of the last reading; since: what came between that and the one before. */
typedef struct top_row {
    const char *name;
    int64_t calls, total, self, calls_since, self_since;
} top_row;

typedef enum top_sort { BY_SELF, BY_TOTAL, BY_CALLS, BY_RATE, BY_NAME, SORTS } top_sort;
static const char *const sorts[] = {"self", "total", "calls", "rate", "name"};

struct top_view {
    const char *path;
    elf_names *elf;
    FILE *out;
    int file, keys;                      /* keys: the terminal's, or -1 */
    struct termios before;
    prof_raw *raw;
    void *memory;
    call_sums *sums;
    arena sums_memory;
    prof_average *averages;
    top_row *rows;                       /* of the averages */
    size_t row_count;
    struct top_known { int64_t calls, self; } *known;    /* the last reading's, by row of sums */
    size_t known_capacity;
    losses lost;
    raw_losses raw_lost;
    uint32_t cpu_row;                    /* the thread that tells which task ran + 1; 0: none */
    bool one_core;
    int64_t interrupts_ns;               /* of one core: it is in what they interrupted, too */
    map threads;                         /* of the session: number -> id */
    uint64_t bytes;
    double last, since;                  /* the last reading; s from the one before, 0: none */
    top_sort sort;
    bool paused, ended, quit;            /* ended: the stream told its last counts */
    bool comes;                          /* the file is a line, which does not keep what comes */
    bool full;                           /* no more is taken */
    int64_t memory_before;
    double next;                         /* when to look */
    uint64_t looked;                     /* bytes that had come when it looked last */
};

/* ---- What the stream tells ---- */

static void *more_memory(void *user, size_t size) {
    return arena_allocate(&((top_view *)user)->sums_memory, size);
}

static uint32_t row_of(const top_view *t, const char *name) {
    return call_sums_row(t->sums, &(prof_event){.name = name}, NULL);
}

static void take_zone(top_view *t, const prof_raw_item *item) {
    call_span zone = {
        .start_ns = item->start_ns, .end_ns = item->end_ns, .thread = item->thread,
        .row = row_of(t, item->name), .depth = item->depth, .flags = CALL_DEPTH
    };
    call_sums_push(t->sums, &zone);
}

/* Zones of a stream come thread by thread, so nobody knows yet what an interrupt interrupted. */
static void take_interrupt(top_view *t, const prof_raw_item *item) {
    const uint64_t *told = map_get(&t->threads, item->thread);
    uint64_t id = told ? *told : item->thread;
    if (t->one_core && id > 0 && id < CPU_ROW && item->depth == 0)
        t->interrupts_ns += item->end_ns - item->start_ns;
}

static void take_session(top_view *t, const prof_raw_item *item) {
    t->cpu_row = 0;
    t->ended = false;
    t->one_core = item->flags;
    map_free(&t->threads);
}

static void take(void *user, const prof_raw_item *item) {
    top_view *t = user;
    losses_take_raw(&t->lost, &t->raw_lost, item);
    if (item->kind == PROF_RAW_COUNTS) t->ended = item->value == 1;
    if (item->kind == PROF_RAW_SESSION) take_session(t, item);
    if (item->kind == PROF_RAW_THREAD && t->one_core)
        *map_put(&t->threads, item->thread, NULL) = (uint64_t)item->value;
    if (item->kind == PROF_RAW_THREAD && raw_is_cpu_row(item)) t->cpu_row = item->thread + 1;
    if (item->kind == PROF_RAW_ZONE && item->thread < 1 << 20 && item->thread + 1 != t->cpu_row) {
        take_zone(t, item);
        take_interrupt(t, item);
    }
}

static struct top_known *known_of(top_view *t, const char *name) {
    uint32_t number = row_of(t, name);
    GROW_TO(t->known, number, t->known_capacity);
    return &t->known[number];
}

static void make_row(top_view *t, const prof_average *a, top_row *row) {
    struct top_known *before = known_of(t, a->key), now = {
        (int64_t)a->count, a->self_cpu_time_total_ns
    };
    *row = (top_row){a->key, now.calls, a->cpu_time_total_ns, now.self, now.calls - before->calls,
                     now.self - before->self};
    *before = now;
}

static void make_rows(top_view *t) {
    t->row_count = call_sums_look(t->sums, NULL, 0);
    t->averages = reallocate(t->averages, t->row_count * sizeof *t->averages);
    t->rows = reallocate(t->rows, t->row_count * sizeof *t->rows);
    call_sums_look(t->sums, t->averages, t->row_count);
    for (size_t i = 0; i < t->row_count; i++) make_row(t, &t->averages[i], &t->rows[i]);
}

/* A program may make up names and threads for ever. */
static void look_at_memory(top_view *t) {
    enum { MOST = 256 };                 /* MB */
    t->full = !memory_unbounded && memory_taken() - t->memory_before > (int64_t)MOST << 20;
    if (!t->full) return;
    note_cut_input();
    warn(t->path, "byte %llu: the names and threads up to there take more than %d MB; the table "
         "has nothing of what comes behind it (--any-memory: it has)",
         (unsigned long long)t->bytes, MOST);
}

void top_push(top_view *t, const void *data, size_t size) {
    if (t->full) return;
    prof_raw_feed(t->raw, data, size);
    t->bytes += size;
    look_at_memory(t);
}

static bool read_piece(top_view *t) {
    char piece[PIECE];
    ssize_t got = t->file < 0 ? 0 : read(t->file, piece, sizeof piece);
    if (got > 0) top_push(t, piece, (size_t)got);
    return got > 0;
}

/* What has come since the last time, and in how long. A line may always have more. */
static void read_more(top_view *t) {
    double now = seconds_now();
    for (int pieces = 0; !t->full && read_piece(t) && (!t->comes || pieces < 256); pieces++) {}
    make_rows(t);
    t->since = t->last > 0 ? now - t->last : 0;
    t->last = now;
}

/* ---- The table ---- */

static const top_view *sorting;
static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const top_row *r = sorting->rows + x, *s = sorting->rows + y;
    int64_t by = 0;
    switch (sorting->sort) {
    case BY_SELF: by = s->self - r->self; break;
    case BY_TOTAL: by = s->total - r->total; break;
    case BY_CALLS: by = s->calls - r->calls; break;
    case BY_RATE: by = s->self_since - r->self_since; break;
    default: by = strcmp(r->name, s->name);
    }
    return by ? (by > 0) - (by < 0) : (x > y) - (x < y);
}

static void write_name(FILE *out, const char *name, size_t width) {
    size_t count = 0, size;
    const char *shown;
    for (; *name && count < width; count++) {
        name += plain_next(name, &shown, &size);
        fwrite(shown, 1, size, out);
    }
    fprintf(out, "%*s", (int)(width - count), "");
}

static void write_losses(top_view *t) {
    losses now = t->lost;
    raw_losses counts = t->raw_lost;
    size_t index = 0;
    char line[320];
    losses_end_raw(&now, &counts);
    while (losses_next(&now, &index, line)) fprintf(t->out, "%s: %s\n", t->path, line);
    if (!t->interrupts_ns) return;
    format_time(line, sizeof line, (double)t->interrupts_ns / 1e3);
    fprintf(t->out, "%s: Interrupts, whose time counts in what they interrupted, too: %s\n",
            t->path, line);
}

static void write_row(top_view *t, const top_row *row, int64_t all, size_t width) {
    char self[32], total[32], share[32], rate[32] = "-", busy[32] = "-";
    format_time(self, sizeof self, (double)row->self / 1e3);
    format_time(total, sizeof total, (double)row->total / 1e3);
    format_share(share, sizeof share, (double)row->self, (double)all);
    if (t->since > 0) {
        format_share(busy, sizeof busy, (double)row->self_since, t->since * 1e9);
        snprintf(rate, sizeof rate, "%.0f", (double)row->calls_since / t->since);
    }
    write_name(t->out, row->name, width);
    fprintf(t->out, " %8s %10s %10s %10lld %10s %8s\n", share, self, total,
            (long long)row->calls, rate, busy);
}

/* Rates are those between the last two readings, per second; "now" is the share of a thread's
   time. */
static void look(top_view *t, size_t lines, size_t columns) {
    uint32_t *order = allocate((t->row_count + 1) * sizeof *order);
    size_t width = columns > 92 ? columns - 62 : 30;
    int64_t all = 0;
    if (width > 60) width = 60;
    for (size_t i = 0; i < t->row_count; i++) order[i] = (uint32_t)i, all += t->rows[i].self;
    sorting = t;
    qsort(order, t->row_count, sizeof *order, compare);
    if (t->keys >= 0) fputs("\033[H\033[J", t->out);
    write_losses(t);
    const char *state = t->paused ? ", paused" : t->full ? ", full" : t->ended ? ", ended" : "";
    fprintf(t->out, "%s: %.1f MB, %zu names, by %s%s\n", t->path, (double)t->bytes / 1e6,
            t->row_count, sorts[t->sort], state);
    write_name(t->out, "Name", width);
    fprintf(t->out, " %8s %10s %10s %10s %10s %8s\n", "Self %", "Self", "Total", "Calls",
            "Calls/s", "Now %");
    for (size_t i = 0; i < t->row_count && i < lines; i++)
        write_row(t, &t->rows[order[i]], all, width);
    fflush(t->out);
    free(order);
}

static void look_fitting(top_view *t) {
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    if (t->keys >= 0) (void)ioctl(fileno(t->out), TIOCGWINSZ, &size);
    look(t, size.ws_row > BEFORE_END ? size.ws_row - 4u : 20, size.ws_col);
}

/* ---- Keys ---- */

/* The terminal's, where the table goes to one: stdin may be the program's. */
static void keys_open(top_view *t) {
    struct termios with;
    t->keys = isatty(fileno(t->out)) ? open("/dev/tty", O_RDONLY | O_CLOEXEC) : -1;
    if (t->keys < 0 && isatty(fileno(t->out))) t->keys = dup(fileno(t->out));
    if (t->keys < 0 || tcgetattr(t->keys, &t->before) != 0) return;
    with = t->before;
    with.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(t->keys, TCSANOW, &with);
}

static void keys_close(top_view *t) {
    if (t->keys < 0) return;
    tcsetattr(t->keys, TCSANOW, &t->before);
    close(t->keys);
}

static void take_key(top_view *t) {
    char key = 0;
    if (read(t->keys, &key, 1) != 1) return;
    if (key == 'q') t->quit = true;
    if (key == 'p') t->paused = !t->paused;
    if (key == 's') t->sort = (top_sort)((t->sort + 1) % SORTS);
    if (key == 's' || key == 'p') look_fitting(t);
}

/* The end of a file is no end while the stream goes on. */
static bool at_end(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           lseek(fd, 0, SEEK_CUR) >= status.st_size;
}

/* Something of either, or nothing for so long. */
static bool wait_either(top_view *t, int fd, double seconds) {
    bool grows = at_end(fd);
    struct pollfd both[] = {{.fd = t->keys, .events = POLLIN},
                            {.fd = grows ? -1 : fd, .events = POLLIN}};
    if (grows && seconds > 0.05) seconds = 0.05;
    if (seconds < 0 || poll(both, 2, (int)(seconds * 1000) + 1) <= 0) return false;
    if (both[0].revents) take_key(t);
    return both[1].revents != 0;
}

/* A second, or less: a key is heeded at once, and a stream that there is at last. */
static void wait_second(top_view *t) {
    double until = seconds_now() + (t->file < 0 ? 0.02 : 1);
    while (!t->quit && !interrupted()) {
        double left = until - seconds_now();
        if (left <= 0) return;
        if (wait_either(t, t->comes ? t->file : -1, left)) t->comes = read_piece(t);
    }
}

/* ---- Both commands ---- */

static bool name_site(void *user, uint32_t at, const char *build, prof_site *site) {
    const top_view *t = user;
    return t->elf && elf_site(t->elf, at, build, site);
}

static bool top_open(top_view *t, FILE *out) {
    t->out = out;
    t->memory_before = memory_taken();
    t->memory = allocate(RAW_READER);
    prof_raw_desc desc = {
        .memory = t->memory, .memory_size = RAW_READER, .item = take, .user = t,
        .elf_site = name_site, .shown = demangled
    };
    call_sums_desc sums = {.more = more_memory, .user = t};
    if (prof_raw_open(&desc, &t->raw) != PROF_OK) return false;
    t->sums = call_sums_open(&sums);
    keys_open(t);
    return true;
}

static void top_close(top_view *t) {
    keys_close(t);
    free(t->memory);
    free(t->averages);
    free(t->rows);
    free(t->known);
    map_free(&t->threads);
    arena_free(&t->sums_memory);
    if (t->file >= 0) close(t->file);
}

/* ---- A stream that someone else reads ---- */

bool top_can(int file) {
    char magic[4];
    off_t at = lseek(file, 0, SEEK_CUR);
    return at < 0 || pread(file, magic, 4, at) < 4 || raw_is(magic, 4);
}

top_view *top_begin(const char *path, elf_names *elf, FILE *out) {
    top_view *t = allocate(sizeof *t);
    t->path = path;
    t->elf = elf;
    t->file = -1;
    t->last = seconds_now();
    t->next = t->last + 1;
    if (top_open(t, out)) return t;
    free(t);
    return NULL;
}

static void look_again(top_view *t) {
    t->next = seconds_now() + 1;
    t->looked = t->bytes;
    if (t->paused) return;
    read_more(t);
    look_fitting(t);
}

bool top_wait(top_view *t, int fd) {
    bool more = false;
    while (!more && !t->quit && !interrupted()) {
        more = wait_either(t, fd, t->next - seconds_now());
        if (seconds_now() < t->next) continue;
        if (!more && t->ended && t->looked == t->bytes) return false;
        look_again(t);
    }
    if (t->quit) raise(SIGINT);          /* for whoever reads, as Ctrl-C */
    return more;
}

void top_end(top_view *t) {
    t->paused = false;
    t->last = 0;                         /* there are no rates any more */
    look_again(t);
    top_close(t);
    free(t);
}

void top_watch(pid_t program, record_notes *notes, int notes_file) {
    top_view t = {.file = -1};
    siginfo_t over = {.si_pid = 0};
    char path[PATH_ROOM];
    if (!top_open(&t, stderr)) return;
    while (!t.quit && waitid(P_PID, (id_t)program, &over, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           !over.si_pid) {
        record_notes_read(notes, notes_file);
        record_note *start = record_find(notes, "start", 0, 0);
        if (t.file < 0 && start) {
            snprintf(path, sizeof path, "%s/%s", notes->folder, start->text);
            t.path = path;
            t.file = open(t.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        }
        if (!t.paused) read_more(&t);
        if (!t.paused && t.file >= 0) look_fitting(&t);
        wait_second(&t);
    }
    read_more(&t);
    if (t.file >= 0 && !t.quit) look_fitting(&t);    /* the last one */
    top_close(&t);
}

static int follow(top_view *t, int64_t looks, const asking *a) {
    interrupts_take();
    for (int64_t i = 1; !t->quit && !interrupted(); i++) {
        if (!t->paused) read_more(t);
        if (!t->paused) look_fitting(t);
        if (t->ended || i >= looks || ferror(t->out) || (a && asking_over(a))) break;
        wait_second(t);
    }
    return EXIT_OK;
}

/* The window of a process, whose stream comes from a child that reads it. */
static int follow_process(top_view *t, const char *pid, int64_t looks) {
    recording r = {.output = "-"};
    asking a;
    int status = EXIT_BAD;
    if (!asking_open(&a, pid) || !asking_folder(&a, &r)) return EXIT_BAD;
    interrupts_take();
    bool open_now = asking_begin(&a, 0);
    const record_note *error = record_find(&a.notes, "error", 0, 0);
    t->path = a.process;
    t->file = -1;
    if (error) fail(a.process, "%s", error->text);
    else if (open_now && !asking_streams(&a))
        fail(a.process, "what it records cannot be streamed: prof window keeps it");
    else if (open_now && !foreign_read(&a.other, "trace.raw", -1, UINT64_MAX))
        fail(a.process, "its stream cannot be read: %s", strerror(errno));
    else if (open_now && top_open(t, stdout)) {
        t->file = a.other.line;
        t->comes = true;
        status = follow(t, looks, &a);
        t->file = -1;
        top_close(t);
    }
    asking_end(&a);
    asking_close(&a);
    tree_remove(r.folder);
    return status;
}

static int run(int argc, char **argv) {
    top_sort sort = BY_SELF;
    int64_t looks = INT64_MAX;
    const option_spec options[] = {
        {"looks", 'l', OPTION_COUNT, &looks, "N",
         "print the table N times (until q or the stream's end)"},
        {"sort", 's', OPTION_WORD, &sort, "self|total|calls|rate|name", "the column (self)"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&top_command, options, argc, argv, &status);
    top_view t = {.path = argv[1], .sort = sort};
    if (count < 0) return status;
    if (argv[1][strspn(argv[1], "0123456789")] == 0 && access(argv[1], F_OK) != 0)
        return follow_process(&t, argv[1], looks);
    t.file = open(t.path, O_RDONLY | O_CLOEXEC);
    if (t.file < 0 || read(t.file, &status, 0) < 0) return fail(t.path, "%s", strerror(errno));
    if (!top_can(t.file)) {
        close(t.file);
        return fail(t.path, "byte 0: this is not a raw stream of prof.h (prof report reads other "
                    "traces)");
    }
    if (!top_open(&t, stdout)) return fail(NULL, "out of memory");
    status = follow(&t, looks, NULL);
    top_close(&t);
    return status;
}
