#!/bin/sh
# Zones as ITT tasks, for tools of our own that a program loads as it would load VTune's: by the path
# in the environment. With ALL=1 (tests/run.sh --all) also on Windows.
# shellcheck disable=SC2086   # commands of several words
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=${TESTS_OUT:-build/tests}/test_emit.dir
failed=0
mkdir -p "$out"

cat >"$out/itt.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#  include <windows.h>
#  define EXPORT __declspec(dllexport)
#  define TEXT_NAME(name) name##A
typedef CRITICAL_SECTION mutex;
#else
#  include <pthread.h>
#  define EXPORT
#  define TEXT_NAME(name) name
typedef pthread_mutex_t mutex;
#endif
typedef struct { int flags; const char *name; } domain;
typedef struct { unsigned long long d1, d2, d3; } id;
EXPORT domain *TEXT_NAME(__itt_domain_create)(const char *name);
EXPORT void *TEXT_NAME(__itt_string_handle_create)(const char *name);
EXPORT void __itt_task_begin(const domain *d, id task, id parent, void *name);
EXPORT void __itt_task_end(const domain *d);
domain *TEXT_NAME(__itt_domain_create)(const char *name) {
    static domain d;
    d.flags = getenv("FAKE_OFF") == NULL;
    d.name = name;
    return &d;
}
void *TEXT_NAME(__itt_string_handle_create)(const char *name) {
    static char names[99][99];
    static int count;
    return strcpy(names[count++], name);
}
void __itt_task_begin(const domain *d, id task, id parent, void *name) {
    printf("%s: begin %s %d\n", d->name, (char *)name, (int)(task.d1 + parent.d3));
}
void __itt_task_end(const domain *d) { printf("%s: end\n", d->name); }
#ifdef itt_init
typedef struct { const char *name; void **f; void *init, *null; int group; } api;
typedef struct {
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long initialized, mutex_initialized, counter;
    mutex lock;
    void *library, *error;
    const char **path;
    api *list;
} global;
static void quiet_end(const domain *d) { printf("%s: END\n", d->name); }
EXPORT void __itt_api_init(global *g, int groups);
void __itt_api_init(global *g, int groups) {
    int i;
    if (g->magic[0] != 0xed || g->magic[7] != 0x30 || g->major != 3 || groups != -1) return;
    for (i = 0; g->list[i].name; i++)
        if (strcmp(g->list[i].name, "__itt_task_end") == 0) *g->list[i].f = (void *)quiet_end;
    printf("init %d %d\n", i, g->library != NULL);
}
#endif
END
cat >"$out/program.c" <<'END'
#include "prof.h"
#include <stdio.h>
#include <string.h>
static void say(const char *what, prof_result r) {
    printf("%s: %s\n", what, r == PROF_OK ? "ok" : prof_strerror(r));
}
static void zones(void) {
    static const int64_t dims[] = {2, 3};
    prof_shape one[] = {{dims, NULL, 1}};
    prof_shape shapes[] = {{dims, NULL, 2}, {NULL, NULL, 3}, {dims, NULL, 1}, {NULL, one, 1}};
    prof_extra with;
    prof_desc desc;
    memset(&with, 0, sizeof with);
    memset(&desc, 0, sizeof desc);
    desc.record_shapes = true;
    with.has = PROF_HAS_SEQUENCE_NR | PROF_HAS_ID;
    with.sequence_nr = 5;
    with.id = 7;
    with.input_shapes = shapes;
    with.input_count = 4;
    say("start", prof_start(&desc));
    PROF_BLOCK("outer") {
        prof_push_with("op", &with);
        prof_instant("here");
        prof_pop();
        with.has = 0;
        prof_push_with("sizes only", &with);
        prof_pop();
        prof_push_with("nothing", NULL);
        prof_pop();
        with.has = PROF_HAS_SEQUENCE_NR | PROF_HAS_ID;   /* as good as none */
        with.sequence_nr = -1;
        with.id = 0;
        with.input_count = 0;
        prof_push_with("unknown", &with);
        prof_pop();
    }
    say("within", prof_emit_itt(true));
    printf("%u zones\n", (unsigned)prof_get_stats(prof_stop()).recorded);
}
int main(void) {
    int depths[5], i;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    printf("available %d\n", prof_itt_is_available());
    prof_itt_mark("moment");
    for (i = 0; i < 5; i++)
        depths[i] = i < 2 ? prof_itt_range_push(i ? NULL : "a") : prof_itt_range_pop();
    for (i = 0; i < 5; i++) printf("%d ", depths[i]);
    say("on", prof_emit_itt(true));
    zones();
    say("off", prof_emit_itt(false));
    return 0;
}
END

