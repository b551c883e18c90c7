#!/usr/bin/env python3
"""Lists of events and what PyTorch's EventList answers to them (README.md tells where it is mended),
written down as plainly as can be: quadratic, recursive, in doubles.

    make_event_vectors.py SEED FILE     writes random vectors for build/tests/replay: event_lists,
                                        or kineto_events where the file's name begins so
    make_event_vectors.py --check FILE  answers the vectors of FILE (.json or .json.gz) itself:
                                        prints where its answers are not those that stand there
"""
import gzip
import json
import math
import random
import sys

ON_DEVICE = ["CUDA", "XPU", "MTIA", "PrivateUse1", "HPU"]


class Event:
    """A FunctionEvent."""

    def __init__(self, given):
        self.given = given
        self.key = given["name"]
        self.id = given["id"]
        self.start, self.end = given["start_us"], given["end_us"]
        self.thread, self.node_id = given["thread"], given.get("node_id", -1)
        self.use_device = given.get("use_device")
        self.device_type = given.get("device_type", "CPU")
        self.is_async = given.get("is_async", False)
        self.is_remote = given.get("is_remote", False)
        self.is_legacy = given.get("is_legacy", False)
        self.is_user_annotation = given.get("is_user_annotation", False)
        self.overload_name = given.get("overload_name")
        self.input_shapes = given.get("input_shapes")
        self.stack = given.get("stack")
        self.scope = given.get("scope", 0)
        self.flops = given.get("flops")
        self.cpu_memory_usage = given.get("cpu_memory_usage", 0)
        self.device_memory_usage = given.get("device_memory_usage", 0)
        self.kernels = [list(k) for k in given.get("kernels", [])]
        self.parent, self.children, self.count = None, [], 1

    def in_tree(self):
        return not self.is_async and self.device_type == "CPU"

    def finish(self):
        """Times and memory, of children first."""
        for child in self.children:
            child.finish()
        self.cpu_time_total = self.end - self.start if self.device_type == "CPU" else 0
        if self.is_async or not self.use_device:
            self.device_time_total = 0
        elif self.device_type != "CPU":
            self.device_time_total = self.end - self.start
        else:
            self.device_time_total = sum(k[2] for k in self.kernels)
            if not self.is_legacy:
                self.device_time_total += sum(c.device_time_total for c in self.children)
        for name in ("cpu_time_total", "device_time_total", "cpu_memory_usage",
                     "device_memory_usage"):
            own = getattr(self, name) - sum(getattr(c, name) for c in self.children)
            device_own = name == "device_time_total" and self.device_type != "CPU"
            setattr(self, "self_" + name, own if self.in_tree() or device_own else 0)
        if self.is_async:
            self.self_device_time_total = 0


def find_parents(events):
    for event in events:
        if not event.in_tree():
            continue
        # the one that began last before it, of those that hold it; not looking past what ended
        for other in reversed(events[:events.index(event)]):
            if not other.in_tree() or (other.thread, other.node_id) != (event.thread,
                                                                       event.node_id):
                continue
            if getattr(other, "closed", False):
                continue
            if event.start >= other.end or event.end > other.end:
                other.closed = True
                continue
            event.parent = other
            other.children.append(event)
            break


def remove_duplicates(events):
    kept = []
    for event in events:
        up = event.parent
        if up is None or up.key != event.key or len(up.children) != 1:
            kept.append(event)
            continue
        up.children = event.children
        if not (up.is_legacy and up.kernels):
            up.kernels += event.kernels
        for child in event.children:
            child.parent = up
    return kept


def backward_of(event):
    while event is not None and event.scope != 1:
        event = event.parent
    return event


def set_backward_stacks(events):
    stacks = {}
    for event in events:
        if backward_of(event) is None and event.stack is not None:
            stacks.setdefault((event.given.get("sequence_nr", -1), event.thread), event.stack)
    for event in events:
        backward = backward_of(event)
        if backward is not None:
            forward = backward.given.get("fwd_thread")
            event.stack = stacks.get((backward.given.get("sequence_nr", -1), forward), []) \
                if forward is not None else []


SUMS = ["cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
        "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage",
        "self_device_memory_usage"]
FIRSTS = ["key", "node_id", "device_type", "is_legacy", "is_user_annotation", "is_async",
          "is_remote", "overload_name", "input_shapes", "stack", "scope", "use_device", "parent"]


