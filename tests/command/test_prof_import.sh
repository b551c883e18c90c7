#!/bin/sh
# prof export of profiles of nvprof and of Nsight Systems, made here, as the traces they are; and
# databases that would have the command run what they say.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

if ! python3 -c 'import sqlite3' 2>/dev/null; then
    echo 'skip import: this python3 has no sqlite3'
    exit 0
fi
rm -f "$out"/*.sqlite "$out"/*.nvvp
python3 - "$out" <<'PYTHON'
import sqlite3, struct, sys
out = sys.argv[1]

def make(path, tables):
    db = sqlite3.connect(path)
    for table, (columns, rows) in tables.items():
        db.execute(f"CREATE TABLE {table} ({columns})")
        for row in rows:
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    db.commit()

T = 1700000000000000000
thread = struct.pack("<III", 42, 43, 0)
make(f"{out}/run.nvvp", {
    "StringTable": ("_id_ INTEGER, value TEXT",
                    [(1, "aten::mm, seq = 7, op_id = 3, sizes = [[2, 3], [3, 4]], "
                         "input_op_ids = [(1,0)]"), (2, "my range"), (3, "gemm_kernel"),
                     (4, 'odd "name"'), (5, "Tesla V100")]),
    "CUPTI_ACTIVITY_KIND_MARKER": (
        "_id_ INTEGER, flags INTEGER, timestamp INTEGER, id INTEGER, objectKind INTEGER, "
        "objectId BLOB, name INTEGER, domain INTEGER",
        [(1, 2, T + 1000, 1, 2, thread, 2, 0), (2, 2, T + 2000, 2, 2, thread, 1, 0),
         (3, 4, T + 9000, 2, 2, thread, 0, 0), (4, 4, T + 10000, 1, 2, thread, 0, 0),
         (5, 1, T + 10500, 3, 2, thread, 4, 0), (6, 2, T + 11000, 4, 2, thread, 2, 0)]),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "_id_ INTEGER, cbid INTEGER, start INTEGER, end INTEGER, processId INTEGER, "
        "threadId INTEGER, correlationId INTEGER, returnValue INTEGER",
        [(1, 211, T + 3000, T + 4000, 42, 43, 100, 0), (2, 13, T + 5000, T + 6000, 42, 43, 101, 0),
         (3, 777, T + 6500, T + 6600, 42, 43, 102, 0)]),
    "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL": (
        "_id_ INTEGER, start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
        "streamId INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
        "blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, "
        "registersPerThread INTEGER, correlationId INTEGER, name INTEGER",
        [(1, T + 20000, T + 21234, 0, 1, 7, 2, 3, 4, 128, 1, 1, 10, 20, 32, 100, 3),
         (2, T + 22000, T + 25000, 0, 1, 7, 2, 3, 4, 128, 1, 1, 10, 20, 32, 101, 3),
         (3, T + 26000, T + 26500, 0, 1, 7, 2, 3, 4, 128, 1, 1, 10, 20, 32, 101, 3)]),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "_id_ INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, bytes INTEGER, "
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
        "correlationId INTEGER", [(1, 1, 1, 3, 4096, T + 30000, T + 32048, 0, 1, 7, 102)]),
    "CUPTI_ACTIVITY_KIND_DEVICE": (
        "_id_ INTEGER, id INTEGER, name INTEGER, globalMemorySize INTEGER, "
        "numMultiprocessors INTEGER, computeCapabilityMajor INTEGER, "
        "computeCapabilityMinor INTEGER", [(1, 0, 5, 1 << 34, 80, 7, 0)])})
tid = (42 << 24) | 43
make(f"{out}/run.sqlite", {
    "StringIds": ("id INTEGER, value TEXT",
                  [(1, "cudaLaunchKernel_v7000"), (2, "gemm<float>(int)"), (3, "named by id"),
                   (4, "cuLaunchKernel")]),
    "NVTX_EVENTS": ("start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, "
                    "textId INTEGER",
                    [(1000, 9000, 59, "aten::add, op_id = 5", tid, None),
                     (500, 9500, 59, None, tid, 3), (600, 20000, 60, "crosses", tid, None),
                     (700, None, 34, "here", tid, None), (800, None, 59, "open", tid, None),
                     (0, None, 75, "thread name", tid, None)]),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
        [(2000, 3000, tid, 5, 1), (3100, 3200, tid, 6, 4)]),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
        "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, "
        "gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, "
        "blockZ INTEGER, registersPerThread INTEGER, staticSharedMemory INTEGER, "
        "dynamicSharedMemory INTEGER",
        [(4000, 6001, 1, 1, 13, 5, 42 << 24, 2, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9)]),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
        "correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER",
        [(7000, 7500, 1, 1, 13, 6, 42 << 24, 0, 64)]),
    "TARGET_INFO_GPU": ("id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, "
                        "computeMajor INTEGER, computeMinor INTEGER",
                        [(1, "NVIDIA H100", 1 << 36, 132, 9, 0)]),
    "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs INTEGER", [(T,)])})
call = "start INTEGER, end INTEGER, correlationId INTEGER, cbid INTEGER, processId INTEGER, threadId INTEGER"
make(f"{out}/early.nvvp", {
    "StringTable": ("_id_ INTEGER, value TEXT", []),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (call, [(T + 5000, T + 6000, 1, 211, 42, 43)]),
    "CUPTI_ACTIVITY_KIND_DRIVER": (call, [(T + 1000, T + 2000, 2, 5, 42, 43)]),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start INTEGER, end INTEGER, deviceId INTEGER", [(T + 500, T + 900, 0)])})
names = ["add, seq=3", "mm, seq = 4, sizes = [[2, 3]]", "AddBackward0, stashed seq=3",
         "MmBackward, stashed seq = 4", "none, seq=x", "late, stashed seq=3"]
make(f"{out}/back.nvvp", {
    "StringTable": ("_id_ INTEGER, value TEXT", [(i + 1, name) for i, name in enumerate(names)]),
    "CUPTI_ACTIVITY_KIND_MARKER": (
        "_id_ INTEGER, flags INTEGER, timestamp INTEGER, id INTEGER, objectKind INTEGER, "
        "objectId BLOB, name INTEGER, domain INTEGER",
        [row for i in range(len(names)) for row in
         [(2 * i + 1, 2, T + 1000 * i, i + 1, 2, thread, i + 1, 0),
          (2 * i + 2, 4, T + 1000 * i + 500, i + 1, 2, thread, 0, 0)]])})
make(f"{out}/other.sqlite", {"things": ("id INTEGER", [(1,)])})
make(f"{out}/sizes.sqlite", {
    "StringIds": ("id INTEGER, value TEXT", []),
    "NVTX_EVENTS": ("start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER",
                    [(1000 * i, 1000 * i + 500, 59, f"aten::mm, seq = {i}, sizes = {sizes}", tid)
                     for i, sizes in enumerate(["[,,--]", "[[]1[]]", "[01, -]", "[2", "[[2], []]"])])})

def hostile(name, *statements):
    db = sqlite3.connect(f"{out}/{name}.sqlite")
    for sql in ("CREATE TABLE StringIds(id, value)", "CREATE TABLE more(a)", "CREATE TABLE filler(a)",
                *statements): db.execute(sql)
    db.commit()

forge = ("PRAGMA writable_schema = 1", "UPDATE sqlite_master SET type = 'table', sql = ")
for name, sql in {
        "computed": "CREATE TABLE NVTX_EVENTS(start, end AS (abs(start)))",
        "stored": "CREATE TABLE NVTX_EVENTS(start, end AS (start) STORED)",
        "view": "CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start",
        "long": "INSERT INTO StringIds VALUES(1, zeroblob(5000000))",
        "wide": f"CREATE TABLE NVTX_EVENTS({','.join(f'c{i}' for i in range(501))})",
        "trigger": "CREATE TRIGGER t AFTER INSERT ON more BEGIN SELECT 1; END"}.items():
    hostile(name, sql)
for name, sql in {
        "disguised": "CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS end",
        "virtual": "CREATE VIRTUAL TABLE NVTX_EVENTS USING json_each(x)",
        "hidden": "create/**/virtual table NVTX_EVENTS USING dbstat"}.items():
    hostile(name, "CREATE TABLE NVTX_EVENTS(start, end)", forge[0],
            f"{forge[1]} '{sql}' WHERE name = 'NVTX_EVENTS'")

