/* What Windows does otherwise: the ends of threads, fibers, DLLs that leave, paths. C and C++,
   built by test_windows.sh with each compiler for Windows. -DONLY_DLL: the DLL that it loads. */
#ifdef ONLY_DLL
#  define PROF_IMPLEMENTATION
#  include "prof.h"
#  include <windows.h>

#  ifdef __cplusplus
extern "C" {
#  endif
__declspec(dllexport) void mark(void) { PROF_BLOCK("in the DLL") {} }
__declspec(dllexport) unsigned session(int open) {
    if (open) return (unsigned)prof_start(NULL);
    prof_stop();
    return (unsigned)prof_get_stats(NULL).recorded;
}
BOOL WINAPI DllMain(HINSTANCE module, DWORD why, LPVOID more) {
    (void)module;
    (void)more;
    if (why != DLL_PROCESS_DETACH) return TRUE;
    mark();
    prof_thread_end();
    mark();
    return TRUE;
}
#  ifdef __cplusplus
}
#  endif
#else
#  include "test.h"

#  include <errno.h>
#  include <winsock2.h>
#  include <windows.h>
#  ifdef PTHREADS
#    include <pthread.h>
#  endif
#  include <psapi.h>

static void zone(void) { PROF_BLOCK("zone") {} }
static DWORD WINAPI thread(void *p) {
    zone();
    return p != NULL;
}
static void run(DWORD (WINAPI *what)(void *), void *p) {
    HANDLE h = CreateThread(NULL, 0, what, p, 0, NULL);
    WaitForSingleObject(h, INFINITE);
    CloseHandle(h);
}

static size_t memory_in_use(void) {
    PROCESS_MEMORY_COUNTERS m;
    memset(&m, 0, sizeof m);
    m.cb = sizeof m;
    GetProcessMemoryInfo(GetCurrentProcess(), &m, sizeof m);
    return m.PagefileUsage;
}

/* ---- threads and their ends ---- */

static void test_threads_one_after_another(void) {
    prof_desc d;
    size_t before, without;
    int i;
    memset(&d, 0, sizeof d);
    d.mode = PROF_MODE_AGGREGATE;
    before = memory_in_use();            /* the system's own grows, too */
    for (i = 0; i < THREADS; i++) run(thread, NULL);
    without = memory_in_use() - before;
    EQUAL(prof_start(&d), PROF_OK);
    for (i = 0; i < 300; i++) run(thread, NULL);
    before = memory_in_use();
    for (; i < THREADS; i++) run(thread, NULL);
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, THREADS);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    CHECK(memory_in_use() < before + without + (4 << 20), "%d bytes more, %d without zones",
          (int)(memory_in_use() - before), (int)without);
}

static void test_sessions(void) {
    int i, k;
    for (i = 0; i < 100; i++) {
        EQUAL(prof_start(NULL), PROF_OK);
        for (k = 0; k < 5; k++) run(thread, NULL);
        zone();
        prof_stop();
        EQUAL(prof_get_stats(NULL).recorded, 6);
    }
}

#  ifdef PTHREADS
static void *posix_thread(void *p) {
    zone();
    return p;
}

static void test_pthreads(void) {
    int i;
    EQUAL(prof_start(NULL), PROF_OK);
    for (i = 0; i < 600; i++) {
        pthread_t t;
        pthread_create(&t, NULL, posix_thread, NULL);
        pthread_join(t, NULL);
    }
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 600);
    EQUAL(prof_start(NULL), PROF_OK);
    zone();
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 1);
}
#  endif

static void session_in(void *memory, void *before) {
    prof_desc d;
    memset(&d, 0, sizeof d);
    d.memory = memory;
    d.memory_size = 4 << 20;
    EQUAL(prof_start(&d), PROF_OK);
    if (before) VirtualFree(before, 0, MEM_RELEASE);
    run(thread, NULL);
    zone();
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 2);
    prof_thread_end();
}

