#!/bin/sh
# Programs that use prof.h as other people's projects do, each by the lines that README.md shows:
# pkg-config, CMake's find_package and FetchContent, Meson, shared libraries by the compiler alone. What
# is not told to clone a repository of the files that stand here uses what `make install` made.
# shellcheck disable=SC2317   # check calls them
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/build.sh
. tests/build.sh
out=$PWD/build/tests/consumers
failed=0

check() {   # NAME COMMAND...
    name=$1
    [ "$name" = install ] || some 2 || return 0
    shift
    if ("$@") >"$out/$name.log" 2>&1; then echo "ok $name"; else
        tail -n 20 "$out/$name.log"
        echo "not ok $name: $*"
        failed=1
    fi
}

has() {   # NAME TOOL...
    name=$1
    shift
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "skip $name: $tool is not installed"; return 1; }
    done
}

block() {   # LANGUAGE N: README's Nth block of that language
    awk -v fence="^\`\`\`$1\$" -v n="$2" '/^```$/ {on = 0} on && count == n {print}
        $0 ~ fence {on = 1; count++}' README.md
}

new() {   # NAME: a folder with a program
    rm -rf "${out:?}/$1"
    mkdir -p "$out/$1"
    cp examples/hello.c "$out/$1/app.c"
    cd "$out/$1" || exit 1
}

runs() {   # PROGRAM
    "$1" trace.json | grep 'find_median' && test -s trace.json
}

build_by_cmake() {   # OPTION...: the project in this folder
    cmake -S . -B build -DCMAKE_PREFIX_PATH="$out/root" -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' "$@" &&
        cmake --build build
}

cmake_project() {   # NAME LINES: those of README in a project's CMakeLists.txt
    new "$1"
    {
        printf 'cmake_minimum_required(VERSION 3.18)\nproject(app C)\nadd_executable(app app.c)\n'
        echo "$2"
    } >CMakeLists.txt
    cat CMakeLists.txt
    build_by_cmake && runs build/app
}

by_pkg_config() {
    line=$(block sh "$(pkg_config_block)")
    new pkg_config
    echo "$line"
    export PKG_CONFIG_PATH="$out/root/lib/pkgconfig"
    eval "$line" && runs ./app
}

by_find_package() { cmake_project find_package "$(block cmake 1)"; }

of_version() {   # VERSION: find_package may ask for it
    cmake_project "version" "$(block cmake 1 | sed "s/REQUIRED/$1 REQUIRED/")"
}

of_wrong_version() {
    ! cmake_project wrong_version "$(block cmake 1 | sed "s/REQUIRED/$1 REQUIRED/")" >"$out/said" 2>&1
    cat "$out/said"
    grep 'compatible' "$out/said"
}

# What a project would clone.
repository() {
    rm -rf "$out/repository"
    mkdir -p "$out/repository"
    cp -R prof.h prof_cuda.h tools "$out/repository"
    (cd "$out/repository" && git init -q -b main && git add -A &&
        git -c user.name=test -c user.email=test commit -q -m all)
}

by_fetch_content() {
    repository &&
        cmake_project fetch_content \
            "$(block cmake 2 | sed "s|GIT_REPOSITORY [^ ]*|GIT_REPOSITORY file://$out/repository|")"
}

# A program and two shared libraries of its own, each with a zone.
sources() {
    rm -rf "$out/plugins"
    mkdir -p "$out/plugins"
    cd "$out/plugins" || exit 1
    for name in one two; do
        cat >"$name.c" <<EOF
#include <prof.h>
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
void $name(void);
void $name(void) { PROF_FUNCTION(); }
EOF
    done
    cat >app.c <<'EOF'
#include <prof.h>
void one(void);
void two(void);
int main(void) {
    prof_start(0);
    PROF_BLOCK("both") { one(); two(); }
    return prof_print_table(prof_stop(), 0) != PROF_OK;
}
EOF
}

# All three in one profiler.
plugins() {   # OPTION...
    sources
    cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.18)
project(app C)
find_package(prof REQUIRED)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
link_libraries(prof::prof)
add_library(one SHARED one.c)
add_library(two SHARED two.c)
add_executable(app app.c)
target_link_libraries(app PRIVATE one two)
EOF
    build_by_cmake -DPROF_LIBRARY=SHARED "$@"
}

counts_three() {   # COMMAND...: the zones of all three are in one table
    "$@" >table.txt && [ "$(tr -d '\r' <table.txt | grep -Ec ' (both|one|two) .* 1 *$')" = 3 ]
}

