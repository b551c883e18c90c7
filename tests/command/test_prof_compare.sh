#!/bin/sh
# prof analyze, diff and augment.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh
reading='diff_p gate counted'

now=tests/command/traces/kineto_2026.json
april=tests/command/traces/kineto_2024.json

cell() {   # ROW COLUMN COMMAND...: that cell of a JSON table, by the row's kernel name or name
    row=$1 column=$2
    shift 2
    "$prof" "$@" --format json 2>/dev/null | grep -F "Name\": \"$row\"" |
        sed "s|.*\"$column\": ||; s|, \"[^\"]*\": .*||; s|}.*||; s|^\"\(.*\)\"\$|\1|
             s|\(\.[0-9]*[1-9]\)0*\$|\1|; s|\.0*\$|.0|"
}

gives() {   # NAME EXPECTED ROW COLUMN COMMAND...
    label=$1 expected=$2
    shift 2
    got=$(cell "$@")
    if [ "$got" = "$expected" ]; then echo "ok $label"; return; fi
    failed=1
    echo "not ok $label: $got, not $expected"
}

trace() {   # OP KERNEL KERNEL-ARGS OP-ARGS: one op that launched one kernel of 10 us, on an H100
    cat <<END
{"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}],
 "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "$1", "pid": 1, "tid": 1, "ts": 0, "dur": 5,
   "args": {"External id": 1, $4}},
  {"ph": "X", "cat": "kernel", "name": "$2", "pid": 0, "tid": 7, "ts": 20, "dur": 10,
   "args": {"External id": 1, "device": 0, "correlation": 9 $3}}]}
END
}

# shellcheck disable=SC2317   # try calls it
analyzes_alike() {   # TRACE
    "$prof" analyze --format json --name-limit all -o "$out/kernels.json" "$1" &&
        PYTHONDONTWRITEBYTECODE=1 python3 tests/command/read_kernels.py "$1" "$out/kernels.json"
}

# ---- analyze ----

for file in tests/command/traces/kineto_*.json; do
    try "analyze_$(basename "$file" .json)" analyzes_alike "$file"
done

# 2 x 1 x 112 x 112 x 7 x 7 x 3 x 64 in 100 us, which PyTorch's script gives as 223552896
conv=sm80_xmma_fprop_implicit_gemm_tf32f32_f32
gives analyze_convolution 2.3603 "$conv" 'TFLOP/s' analyze --name-limit all "$now"
gives analyze_convolution_bytes 38.5101 "$conv" 'GB/s' analyze --name-limit all "$now"
gives analyze_tf32 tf32 "$conv" Type analyze --name-limit all "$now"
gives analyze_share 0.4773 "$conv" 'of peak FLOP/s %' analyze --name-limit all "$now"
# 2 x 128 x 64 x 256 in 40.128 us; (256 + 128 x 64 + 64 x 256 + 128 x 256) x 2 bytes
addmm=sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n
gives analyze_addmm 0.1045 "$addmm" 'TFLOP/s' analyze --name-limit all "$now"
gives analyze_addmm_bytes 2.8708 "$addmm" 'GB/s' analyze --name-limit all "$now"
gives analyze_name_limit "$(cell sm80_xm Count analyze --name-limit 7 "$now")" sm80_xm Count \
    analyze --name-limit 7 "$now"
gives analyze_total 3 Total Count analyze "$now"
gives analyze_unowned 1 "$(printf 'caf\303\251 "quoted" \\ kernel\n<lambda>')" Count \
    analyze --name-limit all "$now"
gives analyze_device_peak 50.0008 "$addmm" 'of peak FLOP/s %' \
    analyze --name-limit all --device-peak bf16=0.209043 "$now"
gives analyze_device 0.0335 "$addmm" 'of peak FLOP/s %' \
    analyze --name-limit all --device A100 "$now"

