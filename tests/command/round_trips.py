"""Round trips: round_trips.py PROF FOLDER TRACE...
Each trace is exported to each format and read again, by prof or as what it is: the rows of prof report (calls, total and
self time on the CPU and on devices), and the ranks of prof ranks, are the trace's. An ok or not ok line for each, then a
table with how many traces and rows of each format were alike."""
import collections
import csv
import decimal
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import read_pprof
from read_tables import read_parquet

prof, folder, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
SUMS = ['count', 'cpu_time_total', 'self_cpu_time_total', 'device_time_total', 'self_device_time_total']
said = ''            # by prof, last
ranks = set()        # of the samples or events that were read last


def run(*words):
    global said
    done = subprocess.run([prof, *words], capture_output=True, text=True, errors='replace')
    said = done.stderr
    return done.stdout if done.returncode == 0 else None


def trip(ending):
    return os.path.join(folder, 'trip' + ending)


def add(rows, key, values):
    rows[key] = [a + b for a, b in zip(rows[key], values)] if key in rows else list(values)


def joined(name):
    """The name that prof report's row of a step has."""
    return 'ProfilerStep*' if name.startswith('ProfilerStep#') and name != 'ProfilerStep#' else name


def of_report(path):
    rows, text = {}, run('report', '-f', 'json', '-s', 'none', '--limit', 'all', '--no-memory', path)
    for row in json.loads(text, parse_float=decimal.Decimal) if text else []:
        add(rows, (joined(row['key']), row['device_type'] != 0, bool(row['is_user_annotation'])),
            [row['count']] + [int(1000 * row[name]) for name in SUMS[1:]])
    return rows


def of_ranks(path):
    """Without the name of the file, and what clocks are off."""
    text = run('ranks', '-f', 'csv', path)
    return [row[:-2] for row in csv.reader(text.splitlines())] if text else None


def of_sqlite(path):
    rows = {}
    db = sqlite3.connect(path)
    for name, device, mark, *values in db.execute(
            'SELECT name, device_type, is_user_annotation, calls, cpu_time_total_ns, self_cpu_time_total_ns, '
            'device_time_total_ns, self_device_time_total_ns FROM report'):
        add(rows, (joined(name), bool(device), bool(mark)), [int(value or 0) for value in values])
    ranks.update(row[0] for row in db.execute('SELECT DISTINCT rank FROM events'))
    db.close()
    return rows


def of_events(lines):
    """The table events, a dictionary for each row."""
    rows = {}
    for row in lines:
        if row['kind'] in ('python_function', 'sync', 'span'):
            continue
        device = bool(int(row['is_device']))
        number = lambda name: int(row[name] or 0)
        add(rows, (joined(row['name']), device, row['kind'] in ('user_annotation', 'gpu_user_annotation')),
            [1, 0 if device else number('dur_ns'), 0 if device else number('self_ns'),
             number('dur_ns' if device else 'device_ns'), number('dur_ns' if device else 'device_self_ns')])
    return rows


