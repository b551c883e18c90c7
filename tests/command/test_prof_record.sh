#!/bin/sh
# prof record: runs a program with PROF_TRACE set, and reports on what it wrote.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/program.c" <<'END'
#define PROF_IMPLEMENTATION
#include "prof.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static void zones(const char *name, int count) {
    for (int i = 0; i < count; i++) {
        prof_push(name);
        prof_pop();
    }
}

static void leaves(int number) {             /* a handler of the program's own */
    (void)number;
    PROF_BLOCK("handler") { if (write(STDOUT_FILENO, "handled\n", 8) < 0) _exit(1); }
    _exit(7);
}

static void exits(int number) {
    (void)number;
    exit(6);
}

static void forks(void) {
    pid_t child = fork();
    if (!child) {
        zones("child", 10);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    child = fork();
    if (!child) execlp("true", "true", (char *)NULL);        /* it records nothing */
    waitpid(child, NULL, 0);
}

static void many_forks(void) {
    for (int i = 0; i < 25; i++) {
        pid_t child = fork();
        if (!child) {
            zones("child", 10);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static int step(int n) { return n + 1; }

static void carries(int turns) {             /* memory changes where zones begin and end */
    prof_device host = {0};
    static char block[40000];
    prof_async_begin("never ends");
    for (int i = 0; i < turns; i++) {
        PROF_BLOCK("holder") {
            prof_set_arg_int("number", i);
            prof_memory_alloc(block + i % 40000, 100, host);
            PROF_BLOCK("inner") {}
            prof_memory_alloc(block, 1, host);
            prof_memory_free(block, host);
        }
        PROF_BLOCK("freer") { prof_memory_free(block + i % 40000, host); }
    }
}

#define NO_ZONE __attribute__((no_instrument_function))
static uint32_t chance = 1;
NO_ZONE static uint32_t any(uint32_t count) {
    return (chance = chance * 1664525 + 1013904223) / 65536 % count;
}

NO_ZONE static void random_zones(int depth, uint64_t forward) {      /* forward and backward, with stacks */
    static const char *const names[] = {"a", "b", "c"};
    static const char *const stack[] = {"one.py(1): f", "two.py(2): g", "three.py(3): h"};
    for (uint32_t n = any(5); n > 0; n--) {
        prof_push(names[any(3)]);
        if (any(3) == 0) prof_set(&(prof_extra){ .stack = stack + any(2), .stack_count = 1 + any(2) });
        if (any(4) == 0)
            prof_set(&(prof_extra){ .has = PROF_HAS_SEQUENCE_NR, .sequence_nr = any(20), .scope = any(3) == 0,
                                    .fwd_thread = any(2) ? forward : prof_thread_id() });
        if (depth < 7) random_zones(depth + 1, forward);
        if (depth > 0 || n > 1) prof_pop();                  /* some end with the session */
    }
}

static void *worker(void *main_thread) {
    for (int i = 0; i < 30; i++) random_zones(0, *(uint64_t *)main_thread);
    return NULL;
}

static void backward(void) {
    uint64_t self = prof_thread_id();
    pthread_t other;
    for (int i = 0; i < 30; i++) random_zones(1, self);
    if (pthread_create(&other, NULL, worker, &self) != 0) exit(9);
    pthread_join(other, NULL);
    random_zones(0, self);
}

static void submit_work(int number) {        /* a call, and the kernel that it launched */
    prof_extra x[2] = {{.has = PROF_HAS_ID, .id = number, .activity_type = "cuda_runtime"},
                       {.has = PROF_HAS_LINK, .linked_correlation_id = number,
                        .activity_type = "kernel"}};
    int64_t now = prof_now();
    prof_event e[2] = {{.name = "cudaLaunchKernel", .start_ns = now, .end_ns = now, .extra = x},
                       {.name = "gemm", .start_ns = now + 10, .end_ns = now + 20, .extra = x + 1,
                        .device_type = PROF_DEVICE_CUDA}};
    char args[40];
    snprintf(args, sizeof args, "\"correlation\": %d", number);
    x[0].metadata_json = x[1].metadata_json = args;
    prof_submit(e, 2);
}

static void works(int turns) {               /* now and then work of a device, and memory */
    prof_device host = {0};
    static char blocks[1000];
    for (int i = 0; i < turns; i++) {
        PROF_BLOCK("outer") {
            PROF_BLOCK("launcher") { if (i % 1000 == 0) submit_work(i / 1000 + 1); }
            PROF_BLOCK("holder") { if (i % 1000 == 0) prof_memory_alloc(blocks + i / 1000, 8, host); }
        }
    }
}

static void launches(int count) {            /* each in a zone of its own */
    for (int i = 1; i <= count; i++) PROF_BLOCK("launcher") submit_work(i);
}

static bool windows;                         /* steps 2 to 4, 7 to 9, ... are recorded */
static void read_window(void *user, prof_trace *trace) {
    size_t count = 0;
    (void)user;
    (void)prof_events(trace, NULL, 0, &count);
    fprintf(stderr, "a window of %zu events\n", count);
}

static prof_desc desc_of(const char *way) {
    prof_desc desc = {.schedule = {.wait = windows ? 2 : 0, .active = windows ? 3 : 0}};
    if (is(way, "reads_windows")) desc.on_trace_ready = read_window;
    desc.acc_events = is(way, "adds_windows");
    return desc;
}

static void steps(int count) {
    for (int i = 0; i < count; i++) {
        zones("in step", 1000);
        prof_step();
    }
}

static void limit(int resource, rlim_t to) {
    struct rlimit most;
    getrlimit(resource, &most);
    most.rlim_cur = to;
    setrlimit(resource, &most);
}

static void poor_child(void) {          /* it can open nothing, as one that took other rights */
    limit(RLIMIT_NOFILE, 0);
    pid_t child = fork();
    if (child) waitpid(child, NULL, 0);
    else zones("child", 1000);
    if (!child) raise(SIGKILL);
}

static void tells_rank(const char *way) {
    prof_distributed job = {.backend = "mpi", .rank = 3, .world_size = 4};
    if (is(way, "rank_first")) job.rank = 0;
    prof_add_metadata("run", "experiment 7");
    if (prof_set_distributed(&job) != PROF_OK) exit(8);
    if (is(way, "rank_killed")) raise(SIGKILL);
}

static void end(const char *way) {
    if (strncmp(way, "rank", 4) == 0) tells_rank(way);
    if (is(way, "exit")) exit(3);
    if (is(way, "quick_exit")) quick_exit(3);
    if (is(way, "_exit")) _exit(3);
    if (is(way, "abort")) abort();
    if (is(way, "crash")) raise(SIGSEGV);
    if (is(way, "kill")) raise(SIGKILL);
    if (is(way, "group")) kill(0, SIGKILL);
    if (is(way, "interrupt")) raise(SIGINT);
    if (is(way, "terminate")) raise(SIGTERM);
    if (is(way, "leaves") && signal(SIGTERM, leaves) != SIG_ERR) raise(SIGTERM);
    if (is(way, "exits") && signal(SIGINT, exits) != SIG_ERR) raise(SIGINT);
    if (is(way, "exec")) execlp("echo", "echo", "another program", (char *)NULL);
    if (is(way, "itself")) execl("./program", "program", ".", (char *)NULL);
    if (is(way, "missing")) exit(0);
    if (is(way, "fork")) forks();
    if (is(way, "many_forks")) many_forks();
    if (is(way, "closes")) for (int i = 3; i < 200; i++) close(i);
    if (is(way, "carries")) carries(1000);
    if (is(way, "more")) carries(100000);
    if (is(way, "backward")) backward();
    if (is(way, "works")) works(200000);
    if (is(way, "many_launches")) launches(300000);
    if (windows) steps(13);
    if (is(way, "killed_windows")) raise(SIGKILL);
    if (is(way, "poor_child")) poor_child();
    if (is(way, "no_handles")) limit(RLIMIT_NOFILE, 0);
    if (is(way, "huge")) zones("huge", 9000000);
    if (is(way, "plain")) zones("plain", 1000000);
    if (is(way, "waits") || is(way, "huge")) usleep(1500000);
    if (is(way, "tiny")) for (int i = 0; i < 300000; i = step(i)) {}
    if (is(way, "codes")) zones("\302\2332Jcaf\303\251", 1);
}

int main(int argc, char **argv) {      /* FOLDER STATUS [WAY]: moves there, exits so, ends by WAY */
    int status = argc > 2 ? atoi(argv[2]) : 0;
    const char *way = argc > 3 ? argv[3] : "";
    if (argc > 1 && chdir(argv[1]) != 0) return 9;
    if (is(way, "limit")) limit(RLIMIT_FSIZE, 100000);
    if (is(way, "no_files")) limit(RLIMIT_FSIZE, 0);
    if (is(way, "own")) return prof_start(NULL) != PROF_OK || !prof_stop();
    windows = strstr(way, "windows") != NULL;
    prof_desc desc = desc_of(way);
    prof_result result = prof_start_env(&desc);
    if (result != PROF_OK) fprintf(stderr, "start: %s\n", prof_strerror(result));
    PROF_BLOCK("work") { printf("%d words\n", argc - 1); }
    fflush(stdout);
    zones("before", is(way, "limit") || is(way, "many") ? 100000 : 1000);
    end(way);
    if (is(way, "returns")) return status;
    zones("after", 1000);
    result = prof_stop_env();
    if (result != PROF_OK) fprintf(stderr, "stop: %s\n", prof_strerror(result));
    if (status == 99) raise(SIGKILL);
    return status;
}
END
try record_builds "$CC" -std=gnu11 -I. -DPROF_ZLIB -DPROF_INSTRUMENT_FUNCTIONS \
    -finstrument-functions "$out/program.c" -o "$out/program" \
    -lpthread -lz
keys=$PWD/tests/command/top_keys.py
cd "$out" || exit 1
out=.
rm -f ./*.json ./*.json.gz ./*.raw
unset PROF_MODE PROF_MEMORY
says record_program '2 words' 0 "$prof" record ./program . 0
says record_reports 'work' 0 "$prof" record -n 5 ./program
try record_default_file "$prof" validate trace.raw
says record_default_says_how 'MB; prof export -o trace.pftrace trace.raw' 0 "$prof" record ./program
"$prof" record -o run.pftrace ./program >stdout 2>stderr
# shellcheck disable=SC2016           # in a shell of its own
try record_pftrace sh -c '"$0" report -f csv run.pftrace | grep -q "^\"before\",1000,"' "$prof"
try record_pftrace_is_no_stream test "$(head -c 4 run.pftrace)" != FORP
says record_status 'work' 5 "$prof" record ./program / 5
says record_killed 'work' 137 "$prof" record ./program . 99
"$prof" record -o packed.json.gz ./program / >stdout 2>stderr
try record_packed gzip -t packed.json.gz
try record_stdout_is_the_programs test "$(cat stdout)" = '1 words'
try record_table_on_stderr grep -q 'Self CPU time total' stderr
tells record_no_report '0 words' 0 "$prof" record --no-report -- ./program
try record_no_table test "$(wc -l <said)" = 2        # the program's, and where the trace is
says record_options_are_the_programs '2 words' 0 "$prof" record ./program . --limit
"$prof" decode -o old.json trace.raw
says record_no_trace 'wrote no trace to old.json' 2 "$prof" record -o old.json true
says record_no_trace_status 'wrote no trace' 1 "$prof" record -o none.json false
try record_old_stays "$prof" validate old.json
says record_not_found './none: cannot be run: No such file' 127 "$prof" record ./none
says record_not_in_path 'it is not in PATH; did you mean ./program?' 127 "$prof" record program
says record_not_runnable 'cannot be run: Permission denied' 126 "$prof" record -o none.json ./trace.raw
says record_own_names 'the trace is run.' 0 "$prof" record -o run.%p.json ./program
try record_own_name test -s "$(echo run.*.json)"
says record_no_command 'usage: prof record' 2 "$prof" record

# ---- Whatever way it ends: what it did up to then ----

# shellcheck disable=SC2317              # try calls it
calls() {   # NAME COUNT: that many in trace.raw
    "$prof" report --format csv trace.raw 2>/dev/null |
        awk -F, -v name="\"$1\"" -v count="$2" '
            $1 == name {found = $2 == count} END {exit !found}'
}

# shellcheck disable=SC2317
calls_from() {   # the same, or up to 7000
    "$prof" report --format csv trace.raw 2>/dev/null | awk -F, -v name="\"$1\"" -v least="$2" '
        $1 == name {found = $2 >= least && $2 <= 7000} END {exit !found}'
}
# shellcheck disable=SC2317
begun() { "$prof" report --format csv trace.raw 2>/dev/null | grep -q "^\"$1\""; }

ends() {   # WAY STATUS; in the background of a script SIGINT is ignored, also by the program
    rm -f trace.raw
    tells "record_ends_$1" 'before' "$2" env --default-signal=INT setsid -w \
        "$prof" record ./program . 0 "$1"
    cp said told
    case "$1" in
    exit | quick_exit | exits | missing | closes | fork) try "record_$1_is_whole" calls before 1000 ;;
    *) try "record_$1_has_begun" begun before          # the last of it is lost, and told
       try "record_$1_tells_how_much" grep -q 'in the 2 ms before its own last end may be lost' told
       try "record_$1_is_told" test "$(grep -c '^prof: trace.raw: .*ended before its session' told)" = 1 ;;
    esac
}

choose 3 exit:3 quick_exit:3 _exit:3 abort:134 crash:139 kill:137 interrupt:130 terminate:143 exits:6 leaves:7
for way in $chosen; do ends "${way%:*}" "${way#*:}"; done
rm -f trace.raw
says record_skip_tiny 'this option is gone: use --exclude NAME' 2 "$prof" record --skip-tiny ./program
says record_all_functions step 0 "$prof" record -n all ./program . 0 tiny
try record_functions calls step 300000
says record_exclude zones 0 "$prof" record -n all --exclude step,is ./program . 0 tiny
"$prof" decode -o excluded.json trace.raw
try record_excluded grep -q '"zones"' excluded.json
try record_excluded_none sh -c "! grep -q '\"step\"\|\"is\"' excluded.json"
# main, a zone as all functions are, begins before the session and ends within: no fault of the program's.
tells record_returns before 0 "$prof" record ./program . 0 returns
try record_returns_without_fault sh -c '! grep "Ends of zones" said'
ends exec 0
try record_exec_ran grep -q 'another program' told
ends itself 0                            # both have the same process id
try record_exec_of_itself grep -q '\-2\.raw: process' told
try record_exec_both sh -c "'$prof' report trace.*-2.raw 2>/dev/null | grep -q '^ *after '"
says record_exec_at_the_end 'this is the trace of a program that it ran in its place' 0 \
    "$prof" record --mode trace ./program . 0 itself
try record_exec_at_the_end_is_one test "$(echo .prof-* trace.[0-9]*.json)" = '.prof-* trace.[0-9]*.json'
rm -f trace.[0-9]*.raw
ends missing 0
ends closes 0
try record_has_a_file_of_its_own calls after 1000
try record_functions_have_names calls zones 2

ends fork 0
try record_child_is_listed grep -q 'trace.[0-9]*.raw: process' told
says record_child_records 'child' 1 "$prof" report trace.[0-9]*.raw
try record_one_child test "$(echo trace.[0-9]*.raw | wc -w)" = 1
rm -f trace.[0-9]*.raw
tells record_children_are_counted 'prof: 5 more processes have such files' 0 \
    "$prof" record ./program . 0 many_forks
try record_some_children_are_listed test "$(grep -c '.raw: process' said)" = 20
rm -f trace.[0-9]*.raw
until_true() {   # COMMAND...: for half a minute at most
    for _ in $(seq 300); do "$@" && return; sleep 0.1; done
}
# shellcheck disable=SC2317
grown() { cp .prof-*/[0-9]*.raw trace.raw 2>/dev/null && begun before; }
# shellcheck disable=SC2317
went_on() { cp .prof-*/[0-9]*.raw trace.raw && calls after 1000; }

# kill -9 of prof record: the program goes on, and its stream is there
setsid "$prof" record ./program . 0 waits >stdout 2>stderr &
recorder=$!
until_true grown
kill -9 $recorder
wait $recorder 2>/dev/null
cp .prof-*/[0-9]*.raw trace.raw
try record_killed_stream_loads begun before
until_true went_on
try record_killed_program_went_on calls after 1000
"$prof" record ./program >stdout 2>stderr
try record_next_removes_what_a_killed_one_left test ! -e "$(echo .prof-*)"

# kill -9 of the program and all in its group
rm -f trace.raw
PROF_TRACE=$PWD/group.raw setsid ./program . 0 group >stdout 2>stderr
cp group.raw trace.raw
try record_group_killed_has_begun begun before

# ---- What it chooses ----

rm -f trace.raw
# a schedule: all of its windows, the last one cut by the end
for way in windows adds_windows killed_windows; do
    says "record_$way" 'in step' "$(case $way in killed*) echo 137;; *) echo 0;; esac)" \
        "$prof" record ./program . 0 $way
    try "record_${way}_has_all" calls_from 'in step' "$(case $way in killed*) echo 6001;; *) echo 7000;; esac)"
    try "record_${way}_are_streamed" test -z "$(grep 'not streamed' said)"
done
tells record_reads_windows 'not streamed, since a stream cannot have what on_trace_ready reads' 0 \
    "$prof" record ./program . 0 reads_windows
try record_windows_are_read test "$(grep -c 'a window of 3[0-9]* events' said)" = 2
PROF_MODE=stream PROF_TRACE=windows.json ./program . 0 windows >stdout 2>stderr
says record_windows_are_one_array ' 0 errors' 0 "$prof" validate windows.json
rm -f trace.raw
says record_ring 'before' 3 "$prof" record --mode ring --memory 1M ./program . 0 exit
says record_sums 'before' 3 "$prof" record --mode aggregate ./program . 0 exit
says record_ring_killed 'ended before its session, whose trace is written at the end' 137 \
    "$prof" record --mode ring ./program . 0 kill
says record_arena 'not streamed' 0 env PROF_STACKS=zones "$prof" record ./program
PROF_STACKS=zones "$prof" record --no-report -o arena.json ./program >stdout 2>stderr
try record_arena_has_stacks grep -q '"Call stack"' arena.json
PROF_SHAPES=1 PROF_PROFILE_MEMORY=1 "$prof" record -n 9 -o carries.json ./program . 0 carries >stdout 2>stderr
try record_details_are_streamed test -z "$(grep 'not streamed' stderr)"
# shellcheck disable=SC2016   # $1 is awk's
try record_memory awk '$1 == "holder" && / 97.56 KB  *97.56 KB / {found = 1} END {exit !found}' stderr
try record_carries grep -q '"number": *999' carries.json
try record_tells_open_ranges grep -q '(ranges and launches are left out): 1' stderr
# backward zones have their forward's stack
PROF_MODE=trace PROF_TRACE=backward.json ./program . 0 backward >stdout 2>stderr
PROF_TRACE=backward.raw ./program . 0 backward >stdout 2>stderr
# shellcheck disable=SC2317
by_stack() { "$prof" report --group-by-stack 9 -n all -f json "$1" 2>/dev/null | sed -n \
    's/.*"key": \("[^"]*"\).*"count": \([0-9]*\).*\("stack": [^]}]*\).*/\1 \2 \3/p' | sort; }
try record_backward_has_stacks test "$(by_stack backward.json | grep -c '"a".*one.py')" -ge 2
try record_backward_stacks test "$(by_stack backward.raw)" = "$(by_stack backward.json)"
"$prof" decode -o decoded.json backward.raw 2>/dev/null
try record_backward_stacks_decoded test "$(by_stack decoded.json)" = "$(by_stack backward.json)"
# With --all so many that their number is most of what a command takes.
if [ -n "${ALL:-}" ] && command -v python3 >/dev/null; then
    # shellcheck disable=SC2317
    json_size() { "$prof" decode -o - "$1" 2>/dev/null | wc -c; }
    # At most 30 MB and so many tenths of what the stream is as JSON; what it prints is in paths.
    # shellcheck disable=SC2016,SC2317       # in a shell of its own
    within() {   # TENTHS TEXT COMMAND...
        most=$((30000 + json * $1 / 10240)) text=$2
        shift 2
        took=$(python3 "${keys%/*}/peak.py" sh -c 'exec "$0" "$@" >paths 2>told' "$prof" "$@")
        [ "$took" -lt "$most" ] || { cat told; echo "$took kB, and $most would do"; return 1; }
        [ -z "$text" ] || grep -q -e "$text" paths
    }
    PROF_PROFILE_MEMORY=1 PROF_TRACE=carries.raw ./program . 0 more >stdout 2>stderr
    json=$(json_size carries.raw)
    "$prof" report -f csv -n all carries.raw >direct
    try record_report_in_memory within 3 holder report -f csv -n all - <carries.raw
    # shellcheck disable=SC2317
    memory_of() { awk -F, -v OFS=, 'NR == 1 {for (i = 1; i <= NF; i++) take[i] = $i ~ /key|memory|count/}
        {for (i = 1; i <= NF; i++) if (take[i]) printf "%s,", $i; print ""}' "$1" | sort; }
    try record_memory_over_json test "$(memory_of direct)" = "$(memory_of paths)"
    try record_stacks_in_memory within 3 '^end;carries;holder;inner ' stacks carries.raw
    sort paths >direct
    "$prof" stacks - <carries.raw 2>/dev/null | sort >over_json
    try record_stacks_over_json cmp direct over_json
    try record_flamegraph_in_memory within 3 '<title>holder' flamegraph carries.raw
    try record_gaps_in_memory within 3 'There is no work of a device' gaps carries.raw
    # a profile has the changes of memory, too
    try record_profile_in_memory within 4 '' export -o paths.pb.gz carries.raw
    "$prof" export -o over_json.pb.gz - <carries.raw 2>/dev/null
    # shellcheck disable=SC2317
    same_profiles() { PYTHONPATH=${keys%/*} python3 -c 'import sys, read_pprof as r
one, two = (sorted(r.read(file)[0], key=str) for file in sys.argv[1:])
assert one == two and any(values[3] for _, values, _ in one)' "$@"; }
    try record_profile_over_json same_profiles paths.pb.gz over_json.pb.gz
    # 12 bytes each, which take eight times that as JSON, and so much memory
    PROF_TRACE=plain.raw ./program . 0 plain >stdout 2>stderr
    json=$(json_size plain.raw)
    try record_plain_stacks_in_memory within 8 'plain ' stacks plain.raw
    # those that look for what lies in what: work and memory are few, zones are many
    try record_validate_in_memory within 3 ': 0 errors, ' validate carries.raw
    PROF_PROFILE_MEMORY=1 PROF_TRACE=works.raw ./program . 0 works >stdout 2>stderr
    json=$(json_size works.raw)
    # launches last 0 ns: prof_now() and the zones of a stream have one clock
    try record_gaps_by_op_in_memory within 3 '^submit_work,.*,100.00,199,' gaps --by op -f csv works.raw
    try record_analyze_in_memory within 3 '^0,,gemm,200,' analyze -f csv works.raw
    try record_memory_in_memory within 3 '^cpu,holder,unknown,1600,100.00,200$' \
        memory --by op -f csv works.raw
    # of each launch a zone, a call, a kernel and the two ends of an arrow are kept, by validate as
    # many as six times, to be compared
    PROF_TRACE=launches.raw ./program . 0 many_launches >stdout 2>stderr
    json=$(json_size launches.raw)
    try record_launches_in_memory within 4 '^"launcher",300000,' report -f csv launches.raw
    try record_validate_launches_in_memory within 6 ': 0 errors' validate launches.raw
fi
for ending in raw json; do                 # losses are told without a table too, once
    tells "record_no_report_tells_$ending" 'allocations at an address in use: 2' 0 \
        env PROF_PROFILE_MEMORY=1 "$prof" record --no-report -o "lost.$ending" ./program . 0 carries
    try "record_no_report_tells_${ending}_once" test "$(grep -c 'or had been freed' said)" = 1
done
says record_variable 'PROF_MODE=nonsense: it takes trace, ring, stream' 2 \
    env PROF_MODE=nonsense "$prof" record ./program
says record_variable_status 'PROF_MODE=nonsense' 5 env PROF_MODE=nonsense "$prof" record ./program . 5
says record_variable_memory 'PROF_MEMORY=12Q: it takes' 2 "$prof" record --memory 12Q ./program
says record_variable_depth 'PROF_MAX_DEPTH=0: it takes 1 to 255' 2 \
    "$prof" record --max-depth 0 ./program
says record_variable_without_record 'start: PROF_SHAPES=yes: it takes 0, 1' 0 \
    env PROF_SHAPES=yes PROF_TRACE=none.json ./program
try record_variable_no_file test ! -e none.json
says record_own_session 'it calls prof_start itself' 2 "$prof" record ./program . 0 own
says record_many 'stay a raw stream; prof cut' 0 "$prof" record -o many.json --zones 50000 ./program . 0 many
try record_many_is_raw test -s many.raw
rm -f many.raw
! some 4 || says record_tells_the_size ' MB streamed so far' 0 \
    "$prof" record --no-report ./program . 0 huge
rm -f trace.raw

# ---- What cannot be written ----

says record_no_folder 'none/trace.raw: cannot be created: No such file' 2 \
    "$prof" record -o none/trace.raw ./program . 5
tells record_long_name 'cannot be created: File name too long' 2 "$prof" record -o "$(printf %300s x).raw" ./program
try record_long_name_did_not_run sh -c "! grep -q words said"
cp old.json fixed.json
chmod a-w fixed.json
says record_read_only 'fixed.json: is read-only' 2 "$prof" record -o fixed.json ./program
try record_read_only_stays cmp fixed.json old.json
try record_read_only_did_not_run sh -c "! grep -q words said"
chmod u+w fixed.json
says record_full 'directory: '"$PWD/none/x.raw" 0 env PROF_TRACE=none/x.raw ./program
rm -f trace.raw
tells record_limit 'not all of its trace was written' 2 "$prof" record ./program . 0 limit
cp said told
try record_limit_says_why grep -q 'File too large' told
try record_limit_is_told grep -q 'Dropped, no room' told
try record_limit_has_what_fitted test -s trace.raw
# Without room for anything the program runs on; a note that cannot be told is not waited for.
{ "$prof" record ./program . 5 no_files 2>&1; echo "status $?"; } | cat >told
try record_no_room grep -q 'trace.raw: is empty: nothing could be written to it' told
try record_no_room_status grep -q 'status 5' told
PROF_MODE=trace "$prof" record ./program . 5 no_files 2>&1 | cat >told
try record_no_room_at_the_end grep -q 'stop: .*: /' told
rm -f trace.raw
says record_no_notes 'before' 0 timeout 9 "$prof" record ./program . 0 no_handles
says record_child_without_a_file 'not all of its trace was written: Too many open files' 2 \
    "$prof" record ./program . 0 poor_child
mkfifo pipe.raw
head -c 1000 pipe.raw >/dev/null &
says record_closed_pipe 'stop: Broken pipe: /' 0 env PROF_TRACE=pipe.raw ./program . 0 many
rm -f pipe.raw
wait
mkfifo pipe.json
head -c 10 pipe.json >/dev/null &
says record_closed_pipe_at_the_end 'stop: Broken pipe: /' 5 \
    env PROF_TRACE=pipe.json ./program . 5 many
rm -f pipe.json
wait
ln -sf /dev/full full.raw
says record_full_disk 'stop: No space left on device: /' 5 env PROF_TRACE=full.raw ./program . 5

# ---- Metadata and rank: in what is recorded, as soon as they are told ----

rank='"distributedInfo": {"backend": "mpi", "rank": 3, "world_size": 4, "pg_count": 0}'
says record_rank work 0 "$prof" record -o rank.json ./program . 0 rank
try record_rank_json grep -qF "$rank" rank.json
try record_metadata_json grep -qF '"run": "experiment 7"' rank.json
says record_rank_pftrace work 0 "$prof" record -o rank.pftrace ./program . 0 rank
says record_rank_killed work 137 "$prof" record -o rank.raw ./program . 0 rank_killed
PROF_TRACE=first.raw ./program . 0 rank_first >stdout 2>stderr
# shellcheck disable=SC2016   # the inner shell expands that
for kind in json pftrace raw; do
    try "ranks_of_$kind" sh -c '"$0" ranks "$1" first.raw 2>&1 | grep -q "^3 .* $1"' "$prof" rank.$kind
done

# ---- A look while it runs ----

tells top_of_record 'Calls/s' 0 "$prof" record --top ./program . 0 waits
cp said told
try top_of_record_rows grep -q '^before  *[0-9.]*%' told
PROF_TRACE=look.raw ./program >stdout 2>stderr
tells top_of_a_file 'Calls/s' 0 "$prof" top look.raw
cp said told
try top_rows grep -q '^after  *[0-9.]*%.* 1000 ' told
"$prof" top --sort name look.raw >told 2>&1
try top_sorts test "$(awk '/%/ && !/Self %/ {print $1}' told | tr '\n' ' ')" = 'after before end is work zones '
head -c -100 look.raw >grows.raw       # without its last counts
says top_looks "grows.raw: 0.0 MB, 6 names" 0 "$prof" top --looks 1 grows.raw
PROF_TRACE=codes.raw ./program . 0 codes >stdout 2>stderr
"$prof" top codes.raw >told 2>&1
try top_no_codes grep -q "^ 2Jcaf$(printf '\303\251') " told
if command -v python3 >/dev/null; then
    try top_keys python3 "$keys" "$prof" grows.raw
else
    echo 'skip top_keys: python3 is not installed'
fi
says top_no_stream 'not a raw stream' 2 "$prof" top old.json
says top_no_file 'No such file' 2 "$prof" top none.raw
says top_no_column 'it takes self|total|calls|rate|name' 2 "$prof" top --sort x look.raw
says top_usage 'usage: prof top' 2 "$prof" top
exit $failed
