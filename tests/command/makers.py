"""Small files as other makers of profiles write them, into the folder that is named: what the
definitions that the readers in tools/prof/input name say, and no file of theirs."""
import pickle, sys

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
