/* portable */
/* build: -fno-omit-frame-pointer */
/* Native call stacks: functions that are known, in their order, whichever way they are read. */
#if !defined(_GNU_SOURCE)
#  define _GNU_SOURCE 1                  /* dlinfo */
#endif
#include "../test.h"

#if defined(__linux__)
#  include <dlfcn.h>
#  include <elf.h>
#  include <fcntl.h>
#  include <link.h>
#endif
#if !defined(_WIN32)
#  include <pthread.h>
#  include <signal.h>
#  include <unistd.h>
#endif

#if defined(__GNUC__)
#  define APART __attribute__((noinline))
#else
#  define APART
#endif

static volatile int after;               /* what stands behind a call keeps its frame */

static void spend_time(void) {
    int i;
    for (i = 0; i < 20000; i++) after++;
}

APART static void innermost_function(void) {
    PROF_SCOPE("inner");
    spend_time();
}

APART static void middle_function(void) {
    innermost_function();
    after++;
}

APART static void outer_function(void) {
    PROF_BEGIN("outer");
    middle_function();
    middle_function();
    PROF_END();
    after++;
}

/* Names are found where the program's file tells them. */
static bool has_names(void) {
#if defined(__linux__)
    return true;
#else
    return false;
#endif
}

static prof_result start(prof_stack how) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.with_stack = how;
    return prof_start(&desc);
}

/* Which entry names the function; -1: none. */
static int entry_of(const prof_event *e, const char *function) {
    uint32_t i;
    for (i = 0; i < e->extra->stack_count; i++)
        if (strstr(e->extra->stack[i], function)) return (int)i;
    return -1;
}

static void check_stacks(const prof_trace *trace) {
    const prof_event *inner = test_find(trace, "inner", 0), *second = test_find(trace, "inner", 1);
    const prof_event *outer = test_find(trace, "outer", 0);
    CHECK(inner && second && outer && inner->extra && outer->extra, "not recorded");
    EQUAL(prof_get_stats(trace).not_kept, 0);
    CHECK(inner->extra->stack_count >= 3, "%u entries",
          (unsigned)inner->extra->stack_count);
    if (!has_names()) return;
    EQUAL(entry_of(inner, "innermost_function"), 0);
    EQUAL(entry_of(inner, "middle_function"), 1);
    EQUAL(entry_of(inner, "outer_function"), 2);
    EQUAL(entry_of(outer, "outer_function"), 0);
    EQUAL(entry_of(outer, "middle_function"), -1);
    CHECK(entry_of(inner, "main") == entry_of(outer, "main") + 2, "main at %d and %d",
          entry_of(inner, "main"), entry_of(outer, "main"));
    CHECK(strstr(inner->extra->stack[0], "(0x") && strstr(inner->extra->stack[0], "): "), "'%s'",
          inner->extra->stack[0]);
    CHECK(strcmp(inner->extra->stack[1], second->extra->stack[1]) == 0 &&
          strcmp(inner->extra->stack[2], second->extra->stack[2]) != 0, "calls of two lines: %s",
          second->extra->stack[2]);
}

/* The functions stand among the zones, each once. */
static void check_folded(const char *text) {
    const char *outer = strstr(text, "outer_function"), *end = strchr(text, '\n'), *inner;
    CHECK(text && outer && end, "%s", text);
    inner = strstr(text, "innermost_function");
    CHECK(inner && strstr(text, "middle_function") < inner, "%s", text);
    CHECK(inner > outer && strstr(outer, ";outer;"), "%s", text);
    CHECK(strstr(inner, ";inner "), "%s", text);
    CHECK(!strstr(text, "outer;pushed") && !strstr(text, "inner;pushed"), "%s", text);
}

static void one_way(prof_stack how) {
    prof_averages_desc by;
    prof_average rows[8];
    prof_trace *trace;
    test_text text;
    size_t n;
    memset(&by, 0, sizeof by);
    memset(&text, 0, sizeof text);
    if (start(how) == PROF_ERROR_UNSUPPORTED) {
        CHECK(strstr(prof_strerror(PROF_ERROR_UNSUPPORTED), "with_stack"), "%s",
              prof_strerror(PROF_ERROR_UNSUPPORTED));
        SKIP("%s", prof_strerror(PROF_ERROR_UNSUPPORTED));
    }
    outer_function();
    prof_push("pushed");
    prof_pop();
    trace = prof_stop();
    PASS_ON(check_stacks(trace));
    PASS_ON(test_tree(trace));
    EQUAL(prof_get_stats(trace).recorded, 4);
    EQUAL(prof_get_stats(trace).dropped, 0);
    by.group_by_stack_n = 1;
#if !defined(_WIN32) || defined(__OPTIMIZE__)   /* else a begin has a frame of its own */
    EQUAL(prof_key_averages(trace, &by, rows, 8), 3);
#endif
    by.group_by_stack_n = 3;
    n = prof_key_averages(trace, &by, rows, 8);
    EQUAL(n, 4);
    EQUAL(rows[1].stack_count, 3);
    EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
    if (has_names())
        CHECK(strstr(text.data, "\"Call stack\":\"") && strstr(text.data, "middle_function"), "%s",
              text.data);
    test_text_clear(&text);
    EQUAL(prof_write_stacks(trace, PROF_METRIC_NONE, test_text_sink(&text)), PROF_OK);
    if (has_names()) PASS_ON(check_folded(text.data));
    test_text_clear(&text);
    test_all_writers(trace);
}

