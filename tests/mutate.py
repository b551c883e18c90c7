"""Do the tests notice when the heart of prof.h is changed?  mutate.py [COUNT] [SEED]
Takes COUNT (100; 0: all) places in the rooms below at random, changes each in turn (< to <=, + to -,
a condition to its opposite, a statement to none, ...), and runs the tests, quick ones first, until
one fails, twice: the mutant is killed. One that compiles to the same code is no mutant. Survivors
stand in build/mutants/report.txt with their lines: a test is missing there, or the change means
nothing. ROOMS: other rooms than these. JOBS (2) at a time. Compiled by clang -O0, which is quickest."""
import concurrent.futures
import glob
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOMS = os.environ.get('ROOMS', 'RECORD COLLECT TREE AVERAGES').split()
LEFT_OUT = ('test_cuda', 'test_signal_step', 'test_format', 'test_counters', 'test_native',
            'test_session_threads', 'test_kill')   # of other rooms, or slow for what they add
CHANGES = (
    (r'<=', '<'), (r'>=', '>'), (r'(?<![<>=!-])<(?![<=])', '<='), (r'(?<![<>=-])>(?![>=])', '>='),
    (r'==', '!='), (r'!=', '=='), (r'&&', '||'), (r'\|\|', '&&'), (r'\+\+', '--'),
    (r'(?<=[\w)\]] )\+(?= )', '-'), (r'(?<=[\w)\]] )-(?= )', '+'), (r'\+=', '-='), (r'<<', '>>'),
    (r'>>', '<<'), (r'(?<![\w.])0(?![\w.])', '1'), (r'(?<![\w.])1(?![\w.])', '0'),
    (r'\btrue\b', 'false'), (r'\bfalse\b', 'true'), (r'\bcontinue;', 'break;'), (r'\breturn;', ';'),
    (r'\b(?:if|while) (?=\()', '!'),                       # the condition behind it
    (r'^ +[^\s{}()=][^{}()=]* [-+|&]?= [^{};]*;', ';'),    # an assignment, a call
    (r'^ +(?!return\b|if\b|else\b|for\b|while\b|PROF__(?:SIGNAL_)?FENCE\b)[\w>.-]+\([^{};]*\);', ';'),
)
DECLARES = re.compile(r'\s*(?:const |static |unsigned )*(?:\w+_t|\w+__\w+|prof_\w+|int|char|bool|'
                      r'size_t|struct \w+|void|double)\s+[*\w]')
OUT = os.path.abspath('build/mutants')
CC = ['clang', '-std=c99', '-w', '-I.']
LIBS = ['-lpthread', '-ldl', '-lm']


