#!/bin/sh
# prof ranks: against the answers in ranks/ranks.json, names of kernels, clocks, files that do not fit
# together.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

answers=tests/command/ranks
python3 tests/command/read_ranks.py "$prof" $answers/ranks.json ../shared/traces "$out" || failed=1

# ---- Files that this test makes ----

# NAME=VALUE...: rank, world, clock (us ahead), base (ns), steps, skip (the first so many were not
# recorded), shuffle, no_seq, no_info, cpu, pg, late (us, in each step)
cat >"$out/make.py" <<'END'
import json, random, sys
o = dict(word.split("=") for word in sys.argv[1:])
n = lambda key, default=0: float(o.get(key, default))
events = [dict(ph="X", cat="user_annotation", name="gloo:all_reduce", pid=9, tid=9, ts=5, dur=2)]
for i in range(int(n("steps", 8))):
    ts = 1000 * i + n("clock")
    args = {"device": 0, "stream": 20, "Collective name": "allreduce", "In msg nelems": 1000,
            "Out msg nelems": 1000, "Group size": 2, "dtype": "Float", "Seq": 100 + i,
            "Process Group Name": o.get("pg", "0"), "Process Group Ranks": "[0, 1]"}
    if "no_seq" in o:
        del args["Seq"]
    begin = ts + 300 + n("late") + 7 * i * i
    kernels = [dict(name="gemm", tid=7, ts=ts, dur=200, args=dict(device=0, stream=7)),
               dict(name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                    tid=20, ts=begin, dur=ts + 600 + 7 * i * i - begin, args=args)]
    if i >= n("skip") and "cpu" not in o:
        events += [dict(kernel, ph="X", cat="kernel", pid=0) for kernel in kernels]
if "shuffle" in o:
    random.Random(1).shuffle(events)
info = {} if "no_info" in o else {"distributedInfo": {"rank": int(n("rank")),
                                                      "world_size": int(n("world", 2))}}
print(json.dumps({**info, "baseTimeNanoseconds": int(n("base", 1)), "traceEvents": events}))
END
make_rank() { file=$1; shift; python3 "$out/make.py" "$@" >"$out/$file.json"; }
make_rank first rank=0
make_rank second rank=1 clock=5000 late=50
make_rank shuffled rank=1 clock=5000 late=50 shuffle=1
make_rank begun_late rank=1 clock=5000 late=50 skip=3 shuffle=1
make_rank no_seq_first rank=0 no_seq=1
make_rank no_seq rank=1 clock=5000 late=50 no_seq=1 shuffle=1
make_rank first_of_four rank=0 world=4
make_rank third rank=3 world=4
make_rank twin rank=1 late=50
make_rank world rank=1 world=16 late=50
make_rank group rank=1 pg=7
make_rank other_day rank=1 base=86400000000000 no_seq=1
make_rank untold no_info=1
make_rank cpu rank=1 cpu=1

# ---- Clocks: by Seq, in whatever order events stand, and whoever recorded first ----

is_aligned() {   # FIRST FILE: by -5 ms; of each collective all that is late is the second rank's
    "$prof" ranks -a collectives -f json "$out/$1.json" "$out/$2.json" >"$out/ranks.json" &&
        python3 - "$out/ranks.json" <<'END'
import json, sys
got = json.load(open(sys.argv[1]))
both = [c for c in got["collectives"] if c["ranks"] == [0, 1]]
assert got["ranks"][1]["clock_us"] == -5000, got["ranks"][1]
assert both and all(c["consistent"] and c["skew_us"] == 50 and c["last_rank"] == 1 for c in both), both
assert got["stragglers"] == [1] and got["ranks"][0]["wait_us"] == 50 * len(both), got["ranks"]
END
}
for file in second shuffled begun_late; do try "ranks_align_$file" is_aligned first $file; done
try ranks_align_no_seq is_aligned no_seq_first no_seq
for file in second shuffled begun_late; do
    says "ranks_merge_align_$file" "$file.json: clock set by -5000.000 us" 0 \
        "$prof" merge -a collectives -o "$out/merged.json" "$out/first.json" "$out/$file.json"
