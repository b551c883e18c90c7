"""Small files of an enemy, one and more of each format, and what prof has to say of them.
    hostile_files.py DIR PROF     makes them in DIR; fails where PROF says something else, ends by a
                                  signal, or where an old output does not stay though it failed
    hostile_files.py DIR          makes them alone (tests/fuzz/test_prof_fuzz.sh reads them under ASan)
Also what makers.py makes, cut at a quarter, a half and three quarters. Without ALL=1 a third of all, others
each time."""
import gzip, json, os, pickle, re, sqlite3, struct, subprocess, sys, time, zlib

folder, prof = sys.argv[1], (sys.argv[2:] or [None])[0]
seeds = f"{folder}/seeds"
os.makedirs(seeds, exist_ok=True)
sys.argv = [sys.argv[0], seeds]
from makers import field, firefox, gecko, message, node, rocprof, varint

T, CASES, ELF, FAILED = 1700000000000000000, [], [], []


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
case("deltas.cpuprofile", 1, "timeDeltas of byte", dict(v8(tree), timeDeltas=[3900000000000000] * 3))
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
year = 365 * 86400e6
case("sums.json", 0, "12 events that last ten years or more, as where an end was lost, or longer than a sum can hold",
     [dict(event, ts=1, dur=9 * year, tid=i) for i in range(28)])
case("bytes.json", 0, "2 changes of memory by more bytes than a sum can hold",
     [event] + [{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "args": {
      "Addr": i, "Bytes": i, "Device Type": 0, "Device Id": -1, "Total Allocated": i}} for i in (5, (1 << 63) - 1, -1 << 63)])
case("records.json", 0, "left out: 1 pops without a push", [[
    {"kind": "push", "name": "a", "t": 1, "handle": 1 << 61, "thread_id": 1, "node_id": -1},
    {"kind": "pop", "t": 2, "handle": 5, "thread_id": 1, "node_id": -1}]])
case("rocprof_id.json", 1, "kernel_id of the record that ends at byte", json.dumps(rocprof(1)).replace(
    '"kernel_id": 3, "grid', '"kernel_id": 9223372036854775808, "grid').encode())
case("rocprof_time.json", 1, "start_timestamp of byte", json.dumps(rocprof(1)).replace(
    '"start_timestamp": 2000', '"start_timestamp": 1e300').encode())

text = json.dumps(rocprof(1))
case("rocprof_operation.json", 1, "operation of the record that ends at byte",
     re.sub('("kind": 1, "operation": )1', r"\g<1>77", text).encode())
case("rocprof_text.json", 1, "operations of byte", text.replace('"hipLaunchKernel"', "5").encode())

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
last = track_event((9, 3), (11, 4), (23, "a"))
for name, packed, said in (("bomb", zlib.compress((last + packet((900, bytes(1000)))) * 9000), "unpacks to more than 8 MB"),
                           ("cut", zlib.compress(last * 99)[:-9], "damaged"), ("none", b"", "damaged"),
                           ("twice", zlib.compress(packet((50, zlib.compress(last)))), "packed twice")):
    case(f"packed_{name}.pftrace", 1, f"compressed_packets of the packet at byte {len(last)} ", last + packet((50, packed)))
    case(f"packed_{name}_why.pftrace", 1, said, last + packet((50, packed)))
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
for name, change, said in (
        ("ids", "rocpd_op SET gpuId = 'x' WHERE id = 20", "rocpd_op.gpuId of row 1 is no number"),
        ("zero", "rocpd_string SET string = 'ge' || char(0) || 'mm' WHERE id = 4", "rocpd_string.string of row 4 has a byte 0"),
        ("texts", "rocpd_op SET description_id = 99999 WHERE id = 20", "rocpd_op.description_id of row 1 is the id of no text")):
    with open(f"{seeds}/amd.rpd", "rb") as seed, open(f"{folder}/{name}.rpd", "wb") as file:
        file.write(seed.read())
    with sqlite3.connect(f"{folder}/{name}.rpd") as db:
        db.execute(f"UPDATE {change}")
    case(f"{name}.rpd", 1, said, None)
if prof:                                # too slow under ASan, where nothing is bound
    case("long.pftrace", 2, "or --any-memory", track_event((9, 3), (11, 4), (23, "a")) + packet((10, 1), (13, 1), (12, message((2, message((1, 7), (2, "n" * 1000000)))))) +
         packet((10, 1), (11, message((9, 3), (11, 4), (10, 7)))) * 1000)
    with open(f"{seeds}/amd.rpd", "rb") as seed, open(f"{folder}/long.rpd", "wb") as file:
        file.write(seed.read())
    with sqlite3.connect(f"{folder}/long.rpd") as db:
        db.execute("UPDATE rocpd_string SET string = replace(hex(zeroblob(500000)), '0', 'n') WHERE id = 4")
        db.executemany("INSERT INTO rocpd_op(id, gpuId, queueId, start, end, description_id, opType_id) "
                       "VALUES (?, 1, 1, 5, 6, 4, 3)", [(100 + i,) for i in range(1000)])
    case("long.rpd", 2, "the names of its events would have more than", None)
