"""Perfetto's files by hand: read_pftrace.py alike TRACE.json OUT.pftrace | foreign OUT.pftrace
alike: what prof export wrote holds every event of the trace, read as trace_processor reads it
(sorted by time, stably; calls nest by track). foreign: writes a file as Perfetto's SDK does."""
import collections
import gzip
import json
import struct
import sys
import zlib
from decimal import Decimal

from read_trace import complete, ns


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return number, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from('<Q', data, at)[0], at + 8
        else:
            assert tag & 7 == 2, f'wire type {tag & 7}'
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, 'cut short'
        yield tag >> 3, value


def of(data, field, default=None):
    return dict(fields(data)).get(field, default)


def signed(number):
    return number - (1 << 64) if number >> 63 else number


class Reader:
    def __init__(self, path):
        self.texts, self.tracks, self.events, self.head = {}, {}, [], {}
        for number, packet in enumerate(self.packets(open(path, 'rb').read())):
            self.take(number, collections.defaultdict(list, {k: v for k, v in self.group(packet)}))

    @classmethod
    def packets(cls, data):
        """Those that are packed too: a list of its own each."""
        for field, packet in fields(data):
            assert field == 1
            packed = of(packet, 50)
            yield from cls.packets(zlib.decompress(packed)) if packed else [packet]

    @staticmethod
    def group(packet):
        lists = collections.defaultdict(list)
        for field, value in fields(packet):
            lists[field].append(value)
        return lists.items()

    def take(self, number, packet):
        assert packet[10] == [1], 'the sequence'
        if number == 0:
            assert packet[13] == [1] and packet[6], 'the first packet'
        for kinds in packet[12]:
            for kind, entry in fields(kinds):
                self.texts[kind, of(entry, 1)] = of(entry, 2, b'').decode()
        for track in packet[60]:
            self.tracks[of(track, 1)] = track
        for event in packet[11]:
            assert packet[13] == [2], 'an event needs the state'
            self.take_event(signed(packet[8][0]), dict(self.group(event)))

    def take_event(self, ts, event):
        track = event[11][0]
        assert track in self.tracks, 'a track that is not known yet'
        name = [self.texts[2, i] for i in event.get(10, [])] + [t.decode() for t in event.get(23, [])]
        cat = [self.texts[1, i] for i in event.get(3, [])] + [t.decode() for t in event.get(22, [])]
        args = dict(self.annotation(a) for a in event.get(4, []))
        if cat == ['__metadata']:
            self.head = {key: json.loads(value) for key, value in args.items()}
            return
        self.events.append((ts, event[9][0], track, (name or [''])[0], (cat or [None])[0], args,
                            event.get(47, []), event.get(30, event.get(44))))

    def annotation(self, data):
        key = value = None
        for field, x in fields(data):
            if field == 1:
                key = self.texts[3, x]
            elif field == 10:
                key = x.decode()
            else:
                value = {2: bool, 3: int, 4: signed, 6: lambda t: t.decode(), 9: json.loads,
                         5: lambda bits: struct.unpack('<d', struct.pack('<Q', bits))[0],
                         17: lambda iid: self.texts[29, iid]}[field](x)
                assert field != 9 or isinstance(value, (list, dict)), 'a scalar as JSON'
        return key, value

    def row(self, track):
        """What the track belongs to: (pid, tid), or the names of plain tracks"""
        around = track
        while around is not None:
            data = self.tracks[around]
            thread = of(data, 4)
            if thread is not None:
                return signed(of(thread, 1)), signed(of(thread, 2))
            parent = of(data, 5)
            if parent is None:
                break
            around = parent
        process = of(self.tracks[around], 3)
        pid = signed(of(process, 1)) if process is not None else of(self.tracks[around], 2).decode()
        return pid, of(self.tracks[track], 2, b'').decode()

    def slices(self):
        open_calls, flows = collections.defaultdict(list), collections.defaultdict(list)
        for ts, kind, track, name, cat, args, ids, _ in sorted(self.events, key=lambda e: e[0]):
            if kind == 1:
                open_calls[track].append((ts, name, cat, args))
                for flow in ids:
                    flows[flow].append((track, ts))
            if kind == 2:
                begin, *what = open_calls[track].pop()
                yield (self.row(track), begin, ts - begin, *what)
        assert not any(open_calls.values()), 'calls that never end'
        assert all(len(ends) == 2 for ends in flows.values()), 'a flow without its other end'
        self.flows = len(flows)


def plain(args):
    return json.dumps(args or {}, sort_keys=True, default=float)


def is_int(x):
    try:
        return -1 << 31 <= int(x) < 1 << 31
    except ValueError:
        return False


def row_of(event):
    pid, tid = event.get('pid', 0), event.get('tid', 0)
    pid = int(pid) if is_int(pid) else str(pid)
    return pid, int(tid) if is_int(tid) and isinstance(pid, int) else str(tid)


