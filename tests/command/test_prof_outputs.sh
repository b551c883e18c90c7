#!/bin/sh
# Outputs of all commands: whole, or the old one stays; in the place of no input that was not read whole; with the owner,
# rights and links of the old one; and no other file is written, left or changed. STORM: how often each command is
# ended by a signal (1, 30 with ALL=1).
# shellcheck disable=SC2012,SC2016,SC2086,SC2094,SC2317,SC3045   # lists of words; functions that try calls; odd outputs
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh
out=$(cd "$out" && pwd) back=$PWD
preloadable
loads=${PROF:-$PWD/$tests_prof}    # none.so

rm -rf "$out/box"
mkdir -p "$out/box"
awk 'BEGIN {printf "{\"traceEvents\":[\n"
    for (i = 0; i < 2000; i++) printf "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2}", i ? ",\n" : "", 10 + 3 * i
    print "]}"}' >"$out/in.json"
{ head -n 200 "$out/in.json"; echo 'BROKEN,'; tail -n +201 "$out/in.json"; } >"$out/bad.json"
trace=$out/in.json
cd "$out/box" || exit 1

# ---- An input that was not read whole, or of which nothing is left ----

keeps_input() {   # INPUT COMMAND...: writes over m.json, of which it read a part
    rm -f m.json l.json h.json
    cp "$1" m.json
    ln -s m.json l.json
    ln m.json h.json
    input=$1
    shift
    ! "$prof" "$@" 2>said && cmp m.json "$input" && cmp h.json "$input" && [ -L l.json ] &&
        grep -q 'this is the input, which would be lost' said
}
for name in m.json l.json h.json; do
    sometimes "keeps_damaged_augment_$name" keeps_input ../bad.json augment m.json $name
    sometimes "keeps_damaged_cut_$name" keeps_input ../bad.json cut --to 100s -o $name m.json
    sometimes "keeps_damaged_export_$name" keeps_input ../bad.json export -o $name m.json
    sometimes "keeps_damaged_merge_$name" keeps_input ../bad.json merge -o $name m.json ../in.json
done
try keeps_all_that_is_cut_off keeps_input ../in.json cut --from 1000s -o m.json m.json
says cut_of_nothing_is_told 'nothing lies in this window' 1 "$prof" cut --from 1000s -o part.json ../in.json
try cut_of_nothing_is_json sh -c '[ "$(tr -d "\n " <part.json)" = "{\"traceEvents\":[]}" ]'
says not_as_a_table 'this is the input' 2 sh -c "cp ../in.json m.json && ln -f m.json m.csv && '$prof' export -o m.csv m.json"
says part_of_damaged 'read up to there' 1 "$prof" export -o part.json ../bad.json
try part_elsewhere grep -q '"ts":10,' part.json

# ---- The place of the old one ----

