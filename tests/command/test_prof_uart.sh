#!/bin/sh
# prof decode of what a microcontroller's UART brings: the stream of examples/baremetal, built for
# this machine, with bytes lost, bytes changed, a reset in the midst of a block, noise before it.
# shellcheck disable=SC2317   # functions that try calls
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

board=examples/baremetal
whole=$out/whole.raw
build() {
    "$CC" -std=gnu99 -DPROF_FREESTANDING -DPROF_ARENA_SIZE=16384 -DFAKE_CLOCK -DSTREAM -DSTEPS=60 -I. \
        "$board/control.c" "$board/prof.c" "$board/host.c" -o "$out/program"
}
zones() { grep -o '"ph": *"X"' "$1" | wc -l; }
decode() { "$prof" decode -o "$out/$1.json" "$out/$1.raw"; }
silent() { decode "$1" 2>"$out/warned" && [ ! -s "$out/warned" ]; }
warns() {   # NAME: decodes what is there, and says what is not
    decode "$1" 2>"$out/warned" || [ $? = 1 ] || return 1
    grep -q 'were lost\|damaged\|ends early\|without its last block' "$out/warned"
}
size() { wc -c <"$1" | tr -d ' '; }
all() { [ "$(zones "$out/whole.json")" = 421 ]; }
some() {   # NAME LEAST MOST: zones, in a trace that is JSON
    n=$(zones "$out/$1.json")
    is_json "$out/$1.json" && [ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
}
without() {   # NAME AT BYTES: the stream without so many
    { head -c "$2" "$whole"; tail -c "+$(($2 + $3 + 1))" "$whole"; } >"$out/$1.raw"
}

try uart_builds build || exit 1
try uart_runs sh -c "'$out/program' >'$whole'"
try uart_whole silent whole
try uart_all all
bytes=$(size "$whole")

# The blocks that a gap touches are lost, and the names where one of them tells those: site#N.
for percent in 5 20 35 50 65 80 95; do
    for lost in 1 3 40 300; do
        some 4 || continue
        name=lost_${percent}_$lost
        without "$name" $((bytes * percent / 100)) "$lost"
        try "uart_says_$name" warns "$name"
        try "uart_$name" some "$name" 200 421
    done
done

# A bit that toggles.
{ head -c 1000 "$whole"; printf '\377'; tail -c +1002 "$whole"; } >"$out/changed.raw"
try uart_says_changed warns changed
try uart_changed some changed 300 421

# A reset in mid-chunk: a stream that breaks off, and a whole one behind it.
{ head -c $((bytes / 2 + 7)) "$whole"; cat "$whole"; } >"$out/reset.raw"
try uart_says_reset warns reset
try uart_reset some reset 421 842

# The same from its begin, whole: what comes again is left out, and told.
cat "$whole" "$whole" >"$out/twice.raw"
says_twice() {
    decode twice 2>"$out/warned" && grep -q ' records come twice, left out: ' "$out/warned"
}
try uart_says_twice says_twice
try uart_twice some twice 421 421

# The same of a dump: the board came again while it left.
dump_reset() {
    n=$(size "$out/tasks.dump")
    { head -c $((n / 2 + 5)) "$out/tasks.dump"; cat "$out/tasks.dump"; } >"$out/dumps.raw"
    warns dumps && some dumps 871 1742 && "$prof" report "$out/dumps.raw" 2>/dev/null | grep -q ' part .* 180 *$'
}

# Noise before it, as when the cable is plugged in.
{ printf 'boot v1.2\r\n\000\377PROF\r\n'; cat "$whole"; } >"$out/noise.raw"
try uart_says_noise warns noise
try uart_noise some noise 421 421

# Tasks of a kernel: what the target's own table tells of them, from all that leaves it.
tasks() {   # FORM
    "$out/tasks" "$1" >"$out/tasks.$1"
}
table_of() {   # FILE: less the counts, which stand above
    "$prof" report "$1" 2>/dev/null |
        grep -v 'Zones still open\|Bytes of the raw stream in damaged\|% of the core, '
}
contexts() {   # all had 43.369 us: the tasks, interrupts, and nothing besides
    "$prof" report "$1" 2>/dev/null | grep '% of the core, ' >"$out/tasks.contexts"
    diff - "$out/tasks.contexts" <<'END' || return
Task worker: 59.95 % of the core, 26.000 us, 120 times, at most 0.326 us at once
Task control: 30.66 % of the core, 13.297 us, 61 times, at most 0.328 us at once
Task idle: 6.92 % of the core, 3.000 us, 60 times, at most 0.050 us at once
Interrupt 15: 2.18 % of the core, 0.945 us, 105 times, at most 0.009 us at once
Interrupt 20: 0.29 % of the core, 0.127 us, 45 times, at most 0.006 us at once
END
    "$prof" report --contexts -f csv "$1" 2>/dev/null | diff - "$out/tasks.loads"
}
windows() {   # of 10 us: what all had in them is what they had
    "$prof" report --contexts --every 10us -f csv "$out/tasks.ready" 2>/dev/null |
        awk -F, 'NR > 1 {of[$2] += $4; times[$2] += $5; all[$1] += $3
                         if ($7 + 0 > wait[$2]) wait[$2] = $7 + 0}
                 END {for (c in of) printf "%s %.3f %d %.3f\n", c, of[c], times[c], wait[c]
                      for (w in all) if (all[w] < 99.95 || all[w] > 100.05) print "window", w, all[w]}' |
        sort >"$out/tasks.windows"
    diff - "$out/tasks.windows" <<'END'
Interrupt 15 0.945 105 0.000
Interrupt 20 0.127 45 0.000
Task control 13.297 61 0.000
Task idle 3.000 60 0.000
Task worker 26.000 120 0.030
END
}
on_target() {   # what the target itself tells of them, in the order of its rows
    "$out/tasks" load >"$out/tasks.load" && sort "$out/tasks.contexts" >"$out/tasks.sorted" &&
        sort "$out/tasks.load" | diff "$out/tasks.sorted" - &&
        "$out/tasks" ringload | grep -q '^What is neither task nor interrupt: 46.83 % of the core, 67.146 us$'
}
latency() {   # it was ready 30 ticks before it ran
    "$prof" report "$out/tasks.ready" | grep -q '^Task worker: .* ran at most 0.030 us after it was ready$' &&
        "$prof" report --contexts -f json "$out/tasks.ready" 2>/dev/null |
        grep '"Task worker"' | grep -q '"times": 120, "longest_us": 0.326, "longest_wait_us": 0.030}'
}
arrow() {   # tid ts of both ends of each arrow
    grep '"wake"' "$1" | sed 's/.*"tid": \([0-9]*\), "ts": \([0-9.]*\), "id": \([0-9]*\).*/\3 \1 \2/' |
        awk '{if ($1 == id) print from, $2, $3; else {id = $1; from = $2 " " $3}}'
}
arrows() {   # from who made the worker ready, 30 ticks later, to its run
    "$prof" decode -o "$out/ready.json" "$out/tasks.ready" 2>/dev/null &&
        [ "$(arrow "$out/ready.json" | awk '$1 == 1009 && $3 == 999 && $4 - $2 > 0.0299 && $4 - $2 < 0.0301' |
            wc -l)" = 60 ] &&
        "$prof" decode "$out/tasks.wakes" 2>/dev/null >"$out/wakes.json" && arrow "$out/wakes.json" | diff - /dev/fd/3 3<<'END'
1001 0.000 999 0.002
15 0.006 999 0.010
1004 0.067 999 0.068
END
}
arrows_exported() {   # of Perfetto's file, too: to instants in no zone
    "$prof" export -o "$out/ready.pftrace" "$out/tasks.ready" 2>/dev/null &&
        "$prof" cut --from 0 -o "$out/back.json" "$out/ready.pftrace" 2>/dev/null &&
        [ "$(grep -c '"ph": *"[sf]"' "$out/back.json")" = 120 ]
}
odd() {   # a switch within an interrupt, an interrupt that ends behind its task, tasks of one name
    cat >"$out/odd.json" <<'END'
{"prof":{"one_core":1},"traceEvents":[
{"ph":"M","name":"thread_name","pid":1,"tid":999,"args":{"name":"CPU"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1001,"args":{"name":"thread 1001 (a)"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1002,"args":{"name":"thread 1002 (a#2)"}},
{"ph":"X","name":"a","cat":"cpu_op","pid":1,"tid":999,"ts":0,"dur":10},
{"ph":"X","name":"a#2","cat":"cpu_op","pid":1,"tid":999,"ts":10,"dur":10},
{"ph":"X","name":"tick","cat":"cpu_op","pid":1,"tid":15,"ts":8,"dur":4},
{"ph":"X","name":"late","cat":"cpu_op","pid":1,"tid":16,"ts":18,"dur":4},
{"ph":"i","name":"ready a","s":"t","pid":1,"tid":15,"ts":9},
{"ph":"X","name":"alone","cat":"cpu_op","pid":1,"tid":0,"ts":0,"dur":30}]}
END
    "$prof" report --contexts -f csv "$out/odd.json" | diff - /dev/fd/3 3<<'END'
begin_us,context,percent,time_us,times,longest_us,longest_wait_us
0.000,Task a,26.67,8.000,1,8.000,
0.000,What is neither task nor interrupt,26.67,8.000,,,
0.000,Task a#2,20.00,6.000,1,6.000,
0.000,Interrupt 15,13.33,4.000,1,4.000,
0.000,Interrupt 16,13.33,4.000,1,4.000,
END
}
early() {   # it has its name when it first switches, and waits while another runs
    "$prof" decode "$out/tasks.early" 2>/dev/null |
        grep -q '"thread_name", "pid": 1, "tid": 1005, "args": {"name": "starter"}' &&
        "$prof" report -f json "$out/tasks.early" 2>/dev/null | grep '"start"' |
        grep -q '"cpu_time_total": 0.012,.*"on_cpu": 0.007'
}
refused() {
    ! "$prof" report --every 1ms "$out/tasks.raw" 2>"$out/said" && grep -q 'it needs --contexts' "$out/said" &&
        ! "$prof" report --contexts --every 0 "$out/tasks.raw" 2>"$out/said" &&
        grep -q "'0' is not a length of time" "$out/said" &&
        ! "$prof" report --contexts -f html "$out/tasks.raw" 2>"$out/said" &&
        ! "$prof" report --contexts --every 1ns "$out/far.json" 2>"$out/said" >"$out/far" &&
        grep -q 'that makes 1000000001 windows' "$out/said" && [ ! -s "$out/far" ]
}
as_table() { table_of "$1" >"$out/tasks.report" && diff "$out/tasks.wanted" "$out/tasks.report"; }
from_pipe() { table_of - <"$out/tasks.raw" | diff "$out/tasks.wanted" -; }
decoded() { "$prof" decode -o "$out/tasks.json" "$out/tasks.raw" && as_table "$out/tasks.json"; }
of_ring() {   # FILE: what it forgot first, who ran, counts as on the CPU; how much that is, is told
    told='Zones that the ring no longer holds, their time counts as self time of the zones around them (give prof_desc.memory more): 25388'
    grep -q 'part .* 0\.900us  *60 *$' "$out/tasks.ringtable" && grep -qF "$told" "$out/tasks.ringtable" &&
        "$prof" report "$1" 2>&1 | head -n 1 | grep -qF "$told" &&
        table_of "$1" | sed -n '/^---/,$p' >"$out/tasks.report" &&
        grep -v '^Zones' "$out/tasks.ringtable" | diff - "$out/tasks.report"
}
fields() {   # of "waits", which is on the CPU for 13.443 of 43.369 us
    "$prof" report -f json "$out/tasks.raw" | grep '"waits"' | grep -q '"on_cpu": 13.443' &&
        "$prof" report -f csv "$out/tasks.raw" | cut -d, -f1,3,22 | grep -q '"waits",43.369,13.443' &&
        ! "$prof" report -f json "$out/whole.raw" | grep -q on_cpu
}
twice() {   # of two files the sums
    "$prof" report -f json "$out/tasks.raw" "$out/tasks.trace" | grep '"waits"' |
        grep -q '"on_cpu": 26.886'
}
told() {   # the same where calls tell what they lie in
    sed 's/"prof":{/&"zone_ids":true,/' "$out/tasks.trace" >"$out/told.trace" &&
        ! cmp -s "$out/tasks.trace" "$out/told.trace" && as_table "$out/told.trace"
}
sessions() {   # the second is told, too, behind the first
    "$prof" report -f json "$out/tasks.twice" | grep '"waits", "count": 120, "cpu_time_total": 86.738' |
        grep -q '"on_cpu": 26.886' &&
        "$prof" report "$out/tasks.twice" | grep -q 'Zones still open.*: 6$'
}
no_zones() {   # who ran is a row of the page, but no call: in no table, stacks or flame graph
    "$prof" stacks "$out/tasks.raw" >"$out/tasks.stacks" && ! grep -q 'worker\|idle' "$out/tasks.stacks"
}
top() {
    "$prof" top --looks 1 "$out/tasks.raw" >"$out/tasks.top" && grep -q 'waits' "$out/tasks.top" &&
        grep -q 'Interrupts, whose time counts in what they interrupted, too: 1.199us' "$out/tasks.top" &&
        ! grep -q 'worker\|idle' "$out/tasks.top"
}
merged() {   # with itself: interrupts are no part of what they interrupted, nor are other tasks
    "$prof" merge -o "$out/merged.json" "$out/tasks.raw" "$out/tasks.raw" &&
        "$prof" report -f csv "$out/merged.json" | cut -d, -f1-5 >"$out/merged.csv" &&
        "$prof" report -f csv "$out/tasks.raw" "$out/tasks.raw" | cut -d, -f1-5 | diff - "$out/merged.csv"
}
merged_with_other() {   # of a trace whose threads run at once
    echo '[{"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]' >"$out/other.json" &&
        "$prof" merge -o "$out/mixed.json" "$out/tasks.raw" "$out/other.json"
}
page() {
    "$prof" report -f html -o "$out/tasks.html" "$out/tasks.raw" &&
        dom "$out/tasks.html" >"$out/tasks.dom" && grep -q '<th[^>]*>On CPU</th>' "$out/tasks.dom" &&
        grep -q '<td>43\.37 [^<]*</td><td>13\.44 ' "$out/tasks.dom"
}
try tasks_build "$CC" -std=gnu99 -I. tests/command/tasks.c -o "$out/tasks"
cat >"$out/tasks.loads" <<'END'
begin_us,context,percent,time_us,times,longest_us,longest_wait_us
0.000,Task worker,59.95,26.000,120,0.326,
0.000,Task control,30.66,13.297,61,0.328,
0.000,Task idle,6.92,3.000,60,0.050,
0.000,Interrupt 15,2.18,0.945,105,0.009,
0.000,Interrupt 20,0.29,0.127,45,0.006,
END
cat >"$out/far.json" <<'END'
{"prof":{"one_core":1},"traceEvents":[
{"ph":"M","name":"thread_name","pid":1,"tid":999,"args":{"name":"CPU"}},
{"ph":"X","name":"a","cat":"cpu_op","pid":1,"tid":999,"ts":0,"dur":10},
{"ph":"X","name":"z","cat":"cpu_op","pid":1,"tid":0,"ts":0,"dur":1000000}]}
END
for form in table trace dump raw chrome fails twice ready wakes early; do try "tasks_$form" tasks $form; done
grep -v 'Zones still open' "$out/tasks.table" >"$out/tasks.wanted"
try tasks_dump_reset dump_reset
for form in trace dump raw chrome fails; do sometimes "tasks_report_of_$form" as_table "$out/tasks.$form"; done
try tasks_report_of_pipe from_pipe
for form in trace dump chrome; do sometimes "tasks_contexts_of_$form" contexts "$out/tasks.$form"; done
try tasks_contexts_of_raw contexts "$out/tasks.raw"
try tasks_contexts_on_target on_target
sometimes tasks_contexts_in_windows windows
sometimes tasks_contexts_latency latency
sometimes tasks_contexts_odd odd
sometimes tasks_arrows arrows
sometimes tasks_arrows_exported arrows_exported
sometimes tasks_contexts_refused refused
sometimes tasks_early early
try tasks_report_of_decoded decoded
try tasks_fields fields
try tasks_two_files twice
for form in ringtable ringtrace ringdump; do try "tasks_$form" tasks $form; done
for form in ringtrace ringdump; do sometimes "tasks_report_of_$form" of_ring "$out/tasks.$form"; done
sometimes tasks_told told
sometimes tasks_two_sessions sessions
sometimes tasks_no_zones no_zones
sometimes tasks_top top
sometimes tasks_merged merged
says tasks_merged_with_other 'some of these traces are of one core, some are not' 0 merged_with_other
if [ -n "$browser" ]; then sometimes tasks_page page; else echo 'skip tasks_page: there is no Chromium'; fi
exit $failed