class Average:
    """A FunctionEventAvg."""

    def __init__(self, events, like):
        for name in FIRSTS:
            setattr(self, name, getattr(like, name))
        for name in SUMS:
            setattr(self, name, sum(getattr(e, name) for e in events))
        self.count = len(events)
        self.flops = sum(e.flops or 0 for e in events)

    def json(self):
        row = {name: getattr(self, name) for name in FIRSTS[:-2] + SUMS + ["count", "flops"]}
        row["device_type"] = "DeviceType." + row["device_type"]
        row["input_shapes"] = str(row["input_shapes"])
        row["cpu_time"] = 1.0 * self.cpu_time_total / self.count
        row["device_time"] = 1.0 * self.device_time_total / self.count
        return row


def averages(events, shapes=False, stack_n=0, overload=False):
    groups = {}
    for e in events:
        key = [e.key, str(e.node_id), e.device_type, str(e.is_legacy), str(e.is_user_annotation)]
        key += [e.overload_name] if overload else []
        key += [str(e.input_shapes)] if shapes else []
        key += e.stack[:stack_n] if stack_n else []
        groups.setdefault(tuple(key), []).append(e)
    rows = [Average(group, group[0]) for group in groups.values()]
    for row in rows:
        row.stack = row.stack[:stack_n]
        row.input_shapes = row.input_shapes if shapes else ""
        row.overload_name = row.overload_name if overload else ""
    return rows


def time_text(us, unit=None):
    unit = unit or ("s" if us >= 1e6 else "ms" if us >= 1e3 else "us")
    return "%.3f%s" % (us / {"s": 1e6, "ms": 1e3, "us": 1}[unit], unit)


def share_text(part, total):
    return "NaN" if total == 0 else "%.2f%%" % (part * 100.0 / total)


def memory_text(n):
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(n) >= size:
            return "%.2f %s" % (n * 1.0 / size, unit)
    return "%d B" % n


def cut_name(name, most):
    return name[:most - 3] + "..." if most is not None and len(name) >= most - 3 else name


def cut_path(path, most):
    if len(path) <= most:
        return path
    path = path[len(path) - most:]
    return "..." + path[3:] if len(path) > 3 else path


