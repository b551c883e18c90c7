#!/usr/bin/env python3
"""Plays the same scripts with the prof.h of another commit and with this one, and compares all that
they answer; then the prof commands of both on real traces.
    compare.py OLD [SEEDS [FIRST [CASE]]]   FIRST: a seed; with the CASE trace(s) the name of one
A difference that is wanted has a line in wanted.txt. Exit status: 0: all are equal or wanted."""
import concurrent.futures
import difflib
import fnmatch
import glob
import gzip
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading

import scripts

HERE = os.path.relpath(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(HERE + '/../../../tests/command')
import read_pprof
import read_trace

OUT = 'build/compare'
FLAGS = ['-std=c99', '-O1', '-w', '-DPROF_NO_STB']
INTEGERS = 'u?int(8|16|32|64)_t|size_t|bool|prof_clock'

# Bytes of the arena are free to change; a site is compared by its name and line.
OWN = ('bytes_used', 'bytes_total', 'site')


def answer(words, seconds, **more):
    """(what a command wrote, what it said of errors, how it ended)"""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              close_fds=False, timeout=seconds, **more)
        return done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        return b'', b'hangs', -1


def run(words, **more):
    out, errors, status = answer(words, 600, **more)
    if status:
        sys.exit('compare: %s: %s' % (' '.join(words), errors.decode(errors='replace')[-2000:]))
    return out


# ---- Both sides: a player for hosts, one for targets, and the command ----

class Side:
    def __init__(self, name, tree, folder, command):
        self.name, self.tree, self.folder, self.command = name, tree, folder, command

    def player(self, bare):
        return '%s/player%s' % (self.folder, '_bare' if bare else '')


def integers(header, struct):
    """The names of a struct's fields that are numbers."""
    body = re.search(r'typedef struct %s \{(.*?)\n\} %s;' % (struct, struct), header, re.S).group(1)
    body = re.sub(r'/\*.*?\*/', '', body, flags=re.S)
    lists = re.findall(r'\b(?:%s) ([a-z_0-9, \n]+);' % INTEGERS.replace('(', '(?:'), body)
    return [name.strip() for names in lists for name in names.split(',')]


def fields_of(sides):
    """fields.h for each side: numbers that both headers have. Those that one lacks are told."""
    lines = []
    for struct, macro in (('stats', 'STATS'), ('average', 'AVERAGE'), ('event', 'EVENT'),
                          ('event_totals', 'TOTALS')):
        old, new = (integers(open(side.tree + '/prof.h').read(), 'prof_' + struct)
                    for side in sides)
        both = [name for name in old if name in new and name not in OWN]
        each = ' '.join('X(%s)' % name for name in both)
        lines.append('#define COMPARE_%s(X) %s' % (macro, each))
        apart = ' '.join(sorted(set(old) ^ set(new)))
        if apart:
            print('compare: not compared, as one prof_%s lacks them: %s' % (struct, apart))
    return '\n'.join(lines) + '\n'


def build_player(side, bare, fields):
    path, made = side.player(bare), side.folder + '/fields.h'
    if not os.path.exists(made) or open(made).read() != fields:
        open(made, 'w').write(fields)
    sources = [HERE + '/' + name for name in ('player.c', 'report.h')]
    newest = max(os.path.getmtime(name) for name in sources + [made, side.tree + '/prof.h'])
    if os.path.exists(path) and os.path.getmtime(path) > newest:
        return
    print('compare: compiling the %s %s' % (side.name, os.path.basename(path)), flush=True)
    define = ['-DCOMPARE_BARE=%d' % bare] + (['-DPROF_ASSERTS'] if side.name == 'new' else [])
    if 'PROF_API void prof_set_inputs(' in open(side.tree + '/prof.h').read():
        define += ['-DCOMPARE_OLD']          # its calls have the names of 29a0f05
    run(['gcc'] + FLAGS + define + ['-I' + side.tree, '-I' + side.folder, sources[0], '-o',
                                    path + '.new', '-lpthread', '-ldl', '-lm'])
    os.replace(path + '.new', path)


