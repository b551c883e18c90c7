#!/bin/sh
# Installs the Debian packages that this machine lacks of those named; says first which and why.
#   tools/dev/setup.sh PACKAGE... [--optional PACKAGE...]
# SETUP=check installs nothing. What cannot be had is named in one line, the optional in another;
# exit status 1: one that is no option is missing.
# shellcheck disable=SC2046,SC2086   # lists of packages are meant to split
set -u

# package, what shows that it is there (a command, a header; -: only dpkg knows), what it is for
table() {
    cat <<'END'
gcc                         gcc                      compiling C
g++                         g++                      compiling C++
libc6-dev                   stdio.h                  compiling C
libstb-dev                  stb/stb_sprintf.h        names by a format, the images example
clang                       clang                    tests with a second compiler
tcc                         tcc                      tests with a small compiler
libclang-rt-dev             -                        tests under ThreadSanitizer
zlib1g-dev                  zlib.h                   .gz traces
libisal-dev                 isa-l/igzip_lib.h        .gz traces, twice as fast
libyajl-dev                 yajl/yajl_parse.h        tests that read JSON
libsqlite3-dev              sqlite3.h                the prof command
opencl-headers              CL/cl.h                  the OpenCL example
ocl-icd-opencl-dev          -                        the OpenCL example
pocl-opencl-icd             -                        the OpenCL example
libvulkan-dev               vulkan/vulkan.h          the Vulkan example
mesa-vulkan-drivers         -                        the Vulkan example
libcupti-dev                cupti.h                  comparing records with CUDA 11.8's
nvidia-cuda-dev             cuda.h                   comparing records with CUDA 11.8's
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
nodejs                      node                     real viewers
npm                         npm                      real viewers
chromium                    chromium                 pages in a real browser
gcc-mingw-w64-x86-64-win32  x86_64-w64-mingw32-gcc   tests on Windows
libz-mingw-w64-dev          -                        tests on Windows, .gz traces
g++-mingw-w64-x86-64-win32  x86_64-w64-mingw32-g++-win32  tests on Windows, C++
g++-mingw-w64-x86-64-posix  x86_64-w64-mingw32-g++-posix  tests on Windows, its other threads
wine64                      /usr/lib/wine/wine64     tests on Windows
wasi-libc                   -                        tests in WebAssembly
libclang-rt-dev-wasm32      -                        tests in WebAssembly
emscripten                  emcc                     tests in WebAssembly, as web pages have it
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

# Prints those of the packages that are missing, each with what it is for.
missing() {
    table | while read -r package sign purpose; do
        case " $* " in *" $package "*) ;; *) continue ;; esac
        is_there "$package" "$sign" || echo "$package $purpose"
    done
}

names() {   # LINES of missing
    echo "$1" | cut -d ' ' -f 1
}

# One sentence: installing A, B (what they are for), C (what it is for).
announce() {
    echo "$required
$optional" | awk 'NF {
            purpose = $0
            sub(/^[^ ]* /, "", purpose)
            if (text) text = text (purpose == last ? "" : " (" last ")") ", "
            text = text $1
            last = purpose
        }
        END {print "set-up: installing with apt-get what is not here yet: " text " (" last \
            "); SETUP=check installs nothing"}'
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    [ "${SETUP:-}" != check ] && command -v apt-get >/dev/null &&
        { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        -o Acquire::Retries=3 -o Acquire::http::Timeout=20 "$@" >>"$log" 2>&1
}

# Installs packages; those of which one cannot be had are tried one by one.
get() {
    [ $# = 0 ] || apt install -y --no-install-recommends "$@" && return
    for package; do apt install -y --no-install-recommends "$package"; done
}

all="$* --optional"
required=$(missing ${all%%--optional*})
optional=$(missing ${all#*--optional})
[ -z "$required$optional" ] && exit 0

log=build/setup.log
if may_install; then
    announce
    mkdir -p build
    if apt update; then
        get $(names "$required")
        get $(names "$optional")
    fi
    required=$(missing $(names "$required"))
    optional=$(missing $(names "$optional"))
fi
if [ -n "$required" ]; then
    echo "set-up: please install what is needed: sudo apt-get install" $(names "$required") >&2
fi
if [ -n "$optional" ]; then
    echo "set-up: going on without what is optional: sudo apt-get install" $(names "$optional") >&2
fi
[ -z "$required" ]
