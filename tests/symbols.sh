#!/bin/sh
# What the object files export and need: only prof_ names go out; no malloc, printf, abort come in.
# By clang, with ALL=1 (tests/run.sh --all) by gcc, too; without, PROF_STATIC and prof_cuda.h each second time.
# shellcheck disable=SC2086   # lists are meant to split
set -u
cd "$(dirname "$0")/.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=build/tests/symbols.dir
banned='malloc|calloc|realloc|free|printf|fprintf|sprintf|abort|exit|__assert_fail'
failed=0
mkdir -p $out
printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >$out/implementation.c
printf '#include "implementation.c"\n#define PROF_CUDA_IMPLEMENTATION\n#include "prof_cuda.h"\n' >$out/cuda.c
echo '#include "prof.h"' >$out/declarations.c

symbols() {   # NM-FLAGS OBJECT
    nm -P $1 "$2" | cut -d ' ' -f 1
}

none() {   # NAME LIST: the list must be empty
    if [ -z "$2" ]; then echo "ok $1"; return; fi
    failed=1
    echo "not ok $1:" $2
}

for cc in ${ALL:+gcc} clang; do
    command -v $cc >/dev/null || { echo "skip $cc: not installed"; continue; }
    compile="$cc -std=c99 -O0 -I. -c"
    choose 2 static cuda
    if ! { $compile $out/implementation.c -o $out/implementation.o &&
        case $chosen in *static*) $compile -DPROF_STATIC $out/implementation.c -o $out/static.o ;; esac &&
        case $chosen in *cuda*) $compile $out/cuda.c -o $out/cuda.o ;; esac &&
        $compile $out/declarations.c -o $out/declarations.o; }; then
        echo "not ok $cc: does not compile"
        failed=1
        continue
    fi
    exports=$(symbols '-g --defined-only' $out/implementation.o)
    echo "$exports" | grep -qx prof_start || { echo "not ok $cc exports: no prof_start"; failed=1; }
    none "$cc: all exports begin with prof_" "$(echo "$exports" | grep -v '^prof_')"
    none "$cc: nothing banned is called" "$(symbols -u $out/implementation.o | grep -Ex "$banned")"
    case $chosen in *cuda*)
        none "$cc: those of prof_cuda.h too" "$(symbols '-g --defined-only' $out/cuda.o |
            grep -v '^prof_')"
        none "$cc: prof_cuda.h calls nothing banned but free, for CUPTI's own memory" \
            "$(symbols -u $out/cuda.o | grep -Ex "$banned" | grep -vx free)" ;;
    esac
    case $chosen in *static*)
        none "$cc: PROF_STATIC exports nothing" "$(symbols '-g --defined-only' $out/static.o)" ;;
    esac
    none "$cc: declarations alone make no symbols" "$(symbols '' $out/declarations.o)"
done
exit $failed
