"""Do the tests notice when the heart of prof.h is changed?  mutate.py [COUNT] [SEED]
Takes COUNT (150; 0: all) places in the rooms below at random: < becomes <=, + becomes -, a condition
its opposite, a statement none, ... All changes are compiled at once, each to be chosen at run time,
then for each the tests run, quick ones first, until one fails, twice: the mutant is killed. What the
compiler makes the same code of (clang -O1) is no mutant. Survivors stand in build/mutants/report.txt
with their lines: a test is missing there, or the change means nothing.
WHOLE=1: survivors are tried again with the cases of make test-all, and counted with these, too.
ROOMS: other rooms. JOBS (2) at a time."""
import concurrent.futures
import glob
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
LEFT_OUT = ('test_cuda', 'test_cuda_errors')   # another header's
OPTIMISED = ('test_signal_step',)   # its time is the square of the instructions'
CHANGES = (
    (r'<=', '<'), (r'>=', '>'), (r'(?<![<>=!-])<(?![<=])', '<='), (r'(?<![<>=-])>(?![>=])', '>='),
    (r'==', '!='), (r'!=', '=='), (r'&&', '||'), (r'\|\|', '&&'), (r'\+\+', '--'),
    (r'(?<=[\w)\]] )\+(?= )', '-'), (r'(?<=[\w)\]] )-(?= )', '+'), (r'\+=', '-='), (r'<<', '>>'),
    (r'>>', '<<'), (r'(?<![\w.])0(?![\w.])', '1'), (r'(?<![\w.])1(?![\w.])', '0'),
    (r'\btrue\b', 'false'), (r'\bfalse\b', 'true'), (r'\bcontinue;', 'break;'),
)
SAME = re.compile(r'if \((\S+) != (\S+)\) return \1 [<>] \2;')   # there < and <= are one
FENCE = re.compile(r'PROF__(SIGNAL_)?FENCE|PROF__ASSERT|\(void\)|prof__knot_sometimes')   # hints, checks
HASH = re.compile(r'\bh = .*16777619|= prof__hash')     # another hash is as good
DECLARES = re.compile(r'(?:const |unsigned |struct )*(?:\w+_t|\w+__\w+|prof_\w+|\w+|char|int|bool) '
                      r'(?:(?:\*|const )*\w+(?:\[[^;]*?\])?|\(\*\w+\)\([^;=]*\))(?: =|,|;)')
WORD = re.compile(r'[A-Za-z_]\w*')
OUT = os.path.abspath('build/mutants')
PLAIN = ['clang', '-std=c99', '-w', '-I.']
CC = PLAIN + ['-DPROF_ASSERTS']         # as make test has them
LIBS = ['-lpthread', '-ldl', '-lm']
ENVIRONMENT = {'TEST_FIRST': '1', 'TEST_SAMPLE': '12'}   # one failure is enough; cases as in make test
CHOICE = '''char *getenv(const char *); int atoi(const char *); int open(const char *, int, ...);
void *mmap(void *, unsigned long, int, int, int, long);
static int prof__mutant;
static char prof__reached_by_none[COUNT + 1], *prof__reached = prof__reached_by_none;
#define PROF__MUTANT(n) (prof__reached[n] = 1, prof__mutant == n)
__attribute__((constructor)) static void prof__mutant_read(void) {
    prof__mutant = getenv("PROF_MUTANT") ? atoi(getenv("PROF_MUTANT")) : 0;
    if (!prof__mutant) prof__reached = mmap(0, COUNT + 1, 3, 1, open("reached", 2), 0);
    if (prof__reached == (char *)-1) prof__reached = prof__reached_by_none;
}
'''


# ---- what can be changed ----

