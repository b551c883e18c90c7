#!/bin/sh
# prof window: a part of what a process does that is running, from outside.
# shellcheck disable=SC2317   # functions that try and says call
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh
[ "$(uname)" = Linux ] || { echo 'skip window: this is for Linux'; exit 0; }

cat >"$out/program.c" <<'END_OF_C'
#include "prof.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef NO_THREADS
#  include <errno.h>
#  include <pthread.h>
int pthread_create(pthread_t *thread, const pthread_attr_t *with, void *(*run)(void *), void *user) {
    (void)thread, (void)with, (void)run, (void)user;
    return EAGAIN;
}
#endif

/* It writes the number of its process to FILE when it is ready, and then works until USR1 comes. */
static volatile sig_atomic_t over;
static void ends(int number) { over = number; }

static void ready(const char *file) {
    FILE *f = fopen(file, "w");
    fprintf(f, "%ld\n", (long)getpid());
    fclose(f);
}

int main(int argc, char **argv) {
    const char *does = argc > 2 ? argv[2] : "";
    prof_result result = prof_start_env(NULL);
    if (result != PROF_OK) fprintf(stderr, "prof_start_env: %s\n", prof_strerror(result));
    signal(SIGUSR1, ends);
    if (strcmp(does, "twice") == 0 && prof_start_env(NULL) != PROF_ERROR_STATE) return 9;
    if (strcmp(does, "forks") == 0 && fork() > 0) pause();
    if (strcmp(does, "closes") == 0)
        for (int i = 3; i < 1024; i++) close(i);
    if (strcmp(does, "own") == 0) prof_start(NULL);
    if (strcmp(does, "stops") == 0) prof_stop_env();
    const prof_device cpu = {PROF_DEVICE_CPU, 0};
    ready(argv[1]);
    while (!over) {
        if (strcmp(does, "frees") == 0) prof_memory_free(&over, cpu);
        if (strcmp(does, "nothing") != 0) PROF_BLOCK("work") PROF_BLOCK("inner") {}
        usleep(500);
        prof_step();
    }
    if (over == SIGUSR1) exit(0);
    return 0;
}
END_OF_C
library zlib
# shellcheck disable=SC2086   # lists of words
try window_builds $cc -D_GNU_SOURCE -I. "$out/program.c" "$library" -o "$out/program" $libs || exit 1
# shellcheck disable=SC2086
try window_builds_without_threads $cc -DNO_THREADS -D_GNU_SOURCE -I. "$out/program.c" "$library" -o "$out/alone" $libs
# shellcheck disable=SC2086
$cc -static -D_GNU_SOURCE -I. "$out/program.c" "$library" -o "$out/static" $libs 2>/dev/null
back=$PWD
cd "$out" || exit 1
out=.
program=./program

begin() {   # WHAT-IT-DOES [VARIABLE=VALUE...]: $pid
    does=$1
    shift
    rm -f pid
    env PROF_MODE=wait "$@" $program pid "$does" 2>begin.txt &
    parent=$!
    for _ in $(seq 1000); do [ -s pid ] && break; sleep 0.02; done
    pid=$(cat pid)
}
finish() {   # its child too, where that is who told its number
    kill -"${1:-USR1}" "$pid" "$parent" 2>/dev/null
    wait "$parent" 2>/dev/null
}
has_calls() { "$prof" report "$1" 2>/dev/null | grep -q "^ *$2 "; }
count_of() { "$prof" report "$1" 2>/dev/null | awk '$1 == "'"$2"'" {print $NF}'; }
nothing_left() { [ -z "$(find . -name '.prof-*')" ]; }
recording() { [ -n "$(find /proc/"$pid"/fd -lname '*.prof-*' 2>/dev/null)" ]; }
until_recording() {
    for _ in $(seq 200); do recording && sleep 0.3 && return; sleep 0.02; done
    return 1
}
until_silent() { for _ in $(seq 100); do recording || return 0; sleep 0.02; done; return 1; }

# ---- Windows, one after the other ----

