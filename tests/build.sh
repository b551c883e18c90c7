# shellcheck shell=sh disable=SC2034,SC2086   # variables are for who sources this; lists are meant to split
# How tests are built, sourced by run.sh and by tests that compile, in the repository's root:
#   configure CONFIG   sets cc, libs, runner (what a program runs under) and level, the optimization;
#                      own and own_level, of what a test itself has
#   library CONFIG     sets library, tests/prof.c as an object, compiled once in that configuration
#   make_command WORDS make, with $tests_prof as the command
#   the_command        makes that, unless tests/run.sh has in this run
#   wine_begin         makes what $wine needs, once; false: it is not installed
#   check NAME COMMAND ok when the command succeeds; what it says is in $out/said
#   some N             true for one in N, others each time; with --all for each, with --rest for one in $share
#   choose N WORD...   sets chosen to such words, at least one
#   quick_python       puts a python3 first in PATH that begins in a tenth of the time
# Under coverage (TESTS_OUT, CC: tests/coverage.sh) CC compiles in every configuration.
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
WINEPREFIX=$PWD/build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
export WINEPREFIX WINEDEBUG WINEDLLOVERRIDES
tests_out=${TESTS_OUT:-build/tests}
warn='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
asserts=-DPROF_ASSERTS   # what prof.h's rooms promise is checked in every test

# The compiler where any will do: clang, where there is one, takes half of gcc's time without
# optimization, and a third with sanitizers. quick_cc is it without --all.
fast_cc=gcc quick_cc=gcc
command -v clang >/dev/null && fast_cc=clang
[ -n "${ALL:-}" ] || quick_cc=$fast_cc

# The command, too, of which tests_tools has the objects: as users build it with --all, else in a
# quarter of that time. That one is static, where that is possible: it starts some thousand times, in
# two thirds of the time.
tests_prof=build/prof tests_tools=build/tools static=1
[ -n "${ALL:-}" ] || tests_prof=build/tests/prof tests_tools=build/tests/tools
make_command() {   # WORD...: of make
    if [ -n "${ALL:-}" ]; then set -- WARN="$warn" "$@"
    else
        [ -z "$static" ] || [ ! -e "$($quick_cc -print-file-name=libsqlite3.a)" ] || set -- TOOL_LIBS='-static -lsqlite3 -lz' "$@"
        set -- CC=$quick_cc CFLAGS='-std=c99 -O0' ISAL= "$@"
    fi
    flock build/prof.lock make -s TOOLS=$tests_tools COMMAND=$tests_prof "$@"
}
the_command() {
    [ -e "${COMMAND_MADE:-}" ] || make_command "$tests_prof"
}
preloadable() {   # has $tests_prof be one that LD_PRELOAD reaches
    [ -n "${ALL:-}${PROF:-}" ] || { static='' tests_prof=$tests_prof.shared && make_command "$tests_prof"; }
}

# Without --all gcc's code is optimized less, that of the sanitizers and of tests themselves not at all,
# and UBSan, which takes as long to compile as all else, and lines of the source are left to --all.
configure() {   # CONFIG
    runner='' libs='-lpthread -ldl -lm' level=-O2
    case $1 in
    gcc) cc='gcc -std=c99' level="${ALL:+-O2}"
        level="${level:--Og} -D_FORTIFY_SOURCE=3" ;;
    clang) cc='clang -std=c99' ;;
    c++) cc='g++ -x c++ -std=c++11' ;;
    asan) cc="$quick_cc -std=c99" libs="$libs -lz" level=${ALL:+-O1}
        cc="$cc ${ALL:+-g1} -fsanitize=address${ALL:+,undefined} -fno-sanitize-recover=all -DPROF_ZLIB" ;;
    zlib) cc="$quick_cc -std=c99 -DPROF_ZLIB" libs="$libs -lz" level=${ALL:+-O2} ;;
    tsan) cc="clang -std=c99 ${ALL:+-g1} -fsanitize=thread" level=${ALL:+-O1} ;;
    aarch64) cc='aarch64-linux-gnu-gcc -std=c99 -static' runner=qemu-aarch64-static ;;
    windows) cc='x86_64-w64-mingw32-gcc -std=c99 -static' runner=$wine libs='-lm -lpthread' ;;
    wasi) cc="clang --target=wasm32-wasi -std=c99" runner=tests/wasi.mjs libs="-Wl,-z,stack-size=1048576" ;;
    esac
    [ -n "$level" ] || level=-O0
    [ -z "${TESTS_OUT:-}" ] || cc="$CC -std=c99 -DPROF_ZLIB" libs="$libs -lz"
    own=$cc own_level=$level
    [ "$1${ALL:-}${TESTS_OUT:-}" != gcc ] || own="$quick_cc -std=c99" own_level=-O0
}

