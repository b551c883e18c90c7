"""Small files as other makers of profiles write them, into the folder that is named: what the
definitions that the readers in tools/prof/input name say, and no file of theirs."""
import json, os, pickle, sqlite3, struct, sys

out = sys.argv[1]
big = int(sys.argv[2]) if len(sys.argv) > 2 else 0          # events of a large memory snapshot


def frame(file, line, name):
    return {"filename": file, "line": line, "name": name}


NATIVE = frame("??", 0, "at::empty_cuda(c10::ArrayRef<long>)")
LINEAR = frame("/site/torch/nn/linear.py", 125, "forward")
MAIN = frame("train.py", 9, "<module>")
EXTEND = frame("loss;odd.py", 30, 'loss "x"')


def change(action, address, size, time, frames, **more):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time,
            "frames": frames, **more}


def block(address, size, requested, state, frames):
    return {"address": address, "size": size, "requested_size": requested, "state": state,
            "frames": frames}


def snapshot():
    """Device 0: 600 bytes before the trace, 100 of them freed in it; device 1: two events."""
    T, high = 1700000000000000, 0x7F00_0000_0000
    linear, loss = [NATIVE, LINEAR, MAIN], [EXTEND, MAIN]
    first = [change("segment_alloc", high, 2048, T, linear), change("alloc", high, 1000, T + 1, linear),
             change("alloc", high + 1024, 400, T + 2, loss),
             change("free_requested", high, 1000, T + 3, loss),
             change("free_completed", high, 1000, T + 3, loss),
             change("free_completed", 77, 100, T + 4, []),
             change("alloc", high, 50, T + 5, linear, user_metadata="x", compile_context="0/0"),
             {"action": "oom", "device_free": 5, "size": 1 << 40, "stream": 0, "time_us": T + 6,
              "frames": loss}, change("snapshot", 0, 0, T + 7, [])]
    second = [change("alloc", (1 << 63) + 5, 64, T + 2, [MAIN]),
              change("free_completed", (1 << 63) + 5, 64, T + 9, [])]
    segments = [
        {"device": 0, "address": high, "total_size": 4096, "stream": 0, "segment_type": "small",
         "segment_pool_id": (0, 1), "is_expandable": False, "frames": [],
         "blocks": [block(high, 512, 50, "active_allocated", linear),
                    block(high + 1024, 512, 400, "active_allocated", loss),
                    block(high + 2048, 512, 500, "active_awaiting_free", [MAIN]),
                    block(high + 3072, 1024, 0, "inactive", [])]},
        {"device": 1, "address": 1 << 63, "total_size": 2048, "blocks": []}]
    return {"segments": segments, "device_traces": [first, second],
            "allocator_settings": {"max_split_size": -1, "ratio": 0.5, "on": True, "no": None},
            "external_annotations": []}