def table(rows, args, profile_memory, with_flops):
    """The columns from left to right: head, width, what stands in a row."""
    if not rows:
        return ""
    unit, device = args.get("time_unit"), rows[0].use_device
    widest = {"name": args.get("max_name_column_width", 55),
              "src": args.get("max_src_column_width", 75),
              "shapes": args.get("max_shapes_column_width", 80)}
    has_device = any(r.self_device_time_total > 0 for r in rows)
    device_memory = any(r.self_device_memory_usage > 0 for r in rows)
    sort_by = args.get("sort_by")
    if sort_by:
        for other in ("cuda", "xpu", "privateuse1"):
            sort_by = sort_by.replace(other, "device")
        average = sort_by in ("cpu_time", "device_time")
        rows = sorted(rows, key=lambda r: getattr(r, sort_by + "_total") / r.count if average
                      else getattr(r, sort_by), reverse=True)

    def fit(longest, most):
        return longest + 4 if most is None else min(longest + 4, most)

    width = fit(max(len(r.key) for r in rows), widest["name"])
    own_sum = sum(r.self_cpu_time_total for r in rows)
    device_sum = sum(r.self_device_time_total for r in rows
                     if (r.is_legacy if r.device_type == "CPU" else not r.is_user_annotation))
    columns = [("Name", width, lambda r: cut_name(r.key, widest["name"]))]
    if any(r.overload_name for r in rows):
        columns.append(("Overload Name", width, lambda r: cut_name(r.overload_name,
                                                                   widest["name"])))
    columns += [
        ("Self CPU %", 12, lambda r: share_text(r.self_cpu_time_total, own_sum)),
        ("Self CPU", 12, lambda r: time_text(r.self_cpu_time_total, unit)),
        ("CPU total %", 12, lambda r: "0" if r.is_async else share_text(r.cpu_time_total, own_sum)),
        ("CPU total", 12, lambda r: time_text(r.cpu_time_total, unit)),
        ("CPU time avg", 12, lambda r: time_text(1.0 * r.cpu_time_total / r.count, unit))]
    if has_device:
        name = device.upper() if device else "None"
        columns += [
            ("Self %s" % name, 12, lambda r: time_text(r.self_device_time_total, unit)),
            ("Self %s %%" % name, 12, lambda r: share_text(r.self_device_time_total, device_sum)),
            ("%s total" % name, 12, lambda r: time_text(r.device_time_total, unit)),
            ("%s time avg" % name, 12, lambda r: time_text(1.0 * r.device_time_total / r.count,
                                                           unit))]
    if profile_memory:
        columns += [("CPU Mem", 12, lambda r: memory_text(r.cpu_memory_usage)),
                    ("Self CPU Mem", 12, lambda r: memory_text(r.self_cpu_memory_usage))]
        if device and device_memory:
            columns += [("%s Mem" % device.upper(), 12,
                         lambda r: memory_text(r.device_memory_usage)),
                        ("Self %s Mem" % device.upper(), 12,
                         lambda r: memory_text(r.self_device_memory_usage))]
    columns.append(("# of Calls", 12, lambda r: str(r.count)))
    if any(r.node_id != -1 for r in rows):
        columns.append(("Node ID", 12, lambda r: str(r.node_id)))
    if any(r.input_shapes for r in rows):
        shapes = fit(max(len(str(r.input_shapes)) for r in rows), widest["shapes"])
        columns.append(("Input Shapes", shapes, lambda r: str(r.input_shapes)[:shapes]))
    counts = [r.flops for r in rows if r.flops and r.flops > 0]
    if with_flops and counts:
        log = max(0, min(math.log10(min(counts)) / 3, 5.0))
        scale = pow(10, math.floor(log) * -3.0)
        head = "Total " + ["FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"][int(log)]
        columns.append((head, 12, lambda r: "--" if (r.flops or 0) <= 0
                        else "%8.3f" % (r.flops * scale)))
    source = [r.stack for r in rows if r.stack]
    if source:
        src = fit(max(len(entry) for stack in source for entry in stack), widest["src"])
        columns.append(("Source Location", -src, lambda r: cut_path(r.stack[0], src)
                        if r.stack else ""))

    def line(cells):
        return "".join((c.ljust(-w) if w < 0 else c.rjust(w)) + "  "
                       for c, (_, w, _) in zip(cells, columns)) + "\n"

    rule = "".join("-" * abs(w) + "  " for _, w, _ in columns) + "\n"
    across = "=" * (sum(abs(w) + 2 for _, w, _ in columns) - 2) + "\n"
    text = ""
    if args.get("header") is not None:
        text += across + args["header"] + "\n"
    if args.get("top_level_events_only"):
        text += across + "This report only display top-level ops statistics\n"
    text += rule + line([head for head, _, _ in columns]) + rule
    left = args.get("row_limit", 100)
    for r in rows:
        if left == 0:
            break
        if args.get("top_level_events_only") and r.parent is not None:
            continue
        left -= 1
        text += line([cell(r) for _, _, cell in columns])
        if source:
            for entry in r.stack[1:]:
                text += line([""] * (len(columns) - 1) + [cut_path(entry, src)])
            text += line([""] * len(columns))
    text += rule + "Self CPU time total: %s\n" % time_text(own_sum, unit)
    if has_device:
        text += "Self %s time total: %s\n" % (name, time_text(device_sum, unit))
    return text


def stacks(events, metric):
    for other in ("cuda", "xpu", "privateuse1"):
        metric = metric.replace(other, "device")
    text = ""
    for e in events:
        if e.stack and int(getattr(e, metric)) > 0:
            entries = [entry.translate(str.maketrans(" ;\t\n", "____")) for entry in e.stack]
            text += ";".join(reversed(entries)) + " %d\n" % int(getattr(e, metric))
    return text


def legacy_chrome(events, device):
    """EventList.export_chrome_trace: an arrow begins at each kernel's event; none ends."""
    out, flows = [], 0
    for e in events:
        name = e.given.get("trace_name")
        if name is None:
            continue
        where = {"tid": e.thread, "pid": "CPU functions"}
        out.append(dict(where, name=name, ph="X", ts=e.start, dur=e.end - e.start, args={}))
        if e.is_remote:
            out[-1]["tid"] = " node_id:%d, thread_id:%d " % (e.node_id, e.thread)
        for _ in e.kernels:
            out.append(dict(where, name=name, ph="s", ts=e.start, id=flows,
                            cat="cpu_to_" + (device or "cuda"), args={}))
            flows += 1
    return out


