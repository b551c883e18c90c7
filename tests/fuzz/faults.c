/* Calls to the system that fail on demand: loaded before a program by LD_PRELOAD.
   FAULT_CALL=name FAULT_AT=n: the n-th call of that name (from 1) fails; FAULT_FOREVER: so do all
   after it. FAULT_REPORT=file: at exit, a line is added for each name: how many calls there were.
   FAULT_PORT: files that the program opens pass for serial ports. tests/fuzz/faults.py uses it. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* A program that checks its own results does so while nothing fails. */
int faults_pause;

static const char *const names[] = {
    "open", "write", "close", "read", "lseek", "fsync", "rename", "mkdir", "stat", "mmap",
    "clock_gettime", "pthread_create", "pthread_key_create", "dlopen", "dlsym", "fork", "exec",
    "getcwd", "termios", "malloc"
};
enum { NAMES = sizeof names / sizeof *names };

static int running;
static const char *call_name;
static long fault_at;
static int forever;
static long calls[NAMES];

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("FAULT_AT");
    fault_at = at ? atol(at) : 0;
    forever = getenv("FAULT_FOREVER") != NULL;
    call_name = getenv("FAULT_CALL");
    running = 1;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_REPORT");
    char lines[32 * NAMES];
    int size = 0, file;
    running = 0;
    if (!path) return;
    for (int i = 0; i < NAMES; i++)
        size += snprintf(lines + size, sizeof lines - (size_t)size, "%s %ld\n", names[i], calls[i]);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0 || write(file, lines, (size_t)size) != size) abort();
    close(file);
}

/* Counts a call; true: it shall fail. */
static int fails(const char *name, int error) {
    int i = 0;
    long n;
    if (faults_pause || !running) return 0;
    while (strcmp(names[i], name) != 0)
        i++;
    n = __atomic_add_fetch(&calls[i], 1, __ATOMIC_RELAXED);
    if (!fault_at || strcmp(call_name, name) != 0) return 0;
    if (forever ? n < fault_at : n != fault_at) return 0;
    errno = error;
    return 1;
}

#define REAL(name) (*(__typeof__(name) **)real(#name))
static void *(*find)(void *library, const char *name);   /* dlsym */
static void *real(const char *name) {
    static __thread void *found[8];
    static __thread unsigned next;
    void **place = &found[next++ % 8];
    if (!find) *(void **)&find = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (!find) *(void **)&find = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    *place = find ? find(RTLD_NEXT, name) : NULL;
    return place;
}

#define OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                \
        va_list list;                                                           \
        int mode;                                                               \
        va_start(list, flags);                                                  \
        mode = flags & O_CREAT ? va_arg(list, int) : 0;                         \
        va_end(list);                                                           \
        return fails("open", EMFILE) ? -1 : REAL(name)(path, flags, mode);      \
    }
OPEN(open)
OPEN(open64)

FILE *fopen(const char *path, const char *mode) {
    return fails("open", EMFILE) ? NULL : REAL(fopen)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    return fails("open", EMFILE) ? NULL : REAL(fopen64)(path, mode);
}
int pipe(int ends[2]) { return fails("open", EMFILE) ? -1 : REAL(pipe)(ends); }
int dup2(int from, int to) { return fails("open", EMFILE) ? -1 : REAL(dup2)(from, to); }
int dup(int file) { return fails("open", EMFILE) ? -1 : REAL(dup)(file); }

