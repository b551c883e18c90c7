"""Makes each call to the system fail in turn, once and for ever: faults.py LIBRARY FOLDER PROF SESSION
LIBRARY is tests/fuzz/faults.c. PROF, the command, must give the right output or one line that says what
is wrong and no output file; SESSION, tests/fuzz/fault_session.c, must find its own results right. Neither
may leave half a file or a temporary one, crash or hang. Prints a line per program and call."""
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

CALLS = ['open', 'write', 'close', 'read', 'lseek', 'fsync', 'rename', 'mkdir', 'stat', 'mmap',
         'clock_gettime', 'pthread_create', 'pthread_key_create', 'dlopen', 'dlsym', 'fork', 'exec',
         'getcwd', 'termios', 'malloc']
MOST = int(os.environ.get('POSITIONS', '14'))   # of each call: all, or so many spread over them
PART = {1: 5, 14: 1}.get(MOST, 2)               # of the programs every fifth or second, others each time
AT_ONCE = 6                                     # of a call; prof record waits for what will not come

library, folder, prof, session = sys.argv[1:5]


class Program:
    """words: a function from a folder for output to the command line; stdin: a file's name;
    statuses: of failure, with a line that says why; calls: those that shall fail; rest: what
    can be read is reported without files that cannot."""
    def __init__(self, name, words, stdin=os.devnull, statuses=(1, 2), calls=CALLS, rest=False,
                 **environment):
        self.name, self.words, self.stdin, self.statuses = name, words, stdin, statuses
        self.calls, self.rest, self.environment = calls, rest, environment


def run(program, out, **fault):
    """(exit status, stdout, stderr, out)"""
    environment = dict(os.environ, LD_PRELOAD=library, **program.environment, **fault)
    try:
        with open(program.stdin, 'rb') as stdin:
            done = subprocess.run(program.words(out), env=environment, capture_output=True,
                                  timeout=250, stdin=stdin, check=False)
    except subprocess.TimeoutExpired:
        return -999, b'', b'', out
    return done.returncode, done.stdout, done.stderr, out


def run_well(program):
    """(what is right: exit status, stdout, files; of each call how often it came in the process where
    it came most)"""
    out = tempfile.mkdtemp(dir=folder)
    report = out + '.report'
    status, said, _, _ = run(program, out, FAULT_REPORT=report)
    right = status, said, files(out)
    shutil.rmtree(out)
    counts = dict.fromkeys(CALLS, 0)
    with open(report) as lines:
        for call, count in map(str.split, lines):
            counts[call] = max(counts[call], int(count))
    os.remove(report)
    return right, counts


def files(out):
    found = {}
    for at, _, names in os.walk(out):
        for name in names:
            with open(os.path.join(at, name), 'rb') as file:
                found[os.path.relpath(os.path.join(at, name), out)] = file.read()
    return found


def no_constant(text):
    raise ValueError(f'{text} is no JSON')


def half(name, content):
    """Why a file, of any content, is not whole, or None."""
    try:
        if name.endswith('.gz'):
            name, content = name[:-3], gzip.decompress(content)
        if name.endswith('.json'):
            json.loads(content.decode(), parse_constant=no_constant)
    except (ValueError, EOFError, OSError) as error:
        return f'{name} is no JSON: {error}'
    end = {'.html': b'</html>', '.svg': b'</svg>'}.get(os.path.splitext(name)[1], b'')
    return None if content.rstrip().endswith(end) else f'{name} has no {end}'


def wrong_command(result, right, program):
    """Why a run of prof with a fault is wrong, or None."""
    status, said, errors, out = result
    for name, content in files(out).items():
        if half(name, content):
            return f'exit status {status}: {half(name, content)}'
    if status == 0 or status == right[0]:
        if files(out) != right[2]:
            return f'exit status {status} and other files: {sorted(files(out))}'
        return None if said == right[1] else 'other output'
    if status not in program.statuses:
        return f'exit status {status}'
    if not any(line.startswith(b'prof: ') for line in errors.split(b'\n')):
        return f'no error told: {errors[:200]!r}'
    # Only what was made of an input that ends early may be other output, and that is told.
    cut = status == 1 and re.search(br'byte [0-9]+: .*; read up to there', errors)
    left_out = program.rest and re.search(br'^prof: \S+\.json(\.gz)?: ', errors, re.M)
    if not (cut or left_out) and any(files(out).get(name, content) != content for name, content in right[2].items()):
        return 'half a file'
    extra = set(files(out)) - set(right[2])
    return f'it left {sorted(extra)}' if extra else None


