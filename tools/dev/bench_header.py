"""What prof.h costs the compiler and a program, into the JSON object that make bench writes:
bench_header.py FILE
CPU time of -O2, of the implementation and of what the declarations add to the three standard headers,
the least of rounds in turns; and the text of examples/hello.c, a table and a Chrome file.
Beside it, where git has it, prof.h of commit 36b9b94, which took no stb_sprintf: ours is held against
it without, so that both are code of prof.h alone."""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

HEADERS = '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n'
IMPLEMENTATION = '#define PROF_IMPLEMENTATION\n#include "prof.h"\n'
BEFORE = '36b9b94'


def seconds(folder, source, *command):
    """CPU time of the compiler over the text source."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    path = os.path.join(folder, 'source.c')
    with open(path, 'w') as file:
        file.write(source)
    before = used()
    subprocess.run([*command, '-std=c99', '-O2', '-I.', '-c', path, '-o', path + '.o'], check=True)
    return used() - before


def in_turns(rounds, *calls):
    """The least of each call's figures."""
    return [min(column) for column in zip(*([call() for call in calls] for _ in range(rounds)))]


def header_before(folder):
    """A folder with the prof.h of BEFORE, or None: no git, no history."""
    shown = subprocess.run(['git', 'show', BEFORE + ':prof.h'], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False) if shutil.which('git') else None
    if not shown or shown.returncode:
        return None
    path = os.path.join(folder, 'before')
    os.mkdir(path)
    with open(os.path.join(path, 'prof.h'), 'wb') as file:
        file.write(shown.stdout)
    return path


def hello_text(folder):
    """KB of the program's text, without what nothing calls."""
    path = os.path.join(folder, 'hello')
    subprocess.run(['gcc', '-std=c99', '-O2', '-I.', '-ffunction-sections', '-fdata-sections',
                    '-Wl,--gc-sections', 'examples/hello.c', '-o', path, '-lpthread'], check=True)
    said = subprocess.run(['size', path], stdout=subprocess.PIPE, check=True).stdout
    return int(said.split(b'\n')[1].split()[0]) / 1000


def report(figures, key, value, most, what):
    figures[key] = round(value, 4)
    print(f"{key:<20} {value:10.3f}  <= {most:<6.2f} {'ok' if value <= most else 'MISS':<5} {what}")


def main(path):
    with open(path) as file:
        figures = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        headers, declared = in_turns(
            15, lambda: seconds(folder, HEADERS, 'gcc'),
            lambda: seconds(folder, HEADERS + '#include "prof.h"\n', 'gcc'))
        report(figures, 'compile.declarations_ms', 1000 * (declared - headers), 8,
               'what #include "prof.h" adds to a file')
        before = header_before(folder)
        for compiler, most in (('gcc', 3.5), ('clang', 5)):
            if not shutil.which(compiler):
                continue
            whole, own, old = in_turns(
                2, lambda: seconds(folder, IMPLEMENTATION, compiler),
                lambda: seconds(folder, IMPLEMENTATION, compiler, '-DPROF_NO_STB'),
                lambda: before and seconds(folder, IMPLEMENTATION, compiler, '-I', before) or 0)
            report(figures, f'compile.{compiler}_s', whole, most,
                   compiler + ' -O2 of the implementation')
            if old:
                report(figures, f'compile.{compiler}_ratio', own / old, 0.9,
                       'the same without stb_sprintf / that of ' + BEFORE)
        report(figures, 'hello.text_kb', hello_text(folder), 120,
               'text of examples/hello.c, with --gc-sections')
    with open(path, 'w') as file:
        json.dump(figures, file, indent=2)
        file.write('\n')


main(sys.argv[1])
