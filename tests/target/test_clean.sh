#!/bin/sh
# Code of users compiles clean beside prof.h: the warnings that projects turn on, macros of other
# headers, every standard; a mistake's first message names it; one profiler in shared libraries.
# Nearly all of it compiles declarations alone, which takes a tenth of a second: a ninth of that, others
# each time (what follows up to musl a sixth). With ALL=1 (tests/run.sh --all) also libraries whose other symbols show, and DLLs under Wine.
# shellcheck disable=SC2059,SC2086,SC2089,SC2090,SC2317   # lists of flags are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/build.sh
. tests/build.sh

out=build/tests/clean.dir
failed=0
rm -rf $out
mkdir -p $out
here=tests/target

check() {   # NAME COMMAND...: it succeeds and says nothing
    name=$1
    shift
    case "$*" in
    *-fsyntax-only* | *user.o) some 9 || return 0 ;;
    esac
    if "$@" >$out/said 2>&1 && [ ! -s $out/said ]; then echo "ok $name"; return; fi
    failed=1
    echo "not ok $name: $*"
    head -n 20 $out/said
}

says() {   # NAME PATTERN COMMAND...: it fails, and the first line that is a message has PATTERN
    name=$1 pattern=$2
    shift 2
    case "$name $*" in
    C89* | *$out/old.c) ;;
    *-fsyntax-only*) some 9 || return 0 ;;
    esac
    if "$@" >$out/said 2>&1; then echo "not ok $name: no error"; failed=1; return; fi
    if grep -vE 'In file included|from .*:[0-9]|[Ii]n function|: In ' $out/said | head -n 1 |
        grep -q -e "$pattern"; then echo "ok $name"; return; fi
    failed=1
    echo "not ok $name: its first line does not say '$pattern'"
    head -n 5 $out/said
}

has() {   # COMMAND
    command -v "${1%% *}" >/dev/null && return
    echo "skip ${1%% *}: not installed"
    return 1
}

# ---- A user's file that marks zones in every way, also beside setjmp ----

cat >$out/user.c <<'END'
#include "prof.h"
#include <setjmp.h>
int leaf(int x);
int leaf(int x) { PROF_FUNCTION(); int y = x * 2; return y; }
int scopes(int x);
int scopes(int x) {
    int y;
    PROF_SCOPE("a");
    PROF_SCOPE_F("tile %d,%d", x, 2);
    PROF_SCOPE_IN(1, "b");
    PROF_FUNCTION_IN(2);
    int z = x;
    y = z + 1;
    PROF_BLOCK("c") { y++; }
    if (y) PROF_BLOCK_IN(2, "d") y++;
    PROF_BEGIN("e");
    prof_instant("f");
    PROF_INSTANT("h");
    if (y) PROF_COUNTER("i", x - 1);
    else PROF_COUNTER("j", y);
    PROF_END();
    prof_push("g");
    prof_pop();
    return y;
}
static jmp_buf env;
int jump(int x0);
int jump(int x0) {
    volatile int x = x0;
    PROF_SCOPE("jump");
    if (setjmp(env)) return 1;
    PROF_BLOCK("in") { x = leaf(x); }
    { PROF_SCOPE("in2"); PROF_BEGIN("b"); x = x + leaf(x); PROF_END(); }
    return x;
}
int jump_loop(int n);
int jump_loop(int n) {
    volatile int i = 0;
    while (i < n) {
        PROF_SCOPE("request");
        if (setjmp(env) == 0) {
            PROF_BLOCK_IN(1, "try") leaf(i);
        } else {
            PROF_SCOPE("catch");
            leaf(2);
        }
        i = i + 1;
    }
    return 0;
}
END
{ cat $out/user.c; cat <<'END'
struct S {
    int v;
    S() : v(0) { PROF_FUNCTION(); }
    ~S() { PROF_SCOPE("end"); }
    template <class T> T get(T a) const {
        PROF_FUNCTION();
        PROF_BLOCK("x") { a += T(v); }
        return a;
    }
};
int lambdas(int x);
int lambdas(int x) {
    auto f = [&] { PROF_FUNCTION(); return S().get(x); };
    return f();
}
END
} >$out/user.cpp

