/* prof record: runs a program that has prof.h in it, and reports on the trace it writes. */
#define _GNU_SOURCE                      /* memfd_create */
#include "base/files.h"
#include "base/output.h"
#include "commands/calls.h"
#include "commands/recording.h"
#include "commands/top.h"
#include "input/losses.h"
#include "input/pftrace.h"
#include "input/raw_ahead.h"
#include "input/trace_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#  include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int run(int argc, char **argv);

const command record_command = {
    "record", "[OPTION]... COMMAND [ARGUMENT]...",
    "run a program that uses prof.h, and report on its trace",
    "  prof record ./train data.bin\n"
    "      runs the program with PROF_TRACE in its environment, for prof_start_env;\n"
    "      keeps its stream in trace.raw, even if the program is killed, and prints\n"
    "      the table to stderr. The exit status is the program's. Every prof command\n"
    "      reads trace.raw; prof export -o trace.pftrace trace.raw makes the file for\n"
    "      ui.perfetto.dev\n"
    "  prof record -o run.pftrace -n 30 ./train\n"
    "      makes that file directly, and prints 30 rows; .json and .json.gz are\n"
    "      larger\n"
    "  prof record --top ./server\n"
    "      the table once a second while it runs\n"
    "  prof record --mode ring --memory 8M -- ./train\n"
    "      the last zones, in 8 MiB; writes trace.json, as for all that cannot be\n"
    "      streamed\n"
    "  prof record --wait -- ./server\n"
    "      starts it, and records nothing until prof window or prof top asks\n"
    "  prof record --heap ./server\n"
    "      records each malloc and free: columns in the table, prof memory trace.raw\n",
    run, 1, INT_MAX
};

enum { CANNOT_RUN = 126, NOT_FOUND = 127, KILLED = 128 /* + the signal: as the shell has it */ };
enum { KEPT = 64 };                      /* beside an exit status: the folder stays */
enum { MOST_NOTES = 1 << 28 };           /* bytes; what is not told is found in the folder */

/* ---- Names ---- */

