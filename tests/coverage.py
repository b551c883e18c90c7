"""Adds up what gcov says of all objects under a folder: coverage.py FOLDER [partial]
Prints percent of lines and branches per file, and writes FOLDER/report.txt: every line that was not
run, and every one with branches that were not taken, by function, with its text. Unless partial, the
figures go to tests/trust.sh, and the exit status is 1 when more functions of the headers than NEVER
never ran.
What counts: lines and branches that this machine compiles in any program of the tests, freestanding
builds included; not code for other systems and processors. A line counts as run, and a branch as taken,
when it was in any program. A branch is one way that a jump goes: a condition has two of them, each
operand of && and || too. Of inline functions only the one copy that was not inlined counts."""
import collections
import json
import os
import subprocess
import sys

NEVER = 3                            # who adds a function adds a test that calls it
TOLD = ('header', 'lines'), ('header', 'branches'), ('tools', 'lines')


class Counts:
    """Of a file: how often each line was run and each branch (of line, function, number) taken."""
    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()
        self.functions = {}              # by line: the one that it is in

    def add(self, file):
        ranges = {f['name']: range(f['start_line'], f['end_line'] + 1) for f in file['functions']}
        for line in file['lines']:
            number, function = line['line_number'], line.get('function_name', '')
            if number not in ranges.get(function, ()):   # a copy, inlined into another function
                continue
            self.functions[number] = function
            self.lines[number] += line['count']
            for i, branch in enumerate(line['branches']):
                self.branches[number, function, i] += branch['count']


def documents(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            if name.endswith('.gcda'):
                notes = os.path.join(at, name[:-4] + 'gcno')
                if not os.path.exists(notes):            # apart/JOB/PATH: see coverage.sh
                    os.symlink(os.path.join('/', *notes.split('/apart/')[1].split('/')[1:]), notes)
                text = subprocess.run(
                    ['gcov', '--json-format', '--branch-probabilities', '--stdout',
                     os.path.join(at, name)],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
                yield from map(json.loads, text.splitlines())


def read(folder):
    """{file: Counts}"""
    files = collections.defaultdict(Counts)
    for document in documents(folder):
        for file in document['files']:
            name = os.path.relpath(file['file'])
            if name in ('prof.h', 'prof_cuda.h') or name.startswith('tools/'):
                files[name].add(file)
    return files


def percent(counts):
    return 100 * sum(1 for n in counts if n) / max(1, len(counts))


def missed(name, counts):
    """The lines of the report: what was not run, functions with most of it first."""
    with open(name, encoding='utf-8') as file:
        source = file.read().split('\n')
    notes = collections.defaultdict(list)
    ways = collections.defaultdict(list)
    for (line, _, number), count in sorted(counts.branches.items()):
        if not count and counts.lines[line]:
            ways[line].append(str(number))
    for line in sorted(counts.lines):
        if not counts.lines[line] or ways[line]:
            what = f'branch {",".join(ways[line])}' if ways[line] else 'never'
            notes[counts.functions[line]].append(f'{name}:{line}: {what}: {source[line - 1].strip()}')
    for function, lines in sorted(notes.items(), key=lambda item: -len(item[1])):
        yield f'{function}: {len(lines)}'
        yield from lines


def never_ran(counts):
    """The functions of a file of which no line was run."""
    lines = collections.Counter()
    for line, function in counts.functions.items():
        lines[function] += counts.lines[line]
    return sorted(function for function, count in lines.items() if not count)


def main():
    folder = sys.argv[1]
    files = read(folder)
    with open(os.path.join(folder, 'report.txt'), 'w', encoding='utf-8') as report:
        for name, counts in sorted(files.items()):
            lines, branches = counts.lines.values(), counts.branches.values()
            print(f'{name:28} {percent(lines):6.2f} % of {len(lines):5} lines,'
                  f' {percent(branches):6.2f} % of {len(branches):5} branches')
            report.writelines(line + '\n' for line in missed(name, counts))
    groups = {'header': [c for name, c in files.items() if '/' not in name],
              'tools': [c for name, c in files.items() if '/' in name]}
    unused = {name: never_ran(counts) for name, counts in files.items()}
    for name, functions in sorted(unused.items()):
        for function in functions:
            print(f'{name}: {function} never ran')
    never = sum(len(functions) for name, functions in unused.items() if '/' not in name)
    print(f'{"ok" if never <= NEVER else "not ok"} functions of the headers that never ran: {never}, at most {NEVER}')
    for group, counts in groups.items():
        for what in 'lines', 'branches':
            figure = percent([n for c in counts for n in getattr(c, what).values()])
            print(f'{group} {what}: {figure:.2f} %')
            if (group, what) in TOLD and len(sys.argv) == 2:
                subprocess.run(['sh', 'tests/trust.sh', f'{group}_{what}', f'{figure:.2f}'], check=True)
    print(f'what was not run: {os.path.relpath(report.name)}')
    sys.exit(never > NEVER and len(sys.argv) == 2)


main()
