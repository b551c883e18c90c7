#!/bin/sh
# The acceptance program's own logic, whole, on the stand-in: all passes, the table is written, and
# what goes wrong on a GPU is a failure.
set -u
cd "$(dirname "$0")/../.." || exit 1

out=${TESTS_OUT:-build/tests}/cuda_acceptance.dir
failed=0
mkdir -p "$out"

ok() {   # NAME COMMAND...: it must succeed
    name=$1
    shift
    if "$@" >"$out/checked" 2>&1; then echo "ok $name"; return; fi
    failed=1
    echo "not ok $name: $(grep -E 'MISS|error' "$out/said" | head -n 1) $(tail -n 1 "$out/said")"
}
accept() {   # NAME...: runs them; what it says is in $out/said
    ACCEPTANCE_OUT=$out timeout 280 sh tools/dev/cuda_acceptance.sh --fake "$@" >"$out/said" 2>&1
}

if ! command -v g++ >/dev/null; then
    echo 'skip acceptance: no g++'
    exit 0
fi
[ -n "${ALL:-}" ] || ! command -v clang++ >/dev/null || export CXX=clang++     # a third of g++'s time
# "refusal", "launches" and "flush" take their time and judge little: the rest has all the logic.
all='kernels streams copies graph threads join order times sessions contexts churn memory refusal fallback'
# shellcheck disable=SC2086
accept $all
ok 'all experiments pass' grep -Eq '^[0-9]{2} passed, 0 failed$' "$out/said"
ok 'the table is Markdown' [ "$(grep -c '^| .* | ok |$' "$out/table.md")" -ge 50 ]
for case in 'FAKE_HEAD_KERNELS=5 sessions' 'FAKE_EARLY_NS=200000 sessions' 'FAKE_EARLY_NS=1000000 order' \
    'FAKE_ZERO_TIMES=10 kernels'; do
    setting=${case% *}
    export "${setting?}"
    accept "${case#* }"
    ok "a failure: $case" grep -Eq '^[0-9]+ passed, [1-9][0-9]* failed$' "$out/said"
    unset "${setting%=*}"
done
exit $failed
