"""prof export --canonical of the cases that PyTorch's _canonicalize_profiler_events answered:
    canonical.py PROF FOLDER"""
import json
import subprocess
import sys

prof, folder = sys.argv[1:]
with open('tests/analyse/vectors/canonical.json', encoding='utf-8') as file:
    cases = json.load(file)
good = 0
for number, case in enumerate(cases):
    path = f'{folder}/canonical.json'
    with open(path, 'w', encoding='utf-8') as file:
        json.dump([dict(event, ph='X', dur=0, pid=1, tid=1) for event in case['events']], file)
    done = subprocess.run([prof, 'export', '--canonical', path], capture_output=True, encoding='utf-8')
    if done.returncode == 0 and done.stdout == case['ok']:
        good += 1
    else:
        print(f'case {number}: {done.stdout!r}, not {case["ok"]!r}; {done.stderr}')
print(f'{good} of {len(cases)} cases are as in PyTorch')
