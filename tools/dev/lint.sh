#!/bin/sh
# The rules that no compiler checks. Prints the figures; exit status 1 when a rule is broken.
#   tools/dev/lint.sh [rules|scripts]    without a word both; scripts: shellcheck, which takes long
# shellcheck disable=SC2046,SC2086   # lists are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1

sources=$(find prof*.h examples tests tools -name '*.[ch]' -o -name '*.cpp')
scripts=$(find tests tools .ci -name '*.sh' -o -path .ci/run)
failed=0

rule() {   # NAME FAULTS: ok when there are none
    if [ -z "$2" ]; then echo "ok $1"; return; fi
    failed=1
    echo "not ok $1:"
    echo "$2" | head -n 20
}

# ---- The scripts ----

if [ "${1:-}" = rules ]; then :
elif command -v shellcheck >/dev/null; then rule 'shellcheck' "$(shellcheck $scripts 2>&1)"
else echo 'skip shellcheck: not installed'
fi
[ "${1:-}" != scripts ] || exit $failed

# ---- The lines ----

rule 'lines of 100 columns at most' \
    "$(awk 'length($0) > 100 {print FILENAME ":" FNR ": " length($0)}' $sources)"
rule 'no tabs' "$(grep -n "$(printf '\t')" $sources $scripts)"
# lwip's sockets, cmocka's mocks and such define read(), close(), time() as macros.
rule 'calls through members stand in parentheses' \
    "$(gcc -fpreprocessed -dD -E -P prof.h prof_cuda.h examples/baremetal/core.h 2>/dev/null |
    sed 's/"[^"]*"//g' | grep -E '(\.|->)[a-z_]+\(')"
rule 'no trailing space' "$(grep -n ' $' $sources $scripts Makefile)"

# ---- The folders of the command: each includes headers of its own and of those before it ----

folders='base input trace analysis output page commands'
upward() {   # "FILE: HEADER" of each that points the other way, or that names no folder
    awk -v folders="$folders" '
        BEGIN { count = split(folders, names, " "); for (i = 1; i <= count; i++) place[names[i]] = i }
        !/^#include "/ || /"(\.\.\/)*(prof|examples\/kineto|library|raw_read|[a-z_]+_(html|css|js|sql|so))\.h"/ { next }
        {
            split(FILENAME, here, "/")
            split($2, there, "[/\"]")
            if (!(there[2] in place) || place[there[2]] > place[here[3]])
                print FILENAME ": " $2
        }' tools/prof/library.[ch] tools/prof/raw_read.h tools/prof/*/*.[ch]
}
rule 'folders of tools/prof' "$(upward)"

# ---- The rooms: the index in the first comment, and the banners ----

for header in prof.h prof_cuda.h; do
    index=$(awk '/Rooms, in this order/ {on = 1} on && (/\*\// || /^ *$/) {exit} on' $header |
        grep -o '@[A-Z-]*')
    banners=$(sed -n 's|^/\* ---- \(@[A-Z-]*\):* .*$|\1|p' $header)
    if [ -n "$index" ] && [ "$index" = "$banners" ]; then
        rule "rooms of $header: $(echo "$index" | wc -l), as in the index" ''
    else
        rule "rooms of $header" "$(echo index: $index; echo banners: $banners)"
    fi
done

# ---- The top level, which is the user's ----

rule 'only what belongs there stands at the top level' "$(git ls-files 2>/dev/null | cut -d / -f 1 | sort -u |
    grep -vxE '\.[a-z-]+|LICENSE|Makefile|README\.md|examples|prof\.h|prof_cuda\.h|tests|tools')"

# ---- The functions ----