def compiled_lines():
    """Lines of prof.h that this compiler sees."""
    text = subprocess.run(CC + ['-E', '-DPROF_IMPLEMENTATION', '-x', 'c', 'prof.h'],
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


def condition(text, at):
    """The end of the parenthesis that opens at text[at]."""
    depth = 0
    while True:
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        at += 1
        if not depth:
            return at


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
                    begin, end, now = at + m.start(), at + m.end(), replacement
                    if now == '!':
                        begin, end = end, condition(blank, end)
                        now = '(!' + source[begin:end] + ')'
                    if now != ';' or not DECLARES.match(code):
                        found.append((begin, end - begin, now, number))
        at += len(line) + 1
    return source, found


class Test:
    """One tests/test_*.c: linked with prof.h's declarations, or compiled with its insides."""
    def __init__(self, path):
        self.path, self.name, self.seconds = path, os.path.basename(path)[:-2], 10
        text = open(path, encoding='utf-8').read()
        flags = re.search(r'^/\* build: (.*) \*/$', text, re.M)
        own = re.sub(r'PROF__LOAD|PROF__STORE|prof__hot|prof__frame|prof__tls', '', text)
        self.inside = bool(re.search(r'prof__|PROF__|^#define PROF_', own, re.M))   # as tests/run.sh
        self.flags = ['-DTEST_OUT="out"'] + (flags.group(1).split() if flags else [])

    def compile(self):
        if not self.inside:
            subprocess.run(CC + ['-O1', '-DTEST_LIBRARY'] + self.flags + [
                self.path, f'{OUT}/none/libprof.so', '-o', f'{OUT}/{self.name}'] + LIBS, check=True)

    def limits(self):
        resource.setrlimit(resource.RLIMIT_CPU, (int(3 + 5 * self.seconds),) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def once(self, program, folder):
        """True: it passed; False; None: it did not end."""
        run = subprocess.Popen([program], cwd=folder, stdin=subprocess.DEVNULL, preexec_fn=self.limits,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, LD_LIBRARY_PATH=folder), start_new_session=True)
        try:
            return run.wait(20 + 10 * self.seconds) == 0
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(run.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            run.wait()

    def fails(self, folder):
        program = f'{OUT}/{self.name}'
        if self.inside:
            program = f'{folder}/{self.name}'
            if subprocess.run(CC + ['-O0', '-I', folder] + self.flags + [
                    f'{folder}/inside/{self.name}.c', '-o', program] + LIBS, check=False).returncode:
                return True
        passed = self.once(program, folder)
        return passed is None or not passed and not self.once(program, folder)

    def measure(self, folder):
        start = time.time()
        if self.fails(folder):
            sys.exit(f'not ok mutants: {self.name} fails without any change')
        self.seconds = time.time() - start


def digest(folder, level):
    """Of the code that prof.h compiles to; None: it does not."""
    command = CC + [level, '-fPIC', '-DPROF_IMPLEMENTATION', '-x', 'c', '-c', 'prof.h', '-o', level + '.o']
    if subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL, check=False).returncode:
        return None
    return hashlib.sha256(open(f'{folder}/{level}.o', 'rb').read()).digest()


def link(folder):
    subprocess.run(['clang', '-shared', '-Wl,-soname,libprof.so', f'{folder}/-O0.o', '-o',
                    f'{folder}/libprof.so'] + LIBS, check=True)


def prepare(folder, text):
    """A folder in which the tests run, with a prof.h of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder + '/out')
    os.symlink(os.path.abspath('tests'), folder + '/tests')
    os.makedirs(folder + '/inside')
    for path in glob.glob('tests/*.[ch]'):
        shutil.copy(path, folder + '/inside')
    with open(f'{folder}/prof.h', 'w', encoding='utf-8') as file:
        file.write(text)


def verdict(folder, same, tests):
    """What kills the mutant: a test's name, or 'the compiler'; 'nobody: ...' when it is the same."""
    code = digest(folder, '-O0')
    if code in (None, same['-O0']):
        return 'the compiler' if code is None else 'nobody: it is the same code'
    link(folder)
    for test in tests:
        if test.fails(folder):
            return test.name
    return 'nobody: it is the same code' if digest(folder, '-O1') == same['-O1'] else None


def mutant(number, source, place, same, tests):
    folder = f'{OUT}/{number}'
    at, length, replacement, line = place
    text = source[:at] + replacement + source[at + length:]
    prepare(folder, text)
    killer = verdict(folder, same, tests)
    shutil.rmtree(folder)
    return killer, line, source[at:at + length].strip(), replacement, text.split('\n')[line - 1].strip()


def original(source):
    """The folder of prof.h as it is, what it compiles to, and the tests, by the time they take."""
    folder = f'{OUT}/none'
    shutil.rmtree(OUT, ignore_errors=True)
    prepare(folder, source)
    same = {level: digest(folder, level) for level in ('-O0', '-O1')}
    link(folder)
    tests = [Test(path) for path in sorted(glob.glob('tests/test_*.c'))]
    tests = [test for test in tests if test.name not in LEFT_OUT]
    for test in tests:
        test.compile()
        test.measure(folder)
    return same, sorted(tests, key=lambda test: test.seconds)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    source, found = places()
    chosen = random.Random(seed).sample(found, min(count or len(found), len(found)))
    same, tests = original(source)
    tried = killed = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS', '2'))) as pool, \
            open(f'{OUT}/report.txt', 'w', encoding='utf-8') as report:
        jobs = [pool.submit(mutant, i, source, place, same, tests) for i, place in enumerate(chosen)]
        for job in jobs:
            killer, line, was, now, text = job.result()
            tried += not killer or killer.startswith('test_')
            killed += bool(killer) and killer.startswith('test_')
            print(f'{"survived" if not killer else "killed by " + killer}: prof.h:{line}: '
                  f'{was} -> {now}: {text}', file=report, flush=True)
    share = 100 * killed / max(1, tried)
    print(f'mutants (the goal is 85 %): {killed} of {tried} killed, {share:.1f} %, of {len(found)} places; '
          f'survivors in build/mutants/report.txt')
    subprocess.run(['sh', 'tests/trust.sh', 'mutants', str(tried), 'mutants_killed_percent',
                    f'{share:.1f}'], check=True)


main()
