# Runs the builds of real.sh, holds what their sessions tell against the counts of the counted build
# and against PROF_MODE_AGGREGATE, and prints a table.
#   real.py FOLDER PROGRAM...        exit status 1: something differs
import collections
import os
import subprocess
import sys

folder, programs = sys.argv[1], sys.argv[2:]
SHARE, GROWTH = 3.0, 3.0      # points of self time; how much dearer zones of a full arena may be
FEW = 1 << 20                 # bytes of an arena that is full soon
TRIES = 5                     # pairs of runs: other work on the machine shares its caches
CPU = {"WORK_CLOCK": "cpu"}   # of shares: see clock.h
failed = False


def check(name, faults):
    global failed
    failed |= bool(faults)
    print(f"not ok {name}: {faults[0]}" if faults else f"ok {name}", flush=True)


def run(program, kind, mode, **variables):     # the lines of its WORK_OUT
    path = f"{folder}/{program}.{kind}.txt"
    more = dict(WORK_MODE=mode, WORK_OUT=path, **variables)
    answer = subprocess.run([f"{folder}/{program}.{kind}"], env={**os.environ, **more}, check=True,
                            timeout=300, stdout=subprocess.PIPE).stdout
    with open(path) as lines:
        return answer, lines.read().splitlines()


class Session:                # what session.c tells: figures, and rows by name
    def __init__(self, *run_of, **variables):
        self.figures = {}
        self.calls, self.self_ns, self.total_ns = (collections.Counter() for _ in range(3))
        self.answer, lines = run(*run_of, **variables)
        for line in lines:
            key, value, *more = line.split(maxsplit=4)
            if key == "row":
                name = more[2].strip()
                self.calls[name] += int(value)
                self.self_ns[name] += int(more[0])
                self.total_ns[name] += int(more[1])
            else:
                self.figures[key] = float(value)
        self.seconds = self.figures["seconds"]


def counts_of(program, **variables):
    symbols, counts = {}, collections.Counter()
    for line in open(f"{folder}/{program}.symbols"):
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            symbols.setdefault(int(words[0], 16), words[2])
    for line in run(program, "counted", "", **variables)[1]:
        count, address = line.split()
        counts[symbols.get(int(address, 16), address)] += int(count)
    return counts


def differences(counts, calls, all_of_them):
    names = set(calls) | set(counts if all_of_them else [])
    faults = sorted((n for n in names if calls[n] != counts[n]), key=lambda n: -counts[n])
    return faults and [f"{len(faults)} of {len(names)} functions differ: " + "; ".join(
        f"{n} has {calls[n]} calls, counted {counts[n]}" for n in faults[:3])]


def shares(sessions):         # the least time of each name: the one least disturbed
    least = {n: min(s.self_ns[n] for s in sessions) for n in sessions[0].self_ns}
    whole = sum(least.values()) or 1
    return {n: 100 * ns / whole for n, ns in least.items()}


def farthest(traces, sums):
    ours, theirs = shares(traces), shares(sums)
    return max((abs(ours.get(n, 0) - theirs.get(n, 0)), n) for n in set(ours) | set(theirs))


# Runs of ours and theirs, one after the other: how far apart their shares are, at which name.
def apart(ours, theirs):
    some, others = [], []
    while not some or (farthest(some, others)[0] > SHARE and len(some) < TRIES):
        some.append(ours())
        others.append(theirs())
    return some[0], others[0], *farthest(some, others)