static void test_native_frames(void) { one_way(PROF_STACK_FRAMES); }
static void test_native_unwind(void) { one_way(PROF_STACK_UNWIND); }

/* PROF_STACK_ZONES: no frames. */
static void test_native_off(void) {
    prof_desc desc;
    const prof_event *e;
    memset(&desc, 0, sizeof desc);
    desc.with_stack = PROF_STACK_ZONES;
    EQUAL(prof_start(&desc), PROF_OK);
    outer_function();
    e = test_find(prof_stop(), "inner", 0);
    EQUAL(e->extra->stack_count, 2);
    CHECK(strstr(e->extra->stack[0], "test_native.c("), "%s", e->extra->stack[0]);
}

static void test_native_bad_input(void) {
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
#ifndef __cplusplus
    desc.with_stack = (prof_stack)77;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
#endif
    desc.with_stack = PROF_STACK_FRAMES;    /* no room to analyse: no stacks, and no error */
    desc.keep = PROF_KEEP_RECORDS;
    if (prof_start(&desc) == PROF_ERROR_UNSUPPORTED) SKIP("not on this system");
    outer_function();
    EQUAL(prof_get_stats(NULL).recorded, 3);
}

/* Arenas of many sizes: stacks that do not fit are counted, and the zones stay. */
static void test_native_small_arenas(void) {
    static char memory[1 << 17];
    size_t size;
    uint64_t cut = 0;
    for (size = 12000; size < sizeof memory; size += 1777) {
        prof_desc desc;
        prof_trace *trace;
        prof_result result;
        int i;
        memset(&desc, 0, sizeof desc);
        desc.with_stack = PROF_STACK_FRAMES;
        desc.memory = memory;
        desc.memory_size = size;
        desc.max_threads = 1;
        desc.max_depth = 8;
        result = prof_start(&desc);
        if (result == PROF_ERROR_MEMORY) continue;
        if (result == PROF_ERROR_UNSUPPORTED) SKIP("not on this system");
        for (i = 0; i < 40; i++) outer_function();
        trace = prof_stop();
        PASS_ON(test_tree(trace));
        cut += prof_get_stats(trace).not_kept + prof_get_stats(trace).dropped_full;
        test_all_writers(trace);
    }
    CHECK(cut > 0, "all fitted");
}

#if !defined(_WIN32)
static void on_signal(int number) {
    (void)number;
    innermost_function();
    after++;
}

/* A handler on a stack of its own, among zones of the program. */
static void test_native_signal(void) {
    static char stack[1 << 16];
    struct sigaction action;
    stack_t other;
    const prof_event *e;
    prof_trace *trace;
    memset(&action, 0, sizeof action);
    memset(&other, 0, sizeof other);
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (start(PROF_STACK_FRAMES) != PROF_OK) SKIP("not on this system");
    PROF_BLOCK("main") raise(SIGUSR1);
    outer_function();
    trace = prof_stop();
    other.ss_flags = SS_DISABLE;
    sigaltstack(&other, NULL);
    e = test_find(trace, "inner", 0);
    CHECK(e && e->extra && e->extra->stack_count >= 2, "no stack");
    if (has_names()) EQUAL(entry_of(e, "innermost_function"), 0);
    if (has_names()) EQUAL(entry_of(e, "on_signal"), 1);
    PASS_ON(test_tree(trace));
}

static void *recurse(void *depth) {
    intptr_t n = (intptr_t)depth;
    volatile int mine = 0;               /* of this thread; else as `after` */
    PROF_SCOPE("recursion");
    if (n) recurse((void *)(n - 1));
    mine++;
    return NULL;
}

/* More frames than are kept, on other threads. */
static void test_native_deep_threads(void) {
    pthread_t threads[3];
    prof_trace *trace;
    size_t count, i, deepest = 0;
    const prof_event *events;
    if (start(PROF_STACK_FRAMES) != PROF_OK) SKIP("not on this system");
    for (i = 0; i < 3; i++) pthread_create(threads + i, NULL, recurse, (void *)(intptr_t)60);
    for (i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, 3 * 61);
    for (i = 0; i < count; i++) {
        CHECK(events[i].extra && events[i].extra->stack_count, "no stack at %u", (unsigned)i);
        if (events[i].extra->stack_count > deepest) deepest = events[i].extra->stack_count;
    }
    CHECK(deepest >= 60 && deepest <= 64, "%u", (unsigned)deepest);
    PASS_ON(test_tree(trace));
}
#endif

/* ---- A library whose file was changed since it was loaded ---- */

