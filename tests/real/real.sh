#!/bin/sh
# make real: Lua, zstd and SQLite, built from Debian's sources and profiled; see README.md. Prints
# "ok NAME", "not ok NAME: why" or "skip NAME: why" for each check, and a table.
#   tests/real/real.sh [PROGRAM...]      lua, zstd, sqlite
# shellcheck disable=SC2016,SC2034,SC2046,SC2086   # lists are meant to split, names to be made
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD out=$PWD/build/real here=$PWD/tests/real
CC=${CC:-gcc}
mkdir -p "$out"

# ---- The sources: apt's, with lists and a cache of its own; no root ----

apt_options() {
    printf -- '-q -o Dir::Etc::sourcelist=%s -o Dir::Etc::sourceparts=%s ' \
        "$out/apt/sources.list" "$out/apt/none.d"
    printf -- '-o Dir::State::lists=%s -o Dir::Cache=%s -o APT::Sandbox::User=%s' \
        "$out/apt/lists" "$out/apt/cache" "$(id -un)"
}

# The archive that the system's own configuration names, for sources.
apt_lists() {
    mkdir -p "$out/apt/none.d" "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 2>/dev/null |
        awk '$1 ~ /^(Debian|Ubuntu)$/ && $3 !~ /-/ {print "deb-src", $2, $3, $4}' |
        sort -u >"$out/apt/sources.list"
    [ -s "$out/apt/sources.list" ] || { echo 'apt knows of no archive of Debian'; return 1; }
    timeout 120 apt-get $(apt_options) update >"$out/apt/log" 2>&1 ||
        { echo "apt-get update failed: $(grep '^E:' "$out/apt/log" | head -n 1)"; return 1; }
}

source_get() {   # PACKAGE: leaves its tree in src/PACKAGE; says why not
    [ -d "$out/src/$1" ] && return 0
    for tool in apt-get dpkg-source; do
        command -v $tool >/dev/null || { echo "$tool is not installed"; return 1; }
    done
    [ -n "$(ls "$out"/apt/lists/*Sources* 2>/dev/null)" ] || apt_lists || return 1
    rm -rf "$out/src/$1.new"
    mkdir -p "$out/src/$1.new"
    (cd "$out/src/$1.new" &&
        timeout 300 apt-get $(apt_options) source --only-source "$1" >log 2>&1) ||
        { echo "apt-get source $1 failed: $(grep '^E:' "$out/src/$1.new/log" | head -n 1)"; return 1; }
    mv "$out/src/$1.new/$1"-*/ "$out/src/$1" && rm -r "$out/src/$1.new"
}

# ---- The programs: sources prepared as they are, flags, and what is marked by hand ----

lua_prepare() {
    source_get lua5.4 && cp -r "$out/src/lua5.4/src" "$1" && rm "$1/lua.c" "$1/luac.c" &&
        echo '#define DEB_HOST_MULTIARCH "any"' >"$1/lua5.4-deb-multiarch.h"
}
# Not by the clock and by addresses: the seed of hashes, and the cache of strings.
lua_flags='-O2 -DLUA_USE_POSIX -Dluai_makeseed(L)=42u -DSTRCACHE_N=1 -DSTRCACHE_M=2'
lua_marks='luaV_execute luaV_finishget luaV_concat luaH_resize luaD_throw luaD_rawrunprotected
    luaD_pcall lua_resume luaY_parser luaC_step singlestep str_format auxsort luaS_new luaK_code'