begin works
says window_for 'work' 0 "$prof" window --for 200ms -o for.raw "$pid"
try window_for_zones has_calls for.raw inner
try window_silent_after until_silent
says window_steps 'ProfilerStep' 0 "$prof" window --steps 7 -o steps.json "$pid"
try window_steps_seven test "$(count_of steps.json 'ProfilerStep*')" = 7
try window_steps_whole test "$(count_of steps.json work)" = 7
try window_pftrace "$prof" window --for 200ms --no-report -o for.pftrace "$pid"
try window_pftrace_zones has_calls for.pftrace work
says window_delay 'work' 0 "$prof" window --delay 100ms --for 200ms -o delay.raw "$pid"
says window_default 'trace.raw' 0 "$prof" window --for 200ms "$pid"
try window_leaves_nothing nothing_left

# ---- Two at once, and askers that are killed ----

"$prof" window --for 2s --no-report -o first.raw "$pid" >first.txt 2>&1 &
first=$!
try window_first_is_open until_recording
says window_second 'has a window open in it; this one is next' 0 \
    "$prof" window --for 200ms --no-report -o second.raw "$pid"
wait $first
try window_first_whole has_calls first.raw work
try window_second_whole has_calls second.raw work
"$prof" window --for 1h -o killed.raw "$pid" >killed.txt 2>&1 &
killed=$!
try window_killed_is_open until_recording
kill -9 $killed
try window_of_killed_closes until_silent
try window_after_killed "$prof" window --for 200ms --no-report -o after.raw "$pid"
try window_after_killed_zones has_calls after.raw work
try window_after_killed_leaves_nothing nothing_left
"$prof" window -o interrupted.raw --no-report "$pid" >interrupted.txt 2>&1 &
interrupted=$!
until_recording
kill -TERM $interrupted
try window_interrupted wait $interrupted
try window_interrupted_zones has_calls interrupted.raw work
try window_process_lives kill -0 "$pid"
kill -STOP "$pid"
{ sleep 3; kill -CONT "$pid"; } &
says window_of_halted 'it is stopped; it answers when it goes on' 0 "$prof" window --for 200ms -o halted.raw "$pid"
try window_of_halted_zones has_calls halted.raw work
finish

# ---- The process ends in the middle ----

begin works
"$prof" window --for 1h -o exits.raw --no-report "$pid" >exits.txt 2>&1 &
asker=$!
until_recording
kill -USR1 "$pid"
try window_program_exits wait $asker
try window_program_exits_zones has_calls exits.raw work
says window_program_exits_told 'it ended, and the window with it: after' 0 cat exits.txt
begin works
"$prof" window -o dies.raw --no-report "$pid" >dies.txt 2>&1 &
asker=$!
until_recording
sleep 0.1
finish KILL
wait $asker
says window_program_dies 'it ended while the window was open' 0 cat dies.txt
try window_program_dies_zones has_calls dies.raw work

# ---- Without a thread of its own it says so ----

program=./alone
begin works
finish
says window_alone 'PROF_MODE=wait: no thread can be made' 0 cat begin.txt
program=./program

# ---- In a container: other numbers, another /tmp, no /proc; asked from outside ----

if [ "$(id -u)" = 0 ] && [ -x static ] && unshare -p -f -m true 2>/dev/null; then
    rm -rf jail
    mkdir -p jail/tmp
    cp static jail/program
    PROF_MODE="wait" unshare -p -f -m --kill-child chroot jail /program /pid works &
    parent=$!
    for _ in $(seq 200); do [ -s jail/pid ] && break; sleep 0.02; done
    pid=$(tr -d ' ' <"/proc/$parent/task/$parent/children")
    try window_jail_number test "$(cat jail/pid)" = 1
    says window_jail 'work' 0 timeout 20 "$prof" window --for 200ms -o jail.raw "$pid"
    says window_jail_again 'work' 0 timeout 20 "$prof" window --for 200ms -o jail.pftrace "$pid"
    says top_jail 'work' 0 timeout 20 "$prof" top --looks 2 "$pid"
    try window_jail_leaves_nothing test -z "$(ls -A jail/tmp)"
    kill -KILL "$parent"
    wait "$parent" 2>/dev/null