done
says ranks_merge_align_no_seq 'clock set by -5000.000 us, from 8 collectives' 0 "$prof" merge \
    -a collectives -o "$out/merged.json" "$out/no_seq_first.json" "$out/no_seq.json"
says ranks_apart 'Of 8 collectives 8 began on a rank after they had ended on another' 0 \
    "$prof" ranks "$out/first.json" "$out/second.json"
says ranks_apart_beside_skew '5050.000  apart' 0 "$prof" ranks "$out/first.json" "$out/second.json"
says ranks_stragglers 'Stragglers: rank 1 (late by 400.000 us in all)' 0 \
    "$prof" ranks -a collectives "$out/first.json" "$out/second.json"

# ---- Windows of a rank, whole or in any order; what only looks like one ----

for window in 0 1; do
    for rank in 0 1; do
        make_rank "r${rank}_w$window" rank=$rank base=$((1 + window * 1000000000)) late=$((50 * rank)) no_seq=1 \
            steps=$((2 + window))
    done
done
windows_are_ranks() {   # FILE...
    "$prof" ranks -f json "$@" >"$out/ranks.json" && python3 - "$out/ranks.json" <<'END'
import json, sys
got = json.load(open(sys.argv[1]))
assert [r["rank"] for r in got["ranks"]] == [0, 1], got["ranks"]
assert all(c["ranks"] == [0, 1] and c["skew_us"] == 50 for c in got["collectives"]), got["collectives"]
assert len(got["collectives"]) == 5 and got["stragglers"] == [1], got
assert got["ranks"][0]["compute_us"] == 5 * 200 and got["ranks"][0]["span_us"] == 1607 + 2628, got["ranks"]
END
}
try ranks_windows windows_are_ranks "$out"/r0_w0.json "$out"/r0_w1.json "$out"/r1_w0.json "$out"/r1_w1.json
try ranks_windows_in_any_order windows_are_ranks "$out"/r1_w1.json "$out"/r0_w1.json "$out"/r0_w0.json "$out"/r1_w0.json
says ranks_windows_said '4 files are of 2 ranks' 0 "$prof" ranks "$out"/r?_w?.json
tells ranks_twin_is_no_window 'it is of the same rank as' 0 "$prof" ranks "$out/second.json" "$out/twin.json"
"$prof" merge -o "$out/windows.json" "$out"/r?_w?.json 2>"$out/windows.said"
try ranks_merge_windows_in_silence test ! -s "$out/windows.said"
says ranks_merge_windows 2 0 sh -c "grep -c '\"name\": \"rank . process 0\|\"process_name\", \"pid\": [0-9]*00000,' '$out/windows.json'"
merged_windows() {   # prof ranks of them, and a folder of tables, have a row and a folder for each rank
    rm -rf "$out/windows.csv"
    "$prof" export -o "$out/windows.csv/" "$out/windows.json" &&
        [ "$("$prof" ranks -f csv --by rank "$out/windows.json" | cut -d, -f1 | tr '\n' ' ')" = 'Rank 0 1 Total ' ] &&
        [ "$(cd "$out/windows.csv" && cut -d, -f1 rank=0/events.csv rank=1/events.csv | uniq | tr '\n' ' ')" = 'rank 0 rank 1 ' ]
}
try ranks_merged_windows merged_windows
says ranks_merged_named 'workless.json: rank 1: there is no work of a device' 0 sh -c \
    "grep -v '\"kernel\".*\"pid\": 3' '$out/windows.json' >'$out/workless.json' && '$prof' ranks '$out/workless.json'"

# ---- Clocks without a device or collectives: a zone that ends together, an offset ----

for rank in 0 1; do
    python3 - $rank >"$out/barrier$rank.json" <<'END'
