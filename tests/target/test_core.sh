#!/bin/sh
# PROF_CORE on this machine: what it records and counts (core.c), its dump as the reader reads it, its
# Chrome array as JSON, and what it lacks: compile errors that say so.
# shellcheck disable=SC2086,SC2317   # lists of flags are meant to split; check calls functions
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=$PWD/build/tests/core.dir
warn='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
board=examples/baremetal
failed=0
rm -rf "$out"
mkdir -p "$out"

check() {   # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$out/said" 2>&1; then echo "ok $name"; return; fi
    failed=1
    echo "not ok $name: $(head -n 5 "$out/said" | tr '\n' ' ')"
}

runs() {   # PROGRAM FLAGS...: builds core.c, and runs it where its files go
    program=$1
    shift
    "$@" -DPROF_FREESTANDING -I. tests/target/core.c $board/host.c -o "$out/$program" &&
        (cd "$out" && "./$program" >chrome.json)
}

decodes() {   # the dump has these lines, and 22 zones
    "$out/decode" <"$out/trace.raw" >"$out/decoded" || return 1
    sed 's/\.\..*//' "$out/decoded" | grep -c '^zone' | grep -qx 22 &&
        grep -qx 'zone leaf thread 0 depth 0 2863311565666..2863311570666' "$out/decoded" &&
        grep -qx 'zone leaf thread 1 depth 1 5726623124666..5726623158000' "$out/decoded" &&
        grep -qx 'zone open thread 1 depth 0 5726623124666..5726623174666 unfinished' "$out/decoded"
}

check 'core, gcc' runs gcc gcc $warn -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
if command -v clang >/dev/null; then check 'core, clang' runs clang clang $warn -O2; fi
check 'core, the reader' $quick_cc -std=c99 -O0 -w -I. tests/target/decode.c \
    -o "$out/decode" -lpthread
check 'core, the dump' decodes

# As text: name, thread, start, duration of each zone. Nanoseconds are cut there, not rounded.
zones_alike() {
    sed -n 's/^{"ph":"X","cat":"cpu_op","name":"\([a-z]*\)","pid":1,"tid":\([0-9]*\),"ts":\([0-9]*\)\.\([0-9]*\),.*/\1 \2 \3\4/p' \
        "$out/chrome.json" | sed 's/ 0*\([0-9]\)/ \1/2' | sort >"$out/of_chrome"
    sed -n 's/^zone \([a-z]*\) thread \([0-9]*\) depth [0-9]* \([0-9]*\)\.\..*/\1 \2 \3/p' \
        "$out/decoded" | sort >"$out/of_dump"
    [ -s "$out/of_dump" ] && cmp "$out/of_chrome" "$out/of_dump"
}
check 'core, the Chrome array has the zones of the dump' zones_alike
# The command reads the dump as it lies, and as the JSON that it stands for.
reports_alike() {
    build/prof decode -o "$out/trace.json" "$out/trace.raw" &&
        build/prof report "$out/trace.raw" | sed 1d >"$out/of_raw" &&
        build/prof report "$out/trace.json" | sed 1d | cmp - "$out/of_raw" && grep -q 'leaf .* 21 *$' "$out/of_raw"
}
if [ -x build/prof ]; then check 'core, the report' reports_alike; fi
if command -v python3 >/dev/null; then
    check 'core, the Chrome array' python3 -m json.tool "$out/chrome.json"
fi

# ---- As many open zones as a record can tell ----

cat >"$out/deep.c" <<'END'
#define PROF_IMPLEMENTATION
#define PROF_MAX_DEPTH 255
#define PROF_ARENA_SIZE 32768
static unsigned clock_ticks;
#define PROF_NOW() ++clock_ticks
#include "prof.h"
#include <stdio.h>
static bool put(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, stdout) == size;
}
int main(void) {
    prof_sink out = { put, NULL };
    if (prof_start(NULL) != PROF_OK) return 1;
    for (int i = 0; i < 300; i++) PROF_BEGIN("deep");
    if (prof_get_stats().dropped_deep != 45) return 2;
    return prof_dump(out) != PROF_OK;
}
END
deep() {
    gcc $warn -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DPROF_CORE \
        -DPROF_FREESTANDING -I. "$out/deep.c" -o "$out/deep" && "$out/deep" >"$out/deep.raw" &&
        "$out/decode" <"$out/deep.raw" >"$out/deep.txt" &&
        grep -c '^zone deep .* unfinished' "$out/deep.txt" | grep -qx 255
}
check 'core, 255 open zones are in the dump' deep
check 'core, 256 are an error' sh -c "! gcc -DPROF_CORE -DPROF_FREESTANDING -DPROF_MAX_DEPTH=256 \
    -DPROF_IMPLEMENTATION -I. -x c -fsyntax-only prof.h 2>$out/said &&
    grep -q 'PROF_CORE has 255 open zones' $out/said"
check 'core, an arena without room for a context is an error' sh -c "! gcc -DPROF_CORE \
    -DPROF_FREESTANDING -DPROF_ARENA_SIZE=400 -DPROF_IMPLEMENTATION -I. -x c -fsyntax-only prof.h \
    2>$out/said && grep -q 'PROF_ARENA_SIZE_is_too_small_for_one_context' $out/said"

# ---- What it lacks ----

lacks() {   # CALL NAME
    printf '#include "prof.h"\nvoid f(void);\nvoid f(void) { %s; }\n' "$1" >"$out/lacks.c"
    for cc in 'gcc -std=c99' 'g++ -x c++'; do
        $cc -ffreestanding -DPROF_CORE -fsyntax-only -I. "$out/lacks.c" >"$out/said" 2>&1
        if grep ' error: ' "$out/said" | head -n 1 | grep -q "$2_is_not_in_PROF_CORE"; then
            echo "ok core lacks $2, $cc"
        else
            failed=1
            echo "not ok core lacks $2, $cc: $(head -n 3 "$out/said" | tr '\n' ' ')"
        fi
    done
}

lacks 'prof_counter("n", 1)' prof_counter
lacks 'PROF_COUNTER("n", 1)' PROF_COUNTER
lacks 'PROF_INSTANT("n")' PROF_INSTANT
lacks 'PROF_SCOPE_F("n%%d", 1)' PROF_SCOPE_F
lacks 'prof_push("n")' prof_push
lacks 'prof_write_table(0, 0, prof_sink())' prof_write_table
lacks 'prof_task_in(1, "n")' prof_task_in
lacks 'prof_flush()' prof_flush

echo '#include "prof.h"' >"$out/hosted.c"
check 'core with an OS: an error' sh -c "! gcc -DPROF_CORE -I. -fsyntax-only $out/hosted.c 2>$out/said &&
    grep -q 'PROF_CORE is freestanding' $out/said"
exit $failed
