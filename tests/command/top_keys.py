"""prof top on a terminal: top_keys.py PROF STREAM, a stream without an end. After two looks, the first
without rates, s sorts by the next column, p pauses and q ends; none of them changes the rates."""
import os
import pty
import select
import sys
import time

prof, stream = sys.argv[1:3]
CLEAR = b'\x1b[H\x1b[J'


def screens(said):
    return [screen.decode(errors='replace').split('\r\n') for screen in said.split(CLEAR)[1:]]


def wait_for(terminal, said, count):
    end = time.time() + 60
    while len(screens(said)) < count or not said.endswith(b'\n'):
        if not select.select([terminal], [], [], max(0, end - time.time()))[0]:
            sys.exit(f'no look number {count}: {said!r}')
        said += os.read(terminal, 65536)
    return said


def rates(screen):
    return sorted((line.split()[0], *line.split()[-2:]) for line in screen[2:] if line)


child, terminal = pty.fork()
if child == 0:
    os.execv(prof, [prof, 'top', '--sort', 'self', stream])
said = wait_for(terminal, b'', 2)
for key, words in ((b's', 'by total'), (b'p', 'by total, paused')):
    count = len(screens(said))
    os.write(terminal, key)
    while not any(screen[0].endswith(words) for screen in screens(said)[count:]):
        said = wait_for(terminal, said, len(screens(said)) + 1)
os.write(terminal, b'q')
while select.select([terminal], [], [], 60)[0]:      # the rest of the last look
    try:
        said += os.read(terminal, 65536)
    except OSError:                                   # it has ended
        break
_, status = os.waitpid(child, 0)
looks = screens(said)
assert status == 0, status
assert all(name[1:] == ('-', '-') for name in rates(looks[0])), looks[0]
assert looks[0][0].endswith('by self') and rates(looks[1]), looks[1]
assert all(rates(look) == rates(looks[1]) for look in looks[2:]), looks
