#!/usr/bin/env python3
"""Every command that copies what a trace holds, on what is no JSON (odd_json.py PROF DIR): it
makes JSON of what can be made JSON, tells the first byte of what cannot, and copies none of it.
"""
import os
import subprocess
import sys
import time
from decimal import Decimal

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "write"))
from check_json import load     # noqa: E402

prof, folder = sys.argv[1:]
# The text of an event's args, and what it means.
MENDED = [
    (b'{"a":NaN,"b":[-Infinity,Infinity,nan,-inf,-nan]}', {"a": None, "b": [None] * 5}),
    (b'{"a":[1e999,-1e999,1E+400,%s],"b":-0,"c":[ ],"d":{ },"e":1e-999 }' % (b"9" * 400),
     {"a": [None] * 4, "b": 0, "c": [], "d": {}, "e": Decimal("1e-999")}),
    (rb'{"a":"\x41\q","b\z":"\u12","c":"\u","d":"\u12G4"}',
     {"a": "\\x41\\q", "b\\z": "\\u12", "c": "\\u", "d": "\\u12G4"}),
    (rb'{"a":"\ud800","b":"\udc00\ud83d\ude00","c":"\ud83d\u0041"}',
     {"a": "\ufffd", "b": "\ufffd\U0001f600", "c": "\ufffdA"}),
    (b'{"a":"\x00\x01\n\x1f\x7f","b\t":"\\\n\\\x00"}', {"a": "\0\1\n\x1f\x7f", "b\t": "\\\n\\\0"}),
    (b'{"a":"\xff\xc3\xed\xa0\x80\\\xff\\\xc3\xa9"}', {"a": "\ufffd" * 5 + "\\\ufffd\\\xe9"}),
    (b'{"a":[1,2 , ],"b":[{"c":3,}],}', {"a": [1, 2], "b": [{"c": 3}]}),
    (b'[1,NaN,]', [1, None]), (rb'"\x"', "\\x"), (b'NaN', None), (b'5', 5)]
# ... and what no writer can know the meaning of, with the place of its first odd byte.
FAULTS = [(b'{"a":%s}' % text, 5 + at) for text, at in (
    (b"01", 1), (b"-01", 2), (b"+1", 0), (b"-", 1), (b"-a", 1), (b"1.", 2), (b".5", 0), (b"1e", 2),
    (b"1e+", 3), (b"1.2.3", 3), (b"0x10", 1), (b"1-2", 1), (b"-null", 1), (b"nope", 0),
    (b"truex", 4), (b"tru", 0), (b"Infinit", 0), (b"'a'", 0), (b"[1 2]", 3), (b"[1:2]", 2),
    (b"[1,,2]", 3), (b"[,1]", 1), (b'{"b" 1}', 5), (b"{1:2}", 1), (b'{"b"}', 4), (b"[1}", 2),
    (b"\x01", 0), (b"\xff", 0), (b"", 0), (b'[1,\0]', 3))]
EVENT = b'{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":1,"ts":%d,"dur":2,"args":%s}'
# Its own bytes are odd too: a byte order mark, a key, a member, commas.
HEAD = (b'\xef\xbb\xbf{"bad\\x":[NaN,],"traceEvents":[\n' +
        EVENT % (b"cpu_op", b"first", 1, b"{}") + b",\n")
TAIL = b",\n" + EVENT % (b"cpu_op", b"last", 9, b"{}") + b",\n],}\n"
RECORDS = (b'[[{"kind":"push","handle":1,"t":1,"name":"a%s"},'
           b'{"kind":"pop","handle":1,"t":2,"name":"a"}]]')
NODES = b'{"schema":"1","nodes":[{"id":1,"name":"p","ctrl_deps":1,"args":%s}]}'
failed = False
PART = 6 if os.environ.get("TEST_SAMPLE") else 1     # of the texts, others each time; all with --all
turn = int(os.environ.get("TURN") or time.time())


