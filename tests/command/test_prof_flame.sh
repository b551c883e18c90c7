#!/bin/sh
# prof stacks and prof flamegraph: against an independent reading, and in a browser.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

stacks_alike() {   # NAME TRACE
    "$prof" stacks -o "$out/$1.folded" "$2" &&
        python3 tests/command/read_more.py stacks "$2" "$out/$1.folded"
}

draws() {   # NAME FLAMEGRAPH-OPTION...
    svg=$out/$1.svg
    shift
    "$prof" flamegraph -o "$svg" "$@" && python3 tests/command/read_more.py svg "$svg"
}

# What the page's script says after zooming and searching.
clicks() {   # SVG
    {
        echo '<!DOCTYPE html><meta charset="utf-8"><body>'
        sed 1d "$1"
        echo '<script>var shown = function () { return document.querySelectorAll(
            ".f:not([style*=none])").length; }, all = shown();
            flamegraph.find("addmm"); flamegraph.zoom(3);
            document.title = all + " shown, then " + shown() + "; " +
                document.getElementById("found").textContent;</script>'
    } >"$1.html"
    dom "$1.html"
}

now=tests/command/traces/kineto_2026.json
for file in tests/command/traces/kineto_*.json tests/command/traces/legacy_array.json; do
    label=$(basename "$file" .json)
    try "stacks_$label" stacks_alike "$label" "$file"
done
for file in tests/command/traces/kineto_*.json; do
    label=$(basename "$file" .json)
    try "flamegraph_$label" draws "$label" "$file"
done
if [ -n "$(real_traces)" ]; then
    for file in $(real_traces); do
        label=$(basename "$file" .gz)
        case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
        try "stacks_real_${label%%.*}" stacks_alike real "$file"
        try "flamegraph_real_${label%%.*}" draws real -m self_cuda_time_total "$file"
    done
else
    echo 'skip stacks_real: ../shared/traces is not there'
fi
says stacks_kernels 'ProfilerStep*;aten::convolution;sm80_xmma_fprop_implicit_gemm_' 0 \
    "$prof" stacks -m self_cuda_time_total --no-python "$now"
says stacks_no_kernels 'aten::addmm 40' 0 \
    "$prof" stacks -m self_cuda_time_total --no-kernels "$now"
says stacks_frames 'train.py(12):_step;nn.Module:_Linear_0 1' 0 "$prof" stacks --frames-only "$now"
says stacks_threads 'process 4242 thread 4242' 0 \
    "$prof" flamegraph --threads tests/command/traces/kineto_2026.json