else
    echo 'skip window_jail: no rights for unshare, or no static programs'
fi

# ---- Programs that do other things ----

begin nothing
says window_of_nothing 'nothing was recorded in it' 0 "$prof" window --for 200ms -o nothing.raw "$pid"
finish
begin forks
says window_of_child 'work' 0 "$prof" window --for 200ms -o child.raw "$pid"
finish
begin frees PROF_PROFILE_MEMORY=1
says window_of_frees 'not allocated in this trace' 0 "$prof" window --for 200ms -o frees.raw "$pid"
try window_of_frees_zones has_calls frees.raw work
try window_of_frees_memory "$prof" memory frees.raw
finish
begin twice
try window_of_twice "$prof" window --for 200ms -o twice.raw "$pid"
finish
begin own
says window_of_own 'a session is open already' 2 "$prof" window --for 200ms -o own.raw "$pid"
finish
begin closes
says window_of_closer 'it has closed the file by which it is asked' 2 "$prof" window --for 1s "$pid"
finish
begin stops
says window_of_stopped 'it does not wait for windows' 2 "$prof" window --for 1s "$pid"
finish
begin works PROF_STACKS=zones
says window_of_stacks 'not streamed' 0 "$prof" window --for 200ms -o stacks.json "$pid"
try window_of_stacks_zones has_calls stacks.json work
finish
begin works PROF_MAX_DEPTH=0
says window_of_wrong_variable 'PROF_MAX_DEPTH=0: it takes 1 to 255' 0 cat begin.txt
says window_of_wrong_variable_no 'it does not wait for windows' 2 "$prof" window --for 1s "$pid"
finish

# ---- Processes that are none, or others' ----

sleep 30 &
says window_not_ours 'it does not wait for windows' 2 "$prof" window --for 1s $!
kill $!
says window_no_steps '--steps: give 1 to 2147483647' 2 "$prof" window --steps 0 1
says window_gone 'there is no such process' 2 "$prof" window --for 1s 4194301
for wrong in x 0 -1 1x 99999999999; do
    says "window_pid_$wrong" 'is not a process id' 2 "$prof" window --for 1s -- "$wrong"
done
for wrong in 2 x 0s -1s 1d; do
    says "window_for_$wrong" 'give a time, as 2s' 2 "$prof" window "--for=$wrong" 1
done
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod a+rx . 2>/dev/null; then
    begin works
    cp "$prof" ./prof_of_other && chmod a+rx prof_of_other
    says window_of_other_user "another user's" 2 \
        setpriv --reuid 65534 --clear-groups ./prof_of_other window --for 1s -o never.raw "$pid"
    finish
fi

# ---- Processes that do harm, which are another user's where we are root ----