ssize_t write(int file, const void *data, size_t size) {
    return fails("write", ENOSPC) ? -1 : REAL(write)(file, data, size);
}
/* stdio writes behind the library's back: its calls stand for the writes. */
size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    return file != stderr && fails("write", ENOSPC) ? 0 : REAL(fwrite)(data, size, count, file);
}
int fflush(FILE *file) {
    return file != stderr && fails("write", ENOSPC) ? EOF : REAL(fflush)(file);
}
int fclose(FILE *file) {
    int bad = fails("close", EIO), error = errno, result = REAL(fclose)(file);
    if (bad) errno = error;
    return bad ? EOF : result;
}
int close(int file) {
    int bad = fails("close", EIO), error = errno, result = REAL(close)(file);
    if (bad) errno = error;
    return bad ? -1 : result;
}
ssize_t read(int file, void *data, size_t size) {
    return fails("read", EIO) ? -1 : REAL(read)(file, data, size);
}
off_t lseek(int file, off_t offset, int from) {
    return fails("lseek", EIO) ? -1 : REAL(lseek)(file, offset, from);
}
int fsync(int file) { return fails("fsync", EIO) ? -1 : REAL(fsync)(file); }
int rename(const char *from, const char *to) {
    return fails("rename", EACCES) ? -1 : REAL(rename)(from, to);
}
int mkdir(const char *path, mode_t mode) {
    return fails("mkdir", EACCES) ? -1 : REAL(mkdir)(path, mode);
}
int stat(const char *restrict path, struct stat *restrict status) {
    return fails("stat", EACCES) ? -1 : REAL(stat)(path, status);
}
int stat64(const char *restrict path, struct stat64 *restrict status) {
    return fails("stat", EACCES) ? -1 : REAL(stat64)(path, status);
}
int fstat(int file, struct stat *status) {
    return fails("stat", EACCES) ? -1 : REAL(fstat)(file, status);
}
int fstat64(int file, struct stat64 *status) {
    return fails("stat", EACCES) ? -1 : REAL(fstat64)(file, status);
}
char *getcwd(char *path, size_t size) {
    return fails("getcwd", ENOENT) ? NULL : REAL(getcwd)(path, size);
}
pid_t fork(void) { return fails("fork", EAGAIN) ? -1 : REAL(fork)(); }
int execvp(const char *path, char *const *words) {
    if (fails("exec", ENOMEM)) return -1;
    end();                               /* that of this program */
    return REAL(execvp)(path, words);
}
int isatty(int file) { return getenv("FAULT_PORT") && file > 2 ? 1 : REAL(isatty)(file); }
int tcgetattr(int file, struct termios *port) {
    if (fails("termios", EIO)) return -1;
    return getenv("FAULT_PORT") ? memset(port, 0, sizeof *port), 0 : REAL(tcgetattr)(file, port);
}
int tcsetattr(int file, int when, const struct termios *port) {
    if (fails("termios", EIO)) return -1;
    return getenv("FAULT_PORT") ? 0 : REAL(tcsetattr)(file, when, port);
}
void *mmap(void *at, size_t size, int rights, int flags, int file, off_t offset) {
    return fails("mmap", ENOMEM) ? MAP_FAILED : REAL(mmap)(at, size, rights, flags, file, offset);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    return fails("clock_gettime", EINVAL) ? -1 : REAL(clock_gettime)(clock, time);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *user) {
    return fails("pthread_create", EAGAIN) ? EAGAIN
                                           : REAL(pthread_create)(thread, attributes, run, user);
}
int pthread_key_create(pthread_key_t *key, void (*end_of)(void *)) {
    return fails("pthread_key_create", EAGAIN) ? EAGAIN : REAL(pthread_key_create)(key, end_of);
}
void *dlopen(const char *path, int flags) {
    return fails("dlopen", 0) ? NULL : REAL(dlopen)(path, flags);
}
void *dlsym(void *library, const char *name) {
    if (!find) (void)real("dlsym");
    return fails("dlsym", 0) ? NULL : find(library, name);
}

/* dlsym allocates: these go to glibc's own. */
extern void *__libc_malloc(size_t size), *__libc_calloc(size_t count, size_t size),
    *__libc_realloc(void *old, size_t size);
void *malloc(size_t size) { return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
    return fails("malloc", ENOMEM) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return fails("malloc", ENOMEM) ? NULL : __libc_realloc(old, size);
}