def endless():                            # a tree whose nodes all have one child 501 times
    hostile("endless", "INSERT INTO more VALUES(1)", *(f"CREATE TABLE t{i}(a)" for i in range(6)),
            "CREATE TABLE NVTX_EVENTS(start, end)", "INSERT INTO NVTX_EVENTS VALUES(1, 2)")
    db = sqlite3.connect(f"{out}/endless.sqlite")
    pages = dict(db.execute("SELECT name, rootpage - 1 FROM sqlite_master"))
    size, = db.execute("PRAGMA page_size").fetchone()
    db.close()
    with open(f"{out}/endless.sqlite", "r+b") as file:
        data = bytearray(file.read())
        chain = [pages["NVTX_EVENTS"], *(pages[f"t{i}"] for i in range(6))]
        leaf = data[chain[0] * size:chain[0] * size + size]
        for page, child in zip(chain, chain[1:]):
            cells = [size - 5 * (i + 1) for i in range(500)]
            node = bytearray(size)
            struct.pack_into(">BHHHxI", node, 0, 5, 0, 500, cells[-1], child + 1)
            for i, cell in enumerate(cells):
                struct.pack_into(">H", node, 12 + 2 * i, cell)
                struct.pack_into(">IB", node, cell, child + 1, 1)
            data[page * size:page * size + size] = node
        data[chain[-1] * size:chain[-1] * size + size] = leaf
        file.seek(0)
        file.write(data)