def build(commit):
    try:
        commit = run(['git', 'rev-parse', '--verify', commit + '^{commit}']).decode().strip()[:12]
    except SystemExit:
        sys.exit('compare: there is no commit %s here: it needs the git history' % commit)
    folder = OUT + '/' + commit
    old = Side('old', folder + '/tree', folder, folder + '/tree/build/prof')
    new = Side('new', '.', OUT + '/new', 'build/prof')
    for path in (old.tree, new.folder):
        os.makedirs(path, exist_ok=True)
    if not os.path.exists(old.command):
        print('compare: building the command of %s' % commit, flush=True)
        archive = run(['git', 'archive', commit, 'prof.h', 'prof_cuda.h', 'Makefile', 'tools', 'examples'])
        run(['tar', 'x', '-C', old.tree], input=archive)
        run(['make', '-s', '-j2', '-C', old.tree, 'build/prof', 'CFLAGS=-std=c99 -O1 -w'],
            env=dict(os.environ, SETUP='check', MAKEFLAGS='', MAKELEVEL=''))
    fields = fields_of((old, new))
    for side in (old, new):
        for bare in (0, 1):
            build_player(side, bare, fields)
    return old, new


# ---- One script on one side ----

def read_fields(data):
    """[(name, bytes)]: what a player wrote."""
    fields, at = [], 0
    while at < len(data):
        name, size, _ = data[at:at + 200].split(b'\n', 2)
        at += len(name) + len(size) + 2
        fields.append((name.decode()[6:], data[at:at + int(size)]))
        at += int(size)
    return fields


def command(side, words, data=None):
    """What a command wrote, and how it ended."""
    out, errors, status = answer([side.command] + words, 100, input=data)
    return out + b'\n-- status %d\n' % status + errors


def play(side, case, path):
    """{name: bytes}; a raw stream is what the side's own command makes of it."""
    out, errors, status = answer([side.player('bare' in case), path], 20)
    fields, count = {}, {}
    for name, data in read_fields(out):
        count[name] = count.get(name, 0) + 1
        if count[name] > 1:
            name += ' (%d)' % count[name]
        if re.match(r'\d+ (stream|dump)', name) and not data.startswith((b'[', b'result')):
            with open(path + '.raw', 'wb') as file:      # 29a0f05 nests what a pipe sends by times
                file.write(data)
            for words in (['decode', '-'], ['report', '-f', 'json', path + '.raw']):
                fields['%s %s' % (name, words[0])] = command(side, words, data)
            os.remove(path + '.raw')
        else:
            fields[name] = data
    if status or errors:
        fields['crash'] = b'%s: status %d %s' % (side.name.encode(), status, errors)
    return fields


# ---- Comparing ----

class Reworded:
    """A line: what the old side says => how it is worded now ; why."""
    def __init__(self, line):
        self.line = line
        self.words = [words.encode() for words in line.rpartition(' ; ')[0].split(' => ')]
        self.needed = 0

    def now(self, text):
        self.needed += self.words[0] in text
        return text.replace(*self.words)


with open(HERE + '/wanted.txt') as wanted_txt:
    LINES = [line.rstrip('\n') for line in wanted_txt if line.strip() and line[0] != '#']
REWORDED = [Reworded(line) for line in LINES if ' => ' in line]


def is_set(value):
    """Events of Chrome's format and places of names: lists whose order is free."""
    return isinstance(value, list) and all(isinstance(e, dict) for e in value) and (
        not value or any('ph' in e or 'source' in e for e in value))


def set_pieces(where, old, new):
    """What is in one only stands beside the other's of its name and time."""
    text = lambda e: json.dumps(e, sort_keys=True)
    left, right = {}, {}
    for side, events in ((left, old), (right, new)):
        for e in events:
            side.setdefault(text(e), []).append(e)
    gone = [e for key, list in left.items() for e in list[len(right.get(key, [])):]]
    come = [e for key, list in right.items() for e in list[len(left.get(key, [])):]]
    same = lambda a, b: all(a.get(key) == b.get(key) for key in ('ph', 'name', 'ts', 'tid'))
    for e in gone:
        place = '%s[%s]' % (where, e.get('name'))
        partner = next((other for other in come if same(e, other)), None)
        if partner:
            come.remove(partner)
            yield from json_pieces(place, e, partner)
        else:
            yield place, text(e), ''
    for e in come:
        yield '%s[%s]' % (where, e.get('name')), '', text(e)