/* desc.memory may go when all threads that recorded there have ended. */
static void test_memory_goes(void) {
    void *before = NULL;
    int i;
    for (i = 0; i < 4; i++) {
        void *memory = VirtualAlloc(NULL, 4 << 20, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        PASS_ON(session_in(memory, before));
        before = memory;
    }
    EQUAL(prof_start(NULL), PROF_OK);
    VirtualFree(before, 0, MEM_RELEASE);
}

#  ifdef __cplusplus
struct ending { int used; ~ending() { zone(); } };
static thread_local ending at_end;
static DWORD WINAPI with_destructor(void *p) {
    at_end.used = 1;
    zone();
    return p != nullptr;
}

static void test_destructors(void) {
    EQUAL(prof_start(NULL), PROF_OK);
    for (int i = 0; i < 600; i++) run(with_destructor, NULL);
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 1200);
    EQUAL(prof_start(NULL), PROF_OK);
    zone();
    prof_stop();
    EQUAL(prof_get_stats(NULL).recorded, 1);
}
#  endif

/* ---- fibers ---- */

static LPVOID home;
static void CALLBACK fiber(void *p) {
    (void)p;
    zone();
    SwitchToFiber(home);
}

static void test_a_fiber_goes(void) {
    const prof_event *e;
    size_t n;
    LPVOID f;
    EQUAL(prof_start(NULL), PROF_OK);
    home = ConvertThreadToFiber(NULL);
    f = CreateFiber(0, fiber, NULL);
    SwitchToFiber(f);                    /* this thread's first zone */
    PROF_BEGIN("outer");
    DeleteFiber(f);
    PROF_BLOCK("inner") {}
    PROF_END();
    e = prof_events(prof_stop(), NULL, 0, &n);
    ConvertFiberToThread();
    EQUAL(n, 3);
    SAME_TEXT(e[1].name, "outer");
    EQUAL(e[1].flags & PROF_EVENT_UNFINISHED, 0);
    EQUAL(e[2].parent, 1);
    EQUAL(e[2].thread, e[1].thread);
}

static LPVOID kept[300];
static int kept_count;
static DWORD WINAPI fiber_user(void *p) {
    home = ConvertThreadToFiber(NULL);
    kept[kept_count] = CreateFiber(0x1000, fiber, NULL);
    SwitchToFiber(kept[kept_count++]);
    ConvertFiberToThread();
    return p != NULL;
}

static void test_fibers_outlive_threads(void) {
    EQUAL(prof_start(NULL), PROF_OK);
    while (kept_count < 300) run(fiber_user, NULL);
    prof_stop();
    while (kept_count) DeleteFiber(kept[--kept_count]);
    EQUAL(prof_get_stats(NULL).recorded, 300);
}

#  define FIBERS 8
static LPVOID moved[FIBERS], homes[2];
static void *contexts[FIBERS];
static int worker;
static void CALLBACK fiber_that_moves(void *p) {
    int i;
    (void)p;
    for (i = 0; i < 3; i++) {
        PROF_BLOCK("step") {
            PROF_BLOCK("wait") { SwitchToFiber(homes[worker]); }
        }
    }
    SwitchToFiber(homes[worker]);
}

static DWORD WINAPI resumes_all(void *number) {
    int i;
    worker = (int)(intptr_t)number;
    homes[worker] = ConvertThreadToFiber(NULL);
    for (i = 0; i < FIBERS; i++) {
        PROF_BLOCK("job") {
            void *mine = prof_context_switch(contexts[i]);
            if (!moved[i]) moved[i] = CreateFiber(0x1000, fiber_that_moves, NULL);
            SwitchToFiber(moved[i]);
            contexts[i] = prof_context_switch(mine);
        }
    }
    ConvertFiberToThread();
    return 0;
}

/* Each of the fibers' zones begins on one thread and ends on the next, the first before the
   session: github.com/bombomby/optick/issues/88, github.com/wolfpld/tracy/issues/402. */
static void test_fibers_move(void) {
    prof_stats stats;
    int i;
    run(resumes_all, (void *)0);
    EQUAL(prof_start(NULL), PROF_OK);
    for (i = 1; i < 4; i++) run(resumes_all, (void *)(intptr_t)(i & 1));
    prof_stop();
    stats = prof_get_stats(NULL);
    for (i = 0; i < FIBERS; i++) DeleteFiber(moved[i]);
    EQUAL(stats.recorded, 3 * FIBERS + 2 * 2 * FIBERS);
    EQUAL(stats.dropped + stats.unfinished, 0);
}

/* ---- a DLL with a profiler of its own ---- */

typedef struct plugin {
    HMODULE module;
    void (*mark)(void);
    unsigned (*session)(int open);
    HANDLE go, marked;
} plugin;

