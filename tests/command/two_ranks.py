"""Writes two ranks of one run, the second 3 ms later, and the first one an hour later, with what
their page has to show:   python3 two_ranks.py FOLDER   writes rank0.json, rank1.json, later.json,
two_ranks.json (when they begin, what is allocated at most in each step)."""
import json, sys

HOUR = 3600 * 10**9
START = {"rank0": 1_700_000_000 * 10**9, "rank1": 1_700_000_000 * 10**9 + 3_000_000}
START["later"] = START["rank0"] + HOUR
told = {"begins_ns": {"rank0": 0, "rank1": 3_000_000, "later": 0}, "most": {}}

def trace(name, rank):
    events, allocated, reserved = [], 1000, 4096
    def slice(cat, what, pid, tid, ts, dur, **args):
        events.append({"ph": "X", "cat": cat, "name": what, "pid": pid, "tid": tid, "ts": ts,
                       "dur": dur, "args": args})
    def memory(ts, size):
        nonlocal allocated, reserved
        allocated += size
        reserved = max(reserved, allocated + 500)
        events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 10,
                       "tid": 10, "ts": ts, "args": {"Bytes": size, "Total Allocated": allocated,
                       "Total Reserved": reserved, "Device Type": 1, "Device Id": 0}})
        return allocated, reserved
    def work(number, kind, what, ts, dur, stream=7, **args):
        slice("cuda_runtime", "cudaLaunchKernel", 10, 10, ts - 300, 20, correlation=number)
        slice(kind, what, 0, stream, ts, dur, correlation=number, device=0, stream=stream, **args)
    for step in range(1, 5):
        at = 1000 + 10000 * (step - 1)
        slice("user_annotation", f"ProfilerStep#{step}", 10, 10, at, 9900)
        slice("cpu_op", "aten::mm", 10, 10, at + 50, 2000 + 300 * rank + 100 * step)
        slice("cpu_op", "aten::add", 10, 10, at + 4000, 700)
        most = [memory(at + 100, 1 << 10 + step), memory(at + 5000, -(1 << 10 + step)),
                memory(at + 6000, 100)]
        most.append((most[0][0] - (1 << 10 + step), 0))
        told["most"].setdefault(name, {})[step] = [max(m[0] for m in most), max(m[1] for m in most)]
        work(10 * step, "kernel", "gemm", at + 500, 2000 + 40 * step)
        work(10 * step + 1, "kernel", "ncclDevKernel_AllReduce_Sum_f32", at + 2000 - 1000 * rank, 2500,
             23, **{"Collective name": "allreduce", "In msg nelems": 1 << 20, "Group size": 2,
             "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": step})
        work(10 * step + 2, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 6000, 300)
    json.dump({"distributedInfo": {"rank": rank, "world_size": 2, "backend": "nccl"},
               "baseTimeNanoseconds": START[name], "deviceProperties": [{"id": 0, "name": "made"}],
               "traceEvents": events}, open(f"{folder}/{name}.json", "w"))

folder = sys.argv[1]
trace("rank0", 0)
trace("rank1", 1)
trace("later", 0)
json.dump(told, open(folder + "/two_ranks.json", "w"))