def large(count):
    """As of a training: a block lives for 1000 events, of 100 stacks 20 frames deep."""
    stacks = [[frame(f"/site/package/module_{i}_{j}.py", j, f"function_{i}_{j}") for j in range(20)]
              for i in range(100)]
    trace = []
    for i in range(count // 3):
        address = 0x7F0000000000 + i % 1000 * 512
        if i >= 1000:
            trace.append(change("free_requested", address, 512, 1700000000000000 + i, []))
            trace.append(change("free_completed", address, 512, 1700000000000000 + i, []))
        trace.append(change("alloc", address, 512, 1700000000000000 + i, list(stacks[i % 100])))
    return {"segments": [], "device_traces": [trace]}


for protocol in 2, 3, 4, 5:
    with open(f"{out}/snapshot{protocol}.pickle", "wb") as file:
        pickle.dump(snapshot(), file, protocol)
if big:
    with open(f"{out}/large.pickle", "wb") as file:
        pickle.dump(large(big), file, 4)


def write(name, value):
    with open(f"{out}/{name}", "w") as file:
        json.dump(value, file)


def node(number, name, url, line, children):
    return {"id": number, "callFrame": {"functionName": name, "scriptId": "1", "url": url,
            "lineNumber": line, "columnNumber": 0}, "hitCount": 1, "children": children}


def cpuprofile():
    """main runs 10 ms, of which it is in parse for 4 and in the collector, called there, for 1."""
    nodes = [node(1, "(root)", "", -1, [2, 3, 5]), node(2, "(idle)", "", -1, []),
             node(3, "main", "file:///home/a.js", 0, [4]), node(4, "parse", "file:///home/b.js", 6, []),
             node(5, "(garbage collector)", "", -1, [])]
    return {"nodes": nodes, "startTime": 1000000, "endTime": 1012000,
            "samples": [2, 3, 4, 5, 5, 4, 3], "timeDeltas": [0, 2000, 3000, 2000, 500, 500, 1000]}


def deep(depth):
    """A recursion: it is in the innermost call for 3 ms, then in the fifth one for 1."""
    nodes = [node(1, "(root)", "", -1, [2])] + [node(i + 2, f"f{i % 7}", "", 0, [i + 3][:i + 1 < depth])
                                               for i in range(depth)]
    return {"nodes": nodes, "startTime": 0, "endTime": 4000, "samples": [depth + 1] * 3 + [6],
            "timeDeltas": [0, 1000, 1000, 1000]}


def table(**columns):
    return {**columns, "length": len(next(iter(columns.values())))}


def firefox(shared):
    """Two threads; the first is in main for 4 ms, and in draw, below it, for 2 of them."""
    tables = {"stackTable": table(frame=[0, 1], prefix=[None, 0]),
              "frameTable": table(func=[0, 1], line=[None, 3]),
              "funcTable": table(name=[0, 1]), "stringArray": ["main", "dr\u00e4w"]}
    def thread(name, tid, samples):
        return {"name": name, "pid": "7", "tid": tid, "samples": samples, **({} if shared else tables)}
    threads = [thread("GeckoMain", 8, table(stack=[0, 1, 1, 0, None], time=[0.5, 1.5, 2.5, 3.5, 4.5])),
               thread("other", 9, table(stack=[0, None], timeDeltas=[1, 0.25], weight=None))]
    return {"meta": {"interval": 1, "startTime": 1700000000000, "preprocessedProfileVersion": 58},
            "libs": [], "counters": [{"samples": table(time=[1, 2], count=[3, 4])}],
            **({"shared": tables} if shared else {}), "threads": threads}


def gecko():
    """The same thread as Gecko itself writes it, in a process of its own."""
    thread = {"name": "GeckoMain", "pid": 7, "tid": 8,
              "samples": {"schema": {"stack": 0, "time": 1},
                          "data": [[0, 0.5], [1, 1.5], [1, 2.5], [0, 3.5], [None, 4.5]]},
              "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1]]},
              "frameTable": {"schema": {"location": 0, "line": 4}, "data": [[0], [1, None, 2, 3, 3]]},
              "stringTable": ["main", "dr\u00e4w"]}
    meta = {"interval": 1, "startTime": 1700000000000, "version": 24}
    lib = {"start": 4096, "end": 8192, "name": "libxul.so", "breakpadId": "0"}
    return {"libs": [lib], "meta": meta, "threads": [], "processes": [{"libs": [], "meta": meta, "threads": [thread]}]}


def ascend(rank, number):
    """An op of torch_npu whose task copies and computes, and an all-reduce of two ranks. number:
    the labels tell the device's, as new versions do."""
    python, cann, npu, hccl, sums = (42 << 10 | row << 5 for row in range(5))
    label = f"NPU {rank}" if number else "NPU"
    events = []
    def add(ph, name, pid, tid, **more):
        events.append({"ph": ph, "name": name, "pid": pid, "tid": tid, **more})
    def row(pid, tid, **names):
        for name, value in names.items():
            key = "labels" if name == "process_labels" else "name"
            add("M", name, pid, tid, args={key: value})
    def span(name, pid, tid, ts, dur, cat=None, **args):
        add("X", name, pid, tid, ts=f"{1700000000000000 + ts}.000", dur=dur, args=args,
            **({"cat": cat} if cat else {}))
    def arrow(cat, number, start, end):
        for ph, (pid, tid, ts) in ("s", start), ("f", end):
            add(ph, cat, pid, tid, id=number, cat=cat, bp="e", ts=f"{1700000000000000 + ts}.000")
    def task(name, stream, ts, dur, kind, connection, **args):
        span(name, npu + rank, stream, ts, dur, connection_id=connection,
             **{"Model Id": 4294967295, "Task Type": kind, "Physic Stream Id": stream, **args})
    row(python, 0, process_name="Python", process_labels="CPU")
    row(cann, 0, process_name="CANN", process_labels="CPU")
    row(npu + rank, 0, process_name="Ascend Hardware", process_labels=label)
    row(npu + rank, 2, thread_name="Stream 2")
    row(npu + rank, 3, thread_name="Stream 3")
    row(hccl + rank, 0, process_name="Communication", process_labels=label)
    row(hccl + rank, 0, thread_name="Group 13681369207305868844 Communication")
    row(hccl + rank, 1, thread_name="Plane 0")
    row(sums + rank, 0, process_name="Overlap Analysis", process_labels=label)
    row(sums + rank, 0, thread_name="Computing")
    row(sums + rank, 3, thread_name="Free")
    span("ProfilerStep#1", python, 42, 0, 100, "cpu_op")
    span("aten::add", python, 42, 10, 20, "cpu_op")
    span("Enqueue@aclnnAdd", python, 42, 15, 5, "enqueue", correlation_id=7)
    span("Dequeue@aclnnAdd", python, 43, 21, 9, "dequeue", correlation_id=7)
    span("AscendCL@aclnnAdd", cann, 43, 22, 7, level="acl", connection_id=900)
    span("Node@launch", cann, 43, 24, 4, level="node", connection_id=901)
    arrow("HostToDevice", "3869", (cann, 43, 24), (npu + rank, 2, 40))
    arrow("async_npu", 1, (python, 42, 10), (npu + rank, 2, 40))
    span("c10d::allreduce_", python, 42, 32, 20, "cpu_op")
    span("Communication@hcom_allReduce_", cann, 42, 33, 4, level="communication", connection_id=902)
    arrow("async_npu", 2, (python, 42, 32), (hccl + rank, 0, 60 + rank))
    task("aclnnAdd_AddAiCore_Add", 2, 40, 10, "AI_VECTOR_CORE", 901)
    task("MEMCPY_ASYNC", 2, 51, 2, "PCIE_DMA_SQE", 4294967295, operation="host to device",
         **{"size(B)": 4096})
    task("EVENT_WAIT", 2, 53, 30, "EVENT_WAIT_SQE", 4294967295)
    task("EVENT_WAIT", 2, 84, 30, "DAVID_EVENT_WAIT", 4294967295)
    task("Notify_Wait", 3, 60 + rank, 5, "NOTIFY_WAIT_SQE", 902)
    task("Memcpy", 3, 65 + rank, 15 - rank, "SDMA_SQE", 902)
    span("hcom_allReduce__844_2_1", hccl + rank, 0, 60 + rank, 20 - rank, rank_size=2,
         connection_id=902, data_type="FP16", alg_type="MESH-RING", count=500000, relay="no", retry="no",
         **{"model id": 4294967295})
    span("Notify_Wait", hccl + rank, 1, 60 + rank, 5, **{"task type": "Notify_Wait"})
    span("Memcpy", hccl + rank, 1, 65 + rank, 15 - rank, **{"task type": "Memcpy"})
    span("Computing", sums + rank, 0, 40, 10)
    span("Free", sums + rank, 3, 50, 10)
    add("C", "APP/HBM", 42 << 10 | 9 << 5 | rank, 0, ts=1700000000000040.5, args={"KB": 1024.5})
    return events


with open(f"{out}/kernel_details.csv", "w") as file:
    file.write("""Step Id,Device_id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes
1,3,7,2,aclnnAdd_AddAiCore_Add,Add,AI_VECTOR_CORE,"1700000000000040.125\t",10.5,\"""16,16;16\"""
1,3,N/A,N/A,hcom_allReduce__844_2_1,hcom_allReduce_,COMMUNICATION,1700000000000045.000,20,N/A
1,3,8,2,odd,Add,AI_CORE,N/A,1,N/A
1,3,9,2,last,Add,AI_CORE,1700000000000070.000,1,N/A""")
with open(f"{out}/op_statistic.csv", "w") as file:
    file.write("Device_id,OP Type,Core Type,Count,Total Time(us)\n3,Add,AI_VECTOR_CORE,2,11.5\n")


def communication(rank):
    """An all-reduce that rank 1 joins 3 us later, and one without a time."""
    def collective(start, ms):
        link = {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0, "Size Distribution": {}}
        return {"Communication Time Info": {"Start Timestamp(us)": start, "Elapse Time(ms)": ms, "Wait Time(ms)": 0.003},
                "Communication Bandwidth Info": {"RDMA": link, "HCCS": {**link, "Transit Size(MB)": 1.5,
                                                 "Size Distribution": {"1.5": [1, 0.015]}}}}
    return {"step1": {"p2p": {}, "collective": {
        "hcom_allReduce__844_2_1@13681369207305868844": collective(1700000000000060.5 + 3 * rank, 0.02 - 0.003 * rank),
        "hcom_broadcast__844_3_1@13681369207305868844": collective(None, 1),
        "Total Op Info": collective(0, 5)}}}


write("communication0.json", communication(0))
write("communication1.json", communication(1))
write("communication_matrix.json", {"step1": {"collective": {"total": {"0-1": {"Transport Type": "HCCS"}}}}})
write("ascend0.json", ascend(0, True))
write("ascend1.json", ascend(1, False))
write("v8.cpuprofile", cpuprofile())
write("deep.cpuprofile", deep(5000))
write("firefox.json", firefox(False))
write("firefox_shared.json", firefox(True))
write("gecko.json", gecko())


# ---- Protobuf ----

def varint(number):
    number &= (1 << 64) - 1
    text = b""
    while number > 127:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields):
    return b"".join(field(number, value) for number, value in fields)


