#!/bin/sh
# Prints the manual page of the prof command, made of what its --help says.
#   tools/prof/man.sh build/prof >prof.1
set -u
prof=$1

roff() {   # text as it stands, for a manual page
    sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'
}

version=$("$prof" --version | cut -d ' ' -f 2)
cat <<END
.TH PROF 1 "" "prof $version" "User Commands"
.SH NAME
prof \\- read, analyse, compare, merge and show traces of the PyTorch profiler and of prof.h
.SH SYNOPSIS
.B prof
.I COMMAND
.RI [ OPTION ]...
.RI [ FILE ]...
.SH DESCRIPTION
.nf
END
"$prof" --help | sed 1,2d | roff
echo .fi
for command in $("$prof" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    echo ".SH prof $command" | tr '[:lower:]' '[:upper:]' | sed 's/^\.SH PROF/.SH PROF/'
    echo .nf
    "$prof" "$command" --help | roff
    echo .fi
done
cat <<'END'
.SH ENVIRONMENT
.TP
.B COLUMNS
The width that tables on a terminal fit, instead of the terminal's own.
.TP
.B NO_COLOR
When set and not empty, nothing is coloured.
.TP
.B PROF_TRACE
Set by prof record for the program that it runs: the file for its trace. Its options set PROF_MODE,
PROF_MEMORY and others, which programs that call prof_start_env heed.
.SH SEE ALSO
The web page ui.perfetto.dev shows the same traces as a timeline.
END