columns = "Device_id,Name,Start Time(us),Duration(us),Stream ID\n0,b,5,1,2\n"
case("none.csv", 0, "1 lines have no time", f"{columns}0,a,N/A,1,2\n".encode())
case("time.csv", 1, "Start Time(us) of line 3 is 1e300, no number", f"{columns}0,a,1e300,1,2\n".encode())
case("device.csv", 1, "Device_id of line 3 is NPU, no number", f"{columns}NPU,a,5,1,2\n".encode())
case("stream.csv", 1, "Stream ID of line 3 is x, no number", f"{columns}0,a,5,1,x\n".encode())
case("length.csv", 1, "Duration(us) of line 3 is -1000, not 0 to", f"{columns}0,a,5,-1,2\n".encode())
with open(f"{seeds}/communication0.json") as file:
    collectives = file.read()
for name, key, value in (("start", "Start Timestamp(us)", '"x"'), ("elapse", "Elapse Time(ms)", "-1"),
                               ("wait", "Wait Time(ms)", "1e300"),
                               ("size", "Transit Size(MB)", "true")):
    case(f"{name}.json", 1, f"{key} of byte", re.sub(f'({re.escape(key)}": )[^,}}]*', r"\g<1>" + value, collectives).encode())
case("count.folded", 0, "1 lines are not folded stacks", b"a 1\nb;c 99999999999999999999999\n")
case("cut.json.gz", 1, "ends early", gzip.compress(json.dumps([event] * 999).encode())[:-20])


# ---- ELF files whose sections have the names of a stream's zones ----

def elf(name, said, at=0, size=4, value=0, status=1):
    """One of 64 bits: prof_sites, its name's section and the build; then a number is written over its bytes."""
    sites, names = b"\0loop\0a.c\x007\0", b"\0prof_sites\0.note.gnu.build-id\0"
    note = struct.pack("<3I", 4, 4, 3) + b"GNU\0" + b"\1\2\3\4"
    places = [64, 64 + len(sites), 64 + len(sites) + len(names)]
    sections = [(0, 0, 0, 0), (1, 1, places[0], len(sites)), (0, 3, places[1], len(names)), (12, 7, places[2], len(note))]
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, 1000, 0, 64, 0, 0, 64, 4, 2)
    text = bytearray(1000 + 64 * 4)
    body = head + sites + names + note
    text[:len(body)] = body
    for i, (title, kind, place, length) in enumerate(sections):
        struct.pack_into("<IIQQQQIIQQ", text, 1000 + 64 * i, title, kind, 0, 0, place, length, 0, 0, 1, 0)
    text[at:at + size] = value.to_bytes(size, "little") if size else b""
    with open(f"{folder}/{name}.elf", "wb") as file:
        file.write(text)
    ELF.append((f"{name}.elf", status, said))


elf("right", "", size=0, status=0)
elf("shoff", "e_shoff of byte 40 is 4294967295, and not all", 40, 4, 0xffffffff, status=2)
elf("shentsize", "e_shentsize of byte 58 is 3, too little", 58, 2, 3, status=2)
elf("shstrndx", "e_shstrndx of byte 62 is 9, the number of no section", 62, 2, 9, status=2)
elf("sites_size", "sh_size of byte 1096 is 4294967308, more than", 1100, 4, 1, status=2)
elf("sites_place", "sh_offset of byte 1088 is 99999, and the section", 1088, 4, 99999, status=2)
elf("note_place", "sh_offset of byte 1216 is 99999, and no note", 1216, 4, 99999)
elf("note_size", "n_descsz of byte 111 is 99, not 0 to 4", 111, 4, 99)
elf("text", "prof_sites of byte 65 is no name with its file and line", 74, 1, 65)


# ---- What prof says ----

def run(path, status, said, *command):
    old = f"{folder}/old.txt"
    with open(old, "w") as file:
        file.write("before")
    done = subprocess.run([prof, *(command or ["report"]), "-o", old, path], capture_output=True, text=True, errors="replace")
    with open(old) as file:
        kept = file.read() == "before"
    if status is None:                  # of a file that was cut: some say it, those of lines cannot
        good = 0 <= done.returncode <= 2 and (done.returncode == 0 or done.stderr)
    else:
        good = done.returncode == status and said in done.stderr
    if not good or (done.returncode == 2 and not kept):
        FAILED.append(f"{path} {command}: exit status {done.returncode}, not {status}, or without '{said}', or with "
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
    with open(f"{folder}/elf.raw", "wb") as file:
        file.write(start + block(1, 4, 0, 0, 0, 0, 600, 0, 600, 0, 1000000000, 0, 500, 400, 0x400001 << 8) + block(2, 6, 1, 0))
    runs += [(f"{folder}/elf.raw", status, said, "decode", "--elf", f"{folder}/{name}") for name, status, said in ELF]
    for one in runs if os.environ.get("ALL") else runs[int(time.time()) % 3::3]:
        run(*one)
    sys.exit("\n".join(FAILED) or 0)