mm='"Input Dims": [[100, 200], [200, 300]], "Input type": ["float", "float"]'
trace aten::mm gemm '' "$mm" >"$out/mm.json"
gives analyze_mm 1.2 gemm 'TFLOP/s' analyze "$out/mm.json"               # 12e6 FLOP in 10 us
gives analyze_mm_bytes 44.0 gemm 'GB/s' analyze "$out/mm.json"           # 110,000 x 4 bytes
gives analyze_intensity 27.2727 gemm FLOP/byte analyze --device H100 "$out/mm.json"    # 12e6 / 440e3
gives analyze_bound_compute compute gemm 'Bound by' analyze --device H100 "$out/mm.json"   # roof at 20
gives analyze_bound_memory memory gemm 'Bound by' analyze --device-peak fp32=100,gb=3350 "$out/mm.json"
trace aten::mm nchwToNhwcKernel '' "$mm" >"$out/layout.json"
gives analyze_bound_layout memory nchwToNhwcKernel 'Bound by' analyze --device H100 "$out/layout.json"
trace aten::relu softmax_forward '' "$mm" >"$out/dark.json"
gives analyze_bound_unknown null softmax_forward 'Bound by' analyze "$out/dark.json"
for device in B200 GB200 MI350X L40S 'RTX 5090' 'RTX 5080' 'RTX 5070 Ti' 'RTX 5070' 'RTX 5060 Ti'; do
    label=$(echo "$device" | tr ' ' _)
    gives "analyze_bound_$label" compute gemm 'Bound by' analyze --device "$device" --device-peak gb=1e6 \
        --device-peak fp32=1 "$out/mm.json"
done
says analyze_laptop 'fp32 57 ' 0 "$prof" analyze --device 'NVIDIA GeForce RTX 5090 Laptop GPU' "$out/mm.json"
says analyze_super 'fp32 43.9 ' 0 "$prof" analyze --device 'NVIDIA GeForce RTX 5070 Ti' "$out/mm.json"
trace aten::add vectorized_elementwise_kernel '' "$mm" >"$out/light.json"
gives analyze_bound_light memory vectorized_elementwise_kernel 'Bound by' analyze --device H100 \
    "$out/light.json"
trace aten::mm gemm ', "kernel_flop": 5e6, "kernel_num_gb": 0.0001' "$mm" >"$out/own.json"
gives analyze_own_flop 0.5 gemm 'TFLOP/s' analyze "$out/own.json"
gives analyze_own_gb 10.0 gemm 'GB/s' analyze "$out/own.json"
trace aten::mm gemm ', "kernel_flop": 0' "$mm" >"$out/zero.json"
gives analyze_own_zero 1.2 gemm 'TFLOP/s' analyze "$out/zero.json"
# An op tells its own amounts: prof_set, an adapter of one's own, another tool.
trace my::op k '' '"Flops": 5000000' >"$out/flops.json"
gives analyze_op_flops 0.5 k 'TFLOP/s' analyze "$out/flops.json"
trace my::op k '' '"kernel_flop": 5000000, "kernel_num_gb": 0.001, "Input Dims": []' >"$out/op_own.json"
gives analyze_op_flop 0.5 k 'TFLOP/s' analyze "$out/op_own.json"
gives analyze_op_gb 100.0 k 'GB/s' analyze "$out/op_own.json"
trace aten::mm gemm '' "$mm, \"Flops\": 5000000" >"$out/both.json"
gives analyze_op_flops_before_shapes 0.5 gemm 'TFLOP/s' analyze "$out/both.json"
gives analyze_op_flops_keep_bytes 44.0 gemm 'GB/s' analyze "$out/both.json"
trace my::op k ', "Flops": 7000000' "$mm" >"$out/kernel_flops.json"
gives analyze_kernel_flops 0.7 k 'TFLOP/s' analyze "$out/kernel_flops.json"
"$prof" augment "$out/flops.json" "$out/flops_augmented.json"
says augment_op_flops '"kernel_flop": 5000000' 0 cat "$out/flops_augmented.json"
# The memory that a name speaks of, or that the trace tells, says which of two models it is.
for device in A100-SXM4-80GB A100-80GB A800-SXM4-80GB; do
    says "analyze_peak_$device" '; 2039 GB/s' 0 "$prof" analyze --device $device "$out/mm.json"
