#!/bin/sh
# Programs as they are: plugins that are closed, sandboxes, forks without handlers, other rights than
# the caller's, small stacks. Each is a small program of its own, linked with what other tests link;
# without ALL=1 (tests/run.sh --all) a half to a fourth of most, others each time.
# shellcheck disable=SC2086   # commands of several words
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
library gcc
the_command
here=$PWD out=${TESTS_OUT:-build/tests}/test_programs.dir
failed=0
rm -rf "$out"
mkdir -p "$out"
object=$here/$library
[ -n "${TESTS_OUT:-}" ] || cc="$quick_cc -std=c99"
cc="$cc -O0 -D_GNU_SOURCE -I$here"
cd "$out" || exit 1

ok() { echo "ok $1"; }
not_ok() { failed=1; echo "not ok $1: $2"; }

# build NAME [FLAGS...]: NAME.c from standard input
build() {
    name=$1
    shift
    cat >"$name.c"
    $cc "$@" "$name.c" "$object" -o "$name" $libs || { not_ok "$name" 'does not compile'; return 1; }
}

# says NAME EXPECTED COMMAND...: what the command prints, with | for the ends of lines, and its status
says() {
    label=$1 expected=$2
    shift 2
    got=$(timeout 60 "$@" 2>&1; echo "status $?")
    got=$(printf '%s\n' "$got" | tr '\n' '|')
    if [ "$got" = "$expected" ]; then ok "$label"; else not_ok "$label" "$got"; fi
}

if some 4; then
# A plugin with the implementation to itself is unloaded while a thread that marked a zone of it lives.
cat >plugin.c <<'END'
#define PROF_STATIC
#define PROF_IMPLEMENTATION
#include "prof.h"
void work(void);
void work(void) {
    prof_start(NULL);
    PROF_BLOCK("plugin") {}
    prof_stop();
}
END
cat >closed.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t worked, closed;
static void *thread(void *work) {
    void (*f)(void);
    *(void **)&f = work;
    f();
    pthread_barrier_wait(&worked);
    pthread_barrier_wait(&closed);
    return NULL;
}
int main(void) {
    pthread_t t;
    void *plugin = dlopen("./plugin.so", RTLD_NOW);
    if (!plugin) return puts(dlerror()), 2;
    pthread_barrier_init(&worked, NULL, 2);
    pthread_barrier_init(&closed, NULL, 2);
    pthread_create(&t, NULL, thread, dlsym(plugin, "work"));
    pthread_barrier_wait(&worked);
    dlclose(plugin);
    pthread_barrier_wait(&closed);
    pthread_join(t, NULL);
    puts(dlopen("./plugin.so", RTLD_NOW | RTLD_NOLOAD) ? "it stays" : "it is gone");
    return 0;
}
END
if $quick_cc -std=gnu99 -O0 -w -shared -fPIC -I"$here" plugin.c -o plugin.so $libs &&
    $quick_cc -w closed.c -o closed $libs; then
    says 'a closed plugin' 'it is gone|status 0|' ./closed
else not_ok 'a closed plugin' 'does not compile'
fi
fi

