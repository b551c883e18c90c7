#!/bin/sh
# Everything that can fail, fails in turn: writes of sinks, and the calls to the system that the
# header and the prof command make. POSITIONS=n (1; 14 with ALL=1, tests/run.sh --all): of each call
# at most so many are tried.
# shellcheck disable=SC2086   # lists of flags are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

if [ -n "${ALL:-}" ]; then positions=$((14 / share)); else positions=1; fi
export POSITIONS="${POSITIONS:-$positions}"
preloadable
prof=${PROF:-$PWD/$tests_prof}

build() {   # PROGRAM CONFIG
    program=$out/$1
    shift
    library "$1"
    $cc $level -I. -DTEST_LIBRARY -DTEST_OUT="\"$out\"" tests/fuzz/fault_session.c "$library" \
        -o "$program" $libs || { echo 'not ok faults_build'; exit 1; }
}
build sinks asan
build session zlib
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
[ "$share" != 1 ] || sh tests/trust.sh faults "$(awk '/^[0-9]+ faults$/ {n += $1} END {print n + 0}' \
    "$out/sinks.out" "$out/calls.out")"
exit $failed
