#!/bin/sh
# examples/baremetal/core.h on this machine: what it records and counts (core.c), its dump as the
# reader and the command read it; it compiles everywhere, and in the place of prof.h.
# shellcheck disable=SC2086,SC2317   # lists of flags are meant to split; check calls functions
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=$PWD/build/tests/core.dir
board=examples/baremetal
failed=0
rm -rf "$out"
mkdir -p "$out"

fails() {   # NAME TEXT COMMAND...: it fails, and says that
    name=$1 text=$2
    shift 2
    if ! "$@" >"$out/said" 2>&1 && grep -q "$text" "$out/said"; then echo "ok $name"; return; fi
    failed=1
    echo "not ok $name: $(head -n 5 "$out/said" | tr '\n' ' ')"
}

# UBSan takes as long to compile as all else.
sanitized="$quick_cc -std=c99 -O0 -g1 -fsanitize=address"
[ -z "${ALL:-}" ] || sanitized='gcc -std=c99 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all'

# ---- core.c, and its dump ----

runs() {   # PROGRAM COMPILER...: builds core.c, and runs it where its files go
    program=$1
    shift
    "$@" $warn -I. tests/target/core.c $board/host.c -o "$out/$program" && (cd "$out" && "./$program")
}

decodes() {   # the dump has these lines, and 23 zones
    "$out/decode" <"$out/trace.raw" >"$out/decoded" || return 1
    grep -c '^zone' "$out/decoded" | grep -qx 23 &&
        grep -qx 'zone leaf thread 3 depth 0 2863311565666..2863311570666' "$out/decoded" &&
        grep -qx 'zone long thread 0 depth 0 3579139476666..5726623124666' "$out/decoded" &&
        grep -qx 'zone leaf thread 0 depth 1 5726623124666..5726623158000' "$out/decoded" &&
        grep -qx 'zone open thread 0 depth 0 5726623124666..5726623174666 unfinished' "$out/decoded"
}

reports() {   # the command, too
    $tests_prof report "$out/trace.raw" >"$out/report" 2>&1 &&
        grep -q ' long .* 2147.484s .* 1 *$' "$out/report" && grep -q ' leaf .* 21 *$' "$out/report" &&
        grep -q 'still open .*: 1$' "$out/report"
}

check 'core, gcc' runs gcc $sanitized
command -v clang >/dev/null && some 3 && check 'core, clang' runs clang clang -std=c99 -O2
library zlib
check 'core, the reader' $cc -DTEST_LIBRARY -I. tests/target/decode.c "$library" -o "$out/decode" $libs
check 'core, the dump' decodes
[ -x $tests_prof ] && check 'core, the report' reports

# ---- As many open zones as a record can tell ----

cat >"$out/deep.c" <<'END'
#define PROF_IMPLEMENTATION
#define PROF_MAX_DEPTH 31
static unsigned clock_ticks;
#define PROF_NOW() ++clock_ticks
#include "examples/baremetal/core.h"
#include <stdio.h>
static bool put(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, stdout) == size;
}
int main(void) {
    prof_sink out = { put, NULL };
    if (prof_start(NULL) != PROF_OK) return 1;
    for (int i = 0; i < 40; i++) PROF_BEGIN("deep");
    return prof_dump(out) != PROF_OK;
}
END
deep() {
    $sanitized $warn -I. "$out/deep.c" \
        -o "$out/deep" && "$out/deep" >"$out/deep.raw" &&
        "$out/decode" <"$out/deep.raw" >"$out/deep.txt" &&
        grep -c '^zone deep .* unfinished' "$out/deep.txt" | grep -qx 31 &&
        grep -q '^zone deep thread 0 depth 30 ' "$out/deep.txt"
}
check 'core, 31 open zones are in the dump' deep

# ---- What an interrupt takes is no self time of what it interrupts ----

