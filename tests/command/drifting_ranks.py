"""Writes ranks whose clocks are apart and drift, and whose barriers they leave a few us apart; then
looks how well they were aligned.
    drifting_ranks.py write FOLDER RANKS [without]     writes FOLDER/rank0.json, ... (without: the last one has no barrier)
    drifting_ranks.py merged FILE RANKS LIMIT_US       of a merged trace: how far marks of one moment are apart at most
    drifting_ranks.py table FILE RANKS LIMIT_US        of events.csv
"""
import csv
import json
import random
import sys

BARRIERS, APART_NS = 200, 300_000_000


def write(folder, ranks, without):
    rng = random.Random(50)
    barriers = [(i + 1) * APART_NS + rng.randrange(50_000_000) for i in range(BARRIERS)]
    for rank in range(ranks):
        offset = rng.randrange(-10**9, 10**9) if rank else 0
        drift = rng.uniform(-80e-6, 80e-6) if rank else 0.0

        def clock(ns):      # what this rank's clock shows then
            return round((ns + ns * drift + offset) / 1000, 3)

        events = []

        def call(name, begin_ns, end_ns):
            events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": clock(begin_ns),
                           "dur": round(clock(end_ns) - clock(begin_ns), 3)})

        for all_are_there in barriers:
            left = all_are_there + rng.expovariate(1 / 2000)
            if rng.random() < 0.05:
                left += rng.randrange(2_000_000)             # the kernel ran something else first
            if not (without and rank == ranks - 1):
                call("MPI_Barrier", all_are_there - rng.randrange(20_000_000), left)
            call("outer", left + 1000, left + 5000)
            call("inner", left + 1000, left + 5000)
        rng_marks = random.Random(7)
        for i in range(100):
            mark = rng_marks.randrange(APART_NS, BARRIERS * APART_NS)
            call(f"mark {i}", mark, mark + 1000)
        with open(f"{folder}/rank{rank}.json", "w", encoding="utf-8") as file:
            json.dump({"distributedInfo": {"rank": rank, "world_size": ranks}, "baseTimeNanoseconds": 10**18,
                       "traceEvents": events}, file)


def check(marks, ranks, limit_us):
    worst = 0
    assert len(marks) == 100, len(marks)
    for times in marks.values():
        assert len(times) == ranks, len(times)
        worst = max(worst, max(abs(time - times[0]) for time in times))
    print(f"{worst:.3f} us")
    assert worst <= limit_us, worst


def merged(path):
    marks, pairs = {}, {}
    for event in json.load(open(path, encoding="utf-8"))["traceEvents"]:
        name = event.get("name", "")
        if name.startswith("mark "):
            marks.setdefault(name, []).append(event["ts"])
        if name in ("outer", "inner"):
            pairs.setdefault(event["pid"], {}).setdefault(name, []).append((event["ts"], event["dur"]))
    assert all(pair["outer"] == pair["inner"] for pair in pairs.values())
    return marks


def table(path):
    marks = {}
    for row in csv.DictReader(open(path, encoding="utf-8")):
        if row["name"].startswith("mark "):
            marks.setdefault(row["name"], []).append((int(row["ts_ns"]) - 10**18) / 1e3)
    return marks


if sys.argv[1] == "write":
    write(sys.argv[2], int(sys.argv[3]), len(sys.argv) > 4)
else:
    check({"merged": merged, "table": table}[sys.argv[1]](sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