all='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Wcast-qual
    -Wcast-align -Wfloat-equal -Wredundant-decls -Wunused-macros -Wformat=2 -Werror -I.'
in_c='-Wdeclaration-after-statement -Wstrict-prototypes -Wmissing-prototypes -Wnested-externs -Wvla
    -Wwrite-strings -Wbad-function-cast'
in_gcc='-Wclobbered -Wlogical-op'
in_cpp='-Wold-style-cast -Wzero-as-null-pointer-constant -Wnon-virtual-dtor -Wextra-semi'
for disable in '' -DPROF_DISABLE; do
    for std in c99 ${ALL:+gnu11 c17} c2x; do
        check "gcc $std $disable" gcc -std=$std -O2 $disable $all $in_c $in_gcc \
            -Wjump-misses-init -Wc++-compat -c $out/user.c -o $out/user.o
    done
    for std in c++11 ${ALL:+c++17 c++20} c++2b; do
        check "g++ $std $disable" g++ -std=$std -O2 $disable $all $in_cpp $in_gcc -Wuseless-cast \
            -Weffc++ -Wmissing-declarations -c $out/user.cpp -o $out/user.o
    done
    has clang || continue
    for std in c99 c2x; do
        check "clang $std $disable" clang -std=$std $disable $all $in_c -fsyntax-only $out/user.c
    done
    for std in c++11 c++2b; do
        check "clang++ $std $disable" clang++ -std=$std $disable $all $in_cpp -Weverything \
            -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-reserved-identifier \
            -Wno-reserved-macro-identifier -Wno-padded -Wno-used-but-marked-unused \
            -fsyntax-only $out/user.cpp
    done
done

# ---- The implementation among a user's own code, and macros of other headers before both ----

printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >$out/body.c
printf '#include "hostile.h"\n' | cat - $out/user.c >$out/user.hostile.c
grep -v lwip $here/hostile.h | cat - $out/body.c >$out/body.hostile.c   # see the mistakes
[ -n "${ALL:-}" ] && check 'gcc c99, the implementation' gcc -std=c99 -fsyntax-only $all $in_c \
    -Wno-bad-function-cast $out/body.c
check 'g++ c++11, the implementation' g++ -x c++ -std=c++11 -fsyntax-only $all $in_cpp \
    -Wuseless-cast $out/body.c
for cc in 'gcc -std=c99' 'clang -std=c2x' 'g++ -x c++ -std=c++11' 'clang++ -x c++ -std=c++20'; do
    has "$cc" || continue
    check "macros of others, $cc" $cc -fsyntax-only -I. -I$here $out/user.hostile.c
done
check 'macros of others, the implementation' gcc -std=c99 -fsyntax-only -I. -I$here \
    $out/body.hostile.c
if [ -n "${ALL:-}" ] && has x86_64-w64-mingw32-gcc; then
    printf '#include <windows.h>\n#include <ole2.h>\n' | cat - $out/body.c >$out/windows.c
    check 'after windows.h and ole2.h' x86_64-w64-mingw32-gcc -fsyntax-only -I. $out/windows.c
