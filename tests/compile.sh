#!/bin/sh
# The compile matrix: every compiler and standard, the ways to spread prof.h over files. Without ALL=1
# (tests/run.sh --all) those that differ most from each other, half of them, others each time.
# shellcheck disable=SC2086,SC2317   # lists of flags are meant to split; check calls functions
set -u
cd "$(dirname "$0")/.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=build/tests/compile.dir
warn='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fno-common'
warn_cpp="$warn -Wold-style-cast"
failed=0
mkdir -p $out

all=${ALL:-}
more() { [ -n "$all" ] && some 1000; }      # only with --all; a part of it with --rest

has() {   # COMMAND
    command -v "$1" >/dev/null || { echo "skip $1: not installed"; return 1; }
}

# ---- The files that the checks compile ----

echo '#include "prof.h"' >$out/declarations.c
printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >$out/implementation.c
{ cat $out/implementation.c; printf '#define PROF_CUDA_IMPLEMENTATION\n#include "prof_cuda.h"\n'
  echo 'int init(void); int init(void) { return prof_cuda_init(NULL) != PROF_OK; }'; } >$out/cuda.c
printf '#define PROF_CUDA_IMPLEMENTATION\n#include "prof_cuda.h"\n' >$out/cuda_alone.c
{ cat $out/implementation.c; printf '#include "prof_cuda.h"\n'
  echo 'int main(void) { return prof_cuda_init(NULL) != PROF_OK || prof_start(NULL) != PROF_OK || !prof_stop(); }'; } \
    >$out/cuda_user.c
printf '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n' >$out/headers.c

# Two files that use each other's zones: outer (a) > cross (b) > inner (a).
cat >$out/shared.h <<'END'
#include "prof.h"
#ifdef __cplusplus
extern "C" {
#endif
void in_a(void);
void in_b(void);
#ifdef __cplusplus
}
#endif
END
cat >$out/b.c <<'END'
#include "shared.h"
void in_b(void) {
    PROF_BEGIN("cross");
    in_a();
    PROF_END();
    PROF_BLOCK("block") { prof_push("pushed"); prof_pop(); }
}
END
cat >$out/a.c <<'END'
#include "shared.h"
#include <string.h>
void in_a(void) { PROF_BLOCK("inner") { prof_counter("n", 1); } }
int main(void) {
    static const char *const names[] = {"outer", "cross", "inner", "block", "pushed"};
    static const int depths[] = {0, 1, 2, 1, 2};
    const prof_event *events;
    size_t count, i;
    if (prof_start(NULL) != PROF_OK) return 1;
    PROF_BLOCK("outer") { in_b(); }
    events = prof_events(prof_stop(), NULL, 0, &count);
    if (count != 5) return 2;
    for (i = 0; i < count; i++)
        if (strcmp(events[i].name, names[i]) != 0 || events[i].depth != depths[i]) return 3;
    return 0;
}
END
# A second thread, which a compiler without TLS does not record.
cat >$out/one_thread.c <<'END'
#define PROF_IMPLEMENTATION
#include "prof.h"
#include <string.h>
static void *second(void *unused) {
    PROF_BLOCK("other") { PROF_INSTANT("here"); }
    prof_push("a");
    prof_push("b");
    prof_pop();
    prof_pop();
    return unused;
}
int main(void) {
    pthread_t thread;
    const prof_event *events;
    size_t count;
    if (prof_start(NULL) != PROF_OK) return 1;
    PROF_BLOCK("outer") {
        if (pthread_create(&thread, NULL, second, NULL) != 0) return 2;
        pthread_join(thread, NULL);
        PROF_BLOCK("inner") { }
    }
    events = prof_events(prof_stop(), NULL, 0, &count);
    if (count != 2 || strcmp(events[1].name, "inner") != 0 || events[1].parent != 0) return 3;
    if (prof_get_stats(NULL).dropped_busy != 4) return 4;
    if (prof_start(NULL) != PROF_OK) return 5;
    PROF_BLOCK("again") { }
    events = prof_events(prof_stop(), NULL, 0, &count);
    return count == 1 ? 0 : 6;
}
END
# The same two in one file, and each as a profiler of its own.
printf '#define PROF_IMPLEMENTATION\n#include "a.c"\n#include "b.c"\n' >$out/unity.c
cat >$out/own.h <<'END'
#define PROF_STATIC
#define PROF_IMPLEMENTATION
#include "prof.h"
size_t other(void);
static size_t zones(void) {
    size_t count;
    if (prof_start(NULL) != PROF_OK) return 9;
    PROF_BLOCK("mine") { prof_instant("here"); }
    prof_events(prof_stop(), NULL, 0, &count);
    return count;
}
END
printf '#include "own.h"\nsize_t other(void) { return zones(); }\n' >$out/own_b.c
cat >$out/own_a.c <<'END'
#include "own.h"
int main(void) {
    size_t mine;
    if (prof_start(NULL) != PROF_OK) return 1;
    if (other() != 1) return 2;
    prof_stop();
    mine = zones();
    return mine != 1;
}
END