def summed(pairs):
    """A JSON object; counts of one key are their sum."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for key in found:
            values = [v for k, v in pairs if k == key]
            if all(isinstance(v, int) for v in values):
                found[key] = sum(values)
    return found


def json_pieces(where, old, new):
    if old == new:
        return
    if is_set(old or []) and is_set(new or []) and (old or new):
        yield from set_pieces(where, old or [], new or [])
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in list(old) + [key for key in new if key not in old]:
            yield from json_pieces('%s.%s' % (where, key), old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from json_pieces('%s[%d]' % (where, i), a, b)
    else:
        yield where, json.dumps(old), json.dumps(new)


def lines_of(text):
    """Wrapped lines whole; last, in any order, the notes that count something, a line each."""
    text = text.decode(errors='backslashreplace')
    text = re.sub(r'(?<=,)\n  (?=\S)|</text>\n<text class="lost"[^>]*>', ' ', text)
    text, losses = re.subn(r'.*: warning: losses: ', '', text)   # of validate, which counts them
    if losses:
        text = re.sub(r'\d+(?= warnings?)', lambda count: str(int(count[0]) - losses), text)
    lines = re.split(r'\n|; (?=[A-Z])|: (?=[A-Z])|</text>', text)
    is_note, sums = re.compile(r'([A-Z][^:"]*): (\d+)').fullmatch, {}
    for words, count in (note.groups() for note in map(is_note, lines) if note):
        sums[words] = sums.get(words, 0) + int(count)
    return [line for line in lines if not is_note(line)] + sorted(map('%s: %d'.__mod__, sums.items()))


def text_pieces(where, old, new):
    """Lines that differ; of two lines with as many words only the words."""
    old, new = lines_of(old), lines_of(new)
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == 'equal':
            continue
        gone, come = old[a:b], new[c:d]
        for i in range(max(len(gone), len(come))):
            left, right = (''.join(lines[i:i + 1]) for lines in (gone, come))
            words = list(zip(left.split(), right.split()))
            if len(words) == len(left.split()) == len(right.split()):
                for x, y in words:
                    if x != y:
                        yield where + ': ' + words[0][0], x, y
            else:
                yield where, left, right


def pieces(name, old, new):
    """(field, old, new) of each difference."""
    if re.match(r'(\d+ )?stacks\b', name) and old and new:    # the order of paths is free
        old, new = (b'\n'.join(sorted(text.split(b'\n'))) for text in (old, new))
    if old == new:
        return []
    for line in REWORDED:
        old = old and line.now(old)
        if new and line.words[0].startswith(b'"'):   # a key of the old side that a command hands on
            new = line.now(new)
    if old is None or new is None:
        return [(name,) + tuple('none' if text is None else text[:300].decode(errors='replace')
                                for text in (old, new))]
    try:
        found = list(json_pieces(name, *(
            json.loads(text.partition(b'\n-- status')[0], object_pairs_hook=summed)
            for text in (old, new))))
        ends = [text.partition(b'\n-- status')[2] for text in (old, new)]
        return found + (list(text_pieces(name + ' status', *ends)) if ends[0] != ends[1] else [])
    except ValueError:
        return list(text_pieces(name, old, new))


# ---- A small arena: calls and totals by name, and recorded + counted = begun ----

def by_name(rows):
    """{name: [calls, ns]}: of rows that a player wrote."""
    found = {}
    for row in rows.decode(errors='backslashreplace').splitlines():
        name = found.setdefault(re.match(r'key=(.*?) overload=', row).group(1), [0, 0])
        for i, field in enumerate(('count', 'cpu_time_total_ns')):
            name[i] += int(re.search(r' %s=(-?\d+)' % field, row).group(1))
    return found


def streamed_by_name(decoded):
    found = {}
    for e in json.loads(decoded.partition(b'\n-- status')[0])['traceEvents']:
        if e.get('ph') == 'X' and e.get('cat') != 'Trace':
            row = found.setdefault(e['name'], [0, 0])
            row[0] += 1
            row[1] += round(e['dur'] * 1000)
    return found


def sums(case, fields):
    """{field: what is compared of a session in a small arena}. Which zones a ring or a full arena
    keeps is free: of these only the count."""
    kept = {'crash': fields['crash']} if 'crash' in fields else {}
    for name in [name for name in fields if name.endswith(' stats')]:
        window = name.split()[0]
        if fields[window + ' start']:    # an error
            continue
        stats = dict(line.split('=') for line in fields[name].decode().split())
        number = lambda key: int(stats.get(key, 0))
        if 'stream' in case:
            rows = streamed_by_name(fields.get(window + ' stream decode', b'{"traceEvents": []}'))
        else:
            rows = by_name(fields.get(window + ' rows name', b''))
        calls = sum(row[0] for row in rows.values())
        if 'ring' in case:
            calls = number('recorded') + number('overwritten')
        uncounted = calls + number('dropped') - number('begun')
        if case == 'few_bare_ring':      # 29a0f05 counts clock records as zones
            uncounted = min(uncounted, 0)
        kept[window + ' uncounted'] = b'%d' % uncounted
        if not number('dropped') and 'ring' not in case:
            kept[window + ' sums'] = json.dumps(rows, sort_keys=True).encode()
    return kept


def ends_by_thread(events):
    found = {}
    for end, thread in re.findall(rb' end_ns=(\d+).*? thread=(\d+)', events):
        found.setdefault(int(thread), []).append(int(end))
    return found


def ring_faults(side, case, path, fields):
    """A ring keeps the last zones of each thread: of the same script in a roomy arena those that
    end last. Not where threads share a row, one after another."""
    with open(path) as file:
        text = re.sub(r'set memory \d+', 'set memory %d' % scripts.ROOMY, file.read())
    if 'join' in text:
        return
    with open(path + '.roomy', 'w') as file:
        file.write(text)
    roomy = play(side, case, path + '.roomy')
    os.remove(path + '.roomy')
    for name in [name for name in fields if name.endswith(' events')]:
        kept, whole = (ends_by_thread(answers.get(name, b'')) for answers in (fields, roomy))
        for thread, ends in kept.items():
            last = sorted(whole.get(thread, []))[-len(ends):]
            if sorted(ends) != last:
                where = '%s: last ends of thread %d, %s side' % (name, thread, side.name)
                yield where, str(last), str(sorted(ends))


def overwrites(fields):
    """Or its details had no room, which one of 29a0f05 found in a thread's share alone."""
    return any(re.search(rb'(overwritten|not_kept)=[1-9]|"details_cut":[1-9]', data)
               for name, data in fields.items() if name.endswith((' stats', ' chrome kineto')))