endless()
PYTHON

nvprof() { "$prof" export -o "$out/nvprof.json" "$out/run.nvvp"; }
nsys() { "$prof" export -o "$out/nsys.json" "$out/run.sqlite"; }
has() { says "$1" "$2" 0 cat "$out/$3.json"; }
row() { "$prof" report -f csv "$out/$1.json" | grep -F -e "$2"; }

"$prof" export -o "$out/back.json" "$out/back.nvvp"
has import_sequence '"name": "add", "pid": 42, "tid": 43, "ts": 0.000, "dur": 0.500, "args": {"Sequence number": 3}' back
has import_stashed '"name": "MmBackward", "pid": 42, "tid": 43, "ts": 3.000, "dur": 0.500, "args": {"Sequence number": 4}' back
has import_no_number '"user_annotation", "name": "none, seq=x"' back
arrows() { grep -c '"cat": "fwdbwd"' "$out/back.json"; }
says import_backward 4 0 arrows
says import_backward_valid '0 errors, 0 warnings' 0 "$prof" validate "$out/back.json"
says import_nvprof_twice '1 ids of markers or device work occur twice' 0 nvprof
says import_nvprof_open '1 events have no begin or no end: left out' 0 nvprof
has import_base '"baseTimeNanoseconds": 1700000000000001000' nvprof
"$prof" export -o "$out/early.json" "$out/early.nvvp"
has import_earliest '"Memcpy Unknown (Unknown -> Unknown)", "pid": 0, "tid": 0, "ts": 0.000' early
says import_earliest_valid '0 errors, 0 warnings' 0 "$prof" validate "$out/early.json"
has import_op '"cat": "cpu_op", "name": "aten::mm", "pid": 42, "tid": 43, "ts": 1.000, "dur": 7.000' nvprof
has import_op_args '"args": {"Sequence number": 7, "Input Dims": [[2, 3], [3, 4]]}' nvprof
has import_range '"user_annotation", "name": "my range", "pid": 42, "tid": 43, "ts": 0.000, "dur": 9.000' nvprof
has import_old_launch '"name": "cudaLaunch", ' nvprof
has import_unknown_cbid '"name": "runtime cbid 777"' nvprof
has import_kernel_ns '"name": "gemm_kernel", "pid": 0, "tid": 7, "ts": 19.000, "dur": 1.234' nvprof
has import_copy '"name": "Memcpy HtoD (Pageable -> Device)"' nvprof
has import_rate '"bytes": 4096, "memory bandwidth (GB/s)": 2}' nvprof
try import_odd_sizes "$prof" export -o "$out/sizes.json" "$out/sizes.sqlite"
says import_odd_sizes_json '0 errors, 0 warnings' 0 "$prof" validate "$out/sizes.json"
has import_odd_sizes_none '"args": {"Sequence number": 2}}' sizes
has import_odd_sizes_kept '"args": {"Sequence number": 4, "Input Dims": [[2], []]}}' sizes
has import_mark '"odd \"name\""' nvprof
has import_device '"name": "Tesla V100", "totalGlobalMem": 17179869184, "numSms": 80' nvprof
try import_nvprof_attributes row nvprof '"aten::mm",1,7.000,4.900,7.000,7.000,7.000,6.782,'
try import_nvprof_valid "$prof" validate "$out/nvprof.json"