if some 4; then
# Two copies of a C++ plugin, in which the marks of inline functions, templates and lambdas have other
# numbers. Each zone has its own name, whose ever the profiler is, and both plugins can be unloaded.
cat >marks.cpp <<'END'
#ifdef PROF_STATIC
#  define PROF_IMPLEMENTATION
#endif
#include "prof.h"
#include <stdio.h>
#ifdef PROF_STATIC
static void start() { prof_start(NULL); }
static void stop(int number) {
    prof_average rows[9];
    size_t n = prof_key_averages(prof_stop(), NULL, rows, 9);
    while (n--) printf("%d %s %u\n", number, rows[n].key, (unsigned)rows[n].count);
}
#else
static void start() {}
static void stop(int) {}
#endif
inline void twice() { PROF_SCOPE("twice"); PROF_INSTANT("at"); }
template <class T> struct Three { T of(T x) { PROF_BLOCK("three") x += 1; return x; } };
extern "C" __attribute__((visibility("default"))) void work(int number);
extern "C" void work(int number) {
    start();
    if (number > 1) { PROF_SCOPE("second"); PROF_BEGIN("more"); PROF_END(); }
    for (int i = 0; i < 3; i++) Three<int>().of(i);
    for (int i = 0; i < 2; i++) twice(), [] { PROF_SCOPE("lambda"); }();
    stop(number);
}
END
cat >marks.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#define PROF_SHARED
#include "prof.h"
int main(void) {
    const char *paths[] = {"./marks1.so", "./marks2.so"};
    prof_average rows[9];
    size_t n;
    prof_start(NULL);
    for (int i = 0; i < 2; i++) {
        void (*work)(int);
        void *plugin = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) return puts(dlerror()), 2;
        *(void **)&work = dlsym(plugin, "work");
        work(i + 1);
    }
    for (int i = 0; i < 2; i++) {
        void *plugin = dlopen(paths[i], RTLD_NOW);
        dlclose(plugin);
        dlclose(plugin);
        if (dlopen(paths[i], RTLD_NOW | RTLD_NOLOAD)) puts("9 stays");
    }
    n = prof_key_averages(prof_stop(), NULL, rows, 9);
    while (n--) printf("0 %s %u\n", rows[n].key, (unsigned)rows[n].count);
    return 0;
}
END
marks() {   # EXPECTED COMPILER FLAG...
    expected=$1
    shift
    label="plugins of $*"
    command -v "$1" >/dev/null || { echo "skip $label: it is not installed"; return; }
    # shellcheck disable=SC2086   # warn is a list
    if "$@" -std=c++11 -O0 $warn -shared -fPIC -I"$here" marks.cpp -o marks1.so; then
        cp marks1.so marks2.so
        says "$label" "$expected|status 0|" sh -c './marks >marks.out && sort marks.out | paste -sd " "'
    else not_ok "$label" 'do not compile'
    fi
}
if $quick_cc -std=gnu99 -O0 -w -rdynamic -I"$here" marks.c "$object" -o marks $libs; then
    own='1 lambda 2 1 three 3 1 twice 2'
    own="$own 2 lambda 2 2 more 1 2 second 1 2 three 3 2 twice 2"
    one='0 lambda 4 0 more 1 0 second 1 0 three 6 0 twice 4'
    marks "$one" g++ -DPROF_SHARED
    marks "$own" clang++ -DPROF_STATIC
    [ -z "${ALL:-}" ] || marks "$own" g++ -DPROF_STATIC
    [ -z "${ALL:-}" ] || marks "$one" clang++ -DPROF_SHARED
else not_ok 'plugins of C++' 'the program does not compile'
fi
fi

if some 2; then
# A thread's first zone under a filter of system calls that allows what prof.h's head says.
build seccomp <<'END' &&
#include "prof.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static void *thread(void *go) {
    static const struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_gettid), ALLOW(SYS_sched_yield),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
    struct sock_fprog program = { sizeof filter / sizeof *filter, (struct sock_filter *)filter };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(77);
    for (int i = 0; i < 1000000; i++) { PROF_BLOCK("zone") {} }
    prof_push("name");
    prof_pop();
    PROF_INSTANT("moment");
    if (write(1, "all marked\n", 11) != 11) _exit(1);
    _exit(0);
    return go;
}
int main(void) {
    pthread_t t;
    if (prof_start(NULL) != PROF_OK) return 1;
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    return 2;
}
END
if ./seccomp >seccomp.out 2>&1; [ $? -eq 77 ]; then echo 'skip a filter of system calls: there are none here'
else says 'a filter of system calls' 'all marked|status 0|' ./seccomp
fi
fi

