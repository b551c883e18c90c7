#!/usr/bin/env python3
"""Random vectors of the kinds that need no PyTorch, answered by the slowest means there are: a
schedule is played step by step, an operation counts its multiplications one output element at a
time, the state machine is the list of calls that profiler.py's action_map says.

    make_vectors.py SEED DIRECTORY      writes schedules, machine, machine_pairs, flops and
                                        with_flops .json files there, for build/tests/replay
"""
import json
import random
import sys

ACTIONS = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]


def play(args, steps):
    """The actions of a schedule, by walking through its phases; None: invalid arguments."""
    given = {k: args.get(k) or 0 for k in
             ("skip_first", "wait", "warmup", "active", "repeat", "skip_first_wait")}
    if given["active"] <= 0 or any(given[k] < 0 for k in given if k != "skip_first_wait"):
        return None
    actions, cycle = ["NONE"] * given["skip_first"], 0
    while len(actions) < steps:
        if given["repeat"] and cycle == given["repeat"]:
            actions.append("NONE")
            continue
        if cycle or not given["skip_first_wait"]:
            actions += ["NONE"] * given["wait"]
        actions += ["WARMUP"] * given["warmup"] + ["RECORD"] * (given["active"] - 1)
        actions.append("RECORD_AND_SAVE")
        cycle += 1
    return actions[:steps]


def schedule_args(r, low=0):
    args = {"wait": r.randint(low, 6), "warmup": r.randint(low, 4), "active": r.randint(low, 6)}
    for key in ("repeat", "skip_first", "skip_first_wait"):
        if r.random() < 0.6:
            args[key] = r.choice([None, 0, r.randint(0, 5), r.randint(low, 2)])
    if args.get("skip_first_wait") is not None:
        args["skip_first_wait"] = abs(args["skip_first_wait"])
    return dict(r.sample(sorted(args.items()), len(args)))


def schedule_case(r):
    args = schedule_args(r, low=-1)
    ok = play(args, 60)
    return {"args": args, "error": "AssertionError"} if ok is None else {"args": args, "ok": ok}


def calls_between(old, new):
    """What happens to the window from one action to the next; new None: the end."""
    recording = old in ("RECORD", "RECORD_AND_SAVE")
    if old == "WARMUP" and new in ("NONE", None):
        return ["start", "stop"]
    calls = []
    complete = old == "RECORD_AND_SAVE" or (old == "RECORD" and new is None)
    stops = recording and (complete or new in ("NONE", "WARMUP"))
    if stops:
        calls.append("stop")
    if complete:
        calls.append("ready")
    if new in ("WARMUP", "RECORD", "RECORD_AND_SAVE") and (old == "NONE" or stops):
        calls.append("prepare")
    if new in ("RECORD", "RECORD_AND_SAVE") and (old in ("NONE", "WARMUP") or stops):
        calls.append("start")
    return calls


def machine_log(actions, steps_named):
    log = []
    for i, action in enumerate(actions + [None]):
        calls = []
        if i and steps_named:
            calls.append("rf_exit ProfilerStep#%d" % (i - 1))
        old = actions[i - 1] if i else "NONE"
        calls += calls_between(old, action)
        if action is not None and steps_named:
            calls.append("rf_enter ProfilerStep#%d" % i)
        warnings = []
        if (old, action) in (("WARMUP", "NONE"), ("RECORD", "NONE"), ("RECORD", "WARMUP")):
            warnings = ["Incorrect schedule: %s followed by %s" % (old, action)]
        label = "start" if not i else "stop" if action is None else "step%d" % i
        log.append([label, action if action is not None else old, calls, warnings])
    return log


def machine_case(r):
    steps = r.randint(0, 40)
    if r.random() < 0.05:
        return {"schedule": None, "steps": steps, "error": None,
                "log": machine_log(["RECORD"] * (steps + 1), False)}
    args = schedule_args(r)
    args["active"] = args["active"] or 1
    return {"schedule": args, "steps": steps, "error": None,
            "log": machine_log(play(args, steps + 1), True)}


def machine_pair(first, second):
    return {"first": first, "second": second, "log": machine_log([first, second], True),
            "error": None, "pytorch_agrees": True}