fi
msvc='clang --target=x86_64-pc-windows-msvc -fsyntax-only -Wall -Wextra -Werror -I. -I'$here/msvc
printf '#include <windows.h>\n' | cat - $out/body.c >$out/msvc.c
grep -v 'setjmp\|^static jmp_buf' $out/user.c >$out/user.msvc.c   # no header of that
if has clang; then
    for kind in '-std=c99' ${ALL:+'-x c++ -std=c++14'}; do
        check "MSVC's target, $kind, the implementation" $msvc $kind $out/msvc.c
        check "MSVC's target, $kind, dllexport" $msvc $kind '-DPROF_API=__declspec(dllexport)' \
            $out/msvc.c
    done
    sed '/^int jump/,$d' $out/user.msvc.c >$out/user.msvc2.c
    check "MSVC's target, zones" $msvc -std=c99 $out/user.msvc2.c
    check "MSVC's target, zones, dllimport" $msvc -std=c99 '-DPROF_API=__declspec(dllimport)' \
        $out/user.msvc2.c
fi

# ---- Mistakes: the first line of what the compiler or the linker says names them ----

printf '#include "prof.h"\nint main(void) { return 0; }\n' >$out/main.c
cat >$out/variable.c <<'END'
#include "prof.h"
void f(const char *n);
void f(const char *n) { PROF_KIND; }
END
cat >$out/zones.c <<'END'
#include "prof.h"
int main(void) { PROF_BLOCK("x") { } return 0; }
END
printf '#include "prof.h"\nprof_desc d;\nvoid f(void);\nvoid f(void) { d.counters = "cycles"; }\n' \
    >$out/old.c
says 'the old name desc.counters' 'hw_counters' gcc -fsyntax-only -I. $out/old.c

says 'PROF_CORE' 'include examples/baremetal/core.h' gcc -DPROF_CORE -fsyntax-only -I. $out/main.c
says 'core.h, then prof.h' 'in the place of prof.h' gcc -include examples/baremetal/core.h -fsyntax-only -I. \
    $out/main.c
says 'PROF_STRING' 'compile examples/baremetal/string.c' gcc -DPROF_STRING -fsyntax-only -I. $out/main.c
says 'C89' 'prof.h needs C99' gcc -std=c89 -fsyntax-only -I. $out/main.c
if [ "$(grep -c 'error:' $out/said)" -le 2 ]; then echo 'ok C89 without noise'
else echo 'not ok C89 without noise'; failed=1; fi
has clang && says 'a microcontroller without -ffreestanding' PROF_FREESTANDING \
    clang --target=thumbv7m-none-eabi -fsyntax-only -I. $out/main.c
says 'C++98' 'prof.h needs C99 or C++11' g++ -x c++ -std=c++98 -fsyntax-only -I. $out/main.c
for cc in gcc 'g++ -x c++' clang; do
    has "$cc" || continue
    for kind in 'PROF_SCOPE(n)' 'PROF_SCOPE_IN(1,n)' 'PROF_BLOCK(n)' 'PROF_BEGIN(n)' \
        'PROF_INSTANT(n)' 'PROF_COUNTER(n, 1)'; do
        says "$cc, a variable in $kind" "a zone's name is a literal\|a zone.'s name is a literal" \
            $cc "-DPROF_KIND=$kind" -fsyntax-only -I. $out/variable.c
    done
done
$quick_cc -O0 -w -I. -c $out/body.c -o $out/body.o || failed=1
cp $out/body.o $out/again.o
says 'two implementations' 'multiple definition of .prof_' \
    gcc $out/main.c -I. $out/body.o $out/again.o -o $out/program
cp $out/said $out/doubled
check 'two implementations, whose names say so' grep -q 'of_PROF_IMPLEMENTATION_' $out/doubled
says "lwIP's sockets before the implementation" 'include lwip/sockets.h, .* after it' \
    gcc '-Dclose(s)=lwip_close(s)' -fsyntax-only -I. $out/body.c
says 'PROF_NOW in one file only' PROF_IMPLEMENTATION_.*_with_PROF_NOW \
    gcc '-DPROF_NOW()=42u' -I. $out/zones.c $out/body.o -o $out/program
mkdir -p $out/newer
sed 's/^#define PROF_VERSION ".*"/#define PROF_VERSION "99.0.1"/' prof.h >$out/newer/prof.h

