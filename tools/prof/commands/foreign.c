/* What another process owns: see foreign.h. */
#define _GNU_SOURCE                      /* O_PATH, setresuid */
#include "commands/foreign.h"

#include "base/files.h"
#include "base/progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GET_SEALS = 1034, SEAL_SHRINK = 2, TMPFS = 0x01021994, PIECE = 1 << 16 };     /* Linux's */

/* ---- The process ---- */

/* A plain file of the owner's. It is looked at before it is opened: a FIFO, a device or a link that
   stands there instead is not. */
static int open_owned(int folder, const char *name, int how, uid_t owner, struct stat *st) {
    char path[64];
    int file = openat(folder, name, O_PATH | O_CLOEXEC | (how & O_NOFOLLOW)), opened = -1;
    if (file < 0) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    bool known = fstat(file, st) == 0;
    if (known && (!S_ISREG(st->st_mode) || st->st_uid != owner)) errno = EPERM;
    else if (known) opened = open(path, (how & ~O_NOFOLLOW) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int error = errno;
    close(file);
    errno = error;
    return opened;
}

/* The effective ones, by which it makes files. The owner of /proc/PID may be root instead. */
static bool read_rights(foreign *f) {
    char line[256];
    unsigned id, found = 0;
    int file = openat(f->process, "status", O_RDONLY | O_CLOEXEC);
    FILE *status = file < 0 ? NULL : fdopen(file, "r");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "Uid: %*u %u", &id) == 1) f->user = id, found |= 1;
        if (sscanf(line, "Gid: %*u %u", &id) == 1) f->group = id, found |= 2;
    }
    if (status) fclose(status);
    return found == 3;
}

bool foreign_open(foreign *f, long pid) {
    char path[64];
    *f = (foreign){.child = -1, .line = -1};
    snprintf(path, sizeof path, "/proc/%ld", pid);
    f->process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return f->process >= 0 && read_rights(f);
}

/* A name of a file may be whatever its owner likes; seals, and no name at all, only a memfd has. */
static bool is_memfd(int file, const struct stat *st, int64_t size) {
    struct statfs system;
    int seals = fcntl(file, GET_SEALS);
    return seals >= 0 && (seals & SEAL_SHRINK) && st->st_nlink == 0 && st->st_size >= size &&
           fstatfs(file, &system) == 0 && system.f_type == TMPFS;
}

int foreign_shared(const foreign *f, const char *name, int64_t size, char link[32]) {
    char to[256];
    struct stat st;
    int list_file = openat(f->process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), file = -1;
    DIR *list = list_file < 0 ? NULL : fdopendir(list_file);
    if (!list) return -1;
    int error = errno = 0;
    for (struct dirent *entry; file < 0 && (entry = readdir(list)); ) {
        ssize_t got = readlinkat(list_file, entry->d_name, to, sizeof to);
        if (got < 0 && errno == EACCES) error = errno;
        if (got < (ssize_t)strlen(name) || memcmp(to, name, strlen(name)) != 0) continue;
        snprintf(link, 32, "fd/%.20s", entry->d_name);
        file = open_owned(f->process, link, O_RDWR, f->user, &st);
        if (file < 0 || is_memfd(file, &st, size)) error = file < 0 ? errno : 0;
        else close(file), file = -1, error = EPERM;
    }
    closedir(list);
    errno = error;
    return file;
}

bool foreign_is_alike(const foreign *f) {
    struct stat here, there;
    return f->user == geteuid() && stat("/", &here) == 0 &&
           fstatat(f->process, "root", &there, 0) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino && stat("/proc/self/ns/mnt", &here) == 0 &&
           fstatat(f->process, "ns/mnt", &there, 0) == 0 && here.st_ino == there.st_ino;
}

/* ---- The child ---- */

typedef struct foreign_task {
    char file[16];
    uint64_t most;
    bool follows;
} foreign_task;

typedef struct foreign_answer {
    int error;
    uint64_t size;
    char name[FOREIGN_NAME];
} foreign_answer;

/* For good. */
static bool take_rights(const foreign *f) {
    if (geteuid() != 0 || (f->user == 0 && f->group == getegid())) {
        errno = EPERM;
        return f->user == geteuid();
    }
    return setgroups(0, NULL) == 0 && setresgid(f->group, f->group, f->group) == 0 &&
           setresuid(f->user, f->user, f->user) == 0;
}

/* A folder in the current one. The process's /tmp is looked up without links, which may lead out of
   the folder that is its root. */