NOTHING = dict({name: 0 for name in SUMS + ["count", "flops", "node_id"]}, cpu_time=0.0,
               device_time=0.0, device_type="DeviceType.CPU", is_legacy=False, is_async=False,
               is_remote=False, is_user_annotation="<absent>", overload_name=None, input_shapes="None",
               stack=None, scope=None)

TABLES = [
    ("plain", {}, {}), ("sorted3", {}, {"sort_by": "self_cpu_time_total", "row_limit": 3}),
    ("by_cuda", {}, {"sort_by": "cuda_time_total"}),
    ("by_mem", {}, {"sort_by": "cpu_memory_usage"}),
    ("by_count", {}, {"sort_by": "count", "time_unit": "us"}),
    ("shapes", {"group_by_input_shapes": True}, {"sort_by": "cpu_time_total"}),
    ("stack", {"group_by_stack_n": 2}, {}), ("overload", {"group_by_overload_name": True}, {}),
    ("raw_top", None, {"top_level_events_only": True, "row_limit": 5}),
    ("header_ms", {}, {"header": "HDR", "time_unit": "ms", "max_name_column_width": 12}),
    ("narrow", {"group_by_input_shapes": True, "group_by_stack_n": 1},
     {"max_src_column_width": 7, "max_shapes_column_width": 9, "time_unit": "s"}),
    ("by_cpu_avg", {}, {"sort_by": "cpu_time"}),
    ("by_cuda_avg", {}, {"sort_by": "cuda_time", "time_unit": "ms"}),
    ("by_self_mem", {}, {"sort_by": "self_cpu_memory_usage"}),
    ("by_self_cuda_mem", {}, {"sort_by": "self_cuda_memory_usage"}),
    ("combo", {"group_by_input_shapes": True, "group_by_stack_n": 3,
               "group_by_overload_name": True}, {}),
    ("stack5", {"group_by_stack_n": 5}, {"max_src_column_width": 20}),
    ("raw_all", None, {"row_limit": -1, "sort_by": "self_cpu_time_total"}),
    ("unlimited", {"group_by_stack_n": 1},
     {"max_name_column_width": None, "max_src_column_width": None,
      "max_shapes_column_width": None}),
    ("tiny", {"group_by_input_shapes": True, "group_by_stack_n": 2},
     {"max_name_column_width": 5, "max_src_column_width": 3, "max_shapes_column_width": 2})]


def answer(case, tables, metrics):
    events = [Event(given) for given in case["events"]]
    find_parents(events)
    events = remove_duplicates(events)
    set_backward_stacks(events)
    for e in events:
        if e.parent is None:
            e.finish()
    at = {id(e): i for i, e in enumerate(events)}
    total = Average(events, events[-1]) if events else None

    def rows(grouping):
        if grouping is None:
            return events
        return averages(events, grouping.get("group_by_input_shapes", False),
                        grouping.get("group_by_stack_n", 0),
                        grouping.get("group_by_overload_name", False))

    ok = {"kept": [e.id for e in events],
          "parent": [None if e.parent is None else at[id(e.parent)] for e in events],
          "children": [[at[id(c)] for c in e.children] for e in events],
          "kernels": [e.kernels for e in events],
          "self_cpu": [e.self_cpu_time_total for e in events],
          "cpu": [e.cpu_time_total for e in events],
          "dev": [e.device_time_total for e in events],
          "self_dev": [e.self_device_time_total for e in events],
          "self_cpu_mem": [e.self_cpu_memory_usage for e in events],
          "self_dev_mem": [e.self_device_memory_usage for e in events],
          "stack": [e.stack for e in events],
          "self_cpu_time_total": sum(e.self_cpu_time_total for e in events),
          "averages": {name: [row.json() for row in rows(grouping)] for name, grouping in (
              ("plain", {}), ("shapes", {"group_by_input_shapes": True}),
              ("stack2", {"group_by_stack_n": 2}), ("overload", {"group_by_overload_name": True}))},
          "tables": [{"name": name, "key_averages": grouping, "args": args,
                      "ok": table(rows(grouping), args, case["profile_memory"],
                                  case["with_flops"])} for name, grouping, args in tables],
          "stacks": {metric: {"ok": stacks(events, metric)} for metric in metrics},
          "legacy_chrome": {"ok": legacy_chrome(events, case["use_device"])}}
    ok["total"] = dict(total.json() if total else NOTHING, key="Total")
    return ok