# PyTorch's with_stack and verbose: Python functions, and ops that tell them, too; on the backward's
# thread they alone do. record_function begins in __enter__ and ends in __exit__, as it has to.
cat >"$out/python.json" <<'JSON'
{"with_stack":1, "traceEvents":[
{"ph":"X","cat":"python_function","name":"a.py(1): main","pid":1,"tid":1,"ts":0,"dur":90},
{"ph":"X","cat":"python_function","name":"a.py(5): f","pid":1,"tid":1,"ts":5,"dur":80,"args":{"Call stack":"a.py(1): main"}},
{"ph":"X","cat":"python_function","name":"p.py(8): __enter__","pid":1,"tid":1,"ts":10,"dur":10,"args":{"Call stack":"a.py(5): f;a.py(1): main"}},
{"ph":"X","cat":"user_annotation","name":"mark","pid":1,"tid":1,"ts":15,"dur":50,"args":{"Call stack":"p.py(8): __enter__;a.py(5): f;a.py(1): main"}},
{"ph":"X","cat":"cpu_op","name":"aten::to","pid":1,"tid":1,"ts":30,"dur":20,"args":{"Call stack":"a.py(5): f;a.py(1): main"}},
{"ph":"X","cat":"python_function","name":"p.py(9): __exit__","pid":1,"tid":1,"ts":60,"dur":10,"args":{"Call stack":"a.py(5): f;a.py(1): main"}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":30,"dur":20,"args":{"Call stack":"a.py(5): f;a.py(1): main"}}]}
JSON
"$prof" stacks "$out/python.json" >"$out/python.folded" 2>"$out/python.said"
printf '%s\n' 'a.py(1):_main 10' 'a.py(1):_main;a.py(5):_f 10' 'a.py(1):_main;a.py(5):_f;p.py(8):___enter__ 10' \
    'a.py(1):_main;a.py(5):_f;mark 30' 'a.py(1):_main;a.py(5):_f;mark;aten::to 20' \
    'a.py(1):_main;a.py(5):_f;p.py(9):___exit__ 10' 'a.py(1):_main;a.py(5):_f;aten::mm 20' | sort >"$out/python.right"
sort -o "$out/python.folded" "$out/python.folded"
try stacks_python_once cmp "$out/python.folded" "$out/python.right"
try stacks_annotation_no_overlap test ! -s "$out/python.said"
# prof.h's with_stack: the stacks tell of zones, which are there, and of native frames between them.
cat >"$out/zones.json" <<'JSON'
{"prof":{"version":"0.2.0"}, "with_stack":1, "traceEvents":[
{"ph":"X","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":0,"dur":30,"args":{"Call stack":"a.c(7): outer"}},
{"ph":"X","cat":"cpu_op","name":"in","pid":1,"tid":1,"ts":5,"dur":10,"args":{"Call stack":"a.c(6): inner;a.c(7): outer"}}]}
JSON
says stacks_of_zones 'outer 20
outer;in 10' 0 "$prof" stacks "$out/zones.json"
try stacks_of_zones_once test "$("$prof" stacks "$out/zones.json" | wc -l)" = 2
cat >"$out/native.json" <<'JSON'
{"prof":{"version":"0.2.0"}, "with_stack":1, "traceEvents":[
{"ph":"X","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":0,"dur":30,"args":{"Call stack":"p(0x10): outer;p(0x20): main;libc.so(0x9): ??"}},
{"ph":"X","cat":"cpu_op","name":"in","pid":1,"tid":1,"ts":5,"dur":10,"args":{"Call stack":"p(0x30): f;p(0x40): middle;p(0x14): outer;p(0x20): main;libc.so(0x9): ??"}},
{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":20,"dur":5,"args":{"Call stack":"p(0x18): outer;p(0x20): main;libc.so(0x9): ??"}}]}
JSON
"$prof" stacks "$out/native.json" | sort >"$out/native.folded"
printf '%s\n' 'libc.so(0x9):_??;main;outer 15' 'libc.so(0x9):_??;main;outer;b 5' \
    'libc.so(0x9):_??;main;outer;middle;f;in 10' | sort >"$out/native.right"
try stacks_native cmp "$out/native.folded" "$out/native.right"
# Overhead lies in the op around it; in traces of prof.h, an array too, beside it.
printf '[{"ph":"M","name":"%s","pid":1,"tid":1,"ts":0,"args":{"version":"1"}},
{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":0,"dur":10},
{"ph":"X","cat":"overhead","name":"flush","pid":-1,"tid":0,"ts":2,"dur":3}]' other >"$out/overhead.json"
sed 's/"other"/"prof"/' "$out/overhead.json" >"$out/overhead.ours.json"
says stacks_overhead 'op 7
op;flush 3' 0 "$prof" stacks "$out/overhead.json"
says stacks_overhead_ours 'op 10
flush 3' 0 "$prof" stacks "$out/overhead.ours.json"
says stacks_metric 'is neither self_cpu_time_total nor' 2 "$prof" stacks -m count "$now"
says stacks_help 'usage: prof stacks' 0 "$prof" stacks --help
says stacks_none 'usage: prof stacks' 2 "$prof" stacks
printf 'a;b 10\na;b;c 6\na;d 4\n' >"$out/one.folded"
printf 'a;b 12\na;b;c 6\na;e 3\n' >"$out/two.folded"
says stacks_folded 'a;b;c 12' 0 "$prof" stacks "$out/one.folded" "$out/two.folded"
says stacks_folded_stdin 'a;b 10' 0 "$prof" stacks - <"$out/one.folded"
try flamegraph_diff draws diff --diff --min-share 0 "$out/one.folded" "$out/two.folded"
says flamegraph_grew '12.000 us' 0 "$prof" flamegraph "$out/two.folded"
says flamegraph_change '+2.000 us (+12.5 %)' 0 cat "$out/diff.svg"
says flamegraph_new ', new</title>' 0 cat "$out/diff.svg"
says flamegraph_diff_one 'two files are needed' 2 "$prof" flamegraph --diff "$now"
printf 'a;b 10\na;b\n' >"$out/bad.folded"
says flamegraph_bad_folded '1 lines are not folded stacks: left out' 0 \
    "$prof" flamegraph "$out/bad.folded"
says flamegraph_directory 'is a directory' 2 "$prof" flamegraph tests
printf '[{"ph":"X","cat":"cpu_op","name":"<a>&\\"]]>\\u0001\377","ts":1,"dur":9}]' >"$out/odd.json"
try flamegraph_odd_name draws odd "$out/odd.json"
if [ -n "$browser" ]; then
    says flamegraph_clicks '<title>5 shown, then' 0 clicks "$out/diff.svg"
    says flamegraph_search '<title>11 shown, then 9; 2 found, 17.35 %' 0 clicks "$out/kineto_2026.svg"
else
    echo 'skip flamegraph_clicks: no Chromium here'
fi
exit $failed