def comparable(script, case, name, data):
    """What is compared. Rows of a target's names and of a snapshot's in any order: they come now in
    that in which the names were seen, the first place of each. Of a decoded stream or dump: rows of
    threads and contexts leave in an order that is free, and a dump has zones that one of 29a0f05
    lacks (wanted.txt): both move zones' ids and what is known of memory, the latter the dump's
    sums. A range's thread may leave after it. Folded stacks of zones with stacks by prof_set, which
    29a0f05 ignored there (issue 61, S24), are not compared: event stacks have them, too."""
    if re.match(r'\d+ stacks', name) and '\nstack ' in script:
        return b''
    if ' snapshot' in name or case == 'bare_aggregate' and ' rows' in name:
        return b'\n'.join(sorted(data.split(b'\n')))
    if ' dump' in name and name.endswith(' report') and 'toggle' in script:
        return b''
    if not (name.endswith(' decode') and re.search('context|toggle|\nthread', script)):
        return data
    events, mark, end = data.partition(b'\n-- status')
    try:
        whole = json.loads(events)
    except ValueError:                   # it has none
        return data
    whole['prof'] = {key: value for key, value in whole.get('prof', {}).items()
                     if not key.startswith('memory_')}
    whole['traceEvents'] = [e for e in whole['traceEvents'] if e['name'] != '[memory]']
    for e in whole['traceEvents']:
        if e.get('cat') == 'async':
            e.pop('tid')
        e.setdefault('args', {}).pop('Zone id', None)
    return json.dumps(whole).encode() + mark + re.sub(rb';? (Frees|Alloc)[^;\n]*', b'', end)


