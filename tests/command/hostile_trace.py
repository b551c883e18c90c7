"""Inputs of an enemy for tests/command/test_prof_trust.sh, and what must not come of them.
    hostile_trace.py DIR MB            names.json, harmless.json, names_et.json, view.sqlite, wal/,
                                       bomb_*.json.gz of at least so many MB
    hostile_trace.py --raw DIR         names.raw: 100,000 of them; dense_little.raw, dense_big.raw: of a
                                       target of either byte order, a million zones; metadata.raw;
                                       deep.raw, whose open zones take much; codes.raw: NAMES in it
    hostile_trace.py --codes FILE      fails where a terminal would take a character for a command,
                                       or show nothing for it
    hostile_trace.py --formulas FILE   ... a spreadsheet a cell for a formula
    hostile_trace.py --svg FILE        ... it is not XML, or has an element of a name
"""
import csv
import gzip
import json
import os
import re
import shutil
import sqlite3
import struct
import sys
import xml.etree.ElementTree

NAMES = ['=HYPERLINK("http://x")', "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\x1b[31m\x1b]0;t\x07",
         "\x9b31m", "\x7f\x08", "</script><script>escaped", "<img src=x onerror=escaped>", "<!--",
         "]]>", "'\"><b>", "\ufffe\uffff", "a\nb", "\u2028", "&lt;", "%s%n", "\u202etxt.exe", "a\u200bb\ufeff",
         "\ufeff=1", "\u00a0 @1", "\uff1d1", "\u061c\u2066x\u2069",
         "\u00ad\u034f\u115f\u1160\u17b4\u180b\u180e\u3164\ufe0f\uffa0\ufff0\ufff9\ufffb",
         "\U00013430\U0001bca0\U0001d173\U0001d17a\U000e0100\U000e01ef\U000e0fff"]


