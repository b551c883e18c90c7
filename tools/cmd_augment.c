/* prof augment: not there yet. */
#include "common.h"

static int run(int argc, char **argv);

const command augment_command = {
    "augment", "[OPTION]... TRACE", "to come", "", run
};

static int run(int argc, char **argv) {
    static const option_spec options[] = {{0}};
    int status, count = options_parse(&augment_command, options, argc, argv, &status);
    if (count < 0) return status;
    return fail(NULL, "augment is not there yet");
}
