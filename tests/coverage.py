"""Adds up what gcov says of all objects under a folder: coverage.py FOLDER [partial]
Prints percent of lines and branches per file, writes FOLDER/report.txt with what was not run, and,
unless partial, hands the figures to tests/trust.sh. A branch counts as run when it was taken in any program."""
import collections
import json
import os
import subprocess
import sys


def read(folder):
    """{file: {line: count}}, {file: {(line, function, number): count}}"""
    lines = collections.defaultdict(lambda: collections.defaultdict(int))
    branches = collections.defaultdict(lambda: collections.defaultdict(int))
    notes = [os.path.join(at, name) for at, _, names in os.walk(folder)
             for name in names if name.endswith('.gcda')]
    for note in notes:
        text = subprocess.run(['gcov', '--json-format', '--branch-probabilities', '--stdout', note],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        for document in text.splitlines():
            for file in json.loads(document)['files']:
                name = os.path.relpath(file['file'])
                if name not in ('prof.h', 'prof_cuda.h') and not name.startswith('tools/'):
                    continue
                for line in file['lines']:
                    number = line['line_number']
                    lines[name][number] += line['count']
                    for i, branch in enumerate(line['branches']):
                        key = number, line.get('function_name', ''), i
                        branches[name][key] += branch['count']
    return lines, branches


def percent(counts):
    return 100 * sum(1 for n in counts if n) / max(1, len(counts))


def main():
    folder = sys.argv[1]
    lines, branches = read(folder)
    groups = {'header': [f for f in lines if f.endswith('.h') and '/' not in f],
              'tools': [f for f in lines if f.startswith('tools/')]}
    figures = {}
    with open(os.path.join(folder, 'report.txt'), 'w', encoding='utf-8') as report:
        for name in sorted(lines):
            print(f'{name:28} {percent(lines[name].values()):6.2f} % of {len(lines[name]):5} lines,'
                  f' {percent(branches[name].values()):6.2f} % of {len(branches[name]):5} branches')
            source = open(name, encoding='utf-8').read().split('\n')
            bad = {line for line, count in lines[name].items() if not count}
            half = collections.defaultdict(list)
            for (line, _, number), count in branches[name].items():
                if not count and line not in bad:
                    half[line].append(number)
            for line in sorted(bad | set(half)):
                what = 'never' if line in bad else 'branch ' + ','.join(map(str, half[line]))
                print(f'{name}:{line}: {what}: {source[line - 1].strip()}', file=report)
    for group, names in groups.items():
        for what, counts in (('lines', lines), ('branches', branches)):
            figures[group, what] = percent([n for f in names for n in counts[f].values()])
            print(f'{group} {what}: {figures[group, what]:.2f} %')
    if len(sys.argv) == 2:
        for group, what in (('header', 'lines'), ('header', 'branches'), ('tools', 'lines')):
            subprocess.run(['sh', 'tests/trust.sh', f'{group}_{what}',
                            f'{figures[group, what]:.2f}'], check=True)


main()