# shellcheck disable=SC2154   # out is the caller's
check() {   # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$out/said" 2>&1; then echo "ok $name"; return; fi
    failed=1
    echo "not ok $name: $*"
    head -n 20 "$out/said"
}

# A program that starts while Wine sets itself up may fail: its server ends when that is over. If it
# cannot, the next who asks tries again.
# shellcheck disable=SC2016   # the inner shell expands that
wine_begin() {
    [ -x "$wine" ] || return
    mkdir -p build
    flock build/wine.lock sh -c '[ -e "$WINEPREFIX/done" ] || {
        booted=
        "$0" wineboot -i && booted=1
        for server in wineserver /usr/lib/wine/wineserver64 /usr/lib/wine/wineserver; do
            command -v $server && timeout 60 $server -w && break
        done
        [ -z "$booted" ] || : >"$WINEPREFIX/done"
    } >/dev/null 2>&1' "$wine"
}

# Of what has many cases a part, others each time (TURN=n: those of that time again): at most one in
# $share are left out, with --all, and where lines are counted, none.
turn=${TURN:-} share=${SHARE:-1000}
[ -z "${ALL:-}${TESTS_OUT:-}" ] || share=${SHARE:-1}
some() {   # N
    turn=${turn:-$(date +%s)}
    [ $(((turn += 1) % ($1 < share ? $1 : share))) = 0 ]
}
choose() {   # N WORD...
    one_in=$1 chosen=
    shift
    for word; do ! some "$one_in" || chosen="$chosen $word"; done
    chosen=${chosen:-$word}
}

# What python3 is, where that is a script that looks for it (pyenv), without packages of the machine.
quick_python() {
    python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || return 0
    mkdir -p "$tests_out/bin"
    printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$python" >"$tests_out/bin/python3"
    chmod +x "$tests_out/bin/python3"
    PATH=$PWD/$tests_out/bin:$PATH
}

# An object of a file with the implementation, unless it is newer than that and all headers.
object() {   # SOURCE OBJECT COMPILER-AND-FLAGS...
    (
        flock 8
        [ -e "$2" ] && [ -z "$(find prof*.h tools/prof/library.* tools/prof/raw_read.h "$1" "${1%/*}" -maxdepth 1 -name '*.[ch]' -newer "$2")" ] &&
            exit 0
        source=$1 made=$2
        shift 2
        "$@" $warn $asserts -I. -c "$source" -o "$made"
    ) 8>"$2.lock"
}

library() {   # CONFIG
    configure "$1"
    library=$tests_out/$1/prof${level%% *}.o
    mkdir -p "${library%/*}"
    object tests/prof.c "$library" $cc $level
}

# Whether a test compiles prof.h again, with settings of its own, or for more than inside.h shows.
looks_inside() {   # FILE
    [ -n "$(sed -n 's/PROF__LOAD\|PROF__STORE\|PROF__ACQUIRE\|PROF__RELEASE\|prof__hot\|prof__frame\|prof__tls//g
        /prof__\|PROF__\|^#define PROF_/{p;q}' "$1")" ]
}
