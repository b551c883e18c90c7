"""Do the tests notice when the heart of prof.h is changed?  mutate.py [COUNT] [SEED]
Takes COUNT (40; 0: all) places in the rooms below at random, changes each in turn (< to <=, + to -,
&& to ||, a condition to its opposite, ...), compiles, and runs fast tests until one fails: the mutant
is killed. Survivors stand in build/mutants/report.txt with their lines: a test is missing there, or
the change means nothing. JOBS (2) at a time."""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys

ROOMS = ('RECORD', 'COLLECT', 'TREE', 'AVERAGES')
TESTS = ('test_modes', 'test_tree', 'test_golden', 'test_details', 'test_session', 'test_limits',
         'test_reference', 'test_submit', 'test_memory', 'test_observe',
         'test_context', 'test_generations')
INSIDE = ('test_aggregate', 'test_records', 'test_stream', 'test_ring', 'test_threads')   # with prof.h's insides
CHANGES = (
    (r'<=', '<'), (r'>=', '>'), (r'(?<![<>=!-])<(?![<=])', '<='), (r'(?<![<>=-])>(?![>=])', '>='),
    (r'==', '!='), (r'!=', '=='), (r'&&', '||'), (r'\|\|', '&&'), (r'\+\+', '--'),
    (r'(?<=[\w)\]] )\+(?= )', '-'), (r'(?<=[\w)\]] )-(?= )', '+'), (r'\+=', '-='), (r'<<', '>>'),
    (r'>>', '<<'), (r'(?<![\w.])0(?![\w.])', '1'), (r'(?<![\w.])1(?![\w.])', '0'),
    (r'\bif \(', 'if (!'), (r'\btrue\b', 'false'), (r'\bfalse\b', 'true'), (r'\bcontinue;', 'break;'),
    (r'\breturn;', ';'),
)
OUT = 'build/mutants'
LIBS = ['-lpthread', '-ldl', '-lm']


def compiled_lines():
    """Lines of prof.h that this compiler sees."""
    text = subprocess.run(['gcc', '-std=c99', '-E', '-DPROF_IMPLEMENTATION', '-x', 'c', 'prof.h'],
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    seen, line, inside = set(), 0, False
    for row in text.split('\n'):
        mark = re.match(r'# (\d+) "([^"]*)"', row)
        if mark:
            line, inside = int(mark.group(1)), mark.group(2) == 'prof.h'
            continue
        if inside and row.strip():
            seen.add(line)
        line += 1
    return seen


def places():
    """(offset, length, replacement, line) of all changes."""
    source = open('prof.h', encoding='utf-8').read()
    blank = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])*\'',
                   lambda m: re.sub(r'[^\n]', ' ', m.group()), source, flags=re.S)
    seen, found, at, room = compiled_lines(), [], 0, ''
    for number, line in enumerate(source.split('\n'), 1):
        banner = re.match(r'/\* ---- @([A-Z-]+):', line)
        room = banner.group(1) if banner else room
        code = blank[at:at + len(line)]
        if room in ROOMS and number in seen and not code.lstrip().startswith('#'):
            for pattern, replacement in CHANGES:
                for m in re.finditer(pattern, code):
                    found.append((at + m.start(), len(m.group()), replacement, number))
        at += len(line) + 1
    return source, found


def compile_tests():
    """The objects of tests that need only the declarations."""
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    for name in TESTS:
        subprocess.run(['gcc', '-std=c99', '-O1', '-w', '-I.', '-DTEST_LIBRARY',
                        f'-DTEST_OUT="{OUT}"', '-c', f'tests/{name}.c', '-o', f'{OUT}/{name}.o'],
                       check=True)


def fails(command):
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def verdict(folder):
    """The name of the test that fails, or None."""
    done = subprocess.run(['gcc', '-std=c99', '-O0', '-w', '-DPROF_IMPLEMENTATION', '-x', 'c', '-c',
                           f'{folder}/prof.h', '-o', f'{folder}/prof.o'], capture_output=True,
                          check=False)
    if done.returncode:
        return 'the compiler'
    program = f'{folder}/test'
    for name in TESTS:
        subprocess.run(['gcc', f'{OUT}/{name}.o', f'{folder}/prof.o', '-o', program] + LIBS,
                       check=True)
        if fails([program]):
            return name
    os.mkdir(f'{folder}/tests')
    for name in ('test.h',) + tuple(f'{name}.c' for name in INSIDE):
        shutil.copy(f'tests/{name}', f'{folder}/tests')
    for name in INSIDE:
        subprocess.run(['gcc', '-std=c99', '-O0', '-w', f'-DTEST_OUT="{folder}"',
                        f'{folder}/tests/{name}.c', '-o', program] + LIBS, check=True)
        if fails([program]):
            return name
    return None


def mutant(number, source, place):
    folder = f'{OUT}/{number}'
    os.makedirs(folder, exist_ok=True)
    at, length, replacement, line = place
    text = source[:at] + replacement + source[at + length:]
    with open(f'{folder}/prof.h', 'w', encoding='utf-8') as file:
        file.write(text)
    killer = verdict(folder)
    shutil.rmtree(folder)
    return killer, line, source[at:at + length], replacement, text.split('\n')[line - 1].strip()


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else 40
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    compile_tests()
    source, found = places()
    chosen = random.Random(seed).sample(found, min(count or len(found), len(found)))
    killer = mutant('none', source, (0, 0, '', 1))[0]
    if killer:
        sys.exit(f'not ok mutants: {killer} fails without any change')
    killed = invalid = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS', '2'))) as pool, \
            open(f'{OUT}/report.txt', 'w', encoding='utf-8') as report:
        jobs = [pool.submit(mutant, i, source, place) for i, place in enumerate(chosen)]
        for job in concurrent.futures.as_completed(jobs):
            killer, line, was, now, text = job.result()
            invalid += killer == 'the compiler'
            killed += killer not in (None, 'the compiler')
            print(f'{"survived" if not killer else "killed by " + killer}: prof.h:{line}: '
                  f'{was} -> {now}: {text}', file=report, flush=True)
    tried = len(chosen) - invalid
    share = 100 * killed / max(1, tried)
    print(f'mutants (the goal is 85 %): {killed} of {tried} killed, {share:.1f} %, of {len(found)} places; '
          f'survivors in {OUT}/report.txt')
    subprocess.run(['sh', 'tests/trust.sh', 'mutants', str(tried), 'mutants_killed_percent',
                    f'{share:.1f}'], check=True)


main()
