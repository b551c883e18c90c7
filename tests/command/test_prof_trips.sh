#!/bin/sh
# Round trips: each trace at hand to each format of prof export and back; its rows and ranks stay.
# ALL: the shared traces, too; else half of the others, by turns.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# Pairs of equal times, an op that no sum has, ranges of two processes, ranges of counters, devices that are named late, names that are odd.
cat >"$out/pairs.json" <<'END'
{"traceEvents": [
{"ph": "B", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 2, "ts": 10},
{"ph": "B", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 2, "ts": 10},
{"ph": "E", "pid": 1, "tid": 2, "ts": 40}, {"ph": "E", "pid": 1, "tid": 2, "ts": 40},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 12, "dur": 30, "args": {"stream": 7, "correlation": 7}},
{"ph": "X", "cat": "xpu_driver", "name": "launch", "pid": 1, "tid": 1, "ts": 5, "dur": 5, "args": {"correlation": 7}},
{"ph": "X", "cat": "cpu_op", "name": "[a|b]", "pid": 1, "tid": 1, "ts": 1, "dur": 3},
{"ph": "X", "cat": "cpu_op", "name": "aten::is_leaf", "pid": 1, "tid": 1, "ts": 2, "dur": 1}, {"ph": "X", "name": "", "pid": 1, "tid": 1, "ts": 5, "dur": 2},
{"ph": "X", "cat": "cuda_profiler_range", "name": "counted", "pid": 0, "tid": 7, "ts": 0, "dur": 100},
{"ph": "b", "cat": "c", "id": 5, "name": "range", "pid": 1, "tid": 2, "ts": 11},
{"ph": "b", "cat": "c", "id": 5, "name": "range", "pid": 2, "tid": 2, "ts": 12},
{"ph": "e", "cat": "c", "id": 5, "name": "range", "pid": 1, "tid": 2, "ts": 13},
{"ph": "e", "cat": "c", "id": 5, "name": "range", "pid": 3, "tid": 2, "ts": 14}]}
END
"$prof" merge -o "$out/merged.json" tests/command/ranks/example_rank0.json tests/command/ranks/example_rank1.json 2>"$out/said"
set -- "$out/pairs.json" "$out/merged.json" tests/command/traces/begin_end.json tests/command/traces/kineto_2026.json
if [ -z "${ALL:-}" ]; then
    if [ $(($(date +%s) % 2)) = 0 ]; then set -- "$1" "$3"; else set -- "$2" "$4"; fi
else
    for file in tests/command/traces/*.json tests/command/ranks/*.json* $(real_traces) ../shared/findings/programs/seeds/*.json ../shared/findings/programs/reports/*/*.json ../shared/findings/programs/reports/*/*.db \
        ../shared/findings/programs/reports/*/*.sqlite ../shared/findings/programs/reports/*/*.pb; do
        # dupleg: what legacy records tell of devices is in no sample of pprof, which export tells (test_prof_legacy)
        case $file in *_et.json* | *memory_timeline* | */dupleg.json | *'*'*) ;; *) ! some 4 || set -- "$@" "$file" ;; esac
    done
fi
python3 tests/command/round_trips.py "$prof" "$out" "$@" | tee "$out/trips"
! grep -q '^not ok' "$out/trips" || failed=1
grep -q '^# csv: [1-9]' "$out/trips" || { echo 'not ok trips: none was made'; failed=1; }
exit $failed