# ---- Compilers and standards: parsed with every warning; tests/run.sh compiles each with -O2 ----

compile() {   # NAME COMPILER...: the declarations, and the implementation
    label=$1
    shift
    for file in declarations implementation; do
        check "$label $file" "$@" -I. -c $out/$file.c -o $out/matrix.o
    done
}

choose 2 gcc clang
for cc in $chosen; do
    has $cc || continue
    for std in ${all:+c99 c11} c17; do
        [ -z "$all" ] || more || continue
        compile "$cc $std" $cc -std=$std -fsyntax-only $warn
    done
done
choose 2 g++ clang++
for cxx in $chosen; do
    has $cxx || continue
    for std in ${all:+c++11 c++17} c++20; do
        [ -z "$all" ] || more || continue
        compile "$cxx $std" $cxx -x c++ -std=$std -fsyntax-only $warn_cpp
    done
done
# Flags of projects that change what is inlined or checked, with code generated.
for flags in -Os '-O2 -fno-inline' '-O2 -fno-early-inlining' -Og '-O2 -ftrapv' '-O2 -fprofile-generate' \
    '-O2 -fsanitize=thread'; do
    ! more || check "gcc $flags" gcc -std=c99 $warn $flags -I. -c $out/implementation.c -o $out/matrix.o
done
has tcc && compile 'tcc c99' tcc -std=c99 -Wall -Werror

# What a user's macros evaluate is the user's: nothing of prof.h where they stand has a plain name.
names='now hi lo context state s t a b c d e i k m n p q r v x at key lock mask tick clock_of value from to base now_of'
sum=$(echo $names | sed 's/ /() + /g')
{
    for name in $names; do echo "static inline unsigned $name(void) { return 0; }"; done
    printf '#define PROF_NOW() (1u + %s())\n#define PROF_CONTEXT() (%s())\n' "$sum" "$sum"
    printf '#define PROF_LOCK() (%s())\n#define PROF_UNLOCK(saved) ((void)(saved), (void)(%s()))\n' "$sum" "$sum"
    cat $out/implementation.c
} >$out/own_names.c
own_names="$quick_cc -std=c99 -fsyntax-only -I. $out/own_names.c"
! some 2 || check "macros of a user's names" $own_names
! some 2 || check "macros of a user's names, freestanding" $own_names -DPROF_FREESTANDING

warnings_stop_nothing() { make -n -B build/examples/hello >$out/hello.mk && grep -q -- -Wall $out/hello.mk && ! grep -e -Werror $out/hello.mk; }
check 'warnings stop no build of users' warnings_stop_nothing

# prof_cuda.h, which builds on the implementation.
for cc in "gcc -std=c99 $warn" "clang -std=c99 -DPROF_STATIC $warn" "clang -std=c99 $warn" \
    "g++ -x c++ -std=c++11 $warn_cpp" "clang++ -x c++ -std=c++20 $warn_cpp" \
    "gcc -std=c99 -DPROF_STATIC $warn" "x86_64-w64-mingw32-gcc -std=c99 $warn" 'tcc -std=c99 -Wall -Werror'; do
    has ${cc%% *} || continue
    case $cc in tcc* | clang*STATIC*) some 2 || continue ;; *) more || continue ;; esac
    check "prof_cuda.h, ${cc%%-W*}" $cc -I. -c $out/cuda.c -o $out/matrix.o
done
# What `make proof` reads, without Frama-C's own header.
printf '%s\n' 'int Frama_C_interval(int, int);' \
    'unsigned long long Frama_C_unsigned_long_long_interval(unsigned long long, unsigned long long);' \
    >$out/__fc_builtin.h
! some 3 || check 'proof.c' gcc -std=c99 -fsyntax-only $warn -I. -I$out tests/model/proof.c
! some 3 || check 'prof_cuda.h in a file of its own' sh -c "$quick_cc -std=c99 -O0 $warn -I. -c $out/cuda_alone.c -o $out/cuda_alone.o &&
    $quick_cc -std=c99 -O0 -I. $out/cuda_alone.o $out/cuda_user.c -o $out/program -lpthread -ldl && $out/program"

# ---- Several files ----

build_and_run() {   # NAME COMPILER-AND-FLAGS FILE...
    label=$1 linker=$2
    shift 2
    check "$label" sh -c "$linker -I. $* -o $out/program -lpthread -ldl && $out/program"
}