# Macros of the user's are evaluated where none of our names hides theirs.
names='now hi lo s t state context i n k r f p c a b at to end begin key it token mark mask site row'
{
    echo '#include <stdint.h>'
    for name in $names; do echo "uint32_t $name(void); uint32_t $name(void) { return 0; }"; done
    calls=$(echo $names | sed 's/ /() + /g; s/$/()/')
    echo "#define PROF_NOW() ($calls)
#define PROF_CONTEXT() ($calls)
#define PROF_LOCK() ($calls)
#define PROF_UNLOCK(masked) ((void)(masked), (void)($calls))
#define PROF_OS_CLOCK ($calls)
#define PROF_IMPLEMENTATION
#include HEADER"
} >$out/names.c
for how in "-std=c99 -DHEADER='\"prof.h\"'" "-std=c99 -ffreestanding -DHEADER='\"prof.h\"'" \
    "-xc++ -std=c++11 -DHEADER='\"prof.h\"'" \
    "-std=c99 -DHEADER='\"examples/baremetal/core.h\"'"; do
    check "macros that call what our variables are called: $how" \
        sh -c "$quick_cc $how -w -I. -fsyntax-only $out/names.c"
done

says 'zones of another version' PROF_IMPLEMENTATION_99.0.1_without_PROF_NOW \
    gcc -O2 -I$out/newer $out/zones.c $out/body.o -o $out/program
says 'no implementation' PROF_IMPLEMENTATION_ gcc -I. $out/zones.c -o $out/program
$quick_cc -O0 -w -ffreestanding '-DPROF_NOW()=42u' -I. -c $out/body.c -o $out/bare.o || failed=1
check 'freestanding, PROF_NOW beside the implementation alone' \
    gcc -O2 -ffreestanding -I. $out/zones.c $out/bare.o -o $out/program
check 'all files alike' gcc -O2 -I. $out/zones.c $out/body.o -o $out/program
check 'a static program' gcc -static -I. $out/zones.c $out/body.o -o $out/program -lpthread
if has tcc; then
    says 'tcc, PROF_NOW in one file only' PROF_IMPLEMENTATION_.*_with_PROF_NOW \
        tcc '-DPROF_NOW()=42u' -I. $out/zones.c $out/body.o -o $out/program
fi

# ---- Without ALL each sixth time: what follows up to musl ----

if some 6; then

# ---- Formats: with stb_sprintf, without, with a copy beside, with the program's own ----

formats() {   # NAME FLAGS BODY: tests/record/test_printf.c linked to this implementation, an object
    name=$1
    check "$name" gcc -w -O0 -I. $2 -DTEST_LIBRARY tests/record/test_printf.c $3 -o $out/formats -lm
    if $out/formats >$out/said 2>&1; then echo "ok $name: runs"; return; fi
    failed=1
    echo "not ok $name: runs:" "$(grep 'not ok' $out/said)"
}

named_by_c() { nm "$1" | grep -q 'U vsnprintf'; }
$quick_cc -w -O0 -I. -ffunction-sections -fdata-sections -DPROF_NO_STB -c $out/body.c \
    -o $out/no_stb.o
