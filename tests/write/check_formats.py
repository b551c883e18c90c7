#!/usr/bin/env python3
"""Compares what tests/write/hostile.c wrote in each format: check_formats.py FOLDER"""
import json
import sys

folder = sys.argv[1]


def load(name):
    with open(f"{folder}/{name}.json", encoding="utf-8") as file:
        return json.load(file)


def cuts(text):
    """An array, cut anywhere, and closed behind its last whole event as viewers do."""
    for end in range(2, len(text), 97):
        yield json.loads(text[:text.rfind(",\n", 0, end)] + "]" if ",\n" in text[:end] else "[]")


kineto = load("hostile")["traceEvents"]
array = load("hostile_array")
assert array[1:-1] == kineto, "the array has other events"
assert array[0]["name"] == "prof" and array[-1]["args"]["recorded"] == 106, array[-1]
with open(f"{folder}/hostile_array.json", encoding="utf-8") as whole:
    for part in cuts(whole.read()):
        assert part == array[:len(part)]

assert not any(isinstance(event["pid"], str) for event in kineto), "a string pid"

legacy = load("hostile_legacy")
zones = [event for event in kineto if event["ph"] == "X"]
for key in "name", "ts", "dur", "tid":
    assert [event[key] for event in legacy] == [event[key] for event in zones], key

stream = [event for event in load("hostile_stream") if event["ph"] == "X"]
assert sorted(event["name"] for event in stream) == sorted(event["name"] for event in zones)
print(len(kineto), "events")