def trace(names):
    events = []
    for i, name in enumerate(names):
        events += [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 9,
             "args": {"Call stack": "x(1): " + name + ";y(2): " + name, "Input Dims": [[1]],
                      "Input type": [name], "Module Hierarchy": name, "External id": i + 1,
                      "Record function id": i + 1}},
            {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": 10 * i + 1,
             "dur": 1, "args": {"correlation": i + 1, "External id": i + 1}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * i + 3,
             "dur": 2, "args": {"device": 0, "stream": 7, "correlation": i + 1}},
            {"ph": "X", "cat": name, "name": name, "pid": name, "tid": name, "ts": 10 * i, "dur": 1},
            {"ph": name, "name": name, "ts": name, "cat": name},
            {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1,
             "tid": 1, "ts": 10 * i + 2, "args": {"Bytes": 1024, "Device Type": 0, "Device Id": -1,
                                                  "Addr": i + 1000, "Total Allocated": 1024}},
            {"ph": "M", "name": "process_name", "pid": i, "tid": 0, "ts": 0, "args": {"name": name}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": i, "ts": 0, "args": {"name": name}}]
    return {"schemaVersion": 1, names[6]: names[6],
            "deviceProperties": [{"id": 0, "name": names[6] + names[7] + names[9]}],
            "distributedInfo": {"rank": 0, "world_size": 1, "backend": names[9]},
            "traceName": names[9], "traceEvents": events}


def execution_trace():
    none = {"values": [], "shapes": [], "types": []}
    return {"schema": NAMES[6] + NAMES[7], "pid": 1, "time": "", "start_ts": 1, "nodes": [
        {"id": i + 2, "name": name, "ctrl_deps": 1, "inputs": none, "outputs": none,
         "attrs": [{"name": "rf_id", "type": "uint64", "value": i + 1}]}
        for i, name in enumerate(NAMES)], "finish_ts": 2}


def bomb(folder, megabytes, name, head, body):
    with gzip.open(f"{folder}/bomb_{name}.json.gz", "wb", 1) as file:
        file.write(head)
        piece = body * ((1 << 20) // len(body))
        for _ in range(megabytes):
            file.write(piece)


def database(path, statements, mode="DELETE"):
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = " + mode)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def make(folder, megabytes):
    for name, content in (("names", trace(NAMES)), ("names_et", execution_trace()),
                          ("harmless", trace([f"name {i}" for i in range(len(NAMES))]))):
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=name == "names_et")
    for i, name in enumerate(NAMES):             # cells that an error shows
        with open(f"{folder}/odd_{i}.csv", "w", encoding="utf-8", newline="") as file:
            file.write("Device_id,Name,Start Time(us),Duration(us)\n" + name.replace("\n", "") + ",a,5,1\n")
    events, one = b'{"traceEvents": [', b'{"ph":"X","name":"n","ts":1,"dur":1'
    bomb(folder, megabytes, "spaces", events, b" ")
    bomb(folder, max(megabytes, 70), "text", events + b'{"name":"', b"a")   # 64 MB are too much
    bomb(folder, megabytes, "deep", events, b"[{\"a\":")
    bomb(folder, megabytes, "members", events + one + b',"args":{"b":1', b',"a":1')
    bomb(folder, megabytes, "digits", events + b'{"ph":"X","ts":', b"9")
    bomb(folder, megabytes, "events", events + one + b"}", b"," + one + b',"pid":1,"tid":1}')
    bomb(folder, megabytes, "zeros", b"", b"\0")
    strings = "CREATE TABLE StringIds (id INTEGER, value TEXT)"
    columns = "start, end, deviceId, streamId, correlationId, globalPid, demangledName"
    database(folder + "/view.sqlite", [
        "CREATE VIEW StringIds AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        " SELECT x AS id, 'a' AS value FROM c WHERE x < 0"])
    shutil.rmtree(folder + "/wal", ignore_errors=True)
    os.mkdir(folder + "/wal")
    database(folder + "/wal/wal #1?.sqlite", [
        strings, "INSERT INTO StringIds VALUES (1, 'gemm')",
        f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})",
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1500, 0, 7, 1, 9, 1)"], "WAL")


# ---- Raw streams ----

class raw_stream:
    """Blocks whose sums are right, in the byte order of struct's format."""
    def __init__(self, path, order, version):
        self.file, self.order, self.version, self.number = open(path, "wb"), order, version, 0

    def block(self, kind, payload):
        payload += b"\0" * (-len(payload) % 4)
        head = self.version << 16 | kind, len(payload), self.number
        a = b = 0
        for word in head + (0, 0) + struct.unpack(f"{self.order}{len(payload) // 4}I", payload):
            a += word
            b += a
        self.file.write(struct.pack(self.order + "6I", 0x50524f46, *head, a % 0xffffffff, b % 0xffffffff) + payload)
        self.number += 1

    def words(self, kind, *words, text=b""):
        self.block(kind, struct.pack(f"{self.order}{len(words)}I", *words) + text)

    def begin(self):
        self.words(1, 2, 7, 1000000000, 0, 0, 0, 0, 0, 5, 0)
        self.words(2, 1, 1, 4, 0, 0, text=b"loop")

    def end(self):
        self.words(6, 1, 0)
        self.file.close()

    def text(self, text):
        return struct.pack(self.order + "I", len(text)) + text + b"\0" * (-len(text) % 4)


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def make_raw(folder):
    for name, order in (("little", "<"), ("big", ">")):
        s = raw_stream(f"{folder}/dense_{name}.raw", order, 3)
        s.begin()
        for i in range(40):                      # of 100 ticks each, 50 of them a zone
            for part in range(2):
                s.block(11, varint(0) + varint(i * 25000 + part * 12500) + varint(1000000000) +
                        varint(i * 2500000 + part * 1250000) + bytes([32, 200, 1, 50]) * 12500)
        s.end()
    s = raw_stream(f"{folder}/metadata.raw", "<", 2)
    s.begin()
    s.words(12, 7, text=b'"a": 12')
    for i in range(200):
        s.words(4, 0, 0, i * 5000, 0, 0, 0, 0, 0, 1000000000, 0,
                *(word for n in range(5000) for word in ((i * 5000 + n) * 100 + 100, 50, 1 << 8)))
    s.end()
    s = raw_stream(f"{folder}/names.raw", "<", 2)
    s.begin()
    for first in range(2, 100002, 1000):
        s.block(2, b"".join(struct.pack("<5I", n, 1, 8, 0, 0) + b"%08d" % n for n in range(first, first + 1000)))
        s.words(4, 0, 0, first - 2, 0, 0, 0, 0, 0, 1000000000, 0,
                *(word for n in range(first, first + 1000) for word in (n * 100, 50, n << 8)))
    s.end()


    s = raw_stream(f"{folder}/deep.raw", "<", 2)
    s.begin()
    for thread in range(1500):
        s.words(4, thread, *[0] * 7, 1000000000, 0, *(word for n in range(100) for word in (1000 + n, 1, 1 << 8 | n * 37 % 255)))
    s.end()
    s = raw_stream(f"{folder}/codes.raw", "<", 2)
    s.begin()
    s.block(8, struct.pack("<2I", 0, 4) + b"".join(s.text(name.encode()) for name in NAMES[4:8]))
    for i, name in enumerate(NAMES):
        text = name.encode()
        s.words(2, i + 2, 1, len(text), len(text), len(text), text=3 * text)
        s.words(3, i, len(text), i + 1, 0, text=text)
        s.words(4, i, *[0] * 7, 1000000000, 0, 1000 + 100 * i, 50, i + 2 << 8)
        s.block(9, struct.pack("<16I", 100 * i, 0, 100 * i + 9, 0, 0, 20 << 16, *[0] * 10) +
                s.text(text) + s.text(text) + s.text(b'"a": 1') + s.text(NAMES[6].encode()))
        s.block(12, s.text(f'"{i}": '.encode() + json.dumps(name).encode()))
    s.end()


def check_codes(path):
    with open(path, encoding="utf-8", newline="") as file:      # what is not UTF-8 fails here
        text = file.read()
    found = re.search("[\0-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5"
                      "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
                      "\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
                      "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\r(?!\r*\n)", text)
    return found and "control character: " + repr(text[max(0, found.start() - 40):found.end()])


def check_formulas(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    cells = [cell for row in rows for cell in row
             if re.match("[\\s\u200b\ufeff]*[=+\\-@\uff1d]", cell) and not re.fullmatch(r"[-+]?[0-9.e]+(nan|inf)?", cell)]
    if not any(cell.startswith("'=HYPERLINK") for row in rows for cell in row):
        return "the name is not there"
    return cells and "formula: " + repr(cells[0])


def check_svg(path):
    tags = {element.tag.split("}")[1] for element in xml.etree.ElementTree.parse(path).iter()}
    more = tags - {"svg", "style", "rect", "text", "title", "g", "script"}
    return more and "elements: " + repr(more)


if __name__ == "__main__":
    CHECKS = {"--raw": make_raw, "--codes": check_codes, "--formulas": check_formulas, "--svg": check_svg}
    if sys.argv[1] in CHECKS:
        sys.exit(CHECKS[sys.argv[1]](sys.argv[2]) or 0)
    make(sys.argv[1], int(sys.argv[2]))
