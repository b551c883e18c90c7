#!/bin/sh
# prof_cuda.h finds its libraries: the stand-in as libcupti and libcuda, an environment variable, a
# copy that is loaded already, none at all, and the real libcupti without a GPU where there is one.
# shellcheck disable=SC2086,SC2317   # $out has no spaces; ok calls functions
# Also: the mirror of CUPTI's records against cupti.h, and an example, where CUDA is installed.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/build.sh
. tests/build.sh

out=${TESTS_OUT:-build/tests}/cuda.dir
cuda=${CUDA_HOME:-/usr/local/cuda}
failed=0
rm -rf $out
mkdir -p $out/both $out/driver $out/old

ok() {   # NAME COMMAND...: it must succeed
    name=$1
    shift
    if "$@" >$out/said 2>&1; then echo "ok $name"; return; fi
    failed=1
    echo "not ok $name: $(tail -n 1 $out/said)"
}

# ---- the libraries, and a program that links none of them ----

fake="$quick_cc -std=c99 -O0 -fPIC -shared tests/cuda/fake_cupti.c -lpthread"
${fake%% -shared*} -c tests/cuda/fake_cupti.c -o $out/fake_cupti.o || exit 1
plain="$quick_cc -shared $out/fake_cupti.o -lpthread"
$plain -Wl,-soname,libcupti.so.13 -o $out/both/libcupti.so.13 &&
    ln -s libcupti.so.13 $out/both/libcuda.so.1 &&
    $plain -Wl,-soname,libcupti.so.12 -o $out/old/libcupti.so.12 &&
    ln -s libcupti.so.12 $out/old/libcuda.so.1 &&
    $plain -Wl,-soname,libcuda.so.1 -o $out/driver/libcuda.so.1 || exit 1

cat >$out/program.c <<'END'
#define _DEFAULT_SOURCE 1
#include "prof_cuda.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Launches three kernels, where the stand-in is there; prints the state, the kernels, the reason.
   The environment: KERNEL their name, RUNTIME a libcudart, TRACE a file to write. */
int main(int argc, char **argv) {
    void (*launch)(const char *, uint32_t, uint64_t) = NULL;
    void (*reset)(void) = NULL;
    void *driver = argc > 1 ? dlopen(argv[1], RTLD_NOW) : dlopen("libcuda.so.1", RTLD_NOW), *f;
    const char *kernel = getenv("KERNEL") ? getenv("KERNEL") : "k", *file = getenv("TRACE");
    const prof_trace *trace;
    prof_cuda_state state;
    size_t count;
    int i;
    f = driver ? dlsym(driver, "fake_reset") : NULL;
    memcpy(&reset, &f, sizeof f);
    f = driver ? dlsym(driver, "fake_launch") : NULL;
    memcpy(&launch, &f, sizeof f);
    if (reset) reset();
    if (getenv("RUNTIME") && !dlopen(getenv("RUNTIME"), RTLD_NOW)) return 3;
    if (prof_cuda_init(NULL) != PROF_OK || prof_start(NULL) != PROF_OK) return 2;
    state = prof_cuda_get_stats().state;
    for (i = 0; i < 3; i++) PROF_BLOCK("zone") { if (launch) launch(kernel, 0, 10); }
    if (getenv("VERSION")) printf("version %d\n", (int)prof_cuda_get_stats().cupti_version);
    trace = prof_stop();
    if (file && prof_save_chrome(trace, file) != PROF_OK) return 4;
    prof_events(trace, NULL, 0, &count);
    printf("state %d, %d kernels, %d events: %s\n", (int)state,
           (int)prof_cuda_get_stats().kernels, (int)count,
           prof_cuda_status() ? prof_cuda_status() : "well");
    return 0;
}
END
library gcc
[ -n "${TESTS_OUT:-}" ] || cc="$quick_cc -std=c99"
ok 'a program links nothing of CUDA' $cc -O0 -I. $out/program.c "$library" -o $out/program $libs

