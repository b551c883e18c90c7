"""Small files of an enemy, one and more of each format, and what prof has to say of them.
    hostile_files.py DIR PROF     makes them in DIR; fails where PROF says something else, ends by a
                                  signal, or where an old output does not stay though it failed
    hostile_files.py DIR          makes them alone (tests/fuzz/test_prof_fuzz.sh reads them under ASan)
Also what makers.py makes, cut at a quarter, a half and three quarters. Without ALL=1 a third of all, others
each time."""
import gzip, json, os, pickle, sqlite3, struct, subprocess, sys, time

folder, prof = sys.argv[1], (sys.argv[2:] or [None])[0]
seeds = f"{folder}/seeds"
os.makedirs(seeds, exist_ok=True)
sys.argv = [sys.argv[0], seeds]
from makers import field, firefox, gecko, message, node, rocprof, varint

T, CASES, FAILED = 1700000000000000000, [], []


def case(name, status, said, content):
    """said: what stderr has, the field and the byte (or row) with it."""
    path = f"{folder}/{name}"
    if content is not None:
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
    CASES.append((name, status, said))


# ---- Samples: V8's tree, Firefox's tables ----

def v8(nodes, samples=(2, 3, 2)):
    return {"nodes": [node(*n[:2], "a.js", 1, n[2]) for n in nodes], "startTime": 0, "endTime": 10,
            "samples": samples, "timeDeltas": [1] * len(samples)}


tree = [(1, "(root)", [2]), (2, "a", [3]), (3, "b", [])]
case("child.cpuprofile", 1, "id of byte 161 is of no node", v8([(1, "(root)", [2, 99])] + tree[1:]))
case("cycle.cpuprofile", 1, "children of byte", v8([(1, "(root)", [])] + [tree[1], (3, "b", [2])]))
case("twice.cpuprofile", 1, "is that of a node before", v8(tree + [(3, "c", [])]))
case("parents.cpuprofile", 1, "tells another parent", v8([(1, "(root)", [2, 3])] + tree[1:]))
case("sample_2e63.cpuprofile", 1, "samples of byte", v8(tree, [2, 1 << 63]))
case("deep.cpuprofile", 1, "brackets are more than 64 deep",
     b'{"nodes": [{"callFrame": ' + b"[" * 100000)


def rows(value, **columns):
    for table, more in columns.items():
        value["threads"][0][table].update(more)
    return value


case("prefix_2e31.json", 1, "stackTable.prefix of byte", rows(firefox(False), stackTable={"prefix": [None, 1 << 31]}))
case("prefix_cycle.json", 1, "stackTable.prefix of row 1 leads back to it", rows(firefox(False), stackTable={"prefix": [1, 0]}))
case("stack_negative.json", 1, "is -9, not 0 to", rows(firefox(False), samples={"stack": [0, -9, 1, 0, None]}))
text = gecko()
text["processes"][0]["threads"][0]["samples"]["schema"]["stack"] = "x"
case("schema.json", 1, "samples.stack of byte", text)

# ---- JSON of traces and records ----

event = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
case("deep.json", 2, "byte 5", b'[{"a":' + b"[" * 100000)
case("ts_2e63.json", 2, "do not fit", {"baseTimeNanoseconds": 1 << 62, "traceEvents": [dict(event, ts=1 << 53)]})
case("twice.json", 2, "a second traceEvents", b'{"traceEvents": [], "traceEvents": []}')
case("records.json", 0, "left out: 1 pops without a push", [[
    {"kind": "push", "name": "a", "t": 1, "handle": 1 << 61, "thread_id": 1, "node_id": -1},
    {"kind": "pop", "t": 2, "handle": 5, "thread_id": 1, "node_id": -1}]])
case("rocprof_id.json", 1, "kernel_id of the record that ends at byte", json.dumps(rocprof(1)).replace(
    '"kernel_id": 3, "grid', '"kernel_id": 9223372036854775808, "grid').encode())
case("rocprof_time.json", 1, "start_timestamp of byte", json.dumps(rocprof(1)).replace(
    '"start_timestamp": 2000', '"start_timestamp": 1e300').encode())

# ---- Protobuf: XLA, Perfetto ----

def xla(*line, names=((4, message((1, 1), (2, message((2, "op"))))),)):
    plane = message((1, 1), (2, "/host:CPU"), (3, b"".join(line)), *names)
    return field(1, plane)


def xla_event(*fields):
    return field(4, message(*fields))


head = message((1, 7), (3, T))
case("id.pb", 1, "XEvent.metadata_id of byte 37 is that of no name", xla(head, xla_event((1, 99), (2, 5), (3, 5))))
case("offset.pb", 1, "XEvent of byte", xla(head, xla_event((1, 1), (2, -5), (3, 5))))
case("type.pb", 1, "XEvent.offset_ps of byte", xla(head, xla_event((1, 1), (2, "x"), (3, 5))))
case("beyond.pb", 1, "XEvent of byte", xla(head, field(4, b"\x22\x7f")))
case("size_2e63.pb", 1, "this is no plane", xla(head) + b"\x0a" + varint(1 << 63))


def packet(*fields):
    return field(1, message(*fields))


def track_event(*fields):
    return packet((8, 5), (10, 1), (11, message(*fields)))


def track(uuid, parent):
    return packet((60, message((1, uuid), (2, "t"), (5, parent))))