report() { "$prof" report -o "$1" "$trace"; }
is_new() { grep -q '^ *op ' "$1"; }
links_stay() {
    rm -rf links
    mkdir links
    echo old >links/a
    ln links/a links/b
    ln -s a links/c
    report links/c && is_new links/a && cmp links/a links/b && [ -L links/c ] && [ "$(ls links)" = "$(printf 'a\nb\nc')" ]
}
try links_stay links_stay
shrinks() {   # a longer one with two names
    seq 100000 >long
    ln -f long long2
    report long && is_new long2 && report short && cmp long short
}
try hard_link_shrinks shrinks
long_name() { n=$(printf 'a%.0s' $(seq 251)).txt; report "$n" && report "$n" && is_new "$n" && rm "$n"; }
sometimes name_of_255_bytes long_name
sometimes name_of_256_bytes sh -c "! '$prof' report -o $(printf 'a%.0s' $(seq 256)) '$trace'"
two_at_once() {
    for _ in 1 2 3 ${ALL:+4 5 6 7 8 9 10}; do
        report both & report both & report both
        good=$?
        wait && [ $good = 0 ] && cmp both short || return 1
    done
}
try two_at_once two_at_once
dangling() { ln -sf nowhere/file d; ! report d && mkdir nowhere && report d && is_new nowhere/file && [ -L d ]; }
sometimes link_to_nothing dangling
fifo() {
    mkfifo f
    cat f >got &
    timeout 20 "$prof" report -o f "$trace" && wait $! && [ -p f ] && is_new got
}
try fifo_is_written fifo
no_file() { says "no_file_$1" "$3" 2 "$prof" report -o "$2" "$trace"; }
no_file folder links 'links: cannot be created: Is a directory'
no_file slash none/ 'none/: cannot be created: '
no_file nothing '' ': cannot be created: No such file'
no_file device /dev/full '/dev/full: cannot be written: No space left'
no_database() { mkfifo n.sqlite; cat n.sqlite & ! "$prof" export -o n.sqlite "$trace" && [ -p n.sqlite ]; }
try no_database_in_fifo no_database
gone_stdout() {   # /dev/fd/1 leads to a file that has no name any more
    ("$prof" report -o /dev/fd/1 "$trace" && cat /dev/fd/1 >there) >unnamed <unnamed
    rm -f unnamed
}
: >unnamed
try stdout_by_name gone_stdout
in_sequence() {   # NAME: of stdout, where that is a file that has more in it
    { echo before; report "$1"; echo after; } >sequence
    [ "$(head -n 1 sequence; tail -n 1 sequence)" = "$(printf 'before\nafter')" ] && is_new sequence
}
for name in /dev/stdout /dev/fd/1 sequence; do sometimes "stdout_with_more_${name##*/}" in_sequence $name; done
deleted() { ls >names; { rm deleted; "$prof" report -o /dev/fd/7 "$trace"; } 7>deleted; ls | cmp names -; }
sometimes deleted_file_stays_so deleted
folder_stays() {   # PATH: a link to it, too, and one that is mounted
    rm -rf stays.csv
    mkdir -m 710 stays.csv
    ln -sfn stays.csv link.csv
    [ $# = 2 ] && ! "$2" --bind stays.csv stays.csv && return
    "$prof" export -o "$1" "$trace" && "$prof" export -o plain.csv/ "$trace" && diff -r plain.csv stays.csv &&
        [ "$(stat -c %a stays.csv)" = 710 ] && [ -L link.csv ]
    good=$?
    rm -rf plain.csv
    [ $# = 1 ] || umount stays.csv
    return $good
}
sometimes folder_stays folder_stays stays.csv/
sometimes folder_stays_link folder_stays link.csv/
[ "$(id -u)" != 0 ] || sometimes folder_stays_mounted folder_stays stays.csv/ mount
if command -v python3 >/dev/null; then
    cat >rights.py <<'PYTHON'
"""rights.py PROF TRACE: lists of who may do what stay as they are, and so do the user's notes; no list comes from the folder."""
import os, struct, subprocess, sys
NOBODY = 0xFFFFFFFF
def allow(path, name, mask):     # somebody may do what the mask says, the group nothing
    entries = (1, 6, NOBODY), (2, mask, 65534), (4, 0, NOBODY), (16, mask, NOBODY), (32, 0, NOBODY)
    os.setxattr(path, name, struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
def seen(path):
    return os.stat(path).st_mode, {name: os.getxattr(path, name) for name in os.listxattr(path)}
os.mkdir("rights")
for name in "plain", "list", "notes":
    open("rights/" + name, "w").close()
    os.chmod("rights/" + name, 0o640)
try:
    os.setxattr("rights/notes", "user.note", b"mine")
    allow("rights/list", "system.posix_acl_access", 6)
    allow("rights", "system.posix_acl_default", 4)
except OSError as error:
    print("skip rights:", error)
    sys.exit()
for name in "plain", "list", "notes":
    before = seen("rights/" + name)
    subprocess.run([sys.argv[1], "report", "-o", "rights/" + name, sys.argv[2]], check=True)
    assert os.path.getsize("rights/" + name) and seen("rights/" + name) == before, (name, before, seen("rights/" + name))
PYTHON
    sometimes rights_stay python3 rights.py "$prof" "$trace"
    cat >impatient.py <<'PYTHON'
"""impatient.py PROF TRACE: stdout is a pipe that does not wait for its reader."""
import os, subprocess, sys, time
reader, writer = os.pipe()
os.set_blocking(writer, False)
command = subprocess.Popen([sys.argv[1], "cut", "--to", "1s", sys.argv[2]], stdout=writer)
os.close(writer)
time.sleep(.3)
size = sum(iter(lambda: len(os.read(reader, 65536)), 0))
print(command.wait(), size)
sys.exit(command.wait() != 0 or size < 100000)
PYTHON
    sometimes stdout_does_not_wait python3 impatient.py "$prof" "$trace"
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 .
    cp "$prof" p
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups ./p report -o "$@" in.json; }
    cp ../in.json .
    rm -rf nw && mkdir nw
    no_folder() { echo old >nw/o.txt && chmod 666 nw/o.txt && chmod 555 nw && other nw/o.txt && is_new nw/o.txt; }
    sometimes folder_not_writable no_folder
    try folder_for_no_new_file sh -c '! setpriv --reuid=65534 --clear-groups ./p report -o nw/new in.json'
    owner_stays() {   # FILE: root's and somebody's are written by root, root's by somebody
        mkdir -p own && chmod 1777 own && echo old >own/$1 && chown 65534:65533 own/$1 && chmod 660 own/$1 &&
            report own/$1 && is_new own/$1 && [ "$(stat -c %u:%g:%a own/$1)" = 65534:65533:660 ] &&
            echo old >own/$1 && chown 0:0 own/$1 && chmod 606 own/$1 && other own/$1 && is_new own/$1 &&
            [ "$(stat -c %u:%g:%a own/$1)" = 0:0:606 ] && [ "$(ls -A own)" = "$1" ]
    }
    try owner_stays owner_stays file
    if touch at && mount --bind in.json at 2>said; then
        cp in.json kept
        try bind_mount sh -c "'$prof' report -o at kept && grep -q '^ *op ' at"
        umount at
    else
        echo "skip bind_mount: $(cat said)"
    fi
    mkdir -p little
    if mount -t tmpfs -o size=64k none little 2>said; then
        full_disk() {   # FILE COMMAND...: its old one stays, under one name and two
            for second in '' second; do
                rm -f little/*
                echo old >little/$1
                [ -z "$second" ] || ln little/$1 little/$second
                ! (file=$1; shift; exec "$prof" "$@" -o little/$file "$trace") 2>said || return 1
                grep -q "$1: cannot be written: .*[Nn]o space\|$1: cannot be written: .*full" said &&
                    [ "$(cat little/$1)" = old ] && [ "$(ls -A little)" = "$(printf '%s\n' "$1" $second)" ] || return 1
            done
        }
        for file in o.json o.sqlite o.csv; do sometimes "full_disk_$file" full_disk $file export; done
        full_disk_folder() {
            rm -f little/*
            ! TMPDIR=$PWD "$prof" export -o little/all.csv/ "$trace" && [ -z "$(ls -A little)" ]
        }
        sometimes full_disk_folder full_disk_folder
        only_room_for_one() {   # a file with two names on another file system: nothing is lost either
            rm -f little/*
            echo old >little/o.json
            ln little/o.json little/second
            dd if=/dev/zero of=little/rest bs=1k count=40 2>/dev/null
            ! "$prof" export -o little/o.json "$trace" && [ "$(cat little/second)" = old ]
        }
        sometimes only_room_for_one only_room_for_one
        umount little
    else
        echo "skip full_disk: $(cat said)"
    fi
    rm -rf nw own p
fi

# A file that may not get so large: the old one stays.
for file in o.json o.csv o.sqlite o.json.gz; do
    too_large() {
        echo old >$file
        ! (ulimit -f 2; exec "$prof" export -o $file "$trace") 2>said && [ "$(cat $file)" = old ] &&
            grep -q "$file: cannot be written: " said
    }
    sometimes too_large_$file too_large
done
for file in 'report -o o.txt.gz' 'cut --to 1s -o o.json' 'merge -o o.json' 'export -o o.json' 'export -o all.csv/'; do
    no_numbers() { (ulimit -n 4; exec "$prof" "$@") 2>said; [ $? = 2 ] && grep -q ': Too many open files' said; }
    sometimes "no_more_files_${file##* }" no_numbers $file "$trace"
done

# ---- What is printed ----

if [ -e /dev/full ]; then
    "$prof" decode "$back/tests/fuzz/corpus/stream/dump.raw" >/dev/null 2>said
    for line in --help --version help 'validate --rules' "top --looks 1 $back/tests/fuzz/corpus/stream/dump.raw" \
        "report $trace" "export --help" "cut --to 1s $trace"; do
        full_stdout() { "$prof" $line >/dev/full 2>said; [ $? = 2 ] && grep -q 'stdout: cannot be written: No space' said; }
        sometimes "stdout_full_$(echo "$line" | cut -c 1-12)" full_stdout
    done
    for command in $("$prof" --help | awk '/^Commands/ {on = 1; next} on && NF == 0 {exit} on {print $1}'); do
        line="$command --help"
        sometimes "stdout_full_help_$command" full_stdout
    done
fi

for command in 'cut --to 1s' report gaps merge 'merge ../in.json' validate; do
    closed() { "$prof" $command "$trace" >&- 2>said; [ $? = 2 ] && "$prof" $command "$trace" >&- <&- 2>said; [ $? = 2 ]; }
    sometimes "stdout_closed_$command" closed
done
for command in report gaps validate decode; do
    says "stdin_closed_$command" 'Bad file descriptor' 2 sh -c "'$prof' $command - -o closed.json <&-"
done

# ---- What follows gzip data ----

gzip -c ../in.json >whole.json.gz
{ cat whole.json.gz; head -c 5000 /dev/zero; } >zeros.json.gz
{ cat zeros.json.gz; echo garbage; } >garbage.json.gz
{ cat whole.json.gz; printf x; } >byte.json.gz
for file in garbage byte; do
    says "after_gzip_$file" 'what follows its gzip data is not gzip data' 1 "$prof" report $file.json.gz
    sometimes "after_gzip_${file}_kept" keeps_input $file.json.gz export -o m.json m.json
done
try after_gzip_zeros sh -c "'$prof' report zeros.json.gz 2>said && [ ! -s said ]"
gzip -c "$back/tests/fuzz/corpus/stream/dump.raw" >raw.gz
echo garbage >>raw.gz
says after_gzip_decode 'what follows its gzip data is not gzip data' 1 "$prof" decode raw.gz -o o.json
says after_gzip_raw 'what follows its gzip data is not gzip data' 1 "$prof" report raw.gz

# ---- Where files without a name cannot be had ----

cat >none.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
static int open_but(const char *name, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, mode_t) = (int (*)(const char *, int, mode_t))dlsym(RTLD_NEXT, name);
    if ((flags & O_TMPFILE) == O_TMPFILE && !getenv("ONLY_LINKS") && !getenv("TAKEN")) return errno = EOPNOTSUPP, -1;
    return real(path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list args; va_start(args, flags); mode_t mode = va_arg(args, mode_t); va_end(args);
    return open_but("open", path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list args; va_start(args, flags); mode_t mode = va_arg(args, mode_t); va_end(args);
    return open_but("open64", path, flags, mode);
}
int linkat(int a, const char *b, int c, const char *d, int e) {
    (void)a; (void)b; (void)c; (void)d; (void)e;
    return errno = EXDEV, -1;
}
int flock(int fd, int how) {
    if (getenv("NO_LOCKS")) return errno = ENOSYS, -1;
    if (getenv("LOCKED") && !(how & LOCK_NB)) pause();     /* somebody has it, and keeps it */
    if (getenv("LOCKED")) return errno = EWOULDBLOCK, -1;
    return ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(fd, how);
}
int fchmod(int fd, mode_t mode) {
    if (getenv("NO_RIGHTS")) return errno = EPERM, -1;
    return ((int (*)(int, mode_t))dlsym(RTLD_NEXT, "fchmod"))(fd, mode);
}
int mkdir(const char *path, mode_t mode) {     /* and another command takes it for left */
    static int taken;
    int error = ((int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"))(path, mode);
    if (error == 0 && getenv("TAKEN") && !taken++) rmdir(path);
    return error;
}
int openat(int folder, const char *path, int flags, ...) {     /* and somebody puts a link there before */
    if (getenv("LINKED") && strcmp(path, "sub") == 0 && renameat(folder, path, folder, "was") == 0 &&
        symlinkat(getenv("LINKED"), folder, path) != 0) return -1;
    return ((int (*)(int, const char *, int, mode_t))dlsym(RTLD_NEXT, "openat"))(folder, path, flags, 0);
}
int openat64(int folder, const char *path, int flags, ...) { return openat(folder, path, flags); }
C
if $CC -w -shared -fPIC none.c -o none.so -ldl 2>said; then
    nameless_not() {   # VARIABLE: new, in the place of an old one, of one with two names
        rm -rf plain
        mkdir plain
        echo old >plain/old
        chmod 640 plain/old
        echo old >plain/two
        ln plain/two plain/2
        for file in new old two; do env $1 LD_PRELOAD=$PWD/none.so "$loads" report -o plain/$file "$trace" || return 1; done
        is_new plain/new && cmp plain/new plain/old && cmp plain/new plain/2 && [ "$(stat -c %a plain/old)" = 640 ] &&
            [ "$(ls -A plain)" = "$(printf '2\nnew\nold\ntwo')" ] &&
            env $1 LD_PRELOAD=$PWD/none.so "$loads" export -o plain/x.sqlite "$trace" &&
            env $1 LD_PRELOAD=$PWD/none.so "$loads" export -o plain/x.csv/ "$trace" &&
            env $1 LD_PRELOAD=$PWD/none.so "$loads" export -o plain/x.pftrace "$trace" "$trace" &&
            "$prof" export -o y.sqlite "$trace" && cmp plain/x.sqlite y.sqlite && [ "$(ls -A plain | wc -l)" = 7 ]
    }
    sometimes no_files_without_names nameless_not A=1
    sometimes no_links_to_them nameless_not ONLY_LINKS=1
    sometimes no_locks nameless_not NO_LOCKS=1
    sometimes no_rights nameless_not NO_RIGHTS=1
    taken() { env TAKEN=1 LD_PRELOAD=$PWD/none.so "$loads" export -o taken.csv/ "$trace" && [ -d taken.csv/rank=0 ]; }
    sometimes folder_is_taken taken
    says folder_is_locked 'locked.csv: cannot be written: Resource temporarily unavailable' 2 timeout 20 \
        env LOCKED=1 ONLY_LINKS=1 LD_PRELOAD="$PWD/none.so" "$loads" export -o locked.csv/ "$trace"
    behind_a_link() {
        mkdir -p behind/x/sub precious
        : >precious/file
        mv behind/x "behind/.prof-$(uname -n)-$(stat -c %i behind/x | xargs printf '%x')"
        env LINKED=$PWD/precious LD_PRELOAD=$PWD/none.so "$loads" report -o behind/o.txt "$trace" && [ -e precious/file ]
    }
    sometimes nothing_behind_a_link behind_a_link
else
    echo "skip no_files_without_names: $(tail -n 1 said)"
fi

# ---- No other file ----

if command -v strace >/dev/null && strace -o said true 2>/dev/null; then
    # Of what it opens to write, or makes, FILE alone has a name; and what is renamed to it, for that moment.
    only_writes() {   # FILE COMMAND...
        file=$1
        shift
        strace -f -o calls -e trace=open,openat,creat,link,linkat,rename,renameat,renameat2,mkdir,mkdirat,unlink,truncate,chmod,chown \
            "$prof" "$@" >said 2>&1
        grep -v 'O_RDONLY\|O_TMPFILE\|= -1 \|^[0-9]* *[-+]' calls | grep -v "\"$file\"" |
            grep -v "link.*\"$(sed -n 's/.*rename("\(\.prof-[^"]*\)", "'"$file"'").*/\1/p' calls)\"" >others
        cat others
        [ ! -s others ]
    }
    for command in report analyze validate stacks gaps ranks steps memory flamegraph 'diff ../in.json' 'cut --to 1s' merge; do
        rm -f o
        sometimes "only_writes_${command%% *}" only_writes o $command -o o ../in.json
        sometimes "only_writes_over_${command%% *}" only_writes o $command -o o ../in.json
    done
    on_disk() {
        cp ../in.json over.json
        strace -f -o calls -e trace=fsync,rename "$prof" cut --to 1s -o over.json over.json
        sed 's/^[0-9 ]*//; s/(.*//; /^+/d' calls | tr '\n' ' ' | grep -x 'fsync rename '
    }
    sometimes over_input_is_on_disk on_disk
    late_error() {   # the file system tells at a close that it could not write: any of them
        for n in $(seq 30); do
            echo old >o.txt
            strace -f -o calls -e "inject=close:error=EIO:when=$n+" "$prof" report -o o.txt ../in.json 2>said && return
            [ "$(cat o.txt)" = old ] || return 1
        done
    }
    strace -o calls -e inject=close:error=EIO:when=999 true 2>said && sometimes told_at_close late_error
    for ending in pftrace pb.gz folded sqlite csv parquet json; do
        sometimes only_writes_$ending only_writes o.$ending export -o o.$ending ../in.json ../in.json
    done
else
    echo 'skip only_writes: strace is not installed, or may not be used'
fi

# ---- Ended at any moment ----

own() { name=$(stat -c %i "$1" | xargs printf "${1%/*}/.prof-$2-%x"); mv "$1" "$name"; }   # FILE MACHINE
left_by_kill() {   # what a killed command left is removed, but nothing that only has such a name
    rm -rf killed
    mkdir killed
    echo mine >killed/.prof-123
    for _ in 1 2; do : >killed/x; own killed/x "$(uname -n)"; done
    mkdir -p killed/y/rank=0 && : >killed/y/rank=0/z
    chmod +t killed/y
    own killed/y "$(uname -n)"
    mkdir killed/z && own killed/z "$(uname -n)"
    : >killed/x && own killed/x "of-another-machine"
    report killed/o.txt && rmdir "killed/.prof-$(uname -n)"-* && [ "$(ls -A killed | sed 's/machine.*/machine/')" = "$(printf '.prof-123\n.prof-of-another-machine\no.txt')" ] &&
        [ "$(cat killed/.prof-123)" = mine ]
}
sometimes left_by_kill left_by_kill
living() {   # that of a command that still runs stays
    mkdir -p killed && : >killed/x
    own killed/x "$(uname -n)"
    flock $name "$prof" report -o killed/o.txt "$trace" && [ -e $name ]
}
sometimes that_of_the_living_stays living
cd "$back" || exit 1
if command -v python3 >/dev/null; then
    mkdir -p "$out/storm"
    cp tests/command/traces/kineto_2024.json "$out/storm/in.json"
    cp tests/fuzz/corpus/stream/dump.raw "$out/storm/in.raw"
    echo '{"schema": "1.1.1-chakra.0.0.4", "pid": 9, "nodes": [{"id":1,"name":"a","ctrl_deps":1,"attrs":[]}]}' \
        >"$out/storm/nodes.json"
    [ -n "${ALL:-}" ] && times=30 || times=1
    try storm timeout "${TIMEOUT:-300}" python3 tests/command/storm.py "$prof" "$out/storm" "${STORM:-$times}"
else
    echo 'skip storm: python3 is not installed'
fi
exit $failed