import json, sys
rank, events = int(sys.argv[1]), []
for i in range(5):
    begin, end = 3000 * rank + 1000 * i + 500 + 100 * rank, 3000 * rank + 1000 * i + 700
    events += [dict(ph="B", cat="cpu_op", name="MPI_Barrier", pid=1, tid=1, ts=begin),
               dict(ph="E", cat="cpu_op", name="MPI_Barrier", pid=1, tid=1, ts=end)]
print(json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}))
END
done
says ranks_align_zone 'Stragglers: rank 1 (late by 500.000 us in all)' 0 \
    "$prof" ranks --align MPI_Barrier "$out/barrier0.json" "$out/barrier1.json"
says ranks_align_zone_clock '"clock_us": -3000.000' 0 \
    "$prof" ranks -f json --align MPI_Barrier --offset barrier1.json=7s "$out/barrier0.json" "$out/barrier1.json"
says ranks_offset '"clock_us": -3000.000' 0 \
    "$prof" ranks -f json --offset barrier1.json=-3ms "$out/barrier0.json" "$out/barrier1.json"
says ranks_merge_align_zone 'clock set by -3000.000 us, from 5 calls' 0 \
    "$prof" merge --align MPI_Barrier -o "$out/merged.json" "$out/barrier0.json" "$out/barrier1.json"
"$prof" merge --offset "$out/barrier1.json=-3ms" -o "$out/merged.json" "$out/barrier0.json" "$out/barrier1.json"
says ranks_merge_offset 600.000 0 cat "$out/merged.json"
says ranks_align_zone_word '"clock_us": -3000.000' 0 \
    "$prof" ranks -f json --align zone:MPI_Barrier "$out/barrier0.json" "$out/barrier1.json"
"$prof" ranks "$out/barrier0.json" "$out/barrier1.json" >"$out/ranks.txt"
try ranks_no_device_work grep -qE '^Total +- +- +- ' "$out/ranks.txt"
says ranks_align_start '"clock_us": -3100.000' 0 \
    "$prof" ranks -f json --align start "$out/barrier0.json" "$out/barrier1.json"
says ranks_align_zone_unnamed 'zone: needs a NAME' 2 "$prof" ranks --align zone: "$out/barrier0.json"

# ---- Clocks that drift, of many ranks: within 5 us on generated ones; children stay where they lie ----

drifting() { python3 tests/command/drifting_ranks.py "$@"; }
rm -rf "$out/drift"
mkdir "$out/drift" "$out/drift/some"
drifting write "$out/drift" 64
drifting write "$out/drift/some" 4 without
tells ranks_drift_merged 'prof: ' 0 \
    "$prof" merge --align zone:MPI_Barrier -o "$out/drift/all.json" "$out"/drift/rank*.json
try ranks_drift_is_told test "$(grep -c 'a drift of .* ppm, from 200 calls of which half end within [123]\.' "$out/said")" = 63
try ranks_drift drifting merged "$out/drift/all.json" 64 5
"$prof" export --align zone:MPI_Barrier -o "$out/drift/events.csv" "$out"/drift/rank*.json
try ranks_drift_export drifting table "$out/drift/events.csv" 64 5
"$prof" export --align zone:MPI_Barrier -o "$out/drift/all.pftrace" "$out"/drift/rank?.json 2>"$out/said"
"$prof" export -o "$out/drift/ten.json" "$out/drift/all.pftrace"
try ranks_drift_pftrace drifting merged "$out/drift/ten.json" 10 5
says ranks_drift_in_json '"clock_error_us": 1.' 0 \
    "$prof" ranks -f json --align zone:MPI_Barrier "$out"/drift/rank?.json
says ranks_drift_note 'Clocks: set by 200 ends or more' 0 \
    "$prof" ranks --align zone:MPI_Barrier "$out"/drift/rank?.json
