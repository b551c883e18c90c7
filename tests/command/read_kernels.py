#!/usr/bin/env python3
"""An independent reading of a trace's kernels, to compare with what `prof analyze` says of them.

    read_kernels.py TRACE ANALYSIS.json     analyze --format json --name-limit all TRACE

Counts and times by device and name; and for matrix products, whose formula is short, the rates.
Prints what differs; exit status 1 when something does.
"""
import collections
import json
import math
import sys

from read_trace import load, ns

PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}


def product_flops(op):
    """2 x m x k x n, times the batch; 0: not a product, or its shapes are not told."""
    dims = op["args"].get("Input Dims")
    first = PRODUCTS.get(op["name"])
    if first is None or not dims or len(dims) < first + 2 or len(dims[first]) < 2:
        return 0
    return 2 * math.prod(dims[first]) * dims[first + 1][-1]


def main():
    events = load(sys.argv[1])
    ops = {e["args"]["External id"]: e for e in events
           if e.get("cat") == "cpu_op" and "External id" in e.get("args", {})}
    rows = collections.defaultdict(lambda: [0, 0, 0, 0, False])
    kernels = [e for e in events if e.get("cat") in ("kernel", "Kernel")]
    owned = collections.Counter()              # what the kernels of an op took together
    for e in kernels:
        owned[e.get("args", {}).get("External id")] += ns(e.get("dur", 0))
    for e in kernels:
        args = e.get("args", {})
        row = rows[args.get("device", e.get("pid")), e["name"]]
        row[0] += 1
        row[1] += ns(e.get("dur", 0))
        external = args.get("External id")
        op = ops.get(external) if external != args.get("correlation") else None
        flops = product_flops(op) * ns(e.get("dur", 0)) / owned[external] if op else 0
        row[2] += flops
        row[3] += ns(e.get("dur", 0)) if flops else 0
        row[4] |= not flops                     # another amount may count in the row
    with open(sys.argv[2], encoding="utf-8") as file:
        analysis = json.load(file)
    differences = []
    for line in analysis:
        if line["Kernel Name"] == "Total":
            continue
        count, time, flops, flops_ns, mixed = rows.pop((line["Device"], line["Kernel Name"]),
                                                       [0, 0, 0, 0, True])
        if line["Count"] != count or round(line["Total (ms)"] * 1e6) != time:
            differences.append(f"{line}: not {count} in {time} ns")
        if not mixed and flops_ns and abs(line["TFLOP/s"] - flops / flops_ns / 1e3) > 2e-4:
            differences.append(f"{line}: not {flops / flops_ns / 1e3} TFLOP/s")
    differences += [f"{key}: is missing" for key in rows]
    print("\n".join(differences[:10]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
