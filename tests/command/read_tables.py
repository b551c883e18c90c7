"""Tables of prof export by hand: read_tables.py alike FOLDER.csv FOLDER.parquet FILE.sqlite
                                  read_tables.py trace FILE.sqlite TRACE.json REPORT.json
alike: the three hold the same rows, of the same types. trace: its events are the trace's, and the view
report is what prof report --format json --limit all --no-memory says, to the nanosecond."""
import collections
import glob
import gzip
import json
import os
import sqlite3
import struct
import sys
import zlib
from decimal import Decimal

from read_trace import complete, ns

TABLES = ['events', 'flows', 'instants', 'memory', 'counters', 'threads', 'metadata']


# ---- CSV: NULL is nothing, a text without letters is in quotes ----

def read_csv(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', encoding='utf-8', newline='') as file:
        text = file.read()
    at, row, rows = 0, [], []
    while at < len(text):
        if text[at] == '"':
            piece = ''
            while True:
                end = text.index('"', at + 1)
                piece += text[at + 1:end]
                at = end
                if text[at + 1:at + 2] != '"':
                    break
                piece += '"'
                at += 1
            at += 1
        else:
            end = at
            while text[end] not in ',\n':
                end += 1
            piece = text[at:end] or None
            at = end
        row.append(piece)
        if text[at] == '\n':
            rows.append(row)
            row = []
        at += 1
    return rows[0], rows[1:]


# ---- Parquet: Thrift's compact protocol, pages, encodings ----

class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def varint(self):
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def signed(self):
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.signed()
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            head = self.take(1)[0]
            return [self.value(head & 15) for _ in range(head >> 4 if head >> 4 < 15 else self.varint())]
        assert kind == 12, kind
        fields, last = {}, 0
        while True:
            head = self.take(1)[0]
            if not head:
                return fields
            last += head >> 4
            assert head >> 4
            fields[last] = self.value(head & 15)


def bits(data, width, count):
    whole = int.from_bytes(data, 'little')
    return [whole >> i * width & (1 << width) - 1 for i in range(count)]


def hybrid(b, width, count):
    numbers = []
    while len(numbers) < count:
        head = b.varint()
        if head & 1:
            for _ in range(head >> 1):
                numbers += bits(b.take(width), width, 8)
        else:
            numbers += [int.from_bytes(b.take((width + 7) // 8), 'little')] * (head >> 1)
    return numbers[:count]


def deltas(b, size):
    block, minis, count, last = b.varint(), b.varint(), b.varint(), b.signed()
    numbers, each = [last] if count else [], block // minis
    while len(numbers) < count:
        least, widths = b.signed(), b.take(minis)
        for width in widths:
            if len(numbers) == count:
                break
            assert width <= size
            for delta in bits(b.take(each * width // 8), width, each)[:count - len(numbers)]:
                last = (last + least + delta + (1 << size - 1)) % (1 << size) - (1 << size - 1)
                numbers.append(last)
    return numbers


def values(b, kind, encoding, count, dictionary):
    if encoding == 8:
        width = b.take(1)[0]
        return [dictionary[i] for i in hybrid(b, width, count)]
    if encoding == 5:
        return deltas(b, 32 if kind == 1 else 64)
    assert encoding == 0
    if kind == 5:
        return list(struct.unpack(f'<{count}d', b.take(8 * count)))
    return [b.take(struct.unpack('<I', b.take(4))[0]).decode() for _ in range(count)]


def page(data, at, codec):
    b = Bytes(data, at)
    head = b.value(12)
    body = zlib.decompress(b.take(head[3]), 31) if codec == 2 else b.take(head[3])
    assert len(body) == head[2]
    return head, Bytes(body), b.at


def column(data, chunk, optional):
    meta, dictionary, rows = chunk[3], None, []
    at = meta.get(11, meta[9])
    begin = at
    assert meta[4] == 2 or (meta[4] == 0 and meta[6] == meta[7])
    if 11 in meta:
        head, b, at = page(data, at, meta[4])
        assert head[1] == 2
        dictionary = values(b, meta[1], 0, head[7][1], None)
        assert at == meta[9]
    head, b, at = page(data, at, meta[4])
    count = head[5][1]
    assert head[1] == 0 and count == meta[5] and at - begin == meta[7] and head[5][2] in meta[2]
    levels = [1] * count
    if optional:
        size = struct.unpack('<I', b.take(4))[0]
        levels = hybrid(Bytes(b.take(size)), 1, count)
    found = iter(values(b, meta[1], head[5][2], sum(levels), dictionary))
    rows = [next(found) if level else None for level in levels]
    assert b.at == len(b.data) and meta[12][3] == rows.count(None)
    if 5 in meta[12]:
        there = [v for v in rows if v is not None]
        assert [int.from_bytes(meta[12][k], 'little', signed=True) for k in (6, 5)] == [min(there), max(there)]
    return rows


def read_parquet(path):
    with open(path, 'rb') as file:
        data = file.read()
    assert data[:4] == data[-4:] == b'PAR1'
    size = struct.unpack('<I', data[-8:-4])[0]
    b = Bytes(data, len(data) - 8 - size)
    end = b.value(12)
    assert b.at == len(data) - 8 and end[1] == 1 and end[5] == [{1: b'prof.schema', 2: b'1'}]
    columns = end[2][1:]
    rows = []
    for group in end[4]:
        lists = [column(data, chunk, model[3]) for chunk, model in zip(group[1], columns)]
        assert all(len(v) == group[3] for v in lists)
        rows += [list(row) for row in zip(*lists)]
    assert end[3] == len(rows)
    return [c[4].decode() for c in columns], [c[1] for c in columns], rows


def alike(csv_folder, parquet_folder, database):
    db = sqlite3.connect(database)
    assert db.execute('PRAGMA user_version').fetchone() == (1,)
    assert db.execute('PRAGMA integrity_check').fetchone() == ('ok',)
    sqlite_type = {1: 'INTEGER', 2: 'INTEGER', 5: 'REAL', 6: 'TEXT'}
    counts = []
    for table in TABLES:
        rows = [list(r) for r in db.execute(f'SELECT * FROM {table} ORDER BY rank, rowid' if table != 'events' else
                                            'SELECT * FROM events ORDER BY rank, id')]
        model = [(m[1], m[2], m[3]) for m in db.execute(f'PRAGMA table_info({table})')]
        of_parquet, of_csv = [], []
        folders = sorted(glob.glob(csv_folder + '/rank=*'), key=lambda f: int(f.rsplit('=', 1)[1]))
        for folder in folders:
            rank = os.path.basename(folder)
            names, types, more = read_parquet(f'{parquet_folder}/{rank}/{table}.parquet')
            assert [(n, sqlite_type[t]) for n, t in zip(names, types)] == [m[:2] for m in model], table
            of_parquet += more
            head, lines = read_csv(glob.glob(f'{folder}/{table}.csv*')[0])
            assert head == names
            of_csv += [[v if v is None or t == 6 else float(v) if t == 5 else int(v) for v, t in zip(line, types)]
                       for line in lines]
            assert all(row[0] == int(rank[5:]) for row in more)
        assert rows == of_parquet, f'{table}: SQLite and Parquet'
        assert rows == of_csv, f'{table}: SQLite and CSV'
        assert all(v is not None for row in rows for v, m in zip(row, model) if m[2]), table
        counts.append(len(rows))
    print(' '.join(f'{count} {table}' for count, table in zip(counts, TABLES)))


def of_json(value):
    return json.loads(value, parse_float=Decimal) if value is not None else None


def trace(database, path, report):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', errors='replace') as file:
        text = json.load(file, parse_float=Decimal)
    whole = text if isinstance(text, dict) else {'traceEvents': text}
    base = int(whole.get('baseTimeNanoseconds', 0))
    events = [e for e in whole['traceEvents'] if isinstance(e, dict)]
    db = sqlite3.connect(database)
    db.row_factory = sqlite3.Row
    rows = [dict(r) for r in db.execute('SELECT * FROM events ORDER BY rank, id')]
    wanted = collections.Counter((e.get('name', ''), e.get('cat'), base + ns(e['ts']), max(0, ns(e['dur'])))
                                 for e in complete(events))
    got = collections.Counter((r['name'], r['cat'], r['ts_ns'], r['dur_ns']) for r in rows)
    assert wanted == got, list((wanted - got).items())[:2] + list((got - wanted).items())[:2]
    args = collections.Counter(str(e.get('args') or None) for e in complete(events))
    assert args == collections.Counter(str(of_json(r['args'])) for r in rows), 'args'
    for table, count in (('flows', None), ('memory', sum(e.get('name') == '[memory]' for e in events))):
        found = db.execute(f'SELECT count(*) FROM {table}').fetchone()[0]
        assert count in (None, found), f'{table}: {found}'
    by_id = {r['id']: r for r in rows}
    for r in rows:                       # what lies in what, who launched what
        parent, op = by_id.get(r['parent_id']), by_id.get(r['op_id'])
        assert parent is None or parent['depth'] == r['depth'] - 1
        assert parent is None or parent['tid'] == r['tid'] or r['cat'] == 'overhead'   # see read_trace
        assert op is None or op['name'] == r['op']
    for f in db.execute('SELECT * FROM flows'):
        for side in ('from', 'to'):
            e = by_id[f[side + '_id']]
            assert e['ts_ns'] <= f[side + '_ts_ns'] <= e['ts_ns'] + e['dur_ns']
    with open(report, encoding='utf-8') as file:
        wanted = collections.Counter()
        for row in json.load(file, parse_float=Decimal):
            wanted[row['key'], row['device_type'] != 0, row['is_user_annotation']] += row['count']
            for i, name in enumerate(('cpu_time_total', 'self_cpu_time_total', 'device_time_total',
                                      'self_device_time_total')):
                wanted[row['key'], row['device_type'] != 0, row['is_user_annotation'], i] += ns(row[name])
    got = collections.Counter()
    for name, device, annotation, count, *sums in db.execute('SELECT * FROM report'):
        got[name, bool(device), bool(annotation)] = count
        got.update({(name, bool(device), bool(annotation), i): n for i, n in enumerate(sums)})
    assert {k: v for k, v in wanted.items() if v} == {k: v for k, v in got.items() if v}, \
        [(k, wanted[k], got[k]) for k in {**wanted, **got} if wanted[k] != got[k]][:3]
    print(len(rows), 'events', len(got) // 5, 'rows')


if __name__ == '__main__':
    {'alike': alike, 'trace': trace}[sys.argv[1]](*sys.argv[2:])
