#!/bin/sh
# PROF_FUNCTION in C++: rows of methods, lambdas, templates and operators, by their qualified names,
# the same with gcc and clang but for what their templates are made of. Functions that the compiler
# instrumented: named in snapshots and dumps too, static ones of one name told apart by their file.
# shellcheck disable=SC2086   # $libs is several words
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/build.sh
. tests/build.sh
out=${TESTS_OUT:-build/tests}/test_names.dir
libs="-lpthread -ldl -lm${CC:+ -lgcov}"    # under coverage CC counts lines
failed=0
mkdir -p $out

cat >$out/names.cpp <<'END'
#include "prof.h"

#include <string>
#include <vector>

#define HERE PROF_FUNCTION()

struct A {
    A() { HERE; }
    ~A() { HERE; }
    void update() const { HERE; }
    char *text(const char *s, void (*f)(int)) { HERE; (void)s; (void)f; return nullptr; }
    int operator()(int n) { HERE; return n; }
    bool operator<(const A &) const { HERE; return false; }
    explicit operator bool() const noexcept { HERE; return true; }
};
typedef void action(int);
struct C { action *chosen(int) const { HERE; return nullptr; } int (&three(double))[3]; int all[3]; };
int (&C::three(double))[3] { HERE; return all; }
action *chosen(char) { HERE; return nullptr; }
struct B { static std::vector<std::string> update() { HERE; return {}; } };
namespace ns {
template <class T> struct Box {
    T get() { HERE; return T(); }
    template <class U> void put(U) & { HERE; }
};
}
namespace { void hidden() { HERE; PROF_SCOPE("update"); } }
template <int n> std::string many() { HERE; return ""; }
extern "C" void plain(void);
extern "C" void plain(void) { HERE; }

int main() {
    prof_start(nullptr);
    HERE;
    A a;
    a.update();
    a.text(nullptr, nullptr);
    (void)(a(1) < 2 && a < a && static_cast<bool>(a));
    (void)static_cast<bool>(a);
    (void)(a < a);
    B::update();
    C().chosen(1);
    C().three(1);
    chosen('c');
    ns::Box<int>().get();
    ns::Box<char> box;
    box.put(1.5);
    hidden();
    many<3>();
    plain();
    auto outer = [](int n) { HERE; [n]() mutable { HERE; n++; }(); };
    outer(1);
    PROF_BLOCK("parse(json)") {}
    { PROF_SCOPE_F("row %d", 1); }
    prof_averages_desc by_name = {};
    prof_table_desc desc = {};
    desc.averages = &by_name;
    desc.format = PROF_FORMAT_CSV;
    prof_print_table(prof_stop(), &desc);
}
END

cat >$out/expected <<'END'
A::A
A::operator bool
A::operator()
A::operator<
A::text
A::update
B::update
C::chosen
C::three
chosen
hidden
main
main::<lambda>
main::<lambda>::<lambda>
many [n = 3]
ns::Box<T>::get [T = int]
ns::Box<T>::put [U = double; T = char]
parse(json)
plain
row 1
update
END

names() {   # COMPILER: what it calls the templates' functions becomes what gcc does
    $1 -std=c++11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I. $out/names.cpp \
        $out/prof.o -o "$out/$1" $libs && "$out/$1" |
        sed '1d; s/^"\([^"]*\)".*/\1/; s/,.*//' |
        sed 's/\[int n/[n/; s/Box<int>::get/Box<T>::get/; s/Box<char>::put \[.*/Box<T>::put [U = double; T = char]/' |
        LC_ALL=C sort >"$out/$1.names"
}

# Instrumented itself: none of prof.h's functions, nor of what it includes, is a zone.
${CC:-$quick_cc} -std=c99 -O0 -DPROF_INSTRUMENT_FUNCTIONS -finstrument-functions -I. -c examples/prof.c \
    -o $out/prof.o ||
    exit 1
choose 2 g++ clang++
for cxx in $chosen; do
    command -v $cxx >/dev/null || { echo "skip names of $cxx: not installed"; continue; }
    if names $cxx && diff $out/expected "$out/$cxx.names" >"$out/$cxx.diff"; then
        echo "ok names of $cxx"
    else
        failed=1
        echo "not ok names of $cxx: $(tr '\n' ' ' <"$out/$cxx.diff")"
    fi
done

cat >$out/one.c <<'END'
#include "prof.h"

#include <stdio.h>
#include <string.h>

static void helper(void) {}
void work(void), outside(void);