done
says analyze_peak_40GB '; 1555 GB/s' 0 "$prof" analyze --device A100-SXM4-40GB "$out/mm.json"
for device in B300 GB300 H20 H20-3e H800 A800 MI308X L20 'NVIDIA RTX PRO 6000 Blackwell Server Edition' \
    'RTX PRO 6000 Blackwell Max-Q Workstation Edition' 'NVIDIA RTX 6000 Ada Generation'; do
    says "analyze_knows_$(echo "$device" | tr ' ' _)" 'dense peak TFLOP/s' 0 \
        "$prof" analyze --device "$device" "$out/mm.json"
done
trace my::op triton_mm_3 '' "$mm" >"$out/name.json"
gives analyze_by_kernel_name 1.2 triton_mm_3 'TFLOP/s' analyze "$out/name.json"
trace my::op convert_kernel '' "$mm" >"$out/convert.json"
gives analyze_convert_is_no_conv null convert_kernel 'TFLOP/s' analyze "$out/convert.json"
trace aten::baddbmm k '' '"Input Dims": [[2, 10, 30], [2, 10, 20], [2, 20, 30]],
    "Input type": ["c10::Half", "c10::Half", "c10::Half"]' >"$out/baddbmm.json"
gives analyze_baddbmm 0.0024 k 'TFLOP/s' analyze "$out/baddbmm.json"
gives analyze_baddbmm_bytes 0.56 k 'GB/s' analyze "$out/baddbmm.json"    # 2,800 x 2 bytes
trace aten::_foreach_add_ k '' '"Input Dims": [[[10, 10], [20]], [[10, 10], [20]], []],
    "Input type": ["TensorList", "TensorList", "Scalar"]' >"$out/lists.json"
gives analyze_tensor_lists 0.096 k 'GB/s' analyze "$out/lists.json"      # (120 + 120) x 4 bytes
trace aten::mm gemm '' '"Input Dims": [[100, 200], [200, 300]]' >"$out/untyped.json"
gives analyze_no_type null gemm 'of peak FLOP/s %' analyze "$out/untyped.json"
gives analyze_dtype 1.791 gemm 'of peak FLOP/s %' analyze --dtype float32 "$out/untyped.json"
for shapes in '[[2, 3], [4, 5]]' '[[-1, 3], [3, 5]]' '[]' '5' '"text"' '[[9223372036854775807, 2], [2, 3]]' \
    '[[1e30, 2], [2, 1]]' '[[[[[2]]]], [1]]'; do
    trace aten::mm gemm '' "\"Input Dims\": $shapes, \"Input type\": [\"float\"]" >"$out/odd.json"
    gives "analyze_odd_shapes_$(echo "$shapes" | tr -cd '0-9a-z')" 1 gemm Count analyze "$out/odd.json"
done
says analyze_bad_dtype "there is no type 'x'" 2 "$prof" analyze --dtype x "$now"
says analyze_bad_peak "'x=1' is not TYPE=TFLOP/s" 2 "$prof" analyze --device-peak x=1 "$now"
says analyze_bad_device "nothing is known of 'X1'" 2 "$prof" analyze --device X1 "$now"
says analyze_no_kernels 'there are no kernels in it' 0 "$prof" analyze tests/command/traces/legacy_array.json
says analyze_unknown_device 'peaks unknown' 0 "$prof" analyze tests/command/traces/kineto_2021.json

# ---- diff ----

gives diff_change 0.0 aten::addmm 'Change (ms)' diff "$now" "$now"
gives diff_new new aten::addmm Note diff "$april" "$now"
gives diff_gone gone aten::bmm Note diff "$april" "$now"
gives diff_total 0.226784 'Total of devices' 'Change (ms)' diff "$april" "$now"
says diff_total_of_a_part 'Total of devices, these rows' 0 "$prof" diff --name gemm "$april" "$now"
try diff_total_of_all sh -c "! '$prof' diff '$april' '$now' | grep 'these rows'"
gives diff_names 3 'Total of devices' 'new count' diff --names old,new "$april" "$now"
gives diff_devices new 'Total of device 0 NVIDIA H100 80GB HBM3' Note \
    diff tests/command/traces/legacy_array.json "$now"
