#!/bin/sh
# Programs as they are: plugins that are closed, sandboxes, forks without handlers, other rights than
# the caller's, small stacks. Each is a small program of its own, linked with what other tests link.
# shellcheck disable=SC2086   # commands of several words
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
library gcc
here=$PWD out=${TESTS_OUT:-build/tests}/test_programs.dir
failed=0
rm -rf "$out"
mkdir -p "$out"
object=$here/$library
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
if $quick_cc -std=gnu99 -O1 -w -shared -fPIC -I"$here" plugin.c -o plugin.so $libs &&
    $quick_cc -w closed.c -o closed $libs; then
    says 'a closed plugin' 'it is gone|status 0|' ./closed
else not_ok 'a closed plugin' 'does not compile'
fi

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
exit $failed
