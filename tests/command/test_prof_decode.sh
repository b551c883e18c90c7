#!/bin/sh
# prof decode: everything that a raw stream tells, from a file, stdin, a serial port; damaged ones.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/made.c" <<'END_OF_C'
#include "tests/command/streamed.h"
int main(int argc, char **argv) {
    FILE *file = streamed_begin(argv[argc - 1], argc > 2 ? PROF_STREAM_CHROME : PROF_STREAM_RAW);
    if (!file) return 1;
    PROF_BEGIN("around");                /* both at the same times */
    PROF_BEGIN("within");
    streamed_clock += 1000;
    PROF_END();
    PROF_END();
    streamed_step = 1500;
    for (int i = 0; i < 1000; i++)
        PROF_BLOCK("outer") { PROF_BLOCK("inner \"quoted\"") {} }
    prof_instant("here");
    prof_counter("level", -5);
    prof_counter_f("load", 0.1);
    PROF_BEGIN("open");
    prof_stop();
    return fclose(file);
}
END_OF_C
decodes() { "$prof" decode -o "$out/$1.json" "$2"; }
holds() {   # FILE: what made.c records, and nothing else
    python3 -c '
import collections, json, sys
trace = json.load(open(sys.argv[1]))
events = [e for e in trace["traceEvents"] if e["ph"] != "M"]
count = collections.Counter((e["ph"], e["name"]) for e in events)
assert count == {("X", "outer"): 1000, ("X", "around"): 1, ("X", "within"): 1, ("X", "inner \"quoted\""): 1000, ("X", "open"): 1,
                 ("i", "here"): 1, ("C", "level"): 1, ("C", "load"): 1}, count
by_name = collections.defaultdict(list)
for e in events:
    by_name[e["name"]].append(e)
assert {e["dur"] for e in by_name["outer"]} == {4.5}, "outer: four readings of the clock"
assert {e["dur"] for e in by_name["inner \"quoted\""]} == {1.5}
assert by_name["level"][0]["args"] == {"value": -5}
assert by_name["load"][0]["args"] == {"value": 0.1}
assert by_name["open"][0]["args"] == {"finished": False}
assert "schemaVersion" in trace and "baseTimeNanoseconds" in trace
' "$1"
}
library zlib
# shellcheck disable=SC2086   # lists of words
try decode_builds $cc -I. "$out/made.c" "$library" -o "$out/made" $libs
try decode_runs "$out/made" "$out/made.prof"
try decode_file decodes file "$out/made.prof"
try decode_holds holds "$out/file.json"
# of two zones with the same times the outer one is told first: whose self time it is
inner_has_it() {   # TRACE
    "$prof" report --format json "$1" | python3 -c '
import json, sys
rows = {r["key"]: r["self_cpu_time_total"] for r in json.load(sys.stdin)}
assert (rows["around"], rows["within"]) == (0, 1), rows'
}
try decode_array_runs "$out/made" array "$out/array.json"
try decode_parents_first inner_has_it "$out/made.prof"
try decode_parents_first_in_array inner_has_it "$out/array.json"
gzip -c "$out/made.prof" >"$out/packed.prof.gz"
"$prof" decode - <"$out/packed.prof.gz" >"$out/stdin.json"
try decode_stdin_gzip cmp "$out/file.json" "$out/stdin.json"
report_sum() { "$prof" report -f csv "$1" | grep -F '"outer",1000,4500.000,3000.000'; }
try decode_report_alike report_sum "$out/file.json"
try decode_report_raw report_sum "$out/made.prof"

# A board behind a serial port: a pseudoterminal; Ctrl-C ends the trace properly.
serial() {
    python3 - "$prof" "$out/made.prof" "$out/serial.json" <<'PYTHON'
import array, fcntl, os, pty, signal, subprocess, sys, termios, time
prof, stream, out = sys.argv[1:]
board, port = pty.openpty()
process = subprocess.Popen([prof, "decode", "--baud", "921600", "-o", out, os.ttyname(port)])
while termios.tcgetattr(port)[3] & termios.ICANON and process.poll() is None:
    time.sleep(0.01)                    # the port's settings, before the first byte
data = open(stream, "rb").read()
for at in range(0, len(data), 512):
    os.write(board, data[at:at + 512])
unread, empty = array.array("i", [1]), 0
while empty < 50 and process.poll() is None:    # half a second long: all of it has been read
    time.sleep(0.01)
    fcntl.ioctl(port, termios.FIONREAD, unread)
    empty = 0 if unread[0] else empty + 1
process.send_signal(signal.SIGINT)
sys.exit(process.wait())
PYTHON
}
if python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    try decode_serial serial
    try decode_serial_alike cmp "$out/file.json" "$out/serial.json"
else
    echo 'skip decode_serial: this machine has no pseudoterminals (/dev/pts)'
fi

size=$(wc -c <"$out/made.prof")
head -c $((size / 2)) "$out/made.prof" >"$out/cut.prof"
tells decode_cut 'the stream ends early, within a block; read up to there' 1 decodes cut "$out/cut.prof"
tail -c $((size / 2)) "$out/made.prof" >"$out/tail.prof"
try decode_tail decodes tail "$out/tail.prof"
try decode_cut_json python3 -c 'import json, sys; [json.load(open(f)) for f in sys.argv[1:]]' \
    "$out/cut.json" "$out/tail.json"
{ head -c 6000 "$out/made.prof"; echo noise; tail -c +6001 "$out/made.prof"; } >"$out/noise.prof"
says decode_noise 'in damaged places, left out: ' 0 decodes noise "$out/noise.prof"
says decode_json 'this is not a raw stream of prof.h' 2 "$prof" decode tests/command/traces/kineto_2026.json
: >"$out/empty.prof"
says decode_empty 'the file is empty' 2 "$prof" decode "$out/empty.prof"
says decode_missing 'No such file' 2 "$prof" decode "$out/none.prof"
says decode_directory 'prof: tests: ' 2 "$prof" decode tests
says decode_help 'usage: prof decode' 0 "$prof" decode --help
exit $failed
