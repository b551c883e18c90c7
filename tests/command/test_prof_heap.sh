#!/bin/sh
# examples/heap: what a program allocates, linked in by --wrap and preloaded by prof record --heap.
# shellcheck disable=SC2086,SC2317   # flags are meant to split; try calls told
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/program.c" <<'END'
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include "prof.h"
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __cplusplus
#  include <string>
#endif

static void *volatile keep;              /* so that no compiler leaves a call out */
static void *kept(void *p) { return keep = p; }

static void *work(void *mine) {
    (void)mine;
    PROF_BLOCK("thread") {
        for (int i = 0; i < 1000; i++) free(kept(malloc(64)));
        kept(malloc(7));
    }
    return NULL;
}

int main(void) {
    void *before = kept(malloc(77)), *a, *b, *c = NULL;
    pthread_t threads[4];
    if (prof_start_env(NULL) != PROF_OK) return 1;
    PROF_BLOCK("before") { free(before); }
    PROF_BLOCK("make") {
        a = kept(malloc(1000));
        b = kept(calloc(8, 251));    /* all that its block has room for */
        if (posix_memalign(&c, 64, 40000) != 0) return 2;
    }
    PROF_BLOCK("grow") { a = kept(realloc(a, 5000)); }
    PROF_BLOCK("too much") {
        volatile size_t much = SIZE_MAX / 2;
        if (kept(malloc(much)) || kept(realloc(b, much)) || kept(calloc(2, much))) return 3;
    }
    PROF_BLOCK("align") { free(kept(aligned_alloc(64, 128))); kept(memalign(64, 192)); }
    PROF_BLOCK("free") { free(a); free(b); free(c); free(NULL); }
    PROF_BLOCK("zero") { kept(realloc(kept(realloc(NULL, 0)), 3)); }
    for (int i = 0; i < 4; i++)
        if (pthread_create(threads + i, NULL, work, NULL) != 0) return 4;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
#ifdef __cplusplus
    PROF_BLOCK("plus") {
        std::string text(100, 'x'), more = text + text;
        int *array = new int[25], *one = new int;
        keep = array;
        delete one;
        kept(new char[11]);
        delete[] array;
    }
    struct alignas(256) wide { char bytes[256]; };
    PROF_BLOCK("wide") { kept(new wide); }
#endif
    return 0;
}
END
cat >"$out/own.c" <<'END'
#include "prof.h"
#include <stdlib.h>
static char room[1 << 20];
void *malloc(size_t bytes) {
    static size_t used;
    used += (bytes + 31) & ~(size_t)15;
    return room + used - ((bytes + 15) & ~(size_t)15);
}
void free(void *p) { (void)p; }
int main(void) {
    prof_start_env(NULL);
    PROF_BLOCK("zone") {}
    return 0;
}
END

# Own bytes of each zone, the same with every way.
mine='align 192
before 0
free -47008
grow 4000
make 43008
thread 28
too much 0
zero 3'
told() {   # NAME COMMAND...: the zones and their bytes, which are expected on stdin
    way=$1
    shift
    "$@" >"$out/$way.log" 2>&1 || { cat "$out/$way.log"; return 1; }
    "$prof" report --format csv "$out/$way.raw" >"$out/$way.csv" || return 1
    python3 - "$out/$way.csv" >"$out/$way.got" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if not row["key"].startswith("["):
        print(row["key"], row["self_cpu_memory_usage"])
END
    sort "$out/$way.got" | diff "$out/$way.wanted" -
}
wants() {   # NAME TEXT
    echo "$2" | sort >"$out/$1.wanted"
}

heap="-O1 -I. $warn"
try heap_program $CC -std=c11 $heap -c "$out/program.c" -o "$out/program.o" || exit 1
library gcc || exit 1
try heap_plain $CC "$out/program.o" "$library" -o "$out/plain" $libs
wants preloaded "$mine"
try heap_preloaded told preloaded "$prof" record --no-report --heap -o "$out/preloaded.raw" "$out/plain"
# Peak and holders: what was there when "grow" had ended.
says heap_peak 'cpu,47' 0 "$prof" memory -f csv "$out/preloaded.raw"
says heap_holder 'cpu,make,temporary,4' 0 "$prof" memory -f csv --by op "$out/preloaded.raw"

try heap_object $CC -std=c99 $heap -c examples/heap/heap.c -o "$out/heap.o"
try heap_wrapped $CC "$out/program.o" "$out/heap.o" "$library" @examples/heap/wrap -o "$out/wrapped" $libs
wants wrapped "$mine"
try heap_linked told wrapped "$prof" record --no-report --profile-memory 1 -o "$out/wrapped.raw" "$out/wrapped"
# Linked in and preloaded: it is told once.
wants both "$mine"
try heap_linked_and_preloaded told both "$prof" record --no-report --heap -o "$out/both.raw" "$out/wrapped"
says heap_linked_says 'it wraps malloc itself' 0 cat "$out/both.log"
says heap_linked_total 'cpu,47200,' 0 "$prof" memory -f csv "$out/wrapped.raw"
if command -v g++ >/dev/null; then
    plus="$mine
plus 11
wide 256"
    try heap_plus g++ -x c++ -std=c++17 -O1 -I. "$out/program.c" examples/heap/heap.c -x none \
        "$library" @examples/heap/wrap -o "$out/plus" $libs
    wants plus "$plus"
    try heap_operators told plus "$prof" record --no-report --profile-memory 1 -o "$out/plus.raw" "$out/plus"
    try heap_plus_plain g++ -x c++ -std=c++17 -O1 -I. "$out/program.c" -x none "$library" -o "$out/plus_plain" $libs
    wants plus_preloaded "$plus"
    try heap_plus_preloaded told plus_preloaded \
        "$prof" record --no-report --heap -o "$out/plus_preloaded.raw" "$out/plus_plain"
fi

# What cannot be told is said, and the trace is there all the same.
try heap_static $CC -static "$out/program.o" "$library" -o "$out/static" $libs
says heap_static_says 'the library was not loaded' 2 \
    "$prof" record --no-report --heap -o "$out/static.raw" "$out/static"
try heap_static_trace "$prof" report "$out/static.raw"
try heap_static_wrapped $CC -static "$out/program.o" "$out/heap.o" "$library" @examples/heap/wrap -o "$out/static_wrapped" $libs
wants static_wrapped "$mine"
try heap_static_linked told static_wrapped \
    "$prof" record --no-report --profile-memory 1 -o "$out/static_wrapped.raw" "$out/static_wrapped"
try heap_own $CC -std=c99 -O1 -I. "$out/own.c" "$library" -o "$out/own" $libs
says heap_own_says 'the program has a malloc of its own' 2 \
    "$prof" record --no-report --heap -o "$out/own.raw" "$out/own"
cp "$out/plain" "$out/stripped" && strip "$out/stripped"
says heap_stripped_says 'it is stripped' 2 \
    "$prof" record --no-report --heap -o "$out/stripped.raw" "$out/stripped"
try heap_exported $CC -rdynamic "$out/program.o" "$library" -o "$out/exported" $libs && strip "$out/exported"
wants exported "$mine"
try heap_exported_told told exported "$prof" record --no-report --heap -o "$out/exported.raw" "$out/exported"
mkdir -p "$out/a space"
says heap_space 'without spaces' 2 "$prof" record --heap -o "$out/a space/x.raw" "$out/plain"
says heap_no_session 'wrote no trace' 2 "$prof" record --heap -o "$out/none.raw" true
exit $failed
