/* Files that are read, and those without a name: see files.h. */
#define _GNU_SOURCE                              /* O_TMPFILE */
#include "base/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/xattr.h>
#endif

#include "base/errors.h"
#include "base/interrupts.h"
#include "base/memory.h"
#include "base/output.h"

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void folder_of(const char *path, char folder[PATH_ROOM]) {
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_ROOM, "%.*s", slash ? (int)(slash + 1 - path) : 0, path);
}

/* ---- Folders of traces ---- */

static bool is_trace(const char *name) {
    static const char *const endings[] = {".json", ".json.gz", ".raw", ".pftrace", ".trace",
                                          ".trace.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (*name != '.' && ends_with(name, endings[i])) return true;
    return false;
}

/* Numbers in names by what they are. */
static int by_number(const void *one, const void *other) {
    const char *a = *(char *const *)one, *b = *(char *const *)other;
    for (; *a && *b; a++, b++) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t digits = strspn(a, "0123456789"), others = strspn(b, "0123456789");
            if (digits != others) return digits < others ? -1 : 1;
        }
        if (*a != *b || !*a) break;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static struct { char **items; size_t count, capacity; } opened;   /* of one command */

static void open_one(char *path) {
    GROW(opened.items, opened.count, opened.capacity);
    opened.items[opened.count++] = path;
}

static bool open_folder(const char *path, DIR *list) {
    size_t before = opened.count;
    for (struct dirent *entry; (entry = readdir(list)); ) {
        if (!is_trace(entry->d_name)) continue;
        char *name = allocate(strlen(path) + strlen(entry->d_name) + 2);
        sprintf(name, "%s%s%s", path, ends_with(path, "/") ? "" : "/", entry->d_name);
        open_one(name);
    }
    closedir(list);
    qsort(opened.items + before, opened.count - before, sizeof *opened.items, by_number);
    for (size_t i = before; i < opened.count; i++) {
        if (!ends_with(opened.items[i], "/trace_view.json")) continue;
        opened.items[before] = opened.items[i];          /* Ascend's: others lie beside it */
        opened.count = before + 1;
    }
    if (opened.count > before) return true;
    return fail(path, "this folder has no file .json, .json.gz, .raw or .pftrace; name a folder "
                "that has (of Ascend ASCEND_PROFILER_OUTPUT)"), false;
}

bool folders_open(char ***paths, int *count) {
    opened.count = 0;
    for (int i = 0; i < *count; i++) {
        DIR *list = opendir((*paths)[i]);
        if (!list) open_one((*paths)[i]);
        else if (!open_folder((*paths)[i], list)) return false;
    }
    *paths = opened.items;
    *count = (int)opened.count;
    return true;
}

/* Of a command, as they are and as JSON. */
static struct { dev_t device; ino_t number; uint64_t own, bytes; } *inputs;
static size_t input_count, input_capacity;

bool input_is(const struct stat *status) {
    for (size_t i = 0; i < input_count; i++)
        if (inputs[i].device == status->st_dev && inputs[i].number == status->st_ino) return true;
    return false;
}

void input_note(const struct stat *status) {
    if (!S_ISREG(status->st_mode) || input_is(status)) return;
    GROW(inputs, input_count, input_capacity);
    inputs[input_count].device = status->st_dev;
    inputs[input_count].own = inputs[input_count].bytes = (uint64_t)status->st_size;
    inputs[input_count++].number = status->st_ino;
}

static uint64_t greater(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* One that is read again counts once. */
void input_read(const struct stat *status, const char *path, uint64_t bytes, unsigned as_json) {
    uint64_t own = 0, all = 0, size = bytes * as_json, file = (uint64_t)status->st_size;
    bool known = false;
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i].device == status->st_dev && inputs[i].number == status->st_ino) {
            inputs[i].own = greater(inputs[i].own, bytes);
            size = inputs[i].bytes = greater(inputs[i].bytes, greater(file, bytes) * as_json);
            known = true;
        }
        own += inputs[i].own;
        all += inputs[i].bytes;
    }
    if (!known) own += bytes, all += size;
    memory_of_inputs(path, own, all, all - (size - bytes * as_json));
}

