/* prof analyze: not there yet. */
#include "common.h"

static int run(int argc, char **argv);

const command analyze_command = {
    "analyze", "[OPTION]... TRACE", "to come", "", run
};

static int run(int argc, char **argv) {
    static const option_spec options[] = {{0}};
    int status, count = options_parse(&analyze_command, options, argc, argv, &status);
    if (count < 0) return status;
    return fail(NULL, "analyze is not there yet");
}
