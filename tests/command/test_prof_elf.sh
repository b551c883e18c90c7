#!/bin/sh
# prof decode --elf: names that PROF_NAMES_IN_ELF leaves in the ELF file, of examples/baremetal built
# for this machine: the trace is that of names in the image. Other builds' and damaged files.
# shellcheck disable=SC2086,SC2317   # $compiler is a word; functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

board=examples/baremetal
flags='-DPROF_FREESTANDING -DPROF_ARENA_SIZE=32768 -DFAKE_CLOCK -DSTREAM -I. -Wall -Wextra -Wshadow -Werror'
echo 'SECTIONS { .note.gnu.build-id : { prof_build_id = .; *(.note.gnu.build-id) } } INSERT AFTER .interp;' \
    >"$out/build.ld"

build() {   # NAME COMPILER...: and runs it
    to=$out/$1 compiler=$2
    shift 2
    # shellcheck disable=SC2086   # flags are words
    "$compiler" $flags "$@" $board/control.c $board/prof.c $board/host.c -o "$to" \
        -Wl,--build-id -Wl,-T,"$out/build.ld" && "$to" >"$to.raw"
}
decode() { "$prof" decode --elf "$out/$1" -o "$out/$1.json" "$out/$1.raw"; }
silent() { decode "$1" 2>"$out/warned" && [ ! -s "$out/warned" ]; }
stacks() { "$prof" stacks "$out/$1.json" >"$out/$1.stacks" && cmp "$out/plain.stacks" "$out/$1.stacks"; }
no_names() { ! grep -q 'control' "$out/$1.raw"; }

try elf_plain build plain "$CC" -std=gnu99
try elf_plain_decodes "$prof" decode -o "$out/plain.json" "$out/plain.raw"
"$prof" stacks "$out/plain.json" >"$out/plain.stacks"
try elf_plain_stacks grep -q 'run;control;filter;tap' "$out/plain.stacks"
for compiler in gcc ${ALL:+clang}; do
    command -v $compiler >/dev/null || { echo "skip elf_$compiler: it is not installed"; continue; }
    try "elf_$compiler" build $compiler $compiler -std=gnu99 "-O${ALL:+2}" -Wpedantic -Wconversion -DPROF_NAMES_IN_ELF
    try "elf_${compiler}_no_names" no_names $compiler
    try "elf_${compiler}_silent" silent $compiler
    try "elf_${compiler}_stacks" stacks $compiler
done
if [ -z "${ALL:-}" ]; then :
elif command -v clang++ >/dev/null; then
    try elf_clangxx build clangxx clang++ -x c++ -std=c++11 -DPROF_NAMES_IN_ELF \
        -Wno-missing-field-initializers
    try elf_clangxx_no_names no_names clangxx
    try elf_clangxx_silent silent clangxx
    try elf_clangxx_stacks stacks clangxx
else
    echo 'skip elf_clangxx: clang++ is not installed'
fi
# g++ keeps its marks; of such a program the names are in the stream.
try elf_gxx build gxx g++ -x c++ -std=c++11 -DPROF_NAMES_IN_ELF -Wno-missing-field-initializers
try elf_gxx_decodes "$prof" decode -o "$out/gxx.json" "$out/gxx.raw"
try elf_gxx_stacks stacks gxx

