#!/bin/sh
# prof record touches no file that it was not given: what -o may be, who else writes, who ends it.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/app.c" <<'END'
#include "prof.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv) {            /* ZONES STATUS [daemon | early | late | straggler | full | waits |
                                                rank] */
    static volatile unsigned sum;
    const struct rlimit three = {3, 3};
    char how = argc > 3 ? *argv[3] : 0;
    if (how == 'e' && prof_start_env(NULL) != PROF_OK) return 9;
    if (how == 'd' && fork()) return usleep(200000), 0;      /* its child goes on */
    if (how == 's') fork() ? _exit(0) : usleep(50000);
    if (how == 'e' || how == 'l') {                          /* and here it ends at once */
        if (fork()) _exit(0);
        for (int i = 3; i < 1024; i++) close(i);
        usleep(500000);
    }
    if (how == 'f') setrlimit(RLIMIT_NOFILE, &three);
    if (how != 'e' && prof_start_env(NULL) != PROF_OK) return 9;
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 10); i++)
        PROF_BLOCK("inner") {
            sum++;
            if (how == 'd' || how == 'w') usleep(20000);
        }
    if (how == 'r') usleep(1000000);                         /* so that ranks end together */
    return argc > 2 ? atoi(argv[2]) : 0;
}
END
library zlib
# shellcheck disable=SC2086   # lists of words
try record_files_builds $cc -std=gnu11 -I. "$out/app.c" "$library" -o "$out/app" $libs
rm -rf "$out/files"
mkdir "$out/files"
back=$PWD here=$out
cd "$out/files" || exit 1
out=..
unset PROF_MODE PROF_MEMORY PROF_STACKS
app=../app

# shellcheck disable=SC2317              # try calls it
inner() { "$prof" report -f csv "$1" 2>/dev/null | grep -q "^\"inner\",$2,"; }
# shellcheck disable=SC2317
nothing_else() { test "$(ls -A)" = "$(printf '%s\n' "$@" | sort)"; }      # in this folder

# ---- What -o may be ----

says record_dash inner 0 "$prof" record -o - $app
"$prof" record -o - $app >../dash.json 2>/dev/null
try record_dash_is_stdout inner ../dash.json 10
says record_dash_name inner 0 "$prof" record -o-x.json $app
try record_dash_name_has_it inner ./-x.json 10
rm -f -- -x.json
mkdir d
for name in d d/ none/ none/x.json; do
    says "record_refuses_$name" "prof: $name: " 2 "$prof" record -o $name $app
done
says record_refuses_an_ending 'out.csv: record writes .raw, .pftrace, .json and .json.gz' 2 \
    "$prof" record -o out.csv $app
