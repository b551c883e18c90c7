#!/bin/sh
# Everything that can fail, fails in turn: writes of sinks, and the calls to the system that the
# header and the prof command make. POSITIONS=n (5; 14 with ALL=1, tests/run.sh --all): of each call
# at most so many are tried.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

[ -n "${ALL:-}" ] || export POSITIONS="${POSITIONS:-5}"

build() {   # PROGRAM FLAGS...
    program=$out/$1
    shift
    ${CC:-gcc} -std=c99 -g -I. -DTEST_OUT="\"$out\"" tests/fuzz/fault_session.c -o "$program" "$@" \
        -DPROF_ASSERTS -DPROF_ZLIB -lz -lpthread -ldl -lm || { echo "not ok faults_build"; exit 1; }
}
build sinks -O0 -fsanitize=address,undefined -fno-sanitize-recover=all
build session -O0
build_library() {   # NAME SOURCE
    gcc -shared -fPIC -o "$out/$1" "$2" -ldl -lpthread || { echo 'not ok faults_build'; exit 1; }
}
build_library faults.so tests/fuzz/faults.c
build_library libcupti.so.13 tests/cuda/fake_cupti.c
ln -sf libcupti.so.13 "$out/libcuda.so.1"

"$out/sinks" sinks >"$out/sinks.out" 2>&1 || failed=1
grep -v ' faults$' "$out/sinks.out"
python3 tests/fuzz/faults.py "$PWD/$out/faults.so" "$out" "$prof" "$out/session" >"$out/calls.out" 2>&1 ||
    failed=1
grep -v '^[0-9]* faults$' "$out/calls.out"
[ -z "${ALL:-}" ] || sh tests/trust.sh faults "$(awk '/^[0-9]+ faults$/ {n += $1} END {print n + 0}' \
    "$out/sinks.out" "$out/calls.out")"
exit $failed
