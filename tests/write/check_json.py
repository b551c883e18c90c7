#!/usr/bin/env python3
"""Checks Chrome trace files strictly: check_json.py FILE [NAME=COUNT]...

Each NAME must be the name of exactly COUNT zones. Prints what is wrong and exits 1, or prints the
number of zones and threads.
"""
import gzip
import json
import sys
from collections import Counter
from decimal import Decimal

ID_LIMIT = 2**31


class Wrong(Exception):
    pass


def require(condition, event, what):
    if not condition:
        raise Wrong(f"{what}: {json.dumps(event, default=str)[:300]}")


def no_constant(text):
    raise Wrong(f"{text} is no JSON")


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise Wrong(f"a key stands twice in {keys}")
    return dict(pairs)


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    if data.startswith(b"\xef\xbb\xbf"):
        raise Wrong("it starts with a byte order mark")
    return json.loads(data.decode("utf-8"), parse_float=Decimal, parse_constant=no_constant,
                      object_pairs_hook=unique)


def is_number(value):
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def check_time(event, key):
    require(is_number(event.get(key)), event, f"{key} is no number")
    require(event[key] >= 0, event, f"{key} is negative")
    require(event[key] * 1000 % 1 == 0, event, f"{key} is no whole number of ns")


def check_ids(event):
    for key in "pid", "tid":
        value = event.get(key)
        require(type(value) is int and 0 <= value < ID_LIMIT, event, f"{key} is no id")


def check_common(event):
    require(isinstance(event, dict), event, "no object")
    require(isinstance(event.get("name"), str), event, "no name")
    check_ids(event)
    check_time(event, "ts")


def check_zone(event, open_ends, last_start):
    """Zones of a thread come in order of start, each inside or after the ones before it."""
    require(isinstance(event.get("cat"), str), event, "no cat")
    check_time(event, "dur")
    thread = event["pid"], event["tid"]
    start, end = event["ts"], event["ts"] + event["dur"]
    require(start >= last_start.get(thread, 0), event, "starts before the zone before it")
    last_start[thread] = start
    ends = open_ends.setdefault(thread, [])
    while ends and ends[-1] <= start:
        ends.pop()
    require(not ends or end <= ends[-1], event, "ends after the zone around it")
    ends.append(end)


def check_counter(event):
    args = event.get("args")
    require(isinstance(args, dict) and args, event, "a counter without a value")
    require(all(is_number(value) for value in args.values()), event, "no number")


def check(path):
    trace = load(path)
    if isinstance(trace, list):
        trace = {"traceEvents": trace}
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise Wrong("no traceEvents")
    open_ends, last_start, names = {}, {}, Counter()
    for event in trace["traceEvents"]:
        check_common(event)
        kind = event.get("ph")
        require(kind in ("X", "M", "C", "i"), event, "a kind of event that is not ours")
        if kind == "X":
            check_zone(event, open_ends, last_start)
            names[event["name"]] += 1
        elif kind == "C":
            check_counter(event)
        elif kind == "i":
            require(event.get("s") in ("t", "p", "g"), event, "an instant without a scope")
    return names, len(open_ends)


def main(path, wanted):
    try:
        names, threads = check(path)
        for pair in wanted:
            name, count = pair.rsplit("=", 1)
            if names[name] != int(count):
                raise Wrong(f"{names[name]} zones '{name}', not {count}")
    except (Wrong, ValueError, OSError) as error:
        print(f"{path}: {error}")
        return 1
    print(f"{path}: {sum(names.values())} zones on {threads} threads")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
