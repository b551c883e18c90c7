#!/bin/sh
# prof et: rules, summary, and the join with the same run's trace.
# shellcheck disable=SC2086,SC2317   # lists of flags are meant to split; functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/good.json" <<'JSON'
{"schema": "1.1.1-chakra.0.0.4", "pid": 9, "time": "2026-01-01 00:00:00", "start_ts": 1, "nodes": [
{"id":2,"name":"[pytorch|profiler|execution_trace|thread]","ctrl_deps":1,"inputs":{"values":[],"shapes":[],"types":[]},"outputs":{"values":[],"shapes":[],"types":[]},"attrs":[{"name":"rf_id","type":"uint64","value":0}]},
{"id":4,"name":"aten::mm","ctrl_deps":3,"inputs":{"values":[[1,2,0,4,4,"cpu"]],"shapes":[[2,2]],"types":["Tensor(float)"],"strides":[[2,1]]},"outputs":{"values":[],"shapes":[],"types":[]},"attrs":[{"name":"rf_id","type":"uint64","value":12}]},
{"id":3,"name":"step","ctrl_deps":2,"inputs":{"values":[],"shapes":[],"types":[]},"outputs":{"values":[],"shapes":[],"types":[]},"attrs":[{"name":"rf_id","type":"uint64","value":11}]},
{"id":1,"name":"[pytorch|profiler|execution_trace|process]","ctrl_deps":1,"inputs":{"values":[],"shapes":[],"types":[]},"outputs":{"values":[],"shapes":[],"types":[]},"attrs":[{"name":"rf_id","type":"uint64","value":0}]}
], "finish_ts": 5}
JSON
cat >"$out/trace.json" <<'JSON'
[{"ph":"X","cat":"user_annotation","name":"step","pid":9,"tid":9,"ts":0,"dur":100,"args":{"External id":1,"Record function id":11}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":10.5,"dur":50,"args":{"External id":2,"Record function id":12}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":20,"dur":5,"args":{"correlation":7,"External id":2}},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":9,"tid":9,"ts":70,"dur":1,"args":{"External id":3,"Record function id":13}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":40,"dur":30.25,"args":{"correlation":7,"External id":2}}]
JSON
says et_good 'Schema 1.1.1-chakra.0.0.4, process 9: 4 nodes, 3 deep, 0 errors.' 0 "$prof" et "$out/good.json"
says et_link 'aten::mm,1,1,50.000,45.000,30.250' 0 \
    "$prof" et -f csv --link "$out/trace.json" "$out/good.json"
says et_link_count '2 nodes linked; the trace has 3 calls with an id' 0 \
    "$prof" et --link "$out/trace.json" "$out/good.json"
linked() {
    "$prof" et --link "$out/trace.json" -o "$out/linked.json" "$out/good.json" && python3 -c '
import json, sys
good, linked = (json.load(open(name)) for name in sys.argv[1:])
times = {n["name"]: n.pop("kineto") for n in linked["nodes"] if "kineto" in n}
assert linked == good, "the rest differs"
assert times == {"aten::mm": dict(ts=10.5, dur=50, self_dur=45, device_dur=30.25),
                 "step": dict(ts=0, dur=100, self_dur=49, device_dur=30.25)}, times
' "$out/good.json" "$out/linked.json"
}
try et_linked linked
broken() {   # NAME TEXT SED-COMMAND
    sed "$3" "$out/good.json" >"$out/broken.json"
    says "$1" "$2" 1 "$prof" et "$out/broken.json"
}
broken et_twice 'the id is not the only one of its kind: 4' 's/"id":3,/"id":4,/'
broken et_no_parent 'byte 321: there is no parent of node 4' 's/"ctrl_deps":3/"ctrl_deps":8/'
broken et_cycle 'its own ancestor is node 4' 's/"name":"step","ctrl_deps":2/"name":"step","ctrl_deps":4/'
broken et_shapes 'values, shapes and types are not as many in node 4' 's/\[\[2,2\]\]/[]/'
broken et_root 'nodes that are their own parent (there must be one, the process): 0' \
    's/process\]","ctrl_deps":1/process]","ctrl_deps":2/'