says ranks_without_the_zone "1 of 4 files, this one first, have no call 'MPI_Barrier' in common with" 2 \
    "$prof" merge --align zone:MPI_Barrier -o "$out/drift/none.json" "$out"/drift/some/rank*.json
try ranks_without_the_zone_no_file test ! -e "$out/drift/none.json"
says ranks_export_one 'there is only one' 2 "$prof" export --align start -o "$out/x.csv" "$out/barrier0.json"
says ranks_export_untimed 'has no times of several clocks' 2 \
    "$prof" export --align start -o "$out/x.folded" "$out/barrier0.json" "$out/barrier1.json"
says ranks_no_such_zone "there is no call 'nothing' in the traces" 2 \
    "$prof" ranks --align nothing "$out/barrier0.json" "$out/barrier1.json"
says ranks_no_such_offset "'x.json=1s' is not FILE=TIME" 2 "$prof" ranks --offset x.json=1s "$out/barrier0.json"
says ranks_offset_of_what "'barrier0.json=5' is not FILE=TIME" 2 "$prof" ranks --offset barrier0.json=5 "$out/barrier0.json"
echo '[{"ph": "X", "name": "mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]' >"$out/alone.json"
cp "$out/alone.json" "$out/alone2.json"
says ranks_no_collective 'no synchronizing collective in common with' 0 \
    "$prof" merge --align collectives -o "$out/x.json" "$out/alone.json" "$out/alone2.json"
says ranks_two_offsets 'barrier0.json has two: ' 2 \
    "$prof" merge --offset barrier0.json=1s --offset barrier0.json=2s -o "$out/x.json" "$out/barrier0.json" "$out/barrier1.json"

# ---- What an uneven all-to-all moves; sends and their receives ----

for rank in 0 1 2; do
    python3 - $rank >"$out/p2p$rank.json" <<'END'
import json, sys
rank, kernels = int(sys.argv[1]), []
def kernel(name, ts, dur, **args):
    kernels.append(dict(ph="X", cat="kernel", name="ncclDevKernel_SendRecv", pid=0, tid=20, ts=ts, dur=dur, args={
        "Collective name": name, "dtype": "Float", "Process Group Name": "0", "Group size": 3,
        "Process Group Ranks": "[0, 1, 2]", **args}))
split = [[10, 1000, 0], [0, 20, 0], [0, 0, 30]]              # of whom, to whom
sent, received = split[rank], [row[rank] for row in split]
kernel("all_to_allv", 100, 100, **{"Seq": 5, "In msg nelems": sum(sent), "Out msg nelems": sum(received),
       "In split size": str(sent), "Out split size": str(received)})
if rank != 2:                                                # 0 -> 1, and at the same Seq 1 -> 2
    kernel("send", 300, 50, **{"Seq": 6, "In msg nelems": 64, "Out msg nelems": 64, "Dst Rank": rank + 1})
if rank != 0:
    kernel("recv", 400, 50, **{"Seq": 6, "In msg nelems": 64, "Out msg nelems": 64, "Src Rank": rank - 1})
print(json.dumps({"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": kernels}))
END
done
moves() {
    "$prof" ranks -f json "$out"/p2p?.json >"$out/ranks.json" && python3 - "$out/ranks.json" <<'END'
import json, sys
got = json.load(open(sys.argv[1]))["collectives"]
assert [(c["name"], c["ranks"]) for c in got] == [
    ("alltoall", [0, 1, 2]), ("send-recv", [0, 1]), ("send-recv", [1, 2])], got
assert got[0]["busbw_gb_s"] == 0.04 and got[0]["imbalance"] == 3, got[0]     # 4000 bytes in 100 us
assert got[1]["bytes"] == 256 and got[1]["busbw_gb_s"] == 0.00512, got[1]
END
}
try ranks_moves moves

# ---- Kinds of work, by category and name ----