gives diff_kernels '' aten::addmm Note diff --kernels "$april" "$now"
says diff_same_passes 'Total' 0 "$prof" diff --threshold 5 "$now" "$now"
says diff_slower_fails 'slower' 1 "$prof" diff --threshold 5 "$april" "$now"
sed 's/"dur":40.128/"dur":44.000/' "$now" >"$out/slower.json"
says diff_one_slower 'slower' 1 "$prof" diff --threshold 5 "$now" "$out/slower.json"
says diff_one_slower_passes 'Total' 0 "$prof" diff --threshold 10 "$now" "$out/slower.json"
says diff_faster_passes 'Total' 0 "$prof" diff --threshold 5 "$out/slower.json" "$now"
# Ten calls: two of them, of the same total, take 50 % longer at their p95 and max, one at its p50.
calls() { python3 -c '
import json, sys
durations = {"steady": sys.argv[1].split(), "other": [900] * 100}
events = [dict(ph="X", cat="cpu_op", name=name, pid=1, tid=1, ts=1000 * i + 200000 * (name == "other"), dur=float(dur))
          for name, list in durations.items() for i, dur in enumerate(list)]
print(json.dumps(dict(traceEvents=events)))' "$1"; }
calls '100 100 100 100 100 100 100 100 200 400' >"$out/p_before.json"
calls '80 80 80 80 80 80 100 100 220 600' >"$out/p_after.json"
# shellcheck disable=SC2317   # says calls it
diff_p() { "$prof" diff -f csv "$@" "$out/p_before.json" "$out/p_after.json"; }
says diff_metric_p95 'steady,cpu,10,10,0.400000,0.600000,0.200000,50.00,' 0 diff_p --metric p95
says diff_metric_p90 'steady,cpu,10,10,0.200000,0.220000,0.020000,10.00,' 0 diff_p --metric p90
says diff_metric_p50 'steady,cpu,10,10,0.100000,0.080000,-0.020000,-20.00,' 0 diff_p --metric p50
says diff_metric_max 'steady,cpu,10,10,0.400000,0.600000' 0 diff_p --metric max
says diff_metric_avg 'steady,cpu,10,10,0.140000,0.150000' 0 diff_p --metric avg
says diff_metric_total 'steady,cpu,10,10,1.400000,1.500000' 0 diff_p
says diff_metric_threshold ',50.00,slower (p95)' 1 diff_p --metric p95 --threshold 20
says diff_metric_threshold_passes 'steady' 0 diff_p --metric p95 --threshold 50
says diff_metric_thresholds 'slower (p95)' 1 diff_p --threshold total=20,p95=20
says diff_metric_thresholds_pass 'steady' 0 diff_p --threshold total=20,p50=1,p95=50,avg=10

# ---- a gate, several runs a side, Markdown ----

for run in 1 2 3; do
    for side in a b; do
        python3 - $run $side >"$out/gate_$side$run.json" <<'END'
import json, random, sys
run, side = int(sys.argv[1]), sys.argv[2]
rng, events, at = random.Random(f"{side}{run}"), [], 0.0
spike = 1.5 if side == "b" and run == 2 else 1          # of one run alone: no median has it
for i in range(20):
    for name, dur in (("decode <T> | x`y", 120 if side == "b" else 100), ("sync", 50), ("steady @you", 200 * spike)):
        dur *= rng.uniform(0.95, 1.05)
        events.append(dict(ph="X", cat="cpu_op", name=name, pid=1, tid=1, ts=round(at, 3), dur=round(dur, 3)))
        at += dur + 1
print(json.dumps({"traceEvents": events}))
END
    done
done
# shellcheck disable=SC2317   # says calls it
gate() {   # LINES OPTION...
    printf '%s\n' "$1" >"$out/gate.txt"
    shift
    "$prof" diff --gate "$out/gate.txt" "$@" "$out"/gate_a?.json vs "$out"/gate_b?.json
}
tells diff_gate_of_all ',slower' 1 gate 'total 5% *' -f csv
cp "$out/said" "$out/told"
try diff_gate_names_one test "$(grep -c ',slower' "$out/told")" = 1
try diff_gate_median_has_no_spike sh -c "! grep -q 'steady.*slower' '$out/told'"
says diff_gate_noise ',noise' 0 gate 'total 0% sync' -f csv
says diff_gate_by_name 'nothing is beyond its limit' 0 gate "$(printf 'total 30%% *\ncalls 0%% sync\n# ...\n')" -f markdown
says diff_gate_name_is_stronger 'slower (avg)' 1 gate "$(printf 'avg 1%% decode <T> | x`y\navg 50%% *')"
says diff_gate_name_excepts Medians 0 gate "$(printf 'avg 50%% decode <T> | x`y\navg 15%% *')"
says diff_gate_budget 'slower (max)' 1 gate 'max 110us decode <T> | x`y'
says diff_gate_budget_kept Medians 0 gate 'max 140us decode <T> | x`y'
says diff_gate_calls 'more (calls)' 1 gate 'calls 19 sync'
says diff_gate_total 'Total of self CPU times' 1 gate 'total 7ms Total of self CPU times'
tells diff_markdown '### prof diff: 1 row is beyond its limit' 1 gate 'avg 10% *' -f markdown
cp "$out/said" "$out/told"
# shellcheck disable=SC2016   # backticks of Markdown
try diff_markdown_name_is_code grep -qF '| `` decode <T> \| x`y `` | cpu |' "$out/told"
# shellcheck disable=SC2016
try diff_markdown_other_name grep -qF '| `steady @you` |' "$out/told"
says diff_gate_unknown_name "gate.txt: line 2: no row of any trace has the name 'nothing'" 2 gate "$(printf '#\ntotal 5%% nothing')"
says diff_gate_unknown_metric "gate.txt: line 2: 'foo' is none of total" 2 gate "$(printf 'total 5%% *\nfoo 5%% *\nfoo 6%% sync')"
says diff_gate_short 'gate.txt: line 2: it takes METRIC LIMIT NAME' 2 gate "$(printf '#\ntotal 5%%')"
says diff_gate_no_limit "line 1: '5' is not a limit of total" 2 gate 'total 5 *'
says diff_gate_empty 'gate.txt: there is no limit in it' 2 gate '# total 5% *'
says diff_gate_endless "line 1: '1e400%' is not a limit of total" 2 gate 'total 1e400% *'
printf '\0\ntotal 5%% *\n' >"$out/zero.txt"
says diff_gate_no_text 'line 1: it is not a line of text' 2 "$prof" diff --gate "$out/zero.txt" "$now" "$now"
says diff_gate_regex_is_a_name "no row of any trace has the name '.*'" 2 gate 'total 5% .*'
says diff_threshold_endless "it takes PERCENT or METRIC=PERCENT, not 'inf'" 2 diff_p --threshold inf
says diff_min_share_no_number "it takes a number, not 'nan'" 2 diff_p --threshold 5 --min-share nan
says diff_names_alike 'takes two names' 2 diff_p --names a,a
says diff_gate_no_file 'No such file' 2 "$prof" diff --gate "$out/none.txt" "$now" "$now"
says diff_runs_one_side 'several a side: A1 A2 vs B1 B2' 2 "$prof" diff "$now" vs
says diff_three 'several a side' 2 "$prof" diff "$now" "$now" "$now"
says diff_runs_page 'takes one trace per side' 2 "$prof" diff -f html "$now" "$now" vs "$now"
says diff_metric_calls '"B calls": 20' 0 "$prof" diff -f json --metric calls "$out/gate_a1.json" "$out/gate_b1.json"

says diff_metric_unknown 'none of total, avg, p50' 2 diff_p --metric p42
says diff_metric_threshold_unknown "'p42' is none of total" 2 diff_p --threshold p42=5
# Counters are metrics, too: what a row has counted itself.
for side in 5 8; do
    cat >"$out/counted_$side.json" <<END
{"prof": {"counters": ["cycles", "points"]}, "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "frame", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"cycles": 7, "points": $side}},
 {"ph": "X", "cat": "cpu_op", "name": "draw", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {"cycles": 3, "points": $side}}]}
