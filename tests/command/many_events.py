"""Writes a trace of so many slices: threads that nest ops, launches, and kernels on two streams.
    python3 many_events.py COUNT >trace.json"""
import random, sys

count, rng = int(sys.argv[1]), random.Random(24)
names = [f"aten::op_{i}" for i in range(300)] + [f"void kernel_{i}<float, {i}>()" for i in range(200)]
out = sys.stdout
out.write('{"traceEvents":[{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"made"}}')
left = count
def event(cat, name, pid, tid, start, dur, args):
    global left
    left -= 1
    out.write(',\n{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%s,"ts":%d.%03d,"dur":%d.%03d,'
              '"args":{%s}}' % (cat, name, pid, tid, start // 1000, start % 1000, dur // 1000,
                                dur % 1000, args))
def nest(thread, start, room, depth):
    """Slices from start on; in each, with some luck, others."""
    while room > 3000 and left > 0:
        dur = min(room, int(rng.lognormvariate(9.5, 1.3)) + 900)
        event("cpu_op", names[rng.randrange(300)], 1, thread, start, dur,
              '"External id":%d,"Sequence number":%d' % (left, rng.randrange(9999)))
        if depth < 6 and rng.random() < 0.7: nest(thread, start + 200, dur - 300, depth + 1)
        elif rng.random() < 0.4 and left > 2:
            launch, id = min(dur - 400, 700), left
            event("cuda_runtime", "cudaLaunchKernel", 1, thread, start + 100, launch, '"correlation":%d' % id)
            event("kernel", names[300 + rng.randrange(200)], 0, thread % 2 + 7, clock[thread],
                  min(20000, dur), '"correlation":%d,"stream":7,"device":0,"grid":[%d,1,1]' % (id, dur))
            clock[thread] += min(20000, dur) + 500
        step = dur + rng.randrange(50, 400)
        start, room = start + step, room - step
clock = {1: 5000, 2: 5000, 3: 5000, 4: 5000}
at = 0
step = 0
while left > 0:
    size = 20_000_000
    for thread in (1, 2, 3, 4):
        clock[thread] = max(clock[thread], at)
        nest(thread, at + 1000, size - 5000, 0)
    event("user_annotation", "ProfilerStep#%d" % step, 1, 1, at, size, '')
    at += size
    step += 1
out.write("\n]}\n")