def xplane(repeat):
    """A launch on the host of a kernel on a GPU, which tells both in its statistics."""
    T = 1700000000000000000
    def event(name, offset, duration, *stats):
        return 4, message((1, name), (2, offset), (3, duration), *[(4, message(*s)) for s in stats])
    def entry(number, *fields):
        return message((1, number), (2, message((1, number), *fields)))
    host = message((1, 1), (2, "/host:CPU"), (3, message(
        (1, 77), (2, "python"), (3, T), event(1, 1000000, 5000000, ((1, 5), (4, -3 & (1 << 64) - 1))),
        event(2, 2000500, 1000499, ((1, 9), (3, 42)), ((1, 6), (5, "a \"b\"")), ((1, 7), (2, 0.5))),
        (4, message((1, 1), (5, 9))))),
        (4, entry(1, (2, "PjitFunction(f)"))), (4, entry(2, (2, "cuLaunchKernel"))),
        (5, entry(5, (2, "step"))), (5, entry(6, (2, "text"))), (5, entry(7, (2, "ratio"))),
        (5, entry(9, (2, "correlation_id"))))
    gpu = message((1, 2), (2, "/device:GPU:0"),
        (3, message((1, 13), (2, "Stream #13(Compute)"), (3, T + 1000),
                    *[event(1, 9000000 + i * 3000000, 2000000, ((1, 9), (4, 42)), ((1, 4), (7, 3)))
                      for i in range(repeat)])),
        (3, message((1, 1), (10, 9), (2, "x"), (11, "XLA Modules"), (3, T), event(1, 0, 90000000))),
        (4, entry(1, (2, "fusion kernel, long"), (4, "fusion.1"))),
        (5, entry(9, (2, "correlation_id"))), (5, entry(4, (2, "hlo_op"))), (5, entry(3, (2, "f.1"))))
    return message((1, host), (1, gpu), (2, "12 events were dropped"), (3, "and odd"), (4, "machine"))


