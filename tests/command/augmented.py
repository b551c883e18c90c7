#!/usr/bin/env python3
"""Checks that a trace is another one plus kernel_flop and kernel_num_gb, and nothing else.

    augmented.py TRACE AUGMENTED        prints how many events have both; exit status 1: it is not
"""
import gzip
import json
import sys

NEW = ("kernel_flop", "kernel_num_gb")


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=str, parse_int=str)


def without(event):
    args = {key: value for key, value in event.get("args", {}).items() if key not in NEW}
    return {**event, "args": args}


def main():
    before, after = load(sys.argv[1]), load(sys.argv[2])
    if isinstance(before, list):
        before, after = {"traceEvents": before}, {"traceEvents": after}
    events = [(a, b) for a, b in zip(before.pop("traceEvents"), after.pop("traceEvents"))]
    same = before == after and all(without(a) == without(b) for a, b in events)
    count = sum(all(key in b.get("args", {}) for key in NEW) for _, b in events)
    print(count if same else "something else has changed")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
