#!/usr/bin/env python3
"""Independent readings of traces, to compare with what the prof command says of them.

    read_more.py stacks TRACE FOLDED      prof stacks TRACE
    read_more.py gaps TRACE GAPS.json     prof gaps --format json TRACE
    read_more.py memory TRACE CSV TIMELINE RAW     prof memory --format csv, json, raw TRACE
    read_more.py cut TRACE PART FROM TO   prof cut TRACE, of that window of the file's own time
    read_more.py merge OUT TRACE...       prof merge -o OUT TRACE...
    read_more.py svg FILE...              well-formed, frames within their parents

Prints what differs; exit status 1 when something does.
"""
import collections
import csv
import gzip
import json
import re
import sys
import xml.etree.ElementTree
from decimal import Decimal

from read_trace import DEVICE, RUNTIME, load, ns, with_overhead

NO_CALL = DEVICE | {"gpu_user_annotation", "cuda_sync", "Trace"}


def calls_of(events):
    """Those on a CPU thread, by thread: (start, -end, name, event)."""
    threads = collections.defaultdict(list)
    for e in events:
        if e.get("cat") in NO_CALL:
            continue
        start = ns(e.get("ts", 0))
        threads[str(e.get("pid", 0)), str(e.get("tid", 0))].append(
            (start, -start - ns(e.get("dur", 0)), e.get("name", ""), e))
    for calls in threads.values():
        calls.sort(key=lambda c: c[:2])
    return threads


