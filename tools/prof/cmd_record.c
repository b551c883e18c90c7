/* prof record: runs a program that has prof.h in it, and reports on the trace it writes. */
#define _GNU_SOURCE                      /* memfd_create */
#include "record.h"

#include "losses.h"
#include "raw_memory.h"
#include "raw_rows.h"
#include "top.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int run(int argc, char **argv);

const command record_command = {
    "record", "[OPTION]... COMMAND [ARGUMENT]...",
    "run a program that has prof.h in it, and report on its trace",
    "  prof record ./train data.bin\n"
    "      runs it with PROF_TRACE in its environment, which prof_start_env of prof.h\n"
    "      heeds, makes trace.json of what it streams, also if it is killed, and prints\n"
    "      the table to stderr; the exit status is the program's\n"
    "  prof record -o run.json.gz -n 30 ./train\n"
    "      another file, and 30 rows\n"
    "  prof record --top ./server\n"
    "      the table once a second while it runs\n"
    "  prof record --mode ring --memory 8M -- ./train\n"
    "      each thread's last zones, in 8 MiB\n", run
};

extern const command report_command, decode_command;

enum { CANNOT_RUN = 126, NOT_FOUND = 127, KILLED = 128 /* + the signal: as the shell has it */ };
enum { STATUS_PATH = 1024 };

typedef struct recording {
    const char *program, *output, *sort;
    int64_t limit, most;                 /* rows; zones of a JSON */
    bool with_report;
    char *stem, *pattern;                /* output without its ending; PROF_TRACE */
    bool named;                          /* output has %p: files keep their names */
    int status_file;
    int signal;                          /* that ended the program; 0: none */
    pid_t child;
    time_t began;
    record_notes notes;
    bool failed;                         /* something was told, beside the program's own status */
    bool told;                           /* what the trace lost, without a report */
} recording;

/* ---- Names ---- */

static char *join(const char *a, const char *b) {
    char *whole = allocate(strlen(a) + strlen(b) + 1);
    strcpy(whole, a);
    return strcat(whole, b);
}

/* Absolute, for the program may change its folder. */
static char *absolute(const char *path) {
    char folder[4096];
    if (path[0] == '/' || !getcwd(folder, sizeof folder - 1)) return join(path, "");
    return join(strcat(folder, "/"), path);
}

static void drop_ending(char *path, const char *ending) {
    size_t n = strlen(path), end = strlen(ending);
    if (n > end && strcmp(path + n - end, ending) == 0) path[n - end] = 0;
}

static void name_files(recording *r) {
    char *whole = absolute(r->output);
    drop_ending(whole, ".gz");
    drop_ending(whole, ".json");
    drop_ending(whole, ".raw");
    r->stem = whole;
    r->named = strstr(whole, "%p") != NULL;
    r->pattern = join(whole, r->named ? ".raw" : ".%p.raw");
}

/* ---- The program ---- */

static volatile sig_atomic_t child_to_tell;
static void tell_child(int number) {
    if (child_to_tell > 0) kill((pid_t)child_to_tell, number);
}

/* Where the program's sessions tell of themselves: a file without a name. */
static int open_status(char path[STATUS_PATH]) {
#ifdef __linux__
    int file = memfd_create("prof record", MFD_CLOEXEC);
    if (file >= 0) snprintf(path, STATUS_PATH, "/proc/%ld/fd/%d", (long)getpid(), file);
    return file;
#else
    int n = snprintf(path, STATUS_PATH, "%s/prof.XXXXXX", temporary_folder());
    return n < STATUS_PATH ? mkstemp(path) : -1;
#endif
}

static int exec_program(char **line, const recording *r, const char *status) {
    if (setenv("PROF_TRACE", r->pattern, 1) == 0 && setenv("PROF_STATUS", status, 1) == 0)
        execvp(line[0], line);
    return errno;
}

/* Its exit status, as the shell has it. An interrupt is for the program: it may still save. What
   ends prof record ends the program. */
