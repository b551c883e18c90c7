# Bash completion of the prof command: commands and options as its --help lists them, then files.
_prof() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=
    if [ "$COMP_CWORD" = 1 ]; then
        words=$(prof --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
        words="$words --help --version"
    elif [[ $word == -* ]]; then
        words=$(prof "$command" --help 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
    fi
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _prof prof
