#!/bin/sh
# Runs the tests, JOBS (one more than there are cores) at a time, and counts: N passed, M failed, K skipped.
#   tests/run.sh [--all | --rest] [WORD...]   only the jobs with a WORD in their name, as asan/test_tree
# Without --all: every suite once, with gcc, and again under AddressSanitizer and ThreadSanitizer
# where those find things; of what takes long a sample. With it: everything, in every configuration.
# --rest: of that what .ci/run's other stages leave out. With a WORD all choose among all jobs.
# COSTS=1: at the end the jobs by their seconds of CPU.
#
# A job prints one line per test: "ok NAME", "not ok NAME: why" or "skip NAME: why", and exits
# non-zero when one failed. Its whole output is kept in build/tests/JOB.log.
#
# Every test_*.c of a folder here is a job in each configuration below; those that begin with the line
# /* portable */ also with clang, as C++, on aarch64 and on Windows, those that name PROF_ZLIB also with it. Every
# test_*.sh is a job too. A test is linked with prof.h's implementation (tests/prof.c), which is
# compiled once in a configuration, or, where it says so near its top, to
#   /* object: FILE.c */   what FILE.c makes of it, compiled once as well;
#   /* build: FLAGS */     adds flags.
# A test that looks further inside prof.h compiles it again with -O0, which takes a tenth of the time.
# shellcheck disable=SC2086,SC2317   # lists of flags and files are meant to split; functions have names in variables
set -u
cd "$(dirname "$0")/.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=$tests_out
# Where a sanitizer sees what a plain run does not: odd input, small memory; threads.
asan='formats limits odd_events ring'
tsan='races stream stress threads'
# What takes longest, and so begins first: the library in four kinds and the command, for the others, too.
long='tsan/test_threads asan/test_ring tsan/test_stress test_faults test_prof_fuzz compile test_clean
    test_prof_record test_examples test_prof_round test_prof_input asan/test_limits test_prof_trust
    test_prof_export gcc/test_threads gcc/test_signal_step asan/test_odd_events test_prof_report'

source_of() {   # NAME.c or NAME.sh, wherever in tests/ it is
    find tests -name "$1"
}

unusable() {   # says what the configuration lacks, if it does; one job of it finds that out
    for tool in ${cc%% *} $runner; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed"; return; }
    done
    (
        flock 8
        [ -e "$out/$config/links.log" ] || {
            echo 'int main(void) { return 0; }' >"$dir/probe.c"
            $cc "$dir/probe.c" -o "$dir/probe" 2>/dev/null || echo "${cc%% *} cannot link this kind"
        } >"$out/$config/links.log"
        cat "$out/$config/links.log"
    ) 8>"$out/$config/links.lock"
}

run() {   # PROGRAM: TSan cannot map its shadow where some kernels place the program
    timeout "${TIMEOUT:-300}" $runner "$1" >"$1.out" 2>&1
    status=$?
    if [ "$config" = tsan ] && grep -q 'unexpected memory mapping' "$1.out"; then
        timeout "${TIMEOUT:-300}" setarch -R "$1" >"$1.out" 2>&1
        status=$?
        if grep -q 'unexpected memory mapping' "$1.out" || [ ! -s "$1.out" ]; then
            echo "skip $name: ThreadSanitizer does not run on this kernel"
            return 0
        fi
    fi
    tr -d '\r' <"$1.out"
    return $status
}

unoptimized() {   # what has more to compile than to do
    level=-O0
    [ "$config" != gcc ] || cc="$quick_cc -std=c99"
}