if some 2; then
# The system gives a second thread the id of one that has ended.
build again <<'END' &&
#include "prof.h"
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static long id;
static void *thread(void *name) {
    id = syscall(SYS_gettid);
    if (*(char *)name == 'n') return NULL;
    prof_set_thread_name(name);
    prof_push(name);
    prof_pop();
    if (prof_thread_id() % (1 << 30) > 1 << 22) puts("an odd id");
    return NULL;
}
static void run(char *name) {
    pthread_t t;
    pthread_create(&t, NULL, thread, name);
    pthread_join(t, NULL);
}
static void ask(long next) {
    FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
    if (f) fprintf(f, "%ld", next - 1);
    if (f) fclose(f);
}
int main(void) {
    long first;
    int tries = 0;
    prof_start(NULL);
    run("early");
    first = id;
    for (id = 0; id != first && tries++ < 100; run("none")) ask(first);
    if (id != first) return 77;
    for (ask(first); run("late"), id != first;) ask(first);
    return prof_save_chrome(prof_stop(), "again.json") != PROF_OK;
}
END
if timeout 60 ./again; [ $? -eq 77 ]; then echo 'skip an id that comes again: this process may not choose the next one'
else
    early=$(sed -n 's/.*"name":"early".*"tid":\([0-9]*\).*/\1/p' again.json)
    late=$(sed -n 's/.*"name":"late".*"tid":\([0-9]*\).*/\1/p' again.json | tail -n 1)
    if [ -n "$early" ] && [ "$early" != "$late" ] && grep -q "thread $late (late)" again.json; then
        ok 'an id that comes again'
    else not_ok 'an id that comes again' "$early, $late"
    fi
fi
fi

# What runs in zones takes little stack.
most=1400 checked=$object   # its checks take some
if [ -n "${ALL:-}" ]; then
    most=1024 object=$PWD/plain.o
    printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' | $cc -O2 -fcallgraph-info=su -x c - -c -o plain.o
    # The longest way through calls, as the compiler adds it up: a bit longer than any that is taken. It does not look
    # behind pointers, and streams (prof_flush) are left out.
    awk -F'"' '
        function most(f,    called, i, d, deepest) {
            if (f in known) return known[f]
            known[f] = 0
            for (i = split(calls[f], called, "\n"); i > 0; i--)
                if (called[i] !~ /(^|:)prof__?flush$/ && (d = most(called[i])) > deepest) deepest = d
            return known[f] = own[f] + deepest
        }
        /^node/ { own[$2] = 8 + (match($4, /[0-9]+ bytes/) ? substr($4, RSTART) : 0) }
        /^edge/ { calls[$2] = calls[$2] "\n" $4 }
        END {
            for (f in own) if (f ~ /(^|:)prof_(_begin_site|_end|_end_top|push|push_with|pop|instant|counter|set_arg|set_arg_int|set_shapes|set_stack|memory_alloc)$/) {
                found++
                if (most(f) > 1360) print f, most(f)
            }
            if (found < 12) print found " found"
        }' ./*plain.ci >sums
    if [ ! -s sums ]; then ok 'small stacks, added up'; else not_ok 'small stacks, added up' "$(tr '\n' ' ' <sums)"; fi
fi
build stack -O1 -Wl,-z,now -DMOST=$most <<'END' &&
#include "prof.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
static jmp_buf back;
static char stack[1 << 16] __attribute__((aligned(64)));
static ucontext_t here, there;
static int what;
static void leave(void) { PROF_BLOCK("left by longjmp") { longjmp(back, 1); } }
static void body(void) {
    static const prof_shape shapes[1];
    static const prof_device cpu;
    if (what == 0) { PROF_BLOCK("zone") {} }
    if (what == 1) { prof_push("a name"); prof_pop(); }
    if (what == 2) { PROF_INSTANT("moment"); PROF_COUNTER("counter", 5); }
    if (what == 3) {
        PROF_BLOCK("arguments") {
            prof_set_arg("key", "a \"value\"\n");
            prof_set_arg_int("number", 5);
            prof_set_shapes(shapes, NULL, 1);
        }
    }
    if (what == 4) { prof_push("deeper"); prof_memory_alloc(stack, 8, cpu); prof_pop(); }
    if (what == 5) for (volatile int i = 0; i < 100; i++) if (setjmp(back) == 0) leave();
}
int main(void) {
    prof_desc d = { 0 };
    d.record_shapes = d.profile_memory = true;
    if (prof_start(&d) != PROF_OK) return 1;
    for (what = 0; what < 6; what++) {
        size_t free = 0;
        memset(stack, 0xa5, sizeof stack);
        getcontext(&there);
        there.uc_stack.ss_sp = stack;
        there.uc_stack.ss_size = sizeof stack;
        there.uc_link = &here;
        makecontext(&there, body, 0);
        swapcontext(&here, &there);
        while ((unsigned char)stack[free] == 0xa5) free++;
        if (sizeof stack - free > MOST) printf("call %d: %zu bytes\n", what, sizeof stack - free);
    }
    return 0;
}
END
says 'small stacks' 'status 0|' ./stack
object=$checked