int main(void) {
    prof_averages_desc by_site = { .group_by_site = true };
    prof_table_desc desc = { .averages = &by_site, .format = PROF_FORMAT_CSV };
    prof_desc sums = { .mode = PROF_MODE_AGGREGATE };
    prof_average rows[16];
    prof_trace *trace;
    size_t count;
    for (int kind = 0; kind < 2; kind++) {
        prof_start(kind ? NULL : &sums);
        for (int i = 0; i < 10; i++) helper(), work(), outside();
        count = kind ? 0 : prof_snapshot(rows, 16);
        trace = prof_stop();
        for (size_t i = 0; i < count; i++) printf("%s %d\n", rows[i].key, (int)rows[i].count);
        prof_print_table(trace, &desc);
    }
    return prof_save_chrome(trace, "trace.json") != PROF_OK;
}
END
cat >$out/two.c <<'END'
#include "prof.h"

static void helper(void) {}
void LONG(1)(void) {}
void LONG(2)(void) {}
void work(void) {
    LONG(1)();
    LONG(2)();
    LONG(2)();
    prof_push_f("step %d of %s", 1, "one");
    helper();
    helper();
    prof_pop();
}
END
cat >$out/three.c <<'END'
static void within(void) {}
void outside(void) { within(); }
__asm__(".set outside.localalias, outside\n.type outside.localalias, @function");   /* as gcc's -fPIC has it */
END
long=$(printf '%0300d' 0 | tr 0 l)
cat >$out/functions.expected <<END
helper 10 one.c
helper 10 one.c
helper 20 two.c
helper 20 two.c
helper 30
${long}1 10
${long}1 10
${long}1 10
${long}2 20
${long}2 20
${long}2 20
outside 10
outside 10 three.c
outside 10 three.c
step 1 of one 10
step 1 of one 10
step 1 of one 10
within 10
within 10 three.c
within 10 three.c
work 10
work 10
work 10
END
if ! command -v readelf >/dev/null; then
    echo 'skip functions: no ELF here'
elif gcc -O0 -finstrument-functions -fPIC -shared -Wl,-soname,three.so $out/three.c \
        -o $out/three.so &&
    gcc -O0 -finstrument-functions "-DLONG(n)=$long##n" -I. $out/one.c $out/two.c $out/prof.o \
        $out/three.so -o $out/functions "-Wl,-rpath,$PWD/$out" $libs &&
    (cd $out && ./functions) >$out/functions.out &&
    sed 's/\r$//; /^key,/d; s/^"\([^"]*\)",\([0-9]*\),.*,"\([^"]*\)"$/\1 \2 \3/; s/ $//' \
        $out/functions.out | LC_ALL=C sort | diff $out/functions.expected - >$out/functions.diff &&
    grep -q '"name":"helper".*"source":"two.c"' $out/trace.json; then
    echo 'ok functions'
else
    failed=1
    echo "not ok functions: $(tr '\n' ' ' <$out/functions.diff)"
fi

# With -flto gcc gives static functions of one name names of their own, as helper.lto_priv.0.
if ! some 3; then :
elif [ ! -e $out/three.so ] || ! gcc -O0 -flto -finstrument-functions "-DLONG(n)=$long##n" -I. $out/one.c \
    $out/two.c $out/prof.o $out/three.so -o $out/clones "-Wl,-rpath,$PWD/$out" $libs 2>$out/lto.log ||
    ! nm $out/clones | grep -q 'helper\.lto_priv'; then
    echo 'skip clones: this gcc makes no helper.lto_priv'
elif (cd $out && ./clones) >$out/clones.out && ! grep -q lto_priv $out/clones.out &&
    [ "$(grep -c '^helper [0-9]*$\|^"helper",' $out/clones.out)" -ge 3 ]; then
    echo 'ok clones'
else
    failed=1
    echo "not ok clones: $(grep helper $out/clones.out | tr '\n' ' ')"
fi

# With -flto=thin clang renames a static function whose caller it takes into another file, as inner.llvm.17.
cat >$out/thin.c <<'END'
#include "prof.h"
int across(int x);
static int session(const char *exclude) {
    prof_desc desc = { 0 };
    int x = 0;
    desc.exclude = exclude;
    prof_start(&desc);
    for (int i = 0; i < 9; i++) x += across(i);
    prof_print_table(prof_stop(), NULL);
    return x;
}
int main(void) { return session(NULL) + session("inner") == 1; }
END
cat >$out/across.c <<'END'
__attribute__((noinline)) static int inner(int x) { volatile int y = x; return y * 7; }
int across(int x) { return inner(x) + 1; }
END
if ! some 3; then :
elif [ ! -e $out/three.so ] || ! clang -O2 -flto=thin -fuse-ld=lld -finstrument-functions -I. $out/thin.c \
    $out/across.c $out/prof.o -o $out/thin $libs 2>$out/lto.log ||
    ! nm $out/thin | grep -q 'inner\.llvm'; then
    echo 'skip thin: this clang makes no inner.llvm'
elif $out/thin >$out/thin.out && ! grep -q llvm $out/thin.out &&
    [ "$(grep -c ' inner .* 9 ' $out/thin.out)" = 1 ] && [ "$(grep -c ' across .* 9 ' $out/thin.out)" = 2 ]; then
    echo 'ok thin'