static bool to_stdout(const char *path) {
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* A pipe, a device: it is written as it comes, and there is nothing beside it. */
static bool is_special(const char *path) {
    struct stat st;
    return to_stdout(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static bool has_known_ending(const char *path) {
    const char *ending = strrchr(file_name(path), '.');
    return !ending || strcmp(ending, ".json") == 0 || strcmp(ending, ".raw") == 0 ||
           strcmp(ending, ".pftrace") == 0 || strcmp(ending, ".%p") == 0 ||
           ends_with(path, ".json.gz");
}

bool recording_check(const char *path, const char *program) {
    const char *mode = getenv("PROF_MODE");
    char folder[PATH_ROOM];
    struct stat st, run;
    bool there = stat(path, &st) == 0;
    if (!there && errno != ENOENT)
        return fail(path, "cannot be created: %s", strerror(errno)), false;
    if (to_stdout(path)) return true;
    if (there && stat(program, &run) == 0 && run.st_dev == st.st_dev && run.st_ino == st.st_ino)
        return fail(path, "this is the program: give -o another file"), false;
    if (!*path || ends_with(path, "/") || (there && S_ISDIR(st.st_mode)))
        return fail(path, "is a folder: give -o a file"), false;
    if (there && !S_ISREG(st.st_mode)) return true;
    if (!has_known_ending(path))
        return fail(path, "record writes .raw, .pftrace, .json and .json.gz; prof export makes "
                    "others of them"), false;
    if (ends_with(path, ".raw") && mode && *mode && strcmp(mode, "stream") != 0)
        return fail(path, "--mode %s writes JSON: give -o a name that ends in .json", mode), false;
    if (there && ((st.st_mode & 0222) == 0 || access(path, W_OK) != 0))
        return fail(path, "is read-only"), false;
    folder_of(path, folder);
    if (!there && access(*folder ? folder : ".", W_OK | X_OK) != 0)
        return fail(path, "cannot be created: %s", strerror(errno)), false;
    return true;
}

/* The name of a process's file beside the output: %p in that is the process, else it stands before
   the ending. base: the name that the process gave it, PID.raw, PID-2.json and such; or "". ending
   NULL: the output's. */
static void name_of(const recording *r, const char *base, const char *ending,
                    char name[PATH_ROOM]) {
    static const char *const endings[] = {".json.gz", ".json", ".pftrace", ".raw", ""};
    int size = (int)strlen(r->output), id = (int)strcspn(base, "."), i = 0;
    while (!ends_with(r->output, endings[i])) i++;
    size -= (int)strlen(endings[i]);
    if (!ending) ending = endings[i];
    const char *place = strstr(r->output, "%p");
    if (place)
        snprintf(name, PATH_ROOM, "%.*s%.*s%.*s%s", (int)(place - r->output), r->output, id, base,
                 size - (int)(place + 2 - r->output), place + 2, ending);
    else
        snprintf(name, PATH_ROOM, "%.*s%s%.*s%s", size, r->output, id ? "." : "", id, base, ending);
}

/* ---- The program ---- */

static volatile sig_atomic_t running, waiting, early;    /* processes; a signal before them */
static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGABRT,
                             SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGPIPE, SIGPOLL};
enum { DEADLY = sizeof deadly / sizeof *deadly };

/* What ends prof record ends the program. An interrupt and such are for the program anyway, which
   the terminal tells; after it they end what makes the trace. */
static void tell(int number) {
    bool keys = number == SIGINT || number == SIGQUIT;
    if (running > 0 && !keys && number != SIGPIPE) kill((pid_t)running, number);
    if (waiting > 0) kill((pid_t)waiting, SIGKILL);
    if (running == 0) early = number;
}

static void signals_set(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler}, before;
    for (int i = 0; i < DEADLY; i++)
        if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(deadly[i], &action, NULL);
}

/* Where the program's sessions tell of themselves: a file without a name. Its first line says whose
   it is: when record has ended, its path may lead to another file. */
static int open_status(char path[PATH_ROOM]) {
#ifdef __linux__
    int file = memfd_create("prof record", MFD_CLOEXEC);
    if (file >= 0) snprintf(path, PATH_ROOM, "/proc/%ld/fd/%d", (long)getpid(), file);
#else
    int n = snprintf(path, PATH_ROOM, "%s/prof.XXXXXX", temporary_folder());
    int file = n < PATH_ROOM ? mkstemp(path) : -1;
#endif
    return file >= 0 && write(file, "prof record\n", 12) == 12 ? file : -1;
}

bool recording_open(recording *r) {
    char beside[PATH_ROOM], own[PATH_ROOM];
    folder_of(r->output, beside);
    r->was = file_look(r->output);
    r->was_json = file_look("trace.json");
    if (!is_special(r->output)) leftovers_remove(beside);
    r->lock = is_special(r->output) ? -1 : folder_make(beside, 0700, own);
    if (r->lock < 0) {
        snprintf(beside, sizeof beside, "%s/", temporary_folder());
        r->lock = folder_make(beside, 0700, own);
    }
    if (r->lock >= 0 && realpath(own, r->folder)) return true;
    return fail(beside, "no folder for the traces of processes: %s", strerror(errno)), false;
}

/* ---- --heap: the library that is preloaded, examples/heap/heap.c ---- */

static const unsigned char heap_library[] = {
#include "heap_so.h"
};

/* Puts it into the folder, and its name into the environment; LD_PRELOAD's names end at a space. */
static bool preload_heap(const recording *r) {
    const char *others = getenv("LD_PRELOAD");
    char name[PATH_ROOM], *list;
    bool long_name = snprintf(name, sizeof name, "%s/heap.so", r->folder) >= PATH_ROOM;
    if (sizeof heap_library == 1)
        return fail("--heap", "this prof was built without the library"), false;
    if (long_name || strpbrk(name, " :"))
        return fail(r->folder, "--heap preloads a library from here, so the folder of -o needs a "
                    "short name without spaces and colons"), false;
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    bool good = file >= 0 &&
                write(file, heap_library, sizeof heap_library) == (ssize_t)sizeof heap_library;
    if (!good) fail(name, "cannot be written: %s", strerror(errno));
    if (file >= 0) close(file);
    list = allocate(strlen(name) + (others ? strlen(others) : 0) + 2);
    sprintf(list, "%s%s%s", name, others ? ":" : "", others ? others : "");
    good = good && setenv("LD_PRELOAD", list, 1) == 0 &&
           setenv("PROF_PROFILE_MEMORY", "1", 1) == 0;
    free(list);
    return good;
}

/* Was the program's heap told? The library says why not, before the session; the last one counts,
   for exec. */
static void tell_heap(recording *r, const record_note *first) {
    const char *why = "the library was not loaded: the program is static, or has other rights";
    for (const record_note *note = r->notes.items; note < first; note++)
        if (note->pid == first->pid && strcmp(note->what, "heap") == 0) why = note->text;
    if (!*why) return;
    if (strcmp(why, "linked") == 0) {
        warn(r->program, "it wraps malloc itself, as examples/heap/heap.c does: --heap leaves it "
             "to that, which does not see the calls of shared libraries");
        return;
    }
    fail(r->program, "--heap told nothing: %s. Or link examples/heap/heap.c into it", why);
    r->failed = true;
}

void recording_pattern(const char *folder, const char *file, char pattern[2 * PATH_ROOM]) {
    char *p = pattern;
    for (const char *from = folder; *from && p < pattern + 2 * PATH_ROOM - 16; from++) {
        if (*from == '%') *p++ = '%';
        *p++ = *from;
    }
    *p++ = '/';
    strcpy(p, file);                     /* "%p.raw", "trace.raw" */
}

static int exec_program(char **line, const recording *r) {
    char pattern[2 * PATH_ROOM];
    recording_pattern(r->folder, "%p.raw", pattern);
    if (fcntl(r->lock, F_DUPFD, 100) < 0)        /* it holds the folder's lock, with its children */
        fcntl(r->lock, F_SETFD, 0);
    if (setenv("PROF_TRACE", pattern, 1) == 0 && setenv("PROF_STATUS", r->status_path, 1) == 0)
        execvp(line[0], line);
    return errno;
}

/* Of all files in the folder, bytes. */
static int64_t size_so_far(const recording *r) {
    DIR *list = opendir(r->folder);
    int64_t size = 0;
    struct stat st;
    for (struct dirent *entry; list && (entry = readdir(list)); )
        if (fstatat(dirfd(list), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            size += (int64_t)st.st_size;
    if (list) closedir(list);
    return size;
}

/* So that no disk fills unseen: 100 MB, 200, 400, ... */
static void tell_size(recording *r) {
    int64_t size = size_so_far(r);
    if (size < r->next_size) return;
    warn(r->output, "%.0f MB streamed so far", (double)size / 1e6);
    while (r->next_size <= size) r->next_size *= 2;
}

static void child_ended(int number) { (void)number; }        /* it ends pselect */

/* The next child that ends, which the size is told before; < 0: there is none. */
static pid_t wait_any(recording *r, int *how) {
    const struct timespec second = {1, 0};
    sigset_t child, before;
    pid_t ended;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signal(SIGCHLD, child_ended);
    sigprocmask(SIG_BLOCK, &child, &before);
    sigdelset(&before, SIGCHLD);
    while ((ended = waitpid(-1, how, WNOHANG)) == 0)
        if (pselect(0, NULL, NULL, NULL, &second, &before) == 0) tell_size(r);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ended;
}

/* Waits until the program has ended. What outlives its parent becomes record's child: so at the end
   it is known whether anything is left. Workers often end a moment after the one that made them. */
static void wait_program(recording *r, int *status) {
    const struct timespec moment = {0, 10000000};
    pid_t ended = 0;
    int how;
    while (ended != r->child && ended >= 0) ended = wait_any(r, &how);
    if (ended == r->child) *status = how;
    early = 0;
    running = 0;
    for (int i = 0; i < 20 && !early && (ended = waitpid(-1, &how, WNOHANG)) >= 0; i += !ended)
        if (!ended) nanosleep(&moment, NULL);
#ifdef __linux__
    r->left = ended == 0;
#else
    r->left = -1;
#endif
}

/* Says so, and returns the shell's exit status. */
static int cannot_run(const char *program, int error) {
    if (error == ENOENT && !strchr(program, '/') && access(program, X_OK) == 0)
        fail(program, "cannot be run: it is not in PATH; did you mean ./%s?", program);
    else
        fail(program, "cannot be run: %s", strerror(error));
    return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
}

/* The status with which the program ended, as waitpid has it. False: it could not be run; *status
   is the shell's then. */
static bool run_program(char **line, recording *r, bool top, int *status) {
    int error = 0, ends[2];
    *status = CANNOT_RUN;
    if (pipe(ends) != 0) return fail(NULL, "no pipe: %s", strerror(errno)), false;
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
    void (*children)(int) = signal(SIGCHLD, SIG_DFL);        /* ignored, there is no status */
    r->child = fork();
    if (r->child == 0) {
        close(ends[0]);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        signals_set(SIG_DFL);
        signal(SIGCHLD, children);
        error = exec_program(line, r);
        if (write(ends[1], &error, sizeof error) < 0) error = 0;     /* nobody is left to tell */
        _exit(CANNOT_RUN);
    }
    close(ends[1]);
    running = r->child > 0 ? r->child : 0;
    if (early && running) kill(r->child, early);
    if (r->child < 0) error = errno;
    else while (read(ends[0], &error, sizeof error) < 0 && errno == EINTR) {}
    close(ends[0]);
    if (top && !error) top_watch(r->child, &r->notes, r->status_file);
    if (r->child > 0) wait_program(r, status);
    if (!error) return true;
    *status = cannot_run(line[0], error);
    return false;
}

/* ---- What its sessions told ---- */

/* The first session of a process and a file: programs that exec runs, one after the other, name the
   same one until one of them writes it. */
static record_note *start_of(const recording *r, long pid, const char *file) {
    record_note *start = record_find(&r->notes, "start", pid, 0);
    while (start && strcmp(start->text, file) != 0)
        start = record_find(&r->notes, "start", pid, (size_t)(start - r->notes.items) + 1);
    return start;
}

/* Has a session ended, whose note this is? */
static bool is_over(const recording *r, const record_note *start) {
    size_t from = (size_t)(start - r->notes.items);
    const record_note *end = record_find(&r->notes, "end", start->pid, from);
    const record_note *next = record_find(&r->notes, "start", start->pid, from + 1);
    if (!end) end = record_find(&r->notes, "failed", start->pid, from);
    return end && (!next || end < next);         /* next: exec, whose process is the same */
}

/* No link, and nothing that would have to be waited for. */
static int64_t size_of(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

/* The file of a note, which has its name in the folder. */
static char *file_of(const recording *r, const record_note *start, char path[PATH_ROOM]) {
    size_t size = strlen(r->folder);
    memcpy(path, r->folder, size);
    snprintf(path + size, PATH_ROOM - size, "/%s", start->text);
    return path;
}

/* The program itself has been waited for: its number may be another's by now. */
static bool is_living(const recording *r, const record_note *start) {
    if (start->pid == r->child || !r->left || is_over(r, start)) return false;
    return kill((pid_t)start->pid, 0) == 0 || errno != ESRCH;
}

/* ---- The trace ---- */

static int report(char *trace, const recording *r) {
    fflush(stdout);                              /* stdout is the program's */
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return fail("stderr", "%s", strerror(errno));
    return report_trace(trace, r->sort, r->limit);
}

/* Without a table its losses are told all the same, by who wrote it, or here. */
static int tell_losses(const recording *r, const char *trace) {
    if (r->told) return EXIT_OK;
    trace_reader *reader = trace_open(trace);
    if (!reader) return EXIT_BAD;
    while (trace_next(reader) != TRACE_END) {}
    return trace_close(reader);
}

static void count_zone(void *user, const prof_raw_item *item) {
    *(int64_t *)user += item->kind == PROF_RAW_ZONE;
}

/* Zones of a stream, at least; a zone takes 12 bytes. */
static int64_t zones_of(const char *path, int64_t most) {
    int64_t zones = 0;
    int file = size_of(path) / 12 > most ? open(path, O_RDONLY) : -1;
    if (file < 0) return 0;
    raw_read(file, 0, count_zone, &zones);
    close(file);
    return zones;
}

/* A file as it is, to another name: of its folder if that is free, else through the output. */
static bool put(recording *r, const char *file, const char *to) {
    static char piece[1 << 16];
    output out;
    ssize_t got = 0;
    (void)r;
    if (!is_special(to) && !ends_with(to, ".gz") && link(file, to) == 0) return true;
    int from = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0) return fail(file, "%s", strerror(errno)), false;
    bool good = output_open(&out, to);
    while (good && (got = read(from, piece, sizeof piece)) > 0)
        output_write(&out, piece, (size_t)got);
    close(from);
    return good && output_close(&out, got < 0 ? EXIT_BAD : EXIT_OK) == EXIT_OK;
}

static int make_pftrace(const char *file, const char *to) {
    output out;
    if (!output_open(&out, to)) return EXIT_BAD;
    return output_close(&out, pftrace_write(file, false, &out));
}

/* What the ending asks for, of what a session wrote. */
static bool make(recording *r, const char *file, const char *to) {
    if (r->with_report) losses_hold();           /* it tells them, and warns */
    warnings_hold(r->with_report);
    int status = ends_with(to, ".pftrace") ? make_pftrace(file, to) : decode_file(file, to);
    warnings_hold(false);
    losses_forget();
    r->told = status != EXIT_BAD;
    inputs_forget();
    return status != EXIT_BAD;
}

/* To the output, or where another one has written that since the start, to that name with the
   process's number. */
static bool deliver(recording *r, const record_note *first, const char *file, bool converts,
                    char name[PATH_ROOM]) {
    bool (*const how)(recording *, const char *, const char *) = converts ? make : put;
    bool plain = !is_special(r->output) && !strstr(r->output, "%p"), done = false;
    const file_state none = {.there = false};
    if (plain) outputs_only_over(&r->was);
    if (!plain || !file_is_other(name, &r->was)) done = how(r, file, name);
    if (plain && !done && file_is_other(name, &r->was)) {
        name_of(r, first->text, NULL, name);
        outputs_only_over(&none);
        done = how(r, file, name);
        if (done)
            warn(name, "the trace of process %ld: another one has written %s since it started, "
                 "which stays", first->pid, r->output);
    } else if (strcmp(name, r->output) != 0) {
        warn(NULL, "the trace is %s", name);
    }
    outputs_only_over(NULL);
    return done;
}

/* A file gets the first of its names that is free, too: without the process's number, if plainly,
   or with it. Else it stays where it is. name: what it is then. */
static void put_beside(recording *r, const record_note *start, bool plainly,
                       char name[PATH_ROOM]) {
    const char *ending = strrchr(start->text, '.');
    char file[PATH_ROOM];
    file_of(r, start, file);
    plainly &= !strstr(r->output, "%p");
    for (int i = plainly ? 0 : 1; i < 2 && !is_special(r->output); i++) {
        name_of(r, i ? start->text : "", ending, name);
        if (link(file, name) == 0) return;
    }
    r->kept = true;
    strcpy(name, file);
}

/* The trace of the first session, to where it was asked for. */
static void take_trace(recording *r, const record_note *first, char *file) {
    static char name[PATH_ROOM];                 /* by which the file is told, from now on */
    bool raw = ends_with(first->text, ".raw");
    if (!raw && r->is_default) r->output = "trace.json", r->was = r->was_json;
    bool wants_raw = ends_with(r->output, ".raw");
    bool converts = raw ? !wants_raw : ends_with(r->output, ".pftrace");
    int64_t zones = raw && converts ? zones_of(file, r->most) : 0;
    bool many = zones > r->most, other = !raw && wants_raw, done = false;
    name_of(r, strstr(r->output, "%p") ? first->text : "", NULL, name);
    name_errors(file, name);
    if (other) fail(r->output, "the program's session writes JSON");
    else if (!many) done = deliver(r, first, file, converts, name);
    r->failed |= !done && !many;
    if (!done) put_beside(r, first, true, name);
    if (many)
        warn(name, "%lld zones stay a raw stream; prof cut --from 1s --to 2s -o part.json %s makes "
             "the JSON of a part", (long long)zones, name);
    else if (r->is_default && raw && done)
        warn(name, "%.1f MB; prof export -o trace.pftrace %s makes the file for ui.perfetto.dev",
             (double)size_of(name) / 1e6, name);
}

/* Of the sessions after the first, which are other processes' or of programs that exec ran: a shell
   may have thousands. The file of a living process stays in the folder, where it goes on. */
static void take_others(recording *r, const record_note *first) {
    enum { MOST = 20 };
    size_t others = 0;
    for (size_t i = 0; i < r->notes.count; i++) {
        const record_note *note = r->notes.items + i;
        char name[PATH_ROOM];
        if (strcmp(note->what, "start") != 0) continue;
        if (is_living(r, note)) r->left = 1;
        else if (note != first && start_of(r, note->pid, note->text) == note &&
                 size_of(file_of(r, note, name)) > 0) {
            put_beside(r, note, false, name);
            if (others++ < MOST)
                warn(name, "process %ld%s", note->pid,
                     is_over(r, note) ? "" : ", whose end was not seen");
        }
    }
    if (others > MOST)
        warn(NULL, "%zu more processes have such files", others - MOST);
    if (r->left > 0)
        warn(r->folder, "processes of %s are still running: their traces are, or will be, there",
             r->program);
}

/* Where a process could not tell (it has no descriptor left, another /proc), its file does. */
static void find_starts(recording *r) {
    DIR *list = opendir(r->folder);
    for (struct dirent *entry; list && (entry = readdir(list)); ) {
        record_note note = {.pid = atol(entry->d_name), .text = entry->d_name};
        if (note.pid > 0 && !start_of(r, note.pid, note.text))
            record_add(&r->notes, "start", note.pid, note.text);
    }
    if (list) closedir(list);
}

/* The session of the program itself, else of the first process that had one; NULL: none had. */
static const record_note *first_start(const recording *r) {
    const record_note *own = record_find(&r->notes, "start", r->child, 0);
    return own ? own : record_find(&r->notes, "start", 0, 0);
}

static void tell_none(const recording *r) {
    const record_note *first = first_start(r);
    if (first && !is_over(r, first) && ends_with(first->text, ".json"))
        fail(r->program, "ended before its session, whose trace is written at the end, or could "
             "not write it (as another user): --mode stream writes it as it comes");
    else if (first)
        fail(r->output, "is empty: nothing could be written to it");
    else if (record_find(&r->notes, "own", 0, 0))
        fail(r->program, "it calls prof_start itself, not prof_start_env: it was left as it is");
    else
        fail(r->program, "it wrote no trace to %s: is prof.h in it, and does it call "
             "prof_start_env? Variables do not get through sudo, nor to a set-user-id program, and "
             "without a file descriptor left (ulimit -n) there is no trace", r->output);
}

/* The program ended at once, or another one took its place; what its stream lacks then the stream
   tells. */
static void tell_cut(const recording *r, const record_note *first) {
    if (is_over(r, first)) return;
    if (r->signal) warn(r->program, "ended by a signal: %s", strsignal(r->signal));
    else if (ends_with(first->text, ".json"))
        warn(r->program, "ended before its session: this is the trace of a program that it ran in "
             "its place");
}

static void tell_notes(recording *r, bool any) {
    for (size_t i = 0; i < r->notes.count; i++) {
        const record_note *note = r->notes.items + i;
        bool error = strcmp(note->what, "error") == 0;
        if (error) fail(r->program, "prof_start_env: %s", note->text);
        if (strcmp(note->what, "failed") == 0) {
            if (strcmp(note->text, "no error") == 0) continue;
            fail(r->program, "process %ld: not all of its trace was written: %s", note->pid,
                 note->text);
            error = true;
        }
        if (strcmp(note->what, "kept") == 0)
            warn(r->program, "not streamed, since a stream cannot have %s: what the arena has no "
                 "room for goes into sums", note->text);
        r->failed |= error;
    }
    if (any || r->failed || r->left > 0) return;
    r->failed = true;
    tell_none(r);
}

/* What is there after the program's end; the exit status. */
static int finish(recording *r) {
    char file[PATH_ROOM];
    int status = r->left > 0 ? EXIT_OK : EXIT_BAD;
    record_notes_read(&r->notes, r->status_file);
    find_starts(r);
    const record_note *first = first_start(r);
    bool any = first && size_of(file_of(r, first, file)) > 0, living = any && is_living(r, first);
    if (any && !living) tell_cut(r, first);
    tell_notes(r, any);
    if (first && r->heap) tell_heap(r, first);
    if (any && !living) take_trace(r, first, file);
    if (any) status = living ? EXIT_OK : r->with_report ? report(file, r) : tell_losses(r, file);
    take_others(r, first);
    return r->failed ? EXIT_BAD : status;
}

/* The same in a process of its own: whatever ends it, its files can be removed. */
static int finish_apart(recording *r) {
    int status = 0;
    fflush(NULL);
    pid_t maker = fork();
    if (maker == 0) {
        signals_set(SIG_DFL);
        if (early) raise(early);
        int told = finish(r);
        fflush(NULL);
        _exit(told | (r->kept || r->left > 0 ? KEPT : 0));
    }
    waiting = maker;
    if (maker > 0 && early) kill(maker, SIGKILL);
    while (maker > 0 && waitpid(maker, &status, 0) < 0 && errno == EINTR) {}
    waiting = 0;
    if (maker < 0) return fail(NULL, "no process: %s", strerror(errno)) | KEPT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BAD;
}

int recording_end(recording *r, bool any) {
    int told = any ? finish_apart(r) : EXIT_OK;
    if (told & KEPT) fchmod(r->lock, 0700);      /* so the next run does not remove it */
    else tree_remove(r->folder);
    return told & ~KEPT;
}

static const struct { const char *option, *variable, *takes, *help; } settings[] = {
    {"mode", "PROF_MODE", "MODE", "trace, ring, stream, aggregate (stream)"},
    {"memory", "PROF_MEMORY", "BYTES", "size of the arena: 512K, 64M, 2G (64M)"},
    {"max-depth", "PROF_MAX_DEPTH", "N", "most zones open at once in a thread (64)"},
    {"max-threads", "PROF_MAX_THREADS", "N", "most threads that record at once (up to 256)"},
    {"categories", "PROF_CATEGORIES", "BITS", "which categories are on, such as 0x5 (all)"},
    {"counters", "PROF_COUNTERS", "LIST", "hardware counters, such as cycles,instructions"},
    {"shapes", "PROF_SHAPES", "0|1", "record shapes"},
    {"stacks", "PROF_STACKS", "KIND", "none, zones, frames, unwind (none)"},
    {"profile-memory", "PROF_PROFILE_MEMORY", "0|1", "record what is allocated"},
    {"exclude", "PROF_EXCLUDE", "NAME,...", "make no zones of these instrumented functions"},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* The program in place of this one: it records nothing until prof window asks. */
static int exec_waiting(char **line) {
    long pid = (long)getpid();
    warn(line[0], "process %ld waits: prof window --for 2s -o trace.pftrace %ld", pid, pid);
    execvp(line[0], line);
    return cannot_run(line[0], errno);
}

static int run(int argc, char **argv) {
    recording r = {.sort = "self_cpu_time_total", .limit = 20, .most = 10000000,
                   .with_report = true, .next_size = 100000000};
    bool top = false, waits = false;
    const char *values[SETTINGS] = {NULL};
    option_spec options[9 + SETTINGS] = {
        {"output", 'o', OPTION_TEXT, &r.output, "FILE", "the trace: .raw, .pftrace, .json or\n"
         "                               .json.gz; %p in it is the process (trace.raw)"},
        {"limit", 'n', OPTION_COUNT, &r.limit, "N", "rows of the table, or all (20)"},
        {"sort", 's', OPTION_TEXT, &r.sort, "METRIC", "of the table (self_cpu_time_total)"},
        {"zones", 0, OPTION_COUNT, &r.most, "N",
         "with more zones than this the trace stays .raw (10000000)"},
        {"report", 0, OPTION_FLAG, &r.with_report, NULL, "no table"},
        {"top", 0, OPTION_FLAG, &top, NULL, "print the table once a second while the program runs"},
        {"wait", 0, OPTION_FLAG, &waits, NULL, "record only when prof window or prof top asks"},
        {"heap", 0, OPTION_FLAG, &r.heap, NULL,
         "record each malloc and free, without marks in the code"},
    };
    for (int i = 0; i < SETTINGS; i++)
        options[8 + i] = (option_spec){settings[i].option, 0, OPTION_TEXT, values + i,
                                       settings[i].takes, settings[i].help};
    options[8 + SETTINGS] = (option_spec){NULL, 0, OPTION_COMMAND, NULL, NULL, NULL};
    int status, count = options_parse(&record_command, options, argc, argv, &status);
    if (count < 0) return status;
    for (int i = 0; i < SETTINGS; i++)
        if (values[i]) setenv(settings[i].variable, values[i], 1);
    if (waits) setenv("PROF_MODE", "wait", 1);
    const char *mode = getenv("PROF_MODE");
    if (mode && strcmp(mode, "wait") == 0) return exec_waiting(argv + 1);
    bool streams = !mode || !*mode || strcmp(mode, "stream") == 0;
    r.is_default = !r.output;
    if (!r.output) r.output = streams ? "trace.raw" : "trace.json";
    if (!recording_check(r.output, argv[1])) return EXIT_BAD;
    r.program = argv[1];
    r.status_file = open_status(r.status_path);
    if (r.status_file < 0) return fail(NULL, "no file for notes: %s", strerror(errno));
    signals_set(tell);
    if (!recording_open(&r)) return EXIT_BAD;
    r.notes.folder = r.folder;
    r.notes.most = MOST_NOTES;
    status = EXIT_BAD;
    bool ready = !r.heap || preload_heap(&r);
    bool ran = ready && run_program(argv + 1, &r, top, &status);
    if (ran && WIFSIGNALED(status)) r.signal = WTERMSIG(status);
    int told = recording_end(&r, ran);
    signals_set(SIG_DFL);
    if (early) raise(early);
    if (!ran) return status;
    status = WIFSIGNALED(status) ? KILLED + WTERMSIG(status) : WEXITSTATUS(status);
    return status ? status : told;
}