python3 - >"$out/names.json" <<'END'
import json
names = [("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "N"), ("kernel", "ncclKernel_Broadcast", "N"),
         ("kernel", "void rcclGenericKernel<1>", "N"), ("Kernel", "oneCCL_x", "N"),
         ("kernel", "multimem_all_reduce_kernel", "N"), ("kernel", "vllm::Cross_Device_Reduce_1stage", "N"),
         ("kernel", "void deep_ep::intranode::dispatch<8>", "N"), ("kernel", "deep_ep::get_dispatch_layout", "C"),
         ("kernel", "triton_poi_fused_all_reduce_add", "C"), ("kernel", "Cijk_gemm", "C"),
         ("kernel", "__amd_rocclr_copyBuffer", "M"), ("kernel", "MEMORY_COPY_DEVICE_TO_HOST", "M"),
         ("gpu_memcpy", "CopyHostToDevice nccl", "M"), ("gpu_memset", "hipMemset", "M"), ("Memcpy", "x", "M"),
         ("cuda_sync", "Stream Sync nccl", ""), ("gpu_user_annotation", "nccl:all_reduce", ""),
         ("cuda_runtime", "hipMemcpyAsync", ""), ("cpu_op", "triton_nccl", ""), ("odd_nccl", "x", "")]
print(json.dumps({"traceEvents": [
    dict(ph="X", cat=cat, name=name, pid=0, tid=7, ts=2 ** (i + 1), dur=2 ** i, args=dict(stream=7))
    for i, (cat, name, kind) in enumerate(names)]}))
END
kinds=$("$prof" ranks -f json "$out/names.json" 2>/dev/null | sed -n 's/.*"compute_us": \([0-9]*\).*"communication_us": \([0-9]*\).*"memory_us": \([0-9]*\).*/\1 \2 \3/p')
try ranks_kinds test "$kinds" = "896 127 31744"

# What gaps calls idle is what ranks calls idle, where there is one device.
same_idle() {   # TRACE
    idle=$("$prof" ranks -f json "$1" 2>/dev/null | sed -n 's/.*"idle_us": \([0-9.]*\).*/\1/p')
    gaps=$("$prof" gaps -n all --by gap -f json "$1" 2>/dev/null | python3 -c '
import decimal, json, sys
print(sum((row["Idle (us)"] for row in json.load(sys.stdin, parse_float=decimal.Decimal)), decimal.Decimal("0.000")))')
    [ "$idle" = "$gaps" ] || { echo "ranks $idle, gaps $gaps"; return 1; }
}
try ranks_idle_as_gaps same_idle $answers/example_rank0.json
try ranks_idle_as_gaps_old same_idle tests/command/traces/kineto_2022.json

# ---- Output ----

says ranks_csv '1,280.500,130.000,46.35,90.500' 0 "$prof" ranks -f csv $answers/example_rank?.json
says ranks_total 'Total,560.500,200.000,' 0 "$prof" ranks -f csv $answers/example_rank?.json
says ranks_csv_collectives 'allreduce,0,9,1,0-1,1000000,50.500,19.802,19.802,1000010.000,apart,1' 0 \
    "$prof" ranks -b collective -f csv $answers/example_rank?.json
says ranks_limit '1 more: --limit all' 0 "$prof" ranks -n 1 $answers/example_rank?.json
gzip -c $answers/example_rank1.json >"$out/example.json.gz"
says ranks_gzip '"clock_us": -1000000.000' 0 \
    "$prof" ranks -a collectives -f json $answers/example_rank0.json "$out/example.json.gz"

# ---- The page has the same ----

page_alike() {   # FILE...: its data are what ranks prints
    "$prof" report -f html -o "$out/page.html" "$@" 2>/dev/null &&
        "$prof" ranks -f json "$@" 2>/dev/null | python3 -c '
import json, os, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
have = json.loads(re.search(r"id=\"data\">\n(.*?)</script>", page, re.S).group(1))["ranks"]
want = json.load(sys.stdin)
for rank in want["ranks"]:
    rank["file"] = os.path.basename(rank["file"])
assert have == want, have' "$out/page.html"
}
try ranks_page page_alike $answers/example_rank0.json $answers/example_rank1.json
try ranks_page_one page_alike $answers/example_rank0.json
shows() { tr '\n' ' ' <"$out/dom" | grep -o 'id="ranks_section".*id="flame_section"' | grep -q "$1"; }
if [ -n "$browser" ]; then
    dom "$out/page.html" >"$out/dom"
    try ranks_page_parts shows '<td>70.00 µs (25.0 %)</td><td>140.0 µs (50.0 %)</td><td>20.00 µs (7.1 %)</td>'
    try ranks_page_collective shows '<td>allreduce</td><td>0</td><td>8</td>'
else
    echo 'skip ranks_page_parts: Chromium is not there'
fi

# ---- Files that do not fit together: a line each, and the rest is reported ----

told() {   # NAME TEXT STATUS ROWS FILE...
    label=$1 text=$2 status=$3 rows=$4
    shift 4
    "$prof" ranks -f csv "$@" >"$out/table" 2>"$out/said"
    got=$?
    if [ $got = "$status" ] && grep -qF -e "$text" "$out/said" && [ "$(wc -l <"$out/said")" = 1 ] &&
        [ "$(wc -l <"$out/table")" = $((rows + 2)) ]; then echo "ok $label"; return; fi
    failed=1
    echo "not ok $label: exit status $got, not $status, or not one line '$text': $(cat "$out/said")"
}
o=$out
told ranks_missing 'of 4 ranks 2 have no file: 1 to 2' 0 2 "$o/first_of_four.json" \
    "$o/third.json"
cp "$o/twin.json" "$o/twin_again.json"
told ranks_two_of_one "twin_again.json: it is of the same rank as $o/twin.json: ranks are" 0 3 \
    "$o/first.json" "$o/twin.json" "$o/twin_again.json"
told ranks_untold 'untold.json: it does not say its rank (distributedInfo): ranks are' 0 2 \
    "$o/first.json" "$o/untold.json"
cp "$o/untold.json" "$o/untold_too.json"
told ranks_untold_two 'does not say its rank (distributedInfo), nor does 1 more: ranks are' 0 3 \
    "$o/first.json" "$o/untold.json" "$o/untold_too.json"
told ranks_other_group 'group.json: it has no collective in common with another' 0 2 "$o/first.json" \
    "$o/group.json"
told ranks_other_day 'other_day.json: its work lies at other times than that of' 0 2 \
    "$o/no_seq_first.json" "$o/other_day.json"
told ranks_no_device 'cpu.json: there is no work of a device in it; 1 calls of gloo' 0 2 \
    "$o/first.json" "$o/cpu.json"
told ranks_missing_file 'none.json: No such file' 2 2 "$o/first.json" "$o/none.json" "$o/twin.json"
says ranks_other_run 'world.json: it is of another run than' 0 "$prof" ranks "$o/first.json" "$o/world.json"
says ranks_none 'none.json: No such file' 2 "$prof" ranks "$o/none.json"
says ranks_no_files 'usage: prof ranks' 2 "$prof" ranks
says ranks_bad_align 'there is no call' 2 "$prof" ranks -a x "$o/first.json"
says ranks_bad_by 'it takes both|rank|collective' 2 "$prof" ranks -b x "$o/first.json"
says ranks_html 'it takes text|csv|json' 2 "$prof" ranks -f html "$o/first.json"

# ---- Many files: in as little memory as a few ----

many() {   # 300 files of one rank's events: ranks are the files in their order
    list=$(seq 300 | sed "s|.*|$out/first.json|")
    # shellcheck disable=SC2086,SC3045   # a list; dash has ulimit -v
    (ulimit -v 200000; "$prof" ranks -f json $list 2>/dev/null) | grep -q '"ranks": \[0, 1, 2, 3, .*298, 299\]'
}
try ranks_many many
exit $failed