def alike(trace, path):
    with (gzip.open if trace.endswith('.gz') else open)(trace, 'rt', errors='replace') as file:
        events, reader = json.load(file, parse_float=Decimal), Reader(path)
    events = [e for e in (events['traceEvents'] if isinstance(events, dict) else events) if isinstance(e, dict)]
    base = reader.head.get('baseTimeNanoseconds', 0)
    wanted = collections.Counter(
        (row_of(e), ns(e.get('ts', 0)) + base, ns(e.get('dur', 0)), e.get('name', ''), e.get('cat'), plain(e.get('args')))
        for e in complete(events) if not e.get('range'))
    got = collections.Counter((row, ts, dur, name, cat, plain(args))
                              for row, ts, dur, name, cat, args in reader.slices() if row[1] != 'async')
    assert wanted == got, f'missing {list((wanted - got).items())[:2]}, more {list((got - wanted).items())[:2]}'
    instants = sum(e.get('ph') in ('i', 'I', 'R', 'n') for e in events)
    assert instants == sum(e[1] == 3 for e in reader.events), 'instants'
    values = sum(isinstance(v, (int, Decimal)) for e in events if e.get('ph') == 'C' for v in e['args'].values())
    assert values == sum(e[1] == 4 for e in reader.events), 'counters'
    pairs = collections.Counter((e.get('cat'), str(e['id'])) for e in events if e.get('ph') in ('s', 'f'))
    assert reader.flows <= sum(pairs.values()) // 2
    print(sum(got.values()), 'slices', reader.flows, 'flows', len(reader.tracks), 'tracks')


# ---- A file as others write it ----

def put(*parts):
    """Of (field, value) a message: ints as varints, floats as doubles, the rest with their length"""
    out = b''

    def number(n):
        n &= (1 << 64) - 1
        text = b''
        while n > 127:
            text += bytes([n & 127 | 128])
            n >>= 7
        return text + bytes([n])
    for field, value in parts:
        if isinstance(value, int):
            out += number(field << 3) + number(value)
        elif isinstance(value, float):
            out += number(field << 3 | 1) + struct.pack('<d', value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += number(field << 3 | 2) + number(len(value)) + value
    return out


def foreign(path):
    clocks = (6, put((1, put((1, 6), (2, 5000))), (1, put((1, 64), (2, 0), (3, 1), (4, 1000)))))
    begin, end = (9, 1), (9, 2)
    packets = [
        [(10, 7), (41, 1), (59, put((58, 64), (11, put((11, 99))))), clocks, (999, 'unknown')],
        [(10, 7), (60, put((1, 99), (4, put((1, 12), (2, 13), (5, 'main')))))],
        [(10, 7), (8, 1), (12, put((2, put((1, 5), (2, 'interned'))), (3, put((1, 6), (2, 'key'))))),
         (11, put(begin, (10, 5), (4, put((1, 6), (3, 3)))))],                # 6000: the clock goes on
        [(10, 7), (8, 1), (11, put(begin, (23, 'in "it"'), (22, 'cat'), (4, put(
            (10, 'dict'), (11, put((10, 'a'), (5, 0.5))), (11, put((10, 'b'), (12, put((4, -1))), (12, put((6, 'x'))))))),
            (4, put((10, 'not json'), (9, '[1, {]')))))],                      # 7000
        [(10, 7), (8, 2), (11, put(end, (4, put((10, 'late'), (2, 1))), (4, put((10, 'dict'), (3, 1)))))],
        [(50, zlib.compress(put((1, put((10, 7), (8, 1), (11, put(end)))))))],             # 10000
        [(10, 8), (8, 20000), (11, put((9, 3), (11, 99), (23, 'instant')))],
    ]
    with open(path, 'wb') as out:
        for packet in packets:
            out.write(put((1, put(*packet))))


def foreign_is(path):
    events = [e for e in json.load(open(path))['traceEvents'] if e['ph'] != 'M']
    wanted = [
        ('X', 'in "it"', 7.0, 2.0, {'dict': {'a': 0.5, 'b': [-1, 'x']}, 'not json': '[1, {]', 'late': True}),
        ('X', 'interned', 6.0, 4.0, {'key': 3}), ('i', 'instant', 20.0, None, None)]
    got = [(e['ph'], e['name'], e['ts'], e.get('dur'), e.get('args')) for e in events]
    assert sorted(map(str, got)) == sorted(map(str, wanted)), got
    assert all((e['pid'], e['tid']) == (12, 13) for e in events), events


def orders(folder):
    """Files whose order is not that of time, and one of what is no track"""
    def event(sequence, time, kind, name=None, track=11):
        fields = [(9, kind), (11, track)] + ([(23, name)] if name else [])
        return [(10, sequence), (8, time), (11, put(*fields))]
    thread = [(10, 1), (60, put((1, 11), (4, put((1, 7), (2, 7), (5, 'main')))))]
    files = {
        'behind': [event(1, 2000, 1, 'inner'), event(1, 3000, 2), thread,
                   event(1, 1000, 1, 'outer'), event(1, 9000, 2)],
        'crossed': [thread, event(1, 2000, 1, 'inner'), event(2, 1000, 1, 'outer'),
                    event(1, 3000, 2), event(2, 9000, 2)],
        'end_first': [thread, event(1, 5000, 2), event(2, 1000, 1, 'load')],
        'others': [[(10, 1), (8, 5), (1, put((1, 0), (2, b'\x08\x05'), (2, b'\x08\x06')))],
                   [(10, 1), (8, 5), (66, put((1, 0)))]]}
    for name, packets in files.items():
        with open(f'{folder}/{name}.pftrace', 'wb') as out:
            out.write(b''.join(put((1, put(*packet))) for packet in packets))


if __name__ == '__main__':
    {'alike': alike, 'foreign': foreign, 'foreign_is': foreign_is, 'orders': orders}[sys.argv[1]](*sys.argv[2:])