END
done
# shellcheck disable=SC2317   # says calls it
counted() { "$prof" diff "$@" "$out/counted_5.json" "$out/counted_8.json"; }
gives diff_counter 8 draw 'B points' diff --metric points "$out/counted_5.json" "$out/counted_8.json"
gives diff_counter_change 3 draw Change diff --metric points "$out/counted_5.json" "$out/counted_8.json"
says diff_counter_threshold 'more (points)' 1 counted --threshold points=50
says diff_counter_threshold_kept 'draw' 0 counted --threshold points=70
says diff_counter_page 'the page is of times' 2 counted --metric points -f html
says diff_metric_threshold_number "not 'p95=x'" 2 diff_p --threshold p95=x
tells diff_swapped "byte 434: recorded 62883054 s after $april: are the two swapped?" 2 \
    "$prof" diff "$now" "$april"
try diff_swapped_in_a_line test "$(wc -l <"$out/said")" = 1
says diff_any_order 'Total of devices' 0 "$prof" diff --any-order "$now" "$april"
says diff_two_devices 'Total of device 0 Tesla V100-SXM2-32GB -> NVIDIA H100 80GB HBM3' 0 \
    "$prof" diff "$april" "$now"
conv=sm80_xmma_fprop_implicit_gemm_tf32f32_f32
gives diff_rates 2.3603 $conv 'new TFLOP/s' diff --rates --names old,new "$april" "$now"
gives diff_rates_bytes 38.5101 $conv 'B GB/s' diff --rates "$april" "$now"
gives diff_rates_share 0.4773 $conv 'B of peak FLOP/s %' diff --rates "$april" "$now"
gives diff_rates_gone null $conv 'A TFLOP/s' diff --rates "$april" "$now"
gives diff_rates_total 1.7143 'Total of devices' 'B TFLOP/s' diff --rates "$april" "$now"
try diff_rates_of_kernels sh -c "! '$prof' diff --rates '$april' '$now' | grep -q aten::"
says diff_rates_of_ops 'is of kernels' 2 "$prof" diff --rates --ops "$april" "$now"
cat >"$out/odd_ids.json" <<'END'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 9, "args": {"External id": 1}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 5, "args": {"External id": 1}},
{"ph": "X", "cat": "kernel", "name": "none", "pid": 0, "tid": 7, "ts": 20, "dur": 5}]}
END
says analyze_twice '1 ops have the External id of an earlier one' 0 "$prof" analyze "$out/odd_ids.json"
says augment_bare '1 kernels have no arguments' 0 "$prof" augment "$out/odd_ids.json" "$out/odd_out.json"
says diff_one_file 'usage: prof diff' 2 "$prof" diff "$now"
says diff_bad_names 'takes two names' 2 "$prof" diff --names a "$now" "$now"
says diff_missing 'No such file' 2 "$prof" diff "$now" "$out/none.json"

