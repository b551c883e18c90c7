#!/bin/sh
# Which lines and branches of the headers and the tools the tests run: make coverage.
#   tests/coverage.sh [WORD]   only the tests with WORD in their name
# Programs and the prof command are built with gcc --coverage; what shell tests compile, too, by way
# of CC (without sanitizers: their checks are branches). tests/coverage.py adds up what gcov says of
# them all, and fails where too many functions never ran. JOBS (2) at a time.
# shellcheck disable=SC2086   # lists of flags and files are meant to split
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/build.sh
. tests/build.sh
out=$PWD/build/coverage
cc='gcc -std=c99 -O0 --coverage -fprofile-abs-path -fprofile-update=atomic -DPROF__COVERAGE'
libs="$out/exit.o -Wl,--wrap=_exit -lpthread -ldl -lm"

# Each object has its own folder: gcov names what it writes after the source alone.
program() {   # NAME
    dir=$out/$1
    mkdir -p "$dir"
    source=$(find tests -name "$1.c")
    flags=$(sed -n '1,5s|^/\* build: \(.*\) \*/$|\1|p' "$source")
    with=$(sed -n '1,5s|^/\* object: \(.*\) \*/$|\1|p' "$source")
    if [ -n "$with" ]; then
        flags="$flags -DTEST_LIBRARY $with"
    elif ! looks_inside "$source"; then
        flags="-DPROF_ZLIB -DTEST_LIBRARY $flags -x none $out/prof.o"
    fi
    case $1 in                           # what is inline has no frames of its own
    test_full_table | test_native | test_session | test_unwind) flags="$flags -DPROF__COVERAGE=0" ;;
    esac
    $cc -I. -DTEST_OUT="\"$dir\"" "$source" -o "$dir/test" $flags $libs -lz &&
        timeout 300 "$dir/test"
}

job() {   # NAME
    begin=$(date +%s)
    mkdir -p "$out"
    case $1 in   # they end programs that may be writing what they ran: that spoils no other's
    *_outputs.sh | *_record_files.sh | *_trust.sh | *_faults.sh)
        export GCOV_PREFIX="$out/apart/${1%.sh}" ;;
    esac
    case $1 in
    *.sh) TEST_SAMPLE=8 POSITIONS=3 CPU_LIMIT=100 PROF=$out/prof REPLAY=$out/replay CC=$out/cc TESTS_OUT=build/coverage \
        sh "$(find tests -name "$1")" ;;
    *) program "${1%.c}" ;;
    esac >"$out/${1%.*}.log" 2>&1
    bad=$(grep -c '^not ok ' "$out/${1%.*}.log")
    echo "coverage of $1: $(grep -c '^ok ' "$out/${1%.*}.log") passed," \
        "$bad failed ($(($(date +%s) - begin)) s)"
}

implementation() {
    printf '#!/bin/sh\nexec %s "$@" -O0 -fno-sanitize=all\n' "$cc" >"$out/cc"
    chmod +x "$out/cc"
    # Forked children tell what they ran, too; what gcov writes is none of the calls that
    # tests/fuzz/faults.c makes fail.
    printf '%s\n' 'extern int faults_pause __attribute__((weak));' \
        'extern void __real__exit(int), __gcov_dump(void);' \
        'void __wrap__exit(int status) { __gcov_dump(); __real__exit(status); }' \
        '__attribute__((destructor)) static void end(void) { if (&faults_pause) faults_pause = 1; }' |
        gcc -x c -c - -o "$out/exit.o"
    $cc -DPROF_ZLIB -I. -c tests/prof.c -o "$out/prof.o"
}

prof_command() {
    make -s build/tools/report_html.h || exit 1
    objects=
    for file in tools/prof/*.c tools/prof/*/*.c; do
        mkdir -p "$out/${file%/*}"
        objects="$objects $out/$file.o"
        $cc -fwrapv -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -DPROF_ZLIB -I. -Itools/prof -Ibuild/tools \
            -c "$file" -o "$out/$file.o" || exit 1
    done
    $cc $objects -o "$out/prof" -lsqlite3 -lz $libs || return
    reader=$(find "$out/tools/prof" -name '*.o' ! -name main.c.o ! -name library.c.o)
    $cc -I. -Itools/prof tests/analyse/replay.c "$out/prof.o" $reader -o "$out/replay" -lyajl -lsqlite3 -lstdc++ $libs -lz
}

[ "${1:-}" = --job ] && { job "$2"; exit 0; }

rm -rf "$out"
mkdir -p "$out"
tests_out=build/coverage quick_python
implementation && prof_command || exit 1
for file in tests/test_* tests/*/test_*; do
    case $file in *_model.sh | *_analysis.sh | *_examples.sh) continue ;; esac
    basename "$file"
done | grep -F -e "${1:-}" | xargs -P "${JOBS:-2}" -n 1 sh "$0" --job
python3 tests/coverage.py "$out" ${1:+partial}