# is NAME EXPECTED COMMAND...: what the command prints, with | for the ends of lines
is() {
    label=$1 expected=$2
    shift 2
    got=$("$@" 2>&1 | tr -d '\r' | tr '\n' '|')
    if [ "$got" = "$expected" ]; then echo "ok $label"; return; fi
    failed=1
    echo "not ok $label: $got"
}

state='a session is open already: call prof_stop first'
unknown='an argument is NULL or out of range, or the trace is gone'
missing='ITT: no tool listens, INTEL_LIBITTNOTIFY64 is not set'

itt() {   # END: how a task's end shows
    printf 'available 1|prof: begin moment 0|%s|' "$1"
    printf 'prof: begin a 0|prof: begin  0|%s|%s|0 1 1 0 -1 on: ok|start: ok|' "$1" "$1"
    printf 'prof: begin outer 0|prof: begin op 0|prof: begin here 0|%s|%s|' "$1" "$1"
    printf 'prof: begin sizes only 0|%s|prof: begin nothing 0|%s|' "$1" "$1"
    printf 'prof: begin unknown 0|%s|%s|' "$1" "$1"
    printf 'within: %s|5 zones|off: ok|' "$state"
}

none() {   # WHY: without a tool
    printf 'available 0|-1 -1 -1 -1 -1 on: %s|start: ok|' "$1"
    printf 'within: %s|5 zones|off: %s|' "$1" "$unknown"
}

all() {   # NAME SUFFIX [RUNNER]: the program is NAME, the tools end in SUFFIX
    name=$1 dll=$2 exe=${3:+$3 }$out/$1 here=$PWD/$out
    is "$name: itt" "$(itt 'prof: end')" env INTEL_LIBITTNOTIFY64="$here/itt.$dll" $exe
    is "$name: itt with init" "init 4 1|$(itt 'prof: END')" \
        env INTEL_LIBITTNOTIFY64="$here/itt_init.$dll" $exe
    is "$name: itt that is off" "$(itt 'prof: end' | tr '|' '\n' | grep -v ^prof: | tr '\n' '|')" \
        env FAKE_OFF=1 INTEL_LIBITTNOTIFY64="$here/itt.$dll" $exe
    is "$name: no itt" "$(none "$missing")" $exe
    for tool in $lacking; do
        is "$name: $tool is no itt" \
            "$(none 'ITT: the library that INTEL_LIBITTNOTIFY64 names is no tool that works')" \
            env INTEL_LIBITTNOTIFY64="$here/$tool.$dll" $exe
    done
}

build() {   # SUFFIX PROGRAM IMPLEMENTATION COMPILER...: an object, or a flag
    dll=$1 exe=$2 body=$3
    shift 3
    for tool in itt itt_init; do
        "$@" -std=gnu99 -w -shared -fPIC "$out/${tool%_init}.c" -o "$out/$tool.$dll" \
            -D"$tool" || return
    done
    for tool in $lacking; do
        "$@" -std=gnu99 -w -shared -fPIC "$out/itt.c" -o "$out/$tool.$dll" -D"__itt_$tool=none" ||
            return
    done
    "$@" -std=gnu99 -Wall -Wextra -Werror -I. "$out/program.c" "$body" -o "$out/$exe" $libs
}

unset NVTX_INJECTION64_PATH INTEL_LIBITTNOTIFY64
library zlib
lacking='domain_create string_handle_create task_begin task_end'   # functions of a tool
if build so program "$library" $cc -O0; then all program so
else failed=1; echo 'not ok builds'
fi
libs='' lacking=''
if [ -n "${CC:-}" ] || [ -z "${ALL:-}" ]; then :   # only that compiler's; Wine takes long
elif command -v x86_64-w64-mingw32-gcc >/dev/null && wine_begin; then
    if build dll program.exe -DPROF_IMPLEMENTATION x86_64-w64-mingw32-gcc -O0; then all program.exe dll "$wine"
    else failed=1; echo 'not ok builds for Windows'
    fi
else
    echo 'skip program.exe: x86_64-w64-mingw32-gcc or wine64 is not installed'
fi
exit $failed
