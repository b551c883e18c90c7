"""Holds `prof report` of a legacy record stream against PyTorch's answer.
   read_records.py VECTORS OUT                writes OUT/NUMBER.json, .list.json and .want.json of
                                              each case; prints how many there are
   read_records.py --same OUT COUNT [merged]  compares OUT/NUMBER.report.json; exit status 1 and
                                              the first difference on stderr
The rows are made from the vectors' events as EventList and FunctionEventAvg do."""
import gzip
import json
import sys


def parents(events):
    """Index of each event's parent, or None: torch.autograd.profiler_util._populate_cpu_children."""
    found = [None] * len(events)
    threads = {}
    for i, event in enumerate(events):
        if not event["is_async"]:
            threads.setdefault(event["thread"], []).append(i)
    for numbers in threads.values():
        stack = []
        for i in sorted(numbers, key=lambda i: (events[i]["start"], -events[i]["end"])):
            while stack and (events[i]["start"] >= events[stack[-1]]["end"]
                             or events[i]["end"] > events[stack[-1]]["end"]):
                stack.pop()
            if stack:
                found[i] = stack[-1]
            stack.append(i)
    return found


def merge(events, found):
    """_remove_dup_nodes: an only child of its parent's name goes; a legacy kernel stays alone."""
    kept = set(range(len(events)))
    while True:
        children = {}
        for i in kept:
            children.setdefault(found[i], []).append(i)
        gone = {i for i in kept if found[i] is not None and len(children[found[i]]) == 1
                and events[found[i]]["name"] == events[i]["name"]}
        if not gone:
            return sorted(kept)
        for i in kept:
            while found[i] in gone:
                found[i] = found[found[i]]
        kept -= gone


def rows(events, merged):
    found = parents(events)
    kept = merge(events, found) if merged else list(range(len(events)))
    table = {}

    def device(i):
        return 0 if events[i]["is_async"] else sum(kernel[2] for kernel in events[i]["kernels"])

    for i in kept:
        event = events[i]
        row = table.setdefault(event["name"], dict.fromkeys(
            ("count", "cpu_time_total", "self_cpu_time_total", "device_time_total",
             "self_device_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
             "device_memory_usage", "self_device_memory_usage"), 0))
        mine = {"cpu_time_total": event["end"] - event["start"], "device_time_total": device(i),
                "cpu_memory_usage": event["cpu_mem"], "device_memory_usage": event["dev_mem"]}
        row["count"] += 1
        for key, value in mine.items():
            row[key] += value
            if event["is_async"]:
                continue
            row["self_" + key] += value
        if found[i] is not None:
            other = table[events[found[i]]["name"]]
            for key, value in mine.items():
                other["self_" + key] -= value
    return table


def compare(want_file, report_file, merged):
    want = rows(json.load(open(want_file)), merged)
    got = {row["key"].replace("ProfilerStep#3", "ProfilerStep*"): row
           for row in json.load(open(report_file))}
    if set(want) != set(got):
        sys.exit(f"rows {sorted(got)}, not {sorted(want)}")
    for name, row in want.items():
        if not got[name]["is_legacy"]:
            sys.exit(f"{name} is not legacy")
        for key, value in row.items():
            if abs(got[name][key] - value) > 0.002:
                sys.exit(f"{name}.{key}: {got[name][key]}, not {value}")


if sys.argv[1] == "--same":
    for number in range(int(sys.argv[3])):
        name = f"{sys.argv[2]}/{number}"
        compare(name + ".want.json", name + ".report.json", len(sys.argv) > 4)
else:
    with gzip.open(sys.argv[1]) as file:
        for number, case in enumerate(json.load(file)):
            name = f"{sys.argv[2]}/{number}"
            json.dump(case.pop("ok")["events"], open(name + ".want.json", "w"))
            json.dump(case, open(name + ".json", "w"))
            json.dump(case["threads"], open(name + ".list.json", "w"))
    print(number + 1)