if some 2; then
# Another's rights: the variables are the caller's, and name what the program could not write or load.
cat >evil.c <<'END'
#include <stdio.h>
__attribute__((constructor)) static void run(void) { puts("the caller's code"); }
END
build rights <<'END' &&
#include "prof.h"
#include <stdio.h>
#include <unistd.h>
int main(void) {
    prof_result r;
    if (geteuid() == getuid()) return 77;
    r = prof_start_env(NULL);
    printf("%d %s\n", r == PROF_ERROR_UNSUPPORTED, prof_strerror(r));
    PROF_BLOCK("zone") {}
    printf("%d\n", (int)prof_stop_env());
    r = prof_emit_itt(true);
    printf("%s\n", prof_strerror(r));
    return 0;
}
END
$quick_cc -shared -fPIC evil.c -o evil.so && chmod 4755 rights
other='setpriv --reuid=65534 --clear-groups'
variables="env PROF_TRACE=$PWD/rights.raw INTEL_LIBITTNOTIFY64=$PWD/evil.so"
why="a program with other rights than its caller's reads no variables"
if [ "$(id -u)" -ne 0 ] || ! $other true 2>/dev/null; then
    echo 'skip the rights of another: only root makes such a program'
elif $variables $other ./rights >rights.out 2>&1; [ $? -eq 77 ]; then
    echo 'skip the rights of another: this file system has no such programs'
else
    says 'the rights of another' "1 PROF_TRACE: $why|0|ITT: $why|status 0|" $variables $other ./rights
    [ -e rights.raw ] && not_ok 'no file of another' 'rights.raw'
fi
fi

# A daemon: the file stays where the program was started, though all files are closed meanwhile.
build daemon <<'END'
#include "prof.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    prof_start_env(NULL);
    for (int i = 0; i < n; i++) { PROF_BLOCK("before") {} }
    for (int i = 3; i < 1024; i++) close(i);
    if (chdir("/") != 0) return 1;
    umask(0);
    for (int i = 0; i < n; i++) { PROF_BLOCK("after") {} }
    return prof_stop_env() != PROF_OK;
}
END
calls() {   # FILE NAME: how many calls of it the report has
    "$here/$tests_prof" report "$1" 2>&1 | awk -v name="$2" '$1 == name { print $NF }'
}
for trace in daemon.json daemon.raw; do
    PROF_TRACE=$trace ./daemon 100000
    said="$? $(calls $trace before) $(calls $trace after) $(stat -c %a $trace)"
    if [ "$said" = '0 100000 100000 644' ]; then ok "a daemon's $trace"; else not_ok "a daemon's $trace" "$said"; fi
done

