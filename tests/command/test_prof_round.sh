#!/bin/sh
# prof report of a saved trace is what the library itself says of it, byte for byte: programs of
# every kind, made by tests/command/round_trip.c, by every grouping; and prof stacks.
#   test_prof_round.sh [SEEDS [FIRST]]   so many random programs (6; in make test-all 200), and a
#                                        fifth as many under a CUPTI of our own; a ninth of the
#                                        groupings, others each time (in make test-all all)
#
# What cannot be equal, by the nature of the trace format, and so is not in those programs:
#   - stack entries with a semicolon, and empty ones: PyTorch joins them by semicolons;
#   - names that are not UTF-8: JSON has none such; they are U+FFFD in both, but two of them that
#     differ only there are two rows live and one in the report;
#   - CUPTI's records of synchronisation (cuda_sync): waits are rows of their own live, and left out
#     of the report, as of PyTorch's table (--category cuda_sync shows them);
#   - what events from outside bring along that the format has no place for: lists of kernels and
#     memory of their own, is_remote, is_legacy;
#   - zones that the program itself calls ProfilerStep#1: PyTorch's reader takes them for steps.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# shellcheck disable=SC2086,SC2317   # lists are meant to split; try calls it
build_round_trip() {
    library gcc && $cc -O1 $warn $asserts -DTEST_LIBRARY -I. tests/command/round_trip.c \
        tests/cuda/fake_cupti.c "$library" -o "$out/round_trip" $libs
}
[ -x "$out/round_trip" ] &&
    [ -z "$(find prof.h tests/test.h tests/command/round_trip.c -newer "$out/round_trip")" ] ||
    try round_builds build_round_trip || exit 1
