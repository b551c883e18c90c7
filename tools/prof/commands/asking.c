/* Windows of another process: see asking.h. */
#define _GNU_SOURCE                      /* syscall */
#include "commands/asking.h"

#include "base/common.h"
#include "base/interrupts.h"
#include "base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FUTEX_WAKES = 1, MOST_NOTES = 1 << 16, PATIENCE = 10, JSON_PATIENCE = 60 };   /* bytes; s */
#define SHARED "/memfd:prof window"

/* ---- The process ---- */

static FILE *open_text(const asking *a, const char *name) {
    int file = openat(a->other.process, name, O_RDONLY | O_CLOEXEC);
    return file < 0 ? NULL : fdopen(file, "r");
}

/* Is it mapped, though no file leads to it? */
static bool has_closed_it(const asking *a) {
    char line[4096];
    bool found = false;
    FILE *maps = open_text(a, "maps");
    while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, SHARED) != NULL;
    if (maps) fclose(maps);
    return found;
}

static int tell_deaf(const asking *a) {
    if (has_closed_it(a))
        return fail(a->process, "it has closed the file by which it is asked, as daemons close "
                    "all: prof_start_env must come after that");
    return fail(a->process, "it does not wait for windows. Start it with `prof record --wait`, or "
                "with PROF_MODE=wait in its environment; it must call prof_start_env of this "
                "prof.h");
}

static int tell_none(const asking *a, int error) {
    if (error == ENOENT || error == ESRCH)
        return fail(a->process, "there is no such process");
    if (error == EACCES)
        return fail(a->process, "it is another user's (%ld), or has other rights than you",
                    (long)a->other.user);
    if (error == EPERM)
        return fail(a->process, "what it shares is not what prof_start_env makes, or was made "
                    "before it became user %ld", (long)a->other.user);
    return fail(a->process, "%s", strerror(error));
}

bool asking_open(asking *a, const char *pid) {
    char *end;
    memset(a, 0, sizeof *a);
    a->pid = strtol(pid, &end, 10);
    if (*end || a->pid <= 0 || a->pid > INT_MAX || *pid < '0' || *pid > '9')
        return fail(NULL, "'%s' is not a process id", pid), false;
    snprintf(a->process, sizeof a->process, "process %ld", a->pid);
    if (!foreign_open(&a->other, a->pid)) return tell_none(a, errno), false;
    a->file = foreign_shared(&a->other, SHARED, sizeof *a->page, a->shared);
    if (a->file < 0) return (errno ? tell_none(a, errno) : tell_deaf(a)), false;
    a->page = mmap(NULL, sizeof *a->page, PROT_READ | PROT_WRITE, MAP_SHARED, a->file, 0);
    if (a->page != MAP_FAILED) return true;
    close(a->file);
    return fail(a->process, "what it shares cannot be read"), false;
}

/* ---- Where it writes ---- */

bool asking_folder(asking *a, recording *r) {
    char name[FOREIGN_NAME], folder[PATH_ROOM + FOREIGN_NAME];
    bool alike = foreign_is_alike(&a->other);
    if (!recording_open(r)) return false;
    if (!foreign_begin(&a->other, alike ? r->lock : -1, name)) {
        fail(a->process, "no folder that it can write to%s: %s", alike ? "" : ", in its /tmp",
             strerror(errno));
        tree_remove(r->folder);
        return foreign_end(&a->other), false;
    }
    snprintf(folder, sizeof folder, "%s/%s", alike ? r->folder : "/tmp", name);
    recording_pattern(folder, "trace.raw", a->pattern);
    return true;
}

/* ---- A window ---- */

static void ring(asking *a, uint32_t bell) {
    __atomic_store_n(&a->page->bell, bell, __ATOMIC_RELEASE);
    syscall(SYS_futex, &a->page->bell, FUTEX_WAKES, INT_MAX, NULL, NULL, 0);
}

/* One asks at a time. */
static bool lock(const asking *a) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET}, other = l;
    if (fcntl(a->file, F_SETLK, &l) == 0) return true;
    fcntl(a->file, F_GETLK, &other);
    warn(a->process, "process %ld has a window open in it; this one is next", (long)other.l_pid);
    for (double end = seconds_now() + PATIENCE; seconds_now() < end; readable(-1, 10)) {
        if (interrupted()) return fail(a->process, "no window: a signal came first"), false;
        if (fcntl(a->file, F_SETLK, &l) == 0) return true;
    }
    return fail(a->process, "process %ld still has a window open in it, after %d s",
                (long)other.l_pid, PATIENCE), false;
}

/* What it told of this window; before that it may tell of one whose asker was killed. */
static const record_note *answer(const asking *a) {
    const record_note *start = record_find(&a->notes, "start", 0, 0);
    return start ? start : record_find(&a->notes, "error", 0, 0);
}

bool asking_babbles(const asking *a) {
    return a->notes.most && a->notes.read >= a->notes.most;
}

bool asking_streams(const asking *a) {
    const record_note *start = record_find(&a->notes, "start", 0, 0);
    return start && !ends_with(start->text, ".json");
}