# Builds and runs NAME.c in a configuration; a program newer than all sources is not rebuilt.
program() {   # CONFIG NAME
    config=$1 name=$2 dir=$out/$1/$2.dir
    mkdir -p "$dir"
    configure "$config"
    source=$(source_of "$name.c")
    why=$(unusable)
    [ -n "$why" ] && { echo "skip $name: $why"; return 0; }
    flags=$(sed -n '1,5s|^/\* build: \(.*\) \*/$|\1|p' "$source")
    with=$(sed -n '1,5s|^/\* object: \(.*\) \*/$|\1|p' "$source")
    if [ -n "$with" ]; then
        unoptimized
        [ "$config" = gcc ] && [ -n "$ALL" ] && level=-O1
        library=$out/$config/$(basename "$with" .c)$level.o
        object "$with" "$library" $cc $level || { echo "not ok $name: $with does not compile"; return 1; }
    elif looks_inside "$source"; then
        unoptimized
        [ "$config" != asan ] || cc="$fast_cc ${cc#* }"   # gcc's sanitizers see the library
        library=
    else
        library "$config" || { echo "not ok $name: prof.h does not compile"; return 1; }
    fi
    exe=$out/$config/$name${level%% *}.exe
    [ -z "$library" ] || flags="-DTEST_LIBRARY $flags -x none $library"
    if [ ! -x "$exe" ] || [ -n "$(find prof*.h tools/prof/library.* tools/prof/raw_read.h tests -type f -newer "$exe")" ]; then
        $cc $level $warn $asserts -I. -DTEST_OUT="\"$dir\"" "$source" -o "$exe" $flags $libs ||
            { echo "not ok $name: does not compile"; return 1; }
    fi
    run "$exe"
}

# One job: its log, and what the terminal shows of it.
job() {   # NAME
    log=$out/$1.log begin=$(date +%s)
    mkdir -p "${log%/*}"
    case $1 in
    lint) sh tools/dev/lint.sh rules ;;
    lint_scripts) sh tools/dev/lint.sh scripts ;;
    */*) program "${1%%/*}" "${1#*/}" ;;
    *) sh "$(source_of "$1.sh")" ;;
    esac >"$log" 2>&1
    status=$?
    if [ $status != 0 ] && ! grep -q '^not ok ' "$log"; then
        echo "not ok ${1##*/}: exit status $status" >>"$log"
    elif ! grep -Eq '^(ok|not ok|skip) ' "$log"; then
        echo "not ok ${1##*/}: said nothing" >>"$log"
    fi
    times >"$log.times"
    cpu_seconds_of "$log.times"
    tell_job "$1" "$log"
}

tell_job() {   # NAME LOG
    [ -n "$TERMINAL" ] && printf '\r\033[K'
    grep -q '^not ok ' "$2"
    good=$?
    [ -n "$TERMINAL" ] && [ $good = 1 ] || echo "$1: $(count "$2") ($seconds s of CPU in $(($(date +%s) - begin)) s)"
    [ $good = 1 ] || grep -Ev '^(ok|skip) ' "$2" | tail -n 40 | sed 's/^/    /'
    grep -c '^not ok ' "$2" >>$out/progress
    [ -n "$TERMINAL" ] && awk -v jobs="$JOB_COUNT" '{bad += $1} END {
        printf "%d of %d jobs, %d failures so far", NR, jobs, bad}' $out/progress
    return 0
}

cpu_seconds_of() {   # FILE: sets seconds, those of what a shell has run that wrote its times there
    seconds=$(awk -F '[ms ]+' 'NR == 2 {printf "%.1f", 60 * $1 + $2 + 60 * $3 + $4}' "$1")
}

count() {   # FILE...
    awk '/^ok /{ok++} /^not ok /{bad++} /^skip /{skip++}
        END {printf "%d passed, %d failed, %d skipped\n", ok, bad, skip}' "$@"
}

all_jobs() {
    printf '%s\n' compile symbols lint lint_scripts
    for file in tests/test_*.sh tests/*/test_*.sh; do basename "$file" .sh; done
    for config in tsan asan c++ clang gcc zlib aarch64 windows wasi; do
        for file in tests/*/test_*.c; do
            case $config in
            zlib) grep -q PROF_ZLIB "$file" || continue ;;
            c++ | clang | aarch64 | windows | wasi) head -n 1 "$file" | grep -q '/\* portable \*/' || continue ;;
            esac
            [ $config != wasi ] || ! grep -Eq '<(pthread|setjmp|signal|sys/wait)\.h>' "$file" || continue
            echo "$config/$(basename "$file" .c)"
        done
    done
}