else
    failed=1
    echo "not ok thin: $(grep inner $out/thin.out | tr '\n' ' ')"
fi

# A crash handler's dump has names, too, on 8 KiB of stack; of a stripped program file+0x1234.
cat >$out/crash.c <<'END'
#define _GNU_SOURCE
#include "prof.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
static PLAIN bool to_stdout(void *user, const void *data, size_t size) {
    (void)user;
    return write(1, data, size) == (ssize_t)size;
}
static PLAIN void on_crash(int number) {
    prof_dump((prof_sink){ to_stdout, NULL });
    signal(number, SIG_DFL);
    raise(number);
}
static void fails(void) { raise(SIGUSR1); }
int PLAIN main(void) {
    static char arena[1 << 20], stack[8192];
    prof_desc desc = { .mode = PROF_MODE_RING, .memory = arena, .memory_size = sizeof arena };
    stack_t on = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };
    sigaltstack(&on, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (prof_start(&desc) == PROF_OK) fails();
    return 0;
}
END
crashes() {   # NAME EXPECTED: it is in the dump
    if $out/crash >$out/crash.raw; [ $? -gt 128 ] && grep -aq "$2" $out/crash.raw; then
        echo "ok $1"
    else
        failed=1
        echo "not ok $1: no $2 in $out/crash.raw"
    fi
}
if ! some 2; then :
elif [ ! -e $out/three.so ]; then
    echo 'skip crash: no ELF here'
elif gcc -O0 -finstrument-functions -I. $out/crash.c $out/prof.o -o $out/crash $libs; then
    crashes 'a dump of a crash' fails
    strip $out/crash
    crashes 'of a stripped program' 'crash+0x'
else
    failed=1
    echo 'not ok crash: it does not compile'
fi

# Libraries that go: their functions keep their names, also where the next one lies at the same
# address; those of a stripped one are file+0x1234, and a debuglink gives them their names.
cat >$out/plugins.c <<'END'
#include "prof.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void use(const char *path, const char *name) {
    void *library = dlopen(path, RTLD_NOW), *found;
    void (*run)(void);
    if (!library) return (void)puts(dlerror());
    found = dlsym(library, name);
    memcpy(&run, &found, sizeof run);
    run();
    dlclose(library);
}

int main(int argc, char **argv) {
    prof_averages_desc by_name = { 0 };
    prof_table_desc desc = { .averages = &by_name, .format = PROF_FORMAT_CSV };
    prof_start(NULL);
    for (int i = 0; i < 500; i++)
        for (int n = 1; n + 1 < argc; n += 2) use(argv[n], argv[n + 1]);
    prof_print_table(prof_stop(), &desc);
    return 0;
}
END
plugins() {   # PATH FUNCTION...: the calls of each function
    $out/plugins "$@" | sed '1d; s/\r$//; s/^"\([^"]*\)",\([0-9]*\),.*/\1 \2/; s/0x[0-9a-f]*/0x/' |
        LC_ALL=C sort | tr '\n' ' '
}
same() {   # NAME GOT EXPECTED
    if [ "$2" = "$3" ]; then echo "ok $1"; else failed=1 && echo "not ok $1: $2"; fi
}
for name in red blue; do
    echo "static __attribute__((noinline)) void ${name}_inner(void) { __asm__ volatile(\"\"); }
        void $name(void) { ${name}_inner(); ${name}_inner(); __asm__ volatile(\"\"); }" >$out/$name.c
done
if ! some 2; then :
elif [ ! -e $out/three.so ] || ! command -v objcopy >/dev/null; then
    echo 'skip plugins: no ELF here'
elif gcc -O1 -finstrument-functions -fPIC -shared $out/red.c -o $out/red.so &&
    gcc -O1 -finstrument-functions -fPIC -shared $out/blue.c -o $out/blue.so &&
    strip -o $out/bare.so $out/red.so && cp $out/bare.so $out/link.so &&
    objcopy --only-keep-debug $out/red.so $out/red.debug &&
    objcopy --add-gnu-debuglink=$out/red.debug $out/link.so &&
    gcc -O0 -I. $out/plugins.c $out/prof.o -o $out/plugins $libs; then
    same 'plugins at one address' "$(plugins $out/red.so red $out/blue.so blue)" \
        'blue 500 blue_inner 1000 red 500 red_inner 1000 '
    same 'a stripped plugin' "$(plugins $out/bare.so red)" 'bare.so+0x 1000 red 500 '
    same 'its debuglink' "$(plugins $out/link.so red)" 'red 500 red_inner 1000 '
    echo more >>$out/red.debug
    same 'that is of another' "$(plugins $out/link.so red)" 'link.so+0x 1000 red 500 '
else
    failed=1
    echo 'not ok plugins: they do not compile'
fi
exit $failed
