"""prof ranks against the answers in a vectors file, set by set.
    read_ranks.py PROF VECTORS.json TRACES FOLDER [NAME...]
FOLDER is for what comes out of archives. Prints `ok NAME`, `not ok NAME: why` or `skip NAME: why`.
"""
import json
import os
import subprocess
import sys
import tarfile


def near(want, got, span, key):
    if want is None or got is None or isinstance(want, (bool, str, list)):
        return want == got
    if key.endswith("_us"):
        return abs(want - got) <= 1 and (not span or 100 * abs(want - got) / span <= 0.01)
    if key.endswith("_gb_s"):     # the answers have four decimals
        return abs(want - got) <= 0.001 * abs(want) + 0.00005
    return want == got


def differences(expect, got):
    for name in ("ranks", "collectives"):
        if len(expect[name]) != len(got[name]):
            yield f"{len(got[name])} {name}, not {len(expect[name])}"
        for i, (want, have) in enumerate(zip(expect[name], got[name])):
            for key, value in want.items():
                if key == "device_events":
                    continue
                if key == "file":
                    value, have[key] = os.path.basename(value), os.path.basename(have[key])
                if key not in have or not near(value, have[key], want.get("span_us"), key):
                    yield f"{name}[{i}].{key} is {have.get(key)}, not {value}"
    if expect["stragglers"] != got["stragglers"]:
        yield f"stragglers are {got['stragglers']}, not {expect['stragglers']}"


def files_of(one, traces, folder, vectors):
    if "archive" in one:
        with tarfile.open(os.path.join(traces, one["archive"])) as archive:
            for member in archive.getmembers():
                if os.path.basename(member.name) in one["files"]:
                    member.name = os.path.basename(member.name)
                    archive.extract(member, folder)
        return [os.path.join(folder, name) for name in one["files"]]
    beside = os.path.dirname(vectors)
    return [os.path.join(beside if os.path.exists(os.path.join(beside, name)) else traces, name)
            for name in one["files"]]


def main(prof, vectors, traces, folder, *names):
    failed = False
    for one in json.load(open(vectors, encoding="utf-8"))["sets"]:
        label = "ranks_vector_" + one["name"]
        if names and one["name"] not in names:
            continue
        try:
            files = files_of(one, traces, folder, vectors)
        except FileNotFoundError:
            files = [""]
        if not all(os.path.exists(name) for name in files):
            print(f"skip {label}: {traces} is not there")
            continue
        command = [prof, "ranks", "--format", "json", *(one.get("args") or []), *files]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            wrong = list(differences(one["expect"], json.loads(run.stdout)))
        except ValueError:
            wrong = [run.stderr.strip() or run.stdout[:200]]
        print(f"not ok {label}: {'; '.join(wrong)[:600]}" if wrong else f"ok {label}")
        failed |= bool(wrong)
    return failed


sys.exit(main(*sys.argv[1:]))