# A program that starts itself: each writes a file of its own, or the second would write into the first's.
build itself <<'END'
#include "prof.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    pid_t child = argc > 1 ? -1 : fork();
    int status = 0;
    if (child == 0) {
        usleep(100000);
        execl(argv[0], argv[0], "second", (char *)0);
    }
    if (prof_start_env(NULL) != PROF_OK) return 1;
    for (int i = 0; i < 1000; i++) prof_push(argc > 1 ? "second" : "first"), prof_pop();
    if (child > 0) printf("%d\n", (int)child), waitpid(child, &status, 0);
    for (int i = 0; i < 1000; i++) prof_push(argc > 1 ? "second" : "first"), prof_pop();
    return prof_stop_env() != PROF_OK || status != 0;
}
END
for trace in itself.raw itself.json; do
    child=$(PROF_TRACE=$trace ./itself)
    second=itself.$child.${trace#*.}
    got="$(calls $trace first) $(calls "$second" second) $(calls $trace second) $(calls "$second" first)"
    if [ "$got" = '2000 2000  ' ]; then ok "a program in itself: $trace"
    else not_ok "a program in itself: $trace" "$got"
    fi
done

cat itself.raw "$(echo itself.[0-9]*.raw)" >both.raw
if "$here/$tests_prof" validate both.raw 2>&1 | grep -q 'two programs wrote it'; then ok 'two programs in a file'
else not_ok 'two programs in a file' 'nothing is said'
fi

if some 3; then
# Programs that end at the same moment, with one file for all, which may be there from an earlier run.
build together <<'END'
#include "prof.h"
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int ends[2], bad = 0, status;
    char byte;
    if (argc < 3) {
        if (pipe(ends) != 0) return 1;
        for (int i = 0; i < 6; i++)
            if (fork() == 0) dup2(ends[0], 0), close(ends[1]), execl(argv[0], argv[0], "one", "of", (char *)0);
        close(ends[0]);
        usleep(300000);
        close(ends[1]);                  /* now all of them end */
        while (wait(&status) > 0) bad += status != 0;
        return bad;
    }
    if (prof_start_env(NULL) != PROF_OK) return 1;
    for (int i = 0; i < 5000; i++) { PROF_BLOCK("zone") {} }
    if (read(0, &byte, 1) != 0) return 2;
    return prof_stop_env() != PROF_OK;
}
END
for trace in together.raw together.json old.json; do
    [ $trace != old.json ] || echo old >$trace
    PROF_TRACE=$trace ./together
    status=$? files=0
    for file in "${trace%%.*}"*."${trace#*.}"; do [ "$(calls "$file" zone)" != 5000 ] || files=$((files + 1)); done
    if [ "$status $files" = '0 6' ]; then ok "six programs and one $trace"
    else not_ok "six programs and one $trace" "status $status, $files files"
    fi
    rm -f together.*
done
fi

if some 3; then
# In containers programs have the same number, as have those that a process executes, one by one.
build same <<'END'
#include "prof.h"
#include <unistd.h>
int main(int argc, char **argv) {
    if (prof_start_env(NULL) != PROF_OK) return 1;
    for (int i = 0; i < 1000; i++) { PROF_BLOCK("zone") {} }
    if (argc > 1) sleep(1);
    return prof_stop_env() != PROF_OK || (argc == 1 && execl(argv[0], argv[0], "again", (char *)0));
}
END
if unshare -pf --mount-proc true 2>/dev/null; then
    for i in 1 2 3 4; do PROF_TRACE=same.raw unshare -pf --mount-proc ./same $i & done
    wait
    files=0
    for file in same*.raw; do [ "$(calls "$file" zone)" != 1000 ] || files=$((files + 1)); done
    if [ $files -eq 4 ]; then ok 'one number in four containers'
    else not_ok 'one number in four containers' "$(echo same*.raw)"
    fi
else echo 'skip one number in four containers: unshare needs more rights'
fi
rm -f same*.raw same*.json*
for ending in raw json; do
    PROF_TRACE=same.d/x.%p.$ending ./same 2>/dev/null
    mkdir -p same.d
    PROF_TRACE=same.d/x.%p.$ending ./same
    if [ "$(find same.d -name "*-2.$ending" | wc -l)" -eq 1 ]; then ok "sessions of a process: $ending"
    else not_ok "sessions of a process: $ending" "$(ls same.d)"
    fi
    rm -rf same.d
done
fi

if some 2; then
# What is written at the end leaves what was there until then; a program that is killed makes an empty file.
build killed <<'END'
#include "prof.h"
#include <unistd.h>
int main(int argc, char **argv) {
    if (prof_start_env(NULL) != PROF_OK) return 1;
    if (argc > 1) _exit(0);
    return argv[0] == NULL;
}
END
echo old >killed.json
PROF_TRACE=killed.json ./killed at once
got=$(cat killed.json)
rm killed.json
PROF_TRACE=killed.json ./killed at once
if [ "$got $(echo killed*.json) $(wc -c <killed.json)" = 'old killed.json 0' ] && PROF_TRACE=killed.json ./killed &&
    [ -s killed.json ]; then ok 'a program that is killed before it writes'
else not_ok 'a program that is killed before it writes' "$got, $(ls -l killed*.json)"
fi
fi