cp "$app" run
says record_refuses_the_program 'run: this is the program' 2 "$prof" record -o run ./run
try record_keeps_the_program cmp "$app" run
rm run
says record_refuses_a_mode 'y.raw: --mode ring writes JSON' 2 "$prof" record --mode ring -o y.raw $app
try record_refused_is_nothing nothing_else d
says record_dev_null inner 0 "$prof" record -o /dev/null $app
try record_dev_null_has_nothing sh -c '! ls /dev/null?* /dev/.prof* 2>/dev/null'
mkdir t
says record_dev_full 'No space left' 2 env TMPDIR=t "$prof" record -o /dev/full $app
try record_dev_full_is_kept inner t/.prof-*/*.raw 10
rm -rf t
echo mine >x.json
for mode in trace ring aggregate stream; do
    "$prof" record --mode $mode -o x.json.gz $app >../stdout 2>../stderr
    try "record_gz_of_$mode" gzip -t x.json.gz
    rm -f x.json.gz
done
try record_gz_is_no_other_file grep -q mine x.json
says record_raw_of_an_arena 'session writes JSON' 2 \
    env PROF_STACKS=zones "$prof" record -o y.raw $app
try record_raw_of_an_arena_is_left inner y.json 10
says record_default_of_an_arena inner 0 env PROF_STACKS=zones "$prof" record $app
try record_default_of_an_arena_is_json inner trace.json 10
rm -f trace.json
echo mine >x.raw
"$prof" record -o x.json $app >../stdout 2>../stderr
try record_overwrites_what_it_was_given inner x.json 10
try record_keeps_what_it_was_not_given grep -q mine x.raw
rm -f x.raw x.json y.json
mkfifo f.json f.raw
timeout 20 cat f.json >got.json &
says record_fifo inner 0 timeout -k 2 20 "$prof" record -o f.json $app
wait
try record_fifo_has_it inner got.json 10
timeout 20 cat f.raw >got.raw &
says record_raw_fifo inner 0 timeout -k 2 20 "$prof" record -o f.raw $app
wait
try record_raw_fifo_stays test -p f.raw
try record_raw_fifo_has_it inner got.raw 10
ln -s d/real.raw l.raw
"$prof" record -o l.raw $app >../stdout 2>../stderr
try record_link_stays test -L l.raw
try record_link_is_followed inner d/real.raw 10
rm -rf d f.json f.raw got.* l.raw
lines=$(printf 'a\nb')
for folder in 'a%pb' "$lines" '-f'; do
    mkdir -- "$folder"
    (cd -- "$folder" && "$prof" record ../$app) >../stdout 2>../stderr
    try record_in_any_folder inner "./$folder/trace.raw" 10
    rm -rf -- "./$folder"
done
if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    mkdir d
    # shellcheck disable=SC2016
    says record_full_disk 'No space left on device' 2 unshare -m sh -c 'mount -t tmpfs -o size=1m none d && cd d &&
        echo old >trace.json && "$0" record -o trace.json "../$1" 300000; status=$?
        [ "$(cat trace.json) $(echo .prof-*)" = "old .prof-*" ] && test -s trace.raw && exit $status' "$prof" $app
    rmdir d
else
    echo 'skip record_full_disk: unshare needs more rights'
fi
says record_file_limit 'File too large' 2 sh -c "ulimit -f 1; trap '' XFSZ; exec '$prof' record $app 90000"

# ---- Who else writes ----

rm -f -- *
for status in 126 127; do
    says "record_status_$status" inner $status "$prof" record $app 10 $status
    try "record_status_${status}_has_it" inner trace.raw 10
done
for zones in 20001 20002 20003; do "$prof" record $app $zones >../stdout 2>../own.$zones & done
wait
for zones in 20001 20002 20003; do
    try record_two_at_once sh -c "grep -q 'inner .* $zones *$' ../own.$zones"
done
# Ranks that are given one FILE: the first to end has it, each other one a name of its own, and says so.
# shellcheck disable=SC2317   # try calls it
all_kept() {     # FILES...: one of them has each of the numbers of zones
    for zones in 201 202 203; do
        found=
        for file in "$@"; do inner "$file" "$zones" && found=$file; done
        [ -n "$found" ] || { echo "nobody has $zones"; return 1; }
    done
}
for one in raw:none raw:there json:there pftrace:none json.gz:there; do
    ending=${one%:*} old=${one#*:}
    rm -f -- *
    [ "$old" = none ] || echo old >"two.$ending"
    for zones in 201 202 203; do
        "$prof" record --no-report -o "two.$ending" $app $zones 0 rank 2>../own.$zones &
    done
    wait
    try "record_ranks_${ending}_$old" all_kept two*."$ending"
    try "record_ranks_${ending}_${old}_three" test "$(echo two*."$ending" | wc -w)" = 3
    # shellcheck disable=SC2016
    try "record_ranks_${ending}_${old}_says" sh -c '[ "$(cat ../own.20[123] |
        grep -c "the trace of process [0-9]*: another one has written two.$0 since")" = 2 ]' "$ending"
done
says record_ranks_of_one_is_as_ever inner 0 "$prof" record -o two.json $app 9
try record_ranks_of_one_replaces inner two.json 9
rm -f -- *
# shellcheck disable=SC2317   # try calls it
of_daemon() {    # ZONES: in a file of the folder that stays, also after the next run
    for _ in $(seq 100); do
        for file in .prof-*/[0-9]*; do inner "$file" "$1" && return; done
        sleep 0.1
    done
    return 1
}
for way in daemon early late; do
    for mode in stream trace; do
        says "record_${way}_$mode" 'are still running: their traces are, or will be, there' 0 \
            "$prof" record --mode $mode $app 50 0 $way
        [ $way = daemon ] || "$prof" record -o next.json true 2>/dev/null
        try "record_${way}_${mode}_goes_on" of_daemon 50
        rm -rf .prof-*
    done
done
rm -f -- *
for _ in 1 2 3; do PROF_TRACE=z.json.gz $app 100 0 waits & done     # all begin before one ends
wait
# shellcheck disable=SC2016   # in a shell of its own
try record_packed_ones_of_many sh -c 'test "$(echo z*.gz | wc -w)" = 3 && gzip -t z*.gz'
rm -f -- *
says record_children_ignored inner 5 "${python:-python3}" -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$prof" record $app 10 5
for _ in 1 2 3 4 5; do                     # record waits 0.2 s: less than a busy machine may take
    "$prof" record $app 50 0 straggler >../stdout 2>../stderr
    inner trace.raw 50 && break
    sleep 1
    rm -rf -- .prof-* trace.*
done
try record_straggler inner trace.raw 50
try record_straggler_leaves_nothing nothing_else trace.raw
TMPDIR=/none says record_no_folder '/none/: no folder for the traces of processes' 2 "$prof" record -o - $app
says record_no_descriptors 'without a file descriptor left (ulimit -n)' 9 "$prof" record $app 10 0 full
if unshare -pf --mount-proc true 2>/dev/null; then
    says record_container inner 0 "$prof" record unshare -pf --mount-proc $app
    try record_container_is_left_nothing nothing_else trace.raw
else
    echo 'skip record_container: unshare needs more rights'
fi

# ---- Who ends it ----

cd "$back" || exit 1
if command -v python3 >/dev/null; then
    try record_storm timeout "${TIMEOUT:-300}" python3 tests/command/storm.py "$prof" "$here/storm" \
        "${STORM:-10}" "$here/app" 50000
else
    echo 'skip record_storm: python3 is not installed'
fi
exit $failed
