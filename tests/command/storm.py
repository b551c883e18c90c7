"""storm.py PROF FOLDER RUNS [PROGRAM]: each command that writes, ended by a random signal at a random moment, RUNS times;
with a PROGRAM prof record alone, whose output is whole where it is a trace of what ran.

The folder has files of names that a temporary file might have: they stay as they are. The output is absent, the old
one or whole. Nothing else is left, but after SIGKILL (record: and AT_ONCE); and that the next run removes."""
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

prof, folder, runs = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3])
program = [os.path.abspath(word) for word in sys.argv[4:5]] + sys.argv[5:]
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
seed = int(os.environ.get("SEED", time.time()))
random.seed(seed)
COMMANDS = [[name, "-o", "OUT.txt", "IN"] for name in
            ("report", "analyze", "validate", "stacks", "gaps", "ranks", "steps", "memory", "flamegraph")] + [
    ["report", "-f", "html", "-o", "OUT.html", "IN"], ["diff", "-o", "OUT.txt", "IN", "IN"],
    ["augment", "IN", "OUT.json"], ["cut", "--to", "1s", "-o", "OUT.json.gz", "IN"],
    ["merge", "-o", "OUT.json", "IN", "IN"], ["et", "--link", "IN", "-o", "OUT.json", "NODES"],
    ["decode", "-o", "OUT.json", "RAW"], ["export", "-o", "OUT.json", "NSYS"],
    ["export", "-o", "OUT.pftrace", "IN", "IN"]] + [
    ["export", "-o", "OUT" + ending, "IN"] for ending in
    (".pftrace", ".pb.gz", ".folded", ".sqlite", ".csv", ".parquet", ".json", ".csv/", ".csv.gz/", ".parquet/")]
ENDING = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1,
          signal.SIGUSR2, signal.SIGXCPU, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGSEGV,
          signal.SIGRTMIN, signal.SIGKILL, signal.SIGKILL]

AT_ONCE = (signal.SIGKILL, signal.SIGSEGV, signal.SIGRTMIN)     # record does not wait for these to tell its program

def content(path):
    if os.path.isdir(path) and not os.path.islink(path):
        return {name: content(path + "/" + name) for name in os.listdir(path)}
    with open(path, "rb") as file:
        return file.read()


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def runs_program(process):
    try:
        return os.readlink(process + "/exe") in (program[0], os.path.realpath(prof))
    except OSError:
        return False


def await_program():
    """What record ran goes on after it (or is about to begin), and while it does its folder stays."""
    end = time.time() + 60
    while program and any(map(runs_program, glob.glob("/proc/[0-9]*"))) and time.time() < end:
        time.sleep(.01)


class Storm:
    def __init__(self, command, paths):
        self.out = next(word for word in command if word.startswith("OUT")).rstrip("/")
        self.line = [prof] + [paths.get(word, word) for word in command]
        self.box, self.temporary = folder + "/box", folder + "/tmp"
        for path in (self.box, self.temporary):
            remove(path)
            os.makedirs(path)
        self.others = {}
        for name in (self.out + ".tmp", self.out + "~", "." + self.out + ".tmp", self.out + ".new", "OUT", "OUT.raw",
                     "OUT.json.tmp", "tmp", ".prof", ".prof-", ".prof-0", ".prof-new", ".prof-1a2b3c", "prof_XXXXXX",
                     "%s.%d.tmp" % (self.out, os.getpid() + 1)):
            with open(self.box + "/" + name, "w") as file:
                file.write("of somebody else: " + name)
            self.others[name] = content(self.box + "/" + name)
        began = time.time()
        for _ in range(3):
            remove(self.box + "/" + self.out)
            self.start().wait()
        self.takes = (time.time() - began) / 3
        self.whole = content(self.box + "/" + self.out)

    def is_whole(self, now):
        if self.line[1] != "record":
            return now == self.whole
        return now is not None and "traceEvents" in json.loads(now)

    def start(self):
        return subprocess.Popen(self.line, cwd=self.box, env={**os.environ, "TMPDIR": "../tmp"},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def left(self):
        return os.listdir(self.temporary) + [
            name for name in os.listdir(self.box) if name not in self.others and name != self.out]

    def run(self):
        path, old = self.box + "/" + self.out, None
        remove(path)
        if random.random() < .5 and isinstance(self.whole, bytes):
            old = b"old"
            with open(path, "wb") as file:
                file.write(old)
        before, number = self.left(), random.choice(ENDING)
        process = self.start()
        time.sleep(random.random() * 1.1 * self.takes)
        process.send_signal(number)
        if random.random() < .3:
            process.send_signal(signal.SIGTERM)
        status = process.wait(60)
        now = content(path) if os.path.exists(path) else None
        where = "%s, signal %d, status %d, seed %d" % (" ".join(self.line), number, status, seed)
        assert now == old or self.is_whole(now), where + ": the output is neither the old one nor whole"
        assert status != 0 or self.is_whole(now), where + ": no output"
        assert {name: content(self.box + "/" + name) for name in self.others} == self.others, where + ": other files"
        at_once = number in (AT_ONCE if self.line[1] == "record" else (signal.SIGKILL,))
        if at_once:
            await_program()
        left = self.left()
        assert at_once or not set(left) - set(before), where + ": it left " + str(left)
        assert status != 0 or not left, where + ": it did not remove " + str(left)


def main():
    paths = {"IN": folder + "/in.json", "NODES": folder + "/nodes.json", "RAW": folder + "/in.raw",
             "NSYS": os.getcwd() + "/tests/fuzz/corpus/import/nsys.sqlite"}
    for command in [["record", "-o", "OUT.json"] + program] if program else COMMANDS:
        storm = Storm(command, paths)
        for _ in range(runs):
            storm.run()
        remove(storm.box + "/" + storm.out)
        storm.start().wait()
        assert not storm.left(), " ".join(command) + ": left after all: " + str(storm.left())


main()
