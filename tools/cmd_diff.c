/* prof diff: not there yet. */
#include "common.h"

static int run(int argc, char **argv);

const command diff_command = {
    "diff", "[OPTION]... TRACE", "to come", "", run
};

static int run(int argc, char **argv) {
    static const option_spec options[] = {{0}};
    int status, count = options_parse(&diff_command, options, argc, argv, &status);
    if (count < 0) return status;
    return fail(NULL, "diff is not there yet");
}