def compare_script(old, new, seed, case):
    """[(seed, case, field, old, new)]"""
    path, text = '%s/scripts/%d_%s' % (OUT, seed, case), scripts.script(seed, case)
    with open(path, 'w') as file:
        file.write(text)
    answers = [play(side, case, path) for side in (old, new)]
    found = []
    lapped = case == 'ring' and any(overwrites(fields) for fields in answers)
    if case.startswith('few') or case == 'deep' or lapped:
        if lapped or case == 'few_ring':           # targets' rings are of all contexts together
            for side, fields in zip((old, new), answers):
                found += [(seed, case) + fault for fault in ring_faults(side, case, path, fields)]
        answers = [sums(case, fields) for fields in answers]
        muted = 'categories' in text     # what begins in one that is off is not told
        for side, fields in zip((old, new), answers):
            found += [(seed, case, '%s of the %s side' % (name, side.name), '0', data.decode())
                      for name, data in fields.items()
                      if name.endswith('uncounted') and (int(data) > 0 if muted else data != b'0')]
        both = [name for name in answers[0] if name in answers[1]]   # no sums: a side dropped some
        answers = [{name: data for name, data in fields.items() if name in both + ['crash']}
                   for fields in answers]
    left, right = ({name: comparable(text, case, name, data) for name, data in fields.items()}
                   for fields in answers)
    for name in list(left) + [name for name in right if name not in left]:
        found += [(seed, case) + piece for piece in pieces(name, left.get(name), right.get(name))]
    if case in ('roomy', 'details', 'windows'):   # what the old side wrote, by both commands
        with open(path + '.json', 'wb') as file:
            file.write(left['0 chrome kineto'])
        words = COMMANDS_OF_SCRIPTS[seed % len(COMMANDS_OF_SCRIPTS)]
        if 'set stack' not in text or not TWICE & set(words):
            traces = [os.path.abspath(path + '.json')]
            found += [(seed, case) + piece for piece in command_pieces(old, new, words, traces)]
    if not found:
        for made in (path, path + '.json'):
            if os.path.exists(made):
                os.remove(made)
    return found


# ---- The commands, on one trace ----

TRACES = '../shared/traces'
# No page: its data are arranged anew; make test-viewers looks at it.
COMMANDS = [words.split() for words in (
    'report', 'report -f json --percentiles', 'report -f csv --group-by-input-shape --flops',
    'report --group-by-stack 3 --sort cpu_time_total', 'report --group-by-site --top-level',
    'report --merge-duplicates --sort count', 'stacks',
    'stacks --threads -m self_cuda_time_total', 'flamegraph', 'steps -f json', 'steps --worst 2',
    'steps --critical', 'memory', 'memory --by op', 'memory -o OUT.raw.json', 'gaps -f json',
    'gaps --by gap', 'ranks -f json', 'validate --limit all', 'analyze', 'augment -o OUT.json',
    'export -o OUT.json', 'export -o OUT.pftrace', 'export -o OUT.pb.gz', 'export -o OUT.csv',
    'export -o OUT.sqlite', 'et')]