# ---- Raw events of Kineto ----

UTILITIES = ["[memory]", "[OutOfMemory]", "profiler::_record_function_enter",
             "profiler::_record_function_enter_new", "profiler::_record_function_exit",
             "aten::is_leaf", "aten::output_nr", "aten::_version"]
MANGLED = {"_ZN4gemm3runEv": "gemm::run()", "_ZN2at4_ops3add4callEv": "at::_ops::add::call()"}


def cooked(raw, start_ns, use_device):
    """A raw event as the arguments of a FunctionEvent."""
    trace_name = MANGLED.get(raw["name"], raw["name"])
    name = "ProfilerStep*" if trace_name.startswith("ProfilerStep#") else trace_name
    thread, types = raw["start_thread_id"], ["CPU", "CUDA"]
    return {"id": raw.get("correlation_id", 0), "name": name, "trace_name": trace_name,
            "thread": thread, "start_us": (raw["start_ns"] - start_ns) / 1000,
            "end_us": (raw["end_ns"] - start_ns) / 1000, "use_device": use_device,
            "device_type": types[raw.get("device_type") or 0], "stack": [],
            "input_shapes": raw.get("shapes"), "flops": raw.get("flops", 0),
            "is_async": raw.get("end_thread_id", thread) != thread, "overload_name": "",
            "is_user_annotation": raw.get("is_user_annotation", False)}


def charge(event, raw):
    """A memory record belongs to the event, or is it."""
    if raw.get("device_type"):
        event.device_memory_usage += raw["nbytes"]
    else:
        event.cpu_memory_usage += raw["nbytes"]


def from_kineto(case):
    memory = [raw for raw in case["events"] if raw["name"] == "[memory]"]
    events, links, taken, last_id = [], [], set(), 0
    for raw in case["events"]:
        if raw["name"] in UTILITIES:
            continue
        event = Event(cooked(raw, case["trace_start_ns"], case["use_device"]))
        for i, record in enumerate(memory):
            if event.device_type == "CPU" and record["start_thread_id"] == event.thread and \
                    raw["start_ns"] <= record["start_ns"] < raw["end_ns"]:
                charge(event, record)
                taken.add(i)
        last_id = max(last_id, event.id)
        events.append(event)
        links.append(raw.get("linked_correlation_id") or 0)
    for event, own_link in zip(list(events), list(links)):
        if own_link or not event.in_tree():
            continue
        if any(e.id == event.id and not k and e.in_tree() for e, k in
               zip(events[:events.index(event)], links)):
            continue                     # of two with one id the first counts
        for other, link in zip(events, links):
            if link == event.id and link and other.device_type != "CPU":
                event.kernels.append([other.key, 0, other.end - other.start])
            elif link == event.id and link:
                other.thread = event.thread
    for i, record in enumerate(memory):
        if i in taken:
            continue
        last_id += 1
        event = Event(cooked(dict(record, correlation_id=last_id, device_type=0),
                             case["trace_start_ns"], case["use_device"]))
        event.given["trace_name"], event.input_shapes = None, []
        charge(event, record)
        events.append(event)
    return sorted(events, key=lambda e: (e.start, -e.end))


def answer_kineto(case):
    events = from_kineto(case)
    find_parents(events)
    events = remove_duplicates(events)
    set_backward_stacks(events)
    for e in events:
        if e.parent is None:
            e.finish()
    at = {id(e): i for i, e in enumerate(events)}
    rows = averages(events)
    return {"events": [
                {"id": e.id, "name": e.key, "trace_name": e.given["trace_name"],
                 "thread": e.thread, "start": e.start, "end": e.end, "is_async": e.is_async,
                 "device": "DeviceType." + e.device_type, "cpu_mem": e.cpu_memory_usage,
                 "dev_mem": e.device_memory_usage, "kernels": e.kernels,
                 "parent": None if e.parent is None else at[id(e.parent)],
                 "self_cpu": e.self_cpu_time_total, "dev": e.device_time_total} for e in events],
            "averages": [row.json() for row in rows],
            "table": {"ok": table(rows, {"sort_by": "cpu_time_total"}, True, False)}}