def part(texts):
    global turn
    turn += 1
    return texts[turn % PART::PART]


def tell(name, why):
    global failed
    failed |= bool(why)
    print(f"not ok {name}: {why}" if why else f"ok {name}")


def run(words, content):
    """(exit status, stderr, what it wrote)"""
    trace, out = f"{folder}/odd.json", f"{folder}/odd_out.json"
    for path in trace, out:
        if os.path.exists(path):
            os.remove(path)
    with open(trace, "wb") as file:
        file.write(content)
    done = subprocess.run([prof] + [{"IN": trace, "OUT": out}.get(word, word) for word in words],
                          capture_output=True, check=False)
    return done.returncode, done.stderr.decode(), load(out) if os.path.exists(out) else None


COPY = {"augment": ["augment", "IN", "OUT"], "cut": ["cut", "--to", "1s", "-o", "OUT", "IN"],
        "merge": ["merge", "-o", "OUT", "IN", "IN"], "merge_one": ["merge", "-o", "OUT", "IN"]}
DATA = {f"{name}_json": [name, "-f", "json", "-o", "OUT", "IN"]
        for name in ("report", "analyze", "gaps")}
DATA["memory_json"] = ["memory", "--by", "op", "-f", "json", "-o", "OUT", "IN"]


def events(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def mended(name, words, category):
    for text, means in part(MENDED):
        status, errors, out = run(words, HEAD + EVENT % (category, b"odd", 5, text) + TAIL)
        if status or out is None:
            return f"{text}: exit status {status}: {errors}"
        if name not in COPY:
            continue
        args = [event["args"] for event in events(out) if event["name"] == "odd"]
        if not args or any(got != means for got in args):
            return f"{text}: {args}"
        if out.get("bad\\x") != [None]:
            return f"its member is {out.get('badx')}"
    return None


def faults(name, words):
    for text, at in part(FAULTS):
        content = HEAD + EVENT % (b"cpu_op", b"odd", 5, text) + TAIL
        byte = content.index(b'"odd"') + len(b'"odd","pid":1,"tid":1,"ts":5,"dur":2,"args":') + at
        status, errors, out = run(words, content)
        if status != 1 or f"byte {byte}" not in errors:
            return f"{text}: exit status {status}, not byte {byte}: {errors}"
        if name in COPY and {event["name"] for event in events(out)} != {"first", "last"}:
            return f"{text}: {out}"
    return None


for name, words in list(COPY.items()) + list(DATA.items()):
    tell(f"odd_{name}", mended(name, words, b"cpu_op"))
    tell(f"odd_{name}_faults", faults(name, words))
tell("odd_kernel", mended("augment", COPY["augment"], b"kernel"))
for name, words in COPY.items():
    status, errors, out = run(words, RECORDS % b"\\x\xff\\u1")
    tell(f"odd_records_{name}", None if status == 0 and {e["name"] for e in events(out)} ==
         {"a\\x\ufffd\\u1"} else f"{status}, {errors}, {out}")
with open(f"{folder}/odd_linked.json", "wb") as file:
    file.write(b"[" + EVENT % (b"cpu_op", b"p", 1, b'{"External id":1}') + b"]")
why = None
for text, means in MENDED:
    status, errors, out = run(["et", "--link", f"{folder}/odd_linked.json", "-o", "OUT", "IN"],
                              NODES % text)
    if status != 0 or out["nodes"][0]["args"] != means:
        why = f"{text}: exit status {status}, {errors}, {out}"
tell("odd_et", why)
status, errors, out = run(["validate", "-f", "json", "-o", "OUT", "IN"], HEAD + b",".join(
    EVENT % (b"cpu_op", b"odd", 5, text) for text, _ in MENDED) + TAIL)
tell("odd_validate", None if {"json", "text", "number"} <= {row["Rule"] for row in out} else out)
sys.exit(failed)