# Times of Kineto's traces began with the profiler's own span, and begin now with the first call.
COMMANDS_OF_SCRIPTS = COMMANDS + ['cut --from 1ms --to 5ms -o OUT.json'.split()]
COMMANDS_OF_ONE = COMMANDS + ['cut --step 6 -o OUT.json'.split()]
TWICE = {'stacks', 'flamegraph', 'OUT.pb.gz'}     # A20: there 29a0f05 has with_stack's zones twice
COMMANDS_OF_TWO = [words.split() for words in (
    'report', 'ranks', 'ranks -f json --align collectives', 'diff',
    'diff -f json --kernels --rates', 'steps', 'gaps', 'merge -o OUT.json',
    'export -o OUT.pftrace')]


def written(path):
    """What a file holds, where the order in it is free: rows, samples."""
    if path.endswith('.sqlite'):
        with sqlite3.connect(path) as database:
            return '\n'.join(sorted(database.iterdump())).encode()
    if path.endswith('.pb.gz'):
        return '\n'.join(sorted(map(repr, read_pprof.read(path)[0]))).encode()
    with open(path, 'rb') as file:
        data = file.read()
    return hashlib.sha256(data).hexdigest().encode() if b'\0' in data else data


def without_losses(picture):
    """A flame graph without the lines that tell losses: they are of 17 px, and of other texts."""
    lines = picture.split(b'\n')
    rest = [line for line in lines if not line.startswith(b'<text class="lost"')]
    lower = 17 * (len(lines) - len(rest))
    return re.sub(rb'( y="| height="|viewBox="0 0 \d+ )(\d+)',
                  lambda found: found[1] + b'%d' % (int(found[2]) - lower * (int(found[2]) >= 64)),
                  b'\n'.join(rest))


def command_pieces(old, new, words, traces):
    """The differences of what a command answers to the same traces, and of the file it writes."""
    name, answers = ' '.join(words), []
    for side in (old, new):
        folder = '%s/out_%s' % (side.folder, threading.get_ident())
        os.makedirs(folder, exist_ok=True)
        out, errors, status = answer([os.path.abspath(side.command)] + words + traces, 100,
                                     cwd=folder)
        out = without_losses(out) if words[0] == 'flamegraph' else out
        text = out + b'\n-- status %d\n' % status + errors
        for made in sorted(os.listdir(folder)):
            text += b'\n-- ' + made.encode() + b'\n' + written(folder + '/' + made)
            os.remove(folder + '/' + made)
        answers.append(text)
    if b'; read up to there' in answers[0] and b'; read up to there' not in answers[1]:
        return []                        # A16: 29a0f05 gave up at a bad event; now reading goes on
    return list(pieces(name, *answers))


def name_of(paths):
    return '+'.join(os.path.basename(path) for path in paths)


def compare_traces(old, new, paths):
    found, name = [], name_of(paths)
    for words in COMMANDS_OF_ONE if len(paths) == 1 else COMMANDS_OF_TWO:
        for piece in command_pieces(old, new, words, [os.path.abspath(path) for path in paths]):
            found.append((name, 'trace' if len(paths) == 1 else 'traces') + piece)
    return found


def placed(path):
    """A trace whose overhead tells its thread. Kineto's does not, and 29a0f05 leaves it outside of
    ops; tests/command holds what is made of it now against read_trace.py, as here."""
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        text = file.read()
    if b'"cat": "overhead"' not in text:
        return path
    overhead = (e for e in read_trace.with_overhead(read_trace.load(path))
                if e.get('cat') == 'overhead')

    def on_thread(found):
        e = next(overhead)
        return found[1] + b'"pid": %d, "tid": %d' % (e['pid'], e['tid'])
    text = re.sub(rb'("cat": "overhead",[^{}]*)"pid": -1,\s*"tid": 0', on_thread, text)
    os.makedirs(OUT + '/placed', exist_ok=True)
    copy = '%s/placed/%s' % (OUT, os.path.basename(path).replace('.gz', ''))
    with open(copy, 'wb') as file:
        file.write(text)
    return copy