def compiled_lines():
    """Lines of prof.h that this compiler sees, without those for asserts."""
    text = subprocess.run(PLAIN + ['-E', '-DPROF_IMPLEMENTATION', '-x', 'c', 'prof.h'],
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


def left_out(lines, seen):
    """Numbers of the lines that #if, #elif or #else leave out: of stretches of which none is seen."""
    out, stack = set(), [1]
    for number, line in enumerate(lines, 1):
        word = re.match(r'\s*#\s*(if|el|endif)', line)
        if not word:
            continue
        if word.group(1) != 'if':
            stretch = set(range(stack.pop(), number))
            out |= stretch if not stretch & seen else set()
        if word.group(1) != 'endif':
            stack.append(number + 1)
    return out


class Units:
    """Statements and expressions of a function, [begin, end) each: what can stand twice, side by
    side, with a choice between them."""
    def __init__(self, code):
        self.code, self.found = code, []

    def skip(self, at):
        while self.code[at].isspace():
            at += 1
        return at

    def close(self, at):
        """Behind the bracket that opens here."""
        depth = 0
        while True:
            depth += {'(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1}.get(self.code[at], 0)
            at += 1
            if not depth:
                return at

    def until(self, at, ends):
        """The first of these outside of brackets."""
        while self.code[at] not in ends:
            at = self.close(at) if self.code[at] in '([{' else at + 1
        return at

    def simple(self, at, end, kind):
        """A statement of one semicolon, or a declaration's values."""
        if self.code.startswith('static ', at):
            return
        if not DECLARES.match(self.code, at) or self.code.startswith('return', at):
            self.found.append((at, end, kind))
            return
        while at < end:
            at = self.until(at, '=,;')
            value = self.skip(at + 1) if self.code[at] == '=' else end
            at = self.until(value, ',;') if value < end else at + 1
            if value < end and self.code[value] == '{':
                self.found += [(m.start(), m.end(), 'value')
                               for m in re.compile(r'[^{},]*[^{},\s]').finditer(self.code, value, at)]
            elif value < end:
                self.found.append((value, at, 'value'))

    def statement(self, at):
        at = self.skip(at)
        if self.code[at] == '{':
            at = self.skip(at + 1)
            while self.code[at] != '}':
                at = self.skip(self.statement(at))
            return at + 1
        word = WORD.match(self.code, at)
        word = word.group() if word else ''
        if word in ('if', 'while', 'switch'):
            begin = self.code.index('(', at)
            at = self.close(begin)
            if word != 'switch':
                self.found.append((begin, at, 'condition'))
            at = self.skip(self.statement(at))
            return self.statement(at + 4) if word == 'if' and self.code.startswith('else', at) else at
        if word == 'for':
            begin = self.code.index('(', at) + 1
            first = self.until(begin, ';')
            second = self.until(first + 1, ';')
            end = self.until(second + 1, ')')
            self.simple(begin, first + 1, 'none')
            self.found += [(first + 1, second, 'value'), (second + 1, end, 'step')]
            return self.statement(end + 1)
        if word == 'do':
            at = self.code.index('(', self.statement(at + 2))
            self.found.append((at, self.close(at), 'condition'))
            return self.until(at, ';') + 1
        if word in ('case', 'default'):
            return self.until(at, ':') + 1
        end = self.until(at, ';') + 1
        self.simple(at, end, 'statement')
        return end


def bodies(code):
    """Where functions begin: the brace."""
    for m in re.finditer(r'^PROF_[^;{]*?\) \{|^PROF_[^;{]*?\)\n\{', code, re.M):
        yield m.end() - 1


def places():
    """The source, and (offset, length, replacement, unit) of all changes."""
    source = open('prof.h', encoding='utf-8').read()
    code = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])*\'',
                  lambda m: re.sub(r'[^\n]', ' ' if m.group()[0] == '/' else '_', m.group()), source,
                  flags=re.S)
    lines, room, continued = code.split('\n'), '', False
    out = left_out(lines, compiled_lines())
    for i, line in enumerate(source.split('\n')):
        banner = re.match(r'/\* ---- @([A-Z-]+):', line)
        room = banner.group(1) if banner else room
        directive = continued or line.lstrip().startswith('#')
        continued = directive and line.endswith('\\')
        if i + 1 in out or directive or room not in ROOMS:
            lines[i] = ' ' * len(line)
    code = '\n'.join(lines)
    units, found = Units(code), []
    for body in bodies(code):
        units.statement(body)
    for unit in units.found:
        begin, end, kind = unit
        row = code[code.rfind('\n', 0, begin) + 1:code.find('\n', end)]
        if kind == 'none' or FENCE.match(code, begin) or HASH.search(row):
            continue
        if kind == 'statement' and not re.match(r'return\b|continue\b|break\b|goto\b', code[begin:end]):
            found.append((begin, end - begin, ';', unit))
        if kind == 'statement' and code[begin:end] == 'return;':
            found.append((begin, end - begin, ';', unit))
        if kind == 'condition':
            found.append((begin, end - begin, '(!' + source[begin:end] + ')', unit))
        for pattern, replacement in CHANGES:
            for m in re.compile(pattern).finditer(code, begin, end):
                if replacement not in ('<=', '>=') or not SAME.search(row):
                    found.append((m.start(), m.end() - m.start(), replacement, unit))
    return source, sorted(found)