# Every kind of zone; those that have no literal as their name keep a mark.
cat >"$out/kinds.c" <<'END_OF_C'
#define PROF_IMPLEMENTATION
#define PROF_NOW() ticks()
static unsigned ticks(void);
#include "prof.h"
#include <stdio.h>
static unsigned ticks(void) {
    static unsigned n;
    return n += 10;
}
static bool put(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, stdout) == size;
}
#ifdef __cplusplus
template <int N> struct part {
    static void inside() { PROF_SCOPE("inside"); }
};
inline void inlined() { PROF_SCOPE("inlined"); }
#else
static void inlined(void) { PROF_SCOPE("inlined"); }
#endif
static void function(void) {
    PROF_FUNCTION();
    inlined();
}
int main(void) {
    prof_desc desc = {};
    prof_sink to = {put, NULL};
    desc.mode = PROF_MODE_AGGREGATE;     /* needs names on the target */
    if (prof_start(&desc) != PROF_ERROR_UNSUPPORTED) return 1;
    desc.mode = PROF_MODE_STREAM;
    desc.stream = to;
    desc.stream_format = PROF_STREAM_CHROME;
    if (prof_start(&desc) != PROF_ERROR_UNSUPPORTED) return 2;
    desc.mode = PROF_MODE_TRACE;
    PROF_BLOCK("off") {}
    if (prof_start(&desc) != PROF_OK) return 3;
    PROF_BEGIN("begin \"quoted\"");
    PROF_BLOCK("block") PROF_BLOCK_IN(1, "in block") {}
    prof_push("pushed");
    function();
    prof_pop();
    PROF_INSTANT("instant");
    PROF_COUNTER("counter", 3);
#ifdef __cplusplus
    part<1>::inside();
    part<2>::inside();
    inlined();
#endif
    PROF_END();
    prof_dump(to);
    return prof_stop() ? fflush(stdout) : 4;
}
END_OF_C
kinds() {   # NAME COMPILER...
    to=$out/$1
    shift
    "$@" -DPROF_FREESTANDING -DPROF_NAMES_IN_ELF -I. "$out/kinds.c" -o "$to" && "$to" >"$to.raw"
}
rows() {   # NAME: each zone is called what it is
    decode "$1" && "$prof" report -f csv "$out/$1.json" >"$out/$1.csv" || return 1
    for row in 'begin ""quoted""' block 'in block' pushed function inlined; do
        grep -qF "\"$row\"," "$out/$1.csv" || { echo "no $row"; return 1; }
    done
    ! grep -q 'site#' "$out/$1.json" && grep -q '"instant"' "$out/$1.json" && grep -q '"counter"' "$out/$1.json"
}
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    [ "$compiler${ALL:-}" = clang ] && level=-O0 || level=-O1
    try "elf_kinds_$compiler" kinds kinds_$compiler $compiler -std=gnu2x $level
    try "elf_kinds_${compiler}_rows" rows kinds_$compiler
done
if command -v clang++ >/dev/null; then
    try elf_kinds_clangxx kinds kinds_clangxx clang++ -x c++ -std=c++11
    try elf_kinds_clangxx_rows rows kinds_clangxx
    try elf_kinds_templates grep -q '"inside",2,' "$out/kinds_clangxx.csv"
fi

# Another build's file, a stripped one, none, a part of one. That of another order of bytes is read.
other() { "$prof" decode --elf tests/fuzz/corpus/elf/big_64 -o "$out/other.json" "$out/gcc.raw"; }
tells elf_other "the stream is another build's (build id " 1 other
try elf_other_once test "$(wc -l <"$out/said")" = 1
try elf_other_no_names sh -c "grep -q 'site#4194304' '$out/other.json' && ! grep -q control '$out/other.json'"
objcopy -R prof_sites "$out/gcc" "$out/without" 2>/dev/null
if [ -f "$out/without" ]; then
    says elf_without 'has no names of zones (section prof_sites)' 2 \
        "$prof" decode --elf "$out/without" "$out/gcc.raw"
fi
says elf_plain_file 'has no names of zones (section prof_sites)' 2 "$prof" decode --elf "$out/plain" "$out/gcc.raw"
says elf_none 'No such file' 2 "$prof" decode --elf "$out/nothing" "$out/gcc.raw"
says elf_no_elf 'this is not an ELF file' 2 "$prof" decode --elf "$0" "$out/gcc.raw"
says elf_folder 'this is not an ELF file' 2 "$prof" decode --elf "$out" "$out/gcc.raw"
head -c 3000 "$out/gcc" >"$out/cut"
says elf_cut 'is it cut off?' 2 "$prof" decode --elf "$out/cut" "$out/gcc.raw"
says elf_is_kept 'this is the input' 2 "$prof" decode --elf "$out/gcc" -o "$out/gcc" "$out/gcc.raw"
says elf_follow 'tap ' 0 "$prof" decode --follow --elf "$out/gcc" "$out/gcc.raw"
exit $failed
