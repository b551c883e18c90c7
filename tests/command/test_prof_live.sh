#!/bin/sh
# prof decode of what comes live: --connect to a TCP port, --follow of a port, a pipe, a file, a terminal.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

for tool in python3 mkfifo; do
    command -v $tool >/dev/null || { echo "skip live: $tool is not installed"; exit 0; }
done
cat >"$out/made.c" <<'END_OF_C'
#include "tests/command/streamed.h"
int main(int argc, char **argv) {
    FILE *file = streamed_begin(argv[argc - 1], PROF_STREAM_RAW);
    streamed_step = 500;
    if (!file) return 1;
    for (int i = 0; i < 4000; i++) {
        PROF_BLOCK("first_half") {}
        if (i % 100 == 0) prof_flush();
    }
    for (int i = 0; i < 4000; i++) {
        PROF_BLOCK("second_half") {}
        if (i % 100 == 0) prof_flush();
    }
    prof_stop();
    return fclose(file);
}
END_OF_C
stream=$out/made.prof
library zlib
# shellcheck disable=SC2086   # lists of words
try live_builds $cc -I. "$out/made.c" "$library" -o "$out/made" $libs || exit 1
try live_runs "$out/made" "$stream"
try live_file "$prof" decode -o "$out/file.json" "$stream"

served() {   # HOW OPTION...: to HOW.json; what it prints is in HOW.txt
    how=$1
    shift
    python3 tests/command/live_server.py "$how" "$stream" \
        "$prof" decode --connect @ -o "$out/$how.json" "$@" >"$out/$how.txt" 2>&1
    got=$?
    cat "$out/$how.txt"
    return "$got"
}
alike() { cmp "$out/file.json" "$out/$1.json"; }
zones() { grep -o '"ph": *"X"' "$1" | wc -l; }
some() {   # HOW: a whole trace of a part
    is_json "$out/$1.json" && n=$(zones "$out/$1.json") &&
        [ "$n" -gt 1000 ] && [ "$n" -lt 8000 ]
}
plain() { ! grep -q "$(printf '\033')" "$1"; }

try connect served whole
try connect_alike alike whole
says connect_banner 'in damaged places, left out: 64' 0 served banner
try connect_banner_all test "$(zones "$out/banner.json")" = 8000
says connect_half 'the stream ends early, within a block; read up to there' 1 served half
try connect_half_some some half
says connect_reset 'Connection reset by peer; read up to there' 1 served reset
try connect_reset_some some reset
says connect_interrupted 'the stream ends early' 0 served stops
try connect_interrupted_some some stops

free_port() {
    python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
refused() { "$prof" decode --connect "127.0.0.1:$(free_port)"; }
says connect_refused 'Connection refused' 2 refused
tells connect_unknown 'prof: nowhere.invalid:9000: ' 2 "$prof" decode --connect nowhere.invalid:9000
try connect_unknown_one_line test "$(wc -l <"$out/said")" = 1
says connect_no_port 'nine: give HOST:PORT, as localhost:19021' 2 "$prof" decode --connect nine
says connect_no_host 'give HOST:PORT' 2 "$prof" decode --connect :9
for port in '' 0 65536 123456 x 9x -1; do
    says "connect_bad_port_$port" "no port is '$port', 1 to 65535" 2 "$prof" decode --connect "localhost:$port"
done
says connect_six '[::1]:1: ' 2 "$prof" decode --connect '[::1]:1'
says connect_and_stream '--connect is that' 2 "$prof" decode --connect localhost:9 "$stream"
if [ -n "${ALL:-}" ]; then says connect_times_out 'Connection timed out' 2 served deaf; fi

# The table: once a second, in plain lines; it ends with the stream, also where the port stays open.
try follow_port served slow --follow
try follow_port_alike alike slow
grows() {   # LOOKS: zones by the first table, all by the last
    first=$(awk '/Calls\/s/ {n++} n == 1 && /_half/ {sum += $(NF - 2)} END {print sum + 0}' "$1")
    last=$(awk '/Calls\/s/ {sum = 0} /_half/ {sum += $(NF - 2)} END {print sum + 0}' "$1")
    [ "$first" -gt 1000 ] && [ "$first" -lt 8000 ] && [ "$last" = 8000 ]
}
try follow_port_grows grows "$out/slow.txt"
try follow_port_plain plain "$out/slow.txt"
try follow_ends served open --follow
try follow_ends_alike alike open

rm -f "$out/pipe"
mkfifo "$out/pipe"
{ head -c 30000 "$stream"; sleep 1.5; tail -c +30001 "$stream"; } >"$out/pipe" &
try follow_pipe "$prof" decode -f -o "$out/pipe.json" "$out/pipe"
cp "$out/said" "$out/pipe.txt"
wait $!
try follow_pipe_alike alike pipe
try follow_pipe_grows grows "$out/pipe.txt"
head -c 30000 "$stream" >"$out/grows.prof"
{ sleep 1.5; tail -c +30001 "$stream" >>"$out/grows.prof"; } &
try follow_file "$prof" decode -f -o "$out/grows.json" "$out/grows.prof"
wait $!
try follow_file_alike alike grows
gzip -c "$stream" >"$out/packed.prof.gz"
try follow_stdin_gzip sh -c "'$prof' decode -f - <'$out/packed.prof.gz' >'$out/packed.txt'"
try follow_no_trace sh -c "grep -q '^second_half .* 4000 ' '$out/packed.txt' &&
    ! grep -q traceEvents '$out/packed.txt'"
says follow_stdout 'give the trace a file with -o' 2 "$prof" decode -f -o - "$stream"
says follow_json 'this is not a raw stream of prof.h' 2 \
    sh -c "'$prof' decode -f - <tests/command/traces/kineto_2026.json"

# On a terminal it is drawn in place, and q ends it; the trace is complete.
keys() {
    python3 - "$prof" "$stream" "$out/keys.json" <<'PYTHON'
import os, pty, select, sys
prof, stream, out = sys.argv[1:]
data = open(stream, 'rb').read()
there, here = os.pipe()
child, terminal = pty.fork()
if child == 0:
    os.dup2(there, 9)
    os.execv(prof, [prof, 'decode', '-f', '-o', out, '/dev/fd/9'])
os.write(here, data[:40000])             # less than a pipe takes
said = b''
while said.count(b'Calls/s') < 1 or not said.endswith(b'\n'):
    if not select.select([terminal], [], [], 60)[0]:
        sys.exit(f'no table: {said!r}')
    said += os.read(terminal, 65536)
assert b'\x1b[H\x1b[J' in said, said
os.write(terminal, b'q')
while select.select([terminal], [], [], 60)[0]:
    try:
        said += os.read(terminal, 65536)
    except OSError:
        break
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PYTHON
}
if python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    try follow_keys keys
    try follow_keys_some some keys
else
    echo 'skip follow_keys: this machine has no pseudoterminals (/dev/pts)'
fi
says top_of_a_folder 'Is a directory' 2 timeout 20 "$prof" top "$out"
exit $failed