formats 'without stb_sprintf' '-DPROF_NO_STB -DTEST_NO_STB' $out/no_stb.o
check 'without stb_sprintf: the C library formats' named_by_c $out/no_stb.o
stb=/usr/include/stb/stb_sprintf.h
if [ -f $stb ]; then
    check 'with stb_sprintf: the C library does not' sh -c "! nm $out/body.o | grep 'U vsnprintf'"
    mkdir -p $out/beside
    cp $stb $out/beside/stb_sprintf.h
    sed 's|<stb/stb_sprintf.h>|<no/stb_sprintf.h>|' prof.h >$out/beside/prof.h
    [ -n "${ALL:-}" ] && check 'a copy beside prof.h, gcc' gcc -std=c99 -fsyntax-only $all $in_c -Wno-bad-function-cast \
        -I$out/beside -iquote $out/beside $out/body.c
    for cc in ${ALL:+'gcc -std=c99'} 'clang -std=c99' ${ALL:+'g++ -x c++ -std=c++11'}; do
        has "$cc" || continue
        check "a copy beside prof.h, $cc" $cc -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow \
            -Wconversion -Wsign-conversion -Wundef -Wcast-qual -Werror -I$out/beside $out/body.c
    done
    own="#define STB_SPRINTF_IMPLEMENTATION\n#include <stb/stb_sprintf.h>\n"
    use="int own(char *b);\nint own(char *b) { return stbsp_snprintf(b, 9, \"%d\", 7); }\n"
    { printf "$own"; cat $out/body.c; printf "$use"; } >$out/before.c
    { cat $out/body.c; printf "$own$use"; } >$out/after.c
    $quick_cc -w -I. -c $out/before.c -o $out/before.o
    formats "the program's own stb_sprintf before" '' $out/before.o
    check "the program's own stb_sprintf behind: an error that says what to do" \
        sh -c "gcc -w -fsyntax-only -I. $out/after.c 2>&1 | grep -q 'include it before prof.h'"
    check 'freestanding, with its folder' gcc -std=c99 -ffreestanding -fsyntax-only $all \
        -isystem /usr/include/stb $out/body.c
fi
cat >$out/bare.c <<'END'
#include "prof.h"
void f(int x);
void f(int x) { PROF_KIND; (void)x; }
END
for kind in 'prof_push_f("a%d",x)' 'PROF_SCOPE_F("a%d",x)'; do
    says "freestanding without it: $kind" needs_stb_sprintf_h gcc -w -ffreestanding -nostartfiles -Wl,-e,f \
        -DPROF_NO_STB "-DPROF_KIND=$kind" -I. $out/bare.c $out/body.c -o $out/bare
    says "arguments that do not fit: $kind" Werror=format gcc -Wall -Werror -fsyntax-only -I. \
        "-DPROF_KIND=$(echo "$kind" | sed 's/%d/%s/')" $out/bare.c
done
says 'arguments that do not fit, disabled' Werror=format gcc -Wall -Werror -fsyntax-only -I. \
    -DPROF_DISABLE '-DPROF_KIND=PROF_SCOPE_F("%s",x)' $out/bare.c

# ---- One profiler for a program and two libraries ----

cat >$out/shared.h <<'END'
#include "prof.h"
A_API void in_a(void);
B_API void in_b(void);
END
cat >$out/a.c <<'END'
#define PROF_IMPLEMENTATION
#include "shared.h"
void in_a(void) { PROF_BLOCK("a") { prof_instant("here"); } }
END
cat >$out/b.c <<'END'
#include "shared.h"
void in_b(void) { PROF_BLOCK("b") { in_a(); } }
END
cat >$out/program.c <<'END'
#include "shared.h"
#include <string.h>
int main(void) {
    static const char *const names[] = {"main", "b", "a", "a"};
    static const int depths[] = {0, 1, 2, 1};
    const prof_event *events;
    size_t count, i;
    if (prof_start(NULL) != PROF_OK) return 1;
    PROF_BLOCK("main") { in_b(); in_a(); }
    events = prof_events(prof_stop(), NULL, 0, &count);
    if (count != 4 || prof_get_stats(NULL).unbalanced) return 2;
    for (i = 0; i < count; i++)
        if (strcmp(events[i].name, names[i]) || events[i].depth != depths[i]) return 3;
    return 0;
}
END
for hidden in ${ALL:+-fvisibility=default} -fvisibility=hidden; do
    there='__attribute__((visibility("default")))'
    api="-DPROF_SHARED -DA_API=$there -DB_API=$there"
    shared="$quick_cc -std=c99 -O0 -fPIC -shared $hidden -I. $api"
    check "library with the profiler $hidden" $shared $out/a.c -o $out/liba.so
    check "library with zones $hidden" $shared $out/b.c -o $out/libb.so -L$out -la
    check "program $hidden" gcc -std=c99 -O1 -I. $api $out/program.c -o $out/program -L$out -lb -la
    check "one profiler for all three $hidden" env LD_LIBRARY_PATH=$out $out/program