quick_jobs() {   # projects that use an installed prof.h only with --all: CMake, Meson; shellcheck
    all_jobs | grep -v 'consumers\|lint_scripts\|cuda_acceptance' | grep -E "^([^/]*|gcc/.*|zlib/.*$(printf '|asan/test_%s' $asan; printf '|tsan/test_%s' $tsan))\$"
}

# .ci/run runs make test and coverage, too: without those scripts of the former that have no more with
# --all, and without gcc's run of portable programs, which other compilers have here with -O2.
rest_jobs() {
    quick=$(quick_jobs)
    for job in $(all_jobs); do
        file=$(source_of "${job#*/}.[ch]*")
        case $job in
        gcc/*) head -n 1 "$file" | grep -q '/\* portable \*/' && continue ;;
        lint) continue ;;
        test_*) grep -Eq 'ALL|SAMPLE|real_traces' "$(source_of "$job.sh")" ||
            ! echo "$quick" | grep -qx "$job" || continue ;;
        esac
        echo "$job"
    done
}

longest_first() {   # LIST
    printf '%s\n' $long | grep -xF -e "$1"
    echo "$1" | grep -vxF -e "$(printf '%s\n' $long)"
}

costs() {   # JOB...
    for job in command "$@"; do
        [ -s "$out/$job.log.times" ] && cpu_seconds_of "$out/$job.log.times" && echo "$seconds $job"
    done | sort -rn | awk '{n += $1; printf "%6.1f s of CPU %s\n", $1, $2} END {printf "%6.1f s in all\n", n}'
}

[ "${1:-}" = --job ] && { job "$2"; exit 0; }

ALL='' TERMINAL=''
chosen=quick_jobs
case ${1:-} in
--all) chosen=all_jobs ALL=1 ;;
--rest) chosen=rest_jobs ALL=1 ;;
esac
[ -z "$ALL" ] || shift
[ -t 1 ] && TERMINAL=1
mkdir -p $out
exec 9>$out/lock
flock -n 9 || { echo 'waiting for another run of the tests to end'; flock 9; }
find $out -name '*.log' -exec rm -f {} + -o -name '*.log.times' -exec rm -f {} +
: >$out/progress
[ $# = 0 ] || [ $chosen = rest_jobs ] || chosen=all_jobs
list=$($chosen | grep -F -e "$(printf '%s\n' "$@")")
[ -z "$list" ] || list=$(longest_first "$list")
[ -n "$list" ] || { echo "no test has '$*' in its name" >&2; exit 1; }
quick_python
case $list in
*windows/*) wine_begin 9>&- ;;
esac
[ -n "$ALL" ] || export TEST_SAMPLE="${TEST_SAMPLE:-12}"   # of what takes long: test.h
JOB_COUNT=$(echo "$list" | wc -l)
export ALL TERMINAL JOB_COUNT
# The command's tests wait for it (command/prof.sh): both cores build it.
build_command() {
    # shellcheck source=tests/build.sh
    . tests/build.sh   # again: with ALL
    make_command -j"$(nproc 2>/dev/null || echo 2)" $tests_prof >/dev/null 2>&1
    times >$out/command.log.times
}
case $list in
*test_prof_*) [ -n "${PROF:-}" ] || build_command 9>&- & ;;
esac
echo "$list" | xargs -P "${JOBS:-$(($(nproc 2>/dev/null || echo 2) + 1))}" -n 1 sh "$0" --job 9>&-
wait
[ -n "$TERMINAL" ] && printf '\r\033[K'

logs=$(echo "$list" | sed "s|.*|$out/&.log|")
grep -H '^skip ' $logs | sed "s|^$out/\(.*\)\.log:|\1: |"
[ -z "${COSTS:-}" ] || costs $list
total=$(count $logs)
echo "$total"
case $total in *' 0 failed'*) exit 0 ;; *) exit 1 ;; esac