if some 2; then
# A program that ends a session by prof_stop has the file's name again for the next.
build twice <<'END' &&
#include "prof.h"
#include <stdio.h>
int main(void) {
    int first = prof_start_env(NULL);
    if (first == PROF_OK) prof_stop();
    printf("%i %i\n", first, (int)prof_start_env(NULL));
    return 0;
}
END
for file in twice.json twice.raw; do
    says "a session that prof_stop ended: $file" '0 0|status 0|' env PROF_TRACE=$file ./twice
    if [ "$(echo twice*."${file#*.}")" = $file ] && [ -s $file ]; then ok "the next has its name: $file"
    else not_ok "the next has its name: $file" "$(ls -l twice*)"
    fi
done
for file in twice.c/x.json none/x.json; do
    says "no such folder: $file" '5 5|status 0|' env PROF_TRACE=$file ./twice
done
fi

if some 2; then
# The file loses its name, as it does when the program that had it ends, before it can be locked.
build late <<'END' &&
#include "prof.h"
#include <stdlib.h>
#include <unistd.h>
int flock(int file, int how);
int flock(int file, int how) {
    static int times;
    return (void)file, (void)how, times++ ? 0 : unlink(getenv("PROF_TRACE"));
}
int main(void) { return prof_start_env(NULL) != PROF_OK; }
END
for file in late.json late.raw; do
    : >$file
    PROF_TRACE=$file ./late
    if [ ! -e $file ] && [ -s "$(echo late.[0-9]*"${file#late}")" ]; then ok "a file that was just removed: $file"
    else not_ok "a file that was just removed: $file" "$(ls -l late*)"
    fi
done
fi

# A file is not made where a link leads to nothing.
ln -s elsewhere link.json
PROF_TRACE=link.json ./daemon 10
if [ "$(echo link.*) $(echo elsewher*)" != 'link.json elsewher*' ] && [ ! -e elsewhere ]; then ok 'a link to nothing'
else not_ok 'a link to nothing' "$(echo link.* elsewher*)"
fi

# A daemon outlives prof record: what PROF_STATUS names may be anybody's by then.
echo 'of somebody else' >others
PROF_STATUS=$PWD/others PROF_TRACE=daemon.raw ./daemon 10
if [ "$(cat others)" = 'of somebody else' ]; then ok 'no notes into the file of another'
else not_ok 'no notes into the file of another' "$(cat others)"
fi

if some 3; then
# Where locks do nothing, as on some file systems, another program writes into the file.
build mixed <<'END' && says 'a file that another program writes' 'Device or resource busy|status 0|' env PROF_TRACE=mixed.raw ./mixed
#include "prof.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    prof_start_env(NULL);
    for (int i = 0; i < 300000; i++) { PROF_BLOCK("zone") {} }
    if (truncate("mixed.raw", 100) != 0) return 1;
    for (int i = 0; i < 300000; i++) { PROF_BLOCK("zone") {} }
    if (prof_stop_env() != PROF_ERROR_FILE) return 2;
    puts(strerror(errno));
    return 0;
}
END
fi

# A child of vfork, which shares its parent's stack of zones, begins some and leaves them by exec; each
# counts as dropped.
build shared <<'END' &&
#include "prof.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void spawn(int how) {
    PROF_BEGIN("spawn");
    pid_t child = vfork();
    if (child == 0) {
        PROF_BEGIN("in the child");
        if (how == 1) PROF_END();
        if (how == 2) PROF_BEGIN("deeper");
        PROF_BLOCK("whole") {}
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    PROF_BLOCK("within") {}
    PROF_END();
}
int main(void) {
    const prof_event *e;
    size_t n;
    prof_stats s;
    prof_start(NULL);
    for (int i = 0; i < 6; i++) {
        spawn(i % 3);
        PROF_BLOCK("after") {}
    }
    e = prof_events(prof_stop(), NULL, 0, &n);
    for (size_t i = 0; i < n; i++) printf("%u %s, ", (unsigned)e[i].depth, e[i].name);
    s = prof_get_stats(NULL);
    printf("%u dropped, %u\n", (unsigned)s.dropped, (unsigned)(s.healed + s.unbalanced + s.unfinished));
    return 0;
}
END
once='0 spawn, 1 within, 0 after, '
says 'a child of vfork' "$once$once$once$once$once${once}14 dropped, 0|status 0|" ./shared
exit $failed