done

# What could not be set up is not said to be.
wine_that_fails() {
    rm -rf $out/no_wine
    mkdir -p $out/no_wine
    printf '#!/bin/sh\nexit 1\n' >$out/no_wine/wine
    chmod +x $out/no_wine/wine
    sh -c '. tests/build.sh; wine=$0/wine WINEPREFIX=$PWD/$0; wine_begin; [ ! -e "$0/done" ]' $out/no_wine
}
check 'Wine that cannot start is tried again' wine_that_fails
gcc_windows=x86_64-w64-mingw32-gcc
if [ -n "${ALL:-}" ] && has $gcc_windows; then
    from='__declspec(dllimport)' to='__declspec(dllexport)'
    dll="$gcc_windows -std=c99 -O0 -shared -static-libgcc -I."
    check 'DLL with the profiler' $dll -DPROF_SHARED -DA_API=$to -DB_API= $out/a.c -o $out/a.dll
    check 'DLL with zones' $dll -DPROF_SHARED -DA_API=$from -DB_API=$to $out/b.c -o $out/b.dll \
        $out/a.dll
    check 'program for DLLs' $gcc_windows -std=c99 -O1 -static-libgcc -I. -DPROF_SHARED \
        -DA_API=$from -DB_API=$from $out/program.c -o $out/program.exe $out/b.dll $out/a.dll
    if wine_begin; then
        check 'one profiler for a program and two DLLs' timeout 100 "$wine" $out/program.exe
    else
        echo 'skip DLLs: wine is not installed'
    fi
fi

fi

# ---- A library with prof.h in it that musl's dlopen opens ----

cat >$out/plug.c <<'END'
#define PROF_IMPLEMENTATION
#include "prof.h"
int more(int x);
int plug(void);
int plug(void) {
    size_t n;
    prof_start(NULL);
    { PROF_SCOPE("plugin"); more(1); }
    prof_events(prof_stop(), NULL, 0, &n);
    return n != 2;
}
END
cat >$out/more.c <<'END'
#include "prof.h"
int more(int x);
int more(int x) { PROF_SCOPE("more"); return x; }
END
cat >$out/host.c <<'END'
#include <dlfcn.h>
int main(int argc, char **argv) {
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    return library ? ((int (*)(void))dlsym(library, "plug"))() : 9;
}
END
if [ -n "${ALL:-}" ] && some 4 && has musl-gcc; then
    check 'musl: program' musl-gcc $out/host.c -o $out/host
    for model in '' '-DPROF_TLS_MODEL="global-dynamic"'; do
        check "musl: library $model" musl-gcc -std=gnu99 -w -O1 -fPIC -shared -I. $model \
            $out/plug.c $out/more.c -o $out/plug.so
        check "musl opens it $model" $out/host $out/plug.so
    done
fi

# ---- Macros for kernels, against stand-ins for their headers ----

strict='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes -Werror'
for kernel in threadx zephyr; do
    echo "#include \"examples/baremetal/kernel/$kernel.h\"" >$out/kernel.c
    check "$kernel: builds" $quick_cc $strict -Dwith_$kernel -I. -I$here/kernels \
        $here/kernels/run.c -o $out/kernel
    check "$kernel: rows, time on the CPU, objects" $out/kernel
    has arm-none-eabi-gcc && check "$kernel: builds for Cortex-M0" arm-none-eabi-gcc -mcpu=cortex-m0 \
        -mthumb -Os -ffreestanding $strict -I. -I$here/kernels -c $out/kernel.c -o $out/kernel.o
done
exit $failed