static int run_program(char **line, recording *r, const char *status_path, bool top) {
    int status = 0, error = 0, ends[2];
    if (pipe(ends) != 0) return fail(NULL, "no pipe: %s", strerror(errno)), CANNOT_RUN;
    r->began = time(NULL);
    r->child = fork();
    if (r->child == 0) {
        close(ends[0]);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        error = exec_program(line, r, status_path);
        if (write(ends[1], &error, sizeof error) < 0) error = 0;     /* nobody is left to tell */
        _exit(CANNOT_RUN);
    }
    close(ends[1]);
    child_to_tell = r->child;
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, tell_child);
    signal(SIGHUP, tell_child);
    if (r->child < 0) error = errno;
    else if (read(ends[0], &error, sizeof error) != sizeof error) error = 0;
    if (top && !error) top_watch(r->child, &r->notes, r->status_file);
    while (r->child > 0 && waitpid(r->child, &status, 0) < 0 && errno == EINTR) {}
    child_to_tell = 0;
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    close(ends[0]);
    if (error) {
        fail(line[0], "cannot be run: %s", strerror(error));
        return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
    }
    if (WIFSIGNALED(status)) r->signal = WTERMSIG(status);
    return WIFSIGNALED(status) ? KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- What its sessions told ---- */

static void add_note(record_notes *notes, const char *what, long pid, const char *text) {
    record_note note = {.pid = pid, .text = join(text, "")};
    strcpy(note.what, what);
    GROW(notes->items, notes->count, notes->capacity);
    notes->items[notes->count++] = note;
}

void record_notes_read(record_notes *notes, int file) {
    char text[8192];
    ssize_t got;
    while ((got = pread(file, text, sizeof text - 1, (off_t)notes->read)) > 0) {
        char *p = text, *end;
        text[got] = 0;
        for (; (end = strchr(p, '\n')) != NULL; p = end + 1) {
            char what[16];
            long pid;
            int at = 0;
            *end = 0;
            if (sscanf(p, "%15s %ld %n", what, &pid, &at) >= 2)
                add_note(notes, what, pid, at ? p + at : "");
        }
        if (p == text) return;                   /* a line that is not whole */
        notes->read += (uint64_t)(p - text);
    }
}

record_note *record_find(const record_notes *notes, const char *what, long pid, size_t from) {
    for (size_t i = from; i < notes->count; i++)
        if (strcmp(notes->items[i].what, what) == 0 && (!pid || notes->items[i].pid == pid))
            return notes->items + i;
    return NULL;
}

/* Has a session ended, whose note this is? */
static bool is_over(const recording *r, const record_note *start) {
    size_t from = (size_t)(start - r->notes.items);
    const record_note *end = record_find(&r->notes, "end", start->pid, from);
    const record_note *next = record_find(&r->notes, "start", start->pid, from + 1);
    if (!end) end = record_find(&r->notes, "failed", start->pid, from);
    return end && (!next || end < next);         /* next: exec, whose process is the same */
}

static int64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

static bool is_gone(pid_t process) { return kill(process, 0) != 0 && errno == ESRCH; }

/* ---- The trace ---- */

static int report(char *trace, const recording *r) {
    char rows[48], by[80];
    snprintf(rows, sizeof rows, "--limit=%lld", (long long)r->limit);
    snprintf(by, sizeof by, "--sort=%s", r->sort);
    char name[] = "report", *argv[] = {name, rows, by, trace, NULL};
    fflush(stdout);                              /* stdout is the program's */
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return fail("stderr", "%s", strerror(errno));
    return report_command.run(4, argv);
}

/* Without a table its losses are told all the same, by who made its JSON, or here. */
static int tell_losses(const recording *r, const char *trace) {
    if (r->told) return EXIT_OK;
    if (ends_with(trace, ".raw")) return raw_losses_read(trace);
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
    raw_read(file, 0, count_zone, &zones, NULL);
    close(file);
    return zones;
}

static const char *relative(const char *path) {
    static char folder[4096];
    size_t n = getcwd(folder, sizeof folder) ? strlen(folder) : 0;
    return n && strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/* The JSON of a stream; false: it stays as it is. */
static bool make_json(recording *r, char *raw, char *json) {
    char name[] = "decode", option[] = "-o", *argv[] = {name, option, json, raw, NULL};
    int64_t zones = zones_of(raw, r->most);
    if (zones > r->most) {
        warn(raw, "%lld zones stay a raw stream; prof cut --from 1s --to 2s -o part.json %s makes "
             "the JSON of a part", (long long)zones, raw);
        return false;
    }
    if (r->with_report) losses_hold();           /* it tells them */
    int status = decode_command.run(4, argv);
    losses_forget();
    r->told = status != EXIT_BAD;
    inputs_forget();
    if (status == EXIT_BAD) return r->failed = true, false;
    return true;
}

static bool is_writable(recording *r, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & 0222)) return true;
    r->failed = true;
    return fail(path, "is read-only"), false;
}

