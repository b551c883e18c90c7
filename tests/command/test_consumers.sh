#!/bin/sh
# Programs that use prof.h as other people's projects do, each by the lines that README.md shows:
# pkg-config, CMake's find_package and FetchContent, Meson. All but FetchContent use what
# `make install` made; FetchContent clones a repository of the files that stand here.
# shellcheck disable=SC2317   # check calls them
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/tests/consumers
failed=0

check() {   # NAME COMMAND...
    name=$1
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

cmake_project() {   # NAME LINES: those of README in a project's CMakeLists.txt
    new "$1"
    {
        printf 'cmake_minimum_required(VERSION 3.18)\nproject(app C)\nadd_executable(app app.c)\n'
        echo "$2"
    } >CMakeLists.txt
    cat CMakeLists.txt
    cmake -S . -B build -DCMAKE_PREFIX_PATH="$out/root" -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' &&
        cmake --build build && runs build/app
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

by_meson() {
    lines=$(block meson 1)
    new meson
    printf "project('app', 'c')\n%s\n" "$lines" >meson.build
    cat meson.build
    meson setup build --pkg-config-path "$out/root/lib/pkgconfig" && ninja -C build && runs build/app
}

pkg_config_block() {   # the number of the sh block that has it
    awk '/^```sh$/ {n++} /pkg-config/ {print n; exit}' README.md
}

mkdir -p "$out"
rm -rf "$out/root"
check install make -s install PREFIX="$out/root"
has pkg_config pkg-config && check pkg_config by_pkg_config
if has cmake cmake; then
    check find_package by_find_package
    check find_package_version of_version 0.1
    check find_package_wrong_version of_wrong_version 99.0
    if has fetch_content git; then check fetch_content by_fetch_content; fi
fi
has meson meson ninja && check meson by_meson
exit $failed