/* A process that has closed it, or has become another program or ended, is asked for nothing. */
bool asking_over(const asking *a) {
    const record_note *first = answer(a);
    char to[sizeof SHARED];
    if (first && strcmp(first->what, "error") == 0) return true;
    if (first && record_find(&a->notes, "over", 0, (size_t)(first - a->notes.items))) return true;
    if (asking_babbles(a)) return true;
    if (readlinkat(a->other.process, a->shared, to, sizeof to) < 0) return errno != EACCES;
    return memcmp(to, SHARED, sizeof SHARED - 1) != 0;
}

/* Takes what is told, for a moment or until it is over. */
static bool look(asking *a, int milliseconds) {
    record_notes_read(&a->notes, a->file);
    bool over = asking_over(a);
    if (over) record_notes_read(&a->notes, a->file);
    else readable(-1, milliseconds);
    return over;
}

static bool is_stopped(const asking *a) {
    char line[256] = "";
    FILE *file = open_text(a, "stat");
    if (file && !fgets(line, sizeof line, file)) *line = '\0';
    if (file) fclose(file);
    const char *behind = strrchr(line, ')');         /* the program's name; then the state */
    return behind && (behind[1] == ' ' && (behind[2] == 'T' || behind[2] == 't'));
}

/* Once, at that time. */
static void tell_silence(const asking *a, double *at, const char *otherwise) {
    if (seconds_now() < *at) return;
    *at += 1e9;
    if (is_stopped(a))
        warn(a->process, "it is stopped; it answers when it goes on (kill -CONT %ld)", a->pid);
    else if (otherwise) warn(a->process, "%s", otherwise);
}

bool asking_begin(asking *a, uint32_t steps) {
    struct stat st;
    if (strlen(a->pattern) >= sizeof a->page->path)
        return fail(a->pattern, "the name is too long for another process"), false;
    if (!lock(a) || fstat(a->file, &st) != 0) return false;
    a->notes.read = (uint64_t)st.st_size;
    a->notes.most = a->notes.read + MOST_NOTES;
    strcpy(a->page->path, a->pattern);
    a->page->steps = steps;
    ring(a, (a->page->bell + 1) | 1);
    double told = seconds_now() + 1, end = seconds_now() + PATIENCE;
    while (!answer(a) && !interrupted() && seconds_now() < end && !look(a, 1))
        tell_silence(a, &told, "no answer yet: its thread that answers has not run since");
    if (answer(a)) return true;
    if (interrupted()) return fail(a->process, "no window: a signal came first"), false;
    if (asking_babbles(a) || !asking_over(a))
        return fail(a->process, "no window: no answer in %d s", PATIENCE), false;
    return fail(a->process, "it ended before the window was open"), false;
}

void asking_wait(asking *a, double seconds) {
    double end = seconds_now() + seconds;
    for (;;) {
        double left = (end - seconds_now()) * 1000;
        if (left <= 0 || interrupted() || look(a, left < 10 ? (int)left + 1 : 10)) return;
    }
}

void asking_end(asking *a) {
    struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    int patience = asking_streams(a) ? PATIENCE : JSON_PATIENCE;
    double told = seconds_now() + 1, end = seconds_now() + patience;
    signal(SIGINT, SIG_DFL);             /* what is not answered can be ended, too */
    signal(SIGTERM, SIG_DFL);
    if (a->notes.most) ring(a, (a->page->bell | 1) + 1);     /* else it is another one's window */
    while (answer(a) && !look(a, 1) && seconds_now() < end) tell_silence(a, &told, NULL);
    if (asking_babbles(a))
        warn(a->process, "it tells more than a session has to tell: the window was closed");
    else if (answer(a) && !asking_over(a))
        warn(a->process, "it has not closed the window in %d s: the trace may lack its end",
             patience);
    fcntl(a->file, F_SETLK, &l);
    close(a->file);
    munmap(a->page, sizeof *a->page);
}

/* ---- What it recorded ---- */

/* The first note of each kind, as of a session whose file has this name. Those of a window before
   this one may end late. */
static void take_notes(const asking *a, recording *r, const char *name) {
    static const char *const kinds[] = {"kept", "start", "end", "failed", "error"};
    const record_note *first = answer(a);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && first; i++) {
        size_t from = i == 0 ? 0 : (size_t)(first - a->notes.items);
        const record_note *note = record_find(&a->notes, kinds[i], 0, from);
        if (note) record_add(&r->notes, kinds[i], r->child, i == 1 ? name : note->text);
    }
}

void asking_take(asking *a, recording *r, uint64_t most) {
    char name[32];
    bool raw = asking_streams(a);
    snprintf(name, sizeof name, "%ld.%s", a->pid, raw ? "raw" : "json");
    if (record_find(&a->notes, "start", 0, 0)) {
        int to = openat(r->lock, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        bool good = to >= 0 && foreign_read(&a->other, raw ? "trace.raw" : "trace.json", to, most);
        if (!good && errno != ENOENT) {
            fail(a->process, "its trace cannot be read: %s", strerror(errno));
            r->failed = true;
        }
        if (to >= 0) close(to);
    }
    take_notes(a, r, name);
}

void asking_close(asking *a) { foreign_end(&a->other); }