# shellcheck disable=SC2086   # lists of words
harmed() {   # HOW TEXT [COMMAND...]: it exits with 2, says TEXT, in time, and leaves nothing
    how=$1 text=$2
    shift 2
    [ $# != 0 ] || set -- window --for 100ms -o "$how.raw"
    rm -f "$how.pid" "$how.raw"
    $as_other python3 harm/asked.py "$how" "$PWD/victim" >"$how.pid" 2>"$how.err" &
    hostile=$!
    for _ in $(seq 1000); do [ -s "$how.pid" ] && break; sleep 0.02; done
    says "${1}_hostile_$how" "$text" 2 timeout 30 "$prof" "$@" "$(cat "$how.pid")"
    try "${1}_hostile_${how}_got_nothing" test ! -e "$how.raw" -a "$(cat victim)" = ours
    kill -KILL $hostile
    wait $hostile 2>/dev/null
}
if command -v python3 >/dev/null; then
    as_other=''
    if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        as_other='setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH=/usr/bin:/bin'
    else
        echo 'skip window_hostile_user: no rights for setpriv'
    fi
    harm=$(mktemp -d) && ln -sfn "$harm" harm && chmod a+rx "$harm"
    cp "$back/tests/command/hostile_asked.py" harm/asked.py && chmod a+r harm/asked.py
    echo ours >victim
    harmed link 'its trace cannot be read'
    harmed fifo 'its trace cannot be read'
    harmed hole 'its trace cannot be read'
    harmed deep 'nothing could be written to it'
    harmed notes 'it tells more than a session has to tell'
    harmed link 'its stream cannot be read' top --looks 1
    harmed codes 'not all of its trace was written'
    try window_hostile_codes_are_none python3 "$back/tests/command/hostile_trace.py" --codes "$out/said"
    harmed forks 'nothing could be written to it'
    harmed dies 'nothing could be written to it'
    harmed page 'nothing could be written to it'
    # These are waited for, for ten seconds: all at once.
    for how in 'path no answer in 10 s' 'mute no answer in 10 s' 'noise has not closed the window' \
        'on has not closed the window' 'stops it is stopped' 'lock still has a window open'; do
        { failed=0; out=harm.${how%% *}; mkdir -p "$out"; harmed "${how%% *}" "${how#* }"; exit $failed; } &
        harms="${harms:-} $!"
    done
    for id in $harms; do wait "$id" || failed=1; done
    try window_hostile_leaves_nothing nothing_left
    rm -rf "$harm" harm
else
    echo 'skip window_hostile: python3 is not installed'
fi
if [ "$(id -u)" = 0 ] && [ -x static ] && unshare -p -f -m true 2>/dev/null; then
    jailed() {   # NAME TEXT STATUS COMMAND...: of the process that the command starts in the jail
        in_jail=$1 text=$2 status=$3
        shift 3
        : >jail/pid
        chmod a+w jail/pid
        PROF_MODE="wait" "$@" &
        parent=$!
        for _ in $(seq 1000); do [ -s jail/pid ] && break; sleep 0.02; done
        pid=$(tr -d ' ' <"/proc/$parent/task/$parent/children")
        ls -A /etc >etc
        says "window_jail_$in_jail" "$text" "$status" \
            timeout 30 "$prof" window --for 100ms -o "jail_$in_jail.raw" "$pid"
        try "window_jail_${in_jail}_leaves_nothing" test "$(ls -A /etc)" = "$(cat etc)"
        kill -KILL "$parent"
        wait "$parent" 2>/dev/null
    }
    mv jail/tmp jail/other
    ln -s /etc jail/tmp
    jailed link 'no folder that it can write to, in its /tmp' 2 unshare -p -f -m --kill-child chroot jail /program /pid works
    rm jail/tmp
    mv jail/other jail/tmp
    chmod 1777 jail/tmp
    as_other='setpriv --reuid 65534 --regid 65534 --clear-groups'
    if $as_other unshare -Urm true 2>/dev/null && $as_other test -x jail/program; then
        # shellcheck disable=SC2086
        jailed user 'work' 0 $as_other unshare -Urpfm --kill-child chroot jail /program /pid works
        # shellcheck disable=SC2086
        jailed mount 'no folder that it can write to, in its /tmp: Permission denied' 2 \
            $as_other unshare -Urpfm --kill-child sh -c 'mount --bind /etc jail/tmp && exec chroot jail /program /pid works'
    else
        echo 'skip window_jail_user: other users may have no namespaces, or cannot come here'
    fi
fi

# ---- prof top PID ----

begin works
says top_of_process 'work' 0 "$prof" top --looks 2 "$pid"
try top_of_process_closes until_silent
says top_of_process_again 'inner' 0 "$prof" top --looks 2 "$pid"
finish
begin own
says top_of_own 'a session is open already' 2 "$prof" top --looks 1 "$pid"
finish
says top_of_none 'there is no such process' 2 "$prof" top 4194301

# ---- prof record --wait ----

rm -f waits
"$prof" record --wait -- ./program waits works 2>record.txt &
parent=$!
for _ in $(seq 200); do [ -s waits ] && break; sleep 0.02; done
pid=$(cat waits)
says window_of_record 'work' 0 "$prof" window --for 200ms -o record.raw "$pid"
says window_record_says "process $pid waits: prof window" 0 cat record.txt
finish
says window_record_none 'cannot be run' 127 "$prof" record --wait -- ./no_such_program
exit $failed