/* The name of the JSON that a stream becomes. */
static char *json_name(const recording *r, const char *raw) {
    if (!r->named) return absolute(r->output);
    char *stem = join(raw, "");
    drop_ending(stem, ".raw");
    char *name = join(stem, ends_with(r->output, ".gz") ? ".json.gz"
                            : ends_with(r->output, ".raw") ? ".raw" : ".json");
    free(stem);
    return name;
}

/* Gives the first session the name that was asked for. Returns that, if it can have it. */
static char *rename_first(recording *r, const char *file, const char *ending) {
    char *name = r->named ? join(file, "") : join(r->stem, ending);
    if (strcmp(name, file) == 0 || (is_writable(r, name) && rename(file, name) == 0)) return name;
    free(name);
    return join(file, "");
}

/* The trace of the first session, as JSON where it can be. Returns its name. */
static char *take_trace(recording *r, const char *file) {
    bool raw = ends_with(file, ".raw");
    char *own = rename_first(r, file, raw ? ".raw" : ".json");
    char *shown = join(relative(own), ""), *json = raw ? json_name(r, own) : NULL;
    free(own);
    if (!json || ends_with(json, ".raw")) return free(json), shown;
    char *to = join(relative(json), "");
    free(json);
    bool made = is_writable(r, to) && make_json(r, shown, to);
    if (made) unlink(shown);
    free(made ? shown : to);
    return made ? to : shown;
}

/* Of the sessions after the first, which are other processes' or of programs that exec ran: a shell
   may have thousands. */
static void list_others(const recording *r, const record_note *first) {
    enum { MOST = 20 };
    size_t others = 0;
    for (size_t i = 0; i < r->notes.count; i++) {
        const record_note *note = r->notes.items + i;
        if (strcmp(note->what, "start") != 0 || note == first || others++ >= MOST) continue;
        warn(relative(note->text), "process %ld%s", note->pid,
             is_over(r, note) ? "" : is_gone((pid_t)note->pid) ? ", whose end was not seen"
                                                   : ", which is still running");
    }
    if (others > MOST)
        warn(relative(r->pattern), "%zu more processes have such files", others - MOST);
}

/* Where the program could not tell, its file does. */
static void find_start(recording *r) {
    static const char *const endings[] = {".raw", ".json"};
    const char *id = strstr(r->pattern, "%p"), *behind = id + 2;
    int head = (int)(id - r->pattern), tail = (int)(strlen(behind) - strlen(".raw"));
    for (int i = 0; i < 2; i++) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%.*s%ld%.*s%s", head, r->pattern, (long)r->child, tail, behind,
                 endings[i]);
        if (stat(path, &st) == 0 && st.st_mtime >= r->began)
            add_note(&r->notes, "start", r->child, path);
    }
}

/* The session of the program itself, else of the first process that had one; NULL: none had. */
static record_note *first_start(const recording *r) {
    record_note *own = record_find(&r->notes, "start", r->child, 0);
    return own ? own : record_find(&r->notes, "start", 0, 0);
}

static void tell_none(const recording *r) {
    const record_note *first = first_start(r);
    if (first && !is_over(r, first) && ends_with(first->text, ".json"))
        fail(r->program, "ended before its session, whose trace is written at the end: --mode "
             "stream writes it as it comes");
    else if (first)
        fail(relative(first->text), "is empty: nothing could be written to it");
    else if (record_find(&r->notes, "own", 0, 0))
        fail(r->program, "it calls prof_start itself, not prof_start_env: it was left as it is");
    else
        fail(r->program, "it wrote no trace to %s: is prof.h in it, and does it call "
             "prof_start_env?", r->output);
}