static int make_folder(const foreign *f, int there, char name[PATH_ROOM]) {
    int root = there < 0 ? openat(f->process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (!take_rights(f)) return -1;
    if (there < 0)
        there = openat(root, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (there < 0 || fchdir(there) != 0) return -1;
    close(there);                        /* its lock is the command's alone */
    leftovers_remove("");
    return folder_make("", 0700, name);
}

/* No stream and no JSON has so many zeros. A file that is a hole takes no room, and would fill the
   disk of who copies it. */
static bool is_hole(const char *piece, size_t size) {
    return size == PIECE && !*piece && memcmp(piece, piece + 1, size - 1) == 0;
}

/* What is there, or if it follows, what comes, until the other end of the line closes. */
static void send_file(int line, int file, uint64_t size, bool follows) {
    static char piece[PIECE];
    struct pollfd other = {.fd = line, .events = POLLIN};
    uint64_t sent = 0;
    while (follows || sent < size) {
        uint64_t left = follows ? PIECE : size - sent;
        ssize_t got = pread(file, piece, left < PIECE ? (size_t)left : PIECE, (off_t)sent);
        if (got <= 0 && !(follows && got == 0 && poll(&other, 1, 20) == 0)) return;
        if (got <= 0) continue;
        if (is_hole(piece, (size_t)got) || !file_write(line, piece, (size_t)got)) return;
        sent += (uint64_t)got;
        if (follows)
            (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)sent);
    }
}

static void serve(const foreign *f, int there, int line) {
    static const int deaf[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    char name[PATH_ROOM] = "";
    foreign_task task;
    foreign_answer answer = {.error = 0};
    struct stat st;
    for (size_t i = 0; i < sizeof deaf / sizeof *deaf; i++) signal(deaf[i], SIG_IGN);
    int folder = make_folder(f, there, name);
    if (folder < 0) answer.error = errno;
    snprintf(answer.name, sizeof answer.name, "%.120s", name);
    bool good = file_write(line, &answer, sizeof answer) && folder >= 0;
    if (good && read(line, &task, sizeof task) == (ssize_t)sizeof task) {
        int file = open_owned(folder, task.file, O_NOFOLLOW | (task.follows ? O_RDWR : O_RDONLY),
                              f->user, &st);
        answer.size = file < 0 ? 0 : (uint64_t)st.st_size;
        answer.error = file < 0 ? errno : answer.size > task.most ? EFBIG : 0;
        good = file_write(line, &answer, sizeof answer) && !answer.error;
        if (good) send_file(line, file, answer.size, task.follows);
        shutdown(line, SHUT_WR);
        while (read(line, &task, sizeof task) > 0) {}
    }
    if (folder >= 0) tree_remove(name);
    _exit(0);
}

/* ---- The line to it ---- */

/* What comes next; 0: nothing does, for too long or for ever. */
static size_t take(const foreign *f, void *to, size_t size) {
    struct pollfd one = {.fd = f->line, .events = POLLIN};
    double end = seconds_now() + FOREIGN_SILENCE;
    for (double left; (left = end - seconds_now()) > 0; ) {
        if (poll(&one, 1, (int)(left * 1000) + 1) <= 0) continue;
        ssize_t got = read(f->line, to, size);
        if (got >= 0) return (size_t)got;
        if (errno != EINTR && errno != EAGAIN) return 0;
    }
    return 0;
}

/* EPIPE: somebody has ended the child. */
static bool take_answer(const foreign *f, foreign_answer *answer) {
    char *to = (char *)answer;
    size_t left = sizeof *answer;
    for (size_t got; left && (got = take(f, to + sizeof *answer - left, left)) > 0; left -= got) {}
    errno = left ? EPIPE : answer->error;
    return !left && !answer->error;
}

bool foreign_begin(foreign *f, int there, char name[FOREIGN_NAME]) {
    foreign_answer answer;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    fflush(NULL);
    f->line = ends[0];
    f->child = fork();
    if (f->child == 0) {
        close(ends[0]);
        serve(f, there, ends[1]);
    }
    close(ends[1]);
    if (f->child < 0 || !take_answer(f, &answer)) return false;
    answer.name[sizeof answer.name - 1] = '\0';
    strcpy(name, answer.name);
    return true;
}

bool foreign_read(foreign *f, const char *file, int to, uint64_t most) {
    static char piece[PIECE];
    foreign_task task = {.most = most, .follows = to < 0};
    foreign_answer answer;
    uint64_t taken = 0;
    snprintf(task.file, sizeof task.file, "%s", file);
    if (send(f->line, &task, sizeof task, MSG_NOSIGNAL) != (ssize_t)sizeof task) return false;
    if (!take_answer(f, &answer)) return false;
    if (task.follows) return fcntl(f->line, F_SETFL, O_NONBLOCK) == 0;
    for (size_t got; taken < answer.size && (got = take(f, piece, sizeof piece)) > 0; taken += got)
        if (!file_write(to, piece, got)) return false;
    errno = EIO;
    return taken == answer.size;
}

/* Who keeps it from removing the folder keeps the folder. */
void foreign_end(foreign *f) {
    double end = seconds_now() + FOREIGN_SILENCE;
    if (f->line >= 0) close(f->line);
    if (f->child > 0) {
        while (waitpid(f->child, NULL, WNOHANG) == 0) {
            if (seconds_now() > end) kill(f->child, SIGKILL);
            if (seconds_now() > end + 1) break;
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
    }
    if (f->process >= 0) close(f->process);
    *f = (foreign){.process = -1, .child = -1, .line = -1};
}