zstd_prepare() {
    source_get libzstd && mkdir "$1" && for part in common compress decompress; do
        cp -r "$out/src/libzstd/lib/$part" "$1" || return 1
    done && cp "$out"/src/libzstd/lib/*.h "$1" && rm -f "$1/compress/zstdmt_compress.c"
}
zstd_flags='-O2 -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_'
zstd_marks='ZSTD_compressBlock_internal ZSTD_buildSeqStore ZSTD_entropyCompressSeqStore
    ZSTD_compressBlock_doubleFast HUF_buildCTable_wksp HUF_compressWeights FSE_buildCTable_wksp
    FSE_normalizeCount HUF_readStats ZSTD_decodeLiteralsBlock ZSTD_decompressBlock_internal'

sqlite_prepare() {
    source_get sqlite3 || return 1
    command -v tclsh >/dev/null || { echo 'tclsh is not installed (Debian: tcl)'; return 1; }
    mkdir "$1" "$1.made"
    if ! (cd "$1.made" && "$out/src/sqlite3/configure" --disable-tcl && make sqlite3.c) \
        >"$out/sqlite.log" 2>&1; then echo "no sqlite3.c: see $out/sqlite.log"; return 1; fi
    cp "$1.made/sqlite3.c" "$1.made/sqlite3.h" "$1"
    rm -rf "$1.made"
}
sqlite_flags='-O1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION'
sqlite_marks='sqlite3_exec sqlite3_step sqlite3VdbeExec sqlite3LockAndPrepare sqlite3RunParser
    sqlite3GetToken sqlite3Select sqlite3WhereBegin sqlite3BtreeTableMoveto sqlite3BtreeIndexMoveto
    sqlite3BtreeNext sqlite3BtreeInsert sqlite3BtreeDelete balance sqlite3VdbeSerialGet
    sqlite3VdbeSorterWrite patternCompare sqlite3Malloc sqlite3_str_vappendf'

of() { eval "echo \"\$$1\""; }

prepare() {   # PROGRAM: its sources plain/, and marked/ by hand; says why not
    dir=$out/$1
    [ -d "$dir/marked" ] && [ -z "$(find "$here/real.sh" -newer "$dir/marked")" ] && return 0
    rm -rf "$dir"
    mkdir -p "$dir"
    "$1_prepare" "$dir/plain" || return 1
    cp -r "$dir/plain" "$dir/marked.new"
    find "$dir/marked.new" -name '*.c' | while read -r file; do
        awk -v NAMES="$(of "$1_marks" | tr '\n' ' ')" -f "$here/mark.awk" "$file" >"$dir/one.c" &&
            cat "$dir/one.c" >"$file"
    done
    mv "$dir/marked.new" "$dir/marked"
}

# Three compilations of each program: plain; with marks; all functions instrumented, which is linked
# twice: profiled and counted.
build() {   # PROGRAM.KIND
    program=${1%.*} tree=plain more=''
    case $1 in
    *.marked) tree=marked more="-D_GNU_SOURCE -include $here/clock.h -include $root/prof.h" ;;
    *.instrumented) more=-finstrument-functions ;;
    esac
    [ -e "$out/$1" ] && [ -z "$(find "$here" "$out/$program/$tree" prof.h -newer "$out/$1")" ] &&
        return 0
    rm -rf "$out/$1.o"
    mkdir "$out/$1.o"
    cd "$out/$1.o" || return 1
    include="-I$out/$program/$tree -I$root -I$here"
    $CC -w $(of "${program}_flags") $more $include -c \
        $(find "$out/$program/$tree" -name '*.c') &&
        $CC -O2 $include -c "$here/$program.c" -o work.o || return 1
    [ "${1#*.}" != instrumented ] ||
        $CC -no-pie ./*.o "$out/count.o" -o "$out/$program.counted" -lm -lpthread -ldl || return 1
    $CC ./*.o "$out/session.o" "$out/clock.o" -o "$out/$1" -lm -lpthread -ldl
}

case ${1:-} in
--build) build "$2" 2>"$out/$2.log"; exit $? ;;
esac

[ $# != 0 ] || set -- lua zstd sqlite
there=''
for program; do
    why=$(prepare "$program") && there="$there $program" || echo "skip $program: $why"
done
[ -n "$there" ] || exit 0
$CC -O2 -I. -c tests/real/session.c -o "$out/session.o" &&
    $CC -O2 -c tests/real/clock.c -o "$out/clock.o" &&
    $CC -O2 -c tests/real/count.c -o "$out/count.o" || exit 1
for program in $there; do
    for kind in instrumented marked plain; do echo "$program.$kind"; done
done | xargs -P "${JOBS:-2}" -n 1 sh "$0" --build || { echo "not ok real: it does not build"; exit 1; }
for program in $there; do nm "$out/$program.counted" >"$out/$program.symbols"; done
python3 "$here/real.py" "$out" $there