cat >"$out/interrupted.c" <<'END'
#define PROF_IMPLEMENTATION
static unsigned clock_ticks, in_context;
#define PROF_NOW() clock_ticks
#define PROF_CONTEXT() in_context
#include "examples/baremetal/core.h"
#include <stdio.h>
static bool put(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, stdout) == size;
}
int main(void) {
    prof_sink out = { put, NULL };
    prof_desc desc = { 0 };
    desc.platform.ticks_per_second = 1000000;
    if (prof_start(&desc) != PROF_OK) return 1;
    PROF_BEGIN("work");
    clock_ticks += 10;
    in_context = 5;
    PROF_BEGIN("handler");
    clock_ticks += 30;
    PROF_END();
    in_context = 0;
    clock_ticks += 60;
    PROF_END();
    prof_stop();
    return prof_dump(out) != PROF_OK;
}
END
interrupted() {   # 100 us, of which the handler had 30
    gcc -std=c99 $warn -Wno-missing-field-initializers -I. "$out/interrupted.c" -o "$out/interrupted" &&
        "$out/interrupted" >"$out/interrupted.raw" &&
        $tests_prof report -f csv "$out/interrupted.raw" | cut -d, -f1-4 | grep -qx '"work",1,100.000,70.000'
}
[ -x $tests_prof ] && check 'core, an interrupted zone' interrupted

# ---- It compiles clean everywhere, also where prof.h takes its place ----

cat >"$out/zones.c" <<'END'
#ifdef WITH_CORE
#  include "examples/baremetal/core.h"
#else
#  include "prof.h"
#endif
bool put(void *user, const void *data, size_t size);
int work(int x);
int session(void);
int work(int x) {
    PROF_FUNCTION();
    PROF_SCOPE("a");
    PROF_SCOPE("b");
    if (x) PROF_BLOCK("c") PROF_BLOCK("d") x++;
    PROF_BEGIN("e");
    PROF_END();
    return x;
}
int session(void) {
    static prof_desc desc;
    const prof_sink out = { put, NULL };
    desc.platform.ticks_per_second = 25000000;
    if (prof_start(&desc) != PROF_OK) return 1;
    prof_tick();
    prof_stop();
    return prof_dump(out) != PROF_OK;
}
END
compiles() {   # NAME COMPILER...
    name=$1
    shift
    command -v "$1" >/dev/null || { echo "skip $name: $1 is not installed"; return; }
    case $* in *++*) kind='-x c++ -std=c++11' ;; *) kind='-std=c99 -Wmissing-prototypes' ;; esac
    for more in -DWITH_CORE '-DWITH_CORE -DPROF_IMPLEMENTATION' '-DWITH_CORE -DPROF_DISABLE' ''; do
        ! some 5 || check "$name $more" "$@" $kind $warn -Wsign-conversion -Wundef -Wcast-qual -ffreestanding -I. \
            $more -c "$out/zones.c" -o "$out/zones.o"
    done
}

for cpu in m0 ${ALL:+m3 m4}; do
    compiles "core, Cortex-$cpu" arm-none-eabi-gcc -mcpu=cortex-$cpu -mthumb -Os
done
compiles 'core, RV32' riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -misa-spec=2.2 -Os
compiles 'core, clang, Cortex-M0' clang --target=thumbv6m-none-eabi -mcpu=cortex-m0 -Os
compiles 'core, clang, RV32' clang --target=riscv32-unknown-elf -march=rv32imac -Os
compiles 'core, g++' g++ -O2 '-DPROF_NOW()=0u'
compiles 'core, clang++' clang++ -O0 '-DPROF_NOW()=0u'

# ---- What it refuses ----

core="gcc -fsyntax-only -I. -x c -DPROF_IMPLEMENTATION $board/core.h"
fails 'core, 32 open zones' PROF_MAX_DEPTH_is_1_to_31 $core '-DPROF_NOW()=0u' -DPROF_MAX_DEPTH=32
fails 'core, too small an arena' PROF_ARENA_SIZE_is_too_small $core '-DPROF_NOW()=0u' -DPROF_ARENA_SIZE=400
fails 'core, no clock' 'define PROF_NOW()' $core
fails 'core, behind prof.h' 'core.h stands in the place of prof.h' $core '-DPROF_NOW()=0u' -include prof.h \
    -DPROF_FREESTANDING
exit $failed