case("iid.pftrace", 1, "name_iid of the packet at byte 0", track_event((9, 3), (11, 4), (10, 77)))
case("cycle.pftrace", 1, "leads back to it", track(4, 5) + track(5, 4) + track_event((9, 3), (11, 4), (23, "a")))
case("flows.pftrace", 1, "flow_ids of the packet at byte 0", packet((8, 5), (10, 1), (11, message(
    (9, 3), (11, 4), (23, "a")) + b"".join(varint(47 << 3 | 1) + struct.pack("<Q", i) for i in range(65)))))
case("size_2e63.pftrace", 1, "byte 16: a packet of more than", track_event((9, 3), (11, 4), (23, "a")) + b"\x0a" + varint(1 << 63))
case("types.pftrace", 1, "TracePacket of the packet at byte", track_event((9, 3), (11, 4), (23, "a")) + packet((8, "x"), (10, 1)))

# ---- Raw streams: blocks whose sums are right ----

def block(number, kind, *words):
    payload = [word & 0xffffffff for word in words]
    a = b = 0
    for word in [2 << 16 | kind, 4 * len(payload), number, 0, 0] + payload:
        a = (a + word) % 0xffffffff
        b = (b + a) % 0xffffffff
    return struct.pack(f"<{6 + len(payload)}I", 0x50524f46, 2 << 16 | kind, 4 * len(payload), number, a, b, *payload)


start = block(0, 1, 1, 7, 1000000000, 0, 0, 0, 5, 0, 1, 0)
zone = block(1, 4, 0, 0, 0, 0, 600, 0, 600, 0, 1000000000, 0, 500, 400, 1 << 8)
last = block(3, 6, 1, 0)
for name, odd in (("name", block(2, 2, 1, 1, 0xffffffff, 0xffffffff, 6)), ("thread", block(2, 3, 0, 1 << 31, 0, 0)),
                  ("pairs", block(2, 1, 1, 7, 0, 0, 0, 0, 0, 0, 1, 0x40000001)), ("open", block(2, 5, 0, 1 << 31, 9, 0)),
                  ("counts", block(2, 6, 1, 1 << 31)), ("event", block(2, 9, *[0] * 16, 1 << 31, 0, 0, 0)),
                  ("metadata", block(2, 12, 1 << 31))):
    case(f"{name}.raw", 1, "the first begins at byte 140", start + zone + odd + last)

# ---- Pickles, databases, tables, packed files ----

case("get.pickle", 2, "byte 3: this is not a pickle: it knows nothing", b"\x80\x02}h\xff.")
case("text_2e63.pickle", 2, "more than 64 MB", b"\x80\x04\x8d" + struct.pack("<Q", 1 << 63) + b"x")
case("append.pickle", 2, "appends to what is no list", b"\x80\x02}Na.")
case("marks.pickle", 2, "more than 512 deep", b"\x80\x02" + b"(" * 100000)
case("size.pickle", 1, "size of the dict at byte", pickle.dumps({"segments": [], "device_traces": [[
    {"action": "alloc", "addr": 1, "size": -5, "stream": 0, "time_us": 1, "frames": []}]]}, 4))
path = f"{folder}/ids.rpd"
with open(f"{seeds}/amd.rpd", "rb") as seed, open(path, "wb") as file:
    file.write(seed.read())
with sqlite3.connect(path) as db:
    db.execute("UPDATE rocpd_op SET gpuId = 'x' WHERE id = 20")
case("ids.rpd", 1, "rocpd_op.gpuId of row 1 is no number", None)
case("time.csv", 0, "1 lines have no time", b"Name,Start Time(us),Duration(us)\na,1e300,1\nb,5,1\n")
case("count.folded", 0, "1 lines are not folded stacks", b"a 1\nb;c 99999999999999999999999\n")
case("cut.json.gz", 1, "ends early", gzip.compress(json.dumps([event] * 999).encode())[:-20])


# ---- What prof says ----

def run(path, status, said):
    old = f"{folder}/old.txt"
    with open(old, "w") as file:
        file.write("before")
    done = subprocess.run([prof, "report", "-o", old, path], capture_output=True, text=True, errors="replace")
    with open(old) as file:
        kept = file.read() == "before"
    if status is None:                  # of a file that was cut: some say it, those of lines cannot
        good = 0 <= done.returncode <= 2 and (done.returncode == 0 or done.stderr)
    else:
        good = done.returncode == status and said in done.stderr
    if not good or (done.returncode == 2 and not kept):
        FAILED.append(f"{path}: exit status {done.returncode}, not {status}, or without '{said}', or with "
                      f"another output: {done.stderr}")


def cut(path, quarter):
    name = os.path.basename(path)
    with open(path, "rb") as file:
        text = file.read()
    with open(f"{folder}/cut_{quarter}_{name}", "wb") as file:
        file.write(text[:len(text) * quarter // 4])
    return f"{folder}/cut_{quarter}_{name}"


if prof:
    runs = [(f"{folder}/{name}", status, said) for name, status, said in CASES]
    runs += [(cut(f"{seeds}/{name}", quarter), None, "") for name in sorted(os.listdir(seeds)) for quarter in (1, 2, 3)]
    for one in runs if os.environ.get("ALL") else runs[int(time.time()) % 3::3]:
        run(*one)
    sys.exit("\n".join(FAILED) or 0)
