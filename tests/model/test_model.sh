#!/bin/sh
# The model of the chunk protocol, by spin: right in every order of steps, and wrong once a rule is
# taken out.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/build.sh
. tests/build.sh
command -v spin >/dev/null || { echo 'skip models: spin is not installed'; exit 0; }
dir=$PWD/build/tests/model.dir
model=$PWD/tests/model/chunks.pml
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 1

errors() {   # MODEL MUTANT: how many the search finds; it must have been whole
    if ! { spin -a -DMODEL="$1" -DMUTANT="$2" "$model" >spin.log 2>&1 &&
        gcc -O0 -DSAFETY -w -o pan pan.c && ./pan -m100000 >pan.log 2>&1; }; then
        echo broken
        return
    fi
    grep -q 'error: max search depth' pan.log && { echo 'too deep'; return; }
    sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log
}

check() {   # NAME MODEL MUTANT WANTED
    found=$(errors "$2" "$3")
    if [ "$found" = "$4" ]; then echo "ok $1"; else echo "not ok $1: $found errors, not $4"; fi
}

choose 3 1 2 3 4 5
for n in $chosen; do check "model_$n" "$n" 0 0; done
check model_fails_early 1 1 1
[ -n "${ALL:-}" ] || exit 0     # the other rules that are taken out
check model_fails_owned 1 2 1
check model_fails_untold 2 3 1
check model_fails_stale 2 4 1
check model_fails_unflushed 3 5 1
check model_fails_asked_first 4 6 1
check model_fails_waited_first 4 7 1
check model_fails_claimed_apart 4 8 1
check model_fails_unreadable 4 9 1
check model_fails_unchecked 5 10 1
