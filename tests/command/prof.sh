# shellcheck shell=sh disable=SC2034   # variables are for the tests that source this
# For tests of the prof command: sourced by tests/command/test_prof_*.sh, in the repository's root.
#   prof          the command;  $out: a folder for this test's files;  $CC: a compiler
#   try NAME COMMAND...              ok when the command succeeds
#   $browser      Chromium, or empty: dom FILE
#   is_json FILE
#   says NAME TEXT STATUS COMMAND... ok when it exits with STATUS and TEXT is in what it prints
# shellcheck source=tests/build.sh
. tests/build.sh
name=$(basename "$0" .sh)
out=${TESTS_OUT:-build/tests}/$name.dir
prof=${PROF:-$PWD/$tests_prof}
failed=0
[ -n "${CC:-}${ALL:-}" ] || ! command -v clang >/dev/null || CC=clang     # half of gcc's time
CC=${CC:-cc}
mkdir -p "$out"

try() {   # NAME COMMAND...
    label=$1
    shift
    if "$@" >"$out/said" 2>&1; then echo "ok $label"; return 0; fi
    failed=1
    echo "not ok $label: $(tail -n 1 "$out/said")"
    return 1
}

says() {   # NAME TEXT STATUS COMMAND...
    label=$1 text=$2 status=$3
    shift 3
    "$@" >"$out/said" 2>&1
    got=$?
    if [ $got = "$status" ] && grep -qF -e "$text" "$out/said"; then
        echo "ok $label"
        return 0
    fi
    failed=1
    echo "not ok $label: exit status $got, not $status, or without '$text': $(tail -n 1 "$out/said")"
    return 1
}

is_json() { python3 -c 'import json, sys; json.load(open(sys.argv[1], "rb"))' "$1"; }

# Those of the PyTorch profiler, where they are; without ALL every second of the small ones, others
# each time.
real_traces() {
    turn=$(date +%s)
    for file in ../shared/traces/*.json ../shared/traces/*.json.gz; do
        [ -r "$file" ] || continue
        if [ -z "${ALL:-}" ]; then
            [ "$(wc -c <"$file")" -lt 100000 ] || continue
            turn=$((turn + 1))
            [ $((turn % 2)) = 0 ] || continue
        fi
        echo "$file"
    done
}

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

dom() {   # FILE: the page as it is after its scripts have run
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --dump-dom \
        --user-data-dir="$PWD/$out/browser" "file://$PWD/$1" 2>/dev/null
}

mkdir -p build
[ -n "${PROF:-}" ] || make_command "$tests_prof" >"$out/make.log" 2>&1 ||
    { cat "$out/make.log"; echo "not ok ${name}_builds: see the lines above"; exit 1; }