for name, repeat in ("xla.xplane.pb", 1), ("large.xplane.pb", big // 4):
    if repeat:
        with open(f"{out}/{name}", "wb") as file:
            file.write(xplane(repeat))


# ---- AMD ----

def rpd(path):
    """A launch in a range, its kernel and a copy."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    for table, columns, rows in (
        ("rocpd_string", "id, string", [(1, "hipLaunchKernel"), (2, "grid: 1"), (3, "KernelExecution"),
            (4, "gemm"), (5, "CopyHostToDevice"), (6, ""), (7, "UserMarker"), (8, "step 1"),
            (9, "Barrier")]),
        ("rocpd_api", "id, pid, tid, start, end, apiName_id, args_id",
            [(10, 42, 43, 2000, 3000, 1, 2), (11, 42, 43, 1000, 9000, 7, 8), (12, 42, 43, 5000, 4000, 1, 2)]),
        ("rocpd_op", "id, gpuId, queueId, sequenceId, completionSignal, start, end, description_id, opType_id",
            [(20, 1, 0, 5, "", 4000, 6500, 4, 3), (21, 1, 0, 6, "", 7000, 7500, 6, 5),
             (22, 1, 0, 7, "", 7600, 7700, 6, 9),
             (23, 1, 0, 8, "", None, 7800, 4, 3)]),
        ("rocpd_api_ops", "id, api_id, op_id", [(1, 10, 20)])):
        db.execute(f"CREATE TABLE {table} ({columns})")
        for row in rows:
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    db.commit()


def rocprof(repeat):
    """The same of rocprofv3."""
    def record(kind, operation, start, end, **more):
        return {"size": 1, "kind": kind, "operation": operation, "thread_id": 43,
                "correlation_id": {"internal": 7, "external": 0}, "start_timestamp": start,
                "end_timestamp": end, **more}
    dispatch = {"size": 1, "agent_id": {"handle": 99}, "queue_id": {"handle": 5}, "kernel_id": 3,
                "grid_size": {"x": 1, "y": 1, "z": 1}}
    copy = {"dst_agent_id": {"handle": 99}, "src_agent_id": {"handle": 98}, "bytes": 4096}
    tool = {
        "metadata": {"pid": 42, "init_time": 1, "fini_time": 2},
        "agents": [{"size": 1, "id": {"handle": 98}, "type": 1, "caches": [{"type": 2}], "name": "EPYC"},
                   {"size": 1, "id": {"handle": 99}, "type": 2, "mem_banks": [{"type": 1}], "name": "gfx90a"}],
        "strings": {"callback_records": [], "buffer_records": [
            {"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel"]},
            {"kind": "MEMORY_COPY", "operations": ["none", "MEMORY_COPY_HOST_TO_DEVICE"]},
            {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxThreadRangeA"]}],
            "marker_api": [{"key": 8, "value": "step \"1\""}]},
        "kernel_symbols": [{"size": 1, "kernel_id": 3, "kernel_name": "gemm.kd", "formatted_kernel_name": "gemm"}],
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "kernel_dispatch": [record(11, 3, 4000 + i * 4000, 6500 + i * 4000, dispatch_info=dispatch)
                                for i in range(repeat)],
            "hip_api": [record(1, 1, 2000, 3000)], "memory_copy": [record(2, 1, 7000, 7500, **copy)],
            "marker_api": [{**record(3, 1, 1000, 9000), "correlation_id": {"internal": 8, "external": 0}}]}}
    return {"rocprofiler-sdk-tool": [tool]}


rpd(f"{out}/amd.rpd")
write("rocprofv3.json", rocprof(1))
if big:
    write("large_rocprofv3.json", rocprof(big // 10))