says import_nsys_open '1 events have no begin or no end: left out' 0 nsys
has import_nsys_base '"baseTimeNanoseconds": 1700000000000000000' nsys
has import_nsys_name '"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 42' nsys
has import_nsys_driver '"cat": "cuda_driver", "name": "cuLaunchKernel"' nsys
has import_nsys_text '"name": "named by id"' nsys
has import_nsys_async '{"ph": "b", "cat": "user_annotation", "name": "crosses", "pid": 42' nsys
has import_nsys_kernel '"gemm<float>(int)", "pid": 1, "tid": 13, "ts": 4.000, "dur": 2.001' nsys
has import_nsys_grid '"registers per thread": 7, "shared memory": 17, "grid": [1, 2, 3], "block": [4, 5, 6]' nsys
has import_nsys_device '"name": "NVIDIA H100"' nsys
try import_nsys_attributes row nsys '"aten::add",1,8.000,6.900,8.000,8.000,8.000,2.501,'
try import_nsys_valid "$prof" validate "$out/nsys.json"
try import_json python3 -c 'import json, sys; [json.load(open(f)) for f in sys.argv[1:]]' \
    "$out/nvprof.json" "$out/nsys.json"

# Every command reads it, as it reads the trace.
reads() { "$prof" report "$1" >"$out/direct" && "$prof" report "$2" >"$out/imported" && cmp "$out/direct" "$out/imported"; }
try import_is_read_nvprof reads "$out/run.nvvp" "$out/nvprof.json"
try import_is_read_nsys reads "$out/run.sqlite" "$out/nsys.json"
says import_stdin 'is read from a plain file' 2 sh -c "'$prof' report - <'$out/run.sqlite'"

says import_other 'neither a profile of nvprof' 2 "$prof" report "$out/other.sqlite"
head -c 9000 "$out/run.sqlite" >"$out/cut.sqlite"
says import_cut 'malformed' 2 "$prof" export -o "$out/cut.json" "$out/cut.sqlite"
refuses() { says "import_refuses_$1" "$2" 2 timeout 20 "$prof" report "$out/$1.sqlite"; }
refuses computed 'table NVTX_EVENTS: the file computes column end'
refuses stored 'table NVTX_EVENTS: the file computes column end'
refuses view 'table NVTX_EVENTS is a view'
refuses long 'table StringIds: string or blob too big'
refuses wide 'too many columns on NVTX_EVENTS'
refuses disguised NVTX_EVENTS
refuses virtual 'table NVTX_EVENTS is no plain table'
refuses hidden 'table NVTX_EVENTS is no plain table'
refuses endless 'table NVTX_EVENTS: more rows than a file of this size can have'
try import_trigger "$prof" report "$out/trigger.sqlite"
nothing() { [ ! -e "$out/cut.json" ]; }
try import_leaves_nothing nothing
exit $failed
