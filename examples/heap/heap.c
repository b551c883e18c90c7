/* The heap without a mark: each malloc and free of a program is told to its profile, and no line of
   its code changes. One of two ways:

   - linked in, where the linker has --wrap (GNU, lld, gold), also statically:
         gcc -O2 -I. -c examples/heap/heap.c
         gcc main.o prof.o heap.o @examples/heap/wrap -lpthread -o program
     Calls in what is linked are seen, those of shared libraries are not. Compiled as C++
     (g++ -x c++), it has operator new and delete, too; these are seen everywhere;
   - preloaded, with HEAP_PRELOAD defined, as `prof record --heap -- ./program` does: the calls of
     all shared libraries are seen, too.

   The session needs desc.profile_memory. Frees of what was allocated before it are counted in
   prof_stats.memory_unmatched. What the profiler itself allocates is left out. */
#if defined(HEAP_PRELOAD) && !defined(_GNU_SOURCE)
#  define _GNU_SOURCE                    /* RTLD_NEXT */
#endif
#include "prof.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static const prof_device heap_device = { PROF_DEVICE_CPU, 0 };

/* ---- Where memory comes from ---- */

#ifndef HEAP_PRELOAD
#  define HEAP(name) __wrap_##name
#  define REAL(name) __real_##name
#  define heap_alloc prof_memory_alloc
#  define heap_free prof_memory_free
#  define heap_is_found() 1
#  define heap_early(bytes) NULL
#  define heap_is_early(p) 0
static __thread int heap_inside;         /* the profiler may allocate, too */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__real_memalign(size_t alignment, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **p, size_t alignment, size_t bytes);
void __real_free(void *p);
#else
#  include <dlfcn.h>
#  include <fcntl.h>
#  include <link.h>
#  include <stdio.h>
#  include <sys/mman.h>
#  include <sys/stat.h>
#  include <unistd.h>
#  define HEAP(name) name
#  define REAL(name) (heap_real.name)
/* The profiler may allocate, too. It is never allocated itself. */
static __thread int heap_inside __attribute__((tls_model("initial-exec")));

static struct {                          /* what the program would call without this library */
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
} heap_real;

/* The program's prof_memory_alloc and prof_memory_free. */
typedef void heap_alloc_mark(const void *, size_t, prof_device);
typedef void heap_free_mark(const void *, prof_device);
static heap_alloc_mark *heap_alloc_told;
static heap_free_mark *heap_free_told;

static void heap_alloc(const void *p, size_t bytes, prof_device device) {
    if (heap_alloc_told) heap_alloc_told(p, bytes, device);
}

static void heap_free(const void *p, prof_device device) {
    if (heap_free_told) heap_free_told(p, device);
}

/* False: dlsym asks for memory itself, before anything is found. */
static int heap_is_found(void) {
    static const char *const names[] = { "malloc", "calloc", "realloc", "memalign",
                                         "aligned_alloc", "posix_memalign", "free" };
    static int asked;
    void *found[sizeof names / sizeof *names];
    if (asked) return heap_real.free != NULL;
    asked = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found[i] = dlsym(RTLD_NEXT, names[i]);
    memcpy(&heap_real, found, sizeof heap_real);
    return 1;
}

static char heap_room[4096] __attribute__((aligned(16)));    /* for dlsym; never reused */

static void *heap_early(size_t bytes) {
    static size_t used;
    size_t at = used;
    if (bytes > sizeof heap_room - at) return NULL;
    used += (bytes + 15) & ~(size_t)15;
    return heap_room + at;
}

static int heap_is_early(const void *p) {
    return (uintptr_t)p - (uintptr_t)heap_room < sizeof heap_room;
}

/* ---- The program's marks: exported, or in the table of symbols of its file ---- */

/* The last one: this file is linked into it, too, and tells what it allocates. */
enum { HEAP_MARKS = 3 };
static const char *const heap_marks[HEAP_MARKS] = {
    "prof_memory_alloc", "prof_memory_free", "__wrap_malloc"
};

