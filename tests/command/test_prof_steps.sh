#!/bin/sh
# prof steps: distribution, the worst and why, critical paths by hand; bad input.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# ---- Distribution ----

# DURATION...: a step each; RANK
steps_of() {
    python3 - "$@" <<'END'
import json, sys
rank, durations = int(sys.argv[1]), list(map(float, sys.argv[2:]))
events = []
for i, dur in enumerate(durations):
    base = dict(ph="X", pid=1, tid=1, ts=10000 * i, dur=dur)
    events += [dict(base, cat="user_annotation", name=f"ProfilerStep#{i}"),
               dict(base, cat="gpu_user_annotation", name=f"ProfilerStep#{i}", pid=0, tid=7, dur=9999),
               dict(base, cat="kernel", name="ProfilerStep#kernel", pid=0, tid=7, dur=9999)]
    slow = max(dur - 700, 0)
    events += [dict(base, cat="cpu_op", name="load", ts=10000 * i + 1, dur=slow + 100),
               dict(base, cat="cpu_op", name="sum", ts=10000 * i + 1 + slow + 100, dur=200),
               dict(base, cat="kernel", name="gemm", pid=0, tid=7, ts=10000 * i + 5, dur=50 + slow / 2)]
events.reverse()
print(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}))
END
}
steps_of 1 700 701.5 650 690 5000.25 610 620 630 640 660 670 680 >"$out/one.json"
steps_of 0 700 800 >"$out/zero.json"
says steps_json '{"rank": 1, "name": "ProfilerStep#", "count": 12, "min": 610.000, "mean": 1020.979167, "p50": 660.000, "p90": 701.500, "p95": 5000.250, "p99": 5000.250, "max": 5000.250}' \
    0 "$prof" steps -f json "$out/one.json"
says steps_csv '0,ProfilerStep#,2,700.000,750.000000,700.000,800.000,800.000,800.000,800.000' 0 \
    "$prof" steps -f csv "$out/one.json" "$out/zero.json"
in_order() { "$prof" steps -f csv "$@" | cut -d , -f 1 | tr '\n' ' ' | grep -x 'rank 0 1 '; }
try steps_by_rank in_order "$out/one.json" "$out/zero.json"
says steps_name '{"rank": 0, "name": "^su[mn]$", "count": 2, "min": 200.000' 0 \
    "$prof" steps --name '^su[mn]$' -f json "$out/zero.json"
says steps_worst_json '[
 {"rank": 1, "name": "ProfilerStep#4", "ts": 40000.000, "dur": 5000.250},
 {"rank": 0, "name": "ProfilerStep#1", "ts": 10000.000, "dur": 800.000}
]' 0 "$prof" steps --worst 2 -f json "$out/one.json" "$out/zero.json"
says steps_worst_why '      4300.250  cpu         1              1  load' 0 "$prof" steps -w 1 "$out/one.json"
says steps_worst_why_device '      2150.125  device      1              1  gemm' 0 \
    "$prof" steps -w 1 "$out/one.json"
says steps_worst_median 'ProfilerStep#4 of rank 1 (5000.250 us) than in ProfilerStep#9 of rank 1 (660.000 us)' 0 \
    "$prof" steps -w 1 "$out/one.json"
says steps_stdin 'what its steps went to needs a file' 0 sh -c "\"$prof\" steps -w 1 - <'$out/one.json'"

# ---- Critical paths ----

python3 - >"$out/paths.json" <<'END'
import json
events = []
def call(name, ts, end, tid=1, cat="cpu_op", **args):
    events.append(dict(ph="X", cat=cat, name=name, pid=1, tid=tid, ts=ts, dur=end - ts, args=args))
def launch(correlation, ts, end):
    call("cudaLaunchKernel", ts, end, cat="cuda_runtime", correlation=correlation)
def kernel(name, correlation, ts, end, stream=7):
    events.append(dict(ph="X", cat="kernel", name=name, pid=0, tid=stream, ts=ts, dur=end - ts,
                       args=dict(correlation=correlation, stream=stream, device=0)))
