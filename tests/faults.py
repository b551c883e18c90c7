"""Makes each call to the system fail in turn, once and for ever: faults.py LIBRARY FOLDER PROF SESSION
LIBRARY is tests/faults.c. PROF, the command, must give the right output or one line that says what
is wrong and no output file; SESSION, tests/fault_session.c, must find its own results right. Neither
may leave half a file or a temporary one, crash or hang. Prints a line per program and call."""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

CALLS = ['open', 'write', 'close', 'read', 'lseek', 'fsync', 'rename', 'mkdir', 'stat', 'mmap',
         'clock_gettime', 'pthread_create', 'pthread_key_create', 'dlopen', 'malloc']
MOST = int(os.environ.get('POSITIONS', '30'))   # of each call: all, or so many spread over them

library, folder, prof, session = sys.argv[1:5]
total = failures = 0


def run(command, out, call, at, forever):
    """(exit status, how often the call came, stdout, stderr)"""
    report = os.path.join(folder, 'report')
    if os.path.exists(report):
        os.remove(report)
    environment = dict(os.environ, LD_PRELOAD=library, FAULT_CALL=call, FAULT_AT=str(at),
                       FAULT_REPORT=report)
    if forever:
        environment['FAULT_FOREVER'] = '1'
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return -999, 0, b'', b'', out
    count = int(open(report).readline()) if os.path.exists(report) else 0
    return done.returncode, count, done.stdout, done.stderr, out


def files(out):
    found = {}
    for at, _, names in os.walk(out):
        for name in names:
            with open(os.path.join(at, name), 'rb') as file:
                found[os.path.relpath(os.path.join(at, name), out)] = file.read()
    return found


def wrong_command(result, right):
    """Why a run of prof with a fault is wrong, or None."""
    status, _, said, errors, out = result
    if status == 0 or status == right[0]:
        if files(out) != right[2]:
            return f'exit status {status} and other files: {sorted(files(out))}'
        return None if said == right[1] else 'other output'
    if status not in (1, 2):
        return f'exit status {status}'
    if not any(line.startswith(b'prof: ') for line in errors.split(b'\n')):
        return f'no error told: {errors[:200]!r}'
    if any(files(out).get(name, content) != content for name, content in right[2].items()):
        return 'half a file'
    extra = set(files(out)) - set(right[2])
    return f'it left {sorted(extra)}' if extra else None


def wrong_session(result, _):
    status, _, said, errors, out = result
    if status != 0 and b'not ok' in said:
        return next(line for line in said.split(b'\n') if line.startswith(b'not ok')).decode()
    if status != 0 and b'error: ' not in said + errors and b'FAILED' not in errors:
        return f'exit status {status}, {errors[-200:]!r}'
    left = [name for name in files(out) if name.endswith('.tmp')]
    return f'it left {left}' if left else None


def positions(count):
    if count <= MOST:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (MOST - 1) for i in range(MOST)})


def fail_all(name, command, wrong):
    """command: a function from a folder for output to the words."""
    global total, failures
    out = tempfile.mkdtemp(dir=folder)
    for call in CALLS:
        status, count, said, _, _ = run(command(out), out, call, 0, False)
        right = status, said, files(out)
        bad = tried = 0
        for at in positions(count):
            for forever in (False, True):
                shutil.rmtree(out)
                os.mkdir(out)
                why = wrong(run(command(out), out, call, at, forever), right)
                tried += 1
                if why:
                    bad += 1
                    if bad == 1:
                        print(f'not ok {name}_{call}: call {at} of {count} fails'
                              f'{" and all after" if forever else ""}: {why}')
        shutil.rmtree(out)
        os.mkdir(out)
        total += tried
        failures += bad
        if tried and not bad:
            print(f'ok {name}_{call} ({tried} faults)')
    shutil.rmtree(out)


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


def commands(trace, old, stream, database):
    yield 'report', lambda out: ['report', '-o', out + '/o.txt', trace]
    yield 'report_html', lambda out: ['report', '-f', 'html', '-o', out + '/o.html', trace]
    yield 'report_stdout', lambda out: ['report', trace]
    yield 'analyze', lambda out: ['analyze', '-o', out + '/o.txt', trace]
    yield 'diff', lambda out: ['diff', '-o', out + '/o.txt', old, trace]
    yield 'augment', lambda out: ['augment', trace, out + '/o.json.gz']
    yield 'validate', lambda out: ['validate', '-o', out + '/o.txt', trace]
    yield 'stacks', lambda out: ['stacks', '-o', out + '/o.txt', trace]
    yield 'flamegraph', lambda out: ['flamegraph', '-o', out + '/o.svg', trace]
    yield 'gaps', lambda out: ['gaps', '-o', out + '/o.txt', trace]
    yield 'memory', lambda out: ['memory', '-o', out + '/o.html', trace]
    yield 'cut', lambda out: ['cut', '--to=1s', '-o', out + '/o.json', trace]
    yield 'merge', lambda out: ['merge', '-o', out + '/o.json', old, trace]
    yield 'decode', lambda out: ['decode', '-o', out + '/o.json', stream]
    yield 'import', lambda out: ['import', '-o', out + '/o.json', database]


def main():
    database = os.path.join(folder, 'run.nvvp')
    stream = os.path.join(folder, 'stream.raw')
    profile(database)
    subprocess.run([session, 'stream', stream], check=True, stdout=subprocess.DEVNULL)
    for name, words in commands('tests/traces/kineto_2026.json', 'tests/traces/kineto_2022.json',
                                stream, database):
        fail_all(name, lambda out, w=words: [prof] + w(out), wrong_command)
    fail_all('session', lambda out: [session, 'files', out], wrong_session)
    print(f'{total} faults')
    sys.exit(failures != 0)


main()
