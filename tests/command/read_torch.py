#!/usr/bin/env python3
"""Holds what the command says of h100/ against what PyTorch said of the same profile.

    read_torch.py rows NAME GROUPING REPORT.json     prof report --merge-duplicates -n all -f json
    read_torch.py table NAME TABLE.txt     the same with --sort none and no -f: memory and graph
    read_torch.py stacks FOLDED                      prof stacks --frames-only h100/stacks.json.gz
    read_torch.py memory cuda0|cpu RAW.json          prof memory -f raw --device ...

Each difference that is known stands in DIFFERENT, with its reason in h100/README.md. Prints the others;
exit status 1 when there are any.
"""
import collections
import gzip
import json
import os
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h100")
FIELDS = ["count", "cpu_time_total", "self_cpu_time_total", "device_time_total",
          "self_device_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
          "device_memory_usage", "self_device_memory_usage"]
# (trace, row, field): PyTorch's ns or count, ours
DIFFERENT = {
    # PyTorch gives overhead the work of the op that it belongs to, which so counts twice (1)
    ("graph", "Activity Buffer Request", "device_time_total"): (1696, 0),
    ("graph", "Activity Buffer Request", "self_device_time_total"): (1696, 0),
    ("graph", "aten::normal_", "device_time_total"): (16799, 15103),
    ("memory", "Activity Buffer Request", "device_time_total"): (2080, 0),
    ("memory", "Activity Buffer Request", "self_device_time_total"): (2080, 0),
    ("memory", "aten::normal_", "device_time_total"): (27265, 25185),
    ("memory", "aten::randn", "device_time_total"): (27265, 25185),
    ("memory", "round 0", "device_time_total"): (12864, 10784),
    # what no op launched belongs to the zone around its launch, or to that (2)
    ("graph", "replays", "device_time_total"): (16799, 160546),
    ("graph", "replays", "self_device_time_total"): (0, 145443),
    ("threads", "cudaLaunchKernel", "device_time_total"): (0, 23937),
    ("threads", "cudaLaunchKernel", "self_device_time_total"): (0, 23937),
    ("threads", "cudaLaunchKernelExC", "device_time_total"): (0, 69921),
    ("threads", "cudaLaunchKernelExC", "self_device_time_total"): (0, 69921),
    # PyTorch takes threads without ops for one, so that their calls lie in each other (3)
    ("threads", "cudaLaunchKernel", "count"): (17, 18),
    ("threads", "cudaLaunchKernel", "cpu_time_total"): (1440653, 1450553),
    ("threads", "cudaLaunchKernel", "self_cpu_time_total"): (1395655, 1450553),
    ("threads", "cudaLaunchKernelExC", "self_cpu_time_total"): (360155, 389827),
    # waits are no work of a device (4)
    ("streams_sync", "aten::_pin_memory", "device_time_total"): (20431, 0),
    ("streams_sync", "aten::_pin_memory", "self_device_time_total"): (20431, 0),
    ("streams_sync", "aten::pin_memory", "device_time_total"): (20431, 0),
}
# an average of 22,268.5 ns, of which PyTorch's double is a little more
DIFFERENT["memory", "cudaDeviceSynchronize", ""] = ()
NO_ROWS = {"Context Sync", "Event Sync", "Stream Sync", "Stream Wait Event"}     # (4)


def load(name):
    with gzip.open(os.path.join(HERE, name), "rt") as file:
        return json.load(file) if name.endswith(".json.gz") else file.read().splitlines()


def ours_of(row):
    return [row[f] if "time" not in f else round(row[f] * 1000) for f in FIELDS]


def on_device(values):
    return values[1] == 0 and values[3] != 0


def rows(name, grouping, report):
    theirs, ours = collections.defaultdict(list), collections.defaultdict(list)
    for row in load(name + ".rows.json.gz")[grouping]:
        theirs[row[0], str(row[1] or [])].append(row[2:11])
    for row in json.load(open(report)):
        shapes = str(row["input_shapes"]) if grouping == "shapes" else "[]"
        ours[row["key"], shapes].append(ours_of(row))
    for key in sorted(set(theirs) | set(ours)):
        a, b = sorted(theirs[key], key=on_device), sorted(ours[key], key=on_device)
        if key[0] in NO_ROWS and not b:
            continue
        if len(a) != len(b):
            yield f"{key}: {len(b)} rows, not {len(a)}"
        for x, y in zip(a, b):
            for field, one, other in zip(FIELDS, x, y):
                if on_device(x) and "device_time" in field and is_annotation(name, key[0]):
                    one += 2 * x[0]     # Kineto writes them 2 ns longer than they were (5)
                if one != other and DIFFERENT.get((name, key[0], field)) != (one, other):
                    yield f'("{name}", "{key[0]}", "{field}"): ({one}, {other})'


def is_annotation(name, key):
    return any(row[0] == key and row[11] for row in load(name + ".rows.json.gz")["name"])


def table(name, file):
    """The same lines, byte for byte, but for rows above. (Where a sum is another, as of threads and
    streams_sync, all shares are.)"""
    known = {key for trace, key, _ in DIFFERENT if trace == name}
    ours = collections.Counter(open(file).read().splitlines())
    for line in load(name + ".table.txt.gz"):
        row = line[:55].strip()
        if ours[line] == 0 and row not in known and not is_annotation(name, row):
            yield f"not ours: {line}"
        ours[line] -= 1
    for line, count in ours.items():
        row = line[:55].strip()
        if count > 0 and row not in known and not is_annotation(name, row) and \
                not line.startswith(("Device 0 busy", "Recursive")):
            yield f"not PyTorch's: {line}"


def stacks(folded):
    """By path, in us. PyTorch writes a line an event, cuts each to us, leaves out the frames of
    torch/autograd/__init__.py, and shows the backward by its forward's stack (6)."""
    theirs, ours = collections.Counter(), collections.Counter()
    for lines, sums in ((load("stacks.folded.gz"), theirs), (open(folded), ours)):
        for line in lines:
            path, _, us = line.rstrip("\n").rpartition(" ")
            sums[path] += int(us)
    events = collections.Counter(line.rpartition(" ")[0] for line in load("stacks.folded.gz"))
    shared = set(theirs) & set(ours)
    if len(theirs) - len(shared) > 5:
        yield f"{len(theirs) - len(shared)} paths of PyTorch's are not there"
    for path in shared:
        if "run_backward" in path:       # ours has the backward's ops there, see above
            continue
        if ours[path] > theirs[path] + events[path] + 1:
            yield f"{ours[path]}, not {theirs[path]}: {path}"
    if not 0 <= sum(ours.values()) - sum(theirs.values()) <= sum(events.values()):
        yield f"{sum(ours.values())} us in all, not {sum(theirs.values())}"


def memory(device, raw):
    """Each allocation and each free, when and how large (7)."""
    theirs = [tuple(s[:3]) for s in load(f"stacks.{device}.raw.json.gz") if s[1] in (2, 4)]
    ours = [tuple(s[:3]) for s in json.load(open(raw)) if s[1] in (2, 4)]
    if sorted(theirs) != sorted(ours):
        yield f"{len(ours)} changes, not the {len(theirs)} of PyTorch"


def main():
    problems = list(globals()[sys.argv[1]](*sys.argv[2:]))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
