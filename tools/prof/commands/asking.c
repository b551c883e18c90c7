/* Windows of another process: see asking.h. */
#define _GNU_SOURCE                      /* syscall */
#include "commands/asking.h"

#include "base/common.h"
#include "base/interrupts.h"
#include "base/progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GET_SEALS = 1034, SEAL_SHRINK = 2, FUTEX_WAKES = 1 };     /* Linux's */
#define SHARED "/memfd:prof window"

/* ---- The process ---- */

/* In /proc/PID/fd; path is the name of what is shared. */
static bool find_shared(asking *a, DIR *list) {
    char to[sizeof SHARED];
    for (struct dirent *entry; (entry = readdir(list)); ) {
        if (readlinkat(dirfd(list), entry->d_name, to, sizeof to) < (ssize_t)sizeof to ||
            memcmp(to, SHARED, sizeof SHARED - 1) != 0)
            continue;
        snprintf(a->path, sizeof a->path, "/proc/%ld/fd/%.20s", a->pid, entry->d_name);
        return true;
    }
    return false;
}

/* Is it mapped, though no file leads to it? */
static bool has_closed_it(const asking *a) {
    char path[64], line[4096];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/maps", a->pid);
    FILE *maps = fopen(path, "r");
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
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld", a->pid);
    if (stat(path, &st) != 0) return fail(a->process, "there is no such process");
    if (error == EACCES || error == EPERM)
        return fail(a->process, "it is another user's (%ld), or has other rights than you",
                    (long)st.st_uid);
    return fail(a->process, "%s", strerror(error));
}

bool asking_open(asking *a, const char *pid) {
    char path[64], *end;
    struct stat st;
    memset(a, 0, sizeof *a);
    a->pid = strtol(pid, &end, 10);
    if (*end || a->pid <= 0 || a->pid > INT_MAX || *pid < '0' || *pid > '9')
        return fail(NULL, "'%s' is not a process id", pid), false;
    snprintf(a->process, sizeof a->process, "process %ld", a->pid);
    snprintf(path, sizeof path, "/proc/%ld/fd", a->pid);
    DIR *list = opendir(path);
    if (!list) return tell_none(a, errno), false;
    errno = 0;
    bool found = find_shared(a, list);
    int error = errno;
    closedir(list);
    if (!found) return (error == EACCES ? tell_none(a, error) : tell_deaf(a)), false;
    a->file = open(a->path, O_RDWR | O_CLOEXEC);
    if (a->file < 0) return tell_none(a, errno), false;
    bool whole = fstat(a->file, &st) == 0 && st.st_size >= (off_t)sizeof *a->page &&
                 (fcntl(a->file, GET_SEALS) & SEAL_SHRINK);
    a->page = whole ? mmap(NULL, sizeof *a->page, PROT_READ | PROT_WRITE, MAP_SHARED, a->file, 0)
                    : MAP_FAILED;
    if (a->page != MAP_FAILED) return true;
    close(a->file);
    return fail(a->process, "what it shares cannot be read"), false;
}

/* ---- Where it writes ---- */

/* Does the process find this folder under this name? It may be in a container. */
static bool is_seen(const asking *a, const char *folder) {
    char inside[PATH_ROOM + 64];
    struct stat here, there;
    snprintf(inside, sizeof inside, "/proc/%ld/root%s", a->pid, folder);
    return stat(folder, &here) == 0 && stat(inside, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

bool asking_folder(const asking *a, recording *r, const char **inside) {
    char path[64];
    struct stat st;
    if (!recording_open(r)) return false;
    *inside = r->folder;
    if (!is_seen(a, r->folder)) {
        tree_remove(r->folder);
        close(r->lock);
        size_t skip = (size_t)snprintf(path, sizeof path, "/proc/%ld/root", a->pid);
        snprintf(path + skip, sizeof path - skip, "/tmp/");
        r->lock = folder_make(path, 0700, r->folder);
        *inside = r->folder + skip;
        if (r->lock < 0)
            return fail(a->process, "it is in another container, whose /tmp cannot be written: %s",
                        strerror(errno)), false;
    }
    snprintf(path, sizeof path, "/proc/%ld", a->pid);
    if (geteuid() == 0 && stat(path, &st) == 0 && fchown(r->lock, st.st_uid, st.st_gid) != 0)
        warn(r->folder, "cannot be given to user %ld: %s", (long)st.st_uid, strerror(errno));
    return true;
}

/* ---- A window ---- */

static void ring(asking *a, uint32_t bell) {
    __atomic_store_n(&a->page->bell, bell, __ATOMIC_RELEASE);
    syscall(SYS_futex, &a->page->bell, FUTEX_WAKES, INT_MAX, NULL, NULL, 0);
}

/* One asks at a time; false: a signal came. */
static bool lock(const asking *a) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(a->file, F_SETLK, &l) == 0) return true;
    fcntl(a->file, F_GETLK, &l);
    warn(a->process, "process %ld has a window open in it; this one is next", (long)l.l_pid);
    l = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fcntl(a->file, F_SETLKW, &l) != 0)
        if (interrupted()) return false;
    return true;
}

/* What it told of this window; before that it may tell of one whose asker was killed. */
static const record_note *answer(const asking *a) {
    const record_note *start = record_find(a->notes, "start", 0, 0);
    return start ? start : record_find(a->notes, "error", 0, 0);
}

bool asking_over(const asking *a) {
    const record_note *first = answer(a);
    struct stat mine, now;
    if (first && strcmp(first->what, "error") == 0) return true;
    if (first && record_find(a->notes, "over", 0, (size_t)(first - a->notes->items))) return true;
    if (fstat(a->file, &mine) != 0 || stat(a->path, &now) != 0) return errno != EACCES;
    return mine.st_ino != now.st_ino || mine.st_dev != now.st_dev;
}

/* Takes what is told, for a moment or until it is over. */
static bool look(asking *a, int milliseconds) {
    record_notes_read(a->notes, a->file);
    bool over = asking_over(a);
    if (over) record_notes_read(a->notes, a->file);
    else readable(-1, milliseconds);
    return over;
}

static bool is_stopped(const asking *a) {
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", a->pid);
    FILE *file = fopen(path, "r");
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

bool asking_begin(asking *a, const char *folder, uint32_t steps) {
    char pattern[2 * PATH_ROOM];
    struct stat st;
    recording_pattern(folder, pattern);
    if (strlen(pattern) >= sizeof a->page->path)
        return fail(folder, "the name is too long for another process"), false;
    if (!lock(a) || fstat(a->file, &st) != 0) return false;
    a->notes->read = (uint64_t)st.st_size;
    strcpy(a->page->path, pattern);
    a->page->steps = steps;
    ring(a, (a->page->bell + 1) | 1);
    for (double told = seconds_now() + 1; !answer(a) && !interrupted(); ) {
        if (look(a, 1)) break;
        tell_silence(a, &told, "no answer yet: its thread that answers has not run since");
    }
    if (answer(a)) return true;
    return fail(a->process, interrupted() ? "no window: a signal came first"
                                          : "it ended before the window was open"), false;
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
    signal(SIGINT, SIG_DFL);             /* what is not answered can be ended, too */
    signal(SIGTERM, SIG_DFL);
    ring(a, (a->page->bell | 1) + 1);
    for (double told = seconds_now() + 1; answer(a) && !look(a, 1); ) tell_silence(a, &told, NULL);
    fcntl(a->file, F_SETLK, &l);
    close(a->file);
    munmap(a->page, sizeof *a->page);
}
