"""A profile of pprof by hand: read_pprof.py OUT.pb.gz TRACE.json FOLDED
Sums of the profile are those of the trace (device, calls of kernels, bytes) and of prof stacks (cpu)."""
import collections
import gzip
import json
import sys
from decimal import Decimal

from read_pftrace import fields, signed, varint
from read_trace import DEVICE, complete, ns


def packed(data):
    at, numbers = 0, []
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(signed(number))
    return numbers


def read(path):
    with gzip.open(path) as file:
        lists = collections.defaultdict(list)
        for field, value in fields(file.read()):
            lists[field].append(value)
    texts = [t.decode() for t in lists[6]]
    assert texts[0] == ''
    named = {of[1]: (texts[of[2]], texts[of.get(4, 0)], of.get(5, 0), texts[of[3]])
             for of in (dict(fields(f)) for f in lists[5])}
    places = {of[1]: (named[dict(fields(of[4]))[1]], of[2]) for of in (dict(fields(x)) for x in lists[4])}
    assert [dict(fields(m))[1] for m in lists[3]] == [1, 2], 'mappings'
    types = [tuple(texts[i] for _, i in fields(t)) for t in lists[1]]
    assert types == [('cpu', 'nanoseconds'), ('device', 'nanoseconds'), ('calls', 'count'), ('alloc_space', 'bytes')]
    samples = []
    for sample in lists[2]:
        labels = [dict(fields(v)) for k, v in fields(sample) if k == 3]
        one = {k: v for k, v in fields(sample) if k != 3}
        samples.append(([places[i] for i in packed(one[1])], packed(one[2]),
                        {texts[x[1]]: texts[x[2]] if 2 in x else (x[3], texts[x[4]]) for x in labels}))
    return samples, lists


def main(path, trace, folded):
    with (gzip.open if trace.endswith('.gz') else open)(trace, 'rt', errors='replace') as file:
        events = json.load(file, parse_float=Decimal)
    events = events['traceEvents'] if isinstance(events, dict) else events
    samples, _ = read(path)
    sums = [sum(values[i] for _, values, _ in samples) for i in range(4)]
    kernels = [e for e in complete(events) if e.get('cat') in DEVICE]
    assert sums[1] == sum(ns(e['dur']) for e in kernels), 'device time'
    assert sum(v[2] for places, v, _ in samples if places[0][1] == 2) == len(kernels), 'kernels'
    names = collections.Counter(e['name'] for e in kernels)
    got = collections.Counter()
    for places, values, _ in samples:
        assert min(values) >= 0
        if places[0][1] == 2:
            got[places[0][0][0]] += values[2]
    assert got == names, 'names of kernels'
    freed = sum(max(0, int(e['args']['Bytes'])) for e in events if e.get('name') == '[memory]')
    assert sums[3] == freed, f'bytes: {sums[3]} and {freed}'
    with open(folded, encoding='utf-8') as file:
        lines = [int(line.rsplit(' ', 1)[1]) for line in file]
    assert 0 <= sums[0] - 1000 * sum(lines) <= 1000 * len({str(s) for s in samples}), 'cpu time'
    steps = {labels.get('step') for _, _, labels in samples}
    assert all(labels['rank'][1] == 'rank' for _, _, labels in samples)
    print(len(samples), 'samples', len(steps), 'steps', sorted({labels['rank'][0] for _, _, labels in samples}), 'ranks',
          sorted({p[0] for p in {f for places, _, _ in samples for f in places} if p[0][2]})[:2])


if __name__ == '__main__':
    main(*sys.argv[1:])