# ---- all of them in one ----

def changed(source, place):
    at, length, replacement, (begin, end, _) = place
    return source[begin:at] + replacement + source[at + length:end]


def chosen_at_run_time(source, places_by_number):
    """prof.h with a choice at each unit that is changed."""
    units = {}
    for number, place in places_by_number.items():
        units.setdefault(place[3], []).append(number)
    for unit in sorted(units, reverse=True):
        begin, end, kind = unit
        text = source[begin:end]
        for number in units[unit]:
            other = changed(source, places_by_number[number]).replace('\n', ' ')
            if kind == 'statement':
                text = f'{{ if (PROF__MUTANT({number})) {{ {other} }} else {{ {text} }} }}'
            elif kind == 'step':
                text = f'(PROF__MUTANT({number}) ? (void)({other}) : (void)({text}))'
            else:
                text = f'(PROF__MUTANT({number}) ? ({other}) : ({text}))'
        source = source[:begin] + text + source[end:]
    at = source.index('/* ---- @ARENA:')
    return source[:at] + CHOICE.replace('COUNT', str(max(places_by_number))) + source[at:]


def compile_all(source, numbered):
    """Compiles them, less those that are no C, whose numbers it returns."""
    invalid = set()
    while True:
        text = chosen_at_run_time(source, {n: p for n, p in numbered.items() if n not in invalid})
        with open(OUT + '/prof.h', 'w', encoding='utf-8') as file:
            file.write(text)
        done = subprocess.run(CC + ['-O0', '-fPIC', '-c', 'tools/prof/library.c', '-o', 'prof.o',
                                    '-ferror-limit=0'], cwd=OUT, stderr=subprocess.PIPE,
                              check=False, text=True)
        if not done.returncode:
            break
        rows = text.split('\n')
        wrong = [rows[int(row) - 1][:int(column)] for row, column
                 in re.findall(r'^\S*\bprof\.h:(\d+):(\d+): error', done.stderr, re.M)]
        bad = {int(n) for row in wrong for n in re.findall(r'PROF__MUTANT\((\d+)\)', row)[-1:]}
        if not bad - invalid:
            sys.exit('not ok mutants: they do not compile\n' + done.stderr)
        invalid |= bad
    subprocess.run(['clang', '-shared', '-Wl,-z,defs', '-Wl,-soname,libprof.so', OUT + '/prof.o', '-o', OUT + '/libprof.so']
                   + LIBS, check=True)
    return invalid


def line_of(source, at):
    return source.count('\n', 0, at) + 1