broken et_schema 'there is no schema' 's/"schema": "1.1.1-chakra.0.0.4", //'
head -n 1 "$out/good.json" >"$out/cut.json"
says et_cut 'there are no nodes: this is not an execution trace' 2 "$prof" et "$out/cut.json"
broken et_name 'no id or no name: node number 2' 's/"name":"step",//'
traces=../shared/traces
if [ -r $traces/simple_add_et.json.gz ]; then
    says et_real_link '36 nodes linked; the trace has 36 calls' 0 \
        "$prof" et --link $traces/simple_add_trace.json.gz $traces/simple_add_et.json.gz
    if [ -n "${ALL:-}" ]; then
        nodes=$(gzip -dc $traces/resnet_2gpu_et_1.1.0.json.gz | python3 -c '
import json, sys
print(len(json.load(sys.stdin)["nodes"]))')
        says et_real "$nodes nodes, 9 deep, 0 errors" 0 "$prof" et $traces/resnet_2gpu_et_1.1.0.json.gz
    fi
else
    echo 'skip et_real: ../shared/traces is not there'
fi
# What examples/execution.c writes: every zone is in both files, under one id.
example() {
    library gcc && $cc -O1 -I. examples/execution.c "$library" -o "$out/execution" $libs &&
        "$out/execution" "$out/et.json" "$out/et_trace.json" &&
        python3 -c '
import json, sys
et, trace = (json.load(open(name)) for name in sys.argv[1:])
nodes = {n["id"]: n for n in et["nodes"]}
assert len(nodes) == len(et["nodes"]) == 11, nodes
mul = next(n for n in nodes.values() if n["name"] == "aten::mul")
assert nodes[mul["ctrl_deps"]]["name"] == "iterate", mul
assert mul["inputs"]["values"][1] == [1, 1, 0, 2048, 4, "cpu"], mul
assert mul["outputs"]["shapes"] == [[32, 64]], mul
groups = next(n for n in nodes.values() if n["name"] == "## process_group:init ##")
assert json.loads(groups["inputs"]["values"][0])[0]["backend_config"] == "gloo", groups
ids = lambda n: next(a["value"] for a in n["attrs"] if a["name"] == "rf_id")
names = {ids(n): n["name"] for n in nodes.values() if ids(n)}
assert names == {e["args"]["Record function id"]: e["name"] for e in trace["traceEvents"]
                 if e["ph"] == "X"}, names
' "$out/et.json" "$out/et_trace.json"
}
try et_example example
says et_example_link '8 nodes linked; the trace has 8 calls with an id' 0 \
    "$prof" et --link "$out/et_trace.json" "$out/et.json"
# A raw stream has no such ids: it is linked by thread, name and order. Sessions with an execution
# trace are streamed at their end, out of the arena.
cat >"$out/streams.c" <<'END'
#include "prof.h"
#include <pthread.h>
#include <stdio.h>

static bool write_file(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

static void *run(void *unused) {
    for (int i = 0; i < 50; i++)
        PROF_BLOCK("outer") {
            PROF_BLOCK("inner") {}
            PROF_BLOCK("inner") {}
        }
    return unused;
}

int main(int argc, char **argv) {            /* ET RAW; a third: one zone has no node */
    pthread_t other;
    FILE *raw = argc > 2 ? fopen(argv[2], "wb") : NULL;
    const prof_sink sink = {write_file, raw};
    if (!raw || prof_execution_trace_register(argv[1]) != PROF_OK) return 1;
    if (prof_start(NULL) != PROF_OK) return 2;
    if (argc > 3) PROF_BLOCK("outer") {}
    prof_execution_trace_start();
    if (pthread_create(&other, NULL, run, NULL) != 0) return 3;
    run(NULL);
    pthread_join(other, NULL);
    prof_stop();
    if (prof_dump(sink) != PROF_OK) return 4;
    prof_execution_trace_stop();
    return prof_execution_trace_unregister() != PROF_OK || fclose(raw) != 0;
}
END
library zlib
try et_streams_builds $cc -I. "$out/streams.c" "$library" -o "$out/streams" $libs
try et_streams "$out/streams" "$out/streams.json" "$out/streams.raw"
says et_link_raw '300 nodes linked by thread, name and order; the trace has 300 calls.' 0 \
    "$prof" et --link "$out/streams.raw" "$out/streams.json"
of_outer() { sed -n 's/^"*outer"*,'"$1"'\([0-9]*\),\([0-9]*\).*/\1 \2/p'; }
try et_link_raw_times test \
    "$("$prof" report -f csv "$out/streams.raw" 2>/dev/null | of_outer '')" = \
    "$("$prof" et -f csv --link "$out/streams.raw" "$out/streams.json" | of_outer '[0-9]*,')"
try et_streams_more "$out/streams" "$out/streams.json" "$out/streams.raw" more
says et_link_raw_some '250 nodes linked by thread, name and order; the trace has 301 calls.' 0 \
    "$prof" et --link "$out/streams.raw" "$out/streams.json"
says et_link_raw_other 'not the trace of the same run' 1 \
    "$prof" et --link "$out/streams.raw" "$out/good.json"
says et_no_nodes 'this is not an execution trace' 2 "$prof" et tests/command/traces/kineto_2026.json
says et_output '--link TRACE' 2 "$prof" et -o "$out/x.json" "$out/good.json"
says et_help 'usage: prof et' 0 "$prof" et --help
head -c 700 "$out/good.json" >"$out/cut.json"
says et_cut 'the file ends early; read up to there' 1 "$prof" et "$out/cut.json"
exit $failed