#if defined(__linux__) && defined(__GLIBC__)
static const char *const copy = TEST_OUT "/libcopy.so";

/* zlib's allocation, called from within it: no memory, and it gives up at once. */
APART static void *called_back(void *user, unsigned count, unsigned size) {
    PROF_SCOPE("called back");
    (void)user;
    (void)count;
    (void)size;
    spend_time();
    return NULL;
}

/* A copy of zlib, loaded, and its bytes; NULL: there is none. */
static void *load_copy(char *bytes, size_t *size) {
    struct link_map *map = NULL;
    void *original = dlopen("libz.so.1", RTLD_NOW);
    FILE *file;
    if (!original || dlinfo(original, RTLD_DI_LINKMAP, &map) != 0) return NULL;
    file = fopen(map->l_name, "rb");
    if (!file) return NULL;
    *size = fread(bytes, 1, *size, file);
    fclose(file);
    file = fopen(copy, "wb");
    if (!file) return NULL;
    (void)fwrite(bytes, 1, *size, file);
    fclose(file);
    return dlopen(copy, RTLD_NOW);
}

/* What the stack of a zone that the library called says of it; "": nothing, or the zone's own
   function is not told. */
static const char *entry_in_copy(void *library) {
    int (*init)(void *, int, int, int, int, int, const char *, int);
    void *stream[14], *(*take)(void *, unsigned, unsigned) = called_back;   /* zlib's z_stream */
    void *f = dlsym(library, "deflateInit2_");
    const prof_event *e;
    int i;
    memcpy(&init, &f, sizeof init);
    memset(stream, 0, sizeof stream);
    memcpy(stream + 8, &take, sizeof take);
    if (!init || start(PROF_STACK_UNWIND) != PROF_OK) return "";
    (void)init(stream, 6, 8, 15, 8, 0, "1", (int)sizeof stream);
    e = test_find(prof_stop(), "called back", 0);
    i = e && e->extra && entry_of(e, "called_back") == 0 ? entry_of(e, "libcopy.so") : -1;
    return i < 0 ? "" : e->extra->stack[i];
}

/* Whatever has become of the file: a right name or none, and the other files' names stay. */
static void test_native_broken_files(void) {
    static char bytes[1 << 20];
    ElfW(Ehdr) head;
    ElfW(Shdr) section, names;
    size_t size = sizeof bytes, at = 0, i;
    void *library = load_copy(bytes, &size);
    if (!library || size == sizeof bytes) SKIP("no zlib here");
    memcpy(&head, bytes, sizeof head);
    section.sh_type = SHT_NULL;
    for (i = 0; i < head.e_shnum && section.sh_type != SHT_DYNSYM; i++) {
        at = (size_t)head.e_shoff + i * sizeof section;
        memcpy(&section, bytes + at, sizeof section);
    }
    CHECK(section.sh_type == SHT_DYNSYM, "no symbols");
    if (!strstr(entry_in_copy(library), ": deflateInit2_")) SKIP("zlib calls from elsewhere");
    for (i = 0; i < 12; i++) {
        ElfW(Ehdr) h = head;
        ElfW(Shdr) s = section;
        size_t names_at = (size_t)head.e_shoff + section.sh_link * sizeof names;
        int file = open(copy, O_WRONLY);
        const char *entry;
        memcpy(&names, bytes + names_at, sizeof names);
        switch (i) {
        case 0: h.e_ident[0] = 0; break;
        case 1: h.e_shentsize = 1; break;
        case 2: h.e_phentsize = 1; break;
        case 3: h.e_phoff = 0x7fffff00; break;
        case 4: h.e_phnum = 0; break;
        case 5: h.e_shoff = 0x7fffff00; break;
        case 6: h.e_shnum = 0; break;
        case 7: s.sh_link = 60000; break;
        case 8: s.sh_offset = 0x7fffff00; break;
        case 9: s.sh_size = 7; break;
        case 10: names.sh_offset = 0x7fffff00; break;
        default: unlink(copy); break;
        }
        CHECK(pwrite(file, &h, sizeof h, 0) > 0 && pwrite(file, &s, sizeof s, (off_t)at) > 0 &&
              pwrite(file, &names, sizeof names, (off_t)names_at) > 0, "cannot write");
        entry = entry_in_copy(library);
        CHECK(strstr(entry, "): ??") != NULL, "case %u: %s", (unsigned)i, entry);
        CHECK(pwrite(file, bytes, size, 0) == (ssize_t)size, "cannot write");
        close(file);
    }
    dlclose(library);
}
#endif

int main(void) {
    RUN(test_native_frames);
    RUN(test_native_unwind);
    RUN(test_native_off);
    RUN(test_native_bad_input);
    RUN(test_native_small_arenas);
#if !defined(_WIN32)
    RUN(test_native_signal);
    RUN(test_native_deep_threads);
#endif
#if defined(__linux__) && defined(__GLIBC__)
    RUN(test_native_broken_files);
#endif
    return test_end();
}