def product(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def count_matmul(m, k, n):
    """Two operations for each of the k products of each of the m * n sums."""
    return sum(2 * k for _ in range(m) for _ in range(n))


def count_convolution(x, w, places):
    """For each place of the output and each of its channels: the kernel times w's input channels."""
    return sum(2 * product(w[1:]) for _ in range(x[0]) for _ in range(product(places))
               for _ in range(w[0]))


def kernel_places(size, kernel, stride, padding, dilation):
    """Counts where a kernel fits, by trying each place."""
    reach, at, n = dilation * (kernel - 1) + 1, -padding, 0
    while at + reach <= size + padding:
        at, n = at + stride, n + 1
    return n


def convolution_case(r):
    spatial = r.randint(1, 3)
    n, groups, transposed = r.randint(1, 3), r.choice([1, 1, 2, 3]), r.random() < 0.3
    c_in, c_out = groups * r.randint(1, 3), groups * r.randint(1, 3)
    kernel = [r.randint(1, 4) for _ in range(spatial)]
    stride = [r.randint(1, 3) for _ in range(spatial)]
    padding = [r.randint(0, 3) for _ in range(spatial)]
    dilation = [r.randint(1, 3) for _ in range(spatial)]
    size = [d * (k - 1) + 1 + r.randint(0, 9) for k, d in zip(kernel, dilation)]
    x = [n, c_in] + size
    w = [c_in, c_out // groups] + kernel if transposed else [c_out, c_in // groups] + kernel
    if transposed:
        places, out = size, [(s - 1) * t - 2 * p + d * (k - 1) + 1 for s, k, t, p, d in
                             zip(size, kernel, stride, padding, dilation)]
    else:
        places = out = [kernel_places(*a) for a in zip(size, kernel, stride, padding, dilation)]
    if min(out) < 1:
        return convolution_case(r)
    ok = count_convolution([n], [w[0]] + w[1:], places)
    parameters = [stride, padding, dilation, transposed, [0] * spatial, groups]
    kwargs = {"out_val": [n, c_out] + out if r.random() < 0.5 else None}
    if r.random() < 0.5:
        mask = [r.random() < 0.7, r.random() < 0.7, False]
        return {"op": "convolution_backward", "args": [[n, c_out] + out, x, w, None] + parameters +
                [mask], "kwargs": {}, "ok": ok * (mask[0] + mask[1])}
    if r.random() < 0.3:                 # by name, in any order
        names = ["stride", "padding", "dilation", "transposed", "output_padding", "groups"]
        named = dict(r.sample(list(zip(names, parameters)), len(names)))
        return {"op": "aten::convolution", "args": [x, w, None], "kwargs": {**named, **kwargs},
                "ok": ok}
    return {"op": "convolution", "args": [x, w, None] + parameters, "kwargs": kwargs, "ok": ok}


def flops_case(r):
    if r.random() < 0.4:
        return convolution_case(r)
    b, h, m, k, n = (r.randint(1, 9) for _ in range(5))
    one, prefix = count_matmul(m, k, n), r.choice(["", "aten::"])
    q, key, v, grad = [b, h, m, k], [b, h, n, k], [b, h, n, k + 1], [b, h, m, k + 1]
    forward = b * h * (count_matmul(m, k, n) + count_matmul(m, n, k + 1))
    backward = b * h * (count_matmul(m, k, n) + count_matmul(m, k + 1, n) +
                        count_matmul(n, m, k + 1) + count_matmul(m, n, k) + count_matmul(k, m, n))
    kind = r.choice(["flash_attention", "efficient_attention", "cudnn_attention",
                     "fused_attention_overrideable", "flash_attention_for_cpu"])
    op, args, ok = r.choice([
        ("mm", [[m, k], [k, n]], one), ("addmm", [[n], [m, k], [k, n]], one),
        ("_scaled_mm", [[m, k], [k, n], [1], [1]], one),
        ("bmm", [[b, m, k], [b, k, n]], b * one),
        ("baddbmm", [[1, m, n], [b, m, k], [b, k, n]], b * one),
        ("mm", [[m, k], [k + 1, n]], 0), ("mm", [[m, k]], 0), ("bmm", [[m, k], [k, n]], 0),
        ("aten_mm", [[m, k], [k, n]], 0), ("relu", [[m, k]], 0),
        ("_scaled_dot_product_" + kind, [q, key, v], forward),
        ("_scaled_dot_product_" + kind + "_backward", [grad, q, key, v], backward)])
    return {"op": prefix + op, "args": args, "kwargs": {}, "ok": ok}


def with_flops_case(r):
    m, k, n, b = (r.randint(1, 40) for _ in range(4))
    shape = [r.randint(1, 9) for _ in range(r.randint(0, 4))]
    op, shapes, ok = r.choice([
        ("mm", [[m, k], [k, n]], count_matmul(m, k, n)),
        ("addmm", [[n], [m, k], [k, n]], count_matmul(m, k, n)),
        ("bmm", [[b, m, k], [b, k, n]], b * count_matmul(m, k, n)),
        ("baddbmm", [[1, m, n], [b, m, k], [b, k, n]], b * count_matmul(m, k, n)),
        ("add", [shape, shape], product(shape)), ("mul", [shape, []], product(shape)),
        ("conv2d", None, 0), ("convolution", [[1, 1, 9, 9], [1, 1, 3, 3]], 0),
        ("_scaled_mm", [[m, k], [k, n]], 0), ("addmm", [[m, k], [k, n]], 0)])
    if shapes:
        return {"op": "aten::" + op, "shapes": shapes, "ok": ok}
    groups = r.choice([1, 2, 4])
    x = [r.randint(1, 5), groups * r.randint(1, 4), r.randint(8, 20), r.randint(8, 20)]
    w = [groups * r.randint(1, 4), x[1] // groups, r.randint(1, 4), r.randint(1, 4)]
    case = {"op": "aten::conv2d", "shapes": [x, w], "stride": [r.randint(1, 3), r.randint(1, 3)],
            "padding": [r.randint(0, 3), r.randint(0, 3)],
            "dilation": [r.randint(1, 2), r.randint(1, 2)], "groups": groups}
    places = [kernel_places(x[2 + i], w[2 + i], case["stride"][i], case["padding"][i],
                            case["dilation"][i]) for i in (0, 1)]
    case["ok"] = count_convolution(x, w, places)
    return case


def main():
    r = random.Random(int(sys.argv[1]))
    files = {
        "schedules": [schedule_case(r) for _ in range(500)],
        "machine": [machine_case(r) for _ in range(300)],
        "machine_pairs": [machine_pair(a, b) for a in ACTIONS for b in ACTIONS],
        "flops": [flops_case(r) for _ in range(500)],
        "with_flops": [with_flops_case(r) for _ in range(300)],
    }
    for name, cases in files.items():
        with open("%s/%s.json" % (sys.argv[2], name), "w", encoding="utf-8") as file:
            json.dump(cases, file)


main()