/* From the symbols of a section, which the file holds whole. */
static void heap_search(const char *file, size_t size, const ElfW(Shdr) *symbols,
                        const ElfW(Shdr) *names, uintptr_t base, void **found) {
    if (names->sh_offset > size || names->sh_size > size - names->sh_offset || !names->sh_size ||
        file[names->sh_offset + names->sh_size - 1] ||
        symbols->sh_offset > size || symbols->sh_size > size - symbols->sh_offset) return;
    for (size_t i = 0; i < symbols->sh_size / sizeof(ElfW(Sym)); i++) {
        ElfW(Sym) symbol;
        memcpy(&symbol, file + symbols->sh_offset + i * sizeof symbol, sizeof symbol);
        if (!symbol.st_value || symbol.st_name >= names->sh_size) continue;
        for (int m = 0; m < HEAP_MARKS; m++)
            if (strcmp(file + names->sh_offset + symbol.st_name, heap_marks[m]) == 0)
                found[m] = (void *)(base + (uintptr_t)symbol.st_value);
    }
}

static void heap_sections(const char *file, size_t size, uintptr_t base, void **found) {
    ElfW(Ehdr) head;
    ElfW(Shdr) section, names;
    if (size < sizeof head) return;
    memcpy(&head, file, sizeof head);
    if (head.e_shoff > size || head.e_shnum > (size - head.e_shoff) / sizeof section) return;
    for (size_t i = 0; i < head.e_shnum; i++) {
        memcpy(&section, file + head.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= head.e_shnum) continue;
        memcpy(&names, file + head.e_shoff + section.sh_link * sizeof section, sizeof names);
        heap_search(file, size, &section, &names, base, found);
    }
}

static int heap_base(struct dl_phdr_info *info, size_t size, void *base) {
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;                            /* the first one is the program */
}

static void heap_find_marks(void **found) {
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat st;
    uintptr_t base = 0;
    void *map = MAP_FAILED;
    if (file >= 0 && fstat(file, &st) == 0 && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0) close(file);
    if (map == MAP_FAILED) return;
    dl_iterate_phdr(heap_base, &base);
    heap_sections((const char *)map, (size_t)st.st_size, base, found);
    munmap(map, (size_t)st.st_size);
}

/* Which file has the code at this address; NULL: that is not known. */
static void *heap_file_of(void *code) {
    Dl_info info;
    return code && dladdr(code, &info) ? info.dli_fbase : NULL;
}

/* A line for prof record, which named its file in PROF_STATUS, as prof.h writes them. */
static void heap_say(const char *why) {
    const char *path = getenv("PROF_STATUS");
    char line[256];
    int file = path && *path ? open(path, O_RDWR | O_APPEND | O_CLOEXEC) : -1;
    if (file < 0) return;
    if (read(file, line, 12) == 12 && memcmp(line, "prof record\n", 12) == 0) {
        int size = snprintf(line, sizeof line, "heap %ld %s\n", (long)getpid(), why);
        if (write(file, line, (size_t)size) != size) line[0] = 0;    /* record says that, too */
    }
    close(file);
}

__attribute__((constructor)) static void heap_begin(void) {
    void *found[HEAP_MARKS];
    heap_inside = 1;
    for (int m = 0; m < HEAP_MARKS; m++) found[m] = dlsym(RTLD_DEFAULT, heap_marks[m]);
    if (!found[0] || !found[1]) heap_find_marks(found);
    heap_inside = 0;
    if (heap_file_of(dlsym(RTLD_DEFAULT, "malloc")) != heap_file_of(&heap_real)) {
        heap_say("the program has a malloc of its own, which no preloaded library can replace");
    } else if (!found[0] || !found[1]) {
        heap_say("the program has no symbol prof_memory_alloc: it is stripped, and does not "
                 "export it (-rdynamic)");
    } else if (found[2]) {
        heap_say("linked");
    } else {
        memcpy(&heap_alloc_told, found, sizeof *found);
        memcpy(&heap_free_told, found + 1, sizeof *found);
        heap_say("");
    }
}
#endif

/* ---- What is told ---- */

/* p NULL: there was no memory. */
static void heap_tell_alloc(const void *p, size_t bytes) {
    int kept = errno;
    if (heap_inside) return;
    heap_inside = 1;
    heap_alloc(p, bytes, heap_device);
    heap_inside = 0;
    errno = kept;
}