def events(content):
    """The names of a trace's zones and instants, in order of names."""
    trace = json.loads(gzip.decompress(content).decode())
    return sorted(e['name'] for e in trace['traceEvents'] if e['ph'] in 'Xi')


def wrong_record(result, right, program):
    """As wrong_command, where the fault is in the program that is recorded as well: it runs on, and
    what lacks is told. What was recorded may stay as it came, .raw, where the trace could not be made."""
    status, _, errors, out = result
    found = files(out)
    told = any(line.startswith(b'prof: ') for line in errors.split(b'\n'))
    for name, content in found.items():
        if half(name, content):
            return f'exit status {status}: {half(name, content)}'
    if status not in (0, *program.statuses):
        return f'exit status {status}'
    if told:
        return None
    if set(found) != set(right[2]):
        return f'exit status {status}, {sorted(found)}, and nothing told'
    if any(events(found[name]) != events(right[2][name]) for name in found):
        return f'exit status {status} and other events'
    return None


def wrong_session(result, *_):
    status, said, errors, out = result
    if status != 0 and b'not ok' in said:
        return next(line for line in said.split(b'\n') if line.startswith(b'not ok')).decode()
    if status != 0 and b'error: ' not in said + errors and b'FAILED' not in errors:
        return f'exit status {status}, {errors[-200:]!r}'
    left = [name for name in files(out) if name.endswith('.tmp')]
    return f'it left {left}' if left else None


def positions(count, moved):
    """Each time others: programs have most of their code in common."""
    if count <= MOST:
        return range(1, count + 1)
    step = count / MOST
    return [1 + int(i * step + moved % int(step + 1)) % count for i in range(MOST)]


def fault(program, wrong, right, call, at, forever):
    """Why a run with this fault is wrong, or None. Each has a folder of its own."""
    out = tempfile.mkdtemp(dir=folder)
    more = {'FAULT_FOREVER': '1'} if forever else {}
    why = wrong(run(program, out, FAULT_CALL=call, FAULT_AT=str(at), **more), right, program)
    shutil.rmtree(out)
    return why


def say(line):
    """In one write: threads say theirs between each other's."""
    sys.stdout.write(line + '\n')


def fail_call(program, wrong, right, call, count, moved, pool):
    """(faults tried, those that came out wrong), and says so."""
    tried = [(at, forever) for at in positions(count, moved) for forever in (False, True)]
    whys = pool.map(lambda how: fault(program, wrong, right, call, *how), tried)
    bad = [(how, why) for how, why in zip(tried, whys) if why]
    for (at, forever), why in bad[:1]:
        say(f'not ok {program.name}_{call}: call {at} of {count} fails'
            f'{" and all after" if forever else ""}: {why}')
    if tried and not bad:
        say(f'ok {program.name}_{call} ({len(tried)} faults)')
    return len(tried), len(bad)


def fail_all(number, program, wrong):
    right, counts = run_well(program)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [fail_call(program, wrong, right, call, counts[call], number + i, pool)
                for i, call in enumerate(program.calls)]


