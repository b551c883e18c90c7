"""Lays a trace of ours beside PyTorch's: kineto_fields.py OURS FOLDER, FOLDER with traces of Kineto.

For each kind of event the newest of them that has it is the model: the names of fields, the names and
types of arguments, the rows, the arrows and the metadata of ours must be its. What differs on purpose
is in DIFFERENT. Prints what is not the same; exit status 1 if anything.
"""
import functools
import glob
import gzip
import json
import os
import re
import sys

KINDS = ["kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync",
         "overhead", "gpu_user_annotation", "ac2g"]
# External id: only where the program pushes ids; README, "NVIDIA GPUs".
DIFFERENT = {"External id", "cover"}
# Until PyTorch 2.11 Kineto wrote them with 0 for what no graph ran.
GRAPH = {"graph id", "graph node id"}
problems = []


def text_of(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        return file.read()


def check(same, *what):
    if not same:
        problems.append(" ".join(str(w) for w in what))


def of_kind(trace, kind):
    return [e for e in trace["traceEvents"] if e.get("cat") == kind]


def type_of(value):
    if isinstance(value, list):
        return "list of " + type_of(value[0]) if value else "list"
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def arguments(event):
    return {k: type_of(v) for k, v in event.get("args", {}).items()
            if k not in DIFFERENT and not (k in GRAPH and v == 0)}


class Models:
    """PyTorch's traces, newest first: only those that are asked for are parsed; without ALL none of the
    largest, which takes as long as all others."""
    def __init__(self, folder):
        texts = [text_of(p) for p in sorted(glob.glob(folder + "/*.json*"))
                 if os.environ.get("ALL") or os.path.getsize(p) < 1000000]
        texts.sort(key=lambda t: -int((re.findall(r'"baseTimeNanoseconds": *([0-9]+)', t) or [0])[-1]))
        self.texts = texts

    @functools.lru_cache(maxsize=None)
    def parsed(self, i):
        return json.loads(self.texts[i])

    @functools.lru_cache(maxsize=None)
    def newest(self, kind):
        """The newest trace, of NVIDIA's devices, with an event of that kind, or None."""
        for i, text in enumerate(self.texts):
            if not re.search(f'"cat": *"{kind}"', text):
                continue
            m = self.parsed(i)
            if isinstance(m, dict) and "traceEvents" in m and of_kind(m, kind) and \
                    not any(k.startswith("hip_") for k in m) and \
                    "AMD" not in str([d.get("name") for d in m.get("deviceProperties", [])]):
                return m
        return None


def beside(kind, mine, theirs):
    """An event of ours beside one of theirs with the same name, or else any."""
    check(set(mine) - {"args"} == set(theirs) - {"args"}, kind, "fields", set(mine) ^ set(theirs))
    check(type_of(mine["pid"]) == type_of(theirs["pid"]), kind, "pid", mine["pid"])
    check(type_of(mine["tid"]) == type_of(theirs["tid"]), kind, "tid", mine["tid"])
    a, b = arguments(mine), arguments(theirs)
    for name in set(a) | set(b):
        check(a.get(name) == b.get(name), kind, mine.get("name"), "argument", repr(name), a.get(name),
              "not", b.get(name))


def like(mine, list_of_theirs):
    """The one with the same name; without it the plainest: the rest may have what PyTorch adds."""
    same = [e for e in list_of_theirs if e["name"] == mine["name"]]
    return min(same or list_of_theirs, key=lambda e: (len(e.get("args", {})) == 0, len(e.get("args", {}))))


def metadata(trace, pid):
    found = {}
    for e in trace["traceEvents"]:
        if e["ph"] == "M" and e["pid"] == pid:
            found.setdefault((e["name"], e["tid"]), e)
    return found


def same_processes(ours, theirs):
    """The rows of the CPU and of the first GPU, and how those of threads and streams are named."""
    for of, kind in (("CPU", "cuda_runtime"), ("GPU", "kernel")):
        if not of_kind(ours, kind):
            continue                     # main says that it is missing
        mine, other = of_kind(ours, kind)[0], of_kind(theirs, kind)[0]
        a, b = metadata(ours, mine["pid"]), metadata(theirs, other["pid"])
        for name in ("process_name", "process_labels", "process_sort_index"):
            x, y = a.get((name, 0)), b.get((name, 0))
            check(x and y and arguments(x) == arguments(y), of, name, x, y)
        x, y = a.get(("process_labels", 0)), b.get(("process_labels", 0))
        check(x and x["args"] == y["args"], of, "labels", x, y)
        for name in ("thread_name", "thread_sort_index"):
            x, y = a.get((name, mine["tid"])), b.get((name, other["tid"]))
            check(x and y and arguments(x) == arguments(y), of, name, x, y)
    x = metadata(ours, 0).get(("process_sort_index", 0))
    y = metadata(theirs, 0).get(("process_sort_index", 0))
    check(x and x["args"] == y["args"], "order of GPUs", x, y)


def own_rows(ours):
    """Where ours stand: work on its stream, waits beside it, calls on their thread, cost apart."""
    calls = of_kind(ours, "cuda_runtime") + of_kind(ours, "cuda_driver")
    for kind in ("kernel", "gpu_memcpy", "gpu_memset"):
        for e in of_kind(ours, kind):
            check(e["pid"] == e["args"]["device"] and e["tid"] == e["args"]["stream"], kind, "row", e)
    for e in of_kind(ours, "cuda_sync"):
        check(e["tid"] == 1000000 + e["args"]["stream"], "row of a wait", e)
        check(("thread_name", e["tid"]) in metadata(ours, e["pid"]), "no name of", e["tid"])
    for e in calls:
        check(e["pid"] == calls[0]["pid"], "a call is elsewhere", e)
    for e in of_kind(ours, "overhead"):
        check(e["pid"] == -1 and e["tid"] == 0, "row of overhead", e)
    names = [e["args"]["name"] for e in ours["traceEvents"]
             if e["ph"] == "M" and e["name"].endswith("_name")]
    check("CUPTI Overhead" in names, "no CUPTI Overhead among", names)
    check(not [n for n in names if n.startswith("thread") and "verhead" in n], "a stray thread", names)


def arrows(ours):
    """Each from its call to what that launched."""
    calls = {e["args"]["correlation"]: e for e in of_kind(ours, "cuda_runtime")}
    work = [e for k in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync") for e in of_kind(ours, k)]
    at = {(e["args"]["correlation"], e["pid"], e["tid"], e["ts"]) for e in work}
    for e in of_kind(ours, "ac2g"):
        if e["ph"] == "s":
            call = calls.get(e["id"], {})
            check((call.get("tid"), call.get("ts")) == (e["tid"], e["ts"]), "arrow from", e)
        else:
            check((e["id"], e["pid"], e["tid"], e["ts"]) in at and e["bp"] == "e", "arrow to", e)
    check(len([e for e in of_kind(ours, "ac2g") if e["ph"] == "f"]) == len(work), "arrows")


def main():
    ours = json.loads(text_of(sys.argv[1]))
    models = Models(sys.argv[2])
    for kind in KINDS:
        model, mine = models.newest(kind), of_kind(ours, kind)
        check(model and mine, kind, "is missing, of ours" if model else "is missing, of theirs")
        for e in mine if model else []:
            theirs = [t for t in of_kind(model, kind) if t["ph"] == e["ph"]]
            check(theirs, kind, "with ph", e["ph"])
            if theirs:
                beside(kind, e, like(e, theirs))
    same_processes(ours, models.newest("cuda_sync"))
    own_rows(ours)
    arrows(ours)
    for key in ("deviceProperties", "cupti_version", "cuda_driver_version"):
        check(key in ours, "no", key)
    model = models.newest("gpu_memcpy")
    a, b = ours.get("deviceProperties", [{}])[0], model["deviceProperties"][0]
    check({k: type_of(v) for k, v in a.items()} == {k: type_of(v) for k, v in b.items()},
          "deviceProperties", set(a) ^ set(b))
    print("\n".join(sorted(set(problems))) or "the same")
    sys.exit(bool(problems))


main()
