#!/bin/sh
# Raw streams with work on devices, which prof report reads without the way over JSON: rows are those
# of the JSON, whatever lies in what, at coarse times, on several devices, with what zones carry.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/random_work.c" <<'END_OF_C'
#include "tests/command/streamed.h"

#include <stdlib.h>
#include <string.h>

static unsigned seed, coarse;
static int64_t last_id;
static char long_name[400];              /* no UTF-8 */

static unsigned below(unsigned n) {
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

static void event(prof_event *e, prof_extra *x, const char *type, const char *name, int64_t from, int64_t to) {
    memset(e, 0, sizeof *e);
    memset(x, 0, sizeof *x);
    e->name = name;
    e->start_ns = from;
    e->end_ns = to;
    e->extra = x;
    x->activity_type = type;
    x->node_id = -1;
    x->sequence_nr = -1;
}

/* A launch, or an op from outside, which may lie around zones; and work, mostly its own. */
static void submit(void) {
    static const char *const kernels[] = { "gemm<float>", "re\xff" "duce", "Memcpy HtoD" };
    prof_event e[2];
    prof_extra x[2];
    size_t n = 0;
    int64_t from = prof_now(), on_device = from + (int64_t)below(100);
    unsigned kernel = below(3);
    if (below(10) < 7)
        event(e, x, below(5) ? "cuda_runtime" : "cuda_driver", below(2) ? "cudaLaunchKernel" : "cudaStreamSynchronize",
              from - (int64_t)below(40), from + (int64_t)below(9)), n = 1;
    else if (below(2))
        event(e, x, "cpu_op", "op from outside", from - (int64_t)below(100), from + (int64_t)below(100)), n = 1;
    if (n) x->has = PROF_HAS_ID, x->id = ++last_id;
    event(e + n, x + n, kernel == 2 ? "gpu_memcpy" : "kernel", kernels[kernel], on_device, on_device + (int64_t)below(50));
    e[n].device_type = below(4) ? PROF_DEVICE_CUDA : PROF_DEVICE_XPU;
    x[n].has = PROF_HAS_DEVICE_INDEX;
    x[n].device_index = (int32_t)below(2);
    x[n].device_resource_id = 7 + below(2);
    if (below(3)) x[n].metadata_json = "\"grid\": [1, 2, 3], \"stream\": 7";
    if (n && below(8)) x[n].has |= PROF_HAS_LINK, x[n].linked_correlation_id = last_id;
    prof_submit(e, n + 1);
}

static void work(int depth) {
    streamed_step = coarse ? (below(3) ? 0 : 100) : below(40);
    bool deeper = depth < 8;
    switch (below(7)) {
    case 0: PROF_BLOCK("a") { if (deeper) work(depth + 1); submit(); } break;
    case 1: PROF_BLOCK("b") { prof_set(&(prof_extra){ .flops = below(2) ? 100 : 7 }); if (deeper) work(depth + 1); } break;
    case 2: PROF_BLOCK("c.d") { prof_set(&(prof_extra){ .overload_name = "Tensor" }); submit(); } break;
    case 3:
        PROF_BLOCK("(in sums)") {
            if (deeper) work(depth + 1);
            prof_set(&(prof_extra){ .has = PROF_HAS_SEQUENCE_NR, .sequence_nr = below(9), .scope = (uint8_t)below(2) });
        }
        break;
    case 4: submit(); PROF_BLOCK("outer") { for (int i = 0; deeper && i < 3; i++) work(depth + 2); } break;
    case 5: prof_push(long_name); prof_pop(); break;
    default: PROF_BLOCK("f") { prof_counter("n", 1); } break;
    }
}

int main(int argc, char **argv) {
    FILE *file = streamed_begin(argv[1], PROF_STREAM_RAW);
    seed = 77u * (unsigned)atol(argv[argc - 1]);
    coarse = seed % 3 == 0;
    memset(long_name, 0xfe, sizeof long_name - 1);
    for (int i = 0; file && i < 60; i++) {
        work(0);
        if (below(9) == 0) prof_flush();
    }
    prof_stop();
    return file ? fclose(file) : 1;
}
END_OF_C
library zlib
# shellcheck disable=SC2086   # lists of words
$cc -I. "$out/random_work.c" "$library" -o "$out/random_work" $libs || exit 1

alike() {   # SEED OPTION...
    number=$1
    shift
    for form in raw json; do   # read from a pipe, as a note begins with the file's name
        "$prof" report -n all -s none "$@" - <"$out/$number.$form" >"$out/$form" 2>"$out/stderr" || return 1
    done
    cmp "$out/raw" "$out/json"
}
for number in $(seq 1 "${TEST_SAMPLE:-80}"); do
    "$out/random_work" "$out/$number.raw" "$number" && "$prof" decode -o "$out/$number.json" "$out/$number.raw" 2>"$out/stderr"
    try "work_rows_$number" alike "$number" -f json
    try "work_percentiles_$number" alike "$number" -f csv --percentiles
    try "work_merged_$number" alike "$number" -f csv --merge-duplicates --group-by-overload
    [ -n "${TEST_SAMPLE-}" ] || try "work_text_$number" alike "$number" --name 'a|o'
    [ -n "${TEST_SAMPLE-}" ] || try "work_without_$number" alike "$number" -f csv --no-device
    rm -f "$out/$number.raw" "$out/$number.json"
done

# A kernel's op is the same wherever in the file they and the launch between them stand; also where
# its ids are of two steps.
ordered() {   # ORDER APART: steps of an op, a launch and a kernel; APART: their ids are not the same
    awk -v order="$1" -v apart="$2" 'BEGIN {
        event = "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"External id\":%d%s}},\n"
        print "{\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"p\"}},"
        for (i = 1; i < 60; i++) {
            id = ",\"correlation\":" (i + 1000 * apart)
            step["o"] = sprintf(event, 1, 1, 20 * i, 10, "cpu_op", "op" i % 3, i, "")
            step["l"] = sprintf(event, 1, 1, 20 * i + 1, 5, "cuda_runtime", "launch", i, id)
            step["k"] = sprintf(event, 0, 7, 20 * i + 9, 3 + i % 3, "kernel", "k" i % 2, i - apart, id)
            for (at = 1; at <= 3; at++) printf "%s", step[substr(order, at, 1)]
        }
        print "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2,\"cat\":\"cpu_op\",\"name\":\"last\"}]}" }' >"$out/$1.json"
}
rows_of() { ordered "$@" && "$prof" report -f csv "$out/$1.json" 2>"$out/stderr" | sort; }
in_any_order() {
    rows_of olk "$1" >"$out/rows"
    grep -q '^"op2",' "$out/rows" || return 1
    for order in okl lok lko kol klo; do rows_of "$order" "$1" | cmp - "$out/rows" || return 1; done
}
try work_in_any_order in_any_order 0
try work_of_ids_in_any_order in_any_order 1
exit $failed