# "LENGTH FILE:NAME" of each: the lines between its opening brace, which stands at column 0 or at the
# end of the head, and its closing one.
functions() {
    awk '
        FNR == 1 { in_body = 0; head = "" }
        in_body { if (/^}/) { print FNR - begin - 1, FILENAME ":" name; in_body = 0 } next }
        /^[A-Za-z_{]/ && !/^(typedef|struct|enum|union|extern)/ { head = /^{/ ? head $0 : $0 }
        /^ / && head { head = head $0 }
        /^$/ || /^[#\/}]/ || /;$/ { if (!/{/) head = "" }
        head ~ /^[^={]*\(.*{/ {
            name = head
            gsub(/__attribute__ *\(\([^)]*\)\) */, "", name)
            sub(/ *\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            if (/}$/) print 1, FILENAME ":" name
            else { in_body = 1; begin = FNR }
            head = ""
        }' prof.h prof_cuda.h tools/prof/raw_read.h $(find tools -name '*.c')
}

# ---- What must not grow; who adds a feature raises a limit by what the feature takes ----

at_most() {   # WHAT COUNT LIMIT
    if [ "$2" -le "$3" ]; then rule "$1: $2, at most $3" ''; else rule "$1" "$2, at most $3"; fi
}
names() { grep -oE '\b(prof__[a-z0-9_]+|PROF__[A-Z0-9_]+)' "$1" | sort -u; }

mkdir -p build/lint
names prof.h >build/lint/names
public() { grep -oE '^ *PROF_API [^(]*\bprof_[a-z0-9_]+\(' prof.h | grep -oE 'prof_[a-z0-9_]+\($' | grep -v prof__ | sort -u; }

lengths=$(functions | sort -n)
at_most "lines of the longest of $(echo "$lengths" | wc -l) functions, ${lengths##* }" \
    "$(echo "$lengths" | tail -n 1 | cut -d ' ' -f 1)" 60
at_most 'lines of prof.h' "$(wc -l <prof.h)" 22221
at_most 'bytes of prof.h' "$(wc -c <prof.h)" 996350
at_most 'lines of prof_cuda.h' "$(wc -l <prof_cuda.h)" 2335
at_most 'public functions of prof.h' "$(public | wc -l)" 100
at_most '#if of prof.h on PROF__BARE' "$(grep -cE '^ *# *(el)?if.*PROF__BARE' prof.h)" 24

# What nm sees in an object of the implementation with all that is optional: variables, of threads and
# of functions, too, and tables that are constant. A feature has one struct: what has to stand apart
# from it, as flags that each zone reads, says why.
variables() {   # NAME FLAGS...
    name=$1
    shift
    printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' |
        gcc -fno-pic -I. -DPROF_NO_STB -DPROF_INSTRUMENT_FUNCTIONS "$@" -x c - -c \
            -o build/lint/variables.o || exit 1
    nm build/lint/variables.o >build/lint/variables
    sed -n 's/^.* [bBdDcC] //p' build/lint/variables | sort >"build/lint/variables_$name"
    sed -n 's/^.* [rR] //p' build/lint/variables | sort >"build/lint/constants_$name"
}
variables hosted -D_GNU_SOURCE
variables target -ffreestanding
at_most 'variables of a hosted prof.h' "$(wc -l <build/lint/variables_hosted)" 33
at_most 'variables of a target'\''s prof.h' "$(wc -l <build/lint/variables_target)" 17
at_most 'constant tables of prof.h' "$(cat build/lint/constants_* | wc -l)" 90
at_most 'names of its own that prof.h lends prof_cuda.h' \
    "$(names prof_cuda.h | grep -cxFf build/lint/names)" 0

# ---- The formats of prof__out_f and prof__text_f: as those of printf, which the compiler checks ----

out_f='^PROF__FN void prof__out_f(prof__out \*o, const char \*format, \.\.\.) {'
text_f='^PROF__FN size_t prof__text_f(char \*buf, size_t size, const char \*format, \.\.\.) {'
sed -e '/prof__\(out\|text\)_f(\|PROF__FAIL(/,/;/{s/%,//g; s/%j/%s/g; s/%u/%lu/g; s/%[it]/%ld/g; s/%b/%s%zu/g}' \
    -e "s/$out_f/__attribute__((format(printf, 2, 3))) &/" \
    -e "s/$text_f/__attribute__((format(printf, 3, 4))) &/" prof.h >build/lint/prof.h
formats() {   # FLAGS...
    gcc -std=gnu99 -fsyntax-only -Wformat=2 -Wformat-signedness -Wno-format-nonliteral \
        -DPROF_IMPLEMENTATION "$@" -x c build/lint/prof.h 2>&1
}
if [ "$(grep -c '^__attribute__((format' build/lint/prof.h)" = 2 ]; then
    rule 'formats of prof__out_f, prof__text_f' "$(formats; formats -ffreestanding)"
else
    rule 'formats of prof__out_f, prof__text_f' 'one of them has another head'
fi

# ---- The pages ----

rule "README.md: $(wc -l <README.md) lines, at most 222" \
    "$(awk 'END {if (NR > 222) print NR " lines"}' README.md)"

links() {   # "PAGE: LINK" of each that leads nowhere
    find . -name '*.md' -not -path './build/*' | while read -r page; do
        grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^https*:' | while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
        done
    done
}
rule 'links of the pages' "$(links)"

exit $failed
