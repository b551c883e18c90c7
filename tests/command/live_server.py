"""live_server.py HOW FILE COMMAND...: runs the command, with localhost:N for @ in it, and sends it the
file from there. Exit status: the command's. HOW is
  whole     the file, in pieces, then it closes
  banner    a line of text first, as J-Link's server sends
  half      half of it, then it closes
  reset     half of it, then the connection is reset
  open      the file; it stays open until the command has ended
  stops     half of it; then the command gets a SIGINT
  slow      half of it, then after 1.5 s the rest
  deaf      it listens, and takes nobody"""
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

how, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
data = open(path, 'rb').read()
half = len(data) // 2 + 3


def send(to, what):
    for at in range(0, len(what), 700):
        to.sendall(what[at:at + 700])


server = socket.create_server(('127.0.0.1', 0), backlog=0 if how == 'deaf' else 1)
port = server.getsockname()[1]
crowd = []
while how == 'deaf':                    # until one more has no room and waits
    crowd.append(socket.socket())
    crowd[-1].setblocking(False)
    crowd[-1].connect_ex(('127.0.0.1', port))
    if len(crowd) > 8 or not select.select([], [crowd[-1]], [], 0.3)[1]:
        break
process = subprocess.Popen([word.replace('@', f'localhost:{port}') for word in command])
if how == 'deaf':
    sys.exit(process.wait())
client, _ = server.accept()
if how == 'banner':
    send(client, b'SEGGER J-Link V7.94 - Real time terminal output\r\nProcess: test\r\n')
if how in ('whole', 'banner', 'open'):
    send(client, data)
else:
    send(client, data[:half])
if how == 'open':
    sys.exit(process.wait())
if how == 'slow':
    time.sleep(1.5)
    send(client, data[half:])
if how == 'reset':
    time.sleep(0.5)                     # until that is read
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
if how == 'stops':
    time.sleep(0.5)                     # until that is read
    process.send_signal(signal.SIGINT)
    sys.exit(process.wait())
client.close()
sys.exit(process.wait())
