#!/bin/sh
# What takes hours, and runs once an issue: make nightly. One stage after the other; what each printed
# is in build/nightly, the last line counts stages.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/nightly
: >build/nightly/stages

stage() {   # TARGET [VARIABLE=VALUE...]
    begin=$(date +%s)
    if make "$@" >"build/nightly/$1.log" 2>&1; then said="ok $1"; else said="not ok $1"; fi
    echo "$said: $(tail -n 1 "build/nightly/$1.log") ($(($(date +%s) - begin)) s)" | tee -a build/nightly/stages
}

stage test-all                     # each case; .ci/run takes a fourth of many, others each time
stage coverage                     # runs tests once more, in a build that counts lines
stage analysis                     # valgrind, MemorySanitizer, UBSan, analyzers, every warning
stage soak
stage stress REPEATS=100
stage storm RUNS=1000
stage test-all ONLY=test_signal_step STEP_STRIDE=1 STEP_HANDLERS=all TIMEOUT=20000
stage fuzz SECONDS=60
stage proof
stage mutants COUNT=150 SEED=1 WHOLE=1
awk '/^ok /{ok++} /^not ok /{bad++}
    END {printf "%d passed, %d failed, 0 skipped\n", ok, bad; exit bad > 0}' build/nightly/stages
