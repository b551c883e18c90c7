"""What prof.h costs the compiler, into the JSON object that make bench writes: bench_header.py FILE
CPU time of gcc -O2: of the implementation, and what the declarations add to the three standard
headers, medians of rounds in turns."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

HEADERS = '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n'
SOURCES = {'headers': HEADERS, 'declarations': HEADERS + '#include "prof.h"\n',
           'implementation': '#define PROF_IMPLEMENTATION\n#include "prof.h"\n'}


def seconds(folder, name):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    path = os.path.join(folder, name)
    subprocess.run(['gcc', '-std=c99', '-O2', '-I.', '-c', path + '.c', '-o', path + '.o'],
                   check=True)
    return used() - before


def report(figures, key, value, most, what):
    figures[key] = round(value, 4)
    print(f"{key:<20} {value:10.3f}  <= {most:<6.2f} {'ok' if value <= most else 'MISS':<5} {what}")


with tempfile.TemporaryDirectory() as folder:
    for name, text in SOURCES.items():
        with open(os.path.join(folder, name + '.c'), 'w') as file:
            file.write(text)
    added = statistics.median(seconds(folder, 'declarations') - seconds(folder, 'headers')
                              for _ in range(15))
    whole = statistics.median(seconds(folder, 'implementation') for _ in range(3))

with open(sys.argv[1]) as file:
    figures = json.load(file)
report(figures, 'compile.declarations_ms', 1000 * added, 8, 'what #include "prof.h" adds to a file')
report(figures, 'compile.implementation_s', whole, 3, 'gcc -O2 of the implementation')
with open(sys.argv[1], 'w') as file:
    json.dump(figures, file, indent=2)
    file.write('\n')