def real_traces():
    """Lists of paths: each trace, and two ranks of the archive together."""
    ranks = OUT + '/ranks'
    if not os.path.isdir(TRACES):
        print('compare: skipped: %s is not there' % TRACES)
        return []
    os.makedirs(ranks, exist_ok=True)
    run(['tar', 'xzf', TRACES + '/dlrm_8_ranks.tar.gz', '-C', ranks])
    two = sorted(glob.glob(ranks + '/**/*.json*', recursive=True))[:2]
    ones = [placed(path) for path in sorted(glob.glob(TRACES + '/*.json*'))] + two[:1]
    return [[path] for path in ones] + [two]


# ---- Wanted differences ----

def near(old, new, most):
    """Are both texts the same, but for numbers that differ by `most` in their last place?"""
    number = re.compile(r'\d+(?:\.\d+)?')
    if number.split(old) != number.split(new):
        return False
    pairs = [(x, y, len(x.partition('.')[2]) == len(y.partition('.')[2]))
             for x, y in zip(number.findall(old), number.findall(new))]
    return all(same and abs(int(x.replace('.', '')) - int(y.replace('.', ''))) <= most
               for x, y, same in pairs)


class Wanted:
    """A line: case ; field ; old ; new ; why. The first two are patterns of a shell, the next two
    regular expressions of the whole, of which new may tell groups of old; new +-N: as near takes
    it. A case may go on with its trace."""
    def __init__(self, line):
        self.line = line
        self.case, self.field, self.old, self.new, _ = (word.strip() for word in line.split(' ; '))
        self.needed = 0

    def covers(self, difference):
        seed, case, field, old, new = difference
        if not any(fnmatch.fnmatchcase(name, self.case) for name in (case, '%s %s' % (case, seed))):
            return False
        if not fnmatch.fnmatchcase(field, self.field):
            return False
        if not (near(old, new, int(self.new[2:])) if self.new[:2] == '+-' else
                re.fullmatch('(?:%s)\0(?:%s)' % (self.old, self.new), old + '\0' + new, re.S)):
            return False
        self.needed += 1
        return True


def cases_of(seed):
    """Five a seed, in turn."""
    cases = list(scripts.CASES)
    return [cases[(5 * seed + i) % len(cases)] for i in range(5)]


def tell(difference, commit):
    seed, case, field, old, new = difference
    print('seed %s, case %s, %s:' % (seed, case, field))
    print('    old: %s\n    new: %s' % (old[:300], new[:300]))
    print('    alone: make compare OLD=%s FIRST=%s SEEDS=1 CASE=%s' % (commit, seed, case))


def report(found, commit):
    """Shows the first differences of each field, and how many more there are."""
    fields = {}
    for difference in found:
        fields.setdefault(re.sub(r'^\d+ |[\[(].*', '', difference[2]), []).append(difference)
    for _, differences in sorted(fields.items())[:20]:
        tell(differences[0], commit)
    for field, differences in sorted(fields.items()):
        print('%6d in %s of %s' % (len(differences), field, ', '.join(sorted({d[1] for d in
                                                                            differences}))))


def main():
    commit, count, first, case = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    traces = real_traces()
    if case in (['trace'], ['traces']):
        jobs, traces = [], [paths for paths in traces if name_of(paths) == first]
    else:
        jobs = [(seed, one) for seed in range(int(first), int(first) + count)
                for one in case or cases_of(seed)]
        traces = [] if case else traces
    old, new = build(commit)
    os.makedirs(OUT + '/scripts', exist_ok=True)
    wanted, left = [Wanted(line) for line in LINES if ' => ' not in line], []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda job: compare_script(old, new, *job), jobs):
            left += [d for d in found if not any([w.covers(d) for w in wanted])]
        for found in pool.map(lambda paths: compare_traces(old, new, paths), traces):
            left += [d for d in found if not any([w.covers(d) for w in wanted])]
    report(left, commit)
    unneeded = [w.line for w in wanted + REWORDED if not w.needed and count >= 200 and not case]
    for line in unneeded:
        print('compare: wanted.txt: nothing needs this line: ' + line)
    print('compare: %d scripts, %d traces, %d differences that are not wanted' %
          (len(jobs), len(traces), len(left)))
    return bool(left or unneeded)


if __name__ == '__main__':
    sys.exit(main())