static DWORD WINAPI in_plugin(void *p) {
    const plugin *l = (const plugin *)p;
    l->mark();
    SetEvent(l->marked);
    WaitForSingleObject(l->go, INFINITE);
    return 0;
}

/* More often than the system has TLS for: github.com/mingw-w64/mingw-w64/issues/52. */
static void test_dll_goes(void) {
    int round, i, count;
    for (round = 0; round < (THREADS > 1000 ? 1200 : 3); round++) {
        HANDLE threads[4];
        FARPROC f;
        plugin l;
        l.module = LoadLibraryA(TEST_OUT "/plugin.dll");
        CHECK(l.module, "no DLL");
        f = GetProcAddress(l.module, "mark");
        memcpy(&l.mark, &f, sizeof f);
        f = GetProcAddress(l.module, "session");
        memcpy(&l.session, &f, sizeof f);
        l.go = CreateEvent(NULL, TRUE, FALSE, NULL);
        l.marked = CreateEvent(NULL, FALSE, FALSE, NULL);
        EQUAL(l.session(1), PROF_OK);
        l.mark();
        count = round < 3 ? 4 : 1;
        for (i = 0; i < count; i++) {
            threads[i] = CreateThread(NULL, 0, in_plugin, &l, 0, NULL);
            WaitForSingleObject(l.marked, INFINITE);
        }
        if (round) EQUAL(l.session(0), count + 1);
        CHECK(FreeLibrary(l.module), "it does not go");   /* first in mid-session */
        SetEvent(l.go);
#  ifdef __cplusplus
        try { throw round; } catch (int) {}   /* github.com/wolfpld/tracy/issues/245 */
#  endif
        for (i = 0; i < count; i++) {
            WaitForSingleObject(threads[i], INFINITE);
            CloseHandle(threads[i]);
        }
        CloseHandle(l.go);
        CloseHandle(l.marked);
    }
}

/* ---- paths ---- */