seeds=6 first=88             # 91: a block that threads hand on
[ -z "${ALL:-}" ] || seeds=$((200 / share)) first=$((1 + ${TURN:-$(date +%s)} % share * (200 / share)))
seeds=${1:-$seeds} first=${2:-$first}
rm -f "$out"/*.json "$out"/*.live
"$out/round_trip" "$out" "$seeds" "$first" >"$out/list" || { echo 'not ok round_runs'; exit 1; }

# shellcheck disable=SC2317   # equal calls it
sorted() {   # COMMAND...: the same lines, whatever their order
    sort "$live" >"$live.sorted"
    "$@" | sort | cmp -s - "$live.sorted" && cat "$live"
}

equal() {   # NAME OF-WHAT COMMAND...: its output is $out/NAME.OF-WHAT.live
    label=round_$1_$2 live=$out/$1.$2.live
    shift 2
    "$@" >"$out/got" 2>"$out/said" && cmp -s "$live" "$out/got" && { passed="$passed $label"; return; }
    failed=1
    cp "$out/got" "${live%.live}.got"
    echo "not ok $label: $* differs: $(diff "$live" "$out/got" | head -n 2 | cut -c 1-300 | tr '\n' ' ')$(
        head -n 1 "$out/said")"
}

# shellcheck disable=SC2317   # equal calls it
table() {   # COMMAND...: without what it tells before and behind the table
    "$@" | sed -n '/^---/,$p' | head -c "$(wc -c <"$live")"
}

# The session's own raw stream: what it says by itself. Steps, work on devices, modules and stacks of
# zones around need what is in no stream.
# shellcheck disable=SC2086   # options are words
raw() {   # NAME GROUPING OPTION...
    of=$1 grouping=$2
    shift 2
    if [ "$grouping" = name ] && [ -f "$out/$of.raw" ]; then
        try "round_${of}_raw_stacks" test "$(stacks "$out/$of.raw")" = "$(stacks - <"$out/$of.raw")"
    fi
    case $of:$grouping in
    stream*:name | stream*:shape) ;;
    stream* | *:stack* | *:site | *:all | seed* | cuda* | steps* | modules*) return ;;
    esac
    [ -f "$out/$of.raw" ] || return
    cp "$out/$of.$grouping.live" "$out/$of.raw_$grouping.live"
    equal "$of" "raw_$grouping" "$prof" report -n all -s none -f json "$@" "$out/$of.raw"
    if [ "$of:$grouping" = memories:name ]; then
        try round_memories_raw_column test -n "$("$prof" report "$out/$of.raw" | grep ' XPU Mem')"
    fi
    if [ "$of:$grouping" = open_at_the_end:name ]; then
        try round_open_top test -n "$("$prof" top --looks 1 "$out/$of.raw" | grep '^left open  *0.06%')"
    fi
    if [ "$of:$grouping" = ranges:name ]; then
        try round_ranges_raw_twice test "$(told "$out/ranges.raw")" = "$(told "$out/ranges.json")"
        try round_ranges_twice test "$(told "$out/ranges.json")" = \
            "$out/ranges.json: Ends of zones or ranges that had ended, or not begun in the session, ignored: 1"
    fi
    case $of:$grouping in stream*:name) ;; *) return ;; esac
    try "round_${of}_raw_frees" test "$(frees "$out/$of.json")" = "$(frees "$out/$of.raw")"
}
stacks() { "$prof" stacks --threads "$1" 2>/dev/null | sort; }      # by depth, and by times
told() { "$prof" report "$1" 2>&1 | sed '/^---/,$d; s/^prof: //; s/ranges[.]raw/ranges.json/'; }
frees() { "$prof" report "$1" 2>/dev/null | head -n 1 | grep -o 'Frees[^;]*'; }   # that were odd

passed=
while read -r trace grouping; do
    some 9 || continue
    case $grouping in
    name) by='' ;;
    shape) by=--group-by-input-shape ;;
    overload) by=--group-by-overload ;;
    stack*) by="--group-by-stack ${grouping#stack}" ;;
    site) by=--group-by-site ;;
    all) by='--group-by-input-shape --group-by-overload --group-by-stack 100 --group-by-site' ;;
    esac
    # shellcheck disable=SC2086   # options are words
    equal "$trace" "$grouping" "$prof" report -n all -s none -f json $by "$out/$trace.json"
    # shellcheck disable=SC2086
    raw "$trace" "$grouping" $by
    [ "$grouping" = all ] || continue
    # shellcheck disable=SC2086
    equal "$trace" text table "$prof" report -n all $by "$out/$trace.json"
    # the array's head tells the same; in little memory it is all the same, but for devices' work
    cp "$out/$trace.name.live" "$out/$trace.array.live"
    equal "$trace" array "$prof" report -n all -s none -f json "$out/$trace.array.json"
    cp "$out/$trace.site.live" "$out/$trace.arrays.live"
    equal "$trace" arrays "$prof" report -n all -s none -f json --group-by-site "$out/$trace.array.json"
    cp "$out/$trace.name.live" "$out/$trace.merged.live"     # a merged trace keeps what its parts promise
    "$prof" merge -o "$out/$trace.merged.json" "$out/$trace.json" 2>"$out/said"
    equal "$trace" merged "$prof" report -n all -s none -f json "$out/$trace.merged.json"
    cp "$out/$trace.site.live" "$out/$trace.mergeds.live"
    equal "$trace" mergeds "$prof" report -n all -s none -f json --group-by-site \
        "$out/$trace.merged.json"
    if ! grep -q '"cat":"\(kernel\|gpu_\)' "$out/$trace.json"; then
        cp "$out/$trace.name.live" "$out/$trace.lean.live"
        equal "$trace" lean "$prof" report -n all -s none -f json --no-device "$out/$trace.json"
    fi
    equal "$trace" top "$prof" report -n all -s none -f json --top-level "$out/$trace.json"
    case $trace in native*) continue ;; esac   # live, functions stand between zones
    equal "$trace" stacks sorted "$prof" stacks "$out/$trace.json"
done <"$out/list"
for label in $passed; do echo "ok $label"; done
exit $failed
