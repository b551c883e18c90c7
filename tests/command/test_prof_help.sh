#!/bin/sh
# What the prof command says of itself, and what make install puts where.
# shellcheck disable=SC2016   # what another shell is to expand
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

commands=$("$prof" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')

# shellcheck disable=SC2317   # try calls it
examples_hold() {   # COMMAND: each option that an example uses is one of the command's
    "$prof" "$1" --help >"$out/help"
    sed -n '/^Examples/,$p' "$out/help" | grep "^  prof $1" | grep -oE ' --[a-z-]+' | sort -u |
        while read -r option; do
            case $option in --no-*) option="--${option#--no-}" ;; esac
            grep -qE "^  $option( |,)|^  --no-${option#--}( |,)" "$out/help" ||
                { echo "$option is no option"; exit 1; }
        done
}

says help_no_command 'usage: prof COMMAND' 2 "$prof"
says help_help 'Commands' 0 "$prof" --help
says help_of_command 'usage: prof report' 0 "$prof" help report
says help_version 'prof ' 0 "$prof" --version
says help_unknown "there is no command 'x'" 2 "$prof" x
for command in $commands; do
    says "help_$command" 'Examples' 0 "$prof" "$command" --help
    try "help_${command}_examples" examples_hold "$command"
    says "help_${command}_no_option" 'there is no such option' 2 "$prof" "$command" --no-such
done

# ---- Installed ----

rm -rf "$out/root"
try install_header_alone sh -c '! make -n install-header | grep -e zlib -e sqlite -e "-c tools/prof"'
try install_header make_command install-header DESTDIR="$PWD/$out/root" PREFIX=/usr
try install_header_is_there test -s "$out/root/usr/include/prof.h" -a ! -e "$out/root/usr/bin"
try install make_command install DESTDIR="$PWD/$out/root" PREFIX=/usr
for file in bin/prof include/prof.h lib/pkgconfig/prof.pc lib/cmake/prof/prof-config.cmake \
    lib/cmake/prof/prof-config-version.cmake share/man/man1/prof.1 \
    share/bash-completion/completions/prof share/prof/sql/report.sql; do
    try "install_$(basename "$file")_in_$(basename "$(dirname "$file")")" test -s "$out/root/usr/$file"
done
says install_runs "prof " 0 "$out/root/usr/bin/prof" --version
man=$out/root/usr/share/man/man1/prof.1
for command in $commands; do
    says "man_$command" "PROF $(echo "$command" | tr '[:lower:]' '[:upper:]')" 0 \
        grep "^.SH PROF $(echo "$command" | tr '[:lower:]' '[:upper:]')" "$man"
done
# Whoever installs: everybody may read all of it, the owner alone may write.
for mask in 000 077; do
    (umask $mask; make_command install DESTDIR="$PWD/$out/root$mask" PREFIX=/usr) >/dev/null
    try "install_under_umask_$mask" test -s "$out/root$mask/usr/lib/pkgconfig/prof.pc" -a -z \
        "$(find "$out/root$mask/usr" -perm /022 -o ! -perm -444 -o -type d ! -perm -555)"
    rm -rf "$out/root$mask"
done
if command -v groff >/dev/null; then
    groff -man -ww -z "$man" 2>"$out/groff"
    try man_has_no_faults test ! -s "$out/groff"
fi
if command -v bash >/dev/null; then
    says completion_commands "$(echo "$commands" | grep -x 'report')" 0 env \
        PATH="${prof%/*}:$PATH" bash -c '. tools/prof/completion.bash
            COMP_WORDS=(prof re) COMP_CWORD=1; _prof; echo "${COMPREPLY[@]}"'
    says completion_options '--threshold' 0 env PATH="${prof%/*}:$PATH" bash -c \
        '. tools/prof/completion.bash
            COMP_WORDS=(prof diff --th) COMP_CWORD=2; _prof; echo "${COMPREPLY[@]}"'
fi
exit $failed