def random_kineto(r):
    """Operators nested on two threads, some launching a kernel, some allocating."""
    device, events, ids = r.choice([None, "cuda"]), [], iter(range(1, 1000))

    def nest(thread, start, end, depth):
        at = start + r.randint(0, 3000)
        while at < end and len(events) < 40:
            stop = min(at + r.randint(1, 40000), end)
            one = {"name": r.choice(["aten::mm", "aten::empty", "label", "aten::is_leaf",
                                     "ProfilerStep#%d" % r.randint(0, 9), *MANGLED]),
                   "start_ns": at, "end_ns": stop, "correlation_id": next(ids),
                   "start_thread_id": thread, "shapes": [[2, 2]], "flops": r.choice([0, 160]),
                   "end_thread_id": thread if r.random() < 0.9 else 9,
                   "is_user_annotation": r.random() < 0.2}
            events.append(one)
            if r.random() < 0.3:
                where = r.choice([at, stop, r.randint(at, stop), stop + r.randint(1, 50000)])
                events.append({"name": "[memory]", "start_ns": where, "end_ns": where,
                               "nbytes": r.choice([64, -256, 4096, 1 << 20]),
                               "device_type": r.choice([0, 1]) if device else 0,
                               "start_thread_id": r.choice([1, 2])})
            if device and r.random() < 0.5:
                link = {"correlation_id": 1000 + one["correlation_id"],
                        "linked_correlation_id": one["correlation_id"]}
                events.append(dict(link, name="cudaLaunchKernel", start_ns=at + 10,
                                   end_ns=at + 90, start_thread_id=777))
                events.append(dict(link, name="_ZN4gemm3runEv", start_ns=stop + 100,
                                   end_ns=stop + 5100, device_type=1, device_index=0,
                                   device_resource_id=7, start_thread_id=7))
            if depth < 3 and r.random() < 0.6:
                nest(thread, at, stop, depth + 1)
            at = stop + r.randint(1, 3000)

    for thread in (1, 2):
        nest(thread, 1000000 + r.randint(0, 2000), 1000000 + r.randint(20000, 120000), 0)
    case = {"trace_start_ns": 1000000, "use_device": device, "events": events}
    case["ok"] = answer_kineto(case)
    return case


# ---- Random lists ----

NAMES = ["aten::mm", "aten::add", "aten::conv2d", "ProfilerStep*", "loss", "cudaLaunchKernel",
         "FooBackward0", "a_very_long_name_indeed_" + "x" * 40, "\u884c\u5217\u306e\u7a4d", "f"]
SHAPES = [[], [[2, 3], [], [4]], [[4, 4]], [[128, 3, 224, 224]] * 6, [[[2, 3], [4]], []], [[]]]
FRAMES = ["a.c(1): f", "b.c(22): g", "na\u00efve.c(4): \u00e9t\u00e9", "x;y z(3): \u00fc",
          "/very/long/path/" + "d" * 60 + "/file.c(10): function"]


def time_of(r, most):
    return r.randint(0, most * 8) / 8


def random_event(r, case, depth, start, end):
    e = {"name": r.choice(NAMES[:case["names"]]), "thread": r.choice(case["threads"]),
         "start_us": start, "end_us": end, "node_id": r.choice(case["nodes"]),
         "input_shapes": r.choice(SHAPES) if r.random() < 0.6 else [],
         "stack": [r.choice(FRAMES) for _ in range(r.choice([0, 0, 1, 2, 4]))],
         "cpu_memory_usage": r.choice([0, 0, 64, -512, 1023, 1 << 20, 5 << 30]),
         "device_memory_usage": r.choice([0, 0, 0, 1 << 20, -4096]),
         "flops": r.choice([0, 0, 16, 999, 1000, 2000, 10 ** 7, 12345678901, 3 * 10 ** 15]),
         "overload_name": r.choice(["", "", "Tensor", "out"])}
    e["trace_name"] = e["name"] if r.random() < 0.95 else None
    for flag, chance in (("is_async", 0.05), ("is_remote", 0.05), ("is_legacy", case["legacy"]),
                         ("is_user_annotation", 0.1)):
        if r.random() < chance:
            e[flag] = True
    if r.random() < 0.4:
        e["sequence_nr"] = r.randint(-1, 3)
        if r.random() < 0.5:
            e["scope"] = 1
            if r.random() < 0.8:
                e["fwd_thread"] = r.choice(case["threads"])
    if case["use_device"]:
        e["use_device"] = case["use_device"]
        e["kernels"] = [["k%d" % r.randint(0, 3), r.randint(0, 1), r.choice([1, 2.5, 10, 1000.125])]
                        for _ in range(r.choice([0, 0, 0, 1, 2]))]
    return e