static bool there(const wchar_t *path) {
    return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

static prof_result save(const char *path) {
    prof_trace *t;
    prof_result r;
    prof_start(NULL);
    zone();
    t = prof_stop();
    errno = 0;
    r = prof_save_chrome(t, path);
    return r;
}

static void test_utf8_paths(void) {
    DeleteFileW(L"\x00fc\x65e5\xd83d\xde00.json");
    EQUAL(save("\xc3\xbc\xe6\x97\xa5\xf0\x9f\x98\x80.json"), PROF_OK);
    EQUAL(there(L"\x00fc\x65e5\xd83d\xde00.json"), true);
    DeleteFileW(L"\x00fc\x65e5\xd83d\xde00.json");
    EQUAL(save("\xfc.json"), PROF_ERROR_FILE);   /* that is no UTF-8 */
    EQUAL(errno, EILSEQ);
}

static void test_environment_is_utf8(void) {
    const wchar_t *path = L"\x65e5\x672c.json";
    DeleteFileW(path);
    SetEnvironmentVariableW(L"PROF_TRACE", path);
    SAME_TEXT(prof_getenv("PROF_TRACE"), "\xe6\x97\xa5\xe6\x9c\xac.json");
    EQUAL(prof_start_env(NULL), PROF_OK);
    zone();
    EQUAL(prof_stop_env(), PROF_OK);
    SetEnvironmentVariableW(L"PROF_TRACE", NULL);
    EQUAL(prof_getenv("PROF_TRACE") == NULL, true);
    EQUAL(there(path), true);
    DeleteFileW(path);
}

/* Folders deeper than 260 characters; the handler makes them. */
static void test_long_paths(void) {
    char folder[900] = TEST_OUT "/long", file[1000];
    prof_handler h;
    prof_trace *t;
    int i;
    for (i = 0; i < 8; i++) strcat(folder, "/a-folder-whose-name-is-long-and-that-lies-in-others");
    memset(&h, 0, sizeof h);
    h.dir = folder;
    prof_start(NULL);
    zone();
    t = prof_stop();
    prof_trace_handler(&h, t);
    EQUAL(h.saved, 1);
    EQUAL(save(strcat(strcpy(file, folder), "/trace.json")), PROF_OK);
    for (i = 0; i < 1000 - 1; i++) file[i] = 'x';
    file[999] = 0;
    EQUAL(save(file), PROF_ERROR_FILE);
    EQUAL(errno, ENAMETOOLONG);
}

static bool any(const wchar_t *pattern) {
    WIN32_FIND_DATAW found;
    HANDLE h = FindFirstFileW(pattern, &found);
    if (h != INVALID_HANDLE_VALUE) FindClose(h);
    return h != INVALID_HANDLE_VALUE;
}

/* What is written there goes where the system has it go, which may be nowhere: no file is made. */
static void test_reserved_names(void) {
    static const char *const names[] = { "con", "CON", "aux", "com7", "lpt1" };
    size_t i;
    EQUAL(save("NUL"), PROF_OK);
    EQUAL(save("nul"), PROF_OK);
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (save(names[i]) != PROF_OK) CHECK(errno != 0, "%s: errno does not say why", names[i]);
    SetEnvironmentVariableW(L"PROF_TRACE", L"nul");
    EQUAL(prof_start_env(NULL), PROF_OK);
    zone();
    EQUAL(prof_stop_env(), PROF_OK);
    SetEnvironmentVariableW(L"PROF_TRACE", NULL);
    EQUAL(any(L"con*") || any(L"aux*") || any(L"com7*") || any(L"lpt1*") || any(L"nul*"), false);
}

/* What names no file that could be written is told at the start. */
static void environment(const wchar_t *path, int error) {
    SetEnvironmentVariableW(L"PROF_TRACE", path);
    errno = 0;
    EQUAL(prof_start_env(NULL), PROF_ERROR_FILE);
    EQUAL(errno, error);
    SetEnvironmentVariableW(L"PROF_TRACE", NULL);
}

static void test_environment_of_no_use(void) {
    wchar_t wide[1000];
    int i;
    PASS_ON(environment(L"no such folder/x.raw", ENOENT));
    CreateDirectoryW(L"folder.raw", NULL);
    PASS_ON(environment(L"folder.raw", EACCES));
    RemoveDirectoryW(L"folder.raw");
    wcscpy(wide, L"no");
    for (i = 0; i < 38; i++) wcscat(wide, L"/a-long-name-of-a-folder");
    PASS_ON(environment(wcscat(wide, L"/x.raw"), ENOENT));
}

static void test_errno_says_why(void) {
    HANDLE h;
    EQUAL(save("no such folder/x.json"), PROF_ERROR_FILE);
    EQUAL(errno, ENOENT);
    h = CreateFileW(L"locked.json", GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    EQUAL(save("locked.json"), PROF_ERROR_FILE);
    EQUAL(errno, EACCES);
    CloseHandle(h);
    EQUAL(save("locked.json"), PROF_OK);
    DeleteFileW(L"locked.json");
    EQUAL(save("."), PROF_ERROR_FILE);
    EQUAL(errno, EACCES);
}

static void test_worker_is_the_computer(void) {
    wchar_t name[64], pattern[100];
    DWORD n = 64;
    prof_handler to;
    prof_trace *t;
    GetComputerNameW(name, &n);
    memset(&to, 0, sizeof to);
    to.dir = TEST_OUT;
    prof_start(NULL);
    zone();
    t = prof_stop();
    prof_trace_handler(&to, t);
    EQUAL(to.saved, 1);
    swprintf(pattern, 100, L"%hs/%ls_%u.*.json", TEST_OUT, name, (unsigned)GetCurrentProcessId());
    CHECK(any(pattern), "no file of that name");
}

#  ifdef PROF_ZLIB
static void test_gzip(void) {
    EQUAL(save("out.json.gz"), PROF_OK);
    EQUAL(there(L"out.json.gz"), true);
    DeleteFileW(L"out.json.gz");
}
#  endif

int main(void) {
    RUN(test_threads_one_after_another);
    RUN(test_sessions);
#  ifdef PTHREADS
    RUN(test_pthreads);
#  endif
    RUN(test_memory_goes);
#  ifdef __cplusplus
    RUN(test_destructors);
#  endif
    RUN(test_a_fiber_goes);
    RUN(test_fibers_outlive_threads);
    RUN(test_fibers_move);
    RUN(test_dll_goes);
    RUN(test_utf8_paths);
    RUN(test_environment_is_utf8);
    RUN(test_long_paths);
    RUN(test_reserved_names);
    RUN(test_environment_of_no_use);
    RUN(test_errno_says_why);
    RUN(test_worker_is_the_computer);
#  ifdef PROF_ZLIB
    RUN(test_gzip);
#  endif
    return test_end();
}
#endif