# Objects of a and b from two compilers, the implementation in the place named, linked and run.
spread() {   # NAME PLACE COMPILER-OF-A COMPILER-OF-B LINKER
    for file in a b; do
        cc=$3
        [ $file = b ] && cc=$4
        [ $file = $2 ] && cc="$cc -DPROF_IMPLEMENTATION"
        check "$1: $file, body in $2" $cc -I. -c $out/$file.c -o $out/$file.o
    done
    build_and_run "$1: linked, body in $2" "$5" $out/a.o $out/b.o
}

c="gcc -std=c99 $warn"
cpp="g++ -x c++ -std=c++11 $warn_cpp"
if [ $quick_cc = clang ]; then
    c="clang -std=c99 $warn" cpp="clang++ -x c++ -std=c++11 $warn_cpp"
fi
for place in ${all:+a} b; do
    ! more || spread 'C and C' $place "$c" "$c" gcc
    ! some 2 || spread 'C and C++' $place "$c" "$cpp" g++
done
! more || spread 'C++ and C++' a "$cpp" "$cpp" g++
if more && has clang; then spread 'gcc and clang' b "$c" "clang -std=c11 $warn" gcc; fi
if has tcc; then
    ! some 2 || spread 'tcc and tcc' b tcc tcc tcc
    ! some 2 || build_and_run 'tcc: one thread' 'tcc -std=c99 -Wall -Werror' $out/one_thread.c
    ! more || spread "tcc and $quick_cc" b tcc "$c" 'gcc -no-pie -z execstack'
fi
! more || build_and_run 'unity build in C' "$c" $out/unity.c
! more || build_and_run 'unity build in C++' "$cpp" $out/unity.c
! more || build_and_run 'PROF_STATIC in two C files' "$c" $out/own_a.c $out/own_b.c
! more || build_and_run 'PROF_STATIC in two C++ files' "$cpp" $out/own_a.c $out/own_b.c

# ---- PROF_ASSERTS: what does not hold says where, and ends the program; without, it is not there ----

cat >$out/assert.c <<'END'
#define PROF_IMPLEMENTATION
#include "prof.h"
int main(void) {
    int evaluated = 0;
    PROF__ASSERT(++evaluated);
    PROF__ASSERT(evaluated == 2);
    return evaluated;
}
END
assertion() {   # COMPILER-AND-FLAGS...
    [ -z "$all" ] || { "$@" -I. $out/assert.c -o $out/assert -lpthread -ldl && $out/assert; } || return 1
    "$@" -DPROF_ASSERTS -I. $out/assert.c -o $out/assert -lpthread -ldl || return 1
    said=$( ($out/assert) 2>&1) && return 1
    case $said in *"$out/assert.c:6: PROF__ASSERT(evaluated == 2)"*) ;; *) echo "$said"; return 1 ;; esac
}
! some 3 || check 'PROF_ASSERTS in C' assertion $c -O0
! more || check 'PROF_ASSERTS in C++' assertion $cpp -O0

# ---- PROF_DISABLE: every example (without ALL a sixth, others each time), with the flags of the Makefile ----

for file in examples/*.c examples/*.cpp; do
    some 6 || continue
    cc="$quick_cc -std=c99 -fsyntax-only $warn"
    case $file in
    *coroutines.cpp)
        cc="g++ -std=c++20 -fsyntax-only $warn_cpp"
        if ! echo '#include <coroutine>' | $cc -x c++ - 2>/dev/null; then
            echo "skip PROF_DISABLE $file: g++ has no coroutines of C++20"
            continue
        fi ;;
    *.cpp) cc="g++ -std=c++11 -fsyntax-only $warn_cpp" ;;
    *images.c)
        if ! echo '#include <stb/stb_image.h>' | $quick_cc -E - >/dev/null 2>&1; then
            echo "skip PROF_DISABLE $file: libstb-dev is not installed"
            continue
        fi ;;
    esac
    check "PROF_DISABLE $file" $cc -DPROF_DISABLE -I. "$file"
done

# ---- make install ----

install_and_use() {
    rm -rf $out/root
    make_command install DESTDIR=$out/root PREFIX=/usr &&
        cmp prof.h $out/root/usr/include/prof.h &&
        cmp prof_cuda.h $out/root/usr/include/prof_cuda.h &&
        grep -qx 'prefix=/usr' $out/root/usr/lib/pkgconfig/prof.pc &&
        grep -Eqx 'Version: [0-9]+\.[0-9]+\.[0-9]+' $out/root/usr/lib/pkgconfig/prof.pc
}
check 'make install' install_and_use

exit $failed
