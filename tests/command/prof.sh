# shellcheck shell=sh disable=SC2034   # variables are for the tests that source this
# For tests of the prof command: sourced by tests/command/test_prof_*.sh, in the repository's root.
#   prof          the command;  $out: a folder for this test's files;  $CC: a compiler
#   try NAME COMMAND...              ok when the command succeeds
#   sometimes NAME COMMAND...        the same, without ALL one time in three, others each time
#   $browser      Chromium, or empty: dom FILE
#   is_json FILE
#   tells NAME TEXT STATUS COMMAND... ok when it exits with STATUS and TEXT is in what it prints
#   says NAME TEXT STATUS COMMAND...  the same; of those that only read, by the command or functions of $reading,
#                                     without ALL one in three, others each time
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

sometimes() {   # NAME COMMAND...
    ! some 3 || try "$@"
}

says() {   # NAME TEXT STATUS COMMAND...
    case " $prof ${reading:-} " in *" $4 "*)
        case " $* " in *' -o'* | *' augment '* | *' record '*) ;; *) some 3 || return 0 ;; esac ;;
    esac
    tells "$@"
}

tells() {   # NAME TEXT STATUS COMMAND...: whoever looks at $out/said afterwards asks this
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
    for file in ../shared/traces/*.json ../shared/traces/*.json.gz; do
        [ -r "$file" ] || continue
        [ -n "${ALL:-}" ] || [ "$(wc -c <"$file")" -lt 100000 ] || continue
        ! some 2 || echo "$file"
    done
}

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

dom() {   # FILE: the page as it is after its scripts have run
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --dump-dom \
        --user-data-dir="$(realpath "$out")/browser" "file://$(realpath "$1")" 2>/dev/null
}

mkdir -p build
[ -n "${PROF:-}" ] || the_command >"$out/make.log" 2>&1 ||
    { cat "$out/make.log"; echo "not ok ${name}_builds: see the lines above"; exit 1; }