# A convolution's kernels share its work by their time: none is as fast as if it were its own.
cat >"$out/conv.json" <<'JSON'
{"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"External id": 1, "Input Dims": [[100, 200], [200, 300]], "Input type": ["float", "float"]}},
{"ph": "X", "cat": "kernel", "name": "nchwToNhwc", "pid": 0, "tid": 7, "ts": 10, "dur": 1, "args": {"External id": 1, "correlation": 5, "device": 0}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 9, "args": {"External id": 1, "correlation": 6, "device": 0}}]}
JSON
for kernel in gemm nchwToNhwc Total; do     # 12e6 FLOP in 10 us
    gives "analyze_shared_$kernel" 1.2 $kernel 'TFLOP/s' analyze "$out/conv.json"
    gives "analyze_shared_bytes_$kernel" 44.0 $kernel 'GB/s' analyze "$out/conv.json"
done

# ---- augment ----

for file in tests/command/traces/kineto_*.json tests/command/traces/legacy_array.json; do
    label=$(basename "$file" .json)
    "$prof" augment "$file" "$out/$label.json"
    try "augment_$label" python3 tests/command/augmented.py "$file" "$out/$label.json"
done
says augment_count 4 0 python3 tests/command/augmented.py "$now" "$out/kineto_2026.json"
says augment_flop '"kernel_flop": 236027904' 0 grep -F '"kernel_flop": 236027904' "$out/kineto_2026.json"
"$prof" augment "$out/own.json" "$out/own_augmented.json"
says augment_keeps '"kernel_flop": 5e6' 0 cat "$out/own_augmented.json"
"$prof" augment "$out/zero.json" "$out/zero_augmented.json"
says augment_mends_zero '"kernel_flop": 12000000' 0 grep zero -v "$out/zero_augmented.json"
"$prof" augment "$out/kineto_2026.json" "$out/twice.json"
try augment_twice cmp "$out/kineto_2026.json" "$out/twice.json"
head -c 3000 "$now" >"$out/cut.json"
says augment_cut 'the file ends early' 1 "$prof" augment "$out/cut.json" "$out/cut_augmented.json"
try augment_cut_is_json is_json "$out/cut_augmented.json"
"$prof" augment "$now" "$out/packed.json.gz"
try augment_gzip python3 tests/command/augmented.py "$now" "$out/packed.json.gz"
says augment_stdin 'it must be a file' 2 "$prof" augment - "$out/none.json"
rm -f "$out/bad.json"
says augment_bad_input 'is a directory' 2 "$prof" augment tests "$out/bad.json"
try augment_bad_leaves_nothing test ! -e "$out/bad.json"

