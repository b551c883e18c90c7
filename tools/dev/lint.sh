#!/bin/sh
# The rules that no compiler checks. Prints the figures; exit status 1 when a rule is broken.
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

rule 'lines of 100 columns at most' \
    "$(awk 'length($0) > 100 {print FILENAME ":" FNR ": " length($0)}' $sources)"
rule 'no tabs' "$(grep -n "$(printf '\t')" $sources $scripts)"
rule 'no trailing space' "$(grep -n ' $' $sources $scripts Makefile)"

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

# ---- The functions of the headers ----

# "LENGTH NAME" of each, from the line with its opening brace to its closing one, both at column 0
# or at the end of the head.
functions() {
    awk '
        in_body { if (/^}/) { print NR - begin + 1, name; in_body = 0 } next }
        /^[A-Za-z_{]/ && !/^(typedef|struct|enum|union|extern)/ { head = /^{/ ? head $0 : $0 }
        /^ / && head { head = head $0 }
        /^$/ || /^[#\/}]/ || /;$/ { if (!/{/) head = "" }
        head ~ /^[^={]*\(.*{/ {
            name = head
            gsub(/__attribute__ *\(\([^)]*\)\) */, "", name)
            sub(/ *\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            if (/}$/) print 1, name
            else { in_body = 1; begin = NR }
            head = ""
        }' prof.h prof_cuda.h
}

lengths=$(functions | sort -n)
set -- $(echo "$lengths" | awk '{v[NR] = $1}
    END {print NR, v[int((NR + 1) / 2)], v[int((NR * 9 + 9) / 10)], v[NR]}')
figures="$1 functions: median $2 lines, p90 $3, longest $4"
if [ "$2" -le 12 ] && [ "$3" -le 30 ] && [ "$4" -le 80 ]; then
    rule "$figures" ''
else
    rule "$figures (at most 12, 30, 80)" "$(echo "$lengths" | tail -n 5)"
fi

# ---- The formats of prof__out_f: as those of printf, which the compiler checks ----

mkdir -p build/lint
out_f='^PROF__FN void prof__out_f(prof__out \*o, const char \*format, \.\.\.) {'
sed -e '/prof__out_f(/,/;/{s/%j/%s/g; s/%u/%lu/g; s/%[it]/%ld/g; s/%b/%s%zu/g}' \
    -e "s/$out_f/__attribute__((format(printf, 2, 3))) &/" prof.h >build/lint/prof.h
formats() {   # FLAGS...
    gcc -std=gnu99 -fsyntax-only -Wformat=2 -Wformat-signedness -Wno-format-nonliteral \
        -DPROF_IMPLEMENTATION "$@" -x c build/lint/prof.h 2>&1
}
if grep -q '^__attribute__((format' build/lint/prof.h; then
    rule 'formats of prof__out_f' "$(formats; formats -ffreestanding)"
else
    rule 'formats of prof__out_f' 'prof__out_f has another head'
fi

# ---- The pages ----

rule "README.md: $(wc -l <README.md) lines, at most 250" \
    "$(awk 'END {if (NR > 250) print NR " lines"}' README.md)"

links() {   # "PAGE: LINK" of each that leads nowhere
    find . -name '*.md' -not -path './build/*' | while read -r page; do
        grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^https*:' | while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
        done
    done
}
rule 'links of the pages' "$(links)"

# ---- Tools that may be missing ----

if command -v shellcheck >/dev/null; then
    rule 'shellcheck' "$(shellcheck $scripts 2>&1)"
else
    echo 'skip shellcheck: not installed'
fi
exit $failed
