"""A process that looks as if it waited for prof window, and does harm: hostile_asked.py HOW FILE. It
prints its number when it is ready; FILE is what it would like to have read or written."""
import fcntl, mmap, os, signal, struct, sys, time

how, victim = sys.argv[1:]
shared = os.memfd_create('prof window', os.MFD_ALLOW_SEALING)
os.ftruncate(shared, 1024)
fcntl.fcntl(shared, 1033, 2)                     # F_ADD_SEALS, SHRINK
page = mmap.mmap(shared, 1024)
if how == 'lock':
    fcntl.lockf(shared, fcntl.LOCK_EX)
print(os.getpid(), flush=True)
end = time.time() + 60
while struct.unpack('I', page[:4])[0] & 1 == 0 and time.time() < end:
    time.sleep(.001)


def tell(text):
    os.pwrite(shared, text.encode(), os.fstat(shared).st_size)


path = page[8:1024].split(b'\0')[0].decode().replace('%%', '%')
if how == 'path':
    up = os.path.dirname(path).count('/') * '../' + victim.lstrip('/')
    tell(f'start 1 {up}\n')
elif how in ('notes', 'noise'):
    tell('start 1 trace.raw\n')
    while time.time() < end:                     # until the asker has had enough
        tell('failed 1 no room\n' * 1000 if how == 'notes' else 'x' * 10000)
        time.sleep(.001)
elif how == 'link':
    os.symlink(victim, path)
elif how == 'hard':
    os.link(victim, path)
elif how == 'fifo':
    os.mkfifo(path)
elif how == 'hole':
    with open(path, 'wb') as file:
        file.truncate(1 << 40)
elif how == 'deep':
    os.chdir(os.path.dirname(path))
    for i in range(300):
        os.mkdir('d')
        os.chdir('d')
        open('f', 'w').close()
if how not in ('path', 'mute'):
    tell('start 1 trace.raw\n')
if how == 'stops':
    os.kill(os.getpid(), signal.SIGSTOP)
elif how == 'dies':
    os._exit(3)
elif how == 'codes':
    tell('failed 1 \033]0;title\007\033[31m\302\233\342\200\256\n')
elif how == 'forks':
    for i in range(100):
        if os.fork() == 0:
            tell(f'start {os.getpid()} trace.raw\nkept 5 x\nend {os.getpid()} \n')
            os._exit(0)
elif how == 'page':                              # what it shares, while that is read
    while time.time() < end - 58:
        page[:1024] = os.urandom(1024)
while time.time() < end and struct.unpack('I', page[:4])[0] & 1:
    time.sleep(.001)
if how not in ('on', 'mute', 'lock'):
    tell('end 1 \nover 1 \n')
time.sleep(60)