/* Told before the memory is free: then no other thread can have it again, and tell that, first. */
static void heap_tell_free(const void *p) {
    int kept = errno;
    if (heap_inside || !p) return;
    heap_inside = 1;
    heap_free(p, heap_device);
    heap_inside = 0;
    errno = kept;
}

/* ---- The calls ---- */

void *HEAP(malloc)(size_t bytes);
void *HEAP(calloc)(size_t count, size_t bytes);
void *HEAP(realloc)(void *p, size_t bytes);
void *HEAP(reallocarray)(void *p, size_t count, size_t bytes);
void *HEAP(memalign)(size_t alignment, size_t bytes);
void *HEAP(aligned_alloc)(size_t alignment, size_t bytes);
int HEAP(posix_memalign)(void **p, size_t alignment, size_t bytes);
void HEAP(free)(void *p);

void *HEAP(malloc)(size_t bytes) {
    void *p;
    if (!heap_is_found()) return heap_early(bytes);
    p = REAL(malloc)(bytes);
    heap_tell_alloc(p, bytes);
    return p;
}

void *HEAP(calloc)(size_t count, size_t bytes) {
    void *p;
    if (!heap_is_found()) return heap_early(count * bytes);
    p = REAL(calloc)(count, bytes);
    heap_tell_alloc(p, count * bytes);
    return p;
}

void HEAP(free)(void *p) {
    if (!heap_is_found() || heap_is_early(p)) return;
    heap_tell_free(p);
    REAL(free)(p);
}

/* What cannot be made larger stays: its size is not known here, only what it has room for. */
void *HEAP(realloc)(void *p, size_t bytes) {
    void *q;
    if (!p) return HEAP(malloc)(bytes);
    if (!heap_is_found() || heap_is_early(p)) return NULL;
    heap_tell_free(p);
    q = REAL(realloc)(p, bytes);
    if (!q && bytes) heap_tell_alloc(p, malloc_usable_size(p));
    if (q || bytes) heap_tell_alloc(q, bytes);
    return q;
}

void *HEAP(reallocarray)(void *p, size_t count, size_t bytes) {
    if (bytes && count > SIZE_MAX / bytes) {
        errno = ENOMEM;
        return NULL;
    }
    return HEAP(realloc)(p, count * bytes);
}

void *HEAP(memalign)(size_t alignment, size_t bytes) {
    void *p;
    if (!heap_is_found()) return NULL;
    p = REAL(memalign)(alignment, bytes);
    heap_tell_alloc(p, bytes);
    return p;
}

void *HEAP(aligned_alloc)(size_t alignment, size_t bytes) {
    void *p;
    if (!heap_is_found()) return NULL;
    p = REAL(aligned_alloc)(alignment, bytes);
    heap_tell_alloc(p, bytes);
    return p;
}

int HEAP(posix_memalign)(void **p, size_t alignment, size_t bytes) {
    int error;
    if (!heap_is_found()) return ENOMEM;
    error = REAL(posix_memalign)(p, alignment, bytes);
    if (!error) heap_tell_alloc(*p, bytes);
    if (error == ENOMEM) heap_tell_alloc(NULL, bytes);
    return error;
}

#ifdef __cplusplus
}

/* ---- C++: the other forms of these operators call these ---- */

#include <new>

static void *heap_new(size_t alignment, size_t bytes) {
    for (;;) {
        void *p = alignment ? memalign(alignment, bytes) : malloc(bytes ? bytes : 1);
        std::new_handler handler = std::get_new_handler();
        if (p) return p;
        if (handler) handler();
        else throw std::bad_alloc();
    }
}

void *operator new(size_t bytes) { return heap_new(0, bytes); }
void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
#  ifdef __cpp_aligned_new
void *operator new(size_t bytes, std::align_val_t alignment) {
    return heap_new((size_t)alignment, bytes);
}
void operator delete(void *p, std::align_val_t) noexcept { free(p); }
void operator delete(void *p, size_t, std::align_val_t) noexcept { free(p); }
#  endif
#endif