void inputs_forget(void) { input_count = 0; }

bool file_reads_once(const char *path) {
    struct stat status;
    if (strcmp(path, "-") == 0) return true;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* ---- What has no name, or not yet its own ---- */

#define OWN ".prof-"

/* The name of what is not yet at its place is its number. Nobody else's file has its own number in
   its name, and the command that made it holds a lock on it while it lives: so whoever comes next
   knows what a killed one has left. In a folder of several machines each has its own, as locks are
   not seen from others. A folder has the sticky bit as well, which none but its owner can give:
   another one who may rename folders here must not make a leftover of any. */
static void own_name(char name[PATH_ROOM], const char *folder, const struct stat *own) {
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    snprintf(name, PATH_ROOM, "%s" OWN "%s-%llx", folder, host, (unsigned long long)own->st_ino);
}

/* Before its number is known it has the time in its name; then there is nothing in it. */
static bool is_new(const char *name, const struct stat *own) {
    long long seconds;
    int end = 0;
    return sscanf(name, OWN "new-%lld-%*d%n", &seconds, &end) == 1 && end && !name[end] &&
           own->st_mtime - seconds <= 1 && seconds - own->st_mtime <= 1 &&
           (S_ISDIR(own->st_mode) || own->st_size == 0);
}

/* A new file or folder under such a name. Before it has its lock, where there are locks, another
   command may take it for left, or somebody may lock it: then it is made again. */
static int make(const char *folder, bool is_folder, unsigned mode, char name[PATH_ROOM]) {
    char first[PATH_ROOM];
    struct timespec now;
    struct stat own, other;
    int how = is_folder ? O_RDONLY : O_RDWR | O_CREAT | O_EXCL, error = 0;
    for (int tries = 0; tries < 100; tries++) {
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(first, PATH_ROOM, "%s" OWN "new-%lld-%ld", folder, (long long)now.tv_sec,
                 now.tv_nsec);
        if (is_folder && mkdir(first, S_ISVTX | mode) != 0) return -1;
        int fd = open(first, how | O_CLOEXEC, mode);
        if (fd < 0 && !is_folder) return -1;
        bool taken = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (fd >= 0 && !taken && fstat(fd, &own) == 0) {
            own_name(name, folder, &own);
            errno = EEXIST;
            if (lstat(name, &other) != 0 && rename(first, name) == 0) return fd;
        }
        error = errno;
        if (fd >= 0) close(fd);
        remove(first);
    }
    errno = error;
    return -1;
}

int folder_make(const char *folder, unsigned mode, char name[PATH_ROOM]) {
    return make(folder, true, mode, name);
}

int file_unnamed(const char *folder, unsigned mode) {
    char name[PATH_ROOM];
    sigset_t before;
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(*folder ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (fd >= 0) flock(fd, LOCK_EX | LOCK_NB);
#endif
    if (fd >= 0) return fd;
    leftovers_remove(folder);
    signals_hold(&before);
    if ((fd = make(folder, false, 0600, name)) >= 0) unlink(name);
    signals_release(&before);
    return fd;
}

bool file_write(int fd, const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (put < 0 && errno != EINTR) return false;
        at += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

bool file_copy(int from, off_t begin, off_t end, int to) {
    static char bytes[1 << 16];
    bool good = to >= 0;
    for (ssize_t got; begin < end && good; begin += got) {
        size_t size = end - begin < (off_t)sizeof bytes ? (size_t)(end - begin) : sizeof bytes;
        got = pread(from, bytes, size, begin);
        good = got > 0 && file_write(to, bytes, (size_t)got);
    }
    return (to < 0 || close(to) == 0) && good;
}

bool file_link(int fd, const char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* What is kept beside the bytes of a file: lists of who may do what (ACLs), the user's notes. Those
   that the folder gave a new file go. */
static bool take_attributes(int fd, const char *path) {
    bool all = true;
#ifdef __linux__
    char names[4096], value[4096];
    fremovexattr(fd, "system.posix_acl_access");
    ssize_t size = listxattr(path, names, sizeof names), got;
    if (size < 0) return errno != ERANGE;
    for (char *name = names; name < names + size && all; name += strlen(name) + 1) {
        if (strncmp(name, "security.", 9) == 0) continue;        /* the system's own */
        got = getxattr(path, name, value, sizeof value);
        all = got >= 0 && fsetxattr(fd, name, value, (size_t)got, 0) == 0;
    }
#endif
    return all;
}

/* The owner and the rights of the file at path. */
static bool become_like(int fd, const char *path) {
    struct stat own, known;
    if (fstat(fd, &own) != 0 || stat(path, &known) != 0) return false;
    bool same = own.st_uid == known.st_uid && own.st_gid == known.st_gid;
    return (same || fchown(fd, known.st_uid, known.st_gid) == 0) &&
           fchmod(fd, known.st_mode & 0777) == 0 && take_attributes(fd, path);
}

bool file_show(int fd, const char *folder, const char *like, char name[PATH_ROOM]) {
    struct stat own;
    if ((like && !become_like(fd, like)) || fstat(fd, &own) != 0) return false;
    own_name(name, folder, &own);
    if (file_link(fd, name)) return true;
    int to = make(folder, false, like ? 0600 : 0666, name);
    if (to < 0) return false;
    bool good = !like || become_like(to, like);
    if (file_copy(fd, 0, own.st_size, dup(to)) && good) return true;     /* `to` has the lock */
    unlink(name);
    return false;
}

static void remove_from(int folder, const char *name);

/* What is in it; fd is closed. */
static void empty(int fd) {
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; list && (entry = readdir(list)); )
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_from(fd, entry->d_name);
    if (list) closedir(list);
}

/* Of a folder what is in it, too: but nothing behind a link that somebody puts there meanwhile. */
static void remove_from(int folder, const char *name) {
    if (unlinkat(folder, name, 0) == 0) return;
    empty(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    unlinkat(folder, name, AT_REMOVEDIR);
}

void tree_remove(const char *path) { remove_from(AT_FDCWD, path); }

/* What was looked at is what is emptied, whatever has that name by then. */
void leftovers_remove(const char *folder) {
    DIR *list = opendir(*folder ? folder : ".");
    for (struct dirent *entry; list && (entry = readdir(list)); ) {
        char name[PATH_ROOM], own[PATH_ROOM];
        struct stat status;
        if (strncmp(entry->d_name, OWN, sizeof OWN - 1) != 0) continue;
        snprintf(name, PATH_ROOM, "%s%s", folder, entry->d_name);
        int fd = openat(dirfd(list), entry->d_name,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0) {
            bool is_folder = S_ISDIR(status.st_mode);
            own_name(own, folder, &status);
            bool ours = strcmp(own, name) == 0 && (!is_folder || (status.st_mode & S_ISVTX));
            if (ours && is_folder) empty(dup(fd));
            if (ours || is_new(entry->d_name, &status))
                unlinkat(dirfd(list), entry->d_name, is_folder ? AT_REMOVEDIR : 0);
        }
        close(fd);
    }
    if (list) closedir(list);
}

/* ---- Who was there first ---- */

file_state file_look(const char *path) {
    file_state now = {.there = false};
    now.there = stat(path, &now.status) == 0;
    return now;
}

bool file_is_other(const char *path, const file_state *was) {
    file_state now = file_look(path);
    const struct stat *a = &now.status, *b = &was->status;
    return now.there && (!was->there || a->st_dev != b->st_dev || a->st_ino != b->st_ino ||
                         a->st_size != b->st_size || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
                         a->st_mtim.tv_nsec != b->st_mtim.tv_nsec);
}

int folder_lock(const char *folder) {
    const struct timespec moment = {0, 5000000};
    int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 200 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
        nanosleep(&moment, NULL);
    return fd;
}

/* ---- Temporary files ---- */

const char *temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

void temporary_failed(void) {
    exit(fail(temporary_folder(), "a temporary file cannot be used: %s", strerror(errno)));
}

int temporary_unnamed(void) {
    char folder[PATH_ROOM];
    snprintf(folder, PATH_ROOM, "%s/", temporary_folder());
    return file_unnamed(folder, 0600);
}
