#!/usr/bin/env python3
"""An independent reading of a trace, to compare with what `prof report` says of it.

    read_trace.py TRACE REPORT.json     report --format json --limit all --no-memory TRACE

Times are compared to the nanosecond. Prints what differs; exit status 1 when something does.
"""
import collections
import gzip
import json
import sys
from decimal import Decimal

CPU = {"cpu_op", "Operator", "user_annotation", "cuda_runtime", "cuda_driver", "Runtime",
       "overhead"}
DEVICE = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
SKIPPED = {"python_function", "cuda_sync", "Trace"}
RUNTIME = {"cuda_runtime", "cuda_driver", "Runtime"}


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
        trace = json.load(file, parse_float=Decimal)
    events = trace.get("traceEvents", []) if isinstance(trace, dict) else trace
    return [{**e, "name": name_of(e)} for e in complete([e for e in events if isinstance(e, dict)])]


def name_of(e):
    """As PyTorch's tables have it."""
    name = e.get("name", "")
    return "ProfilerStep*" if str(name).startswith("ProfilerStep#") else name


def complete(events):
    """The complete events; begins and ends are made such."""
    whole, begun, last = [], collections.defaultdict(list), 0
    for e in events:
        phase, pid = e.get("ph"), str(e.get("pid"))
        key = (pid, str(e.get("tid"))) if phase in ("B", "E") else \
            (pid, e.get("cat"), str(e.get("id", e.get("id2"))), "range")
        last = max(last, ns(e.get("ts", 0)) + ns(e.get("dur", 0)))
        if phase == "X":
            whole.append(e)
        elif phase in ("B", "b"):
            begun[key].append({**e, "ph": "X", "range": phase == "b"})
        elif phase in ("E", "e") and begun[key]:
            begin = begun[key].pop()
            args = {**begin.get("args", {}), **e.get("args", {})}
            e = {**begin, "end": ns(e["ts"]), "args": args}
            whole.append({**e, "dur": Decimal(e["end"] - ns(e["ts"])) / 1000})
    left = [e for events in begun.values() for e in events]
    return whole + [{**e, "dur": Decimal(last - ns(e["ts"])) / 1000} for e in left]


def ns(value):
    if not isinstance(value, (int, Decimal)):
        return 0                            # NaN and the like: taken as absent
    return int((Decimal(value) * 1000).quantize(Decimal(1), rounding="ROUND_HALF_UP"))


def with_overhead(events):
    """Overhead, of which PyTorch's traces have no thread, on that whose ops alone are around it."""
    ops = [(ns(e.get("ts", 0)), ns(e.get("dur", 0)), str(e.get("pid", 0)), str(e.get("tid", 0)), e)
           for e in events if e.get("cat") in ("cpu_op", "Operator") and not e.get("range")]
    for e in events:
        if e.get("cat") == "overhead":
            start, end = ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0))
            around = [o for o in ops if o[0] <= start < o[0] + o[1]]
            if len({o[2:4] for o in around}) == 1 and max(o[0] + o[1] for o in around) >= end:
                e = {**e, "pid": around[0][4].get("pid", 0), "tid": around[0][4].get("tid", 0)}
        yield e


def nest(calls):
    """Sets parent and self of each: PyTorch's rule, and half-open intervals."""
    threads = collections.defaultdict(list)
    for call in calls:
        if not call["range"]:
            threads[call["thread"]].append(call)
    for members in threads.values():
        stack = []
        for call in sorted(members, key=lambda c: (c["start"], -c["end"])):
            while stack and (call["start"] >= stack[-1]["end"] or call["end"] > stack[-1]["end"]):
                stack.pop()
            if stack:
                call["parent"] = stack[-1]
                stack[-1]["self"] -= call["end"] - call["start"]
            stack.append(call)


def owner(kernel, ops, launches):
    args = kernel.get("args") or {}
    external = args.get("External id", args.get("external id"))
    launch = launches.get(args.get("correlation"))
    if external in ops and not (launch and external == args.get("correlation")):
        return ops[external]
    call = launch
    while call and call["runtime"]:
        call = call["parent"]
    return call or launch


def rows_of(events):
    calls, kernels, ops, launches = [], [], {}, {}
    for e in with_overhead(events):
        category = e.get("cat", "")
        if category in SKIPPED:
            continue
        if category in DEVICE or category == "gpu_user_annotation":
            kernels.append(e)
            continue
        start = ns(e.get("ts", 0))
        call = {"name": e.get("name", ""), "thread": (str(e.get("pid", 0)), str(e.get("tid", 0))),
                "start": start, "end": start + ns(e.get("dur", 0)), "self": ns(e.get("dur", 0)),
                "parent": None, "device": 0, "runtime": category in RUNTIME,
                "annotation": category == "user_annotation", "range": e.get("range", False)}
        call["self"] *= not call["range"]
        calls.append(call)
        args = e.get("args") or {}
        if call["runtime"]:
            if "correlation" in args:
                launches[args["correlation"]] = call
        elif args.get("External id", args.get("external id")) is not None:
            ops[args.get("External id", args.get("external id"))] = call
    nest(calls)
    rows = collections.defaultdict(collections.Counter)
    for k in kernels:
        dur = ns(k.get("dur", 0))
        row = rows[k.get("name", ""), 1, k.get("cat") == "gpu_user_annotation"]
        row.update(count=1, device_time_total=dur, self_device_time_total=dur)
        call = owner(k, ops, launches) if k.get("cat") in DEVICE else None
        if call:
            rows[call["name"], 0, call["annotation"]]["self_device_time_total"] += dur
        while call:
            rows[call["name"], 0, call["annotation"]]["device_time_total"] += dur
            call = call["parent"]
    for call in calls:
        rows[call["name"], 0, call["annotation"]].update(
            count=1, cpu_time_total=call["end"] - call["start"], self_cpu_time_total=call["self"])
    return rows


def main():
    events = load(sys.argv[1])
    expected = rows_of(events)
    with open(sys.argv[2], encoding="utf-8") as file:
        report = json.load(file, parse_float=Decimal)
    differences = []
    for row in report:
        key = row["key"], min(row["device_type"], 1), row["is_user_annotation"]
        want = expected.pop(key, None)
        if want is None:
            differences.append(f"{key}: is not in the trace")
            continue
        got = {name: ns(row[name]) for name in (
            "cpu_time_total", "self_cpu_time_total", "device_time_total",
            "self_device_time_total")}
        got["count"] = row["count"]
        differences += [f"{key}: {name} is {value}, not {want[name]}"
                        for name, value in got.items() if value != want[name]]
    differences += [f"{key}: is missing" for key in expected]
    has_kernels = any(e.get("cat") in DEVICE for e in events)
    if has_kernels and not any(row["device_type"] for row in report):
        differences.append("no row for the kernels")
    print("\n".join(differences[:10]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