shared_library() { plugins -DCMAKE_C_VISIBILITY_PRESET=hidden && counts_three build/app; }

dlls() {
    plugins -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc \
        -DCMAKE_SHARED_LINKER_FLAGS=-static-libgcc &&
        counts_three "$wine" build/app.exe
}

# The same by README's lines for a compiler alone: the three that have PROF_SHARED.
by_the_compiler() {   # FLAG...
    lines=$(grep '^cc .*-DPROF_SHARED' README.md | sed "s/^cc/gcc $*/")
    sources
    cat one.c two.c >plugin.c
    cp "$out/root/include/prof.h" .
    sed -i 's/<prof.h>/"prof.h"/' ./*.c
    echo "$lines"
    [ "$(echo "$lines" | wc -l)" = 3 ] && eval "$lines" && counts_three ./app
}

# The program has the profiler itself, and opens its plugin.
by_dlopen() {
    by_the_compiler -O1 && rm app libprof.so
    cat >app.c <<'EOF'
#define PROF_IMPLEMENTATION
#include "prof.h"
#include <dlfcn.h>
int main(void) {
    void *plugin = dlopen("./libplugin.so", RTLD_NOW);
    void *one = plugin ? dlsym(plugin, "one") : NULL, *two = plugin ? dlsym(plugin, "two") : NULL;
    if (!one || !two) return puts(dlerror());
    prof_start(NULL);
    PROF_BLOCK("both") {
        ((void (*)(void))one)();
        ((void (*)(void))two)();
    }
    return prof_print_table(prof_stop(), NULL) != PROF_OK;
}
EOF
    gcc -shared -fPIC -DPROF_SHARED plugin.c -o libplugin.so &&
        gcc -fvisibility=hidden -rdynamic -DPROF_SHARED app.c -o app -lpthread && counts_three ./app
}

# Feature macros that come before prof.h hold, and its implementation compiles in any file, with any.
include_order() {
    new order
    for macro in _GNU_SOURCE _POSIX_C_SOURCE=200809L _XOPEN_SOURCE=700 NONE; do
        printf '#include <stdio.h>\n#include <prof.h>\n#define PROF_IMPLEMENTATION\n#include <prof.h>\n' >order.c
        gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$out/root/include" "-D$macro" order.c || return
    done
    printf '#define _GNU_SOURCE\n#include <prof.h>\n#include <string.h>\nchar *f(void);\nchar *f(void) { return strcasestr("a", "A"); }\n' >order.c
    gcc -std=c99 -Wall -Werror -fsyntax-only -I"$out/root/include" order.c
}

by_meson() {
    lines=$(block meson 1)
    new meson
    printf "project('app', 'c')\n%s\n" "$lines" >meson.build
    mkdir subprojects
    [ ! -e ../prof.wrap ] || mv ../prof.wrap ../packagefiles subprojects
    cat meson.build
    meson setup build "$@" && ninja -C build && runs build/app
}

by_pkg_config_of_meson() { by_meson --pkg-config-path "$out/root/lib/pkgconfig"; }

# Nothing is installed: a subproject, by the two files of tools/meson.
by_subproject() {
    repository
    mkdir -p "$out/packagefiles/prof"
    cp tools/meson/meson.build "$out/packagefiles/prof"
    sed "s|^url = .*|url = file://$out/repository|" tools/meson/prof.wrap >"$out/prof.wrap"
    by_meson --pkg-config-path "$out/none"
}

pkg_config_block() {   # the number of the sh block that has it
    awk '/^```sh$/ {n++} /pkg-config/ {print n; exit}' README.md
}

mkdir -p "$out"
rm -rf "$out/root"
check install flock build/prof.lock make -s install PREFIX="$out/root"
has pkg_config pkg-config && check pkg_config by_pkg_config
if has cmake cmake; then
    check find_package by_find_package
    check find_package_version of_version "$(sed -n 's|^#define PROF_VERSION "\([0-9]*\.[0-9]*\).*|\1|p' prof.h)"
    check find_package_wrong_version of_wrong_version 99.0
    check shared_library shared_library
    has dlls x86_64-w64-mingw32-gcc "$wine" && check dlls dlls
    if has fetch_content git; then check fetch_content by_fetch_content; fi
fi
check compiler_alone by_the_compiler
check compiler_alone_hidden by_the_compiler -fvisibility=hidden
check plugin by_dlopen
check include_order include_order
if has meson meson ninja; then
    check meson by_pkg_config_of_meson
    if has meson_subproject git; then check meson_subproject by_subproject; fi
fi
exit $failed
