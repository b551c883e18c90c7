#!/bin/sh
# Installs the Debian packages that this machine lacks of those named.
#   tools/dev/setup.sh PACKAGE... [--optional PACKAGE...]
# Exit status 1 when one before --optional cannot be had. SETUP=check installs nothing.
# shellcheck disable=SC2046,SC2086   # lists of packages are meant to split
set -u

# package, what shows that it is there (a command, a header; -: only dpkg knows), what it is for
table() {
    cat <<'END'
gcc                         gcc                      compiling C
g++                         g++                      compiling C++
libc6-dev                   stdio.h                  compiling C
libstb-dev                  stb/stb_image.h          the images example
clang                       clang                    tests with a second compiler
tcc                         tcc                      tests with a small compiler
libclang-rt-dev             -                        tests under ThreadSanitizer
zlib1g-dev                  zlib.h                   .gz traces
libyajl-dev                 yajl/yajl_parse.h        reading JSON: prof, tests
libsqlite3-dev              sqlite3.h                the prof command
python3                     python3                  tests that read the JSON back
shellcheck                  shellcheck               lint of the scripts
frama-c-base                frama-c                  make proof
cppcheck                    cppcheck                 make analysis
valgrind                    valgrind                 make analysis
spin                        spin                     a model of what threads may do
git                         git                      tests of a project that fetches prof.h
pkg-config                  pkg-config               tests of projects that use prof.h
cmake                       cmake                    tests of projects that use prof.h
meson                       meson                    tests of projects that use prof.h
ninja-build                 ninja                    tests of projects that use prof.h
gcc-mingw-w64-x86-64-win32  x86_64-w64-mingw32-gcc   tests on Windows
wine64                      /usr/lib/wine/wine64     tests on Windows
gcc-aarch64-linux-gnu       aarch64-linux-gnu-gcc    tests on aarch64
libc6-dev-arm64-cross       -                        tests on aarch64
qemu-user-static            qemu-aarch64-static      tests on aarch64 and other processors
gcc-arm-none-eabi           arm-none-eabi-gcc        firmware for Cortex-M
qemu-system-arm             qemu-system-arm          running it
gcc-riscv64-unknown-elf     riscv64-unknown-elf-gcc  firmware for RISC-V
qemu-system-misc            qemu-system-riscv32      running it
musl-tools                  musl-gcc                 another C library
gcc-arm-linux-gnueabihf     arm-linux-gnueabihf-gcc  32-bit ARM
libc6-dev-armhf-cross       -                        32-bit ARM
gcc-i686-linux-gnu          i686-linux-gnu-gcc       32-bit x86
libc6-dev-i386-cross        -                        32-bit x86
gcc-riscv64-linux-gnu       riscv64-linux-gnu-gcc    64-bit RISC-V
libc6-dev-riscv64-cross     -                        64-bit RISC-V
gcc-s390x-linux-gnu         s390x-linux-gnu-gcc      a big-endian machine
libc6-dev-s390x-cross       -                        a big-endian machine
END
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

is_there() {   # PACKAGE SIGN
    case $2 in
    -) installed "$1" ;;
    *.h) echo "#include <$2>" | gcc -E - >/dev/null 2>&1 ;;
    *) command -v "$2" >/dev/null 2>&1 ;;
    esac
}

# Prints those of the packages that are missing; says on stderr what each is for.
missing() {
    table | while read -r package sign purpose; do
        case " $* " in *" $package "*) ;; *) continue ;; esac
        is_there "$package" "$sign" && continue
        echo "set-up: $package is missing, for $purpose" >&2
        echo "$package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
    [ "${SETUP:-}" != check ] && command -v apt-get >/dev/null && as_root true 2>/dev/null
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >>"$log" 2>&1
}

# Installs the packages; on failure prints the end of what apt-get said.
get() {
    echo "set-up: installing" "$@" "(apt-get's output: $log)"
    apt install -y --no-install-recommends "$@" || tail -n 5 "$log" >&2
}

all="$* --optional"
required=$(missing ${all%%--optional*})
optional=$(missing ${all#*--optional})
[ -z "$required$optional" ] && exit 0

log=build/setup.log
if can_install; then
    mkdir -p build
    apt update
    [ -n "$required" ] && get $required
    [ -n "$optional" ] && get $optional
    required=$(missing $required 2>/dev/null)
    optional=$(missing $optional 2>/dev/null)
fi
if [ -n "$optional" ]; then
    echo "set-up: going on without" $optional
fi
if [ -n "$required" ]; then
    echo "set-up: please install" $required "(apt-get install" $required")" >&2
    exit 1
fi
exit 0
