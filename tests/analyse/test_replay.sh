#!/bin/sh
# The vectors in tests/analyse/vectors against the library: one test a file. Needs libyajl and zlib.
# shellcheck disable=SC2086   # $out has no spaces
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=${TESTS_OUT:-build/tests}/test_replay.dir
replay=${REPLAY:-build/tests/replay}
failed=0
mkdir -p $out
for header in yajl/yajl_tree.h zlib.h; do
    echo "#include <$header>" | ${CC:-cc} -E - >/dev/null 2>&1 && continue
    echo "skip replay: $header is not installed"
    exit 0
done
build() {   # with what tests have compiled already; yajl comes as a shared library
    static=''
    library gcc && make_command "$replay" LIBRARY="$library"
}
[ -n "${REPLAY:-}" ] || build >"$out/make.log" 2>&1 || {
    echo "not ok replay: does not compile: $(tail -n 1 $out/make.log)"
    exit 1
}

for file in tests/analyse/vectors/*.json tests/analyse/vectors/*.json.gz; do
    name=$(basename "${file%%.*}")
    [ "$name" != canonical ] || continue     # tests/command/canonical.py
    if "$replay" "$file" >"$out/$name.log" 2>&1; then
        echo "ok replay_$name: $(tail -n 1 "$out/$name.log")"
    else
        failed=1
        grep -m 20 '' "$out/$name.log"
        echo "not ok replay_$name: $(tail -n 1 "$out/$name.log")"
    fi
done

# ---- Random ones, answered by a slow reference ----

if command -v python3 >/dev/null; then
    for seed in ${ALL:+1 2}; do
        mkdir -p "$out/seed$seed"
        if python3 tests/analyse/make_vectors.py $seed "$out/seed$seed" >"$out/seed$seed.log" 2>&1 &&
            python3 tests/analyse/make_event_vectors.py $seed "$out/seed$seed/event_lists.json" &&
            python3 tests/analyse/make_event_vectors.py $seed "$out/seed$seed/kineto_events.json" &&
            "$replay" "$out/seed$seed"/*.json >"$out/seed$seed.log" 2>&1; then
            echo "ok replay_seed_$seed: $(tail -n 1 "$out/seed$seed.log")"
        else
            failed=1
            grep -m 20 '' "$out/seed$seed.log"
            echo "not ok replay_seed_$seed: $(tail -n 1 "$out/seed$seed.log")"
        fi
    done
    for name in ${ALL:+event_lists kineto_events}; do
        said=$(python3 tests/analyse/make_event_vectors.py \
            --check tests/analyse/vectors/$name.json.gz | tail -n 1)
        case $said in
        *', 0 differences') echo "ok replay_reference_$name: $said" ;;
        *) failed=1; echo "not ok replay_reference_$name: $said" ;;
        esac
    done
else
    echo 'skip replay_seeds: python3 is not installed'
fi

# ---- What it does with files that hold something else ----

# Runs replay on a file with that text; the last line and the exit status must be those given.
says() {   # NAME TEXT LAST-LINE STATUS
    printf '%s' "$2" >"$out/$1.json"
    last=$("$replay" "$out/$1.json" 2>&1)
    status=$?
    last=$(echo "$last" | tail -n 1)
    if [ "$last" = "$3" ] && [ $status = "$4" ]; then echo "ok replay_$1"; return; fi
    failed=1
    echo "not ok replay_$1: '$last', exit $status"
}

says format_wrong '{"time": [[1, "1.000us"], [2, "2.000ms"]]}' '1 passed, 1 failed' 1
says flops_wrong '[{"op": "mm", "args": [[2, 3], [3, 4]], "ok": 47}]' '0 passed, 1 failed' 1
says flops_odd '[{"op": null, "args": 7}, {"kwargs": []}, null]' '3 passed, 0 failed' 0
says flops_named '[{"op": "convolution", "args": [[1, 2, 8], [4, 2, 3], null], "kwargs":
    {"groups": 1, "padding": 1, "out_val": null, "stride": [2]}, "ok": 192}]' '1 passed, 0 failed' 0
says schedules_negative '[{"args": {"active": 1, "wait": -4294967295}, "error": "E"},
    {"args": {"active": null}, "error": "E"}, {"args": {"active": 1}, "ok":
    ["RECORD_AND_SAVE"]}]' '3 passed, 0 failed' 0
says schedules_wrong '[{"args": {"active": 0}, "ok": ["NONE"]}]' '0 passed, 1 failed' 1
says event_lists_odd '[{}, {"events": [{}, {"device_type": "moon"}]}]' '0 passed, 2 failed' 1
says kineto_events_odd '[{"events": [{}, null, 5, {"name": "[memory]", "nbytes": 7}]}]' \
    '0 passed, 1 failed' 1
says legacy_records_odd '[{"threads": [[{"kind": "pop"}, {"kind": "push"}, null, 3]], "ok":
    {"events": []}}]' '1 passed, 0 failed' 0
says machine_odd '[{"log": [[], ["start"], ["step1"], ["stop"]]}]' '0 passed, 1 failed' 1
says format_empty '' '0 passed, 1 failed' 1
says format_broken '{"time": [[1, "1.0' '0 passed, 1 failed' 1
says nothing '[]' '0 passed, 1 failed' 1
exit $failed
