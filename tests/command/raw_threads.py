"""Writes a raw stream of COUNT threads, one behind the other, to stdout. Each allocates 10 bytes in
`inner`, which lies in `outer`, and frees them between both: python3 raw_threads.py COUNT"""
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
block(6, [1, 0])