def folded(events):
    paths = collections.Counter()
    for calls in calls_of(list(with_overhead(events))).values():
        stack = []
        for start, end, name, event in calls:
            end = -end
            while stack and (stack[-1][0] <= start or stack[-1][0] < end):
                stack.pop()
            above = stack[-1][1] if stack else ()
            frames = (event.get("args") or {}).get("Call stack")
            python = event.get("cat") == "python_function"
            if frames and not python and not (stack and stack[-1][3]):
                above = tuple(reversed(frames.rstrip(";").split(";"))) + \
                    tuple(entry[2] for entry in stack)
            path = above + (re.sub(r"[ ;\t\n\r]", "_", name),)
            paths[path] += end - start
            if stack:
                paths[stack[-1][1]] -= end - start
            stack.append((end, path, path[-1], python or bool(stack and stack[-1][3])))
    sums = {}
    for path, time in paths.items():
        text = ";".join(re.sub(r"[ \t\n\r]", "_", entry) for entry in path)
        sums[text] = sums.get(text, 0) + time
    return {text: time // 1000 for text, time in sums.items() if time >= 1000}


def stacks(trace, file):
    want, got = folded(load(trace)), collections.Counter()
    for line in open(file, encoding="utf-8", errors="replace"):
        path, _, time = line.rstrip("\n").rpartition(" ")
        got[path] += int(time)
    for path in sorted(set(want) | set(got)):
        # names that differ only in what a line cannot hold are two paths there, and one here
        if abs(want.get(path, 0) - got.get(path, 0)) > 2:
            yield f"{path}: {got.get(path)}, not {want.get(path)}"


def waited(syncs, begin, end):
    """Time of [begin, end) in any of these intervals."""
    moments = sorted({begin, end} | {t for s in syncs for t in s if begin < t < end})
    return sum(b - a for a, b in zip(moments, moments[1:])
               if any(s[0] <= a and b <= s[1] for s in syncs))


def idle_of(events):
    """{device: {cause: ns}}"""
    launches, syncs, works = {}, collections.defaultdict(list), collections.defaultdict(list)
    for e in events:
        args = e.get("args") or {}
        start = ns(e.get("ts", 0))
        if e.get("cat") in RUNTIME:
            thread, name = (e.get("pid"), e.get("tid")), e.get("name", "")
            if "correlation" in args:
                launches[args["correlation"]] = start, thread
            if "Synchronize" in name or ("Memcpy" in name and "Async" not in name and
                                         "Node" not in name):
                syncs[thread].append((start, start + ns(e.get("dur", 0))))
        elif e.get("cat") in DEVICE:
            works[e.get("pid", 0)].append((start, start + ns(e.get("dur", 0)),
                                           args.get("correlation")))
    causes = {}
    for device, members in works.items():
        cause = causes[device] = collections.Counter()
        members.sort(key=lambda w: w[0])
        begin = end = members[0][0]
        for start, stop, correlation in members:
            if start > end:
                launch, thread = launches.get(correlation, (None, None))
                if launch is None:
                    cause["unknown"] += start - end
                elif launch <= end:
                    cause["wait" if start - end > 10000 else "turnaround"] += start - end
                else:
                    launch = min(launch, start)
                    sync = waited(syncs[thread], end, launch)
                    cause.update(synchronize=sync, host=launch - end - sync, launch=start - launch)
            end = max(end, stop)
        cause["busy"] = end - begin - sum(cause.values())
    return causes


def gaps(trace, file):
    rows = json.load(open(file, encoding="utf-8"), parse_float=Decimal)
    want = sorted(sorted((k, v) for k, v in c.items() if v) for c in idle_of(load(trace)).values())
    got = collections.defaultdict(dict)
    for row in rows:
        if row["Time (us)"]:
            got[row["Device"]][row["Cause"]] = ns(row["Time (us)"])
    for device, cause in got.items():
        parts = [cause.pop(kind, 0) for kind in ("compute", "exposed communication",
                                                 "exposed memory")]
        idle = cause.pop("idle", 0)
        if sum(parts) != cause["busy"] or idle != sum(cause.values()) - cause["busy"]:
            yield f"{device}: busy {parts}, idle {idle} of {cause}"
    got = sorted(sorted(c.items()) for c in got.values())
    if got != want:
        yield f"{got}, not {want}"


def everything(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
        return json.load(file, parse_float=Decimal)


def events_of(trace):
    return trace.get("traceEvents", []) if isinstance(trace, dict) else trace


def cut(trace, part, begin, end):
    whole, got = everything(trace), everything(part)
    if isinstance(whole, dict) and {**whole, "traceEvents": 0} != {**got, "traceEvents": 0}:
        yield "the members differ"
    begin, end, launches, works, want = ns(Decimal(begin)), ns(Decimal(end)), {}, [], []

    def inside(e, low=begin, high=end):
        start = ns(e.get("ts", 0))
        return start < high and (start + ns(e.get("dur", 0)) > low or start >= low)

    for e in events_of(whole):
        if e.get("ph") == "X" and e.get("cat") in RUNTIME and "correlation" in e.get("args", {}):
            launches[e["args"]["correlation"]] = inside(e)
    low, high = begin, end
    for e in events_of(whole):
        if e.get("ph") == "X" and e.get("cat") in DEVICE:
            if launches.get((e.get("args") or {}).get("correlation"), inside(e)):
                works.append(e)
                low, high = min(low, ns(e["ts"])), max(high, ns(e["ts"]) + ns(e.get("dur", 0)))
    for e in events_of(whole):
        if e.get("ph") == "X" and e.get("cat") in ("gpu_user_annotation", "cuda_sync"):
            want += [e] if inside(e, low, high) else []
        elif e.get("ph") == "X":
            want += [e] if e.get("cat") not in DEVICE and inside(e) else []
        elif e.get("ph") == "M" or (e.get("ph") not in "stf" and begin <= ns(e.get("ts", 0)) < end):
            want.append(e)
    parts, flows = [], collections.Counter()
    for e in events_of(got):
        if e.get("ph") in "sf":
            flows[e.get("cat"), str(e.get("id")), e["ph"]] += 1
        else:
            parts.append(e)
    if sorted(map(str, parts)) != sorted(map(str, want + works)):
        yield f"{len(parts)} events, not {len(want)} and {len(works)} of devices"
    for cat, number, phase in flows:
        if (cat, number, "f" if phase == "s" else "s") not in flows:
            yield f"flow {cat} {number} has only one end"


def merge(merged, *traces):
    """Every event is there, with its time on the common base, and nothing of another rank."""
    got = everything(merged)
    files = {rank["file"]: rank for rank in got["ranks"]}
    order = [rank["file"] for rank in got["ranks"]]
    base, parts = got.get("baseTimeNanoseconds", 0), collections.defaultdict(list)
    pids, flows = {}, collections.Counter()
    for e in events_of(got):
        if e["ph"] == "M" and e["name"] == "process_name":
            pids[e["pid"]] = e["args"]["name"]
        if e["ph"] != "M":
            parts[int(re.match(r"rank (\d+)", pids[e["pid"]]).group(1))].append(e)
        if e["ph"] in "sf":
            flows[e.get("cat"), e["id"], e["ph"]] += 1
    sources = collections.Counter()
    for number, path in enumerate(order):
        whole, above = everything(path), number << 32
        shift = whole.get("baseTimeNanoseconds", 0) if isinstance(whole, dict) else 0
        shift += ns(files[path]["clock_us"]) - base
        want = []
        for e in events_of(whole):
            if e["ph"] == "M":
                continue
            args = {k: v + above if k in ("correlation", "External id", "external id",
                                          "wait_on_cuda_event_record_corr_id") and v > 0 else v
                    for k, v in (e.get("args") or {}).items()}
            want.append((e.get("name"), ns(e.get("ts", 0)) + shift, ns(e.get("dur", 0)), str(args)))
            if e["ph"] in "sf":
                sources[number, e.get("cat"), e["id"], e["ph"]] += 1
        have = [(e.get("name"), ns(e.get("ts", 0)), ns(e.get("dur", 0)), str(e.get("args") or {}))
                for e in parts[files[path]["rank"]]]
        if sorted(have, key=str) != sorted(want, key=str):
            yield f"{path}: {len(have)} events, {len(want)} wanted: {set(have) ^ set(want)}"[:300]
    if sorted(flows.values()) != sorted(sources.values()):
        yield f"{len(flows)} flow ends, not {len(sources)}"
    if sorted(traces) != sorted(order):
        yield f"the files are {order}"


def peaks(trace):
    """{device: (peak, allocations, frees)} by the totals that the trace itself has."""
    found = {}
    for e in events_of(everything(trace)):
        if e.get("name") == "[memory]" and e.get("ph") == "i":
            args = e["args"]
            name = {0: "cpu", 1: "cuda"}[args["Device Type"]]
            name += f":{args['Device Id']}" if args["Device Id"] >= 0 else ""
            peak, allocations, frees = found.get(name, (0, 0, 0))
            before = args["Total Allocated"] - args["Bytes"]
            found[name] = (max(peak, before, args["Total Allocated"]),
                           allocations + (args["Bytes"] >= 0), frees + (args["Bytes"] < 0))
    return found


def memory(trace, table, timeline, raw):
    want = peaks(trace)
    got = {row["Device"]: (int(row["Peak (B)"]), int(row["Allocations"]), int(row["Frees"]))
           for row in csv.DictReader(open(table, encoding="utf-8"))}
    if got != want:
        yield f"{got}, not {want}"
    if not want:
        return
    times, sizes = json.load(open(timeline, encoding="utf-8"))
    rows = json.load(open(raw, encoding="utf-8"))
    first = min((name for name in want if name != "cpu"), default="cpu")
    peak = want[first][0]
    if len(times) != len(sizes) or times != sorted(times) or {len(row) for row in sizes} != {9}:
        yield "the timeline is no table in order of time"
    if max(map(sum, sizes)) != peak or min(map(min, sizes)) < 0:
        yield f"the timeline's peak is {max(map(sum, sizes))}, not {peak}"
    state, highest = collections.Counter(), 0
    for _, action, size, category in rows:
        state[category] += size
        highest = max(highest, sum(state.values()))
        if (action == 4) != (size < 0):
            yield f"action {action} of {size} bytes"
    if highest != peak or [state[c] for c in range(8)] != sizes[-1][1:]:
        yield f"raw: {highest}, {state}, not {peak}, {sizes[-1]}"


def svg(*files):
    for file in files:
        root = xml.etree.ElementTree.parse(file).getroot()
        open_frames, count = [], 0
        for g in root.iter("{http://www.w3.org/2000/svg}g"):
            start, time, depth = map(int, g.get("data-at").split())
            del open_frames[depth:]
            if len(open_frames) != depth:
                yield f"{file}: a frame without its parent"
            if open_frames and not open_frames[-1][0] <= start <= start + time <= open_frames[-1][1]:
                yield f"{file}: {g.get('data-name')} is outside of its parent"
            open_frames.append((start, start + time))
            count += 1
        if count == 0:
            yield f"{file}: no frames"


def main():
    differences = list(globals()[sys.argv[1]](*sys.argv[2:]))
    print("\n".join(differences[:10]))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