def profile(path):
    """A profile of nvprof, with one range."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute('CREATE TABLE StringTable (_id_ INTEGER, value TEXT)')
    db.execute("INSERT INTO StringTable VALUES (1, 'range')")
    db.execute('CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER, flags INTEGER, timestamp '
               'INTEGER, id INTEGER, objectKind INTEGER, objectId BLOB, name INTEGER, domain INTEGER)')
    thread = bytes([42, 0, 0, 0, 43, 0, 0, 0, 0, 0, 0, 0])
    for row in ((1, 2, 1000, 1, 2, thread, 1, 0), (2, 4, 2000, 1, 2, thread, 0, 0)):
        db.execute('INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (?,?,?,?,?,?,?,?)', row)
    db.commit()
    db.close()


def execution_trace(path):
    with open(path, 'w') as file:
        file.write('{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [' + ', '.join(
            f'{{"id": {i}, "name": "{name}", "ctrl_deps": {parent}, "inputs": {{"values": [], '
            '"shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}, '
            f'"attrs": [{{"name": "rf_id", "type": "uint64", "value": {i}}}]}}'
            for i, name, parent in ((1, 'process', 1), (2, 'thread', 1), (3, 'step', 2))) + ']}')


def commands(trace, old, stream, database, nodes, perfetto):
    def of_prof(name, words, **more):
        return Program(name, lambda out: [prof] + words(out), **more)
    yield of_prof('report', lambda out: ['report', '-o', out + '/o.txt', trace])
    yield of_prof('report_html', lambda out: ['report', '-f', 'html', '-o', out + '/o.html', trace])
    yield of_prof('report_name', lambda out: ['report', '--name', 'a.*d', '-o', out + '/o.txt', trace])
    yield of_prof('report_stdout', lambda out: ['report', trace])
    yield of_prof('analyze', lambda out: ['analyze', '-o', out + '/o.txt', trace])
    yield of_prof('diff', lambda out: ['diff', '-o', out + '/o.txt', old, trace])
    yield of_prof('augment', lambda out: ['augment', trace, out + '/o.json.gz'])
    yield of_prof('validate', lambda out: ['validate', '-o', out + '/o.txt', trace])
    yield of_prof('stacks', lambda out: ['stacks', '-o', out + '/o.txt', trace])
    yield of_prof('flamegraph', lambda out: ['flamegraph', '-o', out + '/o.svg', trace])
    yield of_prof('gaps', lambda out: ['gaps', '-o', out + '/o.txt', trace])
    yield of_prof('ranks', lambda out: ['ranks', '-o', out + '/o.txt', old, trace],
                  rest=True)
    yield of_prof('steps', lambda out: ['steps', '--name', '.', '-w', '2', '-o', out + '/o.txt',
                                        trace])
    yield of_prof('memory', lambda out: ['memory', '-o', out + '/o.html', trace])
    yield of_prof('cut', lambda out: ['cut', '--to=1s', '-o', out + '/o.json', trace])
    yield of_prof('merge', lambda out: ['merge', '-o', out + '/o.json', old, trace])
    yield of_prof('decode', lambda out: ['decode', '-o', out + '/o.json', stream])
    yield of_prof('decode_pipe', lambda out: ['decode', '-o', out + '/o.json.gz', '-'], stdin=stream)
    yield of_prof('decode_port', lambda out: ['decode', '-o', out + '/o.json', stream],
                  FAULT_PORT='1')
    yield of_prof('export', lambda out: ['export', '-o', out + '/o.pftrace', trace])
    yield of_prof('export_several', lambda out: ['export', '-o', out + '/o.pftrace', old, trace])
    yield of_prof('export_pprof', lambda out: ['export', '-o', out + '/o.pb.gz', trace])
    yield of_prof('export_sqlite', lambda out: ['export', '-o', out + '/o.sqlite', trace])
    yield of_prof('export_folder', lambda out: ['export', '-o', out + '/o.parquet/', old, trace])
    yield of_prof('export_csv', lambda out: ['export', '-o', out + '/o.csv.gz', trace])
    yield of_prof('export_json', lambda out: ['export', '--lanes', '-o', out + '/o.json.gz', perfetto])
    yield of_prof('import', lambda out: ['export', '-o', out + '/o.json', database])
    yield of_prof('et', lambda out: ['et', nodes])
    yield of_prof('et_link', lambda out: ['et', '-l', trace, '-o', out + '/o.json', nodes])
    yield of_prof('record', lambda out: ['record', '-o', os.path.relpath(out) + '/o.json.gz',
                                         session, 'child'], statuses=(1, 2, 126, 127))


def main():
    database = os.path.join(folder, 'run.nvvp')
    stream = os.path.join(folder, 'stream.raw')
    nodes = os.path.join(folder, 'nodes.json')
    profile(database)
    execution_trace(nodes)
    subprocess.run([session, 'stream', stream], check=True, stdout=subprocess.DEVNULL)
    tried = [(program, wrong_record if program.name == 'record' else wrong_command)
             for program in commands('tests/command/traces/kineto_2026.json',
                                     'tests/command/traces/kineto_2022.json', stream, database, nodes,
                                     'tests/fuzz/corpus/stream/odd.pftrace')]
    tried += [(Program('session', lambda out: [session, 'files', out]), wrong_session),
              (Program('cuda', lambda out: [session, 'cuda'], calls=('open', 'dlopen', 'dlsym', 'read'),
                       LD_LIBRARY_PATH=folder), wrong_session)]
    tried = tried[int(time.time()) % PART::PART]
    tried.sort(key=lambda how: how[0].name != 'record')   # which waits while others run
    with ThreadPoolExecutor(2) as pool:
        counts = sum(pool.map(lambda how: fail_all(len(CALLS) * tried.index(how), *how), tried), [])
    print(f'{sum(count for count, _ in counts)} faults')
    sys.exit(any(bad for _, bad in counts))


main()