# Shares of a run whose timeline ends after an eighth of it, against one whose timeline holds it all.
def full_shares(program, kind, zones):
    size = {"WORK_SIZE": "131072"} if program == "zstd" else {}
    if size:
        zones = Session(program, kind, "sums", **size).figures["recorded"]
    held = {"WORK_BYTES": str(int(zones) * 16 + (64 << 20)), **size, **CPU}
    ends = {"WORK_BYTES": str(max(int(zones) * 12 // 8, FEW)), **size, **CPU}
    full, whole, points, name = apart(lambda: Session(program, kind, "trace", **ends),
                                      lambda: Session(program, kind, "trace", **held))
    where = f"{program}/{kind}/full_shares"
    if whole.figures["later"] or not full.figures["later"]:
        print(f"skip {where}: {int(zones)} zones do not fill the one arena, or fit no other")
        return "-"
    print(f"{program}/{kind}: {int(full.figures['later'])} of {int(zones)} zones in sums, "
          f"self times at most {points:.1f} points from all in the timeline ({name})")
    check(where, [] if points <= SHARE else [
        f"{name}'s share is {points:.1f} points from that of the whole timeline"])
    return f"{points:.1f}"


def compare(program, kind, counts, plain):
    hand = kind == "marked"
    off, trace, sums = (Session(program, kind, mode) for mode in ("off", "trace", "sums"))
    where = f"{program}/{kind}"
    answers = {s.answer for s in (off, trace, sums)}
    check(f"{where}/answers", [] if answers == {plain.answer} else ["the program's answers differ"])
    check(f"{where}/calls", differences(counts, trace.calls, not hand))
    check(f"{where}/calls_in_sums", differences(counts, sums.calls, not hand))
    *_, points, name = apart(lambda: Session(program, kind, "trace", **CPU),
                             lambda: Session(program, kind, "sums", **CPU))
    check(f"{where}/self_shares", [] if points <= SHARE else [
        f"{name}'s share is {points:.1f} points from that in sums"])
    zones = sum(counts[n] for n in (trace.calls if hand else counts))
    slower = (s.seconds / plain.seconds for s in (off, trace, sums))
    return trace, (program, "hand" if hand else "compiler", f"{zones}",
                   *(f"{times:.2f}" for times in slower),
                   f"{100 * trace.figures['recorded'] / max(zones, 1):.1f}", f"{points:.1f}",
                   full_shares(program, kind, zones))


# What longjmp leaves ends where the program goes on: luaD_throw, which only jumps, has no time. Programs
# without longjmp leave nothing.
def left(program, session):
    healed, whole = session.figures["healed"], sum(session.self_ns.values())
    share = 100 * session.total_ns["luaD_throw"] / whole
    if program == "lua":
        print(f"lua: {int(healed)} zones left by longjmp; luaD_throw has {share:.2f} % of the time")
    check(f"{program}/left_open", [] if (healed > 0) == (program == "lua") and share < 1 else [
        f"{int(healed)} zones were left; luaD_throw has {share:.2f} % of the time"])


def growth(program, full, zones):     # what a zone costs when the arena is full, and when it is not
    small = {"WORK_SIZE": "16384"}
    fits = Session(program, "instrumented", "trace", **small)
    few = sum(counts_of(program, **small).values())
    times = full.seconds / zones / (fits.seconds / few)
    print(f"{program}: {1e9 * fits.seconds / few:.0f} ns a zone while the arena has room, "
          f"{1e9 * full.seconds / zones:.0f} ns in all: {times:.2f} times")
    check(f"{program}/full_arena", [] if times <= GROWTH else [f"{times:.2f} times slower"])


rows = [("Program", "Zones by", "Zones", "Off", "On", "Sums", "In timeline, %", "Shares apart",
         "Full, apart")]
for program in programs:
    plain = min((Session(program, "plain", "off") for _ in range(3)), key=lambda s: s.seconds)
    counts = counts_of(program)
    for kind in ("marked", "instrumented"):
        trace, row = compare(program, kind, counts, plain)
        rows.append(row)
        if kind == "instrumented":
            left(program, trace)
    if program == "zstd":
        growth(program, trace, sum(counts.values()))
widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
for row in rows:
    print("  ".join(f"{cell:>{w}}" if i > 1 else f"{cell:<{w}}"
                    for i, (cell, w) in enumerate(zip(row, widths))))
sys.exit(failed)
