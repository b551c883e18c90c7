#!/bin/sh
# prof record: runs a program with PROF_TRACE set, and reports on what it wrote.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

cat >"$out/program.c" <<'END'
#define PROF_IMPLEMENTATION
#include "prof.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {      /* FOLDER STATUS: moves to FOLDER, exits with STATUS */
    int status = argc > 2 ? atoi(argv[2]) : 0;
    if (argc > 1 && chdir(argv[1]) != 0) return 9;
    if (prof_start_env(NULL) != PROF_OK) return 8;
    PROF_BLOCK("work") { printf("%d words\n", argc - 1); }
    prof_result result = prof_stop_env();
    if (status == 99) raise(SIGKILL);
    return result == PROF_OK ? status : 8;
}
END
try record_builds "${CC:-cc}" -std=gnu99 -I. -DPROF_ZLIB "$out/program.c" -o "$out/program" \
    -lpthread -lz
cd "$out" || exit 1
out=.
rm -f ./*.json ./*.json.gz
says record_program '2 words' 0 "$prof" record ./program . 0
says record_reports 'work' 0 "$prof" record -n 5 ./program
try record_default_file "$prof" validate trace.json
says record_status 'work' 5 "$prof" record ./program / 5
says record_killed 'work' 137 "$prof" record ./program . 99
"$prof" record -o packed.json.gz ./program / >stdout 2>stderr
try record_packed gzip -t packed.json.gz
try record_stdout_is_the_programs test "$(cat stdout)" = '1 words'
try record_table_on_stderr grep -q 'Self CPU time total' stderr
says record_no_report '0 words' 0 "$prof" record --no-report -- ./program
try record_no_table test "$(wc -l <said)" = 1
says record_options_are_the_programs '2 words' 0 "$prof" record ./program . --limit
cp trace.json old.json
says record_no_trace 'wrote no trace to old.json' 2 "$prof" record -o old.json true
says record_no_trace_status 'wrote no trace' 1 "$prof" record -o none.json false
try record_old_stays cmp trace.json old.json
says record_not_found './none: cannot be run: No such file' 127 "$prof" record ./none
says record_not_runnable 'cannot be run: Permission denied' 126 "$prof" record ./trace.json
says record_one_file '%p has no place in it' 2 "$prof" record -o run.%p.json ./program
says record_no_command 'record needs a command' 2 "$prof" record
exit $failed
