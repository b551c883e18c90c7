"""Writes a raw stream of COUNT threads, one behind the other, to stdout. Each allocates 10 bytes in
`inner`, which lies in `outer`, and frees them between both; then WORKS launches, a kernel of each:
python3 raw_threads.py COUNT [WORKS]"""
import struct
import sys

number = 0


def block(kind, words):
    global number
    payload = struct.pack(f"<{len(words)}I", *words)
    a = b = 0
    for word in (2 << 16 | kind, len(payload), number, 0, 0, *words):
        a += word
        b += a
    sys.stdout.buffer.write(struct.pack("<6I", 0x50524F46, 2 << 16 | kind, len(payload), number,
                                        a % 0xFFFFFFFF, b % 0xFFFFFFFF) + payload)
    number += 1


def site(place, name):
    return [place, 1, len(name), 0, 0, *struct.unpack("<2I", name.ljust(8, b"\0"))[:(len(name) + 3) // 4]]


PART, MEMORY = 0xFFFF07 << 8, 0xFFFF09 << 8 | 3


def change(tick, what, depth, size):
    return [tick, 0, MEMORY, 4096, 0, PART, size, 0, PART, what | depth << 8, 0, PART]


block(1, [1, 42, 10**9, 0, 0, 0, 10**9, 0, 0, 0])
block(8, [1, 0])
block(2, site(1, b"outer") + site(2, b"inner"))
ALLOCATED, FREED = 0, 2
for thread in range(int(sys.argv[1])):
    at = 100 * thread
    block(3, [thread, 0, 1000 + thread, 0])
    block(4, [thread, 0, 0, 0, 0, 0, 0, 0, 10**9, 0] +
          change(at + 20, ALLOCATED, 1, 10) + [at + 40, 30, 2 << 8 | 1] +
          change(at + 50, FREED, 0, 0) + [at + 90, 80, 1 << 8])


CPU, CUDA, HAS_ID, HAS_LINK = 0, 1, 8, 32


def event(at, device, has, own, link, *texts):
    words = [at, 0, at + 1, 0, 0, device << 16, has, 0, 7, 0, own, 0, link, 0, 0, 0]
    for text in texts:
        padded = text + b"\0" * (-len(text) % 4)
        words += [len(text), *struct.unpack(f"<{len(padded) // 4}I", padded)]
    block(9, words)


for work in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0):
    event(10 * work, CPU, HAS_ID, work + 1, 0, b"launch", b"cuda_runtime", b"", b"")
    event(10 * work + 5, CUDA, HAS_LINK, 0, work + 1, b"gemm", b"kernel", b"", b"cuda")
block(6, [1, 0])
