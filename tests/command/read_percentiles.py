"""prof report --percentiles --format json against durations as the trace has them.
    read_percentiles.py TRACE ROWS.json
Compares rows of names whose events are all of one kind; fails where fewer than half of the rows are.
"""
import collections
import gzip
import json
import re
import sys
from decimal import Decimal

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "gpu_user_annotation")

trace, rows = sys.argv[1:]
with (gzip.open if trace.endswith(".gz") else open)(trace, "rt", errors="replace") as file:
    events = json.load(file, parse_float=Decimal)
events = events["traceEvents"] if isinstance(events, dict) else events
calls = collections.defaultdict(list)
for e in events:
    if e.get("ph") == "X" and "dur" in e:
        name = re.sub(r"^ProfilerStep#\d+$", "ProfilerStep*", str(e.get("name", "")))
        calls[name, e.get("cat") in DEVICE].append(max(Decimal(e["dur"]), 0))
compared, wrong, found = 0, [], json.load(open(rows, encoding="utf-8"), parse_float=Decimal)
for row in found:
    durations = sorted(calls[row["key"], row["device_type"] > 0])
    if len(durations) != row["count"]:
        continue
    compared += 1
    for field, percent in (("min", 0), ("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
        want = durations[max(0, (len(durations) * percent + 99) // 100 - 1)]
        if row[field] != want:
            wrong.append(f"{row['key'][:40]}: {field} is {row[field]}, not {want}")
if wrong or compared * 2 < len(found) or not found:
    sys.exit("; ".join(wrong[:3]) or f"{compared} of {len(found)} rows could be compared")