/* The program ended at once, or another one took its place. */
static void tell_cut(const recording *r, const record_note *first) {
    if (is_over(r, first)) return;
    warn(r->program, "ended before its session%s%s: what its threads recorded in their last "
         "millisecond, and what was open, may be missing", r->signal ? ", by a signal: " : "",
         r->signal ? strsignal(r->signal) : "");
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
    if (any || r->failed) return;
    r->failed = true;
    tell_none(r);
}

/* What is there after the program's end; the exit status. */
static int finish(recording *r) {
    record_notes_read(&r->notes, r->status_file);
    if (!first_start(r)) find_start(r);
    record_note *first = first_start(r);
    bool any = first && size_of(first->text) > 0;
    if (any) tell_cut(r, first);
    tell_notes(r, any);
    char *trace = any ? take_trace(r, first->text) : NULL;
    int status = !trace ? EXIT_BAD : r->with_report ? report(trace, r) : tell_losses(r, trace);
    list_others(r, first);
    if (trace && !ends_with(trace, ".raw") && strcmp(relative(trace), r->output) != 0)
        warn(NULL, "the trace is %s", trace);
    free(trace);
    return r->failed ? EXIT_BAD : status;
}

static const struct { const char *option, *variable, *takes, *help; } settings[] = {
    {"mode", "PROF_MODE", "MODE", "trace, ring, stream, aggregate (stream)"},
    {"memory", "PROF_MEMORY", "BYTES", "of the arena, as 512K, 64M or 2G (64M)"},
    {"max-depth", "PROF_MAX_DEPTH", "N", "zones that may be open in a thread (64)"},
    {"max-threads", "PROF_MAX_THREADS", "N", "that record at the same time (up to 256)"},
    {"categories", "PROF_CATEGORIES", "BITS", "those that are on, as 0x5 (all)"},
    {"counters", "PROF_COUNTERS", "LIST", "hardware counters, as cycles,instructions"},
    {"shapes", "PROF_SHAPES", "0|1", "record shapes"},
    {"stacks", "PROF_STACKS", "KIND", "none, zones, frames, unwind (none)"},
    {"profile-memory", "PROF_PROFILE_MEMORY", "0|1", "record what is allocated"},
    {"exclude", "PROF_EXCLUDE", "NAME,...", "no zones of these instrumented functions"},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static int run(int argc, char **argv) {
    recording r = {.output = "trace.json", .sort = "self_cpu_time_total", .limit = 20,
                   .most = 10000000, .with_report = true};
    bool top = false;
    const char *values[SETTINGS] = {NULL};
    option_spec options[7 + SETTINGS] = {
        {"output", 'o', OPTION_TEXT, &r.output, "FILE", "the trace: FILE.json, FILE.json.gz, or\n"
         "                               FILE.raw; %p in it is the process (trace.json)"},
        {"limit", 'n', OPTION_COUNT, &r.limit, "N", "rows of the table, or all (20)"},
        {"sort", 's', OPTION_TEXT, &r.sort, "METRIC", "of the table (self_cpu_time_total)"},
        {"zones", 0, OPTION_COUNT, &r.most, "N", "more than these stay a raw stream (10000000)"},
        {"report", 0, OPTION_FLAG, &r.with_report, NULL, "no table"},
        {"top", 0, OPTION_FLAG, &top, NULL, "the table once a second while it runs"},
    };
    for (int i = 0; i < SETTINGS; i++)
        options[6 + i] = (option_spec){settings[i].option, 0, OPTION_TEXT, values + i,
                                       settings[i].takes, settings[i].help};
    options[6 + SETTINGS] = (option_spec){NULL, 0, OPTION_COMMAND, NULL, NULL, NULL};
    int status, count = options_parse(&record_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count == 0) return fail(NULL, "record needs a command to run; see prof record --help");
    for (int i = 0; i < SETTINGS; i++)
        if (values[i]) setenv(settings[i].variable, values[i], 1);
    char status_path[STATUS_PATH];
    r.program = argv[1];
    r.status_file = open_status(status_path);
    if (r.status_file < 0) return fail(NULL, "no file for notes: %s", strerror(errno));
    name_files(&r);
    status = run_program(argv + 1, &r, status_path, top);
    int told = status == CANNOT_RUN || status == NOT_FOUND ? EXIT_OK : finish(&r);
    return status ? status : told;
}
