/* prof report: not there yet. */
#include "common.h"

static int run(int argc, char **argv);

const command report_command = {
    "report", "[OPTION]... TRACE", "to come", "", run
};

static int run(int argc, char **argv) {
    static const option_spec options[] = {{0}};
    int status, count = options_parse(&report_command, options, argc, argv, &status);
    if (count < 0) return status;
    return fail(NULL, "report is not there yet");
}
