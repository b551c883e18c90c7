#!/bin/sh
# Runs the tests, JOBS (one more than there are cores) at a time, and counts: N passed, M failed, K skipped.
#   tests/run.sh [--all | --rest] [WORD...]   only the jobs with a WORD in their name, as asan/test_tree
# Without --all: every suite once, with gcc, and again under AddressSanitizer and ThreadSanitizer
# where those find things; of what takes long a sample. With it: everything, in every configuration.
# --rest: of that what .ci/run's other stages leave out; of many cases a fourth (SHARE), others each time. With a WORD all choose among all jobs.
# COSTS=1: at the end the jobs by their seconds of CPU, and how many times what gcc -O2 takes for the
# prof.h of 29a0f05 that is, a measure that other load changes little; it must be at most COSTS_MOST, if that is set.
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
[ "${1:-}" = --job ] || cd "$(dirname "$0")/.." || exit 1

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

source_of() {   # NAME.c or NAME.sh, wherever in tests/ it is; a pattern
    set -- tests/$1 tests/*/$1
    for found; do [ ! -e "$found" ] || echo "$found"; done
}

settings_of() {   # FILE: sets flags and with, as it says near its top
    flags='' with='' row=''
    while [ ${#row} -lt 5 ] && read -r line; do
        row=$row+
        case $line in
        '/* build: '*) flags=${line#*: } flags=${flags% *} ;;
        '/* object: '*) with=${line#*: } with=${with% *} ;;
        esac
    done <"$1"
}

unusable() {   # says what the configuration lacks, if it does; one job of it finds that out
    for tool in ${cc%% *} $runner; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed"; return; }
    done
    [ -e "$out/$config/links.log" ] || (
        flock 8
        [ -e "$out/$config/links.log" ] || {
            echo 'int main(void) { return 0; }' >"$dir/probe.c"
            $cc "$dir/probe.c" -o "$dir/probe" 2>/dev/null || echo "${cc%% *} cannot link this kind"
        } >"$dir/links"
        [ -e "$out/$config/links.log" ] || mv "$dir/links" "$out/$config/links.log"
    ) 8>"$out/$config/links.lock"
    read -r line <"$out/$config/links.log" && echo "$line"
}

run() {   # PROGRAM: TSan cannot map its shadow where some kernels place the program
    case $config in
    tsan | windows) ;;
    *) timeout "${TIMEOUT:-300}" $runner "$1" 2>&1; return ;;
    esac
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

# Builds and runs NAME.c in a configuration; a program newer than all sources is not rebuilt.
program() {   # CONFIG NAME
    config=$1 name=$2 dir=$out/$1/$2.dir
    mkdir -p "$dir"
    configure "$config"
    source=$(source_of "$name.c")
    why=$(unusable)
    [ -n "$why" ] && { echo "skip $name: $why"; return 0; }
    settings_of "$source"
    if [ -n "$with" ]; then              # it has more to compile than to do
        own_level=-O0
        [ "$config" = gcc ] && [ -n "$ALL" ] && own_level=-O1
        library=$out/$config/$(basename "$with" .c)$own_level.o
        object "$with" "$library" $own $own_level || { echo "not ok $name: $with does not compile"; return 1; }
    elif looks_inside "$source"; then
        own_level=-O0
        [ "$config" != asan ] || cc="$fast_cc ${cc#* }" own="$fast_cc ${own#* }"   # gcc's sanitizers see the library
        library=
    else
        library "$config" || { echo "not ok $name: prof.h does not compile"; return 1; }
    fi
    exe=$out/$config/$name${own_level%% *}.exe others=
    [ -z "$library" ] || own="$own -DTEST_LIBRARY"
    for flag in $flags; do
        case $flag in *.c) others="$others $flag" ;; *) own="$own $flag" ;; esac
    done
    if [ ! -x "$exe" ] || [ -n "$(find prof*.h tools/prof/library.* tools/prof/raw_read.h tests -type f -newer "$exe")" ]; then
        { $own $own_level $warn $asserts -I. -DTEST_OUT="\"$dir\"" -c "$source" -o "$dir/own.o" &&
            $cc $own_level $warn $asserts -I. $others -x none "$dir/own.o" $library -o "$exe" $libs; } ||
            { echo "not ok $name: does not compile"; return 1; }
    fi
    run "$exe"
}

# One job: its log, and what the terminal shows of it.
job() {   # NAME
    log=$out/$1.log
    read -r begin rest </proc/uptime
    [ -d "${log%/*}" ] || mkdir -p "${log%/*}"
    case $1 in
    unit?) unit "$1" ;;
    lint) sh tools/dev/lint.sh rules ;;
    lint_scripts) sh tools/dev/lint.sh scripts ;;
    */*) program "${1%%/*}" "${1#*/}" ;;
    *) sh "$(source_of "$1.sh")" ;;
    esac >"$log" 2>&1
    status=$? why=
    said=$(count "$log")
    case $said in
    *' 0 failed'*) [ $status = 0 ] || why="exit status $status" ;;
    esac
    [ "$said" != '0 passed, 0 failed, 0 skipped' ] || why=${why:-said nothing}
    [ -z "$why" ] || { echo "not ok ${1##*/}: $why" >>"$log"; said=$(count "$log"); }
    times >"$log.times"
    cpu_seconds_of "$log.times"
    tell_job "$1" "$log"
}