def code_of(source, begin, end):
    """What it compiles to, where the function around is optimised, and no other: that is quicker."""
    begin, end = source.rfind('\nPROF_', 0, begin) + 1, source.find('\n}\n', end) + 3
    first = source.index('/* ---- @ARENA:')
    text = (source[:first] + '#pragma clang optimize off\n' + source[first:begin] +
            '#pragma clang optimize on\n' + source[begin:end] + '#pragma clang optimize off\n' +
            source[end:])
    return subprocess.run(PLAIN + ['-O1', '-DPROF_IMPLEMENTATION', '-x', 'c', '-c', '-', '-o', '-'],
                          input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


# ---- the tests ----

class Test:
    """One test_*.c: linked with prof.h's declarations, or compiled with its insides."""
    def __init__(self, path):
        self.name, self.seconds, self.reached = os.path.basename(path)[:-2], 10, b''
        self.program = f'{OUT}/{self.name}'
        own = re.sub(r'PROF__LOAD|PROF__STORE|PROF__ACQUIRE|PROF__RELEASE|prof__hot|prof__frame|prof__tls', '',
                     open(path, encoding='utf-8').read())
        command = CC + ['-O1' if self.name in OPTIMISED else '-O0', '-DTEST_OUT="out"', '-o', self.program]
        inside = [path.replace('tests', 'inside', 1)]     # short: streams hold it
        implementation = re.search(r'^/\* object: (.*) \*/$', own, re.M)     # as in tests/run.sh
        if implementation:
            command += inside + ['-DTEST_LIBRARY', implementation[1].replace('tests', 'inside', 1)]
        elif '"../inside.h"' not in own and re.search(r'prof__|PROF__|^#define PROF_', own, re.M):
            command += inside
        elif 'inside_' in own:
            command += inside + ['-DTEST_LIBRARY', 'inside/prof.c']
        else:
            command += ['-DTEST_LIBRARY', '../../' + path, OUT + '/libprof.so', '-Wl,-rpath,' + OUT]
        subprocess.run(command + LIBS, check=True, cwd=OUT)

    def limits(self):
        resource.setrlimit(resource.RLIMIT_CPU, (int(3 + 5 * self.seconds),) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def passes(self, number, folder):
        """None: it did not end."""
        run = subprocess.Popen([self.program], cwd=folder, stdin=subprocess.DEVNULL,
                               preexec_fn=self.limits, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               env=dict(os.environ, PROF_MUTANT=str(number), **ENVIRONMENT))
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

    def fails(self, number, folder):
        passed = self.passes(number, folder)
        return passed is None or not passed and not self.passes(number, folder)


def workplace(number):
    """A folder in which tests run."""
    folder = f'{OUT}/{number}'
    os.makedirs(folder + '/out')
    os.symlink(os.path.abspath('tests'), folder + '/tests')
    return folder


def make_tests(count):
    """Those that pass without a change, the quickest first."""
    shutil.copytree('tests', OUT + '/inside')
    shutil.copy('prof_cuda.h', OUT)
    names = [path for path in sorted(glob.glob('tests/*/test_*.c'))
             if os.path.basename(path)[:-2] not in LEFT_OUT]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        tests = list(pool.map(Test, names))
    folder = workplace('none')
    for test in tests:
        start = time.time()
        with open(folder + '/reached', 'wb') as file:
            file.write(bytes(count + 1))
        if test.fails(0, folder):
            sys.exit(f'not ok mutants: {test.name} fails without any change')
        test.seconds = time.time() - start
        with open(folder + '/reached', 'rb') as file:
            test.reached = file.read()
    return sorted(tests, key=lambda test: test.seconds)


def verdict(number, source, place, tests):
    """The test that kills it; '': none; None: it is the same code."""
    folder = workplace(number)
    killer = next((test.name for test in tests
                   if test.reached[number] and test.fails(number, folder)), '')
    shutil.rmtree(folder)
    begin, end, _ = place[3]
    text = changed(source, place)
    same = not killer and (code_of(source, begin, end) == code_of(
        source[:begin] + text + source[end:], begin, begin + len(text)))
    return None if same else killer


def try_all(numbered, source, tests, report):
    """Their verdicts; tells those that survive."""
    verdicts = {}
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        jobs = {n: pool.submit(verdict, n, source, p, tests) for n, p in numbered.items()}
        for number, job in jobs.items():
            killer, (at, length, replacement, _) = job.result(), numbered[number]
            verdicts[number] = killer
            was = ' '.join(source[at:at + length].split())
            how = 'the same code' if killer is None else f'killed by {killer}' if killer else 'survived'
            row = source[source.rfind('\n', 0, at) + 1:source.find('\n', at)].strip()
            text = f'{how}: prof.h:{line_of(source, at)}: {was} -> {replacement}: {row}'
            print(text, file=report, flush=True)
            if killer == '':
                print(text, flush=True)
    return verdicts


JOBS = int(os.environ.get('JOBS', '2'))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else 150
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree('tools/prof', OUT + '/tools/prof')
    source, found = places()
    numbered = dict(enumerate(random.Random(seed).sample(found, min(count or len(found), len(found))), 1))
    for number in compile_all(source, numbered):
        del numbered[number]
    tests = make_tests(max(numbered))
    with open(OUT + '/report.txt', 'w', encoding='utf-8') as report:
        verdicts = try_all(numbered, source, tests, report)
        tried = sum(killer is not None for killer in verdicts.values())
        survivors = {n: numbered[n] for n, killer in verdicts.items() if killer == ''}
        killed = tried - len(survivors)
        share = 100 * killed / max(1, tried)
        print(f'mutants (the goal is 85 %): {killed} of {tried} killed, {share:.1f} %, of {len(found)} places; '
              f'survivors in build/mutants/report.txt', flush=True)
        if os.environ.get('WHOLE'):
            del ENVIRONMENT['TEST_SAMPLE']
            ENVIRONMENT['ALL'] = '1'
            for test in tests:
                test.seconds *= 12
            verdicts = try_all(survivors, source, tests, report)
            print(f'with all cases: {killed + sum(map(bool, verdicts.values()))} of {tried} killed')
    subprocess.run(['sh', 'tests/trust.sh', 'mutants', str(tried), 'mutants_killed_percent',
                    f'{share:.1f}'], check=True)


if __name__ == '__main__':
    main()