# Two kernels behind each other in a stream, and a wait for them
call("ProfilerStep#1", 0, 1000, cat="user_annotation")
call("A", 0, 100)
launch(1, 10, 20)
launch(2, 40, 50)
kernel("k1", 1, 30, 500)
kernel("k2", 2, 510, 700)
call("cudaDeviceSynchronize", 120, 720, cat="cuda_runtime", correlation=9)
call("B", 720, 1000)
# A kernel that waits for another stream's
call("ProfilerStep#2", 2000, 3000, cat="user_annotation")
launch(3, 2010, 2015)
launch(4, 2030, 2035)
kernel("k3", 3, 2020, 2400)
kernel("k4", 4, 2405, 2600, stream=8)
call("cudaStreamSynchronize", 2100, 2610, cat="cuda_runtime", correlation=10)
# Backward, on autograd's thread
call("ProfilerStep#3", 4000, 5000, cat="user_annotation")
call("loss.backward", 4100, 4900)
call("autograd::engine::evaluate_function: MulBackward0", 4200, 4800, tid=2)
call("MulBackward0", 4250, 4750, tid=2)
# All on the CPU: the kernel that is launched ends behind it
call("ProfilerStep#4", 6000, 7000, cat="user_annotation")
launch(5, 6100, 6200)
kernel("k5", 5, 6300, 9000)
events.reverse()
print(json.dumps({"traceEvents": events}))
END
path_is() {   # STEP PART...: "kind name time" of all of its path
    step=$1
    shift
    printf '%s\n' "$@" | sort >"$out/want"
    "$prof" steps --critical --worst all -f csv "$out/paths.json" |
        awk -F , -v step="ProfilerStep#$step" '$2 == step {print $3, $4, $5}' | sort >"$out/got"
    diff "$out/want" "$out/got"
}
try steps_path_wait path_is 1 'cpu B 280.000' 'wait cudaDeviceSynchronize 20.000' 'device k2 190.000' \
    'queue k2 10.000' 'device k1 470.000' 'launch k1 20.000' 'cpu A 10.000'
try steps_path_streams path_is 2 'cpu ProfilerStep* 400.000' 'wait cudaStreamSynchronize 10.000' \
    'device k4 195.000' 'queue k4 5.000' 'device k3 380.000' 'launch k3 10.000'
try steps_path_backward path_is 3 'cpu ProfilerStep* 200.000' 'cpu loss.backward 200.000' \
    'cpu autograd::engine::evaluate_function: MulBackward0 100.000' 'cpu MulBackward0 500.000'
try steps_path_cpu path_is 4 'cpu ProfilerStep* 900.000' 'cpu cudaLaunchKernel 100.000'
says steps_path_text 'Critical path of ProfilerStep#1 of rank 0 (1000.000 us): cpu 29.0 %, device 66.0 %, launch 2.0 %, queue 1.0 %, wait 2.0 %' \
    0 "$prof" steps --critical -w 4 "$out/paths.json"
says steps_path_heads 'Time (us)  Share %  Count' 0 "$prof" steps --critical -w 4 "$out/paths.json"
path_sums() {   # TRACE: to the nanosecond what the steps last
    "$prof" steps --name . --critical -w 200 -n all -f json -o "$out/path.json" "$1" 2>/dev/null &&
        "$prof" steps --name . -w 200 -f json -o "$out/steps.json" "$1" 2>/dev/null &&
        python3 - "$out/path.json" "$out/steps.json" <<'END'
import decimal, json, sys
paths, steps = (json.load(open(name), parse_float=decimal.Decimal) for name in sys.argv[1:])
have, want = sum(row["time_us"] for row in paths), sum(step["dur"] for step in steps)
assert have == want and steps, f"{have}, not {want}"
END
}
for file in tests/command/traces/kineto_*.json $(real_traces); do
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_* | triton_one*) continue ;; esac
    try "steps_path_sums_${label%%.*}" path_sums "$file"
done

# ---- Bad input ----

echo '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":1,"dur":2}]}' >"$out/none.json"
says steps_none 'there is no ProfilerStep# in it' 0 "$prof" steps "$out/none.json"
says steps_no_name 'no call in it has a name like that' 0 "$prof" steps --name y "$out/none.json"
says steps_regex 'is not an extended regular expression' 2 "$prof" steps --name '(' "$out/none.json"
says steps_missing 'No such file' 2 "$prof" steps "$out/nowhere.json"
says steps_missing_rest '0,ProfilerStep#,2' 2 "$prof" steps -f csv "$out/nowhere.json" "$out/zero.json"
says steps_no_files 'usage: prof steps' 2 "$prof" steps
says steps_html 'it takes text|csv|json' 2 "$prof" steps -f html "$out/none.json"
exit $failed