def csv_lines(path):
    csv.field_size_limit(1 << 30)
    for name in glob.glob(path + '/*/events.csv'):
        with open(name, encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                ranks.add(int(row['rank']) if f'rank={row["rank"]}' in name else name)
                yield row


def parquet_lines(path):
    for name in glob.glob(path + '/*/events.parquet'):
        names, _, lines = read_parquet(name)
        ranks.update(line[0] for line in lines)
        yield from (dict(zip(names, line)) for line in lines)


def paths_of(path):
    """Of a profile of pprof the frames of each sample, outermost first, as report and stacks name them; its values."""
    for places, values, labels in read_pprof.read(path)[0]:
        ranks.add(labels['rank'][0])
        yield [(f'{file}({line}): {name}' if file.endswith('.py') else name, mapping == 2)
               for (name, file, line, _), mapping in reversed(places)], values


def by_frames(_, path):
    """A sample adds to the totals of its frames and the self time of the last, a kernel's to its op's. Frames that are no
    rows are Python's, whose time is the op's around them. Asynchronous ranges and those of devices have no place in
    a path. Where calls overlap, times are guesses; of Python's functions __exit__ outlasts the range that it ends."""
    kept, found, guess = {}, {}, 'their paths are guesses' in said
    events = list(csv_lines(trip('.csv/')))
    python = any(row['kind'] == 'python_function' for row in events)
    for key, values in of_events(row for row in events if row['is_async'] == '0' and
                                 row['kind'] not in ('gpu_user_annotation', 'counted')).items():
        add(kept, key[:2], values)
    ranks.clear()
    for frames, (cpu, device, calls, _) in paths_of(path):
        keys = [(joined(name), on) for name, on in frames]
        ops = [key for key in keys if key in kept]
        for key in ops:
            add(found, key, [0, cpu, 0, device, 0])
        for key in ops[-1:]:
            add(found, key, [calls if key == keys[-1] else 0, 0, cpu, 0, device])
        for key in ops[-2:-1]:
            add(found, key, [0, 0, 0, 0, device])
    for key in kept.keys() & found.keys():
        for i in (1, 2):
            if guess or (python and kept[key][i] <= found[key][i] <= 1.01 * kept[key][i]):
                found[key][i] = kept[key][i]
    return kept, found


def by_lines(_, path):
    """Folded stacks have the paths of a profile of pprof, in us, and prof report of them their sums."""
    paths, lines, sums, guess = collections.Counter(), {}, {}, 'their paths are guesses' in said
    for frames, values in paths_of(trip('.pb.gz')):
        if not frames[-1][1]:
            paths[';'.join(re.sub('[; \x00-\x1f\x7f]', '_', name) or '_' for name, _ in frames)] += values[0]
    ranks.clear()
    with open(path, encoding='utf-8') as file:
        for line in file:
            add(lines, line.rsplit(' ', 1)[0], [int(line.rsplit(' ', 1)[1])])
    for stack, (us,) in lines.items():
        names = [joined(name) for name in stack.split(';')]
        for name in names:
            add(sums, (name, False, False), [0, 1000 * us, 0, 0, 0])
        add(sums, (names[-1], False, False), [0, 0, 1000 * us, 0, 0])
    again = {key: [0, *values[1:]] for key, values in of_report(path).items()} if lines else {}
    wanted = lines if guess else {stack: [ns // 1000] for stack, ns in paths.items() if ns >= 1000}
    return {**wanted, **sums}, {**lines, **again}


def has_ranks(trace, path):
    if path.endswith(('.pftrace', '.json.gz')):
        return of_ranks(path) == of_ranks(trace)
    told = {int(row[0]) for row in of_ranks(trace) or [] if row[0].isdigit()}
    return not ranks or not told or ranks == told


def compare(label, wanted, found, same_ranks):
    wrong = sorted((key for key in set(wanted) | set(found) if wanted.get(key) != found.get(key)), key=str)
    if not wrong and same_ranks:
        counts[label.split('_')[-1]].append(len(wanted))
        return print(f'ok {label}')
    return print(f'not ok {label}: {len(wrong)} of {len(wanted)} rows'
                 + ''.join(f', {key}: {wanted.get(key)}, not {found.get(key)}' for key in wrong[:1])
                 + ('' if same_ranks else '; ranks differ'))


FORMATS = {'.pftrace': lambda rows, path: (rows, of_report(path)), '.json.gz': lambda rows, path: (rows, of_report(path)),
           '.sqlite': lambda rows, path: (rows, of_sqlite(path)),
           '.csv/': lambda rows, path: (rows, of_events(csv_lines(path))),
           '.parquet/': lambda rows, path: (rows, of_events(parquet_lines(path))),
           '.pb.gz': by_frames, '.folded': by_lines}
counts = collections.defaultdict(list)
for trace in traces:
    rows = of_report(trace)
    if not rows:
        continue
    for ending, read in FORMATS.items():
        path = trip(ending)
        shutil.rmtree(path, ignore_errors=True) if ending.endswith('/') else os.path.exists(path) and os.remove(path)
        label = f'trip_{os.path.basename(trace).split(".")[0]}_{ending.strip("./")}'
        if run('export', '-o', path, trace) is None:
            print(f'not ok {label}: it was not exported: {said}')
            continue
        ranks.clear()
        compare(label, *read(rows, path), has_ranks(trace, path))
for ending, sizes in counts.items():
    print(f'# {ending}: {len(sizes)} traces, {sum(sizes)} rows alike')