says() {   # PATTERN COMMAND...
    pattern=$1
    shift
    "$@" >$out/line 2>&1
    cat $out/line
    grep -q "$pattern" $out/line
}

none=/nonexistent
ok 'both are found by name' \
    says '^state 2, 3 kernels, 9 events: well$' env LD_LIBRARY_PATH=$out/both $out/program
ok 'CUDA 12 by its name' \
    says '^state 2, 3 kernels, 9 events: well$' env LD_LIBRARY_PATH=$out/old $out/program
# Which of several, without ALL=1 at each sixth time.
if some 6; then
# A driver of one CUDA, and libraries of several: its own comes first, others where that one refuses.
for of in 11.6:14 12:18 13:130001; do    # VERSION:API
    major=${of%%:*}
    for kind in takes refuses; do
        refuses=0
        [ $kind = takes ] || refuses=15
        mkdir -p $out/$kind.$major
        $fake -DFAKE_VERSION=${of#*:} -DFAKE_REFUSES=$refuses -Wl,-soname,libcupti.so.$major \
            -o $out/$kind.$major/libcupti.so.$major || exit 1
    done
done
for of in 11060 12040 13000; do
    mkdir -p $out/driver.$of
    $fake -DFAKE_DRIVER=$of -Wl,-soname,libcuda.so.1 -o $out/driver.$of/libcuda.so.1 || exit 1
done
picks() {   # NAME API PATTERN FOLDER...
    name=$1 api=$2 pattern=$3 path=
    shift 3
    for folder in "$@"; do path=$path:$PWD/$out/$folder; done
    ok "$name" says "$pattern" env VERSION=1 CUDA_HOME= CUDA_PATH= LD_LIBRARY_PATH="${path#:}" $out/program
    ok "$name: $api" grep -q "^version $api\$" $out/line
}
picks 'a driver of CUDA 12 takes its own' 18 '^state 2' driver.12040 takes.11.6 takes.12 takes.13
picks 'a driver of CUDA 13 takes its own' 130001 '^state 2' driver.13000 takes.11.6 takes.12 takes.13
picks 'a driver of CUDA 11 takes its own' 14 '^state 2' driver.11060 takes.11.6 takes.12 takes.13
picks 'an older one where its own refuses' 18 '^state 2' driver.13000 refuses.13 takes.12
picks 'a newer one where there is no other' 130001 '^state 2' driver.12040 refuses.12 refuses.11.6 takes.13
mkdir -p $out/pip/nvidia/cuda_runtime/lib $out/pip/nvidia/cuda_cupti/lib $out/pip/nvidia/cu13/lib \
    $out/venv/lib/python3.11/site-packages/nvidia/cu13/lib
cp $out/takes.12/libcupti.so.12 $out/pip/nvidia/cuda_cupti/lib
cp $out/takes.13/libcupti.so.13 $out/pip/nvidia/cu13/lib
cp $out/takes.13/libcupti.so.13 $out/venv/lib/python3.11/site-packages/nvidia/cu13/lib
for folder in cuda_runtime cu13; do
    echo 'int other;' | $quick_cc -x c -shared -fPIC -o $out/pip/nvidia/$folder/lib/libcudart.so.x -
done
pip() {   # NAME API DRIVER VARIABLE...
    name=$1 api=$2 driver=$3
    shift 3
    ok "$name" says '^state 2' env VERSION=1 CUDA_HOME= CUDA_PATH= LD_LIBRARY_PATH="$PWD/$out/$driver" \
        "$@" $out/program
    ok "$name: $api" grep -q "^version $api\$" $out/line
}
pip "pip's of CUDA 12, beside its libcudart" 18 driver.12040 \
    RUNTIME="$PWD/$out/pip/nvidia/cuda_runtime/lib/libcudart.so.x"
pip "pip's of CUDA 13, beside its libcudart" 130001 driver.13000 \
    RUNTIME="$PWD/$out/pip/nvidia/cu13/lib/libcudart.so.x"
mkdir -p $out/python/bin
cp -r $out/venv/lib $out/python/lib
pip "pip's of a python on PATH" 130001 driver.13000 PATH="$PATH:/none:$PWD/$out/python/bin"
mv $out/python/lib/python3.11/site-packages $out/python/lib/python3.11/dist-packages
pip "Debian's of a python on PATH" 130001 driver.13000 PATH="$PWD/$out/python/bin:$PATH"
pip "pip's in a virtual environment" 130001 driver.13000 VIRTUAL_ENV="$PWD/$out/venv"
fi
ok 'CUPTI by PROF_CUDA_CUPTI' says '^state 2, 3 kernels, 9 events: well$' \
    env LD_LIBRARY_PATH=$out/driver PROF_CUDA_CUPTI=$out/driver/libcuda.so.1 $out/program
# CUPTI that the loader does not find: its names are broken files, in case a real one is there.
mkdir -p $out/toolkit/extras/CUPTI/lib64 $out/broken
cp $out/driver/libcuda.so.1 $out/toolkit/extras/CUPTI/lib64/libcupti.so
cp $out/driver/libcuda.so.1 $out/broken/libcuda.so.1
for name in libcupti.so.13 libcupti.so.12 libcupti.so.11.8 libcupti.so libstdc++.so.6; do
    echo broken >$out/broken/$name
done
long=$(printf '%500s' '' | tr ' ' x)
for where in CUDA_HOME=$out/toolkit "CUDA_HOME= CUDA_PATH=$out/toolkit" \
    "CUDA_HOME=/$long CUDA_PATH=$out/toolkit"; do
    ok "CUPTI in a toolkit: $(echo $where | tr -s x)" says '^state 2, 3 kernels, 9 events: well$' \
        env LD_LIBRARY_PATH=$out/broken $where $out/program \
        $out/toolkit/extras/CUPTI/lib64/libcupti.so
done
if [ -e /usr/local/cuda/lib64/libcupti.so ] ||
    [ -e /usr/local/cuda/extras/CUPTI/lib64/libcupti.so ]; then
    echo 'skip no CUPTI at all: there is one in /usr/local/cuda'
else
    ok 'no CUPTI at all' says '^state 4, 0 kernels, 3 events: .*libcupti is not found' \
        env LD_LIBRARY_PATH=$out/broken CUDA_HOME=$none CUDA_PATH=$none $out/program
fi
ok 'a path that is wrong' says '^state 4, 0 kernels, 3 events: .*libcupti is not found' \
    env LD_LIBRARY_PATH=$out/both PROF_CUDA_CUPTI=$none $out/program
ok 'a library that is none of CUPTI' says '^state 4, 0 kernels, 3 events: .*lacks cuptiGetVersion' \
    env LD_LIBRARY_PATH=$out/both PROF_CUDA_CUPTI=libm.so.6 $out/program
if ! ldconfig -p 2>/dev/null | grep -q "libcuda[.]so[.]1"; then
    ok 'no driver' says '^state 4, 0 kernels, 3 events: .*no NVIDIA driver' $out/program
else
    echo 'skip no driver: there is one'
fi

# ---- prof_cuda.h uses prof.h's public names alone: its tests run where all others have other names ----

public=$out/public
mkdir -p $public/tests/cuda $public/examples/device $public/tools/prof
for file in prof.h tools/prof/raw_read.h tests/test.h; do
    sed 's/\<prof__/internal_prof__/g; s/\<PROF__/INTERNAL_PROF__/g' $file >$public/$file
done
cp prof_cuda.h $public
cp tests/set.h tests/inside.h $public/tests
printf '#define PROF_IMPLEMENTATION\n#include "tools/prof/raw_read.h"\n' >$public/prof.c
cp tests/cuda/*.[ch] $public/tests/cuda
cp examples/device/npu.h $public/examples/device
set -- ${CC:-$quick_cc} -std=c99 -O0 -Wall -Werror -DPROF_ASSERTS \
    -I$public -DTEST_LIBRARY -DTEST_OUT="\"$public\"" $public/tests/cuda/prof_cuda.c $public/tests/cuda/test_cuda.c
if [ -n "${ALL:-}" ]; then set -- "$@" $public/prof.c $public/tests/cuda/fake_cupti.c -o $public/test_cuda $libs
else set -- "$@" -fsyntax-only
fi
! some 3 || ok 'prof_cuda.h without the internals of prof.h' "$@"
# They have run as gcc/test_cuda: that they compile is what this is about.
[ ! -e $public/test_cuda ] || ok 'prof_cuda.h without the internals of prof.h: its tests' sh -c \
    "NO_KINETO=1 $public/test_cuda >$public/said; tail -n 1 $public/said; ! grep '^not ok' $public/said && grep -q '^ok' $public/said"

# ---- what else may be loaded: libstdc++ knows names of C++, libcudart its version ----

run='env CUDA_HOME= KERNEL=_Z3addPfi'
has() { grep -q "$1" $out/trace.json && { [ -z "$2" ] || ! grep -q "$2" $out/trace.json; }; }
traced() {   # NAME HAS LACKS VARIABLE...
    name=$1 has=$2 lacks=$3
    shift 3
    ok "$name" says '^state 2, 3 kernels' $run TRACE=$out/trace.json "$@" $out/program
    ok "$name: the trace" has "$has" "$lacks"
}
traced 'names are demangled' '"add(float[*], int)"' _Z3addPfi LD_LIBRARY_PATH=$out/both
cp $out/broken/libstdc++.so.6 $out/old
traced 'names stay without libstdc++' '"_Z3addPfi"' 'add(float' LD_LIBRARY_PATH=$out/old
choose 4 good:13000:0 refuses:13000:1 zero:0:0 negative:-1:0
for case in $chosen; do
    version=${case#*:} returns=${case##*:}
    version=${version%:*}
    printf 'int cudaRuntimeGetVersion(int *v) { *v = %s; return %s; }\n' $version $returns |
        $quick_cc -x c -shared -fPIC -Wl,-soname,libcudart.so.13 - -o $out/libcudart_${case%%:*}.so
    has='"cuda_runtime_version":13000' lacks=
    [ $case = good:13000:0 ] || { lacks=cuda_runtime_version has=cuda_driver_version; }
    traced "libcudart that is ${case%%:*}" "$has" "$lacks" LD_LIBRARY_PATH=$out/both \
        RUNTIME=$out/libcudart_${case%%:*}.so
done
echo 'int other;' | $quick_cc -x c -shared -fPIC -Wl,-soname,libcudart.so.12 - -o $out/libcudart_none.so
traced 'libcudart without a version' cuda_driver_version cuda_runtime_version \
    LD_LIBRARY_PATH=$out/both RUNTIME=$out/libcudart_none.so

# ---- the real CUPTI ----

# With a driver of ours and the real CUPTI, which finds no real one: it refuses, clearly.
real=$(find -L "$cuda/lib64" "$cuda/extras/CUPTI/lib64" -name 'libcupti.so.1[123]*' 2>/dev/null |
    head -n 1)
if [ -n "$real" ] && [ ! -e /dev/nvidia0 ]; then
    ok 'the real libcupti without a GPU refuses' \
        says '^state 4, 0 kernels, 3 events: no GPU work: .*(CUPTI error' \
        env LD_LIBRARY_PATH=$out/driver PROF_CUDA_CUPTI="$real" $out/program
else
    echo 'skip the real libcupti without a GPU refuses: no libcupti here, or a GPU'
fi

if [ -f "$cuda/include/cupti.h" ]; then
    ok 'the mirror of the records' env SETUP=check make -s check_layout CUDA_HOME="$cuda"
else
    echo 'skip the mirror of the records: no cupti.h here'
fi
# ---- zones as NVTX ranges, for a tool that counts them ----

if [ -f "$cuda/include/nvtx3/nvToolsExt.h" ]; then
    cat >$out/tool.c <<'END'
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
static int push(const char *name) { return printf("push %s\n", name); }
static int pop(void) { return printf("pop\n"); }
static void mark(const char *name) { printf("mark %s\n", name); }
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
    const NvtxExportTableCallbacks *t = (const NvtxExportTableCallbacks *)get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable f;
    unsigned count;
    if (!t || !t->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &f, &count)) return 0;
    *f[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *f[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    *f[NVTX_CBID_CORE_MarkA] = (NvtxFunctionPointer)mark;
    return 1;
}
END
    cat >$out/ranges.c <<'END'
#define PROF_IMPLEMENTATION
#define PROF_CUDA_IMPLEMENTATION
#include "prof_cuda.h"
int main(void) {
    static const int64_t dims[] = {2, 3};
    prof_shape one[] = {{dims, NULL, 1}};
    prof_shape shapes[] = {{dims, NULL, 2}, {NULL, NULL, 3}, {dims, NULL, 1}, {NULL, one, 1}};
    prof_extra with;
    if (prof_cuda_emit_nvtx(true) != PROF_OK) puts(prof_cuda_status());
    if (prof_cuda_emit_nvtx(true) != PROF_ERROR_STATE || prof_start(NULL) != PROF_OK) return 1;
    memset(&with, 0, sizeof with);
    with.has = PROF_HAS_SEQUENCE_NR | PROF_HAS_ID;
    with.sequence_nr = 5;
    with.id = 7;
    with.input_shapes = shapes;
    with.input_count = 4;
    PROF_BLOCK("outer") {
        prof_push_with("op", &with);
        prof_instant("here");
        prof_pop();
        memset(&with, 0, sizeof with);
        prof_push_with("plain", &with);
        prof_pop();
    }
    prof_stop();
    return prof_cuda_emit_nvtx(false) != PROF_OK ||
           prof_cuda_emit_nvtx(false) != PROF_ERROR_INVALID;
}
END
    ok 'zones are NVTX ranges' sh -c "gcc -std=c99 -O0 -fPIC -shared -w -isystem $cuda/include \
        $out/tool.c -o $out/tool.so && $cc -O0 -Wall -Wextra -Werror -I. \
        -I$cuda/include $out/ranges.c -o $out/ranges $libs &&
        NVTX_INJECTION64_PATH=$PWD/$out/tool.so $out/ranges | tr '\n' '|' >$out/ranges.txt &&
        cat $out/ranges.txt && grep -qx 'push outer|push op, seq = 5, op_id = 7, \
sizes = \[\[2, 3\], \[\], \[2\], \[\]\]|mark here|pop|push plain|pop|pop|' $out/ranges.txt"
    ok 'no tool of NVTX' says 'NVTX_INJECTION64_PATH is not set' $out/ranges
    ok 'no header of NVTX' sh -c "$cc -O0 -I. $out/ranges.c -o $out/plain $libs && \
        $out/plain | grep 'compile with <nvtx3/nvToolsExt.h>'"
else
    echo 'skip zones are NVTX ranges: no nvtx3 here'
fi

# What nvcc's front end does first; it has crashed on prof.h.
printf '#define PROF_IMPLEMENTATION\n#include "prof_cuda.h"\n' >$out/front.cu
nvcc=$(command -v nvcc || echo "$cuda/bin/nvcc")
if [ -z "${ALL:-}" ]; then :             # nvcc takes ten seconds
elif [ -x "$nvcc" ]; then
    ok 'nvcc reads prof.h' "$nvcc" -cuda -I. $out/front.cu -o $out/front.ii
    ok 'nvcc builds an example' make -s build/examples/cuda/vector_add CUDA_HOME="$cuda"
    ok 'nvcc builds the acceptance program' make -s build/cuda_acceptance CUDA_HOME="$cuda"
    ok 'which says what is wrong' says 'no GPU work:\|Self CUDA' \
        build/examples/cuda/vector_add $out/trace.json
else
    echo 'skip nvcc reads prof.h, builds an example: no nvcc here'
fi
exit $failed