tell_job() {   # NAME LOG
    [ -n "$TERMINAL" ] && printf '\r\033[K'
    read -r end rest </proc/uptime
    bad=${said#*, } bad=${bad%% *}
    [ -n "$TERMINAL" ] && [ "$bad" = 0 ] || echo "$1: $said ($seconds s of CPU in $((${end%.*} - ${begin%.*})) s)"
    [ "$bad" = 0 ] || grep -Ev '^(ok|skip) ' "$2" | tail -n 40 | sed 's/^/    /'
    echo "$bad" >>$out/progress
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

# Of scripts a fifth, others each time, and so of the longest. Only with --all: projects that use an
# installed prof.h (CMake, Meson), and shellcheck.
quick_jobs() {
    longest_first "$(all_jobs | grep -v 'consumers\|lint_scripts\|cuda_acceptance' |
        grep -E "^([^/]*|gcc/.*|zlib/.*$(printf '|asan/test_%s' $asan; printf '|tsan/test_%s' $tsan))\$")" |
        while read -r job; do
            case $job in lint | */*) true ;; *) some 5 ;; esac && echo "$job"
        done
}

# .ci/run runs make test, too. Of programs a half, others each time, and without gcc's run of portable
# ones, which other compilers have here with -O2.
rest_jobs() {
    for job in $(all_jobs); do
        case $job in
        gcc/*) head -n 1 "$(source_of "${job#*/}.c")" | grep -q '/\* portable \*/' && continue ;;
        lint) continue ;;
        esac
        case $job in */*) some 2 ;; esac && echo "$job"
    done
}

longest_first() {   # LIST
    printf '%s\n' $long | grep -xF -e "$1"
    echo "$1" | grep -vxF -e "$(printf '%s\n' $long)"
}

# The unit of all costs, compiled between jobs, three times in all: what slows them slows it.
units='unit1 unit2 unit3'
unit() {   # NAME
    mkdir -p "$out/$1"
    if git show 29a0f05:prof.h >"$out/$1/prof.h" 2>/dev/null &&
        printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >"$out/$1/unit.c" &&
        gcc -std=c99 -O2 -w -c "$out/$1/unit.c" -o "$out/$1/unit.o"; then echo "ok $1"
    else echo "skip $1: git's history does not have 29a0f05"
    fi
}

costs() {   # JOB...
    for job in command "$@"; do
        [ -s "$out/$job.log.times" ] && cpu_seconds_of "$out/$job.log.times" && echo "$seconds $job"
    done | sort -rn | awk -v known="$(cat $out/unit?.log | grep -c '^ok unit')" -v most="${COSTS_MOST:-0}" '
        $2 ~ /^unit/ {unit += known ? $1 / known : 0; next}
        {n += $1; printf "%6.1f s of CPU %s\n", $1, $2}
        END {
            if (most && unit && n > most * unit) printf "not ok costs: more than %d times the unit\n", most
            if (unit) printf "CPU: %d s, %.1f times what gcc -O2 takes for 29a0f05\047s prof.h\n", n, n / unit
            else printf "CPU: %d s; without the git history of 29a0f05 there is no measure of it\n", n
        }' >$out/costs
    cat $out/costs
}

with_units() {   # LIST: and the units, each a fourth of the jobs after the one before
    echo "$1" | awk -v jobs="$(echo "$1" | wc -l)" -v units="$units" '
        BEGIN {split(units, unit, " "); n = 1}
        {print; while (n <= 3 && 4 * NR >= n * jobs) print unit[n++]}'
}

[ "${1:-}" = --job ] && { job "$2"; exit 0; }

ALL='' TERMINAL=''
chosen=quick_jobs
case ${1:-} in
--all) chosen=all_jobs ALL=1 ;;
--rest)                      # a fourth of the cases, others each time; not every instruction
    chosen=rest_jobs ALL=1
    export SHARE="${SHARE:-4}" TEST_SAMPLE="${TEST_SAMPLE:-4}" STEP_STRIDE="${STEP_STRIDE:-311}" ;;
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
[ -z "${COSTS:-}" ] || list=$(with_units "$list")
[ -n "$ALL" ] || export TEST_SAMPLE="${TEST_SAMPLE:-12}"   # of what takes long: test.h
JOB_COUNT=$(echo "$list" | wc -l) COMMAND_MADE=$out/command.made
rm -f "$COMMAND_MADE"
export ALL TERMINAL JOB_COUNT COMMAND_MADE
# The command's tests wait for it (command/prof.sh): both cores build it.
build_command() {
    # shellcheck source=tests/build.sh
    . tests/build.sh   # again: with ALL
    make_command -j"$(nproc 2>/dev/null || echo 2)" $tests_prof >/dev/null 2>&1 && : >"$COMMAND_MADE"
    times >$out/command.log.times
}
case $list in
*test_prof_*) [ -n "${PROF:-}" ] || build_command 9>&- & ;;
esac
echo "$list" | xargs -P "${JOBS:-$(($(nproc 2>/dev/null || echo 2) + 1))}" -n 1 sh "$0" --job 9>&-
wait
[ -n "$TERMINAL" ] && printf '\r\033[K'

logs=$(echo "$list" | grep -vx 'unit.' | sed "s|.*|$out/&.log|")
grep -H '^skip ' $logs | sed "s|^$out/\(.*\)\.log:|\1: |"
rm -f $out/costs
[ -z "${COSTS:-}" ] || costs $list
[ ! -e $out/costs ] || logs="$logs $out/costs"     # may say that they are too many
total=$(count $logs)
echo "$total"
case $total in *' 0 failed'*) exit 0 ;; *) exit 1 ;; esac