# ---- Real traces: no crash, every byte kept ----

if [ -n "$(real_traces)" ]; then
    for file in $(real_traces); do
        label=$(basename "$file" .gz)
        label=${label%%.*}
        case $label in memory_timeline | *_et | *_et_1) continue ;; esac
        try "analyze_real_$label" analyzes_alike "$file"
        try "diff_real_$label" "$prof" diff --threshold 0 "$file" "$file"
        "$prof" augment "$file" "$out/real.json" 2>/dev/null
        try "augment_real_$label" python3 tests/command/augmented.py "$file" "$out/real.json"
    done
else
    echo 'skip analyze_real: ../shared/traces is not there'
fi

# ---- The page of diff: the rows of its JSON ----

# shellcheck disable=SC2317   # try calls it
same_rows() {
    "$prof" diff -n all -f json --any-order --names old,new "$april" "$now" >"$out/rows.json" &&
        "$prof" diff -f html --any-order --names old,new -o "$out/diff.html" "$april" "$now" &&
        python3 - "$out" <<'END'
import json, re, sys
page = open(sys.argv[1] + "/diff.html", encoding="utf-8").read()
data = json.loads(re.search(r'id="data">\n(.*?)</script>', page, re.S).group(1))
rows = [row for row in json.load(open(sys.argv[1] + "/rows.json"))
        if not row["Name"].startswith("Total of ")]
assert data["compare"] == ["old", "new", "total"] and len(data["timeline"]["files"]) == 2
assert len(rows) == len(data["rows"]) > 5
for row, shown in zip(rows, data["rows"]):
    assert shown[0].startswith(row["Name"]) and shown[1] == (row["On"] == "device"), shown
    assert [shown[2] or None, shown[3] or None] == [row["old count"], row["new count"]], shown
    assert abs(shown[5] - shown[4] - 1000 * row["Change (ms)"]) < 0.002, shown
END
}
try diff_page same_rows
"$prof" diff -f html --any-order --threshold 1 -o "$out/diff.html" "$now" "$now"
try diff_page_gate [ $? = 0 ]
says diff_page_slower '' 1 "$prof" diff -f html --any-order --threshold 1 -o "$out/slow.html" "$april" "$now"
says diff_format 'it takes text|csv|json|html' 2 "$prof" diff -f x "$now" "$now"
exit $failed