def random_tree(r, case, out, start, end, depth):
    """Events inside [start, end], most of them nested, some overlapping."""
    for _ in range(r.randint(0, 3)):
        a = start + time_of(r, max(1, int((end - start) / 2)))
        b = a + r.choice([0, 0.125, time_of(r, max(1, int(end - start)))])
        if r.random() < 0.85:
            a, b = min(a, end), min(b, end)
        if r.random() < 0.15:
            a, b = start, end
        e = random_event(r, case, depth, a, b)
        if depth and r.random() < 0.8:
            e["thread"], e["node_id"] = out[-1]["thread"], out[-1].get("node_id", -1)
        if depth and r.random() < 0.2:
            e["name"] = out[-1]["name"]
        out.append(e)
        if depth < 5:
            random_tree(r, case, out, a, b, depth + 1)


def random_case(r):
    device = r.choice([None, None, "cuda", "cuda", "xpu", "mtia", "npu", "privateuseone"])
    case = {"use_device": device, "profile_memory": r.random() < 0.5,
            "with_flops": r.random() < 0.5, "pytorch_agrees": False}
    about = dict(case, names=r.randint(1, len(NAMES)), threads=r.choice([[1], [1, 2], [1, 2, 9]]),
                 nodes=r.choice([[-1], [-1], [0, 1], [-1, 3]]), legacy=r.choice([0, 0, 0, 1, 0.2]))
    events = []
    for _ in range(r.choice([0, 1, 2, 4])):
        start = time_of(r, 200)
        random_tree(r, about, events, start, start + r.choice([1, 60, 5000, 3e6, 9e9]), 0)
    types = {"cuda": ["CUDA"], "xpu": ["XPU"], "mtia": ["MTIA"]}.get(device, ["PrivateUse1", "CUDA"])
    for _ in range(r.randint(0, 6) if device else 0):
        start = time_of(r, 200)
        events.append({"name": "k%d" % r.randint(0, 3), "thread": r.choice([7, 20]),
                       "start_us": start, "end_us": start + time_of(r, 40),
                       "device_type": r.choice(types), "use_device": device, "stack": [],
                       "flops": 0, "input_shapes": [], "overload_name": "", "trace_name": "k",
                       "is_user_annotation": r.random() < 0.3})
    events.sort(key=lambda e: (e["start_us"], -e["end_us"]))
    for i, e in enumerate(events):
        e["id"] = i + 1
    case["events"] = events
    metrics = ["self_%s_time_total" % name for name in ("cpu", "cuda", "xpu", "privateuse1")]
    case["ok"] = answer(case, TABLES, metrics)
    return case


def check(name):
    """Differences between the answers in a file and those made here."""
    opener = gzip.open if name.endswith(".gz") else open
    with opener(name, "rt", encoding="utf-8") as file:
        cases = json.load(file)
    differences = 0
    for number, case in enumerate(cases):
        want = case["ok"]
        if "trace_start_ns" in case:
            got = answer_kineto(case)
            for key in got:
                if got[key] != want[key]:
                    differences += 1
                    print("case %d: %s\n  %s\n  %s" % (number, key, got[key], want[key]))
            continue
        got = answer(case, [(t["name"], t["key_averages"], t["args"]) for t in want["tables"]],
                     list(want["stacks"]))
        for key in got:
            if got[key] != want[key]:
                differences += 1
                print("case %d: %s\n  %s\n  %s" % (number, key, got[key], want[key]))
    print("%d cases, %d differences" % (len(cases), differences))
    return differences


def main():
    if sys.argv[1] == "--check":
        sys.exit(check(sys.argv[2]) != 0)
    r = random.Random(int(sys.argv[1]))
    kineto = sys.argv[2].split("/")[-1].startswith("kineto_events")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump([(random_kineto if kineto else random_case)(r) for _ in range(150)], file)


main()
